/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VRF_H
#define VRF_H

/**
 * @file
 * Routing tables and VRFs, as the control thread knows them. A table is made
 * by a VRF device (`ip link add NAME type vrf table N`) or, bare, by the first
 * route that names it, and a bare one goes with its last route. Control thread
 * only; what workers see of it is vrf_fibs[] in iface.h.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base.h"
#include "fib.h"
#include "iface.h"

#define TABLE_MAIN  254u
#define TABLE_LOCAL 255u

/** A network that addresses of an interface lie in: gateways are looked for in these. */
struct connected {
	struct ip_prefix prefix;
	uint16_t iface;
	uint16_t addresses; /**< of the interface in this network */
};

struct vrf {
	uint16_t idx;		   /**< in vrf_fibs */
	uint32_t table;		   /**< Linux's number */
	bool device;		   /**< made by `ip link add`: name is its name */
	char name[IFACE_NAME_LEN]; /**< "main", a device's name, or "" for a bare table */
	struct fib4 *fib4;
	struct fib6 *fib6;

	/** In order of address and length; of equal networks, the interface that came first is
	 * the one packets go to. */
	struct connected *connected;
	unsigned connected_count, connected_room;
	/** Lengths that occur in `connected`, a bit each. */
	uint64_t lengths4, lengths6[3];

	uint32_t statics; /**< configured routes, without SIDs */
	uint32_t onlink;  /**< of them, those that lead to an interface without a gateway */
	uint32_t sids;	  /**< SIDs that are prefixes of this table */
	uint32_t users;	  /**< SIDs that look up in this table */
	struct vrf *next_table, *next_name; /**< hash chains */
};

/** Makes the main table. */
int vrf_init(struct fib_arena *arena, struct err *err);
void vrf_fini(void);

/** By index; NULL where there is none. */
struct vrf *vrf_at(unsigned idx);
/** The next table in order of index after idx (-1: the first); NULL at the end. */
struct vrf *vrf_next(int idx);
#define VRF_FOREACH(v) for ((v) = vrf_next(-1); (v) != NULL; (v) = vrf_next((v)->idx))

/** By table number; NULL: none. */
struct vrf *vrf_of_table(uint32_t table);
/** By name; NULL: none. */
struct vrf *vrf_of_name(const char *name);

/** A bare table, made if there is none with this number. NULL with err. */
struct vrf *vrf_get_table(uint32_t table, struct err *err);
/** A VRF device for the table, which may exist as a bare one. NULL with err. */
struct vrf *vrf_device_add(const char *name, uint32_t table, struct err *err);
/** The device goes and its table with it; interfaces and SIDs must have left. */
void vrf_device_del(struct vrf *v);
/** Free the table with this index if it is there, bare and empty. */
void vrf_drop_if_unused(uint16_t idx);

/** "main", "vrf red" or "table 100", for sentences; returns buf. */
#define VRF_TEXT (IFACE_NAME_LEN + 8)
const char *vrf_text(const struct vrf *v, char buf[VRF_TEXT]);

/* --- connected networks -------------------------------------------------------- */

/** One address of the interface more in the network. *first: it is the first of
 * any interface there. 0 or -ENOMEM. */
int vrf_connected_add(struct vrf *v, const struct ip_prefix *prefix, uint16_t iface, bool *first);
/** One fewer. Returns the interface the network leads to from now on, 0: none. */
uint16_t vrf_connected_remove(struct vrf *v, const struct ip_prefix *prefix, uint16_t iface);
/**
 * The longest network of at most max_len bits that covers addr; iface: only one
 * of this interface (0: any). NULL: none.
 */
const struct connected *vrf_connected_find(const struct vrf *v, const struct ip_addr *addr,
					   unsigned max_len, uint16_t iface);

#endif
