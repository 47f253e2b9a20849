/* SPDX-License-Identifier: BSD-3-Clause */
#include "route.h"

#include <errno.h>
#include <stdlib.h>

#include "neighbour.h"
#include "net_nexthop.h"

#define USER_SEVERAL 0x80000000u

/* All claims on one prefix; next hop 0: no claim of that kind. */
struct several {
	uint32_t nexthop[ROUTE_KINDS];
	uint32_t user[ROUTE_KINDS];
};

/* Records by index, grown as needed; those that are free are linked through nexthop[0]. */
static struct several *pool;
static uint32_t pool_used, pool_room, pool_taken;
static uint32_t pool_free; /* index + 1 */

static uint32_t
pack(const struct route_claim *claim)
{
	return claim->kind | (uint32_t)claim->onlink << 3 | (uint32_t)claim->proto << 4;
}

static struct route_claim
unpack(uint32_t nexthop, uint32_t user)
{
	return (struct route_claim){
		.nexthop = nexthop,
		.kind = user & 7,
		.onlink = user >> 3 & 1,
		.proto = (uint8_t)(user >> 4),
	};
}

static struct several *
several_of(uint32_t user)
{
	return &pool[user & ~USER_SEVERAL];
}

/* A user word for a new record, or 0: no memory. */
static uint32_t
several_new(void)
{
	uint32_t i;

	if (pool_free != 0) {
		i = pool_free - 1;
		pool_free = pool[i].nexthop[0];
	} else {
		if (pool_used == pool_room) {
			uint32_t room = pool_room == 0 ? 64 : pool_room * 2;
			struct several *more = realloc(pool, room * sizeof(*more));

			if (more == NULL)
				return 0;
			pool = more;
			pool_room = room;
		}
		i = pool_used++;
	}
	pool_taken++;
	pool[i] = (struct several){0};
	return USER_SEVERAL | i;
}

/* The pool itself goes with its last record. */
static void
several_free(uint32_t user)
{
	uint32_t i = user & ~USER_SEVERAL;

	pool[i].nexthop[0] = pool_free;
	pool_free = i + 1;
	if (--pool_taken == 0)
		route_fini();
}

void
route_fini(void)
{
	free(pool);
	pool = NULL;
	pool_used = pool_room = pool_taken = pool_free = 0;
}

/* The strongest claim, -1: none. */
static int
several_best(const struct several *s)
{
	for (int k = ROUTE_KINDS - 1; k >= 0; k--) {
		if (s->nexthop[k] != 0)
			return k;
	}
	return -1;
}

/* --- the FIB of either family -------------------------------------------------------- */

static bool
fib_get(const struct vrf *v, const struct ip_prefix *prefix, struct fib_entry *e)
{
	return (prefix->addr.family == AF_INET ? fib4_get(v->fib4, prefix, e)
					       : fib6_get(v->fib6, prefix, e)) == 0;
}

uint32_t route_generation = 1;

static void
tables_changed(void)
{
	uint32_t next = route_generation + 1;

	__atomic_store_n(&route_generation, next != 0 ? next : 1, __ATOMIC_RELEASE);
}

/* SIDs are what most packets ask for, so they get a place in front. */
static int
fib_set(struct vrf *v, const struct ip_prefix *prefix, uint32_t nexthop, uint32_t user, int best)
{
	int rc = prefix->addr.family == AF_INET ? fib4_set(v->fib4, prefix, nexthop, user)
						: fib6_set(v->fib6, prefix, nexthop, user,
							   best == ROUTE_SID ? FIB6_FRONT : 0);

	tables_changed();
	return rc;
}

static void
fib_unset(struct vrf *v, const struct ip_prefix *prefix)
{
	if (prefix->addr.family == AF_INET)
		fib4_unset(v->fib4, prefix);
	else
		fib6_unset(v->fib6, prefix);
	tables_changed();
}

