/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Workers as the control thread sees them: made, given queues, started,
 * stopped, and their accounts added up.
 */

#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include <rte_cycles.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_malloc.h>

#include "reassemble.h"
#include "reassembly.h"
#include "worker_private.h"

bool workers_quit;

/* Vector receive paths count in fours, and give nothing when asked for less. */
#define RX_BURST_MIN 4

#define CONTROL_RING 1024
#define NOTE_RING    64
#define FRAME_RING   1024
/* Rings of packets other workers hand to one: together so many slots, each within these bounds.
 * Large enough for a few bursts, small enough that what waits is still in the cache. */
#define HANDOVER_SLOTS 1024
#define HANDOVER_MIN   256
#define HANDOVER_MAX   1024

static struct worker *workers[RTE_MAX_LCORE];
static unsigned count;
static bool running;
static const struct options *options;
static bool port_polled[RTE_MAX_ETHPORTS];
/* Rings of frames from worker to worker, [from][to], where queues are shared. */
static struct rte_ring *frame_rings[RTE_MAX_LCORE][RTE_MAX_LCORE];

unsigned
workers_count(void)
{
	return count;
}

struct worker *
worker_at(unsigned id)
{
	return workers[id];
}

unsigned
worker_lcore(unsigned worker)
{
	return workers[worker]->lcore;
}

static struct rte_ring *
ring_create(const char *what, unsigned from, unsigned to, unsigned size, int socket,
	    struct err *err)
{
	char name[RTE_RING_NAMESIZE];
	struct rte_ring *ring;

	snprintf(name, sizeof(name), "%s_%u_%u", what, from, to);
	ring = rte_ring_create(name, size, socket, RING_F_SP_ENQ | RING_F_SC_DEQ);
	if (ring == NULL)
		err_set(err, ENOMEM, "no memory for ring %s of %u slots", name, size);
	return ring;
}

static unsigned
handover_slots(void)
{
	unsigned each = count > 1 ? rte_align32prevpow2(HANDOVER_SLOTS / (count - 1)) : 0;

	return RTE_MIN(RTE_MAX(each, (unsigned)HANDOVER_MIN), (unsigned)HANDOVER_MAX);
}

unsigned
workers_ring_slots(void)
{
	return count * (2 * CONTROL_RING + FRAME_RING + (count - 1) * handover_slots());
}

unsigned
workers_fragments_max(void)
{
	return count * FRAGMENTS_MAX;
}

static struct worker *
worker_create(unsigned id, unsigned lcore, struct err *err)
{
	int socket = (int)rte_lcore_to_socket_id(lcore);
	struct worker *w = rte_zmalloc_socket("worker", sizeof(*w), RTE_CACHE_LINE_SIZE, socket);

	if (w == NULL) {
		err_set(err, ENOMEM, "no memory for the worker on lcore %u (%zu KiB)", lcore,
			sizeof(*w) / 1024);
		return NULL;
	}
	workers[id] = w;
	w->id = (uint16_t)id;
	w->lcore = lcore;
	w->socket = socket;
	w->burst_size = RTE_MAX(options->burst, RX_BURST_MIN);
	w->sids = sid_counters_reserve();
	w->to_control = ring_create("to_control", id, 0, CONTROL_RING, socket, err);
	w->from_control = ring_create("from_control", 0, id, CONTROL_RING, socket, err);
	w->notes = ring_create("notes", id, 0, NOTE_RING, socket, err);
	if (w->sids == NULL || w->to_control == NULL || w->from_control == NULL || w->notes == NULL)
		return NULL;
	/* Linux's icmp_msgs_per_sec and icmp_msgs_burst. */
	token_bucket_init(&w->errors, rte_get_tsc_hz(), 1000, 50);
	return w;
}

int
workers_create(const struct options *opts, struct err *err)
{
	unsigned lcore;

	options = opts;
	RTE_LCORE_FOREACH_WORKER(lcore) {
		count++;
		if (worker_create(count - 1, lcore, err) == NULL)
			return -ENOMEM;
	}
	if (count == 0)
		return err_set(err, EINVAL,
			       "no lcore for a worker: give two or more, as in -l 0,1 "
			       "(the first is for the console)");
	if (counters_init() != 0)
		return err_set(err, ENOMEM, "no memory for counters");
	return handoff_init(err);
}

static void
poll_list_free(void *ctx, uintptr_t what)
{
	(void)ctx;
	free((void *)what);
}

