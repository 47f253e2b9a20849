/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_common.h>

#include "private.h"

void
neigh_config_default(struct neigh_config *config)
{
	*config = (struct neigh_config){
		.max_entries = 4096,
		.max_held = 64,
		.max_held_total = 1024,
		.retrans_ms = 1000,
		.multicast_solicits = 3,
		.unicast_solicits = 3,
		.base_reachable_ms = 30000,
		.delay_first_ms = 5000,
		.gc_stale_ms = 60000,
	};
}

const char *
neigh_state_name(enum neigh_state state)
{
	switch (state) {
	case NEIGH_INCOMPLETE:
		return "INCOMPLETE";
	case NEIGH_REACHABLE:
		return "REACHABLE";
	case NEIGH_STALE:
		return "STALE";
	case NEIGH_DELAY:
		return "DELAY";
	case NEIGH_PROBE:
		return "PROBE";
	case NEIGH_FAILED:
		return "FAILED";
	case NEIGH_PERMANENT:
		return "PERMANENT";
	}
	return "?";
}

unsigned
neigh_count(const struct neigh_table *table)
{
	return table->count;
}

unsigned
neigh_held(const struct neigh_table *table)
{
	return table->held;
}

bool
neigh_is_unasked(const struct neigh *n)
{
	return n->state == NEIGH_INCOMPLETE && !n->private->resolving;
}

/* --- lifetime ----------------------------------------------------------------- */

static enum neigh_queue
queue_of(const struct neigh_private *e)
{
	bool kept = e->n.users > 0;

	switch ((enum neigh_state)e->n.state) {
	case NEIGH_INCOMPLETE:
		if (e->resolving)
			return QUEUE_RETRANS;
		return kept ? QUEUE_NONE : QUEUE_UNUSABLE;
	case NEIGH_REACHABLE:
		return QUEUE_REACHABLE;
	case NEIGH_STALE:
		return kept ? QUEUE_NONE : QUEUE_STALE;
	case NEIGH_DELAY:
		return QUEUE_DELAY;
	case NEIGH_PROBE:
		return QUEUE_RETRANS;
	case NEIGH_FAILED:
		return kept ? QUEUE_NONE : QUEUE_UNUSABLE;
	case NEIGH_PERMANENT:
		break;
	}
	return QUEUE_NONE;
}

static void
dequeue(struct neigh_private *e)
{
	if (e->queue != QUEUE_NONE)
		TAILQ_REMOVE(&e->table->queues[e->queue], e, waiting);
	e->queue = QUEUE_NONE;
}

void
neigh_enqueue(struct neigh_private *e, uint64_t now)
{
	dequeue(e);
	if (e->dead)
		return;
	e->since = now;
	e->queue = queue_of(e);
	if (e->queue != QUEUE_NONE)
		TAILQ_INSERT_TAIL(&e->table->queues[e->queue], e, waiting);
}

void
neigh_account(struct neigh_private *e)
{
	bool counted = !e->dead && e->n.state != NEIGH_PERMANENT && e->n.users == 0;

	if (counted != e->counted)
		e->table->dynamic += counted ? 1 : -1;
	e->counted = counted;
}

void
neigh_unpin(struct neigh_private *e)
{
	if (--e->pins == 0 && e->dead)
		free(e);
}

/* Out of the table without a word to anybody; freed with the last pin. */
static void
unlink_entry(struct neigh_private *e)
{
	e->dead = true;
	dequeue(e);
	neigh_account(e);
	neigh_index_remove(e->table, e);
}

/* Its packets fail while it can still be found and says whose it is, so that no
 * callback makes a second one for the same address. */
static void
fail_all(struct neigh_private *e)
{
	e->dying = true;
	held_fail(e, false);
	e->dying = false;
}

void
neigh_remove(struct neigh_private *e)
{
	struct neigh_table *table = e->table;

	if (e->dead || e->dying)
		return;
	neigh_pin(e);
	fail_all(e);
	/* A callback may have found a use for it. */
	if (!e->dead && (e->n.users == 0 || table->closing)) {
		unlink_entry(e);
		table->ops.removed(table->ctx, &e->n);
	}
	neigh_unpin(e);
}

/* Unusable ones go before STALE ones, so that a scan of dead addresses does
 * not push out hosts that were there. */
