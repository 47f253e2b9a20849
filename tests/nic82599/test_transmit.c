/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Descriptors into frames on the wire: segments, checksums, tags, TSO, and the
 * report back. What leaves is read from the capture the wire writes.
 */
#include "test_nic.h"

#include <unistd.h>

#include "offload.h"

#define SOURCE	    0x0a000001u
#define DESTINATION 0x0a010001u
#define TCP	    6
#define UDP	    17

#define EOP	  (1u << 24)
#define RS	  (1u << 27)
#define DATA	  (3u << 20 | 1u << 29)
#define CONTEXT	  (2u << 20 | 1u << 29)
#define PAYLEN(n) ((uint32_t)(n) << 14)
#define DONE	  ((uint64_t)1 << 32)

static uint8_t frame[FRAME_MAX];

/** A transmit queue, and where its frames go. */
struct sender {
	struct nic *nic;
	struct test_ring *ring;
	unsigned tail;
};

static struct sender
sender(struct nic *nic)
{
	nic->capture = tmpfile();
	assert_non_null(nic->capture);
	return (struct sender){nic, transmit_ring(nic, 0), 0};
}

static void
end(struct sender *s)
{
	fclose(s->nic->capture);
	s->nic->capture = NULL;
	free(s->ring);
}

static void
descriptor(struct sender *s, uint64_t low, uint32_t command, uint32_t options)
{
	s->ring->descriptors[s->tail].low = low;
	s->ring->descriptors[s->tail].high = command | (uint64_t)options << 32;
	s->tail = (s->tail + 1) % RING;
}

static void
data(struct sender *s, const uint8_t *bytes, uint32_t length, uint32_t command, uint32_t options)
{
	descriptor(s, (uintptr_t)bytes, DATA | command | length, options);
}

/** l3, l4: lengths of the headers; tag: VLAN. */
static void
context(struct sender *s, uint8_t protocol, uint32_t l3, uint32_t l4, uint32_t mss, uint32_t tag)
{
	uint32_t type = 1u << 10 | (protocol == TCP ? 1u << 11 : 0);

	descriptor(s, (uint64_t)(tag << 16 | 14u << 9 | l3), CONTEXT | type, l4 << 8 | mss << 16);
}

/** The next frame that left; its length, 0: no more. */
static unsigned
sent(struct sender *s, uint8_t *bytes)
{
	uint32_t record[4];

	if (fread(record, sizeof(record), 1, s->nic->capture) != 1 ||
	    fread(bytes, record[2], 1, s->nic->capture) != 1)
		return 0;
	return record[2];
}

/** Ring the doorbell; the capture then holds what left, and is ready to be read. */
static unsigned
send_all(struct sender *s)
{
	unsigned packets;

	rewind(s->nic->capture);
	assert_int_equal(ftruncate(fileno(s->nic->capture), 0), 0);
	nic_write(s->nic, R_TX_QUEUE(0) + Q_TAIL, s->tail);
	packets = nic_transmit(s->nic, 64);
	rewind(s->nic->capture);
	return packets;
}

static void
test_packet_leaves(void **state)
{
	struct sender s = sender(*state);
	unsigned length = make_ipv4(frame, 0, UDP, SOURCE, DESTINATION, 1, 2, 100);
	uint8_t out[256];

	data(&s, frame, length, EOP | RS, PAYLEN(length));
	assert_int_equal(send_all(&s), 1);
	assert_int_equal(sent(&s, out), length);
	assert_memory_equal(out, frame, length);
	assert_int_equal(s.ring->descriptors[0].high, DONE);
	assert_int_equal(nic_read(s.nic, R_TX_QUEUE(0) + Q_HEAD), 1);
	assert_int_equal(nic_read(s.nic, R_GPTC), 1);
	assert_int_equal(nic_read(s.nic, R_GOTC), length + 4);
	assert_int_equal(nic_read(s.nic, R_QPTC(0)), 1);
	assert_int_equal(s.nic->truth.tx_malformed, 0);
	end(&s);
}

