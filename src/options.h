/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPTIONS_H
#define OPTIONS_H

/** @file The program's own options: what follows `--` on the command line. */

#include <stdbool.h>
#include <stdint.h>

#include "base.h"

#define BURST_MAX		512
#define BURST_DEFAULT		64
#define EXIT_ON_IDLE_DEFAULT_MS 500

/** Smallest --mbuf-size: headroom, and the largest frame of a 1500-byte MTU, which is
 * what the router's own messages need to fit in one buffer. */
#define MBUF_SIZE_MIN 1664

/** Ethernet header and FCS: what --max-pkt-len counts beside the IP packet. */
#define MAX_PKT_LEN_OVERHEAD 18

/** --config="(port,queue,lcore),..." as in l3fwd. */
struct queue_map {
	uint16_t port, queue;
	unsigned lcore;
};

struct options {
	bool interactive;
	const char *cmdline_file; /**< NULL: none */
	const char *ctl;	  /**< NULL: the default path; "none": no socket */
	unsigned exit_on_idle_ms; /**< 0: stay */
	unsigned stats_period;	  /**< seconds; 0: never */
	bool no_start;

	uint16_t rxq, txq;     /**< 0: chosen by us */
	uint16_t rxd, txd;     /**< 0: chosen by us */
	uint16_t burst;	       /**< 1 to BURST_MAX */
	uint16_t mbuf_size;    /**< data room of a buffer, headroom included; 0: default */
	uint32_t total_mbufs;  /**< of each pool; 0: computed */
	bool per_port_pool;    /**< a pool for each port instead of each NUMA socket */
	uint32_t max_pkt_len;  /**< largest frame with FCS, as testpmd's; 0: 1518 */
	bool rx_cksum;	       /**< received checksums are the driver's, where it can be believed */
	struct queue_map *map; /**< owned; each (port, queue) once */
	unsigned map_count;
};

/** argv[0] is the program; parses what EAL left. Strings in *options point into argv. 0; -EINVAL
 * (or -ENOMEM) with err and nothing to free; 1: --help or --version was asked and has been answered
 * on stdout. */
int options_parse(struct options *options, int argc, char **argv, struct err *err);
void options_free(struct options *options);
/** The text of --help. */
const char *options_help(void);

#endif
