/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Echo: replies in place, and requests.
 */
#include <errno.h>

#include "icmp.h"
#include "ip.h"

#define ECHO_TTL 64

/* Write n bytes at offset, wherever segments end. */
static void
write_bytes(struct rte_mbuf *packet, uint32_t offset, const void *bytes, uint32_t n)
{
	const uint8_t *from = bytes;

	for (; n > 0 && packet != NULL; packet = packet->next) {
		uint32_t here;

		if (offset >= packet->data_len) {
			offset -= packet->data_len;
			continue;
		}
		here = RTE_MIN(n, packet->data_len - offset);
		memcpy(rte_pktmbuf_mtod_offset(packet, uint8_t *, offset), from, here);
		from += here;
		n -= here;
		offset = 0;
	}
}

/*
 * Read the ICMP header of an echo request of the given type, whose checksum
 * covers `pseudo` and everything from upper to len.
 */
static int
read_request(const struct rte_mbuf *packet, uint16_t l3, uint16_t len, uint16_t upper, uint8_t type,
	     uint64_t pseudo, uint8_t icmp[ICMP_HEADER])
{
	const uint8_t *p;

	if ((uint32_t)upper + ICMP_HEADER > len || (uint32_t)l3 + len > packet->pkt_len)
		return -EBADMSG;
	p = rte_pktmbuf_read(packet, (uint32_t)l3 + upper, ICMP_HEADER, icmp);
	if (p == NULL)
		return -EBADMSG;
	if (p != icmp)
		memcpy(icmp, p, ICMP_HEADER);
	if (icmp[0] != type)
		return -ENOENT;
	if (ip_sum_fold(packet_sum(packet, (uint32_t)l3 + upper, (uint32_t)len - upper) + pseudo) !=
	    0xffff)
		return -EBADMSG;
	/* The request becomes the reply. */
	if (!packet_segment_own(packet) ||
	    !packet_writable_at(packet, (uint32_t)l3 + upper, ICMP_HEADER))
		return -ENOBUFS;
	return 0;
}

/* Change the type, in the header we have read. */
static void
change_type(uint8_t icmp[ICMP_HEADER], uint8_t type)
{
	uint16_t was, is, checksum;

	memcpy(&was, icmp, 2);
	icmp[0] = type;
	memcpy(&is, icmp, 2);
	memcpy(&checksum, icmp + 2, 2);
	checksum = ip_sum_replace(checksum, was, is);
	memcpy(icmp + 2, &checksum, 2);
}

/* RFC 792, RFC 1812 4.3.3.6. The type of service is the request's (4.3.2.5). */
int
icmp4_echo_reply(struct rte_mbuf *packet, uint16_t l3, uint16_t len, uint16_t upper,
		 const struct ip_addr *own)
{
	uint8_t *h = rte_pktmbuf_mtod_offset(packet, uint8_t *, l3);
	uint8_t icmp[ICMP_HEADER];
	uint32_t header_len;
	int rc;

	if (len < IP4_HEADER_MIN || packet->data_len < (uint32_t)l3 + IP4_HEADER_MIN)
		return -EBADMSG;
	header_len = (h[0] & 0x0f) * 4u;
	if (header_len < IP4_HEADER_MIN || header_len > upper ||
	    packet->data_len < l3 + header_len ||
	    (ip_get16(h + 6) & (IP4_MORE_FRAGMENTS | IP4_OFFSET_MASK)) != 0)
		return -EBADMSG;
	rc = read_request(packet, l3, len, upper, ICMP4_ECHO_REQUEST, 0, icmp);
	if (rc != 0)
		return rc;
	if (ip4_options_check(h, header_len) != IP4_OPTIONS_PLAIN)
		return -EBADMSG;

	change_type(icmp, ICMP4_ECHO_REPLY);
	write_bytes(packet, (uint32_t)l3 + upper, icmp, 4);
	h[8] = ECHO_TTL;
	memcpy(h + 16, h + 12, 4);
	memcpy(h + 12, own->bytes, 4);
	ip4_sum_set(h, header_len);
	packet_trim(packet, (uint32_t)l3 + len);
	return 0;
}

/*
 * Take n bytes out of the packet behind the first `front`, which are in the
 * first segment.
 */
static int
cut_out(struct rte_mbuf *packet, uint32_t front, uint32_t n)
{
	uint8_t copy[RTE_PKTMBUF_HEADROOM], *start = rte_pktmbuf_mtod(packet, uint8_t *);

	if (!packet_segment_own(packet))
		return -ENOBUFS;
	if (front + n <= packet->data_len) {
		memmove(start + n, start, front);
		packet_strip(packet, n);
		return 0;
	}
	/* What moves into the first segment leaves it its headroom. */
	if (front > sizeof(copy) || front > packet->buf_len)
		return -ENOBUFS;
	memcpy(copy, start, front);
	packet_strip(packet, front + n);
	start = (uint8_t *)rte_pktmbuf_prepend(packet, (uint16_t)front);
	if (start == NULL)
		return -ENOBUFS;
	memcpy(start, copy, front);
	return 0;
}

