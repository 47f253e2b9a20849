/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Headers of fragments read, and the header of the datagram they were.
 */
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>

#include "internal.h"
#include "ip.h"

#define FRAGMENT_HEADER 8
#define TCP_HEADER_MIN	20
#define UDP_HEADER	8
#define ICMP6_HEADER	8

enum {
	NOT_ECT,
	ECT_1,
	ECT_0,
	CE
};

static uint64_t secret[2];

void
reassembly_init(const uint64_t fixed[2])
{
	struct timespec now;

	/* Without randomness from the kernel a sender could at worst make chains long. */
	if (fixed != NULL) {
		memcpy(secret, fixed, sizeof(secret));
	} else if (getrandom(secret, sizeof(secret), 0) != (ssize_t)sizeof(secret)) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		secret[0] = (uint64_t)now.tv_nsec * 0x9e3779b97f4a7c15;
		secret[1] = (uint64_t)(uintptr_t)&now * 0xbf58476d1ce4e5b9;
	}
	secret[1] |= 1;
}

/* Products of 64-bit numbers, halves folded: unlike a CRC, what collides depends on the secret. */
uint64_t
secret_hash(const void *bytes, unsigned words)
{
	uint64_t h = secret[0];

	for (unsigned i = 0; i < words; i++) {
		unsigned __int128 product;
		uint64_t word;

		memcpy(&word, (const uint8_t *)bytes + i * 8, 8);
		product = (unsigned __int128)(h ^ word) * secret[1];
		h = (uint64_t)product ^ (uint64_t)(product >> 64) ^ secret[0] ^ (i + 1);
	}
	return h;
}

static void
hash_key(struct fragment *f)
{
	f->hash = secret_hash(&f->key, sizeof(f->key) / 8);
}

enum fragment_check
fragment_read4(const uint8_t *h, uint16_t len, uint16_t vrf, struct fragment *f)
{
	uint16_t field = ip_get16(h + 6);

	*f = (struct fragment){
		.key = {.vrf = vrf, .family = AF_INET, .proto = h[9], .id = ip_get16(h + 4)},
		.start = (uint32_t)(field & IP4_OFFSET_MASK) * UNIT,
		.headers = (uint16_t)((h[0] & 15) * 4),
		.more = (field & IP4_MORE_FRAGMENTS) != 0,
		.ecn = h[1] & 3,
	};
	f->len = (uint16_t)(len - f->headers);
	memcpy(f->key.src, h + 12, 4);
	memcpy(f->key.dst, h + 16, 4);
	hash_key(f);
	if (f->len == 0 || (f->more && f->len % UNIT != 0) ||
	    f->headers + f->start + f->len > UINT16_MAX)
		return FRAGMENT_BAD;
	return FRAGMENT_OK;
}

/* RFC 7112 5: does the first fragment hold every header, the upper layer's included? */
static bool
headers_complete(const uint8_t *h, uint16_t len, uint16_t contiguous, uint16_t at)
{
	struct ip6_walk walk;
	uint16_t need;

	if (ip6_walk(h, len, contiguous, h[at], (uint16_t)(at + FRAGMENT_HEADER), at, true, false,
		     &walk) != 0)
		return false;
	switch (walk.proto) {
	case PROTO_TCP:
		need = TCP_HEADER_MIN;
		break;
	case PROTO_UDP:
		need = UDP_HEADER;
		break;
	case PROTO_ICMP6:
		need = ICMP6_HEADER;
		break;
	default:
		need = 1;
	}
	return walk.offset + need <= len;
}

enum fragment_check
fragment_read6(const uint8_t *h, uint16_t len, uint16_t contiguous, uint16_t at,
	       uint16_t next_field, uint16_t vrf, struct fragment *f)
{
	uint16_t field = ip_get16(h + at + 2);

	*f = (struct fragment){
		.key = {.vrf = vrf, .family = AF_INET6, .proto = h[at]},
		.start = field & 0xfff8,
		.headers = (uint16_t)(at + FRAGMENT_HEADER),
		.next_field = next_field,
		.more = (field & 1) != 0,
		.ecn = (h[1] >> 4) & 3,
	};
	f->len = (uint16_t)(len - f->headers);
	memcpy(f->key.src, h + 8, 16);
	memcpy(f->key.dst, h + 24, 16);
	memcpy(&f->key.id, h + at + 4, 4);
	hash_key(f);
	if (f->len == 0)
		return FRAGMENT_BAD;
	if (f->more && f->len % UNIT != 0)
		return FRAGMENT_BAD_LENGTH;
	/* The payload length of the datagram, without the fragment header. */
	if (at - IP6_HEADER + f->start + f->len > UINT16_MAX)
		return FRAGMENT_TOO_LONG;
	if (f->start == 0 && !headers_complete(h, len, contiguous, at))
		return FRAGMENT_INCOMPLETE;
	return FRAGMENT_OK;
}

/*
 * RFC 3168 5.3: one mark of congestion on a fragment marks the datagram; fragments of
 * senders that know such marks and that do not are not of one datagram.
 */
static bool
combine_ecn(uint8_t seen, bool *congested)
{
	*congested = (seen & 1 << CE) != 0;
	return (seen & 1 << NOT_ECT) == 0 || seen == 1 << NOT_ECT;
}

static void
finish4(uint8_t *h, uint16_t headers, uint32_t len, bool congested)
{
	h[1] |= congested ? CE : 0;
	ip_put16(h + 2, (uint16_t)len);
	ip_put16(h + 6, 0);
	ip4_sum_set(h, headers);
}

/* RFC 8200 4.5: the headers before the fragment header move up over it. */
static void
finish6(struct rte_mbuf *packet, const struct datagram *d, bool congested)
{
	uint8_t *h = rte_pktmbuf_mtod(packet, uint8_t *);

	memmove(h + FRAGMENT_HEADER, h, d->headers - FRAGMENT_HEADER);
	packet_strip(packet, FRAGMENT_HEADER);
	h += FRAGMENT_HEADER;
	h[d->next_field] = d->key.proto;
	h[1] |= congested ? CE << 4 : 0;
	ip_put16(h + 4, (uint16_t)(packet->pkt_len - IP6_HEADER));
}

bool
header_finish(struct rte_mbuf *packet, const struct datagram *d)
{
	bool congested;

	if (!combine_ecn(d->ecn, &congested))
		return false;
	if (d->key.family == AF_INET) {
		if (packet->pkt_len > UINT16_MAX)
			return false;
		finish4(rte_pktmbuf_mtod(packet, uint8_t *), d->headers, packet->pkt_len,
			congested);
		return true;
	}
	if (packet->pkt_len - FRAGMENT_HEADER - IP6_HEADER > UINT16_MAX)
		return false;
	finish6(packet, d, congested);
	return true;
}
