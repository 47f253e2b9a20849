/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * srv6_process() against packets built byte by byte. Every packet lies in a heap
 * buffer of exactly its size, so that AddressSanitizer sees one byte too many.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "srv6.h"

/* A packet under construction. */
struct build {
	uint8_t bytes[512];
	uint16_t len;
	uint16_t next_field;
};

static void
begin(struct build *p, uint8_t hop_limit)
{
	memset(p, 0, sizeof(*p));
	p->bytes[0] = 0x60;
	p->bytes[6] = PROTO_NONE;
	p->bytes[7] = hop_limit;
	p->bytes[8] = 0x20;
	p->bytes[24] = 0xfc;
	p->len = IP6_HEADER;
	p->next_field = 6;
}

static void
add(struct build *p, uint8_t proto, const void *data, uint16_t size)
{
	p->bytes[p->next_field] = proto;
	memcpy(p->bytes + p->len, data, size);
	p->next_field = p->len;
	p->len = (uint16_t)(p->len + size);
}

/* Options of 8 bytes, all padding. */
static void
add_options(struct build *p, uint8_t proto)
{
	static const uint8_t padn[8] = {PROTO_NONE, 0, 1, 4};

	add(p, proto, padn, sizeof(padn));
}

/* An SRH of n segments (fc..01, fc..02...), with 8 bytes of TLV if tlv. */
static void
add_srh(struct build *p, unsigned n, unsigned left, unsigned last_entry, bool tlv)
{
	uint8_t srh[8 + 16 * 8 + 8] = {PROTO_NONE, (uint8_t)(2 * n + tlv), 4, (uint8_t)left,
				       (uint8_t)last_entry};

	for (unsigned s = 0; s < n; s++) {
		srh[8 + 16 * s] = 0xfc;
		srh[8 + 16 * s + 15] = (uint8_t)(s + 1);
	}
	if (tlv) {
		srh[8 + 16 * n] = 4; /* PadN */
		srh[8 + 16 * n + 1] = 6;
	}
	add(p, PROTO_ROUTING, srh, (uint16_t)(8 + 16 * n + 8 * tlv));
}

static void
add_inner4(struct build *p)
{
	static const uint8_t inner[20] = {0x45, 0, 0, 20};

	add(p, PROTO_IP4, inner, sizeof(inner));
}

/* Run the SID on an exact copy; the outcome's packet is left in *copy (caller
 * frees *base). */
static enum srv6_outcome
process(struct build *p, enum sid_behaviour behaviour, uint8_t flavours, struct srv6_packet *copy,
	uint8_t **base)
{
	struct nexthop sid = {
		.type = NEXTHOP_SID, .behaviour = (uint8_t)behaviour, .flavours = flavours};
	uint16_t payload = rte_cpu_to_be_16((uint16_t)(p->len - IP6_HEADER));

	memcpy(p->bytes + 4, &payload, 2);
	*base = malloc(p->len);
	assert_non_null(*base);
	memcpy(*base, p->bytes, p->len);
	*copy = (struct srv6_packet){.ip = *base, .len = p->len, .contiguous = p->len};
	return srv6_process(&sid, copy);
}

static void
expect_drop(struct build *p, enum sid_behaviour behaviour, enum drop_reason reason, int type,
	    int code, unsigned value)
{
	struct srv6_packet got;
	uint8_t *base;

	assert_int_equal(process(p, behaviour, 0, &got, &base), SRV6_DROP);
	assert_int_equal(got.reason, reason);
	assert_int_equal(got.has_error, type >= 0);
	if (type >= 0) {
		assert_int_equal(got.error.type, type);
		assert_int_equal(got.error.code, code);
		assert_int_equal(got.error.value, value);
	}
	free(base);
}

static void
expect_inner4(struct build *p, enum sid_behaviour behaviour, uint8_t flavours)
{
	struct srv6_packet got;
	uint8_t *base;

	assert_int_equal(process(p, behaviour, flavours, &got, &base), SRV6_INNER4);
	assert_int_equal(got.len, 20);
	assert_ptr_equal(got.ip, base + p->len - 20);
	assert_int_equal(got.contiguous, 20);
	free(base);
}

static void
decapsulates_behind_any_headers(void **state)
{
	static const enum sid_behaviour takes4[] = {SID_END_DX4, SID_END_DT4, SID_END_DT46};
	struct build p;

	(void)state;
	for (unsigned b = 0; b < RTE_DIM(takes4); b++) {
		begin(&p, 1); /* it has arrived: the outer hop limit no longer matters */
		add_inner4(&p);
		expect_inner4(&p, takes4[b], 0);

		begin(&p, 64);
		add_options(&p, PROTO_HOPOPTS);
		add_options(&p, PROTO_DSTOPTS);
		add_srh(&p, 2, 0, 1, true);
		add_options(&p, PROTO_DSTOPTS);
		add_inner4(&p);
		expect_inner4(&p, takes4[b], 0);
	}
	/* With nothing left the list is not looked at. */
	begin(&p, 64);
	add_srh(&p, 1, 0, 7, false);
	add_inner4(&p);
	expect_inner4(&p, SID_END_DX4, 0);
}