static unsigned
queue_owner(unsigned port, unsigned queue, unsigned nth)
{
	for (unsigned m = 0; m < options->map_count; m++) {
		const struct queue_map *map = &options->map[m];

		if (map->port != port || map->queue != queue)
			continue;
		for (unsigned id = 0; id < count; id++) {
			if (workers[id]->lcore == map->lcore)
				return id;
		}
	}
	return nth % count;
}

unsigned
worker_queue_lcore(const struct port *port, unsigned queue)
{
	const struct port *before;
	unsigned nth = queue;

	PORT_FOREACH(before) {
		if (before < port)
			nth += before->nb_rxq;
	}
	return workers[queue_owner(port->id, queue, nth)]->lcore;
}

/* Write down and publish what the worker polls now. */
static int
publish_poll(struct worker *w)
{
	const struct poll_list *old = w->poll;
	struct poll_list *list;
	unsigned nth = 0, queues = 0;
	struct port *port;

	PORT_FOREACH(port)
		queues += port->nb_rxq;
	list = calloc(1, sizeof(*list) + queues * sizeof(struct rx_queue) +
				 2 * count * sizeof(struct rte_ring *));
	if (list == NULL)
		return -ENOMEM;
	list->tx_rings = (struct rte_ring **)(list + 1);
	list->handover = list->tx_rings + count;
	list->rx = (struct rx_queue *)(list->handover + count);
	for (unsigned from = 0; from < count; from++) {
		if (frame_rings[from][w->id] != NULL)
			list->tx_rings[list->tx_ring_count++] = frame_rings[from][w->id];
		if (workers[from]->handover[w->id] != NULL)
			list->handover[list->handover_count++] =
				workers[from]->handover[w->id]->ring;
	}
	PORT_FOREACH(port) {
		for (uint16_t q = 0; q < port->nb_rxq; q++, nth++) {
			if (running && port_polled[port->id] &&
			    queue_owner(port->id, q, nth) == w->id)
				list->rx[list->rx_count++] = (struct rx_queue){port, q};
		}
	}
	__atomic_store_n(&w->poll, list, __ATOMIC_RELEASE);
	if (old != NULL)
		rcu_retire(rcu, poll_list_free, NULL, (uintptr_t)old);
	return 0;
}

static int
publish_polls(void)
{
	for (unsigned id = 0; id < count; id++) {
		if (publish_poll(workers[id]) != 0)
			return -ENOMEM;
	}
	return 0;
}

static struct handover *
handover_create(unsigned from, unsigned to, struct err *err)
{
	int socket = workers[from]->socket;
	struct handover *h =
		rte_zmalloc_socket("handover", sizeof(*h), RTE_CACHE_LINE_SIZE, socket);

	if (h == NULL) {
		err_set(err, ENOMEM, "no memory for packets from worker to worker");
		return NULL;
	}
	h->ring = ring_create("handover", from, to, handover_slots(), workers[to]->socket, err);
	if (h->ring != NULL)
		return h;
	rte_free(h);
	return NULL;
}

int
worker_open_handover(unsigned to, struct err *err)
{
	/* Rings that stay unused because a later one fails do no harm. */
	for (unsigned from = 0; from < count; from++) {
		if (from == to || workers[from]->handover[to] != NULL)
			continue;
		workers[from]->handover[to] = handover_create(from, to, err);
		if (workers[from]->handover[to] == NULL)
			return -ENOMEM;
	}
	/* Polled before the first packet is put in. */
	if (publish_poll(workers[to]) != 0)
		return err_set(err, ENOMEM, "no memory for the list of queues");
	return 0;
}

/*
 * A transmit queue has one owner. With fewer queues than workers, those
 * without one pass their frames to an owner over a ring of their own.
 */
static int
assign_tx(struct port *port, struct err *err)
{
	for (unsigned id = 0; id < count; id++) {
		struct worker *w = workers[id];
		struct tx_queue *q = &w->tx[port->id];
		unsigned owner = id % port->nb_txq;

		if (id < port->nb_txq) {
			q->own = true;
			q->queue = (uint16_t)id;
			continue;
		}
		if (frame_rings[id][owner] == NULL)
			frame_rings[id][owner] =
				ring_create("frames", id, owner, FRAME_RING, w->socket, err);
		q->ring = frame_rings[id][owner];
		if (q->ring == NULL)
			return -ENOMEM;
	}
	return 0;
}

