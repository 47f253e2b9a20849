/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FLOW_INDEX_H
#define FLOW_INDEX_H

/**
 * @file
 * Which rules of a set a packet of another rule can meet, without asking all of them.
 *
 * Rules that compare the same bits of the same headers are a *kind*: a hash table by
 * the values they compare with. A rule that compares all those bits and perhaps more can
 * meet, of the kind, only rules in one bucket; for one that compares fewer, the whole kind is
 * looked through.
 *
 * Control thread only.
 */

#include "flow_set.h"

/** Put the rule in the index of its set. 0 or -ENOMEM with a sentence. */
int flow_index_add(struct flow *flow, struct err *err);
/** Take it out; nothing if it is not there. */
void flow_index_remove(struct flow *flow);

/** Rules that may meet `flow`, one after the other; no rule may be added or removed meanwhile. */
struct flow_cursor {
	const struct flow *flow;
	const struct flow_kind *kind;
	struct flow *next;
	unsigned bucket, end;
};
void flow_meeting(struct flow_cursor *cursor, const struct flow *flow);
/** The next one, in no order, with `flow` itself if it is in the index; it is for flow_overlap()
 * to say whether they meet. NULL after the last. */
struct flow *flow_meeting_next(struct flow_cursor *cursor);

#endif
