/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether a packet can match two rules. Where that is not easily seen, it can.
 */
#include "internal.h"

/* IP headers at one place, and upper layers: a packet has one of each. */
static const uint32_t alternatives[] = {
	FLOW_HAS_IP4 | FLOW_HAS_IP6,
	FLOW_HAS_L4,
	FLOW_HAS_INNER_IP4 | FLOW_HAS_INNER_IP6,
	FLOW_HAS_INNER_L4,
};

static bool
headers_differ(const struct flow_rule *a, const struct flow_rule *b)
{
	if (((a->present ^ b->present) & a->present_mask & b->present_mask) != 0)
		return true;
	for (unsigned i = 0; i < RTE_DIM(alternatives); i++) {
		uint32_t one = a->present & alternatives[i], other = b->present & alternatives[i];

		if (one != 0 && other != 0 && one != other)
			return true;
	}
	return false;
}

/* A frame that is neither tagged nor IP against a rule about IP. */
static bool
type_excludes(const struct flow_rule *a, const struct flow_rule *b)
{
	if (a->mask.eth.ether_type != UINT16_MAX ||
	    (b->present & (FLOW_HAS_IP4 | FLOW_HAS_IP6)) == 0)
		return false;
	switch (rte_be_to_cpu_16(a->value.eth.ether_type)) {
	case RTE_ETHER_TYPE_VLAN:
	case RTE_ETHER_TYPE_QINQ:
	case RTE_ETHER_TYPE_QINQ1:
		return false;
	case RTE_ETHER_TYPE_IPV4:
		return (b->present & FLOW_HAS_IP6) != 0;
	case RTE_ETHER_TYPE_IPV6:
		return (b->present & FLOW_HAS_IP4) != 0;
	}
	return true;
}

static bool
bits_differ(const struct flow_rule *a, const struct flow_rule *b)
{
	const uint8_t *value = (const uint8_t *)&a->value, *mask = (const uint8_t *)&a->mask;
	const uint8_t *other = (const uint8_t *)&b->value, *other_mask = (const uint8_t *)&b->mask;
	uint8_t differ = 0;

	/* To the end: compilers make vectors of it. */
	for (unsigned i = 0; i < sizeof(a->value); i++)
		differ |= (uint8_t)((value[i] ^ other[i]) & mask[i] & other_mask[i]);
	return differ != 0;
}

/* A range of a against the other's exact bits, if those are all of the range's. */
static bool
range_misses(const struct flow_range *range, const struct flow_rule *b)
{
	uint8_t exact[16];

	for (unsigned i = 0; i < range->size; i++) {
		unsigned at = range->offset + i;

		if ((range->mask[i] & ~((const uint8_t *)&b->mask)[at]) != 0)
			return false;
		exact[i] = ((const uint8_t *)&b->value)[at] & range->mask[i];
	}
	return memcmp(exact, range->low, range->size) < 0 ||
	       memcmp(exact, range->high, range->size) > 0;
}

static bool
ranges_differ(const struct flow_rule *a, const struct flow_rule *b)
{
	for (unsigned i = 0; i < a->ranges; i++) {
		const struct flow_range *range = &a->range[i];

		if (range_misses(range, b))
			return true;
		for (unsigned k = 0; k < b->ranges; k++) {
			const struct flow_range *other = &b->range[k];

			if (range->offset != other->offset || range->size != other->size ||
			    memcmp(range->mask, other->mask, range->size) != 0)
				continue;
			if (memcmp(range->high, other->low, range->size) < 0 ||
			    memcmp(other->high, range->low, range->size) < 0)
				return true;
		}
	}
	for (unsigned k = 0; k < b->ranges; k++) {
		if (range_misses(&b->range[k], a))
			return true;
	}
	return false;
}

bool
flow_overlap(const struct flow_rule *a, const struct flow_rule *b)
{
	return !headers_differ(a, b) && !type_excludes(a, b) && !type_excludes(b, a) &&
	       !bits_differ(a, b) && !ranges_differ(a, b);
}
