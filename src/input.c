/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Frames that are not simply IP to our MAC in one segment: VLAN tags, ARP, group MACs, other
 * hosts' frames, chains of segments.
 */

#include <rte_ether.h>

#include "datapath.h"
#include "ip.h"
#include "neigh.h"
#include "trace.h"

#define VLAN_TAG_LEN 4

/* The interface of a tagged frame; VLAN 0 only carries a priority (802.1Q 9.6). */
static uint16_t
vlan_interface(const struct port *port, const uint8_t *tag)
{
	unsigned id = (tag[0] << 8 | tag[1]) & 0xfff;
	const uint16_t *vlans = __atomic_load_n(&port->vlan_iface, __ATOMIC_ACQUIRE);

	if (id == 0)
		return port->iface;
	return vlans != NULL ? vlans[id] : 0;
}

void
input_other(struct worker *w, struct burst *b, unsigned i, const struct port *port)
{
	struct rte_mbuf *m = b->pkts[i];
	const struct iface *iface;
	uint64_t head = 0;
	uint32_t room;
	uint16_t type;
	uint8_t *frame;

	b->more += m->nb_segs - 1u;
	/* For drops before the IP header is known. */
	b->l3[i] = rte_pktmbuf_mtod(m, uint8_t *);
	if (m->pkt_len < RTE_ETHER_HDR_LEN) {
		drop(w, b, i, DROP_RUNT);
		return;
	}
	if (m->nb_segs != 1) {
		uint16_t first =
			(uint16_t)RTE_MIN(m->pkt_len, (uint32_t)RTE_ETHER_HDR_LEN + HEADER_ROOM);

		if (packet_make_writable(&b->pkts[i], 0, first,
					 pool_for_socket(w->socket)->mempool) != 0) {
			drop(w, b, i, DROP_POOL_EMPTY);
			return;
		}
		m = b->pkts[i];
	}
	frame = rte_pktmbuf_mtod(m, uint8_t *);
	memcpy(&head, frame, 6);
	if ((frame[0] & 1) != 0) {
		b->flags[i] |= PLACE_GROUP_MAC;
	} else if (head != port->mac && !port->any_mac) {
		drop(w, b, i, DROP_OTHER_HOST);
		return;
	}
	memcpy(&type, frame + 12, sizeof(type));
	b->l3[i] = frame + RTE_ETHER_HDR_LEN;
	room = m->pkt_len - RTE_ETHER_HDR_LEN;
	if (type == rte_cpu_to_be_16(RTE_ETHER_TYPE_VLAN) && room >= VLAN_TAG_LEN) {
		uint16_t id = vlan_interface(port, b->l3[i]);

		iface = id != 0 ? iface_at(id) : NULL;
		if (iface == NULL) {
			drop(w, b, i, DROP_VLAN);
			return;
		}
		if (!iface->up) {
			drop(w, b, i, DROP_PORT_DOWN);
			return;
		}
		b->iface[i] = id;
		b->vrf[i] = iface->vrf;
		memcpy(&type, b->l3[i] + 2, sizeof(type));
		b->l3[i] += VLAN_TAG_LEN;
		room -= VLAN_TAG_LEN;
		if (unlikely(b->traced))
			trace_step(b->trace[i], TRACE_VLAN, id, 0, 0, NULL, 0);
	}
	b->len[i] = (uint16_t)RTE_MIN(room, (uint32_t)UINT16_MAX);
	switch (rte_be_to_cpu_16(type)) {
	case RTE_ETHER_TYPE_IPV6:
		list_add(&b->ip6, i);
		break;
	case RTE_ETHER_TYPE_IPV4:
		list_add(&b->ip4, i);
		break;
	case RTE_ETHER_TYPE_ARP:
		list_add(&b->arp, i);
		break;
	default:
		drop(w, b, i, DROP_ETHERTYPE);
	}
}
