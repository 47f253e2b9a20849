/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SRC_CLASSIFY_H
#define SRC_CLASSIFY_H

/**
 * @file
 * Software flow rules in a packet's journey, and which ports they are asked on.
 *
 * A port whose rules need no software has no rule set here (port->rules is NULL), and
 * its bursts pay one test.
 */

#include "classify.h"

struct burst;
struct port;
struct worker;

/** Rule sets are made in it. Between classifier_init() and classifier_fini(). */
extern struct classify *classifier;

/** Once the workers are counted, before they are launched. */
int classifier_init(struct err *err);
/** Workers are gone, and all sets. */
void classifier_fini(void);

/**
 * Packets received on the port are asked `set` (NULL: none), from the next commit
 * on; of several ports the same one is a block. Control thread.
 */
void classify_bind(struct port *port, struct ruleset *set);

/**
 * ruleset_commit(), and every port bound to the set begins to ask it, or ceases to
 * when it has no rules: then its workers do not enter the classifier. Control thread.
 */
void classify_commit(struct ruleset *set);

/** Apply the rules of port->rules, which is set, to a burst: places consumed are closed. Worker. */
void classify_burst(struct worker *w, struct burst *b, const struct port *port);

#endif
