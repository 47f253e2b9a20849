/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ip route show, ip route get.
 */
#include <errno.h>
#include <stdlib.h>

#include "ip.h"
#include "neighbour.h"
#include "net.h"
#include "net_route_show.h"
#include "net_words.h"
#include "sid.h"

enum match {
	MATCH_ANY,
	MATCH_EXACT,
	MATCH_WITHIN, /* root PREFIX: it and longer ones */
	MATCH_COVERS, /* match PREFIX: it and shorter ones */
};

struct route_show {
	bool all_tables;
	bool own;    /* the router's own entries: table local, all */
	bool others; /* ... and the others */
	uint8_t families[2];
	enum match match;
	struct ip_prefix prefix;
	struct iface_control *dev;
	struct ip_addr via;
	int proto; /* -1: any */
	/* Where the list is. */
	int vrf;
	unsigned family_at;
	bool started;
	struct ip_prefix last;
};

static bool
is_own(const struct route_claim *claim)
{
	return claim->kind != ROUTE_STATIC && claim->kind != ROUTE_CONNECTED &&
	       claim->kind != ROUTE_SID;
}

static bool
prefix_fits(const struct route_show *s, const struct ip_prefix *prefix)
{
	switch (s->match) {
	case MATCH_EXACT:
		return ip_prefix_equal(prefix, &s->prefix);
	case MATCH_WITHIN:
		return prefix->len >= s->prefix.len &&
		       ip_prefix_contains(&s->prefix, &prefix->addr);
	case MATCH_COVERS:
		return prefix->len <= s->prefix.len && ip_prefix_contains(prefix, &s->prefix.addr);
	case MATCH_ANY:
		break;
	}
	return true;
}

static bool
claim_fits(const struct route_show *s, const struct route_claim *claim)
{
	const struct neighbour *nb;

	if (is_own(claim) ? !s->own : !s->others)
		return false;
	if (s->proto >= 0 && claim->proto != s->proto)
		return false;
	if (s->dev != NULL && nexthop_iface(claim->nexthop) != s->dev->id)
		return false;
	if (s->via.family == 0)
		return true;
	nb = net_nexthop_owner(claim->nexthop, OWNER_NEIGHBOUR);
	return nb != NULL && ip_addr_equal(&nb->n->addr, &s->via);
}

/* True: output is full. */
static bool
show_family(struct call *call, struct route_show *s, const struct vrf *v, uint8_t family)
{
	struct route route;

	/* One prefix is looked up, not looked for. */
	if (s->match == MATCH_EXACT) {
		if (family == s->prefix.addr.family && route_get(v, &s->prefix, &route)) {
			for (unsigned i = 0; i < route.count; i++) {
				if (claim_fits(s, &route.claims[i]))
					route_claim_show(call->out, v, &route.prefix,
							 &route.claims[i], s->all_tables);
			}
		}
		return false;
	}
	while (route_next(v, family, s->started ? &s->last : NULL, &route)) {
		s->started = true;
		s->last = route.prefix;
		for (unsigned i = 0; i < route.count && prefix_fits(s, &route.prefix); i++) {
			if (claim_fits(s, &route.claims[i]))
				route_claim_show(call->out, v, &route.prefix, &route.claims[i],
						 s->all_tables);
		}
		if (out_full(call->out))
			return true;
	}
	s->started = false;
	return false;
}

static int
show_more(struct call *call)
{
	struct route_show *s = call->state;
	struct vrf *v = vrf_at((unsigned)s->vrf);

	/* A table that went while it was shown has nothing more to show. */
	for (; v != NULL; v = s->all_tables ? vrf_next(s->vrf) : NULL) {
		if (v->idx != s->vrf)
			s->family_at = 0;
		s->vrf = v->idx;
		for (; s->family_at < 2; s->family_at++) {
			if (s->families[s->family_at] != 0 &&
			    show_family(call, s, v, s->families[s->family_at]))
				return CALL_MORE;
		}
	}
	out_json_end(call->out);
	return 0;
}

