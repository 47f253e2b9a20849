/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Is an IPv4 header true?
 */
#include "ip.h"

/* len is a multiple of 4: 32-bit words in a 64-bit sum lose no carry. */
static inline uint16_t
header_sum(const uint8_t *h, unsigned len)
{
	uint64_t sum = 0;
	uint32_t word;

	for (unsigned i = 0; i < len; i += 4) {
		memcpy(&word, h + i, 4);
		sum += word;
	}
	return ip_sum_fold(sum);
}

bool
ip4_sum_ok(const uint8_t *h, unsigned header_len)
{
	return header_sum(h, header_len) == 0xffff;
}

void
ip4_sum_set(uint8_t *h, unsigned header_len)
{
	uint16_t checksum;

	memset(h + 10, 0, 2);
	checksum = (uint16_t)~header_sum(h, header_len);
	memcpy(h + 10, &checksum, 2);
}

/*
 * RFC 1812 5.2.2. What the header says about itself comes first: its lengths
 * mean something only once it is known to be an IPv4 header.
 */
int
ip4_check(const uint8_t *h, uint32_t room, uint16_t *len)
{
	unsigned header_len, total_len;

	if (unlikely(room < IP4_HEADER_MIN))
		return DROP_IP4_TRUNCATED;
	header_len = (h[0] & 0x0f) * 4u;
	total_len = ip_get16(h + 2);
	if (unlikely(h[0] >> 4 != 4 || header_len < IP4_HEADER_MIN || total_len < header_len))
		return DROP_IP4_BAD_HEADER;
	/* Covers the header too, which is no longer than the total length. */
	if (unlikely(total_len > room))
		return DROP_IP4_TRUNCATED;
	if (unlikely(
		    !(header_len == IP4_HEADER_MIN ? ip4_sum_ok_20(h) : ip4_sum_ok(h, header_len))))
		return DROP_IP4_CHECKSUM;
	*len = (uint16_t)total_len;
	return 0;
}
