/* SPDX-License-Identifier: BSD-3-Clause */
/* show port ..., clear port stats: what testpmd shows, as tables or JSON. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_mempool.h>

#include "console.h"
#include "out.h"
#include "port_internal.h"

/** The ports a command is about: one, or all of them. */
struct selection {
	struct port *one; /**< NULL: all */
};

/** Takes "{PORT|all}" and the end of the line; nothing means all. */
static int
select_ports(struct call *call, struct selection *selection)
{
	const char *word = call_next(call);

	selection->one = NULL;
	if (word != NULL && strcmp(word, "all") != 0) {
		selection->one = port_find(word, call->err);
		if (selection->one == NULL)
			return -ENODEV;
	}
	return call_end(call);
}

static bool
selected(const struct selection *selection, const struct port *port)
{
	return selection->one == NULL || selection->one == port;
}

#define SELECTED_FOREACH(p, selection)                                                             \
	PORT_FOREACH(p)                                                                            \
		if (selected((selection), (p)))

static void
list_begin(struct out *out)
{
	if (out_is_json(out))
		out_json_array(out, NULL);
}

static void
list_end(struct out *out)
{
	if (out_is_json(out))
		out_json_end(out);
}

static void
json_port(struct out *out, const struct port *p)
{
	out_json_object(out, NULL);
	out_json_uint(out, "port", p->id);
	out_json_string(out, "name", p->name);
}

/* --- show port info ----------------------------------------------------------------- */

static void
offload_names(uint64_t offloads, const char *(*name)(uint64_t), char *text, size_t size)
{
	size_t used = 0;
	unsigned bit;

	snprintf(text, size, "none");
	for (bit = 0; bit < 64 && used < size; bit++)
		if ((offloads & RTE_BIT64(bit)) != 0)
			used += (size_t)snprintf(text + used, size - used, "%s%s",
						 used > 0 ? " " : "", name(RTE_BIT64(bit)));
}

static const char *
link_text(const struct port *p, const struct rte_eth_link *link, char *text, size_t size)
{
	if (!p->started)
		return "down (port stopped)";
	if (!p->admin_up)
		return "administratively down";
	if (!p->link_up)
		return "down";
	if (link->link_speed == RTE_ETH_SPEED_NUM_NONE ||
	    link->link_speed == RTE_ETH_SPEED_NUM_UNKNOWN)
		return "up";
	snprintf(text, size, "up, %u Mbps %s duplex", link->link_speed,
		 link->link_duplex == RTE_ETH_LINK_FULL_DUPLEX ? "full" : "half");
	return text;
}

static void
info_json(struct out *out, const struct port *p, const struct rte_eth_link *link)
{
	char mac[18], text[256];

	json_port(out, p);
	out_json_string(out, "driver", p->driver);
	out_json_string(out, "mac", mac_format(p->mac_bytes, mac));
	out_json_bool(out, "mac_in_software", p->mac_in_software);
	out_json_int(out, "socket", p->socket);
	out_json_bool(out, "started", p->started);
	out_json_bool(out, "admin_up", p->admin_up);
	out_json_bool(out, "link_up", p->link_up);
	out_json_uint(out, "speed_mbps",
		      link->link_speed == RTE_ETH_SPEED_NUM_UNKNOWN ? 0 : link->link_speed);
	out_json_uint(out, "mtu", p->mtu);
	out_json_bool(out, "mtu_in_software", p->mtu_in_software);
	out_json_bool(out, "promiscuous", p->promisc);
	out_json_bool(out, "any_mac", p->any_mac);
	out_json_uint(out, "rx_queues", p->nb_rxq);
	out_json_uint(out, "tx_queues", p->nb_txq);
	out_json_uint(out, "rx_descriptors", p->rxd);
	out_json_uint(out, "tx_descriptors", p->txd);
	out_json_string(out, "rss", port_rss_text(p, text, sizeof(text)));
	offload_names(p->rx_offloads, rte_eth_dev_rx_offload_name, text, sizeof(text));
	out_json_string(out, "rx_offloads", text);
	offload_names(p->tx_offloads, rte_eth_dev_tx_offload_name, text, sizeof(text));
	out_json_string(out, "tx_offloads", text);
	out_json_bool(out, "multi_segs", p->tx_multi_segs);
	out_json_bool(out, "tx_cleanup", p->tx_cleanup || p->tx_empty_burst);
	out_json_bool(out, "classifier", p->rules != NULL);
	out_json_string(out, "pool", p->pool->mempool->name);
	out_json_end(out);
}

