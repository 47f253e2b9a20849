/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `pattern ITEM / ITEM / ... / end`: from words to the headers of a rule.
 */
#include <errno.h>
#include <stdio.h>

#include "internal.h"

/* What has been said of one field. */
struct said {
	bool spec, mask, last, exact;
	uint8_t spec_bytes[16], mask_bytes[16], last_bytes[16];
};

/* An item being read. */
struct reading {
	struct call *call;
	struct flow_rule *rule;
	struct item_place place;
	struct said said[FIELDS_MAX];
};

static const char *const operators[] = {"is", "spec", "last", "mask", "prefix"};

static int
fail(const struct reading *r, const struct field *f, const char *reason)
{
	return err_set(r->call->err, EINVAL, "%s %s: %s", r->place.item->name, f->name, reason);
}

/* --- values ------------------------------------------------------------------------ */

static uint64_t
largest(const struct field *f)
{
	if (f->kind == FIELD_FLAG)
		return 1;
	return f->bits != 0 ? f->bits >> field_shift(f) : UINT64_MAX >> (64 - 8 * f->size);
}

/* A number as it lies in the field's bytes. */
static void
put_number(const struct field *f, uint64_t number, uint8_t bytes[16])
{
	number <<= field_shift(f);
	for (unsigned i = 0; i < f->size; i++)
		bytes[i] = (uint8_t)(number >> 8 * (f->size - 1u - i));
}

static int
put_value(const struct reading *r, const struct field *f, const char *word, uint8_t bytes[16])
{
	struct ip_addr addr;
	uint64_t number;

	memset(bytes, 0, 16);
	switch (f->kind) {
	case FIELD_MAC:
		if (mac_parse(word, bytes) == 0)
			return 0;
		return err_set(r->call->err, EINVAL, "%s %s: '%.40s' is not a MAC address",
			       r->place.item->name, f->name, word);
	case FIELD_IP4:
	case FIELD_IP6:
		if (ip_addr_parse(word, f->kind == FIELD_IP4 ? AF_INET : AF_INET6, &addr) == 0) {
			memcpy(bytes, addr.bytes, f->size);
			return 0;
		}
		return err_set(r->call->err, EINVAL, "%s %s: '%.60s' is not an IPv%c address",
			       r->place.item->name, f->name, word,
			       f->kind == FIELD_IP4 ? '4' : '6');
	case FIELD_NUMBER:
	case FIELD_FLAG:
		break;
	}
	if (number_parse(word, 0, largest(f), &number) < 0)
		return err_set(r->call->err, EINVAL, "%s %s: '%.40s' is not a number from 0 to %lu",
			       r->place.item->name, f->name, word, largest(f));
	put_number(f, number, bytes);
	return 0;
}

static unsigned
field_width(const struct field *f)
{
	return f->bits != 0 ? (unsigned)__builtin_popcount(f->bits) : 8u * f->size;
}

/* The first `length` bits of the field. */
static void
put_prefix(const struct field *f, unsigned length, uint8_t bytes[16])
{
	unsigned start = 8u * f->size - field_shift(f) - field_width(f);

	memset(bytes, 0, 16);
	for (unsigned bit = start; bit < start + length; bit++)
		bytes[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
}

/* "24", or for addresses "10.1.2.0/24" as well, which is spec and prefix at once. */
static int
take_prefix(const struct reading *r, const struct field *f, const char *word, struct said *said)
{
	const char *slash = strchr(word, '/'), *number = word;
	char addr[64];
	uint64_t length;

	if (slash != NULL && (f->kind == FIELD_IP4 || f->kind == FIELD_IP6) && !said->spec) {
		snprintf(addr, sizeof(addr), "%.*s", (int)(slash - word), word);
		if (put_value(r, f, addr, said->spec_bytes) < 0)
			return -EINVAL;
		said->spec = true;
		number = slash + 1;
	}
	if (number_parse(number, 0, field_width(f), &length) < 0)
		return err_set(r->call->err, EINVAL, "%s %s: prefix '%.60s' is not 0 to %u bits",
			       r->place.item->name, f->name, word, field_width(f));
	put_prefix(f, (unsigned)length, said->mask_bytes);
	said->mask = true;
	return 0;
}

/* --- words of an item ---------------------------------------------------------------- */

static const char *
operator_named(const char *word)
{
	for (unsigned i = 0; i < RTE_DIM(operators); i++) {
		if (word != NULL && strcmp(word, operators[i]) == 0)
			return operators[i];
	}
	return NULL;
}

/* Has this been said before, or something that means the same? */
static bool
said_already(const struct said *said, const char *operator)
{
	switch (operator[0]) {
	case 'i':
		return said->spec || said->mask || said->last;
	case 's':
		return said->spec;
	case 'l':
		return said->last || said->exact;
	default:
		return said->mask;
	}
}

static int
take_operator(const struct reading *r, const struct field *f, struct said *said)
{
	const char *word = call_next(r->call), *operator= operator_named(word);
	const char *value;

	if (operator== NULL)
		return err_set(r->call->err, EINVAL,
			       "%s %s: '%.40s' where is, spec, last, mask or prefix must stand",
			       r->place.item->name, f->name, word != NULL ? word : "");
	value = call_next(r->call);
	if (value == NULL)
		return err_set(r->call->err, EINVAL, "%s %s %s: a value is missing",
			       r->place.item->name, f->name, operator);
	if (said_already(said, operator))
		return err_set(r->call->err, EINVAL, "%s %s: %s contradicts what was said before",
			       r->place.item->name, f->name, operator);
	switch (operator[0]) {
	case 'p':
		return take_prefix(r, f, value, said);
	case 'm':
		said->mask = true;
		return put_value(r, f, value, said->mask_bytes);
	case 'l':
		said->last = true;
		return put_value(r, f, value, said->last_bytes);
	case 'i':
		said->exact = true;
		break;
	}
	said->spec = true;
	return put_value(r, f, value, said->spec_bytes);
}

static int
unknown_field(const struct reading *r, const char *word)
{
	const struct field *f;
	char names[128] = "";

	FIELD_FOREACH(f, r->place.item)
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s",
			 names[0] != '\0' ? ", " : "", f->name);
	return err_set(r->call->err, EINVAL,
		       "%s: no field '%.40s'; there are %s; '/' ends the item", r->place.item->name,
		       word, names);
}

