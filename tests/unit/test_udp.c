/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "udp_lookup.h"

#define WORKERS 4

static struct rcu *rcu;
static struct udp_tables *t;

static int
make(void **state)
{
	(void)state;
	rcu = rcu_create(WORKERS, NULL);
	t = udp_create(WORKERS, rcu, &udp_sink, NULL);
	return rcu == NULL || t == NULL ? -1 : 0;
}

static int
unmake(void **state)
{
	(void)state;
	udp_destroy(t);
	rcu_destroy(rcu);
	return 0;
}

static struct ip_addr
addr(const char *text)
{
	struct ip_addr a;

	assert_int_equal(ip_addr_parse(text, 0, &a), 0);
	return a;
}

static struct udp_bind
at(const char *text, uint16_t port)
{
	return (struct udp_bind){
		.addr = addr(text),
		.port = port,
		.lcore = -1,
		.worker = -1,
		.app = udp_app_get(t, &udp_echo, "", NULL),
	};
}

/* Its id, or the errno. */
static int
bound(struct udp_bind b)
{
	uint32_t id;
	int rc = udp_bind(t, &b, &id, NULL);

	return rc < 0 ? rc : (int)id;
}

static int
member(const char *text, uint16_t port, int worker)
{
	struct udp_bind b = at(text, port);

	b.reuseport = true;
	b.worker = b.lcore = worker;
	return bound(b);
}

/* Who gets it, on a worker; -1: nobody. */
static int
found_on(unsigned worker, const char *local, uint16_t port, const char *remote, uint16_t rport,
	 uint16_t vrf, uint16_t iface)
{
	struct ip_addr l = addr(local), r = addr(remote);
	struct udp_flow f = {l.bytes, r.bytes, l.family, vrf, iface, port, rport};
	uint32_t ref = udp_lookup(t, &f, worker);

	return ref == UDP_NONE ? -1 : (int)UDP_REF_ID(ref);
}

static int
found(const char *local, uint16_t port, const char *remote)
{
	return found_on(0, local, port, remote, 4000, 0, 1);
}

/* --- ports ------------------------------------------------------------------------------- */

/* Hard case: masks and shifts that take one port for another. */
static void
ports_are_not_taken_for_each_other(void **state)
{
	static const uint16_t all[] = {63, 64, 65535, 127, 128, 1, 32767, 32768, 65534};
	unsigned n = RTE_DIM(all);

	(void)state;
	for (unsigned turn = 0; turn < n; turn++) {
		int ids[RTE_DIM(all)];

		for (unsigned i = 0; i < n; i++)
			ids[(i + turn) % n] = bound(at("0.0.0.0", all[(i + turn) % n]));
		for (unsigned port = 0; port < 65536; port++) {
			int expected = -1;

			for (unsigned i = 0; i < n; i++) {
				if (all[i] == port)
					expected = ids[i];
			}
			assert_int_equal(found("10.0.0.1", (uint16_t)port, "10.0.0.2"), expected);
		}
		for (unsigned i = 0; i < n; i++)
			assert_int_equal(udp_close(t, (uint32_t)ids[i], NULL), 0);
	}
}

static void
port_zero_takes_a_free_one(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		int id = bound(at("0.0.0.0", 0));
		uint16_t port;

		assert_true(id >= 0);
		port = udp_get(t, (uint32_t)id)->bound.port;
		assert_in_range(port, UDP_EPHEMERAL_FIRST, UDP_EPHEMERAL_LAST);
		assert_int_equal(found("10.0.0.1", port, "10.0.0.2"), id);
	}
	assert_int_equal(found("10.0.0.1", 0, "10.0.0.2"), -1);
}

static void
ephemeral_ports_run_out(void **state)
{
	(void)state;
	for (unsigned i = UDP_EPHEMERAL_FIRST; i <= UDP_EPHEMERAL_LAST; i++)
		assert_true(bound(at("10.0.0.1", 0)) >= 0);
	assert_int_equal(bound(at("10.0.0.1", 0)), -EADDRINUSE);
	assert_int_equal(bound(at("0.0.0.0", 0)), -EADDRINUSE);
	assert_true(bound(at("10.0.0.2", 0)) >= 0);
}

/* --- VRFs and devices: what no kernel without VRFs can be asked ---------------------------------
 */

