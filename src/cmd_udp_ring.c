/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmd_udp_ring.h"

#include <errno.h>

#include "udp_ring.h"

static void
on_hung_up(void *arg)
{
	udp_ring_detach(arg);
}

/* For client/udp_client.c: the answer carries memory and pipe; the client is attached for as
 * long as its connection stands. */
static int
cmd_udp_attach(struct call *call)
{
	const char *name = call_value(call, "udp attach", "a ring's name");
	struct ring_client *client;
	int rc;

	if (name == NULL)
		return -EINVAL;
	rc = call_end(call);
	if (rc != 0)
		return rc;
	client = udp_ring_attach(name, call->fds, call->err);
	if (client == NULL)
		return -ENOENT;
	call->fd_n = 2;
	call->hung_up = on_hung_up;
	call->hung_up_arg = client;
	out_text(call->out, "attached to ring %s\n", name);
	return 0;
}

void
udp_ring_commands_register(struct console *console, struct rcu *rcu, unsigned interfaces)
{
	static const struct command commands[] = {
		{"udp attach NAME", "make this connection the client of a ring", cmd_udp_attach,
		 "For the client library: the answer carries file descriptors (docs/udp-ring.md)."},
	};

	udp_ring_init(rcu, interfaces);
	console_register(console, commands, RTE_DIM(commands));
}
