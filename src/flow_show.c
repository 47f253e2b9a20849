/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flow list, flow query, and what show config says of rules.
 */
#include "flow_show.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

const char *
flow_where(const struct flow *flow)
{
	bool hardware = flow_in_hardware(flow);

	if (flow->software != NULL)
		return hardware ? "in_hw, in_sw" : "in_sw";
	return hardware ? "in_hw" : "nowhere";
}

/* --- list ---------------------------------------------------------------------------- */

struct list {
	char word[FLOW_BLOCK_NAME + RTE_ETH_NAME_MAX_LEN];
	uint32_t next; /* number of the rule to come */
	bool end, uncounted, partly;
	struct out *scratch; /* words of a rule */
};

static void
list_free(void *state)
{
	struct list *list = state;

	out_destroy(list->scratch);
	free(list);
}

static const char *
scratch_text(struct out *scratch)
{
	size_t size;

	out_append(scratch, "", 1);
	return out_data(scratch, &size);
}

static void
scratch_clear(struct out *scratch)
{
	out_consume(scratch, out_pending(scratch));
}

static void
list_json(struct out *out, struct out *scratch, const struct flow *flow,
	  const struct flow_counts *counts)
{
	static const char *const placements[] = {
		[FLOW_ANYWHERE] = "none", [FLOW_SKIP_HW] = "skip_hw", [FLOW_SKIP_SW] = "skip_sw"};

	out_json_object(out, NULL);
	out_json_uint(out, "rule", flow->id);
	out_json_uint(out, "group", flow->line.rule.group);
	out_json_uint(out, "priority", flow->line.rule.priority);
	out_json_string(out, "placement", placements[flow->line.placement]);
	out_json_bool(out, "in_hw", flow_in_hardware(flow));
	out_json_array(out, "in_hw_ports");
	for (unsigned p = 0; p < flow->set->port_count; p++) {
		for (const struct flow_place *at = flow->places; at != NULL; at = at->next) {
			if (at->port == flow->set->ports[p])
				out_json_uint(out, NULL, at->port->id);
		}
	}
	out_json_end(out);
	out_json_bool(out, "in_sw", flow->software != NULL);
	out_json_uint(out, "packets", counts->packets);
	out_json_uint(out, "bytes", counts->bytes);
	/* Did hardware possibly act on packets that are not in these numbers? */
	out_json_bool(out, "hw_uncounted", counts->uncounted);
	flow_pattern_text(scratch, &flow->line.rule);
	out_json_string(out, "pattern", scratch_text(scratch));
	scratch_clear(scratch);
	flow_actions_text(scratch, &flow->line);
	out_json_string(out, "actions", scratch_text(scratch));
	scratch_clear(scratch);
	out_json_end(out);
}

static void
list_text(struct list *list, struct out *out, const struct flow *flow,
	  const struct flow_counts *counts)
{
	char packets[32], bytes[32];
	bool none = counts->uncounted && flow->software == NULL;

	snprintf(packets, sizeof(packets), "%lu%s", counts->packets, counts->uncounted ? "+" : "");
	snprintf(bytes, sizeof(bytes), "%lu%s", counts->bytes, counts->uncounted ? "+" : "");
	list->uncounted |= none;
	list->partly |= counts->uncounted && !none;
	out_text(out, "%-6u %-6u %-8u %-13s %12s %14s  ", flow->id, flow->line.rule.group,
		 flow->line.rule.priority, flow_where(flow), none ? "-" : packets,
		 none ? "-" : bytes);
	flow_pattern_text(out, &flow->line.rule);
	out_text(out, " => ");
	flow_actions_text(out, &flow->line);
	out_text(out, "\n");
}

static void
list_end(const struct list *list, struct out *out)
{
	if (list->uncounted)
		out_text(out, "-: the device does not count what it does by this rule\n");
	if (list->partly)
		out_text(out,
			 "+: packets the device has dropped or sent by this rule, which it does "
			 "not count, come on top\n");
	out_json_end(out);
}

