/* SPDX-License-Identifier: BSD-3-Clause */
/* show pool: as tables, as JSON, and through DPDK's telemetry. What the numbers mean is in pool.h.
 */
#include <errno.h>
#include <string.h>

#include <rte_mempool.h>
#include <rte_telemetry.h>
#include <rte_version.h>

#include "console.h"
#include "out.h"
#include "port_internal.h"

/** The account of a pool, with what its ports have received. Any thread that holds pools_lock. */
static void
look(const struct pool *pool, struct pool_account *account)
{
	uint64_t received = 0;
	const struct port *p;

	PORT_FOREACH(p)
		if (p->pool == pool && !p->about->same_buffers)
			received += port_buffers_received(p->id);
	pool_account(pool, received, account);
}

/* What is said of a pool besides its name and socket, in JSON's words. */
struct number {
	const char *name;
	uint64_t value;
};
#define NUMBERS 11

static void
numbers(const struct pool *pool, struct number out[NUMBERS])
{
	struct pool_account a;

	look(pool, &a);
	memcpy(out,
	       (struct number[NUMBERS]){
		       {"size", pool->size},
		       {"data_room", pool->data_room},
		       {"cache", pool->cache},
		       {"in_use", a.in_use},
		       {"in_caches", a.in_caches},
		       {"alloc_cached", a.alloc_cached},
		       {"alloc_slow", a.alloc_slow},
		       {"alloc_failed", a.alloc_failed},
		       {"recycled_cached", a.recycled_cached},
		       {"recycled_slow", a.recycled_slow},
		       {"copied", a.copied},
	       },
	       NUMBERS * sizeof(out[0]));
}

static void
pool_json(struct out *out, const struct pool *pool)
{
	struct number n[NUMBERS];

	numbers(pool, n);
	out_json_object(out, NULL);
	out_json_string(out, "name", pool->mempool->name);
	out_json_int(out, "socket", pool->socket);
	for (unsigned i = 0; i < NUMBERS; i++)
		out_json_uint(out, n[i].name, n[i].value);
	out_json_end(out);
}

static void
pools_json(struct out *out)
{
	const struct pool *pool;
	unsigned i;

	out_json_array(out, NULL);
	for (i = 0; (pool = pool_at(i)) != NULL; i++)
		pool_json(out, pool);
	out_json_end(out);
}

static void
pools_text(struct out *out)
{
	struct pool_account a;
	const struct pool *pool;
	unsigned i;

	out_text(out, "%-12s %6s %9s %9s %6s %9s %9s\n", "name", "socket", "size", "data-room",
		 "cache", "in-use", "in-caches");
	for (i = 0; (pool = pool_at(i)) != NULL; i++) {
		look(pool, &a);
		out_text(out, "%-12s %6d %9u %9u %6u %9u %9u\n", pool->mempool->name, pool->socket,
			 pool->size, pool->data_room, pool->cache, a.in_use, a.in_caches);
	}
	out_text(out, "\n%-12s %14s %12s %12s %15s %13s %8s\n", "name", "alloc-cached",
		 "alloc-slow", "alloc-failed", "recycled-cached", "recycled-slow", "copied");
	for (i = 0; (pool = pool_at(i)) != NULL; i++) {
		look(pool, &a);
		out_text(out, "%-12s %14lu %12lu %12lu %15lu %13lu %8lu\n", pool->mempool->name,
			 a.alloc_cached, a.alloc_slow, a.alloc_failed, a.recycled_cached,
			 a.recycled_slow, a.copied);
	}
}

static int
show_pool(struct call *call)
{
	int ret = call_end(call);

	if (ret < 0)
		return ret;
	if (out_is_json(call->out))
		pools_json(call->out);
	else
		pools_text(call->out);
	return 0;
}

/* --- telemetry ------------------------------------------------------------------ */

#if RTE_VERSION >= RTE_VERSION_NUM(23, 3, 0, 0)
#define dict_add rte_tel_data_add_dict_uint
#else
#define dict_add rte_tel_data_add_dict_u64
#endif

static void
pool_dict(struct rte_tel_data *data, const struct pool *pool)
{
	struct number n[NUMBERS];

	numbers(pool, n);
	rte_tel_data_start_dict(data);
	rte_tel_data_add_dict_string(data, "name", pool->mempool->name);
	rte_tel_data_add_dict_int(data, "socket", pool->socket);
	for (unsigned i = 0; i < NUMBERS; i++)
		dict_add(data, n[i].name, n[i].value);
}

/** /noref/pool: the names; /noref/pool,NAME: one pool. Telemetry's thread. */
static int
tell_pool(const char *command, const char *name, struct rte_tel_data *data)
{
	const struct pool *pool;
	int ret = -ENOENT;
	unsigned i;

	(void)command;
	if (name == NULL || name[0] == '\0') {
		rte_tel_data_start_array(data, RTE_TEL_STRING_VAL);
		ret = 0;
	}
	pthread_mutex_lock(&pools_lock);
	for (i = 0; (pool = pool_at(i)) != NULL; i++) {
		if (name == NULL || name[0] == '\0') {
			rte_tel_data_add_array_string(data, pool->mempool->name);
		} else if (strcmp(pool->mempool->name, name) == 0) {
			pool_dict(data, pool);
			ret = 0;
		}
	}
	pthread_mutex_unlock(&pools_lock);
	return ret;
}

/* --- the console ----------------------------------------------------------------- */

void
pool_commands_register(struct console *console)
{
	static const struct command commands[] = {
		{"show pool",
		 "packet buffers: how many there are, where they are, how they came there",
		 show_pool,
		 "in-use: neither free nor in a thread's cache: drivers hold them, or packets\n"
		 "alloc-cached, recycled-cached: taken from and put back into a thread's own cache\n"
		 "alloc-slow, recycled-slow: by way of the ring that all threads share\n"
		 "alloc-failed: requests that found the pool empty\n"
		 "copied: buffers made because a packet's own must not be written\n"},
	};

	console_register(console, commands, RTE_DIM(commands));
	rte_telemetry_register_cmd(
		"/noref/pool", tell_pool,
		"Names of the buffer pools, or one pool's account. Parameter: name");
}
