/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "private.h"

/*
 * Neighbour unreachability detection: the states of RFC 4861 7.3.2 and appendix
 * C, for ARP as well, as Linux does it.
 *
 * Every change goes: state and queue first, then publish, then packets, so that
 * a callback always finds the neighbour as it will be.
 */

/* splitmix64 (Steele, Lea, Flood 2014): any seed is a good one. */
uint64_t
neigh_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

/* ReachableTime: uniform in 0.5 to 1.5 times the base (RFC 4861 6.3.2, 10). One
 * for the table, not one for each neighbour, which keeps the queue in order. */
void
nud_draw_reachable(struct neigh_table *table, uint64_t now)
{
	uint64_t base = table->config.base_reachable_ms;

	table->reachable_ms = base / 2 + neigh_random(&table->random) % (base + 1);
	if (table->reachable_ms == 0)
		table->reachable_ms = 1;
	table->redrawn = now;
}

static bool
usable(uint8_t state)
{
	return state != NEIGH_INCOMPLETE && state != NEIGH_FAILED;
}

static void
enter(struct neigh_private *e, enum neigh_state state, uint64_t now)
{
	struct neigh *n = &e->n;

	n->state = (uint8_t)state;
	n->has_mac = usable(n->state);
	if (!n->has_mac)
		memset(n->mac, 0, sizeof(n->mac));
	e->resolving = state == NEIGH_INCOMPLETE;
	e->solicits = 0;
	neigh_account(e);
	neigh_enqueue(e, now);
}

/* As when it was made: nothing is known, and no packet wants to know. */
static void
enter_unasked(struct neigh_private *e, uint64_t now)
{
	enter(e, NEIGH_INCOMPLETE, now);
	e->resolving = false;
	neigh_enqueue(e, now);
}

/* Tell the owner if workers would see a difference. */
static void
publish(struct neigh_private *e)
{
	struct neigh *n = &e->n;
	bool stale = n->state == NEIGH_STALE;

	if (e->dead || (e->shown_usable == n->has_mac && e->shown_stale == stale &&
			memcmp(e->shown_mac, n->mac, sizeof(n->mac)) == 0))
		return;
	e->shown_usable = n->has_mac;
	e->shown_stale = stale;
	memcpy(e->shown_mac, n->mac, sizeof(n->mac));
	e->table->ops.publish(e->table->ctx, n);
}

static void
solicit(struct neigh_private *e, uint64_t now)
{
	e->solicits++;
	e->was_solicited = true;
	e->last_solicit = now;
	neigh_enqueue(e, now);
	e->table->ops.solicit(e->table->ctx, &e->n, e->n.state == NEIGH_PROBE);
}

/*
 * Begin to ask for the MAC (RFC 4861 7.2.2). Not sooner after the last question
 * than two questions are apart: a neighbour deleted again and again must not
 * make a storm.
 */
static void
resolve(struct neigh_private *e, uint64_t now)
{
	enter(e, NEIGH_INCOMPLETE, now);
	if (!e->was_solicited || now - e->last_solicit >= e->table->config.retrans_ms)
		solicit(e, now);
}

/* No answer to this solicitation: another one, or give up (RFC 4861 7.3.3). */
static void
unanswered(struct neigh_private *e, uint64_t now)
{
	const struct neigh_config *config = &e->table->config;
	unsigned tries =
		e->n.state == NEIGH_PROBE ? config->unicast_solicits : config->multicast_solicits;

	if (e->solicits < tries) {
		solicit(e, now);
		return;
	}
	enter(e, NEIGH_FAILED, now);
	publish(e);
	held_fail(e, true);
}

static void
timeout(struct neigh_private *e, uint64_t now)
{
	switch (e->queue) {
	case QUEUE_RETRANS:
		unanswered(e, now);
		break;
	case QUEUE_REACHABLE:
		enter(e, NEIGH_STALE, now);
		publish(e);
		break;
	case QUEUE_DELAY:
		enter(e, NEIGH_PROBE, now);
		solicit(e, now);
		break;
	case QUEUE_STALE:
	case QUEUE_UNUSABLE:
		neigh_remove(e);
		break;
	case QUEUE_NONE:
		break;
	}
}

static uint64_t
queue_ms(const struct neigh_table *table, enum neigh_queue queue)
{
	switch (queue) {
	case QUEUE_RETRANS:
		return table->config.retrans_ms;
	case QUEUE_REACHABLE:
		return table->reachable_ms;
	case QUEUE_DELAY:
		return table->config.delay_first_ms;
	case QUEUE_STALE:
		return table->config.gc_stale_ms;
	case QUEUE_UNUSABLE:
	case QUEUE_NONE:
		break;
	}
	return NEIGH_LINGER_MS;
}

/* Whoever is dealt with leaves the queue or goes to its end with a new time,
 * so this ends; callbacks may do anything to the queue between two of them. */
