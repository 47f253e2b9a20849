/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLASSIFY_H
#define CLASSIFY_H

/**
 * @file
 * Software flow rules in a packet's journey, and which ports they are asked on.
 *
 * A port whose rules need no software has no rule set here (port->rules is NULL), and
 * its bursts pay one test.
 */

#include "ruleset.h"

struct burst;
struct port;
struct spread;
struct worker;

/* --- control thread ------------------------------------------------------------------- */

/** Rule sets are made in it. Between classifier_init() and classifier_fini(). */
extern struct classify *classifier;

/** Once the workers are counted, before they are launched. */
int classifier_init(struct err *err);
/** All rule sets have been destroyed, and workers are gone. */
void classifier_fini(void);
/** Every tick: memory of rules that have gone is given back. */
void classifier_poll(void);

/**
 * Can packets received on the port have the fate the rule gives them? A queue it receives on, an
 * lcore with a worker, a port there is: else a sentence in err. What the fate needs (rings to that
 * worker) is made. To be asked for each port of the set before the rule is added, and
 * for each rule before a port is bound. 0 or a negative errno.
 */
int classify_check(const struct flow_rule *rule, const struct port *port, struct err *err);

/**
 * Packets received on the port are asked `set` from now on, or nobody (NULL); several ports with
 * the same set are a block. A set is destroyed after no port is bound to it.
 */
void classify_bind(struct port *port, struct ruleset *set);

/**
 * ruleset_commit(), and every port bound to the set begins to ask it, or ceases to
 * when it has no rules: then its workers do not enter the classifier.
 */
void classify_commit(struct ruleset *set);

/**
 * Whom packets for an lcore, or for a receive queue of the port, go to; NULL: classify_check() has
 * not been asked. lcore below RTE_MAX_LCORE. Any thread.
 */
const struct spread *classify_lcore_worker(uint32_t lcore);
const struct spread *classify_queue_worker(const struct port *port, uint32_t queue);

/* --- workers ---------------------------------------------------------------------------- */

/** Apply the rules of port->rules to the burst received on the port. What they consume is accounted
 * for and the gaps are closed; what stays goes on. */
void classify_burst(struct worker *w, struct burst *b, const struct port *port);

#endif
