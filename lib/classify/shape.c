/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * From headers to words: which eight bytes of a packet a rule looks at.
 */
#include <errno.h>
#include <string.h>

#include "internal.h"

__extension__ typedef unsigned __int128 uint128;

/* A kind of header: which layer it is, how much of it rules may look at, and the
 * words that cover that. The first that has a byte takes it. */
struct kind {
	uint32_t has;
	uint8_t layer;
	uint8_t size;
	uint8_t words;
	int8_t offset[5];
};

#define L4_KINDS(shift, where)                                                                     \
	{(uint32_t)FLOW_HAS_UDP << (shift), where, 8, 1, {0}},                                     \
		{(uint32_t)FLOW_HAS_TCP << (shift), where, 20, 3, {0, 6, 12}},                     \
		{(uint32_t)FLOW_HAS_SCTP << (shift), where, 12, 2, {0, 4}},                        \
		{(uint32_t)FLOW_HAS_ICMP << (shift), where, 8, 1, {0}},                            \
	{                                                                                          \
		(uint32_t) FLOW_HAS_ICMP6 << (shift), where, 4, 1,                                 \
		{                                                                                  \
			-4                                                                         \
		}                                                                                  \
	}
#define IP_KINDS(shift, where)                                                                     \
	/* Both addresses are one word. */                                                         \
	{(uint32_t)FLOW_HAS_IP4 << (shift), where, 20, 3, {12, 0, 4}},                             \
	{                                                                                          \
		(uint32_t) FLOW_HAS_IP6 << (shift), where, 40, 5,                                  \
		{                                                                                  \
			24, 32, 8, 16, 0                                                           \
		}                                                                                  \
	}

static const struct kind kinds[] = {
	{FLOW_HAS_ETH, LAYER_ETH, 14, 2, {0, 6}},
	{FLOW_HAS_VLAN, LAYER_VLAN, 4, 1, {-4}},
	{FLOW_HAS_VLAN2, LAYER_VLAN2, 4, 1, {-4}},
	IP_KINDS(0, LAYER_IP),
	L4_KINDS(0, LAYER_L4),
	IP_KINDS(FLOW_INNER, LAYER_INNER_IP),
	L4_KINDS(FLOW_INNER, LAYER_INNER_L4),
};

static const uint16_t layer_begin[LAYER_COUNT + 1] = {
	[LAYER_ETH] = offsetof(struct flow_headers, eth),
	[LAYER_VLAN] = offsetof(struct flow_headers, vlan[0]),
	[LAYER_VLAN2] = offsetof(struct flow_headers, vlan[1]),
	[LAYER_IP] = offsetof(struct flow_headers, ip),
	[LAYER_L4] = offsetof(struct flow_headers, l4),
	[LAYER_INNER_IP] = offsetof(struct flow_headers, inner_ip),
	[LAYER_INNER_L4] = offsetof(struct flow_headers, inner_l4),
	[LAYER_COUNT] = sizeof(struct flow_headers),
};

static const uint8_t *
header_bytes(const struct flow_headers *headers)
{
	return (const uint8_t *)headers;
}

/* The kind of header the rule wants at a layer; NULL: none. */
static const struct kind *
kind_at(const struct flow_rule *rule, unsigned layer)
{
	const struct kind *kind = kinds;

	for (; kind < kinds + RTE_DIM(kinds); kind++) {
		if (kind->layer == layer && (rule->present & rule->present_mask & kind->has) != 0)
			return kind;
	}
	return NULL;
}

/* A layer is one kind of header, and what is asked of it is part of it. */
static int
check_headers(const struct flow_rule *rule, struct err *err)
{
	for (unsigned layer = 0; layer < LAYER_COUNT; layer++) {
		const struct kind *kind = kind_at(rule, layer);
		unsigned from = layer_begin[layer] + (kind != NULL ? kind->size : 0);

		for (unsigned k = 0; k < RTE_DIM(kinds); k++) {
			if (kinds[k].layer == layer && &kinds[k] != kind &&
			    (rule->present & rule->present_mask & kinds[k].has) != 0)
				return err_set(err, EINVAL, "two headers in the same place");
		}
		for (unsigned at = from; at < layer_begin[layer + 1]; at++) {
			if (header_bytes(&rule->mask)[at] != 0)
				return err_set(err, EINVAL,
					       "a field of a header that the rule does not name");
		}
	}
	return 0;
}

/* --- ranges -------------------------------------------------------------------------- */

/* The bits of the mask, one after the other, as a number: compares as the field does. */
static uint128
gather(const uint8_t *bytes, const uint8_t *mask, unsigned size, unsigned *bits)
{
	uint128 number = 0;

	*bits = 0;
	for (unsigned i = 0; i < size * 8; i++) {
		unsigned bit = 7 - i % 8;

		if ((mask[i / 8] >> bit & 1) == 0)
			continue;
		number = number << 1 | (bytes[i / 8] >> bit & 1);
		++*bits;
	}
	return number;
}

