/* SPDX-License-Identifier: BSD-3-Clause */
/* IPv6 route tables against a linear search: lookup, record, SIDs in front, updates under readers.
 */
#define TABLE_FAMILY AF_INET6
#include "test_fib_common.h"

static void *
table_create(struct fib_arena *arena)
{
	return fib6_create(arena, NULL);
}

static void
table_destroy(void *fib)
{
	fib6_destroy(fib);
}

static int
table_set(void *fib, const struct ip_prefix *p, uint32_t value, uint32_t user, bool front)
{
	return fib6_set(fib, p, value, user, front ? FIB6_FRONT : 0);
}

static int
table_unset(void *fib, const struct ip_prefix *p)
{
	return fib6_unset(fib, p);
}

static int
table_get(const void *fib, const struct ip_prefix *p, struct fib_entry *e)
{
	return fib6_get(fib, p, e);
}

static int
table_match(const void *fib, const struct ip_addr *addr, struct fib_entry *e)
{
	return fib6_match(fib, addr, e);
}

static bool
table_next(const void *fib, const struct ip_prefix *after, struct fib_entry *e)
{
	return fib6_next(fib, after, e);
}

static uint32_t
table_count(const void *fib)
{
	return fib6_count(fib);
}

static uint32_t
table_lookup(const void *fib, const struct ip_addr *addr)
{
	return fib6_lookup(fib, addr->bytes);
}

static void
table_burst(const void *fib, const struct ip_addr *addrs, uint32_t *values, unsigned n)
{
	const struct fib6 *fibs[100];
	const uint8_t *bytes[100];

	for (unsigned i = 0; i < n; i++) {
		fibs[i] = fib;
		bytes[i] = addrs[i].bytes;
	}
	fib6_lookup_burst(fibs, bytes, values, n);
}

static struct ip_prefix
prefix(const char *text)
{
	struct ip_prefix p;

	assert_int_equal(ip_prefix_parse(text, 0, true, &p, NULL, NULL), 0);
	return p;
}

static uint32_t
lookup(const struct fixture *f, const char *text)
{
	struct ip_addr a;

	assert_int_equal(ip_addr_parse(text, AF_INET6, &a), 0);
	return fib6_lookup(f->fib, a.bytes);
}

static int
set(const struct fixture *f, const char *text, uint32_t value, uint32_t flags)
{
	struct ip_prefix p = prefix(text);

	return fib6_set(f->fib, &p, value, 0, flags);
}

static int
unset(const struct fixture *f, const char *text)
{
	struct ip_prefix p = prefix(text);

	return fib6_unset(f->fib, &p);
}

static void
test_refuses_nonsense(void **state)
{
	struct fixture *f = *state;
	struct ip_prefix p = prefix("2001:db8::/32"), four = prefix("10.0.0.0/8");
	struct fib_entry e;

	assert_int_equal(fib6_set(f->fib, &p, 0, 0, 0), -EINVAL);
	assert_int_equal(fib6_set(f->fib, &p, FIB_VALUE_MAX + 1, 0, 0), -EINVAL);
	assert_int_equal(fib6_set(f->fib, &p, 1, 0, 2), -EINVAL);
	assert_int_equal(fib6_set(f->fib, &four, 1, 0, 0), -EINVAL);
	assert_int_equal(fib6_match(f->fib, &four.addr, &e), -ENOENT);
	p.addr.bytes[15] = 1;
	assert_int_equal(fib6_set(f->fib, &p, 1, 0, 0), -EINVAL);
	p.len = 129;
	assert_int_equal(fib6_set(f->fib, &p, 1, 0, 0), -EINVAL);
	assert_int_equal(fib6_unset(f->fib, &p), -ENOENT);
	assert_int_equal(fib6_count(f->fib), 0);
}

