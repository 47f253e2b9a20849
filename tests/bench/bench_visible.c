/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How soon another core sees a route that has been changed.
 *
 * A table of 100,000 routes; one of them is replaced 10,000 times. A reader on another
 * core looks its address up without pause and notes when it finds the new value. Printed
 * is the time from before the call that changes it, and from after it.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "fib.h"
#include "lookup.h"
#include "rcu.h"

#define ROUTES	100000u
#define CHANGES 10000u

static const struct fib4 *table;
static struct rcu *rcu;
static uint64_t seen[CHANGES]; /* ns, by value - 1 */
static uint32_t last_seen;     /* value the reader has found */

static uint64_t
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static struct ip_prefix
prefix_of(uint32_t address, uint8_t len)
{
	return (struct ip_prefix){.addr = ip4_addr(address), .len = len};
}

static void *
reader(void *arg)
{
	uint32_t value = 0;

	(void)arg;
	rcu_online(rcu, 0);
	while (value < CHANGES) {
		uint32_t found = fib4_lookup(table, 20u << 24);

		if (found != value && found <= CHANGES) {
			seen[found - 1] = now();
			value = found;
			__atomic_store_n(&last_seen, value, __ATOMIC_RELEASE);
		}
		rcu_quiescent(rcu, 0);
	}
	rcu_offline(rcu, 0);
	return NULL;
}

static int
compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void
print(const char *what, uint64_t *ns)
{
	qsort(ns, CHANGES, sizeof(ns[0]), compare);
	printf("%-28s %10.2f %10.2f %10.2f\n", what, (double)ns[CHANGES / 2] / 1000,
	       (double)ns[CHANGES * 99 / 100] / 1000, (double)ns[CHANGES - 1] / 1000);
}

int
main(void)
{
	static uint64_t before[CHANGES], after[CHANGES];
	struct ip_prefix changed = prefix_of(20u << 24, 24);
	struct fib_arena *arena;
	struct fib4 *fib;
	pthread_t thread;
	struct err err;

	rcu = rcu_create(1, &err);
	arena = rcu != NULL ? fib_arena_create(rcu, -1, &err) : NULL;
	fib = arena != NULL ? fib4_create(arena, &err) : NULL;
	if (fib == NULL) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	for (uint32_t i = 0; i < ROUTES; i++) {
		struct ip_prefix prefix = prefix_of((20u << 24) + (i << 8), 24);

		if (fib4_set(fib, &prefix, FIB_VALUE_MAX, 0) != 0)
			return 1;
	}
	table = fib;
	if (pthread_create(&thread, NULL, reader, NULL) != 0)
		return 1;
	for (uint32_t i = 0; i < CHANGES; i++) {
		before[i] = now();
		if (fib4_set(fib, &changed, i + 1, 0) != 0)
			return 1;
		after[i] = now();
		while (__atomic_load_n(&last_seen, __ATOMIC_ACQUIRE) != i + 1)
			sched_yield();
	}
	pthread_join(thread, NULL);
	for (uint32_t i = 0; i < CHANGES; i++) {
		before[i] = seen[i] - before[i];
		after[i] = seen[i] > after[i] ? seen[i] - after[i] : 0;
	}
	printf("%-28s %10s %10s %10s\n", "microseconds until it is seen", "median", "99 %",
	       "longest");
	print("from before the change", before);
	print("from after it", after);
	fib4_destroy(fib);
	fib_arena_destroy(arena);
	rcu_destroy(rcu);
	return 0;
}
