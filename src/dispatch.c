/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What the journey leaves aside: headers that fail the first check, next hops
 * that are not simply a neighbour, SIDs with extension headers in front of
 * what they are to deal with.
 */

#include <errno.h>

#include "datapath.h"
#include "demux.h"
#include "ip.h"
#include "srv6.h"
#include "trace.h"

/* Bytes that can be read at the place's IP header. */
static uint16_t
contiguous(const struct burst *b, unsigned i)
{
	const struct rte_mbuf *m = b->pkts[i];
	uint32_t n = (uint32_t)(rte_pktmbuf_mtod(m, uint8_t *) + m->data_len - b->l3[i]);

	return (uint16_t)RTE_MIN(n, (uint32_t)b->len[i]);
}

/* --- headers ---------------------------------------------------------------------- */

/* A bad inner header is an error of the SID that took it out of its tunnel. */
static bool
bad_header(struct worker *w, struct burst *b, unsigned i, enum drop_reason reason)
{
	if (b->sid[i] != 0)
		drop_sid(w, b, i, reason);
	else
		drop(w, b, i, reason);
	return false;
}

bool
check6_other(struct worker *w, struct burst *b, unsigned i)
{
	const uint8_t *h = b->l3[i];
	uint16_t payload;

	if (contiguous(b, i) < IP6_HEADER)
		return bad_header(w, b, i, DROP_IP6_TRUNCATED);
	if ((h[0] >> 4) != 6)
		return bad_header(w, b, i, DROP_IP6_BAD_HEADER);
	memcpy(&payload, h + 4, sizeof(payload));
	payload = rte_be_to_cpu_16(payload);
	if (payload > b->len[i] - IP6_HEADER)
		return bad_header(w, b, i, DROP_IP6_TRUNCATED);
	b->len[i] = (uint16_t)(payload + IP6_HEADER);
	if (ip6_source_martian(h + 8)) {
		static const uint8_t unspecified[16];

		/* :: asks for itself in neighbour discovery, on its own link. */
		if (memcmp(h + 8, unspecified, 16) == 0 && h[24] == 0xff && b->sid[i] == 0)
			return true;
		drop(w, b, i, DROP_MARTIAN);
		return false;
	}
	return true;
}

bool
check4_other(struct worker *w, struct burst *b, unsigned i)
{
	const uint8_t *h = b->l3[i];
	uint16_t room = contiguous(b, i), total = 0;
	uint32_t src;
	int reason;

	/* The header is in the first segment; the rest need only be there. */
	reason = ip4_check(h, room >= 60 ? b->len[i] : RTE_MIN(room, b->len[i]), &total);
	if (reason != 0)
		return bad_header(w, b, i, (enum drop_reason)reason);
	b->len[i] = total;
	memcpy(&src, h + 12, sizeof(src));
	if (ip4_source_martian(rte_be_to_cpu_32(src))) {
		drop(w, b, i, DROP_MARTIAN);
		return false;
	}
	if (h[0] != 0x45) {
		switch (ip4_options_check(h, (h[0] & 15) * 4u)) {
		case IP4_OPTIONS_PLAIN:
			break;
		case IP4_OPTIONS_MALFORMED:
			return bad_header(w, b, i, DROP_IP4_OPTIONS);
		case IP4_OPTIONS_SOURCE_ROUTE:
			drop(w, b, i, DROP_IP4_OPTIONS);
			return false;
		}
	}
	return true;
}

bool
martian_destination4(struct worker *w, struct burst *b, unsigned i)
{
	uint32_t dst;

	/* The same networks as for sources (RFC 6890). */
	memcpy(&dst, b->l3[i] + 16, sizeof(dst));
	if (!ip4_source_martian(rte_be_to_cpu_32(dst)))
		return false;
	drop(w, b, i, DROP_MARTIAN);
	return true;
}

bool
martian_destination6(struct worker *w, struct burst *b, unsigned i)
{
	const uint8_t *dst = b->l3[i] + 24;

	if (!ip6_source_martian(dst) && !ip6_is_link_local(dst))
		return false;
	drop(w, b, i, DROP_MARTIAN);
	return true;
}

