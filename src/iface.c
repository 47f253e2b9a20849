/* SPDX-License-Identifier: BSD-3-Clause */
#include "iface.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "address.h"
#include "loop.h"
#include "neighbour.h"
#include "net_nexthop.h"
#include "net_route.h"
#include "sid.h"
#include "udp_sockets.h"
#include "worker.h"

#define HASH_SIZE 4096u
#define VLAN_IDS  4096u
#define MTU_MIN	  68u /* RFC 791 */

const struct iface *ifaces[IFACE_MAX];

static struct iface_control *controls[IFACE_MAX];
static struct iface_control *by_name[HASH_SIZE];
/* VLAN tables of the ports; once made they stay. */
static uint16_t *vlan_tables[RTE_MAX_ETHPORTS];
/* Ids are given in turn, so that one that went is not soon somebody else's. */
static unsigned last_id;

bool
iface_has_address(const struct iface *iface, const struct ip_addr *addr)
{
	for (unsigned i = 0; i < iface->address_count; i++) {
		if (ip_addr_equal(&iface->addresses[i].addr, addr))
			return true;
	}
	return false;
}

static unsigned
name_hash(const char *name)
{
	uint32_t h = 2166136261u;

	for (; *name != '\0'; name++)
		h = (h ^ (uint8_t)*name) * 16777619u;
	return h % HASH_SIZE;
}

struct iface_control *
iface_get(unsigned id)
{
	return id < IFACE_MAX ? controls[id] : NULL;
}

struct iface_control *
iface_next(unsigned id)
{
	while (++id < IFACE_MAX) {
		if (controls[id] != NULL)
			return controls[id];
	}
	return NULL;
}

struct iface_control *
iface_of_port(uint16_t port)
{
	return iface_get(ports[port].iface);
}

struct iface_control *
iface_find(const char *name)
{
	struct iface_control *c = by_name[name_hash(name)];
	struct port *port;

	while (c != NULL && strcmp(c->name, name) != 0)
		c = c->next_name;
	if (c != NULL)
		return c;
	port = port_find(name, NULL);
	return port != NULL ? iface_of_port(port->id) : NULL;
}

bool
iface_is_up(const struct iface_control *c)
{
	return c->admin_up && ports[c->port].admin_up;
}

int
iface_name_check(const char *name, struct err *err)
{
	size_t len = strlen(name);

	if (len == 0 || len >= IFACE_NAME_LEN || strpbrk(name, "/ \t") != NULL)
		return err_set(err, EINVAL,
			       "'%.40s' is no name for an interface: 1 to %d letters, "
			       "no blank and no /",
			       name, IFACE_NAME_LEN - 1);
	if (name[strspn(name, "0123456789")] == '\0')
		return err_set(err, EINVAL, "'%s' is no name for an interface: numbers are ports",
			       name);
	if (strcmp(name, "all") == 0 || strcmp(name, "local") == 0 || strcmp(name, "default") == 0)
		return err_set(err, EINVAL,
			       "'%s' is no name for an interface: the word has a meaning", name);
	if (iface_find(name) != NULL || vrf_of_name(name) != NULL)
		return err_set(err, EEXIST, "'%s' exists", name);
	return 0;
}

static void
view_free(void *ctx, uintptr_t view)
{
	(void)ctx;
	free((void *)view);
}

/* A VLAN that is down is not reachable; a port that is down is known to workers as such. */
static struct nexthop
connected_contents(const struct iface_control *c)
{
	return (struct nexthop){
		.type = c->admin_up || c->vlan == 0 ? NEXTHOP_CONNECTED : NEXTHOP_UNREACHABLE,
		.iface = c->id,
		.port = c->port,
		.mtu = c->mtu,
	};
}

static int
publish_connected(const struct iface_control *c)
{
	struct nexthop contents = connected_contents(c);
	const struct nexthop *now = nexthop_at(nexthops, c->connected);

	if (now->type == contents.type && now->mtu == contents.mtu)
		return 0;
	return nexthop_replace(nexthops, c->connected, &contents);
}

