/* SPDX-License-Identifier: BSD-3-Clause */
/* The page pool's account: true to the buffer for every pattern of taking and giving back, on
 * several threads, known to EAL or not; and nothing that another process would stumble over. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_mempool.h>

#include "pool.h"
#include "test_eal.h"

#define SIZE 6000

static const struct pool_demand demand = {
	.rx_descriptors = 512, .rx_queues = 1, .workers = 2, .burst = 64};
static struct pool pool;

static int
make_pool(void **state)
{
	struct err err;

	(void)state;
	return pool_create(&pool, "account", 0, SIZE, 1024, &demand, &err);
}

static int
destroy_pool(void **state)
{
	(void)state;
	pool_destroy(&pool);
	return 0;
}

/* What always holds while nobody is at work. */
static void
assert_consistent(uint32_t in_use, uint64_t used)
{
	struct pool_counts counts;
	struct pool_account a;

	pool_counts(&pool, &counts);
	pool_account(&pool, used - counts.made - pool.given, &a);
	assert_int_equal(a.in_use, in_use);
	assert_int_equal(counts.from_ring - counts.to_ring, in_use + a.in_caches);
	assert_int_equal(a.alloc_cached + a.alloc_slow, used);
	assert_int_equal(a.recycled_cached + a.recycled_slow, used - in_use);
	assert_true(a.alloc_slow <= counts.from_ring && a.recycled_slow <= counts.to_ring);
}

static void
a_new_pool_has_counted_nothing(void **state)
{
	struct pool_account a;

	(void)state;
	assert_consistent(0, 0);
	pool_account(&pool, 0, &a);
	assert_int_equal(a.in_caches, 0);
	assert_int_equal(a.alloc_failed, 0);
	assert_int_equal(a.copied, 0);
}

/* Other processes find the table's entry by this number. */
static void
the_table_keeps_its_order(void **state)
{
	struct rte_mempool *other = rte_pktmbuf_pool_create("other", 63, 0, 0, 1024, 0);
	int i;

	(void)state;
	assert_non_null(other);
	assert_int_equal(pool.mempool->ops_index, other->ops_index);
	for (i = 0; i < (int)rte_mempool_ops_table.num_ops; i++)
		if (strcmp(rte_mempool_ops_table.ops[i].name, rte_mbuf_best_mempool_ops()) == 0)
			break;
	assert_int_equal(pool.mempool->ops_index, i);
	rte_mempool_free(other);
}

/* What others do with pools of their own, of the same ring, is not counted and not harmed. */
static void
other_pools_are_left_alone(void **state)
{
	struct rte_mempool *other = rte_pktmbuf_pool_create("other", 511, 32, 0, 1024, 0);
	struct rte_mbuf *taken[511];

	(void)state;
	assert_non_null(other);
	/* Not to be told apart by that. */
	assert_int_equal(other->private_data_size, pool.mempool->private_data_size);
	assert_int_equal(rte_pktmbuf_alloc_bulk(other, taken, 400), 0);
	assert_int_equal(rte_mempool_in_use_count(other), 400);
	pool_made(other, 400);
	pool_copied(other, 400);
	rte_pktmbuf_free_bulk(taken, 400);
	assert_int_equal(rte_mempool_in_use_count(other), 0);
	rte_mempool_free(other);
	assert_consistent(0, 0);
}

/* One buffer again and again comes out of the cache. */
static void
cached_and_slow(void **state)
{
	struct rte_mbuf *many[3000];
	struct pool_account a;
	unsigned i;

	(void)state;
	for (i = 0; i < 10000; i++) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(pool.mempool);

		assert_non_null(m);
		rte_pktmbuf_free(m);
	}
	pool_account(&pool, 10000, &a);
	assert_in_range(a.alloc_slow, 1, pool.cache + 1);
	assert_int_equal(a.alloc_cached, 10000 - a.alloc_slow);
	assert_int_equal(a.recycled_slow, 0);
	assert_int_equal(a.recycled_cached, 10000);
	assert_consistent(0, 10000);

	/* More than a cache holds goes by way of the ring. */
	assert_int_equal(rte_pktmbuf_alloc_bulk(pool.mempool, many, 3000), 0);
	assert_consistent(3000, 13000);
	rte_pktmbuf_free_bulk(many, 3000);
	assert_consistent(0, 13000);
	pool_account(&pool, 13000, &a);
	assert_in_range(a.alloc_slow, 3000 - pool.cache, 3000 + pool.cache + 1);
	assert_in_range(a.recycled_slow, 3000 - 2 * pool.cache, 3000 + pool.cache);
}

static void
failures(void **state)
{
	static struct rte_mbuf *taken[SIZE];
	struct rte_mbuf *more[32];
	struct pool_account a;
	unsigned n;

	(void)state;
	/* One by one to the last: a cache that could not be filled is no failure. */
	for (n = 0; n < SIZE; n++) {
		taken[n] = rte_pktmbuf_alloc(pool.mempool);
		assert_non_null(taken[n]);
	}
	assert_consistent(SIZE, SIZE);
	pool_account(&pool, SIZE, &a);
	assert_int_equal(a.alloc_failed, 0);
	assert_null(rte_pktmbuf_alloc(pool.mempool));
	assert_null(rte_pktmbuf_alloc(pool.mempool));
	assert_int_not_equal(rte_pktmbuf_alloc_bulk(pool.mempool, more, RTE_DIM(more)), 0);
	pool_account(&pool, SIZE, &a);
	assert_int_equal(a.alloc_failed, 3);
	/* Some are there, but fewer than asked for: none is given, and none lost. */
	rte_pktmbuf_free_bulk(taken, 20);
	assert_int_not_equal(rte_pktmbuf_alloc_bulk(pool.mempool, more, RTE_DIM(more)), 0);
	assert_consistent(SIZE - 20, SIZE);
	pool_account(&pool, SIZE, &a);
	assert_int_equal(a.alloc_failed, 4);
	rte_pktmbuf_free_bulk(taken + 20, SIZE - 20);
	assert_consistent(0, SIZE);
}

