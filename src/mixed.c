/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Ports whose packets may lie in memory that others hold as well (net_ring, drivers we do not
 * know). What the router writes (link header, IP header, SRH) is made its own once, before the
 * stages that write; verdicts that only pass a packet on come before and copy nothing.
 *
 * What other ports receive was allocated for this one packet, and is not looked at.
 */

#include "datapath.h"
#include "ip.h"

void
own_burst(struct worker *w, struct burst *b, const struct port *port)
{
	struct rte_mempool *pool = pool_for_socket(w->socket)->mempool;
	unsigned lost = 0;

	for (unsigned i = 0; i < b->n; i++) {
		struct rte_mbuf *m = b->pkts[i];
		uint16_t bytes =
			(uint16_t)RTE_MIN(m->pkt_len, (uint32_t)RTE_ETHER_HDR_LEN + HEADER_ROOM);

		if (likely(packet_segment_own(m)))
			continue;
		packets_unguard(&m, 1);
		if (packet_make_writable(&b->pkts[i], RTE_PKTMBUF_HEADROOM, bytes, pool) == 0)
			continue;
		received(w, port, 1, m->pkt_len);
		received_more(w, port, m->nb_segs - 1u);
		drop(w, b, i, DROP_POOL_EMPTY);
		b->pkts[i] = NULL;
		lost++;
	}
	if (lost != 0)
		burst_close_gaps(b);
}
