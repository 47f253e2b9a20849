/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RULESET_H
#define RULESET_H

/**
 * @file
 * The software classifier: which rules of a set a packet matches.
 *
 * Tuple-space search. Rules that look at the same bits of the same headers are a
 * *tuple*: one hash table, asked once. The tuples of a group are tried in the order of
 * their best priority, and no further than what is found is better than what can
 * still come; so the cost of a packet is in the number of different masks, not
 * of rules. Headers are not extracted: a tuple names 8-byte words in a header, which
 * are read in the packet. All packets of a burst go through a tuple together.
 *
 *     group ─▶ tuple (priority 0)   ─▶ tuple (priority 1)     ─▶ ...
 *              ipv4 dst /32             ipv4 src /24, udp dst
 *              ┌─┬─┬─┬─┐ hash table     ┌─┬─┬─┬─┐
 *              └─┴│┴─┴─┘                └│┴─┴─┴─┘
 *                 └─ rule ─ rule         └─ rule
 *
 * A range that is no prefix is tested with the rule it belongs to; when many rules
 * of a kind have one, it is cut into prefixes instead, each an entry of its own.
 *
 * Changes: entries say from which *version* of the set they are to be seen and from which no
 * more. A change adds entries of the next version and lets others end with it;
 * ruleset_commit() makes the next version the present one with a single store. A reader
 * takes the version once per burst, so it sees all of a change or nothing, and for
 * the same burst the same. What has ended is unlinked and freed when no reader can see it.
 *
 * classify_burst_run() is for any thread that reports quiescent states; it must not
 * keep anything from before its last. All else is for the control thread.
 */

#include <stdint.h>

#include <rte_mbuf.h>

#include "base.h"
#include "flow_rule.h"
#include "rcu.h"

/** What all rule sets share: counters. */
struct classify;
/** The rules of a port, or of a block of ports. */
struct ruleset;
/** A rule in a set. */
struct rule;

/** Rules at the same time, in all sets together. */
#define CLASSIFY_RULES_MAX (1u << 20)
/** Jumps a packet follows; the next is as one that matches nothing. */
#define CLASSIFY_JUMPS_MAX 16

/** Packets a rule has matched, and their bytes from the Ethernet header on. */
struct rule_counters {
	uint64_t packets;
	uint64_t bytes;
};

/** What a rule says about packets. */
struct rule_verdict {
	uint32_t id;  /**< flow_rule.id */
	uint8_t fate; /**< enum flow_fate */
	bool mark;
	uint32_t target;
	uint32_t mark_id;
};

/** threads: how many may call classify_burst_run(), each with an id below it. NULL with err filled.
 */
struct classify *classify_create(struct rcu *rcu, unsigned threads, struct err *err);
/** All sets must be gone and no worker online. NULL is allowed. */
void classify_destroy(struct classify *classify);
/** Unlink and free what has ended, as far as nobody sees it any more; cheap, never
 * waits. Call it every tick: it is what gives memory back after the last change. */
void classify_poll(struct classify *classify);

/** An empty set. NULL with err filled. */
struct ruleset *ruleset_create(struct classify *classify, struct err *err);
/** Rules and all. No reader may begin to use it any more: memory goes after a grace period. */
void ruleset_destroy(struct ruleset *set);

/**
 * Add a rule to the next version. Rules added later are younger. The rule is copied.
 *
 * @return the rule, valid until ruleset_remove(); NULL with err filled and nothing changed: bits of
 *         headers that are not in `present`, an impossible range (low above high, crossing a
 *         header's end, size), no memory, CLASSIFY_RULES_MAX.
 */
struct rule *ruleset_add(struct ruleset *set, const struct flow_rule *rule, struct err *err);
/** Let it end with the present version. Never fails. A rule added after the last commit is then
 * never seen. */
void ruleset_remove(struct ruleset *set, struct rule *rule);
/** Make all changes since the last commit visible, at once. */
void ruleset_commit(struct ruleset *set);
/** Rules in the set, those of the next version. */
unsigned ruleset_count(const struct ruleset *set);

/** Which rules matched, for traces: each packet's in the order they were applied. */
struct classify_log {
	unsigned n;
	struct {
		uint16_t place; /**< in pkts[] */
		const struct rule_verdict *verdict;
	} step[512]; /**< what comes after that is not kept */
};

/**
 * Ask the set about packets. Counts for each rule that matched, and marks the packet if it says
 * so (the last one stands). Packets are not changed but for that, and may be in several segments.
 *
 * @param thread    the caller's, below classify_create()'s threads
 * @param verdicts  for each packet the rule that decides: FLOW_DROP, FLOW_QUEUE, FLOW_LCORE or
 *                  FLOW_PORT; NULL: accepted. Valid until the caller's next quiescent state.
 * @param log       NULL, or filled
 * @return how many verdicts are not NULL
 */
unsigned classify_burst_run(const struct ruleset *set, unsigned thread, struct rte_mbuf *pkts[],
			    unsigned n, const struct rule_verdict *verdicts[],
			    struct classify_log *log);

/** What the rule has matched since it was added or cleared. */
void rule_counters(const struct rule *rule, struct rule_counters *sum);
void rule_counters_clear(struct rule *rule);

#endif
