/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Datagrams into a client's rings, and out of them.
 */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <unistd.h>

#include "pool.h"

/* Taken from a client by one worker in one loop. */
#define SEND_BURST  64
#define SEND_BUDGET (256u * 1024) /* bytes */

/* The sockets of a ring: immutable, swapped. */
struct socket_list {
	unsigned n;
	uint32_t id[];
};

struct ring_app {
	struct udp_app app;
	struct ring_client *client;	   /* workers read it; NULL: nobody has attached */
	const struct socket_list *sockets; /* ... that the client may send from; NULL: none */
	unsigned workers;
	LIST_ENTRY(ring_app) link;
};

static struct rcu *grace;
static unsigned interface_max;
static LIST_HEAD(, ring_app) apps = LIST_HEAD_INITIALIZER(apps);

/* --- received ------------------------------------------------------------------------- */

static void
copy_payload(uint8_t *to, const struct udp_datagram *d)
{
	const struct rte_mbuf *m = d->packet;
	uint32_t left = d->len, here = RTE_MIN((uint32_t)d->contiguous, left);

	memcpy(to, d->payload, here);
	for (m = m->next; (left -= here) != 0; m = m->next) {
		to += here;
		here = RTE_MIN(left, (uint32_t)m->data_len);
		memcpy(to, rte_pktmbuf_mtod(m, const uint8_t *), here);
	}
}

static bool
give(struct ring_writer *ring, const struct udp_datagram *d)
{
	struct ring_record *r = ring_reserve(ring, d->len);
	unsigned size = d->family == AF_INET ? 4 : 16;
	uint16_t checksum;

	if (unlikely(r == NULL))
		return false;
	/* The UDP header is right in front; the checksum was right, or not there (IPv4). */
	memcpy(&checksum, d->payload - 2, sizeof(checksum));
	r->len = d->len;
	r->socket = d->socket;
	r->local_port = d->local_port;
	r->remote_port = d->remote_port;
	r->iface = d->iface;
	r->vrf = d->vrf;
	r->family = d->family == AF_INET ? 4 : 6;
	r->flags = (uint8_t)((checksum != 0 ? RING_CHECKSUM_OK : 0) | (d->group ? RING_GROUP : 0));
	r->tos = d->tos;
	r->ttl = d->ttl;
	memcpy(r->local, d->local, size);
	memcpy(r->remote, d->remote, size);
	copy_payload((uint8_t *)(r + 1), d);
	return true;
}

static void
deliver(struct udp_app *a, struct udp_worker *worker, struct udp_datagram *datagrams, unsigned n)
{
	struct ring_app *app = (struct ring_app *)a;
	struct ring_client *client = __atomic_load_n(&app->client, __ATOMIC_ACQUIRE);
	struct ring_writer *ring;

	if (client == NULL) {
		for (unsigned i = 0; i < n; i++)
			datagrams[i].fate = UDP_QUEUE_FULL;
		return;
	}
	ring = &client->worker[worker->id].received;
	for (unsigned i = 0; i < n; i++) {
		if (i + 1 < n)
			rte_prefetch0(datagrams[i + 1].payload);
		if (!give(ring, &datagrams[i]))
			datagrams[i].fate = UDP_QUEUE_FULL;
	}
	ring_publish(ring);
}

/*
 * Asked in every loop, so no fence is needed between publishing and looking:
 * what this loop does not see of a client that goes to sleep, the next one does.
 */
static void
wake(struct ring_client *client, struct ring_worker *own)
{
	struct ring_ends *ends = own->received.ends;

	if (own->received.head == own->woken ||
	    __atomic_load_n(&ends->sleeping, __ATOMIC_RELAXED) == 0)
		return;
	__atomic_store_n(&ends->sleeping, 0, __ATOMIC_RELAXED);
	own->woken = own->received.head;
	if (write(client->wake, "", 1) < 0) {
		/* Full: it has been told. Closed: it is going. */
	}
}

/* --- to be sent -------------------------------------------------------------------------- */

static bool
may_send_from(const struct socket_list *sockets, uint32_t id)
{
	for (unsigned i = 0; sockets != NULL && i < sockets->n; i++) {
		if (sockets->id[i] == id)
			return true;
	}
	return false;
}

