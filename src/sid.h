/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SID_H
#define SID_H

/**
 * @file
 * SRv6 segments of this router (RFC 8986): prefixes of an IPv6 table whose
 * next hop is a behaviour. Control thread only.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "net.h"
#include "vrf.h"

/** What was asked for. */
struct sid_config {
	struct ip_prefix prefix;
	uint16_t vrf;	   /**< table the SID is a prefix of */
	uint8_t behaviour; /**< enum sid_behaviour */
	uint8_t flavours;  /**< SID_PSP... */
	struct ip_addr nh; /**< nh4 or nh6; family 0: none */
	uint16_t oif;	   /**< interface of nh, 0: the connected network tells */
	uint16_t table;	   /**< VRF index of table or vrftable, if has_table */
	bool has_table;
	bool vrftable;		  /**< it was written as vrftable */
	char dev[IFACE_NAME_LEN]; /**< as written, "" when not */
	uint16_t dev_iface;	  /**< interface it names, 0: a VRF device or none */
	uint8_t proto;
};

struct sid {
	struct sid_config config;
	uint32_t nexthop;   /**< own index */
	uint32_t adjacency; /**< held next hop of nh; 0: none, or not to be reached at present */
	bool address;	    /**< the prefix is an address of the router too */
	TAILQ_ENTRY(sid) link;
};

/** Make the SID, or replace what `ip route` put there. 0 or a negative errno with err, nothing
 * changed. */
int sid_set(const struct sid_config *config, bool replace, struct err *err);
/** Nothing leads to it any more. */
void sid_free(struct sid *sid);
void sids_fini(void);

/** Networks or interfaces changed: find the adjacencies again. */
void sids_refresh(void);
/** An address of the router came or went. */
void sid_address_changed(struct vrf *v, const struct ip_addr *addr);
/** Interface goes: SIDs with this `dev` go too, adjacencies on it are given up. */
void sids_forget_iface(const struct iface_control *c);
/** The VRF device goes: SIDs with this `dev` go too. */
void sids_forget_vrf(const struct vrf *v);

/** The SIDs of a table one by one in order; after: the last one's prefix, NULL to begin. */
struct sid *sid_next(const struct vrf *v, const struct ip_prefix *after);
/** "psp,usd": the flavours' words; returns buf. */
#define SID_FLAVOURS_TEXT 16
const char *sid_flavours_text(unsigned flavours, char buf[SID_FLAVOURS_TEXT]);

/** `ip sr tunsrc`: source address of encapsulated packets; family 0: none set. */
extern struct ip_addr sr_tunsrc;

#endif
