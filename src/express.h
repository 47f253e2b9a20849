/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EXPRESS_H
#define EXPRESS_H

/**
 * @file
 * What nearly every packet is, taken from the frame to the transmit buffer in
 * three passes over the burst: plain IP to a neighbour that is there, or a plain tunnel to a SID
 * of ours with such a packet inside.
 *
 *     1. look at each packet: checks, and out of the tunnel
 *     2. look all destinations up
 *     3. send each: TTL, link header, transmit buffer
 *
 * Looking up is a pass of its own because its loads depend on each other: a tight loop has the
 * loads of several packets on their way at once, which one pass over everything has not.
 *
 * A packet that is anything else is left exactly as it came (or as it came out of
 * its tunnel) on the list of the stage it needs, and journey.c's stages take it
 * from there; nothing has been changed or counted that they would change or
 * count. To keep packets in order, those behind it in the burst are not sent
 * here either: they get their next hop, and output() sends them all.
 *
 * Included by journey.c only. Worker threads.
 */

#include "lookup.h"
#include "plain.h"

/* --- the three passes --------------------------------------------------------------- */

/* How much is known of where a passenger goes. */
enum known {
	KNOWN_4,    /* IPv4, value is the next hop */
	LOOKUP_4,   /* ... the destination in host order, to be looked up */
	KNOWN_6,    /* IPv6, value is the next hop */
	LOOKUP_6,   /* ... is to be looked up */
	LOOKUP_6_T, /* ... in the trie: the exact-match tables have been asked */
};

/* A packet that has been looked at. */
struct passenger {
	struct rte_mbuf *m;
	uint8_t *h; /* IP header */
	uint32_t value;
	uint32_t sid;	  /* next-hop index of the SID it came through; 0: none */
	uint16_t len;	  /* of the IP packet */
	uint16_t sid_len; /* of the packet that came to the SID */
	uint16_t vrf;	  /* routed in */
	uint16_t place;	  /* in the burst */
};
static_assert(sizeof(struct passenger) == 32, "two in a cache line");

/** One burst's passage. */
struct express {
	struct worker *w;
	struct burst *b;
	const struct vrf_fibs *fibs; /**< where packets of this port are routed */
	uint16_t iface, vrf;
	unsigned n;		     /**< passengers */
	unsigned lookups4, lookups6; /**< how many of them are to be looked up */
	struct out_run run;

	/* What the exact-match tables said of the last destination: tunnels fill
	 * bursts, so it is likely to be asked again. The answer holds for the burst. */
	uint64_t last_dst[2];
	const struct nexthop *last_nh;

	struct passenger passengers[BURST_MAX];
	uint8_t known[BURST_MAX]; /**< enum known, of each */
};

static inline void
express_begin(struct express *x, struct worker *w, struct burst *b, uint16_t iface)
{
	x->w = w;
	x->b = b;
	x->iface = iface;
	x->vrf = iface_at(iface)->vrf;
	x->fibs = &vrf_fibs[x->vrf];
	x->n = 0;
	x->lookups4 = 0;
	x->lookups6 = 0;
	x->run = (struct out_run){.port = UINT_MAX};
	/* An address no exact-match table ever has, and no packet is sent to. */
	x->last_dst[0] = UINT64_MAX;
	x->last_dst[1] = UINT64_MAX;
	x->last_nh = nexthop_at(nexthops, 0);
	b->first = BURST_MAX;
}

/** Place i needs more than this: it becomes what a stage expects to find, and from here on output()
 * sends. */
static inline void
leave(struct express *x, unsigned i, uint8_t *h, uint16_t len)
{
	struct burst *b = x->b;

	b->first = RTE_MIN(b->first, i);
	b->l3[i] = h;
	b->len[i] = len;
	b->out[i] = NULL;
	b->iface[i] = x->iface;
	b->vrf[i] = x->vrf;
	b->flags[i] = 0;
	b->sids[i] = 0;
	b->sid[i] = 0;
	b->via[i] = 0;
}

/* Out of a plain tunnel: place i starts behind the headers, and the SID says where it is routed. */
static inline void
take_out(struct burst *b, unsigned i, const struct nexthop *sid, unsigned headers)
{
	b->sid[i] = sid->id;
	b->l3[i] += headers;
	b->len[i] = (uint16_t)(b->len[i] - headers);
	b->vrf[i] = sid->sid.table;
	b->via[i] = sid->sid.nexthop;
}

