/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_CLASSIFY_ORACLE_H
#define TEST_CLASSIFY_ORACLE_H

/**
 * @file
 * What flow rules mean, written down as plainly as can be: headers are copied out of
 * the packet, and rules are tried one after the other, byte by byte.
 */

#include <string.h>

#include "ruleset.h"

/* --- headers ------------------------------------------------------------------ */

struct oracle_packet {
	uint32_t present;
	struct flow_headers headers;
};

/* A packet being read from the front. */
struct cursor {
	const uint8_t *bytes;
	unsigned at, end;
};

static unsigned
peek16(const struct cursor *c, unsigned offset)
{
	return c->bytes[c->at + offset] * 256u + c->bytes[c->at + offset + 1];
}

static bool
there(const struct cursor *c, unsigned size)
{
	return c->at <= c->end && c->end - c->at >= size;
}

/* Nothing of the packet behind its own length counts. */
static void
end_at(struct cursor *c, unsigned length)
{
	if (c->at + length < c->end)
		c->end = c->at + length;
}

static void
oracle_upper(struct cursor *c, unsigned proto, uint32_t *present, union flow_l4 *l4)
{
	unsigned has = 0, size = 0;

	switch (proto) {
	case 17:
		has = FLOW_HAS_UDP;
		size = 8;
		break;
	case 6:
		has = FLOW_HAS_TCP;
		size = 20;
		break;
	case 132:
		has = FLOW_HAS_SCTP;
		size = 12;
		break;
	case 1:
		has = FLOW_HAS_ICMP;
		size = 8;
		break;
	case 58:
		has = FLOW_HAS_ICMP6;
		size = 4;
		break;
	}
	if (has != 0 && there(c, size)) {
		*present |= has;
		memcpy(l4->bytes, c->bytes + c->at, size);
	}
}

/* Reads the header; the cursor is then behind it and its extensions. Returns the protocol there, or
 * -1. */
static int
oracle_ip(struct cursor *c, unsigned version, uint32_t *present, union flow_ip *ip)
{
	unsigned proto, length;

	if (version == 4) {
		if (!there(c, 20) || c->bytes[c->at] / 16 != 4)
			return -1;
		length = c->bytes[c->at] % 16 * 4;
		if (length < 20 || !there(c, length))
			return -1;
		*present |= FLOW_HAS_IP4;
		memcpy(ip->bytes, c->bytes + c->at, 20);
		proto = c->bytes[c->at + 9];
		if ((peek16(c, 6) & 0x1fff) != 0)
			proto = 255;
		end_at(c, peek16(c, 2));
		c->at += length;
		return proto == 255 ? -1 : (int)proto;
	}
	if (!there(c, 40) || c->bytes[c->at] / 16 != 6)
		return -1;
	*present |= FLOW_HAS_IP6;
	memcpy(ip->bytes, c->bytes + c->at, 40);
	proto = c->bytes[c->at + 6];
	end_at(c, 40 + peek16(c, 4));
	c->at += 40;
	for (int extensions = 0;; extensions++) {
		if (proto != 0 && proto != 43 && proto != 44 && proto != 60)
			return (int)proto;
		if (extensions == 8 || !there(c, 8))
			return -1;
		length = 8 + (proto == 44 ? 0 : c->bytes[c->at + 1] * 8u);
		if (proto == 44) {
			*present |= FLOW_HAS_FRAGMENT6;
			if (peek16(c, 2) / 8 != 0)
				return -1;
		}
		if (!there(c, length))
			return -1;
		proto = c->bytes[c->at];
		c->at += length;
	}
}

