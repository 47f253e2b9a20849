/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STATS_H
#define STATS_H

/**
 * @file
 * Counting into statistics registers (datasheet 8.2.3.23). They clear when the
 * driver reads them; the driver adds them up.
 */

#include "nic.h"

#define FCS_SIZE 4u

static inline void
stats_add(struct nic *nic, uint32_t address, uint32_t value)
{
	reg_set(nic, address, reg_get(nic, address) + value);
}

/** A pair of registers, low and high. */
static inline void
stats_add64(struct nic *nic, uint32_t low, uint32_t value)
{
	uint64_t sum = (uint64_t)reg_get(nic, low + 4) << 32 | reg_get(nic, low);

	sum += value;
	reg_set(nic, low, (uint32_t)sum);
	reg_set(nic, low + 4, (uint32_t)(sum >> 32));
}

/** Six classes from 64 bytes to 1024 and more, FCS included. */
static inline void
stats_add_size(struct nic *nic, uint32_t first, uint32_t size)
{
	static const uint32_t up_to[5] = {64, 127, 255, 511, 1023};
	unsigned class = 0;

	while (class < 5 && size > up_to[class])
		class ++;
	stats_add(nic, first + class * 4, 1);
}

/** The counter of a receive or transmit queue: four bits of a byte in RQSMR or TQSM. */
static inline unsigned
stats_slot(const struct nic *nic, uint32_t map, unsigned queue)
{
	return reg_get(nic, map + queue / 4 * 4) >> queue % 4 * 8 & 0xf;
}

#endif
