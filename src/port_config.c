/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a device is told: offloads, RSS, queues, MTU, addresses, promiscuous and
 * multicast modes. Each is asked of the device first; what it cannot do is noted
 * in struct port and done in software, or refused.
 */
#include <errno.h>
#include <stdio.h>

#include <rte_byteorder.h>
#include <rte_ether.h>

#include "port_internal.h"

#define IPV4_MTU_MIN 68 /* RFC 791 */

uint16_t
port_mtu_announced(const struct rte_eth_dev_info *info)
{
	uint32_t overhead = RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN;

	/* The overhead a device counts is the difference of its two limits, if it knows both. */
	if (info->max_mtu != UINT16_MAX && info->max_rx_pktlen != UINT32_MAX &&
	    info->max_rx_pktlen > info->max_mtu)
		overhead = info->max_rx_pktlen - info->max_mtu;
	if (info->max_rx_pktlen <= overhead)
		return info->max_mtu;
	return (uint16_t)RTE_MIN(info->max_rx_pktlen - overhead, info->max_mtu);
}

static uint16_t
mtu_max(const struct port *port, const struct rte_eth_dev_info *info)
{
	uint32_t announced = port_mtu_announced(info), carried = port->about->max_frame;

	if (carried == FRAME_ONE_BUFFER)
		carried = port_buffer(port) - (RTE_VLAN_HLEN + RTE_ETHER_CRC_LEN);
	if (carried > RTE_ETHER_HDR_LEN)
		carried -= RTE_ETHER_HDR_LEN;
	return (uint16_t)RTE_MAX(announced, carried);
}

/** Do frames of this MTU take more than one buffer? */
static bool
needs_segments(const struct port *port, uint16_t mtu)
{
	return (uint32_t)mtu + PORT_FRAME_OVERHEAD > port_buffer(port);
}

/** May some port deliver a frame in several segments because its MTU calls for it? */
static bool
any_needs_segments(void)
{
	const struct port *p;

	PORT_FOREACH(p)
		if (p->pool != NULL && needs_segments(p, p->mtu))
			return true;
	return false;
}

int
port_check_mtu(const struct port *port, uint16_t mtu, const struct rte_eth_dev_info *info,
	       struct err *err)
{
	uint16_t min = RTE_MAX(info->min_mtu, IPV4_MTU_MIN);
	const char *lacks = NULL;

	if (mtu < min || mtu > mtu_max(port, info))
		return err_set(err, EINVAL, "MTU %u: %s takes %u to %u", mtu, port->driver, min,
			       mtu_max(port, info));
	if (!needs_segments(port, mtu))
		return 0;
	if ((info->rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER) == 0 && !port->about->scatter)
		lacks = "receive";
	else if ((info->tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS) == 0 &&
		 !port->about->multi_segs)
		lacks = "transmit";
	if (lacks == NULL)
		return 0;
	return err_set(err, EINVAL,
		       "MTU %u: frames need more than a buffer's %u bytes and %s cannot %s them in "
		       "several segments (--mbuf-size=%u would do)",
		       mtu, port_buffer(port), port->driver, lacks,
		       RTE_ALIGN_CEIL(mtu + PORT_FRAME_OVERHEAD + RTE_PKTMBUF_HEADROOM, 64));
}

/**
 * MBUF_FAST_FREE: all packets of a queue come from one pool, are direct and
 * held by nobody else. True as long as there is one pool in the program, no
 * frame is a chain and no port may bring other memory; whoever makes clones
 * (multicast, mirrors) must say no here.
 */
static bool
fast_free_is_safe(const struct port *port)
{
	const struct port *p;

	PORT_FOREACH(p)
		if (p->about->any_memory)
			return false;
	return pool_at(1) == NULL && !port->tx_multi_segs;
}

/**
 * Checksums of UDP. Received ones are left to a driver only where the table says that its good
 * means good, and such a driver looks at all packets, forwarded ones too: only when asked to. Sent
 * ones, where it makes no other packet dearer: with MULTI_SEGS a NIC's fastest path is given up
 * already.
 */
static void
choose_udp_sums(struct port *port, const struct rte_eth_dev_info *info)
{
	if (port->ask_rx_sums && port->about->sums_on_cpu)
		port->rx_offloads |= info->rx_offload_capa & RTE_ETH_RX_OFFLOAD_UDP_CKSUM;
	if ((port->tx_offloads & RTE_ETH_TX_OFFLOAD_MULTI_SEGS) != 0 && !port->about->no_tx_sums)
		port->tx_offloads |= info->tx_offload_capa & RTE_ETH_TX_OFFLOAD_UDP_CKSUM;
	port->udp_sum_believed = (port->rx_offloads & RTE_ETH_RX_OFFLOAD_UDP_CKSUM) != 0;
	port->udp_sum_offload = (port->tx_offloads & RTE_ETH_TX_OFFLOAD_UDP_CKSUM) != 0;
}

