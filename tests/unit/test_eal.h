/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_EAL_H
#define TEST_EAL_H

/**
 * @file
 * EAL as a unit test wants it: no huge pages, no devices, nothing shared with other tests.
 */

#include <stdbool.h>
#include <stdio.h>

#include <rte_common.h>
#include <rte_eal.h>
#include <rte_errno.h>

/* lcores: as EAL's option has them, "0" for one. False, and said why: it did not start. */
static inline bool
test_eal_start(const char *lcores)
{
	static char args[][32] = {"test",     "--no-huge", "--no-pci",		"--no-telemetry",
				  "-m",	      "64",	   "--log-level=error", "--no-shconf",
				  "--lcores", ""};
	char *argv[RTE_DIM(args)];

	snprintf(args[RTE_DIM(args) - 1], sizeof(args[0]), "%s", lcores);
	for (unsigned i = 0; i < RTE_DIM(args); i++)
		argv[i] = args[i];
	if (rte_eal_init(RTE_DIM(args), argv) >= 0)
		return true;
	fprintf(stderr, "EAL does not start: %s\n", rte_strerror(rte_errno));
	return false;
}

#endif
