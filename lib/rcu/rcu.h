/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RCU_H
#define RCU_H

/**
 * @file
 * Frees what workers may still be reading, after they have all stopped
 * reading it (quiescent-state-based reclamation over rte_rcu_qsbr).
 *
 * A worker takes no reference on anything. It says once per loop "I hold
 * nothing" (rcu_quiescent). The control thread unpublishes an object with one
 * release store and then retires it: the object joins the open batch. When a
 * batch is closed it gets a token, and when every online worker has reported
 * since, the whole batch is freed. So a grace period is paid for per batch,
 * not per update; the queue is bounded, and a control thread that fills it
 * waits for the workers, never the other way round.
 *
 * Unless said otherwise, functions are for the control thread only.
 */

#include <stdint.h>

#include <rte_rcu_qsbr.h>

#include "base.h"

struct rcu {
	struct rte_rcu_qsbr *qsbr; /**< what workers report to */
	struct rcu_queue *queue;   /**< control thread only */
	/**
	 * Called, when set, after workers have passed a quiescent state and
	 * before anything is freed: the owner takes what workers had handed over
	 * by then, which may still name what is about to go. It may retire.
	 */
	void (*before_free)(void);
	bool freeing;
};

/** Frees one retired thing; ctx and what are the values given to rcu_retire. */
typedef void (*rcu_free_fn)(void *ctx, uintptr_t what);

/** workers: the highest worker id used, plus one. NULL with err filled. */
struct rcu *rcu_create(unsigned workers, struct err *err);

/** Frees everything still queued: no worker may be online. NULL is allowed. */
void rcu_destroy(struct rcu *rcu);

/**
 * Call fn(ctx, what) once no worker can still see what was unpublished before
 * this call. It may run at once when no worker is online. fn must not retire.
 */
void rcu_retire(struct rcu *rcu, rcu_free_fn fn, void *ctx, uintptr_t what);

/** Free what may be freed by now; cheap, never waits. Call it every tick. */
void rcu_poll(struct rcu *rcu);

/** Wait until every online worker has passed a quiescent state, and free all
 * that was retired before. */
void rcu_synchronize(struct rcu *rcu);

/** Things retired and not yet freed. */
unsigned rcu_pending(const struct rcu *rcu);

/** The worker starts reading shared tables. Worker thread. */
static inline void
rcu_online(struct rcu *rcu, unsigned worker)
{
	rte_rcu_qsbr_thread_online(rcu->qsbr, worker);
}

/** The worker holds nothing any more and will not report. Worker thread. */
static inline void
rcu_offline(struct rcu *rcu, unsigned worker)
{
	rte_rcu_qsbr_thread_offline(rcu->qsbr, worker);
}

/** "I hold nothing": once per loop. Worker thread. */
static inline void
rcu_quiescent(struct rcu *rcu, unsigned worker)
{
	rte_rcu_qsbr_quiescent(rcu->qsbr, worker);
}

#endif