static void
test_only_where_asked_is_reported(void **state)
{
	struct sender s = sender(*state);

	data(&s, frame, 60, EOP, PAYLEN(60));
	data(&s, frame, 60, EOP | RS, PAYLEN(60));
	assert_int_equal(send_all(&s), 2);
	assert_int_not_equal(s.ring->descriptors[0].high, DONE);
	assert_int_equal(s.ring->descriptors[1].high, DONE);
	end(&s);
}

static void
test_segments_are_joined(void **state)
{
	struct sender s = sender(*state);
	unsigned length = make_ipv4(frame, 0, UDP, SOURCE, DESTINATION, 1, 2, 9000);
	static uint8_t out[FRAME_MAX];

	data(&s, frame, 2048, 0, PAYLEN(length));
	data(&s, frame + 2048, 1, 0, 0);
	data(&s, frame + 2049, length - 2049, EOP | RS, 0);
	assert_int_equal(send_all(&s), 1);
	assert_int_equal(sent(&s, out), length);
	assert_memory_equal(out, frame, length);
	assert_int_equal(s.nic->truth.tx_malformed, 0);
	end(&s);
}

/** A chain sent as if it were its first buffer: what leaves is cut, and noticed. */
static void
test_wrong_length_is_noticed(void **state)
{
	struct sender s = sender(*state);
	uint8_t out[FRAME_MAX];

	data(&s, frame, 2048, EOP | RS, PAYLEN(9000));
	send_all(&s);
	assert_int_equal(sent(&s, out), 2048);
	assert_int_equal(s.nic->truth.tx_malformed, 1);
	end(&s);
}

static void
test_short_packet_is_padded(void **state)
{
	struct sender s = sender(*state);
	uint8_t out[64];

	memset(frame, 0xaa, 20);
	data(&s, frame, 20, EOP | RS, PAYLEN(20));
	send_all(&s);
	assert_int_equal(sent(&s, out), 60);
	assert_int_equal(out[19], 0xaa);
	assert_int_equal(out[20], 0);
	end(&s);
}

/** The driver leaves the pseudo header's sum in the field. */
static unsigned
without_checksums(uint8_t protocol, unsigned payload)
{
	unsigned length = make_ipv4(frame, 0, protocol, SOURCE, DESTINATION, 1, 2, payload);
	unsigned field = 34 + (protocol == TCP ? 16 : 6);

	store16_be(frame + 14 + 10, 0);
	store16_be(frame + field, (uint16_t)slow_pseudo(frame + 26, 8, protocol, payload));
	return length;
}

static void
test_checksums_are_filled_in(void **state)
{
	static const uint8_t protocols[] = {UDP, TCP};
	struct sender s = sender(*state);
	uint8_t good[256], out[256];
	unsigned i, length;

	for (i = 0; i < 2; i++) {
		length = make_ipv4(good, 0, protocols[i], SOURCE, DESTINATION, 1, 2, 101);
		without_checksums(protocols[i], 101);
		context(&s, protocols[i], 20, 0, 0, 0);
		data(&s, frame, length, EOP | RS, PAYLEN(length) | TXD_IXSM | TXD_TXSM);
		send_all(&s);
		assert_int_equal(sent(&s, out), length);
		assert_memory_equal(out, good, length);
	}
	end(&s);
}

static void
test_tag_is_inserted(void **state)
{
	struct sender s = sender(*state);
	unsigned length = make_ipv4(frame, 0, UDP, SOURCE, DESTINATION, 1, 2, 100);
	uint8_t good[256], out[256];

	make_ipv4(good, 0x2064, UDP, SOURCE, DESTINATION, 1, 2, 100);
	context(&s, UDP, 20, 0, 0, 0x2064);
	data(&s, frame, length, EOP | RS | TXD_VLE, PAYLEN(length));
	send_all(&s);
	assert_int_equal(sent(&s, out), length + 4);
	assert_memory_equal(out, good, length + 4);
	end(&s);
}

static void
check_segment(const uint8_t *out, unsigned length, unsigned i, unsigned mss, bool last)
{
	const uint8_t *ip = out + 14, *tcp = ip + 20;

	assert_int_equal(load16_be(ip + 2), length - 14);
	assert_int_equal(load16_be(ip + 4), i);
	assert_int_equal(slow_checksum(ip, 20, 0), 0);
	assert_int_equal(__builtin_bswap32(load32(tcp + 4)), 7 + i * mss);
	assert_int_equal(tcp[13], last ? 0x19 : 0x10);
	assert_int_equal(slow_checksum(tcp, length - 34, slow_pseudo(ip + 12, 8, TCP, length - 34)),
			 0);
	assert_memory_equal(tcp + 20, frame + 54 + i * mss, length - 54);
}

