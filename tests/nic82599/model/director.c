/* SPDX-License-Identifier: BSD-3-Clause */
#include "director.h"

#include <stdlib.h>

/* --- the table ----------------------------------------------------------------------- */

static bool
is_perfect(const struct nic *nic)
{
	return (reg_get(nic, R_FDIRCTRL) & FDIRCTRL_PERFECT) != 0;
}

/** 1K, 2K, 4K or more rules by FDIRCTRL.PBALLOC; four times as many signatures. */
static unsigned
size_bits(const struct nic *nic)
{
	return (is_perfect(nic) ? 10 : 12) + (reg_get(nic, R_FDIRCTRL) & FDIRCTRL_PBALLOC);
}

unsigned
director_free(const struct nic *nic)
{
	return (1u << size_bits(nic)) - 2 - nic->director.count;
}

void
director_flush(struct nic *nic)
{
	struct director_rule *rule;

	while ((rule = nic->director.rules) != NULL) {
		nic->director.rules = rule->next;
		free(rule);
	}
	nic->director.count = 0;
}

/** The link that points to the rule with this hash, or to the end. */
static struct director_rule **
find(struct nic *nic, uint32_t hash)
{
	/* Bucket and signature (or, in perfect mode, the driver's number); bit 15 is a flag. */
	const uint32_t compared = 0x7fff7fff;
	struct director_rule **link = &nic->director.rules;

	while (*link != NULL && (((*link)->hash ^ hash) & compared) != 0)
		link = &(*link)->next;
	return link;
}

static struct director_rule **
end_of(struct nic *nic)
{
	struct director_rule **link = &nic->director.rules;

	while (*link != NULL)
		link = &(*link)->next;
	return link;
}

static void
count(struct nic *nic, uint32_t address, uint32_t value)
{
	reg_set(nic, address, reg_get(nic, address) + value);
}

static void
add(struct nic *nic, uint32_t hash, uint32_t command)
{
	struct director_rule **link = end_of(nic), *rule;

	if ((command & FDIRCMD_UPDATE) != 0)
		link = find(nic, hash);
	rule = *link;
	if (rule == NULL) {
		if (director_free(nic) == 0) {
			count(nic, R_FDIRFSTAT, 1);
			return;
		}
		rule = calloc(1, sizeof(*rule));
		if (rule == NULL)
			return;
		*link = rule;
		nic->director.count++;
	}
	rule->source = reg_get(nic, R_FDIRSIPV4);
	rule->destination = reg_get(nic, R_FDIRIPDA);
	rule->ports = reg_get(nic, R_FDIRPORT);
	rule->vlan = reg_get(nic, R_FDIRVLAN);
	rule->hash = hash;
	rule->command = command;
	count(nic, R_FDIRUSTAT, 1);
}

static void
remove_rule(struct nic *nic, uint32_t hash)
{
	struct director_rule **link = find(nic, hash), *rule = *link;

	if (rule == NULL) {
		count(nic, R_FDIRFSTAT, 1u << 16);
		return;
	}
	*link = rule->next;
	free(rule);
	nic->director.count--;
	count(nic, R_FDIRUSTAT, 1u << 16);
}

uint32_t
director_command(struct nic *nic, uint32_t command)
{
	uint32_t hash = reg_get(nic, R_FDIRHASH), answer = command & ~FDIRCMD_CMD;

	if ((command & FDIRCMD_CLEARHT) != 0)
		director_flush(nic);
	switch (command & FDIRCMD_CMD) {
	case FDIRCMD_ADD:
		add(nic, hash, command);
		break;
	case FDIRCMD_REMOVE:
		remove_rule(nic, hash);
		break;
	case FDIRCMD_QUERY:
		answer &= ~FDIRCMD_VALID;
		if (*find(nic, hash) != NULL)
			answer |= FDIRCMD_VALID;
		break;
	}
	return answer;
}

/* --- masks ---------------------------------------------------------------------------- */

/** What of a packet is looked at; a set bit is compared. Port masks in host order. */
struct masks {
	uint32_t source, destination;	/**< IPv4, as loaded from the packet */
	uint16_t source6, destination6; /**< IPv6, a bit for each byte */
	uint16_t source_port, destination_port, vlan;
	bool flexible, protocol;
};

/** FDIRTCPM and its like hold the bits of each port in reverse order (8.2.3.21). */
static uint16_t
reversed(uint16_t value)
{
	uint16_t result = 0;
	unsigned i;

	for (i = 0; i < 16; i++)
		if ((value & 1u << i) != 0)
			result |= (uint16_t)(0x8000u >> i);
	return result;
}

static void
read_masks(const struct nic *nic, enum frame_l4 l4, struct masks *m)
{
	uint32_t fdirm = reg_get(nic, R_FDIRM), ip6 = ~reg_get(nic, R_FDIRIP6M), ports;

	/* Set bits in the registers leave the field out. */
	ports = ~reg_get(nic, l4 == L4_UDP ? R_FDIRUDPM : l4 == L4_SCTP ? R_FDIRSCTPM : R_FDIRTCPM);
	m->source = ~reg_get(nic, R_FDIRSIP4M);
	m->destination = ~reg_get(nic, R_FDIRDIP4M);
	m->source6 = (uint16_t)ip6;
	m->destination6 = (uint16_t)(ip6 >> 16);
	m->source_port = reversed((uint16_t)ports);
	m->destination_port = reversed((uint16_t)(ports >> 16));
	m->vlan = (fdirm & FDIRM_VLANID) != 0 ? 0 : 0x0fff;
	m->vlan |= (fdirm & FDIRM_VLANP) != 0 ? 0 : 0xe000;
	m->flexible = (fdirm & FDIRM_FLEX) == 0;
	m->protocol = (fdirm & FDIRM_L4P) == 0;
}

