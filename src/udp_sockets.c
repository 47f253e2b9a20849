/* SPDX-License-Identifier: BSD-3-Clause */
#include "udp_sockets.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>

#include <rte_malloc.h>
#include <rte_random.h>

#include "route.h"
#include "udp_handler.h"
#include "worker_private.h"

struct udp_tables *sockets;
struct udp_own *udp_own[RTE_MAX_LCORE];

/* Counters as they were when the socket was bound or cleared. */
static struct udp_counters *base;
/* Sockets of each VRF: ports without any leave the stage out. */
static uint32_t vrf_sockets[VRF_MAX];

/* --- what workers have of their own ------------------------------------------------------- */

static struct udp_counters *
counters_reserve(void)
{
	void *p = mmap(NULL, UDP_SOCKETS_MAX * sizeof(struct udp_counters), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	madvise(p, UDP_SOCKETS_MAX * sizeof(struct udp_counters), MADV_HUGEPAGE);
	return p;
}

static void
counters_unreserve(struct udp_counters *counters)
{
	if (counters != NULL)
		munmap(counters, UDP_SOCKETS_MAX * sizeof(*counters));
}

static struct udp_own *
own_create(struct worker *w)
{
	struct udp_own *own =
		rte_zmalloc_socket("udp", sizeof(*own), RTE_CACHE_LINE_SIZE, w->socket);

	if (own == NULL)
		return NULL;
	own->worker = (struct udp_worker){
		.id = w->id,
		.lcore = w->lcore,
		.numa = w->socket,
		.pool = pool_for_socket(w->socket)->mempool,
		.send = udp_send,
	};
	own->owner = w;
	own->ip4_id = (uint16_t)rte_rand();
	own->counters = counters_reserve();
	if (own->counters != NULL)
		return own;
	rte_free(own);
	return NULL;
}

int
udp_own_create(struct err *err)
{
	for (unsigned id = 0; id < workers_count(); id++) {
		udp_own[id] = own_create(worker_at(id));
		if (udp_own[id] == NULL)
			return err_set(err, ENOMEM, "no memory for the UDP sockets of a worker");
	}
	return 0;
}

void
udp_own_destroy(void)
{
	for (unsigned id = 0; id < RTE_MAX_LCORE; id++) {
		if (udp_own[id] == NULL)
			continue;
		counters_unreserve(udp_own[id]->counters);
		rte_free(udp_own[id]);
		udp_own[id] = NULL;
	}
}

/* --- counters ------------------------------------------------------------------------------- */

void
udp_sockets_counters(uint32_t id, struct udp_counters *sum)
{
	*sum = (struct udp_counters){0};
	for (unsigned w = 0; w < workers_count(); w++) {
		const struct udp_counters *c = &udp_own[w]->counters[id];

		sum->packets += c->packets;
		sum->bytes += c->bytes;
		sum->drops += c->drops;
	}
	sum->packets -= base[id].packets;
	sum->bytes -= base[id].bytes;
	sum->drops -= base[id].drops;
}

void
udp_sockets_clear(uint32_t id)
{
	struct udp_counters now;

	base[id] = (struct udp_counters){0};
	udp_sockets_counters(id, &now);
	base[id] = now;
}

/* --- the whole ---------------------------------------------------------------------------------
 */

int
udp_sockets_init(struct err *err)
{
	int rc = udp_own_create(err);

	if (rc < 0)
		goto fail;
	if (udp_app_find("sink") == NULL) {
		udp_app_register(&udp_sink);
		udp_app_register(&udp_echo);
		udp_handler_register();
	}
	base = counters_reserve();
	sockets = udp_create(workers_count(), rcu, &udp_sink, err);
	if (sockets != NULL && base != NULL) {
		udp_on_bound(sockets, udp_sockets_clear);
		return 0;
	}
	rc = -ENOMEM;
fail:
	udp_sockets_fini();
	return rc;
}

void
udp_sockets_fini(void)
{
	udp_destroy(sockets);
	sockets = NULL;
	counters_unreserve(base);
	base = NULL;
	udp_own_destroy();
	udp_handlers_fini();
	memset(vrf_sockets, 0, sizeof(vrf_sockets));
}

/* Only ports whose packets may be for a socket have the stage. */
static void
refresh_ports(void)
{
	struct port *port;

	PORT_FOREACH(port) {
		const struct iface_control *c = iface_get(port->iface);
		bool any = c != NULL && vrf_sockets[c->vrf] != 0;

		__atomic_store_n(&port->demux, any ? sockets : NULL, __ATOMIC_RELEASE);
	}
}

static void
count_in(uint16_t vrf, int n)
{
	bool had = vrf_sockets[vrf] != 0;

	vrf_sockets[vrf] += (uint32_t)n;
	if (had != (vrf_sockets[vrf] != 0))
		refresh_ports();
}

/* --- bind
 * ------------------------------------------------------------------------------------------ */

const char *
udp_address_format(const struct ip_addr *addr, uint16_t port, char buf[UDP_ADDRESS_TEXT])
{
	char text[IP_ADDR_TEXT];
	bool v6 = addr->family == AF_INET6;

	ip_addr_format(addr, text);
	if (!v6 && ip_is_unspecified(addr))
		snprintf(text, sizeof(text), "*");
	snprintf(buf, UDP_ADDRESS_TEXT, "%s%s%s:%u", v6 ? "[" : "", text, v6 ? "]" : "", port);
	return buf;
}

static bool
needs_interface(const struct ip_addr *a)
{
	return a->family == AF_INET6 &&
	       (ip6_is_link_local(a->bytes) || (a->bytes[0] == 0xff && (a->bytes[1] & 15) <= 2));
}

/* inet_addr_valid_or_nonlocal() and its like: an address of the VRF, a group, or a broadcast. */
static bool
is_ours(const struct udp_bind *b)
{
	struct ip_prefix own = ip_prefix_of(&b->addr, ip_bits(b->addr.family));
	const struct iface *iface = iface_at(b->iface);
	struct route route;

	if (ip_is_unspecified(&b->addr) || ip_is_multicast(&b->addr))
		return true;
	if (b->addr.family == AF_INET && ip4_host(&b->addr) == UINT32_MAX)
		return true;
	if (needs_interface(&b->addr))
		return iface != NULL && iface_has_address(iface, &b->addr);
	return route_get(vrf_at(b->vrf), &own, &route) &&
	       (route_claim_of(&route, ROUTE_LOCAL) != NULL ||
		route_claim_of(&route, ROUTE_BROADCAST) != NULL);
}

int
udp_sockets_check(const struct udp_bind *bind, struct err *err)
{
	char text[UDP_ADDRESS_TEXT], table[VRF_TEXT];

	udp_address_format(&bind->addr, bind->port, text);
	if (needs_interface(&bind->addr) && bind->iface == 0)
		return err_set(err, EINVAL,
			       "%s: a link-local address means something on its link only: dev DEV "
			       "is missing",
			       text);
	if (!is_ours(bind))
		return err_set(err, EADDRNOTAVAIL,
			       "%s: cannot assign requested address: it is none of %s", text,
			       bind->iface != 0 && needs_interface(&bind->addr)
				       ? iface_at(bind->iface)->name
				       : vrf_text(vrf_at(bind->vrf), table));
	return 0;
}

int
udp_sockets_bind(const struct udp_bind *bind, uint32_t *id, struct err *err)
{
	int rc = udp_sockets_check(bind, err);

	if (rc == 0)
		rc = udp_bind(sockets, bind, id, err);
	if (rc == 0)
		count_in(bind->vrf, 1);
	return rc;
}

int
udp_sockets_close(uint32_t id, struct err *err)
{
	const struct udp_socket *s = udp_get(sockets, id);
	uint16_t vrf = s != NULL ? s->bound.vrf : 0;
	int rc = udp_close(sockets, id, err);

	if (rc == 0)
		count_in(vrf, -1);
	return rc;
}

/* --- connect
 * ----------------------------------------------------------------------------------------- */

int
udp_sockets_connect(uint32_t id, const struct ip_addr *remote, uint16_t port, struct err *err)
{
	const struct udp_socket *s = udp_get(sockets, id);
	const struct iface *iface;
	struct ip_addr local = {0};

	if (s == NULL)
		return udp_connect(sockets, id, remote, port, &local, err);
	if (ip_is_unspecified(remote) || ip_is_multicast(remote))
		return err_set(err, ENETUNREACH, "a socket is connected to one host");
	if (needs_interface(remote)) {
		iface = iface_at(s->bound.iface);
		if (iface == NULL)
			return err_set(err, EINVAL,
				       "UDP socket #%u is bound to no interface, and a link-local "
				       "address means something on its link only",
				       id);
		if (!iface_source_for(iface, remote, &local))
			return err_set(err, EADDRNOTAVAIL, "%s has no link-local address",
				       iface->name);
	} else if (!net_source_for(s->bound.vrf, remote, &local, err)) {
		return -ENETUNREACH;
	}
	return udp_connect(sockets, id, remote, port, &local, err);
}

/* --- what they are bound to changes
 * --------------------------------------------------------------------- */

int
udp_sockets_iface_moved(const struct iface_control *c, struct err *err)
{
	int rc = udp_iface_moved(sockets, c->id, c->vrf, err);

	memset(vrf_sockets, 0, sizeof(vrf_sockets));
	for (const struct udp_socket *s = udp_next(sockets, 0); s != NULL;
	     s = udp_next(sockets, s->id + 1))
		vrf_sockets[s->bound.vrf]++;
	refresh_ports();
	return rc;
}

/* Close those for which that is so. */
static void
close_all(bool (*which)(const struct udp_bind *b, uint16_t index), uint16_t index)
{
	const struct udp_socket *s = udp_next(sockets, 0);

	while (s != NULL) {
		uint32_t id = s->id;

		if (which(&s->bound, index))
			udp_sockets_close(id, NULL);
		s = udp_next(sockets, id + 1);
	}
}

static bool
on_iface(const struct udp_bind *b, uint16_t iface)
{
	return b->iface == iface;
}

static bool
on_vrf(const struct udp_bind *b, uint16_t vrf)
{
	return b->vrf == vrf && b->iface == 0;
}

void
udp_sockets_forget_iface(const struct iface_control *c)
{
	close_all(on_iface, c->id);
}

void
udp_sockets_forget_vrf(const struct vrf *v)
{
	close_all(on_vrf, v->idx);
}
