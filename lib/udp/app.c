/* SPDX-License-Identifier: BSD-3-Clause */
/* Kinds of application, and those that are open. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "private.h"

/* sink, echo, handler, ring, and room for what is compiled in beside them. */
#define KINDS_MAX 16

static const struct udp_app_ops *kinds[KINDS_MAX];
static unsigned count;

void
udp_app_register(const struct udp_app_ops *ops)
{
	assert(count < KINDS_MAX && udp_app_find(ops->word) == NULL);
	kinds[count++] = ops;
}

const struct udp_app_ops *
udp_app_find(const char *word)
{
	for (unsigned i = 0; i < count; i++) {
		if (strcmp(kinds[i]->word, word) == 0)
			return kinds[i];
	}
	return NULL;
}

const struct udp_app_ops *
udp_app_at(unsigned index)
{
	return index < count ? kinds[index] : NULL;
}

static struct open_app *
find_open(const struct udp_control *c, const struct udp_app *app)
{
	struct open_app *o;

	LIST_FOREACH(o, &c->apps, next) {
		if (o->app == app)
			return o;
	}
	return NULL;
}

struct udp_app *
udp_app_get(struct udp_tables *t, const struct udp_app_ops *ops, const char *name, struct err *err)
{
	struct udp_control *c = t->control;
	struct open_app *o;

	LIST_FOREACH(o, &c->apps, next) {
		if (o->app->ops == ops && strcmp(o->app->name, name) == 0)
			return o->app;
	}
	if (strlen(name) >= UDP_APP_NAME_LEN) {
		err_set(err, EINVAL, "%s '%.40s': a name has at most %d letters", ops->word, name,
			UDP_APP_NAME_LEN - 1);
		return NULL;
	}
	o = calloc(1, sizeof(*o));
	if (o == NULL) {
		err_set(err, ENOMEM, "no memory");
		return NULL;
	}
	o->app = ops->open(name, c->workers, err);
	if (o->app == NULL) {
		free(o);
		return NULL;
	}
	o->app->ops = ops;
	o->app->sockets = 0;
	snprintf(o->app->name, sizeof(o->app->name), "%s", name);
	LIST_INSERT_HEAD(&c->apps, o, next);
	return o->app;
}

static void
close_if_unused(struct open_app *o)
{
	if (o->app->sockets != 0 || o->leaving != 0)
		return;
	LIST_REMOVE(o, next);
	o->app->ops->close(o->app);
	free(o);
}

void
udp_app_put(struct udp_tables *t, struct udp_app *app)
{
	close_if_unused(find_open(t->control, app));
}

/* Those with sockets that want to be polled. 0 or -ENOMEM, the list as it was. */
static int
publish_pollers(struct udp_control *c)
{
	const struct udp_pollers *old = c->tables->pollers;
	struct udp_pollers *list;
	struct open_app *o;
	unsigned n = 0;

	LIST_FOREACH(o, &c->apps, next)
		n += o->app->sockets != 0 && o->app->ops->poll != NULL;
	if (n == 0 && old == NULL)
		return 0;
	list = malloc(sizeof(*list) + n * sizeof(struct udp_app *));
	if (list == NULL)
		return -ENOMEM;
	list->n = 0;
	LIST_FOREACH(o, &c->apps, next) {
		if (o->app->sockets != 0 && o->app->ops->poll != NULL)
			list->apps[list->n++] = o->app;
	}
	__atomic_store_n(&c->tables->pollers, list, __ATOMIC_RELEASE);
	udp_retire(c, old);
	return 0;
}

int
app_hold(struct udp_control *c, struct udp_app *app, uint32_t socket, struct err *err)
{
	int rc = app->ops->bound != NULL ? app->ops->bound(app, socket, err) : 0;

	if (rc < 0)
		return rc;
	if (++app->sockets == 1 && app->ops->poll != NULL && publish_pollers(c) < 0) {
		app->sockets--;
		if (app->ops->unbound != NULL)
			app->ops->unbound(app, socket);
		return err_set(err, ENOMEM, "no memory");
	}
	return 0;
}

void
app_leave(struct udp_control *c, struct udp_app *app)
{
	find_open(c, app)->leaving++;
	app->sockets--;
	if (app->sockets != 0 || app->ops->poll == NULL || publish_pollers(c) == 0)
		return;
	/* No memory for a shorter list: wait until nobody reads the old one, and shorten that. */
	struct udp_pollers *list = (struct udp_pollers *)(uintptr_t)c->tables->pollers;

	__atomic_store_n(&c->tables->pollers, NULL, __ATOMIC_RELEASE);
	rcu_synchronize(c->rcu);
	for (unsigned i = 0; i < list->n; i++) {
		if (list->apps[i] == app)
			list->apps[i--] = list->apps[--list->n];
	}
	__atomic_store_n(&c->tables->pollers, list, __ATOMIC_RELEASE);
}

void
app_gone(struct udp_control *c, struct udp_app *app, uint32_t socket)
{
	struct open_app *o = find_open(c, app);

	if (app->ops->unbound != NULL)
		app->ops->unbound(app, socket);
	o->leaving--;
	close_if_unused(o);
}
