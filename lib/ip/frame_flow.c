/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame_flow.h"

#include <rte_branch_prediction.h>
#include <rte_common.h>
#include <rte_ether.h>

#include "ip.h"
#include "mix.h"

#define DEPTH_MAX      4
#define EXTENSIONS_MAX 8
#define TAGS_MAX       2

/* A header, and the bytes from there on that can be read. */
struct header {
	const uint8_t *at;
	uint32_t room;
};

/* What follows the headers of an IP packet. */
struct upper {
	uint8_t proto;
	bool fragment;
	uint32_t offset; /* from the IP header */
	uint32_t id;	 /* of a fragment */
};

/* The IP version behind an Ethernet header, where *h is then; 0: it is not IP. */
static inline unsigned
behind_ethernet(struct header *h)
{
	uint32_t offset = RTE_ETHER_HDR_LEN;
	uint16_t type;

	if (unlikely(h->room < offset))
		return 0;
	type = ip_get16(h->at + 12);
	for (unsigned tags = 0;
	     unlikely(type == RTE_ETHER_TYPE_VLAN || type == RTE_ETHER_TYPE_QINQ); tags++) {
		if (tags == TAGS_MAX || h->room < offset + RTE_VLAN_HLEN)
			return 0;
		type = ip_get16(h->at + offset + 2);
		offset += RTE_VLAN_HLEN;
	}
	h->at += offset;
	h->room -= offset;
	if (type == RTE_ETHER_TYPE_IPV6)
		return h->room >= IP6_HEADER ? 6 : 0;
	if (type == RTE_ETHER_TYPE_IPV4)
		return h->room >= IP4_HEADER_MIN ? 4 : 0;
	return 0;
}

static inline struct upper
upper4(const uint8_t *h)
{
	bool fragment = (ip_get16(h + 6) & (IP4_MORE_FRAGMENTS | IP4_OFFSET_MASK)) != 0;

	return (struct upper){
		.proto = h[9],
		.fragment = fragment,
		.offset = (h[0] & 0x0f) * 4u,
		.id = ip_get16(h + 4),
	};
}

/* RFC 8200 4. A chain that is cut short ends where it is cut. */
static inline struct upper
upper6(const uint8_t *h, uint32_t room)
{
	struct upper u = {.proto = h[6], .offset = IP6_HEADER};

	for (unsigned i = 0; i < EXTENSIONS_MAX; i++) {
		const uint8_t *extension = h + u.offset;

		if (likely(u.proto != PROTO_ROUTING && u.proto != PROTO_DSTOPTS &&
			   u.proto != PROTO_HOPOPTS && u.proto != PROTO_FRAGMENT))
			break;
		if (u.offset + 8 > room)
			break;
		if (u.proto != PROTO_FRAGMENT) {
			u.offset += 8 + 8u * extension[1];
		} else {
			/* Offset and more-fragments; with neither it is whole (RFC 6946). */
			if ((ip_get16(extension + 2) & 0xfff9) != 0) {
				u.fragment = true;
				u.id = word32(extension + 4);
				u.proto = extension[0];
				break;
			}
			u.offset += 8;
		}
		u.proto = extension[0];
	}
	return u;
}

static inline struct upper
upper_of(const struct header *h, unsigned version)
{
	return version == 4 ? upper4(h->at) : upper6(h->at, h->room);
}

static inline bool
has_ports(uint8_t proto)
{
	return proto == PROTO_TCP || proto == PROTO_UDP || proto == PROTO_SCTP;
}

/* What tells flows between two addresses apart: protocol, and ports or what stands in for
 * them. Kinds do not mix. */
static inline uint64_t
distinction(const struct header *h, unsigned version, const struct upper *u)
{
	uint64_t proto = (uint64_t)u->proto << 32;

	if (unlikely(u->fragment))
		return UINT64_C(1) << 40 | proto | u->id;
	if (has_ports(u->proto) && u->offset + 4 <= h->room)
		return UINT64_C(2) << 40 | proto | word32(h->at + u->offset);
	if (version == 6)
		return UINT64_C(3) << 40 | proto | (word32(h->at) & 0xfffff);
	return proto;
}

static inline uint32_t
hash_ip(const struct header *h, unsigned version, const struct upper *u)
{
	uint64_t tail = distinction(h, version, u);

	if (version == 4)
		return mix_end(mix(word64(h->at + 12) ^ SALT_A, tail ^ SALT_B));
	return mix_end(mix(word64(h->at + 8) ^ SALT_A, word64(h->at + 16) ^ SALT_B) ^
		       mix(word64(h->at + 24) ^ SALT_C, word64(h->at + 32) ^ SALT_D) ^
		       mix(tail ^ SALT_B, SALT_C));
}

/* Not IP: by who speaks to whom. */
static uint32_t
hash_ethernet(const uint8_t *frame, uint32_t contiguous)
{
	uint8_t head[16] = {0};

	memcpy(head, frame, RTE_MIN(contiguous, (uint32_t)RTE_ETHER_HDR_LEN));
	return mix_end(mix(word64(head) ^ SALT_A, word64(head + 8) ^ SALT_B));
}

/* One level down a tunnel; 0: there is none, and *h has not moved. */
static inline unsigned
descend(struct header *h, const struct upper *u)
{
	struct header inner = {h->at + u->offset, h->room - u->offset};
	unsigned version;

	if (u->fragment || u->offset > h->room)
		return 0;
	if (u->proto == PROTO_ETHERNET) {
		version = behind_ethernet(&inner);
	} else if (u->proto == PROTO_IP4) {
		version = inner.room >= IP4_HEADER_MIN ? 4 : 0;
	} else if (u->proto == PROTO_IP6) {
		version = inner.room >= IP6_HEADER ? 6 : 0;
	} else {
		return 0;
	}
	if (version == 0 || inner.at[0] >> 4 != version)
		return 0;
	*h = inner;
	return version;
}

uint32_t
frame_flow_outer(const uint8_t *frame, uint32_t contiguous)
{
	struct header h = {frame, contiguous};
	unsigned version = behind_ethernet(&h);
	struct upper u;

	if (unlikely(version == 0))
		return hash_ethernet(frame, contiguous);
	u = upper_of(&h, version);
	return hash_ip(&h, version, &u);
}

uint32_t
frame_flow_inner(const uint8_t *frame, uint32_t contiguous)
{
	struct header h = {frame, contiguous};
	unsigned version = behind_ethernet(&h);
	struct upper u;

	if (unlikely(version == 0))
		return hash_ethernet(frame, contiguous);
	u = upper_of(&h, version);
	for (unsigned depth = 0; depth < DEPTH_MAX; depth++) {
		unsigned inner = descend(&h, &u);

		if (inner == 0)
			break;
		version = inner;
		u = upper_of(&h, version);
	}
	return hash_ip(&h, version, &u);
}
