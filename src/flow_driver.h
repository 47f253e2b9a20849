/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FLOW_DRIVER_H
#define FLOW_DRIVER_H

/**
 * @file
 * What a driver makes of flow rules beyond what rte_flow says, or against it: one
 * file a driver, named in the table of driver.c. A driver without one is taken at its word.
 */

#include "flow.h"

struct flow_place;

/** A rule as it is offered to a device. */
struct flow_shape {
	struct flow_line line; /**< what is said, in the driver's own terms */
	uint8_t kind;  /**< of the device's filters; the driver's own numbers, below FLOW_KINDS */
	uint8_t order; /**< of two that match, the device takes the one with the lower */
	bool bare_ip;  /**< for flow_offer_make() */
	bool numbered; /**< wants a number of its own on the port as its mark */
	const char *remark; /**< what the device does a little differently, or NULL */
};

#define FLOW_KINDS 4

/** Rules a port has in its device, by kind. */
struct flow_room {
	unsigned used[FLOW_KINDS];
	/** One of each kind, or NULL. */
	const struct flow_shape *example[FLOW_KINDS];
	uint32_t example_rule[FLOW_KINDS]; /**< its number */
};

struct flow_driver {
	/**
	 * Shape the rule for the device. attempt: 0, then 1 and so on when the device refused
	 * the one before. 0, or -ENOTSUP with a sentence that says why the device cannot have
	 * the rule and what would do; -EAGAIN: no further attempt makes sense.
	 */
	int (*shape)(const struct flow_line *line, unsigned attempt, struct flow_shape *shape,
		     struct err *err);
	/** Does it fit beside what the port has? 0, or -ENOSPC with a sentence. */
	int (*fit)(const struct flow_shape *shape, const struct flow_room *room, struct err *err);
	/** A rule of such a kind that is the last of its port leaves something behind in the driver
	 * unless no port of the driver has one. */
	bool (*lingers)(const struct flow_shape *shape);
	unsigned numbers; /**< for `numbered` rules, from 0 */
};

extern const struct flow_driver flow_driver_82599;

#endif
