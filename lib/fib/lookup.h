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
#define FIB_CHILD 0x80000000u
/** With FIB_CHILD, in the root only: to 65,536 references, one per first 16 bits. */
#define FIB_DIRECT 0x40000000u
/** With FIB_CHILD, in any other IPv4 reference: the node is wide. */
#define FIB_WIDE  FIB_DIRECT
#define FIB_INDEX 0x3fffffffu
/** Nodes are numbered by the cache line. */
#define FIB_UNIT_SHIFT 6

/** What a reader needs of a table; the first member of struct fib4 and fib6. */
struct fib_reader {
	const uint8_t *base; /**< see fib_at() */
	uint64_t root;	     /**< a reference; above it 32 bits: the value of /0 */
	uint32_t front;	     /**< IPv6: to the struct fib_front, 0: none */
};

/** In place of node 0. */
struct fib_hint {
	uint32_t large; /**< the tables are more than a core's cache holds: prefetch */
};

/**
 * A node chooses by one byte of the address among 256 slots. Slots next to
 * each other with the same content are a run, stored once, in the entries
 * behind the header, the last run first: references, 0 where no prefix ends in
 * this byte.
 */
struct fib_node {
	uint64_t ends[4];  /**< bit i: slot i ends a run and isn't slot 255 */
	uint32_t fallback; /**< the longest prefix that ends in the byte of the node above and
			    * covers this node; 0: none */
	uint8_t after[4];  /**< bits set in the words of `ends` after this one */
};

/** A quarter of a wide node (IPv4): what 64 of its slots need is in one line, if they have few
 * runs. */
struct fib_quarter {
	uint64_t ends;	     /**< bit i: slot i ends a run and isn't the last of the quarter */
	uint32_t fallback;   /**< as in struct fib_node */
	uint32_t entries_at; /**< bytes from here to the entries */
	uint32_t entries[12];
};

/** An IPv6 node may skip up to 8 bytes in which no prefix ends or parts. */
struct fib_node6 {
	struct fib_node node;
	uint64_t prefix; /**< the address here from byte `from` on, as it lies in memory */
	uint8_t from;	 /**< 0 to 8 */
	uint8_t half;	 /**< 32 - 4 * (pos - from): twice this many bits of it don't count */
	uint8_t pos;	 /**< the byte to choose by */
	uint8_t pad;
	uint32_t entries[];
};

#define FIB_SKIP_MAX 8
#define FIB4_HEADER  sizeof(struct fib_node)
#define FIB6_HEADER  offsetof(struct fib_node6, entries)
static_assert(FIB4_HEADER == 40, "header and 6 entries in a cache line");
static_assert(FIB6_HEADER == 52, "header and 3 entries in a cache line");
static_assert(sizeof(struct fib_quarter) == 64, "a quarter is a cache line");

static inline uint32_t
fib_load(const uint32_t *ref)
{
	return __atomic_load_n(ref, __ATOMIC_ACQUIRE);
}

/*
 * base is so far before node 0 that FIB_CHILD needn't be taken off the
 * reference.
 */
static inline const void *
fib_at(const uint8_t *base, uint32_t ref)
{
	return (const void *)((uintptr_t)base + ((uint64_t)ref << FIB_UNIT_SHIFT));
}

/** Of a root with FIB_DIRECT: the reference for the first 16 bits. */
static inline const uint32_t *
fib_direct(const uint8_t *base, uint32_t ref, unsigned slot)
{
	return (const uint32_t *)fib_at(base, ref & ~FIB_DIRECT) + slot;
}

