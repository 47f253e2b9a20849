/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_FIB_COMMON_H
#define TEST_FIB_COMMON_H

/**
 * @file
 * The tests that test_fib4 and test_fib6 have in common.
 */

#include "test_fib_oracle.h"

/* --- Fixture --------------------------------------------------------------- */

#define READERS 2

struct fixture {
	struct rcu *rcu;
	struct fib_arena *arena;
	void *fib;
	struct oracle oracle;
};

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct err err = {""};

	f->rcu = rcu_create(READERS, &err);
	f->arena = fib_arena_create(f->rcu, -1, &err);
	assert_non_null(f->arena);
	f->fib = table_create(f->arena);
	*state = f;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;
	struct fib_memory m;

	table_destroy(f->fib);
	rcu_synchronize(f->rcu);
	fib_arena_memory(f->arena, &m);
	assert_int_equal(m.nodes, 0);
	assert_int_equal(m.record, 0);
	assert_int_equal(m.retired, 0);
	fib_arena_destroy(f->arena);
	rcu_destroy(f->rcu);
	free(f);
	return 0;
}

static void
random_set(struct fixture *f, struct random *r)
{
	struct ip_prefix p = random_prefix(r);
	uint32_t value = 1 + rnd(r, rnd(r, 2) ? 3 : FIB_VALUE_MAX), user = rnd(r, 1000);

	if (rnd(r, 3) == 0 && f->oracle.count != 0)
		p = f->oracle.entries[rnd(r, f->oracle.count)].prefix;
	assert_int_equal(table_set(f->fib, &p, value, user, rnd(r, 3) == 0), 0);
	oracle_set(&f->oracle, &p, value, user);
}

static void
random_unset(struct fixture *f, struct random *r)
{
	struct ip_prefix p;

	if (f->oracle.count == 0)
		return;
	p = f->oracle.entries[rnd(r, f->oracle.count)].prefix;
	assert_int_equal(table_unset(f->fib, &p), 0);
	assert_int_equal(table_unset(f->fib, &p), -ENOENT);
	oracle_unset(&f->oracle, &p);
}

/* --- Tests ----------------------------------------------------------------- */

/* Set, replace and unset at random, growing, then shrinking to nothing. */
static void
test_random_updates(void **state)
{
	struct fixture *f = *state;

	for (unsigned seed = 1; seed <= 25; seed++) {
		struct random r = random_start(seed);

		for (unsigned i = 0; i < 600 || f->oracle.count > 0; i++) {
			if (rnd(&r, 10) < (i < 400 ? 7u : 2u))
				random_set(f, &r);
			else
				random_unset(f, &r);
			if (i % 16 == 0)
				check_lookups(f->fib, &f->oracle, &r, 60);
			if (i % 64 == 0)
				check_walk(f->fib, &f->oracle);
		}
		check_lookups(f->fib, &f->oracle, &r, 20);
	}
}

/* Small, large, and small again: the root changes its kind both ways. */
static void
test_root_grows_and_shrinks(void **state)
{
	struct fixture *f = *state;
	struct random r = random_start(77);

	while (f->oracle.count < 64 * TRIE_DIRECT_UP) {
		random_set(f, &r);
		if (f->oracle.count % 256 == 0)
			check_lookups(f->fib, &f->oracle, &r, 50);
	}
	check_lookups(f->fib, &f->oracle, &r, 2000);
	check_walk(f->fib, &f->oracle);
	while (f->oracle.count > TRIE_DIRECT_DOWN / 2) {
		random_unset(f, &r);
		if (f->oracle.count % 256 == 0)
			check_lookups(f->fib, &f->oracle, &r, 50);
	}
	check_lookups(f->fib, &f->oracle, &r, 1000);
	check_walk(f->fib, &f->oracle);
}

/* Every length at once around one address; each falls back to the next shorter. */
static void
test_every_length(void **state)
{
	struct fixture *f = *state;
	struct random r = random_start(5);
	struct ip_addr a = random_addr(&r);
	unsigned bits = ip_bits(table_family);

	for (unsigned len = 0; len <= bits; len++) {
		struct ip_prefix p = ip_prefix_of(&a, len);

		assert_int_equal(table_set(f->fib, &p, len + 1, 0, false), 0);
		oracle_set(&f->oracle, &p, len + 1, 0);
		assert_int_equal(table_lookup(f->fib, &a), len + 1);
	}
	for (unsigned bit = 0; bit < bits; bit++) {
		struct ip_addr b = a;

		b.bytes[bit / 8] ^= (uint8_t)(0x80 >> (bit % 8));
		assert_int_equal(table_lookup(f->fib, &b), bit + 1);
	}
	check_walk(f->fib, &f->oracle);
	for (unsigned len = bits; len > 0; len--) {
		struct ip_prefix p = ip_prefix_of(&a, len);

		assert_int_equal(table_unset(f->fib, &p), 0);
		assert_int_equal(table_lookup(f->fib, &a), len);
	}
}

