/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines find their commands as iproute2's users type them, and mistakes are named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <yajl/yajl_tree.h>

#include "console.h"

/* --- a console with commands of every shape ---------------------------------------- */

static int context;
static unsigned long runs;
static unsigned freed;

/* Says what it was given. */
static int
tell(struct call *call)
{
	char *word;

	assert_ptr_equal(call->ctx, &context);
	runs++;
	if (out_is_json(call->out)) {
		out_json_object(call->out, NULL);
		out_json_string(call->out, "head", call->head[call->head_n - 1]);
		out_json_end(call->out);
		return 0;
	}
	for (unsigned i = 0; i < call->head_n; i++)
		out_text(call->out, "%s%s", i > 0 ? " " : "", call->head[i]);
	while ((word = call_next(call)) != NULL)
		out_text(call->out, " <%s>", word);
	if (call->family != 0)
		out_text(call->out, " family %d", call->family == AF_INET ? 4 : 6);
	out_text(call->out, "\n");
	return 0;
}

static int
nothing(struct call *call)
{
	(void)call;
	runs++;
	return 0;
}

static int
fail_loudly(struct call *call)
{
	out_text(call->out, "before\n");
	return err_set(call->err, ENOENT, "route 10.0.0.0/8: there is none");
}

static int
fail_silently(struct call *call)
{
	(void)call;
	return -EBUSY;
}

struct counting {
	unsigned next, end;
};

static int
count_on(struct call *call)
{
	struct counting *c = call->state;

	while (c->next < c->end) {
		out_json_uint(call->out, NULL, c->next);
		out_text(call->out, "%u\n", c->next);
		c->next++;
		if (out_full(call->out) || c->next % 1000 == 0)
			return CALL_MORE;
	}
	out_json_end(call->out);
	return 0;
}

static void
free_counting(void *state)
{
	freed++;
	free(state);
}

static int
count_up(struct call *call)
{
	struct counting *c = calloc(1, sizeof(*c));
	const char *word = call_value(call, "count", "a number");
	uint64_t end;

	call->state = c;
	call->free_state = free_counting;
	if (word == NULL || number_parse(word, 0, 10000000, &end) < 0)
		return -EINVAL;
	c->end = (unsigned)end;
	call->more = count_on;
	out_json_array(call->out, NULL);
	return count_on(call);
}

static int
more_without_function(struct call *call)
{
	(void)call;
	return CALL_MORE;
}

static int
options(struct call *call)
{
	while (call_peek(call) != NULL) {
		if (call_accept(call, "via", 1)) {
			const char *value = call_value(call, "via", "an address");

			if (value == NULL)
				return -EINVAL;
			out_text(call->out, "via=%s ", value);
		} else if (call_accept(call, "onlink", 2)) {
			out_text(call->out, "onlink ");
		} else {
			break;
		}
	}
	return call_end(call);
}

static int
run_inside(struct call *call)
{
	return console_run(call->console, "inside", false, NULL, NULL, call->err);
}

static const struct command commands[] = {
	{"start [first]", "Start forwarding.", tell, NULL},
	{"stop", "Stop forwarding.", tell, NULL},
	{"set promisc {PORT|all} {on|off}", "Promiscuous mode.", tell, NULL},
	{"show port {info|stats|xstats} {PORT|all}", "What ports did.", tell, "One\ntwo"},
	{"show drops", "Drops by reason.", tell, NULL},
	{"ip addr [show] [dev PORT]", "List addresses.", tell, NULL},
	{"ip addr {add|del} ADDR/LEN dev PORT", "Change addresses.", tell, NULL},
	{"ip link [show] [dev PORT]", "List interfaces.", tell, NULL},
	{"ip link set dev PORT {up|down|mtu N|any-mac {on|off}}", "Change one.", tell, NULL},
	{"ip link add NAME type vrf table N", "Make a VRF.", tell, NULL},
	{"ip link add link PORT name NAME type vlan id N", "Make a VLAN.", tell, NULL},
	{"ip neigh [show]", "List neighbours.", tell, NULL},
	{"ip route [show] [vrf VRF | table N]", "List routes.", tell, NULL},
	{"ip route {add|replace} PREFIX [via ADDR] [dev PORT] [onlink] [vrf VRF | table N]",
	 "Add a route.", nothing, NULL},
	{"ip route {add|replace} PREFIX nexthop via ADDR [weight N] "
	 "[nexthop via ADDR [weight N]]...",
	 "Add an ECMP route.", NULL, NULL},
	{"ip route add {blackhole|unreachable} PREFIX", "Drop here.", tell, NULL},
	{"ip route del PREFIX", "Delete a route.", fail_loudly, NULL},
	{"ip route get ADDR", "Ask.", tell, NULL},
	{"ip -6 route add SID[/LEN] encap seg6local action ACTION [count]", "Add a SID.", NULL,
	 NULL},
	{"xdp set dev PORT {pass|redirect dev PORT|redirect cpu LCORE[,LCORE...]}", "Verdict.",
	 tell, NULL},
	{"udp bind {ADDR|*}:PORT [dev PORT]", "Bind.", tell, NULL},
	{"flow create PORT pattern ITEM [/ ITEM]... / end actions ... end", "Rule.", tell, NULL},
	{"count NUMBER", "Count up.", count_up, NULL},
	{"busy", "Fail without a word.", fail_silently, NULL},
	{"broken", "Ask for more without saying what.", more_without_function, NULL},
	{"options [via ADDR] [onlink]", "Parse options.", options, NULL},
	{"inside", "Run a command in a command, and so on.", run_inside, NULL},
};

