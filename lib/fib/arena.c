/* SPDX-License-Identifier: BSD-3-Clause */
#include "arena.h"

#include <errno.h>
#include <stdlib.h>

struct fib_arena *
fib_arena_create(struct rcu *rcu, int numa_node, struct err *err)
{
	struct fib_arena *arena = calloc(1, sizeof(*arena));

	if (arena == NULL) {
		err_set(err, ENOMEM, "no memory for route tables");
		return NULL;
	}
	arena->rcu = rcu;
	if (heap_init(&arena->nodes, FIB_UNIT_SHIFT, numa_node, err) != 0 ||
	    heap_init(&arena->records, 4, numa_node, err) != 0) {
		heap_fini(&arena->nodes);
		free(arena);
		return NULL;
	}
	return arena;
}

void
fib_arena_destroy(struct fib_arena *arena)
{
	if (arena == NULL)
		return;
	rcu_synchronize(arena->rcu);
	heap_fini(&arena->nodes);
	heap_fini(&arena->records);
	free(arena);
}

void
fib_arena_memory(const struct fib_arena *arena, struct fib_memory *memory)
{
	memory->nodes = arena->nodes.used - arena->retired;
	memory->retired = arena->retired;
	memory->record = arena->records.used;
	memory->reserved = arena->nodes.resident + arena->records.resident;
}

const uint8_t *
arena_base(const struct fib_arena *arena)
{
	return (const uint8_t *)((uintptr_t)arena->nodes.base -
				 ((uint64_t)FIB_CHILD << FIB_UNIT_SHIFT));
}

void
arena_measure(struct fib_arena *arena)
{
	struct fib_hint *hint = arena_at(arena, 0);
	uint32_t large = arena->nodes.used > ARENA_LARGE;

	if (hint->large != large)
		__atomic_store_n(&hint->large, large, __ATOMIC_RELAXED);
}

static void
free_retired(void *ctx, uintptr_t what)
{
	struct fib_arena *arena = ctx;

	arena->retired -= heap_size(&arena->nodes, (uint32_t)what);
	heap_free(&arena->nodes, (uint32_t)what);
}

void
arena_retire(struct fib_arena *arena, uint32_t index)
{
	arena->retired += heap_size(&arena->nodes, index);
	rcu_retire(arena->rcu, free_retired, arena, index);
}
