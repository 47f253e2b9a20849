/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UDP_RING_INTERNAL_H
#define UDP_RING_INTERNAL_H

#include <stddef.h>

#include <rte_common.h>

#include "udp_ring.h"
#include "udp_ring_shared.h"

/** Sizes of each worker's rings. What waits to be read should still be in a cache. */
#define RECEIVED_BYTES (1024u * 1024)
#define SEND_BYTES     (512u * 1024)

/** What a worker knows of a client: its own ends of its own two rings. */
struct ring_worker {
	struct ring_writer received;
	struct ring_reader send;
	uint32_t woken; /* head when the client was woken last */
	bool broken;	/* what the client wants sent makes no sense: nothing more is read */
} __rte_cache_aligned;

struct ring_client {
	struct ring_app *app; /* control thread; NULL: it is gone */
	uint8_t *memory;
	size_t size;
	int wake; /* pipe, writing end */
	unsigned workers;
	struct ring_worker worker[];
};

/** Memory, pipe, and what goes to the client. NULL with err. */
struct ring_client *ring_client_create(unsigned workers, int fds[2], struct err *err);
/** Tell it that nothing will come any more. When no worker uses it. */
void ring_client_hang_up(struct ring_client *client);
/** When no worker uses it. */
void ring_client_free(struct ring_client *client);

#endif