static struct console *console;
static struct err err;
static char *answer; /* what the last run() printed */
static size_t answer_size;

static void
gather(void *arg, const char *data, size_t size)
{
	(void)arg;
	answer = realloc(answer, answer_size + size + 1);
	memcpy(answer + answer_size, data, size);
	answer_size += size;
	answer[answer_size] = '\0';
}

static void
new_answer(void)
{
	answer_size = 0;
	gather(NULL, "", 0);
	memset(&err, 'E', sizeof(err));
}

static int
run(const char *line)
{
	new_answer();
	return console_run(console, line, false, gather, NULL, &err);
}

static void
assert_answers(const char *line, const char *expected)
{
	if (run(line) != 0)
		fail_msg("'%s': %s", line, err.text);
	assert_string_equal(answer, expected);
}

static void
assert_fails(const char *line, const char *reason)
{
	assert_true(run(line) < 0);
	assert_string_equal(err.text, reason);
}

static void
offer_ports(void *ctx, void (*add)(void *arg, const char *word), void *arg)
{
	assert_ptr_equal(ctx, &context);
	add(arg, "1");
	add(arg, "0");
	add(arg, "net_tap0");
}

static int
set_up(void **state)
{
	(void)state;
	console = console_create(&context);
	console_register(console, commands, sizeof(commands) / sizeof(commands[0]));
	console_placeholder(console, "PORT", offer_ports);
	console_placeholder(console, "LCORE", offer_ports);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	console_destroy(console);
	free(answer);
	answer = NULL;
	return 0;
}

/* --- heads ------------------------------------------------------------------------------ */

static void
whole_words_and_abbreviations(void **state)
{
	(void)state;
	assert_answers("stop", "stop\n");
	assert_answers("show port stats all", "show port stats <all>\n");
	assert_answers("sh p i 0", "show port info <0>\n");
	assert_answers("ip a", "ip addr show\n");
	assert_answers("ip r", "ip route show\n");
	assert_answers("ip ro a", "");
	assert_answers("ip ro g 1.2.3.4", "ip route get <1.2.3.4>\n");
	assert_answers("sto", "stop\n");
}

static void
bare_verbs_list(void **state)
{
	(void)state;
	assert_answers("ip addr", "ip addr show\n");
	assert_answers("ip route", "ip route show\n");
	assert_answers("ip link", "ip link show\n");
	assert_answers("ip neigh", "ip neigh show\n");
	assert_answers("ip route show vrf red", "ip route show <vrf> <red>\n");
	assert_fails("ip route vrf red", "'ip route vrf': unknown word 'vrf'; expected show, add, "
					 "replace, del, get");
}

static void
iproute2_spellings(void **state)
{
	(void)state;
	assert_answers("ip address list", "ip addr show\n");
	assert_answers("ip addre lst dev 0", "ip addr show <dev> <0>\n");
	assert_answers("ip neighbour ls", "ip neigh show\n");
	assert_answers("ip neighbor", "ip neigh show\n");
	assert_answers("ip addr delete 1.2.3.4/8 dev 0", "ip addr del <1.2.3.4/8> <dev> <0>\n");
	/* Only after `ip`. */
	assert_fails("list", "unknown command 'list'; expected help, source, start, stop, set, "
			     "show, ip, xdp, udp, flow, count, busy, broken, options, inside");
}

