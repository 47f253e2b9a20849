/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Datagrams cut anywhere, their fragments in any order, some twice, come out as they were;
 * whatever contradicts itself does not come out; nobody can make more be held than
 * was allowed, or make others lose theirs; and each buffer is accounted for.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>
#include <rte_eal.h>
#include <rte_mempool.h>

#include "ip.h"
#include "reassembly.h"
#include "test_random.h"
#include "test_eal.h"

#define BUFFERS	     4095
#define ROOM	     512
#define PAYLOAD_MAX  65535
#define PIECES_MAX   8192
#define TIMEOUT4     30
#define TIMEOUT6     60
#define FRAGMENT_HDR 8

static struct rte_mempool *pool;
static struct reassembly *r;
static unsigned dropped, merged, expired;
static uint64_t now;

/* --- who owns it ---------------------------------------------------------------- */

static void
on_dropped(void *ctx, struct rte_mbuf *packet)
{
	assert_null(ctx);
	dropped++;
	rte_pktmbuf_free(packet);
}

static void
on_merged(void *ctx, struct rte_mbuf *packet)
{
	assert_null(ctx);
	assert_non_null(packet);
	merged++;
}

static void
on_expired(void *ctx, struct rte_mbuf *first, uint8_t family)
{
	const uint8_t *h = rte_pktmbuf_mtod(first, const uint8_t *);

	assert_null(ctx);
	/* As it came: what an ICMP error quotes. */
	assert_int_equal(h[0] >> 4, family == AF_INET ? 4 : 6);
	if (family == AF_INET)
		assert_int_equal(ip_get16(h + 6), IP4_MORE_FRAGMENTS);
	expired++;
}

static void
begin(uint32_t total, uint32_t per_source)
{
	struct reassembly_limits limits = {.total = total,
					   .per_source = per_source,
					   .timeout4 = TIMEOUT4,
					   .timeout6 = TIMEOUT6};
	struct reassembly_owner owner = {
		.dropped = on_dropped, .merged = on_merged, .expired = on_expired};

	dropped = merged = expired = 0;
	now = 1000;
	r = reassembly_create(&limits, &owner);
	assert_non_null(r);
}

static void
end(void)
{
	assert_int_equal(reassembly_fragments(r), 0);
	assert_int_equal(reassembly_datagrams(r), 0);
	reassembly_destroy(r);
	r = NULL;
	assert_int_equal(rte_mempool_avail_count(pool), BUFFERS);
}

/* --- datagrams and fragments -------------------------------------------------------- */

/* A datagram as its sender had it. */
struct sent {
	uint8_t family, proto;
	uint16_t vrf;
	uint32_t id;
	uint32_t source; /* number of the host */
	uint8_t ecn;
	uint16_t unfragmentable; /* bytes of headers all fragments have */
	uint8_t headers[60 + 40];
	uint32_t len;
	uint8_t payload[PAYLOAD_MAX];
};

static void
make_headers4(struct sent *s, unsigned options)
{
	uint8_t *h = s->headers;

	memset(h, 0, sizeof(s->headers));
	s->unfragmentable = (uint16_t)(20 + options);
	h[0] = (uint8_t)(0x40 | s->unfragmentable / 4);
	h[1] = s->ecn;
	ip_put16(h + 4, (uint16_t)s->id);
	h[8] = 64;
	h[9] = s->proto;
	h[12] = 10;
	ip_put16(h + 14, (uint16_t)s->source);
	h[13] = (uint8_t)(s->source >> 16);
	h[16] = 192;
	h[19] = 1;
	memset(h + 20, 1, options); /* no operation */
}

static void
make_headers6(struct sent *s, unsigned extension)
{
	uint8_t *h = s->headers;

	memset(h, 0, sizeof(s->headers));
	s->unfragmentable = (uint16_t)(40 + extension);
	h[0] = 0x60;
	h[1] = (uint8_t)(s->ecn << 4);
	h[6] = extension != 0 ? PROTO_DSTOPTS : s->proto;
	h[7] = 64;
	h[8] = 0x20;
	memcpy(h + 10, &s->source, 4);
	h[24] = 0x20;
	h[39] = 1;
	if (extension != 0) {
		h[40] = s->proto;
		h[41] = (uint8_t)(extension / 8 - 1);
		h[42] = 1; /* PadN over the rest */
		h[43] = (uint8_t)(extension - 4);
	}
}

