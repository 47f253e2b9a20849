/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * ICMP messages are what the RFCs ask for, byte by byte, whatever segments a
 * packet is made of, and what is received is read no further than it reaches:
 * those packets lie in heap blocks of exactly their size.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>
#include <rte_eal.h>
#include <rte_mempool.h>

#include "icmp.h"
#include "ip.h"
#include "test_random.h"
#include "test_eal.h"

#define BUFFERS 511
#define ROOM	2048
#define SMALL	256 /* data room of buffers of which a packet needs many */
#define BYTES	4096

static struct rte_mempool *pool, *small_pool;

static const struct ip_addr own4 = {AF_INET, {192, 0, 2, 1}};
static const struct ip_addr own6 = {AF_INET6, {0x20, 1, 0x0d, 0xb8, [15] = 1}};
static const struct ip_addr peer4 = {AF_INET, {198, 51, 100, 7}};
static const struct ip_addr peer6 = {AF_INET6, {0x20, 1, 0x0d, 0xb8, 7, [15] = 7}};

static void
random_fill(uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)random_below(256);
}

static void
assert_nothing_out(void)
{
	assert_int_equal(rte_mempool_avail_count(pool), BUFFERS);
	assert_int_equal(rte_mempool_avail_count(small_pool), BUFFERS);
}

/* RFC 1071, a byte pair at a time; host order. */
static uint16_t
plain_sum(const uint8_t *p, size_t n, uint32_t sum)
{
	for (size_t i = 0; i < n; i += 2) {
		sum += (uint32_t)p[i] << 8 | (i + 1 < n ? p[i + 1] : 0);
		sum = (sum & 0xffff) + (sum >> 16);
	}
	return (uint16_t)((sum & 0xffff) + (sum >> 16));
}

/* The same with the pseudo-header of the IPv6 header h. */
static uint16_t
plain_sum6(const uint8_t *h, const uint8_t *p, size_t n)
{
	return plain_sum(p, n, plain_sum(h + 8, 32, (uint32_t)n + PROTO_ICMP6));
}

/* Memory of the heap under a segment, so that nothing can be read around it. */
static void
block_free(void *block, void *shared)
{
	free(block);
	free(shared);
}

static struct rte_mbuf *
exact_segment(const uint8_t *bytes, uint32_t n)
{
	struct rte_mbuf_ext_shared_info *shared = calloc(1, sizeof(*shared));
	struct rte_mbuf *s = rte_pktmbuf_alloc(pool);
	uint8_t *block = malloc(n);

	assert_true(shared != NULL && s != NULL && (block != NULL || n == 0));
	shared->free_cb = block_free;
	shared->fcb_opaque = shared;
	rte_mbuf_ext_refcnt_set(shared, 1);
	if (n > 0)
		memcpy(block, bytes, n);
	rte_pktmbuf_attach_extbuf(s, block, (uintptr_t)block, (uint16_t)n, shared);
	s->data_off = 0;
	s->data_len = (uint16_t)n;
	s->pkt_len = n;
	return s;
}

/* The first segment has `first` bytes, as far as there are, the others are of random length. */
static struct rte_mbuf *
exact_packet(const uint8_t *bytes, uint32_t n, uint32_t first)
{
	uint32_t done = RTE_MIN(n, first);
	struct rte_mbuf *packet = exact_segment(bytes, done);

	while (done < n) {
		uint32_t here = RTE_MIN(n - done, random_below(200));

		if (here == 0 && random_below(2))
			continue;
		assert_int_equal(rte_pktmbuf_chain(packet, exact_segment(bytes + done, here)), 0);
		done += here;
	}
	return packet;
}

/* Plain buffers of random lengths, which may be changed and have room in front. */
static struct rte_mbuf *
plain_packet(const uint8_t *bytes, uint32_t n, uint32_t first)
{
	struct rte_mbuf *packet = NULL, *s;

	for (uint32_t done = 0, here = RTE_MIN(n, first); done < n || packet == NULL;) {
		s = rte_pktmbuf_alloc(small_pool);
		assert_non_null(s);
		memcpy(rte_pktmbuf_append(s, (uint16_t)here), bytes + done, here);
		if (packet == NULL)
			packet = s;
		else
			assert_int_equal(rte_pktmbuf_chain(packet, s), 0);
		done += here;
		here = RTE_MIN(n - done, 1 + random_below(SMALL));
	}
	return packet;
}

static void
bytes_of(const struct rte_mbuf *packet, uint8_t *bytes)
{
	const char *reason;
	const uint8_t *p;

	if (rte_mbuf_check(packet, 1, &reason) != 0)
		fail_msg("%s", reason);
	p = rte_pktmbuf_read(packet, 0, packet->pkt_len, bytes);
	assert_non_null(p);
	if (p != bytes)
		memcpy(bytes, p, packet->pkt_len);
}

/* A valid IPv4 packet of random content. */
static void
make4(uint8_t *h, unsigned header_len, uint16_t len, uint8_t proto)
{
	random_fill(h, len);
	h[0] = (uint8_t)(0x40 | header_len / 4);
	ip_put16(h + 2, len);
	ip_put16(h + 6, 0);
	h[9] = proto;
	memcpy(h + 12, peer4.bytes, 4);
	memcpy(h + 16, own4.bytes, 4);
	for (unsigned i = 20; i < header_len; i++)
		h[i] = 1;
	ip4_sum_set(h, header_len);
}

static void
make6(uint8_t *h, uint16_t len, uint8_t proto)
{
	random_fill(h, len);
	h[0] = 0x60;
	ip_put16(h + 4, (uint16_t)(len - 40));
	h[6] = proto;
	memcpy(h + 8, peer6.bytes, 16);
	memcpy(h + 24, own6.bytes, 16);
}

