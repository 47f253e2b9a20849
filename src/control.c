/* SPDX-License-Identifier: BSD-3-Clause */
#include "control.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "classify.h"
#include "flow_set.h"
#include "net.h"
#include "worker.h"
#include "worker_private.h"

/* Neighbour timers; also how long retired memory may wait when nothing happens. */
#define TICK_MS 100

struct loop *control_loop;

static bool quit;
static int signal_fd = -1;
static const struct options *options;
static uint64_t idle_received; /* packets seen when they last grew */
static uint64_t idle_since;    /* ms */

void
control_quit(void)
{
	quit = true;
}

static void
on_signal(void *arg, uint32_t events)
{
	struct signalfd_siginfo info;

	(void)arg;
	(void)events;
	if (read(signal_fd, &info, sizeof(info)) == sizeof(info))
		control_quit();
}

static void
on_wake(void *arg)
{
	(void)arg;
	if (handoff_poll())
		loop_wake(control_loop);
}

/* Packets in the rings name next hops by index. Before an index can come to
 * mean something else, they are taken. */
static void
take_all(void)
{
	while (handoff_poll())
		;
}

static void
on_tick(void *arg)
{
	(void)arg;
	on_wake(NULL);
	net_tick(loop_now_ms());
	flows_poll();
}

static void
on_idle_check(void *arg)
{
	uint64_t received = counters_received(), now = loop_now_ms();

	(void)arg;
	if (received != idle_received || !workers_running()) {
		idle_received = received;
		idle_since = now;
	} else if (now - idle_since >= options->exit_on_idle_ms) {
		control_quit();
	}
}

static void
on_stats(void *arg)
{
	(void)arg;
	port_stats_print();
	fflush(stdout);
}

int
control_init(const struct options *opts, struct console *console, struct err *err)
{
	sigset_t signals;

	(void)console;
	options = opts;
	idle_since = loop_now_ms();
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signal_fd < 0 ||
	    loop_watch(control_loop, signal_fd, EPOLLIN, on_signal, NULL) == NULL ||
	    loop_every(control_loop, TICK_MS, on_tick, NULL) == NULL)
		return err_set(err, errno, "cannot wait for events: %s", strerror(errno));
	loop_on_wake(control_loop, on_wake, NULL);
	rcu->before_free = take_all;
	if (options->exit_on_idle_ms != 0 &&
	    loop_every(control_loop, RTE_MIN(options->exit_on_idle_ms, 50u), on_idle_check, NULL) ==
		    NULL)
		return err_set(err, ENOMEM, "no memory for a timer");
	if (options->stats_period != 0 &&
	    loop_every(control_loop, options->stats_period * 1000, on_stats, NULL) == NULL)
		return err_set(err, ENOMEM, "no memory for a timer");
	return 0;
}

void
control_run(void)
{
	idle_since = loop_now_ms();
	while (!quit) {
		loop_once(control_loop, -1);
		rcu_poll(rcu);
		classifier_poll();
	}
}

void
control_fini(void)
{
	if (signal_fd >= 0)
		close(signal_fd);
	signal_fd = -1;
}
