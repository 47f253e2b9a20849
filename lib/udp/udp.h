/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UDP_H
#define UDP_H

/**
 * @file
 * UDP sockets: who is bound where, and who of them gets a datagram.
 *
 * The control thread binds, connects and closes with the answers bind(2) and
 * connect(2) give on Linux (udp_lib_lport_inuse, inet_rcv_saddr_equal). Workers look up without
 * a lock or a reference (udp_lookup.h): what they may still see is retired through rcu.
 *
 * A datagram goes to the first of these that there is:
 *
 *     1. a socket connected to its sender, with its destination as local address
 *     2. a socket bound to its destination address
 *     3. a socket bound to every address of the family, or (IPv4) of both
 *
 * in the VRF it came in by, and with that destination port. Of several at the same place the
 * kernel's compute_score() decides: bound to the device it came in by (4), an IPv4 socket before
 * one of both families (1), `lcore` of this worker (1); of equal ones the one bound last. A
 * reuseport group counts as one, and, as in the kernel, ends the search unless one of it is
 * connected.
 *
 * Which member of a group: one whose lcore is the worker's if there is, else the flow's hash picks
 * in a table that rendezvous hashing fills: a member that closes moves its own flows,
 * one that comes takes its share from all.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base.h"
#include "rcu.h"
#include "udp_app.h"

#define UDP_SOCKETS_MAX (1u << 20)

/** Ports given to those who ask for port 0: Linux's ip_local_port_range. */
#define UDP_EPHEMERAL_FIRST 32768
#define UDP_EPHEMERAL_LAST  60999

/** What is asked for. */
struct udp_bind {
	struct ip_addr addr; /**< unspecified: every address of the family, see v6only */
	uint16_t port;	     /**< host order; 0: any that is free */
	uint16_t vrf;	     /**< VRF index; 0 is the main table, that is: bound to none */
	uint16_t iface;	     /**< bound to this interface (of that VRF), 0: to none */
	bool reuseport;
	bool v6only; /**< [::] takes IPv6 only */
	int lcore;   /**< -1: none */
	int worker;  /**< the worker on that lcore, -1: none */
	struct udp_app *app;
};

/** A socket, as everybody sees it; immutable once published. */
struct udp_socket {
	uint32_t id;
	uint32_t ref;	       /**< id, and UDP_SINK */
	struct udp_bind bound; /**< its port is the one it got, its address that of connect if it
				  had none */
	struct ip_addr asked;  /**< the address that was asked for */
	struct ip_addr remote; /**< family 0: not connected */
	uint16_t remote_port;
};

/** What a lookup finds: the socket's id, and this bit if its application is the sink. */
#define UDP_SINK	0x80000000u
#define UDP_NONE	UINT32_MAX
#define UDP_REF_ID(ref) ((ref) & (UDP_SOCKETS_MAX - 1))

struct udp_tables;

/** workers: their number. sink: the kind that is marked by UDP_SINK. NULL with err. */
struct udp_tables *udp_create(unsigned workers, struct rcu *rcu, const struct udp_app_ops *sink,
			      struct err *err);
/** Closes all sockets. No worker may be online. NULL is allowed. */
void udp_destroy(struct udp_tables *t);

/**
 * Bind. The caller has seen to it that the address is one the VRF has, a group's or a broadcast.
 * 0 and *id, or a negative errno with err, nothing changed: -EADDRINUSE, -ENOSPC, -ENOMEM, or
 * what the application says. The app is the caller's until then.
 */
int udp_bind(struct udp_tables *t, const struct udp_bind *bind, uint32_t *id, struct err *err);
/** Connect: from now on only datagrams from there. local: the address to speak from, used when
 * it is bound to every address. -ENOENT, -EAFNOSUPPORT, -EINVAL (port 0), -ENOMEM with err. */
int udp_connect(struct udp_tables *t, uint32_t id, const struct ip_addr *remote, uint16_t port,
		const struct ip_addr *local, struct err *err);
/** -ENOENT with err. */
int udp_close(struct udp_tables *t, uint32_t id, struct err *err);

/** The interface is in another VRF now: so are the sockets bound to it. -ENOMEM with err, nothing
 * changed. */
int udp_iface_moved(struct udp_tables *t, uint16_t iface, uint16_t vrf, struct err *err);

/** By id; NULL: none. Control thread; workers see udp_socket_at(). */
const struct udp_socket *udp_get(const struct udp_tables *t, uint32_t id);
/** In order of id from `from` on; NULL: no more. Control thread. */
const struct udp_socket *udp_next(const struct udp_tables *t, uint32_t from);
unsigned udp_count(const struct udp_tables *t);
/** fn is called when an id is about to be bound anew, before any worker can count for it. */
void udp_on_bound(struct udp_tables *t, void (*fn)(uint32_t id));

/** The application of this kind and name, opened if no socket has it yet; NULL with err. */
struct udp_app *udp_app_get(struct udp_tables *t, const struct udp_app_ops *ops, const char *name,
			    struct err *err);
/** Close it if no socket has it: for who got one and did not bind. */
void udp_app_put(struct udp_tables *t, struct udp_app *app);

/** builtin.c: takes datagrams and counts them; sends each back (RFC 862). */
extern const struct udp_app_ops udp_sink, udp_echo;

#endif
