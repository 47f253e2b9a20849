/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Commands about the program as a whole: start, stop, quit, its accounts, its configuration.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_version.h>

#include "account.h"
#include "control.h"
#include "net.h"
#include "version.h"
#include "worker_private.h"

static int
cmd_start(struct call *call)
{
	int rc = call_end(call);

	if (rc == 0 && workers_running())
		return err_set(call->err, EALREADY, "forwarding is running already");
	if (rc == 0)
		workers_start();
	return rc;
}

static int
cmd_stop(struct call *call)
{
	int rc = call_end(call);

	if (rc == 0 && !workers_running())
		return err_set(call->err, EALREADY, "forwarding is stopped already");
	if (rc == 0)
		workers_stop();
	return rc;
}

static int
cmd_quit(struct call *call)
{
	int rc = call_end(call);

	if (rc == 0)
		control_quit();
	return rc;
}

static int
show_version(struct call *call)
{
	int rc = call_end(call);

	if (rc != 0)
		return rc;
	out_text(call->out, "noref " NOREF_VERSION ", %s, built for %s\n", rte_version(),
		 NOREF_CPU);
	out_json_object(call->out, NULL);
	out_json_string(call->out, "version", NOREF_VERSION);
	out_json_string(call->out, "dpdk", rte_version());
	out_json_string(call->out, "cpu", NOREF_CPU);
	out_json_end(call->out);
	return 0;
}

/* --- accounts ------------------------------------------------------------------------ */

static int
show_drops(struct call *call)
{
	uint64_t drops[DROP_REASON_COUNT];
	bool any = false;
	int rc = call_end(call);

	if (rc != 0)
		return rc;
	drops_since_clear(drops);
	out_json_object(call->out, NULL);
	for (unsigned i = 0; i < DROP_REASON_COUNT; i++) {
		if (drops[i] == 0)
			continue;
		any = true;
		out_json_uint(call->out, drop_name((enum drop_reason)i), drops[i]);
		out_text(call->out, "%12lu  %-18s %s\n", drops[i], drop_name((enum drop_reason)i),
			 drop_text((enum drop_reason)i));
	}
	out_json_end(call->out);
	if (!any)
		out_text(call->out, "no drops\n");
	return 0;
}

static int
clear_drops(struct call *call)
{
	int rc = call_end(call);

	if (rc == 0)
		drops_clear();
	return rc;
}

static int
show_balance(struct call *call)
{
	struct stats sum;
	uint64_t dropped;
	int64_t held, missing;
	int rc = call_end(call);

	if (rc != 0)
		return rc;
	counters_sum(&sum);
	dropped = stats_dropped(&sum);
	held = sum.holding + (int64_t)(sum.handed - sum.taken);
	missing = (int64_t)(sum.received + sum.originated - sum.transmitted - sum.delivered -
			    dropped) -
		  held;
	out_json_object(call->out, NULL);
	out_json_uint(call->out, "received", sum.received);
	out_json_uint(call->out, "originated", sum.originated);
	out_json_uint(call->out, "transmitted", sum.transmitted);
	out_json_uint(call->out, "delivered", sum.delivered);
	out_json_uint(call->out, "dropped", dropped);
	out_json_int(call->out, "held", held);
	out_json_end(call->out);
	out_text(call->out,
		 "received    %12lu    transmitted %12lu\n"
		 "originated  %12lu    delivered   %12lu\n"
		 "                            dropped     %12lu\n"
		 "                            held        %12ld\n",
		 sum.received, sum.transmitted, sum.originated, sum.delivered, dropped, held);
	if (missing != 0)
		out_text(call->out, "OUT OF BALANCE by %ld: please report this\n", missing);
	return 0;
}

/* --- workers ------------------------------------------------------------------------- */

static void
show_queues(struct out *out, const struct worker *w)
{
	const struct poll_list *poll = w->poll;

	out_json_array(out, "queues");
	for (unsigned q = 0; poll != NULL && q < poll->rx_count; q++) {
		out_json_array(out, NULL);
		out_json_uint(out, NULL, poll->rx[q].port->id);
		out_json_uint(out, NULL, poll->rx[q].queue);
		out_json_end(out);
		out_text(out, "%s%u.%u", q == 0 ? "" : " ", poll->rx[q].port->id,
			 poll->rx[q].queue);
	}
	out_json_end(out);
}

