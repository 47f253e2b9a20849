/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lib/neigh, packets: what is written is read again, known packets are written
 * byte by byte, and no damaged one is accepted or read beyond its end. Every
 * packet parsed is in memory of exactly its size, so that a sanitizer sees.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "neigh.h"

static const uint8_t mac_a[6] = {2, 0, 0, 0, 0, 0xa};
static const uint8_t mac_b[6] = {2, 0, 0, 0, 0, 0xb};

/* --- ARP ---------------------------------------------------------------------- */

static int
parse_arp(const void *data, size_t size, struct arp *arp)
{
	void *exact = malloc(size);
	int rc;

	assert_true(exact != NULL || size == 0);
	if (size > 0)
		memcpy(exact, data, size);
	rc = arp_parse(exact, size, arp);
	free(exact);
	return rc;
}

static struct arp
arp_request(void)
{
	struct arp arp = {.request = true};

	memcpy(arp.sender_mac, mac_a, 6);
	arp.sender = ip4_addr(0x0a000001);
	arp.target = ip4_addr(0x0a000002);
	return arp;
}

static void
test_arp_bytes(void **state)
{
	/* clang-format off */
	static const uint8_t wanted[ARP_SIZE] = {
		0, 1, 8, 0, 6, 4, 0, 1,
		2, 0, 0, 0, 0, 0xa, 10, 0, 0, 1,
		0, 0, 0, 0, 0, 0, 10, 0, 0, 2,
	};
	/* clang-format on */
	struct arp arp = arp_request();
	uint8_t bytes[ARP_SIZE];

	(void)state;
	arp_write(bytes, &arp);
	assert_memory_equal(bytes, wanted, sizeof(wanted));
	arp.request = false;
	arp_write(bytes, &arp);
	assert_int_equal(bytes[7], 2);
}

static void
test_arp_round_trip(void **state)
{
	uint8_t bytes[ARP_SIZE + 18] = {0};

	(void)state;
	for (int request = 0; request < 2; request++) {
		struct arp in = arp_request(), out;

		in.request = request;
		memcpy(in.target_mac, mac_b, 6);
		arp_write(bytes, &in);
		/* Ethernet pads to 46 bytes. */
		assert_int_equal(parse_arp(bytes, sizeof(bytes), &out), 0);
		assert_int_equal(out.request, request);
		assert_memory_equal(out.sender_mac, mac_a, 6);
		assert_memory_equal(out.target_mac, mac_b, 6);
		assert_true(ip_addr_equal(&out.sender, &in.sender));
		assert_true(ip_addr_equal(&out.target, &in.target));
	}
}

static void
test_arp_truncated(void **state)
{
	struct arp arp = arp_request();
	uint8_t bytes[ARP_SIZE];

	(void)state;
	arp_write(bytes, &arp);
	for (size_t size = 0; size < ARP_SIZE; size++)
		assert_int_equal(parse_arp(bytes, size, &arp), -EINVAL);
	assert_int_equal(parse_arp(bytes, ARP_SIZE, &arp), 0);
}

