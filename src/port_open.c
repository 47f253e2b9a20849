/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From what EAL found to ports that can be started: how many queues and
 * descriptors each has, the pools that feed them, and the way back.
 */
#include <errno.h>
#include <stdio.h>

#include <rte_malloc.h>

#include "port_internal.h"

#define DESCRIPTORS_DEFAULT 1024
#define DESCRIPTORS_LEAST   128
#define MTU_DEFAULT	    1500

#define POOLS_MAX (RTE_MAX_NUMA_NODES > RTE_MAX_ETHPORTS ? RTE_MAX_NUMA_NODES : RTE_MAX_ETHPORTS)

/** One per NUMA socket that has a port, or one per port. */
static struct pool pools[POOLS_MAX];
static unsigned pool_count;
pthread_mutex_t pools_lock = PTHREAD_MUTEX_INITIALIZER;

struct pool *
pool_at(unsigned index)
{
	return index < pool_count ? &pools[index] : NULL;
}

struct pool *
pool_for_socket(int socket)
{
	unsigned i;

	for (i = 0; i < pool_count; i++)
		if (pools[i].socket == socket)
			return &pools[i];
	return pool_count > 0 ? &pools[0] : NULL;
}

/* --- queues --------------------------------------------------------------------- */

/** Receive queues of the port that --config names: the highest, plus one. */
static unsigned
mapped_queues(const struct options *options, uint16_t port)
{
	unsigned i, n = 0;

	for (i = 0; i < options->map_count; i++)
		if (options->map[i].port == port)
			n = RTE_MAX(n, options->map[i].queue + 1U);
	return n;
}

/** Receive queues a packet can reach by RSS. */
static unsigned
reachable_queues(const struct port *port, const struct rte_eth_dev_info *info)
{
	if (port->about->reta_queues != 0)
		return port->about->reta_queues;
	return info->reta_size != 0 ? info->reta_size : UINT16_MAX;
}

static unsigned
receive_queues(const struct port *port, const struct port_plan *plan,
	       const struct rte_eth_dev_info *info)
{
	unsigned mapped = mapped_queues(plan->options, port->id);

	if (plan->options->rxq != 0)
		return plan->options->rxq;
	if (mapped != 0)
		return mapped;
	if (port->about->all_rxq)
		return info->max_rx_queues;
	if (port->about->peer_queues)
		return 1;
	if (port->about->spreads)
		return plan->workers;
	if ((info->flow_type_rss_offloads & PORT_RSS_TYPES) == 0)
		return 1;
	return RTE_MIN(plan->workers, reachable_queues(port, info));
}

static unsigned
transmit_queues(const struct port *port, const struct port_plan *plan)
{
	if (port->about->paired)
		return port->nb_rxq;
	if (plan->options->txq != 0)
		return plan->options->txq;
	return port->about->peer_queues ? 1 : plan->workers;
}

static int
choose_queues(struct port *port, const struct port_plan *plan, const struct rte_eth_dev_info *info,
	      struct err *err)
{
	unsigned asked, reach = reachable_queues(port, info);

	if (info->max_rx_queues == 0 || info->max_tx_queues == 0)
		return err_set(err, ENODEV, "the device has %u receive and %u transmit queues",
			       info->max_rx_queues, info->max_tx_queues);

	asked = RTE_MAX(receive_queues(port, plan, info), 1U);
	port->nb_rxq = (uint16_t)RTE_MIN(asked, info->max_rx_queues);
	if (plan->options->rxq > port->nb_rxq)
		printf("port %u %s: %u receive queues asked, the device has %u\n", port->id,
		       port->name, asked, port->nb_rxq);
	asked = mapped_queues(plan->options, port->id);
	if (asked > port->nb_rxq)
		return err_set(err, EINVAL, "--config names receive queue %u, there are %u",
			       asked - 1, port->nb_rxq);
	if (port->nb_rxq > reach && !port->about->spreads && !port->about->all_rxq)
		printf("port %u %s: RSS reaches queues 0-%u only: queues %u-%u receive nothing but "
		       "what flow rules send there\n",
		       port->id, port->name, reach - 1, reach, port->nb_rxq - 1U);

