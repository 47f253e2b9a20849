/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lib/neigh: every change of state, the limits, and random operations whose
 * callbacks call back. test_neigh_owner.h explains the words compared with.
 */
#include <errno.h>

#include "test_neigh_owner.h"

/* --- states ------------------------------------------------------------------- */

static void
test_answer_releases_in_order(void **state)
{
	struct world *w = *state;

	give(w, 1, 0);
	expect(w, "new 1, ask 1");
	give(w, 1, 1);
	give(w, 1, 2);
	expect(w, "");
	assert_int_equal(neigh_held(w->table), 3);
	assert_int_equal(find(w, 1)->held, 3);
	learn(w, 1, 0xa1, SOLICITED | OVERRIDE);
	expect(w, "publish 1 a1, send 1 p0, send 1 p1, send 1 p2");
	expect_state(w, 1, NEIGH_REACHABLE);
	assert_int_equal(neigh_held(w->table), 0);
	assert_int_equal(find(w, 1)->confirmed, w->now);
	give(w, 1, 3);
	expect(w, "send 1 p3");
}

static void
test_no_answer_fails(void **state)
{
	struct world *w = *state;

	give(w, 1, 0);
	expect(w, "new 1, ask 1");
	pass(w, 900);
	expect(w, "");
	pass(w, 100);
	expect(w, "ask 1");
	pass(w, 1000);
	expect(w, "ask 1");
	give(w, 1, 1);
	pass(w, 1000);
	expect(w, "unreachable 1 p0, unreachable 1 p1");
	expect_state(w, 1, NEIGH_FAILED);
	assert_false(find(w, 1)->has_mac);
	pass(w, 4900);
	expect(w, "");
	pass(w, 100);
	expect(w, "gone 1");
}

static void
test_failed_starts_anew(void **state)
{
	struct world *w = *state;

	bring(w, 1, NEIGH_FAILED);
	give(w, 1, 0);
	expect(w, "ask 1");
	expect_state(w, 1, NEIGH_INCOMPLETE);
	learn(w, 1, 0xa1, SOLICITED | OVERRIDE);
	expect(w, "publish 1 a1, send 1 p0");
}

/* on_solicit() asserts that questions are a second apart. */
static void
test_flood_to_dead_host(void **state)
{
	struct world *w = *state;
	unsigned dropped = 0, unreachable = 0;

	for (unsigned i = 0; i < 4000; i++) {
		give(w, 1, i);
		pass(w, 5);
	}
	for (unsigned i = 0; i < 4000; i++) {
		dropped += fates[i] == DROPPED;
		unreachable += fates[i] == UNREACHABLE;
	}
	assert_in_range(w->asked, 20, 21);
	assert_int_equal(dropped + unreachable + neigh_held(w->table), 4000);
	assert_in_range(unreachable, 6 * HOLD_MAX, 7 * HOLD_MAX);
}

static void
test_delete_does_not_hasten_questions(void **state)
{
	struct world *w = *state;

	neigh_hold(get(w, 1));
	give(w, 1, 0);
	for (unsigned i = 1; i < 50; i++) {
		pass(w, 100);
		assert_int_equal(del(w, 1), 0);
		assert_true(neigh_is_unasked(find(w, 1)));
		give(w, 1, i);
	}
	assert_in_range(w->asked, 1, 5);
}

static void
test_deleted_is_as_never_asked(void **state)
{
	static const enum neigh_state states[] = {NEIGH_INCOMPLETE, NEIGH_REACHABLE, NEIGH_STALE,
						  NEIGH_FAILED, NEIGH_PERMANENT};
	struct world *w = *state;

	assert_int_equal(del(w, 1), -ENOENT);
	neigh_hold(get(w, 1));
	assert_int_equal(del(w, 1), -ENOENT);
	for (unsigned i = 0; i < RTE_DIM(states); i++) {
		bring(w, 1, states[i]);
		assert_false(neigh_is_unasked(find(w, 1)));
		assert_int_equal(del(w, 1), 0);
		expect_state(w, 1, NEIGH_INCOMPLETE);
		assert_true(neigh_is_unasked(find(w, 1)));
		assert_int_equal(del(w, 1), -ENOENT);
		w->log[0] = '\0';
		pass(w, 10000);
		expect(w, "");
		give(w, 1, i);
		expect(w, "ask 1");
		assert_false(neigh_is_unasked(find(w, 1)));
		assert_int_equal(del(w, 1), 0);
		pass(w, 10000);
	}
	neigh_unhold(w->table, find(w, 1), w->now);
	pass(w, 10000);
	assert_null(find(w, 1));
}

