/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Claims on prefixes: the strongest is what the FIB holds, and the next one comes
 * back. The tables are real; next hops are numbers whose holds are counted here.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lookup.h"
#include "neighbour.h"
#include "net_nexthop.h"
#include "route.h"

#define NEXTHOPS 64u
/* The one that leads to an interface without a gateway. */
#define CONNECTED_NEXTHOP 63u

static struct {
	int holds[NEXTHOPS];
	unsigned changes;	  /* calls of neighbours_route_changed */
	struct ip_prefix changed; /* the last one's prefix */
} seen;

/* --- what route.c asks of the rest of the program ------------------------------------------- */

void
net_nexthop_hold(uint32_t nexthop)
{
	assert_true(nexthop < NEXTHOPS);
	seen.holds[nexthop]++;
}

void
net_nexthop_release(uint32_t nexthop)
{
	assert_true(seen.holds[nexthop] > 0);
	seen.holds[nexthop]--;
}

bool
net_nexthop_is_connected(uint32_t nexthop)
{
	return nexthop == CONNECTED_NEXTHOP;
}

void
neighbours_route_changed(struct vrf *v, const struct ip_prefix *prefix)
{
	(void)v;
	seen.changes++;
	seen.changed = *prefix;
}

const char *
vrf_text(const struct vrf *v, char buf[VRF_TEXT])
{
	snprintf(buf, VRF_TEXT, "vrf %s", v->name);
	return buf;
}

/* --- a table ---------------------------------------------------------------------------------- */

struct fixture {
	struct rcu *rcu;
	struct fib_arena *arena;
	struct vrf vrf;
};

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct err err;

	assert_non_null(f);
	memset(&seen, 0, sizeof(seen));
	f->rcu = rcu_create(1, &err);
	assert_non_null(f->rcu);
	f->arena = fib_arena_create(f->rcu, -1, &err);
	assert_non_null(f->arena);
	f->vrf.fib4 = fib4_create(f->arena, &err);
	f->vrf.fib6 = fib6_create(f->arena, &err);
	assert_non_null(f->vrf.fib4);
	assert_non_null(f->vrf.fib6);
	f->vrf.idx = 1;
	snprintf(f->vrf.name, sizeof(f->vrf.name), "red");
	*state = f;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	fib4_destroy(f->vrf.fib4);
	fib6_destroy(f->vrf.fib6);
	route_fini();
	rcu_synchronize(f->rcu);
	fib_arena_destroy(f->arena);
	rcu_destroy(f->rcu);
	free(f);
	return 0;
}

static struct ip_prefix
prefix(const char *text)
{
	struct ip_prefix p;

	assert_int_equal(ip_prefix_parse(text, 0, true, &p, NULL, NULL), 0);
	return p;
}

static int
claim(struct fixture *f, const char *text, enum route_kind kind, uint32_t nexthop)
{
	struct route_claim c = {.nexthop = nexthop, .kind = (uint8_t)kind, .proto = 3};
	struct ip_prefix p = prefix(text);

	return route_claim(&f->vrf, &p, &c, NULL);
}

static int
unclaim(struct fixture *f, const char *text, enum route_kind kind)
{
	struct ip_prefix p = prefix(text);

	return route_unclaim(&f->vrf, &p, kind);
}

/* The next hop a packet to this address gets. */
static uint32_t
lookup(struct fixture *f, const char *text)
{
	struct ip_prefix p = prefix(text);

	return p.addr.family == AF_INET ? fib4_lookup(f->vrf.fib4, ip4_host(&p.addr))
					: fib6_lookup(f->vrf.fib6, p.addr.bytes);
}

/* --- tests --------------------------------------------------------------------------------------
 */

