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

/** What the IPv4 header at h adds for `size` bytes of UDP. */
static inline uint64_t
udp_pseudo4(const uint8_t *h, uint16_t size)
{
	uint32_t src, dst;

	memcpy(&src, h + 12, 4);
	memcpy(&dst, h + 16, 4);
	return (uint64_t)src + dst + rte_cpu_to_be_16(PROTO_UDP) + rte_cpu_to_be_16(size);
}

/* 32 bytes more, in pairs: their additions do not wait for each other. */
static inline uint64_t
udp_sum_32(const uint8_t *p, uint64_t sum)
{
	uint64_t a, b, c, d;

	memcpy(&a, p, 8);
	memcpy(&b, p + 8, 8);
	memcpy(&c, p + 16, 8);
	memcpy(&d, p + 24, 8);
	return ip_sum_carry(sum, ip_sum_carry(ip_sum_carry(a, b), ip_sum_carry(c, d)));
}

/** As udp_sum_bytes(), for ip_sum_is_good(). At least 8 bytes. Vectors take longer: to add their
 * parts up at the end is most of the work for a small datagram. */
static inline uint64_t
udp_sum_run(const uint8_t *p, unsigned n, uint64_t sum)
{
	uint64_t words;

	for (; n >= 32; n -= 32, p += 32)
		sum = udp_sum_32(p, sum);
	for (; n >= 8; n -= 8, p += 8) {
		memcpy(&words, p, 8);
		sum = ip_sum_carry(sum, words);
	}
	if (n != 0) {
		memcpy(&words, p + n - 8, 8);
		sum = ip_sum_carry(sum, words >> (64 - 8 * n));
	}
	return sum;
}

/** A datagram of `size` bytes right behind an IPv4 header of 20 bytes: the addresses are in front
 * of it. A checksum of zero: the sender made none. */
static inline bool
udp_sum_good4(const uint8_t *h, uint16_t size)
{
	const uint8_t *udp = h + 20;

	return (udp[6] | udp[7]) == 0 ||
	       ip_sum_is_good(
		       udp_sum_run(h + 12, size + 8u,
				   (uint64_t)rte_cpu_to_be_16(PROTO_UDP) + rte_cpu_to_be_16(size)));
}

/** Right behind an IPv6 header. Zero is wrong: over IPv6 every sender makes one. */
static inline bool
udp_sum_good6(const uint8_t *h, uint16_t size)
{
	const uint8_t *udp = h + 40;

	return (udp[6] | udp[7]) != 0 &&
	       ip_sum_is_good(
		       udp_sum_run(h + 8, size + 32u,
				   (uint64_t)rte_cpu_to_be_16(PROTO_UDP) + rte_cpu_to_be_16(size)));
}

#endif
