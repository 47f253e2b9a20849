/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FLOW_INTERNAL_H
#define FLOW_INTERNAL_H

/** @file The tables of items and fields, from which words are read, written and completed. */

#include "flow.h"

/** Where in a packet an item can stand; in this order. */
enum layer {
	LAYER_ETH,
	LAYER_VLAN,
	LAYER_IP,
	LAYER_L4,
};

enum field_kind {
	FIELD_NUMBER,
	FIELD_MAC,
	FIELD_IP4,
	FIELD_IP6,
	FIELD_FLAG, /**< a header that must follow, or must not: no bits of this one */
};

/** A field of an item: some bits of `size` bytes at `offset` in the item's header. */
struct field {
	const char *name;
	enum field_kind kind;
	uint8_t offset, size;
	/** Which bits of those bytes, read as one number; 0: all. */
	uint32_t bits;
	/** It covers others: written only if all of its bits are compared. */
	bool covers;
	uint32_t has; /**< FIELD_FLAG: FLOW_HAS_* of the header it is about */
};

#define FIELDS_MAX 9

struct item {
	const char *name;
	enum layer layer;
	uint32_t has; /**< FLOW_HAS_*; of an inner header, shifted by FLOW_INNER */
	uint8_t size; /**< bytes of the header that the rule has room for */
	enum rte_flow_item_type type;
	struct field fields[FIELDS_MAX + 1]; /**< the last has no name */
};

extern const struct item flow_items[];
extern const unsigned flow_items_count;

/** An item where it stands in a rule. */
struct item_place {
	const struct item *item;
	uint32_t has;	 /**< its FLOW_HAS_* bit there */
	uint16_t offset; /**< of its header in struct flow_headers */
};

#define ITEM_FOREACH(i)	    for ((i) = flow_items; (i) < flow_items + flow_items_count; (i)++)
#define FIELD_FOREACH(f, i) for ((f) = (i)->fields; (f)->name != NULL; (f)++)

/** The item at `depth`: the n-th tag, or the n-th IP header and what is in it. */
struct item_place item_place(const struct item *item, unsigned depth);
/** The items of a rule, in order; how many. */
unsigned items_of(const struct flow_rule *rule, struct item_place places[FLOW_ITEMS_MAX]);

/** The bits of a field, as the bytes that lie at its offset. */
void field_mask(const struct field *field, uint8_t bytes[16]);
/** The lowest of its bits, counted from the end of its bytes. */
unsigned field_shift(const struct field *field);

/** The protocol number that announces this item in an IP header; 0: none does. */
uint8_t item_protocol(const struct item *item);
/** The EtherType that announces it; 0: none does. */
uint16_t item_ethertype(const struct item *item);

/** The items read so far; NULL: none of the layer. */
struct stack {
	const struct item *eth, *vlan[2], *ip[2], *l4;
	unsigned vlans, ips;
	const char *top; /* name of the last item */
};

/** Can a packet have all of this? The sentence in call->err says why not. */
int check_pattern(const struct call *call, const struct flow_rule *rule, const struct stack *s);

int parse_pattern(struct call *call, struct flow_rule *rule);
int parse_actions(struct call *call, struct flow_line *line);

/** Take the value behind `what` as a number: "queue index: '9x' is not a number from 0 to 65535".
 */
int parse_number(struct call *call, const char *what, uint64_t max, uint64_t *value);

/** The range the rule has for these bits of a field, or NULL. */
const struct flow_range *range_of(const struct flow_rule *rule, uint16_t offset, uint8_t size,
				  const uint8_t *mask);

#endif