/* --- next hops -------------------------------------------------------------------- */

/* Never to be sent on, whatever the FIB says: it came to a group MAC, or is
 * link-local by its source (RFC 4291 2.5.6). */
static bool
forwardable(const struct burst *b, unsigned i, bool link_local_source)
{
	if ((b->flags[i] & PLACE_GROUP_MAC) != 0)
		return false;
	return !link_local_source || (b->flags[i] & PLACE_ORIGINATED) != 0;
}

/* What the two IP versions call the same things. */
struct version {
	uint8_t family;
	uint8_t ttl_at; /* offset of TTL or hop limit */
	enum drop_reason ttl, no_route;
	uint8_t time_exceeded, unreachable;		      /* ICMP types */
	uint8_t code_address, code_prohibited, code_no_route; /* of unreachable */
	void (*drop_with_error)(struct worker *w, struct burst *b, unsigned i,
				enum drop_reason reason, uint8_t type, uint8_t code,
				uint32_t value);
};

static const struct version ip4 = {
	.family = AF_INET,
	.ttl_at = 8,
	.ttl = DROP_IP4_TTL,
	.no_route = DROP_IP4_NO_ROUTE,
	.time_exceeded = ICMP4_TIME_EXCEEDED,
	.unreachable = ICMP4_UNREACHABLE,
	.code_address = ICMP4_UNREACHABLE_HOST,
	.code_prohibited = ICMP4_UNREACHABLE_PROHIBITED,
	.code_no_route = ICMP4_UNREACHABLE_NET,
	.drop_with_error = drop_with_error4,
};

static const struct version ip6 = {
	.family = AF_INET6,
	.ttl_at = 7,
	.ttl = DROP_IP6_HOP_LIMIT,
	.no_route = DROP_IP6_NO_ROUTE,
	.time_exceeded = ICMP6_TIME_EXCEEDED,
	.unreachable = ICMP6_UNREACHABLE,
	.code_address = ICMP6_UNREACHABLE_ADDRESS,
	.code_prohibited = ICMP6_UNREACHABLE_PROHIBITED,
	.code_no_route = ICMP6_UNREACHABLE_NO_ROUTE,
	.drop_with_error = drop_with_error6,
};

static void
unreachable(struct worker *w, struct burst *b, unsigned i, const struct version *ip,
	    enum drop_reason reason, uint8_t code)
{
	ip->drop_with_error(w, b, i, reason, ip->unreachable, code, 0);
}

/* Send it to the neighbour `nh` is, or find that neighbour. */
static void
to_neighbour(struct worker *w, struct burst *b, unsigned i, const struct nexthop *nh,
	     const struct version *ip)
{
	if ((b->flags[i] & PLACE_TTL_DONE) == 0) {
		if (ip->family == AF_INET)
			ip4_decrement_ttl(b->l3[i]);
		else
			b->l3[i][ip->ttl_at]--;
		b->flags[i] |= PLACE_TTL_DONE;
	}
	if (nh->type == NEXTHOP_ADJACENT)
		b->out[i] = nh;
	else if (nh->type == NEXTHOP_RESOLVE)
		hand_to_control(w, b, i, PACKET_RESOLVE, ip->family, nh->id);
	else
		hand_to_control(w, b, i, PACKET_CONNECTED, ip->family, nh->iface);
}

/* A packet that is not for the router itself. */
static void
forward(struct worker *w, struct burst *b, unsigned i, const struct nexthop *nh,
	const struct version *ip)
{
	if ((b->flags[i] & PLACE_TTL_DONE) == 0 && b->l3[i][ip->ttl_at] <= 1) {
		ip->drop_with_error(w, b, i, ip->ttl, ip->time_exceeded, 0, 0);
		return;
	}
	switch (nh->type) {
	case NEXTHOP_ADJACENT:
	case NEXTHOP_RESOLVE:
	case NEXTHOP_CONNECTED:
		to_neighbour(w, b, i, nh, ip);
		break;
	case NEXTHOP_BLACKHOLE:
		drop(w, b, i, DROP_BLACKHOLE);
		break;
	case NEXTHOP_UNREACHABLE:
		unreachable(w, b, i, ip, DROP_UNREACHABLE, ip->code_address);
		break;
	case NEXTHOP_PROHIBIT:
		unreachable(w, b, i, ip, DROP_PROHIBIT, ip->code_prohibited);
		break;
	default:
		unreachable(w, b, i, ip, ip->no_route, ip->code_no_route);
	}
}

