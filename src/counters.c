/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The accounts of all threads, added up.
 */

#include <errno.h>
#include <sched.h>
#include <sys/mman.h>

#include "worker_private.h"

/* SID counters as they were when the SID was made or cleared. */
static struct sid_counters *sid_base;
/* The sum when `clear port stats` and `clear drops` were last said. */
static struct stats cleared;

struct sid_counters *
sid_counters_reserve(void)
{
	void *p = mmap(NULL, NEXTHOP_MAX * sizeof(struct sid_counters), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

void
sid_counters_unreserve(struct sid_counters *counters)
{
	if (counters != NULL)
		munmap(counters, NEXTHOP_MAX * sizeof(*counters));
}

int
counters_init(void)
{
	sid_base = sid_counters_reserve();
	return sid_base != NULL ? 0 : -ENOMEM;
}

void
counters_fini(void)
{
	sid_counters_unreserve(sid_base);
	sid_base = NULL;
}

/*
 * A worker copies its account between two loops, when its own balance is
 * true, and goes on; nobody stops. Parts copied at different moments still add
 * up: what one has handed and the other not yet taken is in a ring.
 */
void
counters_sum(struct stats *sum)
{
	memset(sum, 0, sizeof(*sum));
	stats_add(sum, &control_stats);
	for (unsigned id = 0; id < workers_count(); id++)
		__atomic_fetch_add(&worker_at(id)->snapshot_wanted, 1, __ATOMIC_RELEASE);
	for (unsigned id = 0; id < workers_count(); id++) {
		struct worker *w = worker_at(id);

		while (w->launched &&
		       __atomic_load_n(&w->snapshot_taken, __ATOMIC_ACQUIRE) != w->snapshot_wanted)
			sched_yield();
		stats_add(sum, w->launched ? &w->snapshot : &w->stats);
	}
}

uint64_t
counters_received(void)
{
	uint64_t n = 0;

	for (unsigned id = 0; id < workers_count(); id++)
		n += worker_at(id)->stats.received;
	return n;
}

uint64_t
port_buffers_received(uint16_t port)
{
	uint64_t n = 0;

	for (unsigned id = 0; id < workers_count(); id++) {
		const struct port_stats *s = &worker_at(id)->stats.port[port];

		n += s->rx_packets + s->rx_more;
	}
	return n;
}

void
sid_counters_sum(uint32_t nexthop, struct sid_counters *sum)
{
	*sum = (struct sid_counters){0};
	for (unsigned id = 0; id < workers_count(); id++) {
		const struct sid_counters *c = &worker_at(id)->sids[nexthop];

		sum->packets += c->packets;
		sum->bytes += c->bytes;
		sum->errors += c->errors;
	}
	sum->packets -= sid_base[nexthop].packets;
	sum->bytes -= sid_base[nexthop].bytes;
	sum->errors -= sid_base[nexthop].errors;
}

void
sid_counters_clear(uint32_t nexthop)
{
	struct sid_counters now;

	sid_base[nexthop] = (struct sid_counters){0};
	sid_counters_sum(nexthop, &now);
	sid_base[nexthop] = now;
}

void
port_counters(uint16_t port, struct port_stats *sum)
{
	struct stats all;

	counters_sum(&all);
	stats_subtract(&all, &cleared);
	*sum = all.port[port];
}

void
port_counters_clear(uint16_t port)
{
	struct stats all;

	counters_sum(&all);
	cleared.port[port] = all.port[port];
}

void
drops_since_clear(uint64_t drops[DROP_REASON_COUNT])
{
	struct stats all;

	counters_sum(&all);
	stats_subtract(&all, &cleared);
	memcpy(drops, all.drops, sizeof(all.drops));
}

void
drops_clear(void)
{
	struct stats all;

	counters_sum(&all);
	memcpy(cleared.drops, all.drops, sizeof(cleared.drops));
}