/* How an IP packet came to be looked at, and where that leads. */
struct way {
	uint32_t sid;	  /* next-hop index of the SID it came through; 0: none */
	uint32_t via;	  /* next hop the SID has fixed; 0: none */
	uint16_t sid_len; /* of the packet that came to the SID */
	uint16_t vrf;	  /* to be routed in */
};

/* Place i is a passenger. */
static inline void
board(struct express *x, unsigned i, uint8_t *h, uint16_t len, struct way way, uint32_t value,
      enum known known)
{
	struct passenger *p = &x->passengers[x->n];

	p->m = x->b->pkts[i];
	p->h = h;
	p->value = value;
	p->sid = way.sid;
	p->len = len;
	p->sid_len = way.sid_len;
	p->vrf = way.vrf;
	p->place = (uint16_t)i;
	x->known[x->n++] = (uint8_t)known;
}

/* Send place i to nh, TTL and all. False, and nothing changed: it takes more than that. */
static inline bool
send_plain(struct express *x, unsigned i, struct rte_mbuf *m, uint8_t *h, uint16_t len,
	   const struct nexthop *nh, bool six)
{
	if (unlikely(nh->type != NEXTHOP_ADJACENT || nh->flags != 0 || len > nh->mtu ||
		     h[six ? 7 : 8] <= 1 || !has_headroom(m, h) ||
		     (six && ip6_is_link_local(h + 8))))
		return false;
	if (six)
		h[7]--;
	else
		ip4_decrement_ttl(h);
	if (unlikely(i > x->b->first)) {
		leave(x, i, h, len);
		x->b->out[i] = nh;
		return true;
	}
	reference(nh);
	rewrite(m, h, len, nh);
	run_add(x->w, &x->run, nh->port, m);
	return true;
}

/* IPv4 at h, so far good for anything. False: it is not plain. */
static inline bool
look4(struct express *x, unsigned i, uint8_t *h, uint16_t room, struct way way)
{
	uint32_t dst;
	uint16_t len;

	if (unlikely(!good4(h, room, &len)))
		return false;
	if (way.via != 0) {
		/* What is never forwarded to is the FIB's business, which is not asked here. */
		if (unlikely(ip4_source_suspect(h[16])))
			return false;
		/* With nobody waiting in front of it, it can go at once. */
		if (likely(x->n == 0))
			return send_plain(x, i, x->b->pkts[i], h, len,
					  nexthop_at(nexthops, way.via), false);
		board(x, i, h, len, way, way.via, KNOWN_4);
		return true;
	}
	memcpy(&dst, h + 16, sizeof(dst));
	board(x, i, h, len, way, rte_be_to_cpu_32(dst), LOOKUP_4);
	x->lookups4++;
	return true;
}

/* IPv6 out of a tunnel. */
static inline bool
look6_inner(struct express *x, unsigned i, uint8_t *h, uint16_t room, struct way way)
{
	uint16_t len;

	if (unlikely(!good6(h, room, &len)))
		return false;
	if (way.via != 0) {
		if (unlikely(ip6_source_suspect(h[24]) || ip6_is_link_local(h + 24)))
			return false;
		board(x, i, h, len, way, way.via, KNOWN_6);
		return true;
	}
	board(x, i, h, len, way, 0, LOOKUP_6);
	x->lookups6++;
	return true;
}

/* A packet to a SID of ours: count a plain tunnel for the SID, and look at what is inside. */
static inline void
look_tunnel(struct express *x, unsigned i, uint8_t *h, uint16_t len, const struct nexthop *sid)
{
	struct sid_counters *counters = &x->w->sids[sid->id];
	struct way way = {
		.sid = sid->id, .via = sid->sid.nexthop, .sid_len = len, .vrf = sid->sid.table};
	struct burst *b = x->b;
	unsigned headers;
	uint8_t proto;
	bool plain;

	headers = plain_tunnel(sid, b->pkts[i], h, len, &proto);
	if (unlikely(headers == 0)) {
		leave(x, i, h, len);
		b->sid[i] = sid->id;
		list_add(&b->sid_list, i);
		return;
	}
	counters->packets++;
	counters->bytes += len;
	if (likely(proto == PROTO_IP4))
		plain = look4(x, i, h + headers, (uint16_t)(len - headers), way);
	else
		plain = look6_inner(x, i, h + headers, (uint16_t)(len - headers), way);
	if (likely(plain))
		return;
	leave(x, i, h, len);
	b->sid_len[i] = len;
	take_out(b, i, sid, headers);
	b->fixed6 = true;
	list_add(proto == PROTO_IP4 ? &b->ip4 : &b->ip6, i);
}

