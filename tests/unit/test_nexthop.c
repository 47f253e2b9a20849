/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The next-hop table: what a worker may still be reading stays as it was, indexes
 * come back only after a grace period, groups share flows as their weights ask.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "nexthop.h"

struct fixture {
	struct rcu *rcu;
	struct nexthop_table *table;
};

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct err err;

	assert_non_null(f);
	f->rcu = rcu_create(1, &err);
	assert_non_null(f->rcu);
	f->table = nexthop_table_create(f->rcu, &err);
	assert_non_null(f->table);
	*state = f;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	rcu_offline(f->rcu, 0);
	nexthop_table_destroy(f->table);
	rcu_destroy(f->rcu);
	free(f);
	return 0;
}

static uint32_t
add(struct fixture *f, enum nexthop_type type, uint16_t iface)
{
	struct nexthop contents = {.type = (uint8_t)type, .iface = iface};
	struct err err;
	uint32_t id = nexthop_add(f->table, &contents, &err);

	assert_int_not_equal(id, 0);
	return id;
}

static void
index_zero_is_no_route(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(nexthop_at(f->table, 0)->type, NEXTHOP_NONE);
	assert_int_equal(nexthop_count(f->table), 0);
}

static void
an_entry_says_what_was_added(void **state)
{
	struct fixture *f = *state;
	uint32_t id = add(f, NEXTHOP_LOCAL, 7);

	assert_int_equal(nexthop_at(f->table, id)->type, NEXTHOP_LOCAL);
	assert_int_equal(nexthop_at(f->table, id)->iface, 7);
	assert_int_equal(nexthop_at(f->table, id)->id, id);
	assert_int_equal(nexthop_refs(f->table, id), 1);
	assert_int_equal(nexthop_count(f->table), 1);
	assert_int_equal((uintptr_t)nexthop_at(f->table, id) % RTE_CACHE_LINE_SIZE, 0);
}

static void
only_the_last_release_frees(void **state)
{
	struct fixture *f = *state;
	uint32_t id = add(f, NEXTHOP_BLACKHOLE, 0);

	nexthop_hold(f->table, id);
	assert_int_equal(nexthop_refs(f->table, id), 2);
	assert_false(nexthop_release(f->table, id));
	assert_int_equal(nexthop_at(f->table, id)->type, NEXTHOP_BLACKHOLE);
	assert_true(nexthop_release(f->table, id));
	assert_int_equal(nexthop_count(f->table), 0);
}

/* A worker that looked the index up before the last release can still follow it. */
static void
an_index_is_reused_only_after_a_grace_period(void **state)
{
	struct fixture *f = *state;
	uint32_t id, other;

	rcu_online(f->rcu, 0);
	id = add(f, NEXTHOP_LOCAL, 1);
	assert_true(nexthop_release(f->table, id));
	rcu_poll(f->rcu);
	assert_int_equal(nexthop_at(f->table, id)->type, NEXTHOP_LOCAL);
	other = add(f, NEXTHOP_LOCAL, 2);
	assert_int_not_equal(other, id);
	assert_int_equal(nexthop_at(f->table, id)->iface, 1);

	rcu_quiescent(f->rcu, 0);
	rcu_poll(f->rcu);
	assert_int_equal(nexthop_at(f->table, id)->type, NEXTHOP_NONE);
	assert_int_equal(add(f, NEXTHOP_LOCAL, 3), id);
	assert_int_equal(nexthop_at(f->table, id)->iface, 3);
}

