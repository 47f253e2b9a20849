/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Changes to interfaces: state, MTU, MAC, VRF, carrier. Each publishes the
 * interface anew and then what was made from it.
 */
#include <errno.h>

#include "address.h"
#include "neighbour.h"
#include "net_nexthop.h"
#include "net_route.h"
#include "sid.h"
#include "worker.h"

#define MTU_MIN 68u /* RFC 791 */

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
		return err_set(err, EINVAL, "%s: a VLAN has the address of its port; set that of %u",
			       c->name, c->port);
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
	return 0;
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
		c->carrier = carrier;
	}
	if (any)
		groups_refresh();
}
