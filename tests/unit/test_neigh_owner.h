/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_NEIGH_OWNER_H
#define TEST_NEIGH_OWNER_H

/*
 * A neighbour table's owner for tests, with a clock of its own. What the table
 * asks of it is checked at once (packets handed over once, questions not too
 * often, workers told before a packet is sent) and written down in words:
 *
 *   new 1              created 10.0.0.1        gone 1            removed
 *   ask 1              solicit everybody       probe 1           solicit its MAC
 *   send 1 p7          release packet 7        drop 1 p7         fail it, no room
 *   unreachable 1 p7   fail it, no answer
 *   publish 1 a1       has the MAC ending in a1 (publish 1 a1 stale, publish 1 none)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "neigh.h"

#define IFACE	 7
#define PACKETS	 4096
#define IDS	 8192
#define HOLD_MAX 4

enum fate {
	FREE,
	GIVEN,
	SENT,
	DROPPED,
	UNREACHABLE
};

/* What workers were told of a neighbour. */
struct shadow {
	bool exists, usable, stale;
	uint8_t mac;
	bool asked;
	uint64_t last_ask;
};

struct world {
	struct neigh_table *table;
	struct neigh_config config;
	uint64_t now;
	char log[1024];
	unsigned created, removed, asked;
	struct shadow shadows[IDS];
	int refuse; /* errno for ops.created */
	/* Called from every operation, to call back. */
	void (*again)(struct world *w, const char *op, const struct neigh *n);
	unsigned depth;
	uint64_t random;
	bool closing;
};

/* Never looked into by the library, so their addresses are enough. */
static struct rte_mbuf *packets[PACKETS];
static char packet_memory[PACKETS];
static enum fate fates[PACKETS];

static struct ip_addr
host(unsigned id)
{
	return ip4_addr(0x0a000000 + id);
}

static unsigned
id_of(const struct neigh *n)
{
	return ip4_host(&n->addr) & 0xffff;
}

static unsigned
index_of(const struct rte_mbuf *packet)
{
	return (unsigned)((const char *)packet - packet_memory);
}

static void __attribute__((format(printf, 2, 3))) note(struct world *w, const char *format, ...)
{
	size_t used = strlen(w->log);
	va_list args;

	if (used + 64 > sizeof(w->log))
		return;
	if (used > 0)
		used += (size_t)snprintf(w->log + used, sizeof(w->log) - used, ", ");
	va_start(args, format);
	vsnprintf(w->log + used, sizeof(w->log) - used, format, args);
	va_end(args);
}

#define expect(w, text)                                                                            \
	do {                                                                                       \
		assert_string_equal((w)->log, text);                                               \
		(w)->log[0] = '\0';                                                                \
	} while (0)

static void
again(struct world *w, const char *op, const struct neigh *n)
{
	if (w->again == NULL || w->depth >= 4)
		return;
	w->depth++;
	w->again(w, op, n);
	w->depth--;
}

static int
on_created(void *ctx, struct neigh *n)
{
	struct world *w = ctx;

	if (w->refuse != 0)
		return -w->refuse;
	assert_false(n->has_mac);
	assert_false(w->shadows[id_of(n)].exists);
	w->shadows[id_of(n)] = (struct shadow){.exists = true};
	n->user = id_of(n);
	w->created++;
	note(w, "new %u", id_of(n));
	again(w, "created", n);
	return 0;
}

static void
on_publish(void *ctx, struct neigh *n)
{
	struct world *w = ctx;
	struct shadow *s = &w->shadows[id_of(n)];

	assert_true(s->exists);
	s->usable = n->has_mac;
	s->stale = n->state == NEIGH_STALE;
	s->mac = n->mac[5];
	if (s->usable)
		note(w, "publish %u %x%s", id_of(n), s->mac, s->stale ? " stale" : "");
	else
		note(w, "publish %u none", id_of(n));
	again(w, "publish", n);
}

static void
on_removed(void *ctx, struct neigh *n)
{
	struct world *w = ctx;

	assert_int_equal(n->user, id_of(n));
	assert_int_equal(n->held, 0);
	assert_true(n->users == 0 || w->closing);
	w->shadows[id_of(n)].exists = false;
	w->removed++;
	note(w, "gone %u", id_of(n));
	again(w, "removed", n);
}

static void
on_solicit(void *ctx, const struct neigh *n, bool unicast)
{
	struct world *w = ctx;
	struct shadow *s = &w->shadows[id_of(n)];

	assert_int_equal(n->has_mac, unicast);
	assert_int_equal(n->state, unicast ? NEIGH_PROBE : NEIGH_INCOMPLETE);
	assert_true(!s->asked || w->now - s->last_ask >= w->config.retrans_ms);
	s->asked = true;
	s->last_ask = w->now;
	w->asked++;
	note(w, "%s %u", unicast ? "probe" : "ask", id_of(n));
	again(w, "solicit", n);
}

static void
on_release(void *ctx, const struct neigh *n, struct rte_mbuf *packet)
{
	struct world *w = ctx;
	const struct shadow *s = &w->shadows[id_of(n)];
	unsigned i = index_of(packet);

	assert_true(n->has_mac && s->usable);
	assert_int_equal(s->mac, n->mac[5]);
	assert_int_equal(fates[i], GIVEN);
	fates[i] = SENT;
	note(w, "send %u p%u", id_of(n), i);
	again(w, "release", n);
}

