/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ip route add, replace, del, flush.
 */
#include "cmd_route.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "neighbour.h"
#include "net.h"

/* The table of the line; made when it is new and a route is to be put there. */
static struct vrf *
line_table(const struct route_line *line, bool make, struct err *err)
{
	if (!line->has_table)
		return vrf_at(VRF_MAIN);
	if (line->table.v != NULL)
		return line->table.v;
	if (line->table.number == TABLE_LOCAL) {
		err_set(err, EOPNOTSUPP, "table local is the router's own: see ip addr");
		return NULL;
	}
	if (make)
		return vrf_get_table(line->table.number, err);
	err_set(err, ENOENT, "table %u does not exist", line->table.number);
	return NULL;
}

static int
set_sid(struct route_line *line, struct vrf *v, bool replace, struct err *err)
{
	struct sid_config *config = &line->sid.config;
	char text[IP_PREFIX_TEXT];
	int rc;

	ip_prefix_format(&line->request.prefix, text);
	if (line->request.prefix.addr.family != AF_INET6)
		return err_set(err, EINVAL, "SID %s: a SID is an IPv6 prefix", text);
	if (line->has_type || line->via.family != 0 || line->request.hop_count != 0)
		return err_set(err, EINVAL, "SID %s: seg6local goes with no next hop", text);
	config->prefix = line->request.prefix;
	config->vrf = v->idx;
	config->proto = line->request.proto;
	config->dev_iface = line->dev != NULL ? line->dev->id : 0;
	snprintf(config->dev, sizeof(config->dev), "%s",
		 line->dev != NULL	  ? line->dev->name
		 : line->dev_name != NULL ? line->dev_name
					  : "");
	rc = sid_words_check(&line->sid, line->dev, err);
	return rc == 0 ? sid_set(config, replace, err) : rc;
}

/* Packets of the router itself get their source by themselves; a src that says another is refused.
 */
static int
check_src(const struct route_line *line, const struct vrf *v, struct err *err)
{
	const struct route_hop *hop = &line->request.hops[0];
	char asked[IP_ADDR_TEXT], text[IP_ADDR_TEXT];
	struct ip_addr source = {0};
	const struct iface_control *dev = line->request.hop_count == 1 ? hop->dev : NULL;
	const struct connected *net;

	if (line->src.family == 0)
		return 0;
	ip_addr_format(&line->src, asked);
	if (dev == NULL && line->request.hop_count == 1 && hop->via.family != 0) {
		net = vrf_connected_find(v, &hop->via, ip_bits(hop->via.family), 0);
		dev = net != NULL ? iface_get(net->iface) : NULL;
	}
	if (dev != NULL &&
	    iface_source_for(iface_at(dev->id), hop->via.family != 0 ? &hop->via : &line->src,
			     &source) &&
	    ip_addr_equal(&source, &line->src))
		return 0;
	if (source.family == 0)
		return err_set(err, EOPNOTSUPP, "src %s: not supported", asked);
	return err_set(err, EOPNOTSUPP, "src %s: not supported, the router speaks from %s there",
		       asked, ip_addr_format(&source, text));
}

static int
set_static(struct route_line *line, struct vrf *v, bool replace, struct err *err)
{
	struct route_request *r = &line->request;
	char text[IP_PREFIX_TEXT];
	int rc = check_src(line, v, err);

	if (rc == 0 && r->type == NEXTHOP_NONE && r->hop_count == 0)
		rc = err_set(err, EINVAL, "via ADDR or dev DEV is missing");
	else if (rc == 0 && line->has_scope_link && line->via.family != 0)
		rc = err_set(err, EINVAL, "scope link has no gateway");
	if (rc < 0)
		return err_prefix(err, rc, "route %s", ip_prefix_format(&r->prefix, text));
	return static_route_set(v, r, replace, err);
}

static int
route_set(struct call *call)
{
	bool replace = !call_head_is(call, 2, "add");
	struct route_line line;
	uint16_t idx;
	struct vrf *v;
	int rc = route_line_parse(call, &line);

	if (rc < 0)
		return rc;
	v = line_table(&line, true, call->err);
	if (v == NULL)
		return -ENOENT;
	idx = v->idx;
	if (line.seg6local)
		rc = set_sid(&line, v, replace, call->err);
	else
		rc = set_static(&line, v, replace, call->err);
	if (rc < 0)
		vrf_drop_if_unused(idx);
	return rc;
}

/* --- del ----------------------------------------------------------------------------------------
 */

