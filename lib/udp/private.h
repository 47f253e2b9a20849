/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UDP_PRIVATE_H
#define UDP_PRIVATE_H

/** @file What the control thread knows of sockets, shared by the files of this library. */

#include <sys/queue.h>

#include "udp_lookup.h"

/** A socket, and where the control thread finds it: on the list of its port, and of its port and
 * address, both in the kernel's order. */
struct bound {
	struct udp_socket *view; /**< what workers see */
	uint64_t order;		 /**< grows with each bind */
	struct group *group;	 /**< reuseport, and not connected */
	struct place *places[2]; /**< where it is found; the second for IPv4 on [::] */
	TAILQ_ENTRY(bound) on_port, on_address;
	LIST_ENTRY(bound) in_group;
};
TAILQ_HEAD(bound_list, bound);

static inline bool
bound_at_tail(const struct bound *s)
{
	return s->view->bound.reuseport && s->view->asked.family == AF_INET6;
}

/** The order of the kernel's lists, in which the first that fits decides much: a new socket goes to
 * the head, but IPv6 ones with reuseport to the tail (udp_lib_get_port, sk_add_node_rcu). */
static inline bool
bound_before(const struct bound *a, const struct bound *b)
{
	if (bound_at_tail(a) != bound_at_tail(b))
		return bound_at_tail(b);
	return bound_at_tail(a) ? a->order < b->order : a->order > b->order;
}

/** Sockets bound to one address and port, of any VRF. */
struct address {
	struct address *next;
	struct ip_addr addr;
	uint16_t port;
	struct bound_list sockets;
};

/** A reuseport group: one family, address, port, device. */
struct group {
	struct udp_group *seen;	    /**< by workers; stays until the group goes */
	LIST_HEAD(, bound) members; /**< not connected */
	unsigned count;
	bool connected; /**< some member has been connected: the kernel never forgets */
};

/** Which of the tables. */
enum place_kind {
	PLACE_ANY,
	PLACE_LOCAL4,
	PLACE_LOCAL6,
	PLACE_PEER4,
	PLACE_PEER6,
	PLACE_KINDS
};

/** One key of one table, and the sockets there. */
struct place {
	struct place *next;
	enum place_kind kind;
	uint8_t family; /**< of the packets that find it */
	uint64_t key[UDP_KEY_WORDS_MAX];
	struct bound **sockets;
	unsigned n, room;
	void *chain; /**< what its value points to, ours to retire; NULL: it does not */
};

/** An application that is open. */
struct open_app {
	LIST_ENTRY(open_app) next;
	struct udp_app *app;
	unsigned leaving; /**< closed sockets that workers may still deliver to */
};

#define LIST_BUCKETS 65536u

struct udp_control {
	struct udp_tables *tables;
	struct rcu *rcu;
	unsigned workers;
	const struct udp_app_ops *sink;
	void (*on_bound)(uint32_t id);
	struct bound **by_id;
	uint32_t id_end;    /**< one past the highest id ever given */
	uint32_t free_from; /**< no id below it is free */
	unsigned count;
	uint64_t order;
	struct bound_list *by_port;  /**< 65536 of them */
	struct address **by_address; /**< LIST_BUCKETS chains */
	struct place **places;	     /**< place_buckets chains */
	uint32_t place_buckets, place_count;
	LIST_HEAD(, open_app) apps;
};

/* hash.c. Tables come and grow as needed; what workers may still read is retired. */

/** Make room for one key more. 0 or -ENOMEM. */
int hash_reserve(struct udp_control *c, const struct udp_hash **at, unsigned words);
/** Store a value (0: none) for a key; hash_reserve() has made room. */
void hash_set(const struct udp_hash *t, const uint64_t *key, unsigned words, uint64_t value);
void hash_free(const struct udp_hash *t);

/* place.c */

/** Add the socket where its addresses and ports say it is found. 0, or -ENOMEM with nothing
 * changed. */
int places_enter(struct udp_control *c, struct bound *s);
/** Needs no memory that could be missing. */
void places_leave(struct udp_control *c, struct bound *s);
/** Show workers the places anew: the order or a flag of a group changed. */
void places_refresh(struct udp_control *c, struct bound *s);
void places_fini(struct udp_control *c);

/* group.c */

/** The socket joins the group of its like, which may be one of `like` (NULL: alone). 0 or -ENOMEM.
 */
int group_join(struct udp_control *c, struct bound *s, struct group *like);
/** It leaves, and a group of which it was the last goes: no place may lead to it any more. */
void group_leave(struct udp_control *c, struct bound *s);

/* conflict.c */

/** The kernel's sk_bound_dev_if: 0, or a number for the interface or VRF. */
uint32_t device_of(const struct udp_bind *b);
/** May it be bound (its port is set)? 0 or -EADDRINUSE. *like: a socket whose group it would join.
 */
int conflict_check(struct udp_control *c, const struct udp_bind *b, struct bound **like);
/** A free ephemeral port, 0: none. */
uint16_t conflict_free_port(struct udp_control *c, const struct udp_bind *b, struct bound **like);
/** Put it on the lists; 0 or -ENOMEM. By order: sockets that come back keep their place. */
int lists_enter(struct udp_control *c, struct bound *s);
void lists_leave(struct udp_control *c, struct bound *s);

/* app.c */

/** A socket more has the application; 0, or a negative errno with err. */
int app_hold(struct udp_control *c, struct udp_app *app, uint32_t socket, struct err *err);
/** One fewer; workers may still deliver until app_gone(). */
void app_leave(struct udp_control *c, struct udp_app *app);
/** No worker does any more: closed, if that was the last. May run as rcu frees. */
void app_gone(struct udp_control *c, struct udp_app *app, uint32_t socket);

/** Retired memory is freed with free(). */
void udp_retire(struct udp_control *c, const void *memory);

#endif
