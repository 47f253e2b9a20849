/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * One burst's journey, receive to transmit. Read it from the bottom: journey()
 * names the stages in order.
 *
 *     receive ─▶ input ─┬▶ check6 ─▶ route6 ─┬▶ endpoint ─┬▶ check6, route6 (again)
 *                       │                    ▼            └▶ route4
 *                       └▶ route4 ─────────▶ output ─▶ transmit buffers
 *
 * Here is what nearly every packet needs and nothing else. A packet that needs
 * more (extension headers, options, a neighbour without MAC, an error message)
 * leaves through a call to a function named *_other or drop*, and comes back on
 * a list or not at all; those are in dispatch.c, input.c, local.c, errors.c and
 * output.c.
 */

#include <limits.h>

#include <rte_cycles.h>
#include <rte_ether.h>
#include <rte_memcpy.h>

#include "classify.h"
#include "datapath.h"
#include "ip.h"
#include "lookup.h"
#include "srv6.h"
#include "trace.h"

/* Packets whose headers are fetched ahead of the one being looked at. */
#define PREFETCH_AHEAD 4

static inline void
list_add(struct place_list *list, unsigned place)
{
	list->at[list->n++] = (uint16_t)place;
}

/* Close the account of a stage, if anybody wants it. */
static inline void
stage_end(struct worker *w, enum stage stage)
{
	if (unlikely(w->account)) {
		uint64_t now = rte_rdtsc();

		w->stage_cycles[stage] += now - w->stage_mark;
		w->stage_mark = now;
	}
}

void
burst_begin(struct burst *b, unsigned n, uint16_t iface, uint16_t vrf)
{
	b->n = n;
	b->more = 0;
	b->traced = false;
	b->fixed6 = false;
	memset(b->out, 0, n * sizeof(b->out[0]));
	memset(b->sid, 0, n * sizeof(b->sid[0]));
	memset(b->via, 0, n * sizeof(b->via[0]));
	memset(b->flags, 0, n * sizeof(b->flags[0]));
	memset(b->sids, 0, n * sizeof(b->sids[0]));
	for (unsigned i = 0; i < n; i++) {
		b->iface[i] = iface;
		b->vrf[i] = vrf;
	}
	b->ip4.n = 0;
	b->ip6.n = 0;
	b->ip6_route.n = 0;
	b->ip6_trie.n = 0;
	b->sid_list.n = 0;
	b->ready4.n = 0;
	b->arp.n = 0;
	b->nd.n = 0;
}

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
	return ((h[0] >> 4) == 6) & (rte_be_to_cpu_16(payload) <= room - IP6_HEADER) &
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
	return (h[0] == 0x45) & (*len >= IP4_HEADER_MIN) & (*len <= room) & ip4_sum_ok_20(h) &
	       !ip4_source_suspect(h[12]);
}

static inline void
check6(struct worker *w, struct burst *b)
{
	for (unsigned k = 0; k < b->ip6.n; k++) {
		unsigned i = b->ip6.at[k];
		uint16_t len;

		if (likely(good6(b->l3[i], b->len[i], &len)))
			b->len[i] = len;
		else if (!check6_other(w, b, i))
			continue;
		list_add(&b->ip6_route, i);
		if (unlikely(b->traced))
			trace_step(b->trace[i], TRACE_IP6, 0, 0, b->len[i], b->l3[i], IP6_HEADER);
	}
	b->ip6.n = 0;
}

/* The packet has a neighbour to go to: count the hop. */
static inline void
forward6(struct worker *w, struct burst *b, unsigned i, const struct nexthop *nh)
{
	uint8_t *h = b->l3[i];

	if (unlikely(nh->type != NEXTHOP_ADJACENT || h[7] <= 1 || b->flags[i] != 0 ||
		     ip6_is_link_local(h + 8))) {
		dispatch_other6(w, b, i, nh);
		return;
	}
	h[7]--;
	b->out[i] = nh;
}

/* Longest match of IPv6 destinations, SIDs among them. trie_only: the
 * exact-match tables have been asked already. */
