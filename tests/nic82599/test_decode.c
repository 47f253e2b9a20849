/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The decoder on what assemblers make: register numbers, sizes, lengths with
 * every form of address, and what it must refuse.
 */
#include "test_nic.h"

#include "decode.h"

static const struct example {
	const char *text;
	const char *code;
	unsigned length;
	enum access_kind kind;
	unsigned size, reg, from;
	bool high_byte;
	int64_t immediate;
} examples[] = {
	{"mov eax, [rdi]", "\x8b\x07", 2, ACCESS_LOAD, 4, 0, 0, false, 0},
	{"mov r9d, [rdi]", "\x44\x8b\x0f", 3, ACCESS_LOAD, 4, 9, 0, false, 0},
	{"mov eax, [r13+0]", "\x41\x8b\x45\x00", 4, ACCESS_LOAD, 4, 0, 0, false, 0},
	{"mov ecx, [rdi+0x5080]", "\x8b\x8f\x80\x50\x00\x00", 6, ACCESS_LOAD, 4, 1, 0, false, 0},
	{"mov edx, [rdi+rax*4]", "\x8b\x14\x87", 3, ACCESS_LOAD, 4, 2, 0, false, 0},
	{"mov edx, [rax*4+0x1000]", "\x8b\x14\x85\x00\x10\x00\x00", 7, ACCESS_LOAD, 4, 2, 0, false,
	 0},
	{"mov edx, [rsp+8]", "\x8b\x54\x24\x08", 4, ACCESS_LOAD, 4, 2, 0, false, 0},
	{"mov edx, [r12+0x100]", "\x41\x8b\x94\x24\x00\x01\x00\x00", 8, ACCESS_LOAD, 4, 2, 0, false,
	 0},
	{"mov eax, [rip+0x10]", "\x8b\x05\x10\x00\x00\x00", 6, ACCESS_LOAD, 4, 0, 0, false, 0},
	{"mov rax, [rdi]", "\x48\x8b\x07", 3, ACCESS_LOAD, 8, 0, 0, false, 0},
	{"mov ax, [rdi]", "\x66\x8b\x07", 3, ACCESS_LOAD, 2, 0, 0, false, 0},
	{"mov al, [rdi]", "\x8a\x07", 2, ACCESS_LOAD, 1, 0, 0, false, 0},
	{"mov ah, [rdi]", "\x8a\x27", 2, ACCESS_LOAD, 1, 0, 0, true, 0},
	{"mov sil, [rdi]", "\x40\x8a\x37", 3, ACCESS_LOAD, 1, 6, 0, false, 0},
	{"movzx eax, byte [rdi]", "\x0f\xb6\x07", 3, ACCESS_LOAD_ZERO, 1, 0, 0, false, 0},
	{"movzx r8d, word [rdi+2]", "\x44\x0f\xb7\x47\x02", 5, ACCESS_LOAD_ZERO, 2, 8, 0, false, 0},
	{"mov [rdi], esi", "\x89\x37", 2, ACCESS_STORE, 4, 6, 0, false, 0},
	{"mov [r15+0x18], r14d", "\x45\x89\x77\x18", 4, ACCESS_STORE, 4, 14, 0, false, 0},
	{"mov [rdi], rsi", "\x48\x89\x37", 3, ACCESS_STORE, 8, 6, 0, false, 0},
	{"mov dword [rdi+0x888], 0x7fffffff", "\xc7\x87\x88\x08\x00\x00\xff\xff\xff\x7f", 10,
	 ACCESS_STORE_IMMEDIATE, 4, 0, 0, false, 0x7fffffff},
	{"mov dword [rdi], -1", "\xc7\x07\xff\xff\xff\xff", 6, ACCESS_STORE_IMMEDIATE, 4, 0, 0,
	 false, -1},
	{"mov qword [rdi], -2", "\x48\xc7\x07\xfe\xff\xff\xff", 7, ACCESS_STORE_IMMEDIATE, 8, 0, 0,
	 false, -2},
	{"mov word [rdi], 0x1234", "\x66\xc7\x07\x34\x12", 5, ACCESS_STORE_IMMEDIATE, 2, 0, 0,
	 false, 0x1234},
	{"mov byte [rdi], 5", "\xc6\x07\x05", 3, ACCESS_STORE_IMMEDIATE, 1, 0, 0, false, 5},
	{"movdiri [rdi], eax", "\x0f\x38\xf9\x07", 4, ACCESS_STORE, 4, 0, 0, false, 0},
	{"movdiri [rdi+0x18], r9", "\x4c\x0f\x38\xf9\x4f\x18", 6, ACCESS_STORE, 8, 9, 0, false, 0},
	{"movd [rdi], xmm1", "\x66\x0f\x7e\x0f", 4, ACCESS_STORE_XMM, 4, 1, 0, false, 0},
	{"movq [rdi], xmm9", "\x66\x44\x0f\xd6\x0f", 5, ACCESS_STORE_XMM, 8, 9, 0, false, 0},
	{"movd xmm2, [rdi]", "\x66\x0f\x6e\x17", 4, ACCESS_LOAD_XMM, 4, 2, 0, false, 0},
	{"movq xmm2, [rdi]", "\xf3\x0f\x7e\x17", 4, ACCESS_LOAD_XMM, 8, 2, 0, false, 0},
	{"pextrd [rdi], xmm3, 2", "\x66\x0f\x3a\x16\x1f\x02", 6, ACCESS_STORE_XMM, 4, 3, 8, false,
	 0},
	{"pextrq [rdi+8], xmm3, 1", "\x66\x48\x0f\x3a\x16\x5f\x08\x01", 8, ACCESS_STORE_XMM, 8, 3,
	 8, false, 0},
	{"mov eax, fs:[rdi]", "\x64\x8b\x07", 3, ACCESS_LOAD, 4, 0, 0, false, 0},
};

