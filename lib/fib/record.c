/* SPDX-License-Identifier: BSD-3-Clause */
#include "record.h"

#include <assert.h>

/* A link is the number of a branch, or of a leaf with this bit; 0: nothing. */
#define LEAF 0x80000000u

struct branch {
	uint32_t side[2]; /* prefixes that go on with bit 0, with bit 1 */
	uint32_t route;	  /* the leaf that ends here */
	uint32_t bit;	  /* how many bits all below have in common */
};

static_assert(sizeof(struct branch) == 16, "one unit of the record heap");
static_assert(sizeof(struct record_leaf) == 12, "with an IPv4 key, one unit");

static struct record_leaf *
leaf_at(const struct record *record, uint32_t link)
{
	return heap_at(record->heap, link & ~LEAF);
}

static struct branch *
branch_at(const struct record *record, uint32_t link)
{
	return heap_at(record->heap, link);
}

struct fib_key
record_key(const struct record *record, const struct record_leaf *leaf)
{
	struct fib_key key = {(uint64_t)leaf->key[0] << 32, 0};

	if (record->words == 4) {
		key.hi |= leaf->key[1];
		key.lo = (uint64_t)leaf->key[2] << 32 | leaf->key[3];
	}
	return key;
}

void
record_init(struct record *record, struct heap *heap, unsigned words)
{
	*record = (struct record){.heap = heap, .words = words};
}

static void
clear(struct record *record, uint32_t link)
{
	if (link == 0)
		return;
	if ((link & LEAF) == 0) {
		struct branch *b = branch_at(record, link);

		clear(record, b->side[0]);
		clear(record, b->side[1]);
		clear(record, b->route);
	}
	heap_free(record->heap, link & ~LEAF);
}

void
record_clear(struct record *record)
{
	clear(record, record->root);
	record->root = 0;
	record->count = 0;
}

/* Some leaf below: all agree up to the branch. */
static struct record_leaf *
any_leaf(const struct record *record, uint32_t link)
{
	while ((link & LEAF) == 0) {
		const struct branch *b = branch_at(record, link);

		link = b->route != 0 ? b->route : b->side[0] != 0 ? b->side[0] : b->side[1];
	}
	return leaf_at(record, link);
}

/*
 * The bits the prefix has in common with what is nearest to it. Branches are
 * followed without comparing what lies between them, so only the leaf at the
 * end can tell.
 */
static unsigned
common_bits(const struct record *record, struct fib_key key, unsigned len)
{
	const struct record_leaf *leaf;
	uint32_t link = record->root;
	unsigned common;

	while ((link & LEAF) == 0) {
		const struct branch *b = branch_at(record, link);

		if (b->bit >= len || b->side[key_bit(key, b->bit)] == 0)
			break;
		link = b->side[key_bit(key, b->bit)];
	}
	leaf = any_leaf(record, link);
	common = key_common(key, record_key(record, leaf));
	common = common < len ? common : len;
	return common < leaf->len ? common : leaf->len;
}

/* Where the link to the prefix is, or would be. */
static uint32_t *
find_link(struct record *record, struct fib_key key, unsigned len, unsigned common)
{
	uint32_t *link = &record->root;

	while (*link != 0 && (*link & LEAF) == 0) {
		struct branch *b = branch_at(record, *link);

		if (b->bit > common)
			break;
		if (b->bit == len)
			return &b->route;
		link = &b->side[key_bit(key, b->bit)];
	}
	return link;
}

struct record_leaf *
record_find(const struct record *record, struct fib_key key, unsigned len)
{
	uint32_t link = record->root;
	struct record_leaf *leaf;

	while (link != 0 && (link & LEAF) == 0) {
		const struct branch *b = branch_at(record, link);

		if (b->bit > len)
			return NULL;
		link = b->bit == len ? b->route : b->side[key_bit(key, b->bit)];
	}
	if (link == 0)
		return NULL;
	leaf = leaf_at(record, link);
	return leaf->len == len && key_equal(record_key(record, leaf), key) ? leaf : NULL;
}

static uint32_t
new_leaf(struct record *record, struct fib_key key, unsigned len)
{
	uint32_t number = heap_alloc(record->heap, sizeof(struct record_leaf) + record->words * 4);
	struct record_leaf *leaf = leaf_at(record, number);

	if (number == 0)
		return 0;
	*leaf = (struct record_leaf){.len = (uint8_t)len};
	leaf->key[0] = (uint32_t)(key.hi >> 32);
	if (record->words == 4) {
		leaf->key[1] = (uint32_t)key.hi;
		leaf->key[2] = (uint32_t)(key.lo >> 32);
		leaf->key[3] = (uint32_t)key.lo;
	}
	return number | LEAF;
}

/* Hang the link below the branch: as its route, or on a side. */
static void
hang(const struct record *record, struct branch *b, uint32_t link)
{
	const struct record_leaf *leaf = any_leaf(record, link);

	if ((link & LEAF) != 0 && leaf->len == b->bit)
		b->route = link;
	else
		b->side[key_bit(record_key(record, leaf), b->bit)] = link;
}

struct record_leaf *
record_add(struct record *record, struct fib_key key, unsigned len)
{
	uint32_t leaf = new_leaf(record, key, len);
	unsigned common;
	uint32_t *link;

	if (leaf == 0)
		return NULL;
	common = record->root == 0 ? 0 : common_bits(record, key, len);
	link = find_link(record, key, len, common);
	if (*link == 0) {
		*link = leaf;
	} else {
		uint32_t number = heap_alloc(record->heap, sizeof(struct branch));
		struct branch *b = branch_at(record, number);

		if (number == 0) {
			heap_free(record->heap, leaf & ~LEAF);
			return NULL;
		}
		*b = (struct branch){.bit = common};
		hang(record, b, *link);
		hang(record, b, leaf);
		*link = number;
	}
	record->count++;
	return leaf_at(record, leaf);
}

