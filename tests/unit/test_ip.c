/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What lib/ip says about headers is true, is what a plain reading of the RFCs
 * says, and reads no byte too many: packets are cut at every length into heap
 * blocks of exactly that size, for the address sanitizer to watch.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "ip.h"
#include "test_random.h"

static void
random_fill(uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)random32();
}

/* A copy with nothing readable behind it. */
static uint8_t *
exact(const uint8_t *from, size_t n)
{
	uint8_t *p = malloc(n);

	assert_true(p != NULL || n == 0);
	if (n > 0)
		memcpy(p, from, n);
	return p;
}

/* RFC 1071 1, a byte pair at a time, the carry brought round each time. */
static uint16_t
plain_sum(const uint8_t *p, size_t n)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < n; i += 2) {
		sum += (uint32_t)p[i] << 8 | (i + 1 < n ? p[i + 1] : 0);
		if (sum > 0xffff)
			sum -= 0xffff;
	}
	return (uint16_t)sum;
}

/* A valid header of random content. */
static void
random_header4(uint8_t *h, unsigned header_len, unsigned total_len)
{
	random_fill(h, header_len);
	h[0] = (uint8_t)(0x40 | header_len / 4);
	ip_put16(h + 2, (uint16_t)total_len);
	ip_put16(h + 10, 0);
	ip_put16(h + 10, (uint16_t)~plain_sum(h, header_len));
}

static void
fold_adds_up_as_rfc1071_says(void **state)
{
	/* RFC 1071 3: 0001 f203 f4f5 f6f7 makes ddf2. */
	const uint8_t bytes[] = {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};
	uint64_t sum = 0;

	(void)state;
	for (unsigned i = 0; i < sizeof(bytes); i += 2)
		sum += ip_get16(bytes + i);
	assert_int_equal(sum, 0x2ddf0);
	assert_int_equal(ip_sum_fold(sum), 0xddf2);
	assert_int_equal(ip_sum_fold(0), 0);
	assert_int_equal(ip_sum_fold(0xffff), 0xffff);
	assert_int_equal(ip_sum_fold(0x10000), 1);
	assert_int_equal(ip_sum_fold(UINT64_MAX), 0xffff);
	assert_int_equal(ip_sum_fold(UINT64_MAX - 1), 0xfffe);
	assert_int_equal(ip_sum_fold(UINT64_C(0xfffffffe00000001)), 0xffff);
	for (unsigned i = 0; i < 100000; i++) {
		uint64_t wide = (uint64_t)random32() << 32 | random32();
		uint64_t rest = wide % 0xffff;

		/* Ones' complement addition is arithmetic modulo 0xffff. */
		assert_int_equal(ip_sum_fold(wide), rest == 0 && wide != 0 ? 0xffff : rest);
	}
}

static void
known_header_has_its_checksum(void **state)
{
	uint8_t h[20] = {0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11,
			 0xb8, 0x61, 0xc0, 0xa8, 0x00, 0x01, 0xc0, 0xa8, 0x00, 0xc7};
	uint16_t len = 0;

	(void)state;
	assert_true(ip4_sum_ok(h, 20));
	assert_true(ip4_sum_ok_20(h));
	assert_int_equal(ip4_check(h, 0x73, &len), 0);
	assert_int_equal(len, 0x73);
	h[10] = h[11] = 0xaa;
	assert_false(ip4_sum_ok(h, 20));
	assert_false(ip4_sum_ok_20(h));
	ip4_sum_set(h, 20);
	assert_int_equal(ip_get16(h + 10), 0xb861);
}

static void
sums_of_random_headers(void **state)
{
	uint8_t h[60];

	(void)state;
	for (unsigned i = 0; i < 50000; i++) {
		unsigned header_len = 20 + 4 * random_below(11);

		random_header4(h, header_len, 1000);
		assert_true(ip4_sum_ok(h, header_len));
		ip4_sum_set(h, header_len);
		assert_int_equal(plain_sum(h, header_len), 0xffff);
		if (header_len == 20)
			assert_true(ip4_sum_ok_20(h));
		h[random_below(header_len)] ^= (uint8_t)(1u << random_below(8));
		assert_false(ip4_sum_ok(h, header_len));
		if (header_len == 20)
			assert_false(ip4_sum_ok_20(h));
	}
}

/* The order of reasons in ip4_check's description, read off it line by line. */
static int
plain_check(const uint8_t *h, uint32_t room)
{
	unsigned header_len, total_len;

	if (room < 20)
		return DROP_IP4_TRUNCATED;
	header_len = (h[0] & 15) * 4u;
	total_len = h[2] * 256u + h[3];
	if (h[0] / 16 != 4)
		return DROP_IP4_BAD_HEADER;
	if (header_len < 20)
		return DROP_IP4_BAD_HEADER;
	if (total_len < header_len)
		return DROP_IP4_BAD_HEADER;
	if (header_len > room)
		return DROP_IP4_TRUNCATED;
	if (total_len > room)
		return DROP_IP4_TRUNCATED;
	if (plain_sum(h, header_len) != 0xffff)
		return DROP_IP4_CHECKSUM;
	return 0;
}

