/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What rules mean, in cases written out by hand; and changes while somebody reads.
 */
#include <pthread.h>
#include <sched.h>

#include "test_classify_common.h"

static struct rule *
add(struct fixture *f, struct flow_rule rule)
{
	struct err err = {""};
	struct rule *added = ruleset_add(f->set, &rule, &err);

	if (added == NULL)
		fail_msg("%s", err.text);
	return added;
}

/* What decides the frame: a rule's id, or 0. */
static unsigned
ask(struct fixture *f, const struct frame *frame)
{
	struct rte_mbuf *m = packet_of(frame, false);
	const struct rule_verdict *verdict;

	classify_burst_run(f->set, 0, &m, 1, &verdict, NULL);
	packet_free(m);
	return verdict != NULL ? verdict->id : 0;
}

static uint64_t
matched(const struct rule *rule)
{
	struct rule_counters counters;

	rule_counters(rule, &counters);
	return counters.packets;
}

static void
lower_priority_is_first_and_then_age(void **state)
{
	struct fixture *f = *state;
	struct rule *old, *first;
	struct frame frame;

	udp4(&frame, 0, 1, 53);
	old = add(f, to_port(1, 5, 53, FLOW_DROP));
	add(f, to_port(2, 5, 53, FLOW_DROP));
	add(f, to_port(3, UINT32_MAX, 53, FLOW_DROP));
	assert_int_equal(ask(f, &frame), 0);
	ruleset_commit(f->set);
	assert_int_equal(ask(f, &frame), 1);
	first = add(f, to_port(4, 0, 53, FLOW_DROP));
	assert_int_equal(ask(f, &frame), 1);
	ruleset_commit(f->set);
	assert_int_equal(ask(f, &frame), 4);
	ruleset_remove(f->set, first);
	ruleset_remove(f->set, old);
	assert_int_equal(ask(f, &frame), 4);
	ruleset_commit(f->set);
	assert_int_equal(ask(f, &frame), 2);
	/* Added and gone again before it was seen. */
	ruleset_remove(f->set, add(f, to_port(5, 0, 53, FLOW_DROP)));
	ruleset_commit(f->set);
	assert_int_equal(ask(f, &frame), 2);
}

static void
passthru_goes_on_and_what_it_did_stays(void **state)
{
	struct fixture *f = *state;
	struct flow_rule marking = to_port(1, 0, 53, FLOW_PASSTHRU);
	const struct rule_verdict *verdict;
	struct classify_log *log = calloc(1, sizeof(*log));
	struct rule *through, *through2, *end;
	struct rte_mbuf *m;
	struct frame frame;

	marking.mark = true;
	marking.mark_id = 77;
	through = add(f, marking);
	through2 = add(f, to_port(2, 0, 53, FLOW_PASSTHRU));
	end = add(f, to_port(3, 1, 53, FLOW_QUEUE));
	add(f, to_port(4, 2, 53, FLOW_DROP));
	ruleset_commit(f->set);
	udp4(&frame, 0, 1, 53);
	m = packet_of(&frame, false);
	assert_int_equal(classify_burst_run(f->set, 1, &m, 1, &verdict, log), 1);
	assert_int_equal(verdict->id, 3);
	assert_true((m->ol_flags & RTE_MBUF_F_RX_FDIR_ID) != 0);
	assert_int_equal(m->hash.fdir.hi, 77);
	assert_int_equal(log->n, 3);
	assert_int_equal(log->step[0].verdict->id, 1);
	assert_int_equal(log->step[1].verdict->id, 2);
	assert_int_equal(log->step[2].verdict->id, 3);
	assert_int_equal(matched(through) + matched(through2) + matched(end), 3);
	rule_counters_clear(end);
	assert_int_equal(matched(end), 0);
	packet_free(m);
	free(log);
}

static void
jumps_lead_on_and_end(void **state)
{
	struct fixture *f = *state;
	struct flow_rule jump = to_port(1, 0, 53, FLOW_JUMP), inner;
	struct rule *around;
	struct frame frame;

	udp4(&frame, 0, 1, 53);
	jump.target = 7;
	add(f, jump);
	add(f, to_port(2, 1, 53, FLOW_DROP));
	ruleset_commit(f->set);
	/* Nothing in group 7: accepted, though a later rule of group 0 drops. */
	assert_int_equal(ask(f, &frame), 0);
	inner = to_port(3, 9, 53, FLOW_DROP);
	inner.group = 7;
	add(f, inner);
	ruleset_commit(f->set);
	assert_int_equal(ask(f, &frame), 3);
	/* Round and round: at an end some time, and accepted. */
	inner = to_port(4, 0, 53, FLOW_JUMP);
	inner.group = 7;
	inner.target = 7;
	around = add(f, inner);
	ruleset_commit(f->set);
	assert_int_equal(ask(f, &frame), 0);
	assert_int_equal(matched(around), CLASSIFY_JUMPS_MAX);
}

