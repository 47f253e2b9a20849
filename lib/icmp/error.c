/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * ICMP errors: about which packets, and their making.
 */
#include <errno.h>

#include "icmp.h"
#include "ip.h"

#define ERROR_TTL 64

/* RFC 1812 4.3.2.5: precedence 6, internetwork control, which lets errors through where
 * the packets they are about got stuck. */
#define ERROR_TOS 0xc0

/* How far into a packet we look for the ICMPv6 header. */
#define HEADERS_MAX 512

/*
 * Is this ICMP type anything but an error? A list of those that are known: of a
 * type nobody has heard of, it is not known that it is none.
 */
static bool
is_icmp4_query(uint8_t type)
{
	switch (type) {
	case ICMP4_ECHO_REPLY:
	case ICMP4_ECHO_REQUEST:
	case 9: /* router advertisement and solicitation: RFC 1256 */
	case 10:
	case 13: /* timestamp, information, address mask, requests and replies: RFC 792, RFC 950 */
	case 14:
	case 15:
	case 16:
	case 17:
	case 18:
	case 42: /* extended echo request and reply: RFC 8335 */
	case 43:
		return true;
	default:
		return false;
	}
}

/* RFC 1812 4.3.2.7 */
bool
icmp4_error_allowed(const struct rte_mbuf *packet, uint16_t l3, uint16_t len)
{
	const uint8_t *h = rte_pktmbuf_mtod_offset(packet, const uint8_t *, l3), *type;
	uint32_t header_len;
	uint8_t copy;

	if (len < IP4_HEADER_MIN || packet->data_len < (uint32_t)l3 + IP4_HEADER_MIN)
		return false;
	/* Destination: multicast, limited broadcast. */
	if ((h[16] & 0xf0) == 0xe0 || (h[16] & h[17] & h[18] & h[19]) == 0xff)
		return false;
	/* Source: this network, loopback, multicast, class E and broadcast name no single host. */
	if (h[12] == 0 || h[12] == 127 || h[12] >= 224)
		return false;
	if ((ip_get16(h + 6) & IP4_OFFSET_MASK) != 0)
		return false;
	if (h[9] != PROTO_ICMP)
		return true;
	header_len = (h[0] & 0x0f) * 4u;
	if (header_len >= len)
		return false;
	type = rte_pktmbuf_read(packet, l3 + header_len, 1, &copy);
	return type != NULL && is_icmp4_query(*type);
}

/* RFC 4443 2.4(e.1), (e.2): is it an ICMPv6 error or a redirect, or may it be one? */
static bool
may_be_icmp6_error(const struct rte_mbuf *packet, uint16_t l3, uint16_t len)
{
	uint32_t there = RTE_MIN((uint32_t)len, packet->pkt_len - l3);
	uint16_t window = (uint16_t)RTE_MIN(there, (uint32_t)HEADERS_MAX);
	uint8_t copy[HEADERS_MAX];
	const uint8_t *h = rte_pktmbuf_read(packet, l3, window, copy);
	struct ip6_walk walk;
	int rc;

	if (h == NULL)
		return true;
	rc = ip6_walk(h, (uint16_t)there, window, h[6], IP6_HEADER, 6, true, true, &walk);
	if (rc == -EAGAIN)
		return true;
	if (rc != 0 || walk.proto != PROTO_ICMP6 || walk.late_fragment)
		return false;
	if (walk.offset >= window)
		return true;
	return h[walk.offset] < ICMP6_ECHO_REQUEST || h[walk.offset] == ICMP6_REDIRECT;
}

/* RFC 4443 2.4(e) */
bool
icmp6_error_allowed(const struct rte_mbuf *packet, uint16_t l3, uint16_t len,
		    const struct icmp_error *error)
{
	const uint8_t *h = rte_pktmbuf_mtod_offset(packet, const uint8_t *, l3);
	bool multicast_too =
		error->type == ICMP6_TOO_BIG ||
		(error->type == ICMP6_PARAMETER && error->code == ICMP6_PARAMETER_OPTION);

	if (len < IP6_HEADER || packet->data_len < (uint32_t)l3 + IP6_HEADER)
		return false;
	if (h[24] == 0xff && !multicast_too)
		return false;
	if (ip6_source_martian(h + 8))
		return false;
	return !may_be_icmp6_error(packet, l3, len);
}

/*
 * A buffer with room for an IP header and the ICMP header, not written yet, and
 * behind them the start of the packet, so that all has at most max bytes.
 */
