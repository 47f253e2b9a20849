/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NEIGH_H
#define NEIGH_H

/**
 * @file
 * Neighbours: which MAC answers for an IP address on an interface, how sure we
 * are, and which packets wait for the answer (RFC 826, RFC 4861 7.3).
 *
 * This is bookkeeping for the control thread. What workers see of a neighbour
 * is a next hop that the owner publishes when told to by neigh_ops.publish. A
 * worker that meets a next hop without a MAC hands the packet over, and it is
 * held here; one that sends along a STALE next hop says so once, which starts
 * the reachability probe.
 *
 *              solicit answered              reachable time over
 *  INCOMPLETE ─────────────────▶ REACHABLE ─────────────────────▶ STALE
 *      │ 3 tries, no answer          ▲  ▲                           │ used
 *      ▼                             │  └── confirmed ── DELAY ◀────┘
 *    FAILED                          │ answered            │ 5 s
 *      ▲                             └────────── PROBE ◀───┘
 *      └─────── 3 tries, no answer ────────────────┘
 *
 * PERMANENT entries (`ip neigh add`) never change by themselves.
 *
 * A FAILED neighbour starts anew with the next packet, and is never solicited
 * more than once per retrans_ms, however many packets ask for it. One that no
 * route holds is forgotten after five seconds, as is one that was looked up and
 * given no packet. One that a route holds and that is deleted is as it was before the
 * first packet: INCOMPLETE, and nobody is asked (neigh_is_unasked).
 *
 * All functions: control thread only. Times are milliseconds on any clock that
 * does not go back, given by the caller, so that tests own time.
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "base.h"

enum neigh_state {
	NEIGH_INCOMPLETE,
	NEIGH_REACHABLE,
	NEIGH_STALE,
	NEIGH_DELAY,
	NEIGH_PROBE,
	NEIGH_FAILED,
	NEIGH_PERMANENT,
};

struct neigh_table;

/**
 * One neighbour. Owned by the table; fields are for reading only. A pointer is
 * good while the neighbour is held (neigh_hold), else until the next call that
 * may remove it: neigh_get, neigh_learn, neigh_delete, neigh_flush_iface and
 * neigh_tick.
 */
struct neigh {
	uint16_t iface;
	uint8_t state; /**< enum neigh_state */
	bool has_mac;  /**< packets can be sent: every state but INCOMPLETE and FAILED */
	bool router;   /**< said so in a neighbour advertisement */
	uint8_t mac[6];
	struct ip_addr addr;
	uint32_t user;	    /**< the owner's: its next-hop id. May be written by the owner */
	uint32_t users;	    /**< routes and SIDs holding it; see neigh_hold */
	uint64_t confirmed; /**< last proof of reachability, ms */
	uint64_t used;	    /**< last known use, ms */
	unsigned held;	    /**< packets waiting */
	struct neigh_private *private;
};

/**
 * What the owner does for the table; ctx is given at creation. All are wanted.
 * They may call back into the table (the ICMP error for a packet that failed
 * may need another neighbour, or the same one) and remove what they like; each
 * packet is still handed over once. Not from here: neigh_table_destroy, and walks
 * with neigh_next. When called, the neighbour is in its new state, and what a
 * packet was released for has been published.
 */
struct neigh_ops {
	/** A neighbour came into being, without a MAC: set n->user. neigh_hold is
	 * allowed already. 0, or -errno: it does not come into being. */
	int (*created)(void *ctx, struct neigh *n);
	/** has_mac, the MAC, or being STALE changed: make workers see it. Not
	 * called for other changes, nor for a new neighbour without a MAC. */
	void (*publish)(void *ctx, struct neigh *n);
	/** The neighbour is about to be freed; it can no longer be found. */
	void (*removed)(void *ctx, struct neigh *n);
	/** Send an ARP request or neighbour solicitation: to the MAC known so far
	 * if unicast, else broadcast or to the solicited-node group. */
	void (*solicit)(void *ctx, const struct neigh *n, bool unicast);
	/** n has a MAC now: send the packet that waited. Takes the packet over. */
	void (*release)(void *ctx, const struct neigh *n, struct rte_mbuf *packet);
	/** Nobody answered, or there is no room: drop. Takes the packet over.
	 * unreachable: resolution failed (an ICMP error is due), rather than no room
	 * or a neighbour that was deleted. */
	void (*fail)(void *ctx, const struct neigh *n, struct rte_mbuf *packet, bool unreachable);
};

