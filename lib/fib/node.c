/* SPDX-License-Identifier: BSD-3-Clause */
#include "node.h"

#include <errno.h>

uint32_t
step_fallback(const struct step *step)
{
	return node_fallback(step->node, step->wide);
}

struct step
step_at(const struct trie *trie, uint32_t ref, unsigned depth)
{
	struct step step = {.ref = ref, .depth = depth, .pos = depth};

	step.node = arena_at(trie->arena, ref);
	step.wide = (ref & FIB_WIDE) != 0;
	if (trie->skip != 0)
		step.pos = ((struct fib_node6 *)step.node)->pos;
	return step;
}

static unsigned
skipped_byte(const struct step *step, unsigned byte)
{
	const struct fib_node6 *n = step->node;

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
step_entry(const struct trie *trie, const struct step *step)
{
	return node_slot_entry(step->node, step->wide, trie->header, step->slot);
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
node_from(struct edit *edit, unsigned depth, unsigned pos, const struct image *image)
{
	struct trie *trie = edit->trie;
	uint32_t ref = fresh(edit, image->size);
	void *node = arena_at(trie->arena, ref);

	if (ref == 0)
		return 0;
	memcpy(node, image->words, image->size);
	if (trie->skip != 0)
		set_skipped(node, edit->key, depth, pos);
	return image->wide ? ref | FIB_WIDE : ref;
}

/* In the root's reference the bit means another thing; and an IPv6 node has too much beside its
 * slots. */
static bool
may_widen(const struct trie *trie, unsigned depth)
{
	return trie->skip == 0 && depth != 0;
}

uint32_t
node_new(struct edit *edit, unsigned depth, unsigned pos, uint32_t fallback,
	 const uint32_t slots[NODE_SLOTS + 1])
{
	struct image image;

	image_fold(&image, edit->trie->header, may_widen(edit->trie, depth), fallback, slots);
	return node_from(edit, depth, pos, &image);
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
	struct fib_node6 *node;

	/* Only IPv6 nodes move, and they aren't wide. */
	if (!is_fresh(edit, ref)) {
		size_t size = node_size(step->node, false, trie->header);

		ref = fresh(edit, size);
		if (ref == 0)
			return 0;
		memcpy(arena_at(trie->arena, ref), step->node, size);
		edit_old(edit, step->ref);
	}
	node = arena_at(trie->arena, ref);
	node->node.fallback = fallback;
	set_skipped(node, key, depth, step->pos);
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
								  : step_fallback(child);
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

/* Only entries can differ; what an IPv6 node skips is not in the image. */
static void
replace_entries(const struct trie *trie, uint32_t *node, const struct image *image)
{
	unsigned i = image->wide ? 0 : trie->header / sizeof(*node);

	for (; i < image->size / sizeof(*node); i++)
		if (node[i] != image->words[i])
			__atomic_store_n(&node[i], image->words[i], __ATOMIC_RELEASE);
}

bool
node_settle(struct edit *edit, const struct step *step, const uint32_t slots[NODE_SLOTS + 1],
	    const struct paint *paint, uint32_t *ref)
{
	struct trie *trie = edit->trie;
	uint32_t fallback = step_fallback(step);
	struct image image;
	struct step child;

	if (all_zero(slots)) {
		*ref = fallback;
	} else if (only_child(edit, step, slots, paint, &child)) {
		struct fib_key key = key_with_byte(edit->key, step->pos, child.slot);

		key = node_key(trie, &child, key);
		*ref = node_move(edit, &child, key, step->depth, fallback);
		if (*ref == 0)
			return false;
	} else {
		image_fold(&image, trie->header, may_widen(trie, step->depth), fallback, slots);
		if (image_same_shape(&image, step->node, step->wide)) {
			replace_entries(trie, step->node, &image);
			*ref = step->ref;
			return true;
		}
		*ref = node_from(edit, step->depth, step->pos, &image);
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
	uint32_t slots[NODE_SLOTS];

	if ((ref & FIB_CHILD) == 0)
		return;
	/* A child is in one slot only. */
	node_unfold(arena_at(arena, ref), (ref & FIB_WIDE) != 0, header, slots);
	for (unsigned i = 0; i < NODE_SLOTS; i++)
		each_node(arena, header, slots[i], fn);
	fn(arena, ref & FIB_INDEX);
}

static void
each_node_of(struct fib_arena *arena, unsigned header, uint32_t root,
	     void (*fn)(struct fib_arena *arena, uint32_t index))
{
	const uint32_t *direct = arena_at(arena, root);

	if (root < (FIB_CHILD | FIB_DIRECT)) {
		each_node(arena, header, root, fn);
		return;
	}
	for (unsigned i = 0; i < 65536; i++)
		each_node(arena, header, direct[i], fn);
	fn(arena, root & FIB_INDEX);
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
	each_node_of(ctx, (unsigned)(what >> 32), (uint32_t)what, free_retired);
}

void
nodes_release(struct trie *trie, uint32_t root)
{
	uintptr_t what = (uintptr_t)trie->header << 32 | root;

	if (root >= (FIB_CHILD | FIB_DIRECT))
		trie->arena->directs--;
	each_node_of(trie->arena, trie->header, root, count_retired);
	if (trie->private)
		free_subtree(trie->arena, what);
	else
		rcu_retire(trie->arena->rcu, free_subtree, trie->arena, what);
}
