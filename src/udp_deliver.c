/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Datagrams to applications, grouped by application, and what each then comes
 * to: the one place where delivery is counted.
 */

#include "demux.h"
#include "trace.h"

static void
settle(struct worker *w, struct udp_own *own, const struct udp_datagram *d, uint16_t len)
{
	struct udp_counters *counters = &own->counters[d->socket];

	if (unlikely(d->fate == UDP_QUEUE_FULL)) {
		counters->drops++;
		w->stats.drops[DROP_UDP_QUEUE_FULL]++;
		if (unlikely(d->trace != 0))
			trace_step(d->trace, TRACE_DROPPED, DROP_UDP_QUEUE_FULL, 0, 0, NULL, 0);
		worker_free(w, d->packet);
		return;
	}
	counters->packets++;
	counters->bytes += len;
	w->stats.delivered++;
	if (unlikely(d->trace != 0))
		trace_step(d->trace, TRACE_DELIVERED, 0, 0, d->socket + 1, NULL, 0);
	if (d->fate == UDP_REPLY)
		udp_reply(w, own, d);
	else
		worker_free(w, d->packet);
}

/* n datagrams of one application. */
static void
hand(struct worker *w, struct udp_own *own, struct udp_app *app, struct udp_datagram *d, unsigned n)
{
	uint16_t len[UDP_BURST_MAX];

	for (unsigned i = 0; i < n; i++)
		len[i] = d[i].len; /* as received: a reply may have another */
	app->ops->deliver(app, &own->worker, d, n);
	for (unsigned i = 0; i < n; i++)
		settle(w, own, &d[i], len[i]);
}

/* Its socket has been closed since it was found: as if it had not been. */
static void
orphan(struct worker *w, const struct udp_datagram *d)
{
	w->stats.drops[DROP_UDP_NO_SOCKET]++;
	if (unlikely(d->trace != 0))
		trace_step(d->trace, TRACE_DROPPED, DROP_UDP_NO_SOCKET, 0, 0, NULL, 0);
	worker_free(w, d->packet);
}

void
udp_deliver(struct worker *w, struct udp_own *own, unsigned n)
{
	struct udp_datagram *d = own->datagrams;
	struct udp_app *apps[UDP_BURST_MAX];

	for (unsigned i = 0; i < n; i++) {
		const struct udp_socket *s = udp_socket_at(sockets, d[i].socket);

		apps[i] = s != NULL ? s->bound.app : NULL;
		if (unlikely(s == NULL))
			orphan(w, &d[i]);
	}
	/* Nearly always all are for one application. */
	for (unsigned from = 0; from < n; from++) {
		struct udp_app *app = apps[from];
		unsigned count = 0;

		if (app == NULL)
			continue;
		for (unsigned i = from; i < n; i++) {
			if (apps[i] != app)
				continue;
			own->run[count++] = d[i];
			apps[i] = NULL;
		}
		hand(w, own, app, own->run, count);
	}
}
