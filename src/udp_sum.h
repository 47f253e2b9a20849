/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UDP_SUM_H
#define UDP_SUM_H

/**
 * @file
 * The UDP checksum of datagrams in one segment (RFC 768, RFC 8200 8.1). Any thread.
 * Sums of words in memory order, as in ip.h.
 */

#include <immintrin.h>

#include "ip.h"

/** Where bytes go that end a datagram: from the end of a vector to its start, by how many they are
 * (1 to 15). A byte of 0x80 makes a zero. */
static const uint8_t udp_sum_tails[32] = {
	0,    1,    2,	  3,	4,    5,    6,	  7,	8,    9,    10,
	11,   12,   13,	  14,	15,   0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
	0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
};

/** Eight words more into four sums of 32 bits: no carry is lost in the 64 KiB of a datagram. */
static inline __m128i
udp_sum_add(__m128i sum, __m128i words)
{
	const __m128i low = _mm_set1_epi32(0xffff);

	return _mm_add_epi32(sum,
			     _mm_add_epi32(_mm_and_si128(words, low), _mm_srli_epi32(words, 16)));
}

static inline uint64_t
udp_sum_all(__m128i sum)
{
	uint64_t low = (uint64_t)_mm_cvtsi128_si64(sum), high = (uint64_t)_mm_extract_epi64(sum, 1);

	return (low & 0xffffffff) + (low >> 32) + (high & 0xffffffff) + (high >> 32);
}

/** Words of n bytes at p, unfolded; 16 bytes in front of p's end can be read: a header lies there.
 */
static inline uint64_t
udp_sum_bytes(const uint8_t *p, unsigned n)
{
	__m128i sum = _mm_setzero_si128();
	const uint8_t *end = p + n;

	for (; n >= 16; n -= 16, p += 16)
		sum = udp_sum_add(sum, _mm_loadu_si128((const __m128i *)p));
	if (n != 0) {
		__m128i order = _mm_loadu_si128((const __m128i *)(udp_sum_tails + 16 - n));
		__m128i tail = _mm_loadu_si128((const __m128i *)(end - 16));

		sum = udp_sum_add(sum, _mm_shuffle_epi8(tail, order));
	}
	return udp_sum_all(sum);
}

/** The sum of an IPv4 header of 20 bytes, folded: 0xffff if it is undamaged. */
static inline uint16_t
udp_sum_header(const uint8_t *h)
{
	uint64_t a, b;
	uint32_t c;

	memcpy(&a, h, 8);
	memcpy(&b, h + 8, 8);
	memcpy(&c, h + 16, 4);
	return ip_sum_fold((a & 0xffffffff) + (a >> 32) + (b & 0xffffffff) + (b >> 32) + c);
}

/** What the IPv4 header at h adds for `size` bytes of UDP. */
static inline uint64_t
udp_pseudo4(const uint8_t *h, uint16_t size)
{
	uint32_t src, dst;

	memcpy(&src, h + 12, 4);
	memcpy(&dst, h + 16, 4);
	return (uint64_t)src + dst + rte_cpu_to_be_16(PROTO_UDP) + rte_cpu_to_be_16(size);
}

/** Zero: the sender made none. */
static inline bool
udp_sum_ok4(const uint8_t *h, const uint8_t *udp, uint16_t size)
{
	return (udp[6] | udp[7]) == 0 ||
	       ip_sum_fold(udp_pseudo4(h, size) + udp_sum_bytes(udp, size)) == 0xffff;
}

/** Zero is wrong: over IPv6 every sender makes one. */
static inline bool
udp_sum_ok6(const uint8_t *h, const uint8_t *udp, uint16_t size)
{
	return (udp[6] | udp[7]) != 0 &&
	       ip_sum_fold(ip6_pseudo_sum(h, size, PROTO_UDP) + udp_sum_bytes(udp, size)) == 0xffff;
}

#endif
