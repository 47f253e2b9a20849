/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OUT_H
#define OUT_H

/**
 * @file
 * What a command answers: text for a person, or one JSON document for a script.
 *
 * A command asks out_is_json() and then uses either out_text() or the
 * out_json_*() calls, never both. What it writes gathers in memory until the
 * owner (terminal, control socket, file) takes it; out_pending() lets a command
 * with a long answer stop and be called again. Control thread only.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct out;

/** NULL when out of memory. */
struct out *out_create(bool json);
void out_destroy(struct out *out);

bool out_is_json(const struct out *out);

/** Append text; nothing in JSON mode. */
void out_text(struct out *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* JSON; nothing in text mode. key is NULL inside arrays and for the document. */
void out_json_array(struct out *out, const char *key);
void out_json_object(struct out *out, const char *key);
/** Ends the innermost array or object. */
void out_json_end(struct out *out);
void out_json_string(struct out *out, const char *key, const char *value);
void out_json_uint(struct out *out, const char *key, uint64_t value);
void out_json_int(struct out *out, const char *key, int64_t value);
/** decimals: digits after the point. */
void out_json_double(struct out *out, const char *key, double value, unsigned decimals);
void out_json_bool(struct out *out, const char *key, bool value);
void out_json_null(struct out *out, const char *key);

/** What has been written and not yet consumed; *size bytes, not NUL-terminated. */
const char *out_data(const struct out *out, size_t *size);
/** Forget the first size bytes. */
void out_consume(struct out *out, size_t size);
static inline size_t
out_pending(const struct out *out)
{
	size_t size;

	out_data(out, &size);
	return size;
}
/** An allocation failed and something is missing from the answer. */
bool out_failed(const struct out *out);

#endif
