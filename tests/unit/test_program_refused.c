/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What is no program for noref is refused with a sentence that says why, whatever
 * the file holds, and nothing is left of it.
 */
#include "test_program_common.h"

#include <elf.h>
#include <fcntl.h>
#include <time.h>

#include <rte_bpf.h>
#include <rte_log.h>

#define V2 "-mcpu=v2"

/* A program of ours around the statements. */
#define PROGRAM(statements)                                                                        \
	HEADER "NOREF_SECTION(\"test\")\n"                                                         \
	       "int test(const struct noref_packet *p)\n{\n" statements "\n}\n"

static const struct refusal {
	const char *title, *source, *flags, *section;
	const char *says[3]; /* all of them in the sentence */
} refusals[] = {
	{"loop",
	 PROGRAM("unsigned s = 0;\n"
		 "#pragma nounroll\n"
		 "for (unsigned i = 0; i < p->length; i++) { noref_count(i, 1); s ^= i; }\n"
		 "return s & 1;"),
	 V2,
	 "test",
	 {"has a loop: unroll it", "librte_bpf: ", "loops detected"}},
	{"newer instructions",
	 PROGRAM("return (int)p->length < (int)p->hash ? XDP_DROP : XDP_PASS;"),
	 "-mcpu=v3",
	 "test",
	 {"compile with -mcpu=v2", "librte_bpf: ", "invalid opcode at pc"}},
	{"newer atomics",
	 PROGRAM("unsigned long long x = p->length;\n"
		 "return __sync_fetch_and_add(&x, 5) + x;"),
	 "-mcpu=v3",
	 "test",
	 {"compile with -mcpu=v2", "librte_bpf: "}},
	{"outside the view",
	 PROGRAM("return (p->head + NOREF_HEAD)[1];"),
	 V2,
	 "test",
	 {"beyond what it was given", "memory boundary violation"}},
	{"in front of the view",
	 PROGRAM("return ((const unsigned char *)p)[-1];"),
	 V2,
	 "test",
	 {"beyond what it was given", "memory boundary violation"}},
	{"index out of bounds",
	 PROGRAM("return *noref_at(p, p->length);"),
	 V2,
	 "test",
	 {"beyond what it was given", "memory boundary violation"}},
	{"half outside the view",
	 PROGRAM("return *(const unsigned *)(p->head + NOREF_HEAD - 2);"),
	 V2,
	 "test",
	 {"beyond what it was given"}},
	{"small block",
	 PROGRAM("unsigned long long small = 1;\n"
		 "noref_load(0, (struct noref_block *)&small, 8);\n"
		 "return small;"),
	 V2,
	 "test",
	 {"beyond what it was given", "memory boundary violation"}},
	{"number for a block",
	 PROGRAM("return noref_load(0, (struct noref_block *)(long)p->length, 8);"),
	 V2,
	 "test",
	 {"passes a helper something else", "Invalid argument type"}},
	{"index only compared",
	 PROGRAM("return p->length < 100 ? *noref_at(p, p->length) : 0;"),
	 V2,
	 "test",
	 {"beyond what it was given"}},
	{"index without noref_at",
	 HEADER "NOREF_SECTION(\"test\") __attribute__((naked))\n"
		"int test(const struct noref_packet *p)\n"
		"{ asm volatile(\"r2 = 1; r2 += r1; r0 = *(u8 *)(r2 + 32); exit\"); }\n",
	 V2,
	 "test",
	 {"no pointer it was given (noref_at() makes one)", "not a pointer"}},
	{"pointer out of the packet",
	 PROGRAM("return **(unsigned char **)(long)p->head;"),
	 V2,
	 "test",
	 {"no pointer it was given", "not a pointer"}},
	{"stack by variable",
	 PROGRAM("volatile unsigned char a[16];\n"
		 "a[p->length & 15] = 2; return a[p->hash & 15];"),
	 V2,
	 "test",
	 {"indexes an array on its stack"}},
	{"deep stack",
	 HEADER "NOREF_SECTION(\"test\") __attribute__((naked))\n"
		"int test(const struct noref_packet *p)\n"
		"{ asm volatile(\"r0 = 1; *(u64 *)(r10 - 520) = r0; exit\"); }\n",
	 V2,
	 "test",
	 {"512 bytes of stack", "memory boundary violation"}},
	{"nothing returned",
	 HEADER "NOREF_SECTION(\"test\") __attribute__((naked))\n"
		"int test(const struct noref_packet *p) { asm volatile(\"exit\"); }\n",
	 V2,
	 "test",
	 {"may end without a verdict"}},
	{"unset value",
	 HEADER "NOREF_SECTION(\"test\") __attribute__((naked))\n"
		"int test(const struct noref_packet *p)\n"
		"{ asm volatile(\"r0 = r5; exit\"); }\n",
	 V2,
	 "test",
	 {"value it has not set"}},
	{"unset stack",
	 HEADER "NOREF_SECTION(\"test\") __attribute__((naked))\n"
		"int test(const struct noref_packet *p)\n"
		"{ asm volatile(\"r0 = *(u64 *)(r10 - 8); exit\"); }\n",
	 V2,
	 "test",
	 {"reads from its stack what it has not written"}},
	{"no way there",
	 HEADER "NOREF_SECTION(\"test\") __attribute__((naked))\n"
		"int test(const struct noref_packet *p)\n"
		"{ asm volatile(\"r0 = 1; exit; r0 = 2; exit\"); }\n",
	 V2,
	 "test",
	 {"instructions nothing leads to", "unreachable"}},
	{"past the end",
	 HEADER "NOREF_SECTION(\"test\") __attribute__((naked))\n"
		"int test(const struct noref_packet *p) { asm volatile(\"r0 = 1\"); }\n",
	 V2,
	 "test",
	 {"runs on past its end"}},
	{"jump past the end",
	 HEADER "NOREF_SECTION(\"test\") __attribute__((naked))\n"
		"int test(const struct noref_packet *p)\n"
		"{ asm volatile(\"r0 = 1; if r0 == 3 goto +1; exit\"); }\n",
	 V2,
	 "test",
	 {"runs on past its end"}},
	{"jump into a load",
	 HEADER "NOREF_SECTION(\"test\") __attribute__((naked))\n"
		"int test(const struct noref_packet *p)\n"
		"{ asm volatile(\"r0 = 1; if r0 == 3 goto +1;\"\n"
		"  \"r0 = 0x123456789 ll; exit\"); }\n",
	 V2,
	 "test",
	 {"leads nowhere"}},
	{"first a branch",
	 HEADER "NOREF_SECTION(\"test\") __attribute__((naked))\n"
		"int test(const struct noref_packet *p)\n"
		"{ asm volatile(\"if r1 == 0 goto +2; r0 = 1; exit;\"\n"
		"  \"r0 = *(u64 *)(r1 + 4000); exit\"); }\n",
	 V2,
	 "test",
	 {"begins with a branch"}},
	{"unknown function",
	 HEADER "extern int elsewhere(int);\n"
		"NOREF_SECTION(\"test\")\n"
		"int test(const struct noref_packet *p) { return elsewhere(1); }\n",
	 V2,
	 "test",
	 {"calls elsewhere, which is no helper"}},
	{"function not inlined",
	 HEADER "static __attribute__((noinline)) int other(int x)\n"
		"{ return x * 77 ^ x >> 3; }\n"
		"NOREF_SECTION(\"test\")\n"
		"int test(const struct noref_packet *p)\n"
		"{ return other(p->length) + other(p->hash); }\n",
	 V2,
	 "test",
	 {"calls a function", "must be NOREF_INLINE"}},
	{"two functions",
	 HEADER "NOREF_SECTION(\"test\") int one(const struct noref_packet *p)\n"
		"{ return XDP_DROP; }\n"
		"NOREF_SECTION(\"test\") int two(const struct noref_packet *p)\n"
		"{ return XDP_PASS; }\n",
	 V2,
	 "test",
	 {"holds 2 functions"}},
	{"kernel helper",
	 HEADER "static long (*bpf_redirect)(unsigned, unsigned long) = (void *)23;\n"
		"NOREF_SECTION(\"test\")\n"
		"int test(const struct noref_packet *p) { return bpf_redirect(1, 0); }\n",
	 V2,
	 "test",
	 {"helper number 23 of the kernel's"}},
	{"kernel helper with a number of ours",
	 HEADER "static long (*bpf_map_lookup_elem)(const void *, unsigned long) = (void *)1;\n"
		"NOREF_SECTION(\"test\")\n"
		"int test(const struct noref_packet *p) { return bpf_map_lookup_elem(p, 0); }\n",
	 V2,
	 "test",
	 {"helper number 1 of the kernel's"}},
	{"global variable",
	 HEADER "int seen;\n"
		"NOREF_SECTION(\"test\")\n"
		"int test(const struct noref_packet *p) { return seen++; }\n",
	 V2,
	 "test",
	 {"global variable", "seen", "noref_count()"}},
	{"constant table",
	 HEADER "static const int table[] = {7, 1, 9, 2, 3, 4, 8, 1};\n"
		"NOREF_SECTION(\"test\")\n"
		"int test(const struct noref_packet *p) { return table[p->length & 7]; }\n",
	 V2,
	 "test",
	 {"constant table", ".rodata"}},
	{"for the kernel",
	 "struct xdp_md { unsigned data, data_end; };\n"
	 "__attribute__((section(\"xdp\"), used)) int prog(struct xdp_md *c)\n"
	 "{ return c->data + 14 > c->data_end ? 1 : 2; }\n",
	 V2,
	 "xdp",
	 {"laid out for the kernel", "noref_xdp.h"}},
	{"for the kernel, named",
	 "__attribute__((section(\"xdp/mine\"), used)) int prog(void *c)\n"
	 "{ return 2; }\n",
	 V2,
	 "mine",
	 {"laid out for the kernel", "noref_xdp.h"}},
	{"maps",
	 HEADER "struct { int (*type)[2]; } counts __attribute__((section(\".maps\"), used));\n"
		"NOREF_SECTION(\"test\")\n"
		"int test(const struct noref_packet *p) { return 2; }\n",
	 V2,
	 "test",
	 {"has maps", "noref_count()"}},
	{"field offsets",
	 HEADER "struct kernels { int a, b; } __attribute__((preserve_access_index));\n"
		"NOREF_SECTION(\"test\")\n"
		"int test(const struct noref_packet *p) { return ((struct kernels *)p)->b; }\n",
	 V2 " -g",
	 "test",
	 {"laid out for the kernel", "CO-RE"}},
	{"no such section",
	 PROGRAM("return XDP_DROP;"),
	 V2,
	 "other",
	 {"has no section noref/other; it has noref/test"}},
	{"no section at all",
	 "int f(int x) { return x; }\n",
	 V2,
	 "test",
	 {"nor any that begins with noref/"}},
	{"data", HEADER "NOREF_SECTION(\"test\") int value = 7;\n", V2, "test", {"holds no code"}},
	{"the other byte order",
	 PROGRAM("return XDP_DROP;"),
	 V2 " -target bpfeb",
	 "test",
	 {"byte order"}},
	{"another machine",
	 "int f(void) { return 1; }\n",
	 "-target x86_64-linux-gnu",
	 "test",
	 {"made for another machine", "62"}},
	{"bitcode", PROGRAM("return XDP_DROP;"), V2 " -emit-llvm", "test", {"not an ELF file"}},
};

