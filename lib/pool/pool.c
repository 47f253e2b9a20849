/* SPDX-License-Identifier: BSD-3-Clause */
#include "internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_mempool.h>
#include <rte_memzone.h>

#define CACHE_MAX RTE_MEMPOOL_CACHE_MAX_SIZE

/* Beyond this the sizes in rte_ring and rte_mempool overflow. */
#define SIZE_MAX_BUFFERS (1U << 28)

/** What a thread's cache may keep when it is filled to `cache`: rte_mempool flushes it at half as
 * much again. */
static uint32_t
cache_keeps(uint32_t cache)
{
	return cache + cache / 2;
}

/** Buffers that are in use whatever the caches keep, at the worst moment. */
static uint64_t
busy_buffers(const struct pool_demand *d)
{
	uint64_t segments = RTE_MAX(d->segments, 1U);
	/* What came from a queue may wait, to be sent or freed, until the worker's loop has been
	 * through all its queues. */
	uint64_t packets = (uint64_t)d->rx_queues * d->burst + (uint64_t)d->workers * d->made +
			   d->rings + d->held;

	return (uint64_t)d->rx_descriptors + d->tx_descriptors + packets * segments;
}

uint32_t
pool_size_for(const struct pool_demand *demand)
{
	/* The control thread has a cache as well. */
	uint64_t caches = (uint64_t)(demand->workers + 1) * cache_keeps(CACHE_MAX);

	return (uint32_t)RTE_MIN(busy_buffers(demand) + caches, (uint64_t)UINT32_MAX);
}

uint32_t
pool_size_min(const struct pool_demand *demand)
{
	uint64_t min = (uint64_t)demand->rx_descriptors + RTE_MAX(demand->burst, 1U);

	return (uint32_t)RTE_MIN(min, (uint64_t)UINT32_MAX);
}

/**
 * The threads' caches share what the rest leaves over: a pool smaller than the
 * demand must not end with its last buffers in the cache of an idle thread.
 */
static uint16_t
cache_size(uint32_t size, const struct pool_demand *d)
{
	uint64_t busy = busy_buffers(d);
	uint64_t spare = size > busy ? size - busy : size / 8;
	uint64_t cache = spare * 2 / 3 / (d->workers + 1);

	if (cache > CACHE_MAX)
		return CACHE_MAX;
	/* A multiple of the bursts drivers allocate in; below one burst a cache is useless. */
	return (uint16_t)(cache / 32 * 32);
}

/** Bytes of one element: header, mbuf, data room, and padding to an odd number of cache lines.
 * Buffers whose distance is a multiple of 4 KiB would all meet in one set of the L1 cache. */
static uint32_t
element_size(uint16_t data_room)
{
	uint32_t size = (uint32_t)sizeof(struct rte_mbuf) + data_room;
	uint32_t total = rte_mempool_calc_obj_size(size, 0, NULL);

	if (total / RTE_CACHE_LINE_SIZE % 2 == 0)
		size += RTE_CACHE_LINE_SIZE;
	return size;
}

static uint32_t
element_stride(uint16_t data_room)
{
	return rte_mempool_calc_obj_size(element_size(data_room), 0, NULL);
}

uint64_t
pool_bytes(uint32_t size, uint16_t data_room)
{
	uint64_t ring = rte_align64pow2((uint64_t)size + 1) * sizeof(void *);
	/* The mempool's own header holds a cache for every lcore there could be. */
	uint64_t header =
		sizeof(struct rte_mempool) + RTE_MAX_LCORE * sizeof(struct rte_mempool_cache);

	if (data_room == 0)
		data_room = RTE_MBUF_DEFAULT_BUF_SIZE;
	return (uint64_t)size * element_stride(data_room) + ring + header;
}

uint64_t
pool_memory_left(int socket)
{
	struct rte_malloc_socket_stats stats;

	if (rte_eal_has_hugepages())
		return UINT64_MAX;
	/* Without hugepages all memory belongs to the first socket, wherever it is. */
	if (rte_malloc_get_socket_stats(socket, &stats) < 0 || stats.heap_totalsz_bytes == 0) {
		if (rte_malloc_get_socket_stats((int)rte_socket_id_by_idx(0), &stats) < 0)
			return 0;
	}
	return stats.heap_freesz_bytes;
}

static void
free_memzone(struct rte_mempool_memhdr *header, void *memzone)
{
	(void)header;
	rte_memzone_free(memzone);
}

/**
 * Without hugepages, rte_mempool_populate_default() lets no element cross a
 * 4 KiB page, as if pages could be anywhere for a device: one buffer a page,
 * all at the same offset in it. But EAL then knows no physical addresses and
 * IOVA is the virtual address: what lies together here, lies together there.
 */
