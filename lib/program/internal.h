/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROGRAM_INTERNAL_H
#define PROGRAM_INTERNAL_H

/**
 * @file
 * Between the files of this library.
 */

#include <rte_bpf.h>

#include "program.h"

/* --- object.c: the file ------------------------------------------------------- */

/** A program found in an object that is laid out as librte_bpf can take it. */
struct object {
	uint8_t *bytes; /**< the file */
	size_t size;
	char section[64];	      /**< with prefix */
	const struct ebpf_insn *code; /**< in bytes; calls not yet resolved */
	unsigned instructions;
	uint8_t *relocated; /**< one byte an instruction: names a helper. Owned. */
	bool names_workers; /**< one of them is noref_redirect_worker */
};

/** Read the file, find the section and prove that everything librte_bpf and libelf will follow is
 * there. On failure nothing is held. */
int object_read(struct object *object, const char *path, const char *section, struct err *err);
void object_free(struct object *object);

/* --- flow.c: the program ------------------------------------------------------ */

/** What librte_bpf would crash on, take too long over, or misunderstand. */
int flow_check(const struct object *object, struct err *err);

/* --- capture.c: librte_bpf's log ---------------------------------------------- */

/** What was logged, blanks and line ends made one blank each. */
struct capture {
	char text[512];
	size_t used;
};

/** From here to capture_end(), errors librte_bpf logs on this thread go to *capture, not to the
 * log. */
void capture_begin(struct capture *capture);
void capture_end(void);

/** No more errors in the log from now on: the interpreter writes one for each division by zero. */
void capture_quiet(void);

/* --- helpers.c: what programs may call ---------------------------------------- */

extern const struct rte_bpf_xsym program_helpers[];
extern const unsigned program_helpers_count;

/** Is there a helper of this name? */
bool program_is_helper(const char *name);

/** One worker's own, with no line shared. */
struct worker_counts {
	struct program_counts counts;
} __rte_cache_aligned;

/** The packet in hand of a thread that is in program_run(). */
struct running {
	struct rte_mbuf **packet;
	struct noref_packet *view;
	struct program_verdict *verdict;
	struct program_counts *counts;
	struct rte_mempool *pool;
};

extern __thread struct running running;

/* --- store.c ---------------------------------------------------------------------- */

/** Write into the packet in hand, which has these bytes, and into its view. false, nothing changed:
 * no buffer for a copy. */
bool store(uint32_t offset, const void *from, uint32_t length);

/* --- program.c, run.c ----------------------------------------------------------- */

struct program {
	uint64_t (*native)(void *view); /**< NULL: interpreted */
	struct rte_bpf *bpf;
	struct worker_counts *workers; /**< by lcore */
	uint64_t ports;		       /**< it may redirect to: bit per port */
	uint64_t lcores[RTE_MAX_LCORE / 64];
	bool names_workers;
	unsigned instructions;
	char *path;
	char section[64]; /**< without prefix */
};

#endif
