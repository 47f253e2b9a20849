/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * UDP to the router that came the usual way: with options, in a VLAN, put
 * together from fragments, to a group, wrong, or for nobody.
 */

#include "demux.h"
#include "ip.h"
#include "reassemble.h"
#include "trace.h"
#include "udp_sum.h"

#define UDP_HEADER 8

static uint16_t
contiguous(const struct burst *b, unsigned i)
{
	const struct rte_mbuf *m = b->pkts[i];
	uint32_t n = (uint32_t)(rte_pktmbuf_mtod(m, uint8_t *) + m->data_len - b->l3[i]);

	return (uint16_t)RTE_MIN(n, (uint32_t)b->len[i]);
}

static bool
sum_ok(const struct burst *b, unsigned i, uint8_t family, uint16_t upper, uint16_t size)
{
	const uint8_t *h = b->l3[i], *udp = h + upper;
	uint64_t sum;

	/* RFC 8200 8.1 */
	if ((udp[6] | udp[7]) == 0)
		return family == AF_INET;
	sum = family == AF_INET ? udp_pseudo4(h, size) : ip6_pseudo_sum(h, size, PROTO_UDP);
	sum += packet_sum(b->pkts[i],
			  (uint32_t)(udp - rte_pktmbuf_mtod(b->pkts[i], const uint8_t *)), size);
	return ip_sum_fold(sum) == 0xffff;
}

/* Its header and payload are what they say: *size bytes. Else it has been dropped. */
static bool
check(struct worker *w, struct burst *b, unsigned i, uint8_t family, uint16_t upper, uint16_t *size)
{
	uint16_t room = (uint16_t)(b->len[i] - upper);

	if (b->len[i] < upper + UDP_HEADER || contiguous(b, i) < upper + UDP_HEADER) {
		drop(w, b, i, DROP_UDP_BAD_LENGTH);
		return false;
	}
	*size = ip_get16(b->l3[i] + upper + 4);
	if (*size < UDP_HEADER || *size > room) {
		drop(w, b, i, DROP_UDP_BAD_LENGTH);
		return false;
	}
	if (!sum_ok(b, i, family, upper, *size)) {
		drop(w, b, i, DROP_UDP_CHECKSUM);
		return false;
	}
	return true;
}

static struct udp_flow
flow_of(const struct burst *b, unsigned i, uint8_t family, uint16_t upper)
{
	const uint8_t *h = b->l3[i];

	return (struct udp_flow){
		.local = h + (family == AF_INET ? 16 : 24),
		.remote = h + (family == AF_INET ? 12 : 8),
		.family = family,
		.vrf = b->vrf[i],
		.iface = b->iface[i],
		.local_port = ip_get16(h + upper + 2),
		.remote_port = ip_get16(h + upper),
	};
}

/* Place i, or a clone of it, to one socket. */
static void
give(struct worker *w, const struct burst *b, unsigned i, const struct udp_flow *f, uint16_t upper,
     uint16_t size, uint32_t ref, struct rte_mbuf *m, bool to_group)
{
	struct udp_own *own = udp_own[w->id];
	const uint8_t *h = b->l3[i];
	bool v4 = f->family == AF_INET;
	uint16_t payload = (uint16_t)(upper + UDP_HEADER);

	own->datagrams[0] = (struct udp_datagram){
		.packet = m,
		.payload = b->l3[i] + payload,
		.len = (uint16_t)(size - UDP_HEADER),
		.contiguous = (uint16_t)RTE_MIN(contiguous(b, i) - payload, size - UDP_HEADER),
		.family = f->family,
		.group = to_group,
		.tos = v4 ? h[1] : (uint8_t)(h[0] << 4 | h[1] >> 4),
		.ttl = h[v4 ? 8 : 7],
		.iface = f->iface,
		.vrf = f->vrf,
		.local_port = f->local_port,
		.remote_port = f->remote_port,
		.socket = UDP_REF_ID(ref),
		.local = f->local,
		.remote = f->remote,
		.trace = b->traced && m == b->pkts[i] ? b->trace[i] : 0,
	};
	udp_deliver(w, own, 1);
}

void
udp_input(struct worker *w, struct burst *b, unsigned i, uint8_t family, uint16_t upper)
{
	struct udp_flow f;
	uint16_t size;
	uint32_t ref;

	if (!check(w, b, i, family, upper, &size))
		return;
	f = flow_of(b, i, family, upper);
	ref = udp_lookup(sockets, &f, w->id);
	if (ref != UDP_NONE)
		give(w, b, i, &f, upper, size, ref, b->pkts[i], false);
	else if (family == AF_INET)
		drop_with_error4(w, b, i, DROP_UDP_NO_SOCKET, ICMP4_UNREACHABLE,
				 ICMP4_UNREACHABLE_PORT, 0);
	else
		drop_with_error6(w, b, i, DROP_UDP_NO_SOCKET, ICMP6_UNREACHABLE,
				 ICMP6_UNREACHABLE_PORT, 0);
}

/* --- groups ----------------------------------------------------------------------------- */

/* One datagram on its way to several sockets: the first has the packet itself, at the end, the
 * others clones of it. */
struct fan {
	struct worker *w;
	const struct burst *b;
	unsigned i;
	const struct udp_flow *f;
	uint16_t upper, size;
	uint32_t first;
};

