/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Start-up and end of the program, in the order things depend on each other.
 */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_pdump.h>

#include "account.h"
#include "classify.h"
#include "cmd_udp_ring.h"
#include "console.h"
#include "control.h"
#include "ctl.h"
#include "flow_commands.h"
#include "flow_set.h"
#include "net.h"
#include "options.h"
#include "ping.h"
#include "port.h"
#include "terminal.h"
#include "trace.h"
#include "udp_sockets.h"
#include "verdict.h"
#include "version.h"
#include "worker.h"

enum {
	EXIT_CONFIGURATION = 1,
	EXIT_USAGE = 2
};

/* Packets that may wait for neighbours. */
#define HELD_MAX 1024

static void
write_stdout(void *arg, const char *data, size_t size)
{
	(void)arg;
	fwrite(data, 1, size, stdout);
	fflush(stdout);
}

static void
on_terminal_eof(void *arg)
{
	(void)arg;
	control_quit();
}

/* EAL keeps its --file-prefix to itself when nothing is shared, so it is read
 * from the arguments; EAL accepts any unambiguous beginning of the word. */
static const char *
file_prefix(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		size_t n = strcspn(argv[i], "=");

		if (n < strlen("--fi") || strncmp(argv[i], "--file-prefix", n) != 0)
			continue;
		if (argv[i][n] == '=')
			return argv[i] + n + 1;
		return i + 1 < argc ? argv[i + 1] : "rte";
	}
	return "rte";
}

/* A driver that cannot make its device only says so, and the next device gets
 * its number: then a script would configure the wrong port. */
static int
check_devices(int argc, char **argv, struct err *err)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		const char *device;
		char name[RTE_ETH_NAME_MAX_LEN];
		uint16_t port;

		if (strncmp(argv[i], "--vdev", strlen("--vdev")) != 0)
			continue;
		device = argv[i][strlen("--vdev")] == '=' ? argv[i] + strlen("--vdev=")
			 : i + 1 < argc			  ? argv[i + 1]
							  : "";
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(device, ","), device);
		if (strncmp(name, "net_", 4) == 0 && rte_eth_dev_get_port_by_name(name, &port) != 0)
			return err_set(err, ENODEV,
				       "device %s could not be made: its driver says why above",
				       name);
	}
	return 0;
}

static int
open_control_socket(const struct options *options, const char *prefix, struct console *console,
		    struct ctl **ctl, struct err *err)
{
	char path[256];

	if (options->ctl != NULL && strcmp(options->ctl, "none") == 0)
		return 0;
	if (options->ctl != NULL)
		snprintf(path, sizeof(path), "%s", options->ctl);
	else
		snprintf(path, sizeof(path), "/run/noref/%s.sock", prefix);
	*ctl = ctl_open(control_loop, console, path, err);
	return *ctl != NULL ? 0 : -EIO;
}

static int
start_ports(struct err *err)
{
	struct port *port;

	PORT_FOREACH(port) {
		int rc = port_start(port, err);

		if (rc != 0)
			return rc;
		workers_adopt_port(port);
	}
	return 0;
}

static struct console *
make_console(void)
{
	struct console *console = console_create(NULL);

	if (console == NULL)
		return NULL;
	show_commands_register(console);
	account_commands_register(console);
	port_commands_register(console);
	pool_commands_register(console);
	net_commands_register(console);
	xdp_commands_register(console);
	flow_commands_register(console);
	trace_commands_register(console);
	ping_commands_register(console);
	udp_commands_register(console);
	udp_ring_commands_register(console, rcu, IFACE_MAX);
	return console;
}

