/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What follows `encap seg6local`; show sid, clear sid, ip sr tunsrc.
 */
#include "cmd_sid.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "net.h"
#include "net_nexthop.h"
#include "worker.h"

enum {
	GIVEN_ACTION = 1,
	GIVEN_NH4 = 2,
	GIVEN_NH6 = 4,
	GIVEN_OIF = 8,
	GIVEN_TABLE = 16,
	GIVEN_VRFTABLE = 32,
	GIVEN_FLAVORS = 64,
};
#define GIVEN_ANY_TABLE (GIVEN_TABLE | GIVEN_VRFTABLE)

/* What each behaviour must be told (one of these), and may be told besides. */
static const struct rule {
	unsigned needs;
	unsigned takes;
	const char *need;
} rules[SID_BEHAVIOUR_COUNT] = {
	[SID_END] = {0, GIVEN_FLAVORS, NULL},
	[SID_END_X] = {GIVEN_NH6, GIVEN_OIF | GIVEN_FLAVORS, "nh6"},
	[SID_END_T] = {GIVEN_ANY_TABLE, GIVEN_FLAVORS, "table or vrftable"},
	[SID_END_DX4] = {GIVEN_NH4, GIVEN_OIF, "nh4"},
	[SID_END_DX6] = {GIVEN_NH6, GIVEN_OIF, "nh6"},
	[SID_END_DT4] = {GIVEN_ANY_TABLE, 0, "vrftable or table"},
	[SID_END_DT6] = {GIVEN_ANY_TABLE, 0, "vrftable or table"},
	[SID_END_DT46] = {GIVEN_ANY_TABLE, 0, "vrftable or table"},
};

static const struct {
	unsigned given;
	const char *word;
} given_words[] = {
	{GIVEN_NH4, "nh4"},	{GIVEN_NH6, "nh6"},	      {GIVEN_OIF, "oif"},
	{GIVEN_TABLE, "table"}, {GIVEN_VRFTABLE, "vrftable"},
};

/* Behaviours of RFC 8986 that are to come. */
static const char *const coming[] = {
	"End.DX2", "End.DX2V",		"End.DT2U", "End.DT2M", "End.B6", "End.B6.Encaps",
	"End.BM",  "End.B6.Encaps.Red", "End.S",    "End.AS",	"End.AM", "End.BPF",
};

/* --- parsing ---------------------------------------------------------------------------------- */

static int
take_action(struct sid_line *line, char *word, struct err *err)
{
	enum sid_behaviour behaviour;

	if (sid_behaviour_parse(word, &behaviour) == 0) {
		line->config.behaviour = behaviour;
		line->given |= GIVEN_ACTION;
		return 0;
	}
	for (unsigned i = 0; i < sizeof(coming) / sizeof(coming[0]); i++) {
		if (strcasecmp(word, coming[i]) == 0)
			return err_set(err, EOPNOTSUPP, "action %s: not supported yet", coming[i]);
	}
	return err_set(err, EINVAL,
		       "action '%.30s' is unknown; there are End, End.X, End.T, "
		       "End.DX4, End.DX6, End.DT4, End.DT6, End.DT46",
		       word);
}

static int
parse_nh(struct sid_line *line, const char *word, uint8_t family, struct err *err)
{
	if (line->config.nh.family != 0)
		return err_set(err, EINVAL, "only one of nh4 and nh6 can be given");
	if (ip_addr_parse(word, family, &line->config.nh) < 0)
		return err_set(err, EINVAL, "nh%c: '%.60s' is not an IPv%c address",
			       family == AF_INET ? '4' : '6', word, family == AF_INET ? '4' : '6');
	line->given |= family == AF_INET ? GIVEN_NH4 : GIVEN_NH6;
	return 0;
}

static int
parse_table(struct sid_line *line, const char *word, bool vrftable, struct err *err)
{
	uint64_t number;

	if ((line->given & GIVEN_ANY_TABLE) != 0)
		return err_set(err, EINVAL, "only one of table and vrftable can be given");
	if (strcmp(word, "main") == 0)
		number = TABLE_MAIN;
	else if (number_parse(word, 1, UINT32_MAX, &number) < 0)
		return err_set(err, EINVAL, "%s: '%.20s' is no table number (1 to 4294967295)",
			       vrftable ? "vrftable" : "table", word);
	line->table_number = (uint32_t)number;
	line->given |= vrftable ? GIVEN_VRFTABLE : GIVEN_TABLE;
	return 0;
}

