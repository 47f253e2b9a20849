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

#include <rte_cycles.h>
#include <rte_ether.h>
#include <rte_memcpy.h>

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
	b->traced = false;
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
	b->sid_list.n = 0;
}

/* Ethernet: frames to our MAC that carry IP, by version. */
static inline void
input(struct worker *w, struct burst *b, const struct port *port)
{
	const uint64_t mac_mask = port->any_mac ? 0 : 0xffffffffffff;
	const uint64_t mac = port->mac & mac_mask;
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
		else if (type == rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV6))
			list_add(&b->ip6, i);
		else if (type == rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4))
			list_add(&b->ip4, i);
		else
			input_other(w, b, i, port);
	}
	w->stats.received += b->n;
	w->stats.port[port->id].rx_packets += b->n;
	w->stats.port[port->id].rx_bytes += bytes;
}

/* RFC 8200 3: is it an IPv6 packet, all there, from a possible source? */
static inline void
check6(struct worker *w, struct burst *b)
{
	for (unsigned k = 0; k < b->ip6.n; k++) {
		unsigned i = b->ip6.at[k];
		const uint8_t *h = b->l3[i];
		uint16_t room = b->len[i];
		uint16_t payload;

		if (likely(room >= IP6_HEADER)) {
			memcpy(&payload, h + 4, sizeof(payload));
			payload = rte_be_to_cpu_16(payload);
			if (likely((h[0] >> 4) == 6 && payload <= room - IP6_HEADER &&
				   !ip6_source_martian(h + 8))) {
				b->len[i] = (uint16_t)(payload + IP6_HEADER);
				list_add(&b->ip6_route, i);
				if (unlikely(b->traced))
					trace_step(b->trace[i], TRACE_IP6, 0, 0, b->len[i], h,
						   IP6_HEADER);
				continue;
			}
		}
		if (check6_other(w, b, i))
			list_add(&b->ip6_route, i);
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
	const struct place_list *list = &b->ip6_route;

	for (unsigned k = 0; k < list->n; k++) {
		unsigned i = list->at[k];

		b->fibs6[k] = vrf_fibs[b->vrf[i]].fib6;
		b->dst6[k] = b->l3[i] + 24;
	}
	fib6_lookup_burst(b->fibs6, b->dst6, b->values, list->n);
	for (unsigned k = 0; k < list->n; k++) {
		unsigned i = list->at[k];
		const struct nexthop *nh = nexthop_at(nexthops, b->values[k]);

		if (unlikely(b->traced))
			trace_step(b->trace[i], TRACE_LOOKUP, b->vrf[i], AF_INET6, b->values[k],
				   b->dst6[k], 16);
		if (nh->type == NEXTHOP_SID) {
			b->sid[i] = b->values[k];
			rte_prefetch0(&w->sids[b->values[k]]);
			list_add(&b->sid_list, i);
		} else {
			forward6(w, b, i, nh);
		}
	}
	b->ip6_route.n = 0;
}

/* RFC 8986: packets that have reached a SID of ours. */
static inline void
endpoint(struct worker *w, struct burst *b)
{
	const uint8_t ecn_mask = tunnel_ecn_mask;

	for (unsigned k = 0; k < b->sid_list.n; k++) {
		unsigned i = b->sid_list.at[k];
		const struct nexthop *sid = nexthop_at(nexthops, b->sid[i]);
		struct sid_counters *counters = &w->sids[b->sid[i]];
		uint8_t *h = b->l3[i];
		uint8_t proto = h[6];

		/* An outer header without extensions and without congestion marks,
		 * and what the behaviour takes out of a tunnel right behind it. */
		if (unlikely(!srv6_decapsulates(sid, proto) || (h[1] & ecn_mask) != 0 || b->traced)) {
			endpoint_other(w, b, i, sid);
			continue;
		}
		counters->packets++;
		counters->bytes += b->len[i];
		b->sid_len[i] = b->len[i];
		b->sids[i]++;
		b->l3[i] = h + IP6_HEADER;
		b->len[i] = (uint16_t)(b->len[i] - IP6_HEADER);
		b->flags[i] &= PLACE_GROUP_MAC;
		b->vrf[i] = sid->sid.table;
		b->via[i] = sid->sid.nexthop;
		list_add(proto == PROTO_IP4 ? &b->ip4 : &b->ip6, i);
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

/* RFC 1812 5.2.2: is it an IPv4 packet, all there, its header undamaged, from
 * a possible source? */
static inline bool
check4(struct worker *w, struct burst *b, unsigned i)
{
	const uint8_t *h = b->l3[i];
	uint16_t room = b->len[i];
	uint16_t total;
	uint32_t src;

	if (likely(room >= IP4_HEADER_MIN)) {
		memcpy(&total, h + 2, sizeof(total));
		memcpy(&src, h + 12, sizeof(src));
		total = rte_be_to_cpu_16(total);
		if (likely(h[0] == 0x45 && total >= IP4_HEADER_MIN && total <= room &&
			   ip4_sum_ok_20(h) && !ip4_source_martian(rte_be_to_cpu_32(src)))) {
			b->len[i] = total;
			return true;
		}
	}
	return check4_other(w, b, i);
}

/* Check IPv4 packets and match their destinations, but where a SID has fixed
 * the way already. */
static inline void
route4(struct worker *w, struct burst *b)
{
	struct place_list *list = &b->ip4;
	unsigned n = 0;

	for (unsigned k = 0; k < list->n; k++) {
		unsigned i = list->at[k];
		uint32_t dst;

		if (unlikely(!check4(w, b, i)))
			continue;
		if (unlikely(b->traced))
			trace_step(b->trace[i], TRACE_IP4, 0, 0, b->len[i], b->l3[i],
				   IP4_HEADER_MIN);
		if (b->via[i] != 0) {
			forward4(w, b, i, nexthop_at(nexthops, b->via[i]));
			continue;
		}
		memcpy(&dst, b->l3[i] + 16, sizeof(dst));
		b->dst4[n] = rte_be_to_cpu_32(dst);
		b->fibs4[n] = vrf_fibs[b->vrf[i]].fib4;
		list->at[n++] = (uint16_t)i;
	}
	fib4_lookup_burst(b->fibs4, b->dst4, b->values, n);
	for (unsigned k = 0; k < n; k++) {
		unsigned i = list->at[k];

		if (unlikely(b->traced))
			trace_step(b->trace[i], TRACE_LOOKUP, b->vrf[i], AF_INET, b->values[k],
				   b->l3[i] + 16, 4);
		forward4(w, b, i, nexthop_at(nexthops, b->values[k]));
	}
	list->n = 0;
}

/* IPv6 packets whose way a SID has fixed need no lookup. */
static inline void
take_fixed6(struct worker *w, struct burst *b)
{
	struct place_list *list = &b->ip6_route;
	unsigned n = 0;

	for (unsigned k = 0; k < list->n; k++) {
		unsigned i = list->at[k];

		if (b->via[i] != 0)
			forward6(w, b, i, nexthop_at(nexthops, b->via[i]));
		else
			list->at[n++] = (uint16_t)i;
	}
	list->n = n;
}

static inline void
route(struct worker *w, struct burst *b)
{
	bool inner = false; /* the first round's packets come straight from the wire */

	stage_end(w, STAGE_PARSE);
	while (b->ip6.n + b->ip6_route.n != 0) {
		check6(w, b);
		if (inner)
			take_fixed6(w, b);
		stage_end(w, STAGE_PARSE);
		route6(w, b);
		stage_end(w, STAGE_LOOKUP);
		endpoint(w, b);
		stage_end(w, STAGE_SID);
		inner = true;
	}
	if (b->ip4.n != 0)
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

/* Write link headers and put the frames, in the order they came, into the
 * transmit buffers of their ports. */
static inline void
output(struct worker *w, struct burst *b)
{
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
			     b->traced)) {
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
		w->stats.port[nh->port].tx_bytes += m->pkt_len;
		tx_frame(w, nh->port, m);
	}
}

void
journey_own(struct worker *w)
{
	/* An answer of ours can be to ourselves and make another: a few rounds,
	 * the rest waits for the next loop. */
	for (unsigned round = 0; round < 4 && w->own[w->own_filling].n != 0; round++) {
		struct burst *b = &w->own[w->own_filling];

		w->own_filling ^= 1;
		route(w, b);
		output(w, b);
		burst_begin(b, 0, 0, 0);
	}
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
	stage_end(w, STAGE_RECEIVE);
	burst_begin(b, n, port->iface, iface_at(port->iface)->vrf);
	if (unlikely(trace_armed != 0))
		trace_begin(b, port->id, rx->queue);
	input(w, b, port);
	route(w, b);
	output(w, b);
	stage_end(w, STAGE_REWRITE);
	return n;
}
