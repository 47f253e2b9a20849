/* SPDX-License-Identifier: BSD-3-Clause */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>

#include "front.h"
#include "trie.h"

/*
 * Host routes are in the front alone, all others in the trie. They have a
 * record each, so that "is there anything longer that the trie must decide"
 * is one look at the record.
 */
struct fib6 {
	struct fib_reader reader; /* first: lookup.h knows only this */
	struct record prefixes;	  /* /0 to /127 */
	struct record hosts;	  /* /128 */
	struct trie trie;
	struct front front;
};

static struct fib_key
key_of(const struct ip_addr *addr)
{
	struct fib_key key;

	memcpy(&key.hi, addr->bytes, 8);
	memcpy(&key.lo, addr->bytes + 8, 8);
	return (struct fib_key){be64toh(key.hi), be64toh(key.lo)};
}

/* Is it an IPv6 prefix with nothing beyond its length? */
static bool
valid(const struct ip_prefix *prefix, struct fib_key *key)
{
	if (prefix->addr.family != AF_INET6 || prefix->len > 128)
		return false;
	*key = key_of(&prefix->addr);
	return key_equal(*key, key_cut(*key, prefix->len));
}

static void
entry_fill(const struct fib6 *fib, const struct record_leaf *leaf, struct fib_entry *entry)
{
	struct fib_key key = record_key(&fib->prefixes, leaf);

	key = (struct fib_key){htobe64(key.hi), htobe64(key.lo)};
	*entry = (struct fib_entry){
		.prefix = {.addr = ip6_addr(&key), .len = leaf->len},
		.value = leaf->value,
		.user = leaf->user,
	};
}

struct fib6 *
fib6_create(struct fib_arena *arena, struct err *err)
{
	struct fib6 *fib = aligned_alloc(64, (sizeof(*fib) + 63) & ~63ul);

	if (fib == NULL) {
		err_set(err, ENOMEM, "no memory for an IPv6 table");
		return NULL;
	}
	memset(fib, 0, sizeof(*fib));
	fib->reader.base = arena_base(arena);
	record_init(&fib->prefixes, &arena->records, 4);
	record_init(&fib->hosts, &arena->records, 4);
	fib->trie = (struct trie){
		.arena = arena,
		.record = &fib->prefixes,
		.root = &fib->reader.root,
		.header = FIB6_HEADER,
		.skip = FIB_SKIP_MAX,
	};
	fib->front = (struct front){.arena = arena, .published = &fib->reader.front};
	return fib;
}

static void
free_table(void *ctx, uintptr_t what)
{
	(void)ctx;
	free((void *)what);
}

void
fib6_destroy(struct fib6 *fib)
{
	if (fib == NULL)
		return;
	front_clear(&fib->front);
	trie_clear(&fib->trie);
	record_clear(&fib->prefixes);
	record_clear(&fib->hosts);
	rcu_retire(fib->trie.arena->rcu, free_table, NULL, (uintptr_t)fib);
}

static bool
has_longer(const void *ctx, struct fib_key key, unsigned len)
{
	return record_has_longer(ctx, key, len);
}

/* Give a prefix of the trie its place in the front, or take it away. A front without room for it
 * is no error: the trie answers all the same. */
static void
set_front(struct fib6 *fib, struct fib_key key, struct record_leaf *leaf, uint32_t flags)
{
	uint32_t value = leaf->value;

	if (flags & FIB6_FRONT) {
		if (record_has_longer(&fib->prefixes, key, leaf->len))
			value |= FIB_FRONT_LONGER;
		if (front_set(&fib->front, key, leaf->len, value) != 0)
			flags = 0;
	} else if (leaf->flags & FIB6_FRONT) {
		front_unset(&fib->front, key, leaf->len);
	}
	leaf->flags = (uint8_t)flags;
}