static int
make_room(struct neigh_table *table)
{
	while (table->dynamic >= table->config.max_entries) {
		struct neigh_private *e = TAILQ_FIRST(&table->queues[QUEUE_UNUSABLE]);

		if (e == NULL)
			e = TAILQ_FIRST(&table->queues[QUEUE_STALE]);
		if (e == NULL)
			return -ENOSPC;
		neigh_remove(e);
	}
	return 0;
}

static int
check_addr(const struct neigh_table *table, const struct ip_addr *addr, struct err *err)
{
	char text[IP_ADDR_TEXT];

	if (table->closing)
		return err_set(err, ESHUTDOWN, "the neighbour table is being closed");
	if (addr->family != AF_INET && addr->family != AF_INET6)
		return err_set(err, EINVAL, "neighbour: no address");
	if (ip_is_multicast(addr) || ip_is_unspecified(addr))
		return err_set(err, EINVAL, "neighbour %s: not the address of a host",
			       ip_addr_format(addr, text));
	return 0;
}

/* Returns it pinned; it is on no queue yet. */
static int
create(struct neigh_table *table, uint16_t iface, const struct ip_addr *addr, uint64_t now,
       struct neigh_private **created, struct err *err)
{
	struct neigh_private *e = NULL;
	char text[IP_ADDR_TEXT];
	int rc;

	if (neigh_index_reserve(table) == 0)
		e = calloc(1, sizeof(*e));
	if (e == NULL)
		return err_set(err, ENOMEM, "neighbour %s: no memory", ip_addr_format(addr, text));
	e->n = (struct neigh){
		.iface = iface,
		.state = NEIGH_INCOMPLETE,
		.addr = *addr,
		.used = now,
		.private = e,
	};
	e->table = table;
	e->queue = QUEUE_NONE;
	TAILQ_INIT(&e->held);
	neigh_index_insert(table, e);
	neigh_account(e);
	neigh_pin(e);
	rc = table->ops.created(table->ctx, &e->n);
	if (rc != 0) {
		fail_all(e);
		if (!e->dead)
			unlink_entry(e);
		neigh_unpin(e);
		return err_set(err, -rc, "neighbour %s: %s", ip_addr_format(addr, text),
			       strerror(-rc));
	}
	*created = e;
	return 0;
}

struct neigh *
neigh_get(struct neigh_table *table, uint16_t iface, const struct ip_addr *addr, uint64_t now,
	  struct err *err)
{
	struct neigh *n = neigh_find(table, iface, addr);
	char text[IP_ADDR_TEXT];
	struct neigh_private *e;
	bool dead;

	if (n != NULL)
		return n;
	if (check_addr(table, addr, err) != 0)
		return NULL;
	if (make_room(table) != 0) {
		err_set(err, ENOSPC, "neighbour %s: the neighbour table is full (%u in use)",
			ip_addr_format(addr, text), table->dynamic);
		return NULL;
	}
	/* Making room called the owner, who may have been quicker. */
	n = neigh_find(table, iface, addr);
	if (n != NULL)
		return n;
	if (create(table, iface, addr, now, &e, err) != 0)
		return NULL;
	neigh_enqueue(e, now);
	dead = e->dead;
	neigh_unpin(e);
	return dead ? NULL : &e->n;
}

/* Being held or not decides whether a STALE or unusable neighbour is waiting to be
 * freed; the other waits go on as they are. */
static void
users_changed(struct neigh_private *e, uint64_t now)
{
	neigh_account(e);
	if (e->queue != queue_of(e))
		neigh_enqueue(e, now);
}

void
neigh_hold(struct neigh *n)
{
	if (n->users++ == 0)
		users_changed(n->private, n->private->since);
}

void
neigh_unhold(struct neigh_table *table, struct neigh *n, uint64_t now)
{
	(void)table;
	if (n->users > 0 && --n->users == 0)
		users_changed(n->private, now);
}

