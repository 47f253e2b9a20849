/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A small DNS responder as an example of a UDP handler: every A and AAAA question about a
 * name below `example.` has one answer, other names there is none for.
 *
 *     udp handler load /usr/lib/noref/udp_dns.so name dns
 *     udp bind *:53 app handler dns
 *     dig @ROUTER www.example A
 */

#include <stdlib.h>
#include <string.h>

#include "noref/udp_handler.h"

/* RFC 1035 4.1.1 */
enum {
	HEADER = 12,
	QR = 0x80,
	AA = 0x04,
	RCODE_NAME = 3,
	RCODE_NOT_IMPLEMENTED = 4
};
enum {
	TYPE_A = 1,
	TYPE_AAAA = 28,
	CLASS_IN = 1
};

/* What is answered: addresses for documentation (RFC 5737, RFC 3849). */
static const uint8_t answer4[4] = {192, 0, 2, 53};
static const uint8_t answer6[16] = {0x20, 0x01, 0x0d, 0xb8, [15] = 0x53};

/* Of each worker: nobody else writes it. */
struct counter {
	uint64_t questions;
	char pad[56]; /* a cache line each */
};

static unsigned
get16(const uint8_t *p)
{
	return (unsigned)(p[0] << 8 | p[1]);
}

static uint8_t *
put16(uint8_t *p, unsigned value)
{
	p[0] = (uint8_t)(value >> 8);
	p[1] = (uint8_t)value;
	return p + 2;
}

/* Bytes of the name at p, its root included; 0: it does not end, or is compressed. */
static unsigned
name_length(const uint8_t *p, unsigned room)
{
	unsigned n = 0;

	while (n < room && p[n] != 0) {
		if (p[n] > 63)
			return 0;
		n += 1u + p[n];
	}
	return n < room && n < 255 ? n + 1 : 0;
}

static int
letter(int c)
{
	return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

static int
is_below_example(const uint8_t *name, unsigned len)
{
	static const uint8_t zone[] = "\7example"; /* with the root behind it */
	const uint8_t *end;

	if (len < sizeof(zone))
		return 0;
	end = name + len - sizeof(zone);
	for (unsigned i = 0; i < sizeof(zone); i++) {
		if (letter(end[i]) != zone[i])
			return 0;
	}
	return 1;
}

/* One question, one answer or none; silence towards what is no question. */
static void
respond(struct noref_udp_worker *worker, const struct noref_udp_datagram *d)
{
	const uint8_t *q = d->data;
	unsigned name, type, size, data = 0, rcode = 0;
	uint8_t *r, *p;

	if (d->len < HEADER || (q[2] & QR) != 0)
		return;
	name = get16(q + 4) == 1 ? name_length(q + HEADER, d->len - HEADER) : 0;
	if (name == 0 || d->len < HEADER + name + 4)
		return;
	size = HEADER + name + 4;
	type = get16(q + HEADER + name);
	if ((q[2] & 0x78) != 0 || get16(q + HEADER + name + 2) != CLASS_IN)
		rcode = RCODE_NOT_IMPLEMENTED;
	else if (!is_below_example(q + HEADER, name))
		rcode = RCODE_NAME;
	else if (type == TYPE_A)
		data = sizeof(answer4);
	else if (type == TYPE_AAAA)
		data = sizeof(answer6);
	r = worker->reply(worker, d, size + (data != 0 ? 12 + data : 0));
	if (r == NULL)
		return;
	memcpy(r, q, size);
	r[2] = (uint8_t)(QR | AA | (q[2] & 0x79));
	r[3] = (uint8_t)rcode;
	put16(r + 6, data != 0);
	put16(r + 8, 0);
	put16(r + 10, 0);
	if (data == 0)
		return;
	p = put16(r + size, 0xc000 | HEADER); /* RFC 1035 4.1.4: the name of the question */
	p = put16(p, type);
	p = put16(p, CLASS_IN);
	p = put16(put16(p, 0), 60);
	p = put16(p, data);
	memcpy(p, type == TYPE_A ? answer4 : answer6, data);
}

static void
handle(void *state, struct noref_udp_worker *worker, const struct noref_udp_datagram *datagrams,
       uint32_t n)
{
	struct counter *counters = state;

	for (uint32_t i = 0; i < n; i++)
		respond(worker, &datagrams[i]);
	counters[worker->id].questions += n;
}

static void *
open_dns(const char *name, uint32_t workers, char *error, size_t error_size)
{
	(void)name;
	(void)error;
	(void)error_size;
	return calloc(workers, sizeof(struct counter));
}

NOREF_UDP_HANDLER(.about = "answers A and AAAA below example.", .open = open_dns, .close = free,
		  .handle = handle);