static struct rte_mbuf *
quote(struct rte_mempool *pool, const struct rte_mbuf *packet, uint16_t l3, uint16_t len,
      uint16_t ip_header, uint16_t max)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
	uint32_t header = ip_header + ICMP_HEADER, n;
	const uint8_t *from;
	uint8_t *to;

	if (m == NULL)
		return NULL;
	max = RTE_MIN(max, rte_pktmbuf_tailroom(m));
	if (max < header || packet->pkt_len < l3) {
		rte_pktmbuf_free_bulk(&m, 1);
		return NULL;
	}
	n = RTE_MIN((uint32_t)len, packet->pkt_len - l3);
	n = RTE_MIN(n, max - header);
	to = (uint8_t *)rte_pktmbuf_append(m, (uint16_t)(header + n)) + header;
	from = rte_pktmbuf_read(packet, l3, n, to);
	if (from != to)
		memcpy(to, from, n);
	return m;
}

static void
set_checksum(uint8_t *icmp, uint16_t checksum)
{
	memcpy(icmp + 2, &checksum, 2);
}

/*
 * RFC 1812 4.3.2. The error has DF set and identification 0: a datagram that
 * is never fragmented needs no number of its own (RFC 6864 4.1), so there is
 * no counter to keep or to guess; and 576 bytes pass everywhere.
 */
struct rte_mbuf *
icmp4_error(struct rte_mempool *pool, const struct rte_mbuf *packet, uint16_t l3, uint16_t len,
	    const struct icmp_error *error, const struct ip_addr *src)
{
	const uint8_t *about = rte_pktmbuf_mtod_offset(packet, const uint8_t *, l3);
	struct rte_mbuf *m = quote(pool, packet, l3, len, IP4_HEADER_MIN, ICMP4_ERROR_MAX);
	uint8_t *h, *icmp;

	if (m == NULL)
		return NULL;
	h = rte_pktmbuf_mtod(m, uint8_t *);
	memset(h, 0, IP4_HEADER_MIN + ICMP_HEADER);
	h[0] = 0x45;
	h[1] = ERROR_TOS;
	ip_put16(h + 2, (uint16_t)m->pkt_len);
	ip_put16(h + 6, IP4_DONT_FRAGMENT);
	h[8] = ERROR_TTL;
	h[9] = PROTO_ICMP;
	memcpy(h + 12, src->bytes, 4);
	memcpy(h + 16, about + 12, 4);
	ip4_sum_set(h, IP4_HEADER_MIN);

	icmp = h + IP4_HEADER_MIN;
	icmp[0] = error->type;
	icmp[1] = error->code;
	if (error->type == ICMP4_PARAMETER)
		icmp[4] = (uint8_t)error->value;
	else
		ip_put16(icmp + 6, (uint16_t)RTE_MIN(error->value, (uint32_t)UINT16_MAX));
	set_checksum(icmp, (uint16_t)~packet_sum(m, IP4_HEADER_MIN, m->pkt_len - IP4_HEADER_MIN));
	return m;
}

/* RFC 4443 2, 3 */
struct rte_mbuf *
icmp6_error(struct rte_mempool *pool, const struct rte_mbuf *packet, uint16_t l3, uint16_t len,
	    const struct icmp_error *error, const struct ip_addr *src)
{
	const uint8_t *about = rte_pktmbuf_mtod_offset(packet, const uint8_t *, l3);
	struct rte_mbuf *m = quote(pool, packet, l3, len, IP6_HEADER, ICMP6_ERROR_MAX);
	rte_be32_t value = rte_cpu_to_be_32(error->value);
	uint32_t icmp_len;
	uint8_t *h, *icmp;

	if (m == NULL)
		return NULL;
	icmp_len = m->pkt_len - IP6_HEADER;
	h = rte_pktmbuf_mtod(m, uint8_t *);
	memset(h, 0, IP6_HEADER + ICMP_HEADER);
	h[0] = 0x60;
	ip_put16(h + 4, (uint16_t)icmp_len);
	h[6] = PROTO_ICMP6;
	h[7] = ERROR_TTL;
	memcpy(h + 8, src->bytes, 16);
	memcpy(h + 24, about + 8, 16);

	icmp = h + IP6_HEADER;
	icmp[0] = error->type;
	icmp[1] = error->code;
	memcpy(icmp + 4, &value, 4);
	set_checksum(icmp, (uint16_t)~ip_sum_fold(packet_sum(m, IP6_HEADER, icmp_len) +
						  ip6_pseudo_sum(h, icmp_len, PROTO_ICMP6)));
	return m;
}