static void
check_gives_each_reason(void **state)
{
	static const struct {
		uint8_t version_ihl;
		uint16_t total_len;
		uint32_t room;
		int reason;
	} cases[] = {
		{0x45, 20, 20, 0},
		{0x45, 20, 46, 0}, /* Ethernet padding */
		{0x45, 100, 100, 0},
		{0x4f, 60, 60, 0},
		{0x45, 20, 0, DROP_IP4_TRUNCATED},
		{0x45, 20, 10, DROP_IP4_TRUNCATED},
		{0x45, 20, 19, DROP_IP4_TRUNCATED},
		{0x65, 20, 19, DROP_IP4_TRUNCATED},
		{0x65, 40, 40, DROP_IP4_BAD_HEADER},
		{0x44, 40, 40, DROP_IP4_BAD_HEADER},
		{0x40, 40, 40, DROP_IP4_BAD_HEADER},
		{0x45, 19, 40, DROP_IP4_BAD_HEADER},
		{0x45, 0, 40, DROP_IP4_BAD_HEADER},
		{0x46, 23, 40, DROP_IP4_BAD_HEADER},
		{0x45, 41, 40, DROP_IP4_TRUNCATED},
		{0x45, 65535, 40, DROP_IP4_TRUNCATED},
		{0x4f, 60, 40, DROP_IP4_TRUNCATED}, /* header longer than the packet */
		{0x4f, 20, 40, DROP_IP4_BAD_HEADER},
	};

	(void)state;
	for (unsigned i = 0; i < RTE_DIM(cases); i++) {
		uint8_t h[128];
		uint8_t *p;
		uint16_t len = 0xbeef;
		int rc;

		memset(h, 0, sizeof(h));
		h[0] = cases[i].version_ihl;
		h[8] = 64;
		ip_put16(h + 2, cases[i].total_len);
		ip_put16(h + 10, (uint16_t)~plain_sum(h, (h[0] & 15) * 4u));
		p = exact(h, cases[i].room);
		rc = ip4_check(p, cases[i].room, &len);
		if (rc != cases[i].reason)
			fail_msg("case %u: %d, not %d", i, rc, cases[i].reason);
		assert_int_equal(len, rc == 0 ? cases[i].total_len : 0xbeef);
		if (rc == 0) {
			p[9] ^= 1;
			assert_int_equal(ip4_check(p, cases[i].room, &len), DROP_IP4_CHECKSUM);
		}
		free(p);
	}
}

static void
check_agrees_with_a_plain_one(void **state)
{
	unsigned accepted = 0;

	(void)state;
	for (unsigned i = 0; i < 3000; i++) {
		unsigned header_len = 20 + 4 * random_below(11);
		uint8_t h[100];

		random_fill(h, sizeof(h));
		random_header4(h, header_len, header_len + random_below(30));
		if (random_below(3) == 0)
			h[random_below(4)] = (uint8_t)random32();
		if (random_below(4) == 0)
			h[random_below(header_len)] ^= 4;
		for (uint32_t room = 0; room <= sizeof(h); room++) {
			uint8_t *p = exact(h, room);
			uint16_t len = 0;
			int rc = ip4_check(p, room, &len);

			assert_int_equal(rc, plain_check(p, room));
			if (rc == 0) {
				assert_int_equal(len, ip_get16(p + 2));
				accepted++;
			}
			free(p);
		}
	}
	assert_true(accepted > 10000);
}

/* Every checksum a header can have, and what recomputing gives. */
static void
ttl_checksum_equals_a_recomputed_one(void **state)
{
	static const uint8_t ttls[] = {1, 2, 64, 128, 255};
	bool seen[65536] = {false};
	unsigned count = 0;
	uint8_t h[20], again[20];

	(void)state;
	for (unsigned t = 0; t < sizeof(ttls); t++) {
		random_header4(h, 20, 1500);
		h[8] = ttls[t];
		for (unsigned ident = 0; ident < 65536; ident++) {
			ip_put16(h + 4, (uint16_t)ident);
			ip4_sum_set(h, 20);
			seen[ip_get16(h + 10)] = true;
			memcpy(again, h, 20);
			ip4_decrement_ttl(h);
			assert_int_equal(h[8], ttls[t] - 1);
			again[8]--;
			ip4_sum_set(again, 20);
			assert_memory_equal(h, again, 20);
			h[8]++;
		}
	}
	for (unsigned i = 0; i < 65536; i++)
		count += seen[i];
	/* No header of anything but zeros has the checksum 0xffff. */
	assert_int_equal(count, 65535);
	assert_false(seen[0xffff]);
}

