/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * ICMP errors about packets in hand: who may be told, from which address, how
 * often.
 */

#include <rte_cycles.h>

#include "datapath.h"
#include "ip.h"
#include "lookup.h"
#include "trace.h"

/* What an error is about, and where it came from. */
struct about {
	struct rte_mbuf *m;
	uint16_t l3, len; /* IP header's offset, IP packet's length */
	uint8_t family, flags;
	uint16_t vrf, iface;
	uint32_t trace;
};

/* The interface by which an answer to `to` leaves. */
static const struct iface *
interface_towards(const struct about *p, const struct ip_addr *to)
{
	const struct nexthop *nh;
	uint32_t value;

	if (to->family == AF_INET6 && ip6_is_link_local(to->bytes))
		return iface_at(p->iface);
	value = to->family == AF_INET ? fib4_lookup(vrf_fibs[p->vrf].fib4, ip4_host(to))
				      : fib6_lookup(vrf_fibs[p->vrf].fib6, to->bytes);
	nh = nexthop_at(nexthops, value);
	if (nh->type == NEXTHOP_GROUP)
		nh = nexthop_at(nexthops, nexthop_group_pick(nh, 0));
	switch (nh->type) {
	case NEXTHOP_ADJACENT:
	case NEXTHOP_RESOLVE:
	case NEXTHOP_CONNECTED:
	case NEXTHOP_LOCAL:
		return iface_at(nh->iface);
	default:
		return NULL;
	}
}

/*
 * An address of the packet's VRF: of the interface the answer leaves by, else
 * of the one the packet came in on, else of any.
 */
static bool
source_for(const struct about *p, const struct ip_addr *to, struct ip_addr *source)
{
	const struct iface *iface = interface_towards(p, to);

	if (iface == NULL)
		return false; /* no way to answer */
	if (iface_source_for(iface, to, source) &&
	    !(to->family == AF_INET6 && ip6_is_link_local(source->bytes) &&
	      !ip6_is_link_local(to->bytes)))
		return true;
	iface = iface_at(p->iface);
	if (iface != NULL && iface->vrf == p->vrf && iface_source_for(iface, to, source) &&
	    !(to->family == AF_INET6 && ip6_is_link_local(source->bytes)))
		return true;
	for (unsigned id = 1; id < IFACE_MAX; id++) {
		iface = iface_at(id);
		if (iface != NULL && iface->vrf == p->vrf && iface_source_for(iface, to, source) &&
		    !(to->family == AF_INET6 && ip6_is_link_local(source->bytes)))
			return true;
	}
	return false;
}

static void
send_error(struct worker *w, const struct about *p, const struct icmp_error *error)
{
	const uint8_t *h = rte_pktmbuf_mtod_offset(p->m, const uint8_t *, p->l3);
	struct rte_mempool *pool = pool_for_socket(w->socket)->mempool;
	struct ip_addr to, source;
	struct rte_mbuf *made;

	if ((p->flags & (PLACE_ORIGINATED | PLACE_GROUP_MAC)) != 0)
		return;
	if (p->family == AF_INET) {
		if (!icmp4_error_allowed(p->m, p->l3, p->len))
			return;
		to = (struct ip_addr){.family = AF_INET};
		memcpy(to.bytes, h + 12, 4);
	} else {
		if (!icmp6_error_allowed(p->m, p->l3, p->len, error))
			return;
		to = ip6_addr(h + 8);
	}
	if (!source_for(p, &to, &source) || !token_bucket_take(&w->errors, rte_rdtsc()))
		return;
	made = p->family == AF_INET ? icmp4_error(pool, p->m, p->l3, p->len, error, &source)
				    : icmp6_error(pool, p->m, p->l3, p->len, error, &source);
	if (made == NULL)
		return;
	pool_made(pool, made->nb_segs);
	trace_step(p->trace, TRACE_ERROR, error->type, error->code, 0, NULL, 0);
	originate(w, made, p->family, p->vrf, p->iface);
}

static void
error_about_place(struct worker *w, struct burst *b, unsigned i, uint8_t family,
		  const struct icmp_error *error)
{
	struct about p = {
		.m = b->pkts[i],
		.l3 = (uint16_t)(b->l3[i] - rte_pktmbuf_mtod(b->pkts[i], uint8_t *)),
		.len = b->len[i],
		.family = family,
		.flags = b->flags[i],
		.vrf = b->vrf[i],
		.iface = b->iface[i],
		.trace = b->traced ? b->trace[i] : 0,
	};

	send_error(w, &p, error);
}

void
error_about(struct worker *w, struct rte_mbuf *m, const struct icmp_error *error)
{
	const struct packet_meta *meta = packet_meta(m);
	struct about p = {
		.m = m,
		.len = (uint16_t)m->pkt_len,
		.family = meta->family,
		.flags = meta->fragment.flags,
		.vrf = meta->vrf,
		.iface = meta->iface,
		.trace = meta->trace,
	};

	send_error(w, &p, error);
}

void
drop_with_error4(struct worker *w, struct burst *b, unsigned i, enum drop_reason reason,
		 uint8_t type, uint8_t code, uint32_t value)
{
	struct icmp_error error = {.type = type, .code = code, .value = value};

	error_about_place(w, b, i, AF_INET, &error);
	drop(w, b, i, reason);
}

void
drop_with_error6(struct worker *w, struct burst *b, unsigned i, enum drop_reason reason,
		 uint8_t type, uint8_t code, uint32_t value)
{
	struct icmp_error error = {.type = type, .code = code, .value = value};

	error_about_place(w, b, i, AF_INET6, &error);
	drop(w, b, i, reason);
}
