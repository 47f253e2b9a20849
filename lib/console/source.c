/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands from a file. A file is carried out in steps, so that a long one run
 * with `source` lets the control thread do its other work, and so that what its
 * commands print is taken away as it comes.
 */
#include "internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_SIZE      (64 * 1024)
#define LINES_PER_STEP 512

static_assert(READ_SIZE > CONSOLE_MAX_LINE, "a whole line must fit the buffer");

struct source {
	struct console *console;
	int fd;
	unsigned depth; /* 1: not run from another file */
	uint64_t line;	/* the number of the one that was read last */
	bool at_end;	/* nothing left to read behind the buffer */
	bool active;	/* call has more to say */
	struct call call;
	struct out *json; /* for -j lines; made when the first one comes */
	struct out *call_out;
	size_t start, end; /* what has been read and not yet used */
	char buffer[READ_SIZE + 1];
	char path[];
};

static void
source_close(void *state)
{
	struct source *s = state;

	call_finish(&s->call);
	out_destroy(s->json);
	close(s->fd);
	free(s);
}

/* Opening a pipe or device could block: only at start-up may it. */
static int
open_file(const char *path, bool regular, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | (regular ? O_NONBLOCK : 0));
	struct stat st;

	if (fd < 0)
		return err_set(err, errno, "%.200s: %s", path, strerror(errno));
	if (fstat(fd, &st) == 0) {
		if (S_ISREG(st.st_mode) || (!regular && !S_ISDIR(st.st_mode)))
			return fd;
		err_set(err, EINVAL, "%.200s: %s", path,
			S_ISDIR(st.st_mode) ? "is a directory" : "is not a regular file");
	}
	close(fd);
	return -EINVAL;
}

static int
source_open(struct console *console, const char *path, bool regular, struct source **source,
	    struct err *err)
{
	struct source *s;
	int fd;

	if (console->source_depth == MAX_NESTED_SOURCE)
		return err_set(err, ELOOP, "%.200s: files source each other more than %d deep",
			       path, MAX_NESTED_SOURCE);
	fd = open_file(path, regular, err);
	if (fd < 0)
		return fd;
	s = malloc(sizeof(*s) + strlen(path) + 1);
	if (s == NULL) {
		close(fd);
		return err_set(err, ENOMEM, "out of memory");
	}
	memset(s, 0, offsetof(struct source, buffer));
	s->console = console;
	s->fd = fd;
	s->depth = console->source_depth + 1;
	memcpy(s->path, path, strlen(path) + 1);
	*source = s;
	return 0;
}

/* Read on behind what has not been used; 0 or a negative errno. */
static int
fill(struct source *s, struct err *err)
{
	ssize_t n;

	memmove(s->buffer, s->buffer + s->start, s->end - s->start);
	s->end -= s->start;
	s->start = 0;
	do
		n = read(s->fd, s->buffer + s->end, READ_SIZE - s->end);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return err_set(err, errno, "%s", strerror(errno));
	s->end += (size_t)n;
	s->at_end = n == 0;
	return 0;
}

/* The next line in *line, NULL at the end of the file; 0 or a negative errno. */
static int
next_line(struct source *s, char **line, struct err *err)
{
	char *start, *newline;
	size_t len;
	int rc;

	for (;;) {
		start = s->buffer + s->start;
		len = s->end - s->start;
		newline = memchr(start, '\n', len);
		if (newline != NULL)
			len = (size_t)(newline - start);
		if (newline != NULL || len > CONSOLE_MAX_LINE || s->at_end)
			break;
		rc = fill(s, err);
		if (rc < 0)
			return rc;
	}
	*line = NULL;
	if (newline == NULL && len == 0)
		return 0;
	s->line++;
	if (len > 0 && start[len - 1] == '\r')
		len--;
	if (memchr(start, '\0', len < CONSOLE_MAX_LINE ? len : CONSOLE_MAX_LINE) != NULL)
		return err_set(err, EINVAL, "a NUL byte: this is not a file of commands");
	if (len > CONSOLE_MAX_LINE)
		return err_set(err, EINVAL, "the line is longer than %d bytes", CONSOLE_MAX_LINE);
	start[len] = '\0';
	s->start = newline != NULL ? (size_t)(newline + 1 - s->buffer) : s->end;
	*line = start;
	return 0;
}

