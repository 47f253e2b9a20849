/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SRV6_H
#define SRV6_H

/**
 * @file
 * SRv6 endpoint behaviours (RFC 8986 section 4, RFC 8754).
 *
 * A packet whose destination is a SID of ours is given to srv6_process() with
 * the SID's next hop. It walks the IPv6 extension headers, applies the
 * behaviour and its flavours to the packet in place, and says what the packet
 * is now: an inner packet to be routed, an IPv6 packet with a new destination,
 * something for the router itself, or a drop, perhaps with an ICMP error.
 *
 * Nothing is looked up here and nothing is freed. Any thread that owns the
 * packet.
 *
 * To add a behaviour: its name in nexthop.h, its row in `accepts` and, if it
 * is a new kind of walk, its case in srv6.c.
 */

#include <stdint.h>

#include "icmp.h"
#include "ip.h"
#include "nexthop.h"

/** Type of the segment routing header among routing headers (RFC 8754 2). */
#define SRV6_ROUTING_TYPE 4

/** What the packet has become. */
enum srv6_outcome {
	SRV6_INNER4, /**< decapsulated: an IPv4 packet, not looked at yet */
	SRV6_INNER6, /**< decapsulated: an IPv6 packet, not looked at yet */
	SRV6_NEXT,   /**< End, End.X, End.T: next segment in place, hop limit decremented */
	SRV6_UPPER,  /**< ICMPv6 for the SID, or any upper layer when it is an address too */
	SRV6_DROP,
};

/** The packet while a SID works on it. */
struct srv6_packet {
	uint8_t *ip;	     /**< in: IPv6 header; out: header of what it has become */
	uint16_t len;	     /**< bytes of the packet from ip on; in and out */
	uint16_t contiguous; /**< of these, bytes that can be read at ip; in and out */

	uint8_t proto;	   /**< SRV6_UPPER: the upper layer ... */
	uint16_t upper;	   /**< ... and its offset from ip */
	uint8_t outer_ecn; /**< SRV6_INNER*: ECN bits of the header removed */
	uint8_t reason;	   /**< SRV6_DROP: enum drop_reason */
	bool has_error;	   /**< SRV6_DROP: an ICMP error is due */
	struct icmp_error error;
};

/**
 * The case nearly all packets are: the inner packet right behind an IPv6
 * header without extensions. True if `proto` is what the behaviour takes out
 * of a tunnel, so that the inner packet starts at IP6_HEADER.
 */
static inline bool
srv6_decapsulates(const struct nexthop *sid, uint8_t proto)
{
	/* Bit 0: takes IPv4 out, bit 1: takes IPv6 out. */
	static const uint8_t accepts[SID_BEHAVIOUR_COUNT] = {
		[SID_END_DX4] = 1, [SID_END_DX6] = 2,  [SID_END_DT4] = 1,
		[SID_END_DT6] = 2, [SID_END_DT46] = 3,
	};
	uint8_t bit = proto == PROTO_IP4 ? 1 : proto == PROTO_IP6 ? 2 : 0;

	return (accepts[sid->behaviour] | ((sid->flavours & SID_USD) != 0 ? 3 : 0)) & bit;
}

/** Apply the SID to the packet: any packet. */
enum srv6_outcome srv6_process(const struct nexthop *sid, struct srv6_packet *packet);

/**
 * RFC 8200 4.2: go through the options of a hop-by-hop or destination options
 * header of `size` bytes at h + offset. Options we do not know ask to be skipped, or
 * for the packet to be dropped, silently or not. 0, or the drop reason with *error filled when
 * *has_error.
 */
int ip6_options_check(const uint8_t *h, uint16_t offset, uint16_t size, bool *has_error,
		      struct icmp_error *error);

#endif
