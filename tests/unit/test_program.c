/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Programs see the packet they are asked about and no byte more, change that packet
 * and no other, and mean what they return; machine code and interpreter agree.
 */
#include "test_program_common.h"

#define BUFFERS 511
#define ROOM	256 /* bytes of data a fresh buffer holds */
#define BYTES	9000

static struct rte_mempool *pool;
static const char *const v2 = "-mcpu=v2";

static void
assert_buffers_out(unsigned n)
{
	assert_int_equal(rte_mempool_avail_count(pool), BUFFERS - n);
}

static struct program *
load(const char *object, const char *section, enum program_engine engine)
{
	struct program *program = NULL;
	struct err err = {""};

	if (program_load(&program, object, section, engine, &err) != 0)
		fail_msg("%s", err.text);
	for (uint16_t i = 0; i < 8; i++) {
		program_allow(program, PROGRAM_TO_PORT, i);
		program_allow(program, PROGRAM_TO_WORKER, (uint16_t)(64 + i));
	}
	return program;
}

/* A packet of `size` bytes 0, 1, 2... (each byte its place modulo 251), in segments of at most
 * `most`. */
static struct rte_mbuf *
make_packet(unsigned size, unsigned most)
{
	struct rte_mbuf *packet = NULL;

	for (unsigned done = 0; done < size || packet == NULL;) {
		struct rte_mbuf *s = rte_pktmbuf_alloc(pool);
		unsigned n = RTE_MIN(most, size - done);
		uint8_t *data;

		assert_non_null(s);
		data = (uint8_t *)rte_pktmbuf_append(s, (uint16_t)n);
		assert_non_null(data);
		for (unsigned i = 0; i < n; i++)
			data[i] = (uint8_t)((done + i) % 251);
		done += n;
		if (packet == NULL)
			packet = s;
		else
			assert_int_equal(rte_pktmbuf_chain(packet, s), 0);
	}
	return packet;
}

static void
bytes_of(const struct rte_mbuf *m, uint8_t *bytes)
{
	const void *data = rte_pktmbuf_read(m, 0, m->pkt_len, bytes);

	assert_non_null(data);
	if (data != bytes)
		memcpy(bytes, data, m->pkt_len);
}

/* The packet is as made. */
static void
assert_bytes(const struct rte_mbuf *m, unsigned size)
{
	static uint8_t bytes[BYTES];

	assert_int_equal(m->pkt_len, size);
	bytes_of(m, bytes);
	for (unsigned i = 0; i < size; i++)
		assert_int_equal(bytes[i], i % 251);
}

static struct program_verdict
ask(struct program *program, struct rte_mbuf **packet)
{
	struct program_verdict verdict;

	program_run(program, pool, packet, 1, &verdict);
	return verdict;
}

/* What the program's counter k has come to. */
static uint64_t
counter(const struct program *program, unsigned k)
{
	struct program_counts counts;

	program_counts(program, &counts);
	return counts.counters[k];
}

static void
every_code_comes_back_and_is_counted(void **state)
{
	/* The packet's first byte is what is returned, less 3. */
	const char *object = compile(HEADER "NOREF_SECTION(\"code\")\n"
					    "int code(const struct noref_packet *p)\n"
					    "{ if (p->head[1] == 9) noref_redirect(p->head[2]);\n"
					    "  return (int)p->head[0] - 3; }\n",
				     v2);
	struct program *program = load(object, "code", PROGRAM_NATIVE);
	struct rte_mbuf *pkts[10];
	struct program_verdict verdicts[10];
	struct program_counts counts;

	(void)state;
	for (unsigned i = 0; i < 10; i++) {
		pkts[i] = make_packet(60, 60);
		rte_pktmbuf_mtod(pkts[i], uint8_t *)[0] = (uint8_t)i;
		rte_pktmbuf_mtod(pkts[i], uint8_t *)[1] = i == 7 ? 9 : 0;
	}
	program_run(program, pool, pkts, 10, verdicts);
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(verdicts[i].code, i >= 3 && i <= 7 ? i - 3 : XDP_ABORTED);
	assert_int_equal(verdicts[7].to, PROGRAM_TO_PORT);
	assert_int_equal(verdicts[7].target, 2);
	/* XDP_REDIRECT with nowhere to go is no verdict. */
	rte_pktmbuf_mtod(pkts[7], uint8_t *)[1] = 0;
	assert_int_equal(ask(program, &pkts[7]).code, XDP_ABORTED);
	program_counts(program, &counts);
	assert_int_equal(counts.codes[XDP_ABORTED], 5 + 1 + 1);
	assert_int_equal(counts.invalid, 5 + 1);
	for (unsigned i = XDP_DROP; i <= XDP_REDIRECT; i++)
		assert_int_equal(counts.codes[i], 1);
	assert_buffers_out(10);
	rte_pktmbuf_free_bulk(pkts, 10);
	assert_buffers_out(0);
	program_free(program);
}

