/* SPDX-License-Identifier: BSD-3-Clause */
/* Every start-up option is understood as written, and every mistake is named in one line. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "options.h"

#define MAX_WORDS 16

static struct options options;
static struct err err;

/** Parses "noref" and the words up to NULL. */
static int
parse(const char *first, ...)
{
	static char words[MAX_WORDS][128];
	char *argv[MAX_WORDS + 1] = {NULL};
	const char *word = first;
	va_list args;
	int argc = 0;

	snprintf(words[0], sizeof(words[0]), "noref");
	argv[argc++] = words[0];
	va_start(args, first);
	for (; word != NULL; word = va_arg(args, const char *)) {
		assert_true(argc < MAX_WORDS);
		snprintf(words[argc], sizeof(words[0]), "%s", word);
		argv[argc] = words[argc];
		argc++;
	}
	va_end(args);
	err.text[0] = '\0';
	return options_parse(&options, argc, argv, &err);
}

#define PARSE(...) parse(__VA_ARGS__, (char *)NULL)

/** The words are refused, in one line that contains saying. */
#define REFUSED(saying, ...)                                                                       \
	do {                                                                                       \
		assert_int_equal(PARSE(__VA_ARGS__), -EINVAL);                                     \
		assert_non_null(strstr(err.text, saying));                                         \
		assert_null(strchr(err.text, '\n'));                                               \
		assert_null(options.map);                                                          \
	} while (0)

static void
nothing_given_means_defaults(void **state)
{
	(void)state;
	assert_int_equal(parse(NULL), 0);
	assert_false(options.interactive);
	assert_false(options.rx_cksum);
	assert_null(options.cmdline_file);
	assert_null(options.ctl);
	assert_int_equal(options.exit_on_idle_ms, 0);
	assert_int_equal(options.burst, BURST_DEFAULT);
	assert_int_equal(options.rxq, 0);
	assert_int_equal(options.max_pkt_len, 0);
	assert_int_equal(options.map_count, 0);
}

static void
every_option_is_taken(void **state)
{
	(void)state;
	assert_int_equal(PARSE("-i", "--cmdline-file=a.txt", "--ctl", "none", "--exit-on-idle=70",
			       "--stats-period=2", "--no-start", "--rxq=4", "--txq=3", "--rxd=256",
			       "--txd=128", "--enable-rx-cksum"),
			 0);
	assert_true(options.rx_cksum);
	assert_true(options.interactive);
	assert_string_equal(options.cmdline_file, "a.txt");
	assert_string_equal(options.ctl, "none");
	assert_int_equal(options.exit_on_idle_ms, 70);
	assert_int_equal(options.stats_period, 2);
	assert_true(options.no_start);
	assert_int_equal(options.rxq, 4);
	assert_int_equal(options.txq, 3);
	assert_int_equal(options.rxd, 256);
	assert_int_equal(options.txd, 128);
	assert_int_equal(PARSE("--interactive", "--burst=512", "--mbuf-size=4096",
			       "--total-num-mbufs", "8191", "--max-pkt-len=9018", "--exit-on-idle"),
			 0);
	assert_true(options.interactive);
	assert_int_equal(options.burst, 512);
	assert_int_equal(options.mbuf_size, 4096);
	assert_int_equal(options.total_mbufs, 8191);
	assert_int_equal(options.max_pkt_len, 9018);
	assert_int_equal(options.exit_on_idle_ms, EXIT_ON_IDLE_DEFAULT_MS);
}

static void
config_maps_queues_to_lcores(void **state)
{
	(void)state;
	assert_int_equal(PARSE("--config=(0,0,1),(0,1,2),(31,0,127)"), 0);
	assert_int_equal(options.map_count, 3);
	assert_int_equal(options.map[1].port, 0);
	assert_int_equal(options.map[1].queue, 1);
	assert_int_equal(options.map[1].lcore, 2);
	assert_int_equal(options.map[2].port, 31);
	assert_int_equal(options.map[2].lcore, 127);
	options_free(&options);
	assert_null(options.map);

	REFUSED("twice", "--config=(0,0,1),(0,0,2)");
	REFUSED("is not \"(port,queue,lcore)", "--config=");
	REFUSED("is not", "--config=(0,0,1),");
	REFUSED("is not", "--config=(0,0)");
	REFUSED("is not", "--config=(0,0,1");
	REFUSED("is not", "--config=(0,0,999)");
	REFUSED("is not", "--config=(32,0,1)");
	REFUSED("is not", "--config=(-1,0,1)");
	REFUSED("is not", "--config=(0,99999999999999999999,1)");
	REFUSED("a comma is expected", "--config=(0,0,1)(0,1,1)");
}

static void
mistakes_are_named(void **state)
{
	(void)state;
	REFUSED("'--speed'", "--speed");
	REFUSED("'--speed=9'", "--rxq=1", "--speed=9");
	REFUSED("'-z'", "-z");
	REFUSED("'-z'", "-iz");
	REFUSED("--rxq: a value is missing", "--rxq");
	REFUSED("--no-start takes no value", "--no-start=1");
	REFUSED("unexpected 'start'", "-i", "start");
	REFUSED("unexpected 'more'", "--", "more");
	REFUSED("--ctl: the value is empty", "--ctl=");
	REFUSED("--cmdline-file: the value is empty", "--cmdline-file", "");
	REFUSED("ambiguous", "--rx=1");
}

static void
numbers_stay_in_range(void **state)
{
	(void)state;
	REFUSED("--rxq: '0' is not a number from 1", "--rxq=0");
	REFUSED("--txq: '-1' is not", "--txq=-1");
	REFUSED("--rxd: 'many' is not", "--rxd=many");
	REFUSED("--txd: '65536' is not", "--txd=65536");
	REFUSED("--burst: '513' is not a number from 1 to 512", "--burst=513");
	REFUSED("--burst: '0' is not", "--burst=0");
	REFUSED("--mbuf-size: '64' is not", "--mbuf-size=64");
	REFUSED("--mbuf-size: '65536' is not", "--mbuf-size=65536");
	REFUSED("--total-num-mbufs: '5' is not", "--total-num-mbufs=5");
	REFUSED("--max-pkt-len: '65554' is not", "--max-pkt-len=65554");
	REFUSED("--exit-on-idle: '0' is not", "--exit-on-idle=0");
	REFUSED("--exit-on-idle: '' is not", "--exit-on-idle=");
	REFUSED("--stats-period: '0' is not", "--stats-period=0");
	REFUSED("--rxq: '' is not", "--rxq=");
	REFUSED("--rxq: '4x' is not", "--rxq=4x");
}

static void
help_and_version_end_the_parsing(void **state)
{
	FILE *old = stdout;
	char *text = NULL;
	size_t size = 0;

	(void)state;
	stdout = open_memstream(&text, &size);
	assert_non_null(stdout);
	assert_int_equal(PARSE("--help", "--nonsense"), 1);
	fflush(stdout);
	assert_non_null(strstr(text, "--exit-on-idle[=MS]"));
	assert_int_equal(PARSE("-v"), 1);
	fclose(stdout);
	stdout = old;
	assert_non_null(strstr(text, "DPDK"));
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_given_means_defaults),
		cmocka_unit_test(every_option_is_taken),
		cmocka_unit_test(config_maps_queues_to_lcores),
		cmocka_unit_test(mistakes_are_named),
		cmocka_unit_test(numbers_stay_in_range),
		cmocka_unit_test(help_and_version_end_the_parsing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
