/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A worker's memory of addresses: which are the router's, and how to answer
 * which sender. An entry is true while route_generation is what it was.
 */

#include "demux.h"
#include "lookup.h"

static bool
is_local(uint32_t value)
{
	return nexthop_at(nexthops, value)->type == NEXTHOP_LOCAL;
}

bool
udp_address_mine4(struct udp_own *own, uint16_t vrf, uint32_t addr, uint32_t generation)
{
	uint64_t key = (uint64_t)vrf << 32 | addr;
	struct local4 *e = &own->local4[_mm_crc32_u64(0, key) % LOCAL_CACHE];

	if (likely(e->key == key && e->generation == generation))
		return e->mine;
	e->key = key;
	e->generation = generation;
	e->mine = is_local(fib4_lookup(vrf_fibs[vrf].fib4, rte_be_to_cpu_32(addr)));
	return e->mine;
}

static uint64_t
hash6(const uint8_t *addr, uint16_t vrf)
{
	uint64_t words[2];

	memcpy(words, addr, sizeof(words));
	return _mm_crc32_u64(_mm_crc32_u64(vrf, words[0]), words[1]);
}

bool
udp_address_mine6(struct udp_own *own, uint16_t vrf, const uint8_t *addr, uint32_t generation)
{
	struct local6 *e = &own->local6[hash6(addr, vrf) % LOCAL_CACHE];

	if (likely(e->generation == generation && e->vrf == vrf &&
		   memcmp(e->addr, addr, sizeof(e->addr)) == 0))
		return e->mine;
	memcpy(e->addr, addr, sizeof(e->addr));
	e->vrf = vrf;
	e->generation = generation;
	e->mine = is_local(fib6_lookup(vrf_fibs[vrf].fib6, addr));
	return e->mine;
}

struct peer *
udp_address_way(struct udp_own *own, uint16_t vrf, uint8_t family, const uint8_t *addr,
		uint32_t generation)
{
	uint8_t whole[16] = {0};
	struct peer *e;

	memcpy(whole, addr, family == AF_INET ? 4 : 16);
	e = &own->peers[hash6(whole, vrf) % PEER_CACHE];
	if (likely(e->generation == generation && e->vrf == vrf && e->family == family &&
		   memcmp(e->addr, whole, sizeof(whole)) == 0))
		return e;
	memcpy(e->addr, whole, sizeof(whole));
	e->vrf = vrf;
	e->family = family;
	e->generation = generation;
	e->source.family = 0;
	if (family == AF_INET) {
		uint32_t dst;

		memcpy(&dst, addr, sizeof(dst));
		e->nexthop = fib4_lookup(vrf_fibs[vrf].fib4, rte_be_to_cpu_32(dst));
	} else {
		e->nexthop = fib6_lookup(vrf_fibs[vrf].fib6, addr);
	}
	return e;
}

/* An address of the interface for this destination that others can answer to. */
static bool
source_on(const struct iface *iface, const struct ip_addr *to, struct ip_addr *source)
{
	return iface != NULL && iface_source_for(iface, to, source) &&
	       !(to->family == AF_INET6 && ip6_is_link_local(source->bytes));
}

bool
udp_address_source(struct peer *way, struct ip_addr *source)
{
	const struct nexthop *nh = nexthop_at(nexthops, way->nexthop);
	struct ip_addr to = {.family = way->family};
	bool found = true;

	if (way->source.family != 0) {
		*source = way->source;
		return true;
	}
	memcpy(to.bytes, way->addr, sizeof(to.bytes));
	if (nh->type == NEXTHOP_GROUP)
		nh = nexthop_at(nexthops, nexthop_group_pick(nh, 0));
	if (nh->type == NEXTHOP_LOCAL) {
		way->source = to;
	} else if (!source_on(iface_at(nh->iface), &to, &way->source)) {
		/* Any of the VRF: better than silence where the link has none. */
		found = false;
		for (unsigned id = 1; id < IFACE_MAX && !found; id++) {
			const struct iface *iface = iface_at(id);

			found = iface != NULL && iface->vrf == way->vrf &&
				source_on(iface, &to, &way->source);
		}
	}
	if (!found)
		way->source.family = 0;
	*source = way->source;
	return found;
}
