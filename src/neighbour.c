/* SPDX-License-Identifier: BSD-3-Clause */
#include "neighbour.h"

#include <errno.h>
#include <stdlib.h>

#include "handoff.h"
#include "loop.h"
#include "net_nexthop.h"
#include "route.h"

#define ETHERTYPE_VLAN 0x8100u
#define ETHERTYPE_IP4  0x0800u
#define ETHERTYPE_IP6  0x86ddu

struct neigh_table *neighbours;

static bool
is_link_local(const struct ip_addr *a)
{
	return a->family == AF_INET6 && ip6_is_link_local(a->bytes);
}

static struct neighbour *
neighbour_of(const struct neigh *n)
{
	return net_nexthop_owner(n->user, OWNER_NEIGHBOUR);
}

/* --- what workers see ----------------------------------------------------------------- */

/* The link header, right-aligned. */
static void
rewrite_make(struct nexthop *contents, const struct iface_control *c, const struct neigh *n)
{
	uint16_t type = n->addr.family == AF_INET ? ETHERTYPE_IP4 : ETHERTYPE_IP6;
	uint8_t *p = &contents->rewrite[NEXTHOP_REWRITE_MAX];

	contents->rewrite_len = c->vlan != 0 ? 18 : 14;
	*--p = (uint8_t)type;
	*--p = (uint8_t)(type >> 8);
	if (c->vlan != 0) {
		*--p = (uint8_t)c->vlan;
		*--p = (uint8_t)(c->vlan >> 8);
		*--p = (uint8_t)ETHERTYPE_VLAN;
		*--p = (uint8_t)(ETHERTYPE_VLAN >> 8);
	}
	memcpy(p - 6, c->mac, 6);
	memcpy(p - 12, n->mac, 6);
}

static struct nexthop
contents_make(const struct iface_control *c, const struct neighbour *nb)
{
	const struct neigh *n = nb->n;
	struct nexthop contents = {
		.type = NEXTHOP_RESOLVE,
		.port = c->port,
		.iface = c->id,
		.mtu = c->mtu,
		.family = n->addr.family,
	};

	if (nb->detached || (c->vlan != 0 && !c->admin_up)) {
		contents.type = NEXTHOP_UNREACHABLE;
	} else if (n->has_mac) {
		contents.type = NEXTHOP_ADJACENT;
		if (n->state == NEIGH_STALE)
			contents.flags = NEXTHOP_STALE;
		rewrite_make(&contents, c, n);
	}
	return contents;
}

static void
publish(const struct iface_control *c, struct neighbour *nb)
{
	struct nexthop contents = contents_make(c, nb);
	const struct nexthop *now = nexthop_at(nexthops, nb->n->user);

	if (now->type == contents.type && now->flags == contents.flags &&
	    now->mtu == contents.mtu && now->rewrite_len == contents.rewrite_len &&
	    memcmp(now->rewrite, contents.rewrite, sizeof(now->rewrite)) == 0)
		return;
	/* Without memory the old entry stays; the next change of state tries again. */
	nexthop_replace(nexthops, nb->n->user, &contents);
}

/* --- host routes ------------------------------------------------------------------------ */

/*
 * Is what covers the neighbour's address, host routes aside, this very
 * interface? Then packets go straight to the neighbour's next hop. Where a route to
 * elsewhere lies between, its prefix wins and the neighbour gets none.
 */
static bool
host_route_wanted(const struct iface_control *c, const struct vrf *v, const struct ip_addr *addr)
{
	const struct connected *net;
	int shortest = 0;

	if (is_link_local(addr))
		return false;
	net = vrf_connected_find(v, addr, ip_bits(addr->family) - 1, 0);
	if (net != NULL)
		shortest = net->prefix.len;
	else if (v->onlink == 0)
		return false;
	for (int len = (int)ip_bits(addr->family) - 1; len >= shortest; len--) {
		struct ip_prefix p = ip_prefix_of(addr, (unsigned)len);
		struct route route;

		if (route_get(v, &p, &route))
			return route.claims[0].nexthop == c->connected;
	}
	return false;
}

static void
host_route_drop(struct neighbour *nb)
{
	struct ip_prefix host = ip_prefix_of(&nb->n->addr, ip_bits(nb->n->addr.family));
	struct vrf *v = nb->host_route;

	nb->host_route = NULL;
	if (v != NULL)
		route_unclaim(v, &host, ROUTE_NEIGHBOUR);
}

static void
host_route_update(struct iface_control *c, struct neighbour *nb)
{
	struct vrf *v = vrf_at(c->vrf);
	struct ip_prefix host = ip_prefix_of(&nb->n->addr, ip_bits(nb->n->addr.family));
	bool wanted = nb->n->has_mac && !nb->detached && host_route_wanted(c, v, &nb->n->addr);
	struct route_claim claim = {
		.nexthop = nb->n->user,
		.kind = ROUTE_NEIGHBOUR,
		.proto = ROUTE_PROTO_KERNEL,
	};

	if (nb->host_route != NULL && (!wanted || nb->host_route != v))
		host_route_drop(nb);
	if (!wanted || nb->host_route != NULL)
		return;
	if (route_claim(v, &host, &claim, NULL) == 0)
		nb->host_route = v;
}

/* Is it still on a network of its interface? */
static void
network_update(const struct iface_control *c, struct neighbour *nb)
{
	const struct ip_addr *addr = &nb->n->addr;
	bool on = vrf_connected_find(vrf_at(c->vrf), addr, ip_bits(addr->family), c->id) != NULL;

	if (on)
		nb->connected = true;
	nb->detached = nb->connected && !on && !nb->onlink;
}

