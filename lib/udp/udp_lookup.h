/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UDP_LOOKUP_H
#define UDP_LOOKUP_H

/**
 * @file
 * How a worker finds the socket a datagram is for. Nothing here writes.
 *
 * Five hash tables with open addressing. A slot is some words of key and one of
 * value; a key, once written, stays the slot's own for the life of the table,
 * and an empty slot ends a search. So a reader that sees the key's first word
 * (stored last, with release) sees all of it, and a change of the value is one store.
 *
 *     any     family, VRF, port                        1 + 1 words
 *     local4  address, VRF, port                       1 + 1
 *     local6  VRF, port; address                       3 + 1
 *     peer4   VRF, ports; both addresses               2 + 1, in 4
 *     peer6   VRF, ports; both addresses               5 + 1, in 8
 *
 * Slots are powers of two: none crosses a cache line.
 */

#include <nmmintrin.h>

#include <rte_common.h>

#include "udp.h"

struct udp_hash {
	uint32_t mask; /**< slots - 1 */
	uint32_t used; /**< slots with a key. Control thread */
	uint32_t live; /**< of them, with a value. Control thread */
	size_t bytes;  /**< of the mapping */
	uint64_t slots[] __rte_cache_aligned;
};

/** Words of key, and of a slot. */
enum {
	UDP_ANY_WORDS = 1,
	UDP_LOCAL4_WORDS = 1,
	UDP_LOCAL6_WORDS = 3,
	UDP_PEER4_WORDS = 2,
	UDP_PEER6_WORDS = 5,
	UDP_KEY_WORDS_MAX = 5,
};

static inline unsigned
udp_slot_words(unsigned key_words)
{
	return key_words == 1 ? 2 : key_words <= 3 ? 4 : 8;
}

/** Kinds of value, in its top byte. */
enum {
	UDP_VALUE_NONE = 0,
	UDP_VALUE_REF = 1,   /**< one socket: its ref */
	UDP_VALUE_GROUP = 2, /**< one reuseport group: struct udp_group */
	UDP_VALUE_CHAIN = 3, /**< several: struct udp_chain */
};

static inline unsigned
udp_value_kind(uint64_t value)
{
	return (unsigned)(value >> 56);
}

static inline const void *
udp_value_pointer(uint64_t value)
{
	return (const void *)(uintptr_t)(value & 0x00ffffffffffffff);
}

/** How a group picks: slots filled by rendezvous hashing, and the members themselves. */
struct udp_pick {
	uint32_t mask;	  /**< slots - 1 */
	uint32_t n;	  /**< members, refs[] behind the slots */
	uint32_t slots[]; /**< refs */
};

struct udp_group {
	const struct udp_pick *all;    /**< every member; NULL: none is left */
	const struct udp_pick *view[]; /**< by worker: its own members, or all */
};

/** One of several sockets or groups at a place. */
struct udp_entry {
	uint64_t value; /**< UDP_VALUE_REF or _GROUP */
	uint16_t iface; /**< only what came in there; 0: whatever */
	int16_t worker; /**< REF: the worker on its lcore, -1: none */
	uint8_t family; /**< of the socket */
	bool stop;	/**< a group of which nobody is connected */
};

struct udp_chain {
	unsigned n;
	struct udp_entry at[];
};

/** Applications that want to be asked in every loop; immutable, swapped. */
struct udp_pollers {
	unsigned n;
	struct udp_app *apps[];
};

struct udp_tables {
	/* Read by workers; NULL: nobody there. */
	const struct udp_hash *any, *local4, *local6, *peer4, *peer6;
	const struct udp_pollers *pollers;
	const struct udp_socket **sockets; /**< by id */
	uint64_t seed;
	struct udp_control *control;
};

/** What a datagram says, all words as loaded from memory, ports in host order. */
struct udp_flow {
	const uint8_t *local, *remote; /**< 4 or 16 bytes */
	uint8_t family;
	uint16_t vrf, iface;
	uint16_t local_port, remote_port;
};

static inline uint32_t
udp_hash_words(const uint64_t *key, unsigned words)
{
	uint64_t h = 0x9e3779b9;

	for (unsigned i = 0; i < words; i++)
		h = _mm_crc32_u64(h, key[i]);
	return (uint32_t)h;
}

static inline const uint64_t *
udp_hash_slot(const struct udp_hash *t, uint32_t hash, unsigned words)
{
	return &t->slots[(size_t)(hash & t->mask) * udp_slot_words(words)];
}

static inline __attribute__((always_inline)) uint64_t
udp_hash_get(const struct udp_hash *t, const uint64_t *key, uint32_t hash, const unsigned words)
{
	for (;; hash++) {
		const uint64_t *slot = udp_hash_slot(t, hash, words);
		uint64_t first = __atomic_load_n(&slot[0], __ATOMIC_ACQUIRE);
		uint64_t differs = first ^ key[0];

		for (unsigned i = 1; i < words; i++)
			differs |= slot[i] ^ key[i];
		if (differs == 0)
			return __atomic_load_n(&slot[words], __ATOMIC_ACQUIRE);
		if (first == 0)
			return 0;
	}
}

