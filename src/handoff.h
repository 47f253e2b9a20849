/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HANDOFF_H
#define HANDOFF_H

/**
 * @file
 * Packets that cross from one thread to another: single-producer,
 * single-consumer rings, in bursts. Each crossing is counted as handed by the
 * giver and taken by the taker.
 *
 * What the taker must know travels in the mbuf's dynamic field.
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include "stats.h"

enum packet_kind {
	/* worker to control thread */
	PACKET_ARP,	  /**< ARP header at l3 */
	PACKET_ND,	  /**< neighbour discovery, IPv6 header at l3 */
	PACKET_RESOLVE,	  /**< waits for next hop `nexthop` */
	PACKET_CONNECTED, /**< waits for its destination on interface `nexthop`; IP header at l3 */
	PACKET_PING,	  /**< an ICMP message to the router that may answer a ping */
	/* worker to worker */
	PACKET_FRAGMENT, /**< IP packet whose data starts at its header: to be reassembled */
	/* control thread to worker */
	PACKET_FRAME,	/**< complete frame for mbuf->port */
	PACKET_FORWARD, /**< IP packet at l3, TTL already decremented: send along `nexthop` */
	PACKET_ROUTE,	/**< IP packet of the router's own at l3: look it up in `vrf` */
};

/** Rides in the mbuf while it is between threads or held. */
struct packet_meta {
	uint8_t kind;	/**< enum packet_kind */
	uint8_t family; /**< AF_INET or AF_INET6, of the packet at l3 */
	uint16_t iface; /**< it came in on */
	uint16_t vrf;	/**< it is routed in */
	uint16_t l3;	/**< offset of the IP (or ARP) header in the data */
	union {
		uint32_t nexthop;
		struct {
			uint8_t flags; /**< of its place in the burst */
			uint8_t at; /**< IPv6: offset of the fragment header, in units of 8 bytes */
			uint8_t next; /**< ... of the header that names it; 0: the IPv6 header */
		} fragment;	      /**< PACKET_FRAGMENT, on its way and while it is held */
	};
	uint32_t trace; /**< trace id, 0: not traced */
};

extern int packet_meta_offset;

static inline struct packet_meta *
packet_meta(struct rte_mbuf *m)
{
	return RTE_MBUF_DYNFIELD(m, packet_meta_offset, struct packet_meta *);
}

/* --- control thread ------------------------------------------------------------ */

/** The control thread's account; see stats.h. */
extern struct stats control_stats;

/** A frame the router made (counted as originated here), complete with link header, out of a port.
 * Takes the packet over; a drop is counted. */
void control_send_frame(uint16_t port, struct rte_mbuf *packet);
/** A packet that was held (taken from a worker before): give it to a worker to be sent along
 * `nexthop`. Its meta still says l3 and family. */
void control_forward(struct rte_mbuf *packet, uint32_t nexthop);
/** An IP packet the router made (originated here), data starting at its IP header: route it. */
void control_route(struct rte_mbuf *packet, uint16_t vrf, uint8_t family);
/** Drop and count a packet the control thread owns. trace as meta says. */
void control_drop(struct rte_mbuf *packet, enum drop_reason reason);
/** The packet has been used up here (ARP, ND): counted as delivered, freed. */
void control_deliver(struct rte_mbuf *packet);
/** The control thread keeps n packets more (or fewer). */
static inline void
control_holding(int n)
{
	control_stats.holding += n;
}
/** A buffer for a packet of the router's own; NULL counts nothing (nothing was originated). */
struct rte_mbuf *control_alloc(uint16_t port);
/** Resolution failed: ICMP host/address unreachable to the sender (rate-limited), then drop
 * neigh_unresolved. Takes the packet over. */
void control_unreachable(struct rte_mbuf *packet);

#endif
