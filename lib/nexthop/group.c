/* SPDX-License-Identifier: BSD-3-Clause */
#include "nexthop.h"

#include <stdlib.h>

#include <math.h>

/* Enough entries that a share is right within a few percent; tables stay small. */
#define ENTRIES_PER_WEIGHT 16u
#define ENTRIES_MIN	   64u
#define ENTRIES_MAX	   4096u

/* A number in (0, 1) that depends on member and entry only. */
static double
lottery(uint32_t member, uint32_t entry)
{
	uint64_t x = (uint64_t)member << 32 | entry;

	/* splitmix64's finaliser: every input bit reaches every output bit. */
	x += 0x9e3779b97f4a7c15;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
	x ^= x >> 31;
	return ((double)(x >> 11) + 0.5) / 9007199254740992.0;
}

/*
 * Weighted rendezvous hashing (Thaler and Ravishankar 1998; the logarithm makes
 * a member's chance proportional to its weight): each entry goes to the member
 * with the highest score, which no other member's presence changes.
 */
const uint32_t *
nexthop_group_values(const struct nexthop_member *members, unsigned n, uint32_t *mask)
{
	uint32_t total = 0, size = ENTRIES_MIN;
	uint32_t *values;

	for (unsigned m = 0; m < n; m++)
		total += members[m].weight;
	while (size < total * ENTRIES_PER_WEIGHT && size < ENTRIES_MAX)
		size *= 2;
	values = aligned_alloc(RTE_CACHE_LINE_SIZE, size * sizeof(*values));
	if (values == NULL)
		return NULL;
	for (uint32_t e = 0; e < size; e++) {
		double best = 0;

		values[e] = 0;
		for (unsigned m = 0; m < n; m++) {
			double score =
				-(double)members[m].weight / log(lottery(members[m].nexthop, e));

			if (score > best) {
				best = score;
				values[e] = members[m].nexthop;
			}
		}
	}
	*mask = size - 1;
	return values;
}

void
nexthop_group_values_free(const uint32_t *values)
{
	free((void *)(uintptr_t)values);
}
