/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UDP_APP_H
#define UDP_APP_H

/**
 * @file
 * What stands behind a UDP socket: sink, echo, a handler, a ring to another
 * process. Each kind of application is one struct udp_app_ops; each thing that
 * has been opened (`ring NAME`, `handler NAME`) is one struct udp_app, shared by
 * the sockets that name it.
 *
 *     burst received ─▶ demux ─▶ sockets ─▶ grouped by application
 *                                             └▶ ops->deliver(app, worker, datagrams, n)
 *     each loop of a worker ─▶ ops->poll(app, worker) ─▶ worker->send(worker, outgoing, n)
 *
 * deliver() says of each datagram what is to become of it (its fate); the
 * caller counts it for the socket and for the balance, sends the replies, and
 * frees buffers in bulk. An application never frees, keeps or chains a received
 * packet: what it wants to keep it copies.
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "base.h"

/** Datagrams handed to deliver() or send() at once, at most. */
#define UDP_BURST_MAX 256

/** Bytes a packet for send() needs in front of its payload: IP and UDP headers, and
 * a link header with two VLAN tags. */
#define UDP_HEADROOM (40 + 8 + 22)

/** Largest payload of a datagram over IPv4 (IPv6: 20 bytes more). */
#define UDP_PAYLOAD_MAX (65535 - 20 - 8)

/** Length of an application's name, with its NUL. */
#define UDP_APP_NAME_LEN 32

/** What has become of a datagram. */
enum udp_fate {
	UDP_DELIVERED, /**< the application has had it; the initial value */
	UDP_REPLY, /**< send it back to where it came from, payload as it is now in the packet */
	UDP_QUEUE_FULL, /**< the application had no room: dropped, udp_queue_full */
};

/** A datagram received. Its payload begins at `payload`, of which `contiguous` bytes lie in
 * the packet's first segment: a large datagram is a chain. */
struct udp_datagram {
	struct rte_mbuf *packet;
	uint8_t *payload;
	uint16_t len;	     /**< bytes of payload; may be set smaller or larger before UDP_REPLY */
	uint16_t contiguous; /**< of them in the first segment */
	uint8_t family;	     /**< AF_INET or AF_INET6: of the packet, not of the socket */
	uint8_t fate;	     /**< enum udp_fate, set by deliver() */
	bool group;	     /**< `local` is a group or broadcast address: others have it, too */
	bool changed;	/**< set by deliver() when it has written to the payload of a UDP_REPLY */
	uint8_t tos;	/**< type of service, or traffic class */
	uint8_t ttl;	/**< as received */
	uint16_t iface; /**< interface it came in on */
	uint16_t vrf;	/**< VRF index */
	uint16_t local_port, remote_port; /**< host order */
	uint32_t socket;		  /**< id of the socket it is for */
	const uint8_t *local, *remote;	  /**< addresses in the packet's header, network order: the
					       one it was sent to, and the sender's */
	uint32_t trace;			  /**< trace id, 0: not traced */
};

/** A datagram to be sent. */
struct udp_outgoing {
	/** Its data is the payload (a chain if it is large), with UDP_HEADROOM bytes of
	 * headroom. send() takes it over, sent or not. */
	struct rte_mbuf *packet;
	uint32_t socket; /**< sent from this socket: its port, VRF, device, address if bound to one
			  */
	struct ip_addr to;   /**< family 0: where the socket is connected to */
	uint16_t to_port;    /**< host order */
	struct ip_addr from; /**< source address, one of the router's; family 0: the socket's own,
			      * else what the route to `to` suggests */
	uint16_t iface; /**< for link-local or multicast `to`: the interface it leaves by; else 0 */
	uint8_t ttl;	/**< 0: 64 (1 to multicast) */
	uint8_t tos;
	bool dont_fragment; /**< IPv4: DF. IPv6 sources never leave it to routers */
	int error;	    /**< set by send(): 0, or negative, see there */
};

/** What an application may use of the worker it is called on. */
struct udp_worker {
	unsigned id; /**< 0, 1...: below the count given to ops->open() */
	unsigned lcore;
	int numa;		  /**< NUMA socket */
	struct rte_mempool *pool; /**< for packets to be sent */
	/**
	 * Send n datagrams (at most UDP_BURST_MAX): headers, source address, route, checksum,
	 * fragments where they do not fit the way (IPv4 without dont_fragment, IPv6).
	 * Returns how many are on their way; those that are not have error set: -EBADF (no such
	 * socket), -EDESTADDRREQ (neither `to` nor connected), -EAFNOSUPPORT (IPv6 destination for
	 * an IPv4 socket and the like), -EACCES (broadcast), -EINVAL (port 0),
	 * -EADDRNOTAVAIL (no such source address), -ENETUNREACH (no route), -EMSGSIZE (larger than
	 * UDP can carry, or than the MTU with dont_fragment), -ENOBUFS.
	 */
	unsigned (*send)(struct udp_worker *worker, struct udp_outgoing *out, unsigned n);
};

struct udp_app_ops;

/** Something opened; embedded at the start of what the application keeps of it. */
struct udp_app {
	const struct udp_app_ops *ops;
	char name[UDP_APP_NAME_LEN]; /**< "" for those without names */
	unsigned sockets;	     /**< bound to it. Control thread */
};

/** A kind of application. */
struct udp_app_ops {
	const char *word; /**< as in `app ring NAME` */
	bool named;	  /**< the word is followed by a name */

	/* --- control thread --- */

	/** The first socket names it: make it, for this many workers. NULL with err. What
	 * it needs from outside (a handler that must have been loaded) is refused here. */
	struct udp_app *(*open)(const char *name, unsigned workers, struct err *err);
	/** Its last socket is gone and no worker uses it any more (a grace period ago): free it. */
	void (*close)(struct udp_app *app);
	/** A socket is about to deliver to it, or (a grace period later) no longer does. May be
	 * NULL. bound: 0, or a negative errno with err that refuses the socket. */
	int (*bound)(struct udp_app *app, uint32_t socket, struct err *err);
	void (*unbound)(struct udp_app *app, uint32_t socket);
	/** Datagrams of the socket that wait to be read, for `udp show`; NULL: none ever wait. */
	uint64_t (*depth)(const struct udp_app *app, uint32_t socket);

	/* --- worker --- */

	/** n datagrams, at most UDP_BURST_MAX, of any of its sockets, in the order they came. */
	void (*deliver)(struct udp_app *app, struct udp_worker *worker,
			struct udp_datagram *datagrams, unsigned n);
	/** Called in every loop of every worker, traffic or not; NULL: never. Send what waits, in
	 * bursts, not more than UDP_BURST_MAX datagrams a call. Returns how many it sent or tried
	 * to: 0 when there was nothing to do. */
	unsigned (*poll)(struct udp_app *app, struct udp_worker *worker);
};

/**
 * Make a kind of application known to `udp bind`; ops must outlive the program.
 * Control thread, before commands are read. The console's `app {...}` takes the words of all
 * that are registered.
 */
void udp_app_register(const struct udp_app_ops *ops);
/** By its word; NULL: none. */
const struct udp_app_ops *udp_app_find(const char *word);
/** In order of registration; NULL after the last. */
const struct udp_app_ops *udp_app_at(unsigned index);

#endif
