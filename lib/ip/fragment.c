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

#include "fragment.h"
#include "ip.h"

#define OPTION_COPIED 0x80

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
	struct fragment_cursor from = {.segment = packet};
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
	fragment_skip(&from, plan.first_header_len);
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

		out[i] = fragment_make(pool, header, header_len, &from, n);
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