static inline __attribute__((always_inline)) void
route6(struct worker *w, struct burst *b, struct place_list *list, bool trie_only)
{
	for (unsigned k = 0; k < list->n; k++) {
		unsigned i = list->at[k];

		b->fibs6[k] = vrf_fibs[b->vrf[i]].fib6;
		b->dst6[k] = b->l3[i] + 24;
	}
	if (trie_only)
		fib6_lookup_burst_trie(b->fibs6, b->dst6, b->values, list->n);
	else
		fib6_lookup_burst(b->fibs6, b->dst6, b->values, list->n);
	for (unsigned k = 0; k < list->n; k++) {
		unsigned i = list->at[k];
		const struct nexthop *nh = nexthop_at(nexthops, b->values[k]);

		if (unlikely(b->traced))
			trace_step(b->trace[i], TRACE_LOOKUP, b->vrf[i], AF_INET6, b->values[k],
				   b->dst6[k], 16);
		if (unlikely(nh->type == NEXTHOP_SID)) {
			b->sid[i] = b->values[k];
			list_add(&b->sid_list, i);
		} else {
			forward6(w, b, i, nh);
		}
	}
	list->n = 0;
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

	if (unlikely((sid->flavours != 0) | ((h[1] & tunnel_ecn_mask) != 0) | (m->nb_segs != 1)))
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

/* RFC 8986 4.4 to 4.8 for a plain tunnel: count it for the SID; the inner packet starts behind
 * the headers, and the SID says where it is routed. */
static inline void
take_out(struct worker *w, struct burst *b, unsigned i, const struct nexthop *sid,
	 unsigned headers)
{
	struct sid_counters *counters = &w->sids[sid->id];

	counters->packets++;
	counters->bytes += b->len[i];
	b->sid[i] = sid->id;
	b->sid_len[i] = b->len[i];
	b->l3[i] += headers;
	b->len[i] = (uint16_t)(b->len[i] - headers);
	b->vrf[i] = sid->sid.table;
	b->via[i] = sid->sid.nexthop;
}

/* RFC 8986: packets that have reached a SID of ours. */
static inline void
endpoint(struct worker *w, struct burst *b)
{
	for (unsigned k = 0; k < b->sid_list.n; k++) {
		unsigned i = b->sid_list.at[k];
		const struct nexthop *sid = nexthop_at(nexthops, b->sid[i]);
		unsigned headers;
		uint8_t proto;

		headers = plain_tunnel(sid, b->pkts[i], b->l3[i], b->len[i], &proto);
		if (unlikely(headers == 0 || b->traced)) {
			endpoint_other(w, b, i, sid);
			continue;
		}
		take_out(w, b, i, sid, headers);
		b->flags[i] &= PLACE_GROUP_MAC;
		list_add(proto == PROTO_IP4 ? &b->ip4 : &b->ip6, i);
		b->fixed6 = true;
	}
	b->sid_list.n = 0;
}

static inline void
forward4(struct worker *w, struct burst *b, unsigned i, const struct nexthop *nh)
{
	uint8_t *h = b->l3[i];

	if (unlikely(nh->type != NEXTHOP_ADJACENT || h[8] <= 1 || b->flags[i] != 0)) {
		dispatch_other4(w, b, i, nh);
		return;
	}
	ip4_decrement_ttl(h);
	b->out[i] = nh;
}

/* A SID has fixed the way, so no table is asked; but what no table would send anywhere is not
 * sent here either. */
static inline void
forward_fixed4(struct worker *w, struct burst *b, unsigned i)
{
	if (unlikely(ip4_source_suspect(b->l3[i][16])) && martian_destination4(w, b, i))
		return;
	if (unlikely(b->traced))
		trace_step(b->trace[i], TRACE_NEXTHOP, 0, 0, b->via[i], NULL, 0);
	forward4(w, b, i, nexthop_at(nexthops, b->via[i]));
}

/* Checked and to be looked up, unless a SID has fixed the way. */
static inline void
ready4(struct worker *w, struct burst *b, unsigned i)
{
	unsigned n = b->ready4.n;
	uint32_t dst;

	if (b->via[i] != 0) {
		forward_fixed4(w, b, i);
		return;
	}
	memcpy(&dst, b->l3[i] + 16, sizeof(dst));
	b->dst4[n] = rte_be_to_cpu_32(dst);
	b->fibs4[n] = vrf_fibs[b->vrf[i]].fib4;
	list_add(&b->ready4, i);
}

static inline void
check4(struct worker *w, struct burst *b)
{
	for (unsigned k = 0; k < b->ip4.n; k++) {
		unsigned i = b->ip4.at[k];
		uint16_t len;

		if (likely(good4(b->l3[i], b->len[i], &len)))
			b->len[i] = len;
		else if (!check4_other(w, b, i))
			continue;
		if (unlikely(b->traced))
			trace_step(b->trace[i], TRACE_IP4, 0, 0, b->len[i], b->l3[i],
				   IP4_HEADER_MIN);
		ready4(w, b, i);
	}
	b->ip4.n = 0;
}

/*
 * What the exact-match tables said of the last destination: tunnels fill bursts,
 * so it is likely to be asked again. The answer holds for the burst.
 */
struct last_front {
	uint64_t dst[2];
	const struct nexthop *nh;
};

/* The next hop of the packet at h if no trie is needed to find it; else one of
 * type NEXTHOP_NONE. */
static inline const struct nexthop *
front6(const struct fib6 *fib, const uint8_t *h, struct last_front *last)
{
	uint64_t dst[2];

	memcpy(dst, h + 24, sizeof(dst));
	if (((dst[0] ^ last->dst[0]) | (dst[1] ^ last->dst[1])) != 0) {
		memcpy(last->dst, dst, sizeof(dst));
		last->nh = nexthop_at(nexthops, fib6_lookup_front(fib, h + 24));
	}
	return last->nh;
}

/* An IPv4 packet nothing has been found out about yet. */
static inline void
begin4(struct worker *w, struct burst *b, unsigned i)
{
	uint16_t len;

	if (unlikely(!good4(b->l3[i], b->len[i], &len))) {
		list_add(&b->ip4, i);
		return;
	}
	b->len[i] = len;
	ready4(w, b, i);
}

/* An IPv6 packet nothing has been found out about yet: plain tunnels end at
 * once, what else there is goes to the list of the stage it needs. */
static inline void
begin6(struct worker *w, struct burst *b, unsigned i, const struct fib6 *fib,
       struct last_front *last)
{
	const struct nexthop *nh;
	unsigned headers;
	uint16_t len;
	uint8_t proto;

	if (unlikely(!good6(b->l3[i], b->len[i], &len))) {
		list_add(&b->ip6, i);
		return;
	}
	b->len[i] = len;
	nh = front6(fib, b->l3[i], last);
	if (nh->type == NEXTHOP_NONE) {
		list_add(&b->ip6_trie, i);
		return;
	}
	if (unlikely(nh->type != NEXTHOP_SID)) {
		forward6(w, b, i, nh);
		return;
	}
	headers = plain_tunnel(nh, b->pkts[i], b->l3[i], len, &proto);
	if (unlikely(headers == 0)) {
		b->sid[i] = nh->id;
		list_add(&b->sid_list, i);
		return;
	}
	take_out(w, b, i, nh, headers);
	if (likely(proto == PROTO_IP4)) {
		begin4(w, b, i);
	} else {
		list_add(&b->ip6, i);
		b->fixed6 = true;
	}
}

/*
 * Ethernet: frames to our MAC that carry IP go to the list of their version.
 * Traced ones take every stage in turn. Returns the bytes of all.
 */
static inline uint64_t
input(struct worker *w, struct burst *b, const struct port *port)
{
	const struct fib6 *fib6 = vrf_fibs[iface_at(port->iface)->vrf].fib6;
	const uint64_t mac_mask = port->any_mac ? 0 : 0xffffffffffff;
	const uint64_t mac = port->mac & mac_mask;
	/* To begin with, an address no exact-match table ever has. */
	struct last_front last = {{UINT64_MAX, UINT64_MAX}, nexthop_at(nexthops, 0)};
	const bool traced = b->traced;
	uint64_t bytes = 0;

	for (unsigned i = 0; i < b->n; i++) {
		struct rte_mbuf *m = b->pkts[i];
		uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
		uint64_t head;
		uint16_t type;

		if (i + PREFETCH_AHEAD < b->n)
			rte_prefetch0(rte_pktmbuf_mtod(b->pkts[i + PREFETCH_AHEAD], void *));
		bytes += m->pkt_len;
		if (unlikely(m->nb_segs != 1 || m->data_len < RTE_ETHER_HDR_LEN)) {
			input_other(w, b, i, port);
			continue;
		}
		memcpy(&head, frame, sizeof(head));
		memcpy(&type, frame + 12, sizeof(type));
		b->l3[i] = frame + RTE_ETHER_HDR_LEN;
		b->len[i] = (uint16_t)(m->data_len - RTE_ETHER_HDR_LEN);
		if (unlikely((head & mac_mask) != mac))
			input_other(w, b, i, port);
		else if (type == rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV6) && !traced)
			begin6(w, b, i, fib6, &last);
		else if (type == rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4) && !traced)
			begin4(w, b, i);
		else
			input_other(w, b, i, port);
	}
	return bytes;
}

