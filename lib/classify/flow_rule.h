/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FLOW_RULE_H
#define FLOW_RULE_H

/**
 * @file
 * A flow rule as the software classifier takes it: which headers a packet must
 * have, what their bits must be, and what becomes of the packet.
 *
 * Headers are written down as they are on the wire (network order, the structs
 * of DPDK), once for the value and once for the mask; so the spec and mask of an
 * rte_flow item are copied as they are. A header is part of the rule when its
 * FLOW_HAS_ bit is set in `present` and `present_mask`; bits of the mask in a header
 * that is not are refused.
 *
 * What a packet's headers are:
 *
 * - Ethernet, unless the frame is shorter than 14 bytes. `eth.ether_type` is the
 *   two bytes at offset 12, whatever tags follow.
 * - Up to two VLAN tags (TPID 0x8100, 0x88a8, 0x9100), vlan[0] the outer one.
 *   Tags of a packet are passed whether the rule names them or not: a rule
 *   without `vlan` matches IP packets with and without tags. To match untagged ones
 *   only, FLOW_HAS_VLAN in present_mask and not in present.
 * - IPv4 (version 4, header length 20 or more and all there) or IPv6 (version 6, 40
 *   bytes there). `proto` is the field of the header.
 * - The upper layer, behind IPv4 options and IPv6 hop-by-hop options, destination
 *   options, routing headers (also with segments left) and a fragment header, eight
 *   of these at most; not for later fragments, which have none. It must be all there:
 *   8 bytes of UDP and ICMP, 20 of TCP, 12 of SCTP, 4 of ICMPv6.
 * - An IPv4 or IPv6 header in its place (protocol 4 or 41): the tunnelled one, with
 *   its own upper layer. What is in that one again is not looked at.
 *
 * Ethernet padding and bytes behind the IP packet are no header, nor is what ends
 * behind the first 512 bytes of the frame.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_ether.h>
#include <rte_icmp.h>
#include <rte_ip.h>
#include <rte_sctp.h>
#include <rte_tcp.h>
#include <rte_udp.h>

/** What a packet has. Bits of flow_rule.present and present_mask. */
enum flow_has {
	FLOW_HAS_ETH = 1 << 0,
	FLOW_HAS_VLAN = 1 << 1,	 /**< a tag: vlan[0] */
	FLOW_HAS_VLAN2 = 1 << 2, /**< a second: vlan[1] */
	FLOW_HAS_IP4 = 1 << 4,
	FLOW_HAS_IP6 = 1 << 5,
	FLOW_HAS_FRAGMENT6 = 1 << 6, /**< an IPv6 fragment header (`has_frag_ext`) */
	FLOW_HAS_UDP = 1 << 8,
	FLOW_HAS_TCP = 1 << 9,
	FLOW_HAS_SCTP = 1 << 10,
	FLOW_HAS_ICMP = 1 << 11,
	FLOW_HAS_ICMP6 = 1 << 12,
	FLOW_HAS_L4 = 0x1f << 8,
	/** The same for the tunnelled packet: FLOW_HAS_IP4 << FLOW_INNER and so on. */
	FLOW_INNER = 12,
	FLOW_HAS_INNER_IP4 = FLOW_HAS_IP4 << FLOW_INNER,
	FLOW_HAS_INNER_IP6 = FLOW_HAS_IP6 << FLOW_INNER,
	FLOW_HAS_INNER_FRAGMENT6 = FLOW_HAS_FRAGMENT6 << FLOW_INNER,
	FLOW_HAS_INNER_UDP = FLOW_HAS_UDP << FLOW_INNER,
	FLOW_HAS_INNER_TCP = FLOW_HAS_TCP << FLOW_INNER,
	FLOW_HAS_INNER_SCTP = FLOW_HAS_SCTP << FLOW_INNER,
	FLOW_HAS_INNER_ICMP = FLOW_HAS_ICMP << FLOW_INNER,
	FLOW_HAS_INNER_ICMP6 = FLOW_HAS_ICMP6 << FLOW_INNER,
	FLOW_HAS_INNER_L4 = FLOW_HAS_L4 << FLOW_INNER,
};

/** RFC 4443 2.1; as much of it as rte_flow matches. */
struct flow_icmp6 {
	uint8_t type;
	uint8_t code;
	rte_be16_t checksum;
};

union flow_ip {
	struct rte_ipv4_hdr v4;
	struct rte_ipv6_hdr v6;
	uint8_t bytes[40];
};

union flow_l4 {
	struct rte_udp_hdr udp;
	struct rte_tcp_hdr tcp;
	struct rte_sctp_hdr sctp;
	struct rte_icmp_hdr icmp;
	struct flow_icmp6 icmp6;
	uint8_t bytes[20];
};

/** The headers a rule can look into. */
struct flow_headers {
	struct rte_ether_hdr eth;
	struct rte_vlan_hdr vlan[2];
	union flow_ip ip;
	union flow_l4 l4;
	union flow_ip inner_ip;
	union flow_l4 inner_l4;
};

static_assert(sizeof(struct flow_headers) == 14 + 8 + 2 * (40 + 20),
	      "headers follow each other without gaps");

/**
 * A field that must lie between two numbers (rte_flow's `last`). The field is the
 * big-endian number of `size` bytes at `offset` in struct flow_headers, AND mask:
 * vlan id 10 to 20 is {offsetof(struct flow_headers, vlan[0].vlan_tci), 2,
 * .mask = {0x0f, 0xff}, .low = {0, 10}, .high = {0, 20}}. Those bits are not in
 * the rule's mask as well.
 */
struct flow_range {
	uint16_t offset;
	uint8_t size;	  /**< bytes, 1 to 16; within one header */
	uint8_t mask[16]; /**< the first `size` bytes count, here and below */
	uint8_t low[16];
	uint8_t high[16]; /**< inclusive */
};

#define FLOW_RANGES_MAX 8

/** What decides a packet's fate. */
enum flow_fate {
	FLOW_PASSTHRU, /**< nothing here: later rules are asked */
	FLOW_ACCEPT,   /**< no later rule is asked */
	FLOW_DROP,
	FLOW_QUEUE, /**< to the worker that polls receive queue `target` of the packet's port */
	FLOW_LCORE, /**< to the worker on lcore `target` */
	FLOW_PORT,  /**< sent on the port with ethdev id `target`, as it is */
	FLOW_JUMP,  /**< the rules of group `target` go on; none matches: accepted */
};

struct flow_rule {
	uint32_t id; /**< what it is called in traces; the caller's */
	uint32_t group;
	uint32_t priority;     /**< lower ones are asked first; of equal ones the older */
	uint32_t present;      /**< FLOW_HAS_*: what the packet has, */
	uint32_t present_mask; /**< as far as these bits are concerned */
	struct flow_headers value;
	struct flow_headers mask;
	unsigned ranges;
	struct flow_range range[FLOW_RANGES_MAX];

	enum flow_fate fate;
	uint32_t target;
	bool mark; /**< the mbuf gets mark_id (rte_mbuf.hash.fdir.hi, RTE_MBUF_F_RX_FDIR_ID) */
	uint32_t mark_id;
};

#endif