static struct sent *
make_sent(uint8_t family, uint32_t len, uint32_t source, uint32_t id)
{
	struct sent *s = malloc(sizeof(*s));

	assert_non_null(s);
	s->family = family;
	s->proto = PROTO_UDP;
	s->vrf = 0;
	s->id = id;
	s->source = source;
	s->ecn = 0;
	s->len = len;
	for (uint32_t i = 0; i < len; i++)
		s->payload[i] = (uint8_t)random_below(256);
	if (family == AF_INET)
		make_headers4(s, 4 * (random_below(3) == 0 ? random_below(11) : 0));
	else
		make_headers6(s, 8 * (random_below(3) == 0 ? random_below(5) : 0));
	return s;
}

/* Bytes as a packet in segments of random lengths, the headers whole in the first. */
static struct rte_mbuf *
make_packet(const uint8_t *bytes, uint32_t len, uint32_t headers)
{
	struct rte_mbuf *packet = NULL;

	for (uint32_t done = 0; done < len;) {
		struct rte_mbuf *s = rte_pktmbuf_alloc(pool);
		uint32_t n = random_below(4) != 0 ? ROOM : 1 + random_below(ROOM);

		assert_non_null(s);
		if (packet == NULL)
			n = RTE_MAX(n, headers);
		n = RTE_MIN(n, len - done);
		memcpy(rte_pktmbuf_append(s, (uint16_t)n), bytes + done, n);
		done += n;
		if (packet == NULL)
			packet = s;
		else
			assert_int_equal(rte_pktmbuf_chain(packet, s), 0);
	}
	return packet;
}

/* The fragment of bytes [start, start + len) of the payload. */
static struct rte_mbuf *
make_fragment(const struct sent *s, uint32_t start, uint32_t len, bool more)
{
	static uint8_t bytes[UINT16_MAX + 200];
	uint32_t headers = s->unfragmentable;

	memcpy(bytes, s->headers, headers);
	if (s->family == AF_INET6) {
		uint8_t *f = bytes + headers;

		bytes[headers == 40 ? 6 : 40] = PROTO_FRAGMENT;
		f[0] = s->proto;
		f[1] = 0;
		ip_put16(f + 2, (uint16_t)(start | more));
		memcpy(f + 4, &s->id, 4);
		headers += FRAGMENT_HDR;
		ip_put16(bytes + 4, (uint16_t)(headers - 40 + len));
	} else {
		ip_put16(bytes + 2, (uint16_t)(headers + len));
		ip_put16(bytes + 6, (uint16_t)(start / 8 | (more ? IP4_MORE_FRAGMENTS : 0)));
		ip4_sum_set(bytes, headers);
	}
	memcpy(bytes + headers, s->payload + start, len);
	return make_packet(bytes, headers + len, headers + 8);
}

static enum fragment_check
read_fragment(const struct sent *s, const struct rte_mbuf *m, struct fragment *f)
{
	const uint8_t *h = rte_pktmbuf_mtod(m, const uint8_t *);

	if (s->family == AF_INET)
		return fragment_read4(h, (uint16_t)m->pkt_len, s->vrf, f);
	return fragment_read6(h, (uint16_t)m->pkt_len, m->data_len, s->unfragmentable,
			      s->unfragmentable == 40 ? 6 : 40, s->vrf, f);
}

static enum reassembly_result
add(const struct sent *s, uint32_t start, uint32_t len, bool more, struct rte_mbuf **whole)
{
	struct rte_mbuf *m = make_fragment(s, start, len, more);
	enum reassembly_result result;
	struct fragment f;

	assert_int_equal(read_fragment(s, m, &f), FRAGMENT_OK);
	result = reassembly_add(r, &f, m, now, whole);
	if (result == REASSEMBLY_REFUSED)
		rte_pktmbuf_free(*whole);
	return result;
}

/* What came out is what was sent. Frees it. */
static void
assert_whole(const struct sent *s, struct rte_mbuf *m)
{
	static uint8_t bytes[UINT16_MAX + 200];
	uint32_t len = 0, segments = 0;
	const char *reason;

	if (rte_mbuf_check(m, 1, &reason) != 0)
		fail_msg("%s", reason);
	for (const struct rte_mbuf *seg = m; seg != NULL; seg = seg->next, segments++) {
		memcpy(bytes + len, rte_pktmbuf_mtod(seg, void *), seg->data_len);
		len += seg->data_len;
	}
	assert_int_equal(m->nb_segs, segments);
	assert_int_equal(m->pkt_len, len);
	assert_int_equal(len, s->unfragmentable + s->len);
	if (s->family == AF_INET) {
		assert_int_equal(ip_get16(bytes + 2), len);
		assert_int_equal(ip_get16(bytes + 6), 0);
		assert_true(ip4_sum_ok(bytes, s->unfragmentable));
		assert_memory_equal(bytes, s->headers, 2);
		assert_memory_equal(bytes + 4, s->headers + 4, 2);
		assert_memory_equal(bytes + 8, s->headers + 8, 2);
		assert_memory_equal(bytes + 12, s->headers + 12, s->unfragmentable - 12u);
	} else {
		assert_int_equal(ip_get16(bytes + 4), len - 40);
		assert_memory_equal(bytes, s->headers, 4);
		assert_memory_equal(bytes + 6, s->headers + 6, s->unfragmentable - 6u);
	}
	assert_memory_equal(bytes + s->unfragmentable, s->payload, s->len);
	rte_pktmbuf_free(m);
}

