/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <pthread.h>

#include "rcu.h"

static unsigned freed, drained, freed_when_drained;

static void
count(void *ctx, uintptr_t what)
{
	(void)ctx;
	(void)what;
	freed++;
}

static int
make(void **state)
{
	*state = rcu_create(4, NULL);
	freed = drained = 0;
	return *state == NULL ? -1 : 0;
}

static int
unmake(void **state)
{
	rcu_destroy(*state);
	return 0;
}

static void
nothing_is_freed_before_every_worker_reports(void **state)
{
	struct rcu *rcu = *state;

	rcu_online(rcu, 0);
	rcu_online(rcu, 1);
	rcu_retire(rcu, count, NULL, 1);
	rcu_poll(rcu);
	assert_int_equal(freed, 0);
	rcu_quiescent(rcu, 0);
	rcu_poll(rcu);
	assert_int_equal(freed, 0);
	assert_int_equal(rcu_pending(rcu), 1);
	rcu_quiescent(rcu, 1);
	rcu_poll(rcu);
	assert_int_equal(freed, 1);
	assert_int_equal(rcu_pending(rcu), 0);
}

static void
what_is_retired_later_waits_for_a_later_report(void **state)
{
	struct rcu *rcu = *state;

	rcu_online(rcu, 0);
	rcu_retire(rcu, count, NULL, 1);
	rcu_poll(rcu); /* closes the first batch */
	rcu_retire(rcu, count, NULL, 2);
	rcu_quiescent(rcu, 0);
	rcu_poll(rcu);
	assert_int_equal(freed, 1);
	rcu_quiescent(rcu, 0);
	rcu_poll(rcu);
	assert_int_equal(freed, 2);
}

static void
without_workers_nothing_waits(void **state)
{
	struct rcu *rcu = *state;

	rcu_retire(rcu, count, NULL, 1);
	rcu_poll(rcu);
	assert_int_equal(freed, 1);
	rcu_online(rcu, 2);
	rcu_retire(rcu, count, NULL, 2);
	rcu_offline(rcu, 2);
	rcu_poll(rcu);
	assert_int_equal(freed, 2);
}

static void *
report_for_ever(void *arg)
{
	struct rcu *rcu = arg;

	rcu_online(rcu, 3);
	while (!__atomic_load_n(&drained, __ATOMIC_ACQUIRE))
		rcu_quiescent(rcu, 3);
	rcu_offline(rcu, 3);
	return NULL;
}

static void
a_full_queue_waits_for_workers_and_loses_nothing(void **state)
{
	struct rcu *rcu = *state;
	pthread_t worker;

	assert_int_equal(pthread_create(&worker, NULL, report_for_ever, rcu), 0);
	for (unsigned i = 0; i < 300000; i++)
		rcu_retire(rcu, count, NULL, i);
	rcu_synchronize(rcu);
	assert_int_equal(freed, 300000);
	__atomic_store_n(&drained, 1, __ATOMIC_RELEASE);
	pthread_join(worker, NULL);
}

static struct rcu *hooked;

static void
drain(void)
{
	drained++;
	freed_when_drained = freed;
	/* Taking packets can retire more, and asks for a poll itself. */
	rcu_retire(hooked, count, NULL, 9);
	rcu_poll(hooked);
	assert_int_equal(freed, freed_when_drained);
}

static void
the_owner_is_asked_before_anything_is_freed(void **state)
{
	struct rcu *rcu = *state;

	hooked = rcu;
	rcu->before_free = drain;
	rcu_retire(rcu, count, NULL, 1);
	rcu_synchronize(rcu);
	assert_int_equal(drained, 1);
	assert_int_equal(freed_when_drained, 0);
	assert_int_equal(freed, 1);
	rcu->before_free = NULL;
	rcu_synchronize(rcu);
	assert_int_equal(freed, 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nothing_is_freed_before_every_worker_reports, make,
						unmake),
		cmocka_unit_test_setup_teardown(what_is_retired_later_waits_for_a_later_report,
						make, unmake),
		cmocka_unit_test_setup_teardown(without_workers_nothing_waits, make, unmake),
		cmocka_unit_test_setup_teardown(a_full_queue_waits_for_workers_and_loses_nothing,
						make, unmake),
		cmocka_unit_test_setup_teardown(the_owner_is_asked_before_anything_is_freed, make,
						unmake),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
