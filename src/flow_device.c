/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rules in devices, one at a time: what rte_flow is told, and what drivers need besides.
 */
#include "flow_device.h"

#include <errno.h>
#include <stdlib.h>

#include "driver.h"
#include "port_internal.h"

/* Rules of a port in its device. */
#define NUMBERS_MAX 2048
static struct device {
	unsigned used[FLOW_KINDS];
	uint64_t numbers[NUMBERS_MAX / 64];
} devices[RTE_MAX_ETHPORTS];

/* --- numbers -------------------------------------------------------------------------- */

static int
take_number(struct device *d, unsigned limit)
{
	for (unsigned n = 0; n < limit && n < NUMBERS_MAX; n++) {
		if ((d->numbers[n / 64] >> n % 64 & 1) == 0) {
			d->numbers[n / 64] |= UINT64_C(1) << n % 64;
			return (int)n;
		}
	}
	return -1;
}

static void
release_number(struct device *d, int n)
{
	if (n >= 0)
		d->numbers[n / 64] &= ~(UINT64_C(1) << n % 64);
}

/* --- offers --------------------------------------------------------------------------- */

static const struct flow_driver *
driver_of(const struct port *port)
{
	return port->about->flow;
}

/* One of the port's rules of a kind, for drivers that compare. */
static const struct flow_place *
find_place(const struct port *port, unsigned kind, uint32_t *id)
{
	const struct flow_set *set = flow_set_of(port);

	for (unsigned i = 0; i < set->count; i++) {
		const struct flow_place *place = flow_device_place(set->flows[i], port);

		if (place != NULL && place->shape.kind == kind) {
			*id = set->flows[i]->id;
			return place;
		}
	}
	return NULL;
}

static int
fits(const struct port *port, const struct flow_shape *shape, struct err *err)
{
	const struct device *d = &devices[port->id];
	struct flow_room room = {.used = {0}};

	for (unsigned kind = 0; kind < FLOW_KINDS; kind++) {
		const struct flow_place *place;

		room.used[kind] = d->used[kind];
		place = d->used[kind] != 0 ? find_place(port, kind, &room.example_rule[kind])
					   : NULL;
		room.example[kind] = place != NULL ? &place->shape : NULL;
	}
	return driver_of(port)->fit(shape, &room, err);
}

/* The rule as this attempt has it. -EAGAIN: there are no more. */
static int
shape_for(const struct flow *flow, const struct port *port, unsigned attempt,
	  struct flow_shape *shape, struct err *err)
{
	const struct flow_driver *driver = driver_of(port);
	int rc;

	if (driver == NULL) {
		if (attempt > 0)
			return -EAGAIN;
		*shape = (struct flow_shape){.line = flow->line};
		return 0;
	}
	rc = driver->shape(&flow->line, attempt, shape, err);
	return rc == 0 ? fits(port, shape, err) : rc;
}

/* The driver's own words behind ours. */
static int
refused(int rc, const struct port *port, const struct rte_flow_error *error, struct err *err)
{
	/* Drivers return -1 and 0, too. */
	int code = rc < -1 ? -rc : EIO;

	if (code == ENOSYS)
		return err_set(err, code,
			       "its driver (%s) takes no flow rules: leave skip_sw out, and "
			       "software has the rule",
			       port->driver);
	return err_set(err, code, "its driver refuses the rule: %s (%s)",
		       error->message != NULL ? error->message : "no reason given", strerror(code));
}

static int
offer(const struct flow_shape *shape, const struct port *port, struct rte_flow **handle,
      struct err *err)
{
	struct rte_flow_error error = {.message = NULL};
	struct flow_offer o;
	int rc = flow_offer_make(&shape->line, shape->bare_ip, &o, err);

	if (rc < 0)
		return rc;
	rc = rte_flow_validate(port->id, &o.attr, o.pattern, o.actions, &error);
	if (rc != 0)
		return refused(rc, port, &error, err);
	if (handle == NULL)
		return 0;
	error.message = NULL;
	*handle = rte_flow_create(port->id, &o.attr, o.pattern, o.actions, &error);
	return *handle != NULL ? 0 : refused(-rte_errno, port, &error, err);
}

/* --- in and out ------------------------------------------------------------------------- */

static int
add_shaped(const struct port *port, struct flow_place *place, struct err *err)
{
	struct device *d = &devices[port->id];
	int rc;

	place->number = -1;
	if (place->shape.numbered) {
		place->number = take_number(d, driver_of(port)->numbers);
		if (place->number < 0)
			return err_set(err, ENOSPC, "the device has no room for another rule");
		place->shape.line.rule.mark = true;
		place->shape.line.rule.mark_id = (uint32_t)place->number;
	}
	rc = offer(&place->shape, port, &place->handle, err);
	if (rc < 0) {
		release_number(d, place->number);
		return rc;
	}
	d->used[place->shape.kind]++;
	return 0;
}

/* Attempts differ in their reasons: the first one's is told. */
static int
try_all(const struct flow *flow, const struct port *port, struct flow_place *place, bool check_only,
	struct err *err)
{
	struct err later = {.text = ""};
	int first = 0;

