/* SPDX-License-Identifier: BSD-3-Clause */
#include "noref/udp_client.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "udp_ring_shared.h"

/* Calls without a datagram after which the other side is looked after. */
#define LOOK_EVERY 65536

struct noref_udp {
	int control; /* the connection: as long as it stands, we are attached */
	int wake;    /* a pipe: noref writes to it when we sleep, and closes it to detach us */
	uint8_t *memory;
	size_t size;
	unsigned workers;
	unsigned next; /* worker whose ring is looked at first */
	unsigned idle; /* calls that found nothing */
	bool gone;     /* detached by the other side */
	struct ring_reader *received;
	struct ring_writer *send;
};

/* --- attaching ------------------------------------------------------------------------ */

static int
connect_to(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd, saved;

	if (strlen(path) >= sizeof(addr.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(addr.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0)
		return fd;
	saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

/* The answer's first line, and what comes with it: the memory and the pipe. */
static int
receive_answer(int fd, char *text, size_t size, int fds[2])
{
	union {
		char bytes[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = {.iov_base = text, .iov_len = size - 1};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.bytes,
			     .msg_controllen = sizeof(control.bytes)};
	struct cmsghdr *c;
	ssize_t n;

	do
		n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -1;
	text[n] = '\0';
	for (c = CMSG_FIRSTHDR(&msg); c != NULL; c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
		    c->cmsg_len == CMSG_LEN(2 * sizeof(int)))
			memcpy(fds, CMSG_DATA(c), 2 * sizeof(int));
	}
	return 0;
}

static int
ask(int fd, const char *name, int fds[2])
{
	char line[128], answer[512];
	int n = snprintf(line, sizeof(line), "udp attach %s\n", name);

	if (n < 0 || (size_t)n >= sizeof(line) || strpbrk(name, " \t\n\"'\\#") != NULL) {
		errno = EINVAL;
		return -1;
	}
	if (send(fd, line, (size_t)n, MSG_NOSIGNAL) != n ||
	    receive_answer(fd, answer, sizeof(answer), fds) != 0)
		return -1;
	if (fds[0] >= 0)
		return 0;
	errno = strstr(answer, "has a client") != NULL ? EBUSY
		: strncmp(answer, "1 ", 2) == 0	       ? ENOENT
						       : EPROTO;
	return -1;
}

static bool
power_of_two(uint32_t n)
{
	return n >= RING_BYTES_MIN && (n & (n - 1)) == 0;
}

static int
map(struct noref_udp *u, int fd)
{
	struct ring_memory m;
	struct stat st;

	if (fstat(fd, &st) != 0)
		return -1;
	if ((size_t)st.st_size >= RING_FIRST)
		u->memory = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_POPULATE, fd, 0);
	if (u->memory == NULL)
		errno = EPROTO;
	if (u->memory == NULL || u->memory == MAP_FAILED) {
		u->memory = NULL;
		return -1;
	}
	u->size = (size_t)st.st_size;
	memcpy(&m, u->memory, sizeof(m));
	errno = EPROTO;
	if (m.magic != RING_MAGIC || m.version != RING_VERSION || m.workers == 0 ||
	    m.workers > 4096 || !power_of_two(m.received_bytes) || !power_of_two(m.send_bytes) ||
	    ring_received_offset(m.received_bytes, m.send_bytes, m.workers) > u->size)
		return -1;
	u->workers = m.workers;
	u->received = calloc(m.workers, sizeof(*u->received));
	u->send = calloc(m.workers, sizeof(*u->send));
	if (u->received == NULL || u->send == NULL) {
		errno = ENOMEM;
		return -1;
	}
	for (unsigned w = 0; w < m.workers; w++) {
		uint64_t received = ring_received_offset(m.received_bytes, m.send_bytes, w);
		uint64_t to_send = ring_send_offset(m.received_bytes, m.send_bytes, w);

		u->received[w].ends = (struct ring_ends *)(void *)(u->memory + received);
		u->received[w].size = m.received_bytes;
		u->send[w].ends = (struct ring_ends *)(void *)(u->memory + to_send);
		u->send[w].size = m.send_bytes;
	}
	return 0;
}

struct noref_udp *
noref_udp_open(const char *control_socket, const char *name)
{
	struct noref_udp *u = calloc(1, sizeof(*u));
	int fds[2] = {-1, -1}, rc = -1, saved;

	if (u == NULL)
		return NULL;
	u->wake = -1;
	u->control = connect_to(control_socket);
	if (u->control >= 0)
		rc = ask(u->control, name, fds);
	u->wake = fds[1];
	if (rc == 0)
		rc = map(u, fds[0]);
	saved = errno;
	if (fds[0] >= 0)
		close(fds[0]);
	if (rc == 0)
		return u;
	noref_udp_close(u);
	errno = saved;
	return NULL;
}

void
noref_udp_close(struct noref_udp *u)
{
	if (u == NULL)
		return;
	if (u->memory != NULL)
		munmap(u->memory, u->size);
	if (u->wake >= 0)
		close(u->wake);
	if (u->control >= 0)
		close(u->control);
	free(u->received);
	free(u->send);
	free(u);
}

unsigned
noref_udp_workers(const struct noref_udp *u)
{
	return u->workers;
}

/* --- datagrams ---------------------------------------------------------------------------- */

/* Once in a while, when there is nothing to do anyway: is the other side still there? */
static bool
hung_up(struct noref_udp *u)
{
	struct pollfd fds[2] = {{.fd = u->wake}, {.fd = u->control}};

	if (poll(fds, 2, 0) > 0)
		u->gone = true;
	return u->gone;
}

/* Forget that we have been woken. */
static void
drain(int fd)
{
	char bytes[64];

	while (read(fd, bytes, sizeof(bytes)) == (ssize_t)sizeof(bytes))
		;
}

static void
fill(struct noref_udp_msg *msg, const struct ring_record *r, const uint8_t *data, unsigned worker)
{
	msg->data = (void *)(uintptr_t)data;
	msg->len = r->len;
	msg->socket = r->socket;
	msg->family = r->family;
	msg->flags = r->flags;
	msg->tos = r->tos;
	msg->ttl = r->ttl;
	msg->worker = (uint16_t)worker;
	msg->local_port = r->local_port;
	msg->remote_port = r->remote_port;
	msg->iface = r->iface;
	msg->vrf = r->vrf;
	memcpy(msg->local, r->local, sizeof(msg->local));
	memcpy(msg->remote, r->remote, sizeof(msg->remote));
}

int
noref_udp_recv_burst(struct noref_udp *u, struct noref_udp_msg *msgs, unsigned n)
{
	unsigned got = 0;

	for (unsigned k = 0; k < u->workers; k++) {
		unsigned w = u->next + k < u->workers ? u->next + k : u->next + k - u->workers;
		struct ring_reader *ring = &u->received[w];
		struct ring_record record;
		const uint8_t *data;
		int broken = 0;

		/* What was returned by the last call is given back by this one. */
		ring_release(ring);
		while (got < n && (data = ring_next(ring, &record, &broken)) != NULL)
			fill(&msgs[got++], &record, data, w);
		if (broken)
			u->gone = true;
	}
	u->next = u->next + 1 < u->workers ? u->next + 1 : 0;
	if (got == 0 && (u->gone || (++u->idle % LOOK_EVERY == 0 && hung_up(u)))) {
		errno = EPIPE;
		return -1;
	}
	return (int)got;
}

static bool
any_received(const struct noref_udp *u)
{
	for (unsigned w = 0; w < u->workers; w++) {
		if (__atomic_load_n(&u->received[w].ends->head, __ATOMIC_ACQUIRE) !=
		    u->received[w].tail)
			return true;
	}
	return false;
}

static void
set_sleeping(struct noref_udp *u, uint32_t value)
{
	for (unsigned w = 0; w < u->workers; w++)
		__atomic_store_n(&u->received[w].ends->sleeping, value, __ATOMIC_RELAXED);
}

int
noref_udp_wait(struct noref_udp *u, int timeout_ms)
{
	struct pollfd fds[2] = {{.fd = u->wake, .events = POLLIN}, {.fd = u->control}};
	int rc = 0;

	set_sleeping(u, 1);
	/* Said before looking for the last time: what comes later wakes us. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!any_received(u) && !u->gone)
		rc = poll(fds, 2, timeout_ms);
	set_sleeping(u, 0);
	if (rc > 0 && (fds[0].revents & POLLIN) != 0)
		drain(u->wake);
	if (any_received(u))
		return 1;
	if (rc < 0)
		return -1;
	if (u->gone || (rc > 0 && hung_up(u))) {
		errno = EPIPE;
		return -1;
	}
	return rc > 0;
}

void
noref_udp_reply(struct noref_udp_msg *msg)
{
	/* A group is no source. */
	if ((msg->flags & NOREF_UDP_GROUP) != 0)
		memset(msg->local, 0, sizeof(msg->local));
	msg->flags = 0;
	msg->ttl = 0;
}

static int
check(const struct noref_udp *u, const struct noref_udp_msg *msg)
{
	if (msg->len > RING_PAYLOAD_MAX)
		errno = EMSGSIZE;
	else if (msg->worker >= u->workers ||
		 (msg->family != 0 && msg->family != 4 && msg->family != 6))
		errno = EINVAL;
	else
		return 0;
	return -1;
}

int
noref_udp_send_burst(struct noref_udp *u, const struct noref_udp_msg *msgs, unsigned n)
{
	unsigned done = 0;
	int rc = 0;

	if (u->gone) {
		errno = EPIPE;
		return -1;
	}
	for (; done < n; done++) {
		const struct noref_udp_msg *msg = &msgs[done];
		struct ring_record *r;

		rc = check(u, msg);
		r = rc == 0 ? ring_reserve(&u->send[msg->worker], msg->len) : NULL;
		if (r == NULL)
			break;
		*r = (struct ring_record){
			.len = msg->len,
			.socket = msg->socket,
			.remote_port = msg->remote_port,
			.iface = msg->iface,
			.family = msg->family,
			.flags = msg->flags & RING_DONT_FRAGMENT,
			.tos = msg->tos,
			.ttl = msg->ttl,
		};
		memcpy(r->local, msg->local, sizeof(r->local));
		memcpy(r->remote, msg->remote, sizeof(r->remote));
		memcpy(r + 1, msg->data, msg->len);
	}
	for (unsigned w = 0; w < u->workers; w++)
		ring_publish(&u->send[w]);
	/* Nobody takes anything: is there still somebody? */
	if (done == 0 && rc == 0 && n > 0 && ++u->idle % LOOK_EVERY == 0 && hung_up(u)) {
		errno = EPIPE;
		return -1;
	}
	return done > 0 ? (int)done : rc;
}
