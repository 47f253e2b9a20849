/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_NIC_H
#define TEST_NIC_H

/**
 * @file
 * What tests of the model share: a NIC whose registers are set the way the
 * driver sets them, rings in plain memory, and frames.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "frame.h"
#include "nic.h"

#define RING	    16u
#define BUFFER	    2048u
#define MAC_OF_NIC  0x00, 0x1b, 0x21, 0x82, 0x59, 0x90
#define MAC_OF_PEER 0x02, 0x00, 0x00, 0x00, 0x00, 0x01

/** A descriptor ring with a buffer for each descriptor. */
struct test_ring {
	struct descriptor {
		uint64_t low, high;
	} descriptors[RING];
	uint8_t buffers[RING][BUFFER];
};

static inline int
setup_nic(void **state)
{
	*state = nic_create(0, 0x10fb);
	return *state == NULL ? -1 : 0;
}

static inline int
teardown_nic(void **state)
{
	nic_destroy(*state);
	return 0;
}

static inline void
ring_registers(struct nic *nic, uint32_t base, const struct test_ring *ring)
{
	nic_write(nic, base + Q_BASE_LOW, (uint32_t)(uintptr_t)ring->descriptors);
	nic_write(nic, base + Q_BASE_HIGH, (uint32_t)((uintptr_t)ring->descriptors >> 32));
	nic_write(nic, base + Q_LENGTH, sizeof(ring->descriptors));
	nic_write(nic, base + Q_CONTROL, DCTL_ENABLE);
}

/** A receive queue with RING - 1 free buffers of the given KiB. */
static inline struct test_ring *
receive_ring(struct nic *nic, unsigned queue, uint32_t kib)
{
	struct test_ring *ring = calloc(1, sizeof(*ring));
	unsigned i;

	assert_non_null(ring);
	for (i = 0; i < RING; i++)
		ring->descriptors[i].low = (uintptr_t)ring->buffers[i];
	ring_registers(nic, R_RX_QUEUE(queue), ring);
	nic_write(nic, R_RX_QUEUE(queue) + Q_SRRCTL, kib);
	nic_write(nic, R_RX_QUEUE(queue) + Q_TAIL, RING - 1);
	nic_write(nic, R_RXCTRL, RXCTRL_RXEN);
	return ring;
}

static inline struct test_ring *
transmit_ring(struct nic *nic, unsigned queue)
{
	struct test_ring *ring = calloc(1, sizeof(*ring));

	assert_non_null(ring);
	ring_registers(nic, R_TX_QUEUE(queue), ring);
	nic_write(nic, R_DMATXCTL, DMATXCTL_TE);
	return ring;
}

/** An Ethernet header, with a tag unless it is 0. Returns its size. */
static inline unsigned
make_ethernet(uint8_t *frame, uint16_t tag, uint16_t ethertype)
{
	static const uint8_t macs[12] = {MAC_OF_NIC, MAC_OF_PEER};

	memcpy(frame, macs, sizeof(macs));
	if (tag != 0) {
		store16_be(frame + 12, 0x8100);
		store16_be(frame + 14, tag);
	}
	store16_be(frame + (tag != 0 ? 16 : 12), ethertype);
	return tag != 0 ? 18 : 14;
}

/** RFC 1071 the long way: big-endian words, one at a time, modulo 65535. */
static inline uint16_t
slow_checksum(const uint8_t *bytes, size_t length, uint32_t sum)
{
	size_t i;

	for (i = 0; i < length; i++) {
		sum += i % 2 == 0 ? (uint32_t)bytes[i] << 8 : bytes[i];
		sum = sum > 0xffff ? sum - 0xffff : sum;
	}
	return (uint16_t)~sum;
}

/** The transport checksum's start: addresses, protocol and length. */
static inline uint32_t
slow_pseudo(const uint8_t *addresses, size_t size, uint8_t protocol, uint32_t length)
{
	uint32_t sum = (uint16_t)~slow_checksum(addresses, size, 0);

	sum += protocol + length;
	return sum > 0xffff ? sum - 0xffff : sum;
}

/** IPv4 and its payload of the given protocol and size (zeros but for ports); checksums right.
 * Returns the length of the frame. */
static inline unsigned
make_ipv4(uint8_t *frame, uint16_t tag, uint8_t protocol, uint32_t source, uint32_t destination,
	  uint16_t source_port, uint16_t destination_port, unsigned payload)
{
	unsigned l3 = make_ethernet(frame, tag, 0x0800);
	uint8_t *ip = frame + l3, *l4 = ip + 20;
	unsigned sum_at = protocol == 6 ? 16 : 6;

	memset(ip, 0, 20 + payload);
	ip[0] = 0x45;
	store16_be(ip + 2, (uint16_t)(20 + payload));
	ip[8] = 64;
	ip[9] = protocol;
	store16_be(ip + 12, (uint16_t)(source >> 16));
	store16_be(ip + 14, (uint16_t)source);
	store16_be(ip + 16, (uint16_t)(destination >> 16));
	store16_be(ip + 18, (uint16_t)destination);
	store16_be(ip + 10, slow_checksum(ip, 20, 0));
	store16_be(l4, source_port);
	store16_be(l4 + 2, destination_port);
	if (protocol == 6)
		l4[12] = 5 << 4;
	else
		store16_be(l4 + 4, (uint16_t)payload);
	store16_be(l4 + sum_at,
		   slow_checksum(l4, payload, slow_pseudo(ip + 12, 8, protocol, payload)));
	return l3 + 20 + payload;
}

#endif
