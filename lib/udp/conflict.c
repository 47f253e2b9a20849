/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bind(2): whether two sockets may share a port, and which ports are free.
 * As in the kernel: udp_lib_lport_inuse(), inet_rcv_saddr_equal().
 */
#include <errno.h>
#include <stdlib.h>

#include <rte_random.h>

#include "private.h"

/* Above every interface index. */
#define DEVICE_VRF 0x10000u

uint32_t
device_of(const struct udp_bind *b)
{
	if (b->iface != 0)
		return b->iface;
	return b->vrf != 0 ? DEVICE_VRF | b->vrf : 0;
}

static bool
is_any(const struct udp_bind *b)
{
	return ip_is_unspecified(&b->addr);
}

/*
 * Could a datagram be for both? Of different families they meet in IPv4. An IPv6 socket with an
 * address takes none; yet one that was bound to [::] for both families and got its address by
 * connecting is still in the way of who wants all of IPv4.
 */
static bool
addresses_meet(const struct udp_bind *a, const struct udp_bind *b)
{
	const struct udp_bind *v6 = a->addr.family == AF_INET6 ? a : b;
	const struct udp_bind *v4 = v6 == a ? b : a;

	if (a->addr.family == b->addr.family)
		return is_any(a) || is_any(b) || ip_addr_equal(&a->addr, &b->addr);
	return !v6->v6only && (is_any(v6) || is_any(v4));
}

static bool
devices_meet(const struct udp_bind *a, const struct udp_bind *b)
{
	uint32_t x = device_of(a), y = device_of(b);

	return x == 0 || y == 0 || x == y;
}

static bool
same_group(const struct udp_bind *a, const struct udp_bind *b)
{
	return a->reuseport && b->reuseport && device_of(a) == device_of(b) &&
	       ip_addr_equal(&a->addr, &b->addr) && a->v6only == b->v6only;
}

/* --- lists --------------------------------------------------------------------------- */

static uint32_t
address_hash(const struct ip_addr *addr, uint16_t port)
{
	uint64_t words[2];

	memcpy(words, addr->bytes, sizeof(words));
	return (uint32_t)_mm_crc32_u64(_mm_crc32_u64(port, words[0]), words[1] ^ addr->family);
}

static struct address *
address_find(const struct udp_control *c, const struct ip_addr *addr, uint16_t port)
{
	struct address *a = c->by_address[address_hash(addr, port) % LIST_BUCKETS];

	while (a != NULL && (a->port != port || !ip_addr_equal(&a->addr, addr)))
		a = a->next;
	return a;
}

static struct address *
address_make(struct udp_control *c, const struct ip_addr *addr, uint16_t port)
{
	struct address **chain = &c->by_address[address_hash(addr, port) % LIST_BUCKETS];
	struct address *a = address_find(c, addr, port);

	if (a != NULL)
		return a;
	a = calloc(1, sizeof(*a));
	if (a == NULL)
		return NULL;
	a->addr = *addr;
	a->port = port;
	TAILQ_INIT(&a->sockets);
	a->next = *chain;
	*chain = a;
	return a;
}

static void
address_drop(struct udp_control *c, struct address *a)
{
	struct address **link;

	if (!TAILQ_EMPTY(&a->sockets))
		return;
	link = &c->by_address[address_hash(&a->addr, a->port) % LIST_BUCKETS];
	while (*link != a)
		link = &(*link)->next;
	*link = a->next;
	free(a);
}

int
lists_enter(struct udp_control *c, struct bound *s)
{
	const struct udp_bind *b = &s->view->bound;
	struct address *a = address_make(c, &b->addr, b->port);
	struct bound_list *port = &c->by_port[b->port];
	struct bound *other;

	if (a == NULL)
		return -ENOMEM;
	/* A socket of before keeps its age. New ones find their place at once, at either end. */
	other = TAILQ_LAST(&a->sockets, bound_list);
	if (other == NULL || bound_before(other, s)) {
		TAILQ_INSERT_TAIL(&a->sockets, s, on_address);
	} else {
		TAILQ_FOREACH(other, &a->sockets, on_address) {
			if (bound_before(s, other))
				break;
		}
		TAILQ_INSERT_BEFORE(other, s, on_address);
	}
	other = TAILQ_LAST(port, bound_list);
	if (other == NULL || bound_before(other, s)) {
		TAILQ_INSERT_TAIL(port, s, on_port);
		return 0;
	}
	TAILQ_FOREACH(other, port, on_port) {
		if (bound_before(s, other))
			break;
	}
	TAILQ_INSERT_BEFORE(other, s, on_port);
	return 0;
}

