/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Congestion marks across the end of a tunnel.
 */
#include "ip.h"

enum {
	ECN_MASK = 3,
	NOT_ECT = 0,
	ECT_1 = 1,
	ECT_0 = 2,
	CE = 3,
	DROP = -1,
};

/* RFC 6040 4.2, figure 4: a row per mark of the inner packet, a column per mark of the outer. */
static const int8_t outcome[4][4] = {
	/* The columns: NOT_ECT, ECT_1, ECT_0, CE. */
	[NOT_ECT] = {NOT_ECT, NOT_ECT, NOT_ECT, DROP},
	[ECT_1] = {ECT_1, ECT_1, ECT_1, CE},
	[ECT_0] = {ECT_0, ECT_1, ECT_0, CE},
	[CE] = {CE, CE, CE, CE},
};

int
ecn_decapsulate(unsigned outer, unsigned inner)
{
	return outcome[inner & ECN_MASK][outer & ECN_MASK];
}

bool
ecn_apply4(uint8_t *h, unsigned outer)
{
	int ecn = ecn_decapsulate(outer, h[1]);
	uint16_t was, is, checksum;

	if (unlikely(ecn < 0))
		return false;
	if (likely(ecn == (h[1] & ECN_MASK)))
		return true;
	memcpy(&was, h, 2);
	h[1] = (uint8_t)((h[1] & ~ECN_MASK) | ecn);
	memcpy(&is, h, 2);
	memcpy(&checksum, h + 10, 2);
	checksum = ip_sum_replace(checksum, was, is);
	memcpy(h + 10, &checksum, 2);
	return true;
}

/* The traffic class lies across the first two bytes; its low two bits are bits 5 and 4 of the
 * second (RFC 8200 3). */
bool
ecn_apply6(uint8_t *h, unsigned outer)
{
	int ecn = ecn_decapsulate(outer, h[1] >> 4);

	if (unlikely(ecn < 0))
		return false;
	h[1] = (uint8_t)((h[1] & ~(ECN_MASK << 4)) | ecn << 4);
	return true;
}
