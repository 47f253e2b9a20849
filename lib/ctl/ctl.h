/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CTL_H
#define CTL_H

/**
 * @file
 * The control socket: a UNIX stream socket on which each line is a console
 * command. Control thread only.
 *
 * An answer is a header line and a body: "0 SIZE\n" or "1 SIZE\n" (failed;
 * the body is the error and its newline), then SIZE bytes; a long answer comes in
 * pieces, each headed "+ SIZE\n", before the final header. Every line gets exactly
 * one answer, blank lines and comments included, and the answers keep the order of
 * the lines: a client may send several at once.
 *
 * Lines, clients and unsent output are bounded; a reader that does not read holds
 * up its own answer and nothing else. A line that is too long, and a client too
 * many, get an error and their connection is closed. A command whose client goes
 * away is cut short at the next piece of its answer. A line without its newline
 * is never run: half an address could be another one.
 */

#include "base.h"
#include "console.h"
#include "loop.h"

#define CTL_MAX_CLIENTS 16
#define CTL_MAX_LINE	CONSOLE_MAX_LINE
#define CTL_MAX_OUTPUT	(256 * 1024) /**< unsent bytes at which a client's commands pause */

struct ctl;

/**
 * Listen on path with mode 0600, in a folder made with mode 0700 if missing (its
 * own folder must exist). A socket of ours nobody listens on is replaced; one that
 * answers, or anything else in its place, symbolic links included, is refused.
 * loop and console must outlive it. NULL with err filled.
 */
struct ctl *ctl_open(struct loop *loop, struct console *console, const char *path, struct err *err);
/** Close clients, after one attempt to send what they are owed, and remove the socket if
 * it is still ours. Not from inside a command. NULL does nothing. */
void ctl_close(struct ctl *ctl);

#endif
