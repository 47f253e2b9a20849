/* SPDX-License-Identifier: BSD-3-Clause */
/* Lookups out of line: one datagram at a time, or of several sockets the best. */
#include "udp_lookup.h"

static const struct udp_hash *
table(const struct udp_hash *const *at)
{
	return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

/* compute_score() of net/ipv4/udp.c and net/ipv6/udp.c, less what the place says already. */
static int
score(const struct udp_entry *e, const struct udp_flow *f, unsigned worker)
{
	bool own = e->worker == (int)worker;
	int device = f->family == AF_INET ? 4 : 1, s = 0;

	if (e->iface != 0 && e->iface != f->iface)
		return -1;
	if (udp_value_kind(e->value) == UDP_VALUE_GROUP) {
		const struct udp_group *g = udp_value_pointer(e->value);

		own = __atomic_load_n(&g->view[worker], __ATOMIC_RELAXED) !=
		      __atomic_load_n(&g->all, __ATOMIC_RELAXED);
	}
	if (f->family == AF_INET)
		s = e->family == AF_INET ? 2 : 1;
	return s + (e->iface != 0 ? device : 0) + (own ? 1 : 0);
}

uint32_t
udp_chain_pick(const struct udp_tables *t, const struct udp_chain *chain, const struct udp_flow *f,
	       unsigned worker)
{
	uint64_t value = 0;
	int best = -1;

	for (unsigned i = 0; i < chain->n; i++) {
		const struct udp_entry *e = &chain->at[i];
		int s = score(e, f, worker);

		if (s <= best)
			continue;
		best = s;
		value = e->value;
		if (e->stop)
			break;
	}
	if (udp_value_kind(value) == UDP_VALUE_GROUP)
		return udp_group_pick(t, udp_value_pointer(value), f, worker);
	return value != 0 ? (uint32_t)value : UDP_NONE;
}

static uint64_t
any_value(const struct udp_tables *t, const struct udp_flow *f)
{
	const struct udp_hash *any = table(&t->any);
	uint64_t key[UDP_ANY_WORDS];

	if (any == NULL)
		return 0;
	udp_key_any(key, f->family, f->vrf, f->local_port);
	return udp_hash_get(any, key, udp_hash_words(key, UDP_ANY_WORDS), UDP_ANY_WORDS);
}

static uint64_t
local_value(const struct udp_tables *t, const struct udp_flow *f)
{
	const struct udp_hash *local = table(f->family == AF_INET ? &t->local4 : &t->local6);
	uint64_t key[UDP_LOCAL6_WORDS];
	uint32_t addr;

	if (local == NULL)
		return 0;
	if (f->family == AF_INET) {
		memcpy(&addr, f->local, 4);
		udp_key_local4(key, addr, f->vrf, f->local_port);
		return udp_hash_get(local, key, udp_hash_words(key, UDP_LOCAL4_WORDS),
				    UDP_LOCAL4_WORDS);
	}
	udp_key_local6(key, f->local, f->vrf, f->local_port);
	return udp_hash_get(local, key, udp_hash_words(key, UDP_LOCAL6_WORDS), UDP_LOCAL6_WORDS);
}

static uint64_t
peer_value(const struct udp_tables *t, const struct udp_flow *f)
{
	const struct udp_hash *peer = table(f->family == AF_INET ? &t->peer4 : &t->peer6);
	uint64_t key[UDP_PEER6_WORDS];

	if (peer == NULL)
		return 0;
	if (f->family == AF_INET) {
		udp_key_peer4(key, f);
		return udp_hash_get(peer, key, udp_hash_words(key, UDP_PEER4_WORDS),
				    UDP_PEER4_WORDS);
	}
	udp_key_peer6(key, f);
	return udp_hash_get(peer, key, udp_hash_words(key, UDP_PEER6_WORDS), UDP_PEER6_WORDS);
}

uint32_t
udp_lookup_peer(const struct udp_tables *t, const struct udp_flow *f, unsigned worker)
{
	return udp_resolve(t, peer_value(t, f), f, worker);
}

uint32_t
udp_lookup(const struct udp_tables *t, const struct udp_flow *f, unsigned worker)
{
	uint32_t ref = udp_resolve(t, peer_value(t, f), f, worker);

	if (ref == UDP_NONE)
		ref = udp_resolve(t, local_value(t, f), f, worker);
	if (ref == UDP_NONE)
		ref = udp_resolve(t, any_value(t, f), f, worker);
	return ref;
}

bool
udp_joined(const struct udp_tables *t, const struct udp_flow *f)
{
	return udp_value_kind(local_value(t, f)) != UDP_VALUE_NONE ||
	       udp_value_kind(peer_value(t, f)) != UDP_VALUE_NONE;
}

static void
each(uint64_t value, const struct udp_flow *f, void (*fn)(void *arg, uint32_t ref), void *arg)
{
	const struct udp_chain *chain;
	const struct udp_group *g;
	const struct udp_pick *all;

	switch (udp_value_kind(value)) {
	case UDP_VALUE_REF:
		fn(arg, (uint32_t)value);
		break;
	case UDP_VALUE_GROUP:
		g = udp_value_pointer(value);
		all = __atomic_load_n(&g->all, __ATOMIC_ACQUIRE);
		for (unsigned i = 0; all != NULL && i < all->n; i++)
			fn(arg, all->slots[all->mask + 1 + i]);
		break;
	case UDP_VALUE_CHAIN:
		chain = udp_value_pointer(value);
		for (unsigned i = 0; i < chain->n; i++) {
			if (chain->at[i].iface == 0 || chain->at[i].iface == f->iface)
				each(chain->at[i].value, f, fn, arg);
		}
		break;
	}
}

void
udp_lookup_all(const struct udp_tables *t, const struct udp_flow *f,
	       void (*fn)(void *arg, uint32_t ref), void *arg)
{
	each(peer_value(t, f), f, fn, arg);
	each(local_value(t, f), f, fn, arg);
	each(any_value(t, f), f, fn, arg);
}
