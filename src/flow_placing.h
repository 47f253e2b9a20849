/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FLOW_PLACING_H
#define FLOW_PLACING_H

/** @file Which rules may be in hardware. Between flow_set.c and flow_placing.c. */

#include "flow_set.h"

/**
 * Offer a rule that is about to join its set, or is in it, to the devices of all its ports. Of
 * rules that may also be in software, those that would now act in the wrong order leave hardware.
 * 0, or (skip_sw) a negative errno with a sentence; then it is in no device.
 */
int flow_place(struct flow *flow, struct out *notes, struct err *err);
/** Offer the rules of the set to the device of a port that has come to share it. As above. */
int flow_place_all(struct flow_set *set, struct port *port, struct err *err);

#endif
