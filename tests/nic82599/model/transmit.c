/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From the descriptors of a transmit queue to the wire (datasheet 7.2): contexts
 * are kept, the segments of a packet gathered, the offloads done.
 */
#include <stdlib.h>
#include <string.h>

#include "frame.h"
#include "nic.h"
#include "offload.h"
#include "stats.h"

#define FRAME_MIN 60

/* Descriptor words, datasheet 7.2.3.2. */
#define TXD_TYPE(command)   ((command) >> 20 & 0xf)
#define TYPE_CONTEXT	    2
#define TXD_LENGTH	    0xffffu
#define TXD_EOP		    (1u << 24)
#define TXD_RS		    (1u << 27) /**< report: write back when done */
#define TXD_DD		    (1u << 0)
#define TXD_PAYLEN(options) ((options) >> 14)

static void
leave(struct nic *nic, unsigned queue, uint8_t *frame, uint32_t length)
{
	unsigned slot = stats_slot(nic, R_TQSM(0), queue);
	uint32_t size;

	/* HLREG0.TXPADEN; frame has room for it. */
	if (length < FRAME_MIN) {
		memset(frame + length, 0, FRAME_MIN - length);
		length = FRAME_MIN;
	}
	size = length + FCS_SIZE;
	stats_add(nic, R_GPTC, 1);
	stats_add(nic, R_TPT, 1);
	stats_add64(nic, R_GOTC, size);
	stats_add_size(nic, R_PTC64, size);
	if ((frame[0] & 1) != 0)
		stats_add(nic, load32(frame) == UINT32_MAX ? R_BPTC : R_MPTC, 1);
	stats_add(nic, R_QPTC(slot), 1);
	stats_add64(nic, R_QBTC(slot), size);
	nic->truth.sent++;
	wire_send(nic, frame, length);
}

/* A descriptor is two words of 64 bits: an address or a context's lengths; command below options.
 */

static uint32_t
command_of(const uint64_t *descriptor)
{
	return (uint32_t)descriptor[1];
}

static uint32_t
options_of(const uint64_t *descriptor)
{
	return (uint32_t)(descriptor[1] >> 32);
}

static void
write_back(uint64_t *descriptor)
{
	descriptor[0] = 0;
	__atomic_store_n(&descriptor[1], (uint64_t)TXD_DD << 32, __ATOMIC_RELEASE);
}

static void
context_descriptor(struct tx_queue *q, uint64_t *descriptor)
{
	q->context[options_of(descriptor) >> 4 & 1] = (struct tx_context){
		.vlan_and_lengths = (uint32_t)descriptor[0],
		.type = command_of(descriptor),
		.segmentation = options_of(descriptor),
	};
	if ((command_of(descriptor) & TXD_RS) != 0)
		write_back(descriptor);
}

/** PAYLEN counts what all segments hold, with TSO without the headers. The NIC hangs or cuts the
 * packet short if it is told otherwise: a packet of several buffers sent as if it had one. */
static void
check_payload_length(struct nic *nic, const struct tx_queue *q, uint32_t command)
{
	const struct tx_context *c = &q->context[q->first_options >> 4 & 1];
	uint32_t expected = q->length;

	if ((command & TXD_TSE) != 0)
		expected -= (c->vlan_and_lengths >> 9 & 0x7f) + (c->vlan_and_lengths & 0x1ff) +
			    (c->segmentation >> 8 & 0xff);
	if (TXD_PAYLEN(q->first_options) != expected)
		nic->truth.tx_malformed++;
}

/** True: a packet is complete, and sent. */
static bool
data_descriptor(struct nic *nic, unsigned index, uint64_t *descriptor)
{
	struct tx_queue *q = &nic->tx[index];
	uint32_t command = command_of(descriptor), part = command & TXD_LENGTH;
	bool whole = (command & TXD_EOP) != 0;

	if (q->length == 0)
		q->first_options = options_of(descriptor);
	if (q->length + part <= TX_PACKET_MAX) {
		memcpy(q->packet + q->length, nic_dma(descriptor[0]), part);
		q->length += part;
	}
	if (whole) {
		check_payload_length(nic, q, command);
		if (q->length >= 14)
			offload_packet(nic, index, q->packet, q->length, command, q->first_options,
				       leave);
		q->length = 0;
	}
	if ((command & TXD_RS) != 0)
		write_back(descriptor);
	return whole;
}

static unsigned
transmit_queue(struct nic *nic, unsigned index, unsigned budget)
{
	uint32_t base = R_TX_QUEUE(index), head = reg_get(nic, base + Q_HEAD);
	uint32_t size = reg_get(nic, base + Q_LENGTH) / 16, tail = reg_get(nic, base + Q_TAIL);
	struct tx_queue *q = &nic->tx[index];
	unsigned sent = 0;
	uint64_t *ring;

	if (head == tail || size == 0 || (reg_get(nic, base + Q_CONTROL) & DCTL_ENABLE) == 0)
		return 0;
	if (q->packet == NULL)
		q->packet = malloc(TX_PACKET_MAX + OFFLOAD_ROOM);
	if (q->packet == NULL)
		return 0;
	ring = nic_dma((uint64_t)reg_get(nic, base + Q_BASE_HIGH) << 32 |
		       reg_get(nic, base + Q_BASE_LOW));
	while (head != tail && sent < budget) {
		uint64_t *descriptor = ring + head * 2;

		if (TXD_TYPE(command_of(descriptor)) == TYPE_CONTEXT)
			context_descriptor(q, descriptor);
		else if (data_descriptor(nic, index, descriptor))
			sent++;
		head = head + 1 == size ? 0 : head + 1;
	}
	reg_set(nic, base + Q_HEAD, head);
	return sent;
}

unsigned
nic_transmit(struct nic *nic, unsigned budget)
{
	unsigned q, sent = 0;

	if ((reg_get(nic, R_DMATXCTL) & DMATXCTL_TE) == 0)
		return 0;
	for (q = 0; q < nic->tx_queues; q++)
		sent += transmit_queue(nic, q, budget);
	return sent;
}
