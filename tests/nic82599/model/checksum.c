/* SPDX-License-Identifier: BSD-3-Clause */
#include "checksum.h"

#include <string.h>

uint32_t
checksum_add(uint32_t sum, const void *data, uint32_t length)
{
	const uint8_t *bytes = data;
	uint16_t word;

	for (; length > 1; length -= 2, bytes += 2) {
		memcpy(&word, bytes, 2);
		sum += word;
	}
	return length != 0 ? sum + *bytes : sum;
}

uint16_t
checksum_fold(uint32_t sum)
{
	while (sum >> 16 != 0)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

struct crc_table {
	uint32_t of[256];
};

static struct crc_table ethernet, castagnoli;

static void
build(struct crc_table *table, uint32_t reversed_polynomial)
{
	uint32_t i, bit, value;

	for (i = 0; i < 256; i++) {
		value = i;
		for (bit = 0; bit < 8; bit++)
			value = value >> 1 ^ ((value & 1) != 0 ? reversed_polynomial : 0);
		table->of[i] = value;
	}
}

__attribute__((constructor)) static void
build_tables(void)
{
	build(&ethernet, 0xedb88320);
	build(&castagnoli, 0x82f63b78);
}

static uint32_t
crc(const struct crc_table *table, const uint8_t *bytes, uint32_t length)
{
	uint32_t value = UINT32_MAX;

	for (; length > 0; length--)
		value = table->of[(value ^ *bytes++) & 0xff] ^ value >> 8;
	return ~value;
}

uint32_t
crc32_ethernet(const void *data, uint32_t length)
{
	return crc(&ethernet, data, length);
}

uint32_t
crc32_castagnoli(const void *data, uint32_t length)
{
	return crc(&castagnoli, data, length);
}