static void
test_reachable_time_is_random(void **state)
{
	struct world *w = *state;
	uint64_t least = UINT64_MAX, most = 0;

	for (unsigned i = 1; i <= 60; i++) {
		uint64_t start;

		close_table(w);
		w->config.seed = i;
		w->log[0] = '\0';
		open_table(w);
		bring(w, 1, NEIGH_REACHABLE);
		start = w->now;
		while (find(w, 1)->state == NEIGH_REACHABLE)
			pass(w, 100);
		expect(w, "publish 1 a1 stale");
		least = RTE_MIN(least, w->now - start);
		most = RTE_MAX(most, w->now - start);
	}
	assert_in_range(least, 15000, 18000);
	assert_in_range(most, 42000, 45100);
}

static void
test_stale_used_probed_answered(void **state)
{
	struct world *w = *state;

	bring(w, 1, NEIGH_STALE);
	neigh_used(w->table, find(w, 1), w->now);
	expect(w, "publish 1 a1");
	expect_state(w, 1, NEIGH_DELAY);
	neigh_used(w->table, find(w, 1), w->now);
	pass(w, 4900);
	expect(w, "");
	pass(w, 100);
	expect(w, "probe 1");
	expect_state(w, 1, NEIGH_PROBE);
	give(w, 1, 0);
	expect(w, "send 1 p0");
	pass(w, 1000);
	expect(w, "probe 1");
	learn(w, 1, 0xa1, SOLICITED | OVERRIDE);
	expect(w, "");
	expect_state(w, 1, NEIGH_REACHABLE);
	pass(w, 10000);
	expect(w, "");
}

static void
test_probe_unanswered(void **state)
{
	struct world *w = *state;

	bring(w, 1, NEIGH_STALE);
	neigh_hold(find(w, 1));
	give(w, 1, 0);
	expect(w, "publish 1 a1, send 1 p0");
	pass(w, 7900);
	expect(w, "probe 1, probe 1, probe 1");
	pass(w, 100);
	expect(w, "publish 1 none");
	expect_state(w, 1, NEIGH_FAILED);
	pass(w, 1000000);
	expect(w, "");
	give(w, 1, 1);
	expect(w, "ask 1");
	learn(w, 1, 0xa2, SOLICITED);
	expect(w, "publish 1 a2, send 1 p1");
}

/* RFC 4861 7.2.5 and appendix C, and 7.2.3 for an NS. MAC 0: none, a1: the one
 * known, a2: another. */
