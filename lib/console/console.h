/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CONSOLE_H
#define CONSOLE_H

/**
 * @file
 * One parser for every console line, wherever it was typed: file, terminal or
 * control socket. Control thread only.
 *
 * A line is words separated by blanks. 'single' and "double" quotes and a
 * backslash keep blanks and `#` in a word; `#` at the start of a word begins a
 * comment. At most CONSOLE_MAX_LINE bytes and CONSOLE_MAX_WORDS words.
 *
 * A command is one row: its syntax, one line of help, a function. The syntax
 * is what the user reads in `help` and what completion and matching work from:
 *
 *     "ip route add PREFIX [via ADDR] [dev PORT] [onlink] [vrf VRF]"
 *
 * The lower-case words at the front are the command's *head* and select it. It
 * ends at the first placeholder, option or brace, with two exceptions:
 *
 *     "port {start|stop} {PORT|all}"      braces around single words: two heads
 *     "ip route [show] [vrf VRF]"         [show]: a bare `ip route` shows too
 *
 * Options such as -6 in front of or inside a head are for the reader. What
 * follows the head is parsed by the function itself, because iproute2 lets it
 * come in any order; where nothing follows, the console refuses further words.
 *
 * Head words may be abbreviated (`ip a`, `ip ro a`). A whole word beats an
 * abbreviation, a longer head a shorter one, and else the first command in
 * order of registration wins, as in iproute2. Two limits keep an abbreviation
 * from doing what nobody meant: the first word of a line must be unambiguous,
 * and after a head that takes words of its own (`ip route add PREFIX`) the rest
 * of a longer head (`ip route add blackhole`) is written in full.
 *
 * In `ip` commands, iproute2's other spellings work: address, neighbor,
 * neighbour, list, lst, ls, delete.
 *
 * Two rows may have the same head; the first one's function is called, and both
 * are shown by help and completed. run may be NULL in the second.
 *
 * What may follow the head is written for completion in this way: WORDS with a
 * capital letter are placeholders (see console_placeholder()), [x] may be left
 * out, neighbouring [x] [y] come in any order and each once, {a|b} and [a|b] are
 * alternatives, x... may be repeated, and ... alone stands for anything. A placeholder
 * may be defined as a syntax itself, see console_define().
 *
 * A command with a long answer (a million routes) returns CALL_MORE and is
 * called again through call->more when there is room for more output.
 */

#include <stdbool.h>

#include "base.h"
#include "out.h"

struct console;
struct call;

#define CONSOLE_MAX_LINE  4096 /**< bytes, without the newline */
#define CONSOLE_MAX_WORDS 256

/** Not an error: call call->more again once output has been taken. */
#define CALL_MORE 1

/** 0, CALL_MORE, or a negative errno with call->err filled. */
typedef int (*command_fn)(struct call *call);

struct command {
	const char *syntax;
	const char *help; /**< one line, what it does */
	command_fn run;
	const char *details; /**< more lines for `help WORD`, or NULL */
};

/** One command being carried out. */
struct call {
	void *ctx;		 /**< what console_create was given */
	const char *const *head; /**< the head in full ("port", "start"), whatever was typed */
	unsigned head_n;
	int argc;	/**< words after the head that have not been taken */
	char **argv;	/**< valid until run returns (copy what `more` needs) */
	uint8_t family; /**< AF_INET after -4, AF_INET6 after -6, else 0 */
	struct out *out;
	struct err *err;
	command_fn more;   /**< set by run before it returns CALL_MORE */
	unsigned pause_ms; /**< set with each CALL_MORE: not before that long (ping waiting) */
	void *state;	   /**< run's memory for more; freed at the end, also when cut short */
	void (*free_state)(void *state); /**< how; NULL: free() */
	struct console *console;
	/**
	 * File descriptors that go with the answer, set by run: the control socket sends and then
	 * closes them, and calls hung_up(hung_up_arg) when the connection ends. Where there is no
	 * connection (file, terminal), both happen in call_finish().
	 */
	int fds[2];
	unsigned fd_n;
	void (*hung_up)(void *arg);
	void *hung_up_arg;
};

/** Words that may follow: calls add(arg, word) for each. ctx as in call. */
typedef void (*complete_fn)(void *ctx, void (*add)(void *arg, const char *word), void *arg);

/** ctx is handed to commands. NULL when out of memory. Registers `help` and `source` itself. */
struct console *console_create(void *ctx);
void console_destroy(struct console *console);

/** Add commands; the rows must outlive the console. Not from inside a command. Should
 * memory run out, every later line is refused. */
void console_register(struct console *console, const struct command *commands, unsigned n);
/** What a placeholder such as "PORT" can be, for completion. "PORT" also serves
 * "PORT[,PORT...]" and "PORT/LEN". The name must outlive the console. */
void console_placeholder(struct console *console, const char *placeholder, complete_fn complete);
/** Let a word in syntaxes, in definitions too, stand for a syntax of its own: "ITEM" for
 * "eth ... | ipv4 ...". Completion goes on inside it, help shows it below the commands that
 * use it. Both strings must outlive the console. */
void console_define(struct console *console, const char *word, const char *syntax);

/**
 * Start one line. Comments and blank lines do nothing. -j (JSON), -4 and -6 (the
 * family) may come first, and right after `ip`. *call is prepared and run; with
 * CALL_MORE the owner calls call_continue() as output drains, and it calls
 * call_finish() in every case. out must have been created with
 * json = console_line_wants_json(line), or true; out and err stay the owner's and must
 * live until call_finish(). err may be NULL.
 *
 * Returns 0, CALL_MORE, or a negative errno with a sentence in err. What a command
 * wrote before it failed is in out.
 */
bool console_line_wants_json(const char *line);
int console_start(struct console *console, const char *line, struct out *out, struct call *call,
		  struct err *err);
int call_continue(struct call *call);
/** May be called early: the command is cut short. May be called again. */
void call_finish(struct call *call);

/** console_start and call_continue until done, the output going to write(arg, data, size).
 * write may be NULL: nobody reads. */
int console_run(struct console *console, const char *line, bool json,
		void (*write)(void *arg, const char *data, size_t size), void *arg,
		struct err *err);

/** Run commands from a file or pipe up to the first error; err then reads
 * "FILE:LINE: what is wrong". `source FILE` inside a file nests, at most 8 deep. */
int console_run_file(struct console *console, const char *path,
		     void (*write)(void *arg, const char *data, size_t size), void *arg,
		     struct err *err);

/** TAB: words that can complete the line's last word; calls add for each.
 * Whole alternatives, sorted, each once. */
void console_complete(struct console *console, const char *line,
		      void (*add)(void *arg, const char *word), void *arg);

/* --- helpers for commands --------------------------------------------------- */

/** Is the head's word at index (from 0) this one? For heads with alternatives. */
bool call_head_is(const struct call *call, unsigned index, const char *word);

/** Take the next word, or NULL. */
char *call_next(struct call *call);
/** The next word without taking it, or NULL. */
char *call_peek(struct call *call);
/** Take the next word if it is word or an abbreviation of it of at least min letters. */
bool call_accept(struct call *call, const char *word, unsigned min);
/** Take the value after a keyword, or fail: "via: an address is missing". */
char *call_value(struct call *call, const char *keyword, const char *what);
/** Are the words used up? 0, or -EINVAL "unexpected 'foo'". */
int call_end(struct call *call);
/** Is typed a (at least min letters long) prefix of word? */
bool word_matches(const char *typed, const char *word, unsigned min);

#endif
