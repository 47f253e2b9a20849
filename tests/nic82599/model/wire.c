/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The other end of the cable: a capture that is played, a capture of what is
 * sent, a datagram socket, or another modelled NIC.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "checksum.h"
#include "frame.h"
#include "nic.h"

/* --- captures: pcap in the byte order of this machine, micro- or nanoseconds -------------- */

#define PCAP_MICROSECONDS 0xa1b2c3d4u
#define PCAP_NANOSECONDS  0xa1b23c4du
#define PCAP_HEADER	  24
#define PCAP_RECORD	  16

static long
complain(const char *path, const char *reason)
{
	fprintf(stderr, "82599 model: %s: %s\n", path, reason);
	return -1;
}

static uint8_t *
read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data = NULL;
	long length = -1;

	if (file == NULL)
		return NULL;
	if (fseek(file, 0, SEEK_END) == 0)
		length = ftell(file);
	if (length >= 0) {
		rewind(file);
		*size = (size_t)length;
		data = malloc(*size + 1);
		if (data != NULL && fread(data, 1, *size, file) != *size) {
			free(data);
			data = NULL;
		}
	}
	fclose(file);
	return data;
}

/** Count the records, and with frames note them; a record cut short ends the file. */
static size_t
scan_capture(const uint8_t *data, size_t size, struct wire_frame *frames)
{
	size_t at = PCAP_HEADER, count = 0;

	while (at + PCAP_RECORD <= size) {
		uint32_t length = load32(data + at + 8);

		at += PCAP_RECORD;
		if (length > size - at)
			break;
		if (frames != NULL)
			frames[count] = (struct wire_frame){data + at, length};
		at += length;
		count++;
	}
	return count;
}

static void
replace_playlist(struct playlist *list, uint8_t *data, struct wire_frame *frames, size_t count)
{
	free(list->file);
	free(list->frames);
	list->file = data;
	list->frames = frames;
	list->count = count;
	list->next = 0;
}

long
wire_load(struct nic *nic, const char *path)
{
	struct wire_frame *frames;
	size_t size = 0, count;
	uint8_t *data = read_file(path, &size);

	if (data == NULL)
		return complain(path, strerror(errno));
	if (size < PCAP_HEADER ||
	    (load32(data) != PCAP_MICROSECONDS && load32(data) != PCAP_NANOSECONDS)) {
		free(data);
		return complain(path, "not a pcap capture of this byte order");
	}
	count = scan_capture(data, size, NULL);
	frames = calloc(count + 1, sizeof(*frames));
	if (frames == NULL) {
		free(data);
		return complain(path, strerror(ENOMEM));
	}
	scan_capture(data, size, frames);
	replace_playlist(&nic->playlist, data, frames, count);
	return (long)count;
}

int
wire_capture(struct nic *nic, const char *path)
{
	const uint32_t header[6] = {PCAP_MICROSECONDS, 4u << 16 | 2, 0, 0, 262144, 1};

	nic->capture = fopen(path, "wb");
	if (nic->capture == NULL || fwrite(header, sizeof(header), 1, nic->capture) != 1)
		return (int)complain(path, strerror(errno));
	nic->capture_dirty = true;
	return 0;
}

void
wire_flush(struct nic *nic)
{
	if (nic->capture != NULL && nic->capture_dirty)
		fflush(nic->capture);
	nic->capture_dirty = false;
}

static void
capture(struct nic *nic, const uint8_t *data, uint32_t length)
{
	struct timespec now;
	uint32_t record[4] = {0, 0, length, length};

	clock_gettime(CLOCK_REALTIME, &now);
	record[0] = (uint32_t)now.tv_sec;
	record[1] = (uint32_t)(now.tv_nsec / 1000);
	fwrite(record, sizeof(record), 1, nic->capture);
	fwrite(data, length, 1, nic->capture);
	nic->capture_dirty = true;
}

/* --- generated traffic ------------------------------------------------------------------------ */

