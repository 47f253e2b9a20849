/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_ROUTE_SHOW_H
#define NET_ROUTE_SHOW_H

/**
 * @file
 * A route as iproute2 prints it. Control thread only.
 */

#include "net_route.h"
#include "out.h"

/** One line (or several, for ECMP), or one JSON object. table: say which table. */
void route_claim_show(struct out *out, const struct vrf *v, const struct ip_prefix *prefix,
		      const struct route_claim *claim, bool table);
/** "default", "10.1.2.3" or "10.1.0.0/16", as iproute2 shortens it. */
const char *route_prefix_text(const struct ip_prefix *prefix, char buf[IP_PREFIX_TEXT]);
/** "via 10.0.2.2 dev 2 " or the JSON keys gateway and dev. */
void route_way_show(struct out *out, uint32_t nexthop);

#endif
