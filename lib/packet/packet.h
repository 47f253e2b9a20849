/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PACKET_H
#define PACKET_H

/**
 * @file
 * Packets of mixed memory: a chain of segments, each in a buffer of our own pool,
 * of another pool, in memory somebody else has lent (external, with a callback that
 * takes it back), or in a buffer that belongs to another packet (an indirect clone).
 *
 * Reading is the same for all. Writing is not: what others hold as well must stay as it
 * is. packet_writable() is the one answer to "may I write here", and
 * packet_make_writable() the one way to make it yes: it copies what is to be written,
 * and nothing else, into a buffer of the caller's pool in front of the rest.
 * Everything else here changes a packet's ends, and writes only where it may.
 *
 * What others may hold is memory, never the mbufs of a packet: those belong to whoever
 * has the packet. To give a packet to two places, clone it (rte_pktmbuf_clone()) instead of
 * counting its mbufs up. Segments that are left over go back to where each came from, as
 * rte_pktmbuf_free_bulk() does it.
 *
 * Any thread: nothing here keeps state. A function that takes a pool allocates from it, counts
 * that (pool_made(), pool_copied()), and does all or nothing: after an error the packet is
 * as it was and no buffer is lost. A packet with bytes has some in its first
 * segment.
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

/** Is the memory of this one segment nobody else's? Its own buffer, not attached to by a clone; or
 * external memory that no other mbuf refers to. */
static inline bool
packet_segment_own(const struct rte_mbuf *segment)
{
	if (unlikely(rte_mbuf_refcnt_read(segment) != 1))
		return false;
	return likely(RTE_MBUF_DIRECT(segment)) ||
	       (RTE_MBUF_HAS_EXTBUF(segment) && rte_mbuf_ext_refcnt_read(segment->shinfo) == 1);
}

/**
 * May the first `bytes` bytes of the packet be written, and `front` bytes before them? Only if they
 * lie in the first segment, it has the headroom, and is nobody else's.
 */
static inline bool
packet_writable(const struct rte_mbuf *packet, uint16_t front, uint16_t bytes)
{
	return packet_segment_own(packet) && packet->data_len >= bytes && packet->data_off >= front;
}

/** May n bytes from offset on be written where they are, in whatever segments? False if
 * the packet is shorter. */
bool packet_writable_at(const struct rte_mbuf *packet, uint32_t offset, uint32_t n);

/**
 * Make packet_writable(*packet, front, bytes) true. Bytes are moved up into the first segment when
 * it may be written and has room; else a new first segment is made in the pool, holds a copy of
 * them (and at least RTE_PKTMBUF_HEADROOM of headroom), and *packet is another mbuf. The rest of
 * the packet stays where it is. Pointers into it are void.
 *
 * @return 0; -EINVAL: the packet is shorter than `bytes`; -ENOBUFS: the pool is empty, or its
 *         buffers do not hold front and bytes
 */
int packet_make_writable(struct rte_mbuf **packet, uint16_t front, uint16_t bytes,
			 struct rte_mempool *pool);

/**
 * n more bytes in front, to be written by the caller: in the headroom where that may be
 * written, else in a new first segment (then *packet is another mbuf). Nothing is copied.
 *
 * @return 0 or -ENOBUFS as above
 */
int packet_prepend(struct rte_mbuf **packet, uint16_t n, struct rte_mempool *pool);

/**
 * n more bytes behind: copied from `bytes`, or zeroes if that is NULL. In the tailroom of the last
 * segment where that may be written, else in as many new ones as it takes.
 *
 * @return 0; -EINVAL: more segments than an mbuf can count; -ENOBUFS
 */
int packet_append(struct rte_mbuf *packet, const void *bytes, uint32_t n, struct rte_mempool *pool);

/** A copy in one buffer; NULL: it does not hold that much, or the pool is empty. The packet is not
 * freed. */
struct rte_mbuf *packet_in_one(const struct rte_mbuf *packet, struct rte_mempool *pool);

/**
 * Make the first `want` bytes of the packet contiguous in its first segment,
 * moving bytes up from the following ones and freeing those left empty. The
 * data start does not move, but pointers into later segments are void.
 *
 * @return 0; -EINVAL: the packet is shorter; -ENOBUFS: no tailroom, or the first
 *         segment must not be written. After an error nothing has changed.
 */
int packet_pull_up(struct rte_mbuf *packet, uint16_t want);

/**
 * Cut the packet to len bytes from the start of its data, freeing segments
 * that are left over. A packet that is no longer than that stays as it is.
 */
void packet_trim(struct rte_mbuf *packet, uint32_t len);

/**
 * Remove len bytes from the front, also across segments; all of them if the
 * packet is shorter. When the first segment is used up, bytes of the next move
 * into it (its data start is RTE_PKTMBUF_HEADROOM then), because a packet starts
 * with a segment that is not empty; only if that must not be written it stays empty.
 */
void packet_strip(struct rte_mbuf *packet, uint32_t len);

#endif
