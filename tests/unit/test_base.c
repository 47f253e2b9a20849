/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses, prefixes, MACs, numbers and error sentences: good ones, and bad ones by the dozen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>

#include "base.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void
addresses_survive_parse_and_format(void **state)
{
	static const struct {
		const char *in;
		uint8_t family;
		const char *out;
	} good[] = {
		{"0.0.0.0", AF_INET, "0.0.0.0"},
		{"10.1.2.3", AF_INET, "10.1.2.3"},
		{"255.255.255.255", AF_INET, "255.255.255.255"},
		{"::", AF_INET6, "::"},
		{"fc00:0:0:1::", AF_INET6, "fc00:0:0:1::"},
		{"2001:DB8::0001", AF_INET6, "2001:db8::1"},
		{"2001:db8:0:0:1:0:0:1", AF_INET6, "2001:db8::1:0:0:1"},
		{"::ffff:192.0.2.1", AF_INET6, "::ffff:192.0.2.1"},
	};
	char text[IP_ADDR_TEXT];
	struct ip_addr a;

	(void)state;
	for (size_t i = 0; i < COUNT(good); i++) {
		assert_int_equal(ip_addr_parse(good[i].in, 0, &a), 0);
		assert_int_equal(a.family, good[i].family);
		assert_string_equal(ip_addr_format(&a, text), good[i].out);
		assert_int_equal(ip_addr_parse(good[i].in, good[i].family, &a), 0);
		assert_int_equal(ip_addr_parse(good[i].in,
					       good[i].family == AF_INET ? AF_INET6 : AF_INET, &a),
				 -EINVAL);
	}
	a = (struct ip_addr){0};
	assert_string_equal(ip_addr_format(&a, text), "");
}

static void
bad_addresses_are_refused(void **state)
{
	static const char *const bad[] = {
		"",	    " ",	 "1.2.3",    "1.2.3.4.5", "256.1.1.1",
		"1.2.3.4 ", "01.2.3.4x", "1.2.3.-4", ":",	  ":::",
		"1::2::3",  "12345::",	 "g::",	     "fe80::1%1", "1:2:3:4:5:6:7:8:9"};
	struct ip_addr a = {.family = 77};

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(ip_addr_parse(bad[i], 0, &a), -EINVAL);
	assert_int_equal(a.family, 77); /* untouched */
}

static void
ipv4_fills_four_bytes_and_zeroes_the_rest(void **state)
{
	struct ip_addr a = ip4_addr(0x0a010203), b;
	static const uint8_t zero[12];

	(void)state;
	assert_int_equal(ip_addr_parse("10.1.2.3", 0, &b), 0);
	assert_true(ip_addr_equal(&a, &b));
	assert_int_equal(ip4_host(&a), 0x0a010203);
	assert_memory_equal(b.bytes + 4, zero, 12);
	/* Equal bytes of another family are another address. */
	b.family = AF_INET6;
	assert_false(ip_addr_equal(&a, &b));
}

static void
address_kinds(void **state)
{
	struct ip_addr a;

	(void)state;
	assert_int_equal(ip_addr_parse("0.0.0.0", 0, &a), 0);
	assert_true(ip_is_unspecified(&a));
	assert_int_equal(ip_addr_parse("::", 0, &a), 0);
	assert_true(ip_is_unspecified(&a));
	assert_int_equal(ip_addr_parse("::1", 0, &a), 0);
	assert_false(ip_is_unspecified(&a));
	assert_int_equal(ip_addr_parse("224.0.0.5", 0, &a), 0);
	assert_true(ip_is_multicast(&a));
	assert_int_equal(ip_addr_parse("223.255.255.255", 0, &a), 0);
	assert_false(ip_is_multicast(&a));
	assert_int_equal(ip_addr_parse("ff02::1", 0, &a), 0);
	assert_true(ip_is_multicast(&a));
	assert_int_equal(ip_addr_parse("fe80::1", 0, &a), 0);
	assert_true(ip6_is_link_local(a.bytes));
	assert_int_equal(ip_addr_parse("febf::1", 0, &a), 0);
	assert_true(ip6_is_link_local(a.bytes));
	assert_int_equal(ip_addr_parse("fec0::1", 0, &a), 0);
	assert_false(ip6_is_link_local(a.bytes));
	a = ip6_addr("0123456789abcdef");
	assert_memory_equal(a.bytes, "0123456789abcdef", 16);
}

