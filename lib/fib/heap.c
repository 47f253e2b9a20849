/* SPDX-License-Identifier: BSD-3-Clause */
#include "heap.h"

#include <assert.h>
#include <errno.h>
#include <numa.h>
#include <numaif.h>
#include <sys/mman.h>

/* Freed objects are poisoned in sanitizer builds, so that a reader or writer
 * that still follows an old number is caught. */
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define POISON(p, n)   ASAN_POISON_MEMORY_REGION(p, n)
#define UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION(p, n)
#else
#define POISON(p, n)   ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
#endif

#define PAGE_SIZE  (1ul << HEAP_PAGE_SHIFT)
#define HUGE_SIZE  (1ul << HEAP_HUGE_SHIFT)
#define HUGE_ORDER (HEAP_HUGE_SHIFT - HEAP_PAGE_SHIFT)

/* Of the first page of a block or slab; pages inside a larger block are INNER. */
enum {
	PAGE_INNER,
	PAGE_FREE,
	PAGE_BLOCK,
	PAGE_SLAB
};

static_assert(sizeof(struct heap_page) == 16, "a million pages need as many of these");

/* --- Lists of pages; page 0 is never on one, so 0 ends them. --------------- */

static void
list_push(struct heap *heap, uint32_t *head, uint32_t page)
{
	heap->pages[page].prev = 0;
	heap->pages[page].next = *head;
	if (*head != 0)
		heap->pages[*head].prev = page;
	*head = page;
}

static void
list_remove(struct heap *heap, uint32_t *head, uint32_t page)
{
	struct heap_page *p = &heap->pages[page];

	if (p->prev != 0)
		heap->pages[p->prev].next = p->next;
	else
		*head = p->next;
	if (p->next != 0)
		heap->pages[p->next].prev = p->prev;
}

/* --- Buddies --------------------------------------------------------------- */

static void *
page_at(const struct heap *heap, uint32_t page)
{
	return heap->base + ((uint64_t)page << HEAP_PAGE_SHIFT);
}

static void
block_set_free(struct heap *heap, uint32_t page, unsigned order)
{
	heap->pages[page].state = PAGE_FREE;
	heap->pages[page].size = (uint8_t)order;
	list_push(heap, &heap->free_blocks[order], page);
}

static uint32_t
block_alloc(struct heap *heap, unsigned order)
{
	unsigned o = order;
	uint32_t page;

	while (o < HEAP_ORDERS && heap->free_blocks[o] == 0)
		o++;
	if (o == HEAP_ORDERS)
		return 0;
	page = heap->free_blocks[o];
	list_remove(heap, &heap->free_blocks[o], page);
	/* Free blocks of 2 MiB and more have no memory behind them. */
	if (o >= HUGE_ORDER)
		heap->resident += order >= HUGE_ORDER ? PAGE_SIZE << order : HUGE_SIZE;
	while (o > order) {
		o--;
		block_set_free(heap, page + (1u << o), o);
	}
	heap->pages[page].state = PAGE_BLOCK;
	heap->pages[page].size = (uint8_t)order;
	if (page + (1u << order) > heap->pages_seen)
		heap->pages_seen = page + (1u << order);
	return page;
}

static void
give_back(struct heap *heap, uint32_t page, unsigned order)
{
	madvise(page_at(heap, page), PAGE_SIZE << order, MADV_DONTNEED);
	heap->resident -= PAGE_SIZE << order;
}

static void
block_free(struct heap *heap, uint32_t page, unsigned order)
{
	if (order >= HUGE_ORDER)
		give_back(heap, page, order);
	while (order + 1 < HEAP_ORDERS) {
		uint32_t buddy = page ^ (1u << order);
		struct heap_page *b = &heap->pages[buddy];

		if (((uint64_t)buddy << HEAP_PAGE_SHIFT) >= heap->size || b->state != PAGE_FREE ||
		    b->size != order)
			break;
		list_remove(heap, &heap->free_blocks[order], buddy);
		b->state = PAGE_INNER;
		heap->pages[page].state = PAGE_INNER;
		page &= ~(1u << order);
		if (++order == HUGE_ORDER)
			give_back(heap, page, order);
	}
	block_set_free(heap, page, order);
}

/* --- Slabs ----------------------------------------------------------------- */

static const uint16_t class_units[HEAP_CLASSES] = {1,  2,  3,  4,  5,  6,  7,  8,  9,	10,  11, 12,
						   13, 14, 15, 16, 17, 20, 32, 64, 128, 256, 512};

static unsigned
class_of(size_t units)
{
	unsigned kind;

	if (units <= 17)
		return units == 0 ? 0 : (unsigned)units - 1;
	for (kind = 17; kind < HEAP_CLASSES && class_units[kind] < units; kind++)
		;
	return kind;
}

static unsigned
page_objects(const struct heap *heap, unsigned kind)
{
	return (1u << (HEAP_PAGE_SHIFT - heap->unit_shift)) / class_units[kind];
}

static uint32_t
slab_alloc(struct heap *heap, unsigned kind)
{
	unsigned capacity = page_objects(heap, kind);
	size_t size = (size_t)class_units[kind] << heap->unit_shift;
	uint32_t page = heap->with_room[kind];
	struct heap_page *p;
	unsigned object;
	uint8_t *at;

	if (page == 0) {
		page = block_alloc(heap, 0);
		if (page == 0)
			return 0;
		p = &heap->pages[page];
		p->state = PAGE_SLAB;
		p->size = (uint8_t)kind;
		p->gaps = p->untouched = p->used = 0;
		list_push(heap, &heap->with_room[kind], page);
	}
	p = &heap->pages[page];
	object = p->gaps != 0 ? p->gaps - 1u : p->untouched;
	at = (uint8_t *)page_at(heap, page) + object * size;
	UNPOISON(at, size);
	if (p->gaps != 0)
		memcpy(&p->gaps, at, sizeof(p->gaps));
	else
		p->untouched++;
	if (++p->used == capacity)
		list_remove(heap, &heap->with_room[kind], page);
	heap->used += size;
	return (page << (HEAP_PAGE_SHIFT - heap->unit_shift)) + object * class_units[kind];
}

