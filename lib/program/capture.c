/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What librte_bpf says when it refuses a program it says in the log only. While
 * a program is loaded, the log goes through a stream of ours, made once: it keeps
 * the loading thread's lines and passes on everybody else's.
 */
#include "internal.h"

#include <stdio.h>

#include <rte_log.h>

static FILE *stream;   /* ours */
static FILE *log_file; /* where the log goes otherwise */
static int level;      /* librte_bpf's, otherwise */
static __thread struct capture *capturing;

static void
keep(struct capture *c, const char *text, size_t size)
{
	for (size_t i = 0; i < size && c->used + 1 < sizeof(c->text); i++) {
		bool blank = (unsigned char)text[i] <= ' ';

		if (!blank)
			c->text[c->used++] = text[i];
		else if (c->used > 0 && c->text[c->used - 1] != ' ')
			c->text[c->used++] = ' ';
	}
	c->text[c->used] = '\0';
}

/* Called once for each message: the stream has no buffer. */
static ssize_t
stream_write(void *cookie, const char *text, size_t size)
{
	(void)cookie;
	if (capturing != NULL) {
		keep(capturing, text, size);
	} else {
		fwrite(text, 1, size, log_file);
		fflush(log_file);
	}
	return (ssize_t)size;
}

/* -1: librte_bpf has no log of its own. */
static int
bpf_log_type(void)
{
	return rte_log_register("lib.bpf");
}

void
capture_begin(struct capture *capture)
{
	int type = bpf_log_type();

	memset(capture, 0, sizeof(*capture));
	if (stream == NULL) {
		stream = fopencookie(NULL, "w", (cookie_io_functions_t){.write = stream_write});
		if (stream != NULL)
			setvbuf(stream, NULL, _IONBF, 0);
	}
	if (type >= 0) {
		level = rte_log_get_level((uint32_t)type);
		rte_log_set_level((uint32_t)type, RTE_LOG_ERR);
	}
	if (stream == NULL)
		return;
	log_file = rte_log_get_stream();
	capturing = capture;
	rte_openlog_stream(stream);
}

void
capture_end(void)
{
	int type = bpf_log_type();

	if (capturing != NULL) {
		/* The default stream by its own name, NULL: EAL closes it in the end. */
		rte_openlog_stream(NULL);
		if (rte_log_get_stream() != log_file)
			rte_openlog_stream(log_file);
		capturing = NULL;
	}
	if (type >= 0)
		rte_log_set_level((uint32_t)type, (uint32_t)level);
}

void
capture_quiet(void)
{
	int type = bpf_log_type();

	if (type >= 0)
		rte_log_set_level((uint32_t)type, RTE_LOG_CRIT);
}
