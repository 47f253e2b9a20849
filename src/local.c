/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Packets for the router itself: echo requests are answered here by the
 * worker, neighbour discovery goes to the control thread, and what nobody
 * listens to gets the ICMP error a host would send.
 */

#include <errno.h>

#include "datapath.h"
#include "demux.h"
#include "ip.h"
#include "neigh.h"
#include "ping.h"
#include "reassemble.h"
#include "srv6.h"
#include "trace.h"

static uint16_t
l3_offset(const struct burst *b, unsigned i)
{
	return (uint16_t)(b->l3[i] - rte_pktmbuf_mtod(b->pkts[i], uint8_t *));
}

static uint16_t
contiguous(const struct burst *b, unsigned i)
{
	uint32_t n = (uint32_t)(b->pkts[i]->data_len - l3_offset(b, i));

	return (uint16_t)RTE_MIN(n, (uint32_t)b->len[i]);
}

/* The buffer of a request has become the reply: one packet delivered, one of
 * our own sent. */
static void
reply(struct worker *w, struct burst *b, unsigned i, uint8_t family)
{
	struct rte_mbuf *m = b->pkts[i];

	w->stats.delivered++;
	if (unlikely(b->traced))
		trace_step(b->trace[i], TRACE_DELIVERED, 0, 0, 0, NULL, 0);
	packet_strip(m, l3_offset(b, i));
	packet_trim(m, b->len[i]);
	originate(w, m, family, b->vrf[i], b->iface[i]);
}

static bool
ping_waits(void)
{
	return __atomic_load_n(&ping_active, __ATOMIC_RELAXED);
}

static void
icmp4(struct worker *w, struct burst *b, unsigned i, uint16_t upper)
{
	const uint8_t *h = b->l3[i];
	struct ip_addr own = {.family = AF_INET};

	memcpy(own.bytes, h + 16, 4);
	packet_trim(b->pkts[i], (uint32_t)l3_offset(b, i) + b->len[i]);
	switch (icmp4_echo_reply(b->pkts[i], l3_offset(b, i), b->len[i], upper, &own)) {
	case 0:
		/* RFC 1122 3.2.2.6: silence towards those who asked everybody. */
		if ((b->flags[i] & PLACE_GROUP_MAC) != 0)
			deliver(w, b, i);
		else
			reply(w, b, i, AF_INET);
		break;
	case -ENOENT:
		if (ping_waits())
			hand_to_control(w, b, i, PACKET_PING, AF_INET, 0);
		else
			deliver(w, b, i);
		break;
	default:
		drop(w, b, i, DROP_ICMP_BAD);
	}
}

void
local4(struct worker *w, struct burst *b, unsigned i)
{
	const uint8_t *h = b->l3[i];
	uint16_t upper = (uint16_t)((h[0] & 15) * 4);

	if ((ip_get16(h + 6) & (IP4_MORE_FRAGMENTS | IP4_OFFSET_MASK)) != 0) {
		if (reassemble4(w, b, i))
			local4(w, b, i);
		return;
	}
	switch (h[9]) {
	case PROTO_ICMP:
		icmp4(w, b, i, upper);
		break;
	case PROTO_UDP:
		udp_input(w, b, i, AF_INET, upper);
		break;
	default:
		drop_with_error4(w, b, i, DROP_IP4_NO_PROTO, ICMP4_UNREACHABLE,
				 ICMP4_UNREACHABLE_PROTOCOL, 0);
	}
}

/* Neighbour discovery is believed only straight off the link, and only with a
 * hop limit that says so (RFC 4861 7.1). */