static void
test_segmentation(void **state)
{
	const unsigned mss = 1000, payload = 2500;
	struct sender s = sender(*state);
	uint8_t out[2048];
	unsigned i, length;

	make_ipv4(frame, 0, TCP, SOURCE, DESTINATION, 1, 2, 20 + payload);
	for (i = 0; i < payload; i++)
		frame[54 + i] = (uint8_t)(i * 7);
	frame[34 + 7] = 7;     /* sequence number */
	frame[34 + 13] = 0x19; /* ACK, PSH, FIN */
	store16_be(frame + 14 + 10, 0);
	store16_be(frame + 34 + 16, (uint16_t)slow_pseudo(frame + 26, 8, TCP, 0));
	context(&s, TCP, 20, 20, mss, 0);
	data(&s, frame, 54 + payload, EOP | RS | TXD_TSE, PAYLEN(payload) | TXD_IXSM | TXD_TXSM);
	assert_int_equal(send_all(&s), 1);
	for (i = 0; i < 3; i++) {
		length = sent(&s, out);
		assert_int_equal(length, i < 2 ? 54 + mss : 54 + payload - 2 * mss);
		check_segment(out, length, i, mss, i == 2);
	}
	assert_int_equal(sent(&s, out), 0);
	assert_int_equal(s.nic->truth.tx_malformed, 0);
	end(&s);
}

static void
test_ring_wraps_and_stops(void **state)
{
	struct sender s = sender(*state);
	unsigned round, i;

	for (round = 0; round < 5; round++) {
		for (i = 0; i < RING - 1; i++)
			data(&s, frame, 60, EOP | RS, PAYLEN(60));
		assert_int_equal(send_all(&s), RING - 1);
	}
	/* Transmitter or queue off: nothing moves. */
	data(&s, frame, 60, EOP | RS, PAYLEN(60));
	nic_write(s.nic, R_DMATXCTL, 0);
	assert_int_equal(send_all(&s), 0);
	nic_write(s.nic, R_DMATXCTL, DMATXCTL_TE);
	nic_write(s.nic, R_TX_QUEUE(0) + Q_CONTROL, 0);
	assert_int_equal(send_all(&s), 0);
	end(&s);
}

static void
test_no_link_no_frame(void **state)
{
	struct sender s = sender(*state);
	uint8_t out[64];

	nic_plug(s.nic, false, true);
	data(&s, frame, 60, EOP | RS, PAYLEN(60));
	assert_int_equal(send_all(&s), 1);
	assert_int_equal(sent(&s, out), 0);
	end(&s);
}

static void
test_crossed_cable(void **state)
{
	struct sender s = sender(*state);
	struct nic *other = nic_create(1, 0x10f7);
	struct test_ring *ring;
	unsigned length = make_ipv4(frame, 0, UDP, SOURCE, DESTINATION, 1, 2, 100);

	assert_non_null(other);
	s.nic->crossed = other;
	ring = receive_ring(other, 0, 2);
	frame[5] = 0x91;
	data(&s, frame, length, EOP | RS, PAYLEN(length));
	send_all(&s);
	assert_int_equal(ring->descriptors[0].high >> 32 & 0xffff, length);
	assert_memory_equal(ring->buffers[0], frame, length);
	nic_destroy(other);
	free(ring);
	end(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_nic, teardown_nic)
		TEST(test_packet_leaves),	   TEST(test_only_where_asked_is_reported),
		TEST(test_segments_are_joined),	   TEST(test_wrong_length_is_noticed),
		TEST(test_short_packet_is_padded), TEST(test_checksums_are_filled_in),
		TEST(test_tag_is_inserted),	   TEST(test_segmentation),
		TEST(test_ring_wraps_and_stops),   TEST(test_no_link_no_frame),
		TEST(test_crossed_cable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
