/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Datagrams through a ring are what was sent, both ways, at all sizes; a client that stalls
 * costs its own; and one that writes anything anywhere in the memory it shares, at any time,
 * neither makes a worker read or write elsewhere nor costs a buffer.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>
#include <rte_eal.h>
#include <rte_mempool.h>

#include "pool.h"
#include "udp_ring.h"
#include "udp_ring_shared.h"
#include "test_random.h"
#include "test_eal.h"

#define BUFFERS 1023
#define HEADERS 28 /* IPv4 and UDP */

/* --- a worker, as the application sees it ------------------------------------------------ */

static struct rte_mempool *mempool;
static struct rcu *rcu;
static const struct udp_app_ops *ops;
static unsigned sent_n;
static uint64_t sent_bytes;
static struct udp_outgoing last_sent;
static uint8_t last_payload[RING_PAYLOAD_MAX];

static unsigned
on_send(struct udp_worker *worker, struct udp_outgoing *out, unsigned n)
{
	assert_int_equal(worker->id, 0);
	assert_true(n <= UDP_BURST_MAX);
	for (unsigned i = 0; i < n; i++) {
		struct rte_mbuf *m = out[i].packet;
		const char *reason;
		const void *p;

		assert_int_equal(rte_mbuf_check(m, 1, &reason), 0);
		assert_true(rte_pktmbuf_headroom(m) >= UDP_HEADROOM);
		assert_true(m->pkt_len <= RING_PAYLOAD_MAX);
		assert_int_equal(out[i].socket, 7);
		assert_true(out[i].iface < 100);
		p = rte_pktmbuf_read(m, 0, m->pkt_len, last_payload);
		if (p != last_payload)
			memcpy(last_payload, p, m->pkt_len);
		last_sent = out[i];
		sent_n++;
		sent_bytes += m->pkt_len;
		rte_pktmbuf_free(m);
	}
	return n;
}

static struct udp_worker worker = {.send = on_send};

/* A datagram with this payload, in as many buffers as it takes. */
static struct rte_mbuf *
make_packet(const uint8_t *payload, uint32_t len)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(mempool), *last = m;

	assert_non_null(m);
	memset(rte_pktmbuf_append(m, HEADERS), 1, HEADERS);
	while (len > 0) {
		uint16_t n = (uint16_t)RTE_MIN(len, (uint32_t)rte_pktmbuf_tailroom(last));

		if (n == 0) {
			struct rte_mbuf *next = rte_pktmbuf_alloc(mempool);

			assert_non_null(next);
			assert_int_equal(rte_pktmbuf_chain(m, next), 0);
			last = next;
			continue;
		}
		memcpy(rte_pktmbuf_mtod_offset(last, uint8_t *, last->data_len), payload, n);
		last->data_len += n;
		m->pkt_len += n;
		payload += n;
		len -= n;
	}
	return m;
}

static bool
deliver(struct udp_app *app, const uint8_t *payload, uint32_t len)
{
	struct rte_mbuf *m = make_packet(payload, len);
	static const uint8_t local[16] = {192, 0, 2, 1}, remote[16] = {192, 0, 2, 2};
	struct udp_datagram d = {
		.packet = m,
		.payload = rte_pktmbuf_mtod_offset(m, uint8_t *, HEADERS),
		.len = (uint16_t)len,
		.contiguous = (uint16_t)(m->data_len - HEADERS),
		.family = AF_INET,
		.tos = 3,
		.ttl = 63,
		.iface = 2,
		.vrf = 1,
		.local_port = 4000,
		.remote_port = 5000,
		.socket = 7,
		.local = local,
		.remote = remote,
	};

	ops->deliver(app, &worker, &d, 1);
	rte_pktmbuf_free(m);
	return d.fate == UDP_DELIVERED;
}

/* --- a client, as it is in memory ---------------------------------------------------------- */

