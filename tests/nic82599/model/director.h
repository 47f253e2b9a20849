/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DIRECTOR_H
#define DIRECTOR_H

/**
 * @file
 * The flow director, datasheet 7.1.2.7: a table of rules found by a hash over
 * the masked packet. Perfect mode then compares every field (IPv4 only);
 * signature mode compares a second hash and nothing else.
 *
 * There is one set of masks for the whole table. The driver computes the hash
 * of a rule, the NIC that of a packet; where the two disagree (bits of a rule
 * outside the mask, masks changed after it was written) the rule never matches.
 */

#include "frame.h"
#include "nic.h"

/** What FDIRCMD is told to do; returns what it then reads. */
uint32_t director_command(struct nic *nic, uint32_t command);
void director_flush(struct nic *nic);
/** Places left in the table. */
unsigned director_free(const struct nic *nic);
/** The first rule that matches, NULL: none. */
const struct director_rule *director_match(const struct nic *nic, const struct frame *frame);
unsigned director_queue(const struct nic *nic, const struct director_rule *rule);

/** 14 words as the driver hashes them; key: FDIRHKEY for the bucket, FDIRSKEY for the signature. */
uint32_t director_hash(const uint32_t words[14], uint32_t key);

#endif
