/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLASSIFY_SEARCH_H
#define CLASSIFY_SEARCH_H

/**
 * @file
 * A chunk of a burst through one tuple: hash, bucket, entries. For lookup.c, which includes it.
 */

#include <string.h>

#include "parse.h"

struct chunk {
	struct headers headers;
	uint64_t version;
	bool again;			       /* not the first search: */
	struct rank after[CHUNK];	       /* only rules that come later */
	const struct rule *found[CHUNK];       /* in this search */
	const struct rule_group *group[CHUNK]; /* to be searched */
	uint8_t jumps[CHUNK];
};

static inline uint64_t
load64(const uint8_t *p)
{
	uint64_t x;

	memcpy(&x, p, sizeof(x));
	return x;
}

/* --- one entry ---------------------------------------------------------------------- */

/* Does the field lie between low and high? */
static bool
range_holds(const struct range_test *range, const uint8_t *layer)
{
	const uint8_t *p = layer + range->offset;
	bool above = false, below = false;

	for (unsigned i = 0; i < range->size && !(above && below); i++) {
		uint8_t byte = p[i] & range->mask[i];

		if ((!above && byte < range->low[i]) || (!below && byte > range->high[i]))
			return false;
		above |= byte > range->low[i];
		below |= byte < range->high[i];
	}
	return true;
}

static bool
entry_holds(const struct chunk *c, unsigned i, const struct tuple *tuple, const struct entry *entry)
{
	const struct rule *rule = entry->rule;

	for (unsigned w = 0; w < tuple->shape.words; w++) {
		const struct shape_word *word = &tuple->shape.word[w];

		if ((load64(c->headers.at[word->layer][i] + word->offset) & word->mask) !=
		    entry->value[w])
			return false;
	}
	if (rule->born > c->version || __atomic_load_n(&rule->died, __ATOMIC_RELAXED) <= c->version)
		return false;
	for (unsigned r = 0; r < rule->ranges; r++) {
		if (!range_holds(&rule->range[r], c->headers.at[rule->range[r].layer][i]))
			return false;
	}
	return true;
}

/* The first entry from `entry` on that holds and comes after what has been applied, unless what is
 * found already comes before it. */
static void
bucket_search(struct chunk *c, unsigned i, const struct tuple *tuple, const struct entry *entry)
{
	const struct rule *found = c->found[i];

	for (; entry != NULL; entry = __atomic_load_n(&entry->next, __ATOMIC_ACQUIRE)) {
		if (found != NULL && !rank_before(&entry->rank, &found->rank))
			return;
		if (c->again && !rank_before(&c->after[i], &entry->rank))
			continue;
		if (entry_holds(c, i, tuple, entry)) {
			c->found[i] = entry->rule;
			return;
		}
	}
}

/* --- one tuple ---------------------------------------------------------------------- */

/* Entries to be looked at, one a place. */
struct candidates {
	unsigned n;
	uint8_t place[CHUNK];
	const struct entry *first[CHUNK];
};

/* May the packet match an entry at all? */
static inline bool
agrees(uint64_t first_word, uint64_t common, uint64_t agreed)
{
	return ((first_word ^ common) & agreed) == 0;
}

static inline uint32_t
packet_hash(const struct chunk *c, unsigned i, const struct shape *shape)
{
	uint32_t hash = HASH_BEGIN;

	for (unsigned w = 0; w < shape->words; w++) {
		const struct shape_word *word = &shape->word[w];

		hash = hash_word(hash,
				 load64(c->headers.at[word->layer][i] + word->offset) & word->mask);
	}
	return hash;
}

static inline void
bucket_look(struct candidates *list, unsigned i, uint64_t bucket, uint32_t hash)
{
	const struct entry *first = bucket_first(bucket);

	if (likely(!bucket_may_have(bucket, hash)))
		return;
	rte_prefetch0(first);
	list->place[list->n] = (uint8_t)i;
	list->first[list->n++] = first;
}

/* A word of the shape, ready to be read in one packet after the other. */
struct word_reader {
	const uint8_t *const *at; /* of the layer, by place */
	ptrdiff_t offset;
	uint64_t mask;
};

#define NEAR_WORDS 3

/* A table that stays in the nearest cache. Of few words everything is in registers. dense: the
 * places are 0 to n - 1, and all have the headers. */
