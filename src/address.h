/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ADDRESS_H
#define ADDRESS_H

/**
 * @file
 * Addresses of interfaces, and the routes each brings: its own (/32 or /128),
 * its network's, and IPv4's subnet broadcast. A link-local address brings none:
 * it means something on its link only. Control thread only.
 */

#include "iface.h"
#include "vrf.h"

/** 0 or a negative errno with err, nothing changed. */
int address_add(struct iface_control *c, const struct iface_address *address, struct err *err);
/** len above 128: whatever its length. */
int address_del(struct iface_control *c, const struct ip_addr *addr, unsigned len, struct err *err);

/** Make or give up the routes of all addresses of the interface in this table.
 * 0, or a negative errno with nothing changed. */
int addresses_attach(struct iface_control *c, struct vrf *v, struct err *err);
void addresses_detach(struct iface_control *c, struct vrf *v);

#endif
