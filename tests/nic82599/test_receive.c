/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames into buffers: what descriptors say, scattering, tags, FCS, full and
 * switched-off queues, and what is counted.
 */
#include "test_nic.h"

#include "checksum.h"

#define SOURCE	    0x0a000001u
#define DESTINATION 0x0a010001u
#define TCP	    6
#define UDP	    17

#define DD	 (1u << 0)
#define EOP	 (1u << 1)
#define VP	 (1u << 3)
#define UDPCS	 (1u << 4)
#define L4CS	 (1u << 5)
#define IPCS	 (1u << 6)
#define ERROR_L4 (1u << 30)
#define ERROR_IP (1u << 31)

static uint8_t frame[FRAME_MAX];

static uint32_t
status(const struct test_ring *ring, unsigned i)
{
	return (uint32_t)ring->descriptors[i].high;
}

static unsigned
length_of(const struct test_ring *ring, unsigned i)
{
	return ring->descriptors[i].high >> 32 & 0xffff;
}

static unsigned
udp(unsigned payload)
{
	return make_ipv4(frame, 0, UDP, SOURCE, DESTINATION, 1000, 2000, 8 + payload);
}

static void
test_frame_arrives(void **state)
{
	struct nic *nic = *state;
	struct test_ring *ring = receive_ring(nic, 0, 2);
	unsigned length = udp(100);

	assert_true(nic_receive(nic, frame, length));
	assert_int_equal(status(ring, 0), DD | EOP | IPCS | L4CS | UDPCS);
	assert_int_equal(length_of(ring, 0), length);
	assert_memory_equal(ring->buffers[0], frame, length);
	assert_int_equal((uint32_t)ring->descriptors[0].low, 0x210);
	assert_int_equal(nic_read(nic, R_RX_QUEUE(0) + Q_HEAD), 1);
	free(ring);
}

static void
test_short_frame_is_padded(void **state)
{
	struct nic *nic = *state;
	struct test_ring *ring = receive_ring(nic, 0, 2);

	assert_true(nic_receive(nic, frame, udp(0)));
	assert_int_equal(length_of(ring, 0), 60);
	free(ring);
}

static void
test_checksum_verdicts(void **state)
{
	struct nic *nic = *state;
	struct test_ring *ring = receive_ring(nic, 0, 2);
	unsigned length = make_ipv4(frame, 0, TCP, SOURCE, DESTINATION, 1, 2, 60);

	nic_receive(nic, frame, length);
	assert_int_equal(status(ring, 0), DD | EOP | IPCS | L4CS);
	frame[length - 1] ^= 1;
	nic_receive(nic, frame, length);
	assert_int_equal(status(ring, 1), DD | EOP | IPCS | L4CS | ERROR_L4);
	frame[length - 1] ^= 1;
	frame[14 + 8]--; /* TTL */
	nic_receive(nic, frame, length);
	assert_int_equal(status(ring, 2), DD | EOP | IPCS | L4CS | ERROR_IP);
	/* A UDP checksum of zero is none; a fragment's is not looked at. */
	length = udp(100);
	memset(frame + 14 + 20 + 6, 0, 2);
	nic_receive(nic, frame, length);
	assert_int_equal(status(ring, 3), DD | EOP | IPCS);
	frame[14 + 6] = 0x20;
	store16_be(frame + 14 + 10, 0);
	store16_be(frame + 14 + 10, slow_checksum(frame + 14, 20, 0));
	nic_receive(nic, frame, length);
	assert_int_equal(status(ring, 4), DD | EOP | IPCS);
	free(ring);
}

/** IPv4 in IPv6: nothing inside is verified, nothing is said to be wrong. */
static void
test_tunnel_is_not_verified(void **state)
{
	struct nic *nic = *state;
	struct test_ring *ring = receive_ring(nic, 0, 2);
	unsigned length = 14 + 40 + 28;

	memset(frame, 0, length);
	make_ethernet(frame, 0, 0x86dd);
	frame[14] = 0x60;
	store16_be(frame + 14 + 4, 28);
	frame[14 + 6] = 4;
	frame[54] = 0x45;
	store16_be(frame + 54 + 2, 28);
	nic_receive(nic, frame, length);
	assert_int_equal(status(ring, 0), DD | EOP);
	assert_int_equal((uint32_t)ring->descriptors[0].low, 0x040);
	free(ring);
}