static void
a_redirect_names_a_port_or_a_worker(void **state)
{
	const char *object = compile(HEADER "NOREF_SECTION(\"port\")\n"
					    "int port(const struct noref_packet *p)\n"
					    "{ return noref_redirect(p->port + 4); }\n"
					    "NOREF_SECTION(\"worker\")\n"
					    "int worker(const struct noref_packet *p)\n"
					    "{ noref_redirect(1);\n"
					    "  return noref_redirect_worker(p->hash); }\n",
				     v2);
	struct program *port = load(object, "port", PROGRAM_NATIVE),
		       *worker = load(object, "noref/worker", PROGRAM_NATIVE);
	static const uint32_t nowhere[] = {5,	    72,		127,	  128,
					   0x10041, UINT16_MAX, 1u << 31, UINT32_MAX};
	struct rte_mbuf *m = make_packet(60, 60);
	struct program_verdict v;

	(void)state;
	m->port = 3;
	v = ask(port, &m);
	assert_int_equal(v.code, XDP_REDIRECT);
	assert_int_equal(v.to, PROGRAM_TO_PORT);
	assert_int_equal(v.target, 7);
	m->hash.rss = 65;
	m->ol_flags |= RTE_MBUF_F_RX_RSS_HASH;
	v = ask(worker, &m);
	assert_int_equal(v.code, XDP_REDIRECT);
	assert_int_equal(v.to, PROGRAM_TO_WORKER);
	assert_int_equal(v.target, 65);
	assert_true(program_names_workers(worker) && !program_names_workers(port));
	/* Nowhere else, and a number does not become another by being cut off. */
	for (unsigned k = 0; k < RTE_DIM(nowhere); k++) {
		m->hash.rss = nowhere[k];
		assert_int_equal(ask(worker, &m).code, XDP_ABORTED);
		m->port = (uint16_t)(nowhere[k] - 4);
		if (nowhere[k] != 5)
			assert_int_equal(ask(port, &m).code, XDP_ABORTED);
	}
	/* Without the flag the field is something else's. */
	m->hash.rss = 65;
	m->ol_flags = 0;
	assert_int_equal(ask(worker, &m).code, XDP_ABORTED);
	rte_pktmbuf_free(m);
	program_free(port);
	program_free(worker);
}

