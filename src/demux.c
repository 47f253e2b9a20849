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

#include <assert.h>

#include <rte_ether.h>

#include "demux.h"
#include "ip.h"
#include "udp_sum.h"

/* A datagram that may be for a socket: half a cache line. */
struct candidate {
	const uint8_t *ip;
	uint32_t hash, hash_any; /* of what is asked of the tables */
	uint32_t ref;		 /* found; UDP_NONE: not, or damaged */
	uint16_t place;
	uint16_t size; /* UDP header and payload */
	uint8_t family;
	bool same; /* destination and port as of the one before: so is the answer */
};
static_assert(sizeof(struct candidate) == 32, "two candidates a cache line");

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
	uint32_t port; /* and version, as of the last candidate; 0: none yet */
};

static inline const uint8_t *
udp_of(const struct candidate *c)
{
	return c->ip + (c->family == AF_INET ? IP4_HEADER_MIN : IP6_HEADER);
}

static inline const struct udp_hash *
load(const struct udp_hash *const *table)
{
	return __atomic_load_n(table, __ATOMIC_ACQUIRE);
}

/* In the first eight bytes of an IPv4 header: version 4, 20 bytes long; no more fragments, offset
 * 0. In the second: UDP. As loaded by x86. */
#define IP4_PLAIN_MASK 0xff3f0000000000ffull
#define IP4_PLAIN      0x0000000000000045ull
#define IP4_PROTO_MASK 0x000000000000ff00ull
#define IP4_PROTO      ((uint64_t)PROTO_UDP << 8)

/* IPv4, no options, no fragment, undamaged, UDP, lengths that agree. */
static inline bool
plain4(const uint8_t *h, uint32_t room, uint16_t *size)
{
	uint16_t total = ip_get16(h + 2), udp = ip_get16(h + IP4_HEADER_MIN + 4);
	uint64_t first, second;

	memcpy(&first, h, 8);
	memcpy(&second, h + 8, 8);
	*size = udp;
	return (((first & IP4_PLAIN_MASK) ^ IP4_PLAIN) | ((second & IP4_PROTO_MASK) ^ IP4_PROTO)) ==
		       0 &&
	       total <= room && udp >= 8 && udp + IP4_HEADER_MIN <= total &&
	       !ip4_source_suspect(h[12]) && ip4_sum_ok_20(h);
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
		last->port = 0;
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
		last->port = 0;
		last->mine6 = udp_address_mine6(own, v->vrf, h + 24, v->generation);
	}
	return last->mine6;
}

/* What will be asked of the tables; their memory is on its way meanwhile. */
static inline void
ask(struct candidate *c, const struct view *v)
{
	const struct udp_hash *local = c->family == AF_INET ? v->local4 : v->local6;
	uint16_t port = ip_get16(udp_of(c) + 2);
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
		c->hash = udp_hash_words(key, UDP_LOCAL4_WORDS);
		rte_prefetch0(udp_hash_slot(local, c->hash, UDP_LOCAL4_WORDS));
	} else {
		udp_key_local6(key, c->ip + 24, v->vrf, port);
		c->hash = udp_hash_words(key, UDP_LOCAL6_WORDS);
		rte_prefetch0(udp_hash_slot(local, c->hash, UDP_LOCAL6_WORDS));
	}
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
		.local_port = ip_get16(udp_of(c) + 2),
		.remote_port = ip_get16(udp_of(c)),
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

/* What the tables say of an address and port: of that address, and of all. */
struct answer {
	uint64_t local, any;
};