static int
read_fields(struct reading *r)
{
	const struct field *f;
	const char *word;
	int rc;

	for (;;) {
		word = call_next(r->call);
		if (word == NULL)
			return err_set(r->call->err, EINVAL,
				       "pattern: '/' and end are missing after %s",
				       r->place.item->name);
		if (strcmp(word, "/") == 0)
			return 0;
		FIELD_FOREACH(f, r->place.item)
			if (strcmp(f->name, word) == 0)
				break;
		if (f->name == NULL)
			return unknown_field(r, word);
		rc = take_operator(r, f, &r->said[f - r->place.item->fields]);
		if (rc < 0)
			return rc;
	}
}

/* --- from words to bits ------------------------------------------------------------------ */

/* Is any of these bits compared already? */
static bool
is_taken(const struct flow_rule *rule, const struct field *f, uint16_t offset, const uint8_t *bits,
	 bool range_only)
{
	const uint8_t *mask = (const uint8_t *)&rule->mask + offset;

	for (unsigned i = 0; i < f->size; i++) {
		if (!range_only && (mask[i] & bits[i]) != 0)
			return true;
	}
	for (unsigned k = 0; k < rule->ranges; k++) {
		const struct flow_range *range = &rule->range[k];

		for (unsigned i = 0; range->offset == offset && i < f->size; i++) {
			if ((range->mask[i] & bits[i]) != 0)
				return true;
		}
	}
	return false;
}

static int
apply_range(struct reading *r, const struct field *f, struct said *said, uint16_t offset)
{
	struct flow_rule *rule = r->rule;
	struct flow_range *range;

	if (memcmp(said->spec_bytes, said->last_bytes, f->size) > 0)
		return fail(r, f, "last lies below spec");
	if (is_taken(rule, f, offset, said->mask_bytes, false))
		return fail(r, f, "a range of what another field of the item compares");
	if (rule->ranges == FLOW_RANGES_MAX)
		return err_set(r->call->err, EINVAL, "pattern: more than %d ranges",
			       FLOW_RANGES_MAX);
	range = &rule->range[rule->ranges++];
	*range = (struct flow_range){.offset = offset, .size = f->size};
	memcpy(range->mask, said->mask_bytes, f->size);
	memcpy(range->low, said->spec_bytes, f->size);
	memcpy(range->high, said->last_bytes, f->size);
	return 0;
}

/* Which of the field's bits are to be compared with what. */
static int
apply_field(struct reading *r, const struct field *f, struct said *said)
{
	uint16_t offset = (uint16_t)(r->place.offset + f->offset);
	uint8_t *value = (uint8_t *)&r->rule->value + offset;
	uint8_t *mask = (uint8_t *)&r->rule->mask + offset;
	bool compares = false;

	for (unsigned i = 0; i < f->size; i++) {
		said->spec_bytes[i] &= said->mask_bytes[i];
		said->last_bytes[i] &= said->mask_bytes[i];
		compares |= said->mask_bytes[i] != 0;
	}
	if (!compares)
		return 0;
	if (said->last && memcmp(said->spec_bytes, said->last_bytes, f->size) != 0)
		return apply_range(r, f, said, offset);
	if (is_taken(r->rule, f, offset, said->mask_bytes, true))
		return fail(r, f, "compares what another field of the item has a range of");
	for (unsigned i = 0; i < f->size; i++) {
		if ((mask[i] & said->mask_bytes[i] & (value[i] ^ said->spec_bytes[i])) != 0)
			return fail(r, f, "contradicts another field of the item");
		mask[i] |= said->mask_bytes[i];
		value[i] |= said->spec_bytes[i];
	}
	return 0;
}

