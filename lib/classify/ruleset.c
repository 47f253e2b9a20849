/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Rules come and go: versions, and the way out of memory.
 *
 *     add ─▶ linked, born in the next version ─▶ commit: seen
 *     remove: died with the next version ─▶ commit: not seen by who begins now
 *         ─ grace period ─▶ not seen by anybody: unlinked
 *         ─ grace period ─▶ nobody stands on it: freed
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* So many rules with the same values are told apart by testing ranges; further ones are cut up. */
#define RANGES_LINEAR 8

struct ruleset *
ruleset_create(struct classify *classify, struct err *err)
{
	struct ruleset *set = calloc(1, sizeof(*set));

	if (set != NULL) {
		set->classify = classify;
		set->counters = classify->counters;
		set->refs = 1;
		set->root = rule_group_get(set, 0);
	}
	if (set == NULL || set->root == NULL) {
		free(set);
		err_set(err, ENOMEM, "no memory for flow rules");
		return NULL;
	}
	return set;
}

static void
set_put(struct ruleset *set)
{
	if (--set->refs != 0)
		return;
	rule_group_put((struct rule_group *)(uintptr_t)set->root);
	free(set);
}

static void
set_retired(void *ctx, uintptr_t what)
{
	(void)ctx;
	set_put((struct ruleset *)what);
}

void
ruleset_destroy(struct ruleset *set)
{
	while (!LIST_EMPTY(&set->rules))
		ruleset_remove(set, LIST_FIRST(&set->rules));
	ruleset_commit(set);
	rcu_retire(set->classify->rcu, set_retired, NULL, (uintptr_t)set);
}

/* --- adding ------------------------------------------------------------------------------- */

static struct rule *
rule_create(const struct compiled *c, const struct cut *cut)
{
	unsigned entries = RTE_MAX(cut->pieces, 1u), ranges = c->ranges - (cut->pieces != 0);
	size_t refs = sizeof(struct rule) + entries * sizeof(struct entry_ref);
	struct rule *rule = calloc(1, refs + ranges * sizeof(struct range_test));

	if (rule == NULL)
		return NULL;
	rule->range = (struct range_test *)(void *)((char *)rule + refs);
	for (unsigned r = 0; r < c->ranges; r++) {
		if (cut->pieces == 0 || r != cut->range)
			rule->range[rule->ranges++] = c->range[r];
	}
	rule->verdict = (struct rule_verdict){
		.id = c->rule.id,
		.fate = (uint8_t)c->rule.fate,
		.mark = c->rule.mark,
		.target = c->rule.target,
		.mark_id = c->rule.mark_id,
	};
	rule->rank.priority = c->rule.priority;
	return rule;
}

/* Make the rule part of its set: references, age, counters. False: nothing changed. */
static bool
rule_join(struct ruleset *set, struct rule *rule, struct rule_group *group)
{
	if (rule->verdict.fate == FLOW_JUMP) {
		rule->jump = rule_group_get(set, rule->verdict.target);
		if (rule->jump == NULL)
			return false;
	}
	if (!slot_take(set->classify, &rule->slot)) {
		if (rule->jump != NULL)
			rule_group_put((struct rule_group *)(uintptr_t)rule->jump);
		return false;
	}
	rule->set = set;
	rule->group = group;
	rule->rank.age = ++set->age;
	rule->born = set->version + 1;
	rule->died = UINT64_MAX;
	rule_counters_clear(rule);
	set->refs++;
	return true;
}

/* Nobody can see it, or it has never been linked. */
static void
rule_free(struct rule *rule)
{
	struct ruleset *set = rule->set;

	for (unsigned e = 0; e < rule->entries; e++)
		free(rule->entry[e].entry);
	slot_give(set->classify, rule->slot);
	if (rule->jump != NULL)
		rule_group_put((struct rule_group *)(uintptr_t)rule->jump);
	rule_group_put(rule->group);
	free(rule);
	set_put(set);
}

/* One more entry. Workers must be told of a new tuple, or of its better best. */
static bool
link_entry(struct ruleset *set, struct rule *rule, const struct compiled *c)
{
	struct tuple *tuple = rule_group_tuple(rule->group, &c->shape);

	if (tuple == NULL || !tuple_link(set->classify->rcu, tuple, rule, rule->entries, c->value))
		return false;
	rule->entries++;
	if (rank_before(&rule->rank, &tuple->best)) {
		tuple->best = rule->rank;
		rule->group->stale = true;
	}
	__atomic_store_n(&set->needs, set->needs | c->shape.present_mask, __ATOMIC_RELAXED);
	return true;
}

static bool
link_entries(struct ruleset *set, struct rule *rule, const struct compiled *c,
	     const struct cut *cut)
{
	if (cut->pieces == 0 && !link_entry(set, rule, c))
		return false;
	for (unsigned i = 0; i < cut->pieces; i++) {
		struct compiled piece;

		rule_piece(c, cut, i, &piece);
		if (!link_entry(set, rule, &piece))
			return false;
	}
	return !rule->group->stale || rule_group_publish(set->classify->rcu, rule->group);
}

