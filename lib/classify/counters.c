/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Counters of rules: an array for each thread, which alone writes it; a rule has the same
 * slot in all.
 */
#include <errno.h>
#include <stdlib.h>

#include <sys/mman.h>

#include "internal.h"

/* Address space; pages are taken as they are touched. */
static void *
reserve(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void
unreserve(void *p, size_t size)
{
	if (p != NULL)
		munmap(p, size);
}

struct classify *
classify_create(struct rcu *rcu, unsigned threads, struct err *err)
{
	struct classify *c = calloc(1, sizeof(*c));

	if (c == NULL)
		goto no_memory;
	c->rcu = rcu;
	c->threads = threads;
	c->free_slot = reserve(CLASSIFY_RULES_MAX * sizeof(c->free_slot[0]));
	c->counters = calloc(threads, sizeof(c->counters[0]));
	if (c->free_slot == NULL || c->counters == NULL)
		goto no_memory;
	for (unsigned t = 0; t < threads; t++) {
		c->counters[t] = reserve(CLASSIFY_RULES_MAX * sizeof(struct rule_counters));
		if (c->counters[t] == NULL)
			goto no_memory;
	}
	return c;

no_memory:
	classify_destroy(c);
	err_set(err, ENOMEM, "no memory for the counters of flow rules");
	return NULL;
}

void
classify_destroy(struct classify *c)
{
	if (c == NULL)
		return;
	/* What has ended needs two grace periods: to be unlinked and to be freed. */
	if (c->free_slot != NULL) {
		rcu_synchronize(c->rcu);
		classify_poll(c);
		rcu_synchronize(c->rcu);
	}
	for (unsigned t = 0; c->counters != NULL && t < c->threads; t++)
		unreserve(c->counters[t], CLASSIFY_RULES_MAX * sizeof(struct rule_counters));
	unreserve(c->free_slot, CLASSIFY_RULES_MAX * sizeof(c->free_slot[0]));
	free(c->counters);
	free(c);
}

bool
slot_take(struct classify *c, uint32_t *slot)
{
	if (c->free_slots != 0)
		*slot = c->free_slot[--c->free_slots];
	else if (c->used_slots < CLASSIFY_RULES_MAX)
		*slot = c->used_slots++;
	else
		return false;
	return true;
}

void
slot_give(struct classify *c, uint32_t slot)
{
	c->free_slot[c->free_slots++] = slot;
}

static void
slot_sum(const struct classify *c, uint32_t slot, struct rule_counters *sum)
{
	*sum = (struct rule_counters){0};
	for (unsigned t = 0; t < c->threads; t++) {
		const struct rule_counters *counters = &c->counters[t][slot];

		sum->packets += __atomic_load_n(&counters->packets, __ATOMIC_RELAXED);
		sum->bytes += __atomic_load_n(&counters->bytes, __ATOMIC_RELAXED);
	}
}

void
rule_counters(const struct rule *rule, struct rule_counters *sum)
{
	slot_sum(rule->set->classify, rule->slot, sum);
	sum->packets -= rule->base.packets;
	sum->bytes -= rule->base.bytes;
}

void
rule_counters_clear(struct rule *rule)
{
	slot_sum(rule->set->classify, rule->slot, &rule->base);
}
