/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OUT_H
#define OUT_H

/**
 * @file
 * What a command answers: text for a person, or one JSON document for a script.
 *
 * A command asks out_is_json() and then uses either out_text() or the
 * out_json_*() calls, never both. What it writes gathers in memory until the
 * owner (terminal, control socket, file) takes it; out_full() tells a command
 * with a long answer to stop and be called again. Control thread only.
 *
 * JSON is compact, one document on one line: the newline comes by itself when
 * the outermost array or object ends. Text in it is always valid UTF-8.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct out;

/** Bytes beyond which a command with a long answer pauses (returns CALL_MORE). */
#define OUT_CHUNK (64 * 1024)

/** NULL when out of memory. */
struct out *out_create(bool json);
void out_destroy(struct out *out);

bool out_is_json(const struct out *out);

/** Append text; nothing in JSON mode. The format is a person's: it never carries JSON. */
void out_text(struct out *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * JSON; nothing in text mode. key is NULL inside arrays and for the document.
 * A call that would break the document (a second document, a key in an array,
 * an end too many, more than 64 levels) is left out and makes out_failed() true.
 */
void out_json_array(struct out *out, const char *key);
void out_json_object(struct out *out, const char *key);
/** Ends the innermost array or object. */
void out_json_end(struct out *out);
/** Bytes that are not UTF-8 come out as U+FFFD; a value of NULL as null. */
void out_json_string(struct out *out, const char *key, const char *value);
void out_json_uint(struct out *out, const char *key, uint64_t value);
void out_json_int(struct out *out, const char *key, int64_t value);
/** decimals: digits after the point, at most 17. What is not finite comes out as null. */
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
/** Time for a command with a long answer to return CALL_MORE. */
static inline bool
out_full(const struct out *out)
{
	return out_pending(out) >= OUT_CHUNK;
}

/** An allocation failed, or JSON calls did not fit together: something is missing. */
bool out_failed(const struct out *out);

/* For owners, and commands that run commands. */

/** Append bytes as they are, in either mode. */
void out_append(struct out *out, const void *data, size_t size);
/** Forget everything, failures included, as if just created. */
void out_reset(struct out *out);

#endif