static void
on_fail(void *ctx, const struct neigh *n, struct rte_mbuf *packet, bool unreachable)
{
	struct world *w = ctx;
	unsigned i = index_of(packet);

	assert_int_equal(fates[i], GIVEN);
	fates[i] = unreachable ? UNREACHABLE : DROPPED;
	note(w, "%s %u p%u", unreachable ? "unreachable" : "drop", id_of(n), i);
	again(w, "fail", n);
}

static const struct neigh_ops ops = {
	.created = on_created,
	.publish = on_publish,
	.removed = on_removed,
	.solicit = on_solicit,
	.release = on_release,
	.fail = on_fail,
};

static void
open_table(struct world *w)
{
	struct err err = {{0}};

	memset(fates, 0, sizeof(fates));
	w->table = neigh_table_create(&w->config, &ops, w, &err);
	assert_non_null(w->table);
}

/* No packet may be left, nor a neighbour. */
static void
close_table(struct world *w)
{
	w->closing = true;
	neigh_table_destroy(w->table);
	w->table = NULL;
	for (unsigned i = 0; i < PACKETS; i++)
		assert_int_not_equal(fates[i], GIVEN);
	assert_int_equal(w->created, w->removed);
	w->closing = false;
}

static int
setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	neigh_config_default(&w->config);
	w->config.seed = 1;
	w->config.max_held = HOLD_MAX;
	w->now = 1000000;
	for (unsigned i = 0; i < PACKETS; i++)
		packets[i] = (struct rte_mbuf *)(void *)&packet_memory[i];
	open_table(w);
	*state = w;
	return 0;
}

static int
teardown(void **state)
{
	struct world *w = *state;

	w->again = NULL;
	close_table(w);
	free(w);
	return 0;
}

/* --- shorthand ---------------------------------------------------------------- */

static struct neigh *
get(struct world *w, unsigned id)
{
	struct ip_addr a = host(id);

	return neigh_get(w->table, IFACE, &a, w->now, NULL);
}

static struct neigh *
find(struct world *w, unsigned id)
{
	struct ip_addr a = host(id);

	return neigh_find(w->table, IFACE, &a);
}

static void
give(struct world *w, unsigned id, unsigned packet)
{
	struct neigh *n = get(w, id);

	assert_non_null(n);
	assert_int_not_equal(fates[packet], GIVEN);
	fates[packet] = GIVEN;
	neigh_resolve(w->table, n, packets[packet], w->now);
}

static const uint8_t *
mac(uint8_t last)
{
	static uint8_t bytes[6] = {2};

	bytes[5] = last;
	return bytes;
}

enum {
	CREATE = 1,
	SOLICITED = 2,
	OVERRIDE = 4,
	ROUTER = 8
};

static void
learn(struct world *w, unsigned id, uint8_t last, unsigned flags)
{
	struct ip_addr a = host(id);

	neigh_learn(w->table, IFACE, &a, last == 0 ? NULL : mac(last), flags & CREATE,
		    flags & SOLICITED, flags & OVERRIDE, flags & ROUTER, w->now);
}

static int
permanent(struct world *w, unsigned id, uint8_t last, bool replace, struct err *err)
{
	struct ip_addr a = host(id);

	return neigh_set_permanent(w->table, IFACE, &a, mac(last), replace, w->now, err);
}

static int
del(struct world *w, unsigned id)
{
	struct ip_addr a = host(id);

	return neigh_delete(w->table, IFACE, &a, w->now, NULL);
}

static void
pass(struct world *w, uint64_t ms)
{
	uint64_t end = w->now + ms;

	while (w->now < end) {
		w->now += end - w->now < 100 ? end - w->now : 100;
		neigh_tick(w->table, w->now);
	}
}

#define expect_state(w, id, wanted) assert_int_equal(find(w, id)->state, wanted)

/* Bring neighbour `id` with MAC a1 into a state, with nothing in the log. */
static void
bring(struct world *w, unsigned id, enum neigh_state state)
{
	switch (state) {
	case NEIGH_INCOMPLETE:
		give(w, id, PACKETS - 1 - id);
		break;
	case NEIGH_REACHABLE:
		learn(w, id, 0xa1, CREATE | SOLICITED | OVERRIDE);
		break;
	case NEIGH_STALE:
		learn(w, id, 0xa1, CREATE | OVERRIDE);
		break;
	case NEIGH_DELAY:
		bring(w, id, NEIGH_STALE);
		neigh_used(w->table, find(w, id), w->now);
		break;
	case NEIGH_PROBE:
		bring(w, id, NEIGH_DELAY);
		pass(w, w->config.delay_first_ms);
		break;
	case NEIGH_FAILED:
		bring(w, id, NEIGH_INCOMPLETE);
		pass(w, 3 * w->config.retrans_ms);
		break;
	case NEIGH_PERMANENT:
		assert_int_equal(permanent(w, id, 0xa1, true, NULL), 0);
		break;
	}
	expect_state(w, id, state);
	w->log[0] = '\0';
}

#endif