static void
route_of(const struct fib_entry *e, struct route *route)
{
	route->prefix = e->prefix;
	route->count = 0;
	if ((e->user & USER_SEVERAL) == 0) {
		route->claims[route->count++] = unpack(e->value, e->user);
		return;
	}
	for (int k = ROUTE_KINDS - 1; k >= 0; k--) {
		const struct several *s = several_of(e->user);

		if (s->nexthop[k] != 0)
			route->claims[route->count++] = unpack(s->nexthop[k], s->user[k]);
	}
}

bool
route_get(const struct vrf *v, const struct ip_prefix *prefix, struct route *route)
{
	struct fib_entry e;

	if (!fib_get(v, prefix, &e))
		return false;
	route_of(&e, route);
	return true;
}

bool
route_match(const struct vrf *v, const struct ip_addr *addr, struct route *route)
{
	struct fib_entry e;

	if ((addr->family == AF_INET ? fib4_match(v->fib4, addr, &e)
				     : fib6_match(v->fib6, addr, &e)) < 0)
		return false;
	route_of(&e, route);
	return true;
}

bool
route_next(const struct vrf *v, uint8_t family, const struct ip_prefix *after, struct route *route)
{
	struct fib_entry e;

	if (!(family == AF_INET ? fib4_next(v->fib4, after, &e) : fib6_next(v->fib6, after, &e)))
		return false;
	route_of(&e, route);
	return true;
}

const struct route_claim *
route_claim_of(const struct route *route, enum route_kind kind)
{
	for (unsigned i = 0; i < route->count; i++) {
		if (route->claims[i].kind == kind)
			return &route->claims[i];
	}
	return NULL;
}

const struct route_claim *
route_configured(const struct route *route)
{
	const struct route_claim *claim = route_claim_of(route, ROUTE_SID);

	return claim != NULL ? claim : route_claim_of(route, ROUTE_STATIC);
}

/* A host route does not keep its neighbour: it goes when the neighbour does. */
static void
hold(enum route_kind kind, uint32_t nexthop)
{
	if (kind != ROUTE_NEIGHBOUR)
		net_nexthop_hold(nexthop);
}

static void
release(enum route_kind kind, uint32_t nexthop)
{
	if (kind != ROUTE_NEIGHBOUR)
		net_nexthop_release(nexthop);
}

/* --- claims -------------------------------------------------------------------------- */

static void
account(struct vrf *v, enum route_kind kind, uint32_t nexthop, int n)
{
	if (kind == ROUTE_SID) {
		v->sids += (uint32_t)n;
	} else if (kind == ROUTE_STATIC) {
		v->statics += (uint32_t)n;
		if (net_nexthop_is_connected(nexthop))
			v->onlink += (uint32_t)n;
	}
}

/* A second kind of claim on a prefix that had one. */
static int
claim_second(struct vrf *v, const struct fib_entry *e, const struct route_claim *claim)
{
	struct route_claim first = unpack(e->value, e->user);
	uint32_t user = several_new();
	struct several *s;
	int best, rc;

	if (user == 0)
		return -ENOMEM;
	s = several_of(user);
	s->nexthop[first.kind] = e->value;
	s->user[first.kind] = e->user;
	s->nexthop[claim->kind] = claim->nexthop;
	s->user[claim->kind] = pack(claim);
	best = several_best(s);
	rc = fib_set(v, &e->prefix, s->nexthop[best], user, best);
	if (rc < 0)
		several_free(user);
	return rc;
}

/* A claim on a prefix that has several; *old: the next hop it replaces. */
static int
claim_more(struct vrf *v, const struct fib_entry *e, const struct route_claim *claim, uint32_t *old)
{
	struct several *s = several_of(e->user);
	struct several before = *s;
	int best, rc;

	*old = s->nexthop[claim->kind];
	s->nexthop[claim->kind] = claim->nexthop;
	s->user[claim->kind] = pack(claim);
	best = several_best(s);
	rc = fib_set(v, &e->prefix, s->nexthop[best], e->user, best);
	if (rc < 0)
		*s = before;
	return rc;
}