static const struct nexthop *
group_member(struct burst *b, unsigned i, const struct nexthop *group, uint32_t hash)
{
	const struct nexthop *nh = nexthop_at(nexthops, nexthop_group_pick(group, hash));

	if (unlikely(b->traced))
		trace_step(b->trace[i], TRACE_NEXTHOP, 0, 0, nh->id, NULL, 0);
	return nh;
}

void
dispatch_other4(struct worker *w, struct burst *b, unsigned i, const struct nexthop *nh)
{
	if (nh->type == NEXTHOP_GROUP)
		nh = group_member(b, i, nh, ip4_flow_hash(b->l3[i], contiguous(b, i)));
	if ((b->flags[i] & PLACE_SUM) != 0 && nh->type != NEXTHOP_ADJACENT)
		udp_sum_finish(b, i);
	if (nh->type == NEXTHOP_LOCAL)
		local4(w, b, i);
	else if (nh->type == NEXTHOP_MARTIAN && udp_input_group4(w, b, i))
		return;
	else if (nh->type == NEXTHOP_MARTIAN || !forwardable(b, i, false))
		drop(w, b, i, DROP_MARTIAN);
	else
		forward(w, b, i, nh, &ip4);
}

void
dispatch_other6(struct worker *w, struct burst *b, unsigned i, const struct nexthop *nh)
{
	const uint8_t *src = b->l3[i] + 8;

	if (nh->type == NEXTHOP_GROUP)
		nh = group_member(b, i, nh, ip6_flow_hash(b->l3[i], contiguous(b, i)));
	if ((b->flags[i] & PLACE_SUM) != 0 && nh->type != NEXTHOP_ADJACENT)
		udp_sum_finish(b, i);
	if (nh->type == NEXTHOP_LOCAL)
		local6(w, b, i);
	else if (nh->type == NEXTHOP_LINK_SCOPE)
		link_scope6(w, b, i);
	else if (nh->type == NEXTHOP_MARTIAN ||
		 !forwardable(b, i, ip6_is_link_local(src) || ip6_source_martian(src)))
		drop(w, b, i, DROP_MARTIAN);
	else
		forward(w, b, i, nh, &ip6);
}

/* --- SIDs ------------------------------------------------------------------------- */

/* Count the packet for the SID: its behaviour has been carried out. */
static void
count_sid(struct worker *w, struct burst *b, unsigned i, uint16_t len)
{
	struct sid_counters *counters = &w->sids[b->sid[i]];

	counters->packets++;
	counters->bytes += len;
	b->sid_len[i] = len;
}

/* In front of an upper layer: IPv6 header, the longest SRH (RFC 8754 2), some options. */
#define SRH_REACH (40 + 8 + 255 * 8 + 64)

/*
 * Make the first `want` bytes of the packet readable, or as many as the first
 * buffer of the chain has room for. What was in front of the packet goes.
 */
static void
pull_up(struct burst *b, unsigned i, uint32_t want)
{
	struct rte_mbuf *m = b->pkts[i];
	uint32_t room;

	packet_strip(m, (uint32_t)(b->l3[i] - rte_pktmbuf_mtod(m, uint8_t *)));
	if (m->data_len < want && m->data_off > RTE_PKTMBUF_HEADROOM && packet_segment_own(m)) {
		/* The room is in front: what a tunnel took up. */
		uint8_t *start = (uint8_t *)m->buf_addr + RTE_PKTMBUF_HEADROOM;

		memmove(start, rte_pktmbuf_mtod(m, void *), m->data_len);
		m->data_off = RTE_PKTMBUF_HEADROOM;
	}
	room = (uint32_t)m->data_len + rte_pktmbuf_tailroom(m);
	want = RTE_MIN(RTE_MIN(want, room), m->pkt_len);
	if (m->data_len < want)
		packet_pull_up(m, (uint16_t)want);
	b->l3[i] = rte_pktmbuf_mtod(m, uint8_t *);
}

