/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * From an object to a program that runs.
 */
#include "internal.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_errno.h>
#include <rte_lcore.h>

static_assert(offsetof(struct noref_packet, head) == 32 && sizeof(struct noref_packet) == 160,
	      "programs are compiled for this layout");
static_assert(RTE_MAX_ETHPORTS <= 64 && RTE_MAX_LCORE % 64 == 0, "one bit each");
static_assert(sizeof(struct noref_block) == NOREF_BLOCK, "what librte_bpf is told of blocks");

/* What librte_bpf says, and what the author of a program can do about it. */
static const struct {
	const char *says;
	const char *means;
} refusals[] = {
	{"loop", "has a loop: unroll it (#pragma unroll), or write it out"},
	{"unreachable", "has instructions nothing leads to"},
	{"invalid opcode", "uses an instruction librte_bpf does not know: compile with -mcpu=v2"},
	{"invalid imm field",
	 "uses an instruction librte_bpf does not know: compile with -mcpu=v2"},
	{"stack access with variable offset", "indexes an array on its stack with a variable"},
	{"undefined value on the stack", "reads from its stack what it has not written"},
	{"memory boundary violation", "may reach beyond what it was given: the view of the packet, "
				      "a block, or 512 bytes of stack"},
	{"destination is not a pointer",
	 "follows something that is no pointer it was given (noref_at() makes one)"},
	{"pointer truncation", "cuts a pointer off"},
	{"argument type", "passes a helper something else than it takes"},
	{"undefined return value", "may end without a verdict"},
	{"value is undefined", "uses a value it has not set"},
	{"division by 0", "divides by zero"},
};

static const char *
meaning(const char *log)
{
	for (unsigned i = 0; i < RTE_DIM(refusals); i++)
		if (strstr(log, refusals[i].says) != NULL)
			return refusals[i].means;
	return "is refused by librte_bpf";
}

/* librte_bpf's lines without its last, which names the file, as it knows it, and no reason. */
static void
trim_log(char *log)
{
	char *last = strstr(log, "rte_bpf_elf_load(fname=");

	if (last != NULL)
		*last = '\0';
	for (size_t n = strlen(log); n > 0 && log[n - 1] == ' '; n--)
		log[n - 1] = '\0';
}

static int
explain(struct capture *capture, struct err *err)
{
	int code = rte_errno != 0 ? rte_errno : EINVAL;

	trim_log(capture->text);
	if (capture->text[0] == '\0')
		return err_set(err, code, "is refused by librte_bpf: %s", strerror(code));
	return err_set(err, code, "%s (librte_bpf: %.140s)", meaning(capture->text), capture->text);
}

/* librte_bpf opens the object itself, by name. It gets the bytes that have been checked: the file
 * may have changed. Returns a descriptor. */
static int
as_file(const struct object *o, char *path, size_t size, struct err *err)
{
	size_t done = 0;
	int fd = memfd_create("noref-program", MFD_CLOEXEC);

	if (fd < 0)
		return err_set(err, errno, "memfd_create: %s", strerror(errno));
	while (done < o->size) {
		ssize_t n = write(fd, o->bytes + done, o->size - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			close(fd);
			return err_set(err, n < 0 ? errno : EIO, "no memory for a copy of it");
		}
		done += (size_t)n;
	}
	snprintf(path, size, "/proc/self/fd/%d", fd);
	return fd;
}

static int
load(struct program *p, const struct object *o, struct err *err)
{
	const struct rte_bpf_prm prm = {
		.xsym = program_helpers,
		.nb_xsym = program_helpers_count,
		.prog_arg = {.type = RTE_BPF_ARG_PTR, .size = sizeof(struct noref_packet)},
	};
	struct capture capture;
	char path[32];
	int fd = as_file(o, path, sizeof(path), err);

	if (fd < 0)
		return fd;
	rte_errno = 0;
	capture_begin(&capture);
	p->bpf = rte_bpf_elf_load(&prm, path, o->section);
	capture_end();
	close(fd);
	return p->bpf != NULL ? 0 : explain(&capture, err);
}

/* It must fit a line of the configuration, where it is saved. */
static int
check_path(const char *path, struct err *err)
{
	if (strlen(path) > PROGRAM_PATH_MAX)
		return err_set(err, ENAMETOOLONG, "its absolute path is longer than %u bytes",
			       PROGRAM_PATH_MAX);
	for (; *path != '\0'; path++)
		if ((unsigned char)*path < ' ')
			return err_set(err, EINVAL, "a control character in its path");
	return 0;
}

