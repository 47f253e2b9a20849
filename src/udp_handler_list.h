/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UDP_HANDLER_LIST_H
#define UDP_HANDLER_LIST_H

/** @file Between udp_handler.c and udp_handler_load.c. */

#include <sys/queue.h>

#include "udp_app.h"

/** One that sockets can name. Stays until the end of the program. */
struct handler {
	LIST_ENTRY(handler) next;
	char name[UDP_APP_NAME_LEN];
	char *path; /**< NULL: compiled in */
	const struct noref_udp_handler *ops;
};

/** NULL: none of this name. */
struct handler *handler_find(const char *name);

#endif
