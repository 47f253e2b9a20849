/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernel is asked: who may bind where, and which socket gets a datagram. The same
 * sockets are made here and there, at random, in two network namespaces; lib/udp must
 * answer as the kernel does. Which member of a reuseport group it is may differ.
 *
 * Skipped where namespaces cannot be made (not root).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "udp_lookup.h"

#define ROUNDS	400
#define SOCKETS 8
#define PROBES	24

enum {
	RED = 1
};

/* Devices a socket may be bound to; e2 is in VRF red. */
static const struct device {
	const char *name;
	uint16_t vrf, iface;
} devices[] = {{NULL, 0, 0}, {"e0", 0, 1}, {"e1", 0, 2}, {"e2", RED, 3}, {"red", RED, 0}};

/* Addresses that may be asked for, and whose they are (-1: nobody's). */
static const struct {
	const char *text;
	int vrf;
} addresses[] = {
	{"0.0.0.0", -2},	{"10.0.0.1", 0},      {"10.0.0.3", 0},
	{"10.0.1.1", 0},	{"10.0.0.9", -1},     {"::", -2},
	{"2001:db8::1", 0},	{"2001:db8:1::1", 0}, {"::", -2},
	{"0.0.0.0", -2},	{"2001:db8::9", -1},  {"10.0.2.1", RED},
	{"2001:db8:2::1", RED},
};

/* Where datagrams come from, by device e0, e1, e2. */
static const struct {
	uint16_t vrf, iface;
	const char *from4, *from6;
	const char *to4[3], *to6[2];
} links[] = {
	{0,
	 1,
	 "10.0.0.2",
	 "2001:db8::2",
	 {"10.0.0.1", "10.0.0.3", "10.0.1.1"},
	 {"2001:db8::1", "2001:db8:1::1"}},
	{0,
	 2,
	 "10.0.1.2",
	 "2001:db8:1::2",
	 {"10.0.1.1", "10.0.0.1", "10.0.0.3"},
	 {"2001:db8:1::1", "2001:db8::1"}},
	{RED,
	 3,
	 "10.0.2.2",
	 "2001:db8:2::2",
	 {"10.0.2.1", "10.0.2.1", "10.0.2.1"},
	 {"2001:db8:2::1", "2001:db8:2::1"}},
};
static const uint16_t ports[] = {5000, 5001}, remote_ports[] = {6000, 6001, 6002};

static const char router[] =
	"ip link set lo up;"
	"sysctl -qw net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0 "
	"net.ipv4.udp_early_demux=0 net.ipv4.conf.all.rp_filter=0 "
	"net.ipv4.conf.default.rp_filter=0;"
	"ip link set red up 2>/dev/null;"
	"for i in 0 1 2; do ip link add e$i type veth peer name p$i netns /proc/%d/fd/%d; done;"
	"ip link set e2 master red 2>/dev/null;"
	"for i in 0 1 2; do sysctl -qw net.ipv4.conf.e$i.rp_filter=0; ip link set e$i up;"
	" ip addr add 10.0.$i.1/24 dev e$i; done;"
	"ip addr add 10.0.0.3/24 dev e0;"
	"ip addr add 2001:db8::1/64 dev e0 nodad; ip addr add 2001:db8:1::1/64 dev e1 nodad;"
	"ip addr add 2001:db8:2::1/64 dev e2 nodad";
static const char peer[] =
	"for i in 0 1 2; do ip link set p$i up; ip addr add 10.0.$i.2/24 dev p$i; done;"
	"ip addr add 2001:db8::2/64 dev p0 nodad; ip addr add 2001:db8:1::2/64 dev p1 nodad;"
	"ip addr add 2001:db8:2::2/64 dev p2 nodad;"
	"ip route add 10.0.1.0/24 via 10.0.0.1 dev p0 metric 99;"
	"ip route add 10.0.0.0/24 via 10.0.1.1 dev p1 metric 99;"
	"ip -6 route add 2001:db8:1::/64 via 2001:db8::1 dev p0 metric 999;"
	"ip -6 route add 2001:db8::/64 via 2001:db8:1::1 dev p1 metric 999";

static int senders[3][2][3]; /* by link, family, port */
static struct rcu *rcu;
static struct udp_tables *tables;
static bool ready;
/* What of devices[], addresses[] and links[] is used: a kernel without VRFs does without the last.
 */
static unsigned device_count = RTE_DIM(devices), link_count = RTE_DIM(links),
		address_count = RTE_DIM(addresses);
static int this_cpu;

/* One socket, there and here. */
struct pair {
	int fd;
	uint32_t id;
};

