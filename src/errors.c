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

/* The interface by which an answer to `to` leaves. */
static const struct iface *
interface_towards(const struct burst *b, unsigned i, const struct ip_addr *to)
{
	const struct nexthop *nh;
	uint32_t value;

	if (to->family == AF_INET6 && ip6_is_link_local(to->bytes))
		return iface_at(b->iface[i]);
	value = to->family == AF_INET ? fib4_lookup(vrf_fibs[b->vrf[i]].fib4, ip4_host(to))
				      : fib6_lookup(vrf_fibs[b->vrf[i]].fib6, to->bytes);
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
source_for(const struct burst *b, unsigned i, const struct ip_addr *to, struct ip_addr *source)
{
	const struct iface *iface = interface_towards(b, i, to);

	if (iface == NULL)
		return false; /* no way to answer */
	if (iface_source_for(iface, to, source) &&
	    !(to->family == AF_INET6 && ip6_is_link_local(source->bytes) &&
	      !ip6_is_link_local(to->bytes)))
		return true;
	iface = iface_at(b->iface[i]);
	if (iface != NULL && iface->vrf == b->vrf[i] && iface_source_for(iface, to, source) &&
	    !(to->family == AF_INET6 && ip6_is_link_local(source->bytes)))
		return true;
	for (unsigned id = 1; id < IFACE_MAX; id++) {
		iface = iface_at(id);
		if (iface != NULL && iface->vrf == b->vrf[i] &&
		    iface_source_for(iface, to, source) &&
		    !(to->family == AF_INET6 && ip6_is_link_local(source->bytes)))
			return true;
	}
	return false;
}

static void
send_error(struct worker *w, struct burst *b, unsigned i, uint8_t family,
	   const struct icmp_error *error)
{
	struct rte_mbuf *m = b->pkts[i], *made;
	uint16_t l3 = (uint16_t)(b->l3[i] - rte_pktmbuf_mtod(m, uint8_t *));
	struct rte_mempool *pool = pool_for_socket(w->socket)->mempool;
	struct ip_addr to, source;

	if ((b->flags[i] & (PLACE_ORIGINATED | PLACE_GROUP_MAC)) != 0)
		return;
	if (family == AF_INET) {
		if (!icmp4_error_allowed(m, l3, b->len[i]))
			return;
		to = (struct ip_addr){.family = AF_INET};
		memcpy(to.bytes, b->l3[i] + 12, 4);
	} else {
		if (!icmp6_error_allowed(m, l3, b->len[i], error))
			return;
		to = ip6_addr(b->l3[i] + 8);
	}
	if (!source_for(b, i, &to, &source) || !token_bucket_take(&w->errors, rte_rdtsc()))
		return;
	made = family == AF_INET ? icmp4_error(pool, m, l3, b->len[i], error, &source)
				 : icmp6_error(pool, m, l3, b->len[i], error, &source);
	if (made == NULL)
		return;
	pool_made(pool, made->nb_segs);
	if (unlikely(b->traced))
		trace_step(b->trace[i], TRACE_ERROR, error->type, error->code, 0, NULL, 0);
	originate(w, made, family, b->vrf[i], b->iface[i]);
}

void
drop_with_error4(struct worker *w, struct burst *b, unsigned i, enum drop_reason reason,
		 uint8_t type, uint8_t code, uint32_t value)
{
	struct icmp_error error = {.type = type, .code = code, .value = value};

	send_error(w, b, i, AF_INET, &error);
	drop(w, b, i, reason);
}

void
drop_with_error6(struct worker *w, struct burst *b, unsigned i, enum drop_reason reason,
		 uint8_t type, uint8_t code, uint32_t value)
{
	struct icmp_error error = {.type = type, .code = code, .value = value};

	send_error(w, b, i, AF_INET6, &error);
	drop(w, b, i, reason);
}