static void
slab_free(struct heap *heap, uint32_t page, uint32_t number)
{
	struct heap_page *p = &heap->pages[page];
	unsigned kind = p->size;
	size_t size = (size_t)class_units[kind] << heap->unit_shift;
	uint32_t first = page << (HEAP_PAGE_SHIFT - heap->unit_shift);
	void *at = heap_at(heap, number);

	memcpy(at, &p->gaps, sizeof(p->gaps));
	POISON(at, size);
	p->gaps = (uint16_t)((number - first) / class_units[kind] + 1);
	heap->used -= size;
	if (p->used-- == page_objects(heap, kind))
		list_push(heap, &heap->with_room[kind], page);
	/* The last page with room stays, or one object coming and going would
	 * move pages, perhaps 2 MiB, each time. */
	if (p->used == 0 && (p->next != 0 || p->prev != 0)) {
		list_remove(heap, &heap->with_room[kind], page);
		UNPOISON(page_at(heap, page), PAGE_SIZE);
		block_free(heap, page, 0);
	}
}

/* --- The heap -------------------------------------------------------------- */

uint32_t
heap_alloc(struct heap *heap, size_t bytes)
{
	size_t units = (bytes + (1ul << heap->unit_shift) - 1) >> heap->unit_shift;
	unsigned kind = class_of(units);
	unsigned order = 0;
	uint32_t page;

	if (heap->fail_after != 0 && --heap->fail_after == 0) {
		heap->fail_after = 1;
		return 0;
	}
	if (kind < HEAP_CLASSES)
		return slab_alloc(heap, kind);
	while (order < HEAP_ORDERS && PAGE_SIZE << order < bytes)
		order++;
	page = block_alloc(heap, order);
	if (page != 0)
		heap->used += PAGE_SIZE << order;
	return page << (HEAP_PAGE_SHIFT - heap->unit_shift);
}

void
heap_free(struct heap *heap, uint32_t number)
{
	uint32_t page = number >> (HEAP_PAGE_SHIFT - heap->unit_shift);
	struct heap_page *p = &heap->pages[page];

	if (p->state == PAGE_SLAB) {
		slab_free(heap, page, number);
		return;
	}
	heap->used -= PAGE_SIZE << p->size;
	block_free(heap, page, p->size);
}

size_t
heap_size(const struct heap *heap, uint32_t number)
{
	const struct heap_page *p = &heap->pages[number >> (HEAP_PAGE_SHIFT - heap->unit_shift)];

	if (p->state == PAGE_SLAB)
		return (size_t)class_units[p->size] << heap->unit_shift;
	return PAGE_SIZE << p->size;
}

static void *
reserve(size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

static size_t
pages_bytes(const struct heap *heap)
{
	return (heap->size >> HEAP_PAGE_SHIFT) * sizeof(struct heap_page);
}

/* A preference, not a condition: a full or forbidden node is no reason to fail. */
static void
prefer_node(void *at, size_t size, int node)
{
	unsigned long mask[16] = {0};

	if (node < 0 || node >= (int)(sizeof(mask) * 8) || numa_available() < 0)
		return;
	mask[node / 64] = 1ul << (node % 64);
	(void)mbind(at, size, MPOL_PREFERRED, mask, sizeof(mask) * 8, 0);
}

int
heap_init(struct heap *heap, unsigned unit_shift, int numa_node, struct err *err)
{
	unsigned order = HEAP_ORDERS - 1;

	memset(heap, 0, sizeof(*heap));
	heap->unit_shift = unit_shift;
	/* No more than 2^30 units have a number; less where address space is limited. */
	while (PAGE_SIZE << order > 1ul << (30 + unit_shift))
		order--;
	for (; order >= HUGE_ORDER; order--) {
		heap->size = PAGE_SIZE << order;
		heap->mapping_size = heap->size + HUGE_SIZE;
		heap->mapping = reserve(heap->mapping_size);
		heap->pages = heap->mapping == NULL ? NULL : reserve(pages_bytes(heap));
		if (heap->pages != NULL)
			break;
		if (heap->mapping != NULL)
			munmap(heap->mapping, heap->mapping_size);
	}
	if (heap->pages == NULL)
		return err_set(err, ENOMEM, "no address space for route tables");
	heap->base = (uint8_t *)(((uintptr_t)heap->mapping + HUGE_SIZE - 1) & ~(HUGE_SIZE - 1));
	(void)madvise(heap->base, heap->size, MADV_HUGEPAGE);
	prefer_node(heap->base, heap->size, numa_node);
	/* Page 0 is never given out: number 0 means none. */
	heap->resident = HUGE_SIZE;
	heap->pages[0].state = PAGE_BLOCK;
	for (unsigned o = 0; o < order; o++)
		block_set_free(heap, 1u << o, o);
	return 0;
}

void
heap_fini(struct heap *heap)
{
	if (heap->pages == NULL)
		return;
	UNPOISON(heap->base, (size_t)heap->pages_seen << HEAP_PAGE_SHIFT);
	munmap(heap->pages, pages_bytes(heap));
	munmap(heap->mapping, heap->mapping_size);
	heap->pages = NULL;
}