/** Limits and times; neigh_config_default() gives Linux's, except that 1024
 * entries, Linux's limit, have proved too few for one /22. */
struct neigh_config {
	/** 4096, not counting PERMANENT and held ones. A full table makes room:
	 * the oldest FAILED goes, or else the oldest STALE. */
	unsigned max_entries;
	unsigned max_held;	     /**< packets per neighbour: 64; a new one drops the oldest */
	unsigned max_held_total;     /**< packets in all: 1024; a new one drops the oldest */
	unsigned retrans_ms;	     /**< between solicitations: 1000 */
	unsigned multicast_solicits; /**< 3 */
	unsigned unicast_solicits;   /**< 3 */
	unsigned base_reachable_ms;  /**< 30000, times 0.5 to 1.5 at random (RFC 4861 6.3.2) */
	unsigned delay_first_ms;     /**< 5000 */
	unsigned gc_stale_ms;	     /**< a STALE neighbour goes when unused for: 60000 */
	uint64_t seed;		     /**< of the random times and the hash; 0: take the clock */
};
void neigh_config_default(struct neigh_config *config);

/** config and ops are copied. NULL with err: a limit out of range, or no memory. */
struct neigh_table *neigh_table_create(const struct neigh_config *config,
				       const struct neigh_ops *ops, void *ctx, struct err *err);
/** Held packets go to ops.fail, entries (held by routes too) to ops.removed. */
void neigh_table_destroy(struct neigh_table *table);

struct neigh *neigh_find(struct neigh_table *table, uint16_t iface, const struct ip_addr *addr);
/** Find or create (INCOMPLETE, nothing sent yet). NULL with err: table full, no
 * memory, refused by ops.created, or not a unicast address. */
struct neigh *neigh_get(struct neigh_table *table, uint16_t iface, const struct ip_addr *addr,
			uint64_t now, struct err *err);
/** A route or SID points at it: it is kept while anybody holds it, whatever its
 * state. neigh_unhold does not free it at once; that is left to neigh_tick. */
void neigh_hold(struct neigh *n);
void neigh_unhold(struct neigh_table *table, struct neigh *n, uint64_t now);

/** `ip neigh add` / `replace`: PERMANENT, and what waits is released. -EEXIST
 * when !replace and an entry with a MAC exists; -EINVAL: MAC zero, or not a unicast
 * address. No limit on their number. */
int neigh_set_permanent(struct neigh_table *table, uint16_t iface, const struct ip_addr *addr,
			const uint8_t mac[6], bool replace, uint64_t now, struct err *err);
/** `ip neigh del`. A held neighbour stays, unasked: the next packet resolves it
 * anew. Packets that wait go to ops.fail, unreachable false. 0, or -ENOENT: there is
 * none, or only an unasked one. */
int neigh_delete(struct neigh_table *table, uint16_t iface, const struct ip_addr *addr,
		 uint64_t now, struct err *err);
/** neigh_delete every neighbour of the interface (permanent ones only if all). */
void neigh_flush_iface(struct neigh_table *table, uint16_t iface, bool all, uint64_t now);

/**
 * A packet needs this neighbour's MAC. If it is known the packet is released
 * at once, and a STALE neighbour counts as used; else it is held, and the
 * resolution started if it is not running. Takes the packet over; it is never
 * looked into.
 */
void neigh_resolve(struct neigh_table *table, struct neigh *n, struct rte_mbuf *packet,
		   uint64_t now);
/** A worker sent along a STALE neighbour. */
void neigh_used(struct neigh_table *table, struct neigh *n, uint64_t now);