static void
replaced_contents_stay_readable_until_nobody_reads(void **state)
{
	struct fixture *f = *state;
	struct nexthop contents = {.type = NEXTHOP_ADJACENT, .port = 3, .rewrite_len = 14};
	const struct nexthop *before;
	uint32_t id;

	rcu_online(f->rcu, 0);
	id = add(f, NEXTHOP_RESOLVE, 1);
	before = nexthop_at(f->table, id);
	assert_int_equal(nexthop_replace(f->table, id, &contents), 0);
	assert_ptr_not_equal(nexthop_at(f->table, id), before);
	assert_int_equal(nexthop_at(f->table, id)->type, NEXTHOP_ADJACENT);
	assert_int_equal(nexthop_at(f->table, id)->id, id);
	rcu_poll(f->rcu);
	assert_int_equal(before->type, NEXTHOP_RESOLVE);
	assert_int_equal(rcu_pending(f->rcu), 1);
	rcu_quiescent(f->rcu, 0);
	rcu_poll(f->rcu);
	assert_int_equal(rcu_pending(f->rcu), 0);
	assert_int_equal(nexthop_refs(f->table, id), 1);
}

static void
many_come_and_go_without_growth(void **state)
{
	struct fixture *f = *state;
	uint32_t highest = 0;

	for (unsigned round = 0; round < 200; round++) {
		uint32_t ids[100];

		for (unsigned i = 0; i < 100; i++) {
			ids[i] = add(f, NEXTHOP_LOCAL, (uint16_t)i);
			if (ids[i] > highest)
				highest = ids[i];
		}
		for (unsigned i = 0; i < 100; i++)
			assert_true(nexthop_release(f->table, ids[i]));
		rcu_poll(f->rcu);
	}
	assert_int_equal(nexthop_count(f->table), 0);
	assert_true(highest <= 100);
}

/* --- groups ------------------------------------------------------------------------------- */

/* Entries of each member; every entry must be a member. */
static void
count_shares(const uint32_t *values, uint32_t mask, const struct nexthop_member *members,
	     unsigned n, unsigned shares[])
{
	for (unsigned m = 0; m < n; m++)
		shares[m] = 0;
	for (uint32_t e = 0; e <= mask; e++) {
		unsigned m = 0;

		while (m < n && members[m].nexthop != values[e])
			m++;
		assert_true(m < n);
		shares[m]++;
	}
}

static void
shares_follow_the_weights(void **state)
{
	static const struct nexthop_member members[] = {{11, 1}, {22, 2}, {33, 5}, {44, 56}};
	unsigned shares[4];
	const uint32_t *values;
	uint32_t mask;

	(void)state;
	values = nexthop_group_values(members, 4, &mask);
	assert_non_null(values);
	assert_int_equal(mask & (mask + 1), 0);
	count_shares(values, mask, members, 4, shares);
	for (unsigned m = 0; m < 4; m++) {
		double wanted = (mask + 1) * members[m].weight / 64.0;

		/* Entries fall by chance: within four standard deviations, so within a few percent
		 * of all flows. */
		assert_true(shares[m] > wanted - 4 * __builtin_sqrt(wanted) - 1);
		assert_true(shares[m] < wanted + 4 * __builtin_sqrt(wanted) + 1);
	}
	nexthop_group_values_free(values);
}

static void
equal_members_get_equal_shares(void **state)
{
	static const struct nexthop_member members[] = {{100, 64}, {101, 64}, {102, 64}, {103, 64}};
	unsigned shares[4];
	const uint32_t *values;
	uint32_t mask;

	(void)state;
	values = nexthop_group_values(members, 4, &mask);
	assert_non_null(values);
	count_shares(values, mask, members, 4, shares);
	for (unsigned m = 0; m < 4; m++) {
		double share = shares[m] * 100.0 / (mask + 1);

		assert_true(share > 22 && share < 28);
	}
	nexthop_group_values_free(values);
}

/* Of the same size before and after, so that entries can be compared one by one. */
static void
a_member_that_leaves_moves_its_own_flows_only(void **state)
{
	static const struct nexthop_member four[] = {{1, 16}, {2, 16}, {3, 16}, {4, 16}};
	static const struct nexthop_member three[] = {{1, 16}, {2, 16}, {4, 16}};
	const uint32_t *before, *after;
	unsigned moved = 0;
	uint32_t mask4, mask3;

	(void)state;
	before = nexthop_group_values(four, 4, &mask4);
	after = nexthop_group_values(three, 3, &mask3);
	assert_non_null(before);
	assert_non_null(after);
	assert_int_equal(mask4, mask3);
	for (uint32_t e = 0; e <= mask4; e++) {
		if (before[e] == 3) {
			assert_int_not_equal(after[e], 3);
			moved++;
		} else {
			assert_int_equal(after[e], before[e]);
		}
	}
	assert_true(moved > 0);
	nexthop_group_values_free(before);
	nexthop_group_values_free(after);
}

