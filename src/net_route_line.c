/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Taking a line of `ip route {add|replace|del}` apart. Words may come in any order
 * behind the prefix, as in iproute2; what would change where packets go and is not
 * there is refused, what changes nothing is let pass, so that lines from guides work.
 */
#include <errno.h>
#include <stddef.h>

#include "cmd_route.h"
#include "net.h"

static int
parse_prefix(struct call *call, struct route_line *line)
{
	const char *word = call_next(call);
	int rc;

	line->is_default = strcmp(word, "default") == 0;
	line->has_prefix = true;
	rc = ip_prefix_parse(word, line->family, true, &line->request.prefix, NULL, call->err);
	if (rc == 0 && !line->is_default)
		line->family = line->request.prefix.addr.family;
	return rc;
}

/* "via [inet|inet6] ADDR" */
static int
parse_via(struct call *call, struct ip_addr *via)
{
	char *word = call_value(call, "via", "an address");
	uint8_t family = 0;

	if (word == NULL)
		return -EINVAL;
	if (strcmp(word, "inet6") == 0 || strcmp(word, "inet") == 0) {
		family = word[4] == '6' ? AF_INET6 : AF_INET;
		word = call_value(call, "via", "an address");
		if (word == NULL)
			return -EINVAL;
	}
	if (ip_addr_parse(word, family, via) < 0)
		return err_set(call->err, EINVAL, "via: '%.60s' is not an address", word);
	return 0;
}

static int
parse_dev(struct call *call, struct iface_control **c)
{
	const char *word = call_value(call, "dev", "an interface");

	*c = word != NULL ? word_dev(word, call->err) : NULL;
	return *c != NULL ? 0 : -ENODEV;
}

/* "nexthop via A [dev P] [weight N] [onlink]" */
static int
parse_nexthop(struct call *call, struct route_line *line)
{
	struct route_request *r = &line->request;
	struct route_hop hop = {.weight = 1};
	uint64_t weight;
	const char *word;
	int rc = 0;

	while (rc == 0 && call_peek(call) != NULL) {
		if (call_accept(call, "via", 3)) {
			rc = parse_via(call, &hop.via);
		} else if (call_accept(call, "dev", 3)) {
			rc = parse_dev(call, &hop.dev);
		} else if (call_accept(call, "onlink", 6)) {
			hop.onlink = true;
		} else if (call_accept(call, "weight", 6)) {
			word = call_value(call, "weight", "a number");
			if (word == NULL)
				return -EINVAL;
			if (number_parse(word, 1, 256, &weight) < 0)
				return err_set(call->err, EINVAL, "weight: '%.20s' is not 1 to 256",
					       word);
			hop.weight = (uint16_t)weight;
		} else {
			break;
		}
	}
	if (rc < 0)
		return rc;
	if (hop.via.family == 0 && hop.dev == NULL)
		return err_set(call->err, EINVAL, "nexthop: via ADDR or dev DEV is missing");
	if (r->hop_count == GROUP_MAX)
		return err_set(call->err, E2BIG, "more than %d next hops", GROUP_MAX);
	r->hops[r->hop_count++] = hop;
	return 0;
}

static int
parse_encap(struct call *call, struct route_line *line)
{
	const char *word = call_value(call, "encap", "seg6local or seg6");

	if (word == NULL)
		return -EINVAL;
	if (strcmp(word, "seg6local") != 0)
		return err_set(call->err, EOPNOTSUPP, "encap %.20s: not supported yet", word);
	line->seg6local = true;
	return sid_words(call, &line->sid);
}

/* Words that say what is so anyway. */
static int
parse_metric(struct call *call)
{
	const char *word = call_value(call, "metric", "a number");

	if (word == NULL)
		return -EINVAL;
	if (strcmp(word, "0") != 0 && strcmp(word, "1024") != 0)
		return err_set(call->err, EOPNOTSUPP,
			       "metric %.20s: not supported, a prefix has one "
			       "route here; leave it out",
			       word);
	return 0;
}

static int
parse_scope(struct call *call, struct route_line *line)
{
	const char *word = call_value(call, "scope", "a scope");

	if (word == NULL)
		return -EINVAL;
	line->has_scope_link = strcmp(word, "link") == 0;
	if (!line->has_scope_link && strcmp(word, "global") != 0 && strcmp(word, "universe") != 0)
		return err_set(call->err, EOPNOTSUPP, "scope %.20s: not supported", word);
	return 0;
}

static int
parse_proto(struct call *call, struct route_line *line)
{
	const char *word = call_value(call, "proto", "a protocol");

	if (word == NULL)
		return -EINVAL;
	if (proto_parse(word, &line->request.proto) < 0)
		return err_set(call->err, EINVAL, "proto '%.20s' is unknown", word);
	line->has_proto = true;
	return 0;
}

static int
parse_src(struct call *call, struct route_line *line)
{
	const char *word = call_value(call, "src", "an address");

	if (word == NULL)
		return -EINVAL;
	if (ip_addr_parse(word, line->family, &line->src) < 0)
		return err_set(call->err, EINVAL, "src: '%.60s' is not an address", word);
	return 0;
}

static int
parse_harmless(struct call *call, bool *known)
{
	const char *word;

	*known = true;
	if (call_accept(call, "metric", 6) || call_accept(call, "preference", 10) ||
	    call_accept(call, "priority", 8))
		return parse_metric(call);
	if (call_accept(call, "pref", 4)) {
		word = call_value(call, "pref", "medium");
		if (word == NULL || strcmp(word, "medium") != 0)
			return err_set(call->err, EOPNOTSUPP, "pref: only medium is supported");
		return 0;
	}
	*known = false;
	return 0;
}

