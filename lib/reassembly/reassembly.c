/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A fragment comes in, a datagram goes out.
 */
#include "internal.h"

#include <sys/socket.h>

#include "ip.h"

/* --- what is covered ------------------------------------------------------------------ */

/* The bits of word w among units [from, to). */
static uint64_t
word_bits(uint32_t w, uint32_t from, uint32_t to)
{
	uint64_t bits = UINT64_MAX;

	if (from > w * 64)
		bits &= UINT64_MAX << (from - w * 64);
	if (to < (w + 1) * 64)
		bits &= UINT64_MAX >> ((w + 1) * 64 - to);
	return bits;
}

static uint32_t
units(uint32_t bytes)
{
	return (bytes + UNIT - 1) / UNIT;
}

static bool
overlaps(const struct datagram *d, const struct fragment *f)
{
	uint32_t from = f->start / UNIT, to = units(f->start + f->len);

	for (uint32_t w = from / 64; w * 64 < to; w++) {
		if ((d->map[w] & word_bits(w, from, to)) != 0)
			return true;
	}
	return false;
}

static void
cover(struct datagram *d, const struct fragment *f)
{
	uint32_t from = f->start / UNIT, to = units(f->start + f->len);

	for (uint32_t w = from / 64; w * 64 < to; w++)
		d->map[w] |= word_bits(w, from, to);
	d->covered += f->len;
	d->end = RTE_MAX(d->end, f->start + f->len);
}

/* --- is it acceptable ------------------------------------------------------------------- */

/* Are n bytes at offset a of one packet those at offset b of the other? Both are there. */
static bool
same_bytes(const struct rte_mbuf *one, uint32_t a, const struct rte_mbuf *other, uint32_t b,
	   uint32_t n)
{
	while (n > 0) {
		uint32_t here;

		while (a >= one->data_len) {
			a -= one->data_len;
			one = one->next;
		}
		while (b >= other->data_len) {
			b -= other->data_len;
			other = other->next;
		}
		here = RTE_MIN(n, RTE_MIN(one->data_len - a, other->data_len - b));
		if (memcmp(rte_pktmbuf_mtod_offset(one, const uint8_t *, a),
			   rte_pktmbuf_mtod_offset(other, const uint8_t *, b), here) != 0)
			return false;
		a += here;
		b += here;
		n -= here;
	}
	return true;
}

/* Networks repeat packets; what comes twice is no attack (RFC 8200 4.5). */
static bool
duplicate(const struct reassembly *r, const struct datagram *d, const struct fragment *f,
	  const struct rte_mbuf *packet)
{
	const struct piece *p = piece_find(r, d, f->start);

	return p != NULL && p->len == f->len && p->more == f->more &&
	       same_bytes(p->packet, p->start == 0 ? d->headers : 0, packet, f->headers, f->len);
}

/* The end a last fragment gives, and all fragments, agree. */
static bool
lengths_agree(const struct datagram *d, const struct fragment *f)
{
	uint32_t end = f->start + f->len;

	if (!f->more)
		return d->total == 0 && d->end <= end;
	return d->total == 0 || end < d->total;
}

/* --- all there ---------------------------------------------------------------------------- */

/* Take the fragments in the order of their bytes and make them one packet. */
static struct rte_mbuf *
chain(struct reassembly *r, struct datagram *d, const struct rte_mbuf *last_in)
{
	struct rte_mbuf *whole = NULL, *tail = NULL;
	uint32_t segments = 0, at = 0;

	SLIST_INIT(&d->pieces);
	while (at < d->total) {
		struct piece *p = piece_find(r, d, at);
		struct rte_mbuf *m;

		at += p->len;
		m = piece_take(r, p);
		if (m != last_in)
			r->owner.merged(r->owner.ctx, m);
		segments += m->nb_segs;
		if (whole == NULL) {
			whole = m;
		} else {
			whole->pkt_len += m->pkt_len;
			tail->next = m;
			m->nb_segs = 1;
		}
		tail = rte_pktmbuf_lastseg(m);
	}
	whole->nb_segs = (uint16_t)segments;
	return whole;
}

static enum reassembly_result
complete(struct reassembly *r, struct datagram *d, const struct rte_mbuf *last_in,
	 struct rte_mbuf **whole)
{
	bool ok;

	*whole = chain(r, d, last_in);
	ok = header_finish(*whole, d);
	datagram_end(r, d);
	return ok ? REASSEMBLY_WHOLE : REASSEMBLY_REFUSED;
}

enum reassembly_result
reassembly_add(struct reassembly *r, const struct fragment *f, struct rte_mbuf *packet,
	       uint64_t now, struct rte_mbuf **whole)
{
	struct datagram *d = datagram_find(r, f);

	*whole = packet;
	if (d != NULL) {
		if (d->dead || duplicate(r, d, f, packet))
			return REASSEMBLY_REFUSED;
		if (overlaps(d, f) || !lengths_agree(d, f)) {
			datagram_kill(r, d);
			return REASSEMBLY_REFUSED;
		}
	}
	if (!make_room(r, d != NULL ? d->source : source_of(&f->key), packet->nb_segs, d)) {
		/* It is more than its source may use, and will not become less. */
		if (d != NULL)
			datagram_kill(r, d);
		return REASSEMBLY_REFUSED;
	}
	if (d == NULL)
		d = datagram_begin(r, f, now);
	cover(d, f);
	d->ecn |= (uint8_t)(1 << f->ecn);
	if (!f->more)
		d->total = f->start + f->len;
	if (f->start == 0) {
		d->has_first = true;
		d->headers = f->headers;
		d->next_field = f->next_field;
	} else {
		packet_strip(packet, f->headers);
	}
	piece_add(r, d, f, packet);
	if (d->covered != d->total)
		return REASSEMBLY_HELD;
	return complete(r, d, packet, whole);
}

/* --- time ----------------------------------------------------------------------------------- */

static void
expire(struct reassembly *r, struct datagram *d)
{
	if (d->has_first && !d->dead)
		r->owner.expired(r->owner.ctx, piece_find(r, d, 0)->packet, d->key.family);
	datagram_end(r, d);
}

unsigned
reassembly_expire(struct reassembly *r, uint64_t now, unsigned max)
{
	const uint64_t timeouts[2] = {r->limits.timeout4, r->limits.timeout6};
	unsigned n = 0;

	for (unsigned v6 = 0; v6 < 2; v6++) {
		struct datagram *d;

		while (n < max && (d = TAILQ_FIRST(&r->by_age[v6])) != NULL &&
		       now - d->since >= timeouts[v6]) {
			expire(r, d);
			n++;
		}
	}
	return n;
}

void
reassembly_flush(struct reassembly *r)
{
	for (unsigned v6 = 0; v6 < 2; v6++) {
		while (!TAILQ_EMPTY(&r->by_age[v6]))
			datagram_end(r, TAILQ_FIRST(&r->by_age[v6]));
	}
}
