/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Packets of three segments, of every kind of memory in every order, cut, extended and
 * made writable at every length: the bytes are right, nobody else's bytes change, and every
 * buffer of every pool is accounted for after each step.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <rte_eal.h>
#include <rte_mempool.h>

#include "packet.h"
#include "pool.h"
#include "test_eal.h"

#define ROOM	 192 /* bytes of a buffer, headroom included */
#define SEGMENTS 3
#define BYTES	 1024
#define BUFFERS	 64

enum kind {
	OWN,		 /* of the caller's pool, nobody else's */
	OTHER,		 /* of another pool */
	EXTERNAL,	 /* lent memory, nobody else refers to it */
	EXTERNAL_SHARED, /* another mbuf does */
	CLONE,		 /* indirect: the original lives */
	ORPHAN,		 /* indirect: the original has been freed */
	CLONED,		 /* an original that has a clone */
	KINDS
};

/* Where data begins and how much there is, for each segment: the first without headroom to speak
 * of, a full one, a short one. */
static const uint16_t front[SEGMENTS] = {20, 0, 60};
static const uint16_t size[SEGMENTS] = {40, ROOM, 9};
#define ALL (40 + ROOM + 9)

static struct pool ours;
static struct rte_mempool *other;
static unsigned lent, taken_back;

/* The packet under test, and all others that hold some of its memory. */
static struct rte_mbuf *packet;
static struct rte_mbuf *witnesses[SEGMENTS];
static uint8_t model[BYTES], witness_model[SEGMENTS][ROOM];

static void
take_back(void *memory, void *opaque)
{
	(void)opaque;
	taken_back++;
	free(memory);
}

static struct rte_mbuf *
attach_external(struct rte_mempool *mp)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(mp);
	uint16_t length = ROOM + 64;
	char *memory = malloc(length);
	struct rte_mbuf_ext_shared_info *shared;

	assert_non_null(m);
	assert_non_null(memory);
	shared = rte_pktmbuf_ext_shinfo_init_helper(memory, &length, take_back, NULL);
	assert_non_null(shared);
	rte_pktmbuf_attach_extbuf(m, memory, (uintptr_t)memory, ROOM, shared);
	lent++;
	return m;
}

/* A segment with n bytes, and, in *witness, whoever else holds its memory. */
static struct rte_mbuf *
make_segment(enum kind kind, uint16_t from, uint16_t n, uint8_t seed, struct rte_mbuf **witness)
{
	struct rte_mempool *mp = kind == OTHER ? other : ours.mempool;
	struct rte_mbuf *m, *clone;

	*witness = NULL;
	m = kind == EXTERNAL || kind == EXTERNAL_SHARED ? attach_external(mp)
							: rte_pktmbuf_alloc(mp);
	assert_non_null(m);
	m->data_off = from;
	m->data_len = n;
	m->pkt_len = n;
	for (unsigned i = 0; i < n; i++)
		rte_pktmbuf_mtod(m, uint8_t *)[i] = (uint8_t)(seed + i * 7);
	if (kind < EXTERNAL_SHARED)
		return m;
	clone = rte_pktmbuf_clone(m, other);
	assert_non_null(clone);
	if (kind == CLONE) {
		*witness = m;
		return clone;
	}
	if (kind == ORPHAN) {
		rte_pktmbuf_free(m);
		return clone;
	}
	*witness = clone;
	return m;
}

static void
make_packet(const enum kind kinds[SEGMENTS])
{
	packet = NULL;
	for (unsigned i = 0; i < SEGMENTS; i++) {
		struct rte_mbuf *s = make_segment(kinds[i], front[i], size[i],
						  (uint8_t)(50 * i + 1), &witnesses[i]);
		uint32_t at = packet != NULL ? packet->pkt_len : 0;

		memcpy(model + at, rte_pktmbuf_mtod(s, uint8_t *), size[i]);
		if (witnesses[i] != NULL)
			memcpy(witness_model[i], rte_pktmbuf_mtod(witnesses[i], uint8_t *),
			       size[i]);
		if (packet == NULL)
			packet = s;
		else
			assert_int_equal(rte_pktmbuf_chain(packet, s), 0);
	}
	packet->port = 77;
	packet->hash.rss = 0x12345678;
}