	asked = RTE_MAX(transmit_queues(port, plan), 1U);
	port->nb_txq = (uint16_t)RTE_MIN(asked, info->max_tx_queues);
	if (plan->options->txq > port->nb_txq)
		printf("port %u %s: %u transmit queues asked, there are %u\n", port->id, port->name,
		       plan->options->txq, port->nb_txq);
	return 0;
}

static int
choose_descriptors(struct port *port, uint16_t rxd, uint16_t txd, struct err *err)
{
	int ret;

	port->rxd = rxd;
	port->txd = txd;
	ret = rte_eth_dev_adjust_nb_rx_tx_desc(port->id, &port->rxd, &port->txd);
	if (ret < 0)
		return err_set(err, -ret, "%u/%u descriptors: %s", rxd, txd, port_strerror(ret));
	return 0;
}

/* --- pools ---------------------------------------------------------------------- */

/** Buffers that may sit in the transmit queues of a port, all of them full. */
static uint32_t
tx_buffers(const struct port *p, uint32_t segments)
{
	uint32_t slots = p->nb_txq * (uint32_t)RTE_MAX(p->txd, p->about->tx_buffers);

	return p->about->same_buffers ? slots * segments : slots;
}

/** What can hold buffers of the pool that feeds `fed`, or, with fed NULL, all ports on the socket.
 */
static struct pool_demand
demand_on(int socket, const struct port *fed, const struct port_plan *plan)
{
	uint16_t room = plan->options->mbuf_size != 0 ? plan->options->mbuf_size
						      : RTE_MBUF_DEFAULT_BUF_SIZE;
	struct pool_demand d = {
		.workers = plan->workers,
		.burst = plan->options->burst,
		.made = BURST_MAX,
		.rings = plan->ring_slots,
		.held = plan->held,
	};
	const struct port *p;

	PORT_FOREACH(p) {
		uint32_t frame = p->mtu + PORT_FRAME_OVERHEAD;
		uint32_t segments = frame / (room - RTE_PKTMBUF_HEADROOM) + 1;

		d.segments = RTE_MAX(d.segments, segments);
	}
	PORT_FOREACH(p) {
		/* Any port may be full of packets that came in here. */
		d.tx_descriptors += tx_buffers(p, d.segments);
		if (fed != NULL ? p != fed : p->socket != socket)
			continue;
		d.rx_queues += p->nb_rxq;
		d.rx_descriptors += p->nb_rxq * (uint32_t)RTE_MAX(p->rxd, p->about->rx_buffers);
	}
	return d;
}

static void
destroy_pools(void)
{
	struct port *p;

	while (pool_count > 0)
		pool_destroy(&pools[--pool_count]);
	PORT_FOREACH(p)
		p->pool = NULL;
}

/**
 * percent: of the size the demand calls for. Where memory is limited from the
 * start, an eighth of it is left for all else (rings, descriptors, tables).
 */
static int
create_pool(const struct port *port, const struct port_plan *plan, unsigned percent,
	    struct err *err)
{
	const struct options *o = plan->options;
	const struct port *fed = o->per_port_pool ? port : NULL;
	struct pool_demand demand = demand_on(port->socket, fed, plan);
	uint64_t left = pool_memory_left(port->socket);
	uint32_t size = o->total_mbufs;
	char name[16];

	if (size == 0) {
		size = (uint32_t)((uint64_t)pool_size_for(&demand) * percent / 100);
		size = RTE_MAX(size, pool_size_min(&demand));
		if (left != UINT64_MAX && pool_bytes(size, o->mbuf_size) > left / 8 * 7)
			return err_set(
				err, ENOMEM,
				"%u buffers for the queues of %s need %u MiB and %u MiB "
				"are left: give more (EAL option -m, or hugepages), or ask for "
				"less (--rxd, --txd, --rxq, --txq, --total-num-mbufs)",
				size, fed != NULL ? port->name : "all ports",
				(unsigned)(pool_bytes(size, o->mbuf_size) >> 20),
				(unsigned)(left / 8 * 7 >> 20));
	}
	if (fed != NULL)
		snprintf(name, sizeof(name), "pool_port%u", port->id);
	else
		snprintf(name, sizeof(name), "pool%d", port->socket);
	return pool_create(&pools[pool_count], name, port->socket, size, o->mbuf_size, &demand,
			   err);
}

