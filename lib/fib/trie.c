/* SPDX-License-Identifier: BSD-3-Clause */
#include "trie.h"

#include <errno.h>

#include "node.h"

/*
 * The trie that workers read, here for IPv4 with a small root:
 *
 *     root  ┌──────────────────────────────┐   value of 0.0.0.0/0 beside it
 *           ▼
 *     byte 0   │ 0 │ 10 ●│ 11 │ 0 ...      │   /1 to /8:   10.0.0.0/8 -> B, 11.0.0.0/8
 *                     │
 *     byte 1          ▼ fallback B
 *              │ 0 │ 1 ●│ 0 │ 64..127 │ 0  │   /9 to /16:  10.64.0.0/10
 *                     │
 *     byte 2          ▼ fallback 0
 *              │ 0 │ 2  │ 0 ...            │   /17 to /24: 10.1.2.0/24
 *
 * A slot holds the longest prefix that ends in *this* byte and covers it, or
 * a child. Where it holds a child, that prefix stands in the child as its
 * fallback. The reader remembers the last it met that wasn't 0, so that a
 * change to a short prefix touches one node (and the fallbacks of its
 * children), not all that is below it.
 *
 * Each address is answered by one word, that of its longest prefix. Whatever
 * a change does, for any address it alters one word, or swaps one reference
 * to nodes with the same words and that one altered: so a reader sees the
 * table before or after.
 *
 * With many prefixes the root is 65,536 slots for bytes 0 and 1 together.
 * They are changed in place, a node's too as long as its runs stay the same;
 * otherwise the node is built anew.
 *
 * An IPv6 node may skip bytes in which no prefix ends or parts; the reader
 * compares them on arrival.
 */

#define STEPS_MAX 17

/* Where a change takes place. */
struct place {
	uint32_t ref;	/* what hangs there */
	unsigned depth; /* bytes read above it */
	unsigned count; /* nodes passed on the way */
	uint32_t *top;	/* direct root: the slot the way began at */
	struct step steps[STEPS_MAX];
};

static uint32_t
root_ref(const struct trie *trie)
{
	return (uint32_t)*trie->root;
}

static void
root_store(struct trie *trie, uint32_t ref, uint32_t value)
{
	__atomic_store_n(trie->root, (uint64_t)value << 32 | ref, __ATOMIC_RELEASE);
}

static uint32_t
root_value(const struct trie *trie)
{
	return (uint32_t)(*trie->root >> 32);
}

static uint32_t *
direct_slots(const struct trie *trie)
{
	uint32_t ref = root_ref(trie);

	return (ref & FIB_CHILD) && (ref & FIB_DIRECT) ? arena_at(trie->arena, ref) : NULL;
}

/* --- Filling the slots a prefix covers ------------------------------------- */

static void
paint_gap(void *ctx, uint32_t first, uint32_t last)
{
	struct paint *paint = ctx;

	for (uint32_t i = first; i <= last; i++)
		paint->slots[i / 64] |= 1ull << (i % 64);
}

static void
paint_prepare(const struct trie *trie, struct fib_key key, unsigned len, unsigned pos,
	      uint32_t value, struct paint *paint)
{
	*paint = (struct paint){.value = value};
	record_gaps(trie->record, key, len, 8 * pos + 8, 0xff, paint_gap, paint);
}

static void
set_fallback(const struct trie *trie, uint32_t ref, uint32_t value)
{
	node_set_fallback(arena_at(trie->arena, ref), (ref & FIB_WIDE) != 0, value);
}

/* A child keeps its place. Returns whether there is one. */
static bool
paint_slots(const struct paint *paint, uint32_t slots[NODE_SLOTS])
{
	uint32_t seen = 0;

	for (unsigned word = 0; word < NODE_SLOTS / 64; word++) {
		for (uint64_t bits = paint->slots[word]; bits != 0; bits &= bits - 1) {
			uint32_t *slot = &slots[word * 64 + (unsigned)__builtin_ctzll(bits)];

			seen |= *slot;
			if ((*slot & FIB_CHILD) == 0)
				*slot = paint->value;
		}
	}
	return (seen & FIB_CHILD) != 0;
}

/* Once the change is published, its children get their fallback. */
static void
paint_children(const struct trie *trie, const struct paint *paint, const uint32_t slots[NODE_SLOTS])
{
	for (unsigned i = 0; i < NODE_SLOTS; i++)
		if (paint_has(paint, i) && (slots[i] & FIB_CHILD))
			set_fallback(trie, slots[i], paint->value);
}

struct direct_paint {
	struct trie *trie;
	uint32_t *slots;
	uint32_t value;
};

