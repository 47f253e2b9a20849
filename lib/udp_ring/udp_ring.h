/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UDP_RING_H
#define UDP_RING_H

/**
 * @file
 * `app ring NAME`: a UDP socket whose datagrams another process reads and sends, through memory
 * both have mapped (udp_ring_shared.h says how it is laid out, and why the other process
 * can harm nobody but itself).
 *
 * Each worker has rings of its own, so workers share nothing but what the one client reads. A
 * worker copies a datagram once, into its ring; makes a burst visible with one store; and wakes a
 * client that sleeps with one byte in a pipe, at most once a loop. Without a client, with one that
 * has died or does not read, datagrams are dropped as udp_queue_full and cost a worker two loads.
 */

#include "base.h"
#include "rcu.h"
#include "udp_app.h"

/** What stands behind a client that has attached. */
struct ring_client;

/**
 * Register the kind of application. rcu: says when workers let go of a client. interfaces: numbers
 * of interfaces are below that. Control thread, once.
 */
void udp_ring_init(struct rcu *rcu, unsigned interfaces);

/**
 * Make rings for a client of `ring NAME`.
 *
 * @param fds  two file descriptors for it, the caller's to close: the memory (a memfd that can
 *             neither shrink nor grow) and a pipe's reading end
 * @return NULL with err: no socket is bound to that ring, it has a client, no memory.
 *         Control thread.
 */
struct ring_client *udp_ring_attach(const char *name, int fds[2], struct err *err);

/** The client has gone. Its memory is freed when no worker uses it any more. Control thread. */
void udp_ring_detach(struct ring_client *client);

#endif