static int
create_pools(const struct port_plan *plan, unsigned percent, struct err *err)
{
	struct port *p;
	int ret;

	PORT_FOREACH(p) {
		if (!plan->options->per_port_pool) {
			p->pool = pool_for_socket(p->socket);
			if (p->pool != NULL && p->pool->socket == p->socket)
				continue;
		}
		ret = create_pool(p, plan, percent, err);
		if (ret < 0) {
			destroy_pools();
			return ret;
		}
		p->pool = &pools[pool_count++];
	}
	return 0;
}

/** Descriptors for all ports, and pools for that many. */
static int
try_pools(const struct port_plan *plan, uint16_t rxd, uint16_t txd, unsigned percent,
	  struct err *err)
{
	struct port *p;
	int ret;

	PORT_FOREACH(p) {
		ret = choose_descriptors(p, rxd, txd, err);
		if (ret < 0)
			return port_err(p, ret, err);
	}
	return create_pools(plan, percent, err);
}

/** As many descriptors and buffers as memory gives, unless the user said how many. */
static int
make_pools(const struct port_plan *plan, struct err *err)
{
	const struct options *o = plan->options;
	bool chosen = o->rxd != 0 || o->txd != 0 || o->total_mbufs != 0;
	uint16_t n = DESCRIPTORS_DEFAULT;
	unsigned percent = 100;
	int ret;

	ret = try_pools(plan, o->rxd != 0 ? o->rxd : n, o->txd != 0 ? o->txd : n, percent, err);
	while (ret == -ENOMEM && !chosen && n > DESCRIPTORS_LEAST) {
		n /= 2;
		ret = try_pools(plan, n, n, percent, err);
	}
	while (ret == -ENOMEM && !chosen && percent > 10) {
		percent -= 10;
		ret = try_pools(plan, n, n, percent, err);
	}
	if (ret < 0)
		return ret;
	if (n != DESCRIPTORS_DEFAULT)
		printf("memory is short: %u descriptors a queue instead of %u (EAL option -m, or "
		       "hugepages, gives more)\n",
		       n, DESCRIPTORS_DEFAULT);
	if (percent != 100)
		printf("memory is short: %u %% of the buffers that queues, caches and rings could "
		       "hold together: packets may be lost for want of one\n",
		       percent);
	return 0;
}

/* --- ports ---------------------------------------------------------------------- */

/** The socket whose memory a port uses: the nearest that has any. */
static int
port_socket(uint16_t id)
{
	int socket = rte_eth_dev_socket_id(id);
	unsigned i;

	for (i = 0; i < rte_socket_count(); i++)
		if (rte_socket_id_by_idx(i) == socket)
			return socket;
	socket = rte_socket_id_by_idx(0);
	return socket < 0 ? 0 : socket;
}

/** Learn what the device is, and choose queues; nothing is set up yet. */
static int
describe(uint16_t id, const struct port_plan *plan, struct err *err)
{
	struct port *port = &ports[id];
	struct rte_eth_dev_info info;
	int ret;

	*port = (struct port){.id = id, .present = true, .admin_up = true, .mtu = MTU_DEFAULT};
	if (rte_eth_dev_get_name_by_port(id, port->name) < 0)
		snprintf(port->name, sizeof(port->name), "%u", id);
	port->about = driver_find("", 0);
	ret = rte_eth_dev_info_get(id, &info);
	if (ret < 0)
		return err_set(err, -ret, "device information: %s", port_strerror(ret));
	port->driver = info.driver_name != NULL ? info.driver_name : "unknown driver";
	port->about = driver_find(port->driver, info.reta_size);
	port->mixed = port->about->any_memory;
	port->ask_rx_sums = plan->options->rx_cksum;
	port->socket = port_socket(id);
	if (plan->options->max_pkt_len != 0)
		port->mtu = (uint16_t)(plan->options->max_pkt_len - MAX_PKT_LEN_OVERHEAD);
	else
		port->mtu = RTE_MIN(port->mtu, port_mtu_announced(&info));
	return choose_queues(port, plan, &info, err);
}