static void
the_longest_head_wins(void **state)
{
	(void)state;
	assert_answers("ip route add blackhole 10/8", "ip route add blackhole <10/8>\n");
	assert_answers("ip link add link 0 name 0.5", "ip link add link <0> <name> <0.5>\n");
	assert_answers("ip link add red type vrf", "ip link add <red> <type> <vrf>\n");
	/* A name that happens to begin like a head is a name. */
	assert_answers("ip link add l type vrf", "ip link add <l> <type> <vrf>\n");
	assert_answers("ip link add lin type vrf", "ip link add <lin> <type> <vrf>\n");
}

static void
ambiguous_first_words_do_nothing(void **state)
{
	unsigned long before = runs;

	(void)state;
	assert_fails("st", "'st' is ambiguous: it could be start, stop");
	assert_fails("s", "'s' is ambiguous: it could be source, start, stop, set, show");
	assert_int_equal(runs, before);
}

static void
mistakes_are_named(void **state)
{
	(void)state;
	assert_fails("qiut", "unknown command 'qiut'; expected help, source, start, stop, set, "
			     "show, ip, xdp, udp, flow, count, busy, broken, options, inside");
	assert_fails("shwo drops", "unknown command 'shwo'; did you mean 'show'?");
	assert_fails("ip ruote", "'ip ruote': unknown word 'ruote'; did you mean 'route'?");
	assert_fails("ip", "'ip': a word is missing; expected addr, link, neigh, route");
	assert_fails("ip zork 1 2", "'ip zork': unknown word 'zork'; expected addr, link, neigh, "
				    "route");
	assert_fails("show port", "'show port': a word is missing; expected info, stats, xstats");
	assert_fails("stop now", "'stop now': unexpected 'now'");
	assert_fails("''", "the command is an empty word");
	assert_fails("ip route del 10.0.0.0/8", "route 10.0.0.0/8: there is none");
	assert_string_equal(answer, "before\n");
	assert_fails("busy", "Device or resource busy");
	assert_fails("broken", "the command stopped without saying how to go on");
	assert_fails("inside", "commands run commands more than 16 deep");
	assert_int_equal(console_run(console, "stop now", false, NULL, NULL, NULL), -EINVAL);
	assert_int_equal(console_run(console, "zork", false, NULL, NULL, NULL), -EINVAL);
	assert_int_equal(console_run(console, "s", false, NULL, NULL, NULL), -EINVAL);
}

static void
long_words_in_errors_are_cut(void **state)
{
	char line[CONSOLE_MAX_LINE + 1];

	(void)state;
	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\0';
	assert_int_equal(run(line), -EINVAL);
	assert_true(strlen(err.text) < sizeof(err.text));
	memcpy(line, "ip ", 3);
	assert_int_equal(run(line), -EINVAL);
	memcpy(line, "stop ", 5);
	assert_int_equal(run(line), -EINVAL);
}

/* --- options in front -------------------------------------------------------------------- */

static void
families_and_json(void **state)
{
	(void)state;
	assert_answers("ip -6 route", "ip route show family 6\n");
	assert_answers("ip -4 r l", "ip route show family 4\n");
	assert_answers("-6 ip route", "ip route show family 6\n");
	assert_answers("ip -j route", "{\"head\":\"show\"}\n");
	assert_answers("ip -6 -j route", "{\"head\":\"show\"}\n");
	assert_answers("-j ip -6 route", "{\"head\":\"show\"}\n");
	assert_answers("-json stop", "{\"head\":\"stop\"}\n");
	assert_answers(" \t-j\tstop", "{\"head\":\"stop\"}\n");
	assert_answers("-j", "");
	assert_answers("-j # nothing", "");
	assert_fails("ip -br addr", "unknown option '-br'; there are -4, -6 and -j");
	assert_fails("-x stop", "unknown option '-x'; there are -4, -6 and -j");
	assert_fails("stop -j", "'stop -j': unexpected '-j'");
	assert_answers("ip route get -1", "ip route get <-1>\n");
	assert_fails("ip", "'ip': a word is missing; expected addr, link, neigh, route");
	assert_fails("ip -6", "'ip': a word is missing; expected addr, link, neigh, route");

	assert_true(console_line_wants_json("-j"));
	assert_true(console_line_wants_json("  -6 ip -4 -j route"));
	assert_false(console_line_wants_json(""));
	assert_false(console_line_wants_json("ip route -j"));
	assert_false(console_line_wants_json("#-j"));
	assert_false(console_line_wants_json("ip ip -j"));

	new_answer();
	assert_int_equal(console_run(console, "stop", true, gather, NULL, &err), 0);
	assert_string_equal(answer, "{\"head\":\"stop\"}\n");
}

