/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLASSIFY_PARSE_H
#define CLASSIFY_PARSE_H

/**
 * @file
 * Where a packet's headers are: no more of them than the rule set asks for.
 *
 * Here is what nearly every packet is, an untagged frame with an IP header without
 * options; parse.c takes the others.
 */

#include "internal.h"

/** Packets that go through the tuples together. */
#define CHUNK 64

/** Headers of the packets of a chunk, by place. */
struct headers {
	uint32_t needs;			       /**< FLOW_HAS_* that matter to the set */
	uint32_t present[CHUNK];	       /**< FLOW_HAS_*; others may be missing */
	const uint8_t *at[LAYER_COUNT][CHUNK]; /**< set for what is present */
};

/** What an upper layer is by its protocol number; size 0: no header we know. */
struct upper {
	uint16_t has;
	uint8_t size;
};

extern const struct upper uppers[256];

#define NEEDS_L4    (FLOW_HAS_L4 | FLOW_HAS_FRAGMENT6)
#define NEEDS_INNER (0xfffu << FLOW_INNER << 4)
#define NEEDS_UPPER (NEEDS_L4 | NEEDS_INNER)

/** parse.c: what follows an IP header of ours, at `p`, is a packet of protocol `proto`. */
void parse_inner(struct headers *h, unsigned i, const uint8_t *p, const uint8_t *end,
		 uint8_t proto);

static inline uint16_t
load16(const uint8_t *p)
{
	uint16_t x;

	memcpy(&x, p, sizeof(x));
	return rte_be_to_cpu_16(x);
}

/* The packet has an upper layer of protocol `proto` at p, if that is a header we know and it
 * is all there. */
static inline void
parse_upper(struct headers *h, unsigned i, const uint8_t *p, const uint8_t *end, uint8_t proto)
{
	const struct upper *upper = &uppers[proto];

	if (likely(upper->size != 0)) {
		if (likely(end - p >= upper->size)) {
			h->present[i] |= upper->has;
			h->at[LAYER_L4][i] = p;
		}
	} else if ((h->needs & NEEDS_INNER) != 0) {
		parse_inner(h, i, p, end, proto);
	}
}

/** parse.c: the same for every kind of packet. */
void parse_any(struct headers *h, unsigned i, const uint8_t *p, unsigned len);

/** A frame of IPv4 without options, or of IPv6, without tags: EtherType and the first byte behind
 * it. */
#define PLAIN4	    0x450008u
#define PLAIN4_MASK 0xffffffu
#define PLAIN6	    0x60dd86u
#define PLAIN6_MASK 0xf0ffffu

/**
 * Find the headers of packet i, `len` bytes at p. upper: what is behind the IP header matters to
 * the set (h->needs).
 */
static __rte_always_inline void
parse(struct headers *h, unsigned i, const uint8_t *p, unsigned len, bool upper)
{
	const uint8_t *ip = p + RTE_ETHER_HDR_LEN, *end;
	uint32_t head;

	if (unlikely(len < RTE_ETHER_HDR_LEN + 20)) {
		parse_any(h, i, p, len);
		return;
	}
	memcpy(&head, p + 12, sizeof(head));
	h->at[LAYER_ETH][i] = p;
	h->at[LAYER_IP][i] = ip;
	if ((head & PLAIN4_MASK) == PLAIN4) {
		h->present[i] = FLOW_HAS_ETH | FLOW_HAS_IP4;
		if (!upper || unlikely((load16(ip + 6) & 0x1fff) != 0))
			return;
		end = RTE_MIN(p + len, ip + load16(ip + 2));
		parse_upper(h, i, ip + 20, end, ip[9]);
	} else if ((head & PLAIN6_MASK) == PLAIN6 && len >= RTE_ETHER_HDR_LEN + 40 &&
		   (!upper || uppers[ip[6]].size != 0)) {
		h->present[i] = FLOW_HAS_ETH | FLOW_HAS_IP6;
		if (!upper)
			return;
		end = RTE_MIN(p + len, ip + 40 + load16(ip + 4));
		parse_upper(h, i, ip + 40, end, ip[6]);
	} else {
		parse_any(h, i, p, len);
	}
}

#endif
