/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ROUTE_H
#define ROUTE_H

/**
 * @file
 * Who claims a prefix, and who wins.
 *
 * An address, a static route, a SID, a neighbour may all name the same prefix.
 * Each is a claim of its own kind, at most one a kind; the FIB holds the
 * next hop of the strongest, and when that one goes, the next comes back.
 *
 * Nearly every prefix has one claim. That one lives in the FIB entry itself:
 * `value` is its next hop, `user` the rest of it. Only where several meet does
 * `user` name a record that holds them all:
 *
 *     user  0 | protocol (8) | on-link (1) | kind (3)       one claim
 *           1 | index of the record                         several
 *
 * A claim holds its next hop (net_nexthop.h), but for a neighbour's host route,
 * which goes when the neighbour does. Control thread only.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base.h"
#include "vrf.h"

/** From the weakest to the strongest. */
enum route_kind {
	ROUTE_BUILTIN,	 /**< what no table may be without: martians, link scope */
	ROUTE_NEIGHBOUR, /**< a neighbour met on a connected network */
	ROUTE_STATIC,	 /**< `ip route add` */
	ROUTE_CONNECTED, /**< the network of an address */
	ROUTE_BROADCAST, /**< its broadcast address (IPv4) */
	ROUTE_LOCAL,	 /**< an address of the router */
	ROUTE_SID,	 /**< an SRv6 segment */
	ROUTE_KINDS,
};

/** rtm_protocol of routes that said nothing else, as iproute2 has it. */
#define ROUTE_PROTO_KERNEL 2
#define ROUTE_PROTO_BOOT   3
#define ROUTE_PROTO_STATIC 4

struct route_claim {
	uint32_t nexthop; /**< next-hop index */
	uint8_t kind;	  /**< enum route_kind */
	uint8_t proto;	  /**< rtm_protocol, for show */
	bool onlink;	  /**< the gateway was not looked for among connected networks */
};

/** A prefix with all its claims, the strongest first. */
struct route {
	struct ip_prefix prefix;
	unsigned count;
	struct route_claim claims[ROUTE_KINDS];
};

/** Make the claim, or replace the one of its kind; the next hop is held. 0 or a negative errno
 * with err, nothing changed. */
int route_claim(struct vrf *v, const struct ip_prefix *prefix, const struct route_claim *claim,
		struct err *err);
/** The same, but -EEXIST ("route 10.1.0.0/16 exists") where `ip route` has put a route or SID. */
int route_claim_new(struct vrf *v, const struct ip_prefix *prefix, const struct route_claim *claim,
		    struct err *err);
/** Give the claim of this kind up. 0, -ENOENT, or -ENOMEM (nothing changed). A bare table that
 * only this SID looked up in is gone afterwards, even if it is v. */
int route_unclaim(struct vrf *v, const struct ip_prefix *prefix, enum route_kind kind);

/** The prefix itself. False: nobody claims it. */
bool route_get(const struct vrf *v, const struct ip_prefix *prefix, struct route *route);
/** The longest prefix that covers addr. */
bool route_match(const struct vrf *v, const struct ip_addr *addr, struct route *route);
/** Walk a family's prefixes; see fib4_next(). */
bool route_next(const struct vrf *v, uint8_t family, const struct ip_prefix *after,
		struct route *route);
/** The tables are gone: free what lay beside them. */
void route_fini(void);
/** What `ip route` put there, a SID or a static route; NULL: nothing. */
const struct route_claim *route_configured(const struct route *route);
/** The claim of this kind, or NULL. */
const struct route_claim *route_claim_of(const struct route *route, enum route_kind kind);

#endif
