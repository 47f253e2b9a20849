/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The worker's loop: poll, run to completion, flush, say "I hold nothing".
 */

#include <rte_cycles.h>

#include "account.h"
#include "control.h"
#include "datapath.h"
#include "demux.h"
#include "reassemble.h"
#include "trace.h"
#include "worker_private.h"

/* Loops without a packet before transmit completions are asked for. */
#define IDLE_LOOPS 4096
/* Rare work, by the clock that the loop reads anyway. */
#define TICKS_A_SECOND 10
/* Frames taken from a ring in one loop. */
#define RING_BURST 64

/* What came from the control thread: its own frames, packets it held back for
 * a neighbour, and IP packets of its own to be routed. */
static void
take_from_control(struct worker *w)
{
	unsigned n = rte_ring_sc_dequeue_burst(w->from_control, (void **)w->more, RING_BURST, NULL);

	w->stats.taken += n;
	for (unsigned i = 0; i < n; i++) {
		struct rte_mbuf *m = w->more[i];
		const struct packet_meta *meta = packet_meta(m);
		struct burst *own = &w->own[w->own_filling];
		const struct nexthop *nh;

		if (meta->kind == PACKET_FRAME) {
			w->stats.port[m->port].tx_bytes += m->pkt_len;
			tx_frame(w, m->port, m);
			continue;
		}
		if (meta->kind == PACKET_ROUTE) {
			route_own(w, m, meta->family, meta->vrf, meta->iface);
			continue;
		}
		nh = nexthop_at(nexthops, meta->nexthop);
		if (own->n == BURST_MAX || nh->type != NEXTHOP_ADJACENT) {
			w->stats.drops[DROP_NEIGH_UNRESOLVED]++;
			if (meta->trace != 0)
				trace_step(meta->trace, TRACE_DROPPED, DROP_NEIGH_UNRESOLVED, 0, 0,
					   NULL, 0);
			worker_free(w, m);
			continue;
		}
		own->pkts[own->n] = m;
		own->l3[own->n] = rte_pktmbuf_mtod_offset(m, uint8_t *, meta->l3);
		own->len[own->n] = (uint16_t)(m->pkt_len - meta->l3);
		own->iface[own->n] = meta->iface;
		own->vrf[own->n] = meta->vrf;
		own->flags[own->n] = PLACE_TTL_DONE;
		own->sid[own->n] = 0;
		own->out[own->n] = nh;
		own->trace[own->n] = meta->trace;
		own->traced |= meta->trace != 0;
		own->n++;
	}
}

/* Frames other workers want sent on queues that are ours. */
static void
take_frames(struct worker *w, const struct poll_list *poll)
{
	for (unsigned r = 0; r < poll->tx_ring_count; r++) {
		unsigned n = rte_ring_sc_dequeue_burst(poll->tx_rings[r], (void **)w->more,
						       RING_BURST, NULL);

		w->stats.taken += n;
		for (unsigned i = 0; i < n; i++) {
			struct rte_mbuf *m = w->more[i];

			w->stats.port[m->port].tx_bytes += m->pkt_len;
			tx_frame(w, m->port, m);
		}
	}
}

/* With nothing to send, drivers do not look for what has been sent. */
static void
reclaim(struct worker *w)
{
	for (unsigned p = 0; p < RTE_MAX_ETHPORTS; p++) {
		if (w->tx[p].own && ports[p].tx_up)
			port_tx_reclaim(&ports[p], w->tx[p].queue);
	}
}

static void
take_snapshot(struct worker *w)
{
	uint32_t wanted = __atomic_load_n(&w->snapshot_wanted, __ATOMIC_ACQUIRE);

	if (likely(wanted == w->snapshot_taken))
		return;
	w->snapshot = w->stats;
	__atomic_store_n(&w->snapshot_taken, wanted, __ATOMIC_RELEASE);
}

int
worker_main(void *arg)
{
	struct worker *w = arg;
	unsigned idle = 0;
	const uint64_t tick = rte_get_tsc_hz() / TICKS_A_SECOND;
	uint64_t before = rte_rdtsc();

	w->now = before;
	w->next_tick = before + tick;
	rcu_online(rcu, w->id);
	while (!__atomic_load_n(&workers_quit, __ATOMIC_RELAXED)) {
		const struct poll_list *poll = __atomic_load_n(&w->poll, __ATOMIC_ACQUIRE);
		unsigned n = 0;
		uint64_t now;

		for (unsigned q = 0; q < poll->rx_count; q++) {
			n += journey(w, &poll->rx[q]);
			journey_own(w);
		}
		n += verdict_take(w, poll);
		take_frames(w, poll);
		take_from_control(w);
		if (unlikely(before >= w->next_tick)) {
			w->next_tick = before + tick;
			reassemble_tick(w);
		}
		journey_own(w);
		n += udp_poll(w);
		verdict_flush(w);
		tx_flush_all(w);
		if (unlikely(w->account && n != 0))
			w->stage_cycles[STAGE_TRANSMIT] += rte_rdtsc() - w->stage_mark;
		worker_free_dropped(w);
		take_snapshot(w);
		account_poll(w);
		w->last_note = 0;
		rcu_quiescent(rcu, w->id);
		if (unlikely(w->woke_control)) {
			w->woke_control = false;
			loop_wake(control_loop);
		}
		now = rte_rdtsc();
		w->loops++;
		w->loop_cycles += now - before;
		if (n != 0) {
			w->busy_loops++;
			w->busy_cycles += now - before;
			idle = 0;
		} else if (++idle % IDLE_LOOPS == 0) {
			reclaim(w);
		}
		before = now;
		w->now = now;
	}
	reassemble_flush(w);
	rcu_offline(rcu, w->id);
	return 0;
}