/* The next commit lets it go its way out. */
static void
rule_end(struct ruleset *set, struct rule *rule)
{
	__atomic_store_n(&rule->died, set->version + 1, __ATOMIC_RELAXED);
	rule->next = set->ending;
	set->ending = rule;
	set->changed = true;
}

struct rule *
ruleset_add(struct ruleset *set, const struct flow_rule *spec, struct err *err)
{
	struct rule_group *group = NULL;
	struct rule *rule = NULL;
	struct cut cut = {0};
	struct compiled c;
	struct tuple *tuple;

	if (rule_compile(spec, &c, err) != 0)
		return NULL;
	group = rule_group_get(set, spec->group);
	tuple = group != NULL ? rule_group_tuple(group, &c.shape) : NULL;
	if (tuple == NULL)
		goto no_memory;
	if (c.ranges != 0 && tuple_ranged(tuple, c.value) >= RANGES_LINEAR)
		rule_cut(&c, &cut);
	rule = rule_create(&c, &cut);
	if (rule == NULL || !rule_join(set, rule, group))
		goto no_memory;
	if (!link_entries(set, rule, &c, &cut)) {
		/* A worker may stand on an entry of it already. */
		rule_end(set, rule);
		err_set(err, ENOMEM, "no memory for another flow rule");
		return NULL;
	}
	LIST_INSERT_HEAD(&set->rules, rule, link);
	set->count++;
	set->changed = true;
	return rule;

no_memory:
	free(rule);
	if (group != NULL)
		rule_group_put(group);
	err_set(err, ENOMEM, "no memory for another flow rule, or there are %u",
		CLASSIFY_RULES_MAX);
	return NULL;
}

/* --- ending ------------------------------------------------------------------------------- */

void
ruleset_remove(struct ruleset *set, struct rule *rule)
{
	LIST_REMOVE(rule, link);
	set->count--;
	rule_end(set, rule);
}

unsigned
ruleset_count(const struct ruleset *set)
{
	return set->count;
}

/* The first grace period is over. */
static void
rules_unseen(void *ctx, uintptr_t what)
{
	struct classify *classify = ctx;
	struct rule *first = (struct rule *)what, *last = first;

	while (last->next != NULL)
		last = last->next;
	last->next = classify->unlinkable;
	classify->unlinkable = first;
}

/* The second one is. */
static void
rules_left(void *ctx, uintptr_t what)
{
	struct rule *rule = (struct rule *)what, *next;

	(void)ctx;
	for (; rule != NULL; rule = next) {
		next = rule->next;
		rule_free(rule);
	}
}

void
ruleset_commit(struct ruleset *set)
{
	struct rule *ended = set->ending;

	if (!set->changed)
		return;
	set->changed = false;
	set->ending = NULL;
	__atomic_store_n(&set->version, set->version + 1, __ATOMIC_RELEASE);
	if (ended != NULL)
		rcu_retire(set->classify->rcu, rules_unseen, set->classify, (uintptr_t)ended);
	classify_poll(set->classify);
}

/* Headers that no tuple looks at any more are not looked for. */
static void
refresh_needs(struct ruleset *set)
{
	uint32_t needs = 0;
	struct rule_group *group;

	for (unsigned chain = 0; chain < GROUP_CHAINS; chain++) {
		LIST_FOREACH(group, &set->groups[chain], link) {
			for (unsigned t = 0; t < group->tuples; t++)
				needs |= group->tuple[t]->shape.present_mask;
		}
	}
	__atomic_store_n(&set->needs, needs, __ATOMIC_RELAXED);
}

/* Entries of the group have gone: tuples, too, and others may be less urgent now. */
static void
group_refresh(struct rcu *rcu, struct rule_group *group)
{
	bool news = false, gone = false;

	for (unsigned t = 0; t < group->tuples; t++) {
		gone |= group->tuple[t]->entries == 0;
		news |= tuple_refresh_best(group->tuple[t]);
	}
	/* Without memory they stay a while longer: slower, not wrong. */
	if ((news || gone) && rule_group_publish(rcu, group) && gone)
		refresh_needs(group->set);
}

void
classify_poll(struct classify *classify)
{
	struct rule *first = classify->unlinkable;
	struct rule_group *dirty = NULL;

	if (first == NULL)
		return;
	classify->unlinkable = NULL;
	for (struct rule *rule = first; rule != NULL; rule = rule->next) {
		for (unsigned e = 0; e < rule->entries; e++)
			tuple_unlink(classify->rcu, rule->entry[e].tuple, rule->entry[e].entry);
		if (!rule->group->dirty) {
			rule->group->dirty = true;
			rule->group->next_dirty = dirty;
			dirty = rule->group;
		}
	}
	for (; dirty != NULL; dirty = dirty->next_dirty) {
		dirty->dirty = false;
		group_refresh(classify->rcu, dirty);
	}
	rcu_retire(classify->rcu, rules_left, NULL, (uintptr_t)first);
}
