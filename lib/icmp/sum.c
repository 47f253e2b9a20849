/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Checksum of packets of several segments.
 *
 * Not rte_raw_cksum_mbuf(): behind a segment of odd length it swaps the bytes
 * of a sum it has cut to 16 bits before folding, and loses the carries.
 */
#include "icmp.h"
#include "ip.h"

/* Unfolded: len is a segment's, far from what would overflow 64 bits. */
static uint64_t
sum_bytes(const uint8_t *p, uint32_t len)
{
	uint64_t sum = 0, word;

	for (; len >= 8; len -= 8, p += 8) {
		memcpy(&word, p, 8);
		sum += (word & 0xffffffff) + (word >> 32);
	}
	word = 0;
	memcpy(&word, p, len);
	return sum + (word & 0xffffffff) + (word >> 32);
}

/* RFC 1071. A part that starts at an odd place is summed from there, and its sum's bytes are
 * swapped (2(B)). */
uint16_t
packet_sum(const struct rte_mbuf *packet, uint32_t offset, uint32_t len)
{
	const struct rte_mbuf *s = packet;
	bool odd = false;
	uint64_t sum = 0;

	for (; s != NULL && offset >= s->data_len; s = s->next)
		offset -= s->data_len;
	for (; s != NULL && len > 0; s = s->next) {
		uint32_t n = RTE_MIN(len, s->data_len - offset);
		uint64_t part = sum_bytes(rte_pktmbuf_mtod_offset(s, const uint8_t *, offset), n);

		sum += odd ? rte_bswap16(ip_sum_fold(part)) : part;
		odd ^= n & 1;
		len -= n;
		offset = 0;
	}
	return ip_sum_fold(sum);
}
