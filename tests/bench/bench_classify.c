/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The software classifier beside rte_acl, on the same rules and the same packets.
 *
 *     bench_classify [--quick] [--only ROW]
 *
 * Packets are 4,096 UDP/IPv4 frames in bursts of 64, of which no rule matches any unless the
 * row says so. Cycles a packet are TSC cycles of the processor time used; parsing is included
 * for noref, for rte_acl the copying of the five fields it is asked about. "changes/s": a rule
 * taken out and another put in, each made visible at once, count as two; rte_acl is built anew
 * for each change. Times are those of the processor, not of the clock on the wall.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_acl.h>
#include <rte_cycles.h>
#include <rte_eal.h>

#include "ruleset.h"

#define PACKETS 4096
#define BURST	64
#define FRAME	82

static double measure_seconds = 0.5;

/* --- packets --------------------------------------------------------------------- */

static uint8_t frames[PACKETS][128] __rte_cache_aligned;
static struct rte_mbuf mbufs[PACKETS];
static struct rte_mbuf *pkts[PACKETS];

static uint64_t random_state = 88172645463325252;

static uint32_t
rnd(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 20);
}

/* Destinations are in 10/8, sources in 192.0.2/24, ports 1024 and above. */
static void
make_packets(void)
{
	for (unsigned i = 0; i < PACKETS; i++) {
		uint8_t *f = frames[i];
		const uint8_t head[] = {2, 0, 0,  0, 0, 1, 2, 0,  0,  0, 0, 2,	 8, 0, 0x45,
					0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, (uint8_t)i};
		uint32_t dst = rte_cpu_to_be_32(10u << 24 | (rnd() & 0xffffff));
		uint16_t port = rte_cpu_to_be_16((uint16_t)(1024 + rnd() % 60000));

		memcpy(f, head, sizeof(head));
		memcpy(f + 30, &dst, 4);
		memcpy(f + 34, &port, 2);
		memcpy(f + 36, &port, 2);
		f[39] = 8;
		mbufs[i] = (struct rte_mbuf){
			.buf_addr = f, .data_len = FRAME, .pkt_len = FRAME, .nb_segs = 1};
		pkts[i] = &mbufs[i];
	}
}

/* --- rules ------------------------------------------------------------------------ */

/* Rule i of a row: UDP from and to prefixes. */
struct bench_rule {
	uint32_t src, src_len, dst, dst_len;
	uint16_t port; /* of the destination; 0: any */
};

struct row {
	const char *name;
	unsigned rules;
	void (*make)(unsigned i, struct bench_rule *rule);
};

/* One mask, so many values. */
static void
one_mask(unsigned i, struct bench_rule *rule)
{
	*rule = (struct bench_rule){.dst = 172u << 24 | i, .dst_len = 32};
}

static void
one_mask_ports(unsigned i, struct bench_rule *rule)
{
	*rule = (struct bench_rule){.src = 192u << 24 | 2 << 8,
				    .src_len = 24,
				    .dst = 172u << 24 | i,
				    .dst_len = 32,
				    .port = 53};
}

/* Prefix lengths 23 to 32 in turn. */
static void
ten_masks(unsigned i, struct bench_rule *rule)
{
	unsigned len = 23 + i % 10;

	*rule = (struct bench_rule){.dst = (172u << 24 | i << 9) & ~((1u << (32 - len)) - 1),
				    .dst_len = len};
}

/* Every packet matches one. */
static void
all_match(unsigned i, struct bench_rule *rule)
{
	*rule = (struct bench_rule){.dst = 10u << 24 | i << 11, .dst_len = 21};
}

static const struct row rows[] = {
	{"1 rule", 1, one_mask},
	{"10 rules", 10, one_mask},
	{"25 rules", 25, one_mask},
	{"50 rules", 50, one_mask},
	{"100 rules", 100, one_mask},
	{"100 rules, addresses and port", 100, one_mask_ports},
	{"100 rules, ten masks", 100, ten_masks},
	{"10,000 rules", 10000, one_mask},
	{"10,000 rules, ten masks", 10000, ten_masks},
	{"8,192 rules, all packets match", 8192, all_match},
};

/* --- clocks ------------------------------------------------------------------------ */

static double
cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* --- noref -------------------------------------------------------------------------- */