static int
take_flavors(struct sid_line *line, char *word, struct err *err)
{
	char *rest = word;
	char *one;

	while ((one = strsep(&rest, ",")) != NULL) {
		if (strcasecmp(one, "psp") == 0)
			line->config.flavours |= SID_PSP;
		else if (strcasecmp(one, "usp") == 0)
			line->config.flavours |= SID_USP;
		else if (strcasecmp(one, "usd") == 0)
			line->config.flavours |= SID_USD;
		else if (strcasecmp(one, "next-csid") == 0)
			return err_set(err, EOPNOTSUPP, "flavors next-csid: not supported yet");
		else
			return err_set(err, EINVAL, "flavors: '%.20s' is none of psp, usp, usd",
				       one);
	}
	line->given |= GIVEN_FLAVORS;
	return 0;
}

static int
take_nh4(struct sid_line *line, char *word, struct err *err)
{
	return parse_nh(line, word, AF_INET, err);
}

static int
take_nh6(struct sid_line *line, char *word, struct err *err)
{
	return parse_nh(line, word, AF_INET6, err);
}

static int
take_oif(struct sid_line *line, char *word, struct err *err)
{
	struct iface_control *c = word_dev(word, err);

	if (c == NULL)
		return err_prefix(err, -ENODEV, "oif");
	line->config.oif = c->id;
	line->given |= GIVEN_OIF;
	return 0;
}

static int
take_table(struct sid_line *line, char *word, struct err *err)
{
	return parse_table(line, word, false, err);
}

static int
take_vrftable(struct sid_line *line, char *word, struct err *err)
{
	return parse_table(line, word, true, err);
}

static int
refuse_csid(struct sid_line *line, char *word, struct err *err)
{
	(void)line;
	(void)word;
	return err_set(err, EINVAL,
		       "lblen and nflen go with flavors next-csid, which is not supported yet");
}

static int
refuse_coming(struct sid_line *line, char *word, struct err *err)
{
	(void)line;
	return err_set(err, EOPNOTSUPP, "srh, iif and endpoint are not supported yet (%.30s)",
		       word);
}

/* Each is followed by a value. */
static const struct {
	const char *word;
	int (*take)(struct sid_line *line, char *value, struct err *err);
} keywords[] = {
	{"action", take_action},   {"nh4", take_nh4},	   {"nh6", take_nh6},
	{"oif", take_oif},	   {"table", take_table},  {"vrftable", take_vrftable},
	{"flavors", take_flavors}, {"lblen", refuse_csid}, {"nflen", refuse_csid},
	{"srh", refuse_coming},	   {"iif", refuse_coming}, {"endpoint", refuse_coming},
};

/* 0: a keyword and its value are taken; 1: the word belongs to the route; or a negative errno. */
static int
take_word(struct call *call, struct sid_line *line)
{
	const char *typed = call_peek(call);

	for (unsigned k = 0; k < sizeof(keywords) / sizeof(keywords[0]); k++) {
		char *value;

		if (strcmp(typed, keywords[k].word) != 0)
			continue;
		call_next(call);
		value = call_value(call, keywords[k].word, "a value");
		if (value == NULL)
			return -EINVAL;
		return keywords[k].take(line, value, call->err);
	}
	return 1;
}

int
sid_words(struct call *call, struct sid_line *line)
{
	while (call_peek(call) != NULL) {
		int rc;

		/* SIDs are always counted. */
		if (strcmp(call_peek(call), "count") == 0) {
			call_next(call);
			continue;
		}
		rc = take_word(call, line);
		if (rc != 0)
			return rc < 0 ? rc : 0;
	}
	return 0;
}

static int
find_table(struct sid_line *line, struct err *err)
{
	const struct vrf *v = vrf_of_table(line->table_number);
	bool vrftable = (line->given & GIVEN_VRFTABLE) != 0;

	if (v == NULL)
		return err_set(err, ENOENT, "table %u does not exist", line->table_number);
	if (vrftable && !v->device && v->idx != VRF_MAIN)
		return err_set(err, ENOENT, "vrftable %u: no VRF has this table",
			       line->table_number);
	line->config.table = v->idx;
	line->config.has_table = true;
	line->config.vrftable = vrftable;
	return 0;
}