static unsigned
pick(unsigned n)
{
	return (unsigned)random() % n;
}

static struct ip_addr
parse(const char *text)
{
	struct ip_addr a;

	assert_int_equal(ip_addr_parse(text, 0, &a), 0);
	return a;
}

static socklen_t
sockaddr_of(const struct ip_addr *a, uint16_t port, struct sockaddr_storage *out, bool v6)
{
	struct sockaddr_in *in = (struct sockaddr_in *)out;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)out;

	memset(out, 0, sizeof(*out));
	if (!v6) {
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		memcpy(&in->sin_addr, a->bytes, 4);
		return sizeof(*in);
	}
	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(port);
	if (a->family == AF_INET6) {
		memcpy(&in6->sin6_addr, a->bytes, 16);
	} else { /* RFC 4291 2.5.5.2 */
		in6->sin6_addr.s6_addr[10] = in6->sin6_addr.s6_addr[11] = 0xff;
		memcpy(&in6->sin6_addr.s6_addr[12], a->bytes, 4);
	}
	return sizeof(*in6);
}

static void
command(const char *text)
{
	if (system(text) != 0)
		fail_msg("%s", text);
}

static int
sender(unsigned l, bool v6, uint16_t port)
{
	struct ip_addr from = parse(v6 ? links[l].from6 : links[l].from4);
	char device[] = {'p', (char)('0' + l), 0};
	struct sockaddr_storage sa;
	int fd = socket(v6 ? AF_INET6 : AF_INET, SOCK_DGRAM, 0);

	assert_true(fd >= 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device, 3), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, sockaddr_of(&from, port, &sa, v6)), 0);
	return fd;
}

static int
set_up(void **state)
{
	char text[4096];
	int there, here;
	cpu_set_t one;

	(void)state;
	srandom(7);
	/* One processor: what has been sent has arrived when sendto() returns. */
	this_cpu = sched_getcpu();
	CPU_ZERO(&one);
	CPU_SET((unsigned)this_cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
	rcu = rcu_create(2, NULL);
	assert_non_null(rcu);
	if (unshare(CLONE_NEWNET) != 0)
		return 0; /* each test skips */
	there = open("/proc/self/ns/net", O_RDONLY);
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	here = open("/proc/self/ns/net", O_RDONLY);
	if (system("ip link add red type vrf table 100 2>/dev/null") != 0) {
		print_message("this kernel has no VRFs: not compared\n");
		device_count -= 2;
		link_count--;
		address_count -= 2;
	}
	snprintf(text, sizeof(text), router, getpid(), there);
	command(text);
	assert_int_equal(setns(there, CLONE_NEWNET), 0);
	command(peer);
	for (unsigned l = 0; l < 3; l++) {
		for (unsigned p = 0; p < 3; p++) {
			senders[l][0][p] = sender(l, false, remote_ports[p]);
			senders[l][1][p] = sender(l, true, remote_ports[p]);
		}
	}
	assert_int_equal(setns(here, CLONE_NEWNET), 0);
	ready = true;
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	rcu_destroy(rcu);
	return 0;
}

/* --- binding ------------------------------------------------------------------------------ */

static int
kernel_bind(const struct udp_bind *b, const char *device)
{
	bool v6 = b->addr.family == AF_INET6;
	int on = 1, only = b->v6only, rc, cpu = b->lcore;
	struct sockaddr_storage sa;
	socklen_t len = sockaddr_of(&b->addr, b->port, &sa, v6);
	int fd = socket(v6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	assert_true(fd >= 0);
	if (device != NULL)
		assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device,
					    (socklen_t)strlen(device)),
				 0);
	if (v6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof(only));
	if (b->reuseport)
		setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
	if (cpu >= 0)
		setsockopt(fd, SOL_SOCKET, SO_INCOMING_CPU, &cpu, sizeof(cpu));
	rc = bind(fd, (struct sockaddr *)&sa, len) == 0 ? fd : -errno;
	if (rc < 0)
		close(fd);
	return rc;
}

/* The address and device of a bind, as the program checks before it asks the library. */
static int
here_bind(const struct udp_bind *b, int owner, uint32_t *id)
{
	if (owner != -2 && owner != b->vrf)
		return -EADDRNOTAVAIL;
	return udp_bind(tables, b, id, NULL);
}

static void describe(const struct pair *pairs, unsigned n);

