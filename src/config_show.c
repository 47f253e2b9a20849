/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `show config`: the commands that would rebuild the present state, in an order
 * in which each finds what it needs. Only what somebody configured is there, and only
 * words that say something.
 */
#include <errno.h>
#include <stdlib.h>

#include "cmd_sid.h"
#include "flow_show.h"
#include "neighbour.h"
#include "net.h"
#include "net_route.h"
#include "net_words.h"
#include "udp_handler.h"
#include "udp_sockets.h"
#include "verdict.h"
#include "worker.h"

enum phase {
	PHASE_VRFS,
	PHASE_PORTS,
	PHASE_VLANS,
	PHASE_LINKS,
	PHASE_VERDICTS,
	PHASE_ADDRESSES,
	PHASE_NEIGHBOURS,
	PHASE_SR,
	PHASE_ROUTES,
	PHASE_SIDS,
	PHASE_FLOWS,
	PHASE_HANDLERS,
	PHASE_UDP,
	PHASE_END,
};

struct config_show {
	enum phase phase;
	unsigned iface; /* seen last in this phase */
	int vrf;	/* seen last, or being walked */
	bool bare;	/* VRFs are done, bare tables follow */
	bool inside;	/* `last` is a prefix of this table and family */
	uint8_t family;
	struct ip_prefix last;
	unsigned handler;
	struct udp_config_at udp;
	struct out *line; /* the line in the making, as text */
	struct flow_config flows;
	uint8_t made[VRF_MAX / 8]; /* tables that a line shown so far would make, a bit each */
};

static void
state_free(void *state)
{
	struct config_show *s = state;

	out_destroy(s->line);
	free(s);
}

/* The line is complete: a line of text, or a string of the list. */
static void
end_line(struct call *call, struct config_show *s)
{
	size_t size;
	const char *text;

	out_append(s->line, "", 1);
	text = out_data(s->line, &size);
	out_text(call->out, "%s\n", text);
	out_json_string(call->out, NULL, text);
	out_consume(s->line, size);
}

static void
show_vrf_line(struct call *call, struct config_show *s, const struct vrf *v)
{
	out_text(s->line, "ip link add %s type vrf table %u", v->name, v->table);
	end_line(call, s);
}

static void
show_port_lines(struct call *call, struct config_show *s, const struct iface_control *c)
{
	const struct port *port = &ports[c->port];
	char mac[18];

	if (c->mac_set) {
		out_text(s->line, "ip link set dev %s address %s", c->name,
			 mac_format(c->mac, mac));
		end_line(call, s);
	}
	if (c->mtu_set) {
		out_text(s->line, "ip link set dev %s mtu %u", c->name, c->mtu);
		end_line(call, s);
	}
	if (port->any_mac) {
		out_text(s->line, "ip link set dev %s any-mac on", c->name);
		end_line(call, s);
	}
	if (c->promisc_set) {
		out_text(s->line, "ip link set dev %s promisc %s", c->name,
			 port->promisc ? "on" : "off");
		end_line(call, s);
	}
}

static void
show_verdict_line(struct call *call, struct config_show *s, const struct iface_control *c)
{
	const struct verdict *verdict = ports[c->port].verdict;
	char text[VERDICT_TEXT];

	if (verdict == NULL)
		return;
	out_text(s->line, "xdp set dev %s %s", c->name, verdict_format(verdict, text));
	end_line(call, s);
}

static void
show_vlan_lines(struct call *call, struct config_show *s, const struct iface_control *c)
{
	const struct iface_control *parent = iface_of_port(c->port);

	out_text(s->line, "ip link add link %s name %s type vlan id %u", parent->name, c->name,
		 c->vlan);
	end_line(call, s);
	if (c->mtu != parent->mtu) {
		out_text(s->line, "ip link set dev %s mtu %u", c->name, c->mtu);
		end_line(call, s);
	}
}

static void
show_link_lines(struct call *call, struct config_show *s, const struct iface_control *c)
{
	if (c->vrf != VRF_MAIN) {
		out_text(s->line, "ip link set dev %s master %s", c->name, vrf_at(c->vrf)->name);
		end_line(call, s);
	}
	if (!c->admin_up) {
		out_text(s->line, "ip link set dev %s down", c->name);
		end_line(call, s);
	}
}