static void
sum_over_segments(void **state)
{
	static uint8_t bytes[BYTES];

	(void)state;
	for (unsigned i = 0; i < 5000; i++) {
		uint32_t n = random_below(BYTES), offset = random_below(n + 1);
		uint32_t len = random_below(n - offset + 1);
		struct rte_mbuf *packet;

		random_fill(bytes, n);
		if (random_below(3) == 0)
			memset(bytes, 0xff, n); /* as many carries as can be */
		packet = exact_packet(bytes, n, random_below(300));
		assert_int_equal(rte_be_to_cpu_16(packet_sum(packet, offset, len)),
				 plain_sum(bytes + offset, len, 0));
		/* Beyond the end is nothing. */
		assert_int_equal(rte_be_to_cpu_16(packet_sum(packet, offset, n + 100)),
				 plain_sum(bytes + offset, n - offset, 0));
		assert_int_equal(packet_sum(packet, n + 1, 5), 0);
		rte_pktmbuf_free(packet);
	}
	assert_nothing_out();
}

static bool
allowed4(const uint8_t *bytes, uint16_t len)
{
	uint8_t front[15 + BYTES];
	struct rte_mbuf *packet;
	bool allowed;

	memcpy(front + 14, bytes, len);
	/* Ethernet padding that could be taken for the type of an echo request. */
	front[14 + len] = ICMP4_ECHO_REQUEST;
	packet = exact_packet(front, 15u + len, 14 + 60);
	allowed = icmp4_error_allowed(packet, 14, len);
	rte_pktmbuf_free(packet);
	return allowed;
}

/* RFC 1812 4.3.2.7, one by one. */
static void
error_about_which_ipv4_packets(void **state)
{
	static const struct {
		uint8_t src[4], dst[4];
		bool allowed;
	} cases[] = {
		{{10, 0, 0, 1}, {10, 0, 0, 2}, true},
		{{10, 0, 0, 1}, {224, 0, 0, 5}, false},
		{{10, 0, 0, 1}, {239, 255, 255, 255}, false},
		{{10, 0, 0, 1}, {240, 0, 0, 1}, true},
		{{10, 0, 0, 1}, {255, 255, 255, 255}, false},
		{{10, 0, 0, 1}, {255, 255, 255, 254}, true},
		{{0, 0, 0, 0}, {10, 0, 0, 2}, false},
		{{0, 1, 2, 3}, {10, 0, 0, 2}, false},
		{{127, 0, 0, 1}, {10, 0, 0, 2}, false},
		{{224, 0, 0, 1}, {10, 0, 0, 2}, false},
		{{240, 0, 0, 1}, {10, 0, 0, 2}, false},
		{{255, 255, 255, 255}, {10, 0, 0, 2}, false},
		{{169, 254, 1, 1}, {10, 0, 0, 2}, true}, /* a neighbour may have no other */
	};
	uint8_t h[200];

	(void)state;
	for (unsigned i = 0; i < RTE_DIM(cases); i++) {
		make4(h, 20, 100, PROTO_UDP);
		memcpy(h + 12, cases[i].src, 4);
		memcpy(h + 16, cases[i].dst, 4);
		if (allowed4(h, 100) != cases[i].allowed)
			fail_msg("case %u", i);
	}
	/* Fragments: only about the first. */
	make4(h, 20, 100, PROTO_UDP);
	ip_put16(h + 6, IP4_DONT_FRAGMENT);
	assert_true(allowed4(h, 100));
	ip_put16(h + 6, IP4_MORE_FRAGMENTS);
	assert_true(allowed4(h, 100));
	ip_put16(h + 6, IP4_MORE_FRAGMENTS | 1);
	assert_false(allowed4(h, 100));
	ip_put16(h + 6, 0x1fff);
	assert_false(allowed4(h, 100));
	/* Every type of ICMP, behind every length of header. */
	for (unsigned header_len = 20; header_len <= 60; header_len += 4) {
		for (unsigned type = 0; type < 256; type++) {
			bool query = type == 0 || (type >= 8 && type <= 10) ||
				     (type >= 13 && type <= 18) || type == 42 || type == 43;

			make4(h, header_len, 100, PROTO_ICMP);
			h[header_len] = (uint8_t)type;
			assert_int_equal(allowed4(h, 100), query);
		}
		h[header_len] = ICMP4_ECHO_REQUEST;
		for (uint16_t len = 0; len <= 100; len++)
			assert_int_equal(allowed4(h, len), len > header_len);
	}
	assert_nothing_out();
}

static bool
allowed6(const uint8_t *bytes, uint16_t len, uint8_t type, uint8_t code)
{
	const struct icmp_error error = {.type = type, .code = code};
	uint8_t front[15 + BYTES];
	struct rte_mbuf *packet;
	bool allowed;

	memcpy(front + 14, bytes, len);
	front[14 + len] = ICMP6_ECHO_REQUEST;
	packet = exact_packet(front, 15u + len, 14 + 40);
	allowed = icmp6_error_allowed(packet, 14, len, &error);
	rte_pktmbuf_free(packet);
	return allowed;
}

