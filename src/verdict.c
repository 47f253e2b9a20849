/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Verdicts that end on this worker: dropped, sent back, sent out of another port.
 *
 * All of a burst that shares a fate goes at once: one pass over the packets for
 * what must be looked at (their length, for the account), one for the whole
 * into the transmit buffer or the pool.
 */

#include <immintrin.h>

#include <rte_ether.h>

#include "datapath.h"
#include "ip.h"
#include "trace.h"
#include "verdict.h"

/* Both addresses and the EtherType are read and written as one vector. */
#define SWAP_BYTES 16

/* Packets that share a fate, in the order they came. */
struct batch {
	unsigned n;
	struct rte_mbuf **pkts;
	const uint32_t *trace; /* NULL: none is traced */
};

/* Where those of some places are brought together. */
struct batch_room {
	struct rte_mbuf *pkts[BURST_MAX];
	uint32_t trace[BURST_MAX];
};

/* Take packets out of the burst. They are in `room`, or, if they were all, where they have been. */
static inline struct batch
batch_take(struct burst *b, const struct place_list *places, struct batch_room *room)
{
	struct batch batch = {b->n, b->pkts, b->traced ? b->trace : NULL};

	if (places == NULL) {
		b->n = 0;
		return batch;
	}
	for (unsigned k = 0; k < places->n; k++) {
		unsigned i = places->at[k];

		room->pkts[k] = b->pkts[i];
		room->trace[k] = b->trace[i];
		b->pkts[i] = NULL;
	}
	return (struct batch){places->n, room->pkts, b->traced ? room->trace : NULL};
}

static inline void
trace_end(const struct batch *batch, unsigned i, enum trace_kind kind, unsigned a, uint32_t value)
{
	if (unlikely(batch->trace != NULL))
		trace_step(batch->trace[i], kind, (uint16_t)a, 0, value, NULL, 0);
}

/* Of a batch whose others live on: drop packet i, which may have become m. */
static void
drop_one(struct worker *w, const struct batch *batch, unsigned i, struct rte_mbuf *m,
	 enum drop_reason reason)
{
	w->stats.drops[reason]++;
	trace_end(batch, i, TRACE_DROPPED, reason, 0);
	worker_free(w, m);
}

static inline void
drop_all(struct worker *w, const struct batch *batch, enum drop_reason reason)
{
	w->stats.drops[reason] += batch->n;
	if (unlikely(batch->trace != NULL)) {
		for (unsigned i = 0; i < batch->n; i++)
			trace_end(batch, i, TRACE_DROPPED, reason, 0);
	}
	if (likely(batch->n != 0))
		worker_free_all(batch->pkts, batch->n);
}

/* Count the batch as received, when nothing else is to be done with each packet but to free it:
 * what that will look at is fetched. (A loop without that is made one of gather instructions, which
 * take longer than the loads they stand for.) */
static inline void
received_batch(struct worker *w, const struct port *port, const struct batch *batch)
{
	uint64_t bytes = 0;
	unsigned buffers = 0;

	for (unsigned i = 0; i < batch->n; i++) {
		rte_mbuf_prefetch_part2(batch->pkts[i]);
		bytes += batch->pkts[i]->pkt_len;
		buffers += batch->pkts[i]->nb_segs;
	}
	received(w, port, batch->n, bytes);
	received_more(w, port, buffers - batch->n);
}

/* Into the transmit buffer of a port, behind what is there. */
static inline void
send_frames(struct worker *w, unsigned port, struct rte_mbuf *const pkts[], unsigned n,
	    uint64_t bytes)
{
	struct tx_queue *q = &w->tx[port];

	w->stats.port[port].tx_bytes += bytes;
	while (n > 0) {
		unsigned fit = RTE_MIN(n, (unsigned)BURST_MAX - q->n);

		memcpy(q->pkts + q->n, pkts, fit * sizeof(pkts[0]));
		q->n = (uint16_t)(q->n + fit);
		w->tx_dirty |= 1u << port;
		if (q->n == BURST_MAX)
			tx_flush(w, port);
		pkts += fit;
		n -= fit;
	}
}

/* --- drop ------------------------------------------------------------------------- */

void
verdict_drop(struct worker *w, struct burst *b, const struct place_list *places,
	     const struct port *port, enum drop_reason reason)
{
	struct batch_room room;
	struct batch batch = batch_take(b, places, &room);

	received_batch(w, port, &batch);
	drop_all(w, &batch, reason);
}

/* --- tx --------------------------------------------------------------------------- */

static inline void
swap_addresses(struct rte_mbuf *m)
{
	const __m128i order = _mm_setr_epi8(6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 12, 13, 14, 15);
	__m128i *frame = rte_pktmbuf_mtod(m, __m128i *);

	_mm_storeu_si128(frame, _mm_shuffle_epi8(_mm_loadu_si128(frame), order));
}

/* A frame that somebody else holds too, whose beginning is short, or which is a chain where none
 * can be sent. Returns what is to be sent, its addresses swapped; NULL: dropped. */
static __rte_noinline struct rte_mbuf *
swap_other(struct worker *w, const struct batch *batch, unsigned i, const struct port *port)
{
	struct rte_mbuf *m = batch->pkts[i];
	struct rte_ether_hdr *ether;
	struct rte_ether_addr source;

	if (m->pkt_len < RTE_ETHER_HDR_LEN) {
		drop_one(w, batch, i, m, DROP_RUNT);
		return NULL;
	}
	packets_unguard(&m, 1);
	if (packet_make_writable(&m, 0, RTE_ETHER_HDR_LEN, pool_for_socket(w->socket)->mempool) !=
	    0) {
		drop_one(w, batch, i, m, DROP_POOL_EMPTY);
		return NULL;
	}
	if (m->nb_segs != 1 && !port->tx_multi_segs) {
		struct rte_mbuf *whole = output_one_segment(w, m);

		if (whole == NULL) {
			w->stats.port[port->id].tx_dropped++;
			drop_one(w, batch, i, m, DROP_TX_ERROR);
			return NULL;
		}
		m = whole;
	}
	ether = rte_pktmbuf_mtod(m, struct rte_ether_hdr *);
	source = ether->src_addr;
	ether->src_addr = ether->dst_addr;
	ether->dst_addr = source;
	return m;
}

