/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RSS against the vectors that Microsoft publishes to verify implementations
 * ("Verifying the RSS Hash Calculation"), which the datasheet repeats; and the
 * redirection table.
 */
#include "test_nic.h"

#include <arpa/inet.h>

#include "rss.h"

static const uint8_t key[RSS_KEY_SIZE] = {
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
	0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
	0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};

static const struct vector {
	int family;
	const char *destination, *source;
	uint16_t destination_port, source_port;
	uint32_t addresses, with_ports;
} vectors[] = {
	{AF_INET, "161.142.100.80", "66.9.149.187", 1766, 2794, 0x323e8fc2, 0x51ccc178},
	{AF_INET, "65.69.140.83", "199.92.111.2", 4739, 14230, 0xd718262a, 0xc626b0ea},
	{AF_INET, "12.22.207.184", "24.19.198.95", 38024, 12898, 0xd2d0a5de, 0x5c2b394a},
	{AF_INET, "209.142.163.6", "38.27.205.30", 2217, 48228, 0x82989176, 0xafc7327f},
	{AF_INET, "202.188.127.2", "153.39.163.191", 1303, 44251, 0x5d1809c5, 0x10e828a2},
	{AF_INET6, "3ffe:2501:200:3::1", "3ffe:2501:200:1fff::7", 1766, 2794, 0x2cc18cd5,
	 0x40207d3d},
	{AF_INET6, "ff02::1", "3ffe:501:8::260:97ff:fe40:efab", 4739, 14230, 0x0f0c461c,
	 0xdde51bbf},
	{AF_INET6, "fe80::200:f8ff:fe21:67cf", "3ffe:1900:4545:3:200:f8ff:fe21:67cf", 38024, 44251,
	 0x4b61e985, 0x02d1feef},
};
#define VECTORS (sizeof(vectors) / sizeof(vectors[0]))

static void
test_published_vectors(void **state)
{
	static struct rss rss;
	uint8_t input[RSS_INPUT_MAX];
	const struct vector *v;
	unsigned size;

	(void)state;
	rss_prepare(&rss, key);
	for (v = vectors; v < vectors + VECTORS; v++) {
		size = v->family == AF_INET ? 4 : 16;
		assert_int_equal(inet_pton(v->family, v->source, input), 1);
		assert_int_equal(inet_pton(v->family, v->destination, input + size), 1);
		store16_be(input + 2 * size, v->source_port);
		store16_be(input + 2 * size + 2, v->destination_port);
		assert_int_equal(rss_toeplitz(&rss, input, 2 * size), v->addresses);
		assert_int_equal(rss_toeplitz(&rss, input, 2 * size + 4), v->with_ports);
	}
}

/** The frame of a vector: TCP or UDP. */
static unsigned
make_frame(uint8_t *bytes, const struct vector *v, uint8_t protocol)
{
	uint8_t *ip, *l4;
	unsigned l3;

	memset(bytes, 0, 128);
	l3 = make_ethernet(bytes, 0, v->family == AF_INET ? 0x0800 : 0x86dd);
	ip = bytes + l3;
	if (v->family == AF_INET) {
		ip[0] = 0x45;
		store16_be(ip + 2, 40);
		ip[9] = protocol;
		assert_int_equal(inet_pton(AF_INET, v->source, ip + 12), 1);
		assert_int_equal(inet_pton(AF_INET, v->destination, ip + 16), 1);
		l4 = ip + 20;
	} else {
		ip[0] = 0x60;
		store16_be(ip + 4, 20);
		ip[6] = protocol;
		assert_int_equal(inet_pton(AF_INET6, v->source, ip + 8), 1);
		assert_int_equal(inet_pton(AF_INET6, v->destination, ip + 24), 1);
		l4 = ip + 40;
	}
	store16_be(l4, v->source_port);
	store16_be(l4 + 2, v->destination_port);
	return (unsigned)(l4 - bytes) + 20;
}

static enum rss_type
hash_frame(struct nic *nic, const struct vector *v, uint8_t protocol, uint32_t *hash)
{
	uint8_t bytes[128];
	struct frame frame;

	frame_parse(&frame, bytes, make_frame(bytes, v, protocol));
	return rss_hash(nic, &frame, hash);
}

