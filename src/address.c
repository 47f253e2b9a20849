/* SPDX-License-Identifier: BSD-3-Clause */
#include "address.h"

#include <errno.h>
#include <stdlib.h>

#include "loop.h"
#include "neighbour.h"
#include "net_nexthop.h"
#include "route.h"
#include "sid.h"

static bool
is_link_local(const struct ip_addr *a)
{
	return a->family == AF_INET6 && ip6_is_link_local(a->bytes);
}

/* Another interface of the table with the same address, which Linux allows too. */
static struct iface_control *
other_holder(const struct iface_control *c, const struct vrf *v, const struct ip_addr *addr)
{
	struct iface_control *other;

	IFACE_FOREACH(other) {
		if (other == c || other->vrf != v->idx)
			continue;
		for (unsigned i = 0; i < other->address_count; i++) {
			if (ip_addr_equal(&other->addresses[i].addr, addr))
				return other;
		}
	}
	return NULL;
}

/* 255.255.255.255's little brothers: RFC 3021 leaves /31 without one. */
static bool
has_broadcast(const struct ip_prefix *net)
{
	return net->addr.family == AF_INET && net->len <= 30;
}

static struct ip_prefix
broadcast_of(const struct ip_prefix *net)
{
	struct ip_addr a = ip4_addr(ip4_host(&net->addr) | (uint32_t)(UINT32_MAX >> net->len));

	return ip_prefix_of(&a, 32);
}

static int
claim(struct vrf *v, const struct ip_prefix *prefix, enum route_kind kind, uint32_t nexthop,
      struct err *err)
{
	struct route_claim c = {.nexthop = nexthop, .kind = kind, .proto = ROUTE_PROTO_KERNEL};

	return route_claim(v, prefix, &c, err);
}

/* --- the network ----------------------------------------------------------------------- */

static void
network_detach(struct iface_control *c, struct vrf *v, const struct ip_prefix *net)
{
	struct iface_control *next = iface_get(vrf_connected_remove(v, net, c->id));
	struct ip_prefix broadcast;

	/* A network that two interfaces share leads to the other one now. */
	if (next != NULL) {
		claim(v, net, ROUTE_CONNECTED, next->connected, NULL);
		return;
	}
	route_unclaim(v, net, ROUTE_CONNECTED);
	if (has_broadcast(net)) {
		broadcast = broadcast_of(net);
		route_unclaim(v, &broadcast, ROUTE_BROADCAST);
	}
}

static int
network_attach(struct iface_control *c, struct vrf *v, const struct ip_prefix *net, struct err *err)
{
	struct ip_prefix broadcast;
	bool first;
	int rc;

	if (vrf_connected_add(v, net, c->id, &first) < 0)
		return err_set(err, ENOMEM, "no memory for another network");
	if (!first)
		return 0;
	rc = claim(v, net, ROUTE_CONNECTED, c->connected, err);
	if (rc == 0 && has_broadcast(net)) {
		broadcast = broadcast_of(net);
		rc = claim(v, &broadcast, ROUTE_BROADCAST, net_nexthop_shared(NEXTHOP_MARTIAN),
			   err);
	}
	if (rc < 0)
		network_detach(c, v, net);
	return rc;
}

/* --- one address ----------------------------------------------------------------------- */

static void
detach(struct iface_control *c, struct vrf *v, const struct iface_address *a)
{
	struct ip_prefix own = ip_prefix_of(&a->addr, ip_bits(a->addr.family));
	struct ip_prefix net = ip_prefix_of(&a->addr, a->len);
	const struct iface_control *other;
	const struct route_claim *now;
	struct route route;

	if (is_link_local(&a->addr))
		return;
	if (a->len < ip_bits(a->addr.family))
		network_detach(c, v, &net);
	if (!route_get(v, &own, &route))
		return;
	now = route_claim_of(&route, ROUTE_LOCAL);
	if (now == NULL || now->nexthop != c->local)
		return;
	other = other_holder(c, v, &a->addr);
	if (other != NULL) {
		claim(v, &own, ROUTE_LOCAL, other->local, NULL);
		return;
	}
	route_unclaim(v, &own, ROUTE_LOCAL);
	sid_address_changed(v, &a->addr);
}

static int
attach(struct iface_control *c, struct vrf *v, const struct iface_address *a, struct err *err)
{
	struct ip_prefix own = ip_prefix_of(&a->addr, ip_bits(a->addr.family));
	struct ip_prefix net = ip_prefix_of(&a->addr, a->len);
	struct route route;
	int rc = 0;

	if (is_link_local(&a->addr))
		return 0;
	if (!route_get(v, &own, &route) || route_claim_of(&route, ROUTE_LOCAL) == NULL) {
		rc = claim(v, &own, ROUTE_LOCAL, c->local, err);
		if (rc < 0)
			return rc;
		sid_address_changed(v, &a->addr);
	}
	if (a->len < ip_bits(a->addr.family))
		rc = network_attach(c, v, &net, err);
	if (rc < 0) {
		struct iface_address without_net = {a->addr, (uint8_t)ip_bits(a->addr.family)};

		detach(c, v, &without_net);
	}
	return rc;
}

