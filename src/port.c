/* SPDX-License-Identifier: BSD-3-Clause */
/* Ports that are set up: found, started, stopped, asked for link and counters. */
#include "port.h"

#include <errno.h>
#include <stdio.h>

#include <rte_errno.h>

#include "flow_set.h"
#include "port_internal.h"

struct port ports[RTE_MAX_ETHPORTS];

_Static_assert(offsetof(struct port, present) == RTE_CACHE_LINE_SIZE,
	       "what workers read is one cache line");

const char *
port_strerror(int code)
{
	if (code == -1)
		return "the driver refuses, see its own message";
	return rte_strerror(-code);
}

int
port_err(const struct port *port, int code, struct err *err)
{
	return code < 0 ? err_prefix(err, code, "port %u (%s)", port->id, port->name) : code;
}

struct port *
port_find(const char *text, struct err *err)
{
	struct port *p;
	uint64_t id;

	if (number_parse(text, 0, RTE_MAX_ETHPORTS - 1, &id) == 0 && ports[id].present)
		return &ports[id];
	PORT_FOREACH(p)
		if (strcmp(p->name, text) == 0)
			return p;
	err_set(err, ENODEV, "port '%s': no such port", text);
	return NULL;
}

static void
add_word(char *text, size_t size, const char *word)
{
	size_t used = strlen(text);

	snprintf(text + used, size - used, "%s%s", used > 0 ? " " : "", word);
}

const char *
port_rss_text(const struct port *port, char *text, size_t size)
{
	text[0] = '\0';
	if (port->nb_rxq > 1 && port->about->spreads)
		return "of its own";
	if (port->rss_types & RTE_ETH_RSS_IPV4)
		add_word(text, size, "ipv4");
	if (port->rss_types & RTE_ETH_RSS_IPV6)
		add_word(text, size, "ipv6");
	if (port->rss_types & RTE_ETH_RSS_TCP)
		add_word(text, size, "tcp");
	if (port->rss_types & RTE_ETH_RSS_UDP)
		add_word(text, size, "udp");
	if (port->rss_types & RTE_ETH_RSS_SCTP)
		add_word(text, size, "sctp");
	return text[0] != '\0' ? text : "none";
}

/* --- what drivers count ----------------------------------------------------------- */

static const size_t counters[] = {
	offsetof(struct rte_eth_stats, ipackets), offsetof(struct rte_eth_stats, opackets),
	offsetof(struct rte_eth_stats, ibytes),	  offsetof(struct rte_eth_stats, obytes),
	offsetof(struct rte_eth_stats, imissed),  offsetof(struct rte_eth_stats, ierrors),
	offsetof(struct rte_eth_stats, oerrors),  offsetof(struct rte_eth_stats, rx_nombuf),
};

static uint64_t *
counter(struct rte_eth_stats *stats, unsigned i)
{
	return (uint64_t *)((char *)stats + counters[i]);
}

/** The counters as they are; zeroes and false if the driver counts nothing. */
static bool
read_stats(const struct port *port, struct rte_eth_stats *now)
{
	unsigned q;

	memset(now, 0, sizeof(*now));
	if (rte_eth_stats_get(port->id, now) < 0)
		return false;
	/* What a full queue loses when it is to drop (set_up_queues) is counted there only. */
	if (port->about->drops_in_queue_errors)
		for (q = 0; q < RTE_ETHDEV_QUEUE_STAT_CNTRS; q++)
			now->imissed += now->q_errors[q];
	return true;
}

bool
port_device_stats(const struct port *port, struct rte_eth_stats *stats)
{
	struct rte_eth_stats base = port->stats_base, past = port->stats_past;
	bool counts = read_stats(port, stats);
	unsigned i;

	for (i = 0; i < RTE_DIM(counters); i++) {
		uint64_t now = *counter(stats, i), from = *counter(&base, i);

		/* A device that is stopped may have forgotten already; what it counted is past. */
		if (!port->device_runs)
			now = from = 0;
		*counter(stats, i) = *counter(&past, i) + (now >= from ? now - from : now);
	}
	return counts;
}

