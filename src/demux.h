/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DEMUX_H
#define DEMUX_H

/**
 * @file
 * Datagrams to the router's own UDP sockets, on the worker that received them:
 * found for whole bursts in front of the journey (demux.c) or one by one from
 * local.c (udp_input.c), delivered to applications (udp_deliver.c), and sent
 * (udp_send.c). See "UDP to sockets" in docs/architecture.md.
 */

#include "datapath.h"
#include "udp_lookup.h"
#include "udp_app.h"

/** All sockets of the program; set up before workers run, never replaced. */
extern struct udp_tables *sockets;

/** What a worker has counted for a socket. */
struct udp_counters {
	uint64_t packets; /**< delivered */
	uint64_t bytes;	  /**< of their payload */
	uint64_t drops;	  /**< its queue was full */
} __rte_aligned(32);

/** Addresses of the router seen lately, and whether each still is one. */
#define LOCAL_CACHE 256
struct local4 {
	uint64_t key; /**< VRF and address; 0: none */
	uint32_t generation;
	bool mine;
};
struct local6 {
	uint8_t addr[16];
	uint16_t vrf;
	bool mine;
	uint32_t generation; /**< 0: none */
};

/** Senders seen lately, and the next hop that leads back to each. */
#define PEER_CACHE 256
struct peer {
	uint8_t addr[16];
	uint16_t vrf;
	uint8_t family; /**< 0: none */
	uint32_t generation;
	uint32_t nexthop;      /**< index */
	struct ip_addr source; /**< to speak from; family 0: not asked for yet */
};

/** What is a worker's own. */
struct udp_own {
	struct udp_worker worker; /**< what applications get to see */
	struct worker *owner;
	struct udp_counters *counters; /**< by socket id; untouched pages cost nothing */
	uint16_t ip4_id;
	uint32_t ip6_id;
	struct local4 local4[LOCAL_CACHE];
	struct local6 local6[LOCAL_CACHE];
	struct peer peers[PEER_CACHE];
	struct udp_datagram datagrams[UDP_BURST_MAX]; /**< found, to be delivered */
	struct udp_datagram run[UDP_BURST_MAX];	      /**< of them, those for one application */
} __rte_cache_aligned;

/** By worker id. */
extern struct udp_own *udp_own[RTE_MAX_LCORE];

/** Make what workers need. 0 or -ENOMEM with err. Control thread, before they run. */
int udp_own_create(struct err *err);
void udp_own_destroy(void);

/* --- worker --------------------------------------------------------------------------- */

/** demux.c: deliver what of the burst is plainly for a socket of ours, and close the gaps. */
void demux_burst(struct worker *w, struct burst *b, const struct port *port);

/** udp_input.c: place i is UDP to an address of ours, its UDP header at `upper` from the IP header,
 * in the first segment. Delivered, or dropped with its reason, or nobody listens: the sender is
 * told. */
void udp_input(struct worker *w, struct burst *b, unsigned i, uint8_t family, uint16_t upper);
/** udp_input.c: place i is to a group or broadcast address. True: it was UDP that sockets are
 * bound for, and has been dealt with. */
bool udp_input_group4(struct worker *w, struct burst *b, unsigned i);
/** udp_input.c: is it 255.255.255.255, or the broadcast address of a network of the interface? */
bool udp_is_broadcast4(uint16_t iface, const uint8_t *dst);
/** udp_input.c: is its destination an IPv4 group, or a broadcast address where it came in by? */
bool udp_is_group4(const struct burst *b, unsigned i);
bool udp_input_group6(struct worker *w, struct burst *b, unsigned i, uint16_t upper);
/** udp_input.c: is a socket bound to this IPv6 group, on the interface the packet came in by? Of a
 * fragment: may one be. */
bool udp_group_joined6(const struct burst *b, unsigned i);

/** udp_deliver.c: n datagrams of own->datagrams to their sockets' applications, and what each is to
 * become. Their packets are taken over. */
void udp_deliver(struct worker *w, struct udp_own *own, unsigned n);

/** udp_send.c: udp_worker's send. */
unsigned udp_send(struct udp_worker *worker, struct udp_outgoing *out, unsigned n);
/** udp_send_group.c: the link that a datagram to this group or broadcast address is to be sent on;
 * `asked`: the interface, if the sender named one. 0; -ENETUNREACH: none is named; -EINVAL: it does
 * not exist, or not in the socket's VRF; -EACCES: the broadcast address of another network. */
int udp_group_link(struct udp_own *own, const struct udp_bind *bound, uint16_t asked,
		   const struct ip_addr *to, const struct iface **link);
/** udp_send_group.c: a datagram of ours (data begins at its IP header) to everybody on the link,
 * in fragments if it is too long. Takes it over. */
void udp_leave_to_group(struct worker *w, struct rte_mbuf *m, const struct iface *link,
			const struct ip_addr *to);
/** udp_send.c: send a datagram back to where it came from; takes its packet over. It has been
 * counted as delivered. */
void udp_reply(struct worker *w, struct udp_own *own, const struct udp_datagram *d);
/** udp_send.c: applications that want to be asked: once a loop. Returns what they sent. */
unsigned udp_poll(struct worker *w);

/** udp_address.c: is it an address of the VRF? (Link-local ones: no.) */
bool udp_address_mine4(struct udp_own *own, uint16_t vrf, uint32_t addr, uint32_t generation);
bool udp_address_mine6(struct udp_own *own, uint16_t vrf, const uint8_t *addr, uint32_t generation);
/** udp_address.c: the way to an address. The entry is the cache's: good until the next call. */
struct peer *udp_address_way(struct udp_own *own, uint16_t vrf, uint8_t family, const uint8_t *addr,
			     uint32_t generation);
/** udp_address.c: an address of the router's to speak from on this way; false: none. */
bool udp_address_source(struct peer *way, struct ip_addr *source);

/** Changes of addresses and routes so far: what a cache knows is true while it stands still. */
static inline uint32_t
udp_generation(void)
{
	return __atomic_load_n(&route_generation, __ATOMIC_ACQUIRE);
}

#endif
