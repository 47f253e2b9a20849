/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The classifier says of every packet what trying all rules in turn says: random
 * rule sets that change between bursts, random packets and captured ones.
 *
 *     test_classify [--quick]
 */
#include "test_classify_common.h"

#ifdef __SANITIZE_ADDRESS__
#define SETS_DEFAULT 100
#else
#define SETS_DEFAULT 1000
#endif
#define PACKETS_PER_SET 10000
#define BURST_LARGEST	150

static unsigned sets = SETS_DEFAULT;

static void
between_bursts(struct fixture *f)
{
	rcu_quiescent(f->rcu, 0);
	rcu_poll(f->rcu);
	classify_poll(f->classify);
}

/* --- random rules ------------------------------------------------------------------ */

struct field {
	uint32_t has;
	uint16_t offset;
	uint8_t size;
};

#define FIELD(has, member)                                                                         \
	{                                                                                          \
		has, offsetof(struct flow_headers, member),                                        \
			sizeof(((struct flow_headers *)0)->member)                                 \
	}

static const struct field fields[] = {
	FIELD(FLOW_HAS_ETH, eth.dst_addr),
	FIELD(FLOW_HAS_ETH, eth.src_addr),
	FIELD(FLOW_HAS_ETH, eth.ether_type),
	FIELD(FLOW_HAS_VLAN, vlan[0].vlan_tci),
	FIELD(FLOW_HAS_VLAN, vlan[0].eth_proto),
	FIELD(FLOW_HAS_VLAN2, vlan[1].vlan_tci),
	FIELD(FLOW_HAS_VLAN2, vlan[1].eth_proto),
	FIELD(FLOW_HAS_IP4, ip.v4.version_ihl),
	FIELD(FLOW_HAS_IP4, ip.v4.type_of_service),
	FIELD(FLOW_HAS_IP4, ip.v4.packet_id),
	FIELD(FLOW_HAS_IP4, ip.v4.fragment_offset),
	FIELD(FLOW_HAS_IP4, ip.v4.time_to_live),
	FIELD(FLOW_HAS_IP4, ip.v4.next_proto_id),
	FIELD(FLOW_HAS_IP4, ip.v4.src_addr),
	FIELD(FLOW_HAS_IP4, ip.v4.src_addr),
	FIELD(FLOW_HAS_IP4, ip.v4.dst_addr),
	FIELD(FLOW_HAS_IP4, ip.v4.dst_addr),
	FIELD(FLOW_HAS_IP6, ip.v6.vtc_flow),
	FIELD(FLOW_HAS_IP6, ip.v6.proto),
	FIELD(FLOW_HAS_IP6, ip.v6.hop_limits),
	FIELD(FLOW_HAS_IP6, ip.v6.src_addr),
	FIELD(FLOW_HAS_IP6, ip.v6.dst_addr),
	FIELD(FLOW_HAS_UDP, l4.udp.src_port),
	FIELD(FLOW_HAS_UDP, l4.udp.dst_port),
	FIELD(FLOW_HAS_TCP, l4.tcp.src_port),
	FIELD(FLOW_HAS_TCP, l4.tcp.dst_port),
	FIELD(FLOW_HAS_TCP, l4.tcp.tcp_flags),
	FIELD(FLOW_HAS_TCP, l4.tcp.rx_win),
	FIELD(FLOW_HAS_SCTP, l4.sctp.dst_port),
	FIELD(FLOW_HAS_SCTP, l4.sctp.tag),
	FIELD(FLOW_HAS_SCTP, l4.sctp.cksum),
	FIELD(FLOW_HAS_ICMP, l4.icmp.icmp_type),
	FIELD(FLOW_HAS_ICMP, l4.icmp.icmp_ident),
	FIELD(FLOW_HAS_ICMP6, l4.icmp6.type),
	FIELD(FLOW_HAS_ICMP6, l4.icmp6.checksum),
	FIELD(FLOW_HAS_INNER_IP4, inner_ip.v4.src_addr),
	FIELD(FLOW_HAS_INNER_IP4, inner_ip.v4.dst_addr),
	FIELD(FLOW_HAS_INNER_IP4, inner_ip.v4.next_proto_id),
	FIELD(FLOW_HAS_INNER_IP6, inner_ip.v6.src_addr),
	FIELD(FLOW_HAS_INNER_IP6, inner_ip.v6.vtc_flow),
	FIELD(FLOW_HAS_INNER_UDP, inner_l4.udp.dst_port),
	FIELD(FLOW_HAS_INNER_TCP, inner_l4.tcp.src_port),
	FIELD(FLOW_HAS_INNER_TCP, inner_l4.tcp.tcp_flags),
	FIELD(FLOW_HAS_INNER_ICMP, inner_l4.icmp.icmp_type),
	FIELD(FLOW_HAS_INNER_ICMP6, inner_l4.icmp6.code),
};

