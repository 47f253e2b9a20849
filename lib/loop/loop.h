/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LOOP_H
#define LOOP_H

/**
 * @file
 * What the control thread waits for: file descriptors, timers, and workers
 * that wake it. epoll underneath. Control thread only, except loop_wake().
 */

#include <stdbool.h>
#include <stdint.h>

struct loop;
struct loop_fd;
struct loop_timer;

typedef void (*loop_fd_fn)(void *arg, uint32_t epoll_events);
typedef void (*loop_fn)(void *arg);

struct loop *loop_create(void);
void loop_destroy(struct loop *loop);

/** Watch fd for epoll events (EPOLLIN...). NULL on failure. A regular file (always ready) works too. */
struct loop_fd *loop_watch(struct loop *loop, int fd, uint32_t events, loop_fd_fn fn, void *arg);
void loop_change(struct loop *loop, struct loop_fd *watch, uint32_t events);
/** Stop watching; safe from inside any callback. Does not close the fd. */
void loop_unwatch(struct loop *loop, struct loop_fd *watch);

/** Call fn every period_ms (first time after one period). */
struct loop_timer *loop_every(struct loop *loop, unsigned period_ms, loop_fn fn, void *arg);
void loop_cancel(struct loop *loop, struct loop_timer *timer);

/** fn is called in the control thread after somebody called loop_wake(). */
void loop_on_wake(struct loop *loop, loop_fn fn, void *arg);
/**
 * Wake the control thread. Any thread. Costs a load when the control thread
 * is awake or already told, a system call otherwise.
 */
void loop_wake(struct loop *loop);

/** Wait (until an event, the next timer, or timeout_ms; -1: no limit) and call back. */
void loop_once(struct loop *loop, int timeout_ms);

/** Monotonic milliseconds and nanoseconds. Any thread. */
uint64_t loop_now_ms(void);
uint64_t loop_now_ns(void);

#endif