static void
prefixes_survive_parse_and_format(void **state)
{
	static const struct {
		const char *in;
		uint8_t family;
		const char *out;
	} good[] = {
		{"10.1.0.0/16", 0, "10.1.0.0/16"}, {"10.1.2.3", 0, "10.1.2.3/32"},
		{"0.0.0.0/0", 0, "0.0.0.0/0"},	   {"default", 0, "0.0.0.0/0"},
		{"default", AF_INET6, "::/0"},	   {"::/0", 0, "::/0"},
		{"fc00:1::/48", 0, "fc00:1::/48"}, {"fc00::1", 0, "fc00::1/128"},
		{"128.0.0.0/1", 0, "128.0.0.0/1"}, {"8000::/1", 0, "8000::/1"},
	};
	char text[IP_PREFIX_TEXT];
	struct ip_prefix p;
	struct err err;

	(void)state;
	for (size_t i = 0; i < COUNT(good); i++) {
		assert_int_equal(ip_prefix_parse(good[i].in, good[i].family, true, &p, NULL, &err),
				 0);
		assert_string_equal(ip_prefix_format(&p, text), good[i].out);
	}
}

static void
bad_prefixes_say_what_is_wrong(void **state)
{
	static const struct {
		const char *in;
		uint8_t family;
		bool strict;
		const char *reason;
	} bad[] = {
		{"10.1.2.3/16", 0, true, "10.1.2.3/16 has bits set beyond /16"},
		{"fc00::1/64", 0, true, "fc00::1/64 has bits set beyond /64"},
		{"10.1.0.0/33", 0, false, "'10.1.0.0/33': the prefix length is not 0 to 32"},
		{"fc00::/129", 0, false, "'fc00::/129': the prefix length is not 0 to 128"},
		{"10.1.0.0/", 0, false, "'10.1.0.0/': the prefix length is not 0 to 32"},
		{"10.1.0.0/-1", 0, false, "'10.1.0.0/-1': the prefix length is not 0 to 32"},
		{"10.1.0.0/ 8", 0, false, "'10.1.0.0/ 8': the prefix length is not 0 to 32"},
		{"10.1.0.0/8/8", 0, false, "'10.1.0.0/8/8': the prefix length is not 0 to 32"},
		{"10.1.0.0/4294967304", 0, false,
		 "'10.1.0.0/4294967304': the prefix length is not 0 to 32"},
		{"ten/8", 0, false, "'ten' is not an IP address"},
		{"fc00::/8", AF_INET, false, "'fc00::' is not an IPv4 address"},
		{"10.0.0.0/8", AF_INET6, false, "'10.0.0.0' is not an IPv6 address"},
		{"/8", 0, false, "'' is not an IP address"},
		{"", 0, false, "'' is not an IP address"},
	};
	struct ip_prefix p = {.len = 99};
	struct err err;
	char longer[400];

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		/* Where the bits beyond the length are the matter, no prefix promises to be kept.
		 */
		assert_int_equal(
			ip_prefix_parse(bad[i].in, bad[i].family, bad[i].strict, &p, NULL, &err),
			-EINVAL);
		assert_string_equal(err.text, bad[i].reason);
		assert_int_equal(
			ip_prefix_parse(bad[i].in, bad[i].family, bad[i].strict, &p, NULL, NULL),
			-EINVAL);
	}
	memset(longer, '1', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(ip_prefix_parse(longer, 0, false, &p, NULL, &err), -EINVAL);
}

static void
an_interface_address_keeps_its_host_bits(void **state)
{
	struct ip_prefix p;
	struct ip_addr a;
	char text[IP_PREFIX_TEXT];
	struct err err;

	(void)state;
	assert_int_equal(ip_prefix_parse("10.1.2.3/16", 0, false, &p, &a, &err), 0);
	assert_string_equal(ip_prefix_format(&p, text), "10.1.0.0/16");
	assert_string_equal(ip_addr_format(&a, text), "10.1.2.3");
	assert_true(ip_prefix_contains(&p, &a));
}

static void
every_length_cuts_and_contains(void **state)
{
	struct ip_addr a, other;
	uint8_t ones[16];

	(void)state;
	memset(ones, 0xff, sizeof(ones));
	a = ip6_addr(ones);
	for (unsigned len = 0; len <= 128; len++) {
		struct ip_prefix p = ip_prefix_of(&a, len);

		assert_int_equal(p.len, len);
		for (unsigned bit = 0; bit < 128; bit++)
			assert_int_equal(p.addr.bytes[bit / 8] >> (7 - bit % 8) & 1, bit < len);
		assert_true(ip_prefix_contains(&p, &a));
		assert_true(ip_prefix_equal(&p, &p));
		if (len == 0)
			continue;
		/* One bit inside the prefix turned: outside of it. */
		other = a;
		other.bytes[(len - 1) / 8] ^= (uint8_t)(0x80 >> ((len - 1) % 8));
		assert_false(ip_prefix_contains(&p, &other));
		other = ip4_addr(0xffffffff);
		assert_false(ip_prefix_contains(&p, &other));
	}
}

