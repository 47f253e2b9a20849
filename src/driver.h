/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DRIVER_H
#define DRIVER_H

/**
 * @file
 * What a driver does but does not announce in rte_eth_dev_info, or announces
 * and does not do: the one table of it. A driver that is not listed is taken
 * at its word, and may lend memory of its own.
 */

#include <stdbool.h>
#include <stdint.h>

struct flow_driver;

struct driver {
	const char *name; /**< as dev_info.driver_name; NULL for one not listed */

	/** Transmits frames in several segments: without being asked, and as fast as others. */
	bool multi_segs;
	/** Receives frames larger than a buffer in several segments, without being asked. */
	bool scatter;

	/** Its receive queues are separate sources that the user named when making
	 * the device, or all of them get traffic: take every one. */
	bool all_rxq;
	/** Spreads flows over its queues itself (the kernel or the peer does), RSS or not. */
	bool spreads;
	/** Receive and transmit queues come in pairs: as many of the one as of the other. */
	bool paired;
	/** How many queues work is up to the peer, who is met later: one is safe. */
	bool peer_queues;

	/** What a full queue of several loses is in q_errors and not in imissed. */
	bool drops_in_queue_errors;
	/** What it receives may lie in memory that is not the pool's or that others hold, too:
	 * it is looked at before it is written to. Of some drivers that is known (net_mlx5 with
	 * large receive buffers shares one among packets), of those not listed it is assumed. */
	bool any_memory;
	/** What it receives are the buffers that somebody has sent, as they are: of any pool,
	 * perhaps held by others too. None is allocated, and each slot of a queue holds a whole
	 * packet. */
	bool same_buffers;
	/** Packets still in its queues are not freed when it is closed. */
	bool keeps_packets;
	/** Once stopped it does not work again: it is left running, and not polled. */
	bool stops_for_good;
	/** A transmit burst of no packets takes back what has been sent. */
	bool empty_burst_cleans;
	/** rx_buffers of each queue are not given back when it is closed. */
	bool keeps_rx_buffers;

	/** Says of a checksum that it is good only after it has looked at it; at every packet's, on
	 * the CPU. */
	bool sums_on_cpu;
	/** Asked for checksums of what is sent, it looks at every packet longer, or leaves them to
	 * the peer: it is not asked. */
	bool no_tx_sums;

	/** Receive queues an entry of a RETA of `reta_size` can name, from 0; 0: all. */
	uint16_t reta_queues;
	uint16_t reta_size;

	/** Largest frame without FCS, where more than the announced one is carried; 0: as
	 * announced. FRAME_ONE_BUFFER: whatever fits in a buffer. */
	uint32_t max_frame;

	/** What it makes of flow rules, where that differs from rte_flow; NULL: nothing known. */
	const struct flow_driver *flow;

	/** Buffers a receive or transmit queue holds whatever its descriptors are said to be. */
	uint16_t rx_buffers;
	uint16_t tx_buffers;
};

#define FRAME_ONE_BUFFER 1

/** Never NULL. */
const struct driver *driver_find(const char *name, uint16_t reta_size);

#endif
