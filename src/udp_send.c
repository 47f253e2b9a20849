/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Datagrams of the router's own: replies to what was received, and what
 * applications send. What leaves here is routed with the packets the router makes
 * (journey_own), along a next hop that was looked up once for many.
 */

#include <errno.h>

#include "demux.h"
#include "ip.h"
#include "udp_sum.h"

#define UDP_HEADER  8
#define TTL_DEFAULT 64 /* RFC 1700, as ping's */
#define TTL_GROUP   1  /* RFC 1112 6.1, RFC 3493 5.2: not beyond the link, unless asked for */

/* UDP of fewer bytes is added up sooner than a device is told to. */
#define SUM_WORTH_LEAVING 256

/* What the headers of a datagram say. Addresses as in the packet, ports in host order. */
struct headers {
	const uint8_t *from, *to;
	uint16_t from_port, to_port;
	uint8_t family, ttl, tos;
	bool dont_fragment;
};

static uint16_t
ip_header(uint8_t family)
{
	return family == AF_INET ? IP4_HEADER_MIN : IP6_HEADER;
}

/* RFC 791 3.1, RFC 8200 3: the IP header at h, for `size` bytes of UDP. */
static void
write_ip(struct udp_own *own, uint8_t *h, const struct headers *is, uint16_t size)
{
	uint8_t from[16], to[16];
	unsigned n = is->family == AF_INET ? 4 : 16;

	/* They may lie where they are going to be overwritten. */
	memcpy(from, is->from, n);
	memcpy(to, is->to, n);
	if (is->family == AF_INET) {
		h[0] = 0x45;
		h[1] = is->tos;
		ip_put16(h + 2, (uint16_t)(size + IP4_HEADER_MIN));
		ip_put16(h + 4, own->ip4_id++); /* RFC 6864: may be cut up */
		ip_put16(h + 6, is->dont_fragment ? IP4_DONT_FRAGMENT : 0);
		h[8] = is->ttl;
		h[9] = PROTO_UDP;
		memcpy(h + 12, from, 4);
		memcpy(h + 16, to, 4);
		ip4_sum_set(h, IP4_HEADER_MIN);
	} else {
		h[0] = (uint8_t)(0x60 | is->tos >> 4);
		h[1] = (uint8_t)(is->tos << 4);
		h[2] = h[3] = 0;
		ip_put16(h + 4, size);
		h[6] = PROTO_UDP;
		h[7] = is->ttl;
		memcpy(h + 8, from, 16);
		memcpy(h + 24, to, 16);
	}
}

/* The sum of all bytes of UDP, `size` of them, at `upper` from the start of the packet's data. */
static uint64_t
sum_bytes(struct rte_mbuf *m, uint16_t upper, uint16_t size)
{
	if (m->nb_segs == 1)
		return udp_sum_bytes(rte_pktmbuf_mtod_offset(m, uint8_t *, upper), size);
	return packet_sum(m, upper, size);
}

static uint64_t
pseudo_sum(const uint8_t *h, uint8_t family, uint16_t size)
{
	return family == AF_INET ? udp_pseudo4(h, size) : ip6_pseudo_sum(h, size, PROTO_UDP);
}

/* What is in the packet's checksum field of what `sum` adds up to. */
static void
put_sum(uint8_t *udp, uint64_t sum)
{
	uint16_t checksum = (uint16_t)~ip_sum_fold(sum);

	if (checksum == 0)
		checksum = 0xffff; /* RFC 768: zero would say that there is none */
	memcpy(udp + 6, &checksum, sizeof(checksum));
}

/* Will the port this leaves by make the checksum of so many bytes of UDP? */
static bool
sum_is_left(uint8_t family, uint16_t size, uint32_t nexthop)
{
	const struct nexthop *nh = nexthop_at(nexthops, nexthop);

	return size >= SUM_WORTH_LEAVING && nh->type == NEXTHOP_ADJACENT &&
	       ports[nh->port].udp_sum_offload && (uint32_t)size + ip_header(family) <= nh->mtu;
}

/* The checksum of the datagram whose IP header is the start of the packet's data. True: it is left
 * to the port, which finds the pseudo header's sum in its place. */
static bool
write_sum(struct rte_mbuf *m, uint8_t family, uint16_t size, uint32_t nexthop)
{
	uint8_t *h = rte_pktmbuf_mtod(m, uint8_t *), *udp = h + ip_header(family);
	uint64_t sum = pseudo_sum(h, family, size);

	if (sum_is_left(family, size, nexthop)) {
		uint16_t folded = ip_sum_fold(sum);

		memcpy(udp + 6, &folded, sizeof(folded));
		return true;
	}
	udp[6] = udp[7] = 0;
	put_sum(udp, sum + sum_bytes(m, ip_header(family), size));
	return false;
}

