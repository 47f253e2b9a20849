/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ip link ..., port start|stop, set promisc.
 */
#include <errno.h>
#include <stdio.h>

#include "flow_set.h"
#include "neighbour.h"
#include "net.h"
#include "net_nexthop.h"
#include "net_words.h"
#include "sid.h"
#include "udp_sockets.h"
#include "worker.h"

/* --- ip link add, del ---------------------------------------------------------------------- */

struct link_add {
	const char *name;
	const char *type;
	struct iface_control *parent;
	uint64_t number; /* table, or VLAN id */
	bool has_number;
};

/* What stands behind "type vrf" or "type vlan". */
static int
parse_type(struct call *call, struct link_add *add)
{
	bool vlan;
	const char *word = call_value(call, "type", "vrf or vlan");

	if (word == NULL)
		return -EINVAL;
	add->type = word;
	vlan = strcmp(word, "vlan") == 0;
	if (!vlan && strcmp(word, "vrf") != 0)
		return err_set(call->err, EOPNOTSUPP, "type '%.20s': there are vrf and vlan", word);
	while (call_peek(call) != NULL) {
		if (!vlan && call_accept(call, "table", 1)) {
			word = call_value(call, "table", "a number");
			if (word == NULL)
				return -EINVAL;
			if (number_parse(word, 1, UINT32_MAX, &add->number) < 0)
				return err_set(
					call->err, EINVAL,
					"table: '%.20s' is no table number (1 to 4294967295)",
					word);
			add->has_number = true;
		} else if (vlan && call_accept(call, "id", 1)) {
			word = call_value(call, "id", "a VLAN id");
			if (word == NULL || number_parse(word, 1, 4094, &add->number) < 0)
				return err_set(call->err, EINVAL,
					       "id: '%.20s' is not a VLAN id, 1 to 4094",
					       word != NULL ? word : "");
			add->has_number = true;
		} else if (vlan && call_accept(call, "protocol", 4)) {
			word = call_value(call, "protocol", "802.1Q");
			if (word == NULL || strcasecmp(word, "802.1q") != 0)
				return err_set(call->err, EOPNOTSUPP,
					       "protocol: only 802.1Q is supported");
		} else {
			return call_end(call);
		}
	}
	return 0;
}

static int
link_add(struct call *call)
{
	struct link_add add = {0};
	const char *word;

	while (call_peek(call) != NULL) {
		if (call_accept(call, "link", 4)) {
			word = call_value(call, "link", "a port");
			add.parent = word != NULL ? word_dev(word, call->err) : NULL;
			if (add.parent == NULL)
				return -EINVAL;
		} else if (call_accept(call, "type", 4)) {
			int rc = parse_type(call, &add);

			if (rc < 0)
				return rc;
		} else if (call_accept(call, "name", 4) || call_accept(call, "dev", 3)) {
			add.name = call_value(call, "name", "a name");
			if (add.name == NULL)
				return -EINVAL;
		} else if (!call_accept(call, "up", 2)) {
			if (add.name != NULL)
				return call_end(call);
			add.name = call_next(call);
		}
	}
	if (add.name == NULL)
		return err_set(call->err, EINVAL, "a name is missing");
	if (add.type == NULL)
		return err_set(call->err, EINVAL,
			       "%.40s: its type is missing: type vrf table N, "
			       "or type vlan id N",
			       add.name);
	if (strcmp(add.type, "vrf") == 0) {
		if (!add.has_number)
			return err_set(call->err, EINVAL, "%.40s: table N is missing", add.name);
		if (iface_name_check(add.name, call->err) < 0)
			return -EINVAL;
		return vrf_device_add(add.name, (uint32_t)add.number, call->err) != NULL ? 0
											 : -EEXIST;
	}
	if (add.parent == NULL || !add.has_number)
		return err_set(call->err, EINVAL, "%.40s: %s is missing", add.name,
			       add.parent == NULL ? "link PORT" : "id N");
	return iface_vlan_add(add.parent, add.name, (uint16_t)add.number, call->err);
}

static int
vrf_delete(struct vrf *v, struct err *err)
{
	struct iface_control *c;
	struct sid *sid = NULL;
	char text[IP_PREFIX_TEXT];
	struct vrf *other;

	if (v->idx == VRF_MAIN)
		return err_set(err, EINVAL, "the main table cannot be deleted");
	/* Traffic of a SID must not end in another table, so the SID goes first, by hand. */
	VRF_FOREACH(other) {
		for (sid = sid_next(other, NULL); sid != NULL;
		     sid = sid_next(other, &sid->config.prefix)) {
			if (sid->config.has_table && sid->config.table == v->idx && other != v)
				return err_set(err, EBUSY, "vrf %s: SID %s looks up in its table",
					       v->name,
					       ip_prefix_format(&sid->config.prefix, text));
		}
	}
	IFACE_FOREACH(c) {
		if (c->vrf == v->idx) {
			int rc = iface_set_vrf(c, VRF_MAIN, err);

			if (rc < 0)
				return rc;
		}
	}
	sids_forget_vrf(v);
	udp_sockets_forget_vrf(v);
	vrf_device_del(v);
	neighbour_gateways_changed();
	return 0;
}