static void
refresh(struct iface_control *c, struct neighbour *nb)
{
	network_update(c, nb);
	publish(c, nb);
	host_route_update(c, nb);
}

void
neighbours_refresh(struct iface_control *c)
{
	struct neighbour *nb, *next;

	for (nb = LIST_FIRST(&c->neighbours); nb != NULL; nb = next) {
		next = LIST_NEXT(nb, of_iface);
		refresh(c, nb);
	}
}

void
neighbours_route_changed(struct vrf *v, const struct ip_prefix *prefix)
{
	struct iface_control *c;

	/* Only what lies inside an interface's network concerns its neighbours. */
	if (neighbours == NULL || neigh_count(neighbours) == 0 ||
	    (v->onlink == 0 && vrf_connected_find(v, &prefix->addr, prefix->len, 0) == NULL))
		return;
	IFACE_FOREACH(c) {
		struct neighbour *nb;

		if (c->vrf != v->idx)
			continue;
		LIST_FOREACH(nb, &c->neighbours, of_iface) {
			if (ip_prefix_contains(prefix, &nb->n->addr))
				host_route_update(c, nb);
		}
	}
}

bool
neighbours_in_use(const struct iface_control *c)
{
	struct neighbour *nb;

	LIST_FOREACH(nb, &c->neighbours, of_iface) {
		if (nb->n->users > 0)
			return true;
	}
	return false;
}

/* --- what lib/neigh asks for ------------------------------------------------------------- */

static int
created(void *ctx, struct neigh *n)
{
	struct iface_control *c = iface_get(n->iface);
	struct neighbour *nb;
	struct nexthop contents;

	(void)ctx;
	if (c == NULL)
		return -ENODEV;
	nb = calloc(1, sizeof(*nb));
	if (nb == NULL)
		return -ENOMEM;
	nb->n = n;
	network_update(c, nb);
	contents = contents_make(c, nb);
	n->user = nexthop_add(nexthops, &contents, NULL);
	if (n->user == 0) {
		free(nb);
		return -ENOMEM;
	}
	net_nexthop_own(n->user, OWNER_NEIGHBOUR, nb);
	LIST_INSERT_HEAD(&c->neighbours, nb, of_iface);
	return 0;
}

static void
published(void *ctx, struct neigh *n)
{
	struct iface_control *c = iface_get(n->iface);
	struct neighbour *nb = neighbour_of(n);

	(void)ctx;
	if (c == NULL || nb == NULL)
		return;
	publish(c, nb);
	host_route_update(c, nb);
}

static void
removed(void *ctx, struct neigh *n)
{
	struct neighbour *nb = neighbour_of(n);

	(void)ctx;
	if (nb == NULL)
		return;
	host_route_drop(nb);
	neighbour_gateways_changed();
	net_nexthop_own(n->user, OWNER_NONE, NULL);
	nexthop_release(nexthops, n->user);
	LIST_REMOVE(nb, of_iface);
	free(nb);
}

static void
solicit(void *ctx, const struct neigh *n, bool unicast)
{
	const struct iface *iface = iface_at(n->iface);
	const uint8_t *mac = unicast ? n->mac : NULL;

	(void)ctx;
	if (iface == NULL || !iface->up)
		return;
	if (n->addr.family == AF_INET)
		net_arp_request(iface, &n->addr, mac);
	else
		net_nd_solicit(iface, &n->addr, mac);
}

static void
release(void *ctx, const struct neigh *n, struct rte_mbuf *packet)
{
	(void)ctx;
	control_holding(-1);
	control_forward(packet, n->user);
}

static void
fail(void *ctx, const struct neigh *n, struct rte_mbuf *packet, bool unreachable)
{
	(void)ctx;
	(void)n;
	control_holding(-1);
	if (unreachable)
		control_unreachable(packet);
	else
		control_drop(packet, DROP_NEIGH_UNRESOLVED);
}

int
neighbour_init(struct err *err)
{
	static const struct neigh_ops ops = {
		.created = created,
		.publish = published,
		.removed = removed,
		.solicit = solicit,
		.release = release,
		.fail = fail,
	};
	struct neigh_config config;

	neigh_config_default(&config);
	neighbours = neigh_table_create(&config, &ops, NULL, err);
	return neighbours != NULL ? 0 : -ENOMEM;
}

void
neighbour_fini(void)
{
	neigh_table_destroy(neighbours);
	neighbours = NULL;
	neighbour_gateways_changed();
}

/* --- packets that wait --------------------------------------------------------------------- */

void
net_resolve(uint32_t nexthop, struct rte_mbuf *packet)
{
	struct neighbour *nb = net_nexthop_owner(nexthop, OWNER_NEIGHBOUR);

	if (nb == NULL || nb->detached) {
		control_drop(packet, DROP_NEIGH_UNRESOLVED);
		return;
	}
	control_holding(1);
	neigh_resolve(neighbours, nb->n, packet, loop_now_ms());
}

void
net_resolve_connected(uint16_t iface, const struct ip_addr *dst, struct rte_mbuf *packet)
{
	uint64_t now = loop_now_ms();
	struct neigh *n = NULL;

	if (iface_get(iface) != NULL)
		n = neigh_get(neighbours, iface, dst, now, NULL);
	if (n == NULL) {
		control_drop(packet, DROP_NEIGH_UNRESOLVED);
		return;
	}
	control_holding(1);
	neigh_resolve(neighbours, n, packet, now);
}

void
net_nexthop_used(uint32_t nexthop)
{
	struct neighbour *nb = net_nexthop_owner(nexthop, OWNER_NEIGHBOUR);

	if (nb != NULL)
		neigh_used(neighbours, nb->n, loop_now_ms());
}
