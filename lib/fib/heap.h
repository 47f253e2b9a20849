/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FIB_HEAP_H
#define FIB_HEAP_H

/**
 * @file
 * Memory addressed by 32-bit numbers: one reserved stretch of address space,
 * outside the EAL heap, in which an object's number times the unit is its
 * offset from base.
 *
 *     reserved │ 2 MiB │ 2 MiB │ 2 MiB │ ...          huge pages, if the kernel has them
 *              ├──┬──┬─┴───────┘
 *     buddies  │64K│64K│ 128K  │                      blocks of 2^k pages of 64 KiB
 *              ├┬┬┬┤
 *     slabs    ││││││                                 a page of objects of one size
 *
 * A page whose objects have all gone returns to the buddies, and 2 MiB that
 * have come together again return to the system.
 *
 * Control thread only. Nothing here waits for readers: that is arena.h.
 */

#include <stddef.h>
#include <stdint.h>

#include "base.h"

#define HEAP_PAGE_SHIFT 16
#define HEAP_HUGE_SHIFT 21
#define HEAP_ORDERS	21 /**< up to 2^20 pages: 64 GiB */
#define HEAP_CLASSES	23 /**< 1 to 17 units, then 20, 32, 64, 128, 256, 512 */

/** What is known about a page of 64 KiB. */
struct heap_page {
	uint32_t next; /**< list of free blocks, or of pages with room */
	uint32_t prev;
	uint16_t gaps;	    /**< first of the freed objects, counted from 1 */
	uint16_t untouched; /**< objects from here on were never given out */
	uint16_t used;	    /**< objects in use */
	uint8_t state;
	uint8_t size; /**< order of a block, class of a slab */
};

struct heap {
	uint8_t *base;
	struct heap_page *pages;
	uint32_t free_blocks[HEAP_ORDERS];
	uint32_t with_room[HEAP_CLASSES];
	uint64_t used;	   /**< bytes in objects */
	uint64_t resident; /**< bytes taken from the system, in steps of 2 MiB */
	void *mapping;
	size_t mapping_size;
	size_t size;
	uint32_t pages_seen; /**< pages from here on were never given out */
	uint32_t unit_shift;
	uint32_t fail_after; /**< tests: allocations that still succeed, counted from 1; 0: all */
};

/** Reserve up to 2^30 units of 2^unit_shift bytes. 0, or a negative errno with err filled. */
int heap_init(struct heap *heap, unsigned unit_shift, int numa_node, struct err *err);
void heap_fini(struct heap *heap);

/** The number of an object of at least that many bytes, contents undefined; 0: no room. Objects
 * of up to 512 units are slab objects, larger ones powers of two from 64 KiB on. */
uint32_t heap_alloc(struct heap *heap, size_t bytes);
void heap_free(struct heap *heap, uint32_t number);
/** Bytes set aside for the object. */
size_t heap_size(const struct heap *heap, uint32_t number);

static inline void *
heap_at(const struct heap *heap, uint32_t number)
{
	return heap->base + ((uint64_t)number << heap->unit_shift);
}

#endif