/* Longest match of IPv4 destinations. */
static inline void
route4(struct worker *w, struct burst *b)
{
	fib4_lookup_burst(b->fibs4, b->dst4, b->values, b->ready4.n);
	for (unsigned k = 0; k < b->ready4.n; k++) {
		unsigned i = b->ready4.at[k];

		if (unlikely(b->traced))
			trace_step(b->trace[i], TRACE_LOOKUP, b->vrf[i], AF_INET, b->values[k],
				   b->l3[i] + 16, 4);
		forward4(w, b, i, nexthop_at(nexthops, b->values[k]));
	}
	b->ready4.n = 0;
}

/* IPv6 packets whose way a SID has fixed need no lookup. */
static inline void
take_fixed6(struct worker *w, struct burst *b)
{
	struct place_list *list = &b->ip6_route;
	unsigned n = 0;

	for (unsigned k = 0; k < list->n; k++) {
		unsigned i = list->at[k];

		if (b->via[i] == 0) {
			list->at[n++] = (uint16_t)i;
		} else if (!martian_destination6(w, b, i)) {
			if (unlikely(b->traced))
				trace_step(b->trace[i], TRACE_NEXTHOP, 0, 0, b->via[i], NULL, 0);
			forward6(w, b, i, nexthop_at(nexthops, b->via[i]));
		}
	}
	list->n = n;
}