/* --- words --------------------------------------------------------------------------------- */

static void
quotes_backslashes_and_comments(void **state)
{
	(void)state;
	assert_answers("", "");
	assert_answers("   \t \r\n", "");
	assert_answers("# a comment", "");
	assert_answers("  #stop", "");
	assert_answers("stop # now", "stop\n");
	assert_answers("ip route get a#b", "ip route get <a#b>\n");
	assert_answers("ip route get 'a b' \"c d\" e\\ f", "ip route get <a b> <c d> <e f>\n");
	assert_answers("ip route get '' \"\"", "ip route get <> <>\n");
	assert_answers("ip route get '#' \\# \"#\"", "ip route get <#> <#> <#>\n");
	assert_answers("ip route get a'b'\"c\"d", "ip route get <abcd>\n");
	assert_answers("ip route get 'a\\b' \"a\\b\" \"a\\\"b\" \"a\\\\b\"",
		       "ip route get <a\\b> <a\\b> <a\"b> <a\\b>\n");
	assert_answers("ip route get 'it'\\''s'", "ip route get <it's>\n");
	assert_answers("'ip' rou'te' \"get\" 1\r\n", "ip route get <1>\n");
	assert_answers("ip route get gr\xc3\xbc\xc3\x9f", "ip route get <gr\xc3\xbc\xc3\x9f>\n");
	assert_fails("ip route get 'a", "a closing ' is missing");
	assert_fails("ip route get \"a'", "a closing \" is missing");
	assert_fails("stop \\", "nothing follows the backslash");
	assert_fails("stop \x1b[2J", "byte 0x1b is not text");
	assert_fails("'\x7f'", "byte 0x7f is not text");
}

static void
lines_and_words_are_bounded(void **state)
{
	char line[CONSOLE_MAX_LINE + 2];
	int n = snprintf(line, sizeof(line), "start");

	(void)state;
	for (unsigned i = 0; i < CONSOLE_MAX_WORDS - 1; i++)
		n += snprintf(line + n, sizeof(line) - (size_t)n, " w");
	assert_int_equal(run(line), 0);
	snprintf(line + n, sizeof(line) - (size_t)n, " w");
	assert_fails(line, "more than 256 words on a line");

	memset(line, ' ', sizeof(line));
	memcpy(line, "stop", 4);
	line[CONSOLE_MAX_LINE] = '\0';
	assert_answers(line, "stop\n");
	line[CONSOLE_MAX_LINE] = ' ';
	line[CONSOLE_MAX_LINE + 1] = '\0';
	assert_fails(line, "the line is longer than 4096 bytes");
}

static void
helpers_for_options(void **state)
{
	(void)state;
	assert_answers("options via 1.2.3.4 onl", "via=1.2.3.4 onlink ");
	assert_answers("options on v 1", "onlink via=1 ");
	assert_fails("options o", "unexpected 'o'");
	assert_fails("options via", "via: an address is missing");
	assert_fails("options onlink zork", "unexpected 'zork'");
	assert_true(word_matches("a", "add", 1));
	assert_true(word_matches("add", "add", 3));
	assert_false(word_matches("add", "add", 4));
	assert_false(word_matches("", "add", 0));
	assert_false(word_matches("addd", "add", 1));
}

/* --- long answers --------------------------------------------------------------------------- */

static void
a_long_answer_comes_in_pieces(void **state)
{
	struct out *out = out_create(false);
	struct call call;
	unsigned pieces = 1;
	int rc;

	(void)state;
	freed = 0;
	rc = console_start(console, "count 100000", out, &call, &err);
	assert_int_equal(rc, CALL_MORE);
	while (rc == CALL_MORE) {
		assert_true(out_pending(out) < 2 * OUT_CHUNK);
		out_consume(out, out_pending(out));
		/* Other lines run in between and do not disturb it. */
		assert_answers("stop", "stop\n");
		rc = call_continue(&call);
		pieces++;
	}
	assert_int_equal(rc, 0);
	assert_true(pieces >= 100);
	assert_int_equal(freed, 0);
	call_finish(&call);
	call_finish(&call);
	assert_int_equal(freed, 1);
	out_destroy(out);
}

static void
a_long_answer_may_be_cut_short(void **state)
{
	struct out *out = out_create(true);
	struct call call;

	(void)state;
	freed = 0;
	assert_int_equal(console_start(console, "count 100000", out, &call, &err), CALL_MORE);
	call_finish(&call);
	assert_int_equal(freed, 1);
	out_destroy(out);
}

