/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * udp ...
 */
#include <errno.h>
#include <stdio.h>

#include "net.h"
#include "net_words.h"
#include "udp_handler.h"
#include "udp_sockets.h"
#include "worker.h"

/* "ADDR:PORT", "[ADDR]:PORT" or "*:PORT"; the text is taken apart. */
static int
parse_address(char *text, struct ip_addr *addr, uint16_t *port, struct err *err)
{
	char *colon = strrchr(text, ':');
	uint64_t number;
	size_t len;

	if (colon == NULL || colon == text)
		return err_set(err, EINVAL, "'%.60s': ADDR:PORT, [ADDR]:PORT or *:PORT is expected",
			       text);
	if (number_parse(colon + 1, 0, UINT16_MAX, &number) < 0)
		return err_set(err, EINVAL, "'%.20s' is no port, 0 to 65535", colon + 1);
	*port = (uint16_t)number;
	*colon = '\0';
	len = strlen(text);
	if (strcmp(text, "*") == 0) {
		*addr = ip4_addr(0);
		return 0;
	}
	if (text[0] == '[' && text[len - 1] == ']') {
		text[len - 1] = '\0';
		if (ip_addr_parse(text + 1, AF_INET6, addr) == 0)
			return 0;
		return err_set(err, EINVAL, "'%.60s' is not an IPv6 address", text + 1);
	}
	if (ip_addr_parse(text, AF_INET, addr) == 0)
		return 0;
	if (ip_addr_parse(text, AF_INET6, addr) == 0)
		return err_set(err, EINVAL, "an IPv6 address is written [%.60s]:%u", text, *port);
	return err_set(err, EINVAL, "'%.60s' is not an address", text);
}

static int
parse_id(struct call *call, uint32_t *id)
{
	const char *word = call_next(call);
	uint64_t number;

	*id = 0;
	if (word == NULL)
		return err_set(call->err, EINVAL, "the id of a UDP socket is missing");
	if (number_parse(word[0] == '#' ? word + 1 : word, 0, UDP_SOCKETS_MAX - 1, &number) < 0)
		return err_set(call->err, EINVAL, "'%.20s' is no id of a UDP socket", word);
	*id = (uint32_t)number;
	return 0;
}

/* --- udp bind --------------------------------------------------------------------------------- */

struct bind_request {
	struct udp_bind bind;
	struct iface_control *dev;
	const struct vrf *vrf;
	const struct udp_app_ops *ops;
	const char *name;
};

static int
parse_lcore(struct call *call, struct udp_bind *bind)
{
	const char *word = call_value(call, "lcore", "a number");
	uint64_t number;

	if (word == NULL)
		return -EINVAL;
	if (number_parse(word, 0, RTE_MAX_LCORE - 1, &number) < 0)
		return err_set(call->err, EINVAL, "lcore: '%.20s' is no lcore", word);
	for (unsigned w = 0; w < workers_count(); w++) {
		if (worker_lcore(w) == number) {
			bind->lcore = (int)number;
			bind->worker = (int)w;
			return 0;
		}
	}
	return err_set(call->err, EINVAL, "lcore %lu is no worker", number);
}

static int
parse_app(struct call *call, struct bind_request *r)
{
	const char *word = call_value(call, "app", "sink, echo, ring NAME or handler NAME");

	if (word == NULL)
		return -EINVAL;
	r->ops = udp_app_find(word);
	if (r->ops == NULL)
		return err_set(call->err, EINVAL,
			       "app '%.20s': there are sink, echo, ring and handler", word);
	r->name = "";
	if (!r->ops->named)
		return 0;
	r->name = call_value(call, word, "a name");
	return r->name != NULL ? 0 : -EINVAL;
}

static int
parse_option(struct call *call, struct bind_request *r)
{
	struct word_table table;
	const char *word;

	if (call_accept(call, "dev", 1)) {
		word = call_value(call, "dev", "an interface");
		r->dev = word != NULL ? word_dev(word, call->err) : NULL;
		return r->dev != NULL ? 0 : -ENODEV;
	}
	if (strcmp(call_peek(call), "vrf") == 0) {
		if (words_table(call, &table) < 0)
			return -EINVAL;
		r->vrf = table.v;
		return r->vrf != NULL ? 0 : err_set(call->err, ENOENT, "the VRF does not exist");
	}
	if (call_accept(call, "reuseport", 2))
		r->bind.reuseport = true;
	else if (call_accept(call, "lcore", 2))
		return parse_lcore(call, &r->bind);
	else if (call_accept(call, "v6only", 2))
		r->bind.v6only = true;
	else if (call_accept(call, "app", 1))
		return parse_app(call, r);
	else
		return call_end(call);
	return 0;
}

/* Do the words go together? */
static int
complete(struct call *call, struct bind_request *r)
{
	if (r->ops == NULL)
		return err_set(call->err, EINVAL,
			       "app is missing: {sink|echo|ring NAME|handler NAME}");
	if (r->bind.v6only && r->bind.addr.family != AF_INET6)
		return err_set(call->err, EINVAL, "v6only: the address is an IPv4 one");
	if (r->dev != NULL && r->vrf != NULL && r->dev->vrf != r->vrf->idx)
		return err_set(call->err, EINVAL, "%s is not in that VRF", r->dev->name);
	if (r->vrf != NULL)
		r->bind.vrf = r->vrf->idx;
	if (r->dev != NULL) {
		r->bind.vrf = r->dev->vrf;
		r->bind.iface = r->dev->id;
	}
	return 0;
}