static void
paint_direct_gap(void *ctx, uint32_t first, uint32_t last)
{
	struct direct_paint *paint = ctx;

	for (uint32_t i = first; i <= last; i++) {
		if (paint->slots[i] & FIB_CHILD)
			set_fallback(paint->trie, paint->slots[i], paint->value);
		else
			__atomic_store_n(&paint->slots[i], paint->value, __ATOMIC_RELEASE);
	}
}

static void
paint_direct(struct trie *trie, struct fib_key key, unsigned len, uint32_t value)
{
	struct direct_paint paint = {trie, direct_slots(trie), value};

	record_gaps(trie->record, key, len, 16, 0xffff, paint_direct_gap, &paint);
}

/* --- Publishing ------------------------------------------------------------ */

/*
 * What hangs at the place becomes ref. Parents whose shape changes by this are
 * built anew too, up to the first that can be changed in place.
 */
static int
publish(struct edit *edit, struct place *place, uint32_t ref)
{
	struct trie *trie = edit->trie;
	uint32_t slots[NODE_SLOTS + 1] = {0};

	while (place->count > 0) {
		struct step *parent = &place->steps[--place->count];
		uint32_t *entry = step_entry(trie, parent);

		if (ref & *entry & FIB_CHILD) {
			__atomic_store_n(entry, ref, __ATOMIC_RELEASE);
			return 0;
		}
		node_unfold(parent->node, parent->wide, trie->header, slots);
		slots[parent->slot] = ref;
		if (!node_settle(edit, parent, slots, NULL, &ref))
			return edit_undo(edit);
		if (ref == parent->ref)
			return 0;
	}
	if (place->top != NULL)
		__atomic_store_n(place->top, ref, __ATOMIC_RELEASE);
	else if (ref & FIB_CHILD)
		root_store(trie, ref, root_value(trie));
	else
		root_store(trie, 0, root_value(trie));
	return 0;
}

/* --- Finding the place ----------------------------------------------------- */

/*
 * Go down towards byte `pos`. Stops at the node for it, at a value, or at a
 * node that skips a byte in which the key parts from it or ends.
 * Returns the byte up to which the way is the key's.
 */
static unsigned
find_place(struct trie *trie, struct fib_key key, unsigned pos, struct place *place)
{
	uint32_t *direct = direct_slots(trie);

	place->ref = root_ref(trie);
	place->depth = 0;
	place->count = 0;
	place->top = NULL;
	if (direct != NULL) {
		place->top = &direct[key_slot(key, 16, 0xffff)];
		place->ref = *place->top;
		place->depth = 2;
	}
	while (place->ref & FIB_CHILD) {
		struct step step = step_at(trie, place->ref, place->depth);
		unsigned agree = step_agree(trie, &step, key);

		if (agree < step.pos || step.pos >= pos)
			return agree < pos ? agree : pos;
		step.slot = key_byte(key, step.pos);
		place->steps[place->count++] = step;
		place->ref = *step_entry(trie, &step);
		place->depth = step.pos + 1;
	}
	return place->depth;
}

/*
 * A new node for byte pos below a place that holds a value, with nodes between
 * if that is more than one may skip. 0: no room.
 */
static uint32_t
build_down(struct edit *edit, unsigned depth, unsigned pos, uint32_t fallback,
	   const struct paint *paint)
{
	uint32_t slots[NODE_SLOTS + 1] = {0};
	unsigned skip = edit->trie->skip, at = pos;

	if (pos - depth > skip) {
		/* From below: the value stays with the uppermost. */
		at = depth + skip;
		slots[key_byte(edit->key, at)] = build_down(edit, at + 1, pos, 0, paint);
		if (slots[key_byte(edit->key, at)] == 0)
			return 0;
	} else {
		paint_slots(paint, slots);
	}
	return node_new(edit, depth, at, fallback, slots);
}

/* A new node for byte `part` above one that skips it. 0: no room. */
static uint32_t
build_above(struct edit *edit, const struct place *place, unsigned part, unsigned pos,
	    const struct paint *paint)
{
	struct trie *trie = edit->trie;
	struct step step = step_at(trie, place->ref, place->depth);
	struct fib_key key = node_key(trie, &step, edit->key);
	uint32_t slots[NODE_SLOTS + 1] = {0};
	unsigned slot = key_byte(key, part);
	uint32_t fallback = 0;

	if (part == pos) {
		paint_slots(paint, slots);
		if (paint_has(paint, slot))
			fallback = paint->value;
	} else {
		unsigned own = key_byte(edit->key, part);

		slots[own] = build_down(edit, part + 1, pos, 0, paint);
		if (slots[own] == 0)
			return 0;
	}
	slots[slot] = node_move(edit, &step, key, part + 1, fallback);
	if (slots[slot] == 0)
		return 0;
	return node_new(edit, place->depth, part, step_fallback(&step), slots);
}