/* RFC 4443 4.2. Traffic class and flow label are the request's. */
int
icmp6_echo_reply(struct rte_mbuf *packet, uint16_t l3, uint16_t *len, uint16_t upper,
		 const struct ip_addr *own)
{
	uint8_t *h = rte_pktmbuf_mtod_offset(packet, uint8_t *, l3);
	uint8_t icmp[ICMP_HEADER];
	uint64_t pseudo, body;
	uint16_t checksum;
	uint32_t icmp_len;
	int rc;

	if (upper < IP6_HEADER || upper > *len || packet->data_len < (uint32_t)l3 + IP6_HEADER)
		return -EBADMSG;
	icmp_len = (uint32_t)*len - upper;
	pseudo = ip6_pseudo_sum(h, icmp_len, PROTO_ICMP6);
	rc = read_request(packet, l3, *len, upper, ICMP6_ECHO_REQUEST, pseudo, icmp);
	if (rc != 0)
		return rc;
	if (upper > IP6_HEADER) {
		rc = cut_out(packet, (uint32_t)l3 + IP6_HEADER, (uint32_t)upper - IP6_HEADER);
		if (rc != 0)
			return rc;
	}
	*len = (uint16_t)(IP6_HEADER + icmp_len);

	h = rte_pktmbuf_mtod_offset(packet, uint8_t *, l3);
	ip_put16(h + 4, (uint16_t)icmp_len);
	h[6] = PROTO_ICMP6;
	h[7] = ECHO_TTL;
	memcpy(h + 24, h + 8, 16);
	memcpy(h + 8, own->bytes, 16);

	change_type(icmp, ICMP6_ECHO_REPLY);
	/* The pseudo-header changed too: what it adds now comes in, what it added goes out. */
	memcpy(&checksum, icmp + 2, 2);
	body = (uint16_t)~checksum;
	body += (uint16_t)~ip_sum_fold(pseudo);
	body += ip6_pseudo_sum(h, icmp_len, PROTO_ICMP6);
	checksum = ip_sum_fold(body);
	checksum = (uint16_t)~checksum;
	memcpy(icmp + 2, &checksum, 2);
	write_bytes(packet, (uint32_t)l3 + IP6_HEADER, icmp, 4);
	packet_trim(packet, (uint32_t)l3 + *len);
	return 0;
}

/* n bytes that count up, appended in as many segments as it takes. */
static bool
append_pattern(struct rte_mempool *pool, struct rte_mbuf *packet, uint32_t n)
{
	struct rte_mbuf *last = packet;
	uint8_t next = 0;

	while (n > 0) {
		uint16_t here = (uint16_t)RTE_MIN(n, (uint32_t)rte_pktmbuf_tailroom(last));
		uint8_t *to = rte_pktmbuf_mtod_offset(last, uint8_t *, last->data_len);

		for (unsigned i = 0; i < here; i++)
			to[i] = next++;
		last->data_len += here;
		packet->pkt_len += here;
		n -= here;
		if (n == 0)
			break;
		last->next = rte_pktmbuf_alloc(pool);
		if (last->next == NULL)
			return false;
		last = last->next;
		packet->nb_segs++;
		if (rte_pktmbuf_tailroom(last) == 0)
			return false;
	}
	return true;
}

/*
 * The identification need only differ while fragments of earlier requests may
 * be under way (RFC 6864 4.3): that of the message does, with every sequence.
 */
static void
fill_header4(uint8_t *h, uint16_t total_len, uint16_t ident, const struct ip_addr *src,
	     const struct ip_addr *dst)
{
	h[0] = 0x45;
	ip_put16(h + 2, total_len);
	ip_put16(h + 4, ident);
	h[8] = ECHO_TTL;
	h[9] = PROTO_ICMP;
	memcpy(h + 12, src->bytes, 4);
	memcpy(h + 16, dst->bytes, 4);
	ip4_sum_set(h, IP4_HEADER_MIN);
}

static void
fill_header6(uint8_t *h, uint16_t icmp_len, const struct ip_addr *src, const struct ip_addr *dst)
{
	h[0] = 0x60;
	ip_put16(h + 4, icmp_len);
	h[6] = PROTO_ICMP6;
	h[7] = ECHO_TTL;
	memcpy(h + 8, src->bytes, 16);
	memcpy(h + 24, dst->bytes, 16);
}

struct rte_mbuf *
icmp_echo_request(struct rte_mempool *pool, const struct ip_addr *src, const struct ip_addr *dst,
		  uint16_t ident, uint16_t sequence, uint16_t size)
{
	bool v4 = dst->family == AF_INET;
	uint16_t header_len = v4 ? IP4_HEADER_MIN : IP6_HEADER;
	uint32_t icmp_len = (uint32_t)ICMP_HEADER + size;
	uint64_t sum = 0;
	uint16_t checksum;
	struct rte_mbuf *m;
	uint8_t *h, *icmp;

	if (icmp_len + (v4 ? IP4_HEADER_MIN : 0) > UINT16_MAX)
		return NULL;
	m = rte_pktmbuf_alloc(pool);
	if (m == NULL)
		return NULL;
	h = (uint8_t *)rte_pktmbuf_append(m, header_len + ICMP_HEADER);
	if (h == NULL || !append_pattern(pool, m, size)) {
		rte_pktmbuf_free_bulk(&m, 1);
		return NULL;
	}
	memset(h, 0, header_len + ICMP_HEADER);
	if (v4) {
		fill_header4(h, (uint16_t)m->pkt_len, (uint16_t)(ident + sequence), src, dst);
	} else {
		fill_header6(h, (uint16_t)icmp_len, src, dst);
		sum = ip6_pseudo_sum(h, icmp_len, PROTO_ICMP6);
	}
	icmp = h + header_len;
	icmp[0] = v4 ? ICMP4_ECHO_REQUEST : ICMP6_ECHO_REQUEST;
	ip_put16(icmp + 4, ident);
	ip_put16(icmp + 6, sequence);
	checksum = ip_sum_fold(sum + packet_sum(m, header_len, icmp_len));
	checksum = (uint16_t)~checksum;
	memcpy(icmp + 2, &checksum, 2);
	return m;
}