static int
check(struct sid_line *line, struct iface_control *dev, struct err *err)
{
	const struct rule *rule = &rules[line->config.behaviour];
	const char *action = sid_behaviour_name((enum sid_behaviour)line->config.behaviour);
	unsigned rest = line->given & ~(rule->needs | rule->takes | GIVEN_ACTION);
	char flavours[SID_FLAVOURS_TEXT];

	if ((line->given & GIVEN_ACTION) == 0)
		return err_set(err, EINVAL, "action is missing");
	if ((rest & GIVEN_FLAVORS) != 0)
		return err_set(err, EINVAL, "%s takes no flavors (%s)", action,
			       sid_flavours_text(line->config.flavours, flavours));
	for (unsigned i = 0; i < sizeof(given_words) / sizeof(given_words[0]); i++) {
		if ((rest & given_words[i].given) != 0)
			return err_set(err, EINVAL, "%s takes no %s", action, given_words[i].word);
	}
	if (rule->needs != 0 && (line->given & rule->needs) == 0)
		return err_set(err, EINVAL, "%s needs %s", action, rule->need);
	if ((line->given & GIVEN_NH6) != 0 && ip6_is_link_local(line->config.nh.bytes) &&
	    line->config.oif == 0) {
		if (dev == NULL)
			return err_set(err, EINVAL,
				       "nh6 is link-local: name its interface with oif "
				       "or dev");
		line->config.oif = dev->id;
	}
	if ((line->given & GIVEN_ANY_TABLE) != 0)
		return find_table(line, err);
	return 0;
}

int
sid_words_check(struct sid_line *line, struct iface_control *dev, struct err *err)
{
	char text[IP_PREFIX_TEXT];
	int rc = check(line, dev, err);

	if (rc < 0)
		return err_prefix(err, rc, "SID %s", ip_prefix_format(&line->config.prefix, text));
	return 0;
}

/* --- show ---------------------------------------------------------------------------------------
 */

static void
show_flavours(struct out *out, unsigned flavours)
{
	char text[SID_FLAVOURS_TEXT];
	char *rest = text;
	char *one;

	if (flavours == 0)
		return;
	sid_flavours_text(flavours, text);
	out_text(out, " flavors %s", text);
	out_json_array(out, "flavors");
	while ((one = strsep(&rest, ",")) != NULL)
		out_json_string(out, NULL, one);
	out_json_end(out);
}

/* Everything behind the action's name. */
static void
show_parameters(struct out *out, const struct sid *sid)
{
	const struct sid_config *c = &sid->config;
	const char *nh = c->nh.family == AF_INET ? "nh4" : "nh6";
	const char *table = c->vrftable ? "vrftable" : "table";
	char text[IP_ADDR_TEXT];

	if (c->has_table) {
		uint32_t number = vrf_at(c->table)->table;

		out_text(out, " %s %u", table, number);
		out_json_uint(out, table, number);
	}
	if (c->nh.family != 0) {
		ip_addr_format(&c->nh, text);
		out_text(out, " %s %s", nh, text);
		out_json_string(out, nh, text);
	}
	if (c->oif != 0 && iface_get(c->oif) != NULL) {
		out_text(out, " oif %s", iface_get(c->oif)->name);
		out_json_string(out, "oif", iface_get(c->oif)->name);
	}
	show_flavours(out, c->flavours);
}

void
sid_words_show(struct out *out, const struct sid *sid)
{
	const char *action = sid_behaviour_name((enum sid_behaviour)sid->config.behaviour);

	out_json_string(out, "encap", "seg6local");
	out_json_string(out, "action", action);
	out_text(out, "encap seg6local action %s", action);
	show_parameters(out, sid);
}

static void
show_one(struct out *out, const struct sid *sid)
{
	const char *action = sid_behaviour_name((enum sid_behaviour)sid->config.behaviour);
	const struct vrf *v = vrf_at(sid->config.vrf);
	struct sid_counters counters;
	char text[IP_PREFIX_TEXT];

	sid_counters_sum(sid->nexthop, &counters);
	ip_prefix_format(&sid->config.prefix, text);
	out_json_object(out, NULL);
	out_json_string(out, "sid", text);
	out_json_string(out, "action", action);
	out_text(out, "%s action %s", text, action);
	if (v->idx != VRF_MAIN) {
		out_text(out, " in %s", v->name[0] != '\0' ? v->name : "a table");
		out_json_uint(out, "in_table", v->table);
	}
	show_parameters(out, sid);
	if (sid->config.nh.family != 0 && !net_nexthop_usable(sid->adjacency)) {
		out_json_bool(out, "unreachable", true);
		out_text(out, " unreachable");
	}
	out_json_uint(out, "packets", counters.packets);
	out_json_uint(out, "bytes", counters.bytes);
	out_json_uint(out, "errors", counters.errors);
	out_json_end(out);
	out_text(out, "\n    packets %lu bytes %lu errors %lu\n", counters.packets, counters.bytes,
		 counters.errors);
}

