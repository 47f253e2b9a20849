/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flow rules on the 82599, as its driver (ixgbe, DPDK 22.11) takes them.
 *
 * The device has four kinds of filter. The driver tries to understand a rule as one
 * after the other and takes some for what they are not; so it is said here
 * which kind a rule is to become, and the rule is written so that the driver sees
 * that kind and no other:
 *
 *     ethertype     eth type alone
 *     5-tuple       ipv4 with whole addresses, whole ports; not told the protocol, the
 *                   driver has the device match all of them: the shape names it
 *     TCP SYN       tcp flags; the device looks for SYN without ACK, in IPv6 as well
 *     flow director ipv4 with any masks, the same for all rules of a port
 *
 * Flow director rules are numbered (by a mark that is never reported): the device tells rules
 * of one hash bucket apart by this number alone when one is to be removed.
 * rte_flow's lower priority comes first, this driver's 7 before its 1.
 */
#include <errno.h>

#include "flow_driver.h"

enum kind {
	ETHERTYPE,
	FIVE_TUPLE,
	SYN,
	DIRECTOR,
};

/* Device limits (datasheet 7.1.2); the driver notices the first three. */
static const unsigned capacity[FLOW_KINDS] = {
	[ETHERTYPE] = 8,
	[FIVE_TUPLE] = 128,
	[SYN] = 1,
	[DIRECTOR] = 2046,
};

static const char *const kind_names[FLOW_KINDS] = {
	[ETHERTYPE] = "ethertype rules",
	[FIVE_TUPLE] = "5-tuple rules",
	[SYN] = "TCP SYN rule",
	[DIRECTOR] = "flow director rules",
};

#define FLAG_SYN 0x02
#define FLAG_ACK 0x10

#define refuse(err, ...) err_set((err), ENOTSUP, "the 82599 " __VA_ARGS__)

static bool
is_zero(const void *bytes, size_t size)
{
	const uint8_t *b = bytes;

	for (size_t i = 0; i < size; i++) {
		if (b[i] != 0)
			return false;
	}
	return true;
}

/* Is anything of the header compared but `but` of its bytes at `offset`? */
static bool
compares_only(const void *mask, size_t size, size_t offset, size_t but)
{
	const uint8_t *m = mask;

	return is_zero(m, offset) && is_zero(m + offset + but, size - offset - but);
}

/* --- what no kind can do -------------------------------------------------------------- */

static int
check_common(const struct flow_line *line, struct err *err)
{
	const struct flow_rule *r = &line->rule;

	if (r->group != 0 || r->fate == FLOW_JUMP)
		return refuse(err, "has no groups and no jump");
	if (r->fate != FLOW_DROP && r->fate != FLOW_QUEUE)
		return refuse(err, "can drop a packet or choose its queue, nothing else");
	if (line->transfer)
		return refuse(err, "takes no transfer rules: leave the word out");
	if (line->count && (line->placement == FLOW_SKIP_SW || r->fate == FLOW_DROP))
		return refuse(err,
			      "counts no rule: leave count out, or let software have the rule");
	if (r->mark && line->placement == FLOW_SKIP_SW)
		return refuse(err, "reports no marks, though its driver takes them: "
				   "leave skip_sw out and software marks");
	if (r->ranges != 0)
		return refuse(err, "matches no ranges: use masks, or let software have the rule");
	if ((r->present & (FLOW_HAS_INNER_IP4 | FLOW_HAS_INNER_IP6)) != 0)
		return refuse(err, "does not look into tunnels");
	if ((r->present_mask & (FLOW_HAS_VLAN | FLOW_HAS_FRAGMENT6)) != 0)
		return refuse(err, "matches no VLAN tags and no extension headers");
	if (!is_zero(&r->mask.eth, offsetof(struct rte_ether_hdr, ether_type)))
		return refuse(err, "matches no MAC addresses");
	return 0;
}

/* Where software has the rule too, flow_placing.c sees to the order. */
static int
take_priority_out(struct flow_shape *s, const char *kind, struct err *err)
{
	if (s->line.placement == FLOW_SKIP_SW && s->line.rule.priority != 0)
		return refuse(err, "gives %s no priority: leave it out", kind);
	s->line.rule.priority = 0;
	return 0;
}

/* --- kinds ------------------------------------------------------------------------------ */

static int
shape_ethertype(const struct flow_line *line, struct flow_shape *s, struct err *err)
{
	const struct rte_ether_hdr *value = &line->rule.value.eth, *mask = &line->rule.mask.eth;

	if (mask->ether_type != UINT16_MAX)
		return refuse(err,
			      "needs something to match: a whole eth type, or ipv4 with addresses");
	if (value->ether_type == rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4) ||
	    value->ether_type == rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV6))
		return refuse(err,
			      "has ethertype rules for other types than IP only: use the items "
			      "ipv4 or ipv6");
	if (line->rule.fate != FLOW_QUEUE)
		return refuse(err, "does not drop by eth type: it can choose a queue");
	s->kind = ETHERTYPE;
	s->order = 0;
	return take_priority_out(s, "ethertype rules", err);
}