static void
the_view_ends_where_the_packet_does(void **state)
{
	/* Drops unless the view is as port (the length) and hash (segments) say; counts the head,
	 * in words. */
	const char *object = compile(
		HEADER "NOREF_SECTION(\"view\")\n"
		       "int view(const struct noref_packet *p)\n"
		       "{\n"
		       "	const unsigned long long *q = (const void *)p->head;\n"
		       "	#pragma unroll\n"
		       "	for (unsigned i = 0; i < NOREF_HEAD / 8; i++)\n"
		       "		noref_count(i, q[i]);\n"
		       "	if (p->length != p->port || p->segments != p->hash)\n"
		       "		return XDP_DROP;\n"
		       "	if (p->held != (p->port < NOREF_HEAD ? p->port : NOREF_HEAD))\n"
		       "		return XDP_DROP;\n"
		       "	return XDP_PASS;\n"
		       "}\n",
		v2);
	struct program *program = load(object, "view", PROGRAM_NATIVE);
	const unsigned sizes[] = {200, 0, 1, 13, 14, 64, 127, 128, 129, 60, 8000};

	(void)state;
	for (unsigned most = 1; most <= 256; most = most == 1 ? 7 : most * 2 + 5) {
		for (unsigned k = 0; k < RTE_DIM(sizes); k++) {
			uint64_t before[NOREF_HEAD / 8], word[NOREF_HEAD / 8];
			struct rte_mbuf *m;

			if (sizes[k] / most > BUFFERS - 10)
				continue;
			m = make_packet(sizes[k], most);
			m->port = (uint16_t)sizes[k];
			m->hash.rss = m->nb_segs;
			m->ol_flags |= RTE_MBUF_F_RX_RSS_HASH;
			for (unsigned i = 0; i < NOREF_HEAD / 8; i++)
				before[i] = counter(program, i);
			assert_int_equal(ask(program, &m).code, XDP_PASS);
			memset(word, 0, sizeof(word));
			for (unsigned i = 0; i < NOREF_HEAD && i < sizes[k]; i++)
				((uint8_t *)word)[i] = (uint8_t)i;
			for (unsigned i = 0; i < NOREF_HEAD / 8; i++)
				assert_int_equal(counter(program, i) - before[i], word[i]);
			assert_bytes(m, sizes[k]);
			rte_pktmbuf_free(m);
		}
	}
	assert_buffers_out(0);
	program_free(program);
}

static void
a_masked_index_reaches_all_of_the_head(void **state)
{
	const char *object = compile(
		HEADER
		"NOREF_SECTION(\"index\")\n"
		"int index(const struct noref_packet *p)\n"
		"{\n"
		"	noref_count(0, *noref_at(p, p->port & 127));\n"
		"	noref_count(1, noref_be32(p, 4 + (p->port & 63) + (p->hash & 31)));\n"
		"	return XDP_PASS;\n"
		"}\n",
		v2);
	struct program *program = load(object, "index", PROGRAM_NATIVE);
	struct rte_mbuf *m = make_packet(200, 200);
	uint64_t bytes = 0, words = 0;

	(void)state;
	for (m->port = 0; m->port < 128; m->port++) {
		unsigned at = 4 + (m->port & 63u);

		assert_int_equal(ask(program, &m).code, XDP_PASS);
		bytes += m->port;
		words += at << 24 | (at + 1) << 16 | (at + 2) << 8 | (at + 3);
		assert_int_equal(counter(program, 0), bytes);
		assert_int_equal(counter(program, 1), words);
	}
	rte_pktmbuf_free(m);
	program_free(program);
}

/* offset and length of a helper's call come from the first 16 bytes of the packet. */
#define FROM_PACKET                                                                                \
	HEADER "#define OFFSET (*(unsigned long long *)p->head)\n"                                 \
	       "#define LENGTH (*(unsigned long long *)(p->head + 8))\n"

/* Put them there; returns the packet. */
static struct rte_mbuf *
with_arguments(unsigned size, unsigned most, uint64_t offset, uint64_t length)
{
	struct rte_mbuf *m = make_packet(size, most);

	assert_true(m->data_len >= 16);
	memcpy(rte_pktmbuf_mtod(m, void *), &offset, 8);
	memcpy(rte_pktmbuf_mtod_offset(m, void *, 8), &length, 8);
	return m;
}

static const struct {
	uint64_t offset, length;
} bounds[] = {
	{0, 0},
	{0, 64},
	{0, 65},
	{15, 1},
	{16, 16},
	{99, 1},
	{99, 2},
	{100, 0},
	{100, 1},
	{101, 0},
	{36, 64},
	{37, 64},
	{UINT64_MAX, 1},
	{UINT64_MAX, 2},
	{UINT64_MAX - 3, 10},
	{10, UINT64_MAX},
	{UINT32_MAX, 2},
	{1ull << 32, 4},
	{(1ull << 32) + 16, 4},
	{16, (1ull << 32) + 4},
	{UINT64_MAX, UINT64_MAX},
	{INT64_MAX, 64},
	{1ull << 63, 1},
	{20, 0},
	{60, 40},
	{61, 40},
};

static bool
is_inside(uint64_t offset, uint64_t length)
{
	return length <= 64 && offset <= 100 && offset + length <= 100;
}

