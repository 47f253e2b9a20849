/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Writing into a packet whose buffers may be somebody else's, too. Segments that
 * are not ours alone are replaced by copies; the others stay where they are.
 */
#include "internal.h"

#include <rte_branch_prediction.h>

#include "packet.h"
#include "pool.h"

/* The segment's bytes in buffers of our own, as many as it takes; *last is the last of them. NULL:
 * none was free. */
static struct rte_mbuf *
copy_bytes(const struct rte_mbuf *m, struct rte_mbuf **last, unsigned *buffers)
{
	struct rte_mbuf *first = NULL, **link = &first;
	uint32_t done = 0;

	*buffers = 0;
	do {
		struct rte_mbuf *part = rte_pktmbuf_alloc(running.pool);
		uint32_t n;

		if (part == NULL || rte_pktmbuf_tailroom(part) == 0) {
			rte_pktmbuf_free(part);
			rte_pktmbuf_free(first);
			return NULL;
		}
		n = RTE_MIN((uint32_t)m->data_len - done, (uint32_t)rte_pktmbuf_tailroom(part));
		memcpy(rte_pktmbuf_mtod(part, void *),
		       rte_pktmbuf_mtod_offset(m, const uint8_t *, done), n);
		part->data_len = (uint16_t)n;
		*link = part;
		link = &part->next;
		*last = part;
		(*buffers)++;
		done += n;
	} while (done < m->data_len);
	return first;
}

/* Put a copy in the segment's place, *link, and let go of it. */
static bool
replace(struct rte_mbuf **link)
{
	struct rte_mbuf *m = *link, *last, *copy;
	unsigned buffers;

	copy = copy_bytes(m, &last, &buffers);
	if (copy == NULL)
		return false;
	last->next = m->next;
	if (link == running.packet) {
		uint64_t here = RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL;

		__rte_pktmbuf_copy_hdr(copy, m);
		copy->ol_flags = m->ol_flags & ~here;
		copy->pkt_len = m->pkt_len;
		copy->nb_segs = m->nb_segs;
	}
	*link = copy;
	(*running.packet)->nb_segs = (uint16_t)((*running.packet)->nb_segs + buffers - 1);
	running.counts->copies += buffers;
	pool_made(running.pool, buffers);
	pool_copied(running.pool, buffers);
	/* Not m->next = NULL: whoever else holds the segment goes on from it. */
	rte_pktmbuf_free_seg(m);
	return true;
}

/* Make the segments with these bytes ours to write. Those before them are copied, too, where
 * somebody else may be following their links. */
static bool
own(uint32_t offset, uint32_t length)
{
	uint32_t begin = 0, end = offset + length;

	for (struct rte_mbuf **link = running.packet; begin < end; link = &(*link)->next) {
		uint32_t size = (*link)->data_len;
		bool touched = begin + size > offset;

		if (unlikely(touched ? !packet_segment_own(*link)
				     : rte_mbuf_refcnt_read(*link) != 1) &&
		    !replace(link))
			return false;
		/* A copy may be shorter, and more follow. */
		begin += (*link)->data_len;
	}
	return true;
}

bool
store(uint32_t offset, const void *from, uint32_t length)
{
	const uint8_t *bytes = from;
	struct rte_mbuf *m;
	uint32_t at = offset, left = length;

	if (length == 0)
		return true;
	if (!own(offset, length))
		return false;
	for (m = *running.packet; at >= m->data_len; m = m->next)
		at -= m->data_len;
	for (; left > 0; m = m->next) {
		uint32_t n = RTE_MIN(left, (uint32_t)m->data_len - at);

		memcpy(rte_pktmbuf_mtod_offset(m, uint8_t *, at), bytes, n);
		bytes += n;
		left -= n;
		at = 0;
	}
	/* What is written may come from the view itself. */
	if (offset < NOREF_HEAD)
		memmove(running.view->head + offset, from, RTE_MIN(length, NOREF_HEAD - offset));
	return true;
}
