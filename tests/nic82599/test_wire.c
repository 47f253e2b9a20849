/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The other end of the cable: captures, generated frames, sockets, crossed NICs; and the
 * descriptions and commands by which a test arranges them.
 */
#include "test_nic.h"

#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "plugin.h"

#define FOLDER "wire-test"

static uint8_t frame[BUFFER];
static char path[64], other[64];

static const char *
name_file(char *where, const char *name)
{
	snprintf(where, sizeof(path), FOLDER ".%d.%s", (int)getpid(), name);
	return where;
}

/** A small frame with a number in it; its length. */
static unsigned
numbered(unsigned number)
{
	return make_ipv4(frame, 0, 17, 0x0a000001, 0x0a090001, (uint16_t)number, 5000, 26);
}

static unsigned
number_of(const uint8_t *received)
{
	return load16_be(received + 34);
}

/** A capture of so many numbered frames, written by hand; the last one lacks so many bytes. */
static void
write_capture(const char *file, uint32_t magic, unsigned count, unsigned missing)
{
	uint32_t header[6] = {magic, 4u << 16 | 2, 0, 0, 65535, 1}, record[4] = {0};
	FILE *out = fopen(file, "wb");
	unsigned i, length;

	assert_non_null(out);
	fwrite(header, sizeof(header), 1, out);
	for (i = 0; i < count; i++) {
		length = numbered(i);
		record[2] = record[3] = length;
		fwrite(record, sizeof(record), 1, out);
		fwrite(frame, length - (i + 1 == count ? missing : 0), 1, out);
	}
	fclose(out);
}

static void
test_capture_is_played_in_its_order(void **state)
{
	static const uint32_t magics[] = {0xa1b2c3d4, 0xa1b23c4d};
	struct nic *nic = *state;
	struct test_ring *ring = receive_ring(nic, 0, 2);
	unsigned m, i;

	nic->playlist.playing = false;
	for (m = 0; m < 2; m++) {
		write_capture(name_file(path, "in"), magics[m], 5, 0);
		assert_int_equal(wire_load(nic, path), 5);
		assert_int_equal(wire_receive(nic, 64), 0);
		nic->playlist.playing = true;
		nic->playlist.rounds = 1;
		assert_int_equal(wire_receive(nic, 3), 3);
		assert_int_equal(wire_receive(nic, 64), 2);
		assert_int_equal(wire_receive(nic, 64), 0);
		for (i = 0; i < 5; i++)
			assert_int_equal(number_of(ring->buffers[m * 5 + i]), i);
		nic->playlist.playing = false;
		unlink(path);
	}
	free(ring);
}

static void
test_capture_is_repeated(void **state)
{
	struct nic *nic = *state;
	struct test_ring *ring = receive_ring(nic, 0, 2);

	write_capture(name_file(path, "in"), 0xa1b2c3d4, 3, 0);
	assert_int_equal(wire_load(nic, path), 3);
	unlink(path);
	nic->playlist.rounds = 4;
	assert_int_equal(wire_receive(nic, 64), 12);
	assert_int_equal(wire_receive(nic, 64), 0);
	assert_int_equal(number_of(ring->buffers[11]), 2);
	free(ring);
}

static void
test_frames_wait_for_descriptors(void **state)
{
	struct nic *nic = *state;
	struct test_ring *ring = receive_ring(nic, 0, 2);
	unsigned i;

	write_capture(name_file(path, "in"), 0xa1b2c3d4, RING + 4, 0);
	assert_int_equal(wire_load(nic, path), RING + 4);
	unlink(path);
	assert_int_equal(wire_receive(nic, 64), RING - 1);
	assert_int_equal(wire_receive(nic, 64), 0);
	for (i = 0; i < 2; i++)
		ring->descriptors[i].low = (uintptr_t)ring->buffers[i];
	nic_write(nic, R_RX_QUEUE(0) + Q_TAIL, 2);
	assert_int_equal(wire_receive(nic, 64), 3);
	assert_int_equal(number_of(ring->buffers[RING - 1]), RING - 1);
	assert_int_equal(number_of(ring->buffers[1]), RING + 1);
	free(ring);
}

static void
test_what_is_no_capture(void **state)
{
	struct nic *nic = *state;

	assert_int_equal(wire_load(nic, "/nowhere/in.pcap"), -1);
	write_capture(name_file(path, "in"), 0xd4c3b2a1, 2, 0);
	assert_int_equal(wire_load(nic, path), -1);
	write_capture(path, 0xa1b2c3d4, 3, 10);
	assert_int_equal(wire_load(nic, path), 2);
	unlink(path);
	assert_int_equal(wire_capture(nic, "/nowhere/out.pcap"), -1);
}

