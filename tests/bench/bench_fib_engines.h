/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_FIB_ENGINES_H
#define BENCH_FIB_ENGINES_H

/**
 * @file
 * What bench_fib compares: noref's tables and DPDK's behind one set of calls.
 * One call looks up all addresses, so that calling costs nothing.
 */

#include <stdlib.h>

#include <rte_fib.h>
#include <rte_fib6.h>
#include <rte_lpm.h>
#include <rte_lpm6.h>

#include "fib.h"
#include "lookup.h"

#define BURST	  64u
#define ADDRESSES (1u << 20)

struct route {
	struct ip_prefix prefix;
	uint32_t value;
};

/* What is looked up, in the form each engine wants it. */
struct addresses {
	uint32_t *ip4; /* host order */
	uint8_t (*ip6)[16];
};

static struct rcu *rcu;
static struct fib_arena *arena;

struct engine {
	const char *name;
	uint8_t family;
	uint32_t add_max; /* routes it takes in reasonable time; 0: any */
	void *(*create)(uint32_t routes);
	int (*add)(void *table, const struct route *route);
	int (*del)(void *table, const struct route *route);
	void (*destroy)(void *table);
	/* Look all up, burst by burst; returns a sum, so that it isn't optimized away. */
	uint64_t (*lookup)(void *table, const struct addresses *a);
};

static void *
noref4_create(uint32_t routes)
{
	(void)routes;
	return fib4_create(arena, NULL);
}

static int
noref4_add(void *table, const struct route *r)
{
	return fib4_set(table, &r->prefix, r->value, 0);
}

static int
noref4_del(void *table, const struct route *r)
{
	return fib4_unset(table, &r->prefix);
}

static void
noref4_destroy(void *table)
{
	fib4_destroy(table);
	rcu_synchronize(rcu);
}

static uint64_t
noref4_lookup(void *table, const struct addresses *a)
{
	const struct fib4 *fibs[BURST];
	uint32_t values[BURST];
	uint64_t sum = 0;

	for (unsigned i = 0; i < BURST; i++)
		fibs[i] = table;
	for (unsigned i = 0; i < ADDRESSES; i += BURST) {
		fib4_lookup_burst(fibs, &a->ip4[i], values, BURST);
		sum += values[0] + values[BURST - 1];
	}
	return sum;
}

static void *
noref6_create(uint32_t routes)
{
	(void)routes;
	return fib6_create(arena, NULL);
}

static int
noref6_add(void *table, const struct route *r)
{
	return fib6_set(table, &r->prefix, r->value, 0, 0);
}

static int
noref6_del(void *table, const struct route *r)
{
	return fib6_unset(table, &r->prefix);
}

static void
noref6_destroy(void *table)
{
	fib6_destroy(table);
	rcu_synchronize(rcu);
}

static uint64_t
noref6_lookup(void *table, const struct addresses *a)
{
	const struct fib6 *fibs[BURST];
	const uint8_t *addrs[BURST];
	uint32_t values[BURST];
	uint64_t sum = 0;

	for (unsigned i = 0; i < BURST; i++)
		fibs[i] = table;
	for (unsigned i = 0; i < ADDRESSES; i += BURST) {
		for (unsigned k = 0; k < BURST; k++)
			addrs[k] = a->ip6[i + k];
		fib6_lookup_burst(fibs, addrs, values, BURST);
		sum += values[0] + values[BURST - 1];
	}
	return sum;
}

static void *
lpm4_create(uint32_t routes)
{
	struct rte_lpm_config config = {.max_rules = routes + 1, .number_tbl8s = routes / 16 + 256};

	return rte_lpm_create("bench", SOCKET_ID_ANY, &config);
}

static int
lpm4_add(void *table, const struct route *r)
{
	return rte_lpm_add(table, ip4_host(&r->prefix.addr), r->prefix.len, r->value);
}

static int
lpm4_del(void *table, const struct route *r)
{
	return rte_lpm_delete(table, ip4_host(&r->prefix.addr), r->prefix.len);
}

static void
lpm4_destroy(void *table)
{
	rte_lpm_free(table);
}

static uint64_t
lpm4_lookup(void *table, const struct addresses *a)
{
	uint32_t values[BURST];
	uint64_t sum = 0;

	for (unsigned i = 0; i < ADDRESSES; i += BURST) {
		rte_lpm_lookup_bulk(table, &a->ip4[i], values, BURST);
		sum += (values[0] & 0xffffff) + (values[BURST - 1] & 0xffffff);
	}
	return sum;
}

static void *
dir24_create(uint32_t routes, enum rte_fib_lookup_type type)
{
	struct rte_fib_conf config = {
		.type = RTE_FIB_DIR24_8,
		.max_routes = (int)routes + 1,
		.dir24_8 = {.nh_sz = RTE_FIB_DIR24_8_4B, .num_tbl8 = routes / 16 + 256},
	};
	struct rte_fib *fib = rte_fib_create("bench", SOCKET_ID_ANY, &config);

	if (fib != NULL && rte_fib_select_lookup(fib, type) != 0) {
		rte_fib_free(fib);
		return NULL;
	}
	return fib;
}

