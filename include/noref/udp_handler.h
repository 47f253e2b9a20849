/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NOREF_UDP_HANDLER_H
#define NOREF_UDP_HANDLER_H

/**
 * @file
 * A UDP service inside noref: a shared object whose function is called, on the worker that
 * received them, with bursts of datagrams. Nothing else is needed to build one:
 *
 *     cc -O2 -fPIC -shared -o /usr/lib/noref/mine.so mine.c
 *
 *     noref> udp handler load /usr/lib/noref/mine.so name mine
 *     noref> udp bind *:53 app handler mine
 *
 * The guide is docs/udp.md, a whole example examples/udp_dns.c.
 *
 * handle() runs between two packets of the router: it must not wait, lock, or allocate without
 * bound. It runs on all workers at once: what they share it must not write. State of its own
 * for each worker goes by worker->id.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Grows when anything below changes in a way that an object built before would not survive. */
#define NOREF_UDP_HANDLER_ABI 1

/** A datagram received. Valid until handle() returns. */
struct noref_udp_datagram {
	const void *data;     /**< payload, in one piece; not to be written to */
	uint32_t len;	      /**< bytes of it */
	uint32_t socket;      /**< id of the socket, as `udp show` has it */
	uint8_t family;	      /**< 4 or 6 */
	uint8_t tos;	      /**< type of service, or traffic class */
	uint8_t ttl;	      /**< TTL or hop limit as received */
	uint8_t group;	      /**< not 0: it was sent to a group or broadcast address */
	uint16_t local_port;  /**< it was sent to; host byte order, as all numbers here */
	uint16_t remote_port; /**< and came from */
	uint16_t vrf;	      /**< number of the VRF inside noref; 0: the main table */
	uint16_t interface;   /**< number of the interface inside noref */
	uint8_t local[16];    /**< address it was sent to, network byte order; IPv4: 4 bytes */
	uint8_t remote[16];   /**< and came from */
};

/** Where to send a datagram that is no reply. */
struct noref_udp_to {
	uint32_t socket; /**< sent from this one: its port, VRF, address if it has one */
	uint8_t family;	 /**< 4 or 6; 0: where the socket is connected to */
	uint8_t ttl;	 /**< 0: 64, or 1 to a multicast group */
	uint8_t tos;
	uint8_t dont_fragment; /**< not 0: -EMSGSIZE where it does not fit the way */
	uint16_t port;
	uint16_t
		interface; /**< for link-local addresses, groups, broadcasts; 0: the socket's dev */
	uint8_t addr[16];  /**< network byte order */
};

/** The worker handle() is called on; its functions may be called from inside handle() and poll().
 */
struct noref_udp_worker {
	uint32_t id; /**< 0, 1...: below the number open() was given */
	uint32_t lcore;
	uint64_t now; /**< time stamp counter at the beginning of the burst */
	/**
	 * Room for a reply of len bytes, to be written before handle() returns. It is sent then,
	 * from the address and port the datagram was sent to. NULL: no buffer is free, or len is
	 * above reply_max; nothing is sent.
	 */
	void *(*reply)(struct noref_udp_worker *worker, const struct noref_udp_datagram *to,
		       uint32_t len);
	/**
	 * Send a datagram; data is copied. 0, or a negative errno: -EBADF (no such socket),
	 * -EDESTADDRREQ, -EAFNOSUPPORT, -EACCES (another network's broadcast), -EINVAL,
	 * -EADDRNOTAVAIL (no address to speak from), -ENETUNREACH, -EMSGSIZE, -ENOBUFS.
	 */
	int (*send)(struct noref_udp_worker *worker, const struct noref_udp_to *to,
		    const void *data, uint32_t len);
	uint32_t reply_max; /**< largest reply; send() takes as much as UDP does */
};

struct noref_udp_handler {
	const char *about; /**< one line for people */
	/** The first socket is bound to the handler: make what handle() is given as state. May be
	 * NULL. NULL refuses the socket, with a sentence in error. Control thread. */
	void *(*open)(const char *name, uint32_t workers, char *error, size_t error_size);
	/** The last socket is gone, and no worker is inside handle(). May be NULL. Control thread.
	 */
	void (*close)(void *state);
	/** n datagrams, in the order they came. Workers. */
	void (*handle)(void *state, struct noref_udp_worker *worker,
		       const struct noref_udp_datagram *datagrams, uint32_t n);
	/** NULL, or called in every loop of every worker. Workers. */
	void (*poll)(void *state, struct noref_udp_worker *worker);
};

/** Defines what noref looks for in the object. Once, at file level. */
#define NOREF_UDP_HANDLER(...)                                                                     \
	extern const uint32_t noref_udp_handler_abi;                                               \
	const uint32_t noref_udp_handler_abi = NOREF_UDP_HANDLER_ABI;                              \
	extern const struct noref_udp_handler noref_udp_handler;                                   \
	const struct noref_udp_handler noref_udp_handler = {__VA_ARGS__}

#ifdef __cplusplus
}
#endif

#endif
