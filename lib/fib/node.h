/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FIB_NODE_H
#define FIB_NODE_H

/**
 * @file
 * What a change of the trie is made of: nodes made, moved and replaced, and
 * the transaction around them. Control thread only.
 */

#include "fold.h"
#include "trie.h"

/** A change under way: new nodes nobody sees yet, and old ones to go when it is published. */
struct edit {
	struct trie *trie;
	struct fib_key key; /**< of the prefix that changes */
	unsigned fresh_count;
	unsigned old_count;
	uint32_t fresh[64];
	uint32_t old[64];
};

/** A node on the way down. */
struct step {
	void *node;
	uint32_t ref;
	bool wide;
	unsigned depth; /**< bytes of the address read above it */
	unsigned pos;	/**< the byte it chooses by */
	unsigned slot;	/**< the slot taken */
};

/** Which slots a prefix fills, and with what. */
struct paint {
	uint64_t slots[NODE_SLOTS / 64];
	uint32_t value;
};

static inline bool
paint_has(const struct paint *paint, unsigned slot)
{
	return paint->slots[slot / 64] >> (slot % 64) & 1;
}

struct step step_at(const struct trie *trie, uint32_t ref, unsigned depth);
/** How far the key and what the node stands for agree: the first byte that differs, or pos. */
unsigned step_agree(const struct trie *trie, const struct step *step, struct fib_key key);

uint32_t step_fallback(const struct step *step);
/** The entry of the slot taken. */
uint32_t *step_entry(const struct trie *trie, const struct step *step);

/** A reference to a new node; 0: no room. */
uint32_t node_new(struct edit *edit, unsigned depth, unsigned pos, uint32_t fallback,
		  const uint32_t slots[NODE_SLOTS + 1]);
/** A copy of the node at `step` (itself, if it is new) that is reached from another depth, with
 * another fallback; 0: no room. key: what the node stands for. */
uint32_t node_move(struct edit *edit, const struct step *step, struct fib_key key, unsigned depth,
		   uint32_t fallback);
/** The key with the bytes the node skips put in. */
struct fib_key node_key(const struct trie *trie, const struct step *step, struct fib_key key);
/**
 * The node's slots are to be these. Returns what its parent must refer to:
 * the same node if it could be changed in place, a new one, its only child,
 * or its fallback if it is empty. False: no room.
 * paint: fallbacks of children that are about to change.
 */
bool node_settle(struct edit *edit, const struct step *step, const uint32_t slots[NODE_SLOTS + 1],
		 const struct paint *paint, uint32_t *ref);

void edit_old(struct edit *edit, uint32_t ref);
/** Retire what is old. */
void edit_done(struct edit *edit);
/** Free what is new. Returns -ENOSPC. */
int edit_undo(struct edit *edit);

/** Free, or retire if readers know it, all below the root. */
void nodes_release(struct trie *trie, uint32_t root);

#endif