static int
link_del(struct call *call)
{
	struct iface_control *c;
	const char *name;
	struct vrf *v;

	call_accept(call, "dev", 3);
	name = call_value(call, "ip link del", "a name");
	if (name == NULL)
		return -EINVAL;
	/* "type vlan" and the like may follow, as in iproute2. */
	if (call_accept(call, "type", 4))
		call_next(call);
	if (call_end(call) < 0)
		return -EINVAL;
	v = vrf_of_name(name);
	if (v != NULL)
		return vrf_delete(v, call->err);
	c = word_dev(name, call->err);
	return c != NULL ? iface_vlan_del(c, call->err) : -ENODEV;
}

/* --- ip link set ---------------------------------------------------------------------------- */

enum {
	SET_MAC = 1,
	SET_MTU = 2,
	SET_VRF = 4,
	SET_ANY_MAC = 8,
	SET_PROMISC = 16,
	SET_UP = 32,
	SET_END = 64,
};

struct link_set {
	unsigned set; /* SET_... that are given */
	uint8_t mac[6];
	uint16_t mtu;
	uint16_t vrf;
	bool any_mac, promisc, up;
};

static int
parse_on_off(struct call *call, const char *keyword, bool *on)
{
	const char *word = call_value(call, keyword, "on or off");

	if (word == NULL)
		return -EINVAL;
	if (strcmp(word, "on") != 0 && strcmp(word, "off") != 0)
		return err_set(call->err, EINVAL, "%s: '%.20s' is neither on nor off", keyword,
			       word);
	*on = strcmp(word, "on") == 0;
	return 0;
}

static int
parse_value(struct call *call, const char *keyword, struct link_set *s)
{
	const char *word = call_value(call, keyword, "a value");
	uint64_t number;

	if (word == NULL)
		return -EINVAL;
	if (strcmp(keyword, "mtu") == 0) {
		if (number_parse(word, 1, UINT16_MAX, &number) < 0)
			return err_set(call->err, EINVAL, "mtu '%.20s' is not a number of bytes",
				       word);
		s->mtu = (uint16_t)number;
		s->set |= SET_MTU;
	} else if (strcmp(keyword, "address") == 0) {
		if (mac_parse(word, s->mac) < 0)
			return err_set(call->err, EINVAL, "address '%.40s' is not a MAC address",
				       word);
		s->set |= SET_MAC;
	} else {
		const struct vrf *v = vrf_of_name(word);

		if (v == NULL || !v->device)
			return err_set(call->err, ENODEV, "master '%.40s': no such VRF", word);
		s->vrf = v->idx;
		s->set |= SET_VRF;
	}
	return 0;
}

static int
parse_set(struct call *call, struct link_set *s)
{
	int rc = 0;

	while (rc == 0 && call_peek(call) != NULL) {
		if (call_accept(call, "up", 1)) {
			s->up = true;
			s->set |= SET_UP;
		} else if (call_accept(call, "down", 2)) {
			s->up = false;
			s->set |= SET_UP;
		} else if (call_accept(call, "mtu", 2)) {
			rc = parse_value(call, "mtu", s);
		} else if (call_accept(call, "address", 3)) {
			rc = parse_value(call, "address", s);
		} else if (call_accept(call, "master", 2) || call_accept(call, "vrf", 3)) {
			rc = parse_value(call, "master", s);
		} else if (call_accept(call, "nomaster", 3)) {
			s->vrf = VRF_MAIN;
			s->set |= SET_VRF;
		} else if (call_accept(call, "any-mac", 3)) {
			rc = parse_on_off(call, "any-mac", &s->any_mac);
			s->set |= SET_ANY_MAC;
		} else if (call_accept(call, "promisc", 2)) {
			rc = parse_on_off(call, "promisc", &s->promisc);
			s->set |= SET_PROMISC;
		} else {
			return call_end(call);
		}
	}
	return rc;
}

static int
apply_one(struct iface_control *c, unsigned what, const struct link_set *s, struct err *err)
{
	struct port *port = &ports[c->port];

	switch (what) {
	case SET_MAC:
		return iface_set_mac(c, s->mac, err);
	case SET_MTU:
		return iface_set_mtu(c, s->mtu, err);
	case SET_VRF:
		return iface_set_vrf(c, s->vrf, err);
	case SET_ANY_MAC:
		if (c->vlan != 0)
			return err_set(err, EINVAL, "%s: any-mac is its port's", c->name);
		return port_set_any_mac(port, s->any_mac, err);
	case SET_PROMISC:
		if (c->vlan != 0)
			return err_set(err, EINVAL, "%s: promisc is its port's", c->name);
		c->promisc_set = true;
		return port_set_promisc(port, s->promisc, err);
	case SET_UP:
		return iface_set_up(c, s->up, err);
	}
	return 0;
}