/* --- what must be true ------------------------------------------------------------- */

/* Buffers that are held: the mbufs of these packets, and the originals behind clones. */
struct held {
	unsigned n;
	const struct rte_mbuf *mbufs[4 * BUFFERS];
};

static void
hold(struct held *held, const struct rte_mbuf *m)
{
	for (unsigned i = 0; i < held->n; i++)
		if (held->mbufs[i] == m)
			return;
	held->mbufs[held->n++] = m;
}

static void
hold_packet(struct held *held, const struct rte_mbuf *p)
{
	for (const struct rte_mbuf *s = p; s != NULL; s = s->next) {
		hold(held, s);
		if (RTE_MBUF_CLONED(s))
			hold(held, (const struct rte_mbuf *)((const char *)s->buf_addr -
							     sizeof(struct rte_mbuf)));
	}
}

static void
assert_every_buffer_accounted_for(void)
{
	struct held held = {0};
	unsigned in_ours = 0, in_other = 0, external = 0;

	hold_packet(&held, packet);
	for (unsigned i = 0; i < SEGMENTS; i++)
		hold_packet(&held, witnesses[i]);
	for (unsigned i = 0; i < held.n; i++) {
		in_ours += held.mbufs[i]->pool == ours.mempool;
		in_other += held.mbufs[i]->pool == other;
	}
	assert_int_equal(pool_in_use(&ours), in_ours);
	assert_int_equal(rte_mempool_in_use_count(other), in_other);
	/* Each piece of lent memory once, however many mbufs refer to it. */
	for (unsigned i = 0; i < held.n; i++) {
		bool first = RTE_MBUF_HAS_EXTBUF(held.mbufs[i]);

		for (unsigned k = 0; k < i; k++)
			first &= !(RTE_MBUF_HAS_EXTBUF(held.mbufs[k]) &&
				   held.mbufs[k]->shinfo == held.mbufs[i]->shinfo);
		external += first;
	}
	assert_int_equal(lent - taken_back, external);
}

static void
assert_bytes(const struct rte_mbuf *p, const uint8_t *bytes, uint32_t len)
{
	uint8_t copy[BYTES];
	const char *reason;
	const uint8_t *got;

	if (rte_mbuf_check(p, 1, &reason) != 0)
		fail_msg("%s", reason);
	assert_int_equal(p->pkt_len, len);
	if (len == 0)
		return;
	got = rte_pktmbuf_read(p, 0, len, copy);
	assert_non_null(got);
	assert_memory_equal(got, bytes, len);
}

static void
assert_sound(const uint8_t *bytes, uint32_t len)
{
	assert_bytes(packet, bytes, len);
	for (unsigned i = 0; i < SEGMENTS; i++)
		if (witnesses[i] != NULL)
			assert_bytes(witnesses[i], witness_model[i], size[i]);
	assert_every_buffer_accounted_for();
}

static void
free_all(void)
{
	rte_pktmbuf_free(packet);
	packet = NULL;
	assert_every_buffer_accounted_for();
	for (unsigned i = 0; i < SEGMENTS; i++) {
		rte_pktmbuf_free(witnesses[i]);
		witnesses[i] = NULL;
	}
	assert_every_buffer_accounted_for();
	assert_int_equal(pool_in_use(&ours), 0);
	assert_int_equal(lent, taken_back);
}

static uint64_t
copied(void)
{
	struct pool_counts counts;

	pool_counts(&ours, &counts);
	return counts.copied;
}

