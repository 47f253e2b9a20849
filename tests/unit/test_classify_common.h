/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_CLASSIFY_COMMON_H
#define TEST_CLASSIFY_COMMON_H

/** @file What the tests of the classifier have in common. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "test_classify_oracle.h"
#include "test_classify_packets.h"

/* --- fixture --------------------------------------------------------------------- */

struct fixture {
	struct rcu *rcu;
	struct classify *classify;
	struct ruleset *set;
	struct oracle oracle;
	uint32_t next_id; /* of the rules in the oracle */
};

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct err err = {""};

	f->rcu = rcu_create(2, &err);
	f->classify = classify_create(f->rcu, 2, &err);
	f->set = ruleset_create(f->classify, &err);
	assert_non_null(f->set);
	rcu_online(f->rcu, 0);
	*state = f;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	ruleset_destroy(f->set);
	rcu_offline(f->rcu, 0);
	classify_destroy(f->classify);
	assert_int_equal(rcu_pending(f->rcu), 0);
	rcu_destroy(f->rcu);
	free(f);
	return 0;
}

/* UDP from 10.0.0.1:1000 to 10.0.0.`host`:`port`, behind so many tags. */
static void
udp4(struct frame *f, unsigned tags, unsigned host, unsigned port)
{
	static const uint8_t macs[12] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2};

	f->len = 0;
	put(f, macs, sizeof(macs));
	for (unsigned t = 0; t < tags; t++) {
		put16(f, 0x8100);
		put16(f, 100 + t);
	}
	put16(f, 0x0800);
	put16(f, 0x4500);
	put16(f, 28);
	put16(f, 0);
	put16(f, 0);
	put16(f, 64 << 8 | 17);
	put16(f, 0);
	put16(f, 0x0a00);
	put16(f, 1);
	put16(f, 0x0a00);
	put16(f, host);
	put16(f, 1000);
	put16(f, port);
	put16(f, 8);
	put16(f, 0);
}

/* A rule for UDP/IPv4 to a port. */
static struct flow_rule
to_port(uint32_t id, uint32_t priority, uint16_t port, enum flow_fate fate)
{
	struct flow_rule rule = {
		.id = id,
		.priority = priority,
		.present = FLOW_HAS_ETH | FLOW_HAS_IP4 | FLOW_HAS_UDP,
		.present_mask = FLOW_HAS_ETH | FLOW_HAS_IP4 | FLOW_HAS_UDP,
		.fate = fate,
	};

	rule.value.l4.udp.dst_port = rte_cpu_to_be_16(port);
	rule.mask.l4.udp.dst_port = 0xffff;
	return rule;
}

#endif
