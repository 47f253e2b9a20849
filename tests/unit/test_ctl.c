/* SPDX-License-Identifier: BSD-3-Clause */
/* Clients of every kind on the control socket, and files of every kind in its place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "ctl.h"

#define FOLDER_TEMPLATE "/tmp/noref-test-XXXXXX"
#define PATIENCE_MS	20000

static char folder[sizeof(FOLDER_TEMPLATE)];
static char path[64];
static struct loop *loop;
static struct console *console;
static struct ctl *ctl;
static struct err err;

/* --- commands ------------------------------------------------------------------------ */

static unsigned runs;
static unsigned freed;

static int
say(struct call *call)
{
	char *word;

	runs++;
	out_json_array(call->out, NULL);
	while ((word = call_next(call)) != NULL) {
		out_text(call->out, "<%s>", word);
		out_json_string(call->out, NULL, word);
	}
	out_json_end(call->out);
	return 0;
}

static int
fail_late(struct call *call)
{
	out_text(call->out, "so far");
	return err_set(call->err, EINVAL, "and no further");
}

struct counting {
	uint64_t next, end;
	unsigned pause_ms;
};

static void
free_counting(void *state)
{
	freed++;
	free(state);
}

static int
count_on(struct call *call)
{
	struct counting *c = call->state;

	while (c->next < c->end) {
		out_text(call->out, "%015llu\n", (unsigned long long)c->next++);
		call->pause_ms = c->pause_ms;
		if (out_full(call->out) || c->pause_ms > 0)
			return CALL_MORE;
	}
	return 0;
}

static int
count_up(struct call *call)
{
	struct counting *c = calloc(1, sizeof(*c));
	const char *end = call_value(call, "count", "a number");
	uint64_t pause_ms = 0;

	call->state = c;
	call->free_state = free_counting;
	call->more = count_on;
	if (end == NULL || number_parse(end, 0, UINT64_MAX, &c->end) < 0)
		return -EINVAL;
	if (call_peek(call) != NULL)
		number_parse(call_next(call), 0, 1000, &pause_ms);
	c->pause_ms = (unsigned)pause_ms;
	return count_on(call);
}

/* A command that waits for something of its own in the loop. */
static int
wait_in_loop(struct call *call)
{
	for (unsigned i = 0; i < 10; i++)
		loop_once(loop, 1);
	out_text(call->out, "waited");
	return 0;
}

static const struct command commands[] = {
	{"say [WORD...]", "Say it again.", say, NULL},
	{"fail", "Fail.", fail_late, NULL},
	{"count N [MS]", "Count up to N.", count_up, NULL},
	{"wait", "Run the loop.", wait_in_loop, NULL},
};

static int
set_up(void **state)
{
	(void)state;
	strcpy(folder, FOLDER_TEMPLATE);
	if (mkdtemp(folder) == NULL)
		return -1;
	snprintf(path, sizeof(path), "%s/run/x.sock", folder);
	loop = loop_create();
	console = console_create(NULL);
	console_register(console, commands, sizeof(commands) / sizeof(commands[0]));
	ctl = ctl_open(loop, console, path, &err);
	runs = 0;
	freed = 0;
	return ctl != NULL ? 0 : -1;
}

static int
tear_down(void **state)
{
	char command[64];

	(void)state;
	ctl_close(ctl);
	console_destroy(console);
	loop_destroy(loop);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command) == 0 ? 0 : -1;
}

/* --- clients ---------------------------------------------------------------------------- */

struct client {
	int fd;
	bool closed; /* by the server */
	size_t size;
	char *data;
};

static struct client
join(void)
{
	struct client c = {.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0)};
	struct sockaddr_un addr = {.sun_family = AF_UNIX};

	strcpy(addr.sun_path, path);
	assert_int_equal(connect(c.fd, (const struct sockaddr *)&addr, sizeof(addr)), 0);
	c.data = calloc(1, 1);
	return c;
}

static void
leave(struct client *c)
{
	close(c->fd);
	free(c->data);
	c->data = NULL;
}