/* The payload in buffers of ours. NULL: not enough are free. */
static struct rte_mbuf *
make_packet(struct rte_mempool *pool, const uint8_t *payload, uint32_t len)
{
	struct rte_mbuf *packet = rte_pktmbuf_alloc(pool), *last = packet;

	while (last != NULL) {
		uint16_t here = (uint16_t)RTE_MIN(len, (uint32_t)rte_pktmbuf_tailroom(last));

		memcpy(rte_pktmbuf_mtod(last, uint8_t *), payload, here);
		last->data_len = here;
		packet->pkt_len += here;
		payload += here;
		len -= here;
		if (len == 0) {
			pool_made(pool, packet->nb_segs);
			return packet;
		}
		last->next = rte_pktmbuf_alloc(pool);
		last = last->next;
		packet->nb_segs += last != NULL;
	}
	rte_pktmbuf_free_bulk(&packet, packet != NULL);
	return NULL;
}

static struct ip_addr
address(const struct ring_record *r, const uint8_t *bytes)
{
	struct ip_addr a = {.family = r->family == 4 ? AF_INET : r->family == 6 ? AF_INET6 : 0};

	memcpy(a.bytes, bytes, a.family == AF_INET ? 4 : a.family == AF_INET6 ? 16 : 0);
	return a;
}

static void
fill(struct udp_outgoing *o, const struct ring_record *r, struct rte_mbuf *packet)
{
	struct ip_addr from = address(r, r->local);

	if (!ip_is_unspecified(&from))
		o->from = from;
	o->packet = packet;
	o->socket = r->socket;
	o->to = address(r, r->remote);
	o->to_port = r->remote_port;
	o->iface = r->iface;
	o->ttl = r->ttl;
	o->tos = r->tos;
	o->dont_fragment = (r->flags & RING_DONT_FRAGMENT) != 0;
}

static unsigned
take(struct ring_app *app, struct ring_worker *own, struct udp_worker *worker)
{
	const struct socket_list *sockets = __atomic_load_n(&app->sockets, __ATOMIC_ACQUIRE);
	struct udp_outgoing out[SEND_BURST] = {0};
	struct ring_reader *ring = &own->send;
	unsigned n = 0, seen = 0;
	uint32_t bytes = 0;

	for (; seen < SEND_BURST && bytes < SEND_BUDGET; seen++) {
		struct ring_reader before = *ring;
		struct ring_record record;
		struct rte_mbuf *packet;
		const uint8_t *payload;
		int broken = 0;

		payload = ring_next(ring, &record, &broken);
		own->broken = broken;
		if (payload == NULL)
			break;
		bytes += ring_record_bytes(record.len);
		/* What is not its own it may not send from, and what is none is none. */
		if (!may_send_from(sockets, record.socket) || record.iface >= interface_max)
			continue;
		packet = make_packet(worker->pool, payload, record.len);
		if (packet == NULL) {
			*ring = before; /* again when buffers are free */
			break;
		}
		fill(&out[n++], &record, packet);
	}
	if (seen == 0)
		return 0;
	ring_release(ring);
	worker->send(worker, out, n);
	return seen;
}

static unsigned
poll(struct udp_app *a, struct udp_worker *worker)
{
	struct ring_app *app = (struct ring_app *)a;
	struct ring_client *client = __atomic_load_n(&app->client, __ATOMIC_ACQUIRE);
	struct ring_worker *own;

	if (client == NULL)
		return 0;
	own = &client->worker[worker->id];
	wake(client, own);
	if (own->broken ||
	    __atomic_load_n(&own->send.ends->head, __ATOMIC_RELAXED) == own->send.tail)
		return 0;
	return take(app, own, worker);
}

/* --- control thread -------------------------------------------------------------------------- */

static void
free_client(void *ctx, uintptr_t what)
{
	(void)ctx;
	ring_client_free((struct ring_client *)what);
}

static void
free_list(void *ctx, uintptr_t what)
{
	(void)ctx;
	free((void *)what);
}

