/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptors, timers and wakes: each calls back when it should, and no wake is lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/time.h>
#include <unistd.h>

#include "loop.h"

struct probe {
	struct loop *loop;
	struct loop_fd *watch, *other;
	struct loop_timer *timer;
	unsigned calls;
	uint32_t events;
	int fd;
};

static void
count_event(void *arg, uint32_t events)
{
	struct probe *p = arg;

	p->calls++;
	p->events = events;
}

static void
count(void *arg)
{
	struct probe *p = arg;

	p->calls++;
}

static void
a_pipe_calls_back_while_it_is_readable(void **state)
{
	struct loop *loop = loop_create();
	struct probe p = {.loop = loop};
	int ends[2];
	char c;

	(void)state;
	assert_non_null(loop);
	assert_int_equal(pipe(ends), 0);
	p.watch = loop_watch(loop, ends[0], EPOLLIN, count_event, &p);
	assert_non_null(p.watch);
	loop_once(loop, 0);
	assert_int_equal(p.calls, 0);
	assert_int_equal(write(ends[1], "x", 1), 1);
	loop_once(loop, 1000);
	loop_once(loop, 1000);
	assert_int_equal(p.calls, 2);
	assert_int_equal(p.events, EPOLLIN);
	loop_change(loop, p.watch, 0);
	loop_once(loop, 0);
	assert_int_equal(p.calls, 2);
	loop_change(loop, p.watch, EPOLLIN);
	loop_once(loop, 0);
	assert_int_equal(p.calls, 3);
	assert_int_equal(read(ends[0], &c, 1), 1);
	loop_once(loop, 0);
	assert_int_equal(p.calls, 3);
	loop_unwatch(loop, p.watch);
	assert_int_equal(write(ends[1], "x", 1), 1);
	loop_once(loop, 0);
	assert_int_equal(p.calls, 3);
	close(ends[0]);
	close(ends[1]);
	loop_destroy(loop);
}

static void
a_regular_file_is_always_ready(void **state)
{
	struct loop *loop = loop_create();
	struct probe p = {.loop = loop};
	FILE *file = tmpfile();
	uint64_t start;

	(void)state;
	p.watch = loop_watch(loop, fileno(file), EPOLLIN, count_event, &p);
	assert_non_null(p.watch);
	loop_once(loop, -1);
	loop_once(loop, -1);
	assert_int_equal(p.calls, 2);
	/* One that waits for nothing must not keep the thread spinning. */
	loop_change(loop, p.watch, 0);
	start = loop_now_ms();
	loop_once(loop, 30);
	assert_true(loop_now_ms() - start >= 29);
	assert_int_equal(p.calls, 2);
	loop_change(loop, p.watch, EPOLLIN);
	loop_once(loop, -1);
	assert_int_equal(p.calls, 3);
	loop_unwatch(loop, p.watch);
	start = loop_now_ms();
	loop_once(loop, 10);
	assert_true(loop_now_ms() - start >= 9);
	fclose(file);
	loop_destroy(loop);
}

static void
a_descriptor_that_cannot_be_watched(void **state)
{
	struct loop *loop = loop_create();

	(void)state;
	assert_null(loop_watch(loop, -1, EPOLLIN, count_event, NULL));
	assert_int_equal(errno, EBADF);
	loop_unwatch(loop, NULL);
	loop_cancel(loop, NULL);
	loop_destroy(loop);
	loop_destroy(NULL);
}

/* Both descriptors are ready; the first callback ends both watches. */
static void
unwatch_both(void *arg, uint32_t events)
{
	struct probe *p = arg;

	(void)events;
	p->calls++;
	loop_unwatch(p->loop, p->watch);
	loop_unwatch(p->loop, p->other);
}

static void
unwatching_from_a_callback_holds_at_once(void **state)
{
	struct loop *loop = loop_create();
	struct probe p = {.loop = loop};
	int a[2], b[2];

	(void)state;
	assert_int_equal(pipe(a), 0);
	assert_int_equal(pipe(b), 0);
	assert_int_equal(write(a[1], "x", 1), 1);
	assert_int_equal(write(b[1], "x", 1), 1);
	p.watch = loop_watch(loop, a[0], EPOLLIN, unwatch_both, &p);
	p.other = loop_watch(loop, b[0], EPOLLIN, unwatch_both, &p);
	loop_once(loop, 1000);
	loop_once(loop, 0);
	assert_int_equal(p.calls, 1);
	for (unsigned i = 0; i < 2; i++) {
		close(a[i]);
		close(b[i]);
	}
	loop_destroy(loop);
}

