/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A tuple's hash table, written by the control thread while workers read it.
 *
 * An entry is linked with one store, after it is complete. A table that has become too
 * small is replaced by a copy with copies of its entries: who reads the old one goes by
 * a version in which nothing later matters.
 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define BUCKETS_MIN 16

static struct table *
table_create(uint64_t buckets)
{
	size_t size = sizeof(struct table) + buckets * sizeof(uint64_t);
	struct table *table =
		aligned_alloc(RTE_CACHE_LINE_SIZE, RTE_ALIGN_CEIL(size, RTE_CACHE_LINE_SIZE));

	if (table == NULL)
		return NULL;
	memset(table, 0, size);
	table->mask = buckets - 1;
	return table;
}

static void
table_free(struct table *table, bool entries)
{
	for (uint64_t b = 0; entries && b <= table->mask; b++) {
		struct entry *e = bucket_first(table->bucket[b]), *next;

		for (; e != NULL; e = next) {
			next = e->next;
			free(e);
		}
	}
	free(table);
}

static void
table_retired(void *ctx, uintptr_t what)
{
	(void)ctx;
	table_free((struct table *)what, true);
}

static uint32_t
hash_of(const struct tuple *tuple, const uint64_t *value)
{
	uint32_t hash = HASH_BEGIN;

	for (unsigned w = 0; w < tuple->shape.words; w++)
		hash = hash_word(hash, value[w]);
	return hash;
}

/* Put an entry in its place of its bucket. */
static void
table_link(struct table *table, struct entry *entry, uint32_t hash)
{
	uint64_t *bucket = &table->bucket[hash & table->mask];
	uint64_t bits = (uint16_t)*bucket | UINT64_C(1) << (hash >> 28);
	struct entry *first = bucket_first(*bucket), *before = NULL;

	for (struct entry *e = first; e != NULL && rank_before(&e->rank, &entry->rank); e = e->next)
		before = e;
	if (before != NULL) {
		entry->next = before->next;
		__atomic_store_n(&before->next, entry, __ATOMIC_RELEASE);
	} else {
		entry->next = first;
		first = entry;
	}
	__atomic_store_n(bucket, bucket_make(first, bits), __ATOMIC_RELEASE);
}

struct tuple *
tuple_create(const struct shape *shape)
{
	struct tuple *tuple = calloc(1, sizeof(*tuple));

	if (tuple == NULL)
		return NULL;
	memcpy(&tuple->shape, shape, sizeof(*shape));
	tuple->best = (struct rank){UINT64_MAX, UINT32_MAX};
	tuple->table = table_create(BUCKETS_MIN);
	if (tuple->table == NULL) {
		free(tuple);
		return NULL;
	}
	return tuple;
}

void
tuple_free(struct tuple *tuple)
{
	table_free(tuple->table, true);
	free(tuple);
}

static size_t
entry_size(const struct tuple *tuple)
{
	return sizeof(struct entry) + tuple->shape.words * sizeof(uint64_t);
}

/* Replace the table by one of so many buckets. False: no memory, nothing changed. */
static bool
tuple_resize(struct rcu *rcu, struct tuple *tuple, uint64_t buckets)
{
	struct table *old = tuple->table, *new = table_create(buckets);

	if (new == NULL)
		return false;
	for (uint64_t b = 0; b <= old->mask; b++) {
		for (struct entry *e = bucket_first(old->bucket[b]); e != NULL; e = e->next) {
			struct entry *copy = malloc(entry_size(tuple));

			if (copy == NULL) {
				table_free(new, true);
				return false;
			}
			memcpy(copy, e, entry_size(tuple));
			table_link(new, copy, hash_of(tuple, copy->value));
		}
	}
	for (uint64_t b = 0; b <= new->mask; b++) {
		for (struct entry *e = bucket_first(new->bucket[b]); e != NULL; e = e->next)
			e->rule->entry[e->index].entry = e;
	}
	__atomic_store_n(&tuple->table, new, __ATOMIC_RELEASE);
	rcu_retire(rcu, table_retired, NULL, (uintptr_t)old);
	return true;
}

