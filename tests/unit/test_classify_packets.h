/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_CLASSIFY_PACKETS_H
#define TEST_CLASSIFY_PACKETS_H

/**
 * @file
 * Random frames: sound ones and others, of every stack of headers that rules know.
 * Fields have few values, so that rules and packets meet.
 */

#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

static uint64_t random_state = UINT64_C(0x9e3779b97f4a7c15);

static uint32_t
random32(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 20);
}

static uint32_t
below(uint32_t n)
{
	return (uint32_t)(((uint64_t)random32() * n) >> 32);
}

static bool
chance(unsigned percent)
{
	return below(100) < percent;
}

/* --- frames -------------------------------------------------------------------- */

#define FRAME_MAX 1024

struct frame {
	unsigned len;
	uint8_t bytes[FRAME_MAX];
};

static void
put(struct frame *f, const void *bytes, unsigned n)
{
	memcpy(f->bytes + f->len, bytes, n);
	f->len += n;
}

static void
put8(struct frame *f, unsigned x)
{
	f->bytes[f->len++] = (uint8_t)x;
}

static void
put16(struct frame *f, unsigned x)
{
	put8(f, x >> 8);
	put8(f, x);
}

/* Mostly one of a few, now and then anything. */
static unsigned
few(unsigned n)
{
	return chance(95) ? below(n) : random32();
}

static void
put_upper(struct frame *f, unsigned proto)
{
	switch (proto) {
	case 17:
		put16(f, 1000 + few(8));
		put16(f, 2000 + few(8));
		put16(f, 8 + below(20));
		put16(f, few(3));
		break;
	case 6:
		put16(f, 1000 + few(8));
		put16(f, 2000 + few(8));
		put16(f, few(3));
		put16(f, few(3));
		put16(f, few(3));
		put16(f, few(3));
		put8(f, 0x50);
		put8(f, few(64));
		put16(f, few(3));
		put16(f, few(3));
		put16(f, few(3));
		break;
	case 132:
		put16(f, 1000 + few(8));
		put16(f, 2000 + few(8));
		put16(f, 0);
		put16(f, few(3));
		put16(f, few(3));
		put16(f, few(3));
		break;
	case 1:
	case 58:
		put8(f, few(4));
		put8(f, few(2));
		put16(f, few(3));
		if (chance(80))
			put16(f, few(4));
		if (chance(80))
			put16(f, few(4));
		break;
	}
	for (unsigned n = below(12); n > 0; n--)
		put8(f, random32());
}

static unsigned
random_proto(bool tunnel)
{
	static const uint8_t protos[] = {17, 17, 17, 6, 6, 132, 1, 58, 50};

	if (tunnel && chance(40))
		return chance(50) ? 4 : 41;
	return protos[below(sizeof(protos))];
}

static void put_ip(struct frame *f, unsigned version, bool tunnel);

static void
put_payload(struct frame *f, unsigned proto, bool tunnel)
{
	if (tunnel && (proto == 4 || proto == 41) && chance(95))
		put_ip(f, proto == 4 ? 4 : 6, false);
	else
		put_upper(f, proto);
}

static void
put_ip4(struct frame *f, bool tunnel)
{
	unsigned begin = f->len, proto = random_proto(tunnel), words = chance(20) ? below(11) : 0;

	put8(f, 0x45 + words);
	put8(f, few(4) << 2);
	put16(f, 0);
	put16(f, few(3));
	put16(f, chance(90) ? 0x4000 : chance(50) ? 0x2000 : 0x2000 + below(3));
	put8(f, chance(80) ? 64 : below(4));
	put8(f, proto);
	put16(f, random32());
	for (unsigned address = 0; address < 2; address++) {
		put16(f, 0x0a00 + few(3));
		put16(f, few(4) << 8 | few(4));
	}
	for (unsigned w = 0; w < words; w++) {
		put16(f, 0x0101);
		put16(f, 0x0101);
	}
	put_payload(f, proto, tunnel);
	f->bytes[begin + 2] = (uint8_t)((f->len - begin) >> 8);
	f->bytes[begin + 3] = (uint8_t)(f->len - begin);
}

static void
put_extension(struct frame *f, unsigned this, unsigned next)
{
	unsigned words = this == 44 ? 0 : below(4);

	put8(f, next);
	put8(f, this == 44 ? 0 : words);
	if (this == 44)
		put16(f, chance(60) ? 1 : chance(50) ? 8 : 0);
	else
		put16(f, 0x0400 + below(3));
	put16(f, random32());
	put16(f, random32());
	for (unsigned w = 0; w < words * 4; w++)
		put16(f, random32());
}

