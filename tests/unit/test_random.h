/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_RANDOM_H
#define TEST_RANDOM_H

/**
 * @file
 * Random numbers that are the same in every run (xorshift64). Set random_state to begin elsewhere.
 */

#include <stdint.h>

static uint64_t random_state = 0x9e3779b97f4a7c15;

static inline uint32_t
random32(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 16);
}

static inline uint32_t
random_below(uint32_t n)
{
	return random32() % n;
}

#endif
