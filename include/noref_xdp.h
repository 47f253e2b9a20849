/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NOREF_XDP_H
#define NOREF_XDP_H

/**
 * @file
 * For programs that decide what becomes of packets:
 * `xdp set dev P obj FILE.o section NAME`. Needs no other header.
 *
 *     #include <noref_xdp.h>
 *
 *     NOREF_SECTION("no_udp")
 *     int no_udp(const struct noref_packet *p)
 *     {
 *             if (noref_be16(p, 12) == 0x0800 && p->head[23] == 17)
 *                     return XDP_DROP;
 *             return XDP_PASS;
 *     }
 *
 *     clang -O2 -target bpf -mcpu=v2 -c no_udp.c -o no_udp.o
 *
 * It is not the kernel's struct xdp_md: a program gets a copy of the packet's
 * first bytes, and helpers for the rest. What is allowed, and how to write what
 * is not (loops, functions, global variables), is in docs/programs.md.
 *
 * noref itself includes this header for what both sides must agree on.
 */

/** Bytes of the packet a program sees without asking. */
#define NOREF_HEAD 128

/** Bytes a block holds: the most one noref_load() or noref_store() moves. */
#define NOREF_BLOCK 64

/** Counters of a program's own, shown by `xdp show`. */
#define NOREF_COUNTERS 16

/** Verdicts, numbered as everywhere. Any other value counts as XDP_ABORTED. */
#ifndef __LINUX_BPF_H__
enum xdp_action {
	XDP_ABORTED,  /**< drop, and count that something went wrong */
	XDP_DROP,     /**< drop */
	XDP_PASS,     /**< go on: rules, sockets, routing */
	XDP_TX,	      /**< send back where it came from, MAC addresses swapped */
	XDP_REDIRECT, /**< send where noref_redirect() or noref_redirect_worker() said */
};
#endif

/** What a program is given. Read only: writing to it changes no packet. */
struct noref_packet {
	unsigned int length;	 /**< bytes of the frame, all segments, without FCS */
	unsigned int held;	 /**< bytes of it in head[]: the smaller of length and NOREF_HEAD */
	unsigned int hash;	 /**< the device's RSS hash, 0: it gave none */
	unsigned short port;	 /**< number of the port it came in on */
	unsigned short segments; /**< buffers it lies in */
	unsigned short worker;	 /**< lcore that runs the program */
	unsigned short reserved[7];
	/** The frame's first bytes, from the destination MAC on; zeros from head[held] on. Indexed
	 * by constants; by variables through noref_at(). */
	unsigned char head[NOREF_HEAD];
};

/** Memory that helpers read and write: on a program's stack, always of this size. */
struct noref_block {
	unsigned char bytes[NOREF_BLOCK];
};

#ifdef __bpf__

/** Where `section NAME` finds the program. One function in each. */
#define NOREF_SECTION(name) __attribute__((section("noref/" name), used))

/** For functions a program calls: there are no calls, so they must become part of it. */
#define NOREF_INLINE static inline __attribute__((always_inline))

/**
 * Where head[offset] is. A variable must be masked so that it cannot lead beyond NOREF_HEAD, as in
 * `(p->head[14] & 15) * 4`; comparing it does not convince librte_bpf. That knows that a pointer
 * plus a number is a pointer, but not that a number plus a pointer is one, and clang writes either.
 */
NOREF_INLINE const unsigned char *
noref_at(const struct noref_packet *p, unsigned long long offset)
{
	const unsigned char *at = p->head;

	if (__builtin_constant_p(offset))
		return at + offset;
	__asm__("%0 += %1" : "+r"(at) : "r"(offset));
	return at;
}

/** Two and four bytes of the head, from network to host order; the offset as for noref_at(). */
NOREF_INLINE unsigned int
noref_be16(const struct noref_packet *p, unsigned long long offset)
{
	return __builtin_bswap16(*(const unsigned short *)noref_at(p, offset));
}

NOREF_INLINE unsigned int
noref_be32(const struct noref_packet *p, unsigned long long offset)
{
	return __builtin_bswap32(*(const unsigned int *)noref_at(p, offset));
}

/**
 * Copy bytes of the packet, from any of its segments, into a block. 0; or -1 with the
 * block unchanged when length is above NOREF_BLOCK or the packet has not all of them.
 */
extern long long noref_load(unsigned long long offset, struct noref_block *to,
			    unsigned long long length);

/**
 * Write a block's first bytes into the packet (and its view). Bytes that somebody else holds, too,
 * are copied first, so that only this packet changes. 0; or -1 with nothing changed when length is
 * above NOREF_BLOCK, the packet has not all of them, or no buffer was free for the copy.
 * Checksums are the program's business.
 */
extern long long noref_store(unsigned long long offset, const struct noref_block *from,
			     unsigned long long length);

/** 1, 2 or 4 bytes anywhere in the packet, from network to host order; -1: not (all) there. */
extern long long noref_get(unsigned long long offset, unsigned long long size);

/** The same for writing; 0, or -1 as noref_store(). */
extern long long noref_put(unsigned long long offset, unsigned long long size,
			   unsigned long long value);

/** Send it out of this port, as it is. Gives XDP_REDIRECT, for return; a port that is
 * not there makes it XDP_ABORTED when the packet is to be sent. The last call counts. */
extern long long noref_redirect(unsigned long long port);

/** Let the worker on this lcore go on with it, as after XDP_PASS. XDP_REDIRECT. */
extern long long noref_redirect_worker(unsigned long long lcore);

/** Add to a counter of the program's own. 0; -1: there is no such counter. Each worker counts
 * for itself, `xdp show` adds up. */
extern long long noref_count(unsigned long long counter, unsigned long long add);

#endif

#endif
