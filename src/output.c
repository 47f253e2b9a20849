/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The ways out: dropped, delivered, handed to the control thread, or onto the
 * wire. Whatever happens to a packet is counted here, once.
 */

#include <errno.h>

#include <rte_random.h>

#include "datapath.h"
#include "ip.h"
#include "trace.h"

void
drop(struct worker *w, struct burst *b, unsigned i, enum drop_reason reason)
{
	w->stats.drops[reason]++;
	if (unlikely(b->traced))
		trace_step(b->trace[i], TRACE_DROPPED, (uint16_t)reason, 0, 0, NULL, 0);
	worker_free(w, b->pkts[i]);
}

void
drop_sid(struct worker *w, struct burst *b, unsigned i, enum drop_reason reason)
{
	struct sid_counters *counters = &w->sids[b->sid[i]];

	counters->packets--;
	counters->bytes -= b->sid_len[i];
	counters->errors++;
	drop(w, b, i, reason);
}

void
deliver(struct worker *w, struct burst *b, unsigned i)
{
	w->stats.delivered++;
	if (unlikely(b->traced))
		trace_step(b->trace[i], TRACE_DELIVERED, 0, 0, 0, NULL, 0);
	worker_free(w, b->pkts[i]);
}

void
hand_to_control(struct worker *w, struct burst *b, unsigned i, enum packet_kind kind,
		uint8_t family, uint32_t nexthop)
{
	struct rte_mbuf *m = b->pkts[i];
	struct packet_meta *meta = packet_meta(m);

	meta->kind = (uint8_t)kind;
	meta->family = family;
	meta->iface = b->iface[i];
	meta->vrf = b->vrf[i];
	meta->l3 = (uint16_t)(b->l3[i] - rte_pktmbuf_mtod(m, uint8_t *));
	meta->nexthop = nexthop;
	meta->trace = b->traced ? b->trace[i] : 0;
	packet_trim(m, (uint32_t)meta->l3 + b->len[i]);
	packets_unguard(&m, 1);
	if (rte_ring_sp_enqueue(w->to_control, m) != 0) {
		drop(w, b, i, DROP_CONTROL_FULL);
		return;
	}
	w->stats.handed++;
	w->woke_control = true;
	if (unlikely(b->traced))
		trace_step(b->trace[i], TRACE_HANDED, (uint16_t)kind, 0, 0, NULL, 0);
}

void
originate(struct worker *w, struct rte_mbuf *m, uint8_t family, uint16_t vrf, uint16_t iface)
{
	w->stats.originated++;
	route_own(w, m, family, vrf, iface);
}

unsigned
own_place(struct burst *own, uint16_t vrf, uint16_t iface, uint8_t flags, uint32_t trace)
{
	unsigned i = own->n++;

	own->out[i] = NULL;
	own->iface[i] = iface;
	own->vrf[i] = vrf;
	own->flags[i] = flags;
	own->sids[i] = 0;
	own->sid[i] = 0;
	own->via[i] = 0;
	own->trace[i] = trace;
	own->traced |= trace != 0;
	return i;
}

void
route_own(struct worker *w, struct rte_mbuf *m, uint8_t family, uint16_t vrf, uint16_t iface)
{
	struct burst *own = &w->own[w->own_filling];
	unsigned i;

	if (own->n == BURST_MAX) {
		w->stats.drops[DROP_CONTROL_FULL]++;
		worker_free(w, m);
		return;
	}
	i = own_place(own, vrf, iface, PLACE_TTL_DONE | PLACE_ORIGINATED, 0);
	own->pkts[i] = m;
	own->l3[i] = rte_pktmbuf_mtod(m, uint8_t *);
	own->len[i] = (uint16_t)m->pkt_len;
	if (family == AF_INET)
		own->ip4.at[own->ip4.n++] = (uint16_t)i;
	else
		own->ip6.at[own->ip6.n++] = (uint16_t)i;
}

/* --- rewrite ---------------------------------------------------------------------- */

/* A neighbour in state STALE is in use: say so once, the control thread probes. */
static void
note_stale(struct worker *w, uint32_t nexthop)
{
	if (w->last_note == nexthop)
		return;
	if (rte_ring_sp_enqueue(w->notes, (void *)(uintptr_t)nexthop) == 0) {
		w->last_note = nexthop;
		w->woke_control = true;
	}
}

