/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IP_H
#define IP_H

/**
 * @file
 * IPv4 and IPv6 as a router sees them: is the header true, what follows it,
 * decrement, congestion marks across a tunnel, fragments.
 *
 * The checks of every packet are inline here and branch once when all is
 * well; which reason a bad packet gets is found out of line. Any thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_byteorder.h>
#include <rte_ip.h>
#include <rte_mbuf.h>

#include "base.h"
#include "stats.h"

#define IP4_HEADER_MIN 20
#define IP6_HEADER     40

/** IANA protocol numbers, as far as we look at them. */
enum {
	PROTO_HOPOPTS = 0,
	PROTO_ICMP = 1,
	PROTO_IP4 = 4,
	PROTO_TCP = 6,
	PROTO_UDP = 17,
	PROTO_IP6 = 41,
	PROTO_ROUTING = 43,
	PROTO_FRAGMENT = 44,
	PROTO_ESP = 50,
	PROTO_AH = 51,
	PROTO_ICMP6 = 58,
	PROTO_NONE = 59,
	PROTO_DSTOPTS = 60,
	PROTO_ETHERNET = 143,
};

/** Fold a sum of 16-bit words to 16 bits. */
static inline uint16_t
ip_sum_fold(uint64_t sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + ((sum >> 16) & 0xffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)((sum & 0xffff) + (sum >> 16));
}

/** Does a header of 20 bytes without options have a correct checksum? */
static inline bool
ip4_sum_ok_20(const uint8_t *h)
{
	uint64_t a, b;
	uint32_t c;

	memcpy(&a, h, 8);
	memcpy(&b, h + 8, 8);
	memcpy(&c, h + 16, 4);
	/* 64-bit words added in halves: no carry is lost, folding brings it home. */
	return ip_sum_fold((a & 0xffffffff) + (a >> 32) + (b & 0xffffffff) + (b >> 32) + c) ==
	       0xffff;
}

/** The same for any header length (20 to 60 bytes, a multiple of 4). */
bool ip4_sum_ok(const uint8_t *h, unsigned header_len);

/** Set the header checksum. */
void ip4_sum_set(uint8_t *h, unsigned header_len);

/**
 * Is the IPv4 packet at h fit to be routed, with `room` bytes from h to the
 * packet's end and at least min(room, 60) of them contiguous? The total length goes to *len.
 * Returns 0, or the drop reason: ip4_truncated, ip4_bad_header, ip4_checksum.
 * Never reads beyond room.
 */
int ip4_check(const uint8_t *h, uint32_t room, uint16_t *len);

/** TTL minus one, checksum updated incrementally (RFC 1141, RFC 1624). TTL must be above 0. */
static inline void
ip4_decrement_ttl(uint8_t *h)
{
	uint16_t sum;

	h[8]--;
	memcpy(&sum, h + 10, 2);
	/* TTL is the high byte of its word: the sum grows by 0x0100 in network order. */
	sum = (uint16_t)(sum + rte_cpu_to_be_16(0x0100));
	sum = (uint16_t)(sum + (sum < rte_cpu_to_be_16(0x0100)));
	memcpy(h + 10, &sum, 2);
}

/** Must a packet from this IPv4 source (host order) not be forwarded? 0/8, 127/8, 169.254/16 and
 * 224/3 (RFC 1812 5.3.7, RFC 3927 2.7, RFC 6890). */
static inline bool
ip4_source_martian(uint32_t src)
{
	uint32_t top = src >> 24;

	return top - 1 >= 223 || top == 127 || src >> 16 == 0xa9fe;
}

/** ::, ::1, multicast: never a valid source on the wire for a routed packet (RFC 4291 2.5.2, 2.5.3, 2.7). */
static inline bool
ip6_source_martian(const uint8_t *src)
{
	uint64_t hi, lo;

	memcpy(&hi, src, 8);
	memcpy(&lo, src + 8, 8);
	return src[0] == 0xff || (hi == 0 && rte_be_to_cpu_64(lo) <= 1);
}

