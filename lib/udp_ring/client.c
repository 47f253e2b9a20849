/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Memory shared with one client.
 */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* A client that could make the memory smaller could have a worker read where none is. */
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

/* The file, of `size` bytes; -1 with errno. */
static int
make_memory(size_t size)
{
	int fd = memfd_create("noref-udp-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int saved;

	if (fd < 0)
		return -1;
	if (ftruncate(fd, (off_t)size) == 0 && fcntl(fd, F_ADD_SEALS, SEALS) == 0)
		return fd;
	saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

static void
lay_out(struct ring_client *c)
{
	struct ring_memory *m = (struct ring_memory *)(void *)c->memory;

	*m = (struct ring_memory){
		.magic = RING_MAGIC,
		.version = RING_VERSION,
		.workers = c->workers,
		.received_bytes = RECEIVED_BYTES,
		.send_bytes = SEND_BYTES,
		.size = c->size,
	};
	for (unsigned w = 0; w < c->workers; w++) {
		uint64_t received = ring_received_offset(RECEIVED_BYTES, SEND_BYTES, w);
		uint64_t to_send = ring_send_offset(RECEIVED_BYTES, SEND_BYTES, w);

		c->worker[w] = (struct ring_worker){
			.received = {.ends = (struct ring_ends *)(void *)(c->memory + received),
				     .size = RECEIVED_BYTES},
			.send = {.ends = (struct ring_ends *)(void *)(c->memory + to_send),
				 .size = SEND_BYTES},
		};
	}
}

struct ring_client *
ring_client_create(unsigned workers, int fds[2], struct err *err)
{
	size_t size = sizeof(struct ring_client) + workers * sizeof(struct ring_worker);
	struct ring_client *c = aligned_alloc(RTE_CACHE_LINE_SIZE,
					      RTE_ALIGN_CEIL(size, (size_t)RTE_CACHE_LINE_SIZE));
	int pipe_fds[2] = {-1, -1};

	fds[0] = fds[1] = -1;
	if (c == NULL) {
		err_set(err, ENOMEM, "no memory for a client");
		return NULL;
	}
	*c = (struct ring_client){.wake = -1, .workers = workers, .memory = MAP_FAILED};
	c->size = ring_received_offset(RECEIVED_BYTES, SEND_BYTES, workers);
	fds[0] = make_memory(c->size);
	/* Populated now, so that no worker waits for a page. */
	if (fds[0] >= 0)
		c->memory = mmap(NULL, c->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
				 fds[0], 0);
	/* A pipe has flags for each end: an eventfd's client could have our writes block. */
	if (c->memory != MAP_FAILED && pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK) == 0) {
		fds[1] = pipe_fds[0];
		c->wake = pipe_fds[1];
		lay_out(c);
		return c;
	}
	err_set(err, errno, "no shared memory of %zu KiB: %s", c->size / 1024, strerror(errno));
	if (fds[0] >= 0)
		close(fds[0]);
	fds[0] = -1;
	ring_client_free(c);
	return NULL;
}

void
ring_client_hang_up(struct ring_client *c)
{
	if (c->wake >= 0)
		close(c->wake);
	c->wake = -1;
}

void
ring_client_free(struct ring_client *c)
{
	if (c->memory != MAP_FAILED)
		munmap(c->memory, c->size);
	ring_client_hang_up(c);
	free(c);
}
