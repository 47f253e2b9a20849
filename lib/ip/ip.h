/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IP_H
#define IP_H

/**
 * @file
 * IPv4 and IPv6 as a router sees them: is the header true, what follows it,
 * decrement, congestion marks across a tunnel, fragments.
 *
 * The checks of every packet are inline here and branch once when all is
 * well; which reason a bad packet gets is found out of line. Any thread:
 * nothing here keeps state, and a packet belongs to the thread that holds it.
 *
 * Functions that take `h` want a pointer to the first byte of an IP header, of
 * any alignment. Sums of 16-bit words are in memory order: what was loaded
 * with memcpy is added and what comes out is stored with memcpy, whatever the
 * byte order of the machine (RFC 1071 2(B)).
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_byteorder.h>
#include <rte_ip.h>
#include <rte_mbuf.h>

#include "base.h"
#include "packet.h"
#include "stats.h"

#define IP4_HEADER_MIN 20
#define IP4_HEADER_MAX 60
#define IP6_HEADER     40

/** The IPv4 flags and fragment offset field, host order (RFC 791 3.1). */
#define IP4_DONT_FRAGMENT  0x4000
#define IP4_MORE_FRAGMENTS 0x2000
#define IP4_OFFSET_MASK	   0x1fff /**< in units of 8 bytes */

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
	PROTO_SCTP = 132,
	PROTO_ETHERNET = 143,
};

/** A 16-bit field in network order at any alignment, in host order. */
static inline uint16_t
ip_get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static inline void
ip_put16(uint8_t *p, uint16_t value)
{
	p[0] = (uint8_t)(value >> 8);
	p[1] = (uint8_t)value;
}

/** Fold a sum of 16-bit words to 16 bits. */
static inline uint16_t
ip_sum_fold(uint64_t sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + ((sum >> 16) & 0xffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)((sum & 0xffff) + (sum >> 16));
}

/**
 * The checksum after one 16-bit word that it covers went from `was` to `is`,
 * all three in memory order (RFC 1624, equation 3: the one that never turns a
 * checksum of 0x0000 into 0xffff, as RFC 1141 does).
 */
static inline uint16_t
ip_sum_replace(uint16_t checksum, uint16_t was, uint16_t is)
{
	uint32_t sum = (uint32_t)(uint16_t)~checksum + (uint16_t)~was + is;

	sum = (sum & 0xffff) + (sum >> 16);
	sum += sum >> 16;
	return (uint16_t)~sum;
}

/**
 * Sum of the pseudo-header that upper layers of the IPv6 packet at h include in
 * their checksum (RFC 8200 8.1), unfolded: to be added to theirs. upper_len:
 * bytes of the upper layer. With a routing header, h has the final destination
 * only after the last segment.
 */
static inline uint64_t
ip6_pseudo_sum(const uint8_t *h, uint32_t upper_len, uint8_t proto)
{
	uint64_t sum = (uint64_t)rte_cpu_to_be_32(upper_len) + rte_cpu_to_be_32(proto);
	uint32_t word;

	for (unsigned i = 8; i < IP6_HEADER; i += 4) {
		memcpy(&word, h + i, 4);
		sum += word;
	}
	return sum;
}

/**
 * A ones' complement sum, eight bytes at a time in memory order, the carry brought back in at the
 * low end (RFC 1071 2): the true sum modulo 2^64 - 1.
 */
static inline uint64_t
ip_sum_carry(uint64_t sum, uint64_t words)
{
	sum += words;
	return sum + (sum < words);
}

/**
 * Is what the sum covers undamaged, its checksum among it? Its words then add up to zero modulo
 * 65535, which divides 2^64 - 1. To ask that is a multiplication and a comparison, less than to
 * fold the sum. For sums of words that are not all zero.
 */
static inline bool
ip_sum_is_good(uint64_t sum)
{
	return sum % 0xffff == 0;
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
	return ip_sum_is_good(ip_sum_carry(ip_sum_carry(c, a), b));
}

/** The same for any header length (20 to 60 bytes, a multiple of 4). */
bool ip4_sum_ok(const uint8_t *h, unsigned header_len);

/** Set the header checksum (header_len as above). */
void ip4_sum_set(uint8_t *h, unsigned header_len);

/**
 * Is the IPv4 packet at h fit to be routed, with `room` bytes from h to the
 * packet's end and at least min(room, 60) of them contiguous?
 *
 * @param len  the total length (bytes, host order), written only on success
 * @return 0, or the drop reason: DROP_IP4_TRUNCATED (fewer than 20 bytes, or
 *         the header or the total length end beyond room), DROP_IP4_BAD_HEADER
 *         (version, a header length under 20, a total length under that), or
 *         DROP_IP4_CHECKSUM. Never reads beyond room.
 */
int ip4_check(const uint8_t *h, uint32_t room, uint16_t *len);

/**
 * TTL minus one, checksum updated incrementally to what recomputing it would
 * give (RFC 1624). TTL must be above 0.
 */
static inline void
ip4_decrement_ttl(uint8_t *h)
{
	uint16_t checksum;
	uint32_t sum;

	h[8]--;
	memcpy(&checksum, h + 10, 2);
	/* TTL is the high byte of its word, so ~m + m' of RFC 1624 is always 0xfeff. */
	sum = (uint32_t)(uint16_t)~checksum + rte_cpu_to_be_16(0xfeff);
	sum += sum >> 16;
	checksum = (uint16_t)~sum;
	memcpy(h + 10, &checksum, 2);
}

/**
 * Must a packet from this IPv4 source (host order) not be forwarded? 0/8,
 * 127/8, 169.254/16 and 224/3 (RFC 1812 5.3.7, RFC 3927 2.7, RFC 6890).
 */
