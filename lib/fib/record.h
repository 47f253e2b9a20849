/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FIB_RECORD_H
#define FIB_RECORD_H

/**
 * @file
 * The control thread's record of a table: a radix tree of its prefixes that
 * has a branch only where two of them part.
 *
 *     branch at bit 8                  10.0.0.0/8, 10.1.0.0/16, 10.192.0.0/10
 *     ├ route  10.0.0.0/8
 *     ├ 0      10.1.0.0/16 (a leaf)
 *     └ 1      10.192.0.0/10 (a leaf)
 *
 * All prefixes below a branch agree in the bits before it; `route` is the one
 * that ends there. A branch stores no prefix: any leaf below it tells. So an
 * IPv4 route takes 16 bytes, an IPv6 route 32, and the branches, never more
 * than routes, 16 each.
 *
 * Control thread only.
 */

#include "heap.h"

/** An address as two numbers in host order; IPv4 is the upper half of hi. */
struct fib_key {
	uint64_t hi;
	uint64_t lo;
};

/** A prefix in the record. */
struct record_leaf {
	uint32_t value;
	uint32_t user;
	uint8_t len;
	uint8_t flags;
	uint16_t pad;
	uint32_t key[]; /**< 1 word for IPv4, 4 for IPv6, first bits first */
};

struct record {
	struct heap *heap;
	uint32_t root;
	uint32_t count;
	unsigned words; /**< of a key: 1 or 4 */
};

/** Called with first and last slot number of a gap, both included. */
typedef void (*record_gap_fn)(void *ctx, uint32_t first, uint32_t last);

void record_init(struct record *record, struct heap *heap, unsigned words);
void record_clear(struct record *record);

/** The leaf of the prefix, or NULL. */
struct record_leaf *record_find(const struct record *record, struct fib_key key, unsigned len);
/** A new leaf for a prefix that is not there yet; NULL: no memory. */
struct record_leaf *record_add(struct record *record, struct fib_key key, unsigned len);
/** The prefix is there. */
void record_remove(struct record *record, struct fib_key key, unsigned len);

/** The longest prefix of at most max_len bits, NULL if none, that covers the first bits of key. */
const struct record_leaf *record_match(const struct record *record, struct fib_key key,
				       unsigned max_len);
/** The first prefix in order of address, shorter first, that comes after this one; or the first
 * of all when `after` is NULL. NULL at the end. */
const struct record_leaf *record_next(const struct record *record, const struct fib_key *after,
				      unsigned len);
/** Is there a longer prefix below this one? */
bool record_has_longer(const struct record *record, struct fib_key key, unsigned len);
/**
 * Call fn for the parts of the prefix that no longer prefix of up to max_len
 * bits covers, in slots of 2^-max_len of the address space, numbered within
 * mask (0xff: the last 8 of the max_len bits).
 */
void record_gaps(const struct record *record, struct fib_key key, unsigned len, unsigned max_len,
		 uint32_t mask, record_gap_fn fn, void *ctx);

struct fib_key record_key(const struct record *record, const struct record_leaf *leaf);

/* --- Keys ------------------------------------------------------------------ */

static inline unsigned
key_bit(struct fib_key key, unsigned bit)
{
	return bit < 64 ? key.hi >> (63 - bit) & 1 : key.lo >> (127 - bit) & 1;
}

static inline unsigned
key_byte(struct fib_key key, unsigned byte)
{
	return byte < 8 ? key.hi >> (56 - 8 * byte) & 0xff : key.lo >> (120 - 8 * byte) & 0xff;
}

static inline struct fib_key
key_with_byte(struct fib_key key, unsigned byte, unsigned value)
{
	uint64_t *half = byte < 8 ? &key.hi : &key.lo;
	unsigned shift = 56 - 8 * (byte & 7);

	*half = (*half & ~(0xffull << shift)) | (uint64_t)value << shift;
	return key;
}

/** The first len bits, the others zero. */
static inline struct fib_key
key_cut(struct fib_key key, unsigned len)
{
	if (len < 64)
		return (struct fib_key){len == 0 ? 0 : key.hi & ~0ull << (64 - len), 0};
	return (struct fib_key){key.hi, len == 64 ? 0 : key.lo & ~0ull << (128 - len)};
}

/** How many bits two keys begin with in common, up to 128. */
static inline unsigned
key_common(struct fib_key a, struct fib_key b)
{
	if (a.hi != b.hi)
		return (unsigned)__builtin_clzll(a.hi ^ b.hi);
	return a.lo != b.lo ? 64 + (unsigned)__builtin_clzll(a.lo ^ b.lo) : 128;
}

static inline bool
key_equal(struct fib_key a, struct fib_key b)
{
	return a.hi == b.hi && a.lo == b.lo;
}

/** The `count` bits that end before bit `end`, as a number; count up to 16. */
static inline uint32_t
key_slot(struct fib_key key, unsigned end, uint32_t mask)
{
	uint64_t bits = end <= 64
				? key.hi >> (64 - end)
				: (key.lo >> (128 - end)) | (end == 128 ? 0 : key.hi << (end - 64));

	return (uint32_t)bits & mask;
}

#endif
