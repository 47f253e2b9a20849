/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FIB_FOLD_H
#define FIB_FOLD_H

/**
 * @file
 * What a node looks like in memory: 256 slots folded into runs, and back.
 *
 *     small node   │ends 0..3│fallback│after│ (IPv6: skip) │entries, last run first ...
 *
 *     wide node    │ends│fallback│entries_at│12 entries   │  slots 0 to 63
 *                  │ends│fallback│entries_at│12 entries   │  slots 64 to 127
 *                  │ends│fallback│entries_at│    ●        │  a quarter of more runs
 *                  │ends│fallback│entries_at│    │        │  slots 192 to 255
 *                  │entries ...  ◄──────────────┘        │
 *
 * A small node is best where a line or two hold it all. A large IPv4 node is
 * wide: one line answers most of its lookups, where a small one would cost a
 * miss for the header and another for the entry.
 *
 * Control thread only.
 */

#include "lookup.h"

/** Where slots are written out there is room for one more, which counts for nothing: folding
 * looks at each slot's neighbour. */
#define NODE_SLOTS 256

/** The largest node: a wide one with 64 runs in each quarter. */
#define IMAGE_WORDS (4 * 16 + NODE_SLOTS)

/** A node as it is to be. */
struct image {
	union {
		struct fib_node node;
		struct fib_node6 node6;
		struct fib_quarter quarters[4];
		uint32_t words[IMAGE_WORDS];
	};
	size_t size; /**< bytes */
	bool wide;
};

/** Fold the slots. header: FIB4_HEADER or FIB6_HEADER. */
void image_fold(struct image *image, unsigned header, bool may_widen, uint32_t fallback,
		const uint32_t slots[NODE_SLOTS + 1]);
/** The reverse, of a node in place. */
void node_unfold(const void *node, bool wide, unsigned header, uint32_t slots[NODE_SLOTS]);

/** Do node and image differ in nothing but the content of entries? */
bool image_same_shape(const struct image *image, const void *node, bool wide);
/** Bytes the node takes. */
size_t node_size(const void *node, bool wide, unsigned header);
/** Where the slot's content is. */
uint32_t *node_slot_entry(void *node, bool wide, unsigned header, unsigned slot);

uint32_t node_fallback(const void *node, bool wide);
/** Readers may be there. */
void node_set_fallback(void *node, bool wide, uint32_t value);

#endif
