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
	uint32_t needs;               /**< FLOW_HAS_* that matter to the set */
	uint32_t present[CHUNK];      /**< FLOW_HAS_*; others may be missing */
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

/** parse.c: everything from the EtherType on, which is at `type`. */
void parse_other(struct headers *h, unsigned i, const uint8_t *type, const uint8_t *end);
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

/** Find the headers of packet i, `len` bytes at p. */
static inline void
parse(struct headers *h, unsigned i, const uint8_t *p, unsigned len)
{
	const uint8_t *end = p + len, *ip = p + RTE_ETHER_HDR_LEN;
	uint16_t type;

	h->present[i] = 0;
	if (unlikely(len < RTE_ETHER_HDR_LEN))
		return;
	h->present[i] = FLOW_HAS_ETH;
	h->at[LAYER_ETH][i] = p;
	if ((h->needs & ~(uint32_t)FLOW_HAS_ETH) == 0)
		return;
	type = load16(p + 12);
	if (type == RTE_ETHER_TYPE_IPV4 && likely(end - ip >= 20 && ip[0] == 0x45)) {
		h->present[i] |= FLOW_HAS_IP4;
		h->at[LAYER_IP][i] = ip;
		if ((h->needs & (NEEDS_L4 | NEEDS_INNER)) == 0)
			return;
		end = RTE_MIN(end, ip + load16(ip + 2));
		if (likely((load16(ip + 6) & 0x1fff) == 0))
			parse_upper(h, i, ip + 20, end, ip[9]);
	} else if (type == RTE_ETHER_TYPE_IPV6 && likely(end - ip >= 40 && ip[0] >> 4 == 6) &&
		   ((h->needs & (NEEDS_L4 | NEEDS_INNER)) == 0 || uppers[ip[6]].size != 0)) {
		h->present[i] |= FLOW_HAS_IP6;
		h->at[LAYER_IP][i] = ip;
		if ((h->needs & (NEEDS_L4 | NEEDS_INNER)) == 0)
			return;
		end = RTE_MIN(end, ip + 40 + load16(ip + 4));
		parse_upper(h, i, ip + 40, end, ip[6]);
	} else {
		parse_other(h, i, p + 12, end);
	}
}

#endif