/* --- whole again ------------------------------------------------------------------------ */

struct cut {
	const struct sent *of;
	uint32_t start, len;
};

/* Cut at random multiples of 8; returns how many pieces. */
static unsigned
cut_up(const struct sent *s, unsigned pieces, struct cut *cuts)
{
	uint32_t units = (s->len + 7) / 8, at = 0;
	unsigned n = 0;

	while (at < s->len) {
		uint32_t most = RTE_MAX(units * 2 / pieces, 1u), len;

		len = 8 * (1 + random_below(most));
		/* Never the whole: a fragment that is both first and last is none. */
		if (n == 0)
			len = RTE_MIN(len, (s->len - 1) / 8 * 8);
		len = RTE_MIN(len, s->len - at);
		cuts[n++] = (struct cut){s, at, len};
		at += len;
	}
	return n;
}

static void
shuffle(struct cut *cuts, unsigned n)
{
	for (unsigned i = n; i > 1; i--) {
		unsigned k = random_below(i);
		struct cut c = cuts[i - 1];

		cuts[i - 1] = cuts[k];
		cuts[k] = c;
	}
}

/* Datagrams at the same time, fragments of all in any order, some of them twice. */
static void
test_random(void **state)
{
	static struct cut cuts[4 * PIECES_MAX];

	(void)state;
	begin(BUFFERS, BUFFERS);
	for (unsigned round = 0; round < 300; round++) {
		struct sent *sent[3];
		unsigned left[3] = {0}, n = 0, done = 0, handed = 0, refused = 0;
		uint32_t most = random_below(5) == 0 ? 40000 : 3000;

		for (unsigned i = 0; i < 3; i++) {
			sent[i] = make_sent(random_below(2) ? AF_INET : AF_INET6,
					    9 + random_below(most), i, round);
			left[i] = cut_up(sent[i], 2 + random_below(100), cuts + n);
			n += left[i];
		}
		shuffle(cuts, n);
		for (unsigned i = 0; i < n; i++) {
			const struct sent *s = cuts[i].of;
			struct rte_mbuf *whole;
			unsigned k = 0;
			enum reassembly_result result;
			bool more = cuts[i].start + cuts[i].len < s->len;

			while (sent[k] != s)
				k++;
			result = add(s, cuts[i].start, cuts[i].len, more, &whole);
			handed++;
			assert_int_equal(result,
					 --left[k] == 0 ? REASSEMBLY_WHOLE : REASSEMBLY_HELD);
			if (result == REASSEMBLY_WHOLE) {
				assert_whole(s, whole);
				done++;
			} else if (random_below(4) == 0) {
				result = add(s, cuts[i].start, cuts[i].len, more, &whole);
				assert_int_equal(result, REASSEMBLY_REFUSED);
				handed++;
				refused++;
			}
		}
		assert_int_equal(done, 3);
		assert_int_equal(reassembly_fragments(r), 0);
		assert_int_equal(merged + done + refused, handed);
		assert_int_equal(dropped, 0);
		merged = 0;
		for (unsigned i = 0; i < 3; i++)
			free(sent[i]);
	}
	end();
}

/* 1480 bytes each, as Ethernet makes them, in order and backwards. */
static void
test_many(void **state)
{
	static const uint32_t lens[] = {9 * 1480, 40 * 1480, 65507, 65515};

	(void)state;
	begin(BUFFERS, BUFFERS);
	for (unsigned i = 0; i < RTE_DIM(lens); i++) {
		for (unsigned backwards = 0; backwards < 2; backwards++) {
			struct sent *s = make_sent(AF_INET, lens[i], 1, i);
			unsigned n = (lens[i] + 1479) / 1480;

			make_headers4(s, 0);
			for (unsigned k = 0; k < n; k++) {
				uint32_t start = (backwards ? n - 1 - k : k) * 1480;
				uint32_t len = RTE_MIN(1480u, lens[i] - start);
				struct rte_mbuf *whole;
				enum reassembly_result result =
					add(s, start, len, start + len < lens[i], &whole);

				assert_int_equal(result,
						 k == n - 1 ? REASSEMBLY_WHOLE : REASSEMBLY_HELD);
				if (result == REASSEMBLY_WHOLE)
					assert_whole(s, whole);
			}
			free(s);
		}
	}
	end();
}