/* Any bit of the fixed part decides; what follows may be any station. */
static void
test_arp_bit_flips(void **state)
{
	struct arp arp = arp_request();
	uint8_t bytes[ARP_SIZE];

	(void)state;
	arp_write(bytes, &arp);
	for (unsigned bit = 0; bit < ARP_SIZE * 8; bit++) {
		int rc;

		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		rc = parse_arp(bytes, ARP_SIZE, &arp);
		if (bit < 64)
			assert_int_equal(rc, -EINVAL);
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	bytes[7] = 3; /* RARP */
	assert_int_equal(parse_arp(bytes, ARP_SIZE, &arp), -EINVAL);
	bytes[7] = 2;
	assert_int_equal(parse_arp(bytes, ARP_SIZE, &arp), 0);
}

static void
test_arp_addresses(void **state)
{
	static const struct {
		bool request;
		uint32_t sender, target;
		int rc;
	} rows[] = {
		{true, 0x0a000001, 0x0a000001, 0},	  /* announcement (RFC 5227) */
		{true, 0, 0x0a000002, 0},		  /* probe */
		{false, 0, 0x0a000002, -EINVAL},	  /* there is no such answer */
		{true, 0x00000001, 0x0a000002, -EINVAL},  /* 0.0.0.1 */
		{true, 0x7f000001, 0x0a000002, -EINVAL},  /* 127.0.0.1 */
		{true, 0xe0000001, 0x0a000002, -EINVAL},  /* 224.0.0.1 */
		{false, 0xf0000001, 0x0a000002, -EINVAL}, /* 240.0.0.1 */
		{false, 0xffffffff, 0x0a000002, -EINVAL}, /* broadcast */
		{true, 0xdfffffff, 0x0a000002, 0},	  /* 223.255.255.255 */
		{true, 0x0a000001, 0xe0000005, -EINVAL},
		{true, 0x0a000001, 0x7f000001, -EINVAL},
		{false, 0x0a000001, 0, 0},
	};
	static const uint8_t bad_macs[][6] = {
		{0}, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, {0x33, 0x33, 0, 0, 0, 1}};
	struct arp arp;
	uint8_t bytes[ARP_SIZE];

	(void)state;
	for (unsigned i = 0; i < RTE_DIM(rows); i++) {
		arp = arp_request();
		arp.request = rows[i].request;
		arp.sender = ip4_addr(rows[i].sender);
		arp.target = ip4_addr(rows[i].target);
		arp_write(bytes, &arp);
		if (parse_arp(bytes, sizeof(bytes), &arp) != rows[i].rc)
			fail_msg("row %u", i);
	}
	for (unsigned i = 0; i < RTE_DIM(bad_macs); i++) {
		arp = arp_request();
		memcpy(arp.sender_mac, bad_macs[i], 6);
		arp_write(bytes, &arp);
		assert_int_equal(parse_arp(bytes, sizeof(bytes), &arp), -EINVAL);
	}
}

/* --- ND ----------------------------------------------------------------------- */

#define HOP_LIMIT_AT 7
#define SRC_AT	     8
#define DST_AT	     24
#define TYPE_AT	     40
#define CODE_AT	     41
#define SUM_AT	     42
#define FLAGS_AT     44
#define TARGET_AT    48
#define OPTION_AT    64

static int
parse_nd(const void *ip6, size_t size, struct nd *nd)
{
	void *exact = malloc(size);
	int rc;

	assert_true(exact != NULL || size == 0);
	if (size > 0)
		memcpy(exact, ip6, size);
	rc = nd_parse(exact, size, nd);
	free(exact);
	return rc;
}

static struct ip_addr
ip6(const char *text)
{
	struct ip_addr a;

	assert_int_equal(ip_addr_parse(text, AF_INET6, &a), 0);
	return a;
}

/* The checksum, in another way than the library: byte by byte. */
static void
fix_sum(uint8_t *p)
{
	unsigned length = (unsigned)(p[4] << 8 | p[5]);
	uint32_t sum = length + 58;

	p[SUM_AT] = p[SUM_AT + 1] = 0;
	for (unsigned i = SRC_AT; i < 40 + length; i++)
		sum += i % 2 ? p[i] : (uint32_t)p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	p[SUM_AT] = (uint8_t)(~sum >> 8);
	p[SUM_AT + 1] = (uint8_t)~sum;
}

static void
set_size(uint8_t *p, size_t size)
{
	p[4] = 0;
	p[5] = (uint8_t)(size - 40);
}

static size_t
solicitation(uint8_t *p)
{
	struct nd nd = {.type = 135, .has_mac = true, .target = ip6("2001:db8::2")};
	struct ip_addr src = ip6("2001:db8::1"), dst = nd_solicited_node(&nd.target);

	memcpy(nd.mac, mac_a, 6);
	return nd_write(p, &nd, &src, &dst);
}

static size_t
advertisement(uint8_t *p, const char *dst_text, bool solicited)
{
	struct nd nd = {.type = 136, .has_mac = true, .target = ip6("2001:db8::2")};
	struct ip_addr src = ip6("2001:db8::2"), dst = ip6(dst_text);

	nd.solicited = solicited;
	nd.override = true;
	memcpy(nd.mac, mac_b, 6);
	return nd_write(p, &nd, &src, &dst);
}

static void
test_nd_bytes(void **state)
{
	/* clang-format off */
	static const uint8_t wanted[72] = {
		0x60, 0, 0, 0, 0, 32, 58, 255,
		0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
		0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0, 0, 2,
		135, 0, 0x1c, 0x1e, 0, 0, 0, 0,
		0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2,
		1, 1, 2, 0, 0, 0, 0, 0xa,
	};
	/* clang-format on */
	uint8_t p[ND_SIZE_MAX], fixed[ND_SIZE_MAX];

	(void)state;
	assert_int_equal(solicitation(p), sizeof(wanted));
	memcpy(fixed, p, sizeof(fixed));
	fix_sum(fixed);
	assert_memory_equal(p, fixed, sizeof(wanted));
	assert_memory_equal(p, wanted, sizeof(wanted));
}

static void
test_nd_round_trip(void **state)
{
	struct ip_addr src = ip6("fe80::1"), dst = ip6("fe80::2");
	uint8_t p[ND_SIZE_MAX + 10];

	(void)state;
	for (unsigned i = 0; i < 32; i++) {
		struct nd in =
				  {
					  .type = i & 1 ? 136 : 135,
					  .router = i & 2,
					  .solicited = i & 4,
					  .override = i & 8,
					  .has_mac = i & 16,
					  .target = ip6("2001:db8::1234:5678"),
				  },
			  out;
		bool na = in.type == 136;
		size_t size;

		memcpy(in.mac, mac_a, 6);
		size = nd_write(p, &in, &src, &dst);
		assert_int_equal(size, in.has_mac ? 72 : 64);
		/* What follows is not part of the packet. */
		memset(p + size, 0xff, sizeof(p) - size);
		assert_int_equal(parse_nd(p, size + i % 10, &out), 0);
		assert_int_equal(out.type, in.type);
		assert_int_equal(out.router, na && in.router);
		assert_int_equal(out.solicited, na && in.solicited);
		assert_int_equal(out.override, na && in.override);
		assert_int_equal(out.has_mac, in.has_mac);
		if (in.has_mac)
			assert_memory_equal(out.mac, mac_a, 6);
		assert_true(ip_addr_equal(&out.target, &in.target));
	}
}

static void
test_nd_truncated(void **state)
{
	uint8_t p[ND_SIZE_MAX];
	size_t size = solicitation(p);
	struct nd nd;

	(void)state;
	for (size_t n = 0; n < size; n++)
		assert_int_equal(parse_nd(p, n, &nd), -EINVAL);
	/* The same with a payload length that fits, and a right checksum: only
	 * the whole message, with and without its option, is good. */
	for (size_t n = 41; n < size; n++) {
		solicitation(p);
		set_size(p, n);
		if (n > SUM_AT + 1)
			fix_sum(p);
		if (n % 2 == 0) /* fix_sum() pads nothing */
			assert_int_equal(parse_nd(p, n, &nd), n == 64 ? 0 : -EINVAL);
		else
			assert_int_not_equal(parse_nd(p, n, &nd), 0);
	}
}

/* The checksum covers all but version, class, label and hop limit. */
static void
test_nd_bit_flips(void **state)
{
	uint8_t p[ND_SIZE_MAX];
	size_t size = solicitation(p);
	struct nd nd;

	(void)state;
	for (unsigned bit = 0; bit < size * 8; bit++) {
		unsigned byte = bit / 8;
		bool label = byte < 4 && bit != 4 && bit != 5 && bit != 6 && bit != 7;

		p[byte] ^= (uint8_t)(1 << bit % 8);
		if (label)
			assert_int_equal(parse_nd(p, size, &nd), 0);
		else
			assert_int_not_equal(parse_nd(p, size, &nd), 0);
		p[byte] ^= (uint8_t)(1 << bit % 8);
	}
	/* Any two bits and a right checksum, where there is a payload to sum:
	 * whatever the answer, nothing beyond the end is read. */
	for (unsigned i = 0; i < size * 8; i++) {
		for (unsigned j = i + 1; j < size * 8; j++) {
			p[i / 8] ^= (uint8_t)(1 << i % 8);
			p[j / 8] ^= (uint8_t)(1 << j % 8);
			if (p[4] == 0 && p[5] <= size - 40)
				fix_sum(p);
			(void)parse_nd(p, size, &nd);
			solicitation(p);
		}
	}
}

/* One byte changed and the checksum right: RFC 4861 7.1. */
static void
test_nd_rules(void **state)
{
	static const struct {
		bool advertise;
		unsigned at;
		uint8_t value;
		int rc;
	} rows[] = {
		{false, 0, 0x40, -EINVAL},
		{false, 6, 17, -ENOENT},
		{false, HOP_LIMIT_AT, 254, -EINVAL},
		{false, SRC_AT, 0xff, -EINVAL},
		{false, TYPE_AT, 134, -ENOENT},
		{false, TYPE_AT, 128, -ENOENT},
		{false, CODE_AT, 1, -EINVAL},
		{false, FLAGS_AT, 0xff, 0}, /* reserved in an NS */
		{false, TARGET_AT, 0xff, -EINVAL},
		{false, OPTION_AT, 14, 0}, /* a nonce: no MAC then */
		{false, OPTION_AT, 2, 0},
		{false, OPTION_AT + 1, 0, -EINVAL},
		{false, OPTION_AT + 1, 2, -EINVAL},
		{false, OPTION_AT + 1, 255, -EINVAL},
		{false, OPTION_AT + 2, 1, -EINVAL}, /* a group's MAC */
		{true, CODE_AT, 1, -EINVAL},
		{true, HOP_LIMIT_AT, 64, -EINVAL},
		{true, TARGET_AT, 0xff, -EINVAL},
		{true, DST_AT, 0xff, -EINVAL}, /* solicited, to a group */
		{true, OPTION_AT + 1, 0, -EINVAL},
		{true, OPTION_AT, 1, 0},
	};
	uint8_t p[ND_SIZE_MAX];
	struct nd nd;

	(void)state;
	for (unsigned i = 0; i < RTE_DIM(rows); i++) {
		size_t size =
			rows[i].advertise ? advertisement(p, "2001:db8::1", true) : solicitation(p);

		p[rows[i].at] = rows[i].value;
		fix_sum(p);
		if (parse_nd(p, size, &nd) != rows[i].rc)
			fail_msg("row %u", i);
		if (rows[i].at == OPTION_AT)
			assert_false(nd.has_mac);
	}
	memset(p, 0xff, sizeof(p));
	assert_int_equal(parse_nd(p, sizeof(p), &nd), -EINVAL);
}

static void
test_nd_unspecified_source(void **state)
{
	struct nd nd = {.type = 135, .has_mac = true, .target = ip6("fe80::2")};
	struct ip_addr none = ip6("::"), group = nd_solicited_node(&nd.target);
	struct ip_addr all = ip6("ff02::1"), one = ip6("fe80::2");
	uint8_t p[ND_SIZE_MAX];
	struct nd out;
	size_t size;

	(void)state;
	memcpy(nd.mac, mac_a, 6);
	/* Duplicate address detection: the option is left out. */
	size = nd_write(p, &nd, &none, &group);
	assert_int_equal(size, 64);
	assert_int_equal(parse_nd(p, size, &out), 0);
	size = nd_write(p, &nd, &none, &all);
	assert_int_equal(parse_nd(p, size, &out), -EINVAL);
	size = nd_write(p, &nd, &none, &one);
	assert_int_equal(parse_nd(p, size, &out), -EINVAL);
	size = solicitation(p);
	memset(p + SRC_AT, 0, 16);
	fix_sum(p);
	assert_int_equal(parse_nd(p, size, &out), -EINVAL);
	nd.type = 136;
	size = nd_write(p, &nd, &none, &one);
	assert_int_equal(parse_nd(p, size, &out), -EINVAL);
}

static void
test_nd_multicast_advertisement(void **state)
{
	uint8_t p[ND_SIZE_MAX];
	struct nd nd;
	size_t size;

	(void)state;
	size = advertisement(p, "ff02::1", false);
	assert_int_equal(parse_nd(p, size, &nd), 0);
	size = advertisement(p, "ff02::1", true);
	assert_int_equal(parse_nd(p, size, &nd), -EINVAL);
}

/* Others before and after it; of two the first counts. */
static void
test_nd_many_options(void **state)
{
	uint8_t p[40 + 24 + 4 * 8 + 8];
	struct nd nd;

	(void)state;
	memset(p, 0, sizeof(p));
	solicitation(p);
	memset(p + OPTION_AT, 0, sizeof(p) - OPTION_AT);
	p[OPTION_AT] = 14;
	p[OPTION_AT + 1] = 2;
	p[OPTION_AT + 16] = 1;
	p[OPTION_AT + 17] = 1;
	memcpy(p + OPTION_AT + 18, mac_a, 6);
	p[OPTION_AT + 24] = 1;
	p[OPTION_AT + 25] = 1;
	memcpy(p + OPTION_AT + 26, mac_b, 6);
	p[OPTION_AT + 32] = 253;
	p[OPTION_AT + 33] = 1;
	set_size(p, sizeof(p));
	fix_sum(p);
	assert_int_equal(parse_nd(p, sizeof(p), &nd), 0);
	assert_true(nd.has_mac);
	assert_memory_equal(nd.mac, mac_a, 6);
}

static void
test_derived_addresses(void **state)
{
	struct ip_addr a = ip6("2001:db8::1:800:200e:8c6c"), got, wanted;
	static const uint8_t hardware[6] = {0x00, 0x34, 0x56, 0x78, 0x9a, 0xbc};
	static const uint8_t group_mac[6] = {0x33, 0x33, 0xff, 0x0e, 0x8c, 0x6c};
	uint8_t mac[6];

	(void)state;
	got = nd_solicited_node(&a); /* RFC 4291 2.7.1's example */
	wanted = ip6("ff02::1:ff0e:8c6c");
	assert_true(ip_addr_equal(&got, &wanted));
	ip6_multicast_mac(&got, mac);
	assert_memory_equal(mac, group_mac, 6);
	got = ip6_link_local_of(hardware);
	wanted = ip6("fe80::234:56ff:fe78:9abc");
	assert_true(ip_addr_equal(&got, &wanted));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arp_bytes),
		cmocka_unit_test(test_arp_round_trip),
		cmocka_unit_test(test_arp_truncated),
		cmocka_unit_test(test_arp_bit_flips),
		cmocka_unit_test(test_arp_addresses),
		cmocka_unit_test(test_nd_bytes),
		cmocka_unit_test(test_nd_round_trip),
		cmocka_unit_test(test_nd_truncated),
		cmocka_unit_test(test_nd_bit_flips),
		cmocka_unit_test(test_nd_rules),
		cmocka_unit_test(test_nd_unspecified_source),
		cmocka_unit_test(test_nd_multicast_advertisement),
		cmocka_unit_test(test_nd_many_options),
		cmocka_unit_test(test_derived_addresses),
	};

	return cmocka_run_group_tests_name("arp and nd", tests, NULL, NULL);
}
