/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Flow rules in software as the control thread sees them: which ports ask which
 * set, and the workers that rules send packets to.
 */

#include <errno.h>
#include <stdlib.h>

#include "classify.h"
#include "net.h"
#include "verdict.h"
#include "worker.h"

struct classify *classifier;

/* What each port is bound to, whether it has rules or not. */
static struct ruleset *bound[RTE_MAX_ETHPORTS];

/* Packets for one lcore; count is 0 until a rule names it. Never changed after that. */
static struct spread lcore_workers[RTE_MAX_LCORE];
/* The lcore that polls each receive queue of a port; made when a rule names one. */
static const uint16_t *queue_lcores[RTE_MAX_ETHPORTS];

int
classifier_init(struct err *err)
{
	classifier = classify_create(rcu, workers_count(), err);
	return classifier != NULL ? 0 : -ENOMEM;
}

void
classifier_fini(void)
{
	classify_destroy(classifier);
	classifier = NULL;
	for (unsigned p = 0; p < RTE_MAX_ETHPORTS; p++) {
		free((void *)(uintptr_t)queue_lcores[p]);
		queue_lcores[p] = NULL;
	}
}

void
classifier_poll(void)
{
	classify_poll(classifier);
}

/* --- fates that need something ------------------------------------------------------------ */

static int
open_lcore(uint32_t lcore, struct err *err)
{
	struct spread spread;
	const unsigned lcores[] = {lcore};
	int rc;

	if (lcore < RTE_MAX_LCORE && lcore_workers[lcore].count != 0)
		return 0;
	rc = spread_set(&spread, lcores, 1, SPREAD_OUTER, err);
	if (rc == 0)
		lcore_workers[lcore] = spread;
	return rc;
}

static int
open_queue(const struct port *port, uint32_t queue, struct err *err)
{
	uint16_t *lcores;

	if (queue >= port->nb_rxq)
		return err_set(err, EINVAL, "queue %u: port %u receives on %u queue%s (--rxq)",
			       queue, port->id, port->nb_rxq, port->nb_rxq == 1 ? "" : "s");
	if (queue_lcores[port->id] == NULL) {
		lcores = calloc(port->nb_rxq, sizeof(lcores[0]));
		if (lcores == NULL)
			return err_set(err, ENOMEM, "no memory for the queues of port %u",
				       port->id);
		for (uint16_t q = 0; q < port->nb_rxq; q++)
			lcores[q] = (uint16_t)worker_queue_lcore(port, q);
		queue_lcores[port->id] = lcores;
	}
	return open_lcore(queue_lcores[port->id][queue], err);
}

int
classify_check(const struct flow_rule *rule, const struct port *port, struct err *err)
{
	switch (rule->fate) {
	case FLOW_QUEUE:
		return open_queue(port, rule->target, err);
	case FLOW_LCORE:
		return open_lcore(rule->target, err);
	case FLOW_PORT:
		if (rule->target >= RTE_MAX_ETHPORTS || !ports[rule->target].present)
			return err_set(err, EINVAL, "port %u: no such port", rule->target);
		return 0;
	case FLOW_PASSTHRU:
	case FLOW_ACCEPT:
	case FLOW_DROP:
	case FLOW_JUMP:
		break;
	}
	return 0;
}

const struct spread *
classify_lcore_worker(uint32_t lcore)
{
	return lcore_workers[lcore].count != 0 ? &lcore_workers[lcore] : NULL;
}

const struct spread *
classify_queue_worker(const struct port *port, uint32_t queue)
{
	const uint16_t *lcores = queue_lcores[port->id];

	return lcores != NULL && queue < port->nb_rxq ? classify_lcore_worker(lcores[queue]) : NULL;
}

/* --- ports -------------------------------------------------------------------------------- */

static void
publish(struct port *port)
{
	struct ruleset *set = bound[port->id];

	if (set != NULL && ruleset_count(set) == 0)
		set = NULL;
	__atomic_store_n(&port->rules, set, __ATOMIC_RELEASE);
}

void
classify_bind(struct port *port, struct ruleset *set)
{
	bound[port->id] = set;
	publish(port);
}

void
classify_commit(struct ruleset *set)
{
	struct port *port;

	ruleset_commit(set);
	PORT_FOREACH(port) {
		if (bound[port->id] == set)
			publish(port);
	}
}
