/* SPDX-License-Identifier: BSD-3-Clause */
/* The page pool: covers what it is asked to, packs its buffers well, counts them exactly, and
 * refuses in words. Runs in the 64 MiB EAL takes without hugepages and without -m. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_memzone.h>

#include "pool.h"
#include "test_eal.h"

static const struct pool_demand demand = {
	.rx_descriptors = 512,
	.tx_descriptors = 512,
	.workers = 1,
	.rx_queues = 2,
	.made = 32,
	.burst = 32,
	.rings = 256,
	.held = 64,
};

static void
the_size_covers_all_that_can_hold_buffers(void **state)
{
	struct pool_demand d = demand;
	uint32_t caches = 2 * (512 + 256);

	(void)state;
	assert_int_equal(pool_size_for(&d), 512 + 512 + 3 * 32 + 256 + 64 + caches);
	d.segments = 5;
	assert_int_equal(pool_size_for(&d), 512 + 512 + 5 * (3 * 32 + 256 + 64) + caches);
	d.rx_descriptors = UINT32_MAX;
	assert_int_equal(pool_size_for(&d), UINT32_MAX);
}

static void
four_ports_fit_the_default_memory(void **state)
{
	const struct pool_demand d = {.rx_descriptors = 4 * 1024,
				      .tx_descriptors = 4 * 1024,
				      .workers = 1,
				      .rx_queues = 4,
				      .burst = 64,
				      .made = 512,
				      .rings = 4096,
				      .held = 1024};
	struct pool pool;
	struct err err;

	(void)state;
	assert_true(pool_bytes(pool_size_for(&d), 0) < pool_memory_left(0));
	assert_int_equal(pool_create(&pool, "four", 0, 0, 0, &d, &err), 0);
	assert_int_equal(pool.size, pool_size_for(&d));
	assert_int_equal(pool.cache, 512);
	assert_int_equal(pool.data_room, RTE_MBUF_DEFAULT_BUF_SIZE);
	pool_destroy(&pool);
}

struct spread {
	uintptr_t last;
	uint32_t sets[64]; /* buffers whose first line falls into each set of a 64-set cache */
	unsigned wrong;
};

static void
look_at(struct rte_mempool *mp, void *arg, void *object, unsigned i)
{
	struct spread *spread = arg;
	struct rte_mbuf *m = object;

	(void)i;
	spread->sets[(uintptr_t)m / RTE_CACHE_LINE_SIZE % 64]++;
	if ((uintptr_t)m % RTE_CACHE_LINE_SIZE != 0 || m->pool != mp ||
	    m->buf_addr != (void *)(m + 1) || rte_mbuf_iova_get(m) == RTE_BAD_IOVA ||
	    rte_mbuf_iova_get(m) != rte_mem_virt2iova(m->buf_addr))
		spread->wrong++;
}

static void
buffers_spread_over_all_cache_sets(void **state)
{
	/* The default; and data rooms that would come to 4 KiB, 2 KiB and 1.5 pages exactly. */
	static const uint16_t rooms[] = {0, 4096 - 192, 2048 - 192, 6144 - 192, 4096, 9216};
	struct spread spread;
	struct pool pool;
	struct err err;
	unsigned i, set;

	(void)state;
	for (i = 0; i < RTE_DIM(rooms); i++) {
		assert_int_equal(pool_create(&pool, "spread", 0, 3200, rooms[i], &demand, &err), 0);
		memset(&spread, 0, sizeof(spread));
		assert_int_equal(rte_mempool_obj_iter(pool.mempool, look_at, &spread), 3200);
		assert_int_equal(spread.wrong, 0);
		for (set = 0; set < RTE_DIM(spread.sets); set++)
			assert_in_range(spread.sets[set], 40, 60);
		assert_int_equal(rte_pktmbuf_data_room_size(pool.mempool),
				 rooms[i] != 0 ? rooms[i] : RTE_MBUF_DEFAULT_BUF_SIZE);
		pool_destroy(&pool);
	}
}

