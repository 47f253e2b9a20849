/* SPDX-License-Identifier: BSD-3-Clause */
#include "terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <termios.h>
#include <unistd.h>

#include <cmdline_rdline.h>
#include <cmdline_vt100.h>

#define PROMPT "noref> "

/* rdline silently drops what goes beyond its buffer (512 bytes in every release so
 * far): a line that fills it may have been cut. */
#define MAX_EDITED_LINE 511

/* What a pipe or a terminal takes without waiting once it is writable. */
#define WRITE_SIZE 4096

#define BACKGROUND_POLL_MS 300
#define CLOSE_WAIT_MS	   2000
#define SCREEN_WIDTH	   76
#define CTRL_C		   '\x03'

struct terminal {
	struct loop *loop;
	struct console *console;
	void (*on_eof)(void *arg);
	void *on_eof_arg;

	struct loop_fd *input;
	struct loop_fd *output;	  /* exists while something waits for room on it */
	bool deaf;		  /* standard output cannot be watched: drop what it gets */
	struct loop_timer *pause; /* the command asked for some time, or NULL */
	struct loop_timer *front; /* in the background: looks whether we still are */
	struct out *screen;	  /* bytes on their way to standard output */

	/* the line at work */
	bool busy;   /* from its start until all of its answer is on the screen */
	bool active; /* call has more to say */
	struct call call;
	struct err err;
	struct out *answer;
	bool failed; /* err is to be told when the screen has the rest */

	/* input */
	bool eof;
	size_t received; /* bytes in typed */
	char typed[CONSOLE_MAX_LINE + 1];

	/* a terminal, rather than a pipe or file */
	bool tty;
	bool background;
	bool want_prompt;
	struct rdline *rdline;
	bool have_line; /* rdline has put one into line */
	char line[CONSOLE_MAX_LINE + 1];
	char **choices; /* of a completion */
	unsigned n_choices;
	struct sigaction old_pipe, old_ttin, old_ttou;
};

/* For exit(): the terminal as it was before us. */
static struct termios saved_modes;
static bool modes_changed;

static void work(struct terminal *t);

/* --- terminal modes --------------------------------------------------------------- */

static void
restore_modes(void)
{
	if (modes_changed)
		tcsetattr(STDIN_FILENO, TCSANOW, &saved_modes);
	modes_changed = false;
}

/* Each key by itself, no echo, no signals: rdline handles Ctrl-C. */
static void
set_raw(void)
{
	struct termios modes;

	if (tcgetattr(STDIN_FILENO, &modes) < 0 || (modes.c_lflag & ICANON) == 0)
		return;
	saved_modes = modes;
	modes.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG);
	modes.c_cc[VMIN] = 1;
	modes.c_cc[VTIME] = 0;
	if (tcsetattr(STDIN_FILENO, TCSANOW, &modes) == 0)
		modes_changed = true;
}

static bool
in_background(void)
{
	pid_t front = tcgetpgrp(STDIN_FILENO);

	return front >= 0 && front != getpgrp();
}

/* --- output ------------------------------------------------------------------------- */

/* End the command at work; what it said and nobody has seen is dropped. */
static void
cut_short(struct terminal *t)
{
	if (t->active)
		call_finish(&t->call);
	t->active = false;
	loop_cancel(t->loop, t->pause);
	t->pause = NULL;
	out_reset(t->screen);
}

static void
on_writable(void *arg, uint32_t events)
{
	struct terminal *t = arg;
	const char *data;
	size_t size;
	ssize_t n;

	(void)events;
	data = out_data(t->screen, &size);
	if (size > 0) {
		n = write(STDOUT_FILENO, data, size < WRITE_SIZE ? size : WRITE_SIZE);
		if (n >= 0)
			out_consume(t->screen, (size_t)n);
		else if (errno != EAGAIN && errno != EINTR)
			cut_short(t); /* nobody reads any more */
	}
	work(t);
}

/* Be called when standard output has room. */
static void
want_output(struct terminal *t, bool want)
{
	if (want && t->output == NULL)
		t->output = loop_watch(t->loop, STDOUT_FILENO, EPOLLOUT, on_writable, t);
	t->deaf = want && t->output == NULL;
	if (!want) {
		loop_unwatch(t->loop, t->output);
		t->output = NULL;
	}
}

/* Is something on its way to standard output? */
static bool
is_unsent(struct terminal *t)
{
	if (t->deaf)
		out_consume(t->screen, out_pending(t->screen));
	return out_pending(t->screen) > 0;
}

