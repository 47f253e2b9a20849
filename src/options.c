/* SPDX-License-Identifier: BSD-3-Clause */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_config.h>
#include <rte_version.h>

#ifndef NOREF_VERSION
#define NOREF_VERSION "(version not set)"
#endif

enum option_id {
	OPT_INTERACTIVE = 'i',
	OPT_HELP = 'h',
	OPT_VERSION = 'v',
	OPT_CMDLINE_FILE = 256,
	OPT_CTL,
	OPT_EXIT_ON_IDLE,
	OPT_STATS_PERIOD,
	OPT_NO_START,
	OPT_RXQ,
	OPT_TXQ,
	OPT_RXD,
	OPT_TXD,
	OPT_BURST,
	OPT_MBUF_SIZE,
	OPT_TOTAL_MBUFS,
	OPT_PER_PORT_POOL,
	OPT_MAX_PKT_LEN,
	OPT_CONFIG,
	OPT_RX_CKSUM,
};

static const struct option long_options[] = {
	{"interactive", no_argument, NULL, OPT_INTERACTIVE},
	{"cmdline-file", required_argument, NULL, OPT_CMDLINE_FILE},
	{"ctl", required_argument, NULL, OPT_CTL},
	{"exit-on-idle", optional_argument, NULL, OPT_EXIT_ON_IDLE},
	{"stats-period", required_argument, NULL, OPT_STATS_PERIOD},
	{"no-start", no_argument, NULL, OPT_NO_START},
	{"rxq", required_argument, NULL, OPT_RXQ},
	{"txq", required_argument, NULL, OPT_TXQ},
	{"rxd", required_argument, NULL, OPT_RXD},
	{"txd", required_argument, NULL, OPT_TXD},
	{"burst", required_argument, NULL, OPT_BURST},
	{"mbuf-size", required_argument, NULL, OPT_MBUF_SIZE},
	{"total-num-mbufs", required_argument, NULL, OPT_TOTAL_MBUFS},
	{"per-port-pool", no_argument, NULL, OPT_PER_PORT_POOL},
	{"max-pkt-len", required_argument, NULL, OPT_MAX_PKT_LEN},
	{"config", required_argument, NULL, OPT_CONFIG},
	{"enable-rx-cksum", no_argument, NULL, OPT_RX_CKSUM},
	{"help", no_argument, NULL, OPT_HELP},
	{"version", no_argument, NULL, OPT_VERSION},
	{NULL, 0, NULL, 0},
};

const char *
options_help(void)
{
	return "usage: noref [EAL options] -- [options]\n"
	       "\n"
	       "  -i, --interactive       console on the terminal\n"
	       "  --cmdline-file=FILE     run console commands from FILE before traffic starts\n"
	       "  --ctl=PATH              control socket (default /run/noref/<file-prefix>.sock),\n"
	       "                          or none\n"
	       "  --exit-on-idle[=MS]     leave once no port has delivered a packet for MS\n"
	       "                          milliseconds (default 500)\n"
	       "  --stats-period=SEC      print the port table every SEC seconds\n"
	       "  --no-start              wait for `start` instead of forwarding at once\n"
	       "\n"
	       "  --config=(PORT,QUEUE,LCORE)[,...]\n"
	       "                          which lcore polls which receive queue (default: round-robin)\n"
	       "  --rxq=N, --txq=N        queues per port (default: one per worker, as far as the\n"
	       "                          device has them)\n"
	       "  --rxd=N, --txd=N        descriptors per queue (default: 1024, fewer when memory is\n"
	       "                          short)\n"
	       "  --burst=N               packets per burst, 1 to 512 (default 64)\n"
	       "  --mbuf-size=N           bytes per buffer, 128 of headroom included (default 2176)\n"
	       "  --total-num-mbufs=N     buffers in each pool (default: what the queues need)\n"
	       "  --per-port-pool         a pool of buffers for each port (default: for each NUMA\n"
	       "                          socket)\n"
	       "  --max-pkt-len=N         largest frame, FCS included (default 1518: MTU 1500)\n"
	       "  --enable-rx-cksum       UDP checksums are verified by the driver, where that can be\n"
	       "                          believed (net_tap: of all packets)\n"
	       "\n"
	       "  -h, --help              this text (noref --help: without `--`, the EAL options)\n"
	       "  -v, --version\n";
}