static void
macs(void **state)
{
	static const char *const bad[] = {"",
					  "02:00:00:00:00",
					  "02:00:00:00:00:01:02",
					  "02:00:00:00:00:0g",
					  "02-00-00-00-00-01",
					  "02:00:00:00:00:01 ",
					  "0200.0000.0001",
					  "002:00:00:00:00:01"};
	uint8_t mac[6];
	char text[18];

	(void)state;
	assert_int_equal(mac_parse("02:AB:cd:00:0f:1", mac), 0);
	assert_string_equal(mac_format(mac, text), "02:ab:cd:00:0f:01");
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(mac_parse(bad[i], mac), -EINVAL);
}

static void
numbers(void **state)
{
	static const char *const bad[] = {"",
					  " 1",
					  "+1",
					  "-1",
					  "1 ",
					  "1x",
					  "0x",
					  "0xg",
					  "x1",
					  "18446744073709551616",
					  "99999999999999999999999",
					  "1.5"};
	uint64_t v = 0;

	(void)state;
	assert_int_equal(number_parse("0", 0, UINT64_MAX, &v), 0);
	assert_int_equal(v, 0);
	assert_int_equal(number_parse("18446744073709551615", 0, UINT64_MAX, &v), 0);
	assert_true(v == UINT64_MAX);
	assert_int_equal(number_parse("0xFf", 0, 255, &v), 0);
	assert_int_equal(v, 255);
	assert_int_equal(number_parse("010", 0, 255, &v), 0);
	assert_int_equal(v, 10); /* decimal, whatever C thinks of the zero */
	v = 77;
	assert_int_equal(number_parse("4", 5, 10, &v), -EINVAL);
	assert_int_equal(number_parse("11", 5, 10, &v), -EINVAL);
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(number_parse(bad[i], 0, UINT64_MAX, &v), -EINVAL);
	assert_int_equal(v, 77);
}

static void
errors_carry_a_code_and_a_sentence(void **state)
{
	struct err err;
	char longer[1000];

	(void)state;
	assert_int_equal(err_set(&err, ENOENT, "port %d", 7), -ENOENT);
	assert_string_equal(err.text, "port 7");
	assert_int_equal(err_prefix(&err, -ENOENT, "line %d", 3), -ENOENT);
	assert_string_equal(err.text, "line 3: port 7");
	assert_int_equal(err_set(NULL, EINVAL, "nobody reads"), -EINVAL);
	assert_int_equal(err_prefix(NULL, -EINVAL, "nobody reads"), -EINVAL);

	/* Cut, never beyond the end. */
	memset(longer, 'x', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	err_set(&err, EINVAL, "%s", longer);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	err_prefix(&err, -EINVAL, "front");
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	assert_memory_equal(err.text, "front: xxx", 10);
	err_prefix(&err, -EINVAL, "%s", longer);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
}

/* Random bytes, and good texts with one byte changed, must be refused or understood,
 * and what is understood must survive being written and read again. */
static void
random_texts(void **state)
{
	static const char *const seeds[] = {"10.1.2.0/24", "fc00:1:2::/48", "2001:db8::192.0.2.1",
					    "02:00:00:00:00:01", "0xffff"};
	char text[64], out[IP_PREFIX_TEXT], mac_text[18];
	struct ip_prefix p, again;
	uint8_t mac[6], mac_again[6];
	uint64_t v;

	(void)state;
	srandom(1);
	for (unsigned round = 0; round < 200000; round++) {
		const char *seed = seeds[(unsigned)random() % COUNT(seeds)];
		size_t len = strlen(seed);

		memcpy(text, seed, len + 1);
		for (unsigned n = (unsigned)random() % 3; n > 0; n--)
			text[(unsigned)random() % len] = (char)random();
		if (ip_prefix_parse(text, 0, false, &p, NULL, NULL) == 0) {
			assert_int_equal(ip_prefix_parse(ip_prefix_format(&p, out), 0, true, &again,
							 NULL, NULL),
					 0);
			assert_true(ip_prefix_equal(&p, &again));
		}
		if (mac_parse(text, mac) == 0) {
			assert_int_equal(mac_parse(mac_format(mac, mac_text), mac_again), 0);
			assert_memory_equal(mac, mac_again, 6);
		}
		number_parse(text, 0, UINT64_MAX, &v);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_survive_parse_and_format),
		cmocka_unit_test(bad_addresses_are_refused),
		cmocka_unit_test(ipv4_fills_four_bytes_and_zeroes_the_rest),
		cmocka_unit_test(address_kinds),
		cmocka_unit_test(prefixes_survive_parse_and_format),
		cmocka_unit_test(bad_prefixes_say_what_is_wrong),
		cmocka_unit_test(an_interface_address_keeps_its_host_bits),
		cmocka_unit_test(every_length_cuts_and_contains),
		cmocka_unit_test(macs),
		cmocka_unit_test(numbers),
		cmocka_unit_test(errors_carry_a_code_and_a_sentence),
		cmocka_unit_test(random_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