/** What is sent can be read back by what plays. */
static void
test_sent_frames_are_captured(void **state)
{
	struct nic *nic = *state, *reader = nic_create(1, 0x10fb);
	struct test_ring *ring = receive_ring(reader, 0, 2);
	unsigned i, length;

	nic_write(reader, R_FCTRL, FCTRL_UPE);
	assert_int_equal(wire_capture(nic, name_file(path, "out")), 0);
	for (i = 0; i < 4; i++) {
		length = numbered(i);
		nic_plug(nic, i != 2, true);
		wire_send(nic, frame, length);
	}
	wire_flush(nic);
	assert_int_equal(wire_load(reader, path), 3);
	unlink(path);
	assert_int_equal(wire_receive(reader, 64), 3);
	/* What was sent while there was no cable is nowhere. */
	assert_int_equal(number_of(ring->buffers[2]), 3);
	nic_destroy(reader);
	free(ring);
}

static void
test_generated_frames(void **state)
{
	struct nic *nic = *state;
	struct test_ring *ring = receive_ring(nic, 0, 2);
	unsigned i;

	assert_int_equal(wire_generate(nic, 0, 60), -1);
	assert_int_equal(wire_generate(nic, 4, 59), -1);
	assert_int_equal(wire_generate(nic, 4, 100), 0);
	assert_int_equal(wire_receive(nic, 10), 10);
	for (i = 0; i < 10; i++) {
		const uint8_t *ip = ring->buffers[i] + 14;

		assert_int_equal(slow_checksum(ip, 20, 0), 0);
		assert_int_equal(load16_be(ip + 2), 86);
		assert_int_equal(load16_be(ip + 14), i % 4);
		assert_int_equal(ring->descriptors[i].high >> 32 & 0xffff, 100);
	}
	free(ring);
}

/* --- sockets ---------------------------------------------------------------------------- */

static int
bind_socket(const char *file)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", file);
	unlink(file);
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static void
send_datagram(int fd, const char *file, const void *data, size_t length)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", file);
	assert_int_equal(sendto(fd, data, length, MSG_DONTWAIT, (const struct sockaddr *)&address,
				sizeof(address)),
			 length);
}

static void
test_datagrams_are_frames(void **state)
{
	struct nic *nic = *state;
	struct test_ring *ring = receive_ring(nic, 0, 2);
	uint8_t received[BUFFER];
	unsigned length = numbered(7);
	int fd = bind_socket(name_file(other, "peer"));

	assert_int_equal(wire_bind(nic, name_file(path, "nic")), 0);
	nic->peer.sun_family = AF_UNIX;
	snprintf(nic->peer.sun_path, sizeof(nic->peer.sun_path), "%s", other);

	send_datagram(fd, path, frame, length);
	assert_int_equal(wire_receive(nic, 64), 1);
	assert_int_equal(number_of(ring->buffers[0]), 7);

	length = numbered(8);
	wire_send(nic, frame, length);
	assert_int_equal(recv(fd, received, sizeof(received), MSG_DONTWAIT), length);
	assert_memory_equal(received, frame, length);

	/* A peer that has gone is a cable into nothing. */
	close(fd);
	unlink(other);
	wire_send(nic, frame, length);
	unlink(path);
	free(ring);
}

/** A datagram that found no descriptor is not lost, and none overtakes it. */
static void
test_datagrams_wait_for_descriptors(void **state)
{
	struct nic *nic = *state;
	struct test_ring *ring = receive_ring(nic, 0, 2);
	int fd = bind_socket(name_file(other, "peer"));
	unsigned i, length;

	assert_int_equal(wire_bind(nic, name_file(path, "nic")), 0);
	nic_write(nic, R_RX_QUEUE(0) + Q_TAIL, 1);
	for (i = 0; i < 3; i++) {
		length = numbered(i);
		send_datagram(fd, path, frame, length);
	}
	assert_int_equal(wire_receive(nic, 64), 1);
	assert_int_equal(wire_receive(nic, 64), 0);
	nic_write(nic, R_RX_QUEUE(0) + Q_TAIL, RING - 1);
	assert_int_equal(wire_receive(nic, 64), 2);
	assert_int_equal(number_of(ring->buffers[1]), 1);
	assert_int_equal(number_of(ring->buffers[2]), 2);
	close(fd);
	unlink(path);
	unlink(other);
	free(ring);
}

/* --- descriptions and commands, with NICs that stay until the end -------------------------- */

static const char *
ask(const char *format, ...)
{
	static char answer[2048];
	char line[4096];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	control_answer(line, answer, sizeof(answer));
	return answer;
}

static void
test_descriptions(void **state)
{
	static const char *const wrong[] = {"id=1234", "mac=1:2", "colour=red",		"id",
					    "cross=1", "gen=5",	  "rx=/nowhere/in.pcap"};
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_true(setup_nics(wrong[i]) < 0);
	assert_int_equal(nic_count, 0);
	assert_int_equal(
		setup_nics("id=10fb;id=10f7,cross=1,mac=02:00:00:00:00:42,pci=0000:05:00.1,"
			   "link=0"),
		0);
	assert_int_equal(nic_count, 2);
	assert_int_equal(nics[0]->device_id, 0x10fb);
	assert_int_equal(nics[1]->device_id, 0x10f7);
	assert_ptr_equal(nics[0]->crossed, nics[1]);
	assert_ptr_equal(nics[1]->crossed, nics[0]);
	assert_string_equal(nics[1]->pci, "0000:05:00.1");
	assert_int_equal(nics[1]->mac[5], 0x42);
	assert_false(nic_link_up(nics[1]));
}

