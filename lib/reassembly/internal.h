/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REASSEMBLY_INTERNAL_H
#define REASSEMBLY_INTERNAL_H

/** @file What is held, and who holds how much. */

#include <sys/queue.h>

#include "reassembly.h"

/** Offsets count in units of 8 bytes (RFC 791 3.1). */
#define UNIT	  8
#define UNITS	  8192
#define MAP_WORDS (UNITS / 64)

/** Sources are told apart as far as they fall into different ones of these. */
#define SOURCES 256

/** A fragment that is held. */
struct piece {
	SLIST_ENTRY(piece) same_hash;
	SLIST_ENTRY(piece) of_datagram;
	struct datagram *datagram;
	struct rte_mbuf *packet; /* its payload alone, but for the first: headers as they came */
	uint32_t start;
	uint16_t len;
	bool more;
};

/** A datagram some of whose fragments have come. */
struct datagram {
	struct fragment_key key;
	SLIST_ENTRY(datagram) same_hash;
	TAILQ_ENTRY(datagram) by_age;	 /* in its family */
	TAILQ_ENTRY(datagram) of_source; /* by age, too */
	SLIST_HEAD(, piece) pieces;
	uint64_t hash;
	uint64_t since;
	uint32_t total;	  /* bytes of payload; 0: the last fragment is not here */
	uint32_t covered; /* bytes */
	uint32_t end;	  /* of what is covered */
	uint32_t buffers;
	uint16_t headers, next_field; /* of the first fragment */
	uint16_t source;
	uint8_t ecn; /* bit n: congestion mark n has been seen */
	bool has_first;
	bool dead;     /* nothing will come of it */
	uint64_t *map; /* bit per unit covered */
};

TAILQ_HEAD(datagram_list, datagram);
SLIST_HEAD(datagram_chain, datagram);
SLIST_HEAD(piece_chain, piece);

struct reassembly {
	struct reassembly_limits limits;
	struct reassembly_owner owner;
	uint32_t mask; /* of both hash tables */
	uint32_t held; /* buffers, and datagrams */
	uint32_t fragments;
	uint32_t datagrams;
	struct datagram_list by_age[2]; /* IPv4, IPv6: each has one timeout, so age is order */
	struct datagram_chain *datagram_hash;
	struct piece_chain *piece_hash;

	/* Records: once used ones are in the chains, those never used from *_fresh on. */
	struct datagram *datagram_records;
	struct piece *piece_records;
	uint64_t (*maps)[MAP_WORDS];
	uint32_t datagram_max, datagram_fresh, piece_fresh;
	struct datagram_chain datagrams_free;
	struct piece_chain pieces_free;

	uint32_t held_by[SOURCES];
	struct datagram_list of_source[SOURCES];
};

/* --- table.c ---------------------------------------------------------------------- */

struct datagram *datagram_find(const struct reassembly *r, const struct fragment *f);
/** A new one, for which make_room() has made room. */
struct datagram *datagram_begin(struct reassembly *r, const struct fragment *f, uint64_t now);
/** Drop its fragments and remember that it is dead. */
void datagram_kill(struct reassembly *r, struct datagram *d);
/** Drop its fragments, if any, and forget it. */
void datagram_end(struct reassembly *r, struct datagram *d);

struct piece *piece_find(const struct reassembly *r, const struct datagram *d, uint32_t start);
void piece_add(struct reassembly *r, struct datagram *d, const struct fragment *f,
	       struct rte_mbuf *packet);
/** Take it out, but of the datagram's list; the packet is the caller's. */
struct rte_mbuf *piece_take(struct reassembly *r, struct piece *p);

/** Evict until `need` more may be held for that source, and `d` (NULL: a new one) stays. False: not
 * possible. */
bool make_room(struct reassembly *r, uint16_t source, uint32_t need, struct datagram *d);
/** Which of the SOURCES it comes from. */
uint16_t source_of(const struct fragment_key *key);

/* --- header.c --------------------------------------------------------------------- */

/** A hash nobody outside can foresee; words: of 8 bytes. */
uint64_t secret_hash(const void *bytes, unsigned words);
/** Make one datagram's header of the first fragment's. packet: the whole chain. False: it would be
 * longer than IP allows, or its congestion marks forbid it. */
bool header_finish(struct rte_mbuf *packet, const struct datagram *d);

#endif
