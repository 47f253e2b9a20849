/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Heads live in a tree with one level a word, so that finding a line's command
 * takes a few comparisons however many commands there are: a file of a million
 * routes is read at millions of lines a second.
 */
#include "internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Heads a syntax with braces stands for, at most. */
#define MAX_HEADS 32

/* The other spellings iproute2 takes, in `ip` commands. */
static const struct synonym {
	const char *word;
	const char *other;
} ip_synonyms[] = {
	{"show", "list"},      {"show", "lst"},	       {"show", "ls"},	  {"addr", "address"},
	{"neigh", "neighbor"}, {"neigh", "neighbour"}, {"del", "delete"},
};

static bool
add_edge(struct node *from, const char *word, size_t len, bool synonym, struct node *to)
{
	struct edge *edges = realloc(from->edges, (from->n_edges + 1) * sizeof(*edges));
	char *copy;

	if (edges == NULL)
		return false;
	from->edges = edges;
	copy = strndup(word, len);
	if (copy == NULL)
		return false;
	edges[from->n_edges++] =
		(struct edge){.word = copy, .len = len, .synonym = synonym, .node = to};
	return true;
}

static bool
add_synonyms(struct node *from, const char *word, size_t len, struct node *to)
{
	if (from->depth == 0 || strcmp(from->path[0], "ip") != 0)
		return true;
	for (unsigned i = 0; i < sizeof(ip_synonyms) / sizeof(ip_synonyms[0]); i++) {
		const struct synonym *s = &ip_synonyms[i];

		if (strlen(s->word) == len && memcmp(s->word, word, len) == 0 &&
		    !add_edge(from, s->other, strlen(s->other), true, to))
			return false;
	}
	return true;
}

static const struct edge *
find_exact(const struct node *node, const char *word, size_t len)
{
	for (unsigned i = 0; i < node->n_edges; i++) {
		const struct edge *e = &node->edges[i];

		if (e->len == len && memcmp(e->word, word, len) == 0)
			return e;
	}
	return NULL;
}

/* The node one word further, made if need be; NULL when memory ran out. */
static struct node *
add_word(struct node *from, const char *word, size_t len)
{
	const struct edge *known = find_exact(from, word, len);
	struct node *to;

	if (known != NULL)
		return known->node;
	to = calloc(1, sizeof(*to));
	if (to == NULL)
		return NULL;
	to->depth = from->depth + 1;
	to->path = calloc(to->depth, sizeof(*to->path));
	if (to->path == NULL || !add_edge(from, word, len, false, to)) {
		free(to->path);
		free(to);
		return NULL;
	}
	if (from->depth > 0)
		memcpy(to->path, from->path, from->depth * sizeof(*to->path));
	to->path[from->depth] = from->edges[from->n_edges - 1].word;
	return add_synonyms(from, word, len, to) ? to : NULL;
}

void
head_free(struct node *root)
{
	for (unsigned i = 0; i < root->n_edges; i++) {
		if (!root->edges[i].synonym) {
			head_free(root->edges[i].node);
			free(root->edges[i].node);
		}
		free(root->edges[i].word);
	}
	free(root->edges);
	free(root->rows);
	free(root->path);
}

static bool
add_row(struct node *node, const struct command *command, const char *rest)
{
	struct row *rows = realloc(node->rows, (node->n_rows + 1) * sizeof(*rows));

	if (rows == NULL)
		return false;
	node->rows = rows;
	rows[node->n_rows++] = (struct row){command, rest};
	if (node->run == NULL)
		node->run = command->run;
	if (rest[strspn(rest, " ]")] != '\0')
		node->takes_words = true;
	return true;
}

/*
 * "{a|b}" in a head: extend each of the n nodes by each word, into next. Number
 * of nodes; 0: not that kind of brace, the head ends here; -1: out of memory.
 */
static int
add_alternatives(struct node **nodes, unsigned n, const char **at, struct node **next)
{
	struct token words[MAX_HEADS];
	unsigned n_words = 0;
	const char *s = *at;
	struct token token;
	int made = 0;

	do {
		if (!syntax_token(&s, &token) || !syntax_is_literal(&token) ||
		    n * (n_words + 1) > MAX_HEADS)
			return 0;
		words[n_words++] = token;
		if (!syntax_token(&s, &token))
			return 0;
	} while (token.start[0] == '|');
	if (token.start[0] != '}' || token.len != 1)
		return 0;
	for (unsigned i = 0; i < n; i++) {
		for (unsigned j = 0; j < n_words; j++) {
			next[made] = add_word(nodes[i], words[j].start, words[j].len);
			if (next[made++] == NULL)
				return -1;
		}
	}
	*at = s;
	return made;
}

