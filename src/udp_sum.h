/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UDP_SUM_H
#define UDP_SUM_H

/**
 * @file
 * The UDP checksum of datagrams in one segment (RFC 768, RFC 8200 8.1). Any thread.
 * Sums of words in memory order, as in ip.h.
 */

#include "ip.h"

/** Words of n bytes at p, unfolded; 32 bits at a time into 64: no carry is lost below 16 GiB. */
static inline uint64_t
udp_sum_bytes(const uint8_t *p, unsigned n)
{
	uint64_t sum = 0, word;
	uint32_t half;
	uint16_t quarter;

	for (; n >= 8; n -= 8, p += 8) {
		memcpy(&word, p, 8);
		sum += (word & 0xffffffff) + (word >> 32);
	}
	if (n & 4) {
		memcpy(&half, p, 4);
		sum += half;
		p += 4;
	}
	if (n & 2) {
		memcpy(&quarter, p, 2);
		sum += quarter;
		p += 2;
	}
	return n & 1 ? sum + *p : sum; /* padded with a zero byte behind it */
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
