/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ip neigh ...
 */
#include <errno.h>
#include <stdlib.h>

#include "loop.h"
#include "neighbour.h"
#include "net.h"
#include "net_words.h"

struct neigh_request {
	struct ip_addr addr; /* family 0: not given */
	struct iface_control *c;
	uint8_t mac[6];
	bool has_mac;
	bool all;
};

static int
parse_nud(struct call *call)
{
	const char *word = call_value(call, "nud", "a state");

	if (word == NULL)
		return -EINVAL;
	if (strcmp(word, "permanent") != 0)
		return err_set(call->err, EOPNOTSUPP, "nud %.20s: what is typed here is permanent",
			       word);
	return 0;
}

static int
parse(struct call *call, struct neigh_request *r)
{
	while (call_peek(call) != NULL) {
		const char *word;

		if (call_accept(call, "dev", 1)) {
			word = call_value(call, "dev", "an interface");
			r->c = word != NULL ? word_dev(word, call->err) : NULL;
			if (r->c == NULL)
				return -ENODEV;
		} else if (call_accept(call, "lladdr", 1)) {
			word = call_value(call, "lladdr", "a MAC address");
			if (word == NULL)
				return -EINVAL;
			if (mac_parse(word, r->mac) < 0)
				return err_set(call->err, EINVAL,
					       "lladdr '%.40s' is not a MAC address", word);
			r->has_mac = true;
		} else if (call_accept(call, "nud", 1)) {
			if (parse_nud(call) < 0)
				return -EINVAL;
		} else {
			call_accept(call, "to", 2);
			word = call_next(call);
			if (word == NULL || r->addr.family != 0)
				return err_set(call->err, EINVAL, "unexpected '%.40s'",
					       word != NULL ? word : "to");
			if (strcmp(word, "all") == 0)
				r->all = true;
			else if (ip_addr_parse(word, call->family, &r->addr) < 0)
				return err_set(call->err, EINVAL, "'%.60s' is not an address",
					       word);
		}
	}
	return 0;
}

static int
need(struct call *call, const struct neigh_request *r, bool mac)
{
	if (r->addr.family == 0)
		return err_set(call->err, EINVAL, "an address is missing");
	if (r->c == NULL)
		return err_set(call->err, EINVAL, "dev DEV is missing");
	if (mac && !r->has_mac)
		return err_set(call->err, EINVAL, "lladdr MAC is missing");
	if (mac && iface_has_address(iface_at(r->c->id), &r->addr))
		return err_set(call->err, EINVAL, "that is an address of %s itself", r->c->name);
	return 0;
}

static int
neigh_add_replace(struct call *call)
{
	bool replace = !call_head_is(call, 2, "add");
	struct neigh_request r = {0};
	int rc = parse(call, &r);

	if (rc == 0)
		rc = need(call, &r, true);
	if (rc < 0)
		return rc;
	return neigh_set_permanent(neighbours, r.c->id, &r.addr, r.mac, replace, loop_now_ms(),
				   call->err);
}

static int
neigh_del(struct call *call)
{
	struct neigh_request r = {0};
	int rc = parse(call, &r);

	if (rc == 0)
		rc = need(call, &r, false);
	if (rc < 0)
		return rc;
	return neigh_delete(neighbours, r.c->id, &r.addr, loop_now_ms(), call->err);
}

/* Permanent ones stay, as in iproute2, unless named. */
static int
neigh_flush(struct call *call)
{
	struct neigh_request r = {0};
	struct iface_control *c;
	int rc = parse(call, &r);

	if (rc < 0)
		return rc;
	if (r.c == NULL && r.addr.family == 0 && !r.all)
		return err_set(call->err, EINVAL, "flush what? an address, dev DEV, or all");
	IFACE_FOREACH(c) {
		if (r.c != NULL && c != r.c)
			continue;
		if (r.addr.family == 0)
			neigh_flush_iface(neighbours, c->id, false, loop_now_ms());
		else if (neigh_find(neighbours, c->id, &r.addr) != NULL)
			neigh_delete(neighbours, c->id, &r.addr, loop_now_ms(), NULL);
	}
	return 0;
}

