/* SPDX-License-Identifier: BSD-3-Clause */
#include "srv6.h"

#include <string.h>

/* Routing headers (RFC 8200 4.4) and the SRH (RFC 8754 2), offsets in bytes. */
enum {
	RH_NEXT = 0,
	RH_LEN = 1, /* in units of 8 bytes, not counting the first 8 */
	RH_TYPE = 2,
	RH_SEGMENTS_LEFT = 3,
	SRH_LAST_ENTRY = 4,
	SRH_SEGMENTS = 8,
};

enum {
	IP6_NEXT = 6,
	IP6_HOP_LIMIT = 7,
	IP6_DST = 24
};

/* Extension headers before we stop believing the packet. */
#define WALK_MAX 8

static enum srv6_outcome
drop(struct srv6_packet *p, enum drop_reason reason)
{
	p->reason = (uint8_t)reason;
	p->has_error = false;
	return SRV6_DROP;
}

static enum srv6_outcome
drop_with(struct srv6_packet *p, enum drop_reason reason, uint8_t type, uint8_t code,
	  uint32_t value)
{
	p->reason = (uint8_t)reason;
	p->has_error = true;
	p->error = (struct icmp_error){.type = type, .code = code, .value = value};
	return SRV6_DROP;
}

int
ip6_options_check(const uint8_t *h, uint16_t offset, uint16_t size, bool *has_error,
		  struct icmp_error *error)
{
	uint16_t at = offset + 2, end = (uint16_t)(offset + size);

	*has_error = false;
	while (at < end) {
		uint8_t type = h[at];

		if (type == 0) { /* Pad1 */
			at++;
			continue;
		}
		if (end - at < 2 || h[at + 1] > end - at - 2)
			return DROP_IP6_EXT_HEADER;
		/* PadN and Router Alert are known; the two top bits of any other
		 * say what a node that does not know it does. */
		if (type != 1 && type != 5 && (type & 0xc0) != 0) {
			if ((type & 0xc0) != 0x40) {
				*has_error = true;
				*error = (struct icmp_error){
					.type = ICMP6_PARAMETER, .code = 2, .value = at};
			}
			return DROP_IP6_EXT_HEADER;
		}
		at = (uint16_t)(at + 2 + h[at + 1]);
	}
	return 0;
}

/* Move what lies before the header at `offset` over it, and name its follower
 * in the Next Header field that named it. */
static void
remove_header(struct srv6_packet *p, uint16_t offset, uint16_t size, uint16_t next_field)
{
	uint16_t payload;

	p->ip[next_field] = p->ip[offset];
	memmove(p->ip + size, p->ip, offset);
	p->ip += size;
	p->len = (uint16_t)(p->len - size);
	p->contiguous = (uint16_t)(p->contiguous - size);
	payload = rte_cpu_to_be_16((uint16_t)(p->len - IP6_HEADER));
	memcpy(p->ip + 4, &payload, sizeof(payload));
}

static enum srv6_outcome
decapsulate(struct srv6_packet *p, uint16_t offset, uint8_t proto)
{
	p->outer_ecn = (p->ip[1] >> 4) & 3;
	p->ip += offset;
	p->len = (uint16_t)(p->len - offset);
	p->contiguous = (uint16_t)(p->contiguous - offset);
	return proto == PROTO_IP4 ? SRV6_INNER4 : SRV6_INNER6;
}

/*
 * RFC 8986 4.1, lines S05 to S14, and PSP (4.16.1): segments left is not 0 and
 * the SID is End, End.X or End.T.
 */
static enum srv6_outcome
next_segment(const struct nexthop *sid, struct srv6_packet *p, uint16_t offset, uint16_t size,
	     uint16_t next_field)
{
	uint8_t *srh = p->ip + offset;
	unsigned max_last_entry = srh[RH_LEN] / 2u - 1u; /* wraps for an SRH without segments */
	unsigned last_entry = srh[SRH_LAST_ENTRY];
	unsigned left = srh[RH_SEGMENTS_LEFT];

	if (p->ip[IP6_HOP_LIMIT] <= 1)
		return drop_with(p, DROP_IP6_HOP_LIMIT, ICMP6_TIME_EXCEEDED, 0, 0);
	if (srh[RH_LEN] < 2 || last_entry > max_last_entry || left > last_entry + 1)
		return drop_with(p, DROP_SRH_MALFORMED, ICMP6_PARAMETER, ICMP6_PARAMETER_HEADER,
				 offset + RH_SEGMENTS_LEFT);
	p->ip[IP6_HOP_LIMIT]--;
	left--;
	srh[RH_SEGMENTS_LEFT] = (uint8_t)left;
	memcpy(p->ip + IP6_DST, srh + SRH_SEGMENTS + 16 * left, 16);
	if (left == 0 && (sid->flavours & SID_PSP) != 0)
		remove_header(p, offset, size, next_field);
	return SRV6_NEXT;
}

