/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DATAPATH_H
#define DATAPATH_H

/**
 * @file
 * A worker and the burst it has in hand: what journey.c (the common way, burst by
 * burst) and the files for rarer packets (local.c, errors.c, output.c) share.
 *
 * A burst is a structure of arrays. Packet i keeps its place from receive to
 * transmit, so the order on the wire is kept whatever way each packet took;
 * stages work on lists of places. A stage either leaves the packet for a later
 * stage, gives it a next hop (burst->out[i]), or consumes it: drops, delivers or
 * hands it to another thread. output_burst() then sends what has a next hop.
 */

#include <stdint.h>

#include <rte_mbuf.h>
#include <rte_prefetch.h>
#include <rte_ring.h>

#include "guard.h"
#include "handoff.h"
#include "icmp.h"
#include "iface.h"
#include "net.h"
#include "nexthop.h"
#include "options.h"
#include "port.h"
#include "stats.h"
#include "verdict.h"
#include "worker.h"

/** Headers are looked for in this many bytes from the IP header on; packets in
 * several segments have them pulled together. */
#define HEADER_ROOM 512

/** Packets whose headers are fetched ahead of the one being looked at. */
#define PREFETCH_AHEAD 4

/** Own SIDs one after another before a packet is taken for a loop. */
#define SID_CHAIN_MAX 16

/** Places of a burst that a stage works on. */
struct place_list {
	unsigned n;
	uint16_t at[BURST_MAX];
};

static inline void
list_add(struct place_list *list, unsigned place)
{
	list->at[list->n++] = (uint16_t)place;
}

/** burst->flags bits. */
enum {
	PLACE_TTL_DONE = 1,	/**< hop limit or TTL needs no further decrement */
	PLACE_ORIGINATED = 2,	/**< made by the router itself: no ICMP error about it */
	PLACE_GROUP_MAC = 4,	/**< came to a multicast or broadcast MAC: never forwarded */
	PLACE_ETHERTYPE = 8,	/**< of another IP version than the neighbour it is sent to */
	PLACE_REASSEMBLED = 16, /**< came in fragments */
	PLACE_SUM = 32, /**< a datagram of ours without its checksum: see udp_sum_finish() */
};

struct burst {
	unsigned n;
	unsigned more;	/**< buffers behind the first of each frame */
	unsigned first; /**< places before it have been sent already */
	bool large;	/**< tables are larger than the caches */
	bool traced;	/**< some place has a trace */
	bool fixed6;	/**< some IPv6 packet may have its `via` fixed */
	struct rte_mbuf *pkts[BURST_MAX];
	uint8_t *l3[BURST_MAX];		      /**< IP header */
	const struct nexthop *out[BURST_MAX]; /**< how to send it; NULL: not (any more) */
	uint16_t len[BURST_MAX];	      /**< IP packet, bytes */
	uint16_t iface[BURST_MAX];	      /**< came in on; 0: the router's own */
	uint16_t vrf[BURST_MAX];	      /**< routed in */
	uint8_t flags[BURST_MAX];
	uint8_t sids[BURST_MAX];     /**< SIDs of ours passed so far */
	uint32_t sid[BURST_MAX];     /**< next-hop index of the last SID; 0: none */
	uint16_t sid_len[BURST_MAX]; /**< bytes counted for it */
	uint32_t via[BURST_MAX];     /**< next hop fixed by a SID; 0: look it up */
	uint32_t trace[BURST_MAX];   /**< trace id; only when traced */

	struct place_list ip4;	     /**< IPv4 packets to be checked and routed */
	struct place_list ip6;	     /**< IPv6 packets to be checked */
	struct place_list ip6_route; /**< IPv6 packets checked, to be routed */
	struct place_list sid_list;  /**< IPv6 packets to a SID */
	/** ARP and neighbour discovery, to be handed over when the rest is done: an answer may be
	 * what a packet before it waits for. */
	struct place_list arp, nd;
	struct place_list ready4; /**< IPv4 packets checked, to be looked up */

	/* Scratch of the lookups, by position in a list. */
	const struct fib4 *fibs4[BURST_MAX];
	const struct fib6 *fibs6[BURST_MAX];
	const uint8_t *dst6[BURST_MAX];
	uint32_t dst4[BURST_MAX];
	uint32_t values[BURST_MAX];
};

