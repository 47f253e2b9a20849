/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A burst through the tuples. Read it from the bottom.
 */
#include <string.h>

#include "search.h"

/* Bytes of a packet that are looked at. */
#define HEADERS_MAX 512

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

static inline bool
suits(const struct chunk *c, const struct tuple *tuple)
{
	return (c->headers.present[0] & tuple->shape.present_mask) == tuple->shape.present;
}

/*
 * Tuples that begin with the same word of the packet often agree in some bits of it, as prefixes of
 * one network do. Then one look at each packet can do for all of them. The places are
 * dense. Returns the first tuple from t on that must be asked; *run: where those looked at end.
 */
static unsigned
skip_run(const struct chunk *c, const struct tuple_list *list, unsigned t, unsigned n,
	 unsigned *run)
{
	const struct tuple *first = list->place[t].tuple;
	const struct shape_word *word = &first->shape.word[0];
	const uint64_t common = __atomic_load_n(&first->common, __ATOMIC_RELAXED);
	const uint8_t *const *at = c->headers.at[word->layer];
	uint64_t agreed = UINT64_MAX;
	unsigned end = t;

	for (; end < list->n; end++) {
		const struct tuple *tuple = list->place[end].tuple;

		if (!suits(c, tuple))
			continue;
		if (tuple->shape.words == 0 || tuple->shape.word[0].layer != word->layer ||
		    tuple->shape.word[0].offset != word->offset)
			break;
		agreed &= __atomic_load_n(&tuple->agreed, __ATOMIC_RELAXED);
		agreed &= ~(__atomic_load_n(&tuple->common, __ATOMIC_RELAXED) ^ common);
	}
	*run = end;
	if (end - t < 2 || agreed == 0 || !suits(c, first))
		return t;
	for (unsigned i = 0; i < n; i++) {
		if (agrees(load64(at[i] + word->offset), common, agreed))
			return t;
	}
	return end;
}

/* Find for each place (they are used up) the first rule of the group after `after`. False: none for
 * any. */
static bool
group_search(struct chunk *c, const struct rule_group *group, uint8_t *places, unsigned n,
	     bool dense)
{
	const struct tuple_list *list = __atomic_load_n(&group->list, __ATOMIC_ACQUIRE);
	unsigned run = 0;
	bool found = false;

	for (unsigned t = 0; t < list->n; t++) {
		if (dense && t >= run)
			t = skip_run(c, list, t, n, &run);
		if (t == list->n)
			break;
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
