/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A bounded walk along IPv6 extension headers.
 */
#include <errno.h>

#include "ip.h"

/* More than any sane packet has; what an attacker can make us read per packet. */
#define WALK_MAX 8

/* Every extension header we pass is at least this long, and tells its length within. */
#define EXT_MIN 8

/* RFC 8200 4 */
int
ip6_walk(const uint8_t *h, uint16_t len, uint16_t contiguous, uint8_t proto, uint16_t offset,
	 uint16_t next_field, bool over_routing, bool over_fragment, struct ip6_walk *walk)
{
	uint32_t at = offset, ext_len;
	const uint8_t *ext;
	unsigned passed = 0;

	*walk = (struct ip6_walk){.proto = proto, .offset = offset, .next_field = next_field};
	if (unlikely(at > len))
		return DROP_IP6_TRUNCATED;
	for (;; passed++) {
		switch (walk->proto) {
		case PROTO_HOPOPTS:
			/* Only the IPv6 header has its Next Header there. */
			if (walk->next_field != 6)
				return DROP_IP6_EXT_HEADER;
			break;
		case PROTO_DSTOPTS:
			break;
		case PROTO_ROUTING:
			if (!over_routing)
				return 0;
			break;
		case PROTO_FRAGMENT:
			if (!over_fragment)
				return 0;
			break;
		default:
			return 0;
		}
		if (passed == WALK_MAX)
			return DROP_IP6_EXT_HEADER;
		if (at + EXT_MIN > len)
			return DROP_IP6_TRUNCATED;
		if (at + EXT_MIN > contiguous)
			return -EAGAIN;
		ext = h + at;
		ext_len = EXT_MIN;
		if (walk->proto == PROTO_ROUTING && ext[3] > 0) /* segments left */
			return 0;
		if (walk->proto != PROTO_FRAGMENT)
			ext_len += ext[1] * 8u;
		if (at + ext_len > len)
			return DROP_IP6_TRUNCATED;
		if (walk->proto == PROTO_FRAGMENT && (ip_get16(ext + 2) & 0xfff9) != 0) {
			walk->fragment = true;
			walk->late_fragment = (ip_get16(ext + 2) & 0xfff8) != 0;
		}
		walk->proto = ext[0];
		walk->next_field = (uint16_t)at;
		at += ext_len;
		walk->offset = (uint16_t)at;
		if (walk->late_fragment)
			return 0;
	}
}
