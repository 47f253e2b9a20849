/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NEXTHOP_H
#define NEXTHOP_H

/**
 * @file
 * What is to happen to a packet once its destination has been looked up.
 *
 * A FIB value is an index into `slots`. A slot points at an immutable entry of
 * one cache line. To change where packets go, the control thread writes a new
 * entry, swaps the slot's pointer with one release store and retires the old
 * entry; workers take no reference and write nothing here. Neighbours, ECMP
 * groups, SIDs and "blackhole" are all next hops, so that one lookup
 * answers every question.
 *
 *     FIB ──value──▶ slots[ ] ──▶ entry (64 bytes, immutable)
 *                                   ├ ADJACENT: port, MTU, rewrite
 *                                   ├ GROUP: table of values, picked by flow hash
 *                                   └ SID: behaviour, table or adjacency (a value)
 *
 * Index 0 is "no route", always.
 */

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>

#include "base.h"
#include "rcu.h"

enum nexthop_type {
	NEXTHOP_NONE,	     /**< no route */
	NEXTHOP_BLACKHOLE,   /**< drop silently */
	NEXTHOP_UNREACHABLE, /**< drop, ICMP host unreachable */
	NEXTHOP_PROHIBIT,    /**< drop, ICMP administratively prohibited */
	NEXTHOP_MARTIAN,     /**< a destination that is never forwarded to */
	NEXTHOP_LOCAL,	     /**< an address of the router */
	NEXTHOP_LINK_SCOPE,  /**< IPv6 link-local or multicast: this link only */
	NEXTHOP_ADJACENT,    /**< send with this rewrite */
	NEXTHOP_RESOLVE,     /**< a neighbour whose MAC is not known: the control thread asks */
	NEXTHOP_CONNECTED,   /**< directly on this interface, neighbour not met yet */
	NEXTHOP_GROUP,	     /**< ECMP: pick by flow hash */
	NEXTHOP_SID,	     /**< end of an SRv6 segment */
};

/** RFC 8986 4; values are ours. */
enum sid_behaviour {
	SID_END,
	SID_END_X,
	SID_END_T,
	SID_END_DX4,
	SID_END_DX6,
	SID_END_DT4,
	SID_END_DT6,
	SID_END_DT46,
	SID_BEHAVIOUR_COUNT,
};

/** RFC 8986 4.16 flavours, bits. */
#define SID_PSP 1u
#define SID_USP 2u
#define SID_USD 4u

/** Bytes the rewrite field can hold, the frame's link header at its end. */
#define NEXTHOP_REWRITE_MAX 24

/** Flags of an entry. */
#define NEXTHOP_STALE	1u /**< ADJACENT whose neighbour is STALE: tell the control thread once */
#define NEXTHOP_ADDRESS 2u /**< SID that is an address of the router too */

struct nexthop {
	uint8_t type; /**< enum nexthop_type */
	uint8_t flags;
	uint16_t port;	     /**< ADJACENT: ethdev port out */
	uint16_t iface;	     /**< ADJACENT, RESOLVE, CONNECTED, LOCAL: the interface */
	uint16_t mtu;	     /**< ADJACENT: largest IP packet, bytes */
	uint8_t rewrite_len; /**< ADJACENT: 14, or 18 with a VLAN tag */
	uint8_t behaviour;   /**< SID: enum sid_behaviour */
	uint8_t flavours;    /**< SID: SID_PSP... */
	uint8_t family;	     /**< of the neighbour, or of the prefix */
	uint32_t id;	     /**< own index */
	/** ADJACENT: link header, right-aligned: its last byte is rewrite[23]. */
	uint8_t rewrite[NEXTHOP_REWRITE_MAX];
	union {
		struct {
			uint16_t table;	  /**< SID: VRF index for End.T, End.DT*; see vrf.h */
			uint32_t nexthop; /**< SID: adjacency of End.X, End.DX4, End.DX6 (an index)
					   */
		} sid;
		struct {
			const uint32_t *values; /**< GROUP: mask + 1 next-hop indexes */
			uint32_t mask;
		} group;
	};
	uint32_t refs; /**< only used when built with NOREF_NEXTHOP_REFCOUNT */
} __rte_cache_aligned;
static_assert(sizeof(struct nexthop) == RTE_CACHE_LINE_SIZE, "a next hop is one cache line");

struct nexthop_control;

struct nexthop_table {
	const struct nexthop **slots; /**< NEXTHOP_MAX pointers, untouched pages cost nothing */
	struct nexthop_control *control;
};

#define NEXTHOP_MAX (1u << 20)

/** The entry for a FIB value. Workers and control. */
static inline const struct nexthop *
nexthop_at(const struct nexthop_table *table, uint32_t value)
{
	return __atomic_load_n(&table->slots[value], __ATOMIC_ACQUIRE);
}

/** The member of a group for this flow hash. */
static inline uint32_t
nexthop_group_pick(const struct nexthop *group, uint32_t hash)
{
	return group->group.values[hash & group->group.mask];
}

/* --- control thread only ------------------------------------------------------ */

struct nexthop_table *nexthop_table_create(struct rcu *rcu, struct err *err);
/** No worker may be online. */
void nexthop_table_destroy(struct nexthop_table *table);

/**
 * A new next hop with one reference held by the caller. `contents` is copied
 * (id is set). A GROUP's values must have been made by nexthop_group_values(); they then
 * belong to the entry. Returns its index, or 0 with err filled.
 */
uint32_t nexthop_add(struct nexthop_table *table, const struct nexthop *contents, struct err *err);
/** Swap in new contents; the old entry is retired. 0 or -ENOMEM (nothing changed). */
int nexthop_replace(struct nexthop_table *table, uint32_t id, const struct nexthop *contents);
void nexthop_hold(struct nexthop_table *table, uint32_t id);
/** Gives one reference back. After the last one (returns true) nothing may lead
 * to the index any more; the slot stays readable for a grace period, then it is
 * "no route" and the index free for reuse. */
bool nexthop_release(struct nexthop_table *table, uint32_t id);
uint32_t nexthop_refs(const struct nexthop_table *table, uint32_t id);
/** Next hops in existence. */
uint32_t nexthop_count(const struct nexthop_table *table);

/** One member of an ECMP group. */
struct nexthop_member {
	uint32_t nexthop; /**< index */
	uint32_t weight;  /**< 1 to 256 */
};

/**
 * The lookup table of a group: size a power of two, each member's share of
 * entries as its weight asks, placed by rendezvous hashing so that a member
 * that comes or goes moves only the flows it must. NULL: no memory.
 */
const uint32_t *nexthop_group_values(const struct nexthop_member *members, unsigned n,
				     uint32_t *mask);
/** For values that never reached nexthop_add(). */
void nexthop_group_values_free(const uint32_t *values);

/** "End.DX4"... */
const char *sid_behaviour_name(enum sid_behaviour behaviour);
/** From its name, case ignored; -EINVAL. */
int sid_behaviour_parse(const char *name, enum sid_behaviour *behaviour);

#endif