/* Some senders write 0xffff for 0x0000: the same number, and to be accepted. */
static void
ttl_checksum_minus_zero(void **state)
{
	uint8_t h[20];

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		random_header4(h, 20, 1500);
		h[8] |= 1;
		/* Make up for the rest in the identification, so that the checksum is zero. */
		ip_put16(h + 10, 0);
		ip_put16(h + 4, 0);
		ip_put16(h + 4, (uint16_t)~plain_sum(h, 20));
		assert_int_equal(plain_sum(h, 20), 0xffff);
		ip_put16(h + 10, 0xffff);
		assert_true(ip4_sum_ok(h, 20));
		assert_true(ip4_sum_ok_20(h));
		ip4_decrement_ttl(h);
		assert_true(ip4_sum_ok(h, 20));
		assert_int_equal(ip_get16(h + 10), 0x0100);
	}
	/* RFC 1624 3, the example: checksum dd2f, a word from 5555 to 3285 makes 0000. */
	assert_int_equal(ip_sum_replace(0xdd2f, 0x5555, 0x3285), 0x0000);
}

static void
sum_replace_equals_a_recomputed_one(void **state)
{
	uint8_t h[60];

	(void)state;
	for (unsigned i = 0; i < 100000; i++) {
		unsigned at = 2 * random_below(10);
		uint16_t was, is, checksum, expected;

		random_header4(h, 20, 1500);
		if (at == 0 || at == 10)
			continue;
		memcpy(&was, h + at, 2);
		is = random_below(4) == 0 ? (uint16_t)(random_below(2) * 0xffff)
					  : (uint16_t)random32();
		memcpy(&checksum, h + 10, 2);
		checksum = ip_sum_replace(checksum, was, is);
		memcpy(h + at, &is, 2);
		ip4_sum_set(h, 20);
		memcpy(&expected, h + 10, 2);
		assert_int_equal(checksum, expected);
	}
}

static void
pseudo_sum_is_rfc8200s(void **state)
{
	uint8_t h[40], pseudo[40];

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		uint32_t len = random_below(65536);
		uint16_t sum, expected;

		random_fill(h, sizeof(h));
		memcpy(pseudo, h + 8, 32);
		pseudo[32] = 0;
		pseudo[33] = 0;
		ip_put16(pseudo + 34, (uint16_t)len);
		memset(pseudo + 36, 0, 3);
		pseudo[39] = PROTO_ICMP6;
		sum = ip_sum_fold(ip6_pseudo_sum(h, len, PROTO_ICMP6));
		expected = rte_cpu_to_be_16(plain_sum(pseudo, 40));
		assert_int_equal(sum, expected);
	}
}

static void
martian_sources(void **state)
{
	static const struct {
		const char *text;
		bool martian;
	} cases[] = {
		{"0.0.0.0", true},
		{"0.1.2.3", true},
		{"1.0.0.0", false},
		{"10.1.2.3", false},
		{"126.255.255.255", false},
		{"127.0.0.1", true},
		{"127.255.0.1", true},
		{"128.0.0.0", false},
		{"169.253.255.255", false},
		{"169.254.0.0", true},
		{"169.254.255.255", true},
		{"169.255.0.0", false},
		{"223.255.255.255", false},
		{"224.0.0.0", true},
		{"239.1.1.1", true},
		{"240.0.0.1", true},
		{"255.255.255.255", true},
		{"::", true},
		{"::1", true},
		{"::2", false},
		{"::1:0:0:0:1", false},
		{"fe80::1", false},
		{"ff02::1", true},
		{"ff00::", true},
		{"2001:db8::1", false},
		{"fd00::", false},
	};

	(void)state;
	for (unsigned i = 0; i < RTE_DIM(cases); i++) {
		struct ip_addr a;
		bool martian;

		assert_int_equal(ip_addr_parse(cases[i].text, 0, &a), 0);
		martian = a.family == AF_INET ? ip4_source_martian(ip4_host(&a))
					      : ip6_source_martian(a.bytes);
		if (martian != cases[i].martian)
			fail_msg("%s", cases[i].text);
	}
}

/* RFC 6040 figure 4, typed in as printed: columns Not-ECT, ECT(0), ECT(1), CE. */
static const struct {
	int inner;
	int result[4];
} figure4[4] = {
	{0, {0, 0, 0, -1}},
	{2, {2, 2, 1, 3}},
	{1, {1, 1, 1, 3}},
	{3, {3, 3, 3, 3}},
};
static const unsigned figure4_outer[4] = {0, 2, 1, 3};

static void
ecn_is_figure_4(void **state)
{
	(void)state;
	for (unsigned row = 0; row < 4; row++)
		for (unsigned column = 0; column < 4; column++)
			assert_int_equal(ecn_decapsulate(figure4_outer[column],
							 (unsigned)figure4[row].inner),
					 figure4[row].result[column]);
}