static void
a_load_stays_inside_packet_and_block(void **state)
{
	/* Sums up what it loaded into counter 1; the block begins as 64 times 1. */
	const char *object =
		compile(FROM_PACKET "NOREF_SECTION(\"load\")\n"
				    "int load(const struct noref_packet *p)\n"
				    "{\n"
				    "	struct noref_block b;\n"
				    "	unsigned long long sum = 0; unsigned i;\n"
				    "	__builtin_memset(&b, 1, sizeof(b));\n"
				    "	long long rc = noref_load(OFFSET, &b, LENGTH);\n"
				    "	#pragma unroll\n"
				    "	for (i = 0; i < NOREF_BLOCK; i++) sum += b.bytes[i];\n"
				    "	noref_count(1, sum);\n"
				    "	return rc == 0 ? XDP_PASS : rc == -1 ? XDP_DROP : XDP_TX;\n"
				    "}\n",
			v2);
	(void)state;
	for (unsigned engine = 0; engine < 2; engine++) {
		struct program *program = load(object, "load", (enum program_engine)engine);

		for (unsigned most = 16; most <= 256; most *= 4) {
			for (unsigned k = 0; k < RTE_DIM(bounds); k++) {
				uint64_t offset = bounds[k].offset, length = bounds[k].length;
				bool good = is_inside(offset, length);
				struct rte_mbuf *m = with_arguments(100, most, offset, length);
				uint64_t before = counter(program, 1), sum = 0;
				uint8_t bytes[100];

				bytes_of(m, bytes);
				for (unsigned i = 0; i < 64; i++)
					sum += good && i < length ? bytes[offset + i] : 1;
				assert_int_equal(ask(program, &m).code, good ? XDP_PASS : XDP_DROP);
				assert_int_equal(counter(program, 1) - before, sum);
				rte_pktmbuf_free(m);
			}
		}
		program_free(program);
	}
	assert_buffers_out(0);
}

/* Stores 0xee or what it says into the packet, and drops if the view does not show it. */
static const char *
compile_store(void)
{
	return compile(FROM_PACKET "NOREF_SECTION(\"store\")\n"
				   "int store(const struct noref_packet *p)\n"
				   "{\n"
				   "	struct noref_block b; int rc;\n"
				   "	unsigned long long offset = OFFSET;\n"
				   "	__builtin_memset(&b, 0xee, sizeof(b));\n"
				   "	rc = noref_store(offset, &b, LENGTH);\n"
				   "	if (rc == 0 && offset == 50 && p->head[50] != 0xee)\n"
				   "		return XDP_TX;\n"
				   "	return rc == 0 ? XDP_PASS : XDP_DROP;\n"
				   "}\n",
		       v2);
}

static void
a_store_changes_its_bytes_and_no_other(void **state)
{
	const char *object = compile_store();
	uint8_t arguments[100];

	(void)state;
	for (unsigned engine = 0; engine < 2; engine++) {
		struct program *program = load(object, "store", (enum program_engine)engine);

		for (unsigned most = 16; most <= 256; most *= 4) {
			for (unsigned k = 0; k < RTE_DIM(bounds); k++) {
				uint64_t offset = bounds[k].offset, length = bounds[k].length;
				bool good = is_inside(offset, length);
				struct rte_mbuf *m = with_arguments(100, most, offset, length);
				struct rte_mbuf *same = m;

				bytes_of(m, arguments);
				assert_int_equal(ask(program, &m).code, good ? XDP_PASS : XDP_DROP);
				assert_ptr_equal(m, same);
				if (offset >= 16 || !good) {
					/* Arguments as they were, then the pattern, then 0xee. */
					uint8_t bytes[100];

					bytes_of(m, bytes);
					assert_memory_equal(bytes, arguments, 16);
					for (unsigned i = 16; i < 100; i++)
						assert_int_equal(bytes[i],
								 good && i >= offset &&
										 i < offset + length
									 ? 0xee
									 : i);
				}
				rte_pktmbuf_free(m);
			}
		}
		/* Seen at once in the program's own view. */
		struct rte_mbuf *m = with_arguments(100, 100, 50, 1);

		assert_int_equal(ask(program, &m).code, XDP_PASS);
		rte_pktmbuf_free(m);
		program_free(program);
	}
	assert_buffers_out(0);
}

