/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets of mixed memory from ports whose drivers make none: put before DPDK's functions with
 * LD_PRELOAD. The first port gives its driver another name, so that the program knows nothing of
 * it; what it receives is changed, in turn, to a packet
 *
 *   as it was,
 *   that is a clone, somebody else holding the original (which must not change),
 *   that is a clone, alone,
 *   in external memory, with and without headroom,
 *   in external memory that somebody else holds as well (which must not change),
 *   in a buffer of another pool,
 *   of several segments of all these, the first of any length, some empty.
 *
 * What "somebody else" holds is let go of when the port is stopped. Before EAL ends, each
 * buffer must be back: abort() otherwise, and when a shared byte was written.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_jhash.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>

#define PORT	    0 /* whose packets are changed */
#define KINDS	    8
#define HELD	    512	 /* packets that somebody else holds, at most */
#define OTHER	    8192 /* buffers of the other pool */
#define OTHER_ROOM  1600
#define SEGMENT_MAX 6

struct held {
	struct rte_mbuf *packet;
	uint32_t hash;
};

static struct rte_mempool *other_pool;
static struct held held[HELD];
static unsigned held_count;
static unsigned long lent, given_back; /* external memory */
static unsigned long made[KINDS];
static unsigned turn;

static void
fail(const char *what)
{
	fprintf(stderr, "mixed memory: %s\n", what);
	abort();
}

static void *
next(const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);

	if (found == NULL)
		fail(name);
	return found;
}

/* --- making them ------------------------------------------------------------------------- */

static uint32_t
hash_of(const struct rte_mbuf *m)
{
	uint32_t hash = m->pkt_len;

	for (; m != NULL; m = m->next)
		hash = rte_jhash(rte_pktmbuf_mtod(m, const void *), m->data_len, hash);
	return hash;
}

/* Somebody else has it now. */
static void
hold(struct rte_mbuf *m)
{
	if (held_count == HELD) {
		rte_pktmbuf_free(m);
		return;
	}
	held[held_count++] = (struct held){m, hash_of(m)};
}

static void
give_back(void *memory, void *unused)
{
	(void)unused;
	rte_free(memory);
	__atomic_add_fetch(&given_back, 1, __ATOMIC_RELAXED);
}

/* The same bytes in external memory. */
static struct rte_mbuf *
external(struct rte_mempool *pool, const void *bytes, uint16_t n, uint16_t headroom)
{
	uint16_t size = (uint16_t)(headroom + n + sizeof(struct rte_mbuf_ext_shared_info) + 16);
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
	struct rte_mbuf_ext_shared_info *info;
	char *memory = rte_malloc(NULL, size, 0);

	if (m == NULL || memory == NULL)
		fail("no memory");
	info = rte_pktmbuf_ext_shinfo_init_helper(memory, &size, give_back, memory);
	rte_pktmbuf_attach_extbuf(m, memory, rte_malloc_virt2iova(memory), size, info);
	m->data_off = headroom;
	memcpy(rte_pktmbuf_append(m, n), bytes, n);
	__atomic_add_fetch(&lent, 1, __ATOMIC_RELAXED);
	return m;
}

static struct rte_mbuf *
elsewhere(const void *bytes, uint16_t n)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(other_pool);

	if (m == NULL)
		fail("the other pool is empty");
	memcpy(rte_pktmbuf_append(m, n), bytes, n);
	return m;
}

/* A clone of a packet of these bytes, alone or not. */
static struct rte_mbuf *
cloned(const void *bytes, uint16_t n, bool shared)
{
	struct rte_mbuf *original = elsewhere(bytes, n);
	struct rte_mbuf *clone = rte_pktmbuf_clone(original, other_pool);

	if (clone == NULL)
		fail("no clone");
	if (shared)
		hold(original);
	else
		rte_pktmbuf_free(original);
	return clone;
}