static void
a_long_json_answer_is_one_document(void **state)
{
	yajl_val tree;

	(void)state;
	assert_int_equal(run("-j count 5000"), 0);
	tree = yajl_tree_parse(answer, NULL, 0);
	assert_non_null(tree);
	assert_int_equal(YAJL_GET_ARRAY(tree)->len, 5000);
	yajl_tree_free(tree);
}

/* --- files ------------------------------------------------------------------------------------ */

#define FOLDER_TEMPLATE "/tmp/noref-test-XXXXXX"

static char folder[sizeof(FOLDER_TEMPLATE)];

static const char *
write_file(const char *name, const char *data, size_t size)
{
	static char path[2][64];
	static unsigned turn;
	char *p = path[turn++ % 2];
	FILE *f;

	snprintf(p, sizeof(path[0]), "%s/%s", folder, name);
	f = fopen(p, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
	return p;
}

static int
run_file(const char *path)
{
	new_answer();
	return console_run_file(console, path, gather, NULL, &err);
}

/* The error without the folder in front. */
static void
assert_file_fails(const char *path, const char *reason)
{
	size_t n = strlen(folder);

	assert_true(run_file(path) < 0);
	assert_memory_equal(err.text, folder, n);
	assert_string_equal(err.text + n, reason);
}

static int
make_folder(void **state)
{
	strcpy(folder, FOLDER_TEMPLATE);
	assert_non_null(mkdtemp(folder));
	return set_up(state);
}

static int
remove_folder(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", folder);
	assert_int_equal(system(command), 0);
	return tear_down(state);
}

static void
files_run_line_by_line(void **state)
{
	static const char text[] =
		"# set-up\n\nstop\r\n  ip r\n-j stop\nip -j route\ncount 2\nshow drops";

	(void)state;
	if (run_file(write_file("good", text, sizeof(text) - 1)) != 0)
		fail_msg("%s", err.text);
	assert_string_equal(answer,
			    "stop\nip route show\n{\"head\":\"stop\"}\n{\"head\":\"show\"}\n"
			    "0\n1\nshow drops\n");
	assert_int_equal(run_file(write_file("empty", "", 0)), 0);
	assert_int_equal(console_run_file(console, "/dev/null", NULL, NULL, &err), 0);
}

static void
the_first_bad_line_ends_a_file(void **state)
{
	static const char text[] = "stop\n\nzork\nstop\n";
	static const char quote[] = "stop\nip route get 'a\nb'\n";
	static const char nul[] = "stop\nst\0op\n";
	char longer[CONSOLE_MAX_LINE + 10];
	const char *path;

	(void)state;
	path = write_file("bad", text, sizeof(text) - 1);
	assert_int_equal(run_file(path), -EINVAL);
	assert_string_equal(answer, "stop\n");
	assert_non_null(strstr(err.text, "/bad:3: unknown command 'zork'"));
	path = write_file("quote", quote, sizeof(quote) - 1);
	assert_file_fails(path, "/quote:2: a closing ' is missing");
	path = write_file("nul", nul, sizeof(nul) - 1);
	assert_file_fails(path, "/nul:2: a NUL byte: this is not a file of commands");

	memset(longer, ' ', sizeof(longer));
	path = write_file("long", longer, sizeof(longer));
	assert_file_fails(path, "/long:1: the line is longer than 4096 bytes");
	longer[CONSOLE_MAX_LINE] = '\n';
	memcpy(longer, "stop", 4);
	assert_int_equal(run_file(write_file("full", longer, CONSOLE_MAX_LINE + 1)), 0);
	assert_int_equal(run_file(write_file("full", longer, CONSOLE_MAX_LINE)), 0);
	assert_string_equal(answer, "stop\n");
	/* A binary file without a newline is found out at once. */
	memset(longer, 0, sizeof(longer));
	path = write_file("zero", longer, sizeof(longer));
	assert_file_fails(path, "/zero:1: a NUL byte: this is not a file of commands");
}

static void
files_that_are_no_files(void **state)
{
	char path[64];

	(void)state;
	assert_int_equal(run_file("/nonexistent/file"), -ENOENT);
	assert_string_equal(err.text, "/nonexistent/file: No such file or directory");
	assert_int_equal(run_file("/tmp"), -EINVAL);
	assert_string_equal(err.text, "/tmp: is a directory");
	/* A pipe nobody writes to must not stop the control thread. */
	snprintf(path, sizeof(path), "source %s/pipe", folder);
	assert_int_equal(mkfifo(path + 7, 0600), 0);
	assert_int_equal(run(path), -EINVAL);
	assert_non_null(strstr(err.text, "/pipe: is not a regular file"));
	assert_fails("source", "source: a file name is missing");
	assert_fails("source a b", "unexpected 'b'");
}

static void
files_source_files(void **state)
{
	char text[256];
	const char *path;
	int n;

	(void)state;
	write_file("inner", "stop\ncount 3\n-j stop\n", 21);
	n = snprintf(text, sizeof(text), "show drops\nsource '%s/inner'\nshow drops\n", folder);
	path = write_file("outer", text, (size_t)n);
	if (run_file(path) != 0)
		fail_msg("%s", err.text);
	assert_string_equal(answer, "show drops\nstop\n0\n1\n2\n{\"head\":\"stop\"}\nshow drops\n");

	/* In JSON: a document a line. */
	n = snprintf(text, sizeof(text), "-j source %s/inner", folder);
	assert_answers(text, "{\"head\":\"stop\"}\n[0,1,2]\n{\"head\":\"stop\"}\n");

	write_file("inner", "stop\nstop now\n", 14);
	assert_int_equal(run_file(path), -EINVAL);
	snprintf(text, sizeof(text), "%s/outer:2: %s/inner:2: 'stop now': unexpected 'now'", folder,
		 folder);
	assert_string_equal(err.text, text);
}

static void
files_that_source_themselves_end(void **state)
{
	char text[128];
	int n = snprintf(text, sizeof(text), "source %s/self\n", folder);

	(void)state;
	write_file("self", text, (size_t)n);
	text[n - 1] = '\0';
	assert_int_equal(run(text), -ELOOP);
	assert_non_null(strstr(err.text, "/self:1: "));
	/* The depth is counted anew each time. */
	assert_int_equal(run(text), -ELOOP);
}

static void
a_long_file_yields(void **state)
{
	struct out *out = out_create(false);
	struct call call;
	unsigned turns = 0;
	char text[64];
	FILE *f;
	int rc;

	(void)state;
	snprintf(text, sizeof(text), "source %s/many", folder);
	f = fopen(text + 7, "w");
	for (unsigned i = 0; i < 10000; i++)
		fputs("ip route add 10.0.0.0/8 via 10.1.1.1\n", f);
	fputs("count 5000\nstop now\n", f);
	fclose(f);
	runs = 0;
	for (rc = console_start(console, text, out, &call, &err); rc == CALL_MORE;
	     rc = call_continue(&call)) {
		assert_answers("stop", "stop\n");
		runs--;
		turns++;
	}
	call_finish(&call);
	assert_int_equal(rc, -EINVAL);
	assert_non_null(strstr(err.text, "'stop now': unexpected 'now'"));
	assert_true(turns > 10);
	assert_int_equal(runs, 10000);
	/* Cut short in the middle, nothing leaks. */
	assert_int_equal(console_start(console, text, out, &call, &err), CALL_MORE);
	call_finish(&call);
	out_destroy(out);
}

static void
a_million_routes(void **state)
{
	struct timespec from, to;
	char path[64];
	FILE *f;

	(void)state;
	snprintf(path, sizeof(path), "%s/million", folder);
	f = fopen(path, "w");
	for (unsigned i = 0; i < 1000000; i++)
		fprintf(f, "ip route add 10.%u.%u.0/24 via 10.0.0.1 dev net_tap0\n", i >> 8 & 255,
			i & 255);
	fclose(f);
	runs = 0;
	clock_gettime(CLOCK_MONOTONIC, &from);
	assert_int_equal(run_file(path), 0);
	clock_gettime(CLOCK_MONOTONIC, &to);
	assert_int_equal(runs, 1000000);
	printf("             %.0f ns a line\n",
	       ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) /
		       1e6);
}