static inline void
oracle_read(const uint8_t *bytes, unsigned len, struct oracle_packet *p)
{
	struct cursor c = {bytes, 12, RTE_MIN(len, 512u)};
	unsigned type;
	uint32_t inner = 0;
	int proto;

	memset(p, 0, sizeof(*p));
	if (len < 14)
		return;
	p->present = FLOW_HAS_ETH;
	memcpy(&p->headers.eth, bytes, 14);
	for (unsigned tag = 0;; tag++) {
		type = peek16(&c, 0);
		if (tag == 2 || (type != 0x8100 && type != 0x88a8 && type != 0x9100))
			break;
		if (!there(&c, 6))
			return;
		p->present |= tag == 0 ? FLOW_HAS_VLAN : FLOW_HAS_VLAN2;
		memcpy(&p->headers.vlan[tag], bytes + c.at + 2, 4);
		c.at += 4;
	}
	c.at += 2;
	if (type != 0x0800 && type != 0x86dd)
		return;
	proto = oracle_ip(&c, type == 0x0800 ? 4 : 6, &p->present, &p->headers.ip);
	if (proto < 0)
		return;
	oracle_upper(&c, (unsigned)proto, &p->present, &p->headers.l4);
	if (proto != 4 && proto != 41)
		return;
	proto = oracle_ip(&c, proto == 4 ? 4 : 6, &inner, &p->headers.inner_ip);
	if (proto >= 0)
		oracle_upper(&c, (unsigned)proto, &inner, &p->headers.inner_l4);
	p->present |= inner << FLOW_INNER;
}

/* --- rules -------------------------------------------------------------------- */

#define ORACLE_RULES 256

struct oracle_rule {
	bool used;
	uint64_t age;
	struct flow_rule rule;
	struct rule *real;
	struct rule_counters counters;
};

/* In any order. */
struct oracle {
	uint64_t age;
	struct oracle_rule rules[ORACLE_RULES];
};

static bool
oracle_matches(const struct flow_rule *rule, const struct oracle_packet *p)
{
	const uint8_t *value = (const uint8_t *)&rule->value, *mask = (const uint8_t *)&rule->mask;
	const uint8_t *packet = (const uint8_t *)&p->headers;

	if (((p->present ^ rule->present) & rule->present_mask) != 0)
		return false;
	for (unsigned i = 0; i < sizeof(rule->mask); i++) {
		if (mask[i] != 0 && ((packet[i] ^ value[i]) & mask[i]) != 0)
			return false;
	}
	for (unsigned r = 0; r < rule->ranges; r++) {
		const struct flow_range *range = &rule->range[r];
		uint8_t field[16], low[16], high[16];

		for (unsigned i = 0; i < range->size; i++) {
			field[i] = packet[range->offset + i] & range->mask[i];
			low[i] = range->low[i] & range->mask[i];
			high[i] = range->high[i] & range->mask[i];
		}
		if (memcmp(low, field, range->size) > 0 || memcmp(field, high, range->size) > 0)
			return false;
	}
	return true;
}

/* The first rule of the group that matches, after `after` if that is not NULL. */
static struct oracle_rule *
oracle_first(struct oracle *o, uint32_t group, const struct oracle_packet *p,
	     const struct oracle_rule *after)
{
	struct oracle_rule *best = NULL;

	for (unsigned i = 0; i < ORACLE_RULES; i++) {
		struct oracle_rule *r = &o->rules[i];

		if (!r->used || r->rule.group != group)
			continue;
		if (after != NULL &&
		    (r->rule.priority < after->rule.priority ||
		     (r->rule.priority == after->rule.priority && r->age <= after->age)))
			continue;
		if (best != NULL &&
		    (r->rule.priority > best->rule.priority ||
		     (r->rule.priority == best->rule.priority && r->age > best->age)))
			continue;
		if (oracle_matches(&r->rule, p))
			best = r;
	}
	return best;
}

struct oracle_answer {
	const struct flow_rule *rule; /* that decides; NULL: accepted */
	bool mark;
	uint32_t mark_id;
};

static inline struct oracle_answer
oracle_ask(struct oracle *o, const struct oracle_packet *p, unsigned bytes)
{
	struct oracle_answer answer = {0};
	struct oracle_rule *r = NULL;
	uint32_t group = 0;
	unsigned jumps = 0;

	while ((r = oracle_first(o, group, p, r)) != NULL) {
		r->counters.packets++;
		r->counters.bytes += bytes;
		if (r->rule.mark) {
			answer.mark = true;
			answer.mark_id = r->rule.mark_id;
		}
		if (r->rule.fate == FLOW_PASSTHRU)
			continue;
		if (r->rule.fate == FLOW_JUMP) {
			if (jumps++ == CLASSIFY_JUMPS_MAX)
				break;
			group = r->rule.target;
			r = NULL;
			continue;
		}
		if (r->rule.fate != FLOW_ACCEPT)
			answer.rule = &r->rule;
		break;
	}
	return answer;
}

#endif
