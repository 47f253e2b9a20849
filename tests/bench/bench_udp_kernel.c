/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What this machine's kernel does: datagrams over a veth between two network
 * namespaces, sent with sendmmsg() on one processor and received with
 * recvmmsg() on another. Prints packets per second received.
 *
 *     bench_udp_kernel {4|6} [SECONDS]
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <arpa/inet.h>

#define BURST	64
#define PAYLOAD 18 /* the smallest Ethernet frame over IPv4 */
#define PORT	9

static void
die(const char *what)
{
	perror(what);
	exit(1);
}

static void
run(const char *command)
{
	if (system(command) != 0)
		die(command);
}

static void
pin(unsigned cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) != 0 && errno != EINVAL)
		die("sched_setaffinity");
}

static socklen_t
address(bool v6, bool any, struct sockaddr_storage *sa)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)sa;
	struct sockaddr_in *in = (struct sockaddr_in *)sa;

	memset(sa, 0, sizeof(*sa));
	if (v6) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(PORT);
		if (!any)
			inet_pton(AF_INET6, "2001:db8::1", &in6->sin6_addr);
		return sizeof(*in6);
	}
	in->sin_family = AF_INET;
	in->sin_port = htons(PORT);
	if (!any)
		inet_pton(AF_INET, "10.0.0.1", &in->sin_addr);
	return sizeof(*in);
}

static void
messages(struct mmsghdr *m, struct iovec *iov, char (*room)[64])
{
	memset(m, 0, BURST * sizeof(*m));
	for (unsigned i = 0; i < BURST; i++) {
		iov[i] = (struct iovec){room[i], PAYLOAD};
		m[i].msg_hdr.msg_iov = &iov[i];
		m[i].msg_hdr.msg_iovlen = 1;
	}
}

static void
send_for_ever(bool v6)
{
	struct mmsghdr m[BURST];
	struct iovec iov[BURST];
	char room[BURST][64] = {{0}};
	struct sockaddr_storage sa;
	socklen_t len = address(v6, false, &sa);
	int fd = socket(v6 ? AF_INET6 : AF_INET, SOCK_DGRAM, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&sa, len) != 0)
		die("connect");
	messages(m, iov, room);
	for (;;)
		sendmmsg(fd, m, BURST, 0);
}

static double
seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void
receive(int fd, double length)
{
	struct mmsghdr m[BURST];
	struct iovec iov[BURST];
	char room[BURST][64];
	uint64_t packets = 0;
	double start = 0, now = 0;

	messages(m, iov, room);
	do {
		int n = recvmmsg(fd, m, BURST, MSG_WAITFORONE, NULL);

		if (n < 0)
			die("recvmmsg");
		now = seconds();
		if (start == 0)
			start = now + 0.3; /* until then it warms up */
		if (now >= start)
			packets += (unsigned)n;
	} while (now < start + length);
	printf("%.0f\n", (double)packets / (now - start));
}

int
main(int argc, char **argv)
{
	bool v6 = argc > 1 && strcmp(argv[1], "6") == 0;
	double length = argc > 2 ? atof(argv[2]) : 2;
	int size = 4 << 20, there, fd;
	struct sockaddr_storage sa;
	char command[256];
	socklen_t len;
	pid_t child;

	if (unshare(CLONE_NEWNET) != 0)
		die("a network namespace");
	there = open("/proc/self/ns/net", O_RDONLY);
	child = fork();
	if (child == 0) {
		pin(0);
		sleep(1);
		send_for_ever(v6);
	}
	if (unshare(CLONE_NEWNET) != 0)
		die("a network namespace");
	snprintf(
		command, sizeof(command),
		"ip link add name u0 type veth peer name u1 netns /proc/%d/fd/%d && ip link set u0 up &&"
		"ip addr add 10.0.0.1/24 dev u0 && ip addr add 2001:db8::1/64 dev u0 nodad",
		getpid(), there);
	run(command);
	snprintf(
		command, sizeof(command),
		"nsenter --net=/proc/%d/ns/net sh -c 'ip link set u1 up; ip addr add 10.0.0.2/24 dev u1;"
		"ip addr add 2001:db8::2/64 dev u1 nodad'",
		child);
	run(command);
	pin(1);
	fd = socket(v6 ? AF_INET6 : AF_INET, SOCK_DGRAM, 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	len = address(v6, true, &sa);
	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, len) != 0)
		die("bind");
	receive(fd, length);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return 0;
}
