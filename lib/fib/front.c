/* SPDX-License-Identifier: BSD-3-Clause */
#include "front.h"

#include <endian.h>
#include <errno.h>

#define BUCKETS_MIN  4u
#define BUCKET_SLOTS 3u

/* A place in a bucket. */
struct slot {
	struct fib_bucket *bucket;
	unsigned i;
};

static struct fib_bucket *
buckets(const struct front *front, const struct front_table *t)
{
	return arena_at(front->arena, t->index);
}

static uint32_t
hash(struct fib_key key)
{
	return fib_hash(htobe64(key.hi), htobe64(key.lo));
}

/* The key's slot, or else the first that was never used; one always is. */
static struct slot
find(struct fib_bucket *table, uint32_t mask, struct fib_key key)
{
	uint64_t k0 = htobe64(key.hi), k1 = htobe64(key.lo);

	for (uint32_t h = hash(key);; h++) {
		struct fib_bucket *b = &table[h & mask];

		for (unsigned i = 0; i < BUCKET_SLOTS; i++)
			if (b->value[i] == 0 || (b->key[i][0] == k0 && b->key[i][1] == k1))
				return (struct slot){b, i};
	}
}

static void
add_tags(struct fib_bucket *bucket, uint32_t tags)
{
	__atomic_store_n(&bucket->tags, bucket->tags | tags, __ATOMIC_RELEASE);
}

/* The slot is one that find() said was never used. */
static void
fill(struct fib_bucket *table, uint32_t mask, struct slot slot, struct fib_key key, uint32_t value)
{
	uint32_t h = hash(key), tag = fib_hash_tags(h) & (0xffu << (8 * slot.i));

	for (; &table[h & mask] != slot.bucket; h++)
		add_tags(&table[h & mask], FIB_BUCKET_OVERFLOW);
	__atomic_store_n(&slot.bucket->key[slot.i][0], htobe64(key.hi), __ATOMIC_RELAXED);
	__atomic_store_n(&slot.bucket->key[slot.i][1], htobe64(key.lo), __ATOMIC_RELAXED);
	add_tags(slot.bucket, tag);
	__atomic_store_n(&slot.bucket->value[slot.i], value, __ATOMIC_RELEASE);
}

static bool
is_live(uint32_t value)
{
	return value != 0 && value != FIB_FRONT_DELETED;
}

static struct front_table *
table_of(struct front *front, unsigned len)
{
	for (unsigned i = 0; i < front->count; i++)
		if (front->tables[i].len == len)
			return &front->tables[i];
	return NULL;
}

/* Room for that many keys with half of the slots free. */
static bool
table_alloc(struct front *front, struct front_table *t, uint32_t keys)
{
	uint32_t count = BUCKETS_MIN;
	size_t size;

	while (count * BUCKET_SLOTS < 2 * (uint64_t)keys)
		count *= 2;
	size = count * sizeof(struct fib_bucket);
	t->index = heap_alloc(&front->arena->nodes, size);
	if (t->index == 0)
		return false;
	t->mask = count - 1;
	t->live = t->used = 0;
	memset(buckets(front, t), 0, size);
	return true;
}

static void
table_copy(struct front *front, struct front_table *to, const struct front_table *from)
{
	for (uint32_t b = 0; b <= from->mask; b++) {
		const struct fib_bucket *bucket = &buckets(front, from)[b];

		for (unsigned i = 0; i < BUCKET_SLOTS; i++) {
			struct fib_key key = {be64toh(bucket->key[i][0]),
					      be64toh(bucket->key[i][1])};

			if (!is_live(bucket->value[i]))
				continue;
			fill(buckets(front, to), to->mask, find(buckets(front, to), to->mask, key),
			     key, bucket->value[i]);
			to->live++;
			to->used++;
		}
	}
}

/* Readers may look for keys that begin as this one. To be said before the key is there. */
static void
gate_open(struct fib_front *f, uint64_t k0)
{
	unsigned bit = fib_gate_bit(f, k0);

	__atomic_store_n(&f->gate[bit / 64], f->gate[bit / 64] | 1ull << (bit % 64),
			 __ATOMIC_RELEASE);
}

static void
gate_open_table(const struct front *front, struct fib_front *f, const struct front_table *t)
{
	for (uint32_t b = 0; b <= t->mask; b++) {
		const struct fib_bucket *bucket = &buckets(front, t)[b];

		for (unsigned i = 0; i < BUCKET_SLOTS; i++)
			if (is_live(bucket->value[i]))
				gate_open(f, bucket->key[i][0]);
	}
}

/* Let readers see these tables. False, and nothing changed, when there is no memory. */
static bool
tables_publish(struct front *front, const struct front_table *tables, unsigned count)
{
	uint32_t old = *front->published & FIB_INDEX, index = 0;

	if (count != 0) {
		struct fib_front *f;

		index = heap_alloc(&front->arena->nodes, sizeof(*f));
		if (index == 0)
			return false;
		f = arena_at(front->arena, index);
		memset(f, 0, sizeof(*f));
		f->count = count;
		for (unsigned i = 0; i < count; i++) {
			struct fib_key bits =
				key_cut((struct fib_key){~0ull, ~0ull}, tables[i].len);

			f->tables[i].table = tables[i].index | FIB_CHILD;
			f->tables[i].mask = tables[i].mask;
			f->tables[i].bits[0] = htobe64(bits.hi);
			f->tables[i].bits[1] = htobe64(bits.lo);
		}
		/* The last is the one of the shortest keys. */
		f->gate_bits = f->tables[count - 1].bits[0];
		for (unsigned i = 0; i < count; i++)
			gate_open_table(front, f, &tables[i]);
	}
	__atomic_store_n(front->published, index == 0 ? 0 : index | FIB_CHILD, __ATOMIC_RELEASE);
	if (old != 0)
		arena_retire(front->arena, old);
	if (count != 0)
		memcpy(front->tables, tables, count * sizeof(*tables));
	front->count = count;
	return true;
}

