/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Pulling up, trimming and stripping packets of any segments does to them what
 * it does to an array of bytes, and gives every buffer back.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>
#include <rte_eal.h>
#include <rte_mempool.h>

#include "packet.h"
#include "test_random.h"
#include "test_eal.h"

#define BUFFERS 255
#define ROOM	256 /* bytes of data a fresh buffer holds */
#define BYTES	4096

static struct rte_mempool *pool;

static void
assert_buffers_out(unsigned n)
{
	assert_int_equal(rte_mempool_avail_count(pool), BUFFERS - n);
}

/* Add a segment of n random bytes, that leaves `front` unused before them. */
static struct rte_mbuf *
add_segment(struct rte_mbuf *packet, uint16_t front, uint16_t n, uint8_t *model)
{
	struct rte_mbuf *s = rte_pktmbuf_alloc(pool);
	uint8_t *data;

	assert_non_null(s);
	s->data_off = front;
	data = (uint8_t *)rte_pktmbuf_append(s, n);
	assert_non_null(data);
	for (unsigned i = 0; i < n; i++)
		data[i] = (uint8_t)random_below(256);
	if (packet == NULL) {
		memcpy(model, data, n);
		return s;
	}
	memcpy(model + packet->pkt_len, data, n);
	assert_int_equal(rte_pktmbuf_chain(packet, s), 0);
	return packet;
}

static struct rte_mbuf *
random_packet(uint8_t *model)
{
	unsigned segments = 1 + random_below(8);
	struct rte_mbuf *packet = NULL;

	for (unsigned i = 0; i < segments; i++) {
		uint16_t front = (uint16_t)random_below(RTE_PKTMBUF_HEADROOM + 1);
		uint32_t room = RTE_PKTMBUF_HEADROOM + ROOM - front;
		uint32_t n = random_below(3) == 0 ? room : random_below(room + 1);

		if (random_below(6) == 0)
			n = random_below(4);
		packet = add_segment(packet, front, (uint16_t)n, model);
	}
	return packet;
}

/* Is the packet what the model says, and sound? */
static void
assert_is(const struct rte_mbuf *packet, const uint8_t *model, uint32_t len)
{
	uint8_t copy[BYTES];
	const char *reason;
	unsigned segments = 0;
	uint32_t n = 0;

	assert_int_equal(packet->pkt_len, len);
	if (rte_mbuf_check(packet, 1, &reason) != 0)
		fail_msg("%s", reason);
	for (const struct rte_mbuf *s = packet; s != NULL; s = s->next) {
		assert_true(s->data_off + s->data_len <= s->buf_len);
		memcpy(copy + n, rte_pktmbuf_mtod(s, const uint8_t *), s->data_len);
		n += s->data_len;
		segments++;
	}
	assert_int_equal(n, len);
	assert_int_equal(packet->nb_segs, segments);
	assert_memory_equal(copy, model, len);
}

static void
pull_up_moves_bytes_up(void **state)
{
	unsigned done = 0, refused = 0;

	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		uint8_t model[BYTES];
		struct rte_mbuf *packet = random_packet(model);
		uint32_t len = packet->pkt_len;
		uint16_t want = (uint16_t)random_below(random_below(2) ? 100 : len + 20);
		uint16_t first = packet->data_len, front = packet->data_off;
		uint16_t segments = packet->nb_segs;
		bool fits = want <= packet->data_len + rte_pktmbuf_tailroom(packet);
		int rc = packet_pull_up(packet, want);

		assert_is(packet, model, len);
		assert_int_equal(packet->data_off, front);
		if (rc == 0) {
			assert_true(packet->data_len >= want);
			/* No more bytes move than must. */
			assert_int_equal(packet->data_len, RTE_MAX(want, first));
			done++;
		} else {
			assert_int_equal(rc, want > len ? -EINVAL : -ENOBUFS);
			assert_true(want > len || !fits);
			assert_int_equal(packet->data_len, first);
			assert_int_equal(packet->nb_segs, segments);
			refused++;
		}
		assert_buffers_out(packet->nb_segs);
		rte_pktmbuf_free(packet);
		assert_buffers_out(0);
	}
	assert_true(done > 1000 && refused > 1000);
}

