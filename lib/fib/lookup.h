/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FIB_LOOKUP_H
#define FIB_LOOKUP_H

/**
 * @file
 * Longest-prefix match, the readers' half: inline, without locks or
 * references. What is declared here beyond the four lookups at the end is for
 * them and for the code that builds the tables (trie.c has the picture).
 *
 * A reference is 32 bits: a value, or FIB_CHILD and the number of a node.
 * Every reference is loaded with acquire order (a plain load on x86), since
 * what it leads to was written just before it was published.
 */

#include <assert.h>
#include <nmmintrin.h>

#include "fib.h"

/** The reference leads to a node. */
#define FIB_CHILD      0x80000000u
/** With FIB_CHILD, in the root only: to 65,536 references, one per first 16 bits. */
#define FIB_DIRECT     0x40000000u
#define FIB_INDEX      0x3fffffffu
/** Nodes are numbered by the cache line. */
#define FIB_UNIT_SHIFT 6

/** What a reader needs of a table; the first member of struct fib4 and fib6. */
struct fib_reader {
	const uint8_t *base; /**< where node 0 would be */
	uint64_t root;       /**< a reference; above it 32 bits: the value of /0 */
	uint32_t front;      /**< IPv6: number of the struct fib_front, 0: none */
};

/**
 * A node chooses by one byte of the address among 256 slots. Slots next to
 * each other with the same content are a run, stored once, in the entries
 * behind the header: references, 0 where no prefix ends in this byte.
 */
struct fib_node {
	uint64_t starts[4]; /**< bit i: slot i begins a run */
	uint32_t fallback;  /**< the longest prefix that ends in the byte of the node above and covers
			     * this node; 0: none */
	uint8_t before[4];  /**< runs that begin before starts[i] */
};

/** An IPv6 node may skip up to 8 bytes in which no prefix ends or parts. */
struct fib_node6 {
	struct fib_node node;
	uint64_t prefix;    /**< the address here from byte `from` on, as it lies in memory */
	uint8_t from;       /**< 0 to 8 */
	uint8_t half;       /**< 32 - 4 * (pos - from): twice this many bits of it don't count */
	uint8_t pos;        /**< the byte to choose by */
	uint8_t pad;
	uint32_t entries[];
};

#define FIB_SKIP_MAX 8
#define FIB4_HEADER  sizeof(struct fib_node)
#define FIB6_HEADER  offsetof(struct fib_node6, entries)
static_assert(FIB4_HEADER == 40, "header and 6 entries in a cache line");
static_assert(FIB6_HEADER == 52, "header and 3 entries in a cache line");

static inline uint32_t
fib_load(const uint32_t *ref)
{
	return __atomic_load_n(ref, __ATOMIC_ACQUIRE);
}

static inline const void *
fib_at(const uint8_t *base, uint32_t ref)
{
	return base + ((uint64_t)(ref & FIB_INDEX) << FIB_UNIT_SHIFT);
}

/** Which entry holds the slot: the runs that have begun up to it, less one. */
static inline unsigned
fib_entry_index(const struct fib_node *node, unsigned slot)
{
	uint64_t begun = node->starts[slot >> 6] << (~slot & 63);

	return node->before[slot >> 6] + (unsigned)__builtin_popcountll(begun) - 1;
}

static inline const uint32_t *
fib_entries(const struct fib_node *node, size_t header)
{
	return (const uint32_t *)((const uint8_t *)node + header);
}

static inline uint32_t
fib_or(uint32_t ref, uint32_t otherwise)
{
	return ref != 0 ? ref : otherwise;
}

static inline uint32_t
fib_fallback(const struct fib_node *node)
{
	return __atomic_load_n(&node->fallback, __ATOMIC_RELAXED);
}

/* --- IPv4 ------------------------------------------------------------------ */

/** The value of the longest prefix that matches, 0 if none. Host order. */
static inline uint32_t
fib4_lookup(const struct fib4 *fib, uint32_t addr)
{
	const struct fib_reader *r = (const struct fib_reader *)fib;
	uint64_t root = __atomic_load_n(&r->root, __ATOMIC_ACQUIRE);
	uint32_t best = (uint32_t)(root >> 32), ref = (uint32_t)root;

	if (ref & FIB_CHILD && ref & FIB_DIRECT) {
		ref = fib_load((const uint32_t *)fib_at(r->base, ref) + (addr >> 16));
		addr <<= 16;
	}
	while (ref & FIB_CHILD) {
		const struct fib_node *node = fib_at(r->base, ref);

		best = fib_or(fib_fallback(node), best);
		ref = fib_load(fib_entries(node, FIB4_HEADER) + fib_entry_index(node, addr >> 24));
		addr <<= 8;
	}
	return fib_or(ref, best);
}

/** n lookups, each in its own table. */
static inline void
fib4_lookup_burst(const struct fib4 *const fibs[], const uint32_t addrs[], uint32_t values[],
		  unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		values[i] = fib4_lookup(fibs[i], addrs[i]);
}

/* --- IPv6 ------------------------------------------------------------------ */