/* The whole field, a prefix of it, or any bits. */
static void
random_mask(uint8_t *mask, unsigned size)
{
	unsigned kind = below(6), bits = below(size * 8 + 1);

	for (unsigned b = 0; b < size; b++) {
		if (kind < 3)
			mask[b] = 0xff;
		else if (kind < 5)
			mask[b] = bits >= b * 8 + 8 ? 0xff
				  : bits <= b * 8   ? 0
						    : (uint8_t)(0xff << (8 - bits % 8));
		else
			mask[b] = (uint8_t)(random32() & random32());
	}
}

/* A range with the packet's value somewhere about. */
static void
add_range(struct flow_rule *rule, const struct field *field, const struct flow_headers *like)
{
	struct flow_range *range = &rule->range[rule->ranges];
	uint8_t *rule_mask = (uint8_t *)&rule->mask;
	int order = 0;

	memset(range, 0, sizeof(*range));
	range->offset = field->offset;
	range->size = field->size;
	random_mask(range->mask, field->size);
	for (unsigned b = 0; b < field->size; b++) {
		/* Bits cannot have a value as well, nor another range. */
		if (rule_mask[field->offset + b] != 0)
			return;
		range->low[b] = ((const uint8_t *)like)[field->offset + b];
		range->high[b] = range->low[b];
	}
	for (unsigned r = 0; r < rule->ranges; r++) {
		if (rule->range[r].offset == field->offset)
			return;
	}
	range->low[field->size - 1] = (uint8_t)(range->low[field->size - 1] - below(5));
	range->high[field->size - 1] = (uint8_t)(range->high[field->size - 1] + below(5));
	if (chance(20))
		range->high[below(field->size)] = 0xff;
	if (chance(20))
		range->low[below(field->size)] = 0;
	for (unsigned b = 0; b < field->size && order == 0; b++)
		order = (range->high[b] & range->mask[b]) - (range->low[b] & range->mask[b]);
	if (order >= 0)
		rule->ranges++;
}

static void
random_action(struct flow_rule *rule)
{
	static const enum flow_fate fates[] = {FLOW_DROP,  FLOW_DROP, FLOW_ACCEPT, FLOW_PASSTHRU,
					       FLOW_QUEUE, FLOW_PORT, FLOW_LCORE,  FLOW_JUMP};

	rule->group = chance(70) ? 0 : below(4);
	rule->priority = chance(80) ? below(6) : random32();
	rule->fate = fates[below(RTE_DIM(fates))];
	rule->target = rule->fate == FLOW_JUMP ? below(5) : random32();
	rule->mark = chance(30);
	rule->mark_id = random32();
}

/* A rule that some packet like this one may match. */
static void
random_rule(struct flow_rule *rule)
{
	struct oracle_packet like;
	struct frame frame;
	unsigned wanted = below(5);

	memset(rule, 0, sizeof(*rule));
	random_frame(&frame);
	oracle_read(frame.bytes, frame.len, &like);
	rule->present = like.present;
	rule->present_mask = like.present & (random32() | random32());
	if (chance(10))
		rule->present_mask |= chance(50) ? FLOW_HAS_VLAN : FLOW_HAS_FRAGMENT6;
	for (unsigned n = 0; n < 40 && wanted > 0; n++) {
		const struct field *field = &fields[below(RTE_DIM(fields))];
		uint8_t *mask = (uint8_t *)&rule->mask + field->offset;
		bool ranged = false;

		if ((rule->present & rule->present_mask & field->has) == 0)
			continue;
		wanted--;
		if (chance(20) && rule->ranges < 3) {
			add_range(rule, field, &like.headers);
			continue;
		}
		for (unsigned r = 0; r < rule->ranges; r++)
			ranged |= rule->range[r].offset == field->offset;
		if (!ranged)
			random_mask(mask, field->size);
	}
	memcpy(&rule->value, &like.headers, sizeof(rule->value));
	random_action(rule);
}

/* --- against the oracle -------------------------------------------------------------- */

static void
add_rule(struct fixture *f, const struct flow_rule *rule)
{
	struct err err = {""};

	for (unsigned i = 0; i < ORACLE_RULES; i++) {
		struct oracle_rule *r = &f->oracle.rules[i];

		if (r->used)
			continue;
		*r = (struct oracle_rule){.used = true, .age = ++f->oracle.age, .rule = *rule};
		r->rule.id = ++f->next_id;
		r->real = ruleset_add(f->set, &r->rule, &err);
		if (r->real == NULL)
			fail_msg("%s", err.text);
		return;
	}
}

