/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_ROUTE_H
#define NET_ROUTE_H

/**
 * @file
 * Static routes: from what `ip route` asks for to a claim on a prefix.
 * Control thread only.
 */

#include "net_nexthop.h"
#include "route.h"

/** One way a route may go. */
struct route_hop {
	struct ip_addr via;	   /**< gateway; family 0: none, straight to dev */
	struct iface_control *dev; /**< NULL: the connected network tells */
	bool onlink;
	uint16_t weight; /**< 1 to 256 */
};

struct route_request {
	struct ip_prefix prefix;
	enum nexthop_type type; /**< BLACKHOLE, UNREACHABLE, PROHIBIT; NONE: along the hops */
	uint8_t proto;
	unsigned hop_count;
	struct route_hop hops[GROUP_MAX];
};

/** Add the route; replace: put it in the place of a route or SID that is there. 0 or a
 * negative errno with err, nothing changed. */
int static_route_set(struct vrf *v, const struct route_request *request, bool replace,
		     struct err *err);
/** The interface goes, or goes elsewhere: static routes through it go in every table. */
void routes_forget_iface(const struct iface_control *c);

/** The interface a next hop leads to, 0: none or several. */
uint16_t nexthop_iface(uint32_t nexthop);

#endif