/* The program's view will do for a block: bytes move within the packet, and the view follows. */
static void
a_store_may_come_from_the_view(void **state)
{
	const char *object = compile(
		HEADER
		"NOREF_SECTION(\"move\")\n"
		"int move(const struct noref_packet *p)\n"
		"{\n"
		"	if (noref_store(4, (const struct noref_block *)p->head, 60)) return XDP_DROP;\n"
		"	return p->head[3] == 3 && p->head[4] == 0 && p->head[63] == 59 ? XDP_PASS : XDP_TX;\n"
		"}\n",
		v2);
	struct program *program = load(object, "move", PROGRAM_NATIVE);
	struct rte_mbuf *m = make_packet(100, 7);
	uint8_t bytes[100];

	(void)state;
	assert_int_equal(ask(program, &m).code, XDP_PASS);
	bytes_of(m, bytes);
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(bytes[i], i >= 4 && i < 64 ? i - 4 : i);
	rte_pktmbuf_free(m);
	program_free(program);
}

static void
nobody_else_sees_a_store(void **state)
{
	struct program *program = load(compile_store(), "store", PROGRAM_NATIVE);
	const unsigned offsets[] = {20, 100, 150, 250, 290};
	uint8_t ee[64];

	(void)state;
	memset(ee, 0xee, sizeof(ee));
	for (unsigned k = 0; k < RTE_DIM(offsets); k++) {
		/* Three segments of 100; a clone shares them all, and either of the two is written
		 * to. */
		for (unsigned which = 0; which < 2; which++) {
			struct rte_mbuf *m = with_arguments(300, 100, offsets[k], 10);
			struct rte_mbuf *clone = rte_pktmbuf_clone(m, pool),
					*kept = which ? m : clone, *written = which ? clone : m;
			uint8_t before[300], after[300];

			assert_non_null(clone);
			written->port = 5;
			bytes_of(kept, before);
			assert_int_equal(ask(program, &written).code, XDP_PASS);
			bytes_of(kept, after);
			assert_memory_equal(before, after, 300);
			memcpy(after + offsets[k], ee, 10);
			bytes_of(written, before);
			assert_memory_equal(before, after, 300);
			assert_int_equal(written->port, 5);
			assert_int_equal(rte_mbuf_check(written, 1, &(const char *){NULL}), 0);
			assert_int_equal(rte_mbuf_check(kept, 1, &(const char *){NULL}), 0);
			rte_pktmbuf_free(written);
			bytes_of(kept, after);
			rte_pktmbuf_free(kept);
			assert_buffers_out(0);
		}
	}
	program_free(program);
}

static void
a_packet_held_twice_is_copied_from_its_head(void **state)
{
	struct program *program = load(compile_store(), "store", PROGRAM_NATIVE);
	struct rte_mbuf *held = with_arguments(300, 100, 150, 10), *m = held;
	struct program_counts counts;
	uint8_t bytes[300];

	(void)state;
	/* Both follow the same links, so those of the copy must be its own from the beginning. */
	rte_pktmbuf_refcnt_update(held, 1);
	assert_int_equal(ask(program, &m).code, XDP_PASS);
	assert_ptr_not_equal(m, held);
	program_counts(program, &counts);
	assert_int_equal(counts.copies, 2); /* the last segment is still shared */
	assert_buffers_out(5);
	bytes_of(held, bytes);
	assert_int_equal(bytes[150], 150);
	bytes_of(m, bytes);
	assert_int_equal(bytes[150], 0xee);
	rte_pktmbuf_free(m);
	bytes_of(held, bytes);
	assert_int_equal(bytes[299], 299 % 251);
	rte_pktmbuf_free(held);
	assert_buffers_out(0);
	program_free(program);
}

static unsigned external_freed;

static void
external_free(void *memory, void *opaque)
{
	(void)opaque;
	external_freed++;
	free(memory);
}

