/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What stands before the pattern, and what behind it: attributes and actions.
 */
#include <errno.h>

#include "internal.h"

/* Actions and what each wants to know. */
static const struct action {
	const char *name;
	enum {
		FATE,
		MARK,
		COUNT
	} kind;
	enum flow_fate fate;
	const char *keyword; /* in front of its number; NULL: it has none */
	uint32_t max;
} actions[] = {
	{"drop", FATE, FLOW_DROP, NULL, 0},
	{"passthru", FATE, FLOW_PASSTHRU, NULL, 0},
	{"accept", FATE, FLOW_ACCEPT, NULL, 0},
	{"queue", FATE, FLOW_QUEUE, "index", UINT16_MAX},
	{"lcore", FATE, FLOW_LCORE, "id", RTE_MAX_LCORE - 1},
	{"represented_port", FATE, FLOW_PORT, "ethdev_port_id", UINT16_MAX},
	{"jump", FATE, FLOW_JUMP, "group", UINT32_MAX},
	{"mark", MARK, FLOW_PASSTHRU, "id", UINT32_MAX},
	{"count", COUNT, FLOW_PASSTHRU, NULL, 0},
};

int
parse_number(struct call *call, const char *what, uint64_t max, uint64_t *value)
{
	const char *word = call_next(call);

	if (word == NULL)
		return err_set(call->err, EINVAL, "%s: a number is missing", what);
	if (number_parse(word, 0, max, value) < 0)
		return err_set(call->err, EINVAL, "%s: '%.40s' is not a number from 0 to %lu", what,
			       word, max);
	return 0;
}

static const struct action *
action_named(const char *word)
{
	for (unsigned i = 0; i < RTE_DIM(actions); i++) {
		if (strcmp(actions[i].name, word) == 0)
			return &actions[i];
	}
	return NULL;
}

/* "index 3 /", or "/" alone. */
static int
read_action(struct call *call, const struct action *action, uint32_t *number)
{
	const char *word;
	uint64_t value = 0;
	int rc;

	if (action->keyword != NULL) {
		word = call_next(call);
		if (word == NULL || strcmp(word, action->keyword) != 0)
			return err_set(call->err, EINVAL, "%s: %s N is missing", action->name,
				       action->keyword);
		rc = parse_number(call, action->name, action->max, &value);
		if (rc < 0)
			return rc;
	}
	word = call_next(call);
	if (word == NULL || strcmp(word, "/") != 0)
		return err_set(call->err, EINVAL, "actions: '/' is missing after %s", action->name);
	*number = (uint32_t)value;
	return 0;
}

static int
apply_action(struct call *call, const struct action *action, uint32_t number,
	     struct flow_line *line, const struct action **fate)
{
	bool twice = false;

	switch (action->kind) {
	case MARK:
		twice = line->rule.mark;
		line->rule.mark = true;
		line->rule.mark_id = number;
		break;
	case COUNT:
		twice = line->count;
		line->count = true;
		break;
	case FATE:
		if (*fate != NULL && *fate != action)
			return err_set(
				call->err, EINVAL,
				"actions: %s and %s: only one can decide what becomes of a packet",
				(*fate)->name, action->name);
		twice = *fate != NULL;
		*fate = action;
		line->rule.fate = action->fate;
		line->rule.target = number;
		break;
	}
	return twice ? err_set(call->err, EINVAL, "actions: %s twice", action->name) : 0;
}

int
parse_actions(struct call *call, struct flow_line *line)
{
	const struct action *action, *fate = NULL;
	uint32_t number = 0;
	const char *word;
	int rc;

	for (;;) {
		word = call_next(call);
		if (word == NULL)
			return err_set(call->err, EINVAL, "actions: end is missing");
		if (strcmp(word, "end") == 0)
			return 0;
		action = action_named(word);
		if (action == NULL)
			return err_set(
				call->err, EINVAL,
				"actions: no action '%.40s'; there are drop, passthru, accept, "
				"queue, lcore, represented_port, jump, mark, count, and end",
				word);
		rc = read_action(call, action, &number);
		if (rc == 0)
			rc = apply_action(call, action, number, line, &fate);
		if (rc < 0)
			return rc;
	}
}

/* --- attributes --------------------------------------------------------------------- */

static int
take_placement(struct call *call, enum flow_placement placement, struct flow_line *line)
{
	if (line->placement != FLOW_ANYWHERE && line->placement != placement)
		return err_set(call->err, EINVAL,
			       "skip_sw and skip_hw: then the rule would be nowhere");
	line->placement = placement;
	return 0;
}

/* Words up to `pattern`. */
static int
read_attributes(struct call *call, struct flow_line *line)
{
	uint64_t number;
	const char *word;
	int rc = 0;

	while (rc == 0) {
		word = call_next(call);
		if (word == NULL)
			return err_set(call->err, EINVAL, "pattern is missing");
		if (strcmp(word, "pattern") == 0)
			break;
		if (strcmp(word, "priority") == 0) {
			rc = parse_number(call, "priority", UINT32_MAX, &number);
			line->rule.priority = (uint32_t)number;
		} else if (strcmp(word, "group") == 0) {
			rc = parse_number(call, "group", UINT32_MAX, &number);
			line->rule.group = (uint32_t)number;
		} else if (strcmp(word, "ingress") == 0) {
			line->ingress = true;
		} else if (strcmp(word, "transfer") == 0) {
			line->transfer = true;
		} else if (strcmp(word, "skip_sw") == 0) {
			rc = take_placement(call, FLOW_SKIP_SW, line);
		} else if (strcmp(word, "skip_hw") == 0) {
			rc = take_placement(call, FLOW_SKIP_HW, line);
		} else if (strcmp(word, "egress") == 0) {
			rc = err_set(
				call->err, EOPNOTSUPP,
				"egress: not supported, rules are about packets that are received");
		} else {
			rc = err_set(call->err, EINVAL,
				     "unexpected '%.40s'; there are priority, group, ingress, "
				     "transfer, skip_sw, skip_hw, and then pattern",
				     word);
		}
	}
	return rc;
}

int
flow_parse(struct call *call, struct flow_line *line)
{
	const char *word;
	int rc;

	*line = (struct flow_line){0};
	rc = read_attributes(call, line);
	if (rc == 0)
		rc = parse_pattern(call, &line->rule);
	if (rc < 0)
		return rc;
	word = call_next(call);
	if (word == NULL || strcmp(word, "actions") != 0)
		return err_set(call->err, EINVAL, "actions are missing after the pattern's end");
	rc = parse_actions(call, line);
	if (rc == 0)
		rc = call_end(call);
	if (rc < 0)
		return rc;
	if (line->rule.fate == FLOW_JUMP && line->rule.target == line->rule.group)
		return err_set(call->err, EINVAL, "jump: group %u is the rule's own",
			       line->rule.group);
	if (!line->transfer)
		line->ingress = true;
	return 0;
}