/* Is the claim what the words of `del` describe, as far as they do? */
static bool
is_meant(const struct route_claim *claim, const struct route_line *line)
{
	const struct neighbour *nb = net_nexthop_owner(claim->nexthop, OWNER_NEIGHBOUR);
	const struct sid *sid = net_nexthop_owner(claim->nexthop, OWNER_SID);

	if (line->seg6local)
		return sid != NULL && sid->config.behaviour == line->sid.config.behaviour;
	if (line->has_type && claim->nexthop != (line->request.type != NEXTHOP_NONE
							 ? net_nexthop_shared(line->request.type)
							 : claim->nexthop))
		return false;
	if (line->has_proto && claim->proto != line->request.proto)
		return false;
	if (line->via.family != 0 && (nb == NULL || !ip_addr_equal(&nb->n->addr, &line->via)))
		return false;
	if (line->dev == NULL)
		return true;
	return sid != NULL ? sid->config.dev_iface == line->dev->id
			   : nexthop_iface(claim->nexthop) == line->dev->id;
}

static int
route_del(struct call *call)
{
	char text[IP_PREFIX_TEXT], table[VRF_TEXT];
	const struct route_claim *claim;
	struct route_line line;
	struct route route;
	struct vrf *v;
	uint16_t idx;
	int rc = route_line_parse(call, &line);

	if (rc < 0)
		return rc;
	v = line_table(&line, false, call->err);
	if (v == NULL)
		return -ENOENT;
	ip_prefix_format(&line.request.prefix, text);
	if (!route_get(v, &line.request.prefix, &route) || route.claims[0].kind == ROUTE_BUILTIN ||
	    route.claims[0].kind == ROUTE_NEIGHBOUR)
		return err_set(call->err, ENOENT, "route %s does not exist in %s", text,
			       vrf_text(v, table));
	claim = route_configured(&route);
	if (claim == NULL)
		return err_set(call->err, EPERM, "route %s belongs to an address: see ip addr del",
			       text);
	if (!is_meant(claim, &line))
		return err_set(call->err, ENOENT, "route %s is there, but not as described", text);
	idx = v->idx;
	rc = route_unclaim(v, &line.request.prefix, claim->kind);
	if (rc < 0)
		return err_set(call->err, -rc, "route %s: no memory to change the table", text);
	vrf_drop_if_unused(idx);
	return 0;
}

/* --- flush
 * ----------------------------------------------------------------------------------------- */

#define FLUSH_STEP 20000

struct flush {
	uint16_t only; /* the table, unless all_tables */
	bool all_tables, has_prefix, within, sids;
	struct ip_prefix prefix;
	struct iface_control *dev;
	uint8_t families[2];
	unsigned family_at;
	int vrf;
	bool started;
	struct ip_prefix last;
	uint8_t proto;
	bool has_proto;
};

static bool
flush_wants(const struct flush *f, const struct route *route, const struct route_claim *claim)
{
	const struct sid *sid;

	if (claim == NULL || (claim->kind == ROUTE_SID && !f->sids))
		return false;
	if (f->has_prefix &&
	    (f->within ? route->prefix.len < f->prefix.len ||
				 !ip_prefix_contains(&f->prefix, &route->prefix.addr)
		       : !ip_prefix_equal(&f->prefix, &route->prefix)))
		return false;
	if (f->has_proto && claim->proto != f->proto)
		return false;
	if (f->dev == NULL)
		return true;
	sid = net_nexthop_owner(claim->nexthop, OWNER_SID);
	return sid != NULL ? sid->config.dev_iface == f->dev->id
			   : nexthop_iface(claim->nexthop) == f->dev->id;
}

/* One table and family, a step at a time; true: there is more. */
static bool
flush_step(struct flush *f, struct vrf *v, uint8_t family)
{
	struct route route;

	for (unsigned i = 0; i < FLUSH_STEP; i++) {
		const struct route_claim *claim;

		if (!route_next(v, family, f->started ? &f->last : NULL, &route)) {
			f->started = false;
			return false;
		}
		f->started = true;
		f->last = route.prefix;
		claim = route_configured(&route);
		if (flush_wants(f, &route, claim))
			route_unclaim(v, &route.prefix, claim->kind);
	}
	return true;
}