static int
parse_prefix(struct call *call, struct route_show *s)
{
	const char *word = call_next(call);

	if (word == NULL || s->match != MATCH_ANY)
		return err_set(call->err, EINVAL, "unexpected '%.40s'",
			       word != NULL ? word : "end of line");
	s->match = MATCH_EXACT;
	return ip_prefix_parse(word, call->family, true, &s->prefix, NULL, call->err);
}

static int
parse_table(struct call *call, struct route_show *s)
{
	struct word_table table = {0};
	int rc;

	if (call->argc > 1 && strcmp(call->argv[0], "table") == 0 &&
	    strcmp(call->argv[1], "all") == 0) {
		call_next(call);
		call_next(call);
		s->all_tables = true;
		s->own = true;
		return 1;
	}
	rc = words_table(call, &table);
	if (rc <= 0)
		return rc;
	if (table.v == NULL && table.number == TABLE_LOCAL) {
		s->own = true;
		s->others = false;
	} else if (table.v == NULL) {
		return err_set(call->err, ENOENT, "table %u does not exist", table.number);
	} else {
		s->vrf = table.v->idx;
	}
	return 1;
}

static int
parse_show_word(struct call *call, struct route_show *s)
{
	const char *word;
	uint8_t proto;
	int rc = parse_table(call, s);

	if (rc != 0)
		return rc < 0 ? rc : 0;
	if (call_accept(call, "dev", 3)) {
		word = call_value(call, "dev", "an interface");
		s->dev = word != NULL ? word_dev(word, call->err) : NULL;
		return s->dev != NULL ? 0 : -ENODEV;
	}
	if (call_accept(call, "via", 3)) {
		word = call_value(call, "via", "an address");
		if (word == NULL || ip_addr_parse(word, call->family, &s->via) < 0)
			return err_set(call->err, EINVAL, "via: an address is missing");
		return 0;
	}
	if (call_accept(call, "proto", 5) || call_accept(call, "protocol", 6)) {
		word = call_value(call, "proto", "a protocol");
		if (word == NULL || proto_parse(word, &proto) < 0)
			return err_set(call->err, EINVAL, "proto: unknown protocol");
		s->proto = proto;
		return 0;
	}
	if (call_accept(call, "all", 3)) {
		s->own = true;
		return 0;
	}
	call_accept(call, "to", 2);
	if (call_accept(call, "root", 4)) {
		rc = parse_prefix(call, s);
		s->match = MATCH_WITHIN;
	} else if (call_accept(call, "match", 5)) {
		rc = parse_prefix(call, s);
		s->match = MATCH_COVERS;
	} else {
		call_accept(call, "exact", 5);
		rc = parse_prefix(call, s);
	}
	return rc;
}

static int
route_show(struct call *call)
{
	struct route_show *s = calloc(1, sizeof(*s));
	int rc = 0;

	if (s == NULL)
		return err_set(call->err, ENOMEM, "no memory");
	call->state = s;
	s->others = true;
	s->vrf = VRF_MAIN;
	s->proto = -1;
	while (rc == 0 && call_peek(call) != NULL)
		rc = parse_show_word(call, s);
	if (rc < 0)
		return rc;
	s->families[0] = call->family != 0	 ? call->family
			 : s->match != MATCH_ANY ? s->prefix.addr.family
						 : AF_INET;
	if (s->all_tables && call->family == 0 && s->match == MATCH_ANY)
		s->families[1] = AF_INET6;
	out_json_array(call->out, NULL);
	call->more = show_more;
	return show_more(call);
}

/* --- get -----------------------------------------------------------------------------------------
 */

