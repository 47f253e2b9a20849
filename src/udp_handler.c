/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Handlers at work: what include/noref/udp_handler.h promises them, made from
 * what udp_app.h gives.
 */
#include "udp_handler.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_cycles.h>
#include <rte_malloc.h>

#include "noref/udp_handler.h"
#include "pool.h"
#include "udp_handler_list.h"

/* Bytes of the largest datagram. */
#define DATAGRAM_MAX 65536

/* A handler on one worker. */
struct place {
	struct noref_udp_worker seen; /* by the handler */
	struct udp_worker *worker;
	unsigned replies; /* waiting to be sent when handle() returns */
	struct udp_outgoing out[UDP_BURST_MAX];
	struct noref_udp_datagram datagrams[UDP_BURST_MAX];
	uint8_t whole[DATAGRAM_MAX]; /* a datagram that came in several pieces */
} __rte_cache_aligned;

/* A handler that sockets are bound to. */
struct open_handler {
	struct udp_app app;
	const struct noref_udp_handler *ops;
	void *state;
	unsigned workers;
	struct place *places; /* by worker */
};

/* --- sending ------------------------------------------------------------------------------ */

static void
flush(struct place *p)
{
	if (p->replies != 0)
		p->worker->send(p->worker, p->out, p->replies);
	p->replies = 0;
}

static struct rte_mbuf *
packet_alloc(struct place *p)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(p->worker->pool);

	if (m == NULL)
		return NULL;
	pool_made(m->pool, 1);
	m->data_off = (uint16_t)RTE_MAX((int)m->data_off, UDP_HEADROOM);
	return m;
}

static struct ip_addr
address(uint8_t family, const uint8_t *bytes)
{
	struct ip_addr a = {.family = family == 4 ? AF_INET : AF_INET6};

	memcpy(a.bytes, bytes, family == 4 ? 4 : 16);
	return a;
}

static void *
reply(struct noref_udp_worker *worker, const struct noref_udp_datagram *to, uint32_t len)
{
	struct place *p = container_of(worker, struct place, seen);
	struct rte_mbuf *m;
	void *room;

	if (len > worker->reply_max)
		return NULL;
	if (p->replies == UDP_BURST_MAX)
		flush(p);
	m = packet_alloc(p);
	if (m == NULL)
		return NULL;
	room = rte_pktmbuf_append(m, (uint16_t)len);
	if (room == NULL) { /* buffers are smaller than usual */
		rte_pktmbuf_free_bulk(&m, 1);
		return NULL;
	}
	p->out[p->replies] = (struct udp_outgoing){
		.packet = m,
		.socket = to->socket,
		.to = address(to->family, to->remote),
		.to_port = to->remote_port,
		.iface = to->family == 6 && ip6_is_link_local(to->remote) ? to->interface : 0,
	};
	if (!to->group)
		p->out[p->replies].from = address(to->family, to->local);
	p->replies++;
	return room;
}

/* In as many buffers as it takes. NULL: there are not that many. */
static struct rte_mbuf *
packet_of(struct place *p, const uint8_t *data, uint32_t len)
{
	struct rte_mbuf *first = packet_alloc(p), *last = first;

	while (first != NULL && len > 0) {
		uint16_t n = (uint16_t)RTE_MIN(len, (uint32_t)rte_pktmbuf_tailroom(last));

		memcpy(rte_pktmbuf_mtod_offset(last, char *, last->data_len), data, n);
		last->data_len += n;
		first->pkt_len += n;
		data += n;
		len -= n;
		if (len == 0)
			break;
		last->next = rte_pktmbuf_alloc(p->worker->pool);
		if (last->next == NULL) {
			rte_pktmbuf_free_bulk(&first, 1);
			return NULL;
		}
		last = last->next;
		pool_made(last->pool, 1);
		first->nb_segs++;
	}
	return first;
}

static int
send_one(struct noref_udp_worker *worker, const struct noref_udp_to *to, const void *data,
	 uint32_t len)
{
	struct place *p = container_of(worker, struct place, seen);
	struct udp_outgoing out = {
		.socket = to->socket,
		.to_port = to->port,
		.iface = to->interface,
		.ttl = to->ttl,
		.tos = to->tos,
		.dont_fragment = to->dont_fragment != 0,
	};

	if (len > DATAGRAM_MAX)
		return -EMSGSIZE;
	if (to->family != 0 && to->family != 4 && to->family != 6)
		return -EAFNOSUPPORT;
	if (to->family != 0)
		out.to = address(to->family, to->addr);
	flush(p); /* in the order they were asked for */
	out.packet = packet_of(p, data, len);
	if (out.packet == NULL)
		return -ENOBUFS;
	p->worker->send(p->worker, &out, 1);
	return out.error;
}

