/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VERDICT_H
#define VERDICT_H

/**
 * @file
 * Packet verdicts: what becomes of a frame before it is looked at as a packet.
 *
 * A port has at most one verdict of its own (`xdp set dev P ...`), asked first;
 * flow rules give the same verdicts as actions. One mechanism for both: functions
 * that take a burst and the places in it that share a fate, and do with them all
 * at once what is to be done. Nothing here copies a frame that is not shared,
 * however many segments it has.
 *
 * A port's verdict is immutable and published with one store; what it was before
 * is freed when no worker can see it any more.
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_lcore.h>

#include "base.h"
#include "program.h"
#include "stats.h"

struct burst;
struct place_list;
struct poll_list;
struct port;
struct worker;

enum verdict_kind {
	VERDICT_PASS,	  /**< goes its way */
	VERDICT_DROP,	  /**< xdp_drop */
	VERDICT_TX,	  /**< back out of the port it came in on, MAC addresses swapped */
	VERDICT_REDIRECT, /**< out of another port, as it is */
	VERDICT_CPU,	  /**< to another worker, which takes it on from here */
	VERDICT_PROGRAM,  /**< what a program says of each packet (lib/program) */
	VERDICT_KINDS,
};

/** Its word: "pass", "redirect cpu". Any thread. */
const char *verdict_name(enum verdict_kind kind);

/** What decides to which worker a packet goes. */
enum spread_by {
	SPREAD_OUTER, /**< the flow its outermost headers tell */
	SPREAD_INNER, /**< the flow inside its tunnels; without a tunnel, the same as outer */
	SPREAD_RR,    /**< one after the other, whatever flows they are of */
};

/** Workers that packets are handed to. Immutable. */
struct spread {
	uint8_t by;			/**< enum spread_by */
	uint16_t count;			/**< of workers */
	uint16_t worker[RTE_MAX_LCORE]; /**< their ids, each once */
};

/** Verdict of a port. Immutable. */
struct verdict {
	uint8_t kind;		 /**< enum verdict_kind */
	uint16_t port;		 /**< VERDICT_REDIRECT: out of this one */
	struct program *program; /**< VERDICT_PROGRAM; it counts, and keeps counters of its own */
	struct spread spread;	 /**< VERDICT_CPU; VERDICT_PROGRAM: all a program may name */
};

/** Packets given each verdict by one port, as one worker has seen it. */
struct verdict_counters {
	uint64_t packets[VERDICT_KINDS];
} __rte_cache_aligned;

/* --- for stages before input(); worker threads -------------------------------------- */

/*
 * Each of these takes packets of the burst in hand that were received on `port`:
 * those at `places` (ascending), or all of the burst when that is NULL. What it
 * consumes is counted as received, and its place set to NULL: the caller closes
 * the gaps when all its places are dealt with (burst_close_gaps). With NULL, the gaps are
 * closed already. Traced packets get their end here.
 */

/** Drop them for this reason. */
void verdict_drop(struct worker *w, struct burst *b, const struct place_list *places,
		  const struct port *port, enum drop_reason reason);
/** Swap the MAC addresses, and out of `port` again. Consumes all. */
void verdict_tx(struct worker *w, struct burst *b, const struct place_list *places,
		const struct port *port);
/** Out of port `to` unchanged; drops what is longer than its MTU allows. Consumes all. */
void verdict_redirect(struct worker *w, struct burst *b, const struct place_list *places,
		      const struct port *port, uint16_t to);

/** Where in the journey a worker goes on with a packet it was handed. */
enum resume {
	RESUME_CLASSIFY, /**< with the port's flow rules */
	RESUME_DEMUX,	 /**< behind them */
};
/**
 * To workers, over rings, in bursts. Packets for this very worker stay in the burst,
 * in their places, and the caller goes on with them. A full ring drops (redirect_full).
 * `by` of one worker only costs nothing: no header is read.
 */
void verdict_hand(struct worker *w, struct burst *b, const struct place_list *places,
		  const struct port *port, const struct spread *spread, enum resume from);

/** The verdict of the port the burst came in on; to be called when port->verdict is set. What stays
 * in the burst goes on. */
void verdict_burst(struct worker *w, struct burst *b, const struct port *port);

/** The same, for a verdict that is a program's. */
void verdict_program(struct worker *w, struct burst *b, const struct verdict *v,
		     const struct port *port);

/* --- worker loop --------------------------------------------------------------------- */

/** Give what has been gathered to the workers it is for. */
void verdict_flush(struct worker *w);
/** Take what other workers have handed to this one, and go on with it. Returns packets. */
unsigned verdict_take(struct worker *w, const struct poll_list *poll);

/* --- control thread ------------------------------------------------------------------- */

/**
 * Workers on these lcores, with rings from every other worker to them. An lcore without a worker
 * or named twice is refused with a sentence in err, and nothing has changed. 0 or a negative errno.
 * *spread is the caller's; rings stay until the end of the program.
 */
int spread_set(struct spread *spread, const unsigned *lcores, unsigned n, enum spread_by by,
	       struct err *err);
/** "outer", "inner" or "rr"; 0 or -EINVAL. */
int spread_by_parse(const char *word, enum spread_by *by);

/**
 * Make a program of an object (see program_load) the verdict. It may redirect to every port there
 * is and every lcore with a worker; rings to those are made if it can name them. The program in
 * *verdict is the caller's to free until verdict_set() has taken it.
 */
int verdict_load(struct verdict *verdict, const char *path, const char *section, struct err *err);

/** Give a port this verdict (copied) or, when NULL, none; workers see it within one loop. 0, or
 * -ENOMEM with err and nothing changed. A program is the port's then. */
int verdict_set(struct port *port, const struct verdict *verdict, struct err *err);
/** Take all verdicts off. After workers have ended. */
void verdicts_fini(void);

/** Longest text of a verdict: its words, and every lcore there can be or a program's path. */
#define VERDICT_TEXT (256 + 4 * RTE_MAX_LCORE + 2 * PROGRAM_PATH_MAX)
/** The words that follow `xdp set dev P`; returns text. */
const char *verdict_format(const struct verdict *verdict, char text[VERDICT_TEXT]);

/** Sum over workers, since the start. */
void verdict_counters_sum(uint16_t port, struct verdict_counters *sum);

struct console;
/** xdp ... */
void xdp_commands_register(struct console *console);

#endif