static inline void
udp_key_any(uint64_t key[UDP_ANY_WORDS], uint8_t family, uint16_t vrf, uint16_t port)
{
	key[0] = (uint64_t)family << 32 | (uint32_t)vrf << 16 | port;
}

static inline void
udp_key_local4(uint64_t key[UDP_LOCAL4_WORDS], uint32_t addr, uint16_t vrf, uint16_t port)
{
	key[0] = (uint64_t)addr << 32 | (uint32_t)vrf << 16 | port;
}

/* The top bit keeps a key from being that of an empty slot. */
#define UDP_KEY_TAKEN (1ull << 63)

static inline void
udp_key_local6(uint64_t key[UDP_LOCAL6_WORDS], const uint8_t *addr, uint16_t vrf, uint16_t port)
{
	key[0] = UDP_KEY_TAKEN | (uint32_t)vrf << 16 | port;
	memcpy(&key[1], addr, 16);
}

static inline void
udp_key_peer4(uint64_t key[UDP_PEER4_WORDS], const struct udp_flow *f)
{
	uint32_t local, remote;

	memcpy(&local, f->local, 4);
	memcpy(&remote, f->remote, 4);
	key[0] = UDP_KEY_TAKEN | (uint64_t)f->vrf << 32 | (uint32_t)f->local_port << 16 |
		 f->remote_port;
	key[1] = (uint64_t)local << 32 | remote;
}

static inline void
udp_key_peer6(uint64_t key[UDP_PEER6_WORDS], const struct udp_flow *f)
{
	key[0] = UDP_KEY_TAKEN | (uint64_t)f->vrf << 32 | (uint32_t)f->local_port << 16 |
		 f->remote_port;
	memcpy(&key[1], f->local, 16);
	memcpy(&key[3], f->remote, 16);
}

/** Every bit of it good, unknown outside: senders cannot choose a member. */
static inline uint32_t
udp_flow_hash(const struct udp_tables *t, const struct udp_flow *f)
{
	uint64_t h = t->seed ^ ((uint64_t)f->local_port << 16 | f->remote_port);
	uint64_t a = 0, b = 0;

	if (f->family == AF_INET) {
		memcpy(&a, f->local, 4);
		memcpy(&b, f->remote, 4);
	} else {
		uint64_t high;

		memcpy(&high, f->local, 8);
		memcpy(&a, f->local + 8, 8);
		a ^= high * 0xff51afd7ed558ccd;
		memcpy(&high, f->remote, 8);
		memcpy(&b, f->remote + 8, 8);
		b ^= high * 0xc4ceb9fe1a85ec53;
	}
	h = (h ^ a) * 0x9fb21c651e98df25;
	h = ((h ^ (h >> 32)) ^ b) * 0xd6e8feb86659fd93;
	h = (h ^ (h >> 32)) * 0x9fb21c651e98df25;
	return (uint32_t)(h >> 32);
}

/** The member of a group for this flow on this worker. */
static inline uint32_t
udp_group_pick(const struct udp_tables *t, const struct udp_group *g, const struct udp_flow *f,
	       unsigned worker)
{
	const struct udp_pick *pick = __atomic_load_n(&g->view[worker], __ATOMIC_ACQUIRE);

	if (unlikely(pick == NULL))
		return UDP_NONE;
	return pick->slots[pick->mask == 0 ? 0 : udp_flow_hash(t, f) & pick->mask];
}

/** lookup.c: of several at one place; UDP_NONE: none of them. */
uint32_t udp_chain_pick(const struct udp_tables *t, const struct udp_chain *chain,
			const struct udp_flow *f, unsigned worker);

/** From a table's value to a ref. */
static inline uint32_t
udp_resolve(const struct udp_tables *t, uint64_t value, const struct udp_flow *f, unsigned worker)
{
	switch (udp_value_kind(value)) {
	case UDP_VALUE_NONE:
		return UDP_NONE;
	case UDP_VALUE_REF:
		return (uint32_t)value;
	case UDP_VALUE_GROUP:
		return udp_group_pick(t, udp_value_pointer(value), f, worker);
	default:
		return udp_chain_pick(t, udp_value_pointer(value), f, worker);
	}
}

/** lookup.c: the socket a unicast datagram is for: its ref, or UDP_NONE. Worker or control thread.
 */
uint32_t udp_lookup(const struct udp_tables *t, const struct udp_flow *f, unsigned worker);
/** lookup.c: the same, when the connected ones have been asked. */
uint32_t udp_lookup_peer(const struct udp_tables *t, const struct udp_flow *f, unsigned worker);

/** lookup.c: is any socket bound to this very address (a group's or a broadcast) and port? */
bool udp_joined(const struct udp_tables *t, const struct udp_flow *f);
/** lookup.c: every socket a datagram to a group or broadcast is for: fn(arg, ref) for each. */
void udp_lookup_all(const struct udp_tables *t, const struct udp_flow *f,
		    void (*fn)(void *arg, uint32_t ref), void *arg);

/** A socket by its id; NULL: closed since. Workers: valid until the next quiescent state. */
static inline const struct udp_socket *
udp_socket_at(const struct udp_tables *t, uint32_t id)
{
	return __atomic_load_n(&t->sockets[id], __ATOMIC_ACQUIRE);
}

#endif
