/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHECKSUM_H
#define CHECKSUM_H

/**
 * @file
 * Sums and cyclic redundancy checks the NIC makes.
 */

#include <stdint.h>

/** RFC 1071: add bytes to a sum, as 16-bit words in memory's order; an odd one is padded with 0.
 * For at most 64 KiB in all between two folds. */
uint32_t checksum_add(uint32_t sum, const void *data, uint32_t length);
/** The sum with its carries added: the checksum is the complement. */
uint16_t checksum_fold(uint32_t sum);

/** CRC-32 of Ethernet's FCS, as it is sent when stored little-endian. */
uint32_t crc32_ethernet(const void *data, uint32_t length);
/** CRC-32C of SCTP (RFC 9260, appendix A), as above. */
uint32_t crc32_castagnoli(const void *data, uint32_t length);

#endif