int
iface_publish(struct iface_control *c, struct err *err)
{
	const struct iface *old = ifaces[c->id];
	unsigned n = c->address_count;
	struct iface *view = malloc(sizeof(*view) + (n + 1) * sizeof(view->addresses[0]));

	if (view == NULL || publish_connected(c) < 0) {
		free(view);
		return err_set(err, ENOMEM, "%s: no memory", c->name);
	}
	*view = (struct iface){
		.id = c->id,
		.port = c->port,
		.vlan = c->vlan,
		.vrf = c->vrf,
		.mtu = c->mtu,
		.up = iface_is_up(c),
		.address_count = n + 1,
	};
	memcpy(view->mac, c->mac, sizeof(view->mac));
	memcpy(view->name, c->name, sizeof(view->name));
	if (n != 0)
		memcpy(view->addresses, c->addresses, n * sizeof(view->addresses[0]));
	view->addresses[n] = (struct iface_address){.addr = ip6_link_local_of(c->mac), .len = 64};
	__atomic_store_n(&ifaces[c->id], view, __ATOMIC_RELEASE);
	if (old != NULL)
		rcu_retire(rcu, view_free, NULL, (uintptr_t)old);
	return 0;
}

static void
control_free(struct iface_control *c)
{
	uint32_t own[] = {c->connected, c->local};

	for (unsigned i = 0; i < 2; i++) {
		if (own[i] == 0)
			continue;
		net_nexthop_own(own[i], OWNER_NONE, NULL);
		net_nexthop_release(own[i]);
	}
	free(c->addresses);
	free(c);
}

static unsigned
id_take(void)
{
	for (unsigned i = 0; i < IFACE_MAX; i++) {
		last_id = last_id + 1 < IFACE_MAX ? last_id + 1 : 1;
		if (controls[last_id] == NULL)
			return last_id;
	}
	return 0;
}

static struct iface_control *
iface_new(const struct port *port, uint16_t vlan, const char *name, struct err *err)
{
	struct iface_control **chain = &by_name[name_hash(name)];
	unsigned id = id_take();
	struct nexthop contents;
	struct iface_control *c;

	if (id == 0) {
		err_set(err, ENOSPC, "%s: all %d interfaces are in use", name, IFACE_MAX - 1);
		return NULL;
	}
	c = calloc(1, sizeof(*c));
	if (c == NULL) {
		err_set(err, ENOMEM, "%s: no memory", name);
		return NULL;
	}
	c->id = (uint16_t)id;
	c->port = port->id;
	c->vlan = vlan;
	c->vrf = VRF_MAIN;
	c->mtu = port->mtu;
	c->admin_up = true;
	c->carrier = true;
	memcpy(c->mac, port->mac_bytes, sizeof(c->mac));
	snprintf(c->name, sizeof(c->name), "%s", name);
	LIST_INIT(&c->neighbours);
	contents = connected_contents(c);
	c->connected = nexthop_add(nexthops, &contents, err);
	contents.type = NEXTHOP_LOCAL;
	c->local = c->connected != 0 ? nexthop_add(nexthops, &contents, err) : 0;
	if (c->local == 0 || iface_publish(c, err) < 0) {
		control_free(c);
		return NULL;
	}
	net_nexthop_own(c->connected, OWNER_CONNECTED, c);
	net_nexthop_own(c->local, OWNER_LOCAL, c);
	controls[id] = c;
	c->next_name = *chain;
	*chain = c;
	return c;
}

static void
iface_free(struct iface_control *c)
{
	struct iface_control **link = &by_name[name_hash(c->name)];
	const struct iface *view = ifaces[c->id];

	while (*link != c)
		link = &(*link)->next_name;
	*link = c->next_name;
	controls[c->id] = NULL;
	__atomic_store_n(&ifaces[c->id], NULL, __ATOMIC_RELEASE);
	rcu_retire(rcu, view_free, NULL, (uintptr_t)view);
	control_free(c);
}