/* "[show]" in a head; like add_alternatives(). */
static int
add_show(struct node **nodes, unsigned n, const char **at, struct node **next)
{
	const char *s = *at;
	struct token token;

	if (!syntax_token(&s, &token) || token.len != 4 || memcmp(token.start, "show", 4) != 0)
		return 0;
	*at = s;
	if (syntax_token(&s, &token) && token.start[0] == ']')
		*at = s;
	for (unsigned i = 0; i < n; i++) {
		next[i] = add_word(nodes[i], "show", 4);
		if (next[i] == NULL)
			return -1;
		if (nodes[i]->bare == NULL)
			nodes[i]->bare = next[i];
	}
	return (int)n;
}

bool
head_add(struct node *root, const struct command *command)
{
	struct node *sets[2][MAX_HEADS] = {{root}};
	struct node **nodes = sets[0], **next = sets[1], **swap;
	const char *at = command->syntax;
	const char *rest = at;
	struct token token;
	int n = 1;
	int made;

	while (syntax_token(&at, &token)) {
		bool show = token.start[0] == '[';

		if (token.start[0] == '-') {
			rest = at;
			continue;
		}
		if (show) {
			made = add_show(nodes, (unsigned)n, &at, next);
		} else if (token.start[0] == '{') {
			made = token.len > 1 ? 0 : add_alternatives(nodes, (unsigned)n, &at, next);
		} else if (syntax_is_literal(&token)) {
			for (made = 0; made < n; made++) {
				next[made] = add_word(nodes[made], token.start, token.len);
				if (next[made] == NULL)
					return false;
			}
		} else {
			made = 0;
		}
		if (made < 0)
			return false;
		if (made == 0)
			break;
		swap = nodes;
		nodes = next;
		next = swap;
		n = made;
		rest = at;
		if (show)
			break;
	}
	for (int i = 0; i < n; i++) {
		if (!add_row(nodes[i], command, rest))
			return false;
	}
	return true;
}

/* --- finding a line's command ------------------------------------------------- */

struct search {
	char **words;
	unsigned n;
	unsigned used;		/* words in the head that was found */
	const struct node *far; /* where the search got stuck, as deep as it came */
	unsigned far_words;
};

static const struct node *
search(struct search *s, const struct node *node, unsigned i)
{
	const struct node *found;
	const struct edge *exact;
	size_t len;

	if (s->far == NULL || i > s->far_words) {
		s->far = node;
		s->far_words = i;
	}
	if (i < s->n) {
		len = strlen(s->words[i]);
		exact = find_exact(node, s->words[i], len);
		if (exact != NULL) {
			found = search(s, exact->node, i + 1);
			if (found != NULL)
				return found;
		} else if (!node->takes_words && len > 0) {
			for (unsigned e = 0; e < node->n_edges; e++) {
				if (strncmp(node->edges[e].word, s->words[i], len) != 0)
					continue;
				found = search(s, node->edges[e].node, i + 1);
				if (found != NULL)
					return found;
			}
		}
	}
	s->used = i;
	if (node->run != NULL && (i == s->n || node->takes_words))
		return node;
	if (node->bare != NULL && i == s->n && node->bare->run != NULL)
		return node->bare;
	return NULL;
}

/* A sentence that grows. */
struct sentence {
	struct err *err;
	size_t len;
};

__attribute__((format(printf, 2, 3))) static void
say(struct sentence *s, const char *format, ...)
{
	size_t room = sizeof(s->err->text) - s->len;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(s->err->text + s->len, room, format, args);
	va_end(args);
	if (n > 0)
		s->len += (size_t)n < room ? (size_t)n : room - 1;
}

static void
say_expected(struct sentence *s, const struct node *node, const char *start, const char *between)
{
	for (unsigned i = 0; i < node->n_edges; i++) {
		if (strncmp(node->edges[i].word, start, strlen(start)) != 0 ||
		    node->edges[i].synonym)
			continue;
		say(s, "%s%s", between, node->edges[i].word);
		between = ", ";
	}
}