/** Frames waiting to leave a port. */
struct tx_queue {
	uint16_t n;
	uint16_t queue;	       /**< the device's queue, when `own` */
	bool own;	       /**< this worker transmits on the queue */
	struct rte_ring *ring; /**< else: frames go to the worker that does */
	struct rte_mbuf *pkts[BURST_MAX];
};

/** Packets gathered for one other worker are given to it when they are so many. */
#define HANDOVER_BURST 128

/** Packets on their way to another worker, see redirect.c. */
struct handover {
	struct rte_ring *ring;
	uint16_t n;
	bool dirty; /**< its worker is on the list handover_dirty */
	void *items[HANDOVER_BURST];
};

/** A receive queue that is polled. */
struct rx_queue {
	struct port *port;
	uint16_t queue;
};

/** What a worker polls; immutable, swapped. */
struct poll_list {
	unsigned rx_count;
	unsigned tx_ring_count;
	struct rx_queue *rx;
	/** Rings of frames other threads want sent on queues this worker owns. */
	struct rte_ring **tx_rings;
	/** Rings of packets other workers want this one to go on with. */
	unsigned handover_count;
	struct rte_ring **handover;
};

/** Cycles and packets of the stages, when asked for. */
enum stage {
	STAGE_RECEIVE,
	STAGE_ACTIONS, /* verdicts, rules, sockets */
	STAGE_PARSE,
	STAGE_SID,
	STAGE_LOOKUP,
	STAGE_REWRITE,
	STAGE_TRANSMIT,
	STAGE_COUNT,
};

struct worker {
	/* Read every loop. */
	const struct poll_list *poll;
	struct sid_counters *sids; /**< by next-hop index */
	uint16_t burst_size;
	uint16_t id; /**< 0, 1...; RCU thread id too */
	unsigned lcore;
	int socket;
	uint32_t tx_dirty; /**< bit per port with frames in tx[port] */
	bool woke_control;
	bool account;	     /**< cycles of stages are counted */
	bool account_wanted; /**< ... or shall be: written by the control thread */
	bool launched;	     /**< control thread: its loop is running */

	struct rte_ring *from_control; /**< PACKET_FRAME, PACKET_FORWARD, PACKET_ROUTE */
	struct rte_ring *to_control;   /**< PACKET_ARP ... */
	struct rte_ring *notes;	       /**< next-hop indexes of STALE neighbours in use */
	uint32_t last_note;	       /**< the last index put there in this loop */

	uint16_t dropped_n;
	struct rte_mbuf *dropped[BURST_MAX]; /**< to be freed in bulk */

	struct token_bucket errors;    /**< ICMP errors */
	struct reassembly *reassembly; /**< fragments for the router itself */
	uint64_t now;		       /**< TSC when the loop before this one ended */
	uint64_t next_tick;	       /**< TSC at which rare work is due */

	/* Loop account: cycles in loops that found packets, and in all loops. */
	uint64_t busy_cycles, loop_cycles, loops, busy_loops;
	uint64_t stage_cycles[STAGE_COUNT];
	uint64_t stage_packets; /**< received while they were counted */
	uint64_t stage_mark;

	struct stats stats;
	/** Copy of stats taken between two loops when `snapshot_wanted` moves on. */
	struct stats snapshot;
	uint32_t snapshot_wanted; /**< written by the control thread */
	uint32_t snapshot_taken;  /**< written by the worker, after the copy */

	struct tx_queue tx[RTE_MAX_ETHPORTS];
	struct burst burst; /**< received */
	/** Packets of the router's own, waiting to be routed: one burst fills while the other is
	 * routed. */
	struct burst own[2];
	unsigned own_filling;
	struct rte_mbuf *more[BURST_MAX]; /**< scratch: fragments, packets from rings */

	/** By the id of the worker they are for; NULL: no ring to it yet. */
	struct handover *handover[RTE_MAX_LCORE];
	uint16_t handover_dirty_n;
	uint16_t handover_dirty[RTE_MAX_LCORE]; /**< ids of workers something is gathered for */
	uint16_t turn;				/**< of SPREAD_RR, last */
	uint64_t resumed;			/**< packets other workers gave, gone on with */
	struct rte_mbuf *handed[BURST_MAX];	/**< scratch: what other workers gave */
	struct verdict_counters verdicts[RTE_MAX_ETHPORTS]; /**< by the port received on */
} __rte_cache_aligned;

static_assert(RTE_MAX_ETHPORTS <= 32, "tx_dirty has one bit a port");

/* --- consuming a packet -------------------------------------------------------- */