/* What comes next does not depend on the last one still being there. */
static void
test_walk_while_deleting(void **state)
{
	struct fixture *f = *state;
	struct random r = random_start(9);
	struct ip_prefix after;
	struct fib_entry e, last;
	unsigned seen = 0, total;

	while (f->oracle.count < 1000)
		random_set(f, &r);
	total = f->oracle.count;
	for (bool more = table_next(f->fib, NULL, &e); more;
	     more = table_next(f->fib, &after, &e)) {
		if (seen++ > 0)
			assert_true(entry_compare(&last, &e) < 0);
		last = e;
		after = e.prefix;
		assert_int_equal(table_unset(f->fib, &after), 0);
	}
	assert_int_equal(seen, total);
	assert_int_equal(table_count(f->fib), 0);
	/* From a place where nothing ever was. */
	f->oracle.count = 0;
	for (unsigned i = 0; i < 300; i++)
		random_set(f, &r);
	for (unsigned i = 0; i < 2000; i++) {
		const struct fib_entry *want = NULL;

		last.prefix = random_prefix(&r);
		for (unsigned k = 0; k < f->oracle.count; k++)
			if (entry_compare(&f->oracle.entries[k], &last) > 0 &&
			    (want == NULL || entry_compare(&f->oracle.entries[k], want) < 0))
				want = &f->oracle.entries[k];
		assert_int_equal(table_next(f->fib, &last.prefix, &e), want != NULL);
		if (want != NULL)
			assert_int_equal(entry_compare(&e, want), 0);
	}
}

/* An update that finds no memory, wherever that happens, changes nothing. */
static void
test_no_memory(void **state)
{
	struct fixture *f = *state;
	struct random r = random_start(31);
	unsigned failed = 0;

	for (unsigned i = 0; i < 1500; i++) {
		struct ip_prefix p = random_prefix(&r);
		bool remove = f->oracle.count != 0 && rnd(&r, 3) == 0;
		int rc = -1;

		if (remove)
			p = f->oracle.entries[rnd(&r, f->oracle.count)].prefix;
		for (unsigned k = 1; rc != 0; k++) {
			struct heap *heap = k & 1 ? &f->arena->nodes : &f->arena->records;

			heap->fail_after = (k + 1) / 2;
			rc = remove ? table_unset(f->fib, &p)
				    : table_set(f->fib, &p, i + 1, i, i & 1);
			heap->fail_after = 0;
			assert_true(rc == 0 || rc == -ENOSPC || rc == -ENOMEM);
			if (rc != 0) {
				failed++;
				check_lookups(f->fib, &f->oracle, &r, 5);
				assert_int_equal(table_count(f->fib), f->oracle.count);
			}
		}
		if (remove)
			oracle_unset(&f->oracle, &p);
		else
			oracle_set(&f->oracle, &p, i + 1, i);
		check_lookups(f->fib, &f->oracle, &r, 5);
	}
	assert_true(failed > 300);
	check_walk(f->fib, &f->oracle);
}

/* Memory comes back when routes go. */
static void
test_memory_returns(void **state)
{
	struct fixture *f = *state;
	struct fib_memory before, full, after;
	struct random r = random_start(3);
	struct ip_prefix *all = calloc(150000, sizeof(*all));
	unsigned n = 0;

	fib_arena_memory(f->arena, &before);
	while (n < 150000) {
		struct ip_addr a = random_addr(&r);

		a.bytes[0] = (uint8_t)(32 + rnd(&r, 32));
		all[n] = ip_prefix_of(&a, 17 + rnd(&r, 16));
		assert_int_equal(table_set(f->fib, &all[n], 1 + rnd(&r, 50), 0, false), 0);
		n++;
	}
	rcu_poll(f->rcu);
	fib_arena_memory(f->arena, &full);
	assert_true(full.reserved >= before.reserved + (4u << 20));
	while (n-- > 0)
		(void)table_unset(f->fib, &all[n]);
	assert_int_equal(table_count(f->fib), 0);
	rcu_synchronize(f->rcu);
	fib_arena_memory(f->arena, &after);
	assert_int_equal(after.nodes, before.nodes);
	assert_int_equal(after.record, 0);
	assert_int_equal(after.retired, 0);
	/* A page of each size stays, all within a few steps of 2 MiB. */
	assert_true(after.reserved <= before.reserved + (6u << 20));
	free(all);
}

/* --- Readers beside the control thread ------------------------------------- */

/*
 * The value of a prefix is its index and a version. Readers know which
 * prefixes stay, so each answer can be judged without a lock: it covers the
 * address, and is no shorter than the longest that stays.
 */
#define CHURN_PREFIXES 3000
#define CHURN_STABLE   300
#define CHURN_ADDRS    512

struct churn {
	struct fixture *f;
	struct ip_prefix prefixes[CHURN_PREFIXES]; /* the first CHURN_STABLE stay */
	struct ip_addr addrs[CHURN_ADDRS];
	const struct ip_prefix *stable[CHURN_ADDRS]; /* the longest that stays */
	unsigned worker;
	unsigned rounds;
	unsigned wrong;
	bool stop;
};