static void
a_single_claim_comes_back_as_it_was_made(void **state)
{
	struct fixture *f = *state;
	struct ip_prefix p = prefix("10.1.0.0/16");
	struct route_claim c = {.nexthop = 5, .kind = ROUTE_STATIC, .proto = 186, .onlink = true};
	struct route r;

	assert_int_equal(route_claim(&f->vrf, &p, &c, NULL), 0);
	assert_true(route_get(&f->vrf, &p, &r));
	assert_int_equal(r.count, 1);
	assert_int_equal(r.claims[0].nexthop, 5);
	assert_int_equal(r.claims[0].kind, ROUTE_STATIC);
	assert_int_equal(r.claims[0].proto, 186);
	assert_true(r.claims[0].onlink);
	assert_true(ip_prefix_equal(&r.prefix, &p));
	assert_int_equal(lookup(f, "10.1.2.3"), 5);
	assert_int_equal(seen.holds[5], 1);
	assert_int_equal(route_unclaim(&f->vrf, &p, ROUTE_STATIC), 0);
	assert_false(route_get(&f->vrf, &p, &r));
	assert_int_equal(lookup(f, "10.1.2.3"), 0);
	assert_int_equal(seen.holds[5], 0);
}

static void
a_claim_of_the_same_kind_is_replaced(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(claim(f, "10.0.0.0/8", ROUTE_STATIC, 5), 0);
	assert_int_equal(claim(f, "10.0.0.0/8", ROUTE_STATIC, 6), 0);
	assert_int_equal(lookup(f, "10.1.2.3"), 6);
	assert_int_equal(seen.holds[5], 0);
	assert_int_equal(seen.holds[6], 1);
	assert_int_equal(f->vrf.statics, 1);
}

static void
the_stronger_claim_wins_whoever_came_first(void **state)
{
	struct fixture *f = *state;

	for (int a = 0; a < ROUTE_KINDS; a++) {
		for (int b = 0; b < ROUTE_KINDS; b++) {
			uint32_t best = (uint32_t)(a > b ? a : b) + 1;

			if (a == b)
				continue;
			claim(f, "2001:db8::/48", (enum route_kind)a, (uint32_t)a + 1);
			assert_int_equal(lookup(f, "2001:db8::9"), a + 1);
			claim(f, "2001:db8::/48", (enum route_kind)b, (uint32_t)b + 1);
			assert_int_equal(lookup(f, "2001:db8::9"), best);
			assert_int_equal(unclaim(f, "2001:db8::/48", (enum route_kind)a), 0);
			assert_int_equal(lookup(f, "2001:db8::9"), b + 1);
			assert_int_equal(unclaim(f, "2001:db8::/48", (enum route_kind)b), 0);
			assert_int_equal(lookup(f, "2001:db8::9"), 0);
		}
	}
}

static void
all_kinds_on_one_prefix_go_in_order_of_strength(void **state)
{
	struct fixture *f = *state;
	struct ip_prefix p = prefix("192.0.2.1/32");
	struct route r;

	for (unsigned k = 0; k < ROUTE_KINDS; k++)
		assert_int_equal(claim(f, "192.0.2.1/32", (enum route_kind)k, k + 1), 0);
	assert_true(route_get(&f->vrf, &p, &r));
	assert_int_equal(r.count, ROUTE_KINDS);
	for (int k = ROUTE_KINDS - 1; k >= 0; k--) {
		assert_int_equal(r.claims[ROUTE_KINDS - 1 - k].kind, k);
		assert_int_equal(lookup(f, "192.0.2.1"), k + 1);
		assert_int_equal(unclaim(f, "192.0.2.1/32", (enum route_kind)k), 0);
		assert_int_equal(unclaim(f, "192.0.2.1/32", (enum route_kind)k), -ENOENT);
	}
	assert_false(route_get(&f->vrf, &p, &r));
}

static void
what_is_not_claimed_cannot_be_given_up(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(unclaim(f, "10.0.0.0/8", ROUTE_STATIC), -ENOENT);
	claim(f, "10.0.0.0/8", ROUTE_CONNECTED, 1);
	assert_int_equal(unclaim(f, "10.0.0.0/8", ROUTE_STATIC), -ENOENT);
	assert_int_equal(unclaim(f, "10.0.0.0/9", ROUTE_CONNECTED), -ENOENT);
	assert_int_equal(lookup(f, "10.1.1.1"), 1);
}

