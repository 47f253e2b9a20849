/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NEIGHBOUR_H
#define NEIGHBOUR_H

/**
 * @file
 * Neighbours as next hops: what lib/neigh knows of a neighbour becomes a next
 * hop that workers read, and a host route where its network is connected.
 * Control thread only.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "net.h"
#include "vrf.h"

struct neighbour {
	struct neigh *n;
	struct vrf *host_route; /**< table that has its /32 or /128, or NULL */
	bool onlink;		/**< a route said so: needs no connected network */
	bool connected;		/**< was on a connected network of its interface */
	bool detached;		/**< ... and is no longer: packets for it are dropped */
	LIST_ENTRY(neighbour) of_iface;
};

extern struct neigh_table *neighbours;

int neighbour_init(struct err *err);
void neighbour_fini(void);

/**
 * The next hop of a gateway. from: the table whose route or SID asks. dev: the
 * interface that was named, or NULL: the connected network tells. onlink: dev
 * is believed. 0 with err ("next hop 10.0.9.1 is on no connected network").
 * The caller holds the next hop.
 */
uint32_t neighbour_gateway(const struct vrf *from, const struct ip_addr *gateway,
			   struct iface_control *dev, bool onlink, struct err *err);
/** Would neighbour_gateway() find one? *dev becomes the interface. 0 or a negative errno. */
int neighbour_gateway_check(const struct vrf *from, const struct ip_addr *gateway,
			    struct iface_control **dev, bool onlink, struct err *err);

/** The interface a gateway is found on when none is named; NULL: none. */
struct iface_control *neighbour_gateway_iface(const struct vrf *from,
					      const struct ip_addr *gateway);

/** The interface's MAC, MTU, state or networks changed: publish its neighbours anew. */
void neighbours_refresh(struct iface_control *c);
/** A route that is no neighbour's came or went: who below it still wants a host route? */
void neighbours_route_changed(struct vrf *v, const struct ip_prefix *prefix);
/** Cached gateways may be wrong from now on. */
void neighbour_gateways_changed(void);
/** Does any route, group or SID lead to a neighbour of the interface? */
bool neighbours_in_use(const struct iface_control *c);

/* --- frames (net_arp.c, net_nd.c) -------------------------------------------------- */

/** A frame of the router's own with its link header written (VLAN tag included), room for
 * `size` bytes after it at *payload; NULL: no buffer. */
struct rte_mbuf *net_frame(const struct iface *iface, const uint8_t dst[6], uint16_t ethertype,
			   uint16_t size, void **payload);
/** Ask for an address: to mac, or to everybody when NULL. */
void net_arp_request(const struct iface *iface, const struct ip_addr *target, const uint8_t *mac);
void net_nd_solicit(const struct iface *iface, const struct ip_addr *target, const uint8_t *mac);

#endif
