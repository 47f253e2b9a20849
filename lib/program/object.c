/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The object file. librte_bpf follows offsets and indexes in it without asking
 * whether they lead anywhere, so they are all looked at here first (ELF-64 Object File
 * Format, version 1.5; BPF relocations as in LLVM's documentation).
 */
#include "internal.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_byteorder.h>

/* Relocations of clang's BPF backend; elf.h has them under other names or not at all. */
#define BPF_RELOC_64_64 1  /* address in a 64-bit load: a variable or a map */
#define BPF_RELOC_64_32 10 /* target of a call */

#define BPF_SRC_CALL 1 /* src_reg of a call to code of the object itself */

#define NOT_AN_OBJECT "is no object of clang -target bpf"

static int
malformed(struct err *err, const char *what)
{
	return err_set(err, ENOEXEC, "damaged object: %s", what);
}

static int
read_all(struct object *o, int fd, struct err *err)
{
	size_t got = 0;

	o->bytes = malloc(o->size);
	if (o->bytes == NULL)
		return err_set(err, ENOMEM, "no memory to read it");
	while (got < o->size) {
		ssize_t n = read(fd, o->bytes + got, o->size - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_set(err, n < 0 ? errno : EIO, "cannot be read: %s",
				       n < 0 ? strerror(errno) : "it became shorter meanwhile");
		got += (size_t)n;
	}
	return 0;
}

static int
read_file(struct object *o, const char *path, struct err *err)
{
	struct stat st;
	int fd, rc;

	/* Not to wait for the other end of a pipe. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return err_set(err, errno, "%s", strerror(errno));
	if (fstat(fd, &st) != 0)
		rc = err_set(err, errno, "%s", strerror(errno));
	else if (!S_ISREG(st.st_mode))
		rc = err_set(err, EINVAL, "is not a regular file");
	else if (st.st_size == 0)
		rc = err_set(err, ENOEXEC, "is empty");
	else if (st.st_size > PROGRAM_FILE_MAX)
		rc = err_set(err, EFBIG, "has %lld bytes; an object may have %u",
			     (long long)st.st_size, PROGRAM_FILE_MAX);
	else {
		o->size = (size_t)st.st_size;
		rc = read_all(o, fd, err);
	}
	close(fd);
	return rc;
}

static const Elf64_Ehdr *
header(const struct object *o)
{
	return (const void *)o->bytes;
}

static const Elf64_Shdr *
section_at(const struct object *o, unsigned index)
{
	return (const Elf64_Shdr *)(const void *)(o->bytes + header(o)->e_shoff) + index;
}

/* A string of a string table that check_sections() has found to end with a NUL. */
static const char *
string_at(const struct object *o, unsigned table, uint32_t offset)
{
	const Elf64_Shdr *sh = section_at(o, table);

	return offset < sh->sh_size ? (const char *)o->bytes + sh->sh_offset + offset : NULL;
}

static const char *
section_name(const struct object *o, unsigned index)
{
	return string_at(o, header(o)->e_shstrndx, section_at(o, index)->sh_name);
}

static int
check_header(const struct object *o, struct err *err)
{
	const Elf64_Ehdr *eh = header(o);
	uint16_t machine;
	size_t table;

	if (o->size < SELFMAG || memcmp(o->bytes, ELFMAG, SELFMAG) != 0)
		return err_set(err, ENOEXEC, "%s: not an ELF file", NOT_AN_OBJECT);
	if (o->size < sizeof(*eh))
		return malformed(err, "its header is cut off");
	if (eh->e_ident[EI_CLASS] != ELFCLASS64)
		return err_set(err, ENOEXEC, "%s: not a 64-bit object", NOT_AN_OBJECT);
	machine = eh->e_ident[EI_DATA] == ELFDATA2MSB ? rte_be_to_cpu_16(eh->e_machine)
						      : rte_le_to_cpu_16(eh->e_machine);
	if (machine != EM_BPF)
		return err_set(err, ENOEXEC, "%s: made for another machine (ELF number %u)",
			       NOT_AN_OBJECT, machine);
	if (eh->e_ident[EI_DATA] != ELFDATA2LSB)
		return err_set(err, ENOEXEC, "compiled for the other byte order (bpfeb)");
	if (eh->e_type != ET_REL)
		return err_set(err, ENOEXEC, "has been linked: give the object clang -c wrote");
	if (eh->e_ident[EI_VERSION] != EV_CURRENT || eh->e_version != EV_CURRENT ||
	    eh->e_ident[EI_OSABI] != ELFOSABI_NONE)
		return malformed(err, "unknown version or system in its header");
	if (eh->e_shnum == 0 || eh->e_shentsize != sizeof(Elf64_Shdr) ||
	    eh->e_shoff % sizeof(uint64_t) != 0 || eh->e_shstrndx >= eh->e_shnum)
		return malformed(err, "its section table makes no sense");
	table = eh->e_shnum * sizeof(Elf64_Shdr);
	if (eh->e_shoff > o->size || table > o->size - eh->e_shoff)
		return malformed(err,
				 "its section table is beyond the end of the file (truncated?)");
	return 0;
}

static bool
is_string_table(const struct object *o, const Elf64_Shdr *sh)
{
	return sh->sh_type == SHT_STRTAB && sh->sh_size != 0 &&
	       o->bytes[sh->sh_offset + sh->sh_size - 1] == '\0';
}

/* Of a symbol or relocation table. */
static int
check_table(const struct object *o, const Elf64_Shdr *sh, struct err *err)
{
	size_t entry = sh->sh_type == SHT_SYMTAB ? sizeof(Elf64_Sym)
		       : sh->sh_type == SHT_REL	 ? sizeof(Elf64_Rel)
						 : sizeof(Elf64_Rela);
	uint32_t wanted = sh->sh_type == SHT_SYMTAB ? SHT_STRTAB : SHT_SYMTAB;

	if (sh->sh_entsize != entry || sh->sh_size % entry != 0 ||
	    sh->sh_offset % sizeof(uint64_t) != 0)
		return malformed(err,
				 "a table of symbols or relocations has entries of a strange size");
	if (sh->sh_link >= header(o)->e_shnum || section_at(o, sh->sh_link)->sh_type != wanted)
		return malformed(err, "a table belongs to a section of the wrong kind");
	if (sh->sh_type != SHT_SYMTAB && sh->sh_info >= header(o)->e_shnum)
		return malformed(err, "relocations of a section that does not exist");
	/* librte_bpf looks names of symbols up among those of sections. */
	if (sh->sh_type == SHT_SYMTAB && sh->sh_link != header(o)->e_shstrndx)
		return err_set(err, ENOEXEC,
			       "keeps names of symbols and sections apart, "
			       "as clang -c does not: give the object as clang wrote it");
	return 0;
}

static int
check_sections(const struct object *o, struct err *err)
{
	const Elf64_Ehdr *eh = header(o);
	int rc;

	for (unsigned i = 0; i < eh->e_shnum; i++) {
		const Elf64_Shdr *sh = section_at(o, i);

		if (sh->sh_type == SHT_NULL || sh->sh_type == SHT_NOBITS)
			continue;
		if (sh->sh_offset > o->size || sh->sh_size > o->size - sh->sh_offset)
			return malformed(err,
					 "a section is beyond the end of the file (truncated?)");
	}
	for (unsigned i = 0; i < eh->e_shnum; i++) {
		const Elf64_Shdr *sh = section_at(o, i);

		if (sh->sh_type == SHT_STRTAB && !is_string_table(o, sh))
			return malformed(err, "a table of names has no end");
		if (sh->sh_type != SHT_SYMTAB && sh->sh_type != SHT_REL && sh->sh_type != SHT_RELA)
			continue;
		rc = check_table(o, sh, err);
		if (rc != 0)
			return rc;
	}
	if (section_at(o, eh->e_shstrndx)->sh_type != SHT_STRTAB)
		return malformed(err, "its sections have no names");
	for (unsigned i = 0; i < eh->e_shnum; i++)
		if (section_name(o, i) == NULL)
			return malformed(err, "a section has no name");
	return 0;
}

/* .BTF.ext: does the object ask for field offsets to be filled in when it is loaded (CO-RE)? */
static bool
wants_field_offsets(const struct object *o, const Elf64_Shdr *sh)
{
	/* struct btf_ext_header: magic, version, flags, then these. */
	struct {
		uint16_t magic;
		uint8_t version, flags;
		uint32_t header, func_at, func_size, line_at, line_size, fields_at, fields_size;
	} ext;

	if (sh->sh_type != SHT_PROGBITS || sh->sh_size < sizeof(ext))
		return false;
	memcpy(&ext, o->bytes + sh->sh_offset, sizeof(ext));
	return ext.magic == 0xeb9f && ext.header >= sizeof(ext) && ext.fields_size != 0;
}

/* Things only the kernel's loader makes good. */
static int
check_kernel_parts(const struct object *o, struct err *err)
{
	for (unsigned i = 0; i < header(o)->e_shnum; i++) {
		const char *name = section_name(o, i);

		if (strcmp(name, "maps") == 0 || strcmp(name, ".maps") == 0)
			return err_set(err, ENOEXEC,
				       "has maps, which are the kernel's "
				       "(to count, there is noref_count())");
		if (strcmp(name, ".BTF.ext") == 0 && wants_field_offsets(o, section_at(o, i)))
			return err_set(err, ENOEXEC,
				       "is laid out for the kernel: it wants offsets of "
				       "the kernel's structures filled in (BTF, CO-RE)");
	}
	return 0;
}

static bool
is_kernel_section(const char *name)
{
	return strncmp(name, "xdp", 3) == 0 &&
	       (name[3] == '\0' || name[3] == '/' || name[3] == '.' || name[3] == '_');
}

/* Sections of ours, or the kernel's, for the sentence that says there is none of that name. */
static int
no_section(const struct object *o, const char *wanted, struct err *err)
{
	bool kernel = false;
	char list[120] = "";
	size_t used = 0;

	for (unsigned i = 1; i < header(o)->e_shnum; i++) {
		const char *name = section_name(o, i);

		if (section_at(o, i)->sh_type != SHT_PROGBITS)
			continue;
		kernel = kernel || is_kernel_section(name);
		if (strncmp(name, PROGRAM_PREFIX, strlen(PROGRAM_PREFIX)) == 0 &&
		    used < sizeof(list))
			used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s",
						 used == 0 ? "" : ", ", name);
	}
	if (used != 0)
		return err_set(err, ENOENT, "has no section %s; it has %s", wanted, list);
	if (kernel)
		return err_set(
			err, ENOENT,
			"is laid out for the kernel (a section xdp, struct xdp_md): a program "
			"for noref includes noref_xdp.h and is in a section %sNAME",
			PROGRAM_PREFIX);
	return err_set(err, ENOENT, "has no section %s, nor any that begins with %s", wanted,
		       PROGRAM_PREFIX);
}

/* Sets *index. */
static int
find_section(struct object *o, const char *name, unsigned *index, struct err *err)
{
	const Elf64_Shdr *sh;
	unsigned found = 0;

	for (unsigned i = 1; i < header(o)->e_shnum; i++) {
		if (strcmp(section_name(o, i), name) != 0)
			continue;
		if (found != 0)
			return err_set(err, ENOEXEC, "has two sections %s", name);
		found = i;
	}
	if (found == 0)
		return no_section(o, name, err);
	sh = section_at(o, found);
	if (sh->sh_type != SHT_PROGBITS || sh->sh_flags != (SHF_ALLOC | SHF_EXECINSTR))
		return err_set(err, ENOEXEC, "section %s holds no code", name);
	if (sh->sh_size == 0 || sh->sh_size % sizeof(struct ebpf_insn) != 0 ||
	    sh->sh_offset % sizeof(uint64_t) != 0)
		return malformed(err, "its code is not a number of instructions");
	if (sh->sh_size / sizeof(struct ebpf_insn) > PROGRAM_INSTRUCTIONS_MAX)
		return err_set(err, EINVAL,
			       "section %s has %llu instructions; a program may have %u", name,
			       (unsigned long long)(sh->sh_size / sizeof(struct ebpf_insn)),
			       PROGRAM_INSTRUCTIONS_MAX);
	o->code = (const void *)(o->bytes + sh->sh_offset);
	o->instructions = (unsigned)(sh->sh_size / sizeof(struct ebpf_insn));
	*index = found;
	return 0;
}

/* A section holds one program, which begins where the section does. */
static int
check_one_function(const struct object *o, unsigned code, struct err *err)
{
	unsigned functions = 0;

	for (unsigned i = 1; i < header(o)->e_shnum; i++) {
		const Elf64_Shdr *sh = section_at(o, i);
		const Elf64_Sym *symbols = (const void *)(o->bytes + sh->sh_offset);

		if (sh->sh_type != SHT_SYMTAB)
			continue;
		for (size_t k = 0; k < sh->sh_size / sizeof(*symbols); k++)
			functions += ELF64_ST_TYPE(symbols[k].st_info) == STT_FUNC &&
				     symbols[k].st_shndx == code;
	}
	if (functions > 1)
		return err_set(
			err, EINVAL,
			"section %s holds %u functions: it may hold one program, what that calls "
			"must be NOREF_INLINE",
			o->section, functions);
	return 0;
}

/* What the instruction refers to must be a helper. */
static int
check_relocation(struct object *o, const Elf64_Shdr *table, const Elf64_Rel *rel, struct err *err)
{
	const Elf64_Shdr *symtab = section_at(o, table->sh_link);
	const Elf64_Sym *symbol = (const void *)(o->bytes + symtab->sh_offset);
	const struct ebpf_insn *insn;
	const char *name;
	uint32_t type = ELF64_R_TYPE(rel->r_info);

	if (ELF64_R_SYM(rel->r_info) >= symtab->sh_size / sizeof(*symbol) ||
	    rel->r_offset % sizeof(*insn) != 0 || rel->r_offset / sizeof(*insn) >= o->instructions)
		return malformed(err, "a relocation leads nowhere");
	symbol += ELF64_R_SYM(rel->r_info);
	name = string_at(o, symtab->sh_link, symbol->st_name);
	insn = o->code + rel->r_offset / sizeof(*insn);
	if (name == NULL)
		return malformed(err, "a symbol has no name");
	if (*name == '\0' && symbol->st_shndx < header(o)->e_shnum)
		name = section_name(o, symbol->st_shndx);
	if (insn->code == (BPF_LD | BPF_IMM | EBPF_DW) && type == BPF_RELOC_64_64)
		return err_set(err, EINVAL,
			       "uses the global variable or constant table %.60s: programs have "
			       "none (to count, there is noref_count())",
			       name);
	if (insn->code != (BPF_JMP | EBPF_CALL) || type != BPF_RELOC_64_32)
		return malformed(err, "a relocation of an unknown kind");
	if (symbol->st_shndx != SHN_UNDEF)
		return err_set(err, EINVAL,
			       "calls a function that is not part of it (%.60s): "
			       "it must be NOREF_INLINE",
			       name);
	if (!program_is_helper(name))
		return err_set(err, EINVAL, "calls %.60s, which is no helper of noref's", name);
	o->relocated[insn - o->code] = 1;
	o->names_workers = o->names_workers || strcmp(name, "noref_redirect_worker") == 0;
	return 0;
}

static int
check_relocations(struct object *o, unsigned code, struct err *err)
{
	int rc;

	o->relocated = calloc(o->instructions, 1);
	if (o->relocated == NULL)
		return err_set(err, ENOMEM, "no memory");
	for (unsigned i = 1; i < header(o)->e_shnum; i++) {
		const Elf64_Shdr *sh = section_at(o, i);
		const Elf64_Rel *rel = (const void *)(o->bytes + sh->sh_offset);

		if ((sh->sh_type != SHT_REL && sh->sh_type != SHT_RELA) || sh->sh_info != code)
			continue;
		if (sh->sh_type == SHT_RELA || sh->sh_size == 0)
			return malformed(err,
					 "relocations of its code as clang does not write them");
		for (size_t k = 0; k < sh->sh_size / sizeof(*rel); k++) {
			rc = check_relocation(o, sh, &rel[k], err);
			if (rc != 0)
				return rc;
		}
	}
	return 0;
}

/* Calls that name nothing call by number: the kernel's helpers, or code of the object. librte_bpf
 * would take the number for one of ours. */
static int
check_calls(const struct object *o, struct err *err)
{
	for (unsigned i = 0; i < o->instructions; i++) {
		const struct ebpf_insn *insn = &o->code[i];

		if (insn->code == (BPF_LD | BPF_IMM | EBPF_DW)) {
			i++;
			continue;
		}
		if (insn->code != (BPF_JMP | EBPF_CALL) || o->relocated[i])
			continue;
		if (insn->src_reg == BPF_SRC_CALL)
			return err_set(err, EINVAL,
				       "calls a function of its own (instruction %u): it must "
				       "be NOREF_INLINE",
				       i);
		return err_set(err, EINVAL,
			       "calls helper number %d of the kernel's (instruction %u): "
			       "noref's are in noref_xdp.h",
			       insn->imm, i);
	}
	return 0;
}

int
object_read(struct object *object, const char *path, const char *section, struct err *err)
{
	bool prefixed = strncmp(section, PROGRAM_PREFIX, strlen(PROGRAM_PREFIX)) == 0;
	unsigned code = 0;
	int rc, n;

	memset(object, 0, sizeof(*object));
	n = snprintf(object->section, sizeof(object->section), "%s%s",
		     prefixed ? "" : PROGRAM_PREFIX, section);
	if (*section == '\0' || n >= (int)sizeof(object->section))
		return err_set(err, EINVAL, "a section's name has 1 to %zu characters",
			       sizeof(object->section) - 1 - strlen(PROGRAM_PREFIX));
	rc = read_file(object, path, err);
	if (rc == 0)
		rc = check_header(object, err);
	if (rc == 0)
		rc = check_sections(object, err);
	if (rc == 0)
		rc = check_kernel_parts(object, err);
	if (rc == 0)
		rc = find_section(object, object->section, &code, err);
	if (rc == 0)
		rc = check_one_function(object, code, err);
	if (rc == 0)
		rc = check_relocations(object, code, err);
	if (rc == 0)
		rc = check_calls(object, err);
	if (rc != 0)
		object_free(object);
	return rc;
}

void
object_free(struct object *object)
{
	free(object->bytes);
	free(object->relocated);
	object->bytes = NULL;
	object->relocated = NULL;
}