static void
show_address_lines(struct call *call, struct config_show *s, const struct iface_control *c)
{
	char text[IP_ADDR_TEXT];

	for (unsigned i = 0; i < c->address_count; i++) {
		out_text(s->line, "ip addr add %s/%u dev %s",
			 ip_addr_format(&c->addresses[i].addr, text), c->addresses[i].len, c->name);
		end_line(call, s);
	}
}

static void
show_neighbour_lines(struct call *call, struct config_show *s)
{
	struct neigh *n = NULL;
	char addr[IP_ADDR_TEXT], mac[18];

	while ((n = neigh_next(neighbours, n)) != NULL) {
		if (n->state != NEIGH_PERMANENT)
			continue;
		out_text(s->line, "ip neigh add %s lladdr %s dev %s",
			 ip_addr_format(&n->addr, addr), mac_format(n->mac, mac),
			 iface_get(n->iface)->name);
		end_line(call, s);
	}
}

/* --- routes ----------------------------------------------------------------------------------- */

static void
show_table_words(struct out *line, const struct vrf *v)
{
	if (v->device)
		out_text(line, " vrf %s", v->name);
	else if (v->idx != VRF_MAIN)
		out_text(line, " table %u", v->table);
}

/* One way of a route as it is written. */
struct way {
	const struct neighbour *nb; /* NULL: straight to the interface */
	struct iface_control *c;
	bool dev; /* the address alone would not lead there */
	bool onlink;
};

static struct way
way_of(const struct vrf *v, uint32_t nexthop, bool onlink)
{
	struct way way = {
		.nb = net_nexthop_owner(nexthop, OWNER_NEIGHBOUR),
		.c = iface_get(nexthop_iface(nexthop)),
	};

	way.onlink = onlink && way.nb != NULL && way.nb->onlink;
	way.dev = way.nb == NULL || way.onlink ||
		  neighbour_gateway_iface(v, &way.nb->n->addr) != way.c;
	return way;
}

static void
show_way(struct out *line, const struct vrf *v, uint32_t nexthop, bool onlink)
{
	struct way way = way_of(v, nexthop, onlink);
	char text[IP_ADDR_TEXT];

	if (way.nb != NULL)
		out_text(line, " via %s", ip_addr_format(&way.nb->n->addr, text));
	if (way.dev)
		out_text(line, " dev %s", way.c->name);
	if (way.onlink)
		out_text(line, " onlink");
}

/* A line that could not be carried out now becomes a comment that says why. */
static bool
show_obstacle(struct out *line, const struct vrf *v, uint32_t nexthop, bool onlink)
{
	struct way way = way_of(v, nexthop, onlink);
	struct iface_control *dev = way.dev ? way.c : NULL;
	struct err err;

	if (way.nb == NULL ||
	    neighbour_gateway_check(v, &way.nb->n->addr, &dev, way.onlink, &err) == 0)
		return false;
	out_text(line, "# %s: ", err.text);
	return true;
}

static bool
show_obstacles(struct out *line, const struct vrf *v, const struct route_claim *claim)
{
	const struct group *g = net_nexthop_owner(claim->nexthop, OWNER_GROUP);

	if (g == NULL)
		return show_obstacle(line, v, claim->nexthop, claim->onlink);
	for (unsigned i = 0; i < g->count; i++) {
		if (show_obstacle(line, v, g->members[i].nexthop, claim->onlink))
			return true;
	}
	return false;
}

static const char *
type_words(uint32_t nexthop)
{
	if (nexthop == net_nexthop_shared(NEXTHOP_BLACKHOLE))
		return "blackhole ";
	if (nexthop == net_nexthop_shared(NEXTHOP_UNREACHABLE))
		return "unreachable ";
	return nexthop == net_nexthop_shared(NEXTHOP_PROHIBIT) ? "prohibit " : "";
}