/* RFC 4443 2.4(e), one by one. */
static void
error_about_which_ipv6_packets(void **state)
{
	uint8_t h[1500];

	(void)state;
	/* (e.1), (e.2): every type, and behind extension headers too. */
	for (unsigned type = 0; type < 256; type++) {
		bool informational = type >= 128 && type != ICMP6_REDIRECT;

		make6(h, 200, PROTO_ICMP6);
		h[40] = (uint8_t)type;
		assert_int_equal(allowed6(h, 200, ICMP6_UNREACHABLE, 0), informational);
		make6(h, 200, PROTO_HOPOPTS);
		h[40] = PROTO_ROUTING;
		h[41] = 1;
		h[56] = PROTO_FRAGMENT;
		h[57] = 2;
		h[59] = 0;
		h[80] = PROTO_ICMP6;
		ip_put16(h + 82, 1); /* first fragment */
		h[88] = (uint8_t)type;
		assert_int_equal(allowed6(h, 200, ICMP6_TIME_EXCEEDED, 0), informational);
		/* Later fragments have no type that could be read. */
		ip_put16(h + 82, 8);
		assert_true(allowed6(h, 200, ICMP6_TOO_BIG, 0));
	}
	/* (e.3) and its two exceptions. */
	make6(h, 100, PROTO_UDP);
	h[24] = 0xff;
	assert_false(allowed6(h, 100, ICMP6_UNREACHABLE, 0));
	assert_false(allowed6(h, 100, ICMP6_TIME_EXCEEDED, 0));
	assert_false(allowed6(h, 100, ICMP6_PARAMETER, ICMP6_PARAMETER_HEADER));
	assert_false(allowed6(h, 100, ICMP6_PARAMETER, ICMP6_PARAMETER_NEXT_HEADER));
	assert_true(allowed6(h, 100, ICMP6_PARAMETER, ICMP6_PARAMETER_OPTION));
	assert_true(allowed6(h, 100, ICMP6_TOO_BIG, 0));
	/* (e.6) */
	make6(h, 100, PROTO_UDP);
	assert_true(allowed6(h, 100, ICMP6_UNREACHABLE, 0));
	memset(h + 8, 0, 16);
	assert_false(allowed6(h, 100, ICMP6_UNREACHABLE, 0));
	h[23] = 1;
	assert_false(allowed6(h, 100, ICMP6_UNREACHABLE, 0));
	h[8] = 0xff;
	assert_false(allowed6(h, 100, ICMP6_UNREACHABLE, 0));
	/* Cut short anywhere: never about what may be an ICMPv6 error. */
	make6(h, 200, PROTO_DSTOPTS);
	h[40] = PROTO_ICMP6;
	h[41] = 2;
	h[64] = ICMP6_ECHO_REQUEST;
	for (uint16_t len = 0; len <= 100; len++)
		assert_int_equal(allowed6(h, len, ICMP6_TIME_EXCEEDED, 0),
				 (len >= 40 && len < 64) || len > 64);
	/* Headers longer than we look into. */
	make6(h, 1500, PROTO_DSTOPTS);
	h[40] = PROTO_ICMP6;
	h[41] = 100;
	h[40 + 808] = ICMP6_ECHO_REQUEST;
	assert_false(allowed6(h, 1500, ICMP6_TIME_EXCEEDED, 0));
	assert_nothing_out();
}

static void
ipv4_errors(void **state)
{
	static const struct {
		struct icmp_error error;
		uint8_t rest[4];
	} kinds[] = {
		{{ICMP4_UNREACHABLE, ICMP4_UNREACHABLE_HOST, 0}, {0, 0, 0, 0}},
		{{ICMP4_UNREACHABLE, ICMP4_UNREACHABLE_FRAG_NEEDED, 1400}, {0, 0, 5, 120}},
		{{ICMP4_UNREACHABLE, ICMP4_UNREACHABLE_FRAG_NEEDED, 70000}, {0, 0, 255, 255}},
		{{ICMP4_TIME_EXCEEDED, 0, 0}, {0, 0, 0, 0}},
		{{ICMP4_PARAMETER, 0, 21}, {21, 0, 0, 0}},
	};

	(void)state;
	for (unsigned i = 0; i < 3000; i++) {
		unsigned kind = i % RTE_DIM(kinds), header_len = 20 + 4 * random_below(11);
		uint16_t len = (uint16_t)(header_len + random_below(random_below(2) ? 100 : 1400));
		uint16_t l3 = (uint16_t)random_below(30), padding = (uint16_t)random_below(20);
		uint32_t quoted = RTE_MIN(len, 576u - 28);
		uint8_t bytes[BYTES], e[BYTES];
		struct rte_mbuf *packet, *m;

		random_fill(bytes, l3);
		make4(bytes + l3, header_len, len, (uint8_t)random_below(256));
		random_fill(bytes + l3 + len, padding);
		packet = exact_packet(bytes, (uint32_t)l3 + len + padding,
				      l3 + 60 + random_below(100));
		m = icmp4_error(pool, packet, l3, len, &kinds[kind].error, &own4);
		assert_non_null(m);
		assert_int_equal(m->pkt_len, 28 + quoted);
		assert_true(rte_pktmbuf_headroom(m) >= RTE_PKTMBUF_HEADROOM);
		bytes_of(m, e);
		/* RFC 1812 4.3.2.5: precedence; RFC 6864: DF and no identification. */
		assert_memory_equal(e, ((const uint8_t[]){0x45, 0xc0}), 2);
		assert_int_equal(ip_get16(e + 2), m->pkt_len);
		assert_memory_equal(e + 4, ((const uint8_t[]){0, 0, 0x40, 0, 64, 1}), 6);
		assert_int_equal(plain_sum(e, 20, 0), 0xffff);
		assert_memory_equal(e + 12, own4.bytes, 4);
		assert_memory_equal(e + 16, peer4.bytes, 4);
		assert_int_equal(e[20], kinds[kind].error.type);
		assert_int_equal(e[21], kinds[kind].error.code);
		assert_int_equal(plain_sum(e + 20, m->pkt_len - 20, 0), 0xffff);
		assert_memory_equal(e + 24, kinds[kind].rest, 4);
		assert_memory_equal(e + 28, bytes + l3, quoted);
		rte_pktmbuf_free(packet);
		rte_pktmbuf_free(m);
		assert_nothing_out();
	}
}

