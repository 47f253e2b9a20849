/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CONTROL_H
#define CONTROL_H

/** @file The control thread: what it waits for, and when it leaves. */

#include <stdbool.h>

#include "console.h"
#include "loop.h"
#include "options.h"

/** Workers wake it through loop_wake(). */
extern struct loop *control_loop;

/** Timers and wake-ups as the options ask. */
int control_init(const struct options *options, struct console *console, struct err *err);
/** Until somebody asks to quit. */
void control_run(void);
/** Leave control_run() soon. */
void control_quit(void);
void control_fini(void);

/** start, stop, quit, show drops|balance|lcore|version|config, clear drops, save. */
void show_commands_register(struct console *console);
/** `show drops` on stdout. */
void drops_print(struct console *console);

#endif
