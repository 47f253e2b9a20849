/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Fragments of any IPv6 packet of the router's own have the right headers, are as long as the
 * MTU allows, and are the packet when put together; no buffer is lost on any way out.
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

#define BUFFERS 511
#define ROOM	512
#define MAX	256
#define HEADERS 48 /* IPv6 and fragment header */

static struct rte_mempool *in_pool, *out_pool;

static void
assert_nothing_out(void)
{
	assert_int_equal(rte_mempool_avail_count(in_pool), BUFFERS);
	assert_int_equal(rte_mempool_avail_count(out_pool), BUFFERS);
}

static struct rte_mbuf *
make_packet(uint8_t *bytes, uint32_t len, uint8_t proto)
{
	struct rte_mbuf *packet = NULL;

	for (uint32_t i = 0; i < len; i++)
		bytes[i] = (uint8_t)random_below(256);
	bytes[0] = 0x60;
	ip_put16(bytes + 4, (uint16_t)(len - IP6_HEADER));
	bytes[6] = proto;
	for (uint32_t done = 0; done < len;) {
		struct rte_mbuf *s = rte_pktmbuf_alloc(in_pool);
		uint32_t n = RTE_MIN(1 + random_below(ROOM), len - done);

		assert_non_null(s);
		memcpy(rte_pktmbuf_append(s, (uint16_t)n), bytes + done, n);
		done += n;
		if (packet == NULL)
			packet = s;
		else
			assert_int_equal(rte_pktmbuf_chain(packet, s), 0);
	}
	return packet;
}

static void
assert_fragments(struct rte_mbuf **out, int count, const uint8_t *bytes, uint32_t len, uint16_t mtu,
		 uint32_t id)
{
	uint32_t at = 0;
	uint8_t copy[UINT16_MAX];

	for (int i = 0; i < count; i++) {
		const uint8_t *h = rte_pktmbuf_read(out[i], 0, out[i]->pkt_len, copy);
		uint32_t n = out[i]->pkt_len - HEADERS;
		bool last = i == count - 1;

		assert_non_null(h);
		assert_true(out[i]->pkt_len <= mtu);
		assert_true(last || out[i]->pkt_len + 8 > mtu);
		assert_true(last || n % 8 == 0);
		assert_memory_equal(h, bytes, 4);
		assert_int_equal(ip_get16(h + 4), out[i]->pkt_len - IP6_HEADER);
		assert_int_equal(h[6], PROTO_FRAGMENT);
		assert_memory_equal(h + 7, bytes + 7, 33);
		assert_int_equal(h[40], bytes[6]);
		assert_int_equal(h[41], 0);
		assert_int_equal(ip_get16(h + 42), at | !last);
		assert_memory_equal(h + 44, &id, 4);
		assert_memory_equal(h + HEADERS, bytes + IP6_HEADER + at, n);
		assert_true(rte_pktmbuf_headroom(out[i]) >= RTE_PKTMBUF_HEADROOM);
		at += n;
	}
	assert_int_equal(at, len - IP6_HEADER);
}

static void
fragments_of_any_packet(void **state)
{
	static uint8_t bytes[UINT16_MAX];

	(void)state;
	for (unsigned i = 0; i < 2000; i++) {
		uint32_t len = HEADERS + 8 + random_below(random_below(20) ? 5000 : 40000);
		uint16_t mtu = (uint16_t)(1280 + random_below(8000));
		uint32_t id = random_below(UINT32_MAX);
		struct rte_mbuf *packet = make_packet(bytes, len, PROTO_UDP), *out[MAX];
		int count;

		count = ip6_fragment(packet, mtu, id, out_pool, out, MAX);
		assert_true(count > 0);
		assert_fragments(out, count, bytes, len, mtu, id);
		rte_pktmbuf_free_bulk(out, (unsigned)count);
		rte_pktmbuf_free(packet);
		assert_nothing_out();
	}
}

static void
refuses_what_it_cannot_do(void **state)
{
	static const uint8_t not_these[] = {PROTO_HOPOPTS, PROTO_ROUTING, PROTO_FRAGMENT};
	static uint8_t bytes[3000];
	struct rte_mbuf *packet, *out[MAX];

	(void)state;
	for (unsigned i = 0; i < RTE_DIM(not_these); i++) {
		packet = make_packet(bytes, sizeof(bytes), not_these[i]);
		assert_int_equal(ip6_fragment(packet, 1280, 1, out_pool, out, MAX), -EINVAL);
		rte_pktmbuf_free(packet);
	}
	packet = make_packet(bytes, sizeof(bytes), PROTO_ICMP6);
	assert_int_equal(ip6_fragment(packet, HEADERS + 7, 1, out_pool, out, MAX), -EINVAL);
	assert_int_equal(ip6_fragment(packet, 1280, 1, out_pool, out, 2), -E2BIG);
	assert_int_equal(ip6_fragment(packet, 1280, 1, out_pool, out, 3), 3);
	rte_pktmbuf_free_bulk(out, 3);
	assert_int_equal(packet_pull_up(packet, IP6_HEADER), 0);
	rte_pktmbuf_mtod(packet, uint8_t *)[5] ^= 1;
	assert_int_equal(ip6_fragment(packet, 1280, 1, out_pool, out, MAX), -EINVAL);
	rte_pktmbuf_free(packet);
	assert_nothing_out();
}

static void
exhaustion_leaks_nothing(void **state)
{
	static uint8_t bytes[3000];
	struct rte_mbuf *packet = make_packet(bytes, sizeof(bytes), PROTO_UDP), *out[MAX],
			*held[BUFFERS];
	int count = ip6_fragment(packet, 1280, 1, out_pool, out, MAX);
	unsigned needed = 0;

	(void)state;
	assert_int_equal(count, 3);
	for (int i = 0; i < count; i++)
		needed += out[i]->nb_segs;
	rte_pktmbuf_free_bulk(out, (unsigned)count);
	for (unsigned there = 0; there < needed; there++) {
		assert_int_equal(rte_pktmbuf_alloc_bulk(out_pool, held, BUFFERS - there), 0);
		assert_int_equal(ip6_fragment(packet, 1280, 1, out_pool, out, MAX), -ENOBUFS);
		assert_int_equal(rte_mempool_avail_count(out_pool), there);
		rte_pktmbuf_free_bulk(held, BUFFERS - there);
	}
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
	return in_pool == NULL || out_pool == NULL ? -1 : 0;
}

static int
stop(void **state)
{
	(void)state;
	rte_mempool_free(in_pool);
	rte_mempool_free(out_pool);
	return rte_eal_cleanup();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fragments_of_any_packet),
		cmocka_unit_test(refuses_what_it_cannot_do),
		cmocka_unit_test(exhaustion_leaks_nothing),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
