/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What may come next, read from a command's syntax string. The string is
 * parsed when somebody presses TAB, never while commands run.
 */
#include "internal.h"

#define MAX_ELEMENTS  384
#define MAX_SEQUENCES 192
/* Defined words in one syntax, those in definitions included. */
#define MAX_DEFINED 16

/* Ways tried at most: a syntax and a line that need more are not worth a pause. */
#define MAX_STEPS 4000

/* --- tokens ------------------------------------------------------------------- */

static bool
is_word_end(char c)
{
	return c == '\0' || c == ' ' || c == '}' || c == ']' || c == '|';
}

/* Behind the bracket or brace that closes the one at s, or NULL. */
static const char *
group_end(const char *s)
{
	unsigned depth = 0;

	for (; *s != '\0'; s++) {
		if (*s == '[' || *s == '{')
			depth++;
		else if ((*s == ']' || *s == '}') && --depth == 0)
			return s + 1;
	}
	return NULL;
}

/* Behind a word, with the groups inside it: "PORT[,PORT...]". */
static const char *
word_end(const char *s)
{
	while (!is_word_end(*s)) {
		const char *group = *s == '[' || *s == '{' ? group_end(s) : NULL;

		s = group != NULL ? group : s + 1;
	}
	return s;
}

/* "{ADDR|*}:PORT" is one word; "{a|b} c" and "{a|b}..." are not. */
static bool
starts_word(const char *brace)
{
	const char *end = group_end(brace);

	return end != NULL && !is_word_end(*end) && strncmp(end, "...", 3) != 0;
}

bool
syntax_token(const char **at, struct token *token)
{
	const char *s = *at;
	bool sign;

	while (*s == ' ')
		s++;
	if (*s == '\0')
		return false;
	sign = *s == '[' || *s == ']' || *s == '}' || *s == '|' || (*s == '{' && !starts_word(s));
	*at = sign ? s + 1 : word_end(s);
	*token = (struct token){s, (size_t)(*at - s)};
	return true;
}

static bool
is_sign(const struct token *token, char sign)
{
	return token->len == 1 && token->start[0] == sign;
}

static bool
is_dots(const struct token *token)
{
	return token->len == 3 && memcmp(token->start, "...", 3) == 0;
}

bool
syntax_is_literal(const struct token *token)
{
	if (memchr("{}[]|", token->start[0], 5) != NULL || is_dots(token))
		return false;
	for (size_t i = 0; i < token->len; i++) {
		if (token->start[i] >= 'A' && token->start[i] <= 'Z')
			return false;
	}
	return true;
}

const struct definition *
definition_find(const struct console *console, const struct token *token)
{
	for (unsigned i = 0; i < console->n_definitions; i++) {
		const struct definition *d = &console->definitions[i];

		if (strlen(d->word) == token->len && memcmp(d->word, token->start, token->len) == 0)
			return d;
	}
	return NULL;
}

/* --- parsing ------------------------------------------------------------------- */

enum kind {
	LITERAL,
	PLACEHOLDER,
	GROUP,	  /* one of the alternatives */
	ANYTHING, /* "..." alone: any words */
};

struct sequence;

struct element {
	enum kind kind;
	bool optional; /* a GROUP in square brackets */
	bool repeat;   /* followed by "..." */
	struct token token;
	struct sequence *alternatives;
	struct element *next;
};

struct sequence {
	struct element *first;
	struct sequence *next; /* the next alternative */
};

/* A word that stands for a syntax; its elements are shared by all who use it. */
struct defined {
	const struct definition *definition;
	struct sequence *alternatives;
};

struct syntax {
	const struct console *console;
	const char *at;
	struct defined defined[MAX_DEFINED];
	unsigned n_defined;
	struct element elements[MAX_ELEMENTS];
	struct sequence sequences[MAX_SEQUENCES];
	unsigned n_elements;
	unsigned n_sequences;
};

static struct sequence *parse(struct syntax *syntax);

/* Make a group of the element if its word is a defined one. */
static void
expand(struct syntax *syntax, struct element *e)
{
	const struct definition *definition = definition_find(syntax->console, &e->token);
	const char *at = syntax->at;
	struct defined *d;

	if (definition == NULL)
		return;
	for (unsigned i = 0; i < syntax->n_defined; i++) {
		d = &syntax->defined[i];
		/* Still being parsed: it would contain itself. */
		if (d->definition == definition && d->alternatives == NULL)
			return;
		if (d->definition == definition) {
			e->kind = GROUP;
			e->alternatives = d->alternatives;
			return;
		}
	}
	if (syntax->n_defined == MAX_DEFINED)
		return;
	d = &syntax->defined[syntax->n_defined++];
	d->definition = definition;
	d->alternatives = NULL;
	syntax->at = definition->syntax;
	d->alternatives = parse(syntax);
	syntax->at = at;
	if (d->alternatives == NULL)
		return;
	e->kind = GROUP;
	e->alternatives = d->alternatives;
}

