/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One client: lines in, answers out, never waiting for it. Work goes on as long
 * as it makes progress and the turn lasts; then the loop calls again when the
 * client has sent something, or can take something.
 */
#include "internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

/* A turn: so long one client may keep the others waiting. */
#define TURN_MS 5

static void client_work(struct client *c);

static void
close_fds(struct client *c)
{
	while (c->fd_n > 0)
		close(c->fds[--c->fd_n]);
}

/* --- sending -------------------------------------------------------------------- */

static void
put(struct client *c, char kind, const char *data, size_t size)
{
	char header[32];
	int n = snprintf(header, sizeof(header), "%c %zu\n", kind, size);

	if (c->gone)
		return;
	out_append(c->unsent, header, (size_t)n);
	out_append(c->unsent, data, size);
	/* Without memory the stream would lose its framing. */
	if (out_failed(c->unsent))
		c->gone = true;
}

static void
put_answer(struct client *c, char kind)
{
	const char *data;
	size_t size;

	data = out_data(c->answer, &size);
	if (size > 0 || kind != '+')
		put(c, kind, data, size);
	out_consume(c->answer, size);
}

static void
put_error(struct client *c, const char *sentence)
{
	char text[sizeof(c->err.text) + 1];
	int n = snprintf(text, sizeof(text), "%s\n", sentence);

	put(c, '1', text, (size_t)n);
}

/* As send(), and the file descriptors that wait with it. */
static ssize_t
send_some(struct client *c, const char *data, size_t size)
{
	union {
		char bytes[CMSG_SPACE(sizeof(c->fds))];
		struct cmsghdr align;
	} control = {.bytes = ""};
	struct iovec iov = {.iov_base = (void *)(uintptr_t)data, .iov_len = size};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t n;

	if (c->fd_n != 0) {
		msg.msg_control = control.bytes;
		msg.msg_controllen = CMSG_SPACE(c->fd_n * sizeof(int));
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(c->fd_n * sizeof(int));
		memcpy(CMSG_DATA(&control.align), c->fds, c->fd_n * sizeof(int));
	}
	n = sendmsg(c->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n >= 0)
		close_fds(c);
	return n;
}

/* Send what the client takes without waiting. */
static void
flush(struct client *c)
{
	const char *data;
	size_t size;
	ssize_t n;

	for (;;) {
		data = out_data(c->unsent, &size);
		if (size == 0)
			return;
		if (c->gone) {
			out_consume(c->unsent, size);
			return;
		}
		n = send_some(c, data, size);
		if (n >= 0)
			out_consume(c->unsent, (size_t)n);
		else if (errno == EAGAIN)
			return;
		else if (errno != EINTR)
			c->gone = true;
	}
}

/* --- receiving ------------------------------------------------------------------- */

/* True if something came, or the end. */
static bool
receive(struct client *c)
{
	ssize_t n;

	if (c->eof || c->received == sizeof(c->line))
		return false;
	do
		n = recv(c->fd, c->line + c->received, sizeof(c->line) - c->received, MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN)
		return false;
	if (n < 0)
		c->gone = true;
	if (n <= 0)
		c->eof = true;
	else
		c->received += (size_t)n;
	return true;
}

static bool
has_line(const struct client *c)
{
	return memchr(c->line, '\n', c->received) != NULL;
}

/* --- commands ---------------------------------------------------------------------- */

/* What goes with the answer, and who is to hear of the end, are the connection's from now on. A
 * connection has one of each: a second one is told at once that it has none. */
static void
take_over(struct client *c)
{
	if (c->call.hung_up == NULL || c->hung_up != NULL || c->fd_n != 0)
		return;
	memcpy(c->fds, c->call.fds, sizeof(c->fds));
	c->fd_n = c->call.fd_n;
	c->hung_up = c->call.hung_up;
	c->hung_up_arg = c->call.hung_up_arg;
	c->call.fd_n = 0;
	c->call.hung_up = NULL;
}

/* A command has returned: pass on what it said. */
static void
take_answer(struct client *c, int rc)
{
	c->active = rc == CALL_MORE && !c->gone;
	if (c->active) {
		put_answer(c, '+');
		return;
	}
	if (rc == 0)
		take_over(c);
	call_finish(&c->call);
	if (rc < 0) {
		put_answer(c, '+');
		put_error(c, c->err.text);
	} else {
		put_answer(c, '0');
	}
}

static void
start_command(struct client *c, const char *line)
{
	bool json = console_line_wants_json(line);
	struct out **answer = json ? &c->json : &c->text;

	if (*answer != NULL)
		out_reset(*answer);
	else
		*answer = out_create(json);
	c->answer = *answer;
	if (c->answer == NULL) {
		put_error(c, "out of memory");
		return;
	}
	take_answer(c, console_start(c->ctl->console, line, c->answer, &c->call, &c->err));
}