/* The most that a datagram can be cut into: every unit of 8 bytes alone. */
static void
test_smallest(void **state)
{
	struct sent *s = make_sent(AF_INET6, 8 * 4000 + 1, 1, 1);
	struct rte_mbuf *whole;

	(void)state;
	begin(BUFFERS * 2, BUFFERS * 2);
	for (uint32_t at = 8; at < s->len; at += 8)
		assert_int_equal(add(s, at, RTE_MIN(8u, s->len - at), at + 8 < s->len, &whole),
				 REASSEMBLY_HELD);
	assert_int_equal(reassembly_fragments(r), 4000);
	assert_int_equal(add(s, 0, 8, true, &whole), REASSEMBLY_WHOLE);
	assert_int_equal(merged, 4000);
	assert_whole(s, whole);
	free(s);
	end();
}

/* --- nothing spliced ------------------------------------------------------------------------ */

static void
assert_apart(struct sent *one, struct sent *other)
{
	struct rte_mbuf *whole;

	begin(100, 100);
	assert_int_equal(add(one, 0, 80, true, &whole), REASSEMBLY_HELD);
	assert_int_equal(add(other, 80, other->len - 80, false, &whole), REASSEMBLY_HELD);
	assert_int_equal(reassembly_datagrams(r), 2);
	assert_int_equal(add(one, 80, one->len - 80, false, &whole), REASSEMBLY_WHOLE);
	assert_whole(one, whole);
	assert_int_equal(add(other, 0, 80, true, &whole), REASSEMBLY_WHOLE);
	assert_whole(other, whole);
	free(one);
	free(other);
	end();
}

static void
test_key(void **state)
{
	struct sent *other;

	(void)state;
	for (unsigned v6 = 0; v6 < 2; v6++) {
		uint8_t family = v6 ? AF_INET6 : AF_INET;

		other = make_sent(family, 150, 1, 7);
		other->vrf = 3;
		assert_apart(make_sent(family, 100, 1, 7), other);
		other = make_sent(family, 150, 1, 7);
		other->proto = PROTO_TCP;
		if (v6)
			make_headers6(other, 0);
		else
			make_headers4(other, 0);
		assert_apart(make_sent(family, 100, 1, 7), other);
		assert_apart(make_sent(family, 100, 1, 7), make_sent(family, 150, 2, 7));
		assert_apart(make_sent(family, 100, 1, 7), make_sent(family, 150, 1, 8));
		other = make_sent(family, 150, 1, 7);
		other->headers[v6 ? 38 : 18] = 9; /* another destination */
		assert_apart(make_sent(family, 100, 1, 7), other);
	}
	assert_apart(make_sent(AF_INET, 100, 1, 7), make_sent(AF_INET6, 150, 1, 7));
}

/* --- overlaps ---------------------------------------------------------------------------- */

/* Of a datagram of 400 bytes: 80 to 240 is there; then this comes. */
static void
assert_killed(uint8_t family, uint32_t start, uint32_t len, bool more)
{
	struct sent *s = make_sent(family, 400, 1, 1);
	struct rte_mbuf *whole;

	begin(100, 100);
	assert_int_equal(add(s, 80, 80, true, &whole), REASSEMBLY_HELD);
	assert_int_equal(add(s, 160, 80, true, &whole), REASSEMBLY_HELD);
	assert_int_equal(add(s, start, len, more, &whole), REASSEMBLY_REFUSED);
	assert_int_equal(dropped, 2);
	assert_int_equal(reassembly_fragments(r), 0);
	/* What would have completed it is not taken either. */
	assert_int_equal(add(s, 0, 80, true, &whole), REASSEMBLY_REFUSED);
	assert_int_equal(add(s, 80, 160, true, &whole), REASSEMBLY_REFUSED);
	assert_int_equal(add(s, 240, 160, false, &whole), REASSEMBLY_REFUSED);
	assert_int_equal(merged, 0);
	now += TIMEOUT6;
	assert_int_equal(reassembly_expire(r, now, 10), 1);
	assert_int_equal(expired, 0);
	/* Time is up: the same identification is another datagram. */
	assert_int_equal(add(s, 0, 240, true, &whole), REASSEMBLY_HELD);
	assert_int_equal(add(s, 240, 160, false, &whole), REASSEMBLY_WHOLE);
	assert_whole(s, whole);
	free(s);
	end();
}

