/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which frames are taken, and which filter decides on the queue when several
 * match.
 */
#include "test_nic.h"

#include "filter.h"

#define SOURCE	    0x0a000001u
#define DESTINATION 0x0a010001u
#define TCP	    6
#define UDP	    17

/** Queues by which a test sees who decided. */
enum {
	Q_NONE,
	Q_RSS,
	Q_DIRECTOR,
	Q_SYN,
	Q_TUPLE,
	Q_ETHERTYPE
};

static uint8_t bytes[256];

static struct frame
parse(unsigned length)
{
	struct frame frame;

	frame_parse(&frame, bytes, length < 60 ? 60 : length);
	return frame;
}

static struct frame
ipv4(uint8_t protocol)
{
	return parse(make_ipv4(bytes, 0, protocol, SOURCE, DESTINATION, 1000, 2000, 40));
}

static struct frame
tcp_syn(uint8_t flags)
{
	make_ipv4(bytes, 0, TCP, SOURCE, DESTINATION, 1000, 2000, 40);
	bytes[14 + 20 + 13] = flags;
	return parse(74);
}

static unsigned
queue_of(struct nic *nic, const struct frame *frame)
{
	struct steering s;

	filter_steer(nic, frame, &s);
	return s.queue;
}

/* --- setting filters as the driver does ------------------------------------------------------ */

static void
set_rss(struct nic *nic)
{
	unsigned i;

	nic_write(nic, R_MRQC, MRQC_RSS | MRQC_IPV4 | MRQC_IPV6);
	for (i = 0; i < 32; i++)
		nic_write(nic, R_RETA(i), Q_RSS * 0x01010101u);
}

/** mask: bits of FTQF that leave fields out (source, destination, their ports, protocol). */
static void
set_tuple(struct nic *nic, unsigned i, unsigned priority, uint32_t mask, unsigned queue)
{
	nic_write(nic, R_SAQF(i), __builtin_bswap32(SOURCE));
	nic_write(nic, R_DAQF(i), __builtin_bswap32(DESTINATION));
	nic_write(nic, R_SDPQF(i),
		  (uint32_t)__builtin_bswap16(1000) | (uint32_t)__builtin_bswap16(2000) << 16);
	nic_write(nic, R_L34TIMIR(i), queue << 21);
	nic_write(nic, R_FTQF(i), FTQF_ENABLE | mask << 25 | priority << 2);
}

static void
set_ethertype(struct nic *nic, unsigned i, uint16_t ethertype, unsigned queue)
{
	nic_write(nic, R_ETQF(i), ETQ_ENABLE | ethertype);
	nic_write(nic, R_ETQS(i), ETQ_ENABLE | queue << 16);
}

/** A rule for any IPv4 packet: everything is masked out, so its hash is that of nothing. */
static void
set_director(struct nic *nic)
{
	nic_write(nic, R_FDIRSIP4M, UINT32_MAX);
	nic_write(nic, R_FDIRDIP4M, UINT32_MAX);
	nic_write(nic, R_FDIRTCPM, UINT32_MAX);
	nic_write(nic, R_FDIRUDPM, UINT32_MAX);
	nic_write(nic, R_FDIRM, FDIRM_VLANID | FDIRM_VLANP | FDIRM_L4P | FDIRM_FLEX);
	nic_write(nic, R_FDIRCTRL, FDIRCTRL_PERFECT | 1);
	nic_write(nic, R_FDIRHASH, 0);
	nic_write(nic, R_FDIRCMD, FDIRCMD_ADD | Q_DIRECTOR << 16);
}

static void
set_syn(struct nic *nic, bool high)
{
	nic_write(nic, R_SYNQF, SYNQF_ENABLE | Q_SYN << 1 | (high ? SYNQF_HIGH : 0));
}

/* --- priority --------------------------------------------------------------------------------- */