static int
list_more(struct call *call)
{
	struct list *list = call->state;
	/* It may have gone meanwhile. */
	struct flow_set *set = flow_set_find(list->word, true, NULL);

	for (unsigned i = set != NULL ? flow_position(set, list->next) : 0;
	     set != NULL && i < set->count; i++) {
		struct flow_counts counts;

		if (out_full(call->out))
			return CALL_MORE;
		flow_count(set->flows[i], &counts);
		if (out_is_json(call->out))
			list_json(call->out, list->scratch, set->flows[i], &counts);
		else
			list_text(list, call->out, set->flows[i], &counts);
		list->next = set->flows[i]->id + 1;
	}
	list_end(list, call->out);
	return 0;
}

int
flow_list(struct call *call, const char *word)
{
	const struct flow_set *set = flow_set_find(word, true, call->err);
	struct list *list;

	if (set == NULL)
		return -ENODEV;
	list = calloc(1, sizeof(*list));
	if (list == NULL)
		return err_set(call->err, ENOMEM, "no memory");
	call->state = list;
	call->free_state = list_free;
	call->more = list_more;
	list->scratch = out_create(false);
	if (list->scratch == NULL)
		return err_set(call->err, ENOMEM, "no memory");
	snprintf(list->word, sizeof(list->word), "%s", word);
	out_json_array(call->out, NULL);
	if (set->name[0] != '\0')
		out_text(call->out, "block %s\n", set->name);
	out_text(call->out, "%-6s %-6s %-8s %-13s %12s %14s  %s\n", "rule", "group", "priority",
		 "where", "packets", "bytes", "pattern => actions");
	return list_more(call);
}

/* --- query -------------------------------------------------------------------------------- */

void
flow_query(struct out *out, const struct flow *flow)
{
	struct flow_counts counts;

	flow_count(flow, &counts);
	out_json_object(out, NULL);
	out_json_uint(out, "rule", flow->id);
	out_json_bool(out, "in_hw", flow_in_hardware(flow));
	out_json_bool(out, "in_sw", flow->software != NULL);
	out_json_uint(out, "packets", counts.packets);
	out_json_uint(out, "bytes", counts.bytes);
	out_json_bool(out, "hw_uncounted", counts.uncounted);
	out_json_end(out);
	out_text(out, "rule #%u (%s)\n  packets %lu\n  bytes %lu\n", flow->id, flow_where(flow),
		 counts.packets, counts.bytes);
	if (counts.uncounted)
		out_text(out, "  %s: the device does not count\n",
			 flow->software != NULL ? "without what hardware did" : "not known");
}

/* --- show config ---------------------------------------------------------------------------- */

static void
block_line(const struct flow_set *set, struct out *line)
{
	out_text(line, "flow block %s ports ", set->name);
	for (unsigned p = 0; p < set->port_count; p++)
		out_text(line, "%s%u", p > 0 ? "," : "", set->ports[p]->id);
}

static void
rule_line(const struct flow *flow, struct out *line)
{
	const struct flow_set *set = flow->set;
	bool runs = true;

	for (unsigned p = 0; p < set->port_count; p++)
		runs &= set->ports[p]->started;
	/* What a device refuses now would end the start-up that reads this. */
	if (flow->line.placement == FLOW_SKIP_SW && runs && !flow_in_hardware(flow))
		out_text(line, "# not in hardware at present: ");
	if (set->name[0] != '\0')
		out_text(line, "flow create %s ", set->name);
	else
		out_text(line, "flow create %u ", set->ports[0]->id);
	flow_line_text(line, &flow->line);
}

/* The set the walk is at may be a block that has been deleted since. */
static bool
is_gone(const struct flow_set *set)
{
	const struct flow_set *block = flow_blocks();

	if (set == NULL || flow_set_is_own(set))
		return false;
	while (block != NULL && block != set)
		block = block->next;
	return block == NULL;
}

bool
flow_config_line(struct flow_config *at, struct out *line)
{
	if (at->set == NULL && !at->begun)
		at->set = flow_set_next(NULL);
	at->begun = true;
	if (is_gone(at->set))
		at->set = NULL;
	for (; at->set != NULL; at->set = flow_set_next(at->set)) {
		unsigned i = flow_position(at->set, at->next);

		if (!at->named) {
			at->named = true;
			if (at->set->name[0] != '\0') {
				block_line(at->set, line);
				return true;
			}
		}
		if (i < at->set->count) {
			at->next = at->set->flows[i]->id + 1;
			rule_line(at->set->flows[i], line);
			return true;
		}
		at->named = false;
		at->next = 0;
	}
	return false;
}