static void
fan_out(void *arg, uint32_t ref)
{
	struct fan *fan = arg;
	struct worker *w = fan->w;
	struct rte_mbuf *clone;

	if (fan->first == UDP_NONE) {
		fan->first = ref;
		return;
	}
	clone = rte_pktmbuf_clone(fan->b->pkts[fan->i], pool_for_socket(w->socket)->mempool);
	if (clone == NULL) {
		udp_own[w->id]->counters[UDP_REF_ID(ref)].drops++;
		return;
	}
	pool_made(clone->pool, clone->nb_segs);
	w->stats.originated++;
	give(w, fan->b, fan->i, fan->f, fan->upper, fan->size, ref, clone, true);
}

static void
group(struct worker *w, struct burst *b, unsigned i, const struct udp_flow *f, uint16_t upper)
{
	struct fan fan = {.w = w, .b = b, .i = i, .f = f, .upper = upper, .first = UDP_NONE};

	if (!check(w, b, i, f->family, upper, &fan.size))
		return;
	udp_lookup_all(sockets, f, fan_out, &fan);
	if (fan.first == UDP_NONE)
		drop(w, b, i, DROP_UDP_NO_SOCKET);
	else
		give(w, b, i, f, upper, fan.size, fan.first, b->pkts[i], true);
}

bool
udp_is_broadcast4(uint16_t iface, const uint8_t *dst)
{
	const struct iface *view = iface_at(iface);
	struct ip_addr addr = {.family = AF_INET};
	uint32_t host;

	memcpy(addr.bytes, dst, 4);
	host = ip4_host(&addr);
	if (host == UINT32_MAX)
		return true;
	for (unsigned a = 0; view != NULL && a < view->address_count; a++) {
		const struct iface_address *own = &view->addresses[a];

		if (own->addr.family == AF_INET && own->len <= 30 &&
		    (ip4_host(&own->addr) | UINT32_MAX >> own->len) == host)
			return true;
	}
	return false;
}

/* Is a socket of this family bound at all? Later fragments name no port, so more cannot be known of
 * them; the whole datagram is looked at again. */
static bool
any_bound(uint8_t family, bool to_wildcards)
{
	return __atomic_load_n(family == AF_INET ? &sockets->local4 : &sockets->local6,
			       __ATOMIC_RELAXED) != NULL ||
	       __atomic_load_n(family == AF_INET ? &sockets->peer4 : &sockets->peer6,
			       __ATOMIC_RELAXED) != NULL ||
	       (to_wildcards && __atomic_load_n(&sockets->any, __ATOMIC_RELAXED) != NULL);
}

static bool
is_multicast4(const uint8_t *dst)
{
	return (dst[0] & 0xf0) == 0xe0;
}

bool
udp_is_group4(const struct burst *b, unsigned i)
{
	const uint8_t *dst = b->l3[i] + 16;

	return is_multicast4(dst) || udp_is_broadcast4(b->iface[i], dst);
}

bool
udp_input_group4(struct worker *w, struct burst *b, unsigned i)
{
	static const uint8_t all_hosts[4] = {224, 0, 0, 1};
	const uint8_t *h = b->l3[i], *dst = h + 16;
	bool named = is_multicast4(dst) && memcmp(dst, all_hosts, 4) != 0;
	uint16_t upper;
	struct udp_flow f;

	if (h[9] != PROTO_UDP || (b->flags[i] & PLACE_ORIGINATED) != 0 || !udp_is_group4(b, i))
		return false;
	if ((ip_get16(h + 6) & (IP4_MORE_FRAGMENTS | IP4_OFFSET_MASK)) != 0) {
		if (!any_bound(AF_INET, !named))
			return false;
		if (!reassemble4(w, b, i))
			return true;
		h = b->l3[i];
	}
	upper = (uint16_t)((h[0] & 15) * 4);
	if (contiguous(b, i) < upper + UDP_HEADER)
		return false;
	f = flow_of(b, i, AF_INET, upper);
	/* Who binds to a group has joined it; the others then hear of it, too, as in Linux. */
	if (named && !udp_joined(sockets, &f))
		return false;
	group(w, b, i, &f, upper);
	return true;
}

bool
udp_group_joined6(const struct burst *b, unsigned i)
{
	const uint8_t *h = b->l3[i];
	struct ip6_walk walk;
	struct udp_flow f;

	if (ip6_walk(h, b->len[i], contiguous(b, i), h[6], IP6_HEADER, 6, true, true, &walk) != 0 ||
	    walk.proto != PROTO_UDP)
		return false;
	if (walk.fragment)
		return any_bound(AF_INET6, false);
	if (contiguous(b, i) < walk.offset + UDP_HEADER)
		return false;
	f = flow_of(b, i, AF_INET6, walk.offset);
	return udp_joined(sockets, &f);
}

bool
udp_input_group6(struct worker *w, struct burst *b, unsigned i, uint16_t upper)
{
	struct udp_flow f;

	if (b->l3[i][24] != 0xff || contiguous(b, i) < upper + UDP_HEADER)
		return false;
	f = flow_of(b, i, AF_INET6, upper);
	group(w, b, i, &f, upper);
	return true;
}
