/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flow create, validate, destroy, flush, list, query, block: testpmd's words, and a few.
 */
#include <errno.h>

#include "flow_commands.h"
#include "flow_show.h"

/* Take "P": a port, or a block. */
static struct flow_set *
take_set(struct call *call, bool shared)
{
	const char *word = call_next(call);

	if (word != NULL)
		return flow_set_find(word, shared, call->err);
	err_set(call->err, EINVAL, "a port or a block is missing");
	return NULL;
}

static int
validate(struct call *call)
{
	struct flow_set *set = take_set(call, false);
	struct flow_line line;
	int rc;

	if (set == NULL)
		return -ENODEV;
	rc = flow_parse(call, &line);
	if (rc == 0)
		rc = flow_validate(set, &line, call->err);
	if (rc == 0)
		out_text(call->out, "Flow rule validated\n");
	return rc;
}

static int
create(struct call *call)
{
	struct flow_set *set = take_set(call, false);
	struct out *notes;
	struct flow_line line;
	struct flow *flow;
	const char *text;
	size_t size;
	int rc;

	if (set == NULL)
		return -ENODEV;
	rc = flow_parse(call, &line);
	if (rc < 0)
		return rc;
	notes = out_create(false);
	if (notes == NULL)
		return err_set(call->err, ENOMEM, "no memory");
	rc = flow_create(set, &line, &flow, notes, call->err);
	if (rc == 0) {
		text = out_data(notes, &size);
		out_json_object(call->out, NULL);
		out_json_uint(call->out, "rule", flow->id);
		out_json_bool(call->out, "in_hw", flow_in_hardware(flow));
		out_json_bool(call->out, "in_sw", flow->software != NULL);
		out_json_end(call->out);
		out_text(call->out, "Flow rule #%u created (%s)\n%.*s", flow->id, flow_where(flow),
			 (int)size, text);
		flow_remarks(call->out);
	}
	out_destroy(notes);
	return rc;
}

/* Take "RULE" and find it. */
static struct flow *
take_flow(struct call *call, struct flow_set *set)
{
	struct flow *flow;
	uint64_t id;
	const char *word = call_next(call);

	if (word == NULL || number_parse(word, 0, UINT32_MAX, &id) < 0) {
		err_set(call->err, EINVAL, "'%.40s' is not a rule's number",
			word != NULL ? word : "");
		return NULL;
	}
	flow = flow_find(set, (uint32_t)id);
	if (flow == NULL)
		err_set(call->err, ENOENT, "rule #%s: there is none", word);
	return flow;
}

static int
destroy(struct call *call)
{
	struct flow *flows[CONSOLE_MAX_WORDS / 2];
	struct flow_set *set = take_set(call, false);
	unsigned n = 0;

	if (set == NULL)
		return -ENODEV;
	/* All of them are there, or none is destroyed. */
	do {
		if (!call_accept(call, "rule", 4))
			return err_set(call->err, EINVAL, "rule N is missing");
		flows[n] = take_flow(call, set);
		if (flows[n] == NULL)
			return -ENOENT;
		for (unsigned i = 0; i < n; i++) {
			if (flows[i] == flows[n])
				return err_set(call->err, EINVAL, "rule #%u twice", flows[n]->id);
		}
		n++;
	} while (call_peek(call) != NULL);
	for (unsigned i = 0; i < n; i++)
		out_text(call->out, "Flow rule #%u destroyed\n", flows[i]->id);
	flow_destroy(set, flows, n);
	flow_remarks(call->out);
	return 0;
}

static int
flush(struct call *call)
{
	struct flow_set *set = take_set(call, false);

	if (set == NULL || call_end(call) < 0)
		return -EINVAL;
	flow_flush(set);
	flow_remarks(call->out);
	return 0;
}

static int
list(struct call *call)
{
	const char *word = call_next(call);

	if (word == NULL)
		return err_set(call->err, EINVAL, "a port or a block is missing");
	if (call_end(call) < 0)
		return -EINVAL;
	return flow_list(call, word);
}

static int
query(struct call *call)
{
	struct flow_set *set = take_set(call, true);
	const struct flow *flow = set != NULL ? take_flow(call, set) : NULL;

	if (flow == NULL)
		return -ENOENT;
	if (call_peek(call) != NULL && !call_accept(call, "count", 5))
		return err_set(call->err, EINVAL, "unexpected '%.40s'; there is count",
			       call_peek(call));
	if (call_end(call) < 0)
		return -EINVAL;
	flow_query(call->out, flow);
	return 0;
}

/* --- blocks ------------------------------------------------------------------------------- */