/* found: what the table has for the prefix, NULL: nothing. */
static int
claim_on(struct vrf *v, const struct ip_prefix *prefix, const struct route_claim *claim,
	 const struct fib_entry *found, struct err *err)
{
	char text[IP_PREFIX_TEXT];
	uint32_t old = 0;
	int rc;

	hold(claim->kind, claim->nexthop);
	if (found == NULL) {
		rc = fib_set(v, prefix, claim->nexthop, pack(claim), claim->kind);
	} else if ((found->user & USER_SEVERAL) != 0) {
		rc = claim_more(v, found, claim, &old);
	} else if ((found->user & 7) == claim->kind) {
		old = found->value;
		rc = fib_set(v, prefix, claim->nexthop, pack(claim), claim->kind);
	} else {
		rc = claim_second(v, found, claim);
	}
	if (rc < 0) {
		release(claim->kind, claim->nexthop);
		return err_set(err, -rc, "route %s: no memory for it in the table",
			       ip_prefix_format(prefix, text));
	}
	account(v, claim->kind, claim->nexthop, 1);
	if (old != 0) {
		account(v, claim->kind, old, -1);
		release(claim->kind, old);
	}
	if (claim->kind != ROUTE_NEIGHBOUR)
		neighbours_route_changed(v, prefix);
	return 0;
}

int
route_claim(struct vrf *v, const struct ip_prefix *prefix, const struct route_claim *claim,
	    struct err *err)
{
	struct fib_entry e;

	return claim_on(v, prefix, claim, fib_get(v, prefix, &e) ? &e : NULL, err);
}

int
route_claim_new(struct vrf *v, const struct ip_prefix *prefix, const struct route_claim *claim,
		struct err *err)
{
	char text[IP_PREFIX_TEXT], table[VRF_TEXT];
	struct fib_entry e;
	struct route route;

	if (!fib_get(v, prefix, &e))
		return claim_on(v, prefix, claim, NULL, err);
	route_of(&e, &route);
	if (route_configured(&route) == NULL)
		return claim_on(v, prefix, claim, &e, err);
	return err_set(err, EEXIST, "route %s exists%s%s", ip_prefix_format(prefix, text),
		       v->idx == VRF_MAIN ? "" : " in ",
		       v->idx == VRF_MAIN ? "" : vrf_text(v, table));
}

/* One of several claims goes; a single one that is left moves back into the entry. */
static int
unclaim_one(struct vrf *v, const struct fib_entry *e, enum route_kind kind, uint32_t *old)
{
	struct several *s = several_of(e->user);
	struct several before = *s;
	unsigned left = 0;
	int best, rc;

	*old = s->nexthop[kind];
	if (*old == 0)
		return -ENOENT;
	s->nexthop[kind] = 0;
	best = several_best(s);
	for (unsigned k = 0; k < ROUTE_KINDS; k++)
		left += s->nexthop[k] != 0;
	rc = fib_set(v, &e->prefix, s->nexthop[best], left == 1 ? s->user[best] : e->user, best);
	if (rc < 0)
		*s = before;
	else if (left == 1)
		several_free(e->user);
	return rc;
}

int
route_unclaim(struct vrf *v, const struct ip_prefix *prefix, enum route_kind kind)
{
	struct fib_entry e;
	uint32_t old;
	int rc = 0;

	if (!fib_get(v, prefix, &e))
		return -ENOENT;
	if ((e.user & USER_SEVERAL) != 0) {
		rc = unclaim_one(v, &e, kind, &old);
	} else if ((e.user & 7) == kind) {
		old = e.value;
		fib_unset(v, prefix);
	} else {
		rc = -ENOENT;
	}
	if (rc < 0)
		return rc;
	account(v, kind, old, -1);
	if (kind != ROUTE_NEIGHBOUR)
		neighbours_route_changed(v, prefix);
	/* Last, because a SID may have been what kept the table, or the caller's prefix. */
	release(kind, old);
	return 0;
}