static void
info_text(struct out *out, const struct port *p, const struct rte_eth_link *link)
{
	char mac[18], text[256];

	out_text(out, "port %u: %s\n", p->id, p->name);
	out_text(out, "  %-22s %s, on NUMA socket %d, buffers from %s\n", "driver", p->driver,
		 p->socket, p->pool->mempool->name);
	out_text(out, "  %-22s %s\n", "link", link_text(p, link, text, sizeof(text)));
	out_text(out, "  %-22s %s%s\n", "MAC address", mac_format(p->mac_bytes, mac),
		 p->mac_in_software ? ", filtered in software" : "");
	out_text(out, "  %-22s %s\n", "frames to other MACs",
		 p->any_mac   ? "taken (any-mac)"
		 : p->promisc ? "received (promiscuous)"
			      : "no");
	out_text(out, "  %-22s %u%s\n", "MTU", p->mtu, p->mtu_in_software ? ", in software" : "");
	out_text(out, "  %-22s %u rx of %u descriptors, %u tx of %u\n", "queues", p->nb_rxq, p->rxd,
		 p->nb_txq, p->txd);
	out_text(out, "  %-22s %s\n", "RSS", port_rss_text(p, text, sizeof(text)));
	offload_names(p->rx_offloads, rte_eth_dev_rx_offload_name, text, sizeof(text));
	out_text(out, "  %-22s %s\n", "receive offloads", text);
	offload_names(p->tx_offloads, rte_eth_dev_tx_offload_name, text, sizeof(text));
	out_text(out, "  %-22s %s\n", "transmit offloads", text);
	out_text(out, "  %-22s %s\n", "several segments",
		 p->tx_multi_segs ? "sent as they are" : "no");
	out_text(out, "  %-22s %s\n", "flow rules in software",
		 p->rules != NULL ? "asked for each packet"
				  : "none, the classifier is not entered");
	out_text(out, "  %-22s %s\n", "reclaimed when idle",
		 p->tx_cleanup || p->tx_empty_burst ? "yes" : "no, the driver cannot");
}

static int
show_info(struct call *call)
{
	struct selection selection;
	struct rte_eth_link link;
	struct port *p;
	int ret = select_ports(call, &selection);

	if (ret < 0)
		return ret;
	list_begin(call->out);
	SELECTED_FOREACH(p, &selection) {
		memset(&link, 0, sizeof(link));
		if (rte_eth_link_get_nowait(p->id, &link) < 0)
			link.link_speed = RTE_ETH_SPEED_NUM_UNKNOWN;
		if (out_is_json(call->out))
			info_json(call->out, p, &link);
		else
			info_text(call->out, p, &link);
	}
	list_end(call->out);
	return 0;
}

/* --- show port stats ------------------------------------------------------------------ */

/* What is counted here is sum, what only the driver knows is device. */
struct counts {
	struct port_stats sum;
	struct rte_eth_stats device;
};

static void
count(const struct port *p, struct counts *c)
{
	memset(&c->sum, 0, sizeof(c->sum));
	port_counters(p->id, &c->sum);
	port_device_stats(p, &c->device);
}

static void
stats_json(struct out *out, const struct port *p, const struct counts *c)
{
	json_port(out, p);
	out_json_uint(out, "rx_packets", c->sum.rx_packets);
	out_json_uint(out, "rx_bytes", c->sum.rx_bytes);
	out_json_uint(out, "rx_missed", c->device.imissed);
	out_json_uint(out, "rx_nombuf", c->device.rx_nombuf);
	out_json_uint(out, "rx_errors", c->device.ierrors);
	out_json_uint(out, "tx_packets", c->sum.tx_packets);
	out_json_uint(out, "tx_bytes", c->sum.tx_bytes);
	out_json_uint(out, "tx_dropped", c->sum.tx_dropped);
	out_json_uint(out, "tx_errors", c->device.oerrors);
	out_json_end(out);
}

#define COLUMNS 10
#define CELL	24

/** A table in the making: cells are collected, then printed as wide as they need to be. */
struct table {
	char cells[RTE_MAX_ETHPORTS + 1][COLUMNS][CELL];
	unsigned rows;
};

static void
table_row(struct table *t, const struct port *p, const struct counts *c)
{
	const uint64_t values[COLUMNS - 2] = {
		c->sum.rx_packets, c->sum.rx_bytes, c->device.imissed, c->device.rx_nombuf,
		c->sum.tx_packets, c->sum.tx_bytes, c->sum.tx_dropped, c->device.oerrors,
	};
	char(*row)[CELL] = t->cells[t->rows++];
	unsigned i;

	snprintf(row[0], CELL, "%u", p->id);
	snprintf(row[1], CELL, "%.*s", CELL - 1, p->name);
	for (i = 0; i < RTE_DIM(values); i++)
		snprintf(row[i + 2], CELL, "%" PRIu64, values[i]);
}

static void
table_print(struct out *out, struct table *t)
{
	static const char *const heads[COLUMNS] = {
		"port",	     "name",	   "rx-packets", "rx-bytes",   "rx-missed",
		"rx-nombuf", "tx-packets", "tx-bytes",	 "tx-dropped", "tx-errors"};
	int width[COLUMNS];
	unsigned row, col;

	for (col = 0; col < COLUMNS; col++) {
		width[col] = (int)strlen(heads[col]);
		for (row = 0; row < t->rows; row++)
			width[col] = RTE_MAX(width[col], (int)strlen(t->cells[row][col]));
	}
	for (col = 0; col < COLUMNS; col++)
		out_text(out,
			 col == 1   ? "  %-*s"
			 : col == 0 ? "%*s"
				    : "  %*s",
			 width[col], heads[col]);
	out_text(out, "\n");
	for (row = 0; row < t->rows; row++) {
		for (col = 0; col < COLUMNS; col++)
			out_text(out,
				 col == 1   ? "  %-*s"
				 : col == 0 ? "%*s"
					    : "  %*s",
				 width[col], t->cells[row][col]);
		out_text(out, "\n");
	}
}

