/* SPDX-License-Identifier: BSD-3-Clause */
/* The applications without a name of their own: sink and echo. */
#include "udp.h"

static struct udp_app sink = {.ops = &udp_sink}, echo = {.ops = &udp_echo};

static struct udp_app *
open_sink(const char *name, unsigned workers, struct err *err)
{
	(void)name;
	(void)workers;
	(void)err;
	return &sink;
}

static struct udp_app *
open_echo(const char *name, unsigned workers, struct err *err)
{
	(void)name;
	(void)workers;
	(void)err;
	return &echo;
}

static void
close_nothing(struct udp_app *app)
{
	(void)app;
}

/* What comes the fast way the worker counts itself; delivered is what every datagram is at first.
 */
static void
deliver_sink(struct udp_app *app, struct udp_worker *worker, struct udp_datagram *datagrams,
	     unsigned n)
{
	(void)app;
	(void)worker;
	(void)datagrams;
	(void)n;
}

/* RFC 862 */
static void
deliver_echo(struct udp_app *app, struct udp_worker *worker, struct udp_datagram *datagrams,
	     unsigned n)
{
	(void)app;
	(void)worker;
	for (unsigned i = 0; i < n; i++)
		datagrams[i].fate = UDP_REPLY;
}

const struct udp_app_ops udp_sink = {
	.word = "sink",
	.open = open_sink,
	.close = close_nothing,
	.deliver = deliver_sink,
};

const struct udp_app_ops udp_echo = {
	.word = "echo",
	.open = open_echo,
	.close = close_nothing,
	.deliver = deliver_echo,
};
