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

#define VRF_MAX  65536
#define VRF_MAIN 0

/** The tables of a VRF, by VRF index; both NULL where there is none. */
struct vrf_fibs {
	const struct fib4 *fib4;
	const struct fib6 *fib6;
};
extern struct vrf_fibs vrf_fibs[VRF_MAX];

#endif