static void
stats_out(struct out *out, const struct selection *selection)
{
	struct table table = {.rows = 0};
	struct counts c;
	struct port *p;

	list_begin(out);
	SELECTED_FOREACH(p, selection) {
		count(p, &c);
		if (out_is_json(out))
			stats_json(out, p, &c);
		else
			table_row(&table, p, &c);
	}
	list_end(out);
	if (!out_is_json(out))
		table_print(out, &table);
}

static int
show_stats(struct call *call)
{
	struct selection selection;
	int ret = select_ports(call, &selection);

	if (ret < 0)
		return ret;
	stats_out(call->out, &selection);
	return 0;
}

void
port_stats_print(void)
{
	const struct selection all = {NULL};
	struct out *out = out_create(false);
	const char *text;
	size_t size;

	if (out == NULL)
		return;
	stats_out(out, &all);
	text = out_data(out, &size);
	fwrite(text, 1, size, stdout);
	fflush(stdout);
	out_destroy(out);
}

static int
clear_stats(struct call *call)
{
	struct selection selection;
	struct port *p;
	int ret = select_ports(call, &selection);

	if (ret < 0)
		return ret;
	SELECTED_FOREACH(p, &selection) {
		port_counters_clear(p->id);
		port_device_stats_clear(p);
	}
	return 0;
}

/* --- show port xstats ------------------------------------------------------------------- */

static void
xstats_print(struct out *out, const struct port *p, const struct rte_eth_xstat_name *names,
	     const struct rte_eth_xstat *values, unsigned n)
{
	bool json = out_is_json(out);
	unsigned i;

	if (json) {
		json_port(out, p);
		out_json_object(out, "xstats");
	} else {
		out_text(out, "port %u: %s\n", p->id, p->name);
	}
	for (i = 0; i < n; i++) {
		const char *name = values[i].id < n ? names[values[i].id].name : "?";

		if (json)
			out_json_uint(out, name, values[i].value);
		else
			out_text(out, "  %s: %" PRIu64 "\n", name, values[i].value);
	}
	if (json) {
		out_json_end(out);
		out_json_end(out);
	}
}

static int
xstats_out(struct call *call, const struct port *p)
{
	int n = rte_eth_xstats_get_names(p->id, NULL, 0);
	struct rte_eth_xstat_name *names;
	struct rte_eth_xstat *values;

	if (n < 0) {
		err_set(call->err, -n, "extended statistics: %s", port_strerror(n));
		return port_err(p, n, call->err);
	}
	names = calloc((size_t)n + 1, sizeof(*names));
	values = calloc((size_t)n + 1, sizeof(*values));
	if (names == NULL || values == NULL) {
		free(names);
		free(values);
		return err_set(call->err, ENOMEM, "extended statistics: out of memory");
	}
	if (rte_eth_xstats_get_names(p->id, names, (unsigned)n) != n ||
	    rte_eth_xstats_get(p->id, values, (unsigned)n) != n)
		n = 0;

	xstats_print(call->out, p, names, values, (unsigned)n);
	free(names);
	free(values);
	return 0;
}

static int
show_xstats(struct call *call)
{
	struct selection selection;
	struct port *p;
	int ret = select_ports(call, &selection);

	if (ret < 0)
		return ret;
	list_begin(call->out);
	SELECTED_FOREACH(p, &selection) {
		ret = xstats_out(call, p);
		if (ret < 0)
			return ret;
	}
	list_end(call->out);
	return 0;
}

/* --- the console ------------------------------------------------------------------------- */

static void
complete_port(void *ctx, void (*add)(void *arg, const char *word), void *arg)
{
	const struct port *p;
	char id[8];

	(void)ctx;
	PORT_FOREACH(p) {
		snprintf(id, sizeof(id), "%u", p->id);
		add(arg, id);
		add(arg, p->name);
	}
}

static const struct command commands[] = {
	{"show port info {PORT|all}", "what a port is and what was set up on it", show_info, NULL},
	{"show port stats {PORT|all}", "packets and bytes of a port", show_stats,
	 "rx-missed: lost by the device for want of a free descriptor\n"
	 "rx-nombuf: lost by the driver for want of a buffer\n"
	 "tx-dropped: not accepted by the driver, or the port was down\n"},
	{"show port xstats {PORT|all}", "all counters of a port's driver", show_xstats, NULL},
	{"clear port stats {PORT|all}", "count a port's packets from zero", clear_stats, NULL},
};

void
port_commands_register(struct console *console)
{
	console_register(console, commands, RTE_DIM(commands));
	console_placeholder(console, "PORT", complete_port);
}
