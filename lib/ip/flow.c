/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Which flow a packet belongs to, as a number. */
#include "ip.h"
#include "mix.h"

/* 32 bits of ports, 8 of protocol. */
static inline uint64_t
upper_layer(const uint8_t *h, uint32_t offset, uint32_t contiguous, uint8_t proto, bool whole)
{
	rte_be32_t ports = 0;

	if ((proto == PROTO_TCP || proto == PROTO_UDP || proto == PROTO_SCTP) && whole &&
	    offset + 4 <= contiguous)
		memcpy(&ports, h + offset, 4);
	return (uint64_t)proto << 32 | rte_be_to_cpu_32(ports);
}

/* No fragment of a datagram is hashed by its ports, not even the first, which has them: all go
 * the same way. */
uint32_t
ip4_flow_hash(const uint8_t *h, uint16_t contiguous)
{
	bool whole;
	uint64_t upper;

	if (unlikely(contiguous < IP4_HEADER_MIN))
		return 0;
	whole = (ip_get16(h + 6) & (IP4_MORE_FRAGMENTS | IP4_OFFSET_MASK)) == 0;
	upper = upper_layer(h, (h[0] & 0x0f) * 4u, contiguous, h[9], whole);
	return mix_end(mix(word64(h + 12) ^ SALT_A, upper ^ SALT_B));
}

/* RFC 6438 3. A sender that leaves the label zero adds nothing to the hash, one that uses a single
 * label for everything harms nothing, as ports count too. */
uint32_t
ip6_flow_hash(const uint8_t *h, uint16_t contiguous)
{
	uint64_t label, upper;

	if (unlikely(contiguous < IP6_HEADER))
		return 0;
	label = (uint64_t)(h[1] & 0x0f) << 16 | ip_get16(h + 2);
	upper = upper_layer(h, IP6_HEADER, contiguous, h[6], true) | label << 40;
	return mix_end(mix(word64(h + 8) ^ SALT_A, word64(h + 16) ^ SALT_B) ^
		       mix(word64(h + 24) ^ SALT_C, word64(h + 32) ^ SALT_D) ^
		       mix(upper ^ SALT_B, SALT_C));
}
