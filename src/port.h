/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PORT_H
#define PORT_H

/**
 * @file
 * Ports: DPDK Ethernet devices, asked what they can do and set up to do it.
 * What a device lacks (MAC filter, MTU, promiscuous mode, RSS, multi-segment
 * transmit, checksums) is done in software or refused in words. Control thread
 * only; workers read the first cache line of struct port.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_ethdev.h>

#include "base.h"
#include "driver.h"
#include "options.h"
#include "pool.h"
#include "stats.h"

struct ruleset;
struct verdict;

struct port {
	/* Read by workers for every burst. */
	uint64_t mac; /**< own address in the low 48 bits, read as little-endian */
	const uint16_t
		*vlan_iface; /**< interface of each VLAN id (4,096 entries; 0: none), or NULL */
	const struct verdict *verdict; /**< of every packet, before anything else; NULL: none */
	const struct ruleset
		*rules; /**< software flow rules; NULL: none, the classifier is not entered */
	uint16_t iface; /**< interface of untagged frames */
	uint16_t id;	/**< ethdev port id */
	uint16_t nb_rxq, nb_txq;
	uint16_t mtu;	       /**< largest IP packet */
	bool any_mac;	       /**< take frames whatever their destination MAC */
	bool tx_up;	       /**< frames may be transmitted */
	bool tx_cleanup;       /**< rte_eth_tx_done_cleanup() works on it */
	bool tx_empty_burst;   /**< sending nothing takes back what has been sent */
	bool tx_multi_segs;    /**< segments chains can be transmitted as they are */
	bool mixed;	       /**< packets come in buffers that others may hold as well */
	bool udp_sum_believed; /**< the device checks UDP, and may be believed when it says good */
	bool udp_sum_offload;  /**< the device makes UDP checksums */
	/** UDP sockets that packets of this port may be for, or NULL; see demux.h. */
	const struct udp_tables *demux;

	/* Control thread only from here on. */
	bool present __rte_cache_aligned;
	bool started;	  /**< may be polled and sent to */
	bool device_runs; /**< started, or stopped only for us: see driver.h */
	bool admin_up;	  /**< `ip link set dev P up`: true from the start */
	bool promisc;
	bool mac_in_software; /**< the device could not take our MAC: it is filtered here */
	bool mtu_in_software;
	bool ask_rx_sums; /**< --enable-rx-cksum */
	bool link_up;	  /**< carrier as last seen */
	int socket;	  /**< NUMA socket, 0 when unknown */
	uint16_t rxd, txd;
	uint8_t mac_bytes[6];
	char name[RTE_ETH_NAME_MAX_LEN];
	const char *driver;
	struct pool *pool;
	const struct driver *about; /**< what the driver does not announce */
	uint64_t rss_types;	    /**< RTE_ETH_RSS_* in use, 0: no RSS */
	uint64_t rx_offloads, tx_offloads;
	uint8_t mac_device[6];		 /**< what the device takes for its own */
	struct rte_eth_stats stats_base; /**< device counters when last cleared, or started */
	struct rte_eth_stats stats_past; /**< counted from last cleared to last stopped */
};

/** Indexed by ethdev port id. */
extern struct port ports[RTE_MAX_ETHPORTS];

#define PORT_FOREACH(p)                                                                            \
	for ((p) = ports; (p) < ports + RTE_MAX_ETHPORTS; (p)++)                                   \
		if ((p)->present)

/** What ports need to know about the workers. */
struct port_plan {
	const struct options *options;
	unsigned workers;	/**< number of workers */
	const unsigned *lcores; /**< their lcores */
	uint32_t ring_slots;	/**< slots of all rings between threads, for sizing pools */
	uint32_t held;		/**< packets held for neighbours and the like */
};

/**
 * Set up every port the EAL has: pools, queues, offloads, RSS; not yet
 * started. Says on stdout, one line a port, what was chosen. On failure
 * everything made so far is released.
 */
int ports_open(const struct port_plan *plan, struct err *err);
/** Stop and close the ports, then free the pools. Returns buffers that are missing, and says so.
 * Those that a driver is known never to give back are not. */
unsigned ports_close(void);

/** Start the device (rx, tx) as it is to be: MAC, promiscuous and multicast modes included. Sets
 * tx_up if the port is up. Workers must not poll it yet. Does nothing if it runs. */
int port_start(struct port *port, struct err *err);
/** Stop it. Workers must have stopped using it (a grace period ago). Clears tx_up and link_up. Does
 * nothing if it does not run. */
int port_stop(struct port *port, struct err *err);

/** A number or a device name; NULL with err: "port 'x': no such port". */
struct port *port_find(const char *text, struct err *err);

/**
 * Change MTU (bytes of IP packet). May need the device reconfigured: then nothing is changed, 0 is
 * returned and *needs_restart is true, and the caller (who takes workers off) calls port_stop,
 * port_set_mtu again, port_start. Refused with a sentence when the device or driver cannot send or
 * receive such frames; the port then still has its old MTU.
 */
int port_set_mtu(struct port *port, uint16_t mtu, bool *needs_restart, struct err *err);
/** Where the device cannot take the address, frames to it are filtered here (mac_in_software). */
int port_set_mac(struct port *port, const uint8_t mac[6], struct err *err);
/** A device that has no such mode delivers everything anyway: no error. */
int port_set_promisc(struct port *port, bool on, struct err *err);
/** Take frames whatever their destination MAC: promiscuous, and any_mac for the workers. */
int port_set_any_mac(struct port *port, bool on, struct err *err);
/** Bring link_up up to date; true if it changed. Never blocks. */
bool port_poll_link(struct port *port);

/** Pools in use, for `show pool`; NULL after the last. */
struct pool *pool_at(unsigned index);
/** A pool on a NUMA socket (falls back to any). */
struct pool *pool_for_socket(int socket);
/** Held by whoever looks at pools from another thread than control's, and by that one when it makes
 * or destroys them. */
extern pthread_mutex_t pools_lock;

/**
 * Take back the buffers of packets that have left, without sending any: for a
 * transmit queue that is idle. Where the driver has no way to, nothing. For the
 * queue's owner.
 */
static inline void
port_tx_reclaim(const struct port *port, uint16_t queue)
{
	if (port->tx_cleanup)
		rte_eth_tx_done_cleanup(port->id, queue, 0);
	else if (port->tx_empty_burst)
		rte_eth_tx_burst(port->id, queue, NULL, 0);
}

/** A line on stdout when the lcore is on another NUMA socket than the port it is to poll. */
void port_warn_numa(const struct port *port, unsigned lcore);

/** What the driver counted since port_device_stats_clear(), restarts included (some count from zero
 * then); false: it counts nothing. Only the sums are filled, no queue's own counters. */
bool port_device_stats(const struct port *port, struct rte_eth_stats *stats);
void port_device_stats_clear(struct port *port);

/* Counters of the threads that handle packets; worker.c has them. */

/** Sum over all threads since port_counters_clear(). */
void port_counters(uint16_t port, struct port_stats *sum);
void port_counters_clear(uint16_t port);
/** Buffers that packets of the port have been received in, ever; any thread. */
uint64_t port_buffers_received(uint16_t port);

struct console;
/** show port ..., clear port ..., and what PORT can be. `port start|stop` and `set promisc`
 * are in cmd_link.c, who knows the workers. */
void port_commands_register(struct console *console);
/** cmd_pool.c: show pool, also as /noref/pool of DPDK's telemetry. */
void pool_commands_register(struct console *console);
/** `show port stats all` on stdout, at exit and every --stats-period. */
void port_stats_print(void);

#endif