/** Ethernet, IPv4 and UDP: a source address and port for each flow. */
static void
write_flow(const struct nic *nic, uint8_t *frame, unsigned flow, unsigned length)
{
	uint8_t *ip = frame + 14, *udp = ip + 20;
	uint16_t sum;

	memcpy(frame, nic->mac, 6);
	frame[6] = 0x02;
	frame[11] = (uint8_t)flow;
	store16_be(frame + 12, 0x0800);
	ip[0] = 0x45;
	store16_be(ip + 2, (uint16_t)(length - 14));
	ip[8] = 64;
	ip[9] = 17;
	ip[12] = 10;
	store16_be(ip + 14, (uint16_t)flow);
	ip[16] = 10;
	ip[17] = 1;
	ip[19] = 1;
	sum = (uint16_t)~checksum_fold(checksum_add(0, ip, 20));
	memcpy(ip + 10, &sum, 2);
	store16_be(udp, (uint16_t)(0x1000 | (flow & 0xff)));
	store16_be(udp + 2, 0x2000);
	store16_be(udp + 4, (uint16_t)(length - 34));
}

int
wire_generate(struct nic *nic, unsigned flows, unsigned length)
{
	struct wire_frame *frames;
	uint8_t *data;
	unsigned i;

	if (flows == 0 || length < 60 || length > FRAME_MAX - 4)
		return (int)complain("gen", "FLOWSxLENGTH, LENGTH from 60 on without FCS");
	frames = calloc(flows, sizeof(*frames));
	data = calloc(flows, length);
	if (frames == NULL || data == NULL) {
		free(frames);
		free(data);
		return (int)complain("gen", strerror(ENOMEM));
	}
	for (i = 0; i < flows; i++) {
		frames[i] = (struct wire_frame){data + (size_t)i * length, length};
		write_flow(nic, data + (size_t)i * length, i, length);
	}
	replace_playlist(&nic->playlist, data, frames, flows);
	nic->playlist.rounds = UINT64_MAX;
	return 0;
}

/* --- socket -------------------------------------------------------------------------------------
 */

#define DATAGRAM_MAX 65536

int
wire_bind(struct nic *nic, const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int size = 4 << 20;

	if (strlen(path) >= sizeof(address.sun_path))
		return (int)complain(path, strerror(ENAMETOOLONG));
	strcpy(address.sun_path, path);
	unlink(path);
	nic->socket_frame = malloc(DATAGRAM_MAX);
	nic->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (nic->socket_frame == NULL || nic->socket < 0 ||
	    bind(nic->socket, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return (int)complain(path, strerror(errno));
	setsockopt(nic->socket, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	return 0;
}

static bool
receive_datagram(struct nic *nic)
{
	if (nic->socket_length <= 0)
		nic->socket_length =
			recv(nic->socket, nic->socket_frame, DATAGRAM_MAX, MSG_DONTWAIT);
	if (nic->socket_length <= 0)
		return false;
	if (!nic_receive(nic, nic->socket_frame, (uint32_t)nic->socket_length))
		return false;
	nic->socket_length = 0;
	return true;
}

/* --- both directions
 * --------------------------------------------------------------------------------- */

static bool
play_next(struct nic *nic)
{
	struct playlist *list = &nic->playlist;

	if (!list->playing || list->rounds == 0 || list->count == 0)
		return false;
	if (!nic_receive(nic, list->frames[list->next].data, list->frames[list->next].length))
		return false;
	if (++list->next == list->count) {
		list->next = 0;
		if (list->rounds != UINT64_MAX)
			list->rounds--;
	}
	return true;
}

unsigned
wire_receive(struct nic *nic, unsigned budget)
{
	unsigned received = 0;

	while (received < budget && nic->socket >= 0 && receive_datagram(nic))
		received++;
	while (received < budget && play_next(nic))
		received++;
	return received;
}

void
wire_send(struct nic *nic, const uint8_t *data, uint32_t length)
{
	if ((reg_get(nic, R_HLREG0) & HLREG0_LPBK) != 0) {
		nic_receive(nic, data, length);
		return;
	}
	if (!nic_link_up(nic))
		return;
	if (nic->capture != NULL)
		capture(nic, data, length);
	if (nic->socket >= 0 && nic->peer.sun_path[0] != '\0' &&
	    sendto(nic->socket, data, length, MSG_DONTWAIT, (const struct sockaddr *)&nic->peer,
		   sizeof(nic->peer)) < 0)
		return; /* nobody there, or too slow: lost as on a cable */
	if (nic->crossed != NULL) {
		/* Only the model's thread holds two locks: a trap takes one. */
		nic_lock(nic->crossed);
		nic_receive(nic->crossed, data, length);
		nic_unlock(nic->crossed);
	}
}