static int
populate_packed(struct rte_mempool *mp, uint16_t data_room)
{
	char name[RTE_MEMZONE_NAMESIZE];
	const struct rte_memzone *zone;
	int ret;

	snprintf(name, sizeof(name), "buf_%s", mp->name);
	zone = rte_memzone_reserve_aligned(name, (size_t)mp->size * element_stride(data_room),
					   mp->socket_id, 0, RTE_MEMPOOL_ALIGN);
	if (zone == NULL)
		return -rte_errno;
	ret = rte_mempool_populate_iova(mp, zone->addr, zone->iova, zone->len, free_memzone,
					(void *)(uintptr_t)zone);
	if (ret <= 0) {
		rte_memzone_free(zone);
		return ret == 0 ? -ENOMEM : ret;
	}
	return (uint32_t)ret == mp->size ? 0 : -ENOMEM;
}

/** rte_pktmbuf_pool_create, with elements of our own size and place. NULL: rte_errno says why. */
static struct rte_mempool *
mempool_create(const char *name, int socket, uint32_t size, uint16_t cache, uint16_t data_room)
{
	struct pool_private private = {.mbuf = {.mbuf_data_room_size = data_room}};
	bool packed = !rte_eal_has_hugepages() && rte_eal_iova_mode() == RTE_IOVA_VA;
	struct rte_mempool *mp;
	int ret;

	mp = rte_mempool_create_empty(name, size, element_size(data_room), cache, sizeof(private),
				      socket, packed ? RTE_MEMPOOL_F_NO_IOVA_CONTIG : 0);
	if (mp == NULL)
		return NULL;
	ret = rte_mempool_set_ops_byname(mp, rte_mbuf_best_mempool_ops(), NULL);
	if (ret == 0) {
		memset(rte_mempool_get_priv(mp), 0, sizeof(private));
		rte_pktmbuf_pool_init(mp, &private.mbuf);
		ret = packed ? populate_packed(mp, data_room) : rte_mempool_populate_default(mp);
	}
	if (ret >= 0)
		ret = pool_count_begin(mp);
	if (ret < 0) {
		rte_mempool_free(mp);
		rte_errno = -ret;
		return NULL;
	}
	rte_mempool_obj_iter(mp, rte_pktmbuf_init, NULL);
	return mp;
}

static unsigned
mib(uint64_t bytes)
{
	return (unsigned)((bytes + (1 << 20) - 1) >> 20);
}

static int
no_memory(const char *name, int socket, uint32_t size, uint16_t data_room, struct err *err)
{
	uint64_t left = pool_memory_left(socket);
	char have[64] = "";

	if (left != UINT64_MAX)
		snprintf(have, sizeof(have), " and %u MiB are left", (unsigned)(left >> 20));
	return err_set(
		err, ENOMEM,
		"buffer pool %s: %u buffers of %u bytes need %u MiB on socket %d%s: give more "
		"(EAL option -m, or hugepages) or ask for less (--total-num-mbufs, --rxd, --txd, "
		"--rxq, --txq)",
		name, size, data_room, mib(pool_bytes(size, data_room)), socket, have);
}

int
pool_create(struct pool *pool, const char *name, int socket, uint32_t size, uint16_t data_room,
	    const struct pool_demand *demand, struct err *err)
{
	uint16_t cache;

	*pool = (struct pool){.socket = socket};
	if (data_room == 0)
		data_room = RTE_MBUF_DEFAULT_BUF_SIZE;
	if (size == 0)
		size = pool_size_for(demand);
	if (size < pool_size_min(demand))
		return err_set(
			err, EINVAL,
			"buffer pool %s: %u buffers do not fill the receive queues, which take "
			"%u; %u are never short (--total-num-mbufs, --rxd, --rxq)",
			name, size, pool_size_min(demand), pool_size_for(demand));
	if (size > SIZE_MAX_BUFFERS || pool_bytes(size, data_room) > pool_memory_left(socket))
		return no_memory(name, socket, size, data_room, err);

	cache = cache_size(size, demand);
	pool->mempool = mempool_create(name, socket, size, cache, data_room);
	if (pool->mempool == NULL) {
		if (rte_errno == ENOMEM)
			return no_memory(name, socket, size, data_room, err);
		return err_set(err, rte_errno, "buffer pool %s: %s", name, rte_strerror(rte_errno));
	}
	pool->size = size;
	pool->data_room = data_room;
	pool->cache = cache;
	return 0;
}

void
pool_destroy(struct pool *pool)
{
	if (pool->mempool != NULL)
		pool_count_end(pool->mempool);
	rte_mempool_free(pool->mempool);
	*pool = (struct pool){.socket = pool->socket};
}

uint32_t
pool_in_use(const struct pool *pool)
{
	return pool->mempool == NULL ? 0 : rte_mempool_in_use_count(pool->mempool);
}