static void
vrfs_are_apart_in_lookups_and_meet_in_binds(void **state)
{
	struct udp_bind red = at("0.0.0.0", 53), dev = at("0.0.0.0", 53);
	int in_red, on_dev;

	(void)state;
	red.vrf = 7;
	dev.vrf = 7;
	dev.iface = 9;
	in_red = bound(red);
	assert_true(in_red >= 0);
	/* The VRF and an interface of it are two devices; one bound to none meets both. */
	on_dev = bound(dev);
	assert_true(on_dev >= 0);
	assert_int_equal(bound(at("0.0.0.0", 53)), -EADDRINUSE);
	assert_int_equal(found_on(0, "10.0.0.1", 53, "10.0.0.2", 1, 7, 8), in_red);
	assert_int_equal(found_on(0, "10.0.0.1", 53, "10.0.0.2", 1, 7, 9), on_dev);
	assert_int_equal(found_on(0, "10.0.0.1", 53, "10.0.0.2", 1, 0, 8), -1);
	/* The interface moves: its socket follows, the VRF's does not. */
	assert_int_equal(udp_iface_moved(t, 9, 0, NULL), 0);
	assert_int_equal(found_on(0, "10.0.0.1", 53, "10.0.0.2", 1, 0, 9), on_dev);
	assert_int_equal(found_on(0, "10.0.0.1", 53, "10.0.0.2", 1, 7, 9), in_red);
}

/* --- reuseport ---------------------------------------------------------------------------------
 */

enum {
	FLOWS = 20000
};

static void
pick_flows(int *to)
{
	for (unsigned i = 0; i < FLOWS; i++) {
		char remote[32];

		snprintf(remote, sizeof(remote), "10.%u.%u.%u", 1 + i / 65536, i / 256 % 256,
			 i % 256);
		to[i] = found_on(1, "10.0.0.1", 53, remote, (uint16_t)(1024 + i % 5000), 0, 1);
	}
}

static void
a_member_that_closes_moves_its_own_flows_only(void **state)
{
	static int before[FLOWS], after[FLOWS];
	unsigned share[16] = {0}, moved = 0, taken[16] = {0};
	int gone = 5;

	(void)state;
	for (int i = 0; i < 8; i++)
		assert_int_equal(member("0.0.0.0", 53, -1), i);
	pick_flows(before);
	pick_flows(after);
	assert_memory_equal(before, after, sizeof(before));
	for (unsigned i = 0; i < FLOWS; i++)
		share[before[i]]++;
	for (unsigned i = 0; i < 8; i++)
		assert_in_range(share[i], FLOWS / 8 * 8 / 10, FLOWS / 8 * 12 / 10);
	assert_int_equal(udp_close(t, (uint32_t)gone, NULL), 0);
	rcu_synchronize(rcu); /* its id may be given again */
	pick_flows(after);
	for (unsigned i = 0; i < FLOWS; i++) {
		if (before[i] == gone) {
			assert_int_not_equal(after[i], gone);
			taken[after[i]]++;
		} else {
			assert_int_equal(after[i], before[i]);
		}
	}
	for (int i = 0; i < 8; i++) /* all get some of them */
		assert_true(i == gone || taken[i] > share[gone] / 7 / 2);
	/* One comes back: it takes a share, and nothing else moves. */
	memcpy(before, after, sizeof(before));
	assert_int_equal(member("0.0.0.0", 53, -1), gone);
	pick_flows(after);
	for (unsigned i = 0; i < FLOWS; i++) {
		if (after[i] != before[i]) {
			assert_int_equal(after[i], gone);
			moved++;
		}
	}
	assert_in_range(moved, FLOWS / 8 * 8 / 10, FLOWS / 8 * 12 / 10);
}

static void
a_member_on_the_worker_wins(void **state)
{
	int own, other;

	(void)state;
	own = member("0.0.0.0", 53, 2);
	other = member("0.0.0.0", 53, 3);
	for (uint16_t p = 1; p < 2000; p++) {
		assert_int_equal(found_on(2, "10.0.0.1", 53, "10.0.0.2", p, 0, 1), own);
		assert_int_equal(found_on(3, "10.0.0.1", 53, "10.0.0.2", p, 0, 1), other);
	}
	assert_int_equal(udp_close(t, (uint32_t)own, NULL), 0);
	assert_int_equal(found_on(2, "10.0.0.1", 53, "10.0.0.2", 9, 0, 1), other);
	assert_int_equal(udp_close(t, (uint32_t)other, NULL), 0);
	assert_int_equal(found_on(2, "10.0.0.1", 53, "10.0.0.2", 9, 0, 1), -1);
}

/* --- groups of receivers -----------------------------------------------------------------------
 */

static void
note(void *arg, uint32_t ref)
{
	*(uint64_t *)arg |= 1ull << UDP_REF_ID(ref);
}

static void
a_multicast_reaches_every_matching_socket(void **state)
{
	struct ip_addr group = addr("239.1.1.1"), from = addr("10.0.0.2");
	struct udp_flow f = {group.bytes, from.bytes, AF_INET, 0, 4, 5353, 9};
	struct udp_bind dev = at("239.1.1.1", 5353);
	uint64_t all = 0;

	(void)state;
	assert_int_equal(member("0.0.0.0", 5353, -1), 0);
	assert_int_equal(member("0.0.0.0", 5353, 1), 1);
	assert_int_equal(member("::", 5353, -1), 2);
	assert_int_equal(member("10.0.0.1", 5353, -1), 3); /* not */
	assert_false(udp_joined(t, &f));
	assert_int_equal(member("239.1.1.1", 5353, -1), 4);
	dev.iface = 4;
	dev.reuseport = true;
	assert_int_equal(bound(dev), 5);
	dev.iface = 5;
	assert_int_equal(bound(dev), 6); /* not */
	assert_true(udp_joined(t, &f));
	udp_lookup_all(t, &f, note, &all);
	assert_int_equal(all, 0x37);
}

