/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * One burst's journey, receive to transmit. Read it from the bottom: journey()
 * names the stages in order.
 *
 *     receive ─▶ verdict ─▶ rules ─▶ sockets ─▶ (each only if the port has one)
 *
 *                input ──────────── express.h: plain packets, all the way ─────────┐
 *                  └▶ check6 ─▶ route6 ─┬▶ endpoint ─┬▶ check6, route6 (again)     │
 *                                       │            └▶ check4 ─▶ route4           │
 *                                       └▶ output ◀────────────────┘ ─▶ transmit buffers
 *
 * Nearly every packet takes express.h's way from the frame to the transmit
 * buffer. The stages here take lists of what is left, and whole bursts when a trace or the account
 * of stages is wanted, or when the tables are larger than the caches: then a
 * stage fetches what the next one needs for all its packets at once. A packet
 * that needs more still (extension headers, options, a neighbour without MAC,
 * an error message) leaves through a call to a function named *_other or drop*, and comes back on
 * a list or not at all; those are in dispatch.c, input.c, local.c, errors.c and
 * output.c.
 */

#include <rte_cycles.h>

#include "classify.h"
#include "demux.h"
#include "express.h"
#include "trace.h"

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
burst_begin(struct burst *b, unsigned n)
{
	b->n = n;
	b->more = 0;
	b->first = 0;
	b->traced = false;
	b->fixed6 = false;
	b->ip4.n = 0;
	b->ip6.n = 0;
	b->ip6_route.n = 0;
	b->sid_list.n = 0;
	b->ready4.n = 0;
	b->arp.n = 0;
	b->nd.n = 0;
}

/* Of tables larger than the caches: have what the packets need next be on its way for all of
 * them before the first is looked at. */
static inline void
fetch_nexthops(const struct worker *w, const uint32_t values[], unsigned n, bool sids)
{
	for (unsigned k = 0; k < n; k++) {
		rte_prefetch0(nexthop_at(nexthops, values[k]));
		if (sids)
			rte_prefetch0(&w->sids[values[k]]);
	}
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

/* Longest match of IPv6 destinations, SIDs among them. */
static inline void
route6(struct worker *w, struct burst *b)
{
	struct place_list *list = &b->ip6_route;

	for (unsigned k = 0; k < list->n; k++) {
		unsigned i = list->at[k];

		b->fibs6[k] = vrf_fibs[b->vrf[i]].fib6;
		b->dst6[k] = b->l3[i] + 24;
	}
	fib6_lookup_burst(b->fibs6, b->dst6, b->values, list->n);
	if (b->large)
		fetch_nexthops(w, b->values, list->n, true);
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

/* RFC 8986: packets that have reached a SID of ours. */
static inline void
endpoint(struct worker *w, struct burst *b)
{
	for (unsigned k = 0; k < b->sid_list.n; k++) {
		unsigned i = b->sid_list.at[k];
		const struct nexthop *sid = nexthop_at(nexthops, b->sid[i]);
		struct sid_counters *counters = &w->sids[sid->id];
		unsigned headers;
		uint8_t proto;

		headers = plain_tunnel(sid, b->pkts[i], b->l3[i], b->len[i], &proto);
		if (unlikely(headers == 0 || b->traced)) {
			endpoint_other(w, b, i, sid);
			continue;
		}
		counters->packets++;
		counters->bytes += b->len[i];
		b->sid_len[i] = b->len[i];
		take_out(b, i, sid, headers);
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
 * Ethernet: what carries IP to our MAC takes the short way, if that is open; the rest goes on
 * lists. Returns the bytes of all.
 */
static inline uint64_t
input(struct worker *w, struct burst *b, const struct port *port)
{
	const uint64_t mac_mask = port->any_mac ? 0 : 0xffffffffffff;
	const uint64_t mac = port->mac & mac_mask;
	struct express x; /* large: not to be initialized as a whole */
	uint64_t bytes = 0;
	bool staged;

	express_begin(&x, w, b, port->iface);
	b->large = fib_large((const struct fib_reader *)x.fibs->fib4);
	staged = b->large || b->traced || w->account;
	for (unsigned i = 0; i < b->n; i++) {
		struct rte_mbuf *m = b->pkts[i];
		uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
		uint8_t *h = frame + RTE_ETHER_HDR_LEN;
		uint16_t type, len = (uint16_t)(m->data_len - RTE_ETHER_HDR_LEN);
		uint64_t head;

		if (i + PREFETCH_AHEAD < b->n)
			rte_prefetch0(rte_pktmbuf_mtod(b->pkts[i + PREFETCH_AHEAD], void *));
		bytes += m->pkt_len;
		if (unlikely(m->nb_segs != 1 || m->data_len < RTE_ETHER_HDR_LEN)) {
			leave(&x, i, h, len);
			input_other(w, b, i, port);
			continue;
		}
		memcpy(&head, frame, sizeof(head));
		memcpy(&type, frame + 12, sizeof(type));
		if (likely(!staged && (head & mac_mask) == mac)) {
			if (type == rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV6)) {
				express_ip6(&x, i, h, len);
				continue;
			}
			if (type == rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4)) {
				express_ip4(&x, i, h, len);
				continue;
			}
		}
		leave(&x, i, h, len);
		if (b->large && (head & mac_mask) == mac &&
		    type == rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV6))
			list_add(&b->ip6, i);
		else if (b->large && (head & mac_mask) == mac &&
			 type == rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4))
			list_add(&b->ip4, i);
		else
			input_other(w, b, i, port);
	}
	express_lookup(&x);
	express_send(&x);
	return bytes;
}

