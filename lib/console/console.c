/* SPDX-License-Identifier: BSD-3-Clause */
#include "internal.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

struct console *
console_create(void *ctx)
{
	struct console *console = calloc(1, sizeof(*console));

	if (console == NULL)
		return NULL;
	console->ctx = ctx;
	console_register(console, &help_command, 1);
	console_register(console, &source_command, 1);
	if (console->broken) {
		console_destroy(console);
		return NULL;
	}
	return console;
}

void
console_destroy(struct console *console)
{
	if (console == NULL)
		return;
	head_free(&console->root);
	for (unsigned i = 0; i < MAX_NESTED_CALL; i++)
		free(console->lines[i]);
	free(console->commands);
	free(console->placeholders);
	free(console->definitions);
	free(console);
}

void
console_register(struct console *console, const struct command *commands, unsigned n)
{
	const struct command **all;

	all = realloc(console->commands, (console->n_commands + n) * sizeof(*all));
	if (all == NULL) {
		console->broken = true;
		return;
	}
	console->commands = all;
	for (unsigned i = 0; i < n; i++) {
		all[console->n_commands++] = &commands[i];
		if (!head_add(&console->root, &commands[i]))
			console->broken = true;
	}
}

void
console_placeholder(struct console *console, const char *placeholder, complete_fn complete)
{
	struct placeholder *all;

	all = realloc(console->placeholders, (console->n_placeholders + 1) * sizeof(*all));
	if (all == NULL)
		return;
	console->placeholders = all;
	all[console->n_placeholders++] = (struct placeholder){placeholder, complete};
}

void
console_define(struct console *console, const char *word, const char *syntax)
{
	struct definition *all;

	all = realloc(console->definitions, (console->n_definitions + 1) * sizeof(*all));
	if (all == NULL)
		return;
	console->definitions = all;
	all[console->n_definitions++] = (struct definition){word, syntax};
}

/* Every answer of a command passes here: see that an error has its sentence. */
static int
check_answer(struct call *call, int rc)
{
	/* The words live in a line that is about to be used again. */
	call->argc = 0;
	call->argv = NULL;
	if (rc == CALL_MORE) {
		if (call->more != NULL)
			return rc;
		return err_set(call->err, EINVAL,
			       "the command stopped without saying how to go on");
	}
	if (rc < 0) {
		if (call->err != NULL && call->err->text[0] == '\0')
			err_set(call->err, -rc, "%s", strerror(-rc));
		return rc;
	}
	if (out_failed(call->out))
		return err_set(call->err, ENOMEM, "out of memory: the answer is not complete");
	return 0;
}

static int
run_line(struct console *console, const char *text, struct line *line, struct call *call)
{
	struct line_options options = {0};
	const struct node *node;
	unsigned used;
	int n, rc;

	n = words_split(text, line->text, line->words, call->err);
	if (n <= 0)
		return n;
	rc = words_take_options(line->words, &n, &options, call->err);
	if (rc < 0 || n == 0)
		return rc;
	node = head_resolve(&console->root, line->words, (unsigned)n, &used, call->err);
	if (node == NULL)
		return -EINVAL;
	call->head = node->path;
	call->head_n = node->depth;
	call->argc = n - (int)used;
	call->argv = line->words + used;
	call->family = options.family;
	return check_answer(call, node->run(call));
}

int
console_start(struct console *console, const char *line, struct out *out, struct call *call,
	      struct err *err)
{
	unsigned depth = console->running;
	int rc;

	*call = (struct call){.ctx = console->ctx, .out = out, .err = err, .console = console};
	if (err != NULL)
		err->text[0] = '\0';
	if (console->broken)
		return err_set(err, ENOMEM, "out of memory while commands were registered");
	if (strnlen(line, CONSOLE_MAX_LINE + 1) > CONSOLE_MAX_LINE)
		return err_set(err, EINVAL, "the line is longer than %d bytes", CONSOLE_MAX_LINE);
	if (depth == MAX_NESTED_CALL)
		return err_set(err, ELOOP, "commands run commands more than %d deep",
			       MAX_NESTED_CALL);
	if (console->lines[depth] == NULL) {
		console->lines[depth] = malloc(sizeof(struct line));
		if (console->lines[depth] == NULL)
			return err_set(err, ENOMEM, "out of memory");
	}
	console->running++;
	rc = run_line(console, line, console->lines[depth], call);
	console->running--;
	return rc;
}

int
call_continue(struct call *call)
{
	call->pause_ms = 0;
	return check_answer(call, call->more(call));
}

void
call_finish(struct call *call)
{
	if (call->state != NULL) {
		if (call->free_state != NULL)
			call->free_state(call->state);
		else
			free(call->state);
	}
	call->state = NULL;
	call->more = NULL;
	while (call->fd_n > 0)
		close(call->fds[--call->fd_n]);
	if (call->hung_up != NULL)
		call->hung_up(call->hung_up_arg);
	call->hung_up = NULL;
}

static void
drain(struct out *out, void (*write)(void *arg, const char *data, size_t size), void *arg)
{
	const char *data;
	size_t size;

	data = out_data(out, &size);
	if (size > 0 && write != NULL)
		write(arg, data, size);
	out_consume(out, size);
}

/* Carry a started call through. */
static int
run_to_end(struct call *call, int rc, void (*write)(void *arg, const char *data, size_t size),
	   void *arg)
{
	while (rc == CALL_MORE) {
		drain(call->out, write, arg);
		if (call->pause_ms > 0)
			poll(NULL, 0, (int)call->pause_ms);
		rc = call_continue(call);
	}
	call_finish(call);
	drain(call->out, write, arg);
	return rc;
}

int
console_run(struct console *console, const char *line, bool json,
	    void (*write)(void *arg, const char *data, size_t size), void *arg, struct err *err)
{
	struct out *out = out_create(json || console_line_wants_json(line));
	struct call call;
	int rc;

	if (out == NULL)
		return err_set(err, ENOMEM, "out of memory");
	rc = console_start(console, line, out, &call, err);
	rc = run_to_end(&call, rc, write, arg);
	out_destroy(out);
	return rc;
}