static void
test_crossed_nics(void **state)
{
	struct test_ring *rings[2] = {receive_ring(nics[0], 0, 2), receive_ring(nics[1], 0, 2)};
	unsigned i, length;

	(void)state;
	for (i = 0; i < 2; i++)
		nic_write(nics[i], R_FCTRL, FCTRL_UPE);
	/* The second one's cable is not plugged in yet: nothing passes. */
	length = numbered(1);
	wire_send(nics[0], frame, length);
	assert_int_equal(nics[1]->truth.received, 0);
	assert_string_equal(ask("1 link 1"), "ok");
	for (i = 0; i < 2; i++) {
		length = numbered(10 + i);
		wire_send(nics[i], frame, length);
		assert_int_equal(number_of(rings[1 - i]->buffers[0]), 10 + i);
	}
	for (i = 0; i < 2; i++)
		free(rings[i]);
}

static void
test_commands(void **state)
{
	(void)state;
	assert_string_equal(ask("0 link 0"), "ok");
	assert_false(nic_link_up(nics[0]));
	assert_non_null(strstr(ask("0 stat"), " link=0"));
	assert_string_equal(ask("0 link 1"), "ok");
	assert_string_equal(ask("0 cage 0"), "ok");
	assert_int_equal(nic_read(nics[0], R_ESDP) & ESDP_SDP2, 0);
	assert_string_equal(ask("0 cage 1"), "ok");
	assert_non_null(strstr(ask("0 stat"), " link=1"));
	assert_string_equal(ask("0 reg 0x42a4"), "ok 00000000");
	assert_non_null(strstr(ask("0 queues"), " 0=1"));
	assert_string_equal(ask("0 hold"), "ok");
	assert_false(nics[0]->playlist.playing);
	assert_string_equal(ask("0 go"), "ok");
	assert_string_equal(ask("0 flush"), "ok");
	write_capture(name_file(path, "in"), 0xa1b2c3d4, 3, 0);
	assert_string_equal(ask("0 rx %s", path), "ok 3");
	unlink(path);
	assert_non_null(strstr(ask("0 stat"), " waiting=1"));
}

static void
test_injected_frame(void **state)
{
	struct test_ring *ring = receive_ring(nics[1], 0, 2);
	char hex[2 * BUFFER + 1] = "";
	unsigned i, length = numbered(77);
	uint64_t before = nics[1]->truth.received;

	(void)state;
	for (i = 0; i < length; i++)
		sprintf(hex + 2 * i, "%02x", frame[i]);
	nic_write(nics[1], R_RX_QUEUE(0) + Q_HEAD, 0);
	/* Also while everything else is held. */
	assert_string_equal(ask("1 hold"), "ok");
	assert_string_equal(ask("1 inject %s", hex), "ok");
	assert_int_equal(nics[1]->truth.received, before + 1);
	assert_int_equal(number_of(ring->buffers[0]), 77);

	assert_non_null(strstr(ask("1 inject 00zz"), "error"));
	assert_non_null(strstr(ask("1 inject 001"), "error"));
	assert_non_null(strstr(ask("1 inject"), "error"));
	assert_int_equal(nics[1]->truth.received, before + 1);
	/* Without a descriptor it is not taken, and that is said. */
	nic_write(nics[1], R_RX_QUEUE(0) + Q_TAIL, reg_get(nics[1], R_RX_QUEUE(0) + Q_HEAD));
	assert_non_null(strstr(ask("1 inject %s", hex), "error"));
	free(ring);
}

static void
test_bad_commands(void **state)
{
	static const char *const wrong[] = {
		"",	   "0",		"2 stat",	 "x stat", "0 dance",
		"0 reg 3", "0 reg xyz", "0 reg 0x20000", "0 reg",  "0 rx /nowhere/in.pcap"};
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_memory_equal(ask("%s", wrong[i]), "error ", 6);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_nic, teardown_nic)
		TEST(test_capture_is_played_in_its_order),
		TEST(test_capture_is_repeated),
		TEST(test_frames_wait_for_descriptors),
		TEST(test_what_is_no_capture),
		TEST(test_sent_frames_are_captured),
		TEST(test_generated_frames),
		TEST(test_datagrams_are_frames),
		TEST(test_datagrams_wait_for_descriptors),
		cmocka_unit_test(test_descriptions),
		cmocka_unit_test(test_crossed_nics),
		cmocka_unit_test(test_commands),
		cmocka_unit_test(test_injected_frame),
		cmocka_unit_test(test_bad_commands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
