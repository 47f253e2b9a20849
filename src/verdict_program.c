/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A program's verdicts: what it says of each packet of a burst, carried out for all that share a
 * fate at once, in the order they came. Worker threads.
 */

#include "datapath.h"
#include "program.h"
#include "trace.h"
#include "verdict.h"

static bool
same_target(const struct program_verdict *a, const struct program_verdict *b)
{
	return a->to == b->to && a->target == b->target;
}

/* The program may name only lcores that have a worker: see verdict_config.c. */
static uint16_t
worker_on(const struct spread *all, unsigned lcore)
{
	unsigned k = 0;

	while (k + 1 < all->count && worker_lcore(all->worker[k]) != lcore)
		k++;
	return all->worker[k];
}

/* Redirected packets, those with one target after those with another. */
static void
redirect(struct worker *w, struct burst *b, const struct verdict *v, const struct port *port,
	 struct place_list *places, const struct program_verdict said[])
{
	while (places->n > 0) {
		const struct program_verdict *first = &said[places->at[0]];
		struct place_list same;
		unsigned others = 0;

		same.n = 0;
		for (unsigned k = 0; k < places->n; k++) {
			uint16_t i = places->at[k];

			if (same_target(&said[i], first))
				same.at[same.n++] = i;
			else
				places->at[others++] = i;
		}
		places->n = others;
		if (first->to == PROGRAM_TO_PORT) {
			verdict_redirect(w, b, &same, port, first->target);
		} else {
			struct spread one = {.count = 1};

			one.worker[0] = worker_on(&v->spread, first->target);
			verdict_hand(w, b, &same, port, &one, RESUME_CLASSIFY);
		}
	}
}

void
verdict_program(struct worker *w, struct burst *b, const struct verdict *v, const struct port *port)
{
	struct rte_mempool *pool = pool_for_socket(w->socket)->mempool;
	struct program_verdict said[BURST_MAX];
	struct place_list places[PROGRAM_CODES];
	const unsigned all = b->n;

	program_run(v->program, pool, b->pkts, b->n, said);
	for (unsigned code = 0; code < PROGRAM_CODES; code++)
		places[code].n = 0;
	for (unsigned i = 0; i < all; i++) {
		struct place_list *list = &places[said[i].code];

		list->at[list->n++] = (uint16_t)i;
	}
	if (unlikely(b->traced)) {
		for (unsigned i = 0; i < all; i++)
			trace_step(b->trace[i], TRACE_PROGRAM, said[i].code, 0, 0, NULL, 0);
	}
	if (places[XDP_PASS].n == all)
		return;
	/* A burst that is all of one mind needs no places. */
	if (places[XDP_DROP].n == all) {
		verdict_drop(w, b, NULL, port, DROP_XDP_DROP);
		return;
	}
	if (places[XDP_TX].n == all) {
		verdict_tx(w, b, NULL, port);
		return;
	}
	if (places[XDP_DROP].n != 0)
		verdict_drop(w, b, &places[XDP_DROP], port, DROP_XDP_DROP);
	if (places[XDP_ABORTED].n != 0)
		verdict_drop(w, b, &places[XDP_ABORTED], port, DROP_XDP_ABORTED);
	if (places[XDP_TX].n != 0)
		verdict_tx(w, b, &places[XDP_TX], port);
	redirect(w, b, v, port, &places[XDP_REDIRECT], said);
	burst_close_gaps(b);
}
