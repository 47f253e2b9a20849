/* SPDX-License-Identifier: BSD-3-Clause */
#include "node.h"

#include <errno.h>

static struct fib_node6 *
node6(struct fib_node *node)
{
	return (struct fib_node6 *)node;
}

struct step
step_at(const struct trie *trie, uint32_t ref, unsigned depth)
{
	struct step step = {.ref = ref, .depth = depth, .pos = depth};

	step.node = arena_at(trie->arena, ref);
	if (trie->skip != 0)
		step.pos = node6(step.node)->pos;
	return step;
}

static unsigned
skipped_byte(const struct step *step, unsigned byte)
{
	const struct fib_node6 *n = node6(step->node);

	return n->prefix >> (8 * (byte - n->from)) & 0xff;
}

unsigned
step_agree(const struct trie *trie, const struct step *step, struct fib_key key)
{
	unsigned byte = step->depth;

	if (trie->skip == 0)
		return step->pos;
	while (byte < step->pos && skipped_byte(step, byte) == key_byte(key, byte))
		byte++;
	return byte;
}

struct fib_key
node_key(const struct trie *trie, const struct step *step, struct fib_key key)
{
	if (trie->skip != 0)
		for (unsigned byte = step->depth; byte < step->pos; byte++)
			key = key_with_byte(key, byte, skipped_byte(step, byte));
	return key;
}

/* What the node skips when it is reached from that depth. */
static void
set_skipped(struct fib_node6 *n, struct fib_key key, unsigned depth, unsigned pos)
{
	n->pos = (uint8_t)pos;
	n->from = (uint8_t)(depth < 8 ? depth : 8);
	n->half = (uint8_t)(32 - 4 * (pos - n->from));
	n->prefix = 0;
	n->pad = 0;
	for (unsigned byte = n->from; byte < pos; byte++)
		n->prefix |= (uint64_t)key_byte(key, byte) << (8 * (byte - n->from));
}

uint32_t *
node_entry(const struct trie *trie, struct fib_node *node, unsigned slot)
{
	return (uint32_t *)((uint8_t *)node + trie->header) + fib_entry_index(node, slot);
}

void
node_unfold(const struct trie *trie, const struct fib_node *node, uint32_t slots[NODE_SLOTS])
{
	const uint32_t *entry = fib_entries(node, trie->header) + fib_entry_index(node, 0);
	unsigned slot = 0;

	for (unsigned word = 0; word < 4; word++) {
		for (uint64_t ends = node->ends[word]; ends != 0; ends &= ends - 1) {
			unsigned end = word * 64 + (unsigned)__builtin_ctzll(ends);

			while (slot <= end)
				slots[slot++] = *entry;
			entry--;
		}
	}
	while (slot < NODE_SLOTS)
		slots[slot++] = *entry;
}

/* Bit i: slot i differs from the next. There is a slot behind the 64. */
static uint64_t
differences(const uint32_t slots[65])
{
	uint64_t same = 0;

	for (unsigned i = 0; i < 64; i += 4) {
		__m128i a = _mm_loadu_si128((const __m128i *)(const void *)&slots[i]);
		__m128i b = _mm_loadu_si128((const __m128i *)(const void *)&slots[i + 1]);
		int equal = _mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(a, b)));

		same |= (uint64_t)(unsigned)equal << i;
	}
	return ~same;
}

/* The runs of the slots: where they end, and what is in them. Returns how many. */
static unsigned
fold(const uint32_t slots[NODE_SLOTS + 1], struct fib_node *node, uint32_t entries[NODE_SLOTS])
{
	unsigned count = 1;

	entries[0] = slots[NODE_SLOTS - 1];
	for (unsigned word = 4; word-- > 0;) {
		uint64_t ends = differences(&slots[word * 64]);

		if (word == 3)
			ends &= ~(1ull << 63);
		node->after[word] = (uint8_t)(count - 1);
		node->ends[word] = ends;
		while (ends != 0) {
			unsigned bit = 63 - (unsigned)__builtin_clzll(ends);

			entries[count++] = slots[word * 64 + bit];
			ends ^= 1ull << bit;
		}
	}
	return count;
}

static uint32_t
fresh(struct edit *edit, size_t bytes)
{
	uint32_t index = heap_alloc(&edit->trie->arena->nodes, bytes);

	if (index == 0)
		return 0;
	edit->fresh[edit->fresh_count++] = index;
	return index | FIB_CHILD;
}

static uint32_t
node_from(struct edit *edit, unsigned depth, unsigned pos, const struct fib_node *head,
	  const uint32_t *entries, unsigned count)
{
	struct trie *trie = edit->trie;
	uint32_t ref = fresh(edit, trie->header + count * sizeof(*entries));
	struct fib_node *node = arena_at(trie->arena, ref);

	if (ref == 0)
		return 0;
	*node = *head;
	if (trie->skip != 0)
		set_skipped(node6(node), edit->key, depth, pos);
	memcpy((uint8_t *)node + trie->header, entries, count * sizeof(*entries));
	return ref;
}

uint32_t
node_new(struct edit *edit, unsigned depth, unsigned pos, uint32_t fallback,
	 const uint32_t slots[NODE_SLOTS + 1])
{
	struct fib_node head = {.fallback = fallback};
	uint32_t entries[NODE_SLOTS];
	unsigned count = fold(slots, &head, entries);

	return node_from(edit, depth, pos, &head, entries, count);
}

static bool
is_fresh(const struct edit *edit, uint32_t ref)
{
	for (unsigned i = 0; i < edit->fresh_count; i++)
		if (edit->fresh[i] == (ref & FIB_INDEX))
			return true;
	return false;
}