/* A large table goes in steps, so that other work gets its turn. */
static int
flush_more(struct call *call)
{
	struct flush *f = call->state;
	struct vrf *v;

	while ((v = f->started ? vrf_at((unsigned)f->vrf) : vrf_next(f->vrf)) != NULL) {
		bool more = false;

		f->vrf = v->idx;
		/* A table can go with its last SID: not while it is being walked. */
		v->users++;
		while (!more && f->family_at < 2) {
			uint8_t family = f->families[f->family_at];

			more = family != 0 && flush_step(f, v, family);
			if (!more)
				f->family_at++;
		}
		v->users--;
		if (more)
			return CALL_MORE;
		f->family_at = 0;
		vrf_drop_if_unused(v->idx);
		if (!f->all_tables)
			break;
	}
	return 0;
}

static int
flush_word(struct call *call, struct flush *f)
{
	struct word_table table = {0};
	const char *word;
	int rc;

	if (call_accept(call, "dev", 3)) {
		word = call_value(call, "dev", "an interface");
		f->dev = word != NULL ? word_dev(word, call->err) : NULL;
		return f->dev != NULL ? 0 : -ENODEV;
	}
	if (call_accept(call, "proto", 5) || call_accept(call, "protocol", 6)) {
		word = call_value(call, "proto", "a protocol");
		f->has_proto = true;
		return word != NULL && proto_parse(word, &f->proto) == 0
			       ? 0
			       : err_set(call->err, EINVAL, "proto: unknown protocol");
	}
	if (call_accept(call, "all", 3) || call_accept(call, "cache", 5))
		return 0;
	if (call->argc > 1 && strcmp(call->argv[0], "table") == 0 &&
	    strcmp(call->argv[1], "all") == 0) {
		call_next(call);
		call_next(call);
		f->all_tables = true;
		return 0;
	}
	rc = words_table(call, &table);
	if (rc < 0)
		return rc;
	if (rc > 0) {
		if (table.v == NULL)
			return err_set(call->err, ENOENT, "table %u does not exist", table.number);
		f->only = table.v->idx;
		return 0;
	}
	f->within = call_accept(call, "root", 4);
	if (!f->within)
		call_accept(call, "exact", 5);
	word = call_next(call);
	if (word == NULL || f->has_prefix)
		return err_set(call->err, EINVAL, "unexpected '%.40s'",
			       word != NULL ? word : "root");
	f->has_prefix = true;
	return ip_prefix_parse(word, call->family, true, &f->prefix, NULL, call->err);
}

static int
route_flush(struct call *call)
{
	struct flush *f = calloc(1, sizeof(*f));
	uint8_t family = call->family;
	int rc = 0;

	if (f == NULL)
		return err_set(call->err, ENOMEM, "no memory");
	call->state = f;
	if (call_peek(call) == NULL)
		return err_set(call->err, EINVAL,
			       "flush what? a prefix, dev DEV, vrf VRF, table N, or all");
	while (rc == 0 && call_peek(call) != NULL)
		rc = flush_word(call, f);
	if (rc < 0)
		return rc;
	if (f->has_prefix)
		family = f->prefix.addr.family;
	/* SIDs go only when IPv6 is meant, not by the way. */
	f->sids = family == AF_INET6;
	f->families[0] = family == AF_INET6 ? 0 : AF_INET;
	f->families[1] = family == AF_INET ? 0 : AF_INET6;
	f->vrf = f->all_tables ? -1 : f->only - 1;
	call->more = flush_more;
	return flush_more(call);
}

static const struct command commands[] = {
	{"ip route {add|replace} PREFIX [via ADDR] [dev DEV] [onlink] [vrf VRF|table N] [proto "
	 "NAME]",
	 "add a route", route_set,
	 "The gateway must be on a connected network, unless onlink and dev are given."},
	{"ip route {add|replace} PREFIX nexthop via ADDR [dev DEV] [weight N] ...",
	 "add a route with several next hops (ECMP)", NULL, NULL},
	{"ip route {add|replace} {blackhole|unreachable|prohibit} PREFIX [vrf VRF|table N]",
	 "add a route that drops", NULL, NULL},
	{"ip -6 route {add|replace} SID encap seg6local action ACTION [nh4 ADDR|nh6 ADDR] [oif "
	 "DEV] "
	 "[table N|vrftable N] [flavors FLAVORS] [count] [dev DEV] [vrf VRF]",
	 "add an SRv6 segment", NULL, "Flavors are psp, usp and usd, separated by commas."},
	{"ip route del PREFIX [via ADDR] [dev DEV] [vrf VRF|table N]", "delete a route or SID",
	 route_del, NULL},
	{"ip route flush [PREFIX|all] [dev DEV] [vrf VRF|table N]", "delete static routes",
	 route_flush, "With -6, SIDs too."},
};

void
cmd_route_register(struct console *console)
{
	console_register(console, commands, sizeof(commands) / sizeof(commands[0]));
}
