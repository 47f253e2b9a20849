/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The client library against the control socket: processes that attach, receive, send back, are
 * killed under load and come again; and no buffer is lost over it.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <rte_eal.h>
#include <rte_mempool.h>

#include "cmd_udp_ring.h"
#include "ctl.h"
#include "noref/udp_client.h"
#include "rcu.h"
#include "udp_app.h"
#include "test_eal.h"

#define BUFFERS	    1023
#define HEADERS	    28 /* IPv4 and UDP */
#define PATIENCE_MS 20000

static struct rte_mempool *mempool;
static struct rcu *rcu;
static struct loop *loop;
static struct console *console;
static struct ctl *ctl;
static const struct udp_app_ops *ops;
static struct udp_app *app;
static char folder[] = "/tmp/noref-udp-client-XXXXXX", path[64];

static uint64_t received, sent_back, next_number, wrong;

/* What the client sends: must be what it got, to where it came from. */
static unsigned
on_send(struct udp_worker *worker, struct udp_outgoing *out, unsigned n)
{
	(void)worker;
	for (unsigned i = 0; i < n; i++) {
		uint64_t number;

		assert_int_equal(out[i].socket, 3);
		assert_int_equal(out[i].to_port, 5000);
		assert_int_equal(out[i].to.bytes[3], 2);
		assert_int_equal(out[i].from.bytes[3], 1);
		memcpy(&number, rte_pktmbuf_mtod(out[i].packet, void *), sizeof(number));
		wrong += number < next_number;
		next_number = number + 1;
		sent_back++;
		rte_pktmbuf_free(out[i].packet);
	}
	return n;
}

static struct udp_worker worker = {.send = on_send};

/* Thirty-two numbered datagrams; returns how many the client has room for. */
static unsigned
deliver(void)
{
	static const uint8_t local[16] = {192, 0, 2, 1}, remote[16] = {192, 0, 2, 2};
	static uint64_t number;
	struct udp_datagram d[32];
	unsigned n = 0;

	for (unsigned i = 0; i < RTE_DIM(d); i++) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(mempool);

		assert_non_null(m);
		memset(rte_pktmbuf_append(m, HEADERS), 1, HEADERS);
		memcpy(rte_pktmbuf_append(m, 8), &number, 8);
		number++;
		d[i] = (struct udp_datagram){
			.packet = m,
			.payload = rte_pktmbuf_mtod_offset(m, uint8_t *, HEADERS),
			.len = 8,
			.contiguous = 8,
			.family = AF_INET,
			.local_port = 4000,
			.remote_port = 5000,
			.socket = 3,
			.local = local,
			.remote = remote,
		};
	}
	ops->deliver(app, &worker, d, RTE_DIM(d));
	for (unsigned i = 0; i < RTE_DIM(d); i++) {
		n += d[i].fate == UDP_DELIVERED;
		rte_pktmbuf_free(d[i].packet);
	}
	received += n;
	return n;
}

/* One loop of a worker and of the control thread. */
static void
turn(void)
{
	deliver();
	ops->poll(app, &worker);
	loop_once(loop, 0);
	rcu_poll(rcu);
}

/* --- clients: processes of their own ---------------------------------------------------------- */

static volatile sig_atomic_t told_to_leave;

static void
on_leave(int number)
{
	told_to_leave = number;
}

/* Sends everything back, until noref goes or SIGUSR1 comes (0), or something is wrong (1). */
static int
client(void)
{
	struct noref_udp *u = noref_udp_open(path, "test");
	struct noref_udp_msg msgs[64];
	int n;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGUSR1, on_leave);
	if (u == NULL || noref_udp_workers(u) != 1)
		return 1;
	while (!told_to_leave) {
		n = noref_udp_recv_burst(u, msgs, 64);
		if (n < 0)
			break;
		for (int i = 0; i < n; i++) {
			if (msgs[i].len != 8 || msgs[i].local_port != 4000 || msgs[i].local[3] != 1)
				return 1;
			noref_udp_reply(&msgs[i]);
		}
		for (int done = 0; done < n;) {
			int k = noref_udp_send_burst(u, msgs + done, (unsigned)(n - done));

			if (k < 0)
				return errno != EPIPE;
			done += k;
		}
		if (n == 0 && noref_udp_wait(u, 100) < 0 && errno != EINTR)
			break;
	}
	noref_udp_close(u);
	return 0;
}

static pid_t
start_client(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(client());
	return pid;
}

static void
work_until_sent_back(uint64_t target)
{
	uint64_t start = loop_now_ms();

	while (sent_back < target) {
		turn();
		assert_true(loop_now_ms() - start < PATIENCE_MS);
	}
}

