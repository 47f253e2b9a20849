/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLASSIFY_INTERNAL_H
#define CLASSIFY_INTERNAL_H

/** @file What the parts of the classifier share. See ruleset.h for the idea. */

#include <nmmintrin.h>
#include <sys/queue.h>

#include "ruleset.h"

/** Places in a packet that header fields are counted from. */
enum layer {
	LAYER_ETH,
	LAYER_VLAN,
	LAYER_VLAN2,
	LAYER_IP,
	LAYER_L4,
	LAYER_INNER_IP,
	LAYER_INNER_L4,
	LAYER_COUNT,
};

/* --- shapes: which bits are looked at ------------------------------------------- */

/** Words of the longest headers of all layers: 2, 1, 1, 5, 3, 5, 3. */
#define SHAPE_WORDS_MAX 20

/** Eight bytes of a packet. The offset is counted from the layer and can be negative, so that short
 * headers are read from their end: what is in front of them is always there. */
struct shape_word {
	uint8_t layer;
	int8_t offset;
	uint64_t mask; /**< in memory order, as the value */
};

/** What the rules of a tuple have in common. Padding is zero: compared as memory. */
struct shape {
	uint32_t present, present_mask;
	uint32_t words;
	struct shape_word word[SHAPE_WORDS_MAX];
};

/** A range as it is tested in a packet. */
struct range_test {
	uint8_t layer;
	int8_t offset;
	uint8_t size;
	uint8_t mask[16], low[16], high[16];
};

/** A rule in terms of words. */
struct compiled {
	struct shape shape;
	uint64_t value[SHAPE_WORDS_MAX];
	unsigned ranges;
	struct range_test range[FLOW_RANGES_MAX];
	/** What it was made of, with ranges reduced to the bits in which low and high differ. */
	struct flow_rule rule;
};

/** shape.c: 0, or -EINVAL with err: see ruleset_add(). */
int rule_compile(const struct flow_rule *rule, struct compiled *compiled, struct err *err);

/** More entries than this are not made of one rule. */
#define PIECES_MAX 64

/** A range as the prefixes it is made of. */
struct cut {
	unsigned range;	 /**< which of the rule's */
	unsigned pieces; /**< 0: no range that makes PIECES_MAX or fewer */
	struct {
		uint8_t value[16], mask[16];
	} piece[PIECES_MAX];
};

/** Of the rule's ranges, cut the one that makes the fewest pieces. */
void rule_cut(const struct compiled *compiled, struct cut *cut);
/** The rule with a prefix in place of the range. */
void rule_piece(const struct compiled *compiled, const struct cut *cut, unsigned index,
		struct compiled *piece);

/* --- rules ------------------------------------------------------------------------ */

/** A place among the rules of a group: lower priority first, then lower age. */
struct rank {
	uint64_t age;
	uint32_t priority;
};

static inline bool
rank_before(const struct rank *a, const struct rank *b)
{
	return a->priority != b->priority ? a->priority < b->priority : a->age < b->age;
}

/** One key of a rule in a tuple's hash table. Immutable but for `next`. */
struct entry {
	struct entry *next; /**< in the bucket, in the order of ranks */
	struct rule *rule;
	struct rank rank;
	uint32_t index;	  /**< among the rule's entries */
	uint64_t value[]; /**< one per word of the tuple's shape */
};

struct rule {
	/* Read by workers when an entry matches. */
	struct rule_verdict verdict;
	const struct rule_group *jump; /**< where FLOW_JUMP goes */
	uint64_t born, died;	       /**< versions: seen from born on, before died */
	uint32_t slot;		       /**< of its counters */
	uint32_t ranges;
	struct range_test *range; /**< to be tested beside the entry */

	/* Control thread. */
	struct ruleset *set;
	struct rule_group *group;
	struct rank rank;
	struct rule_counters base; /**< counters when last cleared */
	struct rule *next;	   /**< among those that end together */
	LIST_ENTRY(rule) link;	   /**< in the set */
	unsigned entries;
	struct entry_ref {
		struct tuple *tuple;
		struct entry *entry;
	} entry[];
};

/* --- tuples ----------------------------------------------------------------------- */

/**
 * Buckets. A bucket is a pointer to its first entry, shifted up, and in the low 16 bits
 * one for each value the four highest bits of its entries' hashes have: nearly all that is
 * not there ends here, in one load.
 */
struct table {
	uint64_t mask; /**< buckets, a power of two, minus one; below 2^28 */
	uint64_t bucket[];
};