	if (!port->started)
		return err_set(err, ENODEV, "it is stopped");
	for (unsigned attempt = 0;; attempt++) {
		struct err *reason = attempt == 0 ? err : &later;
		int rc = shape_for(flow, port, attempt, &place->shape, reason);

		if (rc == 0)
			rc = check_only ? offer(&place->shape, port, NULL, reason)
					: add_shaped(port, place, reason);
		if (rc == 0)
			return 0;
		if (attempt == 0)
			first = rc;
		/* A shape that is refused has no other; one that has no room may. */
		if (rc == -EAGAIN || rc == -ENOTSUP || driver_of(port) == NULL)
			return first;
	}
}

int
flow_device_check(const struct flow *flow, struct port *port, struct err *err)
{
	struct flow_place place;

	return port_err(port, try_all(flow, port, &place, true, err), err);
}

int
flow_device_add(struct flow *flow, struct port *port, struct flow_place **place, struct err *err)
{
	struct flow_place *p = calloc(1, sizeof(*p));
	int rc;

	if (p == NULL)
		return err_set(err, ENOMEM, "no memory");
	p->port = port;
	rc = try_all(flow, port, p, false, err);
	if (rc < 0) {
		free(p);
		return port_err(port, rc, err);
	}
	p->next = flow->places;
	flow->places = p;
	*place = p;
	return 0;
}

struct flow_place *
flow_device_place(const struct flow *flow, const struct port *port)
{
	struct flow_place *place = flow->places;

	while (place != NULL && place->port != port)
		place = place->next;
	return place;
}

bool
flow_device_used(const struct port *port)
{
	for (unsigned kind = 0; kind < FLOW_KINDS; kind++) {
		if (devices[port->id].used[kind] != 0)
			return true;
	}
	return false;
}

static void
withdraw(struct flow_place *place)
{
	struct rte_flow_error error = {.message = NULL};
	int rc;

	if (place->handle == NULL)
		return;
	rc = rte_flow_destroy(place->port->id, place->handle, &error);
	if (rc != 0)
		printf("port %u (%s): its driver does not give up a flow rule: %s\n",
		       place->port->id, place->port->name,
		       error.message != NULL ? error.message : strerror(-rc));
	place->handle = NULL;
}

static void
forget(struct flow *flow, struct flow_place *place)
{
	struct device *d = &devices[place->port->id];
	struct flow_place **link = &flow->places;

	while (*link != place)
		link = &(*link)->next;
	*link = place->next;
	d->used[place->shape.kind]--;
	release_number(d, place->number);
	free(place);
}

/* --- drivers that remember ------------------------------------------------------------- */

/* Call fn for the rules of this kind in devices of the same driver, but not those of its port. */
static void
for_others(const struct flow_place *last, void (*fn)(struct flow *flow, struct flow_place *place))
{
	struct port *p;

	PORT_FOREACH(p) {
		struct flow_set *set = flow_set_of(p);

		if (p == last->port || driver_of(p) != driver_of(last->port) ||
		    devices[p->id].used[last->shape.kind] == 0)
			continue;
		for (unsigned i = 0; i < set->count; i++) {
			struct flow_place *place = flow_device_place(set->flows[i], p);

			if (place != NULL && place->shape.kind == last->shape.kind)
				fn(set->flows[i], place);
		}
	}
}

static void
lift(struct flow *flow, struct flow_place *place)
{
	(void)flow;
	withdraw(place);
}

static void
put_back(struct flow *flow, struct flow_place *place)
{
	struct err err;

	if (offer(&place->shape, place->port, &place->handle, &err) == 0)
		return;
	flow_remark("port %u: rule #%u is not in hardware any more: %s", place->port->id, flow->id,
		    err.text);
	flow->waits |= RTE_BIT64(place->port->id);
	forget(flow, place);
}

static bool
is_last(const struct flow_place *place)
{
	const struct flow_driver *driver = driver_of(place->port);

	return driver != NULL && driver->lingers != NULL && driver->lingers(&place->shape) &&
	       devices[place->port->id].used[place->shape.kind] == 1;
}

void
flow_device_remove(struct flow *flow, struct flow_place *place)
{
	if (is_last(place)) {
		for_others(place, lift);
		withdraw(place);
		for_others(place, put_back);
	}
	withdraw(place);
	forget(flow, place);
}

/* --- counters ------------------------------------------------------------------------------ */

bool
flow_device_count(const struct flow_place *place, struct rule_counters *sum)
{
	static const struct rte_flow_action count = {.type = RTE_FLOW_ACTION_TYPE_COUNT};
	struct rte_flow_query_count query = {0};
	struct rte_flow_error error;

	if (!place->shape.line.count ||
	    rte_flow_query(place->port->id, place->handle, &count, &query, &error) != 0 ||
	    !query.hits_set)
		return false;
	sum->packets += query.hits;
	sum->bytes += query.bytes_set ? query.bytes : 0;
	return true;
}
