/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A fragment's bytes copied out of a packet.
 */
#include "fragment.h"

void
fragment_skip(struct fragment_cursor *from, uint32_t n)
{
	from->offset += n;
	while (from->segment != NULL && from->offset >= from->segment->data_len) {
		from->offset -= from->segment->data_len;
		from->segment = from->segment->next;
	}
}

/* Copy n bytes from the cursor, which the caller knows to be there. */
static void
copy_bytes(uint8_t *to, struct fragment_cursor *from, uint32_t n)
{
	while (n > 0) {
		uint32_t here = RTE_MIN(n, from->segment->data_len - from->offset);

		memcpy(to, rte_pktmbuf_mtod_offset(from->segment, const uint8_t *, from->offset),
		       here);
		to += here;
		n -= here;
		fragment_skip(from, here);
	}
}

struct rte_mbuf *
fragment_make(struct rte_mempool *pool, const uint8_t *header, uint16_t header_len,
	      struct fragment_cursor *from, uint32_t n)
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
