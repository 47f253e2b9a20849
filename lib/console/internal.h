/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CONSOLE_INTERNAL_H
#define CONSOLE_INTERNAL_H

#include "console.h"

#define MAX_NESTED_SOURCE 8
/* Commands running inside commands; more than source alone can reach. */
#define MAX_NESTED_CALL 16

/*
 * --- heads: a tree of words, one level a word ------------------------------
 */

struct node;

struct edge {
	char *word;
	size_t len;
	bool synonym; /* another spelling, owned by another edge's node */
	struct node *node;
};

/* A command whose head ends at a node, and the syntax after the head. */
struct row {
	const struct command *command;
	const char *rest;
};

struct node {
	struct edge *edges;
	unsigned n_edges;
	const char **path; /* the words down to here, as struct call shows them */
	unsigned depth;
	command_fn run;	   /* of the first row that has one */
	bool takes_words;  /* something may follow the head */
	struct node *bare; /* run this one when nothing follows: "ip route [show]" */
	struct row *rows;
	unsigned n_rows;
};

struct placeholder {
	const char *name;
	complete_fn complete;
};

/* A word of syntaxes that stands for one. */
struct definition {
	const char *word;
	const char *syntax;
};

/* The words of a line that is being run; several when commands nest. */
struct line {
	char text[CONSOLE_MAX_LINE + 1];
	char *words[CONSOLE_MAX_WORDS];
};

struct console {
	void *ctx;
	struct node root;
	const struct command **commands; /* in order of registration, for help */
	unsigned n_commands;
	struct placeholder *placeholders;
	unsigned n_placeholders;
	struct definition *definitions;
	unsigned n_definitions;
	struct line *lines[MAX_NESTED_CALL]; /* made when first needed, then kept */
	unsigned running;		     /* how many of them are in use */
	unsigned source_depth;		     /* of the file whose line is being run */
	bool broken;			     /* registration ran out of memory */
};

/* What stands in front of a command's words. */
struct line_options {
	bool json;
	uint8_t family;
};

/* Split into words; text must have room for strlen(line) + 1 bytes. Number of words, or -EINVAL. */
int words_split(const char *line, char *text, char *words[CONSOLE_MAX_WORDS], struct err *err);

/* Take -4, -6 and -j away from the front and from behind `ip`; 0 or -EINVAL. */
int words_take_options(char **words, int *n, struct line_options *options, struct err *err);

/* Add a row under each of its heads; false when memory ran out. */
bool head_add(struct node *root, const struct command *command);
void head_free(struct node *root);

/* The command the words select, as its node, and the number of words in its
 * head as typed; NULL with err filled. */
const struct node *head_resolve(const struct node *root, char **words, unsigned n, unsigned *used,
				struct err *err);

/* The word a typed one was probably meant to be, or NULL. */
const char *head_near(const struct node *node, const char *typed);

/* --- syntax ----------------------------------------------------------------- */

/* One word of a syntax string. */
struct token {
	const char *start;
	size_t len;
};

/* The next token at *at: a bracket, brace, bar or "..." by itself, or a word with
 * what is attached to it ("PORT[,PORT...]"). False at the end. */
bool syntax_token(const char **at, struct token *token);

/* Is a word written as it stands (no capital letter in it)? */
bool syntax_is_literal(const struct token *token);

typedef void (*syntax_fn)(void *arg, const struct token *token);

/* Call fn for each literal and placeholder that may come after the words. */
void syntax_follow(const struct console *console, const char *rest, char **words, unsigned n,
		   syntax_fn fn, void *arg);

/* What the word was defined as, or NULL. */
const struct definition *definition_find(const struct console *console, const struct token *token);

/* --- built-in commands -------------------------------------------------------- */

extern const struct command help_command;
extern const struct command source_command;

#endif