void
lists_leave(struct udp_control *c, struct bound *s)
{
	const struct udp_bind *b = &s->view->bound;
	struct address *a = address_find(c, &b->addr, b->port);

	TAILQ_REMOVE(&a->sockets, s, on_address);
	TAILQ_REMOVE(&c->by_port[b->port], s, on_port);
	address_drop(c, a);
}

/* --- the decision ---------------------------------------------------------------------- */

/*
 * 1: they may share, and the kernel looks no further; -EADDRINUSE; 0: they do not meet.
 */
static int
judge(const struct udp_bind *b, struct bound *other, struct bound **like)
{
	const struct udp_bind *o = &other->view->bound;

	if (!devices_meet(b, o) || !addresses_meet(b, o))
		return 0;
	if (!b->reuseport || !o->reuseport)
		return -EADDRINUSE;
	if (other->group != NULL && same_group(b, o))
		*like = other;
	return 1;
}

/* Lists in which sockets that meet an address of its own lie, with those bound to all. */
#define LISTS 3

static unsigned
lists_of(const struct udp_control *c, const struct udp_bind *b, struct bound *heads[LISTS])
{
	const struct ip_addr any4 = {.family = AF_INET}, any6 = {.family = AF_INET6};
	const struct ip_addr *addrs[LISTS] = {&b->addr, &any4, &any6};
	unsigned n = 0;

	for (unsigned i = 0; i < LISTS; i++) {
		struct address *a = address_find(c, addrs[i], b->port);

		if (a != NULL)
			heads[n++] = TAILQ_FIRST(&a->sockets);
	}
	return n;
}

/* The first of the lists' heads, taken off. */
static struct bound *
take_first(struct bound *heads[LISTS], unsigned n)
{
	struct bound *first = NULL;
	unsigned from = 0;

	for (unsigned i = 0; i < n; i++) {
		if (heads[i] != NULL && (first == NULL || bound_before(heads[i], first))) {
			first = heads[i];
			from = i;
		}
	}
	if (first != NULL)
		heads[from] = TAILQ_NEXT(first, on_address);
	return first;
}

/* A group has an address of its own: who would be of it, if the search ended at somebody else. */
static void
find_like(const struct udp_control *c, const struct udp_bind *b, struct bound **like)
{
	struct address *a = address_find(c, &b->addr, b->port);
	struct bound *s;

	if (*like != NULL || !b->reuseport || a == NULL)
		return;
	TAILQ_FOREACH(s, &a->sockets, on_address) {
		if (s->group != NULL && same_group(b, &s->view->bound)) {
			*like = s;
			return;
		}
	}
}

int
conflict_check(struct udp_control *c, const struct udp_bind *b, struct bound **like)
{
	struct bound *heads[LISTS], *s;
	int verdict = 0;

	*like = NULL;
	if (is_any(b)) {
		TAILQ_FOREACH(s, &c->by_port[b->port], on_port) {
			verdict = judge(b, s, like);
			if (verdict != 0)
				break;
		}
	} else {
		unsigned n = lists_of(c, b, heads);

		while (verdict == 0 && (s = take_first(heads, n)) != NULL)
			verdict = judge(b, s, like);
	}
	if (verdict < 0)
		return verdict;
	find_like(c, b, like);
	return 0;
}

uint16_t
conflict_free_port(struct udp_control *c, const struct udp_bind *b, struct bound **like)
{
	unsigned span = UDP_EPHEMERAL_LAST - UDP_EPHEMERAL_FIRST + 1;
	unsigned start = (unsigned)rte_rand_max(span);
	struct udp_bind with_port = *b;

	for (unsigned i = 0; i < span; i++) {
		with_port.port = (uint16_t)(UDP_EPHEMERAL_FIRST + (start + i) % span);
		if (conflict_check(c, &with_port, like) == 0)
			return with_port.port;
	}
	return 0;
}
