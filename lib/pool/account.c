/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What the counters mean: see pool.h. */
#include <rte_mempool.h>

#include "pool.h"

static uint32_t
in_caches(const struct rte_mempool *mp)
{
	uint32_t n = 0;

	for (unsigned lcore = 0; mp->cache_size != 0 && lcore < RTE_MAX_LCORE; lcore++)
		n += mp->local_cache[lcore].len;
	return n;
}

void
pool_account(const struct pool *pool, uint64_t received, struct pool_account *account)
{
	struct pool_counts counts;
	uint64_t used, freed;

	pool_counts(pool, &counts);
	account->in_use = pool_in_use(pool);
	account->in_caches = in_caches(pool->mempool);
	used = received + counts.made + __atomic_load_n(&pool->given, __ATOMIC_RELAXED);
	/* Whoever holds buffers unknown to us has put them to use. */
	used = RTE_MAX(used, (uint64_t)account->in_use);
	freed = used - account->in_use;
	account->alloc_slow = RTE_MIN(counts.from_ring, used);
	account->alloc_cached = used - account->alloc_slow;
	account->alloc_failed = counts.failed;
	account->recycled_slow = RTE_MIN(counts.to_ring, freed);
	account->recycled_cached = freed - account->recycled_slow;
	account->copied = counts.copied;
}

void
pool_given(struct pool *pool, int64_t before)
{
	int64_t taken = pool_held_by_thread(pool) - before;

	if (taken > 0)
		__atomic_store_n(&pool->given, pool->given + (uint64_t)taken, __ATOMIC_RELAXED);
}
