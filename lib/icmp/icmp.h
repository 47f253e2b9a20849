/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ICMP_H
#define ICMP_H

/**
 * @file
 * ICMP and ICMPv6 messages the router makes: errors about packets (RFC 792,
 * RFC 1812 4.3, RFC 4443), echo replies, and the requests of `ping`.
 *
 * Packets are mbufs whose IP header lies l3 bytes into the data; the packet's
 * IP length is len bytes and may be spread over segments, except that the
 * headers of the first 40 (IPv6) or 60 (IPv4) bytes, as far as they exist, are
 * in the first. New packets are built without link header, their data
 * starting at the IP header, headroom left in front. Any thread; nothing is
 * shared.
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "base.h"

enum {
	ICMP4_ECHO_REPLY = 0,
	ICMP4_UNREACHABLE = 3,
	ICMP4_ECHO_REQUEST = 8,
	ICMP4_TIME_EXCEEDED = 11,
	ICMP4_PARAMETER = 12,

	ICMP4_UNREACHABLE_NET = 0,
	ICMP4_UNREACHABLE_HOST = 1,
	ICMP4_UNREACHABLE_PROTOCOL = 2,
	ICMP4_UNREACHABLE_PORT = 3,
	ICMP4_UNREACHABLE_FRAG_NEEDED = 4,
	ICMP4_UNREACHABLE_PROHIBITED = 13,

	ICMP6_UNREACHABLE = 1,
	ICMP6_TOO_BIG = 2,
	ICMP6_TIME_EXCEEDED = 3,
	ICMP6_PARAMETER = 4,
	ICMP6_ECHO_REQUEST = 128,
	ICMP6_ECHO_REPLY = 129,

	ICMP6_UNREACHABLE_NO_ROUTE = 0,
	ICMP6_UNREACHABLE_PROHIBITED = 1,
	ICMP6_UNREACHABLE_ADDRESS = 3,
	ICMP6_UNREACHABLE_PORT = 4,

	ICMP6_PARAMETER_HEADER = 0,
	ICMP6_PARAMETER_NEXT_HEADER = 1,
	ICMP6_PARAMETER_SR_UPPER = 4, /**< RFC 8986 4.1.1 */
};

/** An error to be sent. */
struct icmp_error {
	uint8_t type;
	uint8_t code;
	uint32_t value; /**< next-hop MTU, or pointer (bytes into the packet), else 0 */
};

/**
 * May an ICMP error be sent about this packet at all? Not about ICMP errors
 * (nor redirects), later fragments, multicast or broadcast destinations (IPv6: except too big
 * and parameter problem code 2), or sources that name no single host (RFC 1812 4.3.2.7, RFC 4443
 * 2.4(e)). The caller answers for link-layer broadcast and subnet broadcasts.
 */
bool icmp4_error_allowed(const struct rte_mbuf *packet, uint16_t l3, uint16_t len);
bool icmp6_error_allowed(const struct rte_mbuf *packet, uint16_t l3, uint16_t len,
			 const struct icmp_error *error);

/**
 * Build the error from source `src` to the packet's source, quoting as much as fits
 * in 576 (IPv4, RFC 1812 4.3.2.3) or 1280 bytes (IPv6, RFC 4443 2.4(c)). The quoted packet is as
 * it is in the buffer. TTL/hop limit 64, precedence 6 (IPv4). NULL: no buffer.
 */
struct rte_mbuf *icmp4_error(struct rte_mempool *pool, const struct rte_mbuf *packet, uint16_t l3,
			     uint16_t len, const struct icmp_error *error,
			     const struct ip_addr *src);
struct rte_mbuf *icmp6_error(struct rte_mempool *pool, const struct rte_mbuf *packet, uint16_t l3,
			     uint16_t len, const struct icmp_error *error,
			     const struct ip_addr *src);

/**
 * Turn an echo request for `own` into its reply, in place: addresses swapped (the reply's
 * source is `own`), type, TTL/hop limit 64, checksums (IPv4 options are kept, source routes refused).
 * upper: bytes from the IP header to the ICMP header. len as received: all segments count for the checksum.
 * 0, -EBADMSG: wrong checksum or cut short, -ENOENT: not an echo request.
 */
int icmp4_echo_reply(struct rte_mbuf *packet, uint16_t l3, uint16_t len, uint16_t upper,
		     const struct ip_addr *own);
/**
 * The same for IPv6. Extension headers between the IPv6 header and upper are removed (a routing header
 * must not be reversed: RFC 8200 4.4... ), so that the reply is IPv6 + ICMPv6; the data start moves and *l3 stays.
 * *len is updated.
 */
int icmp6_echo_reply(struct rte_mbuf *packet, uint16_t l3, uint16_t *len, uint16_t upper,
		     const struct ip_addr *own);

/** An echo request of `size` data bytes; family from dst. NULL: no buffer. */
struct rte_mbuf *icmp_echo_request(struct rte_mempool *pool, const struct ip_addr *src,
				   const struct ip_addr *dst, uint16_t ident, uint16_t sequence,
				   uint16_t size);

/** What arrived, for `ping`: an echo reply, or an error quoting an echo request of ours. */
struct icmp_answer {
	uint8_t type, code;
	uint16_t ident, sequence;
	struct ip_addr from;
	uint8_t ttl;
	uint16_t size; /**< ICMP data bytes of a reply */
};
/** 0 and *answer; -EBADMSG wrong checksum or malformed; -ENOENT something else. */
int icmp_answer_parse(const struct rte_mbuf *packet, uint16_t l3, uint16_t len, uint16_t upper,
		      uint8_t family, struct icmp_answer *answer);

/** Checksum over len bytes of a packet's data from offset on, in all segments (RFC 1071): the
 * raw 16-bit sum, not complemented, network-order words. */
uint16_t packet_sum(const struct rte_mbuf *packet, uint32_t offset, uint32_t len);

/**
 * A token bucket: errors are rate-limited (RFC 1812 4.3.2.8, RFC 4443 2.4(f)).
 * Owned by one thread.
 */
struct token_bucket {
	uint64_t interval; /**< TSC cycles a token */
	uint64_t last;     /**< TSC when tokens was brought up to date */
	uint32_t tokens;
	uint32_t burst;
};
void token_bucket_init(struct token_bucket *b, uint64_t tsc_hz, uint32_t per_second,
		       uint32_t burst);
/** Take one; false: none left. */
bool token_bucket_take(struct token_bucket *b, uint64_t tsc_now);

#endif