/* The member a packet between these two addresses takes, if it has no ports. */
static uint32_t
pick_member(uint32_t nexthop, const struct ip_addr *from, const struct ip_addr *to)
{
	uint8_t header[IP6_HEADER] = {0};
	uint32_t hash;

	if (to->family == AF_INET) {
		header[0] = 0x45;
		header[9] = 255;
		memcpy(header + 12, from->bytes, 4);
		memcpy(header + 16, to->bytes, 4);
		hash = ip4_flow_hash(header, IP4_HEADER_MIN);
	} else {
		header[0] = 0x60;
		header[6] = PROTO_NONE;
		memcpy(header + 8, from->bytes, 16);
		memcpy(header + 24, to->bytes, 16);
		hash = ip6_flow_hash(header, IP6_HEADER);
	}
	return nexthop_group_pick(nexthop_at(nexthops, nexthop), hash);
}

struct route_get {
	struct ip_addr to, from;
	struct vrf *v;
};

static int
parse_get(struct call *call, struct route_get *g)
{
	struct word_table table = {0};
	const char *word;
	int rc;

	while (call_peek(call) != NULL) {
		rc = words_table(call, &table);
		if (rc < 0)
			return rc;
		if (rc > 0) {
			if (table.v == NULL)
				return err_set(call->err, ENOENT, "table %u does not exist",
					       table.number);
			g->v = table.v;
			continue;
		}
		if (call_accept(call, "from", 4)) {
			word = call_value(call, "from", "an address");
			if (word == NULL || ip_addr_parse(word, call->family, &g->from) < 0)
				return err_set(call->err, EINVAL, "from: an address is missing");
			continue;
		}
		call_accept(call, "to", 2);
		word = call_next(call);
		if (word == NULL || g->to.family != 0)
			return err_set(call->err, EINVAL, "unexpected '%.40s'",
				       word != NULL ? word : "to");
		if (ip_addr_parse(word, call->family, &g->to) < 0)
			return err_set(call->err, EINVAL, "'%.60s' is not an address", word);
	}
	if (g->to.family == 0)
		return err_set(call->err, EINVAL, "an address is missing");
	if (g->from.family != 0 && g->from.family != g->to.family)
		return err_set(call->err, EINVAL, "from and to are of different families");
	return 0;
}

static const char *
type_text(const struct nexthop *nh)
{
	static const char *const names[] = {
		[NEXTHOP_NONE] = "no route",
		[NEXTHOP_BLACKHOLE] = "blackhole",
		[NEXTHOP_UNREACHABLE] = "unreachable",
		[NEXTHOP_PROHIBIT] = "prohibit",
		[NEXTHOP_MARTIAN] = "martian",
		[NEXTHOP_LOCAL] = "local",
		[NEXTHOP_LINK_SCOPE] = "linkscope",
		[NEXTHOP_ADJACENT] = "adjacent",
		[NEXTHOP_RESOLVE] = "unresolved",
		[NEXTHOP_CONNECTED] = "connected",
		[NEXTHOP_GROUP] = "group",
		[NEXTHOP_SID] = "sid",
	};

	return names[nh->type];
}

/* What is done at a SID, as in "End.DX4 nh4 10.0.1.2". */
static void
show_behaviour(struct out *out, const struct sid *sid)
{
	const struct sid_config *c = &sid->config;
	const char *action = sid_behaviour_name((enum sid_behaviour)c->behaviour);
	char text[IP_ADDR_TEXT], flavours[SID_FLAVOURS_TEXT];

	out_json_string(out, "action", action);
	out_text(out, ", SID %s", action);
	if (c->nh.family != 0)
		out_text(out, " nh%c %s", c->nh.family == AF_INET ? '4' : '6',
			 ip_addr_format(&c->nh, text));
	if (c->has_table)
		out_text(out, " %s %u", c->vrftable ? "vrftable" : "table",
			 vrf_at(c->table)->table);
	if (c->flavours != 0)
		out_text(out, " flavors %s", sid_flavours_text(c->flavours, flavours));
	if (c->nh.family != 0 && !net_nexthop_usable(sid->adjacency)) {
		out_json_bool(out, "unreachable", true);
		out_text(out, " unreachable");
	}
}

