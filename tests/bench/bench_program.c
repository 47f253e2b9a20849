/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What a program costs: cycles (TSC) per packet of program_run() on bursts of 32, as machine
 * code and interpreted.
 *
 *     bench_program [EAL options] -- OBJECT SECTION [OBJECT SECTION...]
 *
 * UDP packets of 64 and 1500 bytes to one port; `near` takes the same 64 packets again and again,
 * `far` goes through 8,192, more than fit the nearer caches.
 */
#include <stdio.h>
#include <stdlib.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_mempool.h>

#include "program.h"

#define BURST	32
#define FAR	8192
#define NEAR	64
#define ROUNDS	15
#define PACKETS (1u << 20) /* per round */

static struct rte_mbuf *packets[FAR];

/* Ethernet, IPv4, UDP to port 53. */
static void
fill(struct rte_mbuf *m, uint16_t size)
{
	static const uint8_t head[] = {2,    0, 0,  0,	0, 1, 2,    0, 0,  0,  0, 2,  8,  0,
				       0x45, 0, 0,  50, 0, 0, 0,    0, 64, 17, 0, 0,  10, 0,
				       0,    1, 10, 0,	0, 2, 0x10, 0, 0,  53, 0, 30, 0,  0};
	uint8_t *data;

	rte_pktmbuf_reset(m);
	data = (uint8_t *)rte_pktmbuf_append(m, size);
	memset(data, 0, size);
	memcpy(data, head, sizeof(head));
	m->port = 0;
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Median cycles per packet. */
static double
measure(struct program *program, unsigned count)
{
	double rounds[ROUNDS];

	for (unsigned r = 0; r < ROUNDS; r++) {
		struct program_verdict verdicts[BURST];
		uint64_t began = rte_rdtsc();

		for (unsigned i = 0; i < PACKETS; i += BURST)
			program_run(program, NULL, packets + i % count, BURST, verdicts);
		rounds[r] = (double)(rte_rdtsc() - began) / PACKETS;
	}
	qsort(rounds, ROUNDS, sizeof(rounds[0]), by_value);
	return rounds[ROUNDS / 2];
}

static int
report(const char *object, const char *section)
{
	for (unsigned engine = 0; engine < 2; engine++) {
		struct program *program;
		struct err err;

		if (program_load(&program, object, section, (enum program_engine)engine, &err) !=
		    0) {
			fprintf(stderr, "%s\n", err.text);
			return 1;
		}
		for (uint16_t size = 64; size <= 1500; size += 1436) {
			for (unsigned i = 0; i < FAR; i++)
				fill(packets[i], size);
			printf("%-16s %3u instructions  %-11s  %4u B  near %6.1f  far %6.1f cycles/packet\n",
			       section, program_instructions(program),
			       program_is_native(program) ? "jit" : "interpreter", size,
			       measure(program, NEAR), measure(program, FAR));
		}
		program_free(program);
	}
	return 0;
}

int
main(int argc, char **argv)
{
	struct rte_mempool *pool;
	int used = rte_eal_init(argc, argv), status = 0;

	if (used < 0)
		return 1;
	pool = rte_pktmbuf_pool_create("packets", FAR, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
				       SOCKET_ID_ANY);
	if (pool == NULL || rte_pktmbuf_alloc_bulk(pool, packets, FAR) != 0) {
		fprintf(stderr, "no memory for %d packets\n", FAR);
		return 1;
	}
	if (argc - used < 3 || (argc - used) % 2 != 1) {
		fprintf(stderr, "usage: bench_program [EAL options] -- OBJECT SECTION...\n");
		return 2;
	}
	for (int i = used + 1; i + 1 < argc && status == 0; i += 2)
		status = report(argv[i], argv[i + 1]);
	rte_pktmbuf_free_bulk(packets, FAR);
	rte_mempool_free(pool);
	return status;
}