/* --- show ----------------------------------------------------------------------------------- */

struct neigh_show {
	uint16_t only;
	uint8_t family;
	struct ip_addr addr;
	/* The one shown last; it may be gone when we come again. */
	uint16_t iface;
	struct ip_addr last;
};

static void
show_one(struct out *out, const struct neigh *n)
{
	const struct iface_control *c = iface_get(n->iface);
	char addr[IP_ADDR_TEXT], mac[18];

	ip_addr_format(&n->addr, addr);
	mac_format(n->mac, mac);
	out_json_object(out, NULL);
	out_json_string(out, "dst", addr);
	out_json_string(out, "dev", c != NULL ? c->name : "?");
	if (n->has_mac)
		out_json_string(out, "lladdr", mac);
	if (n->router)
		out_json_null(out, "router");
	out_json_array(out, "state");
	out_json_string(out, NULL, neigh_state_name(n->state));
	out_json_end(out);
	out_json_end(out);
	out_text(out, "%s dev %s %s%s%s%s%s \n", addr, c != NULL ? c->name : "?",
		 n->has_mac ? "lladdr " : "", n->has_mac ? mac : "", n->has_mac ? " " : "",
		 n->router ? "router " : "", neigh_state_name(n->state));
}

/* One that was only noted for a route or SID is none to the user. */
static bool
is_shown(const struct neigh *n, const struct neigh_show *s)
{
	return (s->only == 0 || n->iface == s->only) &&
	       (s->family == 0 || n->addr.family == s->family) &&
	       (s->addr.family == 0 || ip_addr_equal(&s->addr, &n->addr)) && !neigh_is_unasked(n);
}

static bool
is_after(const struct neigh *n, const struct neigh_show *s)
{
	if (s->iface == 0 || n->iface != s->iface)
		return n->iface > s->iface;
	if (n->addr.family != s->last.family)
		return n->addr.family > s->last.family;
	return memcmp(n->addr.bytes, s->last.bytes, sizeof(s->last.bytes)) > 0;
}

static int
show_more(struct call *call)
{
	struct neigh_show *s = call->state;
	struct neigh *n = s->iface != 0 ? neigh_find(neighbours, s->iface, &s->last) : NULL;

	/* Gone meanwhile: find the place again from the beginning. */
	do
		n = neigh_next(neighbours, n);
	while (n != NULL && !is_after(n, s));
	for (; n != NULL; n = neigh_next(neighbours, n)) {
		s->iface = n->iface;
		s->last = n->addr;
		if (is_shown(n, s))
			show_one(call->out, n);
		if (out_full(call->out))
			return CALL_MORE;
	}
	out_json_end(call->out);
	return 0;
}

static int
neigh_show(struct call *call)
{
	struct neigh_show *s = calloc(1, sizeof(*s));
	struct neigh_request r = {0};
	int rc;

	if (s == NULL)
		return err_set(call->err, ENOMEM, "no memory");
	call->state = s;
	rc = parse(call, &r);
	if (rc < 0)
		return rc;
	s->only = r.c != NULL ? r.c->id : 0;
	s->family = call->family;
	s->addr = r.addr;
	out_json_array(call->out, NULL);
	call->more = show_more;
	return show_more(call);
}

static const struct command commands[] = {
	{"ip neigh {add|replace} ADDR lladdr MAC dev DEV", "a neighbour that does not change",
	 neigh_add_replace, NULL},
	{"ip neigh del ADDR dev DEV", "forget a neighbour", neigh_del, NULL},
	{"ip neigh flush [ADDR|all] [dev DEV]", "forget neighbours that were learnt", neigh_flush,
	 NULL},
	{"ip neigh [show] [ADDR] [dev DEV]", "neighbours and their states", neigh_show, NULL},
};

void
cmd_neigh_register(struct console *console)
{
	console_register(console, commands, sizeof(commands) / sizeof(commands[0]));
}
