/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Room to write in, where there is none: copies of what must be written, new
 * segments at either end.
 */
#include <errno.h>
#include <string.h>

#include <rte_mbuf_dyn.h>

#include "packet.h"
#include "pool.h"

/* What belongs to the memory of an mbuf and not to the packet. */
#define MEMORY_FLAGS (RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL)

bool
packet_writable_at(const struct rte_mbuf *packet, uint32_t offset, uint32_t n)
{
	if ((uint64_t)offset + n > packet->pkt_len)
		return false;
	for (const struct rte_mbuf *s = packet; n > 0; s = s->next) {
		uint32_t here;

		if (offset >= s->data_len) {
			offset -= s->data_len;
			continue;
		}
		if (!packet_segment_own(s))
			return false;
		here = RTE_MIN(n, s->data_len - offset);
		n -= here;
		offset = 0;
	}
	return true;
}

/* Copy the first n bytes, which the caller knows to be there. */
static void
copy_front(uint8_t *to, const struct rte_mbuf *packet, uint32_t n)
{
	for (const struct rte_mbuf *s = packet; n > 0; s = s->next) {
		uint32_t here = RTE_MIN(n, (uint32_t)s->data_len);

		memcpy(to, rte_pktmbuf_mtod(s, const uint8_t *), here);
		to += here;
		n -= here;
	}
}

/* What is known of the packet as a whole. */
static void
copy_about(struct rte_mbuf *to, const struct rte_mbuf *from)
{
	to->port = from->port;
	to->ol_flags = (from->ol_flags & ~MEMORY_FLAGS) | (to->ol_flags & MEMORY_FLAGS);
	to->packet_type = from->packet_type;
	to->vlan_tci = from->vlan_tci;
	to->vlan_tci_outer = from->vlan_tci_outer;
	to->hash = from->hash;
	to->tx_offload = from->tx_offload;
	rte_mbuf_dynfield_copy(to, from);
}

/* A buffer to become the packet's first, with n bytes of data behind at least `front` bytes;
 * NULL: none is free, or it is too small. */
static struct rte_mbuf *
new_first(const struct rte_mbuf *packet, uint16_t front, uint16_t n, struct rte_mempool *pool)
{
	struct rte_mbuf *m;

	if ((uint32_t)front + n > rte_pktmbuf_data_room_size(pool))
		return NULL;
	m = rte_pktmbuf_alloc(pool);
	if (m == NULL)
		return NULL;
	/* The usual headroom, unless that is too little or leaves too little. */
	m->data_off = (uint16_t)RTE_MAX(front, RTE_MIN(m->data_off, m->buf_len - n));
	m->data_len = n;
	m->pkt_len = n;
	copy_about(m, packet);
	return m;
}

/* Put `rest` behind the one segment `first`. */
static void
put_in_front(struct rte_mbuf *first, struct rte_mbuf *rest)
{
	first->next = rest;
	first->nb_segs = (uint16_t)(first->nb_segs + rest->nb_segs);
	first->pkt_len += rest->pkt_len;
}

/* Take n bytes, which are there, off the front and free the segments they were all of. Returns what
 * is left as a packet, NULL: nothing. No byte is written or moved. */
static struct rte_mbuf *
drop_front(struct rte_mbuf *packet, uint32_t n)
{
	struct rte_mbuf *last = NULL, *s = packet;
	uint32_t left = packet->pkt_len - n;
	uint16_t segments = packet->nb_segs;

	for (; s != NULL && n >= s->data_len; s = s->next) {
		n -= s->data_len;
		segments--;
		last = s;
	}
	if (s != NULL) {
		s->data_off = (uint16_t)(s->data_off + n);
		s->data_len = (uint16_t)(s->data_len - n);
		s->pkt_len = left;
		s->nb_segs = segments;
	}
	if (last != NULL) {
		packet->nb_segs = (uint16_t)(packet->nb_segs - segments);
		last->next = NULL;
		rte_pktmbuf_free_bulk(&packet, 1);
	}
	return s;
}

int
packet_make_writable(struct rte_mbuf **packet, uint16_t front, uint16_t bytes,
		     struct rte_mempool *pool)
{
	struct rte_mbuf *m = *packet, *first;