static int
shape_syn(const struct flow_line *line, struct flow_shape *s, struct err *err)
{
	const struct rte_tcp_hdr *value = &line->rule.value.l4.tcp, *mask = &line->rule.mask.l4.tcp;
	bool syn = (mask->tcp_flags == FLAG_SYN || mask->tcp_flags == (FLAG_SYN | FLAG_ACK)) &&
		   value->tcp_flags == FLAG_SYN;

	if (!syn ||
	    !compares_only(mask, sizeof(*mask), offsetof(struct rte_tcp_hdr, tcp_flags), 1) ||
	    !is_zero(&line->rule.mask.ip, sizeof(line->rule.mask.ip)))
		return refuse(err, "matches TCP flags in one rule only: flags spec 0x02 mask 0x02, "
				   "without addresses and ports");
	if (line->rule.fate != FLOW_QUEUE)
		return refuse(err, "does not drop by TCP flags: it can choose a queue");
	s->line.rule.mask.l4.tcp.tcp_flags = FLAG_SYN;
	s->kind = SYN;
	s->order = 10;
	s->remark = mask->tcp_flags == FLAG_SYN
			    ? "the device takes SYN without ACK only, over IPv4 and IPv6"
			    : "the device takes IPv4 and IPv6";
	return take_priority_out(s, "the TCP SYN rule", err);
}

/* Ports of TCP, UDP and SCTP are at the same place. */
static const struct rte_udp_hdr *
ports_of(const struct flow_headers *headers)
{
	return &headers->l4.udp;
}

static bool
whole_or_none(uint32_t mask, uint32_t whole)
{
	return mask == 0 || mask == whole;
}

static bool
is_five_tuple(const struct flow_rule *r)
{
	const struct rte_ipv4_hdr *ip = &r->mask.ip.v4;
	const struct rte_udp_hdr *ports = ports_of(&r->mask);

	return r->fate == FLOW_QUEUE && whole_or_none(ip->src_addr, UINT32_MAX) &&
	       whole_or_none(ip->dst_addr, UINT32_MAX) &&
	       whole_or_none(ip->next_proto_id, UINT8_MAX) &&
	       whole_or_none(ports->src_port, UINT16_MAX) &&
	       whole_or_none(ports->dst_port, UINT16_MAX);
}

static uint8_t
protocol_of(const struct flow_rule *r)
{
	switch (r->present & FLOW_HAS_L4) {
	case FLOW_HAS_UDP:
		return IPPROTO_UDP;
	case FLOW_HAS_TCP:
		return IPPROTO_TCP;
	case FLOW_HAS_SCTP:
		return IPPROTO_SCTP;
	}
	return r->mask.ip.v4.next_proto_id != 0 ? r->value.ip.v4.next_proto_id : 0;
}

static int
shape_five_tuple(const struct flow_line *line, struct flow_shape *s, struct err *err)
{
	struct flow_rule *r = &s->line.rule;
	uint8_t protocol = protocol_of(r);

	if (protocol != 0 && protocol != IPPROTO_UDP && protocol != IPPROTO_TCP &&
	    protocol != IPPROTO_SCTP)
		return refuse(err,
			      "tells TCP, UDP and SCTP apart; other protocols are all one to it");
	if (protocol != 0) {
		r->value.ip.v4.next_proto_id = protocol;
		r->mask.ip.v4.next_proto_id = UINT8_MAX;
	}
	/* The driver's 7 is asked first, its 1 last. */
	r->priority = line->rule.priority < 7 ? 7 - line->rule.priority : 1;
	s->kind = FIVE_TUPLE;
	s->order = (uint8_t)(8 - r->priority);
	return 0;
}

