/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * IPv4 fragmentation.
 *
 * Not librte_ip_frag's: rte_ipv4_fragment_packet() chains indirect buffers
 * behind a header, so that a fragment holds on to the packet it came from, and
 * rte_ipv4_fragment_copy_nonseg_packet() takes and makes single segments only.
 * Both leave the checksum to the caller, filter options only of packets that
 * are no fragments themselves, and let an offset that passes 13 bits run over into the
 * flags.
 */
#include <errno.h>

#include <rte_mbuf_dyn.h>

#include "ip.h"

#define OPTION_COPIED 0x80

/* Where in a packet of several segments copying has come to. */
struct cursor {
	const struct rte_mbuf *segment;
	uint32_t offset; /* in that segment */
};

/* What all fragments of one packet have in common. */
struct plan {
	uint8_t first_header[IP4_HEADER_MAX];
	uint8_t later_header[IP4_HEADER_MAX];
	uint16_t first_header_len;
	uint16_t later_header_len;
	uint16_t first_payload; /* bytes, a multiple of 8 */
	uint16_t later_payload;
	uint16_t payload;  /* of the whole packet */
	uint16_t fragment; /* flags and offset it came with, host order */
};

/*
 * The header of all fragments but the first: RFC 791 3.1, "copied flag".
 * The padding behind the last option is zero, which ends the list.
 */
static void
make_later_header(struct plan *plan)
{
	const uint8_t *from = plan->first_header;
	uint8_t *to = plan->later_header;
	unsigned n = IP4_HEADER_MIN, option_len;

	memcpy(to, from, IP4_HEADER_MIN);
	for (unsigned i = IP4_HEADER_MIN; i < plan->first_header_len; i += option_len) {
		if (from[i] == 0)
			break;
		option_len = from[i] == 1 ? 1 : from[i + 1];
		if (from[i] & OPTION_COPIED) {
			memcpy(to + n, from + i, option_len);
			n += option_len;
		}
	}
	plan->later_header_len = (uint16_t)RTE_ALIGN_CEIL(n, 4u);
	memset(to + n, 0, plan->later_header_len - n);
	to[0] = (uint8_t)(0x40 | plan->later_header_len / 4);
}

static int
make_plan(struct plan *plan, const struct rte_mbuf *packet, uint16_t mtu)
{
	const uint8_t *h;
	uint32_t header_len, total_len;

	h = rte_pktmbuf_read(packet, 0, IP4_HEADER_MIN, plan->first_header);
	if (h == NULL)
		return -EINVAL;
	header_len = (h[0] & 0x0f) * 4u;
	total_len = ip_get16(h + 2);
	if (header_len < IP4_HEADER_MIN || total_len < header_len || total_len > packet->pkt_len)
		return -EINVAL;
	h = rte_pktmbuf_read(packet, 0, header_len, plan->first_header);
	if (h != plan->first_header)
		memcpy(plan->first_header, h, header_len);
	if (ip4_options_check(plan->first_header, header_len) == IP4_OPTIONS_MALFORMED ||
	    mtu < header_len + 8)
		return -EINVAL;
	plan->first_header_len = (uint16_t)header_len;
	make_later_header(plan);
	plan->first_payload = (uint16_t)((mtu - header_len) & ~7u);
	plan->later_payload = (uint16_t)((mtu - plan->later_header_len) & ~7u);
	plan->payload = (uint16_t)(total_len - header_len);
	plan->fragment = ip_get16(h + 6);
	if (plan->fragment & IP4_DONT_FRAGMENT)
		return -EINVAL;
	/* The last byte of a datagram has an offset below 65536, or it is an attack. */
	if ((plan->fragment & IP4_OFFSET_MASK) * 8u + plan->payload > UINT16_MAX + 1u)
		return -EINVAL;
	return 0;
}

/* How many fragments: the last may fill the MTU to the byte. */
static unsigned
count_fragments(const struct plan *plan, uint16_t mtu)
{
	uint32_t left = plan->payload;

	if (left <= (uint32_t)mtu - plan->first_header_len)
		return 1;
	left -= plan->first_payload;
	if (left <= (uint32_t)mtu - plan->later_header_len)
		return 2;
	left -= (uint32_t)mtu - plan->later_header_len;
	return 2 + (left + plan->later_payload - 1) / plan->later_payload;
}

