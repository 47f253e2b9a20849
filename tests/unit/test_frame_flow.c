/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What belongs together gets the same number, what does not is spread; and nothing
 * is read that is not there (frames end where their memory ends).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>
#include <rte_ether.h>

#include "frame_flow.h"
#include "ip.h"

#define FRAME_MAX 512

struct frame {
	uint8_t bytes[FRAME_MAX];
	uint32_t len;
};

static void
put(struct frame *f, const void *bytes, uint32_t n)
{
	memcpy(f->bytes + f->len, bytes, n);
	f->len += n;
}

static void
put16(struct frame *f, uint16_t value)
{
	put(f, (uint8_t[]){(uint8_t)(value >> 8), (uint8_t)value}, 2);
}

static void
ethernet(struct frame *f, uint16_t type)
{
	put(f, "\2\0\0\0\0\1\2\0\0\0\0\2", 12);
	put16(f, type);
}

static void
vlan(struct frame *f, uint16_t id, uint16_t type)
{
	put16(f, id);
	put16(f, type);
}

static void
ports(struct frame *f, uint16_t from, uint16_t to)
{
	put16(f, from);
	put16(f, to);
	put(f, "\0\10\0\0", 4);
}

/* id and fragment: as in the header. */
static void
ip4(struct frame *f, uint8_t proto, uint32_t from, uint16_t id, uint16_t fragment)
{
	uint8_t h[IP4_HEADER_MIN] = {0x45,
				     0,
				     0,
				     28,
				     (uint8_t)(id >> 8),
				     (uint8_t)id,
				     (uint8_t)(fragment >> 8),
				     (uint8_t)fragment,
				     64,
				     proto,
				     0,
				     0,
				     (uint8_t)(from >> 24),
				     (uint8_t)(from >> 16),
				     (uint8_t)(from >> 8),
				     (uint8_t)from,
				     10,
				     0,
				     0,
				     1};

	put(f, h, sizeof(h));
}

static void
ip6(struct frame *f, uint8_t next, uint8_t from, uint32_t label)
{
	uint8_t h[IP6_HEADER] = {0x60,
				 (uint8_t)(label >> 16),
				 (uint8_t)(label >> 8),
				 (uint8_t)label,
				 0,
				 40,
				 next,
				 64,
				 0xfd,
				 [23] = from,
				 [24] = 0xfc,
				 [39] = 9};

	put(f, h, sizeof(h));
}

/* A header of 8 * (words + 1) bytes that is passed over. */
static void
extension(struct frame *f, uint8_t next, uint8_t words)
{
	uint8_t h[8 * 8] = {next, words};

	put(f, h, 8u + 8u * words);
}

/* RFC 8754 2: two segments. */
static void
srh(struct frame *f, uint8_t next, uint8_t left)
{
	uint8_t h[40] = {next, 4, 4, left, 1};

	put(f, h, sizeof(h));
}

static void
fragment6(struct frame *f, uint8_t next, uint16_t field, uint8_t id)
{
	uint8_t h[8] = {next, 0, (uint8_t)(field >> 8), (uint8_t)field, 0, 0, 0, id};

	put(f, h, sizeof(h));
}

static struct frame
udp4(uint32_t from, uint16_t port)
{
	struct frame f = {.len = 0};

	ethernet(&f, RTE_ETHER_TYPE_IPV4);
	ip4(&f, PROTO_UDP, from, 0, 0);
	ports(&f, port, 9);
	return f;
}

/* The functions on a copy that ends where it says. */
static uint32_t
flow(uint32_t (*of)(const uint8_t *, uint32_t), const struct frame *f, uint32_t len)
{
	uint8_t *copy = malloc(len != 0 ? len : 1);
	uint32_t hash;

	memcpy(copy, f->bytes, len);
	hash = of(copy, len);
	free(copy);
	return hash;
}

static uint32_t
outer(const struct frame *f)
{
	return flow(frame_flow_outer, f, f->len);
}

