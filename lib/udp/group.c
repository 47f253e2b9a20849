/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reuseport groups: which member a flow goes to.
 *
 * Each slot of a pick's table belongs to the member with the highest weight for
 * it, a hash of slot and member (rendezvous hashing, Thaler and Ravishankar
 * 1998). A member that leaves gives its slots to whoever is next, the others
 * keep theirs; one that comes takes those where it is highest.
 */
#include <errno.h>
#include <stdlib.h>

#include "private.h"

/* Slots of a table: many times the members, so that shares are even. Flows move when a
 * group grows past what the smaller one is for. */
#define SLOTS_FEW   4096u
#define SLOTS_MANY  65536u
#define MEMBERS_FEW 256u

static uint64_t
weight(uint32_t slot, uint32_t ref)
{
	uint64_t h = (uint64_t)UDP_REF_ID(ref) << 32 | slot;

	h = (h ^ (h >> 33)) * 0xff51afd7ed558ccd;
	h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53;
	return h ^ (h >> 33);
}

static uint32_t
slots_for(unsigned n)
{
	return n == 1 ? 1 : n <= MEMBERS_FEW ? SLOTS_FEW : SLOTS_MANY;
}

static uint32_t
highest(uint32_t slot, const uint32_t *refs, unsigned n)
{
	uint32_t best = refs[0];
	uint64_t most = weight(slot, best);

	for (unsigned i = 1; i < n; i++) {
		uint64_t w = weight(slot, refs[i]);

		if (w > most) {
			most = w;
			best = refs[i];
		}
	}
	return best;
}

/* The table for these members; `old` is of the same but for `changed`, which came or
 * went: most slots stay as they are. */
static struct udp_pick *
pick_new(const uint32_t *refs, unsigned n, const struct udp_pick *old, uint32_t changed)
{
	uint32_t slots = slots_for(n);
	struct udp_pick *p = malloc(sizeof(*p) + ((size_t)slots + n) * sizeof(p->slots[0]));

	if (p == NULL)
		return NULL;
	p->mask = slots - 1;
	p->n = n;
	memcpy(&p->slots[slots], refs, n * sizeof(*refs));
	if (old != NULL && old->mask != p->mask)
		old = NULL;
	for (uint32_t s = 0; s < slots; s++) {
		if (old == NULL || old->slots[s] == changed)
			p->slots[s] = highest(s, refs, n);
		else if (n > old->n && weight(s, changed) > weight(s, old->slots[s]))
			p->slots[s] = changed;
		else
			p->slots[s] = old->slots[s];
	}
	return p;
}

/* Members of the group, or of one worker in it. */
static unsigned
members(const struct group *g, int worker, uint32_t *refs)
{
	const struct bound *s;
	unsigned n = 0;

	LIST_FOREACH(s, &g->members, in_group) {
		if (worker < 0 || s->view->bound.worker == worker)
			refs[n++] = s->view->ref;
	}
	return n;
}

static void
show(struct udp_control *c, struct group *g, const struct udp_pick *all, const struct udp_pick *own,
     int worker)
{
	const struct udp_pick *old_all = g->seen->all;

	for (unsigned w = 0; w < c->workers; w++) {
		const struct udp_pick *was = g->seen->view[w], *is = was;

		if ((int)w == worker)
			is = own != NULL ? own : all;
		else if (was == old_all)
			is = all;
		__atomic_store_n(&g->seen->view[w], is, __ATOMIC_RELEASE);
		if ((int)w == worker && was != old_all)
			udp_retire(c, was);
	}
	__atomic_store_n(&g->seen->all, all, __ATOMIC_RELEASE);
	udp_retire(c, old_all);
}

/* The members have changed by this one. 0, or -ENOMEM and workers see the old ones. */
static int
remake(struct udp_control *c, struct group *g, const struct udp_socket *changed)
{
	struct udp_pick *all = NULL, *own = NULL;
	int worker = changed->bound.worker;
	uint32_t *refs;
	unsigned n;

	refs = malloc((g->count + 1) * sizeof(*refs));
	if (refs == NULL)
		return -ENOMEM;
	n = members(g, -1, refs);
	if (n != 0)
		all = pick_new(refs, n, g->seen->all, changed->ref);
	if (n != 0 && all == NULL)
		goto no_memory;
	n = worker >= 0 ? members(g, worker, refs) : 0;
	if (n != 0)
		own = pick_new(refs, n, NULL, 0);
	if (n != 0 && own == NULL)
		goto no_memory;
	free(refs);
	show(c, g, all, own, worker);
	return 0;
no_memory:
	free(refs);
	free(all);
	return -ENOMEM;
}

static struct group *
group_new(const struct udp_control *c)
{
	struct group *g = calloc(1, sizeof(*g));

	if (g == NULL)
		return NULL;
	g->seen = calloc(1, sizeof(*g->seen) + c->workers * sizeof(g->seen->view[0]));
	if (g->seen == NULL) {
		free(g);
		return NULL;
	}
	LIST_INIT(&g->members);
	return g;
}

static void
group_free(struct udp_control *c, struct group *g)
{
	udp_retire(c, g->seen);
	free(g);
}

int
group_join(struct udp_control *c, struct bound *s, struct group *like)
{
	struct group *g = like != NULL ? like : group_new(c);
	int rc;

	if (g == NULL)
		return -ENOMEM;
	LIST_INSERT_HEAD(&g->members, s, in_group);
	g->count++;
	s->group = g;
	rc = remake(c, g, s->view);
	if (rc == 0)
		return 0;
	LIST_REMOVE(s, in_group);
	s->group = NULL;
	if (--g->count == 0)
		group_free(c, g);
	return rc;
}

/*
 * Without memory for smaller tables the leaver's slots go on naming it: workers
 * find no such socket behind the name, and count the datagram as one for nobody.
 */
void
group_leave(struct udp_control *c, struct bound *s)
{
	struct group *g = s->group;

	LIST_REMOVE(s, in_group);
	s->group = NULL;
	remake(c, g, s->view);
	if (--g->count == 0)
		group_free(c, g);
}