static void
test_learning(void **state)
{
	static const struct {
		enum neigh_state before;
		uint8_t mac;
		unsigned flags;
		enum neigh_state after;
		uint8_t mac_after;
	} rows[] = {
		{NEIGH_INCOMPLETE, 0, SOLICITED | OVERRIDE, NEIGH_INCOMPLETE, 0},
		{NEIGH_INCOMPLETE, 0xa2, SOLICITED, NEIGH_REACHABLE, 0xa2},
		{NEIGH_INCOMPLETE, 0xa2, SOLICITED | OVERRIDE, NEIGH_REACHABLE, 0xa2},
		/* STALE, and used at once by the packet that waits. */
		{NEIGH_INCOMPLETE, 0xa2, 0, NEIGH_DELAY, 0xa2},
		{NEIGH_INCOMPLETE, 0xa2, CREATE | OVERRIDE, NEIGH_DELAY, 0xa2},
		{NEIGH_FAILED, 0, SOLICITED | OVERRIDE, NEIGH_FAILED, 0},
		{NEIGH_FAILED, 0xa2, SOLICITED, NEIGH_REACHABLE, 0xa2},
		{NEIGH_FAILED, 0xa2, OVERRIDE, NEIGH_STALE, 0xa2},

		{NEIGH_REACHABLE, 0xa2, 0, NEIGH_STALE, 0xa1},
		{NEIGH_REACHABLE, 0xa2, SOLICITED, NEIGH_STALE, 0xa1},
		{NEIGH_REACHABLE, 0xa2, OVERRIDE, NEIGH_STALE, 0xa2},
		{NEIGH_REACHABLE, 0xa2, CREATE | OVERRIDE, NEIGH_STALE, 0xa2},
		{NEIGH_REACHABLE, 0xa2, SOLICITED | OVERRIDE, NEIGH_REACHABLE, 0xa2},
		{NEIGH_REACHABLE, 0xa1, 0, NEIGH_REACHABLE, 0xa1},
		{NEIGH_REACHABLE, 0xa1, OVERRIDE, NEIGH_REACHABLE, 0xa1},
		{NEIGH_REACHABLE, 0, 0, NEIGH_REACHABLE, 0xa1},

		{NEIGH_STALE, 0xa2, 0, NEIGH_STALE, 0xa1},
		{NEIGH_STALE, 0xa2, SOLICITED, NEIGH_STALE, 0xa1},
		{NEIGH_STALE, 0xa2, OVERRIDE, NEIGH_STALE, 0xa2},
		{NEIGH_STALE, 0xa2, SOLICITED | OVERRIDE, NEIGH_REACHABLE, 0xa2},
		{NEIGH_STALE, 0xa1, OVERRIDE, NEIGH_STALE, 0xa1},
		{NEIGH_STALE, 0xa1, SOLICITED, NEIGH_REACHABLE, 0xa1},
		{NEIGH_STALE, 0, SOLICITED, NEIGH_REACHABLE, 0xa1},

		{NEIGH_DELAY, 0xa2, SOLICITED, NEIGH_DELAY, 0xa1},
		{NEIGH_DELAY, 0xa2, OVERRIDE, NEIGH_STALE, 0xa2},
		{NEIGH_DELAY, 0xa1, OVERRIDE, NEIGH_DELAY, 0xa1},
		{NEIGH_DELAY, 0xa1, SOLICITED, NEIGH_REACHABLE, 0xa1},

		{NEIGH_PROBE, 0xa2, SOLICITED, NEIGH_PROBE, 0xa1},
		{NEIGH_PROBE, 0xa2, OVERRIDE, NEIGH_STALE, 0xa2},
		{NEIGH_PROBE, 0xa2, SOLICITED | OVERRIDE, NEIGH_REACHABLE, 0xa2},
		{NEIGH_PROBE, 0xa1, OVERRIDE, NEIGH_PROBE, 0xa1},
		{NEIGH_PROBE, 0, SOLICITED, NEIGH_REACHABLE, 0xa1},

		{NEIGH_PERMANENT, 0xa2, SOLICITED | OVERRIDE, NEIGH_PERMANENT, 0xa1},
		{NEIGH_PERMANENT, 0xa2, CREATE | OVERRIDE, NEIGH_PERMANENT, 0xa1},
	};
	struct world *w = *state;

	for (unsigned i = 0; i < RTE_DIM(rows); i++) {
		struct neigh *n;

		bring(w, 1, rows[i].before);
		n = find(w, 1);
		n->confirmed = 0;
		learn(w, 1, rows[i].mac, rows[i].flags);
		if (n->state != rows[i].after || n->mac[5] != rows[i].mac_after)
			fail_msg("row %u: %s %x", i, neigh_state_name(n->state), n->mac[5]);
		if (rows[i].after == NEIGH_REACHABLE && (rows[i].flags & SOLICITED))
			assert_int_equal(n->confirmed, w->now);
		else
			assert_int_equal(n->confirmed, 0);
		assert_int_equal(w->shadows[1].usable, n->has_mac);
		assert_int_equal(w->shadows[1].stale, n->state == NEIGH_STALE);
		assert_int_equal(w->shadows[1].mac, n->mac[5]);
		del(w, 1);
		w->log[0] = '\0';
	}
}

