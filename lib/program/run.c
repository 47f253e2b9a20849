/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A program and a burst. Worker threads.
 */
#include "internal.h"

#include <rte_branch_prediction.h>
#include <rte_lcore.h>
#include <rte_memcpy.h>
#include <rte_prefetch.h>

/* Packets whose first bytes are fetched ahead of the one being asked about. */
#define PREFETCH_AHEAD 4

/* Bytes of the head that lie in further segments. */
static uint32_t
head_from_chain(uint8_t *head, const struct rte_mbuf *m)
{
	uint32_t n = 0;

	for (; m != NULL && n < NOREF_HEAD; m = m->next) {
		uint32_t part = RTE_MIN((uint32_t)m->data_len, NOREF_HEAD - n);

		memcpy(head + n, rte_pktmbuf_mtod(m, const void *), part);
		n += part;
	}
	return n;
}

/* The packet's first bytes, zeros behind them. */
static inline uint32_t
fill_head(uint8_t *head, const struct rte_mbuf *m)
{
	const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *);
	uint32_t n = m->data_len;

	if (likely(n >= NOREF_HEAD)) {
		memcpy(head, data, NOREF_HEAD);
		return NOREF_HEAD;
	}
	memset(head, 0, NOREF_HEAD);
	if (unlikely(m->nb_segs != 1))
		return head_from_chain(head, m);
	rte_memcpy(head, data, n);
	return n;
}

static inline void
fill_view(struct noref_packet *view, const struct rte_mbuf *m)
{
	view->length = m->pkt_len;
	view->hash = (m->ol_flags & RTE_MBUF_F_RX_RSS_HASH) != 0 ? m->hash.rss : 0;
	view->port = m->port;
	view->segments = m->nb_segs;
	view->held = fill_head(view->head, m);
}

static inline bool
allowed(const struct program *program, const struct program_verdict *verdict)
{
	unsigned target = verdict->target;

	if (verdict->to == PROGRAM_TO_PORT)
		return target < 64 && (program->ports >> target & 1) != 0;
	return verdict->to == PROGRAM_TO_WORKER && target < RTE_MAX_LCORE &&
	       (program->lcores[target / 64] >> target % 64 & 1) != 0;
}

/* A verdict that is one: librte_bpf proves that a value is returned, not which. */
static inline void
settle(const struct program *program, struct program_counts *counts,
       struct program_verdict *verdict, uint32_t code)
{
	if (unlikely(code >= PROGRAM_CODES ||
		     (code == XDP_REDIRECT && !allowed(program, verdict)))) {
		counts->invalid++;
		code = XDP_ABORTED;
	}
	counts->codes[code]++;
	verdict->code = (uint8_t)code;
}

void
program_run(struct program *program, struct rte_mempool *pool, struct rte_mbuf *pkts[], unsigned n,
	    struct program_verdict verdicts[])
{
	struct noref_packet view __rte_cache_aligned = {.worker = (uint16_t)rte_lcore_id()};
	struct program_counts *counts = &program->workers[rte_lcore_id()].counts;

	running = (struct running){.view = &view, .counts = counts, .pool = pool};
	for (unsigned i = 0; i < n && i < PREFETCH_AHEAD; i++)
		rte_prefetch0(rte_pktmbuf_mtod(pkts[i], void *));
	for (unsigned i = 0; i < n; i++) {
		uint64_t code;

		if (i + PREFETCH_AHEAD < n)
			rte_prefetch0(rte_pktmbuf_mtod(pkts[i + PREFETCH_AHEAD], void *));
		fill_view(&view, pkts[i]);
		verdicts[i] = (struct program_verdict){.to = PROGRAM_TO_NONE};
		running.packet = &pkts[i];
		running.verdict = &verdicts[i];
		code = likely(program->native != NULL) ? program->native(&view)
						       : rte_bpf_exec(program->bpf, &view);
		/* C's int: what is above 32 bits means nothing. */
		settle(program, counts, &verdicts[i], (uint32_t)code);
	}
}
