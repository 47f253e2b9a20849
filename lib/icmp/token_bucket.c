/* SPDX-License-Identifier: BSD-3-Clause */
#include "icmp.h"

void
token_bucket_init(struct token_bucket *b, uint64_t tsc_hz, uint32_t per_second, uint32_t burst)
{
	*b = (struct token_bucket){.interval = UINT64_MAX};
	if (per_second == 0 || burst == 0)
		return;
	b->interval = tsc_hz / per_second;
	if (b->interval == 0)
		b->interval = 1;
	b->tokens = burst;
	b->burst = burst;
}

bool
token_bucket_take(struct token_bucket *b, uint64_t tsc_now)
{
	uint64_t elapsed = tsc_now - b->last, due;

	/* Under load, most calls come within one interval of the last refill: no division. */
	if (elapsed >= b->interval && (int64_t)elapsed > 0) {
		due = elapsed / b->interval;
		if (due >= b->burst - b->tokens) {
			b->tokens = b->burst;
			b->last = tsc_now; /* what a full bucket gets runs over */
		} else {
			b->tokens += (uint32_t)due;
			b->last += due * b->interval;
		}
	}
	if (b->tokens == 0)
		return false;
	b->tokens--;
	return true;
}