/* Unasked and unwanted news neither makes an entry nor keeps one fresh. */
static void
test_unsolicited(void **state)
{
	struct world *w = *state;

	learn(w, 1, 0xa1, SOLICITED | OVERRIDE);
	learn(w, 1, 0, CREATE | OVERRIDE);
	expect(w, "");
	learn(w, 1, 0xa1, CREATE | OVERRIDE);
	expect(w, "new 1, publish 1 a1 stale");
	learn(w, 1, 0xa1, SOLICITED | OVERRIDE);
	expect(w, "publish 1 a1");
	for (unsigned i = 0; i < 46; i++) {
		pass(w, 1000);
		learn(w, 1, 0xa1, OVERRIDE);
	}
	expect(w, "publish 1 a1 stale");
	for (unsigned i = 0; i < 61; i++) {
		pass(w, 1000);
		learn(w, 1, 0xa1, OVERRIDE);
	}
	expect(w, "gone 1");
}

static void
test_router_flag(void **state)
{
	struct world *w = *state;

	bring(w, 1, NEIGH_REACHABLE);
	learn(w, 1, 0xa1, SOLICITED | ROUTER);
	assert_true(find(w, 1)->router);
	learn(w, 1, 0xa1, CREATE | OVERRIDE); /* an NS does not say */
	assert_true(find(w, 1)->router);
	learn(w, 1, 0xa2, SOLICITED); /* not believed */
	assert_true(find(w, 1)->router);
	learn(w, 1, 0, SOLICITED);
	assert_false(find(w, 1)->router);
}

static void
test_not_a_station(void **state)
{
	static const uint8_t bad[][6] = {
		{0}, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, {1, 0, 0x5e, 0, 0, 1}};
	static const uint32_t groups[] = {0, 0xe0000005};
	struct world *w = *state;
	struct ip_addr a = host(1);
	struct err err = {{0}};

	for (unsigned i = 0; i < RTE_DIM(bad); i++)
		neigh_learn(w->table, IFACE, &a, bad[i], true, true, true, false, w->now);
	for (unsigned i = 0; i < RTE_DIM(groups); i++) {
		a = ip4_addr(groups[i]);
		neigh_learn(w->table, IFACE, &a, mac(1), true, true, true, false, w->now);
		assert_null(neigh_get(w->table, IFACE, &a, w->now, &err));
		assert_non_null(strstr(err.text, "not the address of a host"));
	}
	a = (struct ip_addr){0};
	assert_null(neigh_get(w->table, IFACE, &a, w->now, &err));
	expect(w, "");
	a = host(1);
	assert_int_equal(neigh_set_permanent(w->table, IFACE, &a, bad[0], true, w->now, &err),
			 -EINVAL);
}

/* --- lifetime and limits ------------------------------------------------------ */

static void
test_permanent(void **state)
{
	struct world *w = *state;
	struct err err = {{0}};

	give(w, 1, 0);
	expect(w, "new 1, ask 1");
	assert_int_equal(permanent(w, 1, 0xa1, false, &err), 0);
	expect(w, "publish 1 a1, send 1 p0");
	assert_int_equal(permanent(w, 1, 0xa2, false, &err), -EEXIST);
	assert_string_equal(err.text, "neighbour 10.0.0.1: exists already");
	assert_int_equal(permanent(w, 1, 0xa2, true, &err), 0);
	expect(w, "publish 1 a2");
	neigh_used(w->table, find(w, 1), w->now);
	pass(w, 1000000);
	expect(w, "");
	neigh_hold(find(w, 1));
	assert_int_equal(del(w, 1), 0);
	expect(w, "publish 1 none");
	give(w, 1, 1);
	expect(w, "ask 1");
	neigh_unhold(w->table, find(w, 1), w->now);
	assert_int_equal(del(w, 1), 0);
	expect(w, "drop 1 p1, gone 1");
	assert_int_equal(del(w, 1), -ENOENT);
}