static struct udp_app *
open_app(const char *name, unsigned workers, struct err *err)
{
	struct ring_app *app = calloc(1, sizeof(*app));

	if (app == NULL) {
		err_set(err, ENOMEM, "no memory for ring %s", name);
		return NULL;
	}
	app->workers = workers;
	strncpy(app->app.name, name, sizeof(app->app.name) - 1);
	LIST_INSERT_HEAD(&apps, app, link);
	return &app->app;
}

static void
close_app(struct udp_app *a)
{
	struct ring_app *app = (struct ring_app *)a;

	LIST_REMOVE(app, link);
	/* No worker is left that could use it. Its client sees the pipe close, and leaves. */
	if (app->client != NULL) {
		app->client->app = NULL;
		ring_client_hang_up(app->client);
	}
	free((void *)(uintptr_t)app->sockets);
	free(app);
}

/* The sockets the client may send from: one more, or one less. */
static int
set_sockets(struct ring_app *app, uint32_t add, uint32_t remove)
{
	const struct socket_list *old = app->sockets;
	unsigned n = old != NULL ? old->n : 0;
	struct socket_list *new = malloc(sizeof(*new) + (n + 1) * sizeof(new->id[0]));

	if (new == NULL)
		return -ENOMEM;
	new->n = 0;
	for (unsigned i = 0; i < n; i++) {
		if (old->id[i] != remove)
			new->id[new->n++] = old->id[i];
	}
	if (add != UINT32_MAX)
		new->id[new->n++] = add;
	__atomic_store_n(&app->sockets, new, __ATOMIC_RELEASE);
	if (old != NULL)
		rcu_retire(grace, free_list, NULL, (uintptr_t)old);
	return 0;
}

static int
bound(struct udp_app *app, uint32_t socket, struct err *err)
{
	if (set_sockets((struct ring_app *)app, socket, UINT32_MAX) != 0)
		return err_set(err, ENOMEM, "no memory for ring %s", app->name);
	return 0;
}

static void
unbound(struct udp_app *app, uint32_t socket)
{
	/* Without memory it stays on the list: sending from it fails all the same. */
	(void)set_sockets((struct ring_app *)app, UINT32_MAX, socket);
}

static uint64_t
depth(const struct udp_app *a, uint32_t socket)
{
	const struct ring_app *app = (const struct ring_app *)a;
	uint64_t sum = 0;

	(void)socket; /* the sockets of a ring share it */
	for (unsigned w = 0; app->client != NULL && w < app->client->workers; w++) {
		const struct ring_writer *ring = &app->client->worker[w].received;
		uint32_t waiting =
			ring->written - __atomic_load_n(&ring->ends->read, __ATOMIC_RELAXED);

		/* The client's word: no more than there is room for. */
		sum += RTE_MIN(waiting, ring->size / RING_ALIGN);
	}
	return sum;
}

static const struct udp_app_ops ops = {
	.word = "ring",
	.named = true,
	.open = open_app,
	.close = close_app,
	.bound = bound,
	.unbound = unbound,
	.depth = depth,
	.deliver = deliver,
	.poll = poll,
};

void
udp_ring_init(struct rcu *rcu, unsigned interfaces)
{
	grace = rcu;
	interface_max = interfaces;
	udp_app_register(&ops);
}

struct ring_client *
udp_ring_attach(const char *name, int fds[2], struct err *err)
{
	struct ring_client *client;
	struct ring_app *app;

	LIST_FOREACH(app, &apps, link) {
		if (strcmp(app->app.name, name) == 0)
			break;
	}
	if (app == NULL) {
		err_set(err, ENOENT, "no UDP socket is bound to ring %.31s", name);
		return NULL;
	}
	if (app->client != NULL) {
		err_set(err, EBUSY, "ring %.31s has a client", name);
		return NULL;
	}
	client = ring_client_create(app->workers, fds, err);
	if (client == NULL)
		return NULL;
	client->app = app;
	__atomic_store_n(&app->client, client, __ATOMIC_RELEASE);
	return client;
}

void
udp_ring_detach(struct ring_client *client)
{
	if (client->app != NULL)
		__atomic_store_n(&client->app->client, NULL, __ATOMIC_RELEASE);
	rcu_retire(grace, free_client, NULL, (uintptr_t)client);
}
