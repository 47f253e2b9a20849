/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POOL_INTERNAL_H
#define POOL_INTERNAL_H

/** @file Between pool.c and count.c. */

#include "pool.h"

struct pool_line;

/** Behind the mempool's header. Pointers are this process's: nobody else looks at them. */
struct pool_private {
	struct rte_pktmbuf_pool_private mbuf; /**< first: rte_mbuf's functions read it */
	const void *mark;		      /**< tells our pools from others */
	struct pool_line *lines;
};

/** The pool is full and nobody uses it: count from here on. -ENOMEM. */
int pool_count_begin(struct rte_mempool *mp);
void pool_count_end(struct rte_mempool *mp);

#endif