	if (packet_writable(m, front, bytes))
		return 0;
	if (bytes > m->pkt_len)
		return -EINVAL;
	/* The first segment is never empty. */
	bytes = RTE_MAX(bytes, (uint16_t)(m->pkt_len != 0));
	if (m->data_off >= front && packet_pull_up(m, bytes) == 0 && packet_segment_own(m))
		return 0;
	if (m->nb_segs == RTE_MBUF_MAX_NB_SEGS)
		return -ENOBUFS;
	first = new_first(m, front, bytes, pool);
	if (first == NULL)
		return -ENOBUFS;
	copy_front(rte_pktmbuf_mtod(first, uint8_t *), m, bytes);
	pool_made(pool, 1);
	pool_copied(pool, 1);
	m = drop_front(m, bytes);
	if (m != NULL)
		put_in_front(first, m);
	*packet = first;
	return 0;
}

int
packet_prepend(struct rte_mbuf **packet, uint16_t n, struct rte_mempool *pool)
{
	struct rte_mbuf *m = *packet, *first;

	if (likely(packet_writable(m, n, 0) && n <= UINT16_MAX - m->data_len)) {
		m->data_off = (uint16_t)(m->data_off - n);
		m->data_len = (uint16_t)(m->data_len + n);
		m->pkt_len += n;
		return 0;
	}
	if (m->nb_segs == RTE_MBUF_MAX_NB_SEGS)
		return -ENOBUFS;
	first = new_first(m, 0, n, pool);
	if (first == NULL)
		return -ENOBUFS;
	pool_made(pool, 1);
	put_in_front(first, m);
	*packet = first;
	return 0;
}

/* n bytes behind the data of the segment, for which there is room. */
static void
extend(struct rte_mbuf *segment, const uint8_t **bytes, uint16_t n)
{
	uint8_t *to = rte_pktmbuf_mtod_offset(segment, uint8_t *, segment->data_len);

	if (*bytes == NULL) {
		memset(to, 0, n);
	} else {
		memcpy(to, *bytes, n);
		*bytes += n;
	}
	segment->data_len = (uint16_t)(segment->data_len + n);
}

/* A chain of empty segments with room for n bytes, whose number goes to *count. NULL: n is 0, or
 * the pool has not got as many. */
static struct rte_mbuf *
empty_chain(struct rte_mempool *pool, uint32_t n, unsigned *count)
{
	struct rte_mbuf *first = NULL, *m;
	uint32_t room = 0;

	for (*count = 0; room < n; ++*count) {
		m = *count < RTE_MBUF_MAX_NB_SEGS ? rte_pktmbuf_alloc(pool) : NULL;
		if (m == NULL || rte_pktmbuf_tailroom(m) == 0) {
			rte_pktmbuf_free_bulk(&m, 1);
			rte_pktmbuf_free_bulk(&first, 1);
			return NULL;
		}
		room += rte_pktmbuf_tailroom(m);
		m->next = first;
		first = m;
	}
	return first;
}

int
packet_append(struct rte_mbuf *packet, const void *bytes, uint32_t n, struct rte_mempool *pool)
{
	struct rte_mbuf *last = rte_pktmbuf_lastseg(packet), *more;
	uint32_t here = packet_segment_own(last) ? rte_pktmbuf_tailroom(last) : 0;
	const uint8_t *from = bytes;
	unsigned count;

	here = RTE_MIN(here, n);
	more = empty_chain(pool, n - here, &count);
	if (more == NULL && n > here)
		return -ENOBUFS;
	if (count + packet->nb_segs > RTE_MBUF_MAX_NB_SEGS) {
		rte_pktmbuf_free_bulk(&more, 1);
		return -EINVAL;
	}
	pool_made(pool, count);
	packet->pkt_len += n;
	packet->nb_segs = (uint16_t)(packet->nb_segs + count);
	extend(last, &from, (uint16_t)here);
	last->next = more;
	for (n -= here; more != NULL; more = more->next) {
		here = RTE_MIN(n, (uint32_t)rte_pktmbuf_tailroom(more));
		extend(more, &from, (uint16_t)here);
		n -= here;
	}
	return 0;
}

struct rte_mbuf *
packet_in_one(const struct rte_mbuf *packet, struct rte_mempool *pool)
{
	struct rte_mbuf *m;

	if (packet->pkt_len > UINT16_MAX)
		return NULL;
	m = new_first(packet, 0, (uint16_t)packet->pkt_len, pool);
	if (m == NULL)
		return NULL;
	copy_front(rte_pktmbuf_mtod(m, uint8_t *), packet, packet->pkt_len);
	pool_made(pool, 1);
	pool_copied(pool, 1);
	return m;
}