static int
show_blocks(struct call *call)
{
	if (call_end(call) < 0)
		return -EINVAL;
	out_json_array(call->out, NULL);
	for (const struct flow_set *set = flow_blocks(); set != NULL; set = set->next) {
		out_json_object(call->out, NULL);
		out_json_string(call->out, "block", set->name);
		out_json_array(call->out, "ports");
		out_text(call->out, "%s: ports ", set->name);
		for (unsigned p = 0; p < set->port_count; p++) {
			out_json_uint(call->out, NULL, set->ports[p]->id);
			out_text(call->out, "%s%u", p > 0 ? "," : "", set->ports[p]->id);
		}
		out_json_end(call->out);
		out_json_uint(call->out, "rules", set->count);
		out_json_end(call->out);
		out_text(call->out, ", %u rules\n", set->count);
	}
	out_json_end(call->out);
	return 0;
}

static int
delete_block(struct call *call)
{
	const char *name = call_next(call);
	int rc;

	if (name == NULL)
		return err_set(call->err, EINVAL, "a block's name is missing");
	rc = call_end(call);
	if (rc == 0)
		rc = flow_block_delete(name, call->err);
	flow_remarks(call->out);
	return rc;
}

/* "0,1,net_pcap2" */
static int
take_ports(struct call *call, struct port *list_of[RTE_MAX_ETHPORTS], unsigned *count)
{
	char *rest = call_value(call, "ports", "P,Q"), *word;

	*count = 0;
	if (rest == NULL)
		return -EINVAL;
	while ((word = strsep(&rest, ",")) != NULL) {
		struct port *port = port_find(word, call->err);

		if (port == NULL)
			return -ENODEV;
		for (unsigned p = 0; p < *count; p++) {
			if (list_of[p] == port)
				return err_set(call->err, EINVAL, "ports: %u twice", port->id);
		}
		list_of[(*count)++] = port;
	}
	return 0;
}

static int
make_block(struct call *call)
{
	struct port *ports_of_it[RTE_MAX_ETHPORTS];
	const char *name = call_next(call);
	unsigned count;
	int rc;

	if (name == NULL)
		return show_blocks(call);
	if (!call_accept(call, "ports", 5))
		return err_set(call->err, EINVAL, "block %.40s: ports P,Q is missing", name);
	rc = take_ports(call, ports_of_it, &count);
	if (rc == 0)
		rc = call_end(call);
	if (rc == 0)
		rc = flow_block_set(name, ports_of_it, count, call->err);
	flow_remarks(call->out);
	return rc;
}

/* --- completion ------------------------------------------------------------------------------ */

static void
complete_block(void *ctx, void (*add)(void *arg, const char *word), void *arg)
{
	(void)ctx;
	for (const struct flow_set *set = flow_blocks(); set != NULL; set = set->next)
		add(arg, set->name);
}

#define RULE_SYNTAX                                                                                \
	" {PORT|BLOCK} [priority N] [group N] [ingress] [transfer] [skip_sw|skip_hw] "             \
	"pattern [ITEM /]... end actions [ACTION /]... end"

static const struct command commands[] = {
	{"flow create" RULE_SYNTAX, "give a port, or the ports of a block, a flow rule", create,
	 "Lower priorities come first, of equal ones the older rule. A second ipv4 or ipv6 is the\n"
	 "tunnelled header. At most one action decides: drop, accept, queue, lcore, represented_port,\n"
	 "jump; none, or passthru: later rules are asked. in_hw and in_sw say where the rule is;\n"
	 "skip_sw: in hardware or not at all, skip_hw: in software."},
	{"flow validate" RULE_SYNTAX, "would the rule be taken?", validate, NULL},
	{"flow destroy {PORT|BLOCK} rule N [rule N]...", "take rules away", destroy, NULL},
	{"flow flush {PORT|BLOCK}", "take all its rules away", flush, NULL},
	{"flow list {PORT|BLOCK}", "rules, where they are, and what they have matched", list, NULL},
	{"flow query {PORT|BLOCK} RULE [count]", "packets and bytes of one rule", query, NULL},
	{"flow block NAME ports PORT[,PORT...]",
	 "let ports share one set of rules, or change which ones do", make_block,
	 "From then on the block's name stands where a port would in flow commands. A port has rules\n"
	 "of its own or a block's, not both."},
	{"flow block del BLOCK", "delete a block and its rules", delete_block, NULL},
	{"flow block show", "blocks and their ports", show_blocks, NULL},
};

void
flow_commands_register(struct console *console)
{
	flow_define_words(console);
	console_placeholder(console, "BLOCK", complete_block);
	console_register(console, commands, RTE_DIM(commands));
}