/* The link header in front of an IP packet says which version it is. */
static void
write_ethertype(char *ip, uint8_t version)
{
	uint16_t type = rte_cpu_to_be_16((version & 0xf0) == 0x40 ? RTE_ETHER_TYPE_IPV4
								  : RTE_ETHER_TYPE_IPV6);

	memcpy(ip - 2, &type, sizeof(type));
}

struct rte_mbuf *
output_one_segment(struct worker *w, struct rte_mbuf *chain)
{
	struct rte_mbuf *m = packet_in_one(chain, pool_for_socket(w->socket)->mempool);

	if (m != NULL)
		worker_free(w, chain);
	return m;
}

/* The frame's UDP checksum is the device's to make: the pseudo header's sum is there. */
static void
leave_udp_sum(struct rte_mbuf *m, uint8_t link_header, uint8_t version)
{
	bool v4 = (version & 0xf0) == 0x40;

	m->ol_flags |= RTE_MBUF_F_TX_UDP_CKSUM | (v4 ? RTE_MBUF_F_TX_IPV4 : RTE_MBUF_F_TX_IPV6);
	m->l2_len = link_header;
	m->l3_len = v4 ? IP4_HEADER_MIN : IP6_HEADER;
}

bool
output_prepare(struct worker *w, struct burst *b, unsigned i, const struct nexthop *nh)
{
	struct rte_mbuf *m = b->pkts[i];
	uint16_t l3 = (uint16_t)(b->l3[i] - rte_pktmbuf_mtod(m, uint8_t *));
	uint8_t version;
	char *start;

	/* A queue of another worker's may be sent when the port has been set up anew. */
	if ((b->flags[i] & PLACE_SUM) != 0 &&
	    !(ports[nh->port].udp_sum_offload && w->tx[nh->port].own))
		udp_sum_finish(b, i);
	if ((nh->flags & NEXTHOP_STALE) != 0)
		note_stale(w, nh->id);
	packet_strip(m, l3);
	packet_trim(m, b->len[i]);
	version = *rte_pktmbuf_mtod(m, uint8_t *);
	if (packet_prepend(&m, nh->rewrite_len, pool_for_socket(w->socket)->mempool) != 0) {
		drop(w, b, i, DROP_POOL_EMPTY);
		return false;
	}
	b->pkts[i] = m;
	start = rte_pktmbuf_mtod(m, char *);
	memcpy(start, nh->rewrite + NEXTHOP_REWRITE_MAX - nh->rewrite_len, nh->rewrite_len);
	if ((b->flags[i] & PLACE_ETHERTYPE) != 0)
		write_ethertype(start + nh->rewrite_len, version);
	if ((b->flags[i] & PLACE_SUM) != 0)
		leave_udp_sum(m, nh->rewrite_len, version);
	if (m->nb_segs > 1 && !ports[nh->port].tx_multi_segs) {
		m = output_one_segment(w, m);
		if (m == NULL) {
			w->stats.port[nh->port].tx_dropped++;
			drop(w, b, i, DROP_TX_ERROR);
			return false;
		}
		b->pkts[i] = m;
	}
	if (unlikely(b->traced))
		trace_step(b->trace[i], TRACE_SENT, nh->port, 0, m->pkt_len, NULL, 0);
	return true;
}

/* A fragment: link header in front, and out. */
static void
send_fragment(struct worker *w, const struct nexthop *nh, struct rte_mbuf *m)
{
	char *start = rte_pktmbuf_prepend(m, nh->rewrite_len);

	memcpy(start, nh->rewrite + NEXTHOP_REWRITE_MAX - nh->rewrite_len, nh->rewrite_len);
	if (nh->family != AF_INET)
		write_ethertype(start + nh->rewrite_len, (uint8_t)start[nh->rewrite_len]);
	pool_made(m->pool, m->nb_segs);
	w->stats.port[nh->port].tx_bytes += m->pkt_len;
	tx_frame(w, nh->port, m);
}

/* Cut the packet into w->more: RFC 791 2.3, RFC 8200 4.5. */
static int
cut(struct worker *w, struct rte_mbuf *m, uint16_t mtu, bool v6)
{
	struct rte_mempool *pool = pool_for_socket(w->socket)->mempool;

	return v6 ? ip6_fragment(m, mtu, (uint32_t)rte_rand(), pool, w->more, BURST_MAX)
		  : ip4_fragment(m, mtu, pool, w->more, BURST_MAX);
}

/*
 * Fragments where the sender allows it, which for IPv6 is only the router
 * itself; else the sender is told how much fits.
 */
