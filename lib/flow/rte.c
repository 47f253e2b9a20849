/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rule as rte_flow has it. Headers are written down alike in both, so they are copied.
 */
#include <errno.h>

#include "internal.h"

/* Headers that must or must not be there, for which rte_flow has bits in an item. */
static void
set_flags(const struct flow_rule *rule, const struct item_place *place, union flow_item_conf *spec,
	  union flow_item_conf *mask)
{
	bool inner = place->offset == offsetof(struct flow_headers, inner_ip);
	uint32_t fragment = inner ? FLOW_HAS_INNER_FRAGMENT6 : FLOW_HAS_FRAGMENT6;

	switch (place->has) {
	case FLOW_HAS_ETH:
		/* A tag that must be there is an item. */
		if ((rule->present_mask & ~rule->present & FLOW_HAS_VLAN) != 0)
			mask->eth.has_vlan = 1;
		break;
	case FLOW_HAS_VLAN:
		if ((rule->present_mask & ~rule->present & FLOW_HAS_VLAN2) != 0)
			mask->vlan.has_more_vlan = 1;
		break;
	case FLOW_HAS_IP6:
	case FLOW_HAS_INNER_IP6:
		if ((rule->present_mask & fragment) != 0) {
			mask->ipv6.has_frag_ext = 1;
			spec->ipv6.has_frag_ext = (rule->present & fragment) != 0;
		}
		break;
	}
}

/* Ranges of the item; true if there are any. */
static bool
set_ranges(const struct flow_rule *rule, const struct item_place *place, union flow_item_conf *spec,
	   union flow_item_conf *last, union flow_item_conf *mask)
{
	bool any = false;

	for (unsigned i = 0; i < rule->ranges; i++) {
		const struct flow_range *range = &rule->range[i];
		unsigned at = (unsigned)range->offset - place->offset;

		if (range->offset < place->offset || at >= place->item->size)
			continue;
		for (unsigned k = 0; k < range->size; k++) {
			((uint8_t *)spec)[at + k] |= range->low[k];
			((uint8_t *)last)[at + k] |= range->high[k];
			((uint8_t *)mask)[at + k] |= range->mask[k];
		}
		any = true;
	}
	return any;
}

static bool
is_zero(const union flow_item_conf *conf)
{
	static const union flow_item_conf zero;

	return memcmp(conf, &zero, sizeof(zero)) == 0;
}

static void
make_item(const struct flow_rule *rule, const struct item_place *place, bool bare_ip,
	  struct flow_offer *offer, unsigned n)
{
	union flow_item_conf *spec = &offer->spec[n], *last = &offer->last[n];
	union flow_item_conf *mask = &offer->mask[n];
	struct rte_flow_item *item = &offer->pattern[n];
	bool ranges;

	item->type = place->item->type;
	memcpy(spec, (const uint8_t *)&rule->value + place->offset, place->item->size);
	memcpy(mask, (const uint8_t *)&rule->mask + place->offset, place->item->size);
	set_flags(rule, place, spec, mask);
	ranges = set_ranges(rule, place, spec, last, mask);
	if (is_zero(mask) && !(bare_ip && place->item->layer == LAYER_IP))
		return;
	item->spec = spec;
	item->mask = mask;
	item->last = ranges ? last : NULL;
}

static int
make_fate(const struct flow_line *line, struct flow_offer *offer, struct rte_flow_action *action,
	  struct err *err)
{
	uint32_t target = line->rule.target;

	switch (line->rule.fate) {
	case FLOW_PASSTHRU:
		action->type = RTE_FLOW_ACTION_TYPE_PASSTHRU;
		return 0;
	case FLOW_DROP:
		action->type = RTE_FLOW_ACTION_TYPE_DROP;
		return 0;
	case FLOW_QUEUE:
		offer->fate.queue.index = (uint16_t)target;
		action->type = RTE_FLOW_ACTION_TYPE_QUEUE;
		action->conf = &offer->fate.queue;
		return 0;
	case FLOW_PORT:
		offer->fate.port.port_id = (uint16_t)target;
		action->type = RTE_FLOW_ACTION_TYPE_REPRESENTED_PORT;
		action->conf = &offer->fate.port;
		return 0;
	case FLOW_JUMP:
		offer->fate.jump.group = target;
		action->type = RTE_FLOW_ACTION_TYPE_JUMP;
		action->conf = &offer->fate.jump;
		return 0;
	case FLOW_ACCEPT:
		return err_set(err, ENOTSUP, "accept is an action of software");
	case FLOW_LCORE:
		return err_set(err, ENOTSUP,
			       "lcore is an action of software; a device takes queue");
	}
	return err_set(err, ENOTSUP, "no action of a device");
}

int
flow_offer_make(const struct flow_line *line, bool bare_ip, struct flow_offer *offer,
		struct err *err)
{
	struct item_place places[FLOW_ITEMS_MAX];
	unsigned n = items_of(&line->rule, places), a = 0;
	int rc;

	memset(offer, 0, sizeof(*offer));
	offer->attr = (struct rte_flow_attr){
		.group = line->rule.group,
		.priority = line->rule.priority,
		.ingress = line->ingress,
		.transfer = line->transfer,
	};
	for (unsigned i = 0; i < n; i++)
		make_item(&line->rule, &places[i], bare_ip, offer, i);
	offer->pattern[n].type = RTE_FLOW_ITEM_TYPE_END;

	/* The fate comes first: some drivers insist. */
	if (line->rule.fate != FLOW_PASSTHRU || (!line->count && !line->rule.mark)) {
		rc = make_fate(line, offer, &offer->actions[a++], err);
		if (rc < 0)
			return rc;
	}
	if (line->rule.mark) {
		offer->mark.id = line->rule.mark_id;
		offer->actions[a++] =
			(struct rte_flow_action){RTE_FLOW_ACTION_TYPE_MARK, &offer->mark};
	}
	if (line->count)
		offer->actions[a++] =
			(struct rte_flow_action){RTE_FLOW_ACTION_TYPE_COUNT, &offer->count};
	offer->actions[a].type = RTE_FLOW_ACTION_TYPE_END;
	return 0;
}