static void
ecn_applied_leaves_the_rest_alone(void **state)
{
	uint8_t h[40], was[40];

	(void)state;
	for (unsigned i = 0; i < 50000; i++) {
		unsigned row = random_below(4), column = random_below(4);
		int result = figure4[row].result[column];
		/* The outer mark may come with its DSCP. */
		unsigned outer = figure4_outer[column] | random_below(64) << 2;

		random_header4(h, 20, 1500);
		h[1] = (uint8_t)((h[1] & 0xfc) | figure4[row].inner);
		ip4_sum_set(h, 20);
		memcpy(was, h, 20);
		assert_int_equal(ecn_apply4(h, outer), result >= 0);
		if (result >= 0) {
			was[1] = (uint8_t)((was[1] & 0xfc) | result);
			ip4_sum_set(was, 20);
		}
		assert_memory_equal(h, was, 20);

		random_fill(h, sizeof(h));
		h[1] = (uint8_t)((h[1] & 0xcf) | figure4[row].inner << 4);
		memcpy(was, h, sizeof(h));
		assert_int_equal(ecn_apply6(h, outer), result >= 0);
		if (result >= 0)
			was[1] = (uint8_t)((was[1] & 0xcf) | result << 4);
		assert_memory_equal(h, was, sizeof(h));
	}
}

static void
options_cases(void **state)
{
	static const struct {
		uint8_t bytes[40];
		uint8_t len;
		enum ip4_options result;
	} cases[] = {
		{{0}, 0, IP4_OPTIONS_PLAIN},
		{{1, 1, 1, 1}, 4, IP4_OPTIONS_PLAIN},
		{{1, 1, 1, 0}, 4, IP4_OPTIONS_PLAIN},
		{{0, 131, 255, 255}, 4, IP4_OPTIONS_PLAIN}, /* behind the end of the list */
		{{148, 4, 0, 0}, 4, IP4_OPTIONS_PLAIN},	    /* router alert */
		{{7, 7, 4, 0, 0, 0, 0, 1}, 8, IP4_OPTIONS_PLAIN},
		{{7, 8, 4, 0, 0, 0, 0, 1}, 8, IP4_OPTIONS_PLAIN},
		{{7, 9, 4, 0, 0, 0, 0, 1}, 8, IP4_OPTIONS_MALFORMED},
		{{7, 0, 4, 0}, 4, IP4_OPTIONS_MALFORMED},
		{{7, 1, 4, 0}, 4, IP4_OPTIONS_MALFORMED},
		{{7, 2, 1, 1}, 4, IP4_OPTIONS_PLAIN},
		{{1, 1, 1, 7}, 4, IP4_OPTIONS_MALFORMED}, /* no room for a length */
		{{131, 7, 4, 10, 0, 0, 1, 0}, 8, IP4_OPTIONS_SOURCE_ROUTE},
		{{137, 7, 4, 10, 0, 0, 1, 0}, 8, IP4_OPTIONS_SOURCE_ROUTE},
		{{131, 7, 8, 10, 0, 0, 1, 0}, 8, IP4_OPTIONS_SOURCE_ROUTE}, /* used up */
		{{1, 131, 3, 4}, 4, IP4_OPTIONS_SOURCE_ROUTE},
		{{131, 0, 4, 10}, 4, IP4_OPTIONS_MALFORMED},
		{{131, 7, 4, 10}, 4, IP4_OPTIONS_MALFORMED},
	};

	(void)state;
	for (unsigned i = 0; i < RTE_DIM(cases); i++) {
		uint8_t h[60], *p;

		random_header4(h, 20, 100);
		memcpy(h + 20, cases[i].bytes, cases[i].len);
		p = exact(h, 20u + cases[i].len);
		if (ip4_options_check(p, 20u + cases[i].len) != cases[i].result)
			fail_msg("case %u", i);
		free(p);
	}
}

/* Recursive, so as not to be the same mistake twice. */
static enum ip4_options
plain_options(const uint8_t *p, unsigned n)
{
	if (n == 0 || p[0] == 0)
		return IP4_OPTIONS_PLAIN;
	if (p[0] == 1)
		return plain_options(p + 1, n - 1);
	if (n == 1 || p[1] < 2 || p[1] > n)
		return IP4_OPTIONS_MALFORMED;
	if (p[0] == 131 || p[0] == 137)
		return IP4_OPTIONS_SOURCE_ROUTE;
	return plain_options(p + p[1], n - p[1]);
}

static void
options_at_every_length(void **state)
{
	unsigned count[3] = {0};

	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		uint8_t h[60];

		random_header4(h, 60, 100);
		for (unsigned at = 20; at < 60;) {
			static const uint8_t kinds[] = {1, 1, 7, 68, 148, 130, 131, 137, 0, 77};

			h[at] = kinds[random_below(random_below(4) ? 6 : 10)];
			if (at + 1 < 60 && h[at] > 1 && random_below(8) != 0)
				h[at + 1] = (uint8_t)(2 + random_below(10));
			at += h[at] > 1 && at + 1 < 60 && h[at + 1] > 1 ? h[at + 1] : 1;
		}
		for (unsigned len = 20; len <= 60; len += 4) {
			uint8_t *p = exact(h, len);
			enum ip4_options result = ip4_options_check(p, len);

			assert_int_equal(result, plain_options(h + 20, len - 20));
			count[result]++;
			free(p);
		}
	}
	for (unsigned i = 0; i < 3; i++)
		assert_true(count[i] > 1000);
}

