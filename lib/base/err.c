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
	char old[sizeof(err->text)];
	va_list args;
	int n;

	if (err == NULL)
		return code;
	memcpy(old, err->text, sizeof(old));
	va_start(args, format);
	n = vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	if (n >= 0 && (size_t)n < sizeof(err->text))
		snprintf(err->text + n, sizeof(err->text) - (size_t)n, ": %s", old);
	return code;
}