int
neigh_set_permanent(struct neigh_table *table, uint16_t iface, const struct ip_addr *addr,
		    const uint8_t mac[6], bool replace, uint64_t now, struct err *err)
{
	static const uint8_t zero[6];
	char text[IP_ADDR_TEXT];
	struct neigh_private *e;
	struct neigh *n;
	int rc;

	rc = check_addr(table, addr, err);
	if (rc != 0)
		return rc;
	/* A multicast MAC is allowed: clusters are reached that way. */
	if (memcmp(mac, zero, sizeof(zero)) == 0)
		return err_set(err, EINVAL, "neighbour %s: the MAC is zero",
			       ip_addr_format(addr, text));
	n = neigh_find(table, iface, addr);
	if (n != NULL && n->has_mac && !replace)
		return err_set(err, EEXIST, "neighbour %s: exists already",
			       ip_addr_format(addr, text));
	if (n != NULL) {
		nud_set_permanent(n->private, mac, now);
		return 0;
	}
	rc = create(table, iface, addr, now, &e, err);
	if (rc != 0)
		return rc;
	nud_set_permanent(e, mac, now);
	neigh_unpin(e);
	return 0;
}

/* A route's pointer to a held neighbour stays good. */
static void
drop(struct neigh_private *e, uint64_t now)
{
	if (e->n.users > 0)
		nud_forget(e, now);
	else
		neigh_remove(e);
}

int
neigh_delete(struct neigh_table *table, uint16_t iface, const struct ip_addr *addr, uint64_t now,
	     struct err *err)
{
	struct neigh *n = neigh_find(table, iface, addr);
	char text[IP_ADDR_TEXT];
	int rc = 0;

	if (n == NULL || neigh_is_unasked(n))
		rc = err_set(err, ENOENT, "no such neighbour: %s", ip_addr_format(addr, text));
	if (n != NULL)
		drop(n->private, now);
	return rc;
}

/*
 * From the end: what a removal moves into the gap has been seen already, also
 * when a callback removes others.
 */
void
neigh_flush_iface(struct neigh_table *table, uint16_t iface, bool all, uint64_t now)
{
	for (unsigned i = table->count; i > 0; i = RTE_MIN(i - 1, table->count)) {
		struct neigh_private *e = table->entries[i - 1];

		if (e->n.iface == iface && (all || e->n.state != NEIGH_PERMANENT))
			drop(e, now);
	}
}

/* --- the table itself --------------------------------------------------------- */

static int
check_config(const struct neigh_config *config, struct err *err)
{
	if (config->max_entries == 0 || config->max_entries > 1u << 24)
		return err_set(err, EINVAL, "neighbour table: max_entries is not 1 to %u",
			       1u << 24);
	if (config->max_held_total > 1u << 20)
		return err_set(err, EINVAL, "neighbour table: max_held_total is above %u",
			       1u << 20);
	if (config->retrans_ms == 0 || config->base_reachable_ms == 0 ||
	    config->delay_first_ms == 0 || config->gc_stale_ms == 0)
		return err_set(err, EINVAL, "neighbour table: a time is 0 ms");
	if (config->multicast_solicits == 0 || config->unicast_solicits == 0)
		return err_set(err, EINVAL, "neighbour table: a number of solicitations is 0");
	return 0;
}

static uint64_t
seed_from_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

struct neigh_table *
neigh_table_create(const struct neigh_config *config, const struct neigh_ops *ops, void *ctx,
		   struct err *err)
{
	struct neigh_table *table;

	if (check_config(config, err) != 0)
		return NULL;
	table = calloc(1, sizeof(*table));
	if (table == NULL)
		goto no_memory;
	table->config = *config;
	table->ops = *ops;
	table->ctx = ctx;
	table->random = config->seed != 0 ? config->seed : seed_from_clock();
	table->hash_seed = neigh_random(&table->random);
	for (unsigned q = 0; q < QUEUE_NONE; q++)
		TAILQ_INIT(&table->queues[q]);
	nud_draw_reachable(table, 0);
	if (neigh_index_reserve(table) != 0 || held_init(table) != 0)
		goto no_memory;
	return table;

no_memory:
	neigh_table_destroy(table);
	err_set(err, ENOMEM, "neighbour table: no memory");
	return NULL;
}

void
neigh_table_destroy(struct neigh_table *table)
{
	if (table == NULL)
		return;
	table->closing = true;
	while (table->count > 0)
		neigh_remove(table->entries[table->count - 1]);
	free(table->buckets);
	free(table->entries);
	free(table->held_memory);
	free(table);
}