static void
segments_left_must_be_zero_at_any_depth(void **state)
{
	struct build p;

	(void)state;
	begin(&p, 64);
	for (unsigned n = 0; n < 5; n++)
		add_options(&p, PROTO_DSTOPTS);
	add_srh(&p, 2, 1, 1, false);
	add_inner4(&p);
	expect_drop(&p, SID_END_DX4, DROP_SRH_SEGMENTS_LEFT, ICMP6_PARAMETER, 0, 40 + 5 * 8 + 3);

	begin(&p, 64);
	for (unsigned n = 0; n < 20; n++)
		add_options(&p, PROTO_DSTOPTS);
	add_inner4(&p);
	expect_drop(&p, SID_END_DX4, DROP_IP6_EXT_HEADER, -1, 0, 0);
}

static void
a_list_that_lies_is_a_parameter_problem(void **state)
{
	struct build p;

	(void)state;
	begin(&p, 64);
	add_srh(&p, 2, 1, 7, false); /* last entry beyond the header */
	add_inner4(&p);
	expect_drop(&p, SID_END, DROP_SRH_MALFORMED, ICMP6_PARAMETER, 0, 43);
	begin(&p, 64);
	add_srh(&p, 2, 3, 1, false); /* segments left above last entry + 1 */
	add_inner4(&p);
	expect_drop(&p, SID_END, DROP_SRH_MALFORMED, ICMP6_PARAMETER, 0, 43);
	begin(&p, 64);
	add_srh(&p, 0, 1, 0, false); /* no segments at all */
	add_inner4(&p);
	expect_drop(&p, SID_END, DROP_SRH_MALFORMED, ICMP6_PARAMETER, 0, 43);
	/* A header that claims more than there is, to a SID that takes tunnels apart. */
	begin(&p, 64);
	add_srh(&p, 1, 0, 0, false);
	p.bytes[41] = 200;
	add_inner4(&p);
	expect_drop(&p, SID_END_DX4, DROP_SRH_MALFORMED, -1, 0, 0);
}

static void
end_moves_to_the_next_segment(void **state)
{
	struct srv6_packet got;
	struct build p;
	uint8_t *base;

	(void)state;
	begin(&p, 64);
	add_srh(&p, 3, 2, 2, false);
	add_inner4(&p);
	assert_int_equal(process(&p, SID_END, SID_PSP, &got, &base), SRV6_NEXT);
	assert_ptr_equal(got.ip, base); /* not the last segment yet: the SRH stays */
	assert_int_equal(got.ip[7], 63);
	assert_int_equal(got.ip[24 + 15], 2);
	assert_int_equal(got.ip[43], 1);
	free(base);

	begin(&p, 1);
	add_srh(&p, 2, 1, 1, false);
	add_inner4(&p);
	expect_drop(&p, SID_END, DROP_IP6_HOP_LIMIT, ICMP6_TIME_EXCEEDED, 0, 0);
}

static void
psp_patches_the_header_that_precedes(void **state)
{
	struct srv6_packet got;
	struct build p;
	uint8_t *base;

	(void)state;
	begin(&p, 64);
	add_options(&p, PROTO_DSTOPTS);
	add_srh(&p, 2, 1, 1, true);
	add_inner4(&p);
	assert_int_equal(process(&p, SID_END_X, SID_PSP, &got, &base), SRV6_NEXT);
	assert_int_equal(got.len, 40 + 8 + 20);
	assert_int_equal(got.ip[4] << 8 | got.ip[5], 8 + 20);
	assert_int_equal(got.ip[6], PROTO_DSTOPTS);
	assert_int_equal(got.ip[40], PROTO_IP4);
	assert_int_equal(got.ip[48], 0x45);
	assert_int_equal(got.ip[24 + 15], 1);
	assert_ptr_equal(got.ip + got.len, base + p.len);
	free(base);
}

static void
upper_layers(void **state)
{
	static const uint8_t echo[8] = {128}, udp[8] = {0, 1, 0, 2, 0, 8};
	struct srv6_packet got;
	struct build p;
	uint8_t *base;

	(void)state;
	begin(&p, 64);
	add_srh(&p, 1, 0, 0, false);
	add(&p, PROTO_ICMP6, echo, sizeof(echo));
	assert_int_equal(process(&p, SID_END_DT4, 0, &got, &base), SRV6_UPPER);
	assert_int_equal(got.proto, PROTO_ICMP6);
	assert_int_equal(got.upper, 40 + 24);
	free(base);

	begin(&p, 64);
	add(&p, PROTO_UDP, udp, sizeof(udp));
	expect_drop(&p, SID_END, DROP_SID_UPPER_LAYER, ICMP6_PARAMETER, ICMP6_PARAMETER_SR_UPPER,
		    40);
	/* The wrong inner protocol, a fragment, an authentication header. */
	begin(&p, 64);
	add_inner4(&p);
	expect_drop(&p, SID_END_DT6, DROP_SID_UPPER_LAYER, ICMP6_PARAMETER, 4, 40);
	expect_drop(&p, SID_END, DROP_SID_UPPER_LAYER, ICMP6_PARAMETER, 4, 40);
	begin(&p, 64);
	add(&p, PROTO_FRAGMENT, "\4\0\0\0\0\0\0\0", 8);
	add_inner4(&p);
	expect_drop(&p, SID_END_DX4, DROP_SID_UPPER_LAYER, ICMP6_PARAMETER, 4, 40);
	begin(&p, 64);
	add(&p, PROTO_AH, "\4\0\0\0\0\0\0\0", 8);
	add_inner4(&p);
	expect_drop(&p, SID_END_DX4, DROP_SID_UPPER_LAYER, ICMP6_PARAMETER, 4, 40);
}

