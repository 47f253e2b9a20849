/* SPDX-License-Identifier: BSD-3-Clause */
#include "net_nexthop.h"

#include <errno.h>
#include <sys/mman.h>

#include "loop.h"
#include "neighbour.h"
#include "sid.h"

struct nexthop_table *nexthops;

/* By next-hop index; NEXTHOP_MAX of them, untouched pages cost nothing. */
static struct owned {
	void *owner;
	uint8_t kind;
} * owners;

static uint32_t shared[NEXTHOP_SID + 1];

static const uint8_t shared_types[] = {
	NEXTHOP_BLACKHOLE, NEXTHOP_UNREACHABLE, NEXTHOP_PROHIBIT,
	NEXTHOP_MARTIAN,   NEXTHOP_LINK_SCOPE,
};

int
net_nexthop_init(struct err *err)
{
	owners = mmap(NULL, NEXTHOP_MAX * sizeof(*owners), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (owners == MAP_FAILED) {
		owners = NULL;
		return err_set(err, ENOMEM, "no memory for next hops");
	}
	for (unsigned i = 0; i < sizeof(shared_types); i++) {
		struct nexthop contents = {.type = shared_types[i]};

		shared[contents.type] = nexthop_add(nexthops, &contents, err);
		if (shared[contents.type] == 0)
			return -ENOMEM;
	}
	return 0;
}

void
net_nexthop_fini(void)
{
	if (owners != NULL)
		munmap(owners, NEXTHOP_MAX * sizeof(*owners));
	owners = NULL;
}

uint32_t
net_nexthop_shared(enum nexthop_type type)
{
	return shared[type];
}

void
net_nexthop_own(uint32_t nexthop, enum nexthop_owner kind, void *owner)
{
	owners[nexthop] = (struct owned){owner, (uint8_t)kind};
}

enum nexthop_owner
net_nexthop_owner_kind(uint32_t nexthop)
{
	return nexthop < NEXTHOP_MAX ? owners[nexthop].kind : OWNER_NONE;
}

void *
net_nexthop_owner(uint32_t nexthop, enum nexthop_owner kind)
{
	return net_nexthop_owner_kind(nexthop) == kind ? owners[nexthop].owner : NULL;
}

/* A neighbour's next hop lives as long as the neighbour, so it is the neighbour that is held. */
void
net_nexthop_hold(uint32_t nexthop)
{
	struct neighbour *nb = net_nexthop_owner(nexthop, OWNER_NEIGHBOUR);

	if (nb != NULL)
		neigh_hold(nb->n);
	else
		nexthop_hold(nexthops, nexthop);
}

void
net_nexthop_release(uint32_t nexthop)
{
	struct owned *o = &owners[nexthop];

	if (o->kind == OWNER_NEIGHBOUR) {
		struct neighbour *nb = o->owner;

		neigh_unhold(neighbours, nb->n, loop_now_ms());
		return;
	}
	if (!nexthop_release(nexthops, nexthop))
		return;
	if (o->kind == OWNER_GROUP)
		group_free(o->owner);
	else if (o->kind == OWNER_SID)
		sid_free(o->owner);
	*o = (struct owned){0};
}

bool
net_nexthop_is_connected(uint32_t nexthop)
{
	return net_nexthop_owner_kind(nexthop) == OWNER_CONNECTED;
}

bool
net_nexthop_usable(uint32_t nexthop)
{
	const struct neighbour *nb = net_nexthop_owner(nexthop, OWNER_NEIGHBOUR);
	const struct iface_control *c;

	if (nb != NULL)
		c = nb->detached ? NULL : iface_get(nb->n->iface);
	else
		c = net_nexthop_owner(nexthop, OWNER_CONNECTED);
	return c != NULL && iface_is_up(c) && c->carrier;
}