static bool
answer_possible(const struct churn *c, unsigned i, uint32_t value)
{
	const struct ip_prefix *p;

	if (value == 0)
		return c->stable[i] == NULL;
	if ((value >> 2) >= CHURN_PREFIXES)
		return false;
	p = &c->prefixes[value >> 2];
	return ip_prefix_contains(p, &c->addrs[i]) &&
	       (c->stable[i] == NULL || p->len >= c->stable[i]->len);
}

static void *
reader(void *arg)
{
	struct churn *c = arg;
	uint32_t values[CHURN_ADDRS];

	rcu_online(c->f->rcu, c->worker);
	while (!__atomic_load_n(&c->stop, __ATOMIC_RELAXED)) {
		for (unsigned i = 0; i < CHURN_ADDRS; i += 32) {
			table_burst(c->f->fib, &c->addrs[i], &values[i], 32);
			rcu_quiescent(c->f->rcu, c->worker);
		}
		for (unsigned i = 0; i < CHURN_ADDRS; i++)
			if (!answer_possible(c, i, values[i]))
				c->wrong++;
		c->rounds++;
	}
	rcu_offline(c->f->rcu, c->worker);
	return NULL;
}

static void
churn_prepare(struct churn *c, struct random *r)
{
	struct oracle *o = &c->f->oracle;

	o->count = 0;
	for (unsigned i = 0; i < CHURN_PREFIXES; i++) {
		do
			c->prefixes[i] = random_prefix(r);
		while (oracle_get(o, &c->prefixes[i]) != NULL);
		oracle_set(o, &c->prefixes[i], i << 2 | 1, 0);
	}
	for (unsigned i = 0; i < CHURN_ADDRS; i++) {
		c->addrs[i] = address_near(r, o);
		c->stable[i] = NULL;
	}
	o->count = CHURN_STABLE;
	for (unsigned i = 0; i < CHURN_ADDRS; i++) {
		const struct fib_entry *e = oracle_match(o, &c->addrs[i]);

		c->stable[i] = e == NULL ? NULL : &c->prefixes[e->value >> 2];
	}
}

static void
test_readers_beside_updates(void **state)
{
	struct fixture *f = *state;
	struct churn *c = calloc(READERS, sizeof(*c));
	struct random r = random_start(2024);
	pthread_t threads[READERS];

	c->f = f;
	churn_prepare(c, &r);
	for (unsigned i = 0; i < CHURN_STABLE; i++)
		assert_int_equal(table_set(f->fib, &c->prefixes[i], i << 2 | 1, 0, i & 1), 0);
	for (unsigned w = 0; w < READERS; w++) {
		if (w > 0) {
			memcpy(&c[w], c, sizeof(*c));
			for (unsigned i = 0; i < CHURN_ADDRS; i++)
				if (c->stable[i] != NULL)
					c[w].stable[i] =
						c[w].prefixes + (c->stable[i] - c->prefixes);
		}
		c[w].worker = w;
	}
	for (unsigned w = 0; w < READERS; w++)
		pthread_create(&threads[w], NULL, reader, &c[w]);
	for (unsigned round = 0; round < 3; round++) {
		/* Up to a direct root, changes at random, and down again. */
		for (unsigned i = CHURN_STABLE; i < CHURN_PREFIXES; i++)
			table_set(f->fib, &c->prefixes[i], i << 2 | 1, 0, rnd(&r, 2));
		for (unsigned k = 0; k < 6000; k++) {
			unsigned i = CHURN_STABLE + rnd(&r, CHURN_PREFIXES - CHURN_STABLE);

			if (rnd(&r, 2) == 0)
				table_set(f->fib, &c->prefixes[i], i << 2 | rnd(&r, 4), 0,
					  rnd(&r, 2));
			else
				table_unset(f->fib, &c->prefixes[i]);
		}
		for (unsigned i = CHURN_STABLE; i < CHURN_PREFIXES; i++)
			table_unset(f->fib, &c->prefixes[i]);
	}
	for (unsigned w = 0; w < READERS; w++) {
		__atomic_store_n(&c[w].stop, true, __ATOMIC_RELAXED);
		pthread_join(threads[w], NULL);
		assert_int_equal(c[w].wrong, 0);
		assert_true(c[w].rounds > 0);
	}
	assert_int_equal(table_count(f->fib), CHURN_STABLE);
	free(c);
}

#define COMMON_TESTS                                                                               \
	cmocka_unit_test_setup_teardown(test_random_updates, setup, teardown),                     \
		cmocka_unit_test_setup_teardown(test_root_grows_and_shrinks, setup, teardown),     \
		cmocka_unit_test_setup_teardown(test_every_length, setup, teardown),               \
		cmocka_unit_test_setup_teardown(test_walk_while_deleting, setup, teardown),        \
		cmocka_unit_test_setup_teardown(test_no_memory, setup, teardown),                  \
		cmocka_unit_test_setup_teardown(test_memory_returns, setup, teardown),             \
		cmocka_unit_test_setup_teardown(test_readers_beside_updates, setup, teardown)

#endif
