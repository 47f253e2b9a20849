/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POOL_H
#define POOL_H

/**
 * @file
 * The page pool: an rte_mempool of packet buffers, sized so that it cannot run
 * dry in steady state, that accounts for every buffer. Control thread only,
 * except allocation and freeing of buffers, which are rte_mbuf's, and where said.
 *
 * Buffers are counted as the kernel's page_pool counts pages: those that come
 * from, and go back to, a thread's own cache, and those for which the cache had to turn
 * to the ring that all threads share. A buffer that is found in the cache costs no
 * counting. What is counted is (count.c)
 *
 *   from_ring, to_ring   buffers moved where a cache meets the ring, and
 *   used                 buffers put to use: those that packets were received in, which
 *                        the ports count anyway, those made here (pool_made()), and those
 *                        given to drivers to receive into (pool->given).
 *
 * The rest is computed, and holds at any moment when no thread is at work:
 *
 *   from_ring - to_ring = in use + in caches
 *   alloc_cached + alloc_slow = used,  alloc_slow = from_ring, but at most used
 *   recycled_cached + recycled_slow = used - in use,  recycled_slow = to_ring, but at most that
 *
 * "At most", because a cache is filled with more than is asked for. What has not been
 * used yet was not allocated; and what waits in a cache counts as recycled to the
 * cache until the cache gives it to the ring.
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
	uint32_t rx_queues;	 /**< fed by it: a burst of each may be in hand at once */
	uint32_t
		tx_descriptors; /**< of all transmit queues: any of them may be full of this pool */
	uint32_t workers;	/**< each with a mempool cache */
	uint32_t burst;		/**< packets per burst */
	uint32_t made;	   /**< packets each worker may have made (fragments) and not sent yet */
	uint32_t rings;	   /**< slots of all rings between threads */
	uint32_t held;	   /**< packets waiting for neighbours, fragments, sockets */
	uint32_t segments; /**< buffers of the largest frame; 0 means 1 */
};

struct pool {
	struct rte_mempool *mempool;
	int socket;	    /**< NUMA socket */
	uint32_t size;	    /**< buffers */
	uint16_t data_room; /**< bytes per buffer, headroom included */
	uint16_t
		cache; /**< buffers a thread's cache is filled to (it may keep half as many more) */
	uint64_t given; /**< buffers given to drivers to receive into, for pool_account() */
};

/** Counted by the threads, see above. */
struct pool_counts {
	uint64_t from_ring; /**< buffers */
	uint64_t to_ring;   /**< buffers */
	uint64_t failed;    /**< requests, of one buffer or of a burst, that got nothing */
	uint64_t made;	    /**< buffers allocated by ourselves: answers, fragments, copies */
	uint64_t copied;    /**< buffers among them that hold a copy of what could not be written */
};

/** What `show pool` says. All but failed are buffers. */
struct pool_account {
	uint32_t in_use; /**< neither in the ring nor in a cache */
	uint32_t in_caches;
	uint64_t alloc_cached, alloc_slow, alloc_failed;
	uint64_t recycled_cached, recycled_slow;
	uint64_t copied;
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
int pool_create(struct pool *pool, const char *name, int socket, uint32_t size, uint16_t data_room,
		const struct pool_demand *demand, struct err *err);

/** Every buffer must be back, or its memory is gone under whoever holds it. A
 * pool that was never made (mempool NULL) is allowed. */
void pool_destroy(struct pool *pool);

/** Buffers out of the pool: everything not free and in no cache. Exact while
 * no thread allocates or frees. */
uint32_t pool_in_use(const struct pool *pool);

/** received: buffers (not packets) that packets have been received in since the pool was made.
 * Any thread, as long as the pool exists. */
void pool_account(const struct pool *pool, uint64_t received, struct pool_account *account);

/** Sum over all threads. Any thread, as long as the pool exists. */
void pool_counts(const struct pool *pool, struct pool_counts *sum);

/**
 * Buffers the calling thread has taken out of the pool and not put back, others'
 * buffers that it has put there subtracted: exact whatever other threads do.
 * The difference of two calls is what happened between them: what a driver took to
 * receive into, for example.
 */
int64_t pool_held_by_thread(const struct pool *pool);

/** A driver has been let take buffers to receive into, in this thread, since pool_held_by_thread()
 * was `before`. Control thread. */
void pool_given(struct pool *pool, int64_t before);

/**
 * The calling thread has allocated so many buffers itself, and has a use for them.
 * pool_copied(): that many of those already counted by pool_made() are copies. Pools that
 * are not of this library are not counted. Any thread; each writes a line of its own.
 */
void pool_made(struct rte_mempool *mp, unsigned buffers);
void pool_copied(struct rte_mempool *mp, unsigned buffers);

#endif
