/* SPDX-License-Identifier: BSD-3-Clause */
#include "loop.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <time.h>
#include <unistd.h>

#define EVENTS_PER_WAIT 32

/* What the control thread is doing, as loop_wake() sees it. */
enum wake_state {
	AWAKE,	/* at work; will look at the state before it sleeps */
	ASLEEP, /* in epoll_wait(), or about to be: only the eventfd wakes it */
	TOLD,	/* somebody has called loop_wake() since it last looked for work */
};

struct loop_fd {
	TAILQ_ENTRY(loop_fd) link;
	int fd;
	uint32_t events;
	bool always_ready; /* epoll refused the fd: a regular file */
	bool dead;	   /* unwatched; freed once no callback can be running */
	loop_fd_fn fn;
	void *arg;
};

struct loop_timer {
	TAILQ_ENTRY(loop_timer) link;
	uint64_t due_ns;
	uint64_t period_ns;
	bool dead;
	loop_fn fn;
	void *arg;
};

struct loop {
	int epoll_fd;
	int wake_fd;
	TAILQ_HEAD(, loop_fd) watches;
	TAILQ_HEAD(, loop_timer) timers;
	unsigned always_ready; /* watches of that kind that wait for something */
	unsigned running;      /* depth of loop_once() calls */
	bool dead;	       /* something waits to be freed */
	loop_fn on_wake;
	void *on_wake_arg;
	/* Written by every thread that wakes us: on a line of its own. */
	_Alignas(64) atomic_int state;
};

uint64_t
loop_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

uint64_t
loop_now_ms(void)
{
	return loop_now_ns() / 1000000;
}

struct loop *
loop_create(void)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
	struct loop *loop = aligned_alloc(_Alignof(struct loop), sizeof(*loop));

	if (loop == NULL)
		return NULL;
	*loop = (struct loop){.state = AWAKE};
	TAILQ_INIT(&loop->watches);
	TAILQ_INIT(&loop->timers);
	loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	loop->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (loop->epoll_fd < 0 || loop->wake_fd < 0 ||
	    epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, loop->wake_fd, &event) < 0) {
		loop_destroy(loop);
		return NULL;
	}
	return loop;
}

/* Free what was unwatched or cancelled; all of it when everything goes. */
static void
bury(struct loop *loop, bool all)
{
	struct loop_fd *watch, *next_watch;
	struct loop_timer *timer, *next_timer;

	for (watch = TAILQ_FIRST(&loop->watches); watch != NULL; watch = next_watch) {
		next_watch = TAILQ_NEXT(watch, link);
		if (!watch->dead && !all)
			continue;
		TAILQ_REMOVE(&loop->watches, watch, link);
		free(watch);
	}
	for (timer = TAILQ_FIRST(&loop->timers); timer != NULL; timer = next_timer) {
		next_timer = TAILQ_NEXT(timer, link);
		if (!timer->dead && !all)
			continue;
		TAILQ_REMOVE(&loop->timers, timer, link);
		free(timer);
	}
	loop->dead = false;
}

void
loop_destroy(struct loop *loop)
{
	if (loop == NULL)
		return;
	bury(loop, true);
	if (loop->wake_fd >= 0)
		close(loop->wake_fd);
	if (loop->epoll_fd >= 0)
		close(loop->epoll_fd);
	free(loop);
}

struct loop_fd *
loop_watch(struct loop *loop, int fd, uint32_t events, loop_fd_fn fn, void *arg)
{
	struct loop_fd *watch = calloc(1, sizeof(*watch));
	struct epoll_event event = {.events = events, .data.ptr = watch};

	if (watch == NULL)
		return NULL;
	watch->fd = fd;
	watch->events = events;
	watch->fn = fn;
	watch->arg = arg;
	if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0) {
		if (errno != EPERM) {
			free(watch);
			return NULL;
		}
		watch->always_ready = true;
		loop->always_ready += events != 0;
	}
	TAILQ_INSERT_TAIL(&loop->watches, watch, link);
	return watch;
}

void
loop_change(struct loop *loop, struct loop_fd *watch, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = watch};

	if (watch->dead || watch->events == events)
		return;
	if (watch->always_ready)
		loop->always_ready += (unsigned)(events != 0) - (unsigned)(watch->events != 0);
	watch->events = events;
	if (!watch->always_ready)
		epoll_ctl(loop->epoll_fd, EPOLL_CTL_MOD, watch->fd, &event);
}

void
loop_unwatch(struct loop *loop, struct loop_fd *watch)
{
	if (watch == NULL || watch->dead)
		return;
	if (watch->always_ready)
		loop->always_ready -= watch->events != 0;
	else
		epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
	/* Events already fetched may still name it. */
	watch->dead = true;
	loop->dead = true;
	if (loop->running == 0)
		bury(loop, false);
}

