/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UDP_RING_SHARED_H
#define UDP_RING_SHARED_H

/**
 * @file
 * The memory noref shares with the process behind a UDP socket (`app ring NAME`): plain C, used by
 * both sides.
 *
 *     struct ring_memory
 *     worker 0:  received  struct ring_ends, then its bytes      noref writes, client reads
 *                to send   struct ring_ends, then its bytes      client writes, noref reads
 *     worker 1:  ...
 *
 * A ring is a power of two of bytes, with one writer and one reader. Records follow each other in
 * it, each a struct ring_record and its payload, padded to RING_ALIGN; none is broken at the ring's
 * end: a record marked RING_SKIP fills what is left there. `head` counts bytes ever
 * written, `tail` bytes ever read; both only grow, and wrap at 2^32.
 *
 * Each side keeps its own end privately and publishes it with a release store; the other end it
 * reads with an acquire load, once, and believes it only as far as it makes sense. noref reads
 * nothing else that the client could have written, but for records to be sent: those it copies
 * first and checks then. So the client can damage what it receives and sends itself, and nothing
 * else.
 */

#include <assert.h>
#include <stdint.h>
#include <string.h>

/** Any 8 bytes. */
typedef uint64_t __attribute__((may_alias)) ring_word;

#define RING_MAGIC   0x6e6f7265662d7564 /* "noref-ud" */
#define RING_VERSION 1

/** Records begin at multiples of it. */
#define RING_ALIGN 64
/** Largest payload of a record: a UDP datagram over IPv6. */
#define RING_PAYLOAD_MAX 65527
/** Bytes ahead of what is written that are fetched already. */
#define RING_AHEAD 768
/** Smallest ring: a record of the largest payload fits twice, wherever it begins. */
#define RING_BYTES_MIN (256u * 1024)

enum {
	RING_SKIP = 1,		/**< no datagram: go on at the beginning of the ring */
	RING_CHECKSUM_OK = 2,	/**< received: the checksum was there, and right */
	RING_DONT_FRAGMENT = 4, /**< to send */
	RING_GROUP = 8,		/**< received: it was sent to a group or broadcast address */
};

/** In front of each payload. Numbers in host order, addresses in network order. */
struct ring_record {
	uint32_t len;	     /**< bytes of payload; RING_SKIP: of the whole rest of the ring */
	uint32_t socket;     /**< id of the socket received on, or to be sent from */
	uint16_t local_port; /**< received */
	uint16_t remote_port;
	uint16_t iface; /**< number of the interface; 0: none in particular */
	uint16_t vrf;	/**< number of the VRF, received */
	uint8_t family; /**< 4 or 6 */
	uint8_t flags;	/**< RING_... */
	uint8_t tos, ttl;
	uint8_t reserved[12];
	uint8_t local[16]; /**< IPv4: the first 4 bytes; to send: all zero lets noref choose */
	uint8_t remote[16];
};

static_assert(sizeof(struct ring_record) == RING_ALIGN, "one cache line");

/** Both ends of a ring, each on a line of its own. */
struct ring_ends {
	uint32_t head __attribute__((aligned(64))); /**< written by the writer */
	uint32_t tail __attribute__((aligned(64))); /**< written by the reader */
	uint32_t read; /**< records, written by the reader: to be shown, not to be relied on */
	/** Received: the client sleeps until it is woken through its pipe. Written by the client,
	 * and cleared by noref when it wakes it. */
	uint32_t sleeping __attribute__((aligned(64)));
	uint8_t bytes[] __attribute__((aligned(64)));
};

/** At the beginning. Written once, by noref, before the client sees it; noref does not read it. */
struct ring_memory {
	uint64_t magic;
	uint32_t version;
	uint32_t workers;
	uint32_t received_bytes; /**< size of each ring of received datagrams */
	uint32_t send_bytes;	 /**< ... of datagrams to send */
	uint64_t size;		 /**< of all this */
};

/** Where the first worker's rings begin, and how far those of the next are apart. */
#define RING_FIRST 4096

static inline uint64_t
ring_received_offset(uint32_t received_bytes, uint32_t send_bytes, unsigned worker)
{
	uint64_t each = 2 * sizeof(struct ring_ends) + (uint64_t)received_bytes + send_bytes;

	return RING_FIRST + worker * each;
}

static inline uint64_t
ring_send_offset(uint32_t received_bytes, uint32_t send_bytes, unsigned worker)
{
	return ring_received_offset(received_bytes, send_bytes, worker) + sizeof(struct ring_ends) +
	       received_bytes;
}

