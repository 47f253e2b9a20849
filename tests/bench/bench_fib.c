/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Route tables: noref's beside DPDK's rte_lpm and rte_fib, on the same routes
 * and the same addresses.
 *
 *     bench_fib [--quick] [--lpm-all] [--only NAME]
 *
 * Lookups are in bursts of 64, at addresses below routes chosen at random.
 * "updates/s" counts a route deleted and added again as two. "MiB" is what the
 * table holds in the end: of an engine of DPDK, what it took from the EAL heap.
 * Times are those of the processor, not of the clock on the wall, so that they
 * hold on a machine that does other things too.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_memory.h>

#include <sys/mman.h>

#include "bench_fib_engines.h"

#define RUNS 5u

static bool quick, lpm_all;
static const char *only;

/* --- Routes and addresses -------------------------------------------------- */

static uint64_t random_state = 1;

static uint32_t
rnd(uint32_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)((random_state >> 32) * below >> 32);
}

/* Of a thousand routes in the Internet's tables, about so many have this length. */
struct length_share {
	uint8_t first;
	uint8_t last;
	uint16_t permille;
};

static const struct length_share shares4[] = {
	{24, 24, 590}, {23, 23, 100}, {22, 22, 110}, {21, 21, 50}, {20, 20, 50}, {19, 19, 30},
	{18, 18, 20},  {17, 17, 10},  {16, 16, 20},  {9, 15, 8},   {25, 32, 12},
};
static const struct length_share shares6[] = {
	{48, 48, 470}, {32, 32, 140}, {44, 44, 80}, {40, 40, 70}, {36, 36, 40}, {29, 29, 40},
	{46, 47, 70},  {33, 35, 45},  {45, 45, 15}, {42, 42, 10}, {37, 39, 15}, {64, 64, 5},
};

static unsigned
random_length(const struct length_share *shares)
{
	unsigned pick = rnd(1000);

	while (pick >= shares->permille)
		pick -= shares++->permille;
	return shares->first + rnd(shares->last - shares->first + 1u);
}

static struct ip_prefix
random_route4(void)
{
	struct ip_addr a = ip4_addr(0x01000000u + rnd(0xdf000000u));

	return ip_prefix_of(&a, random_length(shares4));
}

/* The registries' blocks hold allocations of a /32, about one for eight routes. */
static struct ip_prefix
random_route6(uint32_t count)
{
	static const uint16_t blocks[] = {
		0x2001, 0x2400, 0x2402, 0x2403, 0x2404, 0x2405, 0x2406, 0x2407, 0x2409, 0x240a,
		0x240e, 0x2600, 0x2602, 0x2604, 0x2605, 0x2606, 0x2607, 0x2620, 0x2800, 0x2801,
		0x2803, 0x2804, 0x2806, 0x2a00, 0x2a01, 0x2a02, 0x2a03, 0x2a04, 0x2a05, 0x2a06,
		0x2a07, 0x2a09, 0x2a0a, 0x2a0b, 0x2a0c, 0x2a0d, 0x2a0e, 0x2a0f, 0x2a10, 0x2c0f};
	uint32_t allocation = rnd(count / 8 + 1);
	struct ip_addr a = {.family = AF_INET6};
	uint16_t block = blocks[allocation * 2654435761u % RTE_DIM(blocks)];
	uint32_t inside = allocation * 2246822519u;

	a.bytes[0] = (uint8_t)(block >> 8);
	a.bytes[1] = (uint8_t)block;
	a.bytes[2] = (uint8_t)(inside >> 24);
	a.bytes[3] = (uint8_t)(inside >> 16);
	for (unsigned i = 4; i < 16; i++)
		a.bytes[i] = (uint8_t)rnd(256);
	return ip_prefix_of(&a, random_length(shares6));
}

static struct ip_prefix
sid(uint32_t i)
{
	struct ip_addr a;

	ip_addr_parse("fc00:0:1::", AF_INET6, &a);
	a.bytes[6] = (uint8_t)(i >> 8);
	a.bytes[7] = (uint8_t)i;
	return ip_prefix_of(&a, 128);
}

/* Different ones: a scratch table tells. sids: of the routes, the last so many. */
static struct route *
make_routes(uint8_t family, uint32_t count, uint32_t sids, uint64_t seed)
{
	struct route *routes = calloc(count, sizeof(*routes));
	struct fib4 *seen4 = fib4_create(arena, NULL);
	struct fib6 *seen6 = fib6_create(arena, NULL);
	struct fib_entry e;

	random_state = seed;
	for (uint32_t i = 0; i < count;) {
		struct ip_prefix p = family == AF_INET	? random_route4()
				     : i + sids < count ? random_route6(count)
							: sid(count - i);

		routes[i].value = 1 + rnd(60);
		if (family == AF_INET ? fib4_get(seen4, &p, &e) == 0 : fib6_get(seen6, &p, &e) == 0)
			continue;
		if (family == AF_INET)
			fib4_set(seen4, &p, 1, 0);
		else
			fib6_set(seen6, &p, 1, 0, 0);
		routes[i++].prefix = p;
	}
	fib4_destroy(seen4);
	fib6_destroy(seen6);
	rcu_synchronize(rcu);
	return routes;
}

