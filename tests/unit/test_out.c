/* SPDX-License-Identifier: BSD-3-Clause */
/* What is written comes out whole, and JSON is JSON whatever a command does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>
#include <yajl/yajl_tree.h>

#include "out.h"

/* Is this one JSON document and its newline, in valid UTF-8? */
static void
assert_document(const struct out *out)
{
	static const yajl_callbacks nothing;
	size_t size;
	const char *data = out_data(out, &size);
	yajl_handle parser = yajl_alloc(&nothing, NULL, NULL);

	assert_true(size > 1);
	assert_int_equal(data[size - 1], '\n');
	assert_null(memchr(data, '\n', size - 1)); /* compact: one line */
	assert_int_equal(yajl_parse(parser, (const unsigned char *)data, size), yajl_status_ok);
	assert_int_equal(yajl_complete_parse(parser), yajl_status_ok);
	yajl_free(parser);
}

static void
assert_content(const struct out *out, const char *expected)
{
	size_t size;
	const char *data = out_data(out, &size);

	assert_int_equal(size, strlen(expected));
	assert_memory_equal(data, expected, size);
}

static void
text_gathers_until_it_is_taken(void **state)
{
	struct out *out = out_create(false);
	size_t written = 0, taken = 0, size;
	const char *data;
	char expected[32];

	(void)state;
	assert_false(out_is_json(out));
	assert_int_equal(out_pending(out), 0);
	out_text(out, "%s %d", "port", 7);
	assert_content(out, "port 7");
	out_json_uint(out, "ignored", 1);
	out_json_end(out);
	assert_content(out, "port 7");
	assert_false(out_failed(out));
	out_consume(out, 5);
	assert_content(out, "7");
	out_consume(out, 100);
	assert_int_equal(out_pending(out), 0);

	/* Written faster than taken: every number once, in order. */
	while (taken < 50000) {
		for (unsigned i = 0; i < 7 && written < 50000; i++)
			out_text(out, "%09zu,", written++);
		for (unsigned i = 0; i < 3 && taken < written; i++) {
			snprintf(expected, sizeof(expected), "%09zu,", taken++);
			data = out_data(out, &size);
			assert_memory_equal(data, expected, 10);
			out_consume(out, 10);
		}
	}
	assert_int_equal(out_pending(out), 0);
	out_destroy(out);
	out_destroy(NULL);
}

static void
one_text_may_be_longer_than_the_buffer(void **state)
{
	struct out *out = out_create(false);
	size_t size = 3 * OUT_CHUNK;
	char *big = malloc(size + 1);

	(void)state;
	memset(big, 'x', size);
	big[size] = '\0';
	out_text(out, "<%s>", big);
	assert_int_equal(out_pending(out), size + 2);
	assert_true(out_full(out));
	assert_int_equal(out_data(out, &size)[size - 1], '>');
	out_reset(out);
	assert_int_equal(out_pending(out), 0);
	assert_false(out_full(out));
	out_destroy(out);
	free(big);
}

static void
every_kind_of_json_value(void **state)
{
	struct out *out = out_create(true);

	(void)state;
	assert_true(out_is_json(out));
	out_text(out, "not in JSON");
	out_json_object(out, NULL);
	out_json_string(out, "s", "a \"b\" \\ /\t\n");
	out_json_string(out, "none", NULL);
	out_json_uint(out, "u", UINT64_MAX);
	out_json_int(out, "i", INT64_MIN);
	out_json_double(out, "d", 1.25, 1);
	out_json_double(out, "d3", -2.0, 3);
	out_json_double(out, "nan", NAN, 1);
	out_json_double(out, "inf", -INFINITY, 1);
	out_json_bool(out, "t", true);
	out_json_bool(out, "f", false);
	out_json_null(out, "n");
	out_json_array(out, "queues");
	out_json_array(out, NULL);
	out_json_uint(out, NULL, 0);
	out_json_uint(out, NULL, 1);
	out_json_end(out);
	out_json_object(out, NULL);
	out_json_end(out);
	out_json_end(out);
	out_json_end(out);
	assert_false(out_failed(out));
	assert_document(out);
	assert_content(out,
		       "{\"s\":\"a \\\"b\\\" \\\\ /\\t\\n\",\"none\":null,"
		       "\"u\":18446744073709551615,\"i\":-9223372036854775808,"
		       "\"d\":1.2,\"d3\":-2.000,\"nan\":null,\"inf\":null,\"t\":true,\"f\":false,"
		       "\"n\":null,\"queues\":[[0,1],{}]}\n");
	out_destroy(out);
}

static void
huge_doubles_fit(void **state)
{
	struct out *out = out_create(true);

	(void)state;
	out_json_array(out, NULL);
	out_json_double(out, NULL, -1.7976931348623157e308, 1000);
	out_json_double(out, NULL, 4.9e-324, 17);
	out_json_end(out);
	assert_false(out_failed(out));
	assert_document(out);
	out_destroy(out);
}

static void
a_document_may_be_a_single_value(void **state)
{
	struct out *out = out_create(true);

	(void)state;
	out_json_string(out, NULL, "");
	assert_content(out, "\"\"\n");
	out_reset(out);
	out_json_array(out, NULL);
	out_json_end(out);
	assert_content(out, "[]\n");
	out_destroy(out);
}