/* --- help --------------------------------------------------------------------------------------
 */

static void
help_tells(void **state)
{
	yajl_val tree;

	(void)state;
	assert_int_equal(run("help"), 0);
	assert_non_null(strstr(answer, "  ip       addr, link, neigh, route\n"));
	assert_non_null(strstr(answer, "  stop     Stop forwarding.\n"));
	assert_int_equal(run("help show port"), 0);
	assert_string_equal(answer, "show port {info|stats|xstats} {PORT|all}\n"
				    "    What ports did.\n    One\n    two\n");
	/* Abbreviated, and with other spellings. */
	assert_int_equal(run("help ip neighbour"), 0);
	assert_string_equal(answer, "ip neigh [show]\n    List neighbours.\n");
	/* A word from inside a syntax. */
	assert_int_equal(run("help weight"), 0);
	assert_non_null(strstr(answer, "Add an ECMP route."));
	assert_null(strstr(answer, "Add a route."));
	assert_fails("help zork", "no command knows 'zork'; try help alone");
	assert_fails("help ruote", "no command knows 'ruote'; try help alone");
	assert_fails("help sotp", "no command knows 'sotp'; did you mean 'stop'?");

	assert_int_equal(run("-j help"), 0);
	tree = yajl_tree_parse(answer, NULL, 0);
	assert_non_null(tree);
	assert_int_equal(YAJL_GET_ARRAY(tree)->len, sizeof(commands) / sizeof(commands[0]) + 2);
	yajl_tree_free(tree);
}

