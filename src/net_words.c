/* SPDX-License-Identifier: BSD-3-Clause */
#include "net_words.h"

#include <errno.h>
#include <stdio.h>

#include "net.h"

struct iface_control *
word_dev(const char *name, struct err *err)
{
	struct iface_control *c = iface_find(name);

	if (c == NULL && vrf_of_name(name) != NULL)
		err_set(err, EINVAL, "dev %.40s is a VRF, not an interface packets leave by", name);
	else if (c == NULL)
		err_set(err, ENODEV, "dev '%.40s' does not exist", name);
	return c;
}

int
words_dev_option(struct call *call, struct iface_control **c)
{
	const char *name;

	*c = NULL;
	if (call_accept(call, "dev", 1)) {
		name = call_value(call, "dev", "an interface");
		if (name == NULL)
			return -EINVAL;
	} else {
		name = call_next(call);
		if (name == NULL)
			return 0;
	}
	*c = word_dev(name, call->err);
	return *c != NULL ? 0 : -ENODEV;
}

static int
table_number(const char *word, uint32_t *number)
{
	uint64_t n;

	if (strcmp(word, "main") == 0)
		*number = TABLE_MAIN;
	else if (strcmp(word, "local") == 0)
		*number = TABLE_LOCAL;
	else if (number_parse(word, 1, UINT32_MAX, &n) == 0)
		*number = (uint32_t)n;
	else
		return -EINVAL;
	return 0;
}

int
words_table(struct call *call, struct word_table *table)
{
	const char *word;

	if (call_accept(call, "vrf", 3)) {
		uint16_t idx;

		word = call_value(call, "vrf", "a name");
		if (word == NULL)
			return -EINVAL;
		if (net_vrf_find(word, &idx, call->err) < 0)
			return -ENOENT;
		table->v = vrf_at(idx);
		table->number = table->v->table;
		return 1;
	}
	if (!call_accept(call, "table", 1))
		return 0;
	word = call_value(call, "table", "a number");
	if (word == NULL)
		return -EINVAL;
	if (table_number(word, &table->number) < 0) {
		/* As in iproute2, where /etc/iproute2/rt_tables gives names. */
		table->v = vrf_of_name(word);
		if (table->v == NULL)
			return err_set(call->err, EINVAL,
				       "table '%.40s' is neither 1 to 4294967295 nor a VRF", word);
		table->number = table->v->table;
		return 1;
	}
	table->v = vrf_of_table(table->number);
	return 1;
}

/* rtm_protocol, by the names iproute2 comes with. */
static const struct {
	const char *name;
	uint8_t number;
} protos[] = {
	{"redirect", 1}, {"kernel", 2}, {"boot", 3},	{"static", 4}, {"ra", 9},
	{"zebra", 11},	 {"bird", 12},	{"dhcp", 16},	{"bgp", 186},  {"isis", 187},
	{"ospf", 188},	 {"rip", 189},	{"eigrp", 192},
};

int
proto_parse(const char *word, uint8_t *proto)
{
	uint64_t number;

	for (unsigned i = 0; i < sizeof(protos) / sizeof(protos[0]); i++) {
		if (strcmp(word, protos[i].name) == 0) {
			*proto = protos[i].number;
			return 0;
		}
	}
	if (number_parse(word, 0, 255, &number) < 0)
		return -EINVAL;
	*proto = (uint8_t)number;
	return 0;
}

const char *
proto_name(uint8_t proto, char buf[4])
{
	for (unsigned i = 0; i < sizeof(protos) / sizeof(protos[0]); i++) {
		if (protos[i].number == proto)
			return protos[i].name;
	}
	snprintf(buf, 4, "%u", proto);
	return buf;
}

/* --- completion -------------------------------------------------------------------------- */

static void
complete_port(void *ctx, void (*add)(void *arg, const char *word), void *arg)
{
	struct iface_control *c;

	(void)ctx;
	IFACE_FOREACH(c) {
		if (c->vlan == 0)
			add(arg, c->name);
	}
}

static void
complete_dev(void *ctx, void (*add)(void *arg, const char *word), void *arg)
{
	struct iface_control *c;

	(void)ctx;
	IFACE_FOREACH(c)
		add(arg, c->name);
}

static void
complete_vrf(void *ctx, void (*add)(void *arg, const char *word), void *arg)
{
	struct vrf *v;

	(void)ctx;
	VRF_FOREACH(v) {
		if (v->name[0] != '\0')
			add(arg, v->name);
	}
}

static void
complete_action(void *ctx, void (*add)(void *arg, const char *word), void *arg)
{
	(void)ctx;
	for (unsigned b = 0; b < SID_BEHAVIOUR_COUNT; b++)
		add(arg, sid_behaviour_name((enum sid_behaviour)b));
}

void
words_register(struct console *console)
{
	console_placeholder(console, "PORT", complete_port);
	console_placeholder(console, "DEV", complete_dev);
	console_placeholder(console, "VRF", complete_vrf);
	console_placeholder(console, "ACTION", complete_action);
}

void
net_commands_register(struct console *console)
{
	words_register(console);
	net_show_register(console);
	cmd_link_register(console);
	cmd_addr_register(console);
	cmd_neigh_register(console);
	cmd_route_register(console);
	cmd_route_show_register(console);
	cmd_sid_register(console);
}
