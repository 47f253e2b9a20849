/* SPDX-License-Identifier: BSD-3-Clause */
#include "internal.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
print(void *ctx, const char *data, size_t size)
{
	out_append(ctx, data, size);
}

bool
json_create(struct out *out)
{
	out->gen = yajl_gen_alloc(NULL);
	if (out->gen == NULL)
		return false;
	yajl_gen_config(out->gen, yajl_gen_print_callback, print, out);
	return true;
}

void
json_destroy(struct out *out)
{
	if (out->gen != NULL)
		yajl_gen_free(out->gen);
}

void
json_reset(struct out *out)
{
	if (out->gen != NULL)
		yajl_gen_reset(out->gen, NULL);
	out->complete = false;
	out->depth = 0;
	out->object = 0;
}

/* Length of the UTF-8 sequence at s (RFC 3629), or 0. s ends with a NUL. */
static unsigned
utf8_length(const unsigned char *s)
{
	unsigned n;

	if (s[0] < 0x80)
		return 1;
	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		n = 2;
	else if (s[0] >= 0xe0 && s[0] <= 0xef)
		n = 3;
	else if (s[0] >= 0xf0 && s[0] <= 0xf4)
		n = 4;
	else
		return 0;
	for (unsigned i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	}
	/* Overlong forms, surrogates, and what is above U+10FFFF. */
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

static bool
is_utf8(const unsigned char *s)
{
	unsigned n;

	for (; *s != '\0'; s += n) {
		n = utf8_length(s);
		if (n == 0)
			return false;
	}
	return true;
}

/* A copy with U+FFFD for each byte that is out of place; NULL without memory. */
static char *
mend_utf8(const unsigned char *s)
{
	char *copy = malloc(3 * strlen((const char *)s) + 1);
	char *to = copy;

	if (copy == NULL)
		return NULL;
	while (*s != '\0') {
		unsigned n = utf8_length(s);

		if (n == 0) {
			memcpy(to, "\xef\xbf\xbd", 3);
			to += 3;
			s++;
			continue;
		}
		memcpy(to, s, n);
		to += n;
		s += n;
	}
	*to = '\0';
	return copy;
}

static void
put_string(struct out *out, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	char *mended;

	if (is_utf8(s)) {
		yajl_gen_string(out->gen, s, strlen(text));
		return;
	}
	mended = mend_utf8(s);
	if (mended == NULL)
		out->failed = true;
	/* The string must be there, or key and value fall out of step. */
	text = mended != NULL ? mended : "";
	yajl_gen_string(out->gen, (const unsigned char *)text, strlen(text));
	free(mended);
}

/* May a value come now? Writes its key. */
static bool
begin_value(struct out *out, const char *key)
{
	bool in_object = out->depth > 0 && (out->object >> (out->depth - 1) & 1) != 0;

	if (!out->json || out->gen == NULL)
		return false;
	if (out->complete || in_object != (key != NULL)) {
		out->failed = true;
		return false;
	}
	if (key != NULL)
		put_string(out, key);
	return true;
}

static void
end_value(struct out *out)
{
	if (out->depth > 0)
		return;
	out->complete = true;
	out_append(out, "\n", 1);
}

static bool
begin_group(struct out *out, const char *key, bool object)
{
	if (out->json && out->depth == MAX_DEPTH) {
		out->failed = true;
		return false;
	}
	if (!begin_value(out, key))
		return false;
	if (object)
		out->object |= UINT64_C(1) << out->depth;
	else
		out->object &= ~(UINT64_C(1) << out->depth);
	out->depth++;
	return true;
}

void
out_json_array(struct out *out, const char *key)
{
	if (begin_group(out, key, false))
		yajl_gen_array_open(out->gen);
}

void
out_json_object(struct out *out, const char *key)
{
	if (begin_group(out, key, true))
		yajl_gen_map_open(out->gen);
}

void
out_json_end(struct out *out)
{
	if (!out->json || out->gen == NULL)
		return;
	if (out->depth == 0) {
		out->failed = true;
		return;
	}
	out->depth--;
	if ((out->object >> out->depth & 1) != 0)
		yajl_gen_map_close(out->gen);
	else
		yajl_gen_array_close(out->gen);
	end_value(out);
}

void
out_json_string(struct out *out, const char *key, const char *value)
{
	if (!begin_value(out, key))
		return;
	if (value != NULL)
		put_string(out, value);
	else
		yajl_gen_null(out->gen);
	end_value(out);
}

static void
put_number(struct out *out, const char *key, const char *text, int size)
{
	if (!begin_value(out, key))
		return;
	yajl_gen_number(out->gen, text, (size_t)size);
	end_value(out);
}

void
out_json_uint(struct out *out, const char *key, uint64_t value)
{
	char text[24];

	put_number(out, key, text, snprintf(text, sizeof(text), "%" PRIu64, value));
}

void
out_json_int(struct out *out, const char *key, int64_t value)
{
	char text[24];

	put_number(out, key, text, snprintf(text, sizeof(text), "%" PRId64, value));
}

void
out_json_double(struct out *out, const char *key, double value, unsigned decimals)
{
	char text[DBL_MAX_10_EXP + 24];
	int size;

	if (!isfinite(value)) {
		out_json_null(out, key);
		return;
	}
	size = snprintf(text, sizeof(text), "%.*f", decimals < 17 ? (int)decimals : 17, value);
	for (int i = 0; i < size; i++) {
		if (text[i] == ',') /* some locales' decimal point */
			text[i] = '.';
	}
	put_number(out, key, text, size);
}

void
out_json_bool(struct out *out, const char *key, bool value)
{
	if (!begin_value(out, key))
		return;
	yajl_gen_bool(out->gen, value);
	end_value(out);
}

void
out_json_null(struct out *out, const char *key)
{
	if (!begin_value(out, key))
		return;
	yajl_gen_null(out->gen);
	end_value(out);
}