/* Loading must fail; returns the sentence. */
static const char *
refuse(const char *title, const char *path, const char *section)
{
	static struct err err;
	struct program *program = NULL;
	int rc;

	err.text[0] = '\0';
	rc = program_load(&program, path, section, PROGRAM_NATIVE, &err);
	if (rc == 0)
		fail_msg("%s (%s, section %s): loaded", title, path, section);
	assert_true(rc < 0);
	assert_null(program);
	assert_true(strncmp(err.text, path, strlen(path)) == 0 || strncmp(err.text, "...", 3) == 0);
	for (const char *c = err.text; *c != '\0'; c++)
		assert_true(*c >= ' ');
	return err.text;
}

static void
assert_says(const char *text, const char *what)
{
	if (strstr(text, what) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", text, what);
}

static void
each_reason_has_its_sentence(void **state)
{
	FILE *log = rte_log_get_stream();

	(void)state;
	for (unsigned i = 0; i < RTE_DIM(refusals); i++) {
		const struct refusal *r = &refusals[i];
		const char *text = refuse(r->title, compile(r->source, r->flags), r->section);

		for (unsigned k = 0; k < RTE_DIM(r->says) && r->says[k] != NULL; k++)
			if (strstr(text, r->says[k]) == NULL)
				fail_msg("%s: \"%s\" does not say \"%s\"", r->title, text,
					 r->says[k]);
	}
	assert_ptr_equal(rte_log_get_stream(), log);
}

static void
what_is_no_file_is_said(void **state)
{
	char path[512], longer[400];

	(void)state;
	assert_says(refuse("file", "/nowhere/at/all.o", "test"), "No such file or directory");
	assert_says(refuse("file", folder, "test"), "is not a regular file");
	assert_says(refuse("file", "/dev/null", "test"), "is not a regular file");
	snprintf(path, sizeof(path), "%s/pipe", folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_says(refuse("file", path, "test"), "is not a regular file");
	snprintf(path, sizeof(path), "%s/file", folder);
	write_file(path, "", 0);
	assert_says(refuse("file", path, "test"), "is empty");
	write_file(path, "just text\n", 10);
	assert_says(refuse("file", path, "test"), "not an ELF file");
	write_file(path, "\177ELF", 4);
	assert_says(refuse("file", path, "test"), "its header is cut off");
	write_file(path, "\177E", 2);
	assert_says(refuse("file", path, "test"), "not an ELF file");
	assert_int_equal(truncate(path, PROGRAM_FILE_MAX + 1), 0);
	assert_says(refuse("file", path, "test"), "an object may have 4194304");
	assert_says(refuse("file", path, ""), "a section's name has");
	memset(longer, 'a', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_says(refuse("file", path, longer), "a section's name has");
	snprintf(path, sizeof(path), "/%s", longer);
	assert_says(refuse("file", path, "test"), "File name too long");
}

/* Loading takes no descriptors and no memory maps, whichever way it ends. */
static unsigned
descriptors(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void
many_ways_are_refused_at_once(void **state)
{
	struct program *program = NULL;
	struct err err;
	clock_t began;

	(void)state;
	/* n branches that meet again: 2^n ways. */
	for (unsigned n = 10; n <= 60; n += 50) {
		char *source = NULL;
		size_t size;
		FILE *text = open_memstream(&source, &size);
		const char *object;
		int rc;

		assert_non_null(text);
		fputs(HEADER "NOREF_SECTION(\"test\")\n"
			     "int test(const struct noref_packet *p)\n{\n",
		      text);
		for (unsigned i = 0; i < n; i++)
			fprintf(text, "if (p->head[%u] == %u) noref_count(1, 1);\n", i, i + 3);
		fputs("return XDP_PASS;\n}\n", text);
		fclose(text);
		object = compile(source, V2);
		free(source);
		began = clock();
		rc = program_load(&program, object, "test", PROGRAM_NATIVE, &err);
		assert_true((double)(clock() - began) / CLOCKS_PER_SEC < 2);
		if (n == 10) {
			assert_int_equal(rc, 0);
			program_free(program);
		} else {
			assert_int_equal(rc, -EINVAL);
			assert_says(err.text, "too many ways through it");
		}
	}
}

static uint8_t *
read_file(const char *path, size_t *size)
{
	FILE *f = fopen(path, "r");
	uint8_t *bytes = malloc(1 << 16);

	assert_non_null(f);
	assert_non_null(bytes);
	*size = fread(bytes, 1, 1 << 16, f);
	assert_true(*size > 0 && *size < 1 << 16);
	fclose(f);
	return bytes;
}

static const char fuzzed[] = HEADER
	"NOREF_SECTION(\"test\")\n"
	"int test(const struct noref_packet *p)\n"
	"{\n"
	"	struct noref_block b;\n"
	"	unsigned ihl = (p->head[14] & 15) * 4;\n"
	"	if (noref_be16(p, 12) != 0x0800) return XDP_PASS;\n"
	"	if (noref_load(0x123456789abcdefull + p->length, &b, 60)) return XDP_ABORTED;\n"
	"	if (b.bytes[9] == 17 && noref_be16(p, 14 + ihl + 2) == 53) {\n"
	"		noref_count(1, p->length / (p->hash | 1));\n"
	"		return noref_redirect(1);\n"
	"	}\n"
	"	return XDP_PASS;\n"
	"}\n"
	"NOREF_SECTION(\"other\") int other(const struct noref_packet *p) { return XDP_DROP; }\n";

static uint32_t
below(uint32_t n)
{
	return (uint32_t)random() % n;
}

/* Damage a copy of the object somehow; returns its size. */
static size_t
mutate(uint8_t *to, const uint8_t *from, size_t size)
{
	const Elf64_Ehdr *eh = (const void *)from;
	static const uint64_t edges[] = {
		0,	    1,	       7,	   8,	       UINT8_MAX,
		UINT16_MAX, INT32_MAX, UINT32_MAX, UINT64_MAX, UINT64_MAX - 7,
		1ull << 63};
	unsigned changes = 1 + below(4);

	memcpy(to, from, size);
	for (unsigned i = 0; i < changes; i++) {
		uint64_t value = edges[below(RTE_DIM(edges))];
		size_t width = 1u << below(4), at;

		switch (below(6)) {
		case 0: /* a bit anywhere */
			to[below((uint32_t)size)] ^= (uint8_t)(1u << below(8));
			break;
		case 1: /* a field of the header */
			at = below(sizeof(*eh) - 8);
			memcpy(to + at, &value, width);
			break;
		case 2: /* a field of the section table */
			at = eh->e_shoff + below(eh->e_shnum * sizeof(Elf64_Shdr) - 8);
			memcpy(to + (at & ~3ull), &value, RTE_MAX(width, 4u));
			break;
		case 3: /* the code: it follows the header */
			at = sizeof(*eh) + below(360);
			to[at] = (uint8_t)random();
			break;
		case 4: /* one piece over another */
			at = below((uint32_t)size - 24);
			memcpy(to + at, from + below((uint32_t)size - 24), 1 + below(24));
			break;
		default: /* cut off */
			if (below(4) == 0)
				return 1 + below((uint32_t)size);
		}
	}
	return size;
}

static void
damaged_objects_are_refused_or_load(void **state)
{
	const char *object;
	unsigned loaded = 0, refused = 0, open_before;
	uint8_t *good, *bad;
	size_t size;

	(void)state;
	srandom(4);
	for (unsigned round = 0; round < 2; round++) {
		object = compile(fuzzed, round == 0 ? V2 : V2 " -g");
		good = read_file(object, &size);
		bad = malloc(size);
		assert_non_null(bad);
		open_before = descriptors();
		for (unsigned i = 0; i < 4000; i++) {
			struct program *program = NULL;
			struct err err = {""};

			write_file(object, bad, mutate(bad, good, size));
			if (program_load(&program, object, i % 4 == 0 ? "other" : "test",
					 PROGRAM_NATIVE, &err) == 0) {
				loaded++;
				program_free(program);
			} else {
				refused++;
				assert_non_null(strstr(err.text, ": "));
			}
		}
		assert_int_equal(descriptors(), open_before);
		free(good);
		free(bad);
	}
	/* Neither did nothing at all. */
	assert_true(loaded > 400 && refused > 400);
	printf("%u damaged objects refused, %u still good\n", refused, loaded);
}

static void
every_truncation_is_refused(void **state)
{
	const char *object = compile(fuzzed, V2);
	size_t size;
	uint8_t *good = read_file(object, &size);

	(void)state;
	for (size_t n = 1; n < size; n++) {
		write_file(object, good, n);
		refuse("cut off", object, "test");
	}
	write_file(object, good, size);
	free(good);
}

static void
noise_is_refused(void **state)
{
	uint8_t noise[4096];
	char path[64];

	(void)state;
	srandom(9);
	snprintf(path, sizeof(path), "%s/noise", folder);
	for (unsigned i = 0; i < 2000; i++) {
		size_t size = 1 + below(sizeof(noise));
		Elf64_Ehdr eh = {
			.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			.e_type = ET_REL,
			.e_machine = EM_BPF,
			.e_version = EV_CURRENT,
			.e_shoff = 64,
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = (uint16_t)(1 + below(20)),
			.e_shstrndx = 1};

		for (size_t k = 0; k < size; k++)
			noise[k] = (uint8_t)random();
		/* Half of it gets past the header. */
		if (i % 2 == 0 && size > sizeof(eh))
			memcpy(noise, &eh, sizeof(eh));
		write_file(path, noise, size);
		refuse("noise", path, "test");
	}
}

static void
other_threads_keep_their_log(void **state)
{
	const char *object = compile(PROGRAM("return *noref_at(p, p->length);"), V2);
	char *text = NULL;
	size_t size;
	FILE *log = open_memstream(&text, &size);

	(void)state;
	assert_non_null(log);
	assert_int_equal(rte_openlog_stream(log), 0);
	for (unsigned i = 0; i < 3; i++) {
		assert_says(refuse("log", object, "test"), "memory boundary violation");
		assert_ptr_equal(rte_log_get_stream(), log);
	}
	rte_log(RTE_LOG_ERR, RTE_LOGTYPE_USER1, "still here\n");
	rte_openlog_stream(NULL);
	fclose(log);
	assert_string_equal(text, "still here\n");
	free(text);
}

static int
start(void **state)
{
	(void)state;
	return start_eal("test-refused");
}

static int
end(void **state)
{
	(void)state;
	return remove_folder();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_reason_has_its_sentence),
		cmocka_unit_test(what_is_no_file_is_said),
		cmocka_unit_test(many_ways_are_refused_at_once),
		cmocka_unit_test(damaged_objects_are_refused_or_load),
		cmocka_unit_test(every_truncation_is_refused),
		cmocka_unit_test(noise_is_refused),
		cmocka_unit_test(other_threads_keep_their_log),
	};

	return cmocka_run_group_tests(tests, start, end);
}