static void
test_held_by_a_route_stays(void **state)
{
	struct world *w = *state;
	struct neigh *n;

	bring(w, 1, NEIGH_STALE);
	n = find(w, 1);
	neigh_hold(n);
	neigh_hold(n);
	pass(w, 200000);
	neigh_unhold(w->table, n, w->now);
	pass(w, 200000);
	expect(w, "");
	neigh_unhold(w->table, n, w->now);
	pass(w, 59900);
	expect(w, "");
	pass(w, 100);
	expect(w, "gone 1");

	/* Looked up, held before anything is sent, and let go. */
	n = get(w, 2);
	neigh_hold(n);
	pass(w, 100000);
	expect(w, "new 2");
	neigh_unhold(w->table, n, w->now);
	pass(w, 5000);
	expect(w, "gone 2");
}

static void
test_too_many_packets(void **state)
{
	struct world *w = *state;

	for (unsigned i = 0; i < HOLD_MAX; i++)
		give(w, 1, i);
	expect(w, "new 1, ask 1");
	give(w, 1, 4);
	expect(w, "drop 1 p0");
	learn(w, 1, 0xa1, SOLICITED);
	expect(w, "publish 1 a1, send 1 p1, send 1 p2, send 1 p3, send 1 p4");

	close_table(w);
	w->config.max_held_total = 3;
	open_table(w);
	w->log[0] = '\0';
	for (unsigned i = 0; i < 5; i++)
		give(w, 1 + i % 4, i);
	expect(w, "new 1, ask 1, new 2, ask 2, new 3, ask 3, new 4, drop 1 p0, ask 4, drop 2 p1");
	assert_int_equal(neigh_held(w->table), 3);
	pass(w, 3000);
	w->log[0] = '\0';

	close_table(w);
	w->config.max_held_total = 0;
	open_table(w);
	w->log[0] = '\0';
	give(w, 1, 0);
	expect(w, "new 1, drop 1 p0, ask 1");
}

static void
test_full_table(void **state)
{
	struct world *w = *state;
	struct err err = {{0}};
	struct ip_addr a = host(50);

	close_table(w);
	w->config.max_entries = 3;
	open_table(w);
	bring(w, 1, NEIGH_PERMANENT);
	bring(w, 2, NEIGH_STALE);
	neigh_hold(find(w, 2));
	bring(w, 3, NEIGH_STALE);
	bring(w, 4, NEIGH_FAILED);
	bring(w, 5, NEIGH_STALE);
	bring(w, 6, NEIGH_REACHABLE);
	assert_null(find(w, 4)); /* the FAILED one first */
	bring(w, 7, NEIGH_REACHABLE);
	assert_null(find(w, 3)); /* then the oldest STALE one */
	bring(w, 8, NEIGH_REACHABLE);
	assert_null(find(w, 5));
	assert_null(neigh_get(w->table, IFACE, &a, w->now, &err));
	assert_string_equal(err.text,
			    "neighbour 10.0.0.50: the neighbour table is full (3 in use)");
	learn(w, 50, 0xa1, CREATE);
	assert_null(find(w, 50));
	bring(w, 9, NEIGH_PERMANENT);
	assert_int_equal(neigh_count(w->table), 6);

	/* Let go, it counts again; room is made when somebody needs it. */
	neigh_unhold(w->table, find(w, 2), w->now);
	assert_non_null(find(w, 2));
	assert_null(neigh_get(w->table, IFACE, &a, w->now, &err));
	assert_null(find(w, 2));
	del(w, 8);
	assert_non_null(get(w, 50));
}

static void
test_refused_by_the_owner(void **state)
{
	struct world *w = *state;
	struct ip_addr a = host(1);
	struct err err = {{0}};

	w->refuse = ENOSPC;
	assert_null(neigh_get(w->table, IFACE, &a, w->now, &err));
	assert_string_equal(err.text, "neighbour 10.0.0.1: No space left on device");
	assert_int_equal(permanent(w, 1, 1, true, &err), -ENOSPC);
	learn(w, 1, 1, CREATE);
	expect(w, "");
	assert_int_equal(neigh_count(w->table), 0);
	w->refuse = 0;
}