static void
timers_come_once_a_period(void **state)
{
	struct loop *loop = loop_create();
	struct probe fast = {.loop = loop}, slow = {.loop = loop};
	uint64_t start = loop_now_ms(), took;

	(void)state;
	fast.timer = loop_every(loop, 10, count, &fast);
	slow.timer = loop_every(loop, 35, count, &slow);
	while (slow.calls < 2)
		loop_once(loop, -1);
	took = loop_now_ms() - start;
	assert_true(took >= 69);
	/* At least one was late when the machine is busy; none may be early. */
	assert_true(fast.calls >= 1 && fast.calls <= took / 10 + 1);
	loop_cancel(loop, fast.timer);
	loop_cancel(loop, slow.timer);
	loop_once(loop, 20);
	assert_int_equal(slow.calls, 2);
	loop_destroy(loop);
}

static void
late_timers_do_not_catch_up(void **state)
{
	struct loop *loop = loop_create();
	struct probe p = {.loop = loop};

	(void)state;
	p.timer = loop_every(loop, 5, count, &p);
	usleep(60 * 1000);
	loop_once(loop, 0);
	assert_int_equal(p.calls, 1);
	loop_once(loop, 0);
	assert_true(p.calls <= 2);
	loop_destroy(loop);
}

static void
timeout_without_timers_and_shorter_than_one(void **state)
{
	struct loop *loop = loop_create();
	struct probe p = {.loop = loop};
	uint64_t start = loop_now_ns();

	(void)state;
	loop_once(loop, 20);
	assert_true(loop_now_ns() - start >= 19 * 1000000);
	p.timer = loop_every(loop, 100000, count, &p);
	start = loop_now_ms();
	loop_once(loop, 20);
	assert_true(loop_now_ms() - start < 50000);
	assert_int_equal(p.calls, 0);
	loop_destroy(loop);
}

static void
cancel_self(void *arg)
{
	struct probe *p = arg;

	p->calls++;
	loop_cancel(p->loop, p->timer);
	/* A new one, from inside the old one's callback. */
	p->timer = loop_every(p->loop, 1000000, count, p);
}

static void
a_timer_may_cancel_itself(void **state)
{
	struct loop *loop = loop_create();
	struct probe p = {.loop = loop};

	(void)state;
	p.timer = loop_every(loop, 1, cancel_self, &p);
	for (unsigned i = 0; i < 10; i++)
		loop_once(loop, 2);
	assert_int_equal(p.calls, 1);
	loop_destroy(loop);
}

static void
wait_inside(void *arg)
{
	struct probe *p = arg;

	p->calls++;
	loop_cancel(p->loop, p->timer);
	loop_once(p->loop, 5); /* must not free the timer we run from */
	loop_once(p->loop, 5);
}

static void
a_callback_may_run_the_loop(void **state)
{
	struct loop *loop = loop_create();
	struct probe p = {.loop = loop}, other = {.loop = loop};

	(void)state;
	p.timer = loop_every(loop, 1, wait_inside, &p);
	other.timer = loop_every(loop, 2, count, &other);
	loop_once(loop, -1);
	loop_once(loop, -1);
	assert_int_equal(p.calls, 1);
	assert_true(other.calls > 0);
	loop_destroy(loop);
}

static void
a_wake_before_sleeping_is_not_lost(void **state)
{
	struct loop *loop = loop_create();
	struct probe p = {.loop = loop};

	(void)state;
	loop_wake(loop); /* nobody to call yet: no harm */
	loop_once(loop, -1);
	loop_on_wake(loop, count, &p);
	loop_wake(loop);
	loop_wake(loop);
	loop_once(loop, -1); /* returns */
	assert_int_equal(p.calls, 1);
	loop_once(loop, 0);
	assert_int_equal(p.calls, 1);
	loop_destroy(loop);
}

/* Workers hand over numbers as they would packets: publish, then wake. */
#define WAKERS 2
#define ROUNDS 20000

