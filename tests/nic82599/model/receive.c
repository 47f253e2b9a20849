/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The way of a frame from the wire into the buffers of a receive queue
 * (datasheet 7.1): length, filters, queue, checksums, buffers, descriptors.
 *
 * Not modelled: RSC (LRO), header split, virtualisation and DCB, time stamps,
 * security offloads. Pause frames pass as any other frame.
 */
#include <string.h>

#include "checksum.h"
#include "filter.h"
#include "frame.h"
#include "nic.h"
#include "stats.h"

#define FRAME_MIN 60 /**< without FCS: shorter ones are padded, as their sender had to */

/* Advanced receive descriptor as written back, datasheet 7.1.6.2. */
#define STATUS_DD	  (1u << 0)
#define STATUS_EOP	  (1u << 1)
#define STATUS_FLM	  (1u << 2) /**< a rule of the flow director matched */
#define STATUS_VP	  (1u << 3) /**< VLAN tag */
#define STATUS_UDPCS	  (1u << 4)
#define STATUS_L4CS	  (1u << 5)
#define STATUS_IPCS	  (1u << 6)
#define ERROR_L4	  (1u << 30)
#define ERROR_IP	  (1u << 31)
#define TYPE_IPV4	  0x0010u
#define TYPE_IPV4_EXT	  0x0030u
#define TYPE_IPV6	  0x0040u
#define TYPE_IPV6_EXT	  0x00c0u
#define TYPE_TCP	  0x0100u
#define TYPE_UDP	  0x0200u
#define TYPE_SCTP	  0x0400u
#define TYPE_L2		  0x8000u
#define RSS_TYPE_DIRECTOR 0xfu

/** A receive queue as its registers describe it. */
struct queue {
	uint32_t base;		   /**< its registers */
	uint32_t size, head, free; /**< in descriptors */
	uint32_t buffer;	   /**< bytes of each */
	bool on, strip_vlan, drop;
};

static void
read_queue(const struct nic *nic, unsigned index, struct queue *q)
{
	uint32_t base = R_RX_QUEUE(index), srrctl = reg_get(nic, base + Q_SRRCTL);
	uint32_t rxdctl = reg_get(nic, base + Q_CONTROL);

	q->base = base;
	q->size = reg_get(nic, base + Q_LENGTH) / 16;
	q->on = (rxdctl & DCTL_ENABLE) != 0 && q->size != 0;
	q->strip_vlan = (rxdctl & RXDCTL_VME) != 0;
	q->drop = (srrctl & SRRCTL_DROP_EN) != 0;
	q->buffer = (srrctl & SRRCTL_BSIZE) * 1024;
	if (q->buffer == 0)
		q->buffer = 2048;
	q->head = reg_get(nic, base + Q_HEAD);
	q->free = q->on ? (reg_get(nic, base + Q_TAIL) + q->size - q->head) % q->size : 0;
}

static uint32_t
longest(const struct nic *nic, const struct frame *f)
{
	uint32_t limit = 1518;

	if ((reg_get(nic, R_HLREG0) & HLREG0_JUMBOEN) != 0)
		limit = reg_get(nic, R_MAXFRS) >> 16;
	return f->tagged ? limit + 4 : limit;
}

/* --- what the descriptor says --------------------------------------------------------- */

static uint32_t
packet_type(const struct frame *f, const struct steering *s)
{
	static const uint32_t transport[] = {
		[L4_NONE] = 0, [L4_UDP] = TYPE_UDP, [L4_TCP] = TYPE_TCP, [L4_SCTP] = TYPE_SCTP};
	uint32_t type = transport[f->l4_type];

	if (s->ethertype >= 0)
		return TYPE_L2 | (uint32_t)s->ethertype << 4;
	if (f->version == 4)
		type |= f->extended && !f->inner6 ? TYPE_IPV4_EXT : TYPE_IPV4;
	if (f->version == 6 || f->inner6)
		type |= f->extended ? TYPE_IPV6_EXT : TYPE_IPV6;
	return type;
}

/** Sum over pseudo header and payload: 0xffff when the checksum is right. */
static uint16_t
transport_sum(const struct frame *f)
{
	uint8_t rest[4];
	uint32_t sum;

	store16_be(rest, (uint16_t)f->l4_length);
	store16_be(rest + 2, f->protocol);
	sum = checksum_add(0, rest, sizeof(rest));
	sum = checksum_add(sum, f->source, 2 * f->address_size);
	return checksum_fold(checksum_add(sum, f->data + f->l4, f->l4_length));
}