static void
ipv6_errors(void **state)
{
	static const struct icmp_error kinds[] = {
		{ICMP6_UNREACHABLE, ICMP6_UNREACHABLE_ADDRESS, 0},
		{ICMP6_TOO_BIG, 0, 1400},
		{ICMP6_TOO_BIG, 0, 70000},
		{ICMP6_TIME_EXCEEDED, 0, 0},
		{ICMP6_PARAMETER, ICMP6_PARAMETER_SR_UPPER, 300},
	};

	(void)state;
	for (unsigned i = 0; i < 3000; i++) {
		const struct icmp_error *kind = &kinds[i % RTE_DIM(kinds)];
		uint16_t len = (uint16_t)(40 + random_below(random_below(2) ? 100 : 2000));
		uint16_t l3 = (uint16_t)random_below(30), padding = (uint16_t)random_below(20);
		uint32_t quoted = RTE_MIN(len, 1280u - 48);
		uint8_t bytes[BYTES], e[BYTES];
		struct rte_mbuf *packet, *m;

		random_fill(bytes, l3);
		make6(bytes + l3, len, (uint8_t)random_below(256));
		random_fill(bytes + l3 + len, padding);
		packet = exact_packet(bytes, (uint32_t)l3 + len + padding,
				      l3 + 40 + random_below(100));
		m = icmp6_error(pool, packet, l3, len, kind, &own6);
		assert_non_null(m);
		assert_int_equal(m->pkt_len, 48 + quoted);
		assert_true(rte_pktmbuf_headroom(m) >= RTE_PKTMBUF_HEADROOM);
		bytes_of(m, e);
		assert_memory_equal(e, ((const uint8_t[]){0x60, 0, 0, 0}), 4);
		assert_int_equal(ip_get16(e + 4), m->pkt_len - 40);
		assert_memory_equal(e + 6, ((const uint8_t[]){58, 64}), 2);
		assert_memory_equal(e + 8, own6.bytes, 16);
		assert_memory_equal(e + 24, peer6.bytes, 16);
		assert_int_equal(e[40], kind->type);
		assert_int_equal(e[41], kind->code);
		assert_int_equal(plain_sum6(e, e + 40, m->pkt_len - 40), 0xffff);
		assert_int_equal((uint32_t)ip_get16(e + 44) << 16 | ip_get16(e + 46), kind->value);
		assert_memory_equal(e + 48, bytes + l3, quoted);
		rte_pktmbuf_free(packet);
		rte_pktmbuf_free(m);
		assert_nothing_out();
	}
}

static void
errors_without_buffers(void **state)
{
	const struct icmp_error error = {ICMP4_TIME_EXCEEDED, 0, 0};
	uint8_t bytes[1500], e[BYTES];
	struct rte_mbuf *packet, *m, *held[BUFFERS];

	(void)state;
	make4(bytes, 20, 1500, PROTO_UDP);
	packet = exact_packet(bytes, 1500, 60);
	/* A small buffer: a shorter quote, as right as any. */
	m = icmp4_error(small_pool, packet, 0, 1500, &error, &own4);
	assert_non_null(m);
	assert_int_equal(m->pkt_len, SMALL);
	bytes_of(m, e);
	assert_int_equal(ip_get16(e + 2), SMALL);
	assert_int_equal(plain_sum(e + 20, SMALL - 20, 0), 0xffff);
	rte_pktmbuf_free(m);
	assert_int_equal(rte_pktmbuf_alloc_bulk(small_pool, held, BUFFERS), 0);
	assert_null(icmp4_error(small_pool, packet, 0, 1500, &error, &own4));
	assert_null(icmp6_error(small_pool, packet, 0, 1500, &error, &own6));
	assert_null(icmp_echo_request(small_pool, &own4, &peer4, 1, 1, 8));
	rte_pktmbuf_free_bulk(held, BUFFERS);
	/* Half a request. */
	for (unsigned there = 1; there < 5; there++) {
		assert_int_equal(rte_pktmbuf_alloc_bulk(small_pool, held, BUFFERS - there), 0);
		assert_null(icmp_echo_request(small_pool, &own4, &peer4, 1, 1, 4 * SMALL));
		assert_int_equal(rte_mempool_avail_count(small_pool), there);
		rte_pktmbuf_free_bulk(held, BUFFERS - there);
	}
	rte_pktmbuf_free(packet);
	assert_nothing_out();
}

static void
ipv4_echo(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 3000; i++) {
		unsigned header_len = random_below(2) ? 20 : 20 + 4 * random_below(11);
		uint16_t len =
			(uint16_t)(header_len + 8 + random_below(random_below(2) ? 9 : 1500));
		uint16_t l3 = (uint16_t)random_below(20), padding = (uint16_t)random_below(20);
		uint16_t upper = (uint16_t)header_len;
		uint8_t bytes[BYTES], r[BYTES], *h = bytes + l3;
		struct rte_mbuf *packet;

		random_fill(bytes, sizeof(bytes));
		make4(h, header_len, len, PROTO_ICMP);
		ip_put16(h + 6, random_below(2) ? IP4_DONT_FRAGMENT : 0);
		memset(h + 16, 0xff, 4); /* to whom it was sent does not matter */
		ip4_sum_set(h, header_len);
		h[upper] = ICMP4_ECHO_REQUEST;
		ip_put16(h + upper + 2, 0);
		ip_put16(h + upper + 2, (uint16_t)~plain_sum(h + upper, (size_t)len - upper, 0));
		/* The ICMP header may be cut anywhere. */
		packet = plain_packet(bytes, (uint32_t)l3 + len + padding,
				      l3 + header_len + random_below(10));
		assert_int_equal(icmp4_echo_reply(packet, l3, len, upper, &own4), 0);

		/* The reply by the book: recomputed instead of patched. */
		memcpy(h + 16, peer4.bytes, 4);
		memcpy(h + 12, own4.bytes, 4);
		h[8] = 64;
		ip_put16(h + 10, 0);
		ip_put16(h + 10, (uint16_t)~plain_sum(h, header_len, 0));
		h[upper] = ICMP4_ECHO_REPLY;
		ip_put16(h + upper + 2, 0);
		ip_put16(h + upper + 2, (uint16_t)~plain_sum(h + upper, (size_t)len - upper, 0));
		assert_int_equal(packet->pkt_len, l3 + len);
		bytes_of(packet, r);
		assert_memory_equal(r, bytes, l3 + len);
		rte_pktmbuf_free(packet);
		assert_nothing_out();
	}
}

