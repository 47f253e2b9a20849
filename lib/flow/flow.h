/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FLOW_H
#define FLOW_H

/**
 * @file
 * Flow rules in their three forms: as people write them (testpmd's grammar), as
 * the software classifier takes them (flow_rule.h), and as devices do (rte_flow).
 *
 *     priority 3 skip_hw pattern eth / ipv4 src is 10.0.0.1 / end actions drop / end
 *
 * The middle form is the one that is kept. Words are made of it again for `flow
 * list` and `show config`, always in the same order: what two rules print
 * alike means the same.
 *
 * A field is compared exactly (`is`, `spec`), under a mask (`spec` + `mask`, `spec` +
 * `prefix`), or must lie between two numbers (`spec` + `last`, both included). `spec`
 * alone compares all bits of its field and of no other; testpmd leaves that to the
 * driver. Bits of a `spec` that its mask leaves out count for nothing. Control
 * thread only.
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_flow.h>

#include "base.h"
#include "console.h"
#include "flow_rule.h"

/** Where a rule is to be. */
enum flow_placement {
	FLOW_ANYWHERE, /**< in hardware if the device takes it, and in software */
	FLOW_SKIP_HW,  /**< in software */
	FLOW_SKIP_SW,  /**< in hardware, or not at all */
};

/** A rule and what was said besides. */
struct flow_line {
	struct flow_rule rule; /**< rule.id is the caller's */
	enum flow_placement placement;
	bool ingress; /**< said, or meant because nothing else was */
	bool transfer;
	bool count; /**< the action: whoever has the rule must count what it matches */
};

/**
 * Take the words from behind the port to the end of the line:
 * "[priority N] [group N] [ingress] [transfer] [skip_sw|skip_hw] pattern ... end actions ... end".
 * Refuses what contradicts itself, and more than one action that decides a packet's
 * fate. 0, or -EINVAL with a sentence that begins with the item and field.
 */
int flow_parse(struct call *call, struct flow_line *line);

/** Define what ITEM and the other words in the syntax of a flow command stand for; see
 * console_define(). */
void flow_define_words(struct console *console);

/** "eth / ipv4 src is 10.0.0.1 / end". */
void flow_pattern_text(struct out *out, const struct flow_rule *rule);
/** "count / drop / end". */
void flow_actions_text(struct out *out, const struct flow_line *line);
/** All that stands behind the port; flow_parse() makes the same line of it. */
void flow_line_text(struct out *out, const struct flow_line *line);

/** Can a packet match both? May say true where none does, never the other way round. */
bool flow_overlap(const struct flow_rule *a, const struct flow_rule *b);

/* --- rte_flow ------------------------------------------------------------------ */

#define FLOW_ITEMS_MAX	 7 /**< eth, two tags, two IP headers, each with an upper layer */
#define FLOW_ACTIONS_MAX 3 /**< a fate, a mark, a count */

union flow_item_conf {
	struct rte_flow_item_eth eth;
	struct rte_flow_item_vlan vlan;
	struct rte_flow_item_ipv4 ipv4;
	struct rte_flow_item_ipv6 ipv6;
	struct rte_flow_item_udp udp;
	struct rte_flow_item_tcp tcp;
	struct rte_flow_item_sctp sctp;
	struct rte_flow_item_icmp icmp;
	struct rte_flow_item_icmp6 icmp6;
};

/** A rule as rte_flow_create() takes it. Points into itself: not to be copied. */
struct flow_offer {
	struct rte_flow_attr attr;
	struct rte_flow_item pattern[FLOW_ITEMS_MAX + 1];
	struct rte_flow_action actions[FLOW_ACTIONS_MAX + 1];
	union flow_item_conf spec[FLOW_ITEMS_MAX], last[FLOW_ITEMS_MAX], mask[FLOW_ITEMS_MAX];
	union {
		struct rte_flow_action_queue queue;
		struct rte_flow_action_ethdev port;
		struct rte_flow_action_jump jump;
	} fate;
	struct rte_flow_action_mark mark;
	struct rte_flow_action_count count;
};

/**
 * Fill the offer. Items of which nothing is compared have no spec and mask; with
 * `bare_ip` an IP header has both even then, all zero (some drivers want it). 0, or
 * -ENOTSUP with a sentence: rte_flow has no word for one of the actions.
 */
int flow_offer_make(const struct flow_line *line, bool bare_ip, struct flow_offer *offer,
		    struct err *err);

#endif