struct loop_timer *
loop_every(struct loop *loop, unsigned period_ms, loop_fn fn, void *arg)
{
	struct loop_timer *timer = calloc(1, sizeof(*timer));

	if (timer == NULL)
		return NULL;
	timer->period_ns = (uint64_t)(period_ms != 0 ? period_ms : 1) * 1000000;
	timer->due_ns = loop_now_ns() + timer->period_ns;
	timer->fn = fn;
	timer->arg = arg;
	TAILQ_INSERT_TAIL(&loop->timers, timer, link);
	return timer;
}

void
loop_cancel(struct loop *loop, struct loop_timer *timer)
{
	if (timer == NULL || timer->dead)
		return;
	timer->dead = true;
	loop->dead = true;
	if (loop->running == 0)
		bury(loop, false);
}

void
loop_on_wake(struct loop *loop, loop_fn fn, void *arg)
{
	loop->on_wake = fn;
	loop->on_wake_arg = arg;
}

void
loop_wake(struct loop *loop)
{
	uint64_t one = 1;
	int saved_errno;

	/* The caller's work before our look at the state. */
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&loop->state, memory_order_relaxed) == TOLD)
		return;
	/* Of many wakers only the one that finds it asleep pays the call. */
	if (atomic_exchange_explicit(&loop->state, TOLD, memory_order_seq_cst) != ASLEEP)
		return;
	saved_errno = errno;
	if (write(loop->wake_fd, &one, sizeof(one)) < 0) {
		/* The counter is at its maximum: it is readable all the same. */
	}
	errno = saved_errno;
}

/* Milliseconds epoll_wait() may take, rounded up so that a timer is due after it. */
static int
time_to_wait(const struct loop *loop, int timeout_ms)
{
	const struct loop_timer *timer;
	uint64_t due = UINT64_MAX;
	uint64_t now, ms;

	if (timeout_ms == 0 || loop->always_ready > 0)
		return 0;
	TAILQ_FOREACH(timer, &loop->timers, link) {
		if (!timer->dead && timer->due_ns < due)
			due = timer->due_ns;
	}
	if (due == UINT64_MAX)
		return timeout_ms;
	now = loop_now_ns();
	if (due <= now)
		return 0;
	ms = (due - now + 999999) / 1000000;
	if (timeout_ms > 0 && ms > (uint64_t)timeout_ms)
		return timeout_ms;
	return ms < INT_MAX ? (int)ms : INT_MAX;
}

static void
run_timers(struct loop *loop)
{
	struct loop_timer *timer;
	uint64_t now;

	if (TAILQ_EMPTY(&loop->timers))
		return;
	now = loop_now_ns();
	/* Nothing leaves the list while callbacks run; what they add is at
	 * the end and not due. */
	TAILQ_FOREACH(timer, &loop->timers, link) {
		if (timer->dead || timer->due_ns > now)
			continue;
		timer->due_ns += timer->period_ns;
		if (timer->due_ns <= now)
			timer->due_ns = now + timer->period_ns;
		timer->fn(timer->arg);
	}
}

/* Regular files: epoll does not know them, so each turn is theirs. */
static void
run_always_ready(struct loop *loop)
{
	struct loop_fd *watch;

	if (loop->always_ready == 0)
		return;
	TAILQ_FOREACH(watch, &loop->watches, link) {
		if (watch->always_ready && !watch->dead && watch->events != 0)
			watch->fn(watch->arg, watch->events & (EPOLLIN | EPOLLOUT));
	}
}

void
loop_once(struct loop *loop, int timeout_ms)
{
	struct epoll_event events[EVENTS_PER_WAIT];
	int wait_ms = time_to_wait(loop, timeout_ms);
	int awake = AWAKE;
	uint64_t count;
	int n;

	/* Told since we last looked: there is work, so do not sleep. */
	if (wait_ms != 0 && !atomic_compare_exchange_strong(&loop->state, &awake, ASLEEP))
		wait_ms = 0;
	n = epoll_wait(loop->epoll_fd, events, EVENTS_PER_WAIT, wait_ms);

	loop->running++;
	if (atomic_exchange_explicit(&loop->state, AWAKE, memory_order_seq_cst) == TOLD) {
		/* Awake before we look at the work: see loop.h. */
		atomic_thread_fence(memory_order_seq_cst);
		if (loop->on_wake != NULL)
			loop->on_wake(loop->on_wake_arg);
	}
	for (int i = 0; i < n; i++) {
		struct loop_fd *watch = events[i].data.ptr;

		if (watch == NULL) {
			if (read(loop->wake_fd, &count, sizeof(count)) < 0) {
				/* A nested loop_once() has read it. */
			}
		} else if (!watch->dead) {
			watch->fn(watch->arg, events[i].events);
		}
	}
	run_always_ready(loop);
	run_timers(loop);
	loop->running--;
	if (loop->running == 0 && loop->dead)
		bury(loop, false);
}
