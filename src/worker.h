/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WORKER_H
#define WORKER_H

/**
 * @file
 * Workers: one per lcore but the main one, each polling its receive queues and
 * running packets to completion. These functions are for the control thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "options.h"
#include "port.h"
#include "stats.h"

/** Make workers and rings for the lcores EAL gave us, and assign queues. */
int workers_create(const struct options *options, struct err *err);
/** Launch their threads; they poll once workers_start() says so. */
int workers_launch(struct err *err);
/** `start` and `stop`: forwarding on all ports, or none. */
void workers_start(void);
void workers_stop(void);
bool workers_running(void);
/** With receiving stopped: let everything in rings come to its end. */
void workers_drain(void);
/** End the threads. */
void workers_join(void);
void workers_destroy(void);

/** No worker polls or transmits on the port any more when this returns (frames for it are dropped
 * as port_down); false: nothing. Then the device may be stopped. */
void workers_release_port(const struct port *port);
/** Poll and transmit again. */
void workers_adopt_port(const struct port *port);

/** Workers and their lcores. */
unsigned workers_count(void);
unsigned worker_lcore(unsigned worker);
/** The lcore of the worker that polls the port's receive queue. */
unsigned worker_queue_lcore(const struct port *port, unsigned queue);

/** Packets that rings between threads can hold, for sizing pools. */
unsigned workers_ring_slots(void);
/** Fragments that all of them together may hold, for the same purpose. */
unsigned workers_fragments_max(void);

/** The account of all threads together, each part true to the balance in stats.h. */
void counters_sum(struct stats *sum);
/** Largest number of packets received so far, for --exit-on-idle. */
uint64_t counters_received(void);

/**
 * What becomes of congestion marks when a tunnel ends: 0x30, the ECN bits of an
 * IPv6 header's second byte, to combine outer and inner as RFC 6040 4.2 says; 0
 * to leave the inner packet as it is. Set by the control thread (`ip sr ecn`).
 */
extern uint8_t tunnel_ecn_mask;
#define TUNNEL_ECN_RFC6040 0x30

/** Drops by reason since the last drops_clear(). */
void drops_since_clear(uint64_t drops[DROP_REASON_COUNT]);
void drops_clear(void);

/** Per-SID counters, one per worker and next-hop index. */
struct sid_counters {
	uint64_t packets;
	uint64_t bytes;	 /**< of the IPv6 packets as received */
	uint64_t errors; /**< packets the behaviour could not be applied to */
} __rte_aligned(32);
/** Sum over workers for a SID's next-hop index, since it was created or cleared. */
void sid_counters_sum(uint32_t nexthop, struct sid_counters *sum);
/** Count from zero: at creation of the SID and for `clear sid`. */
void sid_counters_clear(uint32_t nexthop);

#endif