static void
pull_up_frees_what_it_empties(void **state)
{
	uint8_t model[BYTES];
	struct rte_mbuf *packet;

	(void)state;
	packet = add_segment(NULL, 128, 10, model);
	for (unsigned i = 0; i < 4; i++)
		packet = add_segment(packet, 128, 10, model);
	assert_int_equal(packet_pull_up(packet, 0), 0);
	assert_int_equal(packet_pull_up(packet, 10), 0);
	assert_int_equal(packet->nb_segs, 5);
	assert_int_equal(packet_pull_up(packet, 11), 0);
	assert_int_equal(packet->nb_segs, 5);
	assert_int_equal(packet_pull_up(packet, 20), 0);
	assert_int_equal(packet->nb_segs, 4);
	assert_int_equal(packet_pull_up(packet, 45), 0);
	assert_int_equal(packet->nb_segs, 2);
	assert_buffers_out(2);
	assert_int_equal(packet_pull_up(packet, 51), -EINVAL);
	assert_int_equal(packet_pull_up(packet, 50), 0);
	assert_int_equal(packet->nb_segs, 1);
	assert_is(packet, model, 50);
	assert_buffers_out(1);
	rte_pktmbuf_free(packet);
	assert_buffers_out(0);
}

static void
external_free(void *addr, void *opaque)
{
	(void)addr;
	++*(unsigned *)opaque;
}

/* Buffers that others can see stay as they are. */
static void
pull_up_respects_what_is_not_ours(void **state)
{
	uint8_t model[BYTES], both[BYTES], outside[512] __rte_aligned(8);
	struct rte_mbuf_ext_shared_info *shared;
	uint16_t outside_len = sizeof(outside);
	struct rte_mbuf *packet, *clone, *head;
	unsigned freed = 0;

	(void)state;
	packet = add_segment(NULL, 128, 10, model);
	packet = add_segment(packet, 128, 30, model);

	/* The original and its clone have one buffer between them. */
	clone = rte_pktmbuf_clone(packet, pool);
	assert_non_null(clone);
	assert_int_equal(packet_pull_up(packet, 20), -ENOBUFS);
	assert_int_equal(packet_pull_up(clone, 20), -ENOBUFS);
	assert_int_equal(packet_pull_up(clone, 10), 0);
	assert_is(packet, model, 40);
	assert_is(clone, model, 40);
	rte_pktmbuf_free(clone);
	assert_int_equal(packet_pull_up(packet, 20), 0);
	assert_is(packet, model, 40);

	/* A head of our own in front of a clone: the clone's bytes may be read and passed. */
	clone = rte_pktmbuf_clone(packet, pool);
	head = rte_pktmbuf_alloc(pool);
	assert_int_equal(rte_pktmbuf_chain(head, clone), 0);
	assert_int_equal(packet_pull_up(head, 25), 0);
	assert_is(head, model, 40);
	assert_is(packet, model, 40);
	assert_int_equal(packet_pull_up(head, 40), 0);
	assert_int_equal(head->nb_segs, 1);
	assert_buffers_out(3);
	rte_pktmbuf_free(head);

	/* Or in front of an original that has a clone. */
	memcpy(both + 5, model, 40);
	head = add_segment(NULL, 128, 5, both);
	clone = rte_pktmbuf_clone(packet, pool);
	rte_pktmbuf_chain(head, packet);
	assert_int_equal(packet_pull_up(head, 10), 0);
	assert_is(head, both, 45);
	assert_is(clone, model, 40);
	rte_pktmbuf_free(head);
	assert_is(clone, model, 40);
	rte_pktmbuf_free(clone);
	assert_buffers_out(0);

	/* Memory that is no pool's, and that somebody else holds, too. */
	shared = rte_pktmbuf_ext_shinfo_init_helper(outside, &outside_len, external_free, &freed);
	assert_non_null(shared);
	packet = rte_pktmbuf_alloc(pool);
	rte_pktmbuf_attach_extbuf(packet, outside, (uintptr_t)outside, outside_len, shared);
	memset(rte_pktmbuf_append(packet, 10), 0x55, 10);
	memset(model, 0x55, 10);
	packet = add_segment(packet, 128, 10, model);
	rte_mbuf_ext_refcnt_set(shared, 2);
	assert_int_equal(packet_pull_up(packet, 20), -ENOBUFS);
	assert_is(packet, model, 20);
	/* Nobody else. */
	rte_mbuf_ext_refcnt_set(shared, 1);
	assert_int_equal(packet_pull_up(packet, 12), 0);
	assert_int_equal(packet->data_len, 12);
	assert_is(packet, model, 20);
	/* Stripping leaves a head empty that must not be written. */
	rte_mbuf_ext_refcnt_set(shared, 2);
	packet_strip(packet, 15);
	assert_int_equal(packet->data_len, 0);
	assert_is(packet, model + 15, 5);
	rte_mbuf_ext_refcnt_set(shared, 1);
	rte_pktmbuf_free(packet);
	assert_int_equal(freed, 1);
	assert_buffers_out(0);
}

