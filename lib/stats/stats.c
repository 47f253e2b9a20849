/* SPDX-License-Identifier: BSD-3-Clause */
#include "stats.h"

static const char *const names[] = {
#define X(id, name, text) name,
	DROP_REASONS(X)
#undef X
};

static const char *const texts[] = {
#define X(id, name, text) text,
	DROP_REASONS(X)
#undef X
};

const char *
drop_name(enum drop_reason reason)
{
	return names[reason];
}

const char *
drop_text(enum drop_reason reason)
{
	return texts[reason];
}

void
stats_add(struct stats *sum, const struct stats *part)
{
	sum->received += part->received;
	sum->originated += part->originated;
	sum->taken += part->taken;
	sum->transmitted += part->transmitted;
	sum->delivered += part->delivered;
	sum->handed += part->handed;
	sum->holding += part->holding;
	for (unsigned i = 0; i < DROP_REASON_COUNT; i++)
		sum->drops[i] += part->drops[i];
	for (unsigned i = 0; i < RTE_MAX_ETHPORTS; i++) {
		struct port_stats *s = &sum->port[i];
		const struct port_stats *p = &part->port[i];

		s->rx_packets += p->rx_packets;
		s->rx_bytes += p->rx_bytes;
		s->rx_more += p->rx_more;
		s->tx_packets += p->tx_packets;
		s->tx_bytes += p->tx_bytes;
		s->tx_dropped += p->tx_dropped;
	}
}

void
stats_subtract(struct stats *sum, const struct stats *part)
{
	sum->received -= part->received;
	sum->originated -= part->originated;
	sum->taken -= part->taken;
	sum->transmitted -= part->transmitted;
	sum->delivered -= part->delivered;
	sum->handed -= part->handed;
	for (unsigned i = 0; i < DROP_REASON_COUNT; i++)
		sum->drops[i] -= part->drops[i];
	for (unsigned i = 0; i < RTE_MAX_ETHPORTS; i++) {
		struct port_stats *s = &sum->port[i];
		const struct port_stats *p = &part->port[i];

		s->rx_packets -= p->rx_packets;
		s->rx_bytes -= p->rx_bytes;
		s->rx_more -= p->rx_more;
		s->tx_packets -= p->tx_packets;
		s->tx_bytes -= p->tx_bytes;
		s->tx_dropped -= p->tx_dropped;
	}
}

uint64_t
stats_dropped(const struct stats *stats)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < DROP_REASON_COUNT; i++)
		n += stats->drops[i];
	return n;
}
