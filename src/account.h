/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ACCOUNT_H
#define ACCOUNT_H

/**
 * @file
 * The account of stages: TSC cycles per packet of receive, actions (verdicts, rules, sockets),
 * parse, SID, lookup, rewrite and transmit, while `set account on`.
 *
 * Stages can only be told apart when a burst takes them one after the other, so
 * with the account on express.h's short way is closed, and packets cost more:
 * shares are what to read. Off, it costs a test per burst and stage.
 */

#include <rte_cycles.h>

#include "console.h"
#include "datapath.h"
#include "out.h"
#include "worker_private.h"

/** Do as account_wanted says, from zero. For the worker, between two loops. */
void account_switch(struct worker *w);

static inline void
account_poll(struct worker *w)
{
	if (unlikely(w->account != __atomic_load_n(&w->account_wanted, __ATOMIC_RELAXED)))
		account_switch(w);
}

/** Cycles per packet of a stage since the account was switched on. Any thread; what is read while
 * the worker counts is a moment old. */
static inline double
account_cycles(const struct worker *w, enum stage stage)
{
	return w->stage_packets == 0 ? 0
				     : (double)w->stage_cycles[stage] / (double)w->stage_packets;
}

/* --- control thread ------------------------------------------------------------- */

/** Behind `show lcore`, if it is on: a table; for each worker an object "stages". */
void account_show(struct out *out);
void account_show_json(struct out *out, const struct worker *w);
void account_commands_register(struct console *console);

#endif