static int
make(struct program *p, const struct object *o, const char *path, enum program_engine engine,
     struct err *err)
{
	struct rte_bpf_jit jit;
	int rc;

	p->path = realpath(path, NULL);
	p->names_workers = o->names_workers;
	p->workers = aligned_alloc(RTE_CACHE_LINE_SIZE, RTE_MAX_LCORE * sizeof(*p->workers));
	if (p->path == NULL || p->workers == NULL)
		return err_set(err, p->path == NULL ? errno : ENOMEM, "%s",
			       strerror(p->path == NULL ? errno : ENOMEM));
	rc = check_path(p->path, err);
	if (rc != 0)
		return rc;
	memset(p->workers, 0, RTE_MAX_LCORE * sizeof(*p->workers));
	snprintf(p->section, sizeof(p->section), "%s", o->section + strlen(PROGRAM_PREFIX));
	p->instructions = o->instructions;
	rc = load(p, o, err);
	if (rc == 0 && engine == PROGRAM_NATIVE && rte_bpf_get_jit(p->bpf, &jit) == 0)
		p->native = jit.func;
	if (rc == 0 && p->native == NULL)
		capture_quiet();
	return rc;
}

/* "PATH: " in front; of a long path the end. */
static int
name_file(int rc, const char *path, struct err *err)
{
	const size_t most = 100, length = strlen(path);

	return length <= most ? err_prefix(err, rc, "%s", path)
			      : err_prefix(err, rc, "...%s", path + length - most);
}

int
program_load(struct program **program, const char *path, const char *section,
	     enum program_engine engine, struct err *err)
{
	struct program *p = NULL;
	struct object object;
	int rc;

	rc = object_read(&object, path, section, err);
	if (rc != 0)
		return name_file(rc, path, err);
	rc = flow_check(&object, err);
	if (rc == 0) {
		p = calloc(1, sizeof(*p));
		rc = p == NULL ? err_set(err, ENOMEM, "no memory")
			       : make(p, &object, path, engine, err);
	}
	if (rc != 0) {
		program_free(p);
		err_prefix(err, rc, "section %s", object.section);
		rc = name_file(rc, path, err);
	} else {
		*program = p;
	}
	object_free(&object);
	return rc;
}

void
program_free(struct program *program)
{
	if (program == NULL)
		return;
	rte_bpf_destroy(program->bpf);
	free(program->workers);
	free(program->path);
	free(program);
}

void
program_allow(struct program *program, enum program_target to, uint16_t target)
{
	if (to == PROGRAM_TO_PORT && target < RTE_MAX_ETHPORTS)
		program->ports |= 1ull << target;
	if (to == PROGRAM_TO_WORKER && target < RTE_MAX_LCORE)
		program->lcores[target / 64] |= 1ull << target % 64;
}

const char *
program_code_name(unsigned code)
{
	static const char *const names[PROGRAM_CODES] = {
		[XDP_ABORTED] = "aborted", [XDP_DROP] = "drop",		[XDP_PASS] = "pass",
		[XDP_TX] = "tx",	   [XDP_REDIRECT] = "redirect",
	};

	return code < PROGRAM_CODES ? names[code] : "?";
}

const char *
program_path(const struct program *program)
{
	return program->path;
}

const char *
program_section(const struct program *program)
{
	return program->section;
}

bool
program_is_native(const struct program *program)
{
	return program->native != NULL;
}

bool
program_names_workers(const struct program *program)
{
	return program->names_workers;
}

unsigned
program_instructions(const struct program *program)
{
	return program->instructions;
}

void
program_counts(const struct program *program, struct program_counts *sum)
{
	memset(sum, 0, sizeof(*sum));
	for (unsigned i = 0; i < RTE_MAX_LCORE; i++) {
		const struct program_counts *one = &program->workers[i].counts;

		for (unsigned k = 0; k < PROGRAM_CODES; k++)
			sum->codes[k] += __atomic_load_n(&one->codes[k], __ATOMIC_RELAXED);
		for (unsigned k = 0; k < NOREF_COUNTERS; k++)
			sum->counters[k] += __atomic_load_n(&one->counters[k], __ATOMIC_RELAXED);
		sum->invalid += __atomic_load_n(&one->invalid, __ATOMIC_RELAXED);
		sum->copies += __atomic_load_n(&one->copies, __ATOMIC_RELAXED);
	}
}
