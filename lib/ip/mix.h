/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IP_MIX_H
#define IP_MIX_H

/**
 * @file
 * How flows are hashed; for the files of this library.
 *
 * A 64 by 64 bit multiplication of which both halves are used spreads every
 * bit of its factors; a CRC instruction would be as fast, but is linear: flows
 * that differ in a fixed pattern would differ in a fixed pattern of the hash, and would
 * gather in few of the members of a group.
 */

#include <stdint.h>
#include <string.h>

#include <rte_byteorder.h>

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

/** The 32 bits of a hash. */
static inline uint32_t
mix_end(uint64_t x)
{
	x = mix(x ^ SALT_C, SALT_D);
	return (uint32_t)(x ^ x >> 32);
}

/** Words are taken in network order, so that big-endian and little-endian machines agree. */
static inline uint64_t
word64(const uint8_t *p)
{
	rte_be64_t word;

	memcpy(&word, p, 8);
	return rte_be_to_cpu_64(word);
}

static inline uint32_t
word32(const uint8_t *p)
{
	rte_be32_t word;

	memcpy(&word, p, 4);
	return rte_be_to_cpu_32(word);
}

#endif