/* One more, to be pairs[n]. */
static bool
bind_one(struct pair *pairs, unsigned n)
{
	struct pair *pair = &pairs[n];
	const struct device *d = &devices[pick(2) == 0 ? 0 : pick(device_count)];
	unsigned a = pick(address_count), cpu = pick(4);
	struct udp_bind b = {
		.addr = parse(addresses[a].text),
		.port = ports[pick(RTE_DIM(ports))],
		.vrf = d->vrf,
		.iface = d->iface,
		.reuseport = pick(2) == 0,
		.lcore = cpu == 0   ? this_cpu
			 : cpu == 1 ? this_cpu + 1
				    : -1,
		.worker = cpu == 0   ? 0
			  : cpu == 1 ? 1
				     : -1,
		.app = udp_app_get(tables, &udp_echo, "", NULL),
	};
	int there, here;

	if (b.addr.family == AF_INET6)
		b.v6only = pick(3) == 0;
	there = kernel_bind(&b, d->name);
	here = here_bind(&b, addresses[a].vrf, &pair->id);
	if ((there < 0 ? there : 0) != here) {
		describe(pairs, n);
		fail_msg("%s port %u dev %s%s%s: the kernel says %s, we %s", addresses[a].text,
			 b.port, d->name != NULL ? d->name : "-", b.reuseport ? " reuseport" : "",
			 b.v6only ? " v6only" : "", there < 0 ? strerror(-there) : "bound",
			 here < 0 ? strerror(-here) : "bound");
	}
	pair->fd = there;
	return there >= 0;
}

/* To a host behind a link the socket may use, from where the kernel says. */
static void
connect_one(const struct pair *pair)
{
	const struct udp_bind b = udp_get(tables, pair->id)->bound;
	bool v6 = b.addr.family == AF_INET6, to6 = v6;
	unsigned l = pick(link_count);
	uint16_t port = remote_ports[pick(RTE_DIM(remote_ports))];
	struct sockaddr_storage sa;
	socklen_t len = sizeof(sa);
	struct ip_addr to, local;

	if (v6 && ip_is_unspecified(&b.addr) && !b.v6only)
		to6 = pick(2) == 0;
	if (links[l].vrf != b.vrf || (b.iface != 0 && b.iface != links[l].iface))
		return;
	to = parse(to6 ? links[l].from6 : links[l].from4);
	if (connect(pair->fd, (struct sockaddr *)&sa, sockaddr_of(&to, port, &sa, v6)) != 0)
		return;
	assert_int_equal(getsockname(pair->fd, (struct sockaddr *)&sa, &len), 0);
	if (!v6)
		local = ip4_addr(ntohl(((struct sockaddr_in *)&sa)->sin_addr.s_addr));
	else if (to6)
		local = ip6_addr(&((struct sockaddr_in6 *)&sa)->sin6_addr);
	else
		local = ip4_addr(ntohl(((struct sockaddr_in6 *)&sa)->sin6_addr.s6_addr32[3]));
	assert_int_equal(udp_connect(tables, pair->id, &to, port, &local, NULL), 0);
}

/* --- who gets it ---------------------------------------------------------------------------- */

static int
kernel_asks(const struct pair *pairs, unsigned n, unsigned l, bool v6, unsigned sport,
	    const struct ip_addr *to, uint16_t port)
{
	struct sockaddr_storage sa;
	socklen_t len = sockaddr_of(to, port, &sa, v6);
	struct pollfd fds[SOCKETS];
	char byte = 0;
	int found = -1;

	assert_int_equal(sendto(senders[l][v6][sport], &byte, 1, 0, (struct sockaddr *)&sa, len),
			 1);
	for (unsigned i = 0; i < n; i++)
		fds[i] = (struct pollfd){.fd = pairs[i].fd, .events = POLLIN};
	poll(fds, n, 1);
	for (unsigned i = 0; i < n; i++) {
		if ((fds[i].revents & POLLIN) == 0)
			continue;
		assert_int_equal(recv(pairs[i].fd, &byte, 1, 0), 1);
		assert_int_equal(found, -1);
		found = (int)i;
	}
	return found;
}

static int
here_asks(const struct pair *pairs, unsigned n, unsigned l, const struct ip_addr *from,
	  unsigned sport, const struct ip_addr *to, uint16_t port)
{
	struct udp_flow f = {to->bytes,	     from->bytes, to->family,	      links[l].vrf,
			     links[l].iface, port,	  remote_ports[sport]};
	uint32_t ref = udp_lookup(tables, &f, 0);

	for (unsigned i = 0; i < n; i++) {
		if (ref != UDP_NONE && pairs[i].id == UDP_REF_ID(ref))
			return (int)i;
	}
	assert_int_equal(ref, UDP_NONE);
	return -1;
}