/* Where a line's answer is written: straight to out, but a JSON document in a
 * text answer, and each of several JSON documents, needs a generator of its own. */
static struct out *
out_for_line(struct source *s, const char *line, struct out *out)
{
	if (!out_is_json(out) && !console_line_wants_json(line))
		return out;
	if (s->json == NULL)
		s->json = out_create(true);
	else
		out_reset(s->json);
	return s->json;
}

static void
move_output(struct source *s, struct out *out)
{
	const char *data;
	size_t size;

	if (s->call_out == NULL || s->call_out == out)
		return;
	data = out_data(s->call_out, &size);
	out_append(out, data, size);
	out_consume(s->call_out, size);
}

/* Start the next line, or go on with the one that has more to say. Sets
 * *at_end instead when there is none. */
static int
step_line(struct source *s, struct out *out, struct err *err, bool *at_end)
{
	char *line;
	int rc;

	if (s->active) {
		rc = call_continue(&s->call);
	} else {
		rc = next_line(s, &line, err);
		if (rc < 0)
			return rc;
		*at_end = line == NULL;
		if (line == NULL)
			return 0;
		s->call_out = out_for_line(s, line, out);
		if (s->call_out == NULL)
			return err_set(err, ENOMEM, "out of memory");
		rc = console_start(s->console, line, s->call_out, &s->call, err);
	}
	move_output(s, out);
	s->active = rc == CALL_MORE;
	if (!s->active)
		call_finish(&s->call);
	return rc;
}

/* Carry out some lines; 0 at the end of the file, CALL_MORE before, or a negative errno. */
static int
source_step(struct source *s, struct out *out, struct err *err)
{
	unsigned outer_depth = s->console->source_depth;
	bool at_end = false;
	int rc = 0;

	s->console->source_depth = s->depth;
	for (unsigned i = 0; i < LINES_PER_STEP && !at_end && !out_full(out) && rc == 0; i++)
		rc = step_line(s, out, err, &at_end);
	s->console->source_depth = outer_depth;
	if (rc < 0)
		return err_prefix(err, rc, "%.200s:%" PRIu64, s->path, s->line > 0 ? s->line : 1);
	return at_end ? 0 : CALL_MORE;
}

static int
more_source(struct call *call)
{
	struct source *s = call->state;
	int rc = source_step(s, call->out, call->err);

	call->pause_ms = s->active ? s->call.pause_ms : 0;
	return rc;
}

static int
run_source(struct call *call)
{
	const char *path = call_value(call, "source", "a file name");
	struct source *s;
	int rc;

	if (path == NULL)
		return -EINVAL;
	rc = call_end(call);
	if (rc == 0)
		rc = source_open(call->console, path, true, &s, call->err);
	if (rc < 0)
		return rc;
	call->state = s;
	call->free_state = source_close;
	call->more = more_source;
	return more_source(call);
}

const struct command source_command = {
	"source FILE", "run the commands in FILE, up to the first error", run_source,
	"A name that does not begin with / starts from the folder noref was started in.\n"
	"A file may source others, 8 deep. What was done before an error stays done."};

int
console_run_file(struct console *console, const char *path,
		 void (*write)(void *arg, const char *data, size_t size), void *arg,
		 struct err *err)
{
	struct out *out = out_create(false);
	struct source *s = NULL;
	const char *data;
	size_t size;
	int rc;

	if (out == NULL)
		return err_set(err, ENOMEM, "out of memory");
	rc = source_open(console, path, false, &s, err);
	if (rc == 0)
		rc = CALL_MORE;
	while (rc == CALL_MORE) {
		rc = source_step(s, out, err);
		data = out_data(out, &size);
		if (size > 0 && write != NULL)
			write(arg, data, size);
		out_consume(out, size);
		if (rc == CALL_MORE && s->active && s->call.pause_ms > 0)
			poll(NULL, 0, (int)s->call.pause_ms);
	}
	if (s != NULL)
		source_close(s);
	out_destroy(out);
	return rc;
}