/* A chain of headers behind the IPv6 header, written one after the other. */
struct chain {
	uint8_t bytes[4096];
	uint16_t len;
	uint16_t next_field;
};

static void
chain_start(struct chain *c)
{
	random_fill(c->bytes, sizeof(c->bytes));
	c->bytes[0] = 0x60;
	c->len = IP6_HEADER;
	c->next_field = 6;
}

/* units: of 8 bytes; third and fourth byte go in as word (segments left, fragment offset). */
static void
chain_add(struct chain *c, uint8_t proto, unsigned units, uint16_t word)
{
	c->bytes[c->next_field] = proto;
	c->next_field = c->len;
	c->bytes[c->len + 1] = (uint8_t)(units - 1);
	ip_put16(c->bytes + c->len + 2, word);
	c->len = (uint16_t)(c->len + 8 * units);
}

static void
chain_end(struct chain *c, uint8_t proto)
{
	c->bytes[c->next_field] = proto;
}

static int
walk_all(const struct chain *c, bool over_routing, bool over_fragment, struct ip6_walk *w)
{
	uint8_t *p = exact(c->bytes, c->len);
	int rc = ip6_walk(p, c->len, c->len, p[6], IP6_HEADER, 6, over_routing, over_fragment, w);

	free(p);
	return rc;
}

static void
assert_walk(const struct ip6_walk *w, uint8_t proto, uint16_t offset, uint16_t next_field)
{
	assert_int_equal(w->proto, proto);
	assert_int_equal(w->offset, offset);
	assert_int_equal(w->next_field, next_field);
}

static void
walk_stops_where_it_should(void **state)
{
	static const uint8_t stops[] = {PROTO_TCP,	PROTO_UDP, PROTO_IP4, PROTO_IP6,
					PROTO_ICMP6,	PROTO_ESP, PROTO_AH,  PROTO_NONE,
					PROTO_ETHERNET, 253};
	struct ip6_walk w;
	struct chain c;

	(void)state;
	for (unsigned i = 0; i < sizeof(stops); i++) {
		chain_start(&c);
		chain_end(&c, stops[i]);
		assert_int_equal(walk_all(&c, true, true, &w), 0);
		assert_walk(&w, stops[i], 40, 6);
		chain_start(&c);
		chain_add(&c, PROTO_HOPOPTS, 1, 0);
		chain_add(&c, PROTO_DSTOPTS, 3, 0);
		chain_end(&c, stops[i]);
		assert_int_equal(walk_all(&c, true, true, &w), 0);
		assert_walk(&w, stops[i], 40 + 8 + 24, 48);
		assert_false(w.fragment);
	}
}

static void
walk_and_routing_headers(void **state)
{
	struct ip6_walk w;
	struct chain c;

	(void)state;
	chain_start(&c);
	chain_add(&c, PROTO_DSTOPTS, 1, 0);
	chain_add(&c, PROTO_ROUTING, 5, 0x0400); /* an SRH, segments left 0 */
	chain_add(&c, PROTO_DSTOPTS, 2, 0);
	chain_end(&c, PROTO_IP4);
	assert_int_equal(walk_all(&c, true, false, &w), 0);
	assert_walk(&w, PROTO_IP4, 40 + 8 + 40 + 16, 88);
	assert_int_equal(walk_all(&c, false, false, &w), 0);
	assert_walk(&w, PROTO_ROUTING, 48, 40);
	c.bytes[48 + 3] = 1;
	assert_int_equal(walk_all(&c, true, false, &w), 0);
	assert_walk(&w, PROTO_ROUTING, 48, 40);
}

static void
walk_and_fragments(void **state)
{
	struct ip6_walk w;
	struct chain c;

	(void)state;
	for (unsigned word = 0; word < 65536; word++) {
		bool late = word >= 8, more = word & 1;

		if (word == 64)
			word = 65536 - 64;
		chain_start(&c);
		chain_add(&c, PROTO_FRAGMENT, 1, 0);
		chain_add(&c, PROTO_DSTOPTS, 2, 0);
		chain_end(&c, PROTO_UDP);
		ip_put16(c.bytes + 42, (uint16_t)word);
		c.bytes[41] = 0xff; /* reserved, no length */
		assert_int_equal(walk_all(&c, false, false, &w), 0);
		assert_walk(&w, PROTO_FRAGMENT, 40, 6);
		assert_int_equal(walk_all(&c, false, true, &w), 0);
		assert_int_equal(w.fragment, late || more);
		assert_int_equal(w.late_fragment, late);
		/* What follows a later fragment's header looks like options, but is data. */
		if (late)
			assert_walk(&w, PROTO_DSTOPTS, 48, 40);
		else
			assert_walk(&w, PROTO_UDP, 64, 48);
	}
}