static void
put(struct client *c, const void *data, size_t size)
{
	assert_int_equal(send(c->fd, data, size, MSG_NOSIGNAL), size);
}

static void
ask(struct client *c, const char *text)
{
	put(c, text, strlen(text));
}

/* Take what has come. */
static void
get(struct client *c)
{
	static char buffer[256 * 1024];
	ssize_t n;

	while ((n = recv(c->fd, buffer, sizeof(buffer), 0)) > 0) {
		c->data = realloc(c->data, c->size + (size_t)n + 1);
		memcpy(c->data + c->size, buffer, (size_t)n);
		c->size += (size_t)n;
		c->data[c->size] = '\0';
	}
	if (n == 0 || errno == ECONNRESET)
		c->closed = true;
}

/* Let the server work until size bytes have come or it closed. */
static void
get_bytes(struct client *c, size_t size)
{
	uint64_t start = loop_now_ms();

	for (;;) {
		get(c);
		if (c->size >= size || c->closed)
			return;
		loop_once(loop, 10);
		assert_true(loop_now_ms() - start < PATIENCE_MS);
	}
}

static void
assert_gets(struct client *c, const char *expected)
{
	get_bytes(c, strlen(expected));
	assert_string_equal(c->data, expected);
	c->size = 0;
	c->data[0] = '\0';
}

static void
assert_closed(struct client *c)
{
	uint64_t start = loop_now_ms();

	while (!c->closed) {
		loop_once(loop, 10);
		get(c);
		assert_true(loop_now_ms() - start < PATIENCE_MS);
	}
	assert_string_equal(c->data, "");
}

/* Turns of the server, without anybody reading. */
static void
work(unsigned turns)
{
	while (turns-- > 0)
		loop_once(loop, 1);
}

/* --- answers ------------------------------------------------------------------------------ */

static void
every_line_gets_one_answer(void **state)
{
	struct client c = join();

	(void)state;
	ask(&c, "say a 'b c'\n");
	assert_gets(&c, "0 8\n<a><b c>");
	ask(&c, "-j say a\n");
	assert_gets(&c, "0 6\n[\"a\"]\n");
	ask(&c, "say\r\n");
	assert_gets(&c, "0 0\n");
	ask(&c, "\n# nothing\n");
	assert_gets(&c, "0 0\n0 0\n");
	ask(&c, "fail\n");
	assert_gets(&c, "+ 6\nso far1 15\nand no further\n");
	ask(&c, "say 1\nzork\nsay 2\n");
	assert_gets(&c, "0 3\n<1>1 70\nunknown command 'zork'; expected help, source, say, fail, "
			"count, wait\n0 3\n<2>");
	leave(&c);
}

static void
lines_may_come_in_crumbs(void **state)
{
	static const char text[] = "say one\nsay two\n";
	struct client c = join();

	(void)state;
	for (size_t i = 0; i < sizeof(text) - 1; i++) {
		put(&c, text + i, 1);
		loop_once(loop, 10);
	}
	assert_gets(&c, "0 5\n<one>0 5\n<two>");
	leave(&c);
}

static void
many_lines_at_once_keep_their_order(void **state)
{
	static char expected[64 * 1024];
	struct client c = join();
	char line[32];
	size_t n = 0;

	(void)state;
	for (unsigned i = 0; i < 3000; i++) {
		snprintf(line, sizeof(line), "say %04u\n", i);
		while (send(c.fd, line, 9, MSG_NOSIGNAL) < 0) {
			assert_int_equal(errno, EAGAIN);
			loop_once(loop, 10);
			get(&c);
		}
		n += (size_t)snprintf(expected + n, sizeof(expected) - n, "0 6\n<%04u>", i);
	}
	assert_gets(&c, expected);
	leave(&c);
}

