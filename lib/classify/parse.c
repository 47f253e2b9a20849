/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Headers of packets that are not plain: tags, IPv4 options, IPv6 extension
 * headers, tunnels, and what lies about its length.
 */
#include "parse.h"

enum {
	PROTO_HOPOPTS = 0,
	PROTO_ICMP = 1,
	PROTO_IP4 = 4,
	PROTO_TCP = 6,
	PROTO_UDP = 17,
	PROTO_IP6 = 41,
	PROTO_ROUTING = 43,
	PROTO_FRAGMENT = 44,
	PROTO_ICMP6 = 58,
	PROTO_DSTOPTS = 60,
	PROTO_SCTP = 132,
};

/* Extension headers passed, of the outer and of the tunnelled packet alike. */
#define EXTENSIONS_MAX 8

const struct upper uppers[256] = {
	[PROTO_UDP] = {FLOW_HAS_UDP, 8},     [PROTO_TCP] = {FLOW_HAS_TCP, 20},
	[PROTO_SCTP] = {FLOW_HAS_SCTP, 12},  [PROTO_ICMP] = {FLOW_HAS_ICMP, 8},
	[PROTO_ICMP6] = {FLOW_HAS_ICMP6, 4},
};

/* An IP header and what is behind it. */
struct ip_found {
	uint32_t present;     /* FLOW_HAS_IP4 or 6, FRAGMENT6 */
	const uint8_t *upper; /* NULL: a later fragment, or it cannot be found */
	const uint8_t *end;   /* of the packet, as far as it is there */
	uint8_t proto;
};

static bool
ip4_find(const uint8_t *p, const uint8_t *end, struct ip_found *ip)
{
	unsigned header_len;

	if (end - p < 20 || p[0] >> 4 != 4)
		return false;
	header_len = (p[0] & 15) * 4u;
	if (header_len < 20 || end - p < (ptrdiff_t)header_len)
		return false;
	ip->present = FLOW_HAS_IP4;
	ip->end = RTE_MIN(end, p + load16(p + 2));
	ip->proto = p[9];
	ip->upper = (load16(p + 6) & 0x1fff) == 0 ? p + header_len : NULL;
	return true;
}

/* RFC 8200 4: on to the upper layer, or to a header that we do not pass. */
static void
ip6_walk(const uint8_t *p, struct ip_found *ip)
{
	for (unsigned passed = 0; ip->proto == PROTO_HOPOPTS || ip->proto == PROTO_ROUTING ||
				  ip->proto == PROTO_FRAGMENT || ip->proto == PROTO_DSTOPTS;
	     passed++) {
		unsigned size = 8;

		if (passed == EXTENSIONS_MAX || ip->end - p < 8)
			return;
		if (ip->proto == PROTO_FRAGMENT) {
			ip->present |= FLOW_HAS_FRAGMENT6;
			if ((load16(p + 2) & 0xfff8) != 0)
				return;
		} else {
			size += p[1] * 8u;
		}
		if (ip->end - p < (ptrdiff_t)size)
			return;
		ip->proto = p[0];
		p += size;
	}
	ip->upper = p;
}

static bool
ip6_find(const uint8_t *p, const uint8_t *end, struct ip_found *ip)
{
	if (end - p < 40 || p[0] >> 4 != 6)
		return false;
	ip->present = FLOW_HAS_IP6;
	ip->end = RTE_MIN(end, p + 40 + load16(p + 4));
	ip->proto = p[6];
	ip->upper = NULL;
	ip6_walk(p + 40, ip);
	return true;
}

void
parse_inner(struct headers *h, unsigned i, const uint8_t *p, const uint8_t *end, uint8_t proto)
{
	struct ip_found ip;

	if (!(proto == PROTO_IP4   ? ip4_find(p, end, &ip)
	      : proto == PROTO_IP6 ? ip6_find(p, end, &ip)
				   : false))
		return;
	h->present[i] |= ip.present << FLOW_INNER;
	h->at[LAYER_INNER_IP][i] = p;
	if (ip.upper == NULL || uppers[ip.proto].size == 0 ||
	    ip.end - ip.upper < uppers[ip.proto].size)
		return;
	h->present[i] |= (uint32_t)uppers[ip.proto].has << FLOW_INNER;
	h->at[LAYER_INNER_L4][i] = ip.upper;
}

static bool
is_tag(uint16_t type)
{
	return type == RTE_ETHER_TYPE_VLAN || type == RTE_ETHER_TYPE_QINQ ||
	       type == RTE_ETHER_TYPE_QINQ1;
}

void
parse_any(struct headers *h, unsigned i, const uint8_t *p, unsigned len)
{
	static const uint32_t has_tag[] = {FLOW_HAS_VLAN, FLOW_HAS_VLAN2};
	const uint8_t *type = p + 12, *end = p + len;
	struct ip_found ip;

	h->present[i] = 0;
	if (len < RTE_ETHER_HDR_LEN)
		return;
	h->present[i] = FLOW_HAS_ETH;
	h->at[LAYER_ETH][i] = p;
	for (unsigned tag = 0; tag < RTE_DIM(has_tag) && is_tag(load16(type)); tag++) {
		if (end - type < 6)
			return;
		h->present[i] |= has_tag[tag];
		h->at[LAYER_VLAN + tag][i] = type + 2;
		type += 4;
	}
	p = type + 2;
	if (!(load16(type) == RTE_ETHER_TYPE_IPV4   ? ip4_find(p, end, &ip)
	      : load16(type) == RTE_ETHER_TYPE_IPV6 ? ip6_find(p, end, &ip)
						    : false))
		return;
	h->present[i] |= ip.present;
	h->at[LAYER_IP][i] = p;
	if (ip.upper != NULL)
		parse_upper(h, i, ip.upper, ip.end, ip.proto);
}