/** Which entry holds the slot: as many as runs end from it on. */
static inline unsigned
fib_entry_index(const struct fib_node *node, unsigned slot)
{
	return node->after[slot >> 6] +
	       (unsigned)__builtin_popcountll(node->ends[slot >> 6] >> (slot & 63));
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

/** Are the tables large? One answer for all that share an arena. */
static inline bool
fib_large(const struct fib_reader *r)
{
	const struct fib_hint *hint = fib_at(r->base, FIB_CHILD);

	return __atomic_load_n(&hint->large, __ATOMIC_RELAXED) != 0;
}

/* --- IPv4 ------------------------------------------------------------------ */

/** From the root to the first node; shifts what it reads out of the address. */
static inline uint32_t
fib4_start(const struct fib_reader *r, uint32_t *addr, uint32_t *best)
{
	uint64_t root = __atomic_load_n(&r->root, __ATOMIC_ACQUIRE);
	uint32_t ref = (uint32_t)root;

	*best = (uint32_t)(root >> 32);
	if (ref >= (FIB_CHILD | FIB_DIRECT)) {
		ref = fib_load(fib_direct(r->base, ref, *addr >> 16));
		*addr <<= 16;
	}
	return ref;
}

/** Where a quarter has the answer for one of its slots. */
static inline const uint32_t *
fib_quarter_entry(const struct fib_quarter *q, unsigned slot)
{
	return (const uint32_t *)((const uint8_t *)q + q->entries_at) +
	       __builtin_popcountll(q->ends >> (slot & 63));
}

/** Where the line to begin with is. The address is shifted so that the node's byte is first. */
static inline const void *
fib4_node(const uint8_t *base, uint32_t ref, uint32_t addr)
{
	if (ref & FIB_WIDE)
		return (const struct fib_quarter *)fib_at(base, ref & ~FIB_WIDE) + (addr >> 30);
	return fib_at(base, ref);
}

/** Where the node has its answer for the address. */
static inline const uint32_t *
fib4_entry(const uint8_t *base, uint32_t ref, uint32_t addr, uint32_t *best)
{
	const struct fib_quarter *q = fib4_node(base, ref, addr);
	const struct fib_node *node = fib4_node(base, ref, addr);

	if (ref & FIB_WIDE) {
		*best = fib_or(__atomic_load_n(&q->fallback, __ATOMIC_RELAXED), *best);
		return fib_quarter_entry(q, addr >> 24);
	}
	*best = fib_or(fib_fallback(node), *best);
	return fib_entries(node, FIB4_HEADER) + fib_entry_index(node, addr >> 24);
}

/** The value of the longest prefix that matches, 0 if none. Host order. */
static inline uint32_t
fib4_lookup(const struct fib4 *fib, uint32_t addr)
{
	const struct fib_reader *r = (const struct fib_reader *)fib;
	uint32_t best, ref = fib4_start(r, &addr, &best);

	while (ref & FIB_CHILD) {
		ref = fib_load(fib4_entry(r->base, ref, addr, &best));
		addr <<= 8;
	}
	return fib_or(ref, best);
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
	uint32_t tags;	    /**< 8 bits of each key's hash; above them, FIB_BUCKET_OVERFLOW */
};

/** In a bucket's tags: keys of this bucket are in the next one too. */
#define FIB_BUCKET_OVERFLOW 0x01000000u
/** In a bucket's value: a longer prefix, not /128, lies below; the trie decides. */
#define FIB_FRONT_LONGER 0x40000000u
/** In a bucket's value: the key was deleted. */
#define FIB_FRONT_DELETED 0x80000000u

/** Bits of the gate; a power of two. */
#define FIB_GATE 512u

struct fib_front {
	uint32_t count;
	/** A Bloom filter of one hash over the beginnings all keys have, as long as the shortest
	 * key (64 bits at most): most addresses without an entry find that out here. */
	uint64_t gate_bits; /**< the length as a mask */
	uint64_t gate[FIB_GATE / 64];
	struct {
		uint32_t table;	  /**< reference to the first bucket */
		uint32_t mask;	  /**< buckets - 1 */
		uint64_t bits[2]; /**< the prefix length as a mask */
	} tables[FIB_FRONT_TABLES];
};

static_assert(sizeof(struct fib_bucket) == 64, "a bucket is a cache line");

static inline uint32_t
fib_hash(uint64_t k0, uint64_t k1)
{
	return (uint32_t)_mm_crc32_u64(_mm_crc32_u64(0, k0), k1);
}

/** The tag of a key, three times over. */
static inline uint32_t
fib_hash_tags(uint32_t hash)
{
	return (hash >> 24) * 0x010101;
}

/** The value in the bucket or those after it; 0: not there. */
static inline uint32_t
fib_bucket_find(const struct fib_bucket *table, uint32_t mask, uint32_t hash, uint64_t k0,
		uint64_t k1)
{
	uint32_t wanted = fib_hash_tags(hash);

	for (;; hash++) {
		const struct fib_bucket *b = &table[hash & mask];
		uint32_t tags = fib_load(&b->tags);
		/* A zero byte where the tag is the wanted one. */
		uint32_t differ = (tags & 0xffffff) ^ wanted;
		uint32_t slots = (differ - 0x010101) & ~differ & 0x808080;

		/* Now and then a slot too many, never one too few. */
		for (; slots != 0; slots &= slots - 1) {
			unsigned i = (unsigned)__builtin_ctz(slots) >> 3;
			uint32_t value = fib_load(&b->value[i]);
			uint64_t k = (__atomic_load_n(&b->key[i][0], __ATOMIC_RELAXED) ^ k0) |
				     (__atomic_load_n(&b->key[i][1], __ATOMIC_RELAXED) ^ k1);

			if (k == 0 && value != 0)
				return value == FIB_FRONT_DELETED ? 0 : value;
		}
		if ((tags & FIB_BUCKET_OVERFLOW) == 0)
			return 0;
	}
}

/** The bucket where the search for a0, a1 begins in table i. */
static inline const struct fib_bucket *
fib6_front_bucket(const struct fib_reader *r, const struct fib_front *front, unsigned i,
		  uint64_t a0, uint64_t a1)
{
	const struct fib_bucket *table = fib_at(r->base, front->tables[i].table);
	uint32_t hash = fib_hash(a0 & front->tables[i].bits[0], a1 & front->tables[i].bits[1]);

	return &table[hash & front->tables[i].mask];
}

/** Which bit of the gate stands for addresses that begin so. */
static inline unsigned
fib_gate_bit(const struct fib_front *front, uint64_t a0)
{
	return (unsigned)_mm_crc32_u64(0, a0 & front->gate_bits) & (FIB_GATE - 1);
}

/** What the tables in front of the trie know; 0: ask the trie. */
static inline uint32_t
fib6_front_lookup(const struct fib_reader *r, uint32_t ref, const uint8_t addr[16])
{
	const struct fib_front *front = fib_at(r->base, ref);
	uint64_t a[2];
	unsigned bit;

	memcpy(a, addr, sizeof(a));
	bit = fib_gate_bit(front, a[0]);
	if (((__atomic_load_n(&front->gate[bit / 64], __ATOMIC_ACQUIRE) >> (bit % 64)) & 1) == 0)
		return 0;
	for (unsigned i = 0; i < front->count; i++) {
		uint64_t k0 = a[0] & front->tables[i].bits[0], k1 = a[1] & front->tables[i].bits[1];
		uint32_t value = fib_bucket_find(fib_at(r->base, front->tables[i].table),
						 front->tables[i].mask, fib_hash(k0, k1), k0, k1);

		if (value != 0)
			return value & FIB_FRONT_LONGER ? 0 : value;
	}
	return 0;
}

/** From the root to the first node. */
static inline uint32_t
fib6_start(const struct fib_reader *r, const uint8_t addr[16], uint32_t *best)
{
	uint64_t root = __atomic_load_n(&r->root, __ATOMIC_ACQUIRE);
	uint32_t ref = (uint32_t)root;

	*best = (uint32_t)(root >> 32);
	if (ref >= (FIB_CHILD | FIB_DIRECT))
		ref = fib_load(fib_direct(r->base, ref, (unsigned)addr[0] << 8 | addr[1]));
	return ref;
}

/** What a node has for addresses that do not begin as it does. */
static const uint32_t fib_nothing;

/** Where the node has its answer for the address. */
static inline const uint32_t *
fib6_entry(const uint8_t *base, uint32_t ref, const uint8_t addr[16], uint32_t *best)
{
	const struct fib_node6 *node = fib_at(base, ref);
	uint64_t bytes;

	*best = fib_or(fib_fallback(&node->node), *best);
	memcpy(&bytes, addr + node->from, sizeof(bytes));
	if (((bytes ^ node->prefix) << node->half << node->half) != 0)
		return &fib_nothing;
	return node->entries + fib_entry_index(&node->node, addr[node->pos]);
}

static inline uint32_t
fib6_trie_lookup(const struct fib_reader *r, const uint8_t addr[16])
{
	uint32_t best, ref = fib6_start(r, addr, &best);

	while (ref & FIB_CHILD)
		ref = fib_load(fib6_entry(r->base, ref, addr, &best));
	return fib_or(ref, best);
}

/** The value of the longest prefix that matches, 0 if none. Network order. */
static inline uint32_t
fib6_lookup(const struct fib6 *fib, const uint8_t addr[16])
{
	const struct fib_reader *r = (const struct fib_reader *)fib;
	uint32_t front = fib_load(&r->front);

	if (front != 0) {
		uint32_t value = fib6_front_lookup(r, front, addr);

		if (value != 0)
			return value;
	}
	return fib6_trie_lookup(r, addr);
}

/* --- Bursts ---------------------------------------------------------------- */

/*
 * Lookups of a burst advance together, so that their cache misses overlap:
 * each round, all find their entry and ask for its line, then all load it and
 * ask for the node it leads to. Those that have arrived leave the list; there
 * is no branch on that, since how deep an address goes is hard to predict.
 */
struct fib_way {
	const uint8_t *base;
	const uint32_t *entry;
	const uint8_t *addr6;
	uint32_t addr4;
	uint32_t best;
};

/** Lookups that are under way together: more than a core has misses in flight. */
#define FIB_WAYS 64

/** Fetch the node, if it is one. Returns 1 then, otherwise 0. */
static inline __attribute__((always_inline)) unsigned
fib_fetch_node(const struct fib_way *w, uint32_t ref, bool six)
{
	uint32_t child = (uint32_t)((int32_t)ref >> 31);
	uint32_t quarter = ref & FIB_WIDE ? w->addr4 >> 30 : 0;

	if (six)
		__builtin_prefetch(fib_at(w->base, (ref & child) | FIB_CHILD));
	else
		__builtin_prefetch(
			fib_at(w->base, (((ref & ~FIB_WIDE) + quarter) & child) | FIB_CHILD));
	return ref >> 31;
}

/** One step of one lookup: where its node has the answer. */
static inline __attribute__((always_inline)) const uint32_t *
fib_way_entry(struct fib_way *w, uint32_t ref, bool six)
{
	const uint32_t *entry = six ? fib6_entry(w->base, ref, w->addr6, &w->best)
				    : fib4_entry(w->base, ref, w->addr4, &w->best);

	if (!six)
		w->addr4 <<= 8;
	return entry;
}

/**
 * Take the `left` lookups in todo, at the nodes in values, to their values.
 * large: wait for no entry before all are being fetched.
 */
static inline __attribute__((always_inline)) void
fib_descend(struct fib_way ways[], uint8_t todo[], unsigned left, uint32_t values[], bool six,
	    bool large)
{
	while (left != 0) {
		unsigned next = 0;

		for (unsigned k = 0; large && k < left; k++) {
			struct fib_way *w = &ways[todo[k]];

			w->entry = fib_way_entry(w, values[todo[k]], six);
			__builtin_prefetch(w->entry);
		}
		for (unsigned k = 0; k < left; k++) {
			unsigned i = todo[k];
			struct fib_way *w = &ways[i];

			values[i] = fib_load(large ? w->entry : fib_way_entry(w, values[i], six));
			todo[next] = (uint8_t)i;
			next += fib_fetch_node(w, values[i], six);
		}
		left = next;
	}
}

static inline void
fib4_lookup_ways(const struct fib4 *const fibs[], const uint32_t addrs[], uint32_t values[],
		 unsigned n)
{
	struct fib_way ways[FIB_WAYS];
	uint8_t todo[FIB_WAYS];
	unsigned left = 0;

	for (unsigned i = 0; i < n; i++) {
		const struct fib_reader *r = (const struct fib_reader *)fibs[i];
		struct fib_way *w = &ways[i];

		w->base = r->base;
		w->addr4 = addrs[i];
		values[i] = fib4_start(r, &w->addr4, &w->best);
		todo[left] = (uint8_t)i;
		left += fib_fetch_node(w, values[i], false);
	}
	fib_descend(ways, todo, left, values, false, true);
	for (unsigned i = 0; i < n; i++)
		values[i] = fib_or(values[i], ways[i].best);
}

/** n lookups, each in its own table. */
static inline void
fib4_lookup_burst(const struct fib4 *const fibs[], const uint32_t addrs[], uint32_t values[],
		  unsigned n)
{
	/* In cache, one after the other is faster. */
	if (n > 0 && !fib_large((const struct fib_reader *)fibs[0])) {
		for (unsigned i = 0; i < n; i++)
			values[i] = fib4_lookup(fibs[i], addrs[i]);
		return;
	}
	for (unsigned i = 0; i < n; i += FIB_WAYS)
		fib4_lookup_ways(&fibs[i], &addrs[i], &values[i],
				 n - i < FIB_WAYS ? n - i : FIB_WAYS);
}

/** Fetch the buckets where searches in the first table in front begin. */
static inline void
fib6_fetch_buckets(const struct fib6 *const fibs[], const uint8_t *const addrs[], unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const struct fib_reader *r = (const struct fib_reader *)fibs[i];
		uint32_t front = fib_load(&r->front);
		uint64_t a[2];

		memcpy(a, addrs[i], sizeof(a));
		if (front != 0)
			__builtin_prefetch(
				fib6_front_bucket(r, fib_at(r->base, front), 0, a[0], a[1]));
	}
}

