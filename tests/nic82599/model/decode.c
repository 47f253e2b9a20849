/* SPDX-License-Identifier: BSD-3-Clause */
#include "decode.h"

#include <string.h>

/** The instruction as far as it has been read. */
struct reader {
	const uint8_t *at;
	uint8_t rex;
	bool operand_prefix; /**< 0x66: 16 bits, or SSE */
	bool f3_prefix;
	bool selector; /**< a byte behind the address says which part of the xmm register */
};

#define REX_W 8u
#define REX_R 4u

static void
read_prefixes(struct reader *r)
{
	for (;; r->at++) {
		switch (*r->at) {
		case 0x66:
			r->operand_prefix = true;
			continue;
		case 0xf3:
			r->f3_prefix = true;
			continue;
		case 0x2e: /* segment overrides, without effect or with a base that is in the
			      address */
		case 0x3e:
		case 0x64:
		case 0x65:
			continue;
		}
		break;
	}
	if ((*r->at & 0xf0) == 0x40)
		r->rex = *r->at++;
}

static unsigned
operand_size(const struct reader *r)
{
	if ((r->rex & REX_W) != 0)
		return 8;
	return r->operand_prefix ? 2 : 4;
}

/** Two-byte opcodes, behind 0x0f. */
static bool
decode_0f(struct reader *r, struct access *a)
{
	unsigned wide = (r->rex & REX_W) != 0 ? 8 : 4;

	switch (*r->at++) {
	case 0xb6: /* movzx r, m8 */
		*a = (struct access){.kind = ACCESS_LOAD_ZERO, .size = 1};
		return true;
	case 0xb7: /* movzx r, m16 */
		*a = (struct access){.kind = ACCESS_LOAD_ZERO, .size = 2};
		return true;
	case 0x38: /* movdiri m, r */
		*a = (struct access){.kind = ACCESS_STORE, .size = wide};
		return *r->at++ == 0xf9 && !r->operand_prefix;
	case 0x3a: /* pextrd, pextrq m, xmm, imm8 */
		*a = (struct access){.kind = ACCESS_STORE_XMM, .size = wide};
		r->selector = true;
		return *r->at++ == 0x16 && r->operand_prefix;
	case 0x6e: /* movd, movq xmm, m */
		*a = (struct access){.kind = ACCESS_LOAD_XMM, .size = wide};
		return r->operand_prefix;
	case 0x7e: /* movd, movq m, xmm; with F3 movq xmm, m64 */
		*a = r->f3_prefix ? (struct access){.kind = ACCESS_LOAD_XMM, .size = 8}
				  : (struct access){.kind = ACCESS_STORE_XMM, .size = wide};
		return r->operand_prefix || r->f3_prefix;
	case 0xd6: /* movq m64, xmm */
		*a = (struct access){.kind = ACCESS_STORE_XMM, .size = 8};
		return r->operand_prefix;
	default:
		return false;
	}
}

static bool
decode_opcode(struct reader *r, struct access *a)
{
	switch (*r->at++) {
	case 0x0f:
		return decode_0f(r, a);
	case 0x88: /* mov m8, r8 */
		*a = (struct access){.kind = ACCESS_STORE, .size = 1};
		return true;
	case 0x89: /* mov m, r */
		*a = (struct access){.kind = ACCESS_STORE, .size = operand_size(r)};
		return true;
	case 0x8a: /* mov r8, m8 */
		*a = (struct access){.kind = ACCESS_LOAD, .size = 1};
		return true;
	case 0x8b: /* mov r, m */
		*a = (struct access){.kind = ACCESS_LOAD, .size = operand_size(r)};
		return true;
	case 0xc6: /* mov m8, imm8 */
		*a = (struct access){.kind = ACCESS_STORE_IMMEDIATE, .size = 1};
		return true;
	case 0xc7: /* mov m, imm */
		*a = (struct access){.kind = ACCESS_STORE_IMMEDIATE, .size = operand_size(r)};
		return true;
	default:
		return false;
	}
}

/** ModRM, SIB and displacement: the register, and how long the address is. The address itself is
 * known from the fault. */
static bool
skip_address(struct reader *r, unsigned *reg)
{
	uint8_t modrm = *r->at++;
	unsigned mod = modrm >> 6, rm = modrm & 7, displacement = 0;

	*reg = (modrm >> 3 & 7) | ((r->rex & REX_R) != 0 ? 8 : 0);
	if (mod == 3)
		return false; /* no memory in it */
	if (mod == 1)
		displacement = 1;
	else if (mod == 2 || rm == 5)
		displacement = 4;
	if (rm == 4) {
		if (mod == 0 && (*r->at & 7) == 5)
			displacement = 4;
		r->at++;
	}
	r->at += displacement;
	return true;
}

/** Signed, of 1, 2 or 4 bytes; an 8-byte store extends 4. */
static void
read_immediate(struct reader *r, struct access *a)
{
	int8_t byte;
	int16_t half;
	int32_t word;

	if (a->size == 1) {
		memcpy(&byte, r->at, 1);
		a->immediate = byte;
		r->at += 1;
	} else if (a->size == 2) {
		memcpy(&half, r->at, 2);
		a->immediate = half;
		r->at += 2;
	} else {
		memcpy(&word, r->at, 4);
		a->immediate = word;
		r->at += 4;
	}
}

bool
decode(const uint8_t *code, struct access *a)
{
	struct reader r = {.at = code};

	read_prefixes(&r);
	if (!decode_opcode(&r, a))
		return false;
	if (!skip_address(&r, &a->reg))
		return false;
	if (a->kind == ACCESS_STORE_IMMEDIATE) {
		if (a->reg != 0)
			return false;
		read_immediate(&r, a);
	}
	if (r.selector)
		a->from = (*r.at++ & (16 / a->size - 1)) * a->size;
	/* Without a REX prefix, byte registers 4 to 7 are the high halves of 0 to 3. */
	if ((a->kind == ACCESS_LOAD || a->kind == ACCESS_STORE) && a->size == 1 && r.rex == 0 &&
	    a->reg >= 4) {
		a->high_byte = true;
		a->reg -= 4;
	}
	a->length = (unsigned)(r.at - code);
	return true;
}