/* What the exact-match tables say of the destination; type NEXTHOP_NONE: ask the trie. */
static inline const struct nexthop *
look_front(struct express *x, const uint8_t *dst)
{
	uint64_t d[2];

	memcpy(d, dst, sizeof(d));
	if (((d[0] ^ x->last_dst[0]) | (d[1] ^ x->last_dst[1])) != 0) {
		memcpy(x->last_dst, d, sizeof(d));
		x->last_nh = nexthop_at(nexthops, fib6_lookup_front(x->fibs->fib6, dst));
	}
	return x->last_nh;
}

/** First pass: IPv4 right behind the link header of place i. */
static inline void
express_ip4(struct express *x, unsigned i, uint8_t *h, uint16_t room)
{
	if (likely(look4(x, i, h, room, (struct way){.vrf = x->vrf})))
		return;
	leave(x, i, h, room);
	list_add(&x->b->ip4, i);
}

/** First pass: IPv6 right behind the link header of place i. */
static inline void
express_ip6(struct express *x, unsigned i, uint8_t *h, uint16_t room)
{
	struct way way = {.vrf = x->vrf};
	const struct nexthop *nh;
	uint16_t len;

	if (unlikely(!good6(h, room, &len))) {
		leave(x, i, h, room);
		list_add(&x->b->ip6, i);
		return;
	}
	nh = look_front(x, h + 24);
	if (nh->type == NEXTHOP_NONE) {
		board(x, i, h, len, way, 0, LOOKUP_6_T);
		x->lookups6++;
	} else if (likely(nh->type == NEXTHOP_SID)) {
		look_tunnel(x, i, h, len, nh);
	} else {
		board(x, i, h, len, way, nh->id, KNOWN_6);
	}
}

/** Second pass. */
static inline void
express_lookup(struct express *x)
{
	for (unsigned k = 0; x->lookups4 != 0 && k < x->n; k++) {
		struct passenger *p = &x->passengers[k];

		if (x->known[k] == LOOKUP_4)
			p->value = fib4_lookup(vrf_fibs[p->vrf].fib4, p->value);
	}
	for (unsigned k = 0; x->lookups6 != 0 && k < x->n; k++) {
		struct passenger *p = &x->passengers[k];

		if (x->known[k] == LOOKUP_6_T)
			p->value = fib6_lookup_trie(vrf_fibs[p->vrf].fib6, p->h + 24);
		else if (x->known[k] == LOOKUP_6)
			p->value = fib6_lookup(vrf_fibs[p->vrf].fib6, p->h + 24);
	}
}

/* Add a place where it belongs: places behind it may have left before. */
static void
list_insert(struct place_list *list, unsigned place)
{
	unsigned k = list->n++;

	for (; k > 0 && list->at[k - 1] > place; k--)
		list->at[k] = list->at[k - 1];
	list->at[k] = (uint16_t)place;
}

/* The passenger's way ends here: it is left to the stages, as it is. */
static void
get_off(struct express *x, unsigned k)
{
	const struct passenger *p = &x->passengers[k];
	struct burst *b = x->b;
	unsigned i = p->place;

	leave(x, i, p->h, p->len);
	if (p->sid != 0) {
		b->sid[i] = p->sid;
		b->sid_len[i] = p->sid_len;
		b->vrf[i] = p->vrf;
		b->via[i] = x->known[k] == KNOWN_4 || x->known[k] == KNOWN_6 ? p->value : 0;
		b->fixed6 = true;
	}
	list_insert(x->known[k] >= KNOWN_6 ? &b->ip6 : &b->ip4, i);
}

/** Third pass. */
static inline void
express_send(struct express *x)
{
	for (unsigned k = 0; k < x->n; k++) {
		const struct passenger *p = &x->passengers[k];
		const struct nexthop *nh = nexthop_at(nexthops, p->value);
		bool sent;

		if (x->known[k] >= KNOWN_6)
			sent = send_plain(x, p->place, p->m, p->h, p->len, nh, true);
		else
			sent = send_plain(x, p->place, p->m, p->h, p->len, nh, false);
		if (unlikely(!sent))
			get_off(x, k);
	}
	run_end(x->w, &x->run);
}

#endif