/** CRC-32C over the packet with zeros in the place of the checksum. */
static bool
sctp_good(const struct frame *f, uint8_t *scratch)
{
	const uint8_t *packet = f->data + f->l4;

	memcpy(scratch, packet, f->l4_length);
	memset(scratch + 8, 0, 4);
	return crc32_castagnoli(scratch, f->l4_length) == load32(packet + 8);
}

/**
 * Checksums the NIC has verified and what it found (datasheet 7.1.11). An IPv6
 * header has none; a UDP checksum of zero and fragments are not looked at. IPv4
 * inside IPv6 is not seen at all.
 */
static uint32_t
checksum_status(struct nic *nic, const struct frame *f)
{
	uint32_t status = 0;
	bool udp = f->l4_type == L4_UDP;

	if (f->version == 4) {
		const uint8_t *ip = f->data + f->l3;

		status |= STATUS_IPCS;
		if (checksum_fold(checksum_add(0, ip, (ip[0] & 15u) * 4)) != UINT16_MAX)
			status |= ERROR_IP;
	}
	if (f->l4_type == L4_SCTP)
		return status | STATUS_L4CS | (sctp_good(f, nic->image) ? 0 : ERROR_L4);
	if (f->l4_type == L4_NONE || (udp && load16(f->data + f->l4 + 6) == 0))
		return status;
	status |= STATUS_L4CS | (udp ? STATUS_UDPCS : 0);
	return transport_sum(f) == UINT16_MAX ? status : status | ERROR_L4;
}

/* --- buffers ------------------------------------------------------------------------------ */

/** The bytes to store: the frame, without its tag and with its FCS where that is set. */
static const uint8_t *
stored_bytes(struct nic *nic, const struct frame *f, bool strip, bool keep_fcs, uint32_t *length)
{
	uint32_t fcs, skipped = strip ? 4 : 0;

	*length = f->length - skipped;
	if (!strip && !keep_fcs)
		return f->data;
	memcpy(nic->image, f->data, 12);
	memcpy(nic->image + 12, f->data + 12 + skipped, f->length - 12 - skipped);
	if (keep_fcs) {
		fcs = crc32_ethernet(f->data, f->length);
		memcpy(nic->image + *length, &fcs, FCS_SIZE);
		*length += FCS_SIZE;
	}
	return nic->image;
}

/** A frame longer than a buffer goes into several; only the last descriptor has EOP and the whole
 * status. The second half of a descriptor has DD: the driver looks at it first, it is written last.
 */
static void
place(struct nic *nic, struct queue *q, const uint8_t *bytes, uint32_t length,
      const uint32_t head_words[2], uint32_t status, uint16_t tag)
{
	uint64_t *ring = nic_dma((uint64_t)reg_get(nic, q->base + Q_BASE_HIGH) << 32 |
				 reg_get(nic, q->base + Q_BASE_LOW));

	while (length > 0) {
		uint64_t *descriptor = ring + q->head * 2;
		uint32_t part = length < q->buffer ? length : q->buffer;
		uint64_t last = part == length ? status | STATUS_EOP : status & STATUS_DD;

		memcpy(nic_dma(descriptor[0]), bytes, part);
		memcpy(descriptor, head_words, 8);
		__atomic_store_n(&descriptor[1], last | (uint64_t)part << 32 | (uint64_t)tag << 48,
				 __ATOMIC_RELEASE);
		bytes += part;
		length -= part;
		q->head = q->head + 1 == q->size ? 0 : q->head + 1;
	}
	reg_set(nic, q->base + Q_HEAD, q->head);
}