static int
write_char(struct rdline *rdline, char c)
{
	struct terminal *t = rdline_get_opaque(rdline);

	out_append(t->screen, &c, 1);
	return 1;
}

/* --- completion ----------------------------------------------------------------------- */

static void
forget_choices(struct terminal *t)
{
	for (unsigned i = 0; i < t->n_choices; i++)
		free(t->choices[i]);
	free(t->choices);
	t->choices = NULL;
	t->n_choices = 0;
}

static void
add_choice(void *arg, const char *word)
{
	struct terminal *t = arg;
	char **choices = realloc(t->choices, (t->n_choices + 1) * sizeof(*choices));
	char *copy = strdup(word);

	if (choices != NULL)
		t->choices = choices;
	if (choices == NULL || copy == NULL) {
		free(copy);
		return;
	}
	choices[t->n_choices++] = copy;
}

/* Length of what all choices begin with. */
static size_t
common_length(const struct terminal *t)
{
	size_t n = strlen(t->choices[0]);

	for (unsigned i = 1; i < t->n_choices; i++) {
		size_t same = 0;

		while (same < n && t->choices[i][same] == t->choices[0][same])
			same++;
		n = same;
	}
	return n;
}

/* As many choices as a line of the screen holds, from *next on. */
static int
list_choices(const struct terminal *t, char *to, unsigned size, int *next)
{
	size_t width = 0, column = 0;

	for (unsigned i = 0; i < t->n_choices; i++) {
		if (strlen(t->choices[i]) + 2 > width)
			width = strlen(t->choices[i]) + 2;
	}
	to[0] = '\0';
	while ((unsigned)*next < t->n_choices && column + width < size &&
	       (column == 0 || column + width <= SCREEN_WIDTH)) {
		snprintf(to + column, size - column, "%-*s", (int)width, t->choices[*next]);
		column += width;
		(*next)++;
	}
	return column > 0 ? 1 : 0;
}

/*
 * rdline's completion: *state is 0 after TAB, -1 after `?`, and ours when it asks
 * for the next line of a list. 2: to completes the word; 1: to is a line of the
 * list; 0: nothing more.
 */
static int
complete(struct rdline *rdline, const char *line, char *to, unsigned size, int *state)
{
	struct terminal *t = rdline_get_opaque(rdline);
	bool tab = *state == 0;
	size_t typed = 0, common;

	if (*state > 0)
		return list_choices(t, to, size, state);
	forget_choices(t);
	console_complete(t->console, line, add_choice, t);
	*state = 0;
	if (t->n_choices == 0)
		return 0;
	for (const char *s = line; *s != '\0'; s++)
		typed = *s == ' ' || *s == '\t' ? 0 : typed + 1;
	common = common_length(t);
	if (tab && (t->n_choices == 1 || common > typed)) {
		snprintf(to, size, "%.*s%s", (int)(common > typed ? common - typed : 0),
			 t->choices[0] + (typed < common ? typed : common),
			 t->n_choices == 1 ? " " : "");
		return RDLINE_RES_COMPLETE;
	}
	return list_choices(t, to, size, state);
}

/* --- lines ------------------------------------------------------------------------------- */

/* rdline has a line. */
static void
validate(struct rdline *rdline, const char *line, unsigned size)
{
	struct terminal *t = rdline_get_opaque(rdline);
	size_t len = strcspn(line, "\n");
	const char *last = rdline_get_history_item(rdline, 0);

	(void)size; /* of the part in front of the cursor only */
	if (len > MAX_EDITED_LINE) {
		out_text(t->screen, "a line holds %d bytes here; `source FILE` takes longer ones\n",
			 MAX_EDITED_LINE);
		len = 0;
	}
	memcpy(t->line, line, len);
	t->line[len] = '\0';
	t->have_line = true;
	if (strspn(t->line, " \t") < len && (last == NULL || strcmp(last, t->line) != 0))
		rdline_add_history(rdline, t->line);
}

/* Give typed keys to rdline until a line is complete. */
static bool
next_edited_line(struct terminal *t)
{
	size_t used = 0;
	int rc;

	while (used < t->received && !t->have_line && !t->eof) {
		rc = rdline_char_in(t->rdline, t->typed[used++]);
		if (rc == RDLINE_RES_EOF || rc == RDLINE_RES_EXITED)
			t->eof = true;
	}
	t->received -= used;
	memmove(t->typed, t->typed + used, t->received);
	if (!t->have_line)
		return false;
	t->have_line = false;
	return true;
}

