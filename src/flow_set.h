/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FLOW_SET_H
#define FLOW_SET_H

/**
 * @file
 * Flow rules as the control thread keeps them: the rules of a port, or of a
 * block of ports that share one set; where each rule is (hardware, software, both);
 * and what is to be done when ports stop and start.
 *
 * Only rules that need software are in the classifier (classify.h). When a
 * set has none, its ports' workers do not enter it.
 *
 * A rule that is in hardware and in software must not change which rule a packet meets
 * first: hardware comes before all of software. So it is in hardware only if every rule that
 * comes before it and can match the same packet is there too, and asked earlier. Rules
 * with skip_sw are not held back by this: whoever writes the word wants hardware to act.
 *
 * Control thread only.
 */

#include "ruleset.h"
#include "flow.h"
#include "flow_driver.h"
#include "port.h"

/** A rule in a device. */
struct flow_place {
	struct flow_place *next; /**< of the same rule, in another port's device */
	struct port *port;
	struct rte_flow *handle;
	struct flow_shape shape;
	int number; /**< its own on the port, or -1 */
};

struct flow_kind;

struct flow {
	uint32_t id; /**< in its set */
	struct flow_set *set;
	struct flow_line line;
	struct rule *software;	   /**< NULL: not there */
	struct flow_place *places; /**< in devices */
	bool displaced;		   /**< was in hardware when its port stopped */
	struct flow_kind *kind;	   /**< flow_index.h, as is the next one */
	struct flow *neighbour;
	uint64_t waits; /**< ports, by bit, whose hardware can have it once other rules are gone */
};
static_assert(RTE_MAX_ETHPORTS <= 64, "a bit for each port");

#define FLOW_BLOCK_NAME 32

struct flow_set {
	char name[FLOW_BLOCK_NAME]; /**< of a block; of a port's own rules empty */
	struct port *ports[RTE_MAX_ETHPORTS];
	unsigned port_count;
	struct ruleset *software; /**< NULL until a rule needs it */
	struct flow **flows;	  /**< by id, which is by age */
	unsigned count, size;
	struct flow_kind *kinds; /**< flow_index.h */
	bool again; /**< rules have gone: those that wait for hardware are to be offered again */
	struct flow_set *next; /**< block */
};

/** A block by its name, or a port's own rules; where the port is in a block: `shared`: that one,
 * else refused. NULL with err filled. */
struct flow_set *flow_set_find(const char *word, bool shared, struct err *err);
/** Sets with rules or a name, ports in order and then blocks: for `show config`. NULL after the
 * last. */
struct flow_set *flow_set_next(const struct flow_set *set);
/** A port's own set, which stays where it is; not a block. */
bool flow_set_is_own(const struct flow_set *set);
/** Blocks, in order of their making. */
struct flow_set *flow_blocks(void);

/**
 * Give a set a rule. remarks: what else the user should know, a line each; may be NULL.
 * 0 and *flow, or a negative errno with a sentence and nothing left behind.
 */
int flow_create(struct flow_set *set, const struct flow_line *line, struct flow **flow,
		struct out *remarks, struct err *err);
/** Would it be taken? Nothing is changed. */
int flow_validate(struct flow_set *set, const struct flow_line *line, struct err *err);
/** The rule with this number, or NULL. */
struct flow *flow_find(const struct flow_set *set, uint32_t id);
/** Index in set->flows of the first rule whose number is not below id. */
unsigned flow_position(const struct flow_set *set, uint32_t id);
/** Take these out of the set, each of them in it once; from software all at once. */
void flow_destroy(struct flow_set *set, struct flow *const flows[], unsigned count);
void flow_flush(struct flow_set *set);

/** Make a block of these ports, or change which ports it is of. */
int flow_block_set(const char *name, struct port *const ports[], unsigned count, struct err *err);
/** Delete it and its rules. */
int flow_block_delete(const char *name, struct err *err);

/** Is it in the hardware of all its ports? */
bool flow_in_hardware(const struct flow *flow);

/** Packets and bytes of a rule, hardware and software added where that makes sense. */
struct flow_counts {
	uint64_t packets, bytes;
	bool uncounted; /**< hardware may have acted on more packets, which it does not count */
};
void flow_count(const struct flow *flow, struct flow_counts *counts);

/** Every tick: rules that were kept out of hardware are offered again where others have gone. */
void flows_poll(void);
/** Everything, hardware included; ports still run. Before the classifier goes. */
void flows_fini(void);

/* --- port.c calls the first two ----------------------------------------------------------- */

/** The device is about to be stopped: rules leave it. */
void flow_port_stopping(struct port *port);
/** It runs (again): rules go back. What cannot is told by flow_remarks(). */
void flow_port_started(struct port *port);
/** Print what has been noted since the last call. NULL, or JSON: on stdout. */
void flow_remarks(struct out *out);

#endif
