/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef GUARD_H
#define GUARD_H

/**
 * @file
 * In sanitizer builds, the end of each packet is the end of its memory.
 *
 * AddressSanitizer takes a mempool for one large object, in which reading past
 * a packet's last byte finds the rest of its buffer. So, from receive until the
 * packet leaves the worker, what lies behind its data is poisoned. In other builds
 * these functions are nothing. Worker threads.
 */

#include <rte_mbuf.h>

#include "packet.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>

/** Received: nothing behind the data may be touched. Chains are left alone: they are
 * pulled together in their own tailroom; so is memory that others may read further. */
static inline void
packets_guard(struct rte_mbuf *const pkts[], unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const struct rte_mbuf *m = pkts[i];

		if (m->nb_segs == 1 && packet_segment_own(m))
			__asan_poison_memory_region(rte_pktmbuf_mtod(m, char *) + m->data_len,
						    rte_pktmbuf_tailroom(m));
	}
}

/** About to be freed, transmitted or handed over: drivers may use the whole buffer. */
static inline void
packets_unguard(struct rte_mbuf *const pkts[], unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		for (const struct rte_mbuf *m = pkts[i]; m != NULL; m = m->next)
			__asan_unpoison_memory_region(m->buf_addr, m->buf_len);
	}
}
#else
static inline void
packets_guard(struct rte_mbuf *const pkts[], unsigned n)
{
	(void)pkts;
	(void)n;
}

static inline void
packets_unguard(struct rte_mbuf *const pkts[], unsigned n)
{
	(void)pkts;
	(void)n;
}
#endif

#endif