/** Filters are added from the weakest to the strongest: each takes over from the one before. */
static void
test_priority_order(void **state)
{
	struct nic *nic = *state;
	struct frame frame = tcp_syn(0x02);

	assert_int_equal(queue_of(nic, &frame), Q_NONE);
	set_rss(nic);
	assert_int_equal(queue_of(nic, &frame), Q_RSS);
	set_director(nic);
	assert_int_equal(queue_of(nic, &frame), Q_DIRECTOR);
	set_syn(nic, false);
	assert_int_equal(queue_of(nic, &frame), Q_SYN);
	set_tuple(nic, 0, 1, 0, Q_TUPLE);
	assert_int_equal(queue_of(nic, &frame), Q_TUPLE);
	set_syn(nic, true);
	assert_int_equal(queue_of(nic, &frame), Q_SYN);
	set_ethertype(nic, 0, 0x0800, Q_ETHERTYPE);
	assert_int_equal(queue_of(nic, &frame), Q_ETHERTYPE);
}

static void
test_director_is_not_asked_in_vain(void **state)
{
	struct nic *nic = *state;
	struct frame frame = ipv4(UDP);
	struct steering s;

	set_director(nic);
	set_tuple(nic, 0, 1, 4 | 8 | 16, Q_TUPLE);
	filter_steer(nic, &frame, &s);
	assert_false(s.director_asked);
	assert_null(s.rule);
}

static void
test_highest_five_tuple_priority_wins(void **state)
{
	struct nic *nic = *state;
	struct frame frame = ipv4(UDP);

	set_tuple(nic, 0, 3, 16, 20);
	set_tuple(nic, 1, 7, 16, 21);
	set_tuple(nic, 2, 7, 16, 22);
	set_tuple(nic, 127, 5, 16, 23);
	assert_int_equal(queue_of(nic, &frame), 21);
	nic_write(nic, R_FTQF(1), 0);
	nic_write(nic, R_FTQF(2), 0);
	assert_int_equal(queue_of(nic, &frame), 23);
}

static void
test_five_tuple_fields(void **state)
{
	struct nic *nic = *state;
	struct frame frame = ipv4(UDP);

	/* Protocol 0 stands for TCP. */
	set_tuple(nic, 0, 1, 0, Q_TUPLE);
	assert_int_equal(queue_of(nic, &frame), Q_NONE);
	set_tuple(nic, 0, 1, 16, Q_TUPLE);
	assert_int_equal(queue_of(nic, &frame), Q_TUPLE);
	/* Each field in turn: another value does not match unless it is masked out. */
	nic_write(nic, R_SAQF(0), 1);
	assert_int_equal(queue_of(nic, &frame), Q_NONE);
	nic_write(nic, R_FTQF(0), FTQF_ENABLE | (16 | 1) << 25);
	assert_int_equal(queue_of(nic, &frame), Q_TUPLE);
	nic_write(nic, R_DAQF(0), 1);
	assert_int_equal(queue_of(nic, &frame), Q_NONE);
	nic_write(nic, R_FTQF(0), FTQF_ENABLE | (16 | 1 | 2) << 25);
	assert_int_equal(queue_of(nic, &frame), Q_TUPLE);
	nic_write(nic, R_SDPQF(0), 0);
	assert_int_equal(queue_of(nic, &frame), Q_NONE);
	nic_write(nic, R_FTQF(0), FTQF_ENABLE | (16 | 1 | 2 | 4 | 8) << 25);
	assert_int_equal(queue_of(nic, &frame), Q_TUPLE);
	/* A fragment has no ports. */
	set_tuple(nic, 0, 1, 16, Q_TUPLE);
	bytes[14 + 6] = 0x20;
	frame = parse(74);
	assert_int_equal(queue_of(nic, &frame), Q_NONE);
}

static void
test_ethertype_switches_rss_off(void **state)
{
	struct nic *nic = *state;
	struct frame frame = ipv4(UDP);
	struct steering s;

	set_rss(nic);
	set_ethertype(nic, 5, 0x0800, Q_ETHERTYPE);
	filter_steer(nic, &frame, &s);
	assert_int_equal(s.ethertype, 5);
	assert_int_equal(s.rss_type, RSS_NONE);
	/* Matched, but not told where to: no other ground for a queue than the rest of the chain.
	 */
	nic_write(nic, R_ETQS(5), 0);
	assert_int_equal(queue_of(nic, &frame), Q_NONE);
}

