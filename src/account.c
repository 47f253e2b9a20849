/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * `set account on`: what each stage of the journey costs, for `show lcore`.
 */

#include "account.h"

static const char *const stage_names[STAGE_COUNT] = {
	[STAGE_RECEIVE] = "receive",   [STAGE_ACTIONS] = "actions", [STAGE_PARSE] = "parse",
	[STAGE_SID] = "sid",	       [STAGE_LOOKUP] = "lookup",   [STAGE_REWRITE] = "rewrite",
	[STAGE_TRANSMIT] = "transmit",
};

static bool wanted;

void
account_switch(struct worker *w)
{
	w->account = !w->account;
	if (!w->account)
		return;
	memset(w->stage_cycles, 0, sizeof(w->stage_cycles));
	w->stage_packets = 0;
	w->stage_mark = rte_rdtsc();
}

void
account_show(struct out *out)
{
	if (!wanted)
		return;
	out_text(out, "\ncycles per packet, stage by stage\nlcore");
	for (unsigned s = 0; s < STAGE_COUNT; s++)
		out_text(out, "  %8s", stage_names[s]);
	out_text(out, "\n");
	for (unsigned id = 0; id < workers_count(); id++) {
		const struct worker *w = worker_at(id);

		out_text(out, "%5u", w->lcore);
		for (unsigned s = 0; s < STAGE_COUNT; s++)
			out_text(out, "  %8.1f", account_cycles(w, (enum stage)s));
		out_text(out, "\n");
	}
}

void
account_show_json(struct out *out, const struct worker *w)
{
	if (!wanted)
		return;
	out_json_object(out, "stages");
	for (unsigned s = 0; s < STAGE_COUNT; s++)
		out_json_double(out, stage_names[s], account_cycles(w, (enum stage)s), 1);
	out_json_end(out);
}

static int
cmd_set_account(struct call *call, bool on)
{
	int rc = call_end(call);

	if (rc != 0)
		return rc;
	wanted = on;
	for (unsigned id = 0; id < workers_count(); id++)
		__atomic_store_n(&worker_at(id)->account_wanted, on, __ATOMIC_RELAXED);
	return 0;
}

static int
cmd_account_on(struct call *call)
{
	return cmd_set_account(call, true);
}

static int
cmd_account_off(struct call *call)
{
	return cmd_set_account(call, false);
}

void
account_commands_register(struct console *console)
{
	static const struct command commands[] = {
		{"set account on", "count the cycles of each stage, for `show lcore`",
		 cmd_account_on, NULL},
		{"set account off", "count them no longer", cmd_account_off, NULL},
	};

	console_register(console, commands, RTE_DIM(commands));
}