static int
cmd_bind(struct call *call)
{
	struct bind_request r = {.bind = {.lcore = -1, .worker = -1}};
	char *word = call_next(call);
	uint32_t id;
	int rc;

	if (word == NULL)
		return err_set(call->err, EINVAL, "ADDR:PORT is missing");
	rc = parse_address(word, &r.bind.addr, &r.bind.port, call->err);
	while (rc == 0 && call_peek(call) != NULL)
		rc = parse_option(call, &r);
	if (rc == 0)
		rc = complete(call, &r);
	if (rc == 0)
		rc = udp_sockets_check(&r.bind, call->err);
	if (rc < 0)
		return rc;
	r.bind.app = udp_app_get(sockets, r.ops, r.name, call->err);
	if (r.bind.app == NULL)
		return -EINVAL;
	rc = udp_sockets_bind(&r.bind, &id, call->err);
	if (rc < 0) {
		udp_app_put(sockets, r.bind.app);
		return rc;
	}
	out_text(call->out, "UDP socket #%u bound\n", id);
	out_json_object(call->out, NULL);
	out_json_uint(call->out, "id", id);
	out_json_uint(call->out, "port", udp_get(sockets, id)->bound.port);
	out_json_end(call->out);
	return 0;
}

/* --- udp connect, close, handler ---------------------------------------------------------------
 */

static int
cmd_connect(struct call *call)
{
	struct ip_addr remote;
	uint16_t port;
	uint32_t id;
	char *word;
	int rc = parse_id(call, &id);

	if (rc < 0)
		return rc;
	word = call_next(call);
	if (word == NULL)
		return err_set(call->err, EINVAL, "ADDR:PORT is missing");
	rc = parse_address(word, &remote, &port, call->err);
	if (rc == 0)
		rc = call_end(call);
	return rc == 0 ? udp_sockets_connect(id, &remote, port, call->err) : rc;
}

static int
cmd_close(struct call *call)
{
	uint32_t id;
	int rc = parse_id(call, &id);

	if (rc == 0)
		rc = call_end(call);
	return rc == 0 ? udp_sockets_close(id, call->err) : rc;
}

static int
cmd_load(struct call *call)
{
	const char *path = call_next(call), *name;

	if (path == NULL)
		return err_set(call->err, EINVAL, "the path of a shared object is missing");
	if (!call_accept(call, "name", 1))
		return err_set(call->err, EINVAL, "name NAME is missing");
	name = call_value(call, "name", "a name");
	if (name == NULL || call_end(call) < 0)
		return -EINVAL;
	return udp_handler_load(path, name, call->err);
}

static int
clear_udp(struct call *call)
{
	int rc = call_end(call);

	if (rc < 0)
		return rc;
	for (const struct udp_socket *s = udp_next(sockets, 0); s != NULL;
	     s = udp_next(sockets, s->id + 1))
		udp_sockets_clear(s->id);
	return 0;
}

/* --- udp show
 * ------------------------------------------------------------------------------------- */

static void
show_socket(struct out *out, const struct udp_socket *s)
{
	char local[UDP_ADDRESS_TEXT], remote[UDP_ADDRESS_TEXT] = "";
	const struct udp_bind *b = &s->bound;
	const struct iface *iface = iface_at(b->iface);
	const struct vrf *vrf = vrf_at(b->vrf);
	const struct udp_app *app = b->app;
	struct udp_counters c;
	uint64_t queue = app->ops->depth != NULL ? app->ops->depth(app, s->id) : 0;

	udp_sockets_counters(s->id, &c);
	udp_address_format(&b->addr, b->port, local);
	if (s->remote.family != 0)
		udp_address_format(&s->remote, s->remote_port, remote);
	out_json_object(out, NULL);
	out_json_uint(out, "id", s->id);
	out_json_string(out, "local", local);
	out_json_string(out, "remote", remote);
	out_json_int(out, "lcore", b->lcore);
	out_json_uint(out, "packets", c.packets);
	out_json_uint(out, "bytes", c.bytes);
	out_json_uint(out, "drops", c.drops);
	out_json_uint(out, "queue", queue);
	out_json_string(out, "app", app->ops->word);
	out_json_string(out, "name", app->name);
	out_json_string(out, "dev", iface != NULL ? iface->name : "");
	out_json_string(out, "vrf", vrf != NULL ? vrf->name : "");
	out_json_bool(out, "reuseport", b->reuseport);
	out_json_bool(out, "v6only", b->v6only);
	out_json_end(out);
	out_text(out, "#%-6u %-24s %-24s %12lu %14lu %10lu %8lu  %s%s%s", s->id, local,
		 remote[0] != '\0' ? remote : "-", c.packets, c.bytes, c.drops, queue,
		 app->ops->word, app->name[0] != '\0' ? " " : "", app->name);
	if (iface != NULL)
		out_text(out, " dev %s", iface->name);
	else if (b->vrf != VRF_MAIN)
		out_text(out, " vrf %s", vrf->name);
	if (b->lcore >= 0)
		out_text(out, " lcore %d", b->lcore);
	out_text(out, "%s\n", b->reuseport ? " reuseport" : "");
}