static inline void
fib6_lookup_ways(const struct fib6 *const fibs[], const uint8_t *const addrs[], uint32_t values[],
		 unsigned n)
{
	struct fib_way ways[FIB_WAYS];
	uint8_t todo[FIB_WAYS];
	bool large = n > 0 && fib_large((const struct fib_reader *)fibs[0]);
	unsigned left = 0;

	if (large)
		fib6_fetch_buckets(fibs, addrs, n);
	for (unsigned i = 0; i < n; i++) {
		const struct fib_reader *r = (const struct fib_reader *)fibs[i];
		uint32_t front = fib_load(&r->front);
		struct fib_way *w = &ways[i];

		w->best = front == 0 ? 0 : fib6_front_lookup(r, front, addrs[i]);
		values[i] = 0;
		if (w->best != 0)
			continue;
		w->base = r->base;
		w->addr6 = addrs[i];
		values[i] = fib6_start(r, addrs[i], &w->best);
		todo[left] = (uint8_t)i;
		left += fib_fetch_node(w, values[i], true);
	}
	if (large)
		fib_descend(ways, todo, left, values, true, true);
	else
		fib_descend(ways, todo, left, values, true, false);
	for (unsigned i = 0; i < n; i++)
		values[i] = fib_or(values[i], ways[i].best);
}

/** Only what the exact-match tables in front of the trie know: /128s and SIDs not covered by a
 * longer prefix. 0: fib6_lookup() may know more. */
static inline uint32_t
fib6_lookup_front(const struct fib6 *fib, const uint8_t addr[16])
{
	const struct fib_reader *r = (const struct fib_reader *)fib;
	uint32_t front = fib_load(&r->front);

	return front != 0 ? fib6_front_lookup(r, front, addr) : 0;
}

/** What fib6_lookup() says of an address of which fib6_lookup_front() knew nothing. */
static inline uint32_t
fib6_lookup_trie(const struct fib6 *fib, const uint8_t addr[16])
{
	return fib6_trie_lookup((const struct fib_reader *)fib, addr);
}

/** n lookups, each in its own table. */
static inline void
fib6_lookup_burst(const struct fib6 *const fibs[], const uint8_t *const addrs[], uint32_t values[],
		  unsigned n)
{
	for (unsigned i = 0; i < n; i += FIB_WAYS)
		fib6_lookup_ways(&fibs[i], &addrs[i], &values[i],
				 n - i < FIB_WAYS ? n - i : FIB_WAYS);
}

#endif
