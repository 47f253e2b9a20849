/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "private.h"

/*
 * Packets that wait for a MAC (RFC 4861 7.2.2: at least one per neighbour, the
 * newer replaces the older). A packet's record leaves both lists before the
 * owner gets the packet, so however the owner calls back, each packet is handed
 * over once.
 */

int
held_init(struct neigh_table *table)
{
	unsigned total = table->config.max_held_total;

	TAILQ_INIT(&table->held_all);
	TAILQ_INIT(&table->held_spare);
	if (total == 0)
		return 0;
	table->held_memory = calloc(total, sizeof(*table->held_memory));
	if (table->held_memory == NULL)
		return -ENOMEM;
	for (unsigned i = 0; i < total; i++)
		TAILQ_INSERT_TAIL(&table->held_spare, &table->held_memory[i], all);
	return 0;
}

/* Take the record out and give the packet back. */
static struct rte_mbuf *
take(struct held *h)
{
	struct neigh_private *e = h->owner;
	struct neigh_table *table = e->table;
	struct rte_mbuf *packet = h->packet;

	TAILQ_REMOVE(&e->held, h, mine);
	TAILQ_REMOVE(&table->held_all, h, all);
	TAILQ_INSERT_HEAD(&table->held_spare, h, all);
	h->owner = NULL;
	h->packet = NULL;
	e->n.held--;
	table->held--;
	return packet;
}

static void
put(struct neigh_private *e, struct rte_mbuf *packet)
{
	struct neigh_table *table = e->table;
	struct held *h = TAILQ_FIRST(&table->held_spare);

	TAILQ_REMOVE(&table->held_spare, h, all);
	h->owner = e;
	h->packet = packet;
	h->number = ++table->held_number;
	TAILQ_INSERT_TAIL(&e->held, h, mine);
	TAILQ_INSERT_TAIL(&table->held_all, h, all);
	e->n.held++;
	table->held++;
}

/*
 * At the bound of all packets the oldest of all goes, whoever it waits for: it
 * most likely waits for a host that is not there, and a scan of dead addresses
 * cannot keep a live neighbour's first packets out.
 */
void
held_add(struct neigh_private *e, struct rte_mbuf *packet)
{
	struct neigh_table *table = e->table;
	const struct neigh_config *config = &table->config;
	struct neigh_private *loser;
	struct held *oldest = NULL;
	struct rte_mbuf *dropped;

	if (config->max_held == 0 || config->max_held_total == 0) {
		table->ops.fail(table->ctx, &e->n, packet, false);
		return;
	}
	if (e->n.held >= config->max_held)
		oldest = TAILQ_FIRST(&e->held);
	else if (table->held >= config->max_held_total)
		oldest = TAILQ_FIRST(&table->held_all);
	if (oldest == NULL) {
		put(e, packet);
		return;
	}

	loser = oldest->owner;
	dropped = take(oldest);
	put(e, packet);
	neigh_pin(loser);
	table->ops.fail(table->ctx, &loser->n, dropped, false);
	neigh_unpin(loser);
}

void
held_release(struct neigh_private *e)
{
	struct neigh_table *table = e->table;

	while (e->n.has_mac && !TAILQ_EMPTY(&e->held))
		table->ops.release(table->ctx, &e->n, take(TAILQ_FIRST(&e->held)));
}

void
held_fail(struct neigh_private *e, bool unreachable)
{
	struct neigh_table *table = e->table;
	uint64_t last = table->held_number;
	struct held *h;

	while ((h = TAILQ_FIRST(&e->held)) != NULL && h->number <= last)
		table->ops.fail(table->ctx, &e->n, take(h), unreachable);
}