static void
every_buffer_is_counted_once(void **state)
{
	static struct rte_mbuf *taken[2000];
	struct pool pool;
	struct err err;
	uint32_t n;

	(void)state;
	assert_int_equal(pool_create(&pool, "count", 0, 2000, 0, &demand, &err), 0);
	assert_int_equal(pool_in_use(&pool), 0);
	for (n = 0; n < 2000; n++) {
		taken[n] = rte_pktmbuf_alloc(pool.mempool);
		assert_non_null(taken[n]);
		assert_int_equal(pool_in_use(&pool), n + 1);
	}
	assert_null(rte_pktmbuf_alloc(pool.mempool));
	/* Some return through the cache, some in bulk, two as one chain. */
	for (n = 0; n < 10; n++)
		rte_pktmbuf_free(taken[n]);
	assert_int_equal(pool_in_use(&pool), 1990);
	assert_int_equal(rte_pktmbuf_chain(taken[10], taken[11]), 0);
	rte_pktmbuf_free(taken[10]);
	assert_int_equal(pool_in_use(&pool), 1988);
	rte_pktmbuf_free_bulk(taken + 12, 1988);
	assert_int_equal(pool_in_use(&pool), 0);
	pool_destroy(&pool);
	assert_int_equal(pool_in_use(&pool), 0);
}

static void
a_small_pool_keeps_its_caches_small(void **state)
{
	struct pool pool;
	struct err err;

	(void)state;
	assert_int_equal(pool_create(&pool, "small", 0, 600, 0, &demand, &err), 0);
	assert_in_range(pool.cache, 0, 32);
	pool_destroy(&pool);
	assert_int_equal(
		pool_create(&pool, "smallest", 0, pool_size_min(&demand), 0, &demand, &err), 0);
	pool_destroy(&pool);
	assert_int_equal(pool_create(&pool, "medium", 0, 1600, 0, &demand, &err), 0);
	assert_in_range(pool.cache, 32, 128);
	pool_destroy(&pool);
}

static void
refusals_say_what_is_needed(void **state)
{
	struct pool pool;
	struct err err;

	(void)state;
	assert_int_equal(pool_create(&pool, "few", 0, 100, 0, &demand, &err), -EINVAL);
	assert_string_equal(err.text,
			    "buffer pool few: 100 buffers do not fill the receive queues, "
			    "which take 544; 2976 are never short (--total-num-mbufs, "
			    "--rxd, --rxq)");
	assert_null(pool.mempool);
	pool_destroy(&pool);

	assert_int_equal(pool_create(&pool, "huge", 0, 1000000, 0, &demand, &err), -ENOMEM);
	assert_non_null(
		strstr(err.text, "buffer pool huge: 1000000 buffers of 2176 bytes need 226"));
	assert_non_null(strstr(err.text, " MiB are left"));
	assert_non_null(strstr(err.text, "-m"));
	assert_non_null(strstr(err.text, "--total-num-mbufs"));
	assert_null(pool.mempool);
	assert_int_equal(pool_create(&pool, "monster", 0, UINT32_MAX, 0, &demand, &err), -ENOMEM);
	assert_null(pool.mempool);

	assert_int_equal(pool_create(&pool, "a name much longer than any mempool may have", 0, 2000,
				     0, &demand, &err),
			 -ENAMETOOLONG);
	assert_null(pool.mempool);
}

static void
refused_or_destroyed_a_pool_leaves_nothing(void **state)
{
	uint64_t before = pool_memory_left(0);
	struct pool pool;
	struct err err;
	unsigned i;

	(void)state;
	for (i = 0; i < 20; i++) {
		assert_int_equal(pool_create(&pool, "again", 0, 8000, 0, &demand, &err), 0);
		pool_destroy(&pool);
		assert_int_equal(pool_memory_left(0), before);
		/* Fits by the sum but not in one piece: the header and ring are made, then undone.
		 */
		pool_create(&pool, "edge", 0, (uint32_t)((before - (2 << 20)) / 2432), 0, &demand,
			    &err);
		pool_destroy(&pool);
		assert_int_equal(pool_memory_left(0), before);
	}
	assert_null(rte_memzone_lookup("buf_again"));
	assert_null(rte_mempool_lookup("again"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_size_covers_all_that_can_hold_buffers),
		cmocka_unit_test(four_ports_fit_the_default_memory),
		cmocka_unit_test(buffers_spread_over_all_cache_sets),
		cmocka_unit_test(every_buffer_is_counted_once),
		cmocka_unit_test(a_small_pool_keeps_its_caches_small),
		cmocka_unit_test(refusals_say_what_is_needed),
		cmocka_unit_test(refused_or_destroyed_a_pool_leaves_nothing),
	};

	if (!test_eal_start("0"))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
