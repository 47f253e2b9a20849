/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Verdicts as the control thread sees them: made, published, put in words, counted.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net.h"
#include "verdict.h"
#include "worker_private.h"

static const char *const names[] = {
	[VERDICT_PASS] = "pass",	 [VERDICT_DROP] = "drop",	 [VERDICT_TX] = "tx",
	[VERDICT_REDIRECT] = "redirect", [VERDICT_CPU] = "redirect cpu", [VERDICT_PROGRAM] = "obj",
};
static const char *const by_names[] = {
	[SPREAD_OUTER] = "outer",
	[SPREAD_INNER] = "inner",
	[SPREAD_RR] = "rr",
};

const char *
verdict_name(enum verdict_kind kind)
{
	return names[kind];
}

int
spread_by_parse(const char *word, enum spread_by *by)
{
	for (unsigned i = 0; i < RTE_DIM(by_names); i++) {
		if (strcmp(word, by_names[i]) == 0) {
			*by = (enum spread_by)i;
			return 0;
		}
	}
	return -EINVAL;
}

/* --- spread -------------------------------------------------------------------------- */

/* The worker on an lcore; -1: there is none. */
static int
worker_on(unsigned lcore)
{
	for (unsigned id = 0; id < workers_count(); id++) {
		if (worker_lcore(id) == lcore)
			return (int)id;
	}
	return -1;
}

static int
no_worker(unsigned lcore, struct err *err)
{
	char workers[80] = "";
	size_t used = 0;

	for (unsigned id = 0; id < workers_count() && used + 8 < sizeof(workers); id++)
		used += (size_t)snprintf(workers + used, sizeof(workers) - used, "%s%u",
					 id == 0 ? "" : ",", worker_lcore(id));
	return err_set(err, EINVAL, "lcore %u has no worker: there are %s", lcore, workers);
}

int
spread_set(struct spread *spread, const unsigned *lcores, unsigned n, enum spread_by by,
	   struct err *err)
{
	struct spread made = {.by = (uint8_t)by};

	for (unsigned i = 0; i < n; i++) {
		int id = worker_on(lcores[i]);

		if (id < 0)
			return no_worker(lcores[i], err);
		for (unsigned k = 0; k < made.count; k++) {
			if (made.worker[k] == id)
				return err_set(err, EINVAL, "lcore %u is named twice", lcores[i]);
		}
		made.worker[made.count++] = (uint16_t)id;
	}
	for (unsigned k = 0; k < made.count; k++) {
		int rc = worker_open_handover(made.worker[k], err);

		if (rc != 0)
			return rc;
	}
	*spread = made;
	return 0;
}

/* --- programs ------------------------------------------------------------------------ */

static void
allow_targets(struct program *program, const struct spread *workers)
{
	const struct port *port;

	PORT_FOREACH(port)
		program_allow(program, PROGRAM_TO_PORT, port->id);
	for (unsigned k = 0; k < workers->count; k++)
		program_allow(program, PROGRAM_TO_WORKER,
			      (uint16_t)worker_lcore(workers->worker[k]));
}

int
verdict_load(struct verdict *verdict, const char *path, const char *section, struct err *err)
{
	unsigned lcores[RTE_MAX_LCORE], n = 0;
	struct verdict made = {.kind = VERDICT_PROGRAM};
	int rc = program_load(&made.program, path, section, PROGRAM_NATIVE, err);

	if (rc != 0)
		return rc;
	if (program_names_workers(made.program)) {
		for (unsigned id = 0; id < workers_count(); id++)
			lcores[n++] = worker_lcore(id);
	}
	rc = spread_set(&made.spread, lcores, n, SPREAD_OUTER, err);
	if (rc != 0) {
		program_free(made.program);
		return rc;
	}
	allow_targets(made.program, &made.spread);
	*verdict = made;
	return 0;
}

/* --- of ports --------------------------------------------------------------------------- */

static void
verdict_free(void *ctx, uintptr_t what)
{
	struct verdict *verdict = (void *)what;

	(void)ctx;
	program_free(verdict->program);
	free(verdict);
}

int
verdict_set(struct port *port, const struct verdict *verdict, struct err *err)
{
	const struct verdict *old = port->verdict;
	struct verdict *new = NULL;

	if (verdict != NULL) {
		new = malloc(sizeof(*new));
		if (new == NULL)
			return err_set(err, ENOMEM, "no memory for the verdict");
		*new = *verdict;
	}
	__atomic_store_n(&port->verdict, new, __ATOMIC_RELEASE);
	if (old != NULL)
		rcu_retire(rcu, verdict_free, NULL, (uintptr_t)old);
	return 0;
}

void
verdicts_fini(void)
{
	struct port *port;

	PORT_FOREACH(port)
		verdict_set(port, NULL, NULL);
}

/* A word as the console reads it back. Returns its length. */
static int
format_word(char *text, const char *word)
{
	char *at = text;

	for (; *word != '\0'; word++) {
		if (strchr(" '\"\\#", *word) != NULL)
			*at++ = '\\';
		*at++ = *word;
	}
	*at = '\0';
	return (int)(at - text);
}

static void
format_program(const struct program *program, char *text)
{
	text += sprintf(text, "obj ");
	text += format_word(text, program_path(program));
	text += sprintf(text, " section ");
	format_word(text, program_section(program));
}

const char *
verdict_format(const struct verdict *verdict, char text[VERDICT_TEXT])
{
	const struct spread *spread = &verdict->spread;
	int used = snprintf(text, VERDICT_TEXT, "%s", names[verdict->kind]);

	if (verdict->kind == VERDICT_PROGRAM)
		format_program(verdict->program, text);
	if (verdict->kind == VERDICT_REDIRECT)
		snprintf(text + used, (size_t)(VERDICT_TEXT - used), " dev %u", verdict->port);
	if (verdict->kind != VERDICT_CPU)
		return text;
	for (unsigned k = 0; k < spread->count; k++)
		used += snprintf(text + used, (size_t)(VERDICT_TEXT - used), "%c%u",
				 k == 0 ? ' ' : ',', worker_lcore(spread->worker[k]));
	if (spread->by != SPREAD_OUTER)
		snprintf(text + used, (size_t)(VERDICT_TEXT - used), " hash %s",
			 by_names[spread->by]);
	return text;
}

void
verdict_counters_sum(uint16_t port, struct verdict_counters *sum)
{
	*sum = (struct verdict_counters){0};
	for (unsigned id = 0; id < workers_count(); id++) {
		const struct verdict_counters *c = &worker_at(id)->verdicts[port];

		for (unsigned k = 0; k < VERDICT_KINDS; k++)
			sum->packets[k] += c->packets[k];
	}
}