static void
skip_bytes(struct cursor *from, uint32_t n)
{
	from->offset += n;
	while (from->segment != NULL && from->offset >= from->segment->data_len) {
		from->offset -= from->segment->data_len;
		from->segment = from->segment->next;
	}
}

/* Copy n bytes from the cursor, which the caller knows to be there. */
static void
copy_bytes(uint8_t *to, struct cursor *from, uint32_t n)
{
	while (n > 0) {
		uint32_t here = RTE_MIN(n, from->segment->data_len - from->offset);

		memcpy(to, rte_pktmbuf_mtod_offset(from->segment, const uint8_t *, from->offset),
		       here);
		to += here;
		n -= here;
		skip_bytes(from, here);
	}
}

/* A packet of a header and n bytes from the cursor, in as many segments as it takes. */
static struct rte_mbuf *
make_fragment(struct rte_mempool *pool, const uint8_t *header, uint16_t header_len,
	      struct cursor *from, uint32_t n)
{
	struct rte_mbuf *packet = rte_pktmbuf_alloc(pool), *last = packet;
	uint8_t *to;

	if (packet == NULL)
		return NULL;
	to = (uint8_t *)rte_pktmbuf_append(packet, header_len);
	if (to == NULL)
		goto fail;
	memcpy(to, header, header_len);
	while (n > 0) {
		uint16_t here = (uint16_t)RTE_MIN(n, (uint32_t)rte_pktmbuf_tailroom(last));

		copy_bytes(rte_pktmbuf_mtod_offset(last, uint8_t *, last->data_len), from, here);
		last->data_len += here;
		packet->pkt_len += here;
		n -= here;
		if (n == 0)
			break;
		last->next = rte_pktmbuf_alloc(pool);
		if (last->next == NULL)
			goto fail;
		last = last->next;
		packet->nb_segs++;
		if (rte_pktmbuf_tailroom(last) == 0)
			goto fail;
	}
	return packet;
fail:
	rte_pktmbuf_free_bulk(&packet, 1);
	return NULL;
}

static void
finish_header(struct rte_mbuf *packet, uint16_t header_len, uint16_t flags_offset)
{
	uint8_t *h = rte_pktmbuf_mtod(packet, uint8_t *);

	ip_put16(h + 2, (uint16_t)packet->pkt_len);
	ip_put16(h + 6, flags_offset);
	ip4_sum_set(h, header_len);
}

/* RFC 791 3.2, "An Example Fragmentation Procedure" */
int
ip4_fragment(struct rte_mbuf *packet, uint16_t mtu, struct rte_mempool *pool,
	     struct rte_mbuf *out[], unsigned max)
{
	struct cursor from = {.segment = packet};
	uint32_t done = 0;
	unsigned count;
	struct plan plan;
	int rc;

	rc = make_plan(&plan, packet, mtu);
	if (rc != 0)
		return rc;
	count = count_fragments(&plan, mtu);
	if (count > max)
		return -E2BIG;
	skip_bytes(&from, plan.first_header_len);
	for (unsigned i = 0; i < count; i++) {
		const uint8_t *header = i == 0 ? plan.first_header : plan.later_header;
		uint16_t header_len = i == 0 ? plan.first_header_len : plan.later_header_len;
		bool last = i == count - 1;
		uint32_t n = i == 0 ? plan.first_payload : plan.later_payload;
		uint16_t flags_offset = (uint16_t)(plan.fragment + done / 8);

		/* Flags and offset the packet came with stay; more follow all but the last. */
		if (last)
			n = plan.payload - done;
		else
			flags_offset |= IP4_MORE_FRAGMENTS;

		out[i] = make_fragment(pool, header, header_len, &from, n);
		if (out[i] == NULL) {
			rte_pktmbuf_free_bulk(out, i);
			return -ENOBUFS;
		}
		out[i]->port = packet->port;
		out[i]->hash = packet->hash;
		rte_mbuf_dynfield_copy(out[i], packet);
		finish_header(out[i], header_len, flags_offset);
		done += n;
	}
	return (int)count;
}
