/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PORT_INTERNAL_H
#define PORT_INTERNAL_H

/** @file What port.c, port_open.c and port_config.c share. Errors from here do not name the port
 * yet: the public functions put it in front. */

#include "port.h"

/** What comes on top of the MTU in a buffer: Ethernet header, two VLAN tags, and the FCS, which
 * devices may write as well. */
#define PORT_FRAME_OVERHEAD (RTE_ETHER_HDR_LEN + 2 * RTE_VLAN_HLEN + RTE_ETHER_CRC_LEN)

/** RSS types that are of use to a router. */
#define PORT_RSS_TYPES (RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_SCTP)

/** Bytes of a frame that fit in one buffer of the pool. */
static inline uint32_t
port_buffer(const struct port *port)
{
	return port->pool->data_room - RTE_PKTMBUF_HEADROOM;
}

/** Largest MTU the device announces. */
uint16_t port_mtu_announced(const struct rte_eth_dev_info *info);
/** Can the port have this MTU? 0, or a sentence. Its pool must be known. */
int port_check_mtu(const struct port *port, uint16_t mtu, const struct rte_eth_dev_info *info,
		   struct err *err);

/**
 * Configure the device for port->mtu and set up its queues: offloads, RSS. The
 * port must be stopped, and have its pool; so must all others, whose MTU
 * decides what this one must be able to send. mtu_asked: the user chose the
 * MTU, so a device that refuses it is an error.
 */
int port_configure(struct port *port, bool mtu_asked, struct err *err);

/** Learns the device's address, and whether it can take another. Once, after port_configure(). */
int port_read_mac(struct port *port, struct err *err);
/** MAC, promiscuous and multicast modes as they are to be; the port must run. */
int port_apply_filters(struct port *port, struct err *err);

/** Receive and free what is waiting in all queues; the device must run and nobody poll it. */
void port_drain(const struct port *port);

/** err_prefix with "port 0 (net_pcap0)". */
int port_err(const struct port *port, int code, struct err *err);

/** How received packets are spread over the queues: "ipv4 tcp udp", "none". Returns text, or a word
 * of its own. */
const char *port_rss_text(const struct port *port, char *text, size_t size);

/** A driver's negative errno in words; -1 is what drivers return who have no errno. */
const char *port_strerror(int code);

#endif