static uint32_t
inner(const struct frame *f)
{
	return flow(frame_flow_inner, f, f->len);
}

static void
test_ports_and_addresses_tell_flows(void **state)
{
	struct frame a = udp4(1, 1000), b = udp4(1, 1001), c = udp4(2, 1000), again = a;

	(void)state;
	again.bytes[14 + 8] = 3; /* TTL */
	again.bytes[14 + 5] = 7; /* identification of a whole packet */
	assert_int_equal(outer(&a), outer(&again));
	assert_int_not_equal(outer(&a), outer(&b));
	assert_int_not_equal(outer(&a), outer(&c));
	/* Without a tunnel the inner flow is the outer one. */
	assert_int_equal(inner(&a), outer(&a));
}

static void
test_vlan_tags_are_seen_through(void **state)
{
	struct frame plain = udp4(1, 1000), one = {.len = 0}, two = {.len = 0};

	(void)state;
	ethernet(&one, RTE_ETHER_TYPE_VLAN);
	vlan(&one, 5, RTE_ETHER_TYPE_IPV4);
	put(&one, plain.bytes + 14, plain.len - 14);
	ethernet(&two, RTE_ETHER_TYPE_QINQ);
	vlan(&two, 5, RTE_ETHER_TYPE_VLAN);
	vlan(&two, 6, RTE_ETHER_TYPE_IPV4);
	put(&two, plain.bytes + 14, plain.len - 14);
	assert_int_equal(outer(&one), outer(&plain));
	assert_int_equal(outer(&two), outer(&plain));
	assert_int_equal(inner(&two), outer(&plain));
}

static void
test_fragments_of_a_packet_stay_together(void **state)
{
	struct frame first = udp4(1, 1000), later = first, other = first;

	(void)state;
	first.bytes[14 + 5] = later.bytes[14 + 5] = 77;
	other.bytes[14 + 5] = 78;
	first.bytes[14 + 6] = other.bytes[14 + 6] = 0x20;
	later.bytes[14 + 7] = 100;
	later.bytes[14 + 20] = 0xaa; /* no ports there */
	assert_int_equal(outer(&first), outer(&later));
	assert_int_not_equal(outer(&first), outer(&other));
}

static struct frame
fragment_of_udp6(uint16_t field, uint8_t id, uint16_t port)
{
	struct frame f = {.len = 0};

	ethernet(&f, RTE_ETHER_TYPE_IPV6);
	ip6(&f, PROTO_DSTOPTS, 1, 0);
	extension(&f, PROTO_FRAGMENT, 1);
	fragment6(&f, PROTO_UDP, field, id);
	ports(&f, port, 9);
	return f;
}

static void
test_ipv6_fragments(void **state)
{
	struct frame first = fragment_of_udp6(1, 7, 1000), later = fragment_of_udp6(0x100, 7, 2000);
	struct frame other = fragment_of_udp6(1, 8, 1000);
	/* RFC 6946: neither offset nor more to come, so it is whole and has ports. */
	struct frame atomic = fragment_of_udp6(0, 7, 1000), atomic2 = fragment_of_udp6(0, 8, 1000);

	(void)state;
	assert_int_equal(outer(&first), outer(&later));
	assert_int_not_equal(outer(&first), outer(&other));
	assert_int_equal(outer(&atomic), outer(&atomic2));
	assert_int_not_equal(outer(&atomic), outer(&first));
}

