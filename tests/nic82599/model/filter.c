/* SPDX-License-Identifier: BSD-3-Clause */
#include "filter.h"

#define TCP_SYN 0x02
#define TCP_ACK 0x10

/* --- MAC and VLAN ------------------------------------------------------------------- */

static bool
bit_set(const struct nic *nic, uint32_t array, uint32_t bit)
{
	return (reg_get(nic, array + bit / 32 * 4) >> bit % 32 & 1) != 0;
}

/** 12 bits of the address, which ones MCSTCTRL.MO says. */
static bool
in_multicast_table(const struct nic *nic, const uint8_t *mac)
{
	static const unsigned shift[4] = {4, 3, 2, 0};
	uint32_t mcstctrl = reg_get(nic, R_MCSTCTRL);

	if ((mcstctrl & MCSTCTRL_MFE) == 0)
		return false;
	return bit_set(nic, R_MTA(0), load16(mac + 4) >> shift[mcstctrl & 3] & 0xfff);
}

bool
filter_accepts(const struct nic *nic, const struct frame *f)
{
	uint32_t fctrl = reg_get(nic, R_FCTRL), low = load32(f->data), high = load16(f->data + 4);
	unsigned i;

	if (f->tagged && (reg_get(nic, R_VLNCTRL) & VLNCTRL_VFE) != 0 &&
	    !bit_set(nic, R_VFTA(0), f->tag & 0xfff))
		return false;
	if (low == UINT32_MAX && high == UINT16_MAX)
		return (fctrl & FCTRL_BAM) != 0;
	for (i = 0; i < nic->addresses; i++)
		if (reg_get(nic, R_RAL(i)) == low &&
		    (reg_get(nic, R_RAH(i)) & (RAH_AV | 0xffff)) == (RAH_AV | high))
			return true;
	if ((f->data[0] & 1) != 0)
		return (fctrl & FCTRL_MPE) != 0 || in_multicast_table(nic, f->data);
	return (fctrl & FCTRL_UPE) != 0;
}

/* --- queue assignment ----------------------------------------------------------------- */

/** The first of the 8 ethertype filters that matches (7.1.2.3), -1: none. */
static int
match_ethertype(const struct nic *nic, const struct frame *f)
{
	unsigned i;

	for (i = 0; i < ETQF_COUNT; i++)
		if ((reg_get(nic, R_ETQF(i)) & (ETQ_ENABLE | 0xffff)) ==
		    (ETQ_ENABLE | f->ethertype))
			return (int)i;
	return -1;
}

static bool
match_syn(const struct nic *nic, const struct frame *f)
{
	return (reg_get(nic, R_SYNQF) & SYNQF_ENABLE) != 0 && f->l4_type == L4_TCP &&
	       (f->tcp_flags & (TCP_SYN | TCP_ACK)) == TCP_SYN;
}

/** FTQF's own numbers of protocols: TCP, UDP, SCTP, any other. */
static uint32_t
five_tuple_protocol(uint8_t protocol)
{
	switch (protocol) {
	case 6:
		return 0;
	case 17:
		return 1;
	case 132:
		return 2;
	default:
		return 3;
	}
}

static bool
five_tuple_matches(const struct nic *nic, unsigned i, const struct frame *f)
{
	uint32_t ftqf = reg_get(nic, R_FTQF(i)), ports = reg_get(nic, R_SDPQF(i));
	/* Bits of the mask: 1 leaves the field out. */
	bool source = (ftqf & 1u << 25) == 0, destination = (ftqf & 1u << 26) == 0;
	bool source_port = (ftqf & 1u << 27) == 0, destination_port = (ftqf & 1u << 28) == 0;
	bool protocol = (ftqf & 1u << 29) == 0;

	if ((ftqf & FTQF_ENABLE) == 0)
		return false;
	if (source && reg_get(nic, R_SAQF(i)) != load32(f->source))
		return false;
	if (destination && reg_get(nic, R_DAQF(i)) != load32(f->destination))
		return false;
	if (protocol && (ftqf & 3) != five_tuple_protocol(f->protocol))
		return false;
	if ((source_port || destination_port) && f->l4_type == L4_NONE)
		return false;
	/* Ports are stored as they are on the wire. */
	if (source_port && (uint16_t)ports != load16(f->data + f->l4))
		return false;
	return !destination_port || ports >> 16 == load16(f->data + f->l4 + 2);
}

/** Of the 128 filters (7.1.2.5) that match, the one of highest priority; -1: none. */
static int
match_five_tuple(const struct nic *nic, const struct frame *f)
{
	int best = -1, best_priority = -1;
	unsigned i;

	if (f->version != 4 || f->inner6)
		return -1;
	for (i = 0; i < nic->five_tuples; i++) {
		int priority = reg_get(nic, R_FTQF(i)) >> 2 & 7;

		if (priority > best_priority && five_tuple_matches(nic, i, f)) {
			best = (int)i;
			best_priority = priority;
		}
	}
	return best;
}

/** What the SYN filter and the 5-tuple filters say; -1: nothing. */
static int
steer_by_l4(const struct nic *nic, const struct frame *f)
{
	uint32_t synqf = reg_get(nic, R_SYNQF);
	bool syn = match_syn(nic, f);
	int filter;

	if (f->version == 0)
		return -1;
	if (syn && (synqf & SYNQF_HIGH) != 0)
		return synqf >> 1 & 0x7f;
	filter = match_five_tuple(nic, f);
	if (filter >= 0)
		return reg_get(nic, R_L34TIMIR((unsigned)filter)) >> 21 & 0x7f;
	return syn ? (int)(synqf >> 1 & 0x7f) : -1;
}

/*
 * Datasheet 7.1.2, figure "Rx queuing flow", without virtualisation and DCB:
 * ethertype, SYN of high priority, 5-tuple, SYN of low priority, flow director,
 * RSS, queue 0. A filter that comes too late is not asked.
 */
void
filter_steer(struct nic *nic, const struct frame *f, struct steering *s)
{
	int queue = -1;

	*s = (struct steering){.ethertype = match_ethertype(nic, f)};
	if (s->ethertype < 0)
		s->rss_type = rss_hash(nic, f, &s->rss_hash);
	else if ((reg_get(nic, R_ETQS((unsigned)s->ethertype)) & ETQ_ENABLE) != 0)
		queue = reg_get(nic, R_ETQS((unsigned)s->ethertype)) >> 16 & 0x7f;
	if (queue < 0)
		queue = steer_by_l4(nic, f);
	if (queue < 0 && (reg_get(nic, R_FDIRCTRL) & FDIRCTRL_INIT_DONE) != 0) {
		s->director_asked = true;
		s->rule = director_match(nic, f);
		if (s->rule != NULL)
			queue = (int)director_queue(nic, s->rule);
	}
	if (queue < 0 && s->rss_type != RSS_NONE)
		queue = (int)rss_queue(nic, s->rss_hash);
	s->queue = queue < 0 ? 0 : (unsigned)queue;
}
