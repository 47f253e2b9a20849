/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ECMP groups. A group is what its routes asked for; the table workers pick from
 * holds the members that can be used at present, or all when none can, so
 * that packets are dropped for the members' own reasons.
 */
#include <errno.h>
#include <stdlib.h>

#include "net_nexthop.h"

#define HASH_SIZE 1024u

static struct group *groups[HASH_SIZE];

static uint32_t
members_hash(const struct nexthop_member *members, unsigned n)
{
	uint32_t h = n;

	for (unsigned i = 0; i < n; i++)
		h = (h ^ members[i].nexthop * 31 ^ members[i].weight) * 2654435761u;
	return h ^ h >> 16;
}

static uint64_t
usable_members(const struct group *g)
{
	uint64_t usable = 0;

	for (unsigned i = 0; i < g->count; i++) {
		if (net_nexthop_usable(g->members[i].nexthop))
			usable |= 1ull << i;
	}
	return usable != 0 ? usable : g->count == 64 ? UINT64_MAX : (1ull << g->count) - 1;
}

/* The entry for workers. False: no memory. */
static bool
contents_make(const struct group *g, uint64_t usable, struct nexthop *contents)
{
	struct nexthop_member members[GROUP_MAX];
	unsigned n = 0;

	for (unsigned i = 0; i < g->count; i++) {
		if ((usable >> i & 1) != 0)
			members[n++] = g->members[i];
	}
	*contents = (struct nexthop){.type = NEXTHOP_GROUP};
	contents->group.values = nexthop_group_values(members, n, &contents->group.mask);
	return contents->group.values != NULL;
}

uint32_t
group_get(const struct nexthop_member *members, unsigned n, struct err *err)
{
	uint32_t hash = members_hash(members, n);
	struct group **chain = &groups[hash % HASH_SIZE];
	struct nexthop contents;
	struct group *g;

	for (g = *chain; g != NULL; g = g->next) {
		if (g->hash == hash && g->count == n &&
		    memcmp(g->members, members, n * sizeof(*members)) == 0) {
			nexthop_hold(nexthops, g->nexthop);
			return g->nexthop;
		}
	}
	g = malloc(sizeof(*g) + n * sizeof(*members));
	if (g == NULL) {
		err_set(err, ENOMEM, "no memory for a group of next hops");
		return 0;
	}
	*g = (struct group){.hash = hash, .count = n, .next = *chain};
	memcpy(g->members, members, n * sizeof(*members));
	g->usable = usable_members(g);
	if (!contents_make(g, g->usable, &contents)) {
		free(g);
		err_set(err, ENOMEM, "no memory for a group of next hops");
		return 0;
	}
	g->nexthop = nexthop_add(nexthops, &contents, err);
	if (g->nexthop == 0) {
		nexthop_group_values_free(contents.group.values);
		free(g);
		return 0;
	}
	for (unsigned i = 0; i < n; i++)
		net_nexthop_hold(members[i].nexthop);
	net_nexthop_own(g->nexthop, OWNER_GROUP, g);
	*chain = g;
	return g->nexthop;
}

void
group_free(struct group *group)
{
	struct group **link = &groups[group->hash % HASH_SIZE];

	while (*link != group)
		link = &(*link)->next;
	*link = group->next;
	for (unsigned i = 0; i < group->count; i++)
		net_nexthop_release(group->members[i].nexthop);
	free(group);
}

/* When memory is short the old table stays: its dead members drop what they get. */
static void
refresh(struct group *g)
{
	uint64_t usable = usable_members(g);
	struct nexthop contents;

	if (usable == g->usable || !contents_make(g, usable, &contents))
		return;
	if (nexthop_replace(nexthops, g->nexthop, &contents) < 0) {
		nexthop_group_values_free(contents.group.values);
		return;
	}
	g->usable = usable;
}

void
groups_refresh(void)
{
	for (unsigned i = 0; i < HASH_SIZE; i++) {
		for (struct group *g = groups[i]; g != NULL; g = g->next)
			refresh(g);
	}
}

void
groups_fini(void)
{
	for (unsigned i = 0; i < HASH_SIZE; i++) {
		while (groups[i] != NULL) {
			struct group *g = groups[i];

			groups[i] = g->next;
			if (net_nexthop_owner(g->nexthop, OWNER_GROUP) == g)
				nexthop_group_values_free(
					nexthop_at(nexthops, g->nexthop)->group.values);
			free(g);
		}
	}
}
