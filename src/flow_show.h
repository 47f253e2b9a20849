/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FLOW_SHOW_H
#define FLOW_SHOW_H

/** @file Flow rules as commands show them. */

#include "console.h"
#include "flow_set.h"

/** `flow list`, with the port or block called so. */
int flow_list(struct call *call, const char *word);
/** `flow query`. */
void flow_query(struct out *out, const struct flow *flow);
/** "in_hw", "in_hw, in_sw", "in_sw" or "nowhere". */
const char *flow_where(const struct flow *flow);

/** How far `show config` has come with blocks and rules; all zero at first. */
struct flow_config {
	const struct flow_set *set;
	bool begun;
	bool named;    /**< the line that makes the block is written */
	uint32_t next; /**< number of the rule to come */
};
/** The next command that rebuilds blocks and rules; false: there is none. */
bool flow_config_line(struct flow_config *at, struct out *line);

#endif