static void *
dir24_create_scalar(uint32_t routes)
{
	return dir24_create(routes, RTE_FIB_LOOKUP_DIR24_8_SCALAR_MACRO);
}

static void *
dir24_create_avx512(uint32_t routes)
{
	return dir24_create(routes, RTE_FIB_LOOKUP_DIR24_8_VECTOR_AVX512);
}

static int
dir24_add(void *table, const struct route *r)
{
	return rte_fib_add(table, ip4_host(&r->prefix.addr), r->prefix.len, r->value);
}

static int
dir24_del(void *table, const struct route *r)
{
	return rte_fib_delete(table, ip4_host(&r->prefix.addr), r->prefix.len);
}

static void
dir24_destroy(void *table)
{
	rte_fib_free(table);
}

static uint64_t
dir24_lookup(void *table, const struct addresses *a)
{
	uint64_t values[BURST];
	uint64_t sum = 0;

	for (unsigned i = 0; i < ADDRESSES; i += BURST) {
		rte_fib_lookup_bulk(table, &a->ip4[i], values, BURST);
		sum += values[0] + values[BURST - 1];
	}
	return sum;
}

/* DPDK's IPv6 tables need one of 256 entries for each byte beyond the third in which a prefix
 * differs from all others, and want to know beforehand: 13 for a lone /128. */
static uint32_t
chained_tables(uint32_t routes)
{
	return routes > 100000 ? 400000 : routes < 10000 ? 65536 : 160000;
}

static void *
lpm6_create(uint32_t routes)
{
	struct rte_lpm6_config config = {.max_rules = routes + 1,
					 .number_tbl8s = chained_tables(routes)};

	return rte_lpm6_create("bench", SOCKET_ID_ANY, &config);
}

static int
lpm6_add(void *table, const struct route *r)
{
	return rte_lpm6_add(table, r->prefix.addr.bytes, r->prefix.len, r->value);
}

static int
lpm6_del(void *table, const struct route *r)
{
	return rte_lpm6_delete(table, r->prefix.addr.bytes, r->prefix.len);
}

static void
lpm6_destroy(void *table)
{
	rte_lpm6_free(table);
}

static uint64_t
lpm6_lookup(void *table, const struct addresses *a)
{
	int32_t values[BURST];
	uint64_t sum = 0;

	for (unsigned i = 0; i < ADDRESSES; i += BURST) {
		rte_lpm6_lookup_bulk_func(table, &a->ip6[i], values, BURST);
		sum += (uint32_t)values[0] + (uint32_t)values[BURST - 1];
	}
	return sum;
}

static void *
trie6_create(uint32_t routes)
{
	struct rte_fib6_conf config = {
		.type = RTE_FIB6_TRIE,
		.max_routes = (int)routes + 1,
		.trie = {.nh_sz = RTE_FIB6_TRIE_4B, .num_tbl8 = chained_tables(routes)},
	};

	return rte_fib6_create("bench", SOCKET_ID_ANY, &config);
}

static int
trie6_add(void *table, const struct route *r)
{
	return rte_fib6_add(table, r->prefix.addr.bytes, r->prefix.len, r->value);
}

static int
trie6_del(void *table, const struct route *r)
{
	return rte_fib6_delete(table, r->prefix.addr.bytes, r->prefix.len);
}

static void
trie6_destroy(void *table)
{
	rte_fib6_free(table);
}

static uint64_t
trie6_lookup(void *table, const struct addresses *a)
{
	uint64_t values[BURST];
	uint64_t sum = 0;

	for (unsigned i = 0; i < ADDRESSES; i += BURST) {
		rte_fib6_lookup_bulk(table, &a->ip6[i], values, BURST);
		sum += values[0] + values[BURST - 1];
	}
	return sum;
}

static const struct engine engines[] = {
	{"noref fib4", AF_INET, 0, noref4_create, noref4_add, noref4_del, noref4_destroy,
	 noref4_lookup},
	{"rte_fib", AF_INET, 0, dir24_create_scalar, dir24_add, dir24_del, dir24_destroy,
	 dir24_lookup},
	{"rte_fib avx512", AF_INET, 0, dir24_create_avx512, dir24_add, dir24_del, dir24_destroy,
	 dir24_lookup},
	/* Adding moves rules about: a million take a minute. */
	{"rte_lpm", AF_INET, 100000, lpm4_create, lpm4_add, lpm4_del, lpm4_destroy, lpm4_lookup},
	{"noref fib6", AF_INET6, 0, noref6_create, noref6_add, noref6_del, noref6_destroy,
	 noref6_lookup},
	{"rte_fib6", AF_INET6, 0, trie6_create, trie6_add, trie6_del, trie6_destroy, trie6_lookup},
	{"rte_lpm6", AF_INET6, 0, lpm6_create, lpm6_add, lpm6_del, lpm6_destroy, lpm6_lookup},
};

#endif
