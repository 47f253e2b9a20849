/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ip addr add, del, flush.
 */
#include <errno.h>

#include "address.h"
#include "net.h"
#include "net_words.h"

struct addr_request {
	bool has_addr, has_len;
	struct ip_addr addr;
	struct ip_prefix prefix;
	struct iface_control *c;
};

static int
parse_address(struct call *call, struct addr_request *r)
{
	const char *word = call_next(call);
	int rc = ip_prefix_parse(word, call->family, false, &r->prefix, &r->addr, call->err);

	if (rc < 0)
		return rc;
	r->has_addr = true;
	r->has_len = strchr(word, '/') != NULL;
	return 0;
}

/* "brd +" and the scope every address has here anyway may be said; other words may not. */
static int
parse_harmless(struct call *call, bool *known)
{
	const char *word;

	*known = true;
	if (call_accept(call, "brd", 3) || call_accept(call, "broadcast", 9)) {
		word = call_value(call, "broadcast", "+ or an address");
		return word != NULL ? 0 : -EINVAL;
	}
	if (call_accept(call, "scope", 2)) {
		word = call_value(call, "scope", "a scope");
		if (word == NULL)
			return -EINVAL;
		if (strcmp(word, "global") != 0 && strcmp(word, "link") != 0)
			return err_set(call->err, EOPNOTSUPP, "scope %.20s: not supported", word);
		return 0;
	}
	*known = call_accept(call, "nodad", 5);
	return 0;
}

static int
parse(struct call *call, struct addr_request *r)
{
	while (call_peek(call) != NULL) {
		bool known;
		int rc;

		if (call_accept(call, "dev", 1)) {
			const char *name = call_value(call, "dev", "an interface");

			r->c = name != NULL ? word_dev(name, call->err) : NULL;
			if (r->c == NULL)
				return -ENODEV;
			continue;
		}
		rc = parse_harmless(call, &known);
		if (rc < 0)
			return rc;
		if (known)
			continue;
		if (call_accept(call, "local", 5) && call_peek(call) == NULL)
			return err_set(call->err, EINVAL, "local: an address is missing");
		if (r->has_addr)
			return call_end(call);
		rc = parse_address(call, r);
		if (rc < 0)
			return rc;
	}
	if (r->c == NULL)
		return err_set(call->err, EINVAL, "dev DEV is missing");
	return 0;
}

static int
addr_add(struct call *call)
{
	struct addr_request r = {0};
	struct iface_address a;
	int rc = parse(call, &r);

	if (rc < 0)
		return rc;
	if (!r.has_addr)
		return err_set(call->err, EINVAL, "an address is missing");
	a.addr = r.addr;
	a.len = r.prefix.len;
	return address_add(r.c, &a, call->err);
}

static int
addr_del(struct call *call)
{
	struct addr_request r = {0};
	int rc = parse(call, &r);

	if (rc < 0)
		return rc;
	if (!r.has_addr)
		return err_set(call->err, EINVAL, "an address is missing");
	return address_del(r.c, &r.addr, r.has_len ? r.prefix.len : 255, call->err);
}

/* ADDR/LEN as for Linux's `to`: every address within it. */
static int
addr_flush(struct call *call)
{
	struct addr_request r = {0};
	int rc = parse(call, &r);

	if (rc < 0)
		return rc;
	for (unsigned i = r.c->address_count; i-- > 0 && rc == 0;) {
		struct ip_addr addr = r.c->addresses[i].addr;

		if ((r.has_addr && !ip_prefix_contains(&r.prefix, &addr)) ||
		    (call->family != 0 && call->family != addr.family))
			continue;
		rc = address_del(r.c, &addr, 255, call->err);
	}
	return rc;
}

static const struct command commands[] = {
	{"ip addr add ADDR/LEN dev DEV", "give an interface an address", addr_add, NULL},
	{"ip addr del ADDR/LEN dev DEV", "take an address away", addr_del, NULL},
	{"ip addr flush [ADDR/LEN] dev DEV", "take all addresses away, or those in a network",
	 addr_flush, NULL},
};

void
cmd_addr_register(struct console *console)
{
	console_register(console, commands, sizeof(commands) / sizeof(commands[0]));
}