int
fib6_set(struct fib6 *fib, const struct ip_prefix *prefix, uint32_t value, uint32_t user,
	 uint32_t flags)
{
	bool host = prefix->len == 128, added;
	struct record *record = host ? &fib->hosts : &fib->prefixes;
	struct record_leaf *leaf;
	struct fib_key key;
	int rc = 0;

	if (!valid(prefix, &key) || value == 0 || value > FIB_VALUE_MAX ||
	    (flags & ~FIB6_FRONT) != 0)
		return -EINVAL;
	leaf = record_find(record, key, prefix->len);
	added = leaf == NULL;
	if (added)
		leaf = record_add(record, key, prefix->len);
	if (leaf == NULL)
		return -ENOMEM;
	if (value != leaf->value)
		rc = host ? front_set(&fib->front, key, 128, value)
			  : trie_set(&fib->trie, key, prefix->len, value);
	if (rc != 0) {
		if (added)
			record_remove(record, key, prefix->len);
		return rc;
	}
	leaf->value = value;
	leaf->user = user;
	if (host) {
		arena_measure(fib->trie.arena);
		return 0;
	}
	set_front(fib, key, leaf, flags);
	if (added) {
		front_mark(&fib->front, key, prefix->len, has_longer, &fib->prefixes);
		trie_fit_root(&fib->trie);
	}
	arena_measure(fib->trie.arena);
	return 0;
}

int
fib6_unset(struct fib6 *fib, const struct ip_prefix *prefix)
{
	struct record *record = prefix->len == 128 ? &fib->hosts : &fib->prefixes;
	struct record_leaf *leaf;
	struct fib_key key;
	int rc;

	if (!valid(prefix, &key))
		return -ENOENT;
	leaf = record_find(record, key, prefix->len);
	if (leaf == NULL)
		return -ENOENT;
	if (prefix->len == 128) {
		front_unset(&fib->front, key, 128);
		record_remove(record, key, 128);
		return 0;
	}
	rc = trie_unset(&fib->trie, key, prefix->len);
	if (rc != 0)
		return rc;
	if (leaf->flags & FIB6_FRONT)
		front_unset(&fib->front, key, prefix->len);
	record_remove(record, key, prefix->len);
	front_mark(&fib->front, key, prefix->len, has_longer, record);
	trie_fit_root(&fib->trie);
	arena_measure(fib->trie.arena);
	return 0;
}

int
fib6_get(const struct fib6 *fib, const struct ip_prefix *prefix, struct fib_entry *entry)
{
	const struct record *record = prefix->len == 128 ? &fib->hosts : &fib->prefixes;
	const struct record_leaf *leaf;
	struct fib_key key;

	if (!valid(prefix, &key))
		return -ENOENT;
	leaf = record_find(record, key, prefix->len);
	if (leaf == NULL)
		return -ENOENT;
	entry_fill(fib, leaf, entry);
	return 0;
}

int
fib6_match(const struct fib6 *fib, const struct ip_addr *addr, struct fib_entry *entry)
{
	struct fib_key key = key_of(addr);
	const struct record_leaf *leaf;

	if (addr->family != AF_INET6)
		return -ENOENT;
	leaf = record_find(&fib->hosts, key, 128);
	if (leaf == NULL)
		leaf = record_match(&fib->prefixes, key, 127);
	if (leaf == NULL)
		return -ENOENT;
	entry_fill(fib, leaf, entry);
	return 0;
}

/* The one that comes first in order of address, shorter prefixes first. */
static const struct record_leaf *
earlier(const struct fib6 *fib, const struct record_leaf *prefix, const struct record_leaf *host)
{
	struct fib_key p, h;

	if (prefix == NULL || host == NULL)
		return prefix != NULL ? prefix : host;
	p = record_key(&fib->prefixes, prefix);
	h = record_key(&fib->hosts, host);
	if (p.hi != h.hi)
		return p.hi < h.hi ? prefix : host;
	return p.lo <= h.lo ? prefix : host;
}

bool
fib6_next(const struct fib6 *fib, const struct ip_prefix *after, struct fib_entry *entry)
{
	const struct fib_key *from = NULL;
	const struct record_leaf *leaf;
	struct fib_key key;
	unsigned len = 0;

	if (after != NULL) {
		len = after->len;
		key = key_cut(key_of(&after->addr), len);
		from = &key;
	}
	leaf = earlier(fib, record_next(&fib->prefixes, from, len),
		       record_next(&fib->hosts, from, len));
	if (leaf == NULL)
		return false;
	entry_fill(fib, leaf, entry);
	return true;
}

uint32_t
fib6_count(const struct fib6 *fib)
{
	return fib->prefixes.count + fib->hosts.count;
}