static void
tags_are_passed_unless_named(void **state)
{
	struct fixture *f = *state;
	struct flow_rule tagged = to_port(1, 0, 53, FLOW_DROP), untagged = tagged, any = tagged;
	struct frame frame;

	tagged.present |= FLOW_HAS_VLAN;
	tagged.present_mask |= FLOW_HAS_VLAN;
	tagged.ranges = 1;
	tagged.range[0] = (struct flow_range){offsetof(struct flow_headers, vlan[0].vlan_tci),
					      2,
					      {0x0f, 0xff},
					      {0, 100},
					      {0, 101}};
	untagged.id = 2;
	untagged.present_mask |= FLOW_HAS_VLAN;
	any.id = 3;
	any.priority = 1;
	add(f, tagged);
	add(f, untagged);
	add(f, any);
	ruleset_commit(f->set);
	udp4(&frame, 1, 1, 53);
	assert_int_equal(ask(f, &frame), 1);
	frame.bytes[15] = 102;
	assert_int_equal(ask(f, &frame), 3);
	udp4(&frame, 0, 1, 53);
	assert_int_equal(ask(f, &frame), 2);
	udp4(&frame, 2, 1, 53);
	assert_int_equal(ask(f, &frame), 1);
	udp4(&frame, 3, 1, 53); /* the IP header is behind a third one */
	assert_int_equal(ask(f, &frame), 0);
}

static void
segments_left_hide_no_tunnelled_packet(void **state)
{
	static const uint8_t outer[] = {0x60, 0, 0, 0, 0, 24 + 28, 43, 64};
	static const uint8_t srh[24] = {4, 2, 4, 1, 0, 0, 0, 0, 0xfc};
	struct fixture *f = *state;
	struct flow_rule rule = {
		.id = 1,
		.present = FLOW_HAS_IP6 | FLOW_HAS_INNER_IP4 | FLOW_HAS_INNER_UDP,
		.present_mask = FLOW_HAS_IP6 | FLOW_HAS_INNER_IP4 | FLOW_HAS_INNER_UDP,
		.fate = FLOW_DROP,
	};
	struct frame inner, frame = {0};

	rule.value.inner_l4.udp.dst_port = rte_cpu_to_be_16(53);
	rule.mask.inner_l4.udp.dst_port = 0xffff;
	add(f, rule);
	ruleset_commit(f->set);
	udp4(&inner, 0, 1, 53);
	put(&frame, inner.bytes, 12);
	put16(&frame, 0x86dd);
	put(&frame, outer, sizeof(outer));
	frame.len += 32; /* addresses */
	put(&frame, srh, sizeof(srh));
	put(&frame, inner.bytes + 14, inner.len - 14);
	assert_int_equal(ask(f, &frame), 1);
	assert_int_equal(ask(f, &inner), 0);
	frame.len--; /* the last byte of the UDP header */
	assert_int_equal(ask(f, &frame), 0);
}

static void
impossible_rules_are_refused(void **state)
{
	struct fixture *f = *state;
	struct flow_rule rule = to_port(1, 0, 53, FLOW_DROP);
	struct err err = {""};

	rule.mask.ip.bytes[20] = 1; /* behind an IPv4 header */
	assert_null(ruleset_add(f->set, &rule, &err));
	assert_non_null(strstr(err.text, "does not name"));
	rule = to_port(1, 0, 53, FLOW_DROP);
	rule.present_mask |= FLOW_HAS_TCP;
	rule.present |= FLOW_HAS_TCP;
	assert_null(ruleset_add(f->set, &rule, &err));
	assert_non_null(strstr(err.text, "two headers"));
	rule = to_port(1, 0, 53, FLOW_DROP);
	rule.ranges = 1;
	rule.range[0] = (struct flow_range){
		offsetof(struct flow_headers, l4.udp.src_port), 2, {0xff, 0xff}, {0, 9}, {0, 8}};
	assert_null(ruleset_add(f->set, &rule, &err));
	assert_non_null(strstr(err.text, "ends before"));
	rule.range[0].offset = offsetof(struct flow_headers, l4.udp.dst_port);
	assert_null(ruleset_add(f->set, &rule, &err));
	assert_non_null(strstr(err.text, "both a value and a range"));
	rule.range[0].offset = offsetof(struct flow_headers, l4.bytes[7]);
	assert_null(ruleset_add(f->set, &rule, &err));
	rule.range[0].offset = offsetof(struct flow_headers, inner_l4);
	assert_null(ruleset_add(f->set, &rule, &err));
	assert_int_equal(ruleset_count(f->set), 0);
	ruleset_commit(f->set);
}

