/* SPDX-License-Identifier: BSD-3-Clause */
#include "nexthop.h"

#include <errno.h>
#include <strings.h>

static const char *const names[SID_BEHAVIOUR_COUNT] = {
	[SID_END] = "End",	   [SID_END_X] = "End.X",	[SID_END_T] = "End.T",
	[SID_END_DX4] = "End.DX4", [SID_END_DX6] = "End.DX6",	[SID_END_DT4] = "End.DT4",
	[SID_END_DT6] = "End.DT6", [SID_END_DT46] = "End.DT46",
};

const char *
sid_behaviour_name(enum sid_behaviour behaviour)
{
	return names[behaviour];
}

int
sid_behaviour_parse(const char *name, enum sid_behaviour *behaviour)
{
	for (unsigned i = 0; i < SID_BEHAVIOUR_COUNT; i++) {
		if (strcasecmp(name, names[i]) == 0) {
			*behaviour = (enum sid_behaviour)i;
			return 0;
		}
	}
	return -EINVAL;
}