static void
test_overlap(void **state)
{
	static const struct {
		uint32_t start, len;
		bool more;
	} cases[] = {
		{0, 88, true},			   /* its end over the first's start */
		{72, 16, true},	  {232, 80, true}, /* its start over the last's end */
		{88, 8, true},			   /* inside one */
		{80, 160, true},		   /* exactly over both */
		{120, 80, true},		   /* over the seam */
		{0, 320, true},			   /* around all */
		{80, 72, true},			   /* same start, shorter */
		{80, 88, true},			   /* same start, longer */
		{88, 72, true},			   /* same end */
		{160, 80, false},		   /* the same bytes, but as the last */
		{160, 8, false},		   /* last one that ends inside */
		{0, 8, false},			   /* last one that ends before all */
		{8, 4, false},	  {200, 40, false},
	};

	(void)state;
	for (unsigned i = 0; i < RTE_DIM(cases); i++) {
		assert_killed(AF_INET, cases[i].start, cases[i].len, cases[i].more);
		assert_killed(AF_INET6, cases[i].start, cases[i].len, cases[i].more);
	}
}

/* The end is known: others may not reach it, nor lie beyond, nor give another. */
static void
test_beyond_end(void **state)
{
	static const struct {
		uint32_t start, len;
		bool more;
	} cases[] = {
		{320, 80, true}, {400, 8, true},  {480, 8, false},
		{400, 8, false}, {400, 4, false}, {396 / 8 * 8, 8, true},
	};

	(void)state;
	for (unsigned i = 0; i < RTE_DIM(cases); i++) {
		struct sent *s = make_sent(AF_INET, 500, 1, 1);
		struct rte_mbuf *whole;

		begin(100, 100);
		assert_int_equal(add(s, 240, 156, false, &whole), REASSEMBLY_HELD);
		assert_int_equal(add(s, cases[i].start, cases[i].len, cases[i].more, &whole),
				 REASSEMBLY_REFUSED);
		assert_int_equal(dropped, 1);
		assert_int_equal(add(s, 0, 240, true, &whole), REASSEMBLY_REFUSED);
		reassembly_flush(r);
		free(s);
		end();
	}
}

/* The same place, other bytes: the first or the last of them, nobody knows. */
static void
test_other_bytes(void **state)
{
	struct sent *s = make_sent(AF_INET, 2000, 1, 1);
	struct rte_mbuf *whole;

	(void)state;
	begin(100, 100);
	assert_int_equal(add(s, 0, 1000, true, &whole), REASSEMBLY_HELD);
	assert_int_equal(add(s, 0, 1000, true, &whole), REASSEMBLY_REFUSED);
	assert_int_equal(dropped, 0);
	s->payload[999] ^= 1;
	assert_int_equal(add(s, 0, 1000, true, &whole), REASSEMBLY_REFUSED);
	assert_int_equal(dropped, 1);
	assert_int_equal(add(s, 1000, 1000, false, &whole), REASSEMBLY_REFUSED);
	reassembly_flush(r);
	free(s);
	end();
}

/* --- bad by themselves -------------------------------------------------------------------- */

static enum fragment_check
check(struct sent *s, uint32_t start, uint32_t len, bool more)
{
	struct rte_mbuf *m = make_fragment(s, start, len, more);
	struct fragment f;
	enum fragment_check result = read_fragment(s, m, &f);

	rte_pktmbuf_free(m);
	return result;
}