static void
write_key(struct nic *nic)
{
	unsigned i;

	for (i = 0; i < 10; i++)
		nic_write(nic, R_RSSRK(i), load32(key + 4 * i));
}

static void
test_mrqc_chooses_fields(void **state)
{
	struct nic *nic = *state;
	const uint32_t all = MRQC_TCP4 | MRQC_IPV4 | MRQC_IPV6 | MRQC_TCP6 | MRQC_UDP4 | MRQC_UDP6;
	const struct vector *v;
	uint32_t hash;

	write_key(nic);
	for (v = vectors; v < vectors + VECTORS; v++) {
		bool four = v->family == AF_INET;

		nic_write(nic, R_MRQC, MRQC_RSS | all);
		assert_int_equal(hash_frame(nic, v, 6, &hash), four ? RSS_TCP4 : RSS_TCP6);
		assert_int_equal(hash, v->with_ports);
		assert_int_equal(hash_frame(nic, v, 17, &hash), four ? RSS_UDP4 : RSS_UDP6);
		assert_int_equal(hash, v->with_ports);
		/* SCTP's ports are never looked at. */
		assert_int_equal(hash_frame(nic, v, 132, &hash), four ? RSS_IPV4 : RSS_IPV6);
		assert_int_equal(hash, v->addresses);

		nic_write(nic, R_MRQC, MRQC_RSS | MRQC_IPV4 | MRQC_IPV6);
		assert_int_equal(hash_frame(nic, v, 6, &hash), four ? RSS_IPV4 : RSS_IPV6);
		assert_int_equal(hash, v->addresses);

		nic_write(nic, R_MRQC, all);
		assert_int_equal(hash_frame(nic, v, 6, &hash), RSS_NONE);
		assert_int_equal(hash, 0);
	}
}

/** IPv4 in IPv6, as SRv6 sends it: whatever is inside, one pair of outer addresses is one hash. */
static void
test_tunnel_hashes_outer_addresses(void **state)
{
	struct nic *nic = *state;
	const struct vector *v = &vectors[5];
	uint8_t bytes[128];
	struct frame frame;
	uint32_t hash;
	unsigned inner;

	write_key(nic);
	nic_write(nic, R_MRQC, MRQC_RSS | MRQC_IPV6 | MRQC_UDP6 | MRQC_TCP6);
	for (inner = 0; inner < 16; inner++) {
		unsigned length = make_frame(bytes, v, 4);

		bytes[54] = 0x45;
		bytes[54 + 15] = (uint8_t)inner;
		frame_parse(&frame, bytes, length);
		assert_int_equal(rss_hash(nic, &frame, &hash), RSS_IPV6);
		assert_int_equal(hash, v->addresses);
	}
}

static void
test_new_key_is_used(void **state)
{
	struct nic *nic = *state;
	uint32_t before, after;

	nic_write(nic, R_MRQC, MRQC_RSS | MRQC_IPV4);
	write_key(nic);
	hash_frame(nic, &vectors[0], 17, &before);
	nic_write(nic, R_RSSRK(0), ~load32(key));
	hash_frame(nic, &vectors[0], 17, &after);
	assert_int_not_equal(before, after);
}

static void
test_redirection_table(void **state)
{
	struct nic *nic = *state;
	unsigned i;

	/* Entry i is byte i of the table; an entry has four bits. */
	for (i = 0; i < 32; i++)
		nic_write(nic, R_RETA(i),
			  (4 * i + 0) % 128 | (4 * i + 1) % 128 << 8 | (4 * i + 2) % 128 << 16 |
				  (4 * i + 3) % 128 << 24);
	for (i = 0; i < 512; i++) {
		assert_int_equal(rss_queue(nic, i), i % 16);
		assert_int_equal(rss_queue(nic, i | 0xabcde000), i % 16);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_published_vectors),
		cmocka_unit_test_setup_teardown(test_mrqc_chooses_fields, setup_nic, teardown_nic),
		cmocka_unit_test_setup_teardown(test_tunnel_hashes_outer_addresses, setup_nic,
						teardown_nic),
		cmocka_unit_test_setup_teardown(test_new_key_is_used, setup_nic, teardown_nic),
		cmocka_unit_test_setup_teardown(test_redirection_table, setup_nic, teardown_nic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
