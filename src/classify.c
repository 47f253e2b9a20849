/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The stage of flow rules: what they decide is done to all packets of a burst that
 * share it at once, as verdicts are.
 */

#include "classify.h"
#include "datapath.h"
#include "trace.h"
#include "verdict.h"

/* Take the places with the same fate as the first one left out of `fates`, and do it to them. */
static void
decide(struct worker *w, struct burst *b, const struct port *port,
       const struct rule_verdict *fates[], unsigned first, struct place_list *places)
{
	const struct rule_verdict fate = *fates[first];
	const struct spread *spread = NULL;

	places->n = 0;
	for (unsigned i = first; i < b->n; i++) {
		if (fates[i] != NULL && fates[i]->fate == fate.fate &&
		    fates[i]->target == fate.target) {
			places->at[places->n++] = (uint16_t)i;
			fates[i] = NULL;
		}
	}
	switch ((enum flow_fate)fate.fate) {
	case FLOW_DROP:
		verdict_drop(w, b, places, port, DROP_FLOW_DROP);
		break;
	case FLOW_PORT:
		verdict_redirect(w, b, places, port, (uint16_t)fate.target);
		break;
	case FLOW_QUEUE:
		spread = classify_queue_worker(port, fate.target);
		break;
	case FLOW_LCORE:
		spread = classify_lcore_worker(fate.target);
		break;
	case FLOW_PASSTHRU:
	case FLOW_ACCEPT:
	case FLOW_JUMP:
		break;
	}
	/* Packets for this worker stay where they are. */
	if (spread != NULL)
		verdict_hand(w, b, places, port, spread, RESUME_DEMUX);
}

static __rte_noinline unsigned
ask_traced(struct worker *w, struct burst *b, const struct ruleset *set,
	   const struct rule_verdict *fates[])
{
	struct classify_log log = {.n = 0};
	unsigned decided = classify_burst_run(set, w->id, b->pkts, b->n, fates, &log);

	for (unsigned k = 0; k < log.n; k++)
		trace_step(b->trace[log.step[k].place], TRACE_RULE, 0, 0, 0, log.step[k].verdict,
			   sizeof(*log.step[k].verdict));
	return decided;
}

void
classify_burst(struct worker *w, struct burst *b, const struct port *port)
{
	const struct ruleset *set = __atomic_load_n(&port->rules, __ATOMIC_ACQUIRE);
	const struct rule_verdict *fates[BURST_MAX];
	struct place_list places;
	unsigned decided;

	/* It may have been taken off since it was looked for. */
	if (unlikely(set == NULL))
		return;
	if (unlikely(b->traced))
		decided = ask_traced(w, b, set, fates);
	else
		decided = classify_burst_run(set, w->id, b->pkts, b->n, fates, NULL);
	if (decided == 0)
		return;
	for (unsigned i = 0; i < b->n && decided > 0; i++) {
		if (fates[i] == NULL)
			continue;
		decide(w, b, port, fates, i, &places);
		decided -= places.n;
	}
	burst_close_gaps(b);
}
