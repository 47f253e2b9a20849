/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Where a program can go. librte_bpf 22.11 checks a program by following every
 * way through it, and takes for granted what this file looks at:
 *
 * - that no way leads past the last instruction, or into the second half of a
 *   64-bit load. It reads and writes behind its tables then.
 * - that it ends soon. n branches one after the other are 2^n ways.
 * - that the first instruction is no branch: it would leave the second way unchecked.
 *
 * Loops and code nothing leads to are left to librte_bpf, which finds them before it
 * follows any way.
 */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>

#define NOWHERE UINT32_MAX

/** Where an instruction can lead. */
struct ways {
	unsigned n;
	uint32_t to[2];
};

static bool
is_wide(const struct ebpf_insn *insn)
{
	return insn->code == (BPF_LD | BPF_IMM | EBPF_DW);
}

static bool
is_branch(const struct ebpf_insn *insn)
{
	return BPF_CLASS(insn->code) == BPF_JMP && BPF_OP(insn->code) != BPF_JA &&
	       insn->code != (BPF_JMP | EBPF_CALL) && insn->code != (BPF_JMP | EBPF_EXIT);
}

static struct ways
ways_from(const struct ebpf_insn *code, uint32_t at)
{
	const struct ebpf_insn *insn = &code[at];
	uint32_t jump = (uint32_t)((int64_t)at + 1 + insn->off);

	if (insn->code == (BPF_JMP | EBPF_EXIT))
		return (struct ways){.n = 0};
	if (insn->code == (BPF_JMP | BPF_JA))
		return (struct ways){1, {jump}};
	if (is_branch(insn))
		return (struct ways){2, {jump, at + 1}};
	return (struct ways){1, {at + (is_wide(insn) ? 2 : 1)}};
}

/* second[i]: i is the second half of a 64-bit load. */
static int
check_targets(const struct object *o, const uint8_t *second, struct err *err)
{
	for (uint32_t i = 0; i < o->instructions; i++) {
		struct ways ways;

		if (second[i])
			continue;
		ways = ways_from(o->code, i);
		for (unsigned k = 0; k < ways.n; k++) {
			if (ways.to[k] == o->instructions)
				return err_set(err, EINVAL, "runs on past its end (instruction %u)",
					       i);
			if (ways.to[k] > o->instructions || second[ways.to[k]])
				return err_set(err, EINVAL,
					       "damaged code: instruction %u leads nowhere", i);
		}
	}
	return 0;
}

/** A walk of the program, depth first. */
struct walk {
	uint8_t *state; /* of each instruction: 0 new, 1 being walked, 2 done */
	uint8_t *next;	/* which way to go next */
	uint32_t *stack;
	uint32_t *order;  /* done, the last first to be done */
	uint64_t *visits; /* ways that lead to it */
};

static void
walk_free(struct walk *w)
{
	free(w->state);
	free(w->next);
	free(w->stack);
	free(w->order);
	free(w->visits);
}

static bool
walk_alloc(struct walk *w, unsigned n)
{
	w->state = calloc(n, sizeof(*w->state));
	w->next = calloc(n, sizeof(*w->next));
	w->stack = calloc(n, sizeof(*w->stack));
	w->order = calloc(n, sizeof(*w->order));
	w->visits = calloc(n, sizeof(*w->visits));
	return w->state != NULL && w->next != NULL && w->stack != NULL && w->order != NULL &&
	       w->visits != NULL;
}

/* Fills order[]; returns how many, or 0: there is a loop. */
static unsigned
walk_order(struct walk *w, const struct object *o)
{
	unsigned depth = 1, done = 0;

	w->stack[0] = 0;
	w->state[0] = 1;
	while (depth > 0) {
		uint32_t at = w->stack[depth - 1];
		struct ways ways = ways_from(o->code, at);
		uint32_t to = w->next[at] < ways.n ? ways.to[w->next[at]++] : NOWHERE;

		if (to == NOWHERE) {
			w->state[at] = 2;
			w->order[done++] = at;
			depth--;
		} else if (w->state[to] == 1) {
			return 0;
		} else if (w->state[to] == 0) {
			w->state[to] = 1;
			w->stack[depth++] = to;
		}
	}
	return done;
}

/* Instructions on all ways from beginning to end. */
static uint64_t
count_steps(struct walk *w, const struct object *o)
{
	unsigned n = walk_order(w, o);
	uint64_t steps = 0;

	if (n == 0)
		return 0;
	w->visits[0] = 1;
	/* Every instruction after all that lead to it. */
	for (unsigned k = n; k-- > 0;) {
		uint32_t at = w->order[k];
		struct ways ways = ways_from(o->code, at);

		steps += w->visits[at];
		if (steps > PROGRAM_STEPS_MAX)
			break;
		for (unsigned i = 0; i < ways.n; i++)
			w->visits[ways.to[i]] += w->visits[at];
	}
	return steps;
}

static int
check_steps(const struct object *o, struct err *err)
{
	struct walk walk;
	int rc = 0;

	if (!walk_alloc(&walk, o->instructions))
		rc = err_set(err, ENOMEM, "no memory");
	else if (count_steps(&walk, o) > PROGRAM_STEPS_MAX)
		rc = err_set(
			err, EINVAL,
			"has too many ways through it to check them all (more than %u "
			"instructions on them together): make branches return, or fewer of them",
			PROGRAM_STEPS_MAX);
	walk_free(&walk);
	return rc;
}

int
flow_check(const struct object *object, struct err *err)
{
	uint8_t *second = calloc(object->instructions, 1);
	int rc;

	if (second == NULL)
		return err_set(err, ENOMEM, "no memory");
	for (uint32_t i = 0; i + 1 < object->instructions; i++)
		if (is_wide(&object->code[i]))
			second[++i] = 1;
	if (is_branch(&object->code[0]))
		rc = err_set(err, EINVAL, "begins with a branch");
	else
		rc = check_targets(object, second, err);
	free(second);
	return rc != 0 ? rc : check_steps(object, err);
}
