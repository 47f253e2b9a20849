/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands while a program runs: one datagram, one answer to the sender.
 *
 *	NIC link {0|1}      unplug or plug the cable
 *	NIC cage {0|1}      pull or push the module
 *	NIC rx FILE         play a capture once, now
 *	NIC inject HEX      one frame comes in, now, whatever else is played or held
 *	NIC hold | go       pause, go on playing
 *	NIC stat            what really happened: key=value ...
 *	NIC queues          frames put into each receive queue: number=count ...
 *	NIC reg ADDRESS     a register as it is stored, without side effects
 *	NIC flush           what was sent is in the capture file afterwards
 *
 * NIC is a number from 0 on. Answers begin with "ok" or "error".
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugin.h"

/** A frame in hexadecimal digits, and the words before it. */
#define LINE_MAX_SIZE (2 * FRAME_MAX + 64)

static int control = -1;

static void
answer_stat(const struct nic *nic, char *answer, size_t size)
{
	const struct truth *t = &nic->truth;
	bool waiting = nic->playlist.rounds != 0 && nic->playlist.count != 0;

	snprintf(answer, size,
		 "ok received=%" PRIu64 " sent=%" PRIu64 " held=%" PRIu64 " no_descriptor=%" PRIu64
		 " queue_off=%" PRIu64 " rule=%" PRIu64 " filtered=%" PRIu64
		 " tx_malformed=%" PRIu64 " reads=%" PRIu64 " writes=%" PRIu64
		 " rules=%u waiting=%d link=%d",
		 t->received, t->sent, t->held, t->no_descriptor, t->queue_off, t->rule,
		 t->filtered, t->tx_malformed, t->reads, t->writes, nic->director.count, waiting,
		 nic_link_up(nic));
}

static void
answer_queues(const struct nic *nic, char *answer, size_t size)
{
	size_t used = (size_t)snprintf(answer, size, "ok");
	unsigned q;

	for (q = 0; q < RX_QUEUES && used < size; q++)
		if (nic->truth.queue[q] != 0)
			used += (size_t)snprintf(answer + used, size - used, " %u=%" PRIu64, q,
						 nic->truth.queue[q]);
}

static void
answer_rx(struct nic *nic, const char *path, char *answer, size_t size)
{
	long count = wire_load(nic, path);

	if (count < 0) {
		snprintf(answer, size, "error %s: cannot be played", path);
		return;
	}
	nic->playlist.rounds = 1;
	nic->playlist.playing = true;
	snprintf(answer, size, "ok %ld", count);
}

/** The frame of so many hexadecimal digits; 0 if they are none. */
static uint32_t
parse_frame(const char *word, uint8_t *frame, uint32_t size)
{
	uint32_t length = 0;

	for (; word[0] != '\0' && length < size; word += 2) {
		if (!isxdigit((unsigned char)word[0]) || !isxdigit((unsigned char)word[1]))
			return 0;
		sscanf(word, "%2hhx", &frame[length++]);
	}
	return word[0] == '\0' ? length : 0;
}

static void
answer_inject(struct nic *nic, const char *word, char *answer, size_t size)
{
	static uint8_t frame[FRAME_MAX];
	uint32_t length = parse_frame(word, frame, sizeof(frame));

	if (length == 0)
		snprintf(answer, size, "error not a frame in hexadecimal digits");
	else if (!nic_receive(nic, frame, length))
		snprintf(answer, size, "error no descriptor for it, or receive is off");
	else
		snprintf(answer, size, "ok");
}

static void
answer_reg(const struct nic *nic, const char *word, char *answer, size_t size)
{
	char *end;
	unsigned long address = strtoul(word, &end, 0);

	if (*word == '\0' || *end != '\0' || address >= BAR_SIZE || address % 4 != 0)
		snprintf(answer, size, "error '%s' is no register", word);
	else
		snprintf(answer, size, "ok %08x", reg_get(nic, (uint32_t)address));
}

static void
answer_nic(struct nic *nic, const char *command, const char *word, char *answer, size_t size)
{
	bool on = strcmp(word, "0") != 0;

	snprintf(answer, size, "ok");
	if (strcmp(command, "link") == 0)
		nic_plug(nic, on, nic->cage);
	else if (strcmp(command, "cage") == 0)
		nic_plug(nic, nic->cable, on);
	else if (strcmp(command, "go") == 0)
		nic->playlist.playing = true;
	else if (strcmp(command, "hold") == 0)
		nic->playlist.playing = false;
	else if (strcmp(command, "flush") == 0)
		wire_flush(nic);
	else if (strcmp(command, "rx") == 0)
		answer_rx(nic, word, answer, size);
	else if (strcmp(command, "inject") == 0)
		answer_inject(nic, word, answer, size);
	else if (strcmp(command, "reg") == 0)
		answer_reg(nic, word, answer, size);
	else if (strcmp(command, "stat") == 0)
		answer_stat(nic, answer, size);
	else if (strcmp(command, "queues") == 0)
		answer_queues(nic, answer, size);
	else
		snprintf(answer, size, "error unknown command '%s'", command);
}

void
control_answer(const char *line, char *answer, size_t size)
{
	char command[16] = "";
	unsigned index;
	int word = 0;

	if (sscanf(line, "%u %15s %n", &index, command, &word) < 2 || index >= nic_count) {
		snprintf(answer, size, "error NIC COMMAND [WORD], NIC below %u", nic_count);
		return;
	}
	nic_lock(nics[index]);
	answer_nic(nics[index], command, line + word, answer, size);
	nic_unlock(nics[index]);
}

int
control_open(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (strlen(path) >= sizeof(address.sun_path)) {
		fprintf(stderr, "82599 model: %s: %s\n", path, strerror(ENAMETOOLONG));
		return -1;
	}
	strcpy(address.sun_path, path);
	unlink(path);
	control = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (control >= 0 && bind(control, (const struct sockaddr *)&address, sizeof(address)) == 0)
		return 0;
	fprintf(stderr, "82599 model: %s: %s\n", path, strerror(errno));
	return -1;
}

void
control_poll(void)
{
	struct sockaddr_un from;
	socklen_t from_size = sizeof(from);
	static char line[LINE_MAX_SIZE];
	char answer[2048];
	ssize_t length;

	if (control < 0)
		return;
	length = recvfrom(control, line, sizeof(line) - 1, MSG_DONTWAIT, (struct sockaddr *)&from,
			  &from_size);
	if (length < 0)
		return;
	line[length] = '\0';
	control_answer(line, answer, sizeof(answer));
	if (from_size > sizeof(from.sun_family) &&
	    sendto(control, answer, strlen(answer), MSG_DONTWAIT, (const struct sockaddr *)&from,
		   from_size) < 0)
		return; /* who asked has left */
}