/* --- hash ------------------------------------------------------------------------------- */

uint32_t
director_hash(const uint32_t words[14], uint32_t key)
{
	uint32_t flow = __builtin_bswap32(words[0]), folded = 0, high, low, hash = 0;
	unsigned i;

	for (i = 1; i < 14; i++)
		folded ^= words[i];
	high = __builtin_bswap32(folded);
	low = high >> 16 | high << 16;
	high ^= flow ^ flow >> 16;
	/* The lowest bit of the key sees the words without the VLAN tag; its other bits with. */
	if ((key & 1) != 0)
		hash ^= low;
	if ((key & 1u << 16) != 0)
		hash ^= high;
	low ^= flow ^ flow << 16;
	for (i = 1; i < 16; i++) {
		if ((key & 1u << i) != 0)
			hash ^= low >> i;
		if ((key & 1u << (16 + i)) != 0)
			hash ^= high >> i;
	}
	return hash;
}

/** Two bytes from where FDIRCTRL.FLEX_OFFSET says, as loaded from the packet. */
static uint16_t
flexible_bytes(const struct nic *nic, const struct frame *f)
{
	uint32_t at = (reg_get(nic, R_FDIRCTRL) >> 16 & 0x1f) * 2;

	return at + 2 <= f->length ? load16(f->data + at) : 0;
}

/** The words of a packet in the driver's order: pool, flow type and VLAN; destination and source
 * address; ports; flexible bytes. */
static void
hash_words(const struct nic *nic, const struct frame *f, const struct masks *m, enum frame_l4 l4,
	   uint32_t words[14])
{
	uint8_t *bytes = (uint8_t *)words;
	uint32_t masked;
	uint16_t flexible;
	unsigned i;

	memset(words, 0, 14 * sizeof(*words));
	bytes[1] = (uint8_t)((f->version == 6 ? 4u : 0u) | l4);
	if (f->tagged)
		store16_be(bytes + 2, f->tag & m->vlan);
	if (f->version == 4) {
		masked = load32(f->destination) & m->destination;
		memcpy(bytes + 4, &masked, 4);
		masked = load32(f->source) & m->source;
		memcpy(bytes + 20, &masked, 4);
	} else {
		for (i = 0; i < 16; i++) {
			bytes[4 + i] = (m->destination6 >> i & 1) != 0 ? f->destination[i] : 0;
			bytes[20 + i] = (m->source6 >> i & 1) != 0 ? f->source[i] : 0;
		}
	}
	if (f->l4_type != L4_NONE) {
		store16_be(bytes + 48, f->source_port & m->source_port);
		store16_be(bytes + 50, f->destination_port & m->destination_port);
	}
	if (m->flexible) {
		flexible = flexible_bytes(nic, f);
		memcpy(bytes + 52, &flexible, 2);
	}
}

/** What FDIRHASH would be for this packet. */
static uint32_t
packet_hash(const struct nic *nic, const struct frame *f, const struct masks *m, enum frame_l4 l4)
{
	uint32_t words[14], bucket;

	hash_words(nic, f, m, l4, words);
	bucket = director_hash(words, reg_get(nic, R_FDIRHKEY)) & ((1u << size_bits(nic)) - 1);
	if (is_perfect(nic))
		return bucket;
	return bucket | director_hash(words, reg_get(nic, R_FDIRSKEY)) << 16;
}

/* --- matching ------------------------------------------------------------------------------ */

static bool
fields_match(const struct nic *nic, const struct director_rule *rule, const struct frame *f,
	     const struct masks *m)
{
	if (((rule->source ^ load32(f->source)) & m->source) != 0 ||
	    ((rule->destination ^ load32(f->destination)) & m->destination) != 0)
		return false;
	if (m->protocol && (rule->command >> 5 & 3) != f->l4_type)
		return false;
	if (f->l4_type != L4_NONE &&
	    (((rule->ports ^ f->source_port) & m->source_port) != 0 ||
	     ((rule->ports >> 16 ^ f->destination_port) & m->destination_port) != 0))
		return false;
	if (((rule->vlan ^ (f->tagged ? f->tag : 0u)) & m->vlan) != 0)
		return false;
	return !m->flexible || rule->vlan >> 16 == flexible_bytes(nic, f);
}

const struct director_rule *
director_match(const struct nic *nic, const struct frame *f)
{
	bool perfect = is_perfect(nic);
	const struct director_rule *rule;
	uint32_t compared, typed, untyped;
	struct masks m;

	if (nic->director.rules == NULL || f->version == 0 || (perfect && f->version != 4))
		return NULL;
	read_masks(nic, f->l4_type, &m);
	compared = ((1u << size_bits(nic)) - 1) | (perfect ? 0 : 0xffff0000u);
	/* With the protocol masked out, rules are hashed with or without one. */
	typed = packet_hash(nic, f, &m, f->l4_type);
	untyped = m.protocol ? typed : packet_hash(nic, f, &m, L4_NONE);
	for (rule = nic->director.rules; rule != NULL; rule = rule->next) {
		if (((rule->hash ^ typed) & compared) != 0 &&
		    ((rule->hash ^ untyped) & compared) != 0)
			continue;
		if (!perfect || fields_match(nic, rule, f, &m))
			return rule;
	}
	return NULL;
}

unsigned
director_queue(const struct nic *nic, const struct director_rule *rule)
{
	if ((rule->command & FDIRCMD_DROP) != 0)
		return reg_get(nic, R_FDIRCTRL) >> 8 & 0x7f;
	return rule->command >> 16 & 0x7f;
}