/* A packet of 3,000 bytes in one piece of memory of our own, held `holders` times. */
static struct rte_mbuf *
external_packet(struct rte_mbuf_ext_shared_info *shared, uint16_t holders)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
	uint8_t *memory = malloc(3000);

	assert_non_null(m);
	assert_non_null(memory);
	for (unsigned i = 0; i < 3000; i++)
		memory[i] = (uint8_t)(i % 251);
	shared->free_cb = external_free;
	shared->fcb_opaque = NULL;
	rte_mbuf_ext_refcnt_set(shared, holders);
	rte_pktmbuf_attach_extbuf(m, memory, (rte_iova_t)(uintptr_t)memory, 3000, shared);
	m->data_off = 0;
	assert_non_null(rte_pktmbuf_append(m, 3000));
	return m;
}

static void
external_memory_is_written_only_by_its_one_holder(void **state)
{
	struct program *program = load(compile_store(), "store", PROGRAM_NATIVE);
	uint64_t arguments[2] = {2500, 10};

	(void)state;
	for (uint16_t holders = 1; holders <= 2; holders++) {
		struct rte_mbuf_ext_shared_info shared;
		struct rte_mbuf *m = external_packet(&shared, holders);
		uint8_t *memory = m->buf_addr, bytes[3000];

		memcpy(memory, arguments, sizeof(arguments));
		external_freed = 0;
		assert_int_equal(ask(program, &m).code, XDP_PASS);
		bytes_of(m, bytes);
		assert_int_equal(bytes[2500], 0xee);
		assert_int_equal(memory[2500], holders == 1 ? 0xee : 2500 % 251);
		/* 3,000 bytes do not fit one of our buffers. */
		assert_int_equal(m->nb_segs, holders == 1 ? 1 : 3000 / ROOM + 1);
		assert_int_equal(rte_mbuf_check(m, 1, &(const char *){NULL}), 0);
		rte_pktmbuf_free(m);
		assert_int_equal(external_freed, holders == 1 ? 1 : 0);
		if (holders == 2)
			free(memory);
		assert_buffers_out(0);
	}
	program_free(program);
}

static void
without_a_buffer_nothing_is_changed(void **state)
{
	struct program *program = load(compile_store(), "store", PROGRAM_NATIVE);
	struct rte_mbuf *m = with_arguments(300, 100, 95, 10), *clone = rte_pktmbuf_clone(m, pool);
	struct rte_mbuf *all[BUFFERS];
	uint8_t before[300], after[300];
	unsigned n = 0;

	(void)state;
	assert_non_null(clone);
	bytes_of(clone, before);
	/* One is left: enough for the first segment, not for the second. */
	while ((all[n] = rte_pktmbuf_alloc(pool)) != NULL)
		n++;
	rte_pktmbuf_free(all[--n]);
	assert_int_equal(ask(program, &m).code, XDP_DROP);
	bytes_of(clone, after);
	assert_memory_equal(before, after, 300);
	bytes_of(m, after);
	assert_memory_equal(before, after, 300);
	rte_pktmbuf_free_bulk(all, n);
	rte_pktmbuf_free(m);
	rte_pktmbuf_free(clone);
	assert_buffers_out(0);
	program_free(program);
}

static void
numbers_are_read_and_written_in_network_order(void **state)
{
	const char *object = compile(
		FROM_PACKET
		"NOREF_SECTION(\"get\")\n"
		"int get(const struct noref_packet *p)\n"
		"{ noref_count(0, noref_get(OFFSET, LENGTH)); return XDP_PASS; }\n"
		"NOREF_SECTION(\"put\")\n"
		"int put(const struct noref_packet *p)\n"
		"{ return noref_put(OFFSET, LENGTH, 0x11223344a1b2c3d4ull) ? XDP_DROP : XDP_PASS; }\n",
		v2);
	struct program *get = load(object, "get", PROGRAM_NATIVE),
		       *put = load(object, "put", PROGRAM_NATIVE);
	static const uint8_t written[4] = {0xa1, 0xb2, 0xc3, 0xd4};

	(void)state;
	for (unsigned most = 16; most <= 256; most *= 4) {
		for (uint64_t size = 0; size <= 9; size++) {
			for (uint64_t offset = 16; offset <= 101; offset++) {
				bool good = (size == 1 || size == 2 || size == 4) &&
					    offset + size <= 100;
				struct rte_mbuf *m = with_arguments(100, most, offset, size);
				uint64_t value = 0, before = counter(get, 0);
				uint8_t bytes[100];

				for (unsigned i = 0; i < size; i++)
					value = value << 8 | (offset + i);
				assert_int_equal(ask(get, &m).code, XDP_PASS);
				assert_int_equal(counter(get, 0) - before,
						 good ? value : UINT64_MAX);
				assert_int_equal(ask(put, &m).code, good ? XDP_PASS : XDP_DROP);
				bytes_of(m, bytes);
				for (unsigned i = 16; i < 100; i++)
					assert_int_equal(bytes[i],
							 good && i >= offset && i < offset + size
								 ? written[4 - size + i - offset]
								 : i);
				rte_pktmbuf_free(m);
			}
		}
	}
	assert_buffers_out(0);
	program_free(get);
	program_free(put);
}

