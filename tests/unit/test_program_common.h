/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_PROGRAM_COMMON_H
#define TEST_PROGRAM_COMMON_H

/**
 * @file
 * C to object by clang, in a folder of the test's own. Without clang the tests that need it are
 * skipped and say so.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <rte_eal.h>
#include <rte_lcore.h>
#include <rte_mempool.h>

#include "program.h"

#define HEADER "#include <noref_xdp.h>\n"

static char folder[] = "/tmp/noref-program.XXXXXX";
static bool have_clang;

static int
remove_folder(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

static int
start_eal(const char *name)
{
	static char args[][40] = {"test", "--no-huge",	    "--no-pci",	  "--no-shconf",   "-m",
				  "64",	  "--no-telemetry", "--lcores=0", "--file-prefix="};
	char *argv[RTE_DIM(args) + 1] = {NULL};

	for (unsigned i = 0; i < RTE_DIM(args); i++)
		argv[i] = args[i];
	snprintf(args[RTE_DIM(args) - 1], sizeof(args[0]), "--file-prefix=%s-%d", name,
		 (int)getpid());
	if (mkdtemp(folder) == NULL || rte_eal_init(RTE_DIM(args), argv) < 0)
		return -1;
	have_clang = system("clang --version >/dev/null 2>&1") == 0;
	if (!have_clang)
		printf("skipped: there is no clang, so no program to test with\n");
	return 0;
}

static void
write_file(const char *path, const void *bytes, size_t size)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
}

/* Compile C; returns the object's path, the same each time. */
static const char *
compile(const char *source, const char *flags)
{
	static char object[64];
	char path[64], command[512];

	if (!have_clang)
		skip();
	snprintf(path, sizeof(path), "%s/test.c", folder);
	snprintf(object, sizeof(object), "%s/test.o", folder);
	write_file(path, source, strlen(source));
	snprintf(command, sizeof(command), "clang -O2 -target bpf %s -I%s -c %s -o %s", flags,
		 NOREF_INCLUDE, path, object);
	assert_int_equal(system(command), 0);
	return object;
}

#endif
