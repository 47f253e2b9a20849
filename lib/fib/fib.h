/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FIB_H
#define FIB_H

/**
 * @file
 * Longest-prefix match: one struct fib4 or fib6 per VRF and family.
 *
 * Each table is two things. The *record* is a binary radix tree of all its
 * prefixes, for the control thread alone: it answers show, delete and "what
 * covers this". The *trie* is what workers read: nodes of 8-bit stride whose
 * runs of equal results are stored once, all from one arena shared by every
 * table. A node never changes its shape once published: a change builds the
 * new node from the record, points its parent at it with one release store,
 * and only then retires the old one. So a reader sees the table before or
 * after a change, never between, and takes no reference.
 *
 * A value is a next-hop id, 1 to FIB_VALUE_MAX; a lookup that matches nothing
 * returns 0. `user` is 32 bits kept beside the prefix for the caller.
 *
 * Lookups: any thread that reports quiescent states. All else: control thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base.h"
#include "rcu.h"

#define FIB_VALUE_MAX 0x3fffffffu

/** Memory for the nodes of every table. */
struct fib_arena;
/** One IPv4 table. */
struct fib4;
/** One IPv6 table. */
struct fib6;

/**
 * An arena on the given NUMA node (-1: any). Address space is reserved once;
 * memory is taken as nodes need it and given back when they go.
 * NULL with err filled.
 */
struct fib_arena *fib_arena_create(struct rcu *rcu, int numa_node, struct err *err);
/** All tables must be gone and no worker online. */
void fib_arena_destroy(struct fib_arena *arena);

/** Bytes of memory. */
struct fib_memory {
	uint64_t nodes;	   /**< in trie nodes and exact-match tables in use */
	uint64_t retired;  /**< in nodes waiting for workers */
	uint64_t record;   /**< in the control thread's records */
	uint64_t reserved; /**< taken from the system in all */
};

void fib_arena_memory(const struct fib_arena *arena, struct fib_memory *memory);

/** A prefix of a table as the record keeps it. */
struct fib_entry {
	struct ip_prefix prefix;
	uint32_t value;
	uint32_t user;
};

/* --- IPv4 ------------------------------------------------------------------ */

/** NULL with err filled. An empty table costs under 1 KiB. */
struct fib4 *fib4_create(struct fib_arena *arena, struct err *err);
/** Unpublish the table first; memory goes after a grace period. */
void fib4_destroy(struct fib4 *fib);

/** Add the prefix or replace its value and user. 0, -EINVAL (not of this family, bits beyond the
 * length, value 0 or too large), -ENOMEM (record) or -ENOSPC (nodes); nothing changes on error. */
int fib4_set(struct fib4 *fib, const struct ip_prefix *prefix, uint32_t value, uint32_t user);
/** 0 or -ENOENT; -ENOSPC, and nothing changed, if the arena's 64 GiB are full, since a smaller
 * node is a new one too. */
int fib4_unset(struct fib4 *fib, const struct ip_prefix *prefix);
/** The prefix itself, not what covers it. 0 or -ENOENT. */
int fib4_get(const struct fib4 *fib, const struct ip_prefix *prefix, struct fib_entry *entry);
/** The longest prefix that matches, from the record. 0 or -ENOENT. */
int fib4_match(const struct fib4 *fib, const struct ip_addr *addr, struct fib_entry *entry);
/**
 * Walk in order of address, shorter prefixes first. after: the prefix last
 * seen (it may be gone by now), or NULL to begin. False at the end. The table
 * may change between calls.
 */
bool fib4_next(const struct fib4 *fib, const struct ip_prefix *after, struct fib_entry *entry);
/** How many prefixes. */
uint32_t fib4_count(const struct fib4 *fib);

/* --- IPv6 ------------------------------------------------------------------ */

/** Flag of fib6_set: this prefix is hit by most packets (a SID), so give it a
 * place in the exact-match tables in front of the trie. /128s are always
 * there. What wins is the same with and without: the longest prefix. Seven
 * lengths besides /128 have a table; prefixes of others do without. Setting a
 * prefix again without the flag takes it out. */
#define FIB6_FRONT 1u

/** Each as its IPv4 counterpart. */
struct fib6 *fib6_create(struct fib_arena *arena, struct err *err);
void fib6_destroy(struct fib6 *fib);
int fib6_set(struct fib6 *fib, const struct ip_prefix *prefix, uint32_t value, uint32_t user,
	     uint32_t flags);
int fib6_unset(struct fib6 *fib, const struct ip_prefix *prefix);
int fib6_get(const struct fib6 *fib, const struct ip_prefix *prefix, struct fib_entry *entry);
int fib6_match(const struct fib6 *fib, const struct ip_addr *addr, struct fib_entry *entry);
bool fib6_next(const struct fib6 *fib, const struct ip_prefix *after, struct fib_entry *entry);
uint32_t fib6_count(const struct fib6 *fib);

/* Lookups are inline, in lookup.h beside this file:
 *
 * uint32_t fib4_lookup(const struct fib4 *fib, uint32_t addr_host_order);
 * uint32_t fib6_lookup(const struct fib6 *fib, const uint8_t addr[16]);
 * void fib4_lookup_burst(const struct fib4 *const fibs[], const uint32_t addrs[],
 *                        uint32_t values[], unsigned n);   (each packet its own table)
 * void fib6_lookup_burst(const struct fib6 *const fibs[], const uint8_t *const addrs[],
 *                        uint32_t values[], unsigned n);
 */

#endif