static void
test_bad(void **state)
{
	struct sent *s = make_sent(AF_INET, 2000, 1, 1);

	(void)state;
	make_headers4(s, 0);
	assert_int_equal(check(s, 0, 0, true), FRAGMENT_BAD);
	assert_int_equal(check(s, 80, 0, false), FRAGMENT_BAD);
	assert_int_equal(check(s, 0, 7, true), FRAGMENT_BAD);
	assert_int_equal(check(s, 80, 81, true), FRAGMENT_BAD);
	assert_int_equal(check(s, 80, 81, false), FRAGMENT_OK);
	s->len = 65535;
	/* The largest total length is 65535, header included. */
	assert_int_equal(check(s, 65512, 3, false), FRAGMENT_OK);
	assert_int_equal(check(s, 65512, 4, false), FRAGMENT_BAD);
	assert_int_equal(check(s, 65512, 8, true), FRAGMENT_BAD);
	make_headers4(s, 40);
	assert_int_equal(check(s, 65472, 3, false), FRAGMENT_OK);
	assert_int_equal(check(s, 65472, 4, false), FRAGMENT_BAD);

	s->family = AF_INET6;
	make_headers6(s, 0);
	assert_int_equal(check(s, 0, 0, true), FRAGMENT_BAD);
	assert_int_equal(check(s, 80, 0, false), FRAGMENT_BAD);
	assert_int_equal(check(s, 0, 15, true), FRAGMENT_BAD_LENGTH);
	assert_int_equal(check(s, 80, 15, false), FRAGMENT_OK);
	assert_int_equal(check(s, 65528, 7, false), FRAGMENT_OK);
	make_headers6(s, 16);
	assert_int_equal(check(s, 65528, 7, false), FRAGMENT_TOO_LONG);
	assert_int_equal(check(s, 65512, 7, false), FRAGMENT_OK);
	assert_int_equal(check(s, 65512, 8, false), FRAGMENT_TOO_LONG);

	/* Upper-layer headers are to be in the first fragment, and only there. */
	make_headers6(s, 0);
	assert_int_equal(check(s, 0, 8, true), FRAGMENT_OK);
	s->proto = PROTO_TCP;
	assert_int_equal(check(s, 0, 16, true), FRAGMENT_INCOMPLETE);
	assert_int_equal(check(s, 0, 24, true), FRAGMENT_OK);
	assert_int_equal(check(s, 8, 8, true), FRAGMENT_OK);
	s->proto = PROTO_DSTOPTS;
	s->payload[0] = PROTO_UDP;
	s->payload[1] = 1; /* 16 bytes */
	assert_int_equal(check(s, 0, 8, true), FRAGMENT_INCOMPLETE);
	assert_int_equal(check(s, 0, 16, true), FRAGMENT_INCOMPLETE);
	assert_int_equal(check(s, 0, 24, true), FRAGMENT_OK);
	free(s);
	assert_int_equal(rte_mempool_avail_count(pool), BUFFERS);
}

/* Whole it is longer than IP allows, which no fragment shows by itself: the first one
 * has options. */
static void
test_too_long_together(void **state)
{
	struct sent *s = make_sent(AF_INET, 65535, 1, 1);
	struct rte_mbuf *whole;

	(void)state;
	begin(BUFFERS, BUFFERS);
	make_headers4(s, 40);
	assert_int_equal(add(s, 0, 32000, true, &whole), REASSEMBLY_HELD);
	make_headers4(s, 0);
	assert_int_equal(add(s, 32000, 33512, true, &whole), REASSEMBLY_HELD);
	assert_int_equal(add(s, 65512, 3, false, &whole), REASSEMBLY_REFUSED);
	assert_int_equal(merged, 2);
	free(s);
	end();
}

/* --- congestion marks ------------------------------------------------------------------------ */

static int
mark_of(uint8_t family, uint8_t one, uint8_t other)
{
	struct sent *s = make_sent(family, 100, 1, 1);
	struct rte_mbuf *whole;
	enum reassembly_result result;
	const uint8_t *h;
	int mark = -1;

	begin(10, 10);
	s->ecn = one;
	if (family == AF_INET)
		make_headers4(s, 0);
	else
		make_headers6(s, 0);
	assert_int_equal(add(s, 0, 80, true, &whole), REASSEMBLY_HELD);
	s->ecn = other;
	if (family == AF_INET)
		make_headers4(s, 0);
	else
		make_headers6(s, 0);
	result = add(s, 80, 20, false, &whole);
	if (result == REASSEMBLY_WHOLE) {
		h = rte_pktmbuf_mtod(whole, const uint8_t *);
		mark = family == AF_INET ? h[1] & 3 : h[1] >> 4 & 3;
		if (family == AF_INET)
			assert_true(ip4_sum_ok(h, 20));
		rte_pktmbuf_free(whole);
	}
	free(s);
	end();
	return mark;
}

static void
test_ecn(void **state)
{
	(void)state;
	for (unsigned v6 = 0; v6 < 2; v6++) {
		uint8_t family = v6 ? AF_INET6 : AF_INET;

		assert_int_equal(mark_of(family, 0, 0), 0);
		assert_int_equal(mark_of(family, 2, 2), 2);
		assert_int_equal(mark_of(family, 2, 1), 2);
		assert_int_equal(mark_of(family, 2, 3), 3);
		assert_int_equal(mark_of(family, 3, 1), 3);
		assert_int_equal(mark_of(family, 3, 0), -1);
		assert_int_equal(mark_of(family, 0, 2), -1);
	}
}

