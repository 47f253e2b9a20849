/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Datagrams and fragments found by hash, and room made for new ones at the cost
 * of those who use most of it.
 */
#include <stdlib.h>
#include <sys/socket.h>

#include "internal.h"

struct reassembly *
reassembly_create(const struct reassembly_limits *limits, const struct reassembly_owner *owner)
{
	struct reassembly *r = calloc(1, sizeof(*r));
	uint32_t slots = rte_align32pow2(RTE_MAX(limits->total, 2u));

	if (r == NULL)
		return NULL;
	r->limits = *limits;
	r->owner = *owner;
	r->mask = slots - 1;
	/* One that is alive counts two at least, so dead ones alone can use these up. */
	r->datagram_max = RTE_MAX(limits->total / 2, 1u);
	r->datagram_hash = calloc(slots, sizeof(*r->datagram_hash));
	r->piece_hash = calloc(slots, sizeof(*r->piece_hash));
	r->datagram_records = calloc(r->datagram_max, sizeof(*r->datagram_records));
	r->maps = calloc(r->datagram_max, sizeof(*r->maps));
	r->piece_records = calloc(limits->total, sizeof(*r->piece_records));
	if (r->datagram_hash == NULL || r->piece_hash == NULL || r->datagram_records == NULL ||
	    r->maps == NULL || r->piece_records == NULL) {
		reassembly_destroy(r);
		return NULL;
	}
	TAILQ_INIT(&r->by_age[0]);
	TAILQ_INIT(&r->by_age[1]);
	for (unsigned i = 0; i < SOURCES; i++)
		TAILQ_INIT(&r->of_source[i]);
	return r;
}

void
reassembly_destroy(struct reassembly *r)
{
	if (r == NULL)
		return;
	free(r->datagram_hash);
	free(r->piece_hash);
	free(r->datagram_records);
	free(r->maps);
	free(r->piece_records);
	free(r);
}

uint32_t
reassembly_fragments(const struct reassembly *r)
{
	return r->fragments;
}

uint32_t
reassembly_datagrams(const struct reassembly *r)
{
	return r->datagrams;
}

/* --- what is held ------------------------------------------------------------------- */

static void
charge(struct reassembly *r, uint16_t source, uint32_t n)
{
	r->held += n;
	r->held_by[source] += n;
}

static void
discharge(struct reassembly *r, uint16_t source, uint32_t n)
{
	r->held -= n;
	r->held_by[source] -= n;
}

static struct piece_chain *
piece_slot(const struct reassembly *r, const struct datagram *d, uint32_t start)
{
	/* Neighbours come one after the other, in slots spread by an odd factor. */
	return &r->piece_hash[(uint32_t)(d->hash + start / UNIT * 0x9e3779b1u) & r->mask];
}

struct piece *
piece_find(const struct reassembly *r, const struct datagram *d, uint32_t start)
{
	struct piece *p;

	SLIST_FOREACH(p, piece_slot(r, d, start), same_hash) {
		if (p->datagram == d && p->start == start)
			return p;
	}
	return NULL;
}

void
piece_add(struct reassembly *r, struct datagram *d, const struct fragment *f,
	  struct rte_mbuf *packet)
{
	struct piece *p = SLIST_FIRST(&r->pieces_free);

	if (p != NULL)
		SLIST_REMOVE_HEAD(&r->pieces_free, same_hash);
	else
		p = &r->piece_records[r->piece_fresh++];
	p->datagram = d;
	p->packet = packet;
	p->start = f->start;
	p->len = f->len;
	p->more = f->more;
	SLIST_INSERT_HEAD(piece_slot(r, d, f->start), p, same_hash);
	SLIST_INSERT_HEAD(&d->pieces, p, of_datagram);
	d->buffers += packet->nb_segs;
	charge(r, d->source, packet->nb_segs);
	r->fragments++;
}

struct rte_mbuf *
piece_take(struct reassembly *r, struct piece *p)
{
	struct datagram *d = p->datagram;
	struct rte_mbuf *packet = p->packet;

	SLIST_REMOVE(piece_slot(r, d, p->start), p, piece, same_hash);
	SLIST_INSERT_HEAD(&r->pieces_free, p, same_hash);
	d->buffers -= packet->nb_segs;
	discharge(r, d->source, packet->nb_segs);
	r->fragments--;
	return packet;
}

static void
drop_pieces(struct reassembly *r, struct datagram *d)
{
	struct piece *p;

	while ((p = SLIST_FIRST(&d->pieces)) != NULL) {
		SLIST_REMOVE_HEAD(&d->pieces, of_datagram);
		r->owner.dropped(r->owner.ctx, piece_take(r, p));
	}
}