static void
a_long_answer_arrives_whole(void **state)
{
	struct client c = join();
	uint64_t next = 0, sum = 0;
	char *s;

	(void)state;
	ask(&c, "count 300000\nsay done\n");
	while (strstr(c.data + (c.size > 64 ? c.size - 64 : 0), "<done>") == NULL)
		get_bytes(&c, c.size + 1);
	/* Walk the pieces: each header, then so many bytes of 16-byte lines. */
	for (s = c.data; *s == '+' || *s == '0';) {
		char kind = *s;
		size_t size = strtoul(s + 2, &s, 10);

		s++;
		if (memcmp(s, "<done>", 6) == 0)
			break;
		for (size_t i = 0; i < size; i += 16)
			assert_int_equal(strtoull(s + i, NULL, 10), next++);
		sum += size;
		s += size;
		assert_true(kind == '+' || next == 300000);
	}
	assert_int_equal(sum, 300000 * 16);
	assert_int_equal(freed, 1);
	leave(&c);
}

/* --- bounds --------------------------------------------------------------------------------- */

static void
an_overlong_line_ends_the_connection(void **state)
{
	static char line[3 * CTL_MAX_LINE];
	struct client c = join(), other = join();

	(void)state;
	memset(line, ' ', sizeof(line));
	memcpy(line, "say", 3);
	line[CTL_MAX_LINE] = '\n';
	put(&c, line, CTL_MAX_LINE + 1);
	assert_gets(&c, "0 0\n");
	line[CTL_MAX_LINE] = ' ';
	put(&c, line, sizeof(line));
	assert_gets(&c, "1 35\nthe line is longer than 4096 bytes\n");
	assert_closed(&c);
	ask(&other, "say still\n");
	assert_gets(&other, "0 7\n<still>");
	leave(&c);
	leave(&other);
}

static void
nul_bytes_and_garbage_are_errors(void **state)
{
	struct client c = join();

	(void)state;
	put(&c, "say a\0b\nsay c\n", 14);
	assert_gets(&c, "1 34\na NUL byte: this is not a command\n0 3\n<c>");
	put(&c, "\xff\xfe\x01\n", 4);
	assert_gets(&c, "1 22\nbyte 0x01 is not text\n");
	leave(&c);
}

static void
the_seventeenth_client_is_refused(void **state)
{
	struct client c[CTL_MAX_CLIENTS + 1];

	(void)state;
	for (unsigned i = 0; i < CTL_MAX_CLIENTS; i++)
		c[i] = join();
	for (unsigned i = 0; i < CTL_MAX_CLIENTS; i++) {
		ask(&c[i], "say hello\n");
		assert_gets(&c[i], "0 7\n<hello>");
	}
	c[CTL_MAX_CLIENTS] = join();
	assert_gets(&c[CTL_MAX_CLIENTS], "1 33\n16 clients are connected already\n");
	assert_closed(&c[CTL_MAX_CLIENTS]);
	leave(&c[CTL_MAX_CLIENTS]);
	/* A place becomes free. */
	leave(&c[3]);
	work(5);
	c[3] = join();
	ask(&c[3], "say again\n");
	assert_gets(&c[3], "0 7\n<again>");
	for (unsigned i = 0; i < CTL_MAX_CLIENTS; i++)
		leave(&c[i]);
}

static void
without_descriptors_clients_wait(void **state)
{
	struct rlimit old, none;
	struct client c;

	(void)state;
	c = join();
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = old;
	none.rlim_cur = (rlim_t)c.fd; /* every number below is taken */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	ask(&c, "say hello\n");
	work(20);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_gets(&c, "0 7\n<hello>");
	leave(&c);
}

static void
a_reader_that_does_not_read_holds_up_nobody(void **state)
{
	struct client slow = join(), other = join();
	uint64_t taken;

	(void)state;
	/* 16 TB, were it all to be kept. */
	ask(&slow, "count 1000000000000\nsay never\n");
	work(50);
	for (unsigned i = 0; i < 100; i++) {
		ask(&other, "say hello\n");
		assert_gets(&other, "0 7\n<hello>");
	}
	/* Nothing is to be done for it: the server must not spin. */
	taken = loop_now_ms();
	loop_once(loop, 50);
	assert_true(loop_now_ms() - taken >= 49);
	/* It goes on when it reads, also much later. */
	get_bytes(&slow, 5 * CTL_MAX_OUTPUT);
	assert_int_equal(freed, 0);
	/* What it sends meanwhile is bounded too. */
	while (send(slow.fd, "say more\n", 9, MSG_NOSIGNAL) > 0)
		;
	assert_int_equal(errno, EAGAIN);
	work(5);
	ask(&other, "say hello\n");
	assert_gets(&other, "0 7\n<hello>");
	leave(&slow);
	work(50);
	assert_int_equal(freed, 1);
	leave(&other);
}