/** "--rxq: '0' is not a number from 1 to 1024" */
static int
number_option(const char *name, uint64_t min, uint64_t max, uint64_t *value, struct err *err)
{
	if (number_parse(optarg, min, max, value) < 0)
		return err_set(err, EINVAL, "--%s: '%s' is not a number from %llu to %llu", name,
			       optarg, (unsigned long long)min, (unsigned long long)max);
	return 0;
}

/** A decimal number of at most max, as far as the text is one; moves *text behind it. */
static int
map_number(const char **text, unsigned long max, unsigned long *value)
{
	char *end;

	if (**text < '0' || **text > '9')
		return -EINVAL;
	errno = 0;
	*value = strtoul(*text, &end, 10);
	if (errno != 0 || *value > max)
		return -EINVAL;
	*text = end;
	return 0;
}

/** One "(port,queue,lcore)"; moves *text behind it. */
static int
map_entry(const char **text, struct queue_map *entry)
{
	const unsigned long max[3] = {RTE_MAX_ETHPORTS - 1, RTE_MAX_QUEUES_PER_PORT - 1,
				      RTE_MAX_LCORE - 1};
	static const char before[3] = {'(', ',', ','};
	unsigned long value[3];
	unsigned i;

	for (i = 0; i < 3; i++) {
		if (*(*text)++ != before[i] || map_number(text, max[i], &value[i]) < 0)
			return -EINVAL;
	}
	if (*(*text)++ != ')')
		return -EINVAL;
	entry->port = (uint16_t)value[0];
	entry->queue = (uint16_t)value[1];
	entry->lcore = (unsigned)value[2];
	return 0;
}

static int
map_option(struct options *options, struct err *err)
{
	const char *text = optarg;
	struct queue_map entry, *map;
	unsigned i;

	for (;;) {
		if (map_entry(&text, &entry) < 0)
			return err_set(
				err, EINVAL,
				"--config: '%s' is not \"(port,queue,lcore),...\" with ports "
				"below %u, queues below %u and lcores below %u",
				optarg, RTE_MAX_ETHPORTS, RTE_MAX_QUEUES_PER_PORT, RTE_MAX_LCORE);
		for (i = 0; i < options->map_count; i++)
			if (options->map[i].port == entry.port &&
			    options->map[i].queue == entry.queue)
				return err_set(err, EINVAL,
					       "--config: queue %u of port %u is given "
					       "twice",
					       entry.queue, entry.port);
		map = realloc(options->map, (options->map_count + 1) * sizeof(*map));
		if (map == NULL)
			return err_set(err, ENOMEM, "--config: out of memory");
		map[options->map_count++] = entry;
		options->map = map;
		if (*text == '\0')
			return 0;
		if (*text++ != ',')
			return err_set(err, EINVAL, "--config: a comma is expected before '%s'",
				       text - 1);
	}
}

static int
text_option(const char *name, const char **value, struct err *err)
{
	if (optarg[0] == '\0')
		return err_set(err, EINVAL, "--%s: the value is empty", name);
	*value = optarg;
	return 0;
}

static const char *
option_name(int id)
{
	const struct option *o;

	for (o = long_options; o->name != NULL; o++)
		if (o->val == id)
			return o->name;
	return "";
}

/** What getopt_long meant by '?' or ':'. word is what it was looking at. */
static int
bad_option(int answer, const char *word, struct err *err)
{
	const char *name = option_name(optopt);

	if (answer == ':' && name[0] != '\0')
		return err_set(err, EINVAL, "--%s: a value is missing", name);
	if (name[0] != '\0' && strncmp(word, "--", 2) == 0)
		return err_set(err, EINVAL, "--%s takes no value", name);
	if (optopt != 0 && optopt < 256 && strncmp(word, "--", 2) != 0)
		return err_set(err, EINVAL, "unknown option '-%c'", optopt);
	return err_set(err, EINVAL, "unknown or ambiguous option '%s'", word);
}

