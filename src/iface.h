/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IFACE_H
#define IFACE_H

/**
 * @file
 * Interfaces and VRFs as workers see them.
 *
 * An interface is a port's untagged side or one of its VLANs. What a worker
 * reads of it is an immutable struct; a change publishes a new one and retires
 * the old. Index 0 is no interface.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base.h"
#include "fib.h"

#define IFACE_MAX      4096
#define IFACE_NAME_LEN 32

/** An address of an interface, with the prefix length of its network. */
struct iface_address {
	struct ip_addr addr;
	uint8_t len;
};

struct iface {
	uint16_t id;
	uint16_t port; /**< ethdev port */
	uint16_t vlan; /**< VLAN id, 0: untagged */
	uint16_t vrf;  /**< index into vrf_fibs */
	uint16_t mtu;  /**< largest IP packet, bytes */
	bool up;
	uint8_t mac[6];
	char name[IFACE_NAME_LEN];
	unsigned address_count;
	struct iface_address addresses[]; /**< as configured, and the IPv6 link-local one */
};

/** By interface index; NULL where there is none. Workers: load with acquire. */
extern const struct iface *ifaces[IFACE_MAX];

static inline const struct iface *
iface_at(unsigned id)
{
	return __atomic_load_n(&ifaces[id], __ATOMIC_ACQUIRE);
}

/** Does the interface have this address? Any thread. */
bool iface_has_address(const struct iface *iface, const struct ip_addr *addr);
/** The address to speak from on this interface to `to`: one of its network if
 * there is, for link-local the link-local one; false: none of the family. Any thread. */
bool iface_source_for(const struct iface *iface, const struct ip_addr *to, struct ip_addr *source);

#define VRF_MAX	 65536
#define VRF_MAIN 0

/** The tables of a VRF, by VRF index; both NULL where there is none. */
struct vrf_fibs {
	const struct fib4 *fib4;
	const struct fib6 *fib6;
};
extern struct vrf_fibs vrf_fibs[VRF_MAX];

/** Grows with each change of a table, before anything the old answer named is let go of: an answer
 * is true while this is what it was before it was looked up. Never 0. Workers: load with acquire.
 */
extern uint32_t route_generation;

/* --- control thread only ---------------------------------------------------------- */

struct neighbour;

/** What the control thread knows of an interface; workers' view is made from it. */
struct iface_control {
	uint16_t id;
	uint16_t port;
	uint16_t vlan;
	uint16_t vrf;
	uint16_t mtu;
	bool admin_up; /**< `ip link set up`: true from the start */
	bool carrier;  /**< of the port, as last acted upon */
	bool mac_set;  /**< `ip link set address` was given */
	bool promisc_set, mtu_set;
	uint8_t mac[6];
	char name[IFACE_NAME_LEN];
	struct iface_address *addresses; /**< as configured, in order */
	unsigned address_count;
	uint32_t connected;  /**< next hop CONNECTED */
	uint32_t local;	     /**< next hop LOCAL */
	uint64_t duplicates; /**< others that claimed an address of ours */
	LIST_HEAD(, neighbour) neighbours;
	struct iface_control *next_name; /**< hash chain */
};

/** One interface a port. */
int iface_init(struct err *err);
void iface_fini(void);

/** By index; NULL where there is none. */
struct iface_control *iface_get(unsigned id);
/** In order of index after id (0: the first); NULL at the end. */
struct iface_control *iface_next(unsigned id);
#define IFACE_FOREACH(c) for ((c) = iface_next(0); (c) != NULL; (c) = iface_next((c)->id))
/** By name, port number or device name; NULL: none. */
struct iface_control *iface_find(const char *name);
/** The interface of the port's untagged frames. */
struct iface_control *iface_of_port(uint16_t port);
/** Up, and so is its port. */
bool iface_is_up(const struct iface_control *c);

/** Show workers the interface as it is now. 0 or -ENOMEM with err. */
int iface_publish(struct iface_control *c, struct err *err);

/* Each: 0, or a negative errno with err and nothing changed. */
int iface_vlan_add(struct iface_control *parent, const char *name, uint16_t vlan, struct err *err);
int iface_vlan_del(struct iface_control *c, struct err *err);
int iface_set_up(struct iface_control *c, bool up, struct err *err);
int iface_set_mtu(struct iface_control *c, uint16_t mtu, struct err *err);
int iface_set_mac(struct iface_control *c, const uint8_t mac[6], struct err *err);
int iface_set_vrf(struct iface_control *c, uint16_t vrf, struct err *err);

/** Carrier of the ports: about every second. */
void iface_poll_links(void);

/** May an interface or VRF device be called this? 0 or -errno with err. */
int iface_name_check(const char *name, struct err *err);

#endif
