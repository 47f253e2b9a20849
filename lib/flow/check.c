/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Headers that do not go together: a pattern no packet can match is a mistake.
 */
#include <errno.h>

#include "internal.h"

/* May a type field compared in this way be `type`? */
static bool
type_may_be(rte_be16_t value, rte_be16_t mask, uint16_t type)
{
	return ((value ^ rte_cpu_to_be_16(type)) & mask) == 0;
}

static bool
type_may_be_tag(rte_be16_t value, rte_be16_t mask)
{
	return type_may_be(value, mask, RTE_ETHER_TYPE_VLAN) ||
	       type_may_be(value, mask, RTE_ETHER_TYPE_QINQ) ||
	       type_may_be(value, mask, RTE_ETHER_TYPE_QINQ1);
}

/* EtherTypes on the way down to the IP header. */
static int
check_types(const struct call *call, const struct flow_rule *rule, const struct stack *s)
{
	const struct rte_vlan_hdr *value = rule->value.vlan, *mask = rule->mask.vlan;
	rte_be16_t type = rule->value.eth.ether_type, type_mask = rule->mask.eth.ether_type;
	bool untagged = (rule->present_mask & ~rule->present & FLOW_HAS_VLAN) != 0;
	uint16_t ip = s->ips > 0 ? item_ethertype(s->ip[0]) : 0;
	const char *below = s->ips > 0 ? s->ip[0]->name : "";

	if (s->vlans > 0 && !type_may_be_tag(type, type_mask))
		return err_set(call->err, EINVAL, "eth type: 0x%04x is not that of a vlan tag",
			       rte_be_to_cpu_16(type));
	/* Tags of a packet may be passed over in silence. */
	if (s->vlans == 0 && ip != 0 && !type_may_be(type, type_mask, ip) &&
	    (untagged || !type_may_be_tag(type, type_mask)))
		return err_set(call->err, EINVAL, "eth type: 0x%04x is not that of %s",
			       rte_be_to_cpu_16(type), below);
	for (unsigned i = 0; i < s->vlans; i++) {
		bool tag_follows = i + 1 < s->vlans;

		type = value[i].eth_proto;
		type_mask = mask[i].eth_proto;
		if (tag_follows && !type_may_be_tag(type, type_mask))
			return err_set(call->err, EINVAL,
				       "vlan inner_type: 0x%04x is not that of a vlan tag",
				       rte_be_to_cpu_16(type));
		if (!tag_follows && ip != 0 && !type_may_be(type, type_mask, ip) &&
		    (i == 1 || !type_may_be_tag(type, type_mask)))
			return err_set(call->err, EINVAL,
				       "vlan inner_type: 0x%04x is not that of %s",
				       rte_be_to_cpu_16(type), below);
	}
	if (s->vlans > 0 && s->eth != NULL && untagged)
		return err_set(call->err, EINVAL, "eth has_vlan: 0 contradicts vlan");
	return 0;
}

/* The protocol field of an IP header against the item behind it. */
static int
check_protocol(const struct call *call, const struct flow_rule *rule, const struct item *ip,
	       bool inner, const struct item *next)
{
	const union flow_ip *value = inner ? &rule->value.inner_ip : &rule->value.ip;
	const union flow_ip *mask = inner ? &rule->mask.inner_ip : &rule->mask.ip;
	bool four = ip->has == FLOW_HAS_IP4;
	uint8_t proto = four ? value->v4.next_proto_id : value->v6.proto;
	uint8_t proto_mask = four ? mask->v4.next_proto_id : mask->v6.proto;
	uint8_t expected = item_protocol(next);
	const struct item *item;

	if (next->has == (four ? FLOW_HAS_ICMP6 : FLOW_HAS_ICMP))
		return err_set(call->err, EINVAL, "pattern: %s after %s: ICMP for %s is %s",
			       next->name, ip->name, four ? "IPv4" : "IPv6",
			       four ? "icmp" : "icmp6");
	if (((proto ^ expected) & proto_mask) != 0) {
		/* An extension header may stand between the two: only what is certain. */
		bool certain = four;

		ITEM_FOREACH(item)
			certain |= proto_mask == 0xff && item_protocol(item) == proto;
		if (certain)
			return err_set(call->err, EINVAL, "%s proto: %u is not that of %s",
				       ip->name, proto, next->name);
	}
	if (four && next->layer == LAYER_L4 &&
	    (value->v4.fragment_offset & rte_cpu_to_be_16(RTE_IPV4_HDR_OFFSET_MASK)) != 0)
		return err_set(call->err, EINVAL,
			       "ipv4 fragment_offset: later fragments have no %s header",
			       next->name);
	return 0;
}

int
check_pattern(const struct call *call, const struct flow_rule *rule, const struct stack *s)
{
	int rc = check_types(call, rule, s);

	if (rc == 0 && s->ips == 2)
		rc = check_protocol(call, rule, s->ip[0], false, s->ip[1]);
	if (rc == 0 && s->ips > 0 && s->l4 != NULL)
		rc = check_protocol(call, rule, s->ip[s->ips - 1], s->ips == 2, s->l4);
	return rc;
}
