/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * UDP to the router's sockets, a burst at a time, before anything else is
 * found out about it. Read it from the bottom.
 *
 *     pick out ─▶ look up ─▶ check ─┬▶ sink: counted, freed in bulk
 *                                   └▶ datagrams for udp_deliver.c
 *
 * Only what is plain is taken: see plain4(), plain6(). Whatever is not, is wrong, or is for
 * nobody stays in the burst and goes the usual way, which knows what to say of it.
 */

#include <rte_ether.h>

#include "demux.h"
#include "ip.h"
#include "udp_sum.h"

#define PREFETCH_AHEAD 4

/* A datagram that may be for a socket: what to ask, and the memory asked for. */
struct candidate {
	const uint8_t *ip, *udp;
	uint64_t key;	       /* IPv4: of the address; else unused */
	uint32_t hash, hash_any;
	uint32_t ref;	       /* found */
	uint16_t place;
	uint16_t size;	       /* UDP header and payload */
	uint8_t family;
};

/* The tables as they are for this burst. */
struct view {
	const struct udp_hash *any, *local4, *local6, *peer4, *peer6;
	uint32_t generation;
	uint16_t vrf, iface;
};

/* The last destination, and whether it is ours: bursts tend to be for one. */
struct last {
	uint32_t addr4;
	bool mine4, mine6;
	uint64_t addr6[2];
};

static inline const struct udp_hash *
load(const struct udp_hash *const *table)
{
	return __atomic_load_n(table, __ATOMIC_ACQUIRE);
}

/* IPv4, no options, no fragment, undamaged, UDP, lengths that agree. */
static inline bool
plain4(const uint8_t *h, uint32_t room, uint16_t *size)
{
	uint16_t total = ip_get16(h + 2), udp = ip_get16(h + IP4_HEADER_MIN + 4), fragment;

	memcpy(&fragment, h + 6, sizeof(fragment));
	*size = udp;
	return (h[0] == 0x45) & (h[9] == PROTO_UDP) &
	       ((fragment & rte_cpu_to_be_16(0x3fff)) == 0) & (total <= room) & (udp >= 8) &
	       (udp + IP4_HEADER_MIN <= total) & !ip4_source_suspect(h[12]) & ip4_sum_ok_20(h);
}

/* IPv6 and right behind it UDP, lengths that agree. */
static inline bool
plain6(const uint8_t *h, uint32_t room, uint16_t *size)
{
	uint16_t payload = ip_get16(h + 4), udp = ip_get16(h + IP6_HEADER + 4);

	*size = udp;
	return ((h[0] >> 4) == 6) & (h[6] == PROTO_UDP) & ((uint32_t)payload + IP6_HEADER <= room) &
	       (udp >= 8) & (udp <= payload) & !ip6_source_suspect(h[8]);
}

static inline bool
mine4(struct udp_own *own, const struct view *v, struct last *last, const uint8_t *h)
{
	uint32_t addr;

	memcpy(&addr, h + 16, sizeof(addr));
	if (unlikely(addr != last->addr4)) {
		last->addr4 = addr;
		last->mine4 = udp_address_mine4(own, v->vrf, addr, v->generation);
	}
	return last->mine4;
}

static inline bool
mine6(struct udp_own *own, const struct view *v, struct last *last, const uint8_t *h)
{
	uint64_t addr[2];

	memcpy(addr, h + 24, sizeof(addr));
	if (unlikely(((addr[0] ^ last->addr6[0]) | (addr[1] ^ last->addr6[1])) != 0)) {
		memcpy(last->addr6, addr, sizeof(addr));
		last->mine6 = udp_address_mine6(own, v->vrf, h + 24, v->generation);
	}
	return last->mine6;
}

/* What will be asked of the tables; their memory is on its way meanwhile. */
static inline void
ask(struct candidate *c, const struct view *v)
{
	const struct udp_hash *local = c->family == AF_INET ? v->local4 : v->local6;
	uint16_t port = ip_get16(c->udp + 2);
	uint64_t key[UDP_LOCAL6_WORDS];

	if (v->any != NULL) {
		udp_key_any(key, c->family, v->vrf, port);
		c->hash_any = udp_hash_words(key, UDP_ANY_WORDS);
		rte_prefetch0(udp_hash_slot(v->any, c->hash_any, UDP_ANY_WORDS));
	}
	if (local == NULL)
		return;
	if (c->family == AF_INET) {
		uint32_t addr;

		memcpy(&addr, c->ip + 16, sizeof(addr));
		udp_key_local4(key, addr, v->vrf, port);
		c->key = key[0];
		c->hash = udp_hash_words(key, UDP_LOCAL4_WORDS);
		rte_prefetch0(udp_hash_slot(local, c->hash, UDP_LOCAL4_WORDS));
	} else {
		udp_key_local6(key, c->ip + 24, v->vrf, port);
		c->hash = udp_hash_words(key, UDP_LOCAL6_WORDS);
		rte_prefetch0(udp_hash_slot(local, c->hash, UDP_LOCAL6_WORDS));
	}
}