static inline struct answer
tables_answer(const struct candidate *c, const struct view *v)
{
	uint16_t port = ip_get16(udp_of(c) + 2);
	uint64_t key[UDP_LOCAL6_WORDS];
	struct answer a = {0, 0};

	if (c->family == AF_INET && v->local4 != NULL) {
		uint32_t addr;

		memcpy(&addr, c->ip + 16, sizeof(addr));
		udp_key_local4(key, addr, v->vrf, port);
		a.local = udp_hash_get(v->local4, key, c->hash, UDP_LOCAL4_WORDS);
	} else if (c->family == AF_INET6 && v->local6 != NULL) {
		udp_key_local6(key, c->ip + 24, v->vrf, port);
		a.local = udp_hash_get(v->local6, key, c->hash, UDP_LOCAL6_WORDS);
	}
	/* One plain socket there: nobody will ask who is bound to all addresses. */
	if (v->any != NULL && udp_value_kind(a.local) != UDP_VALUE_REF) {
		udp_key_any(key, c->family, v->vrf, port);
		a.any = udp_hash_get(v->any, key, c->hash_any, UDP_ANY_WORDS);
	}
	return a;
}

/* The one socket that the tables name, whatever the remote end and the worker; UDP_NONE: it
 * depends. */
static inline uint32_t
plain_answer(const struct answer *a)
{
	uint64_t value = a->local != 0 ? a->local : a->any;

	return udp_value_kind(value) == UDP_VALUE_REF ? (uint32_t)value : UDP_NONE;
}

static inline uint32_t
find(const struct candidate *c, const struct view *v, const struct answer *a, unsigned worker)
{
	uint32_t ref = UDP_NONE;

	if (unlikely((c->family == AF_INET ? v->peer4 : v->peer6) != NULL)) {
		struct udp_flow f = flow_of(c, v);

		ref = udp_lookup_peer(sockets, &f, worker);
		if (ref != UDP_NONE)
			return ref;
	}
	ref = resolve(c, v, a->local, worker);
	return ref != UDP_NONE ? ref : resolve(c, v, a->any, worker);
}

/* RFC 768, RFC 8200 8.1: undamaged, by the device's word if that counts, else by ours. */
static inline bool
undamaged(const struct candidate *c, const struct rte_mbuf *m, const struct port *port)
{
	const uint8_t *udp = udp_of(c);

	/* A device goes by the length of the IP packet, a checksum by that of the datagram. */
	if (port->udp_sum_believed &&
	    (m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) == RTE_MBUF_F_RX_L4_CKSUM_GOOD &&
	    (udp[6] | udp[7]) != 0 &&
	    c->size == (c->family == AF_INET ? ip_get16(c->ip + 2) - IP4_HEADER_MIN
					     : ip_get16(c->ip + 4)))
		return true;
	return c->family == AF_INET ? udp_sum_good4(c->ip, c->size) : udp_sum_good6(c->ip, c->size);
}

/* Datagrams into one sink, one after the other. */
struct sunk {
	uint32_t ref; /* UDP_NONE: none yet */
	unsigned packets;
	uint64_t bytes;
};

static inline void
sunk_end(struct udp_own *own, const struct sunk *run)
{
	struct udp_counters *counters = &own->counters[UDP_REF_ID(run->ref)];

	if (run->ref == UDP_NONE)
		return;
	counters->packets += run->packets;
	counters->bytes += run->bytes;
}

/* What is taken while candidates are picked out: a burst tends to be for one socket, and when that
 * is a sink, its datagrams need not wait for the others. */
struct direct {
	struct rte_mbuf **done; /* they end there */
	struct sunk run;
	bool asked; /* once, for the first: more answers are waited for together */
	unsigned taken;
	uint64_t bytes; /* of their frames */
};

/* The first candidate: its socket, if it is a sink and the answer for all that are the same. */
static inline uint32_t
first_sink(const struct candidate *c, const struct view *v)
{
	struct answer a;
	uint32_t ref;

	if (v->peer4 != NULL || v->peer6 != NULL)
		return UDP_NONE;
	a = tables_answer(c, v);
	ref = plain_answer(&a);
	return ref != UDP_NONE && (ref & UDP_SINK) != 0 ? ref : UDP_NONE;
}

