/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * From worker to worker: a packet goes on elsewhere.
 *
 * Every pair of workers has a ring with one producer and one consumer. The giver
 * gathers what is for each worker and puts it there in bursts, at the latest at the
 * end of its loop; the taker goes on with what it takes as if it had received it on
 * the port the packet came in on. A flow keeps its order: one giver, one ring, one
 * taker, all first in, first out.
 *
 * A packet's own memory is cold for the taker, so little is written into it: what
 * the taker must know (where to go on, is it traced) rides in the low bits of the
 * pointer, which are zero in the address of an mbuf.
 */

#include <rte_cycles.h>
#include <rte_ring.h>

#include "datapath.h"
#include "frame_flow.h"
#include "reassemble.h"
#include "trace.h"
#include "verdict.h"

#define TAG_DEMUX    1 /* RESUME_DEMUX */
#define TAG_TRACED   2 /* packet_meta has its trace id */
#define TAG_FRAGMENT 4 /* packet_meta says more: for reassemble_handed() */
#define TAGS	     ((uintptr_t)(TAG_DEMUX | TAG_TRACED | TAG_FRAGMENT))

static_assert(__alignof__(struct rte_mbuf) > TAGS, "tags are bits no mbuf's address has");

static inline struct rte_mbuf *
untag(const void *item)
{
	return (struct rte_mbuf *)((uintptr_t)item & ~TAGS);
}

static inline void *
tag(struct rte_mbuf *m, uintptr_t tags)
{
	return (void *)((uintptr_t)m | tags);
}

/* --- giver ------------------------------------------------------------------------- */

/* The ring is full: they end here. */
static __rte_noinline void
redirect_full(struct worker *w, void *const items[], unsigned n)
{
	w->stats.drops[DROP_REDIRECT_FULL] += n;
	for (unsigned i = 0; i < n; i++) {
		struct rte_mbuf *m = untag(items[i]);

		if (((uintptr_t)items[i] & TAG_TRACED) != 0)
			trace_step(packet_meta(m)->trace, TRACE_DROPPED, DROP_REDIRECT_FULL, 0, 0,
				   NULL, 0);
		worker_free(w, m);
	}
}

static void
handover_flush(struct worker *w, struct handover *h)
{
	unsigned n = h->n, given = rte_ring_sp_enqueue_burst(h->ring, h->items, n, NULL);

	h->n = 0;
	w->stats.handed += given;
	if (unlikely(given < n))
		redirect_full(w, h->items + given, n - given);
}

void
verdict_flush(struct worker *w)
{
	for (unsigned k = 0; k < w->handover_dirty_n; k++) {
		struct handover *h = w->handover[w->handover_dirty[k]];

		h->dirty = false;
		handover_flush(w, h);
	}
	w->handover_dirty_n = 0;
}

static inline void
hand(struct worker *w, unsigned to, void *item)
{
	struct handover *h = w->handover[to];

	if (!h->dirty) {
		h->dirty = true;
		w->handover_dirty[w->handover_dirty_n++] = (uint16_t)to;
	}
	h->items[h->n++] = item;
	if (unlikely(h->n == HANDOVER_BURST))
		handover_flush(w, h);
}

static inline unsigned
place(const struct place_list *places, unsigned k)
{
	return places != NULL ? places->at[k] : k;
}

/* Turns go on from burst to burst. */
static inline void
in_turn(struct worker *w, const struct spread *spread, unsigned n, uint16_t to[])
{
	unsigned turn = w->turn;

	for (unsigned k = 0; k < n; k++) {
		turn = turn + 1 < spread->count ? turn + 1 : 0;
		to[k] = spread->worker[turn];
	}
	w->turn = (uint16_t)turn;
}

/* A chain's first segment may be shorter than its headers, which are read together then. */
static __rte_always_inline uint32_t
flow_hash(const struct rte_mbuf *m, bool inner)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	uint32_t bytes = m->data_len;
	uint8_t head[HEADER_ROOM];

	if (unlikely(m->nb_segs != 1 && bytes < HEADER_ROOM)) {
		bytes = RTE_MIN(m->pkt_len, (uint32_t)HEADER_ROOM);
		frame = rte_pktmbuf_read(m, 0, bytes, head);
	}
	return inner ? frame_flow_inner(frame, bytes) : frame_flow_outer(frame, bytes);
}

static __rte_always_inline void
by_flow(const struct burst *b, const struct place_list *places, unsigned n,
	const struct spread *spread, bool inner, uint16_t to[])
{
	for (unsigned k = 0; k < n; k++) {
		const struct rte_mbuf *m = b->pkts[place(places, k)];
		uint32_t hash;

		if (k + PREFETCH_AHEAD < n)
			rte_prefetch0(rte_pktmbuf_mtod(b->pkts[place(places, k + PREFETCH_AHEAD)],
						       void *));
		hash = flow_hash(m, inner);
		/* hash / 2^32 of the way along the workers */
		to[k] = spread->worker[(uint64_t)hash * spread->count >> 32];
	}
}