void
udp_sum_finish(struct burst *b, unsigned i)
{
	struct rte_mbuf *m = b->pkts[i];
	uint8_t *h = b->l3[i];
	uint16_t header = ip_header((h[0] >> 4) == 4 ? AF_INET : AF_INET6);
	uint32_t upper = (uint32_t)(h - rte_pktmbuf_mtod(m, uint8_t *)) + header;

	/* The pseudo header's sum is one of the words. */
	put_sum(h + header, sum_bytes(m, (uint16_t)upper, (uint16_t)(b->len[i] - header)));
	b->flags[i] &= (uint8_t)~PLACE_SUM;
}

/* Into the burst of the router's own packets, with its way if that is known (not 0). */
static void
start_off(struct worker *w, struct rte_mbuf *m, uint8_t family, uint16_t vrf, uint16_t iface,
	  uint32_t nexthop, bool sum_left)
{
	struct burst *out = &w->own[w->own_filling];
	unsigned i = out->n;

	m->ol_flags &= ~(uint64_t)(RTE_MBUF_F_TX_OFFLOAD_MASK | RTE_MBUF_F_RX_VLAN);
	originate(w, m, family, vrf, iface);
	if (out->n == i)
		return; /* no room: it has been dropped and counted */
	/* What leads to a SID of ours is for the tables to say. */
	if (nexthop_at(nexthops, nexthop)->type != NEXTHOP_SID)
		out->via[i] = nexthop;
	out->fixed6 = true;
	if (sum_left)
		out->flags[i] |= PLACE_SUM;
}

/* --- replies -------------------------------------------------------------------------- */

/* The datagram is `len` long now. False: there is no room for that. */
static bool
fit(struct rte_mbuf *m, uint32_t total)
{
	packet_trim(m, total);
	if (m->pkt_len == total)
		return true;
	return m->nb_segs == 1 && rte_pktmbuf_append(m, (uint16_t)(total - m->pkt_len)) != NULL;
}

/* A packet that others may be reading is copied before it is written to. */
static struct rte_mbuf *
writable(struct worker *w, struct udp_own *own, const struct udp_datagram *d, uint16_t start)
{
	struct rte_mbuf *m = d->packet;
	bool alone = true;

	for (const struct rte_mbuf *s = m; s != NULL; s = s->next)
		alone &= packet_segment_own(s);
	if (likely(alone)) {
		packets_unguard(&m, 1);
		packet_strip(m, start);
		return m;
	}
	m = rte_pktmbuf_copy(m, own->worker.pool, start, UINT32_MAX);
	if (m != NULL) {
		pool_made(m->pool, m->nb_segs);
		pool_copied(m->pool, m->nb_segs);
	}
	worker_free(w, d->packet);
	return m;
}

/* Who the reply comes from: the address that was asked, or, if that was a group, one of ours. */
static bool
reply_source(const struct udp_datagram *d, struct peer *way, struct ip_addr *source)
{
	struct ip_addr local = {.family = d->family};
	const struct iface *iface;

	memcpy(local.bytes, d->local, d->family == AF_INET ? 4 : 16);
	iface = iface_at(d->iface);
	if (nexthop_at(nexthops, way->nexthop)->type == NEXTHOP_LOCAL)
		return false; /* ourselves: two echoes would never end */
	if (d->family == AF_INET6 && ip6_is_link_local(d->remote)) {
		struct ip_addr to = ip6_addr(d->remote);

		if (iface == NULL || iface_has_address(iface, &to))
			return false;
		if (local.bytes[0] == 0xff)
			return iface_source_for(iface, &to, source);
	} else if (d->group) {
		return udp_address_source(way, source);
	}
	*source = local;
	return true;
}