/* The node at the place is the one the prefix ends in. */
static int
repaint(struct edit *edit, struct place *place, const struct paint *paint)
{
	struct trie *trie = edit->trie;
	struct step step = step_at(trie, place->ref, place->depth);
	uint32_t slots[NODE_SLOTS + 1], ref;
	bool children;
	int rc = 0;

	node_unfold(step.node, step.wide, trie->header, slots);
	slots[NODE_SLOTS] = 0;
	children = paint_slots(paint, slots);
	if (!node_settle(edit, &step, slots, paint, &ref))
		return edit_undo(edit);
	if (ref != step.ref)
		rc = publish(edit, place, ref);
	if (rc == 0 && children)
		paint_children(trie, paint, slots);
	return rc;
}

/* --- The public half ------------------------------------------------------- */

int
trie_set(struct trie *trie, struct fib_key key, unsigned len, uint32_t value)
{
	unsigned pos = len == 0 ? 0 : (len - 1) / 8, part;
	struct edit edit = {.trie = trie, .key = key};
	struct place place;
	struct paint paint;
	uint32_t ref;
	int rc;

	if (len == 0) {
		root_store(trie, root_ref(trie), value);
		return 0;
	}
	if (len <= 16 && direct_slots(trie) != NULL) {
		paint_direct(trie, key, len, value);
		return 0;
	}
	paint_prepare(trie, key, len, pos, value, &paint);
	part = find_place(trie, key, pos, &place);
	if (place.ref & FIB_CHILD && step_at(trie, place.ref, place.depth).pos == part) {
		rc = repaint(&edit, &place, &paint);
	} else {
		ref = place.ref & FIB_CHILD
			      ? build_above(&edit, &place, part, pos, &paint)
			      : build_down(&edit, place.depth, pos, place.ref, &paint);
		rc = ref == 0 ? edit_undo(&edit) : publish(&edit, &place, ref);
	}
	if (rc == 0)
		edit_done(&edit);
	return rc;
}

/* What stands in a slot when the prefix is gone: the next shorter that ends in the same node. */
static uint32_t
next_shorter(const struct trie *trie, struct fib_key key, unsigned len, unsigned above)
{
	const struct record_leaf *leaf = record_match(trie->record, key, len - 1);

	return leaf != NULL && leaf->len > above ? leaf->value : 0;
}

int
trie_unset(struct trie *trie, struct fib_key key, unsigned len)
{
	unsigned pos = len == 0 ? 0 : (len - 1) / 8;
	struct edit edit = {.trie = trie, .key = key};
	struct place place;
	struct paint paint;
	int rc;

	if (len == 0) {
		root_store(trie, root_ref(trie), 0);
		return 0;
	}
	if (len <= 16 && direct_slots(trie) != NULL) {
		paint_direct(trie, key, len, next_shorter(trie, key, len, 0));
		return 0;
	}
	paint_prepare(trie, key, len, pos, next_shorter(trie, key, len, 8 * pos), &paint);
	find_place(trie, key, pos, &place);
	rc = repaint(&edit, &place, &paint);
	if (rc == 0)
		edit_done(&edit);
	return rc;
}

void
trie_clear(struct trie *trie)
{
	uint32_t ref = root_ref(trie);

	root_store(trie, 0, 0);
	if (ref != 0)
		nodes_release(trie, ref);
}

static bool
direct_wanted(const struct trie *trie, bool direct)
{
	unsigned steps = trie->arena->directs / TRIE_DIRECT_CROWD;

	if (direct)
		return trie->record->count >= TRIE_DIRECT_DOWN;
	if (steps > TRIE_DIRECT_STEPS)
		steps = TRIE_DIRECT_STEPS;
	return trie->record->count >= TRIE_DIRECT_UP << (2 * steps);
}

void
trie_fit_root(struct trie *trie)
{
	bool direct = direct_slots(trie) != NULL;
	uint32_t index;
	const struct record_leaf *leaf;
	uint64_t root = 0;
	struct trie other = *trie;

	if (direct_wanted(trie, direct) == direct)
		return;
	other.root = &root;
	other.private = true;
	if (!direct) {
		index = heap_alloc(&trie->arena->nodes, 65536 * sizeof(uint32_t));
		if (index == 0)
			return;
		memset(arena_at(trie->arena, index), 0, 65536 * sizeof(uint32_t));
		root = FIB_CHILD | FIB_DIRECT | index;
		trie->arena->directs++;
	}
	leaf = record_next(trie->record, NULL, 0);
	while (leaf != NULL) {
		struct fib_key key = record_key(trie->record, leaf);

		if (trie_set(&other, key, leaf->len, leaf->value) != 0) {
			trie_clear(&other);
			return;
		}
		leaf = record_next(trie->record, &key, leaf->len);
	}
	index = root_ref(trie);
	__atomic_store_n(trie->root, root, __ATOMIC_RELEASE);
	if (index != 0)
		nodes_release(trie, index);
}
