/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DECODE_H
#define DECODE_H

/**
 * @file
 * The x86-64 instructions with which compilers read and write a register of a
 * device: what one does, and how long it is.
 */

#include <stdbool.h>
#include <stdint.h>

struct access {
	enum access_kind {
		ACCESS_LOAD,	  /**< general register <- memory; 4 bytes clear the upper half */
		ACCESS_LOAD_ZERO, /**< movzx: the whole register, zero-extended */
		ACCESS_STORE,	  /**< memory <- general register */
		ACCESS_STORE_IMMEDIATE,
		ACCESS_LOAD_XMM,  /**< xmm <- memory, the rest zeroed */
		ACCESS_STORE_XMM, /**< memory <- size bytes of an xmm register, from byte `from` */
	} kind;
	unsigned size; /**< bytes of memory: 1, 2, 4 or 8 */
	unsigned reg;  /**< number in the instruction set's order: rax, rcx, rdx, rbx, rsp, ... */
	unsigned from;
	bool high_byte; /**< of 1 byte: ah, ch, dh or bh, reg being 0 to 3 */
	int64_t immediate;
	unsigned length; /**< bytes of the instruction */
};

/** False: none of the instructions it knows. code: at least 15 bytes may be looked at. */
bool decode(const uint8_t *code, struct access *access);

#endif