struct datagram *
datagram_find(const struct reassembly *r, const struct fragment *f)
{
	struct datagram *d;

	SLIST_FOREACH(d, &r->datagram_hash[f->hash & r->mask], same_hash) {
		if (d->hash == f->hash && memcmp(&d->key, &f->key, sizeof(d->key)) == 0)
			return d;
	}
	return NULL;
}

static struct datagram_list *
age_list(struct reassembly *r, const struct datagram *d)
{
	return &r->by_age[d->key.family == AF_INET6];
}

struct datagram *
datagram_begin(struct reassembly *r, const struct fragment *f, uint64_t now)
{
	struct datagram *d = SLIST_FIRST(&r->datagrams_free);

	if (d != NULL)
		SLIST_REMOVE_HEAD(&r->datagrams_free, same_hash);
	else
		d = &r->datagram_records[r->datagram_fresh++];
	*d = (struct datagram){
		.key = f->key,
		.hash = f->hash,
		.since = now,
		.source = source_of(&f->key),
		.map = r->maps[d - r->datagram_records],
	};
	memset(d->map, 0, sizeof(*r->maps));
	SLIST_INSERT_HEAD(&r->datagram_hash[d->hash & r->mask], d, same_hash);
	TAILQ_INSERT_TAIL(age_list(r, d), d, by_age);
	TAILQ_INSERT_TAIL(&r->of_source[d->source], d, of_source);
	charge(r, d->source, 1);
	r->datagrams++;
	return d;
}

void
datagram_kill(struct reassembly *r, struct datagram *d)
{
	d->dead = true;
	drop_pieces(r, d);
}

void
datagram_end(struct reassembly *r, struct datagram *d)
{
	drop_pieces(r, d);
	SLIST_REMOVE(&r->datagram_hash[d->hash & r->mask], d, datagram, same_hash);
	TAILQ_REMOVE(age_list(r, d), d, by_age);
	TAILQ_REMOVE(&r->of_source[d->source], d, of_source);
	SLIST_INSERT_HEAD(&r->datagrams_free, d, same_hash);
	discharge(r, d->source, 1);
	r->datagrams--;
}

/* --- room ------------------------------------------------------------------------------ */

uint16_t
source_of(const struct fragment_key *key)
{
	/* A host may use all of its /64, so that counts as one. */
	uint64_t words[2] = {(uint64_t)key->vrf << 8 | key->family, 0};

	memcpy(&words[1], key->src, 8);
	return (uint16_t)(secret_hash(words, 2) >> 32 & (SOURCES - 1));
}

static uint16_t
heaviest(const struct reassembly *r)
{
	unsigned most = 0;

	for (unsigned i = 1; i < SOURCES; i++)
		most = r->held_by[i] > r->held_by[most] ? i : most;
	return (uint16_t)most;
}

static bool
evict_oldest(struct reassembly *r, uint16_t source, const struct datagram *keep)
{
	struct datagram *d = TAILQ_FIRST(&r->of_source[source]);

	if (d != NULL && d == keep)
		d = TAILQ_NEXT(d, of_source);
	if (d == NULL)
		return false;
	datagram_end(r, d);
	return true;
}

/* Of all sources' datagrams the oldest but `keep`. */
static bool
evict_eldest(struct reassembly *r, const struct datagram *keep)
{
	struct datagram *eldest = NULL;

	for (unsigned v6 = 0; v6 < 2; v6++) {
		struct datagram *d = TAILQ_FIRST(&r->by_age[v6]);

		if (d != NULL && d == keep)
			d = TAILQ_NEXT(d, by_age);
		if (d != NULL && (eldest == NULL || d->since < eldest->since))
			eldest = d;
	}
	if (eldest == NULL)
		return false;
	datagram_end(r, eldest);
	return true;
}

bool
make_room(struct reassembly *r, uint16_t source, uint32_t need, struct datagram *d)
{
	if (d == NULL)
		need++;
	while (r->held_by[source] + need > r->limits.per_source) {
		if (!evict_oldest(r, source, d))
			return false;
	}
	while (r->held + need > r->limits.total || (d == NULL && r->datagrams == r->datagram_max)) {
		/* Who has only this datagram may go on with it, up to a source's share; else many
		 * sources with a fragment each would keep all larger datagrams out. */
		if (!evict_oldest(r, heaviest(r), d) && !evict_eldest(r, d))
			return false;
	}
	return true;
}