/* A SID wins by its length, not by standing in front. */
static void
test_longer_routes_below_a_sid(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(set(f, "fc00:1::/32", 1, FIB6_FRONT), 0);
	assert_int_equal(set(f, "fc00:1:2::/48", 2, FIB6_FRONT), 0);
	assert_int_equal(lookup(f, "fc00:1:2::1"), 2);
	assert_int_equal(set(f, "fc00:1:2:3::/64", 3, 0), 0);
	assert_int_equal(set(f, "fc00:1:2:3::/128", 4, 0), 0);
	assert_int_equal(lookup(f, "fc00:1:2:3::"), 4);
	assert_int_equal(lookup(f, "fc00:1:2:3::1"), 3);
	assert_int_equal(lookup(f, "fc00:1:2:4::1"), 2);
	assert_int_equal(lookup(f, "fc00:1:3::1"), 1);
	/* Longer only by a /128: the front answers alone. */
	assert_int_equal(unset(f, "fc00:1:2:3::/64"), 0);
	assert_int_equal(lookup(f, "fc00:1:2:3::1"), 2);
	assert_int_equal(lookup(f, "fc00:1:2:3::"), 4);
	assert_int_equal(unset(f, "fc00:1:2:3::/128"), 0);
	assert_int_equal(lookup(f, "fc00:1:2:3::"), 2);
	/* The flag comes and goes, the route stays. */
	assert_int_equal(set(f, "fc00:1:2::/48", 2, 0), 0);
	assert_int_equal(lookup(f, "fc00:1:2:3::"), 2);
	assert_int_equal(set(f, "fc00:1:2::/48", 5, FIB6_FRONT), 0);
	assert_int_equal(lookup(f, "fc00:1:2:3::"), 5);
	assert_int_equal(unset(f, "fc00:1:2::/48"), 0);
	assert_int_equal(lookup(f, "fc00:1:2:3::"), 1);
}

/* More lengths than there are tables in front: the trie answers for the rest. */
static void
test_more_lengths_than_tables(void **state)
{
	struct fixture *f = *state;
	struct random r = random_start(8);
	struct ip_addr a = random_addr(&r);

	for (unsigned len = 20; len <= 128; len += 4) {
		struct ip_prefix p = ip_prefix_of(&a, len);

		assert_int_equal(fib6_set(f->fib, &p, len, 0, FIB6_FRONT), 0);
		oracle_set(&f->oracle, &p, len, 0);
		check_lookups(f->fib, &f->oracle, &r, 200);
	}
	for (unsigned len = 20; len <= 128; len += 4) {
		struct ip_prefix p = ip_prefix_of(&a, len);

		assert_int_equal(fib6_unset(f->fib, &p), 0);
		oracle_unset(&f->oracle, &p);
		check_lookups(f->fib, &f->oracle, &r, 200);
	}
}

/* Ten thousand SIDs: every one is found, what is beside them isn't, and deleting
 * and adding for long neither crowds the table nor lets it grow. */
static void
test_many_sids(void **state)
{
	struct fixture *f = *state;
	struct ip_prefix p = prefix("fc00:0:1::/128");
	struct fib_memory memory, later;

	for (unsigned round = 0; round < 4; round++) {
		for (unsigned i = 0; i < 10000; i++) {
			p.addr.bytes[6] = (uint8_t)(i >> 8);
			p.addr.bytes[7] = (uint8_t)i;
			p.addr.bytes[15] = (uint8_t)round;
			assert_int_equal(fib6_set(f->fib, &p, i + 1, 0, 0), 0);
			assert_int_equal(fib6_lookup(f->fib, p.addr.bytes), i + 1);
			p.addr.bytes[14] = 1;
			assert_int_equal(fib6_lookup(f->fib, p.addr.bytes), 0);
			p.addr.bytes[14] = 0;
			if (round == 0)
				continue;
			p.addr.bytes[15] = (uint8_t)(round - 1);
			assert_int_equal(fib6_lookup(f->fib, p.addr.bytes), i + 1);
			assert_int_equal(fib6_unset(f->fib, &p), 0);
			assert_int_equal(fib6_lookup(f->fib, p.addr.bytes), 0);
		}
		rcu_synchronize(f->rcu);
		fib_arena_memory(f->arena, round == 0 ? &memory : &later);
	}
	assert_true(memory.nodes < 1100000);
	assert_true(later.nodes <= memory.nodes);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_refuses_nonsense, setup, teardown),
		cmocka_unit_test_setup_teardown(test_longer_routes_below_a_sid, setup, teardown),
		cmocka_unit_test_setup_teardown(test_more_lengths_than_tables, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many_sids, setup, teardown),
		COMMON_TESTS,
	};

	return cmocka_run_group_tests_name("fib6", tests, NULL, NULL);
}