/* dev may be a VRF device where it only has to exist: for a SID. */
static int
parse_route_dev(struct call *call, struct route_line *line)
{
	const struct vrf *v;

	line->dev_name = call_value(call, "dev", "an interface");
	if (line->dev_name == NULL)
		return -EINVAL;
	line->dev = iface_find(line->dev_name);
	v = line->dev == NULL ? vrf_of_name(line->dev_name) : NULL;
	if (line->dev != NULL || (v != NULL && v->device))
		return 0;
	return err_set(call->err, ENODEV, "dev '%.40s' does not exist", line->dev_name);
}

static bool
parse_type(struct call *call, struct route_line *line)
{
	static const struct {
		const char *word;
		enum nexthop_type type;
	} types[] = {
		{"blackhole", NEXTHOP_BLACKHOLE},
		{"unreachable", NEXTHOP_UNREACHABLE},
		{"prohibit", NEXTHOP_PROHIBIT},
		{"unicast", NEXTHOP_NONE},
	};
	const char *word = call_peek(call);

	for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (strcmp(word, types[i].word) == 0) {
			line->request.type = types[i].type;
			line->has_type = true;
			call_next(call);
			return true;
		}
	}
	return false;
}

static int
parse_word(struct call *call, struct route_line *line)
{
	bool known;
	int rc;

	if (call_accept(call, "via", 3))
		return parse_via(call, &line->via);
	if (call_accept(call, "dev", 3) || call_accept(call, "oif", 3))
		return parse_route_dev(call, line);
	if (call_accept(call, "onlink", 6)) {
		line->onlink = true;
		return 0;
	}
	if (call_accept(call, "nexthop", 7))
		return parse_nexthop(call, line);
	if (call_accept(call, "encap", 5))
		return parse_encap(call, line);
	if (call_accept(call, "proto", 5) || call_accept(call, "protocol", 6))
		return parse_proto(call, line);
	if (call_accept(call, "scope", 5))
		return parse_scope(call, line);
	if (call_accept(call, "src", 3))
		return parse_src(call, line);
	rc = words_table(call, &line->table);
	if (rc > 0)
		line->has_table = true;
	if (rc != 0)
		return rc < 0 ? rc : 0;
	rc = parse_harmless(call, &known);
	if (rc < 0 || known)
		return rc;
	if (!line->has_type && !line->has_prefix && parse_type(call, line))
		return 0;
	call_accept(call, "to", 2);
	if (line->has_prefix || call_peek(call) == NULL)
		return call_end(call) < 0 ? -EINVAL
					  : err_set(call->err, EINVAL, "a prefix is missing");
	return parse_prefix(call, line);
}

/* `default` has the family of what it leads to. */
static int
settle_family(struct route_line *line, struct err *err)
{
	struct route_request *r = &line->request;
	uint8_t via = line->via.family;

	for (unsigned i = 0; i < r->hop_count; i++) {
		if (r->hops[i].via.family == 0)
			continue;
		if (via != 0 && via != r->hops[i].via.family)
			return err_set(err, EOPNOTSUPP,
				       "next hops of both families: not supported");
		via = r->hops[i].via.family;
	}
	if (line->is_default && line->family == 0)
		line->family = line->seg6local ? AF_INET6 : via != 0 ? via : AF_INET;
	if (line->is_default)
		r->prefix.addr.family = line->family;
	if (via == 0 || via == line->family)
		return 0;
	if (via == AF_INET6)
		return err_set(err, EOPNOTSUPP,
			       "an IPv4 route via an IPv6 address: not supported yet");
	return err_set(err, EINVAL, "an IPv6 route via an IPv4 address: not possible");
}

/* The ways the words describe, as hops. */
static int
settle_hops(struct route_line *line, struct err *err)
{
	struct route_request *r = &line->request;
	bool any = line->via.family != 0 || line->dev != NULL;

	if (r->type != NEXTHOP_NONE) {
		/* iproute2 lets a dev pass there (Linux prints "dev lo"); it means nothing. */
		if (r->hop_count != 0 || line->via.family != 0)
			return err_set(err, EINVAL, "a route that drops packets has no next hop");
		return 0;
	}
	if (r->hop_count != 0) {
		if (any || line->onlink)
			return err_set(err, EINVAL,
				       "either via and dev, or nexthop via ..., not both");
		return 0;
	}
	if (line->dev_name != NULL && line->dev == NULL && !line->seg6local)
		return err_set(err, EINVAL, "dev %.40s is a VRF, not an interface packets leave by",
			       line->dev_name);
	if (!any)
		return 0;
	r->hops[0] = (struct route_hop){
		.via = line->via,
		.dev = line->dev,
		.onlink = line->onlink,
		.weight = 1,
	};
	r->hop_count = 1;
	return 0;
}

int
route_line_parse(struct call *call, struct route_line *line)
{
	int rc = 0;

	memset(line, 0, offsetof(struct route_line, request));
	line->request.type = NEXTHOP_NONE;
	line->request.proto = ROUTE_PROTO_BOOT;
	line->request.hop_count = 0;
	line->family = call->family;
	while (rc == 0 && call_peek(call) != NULL)
		rc = parse_word(call, line);
	if (rc < 0)
		return rc;
	if (!line->has_prefix)
		return err_set(call->err, EINVAL, "a prefix is missing");
	rc = settle_family(line, call->err);
	if (rc == 0 && !line->seg6local)
		rc = settle_hops(line, call->err);
	if (rc < 0) {
		char text[IP_PREFIX_TEXT];

		err_prefix(call->err, rc, "route %s",
			   ip_prefix_format(&line->request.prefix, text));
	}
	return rc;
}
