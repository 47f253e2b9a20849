/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LOOP_H
#define LOOP_H

/**
 * @file
 * What the control thread waits for: file descriptors, timers, and workers
 * that wake it. epoll underneath. Control thread only, except loop_wake().
 *
 * Callbacks may watch, unwatch, start and cancel anything, themselves
 * included, and may call loop_once() to wait for something of their own.
 *
 * Waking loses nothing. A worker first makes its work visible (a ring, a
 * flag), then calls loop_wake(); the control thread first marks itself awake,
 * then looks for work. With a sequentially consistent fence between the two
 * steps on either side, at least one of them sees what the other did:
 *
 *     worker                          control thread
 *     write work                      state = AWAKE
 *     fence                           fence
 *     state is TOLD? nothing to do    read work
 *
 * A worker that finds TOLD may leave at once, because the control thread has
 * not yet marked itself awake and will see the work when it has.
 */

#include <stdbool.h>
#include <stdint.h>

struct loop;
struct loop_fd;
struct loop_timer;

typedef void (*loop_fd_fn)(void *arg, uint32_t epoll_events);
typedef void (*loop_fn)(void *arg);

/** NULL when out of memory or file descriptors. */
struct loop *loop_create(void);
/** Forgets all watches and timers; their file descriptors stay open. */
void loop_destroy(struct loop *loop);

/**
 * Watch fd for epoll events (EPOLLIN...), level-triggered. A regular file,
 * which epoll does not take, counts as always ready. The fd is watched once
 * only. NULL on failure (errno says why).
 */
struct loop_fd *loop_watch(struct loop *loop, int fd, uint32_t events, loop_fd_fn fn, void *arg);
/** Wait for other events; 0 waits for none (EPOLLERR and EPOLLHUP come nevertheless). */
void loop_change(struct loop *loop, struct loop_fd *watch, uint32_t events);
/** Stop watching; safe from inside any callback. Does not close the fd. */
void loop_unwatch(struct loop *loop, struct loop_fd *watch);

/**
 * Call fn every period_ms (first time after one period; 0 counts as 1). Periods
 * missed while the thread was busy are not made up for. NULL without memory.
 */
struct loop_timer *loop_every(struct loop *loop, unsigned period_ms, loop_fn fn, void *arg);
void loop_cancel(struct loop *loop, struct loop_timer *timer);

/** fn is called in the control thread after somebody called loop_wake(): once for
 * any number of calls. There is one such function. */
void loop_on_wake(struct loop *loop, loop_fn fn, void *arg);
/**
 * Wake the control thread. Any thread, and signal handlers. Costs a fence and a
 * load when the control thread has already been told, one atomic exchange when
 * it is awake, a system call when it sleeps: for rare events, not for packets.
 */
void loop_wake(struct loop *loop);

/** Wait (until an event, the next timer, a wake, a signal, or timeout_ms; -1: no
 * limit) and call back. */
void loop_once(struct loop *loop, int timeout_ms);

/** Monotonic milliseconds and nanoseconds. Any thread. */
uint64_t loop_now_ms(void);
uint64_t loop_now_ns(void);

#endif