static void
counters_are_sixteen(void **state)
{
	const char *object =
		compile(HEADER "NOREF_SECTION(\"count\")\n"
			       "int count(const struct noref_packet *p)\n"
			       "{ return noref_count(p->hash, p->port) ? XDP_DROP : XDP_PASS; }\n",
			v2);
	struct program *program = load(object, "count", PROGRAM_NATIVE);
	struct rte_mbuf *m = make_packet(60, 60);

	(void)state;
	m->ol_flags |= RTE_MBUF_F_RX_RSS_HASH;
	m->port = 1000;
	for (m->hash.rss = 0; m->hash.rss < 20; m->hash.rss++)
		assert_int_equal(ask(program, &m).code, m->hash.rss < 16 ? XDP_PASS : XDP_DROP);
	for (unsigned k = 0; k < NOREF_COUNTERS; k++)
		assert_int_equal(counter(program, k), 1000);
	rte_pktmbuf_free(m);
	program_free(program);
}

/* Everything an eBPF program does with numbers, on numbers from the packet. */
static const char arithmetic[] = HEADER
	"NOREF_SECTION(\"mix\")\n"
	"int mix(const struct noref_packet *p)\n"
	"{\n"
	"	const unsigned long long *q = (const void *)p->head;\n"
	"	const int *d = (const void *)p->head;\n"
	"	const unsigned short *h = (const void *)p->head;\n"
	"	unsigned long long a = q[0], b = q[1], c = q[2];\n"
	"	a += b * c; a ^= b >> (c & 63); a -= c << (b & 63);\n"
	"	noref_count(0, a);\n"
	"	noref_count(1, (c & 7) == 0 ? b / (a | 1) : b % (a | 1));\n"
	"	noref_count(2, (long long)b >> (a & 63));\n"
	"	noref_count(3, (unsigned)(d[6] + d[7]) / ((unsigned)d[8] | 1));\n"
	"	noref_count(4, (d[6] ^ d[9]) >> (d[8] & 31));\n"
	"	noref_count(5, (unsigned)d[6] % ((unsigned)d[9] | 1));\n"
	"	noref_count(6, __builtin_bswap64(q[5]) + __builtin_bswap32(d[12]) + __builtin_bswap16(h[26]));\n"
	"	noref_count(7, -q[6] + ~q[7]);\n"
	"	if ((long long)q[8] < (long long)q[9]) noref_count(8, 1);\n"
	"	if (q[8] < q[9]) noref_count(9, 1);\n"
	"	if ((long long)q[8] >= -5) noref_count(10, 1);\n"
	"	if (d[20] > d[21]) noref_count(11, d[20]);\n"
	"	if (q[10] & q[11]) noref_count(12, 1);\n"
	"	noref_count(13, (unsigned)d[24] << (d[25] & 31));\n"
	"	noref_count(14, d[26] * d[27]);\n"
	"	noref_count(15, q[14] / q[15]);\n"
	"	return (int)(a % 7);\n"
	"}\n";