/* The next line of a pipe or file into t->line; an overlong one as an error. */
static bool
next_plain_line(struct terminal *t)
{
	char *newline = memchr(t->typed, '\n', t->received);
	size_t len = newline != NULL ? (size_t)(newline - t->typed) : t->received;
	size_t used = newline != NULL ? len + 1 : len;

	if (newline == NULL && (!t->eof || len == 0) && len < sizeof(t->typed))
		return false;
	if (len > CONSOLE_MAX_LINE) {
		/* The rest of it will be read as a line: stop before that. */
		fprintf(stderr, "the line is longer than %d bytes\n", CONSOLE_MAX_LINE);
		t->received = 0;
		t->eof = true;
		return false;
	}
	memcpy(t->line, t->typed, len);
	t->line[len] = '\0';
	if (memchr(t->line, '\0', len) != NULL) {
		fprintf(stderr, "a NUL byte: this is not a command\n");
		t->line[0] = '\0';
	}
	t->received -= used;
	memmove(t->typed, t->typed + used, t->received);
	return true;
}

/* A command has returned: its answer to the screen. */
static void
take_answer(struct terminal *t, int rc)
{
	const char *data;
	size_t size;

	data = out_data(t->answer, &size);
	out_append(t->screen, data, size);
	out_consume(t->answer, size);
	t->active = rc == CALL_MORE;
	if (t->active)
		return;
	call_finish(&t->call);
	if (rc < 0 && t->tty)
		out_text(t->screen, "%s\n", t->err.text);
	t->failed = rc < 0 && !t->tty;
}

static void
start_line(struct terminal *t)
{
	t->busy = true;
	t->answer = out_create(console_line_wants_json(t->line));
	if (t->answer == NULL) {
		out_text(t->screen, "out of memory\n");
		return;
	}
	take_answer(t, console_start(t->console, t->line, t->answer, &t->call, &t->err));
}

static void
finish_line(struct terminal *t)
{
	if (t->failed)
		fprintf(stderr, "%s\n", t->err.text);
	t->failed = false;
	t->busy = false;
	out_destroy(t->answer);
	t->answer = NULL;
	t->want_prompt = t->tty;
}

/* Ctrl-C while a command answers: keep what was typed after it. */
static void
interrupt(struct terminal *t, size_t at)
{
	t->received -= at + 1;
	memmove(t->typed, t->typed + at + 1, t->received);
	cut_short(t);
	out_text(t->screen, "^C\n");
}

/* --- turns -------------------------------------------------------------------------------- */

static void
end_pause(void *arg)
{
	struct terminal *t = arg;

	loop_cancel(t->loop, t->pause);
	t->pause = NULL;
	work(t);
}

/* Input is wanted when it can be used, and on a terminal always, for Ctrl-C. */
static void
settle(struct terminal *t, bool output)
{
	bool input =
		!t->eof && !t->background && t->received < sizeof(t->typed) && (t->tty || !t->busy);

	loop_change(t->loop, t->input, input ? EPOLLIN : 0);
	want_output(t, output);
}

/*
 * Do what can be done now: one step of the command at work, or the next lines.
 * Everything on the screen comes before anything new.
 */
static void
work(struct terminal *t)
{
	bool stepped = false;

	while (!is_unsent(t)) {
		if (t->active) {
			if ((stepped && !t->deaf) || t->pause != NULL)
				break;
			take_answer(t, call_continue(&t->call));
			stepped = true;
		} else if (t->busy) {
			finish_line(t);
			if (t->want_prompt)
				break;
		} else if (t->want_prompt) {
			t->want_prompt = false;
			rdline_newline(t->rdline, PROMPT);
		} else if (t->tty ? next_edited_line(t) : next_plain_line(t)) {
			start_line(t);
			stepped = true;
		} else {
			break;
		}
		if (t->active && t->call.pause_ms > 0 && t->pause == NULL)
			t->pause = loop_every(t->loop, t->call.pause_ms, end_pause, t);
	}
	settle(t, is_unsent(t) || t->want_prompt || (t->active && t->pause == NULL));
	/* Last, for it may close the terminal. */
	if (t->eof && !t->busy && !is_unsent(t) && t->on_eof != NULL) {
		void (*on_eof)(void *arg) = t->on_eof;

		t->on_eof = NULL;
		t->want_prompt = false;
		want_output(t, false);
		on_eof(t->on_eof_arg);
	}
}

/* --- input ---------------------------------------------------------------------------------- */

static void
look_for_foreground(void *arg)
{
	struct terminal *t = arg;

	if (in_background())
		return;
	loop_cancel(t->loop, t->front);
	t->front = NULL;
	t->background = false;
	if (t->tty)
		set_raw();
	t->want_prompt = t->tty && !t->busy;
	work(t);
}

