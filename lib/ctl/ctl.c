/* SPDX-License-Identifier: BSD-3-Clause */
#include "internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

/* How long to leave new clients waiting when no file descriptor is left. */
#define REST_MS 200

static void
refuse(int fd)
{
	char text[64], answer[96];
	int size;

	snprintf(text, sizeof(text), "%d clients are connected already\n", CTL_MAX_CLIENTS);
	size = snprintf(answer, sizeof(answer), "1 %zu\n%s", strlen(text), text);
	if (send(fd, answer, (size_t)size, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
		/* It has gone already: nobody to tell. */
	}
	close(fd);
}

static void
end_rest(void *arg)
{
	struct ctl *ctl = arg;

	loop_cancel(ctl->loop, ctl->rest);
	ctl->rest = NULL;
	loop_change(ctl->loop, ctl->watch, EPOLLIN);
}

static void
accept_client(void *arg, uint32_t events)
{
	struct ctl *ctl = arg;
	int fd;

	(void)events;
	fd = accept4(ctl->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0) {
		if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM)
			return;
		/* The listener stays readable: without a rest it would keep
		 * the control thread spinning. */
		ctl->rest = loop_every(ctl->loop, REST_MS, end_rest, ctl);
		if (ctl->rest != NULL)
			loop_change(ctl->loop, ctl->watch, 0);
		return;
	}
	if (ctl->n_clients == CTL_MAX_CLIENTS)
		refuse(fd);
	else
		client_open(ctl, fd);
}

struct ctl *
ctl_open(struct loop *loop, struct console *console, const char *path, struct err *err)
{
	struct ctl *ctl = calloc(1, sizeof(*ctl) + strlen(path) + 1);

	if (ctl == NULL) {
		err_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	ctl->loop = loop;
	ctl->console = console;
	memcpy(ctl->path, path, strlen(path) + 1);
	TAILQ_INIT(&ctl->clients);
	ctl->fd = socket_listen(path, &ctl->dev, &ctl->ino, err);
	if (ctl->fd < 0) {
		free(ctl);
		return NULL;
	}
	ctl->watch = loop_watch(loop, ctl->fd, EPOLLIN, accept_client, ctl);
	if (ctl->watch == NULL) {
		err_set(err, errno, "control socket %.120s: %s", path, strerror(errno));
		ctl_close(ctl);
		return NULL;
	}
	return ctl;
}

void
ctl_close(struct ctl *ctl)
{
	if (ctl == NULL)
		return;
	/* Removed before it closes: whoever finds it, finds it alive. */
	socket_remove(ctl->path, ctl->dev, ctl->ino);
	while (!TAILQ_EMPTY(&ctl->clients))
		client_close(TAILQ_FIRST(&ctl->clients));
	loop_cancel(ctl->loop, ctl->rest);
	loop_unwatch(ctl->loop, ctl->watch);
	close(ctl->fd);
	free(ctl);
}
