/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The connected networks of a table: a sorted array and the set of prefix lengths
 * in it, so that "is this gateway on a network of ours" is one binary search for
 * each length that occurs, usually one or two, however many routes there are.
 */
#include <errno.h>
#include <stdlib.h>

#include "vrf.h"

static int
compare(const struct ip_prefix *a, const struct ip_prefix *b)
{
	int c;

	if (a->addr.family != b->addr.family)
		return a->addr.family < b->addr.family ? -1 : 1;
	c = memcmp(a->addr.bytes, b->addr.bytes, sizeof(a->addr.bytes));
	return c != 0 ? c : (int)a->len - (int)b->len;
}

/* The first entry not before prefix. */
static unsigned
position(const struct vrf *v, const struct ip_prefix *prefix)
{
	unsigned low = 0, high = v->connected_count;

	while (low < high) {
		unsigned middle = (low + high) / 2;

		if (compare(&v->connected[middle].prefix, prefix) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool
is_at(const struct vrf *v, unsigned i, const struct ip_prefix *prefix)
{
	return i < v->connected_count && ip_prefix_equal(&v->connected[i].prefix, prefix);
}

static bool
has_length(const struct vrf *v, uint8_t family, unsigned len)
{
	if (family == AF_INET)
		return v->lengths4 >> len & 1;
	return v->lengths6[len / 64] >> (len % 64) & 1;
}

static void
count_lengths(struct vrf *v)
{
	v->lengths4 = 0;
	memset(v->lengths6, 0, sizeof(v->lengths6));
	for (unsigned i = 0; i < v->connected_count; i++) {
		const struct ip_prefix *p = &v->connected[i].prefix;

		if (p->addr.family == AF_INET)
			v->lengths4 |= 1ull << p->len;
		else
			v->lengths6[p->len / 64] |= 1ull << (p->len % 64);
	}
}

int
vrf_connected_add(struct vrf *v, const struct ip_prefix *prefix, uint16_t iface, bool *first)
{
	unsigned i = position(v, prefix);

	*first = !is_at(v, i, prefix);
	for (; is_at(v, i, prefix); i++) {
		if (v->connected[i].iface == iface) {
			v->connected[i].addresses++;
			return 0;
		}
	}
	if (v->connected_count == v->connected_room) {
		unsigned room = v->connected_room == 0 ? 4 : v->connected_room * 2;
		struct connected *more = realloc(v->connected, room * sizeof(*more));

		if (more == NULL)
			return -ENOMEM;
		v->connected = more;
		v->connected_room = room;
	}
	memmove(&v->connected[i + 1], &v->connected[i],
		(v->connected_count - i) * sizeof(*v->connected));
	v->connected[i] = (struct connected){.prefix = *prefix, .iface = iface, .addresses = 1};
	v->connected_count++;
	count_lengths(v);
	return 0;
}

uint16_t
vrf_connected_remove(struct vrf *v, const struct ip_prefix *prefix, uint16_t iface)
{
	unsigned start = position(v, prefix);

	for (unsigned i = start; is_at(v, i, prefix); i++) {
		if (v->connected[i].iface != iface)
			continue;
		if (--v->connected[i].addresses == 0) {
			v->connected_count--;
			memmove(&v->connected[i], &v->connected[i + 1],
				(v->connected_count - i) * sizeof(*v->connected));
			count_lengths(v);
		}
		break;
	}
	return is_at(v, start, prefix) ? v->connected[start].iface : 0;
}

const struct connected *
vrf_connected_find(const struct vrf *v, const struct ip_addr *addr, unsigned max_len,
		   uint16_t iface)
{
	for (int len = (int)max_len; len >= 0; len--) {
		struct ip_prefix p;

		if (!has_length(v, addr->family, (unsigned)len))
			continue;
		p = ip_prefix_of(addr, (unsigned)len);
		for (unsigned i = position(v, &p); is_at(v, i, &p); i++) {
			if (iface == 0 || v->connected[i].iface == iface)
				return &v->connected[i];
		}
	}
	return NULL;
}
