/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A burst through the tuples. Read it from the bottom.
 */
#include <string.h>

#include "parse.h"

/* Bytes of a packet that are looked at. */
#define HEADERS_MAX 512

struct chunk {
	struct headers headers;
	uint64_t version;
	bool again;			       /* not the first search: */
	struct rank after[CHUNK];	       /* only rules that come later */
	const struct rule *found[CHUNK];       /* in this search */
	const struct rule_group *group[CHUNK]; /* to be searched */
	uint8_t jumps[CHUNK];
};

static inline uint64_t
load64(const uint8_t *p)
{
	uint64_t x;

	memcpy(&x, p, sizeof(x));
	return x;
}

/* --- one entry ---------------------------------------------------------------------- */

/* Does the field lie between low and high? */
static bool
range_holds(const struct range_test *range, const uint8_t *layer)
{
	const uint8_t *p = layer + range->offset;
	bool above = false, below = false;

	for (unsigned i = 0; i < range->size && !(above && below); i++) {
		uint8_t byte = p[i] & range->mask[i];

		if ((!above && byte < range->low[i]) || (!below && byte > range->high[i]))
			return false;
		above |= byte > range->low[i];
		below |= byte < range->high[i];
	}
	return true;
}

static bool
entry_holds(const struct chunk *c, unsigned i, const struct tuple *tuple, const struct entry *entry)
{
	const struct rule *rule = entry->rule;

	for (unsigned w = 0; w < tuple->shape.words; w++) {
		const struct shape_word *word = &tuple->shape.word[w];

		if ((load64(c->headers.at[word->layer][i] + word->offset) & word->mask) !=
		    entry->value[w])
			return false;
	}
	if (rule->born > c->version || __atomic_load_n(&rule->died, __ATOMIC_RELAXED) <= c->version)
		return false;
	for (unsigned r = 0; r < rule->ranges; r++) {
		if (!range_holds(&rule->range[r], c->headers.at[rule->range[r].layer][i]))
			return false;
	}
	return true;
}

/* The first entry from `entry` on that holds and comes after what has been applied, unless what is
 * found already comes before it. */
static void
bucket_search(struct chunk *c, unsigned i, const struct tuple *tuple, const struct entry *entry)
{
	const struct rule *found = c->found[i];

	for (; entry != NULL; entry = __atomic_load_n(&entry->next, __ATOMIC_ACQUIRE)) {
		if (found != NULL && !rank_before(&entry->rank, &found->rank))
			return;
		if (c->again && !rank_before(&c->after[i], &entry->rank))
			continue;
		if (entry_holds(c, i, tuple, entry)) {
			c->found[i] = entry->rule;
			return;
		}
	}
}

/* --- one tuple ---------------------------------------------------------------------- */

/* Entries to be looked at, one a place. */
struct candidates {
	unsigned n;
	uint8_t place[CHUNK];
	const struct entry *first[CHUNK];
};

static inline uint32_t
packet_hash(const struct chunk *c, unsigned i, const struct shape *shape)
{
	uint32_t hash = HASH_BEGIN;

	for (unsigned w = 0; w < shape->words; w++) {
		const struct shape_word *word = &shape->word[w];

		hash = hash_word(hash,
				 load64(c->headers.at[word->layer][i] + word->offset) & word->mask);
	}
	return hash;
}

static inline void
bucket_look(struct candidates *list, unsigned i, uint64_t bucket, uint32_t hash)
{
	const struct entry *first = bucket_first(bucket);

	if (likely(!bucket_may_have(bucket, hash)))
		return;
	rte_prefetch0(first);
	list->place[list->n] = (uint8_t)i;
	list->first[list->n++] = first;
}

/* A word of the shape, ready to be read in one packet after the other. */
struct word_reader {
	const uint8_t *const *at; /* of the layer, by place */
	ptrdiff_t offset;
	uint64_t mask;
};

#define NEAR_WORDS 3

/* A table that stays in the nearest cache. Of few words everything is in registers. dense: the
 * places are 0 to n - 1, and all have the headers. */