/* Everything between a running EAL and the last table printed. */
static int
run(const struct options *options, const char *prefix, struct err *err)
{
	struct port_plan plan = {.options = options};
	unsigned lcores[RTE_MAX_LCORE];
	struct console *console = NULL;
	struct terminal *terminal = NULL;
	struct ctl *ctl = NULL;
	int rc;

	control_loop = loop_create();
	rcu = rcu_create(RTE_MAX_LCORE, err);
	if (control_loop == NULL || rcu == NULL)
		return err_set(err, ENOMEM, "no memory");
	rc = workers_create(options, err);
	if (rc != 0)
		goto destroy_workers;
	plan.workers = workers_count();
	for (unsigned w = 0; w < plan.workers; w++)
		lcores[w] = worker_lcore(w);
	plan.lcores = lcores;
	plan.ring_slots = workers_ring_slots();
	plan.held = HELD_MAX + workers_fragments_max();
	rc = ports_open(&plan, err);
	if (rc != 0)
		goto destroy_workers;
	rc = classifier_init(err);
	if (rc != 0)
		goto close_ports;
	rc = net_init(err);
	if (rc != 0)
		goto destroy_classifier;
	rc = udp_sockets_init(err);
	if (rc != 0)
		goto fini_net;
	console = make_console();
	rc = console == NULL ? err_set(err, ENOMEM, "no memory for the console")
			     : control_init(options, console, err);
	if (rc == 0)
		rc = start_ports(err);
	if (rc == 0 && options->cmdline_file != NULL)
		rc = console_run_file(console, options->cmdline_file, write_stdout, NULL, err);
	if (rc == 0)
		rc = open_control_socket(options, prefix, console, &ctl, err);
	if (rc == 0 && options->interactive) {
		terminal = terminal_open(control_loop, console, on_terminal_eof, NULL, err);
		rc = terminal != NULL ? 0 : -EIO;
	}
	if (rc == 0)
		rc = workers_launch(err);
	if (rc != 0)
		goto stop;

	if (!options->no_start)
		workers_start();
	control_run();
	workers_stop();
	workers_drain();

stop:
	terminal_close(terminal);
	ctl_close(ctl);
	rcu->before_free = NULL;
	workers_join();
	trace_fini();
	verdicts_fini();
	flows_fini();
	classifier_fini();
	udp_sockets_fini();
fini_net:
	net_fini();
	if (rc == 0) {
		port_stats_print();
		drops_print(console);
		fflush(stdout);
	}
	console_destroy(console);
destroy_classifier:
	classifier_fini();
close_ports:
	ports_close();
destroy_workers:
	workers_destroy();
	control_fini();
	rcu_destroy(rcu);
	loop_destroy(control_loop);
	return rc;
}

static void
usage(const char *program)
{
	printf("\nUsage: %s [EAL options] -- [options]\n\n%s", program, options_help());
}

/* Let dpdk-dumpcap look at ports. It is a help, not a need: where that cannot be had (no memory, no
 * second process with --in-memory) the router says so when asked (--log-level=user1:debug), and
 * DPDK says nothing. */
static void
serve_dumpcap(void)
{
	int level = rte_log_get_level(rte_log_register("lib.pdump"));

	rte_log_set_level_pattern("lib.pdump", RTE_LOG_CRIT);
	if (rte_pdump_init() < 0)
		RTE_LOG(DEBUG, USER1, "dpdk-dumpcap will find no packets here: %s\n",
			rte_strerror(rte_errno));
	rte_log_set_level_pattern("lib.pdump", (uint32_t)level);
}

int
main(int argc, char **argv)
{
	struct options options;
	struct err err = {.text = ""};
	const char *prefix;
	sigset_t signals;
	int used, rc;

	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		puts("noref " NOREF_VERSION);
		return 0;
	}
	/* Blocked before EAL makes threads: only the control thread, through its
	 * signalfd, hears them. */
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);

	prefix = file_prefix(argc, argv);
	rte_set_application_usage_hook(usage);
	used = rte_eal_init(argc, argv);
	if (used < 0) {
		fprintf(stderr,
			"noref: EAL cannot start%s%s; its own messages above say why. Usual "
			"reasons: no huge pages (reserve some, or --no-huge), another program with "
			"the same --file-prefix\n",
			rte_errno != 0 ? ": " : "", rte_errno != 0 ? rte_strerror(rte_errno) : "");
		return EXIT_CONFIGURATION;
	}
	serve_dumpcap();
	rc = options_parse(&options, argc - used, argv + used, &err);
	if (rc != 0) {
		if (rc < 0)
			fprintf(stderr, "noref: %s (noref -- --help lists the options)\n",
				err.text);
		rte_eal_cleanup();
		return rc < 0 ? EXIT_USAGE : 0;
	}
	rc = check_devices(used, argv, &err);
	if (rc == 0)
		rc = run(&options, prefix, &err);
	if (rc != 0)
		fprintf(stderr, "%s\n", err.text);
	options_free(&options);
	rte_eal_cleanup();
	return rc != 0 ? EXIT_CONFIGURATION : 0;
}