/* --- completion
 * ----------------------------------------------------------------------------------- */

static char words[4096];

static void
gather_word(void *arg, const char *word)
{
	(void)arg;
	snprintf(words + strlen(words), sizeof(words) - strlen(words), " %s", word);
}

static void
assert_completes(const char *line, const char *expected)
{
	words[0] = '\0';
	console_complete(console, line, gather_word, NULL);
	assert_string_equal(words, expected);
}

static void
completion_offers_what_may_come(void **state)
{
	(void)state;
	assert_completes("", " broken busy count flow help inside ip options set show source start "
			     "stop udp xdp");
	assert_completes("st", " start stop");
	assert_completes("stop", " stop");
	assert_completes("stop ", "");
	assert_completes("ip ", " addr link neigh route");
	assert_completes("ip -6 r", " route");
	assert_completes("ip -", " -4 -6 -j");
	assert_completes("-", " -4 -6 -j");
	assert_completes("ip r", " route");
	assert_completes("ip ro ", " add del get replace show");
	assert_completes("ip address ", " add del show");
	assert_completes("show port ", " info stats xstats");
	assert_completes("sh p s ", " 0 1 all net_tap0");
	assert_completes("show port stats n", " net_tap0");
	assert_completes("set promisc all ", " off on");
	assert_completes("zork ", "");
	assert_completes("ip zork ", "");
	assert_completes("ip 'a", "");
	assert_completes("help ip ro", " route");
	assert_completes("help ", " broken busy count flow help inside ip options set show source "
				  "start stop udp xdp");
}

static void
completion_knows_options(void **state)
{
	(void)state;
	assert_completes("ip route add 10.0.0.0/8 ", " dev encap nexthop onlink table via vrf");
	assert_completes("ip route add 10.0.0.0/8 dev ", " 0 1 net_tap0");
	assert_completes("ip route add 10.0.0.0/8 onlink dev 0 ", " table via vrf");
	assert_completes("ip route add 10.0.0.0/8 vrf red ", " dev onlink via");
	assert_completes("ip route add 10.0.0.0/8 via 1 dev 0 onlink vrf red ", "");
	assert_completes("ip route add 10.0.0.0/8 nexthop via 1 ", " nexthop weight");
	assert_completes("ip route add 1 nexthop via 1 nexthop via 2 weight 3 ", " nexthop weight");
	assert_completes("ip route add 1 nexthop via 1 nexthop via 2 nexthop ", " via");
	assert_completes("ip route show ", " table vrf");
	assert_completes("ip -6 route add fc00::1 encap seg6local action End.DT4 ", " count");
	assert_completes("ip link set dev 0 ", " any-mac down mtu up");
	assert_completes("ip link set dev 0 any-mac ", " off on");
	assert_completes("ip link set dev 0 mtu 1500 ", "");
	assert_completes("xdp set dev 0 redirect ", " cpu dev");
	assert_completes("xdp set dev 0 redirect cpu 0,n", " 0,net_tap0");
	assert_completes("udp bind *:9 ", " dev");
	assert_completes("udp bind *:9 dev ", " 0 1 net_tap0");
	assert_completes("flow create 0 pattern eth ", " /");
	assert_completes("flow create 0 pattern eth / ", " end");
	assert_completes("flow create 0 pattern eth / end actions drop / ", " end");
}

/* --- anything
 * ------------------------------------------------------------------------------------- */

static void
ignore(void *arg, const char *word)
{
	(void)arg;
	(void)word;
}

