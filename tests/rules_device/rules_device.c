/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flow rules for devices whose drivers take none: rte_flow as the program calls it, put
 * before DPDK's with LD_PRELOAD. Packets still come from, and go to, whatever driver the port has,
 * and at its speed. So rules in hardware can be counted, moved and timed where there is no such
 * hardware. No rule is ever applied to a packet: traffic must match none of them.
 *
 * As in real devices, a rule must have left when its port is stopped: abort() otherwise, and
 * for a handle that is not one.
 *
 * RULES_DEVICE names a file with the number of rules each port has room for; it is read for every
 * rule that is offered. Without it there is no limit. `count` is taken: every rule is said to
 * have matched RULE_HITS packets of RULE_BYTES bytes.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_ethdev.h>
#include <rte_flow.h>

#define RULE_HITS  5
#define RULE_BYTES 320

struct rte_flow {
	uint16_t port;
};

static unsigned in_device[RTE_MAX_ETHPORTS];

static int
refuse(struct rte_flow_error *error, int code, const char *message)
{
	if (error != NULL)
		*error = (struct rte_flow_error){.type = RTE_FLOW_ERROR_TYPE_HANDLE,
						 .message = message};
	rte_errno = code;
	return -code;
}

static unsigned
room(void)
{
	const char *path = getenv("RULES_DEVICE");
	unsigned rules = UINT32_MAX;
	FILE *file = path != NULL ? fopen(path, "r") : NULL;

	if (file == NULL)
		return rules;
	if (fscanf(file, "%u", &rules) != 1)
		rules = UINT32_MAX;
	fclose(file);
	return rules;
}

static void
must(bool good, const char *what, uint16_t port)
{
	if (good)
		return;
	fprintf(stderr, "rules_device: port %u: %s\n", port, what);
	abort();
}

int
rte_flow_validate(uint16_t port, const struct rte_flow_attr *attr,
		  const struct rte_flow_item pattern[], const struct rte_flow_action actions[],
		  struct rte_flow_error *error)
{
	(void)attr;
	(void)pattern;
	(void)actions;
	if (in_device[port] >= room())
		return refuse(error, ENOSPC, "the table is full");
	return 0;
}

struct rte_flow *
rte_flow_create(uint16_t port, const struct rte_flow_attr *attr,
		const struct rte_flow_item pattern[], const struct rte_flow_action actions[],
		struct rte_flow_error *error)
{
	struct rte_flow *flow;

	if (rte_flow_validate(port, attr, pattern, actions, error) != 0)
		return NULL;
	flow = malloc(sizeof(*flow));
	if (flow == NULL) {
		refuse(error, ENOMEM, "no memory");
		return NULL;
	}
	flow->port = port;
	in_device[port]++;
	return flow;
}

int
rte_flow_destroy(uint16_t port, struct rte_flow *flow, struct rte_flow_error *error)
{
	(void)error;
	must(flow != NULL && flow->port == port && in_device[port] > 0, "not a rule of this port",
	     port);
	in_device[port]--;
	free(flow);
	return 0;
}

int
rte_flow_query(uint16_t port, struct rte_flow *flow, const struct rte_flow_action *action,
	       void *data, struct rte_flow_error *error)
{
	struct rte_flow_query_count *count = data;

	must(flow->port == port, "not a rule of this port", port);
	if (action->type != RTE_FLOW_ACTION_TYPE_COUNT)
		return refuse(error, ENOTSUP, "counts only");
	count->hits_set = 1;
	count->bytes_set = 1;
	count->hits = RULE_HITS;
	count->bytes = RULE_BYTES;
	return 0;
}

int
rte_eth_dev_stop(uint16_t port)
{
	int (*stop)(uint16_t) = (int (*)(uint16_t))(uintptr_t)dlsym(RTLD_NEXT, "rte_eth_dev_stop");

	must(in_device[port] == 0, "stopped with rules in it", port);
	return stop(port);
}