struct peer {
	struct udp_app *app;
	struct ring_client *client;
	uint8_t *memory;
	size_t size;
	int wake;
	struct ring_reader received;
	struct ring_writer send;
};

static void
attach(struct peer *p)
{
	struct ring_memory *m;
	struct err err;
	int fds[2];

	p->client = udp_ring_attach("test", fds, &err);
	assert_non_null(p->client);
	p->size = (size_t)lseek(fds[0], 0, SEEK_END);
	/* The one thing it must not be able to do. */
	assert_int_equal(ftruncate(fds[0], 4096), -1);
	assert_int_equal(ftruncate(fds[0], (off_t)p->size + 4096), -1);
	p->memory = mmap(NULL, p->size, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
	assert_ptr_not_equal(p->memory, MAP_FAILED);
	close(fds[0]);
	p->wake = fds[1];
	m = (struct ring_memory *)(void *)p->memory;
	assert_int_equal(m->magic, RING_MAGIC);
	assert_int_equal(m->workers, 1);
	assert_int_equal(m->size, p->size);
	p->received = (struct ring_reader){
		.ends = (struct ring_ends *)(void *)(p->memory +
						     ring_received_offset(m->received_bytes,
									  m->send_bytes, 0)),
		.size = m->received_bytes};
	p->send = (struct ring_writer){
		.ends = (struct ring_ends *)(void *)(p->memory + ring_send_offset(m->received_bytes,
										  m->send_bytes,
										  0)),
		.size = m->send_bytes};
}

static void
detach(struct peer *p)
{
	munmap(p->memory, p->size);
	close(p->wake);
	udp_ring_detach(p->client);
	rcu_synchronize(rcu);
}

static void
begin(struct peer *p)
{
	struct err err;

	p->app = ops->open("test", 1, &err);
	assert_non_null(p->app);
	p->app->ops = ops;
	assert_int_equal(ops->bound(p->app, 7, &err), 0);
	sent_n = 0;
	sent_bytes = 0;
}

static void
end(struct peer *p)
{
	ops->unbound(p->app, 7);
	ops->close(p->app);
	rcu_synchronize(rcu);
	assert_int_equal(rte_mempool_avail_count(mempool), BUFFERS);
}

/* --- both ways ------------------------------------------------------------------------------ */

static void
test_received(void **state)
{
	static uint8_t payload[RING_PAYLOAD_MAX];
	struct ring_record r;
	struct peer p;
	int broken = 0;

	(void)state;
	begin(&p);
	attach(&p);
	for (unsigned i = 0; i < 5000; i++) {
		uint32_t len = random_below(random_below(20) ? 200 : 65508);
		const uint8_t *data;

		for (uint32_t k = 0; k < len; k++)
			payload[k] = (uint8_t)random_below(256);
		assert_true(deliver(p.app, payload, len));
		assert_int_equal(ops->depth(p.app, 7), 1);
		data = ring_next(&p.received, &r, &broken);
		assert_non_null(data);
		assert_int_equal(r.len, len);
		assert_memory_equal(data, payload, len);
		assert_int_equal(r.socket, 7);
		assert_int_equal(r.local_port, 4000);
		assert_int_equal(r.remote_port, 5000);
		assert_int_equal(r.family, 4);
		assert_int_equal(r.flags, RING_CHECKSUM_OK);
		assert_int_equal(r.iface, 2);
		assert_int_equal(r.vrf, 1);
		assert_int_equal(r.tos, 3);
		assert_int_equal(r.ttl, 63);
		assert_int_equal(r.local[3], 1);
		assert_int_equal(r.remote[3], 2);
		assert_null(ring_next(&p.received, &r, &broken));
		ring_release(&p.received);
	}
	assert_int_equal(broken, 0);
	detach(&p);
	end(&p);
}

static bool
give(struct peer *p, uint32_t socket, uint16_t iface, const uint8_t *payload, uint32_t len)
{
	struct ring_record *r = ring_reserve(&p->send, len);

	if (r == NULL)
		return false;
	*r = (struct ring_record){.len = len,
				  .socket = socket,
				  .remote_port = 53,
				  .family = 6,
				  .iface = iface,
				  .flags = RING_DONT_FRAGMENT,
				  .remote = {0x20, 1}};
	memcpy(r + 1, payload, len);
	ring_publish(&p->send);
	return true;
}

static void
test_sent(void **state)
{
	static uint8_t payload[RING_PAYLOAD_MAX];
	struct peer p;

	(void)state;
	begin(&p);
	attach(&p);
	for (unsigned i = 0; i < 3000; i++) {
		uint32_t len = random_below(random_below(20) ? 200 : RING_PAYLOAD_MAX + 1);

		for (uint32_t k = 0; k < len; k++)
			payload[k] = (uint8_t)random_below(256);
		assert_true(give(&p, 7, 1, payload, len));
		assert_int_equal(ops->poll(p.app, &worker), 1);
		assert_int_equal(sent_n, i + 1);
		assert_memory_equal(last_payload, payload, len);
		assert_int_equal(last_sent.to_port, 53);
		assert_int_equal(last_sent.to.family, AF_INET6);
		assert_int_equal(last_sent.to.bytes[0], 0x20);
		assert_int_equal(last_sent.from.family, 0);
		assert_true(last_sent.dont_fragment);
		assert_int_equal(ops->poll(p.app, &worker), 0);
	}
	/* From sockets that are another's, and out of interfaces that are none. */
	assert_true(give(&p, 8, 1, payload, 10));
	assert_true(give(&p, 7, 100, payload, 10));
	assert_int_equal(ops->poll(p.app, &worker), 2);
	assert_int_equal(sent_n, 3000);
	/* Without buffers they wait, and are not lost. */
	{
		struct rte_mbuf *all[BUFFERS];

		assert_int_equal(rte_pktmbuf_alloc_bulk(mempool, all, BUFFERS), 0);
		assert_true(give(&p, 7, 1, payload, 10));
		assert_int_equal(ops->poll(p.app, &worker), 0);
		rte_pktmbuf_free_bulk(all, BUFFERS);
		assert_int_equal(ops->poll(p.app, &worker), 1);
		assert_int_equal(sent_n, 3001);
	}
	detach(&p);
	end(&p);
}

/* Many at once are taken in parts, so that a client does not keep the worker. */
static void
test_bounded_per_loop(void **state)
{
	static uint8_t payload[RING_PAYLOAD_MAX];
	struct peer p;
	unsigned given = 0, loops = 0;

	(void)state;
	begin(&p);
	attach(&p);
	while (give(&p, 7, 1, payload, 100))
		given++;
	assert_true(given > 1000);
	while (sent_n < given) {
		unsigned before = sent_n;

		assert_true(ops->poll(p.app, &worker) <= 64);
		assert_true(sent_n - before <= 64);
		loops++;
	}
	assert_true(loops >= given / 64);
	while (give(&p, 7, 1, payload, RING_PAYLOAD_MAX))
		;
	sent_bytes = 0;
	ops->poll(p.app, &worker);
	assert_true(sent_bytes <= 6 * RING_PAYLOAD_MAX);
	while (ops->poll(p.app, &worker) != 0)
		;
	detach(&p);
	end(&p);
}

/* Nobody there, nobody who reads, somebody again. */
static void
test_stalled(void **state)
{
	static uint8_t payload[64];
	struct ring_record r;
	struct peer p;
	unsigned there = 0;
	int broken = 0;
	int fds[2];
	struct err err;

	(void)state;
	begin(&p);
	assert_false(deliver(p.app, payload, 64));
	assert_null(udp_ring_attach("other", fds, &err));
	assert_non_null(strstr(err.text, "no UDP socket is bound to ring other"));
	attach(&p);
	assert_null(udp_ring_attach("test", fds, &err));
	assert_non_null(strstr(err.text, "has a client"));
	while (deliver(p.app, payload, 64))
		there++;
	assert_int_equal(there, 1024 * 1024 / 128);
	assert_int_equal(ops->depth(p.app, 7), there);
	for (unsigned i = 0; i < 1000; i++)
		assert_false(deliver(p.app, payload, 64));
	while (ring_next(&p.received, &r, &broken) != NULL)
		there--;
	assert_int_equal(there, 0);
	ring_release(&p.received);
	assert_true(deliver(p.app, payload, 64));
	detach(&p);
	assert_false(deliver(p.app, payload, 64));
	attach(&p);
	assert_true(deliver(p.app, payload, 64));
	detach(&p);
	end(&p);
}

static bool
woken(const struct peer *p)
{
	char byte;

	return read(p->wake, &byte, 1) == 1;
}

/* One byte for a client that sleeps, however much comes; none for one that does not. */
static void
test_wake(void **state)
{
	static uint8_t payload[64];
	struct peer p;

	(void)state;
	begin(&p);
	attach(&p);
	deliver(p.app, payload, 64);
	ops->poll(p.app, &worker);
	assert_false(woken(&p));
	/* It goes to sleep between two loops, with something there already. */
	__atomic_store_n(&p.received.ends->sleeping, 1, __ATOMIC_RELAXED);
	ops->poll(p.app, &worker);
	assert_true(woken(&p));
	assert_int_equal(p.received.ends->sleeping, 0);
	deliver(p.app, payload, 64);
	deliver(p.app, payload, 64);
	ops->poll(p.app, &worker);
	assert_false(woken(&p));
	__atomic_store_n(&p.received.ends->sleeping, 1, __ATOMIC_RELAXED);
	ops->poll(p.app, &worker);
	ops->poll(p.app, &worker);
	assert_true(woken(&p));
	assert_false(woken(&p));
	/* Nothing new: nothing to wake for. */
	__atomic_store_n(&p.received.ends->sleeping, 1, __ATOMIC_RELAXED);
	ops->poll(p.app, &worker);
	assert_false(woken(&p));
	detach(&p);
	end(&p);
}

/* The socket closes under an attached client. */
static void
test_closed(void **state)
{
	struct peer p;
	char byte;

	(void)state;
	begin(&p);
	attach(&p);
	ops->unbound(p.app, 7);
	ops->close(p.app);
	assert_int_equal(read(p.wake, &byte, 1), 0);
	detach(&p);
	assert_int_equal(rte_mempool_avail_count(mempool), BUFFERS);
}

/* --- malice ---------------------------------------------------------------------------------- */

/* Values that are likely to matter, and any. */
static uint32_t
nasty(void)
{
	static const uint32_t some[] = {0,
					1,
					63,
					64,
					65,
					127,
					128,
					0x7fffffff,
					0x80000000,
					UINT32_MAX,
					UINT32_MAX - 63,
					512 * 1024,
					1024 * 1024,
					65527,
					65528};

	return random_below(2)	 ? some[random_below(RTE_DIM(some))]
	       : random_below(2) ? random_below(UINT32_MAX)
				 : random_below(16384) * 64;
}

static void
scribble(struct peer *p)
{
	struct ring_ends *ends = random_below(2) ? p->received.ends : p->send.ends;
	struct ring_record *r;

	switch (random_below(7)) {
	case 0:
		ends->head = nasty();
		break;
	case 1:
		ends->tail = nasty();
		break;
	case 2:
		ends->head += 64 * random_below(100);
		break;
	case 3: /* a record, with a length that lies */
		r = (struct ring_record *)(void *)(ends->bytes +
						   random_below(p->send.size / 64 - 1) * 64);
		r->len = nasty();
		r->flags = (uint8_t)random_below(4);
		r->socket = random_below(3) ? 7 : nasty();
		break;
	case 4:
		ends->sleeping = nasty();
		ends->read = nasty();
		break;
	case 5:
		memset(p->memory + random_below((uint32_t)p->size / 64) * 64,
		       (int)random_below(256), 64);
		break;
	case 6:
		for (unsigned i = 0; i < 64; i++) {
			r = (struct ring_record *)(void *)(p->send.ends->bytes + i * 64);
			r->len = random_below(100);
			r->socket = 7;
			r->flags = 0;
		}
		break;
	}
}

/* Any bytes anywhere between any two steps. What comes out is well-formed, buffers are all there
 * (end() counts them), and nothing is touched outside: the sanitizers watch. */
static void
test_scribble(void **state)
{
	static uint8_t payload[60000];
	struct peer p;
	unsigned full = 0, taken = 0;

	(void)state;
	begin(&p);
	for (unsigned round = 0; round < 1000; round++) {
		attach(&p);
		for (unsigned i = 0; i < 40; i++) {
			/* Now and then something good, to get further. */
			p.send.head = p.send.ends->head & ~(RING_ALIGN - 1u);
			p.send.tail = p.send.ends->tail;
			if (random_below(3) != 0)
				give(&p, 7, 1, payload, random_below(2000));
			else
				scribble(&p);
			full += !deliver(p.app, payload, random_below(sizeof(payload)));
			if (random_below(8) == 0)
				scribble(&p);
			taken += ops->poll(p.app, &worker);
			ops->depth(p.app, 7);
		}
		detach(&p);
	}
	assert_true(full > 1000 && taken > 10000 && sent_n > 10000);
	end(&p);
}

static bool scribbler_stop;

static void *
scribbler(void *arg)
{
	struct peer *p = arg;
	uint64_t state = 0x9999;

	while (!__atomic_load_n(&scribbler_stop, __ATOMIC_RELAXED)) {
		uint32_t *words = (uint32_t *)(void *)p->send.ends;

		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		/* Ends, and the lengths and flags of the first records, as fast as it can. */
		words[(state >> 8) % 2 * 16] = (uint32_t)(state >> 20) & ~63u;
		words[48 + (state >> 32) % 64 * 16] = (uint32_t)(state >> 40) % 70000;
		words[48 + (state >> 48) % 64 * 16 + 4] = (uint32_t)(state >> 33);
	}
	return NULL;
}

/* The same at the same time, from another thread: what was checked is what is used. */
static void
test_scribble_while(void **state)
{
	static uint8_t payload[2000];
	pthread_t thread;
	struct peer p;

	(void)state;
	begin(&p);
	for (unsigned round = 0; round < 40; round++) {
		attach(&p);
		scribbler_stop = false;
		assert_int_equal(pthread_create(&thread, NULL, scribbler, &p), 0);
		for (unsigned i = 0; i < 2000; i++) {
			deliver(p.app, payload, random_below(sizeof(payload)));
			ops->poll(p.app, &worker);
		}
		__atomic_store_n(&scribbler_stop, true, __ATOMIC_RELAXED);
		pthread_join(thread, NULL);
		detach(&p);
	}
	end(&p);
}

static int
start(void **state)
{
	struct err err;

	(void)state;
	if (!test_eal_start("0"))
		return -1;
	mempool = rte_pktmbuf_pool_create("datagrams", BUFFERS, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
					  SOCKET_ID_ANY);
	rcu = rcu_create(1, &err);
	if (mempool == NULL || rcu == NULL)
		return -1;
	worker.pool = mempool;
	udp_ring_init(rcu, 100);
	ops = udp_app_find("ring");
	return ops != NULL ? 0 : -1;
}

static int
stop(void **state)
{
	(void)state;
	rcu_destroy(rcu);
	rte_mempool_free(mempool);
	return rte_eal_cleanup();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_received),
		cmocka_unit_test(test_sent),
		cmocka_unit_test(test_bounded_per_loop),
		cmocka_unit_test(test_stalled),
		cmocka_unit_test(test_wake),
		cmocka_unit_test(test_closed),
		cmocka_unit_test(test_scribble),
		cmocka_unit_test(test_scribble_while),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