/* Longest match of IPv4 destinations. */
static inline void
route4(struct worker *w, struct burst *b)
{
	fib4_lookup_burst(b->fibs4, b->dst4, b->values, b->ready4.n);
	if (b->large)
		fetch_nexthops(w, b->values, b->ready4.n, false);
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
	while (b->ip6.n + b->ip6_route.n + b->sid_list.n != 0) {
		check6(w, b);
		if (b->fixed6)
			take_fixed6(w, b);
		stage_end(w, STAGE_PARSE);
		route6(w, b);
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

/* Write link headers and put the frames, in the order they came, into the
 * transmit buffers of their ports. Those before b->first are there already. */
static inline void
output(struct worker *w, struct burst *b)
{
	struct out_run run = {.port = UINT_MAX};

	for (unsigned i = b->first; i < b->n; i++) {
		const struct nexthop *nh = b->out[i];
		struct rte_mbuf *m = b->pkts[i];
		uint8_t *h = b->l3[i];

		if (unlikely(nh == NULL))
			continue;
		reference(nh);
		if (unlikely(b->len[i] > nh->mtu)) {
			output_too_long(w, b, i);
			continue;
		}
		if (unlikely(m->nb_segs != 1 || !has_headroom(m, h) || nh->flags != 0 ||
			     b->flags[i] >= PLACE_ETHERTYPE || b->traced)) {
			if (!output_prepare(w, b, i, nh))
				continue;
			m = b->pkts[i];
		} else {
			rewrite(m, h, b->len[i], nh);
		}
		run_add(w, &run, nh->port, m);
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
		burst_begin(b, 0);
	}
}

void
journey_resume(struct worker *w, struct burst *b, const struct port *port, enum resume from)
{
	if (unlikely(port->rules != NULL) && from == RESUME_CLASSIFY && b->n != 0)
		classify_burst(w, b, port);
	if (unlikely(port->mixed))
		own_burst(w, b, port);
	if (unlikely(port->demux != NULL) && b->n != 0)
		demux_burst(w, b, port);
	stage_end(w, STAGE_ACTIONS);
	if (b->n == 0)
		return;
	received(w, port, b->n, input(w, b, port));
	received_more(w, port, b->more);
	finish(w, b);
	stage_end(w, STAGE_REWRITE);
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
	burst_begin(b, n);
	if (unlikely(trace_armed != 0))
		trace_begin(b, port->id, rx->queue);
	if (unlikely(w->account))
		w->stage_packets += n;
	if (unlikely(port->verdict != NULL))
		verdict_burst(w, b, port);
	journey_resume(w, b, port, RESUME_CLASSIFY);
	return n;
}
