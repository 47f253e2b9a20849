/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UDP_SOCKETS_H
#define UDP_SOCKETS_H

/**
 * @file
 * UDP sockets as part of the network that is configured: addresses they may be bound
 * to, ports whose packets may be for them, what workers counted. Control thread only.
 */

#include "console.h"
#include "demux.h"
#include "iface.h"
#include "vrf.h"

/** Tables without sockets, and what workers need. After net_init(), before workers run. */
int udp_sockets_init(struct err *err);
/** After workers have stopped for good, before net_fini(). */
void udp_sockets_fini(void);

/** udp_bind() for an address that must be the router's own, a group's or a broadcast.
 * -EADDRNOTAVAIL, -EINVAL (a link-local address without interface) and what udp_bind() says, with
 * err. */
int udp_sockets_bind(const struct udp_bind *bind, uint32_t *id, struct err *err);
/** May it be bound there as things are? 0 or as above. */
int udp_sockets_check(const struct udp_bind *bind, struct err *err);
/** udp_connect() from the address the route suggests. -ENETUNREACH and what udp_connect() says. */
int udp_sockets_connect(uint32_t id, const struct ip_addr *remote, uint16_t port, struct err *err);
int udp_sockets_close(uint32_t id, struct err *err);

/** The interface has moved to another VRF: sockets bound to it follow. 0 or -ENOMEM with err. */
int udp_sockets_iface_moved(const struct iface_control *c, struct err *err);
/** The interface, or the VRF device, goes: so do the sockets bound to it. */
void udp_sockets_forget_iface(const struct iface_control *c);
void udp_sockets_forget_vrf(const struct vrf *v);

/** Of all workers, since it was bound or cleared. */
void udp_sockets_counters(uint32_t id, struct udp_counters *sum);
void udp_sockets_clear(uint32_t id);

/** "*:53", "10.0.0.1:53", "[::]:53"; returns buf. */
#define UDP_ADDRESS_TEXT (IP_ADDR_TEXT + 8)
const char *udp_address_format(const struct ip_addr *addr, uint16_t port,
			       char buf[UDP_ADDRESS_TEXT]);

/** udp ... */
void udp_commands_register(struct console *console);
/** The next line of `show config` that makes sockets, without a newline: true; false: no
 * more. *at: 0 to begin with. */
struct out;
struct udp_config_at {
	uint32_t socket; /**< the next one to look at */
	uint32_t number; /**< id it will have when the lines are carried out */
	bool connect;	 /**< the bind line of `socket` has been written */
};
bool udp_config_line(struct udp_config_at *at, struct out *line);

#endif
