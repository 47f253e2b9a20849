/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Groups: the tuples that are searched together.
 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

struct rule_group *
rule_group_get(struct ruleset *set, uint32_t id)
{
	struct rule_group *group;

	LIST_FOREACH(group, &set->groups[id % GROUP_CHAINS], link) {
		if (group->id == id) {
			group->refs++;
			return group;
		}
	}
	group = calloc(1, sizeof(*group));
	if (group == NULL)
		return NULL;
	group->list = calloc(1, sizeof(struct tuple_list));
	if (group->list == NULL) {
		free(group);
		return NULL;
	}
	group->id = id;
	group->set = set;
	group->refs = 1;
	LIST_INSERT_HEAD(&set->groups[id % GROUP_CHAINS], group, link);
	return group;
}

/* The last reference goes with a rule no reader can see: nor can it see the group. */
void
rule_group_put(struct rule_group *group)
{
	if (--group->refs != 0)
		return;
	LIST_REMOVE(group, link);
	for (unsigned t = 0; t < group->tuples; t++)
		tuple_free(group->tuple[t]);
	free(group->tuple);
	free((void *)(uintptr_t)group->list);
	free(group);
}

static uint32_t
shape_hash(const struct shape *shape)
{
	uint32_t hash = hash_word(HASH_BEGIN, (uint64_t)shape->present << 32 | shape->present_mask);

	for (unsigned w = 0; w < shape->words; w++) {
		hash = hash_word(hash, shape->word[w].mask);
		hash = hash_word(hash, (uint64_t)shape->word[w].layer << 8 |
					       (uint8_t)shape->word[w].offset);
	}
	return hash;
}

struct tuple *
rule_group_tuple(struct rule_group *group, const struct shape *shape)
{
	uint32_t hash = shape_hash(shape);
	struct tuple *tuple;

	for (unsigned t = 0; t < group->tuples; t++) {
		if (group->tuple[t]->shape_hash == hash &&
		    memcmp(&group->tuple[t]->shape, shape, sizeof(*shape)) == 0)
			return group->tuple[t];
	}
	if (group->tuples == group->room) {
		unsigned room = group->room * 2 + 8;
		struct tuple **more = realloc(group->tuple, room * sizeof(more[0]));

		if (more == NULL)
			return NULL;
		group->tuple = more;
		group->room = room;
	}
	tuple = tuple_create(shape);
	if (tuple == NULL)
		return NULL;
	tuple->shape_hash = hash;
	group->tuple[group->tuples++] = tuple;
	return tuple;
}

static int
compare_places(const void *left, const void *right)
{
	const struct tuple_place *a = left, *b = right;

	return rank_before(&a->best, &b->best) ? -1 : rank_before(&b->best, &a->best);
}

static void
list_retired(void *ctx, uintptr_t what)
{
	(void)ctx;
	free((void *)what);
}

static void
tuple_retired(void *ctx, uintptr_t what)
{
	(void)ctx;
	tuple_free((struct tuple *)what);
}

bool
rule_group_publish(struct rcu *rcu, struct rule_group *group)
{
	const struct tuple_list *old = group->list;
	struct tuple_list *list = calloc(1, sizeof(*list) + group->tuples * sizeof(list->place[0]));
	unsigned kept = 0;

	if (list == NULL)
		return false;
	for (unsigned t = 0; t < group->tuples; t++) {
		const struct tuple *tuple = group->tuple[t];

		if (tuple->entries != 0)
			list->place[list->n++] = (struct tuple_place){tuple->best, tuple};
	}
	qsort(list->place, list->n, sizeof(list->place[0]), compare_places);
	__atomic_store_n(&group->list, list, __ATOMIC_RELEASE);
	rcu_retire(rcu, list_retired, NULL, (uintptr_t)old);
	for (unsigned t = 0; t < group->tuples; t++) {
		if (group->tuple[t]->entries != 0)
			group->tuple[kept++] = group->tuple[t];
		else
			rcu_retire(rcu, tuple_retired, NULL, (uintptr_t)group->tuple[t]);
	}
	group->tuples = kept;
	group->stale = false;
	return true;
}