/* RFC 8986 4.1.1: the walk ended at a header that is no extension of ours. */
static enum srv6_outcome
upper_layer(const struct nexthop *sid, struct srv6_packet *p, uint16_t offset, uint8_t proto)
{
	p->proto = proto;
	p->upper = offset;
	if (proto == PROTO_ICMP6 || (sid->flags & NEXTHOP_ADDRESS) != 0)
		return SRV6_UPPER;
	return drop_with(p, DROP_SID_UPPER_LAYER, ICMP6_PARAMETER, ICMP6_PARAMETER_SR_UPPER,
			 offset);
}

static bool
is_transit(const struct nexthop *sid)
{
	return sid->behaviour <= SID_END_T;
}
static_assert(SID_END == 0 && SID_END_X == 1 && SID_END_T == 2, "the transit behaviours");

enum srv6_outcome
srv6_process(const struct nexthop *sid, struct srv6_packet *p)
{
	uint16_t offset = IP6_HEADER, next_field = IP6_NEXT, size;
	uint8_t proto = p->ip[IP6_NEXT];
	const uint8_t *header;
	int reason;

	for (unsigned n = 0; n <= WALK_MAX; n++) {
		switch (proto) {
		case PROTO_HOPOPTS:
		case PROTO_DSTOPTS:
		case PROTO_ROUTING:
			break;
		case PROTO_IP4:
		case PROTO_IP6:
			if (srv6_decapsulates(sid, proto))
				return decapsulate(p, offset, proto);
			/* fallthrough */
		default:
			return upper_layer(sid, p, offset, proto);
		}
		if (proto == PROTO_HOPOPTS && offset != IP6_HEADER)
			return drop_with(p, DROP_IP6_EXT_HEADER, ICMP6_PARAMETER,
					 ICMP6_PARAMETER_NEXT_HEADER, next_field);
		header = p->ip + offset;
		if (offset + 8 > p->len || offset + 8 + 8 * header[1] > p->len)
			return drop(p, proto == PROTO_ROUTING ? DROP_SRH_MALFORMED
							      : DROP_IP6_TRUNCATED);
		size = (uint16_t)(8 + 8 * header[1]);
		if (offset + size > p->contiguous)
			return drop(p, DROP_IP6_EXT_HEADER);
		if (proto != PROTO_ROUTING) {
			reason = ip6_options_check(p->ip, offset, size, &p->has_error, &p->error);
			if (reason != 0) {
				p->reason = (uint8_t)reason;
				return SRV6_DROP;
			}
		} else if (header[RH_TYPE] != SRV6_ROUTING_TYPE) {
			/* RFC 8200 4.4: skipped when nothing is left to visit. */
			if (header[RH_SEGMENTS_LEFT] != 0)
				return drop_with(p, DROP_IP6_EXT_HEADER, ICMP6_PARAMETER,
						 ICMP6_PARAMETER_HEADER, offset + RH_TYPE);
		} else if (header[RH_SEGMENTS_LEFT] != 0) {
			/* RFC 8986 4.4 to 4.8, line S02: the last segment only. */
			if (!is_transit(sid))
				return drop_with(p, DROP_SRH_SEGMENTS_LEFT, ICMP6_PARAMETER,
						 ICMP6_PARAMETER_HEADER, offset + RH_SEGMENTS_LEFT);
			return next_segment(sid, p, offset, size, next_field);
		} else if ((sid->flavours & SID_USP) != 0) {
			/* RFC 8986 4.16.2 */
			proto = header[RH_NEXT];
			remove_header(p, offset, size, next_field);
			continue;
		}
		proto = header[0];
		next_field = offset;
		offset = (uint16_t)(offset + size);
	}
	return drop(p, DROP_IP6_EXT_HEADER);
}
