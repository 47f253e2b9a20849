/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POOL_H
#define POOL_H

/**
 * @file
 * The page pool: one rte_mempool of packet buffers per NUMA socket, sized so
 * that it cannot run dry in steady state. Control thread only, except
 * allocation and freeing of buffers, which are rte_mbuf's.
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
	uint32_t burst;          /**< packets per burst */
	uint32_t rings;          /**< slots of all rings between threads */
	uint32_t held;           /**< packets waiting for neighbours, fragments */
};

struct pool {
	struct rte_mempool *mempool;
	int socket;          /**< NUMA socket */
	uint32_t size;       /**< buffers */
	uint16_t data_room;  /**< bytes per buffer, headroom included */
};

/** Buffers that cover the demand. */
uint32_t pool_size_for(const struct pool_demand *demand);

/**
 * size 0: pool_size_for(demand). data_room 0: RTE_MBUF_DEFAULT_BUF_SIZE.
 * -ENOMEM with a sentence that says how many buffers (and MiB) are needed, and
 * which option (-m, --total-num-mbufs, hugepages) gives them.
 */
int pool_create(struct pool *pool, const char *name, int socket, uint32_t size,
		uint16_t data_room, const struct pool_demand *demand, struct err *err);
void pool_destroy(struct pool *pool);

/** Buffers out of the pool: everything not free and in no cache. */
uint32_t pool_in_use(const struct pool *pool);

#endif
