/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Run console commands in a running noref: the other end of its control
 * socket (lib/ctl/ctl.h tells the protocol). Plain libc, so that it starts at
 * once and runs wherever a shell script does.
 */
#include <errno.h>
#include <getopt.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef NOREF_VERSION
#define NOREF_VERSION "unknown"
#endif

#define FOLDER	     "/run/noref"
#define DEFAULT_PATH FOLDER "/rte.sock" /* "rte" is EAL's default file-prefix */
#define MAX_LINE     4096		/* as the server takes it, without the newline */

#define EXIT_BAD_USAGE 2

struct connection {
	int fd;
	size_t start, end; /* what has been received and not yet used */
	char buffer[64 * 1024];
};

static const char usage[] =
	"Usage: noref-ctl [-s PATH] [-j] COMMAND...\n"
	"       noref-ctl [-s PATH] [-j] < FILE\n"
	"\n"
	"Run a console command in a running noref, or the commands on standard input, one\n"
	"a line, up to the first error. `noref-ctl help` lists the commands.\n"
	"\n"
	"  -s, --socket PATH  its control socket; by default " DEFAULT_PATH ",\n"
	"                     or the only one in " FOLDER " that answers\n"
	"  -j, --json         print JSON\n"
	"  -h, --help         print this\n"
	"      --version      print the version\n"
	"\n"
	"Exit status: 0; 1 if a command failed or noref cannot be reached; 2 for bad usage.\n";

