/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_H
#define NET_H

/**
 * @file
 * The network as configured: interfaces, VRFs, addresses, neighbours, routes
 * and SIDs, and how each turns into what workers read (iface.h, fib.h,
 * nexthop.h). Control thread only.
 */

#include "console.h"
#include "fib.h"
#include "iface.h"
#include "neigh.h"
#include "nexthop.h"
#include "port.h"
#include "rcu.h"

/** Shared by all threads; set up by net_init. */
extern struct nexthop_table *nexthops;
extern struct rcu *rcu;

/** Makes the main VRF, one interface a port (in its order), and empty tables. */
int net_init(struct err *err);
/** After workers have stopped for good. */
void net_fini(void);

/** Registers ip ..., show sid, clear sid, port start|stop, set promisc. */
void net_commands_register(struct console *console);

/** The commands that would rebuild the present state, one a line; may be long (CALL_MORE). */
int net_show_config(struct call *call);

/** About every 100 ms: neighbour timers; about every second: link state. */
void net_tick(uint64_t now_ms);

/* --- packets and words from workers, see handoff.h ---------------------------- */

/** An ARP packet: its ARP header lies at l3 in the data. Takes the packet over. */
void net_arp_input(uint16_t iface, struct rte_mbuf *packet, uint16_t l3);
/** A neighbour solicitation or advertisement. Takes the packet over. */
void net_nd_input(uint16_t iface, struct rte_mbuf *packet, uint16_t l3);
/** A packet whose next hop (RESOLVE) has no MAC yet. Takes the packet over. */
void net_resolve(uint32_t nexthop, struct rte_mbuf *packet);
/** A packet for a neighbour not met yet: dst on this interface. Takes the packet over. */
void net_resolve_connected(uint16_t iface, const struct ip_addr *dst, struct rte_mbuf *packet);
/** A worker sent along a STALE neighbour's next hop. */
void net_nexthop_used(uint32_t nexthop);

/** The source address for a packet the router itself sends to dst in this VRF (as `ip route get`
 * answers); false with err: no route, or no address. */
bool net_source_for(uint16_t vrf, const struct ip_addr *dst, struct ip_addr *source,
		    struct err *err);
/** VRF index from a VRF's name; -ENOENT with err. */
int net_vrf_find(const char *name, uint16_t *vrf, struct err *err);

#endif