/** Free what has been dropped, in bulk. */
static inline void
worker_free_dropped(struct worker *w)
{
	packets_unguard(w->dropped, w->dropped_n);
	rte_pktmbuf_free_bulk(w->dropped, w->dropped_n);
	w->dropped_n = 0;
}

/**
 * Free 1 to BURST_MAX packets that have been accounted for. Nearly all are whole buffers of one
 * pool that nobody else holds: those go back as they are, in one piece, without a look at their
 * second cache line.
 */
static inline void
worker_free_all(struct rte_mbuf *pkts[], unsigned n)
{
	struct rte_mempool *pool = pkts[0]->pool;
	struct rte_mbuf *others[BURST_MAX];
	unsigned same = 0, other = 0;

	packets_unguard(pkts, n);
	for (unsigned i = 0; i < n; i++) {
		struct rte_mbuf *m = pkts[i];

		if (likely(m->pool == pool && m->nb_segs == 1 && rte_mbuf_refcnt_read(m) == 1 &&
			   RTE_MBUF_DIRECT(m)))
			pkts[same++] = m;
		else
			others[other++] = m;
	}
	if (likely(same != 0))
		rte_mempool_put_bulk(pool, (void **)pkts, same);
	if (unlikely(other != 0))
		rte_pktmbuf_free_bulk(others, other);
}

/** Free a packet soon; it has been accounted for. */
static inline void
worker_free(struct worker *w, struct rte_mbuf *m)
{
	if (unlikely(w->dropped_n == BURST_MAX))
		worker_free_dropped(w);
	w->dropped[w->dropped_n++] = m;
}

/** Packets of a port that have been received. A stage before input() counts those it keeps input()
 * from seeing; input() is the count of the others. */
static inline void
received(struct worker *w, const struct port *port, unsigned packets, uint64_t bytes)
{
	w->stats.received += packets;
	w->stats.port[port->id].rx_packets += packets;
	w->stats.port[port->id].rx_bytes += bytes;
}

/** Of these packets, buffers behind the first. Those of packets that go to another worker are
 * counted there, when they come to their end. */
static inline void
received_more(struct worker *w, const struct port *port, unsigned buffers)
{
	w->stats.port[port->id].rx_more += buffers;
}

/** A stage before input() has set pkts[i] of what it consumed to NULL: close the gaps, in order. */
static inline void
burst_close_gaps(struct burst *b)
{
	unsigned n = 0;

	for (unsigned i = 0; i < b->n; i++) {
		b->pkts[n] = b->pkts[i];
		b->trace[n] = b->trace[i];
		n += b->pkts[i] != NULL;
	}
	b->n = n;
}

/** Drop place i of the burst: counted, traced, freed. */
void drop(struct worker *w, struct burst *b, unsigned i, enum drop_reason reason);

/** Drop it, and count it as an error of the SID it was for instead of a packet. */
void drop_sid(struct worker *w, struct burst *b, unsigned i, enum drop_reason reason);

/** It has reached the router itself: counted as delivered, freed. */
void deliver(struct worker *w, struct burst *b, unsigned i);

/** Give it to the control thread as `kind`; a full ring drops it. nexthop: of PACKET_RESOLVE, or
 * the interface out of PACKET_CONNECTED. */
void hand_to_control(struct worker *w, struct burst *b, unsigned i, enum packet_kind kind,
		     uint8_t family, uint32_t nexthop);

/* --- rarer packets (one file each) ---------------------------------------------- */

/** dispatch.c: place i has been looked up, and `nh` is not simply a neighbour to send to (or the
 * packet is not simply to be forwarded). */
void dispatch_other4(struct worker *w, struct burst *b, unsigned i, const struct nexthop *nh);
void dispatch_other6(struct worker *w, struct burst *b, unsigned i, const struct nexthop *nh);
/** dispatch.c: checks failed for place i: drop it with the right reason, or (options and the like)
 * say true: it may go on. */
bool check4_other(struct worker *w, struct burst *b, unsigned i);
bool check6_other(struct worker *w, struct burst *b, unsigned i);
/** dispatch.c: true, and the packet dropped: its destination is one that is never forwarded to. */
bool martian_destination4(struct worker *w, struct burst *b, unsigned i);
bool martian_destination6(struct worker *w, struct burst *b, unsigned i);
/** dispatch.c: a packet to a SID with more than an inner packet behind the IPv6 header. */
void endpoint_other(struct worker *w, struct burst *b, unsigned i, const struct nexthop *sid);