/* No command fits: say which word is wrong, and what could stand there. */
static int
explain(const struct search *search, const struct node *root, struct err *err)
{
	const struct node *node = search->far;
	unsigned bad = search->far_words;
	struct sentence s = {.err = err};
	const char *near = NULL;

	if (err == NULL)
		return -EINVAL;
	if (bad < search->n)
		near = head_near(node, search->words[bad]);
	if (node == root) {
		say(&s, "unknown command '%.40s'", search->words[bad]);
	} else {
		for (unsigned i = 0; i < search->n && i <= bad && i < 6; i++)
			say(&s, "%s%.40s", i == 0 ? "'" : " ", search->words[i]);
		say(&s, "': ");
		if (bad == search->n)
			say(&s, "a word is missing");
		else if (node->n_edges == 0)
			say(&s, "unexpected '%.40s'", search->words[bad]);
		else
			say(&s, "unknown word '%.40s'", search->words[bad]);
	}
	if (near != NULL)
		say(&s, "; did you mean '%s'?", near);
	else
		say_expected(&s, node, "", "; expected ");
	return -EINVAL;
}

/* The first word decides more than the others, so its abbreviation must fit one only. */
static const struct node *
resolve_abbreviated(struct search *s, const struct node *root, struct err *err)
{
	size_t len = strlen(s->words[0]);
	const struct node *found = NULL;
	unsigned used = 0;

	for (unsigned e = 0; e < root->n_edges; e++) {
		const struct node *other;

		if (strncmp(root->edges[e].word, s->words[0], len) != 0)
			continue;
		other = search(s, root->edges[e].node, 1);
		if (other != NULL && found != NULL) {
			struct sentence sentence = {.err = err};

			if (err == NULL)
				return NULL;
			say(&sentence, "'%.40s' is ambiguous", s->words[0]);
			say_expected(&sentence, root, s->words[0], ": it could be ");
			return NULL;
		}
		if (other != NULL) {
			found = other;
			used = s->used;
		}
	}
	s->used = used;
	if (found == NULL)
		explain(s, root, err);
	return found;
}

const struct node *
head_resolve(const struct node *root, char **words, unsigned n, unsigned *used, struct err *err)
{
	struct search s = {.words = words, .n = n, .far = root};
	const struct edge *first = find_exact(root, words[0], strlen(words[0]));
	const struct node *found;

	if (first != NULL) {
		found = search(&s, first->node, 1);
		if (found == NULL)
			explain(&s, root, err);
	} else if (words[0][0] != '\0') {
		found = resolve_abbreviated(&s, root, err);
	} else {
		found = NULL;
		err_set(err, EINVAL, "the command is an empty word");
	}
	*used = s.used;
	return found;
}

/*
 * Edits (a letter more, less, another, or two swapped) between two short words,
 * Damerau's distance restricted to neighbouring letters.
 */
static unsigned
distance(const char *a, size_t n, const char *b, size_t m)
{
	unsigned row[3][33];
	unsigned *before = row[0], *last = row[1], *now = row[2], *swap;

	for (size_t j = 0; j <= m; j++)
		last[j] = (unsigned)j;
	for (size_t i = 1; i <= n; i++) {
		now[0] = (unsigned)i;
		for (size_t j = 1; j <= m; j++) {
			unsigned d = last[j - 1] + (a[i - 1] != b[j - 1]);

			if (last[j] + 1 < d)
				d = last[j] + 1;
			if (now[j - 1] + 1 < d)
				d = now[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    before[j - 2] + 1 < d)
				d = before[j - 2] + 1;
			now[j] = d;
		}
		swap = before;
		before = last;
		last = now;
		now = swap;
	}
	return last[m];
}

const char *
head_near(const struct node *node, const char *typed)
{
	size_t len = strlen(typed);
	unsigned best = len <= 4 ? 2 : 3; /* one or two edits, no more */
	const char *near = NULL;

	if (len < 3 || len > 32)
		return NULL;
	for (unsigned i = 0; i < node->n_edges; i++) {
		const struct edge *e = &node->edges[i];
		unsigned d;

		if (e->len > 32)
			continue;
		d = distance(typed, len, e->word, e->len);
		if (d < best) {
			best = d;
			near = e->word;
		}
	}
	return near;
}
