/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `ip link show` and `ip addr show`: interfaces and VRF devices as iproute2
 * prints them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "net.h"
#include "net_words.h"

/* Interface index of a VRF device, beyond those of interfaces. */
static unsigned
vrf_ifindex(const struct vrf *v)
{
	return IFACE_MAX + v->idx;
}

static bool
has_carrier(const struct iface_control *c)
{
	return iface_is_up(c) && ports[c->port].started && ports[c->port].link_up;
}

static const char *
operstate(const struct iface_control *c)
{
	if (has_carrier(c))
		return "UP";
	return c->vlan != 0 && c->admin_up ? "LOWERLAYERDOWN" : "DOWN";
}

/* Flags in iproute2's order, to a list in JSON or a text with commas. */
static void
show_flags(struct out *out, const char *const flags[], unsigned n)
{
	out_json_array(out, "flags");
	for (unsigned i = 0; i < n; i++) {
		out_json_string(out, NULL, flags[i]);
		out_text(out, "%s%s", i == 0 ? "<" : ",", flags[i]);
	}
	out_json_end(out);
	out_text(out, ">");
}

static void
show_iface_flags(struct out *out, const struct iface_control *c)
{
	const struct port *port = &ports[c->port];
	const char *flags[8];
	unsigned n = 0;

	if (iface_is_up(c) && !has_carrier(c))
		flags[n++] = "NO-CARRIER";
	flags[n++] = "BROADCAST";
	flags[n++] = "MULTICAST";
	if (port->promisc && c->vlan == 0)
		flags[n++] = "PROMISC";
	if (port->any_mac && c->vlan == 0)
		flags[n++] = "ANY-MAC";
	if (c->admin_up)
		flags[n++] = "UP";
	if (has_carrier(c))
		flags[n++] = "LOWER_UP";
	show_flags(out, flags, n);
}

/* The head that both commands print; the JSON object stays open. */
static void
show_iface(struct out *out, const struct iface_control *c)
{
	const struct vrf *v = vrf_at(c->vrf);
	const struct iface_control *parent = iface_of_port(c->port);
	char mac[18];

	out_json_object(out, NULL);
	out_json_uint(out, "ifindex", c->id);
	if (c->vlan != 0)
		out_json_string(out, "link", parent->name);
	out_json_string(out, "ifname", c->name);
	out_text(out, "%u: %s%s%s: ", c->id, c->name, c->vlan != 0 ? "@" : "",
		 c->vlan != 0 ? parent->name : "");
	show_iface_flags(out, c);
	out_json_uint(out, "mtu", c->mtu);
	out_text(out, " mtu %u ", c->mtu);
	if (v->idx != VRF_MAIN) {
		out_json_string(out, "master", v->name);
		out_text(out, "master %s ", v->name);
	}
	out_json_string(out, "operstate", operstate(c));
	out_json_string(out, "link_type", "ether");
	out_json_string(out, "address", mac_format(c->mac, mac));
	out_json_string(out, "broadcast", "ff:ff:ff:ff:ff:ff");
	out_text(out, "state %s\n    link/ether %s brd ff:ff:ff:ff:ff:ff\n", operstate(c), mac);
}

static void
show_vrf(struct out *out, const struct vrf *v)
{
	static const char *const flags[] = {"NOARP", "MASTER", "UP", "LOWER_UP"};

	out_json_object(out, NULL);
	out_json_uint(out, "ifindex", vrf_ifindex(v));
	out_json_string(out, "ifname", v->name);
	out_text(out, "%u: %s: ", vrf_ifindex(v), v->name);
	show_flags(out, flags, 4);
	out_json_uint(out, "mtu", 65535);
	out_json_string(out, "operstate", "UP");
	out_text(out, " mtu 65535 state UP\n    vrf table %u\n", v->table);
}

static void
show_link_info(struct out *out, const struct iface_control *c)
{
	const struct port *port = &ports[c->port];

	if (c->vlan != 0) {
		out_json_object(out, "linkinfo");
		out_json_string(out, "info_kind", "vlan");
		out_json_object(out, "info_data");
		out_json_string(out, "protocol", "802.1Q");
		out_json_uint(out, "id", c->vlan);
		out_json_end(out);
		out_json_end(out);
		out_text(out, "    vlan protocol 802.1Q id %u\n", c->vlan);
	} else {
		out_json_string(out, "parentdev", port->name);
		out_text(out, "    port %s driver %s\n", port->name,
			 port->driver != NULL ? port->driver : "?");
	}
}

static void
show_vrf_info(struct out *out, const struct vrf *v)
{
	out_json_object(out, "linkinfo");
	out_json_string(out, "info_kind", "vrf");
	out_json_object(out, "info_data");
	out_json_uint(out, "table", v->table);
	out_json_end(out);
	out_json_end(out);
}