static void
choose_offloads(struct port *port, const struct rte_eth_dev_info *info)
{
	bool announced = (info->tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS) != 0;

	port->rx_offloads = 0;
	port->tx_offloads = 0;
	if (needs_segments(port, port->mtu) && !port->about->scatter)
		port->rx_offloads |= info->rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER;
	/*
	 * On a NIC, asking for MULTI_SEGS gives up the driver's fastest transmit
	 * path: only when chains come in by design. Where the table says that it
	 * costs nothing, always: such ports send what others send in chains.
	 */
	if (announced && (any_needs_segments() || port->about->multi_segs))
		port->tx_offloads |= RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
	port->tx_multi_segs = port->tx_offloads != 0 || port->about->multi_segs;
	choose_udp_sums(port, info);
	if (fast_free_is_safe(port))
		port->tx_offloads |= info->tx_offload_capa & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
}

static int
set_up_queues(struct port *port, const struct rte_eth_dev_info *info, struct err *err)
{
	struct rte_eth_rxconf rx = info->default_rxconf;
	struct rte_eth_txconf tx = info->default_txconf;
	int64_t held = pool_held_by_thread(port->pool);
	uint16_t q;
	int ret;

	rx.offloads = port->rx_offloads;
	tx.offloads = port->tx_offloads;
	/* One worker that does not keep up must not block the others' queues. */
	rx.rx_drop_en = port->nb_rxq > 1;
	for (q = 0; q < port->nb_rxq; q++) {
		ret = rte_eth_rx_queue_setup(port->id, q, port->rxd, (unsigned)port->socket, &rx,
					     port->pool->mempool);
		if (ret < 0)
			return err_set(err, -ret,
				       "receive queue %u (%u descriptors, buffers of %u bytes): %s",
				       q, port->rxd, port_buffer(port), port_strerror(ret));
	}
	pool_given(port->pool, held);
	for (q = 0; q < port->nb_txq; q++) {
		ret = rte_eth_tx_queue_setup(port->id, q, port->txd, (unsigned)port->socket, &tx);
		if (ret < 0)
			return err_set(err, -ret, "transmit queue %u (%u descriptors): %s", q,
				       port->txd, port_strerror(ret));
	}
	return 0;
}

/** Tell the device the MTU, as far as it goes. */
static int
tell_mtu(struct port *port, uint16_t mtu, const struct rte_eth_dev_info *info)
{
	uint16_t told = RTE_MIN(mtu, port_mtu_announced(info));
	int ret = rte_eth_dev_set_mtu(port->id, told);

	if (ret < 0 && ret != -ENOTSUP)
		return ret;
	port->mtu_in_software = ret == -ENOTSUP || told != mtu;
	return 0;
}

int
port_configure(struct port *port, bool mtu_asked, struct err *err)
{
	struct rte_eth_conf conf = {0};
	struct rte_eth_dev_info info;
	int ret;

	ret = rte_eth_dev_info_get(port->id, &info);
	if (ret < 0)
		return err_set(err, -ret, "device information: %s", port_strerror(ret));
	ret = port_check_mtu(port, port->mtu, &info, err);
	if (ret < 0)
		return ret;

	choose_offloads(port, &info);
	port->rss_types = 0;
	if (port->nb_rxq > 1 && !port->about->spreads)
		port->rss_types = info.flow_type_rss_offloads & PORT_RSS_TYPES;
	if (port->rss_types != 0) {
		conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		conf.rx_adv_conf.rss_conf.rss_hf = port->rss_types;
	}
	conf.rxmode.mtu = RTE_MIN(port->mtu, port_mtu_announced(&info));
	conf.rxmode.offloads = port->rx_offloads;
	conf.txmode.offloads = port->tx_offloads;

	ret = rte_eth_dev_configure(port->id, port->nb_rxq, port->nb_txq, &conf);
	if (ret < 0)
		return err_set(err, -ret, "%u rx and %u tx queues, MTU %u: %s", port->nb_rxq,
			       port->nb_txq, port->mtu, port_strerror(ret));
	ret = set_up_queues(port, &info, err);
	if (ret < 0)
		return ret;

	ret = tell_mtu(port, port->mtu, &info);
	if (ret < 0 && mtu_asked)
		return err_set(err, -ret, "MTU %u: %s", port->mtu, port_strerror(ret));
	if (ret < 0) {
		printf("port %u %s: the device does not take MTU %u (%s)\n", port->id, port->name,
		       port->mtu, port_strerror(ret));
		port->mtu_in_software = true;
	}
	return 0;
}

