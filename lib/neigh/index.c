/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "private.h"

/*
 * Who is in the table: a chained hash to find a neighbour, and a dense array of
 * all of them, which is sorted when somebody wants to walk it in order.
 */

#define FIRST_CAPACITY 64u
#define LAST_CAPACITY  (1u << 28)

static struct neigh_private **
bucket_of(const struct neigh_table *table, uint16_t iface, const struct ip_addr *addr)
{
	uint64_t h = table->hash_seed ^ ((uint64_t)addr->family << 16 | iface);
	uint64_t half[2];

	memcpy(half, addr->bytes, sizeof(half));
	h = neigh_random(&h) ^ half[0];
	h = neigh_random(&h) ^ half[1];
	return &table->buckets[neigh_random(&h) & (table->capacity - 1)];
}

static void
hash_insert(struct neigh_table *table, struct neigh_private *e)
{
	struct neigh_private **bucket = bucket_of(table, e->n.iface, &e->n.addr);

	e->hash_next = *bucket;
	*bucket = e;
}

/* Both arrays double. */
int
neigh_index_reserve(struct neigh_table *table)
{
	unsigned capacity = RTE_MAX(table->capacity * 2, FIRST_CAPACITY);
	struct neigh_private **buckets, **entries;

	if (table->count < table->capacity)
		return 0;
	if (capacity > LAST_CAPACITY)
		return -ENOMEM;
	buckets = calloc(capacity, sizeof(*buckets));
	if (buckets == NULL)
		return -ENOMEM;
	entries = realloc(table->entries, capacity * sizeof(*entries));
	if (entries == NULL) {
		free(buckets);
		return -ENOMEM;
	}
	free(table->buckets);
	table->buckets = buckets;
	table->entries = entries;
	table->capacity = capacity;
	for (unsigned i = 0; i < table->count; i++)
		hash_insert(table, entries[i]);
	return 0;
}

void
neigh_index_insert(struct neigh_table *table, struct neigh_private *e)
{
	hash_insert(table, e);
	e->position = table->count;
	table->entries[table->count++] = e;
	table->sorted = false;
}

void
neigh_index_remove(struct neigh_table *table, struct neigh_private *e)
{
	struct neigh_private **link = bucket_of(table, e->n.iface, &e->n.addr);
	struct neigh_private *last = table->entries[--table->count];

	while (*link != e)
		link = &(*link)->hash_next;
	*link = e->hash_next;
	table->entries[e->position] = last;
	last->position = e->position;
	if (last != e)
		table->sorted = false;
}

struct neigh *
neigh_find(struct neigh_table *table, uint16_t iface, const struct ip_addr *addr)
{
	struct neigh_private *e = *bucket_of(table, iface, addr);

	while (e != NULL && (e->n.iface != iface || !ip_addr_equal(&e->n.addr, addr)))
		e = e->hash_next;
	return e == NULL ? NULL : &e->n;
}

static int
compare(const void *a, const void *b)
{
	const struct neigh *x = &(*(struct neigh_private *const *)a)->n;
	const struct neigh *y = &(*(struct neigh_private *const *)b)->n;

	if (x->iface != y->iface)
		return x->iface < y->iface ? -1 : 1;
	if (x->addr.family != y->addr.family)
		return x->addr.family == AF_INET ? -1 : 1;
	return memcmp(x->addr.bytes, y->addr.bytes, sizeof(x->addr.bytes));
}

struct neigh *
neigh_next(struct neigh_table *table, const struct neigh *after)
{
	unsigned next;

	if (!table->sorted && table->count > 0) {
		qsort(table->entries, table->count, sizeof(*table->entries), compare);
		for (unsigned i = 0; i < table->count; i++)
			table->entries[i]->position = i;
		table->sorted = true;
	}
	next = after == NULL ? 0 : after->private->position + 1;
	return next < table->count ? &table->entries[next]->n : NULL;
}