static inline bool
ip4_source_martian(uint32_t src)
{
	uint32_t top = src >> 24;

	return top - 1 >= 223 || top == 127 || src >> 16 == 0xa9fe;
}

/** May a source that begins with this byte be one of those? Few packets' sources do. */
static inline bool
ip4_source_suspect(uint8_t first)
{
	/* 0, 127, 169, and 224 to 255, a bit each. */
	static const uint64_t suspects[4] = {1, 1ull << 63, 1ull << (169 - 128),
					     0xffffffff00000000};

	return (suspects[first >> 6] >> (first & 63)) & 1;
}

/**
 * ::, ::1, multicast: never a valid source on the wire for a routed packet
 * (RFC 4291 2.5.2, 2.5.3, 2.7).
 */
static inline bool
ip6_source_martian(const uint8_t *src)
{
	uint64_t hi, lo;

	memcpy(&hi, src, 8);
	memcpy(&lo, src + 8, 8);
	return src[0] == 0xff || (hi == 0 && rte_be_to_cpu_64(lo) <= 1);
}

/** May an IPv6 source that begins with this byte be one of those? */
static inline bool
ip6_source_suspect(uint8_t first)
{
	return (uint8_t)(first + 1) <= 1;
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
	IP4_OPTIONS_PLAIN,	  /**< nothing we act on: forward unchanged */
	IP4_OPTIONS_MALFORMED,	  /**< lengths that lie */
	IP4_OPTIONS_SOURCE_ROUTE, /**< LSRR or SSRR: dropped, as kernels do (RFC 7126 4.3, 4.4) */
};
/** header_len: 20 to 60, a multiple of 4; that many bytes are read at most. */
enum ip4_options ip4_options_check(const uint8_t *h, unsigned header_len);

/** Where a walk along IPv6 extension headers ended. */
struct ip6_walk {
	uint8_t proto;	     /**< the header that stopped it */
	uint16_t offset;     /**< of that header from the IPv6 header; at most len, and not
				  necessarily contiguous: nothing of that header was read */
	uint16_t next_field; /**< offset of the Next Header byte that named it */
	bool fragment;	     /**< a fragment header with offset or more-fragments was passed */
	bool late_fragment;  /**< ... with an offset: no header at `offset`, data from the
				  middle; proto is what the fragment header says */
};

/**
 * Walk from (proto at offset), over hop-by-hop options, destination options,
 * if over_routing over routing headers with segments left 0, and if
 * over_fragment over fragment headers, at most 8 headers in all. Everything
 * else stops it: an upper layer, AH, ESP, no next header, an unknown protocol,
 * a routing header with segments left (proto is PROTO_ROUTING).
 *
 * @param h           the IPv6 header
 * @param len         bytes of the IPv6 packet, header included
 * @param contiguous  how many bytes can be read at h
 * @param proto, offset, next_field  where to start: for the whole chain the
 *        Next Header value at h[6], IP6_HEADER and 6
 * @return 0, or the drop reason: DROP_IP6_EXT_HEADER (more than 8, or hop-by-hop
 *         options that do not follow the IPv6 header directly, RFC 8200 4.1),
 *         DROP_IP6_TRUNCATED (a header ends beyond len), or -EAGAIN: the walk
 *         needs more than `contiguous` bytes. Then walk->offset + 8 bytes are
 *         what it needs next: pull up and call again from the start.
 */
int ip6_walk(const uint8_t *h, uint16_t len, uint16_t contiguous, uint8_t proto, uint16_t offset,
	     uint16_t next_field, bool over_routing, bool over_fragment, struct ip6_walk *walk);

/**
 * Hash of the flow, every bit of it good: addresses, protocol, and the ports
 * of TCP, UDP and SCTP in packets that are no fragments; for IPv6 the flow
 * label (RFC 6438), and ports only right behind the IPv6 header. The same on every
 * machine and in every build. contiguous: bytes that can be read at h; never
 * reads beyond, and 0 comes back when they do not hold the fixed header.
 */
uint32_t ip4_flow_hash(const uint8_t *h, uint16_t contiguous);
uint32_t ip6_flow_hash(const uint8_t *h, uint16_t contiguous);

/**
 * Split an IPv4 packet (data starts at the IP header, DF clear, longer than
 * mtu) into fragments of at most mtu bytes (RFC 791 3.2). Options go to the
 * first, and to later ones if their copied flag says so. The packet may be a
 * fragment itself. Bytes beyond the total length (padding) are left out.
 *
 * The input is neither changed nor freed. Fragments are copies in buffers of
 * `pool`, of several segments when one cannot hold mtu bytes, with
 * RTE_PKTMBUF_HEADROOM bytes in front for a link header and a valid checksum. They
 * inherit the input's port, hash and dynamic fields, no offload flags.
 *
 * @return how many packets were put into out, or -errno with none made:
 *         -EINVAL (mtu too small for header + 8, DF set, a header or total length that
 *         lies, an offset that would pass 13 bits), -E2BIG (more than max), -ENOBUFS
 */
int ip4_fragment(struct rte_mbuf *packet, uint16_t mtu, struct rte_mempool *pool,
		 struct rte_mbuf *out[], unsigned max);

/**
 * The same for an IPv6 packet of the router's own, without extension headers that routers look at;
 * id: of all its fragments, not to be foreseen by others (RFC 7739).
 *
 * @return as above; -EINVAL: mtu too small, a payload length that lies, such extension headers
 */
int ip6_fragment(const struct rte_mbuf *packet, uint16_t mtu, uint32_t id, struct rte_mempool *pool,
		 struct rte_mbuf *out[], unsigned max);

#endif