/* --- time ------------------------------------------------------------------------------------- */

static void
test_timeout(void **state)
{
	struct sent *four = make_sent(AF_INET, 100, 1, 1), *six = make_sent(AF_INET6, 100, 1, 1);
	struct sent *headless = make_sent(AF_INET, 100, 1, 2);
	struct rte_mbuf *whole;
	uint64_t start;

	(void)state;
	begin(100, 100);
	start = now;
	assert_int_equal(add(four, 0, 80, true, &whole), REASSEMBLY_HELD);
	assert_int_equal(add(headless, 80, 20, false, &whole), REASSEMBLY_HELD);
	assert_int_equal(add(six, 80, 20, false, &whole), REASSEMBLY_HELD);
	now = start + TIMEOUT4 - 1;
	/* Another fragment gives no more time. */
	assert_int_equal(add(six, 0, 40, true, &whole), REASSEMBLY_HELD);
	assert_int_equal(reassembly_expire(r, now, 10), 0);
	now = start + TIMEOUT4;
	assert_int_equal(reassembly_expire(r, now, 1), 1);
	assert_int_equal(reassembly_expire(r, now, 10), 1);
	assert_int_equal(dropped, 2);
	assert_int_equal(expired, 1); /* only where the first fragment is there */
	now = start + TIMEOUT6 - 1;
	assert_int_equal(reassembly_expire(r, now, 10), 0);
	now = start + TIMEOUT6;
	assert_int_equal(reassembly_expire(r, now, 10), 1);
	assert_int_equal(dropped, 4);
	assert_int_equal(expired, 2);
	free(four);
	free(six);
	free(headless);
	end();
}

/* --- memory -------------------------------------------------------------------------------------
 */

/* A source that sends first fragments and nothing else loses its own, not another's. */
static void
test_flooder(void **state)
{
	struct sent *victim = make_sent(AF_INET, 1600, 1, 1), *flood;
	struct rte_mbuf *whole;

	(void)state;
	begin(400, 100);
	flood = make_sent(AF_INET, 100, 2, 0);
	for (unsigned i = 0; i < 20; i++)
		assert_int_equal(add(victim, i * 80, 80, i < 19, &whole),
				 i < 19 ? REASSEMBLY_HELD : REASSEMBLY_WHOLE);
	rte_pktmbuf_free(whole);
	merged = 0;
	for (unsigned i = 0; i < 19; i++) {
		assert_int_equal(add(victim, i * 80, 80, true, &whole), REASSEMBLY_HELD);
		for (unsigned k = 0; k < 1000; k++) {
			flood->id = i * 1000 + k;
			make_headers4(flood, 0);
			assert_int_equal(add(flood, 0, 80, true, &whole), REASSEMBLY_HELD);
			assert_true(reassembly_datagrams(r) <= 51);
		}
	}
	assert_int_equal(add(victim, 19 * 80, 80, false, &whole), REASSEMBLY_WHOLE);
	assert_int_equal(merged, 19);
	assert_whole(victim, whole);
	/* The newest are kept: those that may still become whole. */
	assert_int_equal(add(flood, 80, 20, false, &whole), REASSEMBLY_WHOLE);
	assert_whole(flood, whole);
	free(victim);
	free(flood);
	reassembly_flush(r);
	end();
}

/* Many sources at once fill all there is: the ones with most pay. */
static void
test_full(void **state)
{
	struct sent *victim = make_sent(AF_INET, 160, 1, 1), *flood = make_sent(AF_INET, 100, 2, 0);
	struct rte_mbuf *whole;
	unsigned n = 0;

	(void)state;
	begin(200, 100);
	assert_int_equal(add(victim, 0, 80, true, &whole), REASSEMBLY_HELD);
	for (unsigned k = 0; k < 3000; k++, n++) {
		flood->source = 1000 + k % 5; /* five that share the rest */
		flood->id = k;
		make_headers4(flood, 0);
		assert_int_equal(add(flood, 0, 80, true, &whole), REASSEMBLY_HELD);
		assert_true(reassembly_fragments(r) + reassembly_datagrams(r) <= 200);
	}
	assert_true(dropped >= n - 100);
	assert_int_equal(add(victim, 80, 80, false, &whole), REASSEMBLY_WHOLE);
	assert_whole(victim, whole);
	free(victim);
	free(flood);
	reassembly_flush(r);
	end();
}