/* Until datagrams have nowhere to go any more. */
static void
work_until_detached(void)
{
	uint64_t start = loop_now_ms();

	while (deliver() != 0 || rcu_pending(rcu) != 0) {
		loop_once(loop, 1);
		rcu_poll(rcu);
		assert_true(loop_now_ms() - start < PATIENCE_MS);
	}
}

static int
status_of(pid_t pid)
{
	uint64_t start = loop_now_ms();
	int status;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		turn();
		assert_true(loop_now_ms() - start < PATIENCE_MS);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void
assert_buffers(void)
{
	assert_int_equal(rte_mempool_avail_count(mempool), BUFFERS);
	assert_int_equal(wrong, 0);
}

static void
test_killed_ten_times(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 10; i++) {
		pid_t pid = start_client();

		work_until_sent_back(sent_back + 5000);
		assert_int_equal(kill(pid, SIGKILL), 0);
		for (unsigned k = 0; k < 100; k++)
			turn();
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		work_until_detached();
		assert_buffers();
	}
	assert_true(received >= 50000);
}

/* It stops; what comes is dropped; it goes on as if nothing had been. */
static void
test_stalled(void **state)
{
	pid_t pid = start_client();
	unsigned full = 0;

	(void)state;
	work_until_sent_back(sent_back + 1000);
	assert_int_equal(kill(pid, SIGSTOP), 0);
	for (unsigned i = 0; i < 2000; i++) {
		full += deliver() == 0;
		ops->poll(app, &worker);
		loop_once(loop, 0);
	}
	assert_true(full > 1000);
	assert_buffers();
	assert_int_equal(kill(pid, SIGCONT), 0);
	work_until_sent_back(sent_back + 20000);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	work_until_detached();
	assert_buffers();
}

/* A ring has one client, the second is refused while the first goes on; one that closes makes room.
 */
static void
test_two_and_reopened(void **state)
{
	pid_t first = start_client(), second;

	(void)state;
	work_until_sent_back(sent_back + 1000);
	second = fork();
	if (second == 0)
		_exit(noref_udp_open(path, "test") == NULL && errno == EBUSY ? 7 : 1);
	assert_int_equal(status_of(second), 7);
	second = fork();
	if (second == 0)
		_exit(noref_udp_open(path, "nobody") == NULL && errno == ENOENT ? 7 : 1);
	assert_int_equal(status_of(second), 7);
	assert_int_equal(kill(first, SIGUSR1), 0);
	assert_int_equal(status_of(first), 0);
	work_until_detached();
	first = start_client();
	work_until_sent_back(sent_back + 1000);
	assert_int_equal(kill(first, SIGUSR1), 0);
	assert_int_equal(status_of(first), 0);
	work_until_detached();
	assert_buffers();
}

/* The socket goes: the client is told. */
static void
test_closed(void **state)
{
	pid_t pid = start_client();
	uint64_t start = loop_now_ms();
	struct err err;
	int status;

	(void)state;
	work_until_sent_back(sent_back + 1000);
	ops->unbound(app, 3);
	ops->close(app);
	while (waitpid(pid, &status, WNOHANG) == 0) {
		loop_once(loop, 1);
		assert_true(loop_now_ms() - start < PATIENCE_MS);
	}
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	for (unsigned i = 0; i < 20; i++)
		loop_once(loop, 1);
	rcu_synchronize(rcu);
	app = ops->open("test", 1, &err);
	assert_non_null(app);
	assert_int_equal(ops->bound(app, 3, &err), 0);
	assert_buffers();
}

static int
start(void **state)
{
	struct err err;

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	if (mkdtemp(folder) == NULL || !test_eal_start("0"))
		return -1;
	snprintf(path, sizeof(path), "%s/x.sock", folder);
	mempool = rte_pktmbuf_pool_create("datagrams", BUFFERS, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
					  SOCKET_ID_ANY);
	rcu = rcu_create(1, &err);
	loop = loop_create();
	console = console_create(NULL);
	if (mempool == NULL || rcu == NULL || loop == NULL || console == NULL)
		return -1;
	worker.pool = mempool;
	udp_ring_commands_register(console, rcu, 100);
	ops = udp_app_find("ring");
	app = ops->open("test", 1, &err);
	ctl = ctl_open(loop, console, path, &err);
	return app != NULL && ctl != NULL ? ops->bound(app, 3, &err) : -1;
}

static int
stop(void **state)
{
	(void)state;
	ctl_close(ctl);
	ops->unbound(app, 3);
	ops->close(app);
	console_destroy(console);
	rcu_destroy(rcu);
	loop_destroy(loop);
	rmdir(folder);
	rte_mempool_free(mempool);
	return rte_eal_cleanup();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_killed_ten_times),
		cmocka_unit_test(test_stalled),
		cmocka_unit_test(test_two_and_reopened),
		cmocka_unit_test(test_closed),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
