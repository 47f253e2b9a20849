/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FIB_TRIE_H
#define FIB_TRIE_H

/**
 * @file
 * Builds and changes what lookup.h reads, from the record. Control thread only.
 */

#include "arena.h"
#include "record.h"

/**
 * From this many prefixes on the root is 65,536 references, 256 KiB; below the
 * other a node again. It takes four times as many prefixes for each 64 tables of an
 * arena that have such a root, up to 4,096: a few tables are fast, thousands
 * stay small.
 */
#define TRIE_DIRECT_UP	  64u
#define TRIE_DIRECT_DOWN  32u
#define TRIE_DIRECT_CROWD 64u
#define TRIE_DIRECT_STEPS 3u

struct trie {
	struct fib_arena *arena;
	const struct record *record;
	uint64_t *root;	 /**< as in struct fib_reader */
	unsigned header; /**< of a node, in bytes */
	unsigned skip;	 /**< bytes a node may skip: 0 for IPv4 */
	bool private;	 /**< no reader knows it yet: nothing waits */
};

/**
 * The prefix, which is in the record, has this value from now on.
 * 0, or -ENOSPC with nothing changed.
 */
int trie_set(struct trie *trie, struct fib_key key, unsigned len, uint32_t value);
/** The prefix, which is in the record still, has no value any more. The same. */
int trie_unset(struct trie *trie, struct fib_key key, unsigned len);
/** Publish an empty trie and retire all nodes. */
void trie_clear(struct trie *trie);
/** Change between a node and 65,536 references as root when the number of prefixes asks for it,
 * and there is room. */
void trie_fit_root(struct trie *trie);

#endif