static inline unsigned
pick_out(struct udp_own *own, const struct burst *b, const struct port *port,
	 const struct view *v, struct candidate *candidates)
{
	const uint64_t mac_mask = port->any_mac ? 0 : 0xffffffffffff;
	const uint64_t mac = port->mac & mac_mask;
	/* To begin with, addresses that are nobody's. */
	struct last last = {0};
	unsigned n = 0;

	for (unsigned i = 0; i < b->n; i++) {
		const struct rte_mbuf *m = b->pkts[i];
		const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
		struct candidate *c = &candidates[n];
		uint32_t room = m->data_len - RTE_ETHER_HDR_LEN;
		uint64_t head;
		uint16_t type;
		bool mine;

		if (i + PREFETCH_AHEAD < b->n)
			rte_prefetch0(rte_pktmbuf_mtod(b->pkts[i + PREFETCH_AHEAD], void *));
		if (unlikely(m->nb_segs != 1 ||
			     m->data_len < RTE_ETHER_HDR_LEN + IP4_HEADER_MIN + 8))
			continue;
		memcpy(&head, frame, sizeof(head));
		memcpy(&type, frame + 12, sizeof(type));
		if (unlikely((head & mac_mask) != mac))
			continue;
		c->ip = frame + RTE_ETHER_HDR_LEN;
		if (type == rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4)) {
			mine = plain4(c->ip, room, &c->size) && mine4(own, v, &last, c->ip);
			c->udp = c->ip + IP4_HEADER_MIN;
			c->family = AF_INET;
		} else if (type == rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV6) &&
			   room >= IP6_HEADER + 8) {
			mine = plain6(c->ip, room, &c->size) && mine6(own, v, &last, c->ip);
			c->udp = c->ip + IP6_HEADER;
			c->family = AF_INET6;
		} else {
			continue;
		}
		c->place = (uint16_t)i;
		if (mine) {
			ask(c, v);
			n++;
		}
	}
	return n;
}

static inline struct udp_flow
flow_of(const struct candidate *c, const struct view *v)
{
	bool v4 = c->family == AF_INET;

	return (struct udp_flow){
		.local = c->ip + (v4 ? 16 : 24),
		.remote = c->ip + (v4 ? 12 : 8),
		.family = c->family,
		.vrf = v->vrf,
		.iface = v->iface,
		.local_port = ip_get16(c->udp + 2),
		.remote_port = ip_get16(c->udp),
	};
}

/* A value that is not simply one socket. */
static inline uint32_t
resolve(const struct candidate *c, const struct view *v, uint64_t value, unsigned worker)
{
	struct udp_flow f;

	if (likely(udp_value_kind(value) == UDP_VALUE_REF))
		return (uint32_t)value;
	if (value == 0)
		return UDP_NONE;
	f = flow_of(c, v);
	return udp_resolve(sockets, value, &f, worker);
}

static inline uint32_t
find(const struct candidate *c, const struct view *v, unsigned worker)
{
	bool v4 = c->family == AF_INET;
	uint64_t key[UDP_LOCAL6_WORDS];
	uint32_t ref = UDP_NONE;

	if (unlikely((v4 ? v->peer4 : v->peer6) != NULL)) {
		struct udp_flow f = flow_of(c, v);

		ref = udp_lookup_peer(sockets, &f, worker);
	}
	if (ref == UDP_NONE && v4 && v->local4 != NULL) {
		ref = resolve(c, v, udp_hash_get(v->local4, &c->key, c->hash, UDP_LOCAL4_WORDS),
			      worker);
	} else if (ref == UDP_NONE && !v4 && v->local6 != NULL) {
		udp_key_local6(key, c->ip + 24, v->vrf, ip_get16(c->udp + 2));
		ref = resolve(c, v, udp_hash_get(v->local6, key, c->hash, UDP_LOCAL6_WORDS),
			      worker);
	}
	if (ref == UDP_NONE && v->any != NULL) {
		udp_key_any(key, c->family, v->vrf, ip_get16(c->udp + 2));
		ref = resolve(c, v, udp_hash_get(v->any, key, c->hash_any, UDP_ANY_WORDS), worker);
	}
	return ref;
}

/* RFC 768, RFC 8200 8.1: undamaged, by the device's word if that counts, else by ours. */
static inline bool
undamaged(const struct candidate *c, const struct rte_mbuf *m, const struct port *port)
{
	if (port->udp_sum_believed &&
	    (m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) == RTE_MBUF_F_RX_L4_CKSUM_GOOD &&
	    (c->udp[6] | c->udp[7]) != 0)
		return true;
	return c->family == AF_INET ? udp_sum_ok4(c->ip, c->udp, c->size)
				    : udp_sum_ok6(c->ip, c->udp, c->size);
}

