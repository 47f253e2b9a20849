/* SPDX-License-Identifier: BSD-3-Clause */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>

#define SCREEN_WIDTH 78
#define MAX_SHOWN    16 /* definitions below a command */

/* Words of a syntax that are defined, and those in their definitions: each once. */
static void
collect_defined(const struct console *console, const char *syntax,
		const struct definition *found[MAX_SHOWN], unsigned *n)
{
	const struct definition *definition;
	struct token token;
	unsigned known;

	while (syntax_token(&syntax, &token)) {
		if (token.len > 3 && memcmp(token.start + token.len - 3, "...", 3) == 0)
			token.len -= 3;
		definition = definition_find(console, &token);
		for (known = 0; known < *n && found[known] != definition; known++)
			;
		if (definition == NULL || known < *n || *n == MAX_SHOWN)
			continue;
		found[(*n)++] = definition;
		collect_defined(console, definition->syntax, found, n);
	}
}

/* One alternative a line. */
static void
show_definition(struct out *out, const struct definition *definition)
{
	const char *start = definition->syntax, *at = start, *label = definition->word;
	int width = (int)strlen(label);
	unsigned depth = 0;
	struct token token;

	out_json_string(out, definition->word, definition->syntax);
	while (syntax_token(&at, &token)) {
		if (token.start[0] == '[' || (token.start[0] == '{' && token.len == 1))
			depth++;
		else if (token.start[0] == ']' || token.start[0] == '}')
			depth--;
		else if (token.start[0] == '|' && depth == 0) {
			out_text(out, "    %-*s  %.*s\n", width, label,
				 (int)(token.start - 1 - start), start);
			label = "";
			start = token.start + 2;
		}
	}
	out_text(out, "    %-*s  %s\n", width, label, start);
}

static void
show_definitions(struct out *out, const struct console *console, const char *syntax)
{
	const struct definition *found[MAX_SHOWN];
	unsigned n = 0;

	collect_defined(console, syntax, found, &n);
	if (n == 0)
		return;
	out_json_object(out, "where");
	for (unsigned i = 0; i < n; i++)
		show_definition(out, found[i]);
	out_json_end(out);
}

static void
describe(struct out *out, const struct console *console, const struct command *command)
{
	const char *line = command->details;

	if (out_is_json(out)) {
		out_json_object(out, NULL);
		out_json_string(out, "syntax", command->syntax);
		out_json_string(out, "help", command->help);
		out_json_string(out, "details", command->details);
		show_definitions(out, console, command->syntax);
		out_json_end(out);
		return;
	}
	out_text(out, "%s\n    %s\n", command->syntax, command->help);
	while (line != NULL && *line != '\0') {
		size_t len = strcspn(line, "\n");

		out_text(out, "    %.*s\n", (int)len, line);
		line += len + (line[len] == '\n');
	}
	show_definitions(out, console, command->syntax);
}

/* One line for each first word, with the words that may come second. */
static void
overview(const struct console *console, struct out *out)
{
	size_t width = 0;

	for (unsigned i = 0; i < console->root.n_edges; i++) {
		if (console->root.edges[i].len > width)
			width = console->root.edges[i].len;
	}
	for (unsigned i = 0; i < console->root.n_edges; i++) {
		const struct edge *first = &console->root.edges[i];
		size_t column = width + 4;
		const char *between = "";

		out_text(out, "  %-*s  ", (int)width, first->word);
		if (first->node->n_edges == 0 && first->node->n_rows > 0)
			out_text(out, "%s", first->node->rows[0].command->help);
		for (unsigned j = 0; j < first->node->n_edges; j++) {
			const struct edge *second = &first->node->edges[j];

			if (second->synonym)
				continue;
			if (column + second->len + 2 > SCREEN_WIDTH) {
				column = width + 4;
				out_text(out, ",\n%*s", (int)column, "");
				between = "";
			}
			out_text(out, "%s%s", between, second->word);
			between = ", ";
			column += second->len + 2;
		}
		out_text(out, "\n");
	}
	out_text(out, "`help WORD...` tells more, TAB completes, words may be abbreviated.\n"
		      "-j in front of a command asks for JSON, -4 and -6 for one IP family.\n");
}

/* Does a command hang in the tree at or under node? */
static bool
is_under(const struct node *node, const struct command *command)
{
	for (unsigned i = 0; i < node->n_rows; i++) {
		if (node->rows[i].command == command)
			return true;
	}
	for (unsigned i = 0; i < node->n_edges; i++) {
		if (!node->edges[i].synonym && is_under(node->edges[i].node, command))
			return true;
	}
	return false;
}

/* The node the words lead to, abbreviated or not; NULL: nowhere. */
static const struct node *
find_node(const struct node *node, char **words, int n)
{
	const struct node *found;

	if (n == 0)
		return node;
	for (unsigned min = 2; min > 0; min--) {
		for (unsigned i = 0; i < node->n_edges; i++) {
			const struct edge *e = &node->edges[i];

			/* Whole words first. */
			if (min == 2 ? strcmp(e->word, words[0]) != 0
				     : !word_matches(words[0], e->word, 1))
				continue;
			found = find_node(e->node, words + 1, n - 1);
			if (found != NULL)
				return found;
		}
	}
	return NULL;
}

/* Do all the words occur in the syntax or the sentence about it? */
static bool
mentions(const struct command *command, char **words, int n)
{
	for (int i = 0; i < n; i++) {
		if (strcasestr(command->syntax, words[i]) == NULL &&
		    strcasestr(command->help, words[i]) == NULL)
			return false;
	}
	return true;
}

static unsigned
describe_some(struct call *call, const struct node *under)
{
	const struct console *console = call->console;
	unsigned n = 0;

	for (unsigned i = 0; i < console->n_commands; i++) {
		const struct command *command = console->commands[i];

		if (under != NULL ? is_under(under, command)
				  : mentions(command, call->argv, call->argc)) {
			describe(call->out, console, command);
			n++;
		}
	}
	return n;
}

static int
run_help(struct call *call)
{
	const struct node *root = &call->console->root;
	const struct node *node = find_node(root, call->argv, call->argc);
	const char *near;
	unsigned n;

	if (call->argc == 0 && !out_is_json(call->out)) {
		overview(call->console, call->out);
		return 0;
	}
	out_json_array(call->out, NULL);
	n = describe_some(call, node);
	out_json_end(call->out);
	if (n > 0)
		return 0;
	near = head_near(root, call->argv[0]);
	if (near != NULL)
		return err_set(call->err, ENOENT, "no command knows '%.40s'; did you mean '%s'?",
			       call->argv[call->argc - 1], near);
	return err_set(call->err, ENOENT, "no command knows '%.40s'; try help alone",
		       call->argv[call->argc - 1]);
}

const struct command help_command = {
	"help [WORD...]", "what can be typed: all of it, or what has to do with WORD", run_help,
	"`help ip route` shows the commands that begin so; `help vrf` those that speak of it."};