static inline unsigned
pick_out(struct udp_own *own, struct burst *b, const struct port *port, const struct view *v,
	 struct candidate *candidates, struct direct *direct)
{
	const uint64_t mac_mask = port->any_mac ? 0 : 0xffffffffffff;
	const uint64_t mac = port->mac & mac_mask;
	/* To begin with, addresses that are nobody's. */
	struct last last = {0};
	unsigned n = 0;

	for (unsigned i = 0; i < b->n; i++) {
		struct rte_mbuf *m = b->pkts[i];
		const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
		struct candidate c = {.place = (uint16_t)i};
		uint32_t room = m->data_len - RTE_ETHER_HDR_LEN;
		uint64_t head;
		uint16_t type, to;
		bool mine;

		if (i + PREFETCH_AHEAD < b->n)
			rte_prefetch0(rte_pktmbuf_mtod(b->pkts[i + PREFETCH_AHEAD], void *));
		/* A chain goes the usual way. What is behind it may be of the same flow, and must
		 * not overtake it. */
		if (unlikely(m->nb_segs != 1))
			break;
		if (unlikely(m->data_len < RTE_ETHER_HDR_LEN + IP4_HEADER_MIN + 8))
			continue;
		memcpy(&head, frame, sizeof(head));
		memcpy(&type, frame + 12, sizeof(type));
		if (unlikely((head & mac_mask) != mac))
			continue;
		c.ip = frame + RTE_ETHER_HDR_LEN;
		if (type == rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4)) {
			mine = plain4(c.ip, room, &c.size) && mine4(own, v, &last, c.ip);
			c.family = AF_INET;
		} else if (type == rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV6) &&
			   room >= IP6_HEADER + 8) {
			mine = plain6(c.ip, room, &c.size) && mine6(own, v, &last, c.ip);
			c.family = AF_INET6;
		} else {
			continue;
		}
		if (unlikely(!mine))
			continue;
		memcpy(&to, udp_of(&c) + 2, sizeof(to));
		/* In the low half the port, above it something that is never 0. */
		c.same = last.port == ((uint32_t)c.family << 16 | to);
		if (!c.same) {
			last.port = (uint32_t)c.family << 16 | to;
			ask(&c, v);
			sunk_end(own, &direct->run);
			direct->run =
				(struct sunk){.ref = direct->asked ? UDP_NONE : first_sink(&c, v)};
			direct->asked = true;
		}
		if (likely(direct->run.ref != UDP_NONE)) {
			/* Damaged: it stays. */
			if (unlikely(!undamaged(&c, m, port)))
				continue;
			b->pkts[i] = NULL;
			direct->done[direct->taken++] = m;
			direct->bytes += m->pkt_len;
			direct->run.packets++;
			direct->run.bytes += c.size - 8u;
			continue;
		}
		candidates[n++] = c;
	}
	sunk_end(own, &direct->run);
	return n;
}

/* The sockets of candidates. Returns how many have one and are undamaged. */
static inline unsigned
look_up(const struct udp_own *own, const struct burst *b, const struct port *port,
	const struct view *v, struct candidate *candidates, unsigned n)
{
	const bool peers = v->peer4 != NULL || v->peer6 != NULL;
	struct answer a = {0, 0};
	uint32_t ref = UDP_NONE; /* of one before, if that says it of all that are the same */
	unsigned found = 0;

	for (unsigned k = 0; k < n; k++) {
		struct candidate *c = &candidates[k];

		if (!c->same) {
			a = tables_answer(c, v);
			ref = peers ? UDP_NONE : plain_answer(&a);
		}
		c->ref = likely(ref != UDP_NONE) ? ref : find(c, v, &a, own->worker.id);
		if (unlikely(c->ref == UDP_NONE))
			continue;
		if (unlikely(!undamaged(c, b->pkts[c->place], port))) {
			c->ref = UDP_NONE;
			continue;
		}
		if (!c->same)
			__builtin_prefetch(&own->counters[UDP_REF_ID(c->ref)], 1);
		found++;
	}
	return found;
}

