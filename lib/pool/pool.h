/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POOL_H
#define POOL_H

/**
 * @file
 * The page pool: one rte_mempool of packet buffers per NUMA socket, sized so
 * that it cannot run dry in steady state. Control thread only, except
 * allocation and freeing of buffers, which are rte_mbuf's.
 *
 * Buffers lie one after the other, an odd number of cache lines apart, so that
 * the headers of neighbouring buffers fall into different sets of the caches.
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "base.h"

/** What can hold buffers at the same time on one socket. */
struct pool_demand {
	uint32_t rx_descriptors; /**< of all receive queues fed by the pool */
	uint32_t tx_descriptors; /**< of all transmit queues: any of them may be full of this pool */
	uint32_t workers;        /**< each with a mempool cache and bursts in flight */
	uint32_t ports;          /**< for each, every worker may keep a burst back to transmit */
	uint32_t burst;          /**< packets per burst */
	uint32_t rings;          /**< slots of all rings between threads */
	uint32_t held;           /**< packets waiting for neighbours, fragments */
	uint32_t segments;       /**< buffers of the largest frame; 0 means 1 */
};

struct pool {
	struct rte_mempool *mempool;
	int socket;          /**< NUMA socket */
	uint32_t size;       /**< buffers */
	uint16_t data_room;  /**< bytes per buffer, headroom included */
	uint16_t cache;      /**< buffers a thread's cache is filled to (it may keep half as many more) */
};

/** Buffers that cover the demand. */
uint32_t pool_size_for(const struct pool_demand *demand);

/** Buffers without which the queues could not even be filled. */
uint32_t pool_size_min(const struct pool_demand *demand);

/** Memory of a pool of so many buffers, in bytes. data_room 0: RTE_MBUF_DEFAULT_BUF_SIZE. */
uint64_t pool_bytes(uint32_t size, uint16_t data_room);

/** Memory EAL could still give on a socket, in bytes; UINT64_MAX when that is
 * not known before asking, because the heap grows by hugepages on demand. */
uint64_t pool_memory_left(int socket);

/**
 * size 0: pool_size_for(demand). data_room 0: RTE_MBUF_DEFAULT_BUF_SIZE.
 * -EINVAL: size is below pool_size_min(). -ENOMEM with a sentence that says
 * how many buffers (and MiB) are needed, and which option (-m,
 * --total-num-mbufs, hugepages) gives them.
 */
int pool_create(struct pool *pool, const char *name, int socket, uint32_t size,
		uint16_t data_room, const struct pool_demand *demand, struct err *err);

/** Every buffer must be back, or its memory is gone under whoever holds it. A
 * pool that was never made (mempool NULL) is allowed. */
void pool_destroy(struct pool *pool);

/** Buffers out of the pool: everything not free and in no cache. Exact while
 * no thread allocates or frees. */
uint32_t pool_in_use(const struct pool *pool);

#endif