/* Run the first line that has been received. */
static void
run_line(struct client *c)
{
	char *newline = memchr(c->line, '\n', c->received);
	size_t len = (size_t)(newline - c->line);

	if (memchr(c->line, '\0', len) != NULL) {
		put_error(c, "a NUL byte: this is not a command");
	} else {
		*newline = '\0';
		start_command(c, c->line);
	}
	c->received -= len + 1;
	memmove(c->line, newline + 1, c->received);
}

static void
end_pause(void *arg)
{
	struct client *c = arg;

	loop_cancel(c->ctl->loop, c->pause);
	c->pause = NULL;
	client_work(c);
}

static void
continue_command(struct client *c)
{
	take_answer(c, call_continue(&c->call));
}

/* Something to be said about what came without a newline? */
static void
refuse_rest(struct client *c)
{
	char text[64];

	if (c->closing || c->received == 0)
		return;
	if (c->received == sizeof(c->line)) {
		snprintf(text, sizeof(text), "the line is longer than %d bytes", CTL_MAX_LINE);
		put_error(c, text);
		c->closing = true;
	} else if (c->eof) {
		put_error(c, "the last line does not end with a newline: it was not run");
		c->closing = true;
	}
}

/* --- turns ---------------------------------------------------------------------------- */

/* One step of whatever is to be done; false: nothing before the loop calls again. */
static bool
step(struct client *c)
{
	if (c->pause != NULL || out_pending(c->unsent) >= CTL_MAX_OUTPUT)
		return false;
	if (c->active) {
		continue_command(c);
	} else if (c->closing) {
		return false;
	} else if (has_line(c)) {
		run_line(c);
	} else if (!receive(c)) {
		return false;
	}
	if (c->active && c->call.pause_ms > 0)
		c->pause = loop_every(c->ctl->loop, c->call.pause_ms, end_pause, c);
	return true;
}

/* Wait for what can bring the client on, or close it. */
static void
settle(struct client *c)
{
	bool unsent = out_pending(c->unsent) > 0;
	bool work = c->active || (!c->closing && has_line(c));
	uint32_t events = 0;

	if (!unsent && !work && (c->closing || c->eof)) {
		client_close(c);
		return;
	}
	if (unsent || (work && c->pause == NULL))
		events |= EPOLLOUT;
	/* What cannot be read now must not be reported at every turn. */
	if (!work && !c->eof && !c->closing && out_pending(c->unsent) < CTL_MAX_OUTPUT)
		events |= EPOLLIN;
	loop_change(c->ctl->loop, c->watch, events);
}

static void
client_work(struct client *c)
{
	uint64_t end = loop_now_ms() + TURN_MS;
	bool more;

	/* A command that waits in the loop gets us here again. */
	if (c->busy)
		return;
	c->busy = true;
	do {
		more = step(c);
		if (!c->active && !has_line(c))
			refuse_rest(c);
		flush(c);
	} while (more && loop_now_ms() < end);
	c->busy = false;
	settle(c);
}

static void
on_event(void *arg, uint32_t events)
{
	struct client *c = arg;

	/* Hung up on both sides. epoll says so at every turn, so a command
	 * that pauses must not sleep through it. */
	if ((events & (EPOLLHUP | EPOLLERR)) != 0 && c->pause != NULL && !c->busy) {
		loop_cancel(c->ctl->loop, c->pause);
		c->pause = NULL;
		c->gone = true;
	}
	client_work(c);
}

bool
client_open(struct ctl *ctl, int fd)
{
	struct client *c = calloc(1, sizeof(*c));

	if (c == NULL) {
		close(fd);
		return false;
	}
	c->ctl = ctl;
	c->fd = fd;
	TAILQ_INSERT_TAIL(&ctl->clients, c, link);
	ctl->n_clients++;
	c->unsent = out_create(false);
	c->watch = loop_watch(ctl->loop, fd, EPOLLIN, on_event, c);
	if (c->unsent == NULL || c->watch == NULL) {
		client_close(c);
		return false;
	}
	return true;
}

void
client_close(struct client *c)
{
	struct ctl *ctl = c->ctl;

	if (c->active)
		call_finish(&c->call);
	if (c->unsent != NULL)
		flush(c);
	close_fds(c);
	if (c->hung_up != NULL)
		c->hung_up(c->hung_up_arg);
	loop_cancel(ctl->loop, c->pause);
	loop_unwatch(ctl->loop, c->watch);
	close(c->fd);
	out_destroy(c->text);
	out_destroy(c->json);
	out_destroy(c->unsent);
	TAILQ_REMOVE(&ctl->clients, c, link);
	ctl->n_clients--;
	free(c);
}