static inline void
choose(struct worker *w, const struct burst *b, const struct place_list *places, unsigned n,
       const struct spread *spread, uint16_t to[])
{
	if (spread->count == 1) {
		for (unsigned k = 0; k < n; k++)
			to[k] = spread->worker[0];
		return;
	}
	switch ((enum spread_by)spread->by) {
	case SPREAD_OUTER:
		by_flow(b, places, n, spread, false, to);
		break;
	case SPREAD_INNER:
		by_flow(b, places, n, spread, true, to);
		break;
	case SPREAD_RR:
		in_turn(w, spread, n, to);
		break;
	}
}

/* Its trace goes with it. */
static __rte_noinline uintptr_t
trace_handed(struct rte_mbuf *m, uint32_t trace, unsigned lcore)
{
	if (trace == 0)
		return 0;
	trace_step(trace, TRACE_LCORE, (uint16_t)lcore, 0, 0, NULL, 0);
	packet_meta(m)->trace = trace;
	return TAG_TRACED;
}

void
verdict_hand(struct worker *w, struct burst *b, const struct place_list *places,
	     const struct port *port, const struct spread *spread, enum resume from)
{
	const uintptr_t tags = from == RESUME_DEMUX ? TAG_DEMUX : 0;
	const unsigned n = places != NULL ? places->n : b->n;
	uint16_t to[BURST_MAX];
	unsigned given = 0;
	uint64_t bytes = 0;

	choose(w, b, places, n, spread, to);
	for (unsigned k = 0; k < n; k++) {
		unsigned i = place(places, k);
		struct rte_mbuf *m = b->pkts[i];
		uintptr_t traced = 0;

		if (to[k] == w->id)
			continue;
		if (unlikely(b->traced))
			traced = trace_handed(m, b->trace[i], worker_lcore(to[k]));
		bytes += m->pkt_len;
		/* Not every driver says so: net_ring hands on what it was given. */
		m->port = port->id;
		given++;
		b->pkts[i] = NULL;
		packets_unguard(&m, 1);
		hand(w, to[k], tag(m, tags | traced));
	}
	received(w, port, given, bytes);
	if (places != NULL)
		return;
	if (given == n)
		b->n = 0;
	else if (given != 0)
		burst_close_gaps(b);
}

void
hand_fragment(struct worker *w, unsigned to, struct rte_mbuf *m)
{
	uintptr_t traced = packet_meta(m)->trace != 0 ? TAG_TRACED : 0;

	packets_unguard(&m, 1);
	hand(w, to, tag(m, TAG_FRAGMENT | traced));
}

/* --- taker ------------------------------------------------------------------------- */

/* Go on with the first packets of those taken: all that came in on the same port and go on from
 * the same place. Returns how many. */
static unsigned
go_on(struct worker *w, void *const items[], unsigned n)
{
	const uintptr_t from = (uintptr_t)items[0] & (TAG_DEMUX | TAG_FRAGMENT);
	const uint16_t id = untag(items[0])->port;
	const struct port *port = &ports[id];
	struct burst *b = &w->burst;
	uint64_t bytes = 0;
	uintptr_t tags = 0;
	unsigned k;

	if (unlikely(from == TAG_FRAGMENT)) {
		reassemble_handed(w, untag(items[0]));
		return 1;
	}
	for (k = 0; k < n && ((uintptr_t)items[k] & (TAG_DEMUX | TAG_FRAGMENT)) == from; k++) {
		struct rte_mbuf *m = untag(items[k]);

		if (unlikely(m->port != id))
			break;
		/* What is written next, and what freeing will look at. */
		__builtin_prefetch(rte_pktmbuf_mtod(m, void *), 1);
		rte_mbuf_prefetch_part2(m);
		tags |= (uintptr_t)items[k];
		bytes += m->pkt_len;
		b->pkts[k] = m;
	}
	packets_guard(b->pkts, k);
	burst_begin(b, k);
	if (unlikely((tags & TAG_TRACED) != 0)) {
		b->traced = true;
		for (unsigned i = 0; i < k; i++)
			b->trace[i] = ((uintptr_t)items[i] & TAG_TRACED) != 0
					      ? packet_meta(b->pkts[i])->trace
					      : 0;
	}
	/* Received they were by the giver, who has counted them. The stages ahead count
	 * what they see, once more: so much less it has been here. */
	w->stats.received -= k;
	w->stats.port[id].rx_packets -= k;
	w->stats.port[id].rx_bytes -= bytes;
	if (unlikely(w->account)) {
		w->stage_mark = rte_rdtsc();
		w->stage_packets += k;
	}
	journey_resume(w, b, port, from == TAG_DEMUX ? RESUME_DEMUX : RESUME_CLASSIFY);
	return k;
}

unsigned
verdict_take(struct worker *w, const struct poll_list *poll)
{
	unsigned taken = 0;

	for (unsigned r = 0; r < poll->handover_count; r++) {
		void **items = (void **)w->handed;
		unsigned n =
			rte_ring_sc_dequeue_burst(poll->handover[r], items, w->burst_size, NULL);

		/* The giver's core has written them: fetched to be read they would have to be
		 * fetched once more to be written. */
		for (unsigned k = 0; k < n; k++)
			__builtin_prefetch(untag(items[k]), 1);
		w->stats.taken += n;
		w->resumed += n;
		taken += n;
		for (unsigned done = 0; done < n;)
			done += go_on(w, items + done, n - done);
	}
	return taken;
}