/* --config names queues and workers that exist. */
static int
check_map(struct err *err)
{
	for (unsigned m = 0; m < options->map_count; m++) {
		const struct queue_map *map = &options->map[m];
		unsigned id = 0;

		while (id < count && workers[id]->lcore != map->lcore)
			id++;
		if (id == count)
			return err_set(err, EINVAL, "--config: lcore %u is no worker", map->lcore);
		if (map->port >= RTE_MAX_ETHPORTS || !ports[map->port].present ||
		    map->queue >= ports[map->port].nb_rxq)
			return err_set(err, EINVAL, "--config: port %u has no receive queue %u",
				       map->port, map->queue);
	}
	return 0;
}

int
workers_launch(struct err *err)
{
	struct port *port;
	unsigned nth = 0;
	int rc = check_map(err);

	if (rc != 0)
		return rc;
	PORT_FOREACH(port) {
		rc = assign_tx(port, err);

		if (rc != 0)
			return rc;
		for (uint16_t q = 0; q < port->nb_rxq; q++)
			port_warn_numa(port, workers[queue_owner(port->id, q, nth++)]->lcore);
	}
	if (publish_polls() != 0)
		return err_set(err, ENOMEM, "no memory for the list of queues");
	reassembly_init(NULL);
	for (unsigned id = 0; id < count; id++) {
		rc = reassemble_open(workers[id], err);
		/* Fragments of one datagram come in on many queues and meet on one worker. */
		if (rc == 0 && count > 1)
			rc = worker_open_handover(id, err);
		if (rc != 0)
			return rc;
	}
	for (unsigned id = 0; id < count; id++) {
		rc = rte_eal_remote_launch(worker_main, workers[id], workers[id]->lcore);

		if (rc != 0)
			return err_set(err, -rc, "lcore %u cannot be started", workers[id]->lcore);
		workers[id]->launched = true;
	}
	return 0;
}

void
workers_start(void)
{
	running = true;
	publish_polls();
}

void
workers_stop(void)
{
	running = false;
	publish_polls();
	rcu_synchronize(rcu);
}

bool
workers_running(void)
{
	return running;
}

void
workers_release_port(const struct port *port)
{
	port_polled[port->id] = false;
	__atomic_store_n(&ports[port->id].tx_up, false, __ATOMIC_RELEASE);
	publish_polls();
	rcu_synchronize(rcu);
}

void
workers_adopt_port(const struct port *port)
{
	port_polled[port->id] = true;
	__atomic_store_n(&ports[port->id].tx_up, true, __ATOMIC_RELEASE);
	publish_polls();
}

/* Everything in rings has been dealt with, on both sides. */
static bool
rings_empty(void)
{
	for (unsigned id = 0; id < count; id++) {
		if (rte_ring_count(workers[id]->to_control) != 0 ||
		    rte_ring_count(workers[id]->from_control) != 0)
			return false;
		for (unsigned to = 0; to < count; to++) {
			const struct handover *h = workers[id]->handover[to];

			if (frame_rings[id][to] != NULL && rte_ring_count(frame_rings[id][to]) != 0)
				return false;
			if (h != NULL && rte_ring_count(h->ring) != 0)
				return false;
		}
	}
	return true;
}

void
workers_drain(void)
{
	/* Bounded: a packet can cross a few times, not for ever. */
	for (unsigned round = 0; round < 1000; round++) {
		handoff_poll();
		rcu_synchronize(rcu);
		if (rings_empty())
			break;
		sched_yield();
	}
	/* One more loop each, for what was just taken from a ring. */
	rcu_synchronize(rcu);
	rcu_synchronize(rcu);
}

void
workers_join(void)
{
	__atomic_store_n(&workers_quit, true, __ATOMIC_RELAXED);
	for (unsigned id = 0; id < count; id++) {
		if (workers[id] != NULL && workers[id]->launched) {
			rte_eal_wait_lcore(workers[id]->lcore);
			workers[id]->launched = false;
		}
	}
}

void
workers_destroy(void)
{
	for (unsigned id = 0; id < count; id++) {
		struct worker *w = workers[id];

		for (unsigned to = 0; to < count; to++) {
			rte_ring_free(frame_rings[id][to]);
			frame_rings[id][to] = NULL;
		}
		if (w == NULL)
			continue;
		for (unsigned to = 0; to < count; to++) {
			if (w->handover[to] != NULL)
				rte_ring_free(w->handover[to]->ring);
			rte_free(w->handover[to]);
		}
		rte_ring_free(w->to_control);
		rte_ring_free(w->from_control);
		rte_ring_free(w->notes);
		reassemble_close(w);
		sid_counters_unreserve(w->sids);
		free((void *)(uintptr_t)w->poll);
		rte_free(w);
		workers[id] = NULL;
	}
	counters_fini();
	count = 0;
}
