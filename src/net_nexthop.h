/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_NEXTHOP_H
#define NET_NEXTHOP_H

/**
 * @file
 * Whose a next hop is, and who keeps it alive.
 *
 * Workers see only the entry of a next hop. The control thread also knows what
 * stands behind an index: an interface, a neighbour, an ECMP group, a SID, or
 * nothing (blackhole and the like, one of each for the whole program). Control
 * thread only.
 */

#include <stdbool.h>
#include <stdint.h>

#include "net.h"

enum nexthop_owner {
	OWNER_NONE,
	OWNER_CONNECTED, /**< struct iface_control */
	OWNER_LOCAL,	 /**< struct iface_control */
	OWNER_NEIGHBOUR, /**< struct neighbour */
	OWNER_GROUP,	 /**< struct group */
	OWNER_SID,	 /**< struct sid */
};

int net_nexthop_init(struct err *err);
void net_nexthop_fini(void);

/** The program's one next hop of a type without contents: BLACKHOLE, UNREACHABLE, PROHIBIT,
 * MARTIAN, LINK_SCOPE. */
uint32_t net_nexthop_shared(enum nexthop_type type);

/** From now on owner stands behind the index; OWNER_NONE: nothing any more. */
void net_nexthop_own(uint32_t nexthop, enum nexthop_owner kind, void *owner);
enum nexthop_owner net_nexthop_owner_kind(uint32_t nexthop);
/** The owner if it is of this kind, else NULL. */
void *net_nexthop_owner(uint32_t nexthop, enum nexthop_owner kind);

/** One more or one less route or SID leads to it. What nobody leads to any more goes. */
void net_nexthop_hold(uint32_t nexthop);
void net_nexthop_release(uint32_t nexthop);
/** Does it lead to an interface without a gateway? */
bool net_nexthop_is_connected(uint32_t nexthop);
/** Could a packet leave along it: is the interface up, the gateway on its network? */
bool net_nexthop_usable(uint32_t nexthop);

/* --- ECMP groups ------------------------------------------------------------------ */

#define GROUP_MAX 64

/** What was asked for; workers' table is made from the members that can be used. */
struct group {
	uint32_t nexthop;
	uint32_t hash;
	uint64_t usable; /**< members in the table, a bit each */
	struct group *next;
	unsigned count;
	struct nexthop_member members[]; /**< each held */
};

/** The group of exactly these members, one for all routes that ask for it; the caller
 * holds it. 0 with err. */
uint32_t group_get(const struct nexthop_member *members, unsigned n, struct err *err);
/** The last route has left it. */
void group_free(struct group *group);
/** An interface or a network came or went: bring the tables up to date. */
void groups_refresh(void);
void groups_fini(void);

#endif
