/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Example of a process behind a ring: counts datagrams, and sends them back if asked to.
 *
 *     noref> udp bind *:4000 app ring counter
 *     $ udp_counter /run/noref/rte.sock counter [echo]
 *
 * Every second it says how many came. It spins for a while when nothing comes and then
 * sleeps, so that it neither loses time nor burns a core for nothing.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "noref/udp_client.h"

#define BURST 256
#define SPIN  10000 /* empty looks before it sleeps */

static volatile sig_atomic_t stop;

static void
on_signal(int number)
{
	(void)number;
	stop = 1;
}

static double
seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Give all of them back, unless noref does not take them for a long time. */
static void
echo(struct noref_udp *u, struct noref_udp_msg *msgs, int n)
{
	int done = 0;

	for (int i = 0; i < n; i++)
		noref_udp_reply(&msgs[i]);
	for (unsigned tries = 0; done < n && tries < 1000; tries++) {
		int sent = noref_udp_send_burst(u, msgs + done, (unsigned)(n - done));

		if (sent < 0)
			return;
		done += sent;
	}
}

int
main(int argc, char **argv)
{
	struct noref_udp_msg msgs[BURST];
	struct sigaction action = {.sa_handler = on_signal};
	bool echoes = argc == 4 && strcmp(argv[3], "echo") == 0;
	unsigned long long packets = 0, bytes = 0, before = 0;
	unsigned empty = 0;
	struct noref_udp *u;
	bool gone = false;
	double since;
	int n;

	if (argc < 3 || argc > 4 || (argc == 4 && !echoes)) {
		fprintf(stderr, "Usage: %s CONTROL-SOCKET NAME [echo]\n", argv[0]);
		return 2;
	}
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	u = noref_udp_open(argv[1], argv[2]);
	if (u == NULL) {
		fprintf(stderr, "%s: ring %s of %s: %s\n", argv[0], argv[2], argv[1],
			strerror(errno));
		return 1;
	}
	printf("attached: %u workers\n", noref_udp_workers(u));
	fflush(stdout);
	since = seconds();
	while (!stop && !gone) {
		n = noref_udp_recv_burst(u, msgs, BURST);
		if (n < 0) {
			gone = true;
			break;
		}
		for (int i = 0; i < n; i++)
			bytes += msgs[i].len;
		packets += (unsigned)n;
		if (n > 0 && echoes)
			echo(u, msgs, n);
		empty = n > 0 ? 0 : empty + 1;
		if ((packets - before >= 1000000 || empty >= SPIN) && seconds() - since >= 1) {
			printf("%llu packets, %llu bytes, %.0f packets/s\n", packets, bytes,
			       (double)(packets - before) / (seconds() - since));
			fflush(stdout);
			since = seconds();
			before = packets;
		}
		if (empty >= SPIN)
			gone = noref_udp_wait(u, 1000) < 0 && errno != EINTR;
	}
	printf("%llu packets, %llu bytes in all\n", packets, bytes);
	if (gone)
		fprintf(stderr, "%s: noref has gone, or closed the socket\n", argv[0]);
	noref_udp_close(u);
	return gone;
}