/* Members of one group: which it is is the hash's affair, and the kernel's is secret. But one on
 * the CPU goes before others. */
static bool
same_group(const struct pair *a, const struct pair *b)
{
	const struct udp_socket *x = udp_get(tables, a->id), *y = udp_get(tables, b->id);

	return x->bound.reuseport && y->bound.reuseport && x->remote.family == 0 &&
	       y->remote.family == 0 && x->bound.iface == y->bound.iface &&
	       x->bound.vrf == y->bound.vrf && ip_addr_equal(&x->bound.addr, &y->bound.addr) &&
	       x->bound.v6only == y->bound.v6only &&
	       (x->bound.worker == 0) == (y->bound.worker == 0);
}

/* The one case in which we differ on purpose: the kernel's search ends at a reuseport group of
 * which nobody is connected, even if a socket connected to the sender comes later in its list. */
static bool
group_hid_connected(const struct pair *there, const struct pair *here)
{
	const struct udp_socket *x = udp_get(tables, there->id), *y = udp_get(tables, here->id);

	return x->bound.reuseport && x->remote.family == 0 && y->remote.family != 0 &&
	       ip_addr_equal(&x->bound.addr, &y->bound.addr);
}

static void
describe(const struct pair *pairs, unsigned n)
{
	char local[IP_ADDR_TEXT], remote[IP_ADDR_TEXT];

	for (unsigned i = 0; i < n; i++) {
		const struct udp_socket *s = udp_get(tables, pairs[i].id);
		const struct udp_bind *b = &s->bound;

		print_message("  %u: %s port %u vrf %u iface %u%s%s lcore %d", i,
			      ip_addr_format(&b->addr, local), b->port, b->vrf, b->iface,
			      b->reuseport ? " reuseport" : "", b->v6only ? " v6only" : "",
			      b->worker);
		if (s->remote.family != 0)
			print_message(" from %s port %u", ip_addr_format(&s->remote, remote),
				      s->remote_port);
		print_message("\n");
	}
}

static unsigned hidden;

static void
probe(const struct pair *pairs, unsigned n)
{
	unsigned l = pick(link_count), sport = pick(3);
	bool v6 = pick(2) == 0;
	struct ip_addr to = parse(v6 ? links[l].to6[pick(2)] : links[l].to4[pick(3)]);
	struct ip_addr from = parse(v6 ? links[l].from6 : links[l].from4);
	uint16_t port = ports[pick(RTE_DIM(ports))];
	int there = kernel_asks(pairs, n, l, v6, sport, &to, port);
	int here = here_asks(pairs, n, l, &from, sport, &to, port);
	char text[IP_ADDR_TEXT], other[IP_ADDR_TEXT];

	if (there == here || (there >= 0 && here >= 0 && same_group(&pairs[there], &pairs[here])))
		return;
	if (there >= 0 && here >= 0 && group_hid_connected(&pairs[there], &pairs[here])) {
		hidden++;
		return;
	}
	describe(pairs, n);
	fail_msg("%s port %u to %s port %u on e%u: the kernel says %d, we %d",
		 ip_addr_format(&from, other), remote_ports[sport], ip_addr_format(&to, text), port,
		 l, there, here);
}

static void
one_round(void)
{
	struct pair pairs[SOCKETS];
	unsigned n = 0;

	tables = udp_create(2, rcu, &udp_sink, NULL);
	assert_non_null(tables);
	for (unsigned tries = 0; tries < 4 * SOCKETS && n < SOCKETS; tries++) {
		n += bind_one(pairs, n);
		if (n != 0 && pick(5) == 0)
			connect_one(&pairs[pick(n)]);
		if (n > 2 && pick(6) == 0) {
			unsigned i = pick(n);

			close(pairs[i].fd);
			assert_int_equal(udp_close(tables, pairs[i].id, NULL), 0);
			pairs[i] = pairs[--n];
		}
	}
	for (unsigned i = 0; i < PROBES; i++)
		probe(pairs, n);
	for (unsigned i = 0; i < n; i++)
		close(pairs[i].fd);
	udp_destroy(tables);
}

static void
sockets_are_bound_and_found_as_in_the_kernel(void **state)
{
	(void)state;
	if (!ready)
		skip();
	for (unsigned round = 0; round < ROUNDS; round++)
		one_round();
	print_message("%u datagrams for a connected socket, that the kernel gives to a group\n",
		      hidden);
	assert_true(hidden < ROUNDS * PROBES / 100);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sockets_are_bound_and_found_as_in_the_kernel),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