/* All of these, one behind the other. */
static struct rte_mbuf *
chain(struct rte_mempool *pool, const char *bytes, uint16_t n)
{
	/* Sizes of segments, by turns; the last takes what is left. */
	static const uint16_t sizes[][SEGMENT_MAX - 1] = {
		{14, 40, 0, 8, 20}, {1, 13, 40, 1, 1}, {60, 0, 0, 4, 100}, {33, 21, 8, 24, 3}};
	const uint16_t *size = sizes[turn / KINDS % RTE_DIM(sizes)];
	struct rte_mbuf *first = NULL, *m;

	for (unsigned s = 0; s < SEGMENT_MAX; s++) {
		uint16_t part = s < SEGMENT_MAX - 1 ? RTE_MIN(size[s], n) : n;

		switch ((s + turn / KINDS) % 4) {
		case 0:
			m = elsewhere(bytes, part);
			break;
		case 1:
			m = external(pool, bytes, part, 0);
			break;
		case 2:
			m = cloned(bytes, part, true);
			break;
		default:
			m = cloned(bytes, part, false);
		}
		if (first == NULL)
			first = m;
		else if (rte_pktmbuf_chain(first, m) != 0)
			fail("no chain");
		bytes += part;
		n = (uint16_t)(n - part);
	}
	return first;
}

/* Its successor; the packet itself is freed. */
static struct rte_mbuf *
change(struct rte_mbuf *m)
{
	struct rte_mempool *pool = m->pool;
	const char *bytes = rte_pktmbuf_mtod(m, const char *);
	unsigned kind = turn++ % KINDS;
	uint16_t n = m->data_len;
	struct rte_mbuf *out, *copy;

	if (m->nb_segs != 1 || n > OTHER_ROOM - RTE_PKTMBUF_HEADROOM)
		return m;
	made[kind]++;
	switch (kind) {
	case 0:
		return m;
	case 1:
		out = cloned(bytes, n, true);
		break;
	case 2:
		out = cloned(bytes, n, false);
		break;
	case 3:
		out = external(pool, bytes, n, 0);
		break;
	case 4:
		out = external(pool, bytes, n, RTE_PKTMBUF_HEADROOM);
		break;
	case 5:
		out = external(pool, bytes, n, RTE_PKTMBUF_HEADROOM);
		copy = rte_pktmbuf_clone(out, other_pool);
		if (copy == NULL)
			fail("no clone");
		hold(copy);
		break;
	case 6:
		out = elsewhere(bytes, n);
		break;
	default:
		out = chain(pool, bytes, n);
	}
	rte_pktmbuf_free(m);
	out->port = PORT;
	return out;
}

static uint16_t
received(uint16_t port, uint16_t queue, struct rte_mbuf *pkts[], uint16_t n, uint16_t max,
	 void *unused)
{
	(void)port, (void)queue, (void)max, (void)unused;
	for (unsigned i = 0; i < n; i++)
		pkts[i] = change(pkts[i]);
	return n;
}

/* --- instead of DPDK's --------------------------------------------------------------------- */

int
rte_eth_dev_info_get(uint16_t port, struct rte_eth_dev_info *info)
{
	int (*real)(uint16_t, struct rte_eth_dev_info *) = next(__func__);
	int ret = real(port, info);

	if (ret == 0 && port == PORT)
		info->driver_name = "net_mixed";
	return ret;
}

int
rte_eth_dev_start(uint16_t port)
{
	int (*real)(uint16_t) = next(__func__);
	static bool called[RTE_MAX_QUEUES_PER_PORT];
	struct rte_eth_dev_info info;

	if (other_pool == NULL)
		other_pool = rte_pktmbuf_pool_create("elsewhere", OTHER, 0, 0, OTHER_ROOM,
						     (int)rte_socket_id());
	if (other_pool == NULL)
		fail("no other pool");
	if (port == PORT && rte_eth_dev_info_get(port, &info) == 0) {
		for (uint16_t q = 0; q < info.nb_rx_queues; q++) {
			if (!called[q] && rte_eth_add_rx_callback(port, q, received, NULL) == NULL)
				fail("no callback");
			called[q] = true;
		}
	}
	return real(port);
}

int
rte_eth_dev_stop(uint16_t port)
{
	int (*real)(uint16_t) = next(__func__);
	int ret = real(port);

	while (port == PORT && held_count > 0) {
		struct held *h = &held[--held_count];

		if (hash_of(h->packet) != h->hash)
			fail("what somebody else holds was written to");
		rte_pktmbuf_free(h->packet);
	}
	return ret;
}

int
rte_eal_cleanup(void)
{
	int (*real)(void) = next(__func__);

	if (held_count != 0)
		fail("the port was not stopped");
	if (lent != given_back)
		fail("external memory is missing");
	if (other_pool != NULL && rte_mempool_in_use_count(other_pool) != 0)
		fail("buffers of the other pool are missing");
	fprintf(stderr, "mixed memory: all back of");
	for (unsigned kind = 0; kind < KINDS; kind++)
		fprintf(stderr, " %lu", made[kind]);
	fprintf(stderr, "\n");
	return real();
}