static int
shape_director(const struct flow_line *line, struct flow_shape *s, struct err *err)
{
	const struct flow_rule *r = &line->rule;
	const struct rte_udp_hdr *ports = ports_of(&r->mask);
	bool any_port = ports->src_port != 0 || ports->dst_port != 0;

	if (r->mask.ip.v4.next_proto_id != 0 && (r->present & FLOW_HAS_L4) == 0)
		return refuse(err, "drops and masks without looking at ipv4 proto: leave it out");
	s->line.rule.value.ip.v4.next_proto_id = 0;
	s->line.rule.mask.ip.v4.next_proto_id = 0;
	if (r->present & FLOW_HAS_SCTP)
		return refuse(err, "matches SCTP by whole ports only, to choose a queue");
	if ((r->present & FLOW_HAS_L4) != 0 && !any_port)
		return refuse(err,
			      "would match every protocol, as no port is compared: leave out %s",
			      r->present & FLOW_HAS_UDP ? "udp" : "tcp");
	if (any_port && r->fate == FLOW_DROP)
		return refuse(err,
			      "does not drop by port: drop by addresses alone, let queue index "
			      "choose a queue, or let software have the rule");
	if (!any_port && r->mask.ip.v4.src_addr == 0 && r->mask.ip.v4.dst_addr == 0)
		return refuse(err, "needs something to match: addresses or ports");
	s->kind = DIRECTOR;
	s->order = 11;
	s->bare_ip = true;
	s->numbered = true;
	return take_priority_out(s, "flow director rules", err);
}

static int
check_ip4(const struct flow_rule *r, struct err *err)
{
	struct rte_ipv4_hdr other = r->mask.ip.v4;

	if (r->mask.eth.ether_type != 0)
		return refuse(err, "matches no eth type besides ipv4: leave it out");
	other.src_addr = 0;
	other.dst_addr = 0;
	other.next_proto_id = 0;
	if (!is_zero(&other, sizeof(other)))
		return refuse(err, "matches addresses, proto and ports of IPv4, no other fields");
	if ((r->present & (FLOW_HAS_ICMP | FLOW_HAS_ICMP6)) != 0)
		return refuse(err, "does not look at ICMP");
	if (!compares_only(&r->mask.l4, sizeof(r->mask.l4), 0, 4))
		return refuse(err, "matches ports, nothing else behind the IP header");
	return 0;
}

static int
shape(const struct flow_line *line, unsigned attempt, struct flow_shape *s, struct err *err)
{
	const struct flow_rule *r = &line->rule;
	int rc = check_common(line, err);

	if (rc < 0)
		return rc;
	*s = (struct flow_shape){.line = *line};
	/* Where software has the rule too, it counts and marks. */
	s->line.count = false;
	s->line.rule.mark = false;
	if ((r->present & FLOW_HAS_TCP) != 0 && r->mask.l4.tcp.tcp_flags != 0)
		return attempt == 0 ? shape_syn(line, s, err) : -EAGAIN;
	if ((r->present & FLOW_HAS_IP6) != 0)
		return refuse(err,
			      "matches IPv6 by a hash that other packets can share, not exactly: "
			      "IPv6 is for software, leave skip_sw out");
	if ((r->present & FLOW_HAS_IP4) == 0 && (r->present & FLOW_HAS_L4) != 0)
		return refuse(err, "matches ports of IPv4 only: say ipv4 before them");
	if ((r->present & FLOW_HAS_IP4) == 0)
		return attempt == 0 ? shape_ethertype(line, s, err) : -EAGAIN;
	rc = check_ip4(r, err);
	if (rc < 0)
		return rc;
	if (!is_five_tuple(r))
		return attempt == 0 ? shape_director(line, s, err) : -EAGAIN;
	if (attempt == 0)
		return shape_five_tuple(line, s, err);
	return attempt == 1 ? shape_director(line, s, err) : -EAGAIN;
}

/* --- beside other rules ---------------------------------------------------------------- */

static bool
same_mask(const struct flow_shape *a, const struct flow_shape *b)
{
	const struct flow_headers *m = &a->line.rule.mask, *n = &b->line.rule.mask;

	return m->ip.v4.src_addr == n->ip.v4.src_addr && m->ip.v4.dst_addr == n->ip.v4.dst_addr &&
	       ports_of(m)->src_port == ports_of(n)->src_port &&
	       ports_of(m)->dst_port == ports_of(n)->dst_port;
}

static int
fit(const struct flow_shape *s, const struct flow_room *room, struct err *err)
{
	if (room->used[s->kind] >= capacity[s->kind])
		return err_set(err, ENOSPC, "the 82599 has room for %u %s", capacity[s->kind],
			       kind_names[s->kind]);
	if (s->kind == DIRECTOR && room->used[DIRECTOR] > 0 &&
	    !same_mask(s, room->example[DIRECTOR]))
		return err_set(
			err, ENOSPC,
			"the 82599's flow director has one mask for all rules of a port, and it is "
			"that of rule #%u: compare the same bits, or let software have the rule",
			room->example_rule[DIRECTOR]);
	return 0;
}

/* The mask is forgotten when the last director rule of all ports goes, and only on its port. */
static bool
lingers(const struct flow_shape *s)
{
	return s->kind == DIRECTOR;
}

const struct flow_driver flow_driver_82599 = {
	.shape = shape,
	.fit = fit,
	.lingers = lingers,
	.numbers = 2046,
};