static struct flow_rule
flow_rule_of(const struct bench_rule *b, uint32_t id)
{
	struct flow_rule rule = {
		.id = id,
		.present = FLOW_HAS_ETH | FLOW_HAS_IP4 | (b->port != 0 ? FLOW_HAS_UDP : 0),
		.present_mask = FLOW_HAS_ETH | FLOW_HAS_IP4 | (b->port != 0 ? FLOW_HAS_UDP : 0),
		.fate = FLOW_DROP,
	};

	rule.value.ip.v4.src_addr = rte_cpu_to_be_32(b->src);
	rule.value.ip.v4.dst_addr = rte_cpu_to_be_32(b->dst);
	rule.mask.ip.v4.src_addr =
		rte_cpu_to_be_32((uint32_t)(UINT64_C(0xffffffff00000000) >> b->src_len));
	rule.mask.ip.v4.dst_addr =
		rte_cpu_to_be_32((uint32_t)(UINT64_C(0xffffffff00000000) >> b->dst_len));
	if (b->port != 0) {
		rule.value.l4.udp.dst_port = rte_cpu_to_be_16(b->port);
		rule.mask.l4.udp.dst_port = 0xffff;
	}
	return rule;
}

static double
noref_cycles(const struct ruleset *set)
{
	const struct rule_verdict *verdicts[BURST];
	double begin = cpu_seconds(), end = begin;
	uint64_t packets = 0;
	unsigned decided = 0;

	while (end < begin + measure_seconds) {
		for (unsigned i = 0; i < PACKETS; i += BURST)
			decided += classify_burst_run(set, 0, pkts + i, BURST, verdicts, NULL);
		packets += PACKETS;
		end = cpu_seconds();
	}
	if (decided != 0 && decided != packets)
		printf("(%u of %lu packets match) ", decided, (unsigned long)packets);
	return (end - begin) * (double)rte_get_tsc_hz() / (double)packets;
}

static double
noref_changes(struct rcu *rcu, struct ruleset *set, struct rule **rules, const struct row *row)
{
	double begin = cpu_seconds(), end = begin;
	unsigned changes = 0;

	while (end < begin + measure_seconds) {
		for (unsigned k = 0; k < 100; k++, changes += 2) {
			struct bench_rule b;
			struct flow_rule rule;
			unsigned i = rnd() % row->rules;

			row->make(i, &b);
			rule = flow_rule_of(&b, i);
			ruleset_remove(set, rules[i]);
			ruleset_commit(set);
			rules[i] = ruleset_add(set, &rule, NULL);
			ruleset_commit(set);
			rcu_poll(rcu);
		}
		end = cpu_seconds();
	}
	return changes / (end - begin);
}

/* --- rte_acl ------------------------------------------------------------------------ */

/* Bytes a packet is asked about: as rte_acl wants them, four at a time. */
struct acl_key {
	uint8_t proto;
	rte_be32_t src, dst;
	rte_be16_t sport, dport;
} __rte_packed;

RTE_ACL_RULE_DEF(acl_rule, 5);

static const struct rte_acl_field_def acl_fields[5] = {
	{RTE_ACL_FIELD_TYPE_BITMASK, 1, 0, 0, offsetof(struct acl_key, proto)},
	{RTE_ACL_FIELD_TYPE_MASK, 4, 1, 1, offsetof(struct acl_key, src)},
	{RTE_ACL_FIELD_TYPE_MASK, 4, 2, 2, offsetof(struct acl_key, dst)},
	{RTE_ACL_FIELD_TYPE_RANGE, 2, 3, 3, offsetof(struct acl_key, sport)},
	{RTE_ACL_FIELD_TYPE_RANGE, 2, 4, 3, offsetof(struct acl_key, dport)},
};

static struct rte_acl_ctx *
acl_build(const struct row *row, double *seconds)
{
	struct rte_acl_param param = {.name = "bench",
				      .socket_id = SOCKET_ID_ANY,
				      .rule_size = RTE_ACL_RULE_SZ(5),
				      .max_rule_num = row->rules};
	struct rte_acl_config config = {.num_categories = 1, .num_fields = 5};
	struct rte_acl_ctx *ctx = rte_acl_create(&param);
	double begin = cpu_seconds();

	memcpy(config.defs, acl_fields, sizeof(acl_fields));
	for (unsigned i = 0; ctx != NULL && i < row->rules; i++) {
		struct bench_rule b;
		struct acl_rule rule = {.data = {1, (int32_t)(row->rules - i), i + 1}};

		row->make(i, &b);
		rule.field[0].value.u8 = 17;
		rule.field[0].mask_range.u8 = b.port != 0 ? 0xff : 0;
		rule.field[1].value.u32 = b.src;
		rule.field[1].mask_range.u32 = b.src_len;
		rule.field[2].value.u32 = b.dst;
		rule.field[2].mask_range.u32 = b.dst_len;
		rule.field[3].mask_range.u16 = 0xffff;
		rule.field[4].value.u16 = b.port;
		rule.field[4].mask_range.u16 = b.port != 0 ? b.port : 0xffff;
		if (rte_acl_add_rules(ctx, (struct rte_acl_rule *)&rule, 1) != 0)
			break;
	}
	if (ctx == NULL || rte_acl_build(ctx, &config) != 0) {
		rte_acl_free(ctx);
		return NULL;
	}
	*seconds = cpu_seconds() - begin;
	return ctx;
}

