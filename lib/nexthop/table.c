/* SPDX-License-Identifier: BSD-3-Clause */
#include "nexthop.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

/* Entries come from slabs of this many, and go back to one free list. */
#define SLAB_ENTRIES 512

struct slab {
	struct slab *next;
	struct nexthop *entries;
};

struct nexthop_control {
	struct rcu *rcu;
	uint32_t *refs;	    /* by index; NEXTHOP_MAX, untouched pages cost nothing */
	uint32_t *free_ids; /* a stack of indexes that are free for reuse */
	uint32_t free_count;
	uint32_t next_id; /* indexes from here on were never used */
	uint32_t count;
	struct slab *slabs;
	struct nexthop *free_entries; /* linked through group.values */
};

static const struct nexthop none = {.type = NEXTHOP_NONE};

static void *
reserve(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

struct nexthop_table *
nexthop_table_create(struct rcu *rcu, struct err *err)
{
	struct nexthop_table *t = calloc(1, sizeof(*t));

	if (t == NULL)
		goto no_memory;
	t->control = calloc(1, sizeof(*t->control));
	t->slots = reserve(NEXTHOP_MAX * sizeof(*t->slots));
	if (t->control == NULL || t->slots == NULL)
		goto no_memory;
	t->control->rcu = rcu;
	t->control->refs = reserve(NEXTHOP_MAX * sizeof(uint32_t));
	t->control->free_ids = reserve(NEXTHOP_MAX * sizeof(uint32_t));
	if (t->control->refs == NULL || t->control->free_ids == NULL)
		goto no_memory;
	t->slots[0] = &none;
	t->control->next_id = 1;
	return t;

no_memory:
	nexthop_table_destroy(t);
	err_set(err, ENOMEM, "no memory for next hops");
	return NULL;
}

void
nexthop_table_destroy(struct nexthop_table *t)
{
	struct nexthop_control *c;
	struct slab *slab;

	if (t == NULL)
		return;
	c = t->control;
	if (c != NULL) {
		rcu_synchronize(c->rcu);
		while ((slab = c->slabs) != NULL) {
			c->slabs = slab->next;
			free(slab->entries);
			free(slab);
		}
		if (c->refs != NULL)
			munmap(c->refs, NEXTHOP_MAX * sizeof(uint32_t));
		if (c->free_ids != NULL)
			munmap(c->free_ids, NEXTHOP_MAX * sizeof(uint32_t));
		free(c);
	}
	if (t->slots != NULL)
		munmap(t->slots, NEXTHOP_MAX * sizeof(*t->slots));
	free(t);
}

static struct nexthop *
entry_new(struct nexthop_control *c)
{
	struct nexthop *e = c->free_entries;

	if (e == NULL) {
		struct slab *slab = malloc(sizeof(*slab));

		if (slab == NULL)
			return NULL;
		slab->entries = aligned_alloc(RTE_CACHE_LINE_SIZE, SLAB_ENTRIES * sizeof(*e));
		if (slab->entries == NULL) {
			free(slab);
			return NULL;
		}
		slab->next = c->slabs;
		c->slabs = slab;
		for (unsigned i = 0; i < SLAB_ENTRIES; i++) {
			e = &slab->entries[i];
			e->group.values = (const uint32_t *)c->free_entries;
			c->free_entries = e;
		}
	}
	c->free_entries = (struct nexthop *)(uintptr_t)e->group.values;
	return e;
}

static void
entry_free(void *ctx, uintptr_t what)
{
	struct nexthop_control *c = ctx;
	struct nexthop *e = (struct nexthop *)what;

	if (e->type == NEXTHOP_GROUP)
		nexthop_group_values_free(e->group.values);
	e->type = NEXTHOP_NONE;
	e->group.values = (const uint32_t *)c->free_entries;
	c->free_entries = e;
}

static void
publish(struct nexthop_table *t, uint32_t id, const struct nexthop *entry)
{
	__atomic_store_n(&t->slots[id], entry, __ATOMIC_RELEASE);
}

/* What the slot pointed at stays readable until no worker can have looked the
 * index up before its last user went: a packet in flight is sent the old way,
 * never told "no route". */
static void
id_free(void *ctx, uintptr_t id)
{
	struct nexthop_table *t = ctx;
	const struct nexthop *old = t->slots[id];

	publish(t, (uint32_t)id, &none);
	entry_free(t->control, (uintptr_t)old);
	t->control->free_ids[t->control->free_count++] = (uint32_t)id;
}

uint32_t
nexthop_add(struct nexthop_table *t, const struct nexthop *contents, struct err *err)
{
	struct nexthop_control *c = t->control;
	struct nexthop *e;
	uint32_t id;

	if (c->free_count == 0 && c->next_id == NEXTHOP_MAX) {
		rcu_synchronize(c->rcu);
		if (c->free_count == 0) {
			err_set(err, ENOSPC, "all %u next hops are in use", NEXTHOP_MAX);
			return 0;
		}
	}
	e = entry_new(c);
	if (e == NULL) {
		err_set(err, ENOMEM, "no memory for a next hop");
		return 0;
	}
	id = c->free_count != 0 ? c->free_ids[--c->free_count] : c->next_id++;
	*e = *contents;
	e->id = id;
	c->refs[id] = 1;
	c->count++;
	publish(t, id, e);
	return id;
}

int
nexthop_replace(struct nexthop_table *t, uint32_t id, const struct nexthop *contents)
{
	struct nexthop_control *c = t->control;
	const struct nexthop *old = t->slots[id];
	struct nexthop *e = entry_new(c);

	if (e == NULL)
		return -ENOMEM;
	*e = *contents;
	e->id = id;
	publish(t, id, e);
	rcu_retire(c->rcu, entry_free, c, (uintptr_t)old);
	return 0;
}

void
nexthop_hold(struct nexthop_table *t, uint32_t id)
{
	t->control->refs[id]++;
}

bool
nexthop_release(struct nexthop_table *t, uint32_t id)
{
	struct nexthop_control *c = t->control;

	if (--c->refs[id] != 0)
		return false;
	c->count--;
	rcu_retire(c->rcu, id_free, t, id);
	return true;
}

uint32_t
nexthop_refs(const struct nexthop_table *t, uint32_t id)
{
	return t->control->refs[id];
}

uint32_t
nexthop_count(const struct nexthop_table *t)
{
	return t->control->count;
}
