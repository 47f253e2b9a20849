/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which rules may be in hardware, and what becomes of them when ports stop and start.
 *
 * Hardware acts before software. For a rule that is in both this must make no
 * difference: no packet may meet it in hardware that would have met another
 * rule first. See flow_set.h.
 */
#include "flow_placing.h"

#include <errno.h>
#include <stdlib.h>

#include "driver.h"
#include "flow_device.h"
#include "flow_index.h"

/* Does a come before b, as first match by priority goes? */
static bool
precedes(const struct flow *a, const struct flow *b)
{
	const struct flow_rule *r = &a->line.rule, *s = &b->line.rule;

	return r->priority != s->priority ? r->priority < s->priority : a->id < b->id;
}

/* Would the device ask a before b? */
static bool
device_asks_first(const struct flow_place *a, const struct flow_place *b)
{
	if (a->port->about->flow != NULL)
		return a->shape.order < b->shape.order;
	/* rte_flow leaves the order of equal priorities open. */
	return a->shape.line.rule.priority < b->shape.line.rule.priority;
}

/* Does it make no difference to a packet which of the two it meets first? */
static bool
are_alike(const struct flow *a, const struct flow *b)
{
	const struct flow_rule *r = &a->line.rule, *s = &b->line.rule;

	return r->fate == s->fate && r->fate != FLOW_PASSTHRU && r->target == s->target &&
	       !r->mark && !s->mark && !a->line.count && !b->line.count;
}

static bool
can_meet(const struct flow *a, const struct flow *b)
{
	return a->line.rule.group == b->line.rule.group && !are_alike(a, b) &&
	       flow_overlap(&a->line.rule, &b->line.rule);
}

/* A rule before this one that a packet of it could meet, and that is not in the port's hardware,
 * or (place: where this one is there) would not be asked before it; NULL: none. */
static const struct flow *
overtaken(const struct flow *flow, const struct port *port, const struct flow_place *place)
{
	const struct flow *other;
	struct flow_cursor cursor;

	flow_meeting(&cursor, flow);
	while ((other = flow_meeting_next(&cursor)) != NULL) {
		const struct flow_place *there;

		if (other == flow || !precedes(other, flow) || !can_meet(other, flow))
			continue;
		there = flow_device_place(other, port);
		if (there == NULL || (place != NULL && !device_asks_first(there, place)))
			return other;
	}
	return NULL;
}

/* Rules behind this one that are in the port's hardware and would now overtake it: they leave,
 * if software has them. place: of this rule, NULL if it is not in that hardware. */
static void
push_back(const struct flow *flow, const struct port *port, const struct flow_place *place,
	  struct out *notes)
{
	struct flow_cursor cursor;
	struct flow *other;

	flow_meeting(&cursor, flow);
	while ((other = flow_meeting_next(&cursor)) != NULL) {
		struct flow_place *there = flow_device_place(other, port);

		if (there == NULL || other == flow || !precedes(flow, other) ||
		    (place != NULL && device_asks_first(place, there)) || !can_meet(flow, other))
			continue;
		if (other->software != NULL) {
			flow_device_remove(other, there);
			other->waits |= RTE_BIT64(port->id);
			flow->set->again = true;
		}
		if (notes != NULL)
			out_text(
				notes,
				other->software != NULL
					? "rule #%u comes after this one and has left the hardware of port %u\n"
					: "rule #%u is in hardware only and acts before this one on port %u\n",
				other->id, port->id);
	}
}

/* Is a rule that software has as well worth an offer? Groups are left to software: a device asks
 * one only if the jump to it is there, too. */
static bool
is_for_both(const struct flow *flow)
{
	return flow->line.rule.group == 0 && flow->line.rule.fate != FLOW_JUMP;
}

/* May the rule be in the port's hardware as far as the order of rules goes? As for overtaken(). */
static int
check_order(const struct flow *flow, const struct port *port, const struct flow_place *place,
	    struct err *err)
{
	const struct flow *other;