static void
walk_refuses(void **state)
{
	struct ip6_walk w;
	struct chain c;

	(void)state;
	/* Hop-by-hop options anywhere but first. */
	chain_start(&c);
	chain_add(&c, PROTO_DSTOPTS, 1, 0);
	chain_add(&c, PROTO_HOPOPTS, 1, 0);
	chain_end(&c, PROTO_UDP);
	assert_int_equal(walk_all(&c, true, true, &w), DROP_IP6_EXT_HEADER);
	chain_start(&c);
	chain_add(&c, PROTO_HOPOPTS, 1, 0);
	chain_add(&c, PROTO_HOPOPTS, 1, 0);
	chain_end(&c, PROTO_UDP);
	assert_int_equal(walk_all(&c, true, true, &w), DROP_IP6_EXT_HEADER);
	/* The same when a walk begins behind headers already processed. */
	assert_int_equal(ip6_walk(c.bytes, c.len, c.len, 0, 48, 40, true, true, &w),
			 DROP_IP6_EXT_HEADER);

	for (unsigned n = 7; n <= 10; n++) {
		chain_start(&c);
		for (unsigned i = 0; i < n; i++)
			chain_add(&c, PROTO_DSTOPTS, 1, 0);
		chain_end(&c, PROTO_UDP);
		assert_int_equal(walk_all(&c, true, true, &w), n <= 8 ? 0 : DROP_IP6_EXT_HEADER);
	}

	/* A length beyond the packet, and a start beyond it. */
	chain_start(&c);
	chain_add(&c, PROTO_DSTOPTS, 2, 0);
	chain_end(&c, PROTO_UDP);
	assert_int_equal(walk_all(&c, true, true, &w), 0);
	c.bytes[41] = 2;
	assert_int_equal(walk_all(&c, true, true, &w), DROP_IP6_TRUNCATED);
	c.bytes[41] = 255;
	assert_int_equal(walk_all(&c, true, true, &w), DROP_IP6_TRUNCATED);
	assert_int_equal(ip6_walk(c.bytes, 40, 40, PROTO_UDP, 41, 6, true, true, &w),
			 DROP_IP6_TRUNCATED);
	/* The longest headers there are, one behind the other. */
	chain_start(&c);
	chain_add(&c, PROTO_HOPOPTS, 256, 0);
	c.bytes[6] = PROTO_HOPOPTS;
	c.bytes[40] = PROTO_DSTOPTS;
	c.bytes[40 + 2048] = PROTO_UDP;
	c.bytes[40 + 2049] = 255;
	assert_int_equal(ip6_walk(c.bytes, 40 + 4096, 2096, 0, 40, 6, true, true, &w), 0);
	assert_walk(&w, PROTO_UDP, 40 + 4096, 40 + 2048);
}

/* What must come out, told of a list of headers and not of bytes. */
static int
plain_walk(const struct chain *c, uint32_t len, bool over_routing, bool over_fragment,
	   struct ip6_walk *w)
{
	uint32_t starts[64] = {40}, names[64] = {6};
	const uint8_t *b = c->bytes;

	memset(w, 0, sizeof(*w));
	for (unsigned i = 0;; i++) {
		uint8_t proto = b[names[i]];
		uint32_t at = starts[i];
		bool passable = proto == 0 || proto == 60 || (proto == 43 && over_routing) ||
				(proto == 44 && over_fragment);

		w->proto = proto;
		w->offset = (uint16_t)at;
		w->next_field = (uint16_t)names[i];
		if (!passable || w->late_fragment)
			return 0;
		if ((proto == 0 && i > 0) || i == 8)
			return DROP_IP6_EXT_HEADER;
		if (at + 8 > len)
			return DROP_IP6_TRUNCATED;
		if (proto == 43 && b[at + 3] != 0)
			return 0;
		names[i + 1] = at;
		starts[i + 1] = at + (proto == 44 ? 8 : 8 + 8u * b[at + 1]);
		if (starts[i + 1] > len)
			return DROP_IP6_TRUNCATED;
		if (proto == 44) {
			uint32_t offset = (uint32_t)(b[at + 2] * 256 + b[at + 3]) / 8;

			w->late_fragment = offset > 0;
			w->fragment |= offset > 0 || (b[at + 3] & 1);
		}
	}
}