void
udp_reply(struct worker *w, struct udp_own *own, const struct udp_datagram *d)
{
	uint32_t start = (uint32_t)(d->payload - rte_pktmbuf_mtod(d->packet, uint8_t *)) -
			 UDP_HEADER - ip_header(d->family);
	uint32_t total = (uint32_t)ip_header(d->family) + UDP_HEADER + d->len;
	uint16_t size = (uint16_t)(UDP_HEADER + d->len), iface = 0;
	struct peer *way = udp_address_way(own, d->vrf, d->family, d->remote, udp_generation());
	uint32_t nexthop = way->nexthop;
	struct ip_addr source;
	struct headers is;
	struct rte_mbuf *m;
	uint8_t remote[16], *udp;
	uint16_t sum;
	bool keep, left;

	/* Nobody can be at port 0. */
	if (d->remote_port == 0 || total > UINT16_MAX || !reply_source(d, way, &source)) {
		worker_free(w, d->packet);
		return;
	}
	if (d->family == AF_INET6 && ip6_is_link_local(d->remote)) {
		iface = d->iface;
		nexthop = 0;
	}
	/* What is swapped adds up to the same. */
	memcpy(&sum, d->payload - 2, sizeof(sum));
	keep = !d->changed && !d->group;
	memcpy(remote, d->remote, d->family == AF_INET ? 4 : 16);
	m = writable(w, own, d, (uint16_t)start);
	if (m == NULL)
		return;
	if (!fit(m, total)) {
		worker_free(w, m);
		return;
	}
	is = (struct headers){
		.from = source.bytes,
		.to = remote,
		.from_port = d->local_port,
		.to_port = d->remote_port,
		.family = d->family,
		.ttl = TTL_DEFAULT,
		.tos = d->tos & 0xfc, /* a congestion mark is not echoed */
	};
	write_ip(own, rte_pktmbuf_mtod(m, uint8_t *), &is, size);
	udp = rte_pktmbuf_mtod_offset(m, uint8_t *, ip_header(d->family));
	ip_put16(udp, is.from_port);
	ip_put16(udp + 2, is.to_port);
	ip_put16(udp + 4, size);
	memcpy(udp + 6, &sum, sizeof(sum));
	left = !keep && write_sum(m, d->family, size, nexthop);
	start_off(w, m, d->family, d->vrf, iface, nexthop, left);
}

/* --- sending ---------------------------------------------------------------------------- */

/* May this socket speak to this family? */
static bool
speaks(const struct udp_bind *b, uint8_t family)
{
	return b->addr.family == family ||
	       (family == AF_INET && ip_is_unspecified(&b->addr) && !b->v6only);
}

static bool
scoped(const struct ip_addr *a)
{
	return a->family == AF_INET6 && ip6_is_link_local(a->bytes);
}

static bool
is_group(const struct ip_addr *a)
{
	return ip_is_multicast(a) || (a->family == AF_INET && ip4_host(a) == UINT32_MAX);
}

/* To all on a link: 0, or why it cannot be sent. */
static int
way_to_group(struct udp_own *own, const struct udp_socket *s, const struct udp_outgoing *out,
	     const struct ip_addr *to, const struct iface **link, uint16_t *mtu)
{
	int rc = udp_group_link(own, &s->bound, out->iface, to, link);

	if (rc == 0)
		*mtu = (*link)->mtu;
	return rc;
}

static const struct iface *
named_iface(const struct udp_socket *s, const struct udp_outgoing *out)
{
	uint16_t id = out->iface != 0 ? out->iface : s->bound.iface;

	return id < IFACE_MAX ? iface_at(id) : NULL;
}

/* Where it leaves, seen from the route: 0, or why it cannot. link: set if it is for all there. */
static int
way_out(struct udp_own *own, const struct udp_socket *s, const struct udp_outgoing *out,
	const struct ip_addr *to, struct peer **way, const struct iface **link, uint16_t *mtu)
{
	const struct iface *iface;
	const struct nexthop *nh;

	if (is_group(to))
		return way_to_group(own, s, out, to, link, mtu);
	*way = udp_address_way(own, s->bound.vrf, to->family, to->bytes, udp_generation());
	nh = nexthop_at(nexthops, (*way)->nexthop);
	if (nh->type == NEXTHOP_GROUP)
		nh = nexthop_at(nexthops, nexthop_group_pick(nh, 0));
	iface = iface_at(nh->iface);
	if (scoped(to)) {
		iface = named_iface(s, out);
		if (iface == NULL || iface->vrf != s->bound.vrf)
			return -EINVAL;
	} else if (nh->type == NEXTHOP_MARTIAN && to->family == AF_INET) {
		return way_to_group(own, s, out, to, link, mtu); /* a broadcast address */
	} else if (nh->type != NEXTHOP_ADJACENT && nh->type != NEXTHOP_RESOLVE &&
		   nh->type != NEXTHOP_CONNECTED && nh->type != NEXTHOP_LOCAL &&
		   nh->type != NEXTHOP_SID) {
		return -ENETUNREACH;
	}
	*mtu = nh->type == NEXTHOP_ADJACENT && !scoped(to) ? nh->mtu
	       : iface != NULL				   ? iface->mtu
							   : UINT16_MAX;
	return 0;
}

/* Whom it comes from. 0, or -EADDRNOTAVAIL. */
static int
choose_source(struct udp_own *own, const struct udp_socket *s, const struct udp_outgoing *out,
	      const struct ip_addr *to, struct peer *way, const struct iface *link,
	      struct ip_addr *source)
{
	const struct iface *iface = named_iface(s, out);
	uint32_t addr;
	bool mine;

