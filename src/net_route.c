/* SPDX-License-Identifier: BSD-3-Clause */
#include "net_route.h"

#include <errno.h>

#include "neighbour.h"
#include "sid.h"

/* The next hop of one way, held. 0 with err. */
static uint32_t
hop_nexthop(struct vrf *v, const struct route_hop *hop, struct err *err)
{
	if (hop->via.family != 0)
		return neighbour_gateway(v, &hop->via, hop->dev, hop->onlink, err);
	net_nexthop_hold(hop->dev->connected);
	return hop->dev->connected;
}

static uint32_t
hops_nexthop(struct vrf *v, const struct route_request *request, struct err *err)
{
	struct nexthop_member members[GROUP_MAX] = {{0}};
	uint32_t nexthop = 0;
	unsigned n;

	if (request->hop_count == 1)
		return hop_nexthop(v, &request->hops[0], err);
	for (n = 0; n < request->hop_count; n++) {
		members[n].nexthop = hop_nexthop(v, &request->hops[n], err);
		members[n].weight = request->hops[n].weight;
		if (members[n].nexthop == 0)
			break;
	}
	if (n == request->hop_count)
		nexthop = group_get(members, n, err);
	/* The group holds them now, or nobody does. */
	while (n-- > 0)
		net_nexthop_release(members[n].nexthop);
	return nexthop;
}

static bool
any_onlink(const struct route_request *request)
{
	for (unsigned i = 0; i < request->hop_count; i++) {
		if (request->hops[i].onlink)
			return true;
	}
	return false;
}

int
static_route_set(struct vrf *v, const struct route_request *request, bool replace, struct err *err)
{
	struct route_claim claim = {
		.kind = ROUTE_STATIC,
		.proto = request->proto,
		.onlink = any_onlink(request),
	};
	char text[IP_PREFIX_TEXT];
	int rc;

	if (request->type != NEXTHOP_NONE) {
		claim.nexthop = net_nexthop_shared(request->type);
		net_nexthop_hold(claim.nexthop);
	} else {
		claim.nexthop = hops_nexthop(v, request, err);
		if (claim.nexthop == 0)
			return err_prefix(err, -EINVAL, "route %s",
					  ip_prefix_format(&request->prefix, text));
	}
	rc = replace ? route_claim(v, &request->prefix, &claim, err)
		     : route_claim_new(v, &request->prefix, &claim, err);
	net_nexthop_release(claim.nexthop);
	if (rc == 0 && replace && v->sids != 0)
		route_unclaim(v, &request->prefix, ROUTE_SID);
	return rc;
}

/* --- an interface goes ---------------------------------------------------------------- */

uint16_t
nexthop_iface(uint32_t nexthop)
{
	const struct neighbour *nb = net_nexthop_owner(nexthop, OWNER_NEIGHBOUR);
	const struct iface_control *c = NULL;

	if (nb != NULL)
		return nb->n->iface;
	if (net_nexthop_owner_kind(nexthop) == OWNER_LOCAL)
		c = net_nexthop_owner(nexthop, OWNER_LOCAL);
	else
		c = net_nexthop_owner(nexthop, OWNER_CONNECTED);
	return c != NULL ? c->id : 0;
}

/* The claim without its ways through the interface: true if it changes at all. With none
 * left, claim->nexthop is 0, else the new next hop, held. */
static bool
without_iface(struct route_claim *claim, uint16_t iface)
{
	const struct group *g = net_nexthop_owner(claim->nexthop, OWNER_GROUP);
	struct nexthop_member left[GROUP_MAX];
	unsigned n = 0;

	if (g == NULL) {
		if (nexthop_iface(claim->nexthop) != iface)
			return false;
		claim->nexthop = 0;
		return true;
	}
	for (unsigned i = 0; i < g->count; i++) {
		if (nexthop_iface(g->members[i].nexthop) != iface)
			left[n++] = g->members[i];
	}
	if (n == g->count)
		return false;
	claim->nexthop = n == 0 ? 0 : n == 1 ? left[0].nexthop : group_get(left, n, NULL);
	if (n == 1)
		net_nexthop_hold(claim->nexthop);
	return true;
}

static void
forget_in(struct vrf *v, uint8_t family, uint16_t iface)
{
	struct ip_prefix last;
	struct route route;
	bool more = route_next(v, family, NULL, &route);

	for (; more; more = route_next(v, family, &last, &route)) {
		const struct route_claim *claim = route_claim_of(&route, ROUTE_STATIC);
		struct route_claim left;

		last = route.prefix;
		if (claim == NULL)
			continue;
		left = *claim;
		if (!without_iface(&left, iface))
			continue;
		if (left.nexthop == 0 || route_claim(v, &last, &left, NULL) < 0)
			route_unclaim(v, &last, ROUTE_STATIC);
		if (left.nexthop != 0)
			net_nexthop_release(left.nexthop);
	}
}

/* Routes straight to the interface, beside those its addresses made. */
static bool
has_onlink_routes(const struct iface_control *c)
{
	const struct vrf *v = vrf_at(c->vrf);
	uint32_t own = 1;

	for (unsigned i = 0; i < v->connected_count; i++)
		own += v->connected[i].iface == c->id &&
		       (i == 0 ||
			!ip_prefix_equal(&v->connected[i].prefix, &v->connected[i - 1].prefix));
	return nexthop_refs(nexthops, c->connected) > own;
}

void
routes_forget_iface(const struct iface_control *c)
{
	struct vrf *v, *next;

	if (!neighbours_in_use(c) && !has_onlink_routes(c))
		return;
	for (v = vrf_next(-1); v != NULL; v = next) {
		next = vrf_next(v->idx);
		if (v->statics == 0)
			continue;
		forget_in(v, AF_INET, c->id);
		forget_in(v, AF_INET6, c->id);
		vrf_drop_if_unused(v->idx);
	}
}