/* --- scale, and change under traffic
 * --------------------------------------------------------------- */

static void
a_hundred_thousand_sockets_are_found_and_forgotten(void **state)
{
	enum {
		N = 100000
	};
	uint32_t *ids = calloc(N, sizeof(*ids));

	(void)state;
	for (unsigned i = 0; i < N; i++) {
		struct udp_bind b = at("0.0.0.0", (uint16_t)(1 + i / 100));

		b.addr = ip4_addr(0x0a000001 + i % 100);
		assert_int_equal(udp_bind(t, &b, &ids[i], NULL), 0);
	}
	assert_int_equal(udp_count(t), N);
	for (unsigned i = 0; i < N; i++) {
		char text[32];

		snprintf(text, sizeof(text), "10.0.0.%u", 1 + i % 100);
		assert_int_equal(found(text, (uint16_t)(1 + i / 100), "10.9.9.9"), (int)ids[i]);
	}
	for (unsigned i = 0; i < N; i++)
		assert_int_equal(udp_close(t, ids[i], NULL), 0);
	assert_int_equal(udp_count(t), 0);
	assert_int_equal(found("10.0.0.1", 1, "10.9.9.9"), -1);
	free(ids);
}

static bool stop_looking;

/* A worker that looks up all the time: its own socket is always found. */
static void *
look(void *arg)
{
	unsigned worker = (unsigned)(uintptr_t)arg;
	struct ip_addr l = ip4_addr(0x0a000001), r = ip4_addr(0x0a000002);
	uintptr_t missed = 0;

	rcu_online(rcu, worker);
	for (uint16_t port = 0; !__atomic_load_n(&stop_looking, __ATOMIC_RELAXED); port++) {
		struct udp_flow kept = {l.bytes, r.bytes, AF_INET, 0, 1, 9, port};
		struct udp_flow any = {l.bytes, r.bytes, AF_INET, 0, 1, port, 77};
		uint32_t ref = udp_lookup(t, &any, worker);

		missed += udp_lookup(t, &kept, worker) == UDP_NONE;
		if (ref != UDP_NONE)
			missed += udp_socket_at(t, UDP_REF_ID(ref)) != NULL &&
				  udp_socket_at(t, UDP_REF_ID(ref))->bound.port != port;
		rcu_quiescent(rcu, worker);
	}
	rcu_offline(rcu, worker);
	return (void *)missed;
}

static void
bind_and_close_under_traffic(void **state)
{
	pthread_t threads[2];
	int ids[64];
	void *missed;

	(void)state;
	stop_looking = false;
	for (unsigned i = 0; i < 4; i++)
		assert_true(member("0.0.0.0", 9, -1) >= 0);
	for (uintptr_t w = 0; w < 2; w++)
		assert_int_equal(pthread_create(&threads[w], NULL, look, (void *)w), 0);
	for (unsigned i = 0; i < RTE_DIM(ids); i++)
		ids[i] = -1;
	srandom(3);
	for (unsigned i = 0; i < 20000; i++) {
		unsigned k = (unsigned)random() % RTE_DIM(ids);

		if (ids[k] >= 0)
			assert_int_equal(udp_close(t, (uint32_t)ids[k], NULL), 0);
		if (k < 8)
			ids[k] = member("0.0.0.0", 9, k < 4 ? (int)k % 2 : -1);
		else
			ids[k] = bound(at(k % 2 == 0 ? "0.0.0.0" : "10.0.0.1",
					  (uint16_t)(100 + random() % 5000)));
		rcu_poll(rcu);
	}
	__atomic_store_n(&stop_looking, true, __ATOMIC_RELAXED);
	for (unsigned w = 0; w < 2; w++) {
		pthread_join(threads[w], &missed);
		assert_null(missed);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(ports_are_not_taken_for_each_other, make, unmake),
		cmocka_unit_test_setup_teardown(port_zero_takes_a_free_one, make, unmake),
		cmocka_unit_test_setup_teardown(ephemeral_ports_run_out, make, unmake),
		cmocka_unit_test_setup_teardown(vrfs_are_apart_in_lookups_and_meet_in_binds, make,
						unmake),
		cmocka_unit_test_setup_teardown(a_member_that_closes_moves_its_own_flows_only, make,
						unmake),
		cmocka_unit_test_setup_teardown(a_member_on_the_worker_wins, make, unmake),
		cmocka_unit_test_setup_teardown(a_multicast_reaches_every_matching_socket, make,
						unmake),
		cmocka_unit_test_setup_teardown(a_hundred_thousand_sockets_are_found_and_forgotten,
						make, unmake),
		cmocka_unit_test_setup_teardown(bind_and_close_under_traffic, make, unmake),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