	if (flow->line.placement == FLOW_SKIP_SW)
		return 0;
	other = overtaken(flow, port, place);
	if (other == NULL)
		return 0;
	return err_set(err, EBUSY, "hardware would act on it before rule #%u, which comes first",
		       other->id);
}

static int
try_device(struct flow *flow, struct port *port, struct err *err)
{
	struct flow_place *place;
	int rc;

	if (flow->line.placement == FLOW_SKIP_HW)
		return err_set(err, ENOTSUP, "it is to be in software (skip_hw)");
	if (flow->line.placement == FLOW_ANYWHERE && !is_for_both(flow))
		return err_set(err, ENOTSUP, "groups are left to software");
	/* Not to trouble the device for nothing. */
	rc = check_order(flow, port, NULL, err);
	if (rc == 0)
		rc = flow_device_add(flow, port, &place, err);
	if (rc < 0)
		return rc;
	rc = check_order(flow, port, place, err);
	if (rc < 0)
		flow_device_remove(flow, place);
	return rc;
}

/* Offer the rule to one device, if it is to be there. 0, or why it is not. */
static int
offer_to(struct flow *flow, struct port *port, struct err *err)
{
	int rc = try_device(flow, port, err);

	if (rc == -ENOSPC || rc == -EBUSY || rc == -ENOMEM || rc == -EAGAIN)
		flow->waits |= RTE_BIT64(port->id);
	else
		flow->waits &= ~RTE_BIT64(port->id);
	return rc;
}

/* The rule is where it is to be: see to the others, and say what is to be known. */
static void
settle(const struct flow *flow, const struct port *port, struct out *notes)
{
	const struct flow_place *place = flow_device_place(flow, port);
	const struct flow *other;

	if (notes != NULL && place != NULL && place->shape.remark != NULL)
		out_text(notes, "port %u: %s\n", port->id, place->shape.remark);
	other = place != NULL && notes != NULL ? overtaken(flow, port, place) : NULL;
	if (other != NULL)
		out_text(notes, "port %u: hardware acts on this rule before it comes to rule #%u\n",
			 port->id, other->id);
	if (flow_device_used(port))
		push_back(flow, port, place, notes);
}

int
flow_place(struct flow *flow, struct out *notes, struct err *err)
{
	const struct flow_set *set = flow->set;
	struct err reason;
	int rc;

	for (unsigned p = 0; p < set->port_count; p++) {
		rc = offer_to(flow, set->ports[p], &reason);
		if (rc < 0 && flow->line.placement == FLOW_SKIP_SW) {
			*err = reason;
			return err_prefix(err, rc, "skip_sw");
		}
	}
	for (unsigned p = 0; p < set->port_count; p++)
		settle(flow, set->ports[p], notes);
	return 0;
}

/* --- all rules of a set ---------------------------------------------------------------------- */

static int
compare(const void *a, const void *b)
{
	const struct flow *f = *(struct flow *const *)a, *g = *(struct flow *const *)b;

	return precedes(f, g) ? -1 : precedes(g, f);
}

/* The rules as packets meet them, to be freed: one goes to hardware after those before it. */
static struct flow **
in_order(const struct flow_set *set)
{
	struct flow **flows = calloc(set->count + 1, sizeof(*flows));

	if (flows == NULL)
		return NULL;
	for (unsigned i = 0; i < set->count; i++)
		flows[i] = set->flows[i];
	qsort(flows, set->count, sizeof(*flows), compare);
	return flows;
}

int
flow_place_all(struct flow_set *set, struct port *port, struct err *err)
{
	struct flow **flows = in_order(set);
	int rc = 0;

	if (flows == NULL)
		return err_set(err, ENOMEM, "no memory");
	for (unsigned i = 0; i < set->count; i++) {
		struct err reason;

		rc = offer_to(flows[i], port, &reason);
		if (rc < 0 && flows[i]->line.placement == FLOW_SKIP_SW) {
			*err = reason;
			err_prefix(err, rc, "skip_sw rule #%u", flows[i]->id);
			break;
		}
		rc = 0;
		settle(flows[i], port, NULL);
	}
	free(flows);
	return rc;
}