static void
refused4(const uint8_t *bytes, uint32_t n, uint16_t len, uint16_t upper, int error)
{
	struct rte_mbuf *packet = exact_packet(bytes, n, 60);
	uint8_t r[BYTES];

	assert_int_equal(icmp4_echo_reply(packet, 0, len, upper, &own4), error);
	bytes_of(packet, r);
	assert_memory_equal(r, bytes, n);
	rte_pktmbuf_free(packet);
}

static void
ipv4_echo_refused(void **state)
{
	uint8_t h[200], good[200];

	(void)state;
	make4(h, 32, 100, PROTO_ICMP);
	h[32] = ICMP4_ECHO_REQUEST;
	ip_put16(h + 34, 0);
	ip_put16(h + 34, (uint16_t)~plain_sum(h + 32, 68, 0));
	memcpy(good, h, sizeof(h));
	for (uint16_t len = 0; len < 100; len++)
		refused4(h, len, len, 32, -EBADMSG);
	refused4(h, 99, 100, 32, -EBADMSG); /* says more than there is */
	for (unsigned i = 33; i < 100; i++) {
		h[i] ^= 0x20;
		refused4(h, 100, 100, 32, -EBADMSG);
		h[i] ^= 0x20;
	}
	for (unsigned type = 0; type < 256; type++) {
		if (type == ICMP4_ECHO_REQUEST)
			continue;
		h[32] = (uint8_t)type;
		refused4(h, 100, 100, 32, -ENOENT);
	}
	memcpy(h, good, sizeof(h));
	ip_put16(h + 6, IP4_MORE_FRAGMENTS);
	refused4(h, 100, 100, 32, -EBADMSG);
	ip_put16(h + 6, 1);
	refused4(h, 100, 100, 32, -EBADMSG);
	memcpy(h, good, sizeof(h));
	memcpy(h + 20, ((const uint8_t[]){131, 7, 4, 10, 0, 0, 9}), 7);
	refused4(h, 100, 100, 32, -EBADMSG);
	h[20] = 7;
	h[21] = 77;
	refused4(h, 100, 100, 32, -EBADMSG);
	h[0] = 0x44;
	refused4(h, 100, 100, 32, -EBADMSG);
	assert_nothing_out();
}

/* An IPv6 echo request behind `extra` bytes of destination options. */
static void
make_echo6(uint8_t *h, uint16_t len, uint16_t extra)
{
	uint16_t upper = (uint16_t)(40 + extra);

	make6(h, len, extra > 0 ? PROTO_DSTOPTS : PROTO_ICMP6);
	if (extra > 0) {
		h[40] = PROTO_ICMP6;
		h[41] = (uint8_t)(extra / 8 - 1);
	}
	h[upper] = ICMP6_ECHO_REQUEST;
	ip_put16(h + upper + 2, 0);
	ip_put16(h + upper + 2, (uint16_t)~plain_sum6(h, h + upper, (size_t)len - upper));
}

static void
ipv6_echo(void **state)
{
	const struct ip_addr other = {AF_INET6, {0xfd, 0, 1, [15] = 0x42}};

	(void)state;
	for (unsigned i = 0; i < 4000; i++) {
		uint16_t extra = (uint16_t)(random_below(2) ? 0 : 8 * random_below(40));
		uint16_t upper = (uint16_t)(40 + extra);
		uint16_t len = (uint16_t)(upper + 8 + random_below(random_below(2) ? 9 : 1500));
		uint16_t l3 = (uint16_t)random_below(20), padding = (uint16_t)random_below(20);
		/* The reply need not come from where the request went: anycast, a SID. */
		const struct ip_addr *from = random_below(2) ? &own6 : &other;
		uint8_t bytes[BYTES], r[BYTES], expected[BYTES], *h = bytes + l3;
		uint16_t icmp_len = (uint16_t)(len - upper), new_len = len;
		struct rte_mbuf *packet;

		random_fill(bytes, sizeof(bytes));
		make_echo6(h, len, extra);
		packet = plain_packet(bytes, (uint32_t)l3 + len + padding,
				      l3 + 40 + random_below(150));
		assert_int_equal(icmp6_echo_reply(packet, l3, &new_len, upper, from), 0);
		assert_int_equal(new_len, 40 + icmp_len);

		memcpy(expected, bytes, l3 + 40u);
		memcpy(expected + l3 + 40, h + upper, icmp_len);
		h = expected + l3;
		ip_put16(h + 4, icmp_len);
		h[6] = PROTO_ICMP6;
		h[7] = 64;
		memcpy(h + 8, from->bytes, 16);
		memcpy(h + 24, peer6.bytes, 16);
		h[40] = ICMP6_ECHO_REPLY;
		ip_put16(h + 42, 0);
		ip_put16(h + 42, (uint16_t)~plain_sum6(h, h + 40, icmp_len));
		assert_int_equal(packet->pkt_len, l3 + new_len);
		assert_true(packet->data_len >= l3 + 40);
		bytes_of(packet, r);
		assert_memory_equal(r, expected, l3 + new_len);
		rte_pktmbuf_free(packet);
		assert_nothing_out();
	}
}