static void
deliver(struct nic *nic, const struct frame *f, const struct steering *s, struct queue *q)
{
	bool strip = f->tagged && q->strip_vlan;
	bool keep_fcs = (reg_get(nic, R_HLREG0) & HLREG0_RXCRCSTRP) == 0;
	uint32_t status = STATUS_DD | checksum_status(nic, f), words[2], length;
	unsigned slot = stats_slot(nic, R_RQSMR(0), s->queue);
	const uint8_t *bytes;

	if (f->tagged)
		status |= STATUS_VP;
	words[0] = packet_type(f, s) | s->rss_type;
	words[1] = s->rss_hash;
	if (s->rule != NULL) {
		status |= STATUS_FLM;
		if ((reg_get(nic, R_FDIRCTRL) & FDIRCTRL_REPORT) != 0) {
			words[0] |= RSS_TYPE_DIRECTOR;
			words[1] = (s->rule->hash >> 16 & 0x7fff) | (s->rule->hash & 0x7fff) << 16;
		}
	}
	bytes = stored_bytes(nic, f, strip, keep_fcs, &length);
	place(nic, q, bytes, length, words, status, f->tag);
	stats_add(nic, R_QPRC(slot), 1);
	stats_add64(nic, R_QBRC(slot), length);
	nic->truth.received++;
	nic->truth.queue[s->queue]++;
}

/* --- the way ---------------------------------------------------------------------------------- */

static void
count_total(struct nic *nic, uint32_t size)
{
	stats_add(nic, R_TPR, 1);
	stats_add64(nic, R_TOR, size);
}

static void
count_good(struct nic *nic, const struct frame *f)
{
	bool keep_fcs = (reg_get(nic, R_HLREG0) & HLREG0_RXCRCSTRP) == 0;

	stats_add(nic, R_GPRC, 1);
	stats_add64(nic, R_GORC, f->length + (keep_fcs ? FCS_SIZE : 0));
	stats_add_size(nic, R_PRC64, f->length + FCS_SIZE);
	if ((f->data[0] & 1) != 0)
		stats_add(nic, load32(f->data) == UINT32_MAX ? R_BPRC : R_MPRC, 1);
}

/** Buffers the frame takes; it is stored whole or not at all. */
static uint32_t
buffers_needed(const struct nic *nic, const struct frame *f, const struct queue *q)
{
	uint32_t length = f->length;

	if (f->tagged && q->strip_vlan)
		length -= 4;
	if ((reg_get(nic, R_HLREG0) & HLREG0_RXCRCSTRP) == 0)
		length += FCS_SIZE;
	return (length + q->buffer - 1) / q->buffer;
}

static bool
receive(struct nic *nic, const struct frame *f)
{
	uint32_t size = f->length + FCS_SIZE;
	struct steering s;
	struct queue q;
	bool full;

	if (size > longest(nic, f)) {
		count_total(nic, size);
		stats_add(nic, R_ROC, 1);
		nic->truth.filtered++;
		return true;
	}
	if (!filter_accepts(nic, f)) {
		count_total(nic, size);
		nic->truth.filtered++;
		return true;
	}
	filter_steer(nic, f, &s);
	read_queue(nic, s.queue, &q);
	full = q.on && buffers_needed(nic, f, &q) > q.free;
	if (full && !q.drop && !nic->overflow_drops) {
		/* The packet buffer keeps it, and all that come behind. */
		nic->truth.held++;
		return false;
	}
	count_total(nic, size);
	if (full && !q.drop) {
		stats_add(nic, R_MPC, 1);
		nic->truth.no_descriptor++;
		return true;
	}
	count_good(nic, f);
	if (s.director_asked)
		stats_add(nic, s.rule != NULL ? R_FDIRMATCH : R_FDIRMISS, 1);
	if (!q.on) {
		if (s.rule != NULL && (s.rule->command & FDIRCMD_DROP) != 0)
			nic->truth.rule++;
		else
			nic->truth.queue_off++;
	} else if (full) {
		stats_add(nic, R_QPRDC(stats_slot(nic, R_RQSMR(0), s.queue)), 1);
		nic->truth.no_descriptor++;
	} else {
		deliver(nic, f, &s, &q);
	}
	return true;
}

bool
nic_receive(struct nic *nic, const uint8_t *data, uint32_t length)
{
	uint8_t padded[FRAME_MIN] = {0};
	struct frame frame;

	if ((reg_get(nic, R_RXCTRL) & RXCTRL_RXEN) == 0)
		return false;
	/* Nothing comes through a cable that is not there; a header cut short is line noise. */
	if (!nic_link_up(nic) || length < 14 || length > FRAME_MAX - FCS_SIZE)
		return true;
	if (length < FRAME_MIN) {
		memcpy(padded, data, length);
		data = padded;
		length = FRAME_MIN;
	}
	frame_parse(&frame, data, length);
	return receive(nic, &frame);
}
