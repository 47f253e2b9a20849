/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include <netinet/in.h>

#include <rte_ip.h>

#include "private.h"

/*
 * RFC 4861 4.3, 4.4: both messages are
 *
 *    0  type 135 or 136, code 0, checksum
 *    4  NA only: R, S, O in the first byte's high bits
 *    8  target address
 *   24  options: type, length in units of 8 bytes, value
 */
#define ND_SOLICIT   135
#define ND_ADVERTISE 136
#define ND_HEADER    24
#define FLAG_R	     0x80
#define FLAG_S	     0x40
#define FLAG_O	     0x20

#define OPTION_SOURCE_LLA 1
#define OPTION_TARGET_LLA 2
#define OPTION_UNIT	  8

/* By offset: the type of these fields differs between DPDK releases. */
#define IP6_SRC 8
#define IP6_DST 24

#define HOP_LIMIT 255 /* nobody forwarded it: it comes from this link */

static const uint8_t solicited_node_prefix[13] = {0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff};

static bool
is_solicited_node(const uint8_t *addr)
{
	return memcmp(addr, solicited_node_prefix, sizeof(solicited_node_prefix)) == 0;
}

static bool
is_unspecified(const uint8_t *addr)
{
	static const uint8_t zero[16];

	return memcmp(addr, zero, sizeof(zero)) == 0;
}

/* RFC 4861 4.6: the options must fill the message exactly. Unknown ones are
 * skipped; of several with a link-layer address the first counts. */
static int
parse_options(const uint8_t *p, size_t size, struct nd *nd)
{
	uint8_t wanted = nd->type == ND_SOLICIT ? OPTION_SOURCE_LLA : OPTION_TARGET_LLA;

	while (size > 0) {
		size_t length;

		if (size < 2)
			return -EINVAL;
		length = (size_t)p[1] * OPTION_UNIT;
		if (length == 0 || length > size)
			return -EINVAL;
		if (p[0] == wanted && !nd->has_mac) {
			/* RFC 2464 6: one unit for an Ethernet address. */
			if (length != OPTION_UNIT || !mac_is_station(p + 2))
				return -EINVAL;
			memcpy(nd->mac, p + 2, 6);
			nd->has_mac = true;
		}
		p += length;
		size -= length;
	}
	return 0;
}

/* RFC 4861 7.1.1, the last two points. */
static int
check_solicit(const uint8_t *src, const uint8_t *dst, const struct nd *nd)
{
	if (is_unspecified(src) && (!is_solicited_node(dst) || nd->has_mac))
		return -EINVAL;
	return 0;
}

/* RFC 4861 7.1.2: an answer to one node is not sent to many. And 4.4: the
 * source is an address of the sender. */
static int
check_advertise(const uint8_t *src, const uint8_t *dst, const struct nd *nd)
{
	if (is_unspecified(src) || (dst[0] == 0xff && nd->solicited))
		return -EINVAL;
	return 0;
}

int
nd_parse(const void *ip6, size_t size, struct nd *nd)
{
	const struct rte_ipv6_hdr *ip = ip6;
	const uint8_t *src = (const uint8_t *)ip6 + IP6_SRC;
	const uint8_t *dst = (const uint8_t *)ip6 + IP6_DST;
	const uint8_t *p = (const uint8_t *)ip6 + sizeof(*ip);
	size_t length;

	if (size < sizeof(*ip) || *(const uint8_t *)ip6 >> 4 != 6)
		return -EINVAL;
	if (ip->proto != IPPROTO_ICMPV6)
		return -ENOENT;
	/* What follows the payload is Ethernet padding. */
	length = rte_be_to_cpu_16(ip->payload_len);
	if (length == 0 || length > size - sizeof(*ip))
		return -EINVAL;
	if (p[0] != ND_SOLICIT && p[0] != ND_ADVERTISE)
		return -ENOENT;
	if (length < ND_HEADER || p[1] != 0 || ip->hop_limits != HOP_LIMIT)
		return -EINVAL;
	if (rte_ipv6_udptcp_cksum_verify(ip, p) != 0 || src[0] == 0xff)
		return -EINVAL;

	*nd = (struct nd){.type = p[0], .target = ip6_addr(p + 8)};
	if (ip_is_multicast(&nd->target) || ip_is_unspecified(&nd->target))
		return -EINVAL;
	if (parse_options(p + ND_HEADER, length - ND_HEADER, nd) != 0)
		return -EINVAL;
	if (nd->type == ND_SOLICIT)
		return check_solicit(src, dst, nd);
	nd->router = (p[4] & FLAG_R) != 0;
	nd->solicited = (p[4] & FLAG_S) != 0;
	nd->override = (p[4] & FLAG_O) != 0;
	return check_advertise(src, dst, nd);
}

size_t
nd_write(void *ip6, const struct nd *nd, const struct ip_addr *src, const struct ip_addr *dst)
{
	struct rte_ipv6_hdr *ip = ip6;
	uint8_t *p = (uint8_t *)ip6 + sizeof(*ip);
	bool solicit = nd->type == ND_SOLICIT;
	size_t length = ND_HEADER;
	uint16_t sum;

	memset(p, 0, ND_HEADER + OPTION_UNIT);
	p[0] = nd->type;
	if (!solicit)
		p[4] = (uint8_t)((nd->router ? FLAG_R : 0) | (nd->solicited ? FLAG_S : 0) |
				 (nd->override ? FLAG_O : 0));
	memcpy(p + 8, nd->target.bytes, 16);
	if (nd->has_mac && !(solicit && ip_is_unspecified(src))) {
		p[ND_HEADER] = solicit ? OPTION_SOURCE_LLA : OPTION_TARGET_LLA;
		p[ND_HEADER + 1] = 1;
		memcpy(p + ND_HEADER + 2, nd->mac, 6);
		length += OPTION_UNIT;
	}

	ip->vtc_flow = rte_cpu_to_be_32(6u << 28);
	ip->payload_len = rte_cpu_to_be_16((uint16_t)length);
	ip->proto = IPPROTO_ICMPV6;
	ip->hop_limits = HOP_LIMIT;
	memcpy((uint8_t *)ip6 + IP6_SRC, src->bytes, 16);
	memcpy((uint8_t *)ip6 + IP6_DST, dst->bytes, 16);
	sum = rte_ipv6_udptcp_cksum(ip, p);
	memcpy(p + 2, &sum, sizeof(sum));
	return sizeof(*ip) + length;
}

struct ip_addr
nd_solicited_node(const struct ip_addr *addr)
{
	struct ip_addr group = {.family = AF_INET6};

	memcpy(group.bytes, solicited_node_prefix, sizeof(solicited_node_prefix));
	memcpy(group.bytes + 13, addr->bytes + 13, 3);
	return group;
}

void
ip6_multicast_mac(const struct ip_addr *group, uint8_t mac[6])
{
	mac[0] = 0x33;
	mac[1] = 0x33;
	memcpy(mac + 2, group->bytes + 12, 4);
}

struct ip_addr
ip6_link_local_of(const uint8_t mac[6])
{
	struct ip_addr a = {.family = AF_INET6, .bytes = {0xfe, 0x80}};

	memcpy(a.bytes + 8, mac, 3);
	a.bytes[8] ^= 0x02;
	a.bytes[11] = 0xff;
	a.bytes[12] = 0xfe;
	memcpy(a.bytes + 13, mac + 3, 3);
	return a;
}