static void
test_flush_iface(void **state)
{
	struct world *w = *state;
	struct ip_addr other = host(100);

	for (unsigned id = 1; id <= 20; id++)
		bring(w, id, id % 2 ? NEIGH_STALE : NEIGH_INCOMPLETE);
	bring(w, 21, NEIGH_PERMANENT);
	neigh_hold(find(w, 1));
	neigh_hold(find(w, 2));
	neigh_learn(w->table, IFACE + 1, &other, mac(1), true, false, true, false, w->now);
	neigh_flush_iface(w->table, IFACE, false, w->now);
	assert_int_equal(neigh_count(w->table), 4);
	assert_int_equal(neigh_held(w->table), 0);
	assert_true(neigh_is_unasked(find(w, 1)));
	assert_true(neigh_is_unasked(find(w, 2)));
	assert_non_null(find(w, 21));
	neigh_unhold(w->table, find(w, 1), w->now);
	neigh_flush_iface(w->table, IFACE, true, w->now);
	assert_int_equal(neigh_count(w->table), 2);
	assert_non_null(find(w, 2));
	assert_non_null(neigh_find(w->table, IFACE + 1, &other));
}

static void
test_walk_in_order(void **state)
{
	struct world *w = *state;
	const struct neigh *n = NULL, *last = NULL;
	unsigned count = 0;

	/* 4,001 is prime: a permutation of 1...4000. */
	for (unsigned i = 1; i <= 4000; i++) {
		struct ip_addr a = host(i * 1234 % 4001);
		struct ip_addr a6 = {.family = AF_INET6, .bytes = {0x20, 1}};

		assert_non_null(neigh_get(w->table, (uint16_t)(i % 3), &a, w->now, NULL));
		if (i > 90)
			continue;
		memcpy(a6.bytes + 8, a.bytes, 4);
		a6.bytes[15] = (uint8_t)(4100 + i);
		w->shadows[0].exists = false;
		assert_non_null(neigh_get(w->table, 1, &a6, w->now, NULL));
	}
	while ((n = neigh_next(w->table, n)) != NULL) {
		if (last != NULL && last->iface == n->iface && last->addr.family == n->addr.family)
			assert_true(memcmp(last->addr.bytes, n->addr.bytes, 16) < 0);
		else if (last != NULL)
			assert_true(last->iface < n->iface || last->addr.family == AF_INET);
		last = n;
		count++;
	}
	assert_int_equal(count, 4090);
	assert_int_equal(neigh_count(w->table), 4090);
	w->created = w->removed + 4090;
}

static void
test_config(void **state)
{
	struct world *w = *state;
	struct neigh_config bad;
	struct err err = {{0}};

	bad = w->config;
	bad.max_entries = 0;
	assert_null(neigh_table_create(&bad, &ops, w, &err));
	assert_non_null(strstr(err.text, "max_entries"));
	bad = w->config;
	bad.retrans_ms = 0;
	assert_null(neigh_table_create(&bad, &ops, w, &err));
	bad = w->config;
	bad.unicast_solicits = 0;
	assert_null(neigh_table_create(&bad, &ops, w, &err));
	bad = w->config;
	bad.max_held_total = UINT32_MAX;
	assert_null(neigh_table_create(&bad, &ops, w, &err));
	neigh_table_destroy(NULL);
	assert_string_equal(neigh_state_name(NEIGH_PERMANENT), "PERMANENT");
	assert_string_equal(neigh_state_name((enum neigh_state)99), "?");
}

/* --- callbacks that call back ------------------------------------------------- */

static void
release_needs_another(struct world *w, const char *op, const struct neigh *n)
{
	if (strcmp(op, "release") == 0 && id_of(n) == 1)
		give(w, 2, 100 + w->created);
}

static void
fail_needs_the_same(struct world *w, const char *op, const struct neigh *n)
{
	(void)n;
	if (strcmp(op, "fail") == 0 && fates[100] == FREE)
		give(w, 1, 100);
}

static void
publish_deletes(struct world *w, const char *op, const struct neigh *n)
{
	if (strcmp(op, "publish") == 0 && id_of(n) == 1)
		del(w, 1);
}

