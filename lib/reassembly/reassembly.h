/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REASSEMBLY_H
#define REASSEMBLY_H

/**
 * @file
 * Fragments of IPv4 and IPv6 datagrams put together again (RFC 791, RFC 815,
 * RFC 8200 4.5, RFC 5722).
 *
 * Not librte_ip_frag's: as packaged it holds 8 fragments of a datagram, loses the
 * datagram when one of them comes twice, does not look at the protocol, and knows no
 * VRF.
 *
 * A datagram is known by VRF, addresses, identification and protocol. Its fragments are
 * kept as they came, in any order, and found again by where they start; a bit for each 8
 * bytes says what is covered. So a fragment costs the same whether it is one of three or
 * one of three thousand, and when the last gap closes, following "starts where the last
 * one ended" gives the chain of buffers. Nothing is copied.
 *
 *  - The same fragment again, byte for byte, is refused and changes nothing.
 *  - Any other overlap, and lengths that contradict each other, kill the datagram: what is
 *    there is dropped, and so is what still comes of it, until its time is up (RFC 5722 4).
 *  - Memory is bounded (struct reassembly_limits), and each source may use a part of it only. Who
 *    uses most pays for new ones with its oldest datagram: one flooder evicts itself. Who uses most
 *    with a single datagram may complete it: the oldest of all goes.
 *
 * One struct reassembly belongs to one thread, which alone calls the functions that take
 * it. Packets handed in have their data start at the IP header and end with the IP packet, and
 * the buffer of their headers must be the caller's to write.
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

struct reassembly;

/** Which datagram a fragment is of. Without padding: compared and hashed as bytes. */
struct fragment_key {
	uint8_t src[16], dst[16]; /**< IPv4 uses the first 4 bytes, the rest is zero */
	uint32_t id;
	uint16_t vrf;
	uint8_t family; /**< AF_INET, AF_INET6 */
	uint8_t proto;
};

static_assert(sizeof(struct fragment_key) == 40, "no padding");

/** What the headers of a fragment say. */
struct fragment {
	struct fragment_key key;
	uint64_t hash;	     /**< of the key: the same on every thread, secret to the world */
	uint32_t start;	     /**< of its bytes in the datagram's payload; a multiple of 8 */
	uint16_t len;	     /**< bytes of payload */
	uint16_t headers;    /**< bytes before them */
	uint16_t next_field; /**< IPv6: where the byte is that names the fragment header */
	bool more;	     /**< it is not the last */
	uint8_t ecn;	     /**< congestion mark, 2 bits */
};

/** How a fragment can be wrong by itself; the sender of the last three hears of it (IPv6). */
enum fragment_check {
	FRAGMENT_OK,
	FRAGMENT_BAD,	     /**< empty, IPv4: of a length that cannot be, or beyond 64 KB */
	FRAGMENT_BAD_LENGTH, /**< not the last and no multiple of 8: parameter problem, payload
				length */
	FRAGMENT_TOO_LONG,   /**< reaches beyond 64 KB: parameter problem, fragment offset */
	FRAGMENT_INCOMPLETE, /**< the first one, without all headers (RFC 7112): problem code 3 */
};

/** Draw the secret in hashes; once, before anything else here. fixed: take this one, so that a test
 * repeats itself; else NULL. */
void reassembly_init(const uint64_t fixed[2]);

/** Read the fragment at h: an IPv4 header that has been checked, of a packet of len bytes. */
enum fragment_check fragment_read4(const uint8_t *h, uint16_t len, uint16_t vrf,
				   struct fragment *f);

/**
 * Read the fragment at h: an IPv6 packet of len bytes with a fragment header (not of an
 * atomic fragment, RFC 6946) at offset `at`, which the byte at next_field names.
 * contiguous: bytes that can be read at h; at least at + 8.
 */
enum fragment_check fragment_read6(const uint8_t *h, uint16_t len, uint16_t contiguous, uint16_t at,
				   uint16_t next_field, uint16_t vrf, struct fragment *f);

/** Bounds, for each struct reassembly. */
struct reassembly_limits {
	/** Buffers held, and one for every datagram that is not complete; the most there can be. */
	uint32_t total;
	/** The same for one source: an IPv4 address or an IPv6 /64, in its VRF. */
	uint32_t per_source;
	uint64_t timeout4, timeout6; /**< from a datagram's first fragment; in units of `now` */
};

/** Who gets the packets that do not come out as part of a datagram. */
struct reassembly_owner {
	void *ctx;
	/** A fragment is not kept any more: free it, count it as dropped. */
	void (*dropped)(void *ctx, struct rte_mbuf *packet);
	/** A fragment becomes part of the datagram about to be returned: count it. It is not to be
	 * freed. */
	void (*merged)(void *ctx, struct rte_mbuf *packet);
	/** Time is up for a datagram of which the first fragment is there: an ICMP error may be due
	 * (RFC 792, RFC 4443 3.3). dropped() comes after, also for this packet. */
	void (*expired)(void *ctx, struct rte_mbuf *first, uint8_t family);
};

/** NULL: out of memory. Pages are touched when first used. */
struct reassembly *reassembly_create(const struct reassembly_limits *limits,
				     const struct reassembly_owner *owner);
/** All that is held must have been dropped before. NULL is allowed. */
void reassembly_destroy(struct reassembly *r);

enum reassembly_result {
	REASSEMBLY_HELD,    /**< kept until others come */
	REASSEMBLY_WHOLE,   /**< the datagram is complete */
	REASSEMBLY_REFUSED, /**< not kept: *whole is the caller's, to be dropped */
};

/**
 * Take a fragment. On REASSEMBLY_WHOLE, *whole is the datagram, data starting at its IP
 * header, as if it had never been cut: lengths, checksum, next header and congestion
 * mark (RFC 3168 5.3) are right, DF is clear, a fragment header is gone. It is a chain
 * of the fragments' buffers; owner->merged() was called for all but the one just handed
 * in. On REASSEMBLY_REFUSED it is what came, or that chain, when only the whole showed
 * that it cannot be.
 *
 * now: any clock that does not go back.
 */
enum reassembly_result reassembly_add(struct reassembly *r, const struct fragment *f,
				      struct rte_mbuf *packet, uint64_t now,
				      struct rte_mbuf **whole);

/** Give up datagrams whose time is up, at most `max`. Returns how many. */
unsigned reassembly_expire(struct reassembly *r, uint64_t now, unsigned max);

/** Drop everything, without asking for errors. */
void reassembly_flush(struct reassembly *r);

/** Fragments held, and datagrams of which some are (or were, if they are dead). */
uint32_t reassembly_fragments(const struct reassembly *r);
uint32_t reassembly_datagrams(const struct reassembly *r);

#endif
