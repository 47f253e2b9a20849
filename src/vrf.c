/* SPDX-License-Identifier: BSD-3-Clause */
#include "vrf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "net.h"
#include "net_nexthop.h"
#include "route.h"

#define HASH_SIZE 4096u

struct vrf_fibs vrf_fibs[VRF_MAX];

static struct vrf *vrfs[VRF_MAX];
/* An index may still ride in packets between threads: it is free again only after a
 * grace period. */
static bool retiring[VRF_MAX];
static struct vrf *by_table[HASH_SIZE];
static struct vrf *by_name[HASH_SIZE];
static struct fib_arena *arena;
/* Indexes above it were never used, so a walk need not look there. */
static unsigned top;

/* What no packet is forwarded to (RFC 1812 5.3.7, RFC 6890, RFC 4291 2.5), as the weakest claims
 * of every table: the fast path needs no test of its own, and a route can say otherwise. */
static const struct builtin {
	const char *prefix;
	enum nexthop_type type;
} builtins[] = {
	{"0.0.0.0/8", NEXTHOP_MARTIAN},	     {"127.0.0.0/8", NEXTHOP_MARTIAN},
	{"169.254.0.0/16", NEXTHOP_MARTIAN}, {"224.0.0.0/3", NEXTHOP_MARTIAN},
	{"::/128", NEXTHOP_MARTIAN},	     {"::1/128", NEXTHOP_MARTIAN},
	{"fe80::/10", NEXTHOP_LINK_SCOPE},   {"ff00::/8", NEXTHOP_LINK_SCOPE},
};

static unsigned
name_hash(const char *name)
{
	uint32_t h = 2166136261u;

	for (; *name != '\0'; name++)
		h = (h ^ (uint8_t)*name) * 16777619u;
	return h % HASH_SIZE;
}

struct vrf *
vrf_at(unsigned idx)
{
	return idx < VRF_MAX ? vrfs[idx] : NULL;
}

struct vrf *
vrf_next(int idx)
{
	for (unsigned i = (unsigned)(idx + 1); i < top; i++) {
		if (vrfs[i] != NULL)
			return vrfs[i];
	}
	return NULL;
}

struct vrf *
vrf_of_table(uint32_t table)
{
	struct vrf *v = by_table[table % HASH_SIZE];

	while (v != NULL && v->table != table)
		v = v->next_table;
	return v;
}

struct vrf *
vrf_of_name(const char *name)
{
	struct vrf *v = by_name[name_hash(name)];

	while (v != NULL && strcmp(v->name, name) != 0)
		v = v->next_name;
	return v;
}

const char *
vrf_text(const struct vrf *v, char buf[VRF_TEXT])
{
	if (v->idx == VRF_MAIN)
		snprintf(buf, VRF_TEXT, "main");
	else if (v->device)
		snprintf(buf, VRF_TEXT, "vrf %s", v->name);
	else
		snprintf(buf, VRF_TEXT, "table %u", v->table);
	return buf;
}

static void
name_set(struct vrf *v, const char *name)
{
	struct vrf **chain = &by_name[name_hash(name)];

	snprintf(v->name, sizeof(v->name), "%s", name);
	v->next_name = *chain;
	*chain = v;
}

static void
name_clear(struct vrf *v)
{
	struct vrf **link = &by_name[name_hash(v->name)];

	if (v->name[0] == '\0')
		return;
	while (*link != v)
		link = &(*link)->next_name;
	*link = v->next_name;
	v->name[0] = '\0';
}

static void
table_clear(struct vrf *v)
{
	struct vrf **link = &by_table[v->table % HASH_SIZE];

	while (*link != v)
		link = &(*link)->next_table;
	*link = v->next_table;
}