static void
icmp6(struct worker *w, struct burst *b, unsigned i, uint16_t upper)
{
	uint8_t *h = b->l3[i];
	struct ip_addr own = ip6_addr(h + 24);
	const struct iface *iface;
	struct ip_addr from;
	uint16_t len = b->len[i], l3 = l3_offset(b, i);

	if (len - upper < 4 || contiguous(b, i) < upper + 4) {
		drop(w, b, i, DROP_ICMP_BAD);
		return;
	}
	if (h[upper] >= 133 && h[upper] <= 137) {
		/* RFC 6980: never in fragments. */
		if (b->sid[i] != 0 || h[7] != 255 || upper != IP6_HEADER ||
		    (b->flags[i] & PLACE_REASSEMBLED) != 0)
			drop(w, b, i, DROP_ND_BAD);
		else if (h[upper] == 135 || h[upper] == 136)
			b->nd.at[b->nd.n++] = (uint16_t)i;
		else
			deliver(w, b, i); /* of hosts and their routers, not ours to heed */
		return;
	}
	if (h[24] == 0xff) { /* asked as a group: answer as one of it */
		iface = iface_at(b->iface[i]);
		from = ip6_addr(h + 8);
		if (iface == NULL || !iface_source_for(iface, &from, &own)) {
			deliver(w, b, i);
			return;
		}
	}
	packet_trim(b->pkts[i], (uint32_t)l3 + len);
	switch (icmp6_echo_reply(b->pkts[i], l3, &len, upper, &own)) {
	case 0:
		b->l3[i] = rte_pktmbuf_mtod_offset(b->pkts[i], uint8_t *, l3);
		b->len[i] = len;
		reply(w, b, i, AF_INET6);
		break;
	case -ENOENT:
		if (ping_waits())
			hand_to_control(w, b, i, PACKET_PING, AF_INET6, 0);
		else
			deliver(w, b, i);
		break;
	default:
		drop(w, b, i, DROP_ICMP_BAD);
	}
}

/* ff02::1, ff02::2 and their node-local forms, and the solicited-node groups
 * of our addresses (RFC 4291 2.8). */
static bool
in_group(const struct iface *iface, const uint8_t *group)
{
	static const uint8_t all[16] = {0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};

	if ((group[1] == 1 || group[1] == 2) && memcmp(group + 2, all + 2, 13) == 0 &&
	    (group[15] == 1 || group[15] == 2))
		return true;
	for (unsigned a = 0; a < iface->address_count; a++) {
		struct ip_addr solicited;

		if (iface->addresses[a].addr.family != AF_INET6)
			continue;
		solicited = nd_solicited_node(&iface->addresses[a].addr);
		if (memcmp(solicited.bytes, group, 16) == 0)
			return true;
	}
	return false;
}

/* Does anybody here listen to the group the packet is to? */
static bool
heard_group6(const struct burst *b, unsigned i)
{
	const struct iface *iface = iface_at(b->iface[i]);

	return iface != NULL && (in_group(iface, b->l3[i] + 24) || udp_group_joined6(b, i));
}

void
local6_upper(struct worker *w, struct burst *b, unsigned i, uint8_t proto, uint16_t upper)
{
	switch (proto) {
	case PROTO_ICMP6:
		icmp6(w, b, i, upper);
		break;
	case PROTO_FRAGMENT: /* to a SID */
		drop(w, b, i, DROP_FRAGMENT);
		break;
	case PROTO_NONE:
		deliver(w, b, i);
		break;
	case PROTO_UDP:
		/* Of its fragments it could not be known. */
		if ((b->flags[i] & PLACE_REASSEMBLED) != 0 && b->l3[i][24] == 0xff &&
		    !heard_group6(b, i))
			drop(w, b, i, DROP_MARTIAN);
		else if (!udp_input_group6(w, b, i, upper))
			udp_input(w, b, i, AF_INET6, upper);
		break;
	default:
		drop_with_error6(w, b, i, DROP_IP6_NO_PROTO, ICMP6_PARAMETER,
				 ICMP6_PARAMETER_NEXT_HEADER, 0);
	}
}

/* Behind the IPv6 header at `offset`: a header routers and hosts on the way look at. False: wrong,
 * and the packet dropped. */
