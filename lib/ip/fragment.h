/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FRAGMENT_H
#define FRAGMENT_H

/** @file What fragmenting IPv4 and IPv6 have in common. */

#include <rte_mbuf.h>

/** Where in a packet of several segments copying has come to. */
struct fragment_cursor {
	const struct rte_mbuf *segment;
	uint32_t offset; /* in that segment */
};

/** On by n bytes, which the caller knows to be there. */
void fragment_skip(struct fragment_cursor *from, uint32_t n);
/** A packet of a header and n bytes from the cursor, in as many segments as it takes; NULL: no
 * buffer. */
struct rte_mbuf *fragment_make(struct rte_mempool *pool, const uint8_t *header, uint16_t header_len,
			       struct fragment_cursor *from, uint32_t n);

#endif