	if (out->from.family != 0) {
		memcpy(&addr, out->from.bytes, sizeof(addr));
		if (out->from.family != to->family)
			return -EADDRNOTAVAIL;
		if (scoped(&out->from))
			mine = iface != NULL && iface_has_address(iface, &out->from);
		else if (out->from.family == AF_INET)
			mine = udp_address_mine4(own, s->bound.vrf, addr, udp_generation());
		else
			mine = udp_address_mine6(own, s->bound.vrf, out->from.bytes,
						 udp_generation());
		*source = out->from;
		return mine ? 0 : -EADDRNOTAVAIL;
	}
	if (s->bound.addr.family == to->family && !ip_is_unspecified(&s->bound.addr) &&
	    !is_group(&s->bound.addr)) {
		*source = s->bound.addr;
		return 0;
	}
	if (link != NULL)
		return iface_source_for(link, to, source) ? 0 : -EADDRNOTAVAIL;
	if (scoped(to))
		return iface != NULL && iface_source_for(iface, to, source) ? 0 : -EADDRNOTAVAIL;
	return udp_address_source(way, source) ? 0 : -EADDRNOTAVAIL;
}

/* 0: on its way. Else the packet is still there. */
static int
send_one(struct udp_own *own, struct udp_outgoing *out)
{
	struct worker *w = own->owner;
	const struct udp_socket *s =
		out->socket < UDP_SOCKETS_MAX ? udp_socket_at(sockets, out->socket) : NULL;
	struct rte_mbuf *m = out->packet;
	struct ip_addr to, source;
	struct headers is;
	uint16_t mtu = 0, port, size;
	const struct iface *link = NULL;
	struct peer *way = NULL;
	uint32_t nexthop;
	uint8_t *h;
	bool left;
	int rc;

	if (s == NULL)
		return -EBADF;
	to = out->to.family != 0 ? out->to : s->remote;
	port = out->to.family != 0 ? out->to_port : s->remote_port;
	if (to.family == 0)
		return -EDESTADDRREQ;
	if (!speaks(&s->bound, to.family))
		return -EAFNOSUPPORT;
	if (port == 0)
		return -EINVAL;
	if (m->pkt_len > UINT16_MAX - UDP_HEADER - (to.family == AF_INET ? IP4_HEADER_MIN : 0u))
		return -EMSGSIZE;
	rc = way_out(own, s, out, &to, &way, &link, &mtu);
	if (rc == 0)
		rc = choose_source(own, s, out, &to, way, link, &source);
	if (rc < 0)
		return rc;
	size = (uint16_t)(m->pkt_len + UDP_HEADER);
	if (out->dont_fragment && (uint32_t)size + ip_header(to.family) > mtu)
		return -EMSGSIZE;
	if (w->own[w->own_filling].n == BURST_MAX)
		return -ENOBUFS;
	packets_unguard(&m, 1);
	h = (uint8_t *)rte_pktmbuf_prepend(m, (uint16_t)(ip_header(to.family) + UDP_HEADER));
	if (h == NULL)
		return -ENOBUFS;
	is = (struct headers){
		.from = source.bytes,
		.to = to.bytes,
		.from_port = s->bound.port,
		.to_port = port,
		.family = to.family,
		.ttl = out->ttl != 0	      ? out->ttl
		       : ip_is_multicast(&to) ? TTL_GROUP
					      : TTL_DEFAULT,
		.tos = out->tos,
		.dont_fragment = out->dont_fragment,
	};
	write_ip(own, h, &is, size);
	h += ip_header(to.family);
	ip_put16(h, is.from_port);
	ip_put16(h + 2, is.to_port);
	ip_put16(h + 4, size);
	if (link != NULL) {
		write_sum(m, to.family, size, 0);
		udp_leave_to_group(w, m, link, &to);
		return 0;
	}
	nexthop = scoped(&to) ? 0 : way->nexthop;
	left = write_sum(m, to.family, size, nexthop);
	start_off(w, m, to.family, s->bound.vrf,
		  scoped(&to) ? (out->iface != 0 ? out->iface : s->bound.iface) : 0, nexthop, left);
	return 0;
}

unsigned
udp_send(struct udp_worker *worker, struct udp_outgoing *out, unsigned n)
{
	struct udp_own *own = container_of(worker, struct udp_own, worker);
	unsigned sent = 0;

	for (unsigned i = 0; i < n; i++) {
		out[i].error = send_one(own, &out[i]);
		if (out[i].error == 0)
			sent++;
		else
			worker_free(own->owner, out[i].packet);
	}
	return sent;
}

unsigned
udp_poll(struct worker *w)
{
	const struct udp_pollers *list = __atomic_load_n(&sockets->pollers, __ATOMIC_ACQUIRE);
	unsigned n = 0;

	for (unsigned i = 0; list != NULL && i < list->n; i++) {
		n += list->apps[i]->ops->poll(list->apps[i], &udp_own[w->id]->worker);
		journey_own(w);
	}
	return n;
}