/**
 * The neighbour said its MAC: an ARP packet, or NS/NA with a link-layer
 * address option. RFC 4861 7.2.5 (NA), 7.2.3 (NS), RFC 826; PERMANENT ones do
 * not listen, and addresses or MACs that are no station's are ignored.
 *
 *                        create  solicited  override  router
 *   ARP reply to us      false   true       true      -
 *   ARP request to us    true    false      true      -      we will answer it
 *   gratuitous ARP       false   false      true      -
 *   NS to us             true    false      true      -      we will answer it
 *   NA                   false   its S      its O     its R
 *
 * router is not looked at with create. mac NULL: an NA without the option.
 */
void neigh_learn(struct neigh_table *table, uint16_t iface, const struct ip_addr *addr,
		 const uint8_t *mac, bool create, bool solicited, bool override, bool router,
		 uint64_t now);

/** Timers: call about every 100 ms. */
void neigh_tick(struct neigh_table *table, uint64_t now);

/** Walk all (after NULL: the first) in order of iface, IPv4 before IPv6, and
 * address. The table must not change meanwhile; the first step may sort. */
struct neigh *neigh_next(struct neigh_table *table, const struct neigh *after);
unsigned neigh_count(const struct neigh_table *table);
unsigned neigh_held(const struct neigh_table *table);
/** Is it there only because a route holds it, or somebody looked it up: no packet has
 * asked for it yet, or none since it was deleted? A user takes it for not there. */
bool neigh_is_unasked(const struct neigh *n);
/** "REACHABLE"..., as iproute2 prints it. */
const char *neigh_state_name(enum neigh_state state);

/* --- packets (arp.c, nd.c) ---------------------------------------------------- */

/** ARP for IPv4 over Ethernet (RFC 826), addresses in network order. */
struct arp {
	bool request;
	uint8_t sender_mac[6];
	uint8_t target_mac[6];
	struct ip_addr sender;
	struct ip_addr target;
};

/**
 * Parse the bytes after the Ethernet (or VLAN) header; padding may follow. 0,
 * or -EINVAL: malformed, not IPv4 over Ethernet, a sender MAC that is no
 * station's, a sender IP that is no host's (0.0.0.0 is allowed in a request, a
 * probe: RFC 5227), or a target IP that is multicast or loopback.
 */
int arp_parse(const void *data, size_t size, struct arp *arp);
/** Write ARP_SIZE bytes. */
void arp_write(void *data, const struct arp *arp);
#define ARP_SIZE 28

/** Neighbour solicitation or advertisement (RFC 4861 4.3, 4.4). */
struct nd {
	uint8_t type; /**< 135 or 136 */
	bool router, solicited, override;
	bool has_mac; /**< source (NS) or target (NA) link-layer address option */
	uint8_t mac[6];
	struct ip_addr target;
};

/**
 * Parse and validate (RFC 4861 7.1.1, 7.1.2: hop limit 255, checksum, lengths,
 * code 0, options, target not multicast, rules about :: as source) an IPv6
 * packet of size bytes starting at its IPv6 header, ICMPv6 directly behind it
 * at offset 40; padding may follow. 0, or -EINVAL: malformed (also a MAC that is
 * no station's), or -ENOENT: not NS or NA.
 */
int nd_parse(const void *ip6, size_t size, struct nd *nd);
/** Write IPv6 header, ICMPv6 with its checksum, and the option if has_mac (but
 * never in an NS from ::). ip6 has room for ND_SIZE_MAX; returns the size, 64 or 72. */
size_t nd_write(void *ip6, const struct nd *nd, const struct ip_addr *src,
		const struct ip_addr *dst);
#define ND_SIZE_MAX 96

/** ff02::1:ffXX:XXXX of an address (RFC 4291 2.7.1), and a group's MAC (RFC 2464 7). */
struct ip_addr nd_solicited_node(const struct ip_addr *addr);
void ip6_multicast_mac(const struct ip_addr *group, uint8_t mac[6]);
/** fe80:: with the modified EUI-64 of the MAC (RFC 4291 appendix A). */
struct ip_addr ip6_link_local_of(const uint8_t mac[6]);

#endif