static void
remove_rule(struct fixture *f, struct oracle_rule *r)
{
	struct rule_counters counters;

	rule_counters(r->real, &counters);
	assert_int_equal(counters.packets, r->counters.packets);
	assert_int_equal(counters.bytes, r->counters.bytes);
	ruleset_remove(f->set, r->real);
	r->used = false;
}

static void
remove_all(struct fixture *f)
{
	for (unsigned i = 0; i < ORACLE_RULES; i++) {
		if (f->oracle.rules[i].used)
			remove_rule(f, &f->oracle.rules[i]);
	}
	assert_int_equal(ruleset_count(f->set), 0);
	ruleset_commit(f->set);
}

static void
random_changes(struct fixture *f)
{
	struct flow_rule rule;

	for (unsigned n = below(4); n > 0; n--) {
		struct oracle_rule *r = &f->oracle.rules[below(ORACLE_RULES)];

		if (r->used && chance(60))
			remove_rule(f, r);
	}
	for (unsigned n = below(3); n > 0; n--) {
		random_rule(&rule);
		add_rule(f, &rule);
	}
	ruleset_commit(f->set);
}

struct burst {
	unsigned n;
	struct frame frames[BURST_LARGEST];
	struct rte_mbuf *pkts[BURST_LARGEST];
	const struct rule_verdict *verdicts[BURST_LARGEST];
};

static void
fail_at(const struct burst *b, unsigned i, const struct oracle_answer *want)
{
	for (unsigned k = 0; k < b->frames[i].len; k++)
		fprintf(stderr, "%02x%s", b->frames[i].bytes[k], k % 16 == 15 ? "\n" : " ");
	fail_msg("packet %u: rule %u, not rule %u", i,
		 b->verdicts[i] != NULL ? b->verdicts[i]->id : 0,
		 want->rule != NULL ? want->rule->id : 0);
}

/* Ask both about the burst's frames. Returns how many had a verdict. */
static unsigned
check_burst(struct fixture *f, struct burst *b)
{
	struct oracle_packet packet;
	unsigned decided = 0, said;

	for (unsigned i = 0; i < b->n; i++)
		b->pkts[i] = packet_of(&b->frames[i], chance(5));
	said = classify_burst_run(f->set, 0, b->pkts, b->n, b->verdicts, NULL);
	for (unsigned i = 0; i < b->n; i++) {
		struct oracle_answer want;
		const struct rule_verdict *got = b->verdicts[i];
		struct rte_mbuf *m = b->pkts[i];

		oracle_read(b->frames[i].bytes, b->frames[i].len, &packet);
		want = oracle_ask(&f->oracle, &packet, b->frames[i].len);
		if ((got != NULL) != (want.rule != NULL) ||
		    (got != NULL && (got->id != want.rule->id || got->fate != want.rule->fate ||
				     got->target != want.rule->target)))
			fail_at(b, i, &want);
		assert_int_equal(m->ol_flags,
				 want.mark ? RTE_MBUF_F_RX_FDIR | RTE_MBUF_F_RX_FDIR_ID : 0);
		if (want.mark)
			assert_int_equal(m->hash.fdir.hi, want.mark_id);
		decided += got != NULL;
		packet_free(m);
	}
	assert_int_equal(said, decided);
	return decided;
}

/* alike: one frame again and again, with other addresses or ports, or what lies there. */
static void
random_frames(struct burst *b, bool alike)
{
	for (unsigned i = 0; i < b->n; i++) {
		if (i == 0 || !alike) {
			random_frame(&b->frames[i]);
			continue;
		}
		b->frames[i] = b->frames[0];
		if (b->frames[i].len > 40)
			b->frames[i].bytes[26 + below(14)] ^= (uint8_t)below(4);
	}
}

static void
random_sets_match_as_a_plain_list_does(void **state)
{
	struct fixture *f = *state;
	struct burst *b = malloc(sizeof(*b));
	uint64_t decided = 0, total = 0;

	for (unsigned s = 0; s < sets; s++) {
		unsigned rules = 1 + below(chance(50) ? 8 : 64), done = 0;
		struct flow_rule rule;

		for (unsigned r = 0; r < rules; r++) {
			random_rule(&rule);
			add_rule(f, &rule);
		}
		ruleset_commit(f->set);
		for (; done < PACKETS_PER_SET; done += b->n) {
			b->n = 1 + below(BURST_LARGEST);
			random_frames(b, chance(30));
			decided += check_burst(f, b);
			if (chance(30))
				random_changes(f);
			between_bursts(f);
		}
		total += done;
		remove_all(f);
		between_bursts(f);
	}
	/* The sets were worth it: many packets met a rule, many none. */
	assert_true(decided > total / 20 && decided < total * 19 / 20);
	free(b);
}

