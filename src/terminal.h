/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TERMINAL_H
#define TERMINAL_H

/**
 * @file
 * The console on standard input and output. On a terminal: prompt, line editing,
 * history, TAB and `?` for completion, Ctrl-C to abandon a line or cut a long
 * answer short, Ctrl-D to end; lines of at most 511 bytes. Otherwise plain lines,
 * neither prompt nor echo, and errors on standard error. Control thread only.
 *
 * It never waits: a long answer leaves as fast as standard output takes it, and
 * the control thread does its other work meanwhile.
 */

#include "base.h"
#include "console.h"
#include "loop.h"

struct terminal;

/**
 * Put a terminal into raw mode (restored by terminal_close() and at exit) and start
 * reading. SIGPIPE, SIGTTIN and SIGTTOU are ignored from here until terminal_close():
 * in the background it waits to be brought to the front. on_eof(arg) is called once,
 * when everything typed before the end of input has been carried out; it may close the
 * terminal. There can be one terminal. NULL with err filled.
 */
struct terminal *terminal_open(struct loop *loop, struct console *console,
			       void (*on_eof)(void *arg), void *arg, struct err *err);
/** Write out what a finished command said and give the terminal back. Not from inside a
 * command. NULL does nothing. */
void terminal_close(struct terminal *terminal);

#endif