static __rte_always_inline void
near_search(const struct chunk *c, const struct tuple *tuple, const struct table *table,
	    const uint8_t *places, unsigned n, bool dense, unsigned words, struct candidates *list)
{
	const uint32_t present = tuple->shape.present, present_mask = tuple->shape.present_mask;
	const uint64_t mask = table->mask;
	struct word_reader reader[NEAR_WORDS];

	for (unsigned w = 0; w < words && words <= NEAR_WORDS; w++) {
		const struct shape_word *word = &tuple->shape.word[w];

		reader[w] =
			(struct word_reader){c->headers.at[word->layer], word->offset, word->mask};
	}
	for (unsigned k = 0; k < n; k++) {
		unsigned i = dense ? k : places[k];
		uint32_t hash = HASH_BEGIN;

		if (!dense && unlikely((c->headers.present[i] & present_mask) != present))
			continue;
		if (words > NEAR_WORDS)
			hash = packet_hash(c, i, &tuple->shape);
		for (unsigned w = 0; w < words && words <= NEAR_WORDS; w++)
			hash = hash_word(hash, load64(reader[w].at[i] + reader[w].offset) &
						       reader[w].mask);
		bucket_look(list, i, __atomic_load_n(&table->bucket[hash & mask], __ATOMIC_ACQUIRE),
			    hash);
	}
}

/* One that does not: buckets of all packets are fetched before the first is needed. */
static void
far_search(const struct chunk *c, const struct tuple *tuple, const struct table *table,
	   const uint8_t *places, unsigned n, struct candidates *list)
{
	const uint32_t present = tuple->shape.present, mask = tuple->shape.present_mask;
	uint32_t hashes[CHUNK];
	uint8_t asked[CHUNK];
	unsigned m = 0;

	for (unsigned k = 0; k < n; k++) {
		unsigned i = places[k];

		if (unlikely((c->headers.present[i] & mask) != present))
			continue;
		hashes[m] = packet_hash(c, i, &tuple->shape);
		rte_prefetch0(&table->bucket[hashes[m] & table->mask]);
		asked[m++] = (uint8_t)i;
	}
	for (unsigned k = 0; k < m; k++)
		bucket_look(
			list, asked[k],
			__atomic_load_n(&table->bucket[hashes[k] & table->mask], __ATOMIC_ACQUIRE),
			hashes[k]);
}

static __rte_always_inline void
near_words(const struct chunk *c, const struct tuple *tuple, const struct table *table,
	   const uint8_t *places, unsigned n, bool dense, struct candidates *list)
{
	if (tuple->shape.words == 1)
		near_search(c, tuple, table, places, n, dense, 1, list);
	else if (tuple->shape.words == 2)
		near_search(c, tuple, table, places, n, dense, 2, list);
	else if (tuple->shape.words == 3)
		near_search(c, tuple, table, places, n, dense, 3, list);
	else
		near_search(c, tuple, table, places, n, dense, SHAPE_WORDS_MAX, list);
}

/* dense: the places are 0 to n - 1, and all have the same headers. True: something has been found.
 */
static inline bool
tuple_search(struct chunk *c, const struct tuple *tuple, const uint8_t *places, unsigned n,
	     bool dense)
{
	const struct table *table = __atomic_load_n(&tuple->table, __ATOMIC_ACQUIRE);
	struct candidates list;
	bool found = false;

	list.n = 0;
	if (dense && (c->headers.present[0] & tuple->shape.present_mask) != tuple->shape.present)
		return false;
	if (table->mask >= TABLE_NEAR)
		far_search(c, tuple, table, places, n, &list);
	else if (dense)
		near_words(c, tuple, table, places, n, true, &list);
	else
		near_words(c, tuple, table, places, n, false, &list);
	for (unsigned k = 0; k < list.n; k++) {
		bucket_search(c, list.place[k], tuple, list.first[k]);
		found |= c->found[list.place[k]] != NULL;
	}
	return found;
}

/* --- one group ---------------------------------------------------------------------- */

