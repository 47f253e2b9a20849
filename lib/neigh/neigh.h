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

/** One neighbour. Owned by the table; fields are for reading only. */
struct neigh {
	uint16_t iface;
	uint8_t state;       /**< enum neigh_state */
	bool has_mac;        /**< packets can be sent: every state but INCOMPLETE and FAILED */
	bool router;         /**< said so in a neighbour advertisement */
	uint8_t mac[6];
	struct ip_addr addr;
	uint32_t user;       /**< the owner's: its next-hop id. May be written by the owner */
	uint32_t users;      /**< routes and SIDs holding it; see neigh_hold */
	uint64_t confirmed;  /**< last proof of reachability, ms */
	uint64_t used;       /**< last known use, ms */
	unsigned held;       /**< packets waiting */
	struct neigh_private *private;
};

/** What the owner does for the table. ctx is given at creation. None of these
 * may call back into the table for the same neighbour, except as noted. */
struct neigh_ops {
	/** A neighbour came into being; set n->user. 0, or -errno: it does not. */
	int (*created)(void *ctx, struct neigh *n);
	/** MAC, state STALE or not, or usability changed: make workers see it. */
	void (*publish)(void *ctx, struct neigh *n);
	/** The neighbour is about to be freed. */
	void (*removed)(void *ctx, struct neigh *n);
	/** Send an ARP request or neighbour solicitation: to the MAC known so far
	 * if unicast, else broadcast or to the solicited-node group. */
	void (*solicit)(void *ctx, const struct neigh *n, bool unicast);
	/** n has a MAC now: send the packet that waited. Takes the packet over. */
	void (*release)(void *ctx, const struct neigh *n, struct rte_mbuf *packet);
	/** Nobody answered, or there is no room: drop. Takes the packet over.
	 * unreachable: resolution failed (an ICMP error is due), rather than no room. */
	void (*fail)(void *ctx, const struct neigh *n, struct rte_mbuf *packet, bool unreachable);
};

/** Limits and times; neigh_config_default() gives Linux's. */
struct neigh_config {
	unsigned max_entries;        /**< not counting PERMANENT and held ones; 1024..., oldest unused go first */
	unsigned max_held;           /**< packets per neighbour; the oldest is dropped for a new one */
	unsigned max_held_total;     /**< packets in all */
	unsigned retrans_ms;         /**< between solicitations: 1000 */
	unsigned multicast_solicits; /**< 3 */
	unsigned unicast_solicits;   /**< 3 */
	unsigned base_reachable_ms;  /**< 30000, times 0.5 to 1.5 at random (RFC 4861 6.3.2) */
	unsigned delay_first_ms;     /**< 5000 */
	unsigned gc_stale_ms;        /**< unused entries go after: 60000 */
};
void neigh_config_default(struct neigh_config *config);

struct neigh_table *neigh_table_create(const struct neigh_config *config,
				       const struct neigh_ops *ops, void *ctx, struct err *err);
/** Held packets go to ops.fail, entries to ops.removed. */
void neigh_table_destroy(struct neigh_table *table);

struct neigh *neigh_find(struct neigh_table *table, uint16_t iface, const struct ip_addr *addr);
/** Find or create (INCOMPLETE, nothing sent yet). NULL with err: table full or no memory. */
struct neigh *neigh_get(struct neigh_table *table, uint16_t iface, const struct ip_addr *addr,
			uint64_t now, struct err *err);
/** A route or SID points at it: it is kept while anybody holds it, whatever its state. */
void neigh_hold(struct neigh *n);
void neigh_unhold(struct neigh_table *table, struct neigh *n, uint64_t now);

/** `ip neigh add` / `replace`: PERMANENT. -EEXIST when !replace and an entry with a MAC exists. */
int neigh_set_permanent(struct neigh_table *table, uint16_t iface, const struct ip_addr *addr,
			const uint8_t mac[6], bool replace, uint64_t now, struct err *err);
/** `ip neigh del`. A held neighbour stays, without its MAC. 0 or -ENOENT. */
int neigh_delete(struct neigh_table *table, uint16_t iface, const struct ip_addr *addr,
		 uint64_t now, struct err *err);
/** Forget every neighbour of the interface (permanent ones too if all). */
void neigh_flush_iface(struct neigh_table *table, uint16_t iface, bool all, uint64_t now);

/**
 * A packet needs this neighbour's MAC. If it is known the packet is released
 * at once; else it is held and the resolution started if it is not running. A
 * FAILED neighbour starts anew. Takes the packet over.
 */
void neigh_resolve(struct neigh_table *table, struct neigh *n, struct rte_mbuf *packet,
		   uint64_t now);
/** A worker sent along a STALE neighbour. */
void neigh_used(struct neigh_table *table, struct neigh *n, uint64_t now);

/**
 * The neighbour said its MAC: an ARP packet, or NS/NA with a link-layer
 * address option. create: make an entry if there is none (it asked for us, so
 * we will answer: RFC 826, RFC 4861 7.2.3).
 * solicited and override as in a neighbour advertisement (RFC 4861 7.2.5); an ARP
 * reply is solicited + override, an ARP request or gratuitous ARP override only.
 * mac NULL: an NA without the option.
 */
void neigh_learn(struct neigh_table *table, uint16_t iface, const struct ip_addr *addr,
		 const uint8_t *mac, bool create, bool solicited, bool override, bool router,
		 uint64_t now);

/** Timers: call about every 100 ms. */
void neigh_tick(struct neigh_table *table, uint64_t now);

/** Walk all in order of iface and address; the table must not change meanwhile. */
struct neigh *neigh_next(struct neigh_table *table, const struct neigh *after);
unsigned neigh_count(const struct neigh_table *table);
unsigned neigh_held(const struct neigh_table *table);
/** "REACHABLE"..., as iproute2 prints it. */
const char *neigh_state_name(enum neigh_state state);

/* --- packets (arp.c, nd.c) ---------------------------------------------------- */

/** ARP for IPv4 over Ethernet, addresses in network order. */
struct arp {
	bool request;
	uint8_t sender_mac[6];
	uint8_t target_mac[6];
	struct ip_addr sender;
	struct ip_addr target;
};

/** Parse the bytes after the Ethernet (or VLAN) header. 0, or -EINVAL: malformed or not
 * IPv4 over Ethernet (also a sender MAC that is zero, broadcast or multicast). */
int arp_parse(const void *data, size_t size, struct arp *arp);
/** Write 28 bytes. */
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
 * at offset 40. 0, or -EINVAL malformed, or -ENOENT: not NS or NA.
 */
int nd_parse(const void *ip6, size_t size, struct nd *nd);
/** Write IPv6 header, ICMPv6 and option; returns the size (64, 72 or 80... at most ND_SIZE_MAX). */
size_t nd_write(void *ip6, const struct nd *nd, const struct ip_addr *src,
		const struct ip_addr *dst);
#define ND_SIZE_MAX 96

/** ff02::1:ffXX:XXXX of an address (RFC 4291 2.7.1), and a group's MAC (RFC 2464 7). */
struct ip_addr nd_solicited_node(const struct ip_addr *addr);
void ip6_multicast_mac(const struct ip_addr *group, uint8_t mac[6]);
/** fe80:: with the modified EUI-64 of the MAC (RFC 4291 appendix A). */
struct ip_addr ip6_link_local_of(const uint8_t mac[6]);

#endif
