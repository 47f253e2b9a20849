/* SPDX-License-Identifier: BSD-3-Clause */
/** @file xdp set, off, show: the packet verdict of a port. */

#include <errno.h>
#include <stdlib.h>

#include "console.h"
#include "port.h"
#include "verdict.h"

static struct port *
parse_port(struct call *call, const char *command)
{
	const char *word;

	call_accept(call, "dev", 3);
	word = call_value(call, command, "a port");
	return word != NULL ? port_find(word, call->err) : NULL;
}

/* --- xdp set -------------------------------------------------------------------------- */

/* "1,2,3": written into lcores; how many, or -EINVAL. */
static int
parse_lcores(struct call *call, unsigned lcores[RTE_MAX_LCORE])
{
	char *word = call_value(call, "redirect cpu", "a list of lcores, as in 1,2"), *rest;
	unsigned n = 0;

	if (word == NULL)
		return -EINVAL;
	for (char *one = strtok_r(word, ",", &rest); one != NULL;
	     one = strtok_r(NULL, ",", &rest)) {
		uint64_t lcore;

		if (number_parse(one, 0, RTE_MAX_LCORE - 1, &lcore) < 0 || n == RTE_MAX_LCORE)
			return err_set(call->err, EINVAL, "redirect cpu: '%.20s' is no lcore", one);
		lcores[n++] = (unsigned)lcore;
	}
	if (n == 0)
		return err_set(call->err, EINVAL, "redirect cpu: a list of lcores is missing");
	return (int)n;
}

static int
parse_cpu(struct call *call, struct verdict *verdict)
{
	unsigned lcores[RTE_MAX_LCORE];
	enum spread_by by = SPREAD_OUTER;
	int n = parse_lcores(call, lcores);

	if (n < 0)
		return n;
	if (call_accept(call, "hash", 1)) {
		const char *word = call_value(call, "hash", "outer, inner or rr");

		if (word == NULL)
			return -EINVAL;
		if (spread_by_parse(word, &by) != 0)
			return err_set(call->err, EINVAL, "hash: '%.20s' is not outer, inner or rr",
				       word);
	}
	if (call_end(call) < 0)
		return -EINVAL;
	verdict->kind = VERDICT_CPU;
	return spread_set(&verdict->spread, lcores, (unsigned)n, by, call->err);
}

static int
parse_redirect(struct call *call, struct verdict *verdict)
{
	const struct port *to;

	if (call_accept(call, "cpu", 1))
		return parse_cpu(call, verdict);
	if (!call_accept(call, "dev", 1))
		return err_set(call->err, EINVAL, "redirect: where to? dev PORT, or cpu LCORE,...");
	to = parse_port(call, "redirect dev");
	if (to == NULL)
		return -ENODEV;
	verdict->kind = VERDICT_REDIRECT;
	verdict->port = to->id;
	return call_end(call);
}

/* obj FILE section NAME */
static int
parse_program(struct call *call, struct verdict *verdict)
{
	const char *path = call_value(call, "obj", "an object file"), *section;

	if (path == NULL)
		return -EINVAL;
	if (!call_accept(call, "section", 3))
		return err_set(call->err, EINVAL, "obj: which program of it? section NAME");
	section = call_value(call, "section", "a name");
	if (section == NULL || call_end(call) < 0)
		return -EINVAL;
	return verdict_load(verdict, path, section, call->err);
}

static int
parse_verdict(struct call *call, struct verdict *verdict)
{
	const char *word;

	if (call_accept(call, "redirect", 1))
		return parse_redirect(call, verdict);
	if (call_accept(call, "obj", 1))
		return parse_program(call, verdict);
	word = call_value(call, "xdp set", "a verdict: pass, drop, tx, redirect or obj");
	if (word == NULL)
		return -EINVAL;
	if (word_matches(word, "pass", 1))
		verdict->kind = VERDICT_PASS;
	else if (word_matches(word, "drop", 1))
		verdict->kind = VERDICT_DROP;
	else if (word_matches(word, "tx", 1))
		verdict->kind = VERDICT_TX;
	else
		return err_set(call->err, EINVAL, "'%.20s' is not pass, drop, tx, redirect or obj",
			       word);
	return call_end(call);
}

static int
xdp_set(struct call *call)
{
	struct verdict verdict = {0};
	struct port *port = parse_port(call, "xdp set dev");
	int rc;

	if (port == NULL)
		return -ENODEV;
	rc = parse_verdict(call, &verdict);
	if (rc != 0)
		return rc;
	rc = verdict_set(port, &verdict, call->err);
	if (rc != 0)
		program_free(verdict.program);
	return rc;
}