/** Offloads change with the MTU: all queues anew. The old MTU again if that fails. */
static int
reconfigure_for_mtu(struct port *port, uint16_t mtu, struct err *err)
{
	uint16_t old = port->mtu;
	struct err second;
	int ret;

	port->mtu = mtu;
	ret = port_configure(port, true, err);
	if (ret == 0)
		return 0;
	port->mtu = old;
	if (port_configure(port, false, &second) < 0)
		printf("port %u %s: the old MTU %u cannot be restored: %s\n", port->id, port->name,
		       old, second.text);
	return ret;
}

int
port_set_mtu(struct port *port, uint16_t mtu, bool *needs_restart, struct err *err)
{
	struct rte_eth_dev_info info;
	int ret;

	*needs_restart = false;
	ret = rte_eth_dev_info_get(port->id, &info);
	if (ret < 0) {
		err_set(err, -ret, "device information: %s", port_strerror(ret));
		return port_err(port, ret, err);
	}
	ret = port_check_mtu(port, mtu, &info, err);
	if (ret < 0)
		return port_err(port, ret, err);

	if (needs_segments(port, mtu) != needs_segments(port, port->mtu) &&
	    !(port->about->scatter && port->about->multi_segs)) {
		if (port->started) {
			*needs_restart = true;
			return 0;
		}
		return port_err(port, reconfigure_for_mtu(port, mtu, err), err);
	}
	ret = tell_mtu(port, mtu, &info);
	if (ret == -EBUSY && port->started) {
		*needs_restart = true;
		return 0;
	}
	if (ret < 0) {
		err_set(err, -ret, "MTU %u: %s", mtu, port_strerror(ret));
		return port_err(port, ret, err);
	}
	port->mtu = mtu;
	return 0;
}

/* --- addresses and modes -------------------------------------------------------- */

static void
publish_mac(struct port *port, const uint8_t mac[6])
{
	uint64_t word = 0;

	memcpy(port->mac_bytes, mac, sizeof(port->mac_bytes));
	memcpy(&word, mac, sizeof(port->mac_bytes));
	__atomic_store_n(&port->mac, word, __ATOMIC_RELEASE);
}

int
port_read_mac(struct port *port, struct err *err)
{
	struct rte_ether_addr mac;
	int ret = rte_eth_macaddr_get(port->id, &mac);

	if (ret < 0)
		return err_set(err, -ret, "MAC address: %s", port_strerror(ret));
	memcpy(port->mac_device, mac.addr_bytes, sizeof(port->mac_device));
	/* net_ring has none. */
	if (!rte_is_valid_assigned_ether_addr(&mac))
		rte_eth_random_addr(mac.addr_bytes);
	port->mac_in_software = rte_eth_dev_default_mac_addr_set(port->id, &mac) < 0;
	if (!port->mac_in_software)
		memcpy(port->mac_device, mac.addr_bytes, sizeof(port->mac_device));
	publish_mac(port, mac.addr_bytes);
	return 0;
}

int
port_apply_filters(struct port *port, struct err *err)
{
	bool other_mac = memcmp(port->mac_device, port->mac_bytes, sizeof(port->mac_bytes)) != 0;
	bool promisc = port->promisc || port->any_mac || other_mac;
	int ret;

	/* Neighbour discovery and router protocols speak to groups (RFC 4291 2.7). */
	ret = rte_eth_allmulticast_enable(port->id);
	if (ret < 0)
		promisc = true;
	ret = promisc ? rte_eth_promiscuous_enable(port->id)
		      : rte_eth_promiscuous_disable(port->id);
	/* A device without the mode is one without a filter: it delivers everything. */
	if (ret < 0 && ret != -ENOTSUP)
		return err_set(err, -ret, "promiscuous mode %s: %s", promisc ? "on" : "off",
			       port_strerror(ret));
	return 0;
}

int
port_set_mac(struct port *port, const uint8_t mac[6], struct err *err)
{
	struct rte_ether_addr addr;
	char text[18];
	int ret = 0;

	memcpy(addr.addr_bytes, mac, sizeof(addr.addr_bytes));
	if (!rte_is_valid_assigned_ether_addr(&addr)) {
		ret = err_set(err, EINVAL, "address %s: not an address of one station",
			      mac_format(mac, text));
		return port_err(port, ret, err);
	}
	port->mac_in_software = rte_eth_dev_default_mac_addr_set(port->id, &addr) < 0;
	if (!port->mac_in_software)
		memcpy(port->mac_device, mac, sizeof(port->mac_device));
	publish_mac(port, mac);
	if (port->started)
		ret = port_apply_filters(port, err);
	return port_err(port, ret, err);
}

int
port_set_promisc(struct port *port, bool on, struct err *err)
{
	port->promisc = on;
	return port->started ? port_err(port, port_apply_filters(port, err), err) : 0;
}

int
port_set_any_mac(struct port *port, bool on, struct err *err)
{
	__atomic_store_n(&port->any_mac, on, __ATOMIC_RELAXED);
	return port->started ? port_err(port, port_apply_filters(port, err), err) : 0;
}
