/* SPDX-License-Identifier: BSD-3-Clause */
#include "sid.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "neighbour.h"
#include "net_nexthop.h"
#include "net_route.h"
#include "worker.h"

struct ip_addr sr_tunsrc;

static TAILQ_HEAD(, sid) sids = TAILQ_HEAD_INITIALIZER(sids);

const char *
sid_flavours_text(unsigned flavours, char buf[SID_FLAVOURS_TEXT])
{
	snprintf(buf, SID_FLAVOURS_TEXT, "%s%s%s", (flavours & SID_PSP) != 0 ? ",psp" : "",
		 (flavours & SID_USP) != 0 ? ",usp" : "", (flavours & SID_USD) != 0 ? ",usd" : "");
	if (buf[0] == ',')
		memmove(buf, buf + 1, strlen(buf));
	return buf;
}

static bool
is_address(const struct vrf *v, const struct ip_prefix *prefix)
{
	struct route route;

	return prefix->len == 128 && route_get(v, prefix, &route) &&
	       route_claim_of(&route, ROUTE_LOCAL) != NULL;
}

/* An adjacency that cannot be reached drops: the SID never falls back on a route (RFC 8986 4.2). */
static struct nexthop
contents_make(const struct sid *sid)
{
	const struct sid_config *c = &sid->config;
	struct nexthop contents = {
		.type = NEXTHOP_SID,
		.flags = sid->address ? NEXTHOP_ADDRESS : 0,
		.behaviour = c->behaviour,
		.flavours = c->flavours,
		.family = AF_INET6,
	};

	contents.sid.table = c->has_table ? c->table : c->vrf;
	if (c->nh.family != 0)
		contents.sid.nexthop = sid->adjacency != 0
					       ? sid->adjacency
					       : net_nexthop_shared(NEXTHOP_UNREACHABLE);
	return contents;
}

static void
publish(const struct sid *sid)
{
	struct nexthop contents = contents_make(sid);

	nexthop_replace(nexthops, sid->nexthop, &contents);
}

static uint32_t
adjacency_find(const struct sid_config *c, struct err *err)
{
	return neighbour_gateway(vrf_at(c->vrf), &c->nh, c->oif != 0 ? iface_get(c->oif) : NULL,
				 false, err);
}

static struct sid *
sid_new(const struct sid_config *config, struct err *err)
{
	struct sid *sid = calloc(1, sizeof(*sid));
	char text[IP_PREFIX_TEXT];
	struct nexthop contents;

	if (sid == NULL) {
		err_set(err, ENOMEM, "no memory for a SID");
		return NULL;
	}
	sid->config = *config;
	sid->address = is_address(vrf_at(config->vrf), &config->prefix);
	if (config->nh.family != 0) {
		sid->adjacency = adjacency_find(config, err);
		if (sid->adjacency == 0) {
			err_prefix(err, 0, "route %s", ip_prefix_format(&config->prefix, text));
			free(sid);
			return NULL;
		}
	}
	contents = contents_make(sid);
	sid->nexthop = nexthop_add(nexthops, &contents, err);
	if (sid->nexthop == 0) {
		if (sid->adjacency != 0)
			net_nexthop_release(sid->adjacency);
		free(sid);
		return NULL;
	}
	net_nexthop_own(sid->nexthop, OWNER_SID, sid);
	if (config->has_table)
		vrf_at(config->table)->users++;
	TAILQ_INSERT_TAIL(&sids, sid, link);
	return sid;
}

void
sid_free(struct sid *sid)
{
	struct vrf *table = sid->config.has_table ? vrf_at(sid->config.table) : NULL;

	TAILQ_REMOVE(&sids, sid, link);
	if (sid->adjacency != 0)
		net_nexthop_release(sid->adjacency);
	if (table != NULL) {
		table->users--;
		vrf_drop_if_unused(table->idx);
	}
	free(sid);
}

void
sids_fini(void)
{
	struct sid *sid;

	while ((sid = TAILQ_FIRST(&sids)) != NULL) {
		TAILQ_REMOVE(&sids, sid, link);
		free(sid);
	}
	sr_tunsrc = (struct ip_addr){0};
}