static bool
pass_header(struct worker *w, struct burst *b, unsigned i, uint8_t proto, uint16_t offset,
	    uint16_t next_field)
{
	const uint8_t *h = b->l3[i];
	struct icmp_error error;
	bool has_error = true;
	int reason = 0;

	if (proto == PROTO_HOPOPTS && offset != IP6_HEADER) {
		reason = DROP_IP6_EXT_HEADER;
		error = (struct icmp_error){ICMP6_PARAMETER, ICMP6_PARAMETER_NEXT_HEADER,
					    next_field};
	} else if (proto != PROTO_ROUTING) {
		reason = ip6_options_check(h, offset, (uint16_t)(8 + 8 * h[offset + 1]), &has_error,
					   &error);
	} else if (h[offset + 3] != 0) {
		/* RFC 8200 4.4: a type this address does not process. */
		reason = DROP_IP6_EXT_HEADER;
		error = (struct icmp_error){ICMP6_PARAMETER, ICMP6_PARAMETER_HEADER, offset + 2u};
	}
	if (reason == 0)
		return true;
	if (has_error)
		drop_with_error6(w, b, i, (enum drop_reason)reason, error.type, error.code,
				 error.value);
	else
		drop(w, b, i, (enum drop_reason)reason);
	return false;
}

/*
 * A fragment header. True: the fragment is all there is of the datagram, and goes on for itself
 * (RFC 6946). Otherwise it has been taken over.
 */
static bool
atomic_fragment(struct worker *w, struct burst *b, unsigned i, uint16_t offset, uint16_t next_field,
		bool seen)
{
	/* RFC 8200 4.1: each header once. */
	if (seen || (b->flags[i] & PLACE_REASSEMBLED) != 0) {
		drop(w, b, i, DROP_IP6_EXT_HEADER);
		return false;
	}
	if ((ip_get16(b->l3[i] + offset + 2) & 0xfff9) == 0)
		return true;
	if (reassemble6(w, b, i, offset, next_field))
		local6(w, b, i);
	return false;
}

/* Walk to the upper layer as a destination must: options are heeded, routing
 * headers with nothing left are passed (RFC 8200 4). */
void
local6(struct worker *w, struct burst *b, unsigned i)
{
	const uint8_t *h = b->l3[i];
	uint16_t offset = IP6_HEADER, next_field = 6, room = contiguous(b, i);
	bool fragment = false;
	uint8_t proto = h[6];

	for (unsigned n = 0; n < 8; n++) {
		uint16_t size = 8;

		if (proto == PROTO_UDP || proto == PROTO_ICMP6 || proto == PROTO_NONE) {
			local6_upper(w, b, i, proto, offset);
			return;
		}
		if (proto != PROTO_HOPOPTS && proto != PROTO_DSTOPTS && proto != PROTO_ROUTING &&
		    proto != PROTO_FRAGMENT) {
			drop_with_error6(w, b, i, DROP_IP6_NO_PROTO, ICMP6_PARAMETER,
					 ICMP6_PARAMETER_NEXT_HEADER, next_field);
			return;
		}
		if (offset + 8 > room ||
		    (proto != PROTO_FRAGMENT && offset + 8 + 8 * h[offset + 1] > room)) {
			drop(w, b, i, DROP_IP6_TRUNCATED);
			return;
		}
		if (proto == PROTO_FRAGMENT) {
			if (!atomic_fragment(w, b, i, offset, next_field, fragment))
				return;
			fragment = true;
		} else {
			if (!pass_header(w, b, i, proto, offset, next_field))
				return;
			size = (uint16_t)(8 + 8 * h[offset + 1]);
		}
		next_field = offset;
		proto = h[offset];
		offset = (uint16_t)(offset + size);
	}
	drop(w, b, i, DROP_IP6_EXT_HEADER);
}

void
link_scope6(struct worker *w, struct burst *b, unsigned i)
{
	const struct iface *iface = iface_at(b->iface[i]);
	struct ip_addr dst = ip6_addr(b->l3[i] + 24);

	/* Links do not reach into tunnels, and a segment list names no link. */
	if (iface == NULL || b->sid[i] != 0) {
		drop(w, b, i, DROP_MARTIAN);
		return;
	}
	if ((b->flags[i] & PLACE_ORIGINATED) != 0) {
		if (dst.bytes[0] == 0xff)
			drop(w, b, i, DROP_MARTIAN);
		else
			hand_to_control(w, b, i, PACKET_CONNECTED, AF_INET6, iface->id);
		return;
	}
	if (dst.bytes[0] == 0xff ? heard_group6(b, i) : iface_has_address(iface, &dst))
		local6(w, b, i);
	else
		drop(w, b, i, DROP_MARTIAN);
}