static void
show_address(struct out *out, const struct iface_control *c, const struct iface_address *a)
{
	bool v4 = a->addr.family == AF_INET;
	bool link = !v4 && ip6_is_link_local(a->addr.bytes);
	char text[IP_ADDR_TEXT], brd[IP_ADDR_TEXT] = "";

	if (v4 && a->len <= 30) {
		struct ip_addr b = ip4_addr(ip4_host(&a->addr) | (uint32_t)(UINT32_MAX >> a->len));

		ip_addr_format(&b, brd);
	}
	ip_addr_format(&a->addr, text);
	out_json_object(out, NULL);
	out_json_string(out, "family", v4 ? "inet" : "inet6");
	out_json_string(out, "local", text);
	out_json_uint(out, "prefixlen", a->len);
	if (brd[0] != '\0')
		out_json_string(out, "broadcast", brd);
	out_json_string(out, "scope", link ? "link" : "global");
	if (v4)
		out_json_string(out, "label", c->name);
	out_json_uint(out, "valid_life_time", UINT32_MAX);
	out_json_uint(out, "preferred_life_time", UINT32_MAX);
	out_json_end(out);
	out_text(out, "    inet%s %s/%u %s%s%sscope %s%s%s\n", v4 ? "" : "6", text, a->len,
		 brd[0] != '\0' ? "brd " : "", brd, brd[0] != '\0' ? " " : "",
		 link ? "link" : "global", v4 ? " " : "", v4 ? c->name : "");
	out_text(out, "       valid_lft forever preferred_lft forever\n");
}

/* Where a long list is. */
struct show {
	struct iface_control *only; /* NULL: all */
	unsigned iface;		    /* seen last */
	bool addresses;
	bool vrfs; /* VRF devices too */
	int vrf;   /* seen last */
	uint8_t family;
	const struct vrf *master; /* only its members */
};

/* With -4 or -6 `ip addr` leaves out who has no address of the family. */
static bool
is_listed(const struct iface_control *c, const struct show *s)
{
	const struct iface *view = iface_at(c->id);

	if (!s->addresses || s->family == 0)
		return true;
	for (unsigned i = 0; i < view->address_count; i++) {
		if (view->addresses[i].addr.family == s->family)
			return true;
	}
	return false;
}

static void
show_one(struct out *out, const struct iface_control *c, const struct show *s)
{
	const struct iface *view = iface_at(c->id);

	show_iface(out, c);
	if (s->addresses) {
		out_json_array(out, "addr_info");
		for (unsigned i = 0; i < view->address_count; i++) {
			if (s->family == 0 || view->addresses[i].addr.family == s->family)
				show_address(out, c, &view->addresses[i]);
		}
		out_json_end(out);
	} else {
		show_link_info(out, c);
	}
	out_json_end(out);
}

static void
show_one_vrf(struct out *out, const struct vrf *v, const struct show *s)
{
	show_vrf(out, v);
	if (s->addresses) {
		out_json_array(out, "addr_info");
		out_json_end(out);
	} else {
		show_vrf_info(out, v);
	}
	out_json_end(out);
}

static int
show_more(struct call *call)
{
	struct show *s = call->state;
	struct iface_control *c;
	struct vrf *v;

	while ((c = iface_next(s->iface)) != NULL) {
		s->iface = c->id;
		if ((s->only != NULL && c != s->only) ||
		    (s->master != NULL && c->vrf != s->master->idx) || !is_listed(c, s))
			continue;
		show_one(call->out, c, s);
		if (out_full(call->out))
			return CALL_MORE;
	}
	while (s->vrfs && (v = vrf_next(s->vrf)) != NULL) {
		s->vrf = v->idx;
		if (v->device)
			show_one_vrf(call->out, v, s);
		if (out_full(call->out))
			return CALL_MORE;
	}
	out_json_end(call->out);
	return 0;
}

/* The rest of "[[dev] DEV] [master VRF]"; a VRF device may be the DEV. */
static int
parse_show(struct call *call, struct show *s, const struct vrf **only)
{
	while (call_peek(call) != NULL) {
		const char *word;

		if (call_accept(call, "master", 2) || call_accept(call, "vrf", 3)) {
			word = call_value(call, "master", "a VRF");
			s->master = word != NULL ? vrf_of_name(word) : NULL;
			if (s->master == NULL)
				return err_set(call->err, ENODEV, "master: no such VRF");
			s->vrfs = false;
			continue;
		}
		if (call_accept(call, "dev", 3) && call_peek(call) == NULL)
			return err_set(call->err, EINVAL, "dev: an interface is missing");
		word = call_next(call);
		s->vrfs = false;
		*only = vrf_of_name(word);
		if (*only != NULL && (*only)->device)
			continue;
		*only = NULL;
		s->only = word_dev(word, call->err);
		if (s->only == NULL)
			return -ENODEV;
	}
	return 0;
}

static int
show(struct call *call, bool addresses)
{
	struct show *s = calloc(1, sizeof(*s));
	const struct vrf *only = NULL;
	int rc;

	if (s == NULL)
		return err_set(call->err, ENOMEM, "no memory");
	call->state = s;
	s->addresses = addresses;
	s->vrfs = true;
	s->vrf = -1;
	s->family = call->family;
	rc = parse_show(call, s, &only);
	if (rc < 0)
		return rc;
	/* A VRF device has no addresses. */
	s->vrfs &= !addresses || s->family == 0;
	out_json_array(call->out, NULL);
	if (only != NULL) {
		if (!addresses || s->family == 0)
			show_one_vrf(call->out, only, s);
		out_json_end(call->out);
		return 0;
	}
	call->more = show_more;
	return show_more(call);
}

static int
link_show(struct call *call)
{
	return show(call, false);
}

static int
addr_show(struct call *call)
{
	return show(call, true);
}

static const struct command commands[] = {
	{"ip link [show] [[dev] DEV] [master VRF]", "interfaces and VRFs", link_show, NULL},
	{"ip addr [show] [[dev] DEV] [master VRF]", "interfaces with their addresses", addr_show,
	 NULL},
};

void
net_show_register(struct console *console)
{
	console_register(console, commands, sizeof(commands) / sizeof(commands[0]));
}