/** Bytes a record of len bytes of payload takes up. */
static inline uint32_t
ring_record_bytes(uint32_t len)
{
	return (uint32_t)(sizeof(struct ring_record) + len + RING_ALIGN - 1) & ~(RING_ALIGN - 1u);
}

/** A thread's view of a ring it writes. Private memory. */
struct ring_writer {
	struct ring_ends *ends;
	uint32_t size;	  /**< bytes; a power of two */
	uint32_t head;	  /**< own end, published by ring_publish() */
	uint32_t tail;	  /**< the reader's, as last seen */
	uint32_t written; /**< records */
};

/** A thread's view of a ring it reads. Private memory. */
struct ring_reader {
	struct ring_ends *ends;
	uint32_t size;
	uint32_t tail;
	uint32_t head; /**< the writer's, as last seen */
	uint32_t read; /**< records */
};

/**
 * Room for a record with len bytes of payload, which the caller fills in: all of it, then
 * ring_publish(). NULL: the ring is full, or the reader's end makes no sense (to whom nothing
 * is given then).
 */
static inline struct ring_record *
ring_reserve(struct ring_writer *w, uint32_t len)
{
	uint32_t need = ring_record_bytes(len), at = w->head & (w->size - 1);
	uint32_t skip = at + need > w->size ? w->size - at : 0;
	struct ring_record *r;

	if (w->head - w->tail + skip + need > w->size) {
		uint32_t tail = __atomic_load_n(&w->ends->tail, __ATOMIC_ACQUIRE);

		/* Ahead of us, or further behind than there is: it is not to be believed. */
		if (w->head - tail > w->size)
			return NULL;
		w->tail = tail;
		if (w->head - tail + skip + need > w->size)
			return NULL;
	}
	r = (struct ring_record *)(void *)(w->ends->bytes + at);
	if (skip != 0) {
		r->len = skip;
		r->flags = RING_SKIP;
		r = (struct ring_record *)(void *)w->ends->bytes;
	}
	w->head += skip + need;
	/* Lines the reader has had: taken back before they are needed. */
	for (uint32_t ahead = RING_AHEAD; ahead < RING_AHEAD + 2 * RING_ALIGN; ahead += RING_ALIGN)
		__builtin_prefetch(w->ends->bytes + ((w->head + ahead) & (w->size - 1)), 1);
	w->written++;
	return r;
}

/** Let the reader see what has been filled in. */
static inline void
ring_publish(struct ring_writer *w)
{
	__atomic_store_n(&w->ends->head, w->head, __ATOMIC_RELEASE);
}

/**
 * The next record: its header copied to *copy (and good), its payload where returned. It stays the
 * reader's until ring_release(). NULL: none. *broken: what is there makes no sense; nothing
 * after it can be read.
 */
static inline const uint8_t *
ring_next(struct ring_reader *r, struct ring_record *copy, int *broken)
{
	for (int skipped = 0;; skipped = 1) {
		uint32_t at = r->tail & (r->size - 1), there = r->head - r->tail;
		uint64_t words[sizeof(*copy) / 8];
		const ring_word *from;

		if (there == 0) {
			r->head = __atomic_load_n(&r->ends->head, __ATOMIC_ACQUIRE);
			there = r->head - r->tail;
			if (there == 0)
				return NULL;
		}
		if (there > r->size || there % RING_ALIGN != 0) {
			*broken = 1;
			return NULL;
		}
		/* Each word once, whatever the writer does meanwhile: what is checked is what is
		 * used. */
		from = (const ring_word *)(const void *)(r->ends->bytes + at);
		for (unsigned i = 0; i < sizeof(*copy) / 8; i++)
			words[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
		memcpy(copy, words, sizeof(*copy));
		if ((copy->flags & RING_SKIP) != 0) {
			/* Once at most, or a writer could keep us here for ever. */
			if (copy->len != r->size - at || copy->len > there || skipped) {
				*broken = 1;
				return NULL;
			}
			r->tail += copy->len;
			continue;
		}
		if (copy->len > RING_PAYLOAD_MAX || ring_record_bytes(copy->len) > there ||
		    at + ring_record_bytes(copy->len) > r->size) {
			*broken = 1;
			return NULL;
		}
		r->tail += ring_record_bytes(copy->len);
		r->read++;
		return (const uint8_t *)(from + sizeof(*copy) / 8);
	}
}

/** What has been read so far may be written over. */
static inline void
ring_release(struct ring_reader *r)
{
	__atomic_store_n(&r->ends->read, r->read, __ATOMIC_RELAXED);
	__atomic_store_n(&r->ends->tail, r->tail, __ATOMIC_RELEASE);
}

#endif