#define BUCKET_BITS 16

static inline struct entry *
bucket_first(uint64_t bucket)
{
	return (struct entry *)(uintptr_t)(bucket >> BUCKET_BITS);
}

static inline uint64_t
bucket_make(const struct entry *first, uint64_t bits)
{
	return (uint64_t)(uintptr_t)first << BUCKET_BITS | bits;
}

static inline bool
bucket_may_have(uint64_t bucket, uint32_t hash)
{
	return (bucket >> (hash >> 28) & 1) != 0;
}

/** Tables with more buckets are fetched ahead of their use. */
#define TABLE_NEAR 1024

struct tuple {
	/* Read by workers. */
	struct table *table;
	/** Bits of the first word that are the same in all entries, and what they are: a packet
	 * with others is not hashed. Bits only go, until the tuple is empty. */
	uint64_t agreed, common;
	struct shape shape;

	/* Control thread. */
	struct rank best; /**< no entry is before it */
	unsigned entries;
	unsigned unlinked; /**< since `best` was found out */
	uint32_t shape_hash;
};

/** One instruction for each word of a packet; rules are not made by who would want them to collide.
 */
static inline uint32_t
hash_word(uint32_t hash, uint64_t x)
{
	return (uint32_t)_mm_crc32_u64(hash, x);
}

#define HASH_BEGIN 0x6a09e667u

/** tuple.c: an empty one; NULL: no memory. */
struct tuple *tuple_create(const struct shape *shape);
void tuple_free(struct tuple *tuple);
/** Add an entry. False: no memory, nothing changed. */
bool tuple_link(struct rcu *rcu, struct tuple *tuple, struct rule *rule, unsigned index,
		const uint64_t *value);
/** Take it out: retire or free it afterwards. */
void tuple_unlink(struct rcu *rcu, struct tuple *tuple, struct entry *entry);
/** Entries that have the value and a range. */
unsigned tuple_ranged(const struct tuple *tuple, const uint64_t *value);
/** Find `best` out again if many have been unlinked. True: it has changed. */
bool tuple_refresh_best(struct tuple *tuple);

/* --- groups and sets ---------------------------------------------------------------- */

struct tuple_place {
	struct rank best;
	const struct tuple *tuple;
};

/** The tuples of a group, best first; immutable, swapped. */
struct tuple_list {
	unsigned n;
	struct tuple_place place[];
};

struct rule_group {
	const struct tuple_list *list;

	/* Control thread. */
	uint32_t id;
	unsigned refs; /**< rules in it, and jumps to it */
	unsigned tuples, room;
	struct tuple **tuple; /**< in no order */
	LIST_ENTRY(rule_group) link;
	bool stale; /**< list is not yet as tuples are */
	bool dirty; /**< on a list of those that entries have gone from */
	struct rule_group *next_dirty;
	struct ruleset *set;
};

#define GROUP_CHAINS 256

struct ruleset {
	/* Read by workers. */
	uint64_t version;
	const struct rule_group *root;	       /**< group 0 */
	struct rule_counters *const *counters; /**< by thread */
	uint32_t needs;			       /**< FLOW_HAS_* some tuple looks at */

	/* Control thread. */
	struct classify *classify;
	uint64_t age; /**< of the youngest rule */
	unsigned count;
	unsigned refs;	     /**< its rules, and its owner */
	struct rule *ending; /**< removed since the last commit */
	bool changed;
	LIST_HEAD(, rule) rules; /**< of the next version */
	LIST_HEAD(, rule_group) groups[GROUP_CHAINS];
};

struct classify {
	struct rcu *rcu;
	unsigned threads;
	struct rule_counters **counters; /**< by thread, then by slot */
	struct rule *unlinkable; /**< ended, and no reader goes by a version that has them */
	uint32_t *free_slot;	 /**< a stack of slots given back */
	uint32_t free_slots, used_slots;
};

/* counters.c */
/** False: all are in use. */
bool slot_take(struct classify *classify, uint32_t *slot);
void slot_give(struct classify *classify, uint32_t slot);

/* group.c */
struct rule_group *rule_group_get(struct ruleset *set, uint32_t id);
void rule_group_put(struct rule_group *group);
/** The tuple of that shape, made if need be; NULL: no memory. */
struct tuple *rule_group_tuple(struct rule_group *group, const struct shape *shape);
/** Tell workers about the group's tuples as they are now; those without entries go. False: no
 * memory, nothing changed. */
bool rule_group_publish(struct rcu *rcu, struct rule_group *group);

#endif