static void
solicit_is_answered(struct world *w, const char *op, const struct neigh *n)
{
	if (strcmp(op, "solicit") == 0)
		learn(w, id_of(n), 0xa1, SOLICITED);
}

static void
release_sends_more(struct world *w, const char *op, const struct neigh *n)
{
	if (strcmp(op, "release") == 0 && fates[101] == FREE)
		give(w, id_of(n), fates[100] == FREE ? 100 : 101);
}

static void
test_callbacks(void **state)
{
	struct world *w = *state;

	w->again = release_needs_another;
	give(w, 1, 0);
	learn(w, 1, 0xa1, SOLICITED);
	expect(w, "new 1, ask 1, publish 1 a1, send 1 p0, new 2, ask 2");
	w->again = NULL;
	del(w, 1);
	del(w, 2);
	w->log[0] = '\0';
	memset(fates, 0, sizeof(fates));
	memset(w->shadows, 0, sizeof(w->shadows));

	/* The ICMP error goes back through the neighbour that failed. */
	w->again = fail_needs_the_same;
	give(w, 1, 0);
	give(w, 1, 1);
	pass(w, 3000);
	expect(w, "new 1, ask 1, ask 1, ask 1, unreachable 1 p0, ask 1, unreachable 1 p1");
	assert_int_equal(neigh_held(w->table), 1);
	w->again = publish_deletes;
	learn(w, 1, 0xa1, SOLICITED);
	expect(w, "publish 1 a1, drop 1 p100, gone 1");

	w->again = solicit_is_answered;
	memset(w->shadows, 0, sizeof(w->shadows));
	give(w, 1, 0);
	expect(w, "new 1, ask 1, publish 1 a1, send 1 p0");
	w->again = NULL;
	del(w, 1);
	w->log[0] = '\0';

	/* What a release gives anew comes after what waited. */
	memset(fates, 0, sizeof(fates));
	memset(w->shadows, 0, sizeof(w->shadows));
	give(w, 1, 0);
	give(w, 1, 1);
	w->again = release_sends_more;
	learn(w, 1, 0xa1, SOLICITED);
	expect(w, "new 1, ask 1, publish 1 a1, send 1 p0, send 1 p1, send 1 p100, send 1 p101");
}

static void
fail_resolves_and_deletes(struct world *w, const char *op, const struct neigh *n)
{
	struct neigh *other = find(w, 1);

	if (strcmp(op, "fail") != 0 || fates[100] != FREE)
		return;
	fates[100] = GIVEN;
	neigh_resolve(w->table, other, packets[100], w->now);
	assert_int_equal(fates[100], DROPPED);
	assert_null(get(w, 3));
	assert_int_equal(del(w, id_of(n)), 0);
}

/* Nothing is held or made any more, and nobody removed twice. */
static void
test_callbacks_of_destruction(void **state)
{
	struct world *w = *state;

	give(w, 1, 0);
	give(w, 2, 1);
	w->log[0] = '\0';
	w->again = fail_resolves_and_deletes;
	close_table(w);
	expect(w, "drop 2 p1, drop 1 p100, gone 2, drop 1 p0, gone 1");
	w->again = NULL;
	open_table(w);
}

/* --- random operations -------------------------------------------------------- */

#define FUZZ_IDS 24

static unsigned
roll(struct world *w, unsigned sides)
{
	w->random = w->random * 6364136223846793005 + 1442695040888963407;
	return (unsigned)(w->random >> 33) % sides;
}

/* A packet that is not in the table; at most 128 can wait there. */
static unsigned
fresh(struct world *w)
{
	unsigned i = roll(w, PACKETS);

	while (fates[i] == GIVEN)
		i = (i + 1) % PACKETS;
	return i;
}