/* The sockets of candidates; those that have one and are undamaged remain. */
static inline unsigned
look_up(const struct udp_own *own, const struct burst *b, const struct port *port,
	const struct view *v, struct candidate *candidates, unsigned n)
{
	unsigned found = 0;

	for (unsigned k = 0; k < n; k++) {
		struct candidate *c = &candidates[k];
		uint32_t ref = find(c, v, own->worker.id);

		if (unlikely(ref == UDP_NONE || !undamaged(c, b->pkts[c->place], port)))
			continue;
		c->ref = ref;
		__builtin_prefetch(&own->counters[UDP_REF_ID(ref)], 1);
		candidates[found++] = *c;
	}
	return found;
}

static inline void
datagram(struct udp_datagram *d, const struct candidate *c, const struct view *v,
	 struct rte_mbuf *m)
{
	bool v4 = c->family == AF_INET;

	*d = (struct udp_datagram){
		.packet = m,
		.payload = (uint8_t *)(uintptr_t)c->udp + 8,
		.len = (uint16_t)(c->size - 8),
		.contiguous = (uint16_t)(c->size - 8),
		.family = c->family,
		.tos = v4 ? c->ip[1] : (uint8_t)(c->ip[0] << 4 | c->ip[1] >> 4),
		.ttl = c->ip[v4 ? 8 : 7],
		.iface = v->iface,
		.vrf = v->vrf,
		.local_port = ip_get16(c->udp + 2),
		.remote_port = ip_get16(c->udp),
		.socket = UDP_REF_ID(c->ref),
		.local = c->ip + (v4 ? 16 : 24),
		.remote = c->ip + (v4 ? 12 : 8),
	};
}

/* Out of the burst: counted, and into the sink or to who wants them. Packets for the sink end in
 * `done`. Returns how many. */
static inline unsigned
take(struct worker *w, struct udp_own *own, struct burst *b, const struct port *port,
     const struct view *v, const struct candidate *candidates, unsigned n, struct rte_mbuf **done)
{
	unsigned sunk = 0, others = 0;
	uint64_t bytes = 0;

	for (unsigned k = 0; k < n; k++) {
		const struct candidate *c = &candidates[k];
		struct rte_mbuf *m = b->pkts[c->place];

		b->pkts[c->place] = NULL;
		bytes += m->pkt_len;
		if (likely((c->ref & UDP_SINK) != 0)) {
			struct udp_counters *counters = &own->counters[UDP_REF_ID(c->ref)];

			counters->packets++;
			counters->bytes += c->size - 8u;
			done[sunk++] = m;
			continue;
		}
		datagram(&own->datagrams[others++], c, v, m);
		if (others == UDP_BURST_MAX) {
			udp_deliver(w, own, others);
			others = 0;
		}
	}
	received(w, port, n, bytes);
	w->stats.delivered += sunk;
	if (others != 0)
		udp_deliver(w, own, others);
	return sunk;
}

/*
 * Back to the pool. A packet fresh from a driver in one segment is its own: no
 * need to look at its second cache line, as rte_pktmbuf_free_bulk() does.
 */
static inline void
free_fresh(struct rte_mbuf **pkts, unsigned n)
{
	struct rte_mempool *pool;
	unsigned plain = 0;

	if (n == 0)
		return;
	packets_unguard(pkts, n);
	pool = pkts[0]->pool;
	for (unsigned i = 0; i < n; i++)
		plain += (rte_mbuf_refcnt_read(pkts[i]) == 1) & RTE_MBUF_DIRECT(pkts[i]) &
			 (pkts[i]->pool == pool);
	if (likely(plain == n))
		rte_mempool_put_bulk(pool, (void **)pkts, n);
	else
		rte_pktmbuf_free_bulk(pkts, n);
}

void
demux_burst(struct worker *w, struct burst *b, const struct port *port)
{
	struct udp_own *own = udp_own[w->id];
	struct candidate candidates[BURST_MAX];
	const struct view v = {
		.any = load(&sockets->any),
		.local4 = load(&sockets->local4),
		.local6 = load(&sockets->local6),
		.peer4 = load(&sockets->peer4),
		.peer6 = load(&sockets->peer6),
		.generation = udp_generation(),
		.vrf = iface_at(port->iface)->vrf,
		.iface = port->iface,
	};
	unsigned n;

	/* Traced packets take every stage in turn. */
	if (unlikely(b->traced))
		return;
	n = pick_out(own, b, port, &v, candidates);
	if (n == 0)
		return;
	n = look_up(own, b, port, &v, candidates, n);
	if (n == 0)
		return;
	free_fresh(w->more, take(w, own, b, port, &v, candidates, n, w->more));
	if (n == b->n)
		b->n = 0;
	else
		burst_close_gaps(b);
}