static void
refused6(const uint8_t *bytes, uint32_t n, uint16_t len, uint16_t upper, int error)
{
	struct rte_mbuf *packet = exact_packet(bytes, n, 40);
	uint16_t new_len = len;
	uint8_t r[BYTES];

	assert_int_equal(icmp6_echo_reply(packet, 0, &new_len, upper, &own6), error);
	assert_int_equal(new_len, len);
	bytes_of(packet, r);
	assert_memory_equal(r, bytes, n);
	rte_pktmbuf_free(packet);
}

static void
ipv6_echo_refused(void **state)
{
	struct rte_mbuf *packet;
	uint8_t h[200];

	(void)state;
	make_echo6(h, 120, 16);
	for (uint16_t len = 0; len < 120; len++)
		refused6(h, len, len, 56, -EBADMSG);
	refused6(h, 119, 120, 56, -EBADMSG);
	refused6(h, 120, 120, 39, -EBADMSG);
	/* The pseudo-header is part of it. */
	for (unsigned i = 8; i < 120; i++) {
		if (i >= 40 && i <= 56)
			continue;
		h[i] ^= 0x20;
		refused6(h, 120, 120, 56, -EBADMSG);
		h[i] ^= 0x20;
	}
	h[56] = ICMP6_ECHO_REPLY;
	refused6(h, 120, 120, 56, -ENOENT);
	h[56] = ICMP6_ECHO_REQUEST;
	/* Good, but somebody else holds the memory. */
	packet = exact_packet(h, 120, 120);
	rte_mbuf_ext_refcnt_set(packet->shinfo, 2);
	assert_int_equal(icmp6_echo_reply(packet, 0, &(uint16_t){120}, 56, &own6), -ENOBUFS);
	rte_mbuf_ext_refcnt_set(packet->shinfo, 1);
	rte_pktmbuf_free(packet);
	assert_nothing_out();
}

/* Put a link header in front, as it would arrive, in other segments. */
static struct rte_mbuf *
arrived(struct rte_mbuf *m, uint16_t *l3, uint16_t *len)
{
	uint8_t bytes[BYTES];
	struct rte_mbuf *packet;

	*l3 = 14;
	*len = (uint16_t)m->pkt_len;
	assert_true(m->pkt_len + 14 <= sizeof(bytes));
	random_fill(bytes, 14);
	bytes_of(m, bytes + 14);
	rte_pktmbuf_free(m);
	packet = plain_packet(bytes, 14u + *len, 14 + 60);
	return packet;
}

static void
request_reply_answer(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 3000; i++) {
		bool v4 = random_below(2);
		const struct ip_addr *own = v4 ? &own4 : &own6, *peer = v4 ? &peer4 : &peer6;
		uint16_t ident = (uint16_t)random_below(65536);
		uint16_t sequence = (uint16_t)random_below(65536);
		uint16_t size = (uint16_t)random_below(random_below(2) ? 10 : 3000);
		uint16_t upper = v4 ? 20 : 40, l3, len, packet_id;
		struct icmp_answer answer;
		uint8_t bytes[BYTES];
		struct rte_mbuf *m;

		m = icmp_echo_request(random_below(2) ? small_pool : pool, own, peer, ident,
				      sequence, size);
		assert_non_null(m);
		assert_int_equal(m->pkt_len, upper + 8u + size);
		assert_true(rte_pktmbuf_headroom(m) >= RTE_PKTMBUF_HEADROOM);
		bytes_of(m, bytes);
		if (v4) {
			assert_int_equal(ip4_check(bytes, m->pkt_len, &packet_id), 0);
			assert_int_equal(ip_get16(bytes + 6), 0);
			assert_int_equal(bytes[9], PROTO_ICMP);
			assert_memory_equal(bytes + 12, own->bytes, 4);
			assert_memory_equal(bytes + 16, peer->bytes, 4);
			assert_int_equal(plain_sum(bytes + 20, 8u + size, 0), 0xffff);
			assert_int_equal(bytes[20], ICMP4_ECHO_REQUEST);
		} else {
			assert_int_equal(bytes[0], 0x60);
			assert_int_equal(ip_get16(bytes + 4), 8 + size);
			assert_int_equal(bytes[6], PROTO_ICMP6);
			assert_memory_equal(bytes + 8, own->bytes, 16);
			assert_memory_equal(bytes + 24, peer->bytes, 16);
			assert_int_equal(plain_sum6(bytes, bytes + 40, 8u + size), 0xffff);
			assert_int_equal(bytes[40], ICMP6_ECHO_REQUEST);
		}
		assert_int_equal(ip_get16(bytes + upper + 4), ident);
		assert_int_equal(ip_get16(bytes + upper + 6), sequence);
		for (unsigned k = 0; k < size; k++)
			assert_int_equal(bytes[upper + 8 + k], k & 0xff);

		/* The peer answers, and we read it. */
		m = arrived(m, &l3, &len);
		assert_int_equal(icmp_answer_parse(m, l3, len, upper, own->family, &answer),
				 -ENOENT);
		if (v4)
			assert_int_equal(icmp4_echo_reply(m, l3, len, upper, peer), 0);
		else
			assert_int_equal(icmp6_echo_reply(m, l3, &len, upper, peer), 0);
		assert_int_equal(icmp_answer_parse(m, l3, len, upper, own->family, &answer), 0);
		assert_int_equal(answer.type, v4 ? ICMP4_ECHO_REPLY : ICMP6_ECHO_REPLY);
		assert_int_equal(answer.code, 0);
		assert_int_equal(answer.ident, ident);
		assert_int_equal(answer.sequence, sequence);
		assert_int_equal(answer.size, size);
		assert_int_equal(answer.ttl, 64);
		assert_true(ip_addr_equal(&answer.from, peer));
		rte_pktmbuf_free(m);
		assert_nothing_out();
	}
}

