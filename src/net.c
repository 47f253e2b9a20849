/* SPDX-License-Identifier: BSD-3-Clause */
#include "net.h"

#include <errno.h>

#include "address.h"
#include "neighbour.h"
#include "net_nexthop.h"
#include "net_route.h"
#include "sid.h"
#include "vrf.h"

struct rcu *rcu;

static struct fib_arena *arena;

/* Tables lie near the first port; -1: wherever. */
static int
tables_node(void)
{
	struct port *port;

	PORT_FOREACH(port)
		return port->socket;
	return -1;
}

int
net_init(struct err *err)
{
	int rc = -ENOMEM;

	nexthops = nexthop_table_create(rcu, err);
	arena = nexthops != NULL ? fib_arena_create(rcu, tables_node(), err) : NULL;
	if (arena == NULL)
		goto fail;
	rc = net_nexthop_init(err);
	if (rc == 0)
		rc = vrf_init(arena, err);
	if (rc == 0)
		rc = neighbour_init(err);
	if (rc == 0)
		rc = iface_init(err);
	if (rc == 0)
		return 0;
fail:
	net_fini();
	return rc;
}

void
net_fini(void)
{
	/* What leads to something goes before what it leads to. */
	if (neighbours != NULL)
		neighbour_fini();
	sids_fini();
	if (nexthops != NULL)
		groups_fini();
	vrf_fini();
	iface_fini();
	rcu_synchronize(rcu);
	net_nexthop_fini();
	if (nexthops != NULL)
		nexthop_table_destroy(nexthops);
	if (arena != NULL)
		fib_arena_destroy(arena);
	nexthops = NULL;
	arena = NULL;
}

void
net_tick(uint64_t now_ms)
{
	static uint64_t links_polled;

	neigh_tick(neighbours, now_ms);
	if (now_ms - links_polled >= 1000) {
		links_polled = now_ms;
		iface_poll_links();
	}
	rcu_poll(rcu);
}

int
net_vrf_find(const char *name, uint16_t *vrf, struct err *err)
{
	const struct vrf *v = vrf_of_name(strcmp(name, "default") == 0 ? "main" : name);

	if (v == NULL)
		return err_set(err, ENOENT, "vrf '%.40s' does not exist", name);
	*vrf = v->idx;
	return 0;
}

/* --- which address the router speaks from -------------------------------------------- */

bool
iface_source_for(const struct iface *iface, const struct ip_addr *to, struct ip_addr *source)
{
	bool v6 = to->family == AF_INET6;
	bool link_local = v6 && (ip6_is_link_local(to->bytes) ||
				 (to->bytes[0] == 0xff && (to->bytes[1] & 0xf) == 2));
	const struct iface_address *first = NULL;

	for (unsigned i = 0; i < iface->address_count; i++) {
		const struct iface_address *a = &iface->addresses[i];
		struct ip_prefix net;

		if (a->addr.family != to->family ||
		    (v6 && ip6_is_link_local(a->addr.bytes) != link_local))
			continue;
		net = ip_prefix_of(&a->addr, a->len);
		if (link_local || ip_prefix_contains(&net, to)) {
			*source = a->addr;
			return true;
		}
		if (first == NULL)
			first = a;
	}
	if (first == NULL)
		return false;
	*source = first->addr;
	return true;
}

/* Any address of the family in the VRF: better than silence where the link has none. */
static bool
any_source(uint16_t vrf, const struct ip_addr *to, struct ip_addr *source)
{
	struct iface_control *c;

	if (to->family == AF_INET6 && ip6_is_link_local(to->bytes))
		return false;
	IFACE_FOREACH(c) {
		if (c->vrf == vrf && iface_source_for(iface_at(c->id), to, source))
			return true;
	}
	return false;
}

/* The source on the way along a next hop; to: who is spoken to on the link. */
static bool
source_along(uint32_t nexthop, const struct ip_addr *dst, struct ip_addr *source)
{
	const struct group *g = net_nexthop_owner(nexthop, OWNER_GROUP);
	const struct neighbour *nb;
	uint16_t iface;

	if (g != NULL)
		nexthop = g->members[__builtin_ctzll(g->usable)].nexthop;
	nb = net_nexthop_owner(nexthop, OWNER_NEIGHBOUR);
	iface = nexthop_iface(nexthop);
	if (iface == 0)
		return false;
	/* From the network of the gateway, as Linux; not from its link-local address. */
	if (nb != NULL && !(nb->n->addr.family == AF_INET6 && ip6_is_link_local(nb->n->addr.bytes)))
		dst = &nb->n->addr;
	return iface_source_for(iface_at(iface), dst, source);
}

bool
net_source_for(uint16_t vrf, const struct ip_addr *dst, struct ip_addr *source, struct err *err)
{
	const struct vrf *v = vrf_at(vrf);
	char text[IP_ADDR_TEXT], table[VRF_TEXT];
	struct route route;
	enum nexthop_type type = NEXTHOP_NONE;

	ip_addr_format(dst, text);
	if (v == NULL) {
		err_set(err, ENOENT, "%s: the VRF does not exist", text);
		return false;
	}
	if (route_match(v, dst, &route))
		type = nexthop_at(nexthops, route.claims[0].nexthop)->type;
	if (type == NEXTHOP_LOCAL) {
		*source = *dst;
		return true;
	}
	if (type == NEXTHOP_NONE || type == NEXTHOP_BLACKHOLE || type == NEXTHOP_PROHIBIT ||
	    type == NEXTHOP_MARTIAN) {
		err_set(err, ENETUNREACH, "%s: no route in %s", text, vrf_text(v, table));
		return false;
	}
	if (source_along(route.claims[0].nexthop, dst, source) || any_source(vrf, dst, source))
		return true;
	err_set(err, EADDRNOTAVAIL, "%s: no %s address in %s to speak from", text,
		dst->family == AF_INET ? "IPv4" : "IPv6", vrf_text(v, table));
	return false;
}
