/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CTL_H
#define CTL_H

/**
 * @file
 * The control socket: a UNIX stream socket on which each line is a console
 * command. Control thread only.
 *
 * An answer is a header line and a body: "0 SIZE\n" or "1 SIZE\n" (failed;
 * the body is the error), then SIZE bytes; a long answer comes in pieces, each
 * headed "+ SIZE\n", before the final header. Lines, clients and unsent output are
 * bounded; a reader that does not read holds up its own answer and nothing else.
 */

#include "base.h"
#include "console.h"
#include "loop.h"

#define CTL_MAX_CLIENTS 16
#define CTL_MAX_LINE    4096

struct ctl;

/**
 * Listen on path with mode 0600, in a folder made with mode 0700 if missing. A
 * socket nobody listens on is replaced; one that answers, or anything else in
 * its place, is refused. NULL with err filled.
 */
struct ctl *ctl_open(struct loop *loop, struct console *console, const char *path,
		     struct err *err);
/** Close clients and remove the socket if it is still ours. */
void ctl_close(struct ctl *ctl);

#endif