static void
usd_and_usp(void **state)
{
	struct build p;

	(void)state;
	begin(&p, 64);
	add_srh(&p, 2, 0, 1, false);
	add_inner4(&p);
	expect_inner4(&p, SID_END, SID_USD);
	expect_inner4(&p, SID_END_X, SID_USD | SID_USP);
	expect_drop(&p, SID_END, DROP_SID_UPPER_LAYER, ICMP6_PARAMETER, 4, 40 + 40);
}

static void
other_routing_types(void **state)
{
	static const uint8_t done[8] = {PROTO_NONE, 0, 0, 0}, more[8] = {PROTO_NONE, 0, 0, 1};
	struct build p;

	(void)state;
	begin(&p, 64);
	add(&p, PROTO_ROUTING, done, 8);
	add_inner4(&p);
	expect_inner4(&p, SID_END_DT4, 0);
	begin(&p, 64);
	add(&p, PROTO_ROUTING, more, 8);
	add_inner4(&p);
	expect_drop(&p, SID_END_DT4, DROP_IP6_EXT_HEADER, ICMP6_PARAMETER, 0, 42);
}

static void
unknown_options(void **state)
{
	uint8_t options[8] = {PROTO_NONE, 0, 0x1e, 4};
	struct build p;

	(void)state;
	begin(&p, 64);
	add(&p, PROTO_DSTOPTS, options, 8); /* 00: skip */
	add_inner4(&p);
	expect_inner4(&p, SID_END_DX4, 0);
	p.bytes[42] = 0x5e; /* 01: drop */
	expect_drop(&p, SID_END_DX4, DROP_IP6_EXT_HEADER, -1, 0, 0);
	p.bytes[42] = 0x9e; /* 10: drop and say so */
	expect_drop(&p, SID_END_DX4, DROP_IP6_EXT_HEADER, ICMP6_PARAMETER, 2, 42);
	p.bytes[42] = 1;
	p.bytes[43] = 9; /* longer than its header */
	expect_drop(&p, SID_END_DX4, DROP_IP6_EXT_HEADER, -1, 0, 0);
}

/* Random headers, every length: nothing is read or written outside, and what
 * comes out lies within what came in. */
static void
random_packets(void **state)
{
	unsigned seed = 1;

	(void)state;
	for (unsigned n = 0; n < 200000; n++) {
		struct srv6_packet got;
		enum srv6_outcome outcome;
		struct build p;
		uint8_t *base;

		begin(&p, (uint8_t)(rand_r(&seed) % 4));
		for (int h = rand_r(&seed) % 4; h > 0; h--) {
			if (rand_r(&seed) % 2 != 0)
				add_options(&p,
					    rand_r(&seed) % 2 != 0 ? PROTO_DSTOPTS : PROTO_HOPOPTS);
			else
				add_srh(&p, (unsigned)rand_r(&seed) % 4,
					(unsigned)rand_r(&seed) % 4, (unsigned)rand_r(&seed) % 4,
					rand_r(&seed) % 2);
		}
		add_inner4(&p);
		for (int flips = rand_r(&seed) % 4; flips > 0; flips--)
			p.bytes[6 + (unsigned)rand_r(&seed) % (p.len - 6u)] =
				(uint8_t)rand_r(&seed);
		p.len = (uint16_t)(IP6_HEADER +
				   (unsigned)rand_r(&seed) % (p.len - IP6_HEADER + 1u));
		outcome = process(&p, (enum sid_behaviour)(rand_r(&seed) % SID_BEHAVIOUR_COUNT),
				  rand_r(&seed) % 8, &got, &base);
		if (outcome != SRV6_DROP) {
			assert_true(got.ip >= base && got.ip + got.len == base + p.len);
			assert_true(got.contiguous == got.len);
		}
		if (outcome == SRV6_UPPER)
			assert_true(got.upper <= got.len);
		free(base);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decapsulates_behind_any_headers),
		cmocka_unit_test(segments_left_must_be_zero_at_any_depth),
		cmocka_unit_test(a_list_that_lies_is_a_parameter_problem),
		cmocka_unit_test(end_moves_to_the_next_segment),
		cmocka_unit_test(psp_patches_the_header_that_precedes),
		cmocka_unit_test(upper_layers),
		cmocka_unit_test(usd_and_usp),
		cmocka_unit_test(other_routing_types),
		cmocka_unit_test(unknown_options),
		cmocka_unit_test(random_packets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
