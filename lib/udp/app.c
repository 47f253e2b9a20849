/* SPDX-License-Identifier: BSD-3-Clause */
/* The kinds of application there are. */
#include "udp_app.h"

#include <assert.h>

/* sink, echo, handler, ring, and room for what is compiled in beside them. */
#define KINDS_MAX 16

static const struct udp_app_ops *kinds[KINDS_MAX];
static unsigned count;

void
udp_app_register(const struct udp_app_ops *ops)
{
	assert(count < KINDS_MAX && udp_app_find(ops->word) == NULL);
	kinds[count++] = ops;
}

const struct udp_app_ops *
udp_app_find(const char *word)
{
	for (unsigned i = 0; i < count; i++) {
		if (strcmp(kinds[i]->word, word) == 0)
			return kinds[i];
	}
	return NULL;
}

const struct udp_app_ops *
udp_app_at(unsigned index)
{
	return index < count ? kinds[index] : NULL;
}