/**
 * Outcome of RFC 6040 4.2, figure 4 for a decapsulated packet.
 * outer and inner: the two ECN bits. Returns the inner packet's new ECN bits,
 * or -1: drop (congestion experienced outside, inside not capable).
 */
int ecn_decapsulate(unsigned outer, unsigned inner);
/** Apply it to the inner header at h (IPv4 checksum kept right). False: drop. */
bool ecn_apply4(uint8_t *h, unsigned outer);
bool ecn_apply6(uint8_t *h, unsigned outer);

/** What an IPv4 packet's options ask of a router. */
enum ip4_options {
	IP4_OPTIONS_PLAIN,     /**< nothing we act on: forward unchanged */
	IP4_OPTIONS_MALFORMED, /**< lengths that lie */
	IP4_OPTIONS_SOURCE_ROUTE, /**< LSRR or SSRR: dropped, as kernels do (RFC 7126 4.3, 4.4) */
};
enum ip4_options ip4_options_check(const uint8_t *h, unsigned header_len);

/** Where a walk along IPv6 extension headers ended. */
struct ip6_walk {
	uint8_t proto;       /**< the header that stopped it */
	uint16_t offset;     /**< of that header from the IPv6 header */
	uint16_t next_field; /**< offset of the Next Header byte that named it */
	bool fragment;       /**< a fragment header with offset or more-fragments was passed */
	bool late_fragment;  /**< ... with an offset: no upper layer here */
};

/**
 * Walk from (proto at offset), over hop-by-hop, destination options, and (if
 * over_routing) routing headers with segments left 0, and (if over_fragment) fragment headers, at most 8
 * headers in all. len: the packet's bytes; contiguous: how many of them can be read. Returns 0, or the drop reason
 * (ip6_ext_header: too many, or lengths that lie; ip6_truncated when a header ends beyond len). -EAGAIN:
 * the walk needs more than `contiguous` bytes (call again after pulling up).
 */
int ip6_walk(const uint8_t *h, uint16_t len, uint16_t contiguous, uint8_t proto, uint16_t offset,
	     uint16_t next_field, bool over_routing, bool over_fragment, struct ip6_walk *walk);

/** Hash of the flow: addresses, protocol, ports of TCP/UDP/SCTP when unfragmented, IPv6 flow label. Contiguous bytes from h; never reads beyond. */
uint32_t ip4_flow_hash(const uint8_t *h, uint16_t contiguous);
uint32_t ip6_flow_hash(const uint8_t *h, uint16_t contiguous);

/**
 * Make the first `want` bytes of the packet contiguous in its first segment,
 * moving bytes up from the following ones and freeing those left empty.
 * 0, -EINVAL: the packet is shorter, -ENOBUFS: no tailroom (or the segment is not ours to write). Any thread that
 * owns the packet.
 */
int packet_pull_up(struct rte_mbuf *packet, uint16_t want);

/** Cut the packet to len bytes from the start of its data, freeing segments that are left over. */
void packet_trim(struct rte_mbuf *packet, uint32_t len);

/** Remove len bytes from the front, also across segments. */
void packet_strip(struct rte_mbuf *packet, uint32_t len);

/**
 * Split an IPv4 packet (data starts at the IP header, DF clear, longer than mtu) into fragments of at most mtu
 * bytes (RFC 791 3.2), options copied as their copied flag says. The input is not freed. Returns how many packets
 * were put into out, or -errno with none made: -EINVAL (mtu too small for header + 8), -E2BIG (more than max),
 * -ENOBUFS. Fragments have headroom for a link header.
 */
int ip4_fragment(struct rte_mbuf *packet, uint16_t mtu, struct rte_mempool *pool,
		 struct rte_mbuf *out[], unsigned max);

#endif
