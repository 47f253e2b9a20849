/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ARP (RFC 826) and neighbour discovery (RFC 4861): the frames we send to ask
 * and to answer, and what we learn from those that come in.
 */
#include "handoff.h"
#include "loop.h"
#include "neighbour.h"
#include "vrf.h"

#define ETHERTYPE_VLAN 0x8100u
#define ETHERTYPE_ARP  0x0806u
#define ETHERTYPE_IP6  0x86ddu

static const uint8_t broadcast_mac[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

static uint8_t *
put16(uint8_t *p, uint16_t value)
{
	p[0] = (uint8_t)(value >> 8);
	p[1] = (uint8_t)value;
	return p + 2;
}

struct rte_mbuf *
net_frame(const struct iface *iface, const uint8_t dst[6], uint16_t ethertype, uint16_t size,
	  void **payload)
{
	uint16_t header = iface->vlan != 0 ? 18 : 14;
	struct rte_mbuf *m = control_alloc(iface->port);
	uint8_t *p;

	if (m == NULL)
		return NULL;
	p = (uint8_t *)rte_pktmbuf_append(m, (uint16_t)(header + size));
	if (p == NULL) {
		rte_pktmbuf_free(m);
		return NULL;
	}
	memset(p, 0, (size_t)header + size);
	memcpy(p, dst, 6);
	memcpy(p + 6, iface->mac, 6);
	p += 12;
	if (iface->vlan != 0) {
		p = put16(p, ETHERTYPE_VLAN);
		p = put16(p, iface->vlan);
	}
	*payload = put16(p, ethertype);
	return m;
}

/* Did we say this, or somebody else in our name? Then there is nothing to learn. */
static bool
is_own(const struct iface *iface, const struct ip_addr *addr)
{
	struct iface_control *c = iface_get(iface->id);

	if (!iface_has_address(iface, addr))
		return false;
	if (c != NULL)
		c->duplicates++;
	return true;
}

/* Is the speaker on the link by what we know of it? A stranger is answered, not remembered. */
static bool
on_link(const struct iface *iface, const struct ip_addr *addr)
{
	const struct vrf *v = vrf_at(iface->vrf);

	if (addr->family == AF_INET6 && ip6_is_link_local(addr->bytes))
		return true;
	return v != NULL && vrf_connected_find(v, addr, ip_bits(addr->family), iface->id) != NULL;
}

/* --- ARP -------------------------------------------------------------------------------- */

/* An address to ask from: of this interface, or any of its VRF (an unnumbered link). */
static struct ip_addr
arp_source(const struct iface *iface, const struct ip_addr *target)
{
	struct ip_addr source = {.family = AF_INET};
	struct iface_control *c;

	if (iface_source_for(iface, target, &source))
		return source;
	IFACE_FOREACH(c) {
		if (c->vrf == iface->vrf && iface_source_for(iface_at(c->id), target, &source))
			return source;
	}
	return source;
}

static void
arp_send(const struct iface *iface, const uint8_t dst[6], const struct arp *arp)
{
	void *payload;
	struct rte_mbuf *m = net_frame(iface, dst, ETHERTYPE_ARP, ARP_SIZE, &payload);

	if (m == NULL)
		return;
	arp_write(payload, arp);
	control_send_frame(iface->port, m);
}

void
net_arp_request(const struct iface *iface, const struct ip_addr *target, const uint8_t *mac)
{
	struct arp arp = {.request = true, .target = *target};

	arp.sender = arp_source(iface, target);
	memcpy(arp.sender_mac, iface->mac, 6);
	arp_send(iface, mac != NULL ? mac : broadcast_mac, &arp);
}

static void
arp_answer(const struct iface *iface, const struct arp *question)
{
	struct arp arp = {.sender = question->target, .target = question->sender};

	memcpy(arp.sender_mac, iface->mac, 6);
	memcpy(arp.target_mac, question->sender_mac, 6);
	arp_send(iface, question->sender_mac, &arp);
}

void
net_arp_input(uint16_t iface_id, struct rte_mbuf *packet, uint16_t l3)
{
	const struct iface *iface = iface_at(iface_id);
	bool for_us, probe, reply;
	struct arp arp;

	if (iface == NULL || rte_pktmbuf_data_len(packet) < l3 ||
	    arp_parse(rte_pktmbuf_mtod_offset(packet, void *, l3),
		      rte_pktmbuf_data_len(packet) - l3, &arp) < 0 ||
	    (!ip_is_unspecified(&arp.sender) && is_own(iface, &arp.sender))) {
		control_drop(packet, DROP_ARP_BAD);
		return;
	}
	for_us = iface_has_address(iface, &arp.target);
	probe = ip_is_unspecified(&arp.sender);
	/* A reply is an answer to us only if it was sent to us; else it is gossip. */
	reply = !arp.request && for_us && memcmp(arp.target_mac, iface->mac, 6) == 0;
	if (!probe)
		neigh_learn(neighbours, iface_id, &arp.sender, arp.sender_mac,
			    arp.request && for_us && on_link(iface, &arp.sender), reply, true,
			    false, loop_now_ms());
	if (arp.request && for_us)
		arp_answer(iface, &arp);
	control_deliver(packet);
}

/* --- neighbour discovery ------------------------------------------------------------------- */

static void
nd_send(const struct iface *iface, const uint8_t mac[6], const struct nd *nd,
	const struct ip_addr *src, const struct ip_addr *dst)
{
	void *payload;
	struct rte_mbuf *m = net_frame(iface, mac, ETHERTYPE_IP6, ND_SIZE_MAX, &payload);

	if (m == NULL)
		return;
	rte_pktmbuf_trim(m, (uint16_t)(ND_SIZE_MAX - nd_write(payload, nd, src, dst)));
	control_send_frame(iface->port, m);
}

void
net_nd_solicit(const struct iface *iface, const struct ip_addr *target, const uint8_t *mac)
{
	struct ip_addr group = nd_solicited_node(target);
	struct nd nd = {.type = 135, .has_mac = true, .target = *target};
	struct ip_addr source;
	uint8_t group_mac[6];

	/* Every interface has a link-local address, if no better one. */
	if (!iface_source_for(iface, target, &source))
		source = ip6_link_local_of(iface->mac);
	memcpy(nd.mac, iface->mac, 6);
	ip6_multicast_mac(&group, group_mac);
	nd_send(iface, mac != NULL ? mac : group_mac, &nd, &source, mac != NULL ? target : &group);
}

static void
solicited(const struct iface *iface, const struct nd *question, const struct ip_addr *from,
	  const uint8_t *from_mac)
{
	static const uint8_t all_nodes[16] = {0xff, 0x02, [15] = 1};
	bool probe = ip_is_unspecified(from);
	struct ip_addr to = probe ? ip6_addr(all_nodes) : *from;
	struct nd nd = {
		.type = 136,
		.router = true,
		.solicited = !probe,
		.override = true,
		.has_mac = true,
		.target = question->target,
	};
	uint8_t group_mac[6];

	if (!iface_has_address(iface, &question->target))
		return;
	if (!probe && question->has_mac)
		neigh_learn(neighbours, iface->id, from, question->mac, on_link(iface, from), false,
			    true, false, loop_now_ms());
	memcpy(nd.mac, iface->mac, 6);
	ip6_multicast_mac(&to, group_mac);
	nd_send(iface,
		probe		    ? group_mac
		: question->has_mac ? question->mac
				    : from_mac,
		&nd, &question->target, &to);
}

void
net_nd_input(uint16_t iface_id, struct rte_mbuf *packet, uint16_t l3)
{
	const struct iface *iface = iface_at(iface_id);
	const uint8_t *frame = rte_pktmbuf_mtod(packet, const uint8_t *);
	struct ip_addr from;
	struct nd nd;

	if (iface == NULL || l3 < 14 || rte_pktmbuf_data_len(packet) < l3 ||
	    nd_parse(frame + l3, rte_pktmbuf_data_len(packet) - l3, &nd) < 0) {
		control_drop(packet, DROP_ND_BAD);
		return;
	}
	from = ip6_addr(frame + l3 + 8);
	if (is_own(iface, nd.type == 136 ? &nd.target : &from)) {
		control_drop(packet, DROP_ND_BAD);
		return;
	}
	if (nd.type == 135)
		solicited(iface, &nd, &from, frame + 6);
	else
		neigh_learn(neighbours, iface_id, &nd.target, nd.has_mac ? nd.mac : NULL, false,
			    nd.solicited, nd.override, nd.router, loop_now_ms());
	control_deliver(packet);
}