static inline void
route(struct worker *w, struct burst *b)
{
	stage_end(w, STAGE_PARSE);
	while (b->ip6.n + b->ip6_route.n + b->ip6_trie.n + b->sid_list.n != 0) {
		check6(w, b);
		if (b->fixed6)
			take_fixed6(w, b);
		stage_end(w, STAGE_PARSE);
		route6(w, b, &b->ip6_trie, true);
		route6(w, b, &b->ip6_route, false);
		stage_end(w, STAGE_LOOKUP);
		endpoint(w, b);
		stage_end(w, STAGE_SID);
	}
	check4(w, b);
	stage_end(w, STAGE_PARSE);
	if (b->ready4.n != 0)
		route4(w, b);
	stage_end(w, STAGE_LOOKUP);
}

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

/* Write link headers and put the frames, in the order they came, into the
 * transmit buffers of their ports. */
static inline void
output(struct worker *w, struct burst *b)
{
	struct out_run run = {.port = UINT_MAX};
	const bool traced = b->traced;

	for (unsigned i = 0; i < b->n; i++) {
		const struct nexthop *nh = b->out[i];
		struct rte_mbuf *m = b->pkts[i];
		uint8_t *h = b->l3[i];
		uint16_t start;

		if (unlikely(nh == NULL))
			continue;
		reference(nh);
		if (unlikely(b->len[i] > nh->mtu)) {
			output_too_long(w, b, i);
			continue;
		}
		start = (uint16_t)(h - (uint8_t *)m->buf_addr);
		if (unlikely(m->nb_segs != 1 || start < NEXTHOP_REWRITE_MAX || nh->flags != 0 ||
			     b->flags[i] >= PLACE_ETHERTYPE || traced)) {
			if (!output_prepare(w, b, i, nh))
				continue;
			m = b->pkts[i];
		} else {
			/* The header ends where the packet begins: 16 bytes hold the
			 * 14 of plain Ethernet, the two before them are headroom. */
			rte_mov16(h - 16, nh->rewrite + NEXTHOP_REWRITE_MAX - 16);
			if (nh->rewrite_len > 16)
				memcpy(h - 24, nh->rewrite, 8);
			m->data_off = (uint16_t)(start - nh->rewrite_len);
			m->data_len = (uint16_t)(b->len[i] + nh->rewrite_len);
			m->pkt_len = m->data_len;
		}
		if (unlikely(nh->port != run.port)) {
			run_end(w, &run);
			run = (struct out_run){.port = nh->port, .q = &w->tx[nh->port]};
		}
		run.bytes += m->pkt_len;
		run.q->pkts[run.q->n++] = m;
		w->tx_dirty |= 1u << run.port;
		if (unlikely(run.q->n == BURST_MAX)) {
			run_end(w, &run);
			run.bytes = 0;
			tx_flush(w, run.port);
		}
	}
	run_end(w, &run);
}

