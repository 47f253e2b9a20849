/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CTL_INTERNAL_H
#define CTL_INTERNAL_H

#include <sys/queue.h>
#include <sys/types.h>

#include "ctl.h"

struct client {
	TAILQ_ENTRY(client) link;
	struct ctl *ctl;
	int fd;
	struct loop_fd *watch;
	struct loop_timer *pause; /* the command asked for some time, or NULL */
	bool eof;		  /* it will send nothing more */
	bool gone;		  /* it will not read either */
	bool closing;		  /* close when everything has been sent */
	bool busy;		  /* a command is running right now */
	bool active;		  /* call has more to say */
	int fds[2];		  /* to be sent with the next bytes */
	unsigned fd_n;
	void (*hung_up)(void *arg); /* who wants to know when the connection ends; or NULL */
	void *hung_up_arg;
	struct call call;
	struct err err;
	struct out *answer; /* of the command at work: text or json */
	struct out *text;
	struct out *json;   /* made when first needed */
	struct out *unsent; /* headers and bodies on their way to the client */
	size_t received;    /* bytes in line */
	char line[CTL_MAX_LINE + 1];
};

struct ctl {
	struct loop *loop;
	struct console *console;
	int fd;
	struct loop_fd *watch;
	struct loop_timer *rest; /* out of file descriptors: accept again when it fires */
	TAILQ_HEAD(, client) clients;
	unsigned n_clients;
	dev_t dev; /* of the socket we made, to remove no other one */
	ino_t ino;
	char path[];
};

/* Listen on path as ctl_open() promises; the socket, or -1 with err filled. */
int socket_listen(const char *path, dev_t *dev, ino_t *ino, struct err *err);
/* Remove path if it is the socket with this identity. */
void socket_remove(const char *path, dev_t dev, ino_t ino);

/* Take over an accepted connection; false when memory ran out (fd is closed). */
bool client_open(struct ctl *ctl, int fd);
void client_close(struct client *client);

#endif