static void
show_route_line(struct call *call, struct config_show *s, const struct vrf *v,
		const struct ip_prefix *prefix, const struct route_claim *claim)
{
	const struct group *g = net_nexthop_owner(claim->nexthop, OWNER_GROUP);
	bool default6 = prefix->len == 0 && prefix->addr.family == AF_INET6;
	const char *type = type_words(claim->nexthop);
	char text[IP_PREFIX_TEXT], number[4];

	ip_prefix_format(prefix, text);
	if (!show_obstacles(s->line, v, claim))
		s->made[v->idx / 8] |= (uint8_t)(1u << v->idx % 8);
	out_text(s->line, "ip %sroute add %s%s", default6 ? "-6 " : "", type,
		 prefix->len == 0 ? "default" : text);
	if (g == NULL && type[0] == '\0')
		show_way(s->line, v, claim->nexthop, claim->onlink);
	show_table_words(s->line, v);
	if (claim->proto != ROUTE_PROTO_BOOT)
		out_text(s->line, " proto %s", proto_name(claim->proto, number));
	for (unsigned i = 0; g != NULL && i < g->count; i++) {
		out_text(s->line, " nexthop");
		show_way(s->line, v, g->members[i].nexthop, claim->onlink);
		if (g->members[i].weight != 1)
			out_text(s->line, " weight %u", g->members[i].weight);
	}
	end_line(call, s);
}

/* Tables in the order in which the lines make them: VRF devices, then bare ones. */
static struct vrf *
next_table(struct config_show *s)
{
	struct vrf *v;

	for (;;) {
		while ((v = vrf_next(s->vrf)) != NULL) {
			s->vrf = v->idx;
			if ((v->idx != VRF_MAIN && !v->device) == s->bare)
				return v;
		}
		if (s->bare)
			return NULL;
		s->bare = true;
		s->vrf = -1;
	}
}

/* The next prefix of the table, IPv4 first; false at its end. */
static bool
next_route(struct config_show *s, const struct vrf *v, struct route *route)
{
	while (!route_next(v, s->family, s->inside ? &s->last : NULL, route)) {
		if (s->family == AF_INET6)
			return false;
		s->family = AF_INET6;
		s->inside = false;
	}
	s->last = route->prefix;
	s->inside = true;
	return true;
}

/* Static routes, table by table. True: output is full. */
static bool
show_routes(struct call *call, struct config_show *s)
{
	struct vrf *v = s->inside ? vrf_at((unsigned)s->vrf) : next_table(s);
	struct route route;

	for (; v != NULL; v = next_table(s)) {
		if (!s->inside)
			s->family = AF_INET;
		while (v->statics != 0 && next_route(s, v, &route)) {
			const struct route_claim *claim = route_claim_of(&route, ROUTE_STATIC);

			if (claim != NULL)
				show_route_line(call, s, v, &route.prefix, claim);
			if (out_full(call->out))
				return true;
		}
		s->inside = false;
	}
	return false;
}

static void
show_sid_line(struct call *call, struct config_show *s, const struct vrf *v, const struct sid *sid)
{
	const struct vrf *table = sid->config.has_table ? vrf_at(sid->config.table) : NULL;
	struct iface_control *oif = iface_get(sid->config.oif);
	char text[IP_PREFIX_TEXT], number[4];
	struct err err;

	if (sid->config.nh.family != 0 &&
	    neighbour_gateway_check(v, &sid->config.nh, &oif, false, &err) < 0)
		out_text(s->line, "# %s: ", err.text);
	else if (table != NULL && table->idx != VRF_MAIN && !table->device &&
		 (s->made[table->idx / 8] >> table->idx % 8 & 1) == 0)
		out_text(s->line, "# no route makes its table: ");
	out_text(s->line, "ip -6 route add %s ", ip_prefix_format(&sid->config.prefix, text));
	sid_words_show(s->line, sid);
	if (sid->config.dev[0] != '\0')
		out_text(s->line, " dev %s", sid->config.dev);
	show_table_words(s->line, v);
	if (sid->config.proto != ROUTE_PROTO_BOOT)
		out_text(s->line, " proto %s", proto_name(sid->config.proto, number));
	end_line(call, s);
}