/* --- ports that stop and start ------------------------------------------------------------- */

void
flow_port_stopping(struct port *port)
{
	struct flow_set *set = flow_set_of(port);

	for (unsigned i = 0; i < set->count; i++) {
		struct flow *flow = set->flows[i];
		struct flow_place *place = flow_device_place(flow, port);

		flow->displaced = place != NULL;
		if (place != NULL)
			flow_device_remove(flow, place);
	}
}

/* Rules that did not go back. */
struct lost {
	unsigned count;
	const struct flow *first;
	struct err reason; /* of the first */
};

static void
put_back(struct flow *flow, struct port *port, struct lost *lost)
{
	bool wanted = flow->displaced || flow->line.placement == FLOW_SKIP_SW;
	struct err reason;
	int rc = offer_to(flow, port, &reason);

	settle(flow, port, NULL);
	if (rc == 0 || !wanted || lost->count++ > 0)
		return;
	lost->first = flow;
	lost->reason = reason;
}

/* Rules that were there when the port stopped come first: the others may want what they need. */
void
flow_port_started(struct port *port)
{
	struct flow_set *set = flow_set_of(port);
	struct flow **flows = set->count != 0 ? in_order(set) : NULL;
	struct lost lost = {.count = 0};

	if (set->count != 0 && flows == NULL)
		flow_remark("port %u: no memory to put flow rules back to hardware", port->id);
	for (unsigned pass = 0; flows != NULL && pass < 2; pass++) {
		for (unsigned i = 0; i < set->count; i++) {
			if ((flows[i]->displaced || flows[i]->line.placement == FLOW_SKIP_SW) ==
			    (pass == 0))
				put_back(flows[i], port, &lost);
		}
	}
	for (unsigned i = 0; i < set->count; i++)
		set->flows[i]->displaced = false;
	free(flows);
	if (lost.count == 0)
		return;
	flow_remark("port %u: rule #%u did not go back to hardware%s: %s", port->id, lost.first->id,
		    lost.first->software != NULL ? ", software has it" : ", so it is nowhere",
		    lost.reason.text);
	if (lost.count > 1)
		flow_remark("port %u: nor did %u other%s; flow list %u shows where each rule is",
			    port->id, lost.count - 1, lost.count > 2 ? "s" : "", port->id);
}

/* --- rules that wait ---------------------------------------------------------------------------
 */

/* One rule that waits for the port's hardware. False: ask no further. */
static bool
offer_waiting(struct flow *flow, struct port *port)
{
	struct err reason;
	int rc;

	rc = offer_to(flow, port, &reason);
	if (rc == 0)
		settle(flow, port, NULL);
	/* What its driver takes is known where we know the driver; else it may be full for all. */
	return rc != -ENOSPC || port->about->flow != NULL;
}

/* Rules that are nowhere come first. */
static void
offer_all_waiting(struct flow_set *set, struct port *port)
{
	struct flow **flows = in_order(set);
	bool more = flows != NULL;

	for (unsigned pass = 0; pass < 2 && more; pass++) {
		for (unsigned i = 0; i < set->count && more; i++) {
			if ((flows[i]->waits & RTE_BIT64(port->id)) != 0 &&
			    (flows[i]->line.placement == FLOW_SKIP_SW) == (pass == 0))
				more = offer_waiting(flows[i], port);
		}
	}
	free(flows);
}

static bool
has_waiting(const struct flow_set *set, const struct port *port)
{
	for (unsigned i = 0; i < set->count; i++) {
		if ((set->flows[i]->waits & RTE_BIT64(port->id)) != 0)
			return true;
	}
	return false;
}

void
flows_poll(void)
{
	struct flow_set *set;

	for (set = flow_set_next(NULL); set != NULL; set = flow_set_next(set)) {
		if (!set->again)
			continue;
		set->again = false;
		for (unsigned p = 0; p < set->port_count; p++) {
			if (set->ports[p]->started && has_waiting(set, set->ports[p]))
				offer_all_waiting(set, set->ports[p]);
		}
	}
}