/* Publish `table` in place of the one of its length, or beside the others. */
static bool
table_publish(struct front *front, const struct front_table *table)
{
	struct front_table tables[FIB_FRONT_TABLES], old = {0};
	unsigned count = 0, i = 0;

	while (i < front->count && front->tables[i].len > table->len)
		tables[count++] = front->tables[i++];
	if (i < front->count && front->tables[i].len == table->len)
		old = front->tables[i++];
	if (table->live != 0)
		tables[count++] = *table;
	while (i < front->count)
		tables[count++] = front->tables[i++];
	if (!tables_publish(front, tables, count))
		return false;
	if (old.index != 0)
		arena_retire(front->arena, old.index);
	return true;
}

/* A new table with one key more than the old. */
static int
table_grow(struct front *front, const struct front_table *old, struct fib_key key, unsigned len,
	   uint32_t value)
{
	struct front_table t = {.len = len};

	if (!table_alloc(front, &t, old == NULL ? 1 : old->live + 1))
		return -ENOSPC;
	if (old != NULL)
		table_copy(front, &t, old);
	fill(buckets(front, &t), t.mask, find(buckets(front, &t), t.mask, key), key, value);
	t.live++;
	t.used++;
	if (table_publish(front, &t))
		return 0;
	heap_free(&front->arena->nodes, t.index);
	return -ENOSPC;
}

int
front_set(struct front *front, struct fib_key key, unsigned len, uint32_t value)
{
	struct front_table *t = table_of(front, len);
	struct slot slot;

	if (t == NULL) {
		/* /128 always has a place. */
		if (front->count == FIB_FRONT_TABLES ||
		    (len != 128 && front->count == FIB_FRONT_TABLES - 1 &&
		     front->tables[0].len != 128))
			return -ENOSPC;
		return table_grow(front, NULL, key, len, value);
	}
	slot = find(buckets(front, t), t->mask, key);
	if (slot.bucket->value[slot.i] == 0) {
		/* Six slots in ten, so that few buckets overflow. */
		if ((t->used + 1) * 10ull > (t->mask + 1) * BUCKET_SLOTS * 6ull)
			return table_grow(front, t, key, len, value);
		gate_open(arena_at(front->arena, *front->published & FIB_INDEX), htobe64(key.hi));
		fill(buckets(front, t), t->mask, slot, key, value);
		t->used++;
		t->live++;
		return 0;
	}
	if (slot.bucket->value[slot.i] == FIB_FRONT_DELETED) {
		gate_open(arena_at(front->arena, *front->published & FIB_INDEX), htobe64(key.hi));
		t->live++;
	}
	__atomic_store_n(&slot.bucket->value[slot.i], value, __ATOMIC_RELEASE);
	return 0;
}

void
front_unset(struct front *front, struct fib_key key, unsigned len)
{
	struct front_table *t = table_of(front, len), smaller = {.len = len};
	struct slot slot;

	if (t == NULL)
		return;
	slot = find(buckets(front, t), t->mask, key);
	if (!is_live(slot.bucket->value[slot.i]))
		return;
	__atomic_store_n(&slot.bucket->value[slot.i], FIB_FRONT_DELETED, __ATOMIC_RELEASE);
	t->live--;
	if (t->live == 0) {
		(void)table_publish(front, &smaller);
		return;
	}
	if (t->mask + 1 == BUCKETS_MIN || t->live * 10ull > (t->mask + 1) * BUCKET_SLOTS)
		return;
	if (!table_alloc(front, &smaller, t->live))
		return;
	table_copy(front, &smaller, t);
	if (!table_publish(front, &smaller))
		heap_free(&front->arena->nodes, smaller.index);
}

void
front_mark(struct front *front, struct fib_key key, unsigned len,
	   bool (*longer)(const void *ctx, struct fib_key key, unsigned len), const void *ctx)
{
	for (unsigned i = 0; i < front->count; i++) {
		const struct front_table *t = &front->tables[i];
		struct fib_key shorter = key_cut(key, t->len);
		struct slot slot;
		uint32_t value;

		if (t->len >= len)
			continue;
		slot = find(buckets(front, t), t->mask, shorter);
		value = slot.bucket->value[slot.i];
		if (!is_live(value))
			continue;
		value &= ~FIB_FRONT_LONGER;
		if (longer(ctx, shorter, t->len))
			value |= FIB_FRONT_LONGER;
		__atomic_store_n(&slot.bucket->value[slot.i], value, __ATOMIC_RELEASE);
	}
}

void
front_clear(struct front *front)
{
	unsigned count = front->count;

	(void)tables_publish(front, front->tables, 0);
	for (unsigned i = 0; i < count; i++)
		arena_retire(front->arena, front->tables[i].index);
}
