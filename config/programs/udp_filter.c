/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A program for `xdp set`: drops UDP to one port, IPv4 and IPv6, with or without a
 * VLAN tag, and counts. Where a tag or options move the headers, the same code looks
 * further in.
 *
 *     clang -O2 -target bpf -mcpu=v2 -I include -c config/programs/udp_filter.c -o udp_filter.o
 *     xdp set dev 0 obj udp_filter.o section udp_filter
 */
#include <noref_xdp.h>

#ifndef BLOCKED
#define BLOCKED 53 /* the port */
#endif

/* Counters, in the order `xdp show` prints them. */
enum {
	SEEN_UDP,
	DROPPED_PACKETS,
	DROPPED_BYTES,
};

#define ETHERTYPE_IP4  0x0800
#define ETHERTYPE_IP6  0x86dd
#define ETHERTYPE_VLAN 0x8100
#define PROTO_UDP      17

/* The UDP header begins here. */
NOREF_INLINE int
udp(const struct noref_packet *p, unsigned int at)
{
	/* Zeros follow where the packet ends: no port is 0. */
	noref_count(SEEN_UDP, 1);
	if (noref_be16(p, at + 2) != BLOCKED)
		return XDP_PASS;
	noref_count(DROPPED_PACKETS, 1);
	noref_count(DROPPED_BYTES, p->length);
	return XDP_DROP;
}

/* The IP header begins here; type is what the link header says it is. */
NOREF_INLINE int
ip(const struct noref_packet *p, unsigned int type, unsigned int at)
{
	if (type == ETHERTYPE_IP6 && p->head[at + 6] == PROTO_UDP)
		return udp(p, at + 40);
	/* Of fragments the first alone has a UDP header (RFC 791 3.1). */
	if (type == ETHERTYPE_IP4 && p->head[at + 9] == PROTO_UDP &&
	    (noref_be16(p, at + 6) & 0x1fff) == 0)
		return udp(p, at + (p->head[at] & 15) * 4);
	return XDP_PASS;
}

NOREF_SECTION("udp_filter")
int
udp_filter(const struct noref_packet *p)
{
	unsigned int type = noref_be16(p, 12);

	if (type == ETHERTYPE_VLAN)
		return ip(p, noref_be16(p, 16), 18);
	return ip(p, type, 14);
}
