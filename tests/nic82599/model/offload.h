/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OFFLOAD_H
#define OFFLOAD_H

/**
 * @file
 * What the NIC does to a packet before it leaves: checksums, a VLAN tag,
 * segmentation (datasheet 7.2.4, 7.2.5). One call a packet, the result is given
 * to wire_frame() piece by piece.
 */

#include "nic.h"

/* Words of the advanced transmit data descriptor, datasheet 7.2.3.2.4. */
#define TXD_VLE	 (1u << 30) /**< insert the context's VLAN tag */
#define TXD_TSE	 (1u << 31) /**< segment */
#define TXD_IXSM (1u << 8)  /**< IPv4 checksum */
#define TXD_TXSM (1u << 9)  /**< transport checksum */

/** Segments are built here; bytes behind a packet must be room for a tag and padding. */
#define OFFLOAD_ROOM 64u

/**
 * Called with each frame that leaves; buffer has OFFLOAD_ROOM bytes behind length.
 */
typedef void offload_send(struct nic *nic, unsigned queue, uint8_t *frame, uint32_t length);

/** command, options: words 2 and 3 of the first descriptor. packet has OFFLOAD_ROOM bytes to spare
 * and is changed. */
void offload_packet(struct nic *nic, unsigned queue, uint8_t *packet, uint32_t length,
		    uint32_t command, uint32_t options, offload_send *send);

#endif
