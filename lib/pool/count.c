/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Counting where a thread's cache meets the ring of a pool, and nowhere else.
 *
 * rte_mempool reaches its ring through the functions in rte_mempool_ops_table,
 * by an index that is kept in the pool. An entry of our own would be the obvious
 * place to count in, and a trap: the table belongs to a process and is filled in the
 * order in which drivers register, but the index lies in memory that processes share.
 * A secondary process (dpdk-proc-info, dpdk-dumpcap) without our entry would call
 * whatever it has there, or nothing at all.
 *
 * So a pool keeps the entry it would have had ("ring_mp_mc" as a rule), and in this
 * process alone that entry's functions are replaced by ones that call the old and then
 * count, if the pool is one of ours. Other processes use their own table: they are
 * right, and not counted. Other pools of this process pay a comparison where their
 * cache meets the ring. The entry stays replaced to the end: it does no harm.
 */
#include <errno.h>

#include <rte_lcore.h>
#include <rte_malloc.h>
#include <rte_mempool.h>
#include <rte_spinlock.h>

#include "internal.h"

/* Threads that EAL does not know get a line each, as far as these go. */
#define STRANGERS 16
#define LINES	  (RTE_MAX_LCORE + STRANGERS + 1)
#define LAST_LINE (LINES - 1)

/** What one thread has done to one pool: written by it alone. The last line is for all further
 * strangers, and the only one with atomic additions. */
struct pool_line {
	struct pool_counts counts;
} __rte_cache_aligned;

static_assert(sizeof(struct pool_line) == RTE_CACHE_LINE_SIZE, "no two threads write to one line");

/** The pools' entries of the table as they were. */
static struct rte_mempool_ops counted_ops[RTE_MEMPOOL_MAX_OPS_IDX];
static const char mark;

static unsigned
line_of_thread(void)
{
	static unsigned strangers;
	static __thread unsigned stranger; /* from 1; 0: not met yet */
	unsigned lcore = rte_lcore_id();

	if (likely(lcore < RTE_MAX_LCORE))
		return lcore;
	if (stranger == 0)
		stranger = __atomic_add_fetch(&strangers, 1, __ATOMIC_RELAXED);
	return RTE_MIN(RTE_MAX_LCORE + stranger - 1, (unsigned)LAST_LINE);
}

static void
count(struct pool_line *lines, size_t which, uint64_t n)
{
	unsigned at = line_of_thread();
	uint64_t *counter = (uint64_t *)((char *)&lines[at].counts + which);

	if (unlikely(at == LAST_LINE))
		__atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
	else
		__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

#define COUNT(lines, which, n) count(lines, offsetof(struct pool_counts, which), n)

/** NULL: not one of our pools, or not counted yet. */
static struct pool_line *
lines_of(struct rte_mempool *mp)
{
	const struct pool_private *private;

	if (mp->private_data_size < sizeof(*private))
		return NULL;
	private = rte_mempool_get_priv(mp);
	return private->mark == &mark ? private->lines : NULL;
}

/** Is it a cache that is to be filled? */
static bool
into_cache(const struct rte_mempool *mp, void **objects)
{
	const char *caches = (const char *)mp->local_cache, *to = (const char *)objects;

	return mp->cache_size != 0 && to >= caches &&
	       to < caches + RTE_MAX_LCORE * sizeof(struct rte_mempool_cache);
}

static int
counted_dequeue(struct rte_mempool *mp, void **objects, unsigned n)
{
	int ret = counted_ops[mp->ops_index].dequeue(mp, objects, n);
	struct pool_line *lines = lines_of(mp);

	if (lines == NULL)
		return ret;
	if (ret == 0)
		COUNT(lines, from_ring, n);
	else if (!into_cache(mp, objects)) /* else rte_mempool asks again for less */
		COUNT(lines, failed, 1);
	return ret;
}

static int
counted_enqueue(struct rte_mempool *mp, void *const *objects, unsigned n)
{
	int ret = counted_ops[mp->ops_index].enqueue(mp, objects, n);
	struct pool_line *lines = lines_of(mp);

	if (lines != NULL && ret == 0)
		COUNT(lines, to_ring, n);
	return ret;
}

int
pool_count_begin(struct rte_mempool *mp)
{
	struct pool_private *private = rte_mempool_get_priv(mp);
	struct rte_mempool_ops *ops = &rte_mempool_ops_table.ops[mp->ops_index];
	struct pool_line *lines = rte_zmalloc_socket("pool lines", LINES * sizeof(*lines),
						     RTE_CACHE_LINE_SIZE, mp->socket_id);

	if (lines == NULL)
		return -ENOMEM;
	rte_spinlock_lock(&rte_mempool_ops_table.sl);
	if (ops->dequeue != counted_dequeue) {
		counted_ops[mp->ops_index] = *ops;
		ops->enqueue = counted_enqueue;
		ops->dequeue = counted_dequeue;
	}
	rte_spinlock_unlock(&rte_mempool_ops_table.sl);
	private->lines = lines;
	private->mark = &mark;
	return 0;
}

void
pool_count_end(struct rte_mempool *mp)
{
	struct pool_private *private = rte_mempool_get_priv(mp);
	struct pool_line *lines = private->lines;

	private->mark = NULL;
	rte_free(lines);
}

void
pool_made(struct rte_mempool *mp, unsigned buffers)
{
	struct pool_line *lines = lines_of(mp);

	if (lines != NULL)
		COUNT(lines, made, buffers);
}

void
pool_copied(struct rte_mempool *mp, unsigned buffers)
{
	struct pool_line *lines = lines_of(mp);

	if (lines != NULL)
		COUNT(lines, copied, buffers);
}

static void
add_line(struct pool_counts *sum, const struct pool_line *line)
{
	const struct pool_counts *c = &line->counts;

	sum->from_ring += __atomic_load_n(&c->from_ring, __ATOMIC_RELAXED);
	sum->to_ring += __atomic_load_n(&c->to_ring, __ATOMIC_RELAXED);
	sum->failed += __atomic_load_n(&c->failed, __ATOMIC_RELAXED);
	sum->made += __atomic_load_n(&c->made, __ATOMIC_RELAXED);
	sum->copied += __atomic_load_n(&c->copied, __ATOMIC_RELAXED);
}

void
pool_counts(const struct pool *pool, struct pool_counts *sum)
{
	const struct pool_line *lines = lines_of(pool->mempool);

	*sum = (struct pool_counts){0};
	for (unsigned i = 0; i < LINES; i++)
		add_line(sum, &lines[i]);
}

int64_t
pool_held_by_thread(const struct pool *pool)
{
	const struct pool_line *lines = lines_of(pool->mempool);
	const struct rte_mempool_cache *cache;
	unsigned lcore = rte_lcore_id();
	struct pool_counts own = {0};

	add_line(&own, &lines[line_of_thread()]);
	cache = rte_mempool_default_cache(pool->mempool, lcore);
	return (int64_t)(own.from_ring - own.to_ring) - (cache == NULL ? 0 : (int64_t)cache->len);
}
