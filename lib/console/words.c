/* SPDX-License-Identifier: BSD-3-Clause */
#include "internal.h"

#include <errno.h>

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Anything that could play tricks on a terminal when it is shown again. */
static bool
is_control(char c)
{
	return (unsigned char)c < ' ' || c == 0x7f;
}

/*
 * Copy one word from *from to *to without its quotes. A word may consist of
 * several quoted and plain pieces.
 */
static int
copy_word(const char **from, char **to, struct err *err)
{
	const char *s = *from;
	char *d = *to;
	char quote = '\0';

	for (; *s != '\0'; s++) {
		if (quote == '\0' && is_blank(*s))
			break;
		if (is_control(*s) && *s != '\t')
			return err_set(err, EINVAL, "byte 0x%02x is not text", (unsigned char)*s);
		if (quote == '\0' && (*s == '\'' || *s == '"')) {
			quote = *s;
		} else if (quote != '\0' && *s == quote) {
			quote = '\0';
		} else if (*s == '\\' && quote != '\'') {
			if (s[1] == '\0' || s[1] == '\n' || s[1] == '\r')
				return err_set(err, EINVAL, "nothing follows the backslash");
			/* Between double quotes it only protects what would end them. */
			if (quote == '\0' || s[1] == '"' || s[1] == '\\')
				s++;
			*d++ = *s;
		} else {
			*d++ = *s;
		}
	}
	if (quote != '\0')
		return err_set(err, EINVAL, "a closing %c is missing", quote);
	*d++ = '\0';
	*from = s;
	*to = d;
	return 0;
}

int
words_split(const char *line, char *text, char *words[CONSOLE_MAX_WORDS], struct err *err)
{
	int n = 0;
	int rc;

	for (;;) {
		while (is_blank(*line))
			line++;
		if (*line == '\0' || *line == '#')
			return n;
		if (n == CONSOLE_MAX_WORDS)
			return err_set(err, EINVAL, "more than %d words on a line",
				       CONSOLE_MAX_WORDS);
		words[n] = text;
		rc = copy_word(&line, &text, err);
		if (rc < 0)
			return rc;
		n++;
	}
}

/* 1: an option, taken; 0: not an option; -EINVAL: an option we do not know. */
static int
take_option(const char *word, struct line_options *options, struct err *err)
{
	if (word[0] != '-')
		return 0;
	if (strcmp(word, "-4") == 0)
		options->family = AF_INET;
	else if (strcmp(word, "-6") == 0)
		options->family = AF_INET6;
	else if (strcmp(word, "-j") == 0 || strcmp(word, "-json") == 0)
		options->json = true;
	else
		return err_set(err, EINVAL, "unknown option '%.40s'; there are -4, -6 and -j",
			       word);
	return 1;
}

int
words_take_options(char **words, int *n, struct line_options *options, struct err *err)
{
	int kept = 0;
	bool front = true;
	int rc;

	for (int i = 0; i < *n; i++) {
		rc = front ? take_option(words[i], options, err) : 0;
		if (rc < 0)
			return rc;
		if (rc > 0)
			continue;
		front = kept == 0 && strcmp(words[i], "ip") == 0;
		words[kept++] = words[i];
		/* Nothing to close up: the rest stays where it is. */
		if (!front && kept == i + 1)
			return 0;
	}
	*n = kept;
	return 0;
}

bool
console_line_wants_json(const char *line)
{
	bool ip = false;

	/* The same walk as above on the raw line, stopping at the first word
	 * that is neither an option nor `ip`: usually at once. */
	for (;;) {
		size_t len;

		while (is_blank(*line))
			line++;
		for (len = 0; line[len] != '\0' && !is_blank(line[len]); len++)
			;
		if ((len == 2 && memcmp(line, "-j", 2) == 0) ||
		    (len == 5 && memcmp(line, "-json", 5) == 0))
			return true;
		if (len == 2 && memcmp(line, "ip", 2) == 0 && !ip)
			ip = true;
		else if (len != 2 || line[0] != '-')
			return false;
		line += len;
	}
}