uint32_t
node_move(struct edit *edit, const struct step *step, struct fib_key key, unsigned depth,
	  uint32_t fallback)
{
	struct trie *trie = edit->trie;
	uint32_t ref = step->ref;
	struct fib_node *node;

	if (!is_fresh(edit, ref)) {
		unsigned entries = fib_entry_index(step->node, 0) + 1;
		size_t size = trie->header + entries * sizeof(uint32_t);

		ref = fresh(edit, size);
		if (ref == 0)
			return 0;
		memcpy(arena_at(trie->arena, ref), step->node, size);
		edit_old(edit, step->ref);
	}
	node = arena_at(trie->arena, ref);
	node->fallback = fallback;
	set_skipped(node6(node), key, depth, step->pos);
	return ref;
}

/* The child whose parent is not needed: nothing ends in the parent's byte, nothing parts there,
 * and the bytes to skip are not too many. */
static bool
only_child(const struct edit *edit, const struct step *step, const uint32_t slots[NODE_SLOTS + 1],
	   const struct paint *paint, struct step *child)
{
	int found = -1;
	uint32_t fallback;

	if (edit->trie->skip == 0)
		return false;
	for (unsigned i = 0; i < NODE_SLOTS; i++) {
		if (slots[i] == 0)
			continue;
		if ((slots[i] & FIB_CHILD) == 0 || found >= 0)
			return false;
		found = (int)i;
	}
	if (found < 0)
		return false;
	*child = step_at(edit->trie, slots[found], step->pos + 1);
	child->slot = (unsigned)found;
	fallback = paint != NULL && paint_has(paint, child->slot) ? paint->value
								  : child->node->fallback;
	return fallback == 0 && child->pos - step->depth <= edit->trie->skip;
}

static bool
all_zero(const uint32_t slots[NODE_SLOTS + 1])
{
	uint32_t any = 0;

	for (unsigned i = 0; i < NODE_SLOTS; i++)
		any |= slots[i];
	return any == 0;
}

bool
node_settle(struct edit *edit, const struct step *step, const uint32_t slots[NODE_SLOTS + 1],
	    const struct paint *paint, uint32_t *ref)
{
	struct trie *trie = edit->trie;
	struct fib_node head = {.fallback = step->node->fallback};
	uint32_t entries[NODE_SLOTS];
	struct step child;
	unsigned count;

	if (all_zero(slots)) {
		*ref = head.fallback;
	} else if (only_child(edit, step, slots, paint, &child)) {
		struct fib_key key = key_with_byte(edit->key, step->pos, child.slot);

		key = node_key(trie, &child, key);
		*ref = node_move(edit, &child, key, step->depth, head.fallback);
		if (*ref == 0)
			return false;
	} else {
		count = fold(slots, &head, entries);
		if (memcmp(head.ends, step->node->ends, sizeof(head.ends)) == 0) {
			uint32_t *at = (uint32_t *)((uint8_t *)step->node + trie->header);

			for (unsigned i = 0; i < count; i++)
				if (at[i] != entries[i])
					__atomic_store_n(&at[i], entries[i], __ATOMIC_RELEASE);
			*ref = step->ref;
			return true;
		}
		*ref = node_from(edit, step->depth, step->pos, &head, entries, count);
		if (*ref == 0)
			return false;
	}
	edit_old(edit, step->ref);
	return true;
}

/* --- Transactions ---------------------------------------------------------- */

void
edit_old(struct edit *edit, uint32_t ref)
{
	edit->old[edit->old_count++] = ref & FIB_INDEX;
}

void
edit_done(struct edit *edit)
{
	struct fib_arena *arena = edit->trie->arena;

	for (unsigned i = 0; i < edit->old_count; i++) {
		if (edit->trie->private)
			heap_free(&arena->nodes, edit->old[i]);
		else
			arena_retire(arena, edit->old[i]);
	}
}

int
edit_undo(struct edit *edit)
{
	for (unsigned i = 0; i < edit->fresh_count; i++)
		heap_free(&edit->trie->arena->nodes, edit->fresh[i]);
	return -ENOSPC;
}

/* --- Whole subtrees -------------------------------------------------------- */

/* Visit all nodes below, children first. */
static void
each_node(struct fib_arena *arena, unsigned header, uint32_t ref,
	  void (*fn)(struct fib_arena *arena, uint32_t index))
{
	const uint32_t *entries = arena_at(arena, ref);
	unsigned count = 65536;

	if ((ref & FIB_CHILD) == 0)
		return;
	if ((ref & FIB_DIRECT) == 0) {
		const struct fib_node *node = arena_at(arena, ref);

		entries = fib_entries(node, header);
		count = fib_entry_index(node, 0) + 1;
	}
	for (unsigned i = 0; i < count; i++)
		each_node(arena, header, entries[i], fn);
	fn(arena, ref & FIB_INDEX);
}

static void
count_retired(struct fib_arena *arena, uint32_t index)
{
	arena->retired += heap_size(&arena->nodes, index);
}

static void
free_retired(struct fib_arena *arena, uint32_t index)
{
	arena->retired -= heap_size(&arena->nodes, index);
	heap_free(&arena->nodes, index);
}

static void
free_subtree(void *ctx, uintptr_t what)
{
	each_node(ctx, (unsigned)(what >> 32), (uint32_t)what, free_retired);
}

void
nodes_release(struct trie *trie, uint32_t ref)
{
	uintptr_t what = (uintptr_t)trie->header << 32 | ref;

	if (ref >= (FIB_CHILD | FIB_DIRECT))
		trie->arena->directs--;
	each_node(trie->arena, trie->header, ref, count_retired);
	if (trie->private)
		free_subtree(trie->arena, what);
	else
		rcu_retire(trie->arena->rcu, free_subtree, trie->arena, what);
}
