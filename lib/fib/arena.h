/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FIB_ARENA_H
#define FIB_ARENA_H

/**
 * @file
 * The two heaps every table lives in: what workers read (units of a cache
 * line), and the control thread's records (units of 16 bytes).
 *
 * Control thread only.
 */

#include "fib.h"
#include "lookup.h"
#include "heap.h"

/** About a core's second-level cache. */
#define ARENA_LARGE (512u << 10)

struct fib_arena {
	struct heap nodes;
	struct heap records;
	struct rcu *rcu;
	uint64_t retired; /**< bytes of `nodes` that wait for workers */
	unsigned directs; /**< tables with a direct root */
};

static inline void *
arena_at(const struct fib_arena *arena, uint32_t ref)
{
	return heap_at(&arena->nodes, ref & FIB_INDEX);
}

/** What readers take for base. */
const uint8_t *arena_base(const struct fib_arena *arena);
/** After a change: tell readers whether the tables are large. */
void arena_measure(struct fib_arena *arena);
/** An unpublished thing goes after a grace period. */
void arena_retire(struct fib_arena *arena, uint32_t index);

#endif