void
neigh_tick(struct neigh_table *table, uint64_t now)
{
	if (now - table->redrawn >= NEIGH_REDRAW_MS)
		nud_draw_reachable(table, now);
	for (enum neigh_queue q = 0; q < QUEUE_NONE; q++) {
		struct neigh_private *e;

		while ((e = TAILQ_FIRST(&table->queues[q])) != NULL && now >= e->since &&
		       now - e->since >= queue_ms(table, q)) {
			neigh_pin(e);
			timeout(e, now);
			neigh_unpin(e);
		}
	}
}

/* The first packet to a STALE neighbour; what follows may confirm it within
 * the delay, else it is probed (RFC 4861 7.3.3). */
static void
use(struct neigh_private *e, uint64_t now)
{
	e->n.used = now;
	if (e->n.state != NEIGH_STALE)
		return;
	enter(e, NEIGH_DELAY, now);
	publish(e);
}

void
neigh_used(struct neigh_table *table, struct neigh *n, uint64_t now)
{
	struct neigh_private *e = n->private;

	(void)table;
	if (e->dead)
		return;
	neigh_pin(e);
	use(e, now);
	neigh_unpin(e);
}

void
neigh_resolve(struct neigh_table *table, struct neigh *n, struct rte_mbuf *packet, uint64_t now)
{
	struct neigh_private *e = n->private;

	neigh_pin(e);
	if (!e->dead)
		use(e, now);
	if (e->dead || e->dying || table->closing) {
		table->ops.fail(table->ctx, n, packet, false);
	} else if (n->has_mac && n->held == 0) {
		table->ops.release(table->ctx, n, packet);
	} else {
		/* With a MAC: held_release() is at work further up the stack,
		 * and this packet's turn comes after those that waited. */
		held_add(e, packet);
		if (!e->dead && !n->has_mac && !e->resolving)
			resolve(e, now);
	}
	neigh_unpin(e);
}

/*
 * The answer, or somebody who asks us. RFC 4861 7.2.5: without a MAC anything
 * that says one is welcome, FAILED included (an answer may be late, a host may
 * have come back).
 */
static void
hear_first(struct neigh_private *e, const uint8_t *mac, bool solicited, uint64_t now)
{
	memcpy(e->n.mac, mac, sizeof(e->n.mac));
	if (solicited) {
		e->n.confirmed = now;
		enter(e, NEIGH_REACHABLE, now);
	} else if (e->n.held > 0) {
		/* STALE, and at once used by the packets that wait. */
		e->n.used = now;
		enter(e, NEIGH_DELAY, now);
	} else {
		enter(e, NEIGH_STALE, now);
	}
	publish(e);
	held_release(e);
}

static void
hear(struct neigh_private *e, const uint8_t *mac, bool solicited, bool override, uint64_t now)
{
	bool differs = mac != NULL && memcmp(mac, e->n.mac, sizeof(e->n.mac)) != 0;

	if (differs && !override) {
		/* Another MAC claims the address without overriding ours: ours
		 * stays, but its proof is worth nothing now. */
		if (e->n.state == NEIGH_REACHABLE)
			enter(e, NEIGH_STALE, now);
		publish(e);
		return;
	}
	if (differs)
		memcpy(e->n.mac, mac, sizeof(e->n.mac));
	if (solicited) {
		e->n.confirmed = now;
		enter(e, NEIGH_REACHABLE, now);
	} else if (differs) {
		enter(e, NEIGH_STALE, now);
	}
	publish(e);
}

void
neigh_learn(struct neigh_table *table, uint16_t iface, const struct ip_addr *addr,
	    const uint8_t *mac, bool create, bool solicited, bool override, bool router,
	    uint64_t now)
{
	struct neigh_private *e;
	struct neigh *n;

	if (mac != NULL && !mac_is_station(mac))
		return;
	n = create && mac != NULL ? neigh_get(table, iface, addr, now, NULL)
				  : neigh_find(table, iface, addr);
	if (n == NULL || n->state == NEIGH_PERMANENT || (!n->has_mac && mac == NULL))
		return;
	e = n->private;
	neigh_pin(e);
	/* Only an advertisement knows, and only of the MAC that is believed. */
	if (!create &&
	    (override || !n->has_mac || mac == NULL || memcmp(mac, n->mac, sizeof(n->mac)) == 0))
		n->router = router;
	if (n->has_mac)
		hear(e, mac, solicited, override, now);
	else
		hear_first(e, mac, solicited, now);
	neigh_unpin(e);
}

void
nud_set_permanent(struct neigh_private *e, const uint8_t mac[6], uint64_t now)
{
	neigh_pin(e);
	memcpy(e->n.mac, mac, sizeof(e->n.mac));
	enter(e, NEIGH_PERMANENT, now);
	publish(e);
	held_release(e);
	neigh_unpin(e);
}

void
nud_forget(struct neigh_private *e, uint64_t now)
{
	neigh_pin(e);
	enter_unasked(e, now);
	e->n.router = false;
	publish(e);
	held_fail(e, false);
	neigh_unpin(e);
}