static struct addresses
make_addresses(uint8_t family, const struct route *routes, uint32_t count)
{
	struct addresses a = {
		.ip4 = calloc(ADDRESSES, sizeof(*a.ip4)),
		.ip6 = calloc(ADDRESSES, sizeof(*a.ip6)),
	};

	for (unsigned i = 0; i < ADDRESSES; i++) {
		struct ip_prefix p = routes[rnd(count)].prefix;

		for (unsigned bit = p.len; bit < ip_bits(family); bit++)
			if (rnd(2) != 0)
				p.addr.bytes[bit / 8] |= (uint8_t)(0x80 >> (bit % 8));
		a.ip4[i] = ip4_host(&p.addr);
		memcpy(a.ip6[i], p.addr.bytes, 16);
	}
	return a;
}

static void
free_addresses(struct addresses *a)
{
	free(a->ip4);
	free(a->ip6);
}

/* --- Measuring ------------------------------------------------------------- */

static double
seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint64_t
bytes_held(void)
{
	struct rte_malloc_socket_stats stats;
	struct fib_memory m;

	rte_malloc_get_socket_stats(0, &stats);
	rcu_synchronize(rcu);
	fib_arena_memory(arena, &m);
	return m.nodes + m.record + stats.heap_allocsz_bytes;
}

static int
compare_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Nanoseconds a lookup, the median of the runs. */
static double
measure_lookups(const struct engine *engine, void *table, const struct addresses *a, uint64_t *sum)
{
	double times[RUNS];

	*sum = engine->lookup(table, a);
	for (unsigned run = 0; run < RUNS; run++) {
		double start = seconds();

		*sum = engine->lookup(table, a);
		times[run] = (seconds() - start) * 1e9 / ADDRESSES;
	}
	qsort(times, RUNS, sizeof(*times), compare_double);
	return times[RUNS / 2];
}

static void
measure(const struct engine *engine, const char *what, const struct route *routes, uint32_t count,
	const struct addresses *a)
{
	uint64_t before = bytes_held(), held, sum;
	uint32_t updates = count < 20000 ? count : 20000, failed = 0;
	double start, build, update, lookup;
	void *table;

	if (only != NULL && strstr(engine->name, only) == NULL)
		return;
	if (engine->add_max != 0 && count > engine->add_max && !lpm_all) {
		printf("%-16s %-22s (left out: adding is quadratic; --lpm-all)\n", engine->name,
		       what);
		return;
	}
	table = engine->create(count);
	if (table == NULL) {
		printf("%-16s %-22s (not on this machine)\n", engine->name, what);
		return;
	}
	start = seconds();
	for (uint32_t i = 0; i < count; i++)
		failed += engine->add(table, &routes[i]) != 0;
	build = seconds() - start;
	held = bytes_held() - before;
	lookup = measure_lookups(engine, table, a, &sum);
	start = seconds();
	for (uint32_t i = 0; i < updates; i++) {
		const struct route *r = &routes[(uint64_t)i * 7919 % count];

		engine->del(table, r);
		engine->add(table, r);
	}
	update = seconds() - start;
	printf("%-16s %-22s %7.2f %9.1f %9.3f %11.0f %9.2f %10" PRIu64 "%s\n", engine->name, what,
	       lookup, 1e3 / lookup, build, 2.0 * updates / update, (double)held / (1 << 20), sum,
	       failed != 0 ? "  (routes refused)" : "");
	fflush(stdout);
	engine->destroy(table);
}

static void
compare(uint8_t family, const char *what, uint32_t count, uint32_t sids)
{
	struct route *routes = make_routes(family, count, sids, 42 + count);
	struct addresses a = make_addresses(family, routes, count);

	for (unsigned i = 0; i < RTE_DIM(engines); i++)
		if (engines[i].family == family)
			measure(&engines[i], what, routes, count, &a);
	free_addresses(&a);
	free(routes);
	printf("\n");
}

/* --- Everything at once ---------------------------------------------------- */

static double
resident_mib(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	unsigned long size = 0, resident = 0;

	if (f == NULL || fscanf(f, "%lu %lu", &size, &resident) != 2)
		resident = 0;
	if (f != NULL)
		fclose(f);
	return (double)resident * 4096 / (1 << 20);
}

#define VRFS 4096u

