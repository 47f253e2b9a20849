/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "trie.h"

struct fib4 {
	struct fib_reader reader; /* first: lookup.h knows only this */
	struct record record;
	struct trie trie;
};

static struct fib_key
key_of(const struct ip_addr *addr)
{
	return (struct fib_key){(uint64_t)ip4_host(addr) << 32, 0};
}

/* Is it an IPv4 prefix with nothing beyond its length? */
static bool
valid(const struct ip_prefix *prefix, struct fib_key *key)
{
	if (prefix->addr.family != AF_INET || prefix->len > 32)
		return false;
	*key = key_of(&prefix->addr);
	return key_equal(*key, key_cut(*key, prefix->len));
}

static void
entry_fill(const struct fib4 *fib, const struct record_leaf *leaf, struct fib_entry *entry)
{
	struct fib_key key = record_key(&fib->record, leaf);

	*entry = (struct fib_entry){
		.prefix = {.addr = ip4_addr((uint32_t)(key.hi >> 32)), .len = leaf->len},
		.value = leaf->value,
		.user = leaf->user,
	};
}

struct fib4 *
fib4_create(struct fib_arena *arena, struct err *err)
{
	struct fib4 *fib = aligned_alloc(64, (sizeof(*fib) + 63) & ~63ul);

	if (fib == NULL) {
		err_set(err, ENOMEM, "no memory for an IPv4 table");
		return NULL;
	}
	memset(fib, 0, sizeof(*fib));
	fib->reader.base = arena_base(arena);
	record_init(&fib->record, &arena->records, 1);
	fib->trie = (struct trie){
		.arena = arena,
		.record = &fib->record,
		.root = &fib->reader.root,
		.header = FIB4_HEADER,
	};
	return fib;
}

static void
free_table(void *ctx, uintptr_t what)
{
	(void)ctx;
	free((void *)what);
}

void
fib4_destroy(struct fib4 *fib)
{
	if (fib == NULL)
		return;
	trie_clear(&fib->trie);
	record_clear(&fib->record);
	rcu_retire(fib->trie.arena->rcu, free_table, NULL, (uintptr_t)fib);
}

int
fib4_set(struct fib4 *fib, const struct ip_prefix *prefix, uint32_t value, uint32_t user)
{
	struct record_leaf *leaf;
	struct fib_key key;
	bool added;
	int rc;

	if (!valid(prefix, &key) || value == 0 || value > FIB_VALUE_MAX)
		return -EINVAL;
	leaf = record_find(&fib->record, key, prefix->len);
	added = leaf == NULL;
	if (added)
		leaf = record_add(&fib->record, key, prefix->len);
	if (leaf == NULL)
		return -ENOMEM;
	if (value != leaf->value) {
		rc = trie_set(&fib->trie, key, prefix->len, value);
		if (rc != 0) {
			if (added)
				record_remove(&fib->record, key, prefix->len);
			return rc;
		}
	}
	leaf->value = value;
	leaf->user = user;
	if (added)
		trie_fit_root(&fib->trie);
	arena_measure(fib->trie.arena);
	return 0;
}

int
fib4_unset(struct fib4 *fib, const struct ip_prefix *prefix)
{
	struct fib_key key;
	int rc;

	if (!valid(prefix, &key) || record_find(&fib->record, key, prefix->len) == NULL)
		return -ENOENT;
	rc = trie_unset(&fib->trie, key, prefix->len);
	if (rc != 0)
		return rc;
	record_remove(&fib->record, key, prefix->len);
	trie_fit_root(&fib->trie);
	arena_measure(fib->trie.arena);
	return 0;
}

int
fib4_get(const struct fib4 *fib, const struct ip_prefix *prefix, struct fib_entry *entry)
{
	const struct record_leaf *leaf;
	struct fib_key key;

	if (!valid(prefix, &key))
		return -ENOENT;
	leaf = record_find(&fib->record, key, prefix->len);
	if (leaf == NULL)
		return -ENOENT;
	entry_fill(fib, leaf, entry);
	return 0;
}

int
fib4_match(const struct fib4 *fib, const struct ip_addr *addr, struct fib_entry *entry)
{
	const struct record_leaf *leaf;

	if (addr->family != AF_INET)
		return -ENOENT;
	leaf = record_match(&fib->record, key_of(addr), 32);
	if (leaf == NULL)
		return -ENOENT;
	entry_fill(fib, leaf, entry);
	return 0;
}

bool
fib4_next(const struct fib4 *fib, const struct ip_prefix *after, struct fib_entry *entry)
{
	const struct record_leaf *leaf;
	struct fib_key key;

	if (after != NULL)
		key = key_cut(key_of(&after->addr), after->len);
	leaf = record_next(&fib->record, after == NULL ? NULL : &key,
			   after == NULL ? 0 : after->len);
	if (leaf == NULL)
		return false;
	entry_fill(fib, leaf, entry);
	return true;
}

uint32_t
fib4_count(const struct fib4 *fib)
{
	return fib->record.count;
}