static void
any_operation(struct world *w)
{
	unsigned id = 1 + roll(w, FUZZ_IDS);
	struct neigh *n = find(w, id);
	unsigned i;

	switch (roll(w, 12)) {
	case 0:
	case 1:
	case 2:
	case 3:
		n = get(w, id);
		if (n == NULL)
			break;
		i = fresh(w);
		fates[i] = GIVEN;
		neigh_resolve(w->table, n, packets[i], w->now);
		break;
	case 4:
	case 5:
		learn(w, id, (uint8_t)roll(w, 4), roll(w, 16));
		break;
	case 6:
		if (n != NULL)
			neigh_used(w->table, n, w->now);
		break;
	case 7:
		n = get(w, id);
		if (n != NULL && n->users < 3)
			neigh_hold(n);
		break;
	case 8:
		if (n != NULL && n->users > 0)
			neigh_unhold(w->table, n, w->now);
		break;
	case 9:
		if (roll(w, 3) == 0)
			del(w, id);
		break;
	case 10:
		if (roll(w, 4) == 0)
			permanent(w, id, (uint8_t)(1 + roll(w, 3)), roll(w, 2), NULL);
		break;
	default:
		if (roll(w, 40) == 0)
			neigh_flush_iface(w->table, IFACE, roll(w, 2), w->now);
	}
}

static void
sometimes(struct world *w, const char *op, const struct neigh *n)
{
	(void)op;
	(void)n;
	if (!w->closing && roll(w, 4) == 0)
		any_operation(w);
}

static void
check_all(struct world *w)
{
	unsigned held = 0, given = 0, count = 0;

	for (unsigned i = 0; i < PACKETS; i++)
		given += fates[i] == GIVEN;
	for (unsigned id = 1; id <= FUZZ_IDS; id++) {
		const struct neigh *n = find(w, id);
		const struct shadow *s = &w->shadows[id];

		assert_int_equal(s->exists, n != NULL);
		if (n == NULL)
			continue;
		count++;
		held += n->held;
		assert_true(n->held <= HOLD_MAX);
		assert_true(n->held == 0 || n->state == NEIGH_INCOMPLETE);
		assert_int_equal(n->has_mac,
				 n->state != NEIGH_INCOMPLETE && n->state != NEIGH_FAILED);
		assert_int_equal(s->usable, n->has_mac);
		assert_int_equal(s->stale, n->state == NEIGH_STALE);
		assert_int_equal(s->mac, n->mac[5]);
	}
	assert_int_equal(held, neigh_held(w->table));
	assert_int_equal(held, given);
	assert_true(held <= w->config.max_held_total);
	assert_int_equal(count, neigh_count(w->table));
	assert_int_equal(count, w->created - w->removed);
}

static void
test_random_operations(void **state)
{
	struct world *w = *state;

	for (unsigned seed = 1; seed <= 100; seed++) {
		close_table(w);
		memset(w->shadows, 0, sizeof(w->shadows));
		w->config.seed = w->random = seed;
		w->config.max_entries = 3 + seed % 20;
		w->config.max_held_total = 1 + seed % 30;
		w->again = seed % 2 ? sometimes : NULL;
		open_table(w);
		for (unsigned step = 0; step < 2000; step++) {
			w->refuse = roll(w, 30) == 0 ? ENOMEM : 0;
			any_operation(w);
			if (roll(w, 3) == 0)
				pass(w, roll(w, 20) == 0 ? roll(w, 20000) : roll(w, 500));
			if (step % 8 == 0)
				check_all(w);
		}
		check_all(w);
	}
	w->refuse = 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		T(test_answer_releases_in_order),
		T(test_no_answer_fails),
		T(test_failed_starts_anew),
		T(test_flood_to_dead_host),
		T(test_delete_does_not_hasten_questions),
		T(test_deleted_is_as_never_asked),
		T(test_reachable_time_is_random),
		T(test_stale_used_probed_answered),
		T(test_probe_unanswered),
		T(test_learning),
		T(test_unsolicited),
		T(test_router_flag),
		T(test_not_a_station),
		T(test_permanent),
		T(test_held_by_a_route_stays),
		T(test_too_many_packets),
		T(test_full_table),
		T(test_refused_by_the_owner),
		T(test_flush_iface),
		T(test_walk_in_order),
		T(test_config),
		T(test_callbacks),
		T(test_callbacks_of_destruction),
		T(test_random_operations),
	};

	return cmocka_run_group_tests_name("neigh", tests, NULL, NULL);
}