/* Before the entry can be seen. Of an empty tuple nobody sees any. */
static void
tuple_agree(struct tuple *tuple, const uint64_t *value)
{
	uint64_t agreed;

	if (tuple->shape.words == 0)
		return;
	if (tuple->entries == 0)
		__atomic_store_n(&tuple->common, value[0], __ATOMIC_RELAXED);
	agreed = tuple->entries == 0 ? tuple->shape.word[0].mask
				     : tuple->agreed & ~(value[0] ^ tuple->common);
	__atomic_store_n(&tuple->agreed, agreed, __ATOMIC_RELAXED);
}

bool
tuple_link(struct rcu *rcu, struct tuple *tuple, struct rule *rule, unsigned index,
	   const uint64_t *value)
{
	struct entry *entry = malloc(entry_size(tuple));

	if (entry == NULL)
		return false;
	/* At most one entry for two buckets. */
	if (tuple->entries * 2 > tuple->table->mask &&
	    !tuple_resize(rcu, tuple, (tuple->table->mask + 1) * 4)) {
		free(entry);
		return false;
	}
	*entry = (struct entry){.rule = rule, .rank = rule->rank, .index = index};
	memcpy(entry->value, value, tuple->shape.words * sizeof(uint64_t));
	rule->entry[index] = (struct entry_ref){tuple, entry};
	tuple_agree(tuple, value);
	table_link(tuple->table, entry, hash_of(tuple, value));
	tuple->entries++;
	return true;
}

void
tuple_unlink(struct rcu *rcu, struct tuple *tuple, struct entry *entry)
{
	uint64_t *bucket = &tuple->table->bucket[hash_of(tuple, entry->value) & tuple->table->mask];
	struct entry *first = bucket_first(*bucket), *before = NULL;
	uint64_t bits = 0;

	for (struct entry *e = first; e != NULL; e = e->next) {
		if (e->next == entry)
			before = e;
		if (e != entry)
			bits |= UINT64_C(1) << (hash_of(tuple, e->value) >> 28);
	}
	if (before != NULL)
		__atomic_store_n(&before->next, entry->next, __ATOMIC_RELEASE);
	else
		first = entry->next;
	__atomic_store_n(bucket, bucket_make(first, bits), __ATOMIC_RELEASE);
	tuple->entries--;
	tuple->unlinked++;
	if (tuple->table->mask >= BUCKETS_MIN && tuple->entries * 32 < tuple->table->mask)
		tuple_resize(rcu, tuple, RTE_MAX((tuple->table->mask + 1) / 8, BUCKETS_MIN));
}

unsigned
tuple_ranged(const struct tuple *tuple, const uint64_t *value)
{
	const struct table *table = tuple->table;
	const struct entry *e = bucket_first(table->bucket[hash_of(tuple, value) & table->mask]);
	size_t size = tuple->shape.words * sizeof(uint64_t);
	unsigned n = 0;

	for (; e != NULL; e = e->next)
		n += e->rule->ranges != 0 && memcmp(e->value, value, size) == 0;
	return n;
}

/* All entries are looked at; so only when as many as an eighth of them have gone since. */
bool
tuple_refresh_best(struct tuple *tuple)
{
	struct rank best = {UINT64_MAX, UINT32_MAX}, was = tuple->best;

	if (tuple->unlinked * 8 <= tuple->entries)
		return false;
	for (uint64_t b = 0; b <= tuple->table->mask; b++) {
		const struct entry *first = bucket_first(tuple->table->bucket[b]);

		if (first != NULL && rank_before(&first->rank, &best))
			best = first->rank;
	}
	tuple->best = best;
	tuple->unlinked = 0;
	return best.priority != was.priority || best.age != was.age;
}