/* --- while somebody reads -------------------------------------------------------------- */

#define KEYS 64

struct reader {
	struct fixture *f;
	bool quit;
	unsigned bursts, changes_seen;
};

/* Every packet of a burst must see the rules of one and the same change, and never an older one
 * than the burst before. */
static void *
reader_main(void *arg)
{
	struct reader *reader = arg;
	struct fixture *f = reader->f;
	struct rte_mbuf *pkts[KEYS];
	const struct rule_verdict *verdicts[KEYS];
	uint32_t last = 0;

	for (unsigned i = 0; i < KEYS; i++) {
		struct frame frame;

		udp4(&frame, 0, 1, 1 + i);
		pkts[i] = packet_of(&frame, false);
	}
	rcu_online(f->rcu, 1);
	while (!__atomic_load_n(&reader->quit, __ATOMIC_RELAXED)) {
		unsigned n = classify_burst_run(f->set, 1, pkts, KEYS, verdicts, NULL);

		if (n != KEYS && (n != 0 || last != 0))
			abort();
		for (unsigned i = 0; i < n; i++) {
			if (verdicts[i]->target != verdicts[0]->target)
				abort();
		}
		if (n != 0) {
			if (verdicts[0]->target < last)
				abort();
			reader->changes_seen += verdicts[0]->target != last;
			last = verdicts[0]->target;
		}
		__atomic_store_n(&reader->bursts, reader->bursts + 1, __ATOMIC_RELAXED);
		rcu_quiescent(f->rcu, 1);
	}
	rcu_offline(f->rcu, 1);
	for (unsigned i = 0; i < KEYS; i++)
		packet_free(pkts[i]);
	return NULL;
}

/* Rules that no packet of the reader matches, to make tables grow and shrink under it. */
static struct rule *
bystander(struct fixture *f)
{
	struct flow_rule rule = to_port(0, below(3), (uint16_t)(1000 + below(60000)), FLOW_DROP);

	if (chance(10)) {
		rule.mask.ip.v4.dst_addr = rte_cpu_to_be_32(~UINT32_C(0) << below(16));
		rule.value.ip.v4.dst_addr = random32();
	}
	return add(f, rule);
}

static void
changes_are_seen_whole_between_bursts(void **state)
{
	enum {
		BYSTANDERS = 4000,
		CHANGES = 3000
	};
	struct fixture *f = *state;
	struct reader reader = {.f = f};
	struct rule *rules[KEYS] = {NULL}, **others = calloc(BYSTANDERS, sizeof(*others));
	pthread_t thread;

	rcu_offline(f->rcu, 0);
	assert_int_equal(pthread_create(&thread, NULL, reader_main, &reader), 0);
	for (uint32_t change = 1; change <= CHANGES; change++) {
		unsigned until = below(chance(2) ? BYSTANDERS : 4);

		for (unsigned i = 0; i < KEYS; i++) {
			struct flow_rule rule = to_port(1, below(3), (uint16_t)(1 + i), FLOW_LCORE);

			if (rules[i] != NULL)
				ruleset_remove(f->set, rules[i]);
			rule.target = change;
			rules[i] = add(f, rule);
		}
		for (unsigned k = 0; k < until; k++) {
			struct rule **other = &others[below(BYSTANDERS)];

			if (*other != NULL)
				ruleset_remove(f->set, *other);
			*other = *other != NULL && chance(60) ? NULL : bystander(f);
		}
		ruleset_commit(f->set);
		rcu_poll(f->rcu);
		while (change % 100 == 0 &&
		       __atomic_load_n(&reader.bursts, __ATOMIC_RELAXED) < change)
			sched_yield();
	}
	__atomic_store_n(&reader.quit, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	assert_true(reader.changes_seen > 5);
	rcu_online(f->rcu, 0);
	free(others);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(lower_priority_is_first_and_then_age, setup,
						teardown),
		cmocka_unit_test_setup_teardown(passthru_goes_on_and_what_it_did_stays, setup,
						teardown),
		cmocka_unit_test_setup_teardown(jumps_lead_on_and_end, setup, teardown),
		cmocka_unit_test_setup_teardown(tags_are_passed_unless_named, setup, teardown),
		cmocka_unit_test_setup_teardown(segments_left_hide_no_tunnelled_packet, setup,
						teardown),
		cmocka_unit_test_setup_teardown(impossible_rules_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(changes_are_seen_whole_between_bursts, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