void
verdict_tx(struct worker *w, struct burst *b, const struct place_list *places,
	   const struct port *port)
{
	struct batch_room room;
	struct batch batch = batch_take(b, places, &room);
	uint64_t bytes_in = 0, bytes_out = 0;
	unsigned buffers = 0, n = 0;

	for (unsigned i = 0; i < batch.n; i++) {
		struct rte_mbuf *m = batch.pkts[i];

		if (i + PREFETCH_AHEAD < batch.n)
			rte_prefetch0(rte_pktmbuf_mtod(batch.pkts[i + PREFETCH_AHEAD], void *));
		bytes_in += m->pkt_len;
		buffers += m->nb_segs;
		if (likely(packet_writable(m, 0, SWAP_BYTES) &&
			   (m->nb_segs == 1 || port->tx_multi_segs))) {
			swap_addresses(m);
		} else {
			m = swap_other(w, &batch, i, port);
			if (m == NULL)
				continue;
		}
		bytes_out += m->pkt_len;
		trace_end(&batch, i, TRACE_SENT, port->id, m->pkt_len);
		batch.pkts[n++] = m;
	}
	received(w, port, batch.n, bytes_in);
	received_more(w, port, buffers - batch.n);
	send_frames(w, port->id, batch.pkts, n, bytes_out);
}

/* --- redirect to a port -------------------------------------------------------------- */

/* A frame that is too long or too short to leave there, or a chain where none can be sent. Returns
 * what is to be sent; NULL: dropped. */
static __rte_noinline struct rte_mbuf *
redirect_other(struct worker *w, const struct batch *batch, unsigned i, const struct port *to,
	       uint32_t longest)
{
	struct rte_mbuf *m = batch->pkts[i], *whole;

	if (m->pkt_len > longest) {
		drop_one(w, batch, i, m, DROP_MTU_EXCEEDED);
		return NULL;
	}
	if (m->pkt_len < RTE_ETHER_HDR_LEN) {
		drop_one(w, batch, i, m, DROP_RUNT);
		return NULL;
	}
	if (m->nb_segs == 1 || to->tx_multi_segs)
		return m;
	whole = output_one_segment(w, m);
	if (whole == NULL) {
		w->stats.port[to->id].tx_dropped++;
		drop_one(w, batch, i, m, DROP_TX_ERROR);
	}
	return whole;
}

void
verdict_redirect(struct worker *w, struct burst *b, const struct place_list *places,
		 const struct port *port, uint16_t out)
{
	const struct port *to = &ports[out];
	/* A VLAN tag does not count as the packet's, as in Linux. */
	const uint32_t longest = to->mtu + RTE_ETHER_HDR_LEN + RTE_VLAN_HLEN;
	struct batch_room room;
	struct batch batch = batch_take(b, places, &room);
	uint64_t bytes_in = 0, bytes_out = 0;
	unsigned buffers = 0, n = 0;

	if (unlikely(!to->tx_up)) {
		received_batch(w, port, &batch);
		w->stats.port[out].tx_dropped += batch.n;
		drop_all(w, &batch, DROP_PORT_DOWN);
		return;
	}
	for (unsigned i = 0; i < batch.n; i++) {
		struct rte_mbuf *m = batch.pkts[i];
		uint32_t len = m->pkt_len;

		bytes_in += len;
		buffers += m->nb_segs;
		if (unlikely(len > longest || len < RTE_ETHER_HDR_LEN || m->nb_segs != 1)) {
			m = redirect_other(w, &batch, i, to, longest);
			if (m == NULL)
				continue;
		}
		bytes_out += len;
		trace_end(&batch, i, TRACE_SENT, out, len);
		batch.pkts[n++] = m;
	}
	received(w, port, batch.n, bytes_in);
	received_more(w, port, buffers - batch.n);
	send_frames(w, out, batch.pkts, n, bytes_out);
}

/* --- of a port -------------------------------------------------------------------------- */

void
verdict_burst(struct worker *w, struct burst *b, const struct port *port)
{
	const struct verdict *v = __atomic_load_n(&port->verdict, __ATOMIC_ACQUIRE);

	/* It may have been taken off since it was looked for. */
	if (unlikely(v == NULL))
		return;
	w->verdicts[port->id].packets[v->kind] += b->n;
	if (unlikely(b->traced)) {
		for (unsigned i = 0; i < b->n; i++)
			trace_step(b->trace[i], TRACE_VERDICT, v->kind, 0, 0, NULL, 0);
	}
	switch ((enum verdict_kind)v->kind) {
	case VERDICT_DROP:
		verdict_drop(w, b, NULL, port, DROP_XDP_DROP);
		break;
	case VERDICT_TX:
		verdict_tx(w, b, NULL, port);
		break;
	case VERDICT_REDIRECT:
		verdict_redirect(w, b, NULL, port, v->port);
		break;
	case VERDICT_CPU:
		verdict_hand(w, b, NULL, port, &v->spread, RESUME_CLASSIFY);
		break;
	case VERDICT_PROGRAM:
		verdict_program(w, b, v, port);
		break;
	case VERDICT_PASS:
	case VERDICT_KINDS:
		break;
	}
}