/* Where a long list is. */
struct sid_show {
	int vrf;
	bool inside; /* last is a SID of this VRF */
	struct ip_prefix last;
};

static int
show_more(struct call *call)
{
	struct sid_show *s = call->state;
	struct vrf *v = s->inside ? vrf_at((unsigned)s->vrf) : vrf_next(s->vrf);

	for (; v != NULL; v = vrf_next(s->vrf)) {
		struct sid *sid;

		s->vrf = v->idx;
		while ((sid = sid_next(v, s->inside ? &s->last : NULL)) != NULL) {
			s->last = sid->config.prefix;
			s->inside = true;
			show_one(call->out, sid);
			if (out_full(call->out))
				return CALL_MORE;
		}
		s->inside = false;
	}
	out_json_end(call->out);
	return 0;
}

static int
sid_show(struct call *call)
{
	struct sid_show *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return err_set(call->err, ENOMEM, "no memory");
	s->vrf = -1;
	call->state = s;
	call->more = show_more;
	out_json_array(call->out, NULL);
	return show_more(call);
}

static int
sid_clear(struct call *call)
{
	struct vrf *v;

	(void)call;
	VRF_FOREACH(v) {
		for (struct sid *sid = sid_next(v, NULL); sid != NULL;
		     sid = sid_next(v, &sid->config.prefix))
			sid_counters_clear(sid->nexthop);
	}
	return 0;
}

static int
ecn_set(struct call *call)
{
	tunnel_ecn_mask = call_head_is(call, 4, "rfc6040") ? TUNNEL_ECN_RFC6040 : 0;
	return 0;
}

static int
ecn_show(struct call *call)
{
	const char *word = tunnel_ecn_mask != 0 ? "rfc6040" : "inner";

	out_json_object(call->out, NULL);
	out_json_string(call->out, "ecn", word);
	out_json_end(call->out);
	out_text(call->out, "ecn %s\n", word);
	return 0;
}

static int
tunsrc_set(struct call *call)
{
	const char *word = call_value(call, "tunsrc set", "an IPv6 address");
	struct ip_addr addr;

	if (word == NULL || call_end(call) < 0)
		return -EINVAL;
	if (ip_addr_parse(word, AF_INET6, &addr) < 0 || ip_is_multicast(&addr))
		return err_set(call->err, EINVAL, "'%.60s' is not an IPv6 unicast address", word);
	if (ip_is_unspecified(&addr))
		addr.family = 0;
	sr_tunsrc = addr;
	return 0;
}

static int
tunsrc_show(struct call *call)
{
	char text[IP_ADDR_TEXT] = "::";

	if (sr_tunsrc.family != 0)
		ip_addr_format(&sr_tunsrc, text);
	out_json_object(call->out, NULL);
	out_json_string(call->out, "tunsrc", text);
	out_json_end(call->out);
	out_text(call->out, "tunsrc addr %s\n", text);
	return 0;
}

static const struct command commands[] = {
	{"show sid", "SIDs with their counters", sid_show, NULL},
	{"clear sid", "count SIDs from zero", sid_clear, NULL},
	{"ip sr tunsrc set ADDR", "source address of encapsulated packets", tunsrc_set, NULL},
	{"ip sr ecn set {inner|rfc6040}",
	 "congestion marks at the end of a tunnel: the inner packet's own, or RFC 6040's combination",
	 ecn_set, NULL},
	{"ip sr ecn show", "what becomes of congestion marks at the end of a tunnel", ecn_show,
	 NULL},
	{"ip sr tunsrc show", "source address of encapsulated packets", tunsrc_show, NULL},
};

void
cmd_sid_register(struct console *console)
{
	console_register(console, commands, sizeof(commands) / sizeof(commands[0]));
}