/* Alternatives up to the closing sign or the end. NULL: too many. */
static struct sequence *
parse(struct syntax *syntax)
{
	struct sequence *first = NULL, *sequence = NULL;
	struct element **link = NULL, *last = NULL, *e;
	struct token token;
	bool more = true;

	for (;;) {
		if (sequence == NULL) {
			if (syntax->n_sequences == MAX_SEQUENCES)
				return NULL;
			sequence = &syntax->sequences[syntax->n_sequences++];
			*sequence = (struct sequence){0};
			link = &sequence->first;
			last = NULL;
			sequence->next = first;
			first = sequence;
		}
		more = syntax_token(&syntax->at, &token);
		if (!more || is_sign(&token, ']') || is_sign(&token, '}'))
			return first;
		if (is_sign(&token, '|')) {
			sequence = NULL;
			continue;
		}
		if (is_dots(&token) && last != NULL && token.start[-1] != ' ') {
			last->repeat = true;
			continue;
		}
		if (syntax->n_elements == MAX_ELEMENTS)
			return NULL;
		e = &syntax->elements[syntax->n_elements++];
		*e = (struct element){.token = token};
		if (is_dots(&token)) {
			e->kind = ANYTHING;
		} else if (is_sign(&token, '[') || is_sign(&token, '{')) {
			e->kind = GROUP;
			e->optional = token.start[0] == '[';
			e->alternatives = parse(syntax);
			if (e->alternatives == NULL)
				return NULL;
		} else {
			e->kind = syntax_is_literal(&token) ? LITERAL : PLACEHOLDER;
			if (token.len > 3 && memcmp(token.start + token.len - 3, "...", 3) == 0) {
				e->repeat = true;
				e->token.len -= 3;
			}
			if (e->kind == PLACEHOLDER)
				expand(syntax, e);
		}
		*link = e;
		link = &e->next;
		last = e;
	}
}

/* --- walking ------------------------------------------------------------------- */

/* Where to go on when a group has been left. */
struct place {
	const struct element *at;
	uint64_t used; /* of the options that start at `at`: those already taken */
	const struct place *outer;
};

struct walk {
	char **words;
	unsigned n;
	unsigned steps;
	syntax_fn fn;
	void *arg;
};

static void go(struct walk *w, const struct element *at, uint64_t used, const struct place *outer,
	       unsigned i);

/* Enter each alternative of a group; then goes on at then. */
static void
enter(struct walk *w, const struct element *group, const struct place *then, unsigned i)
{
	for (const struct sequence *s = group->alternatives; s != NULL; s = s->next)
		go(w, s->first, 0, then, i);
}

/* Neighbouring options: those not taken yet, in any order, or none of them. */
static void
go_options(struct walk *w, const struct element *first, uint64_t used, const struct place *outer,
	   unsigned i)
{
	const struct element *e = first;

	for (uint64_t bit = 1; e != NULL && e->optional; e = e->next, bit <<= 1) {
		struct place then = {first, e->repeat ? used : used | bit, outer};

		if ((used & bit) == 0)
			enter(w, e, &then, i);
	}
	go(w, e, 0, outer, i);
}

static bool
fits(const struct element *e, const char *word)
{
	return e->kind == PLACEHOLDER || (word[0] != '\0' && strlen(word) <= e->token.len &&
					  memcmp(word, e->token.start, strlen(word)) == 0);
}

/* From element `at`, with word i to be explained next; the last one is asked for. */
static void
go(struct walk *w, const struct element *at, uint64_t used, const struct place *outer, unsigned i)
{
	if (w->steps == 0)
		return;
	w->steps--;
	if (at == NULL) {
		if (outer != NULL)
			go(w, outer->at, outer->used, outer->outer, i);
		return;
	}
	if (at->optional) {
		go_options(w, at, used, outer, i);
		return;
	}
	switch (at->kind) {
	case LITERAL:
	case PLACEHOLDER:
		if (i == w->n) {
			w->fn(w->arg, &at->token);
		} else if (fits(at, w->words[i])) {
			go(w, at->next, 0, outer, i + 1);
			if (at->repeat)
				go(w, at, 0, outer, i + 1);
		}
		break;
	case ANYTHING:
		go(w, at->next, 0, outer, i);
		if (i < w->n)
			go(w, at, 0, outer, i + 1);
		break;
	case GROUP: {
		struct place then = {at->next, 0, outer};
		struct place again = {at, 0, outer};

		enter(w, at, &then, i);
		if (at->repeat)
			enter(w, at, &again, i);
		break;
	}
	}
}

void
syntax_follow(const struct console *console, const char *rest, char **words, unsigned n,
	      syntax_fn fn, void *arg)
{
	struct walk w = {.words = words, .n = n, .steps = MAX_STEPS, .fn = fn, .arg = arg};
	struct syntax syntax;
	const struct sequence *s;

	syntax.console = console;
	syntax.at = rest;
	syntax.n_defined = 0;
	syntax.n_elements = 0;
	syntax.n_sequences = 0;
	for (s = parse(&syntax); s != NULL; s = s->next)
		go(&w, s->first, 0, NULL, 0);
}
