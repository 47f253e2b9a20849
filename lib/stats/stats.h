/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STATS_H
#define STATS_H

/**
 * @file
 * Why packets are dropped, and the account that proves none was forgotten.
 *
 * Every thread that handles packets owns one struct stats and is the only one
 * to write it: plain additions, no shared line. For each thread, at the end of
 * each of its loops:
 *
 *     received + originated + taken = transmitted + delivered + dropped + handed + holding
 *
 * where handed and taken count packets that cross to another thread over a
 * ring, and holding is what the thread itself keeps (transmit buffers, packets
 * waiting for a neighbour). Summed over all threads, handed - taken is what sits in
 * rings, and the six numbers of `show balance` follow.
 */

#include <stdint.h>

#include <rte_common.h>

/**
 * Every reason, in the order shown. To add one: add a row here, nothing else.
 * The text is for `show drops` and `trace show`.
 */
#define DROP_REASONS(X)                                                                            \
	X(RUNT, "runt", "shorter than an Ethernet header")                                         \
	X(OTHER_HOST, "other_host", "destination MAC is not this port's")                          \
	X(ETHERTYPE, "ethertype", "EtherType nobody handles")                                      \
	X(VLAN, "vlan", "VLAN id without a sub-interface")                                         \
	X(ARP_BAD, "arp_bad", "malformed or not acceptable ARP")                                   \
	X(ND_BAD, "nd_bad", "malformed or not acceptable neighbour discovery")                     \
	X(IP6_BAD_HEADER, "ip6_bad_header", "IPv6 version is not 6")                               \
	X(IP6_TRUNCATED, "ip6_truncated", "IPv6 packet longer than what was received")             \
	X(IP6_HOP_LIMIT, "ip6_hop_limit", "IPv6 hop limit used up")                                \
	X(IP6_NO_ROUTE, "ip6_no_route", "no IPv6 route")                                           \
	X(IP6_EXT_HEADER, "ip6_ext_header", "IPv6 extension headers that cannot be processed")     \
	X(IP6_NO_PROTO, "ip6_no_proto", "IPv6 for this router, of a protocol nobody handles")      \
	X(SRH_MALFORMED, "srh_malformed", "segment routing header contradicts itself")             \
	X(SRH_SEGMENTS_LEFT, "srh_segments_left", "segments left does not suit the behaviour")     \
	X(SID_UPPER_LAYER, "sid_upper_layer", "the SID does not accept this upper layer")          \
	X(SID_LOOP, "sid_loop", "more SIDs of this router in a row than allowed")                  \
	X(TUNNEL_ECN, "tunnel_ecn", "congestion marked outside, inside not ECN-capable")           \
	X(IP4_BAD_HEADER, "ip4_bad_header", "IPv4 version or header length is wrong")              \
	X(IP4_TRUNCATED, "ip4_truncated", "IPv4 packet longer than what was received")             \
	X(IP4_CHECKSUM, "ip4_checksum", "IPv4 header checksum is wrong")                           \
	X(IP4_TTL, "ip4_ttl", "IPv4 TTL used up")                                                  \
	X(IP4_NO_ROUTE, "ip4_no_route", "no IPv4 route")                                           \
	X(IP4_OPTIONS, "ip4_options", "IPv4 options that must not be forwarded")                   \
	X(IP4_NO_PROTO, "ip4_no_proto", "IPv4 for this router, of a protocol nobody handles")      \
	X(ICMP_BAD, "icmp_bad", "ICMP with a wrong checksum or of a type nobody handles")          \
	X(BLACKHOLE, "blackhole", "blackhole route")                                               \
	X(UNREACHABLE, "unreachable", "unreachable route")                                         \
	X(PROHIBIT, "prohibit", "prohibit route")                                                  \
	X(MARTIAN, "martian", "source or destination that must not be forwarded")                  \
	X(NEIGH_UNRESOLVED, "neigh_unresolved", "the neighbour did not answer")                    \
	X(MTU_EXCEEDED, "mtu_exceeded", "larger than the MTU and not to be fragmented")            \
	X(TX_FULL, "tx_full", "the transmit queue was full")                                       \
	X(TX_ERROR, "tx_error", "the driver refused the packet")                                   \
	X(PORT_DOWN, "port_down", "the port out is down")                                          \
	X(POOL_EMPTY, "pool_empty", "no buffer was free")                                          \
	X(FLOW_DROP, "flow_drop", "flow rule")                                                     \
	X(XDP_DROP, "xdp_drop", "packet verdict")                                                  \
	X(XDP_ABORTED, "xdp_aborted", "packet program that ended without a verdict")               \
	X(REDIRECT_FULL, "redirect_full", "the ring to another worker was full")                   \
	X(CONTROL_FULL, "control_full", "the ring to the control thread was full")                 \
	X(UDP_BAD_LENGTH, "udp_bad_length", "UDP length contradicts the IP length")                \
	X(UDP_CHECKSUM, "udp_checksum", "UDP checksum is wrong")                                   \
	X(UDP_NO_SOCKET, "udp_no_socket", "no UDP socket")                                         \
	X(UDP_QUEUE_FULL, "udp_queue_full", "the socket's queue was full")                         \
	X(FRAGMENT, "fragment", "fragment that could not be made or used")

enum drop_reason {
#define X(id, name, text) DROP_##id,
	DROP_REASONS(X)
#undef X
	DROP_REASON_COUNT
};

/** The word in `show drops`. */
const char *drop_name(enum drop_reason reason);
/** One line for a person. */
const char *drop_text(enum drop_reason reason);

/** What one thread has seen of one port. */
struct port_stats {
	uint64_t rx_packets;
	uint64_t rx_bytes; /**< frames without FCS */
	uint64_t rx_more;  /**< buffers behind the first, of frames received in several */
	uint64_t tx_packets;
	uint64_t tx_bytes;
	uint64_t tx_dropped; /**< not accepted by the driver, or the port was down */
};

/** One thread's account. */
struct stats {
	uint64_t received;
	uint64_t originated;
	uint64_t taken;
	uint64_t transmitted;
	uint64_t delivered;
	uint64_t handed;
	int64_t holding;
	uint64_t drops[DROP_REASON_COUNT];
	struct port_stats port[RTE_MAX_ETHPORTS];
} __rte_cache_aligned;

/** Add one account to another. */
void stats_add(struct stats *sum, const struct stats *part);
/** sum -= part, but not holding, which is no count of events. */
void stats_subtract(struct stats *sum, const struct stats *part);
/** All drops together. */
uint64_t stats_dropped(const struct stats *stats);

#endif