static void
walk_at_every_length(void **state)
{
	static const uint8_t kinds[] = {60, 60, 60, 43, 43, 44, 0, 51, 17};
	unsigned ends[4] = {0};

	(void)state;
	for (unsigned i = 0; i < 1500; i++) {
		bool over_routing = random_below(4), over_fragment = random_below(4);
		struct chain c;
		unsigned n = random_below(11);

		chain_start(&c);
		if (random_below(3) == 0)
			chain_add(&c, PROTO_HOPOPTS, 1 + random_below(2), 0);
		for (unsigned k = 0; k < n; k++) {
			uint8_t kind = kinds[random_below(random_below(3) ? 5 : 9)];
			uint16_t word = 0;

			if (kind == PROTO_FRAGMENT)
				word = (uint16_t)(random_below(3) ? random_below(2) : random32());
			else if (kind == PROTO_ROUTING)
				word = (uint16_t)(0x0400 | (random_below(6) == 0));
			chain_add(&c, kind, kind == PROTO_FRAGMENT ? 1 : 1 + random_below(3), word);
		}
		chain_end(&c, random_below(2) ? PROTO_IP4 : PROTO_UDP);
		for (uint16_t len = 40; len <= c.len; len += random_below(2) ? 1 : 8) {
			uint8_t *p = exact(c.bytes, len);
			struct ip6_walk w, expected;
			uint16_t contiguous = 40;
			int rc, reason;

			reason = plain_walk(&c, len, over_routing, over_fragment, &expected);
			rc = ip6_walk(p, len, len, p[6], 40, 6, over_routing, over_fragment, &w);
			assert_int_equal(rc, reason);
			free(p);
			if (rc == 0) {
				assert_walk(&w, expected.proto, expected.offset,
					    expected.next_field);
				assert_int_equal(w.fragment, expected.fragment);
				assert_int_equal(w.late_fragment, expected.late_fragment);
			}
			ends[rc == 0 ? 0 : rc == DROP_IP6_TRUNCATED ? 1 : 2]++;
			/* Little by little, as a caller with many segments would. */
			for (;;) {
				p = exact(c.bytes, contiguous);
				rc = ip6_walk(p, len, contiguous, p[6], 40, 6, over_routing,
					      over_fragment, &w);
				free(p);
				if (rc != -EAGAIN)
					break;
				assert_true(w.offset + 8 > contiguous && w.offset + 8 <= len);
				contiguous = (uint16_t)(w.offset + 8);
				ends[3]++;
			}
			assert_int_equal(rc, reason);
			if (rc == 0)
				assert_walk(&w, expected.proto, expected.offset,
					    expected.next_field);
		}
	}
	for (unsigned i = 0; i < 4; i++)
		assert_true(ends[i] > 500);
}

static void
make_udp4(uint8_t *h, unsigned header_len, uint32_t src, uint32_t dst, uint32_t ports)
{
	rte_be32_t be;

	memset(h, 1, header_len);
	h[0] = (uint8_t)(0x40 | header_len / 4);
	ip_put16(h + 6, 0);
	h[9] = PROTO_UDP;
	be = rte_cpu_to_be_32(src);
	memcpy(h + 12, &be, 4);
	be = rte_cpu_to_be_32(dst);
	memcpy(h + 16, &be, 4);
	be = rte_cpu_to_be_32(ports);
	memcpy(h + header_len, &be, 4);
}

static void
make_udp6(uint8_t *h, uint32_t label, uint32_t src, uint32_t dst, uint32_t ports)
{
	rte_be32_t be = rte_cpu_to_be_32(UINT32_C(0x60000000) | label);

	memset(h, 0, IP6_HEADER);
	memcpy(h, &be, 4);
	h[6] = PROTO_UDP;
	h[8] = h[24] = 0x20;
	be = rte_cpu_to_be_32(src);
	memcpy(h + 20, &be, 4);
	be = rte_cpu_to_be_32(dst);
	memcpy(h + 36, &be, 4);
	be = rte_cpu_to_be_32(ports);
	memcpy(h + IP6_HEADER, &be, 4);
}

/* Numbers a build for any machine must arrive at. */
static void
flow_hash_is_the_same_everywhere(void **state)
{
	uint8_t h[64];

	(void)state;
	make_udp4(h, 20, 0x0a000001, 0x0a000002, 0x12345678);
	assert_int_equal(ip4_flow_hash(h, 24), 0x8103e14);
	make_udp6(h, 0x12345, 1, 2, 0x12345678);
	assert_int_equal(ip6_flow_hash(h, 44), 0x68859495);
}

static void
flow_hash_takes_what_it_should(void **state)
{
	uint8_t h[64], other[64];
	uint32_t hash;

	(void)state;
	make_udp4(h, 24, 0x0a000001, 0x0a000002, 0x12345678);
	hash = ip4_flow_hash(h, 28);
	for (unsigned i = 0; i < 28; i++) {
		bool counts = i == 9 || (i >= 12 && i < 20) || i >= 24;

		if (i == 0 || i == 6 || i == 7)
			continue;
		memcpy(other, h, sizeof(h));
		other[i] ^= i == 9 ? PROTO_UDP ^ PROTO_TCP : 0x10;
		assert_int_equal(ip4_flow_hash(other, 28) != hash, counts);
	}
	/* All fragments together, DF or not. */
	memcpy(other, h, sizeof(h));
	ip_put16(other + 6, IP4_DONT_FRAGMENT);
	assert_int_equal(ip4_flow_hash(other, 28), hash);
	ip_put16(other + 6, IP4_MORE_FRAGMENTS);
	hash = ip4_flow_hash(other, 28);
	for (unsigned i = 1; i < 0x2000; i++) {
		ip_put16(other + 6, (uint16_t)(i | random_below(2) << 13));
		random_fill(other + 24, 4);
		assert_int_equal(ip4_flow_hash(other, 28), hash);
	}

	make_udp6(h, 0x12345, 1, 2, 0x12345678);
	hash = ip6_flow_hash(h, 44);
	for (unsigned i = 0; i < 44; i++) {
		bool counts = (i >= 1 && i <= 3) || i == 6 || i >= 8;

		memcpy(other, h, sizeof(h));
		other[i] ^= i == 6 ? PROTO_UDP ^ PROTO_TCP : 0x01;
		assert_int_equal(ip6_flow_hash(other, 44) != hash, counts);
	}
	/* The traffic class is not the flow label. */
	memcpy(other, h, sizeof(h));
	other[0] = 0x6f;
	other[1] |= 0xf0;
	assert_int_equal(ip6_flow_hash(other, 44), hash);
	/* Behind a protocol without ports there are none. */
	other[6] = PROTO_IP4;
	hash = ip6_flow_hash(other, 44);
	other[40] ^= 0xff;
	assert_int_equal(ip6_flow_hash(other, 44), hash);
}