static void
put_ip6(struct frame *f, bool tunnel)
{
	static const uint8_t extensions[] = {0, 43, 43, 44, 60};
	unsigned begin = f->len, proto = random_proto(tunnel);
	unsigned n = chance(70) ? 0 : chance(80) ? 1 + below(2) : below(11);
	uint8_t chain[12];

	for (unsigned i = 0; i < n; i++)
		chain[i] = extensions[below(sizeof(extensions))];
	chain[n] = (uint8_t)proto;
	put16(f, 0x6000 | few(4) << 4);
	put16(f, few(4));
	put16(f, 0);
	put8(f, chain[0]);
	put8(f, chance(80) ? 64 : below(4));
	for (unsigned address = 0; address < 2; address++) {
		put16(f, 0xfc00);
		put16(f, few(3));
		for (unsigned i = 0; i < 4; i++)
			put16(f, 0);
		put16(f, few(3));
		put16(f, few(8));
	}
	for (unsigned i = 0; i < n; i++)
		put_extension(f, chain[i], chain[i + 1]);
	put_payload(f, proto, tunnel);
	f->bytes[begin + 4] = (uint8_t)((f->len - begin - 40) >> 8);
	f->bytes[begin + 5] = (uint8_t)(f->len - begin - 40);
}

static void
put_ip(struct frame *f, unsigned version, bool tunnel)
{
	if (version == 4)
		put_ip4(f, tunnel);
	else
		put_ip6(f, tunnel);
}

/* Cut it, pad it, or turn bits of it. */
static void
spoil(struct frame *f)
{
	unsigned n;

	switch (below(3)) {
	case 0:
		f->len = below(f->len + 1);
		break;
	case 1:
		for (n = below(20); n > 0; n--)
			put8(f, random32());
		break;
	case 2:
		for (n = 1 + below(3); n > 0; n--)
			f->bytes[below(RTE_MIN(f->len, 100u))] ^= (uint8_t)(1u << below(8));
		break;
	}
}

static inline void
random_frame(struct frame *f)
{
	static const uint16_t tags[] = {0x8100, 0x8100, 0x88a8, 0x9100};
	unsigned version = chance(50) ? 4 : 6;
	uint8_t mac[12] = {2, 0, 0, 0, 0, (uint8_t)few(3), 2, 0, 0, 0, 1, (uint8_t)few(3)};

	f->len = 0;
	put(f, mac, sizeof(mac));
	for (unsigned n = chance(70) ? 0 : below(4); n > 0; n--) {
		put16(f, tags[below(RTE_DIM(tags))]);
		put16(f, few(2) << 13 | few(5));
	}
	if (chance(4)) {
		put16(f, 0x0806);
		put_upper(f, 6);
	} else {
		put16(f, version == 4 ? 0x0800 : 0x86dd);
		put_ip(f, version, true);
	}
	if (chance(15))
		spoil(f);
}

/* --- mbufs --------------------------------------------------------------------- */

/* A segment with exactly the bytes it has: reading on is an error the sanitizer sees. */
static struct rte_mbuf *
segment(const uint8_t *bytes, unsigned n)
{
	struct rte_mbuf *m = calloc(1, sizeof(*m));

	m->buf_addr = malloc(n);
	if (n != 0)
		memcpy(m->buf_addr, bytes, n);
	m->buf_len = (uint16_t)n;
	m->data_len = (uint16_t)n;
	m->pkt_len = n;
	m->nb_segs = 1;
	return m;
}

static struct rte_mbuf *
packet_of(const struct frame *f, bool parted)
{
	unsigned at = parted ? below(f->len + 1) : f->len;
	struct rte_mbuf *first = segment(f->bytes, at), *last = first;

	while (at < f->len) {
		unsigned n = chance(50) ? f->len - at : 1 + below(f->len - at);

		last->next = segment(f->bytes + at, n);
		last = last->next;
		first->pkt_len += n;
		first->nb_segs++;
		at += n;
	}
	return first;
}

static void
packet_free(struct rte_mbuf *m)
{
	while (m != NULL) {
		struct rte_mbuf *next = m->next;

		free(m->buf_addr);
		free(m);
		m = next;
	}
}

#endif
