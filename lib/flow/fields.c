/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Items and their fields, with testpmd's names. To add a field: add a row.
 */
#include "internal.h"

#define FIELD(type, member)                                                                        \
	.offset = offsetof(struct type, member), .size = sizeof(((struct type *)NULL)->member)

const struct item flow_items[] = {
	{"eth",
	 LAYER_ETH,
	 FLOW_HAS_ETH,
	 sizeof(struct rte_ether_hdr),
	 RTE_FLOW_ITEM_TYPE_ETH,
	 {{"dst", FIELD_MAC, FIELD(rte_ether_hdr, dst_addr)},
	  {"src", FIELD_MAC, FIELD(rte_ether_hdr, src_addr)},
	  {"type", FIELD_NUMBER, FIELD(rte_ether_hdr, ether_type)},
	  {"has_vlan", FIELD_FLAG, .size = 1, .has = FLOW_HAS_VLAN}}},
	{"vlan",
	 LAYER_VLAN,
	 FLOW_HAS_VLAN,
	 sizeof(struct rte_vlan_hdr),
	 RTE_FLOW_ITEM_TYPE_VLAN,
	 {{"tci", FIELD_NUMBER, FIELD(rte_vlan_hdr, vlan_tci), .covers = true},
	  {"pcp", FIELD_NUMBER, FIELD(rte_vlan_hdr, vlan_tci), .bits = 0xe000},
	  {"dei", FIELD_NUMBER, FIELD(rte_vlan_hdr, vlan_tci), .bits = 0x1000},
	  {"vid", FIELD_NUMBER, FIELD(rte_vlan_hdr, vlan_tci), .bits = 0x0fff},
	  {"inner_type", FIELD_NUMBER, FIELD(rte_vlan_hdr, eth_proto)},
	  {"has_more_vlan", FIELD_FLAG, .size = 1, .has = FLOW_HAS_VLAN2}}},
	{"ipv4",
	 LAYER_IP,
	 FLOW_HAS_IP4,
	 sizeof(struct rte_ipv4_hdr),
	 RTE_FLOW_ITEM_TYPE_IPV4,
	 {{"version_ihl", FIELD_NUMBER, FIELD(rte_ipv4_hdr, version_ihl)},
	  {"tos", FIELD_NUMBER, FIELD(rte_ipv4_hdr, type_of_service)},
	  {"length", FIELD_NUMBER, FIELD(rte_ipv4_hdr, total_length)},
	  {"packet_id", FIELD_NUMBER, FIELD(rte_ipv4_hdr, packet_id)},
	  {"fragment_offset", FIELD_NUMBER, FIELD(rte_ipv4_hdr, fragment_offset)},
	  {"ttl", FIELD_NUMBER, FIELD(rte_ipv4_hdr, time_to_live)},
	  {"proto", FIELD_NUMBER, FIELD(rte_ipv4_hdr, next_proto_id)},
	  {"src", FIELD_IP4, FIELD(rte_ipv4_hdr, src_addr)},
	  {"dst", FIELD_IP4, FIELD(rte_ipv4_hdr, dst_addr)}}},
	{"ipv6",
	 LAYER_IP,
	 FLOW_HAS_IP6,
	 sizeof(struct rte_ipv6_hdr),
	 RTE_FLOW_ITEM_TYPE_IPV6,
	 {{"tc", FIELD_NUMBER, FIELD(rte_ipv6_hdr, vtc_flow), .bits = 0x0ff00000},
	  {"flow", FIELD_NUMBER, FIELD(rte_ipv6_hdr, vtc_flow), .bits = 0x000fffff},
	  {"len", FIELD_NUMBER, FIELD(rte_ipv6_hdr, payload_len)},
	  {"proto", FIELD_NUMBER, FIELD(rte_ipv6_hdr, proto)},
	  {"hop", FIELD_NUMBER, FIELD(rte_ipv6_hdr, hop_limits)},
	  {"has_frag_ext", FIELD_FLAG, .size = 1, .has = FLOW_HAS_FRAGMENT6},
	  {"src", FIELD_IP6, FIELD(rte_ipv6_hdr, src_addr)},
	  {"dst", FIELD_IP6, FIELD(rte_ipv6_hdr, dst_addr)}}},
	{"udp",
	 LAYER_L4,
	 FLOW_HAS_UDP,
	 sizeof(struct rte_udp_hdr),
	 RTE_FLOW_ITEM_TYPE_UDP,
	 {{"src", FIELD_NUMBER, FIELD(rte_udp_hdr, src_port)},
	  {"dst", FIELD_NUMBER, FIELD(rte_udp_hdr, dst_port)}}},
	{"tcp",
	 LAYER_L4,
	 FLOW_HAS_TCP,
	 sizeof(struct rte_tcp_hdr),
	 RTE_FLOW_ITEM_TYPE_TCP,
	 {{"src", FIELD_NUMBER, FIELD(rte_tcp_hdr, src_port)},
	  {"dst", FIELD_NUMBER, FIELD(rte_tcp_hdr, dst_port)},
	  {"flags", FIELD_NUMBER, FIELD(rte_tcp_hdr, tcp_flags)}}},
	{"sctp",
	 LAYER_L4,
	 FLOW_HAS_SCTP,
	 sizeof(struct rte_sctp_hdr),
	 RTE_FLOW_ITEM_TYPE_SCTP,
	 {{"src", FIELD_NUMBER, FIELD(rte_sctp_hdr, src_port)},
	  {"dst", FIELD_NUMBER, FIELD(rte_sctp_hdr, dst_port)},
	  {"tag", FIELD_NUMBER, FIELD(rte_sctp_hdr, tag)},
	  {"cksum", FIELD_NUMBER, FIELD(rte_sctp_hdr, cksum)}}},
	{"icmp",
	 LAYER_L4,
	 FLOW_HAS_ICMP,
	 sizeof(struct rte_icmp_hdr),
	 RTE_FLOW_ITEM_TYPE_ICMP,
	 {{"type", FIELD_NUMBER, FIELD(rte_icmp_hdr, icmp_type)},
	  {"code", FIELD_NUMBER, FIELD(rte_icmp_hdr, icmp_code)},
	  {"ident", FIELD_NUMBER, FIELD(rte_icmp_hdr, icmp_ident)},
	  {"seq", FIELD_NUMBER, FIELD(rte_icmp_hdr, icmp_seq_nb)}}},
	{"icmp6",
	 LAYER_L4,
	 FLOW_HAS_ICMP6,
	 sizeof(struct flow_icmp6),
	 RTE_FLOW_ITEM_TYPE_ICMP6,
	 {{"type", FIELD_NUMBER, FIELD(flow_icmp6, type)},
	  {"code", FIELD_NUMBER, FIELD(flow_icmp6, code)}}},
};
const unsigned flow_items_count = RTE_DIM(flow_items);

