/* SPDX-License-Identifier: BSD-3-Clause */
/* IPv4 route tables against a linear search: lookup, record, updates under readers, memory. */
#define TABLE_FAMILY AF_INET
#include "test_fib_common.h"

static void *
table_create(struct fib_arena *arena)
{
	return fib4_create(arena, NULL);
}

static void
table_destroy(void *fib)
{
	fib4_destroy(fib);
}

static int
table_set(void *fib, const struct ip_prefix *p, uint32_t value, uint32_t user, bool front)
{
	(void)front;
	return fib4_set(fib, p, value, user);
}

static int
table_unset(void *fib, const struct ip_prefix *p)
{
	return fib4_unset(fib, p);
}

static int
table_get(const void *fib, const struct ip_prefix *p, struct fib_entry *e)
{
	return fib4_get(fib, p, e);
}

static int
table_match(const void *fib, const struct ip_addr *addr, struct fib_entry *e)
{
	return fib4_match(fib, addr, e);
}

static bool
table_next(const void *fib, const struct ip_prefix *after, struct fib_entry *e)
{
	return fib4_next(fib, after, e);
}

static uint32_t
table_count(const void *fib)
{
	return fib4_count(fib);
}

static uint32_t
table_lookup(const void *fib, const struct ip_addr *addr)
{
	return fib4_lookup(fib, ip4_host(addr));
}

static void
table_burst(const void *fib, const struct ip_addr *addrs, uint32_t *values, unsigned n)
{
	const struct fib4 *fibs[100];
	uint32_t hosts[100];

	for (unsigned i = 0; i < n; i++) {
		fibs[i] = fib;
		hosts[i] = ip4_host(&addrs[i]);
	}
	fib4_lookup_burst(fibs, hosts, values, n);
}

static struct ip_prefix
prefix(const char *text)
{
	struct ip_prefix p;

	assert_int_equal(ip_prefix_parse(text, 0, true, &p, NULL, NULL), 0);
	return p;
}

static void
test_refuses_nonsense(void **state)
{
	struct fixture *f = *state;
	struct ip_prefix p = prefix("10.0.0.0/8"), six = prefix("2001:db8::/32");
	struct fib_entry e;

	assert_int_equal(fib4_set(f->fib, &p, 0, 0), -EINVAL);
	assert_int_equal(fib4_set(f->fib, &p, FIB_VALUE_MAX + 1, 0), -EINVAL);
	assert_int_equal(fib4_set(f->fib, &six, 1, 0), -EINVAL);
	assert_int_equal(fib4_get(f->fib, &p, &e), -ENOENT);
	p.addr.bytes[3] = 1;
	assert_int_equal(fib4_set(f->fib, &p, 1, 0), -EINVAL);
	p = prefix("10.0.0.0/8");
	p.len = 33;
	assert_int_equal(fib4_set(f->fib, &p, 1, 0), -EINVAL);
	assert_int_equal(fib4_unset(f->fib, &p), -ENOENT);
	assert_int_equal(fib4_match(f->fib, &six.addr, &e), -ENOENT);
	assert_int_equal(fib4_count(f->fib), 0);
}

/* Packets of one burst may ask different tables. */
static void
test_burst_of_many_tables(void **state)
{
	struct fixture *f = *state;
	struct ip_prefix p = prefix("10.0.0.0/8");
	const struct fib4 *fibs[64];
	struct fib4 *tables[5];
	uint32_t addrs[64], values[64];

	for (unsigned t = 0; t < 5; t++) {
		tables[t] = fib4_create(f->arena, NULL);
		p.len = (uint8_t)(t == 4 ? 0 : 8);
		p.addr.bytes[0] = t == 4 ? 0 : 10;
		if (t != 3)
			assert_int_equal(fib4_set(tables[t], &p, t + 1, 0), 0);
	}
	for (unsigned i = 0; i < 64; i++) {
		fibs[i] = tables[i % 5];
		addrs[i] = i % 3 == 0 ? 0x0b000000 + i : 0x0a000000 + i * 70001;
	}
	fib4_lookup_burst(fibs, addrs, values, 64);
	for (unsigned i = 0; i < 64; i++)
		assert_int_equal(values[i], i % 5 == 4	 ? 5
					    : i % 5 == 3 ? 0
					    : i % 3 == 0 ? 0
							 : i % 5 + 1);
	for (unsigned t = 0; t < 5; t++)
		fib4_destroy(tables[t]);
}

/* An empty table takes no memory from the arena, a small one little. */
static void
test_small_tables_are_small(void **state)
{
	struct fixture *f = *state;
	struct fib_memory before, after;
	struct ip_prefix p = prefix("0.0.0.0/0");

	fib_arena_memory(f->arena, &before);
	assert_int_equal(before.nodes + before.record, 0);
	assert_int_equal(fib4_set(f->fib, &p, 1, 0), 0);
	fib_arena_memory(f->arena, &after);
	assert_int_equal(after.nodes, 0);
	p = prefix("192.168.1.0/24");
	assert_int_equal(fib4_set(f->fib, &p, 1, 0), 0);
	fib_arena_memory(f->arena, &after);
	assert_true(after.nodes <= 3 * 64);
}

/* A node fills up to as many runs as it has slots, and empties, with what covers it changing. */
static void
test_node_fills_and_empties(void **state)
{
	struct fixture *f = *state;
	struct random r = random_start(12);
	struct ip_prefix cover = prefix("10.0.0.0/8"), p = prefix("10.1.0.0/24");

	for (unsigned i = 0; i < 2 * 256; i++) {
		unsigned k = i * 67 % 256;

		p.addr.bytes[2] = (uint8_t)k;
		if (i < 256) {
			assert_int_equal(fib4_set(f->fib, &p, 1000 + k, 0), 0);
			oracle_set(&f->oracle, &p, 1000 + k, 0);
		} else {
			assert_int_equal(fib4_unset(f->fib, &p), 0);
			oracle_unset(&f->oracle, &p);
		}
		if (i % 8 == 0) {
			cover.len = (uint8_t)(i % 16 == 0 ? 8 : 16);
			cover.addr.bytes[1] = (uint8_t)(i % 16 == 0 ? 0 : 1);
			assert_int_equal(fib4_set(f->fib, &cover, i + 1, 0), 0);
			oracle_set(&f->oracle, &cover, i + 1, 0);
		}
		check_lookups(f->fib, &f->oracle, &r, 100);
	}
	check_walk(f->fib, &f->oracle);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_refuses_nonsense, setup, teardown),
		cmocka_unit_test_setup_teardown(test_burst_of_many_tables, setup, teardown),
		cmocka_unit_test_setup_teardown(test_small_tables_are_small, setup, teardown),
		cmocka_unit_test_setup_teardown(test_node_fills_and_empties, setup, teardown),
		COMMON_TESTS,
	};

	return cmocka_run_group_tests_name("fib4", tests, NULL, NULL);
}
