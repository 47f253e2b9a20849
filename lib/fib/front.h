/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FIB_FRONT_H
#define FIB_FRONT_H

/**
 * @file
 * The exact-match tables in front of an IPv6 trie: one per prefix length, each
 * with open addressing over buckets of one cache line (struct fib_bucket).
 *
 * A key is published by the store of its value and never moves: deleting it
 * leaves its slot marked, for nothing but the same key again. When a table is
 * crowded, or nearly empty, a new one is filled and takes its place.
 *
 * Control thread only.
 */

#include "arena.h"
#include "record.h"

struct front_table {
	unsigned len;
	uint32_t live;	/**< keys */
	uint32_t used;	/**< slots, with those of deleted keys */
	uint32_t index; /**< number of the first bucket */
	uint32_t mask;	/**< buckets - 1 */
};

struct front {
	struct fib_arena *arena;
	uint32_t *published; /**< as in struct fib_reader */
	unsigned count;
	struct front_table tables[FIB_FRONT_TABLES]; /**< longest prefixes first */
};

/** Add the key or replace its value (with FIB_FRONT_LONGER or not). 0, or -ENOSPC with nothing
 * changed: no memory, or too many different lengths. */
int front_set(struct front *front, struct fib_key key, unsigned len, uint32_t value);
/** Does nothing if it is not there. */
void front_unset(struct front *front, struct fib_key key, unsigned len);
/** In shorter keys that cover this prefix: is the trie to be asked? Tells by `longer`. */
void front_mark(struct front *front, struct fib_key key, unsigned len,
		bool (*longer)(const void *ctx, struct fib_key key, unsigned len), const void *ctx);
void front_clear(struct front *front);

#endif
