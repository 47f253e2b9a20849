/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * IPv6 fragmentation, which only a packet's source may do (RFC 8200 4.5).
 */
#include <errno.h>

#include <rte_mbuf_dyn.h>

#include "fragment.h"
#include "ip.h"

#define FRAGMENT_HEADER 8

static int
read_header(const struct rte_mbuf *packet, uint16_t mtu, uint8_t header[IP6_HEADER])
{
	const uint8_t *h = rte_pktmbuf_read(packet, 0, IP6_HEADER, header);

	if (h == NULL || mtu < IP6_HEADER + FRAGMENT_HEADER + 8)
		return -EINVAL;
	if (h != header)
		memcpy(header, h, IP6_HEADER);
	if (packet->pkt_len != IP6_HEADER + (uint32_t)ip_get16(h + 4))
		return -EINVAL;
	/* Those routers look at would have to be in every fragment. */
	if (h[6] == PROTO_HOPOPTS || h[6] == PROTO_ROUTING || h[6] == PROTO_FRAGMENT)
		return -EINVAL;
	return 0;
}

int
ip6_fragment(const struct rte_mbuf *packet, uint16_t mtu, uint32_t id, struct rte_mempool *pool,
	     struct rte_mbuf *out[], unsigned max)
{
	struct fragment_cursor from = {.segment = packet};
	uint8_t headers[IP6_HEADER + FRAGMENT_HEADER], *f = headers + IP6_HEADER;
	uint32_t each = ((uint32_t)mtu - sizeof(headers)) & ~7u, left, done = 0;
	unsigned count;
	int rc = read_header(packet, mtu, headers);

	if (rc != 0)
		return rc;
	left = packet->pkt_len - IP6_HEADER;
	count = (left + each - 1) / each;
	if (count > max)
		return -E2BIG;
	f[0] = headers[6];
	f[1] = 0;
	memcpy(f + 4, &id, 4);
	headers[6] = PROTO_FRAGMENT;
	fragment_skip(&from, IP6_HEADER);
	for (unsigned i = 0; i < count; i++) {
		uint32_t n = RTE_MIN(left, each);

		left -= n;
		ip_put16(headers + 4, (uint16_t)(FRAGMENT_HEADER + n));
		ip_put16(f + 2, (uint16_t)(done | (left != 0)));
		out[i] = fragment_make(pool, headers, sizeof(headers), &from, n);
		if (out[i] == NULL) {
			rte_pktmbuf_free_bulk(out, i);
			return -ENOBUFS;
		}
		out[i]->port = packet->port;
		out[i]->hash = packet->hash;
		rte_mbuf_dynfield_copy(out[i], packet);
		done += n;
	}
	return (int)count;
}
