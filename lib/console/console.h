/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CONSOLE_H
#define CONSOLE_H

/**
 * @file
 * One parser for every console line, wherever it was typed: file, terminal or
 * control socket. Control thread only.
 *
 * A command is one row: its syntax, one line of help, a function. The syntax
 * is what the user reads in `help` and what completion and matching work from:
 *
 *     "ip route add PREFIX [via ADDR] [dev PORT] [onlink] [vrf VRF]"
 *
 * The lower-case words at the front (up to the first placeholder, option or
 * brace) are the command's *head* and select it; `{a|b}` in the head makes two
 * heads. What follows is parsed by the function itself, because iproute2 lets
 * it come in any order. Head words may be abbreviated: the first command in
 * order of registration whose head matches wins, as in iproute2 (`ip a`,
 * `ip r`, `ip ro a`), where a whole word beats an abbreviation.
 *
 * A command with a long answer (a million routes) returns CALL_MORE and is
 * called again through call->more when there is room for more output.
 */

#include <stdbool.h>

#include "base.h"
#include "out.h"

struct console;
struct call;

/** Not an error: call call->more again once output has been taken. */
#define CALL_MORE 1

/** 0, CALL_MORE, or a negative errno with call->err filled. */
typedef int (*command_fn)(struct call *call);

struct command {
	const char *syntax;
	const char *help;    /**< one line, what it does */
	command_fn run;
	const char *details; /**< more lines for `help WORD`, or NULL */
};

/** One command being carried out. */
struct call {
	void *ctx;          /**< what console_create was given */
	int argc;           /**< words after the head */
	char **argv;        /**< valid until run returns (copy what `more` needs) */
	uint8_t family;     /**< AF_INET after -4, AF_INET6 after -6, else 0 */
	struct out *out;
	struct err *err;
	command_fn more;    /**< set by run before it returns CALL_MORE */
	void *state;        /**< run's memory for more; freed with free() at the end */
	struct console *console;
};

/** Words that may follow: calls add(arg, word) for each. ctx as in call. */
typedef void (*complete_fn)(void *ctx, void (*add)(void *arg, const char *word), void *arg);

/** ctx is handed to commands. NULL when out of memory. Registers `help` itself. */
struct console *console_create(void *ctx);
void console_destroy(struct console *console);

/** Add commands; the rows must outlive the console. */
void console_register(struct console *console, const struct command *commands, unsigned n);
/** What a placeholder such as "PORT" can be, for completion. */
void console_placeholder(struct console *console, const char *placeholder, complete_fn complete);

/**
 * Start one line. Comments (from `#` at the start of a word) and blank lines do
 * nothing. `-j` first asks for JSON, and so does `ip -j ...`. *call is
 * prepared and run; with CALL_MORE the owner calls call_continue() as output drains, then
 * call_finish() in every case. out must be created by the owner with
 * json = console_line_wants_json(line).
 */
bool console_line_wants_json(const char *line);
int console_start(struct console *console, const char *line, struct out *out, struct call *call,
		  struct err *err);
int call_continue(struct call *call);
void call_finish(struct call *call);

/** console_start and call_continue until done, the output going to write(arg, data, size). */
int console_run(struct console *console, const char *line, bool json,
		void (*write)(void *arg, const char *data, size_t size), void *arg,
		struct err *err);

/** Run commands from a file; on error err reads "FILE:LINE: what is wrong".
 * `source FILE` inside a file nests, at most 8 deep. */
int console_run_file(struct console *console, const char *path,
		     void (*write)(void *arg, const char *data, size_t size), void *arg,
		     struct err *err);

/** TAB: words that can complete the line's last word; calls add for each.
 * Whole alternatives, sorted, each once. */
void console_complete(struct console *console, const char *line,
		      void (*add)(void *arg, const char *word), void *arg);

/* --- helpers for commands --------------------------------------------------- */

/** Take the next word, or NULL. */
char *call_next(struct call *call);
/** The next word without taking it, or NULL. */
char *call_peek(struct call *call);
/** Take the next word if it is word or an abbreviation of it of at least min letters. */
bool call_accept(struct call *call, const char *word, unsigned min);
/** Take the value after a keyword, or fail: "via: an address is missing". */
char *call_value(struct call *call, const char *keyword, const char *what);
/** The words are used up: 0, or -EINVAL "unexpected 'foo'". */
int call_end(struct call *call);
/** Is typed a (at least min letters long) prefix of word? */
bool word_matches(const char *typed, const char *word, unsigned min);

#endif
