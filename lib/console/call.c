/* SPDX-License-Identifier: BSD-3-Clause */
#include "internal.h"

#include <errno.h>

bool
word_matches(const char *typed, const char *word, unsigned min)
{
	size_t len = strlen(typed);

	return len >= min && len > 0 && strncmp(typed, word, len) == 0;
}

bool
call_head_is(const struct call *call, unsigned index, const char *word)
{
	return index < call->head_n && strcmp(call->head[index], word) == 0;
}

char *
call_peek(struct call *call)
{
	return call->argc > 0 ? call->argv[0] : NULL;
}

char *
call_next(struct call *call)
{
	if (call->argc == 0)
		return NULL;
	call->argc--;
	return *call->argv++;
}

bool
call_accept(struct call *call, const char *word, unsigned min)
{
	if (call->argc == 0 || !word_matches(call->argv[0], word, min))
		return false;
	call_next(call);
	return true;
}

char *
call_value(struct call *call, const char *keyword, const char *what)
{
	char *value = call_next(call);

	if (value == NULL)
		err_set(call->err, EINVAL, "%s: %s is missing", keyword, what);
	return value;
}

int
call_end(struct call *call)
{
	if (call->argc == 0)
		return 0;
	return err_set(call->err, EINVAL, "unexpected '%.60s'", call->argv[0]);
}