/* A datagram that is more than one source may have held is given up at once, all of it. */
static void
test_too_many_fragments(void **state)
{
	struct sent *s = make_sent(AF_INET, 8 * 60, 1, 1);
	struct rte_mbuf *whole;

	(void)state;
	begin(200, 50);
	for (unsigned i = 0; i < 49; i++)
		assert_int_equal(add(s, i * 8, 8, true, &whole), REASSEMBLY_HELD);
	assert_int_equal(add(s, 49 * 8, 8, true, &whole), REASSEMBLY_REFUSED);
	assert_int_equal(dropped, 49);
	assert_int_equal(reassembly_fragments(r), 0);
	for (unsigned i = 50; i < 60; i++)
		assert_int_equal(add(s, i * 8, 8, i < 59, &whole), REASSEMBLY_REFUSED);
	assert_int_equal(reassembly_datagrams(r), 1);
	reassembly_flush(r);
	free(s);
	end();
}

/* Killed datagrams are remembered, within the same bounds. */
static void
test_dead_are_bounded(void **state)
{
	struct sent *s = make_sent(AF_INET, 100, 1, 0);
	struct rte_mbuf *whole;

	(void)state;
	begin(64, 64);
	for (unsigned k = 0; k < 1000; k++) {
		s->id = k;
		s->source = k;
		make_headers4(s, 0);
		assert_int_equal(add(s, 0, 80, true, &whole), REASSEMBLY_HELD);
		assert_int_equal(add(s, 8, 80, true, &whole), REASSEMBLY_REFUSED);
		assert_true(reassembly_datagrams(r) <= 32);
	}
	assert_int_equal(dropped, 1000);
	reassembly_flush(r);
	free(s);
	end();
}

/* Anything at all in the headers' fields, under a small bound: what comes out is
 * consistent, and nothing is lost. */
static void
test_garbage(void **state)
{
	struct sent *s[2] = {make_sent(AF_INET, 2000, 1, 0), make_sent(AF_INET6, 2000, 1, 0)};
	unsigned handed = 0, out = 0, refused = 0;

	(void)state;
	begin(150, 60);
	for (unsigned k = 0; k < 100000; k++) {
		struct sent *one = s[random_below(2)];
		uint32_t start = 40 * random_below(4), len = 40;
		bool more = start < 120;
		struct rte_mbuf *m, *whole;
		struct fragment f;

		if (random_below(30) == 0) {
			start = 8 * random_below(20);
			len = 8 * (1 + random_below(20));
			more = random_below(2);
		}
		if (start == 0 && !more)
			continue;
		one->id = random_below(4);
		one->source = random_below(4);
		if (one->family == AF_INET)
			make_headers4(one, 0);
		else
			make_headers6(one, 0);
		m = make_fragment(one, start, len, more);
		if (read_fragment(one, m, &f) != FRAGMENT_OK) {
			rte_pktmbuf_free(m);
			continue;
		}
		handed++;
		switch (reassembly_add(r, &f, m, now, &whole)) {
		case REASSEMBLY_HELD:
			break;
		case REASSEMBLY_REFUSED:
			refused++;
			rte_pktmbuf_free(whole);
			break;
		case REASSEMBLY_WHOLE:
			out++;
			one->len = whole->pkt_len - one->unfragmentable;
			assert_whole(one, whole);
		}
		assert_int_equal(handed,
				 merged + out + refused + dropped + reassembly_fragments(r));
		if (random_below(10) == 0)
			now++;
		reassembly_expire(r, now, 2);
	}
	assert_true(out > 1000 && refused > 1000 && dropped > 1000 && expired > 100);
	reassembly_flush(r);
	free(s[0]);
	free(s[1]);
	end();
}

static int
start(void **state)
{
	/* Always the same, so that sources fall apart as the tests want them to. */
	static const uint64_t secret[2] = {0x0123456789abcdef, 0xfedcba9876543211};

	(void)state;
	if (!test_eal_start("0"))
		return -1;
	reassembly_init(secret);
	/* No cache: what is available is known to the last buffer. */
	pool = rte_pktmbuf_pool_create("fragments", BUFFERS, 0, 0, RTE_PKTMBUF_HEADROOM + ROOM,
				       SOCKET_ID_ANY);
	return pool == NULL ? -1 : 0;
}

static int
stop(void **state)
{
	(void)state;
	rte_mempool_free(pool);
	return rte_eal_cleanup();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_smallest),
		cmocka_unit_test(test_key),
		cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_beyond_end),
		cmocka_unit_test(test_other_bytes),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_too_long_together),
		cmocka_unit_test(test_ecn),
		cmocka_unit_test(test_timeout),
		cmocka_unit_test(test_flooder),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_too_many_fragments),
		cmocka_unit_test(test_dead_are_bounded),
		cmocka_unit_test(test_garbage),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