static void
show_how(struct out *out, const struct route *route, uint32_t nexthop, bool member)
{
	const struct neighbour *nb = net_nexthop_owner(nexthop, OWNER_NEIGHBOUR);
	const struct sid *sid = net_nexthop_owner(nexthop, OWNER_SID);
	const struct nexthop *nh = nexthop_at(nexthops, nexthop);
	char text[IP_PREFIX_TEXT], mac[18];

	route_prefix_text(&route->prefix, text);
	out_json_string(out, "prefix", text);
	out_json_string(out, "nexthop", type_text(nh));
	/* A SID is written with its length, also when it is 128. */
	if (sid != NULL)
		ip_prefix_format(&route->prefix, text);
	out_text(out, "\n    matched %s", text);
	if (sid != NULL)
		show_behaviour(out, sid);
	else
		out_text(out, ", %s%s", type_text(nh),
			 member ? " (one of a group, chosen by flow)" : "");
	if (nb != NULL) {
		out_json_string(out, "state", neigh_state_name(nb->n->state));
		if (nb->n->has_mac) {
			mac_format(nb->n->mac, mac);
			out_json_string(out, "lladdr", mac);
			out_text(out, ", lladdr %s", mac);
		}
		out_text(out, " %s", neigh_state_name(nb->n->state));
		out_json_uint(out, "mtu", nh->mtu);
		out_text(out, " mtu %u", nh->mtu);
	}
	out_text(out, "\n");
}

static int
route_get_command(struct call *call)
{
	struct route_get g = {.v = vrf_at(VRF_MAIN)};
	char text[IP_ADDR_TEXT], src[IP_ADDR_TEXT], table[VRF_TEXT];
	struct ip_addr source = {0};
	struct out *out = call->out;
	struct route route;
	uint32_t nexthop;
	bool group;
	int rc = parse_get(call, &g);

	if (rc < 0)
		return rc;
	ip_addr_format(&g.to, text);
	if (!route_match(g.v, &g.to, &route))
		return err_set(call->err, ENETUNREACH, "%s: no route in %s", text,
			       vrf_text(g.v, table));
	nexthop = route.claims[0].nexthop;
	if (!net_source_for(g.v->idx, &g.to, &source, NULL))
		source.family = 0;
	if (g.from.family == 0)
		g.from = source;
	group = net_nexthop_owner_kind(nexthop) == OWNER_GROUP;
	if (group)
		nexthop = pick_member(nexthop, &g.from, &g.to);
	out_json_array(out, NULL);
	out_json_object(out, NULL);
	out_text(out, "%s%s ", nexthop_at(nexthops, nexthop)->type == NEXTHOP_LOCAL ? "local " : "",
		 text);
	out_json_string(out, "dst", text);
	route_way_show(out, nexthop);
	if (g.v->idx != VRF_MAIN) {
		out_text(out, "table %u ", g.v->table);
		out_json_uint(out, "table", g.v->table);
	}
	if (source.family != 0) {
		ip_addr_format(&source, src);
		out_text(out, "src %s ", src);
		out_json_string(out, "prefsrc", src);
	}
	show_how(out, &route, nexthop, group);
	out_json_end(out);
	out_json_end(out);
	return 0;
}

static const struct command commands[] = {
	{"ip route [show] [vrf VRF|table N] [dev DEV] [via ADDR] [proto NAME] [PREFIX]",
	 "routes, IPv4 unless -6 is given", route_show,
	 "root PREFIX shows what lies within it, match PREFIX what covers it; table local and "
	 "table all\nshow the router's own entries too."},
	{"ip route get ADDR [from ADDR] [vrf VRF|table N]",
	 "the route a packet takes, and how it leaves", route_get_command, NULL},
};

void
cmd_route_show_register(struct console *console)
{
	console_register(console, commands, sizeof(commands) / sizeof(commands[0]));
}
