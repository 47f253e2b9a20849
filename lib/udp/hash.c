/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables workers look up in, from the side of who changes them. */
#include "private.h"

#include <errno.h>
#include <sys/mman.h>

#define SLOTS_MIN 64u
/* Memory from which on huge pages are worth asking for. */
#define HUGE_PAGE (2u << 20)

static struct udp_hash *
hash_new(uint32_t slots, unsigned words)
{
	size_t bytes = sizeof(struct udp_hash) + (size_t)slots * udp_slot_words(words) * 8;
	struct udp_hash *t;

	if (bytes >= HUGE_PAGE)
		bytes = RTE_ALIGN_CEIL(bytes, HUGE_PAGE);
	t = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (t == MAP_FAILED)
		return NULL;
	if (bytes >= HUGE_PAGE)
		madvise(t, bytes, MADV_HUGEPAGE);
	t->mask = slots - 1;
	t->bytes = bytes;
	return t;
}

void
hash_free(const struct udp_hash *t)
{
	if (t != NULL)
		munmap((void *)(uintptr_t)t, t->bytes);
}

static void
free_retired(void *ctx, uintptr_t what)
{
	(void)ctx;
	hash_free((const struct udp_hash *)what);
}

static uint64_t *
slot_of(struct udp_hash *t, const uint64_t *key, unsigned words)
{
	uint32_t hash = udp_hash_words(key, words);

	for (;; hash++) {
		uint64_t *slot = (uint64_t *)(uintptr_t)udp_hash_slot(t, hash, words);

		if (slot[0] == 0 || memcmp(slot, key, words * sizeof(*key)) == 0)
			return slot;
	}
}

static void
store(struct udp_hash *t, const uint64_t *key, unsigned words, uint64_t value)
{
	uint64_t *slot = slot_of(t, key, words);

	t->live += (value != 0) - (slot[0] != 0 && slot[words] != 0);
	__atomic_store_n(&slot[words], value, __ATOMIC_RELEASE);
	if (slot[0] != 0 || value == 0)
		return;
	t->used++;
	/* The first word is what readers look at first: all else is there by then. */
	memcpy(slot + 1, key + 1, (words - 1) * sizeof(*key));
	__atomic_store_n(&slot[0], key[0], __ATOMIC_RELEASE);
}

static void
copy_live(struct udp_hash *to, const struct udp_hash *from, unsigned words)
{
	unsigned step = udp_slot_words(words);

	for (uint32_t i = 0; i <= from->mask; i++) {
		const uint64_t *slot = &from->slots[(size_t)i * step];

		if (slot[0] != 0 && slot[words] != 0)
			store(to, slot, words, slot[words]);
	}
}

/* At most half of the slots have keys, those of sockets long gone included. */
int
hash_reserve(struct udp_control *c, const struct udp_hash **at, unsigned words)
{
	const struct udp_hash *old = *at;
	uint32_t slots = SLOTS_MIN;
	struct udp_hash *t;

	if (old != NULL && 2 * (old->used + 1) <= old->mask + 1)
		return 0;
	while (old != NULL && slots < 3 * (old->live + 1))
		slots *= 2;
	t = hash_new(slots, words);
	if (t == NULL)
		return -ENOMEM;
	if (old != NULL)
		copy_live(t, old, words);
	__atomic_store_n(at, t, __ATOMIC_RELEASE);
	if (old != NULL)
		rcu_retire(c->rcu, free_retired, NULL, (uintptr_t)old);
	return 0;
}

void
hash_set(const struct udp_hash *t, const uint64_t *key, unsigned words, uint64_t value)
{
	store((struct udp_hash *)(uintptr_t)t, key, words, value);
}
