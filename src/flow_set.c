/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets of flow rules: which ports they are of, and their rules by number.
 */
#include "flow_set.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "classify.h"
#include "flow_device.h"
#include "flow_index.h"
#include "flow_placing.h"

static struct flow_set own[RTE_MAX_ETHPORTS]; /* the rules of each port alone */
static struct flow_set *block_of[RTE_MAX_ETHPORTS];
static struct flow_set *blocks;
static struct out *remarks;

/* --- remarks --------------------------------------------------------------------------- */

void
flow_remark(const char *format, ...)
{
	char text[512];
	va_list args;

	if (remarks == NULL)
		remarks = out_create(false);
	if (remarks == NULL)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	out_text(remarks, "%s\n", text);
}

void
flow_remarks(struct out *out)
{
	const char *text;
	size_t size;

	if (remarks == NULL)
		return;
	text = out_data(remarks, &size);
	/* A JSON document has no room for them. */
	if (out != NULL && !out_is_json(out))
		out_text(out, "%.*s", (int)size, text);
	else
		fwrite(text, 1, size, stdout);
	out_consume(remarks, size);
}

/* --- sets ------------------------------------------------------------------------------- */

struct flow_set *
flow_set_of(const struct port *port)
{
	struct flow_set *set = &own[port->id];

	if (block_of[port->id] != NULL)
		return block_of[port->id];
	if (set->port_count == 0)
		set->ports[set->port_count++] = &ports[port->id];
	return set;
}

struct flow_set *
flow_blocks(void)
{
	return blocks;
}

bool
flow_set_is_own(const struct flow_set *set)
{
	return set >= own && set < own + RTE_MAX_ETHPORTS;
}

static struct flow_set *
block_named(const char *name)
{
	struct flow_set *set = blocks;

	while (set != NULL && strcmp(set->name, name) != 0)
		set = set->next;
	return set;
}

struct flow_set *
flow_set_find(const char *word, bool shared, struct err *err)
{
	struct flow_set *set = block_named(word);
	struct port *port;

	if (set != NULL)
		return set;
	port = port_find(word, NULL);
	if (port == NULL) {
		err_set(err, ENODEV, "'%.40s' is neither a port nor a block of ports", word);
		return NULL;
	}
	set = flow_set_of(port);
	if (set->name[0] != '\0' && !shared) {
		err_set(err, EBUSY, "port %u shares the rules of block %s: name the block instead",
			port->id, set->name);
		return NULL;
	}
	return set;
}

struct flow_set *
flow_set_next(const struct flow_set *set)
{
	unsigned p = 0;

	if (set != NULL && !flow_set_is_own(set))
		return set->next;
	if (set != NULL)
		p = (unsigned)(set - own) + 1;
	for (; p < RTE_MAX_ETHPORTS; p++) {
		if (own[p].count != 0)
			return &own[p];
	}
	return blocks;
}

/* --- rules by number ---------------------------------------------------------------------- */