static void
show_worker(struct out *out, const struct worker *w)
{
	const struct stats *stats = w->launched ? &w->snapshot : &w->stats;
	uint64_t handled = stats->received + w->resumed;
	double packets = (double)handled;
	double per_packet = packets == 0 ? 0 : (double)w->busy_cycles / packets;
	double busy =
		w->loop_cycles == 0 ? 0 : 100.0 * (double)w->busy_cycles / (double)w->loop_cycles;

	out_json_object(out, NULL);
	out_json_uint(out, "lcore", w->lcore);
	out_text(out, "%5u  %14lu  %12lu  %8.1f  %6.1f  ", w->lcore, handled, stats_dropped(stats),
		 per_packet, busy);
	show_queues(out, w);
	out_text(out, "\n");
	out_json_uint(out, "packets", handled);
	out_json_uint(out, "drops", stats_dropped(stats));
	out_json_double(out, "cycles_per_packet", per_packet, 1);
	out_json_double(out, "busy_percent", busy, 1);
	account_show_json(out, w);
	out_json_end(out);
}

static int
show_lcore(struct call *call)
{
	struct stats sum;
	int rc = call_end(call);

	if (rc != 0)
		return rc;
	counters_sum(&sum); /* has every worker take a snapshot */
	out_text(call->out, "lcore         packets         drops  cyc/pkt   busy%%  queues\n");
	out_json_array(call->out, NULL);
	for (unsigned id = 0; id < workers_count(); id++)
		show_worker(call->out, worker_at(id));
	out_json_end(call->out);
	account_show(call->out);
	return 0;
}

/* --- configuration --------------------------------------------------------------------- */

static int
show_config(struct call *call)
{
	int rc = call_end(call);

	return rc != 0 ? rc : net_show_config(call);
}

static void
write_file(void *arg, const char *data, size_t size)
{
	fwrite(data, 1, size, arg);
}

/* Through a temporary file and a rename: a reader finds the old file or the
 * whole new one. */
static int
cmd_save(struct call *call)
{
	const char *path = call_next(call);
	char temporary[4096];
	FILE *file;
	int rc;

	if (path == NULL)
		return err_set(call->err, EINVAL, "save: a file name is missing");
	rc = call_end(call);
	if (rc != 0)
		return rc;
	if (snprintf(temporary, sizeof(temporary), "%s.new", path) >= (int)sizeof(temporary))
		return err_set(call->err, ENAMETOOLONG, "save: the file name is too long");
	file = fopen(temporary, "w");
	if (file == NULL)
		return err_set(call->err, errno, "%s: %s", path, strerror(errno));
	rc = console_run(call->console, "show config", false, write_file, file, call->err);
	if (rc == 0 && (fflush(file) != 0 || fsync(fileno(file)) != 0))
		rc = err_set(call->err, errno, "%s: %s", path, strerror(errno));
	fclose(file);
	if (rc == 0 && rename(temporary, path) != 0)
		rc = err_set(call->err, errno, "%s: %s", path, strerror(errno));
	if (rc != 0)
		unlink(temporary);
	return rc;
}

static void
write_stdout(void *arg, const char *data, size_t size)
{
	(void)arg;
	fwrite(data, 1, size, stdout);
}

void
drops_print(struct console *console)
{
	console_run(console, "show drops", false, write_stdout, NULL, NULL);
}

void
show_commands_register(struct console *console)
{
	static const struct command commands[] = {
		{"start", "start forwarding", cmd_start, NULL},
		{"stop", "stop forwarding; ports stay up", cmd_stop, NULL},
		{"quit", "stop everything and leave", cmd_quit, NULL},
		{"show drops", "dropped packets by reason", show_drops, NULL},
		{"clear drops", "count drops from zero", clear_drops, NULL},
		{"show balance", "received + originated = transmitted + delivered + dropped + held",
		 show_balance, NULL},
		{"show lcore",
		 "workers: queues, packets, drops, cycles per packet, busy share; "
		 "stages with `set account on`",
		 show_lcore, NULL},
		{"show version", "versions of noref and DPDK", show_version, NULL},
		{"show config", "the commands that would rebuild the present state", show_config,
		 NULL},
		{"save FILE", "write `show config` to a file", cmd_save, NULL},
	};

	console_register(console, commands, RTE_DIM(commands));
}
