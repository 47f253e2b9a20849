/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NOREF_UDP_CLIENT_H
#define NOREF_UDP_CLIENT_H

/**
 * @file
 * UDP datagrams of a running noref for another process, through shared memory.
 *
 *     noref> udp bind *:4000 app ring collector
 *
 *     struct noref_udp *u = noref_udp_open("/run/noref/rte.sock", "collector");
 *     struct noref_udp_msg msgs[64];
 *
 *     for (;;) {
 *             int n = noref_udp_recv_burst(u, msgs, 64);
 *
 *             if (n == 0)
 *                     n = noref_udp_wait(u, 1000);
 *             ...
 *     }
 *
 * Nothing of DPDK is needed. Each ring NAME has one client at a time; when it ends or dies, another
 * may open it. One thread at a time uses a struct noref_udp. The guide is docs/udp-ring.md.
 */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct noref_udp;

/** noref_udp_msg.flags */
enum {
	NOREF_UDP_CHECKSUM_OK = 2,   /**< received: the checksum was there, and right */
	NOREF_UDP_DONT_FRAGMENT = 4, /**< to send: rather not at all than in fragments */
	NOREF_UDP_GROUP = 8,	     /**< received: it was sent to a group or broadcast address */
};

/** A datagram. Ports in host order, addresses in network order; of IPv4 addresses 4 bytes count. */
struct noref_udp_msg {
	void *data;	  /**< payload */
	uint32_t len;	  /**< bytes of it, 0 to 65507 (IPv6: 65527) */
	uint32_t socket;  /**< id, as `udp show` has it: received on, or to send from */
	uint8_t family;	  /**< 4 or 6; to send: 0 for where the socket is connected to */
	uint8_t flags;	  /**< NOREF_UDP_... */
	uint8_t tos, ttl; /**< to send: ttl 0 for the usual */
	uint16_t
		worker; /**< it came from; to send: the one to send it, below noref_udp_workers() */
	uint16_t local_port;  /**< received */
	uint16_t remote_port; /**< sender's, or where to send to */
	uint16_t iface, vrf;  /**< numbers; to send: iface for link-local and multicast, else 0 */
	uint8_t local[16];    /**< sent to; to send: source, zeroes for noref's choice */
	uint8_t remote[16];   /**< sender's, or where to send to */
};

/**
 * Attach to `ring NAME` of the noref with this control socket. NULL with errno: what connect(2)
 * says when nobody is there; ENOENT: no socket is bound to that ring; EBUSY: it has a client;
 * EPROTO: it is of another version, or no noref.
 */
struct noref_udp *noref_udp_open(const char *control_socket, const char *name);
/** Detach. NULL is allowed. */
void noref_udp_close(struct noref_udp *u);

/**
 * Up to n datagrams that have come, 0 if there are none. Their data lie in shared memory and are
 * the caller's, to be written to as well, until the next call. -1 with errno EPIPE: noref has gone,
 * or has detached this client, and everything that came has been read.
 */
int noref_udp_recv_burst(struct noref_udp *u, struct noref_udp_msg *msgs, unsigned n);

/**
 * Give n datagrams to be sent; their data are copied. Returns how many fitted into the rings; give
 * the others again later. -1 with errno: EMSGSIZE, EINVAL (the first of msgs cannot be sent), EPIPE
 * as above. What becomes of them is counted by noref (`udp show`, `show drops`).
 */
int noref_udp_send_burst(struct noref_udp *u, const struct noref_udp_msg *msgs, unsigned n);

/** Turn received into reply: back to the sender, from the address and by the worker it came to.
 * Then give it to noref_udp_send_burst(). */
void noref_udp_reply(struct noref_udp_msg *msg);

/**
 * Sleep until something has come, or for so many milliseconds (-1: for ever). 1: look; 0: time is
 * up; -1 with errno EPIPE: as above, or EINTR.
 */
int noref_udp_wait(struct noref_udp *u, int timeout_ms);

/** How many workers noref has. */
unsigned noref_udp_workers(const struct noref_udp *u);

#ifdef __cplusplus
}
#endif

#endif