unsigned
flow_position(const struct flow_set *set, uint32_t id)
{
	unsigned low = 0, high = set->count;

	while (low < high) {
		unsigned middle = (low + high) / 2;

		if (set->flows[middle]->id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct flow *
flow_find(const struct flow_set *set, uint32_t id)
{
	unsigned at = flow_position(set, id);

	return at < set->count && set->flows[at]->id == id ? set->flows[at] : NULL;
}

/* Room for one more at the end. */
static int
grow(struct flow_set *set, struct err *err)
{
	unsigned size = set->size != 0 ? 2 * set->size : 16;
	struct flow **flows;

	if (set->count < set->size)
		return 0;
	flows = realloc(set->flows, size * sizeof(*flows));
	if (flows == NULL)
		return err_set(err, ENOMEM, "no memory");
	set->flows = flows;
	set->size = size;
	return 0;
}

/* testpmd's numbering: one more than the highest there is. */
static int
next_id(const struct flow_set *set, uint32_t *id, struct err *err)
{
	*id = set->count != 0 ? set->flows[set->count - 1]->id + 1 : 0;
	if (set->count != 0 && *id == 0)
		return err_set(err, ENOSPC, "rule numbers are used up: flush the rules");
	return 0;
}

/* --- software ------------------------------------------------------------------------------- */

static int
add_software(struct flow *flow, struct err *err)
{
	struct flow_set *set = flow->set;

	if (set->software == NULL) {
		set->software = ruleset_create(classifier, err);
		if (set->software == NULL)
			return -ENOMEM;
		for (unsigned p = 0; p < set->port_count; p++)
			classify_bind(set->ports[p], set->software);
	}
	flow->software = ruleset_add(set->software, &flow->line.rule, err);
	return flow->software != NULL ? 0 : -EINVAL;
}

static void
commit(struct flow_set *set)
{
	if (set->software != NULL)
		classify_commit(set->software);
}

/* --- rules ---------------------------------------------------------------------------------- */

/* What a rule names must be there on every port of the set. */
static int
check_targets(const struct flow_set *set, const struct flow_line *line, struct err *err)
{
	int rc = 0;

	for (unsigned p = 0; p < set->port_count && rc == 0; p++)
		rc = classify_check(&line->rule, set->ports[p], err);
	return rc;
}

static void
take_out(struct flow *flow)
{
	while (flow->places != NULL)
		flow_device_remove(flow, flow->places);
	if (flow->software != NULL)
		ruleset_remove(flow->set->software, flow->software);
	flow->software = NULL;
	flow_index_remove(flow);
	flow->set->again = true;
}

int
flow_create(struct flow_set *set, const struct flow_line *line, struct flow **flow,
	    struct out *notes, struct err *err)
{
	struct flow *f;
	int rc = check_targets(set, line, err);

	if (rc == 0)
		rc = grow(set, err);
	if (rc < 0)
		return rc;
	f = calloc(1, sizeof(*f));
	if (f == NULL)
		return err_set(err, ENOMEM, "no memory");
	f->set = set;
	f->line = *line;
	rc = next_id(set, &f->id, err);
	f->line.rule.id = f->id;
	if (rc == 0)
		rc = flow_index_add(f, err);
	if (rc == 0 && line->placement != FLOW_SKIP_SW)
		rc = add_software(f, err);
	if (rc == 0)
		rc = flow_place(f, notes, err);
	if (rc < 0) {
		take_out(f);
		free(f);
		return rc;
	}
	set->flows[set->count++] = f;
	commit(set);
	*flow = f;
	return 0;
}

int
flow_validate(struct flow_set *set, const struct flow_line *line, struct err *err)
{
	struct flow flow = {.set = set, .line = *line};
	int rc = check_targets(set, line, err);

	for (unsigned p = 0; rc == 0 && p < set->port_count; p++) {
		if (line->placement == FLOW_SKIP_SW)
			rc = flow_device_check(&flow, set->ports[p], err);
	}
	return rc;
}

void
flow_destroy(struct flow_set *set, struct flow *const flows[], unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		unsigned at = flow_position(set, flows[i]->id);

		take_out(flows[i]);
		set->count--;
		memmove(set->flows + at, set->flows + at + 1,
			(set->count - at) * sizeof(*set->flows));
		free(flows[i]);
	}
	commit(set);
}

void
flow_flush(struct flow_set *set)
{
	for (unsigned i = 0; i < set->count; i++)
		take_out(set->flows[i]);
	for (unsigned i = 0; i < set->count; i++)
		free(set->flows[i]);
	set->count = 0;
	commit(set);
}

bool
flow_in_hardware(const struct flow *flow)
{
	for (unsigned p = 0; p < flow->set->port_count; p++) {
		if (flow_device_place(flow, flow->set->ports[p]) == NULL)
			return false;
	}
	return true;
}

void
flow_count(const struct flow *flow, struct flow_counts *counts)
{
	/* Then software never sees what hardware has acted on. */
	bool final = flow->line.rule.fate == FLOW_DROP || flow->line.rule.fate == FLOW_PORT;
	struct rule_counters sum = {0};

	*counts = (struct flow_counts){.uncounted = false};
	if (flow->software != NULL)
		rule_counters(flow->software, &sum);
	for (const struct flow_place *p = flow->places; p != NULL; p = p->next) {
		if (flow->software == NULL || final)
			counts->uncounted |= !flow_device_count(p, &sum);
	}
	counts->packets = sum.packets;
	counts->bytes = sum.bytes;
}

/* --- blocks ---------------------------------------------------------------------------------- */

static int
check_name(const char *name, struct err *err)
{
	static const char *const words[] = {"del", "show", "list", "all"};
	size_t len = strlen(name);
	bool good = len > 0 && len < FLOW_BLOCK_NAME && (name[0] < '0' || name[0] > '9');

	for (unsigned i = 0; i < RTE_DIM(words); i++)
		good &= strcmp(name, words[i]) != 0;
	good &= strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") ==
		len;
	if (good && port_find(name, NULL) == NULL)
		return 0;
	return err_set(
		err, EINVAL,
		"block '%.40s': a name has up to %d letters, digits, '_', '.', '-', begins with "
		"a letter, and is no port's",
		name, FLOW_BLOCK_NAME - 1);
}

static bool
has_port(struct port *const list[], unsigned count, const struct port *port)
{
	for (unsigned p = 0; p < count; p++) {
		if (list[p] == port)
			return true;
	}
	return false;
}

/* May the port come to share these rules? */
static int
check_join(const struct flow_set *set, const struct port *port, struct err *err)
{
	int rc = 0;

	if (block_of[port->id] != NULL)
		return err_set(err, EBUSY, "port %u is in block %s", port->id,
			       block_of[port->id]->name);
	if (own[port->id].count != 0)
		return err_set(err, EBUSY, "port %u has rules of its own: flow flush %u first",
			       port->id, port->id);
	for (unsigned i = 0; rc == 0 && i < set->count; i++)
		rc = classify_check(&set->flows[i]->line.rule, port, err);
	return rc;
}

static void
leave(struct flow_set *set, struct port *port)
{
	unsigned p = 0;

	for (unsigned i = 0; i < set->count; i++) {
		struct flow_place *place = flow_device_place(set->flows[i], port);

		if (place != NULL)
			flow_device_remove(set->flows[i], place);
		set->flows[i]->waits &= ~RTE_BIT64(port->id);
	}
	while (set->ports[p] != port)
		p++;
	set->port_count--;
	memmove(set->ports + p, set->ports + p + 1, (set->port_count - p) * sizeof(set->ports[0]));
	block_of[port->id] = NULL;
	classify_bind(port, own[port->id].software);
}

static int
join(struct flow_set *set, struct port *port, struct err *err)
{
	int rc;

	set->ports[set->port_count++] = port;
	block_of[port->id] = set;
	classify_bind(port, set->software);
	rc = flow_place_all(set, port, err);
	if (rc < 0)
		leave(set, port);
	return rc;
}

static int
change_ports(struct flow_set *set, struct port *const list[], unsigned count, struct err *err)
{
	unsigned before = set->port_count;
	int rc = 0;

	for (unsigned p = 0; rc == 0 && p < count; p++) {
		if (!has_port(set->ports, before, list[p]))
			rc = check_join(set, list[p], err);
	}
	for (unsigned p = 0; rc == 0 && p < count; p++) {
		if (!has_port(set->ports, set->port_count, list[p]))
			rc = join(set, list[p], err);
	}
	if (rc < 0) {
		while (set->port_count > before)
			leave(set, set->ports[set->port_count - 1]);
		return rc;
	}
	for (unsigned p = set->port_count; p > 0; p--) {
		if (!has_port(list, count, set->ports[p - 1]))
			leave(set, set->ports[p - 1]);
	}
	commit(set);
	return 0;
}

static void
free_set(struct flow_set *set)
{
	flow_flush(set);
	while (set->port_count > 0 && set->name[0] != '\0')
		leave(set, set->ports[0]);
	if (set->port_count > 0)
		classify_bind(set->ports[0], NULL);
	if (set->software != NULL)
		ruleset_destroy(set->software);
	free(set->flows);
}

int
flow_block_set(const char *name, struct port *const list[], unsigned count, struct err *err)
{
	struct flow_set *set = block_named(name), **link = &blocks;
	int rc;

	if (set != NULL)
		return change_ports(set, list, count, err);
	rc = check_name(name, err);
	if (rc < 0)
		return rc;
	set = calloc(1, sizeof(*set));
	if (set == NULL)
		return err_set(err, ENOMEM, "no memory");
	snprintf(set->name, sizeof(set->name), "%s", name);
	rc = change_ports(set, list, count, err);
	if (rc < 0) {
		free(set);
		return rc;
	}
	while (*link != NULL)
		link = &(*link)->next;
	*link = set;
	return 0;
}

int
flow_block_delete(const char *name, struct err *err)
{
	struct flow_set *set = block_named(name), **link = &blocks;

	if (set == NULL)
		return err_set(err, ENOENT, "block '%.40s': there is none", name);
	while (*link != set)
		link = &(*link)->next;
	*link = set->next;
	free_set(set);
	free(set);
	return 0;
}

void
flows_fini(void)
{
	while (blocks != NULL)
		flow_block_delete(blocks->name, NULL);
	for (unsigned p = 0; p < RTE_MAX_ETHPORTS; p++) {
		free_set(&own[p]);
		own[p] = (struct flow_set){.count = 0};
	}
	out_destroy(remarks);
	remarks = NULL;
}