static void
own_allocations_and_drivers(void **state)
{
	struct rte_mbuf *taken[700];
	struct pool_account a;
	int64_t before;

	(void)state;
	/* A driver fills its ring. */
	before = pool_held_by_thread(&pool);
	assert_int_equal(before, 0);
	assert_int_equal(rte_pktmbuf_alloc_bulk(pool.mempool, taken, 600), 0);
	pool_given(&pool, before);
	assert_int_equal(pool.given, 600);
	assert_consistent(600, 600);
	/* Nothing taken, or given back: nothing given. */
	pool_given(&pool, pool_held_by_thread(&pool));
	pool_given(&pool, 700);
	assert_int_equal(pool.given, 600);

	assert_int_equal(rte_pktmbuf_alloc_bulk(pool.mempool, taken + 600, 100), 0);
	pool_made(pool.mempool, 100);
	pool_copied(pool.mempool, 40);
	assert_consistent(700, 700);
	pool_account(&pool, 0, &a);
	assert_int_equal(a.alloc_cached + a.alloc_slow, 700);
	assert_int_equal(a.copied, 40);
	rte_pktmbuf_free_bulk(taken, 700);
	assert_consistent(0, 700);
	assert_int_equal(pool_held_by_thread(&pool), 0);

	/* Buffers somebody took without our knowing are in use all the same. */
	assert_int_equal(rte_pktmbuf_alloc_bulk(pool.mempool, taken, 50), 0);
	pool_account(&pool, 0, &a);
	assert_int_equal(a.alloc_cached + a.alloc_slow - a.recycled_cached - a.recycled_slow, 50);
	rte_pktmbuf_free_bulk(taken, 50);
}

/* --- threads --------------------------------------------------------------------- */

struct job {
	uint64_t seed;
	uint64_t used;
	uint32_t kept_n;
	int64_t held;
	struct rte_mbuf *kept[1200];
};

/* Take and give back in any amounts, for a while; keep some. */
static int
churn(void *arg)
{
	struct job *job = arg;
	uint64_t x = job->seed;

	for (unsigned i = 0; i < 2000; i++) {
		uint32_t n;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		n = (uint32_t)(x >> 20) % 300;
		if ((x >> 50) % 2 == 0 && job->kept_n + n <= RTE_DIM(job->kept)) {
			if (rte_pktmbuf_alloc_bulk(pool.mempool, job->kept + job->kept_n, n) == 0) {
				job->kept_n += n;
				job->used += n;
			}
		} else {
			n = RTE_MIN(n, job->kept_n);
			job->kept_n -= n;
			rte_pktmbuf_free_bulk(job->kept + job->kept_n, n);
		}
	}
	job->held = pool_held_by_thread(&pool);
	return 0;
}

static void *
churn_outside(void *arg)
{
	churn(arg);
	return NULL;
}

/* Two lcores, this one, and more threads unknown to EAL than have lines of their own. These two at
 * a time: who is interrupted while moving buffers holds up all others. */
static void
every_thread_counts_its_own(void **state)
{
	static struct job jobs[3 + 20];
	pthread_t threads[2];
	uint32_t in_use = 0;
	uint64_t used = 0;
	unsigned lcore, n = 1;

	(void)state;
	memset(jobs, 0, sizeof(jobs));
	for (unsigned i = 0; i < RTE_DIM(jobs); i++)
		jobs[i].seed = 0x9876543210 + 77 * i;
	RTE_LCORE_FOREACH_WORKER(lcore)
		assert_int_equal(rte_eal_remote_launch(churn, &jobs[n++], lcore), 0);
	assert_int_equal(n, 3);
	churn(&jobs[0]);
	rte_eal_mp_wait_lcore();
	while (n < RTE_DIM(jobs)) {
		for (unsigned i = 0; i < RTE_DIM(threads); i++)
			assert_int_equal(
				pthread_create(&threads[i], NULL, churn_outside, &jobs[n++]), 0);
		for (unsigned i = 0; i < RTE_DIM(threads); i++)
			pthread_join(threads[i], NULL);
	}

	for (unsigned i = 0; i < RTE_DIM(jobs); i++) {
		/* The last line is shared by the last strangers. */
		if (i < 3 + 10)
			assert_int_equal(jobs[i].held, jobs[i].kept_n);
		in_use += jobs[i].kept_n;
		used += jobs[i].used;
	}
	assert_true(used > 10000);
	assert_consistent(in_use, used);
	for (unsigned i = 0; i < RTE_DIM(jobs); i++)
		rte_pktmbuf_free_bulk(jobs[i].kept, jobs[i].kept_n);
	assert_consistent(0, used);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_pool, destroy_pool)
	const struct CMUnitTest tests[] = {
		TEST(a_new_pool_has_counted_nothing),
		TEST(the_table_keeps_its_order),
		TEST(other_pools_are_left_alone),
		TEST(cached_and_slow),
		TEST(failures),
		TEST(own_allocations_and_drivers),
		TEST(every_thread_counts_its_own),
	};

	if (!test_eal_start("0@0,1@0,2@0"))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
