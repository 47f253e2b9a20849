/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NEIGH_PRIVATE_H
#define NEIGH_PRIVATE_H

/**
 * @file
 * What index.c (where a neighbour is found), table.c (how long it exists), nud.c
 * (what state it is in) and held.c (which packets wait) share.
 *
 * Time. A neighbour waits for at most one thing, and what it waits for depends
 * on its state alone. So there is one queue per kind of wait, everything in it
 * waits equally long, and who came first is due first: timers cost a list
 * operation, and a tick looks at nobody who is not due.
 *
 *   queue      who                             then                 after
 *   RETRANS    INCOMPLETE, PROBE               solicit, or FAILED   retrans_ms
 *   REACHABLE  REACHABLE                       STALE                table->reachable_ms
 *   DELAY      DELAY                           PROBE                delay_first_ms
 *   STALE      STALE, held by no route         freed                gc_stale_ms
 *   UNUSABLE   FAILED, or INCOMPLETE without   freed                NEIGH_LINGER_MS
 *              a packet yet; held by no route
 *   NONE       PERMANENT; STALE and FAILED held by a route
 *
 * STALE and UNUSABLE are also, oldest first, whom a full table makes room from.
 *
 * Callbacks. An operation of the owner may call the table again and so free
 * any neighbour. Whoever calls one and looks at the neighbour afterwards pins
 * it: a pinned neighbour that is removed stays in memory, marked dead, until the
 * last pin goes.
 */

#include <sys/queue.h>

#include "neigh.h"

/* How long a FAILED neighbour stays, to be shown and to keep the time of its
 * last solicitation. */
#define NEIGH_LINGER_MS 5000
/* The reachable time is drawn anew this often (RFC 4861 6.3.4 asks for "every
 * few hours", Linux does it every five minutes). */
#define NEIGH_REDRAW_MS 300000

enum neigh_queue {
	QUEUE_RETRANS,
	QUEUE_REACHABLE,
	QUEUE_DELAY,
	QUEUE_STALE,
	QUEUE_UNUSABLE,
	QUEUE_NONE,
};

/* A packet that waits: in its neighbour's list, and in the table's list of all
 * so that the oldest can be found. */
struct held {
	TAILQ_ENTRY(held) all;
	TAILQ_ENTRY(held) mine;
	struct neigh_private *owner;
	struct rte_mbuf *packet;
	uint64_t number; /* grows with every packet */
};

TAILQ_HEAD(held_list, held);
TAILQ_HEAD(neigh_list, neigh_private);

/* The whole of a neighbour; n is what others see of it. */
struct neigh_private {
	struct neigh n;
	struct neigh_table *table;
	struct neigh_private *hash_next;
	unsigned position; /* in table->entries */

	TAILQ_ENTRY(neigh_private) waiting;
	enum neigh_queue queue;
	uint64_t since; /* when it was put there */

	unsigned solicits; /* sent in this state */
	bool resolving;	   /* INCOMPLETE and solicitations under way */
	bool was_solicited;
	uint64_t last_solicit;

	struct held_list held;

	/* What was published last, so that only changes are. */
	bool shown_usable;
	bool shown_stale;
	uint8_t shown_mac[6];

	bool counted; /* in table->dynamic */
	bool dying;   /* its last packets are failing: no more are held */
	bool dead;    /* removed, freed with the last pin */
	unsigned pins;
};

struct neigh_table {
	struct neigh_config config;
	struct neigh_ops ops;
	void *ctx;
	uint64_t random;    /* state of the generator */
	uint64_t hash_seed; /* a peer chooses addresses; it must not choose buckets */

	struct neigh_private **buckets; /* `capacity` of them, a power of two */
	struct neigh_private **entries; /* all of them, `count` of `capacity` */
	unsigned capacity;
	unsigned count;
	unsigned dynamic; /* neither PERMANENT nor held by a route */
	bool sorted;	  /* entries is in order of iface and address */
	bool closing;

	struct neigh_list queues[QUEUE_NONE];
	uint64_t reachable_ms;
	uint64_t redrawn;

	struct held *held_memory; /* max_held_total, allocated once */
	struct held_list held_spare;
	struct held_list held_all;
	unsigned held;
	uint64_t held_number;
};

/* One interface's MAC: neither zero nor a group's nor broadcast. */
static inline bool
mac_is_station(const uint8_t mac[6])
{
	static const uint8_t zero[6];

	return (mac[0] & 1) == 0 && memcmp(mac, zero, sizeof(zero)) != 0;
}

/* --- index.c ------------------------------------------------------------------ */

/* Room for one more. 0 or -ENOMEM. */
int neigh_index_reserve(struct neigh_table *table);
void neigh_index_insert(struct neigh_table *table, struct neigh_private *e);
void neigh_index_remove(struct neigh_table *table, struct neigh_private *e);

/* --- table.c ------------------------------------------------------------------ */

/* Put it into the queue its state asks for, at the end. */
void neigh_enqueue(struct neigh_private *e, uint64_t now);
/* Count it, or not, against max_entries. */
void neigh_account(struct neigh_private *e);
/* Its packets fail, it leaves the table, and the owner is told. */
void neigh_remove(struct neigh_private *e);
void neigh_unpin(struct neigh_private *e);

static inline void
neigh_pin(struct neigh_private *e)
{
	e->pins++;
}

/* --- nud.c -------------------------------------------------------------------- */

void nud_draw_reachable(struct neigh_table *table, uint64_t now);
uint64_t neigh_random(uint64_t *state);
/* The owner says its MAC is this one, for ever. */
void nud_set_permanent(struct neigh_private *e, const uint8_t mac[6], uint64_t now);
/* A route still needs the entry, but it is as if nobody had asked for it yet. */
void nud_forget(struct neigh_private *e, uint64_t now);

/* --- held.c; the caller pins -------------------------------------------------- */

int held_init(struct neigh_table *table);
/* Make it wait; the oldest goes if there is no room. */
void held_add(struct neigh_private *e, struct rte_mbuf *packet);
/* Send all, oldest first, as long as there is a MAC. */
void held_release(struct neigh_private *e);
/* Drop those that wait now; what arrives meanwhile stays. */
void held_fail(struct neigh_private *e, bool unreachable);

#endif
