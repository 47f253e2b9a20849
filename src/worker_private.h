/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WORKER_PRIVATE_H
#define WORKER_PRIVATE_H

/** @file Between worker.c, handoff.c and the commands that show workers. */

#include "datapath.h"

/** By worker id, 0 to workers_count() - 1. Control thread. */
struct worker *worker_at(unsigned id);

/** Rings from every other worker to this one, if there are none yet; polled when this returns. 0,
 * or a negative errno with err. Control thread. */
int worker_open_handover(unsigned to, struct err *err);

/** Tells every worker's loop to end. */
extern bool workers_quit;
/** A worker's thread; arg: its struct worker. */
int worker_main(void *arg);

/** counters.c: memory for one thread's SID counters; untouched pages cost nothing. */
struct sid_counters *sid_counters_reserve(void);
void sid_counters_unreserve(struct sid_counters *counters);
int counters_init(void);
void counters_fini(void);

/** The mbuf field of handoff.h; before any port is opened. */
int handoff_init(struct err *err);
/** Take what workers have handed over. True: there may be more at once. Control thread. */
bool handoff_poll(void);

/** ping.c: an ICMP message that may answer a ping. Takes the packet over. */
void ping_input(struct rte_mbuf *packet);

#endif