static void
test_flow_label_counts_where_there_are_no_ports(void **state)
{
	struct frame a = {.len = 0}, b = {.len = 0}, tunnel_a = {.len = 0}, tunnel_b = {.len = 0};
	struct frame packet = udp4(1, 1);

	(void)state;
	ethernet(&a, RTE_ETHER_TYPE_IPV6);
	ip6(&a, PROTO_UDP, 1, 0x12345);
	ports(&a, 1000, 9);
	ethernet(&b, RTE_ETHER_TYPE_IPV6);
	ip6(&b, PROTO_HOPOPTS, 1, 0x54321);
	extension(&b, PROTO_UDP, 2);
	ports(&b, 1000, 9);
	assert_int_equal(outer(&a), outer(&b));
	ethernet(&tunnel_a, RTE_ETHER_TYPE_IPV6);
	ip6(&tunnel_a, PROTO_IP4, 1, 1);
	put(&tunnel_a, packet.bytes + 14, packet.len - 14);
	ethernet(&tunnel_b, RTE_ETHER_TYPE_IPV6);
	ip6(&tunnel_b, PROTO_IP4, 1, 2);
	put(&tunnel_b, packet.bytes + 14, packet.len - 14);
	assert_int_not_equal(outer(&tunnel_a), outer(&tunnel_b));
	assert_int_equal(inner(&tunnel_a), inner(&tunnel_b));
}

static void
test_inner_flow_is_that_of_the_packet_alone(void **state)
{
	struct frame packet = udp4(7, 1234), f;
	uint32_t wanted = outer(&packet);

	(void)state;
	for (unsigned kind = 0; kind < 8; kind++) {
		f.len = 0;
		ethernet(&f, kind == 5 ? RTE_ETHER_TYPE_IPV4 : RTE_ETHER_TYPE_IPV6);
		switch (kind) {
		case 0: /* reduced encapsulation */
			ip6(&f, PROTO_IP4, 1, 0);
			break;
		case 1: /* SRH, used up */
			ip6(&f, PROTO_ROUTING, 1, 0);
			srh(&f, PROTO_IP4, 0);
			break;
		case 2: /* SRH, on its way */
			ip6(&f, PROTO_ROUTING, 1, 0);
			srh(&f, PROTO_IP4, 1);
			break;
		case 3: /* options on both sides */
			ip6(&f, PROTO_HOPOPTS, 1, 0);
			extension(&f, PROTO_ROUTING, 0);
			srh(&f, PROTO_DSTOPTS, 1);
			extension(&f, PROTO_IP4, 3);
			break;
		case 4: /* two tunnels, one in the other */
			ip6(&f, PROTO_IP6, 1, 0);
			ip6(&f, PROTO_IP4, 2, 0);
			break;
		case 5: /* IPv4 in IPv4 */
			ip4(&f, PROTO_IP4, 9, 0, 0);
			break;
		case 6: /* Ethernet in SRv6, tagged */
			ip6(&f, PROTO_ETHERNET, 1, 0);
			ethernet(&f, RTE_ETHER_TYPE_VLAN);
			vlan(&f, 3, RTE_ETHER_TYPE_IPV4);
			break;
		case 7: /* an atomic fragment */
			ip6(&f, PROTO_FRAGMENT, 1, 0);
			fragment6(&f, PROTO_IP4, 0, 5);
			break;
		}
		put(&f, packet.bytes + 14, packet.len - 14);
		assert_int_equal(inner(&f), wanted);
		assert_int_not_equal(outer(&f), wanted);
	}
}

static void
test_fragments_of_a_tunnels_packet_stay_together(void **state)
{
	struct frame first = {.len = 0}, later = {.len = 0}, packet = udp4(7, 1234);

	(void)state;
	ethernet(&first, RTE_ETHER_TYPE_IPV6);
	ip6(&first, PROTO_FRAGMENT, 1, 0);
	fragment6(&first, PROTO_IP4, 1, 5);
	put(&first, packet.bytes + 14, packet.len - 14);
	ethernet(&later, RTE_ETHER_TYPE_IPV6);
	ip6(&later, PROTO_FRAGMENT, 1, 0);
	fragment6(&later, PROTO_IP4, 0x200, 5);
	put(&later, "more of it, no header at all", 28);
	assert_int_equal(inner(&first), inner(&later));
}