static inline void
hand_over(struct worker *w, struct burst *b)
{
	for (unsigned k = 0; k < b->arp.n; k++)
		hand_to_control(w, b, b->arp.at[k], PACKET_ARP, AF_INET, 0);
	for (unsigned k = 0; k < b->nd.n; k++)
		hand_to_control(w, b, b->nd.at[k], PACKET_ND, AF_INET6, 0);
}

/* From the lists to the transmit buffers. */
static inline void
finish(struct worker *w, struct burst *b)
{
	route(w, b);
	hand_over(w, b);
	output(w, b);
}

void
journey_own(struct worker *w)
{
	/* An answer of ours can be to ourselves and make another: a few rounds,
	 * the rest waits for the next loop. */
	for (unsigned round = 0; round < 4 && w->own[w->own_filling].n != 0; round++) {
		struct burst *b = &w->own[w->own_filling];

		w->own_filling ^= 1;
		finish(w, b);
		burst_begin(b, 0, 0, 0);
	}
}

void
journey_resume(struct worker *w, struct burst *b, const struct port *port, enum resume from)
{
	if (unlikely(port->rules != NULL) && from == RESUME_CLASSIFY) {
		classify_burst(w, b, port);
		if (b->n == 0)
			return;
	}
	received(w, port, b->n, input(w, b, port));
	received_more(w, port, b->more);
	finish(w, b);
}

unsigned
journey(struct worker *w, const struct rx_queue *rx)
{
	struct burst *b = &w->burst;
	const struct port *port = rx->port;
	unsigned n;

	if (unlikely(w->account))
		w->stage_mark = rte_rdtsc();
	n = rte_eth_rx_burst(port->id, rx->queue, b->pkts, w->burst_size);
	if (n == 0)
		return 0;
	packets_guard(b->pkts, n);
	stage_end(w, STAGE_RECEIVE);
	burst_begin(b, n, port->iface, iface_at(port->iface)->vrf);
	if (unlikely(trace_armed != 0))
		trace_begin(b, port->id, rx->queue);
	if (unlikely(port->verdict != NULL)) {
		verdict_burst(w, b, port);
		if (b->n == 0)
			return n;
	}
	journey_resume(w, b, port, RESUME_CLASSIFY);
	stage_end(w, STAGE_REWRITE);
	return n;
}