/* A connected socket, or -1 with errno. */
static int
try_connect(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd, saved;

	if (strlen(path) >= sizeof(addr.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(addr.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	if (connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) == 0)
		return fd;
	saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

static const char *
reason(int error)
{
	switch (error) {
	case ENOENT:
		return "no such socket; is noref running?";
	case ECONNREFUSED:
		return "nobody answers there; noref has ended";
	default:
		return strerror(error);
	}
}

/* The default socket is not there: is there just one other that answers? */
static int
connect_only_one(void)
{
	glob_t found = {0};
	const char *first = NULL;
	bool several = false;
	int fd = -1;

	glob(FOLDER "/*.sock", 0, NULL, &found);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		int other = try_connect(found.gl_pathv[i]);

		if (other < 0)
			continue;
		if (fd < 0) {
			fd = other;
			first = found.gl_pathv[i];
			continue;
		}
		close(other);
		if (!several)
			fprintf(stderr,
				"noref-ctl: several are running; choose one with -s:\n  %s\n",
				first);
		several = true;
		fprintf(stderr, "  %s\n", found.gl_pathv[i]);
	}
	if (fd < 0)
		fprintf(stderr, "noref-ctl: no noref answers at " DEFAULT_PATH
				" or elsewhere in " FOLDER "; is it running? (-s names another "
				"socket)\n");
	globfree(&found);
	if (several) {
		close(fd);
		return -1;
	}
	return fd;
}

static int
connect_to(const char *path)
{
	int fd = try_connect(path != NULL ? path : DEFAULT_PATH);

	if (fd >= 0)
		return fd;
	if (path == NULL && (errno == ENOENT || errno == ECONNREFUSED))
		return connect_only_one();
	fprintf(stderr, "noref-ctl: %s: %s\n", path != NULL ? path : DEFAULT_PATH, reason(errno));
	return -1;
}

static bool
send_all(int fd, const char *data, size_t size)
{
	while (size > 0) {
		ssize_t n = send(fd, data, size, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		data += n;
		size -= (size_t)n;
	}
	return true;
}

/* Receive some more; false when the connection has ended. */
static bool
receive(struct connection *c)
{
	ssize_t n;

	if (c->start == c->end)
		c->start = c->end = 0;
	do
		n = recv(c->fd, c->buffer + c->end, sizeof(c->buffer) - c->end, 0);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return false;
	c->end += (size_t)n;
	return true;
}

/* "K SIZE\n" into *kind and *size. */
static bool
receive_header(struct connection *c, char *kind, size_t *size)
{
	char header[32];
	size_t n = 0;
	char *end;

	for (;;) {
		if (c->start == c->end && !receive(c))
			return false;
		header[n] = c->buffer[c->start++];
		if (header[n] == '\n')
			break;
		if (++n == sizeof(header))
			return false;
	}
	header[n] = '\0';
	*kind = header[0];
	if (strchr("01+", *kind) == NULL || *kind == '\0' || header[1] != ' ' || header[2] < '0' ||
	    header[2] > '9')
		return false;
	*size = strtoull(header + 2, &end, 10);
	return *end == '\0';
}

/* Print size bytes of an answer. */
static bool
pass_on(struct connection *c, size_t size, FILE *to)
{
	while (size > 0) {
		size_t n = c->end - c->start;

		if (n == 0) {
			if (!receive(c))
				return false;
			continue;
		}
		if (n > size)
			n = size;
		fwrite(c->buffer + c->start, 1, n, to);
		c->start += n;
		size -= n;
	}
	return true;
}

/*
 * Run one line. Exit status. where, if any, goes in front of an error: which
 * line of standard input it was.
 */
static int
run(struct connection *c, const char *line, size_t size, bool json, unsigned long where)
{
	char kind = '+';
	size_t n;

	if ((json && !send_all(c->fd, "-j ", 3)) || !send_all(c->fd, line, size) ||
	    !send_all(c->fd, "\n", 1)) {
		/* It may have said why before it closed. */
		if (c->start == c->end && !receive(c))
			goto lost;
	}
	while (kind == '+') {
		if (!receive_header(c, &kind, &n))
			goto lost;
		if (kind == '1') {
			fflush(stdout);
			if (where > 0)
				fprintf(stderr, "line %lu: ", where);
		}
		if (!pass_on(c, n, kind == '1' ? stderr : stdout))
			goto lost;
	}
	return kind == '0' ? 0 : 1;
lost:
	fflush(stdout);
	fprintf(stderr, "noref-ctl: noref closed the connection before it had answered\n");
	return 1;
}

static int
run_input(struct connection *c, bool json)
{
	size_t room = 0;
	char *line = NULL;
	unsigned long number = 0;
	int status = 0;
	ssize_t n;

	while (status == 0 && (n = getline(&line, &room, stdin)) >= 0) {
		number++;
		if (n > 0 && line[n - 1] == '\n')
			n--;
		if (memchr(line, '\0', (size_t)n) != NULL) {
			fprintf(stderr, "line %lu: a NUL byte: this is not text\n", number);
			status = 1;
		} else if ((size_t)n + (json ? 3 : 0) > MAX_LINE) {
			fprintf(stderr, "line %lu: the line is longer than %d bytes\n", number,
				MAX_LINE);
			status = 1;
		} else {
			status = run(c, line, (size_t)n, json, number);
			/* Whoever reads along sees each answer as it comes. */
			fflush(stdout);
		}
	}
	if (status == 0 && ferror(stdin)) {
		fprintf(stderr, "noref-ctl: standard input: %s\n", strerror(errno));
		status = 1;
	}
	free(line);
	return status;
}

/* Append a word so that the console reads it as the shell gave it to us. */
static size_t
quote(char *to, const char *word)
{
	char *start = to;

	if (word[0] != '\0' && word[0] != '#' && strpbrk(word, " \t'\"\\") == NULL) {
		strcpy(to, word);
		return strlen(word);
	}
	*to++ = '\'';
	for (; *word != '\0'; word++) {
		if (*word == '\'') {
			strcpy(to, "'\\''");
			to += 4;
		} else {
			*to++ = *word;
		}
	}
	*to++ = '\'';
	return (size_t)(to - start);
}

/*
 * The words of a command as one line, *size bytes of it; the caller frees it. NULL
 * when they do not make one, having said why.
 */
static char *
join_arguments(char **words, int n, size_t max, size_t *size)
{
	size_t room = 1, used = 0;
	char *line;

	for (int i = 0; i < n; i++) {
		if (strpbrk(words[i], "\r\n") != NULL) {
			fprintf(stderr, "noref-ctl: a command is one line\n");
			return NULL;
		}
		room += 4 * strlen(words[i]) + 3;
	}
	line = malloc(room);
	if (line == NULL) {
		fprintf(stderr, "noref-ctl: out of memory\n");
		return NULL;
	}
	/* One argument is a whole line: noref-ctl "show port stats all". */
	if (n == 1) {
		used = strlen(words[0]);
		memcpy(line, words[0], used);
	}
	for (int i = 0; i < n && n > 1; i++) {
		if (i > 0)
			line[used++] = ' ';
		used += quote(line + used, words[i]);
	}
	if (used > max) {
		fprintf(stderr, "noref-ctl: the command is longer than %zu bytes\n", max);
		free(line);
		return NULL;
	}
	*size = used;
	return line;
}

int
main(int argc, char **argv)
{
	static const struct option options[] = {{"socket", required_argument, NULL, 's'},
						{"json", no_argument, NULL, 'j'},
						{"help", no_argument, NULL, 'h'},
						{"version", no_argument, NULL, 'V'},
						{0}};
	static struct connection c;
	const char *path = NULL;
	char *line = NULL;
	size_t size = 0;
	bool json = false;
	int option, status;

	/* '+': the first word of the command ends our options; its own, such
	 * as -6, come later. */
	while ((option = getopt_long(argc, argv, "+s:jh", options, NULL)) != -1) {
		switch (option) {
		case 's':
			path = optarg;
			break;
		case 'j':
			json = true;
			break;
		case 'h':
			fputs(usage, stdout);
			return 0;
		case 'V':
			puts("noref-ctl " NOREF_VERSION);
			return 0;
		default:
			fputs("Try 'noref-ctl --help'.\n", stderr);
			return EXIT_BAD_USAGE;
		}
	}
	if (optind < argc) {
		line = join_arguments(argv + optind, argc - optind, MAX_LINE - (json ? 3 : 0),
				      &size);
		if (line == NULL)
			return EXIT_BAD_USAGE;
	}
	c.fd = connect_to(path);
	if (c.fd < 0)
		status = 1;
	else if (line != NULL)
		status = run(&c, line, size, json, 0);
	else
		status = run_input(&c, json);
	free(line);
	if (c.fd >= 0)
		close(c.fd);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		fprintf(stderr, "noref-ctl: standard output: %s\n", strerror(errno));
		return 1;
	}
	return status;
}