/* Run `step` on packets of every combination of kinds. */
static void
for_all_kinds(void (*step)(const enum kind kinds[SEGMENTS], unsigned n), unsigned last,
	      unsigned stride)
{
	for (unsigned c = 0; c < KINDS * KINDS * KINDS; c++) {
		const enum kind kinds[SEGMENTS] = {c % KINDS, c / KINDS % KINDS, c / KINDS / KINDS};

		for (unsigned n = 0; n <= last; n += n < 2 || n > last - 2 ? 1 : stride) {
			make_packet(kinds);
			assert_sound(model, ALL);
			step(kinds, n);
			free_all();
		}
	}
}

static bool
is_own(enum kind kind)
{
	return kind == OWN || kind == OTHER || kind == EXTERNAL;
}

/* --- the steps ----------------------------------------------------------------------- */

static void
trim(const enum kind kinds[SEGMENTS], unsigned n)
{
	(void)kinds;
	packet_trim(packet, n);
	assert_sound(model, n);
	assert_int_equal(packet->nb_segs, n <= 40 ? 1 : n <= 40 + ROOM ? 2 : 3);
}

static void
strip(const enum kind kinds[SEGMENTS], unsigned n)
{
	(void)kinds;
	packet_strip(packet, n);
	assert_sound(model + n, ALL - n);
}

static void
both_ends(const enum kind kinds[SEGMENTS], unsigned n)
{
	(void)kinds;
	packet_trim(packet, ALL - n / 2);
	packet_strip(packet, (n + 1) / 2);
	assert_sound(model + (n + 1) / 2, ALL - n / 2 - (n + 1) / 2);
}

static void
pull_up(const enum kind kinds[SEGMENTS], unsigned n)
{
	int rc = packet_pull_up(packet, (uint16_t)n);

	assert_int_equal(rc, n <= 40 ? 0 : !is_own(kinds[0]) || n > ROOM - 20 ? -ENOBUFS : 0);
	assert_sound(model, ALL);
}

/* Write where we have been told that we may. */
static void
scribble(uint16_t before, uint16_t n)
{
	uint8_t *data = rte_pktmbuf_mtod(packet, uint8_t *);

	assert_true(packet_writable(packet, before, n));
	assert_true(packet_writable_at(packet, 0, n));
	memset(data - before, 0xa5, before);
	for (unsigned i = 0; i < n; i++) {
		model[i] = (uint8_t)~model[i];
		data[i] = model[i];
	}
}

static void
make_writable(const enum kind kinds[SEGMENTS], unsigned n)
{
	uint64_t copies = copied();
	struct rte_mbuf *before = packet;
	bool in_place = is_own(kinds[0]) && n <= ROOM - 20;

	assert_int_equal(packet_writable(packet, 16, (uint16_t)n), is_own(kinds[0]) && n <= 40);
	if (n > ROOM - 16) { /* what no buffer can hold */
		assert_int_equal(packet_make_writable(&packet, 16, (uint16_t)n, ours.mempool),
				 -ENOBUFS);
		assert_ptr_equal(packet, before);
		assert_sound(model, ALL);
		return;
	}
	assert_int_equal(packet_make_writable(&packet, 16, (uint16_t)n, ours.mempool), 0);
	assert_int_equal(copied() - copies, in_place ? 0 : 1);
	assert_int_equal(packet == before, in_place);
	assert_int_equal(packet->port, 77);
	assert_int_equal(packet->hash.rss, 0x12345678);
	assert_sound(model, ALL);
	scribble(16, (uint16_t)n);
	assert_sound(model, ALL);
	/* A second time nothing is left to do. */
	before = packet;
	copies = copied();
	assert_int_equal(packet_make_writable(&packet, 16, (uint16_t)n, ours.mempool), 0);
	assert_ptr_equal(packet, before);
	assert_int_equal(copied(), copies);
	packet_trim(packet, n + 5);
	packet_strip(packet, n);
	assert_sound(model + n, RTE_MIN(5u, ALL - n));
}