static int
claim_builtins(struct vrf *v, struct err *err)
{
	for (unsigned i = 0; i < sizeof(builtins) / sizeof(builtins[0]); i++) {
		struct route_claim claim = {
			.nexthop = net_nexthop_shared(builtins[i].type),
			.kind = ROUTE_BUILTIN,
			.proto = ROUTE_PROTO_KERNEL,
		};
		struct ip_prefix prefix;
		int rc = ip_prefix_parse(builtins[i].prefix, 0, true, &prefix, NULL, err);

		if (rc == 0)
			rc = route_claim(v, &prefix, &claim, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static void
idx_free(void *ctx, uintptr_t idx)
{
	(void)ctx;
	retiring[idx] = false;
}

static void
vrf_free(struct vrf *v)
{
	uint16_t idx = v->idx;

	__atomic_store_n(&vrf_fibs[idx].fib4, NULL, __ATOMIC_RELEASE);
	__atomic_store_n(&vrf_fibs[idx].fib6, NULL, __ATOMIC_RELEASE);
	if (v->fib4 != NULL)
		fib4_destroy(v->fib4);
	if (v->fib6 != NULL)
		fib6_destroy(v->fib6);
	name_clear(v);
	table_clear(v);
	free(v->connected);
	free(v);
	vrfs[idx] = NULL;
	retiring[idx] = true;
	rcu_retire(rcu, idx_free, NULL, idx);
}

static struct vrf *
vrf_new(uint32_t table, struct err *err)
{
	struct vrf **chain = &by_table[table % HASH_SIZE];
	unsigned idx = 0;
	struct vrf *v;

	while (idx < VRF_MAX && (vrfs[idx] != NULL || retiring[idx]))
		idx++;
	if (idx == VRF_MAX) {
		err_set(err, ENOSPC, "all %u tables are in use", VRF_MAX);
		return NULL;
	}
	v = calloc(1, sizeof(*v));
	if (v == NULL) {
		err_set(err, ENOMEM, "no memory for table %u", table);
		return NULL;
	}
	v->idx = (uint16_t)idx;
	v->table = table;
	v->next_table = *chain;
	*chain = v;
	vrfs[idx] = v;
	if (idx >= top)
		top = idx + 1;
	v->fib4 = fib4_create(arena, err);
	v->fib6 = v->fib4 != NULL ? fib6_create(arena, err) : NULL;
	if (v->fib6 == NULL || claim_builtins(v, err) < 0) {
		err_prefix(err, 0, "table %u", table);
		vrf_free(v);
		return NULL;
	}
	__atomic_store_n(&vrf_fibs[idx].fib4, v->fib4, __ATOMIC_RELEASE);
	__atomic_store_n(&vrf_fibs[idx].fib6, v->fib6, __ATOMIC_RELEASE);
	return v;
}

int
vrf_init(struct fib_arena *fib_arena, struct err *err)
{
	struct vrf *v;

	arena = fib_arena;
	v = vrf_new(TABLE_MAIN, err);
	if (v == NULL)
		return -ENOMEM;
	name_set(v, "main");
	return 0;
}

void
vrf_fini(void)
{
	struct vrf *v;

	while ((v = vrf_next(-1)) != NULL)
		vrf_free(v);
	route_fini();
	rcu_synchronize(rcu);
	top = 0;
}

struct vrf *
vrf_get_table(uint32_t table, struct err *err)
{
	struct vrf *v = vrf_of_table(table);

	return v != NULL ? v : vrf_new(table, err);
}

struct vrf *
vrf_device_add(const char *name, uint32_t table, struct err *err)
{
	struct vrf *v = vrf_of_table(table);

	if (table == TABLE_LOCAL) {
		err_set(err, EEXIST, "table %u already belongs to local", table);
		return NULL;
	}
	if (v != NULL && (v->device || v->idx == VRF_MAIN)) {
		err_set(err, EEXIST, "table %u already belongs to %s%s", table,
			v->device ? "vrf " : "", v->name);
		return NULL;
	}
	if (v == NULL)
		v = vrf_new(table, err);
	if (v == NULL)
		return NULL;
	v->device = true;
	name_set(v, name);
	return v;
}

/* All claims are given up one by one, so that what they hold goes too. */
static void
unclaim_all(struct vrf *v, uint8_t family)
{
	struct route r;
	struct ip_prefix last;
	bool more = route_next(v, family, NULL, &r);

	while (more) {
		for (unsigned i = 0; i < r.count; i++)
			route_unclaim(v, &r.prefix, r.claims[i].kind);
		last = r.prefix;
		more = route_next(v, family, &last, &r);
	}
}

void
vrf_device_del(struct vrf *v)
{
	unclaim_all(v, AF_INET);
	unclaim_all(v, AF_INET6);
	vrf_free(v);
}

void
vrf_drop_if_unused(uint16_t idx)
{
	struct vrf *v = vrf_at(idx);

	if (v == NULL || idx == VRF_MAIN || v->device || v->statics != 0 || v->sids != 0 ||
	    v->users != 0)
		return;
	vrf_device_del(v);
}