int
sid_set(const struct sid_config *config, bool replace, struct err *err)
{
	struct vrf *v = vrf_at(config->vrf);
	struct route_claim claim = {.kind = ROUTE_SID, .proto = config->proto};
	struct sid *sid = sid_new(config, err);
	int rc;

	if (sid == NULL)
		return -EINVAL;
	claim.nexthop = sid->nexthop;
	/* Before any packet can meet it. */
	sid_counters_clear(sid->nexthop);
	rc = replace ? route_claim(v, &config->prefix, &claim, err)
		     : route_claim_new(v, &config->prefix, &claim, err);
	net_nexthop_release(claim.nexthop);
	if (rc == 0 && replace && v->statics != 0)
		route_unclaim(v, &config->prefix, ROUTE_STATIC);
	return rc;
}

static bool
adjacency_good(const struct sid *sid)
{
	const struct neighbour *nb = net_nexthop_owner(sid->adjacency, OWNER_NEIGHBOUR);
	const struct iface_control *c = nb != NULL ? iface_get(nb->n->iface) : NULL;

	/* An interface in another VRF serves only a SID that named it. */
	return c != NULL && !nb->detached &&
	       (sid->config.oif != 0 || c->vrf == sid->config.vrf || c->vrf == VRF_MAIN);
}

void
sids_refresh(void)
{
	struct sid *sid;

	TAILQ_FOREACH(sid, &sids, link) {
		uint32_t old = sid->adjacency;

		if (sid->config.nh.family == 0 || (old != 0 && adjacency_good(sid)))
			continue;
		sid->adjacency = adjacency_find(&sid->config, NULL);
		if (sid->adjacency != old)
			publish(sid);
		if (old != 0)
			net_nexthop_release(old);
	}
}

void
sid_address_changed(struct vrf *v, const struct ip_addr *addr)
{
	struct ip_prefix prefix = ip_prefix_of(addr, ip_bits(addr->family));
	const struct route_claim *claim;
	struct route route;
	struct sid *sid;

	if (v->sids == 0 || addr->family != AF_INET6 || !route_get(v, &prefix, &route))
		return;
	claim = route_claim_of(&route, ROUTE_SID);
	sid = claim != NULL ? net_nexthop_owner(claim->nexthop, OWNER_SID) : NULL;
	if (sid == NULL)
		return;
	sid->address = route_claim_of(&route, ROUTE_LOCAL) != NULL;
	publish(sid);
}

/* The SIDs that name this device go, as Linux's routes do with theirs. */
static void
forget_dev(const char *dev, uint16_t iface)
{
	struct sid *sid, *next;

	for (sid = TAILQ_FIRST(&sids); sid != NULL; sid = next) {
		next = TAILQ_NEXT(sid, link);
		if (sid->config.dev[0] != '\0' && sid->config.dev_iface == iface &&
		    (iface != 0 || strcmp(sid->config.dev, dev) == 0))
			route_unclaim(vrf_at(sid->config.vrf), &sid->config.prefix, ROUTE_SID);
	}
}

void
sids_forget_iface(const struct iface_control *c)
{
	struct sid *sid;

	forget_dev(c->name, c->id);
	TAILQ_FOREACH(sid, &sids, link) {
		uint32_t old = sid->adjacency;

		if (sid->config.oif == c->id)
			sid->config.oif = 0;
		if (old == 0 || nexthop_iface(old) != c->id)
			continue;
		sid->adjacency = 0;
		publish(sid);
		net_nexthop_release(old);
	}
}

void
sids_forget_vrf(const struct vrf *v)
{
	forget_dev(v->name, 0);
}

struct sid *
sid_next(const struct vrf *v, const struct ip_prefix *after)
{
	struct ip_prefix last;
	struct route route;
	bool more = v->sids != 0 && route_next(v, AF_INET6, after, &route);

	while (more) {
		const struct route_claim *claim = route_claim_of(&route, ROUTE_SID);

		if (claim != NULL)
			return net_nexthop_owner(claim->nexthop, OWNER_SID);
		last = route.prefix;
		more = route_next(v, AF_INET6, &last, &route);
	}
	return NULL;
}
