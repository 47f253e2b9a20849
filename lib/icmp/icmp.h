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
 * starting at the IP header, headroom left in front. They belong to the
 * caller; packets handed in stay the caller's. Any thread; nothing is shared.
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "base.h"

/** Bytes before the data of an echo message, and before the packet an error quotes. */
#define ICMP_HEADER 8

/** The largest errors: all of the datagram (RFC 1812 4.3.2.3, RFC 4443 2.4(c)). */
#define ICMP4_ERROR_MAX 576
#define ICMP6_ERROR_MAX 1280

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
	ICMP6_REDIRECT = 137,

	ICMP6_UNREACHABLE_NO_ROUTE = 0,
	ICMP6_UNREACHABLE_PROHIBITED = 1,
	ICMP6_UNREACHABLE_ADDRESS = 3,
	ICMP6_UNREACHABLE_PORT = 4,

	ICMP6_PARAMETER_HEADER = 0,
	ICMP6_PARAMETER_NEXT_HEADER = 1,
	ICMP6_PARAMETER_OPTION = 2,
	ICMP6_PARAMETER_INCOMPLETE = 3, /**< RFC 7112 5: first fragment without all headers */
	ICMP6_PARAMETER_SR_UPPER = 4,	/**< RFC 8986 4.1.1 */
};

/** An error to be sent. */
struct icmp_error {
	uint8_t type;
	uint8_t code;
	uint32_t value; /**< next-hop MTU, or pointer (bytes into the packet), else 0 */
};

/**
 * May an ICMP error be sent about this packet at all? Not about ICMP errors
 * (nor ICMPv6 redirects), multicast or broadcast destinations (IPv6: except
 * too big and parameter problem code 2), or sources that name no single host
 * (RFC 1812 4.3.2.7, RFC 4443 2.4(e)). IPv4: not about fragments but the
 * first. About those of IPv6 errors are sent: RFC 4443 has no such rule, and
 * demands too big for every packet. Where it cannot be seen what a packet is
 * (ICMP cut short, headers of more than 512 bytes before it), the answer is
 * no. The caller answers for link-layer broadcast and subnet broadcasts.
 */
bool icmp4_error_allowed(const struct rte_mbuf *packet, uint16_t l3, uint16_t len);
bool icmp6_error_allowed(const struct rte_mbuf *packet, uint16_t l3, uint16_t len,
			 const struct icmp_error *error);

/**
 * Build the error from source `src` to the packet's source, quoting as much as
 * fits in ICMP4_ERROR_MAX or ICMP6_ERROR_MAX bytes (less if a buffer of the
 * pool holds less). The quoted packet is as it is in the buffer, and ends
 * where its len ends. TTL/hop limit 64, precedence 6 (IPv4, RFC 1812 4.3.2.5).
 * NULL: no buffer.
 */
struct rte_mbuf *icmp4_error(struct rte_mempool *pool, const struct rte_mbuf *packet, uint16_t l3,
			     uint16_t len, const struct icmp_error *error,
			     const struct ip_addr *src);
struct rte_mbuf *icmp6_error(struct rte_mempool *pool, const struct rte_mbuf *packet, uint16_t l3,
			     uint16_t len, const struct icmp_error *error,
			     const struct ip_addr *src);

/**
 * Turn an echo request for `own` into its reply, in place (the buffers must be
 * the caller's to write): addresses swapped
 * (the reply's source is `own`), type, TTL 64, checksums. Type of service,
 * identification, DF and options stay as the sender chose them; bytes
 * beyond len are cut off.
 *
 * @param upper  bytes from the IP header to the ICMP header
 * @param len    as received: all segments count for the checksum
 * @return 0; -EBADMSG: wrong checksum, cut short, a fragment, or options that are
 *         malformed or ask for a source route; -ENOENT: not an echo request.
 *         After an error the packet is as it was.
 */
int icmp4_echo_reply(struct rte_mbuf *packet, uint16_t l3, uint16_t len, uint16_t upper,
		     const struct ip_addr *own);

/**
 * The same for IPv6. Extension headers between the IPv6 header and upper are
 * removed (a routing header must not be reversed unasked, RFC 8200 8.4), so
 * that the reply is IPv6 + ICMPv6: the data start moves towards it, what is in front
 * of the IPv6 header moves along, l3 is still right and *len is updated.
 * Also -ENOBUFS: extension headers beyond the first segment, and no room to
 * do this.
 */
int icmp6_echo_reply(struct rte_mbuf *packet, uint16_t l3, uint16_t *len, uint16_t upper,
		     const struct ip_addr *own);

/**
 * An echo request of `size` data bytes; family from dst. TTL/hop limit 64. IPv4
 * leaves DF clear, for sizes beyond the MTU are what people try. Of several
 * segments if need be. NULL: no buffer, or more than an IP packet holds.
 */
struct rte_mbuf *icmp_echo_request(struct rte_mempool *pool, const struct ip_addr *src,
				   const struct ip_addr *dst, uint16_t ident, uint16_t sequence,
				   uint16_t size);

/** What arrived, for `ping`: an echo reply, or an error quoting an echo request of ours. */
struct icmp_answer {
	uint8_t type, code;
	uint16_t ident, sequence; /**< host order */
	struct ip_addr from;
	uint8_t ttl;
	uint16_t size; /**< ICMP data bytes of a reply; 0 for an error */
};

/**
 * Read an ICMP (family AF_INET) or ICMPv6 message that starts upper bytes
 * behind the IP header. An error counts only if it quotes, right behind a
 * plain IP header, an echo request that has the error's destination as its
 * source.
 *
 * @return 0 and *answer; -EBADMSG: wrong checksum or malformed; -ENOENT:
 *         something else
 */
int icmp_answer_parse(const struct rte_mbuf *packet, uint16_t l3, uint16_t len, uint16_t upper,
		      uint8_t family, struct icmp_answer *answer);

/**
 * Checksum over len bytes of a packet's data from offset on, in all segments
 * (RFC 1071): the raw 16-bit sum, not complemented, network-order words (what
 * memcpy stores). A range that is correct with its checksum sums up to 0xffff. Bytes
 * beyond the packet's end count as zero.
 */
uint16_t packet_sum(const struct rte_mbuf *packet, uint32_t offset, uint32_t len);

/**
 * A token bucket: errors are rate-limited (RFC 1812 4.3.2.8, RFC 4443 2.4(f)).
 * Owned by one thread.
 */
struct token_bucket {
	uint64_t interval; /**< TSC cycles a token */
	uint64_t last;	   /**< TSC when tokens was brought up to date */
	uint32_t tokens;
	uint32_t burst;
};

/** A full bucket. per_second 0, or burst 0: nothing is ever given. */
void token_bucket_init(struct token_bucket *b, uint64_t tsc_hz, uint32_t per_second,
		       uint32_t burst);

/** Take one; false: none left. tsc_now may stand still or fall behind: no time passed then. */
bool token_bucket_take(struct token_bucket *b, uint64_t tsc_now);

#endif
