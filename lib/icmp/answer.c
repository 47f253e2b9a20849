/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What comes back to `ping`.
 */
#include <errno.h>

#include "icmp.h"
#include "ip.h"

/* All of a message that is looked at: its header, and a quoted plain IP header with an
 * echo header behind it. */
#define LOOK_MAX (ICMP_HEADER + IP6_HEADER + ICMP_HEADER)

static bool
is_reply(uint8_t family, uint8_t type)
{
	return type == (family == AF_INET ? ICMP4_ECHO_REPLY : ICMP6_ECHO_REPLY);
}

static bool
is_error(uint8_t family, uint8_t type)
{
	if (family == AF_INET)
		return type == ICMP4_UNREACHABLE || type == ICMP4_TIME_EXCEEDED ||
		       type == ICMP4_PARAMETER;
	return type >= ICMP6_UNREACHABLE && type <= ICMP6_PARAMETER;
}

/*
 * The quoted packet's echo header if it is an echo request from address `to`,
 * where the error came: one that quotes what we did not send is none of
 * ours.
 */
static const uint8_t *
quoted_request(uint8_t family, const uint8_t *q, uint32_t n, const uint8_t *to)
{
	if (family == AF_INET) {
		if (n < IP4_HEADER_MIN + ICMP_HEADER || q[0] != 0x45 || q[9] != PROTO_ICMP ||
		    (ip_get16(q + 6) & IP4_OFFSET_MASK) != 0 || memcmp(q + 12, to, 4) != 0 ||
		    q[IP4_HEADER_MIN] != ICMP4_ECHO_REQUEST)
			return NULL;
		return q + IP4_HEADER_MIN;
	}
	if (n < IP6_HEADER + ICMP_HEADER || q[0] >> 4 != 6 || q[6] != PROTO_ICMP6 ||
	    memcmp(q + 8, to, 16) != 0 || q[IP6_HEADER] != ICMP6_ECHO_REQUEST)
		return NULL;
	return q + IP6_HEADER;
}

int
icmp_answer_parse(const struct rte_mbuf *packet, uint16_t l3, uint16_t len, uint16_t upper,
		  uint8_t family, struct icmp_answer *answer)
{
	const uint8_t *h = rte_pktmbuf_mtod_offset(packet, const uint8_t *, l3);
	uint16_t header_len = family == AF_INET ? IP4_HEADER_MIN : IP6_HEADER;
	uint8_t copy[LOOK_MAX];
	const uint8_t *icmp, *echo;
	uint32_t icmp_len, look;
	uint64_t sum = 0;

	if (upper < header_len || packet->data_len < (uint32_t)l3 + header_len ||
	    (uint32_t)upper + ICMP_HEADER > len || (uint32_t)l3 + len > packet->pkt_len)
		return -EBADMSG;
	icmp_len = (uint32_t)len - upper;
	look = RTE_MIN(icmp_len, (uint32_t)LOOK_MAX);
	icmp = rte_pktmbuf_read(packet, (uint32_t)l3 + upper, look, copy);
	if (icmp == NULL)
		return -EBADMSG;
	if (is_reply(family, icmp[0]))
		echo = icmp;
	else if (is_error(family, icmp[0]))
		echo = quoted_request(family, icmp + ICMP_HEADER, look - ICMP_HEADER,
				      family == AF_INET ? h + 16 : h + 24);
	else
		return -ENOENT;
	if (family != AF_INET)
		sum = ip6_pseudo_sum(h, icmp_len, PROTO_ICMP6);
	if (ip_sum_fold(sum + packet_sum(packet, (uint32_t)l3 + upper, icmp_len)) != 0xffff)
		return -EBADMSG;
	if (echo == NULL)
		return -ENOENT;

	*answer = (struct icmp_answer){
		.type = icmp[0],
		.code = icmp[1],
		.ident = ip_get16(echo + 4),
		.sequence = ip_get16(echo + 6),
		.ttl = family == AF_INET ? h[8] : h[7],
		.size = echo == icmp ? (uint16_t)(icmp_len - ICMP_HEADER) : 0,
	};
	answer->from.family = family;
	memcpy(answer->from.bytes, family == AF_INET ? h + 12 : h + 8, family == AF_INET ? 4 : 16);
	return 0;
}