static void
trim_cuts_the_end(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		uint8_t model[BYTES];
		struct rte_mbuf *packet = random_packet(model);
		uint32_t len = packet->pkt_len, cut = random_below(len + 20);

		if (random_below(8) == 0)
			cut = packet->data_len; /* where segments meet */
		packet_trim(packet, cut);
		assert_is(packet, model, RTE_MIN(cut, len));
		assert_buffers_out(packet->nb_segs);
		rte_pktmbuf_free(packet);
		assert_buffers_out(0);
	}
}

static void
strip_removes_the_front(void **state)
{
	unsigned refilled = 0;

	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		uint8_t model[BYTES];
		struct rte_mbuf *packet = random_packet(model);
		uint32_t len = packet->pkt_len, n = random_below(len + 20);
		uint16_t first = packet->data_len;

		if (random_below(8) == 0)
			n = packet->data_len;
		packet_strip(packet, n);
		n = RTE_MIN(n, len);
		assert_is(packet, model + n, len - n);
		/* A packet with bytes has some in its first segment. */
		assert_true(len == n || packet->data_len > 0);
		if (n < first)
			assert_int_equal(packet->data_len, first - n);
		else if (n < len) {
			assert_int_equal(packet->data_off, RTE_PKTMBUF_HEADROOM);
			refilled++;
		}
		assert_buffers_out(packet->nb_segs);
		rte_pktmbuf_free(packet);
		assert_buffers_out(0);
	}
	assert_true(refilled > 1000);
}

static void
trim_leaves_no_empty_segment(void **state)
{
	uint8_t model[BYTES];
	struct rte_mbuf *packet;

	(void)state;
	for (uint32_t len = 0; len <= 30; len++) {
		packet = add_segment(NULL, 128, 10, model);
		packet = add_segment(packet, 128, 10, model);
		packet = add_segment(packet, 128, 10, model);
		packet_trim(packet, len);
		assert_is(packet, model, len);
		assert_int_equal(packet->nb_segs, len <= 10 ? 1 : len <= 20 ? 2 : 3);
		assert_buffers_out(packet->nb_segs);
		rte_pktmbuf_free(packet);
	}
}

/* A clone's bytes are stripped without touching the original's. */
static void
strip_and_trim_of_a_clone(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 5000; i++) {
		uint8_t model[BYTES];
		struct rte_mbuf *packet = random_packet(model);
		struct rte_mbuf *clone = rte_pktmbuf_clone(packet, pool);
		uint32_t len = packet->pkt_len, n = random_below(len + 1);

		assert_non_null(clone);
		packet_strip(clone, n);
		assert_is(clone, model + n, len - n);
		assert_is(packet, model, len);
		packet_trim(clone, (len - n) / 2);
		assert_is(clone, model + n, (len - n) / 2);
		assert_is(packet, model, len);
		assert_buffers_out(packet->nb_segs + clone->nb_segs);
		/* The other way about: what the clone holds outlives the original. */
		packet_strip(packet, random_below(len + 1));
		rte_pktmbuf_free(packet);
		assert_is(clone, model + n, (len - n) / 2);
		rte_pktmbuf_free(clone);
		assert_buffers_out(0);
	}
}

/* One after the other, as a decapsulation does. */
static void
any_sequence(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 5000; i++) {
		uint8_t model[BYTES];
		struct rte_mbuf *packet = random_packet(model);
		uint32_t from = 0, len = packet->pkt_len;

		for (unsigned k = 0; k < 8; k++) {
			uint32_t n = random_below(random_below(2) ? 60 : len + 10);

			switch (random_below(3)) {
			case 0:
				packet_strip(packet, n);
				n = RTE_MIN(n, len);
				from += n;
				len -= n;
				break;
			case 1:
				n = len + 5 - RTE_MIN(n, len + 5);
				packet_trim(packet, n);
				len = RTE_MIN(n, len);
				break;
			default:
				packet_pull_up(packet, (uint16_t)n);
				break;
			}
			assert_is(packet, model + from, len);
			assert_buffers_out(packet->nb_segs);
		}
		rte_pktmbuf_free(packet);
		assert_buffers_out(0);
	}
}

static int
start(void **state)
{

	(void)state;
	if (!test_eal_start("0"))
		return -1;
	/* No cache: what is available is known to the last buffer. */
	pool = rte_pktmbuf_pool_create("packets", BUFFERS, 0, 0, RTE_PKTMBUF_HEADROOM + ROOM,
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
		cmocka_unit_test(pull_up_moves_bytes_up),
		cmocka_unit_test(pull_up_frees_what_it_empties),
		cmocka_unit_test(pull_up_respects_what_is_not_ours),
		cmocka_unit_test(trim_cuts_the_end),
		cmocka_unit_test(trim_leaves_no_empty_segment),
		cmocka_unit_test(strip_removes_the_front),
		cmocka_unit_test(strip_and_trim_of_a_clone),
		cmocka_unit_test(any_sequence),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
