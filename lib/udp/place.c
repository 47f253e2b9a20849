/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Places: the keys of the tables, and what workers find there. One plain
 * socket, or one group, is the value itself; else a chain in the order in
 * which the kernel would look at them.
 */
#include <errno.h>
#include <stdlib.h>

#include "private.h"

static const unsigned words_of[PLACE_KINDS] = {
	[PLACE_ANY] = UDP_ANY_WORDS,	   [PLACE_LOCAL4] = UDP_LOCAL4_WORDS,
	[PLACE_LOCAL6] = UDP_LOCAL6_WORDS, [PLACE_PEER4] = UDP_PEER4_WORDS,
	[PLACE_PEER6] = UDP_PEER6_WORDS,
};

static const struct udp_hash **
table_of(struct udp_tables *t, enum place_kind kind)
{
	switch (kind) {
	case PLACE_LOCAL4:
		return &t->local4;
	case PLACE_LOCAL6:
		return &t->local6;
	case PLACE_PEER4:
		return &t->peer4;
	case PLACE_PEER6:
		return &t->peer6;
	default:
		return &t->any;
	}
}

/* --- finding --------------------------------------------------------------------------- */

static struct place **
bucket_of(const struct udp_control *c, enum place_kind kind, const uint64_t *key)
{
	uint32_t h = udp_hash_words(key, words_of[kind]) ^ (uint32_t)kind * 0x9e3779b1;

	return &c->places[h & (c->place_buckets - 1)];
}

static struct place *
place_find(const struct udp_control *c, enum place_kind kind, const uint64_t *key)
{
	struct place *p = *bucket_of(c, kind, key);

	while (p != NULL &&
	       (p->kind != kind || memcmp(p->key, key, words_of[kind] * sizeof(*key)) != 0))
		p = p->next;
	return p;
}

static void
places_grow(struct udp_control *c)
{
	uint32_t old_n = c->place_buckets;
	struct place **old = c->places;
	struct place **more = calloc((size_t)old_n * 4, sizeof(*more));

	if (more == NULL)
		return; /* chains get longer, that is all */
	c->places = more;
	c->place_buckets = old_n * 4;
	for (uint32_t i = 0; i < old_n; i++) {
		while (old[i] != NULL) {
			struct place *p = old[i], **bucket = bucket_of(c, p->kind, p->key);

			old[i] = p->next;
			p->next = *bucket;
			*bucket = p;
		}
	}
	free(old);
}

static struct place *
place_make(struct udp_control *c, enum place_kind kind, uint8_t family, const uint64_t *key)
{
	struct place *p = place_find(c, kind, key), **bucket;

	if (p != NULL)
		return p;
	if (hash_reserve(c, table_of(c->tables, kind), words_of[kind]) < 0)
		return NULL;
	p = calloc(1, sizeof(*p));
	if (p == NULL)
		return NULL;
	p->kind = kind;
	p->family = family;
	memcpy(p->key, key, words_of[kind] * sizeof(*key));
	if (c->place_count++ > c->place_buckets)
		places_grow(c);
	bucket = bucket_of(c, kind, key);
	p->next = *bucket;
	*bucket = p;
	return p;
}

static void
place_drop(struct udp_control *c, struct place *p)
{
	struct place **link = bucket_of(c, p->kind, p->key);

	while (*link != p)
		link = &(*link)->next;
	*link = p->next;
	c->place_count--;
	free(p->sockets);
	free(p);
}

/* --- what workers find -------------------------------------------------------------------- */

static uint64_t
value_pointer(unsigned kind, const void *p)
{
	return (uint64_t)kind << 56 | (uintptr_t)p;
}

static uint64_t
value_of(const struct bound *s)
{
	if (s->group != NULL)
		return value_pointer(UDP_VALUE_GROUP, s->group->seen);
	return (uint64_t)UDP_VALUE_REF << 56 | s->view->ref;
}

static bool
has_group(const struct udp_chain *chain, uint64_t value)
{
	for (unsigned i = 0; i < chain->n; i++) {
		if (chain->at[i].value == value)
			return true;
	}
	return false;
}

static struct udp_chain *
chain_new(const struct place *p)
{
	struct udp_chain *chain = malloc(sizeof(*chain) + p->n * sizeof(chain->at[0]));
	uint64_t last = 0;

	if (chain == NULL)
		return NULL;
	chain->n = 0;
	for (unsigned i = 0; i < p->n; i++) {
		const struct bound *s = p->sockets[i];
		const struct udp_bind *b = &s->view->bound;
		uint64_t value = value_of(s);

		/* A group stands where the first of it does. */
		if (s->group != NULL && (value == last || has_group(chain, value)))
			continue;
		last = value;
		chain->at[chain->n++] = (struct udp_entry){
			.value = value,
			.iface = b->iface,
			.worker = (int16_t)b->worker,
			.family = b->addr.family,
			.stop = s->group != NULL && !s->group->connected,
		};
	}
	return chain;
}

static bool
all_one(const struct place *p)
{
	const struct bound *first = p->sockets[0];

	if (first->view->bound.iface != 0)
		return false;
	if (p->n == 1)
		return true;
	for (unsigned i = 0; i < p->n; i++) {
		if (first->group == NULL || p->sockets[i]->group != first->group)
			return false;
	}
	return true;
}

