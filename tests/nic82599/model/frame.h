/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FRAME_H
#define FRAME_H

/**
 * @file
 * A received frame as the NIC's parser sees it (datasheet 7.1.2 and 7.1.6): one
 * VLAN tag, IPv4 with options or IPv6 with extension headers, IPv6 in IPv4, and
 * TCP, UDP or SCTP. IPv4 in IPv6, which is what SRv6 sends, ends at the outer
 * header: its protocol is none the NIC knows.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/** Numbered as the flow director does (FDIRCMD.L4TYPE). */
enum frame_l4 {
	L4_NONE = 0,
	L4_UDP = 1,
	L4_TCP = 2,
	L4_SCTP = 3
};

struct frame {
	const uint8_t *data;
	uint32_t length; /**< without FCS, at least 60 */
	bool tagged;
	uint16_t tag;	    /**< VLAN tag, host order */
	uint16_t ethertype; /**< behind the tag, host order */
	uint32_t l3;	    /**< offset of the IP header */
	unsigned version;   /**< of the outer IP header: 4 or 6; 0: none, or cut short */
	bool extended;	    /**< IPv4 options or IPv6 extension headers */
	bool fragment;
	bool inner6;	       /**< IPv6 in IPv4 (protocol 41) */
	const uint8_t *source; /**< addresses the transport checksum covers */
	const uint8_t *destination;
	unsigned address_size; /**< of each, in bytes */
	uint8_t protocol;
	enum frame_l4 l4_type;			/**< L4_NONE also for fragments */
	uint32_t l4;				/**< offset, 0: none */
	uint32_t l4_length;			/**< by the IP header's length, within the frame */
	uint16_t source_port, destination_port; /**< host order */
	uint8_t tcp_flags;
};

void frame_parse(struct frame *frame, const uint8_t *data, uint32_t length);

static inline uint16_t
load16(const uint8_t *p)
{
	uint16_t value;

	memcpy(&value, p, sizeof(value));
	return value;
}

static inline uint32_t
load32(const uint8_t *p)
{
	uint32_t value;

	memcpy(&value, p, sizeof(value));
	return value;
}

/** Network order. */
static inline uint16_t
load16_be(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static inline void
store16_be(uint8_t *p, uint16_t value)
{
	p[0] = (uint8_t)(value >> 8);
	p[1] = (uint8_t)value;
}

#endif
