/* SPDX-License-Identifier: BSD-3-Clause */
#include "driver.h"

#include <stddef.h>
#include <string.h>

#include "flow_driver.h"

/* As of DPDK 22.11. */
static const struct driver drivers[] = {
	/* Reads and writes whole captures, 64 KiB a frame; a queue is a file or an interface. */
	{.name = "net_pcap", .multi_segs = true, .scatter = true, .all_rxq = true},
	/* Frees what it is given, chain or not. What it delivers is as long as the user said, in
	 * one buffer. */
	{.name = "net_null", .multi_segs = true, .scatter = true, .spreads = true},
	/* Hands on mbufs as they are. Receive queue N is what was put into transmit queue N,
	 * of this port or of another one of this program: as many of each. */
	{.name = "net_ring",
	 .multi_segs = true,
	 .scatter = true,
	 .spreads = true,
	 .paired = true,
	 .same_buffers = true,
	 .any_memory = true,
	 .keeps_packets = true,
	 .tx_buffers = 1024},
	/* Announces Ethernet's 1518 bytes and carries chains of any length. A queue the
	 * peer does not have writes into somebody else's memory region. */
	{.name = "net_memif",
	 .multi_segs = true,
	 .scatter = true,
	 .peer_queues = true,
	 .max_frame = UINT16_MAX,
	 .rx_buffers = 1024,
	 .tx_buffers = 1024},
	/* Means it when it announces 1522 bytes: it sends nothing larger. */
	{.name = "net_tap",
	 .multi_segs = true,
	 .spreads = true,
	 .paired = true,
	 .sums_on_cpu = true},
	/* Its frames (framesz=) fit in one buffer or it does not start. All its sockets
	 * share the traffic, polled or not; stopping closes them, starting opens none. */
	{.name = "net_af_packet",
	 .multi_segs = true,
	 .all_rxq = true,
	 .stops_for_good = true,
	 .max_frame = FRAME_ONE_BUFFER},
	/* The fill ring of each queue is filled with as many buffers as it has places. */
	{.name = "net_af_xdp",
	 .all_rxq = true,
	 .paired = true,
	 .empty_burst_cleans = true,
	 .keeps_rx_buffers = true,
	 .rx_buffers = 2048,
	 .tx_buffers = 2048},
	/* The guest sends chains, on whichever queue it likes. */
	{.name = "net_vhost",
	 .multi_segs = true,
	 .scatter = true,
	 .all_rxq = true,
	 .no_tx_sums = true},
	/* Queues are switched on by pairs, and the host then spreads over all of them. */
	{.name = "net_virtio",
	 .multi_segs = true,
	 .spreads = true,
	 .paired = true,
	 .no_tx_sums = true},
	{.name = "net_virtio_user",
	 .multi_segs = true,
	 .spreads = true,
	 .paired = true,
	 .no_tx_sums = true},
	/* Of checksums it calls good what the NIC has not looked at.
	 * 82599 and X540: 4 bits in each of the 128 entries. X550 has 512 entries and 6 bits. */
	{.name = "net_ixgbe",
	 .reta_queues = 16,
	 .reta_size = 128,
	 .drops_in_queue_errors = true,
	 .flow = &flow_driver_82599},
	{.name = "net_ixgbe", .drops_in_queue_errors = true, .flow = &flow_driver_82599},
	/* Receive into buffers of the pool, one packet's own. */
	{.name = "net_ixgbe_vf"},
	{.name = "net_e1000_em"},
	{.name = "net_e1000_igb"},
	{.name = "net_igc"},
	{.name = "net_i40e"},
	{.name = "net_iavf"},
	{.name = "net_ice"},
	{.name = "net_ena"},
	{.name = "net_vmxnet3"},
};

static const struct driver as_announced = {.any_memory = true};

const struct driver *
driver_find(const char *name, uint16_t reta_size)
{
	unsigned i;

	for (i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++) {
		if (strcmp(drivers[i].name, name) == 0 &&
		    (drivers[i].reta_size == 0 || drivers[i].reta_size == reta_size))
			return &drivers[i];
	}
	return &as_announced;
}