/* The reverse. */
static void
scatter(uint128 number, const uint8_t *mask, unsigned size, uint8_t *bytes)
{
	memset(bytes, 0, 16);
	for (unsigned i = size * 8; i-- > 0;) {
		unsigned bit = 7 - i % 8;

		if ((mask[i / 8] >> bit & 1) == 0)
			continue;
		bytes[i / 8] |= (uint8_t)((number & 1) << bit);
		number >>= 1;
	}
}

/* The lowest `bits` bits. */
static uint128
ones(unsigned bits)
{
	return bits == 0 ? 0 : ~(uint128)0 >> (128 - bits);
}

/* Bits of the field are to be as in value: make them part of the rule's mask. */
static void
demand(struct flow_rule *rule, unsigned offset, unsigned size, const uint8_t *value,
       const uint8_t *mask)
{
	uint8_t *rule_value = (uint8_t *)&rule->value, *rule_mask = (uint8_t *)&rule->mask;

	for (unsigned i = 0; i < size; i++) {
		rule_value[offset + i] |= value[i] & mask[i];
		rule_mask[offset + i] |= mask[i];
	}
}

static int
check_range(const struct flow_rule *rule, const struct flow_range *range, struct err *err)
{
	const uint8_t *rule_mask = header_bytes(&rule->mask);
	unsigned layer = 0;
	const struct kind *kind;

	if (range->size < 1 || range->size > 16 || range->offset >= sizeof(rule->mask))
		return err_set(err, EINVAL, "a range that is no field of a header");
	while (range->offset >= layer_begin[layer + 1])
		layer++;
	kind = kind_at(rule, layer);
	if (kind == NULL || range->offset + range->size > layer_begin[layer] + kind->size)
		return err_set(err, EINVAL, "a range in a header that the rule does not name");
	for (unsigned i = 0; i < range->size; i++) {
		if ((range->mask[i] & rule_mask[range->offset + i]) != 0)
			return err_set(err, EINVAL, "a field with both a value and a range");
	}
	return 0;
}

/*
 * What low and high have in common is no range: it joins the mask. *left: something is left that
 * is not all there can be.
 */
static int
reduce_range(struct flow_rule *rule, struct flow_range *range, bool *left, struct err *err)
{
	unsigned bits, differ = 0;
	uint128 low, high, low_rest, high_rest;
	uint8_t value[16], mask[16];
	int rc = check_range(rule, range, err);

	if (rc != 0)
		return rc;
	low = gather(range->low, range->mask, range->size, &bits);
	high = gather(range->high, range->mask, range->size, &bits);
	if (low > high)
		return err_set(err, EINVAL, "a range that ends before it begins");
	while (low >> differ != high >> differ)
		if (++differ == 128)
			break;
	low_rest = low & ones(differ);
	high_rest = high & ones(differ);
	scatter(ones(bits) & ~ones(differ), range->mask, range->size, mask);
	scatter(low, range->mask, range->size, value);
	demand(rule, range->offset, range->size, value, mask);
	for (unsigned i = 0; i < range->size; i++)
		range->mask[i] &= (uint8_t)~mask[i];
	scatter(low_rest, range->mask, range->size, range->low);
	scatter(high_rest, range->mask, range->size, range->high);
	*left = low_rest != 0 || high_rest != ones(differ);
	return 0;
}

static int
reduce_ranges(struct flow_rule *rule, struct err *err)
{
	unsigned left = 0;
	bool keep = false;
	int rc;

	if (rule->ranges > FLOW_RANGES_MAX)
		return err_set(err, EINVAL, "more than %u ranges", FLOW_RANGES_MAX);
	for (unsigned r = 0; r < rule->ranges; r++) {
		rc = reduce_range(rule, &rule->range[r], &keep, err);
		if (rc != 0)
			return rc;
		if (keep)
			rule->range[left++] = rule->range[r];
	}
	rule->ranges = left;
	return 0;
}

/* Prefixes that make up low to high: how many; written down if cut is not NULL. */
static unsigned
cut_range(const struct flow_range *range, struct cut *cut)
{
	unsigned bits, n = 0;
	uint128 low = gather(range->low, range->mask, range->size, &bits);
	uint128 high = gather(range->high, range->mask, range->size, &bits);

	for (;;) {
		unsigned free_bits = 0; /* of the largest block that begins at low */

		while (free_bits < bits && (low & ones(free_bits + 1)) == 0 &&
		       high - low >= ones(free_bits + 1))
			free_bits++;
		if (n == PIECES_MAX)
			return n + 1;
		if (cut != NULL) {
			scatter(low, range->mask, range->size, cut->piece[n].value);
			scatter(ones(bits) & ~ones(free_bits), range->mask, range->size,
				cut->piece[n].mask);
		}
		n++;
		if (high - low == ones(free_bits))
			return n;
		low += ones(free_bits) + 1;
	}
}