static const struct example refused[] = {
	{.text = "mov eax, ebx", .code = "\x8b\xc3"},
	{.text = "add [rdi], eax", .code = "\x01\x07"},
	{.text = "lock or [rdi], eax", .code = "\xf0\x09\x07"},
	{.text = "movntdq [rdi], xmm0", .code = "\x66\x0f\xe7\x07"},
	{.text = "movd mm1, [rdi]", .code = "\x0f\x6e\x0f"},
	{.text = "c7 /1 is none", .code = "\xc7\x0f\x00\x00\x00\x00"},
	{.text = "vmovd [rdi], xmm0", .code = "\xc5\xf9\x7e\x07"},
};

/** decode() may look at 15 bytes. */
static bool
decode_example(const struct example *e, unsigned length, struct access *access)
{
	uint8_t code[16] = {0};

	memcpy(code, e->code, length);
	return decode(code, access);
}

static void
test_known_instructions(void **state)
{
	const struct example *e;
	struct access a;

	(void)state;
	for (e = examples; e < examples + sizeof(examples) / sizeof(examples[0]); e++) {
		if (!decode_example(e, e->length, &a))
			fail_msg("%s: refused", e->text);
		if (a.length != e->length || a.kind != e->kind || a.size != e->size ||
		    a.reg != e->reg || a.from != e->from || a.high_byte != e->high_byte ||
		    a.immediate != e->immediate)
			fail_msg("%s: length %u kind %d size %u reg %u from %u high %d imm %lld",
				 e->text, a.length, a.kind, a.size, a.reg, a.from, a.high_byte,
				 (long long)a.immediate);
	}
}

static void
test_others_are_refused(void **state)
{
	const struct example *e;
	struct access a;

	(void)state;
	for (e = refused; e < refused + sizeof(refused) / sizeof(refused[0]); e++)
		if (decode_example(e, (unsigned)strlen(e->code), &a))
			fail_msg("%s: taken for something", e->text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_instructions),
		cmocka_unit_test(test_others_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
