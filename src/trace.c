/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "classify.h"
#include "datapath.h"
#include "ip.h"
#include "rcu.h"
#include "srv6.h"
#include "vrf.h"

#define TRACE_MAX  1000 /* packets */
#define STEPS_MAX  24	/* per packet; the last is kept for its end */
#define HEADER_MAX 40

static_assert(sizeof(struct rule_verdict) <= HEADER_MAX, "a step has room for it");

struct step {
	uint8_t kind; /* enum trace_kind */
	uint8_t header_len;
	uint16_t a, b;
	uint32_t value;
	uint8_t header[HEADER_MAX];
};

/* One packet's way. A packet is with one thread at a time, which writes it. */
struct record {
	uint32_t steps;
	struct step step[STEPS_MAX];
};

/* Armed by the control thread, filled by workers; replaced as a whole. */
struct trace_set {
	uint32_t wanted;  /* records */
	uint32_t claimed; /* may run past wanted */
	int32_t port;	  /* only packets from there, or -1 */
	struct record records[];
};

uint32_t trace_armed;
static struct trace_set *set;

/* --- workers ------------------------------------------------------------------------ */

/*
 * Trace ids are claimed with an atomic addition: workers share them. Only a
 * burst that is to be traced comes here.
 */
void
trace_begin(struct burst *b, uint16_t port, uint16_t queue)
{
	struct trace_set *s = __atomic_load_n(&set, __ATOMIC_ACQUIRE);

	if (s == NULL || (s->port >= 0 && s->port != port))
		return;
	b->traced = true;
	for (unsigned i = 0; i < b->n; i++) {
		uint32_t id = s->claimed < s->wanted
				      ? __atomic_fetch_add(&s->claimed, 1, __ATOMIC_RELAXED)
				      : s->wanted;

		b->trace[i] = 0;
		if (id >= s->wanted) {
			__atomic_store_n(&trace_armed, 0, __ATOMIC_RELAXED);
			continue;
		}
		b->trace[i] = id + 1;
		trace_step(id + 1, TRACE_RECEIVED, port, queue, b->pkts[i]->pkt_len, NULL, 0);
	}
}

void
trace_step(uint32_t trace, enum trace_kind kind, uint16_t a, uint16_t b, uint32_t value,
	   const void *header, unsigned header_len)
{
	struct trace_set *s = __atomic_load_n(&set, __ATOMIC_ACQUIRE);
	struct record *r;
	struct step *step;
	uint32_t n;

	/* A packet that was held may come back after `trace clear`. */
	if (trace == 0 || s == NULL || trace > s->wanted)
		return;
	r = &s->records[trace - 1];
	n = r->steps;
	if (n == STEPS_MAX || (n == STEPS_MAX - 1 && kind < TRACE_SENT))
		return;
	step = &r->step[n];
	*step = (struct step){
		.kind = (uint8_t)kind,
		.a = a,
		.b = b,
		.value = value,
		.header_len = (uint8_t)RTE_MIN(header_len, (unsigned)HEADER_MAX),
	};
	if (header != NULL)
		memcpy(step->header, header, step->header_len);
	__atomic_store_n(&r->steps, n + 1, __ATOMIC_RELEASE);
}

/* --- words -------------------------------------------------------------------------- */

static const char *const type_names[] = {
	[NEXTHOP_NONE] = "no route",
	[NEXTHOP_BLACKHOLE] = "blackhole",
	[NEXTHOP_UNREACHABLE] = "unreachable",
	[NEXTHOP_PROHIBIT] = "prohibit",
	[NEXTHOP_MARTIAN] = "martian",
	[NEXTHOP_LOCAL] = "local",
	[NEXTHOP_LINK_SCOPE] = "link scope",
	[NEXTHOP_ADJACENT] = "neighbour",
	[NEXTHOP_RESOLVE] = "neighbour without MAC",
	[NEXTHOP_CONNECTED] = "connected",
	[NEXTHOP_GROUP] = "ECMP group",
	[NEXTHOP_SID] = "SID",
};

static void
describe_nexthop(uint32_t value, char *text, size_t size)
{
	const struct nexthop *nh = nexthop_at(nexthops, value);
	const struct iface *iface = iface_at(nh->iface);
	char mac[18];

	switch (nh->type) {
	case NEXTHOP_ADJACENT:
		snprintf(text, size, "neighbour %s dev %s",
			 mac_format(nh->rewrite + NEXTHOP_REWRITE_MAX - nh->rewrite_len, mac),
			 iface != NULL ? iface->name : "?");
		break;
	case NEXTHOP_SID:
		snprintf(text, size, "SID %s",
			 sid_behaviour_name((enum sid_behaviour)nh->behaviour));
		break;
	case NEXTHOP_RESOLVE:
	case NEXTHOP_CONNECTED:
	case NEXTHOP_LOCAL:
		snprintf(text, size, "%s dev %s", type_names[nh->type],
			 iface != NULL ? iface->name : "?");
		break;
	default:
		snprintf(text, size, "%s", type_names[nh->type]);
	}
}

