/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Which flow a packet belongs to, as a number.
 *
 * A 64 by 64 bit multiplication of which both halves are used spreads every
 * bit of its factors; a CRC instruction would be as fast, but is linear: flows
 * that differ in a fixed pattern would differ in a fixed pattern of the hash, and would
 * gather in few of the members of a group.
 */
#include "ip.h"

/* Numbers without a pattern (fractions of square roots of primes): a factor of zero would hide
 * the other, and no addresses in use are equal to these. */
#define SALT_A UINT64_C(0x6a09e667f3bcc909)
#define SALT_B UINT64_C(0xbb67ae8584caa73b)
#define SALT_C UINT64_C(0x3c6ef372fe94f82b)
#define SALT_D UINT64_C(0xa54ff53a5f1d36f1)

__extension__ typedef unsigned __int128 uint128;

static inline uint64_t
mix(uint64_t a, uint64_t b)
{
	uint128 product = (uint128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint32_t
finish(uint64_t x)
{
	x = mix(x ^ SALT_C, SALT_D);
	return (uint32_t)(x ^ x >> 32);
}

/* 32 bits of ports, 8 of protocol. Words are taken in network order, so that big-endian
 * and little-endian machines agree. */
static inline uint64_t
upper_layer(const uint8_t *h, uint32_t offset, uint32_t contiguous, uint8_t proto, bool whole)
{
	rte_be32_t ports = 0;

	if ((proto == PROTO_TCP || proto == PROTO_UDP || proto == PROTO_SCTP) && whole &&
	    offset + 4 <= contiguous)
		memcpy(&ports, h + offset, 4);
	return (uint64_t)proto << 32 | rte_be_to_cpu_32(ports);
}

static inline uint64_t
word64(const uint8_t *p)
{
	rte_be64_t word;

	memcpy(&word, p, 8);
	return rte_be_to_cpu_64(word);
}

/* No fragment of a datagram is hashed by its ports, not even the first, which has them: all go
 * the same way. */
uint32_t
ip4_flow_hash(const uint8_t *h, uint16_t contiguous)
{
	bool whole;
	uint64_t upper;

	if (unlikely(contiguous < IP4_HEADER_MIN))
		return 0;
	whole = (ip_get16(h + 6) & (IP4_MORE_FRAGMENTS | IP4_OFFSET_MASK)) == 0;
	upper = upper_layer(h, (h[0] & 0x0f) * 4u, contiguous, h[9], whole);
	return finish(mix(word64(h + 12) ^ SALT_A, upper ^ SALT_B));
}

/* RFC 6438 3. A sender that leaves the label zero adds nothing to the hash, one that uses a single
 * label for everything harms nothing, as ports count too. */
uint32_t
ip6_flow_hash(const uint8_t *h, uint16_t contiguous)
{
	uint64_t label, upper;

	if (unlikely(contiguous < IP6_HEADER))
		return 0;
	label = (uint64_t)(h[1] & 0x0f) << 16 | ip_get16(h + 2);
	upper = upper_layer(h, IP6_HEADER, contiguous, h[6], true) | label << 40;
	return finish(mix(word64(h + 8) ^ SALT_A, word64(h + 16) ^ SALT_B) ^
		      mix(word64(h + 24) ^ SALT_C, word64(h + 32) ^ SALT_D) ^
		      mix(upper ^ SALT_B, SALT_C));
}