static void
request_error_answer(void **state)
{
	static const struct icmp_error errors4[] = {
		{ICMP4_UNREACHABLE, ICMP4_UNREACHABLE_NET, 0},
		{ICMP4_UNREACHABLE, ICMP4_UNREACHABLE_FRAG_NEEDED, 1280},
		{ICMP4_TIME_EXCEEDED, 0, 0},
		{ICMP4_PARAMETER, 0, 9},
	};
	static const struct icmp_error errors6[] = {
		{ICMP6_UNREACHABLE, ICMP6_UNREACHABLE_PORT, 0},
		{ICMP6_TOO_BIG, 0, 1280},
		{ICMP6_TIME_EXCEEDED, 0, 0},
		{ICMP6_PARAMETER, ICMP6_PARAMETER_SR_UPPER, 6},
	};
	static const struct ip_addr router4 = {AF_INET, {203, 0, 113, 9}};
	static const struct ip_addr router6 = {AF_INET6, {0x20, 1, 0x0d, 0xb8, 9, [15] = 9}};

	(void)state;
	for (unsigned i = 0; i < 2000; i++) {
		bool v4 = random_below(2);
		const struct icmp_error *error = v4 ? &errors4[i % 4] : &errors6[i % 4];
		const struct ip_addr *own = v4 ? &own4 : &own6;
		uint16_t upper = v4 ? 20 : 40, l3, len;
		struct icmp_answer answer;
		struct rte_mbuf *m, *e;

		m = icmp_echo_request(small_pool, own, v4 ? &peer4 : &peer6, 77, (uint16_t)i,
				      (uint16_t)random_below(2000));
		m = arrived(m, &l3, &len);
		if (v4) {
			assert_true(icmp4_error_allowed(m, l3, len));
			e = icmp4_error(pool, m, l3, len, error, &router4);
		} else {
			assert_true(icmp6_error_allowed(m, l3, len, error));
			e = icmp6_error(pool, m, l3, len, error, &router6);
		}
		rte_pktmbuf_free(m);
		m = arrived(e, &l3, &len);
		/* No errors about errors. */
		assert_false(v4 ? icmp4_error_allowed(m, l3, len)
				: icmp6_error_allowed(m, l3, len, error));
		assert_int_equal(icmp_answer_parse(m, l3, len, upper, own->family, &answer), 0);
		assert_int_equal(answer.type, error->type);
		assert_int_equal(answer.code, error->code);
		assert_int_equal(answer.ident, 77);
		assert_int_equal(answer.sequence, i);
		assert_int_equal(answer.size, 0);
		assert_true(ip_addr_equal(&answer.from, v4 ? &router4 : &router6));
		rte_pktmbuf_free(m);
		assert_nothing_out();
	}
}

static int
parse_exact(const uint8_t *bytes, uint32_t n, uint16_t len, uint16_t upper, uint8_t family)
{
	struct rte_mbuf *packet = exact_packet(bytes, n, family == AF_INET ? 60 : 40);
	struct icmp_answer answer;
	int rc = icmp_answer_parse(packet, 0, len, upper, family, &answer);

	rte_pktmbuf_free(packet);
	return rc;
}

/* Set the checksum of an ICMP message behind a plain header. */
static void
seal(uint8_t *h, uint16_t len, bool v4)
{
	uint8_t *icmp = h + (v4 ? 20 : 40);
	uint16_t n = (uint16_t)(len - (v4 ? 20 : 40));

	ip_put16(icmp + 2, 0);
	ip_put16(icmp + 2, (uint16_t) ~(v4 ? plain_sum(icmp, n, 0) : plain_sum6(h, icmp, n)));
}

static void
answers_that_are_none(void **state)
{
	uint8_t h[300], *q;

	(void)state;
	for (unsigned v4 = 0; v4 < 2; v4++) {
		uint8_t family = v4 ? AF_INET : AF_INET6;
		uint16_t upper = v4 ? 20 : 40, len = 200;

		if (v4)
			make4(h, 20, len, PROTO_ICMP);
		else
			make6(h, len, PROTO_ICMP6);
		h[upper] = v4 ? ICMP4_TIME_EXCEEDED : ICMP6_TIME_EXCEEDED;
		q = h + upper + 8;
		if (v4) {
			make4(q, 20, 100, PROTO_ICMP);
			memcpy(q + 12, own4.bytes, 4);
			q[20] = ICMP4_ECHO_REQUEST;
		} else {
			make6(q, 100, PROTO_ICMP6);
			memcpy(q + 8, own6.bytes, 16);
			q[40] = ICMP6_ECHO_REQUEST;
		}
		seal(h, len, v4);
		assert_int_equal(parse_exact(h, len, len, upper, family), 0);
		assert_int_equal(parse_exact(h, len, (uint16_t)(len + 1), upper, family), -EBADMSG);

		/* Every bit but the type counts for the checksum. */
		for (unsigned i = upper + 1u; i < len; i++) {
			h[i] ^= 0x08;
			assert_int_equal(parse_exact(h, len, len, upper, family), -EBADMSG);
			h[i] ^= 0x08;
		}
		/* Quotes too short, every length. */
		for (uint16_t n = 0; n < len; n++) {
			int expected = n < upper + 8 ? -EBADMSG : n < 2 * upper + 16 ? -ENOENT : 0;

			if (n >= upper + 8)
				seal(h, n, v4);
			assert_int_equal(parse_exact(h, n, n, upper, family), expected);
		}
		/* Not an echo request, not ours, not plain. */
		seal(h, len, v4);
		for (unsigned k = 0; k < 5; k++) {
			static const uint8_t at4[] = {20, 12, 9, 0, 7}, at6[] = {40, 8, 6, 0, 39};
			unsigned at = v4 ? at4[k] : at6[k];
			uint8_t was = q[at];

			if (!v4 && k == 4)
				continue;
			q[at] ^= 0x13;
			seal(h, len, v4);
			assert_int_equal(parse_exact(h, len, len, upper, family), -ENOENT);
			q[at] = was;
		}
		/* Other types are somebody else's. */
		for (unsigned type = 0; type < 256; type++) {
			bool reply = type == (v4 ? ICMP4_ECHO_REPLY : ICMP6_ECHO_REPLY);
			bool error =
				v4 ? type == 3 || type == 11 || type == 12 : type >= 1 && type <= 4;

			h[upper] = (uint8_t)type;
			seal(h, len, v4);
			assert_int_equal(parse_exact(h, len, len, upper, family),
					 reply || error ? 0 : -ENOENT);
		}
	}
	assert_nothing_out();
}

