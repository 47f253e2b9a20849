/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Fragments of any IPv4 packet, put together again by a plain reader of
 * RFC 791, are that packet; and no buffer is lost on any way out.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>
#include <rte_eal.h>
#include <rte_mempool.h>

#include "ip.h"
#include "test_random.h"
#include "test_eal.h"

#define BUFFERS	   1023
#define ROOM	   512 /* bytes of data a fresh buffer holds: most fragments need several */
#define PACKET_MAX 20000
#define MAX	   512

static struct rte_mempool *in_pool, *out_pool, *small_pool;

static void
assert_nothing_out(void)
{
	assert_int_equal(rte_mempool_avail_count(in_pool), BUFFERS);
	assert_int_equal(rte_mempool_avail_count(out_pool), BUFFERS);
}

/* Random bytes behind a valid header with these options and this flags and offset field. */
static void
make_bytes(uint8_t *bytes, uint32_t total_len, const uint8_t *options, unsigned options_len,
	   uint16_t flags_offset)
{
	for (uint32_t i = 0; i < total_len; i++)
		bytes[i] = (uint8_t)random_below(256);
	bytes[0] = (uint8_t)(0x40 | (20 + options_len) / 4);
	ip_put16(bytes + 2, (uint16_t)total_len);
	ip_put16(bytes + 6, flags_offset);
	memcpy(bytes + 20, options, options_len);
	ip4_sum_set(bytes, 20 + options_len);
}