/* Places for which a tuple may still have something better. */
static unsigned
still_open(const struct chunk *c, const struct rank *best, uint8_t *places, unsigned n)
{
	unsigned left = 0;

	for (unsigned k = 0; k < n; k++) {
		const struct rule *found = c->found[places[k]];

		if (found == NULL || rank_before(best, &found->rank))
			places[left++] = places[k];
	}
	return left;
}

/* Find for each place (they are used up) the first rule of the group after `after`. False: none for
 * any. */
static bool
group_search(struct chunk *c, const struct rule_group *group, uint8_t *places, unsigned n,
	     bool dense)
{
	const struct tuple_list *list = __atomic_load_n(&group->list, __ATOMIC_ACQUIRE);
	bool found = false;

	for (unsigned t = 0; t < list->n; t++) {
		if (unlikely(found)) {
			n = still_open(c, &list->place[t].best, places, n);
			if (n == 0)
				break;
			dense = false;
		}
		found |= tuple_search(c, list->place[t].tuple, places, n, dense);
	}
	return found;
}

/* --- rules that have been found ------------------------------------------------------- */

/* One caller's question about a chunk. */
struct question {
	struct rte_mbuf **pkts;
	const struct rule_verdict **verdicts;
	struct rule_counters *counters;
	struct classify_log *log;
	unsigned first;	  /* place of the chunk's first packet in the burst */
	unsigned decided; /* verdicts that are not NULL */
};

/* Do what the rule found says. False: the packet is decided; else group[i] and after[i] say what
 * is to be searched next. */
static bool
apply(struct chunk *c, unsigned i, struct question *q)
{
	const struct rule *rule = c->found[i];
	struct rte_mbuf *m = q->pkts[i];

	if (rule == NULL)
		return false;
	c->found[i] = NULL;
	q->counters[rule->slot].packets++;
	q->counters[rule->slot].bytes += m->pkt_len;
	if (rule->verdict.mark) {
		m->hash.fdir.hi = rule->verdict.mark_id;
		m->ol_flags |= RTE_MBUF_F_RX_FDIR | RTE_MBUF_F_RX_FDIR_ID;
	}
	if (unlikely(q->log != NULL && q->log->n < RTE_DIM(q->log->step))) {
		q->log->step[q->log->n].place = (uint16_t)(q->first + i);
		q->log->step[q->log->n++].verdict = &rule->verdict;
	}
	switch ((enum flow_fate)rule->verdict.fate) {
	case FLOW_PASSTHRU:
		c->after[i] = rule->rank;
		return true;
	case FLOW_JUMP:
		c->after[i] = (struct rank){0};
		c->group[i] = rule->jump;
		return c->jumps[i]++ < CLASSIFY_JUMPS_MAX;
	case FLOW_ACCEPT:
		return false;
	default:
		q->verdicts[i] = &rule->verdict;
		q->decided++;
		return false;
	}
}

/* Keeps in `places` those that are to be searched again; returns how many. */
static unsigned
apply_all(struct chunk *c, uint8_t *places, unsigned n, struct question *q)
{
	unsigned left = 0;

	for (unsigned k = 0; k < n; k++) {
		if (apply(c, places[k], q))
			places[left++] = places[k];
	}
	return left;
}

/* Search, apply what is found, search again what that leaves open: group by group. There is room
 * for CHUNK places. */
static void
places_run(struct chunk *c, const struct rule_group *root, const uint8_t *places, unsigned n,
	   bool dense, struct question *q)
{
	uint8_t open[CHUNK], asked[CHUNK], used[CHUNK];

	c->again = false;
	memcpy(used, places, CHUNK);
	if (likely(!group_search(c, root, used, n, dense)))
		return;
	c->again = true;
	memcpy(open, places, n);
	for (unsigned k = 0; k < n; k++)
		c->group[places[k]] = root;
	n = apply_all(c, open, n, q);
	while (n != 0) {
		const struct rule_group *group = c->group[open[0]];
		unsigned m = 0, rest = 0;

		for (unsigned k = 0; k < n; k++) {
			if (c->group[open[k]] == group)
				asked[m++] = open[k];
			else
				open[rest++] = open[k];
		}
		memcpy(used, asked, m);
		group_search(c, group, used, m, false);
		m = apply_all(c, asked, m, q);
		memcpy(open + rest, asked, m);
		n = rest + m;
	}
}

