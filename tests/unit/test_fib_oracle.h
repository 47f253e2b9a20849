/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_FIB_ORACLE_H
#define TEST_FIB_ORACLE_H

/**
 * @file
 * A table that is searched from end to end and so cannot be wrong, random
 * prefixes and addresses, and what holds a fib against the oracle. The
 * including file defines TABLE_FAMILY and the table_ functions.
 */

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "arena.h"
#include "fib.h"
#include "lookup.h"
#include "trie.h"

/* --- The table under test, whichever family -------------------------------- */

static const uint8_t table_family = TABLE_FAMILY;

static void *table_create(struct fib_arena *arena);
static void table_destroy(void *fib);
static int table_set(void *fib, const struct ip_prefix *p, uint32_t value, uint32_t user,
		     bool front);
static int table_unset(void *fib, const struct ip_prefix *p);
static int table_get(const void *fib, const struct ip_prefix *p, struct fib_entry *e);
static int table_match(const void *fib, const struct ip_addr *addr, struct fib_entry *e);
static bool table_next(const void *fib, const struct ip_prefix *after, struct fib_entry *e);
static uint32_t table_count(const void *fib);
static uint32_t table_lookup(const void *fib, const struct ip_addr *addr);
static void table_burst(const void *fib, const struct ip_addr *addrs, uint32_t *values, unsigned n);

/* --- Random things --------------------------------------------------------- */

struct random {
	uint64_t state;
	struct ip_addr clusters[8];
};

static uint32_t
rnd(struct random *r, uint32_t below)
{
	r->state ^= r->state << 13;
	r->state ^= r->state >> 7;
	r->state ^= r->state << 17;
	return (uint32_t)((r->state >> 32) * below >> 32);
}

static struct ip_addr
random_addr(struct random *r)
{
	struct ip_addr a = {.family = table_family};

	for (unsigned i = 0; i < ip_bits(table_family) / 8; i++)
		a.bytes[i] = (uint8_t)rnd(r, 256);
	return a;
}

static struct random
random_start(uint64_t seed)
{
	struct random r = {.state = seed * 0x9e3779b97f4a7c15ull + 1};

	for (unsigned i = 0; i < 8; i++)
		r.clusters[i] = random_addr(&r);
	return r;
}

/* The first `bits` of `a`, the rest random. */
static struct ip_addr
random_below(struct random *r, const struct ip_addr *a, unsigned bits)
{
	struct ip_addr b = random_addr(r);

	for (unsigned i = 0; i < bits; i++) {
		uint8_t mask = (uint8_t)(0x80 >> (i % 8));

		b.bytes[i / 8] = (uint8_t)((b.bytes[i / 8] & ~mask) | (a->bytes[i / 8] & mask));
	}
	return b;
}

static struct ip_prefix
random_prefix(struct random *r)
{
	unsigned bits = ip_bits(table_family);
	const struct ip_addr *cluster = &r->clusters[rnd(r, 8)];
	struct ip_addr a = random_below(r, cluster, rnd(r, bits + 1));
	unsigned len = rnd(r, 3) == 0 ? 8 * rnd(r, bits / 8 + 1) : rnd(r, bits + 1);

	if (rnd(r, 4) == 0)
		len = bits - rnd(r, 10);
	return ip_prefix_of(&a, len);
}

/* --- The oracle ------------------------------------------------------------ */

#define ORACLE_MAX 16384

struct oracle {
	unsigned count;
	struct fib_entry entries[ORACLE_MAX];
};

static struct fib_entry *
oracle_get(struct oracle *o, const struct ip_prefix *p)
{
	for (unsigned i = 0; i < o->count; i++)
		if (ip_prefix_equal(&o->entries[i].prefix, p))
			return &o->entries[i];
	return NULL;
}

static void
oracle_set(struct oracle *o, const struct ip_prefix *p, uint32_t value, uint32_t user)
{
	struct fib_entry *e = oracle_get(o, p);

	if (e == NULL)
		e = &o->entries[o->count++];
	*e = (struct fib_entry){*p, value, user};
}

static void
oracle_unset(struct oracle *o, const struct ip_prefix *p)
{
	*oracle_get(o, p) = o->entries[o->count - 1];
	o->count--;
}

static const struct fib_entry *
oracle_match(const struct oracle *o, const struct ip_addr *a)
{
	const struct fib_entry *best = NULL;

	for (unsigned i = 0; i < o->count; i++)
		if ((best == NULL || o->entries[i].prefix.len > best->prefix.len) &&
		    ip_prefix_contains(&o->entries[i].prefix, a))
			best = &o->entries[i];
	return best;
}

static int
entry_compare(const void *a, const void *b)
{
	const struct fib_entry *x = a, *y = b;
	int order = memcmp(x->prefix.addr.bytes, y->prefix.addr.bytes, 16);

	return order != 0 ? order : x->prefix.len - y->prefix.len;
}

/* An address at, just beside, or far from what is in the table. */
static struct ip_addr
address_near(struct random *r, const struct oracle *o)
{
	const struct ip_prefix *p;
	struct ip_addr a;

	if (o->count == 0 || rnd(r, 16) == 0)
		return random_addr(r);
	p = &o->entries[rnd(r, o->count)].prefix;
	a = random_below(r, &p->addr, rnd(r, 4) == 0 ? ip_bits(table_family) : p->len);
	if (rnd(r, 4) == 0) {
		unsigned bit = rnd(r, ip_bits(table_family));

		a.bytes[bit / 8] ^= (uint8_t)(0x80 >> (bit % 8));
	}
	return a;
}

/* --- Holding one against the other ----------------------------------------- */

static void
check_lookups(const void *fib, const struct oracle *o, struct random *r, unsigned count)
{
	struct ip_addr addrs[100];
	uint32_t values[100];

	while (count > 0) {
		unsigned n = 1 + rnd(r, 100);

		n = n < count ? n : count;
		count -= n;
		for (unsigned i = 0; i < n; i++)
			addrs[i] = address_near(r, o);
		table_burst(fib, addrs, values, n);
		for (unsigned i = 0; i < n; i++) {
			const struct fib_entry *want = oracle_match(o, &addrs[i]);
			struct fib_entry got;
			int rc = table_match(fib, &addrs[i], &got);

			assert_int_equal(values[i], want == NULL ? 0 : want->value);
			assert_int_equal(table_lookup(fib, &addrs[i]), values[i]);
			assert_int_equal(rc, want == NULL ? -ENOENT : 0);
			if (rc == 0)
				assert_int_equal(entry_compare(&got, want), 0);
		}
	}
}

static void
check_walk(const void *fib, const struct oracle *o)
{
	static struct fib_entry sorted[ORACLE_MAX];
	struct ip_prefix after;
	struct fib_entry e;
	unsigned n = 0;

	memcpy(sorted, o->entries, o->count * sizeof(*sorted));
	qsort(sorted, o->count, sizeof(*sorted), entry_compare);
	for (bool more = table_next(fib, NULL, &e); more; more = table_next(fib, &after, &e)) {
		struct fib_entry got;

		assert_true(n < o->count);
		assert_int_equal(entry_compare(&e, &sorted[n]), 0);
		assert_int_equal(e.value, sorted[n].value);
		assert_int_equal(e.user, sorted[n].user);
		assert_int_equal(table_get(fib, &e.prefix, &got), 0);
		assert_int_equal(got.value, e.value);
		after = e.prefix;
		n++;
	}
	assert_int_equal(n, o->count);
	assert_int_equal(table_count(fib), o->count);
}

#endif