/* Somebody else has the terminal: touch nothing until we are in front again. */
static void
go_to_background(struct terminal *t)
{
	t->background = true;
	if (t->front == NULL)
		t->front = loop_every(t->loop, BACKGROUND_POLL_MS, look_for_foreground, t);
	loop_change(t->loop, t->input, 0);
}

static void
on_readable(void *arg, uint32_t events)
{
	struct terminal *t = arg;
	size_t before = t->received;
	ssize_t n = -1;

	if (t->eof || t->received == sizeof(t->typed))
		return;
	if (t->background && (events & EPOLLHUP) == 0)
		return;
	/* A shell that stopped and continued us has put its own modes back. */
	if (t->tty && !in_background())
		set_raw();
	n = read(STDIN_FILENO, t->typed + before, sizeof(t->typed) - before);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0 && errno == EIO && in_background()) {
		go_to_background(t);
		return;
	}
	if (n <= 0) {
		t->eof = true;
		if (n < 0)
			t->received = 0;
	} else {
		t->received += (size_t)n;
	}
	for (size_t i = before; t->tty && t->busy && i < t->received; i++) {
		if (t->typed[i] == CTRL_C) {
			interrupt(t, i);
			break;
		}
	}
	work(t);
}

/* --- opening and closing ------------------------------------------------------------------------
 */

static void
ignore_signals(struct terminal *t)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};

	sigaction(SIGPIPE, &ignore, &t->old_pipe);
	sigaction(SIGTTIN, &ignore, &t->old_ttin);
	sigaction(SIGTTOU, &ignore, &t->old_ttou);
}

static void
restore_signals(struct terminal *t)
{
	sigaction(SIGPIPE, &t->old_pipe, NULL);
	sigaction(SIGTTIN, &t->old_ttin, NULL);
	sigaction(SIGTTOU, &t->old_ttou, NULL);
}

struct terminal *
terminal_open(struct loop *loop, struct console *console, void (*on_eof)(void *arg), void *arg,
	      struct err *err)
{
	static bool at_exit;
	struct terminal *t = calloc(1, sizeof(*t));

	if (t == NULL) {
		err_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	t->loop = loop;
	t->console = console;
	t->on_eof = on_eof;
	t->on_eof_arg = arg;
	t->tty = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	ignore_signals(t);
	t->screen = out_create(false);
	t->input = loop_watch(loop, STDIN_FILENO, EPOLLIN, on_readable, t);
	if (t->input == NULL)
		err_set(err, errno, "standard input: %s", strerror(errno));
	if (t->tty)
		t->rdline = rdline_new(write_char, validate, complete, t);
	if (t->screen == NULL || t->input == NULL || (t->tty && t->rdline == NULL)) {
		if (t->input != NULL)
			err_set(err, ENOMEM, "out of memory");
		terminal_close(t);
		return NULL;
	}
	if (!t->tty)
		return t;
	if (!at_exit)
		at_exit = atexit(restore_modes) == 0;
	if (in_background()) {
		go_to_background(t);
	} else {
		set_raw();
		t->want_prompt = true;
		want_output(t, true);
	}
	return t;
}

/* Write the rest, waiting for a slow reader, but not for one that has stopped. */
static void
write_rest(struct terminal *t)
{
	struct pollfd room = {.fd = STDOUT_FILENO, .events = POLLOUT};
	const char *data;
	size_t size;
	ssize_t n;

	for (;;) {
		data = out_data(t->screen, &size);
		if (size == 0 || poll(&room, 1, CLOSE_WAIT_MS) <= 0)
			return;
		n = write(STDOUT_FILENO, data, size < WRITE_SIZE ? size : WRITE_SIZE);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return;
		out_consume(t->screen, n > 0 ? (size_t)n : 0);
	}
}

void
terminal_close(struct terminal *t)
{
	bool at_prompt;

	if (t == NULL)
		return;
	at_prompt = t->tty && t->rdline != NULL && !t->busy && !t->want_prompt && !t->background;
	if (t->active)
		call_finish(&t->call);
	if (t->screen != NULL) {
		if (at_prompt)
			out_text(t->screen, "\n");
		write_rest(t);
	}
	if (t->failed)
		fprintf(stderr, "%s\n", t->err.text);
	restore_modes();
	restore_signals(t);
	forget_choices(t);
	rdline_free(t->rdline);
	loop_cancel(t->loop, t->pause);
	loop_cancel(t->loop, t->front);
	want_output(t, false);
	loop_unwatch(t->loop, t->input);
	out_destroy(t->answer);
	out_destroy(t->screen);
	free(t);
}
