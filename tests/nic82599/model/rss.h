/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RSS_H
#define RSS_H

/**
 * @file
 * Receive side scaling, datasheet 7.1.2.8: the Toeplitz hash of addresses and
 * ports, and the redirection table of 128 entries of 4 bits.
 */

#include "frame.h"
#include "nic.h"

#define RSS_KEY_SIZE 40

/** Hash types of the receive descriptor (datasheet 7.1.6.2). */
enum rss_type {
	RSS_NONE = 0,
	RSS_TCP4 = 1,
	RSS_IPV4 = 2,
	RSS_TCP6 = 3,
	RSS_IPV6 = 5,
	RSS_UDP4 = 7,
	RSS_UDP6 = 8,
};

void rss_prepare(struct rss *rss, const uint8_t key[RSS_KEY_SIZE]);
/** At most RSS_INPUT_MAX bytes of input. */
uint32_t rss_toeplitz(const struct rss *rss, const uint8_t *input, unsigned length);

/** What MRQC asks for; RSS_NONE with *hash 0: the packet is not hashed. */
enum rss_type rss_hash(struct nic *nic, const struct frame *frame, uint32_t *hash);
unsigned rss_queue(const struct nic *nic, uint32_t hash);

#endif