void
rule_cut(const struct compiled *compiled, struct cut *cut)
{
	const struct flow_rule *rule = &compiled->rule;
	unsigned fewest = PIECES_MAX + 1;

	cut->pieces = 0;
	for (unsigned r = 0; r < rule->ranges; r++) {
		unsigned n = cut_range(&rule->range[r], NULL);

		if (n < fewest) {
			fewest = n;
			cut->range = r;
		}
	}
	if (fewest <= PIECES_MAX)
		cut->pieces = cut_range(&rule->range[cut->range], cut);
}

/* --- words --------------------------------------------------------------------------- */

/* The bytes of `headers` that word `offset` of the layer covers, but for those taken; others zero.
 */
static uint64_t
word_at(const struct flow_headers *headers, const struct kind *kind, int offset, uint64_t taken)
{
	uint8_t bytes[8] = {0};
	uint64_t word;

	for (int i = 0; i < 8; i++) {
		int at = offset + i;

		if (at >= 0 && at < kind->size && (taken >> at & 1) == 0)
			bytes[i] = header_bytes(headers)[layer_begin[kind->layer] + at];
	}
	memcpy(&word, bytes, sizeof(word));
	return word;
}

static void
add_words(const struct flow_rule *rule, const struct kind *kind, struct compiled *c)
{
	uint64_t taken = 0;

	for (unsigned w = 0; w < kind->words; w++) {
		int offset = kind->offset[w];
		uint64_t mask = word_at(&rule->mask, kind, offset, taken);
		struct shape_word *word = &c->shape.word[c->shape.words];

		if (mask != 0) {
			word->layer = kind->layer;
			word->offset = (int8_t)offset;
			word->mask = mask;
			c->value[c->shape.words++] =
				word_at(&rule->value, kind, offset, taken) & mask;
		}
		for (int at = RTE_MAX(offset, 0); at < offset + 8; at++)
			taken |= UINT64_C(1) << at;
	}
}

static void
add_tests(struct compiled *c)
{
	for (unsigned r = 0; r < c->rule.ranges; r++) {
		const struct flow_range *range = &c->rule.range[r];
		struct range_test *test = &c->range[c->ranges++];
		unsigned layer = 0;

		while (range->offset >= layer_begin[layer + 1])
			layer++;
		test->layer = (uint8_t)layer;
		test->offset = (int8_t)(range->offset - layer_begin[layer]);
		test->size = range->size;
		memcpy(test->mask, range->mask, sizeof(test->mask));
		memcpy(test->low, range->low, sizeof(test->low));
		memcpy(test->high, range->high, sizeof(test->high));
	}
}

/* Words and tests of c->rule, which has been checked. */
static void
compile(struct compiled *c)
{
	memset(&c->shape, 0, sizeof(c->shape));
	c->ranges = 0;
	c->shape.present = c->rule.present;
	c->shape.present_mask = c->rule.present_mask;
	for (unsigned layer = 0; layer < LAYER_COUNT; layer++) {
		const struct kind *kind = kind_at(&c->rule, layer);

		if (kind != NULL)
			add_words(&c->rule, kind, c);
	}
	add_tests(c);
}

int
rule_compile(const struct flow_rule *rule, struct compiled *c, struct err *err)
{
	uint8_t *value = (uint8_t *)&c->rule.value, *mask = (uint8_t *)&c->rule.mask;
	int rc = check_headers(rule, err);

	if (rc != 0)
		return rc;
	c->rule = *rule;
	c->rule.present &= rule->present_mask;
	for (unsigned i = 0; i < sizeof(c->rule.value); i++)
		value[i] &= mask[i];
	rc = reduce_ranges(&c->rule, err);
	if (rc == 0)
		compile(c);
	return rc;
}

void
rule_piece(const struct compiled *whole, const struct cut *cut, unsigned index,
	   struct compiled *piece)
{
	struct flow_rule *rule = &piece->rule;
	const struct flow_range *range = &whole->rule.range[cut->range];

	*rule = whole->rule;
	demand(rule, range->offset, range->size, cut->piece[index].value, cut->piece[index].mask);
	rule->ranges--;
	memmove(&rule->range[cut->range], &rule->range[cut->range + 1],
		(rule->ranges - cut->range) * sizeof(rule->range[0]));
	compile(piece);
}
