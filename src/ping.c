/* SPDX-License-Identifier: BSD-3-Clause */
#include "ping.h"

#include <errno.h>
#include <stdlib.h>

#include "control.h"
#include "icmp.h"
#include "net.h"
#include "worker_private.h"

#define PING_COUNT    4
#define PING_SIZE     56   /* data bytes, as ping(8) */
#define PING_INTERVAL 1000 /* ms, also how long the last one is waited for */
#define PING_POLL     10   /* ms between looks for an answer */

bool ping_active;

/* One `ping` under way. */
struct ping {
	struct ping *next;
	struct ip_addr to, source;
	uint16_t vrf, ident;
	unsigned count, sent, received;
	uint64_t sent_at; /* ns, of the last request */
	bool answered;	  /* the last request */
	struct icmp_answer answer;
	uint64_t answered_at;
};

static struct ping *pings;

static void
ping_free(void *state)
{
	struct ping **link = &pings;

	while (*link != NULL && *link != state)
		link = &(*link)->next;
	if (*link != NULL)
		*link = (*link)->next;
	free(state);
	__atomic_store_n(&ping_active, pings != NULL, __ATOMIC_RELAXED);
}

void
ping_input(struct rte_mbuf *packet)
{
	const struct packet_meta *meta = packet_meta(packet);
	const uint8_t *h = rte_pktmbuf_mtod_offset(packet, const uint8_t *, meta->l3);
	uint16_t upper = meta->family == AF_INET ? (uint16_t)((h[0] & 15) * 4) : 40;
	struct icmp_answer answer;

	if (icmp_answer_parse(packet, meta->l3, (uint16_t)(packet->pkt_len - meta->l3), upper,
			      meta->family, &answer) == 0) {
		for (struct ping *p = pings; p != NULL; p = p->next) {
			if (p->ident != answer.ident || p->sent != answer.sequence || p->answered)
				continue;
			p->answered = true;
			p->answered_at = loop_now_ns();
			p->answer = answer;
		}
	}
	control_deliver(packet);
}

static int
send_request(struct ping *p, struct err *err)
{
	struct rte_mbuf *m;

	p->sent++;
	p->answered = false;
	p->sent_at = loop_now_ns();
	m = icmp_echo_request(pool_for_socket(0)->mempool, &p->source, &p->to, p->ident,
			      (uint16_t)p->sent, PING_SIZE);
	if (m == NULL)
		return err_set(err, ENOBUFS, "ping: no buffer is free");
	control_route(m, p->vrf, p->to.family);
	return 0;
}

static void
report(struct out *out, struct ping *p)
{
	char from[IP_ADDR_TEXT];
	const struct icmp_answer *a = &p->answer;
	double ms = (double)(p->answered_at - p->sent_at) / 1e6;
	bool reply = a->type == (p->to.family == AF_INET ? ICMP4_ECHO_REPLY : ICMP6_ECHO_REPLY);

	if (!p->answered) {
		out_text(out, "no answer yet: icmp_seq=%u\n", p->sent);
		return;
	}
	ip_addr_format(&a->from, from);
	if (reply) {
		p->received++;
		out_text(out, "%u bytes from %s: icmp_seq=%u ttl=%u time=%.3f ms\n", a->size + 8u,
			 from, a->sequence, a->ttl, ms);
	} else {
		out_text(out, "from %s: icmp_seq=%u ICMP error type %u code %u\n", from,
			 a->sequence, a->type, a->code);
	}
	out_json_object(out, NULL);
	out_json_uint(out, "seq", a->sequence);
	out_json_string(out, "from", from);
	out_json_bool(out, "reply", reply);
	out_json_uint(out, "type", a->type);
	out_json_uint(out, "code", a->code);
	out_json_double(out, "ms", ms, 3);
	out_json_end(out);
}

/* Called again every PING_POLL ms until the last answer is in or overdue. */
static int
ping_more(struct call *call)
{
	struct ping *p = call->state;
	uint64_t waited = (loop_now_ns() - p->sent_at) / 1000000;

	call->pause_ms = PING_POLL;
	if (waited < PING_INTERVAL && !(p->answered && p->sent == p->count))
		return CALL_MORE;
	report(call->out, p);
	if (p->sent < p->count)
		return send_request(p, call->err) == 0 ? CALL_MORE : -ENOBUFS;
	out_json_end(call->out);
	out_text(call->out, "%u sent, %u answered\n", p->sent, p->received);
	return p->received != 0 ? 0
				: err_set(call->err, EHOSTUNREACH, "ping: no answer from the host");
}

static int
cmd_ping(struct call *call)
{
	static uint16_t next_ident = 0x6e00;
	const char *word = call_next(call);
	struct ping ping = {.count = PING_COUNT}, *p;
	uint64_t n;
	int rc;

	if (word == NULL || ip_addr_parse(word, call->family, &ping.to) < 0)
		return err_set(call->err, EINVAL, "ping: '%s' is not an address",
			       word != NULL ? word : "");
	for (;;) {
		if (call_accept(call, "vrf", 3)) {
			word = call_value(call, "vrf", "a VRF's name");
			if (word == NULL)
				return -EINVAL;
			rc = net_vrf_find(word, &ping.vrf, call->err);
			if (rc != 0)
				return rc;
		} else if (call_accept(call, "count", 1)) {
			word = call_value(call, "count", "a number");
			if (word == NULL)
				return -EINVAL;
			if (number_parse(word, 1, 1000, &n) < 0)
				return err_set(call->err, EINVAL, "count: '%s' is not 1 to 1000",
					       word);
			ping.count = (unsigned)n;
		} else {
			break;
		}
	}
	rc = call_end(call);
	if (rc != 0)
		return rc;
	if (!workers_running())
		return err_set(call->err, ENETDOWN, "ping: forwarding is stopped");
	rc = net_source_for(ping.vrf, &ping.to, &ping.source, call->err);
	if (rc == 0)
		return err_prefix(call->err, -ENETUNREACH, "ping");
	p = malloc(sizeof(*p));
	if (p == NULL)
		return err_set(call->err, ENOMEM, "no memory");
	*p = ping;
	p->ident = next_ident++;
	p->next = pings;
	pings = p;
	call->state = p;
	call->free_state = ping_free;
	__atomic_store_n(&ping_active, true, __ATOMIC_RELAXED);
	out_json_array(call->out, NULL);
	rc = send_request(p, call->err);
	if (rc != 0)
		return rc;
	call->more = ping_more;
	call->pause_ms = PING_POLL;
	return CALL_MORE;
}

void
ping_commands_register(struct console *console)
{
	static const struct command commands[] = {
		{"ping ADDR [vrf VRF] [count N]", "ask an address from the router itself", cmd_ping,
		 NULL},
	};

	console_register(console, commands, RTE_DIM(commands));
}