static void
what_is_not_utf8_is_replaced(void **state)
{
	static const struct {
		const char *in, *out;
	} texts[] = {
		{"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
		{"\xf0\x9f\x90\xa7", "\xf0\x9f\x90\xa7"},
		{"a\xff"
		 "b",
		 "a\xef\xbf\xbd"
		 "b"},
		{"\xc3", "\xef\xbf\xbd"},				  /* cut short */
		{"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},		  /* overlong */
		{"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* surrogate */
		{"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd"},
	};
	char expected[128];

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct out *out = out_create(true);

		out_json_object(out, NULL);
		out_json_string(out, texts[i].in, texts[i].in);
		out_json_end(out);
		snprintf(expected, sizeof(expected), "{\"%s\":\"%s\"}\n", texts[i].out,
			 texts[i].out);
		assert_content(out, expected);
		assert_document(out);
		out_destroy(out);
	}
}

/* JSON taken in pieces while it is made is the same document. */
static void
a_long_document_in_pieces(void **state)
{
	struct out *out = out_create(true);
	struct out *whole = out_create(false);
	yajl_val tree, v;
	const char *data;
	size_t size;

	(void)state;
	out_json_array(out, NULL);
	for (unsigned i = 0; i < 3000; i++) {
		out_json_object(out, NULL);
		out_json_uint(out, "route", i);
		out_json_end(out);
		if (i % 100 == 0) {
			data = out_data(out, &size);
			out_append(whole, data, size);
			out_consume(out, size);
		}
	}
	out_json_end(out);
	data = out_data(out, &size);
	out_append(whole, data, size);
	out_append(whole, "", 1);
	tree = yajl_tree_parse(out_data(whole, &size), NULL, 0);
	assert_non_null(tree);
	assert_int_equal(YAJL_GET_ARRAY(tree)->len, 3000);
	v = YAJL_GET_ARRAY(tree)->values[2999];
	assert_int_equal(YAJL_GET_INTEGER(YAJL_GET_OBJECT(v)->values[0]), 2999);
	yajl_tree_free(tree);
	out_destroy(whole);
	out_destroy(out);
}

static void
reset_starts_a_new_document_wherever_the_old_one_was(void **state)
{
	struct out *out = out_create(true);

	(void)state;
	for (unsigned round = 0; round < 3; round++) {
		out_json_object(out, NULL);
		out_json_array(out, "a");
		out_json_uint(out, NULL, 1);
		if (round == 1)
			out_json_object(out, NULL);
		out_reset(out);
		assert_int_equal(out_pending(out), 0);
		out_json_array(out, NULL);
		out_json_uint(out, NULL, 2);
		out_json_uint(out, NULL, 3);
		out_json_end(out);
		assert_content(out, "[2,3]\n");
		out_reset(out);
	}
	out_destroy(out);
}

/* Calls that do not fit are left out, remembered, and harm nothing. */
static void
calls_that_do_not_fit(void **state)
{
	struct out *out = out_create(true);

	(void)state;
	out_json_end(out); /* nothing is open */
	assert_true(out_failed(out));

	out_reset(out);
	out_json_uint(out, "key", 1); /* a key outside of an object */
	assert_true(out_failed(out));
	assert_int_equal(out_pending(out), 0);

	out_reset(out);
	assert_false(out_failed(out));
	out_json_object(out, NULL);
	out_json_uint(out, NULL, 1); /* no key inside of one */
	out_json_end(out);
	assert_true(out_failed(out));
	assert_content(out, "{}\n");

	out_reset(out);
	out_json_array(out, NULL);
	out_json_end(out);
	out_json_array(out, NULL); /* a second document */
	assert_true(out_failed(out));
	assert_content(out, "[]\n");

	out_reset(out);
	for (unsigned i = 0; i < 1000; i++)
		out_json_array(out, NULL);
	for (unsigned i = 0; i < 1000; i++)
		out_json_end(out);
	assert_true(out_failed(out));
	assert_document(out);
	out_destroy(out);
}

/* Any sequence of calls leaves either a valid document or a failure, never a crash. */
static void
random_calls(void **state)
{
	struct out *out = out_create(true);

	(void)state;
	srandom(2);
	for (unsigned round = 0; round < 2000; round++) {
		out_reset(out);
		for (unsigned i = 0; i < 50; i++) {
			char text[8] = {(char)random(), (char)random(), (char)random()};
			const char *key = random() % 2 == 0 ? text : NULL;

			switch (random() % 6) {
			case 0:
				out_json_array(out, key);
				break;
			case 1:
				out_json_object(out, key);
				break;
			case 2:
				out_json_end(out);
				break;
			case 3:
				out_json_string(out, key, text);
				break;
			case 4:
				out_json_double(out, key, (double)random() / 7, 3);
				break;
			default:
				out_consume(out, (size_t)random() % 64);
				break;
			}
		}
	}
	out_destroy(out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_gathers_until_it_is_taken),
		cmocka_unit_test(one_text_may_be_longer_than_the_buffer),
		cmocka_unit_test(every_kind_of_json_value),
		cmocka_unit_test(huge_doubles_fit),
		cmocka_unit_test(a_document_may_be_a_single_value),
		cmocka_unit_test(what_is_not_utf8_is_replaced),
		cmocka_unit_test(a_long_document_in_pieces),
		cmocka_unit_test(reset_starts_a_new_document_wherever_the_old_one_was),
		cmocka_unit_test(calls_that_do_not_fit),
		cmocka_unit_test(random_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