static void
long_commands_share_the_thread(void **state)
{
	struct client a = join(), b = join();

	(void)state;
	ask(&a, "count 2000000\n");
	ask(&b, "say hello\n");
	loop_once(loop, 10);
	loop_once(loop, 10);
	loop_once(loop, 10);
	get(&b);
	assert_string_equal(b.data, "0 7\n<hello>");
	leave(&a);
	leave(&b);
}

/* --- coming and going ------------------------------------------------------------------------- */

static void
leaving_in_mid_answer(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 20; i++) {
		struct client c = join();

		ask(&c, "count 100000000\n");
		work(i % 4);
		if (i % 2 == 0)
			get(&c);
		leave(&c);
	}
	work(100);
	assert_int_equal(freed, 20);
}

static void
half_closed_clients_get_their_answers(void **state)
{
	struct client c = join();

	(void)state;
	ask(&c, "say 1\ncount 3 1\nsay 2\n");
	shutdown(c.fd, SHUT_WR);
	assert_gets(&c, "0 3\n<1>+ 16\n000000000000000\n+ 16\n000000000000001\n"
			"+ 16\n000000000000002\n0 0\n0 3\n<2>");
	assert_closed(&c);
	leave(&c);
}

static void
lines_sent_before_leaving_are_run(void **state)
{
	struct client c = join();

	(void)state;
	ask(&c, "say 1\nsay 2\nsay 3");
	leave(&c);
	work(10);
	assert_int_equal(runs, 2); /* never the one without its newline */
}

static void
half_a_line_is_not_run(void **state)
{
	struct client c = join();

	(void)state;
	ask(&c, "say 1\nsay 2");
	shutdown(c.fd, SHUT_WR);
	assert_gets(&c,
		    "0 3\n<1>1 58\nthe last line does not end with a newline: it was not run\n");
	assert_closed(&c);
	assert_int_equal(runs, 1);
	leave(&c);
}

static void
a_command_that_pauses_leaves_the_thread_alone(void **state)
{
	struct client c = join(), other = join();
	uint64_t start;

	(void)state;
	ask(&c, "count 2 300\nsay next\n");
	work(3);
	start = loop_now_ms();
	loop_once(loop, 100);
	assert_true(loop_now_ms() - start >= 99);
	ask(&other, "say hello\n");
	assert_gets(&other, "0 7\n<hello>");
	assert_gets(&c, "+ 16\n000000000000000\n+ 16\n000000000000001\n0 0\n0 6\n<next>");
	/* Hanging up ends the pause. */
	ask(&c, "count 1000 1000\n");
	work(3);
	leave(&c);
	start = loop_now_ms();
	while (freed < 2)
		loop_once(loop, 100);
	assert_true(loop_now_ms() - start < 900);
	leave(&other);
}

static void
a_command_may_run_the_loop(void **state)
{
	struct client c = join(), other = join();

	(void)state;
	ask(&c, "wait\nsay after\n");
	ask(&other, "say hello\nwait\n");
	assert_gets(&c, "0 6\nwaited0 7\n<after>");
	assert_gets(&other, "0 7\n<hello>0 6\nwaited");
	leave(&c);
	leave(&other);
}

static void
closing_with_clients_at_work(void **state)
{
	struct client a = join(), b = join(), c = join();
	struct stat st;

	(void)state;
	ask(&a, "count 100000000\n");
	ask(&b, "count 100 1000\n");
	work(10);
	ask(&c, "sa");
	work(3);
	ctl_close(ctl);
	ctl = NULL;
	assert_int_equal(freed, 2);
	assert_int_equal(lstat(path, &st), -1);
	leave(&a);
	leave(&b);
	leave(&c);
}