static int
show_more(struct call *call)
{
	uint32_t *next = call->state;
	const struct udp_socket *s;

	while ((s = udp_next(sockets, *next)) != NULL) {
		*next = s->id + 1;
		show_socket(call->out, s);
		if (out_full(call->out))
			return CALL_MORE;
	}
	out_json_end(call->out);
	return 0;
}

static int
cmd_show(struct call *call)
{
	if (call_end(call) < 0)
		return -EINVAL;
	call->state = calloc(1, sizeof(uint32_t));
	if (call->state == NULL)
		return err_set(call->err, ENOMEM, "no memory");
	call->more = show_more;
	out_text(call->out, "%-7s %-24s %-24s %12s %14s %10s %8s  app\n", "id", "local", "remote",
		 "packets", "bytes", "drops", "queue");
	out_json_array(call->out, NULL);
	return show_more(call);
}

/* --- show config
 * ---------------------------------------------------------------------------------------- */

/* What was asked for, without what a connect added. */
static void
bind_line(struct out *line, const struct udp_socket *s)
{
	struct udp_bind b = s->bound;
	char text[UDP_ADDRESS_TEXT];

	b.addr = s->asked;
	out_text(line, "udp bind %s", udp_address_format(&b.addr, b.port, text));
	if (b.iface != 0)
		out_text(line, " dev %s", iface_get(b.iface)->name);
	else if (b.vrf != VRF_MAIN)
		out_text(line, " vrf %s", vrf_at(b.vrf)->name);
	if (b.reuseport)
		out_text(line, " reuseport");
	if (b.lcore >= 0)
		out_text(line, " lcore %d", b.lcore);
	if (b.v6only && ip_is_unspecified(&b.addr))
		out_text(line, " v6only");
	out_text(line, " app %s", b.app->ops->word);
	if (b.app->ops->named)
		out_text(line, " %s", b.app->name);
}

bool
udp_config_line(struct udp_config_at *at, struct out *line)
{
	const struct udp_socket *s = udp_next(sockets, at->socket);
	char text[UDP_ADDRESS_TEXT];
	struct udp_bind asked;
	struct err err;

	if (s == NULL)
		return false;
	asked = s->bound;
	asked.addr = s->asked;
	/* What could not be carried out now becomes a comment that says why. */
	if (udp_sockets_check(&asked, &err) < 0) {
		out_text(line, "# %s: ", err.text);
		bind_line(line, s);
		at->socket = s->id + 1;
		return true;
	}
	if (!at->connect) {
		bind_line(line, s);
		at->connect = s->remote.family != 0;
		if (!at->connect) {
			at->socket = s->id + 1;
			at->number++;
		}
		return true;
	}
	out_text(line, "udp connect %u %s", at->number,
		 udp_address_format(&s->remote, s->remote_port, text));
	at->connect = false;
	at->socket = s->id + 1;
	at->number++;
	return true;
}

/* --- rows
 * --------------------------------------------------------------------------------------------------
 */

static const struct command commands[] = {
	{"udp bind {ADDRESS:PORT|*:PORT} [dev DEV] [vrf VRF] [reuseport] [lcore N] [v6only] "
	 "app {sink|echo|ring NAME|handler NAME}",
	 "a UDP socket on this router", cmd_bind,
	 "An IPv6 address is written [ADDR]:PORT; [::]:PORT takes both families unless v6only\n"
	 "follows. Port 0 takes a free one. Who may share an address and port is as with bind(2) on\n"
	 "Linux: sockets of one address all say reuseport; sockets in different VRFs or on\n"
	 "different interfaces do not meet, but one bound to none meets them all.\n"},
	{"udp connect ID ADDRESS:PORT", "take datagrams from there only", cmd_connect, NULL},
	{"udp close ID", "close a UDP socket", cmd_close, NULL},
	{"udp show", "UDP sockets and what they have received", cmd_show, NULL},
	{"udp handler load FILE name NAME", "load a shared object that handles datagrams", cmd_load,
	 "The file's path is absolute; the file and every folder above it belong to root and nobody\n"
	 "else may write there.\n"},
	{"clear udp", "count datagrams from zero", clear_udp, NULL},
};

static void
complete_id(void *ctx, void (*add)(void *arg, const char *word), void *arg)
{
	char text[12];

	(void)ctx;
	for (const struct udp_socket *s = udp_next(sockets, 0); s != NULL;
	     s = udp_next(sockets, s->id + 1)) {
		snprintf(text, sizeof(text), "%u", s->id);
		add(arg, text);
	}
}

void
udp_commands_register(struct console *console)
{
	console_placeholder(console, "ID", complete_id);
	console_register(console, commands, RTE_DIM(commands));
}