void
record_remove(struct record *record, struct fib_key key, unsigned len)
{
	uint32_t *link = &record->root, *above = NULL;
	struct branch *b;
	uint32_t rest;

	while ((*link & LEAF) == 0) {
		b = branch_at(record, *link);
		above = link;
		link = b->bit == len ? &b->route : &b->side[key_bit(key, b->bit)];
	}
	heap_free(record->heap, *link & ~LEAF);
	*link = 0;
	record->count--;
	if (above == NULL)
		return;
	/* A branch with one thing left below it is not one. */
	b = branch_at(record, *above);
	if ((b->side[0] != 0) + (b->side[1] != 0) + (b->route != 0) > 1)
		return;
	rest = b->side[0] | b->side[1] | b->route;
	heap_free(record->heap, *above);
	*above = rest;
}

const struct record_leaf *
record_match(const struct record *record, struct fib_key key, unsigned max_len)
{
	const struct record_leaf *best = NULL, *leaf;
	uint32_t link = record->root, route;

	while (link != 0) {
		const struct branch *b = NULL;

		route = link;
		if ((link & LEAF) == 0) {
			b = branch_at(record, link);
			route = b->route;
			if (b->bit > max_len)
				break;
		}
		if (route != 0) {
			leaf = leaf_at(record, route);
			if (leaf->len > max_len ||
			    key_common(key, record_key(record, leaf)) < leaf->len)
				break;
			best = leaf;
		}
		if (b == NULL || b->bit == record->words * 32)
			break;
		link = b->side[key_bit(key, b->bit)];
	}
	return best;
}

/* The first in order below the link. */
static const struct record_leaf *
first_leaf(const struct record *record, uint32_t link)
{
	return link == 0 ? NULL : any_leaf(record, link);
}

const struct record_leaf *
record_next(const struct record *record, const struct fib_key *after, unsigned len)
{
	uint32_t link = record->root, later = 0;
	unsigned common;

	if (link == 0 || after == NULL)
		return first_leaf(record, link);
	common = common_bits(record, *after, len);
	while (link != 0 && (link & LEAF) == 0) {
		const struct branch *b = branch_at(record, link);

		if (b->bit > common)
			break;
		if (b->bit == len) {
			link = b->side[0] != 0 ? b->side[0] : b->side[1];
			return first_leaf(record, link != 0 ? link : later);
		}
		if (key_bit(*after, b->bit) == 0 && b->side[1] != 0)
			later = b->side[1];
		link = b->side[key_bit(*after, b->bit)];
	}
	/* All below the link come after the prefix, or none does. */
	if (link != 0) {
		const struct record_leaf *leaf = any_leaf(record, link);
		struct fib_key key = record_key(record, leaf);

		if (common == len ? leaf->len > len
				  : leaf->len > common && key_bit(key, common) != 0)
			return first_leaf(record, link);
	}
	return first_leaf(record, later);
}

/* The link to what the prefix covers, itself included; 0: nothing. */
static uint32_t
below(const struct record *record, struct fib_key key, unsigned len)
{
	uint32_t link = record->root;
	const struct record_leaf *leaf;

	while (link != 0 && (link & LEAF) == 0) {
		const struct branch *b = branch_at(record, link);

		if (b->bit >= len)
			break;
		link = b->side[key_bit(key, b->bit)];
	}
	if (link == 0)
		return 0;
	leaf = any_leaf(record, link);
	return leaf->len >= len && key_common(key, record_key(record, leaf)) >= len ? link : 0;
}

bool
record_has_longer(const struct record *record, struct fib_key key, unsigned len)
{
	uint32_t link = below(record, key, len);

	if (link == 0)
		return false;
	return (link & LEAF) == 0 || leaf_at(record, link)->len > len;
}

struct gaps {
	const struct record *record;
	unsigned len;
	unsigned max_len;
	uint32_t mask;
	uint32_t next; /* slots before this one are done */
	record_gap_fn fn;
	void *ctx;
};

static void
walk_gaps(struct gaps *g, uint32_t link)
{
	const struct record_leaf *leaf;
	uint32_t first;

	if (link == 0)
		return;
	if ((link & LEAF) == 0) {
		const struct branch *b = branch_at(g->record, link);

		if (b->bit > g->max_len)
			return;
		if (b->route == 0 || b->bit == g->len) {
			walk_gaps(g, b->side[0]);
			walk_gaps(g, b->side[1]);
			return;
		}
		link = b->route;
	}
	leaf = leaf_at(g->record, link);
	if (leaf->len > g->max_len || leaf->len == g->len)
		return;
	first = key_slot(record_key(g->record, leaf), g->max_len, g->mask);
	if (first > g->next)
		g->fn(g->ctx, g->next, first - 1);
	g->next = first + (1u << (g->max_len - leaf->len));
}

void
record_gaps(const struct record *record, struct fib_key key, unsigned len, unsigned max_len,
	    uint32_t mask, record_gap_fn fn, void *ctx)
{
	uint32_t first = key_slot(key, max_len, mask);
	uint32_t end = first + (1u << (max_len - len));
	struct gaps g = {record, len, max_len, mask, first, fn, ctx};

	walk_gaps(&g, below(record, key, len));
	if (g.next < end)
		fn(ctx, g.next, end - 1);
}