/* Several clients sending anything at all in any pieces. */
static void
random_clients(void **state)
{
	static const char text[] =
		"say a b\ncount 5000\n-j say c\n\n'x\nfail\nwait\ncount 3 1\nhelp\n";
	struct client c[4];

	(void)state;
	srandom(5);
	for (unsigned i = 0; i < 4; i++)
		c[i] = join();
	for (unsigned round = 0; round < 3000; round++) {
		struct client *one = &c[random() % 4];
		size_t from = (size_t)random() % (sizeof(text) - 1);
		size_t size = (size_t)random() % (sizeof(text) - from);
		char noise[16];

		switch (random() % 8) {
		case 0:
			for (size_t i = 0; i < sizeof(noise); i++)
				noise[i] = (char)random();
			send(one->fd, noise, sizeof(noise), MSG_NOSIGNAL);
			break;
		case 1:
			get(one);
			one->size = 0;
			break;
		case 2:
			if (random() % 4 == 0) {
				leave(one);
				*one = join();
			}
			break;
		case 3:
			loop_once(loop, 0);
			break;
		default:
			send(one->fd, text + from, size, MSG_NOSIGNAL);
			break;
		}
	}
	for (unsigned i = 0; i < 4; i++)
		leave(&c[i]);
	work(200);
	c[0] = join();
	ask(&c[0], "say alive\n");
	assert_gets(&c[0], "0 7\n<alive>");
	leave(&c[0]);
}

/* --- the file ------------------------------------------------------------------------------------
 */

static void
only_the_owner_gets_in(void **state)
{
	struct stat st;
	char run[64];

	(void)state;
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	assert_int_equal(st.st_mode & 0777, 0600);
	snprintf(run, sizeof(run), "%s/run", folder);
	assert_int_equal(stat(run, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	/* The process keeps its own mask. */
	assert_int_equal(umask(022), 022);
}

/* Opening at p must fail, with the path and this reason in the sentence, and change nothing. */
static void
assert_refused(const char *p, const char *reason)
{
	char expected[400];
	struct stat before = {0}, after = {0};
	int existed = lstat(p, &before);

	assert_null(ctl_open(loop, console, p, &err));
	snprintf(expected, sizeof(expected), "control socket %.120s: %s", p, reason);
	assert_string_equal(err.text, expected);
	assert_int_equal(lstat(p, &after), existed);
	assert_int_equal(before.st_ino, after.st_ino);
	assert_int_equal(before.st_size, after.st_size);
}

static void
a_living_socket_is_left_alone(void **state)
{
	struct client c;

	(void)state;
	assert_refused(path, "another program answers there");
	c = join();
	ask(&c, "say alive\n");
	assert_gets(&c, "0 7\n<alive>");
	leave(&c);
}

static int
bind_at(const char *p, int type)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, type, 0);

	strcpy(addr.sun_path, p);
	assert_int_equal(bind(fd, (const struct sockaddr *)&addr, sizeof(addr)), 0);
	return fd;
}

static void
a_dead_socket_is_replaced(void **state)
{
	struct client c;

	(void)state;
	ctl_close(ctl);
	close(bind_at(path, SOCK_STREAM));
	ctl = ctl_open(loop, console, path, &err);
	if (ctl == NULL)
		fail_msg("%s", err.text);
	c = join();
	ask(&c, "say alive\n");
	assert_gets(&c, "0 7\n<alive>");
	leave(&c);
}