static __rte_always_inline void
near_search(const struct chunk *c, const struct tuple *tuple, const struct table *table,
	    const uint8_t *places, unsigned n, bool dense, unsigned words, struct candidates *list)
{
	const uint32_t present = tuple->shape.present, present_mask = tuple->shape.present_mask;
	const uint64_t mask = table->mask;
	const uint64_t agreed = __atomic_load_n(&tuple->agreed, __ATOMIC_RELAXED);
	const uint64_t common = __atomic_load_n(&tuple->common, __ATOMIC_RELAXED);
	struct word_reader reader[NEAR_WORDS];

	for (unsigned w = 0; w < words && words <= NEAR_WORDS; w++) {
		const struct shape_word *word = &tuple->shape.word[w];

		reader[w] =
			(struct word_reader){c->headers.at[word->layer], word->offset, word->mask};
	}
	for (unsigned k = 0; k < n; k++) {
		unsigned i = dense ? k : places[k];
		uint32_t hash = HASH_BEGIN;

		if (!dense && unlikely((c->headers.present[i] & present_mask) != present))
			continue;
		if (words <= NEAR_WORDS &&
		    likely(!agrees(load64(reader[0].at[i] + reader[0].offset), common, agreed)))
			continue;
		if (words > NEAR_WORDS)
			hash = packet_hash(c, i, &tuple->shape);
		for (unsigned w = 0; w < words && words <= NEAR_WORDS; w++)
			hash = hash_word(hash, load64(reader[w].at[i] + reader[w].offset) &
						       reader[w].mask);
		bucket_look(list, i, __atomic_load_n(&table->bucket[hash & mask], __ATOMIC_ACQUIRE),
			    hash);
	}
}

/* One that does not: buckets of all packets are fetched before the first is needed. */
static void
far_search(const struct chunk *c, const struct tuple *tuple, const struct table *table,
	   const uint8_t *places, unsigned n, struct candidates *list)
{
	const uint32_t present = tuple->shape.present, mask = tuple->shape.present_mask;
	const struct shape_word *word = &tuple->shape.word[0];
	const uint64_t agreed = __atomic_load_n(&tuple->agreed, __ATOMIC_RELAXED);
	const uint64_t common = __atomic_load_n(&tuple->common, __ATOMIC_RELAXED);
	uint32_t hashes[CHUNK];
	uint8_t asked[CHUNK];
	unsigned m = 0;

	for (unsigned k = 0; k < n; k++) {
		unsigned i = places[k];

		if (unlikely((c->headers.present[i] & mask) != present))
			continue;
		if (tuple->shape.words != 0 &&
		    !agrees(load64(c->headers.at[word->layer][i] + word->offset), common, agreed))
			continue;
		hashes[m] = packet_hash(c, i, &tuple->shape);
		rte_prefetch0(&table->bucket[hashes[m] & table->mask]);
		asked[m++] = (uint8_t)i;
	}
	for (unsigned k = 0; k < m; k++)
		bucket_look(
			list, asked[k],
			__atomic_load_n(&table->bucket[hashes[k] & table->mask], __ATOMIC_ACQUIRE),
			hashes[k]);
}

static __rte_always_inline void
near_words(const struct chunk *c, const struct tuple *tuple, const struct table *table,
	   const uint8_t *places, unsigned n, bool dense, struct candidates *list)
{
	if (tuple->shape.words == 1)
		near_search(c, tuple, table, places, n, dense, 1, list);
	else if (tuple->shape.words == 2)
		near_search(c, tuple, table, places, n, dense, 2, list);
	else if (tuple->shape.words == 3)
		near_search(c, tuple, table, places, n, dense, 3, list);
	else
		near_search(c, tuple, table, places, n, dense, SHAPE_WORDS_MAX, list);
}

/* dense: the places are 0 to n - 1, and all have the same headers. True: something has been found.
 */
static inline bool
tuple_search(struct chunk *c, const struct tuple *tuple, const uint8_t *places, unsigned n,
	     bool dense)
{
	const struct table *table = __atomic_load_n(&tuple->table, __ATOMIC_ACQUIRE);
	struct candidates list;
	bool found = false;

	list.n = 0;
	if (dense && (c->headers.present[0] & tuple->shape.present_mask) != tuple->shape.present)
		return false;
	if (table->mask >= TABLE_NEAR)
		far_search(c, tuple, table, places, n, &list);
	else if (dense)
		near_words(c, tuple, table, places, n, true, &list);
	else
		near_words(c, tuple, table, places, n, false, &list);
	for (unsigned k = 0; k < list.n; k++) {
		bucket_search(c, list.place[k], tuple, list.first[k]);
		found |= c->found[list.place[k]] != NULL;
	}
	return found;
}

#endif
