/* SPDX-License-Identifier: BSD-3-Clause */
#include "handoff.h"

#include <errno.h>

#include <rte_cycles.h>
#include <rte_ring.h>

#include "datapath.h"
#include "ip.h"
#include "net.h"
#include "trace.h"
#include "worker_private.h"

struct stats control_stats;
int packet_meta_offset = -1;

static struct token_bucket unreachables;

/* Packets taken from a worker's ring at a time. */
#define TAKE_BURST 64

int
handoff_init(struct err *err)
{
	static const struct rte_mbuf_dynfield field = {
		.name = "noref_packet_meta",
		.size = sizeof(struct packet_meta),
		.align = __alignof__(struct packet_meta),
	};

	packet_meta_offset = rte_mbuf_dynfield_register(&field);
	if (packet_meta_offset < 0)
		return err_set(err, ENOSPC, "no room for noref's %zu bytes in the mbuf",
			       sizeof(struct packet_meta));
	token_bucket_init(&unreachables, rte_get_tsc_hz(), 100, 50);
	return 0;
}

/* --- to a worker ------------------------------------------------------------------- */

static void
give(struct rte_mbuf *packet, unsigned port)
{
	struct worker *w = worker_at(port % workers_count());

	if (rte_ring_sp_enqueue(w->from_control, packet) != 0) {
		control_drop(packet, DROP_CONTROL_FULL);
		return;
	}
	control_stats.handed++;
}

void
control_send_frame(uint16_t port, struct rte_mbuf *packet)
{
	control_stats.originated++;
	packet_meta(packet)->kind = PACKET_FRAME;
	packet_meta(packet)->trace = 0;
	packet->port = port;
	give(packet, port);
}

void
control_forward(struct rte_mbuf *packet, uint32_t nexthop)
{
	packet_meta(packet)->kind = PACKET_FORWARD;
	packet_meta(packet)->nexthop = nexthop;
	give(packet, nexthop_at(nexthops, nexthop)->port);
}

void
control_route(struct rte_mbuf *packet, uint16_t vrf, uint8_t family)
{
	struct packet_meta *meta = packet_meta(packet);

	control_stats.originated++;
	pool_made(packet->pool, packet->nb_segs);
	*meta = (struct packet_meta){.kind = PACKET_ROUTE, .family = family, .vrf = vrf};
	give(packet, 0);
}

/* --- ends of packets here ----------------------------------------------------------- */

void
control_drop(struct rte_mbuf *packet, enum drop_reason reason)
{
	uint32_t trace = packet_meta(packet)->trace;

	control_stats.drops[reason]++;
	if (trace != 0)
		trace_step(trace, TRACE_DROPPED, (uint16_t)reason, 0, 0, NULL, 0);
	rte_pktmbuf_free(packet);
}

void
control_deliver(struct rte_mbuf *packet)
{
	uint32_t trace = packet_meta(packet)->trace;

	control_stats.delivered++;
	if (trace != 0)
		trace_step(trace, TRACE_DELIVERED, 0, 0, 0, NULL, 0);
	rte_pktmbuf_free(packet);
}

struct rte_mbuf *
control_alloc(uint16_t port)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(ports[port].pool->mempool);

	if (m == NULL)
		return NULL;
	pool_made(m->pool, 1);
	*packet_meta(m) = (struct packet_meta){0};
	return m;
}

/* RFC 1122 3.3.2.2 and RFC 4443 3.1: the sender hears of it when a neighbour
 * does not answer. The packet's TTL has been counted down: so is the quote. */
void
control_unreachable(struct rte_mbuf *packet)
{
	const struct packet_meta *meta = packet_meta(packet);
	uint16_t len = (uint16_t)(packet->pkt_len - meta->l3);
	struct rte_mempool *pool = pool_for_socket(0)->mempool;
	const uint8_t *h = rte_pktmbuf_mtod_offset(packet, uint8_t *, meta->l3);
	struct rte_mbuf *made = NULL;
	struct ip_addr to, source;
	struct icmp_error error;

	if (meta->family == AF_INET) {
		error = (struct icmp_error){.type = ICMP4_UNREACHABLE,
					    .code = ICMP4_UNREACHABLE_HOST};
		to = (struct ip_addr){.family = AF_INET};
		memcpy(to.bytes, h + 12, 4);
		if (icmp4_error_allowed(packet, meta->l3, len) &&
		    net_source_for(meta->vrf, &to, &source, NULL) && !ip_addr_equal(&to, &source) &&
		    token_bucket_take(&unreachables, rte_rdtsc()))
			made = icmp4_error(pool, packet, meta->l3, len, &error, &source);
	} else {
		error = (struct icmp_error){.type = ICMP6_UNREACHABLE,
					    .code = ICMP6_UNREACHABLE_ADDRESS};
		to = ip6_addr(h + 8);
		if (icmp6_error_allowed(packet, meta->l3, len, &error) &&
		    net_source_for(meta->vrf, &to, &source, NULL) && !ip_addr_equal(&to, &source) &&
		    token_bucket_take(&unreachables, rte_rdtsc()))
			made = icmp6_error(pool, packet, meta->l3, len, &error, &source);
	}
	if (made != NULL)
		control_route(made, meta->vrf, meta->family);
	control_drop(packet, DROP_NEIGH_UNRESOLVED);
}

/* --- from workers ------------------------------------------------------------------- */

/* Where a packet that waits for a directly connected neighbour wants to go. */
static struct ip_addr
destination(const struct rte_mbuf *packet, const struct packet_meta *meta)
{
	const uint8_t *h = rte_pktmbuf_mtod_offset(packet, const uint8_t *, meta->l3);
	struct ip_addr dst = {.family = meta->family};

	if (meta->family == AF_INET)
		memcpy(dst.bytes, h + 16, 4);
	else
		memcpy(dst.bytes, h + 24, 16);
	return dst;
}

static void
take(struct rte_mbuf *packet)
{
	const struct packet_meta *meta = packet_meta(packet);
	struct ip_addr dst;

	control_stats.taken++;
	switch (meta->kind) {
	case PACKET_ARP:
		net_arp_input(meta->iface, packet, meta->l3);
		break;
	case PACKET_ND:
		net_nd_input(meta->iface, packet, meta->l3);
		break;
	case PACKET_RESOLVE:
		net_resolve(meta->nexthop, packet);
		break;
	case PACKET_CONNECTED:
		dst = destination(packet, meta);
		net_resolve_connected((uint16_t)meta->nexthop, &dst, packet);
		break;
	case PACKET_PING:
		ping_input(packet);
		break;
	default:
		control_drop(packet, DROP_CONTROL_FULL);
	}
}

bool
handoff_poll(void)
{
	struct rte_mbuf *packets[TAKE_BURST];
	void *notes[TAKE_BURST];
	bool more = false;
	unsigned n;

	for (unsigned id = 0; id < workers_count(); id++) {
		struct worker *w = worker_at(id);

		n = rte_ring_sc_dequeue_burst(w->to_control, (void **)packets, TAKE_BURST, NULL);
		for (unsigned i = 0; i < n; i++)
			take(packets[i]);
		more |= n == TAKE_BURST;
		n = rte_ring_sc_dequeue_burst(w->notes, notes, TAKE_BURST, NULL);
		for (unsigned i = 0; i < n; i++)
			net_nexthop_used((uint32_t)(uintptr_t)notes[i]);
	}
	return more;
}