static inline void
datagram(struct udp_datagram *d, const struct candidate *c, const struct view *v,
	 struct rte_mbuf *m)
{
	bool v4 = c->family == AF_INET;
	const uint8_t *udp = udp_of(c);

	*d = (struct udp_datagram){
		.packet = m,
		.payload = (uint8_t *)(uintptr_t)udp + 8,
		.len = (uint16_t)(c->size - 8),
		.contiguous = (uint16_t)(c->size - 8),
		.family = c->family,
		.tos = v4 ? c->ip[1] : (uint8_t)(c->ip[0] << 4 | c->ip[1] >> 4),
		.ttl = c->ip[v4 ? 8 : 7],
		.iface = v->iface,
		.vrf = v->vrf,
		.local_port = ip_get16(udp + 2),
		.remote_port = ip_get16(udp),
		.socket = UDP_REF_ID(c->ref),
		.local = c->ip + (v4 ? 16 : 24),
		.remote = c->ip + (v4 ? 12 : 8),
	};
}

/* Out of the burst: counted, and into the sink or to who wants them. Packets for sinks end in
 * `done`. Returns how many. */
static inline unsigned
take(struct worker *w, struct udp_own *own, struct burst *b, const struct port *port,
     const struct view *v, const struct candidate *candidates, unsigned n, struct rte_mbuf **done)
{
	struct sunk run = {.ref = UDP_NONE};
	unsigned sunk = 0, others = 0, taken = 0;
	uint64_t bytes = 0;

	for (unsigned k = 0; k < n; k++) {
		const struct candidate *c = &candidates[k];
		struct rte_mbuf *m = b->pkts[c->place];

		if (unlikely(c->ref == UDP_NONE))
			continue;
		b->pkts[c->place] = NULL;
		bytes += m->pkt_len;
		taken++;
		if (likely((c->ref & UDP_SINK) != 0)) {
			if (c->ref != run.ref) {
				sunk_end(own, &run);
				run = (struct sunk){.ref = c->ref};
			}
			run.packets++;
			run.bytes += c->size - 8u;
			done[sunk++] = m;
			continue;
		}
		datagram(&own->datagrams[others++], c, v, m);
		if (others == UDP_BURST_MAX) {
			udp_deliver(w, own, others);
			others = 0;
		}
	}
	sunk_end(own, &run);
	received(w, port, taken, bytes);
	w->stats.delivered += sunk;
	if (others != 0)
		udp_deliver(w, own, others);
	return sunk;
}

/* Packets in w->more have ended. In the table of drivers are those that receive into buffers of the
 * port's pool, each packet's own: these packets were one buffer each, and nothing needs to be
 * looked at. */
static inline void
free_sunk(struct worker *w, const struct port *port, unsigned n)
{
	if (unlikely(port->mixed)) {
		worker_free_all(w->more, n);
		return;
	}
	packets_unguard(w->more, n);
	rte_mempool_put_bulk(port->pool->mempool, (void *const *)w->more, n);
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
	struct direct direct = {.done = w->more, .run = {.ref = UDP_NONE}};
	unsigned n, found, sunk;

	/* Traced packets take every stage in turn. */
	if (unlikely(b->traced))
		return;
	n = pick_out(own, b, port, &v, candidates, &direct);
	found = n != 0 ? look_up(own, b, port, &v, candidates, n) : 0;
	sunk = direct.taken;
	if (sunk != 0) {
		received(w, port, sunk, direct.bytes);
		w->stats.delivered += sunk;
	}
	if (found != 0)
		sunk += take(w, own, b, port, &v, candidates, n, w->more + sunk);
	found += direct.taken;
	if (found == 0)
		return;
	if (sunk != 0)
		free_sunk(w, port, sunk);
	if (found == b->n)
		b->n = 0;
	else
		burst_close_gaps(b);
}