/* As a packet of segments of at most `largest` bytes, 0: of random lengths; some are empty. */
static struct rte_mbuf *
make_packet(const uint8_t *bytes, uint32_t len, uint32_t largest)
{
	struct rte_mbuf *packet = NULL;

	for (uint32_t done = 0; done < len || packet == NULL;) {
		struct rte_mbuf *s = rte_pktmbuf_alloc(in_pool);
		uint32_t n = largest;

		assert_non_null(s);
		if (largest == 0)
			n = random_below(4) ? RTE_MIN(ROOM, 300 + random_below(300))
					    : random_below(30);
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

/* The options of later fragments: RFC 791 3.1, worked out for the list as a whole. */
static unsigned
copied_options(const uint8_t *options, unsigned len, uint8_t *copied)
{
	unsigned n = 0;

	for (unsigned i = 0; i < len && options[i] != 0;) {
		unsigned one = options[i] == 1 ? 1 : options[i + 1];

		if (options[i] >= 128)
			for (unsigned k = 0; k < one; k++)
				copied[n++] = options[i + k];
		i += one;
	}
	while (n % 4 != 0)
		copied[n++] = 0;
	return n;
}

static void
assert_sound(const struct rte_mbuf *m)
{
	const char *reason;
	uint32_t n = 0;
	unsigned segments = 0;

	if (rte_mbuf_check(m, 1, &reason) != 0)
		fail_msg("%s", reason);
	for (const struct rte_mbuf *s = m; s != NULL; s = s->next) {
		assert_true(RTE_MBUF_DIRECT(s));
		assert_int_equal(rte_mbuf_refcnt_read(s), 1);
		assert_ptr_equal(s->pool, out_pool);
		assert_true(s->data_len > 0);
		n += s->data_len;
		segments++;
	}
	assert_int_equal(n, m->pkt_len);
	assert_int_equal(segments, m->nb_segs);
	assert_true(rte_pktmbuf_headroom(m) >= RTE_PKTMBUF_HEADROOM);
	assert_int_equal(m->ol_flags, 0);
	/* As few segments as the buffers allow. */
	assert_int_equal(segments, (n + ROOM - 1) / ROOM);
}

/* Every fragment's header is right, and together they are the packet. */
static void
assert_fragments(struct rte_mbuf **out, int count, const uint8_t *bytes, uint32_t total_len,
		 uint16_t mtu)
{
	unsigned header_len = (bytes[0] & 15) * 4u, done = header_len, later_len;
	uint16_t fragment = ip_get16(bytes + 6);
	uint8_t later[40], copy[UINT16_MAX];

	later_len = copied_options(bytes + 20, header_len - 20, later);
	for (int i = 0; i < count; i++) {
		unsigned expected_header = i == 0 ? header_len : 20 + later_len;
		uint32_t n = out[i]->pkt_len, payload;
		bool last = i == count - 1;
		uint16_t len;

		assert_sound(out[i]);
		assert_true(n <= mtu);
		assert_true(rte_pktmbuf_read(out[i], 0, n, copy) != NULL);
		memcpy(copy, rte_pktmbuf_read(out[i], 0, n, copy), n);
		assert_int_equal(ip4_check(copy, n, &len), 0);
		assert_int_equal(len, n);
		assert_int_equal((copy[0] & 15) * 4, expected_header);
		payload = n - expected_header;
		/* Version and type of service, identification; TTL, protocol; addresses. */
		assert_int_equal(copy[1], bytes[1]);
		assert_memory_equal(copy + 4, bytes + 4, 2);
		assert_memory_equal(copy + 8, bytes + 8, 2);
		assert_memory_equal(copy + 12, bytes + 12, 8);
		if (i == 0)
			assert_memory_equal(copy + 20, bytes + 20, header_len - 20);
		else
			assert_memory_equal(copy + 20, later, later_len);
		assert_int_equal((ip_get16(copy + 6) & 0x1fff) * 8u,
				 (fragment & 0x1fff) * 8u + done - header_len);
		assert_int_equal(ip_get16(copy + 6) & 0xe000,
				 last ? fragment & 0xe000 : (fragment & 0xe000) | 0x2000);
		if (!last) {
			assert_int_equal(payload % 8, 0);
			/* As much as the MTU allows. */
			assert_true(n + 8 > mtu);
		}
		assert_true(done + payload <= total_len);
		assert_memory_equal(copy + expected_header, bytes + done, payload);
		done += payload;
	}
	assert_int_equal(done, total_len);
}

static unsigned
random_options(uint8_t *options)
{
	static const uint8_t kinds[] = {7, 68, 82, 130, 131, 136, 137, 148, 1, 1};
	unsigned len = 4 * random_below(11), n = 0;

	if (random_below(2) == 0)
		return 0;
	while (n < len) {
		uint8_t kind = kinds[random_below(sizeof(kinds))];
		unsigned one = kind == 1 ? 1 : 2 + random_below(10);

		if (random_below(10) == 0)
			break;
		if (n + one > len)
			kind = one = 1;
		options[n] = kind;
		for (unsigned i = 1; i < one; i++)
			options[n + i] = i == 1 ? (uint8_t)one : (uint8_t)random_below(256);
		n += one;
	}
	memset(options + n, 0, len - n);
	return len;
}

static void
fragments_of_any_packet(void **state)
{
	static uint8_t bytes[PACKET_MAX];
	unsigned total = 0;

	(void)state;
	for (unsigned i = 0; i < 3000; i++) {
		uint8_t options[40];
		unsigned options_len = random_options(options);
		uint16_t mtu = (uint16_t)(68 + random_below(random_below(2) ? 200 : 3000));
		uint32_t len = 20 + options_len + random_below(random_below(3) ? 3000 : 15000);
		uint16_t flags_offset = 0;
		struct rte_mbuf *packet, *out[MAX];
		struct rte_mbuf *before;
		int count;

		if (random_below(3) == 0)
			flags_offset = (uint16_t)(random_below(2) << 13 | random_below(6000) |
						  random_below(2) << 15);
		make_bytes(bytes, len, options, options_len, flags_offset);
		/* Sometimes with Ethernet padding. */
		packet = make_packet(bytes, len + (random_below(4) == 0 ? random_below(20) : 0),
				     random_below(3) ? 0 : ROOM);
		packet->port = 7;
		before = rte_pktmbuf_copy(packet, in_pool, 0, UINT32_MAX);
		assert_non_null(before);
		count = ip4_fragment(packet, mtu, out_pool, out, MAX);
		if (count == -E2BIG) {
			/* So few bytes go into each that there are more than there is room for. */
			assert_true(len / ((mtu - 20u - options_len) & ~7u) >= MAX);
			count = 0;
		} else {
			assert_true(count > 0);
			assert_fragments(out, count, bytes, len, mtu);
		}
		total += (unsigned)count;
		for (int k = 0; k < count; k++) {
			assert_int_equal(out[k]->port, 7);
			rte_pktmbuf_free(out[k]);
		}
		/* The input is as it was. */
		assert_int_equal(packet->pkt_len, before->pkt_len);
		rte_pktmbuf_free(before);
		rte_pktmbuf_free(packet);
		assert_nothing_out();
	}
	assert_true(total > 10000);
}

/* Fragments of fragments of fragments are fragments of the packet. */
static void
fragments_again(void **state)
{
	static uint8_t bytes[9000], whole[9000], copy[9000];
	static const uint8_t options[] = {148, 4, 0, 0, 7, 7, 4, 1, 2, 3, 4, 0};

	(void)state;
	for (unsigned round = 0; round < 50; round++) {
		struct rte_mbuf *packet, *first[MAX], *second[MAX];
		uint32_t reached = 0;
		bool ended = false;
		int n, k;

		make_bytes(bytes, sizeof(bytes), options, sizeof(options), 0);
		packet = make_packet(bytes, sizeof(bytes), ROOM);
		n = ip4_fragment(packet, (uint16_t)(1000 + random_below(500)), out_pool, first,
				 MAX);
		assert_true(n > 1);
		for (int i = 0; i < n; i++) {
			k = ip4_fragment(first[i], (uint16_t)(68 + random_below(400)), out_pool,
					 second, MAX);
			assert_true(k > 0);
			for (int j = 0; j < k; j++) {
				const uint8_t *h =
					rte_pktmbuf_read(second[j], 0, second[j]->pkt_len, copy);
				uint32_t header_len = (h[0] & 15) * 4u;
				uint32_t at = (ip_get16(h + 6) & 0x1fff) * 8u;

				assert_int_equal(at, reached);
				assert_false(ended);
				/* The record route option is in the very first alone. */
				assert_int_equal(header_len, at == 0 ? 32 : 24);
				memcpy(whole + at, h + header_len, second[j]->pkt_len - header_len);
				reached += second[j]->pkt_len - header_len;
				ended = (ip_get16(h + 6) & 0x2000) == 0;
				rte_pktmbuf_free(second[j]);
			}
			rte_pktmbuf_free(first[i]);
		}
		assert_true(ended);
		assert_int_equal(reached, sizeof(bytes) - 32);
		assert_memory_equal(whole, bytes + 32, reached);
		rte_pktmbuf_free(packet);
		assert_nothing_out();
	}
}

/* One byte more or less, where counts change. */
static void
edges(void **state)
{
	static uint8_t bytes[600];
	struct rte_mbuf *packet, *out[MAX];

	(void)state;
	for (uint16_t mtu = 28; mtu < 60; mtu++) {
		for (uint32_t len = 20; len < 300; len++) {
			uint32_t one = (mtu - 20u) & ~7u, payload = len - 20;
			int expected = 1, count;

			while (payload > mtu - 20u) {
				payload -= one;
				expected++;
			}
			make_bytes(bytes, len, bytes, 0, 0);
			packet = make_packet(bytes, len, ROOM);
			count = ip4_fragment(packet, mtu, out_pool, out, MAX);
			assert_int_equal(count, expected);
			assert_fragments(out, count, bytes, len, mtu);
			rte_pktmbuf_free_bulk(out, (unsigned)count);
			/* Exactly enough places, and one too few. */
			assert_int_equal(
				ip4_fragment(packet, mtu, out_pool, out, (unsigned)expected),
				expected);
			rte_pktmbuf_free_bulk(out, (unsigned)count);
			assert_int_equal(
				ip4_fragment(packet, mtu, out_pool, out, (unsigned)expected - 1),
				-E2BIG);
			rte_pktmbuf_free(packet);
		}
	}
	assert_nothing_out();
}

static void
refused(const uint8_t *bytes, uint32_t len, uint16_t mtu)
{
	struct rte_mbuf *packet = make_packet(bytes, len, ROOM), *out[MAX];

	assert_int_equal(ip4_fragment(packet, mtu, out_pool, out, MAX), -EINVAL);
	rte_pktmbuf_free(packet);
	assert_nothing_out();
}

static void
refuses_what_it_cannot_do(void **state)
{
	static const uint8_t nop[4] = {1, 1, 1, 1};
	static uint8_t bytes[2000];
	struct rte_mbuf *packet, *out[MAX];
	int count;

	(void)state;
	make_bytes(bytes, 1000, nop, 4, 0);
	refused(bytes, 1000, 31);
	refused(bytes, 1000, 0);
	refused(bytes, 999, 200); /* total length beyond the packet */
	refused(bytes, 23, 200);
	refused(bytes, 19, 200);
	refused(bytes, 0, 200);
	make_bytes(bytes, 1000, nop, 4, IP4_DONT_FRAGMENT);
	refused(bytes, 1000, 200);
	make_bytes(bytes, 1000, nop, 4, 0);
	bytes[0] = 0x44;
	refused(bytes, 1000, 200);
	bytes[0] = 0x46;
	bytes[20] = 7;
	bytes[21] = 5;
	refused(bytes, 1000, 200);
	bytes[21] = 0;
	refused(bytes, 1000, 200);
	bytes[20] = 1;
	bytes[21] = 1;
	ip_put16(bytes + 2, 23);
	refused(bytes, 1000, 200);

	/* A datagram ends before its byte 65536; further on, offsets would become flags. */
	make_bytes(bytes, 20 + 800, nop, 0, IP4_MORE_FRAGMENTS | (65536 - 800) / 8);
	packet = make_packet(bytes, 20 + 800, ROOM);
	count = ip4_fragment(packet, 200, out_pool, out, MAX);
	assert_int_equal(count, 5);
	assert_fragments(out, count, bytes, 20 + 800, 200);
	rte_pktmbuf_free_bulk(out, (unsigned)count);
	rte_pktmbuf_free(packet);
	make_bytes(bytes, 20 + 800, nop, 0, (65536 - 800) / 8 + 1);
	refused(bytes, 20 + 800, 200);
	make_bytes(bytes, 20 + 801, nop, 0, (65536 - 800) / 8);
	refused(bytes, 20 + 801, 200);
}

/* The pool runs dry at the first, the second, ... the last buffer asked for. */
static void
exhaustion_leaks_nothing(void **state)
{
	static uint8_t bytes[3000];
	struct rte_mbuf *packet, *out[MAX], *held[BUFFERS];
	unsigned needed = 0;
	int count;

	(void)state;
	make_bytes(bytes, sizeof(bytes), bytes, 0, 0);
	packet = make_packet(bytes, sizeof(bytes), ROOM);
	count = ip4_fragment(packet, 1200, out_pool, out, MAX);
	assert_true(count > 0);
	for (int i = 0; i < count; i++)
		needed += out[i]->nb_segs;
	assert_true(needed > (unsigned)count);
	rte_pktmbuf_free_bulk(out, (unsigned)count);

	for (unsigned there = 0; there <= needed; there++) {
		assert_int_equal(rte_pktmbuf_alloc_bulk(out_pool, held, BUFFERS - there), 0);
		count = ip4_fragment(packet, 1200, out_pool, out, MAX);
		if (there < needed) {
			assert_int_equal(count, -ENOBUFS);
			assert_int_equal(rte_mempool_avail_count(out_pool), there);
		} else {
			assert_fragments(out, count, bytes, sizeof(bytes), 1200);
			rte_pktmbuf_free_bulk(out, (unsigned)count);
		}
		rte_pktmbuf_free_bulk(held, BUFFERS - there);
	}
	/* Buffers that hold no data, or not even a header. */
	assert_int_equal(ip4_fragment(packet, 1200, small_pool, out, MAX), -ENOBUFS);
	assert_int_equal(rte_mempool_avail_count(small_pool), 15);
	rte_pktmbuf_free(packet);
	assert_nothing_out();
}

static int
start(void **state)
{

	(void)state;
	if (!test_eal_start("0"))
		return -1;
	/* No caches: what is available is known to the last buffer. */
	in_pool = rte_pktmbuf_pool_create("in", BUFFERS, 0, 0, RTE_PKTMBUF_HEADROOM + ROOM,
					  SOCKET_ID_ANY);
	out_pool = rte_pktmbuf_pool_create("out", BUFFERS, 0, 0, RTE_PKTMBUF_HEADROOM + ROOM,
					   SOCKET_ID_ANY);
	small_pool = rte_pktmbuf_pool_create("small", 15, 0, 0, RTE_PKTMBUF_HEADROOM + 16,
					     SOCKET_ID_ANY);
	return in_pool == NULL || out_pool == NULL || small_pool == NULL ? -1 : 0;
}

static int
stop(void **state)
{
	(void)state;
	rte_mempool_free(in_pool);
	rte_mempool_free(out_pool);
	rte_mempool_free(small_pool);
	return rte_eal_cleanup();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fragments_of_any_packet),
		cmocka_unit_test(fragments_again),
		cmocka_unit_test(edges),
		cmocka_unit_test(refuses_what_it_cannot_do),
		cmocka_unit_test(exhaustion_leaks_nothing),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