/*
 * The exact-match tables in front of the trie, one for each prefix length
 * that has one, longest first. A bucket is a cache line. A key's slot is its
 * own for the life of the table, so a reader that sees a value sees its key.
 */
#define FIB_FRONT_TABLES 8

struct fib_bucket {
	uint64_t key[3][2]; /**< the address as it lies in memory */
	uint32_t value[3];  /**< 0: never used */
	uint32_t overflow;  /**< keys of this bucket are in the next one too */
};

/** In a bucket's value: a longer prefix, not /128, lies below; the trie decides. */
#define FIB_FRONT_LONGER  0x40000000u
/** In a bucket's value: the key was deleted. */
#define FIB_FRONT_DELETED 0x80000000u

struct fib_front {
	uint32_t count;
	struct {
		uint32_t table;   /**< number of the first bucket */
		uint32_t mask;    /**< buckets - 1 */
		uint64_t bits[2]; /**< the prefix length as a mask */
	} tables[FIB_FRONT_TABLES];
};

static_assert(sizeof(struct fib_bucket) == 64, "a bucket is a cache line");

static inline uint32_t
fib_hash(uint64_t k0, uint64_t k1)
{
	return (uint32_t)_mm_crc32_u64(_mm_crc32_u64(0, k0), k1);
}

/** The value in the bucket or those after it; 0: not there. */
static inline uint32_t
fib_bucket_find(const struct fib_bucket *table, uint32_t mask, uint32_t hash, uint64_t k0,
		uint64_t k1)
{
	for (;; hash++) {
		const struct fib_bucket *b = &table[hash & mask];
		uint32_t found = 0;

		for (unsigned i = 0; i < 3; i++) {
			uint32_t value = fib_load(&b->value[i]);
			uint64_t differ =
				(__atomic_load_n(&b->key[i][0], __ATOMIC_RELAXED) ^ k0) |
				(__atomic_load_n(&b->key[i][1], __ATOMIC_RELAXED) ^ k1);

			found = differ == 0 ? value : found;
		}
		if (found != 0)
			return found == FIB_FRONT_DELETED ? 0 : found;
		if (__atomic_load_n(&b->overflow, __ATOMIC_RELAXED) == 0)
			return 0;
	}
}

/** What the tables in front of the trie know; 0: ask the trie. */
static inline uint32_t
fib6_front_lookup(const struct fib_reader *r, uint32_t number, uint64_t a0, uint64_t a1)
{
	const struct fib_front *front = fib_at(r->base, number);

	for (unsigned i = 0; i < front->count; i++) {
		uint64_t k0 = a0 & front->tables[i].bits[0], k1 = a1 & front->tables[i].bits[1];
		uint32_t value = fib_bucket_find(fib_at(r->base, front->tables[i].table),
						 front->tables[i].mask, fib_hash(k0, k1), k0, k1);

		if (value != 0)
			return value & FIB_FRONT_LONGER ? 0 : value;
	}
	return 0;
}

/** Does the address have the bytes the node skips? */
static inline bool
fib_node6_holds(const struct fib_node6 *node, const uint8_t addr[16])
{
	uint64_t bytes;

	memcpy(&bytes, addr + node->from, sizeof(bytes));
	return (bytes ^ node->prefix) << node->half << node->half == 0;
}

static inline uint32_t
fib6_trie_lookup(const struct fib_reader *r, const uint8_t addr[16])
{
	uint64_t root = __atomic_load_n(&r->root, __ATOMIC_ACQUIRE);
	uint32_t best = (uint32_t)(root >> 32), ref = (uint32_t)root;

	if (ref & FIB_CHILD && ref & FIB_DIRECT)
		ref = fib_load((const uint32_t *)fib_at(r->base, ref) +
			       ((unsigned)addr[0] << 8 | addr[1]));
	while (ref & FIB_CHILD) {
		const struct fib_node6 *node = fib_at(r->base, ref);

		best = fib_or(fib_fallback(&node->node), best);
		if (!fib_node6_holds(node, addr))
			return best;
		ref = fib_load(fib_entries(&node->node, FIB6_HEADER) +
			       fib_entry_index(&node->node, addr[node->pos]));
	}
	return fib_or(ref, best);
}

/** The value of the longest prefix that matches, 0 if none. Network order. */
static inline uint32_t
fib6_lookup(const struct fib6 *fib, const uint8_t addr[16])
{
	const struct fib_reader *r = (const struct fib_reader *)fib;
	uint32_t front = fib_load(&r->front);

	if (front != 0) {
		uint64_t a[2];
		uint32_t value;

		memcpy(a, addr, sizeof(a));
		value = fib6_front_lookup(r, front, a[0], a[1]);
		if (value != 0)
			return value;
	}
	return fib6_trie_lookup(r, addr);
}

/** n lookups, each in its own table. */
static inline void
fib6_lookup_burst(const struct fib6 *const fibs[], const uint8_t *const addrs[],
		  uint32_t values[], unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		values[i] = fib6_lookup(fibs[i], addrs[i]);
}

#endif