static int
xdp_off(struct call *call)
{
	struct port *port = parse_port(call, "xdp off dev");
	int rc;

	if (port == NULL)
		return -ENODEV;
	rc = call_end(call);
	return rc != 0 ? rc : verdict_set(port, NULL, call->err);
}

/* --- xdp show -------------------------------------------------------------------------- */

/* What a program has said so far, and counted for itself. */
static void
show_program(struct out *out, const struct program *program)
{
	const char *engine = program_is_native(program) ? "jit" : "interpreter";
	struct program_counts counts;

	program_counts(program, &counts);
	out_json_object(out, "program");
	out_json_string(out, "object", program_path(program));
	out_json_string(out, "section", program_section(program));
	out_json_string(out, "engine", engine);
	out_json_uint(out, "instructions", program_instructions(program));
	out_text(out, "    program: %u instructions, %s\n   ", program_instructions(program),
		 engine);
	for (unsigned code = 0; code < PROGRAM_CODES; code++) {
		out_json_uint(out, program_code_name(code), counts.codes[code]);
		out_text(out, " %s %lu", program_code_name(code), counts.codes[code]);
	}
	out_json_uint(out, "invalid", counts.invalid);
	out_json_uint(out, "copies", counts.copies);
	out_text(out, " invalid %lu copies %lu\n    counters", counts.invalid, counts.copies);
	out_json_array(out, "counters");
	for (unsigned k = 0; k < NOREF_COUNTERS; k++) {
		out_json_uint(out, NULL, counts.counters[k]);
		out_text(out, " %lu", counts.counters[k]);
	}
	out_text(out, "\n");
	out_json_end(out);
	out_json_end(out);
}

static void
show_port(struct out *out, const struct port *port)
{
	static const char *const keys[VERDICT_KINDS] = {
		[VERDICT_PASS] = "pass",
		[VERDICT_DROP] = "drop",
		[VERDICT_TX] = "tx",
		[VERDICT_REDIRECT] = "redirect",
		[VERDICT_CPU] = "redirect_cpu",
		[VERDICT_PROGRAM] = "obj",
	};
	struct verdict_counters counters;
	char text[VERDICT_TEXT] = "off";

	if (port->verdict != NULL)
		verdict_format(port->verdict, text);
	verdict_counters_sum(port->id, &counters);
	out_json_object(out, NULL);
	out_json_uint(out, "port", port->id);
	out_json_string(out, "name", port->name);
	out_json_string(out, "verdict", text);
	out_text(out, "port %u %s: %s\n   ", port->id, port->name, text);
	for (unsigned k = 0; k < VERDICT_KINDS; k++) {
		out_json_uint(out, keys[k], counters.packets[k]);
		out_text(out, " %s %lu", verdict_name((enum verdict_kind)k), counters.packets[k]);
	}
	out_text(out, "\n");
	if (port->verdict != NULL && port->verdict->kind == VERDICT_PROGRAM)
		show_program(out, port->verdict->program);
	out_json_end(out);
}

static int
xdp_show(struct call *call)
{
	const struct port *port;
	int rc = call_end(call);

	if (rc != 0)
		return rc;
	out_json_array(call->out, NULL);
	PORT_FOREACH(port)
		show_port(call->out, port);
	out_json_end(call->out);
	return 0;
}

static const struct command commands[] = {
	{"xdp set [dev] PORT {pass|drop|tx}",
	 "what becomes of each packet of a port, before all else", xdp_set,
	 "pass: it goes its way, and is counted in xdp show\n"
	 "drop: counted as xdp_drop\n"
	 "tx:   MAC addresses swapped, back out of the port it came in on\n"},
	{"xdp set [dev] PORT redirect dev PORT", "send each packet of a port out of another", NULL,
	 "As it is, link header included. What is larger than the other port's MTU is dropped.\n"},
	{"xdp set [dev] PORT redirect cpu LCORE[,LCORE...] [hash {outer|inner|rr}]",
	 "hand each packet of a port to workers on these lcores", NULL,
	 "They go on with it as if they had received it. hash outer keeps a flow, as its outermost\n"
	 "headers tell, with one worker; inner looks inside tunnels for the flow; rr takes turns.\n"
	 "What a worker cannot keep up with is dropped: redirect_full.\n"},
	{"xdp set [dev] PORT obj FILE section NAME",
	 "ask a program what becomes of each packet of a port", NULL,
	 "FILE is an object clang compiled for eBPF, NAME a program in it (section noref/NAME). How to\n"
	 "write one: noref_xdp.h. It is trusted: what it does wrong, noref does wrong.\n"},
	{"xdp off [dev] PORT", "take the verdict off a port", xdp_off, NULL},
	{"xdp show", "verdicts of the ports, and packets each was given", xdp_show, NULL},
};

void
xdp_commands_register(struct console *console)
{
	console_register(console, commands, RTE_DIM(commands));
}