static void
a_new_route_is_refused_where_one_is_configured(void **state)
{
	struct fixture *f = *state;
	struct ip_prefix p = prefix("fc00::/64");
	struct route_claim route = {.nexthop = 2, .kind = ROUTE_STATIC};
	struct route_claim sid = {.nexthop = 3, .kind = ROUTE_SID};
	struct err err;

	/* An address's own routes are no obstacle. */
	claim(f, "fc00::/64", ROUTE_CONNECTED, 1);
	assert_int_equal(route_claim_new(&f->vrf, &p, &route, &err), 0);
	assert_int_equal(route_claim_new(&f->vrf, &p, &route, &err), -EEXIST);
	assert_string_equal(err.text, "route fc00::/64 exists in vrf red");
	assert_int_equal(route_claim_new(&f->vrf, &p, &sid, &err), -EEXIST);
	assert_int_equal(seen.holds[2], 1);
	assert_int_equal(seen.holds[3], 0);
	assert_int_equal(unclaim(f, "fc00::/64", ROUTE_STATIC), 0);
	assert_int_equal(route_claim_new(&f->vrf, &p, &sid, &err), 0);
	assert_int_equal(route_claim_new(&f->vrf, &p, &route, &err), -EEXIST);
	assert_int_equal(lookup(f, "fc00::1"), 3);
}

static void
configured_routes_are_counted(void **state)
{
	struct fixture *f = *state;

	claim(f, "10.0.0.0/8", ROUTE_STATIC, 1);
	claim(f, "10.0.0.0/8", ROUTE_BUILTIN, 2);
	claim(f, "11.0.0.0/8", ROUTE_STATIC, CONNECTED_NEXTHOP);
	claim(f, "12.0.0.0/8", ROUTE_CONNECTED, CONNECTED_NEXTHOP);
	claim(f, "fc00::1", ROUTE_SID, 3);
	assert_int_equal(f->vrf.statics, 2);
	assert_int_equal(f->vrf.onlink, 1);
	assert_int_equal(f->vrf.sids, 1);
	claim(f, "11.0.0.0/8", ROUTE_STATIC, 1);
	assert_int_equal(f->vrf.statics, 2);
	assert_int_equal(f->vrf.onlink, 0);
	unclaim(f, "10.0.0.0/8", ROUTE_STATIC);
	unclaim(f, "11.0.0.0/8", ROUTE_STATIC);
	unclaim(f, "fc00::1", ROUTE_SID);
	assert_int_equal(f->vrf.statics, 0);
	assert_int_equal(f->vrf.sids, 0);
}

/* A host route must not keep its neighbour alive, nor make neighbours look again. */
static void
a_host_route_holds_nothing(void **state)
{
	struct fixture *f = *state;
	unsigned before;

	claim(f, "10.0.0.0/24", ROUTE_CONNECTED, 1);
	before = seen.changes;
	claim(f, "10.0.0.9/32", ROUTE_NEIGHBOUR, 7);
	assert_int_equal(seen.holds[7], 0);
	assert_int_equal(seen.changes, before);
	assert_int_equal(lookup(f, "10.0.0.9"), 7);
	claim(f, "10.0.0.9/32", ROUTE_STATIC, 8);
	assert_int_equal(seen.changes, before + 1);
	assert_int_equal(seen.changed.len, 32);
	assert_int_equal(lookup(f, "10.0.0.9"), 8);
	unclaim(f, "10.0.0.9/32", ROUTE_STATIC);
	assert_int_equal(lookup(f, "10.0.0.9"), 7);
	unclaim(f, "10.0.0.9/32", ROUTE_NEIGHBOUR);
	assert_int_equal(lookup(f, "10.0.0.9"), 1);
}

