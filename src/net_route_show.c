/* SPDX-License-Identifier: BSD-3-Clause */
#include "net_route_show.h"

#include "cmd_sid.h"
#include "neighbour.h"
#include "net_words.h"
#include "sid.h"

const char *
route_prefix_text(const struct ip_prefix *prefix, char buf[IP_PREFIX_TEXT])
{
	if (prefix->len == 0)
		return strcpy(buf, "default");
	if (prefix->len == ip_bits(prefix->addr.family))
		return ip_addr_format(&prefix->addr, buf);
	return ip_prefix_format(prefix, buf);
}

/* The word in front of the prefix; NULL: an ordinary way. */
static const char *
type_word(const struct route_claim *claim)
{
	switch (claim->kind) {
	case ROUTE_LOCAL:
		return "local";
	case ROUTE_BROADCAST:
		return "broadcast";
	case ROUTE_SID:
	case ROUTE_CONNECTED:
	case ROUTE_NEIGHBOUR:
		return NULL;
	}
	if (claim->nexthop == net_nexthop_shared(NEXTHOP_BLACKHOLE))
		return "blackhole";
	if (claim->nexthop == net_nexthop_shared(NEXTHOP_UNREACHABLE))
		return "unreachable";
	if (claim->nexthop == net_nexthop_shared(NEXTHOP_PROHIBIT))
		return "prohibit";
	if (claim->nexthop == net_nexthop_shared(NEXTHOP_MARTIAN))
		return "martian";
	if (claim->nexthop == net_nexthop_shared(NEXTHOP_LINK_SCOPE))
		return "linkscope";
	return NULL;
}

void
route_way_show(struct out *out, uint32_t nexthop)
{
	const struct neighbour *nb = net_nexthop_owner(nexthop, OWNER_NEIGHBOUR);
	const struct iface_control *c = iface_get(nexthop_iface(nexthop));
	char text[IP_ADDR_TEXT];

	if (nb != NULL) {
		ip_addr_format(&nb->n->addr, text);
		out_text(out, "via %s ", text);
		out_json_string(out, "gateway", text);
	}
	if (c != NULL) {
		out_text(out, "dev %s ", c->name);
		out_json_string(out, "dev", c->name);
	}
}

/* What iproute2 calls flags; in JSON a list that is always there. */
static void
show_flags(struct out *out, uint32_t nexthop, bool onlink)
{
	const struct neighbour *nb = net_nexthop_owner(nexthop, OWNER_NEIGHBOUR);
	bool way = nb != NULL || net_nexthop_is_connected(nexthop);

	out_json_array(out, "flags");
	if (nb != NULL && nb->detached) {
		out_text(out, "dead ");
		out_json_string(out, NULL, "dead");
	} else if (way && !net_nexthop_usable(nexthop)) {
		out_text(out, "linkdown ");
		out_json_string(out, NULL, "linkdown");
	}
	if (onlink) {
		out_text(out, "onlink ");
		out_json_string(out, NULL, "onlink");
	}
	out_json_end(out);
}

static void
show_members(struct out *out, const struct group *g)
{
	out_json_array(out, "nexthops");
	for (unsigned i = 0; i < g->count; i++) {
		const struct nexthop_member *m = &g->members[i];

		out_json_object(out, NULL);
		out_text(out, "\n\tnexthop ");
		route_way_show(out, m->nexthop);
		out_text(out, "weight %u ", m->weight);
		out_json_uint(out, "weight", m->weight);
		show_flags(out, m->nexthop, false);
		out_json_end(out);
	}
	out_json_end(out);
}

/* The address a connected network came with. */
static void
show_prefsrc(struct out *out, const struct ip_prefix *prefix, const struct route_claim *claim)
{
	const struct iface_control *c = iface_get(nexthop_iface(claim->nexthop));
	char text[IP_ADDR_TEXT];

	for (unsigned i = 0; c != NULL && i < c->address_count; i++) {
		if (c->addresses[i].addr.family != AF_INET ||
		    !ip_prefix_contains(prefix, &c->addresses[i].addr))
			continue;
		ip_addr_format(&c->addresses[i].addr, text);
		out_text(out, "src %s ", text);
		out_json_string(out, "prefsrc", text);
		return;
	}
}

static void
show_table(struct out *out, const struct vrf *v)
{
	if (v->name[0] != '\0') {
		out_text(out, "table %s ", v->name);
		out_json_string(out, "table", v->name);
	} else {
		out_text(out, "table %u ", v->table);
		out_json_uint(out, "table", v->table);
	}
}

static void
show_scope(struct out *out, const struct ip_prefix *prefix, const struct route_claim *claim)
{
	const char *scope = NULL;

	if (prefix->addr.family != AF_INET)
		return;
	if (claim->kind == ROUTE_LOCAL)
		scope = "host";
	else if (claim->kind == ROUTE_BROADCAST || claim->kind == ROUTE_CONNECTED ||
		 claim->kind == ROUTE_NEIGHBOUR || net_nexthop_is_connected(claim->nexthop))
		scope = "link";
	if (scope == NULL)
		return;
	out_text(out, "scope %s ", scope);
	out_json_string(out, "scope", scope);
}

void
route_claim_show(struct out *out, const struct vrf *v, const struct ip_prefix *prefix,
		 const struct route_claim *claim, bool table)
{
	const struct sid *sid = net_nexthop_owner(claim->nexthop, OWNER_SID);
	const struct group *g = net_nexthop_owner(claim->nexthop, OWNER_GROUP);
	const char *type = type_word(claim);
	char text[IP_PREFIX_TEXT], number[4];

	route_prefix_text(prefix, text);
	out_json_object(out, NULL);
	if (type != NULL) {
		out_text(out, "%s ", type);
		out_json_string(out, "type", type);
	}
	out_text(out, "%s ", text);
	out_json_string(out, "dst", text);
	if (sid != NULL) {
		sid_words_show(out, sid);
		out_text(out, " ");
		if (sid->config.dev[0] != '\0') {
			out_text(out, "dev %s ", sid->config.dev);
			out_json_string(out, "dev", sid->config.dev);
		}
	} else if (g == NULL) {
		route_way_show(out, claim->nexthop);
	}
	if (table)
		show_table(out, v);
	if (claim->proto != ROUTE_PROTO_BOOT) {
		out_text(out, "proto %s ", proto_name(claim->proto, number));
		out_json_string(out, "protocol", proto_name(claim->proto, number));
	}
	show_scope(out, prefix, claim);
	if (prefix->addr.family == AF_INET &&
	    (claim->kind == ROUTE_CONNECTED || claim->kind == ROUTE_LOCAL))
		show_prefsrc(out, prefix, claim);
	if (prefix->addr.family == AF_INET6) {
		unsigned metric = claim->kind == ROUTE_CONNECTED ? 256
				  : claim->kind == ROUTE_LOCAL	 ? 0
								 : 1024;

		out_text(out, "metric %u ", metric);
		out_json_uint(out, "metric", metric);
	}
	show_flags(out, claim->nexthop, claim->onlink && g == NULL);
	if (prefix->addr.family == AF_INET6) {
		out_text(out, "pref medium");
		out_json_string(out, "pref", "medium");
	}
	if (g != NULL)
		show_members(out, g);
	out_text(out, "\n");
	out_json_end(out);
}
