/* SPDX-License-Identifier: BSD-3-Clause */
#include "reassemble.h"

#include <errno.h>

#include <rte_cycles.h>

#include "demux.h"
#include "ip.h"
#include "reassembly.h"
#include "trace.h"

/* Linux's ipfrag_time, and RFC 8200 4.5. */
#define TIMEOUT4_S 30
#define TIMEOUT6_S 60

/* A datagram of 64 KB in Ethernet frames must fit, however small the pool. */
#define FRAGMENTS_MIN 64

/* Datagrams given up at a time. */
#define EXPIRE_MAX 32

/* --- what becomes of fragments ----------------------------------------------------- */

static void
on_dropped(void *ctx, struct rte_mbuf *packet)
{
	struct worker *w = ctx;

	w->stats.holding--;
	w->stats.drops[DROP_FRAGMENT]++;
	trace_step(packet_meta(packet)->trace, TRACE_DROPPED, DROP_FRAGMENT, 0, 0, NULL, 0);
	worker_free(w, packet);
}

/* interface.md: merged fragments count as delivered. */
static void
on_merged(void *ctx, struct rte_mbuf *packet)
{
	struct worker *w = ctx;

	w->stats.holding--;
	w->stats.delivered++;
	trace_step(packet_meta(packet)->trace, TRACE_DELIVERED, 0, 0, 0, NULL, 0);
}

static void
on_expired(void *ctx, struct rte_mbuf *first, uint8_t family)
{
	struct icmp_error error;

	/* "Fragment reassembly time exceeded": RFC 792, RFC 4443 3.3. */
	error = (struct icmp_error){
		.type = family == AF_INET ? ICMP4_TIME_EXCEEDED : ICMP6_TIME_EXCEEDED, .code = 1};
	error_about(ctx, first, &error);
}

int
reassemble_open(struct worker *w, struct err *err)
{
	uint32_t share = pool_for_socket(w->socket)->size / 8 / workers_count();
	uint32_t total = RTE_MAX(RTE_MIN(share, (uint32_t)FRAGMENTS_MAX), (uint32_t)FRAGMENTS_MIN);
	struct reassembly_limits limits = {
		.total = total,
		.per_source = RTE_MAX(total / 4, (uint32_t)FRAGMENTS_MIN),
		.timeout4 = TIMEOUT4_S * rte_get_tsc_hz(),
		.timeout6 = TIMEOUT6_S * rte_get_tsc_hz(),
	};
	struct reassembly_owner owner = {
		.ctx = w, .dropped = on_dropped, .merged = on_merged, .expired = on_expired};

	w->reassembly = reassembly_create(&limits, &owner);
	if (w->reassembly == NULL)
		return err_set(err, ENOMEM, "no memory for %u fragments", total);
	return 0;
}

void
reassemble_close(struct worker *w)
{
	reassembly_destroy(w->reassembly);
	w->reassembly = NULL;
}

void
reassemble_tick(struct worker *w)
{
	reassembly_expire(w->reassembly, w->now, EXPIRE_MAX);
}

void
reassemble_flush(struct worker *w)
{
	reassembly_flush(w->reassembly);
	worker_free_dropped(w);
}

/* --- adding ------------------------------------------------------------------------- */

/* Whatever comes of the fragment, it is not this packet any more that goes on. NULL: held, or
 * dropped; else the datagram. */
static struct rte_mbuf *
add(struct worker *w, const struct fragment *f, struct rte_mbuf *m)
{
	uint32_t trace = packet_meta(m)->trace;
	struct rte_mbuf *whole;

	packets_unguard(&m, 1);
	switch (reassembly_add(w->reassembly, f, m, w->now, &whole)) {
	case REASSEMBLY_HELD:
		w->stats.holding++;
		trace_step(trace, TRACE_HELD, 0, 0, 0, NULL, 0);
		return NULL;
	case REASSEMBLY_WHOLE:
		/* Lengths are 16 bits on the way through here: IPv6 could have 40 bytes more. */
		if (whole->pkt_len <= UINT16_MAX) {
			trace_step(trace, TRACE_WHOLE, 0, 0, whole->pkt_len, NULL, 0);
			return whole;
		}
		break;
	case REASSEMBLY_REFUSED:
		break;
	}
	w->stats.drops[DROP_FRAGMENT]++;
	trace_step(trace, TRACE_DROPPED, DROP_FRAGMENT, 0, 0, NULL, 0);
	worker_free(w, whole);
	return NULL;
}

/* The worker on which all of this datagram's fragments meet. */
static unsigned
meeting_place(const struct fragment *f)
{
	return (unsigned)((f->hash >> 32) * workers_count() >> 32);
}

/* What is known of it goes with it, also while it is held. */
static struct rte_mbuf *
wrap(struct burst *b, unsigned i, const struct fragment *f)
{
	struct rte_mbuf *m = b->pkts[i];

	packet_strip(m, (uint32_t)(b->l3[i] - rte_pktmbuf_mtod(m, uint8_t *)));
	packet_trim(m, b->len[i]);
	*packet_meta(m) = (struct packet_meta){
		.kind = PACKET_FRAGMENT,
		.family = f->key.family,
		.iface = b->iface[i],
		.vrf = b->vrf[i],
		.trace = b->traced ? b->trace[i] : 0,
		.fragment = {.flags = b->flags[i],
			     .at = (uint8_t)(f->headers / 8 - 1),
			     .next = (uint8_t)(f->next_field / 8)},
	};
	return m;
}