static void
test_long_frame_is_scattered(void **state)
{
	struct nic *nic = *state;
	struct test_ring *ring = receive_ring(nic, 0, 2);
	unsigned length = udp(5000), i, at = 0;

	/* Longer than MAXFRS allows until JUMBOEN is set. */
	nic_receive(nic, frame, length);
	assert_int_equal(status(ring, 0), 0);
	assert_int_equal(nic_read(nic, R_ROC), 1);
	nic_write(nic, R_HLREG0, nic_read(nic, R_HLREG0) | HLREG0_JUMBOEN);
	nic_write(nic, R_MAXFRS, 9018u << 16);
	nic_receive(nic, frame, length);
	for (i = 0; i < 3; i++) {
		assert_memory_equal(ring->buffers[i], frame + at, length_of(ring, i));
		at += length_of(ring, i);
	}
	assert_int_equal(at, length);
	assert_int_equal(status(ring, 0), DD);
	assert_int_equal(status(ring, 1), DD);
	assert_int_equal(status(ring, 2) & (DD | EOP), DD | EOP);
	assert_int_equal(status(ring, 3), 0);
	free(ring);
}

static void
test_tag_is_stripped_if_asked(void **state)
{
	struct nic *nic = *state;
	struct test_ring *ring = receive_ring(nic, 0, 2);
	unsigned length = make_ipv4(frame, 0x2064, UDP, SOURCE, DESTINATION, 1, 2, 100);

	nic_receive(nic, frame, length);
	assert_int_equal(status(ring, 0) & VP, VP);
	assert_int_equal(length_of(ring, 0), length);
	assert_int_equal(ring->descriptors[0].high >> 48, 0x2064);
	nic_write(nic, R_RX_QUEUE(0) + Q_CONTROL, DCTL_ENABLE | RXDCTL_VME);
	nic_receive(nic, frame, length);
	assert_int_equal(length_of(ring, 1), length - 4);
	assert_memory_equal(ring->buffers[1], frame, 12);
	assert_memory_equal(ring->buffers[1] + 12, frame + 16, length - 16);
	assert_int_equal(ring->descriptors[1].high >> 48, 0x2064);
	free(ring);
}

static void
test_fcs_is_kept_if_asked(void **state)
{
	struct nic *nic = *state;
	struct test_ring *ring = receive_ring(nic, 0, 2);
	unsigned length = udp(100);

	nic_write(nic, R_HLREG0, 0);
	nic_receive(nic, frame, length);
	assert_int_equal(length_of(ring, 0), length + 4);
	assert_memory_equal(ring->buffers[0], frame, length);
	assert_int_equal(load32(ring->buffers[0] + length), crc32_ethernet(frame, length));
	free(ring);
}

static void
test_full_queue(void **state)
{
	struct nic *nic = *state;
	struct test_ring *ring = receive_ring(nic, 0, 2);
	unsigned length = udp(100), i;

	for (i = 0; i < RING - 1; i++)
		assert_true(nic_receive(nic, frame, length));
	/* Without DROP_EN the frame waits, as in the packet buffer. */
	assert_false(nic_receive(nic, frame, length));
	assert_int_equal(nic_read(nic, R_GPRC), RING - 1);
	/* A packet buffer that is full itself. */
	nic->overflow_drops = true;
	assert_true(nic_receive(nic, frame, length));
	assert_int_equal(nic_read(nic, R_MPC), 1);
	assert_int_equal(nic_read(nic, R_GPRC), 0);
	/* DROP_EN: lost, and seen in the queue's drop counter only. */
	nic->overflow_drops = false;
	nic_write(nic, R_RX_QUEUE(0) + Q_SRRCTL, 2 | SRRCTL_DROP_EN);
	assert_true(nic_receive(nic, frame, length));
	assert_int_equal(nic_read(nic, R_MPC), 0);
	assert_int_equal(nic_read(nic, R_QPRDC(0)), 1);
	assert_int_equal(nic->truth.no_descriptor, 2);
	free(ring);
}

