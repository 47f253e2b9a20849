/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a rule back to the words it can be made of, and the words that completion offers.
 */
#include <stdio.h>

#include "internal.h"

/* --- fields ------------------------------------------------------------------------- */

/* Some of a field's bits, as its kind is written. */
static void
value_text(struct out *out, const struct field *f, const uint8_t *bytes)
{
	struct ip_addr addr = {.family = f->kind == FIELD_IP4 ? AF_INET : AF_INET6};
	char text[IP_ADDR_TEXT];
	uint64_t number = 0;

	switch (f->kind) {
	case FIELD_MAC:
		out_text(out, "%s", mac_format(bytes, text));
		return;
	case FIELD_IP4:
	case FIELD_IP6:
		memcpy(addr.bytes, bytes, f->size);
		out_text(out, "%s", ip_addr_format(&addr, text));
		return;
	case FIELD_NUMBER:
	case FIELD_FLAG:
		break;
	}
	for (unsigned i = 0; i < f->size; i++)
		number = number << 8 | bytes[i];
	number >>= field_shift(f);
	/* EtherTypes, flags and masks are read in hexadecimal. */
	out_text(out, strstr(f->name, "type") != NULL && f->size == 2 ? "0x%04lx" : "%lu", number);
}

static void
mask_text(struct out *out, const struct field *f, const uint8_t *bytes)
{
	uint64_t number = 0;

	if (f->kind != FIELD_NUMBER) {
		value_text(out, f, bytes);
		return;
	}
	for (unsigned i = 0; i < f->size; i++)
		number = number << 8 | bytes[i];
	out_text(out, "0x%lx", number >> field_shift(f));
}

/* The length of the prefix an address's mask is, or -1. */
static int
prefix_length(const struct field *f, const uint8_t *mask)
{
	int length = 0;
	bool ended = false;

	if (f->kind != FIELD_IP4 && f->kind != FIELD_IP6)
		return -1;
	for (int bit = 0; bit < 8 * f->size; bit++) {
		bool set = (mask[bit / 8] & 0x80 >> bit % 8) != 0;

		if (set && ended)
			return -1;
		ended |= !set;
		length += set;
	}
	return length;
}

/* Bits of the field that are compared and that no field before has written; 0: none. */
static bool
bits_left(const struct field *f, const uint8_t *mask, const uint8_t *written, uint8_t bits[16])
{
	uint8_t all[16];
	bool any = false, whole = true;

	field_mask(f, all);
	memset(bits, 0, 16);
	for (unsigned i = 0; i < f->size; i++) {
		bits[i] = (uint8_t)(mask[i] & all[i] & ~written[i]);
		any |= bits[i] != 0;
		whole &= bits[i] == all[i];
	}
	return any && (whole || !f->covers);
}

static void
spec_text(struct out *out, const struct field *f, const uint8_t *value, const uint8_t *bits)
{
	int length = prefix_length(f, bits);
	uint8_t all[16], masked[16];

	field_mask(f, all);
	for (unsigned i = 0; i < f->size; i++)
		masked[i] = value[i] & bits[i];
	if (memcmp(all, bits, f->size) == 0) {
		out_text(out, " %s is ", f->name);
		value_text(out, f, masked);
		return;
	}
	out_text(out, " %s spec ", f->name);
	value_text(out, f, masked);
	if (length >= 0) {
		out_text(out, " %s prefix %d", f->name, length);
		return;
	}
	out_text(out, " %s mask ", f->name);
	mask_text(out, f, bits);
}

static void
range_text(struct out *out, const struct field *f, const struct flow_range *range)
{
	uint8_t all[16];

	field_mask(f, all);
	out_text(out, " %s spec ", f->name);
	value_text(out, f, range->low);
	out_text(out, " %s last ", f->name);
	value_text(out, f, range->high);
	if (memcmp(all, range->mask, f->size) != 0) {
		out_text(out, " %s mask ", f->name);
		mask_text(out, f, range->mask);
	}
}

