/* SPDX-License-Identifier: BSD-3-Clause */
#include "internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_SIZE 4096

/* An empty buffer larger than this is given back: one long answer should not
 * be paid for ever after. */
#define KEEP_SIZE (4 * OUT_CHUNK)

struct out *
out_create(bool json)
{
	struct out *out = calloc(1, sizeof(*out));

	if (out == NULL)
		return NULL;
	out->json = json;
	if (json && !json_create(out)) {
		free(out);
		return NULL;
	}
	return out;
}

void
out_destroy(struct out *out)
{
	if (out == NULL)
		return;
	json_destroy(out);
	free(out->data);
	free(out);
}

bool
out_is_json(const struct out *out)
{
	return out->json;
}

/* Room for n more bytes at tail, or false. */
static bool
reserve(struct out *out, size_t n)
{
	size_t used = out->tail - out->head;
	size_t size = out->size != 0 ? out->size : FIRST_SIZE;
	char *data;

	if (n <= out->size - out->tail)
		return true;
	/* Move down only when at least half is free, so that moving stays
	 * cheap for each byte written. */
	if (out->head > 0 && used + n <= out->size / 2) {
		memmove(out->data, out->data + out->head, used);
		out->head = 0;
		out->tail = used;
		return true;
	}
	while (size < out->tail + n)
		size *= 2;
	data = realloc(out->data, size);
	if (data == NULL) {
		out->failed = true;
		return false;
	}
	out->data = data;
	out->size = size;
	return true;
}

void
out_append(struct out *out, const void *data, size_t size)
{
	if (size == 0 || !reserve(out, size))
		return;
	memcpy(out->data + out->tail, data, size);
	out->tail += size;
}

void
out_text(struct out *out, const char *format, ...)
{
	va_list args;
	size_t room;
	int n;

	if (out->json)
		return;
	/* Mostly the text fits what is there; if not, its length is known. */
	for (int attempt = 0; attempt < 2; attempt++) {
		room = out->size - out->tail;
		va_start(args, format);
		n = vsnprintf(room > 0 ? out->data + out->tail : NULL, room, format, args);
		va_end(args);
		if (n < 0) {
			out->failed = true;
			return;
		}
		if ((size_t)n < room) {
			out->tail += (size_t)n;
			return;
		}
		if (!reserve(out, (size_t)n + 1))
			return;
	}
}

const char *
out_data(const struct out *out, size_t *size)
{
	*size = out->tail - out->head;
	return *size > 0 ? out->data + out->head : "";
}

void
out_consume(struct out *out, size_t size)
{
	size_t used = out->tail - out->head;

	if (size < used) {
		out->head += size;
		return;
	}
	out->head = 0;
	out->tail = 0;
	if (out->size > KEEP_SIZE) {
		free(out->data);
		out->data = NULL;
		out->size = 0;
	}
}

bool
out_failed(const struct out *out)
{
	return out->failed;
}

void
out_reset(struct out *out)
{
	out_consume(out, out->tail - out->head);
	out->failed = false;
	if (out->json)
		json_reset(out);
}