static void
test_queue_that_is_off_swallows(void **state)
{
	struct nic *nic = *state;
	struct test_ring *ring = receive_ring(nic, 0, 2);

	nic_write(nic, R_RX_QUEUE(0) + Q_CONTROL, 0);
	assert_true(nic_receive(nic, frame, udp(100)));
	assert_int_equal(nic->truth.queue_off, 1);
	assert_int_equal(status(ring, 0), 0);
	free(ring);
}

static void
test_counters(void **state)
{
	struct nic *nic = *state;
	struct test_ring *ring = receive_ring(nic, 5, 2);
	unsigned length = udp(300);

	/* Queue 5, by an ethertype filter, counts in slot 3. */
	nic_write(nic, R_ETQF(0), ETQ_ENABLE | 0x0800);
	nic_write(nic, R_ETQS(0), ETQ_ENABLE | 5 << 16);
	nic_write(nic, R_RQSMR(1), 3 << 8);
	nic_receive(nic, frame, length);
	frame[0] = 0x02;
	nic_receive(nic, frame, length);
	assert_int_equal(nic_read(nic, R_TPR), 2);
	assert_int_equal(nic_read(nic, R_TOR), 2 * (length + 4));
	assert_int_equal(nic_read(nic, R_GPRC), 1);
	assert_int_equal(nic_read(nic, R_GORC), length);
	assert_int_equal(nic_read(nic, R_PRC64 + 3 * 4), 1);
	assert_int_equal(nic_read(nic, R_QPRC(3)), 1);
	assert_int_equal(nic_read(nic, R_QBRC(3)), length);
	assert_int_equal(nic->truth.filtered, 1);
	free(ring);
}

static void
test_receiver_off_or_no_link(void **state)
{
	struct nic *nic = *state;
	struct test_ring *ring = receive_ring(nic, 0, 2);
	unsigned length = udp(100);

	nic_write(nic, R_RXCTRL, 0);
	assert_false(nic_receive(nic, frame, length));
	nic_write(nic, R_RXCTRL, RXCTRL_RXEN);
	nic_plug(nic, false, true);
	assert_true(nic_receive(nic, frame, length));
	assert_int_equal(status(ring, 0), 0);
	free(ring);
}

/** Bytes that are no packet at all, of every length. */
static void
test_noise_does_no_harm(void **state)
{
	struct nic *nic = *state;
	struct test_ring *ring = receive_ring(nic, 0, 2);
	uint8_t *exact;
	uint32_t seed = 1;
	unsigned length, i;

	for (length = 1; length < 400; length++) {
		/* Its own block: a sanitizer sees a read behind it. */
		exact = malloc(length);
		assert_non_null(exact);
		for (i = 0; i < length; i++) {
			seed = seed * 1664525 + 1013904223;
			exact[i] = (uint8_t)(seed >> 24);
		}
		if (length > 16)
			make_ethernet(exact, 0, length % 2 != 0 ? 0x0800 : 0x86dd);
		if (length > 20)
			exact[14] = length % 2 != 0 ? 0x40 | (exact[14] & 15) : 0x60;
		if (length > 24 && length % 4 == 0)
			exact[20] = 43;
		nic_receive(nic, exact, length);
		nic_write(nic, R_RX_QUEUE(0) + Q_TAIL,
			  (nic_read(nic, R_RX_QUEUE(0) + Q_HEAD) + RING - 1) % RING);
		for (i = 0; i < RING; i++)
			ring->descriptors[i].low = (uintptr_t)ring->buffers[i];
		free(exact);
	}
	free(ring);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_nic, teardown_nic)
		TEST(test_frame_arrives),
		TEST(test_short_frame_is_padded),
		TEST(test_checksum_verdicts),
		TEST(test_tunnel_is_not_verified),
		TEST(test_long_frame_is_scattered),
		TEST(test_tag_is_stripped_if_asked),
		TEST(test_fcs_is_kept_if_asked),
		TEST(test_full_queue),
		TEST(test_queue_that_is_off_swallows),
		TEST(test_counters),
		TEST(test_receiver_off_or_no_link),
		TEST(test_noise_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