static void
flow_hash_at_every_length(void **state)
{
	uint8_t h[80];

	(void)state;
	for (unsigned header_len = 0; header_len <= 60; header_len += 4) {
		make_udp4(h, 60, random32(), random32(), random32());
		h[0] = (uint8_t)(0x40 | header_len / 4);
		for (uint16_t n = 0; n <= 68; n++) {
			uint8_t *p = exact(h, n);
			uint32_t hash = ip4_flow_hash(p, n);

			assert_int_equal(hash == 0, n < 20);
			free(p);
		}
	}
	make_udp6(h, 1, random32(), random32(), random32());
	for (uint16_t n = 0; n <= 48; n++) {
		uint8_t *p = exact(h, n);
		uint32_t hash = ip6_flow_hash(p, n);

		assert_int_equal(hash == 0, n < 40);
		free(p);
	}
}

/* Chi-square of n values over 64 buckets; 63 expected, 130 is past one in a million. */
static double
chi_square(const uint32_t *count, unsigned n)
{
	double expected = n / 64.0, sum = 0;

	for (unsigned i = 0; i < 64; i++)
		sum += (count[i] - expected) * (count[i] - expected) / expected;
	return sum;
}

/* Flows as they come: counting ports, counting addresses, both at once. */
static void
flow_hash_spreads(void **state)
{
	enum {
		FLOWS = 1 << 14,
		KINDS = 6
	};

	(void)state;
	for (unsigned kind = 0; kind < KINDS; kind++) {
		uint32_t low[64] = {0}, high[64] = {0}, middle[64] = {0};

		for (uint32_t i = 0; i < FLOWS; i++) {
			uint8_t h[64];
			uint32_t hash;

			switch (kind) {
			case 0:
				make_udp4(h, 20, 0x0a000001, 0x0a000002, i << 16 | 53);
				break;
			case 1:
				make_udp4(h, 20, 0x0a000000 + i, 0x0b000000, 0x00350035);
				break;
			case 2:
				make_udp4(h, 20, 0x0a000000 + i, 0x0b000000 + i, i);
				break;
			case 3:
				make_udp6(h, i, 1, 2, 0);
				break;
			case 4:
				make_udp6(h, 0, i << 12, i << 12, 0);
				break;
			default:
				make_udp6(h, 0, 1, 2, i << 16 | i);
				break;
			}
			hash = kind < 3 ? ip4_flow_hash(h, 24) : ip6_flow_hash(h, 44);
			low[hash & 63]++;
			middle[hash >> 13 & 63]++;
			high[hash >> 26]++;
		}
		assert_true(chi_square(low, FLOWS) < 130);
		assert_true(chi_square(middle, FLOWS) < 130);
		assert_true(chi_square(high, FLOWS) < 130);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fold_adds_up_as_rfc1071_says),
		cmocka_unit_test(known_header_has_its_checksum),
		cmocka_unit_test(sums_of_random_headers),
		cmocka_unit_test(check_gives_each_reason),
		cmocka_unit_test(check_agrees_with_a_plain_one),
		cmocka_unit_test(ttl_checksum_equals_a_recomputed_one),
		cmocka_unit_test(ttl_checksum_minus_zero),
		cmocka_unit_test(sum_replace_equals_a_recomputed_one),
		cmocka_unit_test(pseudo_sum_is_rfc8200s),
		cmocka_unit_test(martian_sources),
		cmocka_unit_test(ecn_is_figure_4),
		cmocka_unit_test(ecn_applied_leaves_the_rest_alone),
		cmocka_unit_test(options_cases),
		cmocka_unit_test(options_at_every_length),
		cmocka_unit_test(walk_stops_where_it_should),
		cmocka_unit_test(walk_and_routing_headers),
		cmocka_unit_test(walk_and_fragments),
		cmocka_unit_test(walk_refuses),
		cmocka_unit_test(walk_at_every_length),
		cmocka_unit_test(flow_hash_is_the_same_everywhere),
		cmocka_unit_test(flow_hash_takes_what_it_should),
		cmocka_unit_test(flow_hash_at_every_length),
		cmocka_unit_test(flow_hash_spreads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