static bool
show_sids(struct call *call, struct config_show *s)
{
	struct vrf *v = s->inside ? vrf_at((unsigned)s->vrf) : next_table(s);

	for (; v != NULL; v = next_table(s)) {
		const struct sid *sid;

		while ((sid = sid_next(v, s->inside ? &s->last : NULL)) != NULL) {
			s->last = sid->config.prefix;
			s->inside = true;
			show_sid_line(call, s, v, sid);
			if (out_full(call->out))
				return true;
		}
		s->inside = false;
	}
	return false;
}

static bool
show_flows(struct call *call, struct config_show *s)
{
	while (flow_config_line(&s->flows, s->line)) {
		end_line(call, s);
		if (out_full(call->out))
			return true;
	}
	return false;
}

/* --- phases ------------------------------------------------------------------------------------
 */

static bool
show_vrfs(struct call *call, struct config_show *s)
{
	struct vrf *v;

	while ((v = vrf_next(s->vrf)) != NULL) {
		s->vrf = v->idx;
		if (v->device)
			show_vrf_line(call, s, v);
		if (out_full(call->out))
			return true;
	}
	return false;
}

static bool
show_ifaces(struct call *call, struct config_show *s)
{
	struct iface_control *c;

	while ((c = iface_next(s->iface)) != NULL) {
		s->iface = c->id;
		if (s->phase == PHASE_PORTS && c->vlan == 0)
			show_port_lines(call, s, c);
		else if (s->phase == PHASE_VLANS && c->vlan != 0)
			show_vlan_lines(call, s, c);
		else if (s->phase == PHASE_LINKS)
			show_link_lines(call, s, c);
		else if (s->phase == PHASE_VERDICTS && c->vlan == 0)
			show_verdict_line(call, s, c);
		else if (s->phase == PHASE_ADDRESSES)
			show_address_lines(call, s, c);
		if (out_full(call->out))
			return true;
	}
	return false;
}

static bool
show_phase(struct call *call, struct config_show *s)
{
	char text[IP_ADDR_TEXT];

	switch (s->phase) {
	case PHASE_VRFS:
		return show_vrfs(call, s);
	case PHASE_PORTS:
	case PHASE_VLANS:
	case PHASE_LINKS:
	case PHASE_VERDICTS:
	case PHASE_ADDRESSES:
		return show_ifaces(call, s);
	case PHASE_NEIGHBOURS:
		show_neighbour_lines(call, s);
		return false;
	case PHASE_SR:
		if (tunnel_ecn_mask != 0) {
			out_text(s->line, "ip sr ecn set rfc6040");
			end_line(call, s);
		}
		if (sr_tunsrc.family != 0) {
			out_text(s->line, "ip sr tunsrc set %s", ip_addr_format(&sr_tunsrc, text));
			end_line(call, s);
		}
		return false;
	case PHASE_ROUTES:
		return show_routes(call, s);
	case PHASE_SIDS:
		return show_sids(call, s);
	case PHASE_FLOWS:
		return show_flows(call, s);
	case PHASE_HANDLERS:
		while (udp_handler_config_line(s->handler++, s->line))
			end_line(call, s);
		return false;
	case PHASE_UDP:
		while (udp_config_line(&s->udp, s->line)) {
			end_line(call, s);
			if (out_full(call->out))
				return true;
		}
		return false;
	case PHASE_END:
		break;
	}
	return false;
}

static int
show_more(struct call *call)
{
	struct config_show *s = call->state;

	while (s->phase != PHASE_END) {
		if (show_phase(call, s))
			return CALL_MORE;
		s->phase++;
		s->iface = 0;
		s->vrf = -1;
		s->bare = false;
		s->inside = false;
	}
	out_json_end(call->out);
	return 0;
}

int
net_show_config(struct call *call)
{
	struct config_show *s;

	if (call_end(call) < 0)
		return -EINVAL;
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return err_set(call->err, ENOMEM, "no memory");
	s->line = out_create(false);
	call->state = s;
	call->free_state = state_free;
	if (s->line == NULL)
		return err_set(call->err, ENOMEM, "no memory");
	s->vrf = -1;
	call->more = show_more;
	out_json_array(call->out, NULL);
	return show_more(call);
}