/* --- packets ---------------------------------------------------------------------------- */

#define PREFETCH_AHEAD 4

/* Headers in more than one segment are copied together. */
static void
segments_run(struct chunk *c, const struct rule_group *root, unsigned i, struct question *q)
{
	struct rte_mbuf *m = q->pkts[i];
	unsigned len = RTE_MIN(m->pkt_len, (uint32_t)HEADERS_MAX);
	uint8_t copy[HEADERS_MAX], place[CHUNK] = {(uint8_t)i};
	const uint8_t *p = rte_pktmbuf_read(m, 0, len, copy);

	if (p == NULL)
		return;
	parse_any(&c->headers, i, p, len);
	places_run(c, root, place, 1, false, q);
}

/* Packets whose headers are not in their first segment go to `parted`; returns how many. *same: all
 * others have the same headers. */
static __rte_always_inline unsigned
find_headers(struct headers *h, struct rte_mbuf *const pkts[], unsigned n, bool upper,
	     uint8_t *parted, bool *same)
{
	uint32_t differ = 0;
	unsigned parts = 0;

	for (unsigned i = 0; i < n; i++) {
		const struct rte_mbuf *m = pkts[i];

		if (i + PREFETCH_AHEAD < n)
			rte_prefetch0(rte_pktmbuf_mtod(pkts[i + PREFETCH_AHEAD], void *));
		if (unlikely(m->nb_segs != 1 && m->data_len < HEADERS_MAX)) {
			parted[parts++] = (uint8_t)i;
			h->present[i] = 0;
			continue;
		}
		parse(h, i, rte_pktmbuf_mtod(m, const uint8_t *), RTE_MIN(m->data_len, HEADERS_MAX),
		      upper);
		differ |= h->present[i] ^ h->present[0];
	}
	*same = differ == 0;
	return parts;
}

static const uint8_t all_places[CHUNK] = {
	0,  1,	2,  3,	4,  5,	6,  7,	8,  9,	10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
	22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
	44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63,
};

static void
chunk_run(struct chunk *c, const struct rule_group *root, unsigned n, struct question *q)
{
	uint8_t places[CHUNK], parted[CHUNK];
	unsigned parts, wholes = 0;
	bool same;

	memset(c->found, 0, n * sizeof(c->found[0]));
	memset(c->jumps, 0, n * sizeof(c->jumps[0]));
	memset(q->verdicts, 0, n * sizeof(q->verdicts[0]));
	if ((c->headers.needs & NEEDS_UPPER) != 0)
		parts = find_headers(&c->headers, q->pkts, n, true, parted, &same);
	else
		parts = find_headers(&c->headers, q->pkts, n, false, parted, &same);
	if (likely(parts == 0)) {
		memcpy(places, all_places, sizeof(places));
		wholes = n;
	}
	for (unsigned i = 0; i < n && parts != 0; i++) {
		if (memchr(parted, (int)i, parts) == NULL)
			places[wholes++] = (uint8_t)i;
	}
	places_run(c, root, places, wholes, same && parts == 0, q);
	for (unsigned k = 0; k < parts; k++)
		segments_run(c, root, parted[k], q);
}

unsigned
classify_burst_run(const struct ruleset *set, unsigned thread, struct rte_mbuf *pkts[], unsigned n,
		   const struct rule_verdict *verdicts[], struct classify_log *log)
{
	struct question q = {.counters = set->counters[thread], .log = log};
	struct chunk c;

	/* The version first: whatever else is read is at least as new, and what is newer is
	 * not of this version. */
	c.version = __atomic_load_n(&set->version, __ATOMIC_ACQUIRE);
	c.headers.needs = __atomic_load_n(&set->needs, __ATOMIC_RELAXED);
	for (; q.first < n; q.first += CHUNK) {
		q.pkts = pkts + q.first;
		q.verdicts = verdicts + q.first;
		chunk_run(&c, set->root, RTE_MIN(n - q.first, (unsigned)CHUNK), &q);
	}
	return q.decided;
}
