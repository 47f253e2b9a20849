/* SPDX-License-Identifier: BSD-3-Clause */
#include "fold.h"

#include <emmintrin.h>

/* Small nodes have no more runs than this: two lines. */
#define SMALL_RUNS ((2 * 64 - FIB4_HEADER) / sizeof(uint32_t))
/* What fits in a quarter's line. */
#define QUARTER_RUNS  12u
#define QUARTER_SLOTS 64u

/* Bit i: slot i differs from the next. There is a slot behind the 64. */
static uint64_t
differences(const uint32_t slots[65])
{
	uint64_t same = 0;

	for (unsigned i = 0; i < 64; i += 4) {
		__m128i a = _mm_loadu_si128((const __m128i *)(const void *)&slots[i]);
		__m128i b = _mm_loadu_si128((const __m128i *)(const void *)&slots[i + 1]);
		int equal = _mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(a, b)));

		same |= (uint64_t)(unsigned)equal << i;
	}
	return ~same;
}

/* The contents of the slots where runs end, last first. Returns how many. */
static unsigned
put_ends(uint32_t *entries, uint64_t ends, const uint32_t slots[64])
{
	unsigned count = 0;

	while (ends != 0) {
		unsigned bit = 63 - (unsigned)__builtin_clzll(ends);

		entries[count++] = slots[bit];
		ends ^= 1ull << bit;
	}
	return count;
}

static void
fold_small(struct image *image, unsigned header, const uint64_t ends[4],
	   const uint32_t slots[NODE_SLOTS])
{
	uint32_t *entries = &image->words[header / sizeof(uint32_t)];
	unsigned count = 1;

	entries[0] = slots[NODE_SLOTS - 1];
	for (unsigned word = 4; word-- > 0;) {
		image->node.after[word] = (uint8_t)(count - 1);
		image->node.ends[word] = ends[word];
		count += put_ends(&entries[count], ends[word], &slots[word * 64]);
	}
	image->size = header + count * sizeof(uint32_t);
}

static void
fold_wide(struct image *image, const uint64_t ends[4], const uint32_t slots[NODE_SLOTS])
{
	uint32_t *more = (uint32_t *)&image->quarters[4];

	for (unsigned i = 0; i < 4; i++) {
		struct fib_quarter *q = &image->quarters[i];
		uint32_t *entries = q->entries;
		unsigned count;

		q->ends = ends[i] & ~(1ull << 63);
		count = (unsigned)__builtin_popcountll(q->ends) + 1;
		if (count > QUARTER_RUNS) {
			memset(entries, 0, sizeof(q->entries));
			entries = more;
			more += count;
		} else {
			memset(entries + count, 0, (QUARTER_RUNS - count) * sizeof(uint32_t));
		}
		q->entries_at = (uint32_t)((uint8_t *)entries - (uint8_t *)q);
		entries[0] = slots[i * QUARTER_SLOTS + QUARTER_SLOTS - 1];
		put_ends(&entries[1], q->ends, &slots[i * QUARTER_SLOTS]);
	}
	image->size = (size_t)((uint8_t *)more - (uint8_t *)image->words);
}

void
image_fold(struct image *image, unsigned header, bool may_widen, uint32_t fallback,
	   const uint32_t slots[NODE_SLOTS + 1])
{
	unsigned runs = 1;
	uint64_t ends[4];

	for (unsigned word = 0; word < 4; word++) {
		ends[word] = differences(&slots[word * 64]);
		if (word == 3)
			ends[word] &= ~(1ull << 63);
		runs += (unsigned)__builtin_popcountll(ends[word]);
	}
	image->wide = may_widen && runs > SMALL_RUNS;
	if (image->wide)
		fold_wide(image, ends, slots);
	else
		fold_small(image, header, ends, slots);
	for (unsigned i = 0; image->wide && i < 4; i++)
		image->quarters[i].fallback = fallback;
	if (!image->wide)
		image->node.fallback = fallback;
}

/* Write out 64 slots: runs end at these bits, the last at its end or beyond.
 * Returns the entry of the run that goes on. */
static const uint32_t *
unfold_64(uint32_t slots[64], uint64_t ends, const uint32_t *entry)
{
	unsigned slot = 0;

	for (; ends != 0; ends &= ends - 1) {
		while (slot <= (unsigned)__builtin_ctzll(ends))
			slots[slot++] = *entry;
		entry--;
	}
	while (slot < 64)
		slots[slot++] = *entry;
	return entry;
}

void
node_unfold(const void *node, bool wide, unsigned header, uint32_t slots[NODE_SLOTS])
{
	const struct fib_quarter *quarters = node;
	const struct fib_node *small = node;
	const uint32_t *entry;

	if (wide) {
		for (unsigned i = 0; i < 4; i++)
			unfold_64(&slots[i * QUARTER_SLOTS], quarters[i].ends,
				  fib_quarter_entry(&quarters[i], 0));
		return;
	}
	entry = fib_entries(small, header) + fib_entry_index(small, 0);
	for (unsigned word = 0; word < 4; word++)
		entry = unfold_64(&slots[word * 64], small->ends[word], entry);
}

bool
image_same_shape(const struct image *image, const void *node, bool wide)
{
	const struct fib_quarter *quarters = node;
	const struct fib_node *small = node;

	if (image->wide != wide)
		return false;
	if (!wide)
		return memcmp(small->ends, image->node.ends, sizeof(small->ends)) == 0;
	for (unsigned i = 0; i < 4; i++)
		if (quarters[i].ends != image->quarters[i].ends)
			return false;
	return true;
}

size_t
node_size(const void *node, bool wide, unsigned header)
{
	const struct fib_quarter *quarters = node;
	size_t size = sizeof(*quarters) * 4;

	if (!wide)
		return header + (fib_entry_index(node, 0) + 1) * sizeof(uint32_t);
	for (unsigned i = 0; i < 4; i++) {
		unsigned count = (unsigned)__builtin_popcountll(quarters[i].ends) + 1;

		size += count > QUARTER_RUNS ? count * sizeof(uint32_t) : 0;
	}
	return size;
}

uint32_t *
node_slot_entry(void *node, bool wide, unsigned header, unsigned slot)
{
	const struct fib_quarter *quarters = node;
	const uint32_t *entry;

	if (wide)
		entry = fib_quarter_entry(&quarters[slot / QUARTER_SLOTS], slot % QUARTER_SLOTS);
	else
		entry = fib_entries(node, header) + fib_entry_index(node, slot);
	return (uint32_t *)((uint8_t *)node + ((const uint8_t *)entry - (const uint8_t *)node));
}

uint32_t
node_fallback(const void *node, bool wide)
{
	const struct fib_quarter *quarters = node;
	const struct fib_node *small = node;

	return wide ? quarters[0].fallback : small->fallback;
}

void
node_set_fallback(void *node, bool wide, uint32_t value)
{
	struct fib_quarter *quarters = node;
	struct fib_node *small = node;

	if (!wide)
		__atomic_store_n(&small->fallback, value, __ATOMIC_RELEASE);
	for (unsigned i = 0; wide && i < 4; i++)
		__atomic_store_n(&quarters[i].fallback, value, __ATOMIC_RELEASE);
}
