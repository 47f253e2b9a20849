/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Datagrams of the router's own to groups and broadcast addresses: everybody on one link, and
 * nobody is asked who that is (RFC 1112 6.4, RFC 2464 7). No route leads there, so the link is
 * the sender's to name.
 */

#include <errno.h>

#include <rte_random.h>

#include "demux.h"
#include "ip.h"

#define ETHERTYPE_VLAN 0x8100u
#define ETHERTYPE_IP4  0x0800u
#define ETHERTYPE_IP6  0x86ddu

/* A datagram of 64 KB in the smallest frames IPv4 allows has more fragments than are worth it. */
#define FRAGMENTS_MAX 128

/* The network a directed broadcast address is of: where the addresses before it are. */
static uint16_t
broadcast_link(struct udp_own *own, uint16_t vrf, const struct ip_addr *to)
{
	for (uint8_t bit = 1; bit <= 2; bit <<= 1) {
		struct ip_addr near = *to;
		const struct nexthop *nh;
		struct peer *way;

		near.bytes[3] ^= bit;
		way = udp_address_way(own, vrf, AF_INET, near.bytes, udp_generation());
		nh = nexthop_at(nexthops, way->nexthop);
		if (nh->type != NEXTHOP_LOCAL)
			return nh->iface;
	}
	return 0;
}

int
udp_group_link(struct udp_own *own, const struct udp_bind *bound, uint16_t asked,
	       const struct ip_addr *to, const struct iface **link)
{
	bool anywhere = ip_is_multicast(to) || ip4_host(to) == UINT32_MAX;
	uint16_t id = asked != 0 ? asked : bound->iface;

	if (id == 0 && anywhere)
		return -ENETUNREACH;
	if (id == 0)
		id = broadcast_link(own, bound->vrf, to);
	*link = id < IFACE_MAX ? iface_at(id) : NULL;
	if (!anywhere && (*link == NULL || !udp_is_broadcast4(id, to->bytes)))
		return -EACCES;
	return *link != NULL && (*link)->vrf == bound->vrf ? 0 : -EINVAL;
}

static void
group_mac(const struct ip_addr *to, uint8_t mac[6])
{
	memset(mac, 0xff, 6);
	if (to->family == AF_INET6) {
		mac[0] = mac[1] = 0x33;
		memcpy(mac + 2, to->bytes + 12, 4);
	} else if (ip_is_multicast(to)) {
		mac[0] = 0x01;
		mac[1] = 0x00;
		mac[2] = 0x5e;
		mac[3] = to->bytes[1] & 0x7f;
		memcpy(mac + 4, to->bytes + 2, 2);
	}
}

/* The link header in front, and into the port's transmit buffer. */
static void
send_frame(struct worker *w, struct rte_mbuf *m, const struct iface *link, const struct ip_addr *to)
{
	uint16_t size = link->vlan != 0 ? 18 : 14;
	uint8_t *p;

	if (m->nb_segs > 1 && !ports[link->port].tx_multi_segs) {
		struct rte_mbuf *one = output_one_segment(w, m);

		if (one == NULL) {
			w->stats.port[link->port].tx_dropped++;
			w->stats.drops[DROP_TX_ERROR]++;
			worker_free(w, m);
			return;
		}
		m = one;
	}
	if (packet_prepend(&m, size, pool_for_socket(w->socket)->mempool) != 0) {
		w->stats.drops[DROP_POOL_EMPTY]++;
		worker_free(w, m);
		return;
	}
	p = rte_pktmbuf_mtod(m, uint8_t *);
	group_mac(to, p);
	memcpy(p + 6, link->mac, 6);
	if (link->vlan != 0) {
		ip_put16(p + 12, ETHERTYPE_VLAN);
		ip_put16(p + 14, link->vlan);
	}
	ip_put16(p + size - 2, to->family == AF_INET ? ETHERTYPE_IP4 : ETHERTYPE_IP6);
	w->stats.port[link->port].tx_bytes += m->pkt_len;
	tx_frame(w, link->port, m);
}

void
udp_leave_to_group(struct worker *w, struct rte_mbuf *m, const struct iface *link,
		   const struct ip_addr *to)
{
	struct rte_mempool *pool = pool_for_socket(w->socket)->mempool;
	struct rte_mbuf *fragments[FRAGMENTS_MAX];
	int n;

	w->stats.originated++;
	m->ol_flags &= ~(uint64_t)(RTE_MBUF_F_TX_OFFLOAD_MASK | RTE_MBUF_F_RX_VLAN);
	if (m->pkt_len <= link->mtu) {
		send_frame(w, m, link, to);
		return;
	}
	n = to->family == AF_INET ? ip4_fragment(m, link->mtu, pool, fragments, FRAGMENTS_MAX)
				  : ip6_fragment(m, link->mtu, (uint32_t)rte_rand(), pool,
						 fragments, FRAGMENTS_MAX);
	if (n < 0) {
		w->stats.drops[n == -ENOBUFS ? DROP_POOL_EMPTY : DROP_FRAGMENT]++;
		worker_free(w, m);
		return;
	}
	w->stats.originated += (unsigned)n - 1;
	for (int k = 0; k < n; k++) {
		pool_made(fragments[k]->pool, fragments[k]->nb_segs);
		send_frame(w, fragments[k], link, to);
	}
	worker_free(w, m);
}