uint8_t tunnel_ecn_mask;

/* An inner packet is out: RFC 6040 says what becomes of congestion marks. */
static void
inner(struct worker *w, struct burst *b, unsigned i, const struct nexthop *sid, uint8_t family,
      uint8_t ecn)
{
	bool ok = true;

	if (tunnel_ecn_mask == 0)
		ecn = 0;
	if (b->pkts[i]->nb_segs != 1)
		pull_up(b, i, HEADER_ROOM);
	if (ecn != 0 && family == AF_INET && b->len[i] >= IP4_HEADER_MIN)
		ok = ecn_apply4(b->l3[i], ecn);
	else if (ecn != 0 && family == AF_INET6 && b->len[i] >= IP6_HEADER)
		ok = ecn_apply6(b->l3[i], ecn);
	if (!ok) {
		drop_sid(w, b, i, DROP_TUNNEL_ECN);
		return;
	}
	b->flags[i] &= PLACE_GROUP_MAC;
	/* End.X with USD sends IPv4 to an IPv6 neighbour. */
	if (family == AF_INET && sid->behaviour == SID_END_X)
		b->flags[i] |= PLACE_ETHERTYPE;
	b->vrf[i] = sid->sid.table;
	b->via[i] = sid->sid.nexthop;
	b->fixed6 = true;
	list_add(family == AF_INET ? &b->ip4 : &b->ip6, i);
}

void
endpoint_other(struct worker *w, struct burst *b, unsigned i, const struct nexthop *sid)
{
	uint16_t len = b->len[i];
	enum srv6_outcome outcome;
	struct srv6_packet p;

	/* The SID went away between two lookups of the same burst. */
	if (sid->type != NEXTHOP_SID) {
		drop(w, b, i, DROP_IP6_NO_ROUTE);
		return;
	}
	if (++b->sids[i] > SID_CHAIN_MAX) {
		w->sids[b->sid[i]].errors++;
		drop(w, b, i, DROP_SID_LOOP);
		return;
	}
	if ((b->flags[i] & PLACE_GROUP_MAC) != 0) {
		drop(w, b, i, DROP_MARTIAN);
		return;
	}
	if (b->pkts[i]->nb_segs != 1)
		pull_up(b, i, SRH_REACH);
	p = (struct srv6_packet){.ip = b->l3[i], .len = len, .contiguous = contiguous(b, i)};
	outcome = srv6_process(sid, &p);
	if (unlikely(b->traced))
		trace_step(b->trace[i], TRACE_SID, 0, (uint16_t)outcome, sid->id, NULL, 0);
	if (outcome != SRV6_DROP) {
		b->l3[i] = p.ip;
		b->len[i] = p.len;
	}
	switch (outcome) {
	case SRV6_INNER4:
		count_sid(w, b, i, len);
		inner(w, b, i, sid, AF_INET, p.outer_ecn);
		break;
	case SRV6_INNER6:
		count_sid(w, b, i, len);
		inner(w, b, i, sid, AF_INET6, p.outer_ecn);
		break;
	case SRV6_NEXT:
		count_sid(w, b, i, len);
		b->flags[i] |= PLACE_TTL_DONE;
		b->vrf[i] = sid->sid.table;
		b->via[i] = sid->sid.nexthop;
		b->fixed6 = true;
		/* The new destination is the sender's word: never a link's own. */
		list_add(&b->ip6_route, i);
		break;
	case SRV6_UPPER:
		count_sid(w, b, i, len);
		local6_upper(w, b, i, p.proto, p.upper);
		break;
	case SRV6_DROP:
		w->sids[b->sid[i]].errors++;
		b->sid_len[i] = 0;
		if (p.has_error)
			drop_with_error6(w, b, i, (enum drop_reason)p.reason, p.error.type,
					 p.error.code, p.error.value);
		else
			drop(w, b, i, (enum drop_reason)p.reason);
		break;
	}
}