struct item_place
item_place(const struct item *item, unsigned depth)
{
	static const uint16_t offsets[][2] = {
		[LAYER_ETH] = {offsetof(struct flow_headers, eth)},
		[LAYER_VLAN] = {offsetof(struct flow_headers, vlan[0]),
				offsetof(struct flow_headers, vlan[1])},
		[LAYER_IP] = {offsetof(struct flow_headers, ip),
			      offsetof(struct flow_headers, inner_ip)},
		[LAYER_L4] = {offsetof(struct flow_headers, l4),
			      offsetof(struct flow_headers, inner_l4)},
	};
	struct item_place place = {item, item->has, offsets[item->layer][depth]};

	if (depth > 0)
		place.has = item->layer == LAYER_VLAN ? FLOW_HAS_VLAN2 : item->has << FLOW_INNER;
	return place;
}

unsigned
items_of(const struct flow_rule *rule, struct item_place places[FLOW_ITEMS_MAX])
{
	static const struct {
		enum layer layer;
		unsigned depth;
	} order[FLOW_ITEMS_MAX] = {
		{LAYER_ETH, 0}, {LAYER_VLAN, 0}, {LAYER_VLAN, 1}, {LAYER_IP, 0},
		{LAYER_L4, 0},	{LAYER_IP, 1},	 {LAYER_L4, 1},
	};
	const struct item *item;
	unsigned n = 0;

	for (unsigned o = 0; o < RTE_DIM(order); o++) {
		ITEM_FOREACH(item) {
			struct item_place place;

			if (item->layer != order[o].layer)
				continue;
			place = item_place(item, order[o].depth);
			if ((rule->present & place.has) != 0)
				places[n++] = place;
		}
	}
	return n;
}

void
field_mask(const struct field *field, uint8_t bytes[16])
{
	memset(bytes, 0, 16);
	if (field->bits == 0) {
		memset(bytes, 0xff, field->size);
		return;
	}
	for (unsigned i = 0; i < field->size; i++)
		bytes[i] = (uint8_t)(field->bits >> 8 * (field->size - 1 - i));
}

unsigned
field_shift(const struct field *field)
{
	return field->bits == 0 ? 0 : (unsigned)__builtin_ctz(field->bits);
}

uint8_t
item_protocol(const struct item *item)
{
	switch (item->has) {
	case FLOW_HAS_IP4:
		return IPPROTO_IPIP;
	case FLOW_HAS_IP6:
		return IPPROTO_IPV6;
	case FLOW_HAS_UDP:
		return IPPROTO_UDP;
	case FLOW_HAS_TCP:
		return IPPROTO_TCP;
	case FLOW_HAS_SCTP:
		return IPPROTO_SCTP;
	case FLOW_HAS_ICMP:
		return IPPROTO_ICMP;
	case FLOW_HAS_ICMP6:
		return IPPROTO_ICMPV6;
	}
	return 0;
}

uint16_t
item_ethertype(const struct item *item)
{
	if (item->has == FLOW_HAS_IP4)
		return RTE_ETHER_TYPE_IPV4;
	return item->has == FLOW_HAS_IP6 ? RTE_ETHER_TYPE_IPV6 : 0;
}