static void
prepend(const enum kind kinds[SEGMENTS], unsigned n)
{
	uint8_t longer[BYTES];
	bool in_place = is_own(kinds[0]) && n <= 20;
	uint64_t copies = copied();

	if (n > ROOM) {
		assert_int_equal(packet_prepend(&packet, (uint16_t)n, ours.mempool), -ENOBUFS);
		assert_sound(model, ALL);
		return;
	}
	assert_int_equal(packet_prepend(&packet, (uint16_t)n, ours.mempool), 0);
	assert_int_equal(packet->nb_segs, in_place ? SEGMENTS : SEGMENTS + 1);
	assert_true(packet_writable_at(packet, 0, n));
	memset(longer, 0x3c, n);
	memset(rte_pktmbuf_mtod(packet, void *), 0x3c, n);
	memcpy(longer + n, model, ALL);
	assert_sound(longer, ALL + n);
	assert_int_equal(packet->port, 77);
	packet_strip(packet, n);
	assert_sound(model, ALL);
	/* Nothing was copied. */
	assert_int_equal(copied(), copies);
}

static void
append(const enum kind kinds[SEGMENTS], unsigned n)
{
	uint8_t tail[BYTES];
	uint32_t here = is_own(kinds[2]) ? ROOM - 60 - 9 : 0;
	uint32_t fresh = n > here ? (n - here + ROOM - RTE_PKTMBUF_HEADROOM - 1) /
					    (ROOM - RTE_PKTMBUF_HEADROOM)
				  : 0;

	for (unsigned i = 0; i < n; i++)
		tail[i] = model[ALL + i] = (uint8_t)(200 - i);
	assert_int_equal(packet_append(packet, tail, n, ours.mempool), 0);
	assert_int_equal(packet->nb_segs, SEGMENTS + fresh);
	assert_sound(model, ALL + n);
	assert_int_equal(packet_append(packet, NULL, 3, ours.mempool), 0);
	memset(model + ALL + n, 0, 3);
	assert_sound(model, ALL + n + 3);
	packet_trim(packet, ALL);
	assert_sound(model, ALL);
}

static void
writable_at(const enum kind kinds[SEGMENTS], unsigned n)
{
	static const unsigned starts[SEGMENTS + 1] = {0, 40, 40 + ROOM, ALL};

	for (unsigned from = 0; from < 3; from++) {
		bool expected = n + from * 30 <= ALL;

		/* Every segment that has some of the bytes. */
		for (unsigned s = 0; s < SEGMENTS && expected; s++)
			if (starts[s] < n + from * 30 && starts[s + 1] > n && from > 0)
				expected = is_own(kinds[s]);
		assert_int_equal(packet_writable_at(packet, n, from * 30), expected);
	}
}

static void
in_one(const enum kind kinds[SEGMENTS], unsigned n)
{
	struct rte_mbuf *one;

	(void)kinds;
	packet_trim(packet, n);
	one = packet_in_one(packet, ours.mempool);
	if (n > ROOM) {
		assert_null(one);
		assert_sound(model, n);
		return;
	}
	assert_non_null(one);
	assert_int_equal(one->nb_segs, 1);
	assert_int_equal(one->hash.rss, 0x12345678);
	assert_true(packet_writable(one, 0, (uint16_t)n));
	rte_pktmbuf_free(packet);
	packet = one;
	assert_sound(model, n);
}