/* Headers that follow, or do not. */
static int
apply_flag(struct reading *r, const struct field *f, const struct said *said)
{
	uint32_t has = f->has;

	if (said->last || (said->mask && said->mask_bytes[0] == 0))
		return said->last ? fail(r, f, "is 0 or 1, no range") : 0;
	if (has == FLOW_HAS_VLAN2 && r->place.has == FLOW_HAS_VLAN2)
		return fail(r, f, "more than two tags are not looked at");
	if (r->place.offset == offsetof(struct flow_headers, inner_ip))
		has <<= FLOW_INNER;
	r->rule->present_mask |= has;
	if (said->spec_bytes[0] != 0)
		r->rule->present |= has;
	return 0;
}

static int
apply_fields(struct reading *r)
{
	const struct field *f;
	int rc = 0;

	FIELD_FOREACH(f, r->place.item) {
		struct said *said = &r->said[f - r->place.item->fields];

		if (!said->spec && (said->mask || said->last))
			return fail(r, f, said->last ? "last without spec" : "mask without spec");
		if (!said->spec)
			continue;
		if (!said->mask)
			field_mask(f, said->mask_bytes);
		rc = f->kind == FIELD_FLAG ? apply_flag(r, f, said) : apply_field(r, f, said);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* --- items ---------------------------------------------------------------------------------- */

static int
misplaced(struct call *call, const struct item *item, const struct stack *s, const char *why)
{
	return err_set(call->err, EINVAL, "pattern: %s after %s: %s", item->name, s->top, why);
}

/* Can the item stand here? Its depth goes to *depth. */
static int
stack_item(struct call *call, const struct item *item, struct stack *s, unsigned *depth)
{
	*depth = 0;
	switch (item->layer) {
	case LAYER_ETH:
		if (s->top != NULL)
			return misplaced(call, item, s, "eth comes first");
		s->eth = item;
		break;
	case LAYER_VLAN:
		if (s->ips > 0 || s->l4 != NULL)
			return misplaced(call, item, s, "tags come before IP");
		if (s->vlans == 2)
			return misplaced(call, item, s, "more than two tags are not looked at");
		*depth = s->vlans;
		s->vlan[s->vlans++] = item;
		break;
	case LAYER_IP:
		if (s->l4 != NULL)
			return misplaced(call, item, s,
					 "a tunnelled header follows the outer IP header directly");
		if (s->ips == 2)
			return misplaced(call, item, s, "tunnels in tunnels are not looked at");
		*depth = s->ips;
		s->ip[s->ips++] = item;
		break;
	case LAYER_L4:
		if (s->l4 != NULL)
			return misplaced(call, item, s, "a packet has one upper layer");
		*depth = s->ips == 2 ? 1 : 0;
		s->l4 = item;
		break;
	}
	s->top = item->name;
	return 0;
}

static const struct item *
item_named(const char *word)
{
	const struct item *item;

	ITEM_FOREACH(item) {
		if (strcmp(item->name, word) == 0)
			return item;
	}
	return NULL;
}

static int
read_item(struct call *call, const struct item *item, struct flow_rule *rule, struct stack *s)
{
	struct reading r = {.call = call, .rule = rule};
	unsigned depth;
	int rc = stack_item(call, item, s, &depth);

	if (rc < 0)
		return rc;
	r.place = item_place(item, depth);
	if ((rule->present_mask & ~rule->present & r.place.has) != 0)
		return misplaced(call, item, s, "the item before says that there is none");
	rule->present |= r.place.has;
	rule->present_mask |= r.place.has;
	rc = read_fields(&r);
	return rc < 0 ? rc : apply_fields(&r);
}

/* --- all of it ------------------------------------------------------------------------------ */

int
parse_pattern(struct call *call, struct flow_rule *rule)
{
	struct stack s = {0};
	const struct item *item;
	const char *word;
	int rc;

	for (;;) {
		word = call_next(call);
		if (word == NULL)
			return err_set(call->err, EINVAL, "pattern: %s",
				       s.top == NULL ? "items and end are missing"
						     : "end is missing");
		if (strcmp(word, "end") == 0)
			return check_pattern(call, rule, &s);
		item = item_named(word);
		if (item == NULL)
			return err_set(call->err, EINVAL,
				       "pattern: no item '%.40s'; there are eth, vlan, ipv4, ipv6, "
				       "udp, tcp, sctp, icmp, icmp6, and end",
				       word);
		rc = read_item(call, item, rule, &s);
		if (rc < 0)
			return rc;
	}
}