static void
machine_code_and_interpreter_agree(void **state)
{
	static const char *const flags[] = {"-mcpu=v1", "-mcpu=v2", "-mcpu=v2 -O1", "-mcpu=v2 -g"};

	(void)state;
	srandom(1);
	for (unsigned k = 0; k < RTE_DIM(flags); k++) {
		const char *object = compile(arithmetic, flags[k]);
		struct program *native = load(object, "mix", PROGRAM_NATIVE),
			       *interpreted = load(object, "mix", PROGRAM_INTERPRET);

		assert_false(program_is_native(interpreted));
#ifdef RTE_ARCH_X86_64
		assert_true(program_is_native(native));
#endif
		for (unsigned i = 0; i < 20000; i++) {
			struct rte_mbuf *m = make_packet(128, 128);
			struct program_verdict a, b;

			for (unsigned w = 0; w < 128; w += 4) {
				static const uint32_t edges[] = {0,	    1,	      UINT32_MAX,
								 INT32_MAX, 1u << 31, 0xffff};
				uint32_t r = (uint32_t)random();
				uint32_t value = r % 4 == 0 ? edges[r / 4 % RTE_DIM(edges)]
							    : r * 2654435761u;

				memcpy(rte_pktmbuf_mtod_offset(m, void *, w), &value, 4);
			}
			a = ask(native, &m);
			b = ask(interpreted, &m);
			assert_int_equal(a.code, b.code);
			rte_pktmbuf_free(m);
		}
		for (unsigned c = 0; c < NOREF_COUNTERS; c++)
			assert_int_equal(counter(native, c), counter(interpreted, c));
		program_free(native);
		program_free(interpreted);
	}
}

/* Helpers are called with the stack wherever the program's frame leaves it. */
static void
helpers_work_from_any_depth_of_stack(void **state)
{
	(void)state;
	for (unsigned words = 1; words <= 4; words++) {
		char source[1024];
		struct program *program;
		struct rte_mbuf *m = make_packet(300, 7);

		snprintf(
			source, sizeof(source),
			HEADER
			"NOREF_SECTION(\"deep\")\n"
			"int deep(const struct noref_packet *p)\n"
			"{\n"
			"	volatile unsigned long long w[%u];\n"
			"	struct noref_block b;\n"
			"	w[0] = p->length; w[%u - 1] = p->held;\n"
			"	if (noref_load(100, &b, 64) || noref_store(1, &b, 64)) return XDP_DROP;\n"
			"	return noref_get(64, 1) == 163 && w[0] >= w[%u - 1] ? XDP_PASS : XDP_TX;\n"
			"}\n",
			words, words, words);
		program = load(compile(source, v2), "deep", PROGRAM_NATIVE);
		assert_int_equal(ask(program, &m).code, XDP_PASS);
		rte_pktmbuf_free(m);
		program_free(program);
	}
	assert_buffers_out(0);
}

static int
start(void **state)
{
	(void)state;
	if (start_eal("test-program") != 0)
		return -1;
	/* No cache: what is available is known to the last buffer. */
	pool = rte_pktmbuf_pool_create("packets", BUFFERS, 0, 0, RTE_PKTMBUF_HEADROOM + ROOM,
				       SOCKET_ID_ANY);
	return pool == NULL ? -1 : 0;
}

static int
end(void **state)
{
	(void)state;
	rte_mempool_free(pool);
	return remove_folder();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_code_comes_back_and_is_counted),
		cmocka_unit_test(a_redirect_names_a_port_or_a_worker),
		cmocka_unit_test(the_view_ends_where_the_packet_does),
		cmocka_unit_test(a_masked_index_reaches_all_of_the_head),
		cmocka_unit_test(a_load_stays_inside_packet_and_block),
		cmocka_unit_test(a_store_changes_its_bytes_and_no_other),
		cmocka_unit_test(a_store_may_come_from_the_view),
		cmocka_unit_test(nobody_else_sees_a_store),
		cmocka_unit_test(a_packet_held_twice_is_copied_from_its_head),
		cmocka_unit_test(external_memory_is_written_only_by_its_one_holder),
		cmocka_unit_test(without_a_buffer_nothing_is_changed),
		cmocka_unit_test(numbers_are_read_and_written_in_network_order),
		cmocka_unit_test(counters_are_sixteen),
		cmocka_unit_test(machine_code_and_interpreter_agree),
		cmocka_unit_test(helpers_work_from_any_depth_of_stack),
	};

	return cmocka_run_group_tests(tests, start, end);
}