static void
describe_lookup(const struct step *s, char *text, size_t size)
{
	char addr[IP_ADDR_TEXT], prefix[IP_PREFIX_TEXT] = "nothing", nexthop[80];
	const struct vrf_fibs *fibs = &vrf_fibs[s->a];
	struct ip_addr dst = {.family = (uint8_t)s->b};
	struct fib_entry entry;
	const struct vrf *vrf;
	int rc;

	memcpy(dst.bytes, s->header, s->header_len);
	rc = fibs->fib4 == NULL	     ? -ENOENT
	     : dst.family == AF_INET ? fib4_match(fibs->fib4, &dst, &entry)
				     : fib6_match(fibs->fib6, &dst, &entry);
	if (rc == 0)
		ip_prefix_format(&entry.prefix, prefix);
	describe_nexthop(s->value, nexthop, sizeof(nexthop));
	vrf = vrf_at(s->a);
	snprintf(text, size, "table %u: %s matches %s: %s%s", vrf != NULL ? vrf->table : 0,
		 ip_addr_format(&dst, addr), prefix, nexthop,
		 rc == 0 && entry.value != s->value ? " (route has changed since)" : "");
}

static void
describe_ip(const struct step *s, char *text, size_t size)
{
	char src[IP_ADDR_TEXT], dst[IP_ADDR_TEXT];
	struct ip_addr from, to;
	const uint8_t *h = s->header;

	if (s->kind == TRACE_IP4) {
		from = ip4_addr((uint32_t)h[12] << 24 | h[13] << 16 | h[14] << 8 | h[15]);
		to = ip4_addr((uint32_t)h[16] << 24 | h[17] << 16 | h[18] << 8 | h[19]);
	} else {
		from = ip6_addr(h + 8);
		to = ip6_addr(h + 24);
	}
	snprintf(text, size, "IPv%u %s > %s, %s %u, %s %u, length %u", s->kind == TRACE_IP4 ? 4 : 6,
		 ip_addr_format(&from, src), ip_addr_format(&to, dst),
		 s->kind == TRACE_IP4 ? "protocol" : "next header",
		 s->kind == TRACE_IP4 ? h[9] : h[6], s->kind == TRACE_IP4 ? "TTL" : "hop limit",
		 s->kind == TRACE_IP4 ? h[8] : h[7], s->value);
}

static void
describe_rule(const struct step *s, char *text, size_t size)
{
	static const struct {
		const char *word;
		bool target;
	} fates[] = {
		[FLOW_PASSTHRU] = {"passthru", false}, [FLOW_ACCEPT] = {"accept", false},
		[FLOW_DROP] = {"drop", false},	       [FLOW_QUEUE] = {"queue", true},
		[FLOW_LCORE] = {"lcore", true},	       [FLOW_PORT] = {"represented_port", true},
		[FLOW_JUMP] = {"jump to group", true},
	};
	struct rule_verdict rule;
	int used;

	memcpy(&rule, s->header, sizeof(rule));
	used = snprintf(text, size, "flow rule #%u: %s", rule.id, fates[rule.fate].word);
	if (fates[rule.fate].target)
		used += snprintf(text + used, size - (size_t)used, " %u", rule.target);
	if (rule.mark)
		snprintf(text + used, size - (size_t)used, ", mark %u", rule.mark_id);
}

static void
describe(const struct step *s, char *text, size_t size)
{
	static const char *const outcomes[] = {
		[SRV6_INNER4] = "decapsulated, IPv4 inside",
		[SRV6_INNER6] = "decapsulated, IPv6 inside",
		[SRV6_NEXT] = "on to the next segment",
		[SRV6_UPPER] = "upper layer for the SID itself",
		[SRV6_DROP] = "not accepted",
	};
	static const char *const handed[] = {
		[PACKET_ARP] = "ARP, to the control thread",
		[PACKET_ND] = "neighbour discovery, to the control thread",
		[PACKET_RESOLVE] = "held until the neighbour answers",
		[PACKET_CONNECTED] = "held until the neighbour answers",
		[PACKET_PING] = "to the control thread, for ping",
	};
	const struct iface *iface;
	char nexthop[80];

	switch ((enum trace_kind)s->kind) {
	case TRACE_RECEIVED:
		snprintf(text, size, "received on port %u queue %u, %u bytes", s->a, s->b,
			 s->value);
		break;
	case TRACE_VERDICT:
		snprintf(text, size, "verdict: %s", verdict_name((enum verdict_kind)s->a));
		break;
	case TRACE_PROGRAM:
		snprintf(text, size, "program: %s", program_code_name(s->a));
		break;
	case TRACE_LCORE:
		snprintf(text, size, "handed to the worker on lcore %u", s->a);
		break;
	case TRACE_RULE:
		describe_rule(s, text, size);
		break;
	case TRACE_VLAN:
		iface = iface_at(s->a);
		snprintf(text, size, "VLAN %u, interface %s", iface != NULL ? iface->vlan : 0,
			 iface != NULL ? iface->name : "?");
		break;
	case TRACE_IP4:
	case TRACE_IP6:
		describe_ip(s, text, size);
		break;
	case TRACE_SID:
		describe_nexthop(s->value, nexthop, sizeof(nexthop));
		snprintf(text, size, "%s: %s", nexthop, outcomes[s->b]);
		break;
	case TRACE_LOOKUP:
		describe_lookup(s, text, size);
		break;
	case TRACE_NEXTHOP:
		describe_nexthop(s->value, nexthop, sizeof(nexthop));
		snprintf(text, size, "next hop: %s", nexthop);
		break;
	case TRACE_ERROR:
		snprintf(text, size, "ICMP error to the sender, type %u code %u", s->a, s->b);
		break;
	case TRACE_FRAGMENTS:
		snprintf(text, size, "cut into %u fragments", s->a);
		break;
	case TRACE_HELD:
		snprintf(text, size, "fragment, held until the others are there");
		break;
	case TRACE_WHOLE:
		snprintf(text, size, "datagram complete, %u bytes", s->value);
		break;
	case TRACE_SENT:
		snprintf(text, size, "sent on port %u, %u bytes", s->a, s->value);
		break;
	case TRACE_DELIVERED:
		if (s->value != 0)
			snprintf(text, size, "delivered to UDP socket #%u", s->value - 1);
		else
			snprintf(text, size, "delivered to the router itself");
		break;
	case TRACE_DROPPED:
		snprintf(text, size, "dropped: %s (%s)", drop_name((enum drop_reason)s->a),
			 drop_text((enum drop_reason)s->a));
		break;
	case TRACE_HANDED:
		snprintf(text, size, "%s", handed[s->a]);
		break;
	}
}

