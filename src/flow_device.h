/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FLOW_DEVICE_H
#define FLOW_DEVICE_H

/** @file Rules in devices: offered, taken back, counted. Between flow_set.c and flow_device.c. */

#include "flow_set.h"

/** The rules that apply on the port: its own, or a block's. Never NULL for a port that is there. */
struct flow_set *flow_set_of(const struct port *port);
/** Note something for flow_remarks(). */
void flow_remark(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** Shape a rule for a port's device and ask whether it would take it. 0, or a negative errno with a
 * sentence. */
int flow_device_check(const struct flow *flow, struct port *port, struct err *err);
/** Put it there: *place is added to flow->places. */
int flow_device_add(struct flow *flow, struct port *port, struct flow_place **place,
		    struct err *err);
/** Take it out again. */
void flow_device_remove(struct flow *flow, struct flow_place *place);
/** The rule's place in the port's device, or NULL. */
struct flow_place *flow_device_place(const struct flow *flow, const struct port *port);
/** Has the port's device any rule of ours? */
bool flow_device_used(const struct port *port);
/** What the device has counted; false: it does not count. */
bool flow_device_count(const struct flow_place *place, struct rule_counters *sum);

#endif