int
addresses_attach(struct iface_control *c, struct vrf *v, struct err *err)
{
	for (unsigned i = 0; i < c->address_count; i++) {
		int rc = attach(c, v, &c->addresses[i], err);

		if (rc < 0) {
			while (i-- > 0)
				detach(c, v, &c->addresses[i]);
			return rc;
		}
	}
	return 0;
}

void
addresses_detach(struct iface_control *c, struct vrf *v)
{
	for (unsigned i = c->address_count; i-- > 0;)
		detach(c, v, &c->addresses[i]);
}

/* What hangs on the networks of an interface is looked at again. */
static void
networks_changed(struct iface_control *c)
{
	neighbour_gateways_changed();
	neighbours_refresh(c);
	groups_refresh();
	sids_refresh();
}

static int
check(const struct iface_control *c, const struct iface_address *a, struct err *err)
{
	static const uint8_t loopback6[16] = {[15] = 1};
	char text[IP_ADDR_TEXT];
	const char *why = NULL;

	ip_addr_format(&a->addr, text);
	if (ip_is_unspecified(&a->addr))
		why = "the unspecified address";
	else if (ip_is_multicast(&a->addr))
		why = "a multicast address";
	else if (a->addr.family == AF_INET6 && memcmp(a->addr.bytes, loopback6, 16) == 0)
		why = "the loopback address";
	else if (a->addr.family == AF_INET && a->addr.bytes[0] == 127)
		why = "a loopback address";
	else if (a->addr.family == AF_INET && (a->addr.bytes[0] == 0 || a->addr.bytes[0] >= 240))
		why = "no unicast address";
	if (why != NULL)
		return err_set(err, EADDRNOTAVAIL, "%s: address %s is %s", c->name, text, why);
	for (unsigned i = 0; i < c->address_count; i++) {
		const struct iface_address *b = &c->addresses[i];

		if (ip_addr_equal(&a->addr, &b->addr))
			return err_set(err, EEXIST, "%s: address %s/%u exists", c->name, text,
				       b->len);
	}
	return 0;
}

int
address_add(struct iface_control *c, const struct iface_address *address, struct err *err)
{
	struct vrf *v = vrf_at(c->vrf);
	struct iface_address *more;
	int rc = check(c, address, err);

	if (rc < 0)
		return rc;
	more = realloc(c->addresses, (c->address_count + 1) * sizeof(*more));
	if (more == NULL)
		return err_set(err, ENOMEM, "%s: no memory", c->name);
	c->addresses = more;
	rc = attach(c, v, address, err);
	if (rc < 0)
		return rc;
	c->addresses[c->address_count++] = *address;
	rc = iface_publish(c, err);
	if (rc < 0) {
		c->address_count--;
		detach(c, v, address);
		return rc;
	}
	/* Whoever was thought to have it: it is ours now. */
	if (neigh_find(neighbours, c->id, &address->addr) != NULL)
		neigh_delete(neighbours, c->id, &address->addr, loop_now_ms(), NULL);
	networks_changed(c);
	return 0;
}

int
address_del(struct iface_control *c, const struct ip_addr *addr, unsigned len, struct err *err)
{
	char text[IP_ADDR_TEXT];
	struct iface_address gone;
	unsigned i;
	int rc;

	for (i = 0; i < c->address_count; i++) {
		if (ip_addr_equal(&c->addresses[i].addr, addr) &&
		    (len > 128 || c->addresses[i].len == len))
			break;
	}
	ip_addr_format(addr, text);
	if (i == c->address_count && len > 128)
		return err_set(err, EADDRNOTAVAIL, "%s: it has no address %s", c->name, text);
	if (i == c->address_count)
		return err_set(err, EADDRNOTAVAIL, "%s: it has no address %s/%u", c->name, text,
			       len);
	gone = c->addresses[i];
	c->address_count--;
	memmove(&c->addresses[i], &c->addresses[i + 1], (c->address_count - i) * sizeof(gone));
	rc = iface_publish(c, err);
	if (rc < 0) {
		memmove(&c->addresses[i + 1], &c->addresses[i],
			(c->address_count - i) * sizeof(gone));
		c->addresses[i] = gone;
		c->address_count++;
		return rc;
	}
	detach(c, vrf_at(c->vrf), &gone);
	networks_changed(c);
	return 0;
}