/* Show what is there now. 0, or -ENOMEM: workers see what they saw. */
static int
publish(struct udp_control *c, struct place *p)
{
	const struct udp_hash *t = *table_of(c->tables, p->kind);
	void *old = p->chain;
	uint64_t value = 0;

	if (p->n == 0) {
		p->chain = NULL;
	} else if (all_one(p)) {
		value = value_of(p->sockets[0]);
		p->chain = NULL;
	} else {
		void *chain = chain_new(p);

		if (chain == NULL)
			return -ENOMEM;
		p->chain = chain;
		value = value_pointer(UDP_VALUE_CHAIN, chain);
	}
	hash_set(t, p->key, words_of[p->kind], value);
	udp_retire(c, old);
	return 0;
}

/* --- entering and leaving ------------------------------------------------------------------- */

static int
place_enter(struct udp_control *c, struct place *p, struct bound *s)
{
	unsigned i = p->n;

	if (p->n == p->room) {
		unsigned room = p->room == 0 ? 1 : 2 * p->room;
		struct bound **more = realloc(p->sockets, room * sizeof(struct bound *));

		if (more == NULL)
			return -ENOMEM;
		p->sockets = more;
		p->room = room;
	}
	while (i > 0 && bound_before(s, p->sockets[i - 1]))
		i--;
	memmove(&p->sockets[i + 1], &p->sockets[i], (p->n - i) * sizeof(p->sockets[0]));
	p->sockets[i] = s;
	p->n++;
	if (publish(c, p) == 0)
		return 0;
	p->n--;
	memmove(&p->sockets[i], &p->sockets[i + 1], (p->n - i) * sizeof(p->sockets[0]));
	return -ENOMEM;
}

static void
place_leave(struct udp_control *c, struct place *p, const struct bound *s)
{
	unsigned i = 0;

	while (p->sockets[i] != s)
		i++;
	p->n--;
	memmove(&p->sockets[i], &p->sockets[i + 1], (p->n - i) * sizeof(p->sockets[0]));
	if (publish(c, p) < 0) {
		/* Without memory for a shorter chain the old one stays, less this one. */
		struct udp_chain *chain = p->chain;

		for (i = 0; i < chain->n; i++) {
			if (chain->at[i].value == value_of(s) && s->group == NULL)
				__atomic_store_n(&chain->at[i].iface, UINT16_MAX, __ATOMIC_RELEASE);
		}
	}
	if (p->n == 0)
		place_drop(c, p);
}

static struct place *
place_of(struct udp_control *c, const struct udp_socket *v, uint8_t family)
{
	const struct udp_bind *b = &v->bound;
	struct udp_flow f = {b->addr.bytes, v->remote.bytes, family,	    b->vrf,
			     b->iface,	    b->port,	     v->remote_port};
	uint64_t key[UDP_KEY_WORDS_MAX];
	enum place_kind kind;
	uint32_t addr;

	if (v->remote.family == AF_INET) {
		kind = PLACE_PEER4;
		udp_key_peer4(key, &f);
	} else if (v->remote.family == AF_INET6) {
		kind = PLACE_PEER6;
		udp_key_peer6(key, &f);
	} else if (ip_is_unspecified(&b->addr)) {
		kind = PLACE_ANY;
		udp_key_any(key, family, b->vrf, b->port);
	} else if (family == AF_INET) {
		kind = PLACE_LOCAL4;
		memcpy(&addr, b->addr.bytes, sizeof(addr));
		udp_key_local4(key, addr, b->vrf, b->port);
	} else {
		kind = PLACE_LOCAL6;
		udp_key_local6(key, b->addr.bytes, b->vrf, b->port);
	}
	return place_make(c, kind, family, key);
}

int
places_enter(struct udp_control *c, struct bound *s)
{
	const struct udp_bind *b = &s->view->bound;
	bool both = b->addr.family == AF_INET6 && ip_is_unspecified(&b->addr) && !b->v6only &&
		    s->view->remote.family == 0;

	for (unsigned i = 0; i < (both ? 2 : 1); i++) {
		struct place *p = place_of(c, s->view, i == 0 ? b->addr.family : AF_INET);

		if (p == NULL || place_enter(c, p, s) < 0) {
			if (p != NULL && p->n == 0)
				place_drop(c, p);
			places_leave(c, s);
			return -ENOMEM;
		}
		s->places[i] = p;
	}
	return 0;
}

void
places_leave(struct udp_control *c, struct bound *s)
{
	for (unsigned i = 0; i < 2; i++) {
		if (s->places[i] != NULL)
			place_leave(c, s->places[i], s);
		s->places[i] = NULL;
	}
}

void
places_refresh(struct udp_control *c, struct bound *s)
{
	for (unsigned i = 0; i < 2; i++) {
		if (s->places[i] != NULL)
			publish(c, s->places[i]);
	}
}

void
places_fini(struct udp_control *c)
{
	for (uint32_t i = 0; i < c->place_buckets; i++) {
		while (c->places[i] != NULL)
			place_drop(c, c->places[i]);
	}
	free(c->places);
}
