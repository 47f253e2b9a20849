/* SPDX-License-Identifier: BSD-3-Clause */
/* bind, connect, close. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <rte_random.h>

#include "private.h"

static void
free_retired(void *ctx, uintptr_t what)
{
	(void)ctx;
	free((void *)what);
}

void
udp_retire(struct udp_control *c, const void *memory)
{
	if (memory != NULL)
		rcu_retire(c->rcu, free_retired, NULL, (uintptr_t)memory);
}

/* --- the whole ------------------------------------------------------------------------------ */

/* Untouched pages cost nothing. */
static void *
reserve(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void
unreserve(const void *p, size_t bytes)
{
	if (p != NULL)
		munmap((void *)(uintptr_t)p, bytes);
}

struct udp_tables *
udp_create(unsigned workers, struct rcu *rcu, const struct udp_app_ops *sink, struct err *err)
{
	struct udp_tables *t = calloc(1, sizeof(*t));
	struct udp_control *c = calloc(1, sizeof(*c));

	if (t == NULL || c == NULL) {
		free(t);
		free(c);
		err_set(err, ENOMEM, "no memory for UDP sockets");
		return NULL;
	}
	t->control = c;
	t->seed = rte_rand();
	t->sockets = reserve(UDP_SOCKETS_MAX * sizeof(t->sockets[0]));
	c->tables = t;
	c->rcu = rcu;
	c->workers = workers;
	c->sink = sink;
	c->by_id = reserve(UDP_SOCKETS_MAX * sizeof(c->by_id[0]));
	c->by_port = calloc(65536, sizeof(c->by_port[0]));
	c->by_address = calloc(LIST_BUCKETS, sizeof(struct address *));
	c->place_buckets = 1024;
	c->places = calloc(c->place_buckets, sizeof(struct place *));
	LIST_INIT(&c->apps);
	if (t->sockets == NULL || c->by_id == NULL || c->by_port == NULL || c->by_address == NULL ||
	    c->places == NULL) {
		udp_destroy(t);
		err_set(err, ENOMEM, "no memory for UDP sockets");
		return NULL;
	}
	for (unsigned port = 0; port < 65536; port++)
		TAILQ_INIT(&c->by_port[port]);
	return t;
}

void
udp_destroy(struct udp_tables *t)
{
	struct udp_control *c;

	if (t == NULL)
		return;
	c = t->control;
	for (uint32_t id = 0; c->by_id != NULL && id < c->id_end; id++) {
		if (c->by_id[id] != NULL)
			udp_close(t, id, NULL);
	}
	rcu_synchronize(c->rcu);
	if (c->places != NULL)
		places_fini(c);
	hash_free(t->any);
	hash_free(t->local4);
	hash_free(t->local6);
	hash_free(t->peer4);
	hash_free(t->peer6);
	free((void *)(uintptr_t)t->pollers);
	unreserve(t->sockets, UDP_SOCKETS_MAX * sizeof(t->sockets[0]));
	unreserve(c->by_id, UDP_SOCKETS_MAX * sizeof(c->by_id[0]));
	free(c->by_port);
	free(c->by_address);
	free(c);
	free(t);
}

/* --- ids -------------------------------------------------------------------------------------- */

/* An id that is being let go of: taken until no worker can count for it. */
#define ID_LEAVING ((struct bound *)1)

static uint32_t
id_take(struct udp_control *c)
{
	uint32_t id = c->free_from;

	while (id < c->id_end && c->by_id[id] != NULL)
		id++;
	if (id == UDP_SOCKETS_MAX)
		return UDP_NONE;
	c->free_from = id + 1;
	if (id == c->id_end)
		c->id_end++;
	return id;
}

static void
id_free(struct udp_control *c, uint32_t id)
{
	c->by_id[id] = NULL;
	c->free_from = RTE_MIN(c->free_from, id);
}

static struct bound *
find(const struct udp_control *c, uint32_t id)
{
	struct bound *s = id < c->id_end ? c->by_id[id] : NULL;

	return s == ID_LEAVING ? NULL : s;
}

static int
no_such(uint32_t id, struct err *err)
{
	return err_set(err, ENOENT, "there is no UDP socket #%u", id);
}

/* --- in and out of the tables
 * --------------------------------------------------------------------- */

/* Group, lists, places. 0 or -ENOMEM, in none of them. */
static int
enter(struct udp_control *c, struct bound *s, struct group *like)
{
	const struct udp_socket *v = s->view;
	bool grouped = v->bound.reuseport && v->remote.family == 0;

	if (grouped && group_join(c, s, like) < 0)
		return -ENOMEM;
	if (lists_enter(c, s) < 0) {
		if (grouped)
			group_leave(c, s);
		return -ENOMEM;
	}
	if (places_enter(c, s) < 0) {
		lists_leave(c, s);
		if (grouped)
			group_leave(c, s);
		return -ENOMEM;
	}
	return 0;
}

static void
leave(struct udp_control *c, struct bound *s)
{
	places_leave(c, s);
	lists_leave(c, s);
	if (s->group != NULL)
		group_leave(c, s);
}

static struct bound *
bound_new(const struct udp_bind *bind)
{
	struct bound *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->view = calloc(1, sizeof(*s->view));
	if (s->view == NULL) {
		free(s);
		return NULL;
	}
	s->view->bound = *bind;
	s->view->asked = bind->addr;
	return s;
}

static const char *
text_of(const struct udp_bind *b, char text[IP_ADDR_TEXT + 8])
{
	char addr[IP_ADDR_TEXT];
	bool v6 = b->addr.family == AF_INET6;

	snprintf(text, IP_ADDR_TEXT + 8, "%s%s%s:%u", v6 ? "[" : "", ip_addr_format(&b->addr, addr),
		 v6 ? "]" : "", b->port);
	return text;
}

static int
choose(struct udp_control *c, struct udp_bind *b, struct bound **like, struct err *err)
{
	char text[IP_ADDR_TEXT + 8];

	if (b->addr.family == AF_INET6 && !ip_is_unspecified(&b->addr))
		b->v6only = true; /* as the kernel has it: an IPv6 address is no IPv4 one */
	if (b->port == 0) {
		b->port = conflict_free_port(c, b, like);
		return b->port != 0 ? 0
				    : err_set(err, EADDRINUSE, "no port from %u to %u is free",
					      UDP_EPHEMERAL_FIRST, UDP_EPHEMERAL_LAST);
	}
	if (conflict_check(c, b, like) < 0)
		return err_set(err, EADDRINUSE, "%s: address already in use", text_of(b, text));
	return 0;
}

int
udp_bind(struct udp_tables *t, const struct udp_bind *bind, uint32_t *id, struct err *err)
{
	struct udp_control *c = t->control;
	struct udp_bind b = *bind;
	struct bound *like, *s;
	int rc = choose(c, &b, &like, err);

	if (rc < 0)
		return rc;
	*id = id_take(c);
	if (*id == UDP_NONE)
		return err_set(err, ENOSPC, "all %u UDP sockets are in use", UDP_SOCKETS_MAX);
	s = bound_new(&b);
	if (s == NULL) {
		id_free(c, *id);
		return err_set(err, ENOMEM, "no memory");
	}
	s->view->id = *id;
	s->view->ref = *id | (b.app->ops == c->sink ? UDP_SINK : 0);
	s->order = ++c->order;
	if (c->on_bound != NULL)
		c->on_bound(*id);
	rc = app_hold(c, b.app, *id, err);
	if (rc == 0) {
		__atomic_store_n(&t->sockets[*id], s->view, __ATOMIC_RELEASE);
		if (enter(c, s, like != NULL ? like->group : NULL) == 0) {
			c->by_id[*id] = s;
			c->count++;
			return 0;
		}
		t->sockets[*id] = NULL;
		app_leave(c, b.app);
		rcu_synchronize(c->rcu);
		app_gone(c, b.app, *id);
		rc = err_set(err, ENOMEM, "no memory");
	}
	id_free(c, *id);
	free(s->view);
	free(s);
	return rc;
}

/* --- close --------------------------------------------------------------------------------------
 */

static void
closed(void *ctx, uintptr_t what)
{
	struct udp_control *c = ctx;
	struct bound *s = (struct bound *)what;

	app_gone(c, s->view->bound.app, s->view->id);
	id_free(c, s->view->id);
	free(s->view);
	free(s);
}

int
udp_close(struct udp_tables *t, uint32_t id, struct err *err)
{
	struct udp_control *c = t->control;
	struct bound *s = find(c, id);

	if (s == NULL)
		return no_such(id, err);
	leave(c, s);
	__atomic_store_n(&t->sockets[id], NULL, __ATOMIC_RELEASE);
	c->by_id[id] = ID_LEAVING;
	c->count--;
	app_leave(c, s->view->bound.app);
	rcu_retire(c->rcu, closed, c, (uintptr_t)s);
	return 0;
}

/* --- changes -------------------------------------------------------------------------------------
 */

/*
 * The socket is to be as `view` says. Workers see it in its old places, then in its
 * new ones; in between, for an instant, a datagram may find it in neither. 0 or
 * -ENOMEM, and it is as it was.
 */
static int
change(struct udp_tables *t, struct bound *s, struct udp_socket *view, struct err *err)
{
	struct udp_control *c = t->control;
	struct udp_socket *old = s->view;
	struct bound *like = NULL;

	/* One that gets its address only now leaves its group altogether (udp_lib_rehash). */
	if (s->group != NULL && view->remote.family != 0 &&
	    ip_addr_equal(&old->bound.addr, &view->bound.addr))
		s->group->connected = true;
	leave(c, s);
	s->view = view;
	if (view->remote.family == 0 && view->bound.reuseport)
		conflict_check(c, &view->bound, &like);
	if (enter(c, s, like != NULL ? like->group : NULL) < 0) {
		s->view = old;
		like = NULL;
		if (old->remote.family == 0 && old->bound.reuseport)
			conflict_check(c, &old->bound, &like);
		/* It was there a moment ago; if even that fails, nobody finds it any more. */
		enter(c, s, like != NULL ? like->group : NULL);
		free(view);
		return err_set(err, ENOMEM, "no memory");
	}
	__atomic_store_n(&t->sockets[old->id], view, __ATOMIC_RELEASE);
	udp_retire(c, old);
	return 0;
}

static struct udp_socket *
view_copy(const struct udp_socket *v)
{
	struct udp_socket *copy = malloc(sizeof(*copy));

	if (copy != NULL)
		*copy = *v;
	return copy;
}

int
udp_connect(struct udp_tables *t, uint32_t id, const struct ip_addr *remote, uint16_t port,
	    const struct ip_addr *local, struct err *err)
{
	struct bound *s = find(t->control, id);
	struct udp_socket *view;
	const struct udp_bind *b;

	if (s == NULL)
		return no_such(id, err);
	b = &s->view->bound;
	if (port == 0)
		return err_set(err, EINVAL, "nobody can be at port 0");
	if (b->addr.family != remote->family &&
	    !(remote->family == AF_INET && ip_is_unspecified(&b->addr) && !b->v6only))
		return err_set(err, EAFNOSUPPORT, "UDP socket #%u is one for %s", id,
			       b->addr.family == AF_INET ? "IPv4" : "IPv6");
	view = view_copy(s->view);
	if (view == NULL)
		return err_set(err, ENOMEM, "no memory");
	view->remote = *remote;
	view->remote_port = port;
	if (ip_is_unspecified(&b->addr))
		view->bound.addr = *local;
	return change(t, s, view, err);
}

int
udp_iface_moved(struct udp_tables *t, uint16_t iface, uint16_t vrf, struct err *err)
{
	struct udp_control *c = t->control;

	for (uint32_t id = 0; id < c->id_end; id++) {
		struct bound *s = find(c, id);
		struct udp_socket *view;
		int rc;

		if (s == NULL || s->view->bound.iface != iface || s->view->bound.vrf == vrf)
			continue;
		view = view_copy(s->view);
		if (view == NULL)
			return err_set(err, ENOMEM, "no memory");
		view->bound.vrf = vrf;
		rc = change(t, s, view, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* --- seeing
 * ---------------------------------------------------------------------------------------- */

const struct udp_socket *
udp_get(const struct udp_tables *t, uint32_t id)
{
	const struct bound *s = find(t->control, id);

	return s != NULL ? s->view : NULL;
}

const struct udp_socket *
udp_next(const struct udp_tables *t, uint32_t from)
{
	for (; from < t->control->id_end; from++) {
		const struct bound *s = find(t->control, from);

		if (s != NULL)
			return s->view;
	}
	return NULL;
}

unsigned
udp_count(const struct udp_tables *t)
{
	return t->control->count;
}

void
udp_on_bound(struct udp_tables *t, void (*fn)(uint32_t id))
{
	t->control->on_bound = fn;
}
