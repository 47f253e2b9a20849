/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REASSEMBLE_H
#define REASSEMBLE_H

/**
 * @file
 * Fragments for the router itself.
 *
 * All fragments of a datagram meet on one worker, whatever queue each came in
 * on: a hash of VRF, addresses, identification and protocol picks it, and the ones that came in
 * elsewhere cross over the rings between workers. There lib/reassembly keeps them.
 * The datagram goes on through local.c as if it had never been cut.
 */

#include "datapath.h"

/** Fragments' buffers and incomplete datagrams one worker holds at most. */
#define FRAGMENTS_MAX 1024

/**
 * A fragment (local.c: it is for us) at place i of the burst. True: its datagram is complete
 * and now at place i; go on with it. False: consumed. IPv6: fragment header at offset `at`,
 * named by the byte at next_field. Worker.
 */
bool reassemble4(struct worker *w, struct burst *b, unsigned i);
bool reassemble6(struct worker *w, struct burst *b, unsigned i, uint16_t at, uint16_t next_field);

/** One that another worker has handed over; if its datagram is complete, that goes on at once.
 * Worker. */
void reassemble_handed(struct worker *w, struct rte_mbuf *fragment);
/** Give up what has waited too long. Every now and then; ICMP errors join w->own. Worker. */
void reassemble_tick(struct worker *w);
/** Drop all fragments. Worker, at its end. */
void reassemble_flush(struct worker *w);

/** Before the worker runs, and after it has ended. 0, or -ENOMEM with err. Control thread. */
int reassemble_open(struct worker *w, struct err *err);
void reassemble_close(struct worker *w);

#endif
