/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PLAIN_H
#define PLAIN_H

/**
 * @file
 * What the short way (express.h) and the stages (journey.c) both do with a packet: see whether it
 * is plain, and put it into a transmit buffer behind its link header. Included by them only. Worker
 * threads.
 */

#include <limits.h>

#include <rte_ether.h>
#include <rte_memcpy.h>

#include "datapath.h"
#include "ip.h"
#include "srv6.h"

/* --- what is good enough ------------------------------------------------------------ */

/* RFC 8200 3: is it an IPv6 packet, all there, from a source
 * beyond suspicion? Its length goes to *len. */
static inline bool
good6(const uint8_t *h, uint16_t room, uint16_t *len)
{
	uint16_t payload;

	if (unlikely(room < IP6_HEADER))
		return false;
	memcpy(&payload, h + 4, sizeof(payload));
	*len = (uint16_t)(rte_be_to_cpu_16(payload) + IP6_HEADER);
	return (h[0] >> 4) == 6 && rte_be_to_cpu_16(payload) <= room - IP6_HEADER &&
	       !ip6_source_suspect(h[8]);
}

/* RFC 1812 5.2.2: is it an IPv4 packet without options, all there, its header
 * undamaged, from a source beyond suspicion? */
static inline bool
good4(const uint8_t *h, uint16_t room, uint16_t *len)
{
	uint16_t total;

	if (unlikely(room < IP4_HEADER_MIN))
		return false;
	memcpy(&total, h + 2, sizeof(total));
	*len = rte_be_to_cpu_16(total);
	return h[0] == 0x45 && *len >= IP4_HEADER_MIN && *len <= room && ip4_sum_ok_20(h) &&
	       !ip4_source_suspect(h[12]);
}

/*
 * Bytes in front of what the SID takes out of a tunnel, when that is simple: an
 * IPv6 header, perhaps an SRH whose segments are used up (RFC 8754 4.3.1.1), all in one segment,
 * no flavours, no congestion marks to be carried over. 0: it is not. *proto is what is inside.
 */
static inline unsigned
plain_tunnel(const struct nexthop *sid, const struct rte_mbuf *m, const uint8_t *h, uint16_t len,
	     uint8_t *proto)
{
	unsigned size;

	if (unlikely(sid->flavours != 0 || (h[1] & tunnel_ecn_mask) != 0 || m->nb_segs != 1))
		return 0;
	*proto = h[6];
	if (likely(srv6_decapsulates(sid, *proto)))
		return IP6_HEADER;
	if (*proto != PROTO_ROUTING || len < IP6_HEADER + 8)
		return 0;
	size = IP6_HEADER + 8 + 8 * h[IP6_HEADER + 1];
	*proto = h[IP6_HEADER];
	if (h[IP6_HEADER + 2] != SRV6_ROUTING_TYPE || h[IP6_HEADER + 3] != 0 || size > len ||
	    !srv6_decapsulates(sid, *proto))
		return 0;
	return size;
}

/* --- sending ------------------------------------------------------------------------ */

#ifdef NOREF_NEXTHOP_REFCOUNT
/* What a kernel did for every packet before it could do without: here only to be measured. */
static inline void
reference(const struct nexthop *nh)
{
	uint32_t *refs = (uint32_t *)(uintptr_t)&nh->refs;

	__atomic_fetch_add(refs, 1, __ATOMIC_ACQ_REL);
	__atomic_fetch_sub(refs, 1, __ATOMIC_ACQ_REL);
}
#else
static inline void
reference(const struct nexthop *nh)
{
	(void)nh;
}
#endif

/* Frames that leave by one port, one after the other. */
struct out_run {
	unsigned port;
	struct tx_queue *q;
	uint64_t bytes;
};

static inline void
run_end(struct worker *w, const struct out_run *run)
{
	if (run->q != NULL)
		w->stats.port[run->port].tx_bytes += run->bytes;
}

/* The link header has room in front of the IP header. */
static inline bool
has_headroom(const struct rte_mbuf *m, const uint8_t *h)
{
	return h - (const uint8_t *)m->buf_addr >= NEXTHOP_REWRITE_MAX;
}

/* Put the link header in front of the IP packet at h, in one segment. */
static inline void
rewrite(struct rte_mbuf *m, uint8_t *h, uint16_t len, const struct nexthop *nh)
{
	/* The header ends where the packet begins: 16 bytes hold the 14 of plain
	 * Ethernet, the two before them are headroom. */
	rte_mov16(h - 16, nh->rewrite + NEXTHOP_REWRITE_MAX - 16);
	if (unlikely(nh->rewrite_len > 16))
		memcpy(h - 24, nh->rewrite, 8);
	m->data_off = (uint16_t)(h - (uint8_t *)m->buf_addr - nh->rewrite_len);
	m->data_len = (uint16_t)(len + nh->rewrite_len);
	m->pkt_len = m->data_len;
}

/* Into the transmit buffer of its port. */
static inline void
run_add(struct worker *w, struct out_run *run, unsigned port, struct rte_mbuf *m)
{
	if (unlikely(port != run->port)) {
		run_end(w, run);
		*run = (struct out_run){.port = port, .q = &w->tx[port]};
	}
	w->tx_dirty |= 1u << port;
	run->bytes += m->pkt_len;
	run->q->pkts[run->q->n++] = m;
	if (unlikely(run->q->n == BURST_MAX)) {
		run_end(w, run);
		run->bytes = 0;
		tx_flush(w, run->port);
	}
}

#endif