/* Order is nothing: two routes that name the same members agree. */
static void
the_order_of_members_does_not_matter(void **state)
{
	static const struct nexthop_member one[] = {{5, 1}, {6, 3}, {7, 2}};
	static const struct nexthop_member other[] = {{7, 2}, {5, 1}, {6, 3}};
	const uint32_t *a, *b;
	uint32_t mask_a, mask_b;

	(void)state;
	a = nexthop_group_values(one, 3, &mask_a);
	b = nexthop_group_values(other, 3, &mask_b);
	assert_non_null(a);
	assert_non_null(b);
	assert_int_equal(mask_a, mask_b);
	assert_memory_equal(a, b, (mask_a + 1) * sizeof(*a));
	nexthop_group_values_free(a);
	nexthop_group_values_free(b);
}

static void
a_group_is_a_next_hop_and_frees_its_table(void **state)
{
	static const struct nexthop_member members[] = {{8, 1}, {9, 1}};
	struct fixture *f = *state;
	struct nexthop contents = {.type = NEXTHOP_GROUP};
	struct err err;
	uint32_t id;

	contents.group.values = nexthop_group_values(members, 2, &contents.group.mask);
	assert_non_null(contents.group.values);
	id = nexthop_add(f->table, &contents, &err);
	assert_int_not_equal(id, 0);
	for (uint32_t hash = 0; hash < 1000; hash++) {
		uint32_t picked = nexthop_group_pick(nexthop_at(f->table, id), hash * 2654435761u);

		assert_true(picked == 8 || picked == 9);
	}
	/* A new table in place of the old, then none: the leak check sees whether both went. */
	contents.group.values = nexthop_group_values(members, 1, &contents.group.mask);
	assert_int_equal(nexthop_replace(f->table, id, &contents), 0);
	assert_int_equal(nexthop_group_pick(nexthop_at(f->table, id), 12345), 8);
	assert_true(nexthop_release(f->table, id));
}

/* --- behaviours ----------------------------------------------------------------------------- */

static void
behaviours_have_names(void **state)
{
	enum sid_behaviour b;

	(void)state;
	for (unsigned i = 0; i < SID_BEHAVIOUR_COUNT; i++) {
		assert_int_equal(sid_behaviour_parse(sid_behaviour_name((enum sid_behaviour)i), &b),
				 0);
		assert_int_equal(b, i);
	}
	assert_int_equal(sid_behaviour_parse("end.dx4", &b), 0);
	assert_int_equal(b, SID_END_DX4);
	assert_int_equal(sid_behaviour_parse("End.", &b), -EINVAL);
	assert_int_equal(sid_behaviour_parse("", &b), -EINVAL);
}

#define TABLE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TABLE_TEST(index_zero_is_no_route),
		TABLE_TEST(an_entry_says_what_was_added),
		TABLE_TEST(only_the_last_release_frees),
		TABLE_TEST(an_index_is_reused_only_after_a_grace_period),
		TABLE_TEST(replaced_contents_stay_readable_until_nobody_reads),
		TABLE_TEST(many_come_and_go_without_growth),
		cmocka_unit_test(shares_follow_the_weights),
		cmocka_unit_test(equal_members_get_equal_shares),
		cmocka_unit_test(a_member_that_leaves_moves_its_own_flows_only),
		cmocka_unit_test(the_order_of_members_does_not_matter),
		TABLE_TEST(a_group_is_a_next_hop_and_frees_its_table),
		cmocka_unit_test(behaviours_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
