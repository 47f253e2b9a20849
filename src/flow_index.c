/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow_index.h"

#include <errno.h>
#include <stdlib.h>

#include <rte_jhash.h>

struct flow_kind {
	struct flow_kind *next; /* of the set */
	uint32_t group, present, present_mask;
	unsigned count, buckets; /* buckets: a power of two */
	struct flow **bucket;
	struct flow_headers mask;
};

#define BUCKETS_MIN 16

static uint32_t
hash(const struct flow_headers *mask, const struct flow_headers *value)
{
	const uint8_t *m = (const uint8_t *)mask, *v = (const uint8_t *)value;
	/* Whole words: that is what rte_jhash reads. */
	uint32_t words[(sizeof(*value) + 3) / 4] = {0};
	uint8_t *masked = (uint8_t *)words;

	for (unsigned i = 0; i < sizeof(*value); i++)
		masked[i] = m[i] & v[i];
	return rte_jhash_32b(words, RTE_DIM(words), 0);
}

/* Does `mask` compare all bits that `other` does? */
static bool
covers(const struct flow_headers *mask, const struct flow_headers *other)
{
	const uint8_t *m = (const uint8_t *)mask, *o = (const uint8_t *)other;
	uint8_t missing = 0;

	for (unsigned i = 0; i < sizeof(*mask); i++)
		missing |= (uint8_t)(o[i] & ~m[i]);
	return missing == 0;
}

static struct flow **
bucket_of(const struct flow_kind *kind, const struct flow *flow)
{
	return &kind->bucket[hash(&kind->mask, &flow->line.rule.value) & (kind->buckets - 1)];
}

/* --- changes ------------------------------------------------------------------------------ */

static bool
is_of(const struct flow_kind *kind, const struct flow_rule *rule)
{
	return kind->group == rule->group && kind->present == rule->present &&
	       kind->present_mask == rule->present_mask &&
	       memcmp(&kind->mask, &rule->mask, sizeof(kind->mask)) == 0;
}

static struct flow_kind *
kind_get(struct flow_set *set, const struct flow_rule *rule)
{
	struct flow_kind *kind = set->kinds;

	while (kind != NULL && !is_of(kind, rule))
		kind = kind->next;
	if (kind != NULL)
		return kind;
	kind = calloc(1, sizeof(*kind));
	if (kind == NULL)
		return NULL;
	kind->bucket = calloc(BUCKETS_MIN, sizeof(kind->bucket[0]));
	if (kind->bucket == NULL) {
		free(kind);
		return NULL;
	}
	kind->buckets = BUCKETS_MIN;
	kind->group = rule->group;
	kind->present = rule->present;
	kind->present_mask = rule->present_mask;
	kind->mask = rule->mask;
	kind->next = set->kinds;
	set->kinds = kind;
	return kind;
}

static void
link_in(struct flow_kind *kind, struct flow *flow)
{
	struct flow **bucket = bucket_of(kind, flow);

	flow->neighbour = *bucket;
	*bucket = flow;
}

/* Without memory for more buckets the kind is slower, not wrong. */
static void
grow(struct flow_kind *kind)
{
	struct flow **old = kind->bucket;
	unsigned buckets = kind->buckets;
	struct flow **more = calloc(2 * (size_t)buckets, sizeof(more[0]));

	if (more == NULL)
		return;
	kind->bucket = more;
	kind->buckets = 2 * buckets;
	for (unsigned b = 0; b < buckets; b++) {
		while (old[b] != NULL) {
			struct flow *flow = old[b];

			old[b] = flow->neighbour;
			link_in(kind, flow);
		}
	}
	free(old);
}

int
flow_index_add(struct flow *flow, struct err *err)
{
	struct flow_kind *kind = kind_get(flow->set, &flow->line.rule);

	if (kind == NULL)
		return err_set(err, ENOMEM, "no memory");
	if (kind->count == kind->buckets)
		grow(kind);
	link_in(kind, flow);
	kind->count++;
	flow->kind = kind;
	return 0;
}

void
flow_index_remove(struct flow *flow)
{
	struct flow_kind *kind = flow->kind, **link = &flow->set->kinds;
	struct flow **at;

	if (kind == NULL)
		return;
	at = bucket_of(kind, flow);
	while (*at != flow)
		at = &(*at)->neighbour;
	*at = flow->neighbour;
	flow->kind = NULL;
	if (--kind->count != 0)
		return;
	while (*link != kind)
		link = &(*link)->next;
	*link = kind->next;
	free(kind->bucket);
	free(kind);
}

/* --- questions ---------------------------------------------------------------------------- */

/* Go to the kind, or to the first after it that can have such rules. */
static void
enter_kind(struct flow_cursor *c, const struct flow_kind *kind)
{
	const struct flow_rule *rule = &c->flow->line.rule;

	while (kind != NULL &&
	       (kind->group != rule->group ||
		((kind->present ^ rule->present) & kind->present_mask & rule->present_mask) != 0))
		kind = kind->next;
	c->kind = kind;
	c->next = NULL;
	if (kind == NULL)
		return;
	c->bucket = 0;
	c->end = kind->buckets;
	if (covers(&rule->mask, &kind->mask)) {
		c->bucket = (unsigned)(bucket_of(kind, c->flow) - kind->bucket);
		c->end = c->bucket + 1;
	}
}

void
flow_meeting(struct flow_cursor *cursor, const struct flow *flow)
{
	cursor->flow = flow;
	enter_kind(cursor, flow->set->kinds);
}

struct flow *
flow_meeting_next(struct flow_cursor *c)
{
	struct flow *flow;

	while (c->next == NULL) {
		if (c->kind == NULL)
			return NULL;
		if (c->bucket == c->end)
			enter_kind(c, c->kind->next);
		else
			c->next = c->kind->bucket[c->bucket++];
	}
	flow = c->next;
	c->next = flow->neighbour;
	return flow;
}