struct work {
	struct loop *loop;
	atomic_uint posted;
	unsigned seen;
};

static void *
post_work(void *arg)
{
	struct work *w = arg;

	for (unsigned i = 0; i < ROUNDS; i++) {
		atomic_fetch_add_explicit(&w->posted, 1, memory_order_relaxed);
		loop_wake(w->loop);
		if (i % 64 == 0)
			sched_yield();
	}
	return NULL;
}

static void
see_work(void *arg)
{
	struct work *w = arg;

	w->seen = atomic_load_explicit(&w->posted, memory_order_relaxed);
}

static void
no_wake_from_another_thread_is_lost(void **state)
{
	struct work w = {.loop = loop_create()};
	pthread_t threads[WAKERS];
	uint64_t start = loop_now_ms();

	(void)state;
	loop_on_wake(w.loop, see_work, &w);
	for (unsigned i = 0; i < WAKERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, post_work, &w), 0);
	/* Only wakes end these waits: a lost one would end in the time limit. */
	while (w.seen < WAKERS * ROUNDS) {
		loop_once(w.loop, 5000);
		assert_true(loop_now_ms() - start < 60000);
	}
	for (unsigned i = 0; i < WAKERS; i++)
		pthread_join(threads[i], NULL);
	loop_destroy(w.loop);
}

/* Strictly by turns: each wake finds the thread asleep, or nearly so. */
static void *
post_by_turns(void *arg)
{
	struct work *w = arg;

	for (unsigned i = 0; i < 2000; i++) {
		while (atomic_load(&w->posted) != 2 * i)
			sched_yield();
		atomic_store(&w->posted, 2 * i + 1);
		loop_wake(w->loop);
	}
	return NULL;
}

static void
take_turn(void *arg)
{
	struct work *w = arg;
	unsigned posted = atomic_load(&w->posted);

	if (posted % 2 == 1) {
		w->seen++;
		atomic_store(&w->posted, posted + 1);
	}
}

static void
wakes_by_turns(void **state)
{
	struct work w = {.loop = loop_create()};
	pthread_t thread;
	uint64_t before;

	(void)state;
	loop_on_wake(w.loop, take_turn, &w);
	assert_int_equal(pthread_create(&thread, NULL, post_by_turns, &w), 0);
	while (w.seen < 2000) {
		before = loop_now_ms();
		loop_once(w.loop, 10000);
		assert_true(loop_now_ms() - before < 9000);
	}
	pthread_join(thread, NULL);
	loop_destroy(w.loop);
}

static struct loop *signal_loop;

static void
on_alarm(int number)
{
	(void)number;
	loop_wake(signal_loop);
}

static void
a_signal_handler_may_wake(void **state)
{
	struct sigaction action = {.sa_handler = on_alarm}, old;
	struct itimerval soon = {.it_value.tv_usec = 20000};
	struct probe p = {0};

	(void)state;
	signal_loop = loop_create();
	loop_on_wake(signal_loop, count, &p);
	sigaction(SIGALRM, &action, &old);
	setitimer(ITIMER_REAL, &soon, NULL);
	loop_once(signal_loop, 10000);
	if (p.calls == 0)
		loop_once(signal_loop, 10000);
	assert_int_equal(p.calls, 1);
	sigaction(SIGALRM, &old, NULL);
	loop_destroy(signal_loop);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pipe_calls_back_while_it_is_readable),
		cmocka_unit_test(a_regular_file_is_always_ready),
		cmocka_unit_test(a_descriptor_that_cannot_be_watched),
		cmocka_unit_test(unwatching_from_a_callback_holds_at_once),
		cmocka_unit_test(timers_come_once_a_period),
		cmocka_unit_test(late_timers_do_not_catch_up),
		cmocka_unit_test(timeout_without_timers_and_shorter_than_one),
		cmocka_unit_test(a_timer_may_cancel_itself),
		cmocka_unit_test(a_callback_may_run_the_loop),
		cmocka_unit_test(a_wake_before_sleeping_is_not_lost),
		cmocka_unit_test(no_wake_from_another_thread_is_lost),
		cmocka_unit_test(wakes_by_turns),
		cmocka_unit_test(a_signal_handler_may_wake),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