/* --- commands ----------------------------------------------------------------------- */

static void
set_free(void *ctx, uintptr_t what)
{
	(void)ctx;
	free((void *)what);
}

static void
replace_set(struct trace_set *new)
{
	struct trace_set *old = set;

	__atomic_store_n(&trace_armed, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&set, new, __ATOMIC_RELEASE);
	if (old != NULL)
		rcu_retire(rcu, set_free, NULL, (uintptr_t)old);
	if (new != NULL)
		__atomic_store_n(&trace_armed, 1, __ATOMIC_RELEASE);
}

static int
trace_add(struct call *call)
{
	const char *word = call_value(call, "trace add", "a number of packets"), *dev;
	struct trace_set *new;
	struct port *port = NULL;
	uint64_t n;
	int rc;

	if (word == NULL)
		return -EINVAL;
	if (number_parse(word, 1, TRACE_MAX, &n) < 0)
		return err_set(call->err, EINVAL, "trace add: '%.20s' is not 1 to %u", word,
			       TRACE_MAX);
	if (call_accept(call, "dev", 3)) {
		dev = call_value(call, "dev", "a port");
		port = dev != NULL ? port_find(dev, call->err) : NULL;
		if (port == NULL)
			return -EINVAL;
	}
	rc = call_end(call);
	if (rc != 0)
		return rc;
	new = calloc(1, sizeof(*new) + n * sizeof(new->records[0]));
	if (new == NULL)
		return err_set(call->err, ENOMEM, "no memory to trace %u packets", (unsigned)n);
	new->wanted = (uint32_t)n;
	new->port = port != NULL ? port->id : -1;
	replace_set(new);
	return 0;
}

static void
show_record(struct out *out, unsigned number, const struct record *r)
{
	uint32_t steps = __atomic_load_n(&r->steps, __ATOMIC_ACQUIRE);
	char text[256];

	if (out_is_json(out)) {
		out_json_object(out, NULL);
		out_json_uint(out, "packet", number);
		out_json_array(out, "steps");
	} else {
		out_text(out, "packet %u\n", number);
	}
	for (uint32_t s = 0; s < steps; s++) {
		describe(&r->step[s], text, sizeof(text));
		out_text(out, "    %s\n", text);
		out_json_string(out, NULL, text);
	}
	out_json_end(out);
	out_json_end(out);
}

static int
trace_show(struct call *call)
{
	uint32_t n = set == NULL ? 0 : RTE_MIN(set->claimed, set->wanted);
	int rc = call_end(call);

	if (rc != 0)
		return rc;
	out_json_array(call->out, NULL);
	for (uint32_t i = 0; i < n; i++)
		show_record(call->out, i + 1, &set->records[i]);
	out_json_end(call->out);
	if (n == 0)
		out_text(call->out,
			 set == NULL ? "nothing is traced: trace add N\n" : "no packet yet\n");
	return 0;
}

static int
trace_clear(struct call *call)
{
	int rc = call_end(call);

	if (rc == 0)
		replace_set(NULL);
	return rc;
}

void
trace_fini(void)
{
	replace_set(NULL);
}

void
trace_commands_register(struct console *console)
{
	static const struct command commands[] = {
		{"trace add N [dev PORT]", "follow the next N packets (received on PORT)",
		 trace_add, NULL},
		{"trace show", "what happened to each traced packet, step by step", trace_show,
		 NULL},
		{"trace clear", "forget traces, stop tracing", trace_clear, NULL},
	};

	console_register(console, commands, RTE_DIM(commands));
}