void
port_device_stats_clear(struct port *port)
{
	memset(&port->stats_past, 0, sizeof(port->stats_past));
	if (port->device_runs)
		read_stats(port, &port->stats_base);
}

/** before: what the counters were when the device was about to start. Those
 * that went back since have started from zero, the others go on. */
static void
stats_started(struct port *port, struct rte_eth_stats *before)
{
	struct rte_eth_stats now;
	unsigned i;

	read_stats(port, &now);
	for (i = 0; i < RTE_DIM(counters); i++)
		if (*counter(&now, i) < *counter(before, i))
			*counter(before, i) = 0;
	port->stats_base = *before;
}

/* --- start and stop ---------------------------------------------------------------- */

static int
start_device(struct port *port, struct err *err)
{
	int64_t held = pool_held_by_thread(port->pool);
	struct rte_eth_stats before;
	int ret;

	if (port->device_runs) {
		/* It went on receiving while it was stopped for us: a stopped port does not. */
		port_drain(port);
	} else {
		read_stats(port, &before);
		ret = rte_eth_dev_start(port->id);
		if (ret < 0)
			return err_set(err, -ret, "the device does not start: %s",
				       port_strerror(ret));
		port->device_runs = true;
		pool_given(port->pool, held);
		stats_started(port, &before);
	}
	port->started = true;
	return port_apply_filters(port, err);
}

int
port_start(struct port *port, struct err *err)
{
	struct err second;
	int ret;

	if (port->started)
		return 0;
	ret = start_device(port, err);
	if (ret < 0) {
		port_stop(port, &second);
		return port_err(port, ret, err);
	}
	/* Which transmit function the driver has chosen, and so whether it can clean up, is known
	 * only now. */
	port->tx_cleanup = rte_eth_tx_done_cleanup(port->id, 0, 1) >= 0;
	port->tx_empty_burst = port->about->empty_burst_cleans;
	port_poll_link(port);
	flow_port_started(port);
	__atomic_store_n(&port->tx_up, port->admin_up, __ATOMIC_RELEASE);
	return 0;
}

int
port_stop(struct port *port, struct err *err)
{
	struct rte_eth_stats counted_so_far;
	int ret;

	if (!port->started)
		return 0;
	__atomic_store_n(&port->tx_up, false, __ATOMIC_RELEASE);
	if (!port->about->stops_for_good) {
		port_device_stats(port, &counted_so_far);
		flow_port_stopping(port);
		ret = rte_eth_dev_stop(port->id);
		if (ret < 0) {
			flow_port_started(port);
			err_set(err, -ret, "the device does not stop: %s", port_strerror(ret));
			return port_err(port, ret, err);
		}
		port->device_runs = false;
		port->stats_past = counted_so_far;
	}
	port->started = false;
	port->link_up = false;
	return 0;
}

void
port_drain(const struct port *port)
{
	struct rte_mbuf *pkts[32];
	/* A queue that fills faster than it is emptied must not hold us here. */
	unsigned bursts = 1024;
	uint16_t q, n;

	for (q = 0; q < port->nb_rxq; q++) {
		do {
			n = rte_eth_rx_burst(port->id, q, pkts, RTE_DIM(pkts));
			rte_pktmbuf_free_bulk(pkts, n);
		} while (n > 0 && --bursts > 0);
	}
}

bool
port_poll_link(struct port *port)
{
	struct rte_eth_link link = {0};
	bool was = port->link_up;
	int ret;

	if (!port->started)
		return false;
	ret = rte_eth_link_get_nowait(port->id, &link);
	/* A device that knows no carrier cannot lose it. */
	port->link_up = ret == -ENOTSUP || (ret == 0 && link.link_status == RTE_ETH_LINK_UP);
	return port->link_up != was;
}

void
port_warn_numa(const struct port *port, unsigned lcore)
{
	int device = rte_eth_dev_socket_id(port->id);
	unsigned worker = rte_lcore_to_socket_id(lcore);

	if (device >= 0 && (unsigned)device != worker && rte_socket_count() > 1)
		printf("port %u %s: on NUMA socket %d, polled by lcore %u of socket %u: slower\n",
		       port->id, port->name, device, lcore, worker);
}