static void
requests_of_every_size(void **state)
{
	struct rte_mbuf *m;

	(void)state;
	assert_null(icmp_echo_request(pool, &own4, &peer4, 1, 1, 65508));
	assert_null(icmp_echo_request(pool, &own6, &peer6, 1, 1, 65528));
	m = icmp_echo_request(pool, &own4, &peer4, 1, 1, 65507);
	assert_non_null(m);
	assert_int_equal(m->pkt_len, 65535);
	assert_int_equal(packet_sum(m, 20, 65515), 0xffff);
	rte_pktmbuf_free(m);
	m = icmp_echo_request(pool, &own6, &peer6, 1, 1, 65527);
	assert_non_null(m);
	assert_int_equal(m->pkt_len, 65575);
	rte_pktmbuf_free(m);
	assert_nothing_out();
}

static void
token_bucket_limits(void **state)
{
	struct token_bucket b;
	uint64_t now = UINT64_C(123456789012), start_time = now;
	unsigned given = 0;

	(void)state;
	token_bucket_init(&b, 1000000, 100, 5);
	for (unsigned i = 0; i < 5; i++)
		assert_true(token_bucket_take(&b, now));
	assert_false(token_bucket_take(&b, now));
	assert_false(token_bucket_take(&b, now + 9999));
	assert_true(token_bucket_take(&b, now + 10000));
	assert_false(token_bucket_take(&b, now + 10001));
	/* Nothing is lost between two tokens, and nothing gained by asking often. */
	assert_false(token_bucket_take(&b, now + 19999));
	assert_true(token_bucket_take(&b, now + 20000));
	/* A clock of another socket may be a little behind. */
	assert_false(token_bucket_take(&b, now - 100000));
	assert_false(token_bucket_take(&b, now + 20001));
	/* After a long rest a burst, and no more. */
	now += UINT64_C(1) << 50;
	for (unsigned i = 0; i < 5; i++)
		assert_true(token_bucket_take(&b, now));
	assert_false(token_bucket_take(&b, now));
	/* Half used, rested: again a burst, and no more. */
	now += 1000000;
	assert_true(token_bucket_take(&b, now));
	now += 1000000;
	for (unsigned i = 0; i < 5; i++)
		assert_true(token_bucket_take(&b, now));
	assert_false(token_bucket_take(&b, now));

	/* Three due where one is missing. */
	now += 1000000;
	assert_true(token_bucket_take(&b, now));
	now += 30000;
	for (unsigned i = 0; i < 5; i++)
		assert_true(token_bucket_take(&b, now));
	assert_false(token_bucket_take(&b, now));

	/* Over ten seconds of random calls: the rate, and the burst once. */
	token_bucket_init(&b, 1000000, 100, 5);
	now = start_time;
	while (now < start_time + 10000000) {
		given += token_bucket_take(&b, now);
		now += random_below(2000);
	}
	assert_in_range(given, 1000, 1005);

	token_bucket_init(&b, 1000000, 0, 5);
	assert_false(token_bucket_take(&b, now));
	token_bucket_init(&b, 1000000, 5, 0);
	assert_false(token_bucket_take(&b, now));
	/* More tokens a second than there are cycles. */
	token_bucket_init(&b, 10, 100, 1);
	assert_true(token_bucket_take(&b, now));
	assert_false(token_bucket_take(&b, now));
	assert_true(token_bucket_take(&b, now + 1));
}

static int
start(void **state)
{

	(void)state;
	if (!test_eal_start("0"))
		return -1;
	/* No caches: what is available is known to the last buffer. */
	pool = rte_pktmbuf_pool_create("packets", BUFFERS, 0, 0, RTE_PKTMBUF_HEADROOM + ROOM,
				       SOCKET_ID_ANY);
	small_pool = rte_pktmbuf_pool_create("small", BUFFERS, 0, 0, RTE_PKTMBUF_HEADROOM + SMALL,
					     SOCKET_ID_ANY);
	return pool == NULL || small_pool == NULL ? -1 : 0;
}

static int
stop(void **state)
{
	(void)state;
	rte_mempool_free(pool);
	rte_mempool_free(small_pool);
	return rte_eal_cleanup();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sum_over_segments),
		cmocka_unit_test(error_about_which_ipv4_packets),
		cmocka_unit_test(error_about_which_ipv6_packets),
		cmocka_unit_test(ipv4_errors),
		cmocka_unit_test(ipv6_errors),
		cmocka_unit_test(errors_without_buffers),
		cmocka_unit_test(ipv4_echo),
		cmocka_unit_test(ipv4_echo_refused),
		cmocka_unit_test(ipv6_echo),
		cmocka_unit_test(ipv6_echo_refused),
		cmocka_unit_test(request_reply_answer),
		cmocka_unit_test(request_error_answer),
		cmocka_unit_test(answers_that_are_none),
		cmocka_unit_test(requests_of_every_size),
		cmocka_unit_test(token_bucket_limits),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