/* Is it a range of this field, and of none that covers less and would do? */
static bool
range_is_of(const struct flow_range *range, const struct field *f, const struct item_place *place)
{
	const struct field *other;
	uint8_t all[16];

	if (f->kind == FIELD_FLAG || range->offset != place->offset + f->offset ||
	    range->size != f->size)
		return false;
	field_mask(f, all);
	for (unsigned i = 0; i < f->size; i++) {
		if ((range->mask[i] & ~all[i]) != 0)
			return false;
	}
	if (!f->covers)
		return true;
	FIELD_FOREACH(other, place->item) {
		if (other != f && range_is_of(range, other, place))
			return false;
	}
	return true;
}

static void
flag_text(struct out *out, const struct flow_rule *rule, const struct field *f,
	  const struct item_place *place)
{
	bool inner = place->offset == offsetof(struct flow_headers, inner_ip);
	uint32_t has = inner ? f->has << FLOW_INNER : f->has;

	/* A tag that must be there is an item of its own. */
	if ((rule->present_mask & has) == 0 || place->has == FLOW_HAS_VLAN2)
		return;
	if (f->has == FLOW_HAS_FRAGMENT6 || (rule->present & has) == 0)
		out_text(out, " %s is %u", f->name, (rule->present & has) != 0);
}

static void
item_text(struct out *out, const struct flow_rule *rule, const struct item_place *place)
{
	const struct field *f;
	uint8_t written[64] = {0}, bits[16];

	out_text(out, "%s", place->item->name);
	FIELD_FOREACH(f, place->item) {
		uint16_t offset = (uint16_t)(place->offset + f->offset);

		if (f->kind == FIELD_FLAG) {
			flag_text(out, rule, f, place);
			continue;
		}
		if (bits_left(f, (const uint8_t *)&rule->mask + offset, written + f->offset,
			      bits)) {
			spec_text(out, f, (const uint8_t *)&rule->value + offset, bits);
			for (unsigned i = 0; i < f->size; i++)
				written[f->offset + i] |= bits[i];
		}
		for (unsigned i = 0; i < rule->ranges; i++) {
			if (range_is_of(&rule->range[i], f, place))
				range_text(out, f, &rule->range[i]);
		}
	}
	out_text(out, " / ");
}

void
flow_pattern_text(struct out *out, const struct flow_rule *rule)
{
	struct item_place places[FLOW_ITEMS_MAX];
	unsigned n = items_of(rule, places);

	for (unsigned i = 0; i < n; i++)
		item_text(out, rule, &places[i]);
	out_text(out, "end");
}

/* --- actions and the whole line ------------------------------------------------------- */

void
flow_actions_text(struct out *out, const struct flow_line *line)
{
	const struct flow_rule *rule = &line->rule;

	if (line->count)
		out_text(out, "count / ");
	if (rule->mark)
		out_text(out, "mark id %u / ", rule->mark_id);
	switch (rule->fate) {
	case FLOW_PASSTHRU:
		if (!line->count && !rule->mark)
			out_text(out, "passthru / ");
		break;
	case FLOW_ACCEPT:
		out_text(out, "accept / ");
		break;
	case FLOW_DROP:
		out_text(out, "drop / ");
		break;
	case FLOW_QUEUE:
		out_text(out, "queue index %u / ", rule->target);
		break;
	case FLOW_LCORE:
		out_text(out, "lcore id %u / ", rule->target);
		break;
	case FLOW_PORT:
		out_text(out, "represented_port ethdev_port_id %u / ", rule->target);
		break;
	case FLOW_JUMP:
		out_text(out, "jump group %u / ", rule->target);
		break;
	}
	out_text(out, "end");
}

void
flow_line_text(struct out *out, const struct flow_line *line)
{
	static const char *const placements[] = {
		[FLOW_ANYWHERE] = "", [FLOW_SKIP_HW] = "skip_hw ", [FLOW_SKIP_SW] = "skip_sw "};

	if (line->rule.priority != 0)
		out_text(out, "priority %u ", line->rule.priority);
	if (line->rule.group != 0)
		out_text(out, "group %u ", line->rule.group);
	if (line->ingress)
		out_text(out, "ingress ");
	if (line->transfer)
		out_text(out, "transfer ");
	out_text(out, "%spattern ", placements[line->placement]);
	flow_pattern_text(out, &line->rule);
	out_text(out, " actions ");
	flow_actions_text(out, line);
}
