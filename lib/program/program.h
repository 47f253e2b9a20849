/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROGRAM_H
#define PROGRAM_H

/**
 * @file
 * Programs that decide what becomes of packets: eBPF, compiled by clang from
 * C, checked and run by librte_bpf.
 *
 * How such a program sees a packet follows from what librte_bpf checks. Given a
 * pointer to an mbuf it knows the layout of that and of one buffer, not where the
 * packet in it ends; given a pointer to plain memory it proves that the program
 * stays inside. So a program is given plain memory: struct noref_packet, with
 * a copy of the packet's first bytes, and helpers that check at run time for all
 * else. noref_xdp.h is the program's side of it.
 *
 * librte_bpf trusts the file it is given (a bad one crashes it) and some programs
 * it should not: what it leaves out is checked here first. Even so, objects are
 * trusted code, like plug-ins: see docs/programs.md.
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "base.h"
#include "noref_xdp.h"

/** Codes there are, XDP_ABORTED to XDP_REDIRECT. */
#define PROGRAM_CODES 5

/** Largest file taken for an object, in bytes. */
#define PROGRAM_FILE_MAX (4u << 20)

/** Instructions of one program. */
#define PROGRAM_INSTRUCTIONS_MAX 16384

/** Instructions along all ways through a program: librte_bpf follows each way to its end,
 * and the control thread waits for it. */
#define PROGRAM_STEPS_MAX 1000000

/** Where sections of ours begin. */
#define PROGRAM_PREFIX "noref/"

/** Bytes of an object's absolute path. */
#define PROGRAM_PATH_MAX 1024

struct program;

/** How it is run. */
enum program_engine {
	PROGRAM_NATIVE, /**< translated to machine code where librte_bpf can, else interpreted */
	PROGRAM_INTERPRET,
};

/** Where XDP_REDIRECT leads. */
enum program_target {
	PROGRAM_TO_NONE,
	PROGRAM_TO_PORT,
	PROGRAM_TO_WORKER,
};

/** What a program says of one packet. */
struct program_verdict {
	uint8_t code;	 /**< XDP_ABORTED to XDP_REDIRECT, nothing else */
	uint8_t to;	 /**< enum program_target; not NONE with XDP_REDIRECT */
	uint16_t target; /**< port number or lcore; with XDP_REDIRECT, one that is allowed */
};

/** What a program has said and done. */
struct program_counts {
	uint64_t codes[PROGRAM_CODES]; /**< packets by code, as returned to the caller */
	uint64_t invalid; /**< of the aborted: no such code, or no target that is allowed */
	uint64_t copies;  /**< buffers copied because they were not ours to write */
	uint64_t counters[NOREF_COUNTERS]; /**< noref_count() */
};

/**
 * Load `section NAME` of an object: the section PROGRAM_PREFIX NAME; NAME may include
 * the prefix. Control thread. 0, or a negative errno with a sentence that names the
 * file and says why not: the file (-ENOENT, -EACCES, -EINVAL, -EFBIG...), its layout
 * (-ENOEXEC), the section (-ENOENT), what the program does (-EINVAL). Where librte_bpf
 * says why, its own line is in the sentence.
 */
int program_load(struct program **program, const char *path, const char *section,
		 enum program_engine engine, struct err *err);

/** No worker may be running it. NULL is allowed. */
void program_free(struct program *program);

/** Let it redirect there; before it runs. */
void program_allow(struct program *program, enum program_target to, uint16_t target);

/** "aborted", "drop", "pass", "tx", "redirect". Any thread. */
const char *program_code_name(unsigned code);

/** The file it was loaded from, absolute, without control characters. */
const char *program_path(const struct program *program);
/** The section, without the prefix. */
const char *program_section(const struct program *program);
/** Translated to machine code, or interpreted? */
bool program_is_native(const struct program *program);
/** Does it call noref_redirect_worker()? */
bool program_names_workers(const struct program *program);
unsigned program_instructions(const struct program *program);

/** All workers' counts together. Control thread; each number is exact at some moment of the call.
 */
void program_counts(const struct program *program, struct program_counts *sum);

/**
 * Ask the program about each packet of a burst, in order. On the thread of an lcore, several
 * at the same time. verdicts[] gets n entries. A packet the program writes to may lie in other
 * buffers afterwards: pkts[] is updated, and buffers for that come from pool. Packets stay
 * the caller's.
 */
void program_run(struct program *program, struct rte_mempool *pool, struct rte_mbuf *pkts[],
		 unsigned n, struct program_verdict verdicts[]);

#endif