static void
measure_many_tables(void)
{
	struct route *million = make_routes(AF_INET, 1000000, 0, 1);
	struct route *six = make_routes(AF_INET6, 210000, 10000, 2);
	struct fib4 **vrfs = calloc(VRFS, sizeof(*vrfs)), *internet = fib4_create(arena, NULL);
	struct fib6 *main6 = fib6_create(arena, NULL);
	double before = resident_mib(), start = seconds();
	struct fib_memory m;
	uint64_t count = 0;

	random_state = 99;
	for (unsigned v = 0; v < VRFS; v++) {
		vrfs[v] = fib4_create(arena, NULL);
		while (fib4_count(vrfs[v]) < 1000) {
			struct ip_prefix p = random_route4();

			fib4_set(vrfs[v], &p, 1 + rnd(60), 0);
		}
		count += 1000;
	}
	for (unsigned i = 0; i < 1000000; i++)
		fib4_set(internet, &million[i].prefix, million[i].value, 0);
	for (unsigned i = 0; i < 210000; i++)
		fib6_set(main6, &six[i].prefix, six[i].value, 0, 0);
	start = seconds() - start;
	rcu_synchronize(rcu);
	fib_arena_memory(arena, &m);
	printf("4,096 VRFs of 1,000 routes, a table of 1,000,000, an IPv6 table of 200,000, 10,000 "
	       "SIDs:\n  built in %.1f s; nodes %.0f MiB, records %.0f MiB, reserved %.0f MiB, "
	       "resident %+.0f MiB\n",
	       start, (double)m.nodes / (1 << 20), (double)m.record / (1 << 20),
	       (double)m.reserved / (1 << 20), resident_mib() - before);
	for (unsigned v = 0; v < VRFS; v++)
		fib4_destroy(vrfs[v]);
	fib4_destroy(internet);
	fib6_destroy(main6);
	rcu_synchronize(rcu);
	printf("  resident %+.0f MiB when all are gone\n", resident_mib() - before);
	free(vrfs);
	free(million);
	free(six);
}

/* --- Start ----------------------------------------------------------------- */

static unsigned
free_hugepages(void)
{
	FILE *f = fopen("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "r");
	unsigned pages = 0;

	if (f != NULL && fscanf(f, "%u", &pages) != 1)
		pages = 0;
	if (f != NULL)
		fclose(f);
	return pages;
}

/* Without hugepages, give DPDK's tables transparent ones, as noref's have. */
static int
advise_huge(const struct rte_memseg_list *list, void *arg)
{
	(void)arg;
	madvise(list->base_va, list->len, MADV_HUGEPAGE);
	return 0;
}

static int
start_eal(void)
{
	char name[] = "bench_fib", memory[] = "--in-memory", no_huge[] = "--no-huge",
	     no_pci[] = "--no-pci", m[] = "-m", size[] = "3072", level[] = "--log-level=error",
	     telemetry[] = "--no-telemetry";
	char *with[] = {name, memory, no_pci, m, size, level, telemetry, NULL};
	char *without[] = {name, no_huge, no_pci, m, size, level, telemetry, NULL};
	bool huge = free_hugepages() >= 1536;
	int rc;

	rc = huge ? rte_eal_init(7, with) : rte_eal_init(7, without);
	if (rc < 0)
		return rc;
	if (!huge)
		rte_memseg_list_walk(advise_huge, NULL);
	printf("EAL memory: %s\n\n",
	       huge ? "hugepages" : "no free hugepages, transparent ones advised");
	return 0;
}

int
main(int argc, char **argv)
{
	struct err err = {""};

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--quick") == 0) {
			quick = true;
		} else if (strcmp(argv[i], "--lpm-all") == 0) {
			lpm_all = true;
		} else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
			only = argv[++i];
		} else {
			fprintf(stderr, "usage: %s [--quick] [--lpm-all] [--only NAME]\n", argv[0]);
			return 1;
		}
	}
	if (start_eal() < 0) {
		fprintf(stderr, "EAL: %s\n", rte_strerror(rte_errno));
		return 1;
	}
	rcu = rcu_create(4, &err);
	arena = rcu == NULL ? NULL : fib_arena_create(rcu, -1, &err);
	if (arena == NULL) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	printf("%-16s %-22s %7s %9s %9s %11s %9s %10s\n", "engine", "table", "ns", "M/s", "build s",
	       "updates/s", "MiB", "sum");
	compare(AF_INET, "1,000 routes", 1000, 0);
	compare(AF_INET, "100,000 routes", 100000, 0);
	if (!quick)
		compare(AF_INET, "1,000,000 routes", 1000000, 0);
	compare(AF_INET6, "1,000 routes", 1000, 0);
	compare(AF_INET6, "10,000 SIDs", 10000, 10000);
	if (!quick) {
		compare(AF_INET6, "200,000 routes", 200000, 0);
		compare(AF_INET6, "200,000 + 10,000 SIDs", 210000, 10000);
		measure_many_tables();
	}
	fib_arena_destroy(arena);
	rcu_destroy(rcu);
	rte_eal_cleanup();
	return 0;
}
