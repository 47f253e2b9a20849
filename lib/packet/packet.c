/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Packets of several segments: bytes taken off either end, or moved up to
 * where they can be read in one piece.
 *
 * Whole segments go back through rte_pktmbuf_free_bulk(), which is one call
 * into the pool for all of them.
 */
#include <errno.h>

#include <string.h>

#include "packet.h"

/* Take the segments between `after` and `until` (NULL: to the end) out of the packet, and free
 * them. */
static void
remove_between(struct rte_mbuf *packet, struct rte_mbuf *after, struct rte_mbuf *until)
{
	struct rte_mbuf *first = after->next, *last = first;

	if (first == until)
		return;
	packet->nb_segs--;
	for (; last->next != until; last = last->next)
		packet->nb_segs--;
	last->next = NULL;
	after->next = until;
	rte_pktmbuf_free_bulk(&first, 1);
}

/* Move n bytes from the start of `from` to the end of `to`. */
static inline void
move_bytes(struct rte_mbuf *to, struct rte_mbuf *from, uint16_t n)
{
	memcpy(rte_pktmbuf_mtod_offset(to, uint8_t *, to->data_len),
	       rte_pktmbuf_mtod(from, uint8_t *), n);
	to->data_len += n;
	from->data_off += n;
	from->data_len -= n;
}

static __rte_noinline int
pull_up_across(struct rte_mbuf *packet, uint16_t want)
{
	uint32_t missing = (uint32_t)want - packet->data_len, left = missing;
	struct rte_mbuf *s;

	if (want > packet->pkt_len)
		return -EINVAL;
	if (!packet_segment_own(packet) || missing > rte_pktmbuf_tailroom(packet))
		return -ENOBUFS;
	/* All or nothing: look before the first byte moves. */
	for (s = packet->next;; s = s->next) {
		if (s == NULL)
			return -EINVAL;
		if (left <= s->data_len)
			break;
		left -= s->data_len;
	}
	for (s = packet->next; missing > 0;) {
		uint16_t n = (uint16_t)RTE_MIN(missing, (uint32_t)s->data_len);

		move_bytes(packet, s, n);
		missing -= n;
		if (s->data_len == 0)
			s = s->next;
	}
	remove_between(packet, packet, s);
	return 0;
}

int
packet_pull_up(struct rte_mbuf *packet, uint16_t want)
{
	if (likely(want <= packet->data_len))
		return 0;
	return pull_up_across(packet, want);
}

void
packet_trim(struct rte_mbuf *packet, uint32_t len)
{
	struct rte_mbuf *last = packet;

	if (len >= packet->pkt_len)
		return;
	packet->pkt_len = len;
	while (unlikely(len > last->data_len)) {
		len -= last->data_len;
		last = last->next;
	}
	last->data_len = (uint16_t)len;
	if (unlikely(last->next != NULL))
		remove_between(packet, last, NULL);
}

/* The first segment is used up and others follow. */
static void
refill_head(struct rte_mbuf *packet)
{
	struct rte_mbuf *from = packet->next;
	uint16_t n;

	if (!packet_segment_own(packet))
		return;
	rte_pktmbuf_reset_headroom(packet);
	n = RTE_MIN(rte_pktmbuf_tailroom(packet), from->data_len);
	move_bytes(packet, from, n);
	if (from->data_len == 0)
		remove_between(packet, packet, from->next);
}

static __rte_noinline void
strip_across(struct rte_mbuf *packet, uint32_t len)
{
	struct rte_mbuf *s;

	len = RTE_MIN(len, packet->pkt_len);
	packet->pkt_len -= len;
	len -= packet->data_len;
	packet->data_off += packet->data_len;
	packet->data_len = 0;
	for (s = packet->next; s != NULL && len >= s->data_len; s = s->next)
		len -= s->data_len;
	remove_between(packet, packet, s);
	if (s == NULL)
		return;
	s->data_off += (uint16_t)len;
	s->data_len -= (uint16_t)len;
	refill_head(packet);
}

void
packet_strip(struct rte_mbuf *packet, uint32_t len)
{
	if (unlikely(len >= packet->data_len)) {
		strip_across(packet, len);
		return;
	}
	packet->data_off += (uint16_t)len;
	packet->data_len -= (uint16_t)len;
	packet->pkt_len -= len;
}
