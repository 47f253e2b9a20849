/* SPDX-License-Identifier: BSD-3-Clause */
#include "offload.h"

#include <string.h>

#include "checksum.h"
#include "frame.h"

/** A transmit context (datasheet 7.2.3.2.3), taken apart. */
struct context {
	uint32_t l2_length, l3_length, l4_length;
	uint32_t l4; /**< offset */
	uint32_t mss;
	uint16_t tag;
	bool ipv4;
	enum {
		CONTEXT_UDP = 0,
		CONTEXT_TCP = 1,
		CONTEXT_SCTP = 2
	} l4_type;
};

static struct context
read_context(const struct tx_context *raw)
{
	struct context c = {
		.l2_length = raw->vlan_and_lengths >> 9 & 0x7f,
		.l3_length = raw->vlan_and_lengths & 0x1ff,
		.l4_length = raw->segmentation >> 8 & 0xff,
		.mss = raw->segmentation >> 16,
		.tag = (uint16_t)(raw->vlan_and_lengths >> 16),
		.ipv4 = (raw->type & 1u << 10) != 0,
		.l4_type = raw->type >> 11 & 3,
	};

	c.l4 = c.l2_length + c.l3_length;
	return c;
}

static void
ipv4_checksum(const struct context *c, uint8_t *packet)
{
	uint8_t *ip = packet + c->l2_length;
	uint16_t sum;

	memset(ip + 10, 0, 2);
	sum = (uint16_t)~checksum_fold(checksum_add(0, ip, c->l3_length));
	memcpy(ip + 10, &sum, 2);
}

/** The driver has put the sum of the pseudo header into the field; SCTP has none. */
static void
l4_checksum(const struct context *c, uint8_t *packet, uint32_t length)
{
	uint32_t field = c->l4 + (c->l4_type == CONTEXT_TCP ? 16 : 6), crc;
	uint16_t sum;

	if (c->l4_type == CONTEXT_SCTP) {
		if (length < c->l4 + 12)
			return;
		memset(packet + c->l4 + 8, 0, 4);
		crc = crc32_castagnoli(packet + c->l4, length - c->l4);
		memcpy(packet + c->l4 + 8, &crc, 4);
		return;
	}
	if (length < field + 2)
		return;
	sum = (uint16_t)~checksum_fold(checksum_add(0, packet + c->l4, length - c->l4));
	/* RFC 768: a UDP checksum of zero would mean "none". */
	if (c->l4_type == CONTEXT_UDP && sum == 0)
		sum = UINT16_MAX;
	memcpy(packet + field, &sum, 2);
}

static uint32_t
insert_tag(const struct context *c, uint8_t *packet, uint32_t length)
{
	memmove(packet + 16, packet + 12, length - 12);
	store16_be(packet + 12, 0x8100);
	store16_be(packet + 14, c->tag);
	return length + 4;
}

static void
finish(struct nic *nic, unsigned queue, const struct context *c, uint8_t *packet, uint32_t length,
       uint32_t command, uint32_t options, offload_send *send)
{
	if ((options & TXD_IXSM) != 0 && c->ipv4)
		ipv4_checksum(c, packet);
	if ((options & TXD_TXSM) != 0)
		l4_checksum(c, packet, length);
	if ((command & TXD_VLE) != 0)
		length = insert_tag(c, packet, length);
	send(nic, queue, packet, length);
}

/* --- segmentation, datasheet 7.2.4.6: what changes from one segment to the next ------- */

static void
patch_headers(const struct context *c, uint8_t *packet, uint32_t length, uint32_t offset, bool last)
{
	uint8_t *ip = packet + c->l2_length, *tcp = packet + c->l4;
	uint32_t sequence = __builtin_bswap32(load32(tcp + 4)) + offset;
	uint16_t sum;

	if (c->ipv4) {
		store16_be(ip + 2, (uint16_t)(length - c->l2_length));
		store16_be(ip + 4, (uint16_t)(load16_be(ip + 4) + offset / c->mss));
	} else {
		store16_be(ip + 4, (uint16_t)(length - c->l4));
	}
	sequence = __builtin_bswap32(sequence);
	memcpy(tcp + 4, &sequence, 4);
	if (!last)
		tcp[13] &= (uint8_t)~0x09; /* FIN and PSH belong to the last */
	/* The pseudo header in the field lacks the length, which differs. */
	sum = checksum_fold((uint32_t)load16(tcp + 16) +
			    __builtin_bswap16((uint16_t)(length - c->l4)));
	memcpy(tcp + 16, &sum, 2);
}

static void
segment(struct nic *nic, unsigned queue, const struct context *c, const uint8_t *packet,
	uint32_t length, uint32_t command, uint32_t options, offload_send *send)
{
	uint32_t headers = c->l4 + c->l4_length, offset = 0, part;
	uint8_t *piece = nic->image;

	if (c->mss == 0 || headers >= length || headers + c->mss + OFFLOAD_ROOM > FRAME_MAX)
		return;
	for (; offset < length - headers; offset += part) {
		part = length - headers - offset;
		if (part > c->mss)
			part = c->mss;
		memcpy(piece, packet, headers);
		memcpy(piece + headers, packet + headers + offset, part);
		patch_headers(c, piece, headers + part, offset, offset + part == length - headers);
		finish(nic, queue, c, piece, headers + part, command, options, send);
	}
}

void
offload_packet(struct nic *nic, unsigned queue, uint8_t *packet, uint32_t length, uint32_t command,
	       uint32_t options, offload_send *send)
{
	/* CC and IDX: which of the queue's two contexts. */
	struct context c = read_context(&nic->tx[queue].context[options >> 4 & 1]);

	if ((command & TXD_TSE) != 0)
		segment(nic, queue, &c, packet, length, command, options, send);
	else
		finish(nic, queue, &c, packet, length, command, options, send);
}