/* --- receiving ---------------------------------------------------------------------------- */

/* The payload in one piece. */
static const void *
in_one_piece(struct place *p, const struct udp_datagram *d)
{
	uint32_t offset = (uint32_t)(d->payload - rte_pktmbuf_mtod(d->packet, uint8_t *));

	if (d->contiguous == d->len)
		return d->payload;
	return rte_pktmbuf_read(d->packet, offset, d->len, p->whole);
}

static void
translate(struct noref_udp_datagram *to, const struct udp_datagram *d, const void *data)
{
	unsigned n = d->family == AF_INET ? 4 : 16;

	*to = (struct noref_udp_datagram){
		.data = data,
		.len = d->len,
		.socket = d->socket,
		.family = d->family == AF_INET ? 4 : 6,
		.tos = d->tos,
		.ttl = d->ttl,
		.group = d->group,
		.local_port = d->local_port,
		.remote_port = d->remote_port,
		.vrf = d->vrf,
		.interface = d->iface,
	};
	memcpy(to->local, d->local, n);
	memcpy(to->remote, d->remote, n);
}

static struct place *
place_on(struct open_handler *h, struct udp_worker *worker)
{
	struct place *p = &h->places[worker->id];

	p->worker = worker;
	p->seen.lcore = worker->lcore;
	p->seen.now = rte_rdtsc();
	return p;
}

static void
handle(struct open_handler *h, struct place *p, unsigned n)
{
	if (n != 0)
		h->ops->handle(h->state, &p->seen, p->datagrams, n);
	flush(p);
}

static void
deliver(struct udp_app *app, struct udp_worker *worker, struct udp_datagram *datagrams, unsigned n)
{
	struct open_handler *h = container_of(app, struct open_handler, app);
	struct place *p = place_on(h, worker);
	unsigned gathered = 0;

	for (unsigned i = 0; i < n; i++) {
		const struct udp_datagram *d = &datagrams[i];
		bool pieces = d->contiguous != d->len;

		/* There is room to put one together at a time. */
		if (pieces) {
			handle(h, p, gathered);
			gathered = 0;
		}
		translate(&p->datagrams[gathered++], d, in_one_piece(p, d));
		if (pieces) {
			handle(h, p, gathered);
			gathered = 0;
		}
	}
	handle(h, p, gathered);
}

static unsigned
poll_handler(struct udp_app *app, struct udp_worker *worker)
{
	struct open_handler *h = container_of(app, struct open_handler, app);

	if (h->ops->poll != NULL) {
		struct place *p = place_on(h, worker);

		h->ops->poll(h->state, &p->seen);
		flush(p);
	}
	return 0;
}

/* --- opening and closing --------------------------------------------------------------------- */

static void
open_free(struct open_handler *h)
{
	rte_free(h->places);
	free(h);
}

static struct udp_app *
open_handler(const char *name, unsigned workers, struct err *err)
{
	const struct handler *known = handler_find(name);
	char error[200] = "it gave no reason";
	struct open_handler *h;

	if (known == NULL) {
		err_set(err, ENOENT, "handler '%.40s' has not been loaded", name);
		return NULL;
	}
	h = calloc(1, sizeof(*h));
	if (h != NULL)
		h->places = rte_zmalloc("udp_handler", workers * sizeof(h->places[0]), 0);
	if (h == NULL || h->places == NULL) {
		free(h);
		err_set(err, ENOMEM, "handler '%s': no memory", name);
		return NULL;
	}
	h->ops = known->ops;
	h->workers = workers;
	for (unsigned w = 0; w < workers; w++) {
		h->places[w].seen = (struct noref_udp_worker){
			.id = w,
			.reply = reply,
			.send = send_one,
			.reply_max = RTE_MBUF_DEFAULT_DATAROOM - UDP_HEADROOM,
		};
	}
	if (h->ops->open == NULL)
		return &h->app;
	h->state = h->ops->open(name, workers, error, sizeof(error));
	if (h->state != NULL)
		return &h->app;
	error[sizeof(error) - 1] = '\0';
	err_set(err, EINVAL, "handler '%s' refuses: %s", name, error);
	open_free(h);
	return NULL;
}

static void
close_handler(struct udp_app *app)
{
	struct open_handler *h = container_of(app, struct open_handler, app);

	if (h->ops->close != NULL)
		h->ops->close(h->state);
	open_free(h);
}

static const struct udp_app_ops handler_ops = {
	.word = "handler",
	.named = true,
	.open = open_handler,
	.close = close_handler,
	.deliver = deliver,
	.poll = poll_handler,
};

void
udp_handler_register(void)
{
	udp_app_register(&handler_ops);
}