static void
say(const struct port *port)
{
	char rss[64];

	printf("port %u %s (%s): %u rx / %u tx queues, %u/%u descriptors, MTU %u%s, RSS "
	       "%s%s%s%s%s\n",
	       port->id, port->name, port->driver, port->nb_rxq, port->nb_txq, port->rxd, port->txd,
	       port->mtu, port->mtu_in_software ? " in software" : "",
	       port_rss_text(port, rss, sizeof(rss)),
	       port->tx_multi_segs ? ", several segments" : "",
	       port->udp_sum_believed ? ", UDP checksums verified by the driver" : "",
	       port->udp_sum_offload ? ", UDP checksums made by the device" : "",
	       port->mac_in_software ? ", MAC filter in software" : "");
}

static int
open_ports(const struct port_plan *plan, struct err *err)
{
	struct port *p;
	unsigned i;
	uint16_t id;
	int ret;

	RTE_ETH_FOREACH_DEV(id) {
		ret = describe(id, plan, err);
		if (ret < 0)
			return port_err(&ports[id], ret, err);
	}
	if (rte_eth_dev_count_avail() == 0)
		return err_set(err, ENODEV, "no port: name devices with EAL options -a or --vdev");
	ret = make_pools(plan, err);
	if (ret < 0)
		return ret;
	for (i = 0; i < pool_count; i++)
		printf("%s: %u buffers of %u bytes on socket %d\n", pools[i].mempool->name,
		       pools[i].size, pools[i].data_room, pools[i].socket);
	PORT_FOREACH(p) {
		ret = port_configure(p, plan->options->max_pkt_len != 0, err);
		if (ret == 0)
			ret = port_read_mac(p, err);
		if (ret < 0)
			return port_err(p, ret, err);
		say(p);
	}
	return 0;
}

int
ports_open(const struct port_plan *plan, struct err *err)
{
	int ret = open_ports(plan, err);

	if (ret < 0)
		ports_close();
	fflush(stdout);
	return ret;
}

/** Close the device as it was found: a kernel interface does not stay promiscuous. */
static void
close_port(struct port *port)
{
	if (port->device_runs) {
		rte_eth_promiscuous_disable(port->id);
		rte_eth_allmulticast_disable(port->id);
		if (rte_eth_dev_stop(port->id) < 0)
			printf("port %u (%s): the device does not stop\n", port->id, port->name);
	}
	if (rte_eth_dev_close(port->id) < 0)
		printf("port %u (%s): the device does not close\n", port->id, port->name);
	port->started = false;
	port->device_runs = false;
	port->tx_up = false;
	port->present = false;
}

/** Buffers drivers are known not to give back: nobody uses them any more. */
static unsigned
kept_by_drivers(const struct pool *pool)
{
	const struct port *p;
	unsigned kept = 0;

	PORT_FOREACH(p)
		if (p->pool == pool && p->about->keeps_rx_buffers)
			kept += p->nb_rxq * p->about->rx_buffers;
	return kept;
}

unsigned
ports_close(void)
{
	unsigned kept[POOLS_MAX], lost = 0, missing, i;
	struct port *p;
	uint16_t q;

	for (i = 0; i < pool_count; i++)
		kept[i] = kept_by_drivers(&pools[i]);
	/* Rings hold packets of other ports as well: all are emptied before one is closed. */
	PORT_FOREACH(p) {
		if (p->device_runs && p->about->keeps_packets)
			port_drain(p);
		for (q = 0; p->started && q < p->nb_txq; q++)
			port_tx_reclaim(p, q);
	}
	PORT_FOREACH(p)
		close_port(p);

	pthread_mutex_lock(&pools_lock);
	for (i = 0; i < pool_count; i++) {
		missing = pool_in_use(&pools[i]);
		missing -= RTE_MIN(missing, kept[i]);
		lost += missing;
		if (missing == 0) {
			pool_destroy(&pools[i]);
			continue;
		}
		/* Somebody may still write to them: the memory stays until the end. */
		printf("%s: %u buffers missing\n", pools[i].mempool->name, missing);
	}
	pool_count = 0;
	pthread_mutex_unlock(&pools_lock);
	return lost;
}