int
iface_init(struct err *err)
{
	struct port *port;

	PORT_FOREACH(port) {
		char name[IFACE_NAME_LEN];
		struct iface_control *c;

		snprintf(name, sizeof(name), "%u", port->id);
		c = iface_new(port, 0, name, err);
		if (c == NULL)
			return -ENOMEM;
		port->iface = c->id;
	}
	return 0;
}

void
iface_fini(void)
{
	for (unsigned id = 0; id < IFACE_MAX; id++) {
		if (controls[id] != NULL)
			iface_free(controls[id]);
	}
	for (unsigned p = 0; p < RTE_MAX_ETHPORTS; p++) {
		ports[p].vlan_iface = NULL;
		free(vlan_tables[p]);
		vlan_tables[p] = NULL;
	}
	last_id = 0;
}

/* --- VLANs --------------------------------------------------------------------------- */

static int
vlan_table_set(uint16_t port, uint16_t vlan, uint16_t iface)
{
	if (vlan_tables[port] == NULL) {
		vlan_tables[port] = calloc(VLAN_IDS, sizeof(uint16_t));
		if (vlan_tables[port] == NULL)
			return -ENOMEM;
		__atomic_store_n(&ports[port].vlan_iface, vlan_tables[port], __ATOMIC_RELEASE);
	}
	__atomic_store_n(&vlan_tables[port][vlan], iface, __ATOMIC_RELEASE);
	return 0;
}

int
iface_vlan_add(struct iface_control *parent, const char *name, uint16_t vlan, struct err *err)
{
	struct iface_control *c;
	int rc = iface_name_check(name, err);

	if (rc < 0)
		return rc;
	if (parent->vlan != 0)
		return err_set(err, EINVAL,
			       "%s: %s is a VLAN itself, and VLANs in VLANs are not "
			       "supported yet",
			       name, parent->name);
	IFACE_FOREACH(c) {
		if (c->port == parent->port && c->vlan == vlan)
			return err_set(err, EEXIST, "%s: VLAN %u of %s is %s already", name, vlan,
				       parent->name, c->name);
	}
	c = iface_new(&ports[parent->port], vlan, name, err);
	if (c == NULL)
		return -ENOMEM;
	c->carrier = parent->carrier;
	if (vlan_table_set(c->port, vlan, c->id) < 0) {
		iface_free(c);
		return err_set(err, ENOMEM, "%s: no memory", name);
	}
	return 0;
}

int
iface_vlan_del(struct iface_control *c, struct err *err)
{
	if (c->vlan == 0)
		return err_set(err, EINVAL, "%s is a port; only VLANs and VRFs can be deleted",
			       c->name);
	vlan_table_set(c->port, c->vlan, 0);
	udp_sockets_forget_iface(c);
	sids_forget_iface(c);
	routes_forget_iface(c);
	addresses_detach(c, vrf_at(c->vrf));
	neigh_flush_iface(neighbours, c->id, true, loop_now_ms());
	neighbour_gateways_changed();
	iface_free(c);
	return 0;
}

/* --- changes: each publishes the interface anew, and then what was made from it ------- */

static int
changed(struct iface_control *c, struct err *err)
{
	int rc = iface_publish(c, err);

	if (rc == 0)
		neighbours_refresh(c);
	return rc;
}

/* The same for a port's interface and its VLANs. */
static int
port_changed(uint16_t port, struct err *err)
{
	struct iface_control *c;
	int rc = 0;

	IFACE_FOREACH(c) {
		if (c->port == port && rc == 0)
			rc = changed(c, err);
	}
	return rc;
}

int
iface_set_up(struct iface_control *c, bool up, struct err *err)
{
	struct port *port = &ports[c->port];
	int rc;

	if (c->admin_up == up)
		return 0;
	c->admin_up = up;
	if (c->vlan == 0) {
		port->admin_up = up;
		if (!up)
			workers_release_port(port);
		else if (port->started)
			workers_adopt_port(port);
		rc = port_changed(c->port, err);
	} else {
		rc = changed(c, err);
	}
	groups_refresh();
	return rc;
}