/* Frames of a capture (nanoseconds or microseconds, of this machine's byte order). */
static unsigned
read_capture(const char *path, struct frame *frames, unsigned max)
{
	FILE *file = fopen(path, "rb");
	uint32_t head[6], record[4];
	unsigned n = 0;

	if (file == NULL)
		fail_msg("%s cannot be read", path);
	assert_int_equal(fread(head, sizeof(head), 1, file), 1);
	assert_int_equal(head[5], 1); /* Ethernet */
	while (n < max && fread(record, sizeof(record), 1, file) == 1) {
		unsigned keep = RTE_MIN(record[2], (uint32_t)FRAME_MAX);

		assert_int_equal(fread(frames[n].bytes, 1, keep, file), keep);
		fseek(file, record[2] - keep, SEEK_CUR);
		frames[n++].len = keep;
	}
	fclose(file);
	return n;
}

static void
captured_packets_match_as_a_plain_list_does(void **state)
{
	static const char *const captures[] = {"endpoints-11", "endpoints-12", "endpoints-13"};
	struct fixture *f = *state;
	struct burst *b = malloc(sizeof(*b));
	struct frame *frames = calloc(5000, sizeof(*frames));

	for (unsigned c = 0; c < RTE_DIM(captures); c++) {
		char path[512];
		unsigned n;
		struct flow_rule rule;

		snprintf(path, sizeof(path), "%s/%s/in0.pcap", VECTORS, captures[c]);
		n = read_capture(path, frames, 5000);
		assert_true(n > 10);
		for (unsigned round = 0; round < 20; round++) {
			for (unsigned r = 0; r < 40; r++) {
				struct oracle_packet like;
				const struct frame *from = &frames[below(n)];

				random_rule(&rule);
				if (chance(70)) {
					/* As one of the captured packets is. */
					oracle_read(from->bytes, from->len, &like);
					rule.ranges = 0;
					memset(&rule.mask, 0, sizeof(rule.mask));
					rule.value = like.headers;
					rule.present = like.present;
					rule.present_mask = like.present & random32();
					for (unsigned k = 0; k < RTE_DIM(fields); k++) {
						uint8_t *mask = (uint8_t *)&rule.mask;

						if ((rule.present & rule.present_mask &
						     fields[k].has) != 0 &&
						    chance(20))
							random_mask(mask + fields[k].offset,
								    fields[k].size);
					}
				}
				add_rule(f, &rule);
			}
			ruleset_commit(f->set);
			for (unsigned at = 0; at < n; at += b->n) {
				b->n = RTE_MIN(n - at, 1 + below(BURST_LARGEST));
				memcpy(b->frames, frames + at, b->n * sizeof(frames[0]));
				check_burst(f, b);
				between_bursts(f);
			}
			remove_all(f);
		}
	}
	free(frames);
	free(b);
}

/* So many that they are cut into prefixes, some with a second range beside. */
static void
many_port_ranges_match_as_a_plain_list_does(void **state)
{
	struct fixture *f = *state;
	struct burst *b = malloc(sizeof(*b));

	for (unsigned r = 0; r < 200; r++) {
		struct flow_rule rule = to_port(0, below(4), 0, FLOW_DROP);
		unsigned low = below(65536), high = low + below(65536 - low);

		rule.mask.l4.udp.dst_port = 0;
		rule.ranges = chance(70) ? 1 : 2;
		rule.range[0] = (struct flow_range){offsetof(struct flow_headers, l4.udp.dst_port),
						    2,
						    {0xff, 0xff},
						    {(uint8_t)(low >> 8), (uint8_t)low},
						    {(uint8_t)(high >> 8), (uint8_t)high}};
		rule.range[1] = (struct flow_range){offsetof(struct flow_headers, ip.v4.dst_addr),
						    4,
						    {255, 255, 255, 255},
						    {10, 0, 0, (uint8_t)below(3)},
						    {10, 0, (uint8_t)below(3), 200}};
		add_rule(f, &rule);
	}
	ruleset_commit(f->set);
	for (unsigned n = 0; n < 200; n++) {
		b->n = BURST_LARGEST;
		for (unsigned i = 0; i < b->n; i++)
			udp4(&b->frames[i], 0, below(0x400), random32());
		check_burst(f, b);
		between_bursts(f);
		for (unsigned k = 0; k < 2 && n > 50; k++) {
			struct oracle_rule *r = &f->oracle.rules[below(ORACLE_RULES)];

			if (r->used)
				remove_rule(f, r);
		}
		ruleset_commit(f->set);
	}
	remove_all(f);
	free(b);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(random_sets_match_as_a_plain_list_does, setup,
						teardown),
		cmocka_unit_test_setup_teardown(captured_packets_match_as_a_plain_list_does, setup,
						teardown),
		cmocka_unit_test_setup_teardown(many_port_ranges_match_as_a_plain_list_does, setup,
						teardown),
	};

	if (argc > 1 && strcmp(argv[1], "--quick") == 0)
		sets = 20;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