/* All or nothing: what had been done before something failed is undone. */
static int
apply(struct iface_control *c, const struct link_set *s, struct err *err)
{
	bool mac_set = c->mac_set, mtu_set = c->mtu_set, promisc_set = c->promisc_set;
	struct link_set was = {
		.mtu = c->mtu,
		.vrf = c->vrf,
		.any_mac = ports[c->port].any_mac,
		.promisc = ports[c->port].promisc,
		.up = c->admin_up,
	};
	unsigned what;
	int rc = 0;

	memcpy(was.mac, c->mac, sizeof(was.mac));
	for (what = 1; what < SET_END && rc == 0; what <<= 1) {
		if ((s->set & what) != 0)
			rc = apply_one(c, what, s, err);
	}
	if (rc == 0)
		return 0;
	for (what >>= 2; what != 0; what >>= 1) {
		if ((s->set & what) != 0)
			apply_one(c, what, &was, NULL);
	}
	c->mac_set = mac_set;
	c->mtu_set = mtu_set;
	c->promisc_set = promisc_set;
	return rc;
}

static int
link_set(struct call *call)
{
	struct link_set s = {0};
	struct iface_control *c;
	const char *name;
	struct vrf *v;
	int rc;

	call_accept(call, "dev", 3);
	name = call_value(call, "ip link set", "an interface");
	if (name == NULL)
		return -EINVAL;
	v = vrf_of_name(name);
	c = v == NULL ? word_dev(name, call->err) : NULL;
	if (v == NULL && c == NULL)
		return -ENODEV;
	rc = parse_set(call, &s);
	if (rc < 0)
		return rc;
	if (s.set == 0)
		return err_set(call->err, EINVAL, "%.40s: what is to be set?", name);
	if (c != NULL) {
		rc = apply(c, &s, call->err);
		/* Another MTU may have restarted the port. */
		flow_remarks(call->out);
		return rc;
	}
	/* A VRF has no state of its own: it is up as soon as it is there. */
	if (s.set != SET_UP || !s.up)
		return err_set(call->err, EOPNOTSUPP, "%.40s: a VRF can only be set up", name);
	return 0;
}

/* --- ports ------------------------------------------------------------------------------------ */

static int
port_start_stop(struct port *port, bool start, struct err *err)
{
	int rc;

	if (port->started == start)
		return 0;
	if (start) {
		rc = port_start(port, err);
		if (rc == 0 && port->admin_up)
			workers_adopt_port(port);
		return rc;
	}
	workers_release_port(port);
	rc = port_stop(port, err);
	if (rc < 0 && port->admin_up)
		workers_adopt_port(port);
	return rc;
}

/* Take "N|all" and call fn for each port. */
static int
for_ports(struct call *call, int (*fn)(struct port *port, bool on, struct err *err), bool on)
{
	const char *word = call->argc > 0 ? call->argv[0] : "";
	struct port *port;
	int rc = 0;

	if (strcmp(word, "all") != 0) {
		port = port_find(word, call->err);
		return port != NULL ? fn(port, on, call->err) : -ENODEV;
	}
	PORT_FOREACH(port) {
		if (rc == 0)
			rc = fn(port, on, call->err);
	}
	return rc;
}

static int
port_command(struct call *call)
{
	int rc;

	if (call->argc == 0)
		return err_set(call->err, EINVAL, "which port? a number, a name or all");
	if (call->argc > 1)
		return err_set(call->err, EINVAL, "unexpected '%.40s'", call->argv[1]);
	rc = for_ports(call, port_start_stop, call_head_is(call, 1, "start"));
	flow_remarks(call->out);
	return rc;
}

static int
set_promisc_one(struct port *port, bool on, struct err *err)
{
	struct iface_control *c = iface_of_port(port->id);
	int rc = port_set_promisc(port, on, err);

	if (rc == 0 && c != NULL)
		c->promisc_set = true;
	return rc;
}

static int
set_promisc(struct call *call)
{
	const char *word = call->argc == 2 ? call->argv[1] : "";

	if (strcmp(word, "on") != 0 && strcmp(word, "off") != 0)
		return err_set(call->err, EINVAL, "set promisc {PORT|all} {on|off}");
	return for_ports(call, set_promisc_one, strcmp(word, "on") == 0);
}

static const struct command commands[] = {
	{"ip link add NAME type vrf table N", "make a VRF and its table", link_add, NULL},
	{"ip link add [link PORT] [name] NAME type vlan id N", "make a VLAN interface of a port",
	 link_add, NULL},
	{"ip link del [dev] DEV", "delete a VRF or a VLAN interface", link_del,
	 "Interfaces of a VRF go back to the main table. A VRF that a SID looks up in stays."},
	{"ip link set [dev] DEV [up|down] [mtu N] [address MAC] [master VRF|nomaster] "
	 "[any-mac {on|off}] [promisc {on|off}]",
	 "change an interface", link_set,
	 "any-mac on takes frames whatever their destination MAC: for captures from elsewhere."},
	{"port {start|stop} {PORT|all}", "start or stop a device", port_command, NULL},
	{"set promisc {PORT|all} {on|off}", "promiscuous mode of a port", set_promisc, NULL},
};

void
cmd_link_register(struct console *console)
{
	console_register(console, commands, sizeof(commands) / sizeof(commands[0]));
}