/* Random bytes, and random sequences of words that mean something. */
static void
random_lines(void **state)
{
	static const char *const pieces[] = {
		"ip",	 "route", "add",   "show", "-6",   "-j",      "addr", "[",   "{", "|",
		"via",	 "dev",	  "stop",  "help", "port", "'",	      "\"",   "\\",  "#", "",
		"count", "3",	  "start", "xdp",  "set",  "nexthop", "1,2",  "...", "/", "end"};
	char line[600];

	(void)state;
	srandom(3);
	for (unsigned round = 0; round < 30000; round++) {
		size_t len = 0;

		if (round % 3 == 0) {
			len = (size_t)random() % 300;
			for (size_t i = 0; i < len; i++)
				line[i] = (char)(random() % 255 + 1);
			line[len] = '\0';
		} else {
			line[0] = '\0';
			for (unsigned i = (unsigned)random() % 12; i > 0; i--)
				len += (size_t)snprintf(
					line + len, sizeof(line) - len, "%s%s",
					pieces[(size_t)random() %
					       (sizeof(pieces) / sizeof(pieces[0]))],
					random() % 8 == 0 ? "" : " ");
		}
		run(line);
		console_line_wants_json(line);
		if (round % 4 == 0)
			console_complete(console, line, ignore, NULL);
	}
}

/* Syntax strings nobody should write must still be survived. */
static void
strange_syntax(void **state)
{
	static const struct command strange[] = {
		{"", "Nothing.", tell, NULL},
		{"odd", "One word.", tell, NULL},
		{"odd {a|b", "Never closed.", tell, NULL},
		{"odd [x [y]", "Never closed.", tell, NULL},
		{"odd ]]}}||", "Never opened.", tell, NULL},
		{"odd { } [] ...", "Empty.", tell, NULL},
		{"odd [[x]]... {[y]}... z", "Nothing, repeatedly.", tell, NULL},
		{"odd {a|b} {c|d} {e|f} {g|h} {i|j} {k|l} {m|n}", "Too many heads.", tell, NULL},
		{"{even|odder} {x|}", "A brace first.", tell, NULL},
		{"[show]", "Only that.", tell, NULL},
		{"-6", "Only an option.", tell, NULL},
		{"WORD", "Only a placeholder.", tell, NULL},
	};
	struct console *c = console_create(&context);
	char line[64];

	(void)state;
	console_register(c, strange, sizeof(strange) / sizeof(strange[0]));
	console_run(c, "odd a c e g i k m", false, NULL, NULL, NULL);
	console_run(c, "help", false, NULL, NULL, NULL);
	console_run(c, "-j help odd", false, NULL, NULL, NULL);
	srandom(4);
	for (unsigned i = 0; i < 1000; i++) {
		size_t n = (size_t)snprintf(line, sizeof(line), "odd ");

		while (random() % 8 != 0 && n < 40) {
			line[n++] = "abcxyz[]{}|."[random() % 12];
			line[n++] = ' ';
		}
		line[n] = '\0';
		console_complete(c, line, ignore, NULL);
		console_run(c, line, false, NULL, NULL, NULL);
	}
	console_destroy(c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_words_and_abbreviations),
		cmocka_unit_test(bare_verbs_list),
		cmocka_unit_test(iproute2_spellings),
		cmocka_unit_test(the_longest_head_wins),
		cmocka_unit_test(ambiguous_first_words_do_nothing),
		cmocka_unit_test(mistakes_are_named),
		cmocka_unit_test(long_words_in_errors_are_cut),
		cmocka_unit_test(families_and_json),
		cmocka_unit_test(quotes_backslashes_and_comments),
		cmocka_unit_test(lines_and_words_are_bounded),
		cmocka_unit_test(helpers_for_options),
		cmocka_unit_test(a_long_answer_comes_in_pieces),
		cmocka_unit_test(a_long_answer_may_be_cut_short),
		cmocka_unit_test(a_long_json_answer_is_one_document),
		cmocka_unit_test(help_tells),
		cmocka_unit_test(completion_offers_what_may_come),
		cmocka_unit_test(completion_knows_options),
		cmocka_unit_test(random_lines),
		cmocka_unit_test(strange_syntax),
	};
	const struct CMUnitTest file_tests[] = {
		cmocka_unit_test(files_run_line_by_line),
		cmocka_unit_test(the_first_bad_line_ends_a_file),
		cmocka_unit_test(files_that_are_no_files),
		cmocka_unit_test(files_source_files),
		cmocka_unit_test(files_that_source_themselves_end),
		cmocka_unit_test(a_long_file_yields),
		cmocka_unit_test(a_million_routes),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down) +
	       cmocka_run_group_tests(file_tests, make_folder, remove_folder);
}
