/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checksums of UDP and of IPv4 headers, against their definition: words of 16 bits in
 * network order, one after the other. Each datagram ends where its memory ends.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test_random.h"
#include "udp_sum.h"

#define LARGEST 1500u

/* RFC 1071 1, over a run of bytes that begins at an even place. */
static uint32_t
model_add(uint32_t sum, const uint8_t *p, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		sum += i % 2 == 0 ? (uint32_t)p[i] << 8 : p[i];
	while (sum > 0xffff)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* RFC 768, RFC 8200 8.1: what the checksum must be, addresses and datagram as they lie. */
static uint16_t
model(const uint8_t *addresses, unsigned n, const uint8_t *udp, uint16_t size)
{
	uint8_t zeroed[LARGEST], more[4] = {0, PROTO_UDP, (uint8_t)(size >> 8), (uint8_t)size};
	uint32_t sum = model_add(model_add(0, addresses, n), more, sizeof(more));
	uint16_t made;

	memcpy(zeroed, udp, size);
	zeroed[6] = zeroed[7] = 0;
	made = (uint16_t)~model_add(sum, zeroed, size);
	return made == 0 ? 0xffff : made;
}

static void
set_sum(uint8_t *udp, uint16_t sum)
{
	udp[6] = (uint8_t)(sum >> 8);
	udp[7] = (uint8_t)sum;
}

static bool
good(const uint8_t *h, bool six, uint16_t size)
{
	return six ? udp_sum_good6(h, size) : udp_sum_good4(h, size);
}

static void
fill(uint8_t *p, unsigned n, unsigned kind)
{
	for (unsigned i = 0; i < n; i++)
		p[i] = kind == 0 ? 0 : kind == 1 ? 0xff : (uint8_t)random32();
}

/* A datagram of `size` bytes: good with its checksum, and with no other. */
static void
one_datagram(bool six, uint16_t size, unsigned kind)
{
	unsigned header = six ? 40 : 20, addresses = six ? 8 : 12;
	uint8_t *h = malloc(header + size), *udp = h + header;
	unsigned byte, bit = 1u << random_below(8);
	uint16_t sum;

	fill(h, header + size, kind);
	sum = model(h + addresses, header - addresses, udp, size);
	set_sum(udp, sum);
	assert_true(good(h, six, size));
	/* A sum of all ones stands for zero, and for itself. */
	set_sum(udp, (uint16_t)(sum + 1));
	assert_int_equal(good(h, six, size), !six && sum == 0xffff);
	set_sum(udp, sum);
	byte = random_below(size);
	udp[byte] ^= (uint8_t)bit;
	if ((udp[6] | udp[7]) != 0)
		assert_false(good(h, six, size));
	udp[byte] ^= (uint8_t)bit;
	byte = addresses + random_below(header - addresses);
	h[byte] ^= (uint8_t)bit;
	assert_false(good(h, six, size));
	free(h);
}

static void
datagrams(void **state)
{
	(void)state;
	for (unsigned size = 8; size <= LARGEST; size++) {
		for (unsigned kind = 0; kind < 6; kind++) {
			one_datagram(false, (uint16_t)size, kind);
			one_datagram(true, (uint16_t)size, kind);
		}
	}
}

/* RFC 768: over IPv4 a sender may leave it out; RFC 8200 8.1: over IPv6 not. */
static void
none(void **state)
{
	uint8_t h[60] = {0x45};

	(void)state;
	memset(h + 20, 7, 40);
	h[26] = h[27] = 0;
	assert_true(udp_sum_good4(h, 40));
	h[46] = h[47] = 0;
	assert_false(udp_sum_good6(h, 20));
}

static void
headers(void **state)
{
	uint8_t h[20];

	(void)state;
	for (unsigned round = 0; round < 100000; round++) {
		uint16_t sum;

		fill(h, sizeof(h), 2);
		h[0] = 0x45;
		h[10] = h[11] = 0;
		sum = (uint16_t)~model_add(0, h, sizeof(h));
		h[10] = (uint8_t)(sum >> 8);
		h[11] = (uint8_t)sum;
		assert_true(ip4_sum_ok_20(h));
		h[1 + random_below(19)] ^= (uint8_t)(1u << random_below(8));
		assert_false(ip4_sum_ok_20(h));
	}
}

/* The sum in parts, as chains are read. */
static void
bytes(void **state)
{
	uint8_t run[16 + LARGEST];

	(void)state;
	for (unsigned n = 0; n <= LARGEST; n++) {
		fill(run, 16 + n, 2);
		assert_int_equal(rte_be_to_cpu_16(ip_sum_fold(udp_sum_bytes(run + 16, n))),
				 model_add(0, run + 16, n));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(datagrams),
		cmocka_unit_test(none),
		cmocka_unit_test(headers),
		cmocka_unit_test(bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