/* With the port stopped, if its driver wants it so. */
static int
port_mtu(struct port *port, uint16_t mtu, struct err *err)
{
	bool restart = false;
	struct err ignored;
	int rc = port_set_mtu(port, mtu, &restart, err);

	if (!restart)
		return rc;
	workers_release_port(port);
	rc = port_stop(port, err);
	if (rc == 0) {
		uint16_t old = port->mtu;

		rc = port_set_mtu(port, mtu, &restart, err);
		if (rc == 0) {
			rc = port_start(port, err);
			if (rc < 0)
				port_set_mtu(port, old, &restart, &ignored);
		}
		if (rc < 0 && !port->started)
			port_start(port, &ignored);
	}
	if (port->started && port->admin_up)
		workers_adopt_port(port);
	return rc;
}

int
iface_set_mtu(struct iface_control *c, uint16_t mtu, struct err *err)
{
	struct port *port = &ports[c->port];
	struct iface_control *vlan;
	int rc;

	if (mtu < MTU_MIN)
		return err_set(err, EINVAL, "%s: mtu %u is below %u", c->name, mtu, MTU_MIN);
	if (c->vlan != 0) {
		if (mtu > port->mtu)
			return err_set(err, EINVAL, "%s: mtu %u is above that of port %u (%u)",
				       c->name, mtu, port->id, port->mtu);
		c->mtu = mtu;
		return changed(c, err);
	}
	rc = port_mtu(port, mtu, err);
	if (rc < 0)
		return rc;
	c->mtu = mtu;
	c->mtu_set = true;
	IFACE_FOREACH(vlan) {
		if (vlan->port == c->port && vlan->mtu > mtu)
			vlan->mtu = mtu;
	}
	return port_changed(c->port, err);
}

int
iface_set_mac(struct iface_control *c, const uint8_t mac[6], struct err *err)
{
	static const uint8_t zero[6];
	struct iface_control *other;
	int rc;

	if (c->vlan != 0)
		return err_set(err, EINVAL,
			       "%s: a VLAN has the address of its port; set that of %u", c->name,
			       c->port);
	if ((mac[0] & 1) != 0 || memcmp(mac, zero, sizeof(zero)) == 0)
		return err_set(err, EINVAL, "%s: not the address of a single station", c->name);
	rc = port_set_mac(&ports[c->port], mac, err);
	if (rc < 0)
		return rc;
	c->mac_set = true;
	IFACE_FOREACH(other) {
		if (other->port == c->port)
			memcpy(other->mac, mac, sizeof(other->mac));
	}
	return port_changed(c->port, err);
}

int
iface_set_vrf(struct iface_control *c, uint16_t vrf, struct err *err)
{
	struct vrf *from = vrf_at(c->vrf), *to = vrf_at(vrf);
	int rc;

	if (from == to)
		return 0;
	rc = addresses_attach(c, to, err);
	if (rc < 0)
		return rc;
	c->vrf = vrf;
	rc = iface_publish(c, err);
	if (rc < 0) {
		c->vrf = from->idx;
		addresses_detach(c, to);
		return rc;
	}
	/* As in Linux, routes through an interface do not follow it elsewhere. */
	routes_forget_iface(c);
	addresses_detach(c, from);
	neighbour_gateways_changed();
	neighbours_refresh(c);
	sids_refresh();
	return udp_sockets_iface_moved(c, err);
}

void
iface_poll_links(void)
{
	struct iface_control *c;
	struct port *port;
	bool any = false;

	PORT_FOREACH(port) {
		if (port->started)
			port_poll_link(port);
	}
	IFACE_FOREACH(c) {
		bool carrier = ports[c->port].link_up;

		any |= carrier != c->carrier;
		/* Another host may answer when the cable comes back: forget, as kernels do. */
		if (c->carrier && !carrier)
			neigh_flush_iface(neighbours, c->id, false, loop_now_ms());
		c->carrier = carrier;
	}
	if (any)
		groups_refresh();
}
