/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FILTER_H
#define FILTER_H

/**
 * @file
 * Which frames the NIC takes, and which queue each goes to.
 */

#include "director.h"
#include "frame.h"
#include "nic.h"
#include "rss.h"

/** Where a frame goes, and what its descriptor says about the way. */
struct steering {
	unsigned queue;
	int ethertype; /**< matching ETQF, -1: none */
	enum rss_type rss_type;
	uint32_t rss_hash;
	bool director_asked;
	const struct director_rule *rule; /**< of the flow director, NULL: none matched */
};

/** MAC and VLAN filters, datasheet 7.1.1. */
bool filter_accepts(const struct nic *nic, const struct frame *frame);
/** Queue assignment, datasheet 7.1.2. */
void filter_steer(struct nic *nic, const struct frame *frame, struct steering *steering);

#endif