static void
test_what_is_not_ip(void **state)
{
	struct frame a = {.len = 0}, b;

	(void)state;
	ethernet(&a, RTE_ETHER_TYPE_ARP);
	put(&a, "\0\1\10\0\6\4\0\1 whatever it says", 24);
	b = a;
	b.bytes[30] ^= 1;
	assert_int_equal(outer(&a), outer(&b));
	assert_int_equal(inner(&a), outer(&a));
	b.bytes[11] ^= 1; /* another source */
	assert_int_not_equal(outer(&a), outer(&b));
}

/* The sanitizer watches: every header chain, cut at every byte, and noise. */
static void
test_never_reads_beyond_the_frame(void **state)
{
	struct frame f = {.len = 0}, noise = {.len = FRAME_MAX};

	(void)state;
	ethernet(&f, RTE_ETHER_TYPE_QINQ);
	vlan(&f, 5, RTE_ETHER_TYPE_VLAN);
	vlan(&f, 6, RTE_ETHER_TYPE_IPV6);
	ip6(&f, PROTO_HOPOPTS, 1, 0);
	extension(&f, PROTO_ROUTING, 0);
	srh(&f, PROTO_ETHERNET, 1);
	ethernet(&f, RTE_ETHER_TYPE_VLAN);
	vlan(&f, 3, RTE_ETHER_TYPE_IPV6);
	ip6(&f, PROTO_FRAGMENT, 1, 0);
	fragment6(&f, PROTO_IP4, 0, 5);
	ip4(&f, PROTO_TCP, 9, 0, 0);
	ports(&f, 1, 2);
	for (uint32_t len = 0; len <= f.len; len++) {
		flow(frame_flow_outer, &f, len);
		flow(frame_flow_inner, &f, len);
	}
	srand(1);
	for (unsigned round = 0; round < 20000; round++) {
		uint32_t at = (uint32_t)rand() % f.len, len = (uint32_t)rand() % f.len;

		memcpy(noise.bytes, f.bytes, f.len);
		noise.bytes[at] = (uint8_t)rand();
		noise.bytes[(uint32_t)rand() % f.len] = (uint8_t)rand();
		flow(frame_flow_outer, &noise, len);
		flow(frame_flow_inner, &noise, len);
	}
}

/* Flows that differ in little, as they do in life, over any number of workers: each gets
 * its share. */
static void
test_flows_are_spread_evenly(void **state)
{
	const unsigned flows = 4096;

	(void)state;
	for (unsigned kind = 0; kind < 4; kind++) {
		for (unsigned workers = 2; workers <= 17; workers += 3) {
			unsigned share[17] = {0};

			for (unsigned i = 0; i < flows; i++) {
				struct frame packet = kind == 0	  ? udp4(0x0a000000, (uint16_t)i)
						      : kind == 1 ? udp4(0x0a000000 + i, 9)
						      : kind == 2 ? udp4(0x0a000000 + (i << 8), 9)
								  : udp4(i, (uint16_t)(i * 256));
				struct frame f = {.len = 0};

				ethernet(&f, RTE_ETHER_TYPE_IPV6);
				ip6(&f, PROTO_IP4, 1, 0);
				put(&f, packet.bytes + 14, packet.len - 14);
				share[(uint64_t)inner(&f) * workers >> 32]++;
			}
			for (unsigned w = 0; w < workers; w++) {
				assert_true(share[w] > flows / workers * 3 / 4);
				assert_true(share[w] < flows / workers * 5 / 4);
			}
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ports_and_addresses_tell_flows),
		cmocka_unit_test(test_vlan_tags_are_seen_through),
		cmocka_unit_test(test_fragments_of_a_packet_stay_together),
		cmocka_unit_test(test_ipv6_fragments),
		cmocka_unit_test(test_flow_label_counts_where_there_are_no_ports),
		cmocka_unit_test(test_inner_flow_is_that_of_the_packet_alone),
		cmocka_unit_test(test_fragments_of_a_tunnels_packet_stay_together),
		cmocka_unit_test(test_what_is_not_ip),
		cmocka_unit_test(test_never_reads_beyond_the_frame),
		cmocka_unit_test(test_flows_are_spread_evenly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