/* The datagram is the place's packet from now on. */
static void
set_place(struct burst *b, unsigned i, struct rte_mbuf *whole)
{
	const struct packet_meta *meta = packet_meta(whole); /* its first fragment's */

	b->pkts[i] = whole;
	b->l3[i] = rte_pktmbuf_mtod(whole, uint8_t *);
	b->len[i] = (uint16_t)whole->pkt_len;
	b->iface[i] = meta->iface;
	b->flags[i] = meta->fragment.flags | PLACE_REASSEMBLED;
}

static bool
reassemble(struct worker *w, struct burst *b, unsigned i, const struct fragment *f)
{
	struct rte_mbuf *m = wrap(b, i, f), *whole;
	unsigned worker = meeting_place(f);

	if (worker != w->id) {
		if (unlikely(b->traced))
			trace_step(b->trace[i], TRACE_LCORE, (uint16_t)worker_lcore(worker), 0, 0,
				   NULL, 0);
		hand_fragment(w, worker, m);
		return false;
	}
	whole = add(w, f, m);
	if (whole == NULL)
		return false;
	set_place(b, i, whole);
	return true;
}

bool
reassemble4(struct worker *w, struct burst *b, unsigned i)
{
	struct fragment f;

	if (fragment_read4(b->l3[i], b->len[i], b->vrf[i], &f) != FRAGMENT_OK) {
		drop(w, b, i, DROP_FRAGMENT);
		return false;
	}
	return reassemble(w, b, i, &f);
}

bool
reassemble6(struct worker *w, struct burst *b, unsigned i, uint16_t at, uint16_t next_field)
{
	const uint8_t *end = rte_pktmbuf_mtod(b->pkts[i], uint8_t *) + b->pkts[i]->data_len;
	uint16_t contiguous = (uint16_t)RTE_MIN((uint32_t)(end - b->l3[i]), (uint32_t)b->len[i]);
	struct fragment f;

	/* So many headers before it that their place does not fit the packet's meta. */
	if (at / 8 > UINT8_MAX) {
		drop(w, b, i, DROP_IP6_EXT_HEADER);
		return false;
	}
	switch (fragment_read6(b->l3[i], b->len[i], contiguous, at, next_field, b->vrf[i], &f)) {
	case FRAGMENT_OK:
		return reassemble(w, b, i, &f);
	case FRAGMENT_BAD:
		drop(w, b, i, DROP_FRAGMENT);
		break;
	case FRAGMENT_BAD_LENGTH:
		drop_with_error6(w, b, i, DROP_FRAGMENT, ICMP6_PARAMETER, ICMP6_PARAMETER_HEADER,
				 4);
		break;
	case FRAGMENT_TOO_LONG:
		drop_with_error6(w, b, i, DROP_FRAGMENT, ICMP6_PARAMETER, ICMP6_PARAMETER_HEADER,
				 at + 2u);
		break;
	case FRAGMENT_INCOMPLETE:
		drop_with_error6(w, b, i, DROP_FRAGMENT, ICMP6_PARAMETER,
				 ICMP6_PARAMETER_INCOMPLETE, 0);
		break;
	}
	return false;
}

/* --- from other workers ------------------------------------------------------------------ */

/* Read again what the giver has found good. */
static void
read_handed(const struct rte_mbuf *m, const struct packet_meta *meta, struct fragment *f)
{
	const uint8_t *h = rte_pktmbuf_mtod(m, const uint8_t *);
	uint16_t len = (uint16_t)m->pkt_len;

	if (meta->family == AF_INET)
		fragment_read4(h, len, meta->vrf, f);
	else
		fragment_read6(h, len, RTE_MIN(m->data_len, len), (uint16_t)(meta->fragment.at * 8),
			       (uint16_t)(meta->fragment.next == 0 ? 6 : meta->fragment.next * 8),
			       meta->vrf, f);
}

void
reassemble_handed(struct worker *w, struct rte_mbuf *m)
{
	struct burst *own = &w->own[w->own_filling];
	struct packet_meta meta = *packet_meta(m);
	struct rte_mbuf *whole;
	struct fragment f;
	unsigned i;

	read_handed(m, &meta, &f);
	whole = add(w, &f, m);
	if (whole == NULL)
		return;
	if (own->n == BURST_MAX) {
		w->stats.drops[DROP_CONTROL_FULL]++;
		trace_step(meta.trace, TRACE_DROPPED, DROP_CONTROL_FULL, 0, 0, NULL, 0);
		worker_free(w, whole);
		return;
	}
	i = own_place(own, meta.vrf, 0, 0, meta.trace);
	set_place(own, i, whole);
	if (meta.family != AF_INET)
		local6(w, own, i);
	else if (!udp_is_group4(own, i))
		local4(w, own, i);
	else if (!udp_input_group4(w, own, i))
		drop(w, own, i, DROP_MARTIAN);
}