/* With the pool empty: what needs no buffer works, everything else leaves the packet as it was. */
static void
nothing_left(const enum kind kinds[SEGMENTS], unsigned n)
{
	struct rte_mbuf *drained[BUFFERS * 16], *before = packet;
	unsigned count = 0;
	int rc;

	while (count < RTE_DIM(drained) &&
	       (drained[count] = rte_pktmbuf_alloc(ours.mempool)) != NULL)
		count++;
	assert_true(count > 0 && count < RTE_DIM(drained));

	rc = packet_make_writable(&packet, 16, (uint16_t)n, ours.mempool);
	assert_int_equal(rc, is_own(kinds[0]) && n <= ROOM - 20 ? 0 : -ENOBUFS);
	assert_ptr_equal(packet, before);
	assert_bytes(packet, model, ALL);
	assert_int_equal(packet_prepend(&packet, 21, ours.mempool), -ENOBUFS);
	assert_ptr_equal(packet, before);
	/* All or nothing: the first of two buffers may be there. */
	rte_pktmbuf_free(drained[--count]);
	assert_int_equal(packet_append(packet, NULL, 3 * ROOM, ours.mempool), -ENOBUFS);
	drained[count] = rte_pktmbuf_alloc(ours.mempool);
	assert_non_null(drained[count++]);
	assert_null(packet_in_one(packet, ours.mempool));
	assert_bytes(packet, model, ALL);
	rte_pktmbuf_free_bulk(drained, count);
	assert_sound(model, ALL);
}

#define EVERY(name, step, last, stride)                                                            \
	static void name(void **state)                                                             \
	{                                                                                          \
		(void)state;                                                                       \
		for_all_kinds(step, last, stride);                                                 \
	}

EVERY(trimmed_at_every_length, trim, ALL, 7)
EVERY(stripped_at_every_length, strip, ALL, 7)
EVERY(cut_at_both_ends, both_ends, ALL, 7)
EVERY(pulled_up_at_every_length, pull_up, ALL, 7)
EVERY(made_writable_at_every_length, make_writable, ALL, 11)
EVERY(prepended_to, prepend, ROOM + 2, 11)
EVERY(appended_to, append, 300, 37)
EVERY(asked_anywhere, writable_at, ALL, 11)
EVERY(brought_into_one, in_one, ALL, 11)
EVERY(from_an_empty_pool, nothing_left, ALL, 60)

static void
longer_than_the_packet(void **state)
{
	static const enum kind kinds[SEGMENTS] = {CLONE, OWN, OTHER};

	(void)state;
	make_packet(kinds);
	assert_int_equal(packet_make_writable(&packet, 0, ALL + 1, ours.mempool), -EINVAL);
	assert_int_equal(packet_pull_up(packet, ALL + 1), -EINVAL);
	assert_false(packet_writable_at(packet, ALL, 1));
	assert_sound(model, ALL);
	/* Headroom alone: a byte comes along, so that the first segment has one. */
	assert_int_equal(packet_make_writable(&packet, 150, 0, ours.mempool), 0);
	assert_int_equal(packet->data_len, 1);
	assert_true(packet_writable(packet, 150, 1));
	assert_sound(model, ALL);
	free_all();
}

static int
start(void **state)
{
	static const struct pool_demand demand = {.workers = 1, .burst = 1};
	struct err err;

	(void)state;
	if (!test_eal_start("0") ||
	    pool_create(&ours, "ours", SOCKET_ID_ANY, BUFFERS, ROOM, &demand, &err) != 0)
		return -1;
	other = rte_pktmbuf_pool_create("other", BUFFERS - 1, 0, 0, ROOM, SOCKET_ID_ANY);
	return other == NULL ? -1 : 0;
}

static int
stop(void **state)
{
	(void)state;
	pool_destroy(&ours);
	rte_mempool_free(other);
	return rte_eal_cleanup();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trimmed_at_every_length),
		cmocka_unit_test(stripped_at_every_length),
		cmocka_unit_test(cut_at_both_ends),
		cmocka_unit_test(pulled_up_at_every_length),
		cmocka_unit_test(made_writable_at_every_length),
		cmocka_unit_test(prepended_to),
		cmocka_unit_test(appended_to),
		cmocka_unit_test(asked_anywhere),
		cmocka_unit_test(brought_into_one),
		cmocka_unit_test(from_an_empty_pool),
		cmocka_unit_test(longer_than_the_packet),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