void
output_too_long(struct worker *w, struct burst *b, unsigned i)
{
	const struct nexthop *nh = b->out[i];
	struct rte_mbuf *m = b->pkts[i];
	const uint8_t *h = b->l3[i];
	bool v6 = h[0] >> 4 == 6;
	int n;

	if ((b->flags[i] & PLACE_SUM) != 0)
		udp_sum_finish(b, i);
	if (v6 && (b->flags[i] & PLACE_ORIGINATED) == 0) {
		drop_with_error6(w, b, i, DROP_MTU_EXCEEDED, ICMP6_TOO_BIG, 0, nh->mtu);
		return;
	}
	if (!v6 && (h[6] & 0x40) != 0) {
		drop_with_error4(w, b, i, DROP_MTU_EXCEEDED, ICMP4_UNREACHABLE,
				 ICMP4_UNREACHABLE_FRAG_NEEDED, nh->mtu);
		return;
	}
	packet_strip(m, (uint32_t)(h - rte_pktmbuf_mtod(m, uint8_t *)));
	packet_trim(m, b->len[i]);
	n = cut(w, m, nh->mtu, v6);
	if (n < 0) {
		b->l3[i] = rte_pktmbuf_mtod(m, uint8_t *);
		drop(w, b, i, n == -ENOBUFS ? DROP_POOL_EMPTY : DROP_FRAGMENT);
		return;
	}
	/* One packet came; all fragments but one are the router's own. */
	w->stats.originated += (unsigned)n - 1;
	if (unlikely(b->traced)) {
		trace_step(b->trace[i], TRACE_FRAGMENTS, (uint16_t)n, 0, 0, NULL, 0);
		trace_step(b->trace[i], TRACE_SENT, nh->port, 0, m->pkt_len, NULL, 0);
	}
	for (int k = 0; k < n; k++)
		send_fragment(w, nh, w->more[k]);
	worker_free(w, m);
}

/* --- transmit --------------------------------------------------------------------- */

static void
tx_drop(struct worker *w, unsigned port, struct rte_mbuf **pkts, unsigned n,
	enum drop_reason reason)
{
	w->stats.drops[reason] += n;
	w->stats.port[port].tx_dropped += n;
	for (unsigned i = 0; i < n; i++)
		w->stats.port[port].tx_bytes -= pkts[i]->pkt_len;
	rte_pktmbuf_free_bulk(pkts, n);
}

void
tx_flush(struct worker *w, unsigned port)
{
	struct tx_queue *q = &w->tx[port];
	unsigned n = q->n, sent = 0;

	q->n = 0;
	w->tx_dirty &= ~(1u << port);
	packets_unguard(q->pkts, n);
	if (unlikely(!ports[port].tx_up)) {
		tx_drop(w, port, q->pkts, n, DROP_PORT_DOWN);
		return;
	}
	if (unlikely(!q->own)) {
		/* The owner of the port's queue sends and counts them. */
		for (unsigned i = 0; i < n; i++) {
			q->pkts[i]->port = (uint16_t)port;
			w->stats.port[port].tx_bytes -= q->pkts[i]->pkt_len;
		}
		if (q->ring != NULL)
			sent = rte_ring_sp_enqueue_burst(q->ring, (void **)q->pkts, n, NULL);
		w->stats.handed += sent;
		if (sent < n) {
			w->stats.drops[DROP_TX_FULL] += n - sent;
			w->stats.port[port].tx_dropped += n - sent;
			rte_pktmbuf_free_bulk(q->pkts + sent, n - sent);
		}
		return;
	}
	/* A driver takes what it has room for; one that took some may take more
	 * after it has reclaimed descriptors. */
	sent = rte_eth_tx_burst((uint16_t)port, q->queue, q->pkts, (uint16_t)n);
	while (unlikely(sent < n)) {
		unsigned more = rte_eth_tx_burst((uint16_t)port, q->queue, q->pkts + sent,
						 (uint16_t)(n - sent));

		if (more == 0)
			break;
		sent += more;
	}
	w->stats.transmitted += sent;
	w->stats.port[port].tx_packets += sent;
	if (unlikely(sent < n))
		tx_drop(w, port, q->pkts + sent, n - sent, DROP_TX_FULL);
}

void
tx_flush_all(struct worker *w)
{
	while (w->tx_dirty != 0)
		tx_flush(w, (unsigned)__builtin_ctz(w->tx_dirty));
}