static void
other_things_in_its_place_are_left_alone(void **state)
{
	char p[80], target[80];
	int fd;

	(void)state;
	snprintf(target, sizeof(target), "%s/target", folder);
	snprintf(p, sizeof(p), "%s/file", folder);
	fd = open(p, O_CREAT | O_WRONLY, 0600);
	assert_int_equal(write(fd, "precious", 8), 8);
	close(fd);
	assert_refused(p, "something that is not a socket is in its place");

	snprintf(p, sizeof(p), "%s/folder", folder);
	assert_int_equal(mkdir(p, 0700), 0);
	assert_refused(p, "something that is not a socket is in its place");

	snprintf(p, sizeof(p), "%s/link", folder);
	assert_int_equal(symlink(target, p), 0);
	assert_refused(p, "something that is not a socket is in its place");
	close(bind_at(target, SOCK_STREAM)); /* now the link leads to a dead socket */
	assert_refused(p, "something that is not a socket is in its place");
	assert_int_equal(access(target, F_OK), 0);

	snprintf(p, sizeof(p), "%s/datagram", folder);
	fd = bind_at(p, SOCK_DGRAM);
	assert_refused(p, "Protocol wrong type for socket");
	close(fd);

	/* Giving a socket away takes root. */
	if (chown(target, 12345, 12345) == 0)
		assert_refused(target, "it belongs to another user");
}

static void
paths_that_cannot_be(void **state)
{
	char p[300];
	int n = snprintf(p, sizeof(p), "%s/", folder);

	(void)state;
	assert_refused(p, "this is not the name of a file");
	assert_refused("", "this is not the name of a file");
	memset(p + n, 'x', sizeof(p) - (size_t)n);
	p[108] = '\0';
	assert_refused(p, "the name is longer than 107 bytes");
	p[107] = '\0';
	ctl_close(ctl);
	ctl = ctl_open(loop, console, p, &err);
	assert_non_null(ctl);

	snprintf(p, sizeof(p), "%s/a/b/c.sock", folder);
	assert_null(ctl_open(loop, console, p, &err));
	assert_non_null(strstr(err.text, "/a/b cannot be made: No such file or directory"));
	snprintf(p, sizeof(p), "%s/file", folder);
	close(open(p, O_CREAT | O_WRONLY, 0600));
	snprintf(p, sizeof(p), "%s/file/x.sock", folder);
	assert_null(ctl_open(loop, console, p, &err));
	assert_non_null(strstr(err.text, "/file is not a folder"));
}

static void
a_relative_path(void **state)
{
	char old[4096];

	(void)state;
	assert_non_null(getcwd(old, sizeof(old)));
	assert_int_equal(chdir(folder), 0);
	ctl_close(ctl);
	ctl = ctl_open(loop, console, "here.sock", &err);
	assert_non_null(ctl);
	assert_int_equal(access("here.sock", F_OK), 0);
	ctl_close(ctl);
	ctl = NULL;
	assert_int_equal(access("here.sock", F_OK), -1);
	assert_int_equal(chdir(old), 0);
}

static void
closing_removes_only_what_is_ours(void **state)
{
	int fd;

	(void)state;
	/* Somebody has moved it away and put another in its place. */
	assert_int_equal(unlink(path), 0);
	fd = bind_at(path, SOCK_STREAM);
	ctl_close(ctl);
	ctl = NULL;
	assert_int_equal(access(path, F_OK), 0);
	close(fd);
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(every_line_gets_one_answer),
		T(lines_may_come_in_crumbs),
		T(many_lines_at_once_keep_their_order),
		T(a_long_answer_arrives_whole),
		T(an_overlong_line_ends_the_connection),
		T(nul_bytes_and_garbage_are_errors),
		T(the_seventeenth_client_is_refused),
		T(without_descriptors_clients_wait),
		T(a_reader_that_does_not_read_holds_up_nobody),
		T(long_commands_share_the_thread),
		T(leaving_in_mid_answer),
		T(half_closed_clients_get_their_answers),
		T(lines_sent_before_leaving_are_run),
		T(half_a_line_is_not_run),
		T(a_command_that_pauses_leaves_the_thread_alone),
		T(a_command_may_run_the_loop),
		T(closing_with_clients_at_work),
		T(random_clients),
		T(only_the_owner_gets_in),
		T(a_living_socket_is_left_alone),
		T(a_dead_socket_is_replaced),
		T(other_things_in_its_place_are_left_alone),
		T(paths_that_cannot_be),
		T(a_relative_path),
		T(closing_removes_only_what_is_ours),
	};

	umask(022);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