/** input.c: a frame that is not simply IP to our MAC: VLAN, ARP, group MACs, other hosts, many
 * segments. Puts it on a list of the burst, or consumes it. */
void input_other(struct worker *w, struct burst *b, unsigned i, const struct port *port);

/** mixed.c: from a port whose packets may lie in others' memory: what the stages from here on write
 * becomes the packet's own. Consumes packets for want of buffers, and counts those as received. */
void own_burst(struct worker *w, struct burst *b, const struct port *port);

/** local.c: an IPv4/IPv6 packet for the router itself. */
void local4(struct worker *w, struct burst *b, unsigned i);
void local6(struct worker *w, struct burst *b, unsigned i);
/** local.c: an IPv6 upper layer reached through a SID, at `upper` from the IPv6 header. */
void local6_upper(struct worker *w, struct burst *b, unsigned i, uint8_t proto, uint16_t upper);
/** local.c: IPv6 to a link-local or multicast address. */
void link_scope6(struct worker *w, struct burst *b, unsigned i);

/** errors.c: send an ICMP error about place i (if allowed), then drop it. */
void drop_with_error4(struct worker *w, struct burst *b, unsigned i, enum drop_reason reason,
		      uint8_t type, uint8_t code, uint32_t value);
void drop_with_error6(struct worker *w, struct burst *b, unsigned i, enum drop_reason reason,
		      uint8_t type, uint8_t code, uint32_t value);

/** errors.c: send an ICMP error, if allowed, about a packet that is in no burst: data starts at its
 * IP header, packet_meta says where it came from (PACKET_FRAGMENT). The packet stays the caller's.
 */
void error_about(struct worker *w, struct rte_mbuf *m, const struct icmp_error *error);

/** redirect.c: a fragment to the worker where its datagram's fragments meet. Takes it over. */
void hand_fragment(struct worker *w, unsigned to, struct rte_mbuf *m);

/** output.c: a packet longer than the next hop's MTU: fragments, or an error. */
void output_too_long(struct worker *w, struct burst *b, unsigned i);
/** udp_send.c: place i has PLACE_SUM, and its port will not make the checksum: make it now. */
void udp_sum_finish(struct burst *b, unsigned i);
/** output.c: link header where the common way does not fit (segments, headroom). False: consumed.
 */
bool output_prepare(struct worker *w, struct burst *b, unsigned i, const struct nexthop *nh);
/** output.c: a chain as one buffer, for a port that cannot send chains; the chain is freed then.
 * NULL: it fits none, or none is free, and the chain is still there. */
struct rte_mbuf *output_one_segment(struct worker *w, struct rte_mbuf *chain);
/** output.c: send what waits for one port, or for all. */
void tx_flush(struct worker *w, unsigned port);
void tx_flush_all(struct worker *w);

/** Put a complete frame into a port's transmit buffer. */
static inline void
tx_frame(struct worker *w, unsigned port, struct rte_mbuf *m)
{
	struct tx_queue *q = &w->tx[port];

	q->pkts[q->n++] = m;
	w->tx_dirty |= 1u << port;
	if (unlikely(q->n == BURST_MAX))
		tx_flush(w, port);
}

/** A packet the router made (data begins at its IP header): routed when the burst in hand is done.
 * Counted as originated. Takes it over. iface: link-local destinations leave there; else 0. */
void originate(struct worker *w, struct rte_mbuf *m, uint8_t family, uint16_t vrf, uint16_t iface);

/** output.c: the next place of a burst of ours, which is not full: all but the packet, its header
 * and its length are set. trace: its id, or 0. */
unsigned own_place(struct burst *own, uint16_t vrf, uint16_t iface, uint8_t flags, uint32_t trace);

/** The same as originate() for a packet that is counted already. */
void route_own(struct worker *w, struct rte_mbuf *m, uint8_t family, uint16_t vrf, uint16_t iface);

/* --- journey.c ------------------------------------------------------------------ */

/** Receive a burst from a queue and take it all the way. Returns packets received. */
unsigned journey(struct worker *w, const struct rx_queue *rx);
/** Go on with packets received by another worker, or that have been through the stages before
 * `from`: the burst has been begun. */
void journey_resume(struct worker *w, struct burst *b, const struct port *port, enum resume from);
/** Route the packets in w->own. */
void journey_own(struct worker *w);
/** Forget what the burst was about and take `n` packets in pkts[] as new. */
void burst_begin(struct burst *b, unsigned n);

#endif