static double
acl_cycles(const struct rte_acl_ctx *ctx)
{
	static struct acl_key keys[BURST];
	const uint8_t *data[BURST];
	uint32_t results[BURST];
	double begin = cpu_seconds(), end = begin;
	uint64_t packets = 0, decided = 0;

	while (end < begin + measure_seconds) {
		for (unsigned i = 0; i < PACKETS; i += BURST) {
			for (unsigned k = 0; k < BURST; k++) {
				const uint8_t *ip = frames[i + k] + 14;

				keys[k].proto = ip[9];
				memcpy(&keys[k].src, ip + 12, 8);
				memcpy(&keys[k].sport, ip + 20, 4);
				data[k] = (const uint8_t *)&keys[k];
			}
			rte_acl_classify(ctx, data, results, BURST, 1);
			for (unsigned k = 0; k < BURST; k++)
				decided += results[k] != 0;
		}
		packets += PACKETS;
		end = cpu_seconds();
	}
	if (decided != 0 && decided != packets)
		printf("(rte_acl: %lu of %lu packets match) ", (unsigned long)decided,
		       (unsigned long)packets);
	return (end - begin) * (double)rte_get_tsc_hz() / (double)packets;
}

/* --- table -------------------------------------------------------------------------- */

static void
measure(const struct row *row)
{
	struct err err = {""};
	struct rcu *rcu = rcu_create(1, &err);
	struct classify *classify = classify_create(rcu, 1, &err);
	struct ruleset *set = ruleset_create(classify, &err);
	struct rule **rules = calloc(row->rules, sizeof(*rules));
	double cycles, changes, acl = 0, build = 0;
	struct rte_acl_ctx *ctx;

	for (unsigned i = 0; i < row->rules; i++) {
		struct bench_rule b;
		struct flow_rule rule;

		row->make(i, &b);
		rule = flow_rule_of(&b, i);
		rules[i] = ruleset_add(set, &rule, &err);
		if (rules[i] == NULL)
			rte_exit(1, "%s\n", err.text);
	}
	ruleset_commit(set);
	cycles = noref_cycles(set);
	changes = noref_changes(rcu, set, rules, row);
	ctx = acl_build(row, &build);
	if (ctx != NULL)
		acl = acl_cycles(ctx);
	printf("%-32s %8.1f %12.0f %8.1f %12.1f\n", row->name, cycles, changes, acl,
	       build > 0 ? 1 / build : 0);
	fflush(stdout);
	rte_acl_free(ctx);
	ruleset_destroy(set);
	classify_destroy(classify);
	rcu_destroy(rcu);
	free(rules);
}

int
main(int argc, char **argv)
{
	char *eal[] = {argv[0],
		       (char[]){"--no-huge"},
		       (char[]){"-m"},
		       (char[]){"512"},
		       (char[]){"--no-pci"},
		       (char[]){"--no-shconf"},
		       (char[]){"--no-telemetry"},
		       (char[]){"--log-level"},
		       (char[]){"*:error"},
		       NULL};

	const char *only = NULL;

	for (int a = 1; a < argc; a++) {
		if (strcmp(argv[a], "--quick") == 0)
			measure_seconds = 0.02;
		else if (strcmp(argv[a], "--only") == 0 && a + 1 < argc)
			only = argv[++a];
	}
	if (rte_eal_init(RTE_DIM(eal) - 1, eal) < 0)
		return 1;
	make_packets();
	printf("%-32s %8s %12s %8s %12s\n", "", "noref", "noref", "rte_acl", "rte_acl");
	printf("%-32s %8s %12s %8s %12s\n", "", "cycles", "changes/s", "cycles", "builds/s");
	for (unsigned r = 0; r < RTE_DIM(rows); r++) {
		if (only == NULL || strcmp(only, rows[r].name) == 0)
			measure(&rows[r]);
	}
	return 0;
}
