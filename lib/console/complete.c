/* SPDX-License-Identifier: BSD-3-Clause */
#include "internal.h"

#include <stdlib.h>

struct completion {
	const struct console *console;
	const char *partial; /* what has been typed of the last word */
	const char *list;    /* in "0,1,2": the part behind the last comma, else NULL */
	char **found;
	unsigned n;
	unsigned size;
	char **words; /* the whole words in front of it */
	unsigned n_words;
};

static void
keep(struct completion *c, const char *front, size_t front_len, const char *word, size_t len)
{
	char *copy;

	if (c->n == c->size) {
		unsigned size = c->size != 0 ? 2 * c->size : 32;
		char **found = realloc(c->found, size * sizeof(*found));

		if (found == NULL)
			return;
		c->found = found;
		c->size = size;
	}
	copy = malloc(front_len + len + 1);
	if (copy == NULL)
		return;
	memcpy(copy, front, front_len);
	memcpy(copy + front_len, word, len);
	copy[front_len + len] = '\0';
	c->found[c->n++] = copy;
}

static void
offer(struct completion *c, const char *word, size_t len)
{
	const char *typed = c->list != NULL ? c->list : c->partial;
	size_t typed_len = strlen(typed);

	if (len > 0 && len >= typed_len && memcmp(word, typed, typed_len) == 0)
		keep(c, c->partial, (size_t)(typed - c->partial), word, len);
}

static void
offer_word(void *arg, const char *word)
{
	offer(arg, word, strlen(word));
}

/* "PORT" for "PORT[,PORT...]" and "PORT/LEN". */
static size_t
name_length(const struct token *token)
{
	size_t n = 0;

	while (n < token->len && ((token->start[n] >= 'A' && token->start[n] <= 'Z') ||
				  token->start[n] == '_' || token->start[n] == '-'))
		n++;
	return n;
}

static const struct placeholder *
find_placeholder(const struct console *console, const char *name, size_t len)
{
	for (unsigned i = 0; i < console->n_placeholders; i++) {
		const struct placeholder *p = &console->placeholders[i];

		if (strlen(p->name) == len && memcmp(p->name, name, len) == 0)
			return p;
	}
	return NULL;
}

static void
offer_token(void *arg, const struct token *token)
{
	struct completion *c = arg;
	const struct placeholder *p;
	const char *comma;

	if (syntax_is_literal(token)) {
		offer(c, token->start, token->len);
		return;
	}
	p = find_placeholder(c->console, token->start, token->len);
	if (p == NULL)
		p = find_placeholder(c->console, token->start, name_length(token));
	if (p == NULL)
		return;
	comma = strrchr(c->partial, ',');
	if (comma != NULL && memmem(token->start, token->len, "[,", 2) != NULL)
		c->list = comma + 1;
	p->complete(c->console->ctx, offer_word, c);
	c->list = NULL;
}

/* Words from i on remain to be explained by what hangs under node. */
static void
complete_under(struct completion *c, const struct node *node, unsigned i)
{
	bool exact = false;

	for (unsigned r = 0; r < node->n_rows; r++) {
		if (node->rows[r].command == &help_command)
			complete_under(c, &c->console->root, i); /* its words are ours */
		else
			syntax_follow(c->console, node->rows[r].rest, c->words + i, c->n_words - i,
				      offer_token, c);
	}
	if (i == c->n_words) {
		for (unsigned e = 0; e < node->n_edges; e++) {
			if (!node->edges[e].synonym)
				offer(c, node->edges[e].word, node->edges[e].len);
		}
		return;
	}
	for (unsigned e = 0; e < node->n_edges; e++)
		exact |= strcmp(node->edges[e].word, c->words[i]) == 0;
	for (unsigned e = 0; e < node->n_edges; e++) {
		const struct edge *edge = &node->edges[e];

		if (exact ? strcmp(edge->word, c->words[i]) == 0
			  : !node->takes_words && word_matches(c->words[i], edge->word, 1))
			complete_under(c, edge->node, i + 1);
	}
}

static int
compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool
ends_in_blank(const char *line)
{
	size_t len = strlen(line);

	return len == 0 || strchr(" \t\r\n", line[len - 1]) != NULL;
}

void
console_complete(struct console *console, const char *line,
		 void (*add)(void *arg, const char *word), void *arg)
{
	struct completion c = {.console = console, .partial = ""};
	struct line_options options = {0};
	struct line *l;
	int n;

	if (strlen(line) > CONSOLE_MAX_LINE)
		return;
	l = malloc(sizeof(*l));
	if (l == NULL)
		return;
	n = words_split(line, l->text, l->words, NULL);
	if (n > 0 && !ends_in_blank(line))
		c.partial = l->words[--n];
	if (n < 0 || words_take_options(l->words, &n, &options, NULL) < 0)
		goto done;
	c.words = l->words;
	c.n_words = (unsigned)n;
	if (c.partial[0] == '-' && (n == 0 || (n == 1 && strcmp(l->words[0], "ip") == 0))) {
		offer_word(&c, "-4");
		offer_word(&c, "-6");
		offer_word(&c, "-j");
	}
	complete_under(&c, &console->root, 0);
	if (c.n > 0)
		qsort(c.found, c.n, sizeof(*c.found), compare);
	for (unsigned i = 0; i < c.n; i++) {
		if (i == 0 || strcmp(c.found[i - 1], c.found[i]) != 0)
			add(arg, c.found[i]);
	}
done:
	for (unsigned i = 0; i < c.n; i++)
		free(c.found[i]);
	free(c.found);
	free(l);
}
