/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long a cache line takes from CPU 0 to CPU 1: two threads answer each other through
 * one line. Prints the time of one way in ns, the median of some short rounds.
 *
 * On a virtual machine this changes from second to second, with the cores (of one L3 or
 * of two) that the host lets its CPUs run on.
 */
#include <immintrin.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS	5
#define CROSSED 40000ul /* there and back, in a round */

static unsigned long line __attribute__((aligned(128)));

static void
run_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (pthread_setaffinity_np(pthread_self(), sizeof(set), &set) != 0) {
		fprintf(stderr, "there is no CPU %d\n", cpu);
		exit(1);
	}
}

static void
wait_for(unsigned long value)
{
	while (__atomic_load_n(&line, __ATOMIC_ACQUIRE) != value)
		_mm_pause();
}

static void *
answer(void *unused)
{
	run_on(1);
	for (unsigned long i = 0; i < ROUNDS * CROSSED; i++) {
		wait_for(2 * i + 1);
		__atomic_store_n(&line, 2 * i + 2, __ATOMIC_RELEASE);
	}
	return unused;
}

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int
main(void)
{
	double ns[ROUNDS];
	unsigned long i = 0;
	pthread_t other;

	run_on(0);
	if (pthread_create(&other, NULL, answer, NULL) != 0)
		return 1;
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct timespec from, to;

		clock_gettime(CLOCK_MONOTONIC, &from);
		for (unsigned long end = i + CROSSED; i < end; i++) {
			__atomic_store_n(&line, 2 * i + 1, __ATOMIC_RELEASE);
			wait_for(2 * i + 2);
		}
		clock_gettime(CLOCK_MONOTONIC, &to);
		ns[round] = ((double)(to.tv_sec - from.tv_sec) * 1e9 +
			     (double)(to.tv_nsec - from.tv_nsec)) /
			    (2.0 * CROSSED);
	}
	pthread_join(other, NULL);
	qsort(ns, ROUNDS, sizeof(ns[0]), compare);
	printf("%.0f\n", ns[ROUNDS / 2]);
	return 0;
}