static void
the_longest_prefix_matches(void **state)
{
	struct fixture *f = *state;
	struct ip_prefix addr = prefix("10.1.2.3");
	struct route r;

	claim(f, "0.0.0.0/0", ROUTE_STATIC, 1);
	claim(f, "10.1.0.0/16", ROUTE_STATIC, 2);
	claim(f, "10.1.2.0/24", ROUTE_STATIC, 3);
	assert_true(route_match(&f->vrf, &addr.addr, &r));
	assert_int_equal(r.prefix.len, 24);
	assert_int_equal(r.claims[0].nexthop, 3);
	unclaim(f, "10.1.2.0/24", ROUTE_STATIC);
	assert_true(route_match(&f->vrf, &addr.addr, &r));
	assert_int_equal(r.prefix.len, 16);
}

/* --- random operations beside a plain array ------------------------------------------------------
 */

#define PREFIXES 12

static const char *const texts[PREFIXES] = {
	"0.0.0.0/0", "10.0.0.0/8",    "10.1.0.0/16",   "10.1.1.0/24", "10.1.1.1/32", "10.1.1.2/32",
	"2000::/3",  "2001:db8::/32", "2001:db8::/64", "2001:db8::1", "fc00::/7",    "::/0",
};

static void
compare(struct fixture *f, uint32_t model[PREFIXES][ROUTE_KINDS])
{
	int holds[NEXTHOPS] = {0};

	for (unsigned i = 0; i < PREFIXES; i++) {
		struct ip_prefix p = prefix(texts[i]);
		unsigned n = 0;
		struct route r;

		r.count = 0;
		route_get(&f->vrf, &p, &r);
		for (int k = ROUTE_KINDS - 1; k >= 0; k--) {
			if (model[i][k] == 0)
				continue;
			assert_true(n < r.count);
			assert_int_equal(r.claims[n].kind, k);
			assert_int_equal(r.claims[n].nexthop, model[i][k]);
			holds[model[i][k]] += k != ROUTE_NEIGHBOUR;
			n++;
		}
		assert_int_equal(r.count, n);
	}
	assert_memory_equal(holds, seen.holds, sizeof(holds));
}

static void
random_claims_agree_with_a_plain_array(void **state)
{
	uint32_t model[PREFIXES][ROUTE_KINDS] = {{0}};
	struct fixture *f = *state;
	uint32_t x = 12345;

	for (unsigned step = 0; step < 20000; step++) {
		unsigned i, k;
		uint32_t nexthop;

		x = x * 1664525 + 1013904223;
		i = (x >> 8) % PREFIXES;
		k = (x >> 16) % ROUTE_KINDS;
		nexthop = 1 + (x >> 24) % (NEXTHOPS - 1);
		if ((x >> 28) < 8) {
			assert_int_equal(claim(f, texts[i], (enum route_kind)k, nexthop), 0);
			model[i][k] = nexthop;
		} else {
			assert_int_equal(unclaim(f, texts[i], (enum route_kind)k),
					 model[i][k] != 0 ? 0 : -ENOENT);
			model[i][k] = 0;
		}
		if (step % 50 == 0)
			compare(f, model);
	}
	compare(f, model);
}

#define TABLE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TABLE_TEST(a_single_claim_comes_back_as_it_was_made),
		TABLE_TEST(a_claim_of_the_same_kind_is_replaced),
		TABLE_TEST(the_stronger_claim_wins_whoever_came_first),
		TABLE_TEST(all_kinds_on_one_prefix_go_in_order_of_strength),
		TABLE_TEST(what_is_not_claimed_cannot_be_given_up),
		TABLE_TEST(a_new_route_is_refused_where_one_is_configured),
		TABLE_TEST(configured_routes_are_counted),
		TABLE_TEST(a_host_route_holds_nothing),
		TABLE_TEST(the_longest_prefix_matches),
		TABLE_TEST(random_claims_agree_with_a_plain_array),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
