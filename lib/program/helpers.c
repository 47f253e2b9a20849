/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What programs may call. librte_bpf proves that a pointer they pass leads to a whole
 * struct noref_block; numbers can be anything, and every one is checked here.
 */
#include "internal.h"

#include <rte_branch_prediction.h>
#include <rte_byteorder.h>

/* Machine code of librte_bpf's calls with the stack as it happens to be, and compilers count on
 * its being aligned. */
#ifdef RTE_ARCH_X86
#define HELPER static __attribute__((force_align_arg_pointer)) uint64_t
#else
#define HELPER static uint64_t
#endif

#define FAILED UINT64_MAX /* -1 for the program */

__thread struct running running;

/* Has the packet these bytes? */
static inline bool
inside(uint64_t offset, uint64_t length)
{
	uint64_t whole = (*running.packet)->pkt_len;

	return offset <= whole && length <= whole - offset;
}

HELPER
helper_load(uint64_t offset, uint64_t to, uint64_t length, __rte_unused uint64_t r4,
	    __rte_unused uint64_t r5)
{
	uint8_t *at = (void *)(uintptr_t)to;
	const void *data;

	if (unlikely(length > NOREF_BLOCK || !inside(offset, length)))
		return FAILED;
	if (length == 0)
		return 0;
	data = rte_pktmbuf_read(*running.packet, (uint32_t)offset, (uint32_t)length, at);
	if (data != at)
		memcpy(at, data, length);
	return 0;
}

HELPER
helper_store(uint64_t offset, uint64_t from, uint64_t length, __rte_unused uint64_t r4,
	     __rte_unused uint64_t r5)
{
	if (unlikely(length > NOREF_BLOCK || !inside(offset, length)))
		return FAILED;
	return store((uint32_t)offset, (const void *)(uintptr_t)from, (uint32_t)length) ? 0
											: FAILED;
}

HELPER
helper_get(uint64_t offset, uint64_t size, __rte_unused uint64_t r3, __rte_unused uint64_t r4,
	   __rte_unused uint64_t r5)
{
	const void *data;
	uint32_t value = 0;
	uint8_t *at;

	if (unlikely((size != 1 && size != 2 && size != 4) || !inside(offset, size)))
		return FAILED;
	/* To the end of the value, the byte that counts least in network order. */
	at = (uint8_t *)&value + sizeof(value) - size;
	data = rte_pktmbuf_read(*running.packet, (uint32_t)offset, (uint32_t)size, at);
	if (data != at)
		memcpy(at, data, size);
	return rte_be_to_cpu_32(value);
}

HELPER
helper_put(uint64_t offset, uint64_t size, uint64_t value, __rte_unused uint64_t r4,
	   __rte_unused uint64_t r5)
{
	uint32_t ordered = rte_cpu_to_be_32((uint32_t)value);

	if (unlikely((size != 1 && size != 2 && size != 4) || !inside(offset, size)))
		return FAILED;
	return store((uint32_t)offset, (const uint8_t *)&ordered + 4 - size, (uint32_t)size)
		       ? 0
		       : FAILED;
}

static uint64_t
redirect(enum program_target to, uint64_t target)
{
	/* A number no port and no lcore has stays one. */
	running.verdict->to = (uint8_t)to;
	running.verdict->target = target > UINT16_MAX ? UINT16_MAX : (uint16_t)target;
	return XDP_REDIRECT;
}

HELPER
helper_redirect(uint64_t port, __rte_unused uint64_t r2, __rte_unused uint64_t r3,
		__rte_unused uint64_t r4, __rte_unused uint64_t r5)
{
	return redirect(PROGRAM_TO_PORT, port);
}

HELPER
helper_redirect_worker(uint64_t lcore, __rte_unused uint64_t r2, __rte_unused uint64_t r3,
		       __rte_unused uint64_t r4, __rte_unused uint64_t r5)
{
	return redirect(PROGRAM_TO_WORKER, lcore);
}

HELPER
helper_count(uint64_t counter, uint64_t add, __rte_unused uint64_t r3, __rte_unused uint64_t r4,
	     __rte_unused uint64_t r5)
{
	if (unlikely(counter >= NOREF_COUNTERS))
		return FAILED;
	running.counts->counters[counter] += add;
	return 0;
}

#define NUMBER                                                                                     \
	{                                                                                          \
		.type = RTE_BPF_ARG_RAW, .size = sizeof(uint64_t)                                  \
	}
#define BLOCK                                                                                      \
	{                                                                                          \
		.type = RTE_BPF_ARG_PTR, .size = NOREF_BLOCK                                       \
	}
#define ROW(called, function, n, ...)                                                              \
	{                                                                                          \
		.name = called, .type = RTE_BPF_XTYPE_FUNC,                                        \
		.func = {.val = function, .nb_args = n, .args = {__VA_ARGS__}, .ret = NUMBER},     \
	}

const struct rte_bpf_xsym program_helpers[] = {
	ROW("noref_load", helper_load, 3, NUMBER, BLOCK, NUMBER),
	ROW("noref_store", helper_store, 3, NUMBER, BLOCK, NUMBER),
	ROW("noref_get", helper_get, 2, NUMBER, NUMBER),
	ROW("noref_put", helper_put, 3, NUMBER, NUMBER, NUMBER),
	ROW("noref_redirect", helper_redirect, 1, NUMBER),
	ROW("noref_redirect_worker", helper_redirect_worker, 1, NUMBER),
	ROW("noref_count", helper_count, 2, NUMBER, NUMBER),
};
const unsigned program_helpers_count = RTE_DIM(program_helpers);

bool
program_is_helper(const char *name)
{
	for (unsigned i = 0; i < program_helpers_count; i++)
		if (strcmp(program_helpers[i].name, name) == 0)
			return true;
	return false;
}