static void
test_syn_means_syn_without_ack(void **state)
{
	struct nic *nic = *state;
	struct frame frame;

	set_syn(nic, true);
	frame = tcp_syn(0x02);
	assert_int_equal(queue_of(nic, &frame), Q_SYN);
	frame = tcp_syn(0x12);
	assert_int_equal(queue_of(nic, &frame), Q_NONE);
	frame = tcp_syn(0x10);
	assert_int_equal(queue_of(nic, &frame), Q_NONE);
}

/* --- MAC and VLAN
 * ---------------------------------------------------------------------------------- */

static bool
accepts(const struct nic *nic, const uint8_t mac[6], uint16_t tag)
{
	struct frame frame;
	unsigned length = make_ipv4(bytes, tag, UDP, SOURCE, DESTINATION, 1, 2, 40);

	memcpy(bytes, mac, 6);
	frame_parse(&frame, bytes, length);
	return filter_accepts(nic, &frame);
}

static const uint8_t own[6] = {MAC_OF_NIC}, other[6] = {MAC_OF_PEER};
static const uint8_t broadcast[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
static const uint8_t group[6] = {0x33, 0x33, 0x00, 0x00, 0x00, 0x01};

static void
test_addresses(void **state)
{
	struct nic *nic = *state;

	assert_true(accepts(nic, own, 0));
	assert_false(accepts(nic, other, 0));
	assert_false(accepts(nic, group, 0));
	assert_false(accepts(nic, broadcast, 0));
	nic_write(nic, R_FCTRL, FCTRL_BAM);
	assert_true(accepts(nic, broadcast, 0));
	nic_write(nic, R_FCTRL, FCTRL_UPE);
	assert_true(accepts(nic, other, 0));
	assert_false(accepts(nic, group, 0));
	nic_write(nic, R_FCTRL, FCTRL_MPE);
	assert_false(accepts(nic, other, 0));
	assert_true(accepts(nic, group, 0));
	/* A further address, through the old addresses of the registers. */
	nic_write(nic, R_FCTRL, 0);
	nic_write(nic, 0x05400 + 8 * 9, load32(other));
	nic_write(nic, 0x05404 + 8 * 9, load16(other + 4) | RAH_AV);
	assert_true(accepts(nic, other, 0));
	nic_write(nic, R_RAH(9), load16(other + 4));
	assert_false(accepts(nic, other, 0));
}

static void
test_multicast_table(void **state)
{
	struct nic *nic = *state;
	/* MO 0: bits 47 to 36 of the address, counted as it is stored. */
	uint32_t bit = (uint32_t)(0x01 << 8 | 0x00) >> 4;

	nic_write(nic, R_MTA(bit / 32), 1u << bit % 32);
	assert_false(accepts(nic, group, 0));
	nic_write(nic, R_MCSTCTRL, MCSTCTRL_MFE);
	assert_true(accepts(nic, group, 0));
	nic_write(nic, R_MTA(bit / 32), 0);
	assert_false(accepts(nic, group, 0));
}

static void
test_vlan_table(void **state)
{
	struct nic *nic = *state;

	assert_true(accepts(nic, own, 100));
	nic_write(nic, R_VLNCTRL, VLNCTRL_VFE | 0x8100);
	assert_false(accepts(nic, own, 100));
	assert_true(accepts(nic, own, 0));
	nic_write(nic, R_VFTA(100 / 32), 1u << 100 % 32);
	assert_true(accepts(nic, own, 100));
	assert_false(accepts(nic, own, 101));
	/* Priority bits are not part of the id. */
	assert_true(accepts(nic, own, 0xe000 | 100));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_nic, teardown_nic)
		TEST(test_priority_order),
		TEST(test_director_is_not_asked_in_vain),
		TEST(test_highest_five_tuple_priority_wins),
		TEST(test_five_tuple_fields),
		TEST(test_ethertype_switches_rss_off),
		TEST(test_syn_means_syn_without_ack),
		TEST(test_addresses),
		TEST(test_multicast_table),
		TEST(test_vlan_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
