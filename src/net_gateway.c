/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a gateway's address to its next hop: what `via`, nh4 and nh6 mean.
 */
#include <errno.h>

#include "loop.h"
#include "neighbour.h"
#include "net_nexthop.h"
#include "route.h"

/* The gateway asked for last: routes come in long runs with the same one. */
static struct {
	uint32_t nexthop; /* 0: nothing cached */
	const struct vrf *from;
	const struct iface_control *dev;
	bool onlink;
	struct ip_addr gateway;
} cached;

void
neighbour_gateways_changed(void)
{
	cached.nexthop = 0;
}

static bool
is_link_local(const struct ip_addr *a)
{
	return a->family == AF_INET6 && ip6_is_link_local(a->bytes);
}

/* The interface whose network the gateway is on, seen from a table. */
static struct iface_control *
on_network_of(const struct vrf *v, const struct ip_addr *gateway)
{
	const struct connected *net = vrf_connected_find(v, gateway, ip_bits(gateway->family), 0);
	struct route route;

	if (net != NULL)
		return iface_get(net->iface);
	if (v->onlink == 0 || !route_match(v, gateway, &route))
		return NULL;
	/* A static route to the interface itself says the same as an address would. */
	return net_nexthop_owner(route.claims[0].nexthop, OWNER_CONNECTED);
}

static bool
on_network_of_iface(const struct iface_control *dev, const struct ip_addr *gateway)
{
	return vrf_connected_find(vrf_at(dev->vrf), gateway, ip_bits(gateway->family), dev->id) !=
		       NULL ||
	       on_network_of(vrf_at(dev->vrf), gateway) == dev;
}

/* An address that cannot be a gateway whatever the networks are. */
static int
check_address(const struct ip_addr *gateway, const struct iface_control *dev, struct err *err)
{
	char text[IP_ADDR_TEXT];

	ip_addr_format(gateway, text);
	if (ip_is_unspecified(gateway) || ip_is_multicast(gateway) ||
	    (gateway->family == AF_INET && (gateway->bytes[0] == 127 || gateway->bytes[0] >= 240)))
		return err_set(err, EINVAL, "next hop %s is not the address of a host", text);
	if (is_link_local(gateway) && dev == NULL)
		return err_set(err, EINVAL,
			       "next hop %s is link-local: name its interface with dev", text);
	return 0;
}

static int
check_not_ours(const struct iface_control *dev, const struct ip_addr *gateway, struct err *err)
{
	struct ip_prefix host = ip_prefix_of(gateway, ip_bits(gateway->family));
	char text[IP_ADDR_TEXT];
	struct route route;

	ip_addr_format(gateway, text);
	if (iface_has_address(iface_at(dev->id), gateway))
		return err_set(err, EINVAL, "next hop %s is an address of this router", text);
	if (!route_get(vrf_at(dev->vrf), &host, &route))
		return 0;
	if (route_claim_of(&route, ROUTE_LOCAL) != NULL)
		return err_set(err, EINVAL, "next hop %s is an address of this router", text);
	if (route_claim_of(&route, ROUTE_BROADCAST) != NULL)
		return err_set(err, EINVAL, "next hop %s is a broadcast address", text);
	return 0;
}

struct iface_control *
neighbour_gateway_iface(const struct vrf *from, const struct ip_addr *gateway)
{
	struct iface_control *c = on_network_of(from, gateway);

	/* A bare table has no interfaces of its own; as in Linux the main table helps out. */
	if (c == NULL && !from->device && from->idx != VRF_MAIN)
		c = on_network_of(vrf_at(VRF_MAIN), gateway);
	return c;
}

static int
find_iface(const struct vrf *from, const struct ip_addr *gateway, bool onlink,
	   struct iface_control **dev, struct err *err)
{
	char text[IP_ADDR_TEXT], table[VRF_TEXT];
	const char *of = "";

	ip_addr_format(gateway, text);
	if (*dev != NULL) {
		if (onlink || is_link_local(gateway) || on_network_of_iface(*dev, gateway))
			return 0;
		return err_set(err, ENETUNREACH, "next hop %s is on no connected network of dev %s",
			       text, (*dev)->name);
	}
	if (onlink)
		return err_set(err, EINVAL, "onlink: name the interface of %s with dev", text);
	*dev = neighbour_gateway_iface(from, gateway);
	if (*dev != NULL)
		return 0;
	vrf_text(from, table);
	if (from->device)
		of = " of ";
	return err_set(err, ENETUNREACH, "next hop %s is on no connected network%s%s", text, of,
		       from->device ? table : "");
}

int
neighbour_gateway_check(const struct vrf *from, const struct ip_addr *gateway,
			struct iface_control **dev, bool onlink, struct err *err)
{
	int rc = check_address(gateway, *dev, err);

	if (rc == 0)
		rc = find_iface(from, gateway, onlink, dev, err);
	return rc == 0 ? check_not_ours(*dev, gateway, err) : rc;
}

uint32_t
neighbour_gateway(const struct vrf *from, const struct ip_addr *gateway, struct iface_control *dev,
		  bool onlink, struct err *err)
{
	const struct iface_control *named = dev;
	struct neighbour *nb;
	struct neigh *n;

	if (cached.nexthop != 0 && cached.from == from && cached.dev == dev &&
	    cached.onlink == onlink && ip_addr_equal(&cached.gateway, gateway)) {
		net_nexthop_hold(cached.nexthop);
		return cached.nexthop;
	}
	if (neighbour_gateway_check(from, gateway, &dev, onlink, err) < 0)
		return 0;
	n = neigh_get(neighbours, dev->id, gateway, loop_now_ms(), err);
	if (n == NULL)
		return 0;
	neigh_hold(n);
	nb = net_nexthop_owner(n->user, OWNER_NEIGHBOUR);
	nb->onlink |= onlink;
	cached.nexthop = n->user;
	cached.from = from;
	cached.dev = named;
	cached.onlink = onlink;
	cached.gateway = *gateway;
	return n->user;
}
