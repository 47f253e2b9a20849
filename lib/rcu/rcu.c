/* SPDX-License-Identifier: BSD-3-Clause */
#include "rcu.h"

#include <errno.h>
#include <stdlib.h>

/*
 * A ring of retired things, in order. [freed, closed) waits for `token`;
 * [closed, tail) is the open batch. Positions only grow.
 */
#define QUEUE_SIZE 65536u
#define QUEUE_MASK (QUEUE_SIZE - 1)

struct retired {
	rcu_free_fn fn;
	void *ctx;
	uintptr_t what;
};

struct rcu_queue {
	uint64_t freed;
	uint64_t closed;
	uint64_t tail;
	uint64_t token;
	struct retired slots[QUEUE_SIZE];
};

struct rcu *
rcu_create(unsigned workers, struct err *err)
{
	size_t size = rte_rcu_qsbr_get_memsize(workers);
	struct rcu *rcu = calloc(1, sizeof(*rcu));

	if (rcu == NULL)
		goto no_memory;
	rcu->qsbr = aligned_alloc(RTE_CACHE_LINE_SIZE, RTE_ALIGN_CEIL(size, RTE_CACHE_LINE_SIZE));
	rcu->queue = calloc(1, sizeof(*rcu->queue));
	if (rcu->qsbr == NULL || rcu->queue == NULL)
		goto no_memory;
	if (rte_rcu_qsbr_init(rcu->qsbr, workers) != 0)
		goto no_memory;
	for (unsigned w = 0; w < workers; w++)
		rte_rcu_qsbr_thread_register(rcu->qsbr, w);
	return rcu;

no_memory:
	rcu_destroy(rcu);
	err_set(err, ENOMEM, "no memory to track %u workers", workers);
	return NULL;
}

static void
free_until(struct rcu *rcu, uint64_t end)
{
	struct rcu_queue *q = rcu->queue;

	rcu->freeing = true;
	if (rcu->before_free != NULL && q->freed != end)
		rcu->before_free();
	for (; q->freed != end; q->freed++) {
		struct retired *r = &q->slots[q->freed & QUEUE_MASK];

		r->fn(r->ctx, r->what);
	}
	rcu->freeing = false;
}

void
rcu_destroy(struct rcu *rcu)
{
	if (rcu == NULL)
		return;
	rcu->before_free = NULL;
	if (rcu->queue != NULL)
		free_until(rcu, rcu->queue->tail);
	free(rcu->queue);
	free(rcu->qsbr);
	free(rcu);
}

void
rcu_poll(struct rcu *rcu)
{
	struct rcu_queue *q = rcu->queue;

	if (rcu->freeing)
		return;
	/* Twice: freeing the closed batch lets the open one close, and with no
	 * worker online that one is free at once too. */
	for (unsigned i = 0; i < 2; i++) {
		if (q->freed != q->closed) {
			if (rte_rcu_qsbr_check(rcu->qsbr, q->token, false) != 1)
				return;
			free_until(rcu, q->closed);
		}
		if (q->tail == q->closed)
			return;
		q->token = rte_rcu_qsbr_start(rcu->qsbr);
		q->closed = q->tail;
	}
}

void
rcu_synchronize(struct rcu *rcu)
{
	uint64_t end = rcu->queue->tail;

	rte_rcu_qsbr_synchronize(rcu->qsbr, RTE_QSBR_THRID_INVALID);
	if (rcu->freeing)
		return;
	rcu->queue->closed = end;
	free_until(rcu, end);
}

void
rcu_retire(struct rcu *rcu, rcu_free_fn fn, void *ctx, uintptr_t what)
{
	struct rcu_queue *q = rcu->queue;

	if (q->tail - q->freed == QUEUE_SIZE)
		rcu_synchronize(rcu);
	q->slots[q->tail++ & QUEUE_MASK] = (struct retired){fn, ctx, what};
	if ((q->tail & 1023) == 0)
		rcu_poll(rcu);
}

unsigned
rcu_pending(const struct rcu *rcu)
{
	return (unsigned)(rcu->queue->tail - rcu->queue->freed);
}
