/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Drop reasons have distinct words, and accounts add up field by field.
 */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "stats.h"

static void
reasons_have_their_own_words(void **state)
{
	(void)state;
	for (unsigned i = 0; i < DROP_REASON_COUNT; i++) {
		const char *name = drop_name(i), *text = drop_text(i);

		assert_non_null(name);
		assert_true(strlen(name) > 0 && strlen(text) > 0);
		for (const char *c = name; *c != '\0'; c++)
			assert_true(islower((unsigned char)*c) || isdigit((unsigned char)*c) ||
				    *c == '_');
		for (unsigned k = 0; k < i; k++) {
			assert_string_not_equal(name, drop_name(k));
			assert_string_not_equal(text, drop_text(k));
		}
	}
	assert_string_equal(drop_name(DROP_RUNT), "runt");
	assert_string_equal(drop_name(DROP_IP4_CHECKSUM), "ip4_checksum");
	assert_string_equal(drop_name(DROP_FRAGMENT), "fragment");
}

/* struct stats is 64-bit counters from end to end, but for padding: number them all. */
static void
number(struct stats *s, uint64_t first)
{
	uint64_t word;

	memset(s, 0, sizeof(*s));
	for (size_t i = 0; i < sizeof(*s) / 8; i++) {
		word = first + i;
		memcpy((char *)s + i * 8, &word, 8);
	}
}

static uint64_t
word_at(const struct stats *s, size_t offset)
{
	uint64_t word;

	memcpy(&word, (const char *)s + offset, 8);
	return word;
}

/* Up to the padding at the end, which nobody adds up. */
#define COUNTED (offsetof(struct stats, port) + sizeof(((struct stats *)0)->port))

static void
every_field_is_added_and_subtracted(void **state)
{
	static struct stats sum, part;

	(void)state;
	number(&sum, 1000);
	number(&part, 5);
	stats_add(&sum, &part);
	for (size_t at = 0; at < COUNTED; at += 8)
		assert_int_equal(word_at(&sum, at), 1000 + 5 + 2 * (at / 8));
	stats_subtract(&sum, &part);
	for (size_t at = 0; at < COUNTED; at += 8) {
		uint64_t expected = 1000 + at / 8;

		/* What is held is a state, and cannot be counted from a point in time. */
		if (at == offsetof(struct stats, holding))
			expected += 5 + at / 8;
		assert_int_equal(word_at(&sum, at), expected);
	}
}

static void
dropped_is_the_sum_of_all_reasons(void **state)
{
	static struct stats s;
	uint64_t expected = 0;

	(void)state;
	assert_int_equal(stats_dropped(&s), 0);
	for (unsigned i = 0; i < DROP_REASON_COUNT; i++) {
		s.drops[i] = UINT64_C(1) << (i % 40);
		expected += s.drops[i];
		assert_int_equal(stats_dropped(&s), expected);
	}
	s.received = s.transmitted = s.port[0].tx_dropped = 99;
	assert_int_equal(stats_dropped(&s), expected);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reasons_have_their_own_words),
		cmocka_unit_test(every_field_is_added_and_subtracted),
		cmocka_unit_test(dropped_is_the_sum_of_all_reasons),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
