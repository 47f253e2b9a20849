/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sums and CRCs against implementations that share nothing with the model's:
 * RFC 1071 modulo 65535, polynomial division bit by bit, and published values.
 */
#include "test_nic.h"

#include "checksum.h"

static uint8_t bytes[1500];

static void
fill(uint32_t seed)
{
	unsigned i;

	for (i = 0; i < sizeof(bytes); i++) {
		seed = seed * 1664525 + 1013904223;
		bytes[i] = (uint8_t)(seed >> 24);
	}
}

static void
test_sum_agrees(void **state)
{
	uint8_t stored[2];
	uint16_t sum;
	uint32_t length;

	(void)state;
	for (length = 0; length <= sizeof(bytes); length += 7) {
		fill(length);
		sum = (uint16_t)~checksum_fold(checksum_add(0, bytes, length));
		memcpy(stored, &sum, 2);
		assert_int_equal(load16_be(stored), slow_checksum(bytes, length, 0));
	}
}

static void
test_sum_in_pieces(void **state)
{
	uint32_t whole, pieces;

	(void)state;
	fill(1);
	whole = checksum_fold(checksum_add(0, bytes, 1000));
	pieces = checksum_add(checksum_add(0, bytes, 600), bytes + 600, 400);
	assert_int_equal(checksum_fold(pieces), whole);
}

/** A header that is printed in many places: 4500 0073 0000 4000 4011 b861 c0a8 0001 c0a8 00c7. */
static void
test_known_ipv4_header(void **state)
{
	static const uint8_t header[20] = {0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40,
					   0x00, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8,
					   0x00, 0x01, 0xc0, 0xa8, 0x00, 0xc7};

	(void)state;
	assert_int_equal(checksum_fold(checksum_add(0, header, 20)), 0xffff);
}

/** Polynomial division from the highest bit on, input and result mirrored. */
static uint32_t
slow_crc(uint32_t polynomial, const uint8_t *data, uint32_t length)
{
	uint32_t value = UINT32_MAX, mirrored = 0, i, bit;

	for (i = 0; i < length; i++)
		for (bit = 0; bit < 8; bit++) {
			uint32_t top = value >> 31 ^ (data[i] >> bit & 1);

			value = value << 1 ^ (top != 0 ? polynomial : 0);
		}
	for (i = 0; i < 32; i++)
		if ((value & 1u << i) != 0)
			mirrored |= 0x80000000u >> i;
	return ~mirrored;
}

static void
test_crc_agrees(void **state)
{
	uint32_t length;

	(void)state;
	for (length = 0; length < 200; length++) {
		fill(length);
		assert_int_equal(crc32_ethernet(bytes, length),
				 slow_crc(0x04c11db7, bytes, length));
		assert_int_equal(crc32_castagnoli(bytes, length),
				 slow_crc(0x1edc6f41, bytes, length));
	}
}

/** The check values of both in catalogues of CRCs. */
static void
test_crc_check_values(void **state)
{
	(void)state;
	assert_int_equal(crc32_ethernet("123456789", 9), 0xcbf43926);
	assert_int_equal(crc32_castagnoli("123456789", 9), 0xe3069283);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sum_agrees),	  cmocka_unit_test(test_sum_in_pieces),
		cmocka_unit_test(test_known_ipv4_header), cmocka_unit_test(test_crc_agrees),
		cmocka_unit_test(test_crc_check_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
