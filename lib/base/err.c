/* SPDX-License-Identifier: BSD-3-Clause */
#include "base.h"

#include <stdarg.h>
#include <stdio.h>

int
err_set(struct err *err, int code, const char *format, ...)
{
	va_list args;

	if (err != NULL) {
		va_start(args, format);
		vsnprintf(err->text, sizeof(err->text), format, args);
		va_end(args);
	}
	return -code;
}

int
err_prefix(struct err *err, int code, const char *format, ...)
{
	char text[sizeof(err->text)];
	va_list args;
	size_t used, rest;

	if (err == NULL)
		return code;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	/* What does not fit is lost from the end of the older sentence. */
	used = strlen(text);
	rest = strnlen(err->text, sizeof(text) - 1);
	if (used + 2 < sizeof(text)) {
		memcpy(text + used, ": ", 2);
		used += 2;
		rest = rest < sizeof(text) - 1 - used ? rest : sizeof(text) - 1 - used;
		memcpy(text + used, err->text, rest);
		text[used + rest] = '\0';
	}
	memcpy(err->text, text, sizeof(text));
	return code;
}