static int
take_option(struct options *o, int id, struct err *err)
{
	const char *name = option_name(id);
	uint64_t value = 0;
	int ret;

	switch (id) {
	case OPT_INTERACTIVE:
		o->interactive = true;
		return 0;
	case OPT_NO_START:
		o->no_start = true;
		return 0;
	case OPT_CMDLINE_FILE:
		return text_option(name, &o->cmdline_file, err);
	case OPT_CTL:
		return text_option(name, &o->ctl, err);
	case OPT_CONFIG:
		return map_option(o, err);
	case OPT_EXIT_ON_IDLE:
		value = EXIT_ON_IDLE_DEFAULT_MS;
		ret = optarg == NULL ? 0 : number_option(name, 1, 86400000, &value, err);
		o->exit_on_idle_ms = (unsigned)value;
		return ret;
	case OPT_STATS_PERIOD:
		ret = number_option(name, 1, 86400, &value, err);
		o->stats_period = (unsigned)value;
		return ret;
	case OPT_RXQ:
		ret = number_option(name, 1, RTE_MAX_QUEUES_PER_PORT, &value, err);
		o->rxq = (uint16_t)value;
		return ret;
	case OPT_TXQ:
		ret = number_option(name, 1, RTE_MAX_QUEUES_PER_PORT, &value, err);
		o->txq = (uint16_t)value;
		return ret;
	case OPT_RXD:
		ret = number_option(name, 1, 32768, &value, err);
		o->rxd = (uint16_t)value;
		return ret;
	case OPT_TXD:
		ret = number_option(name, 1, 32768, &value, err);
		o->txd = (uint16_t)value;
		return ret;
	case OPT_BURST:
		ret = number_option(name, 1, BURST_MAX, &value, err);
		o->burst = (uint16_t)value;
		return ret;
	case OPT_MBUF_SIZE:
		ret = number_option(name, MBUF_SIZE_MIN, UINT16_MAX, &value, err);
		o->mbuf_size = (uint16_t)value;
		return ret;
	case OPT_TOTAL_MBUFS:
		ret = number_option(name, 64, 1 << 28, &value, err);
		o->total_mbufs = (uint32_t)value;
		return ret;
	case OPT_PER_PORT_POOL:
		o->per_port_pool = true;
		return 0;
	case OPT_RX_CKSUM:
		o->rx_cksum = true;
		return 0;
	case OPT_MAX_PKT_LEN:
		/* An IPv4 MTU is at least 68 (RFC 791). */
		ret = number_option(name, 68 + MAX_PKT_LEN_OVERHEAD,
				    UINT16_MAX + MAX_PKT_LEN_OVERHEAD, &value, err);
		o->max_pkt_len = (uint32_t)value;
		return ret;
	default:
		return err_set(err, EINVAL, "option '%c' is not understood", id);
	}
}

int
options_parse(struct options *options, int argc, char **argv, struct err *err)
{
	const char *word;
	int id, ret = 0;

	*options = (struct options){.burst = BURST_DEFAULT};
	/* 0, not 1: EAL has been through getopt before, and its state must go. */
	optind = 0;
	opterr = 0;
	while (ret == 0) {
		word = argv[optind == 0 ? 1 : optind];
		id = getopt_long(argc, argv, "+:ihv", long_options, NULL);
		if (id == -1)
			break;
		switch (id) {
		case OPT_HELP:
			fputs(options_help(), stdout);
			ret = 1;
			break;
		case OPT_VERSION:
			printf("noref %s, %s\n", NOREF_VERSION, rte_version());
			ret = 1;
			break;
		case '?':
		case ':':
			ret = bad_option(id, word, err);
			break;
		default:
			ret = take_option(options, id, err);
		}
	}
	if (ret == 0 && optind < argc)
		ret = err_set(err, EINVAL, "unexpected '%s' (options start with --)", argv[optind]);
	if (ret != 0)
		options_free(options);
	return ret;
}

void
options_free(struct options *options)
{
	free(options->map);
	options->map = NULL;
	options->map_count = 0;
}
