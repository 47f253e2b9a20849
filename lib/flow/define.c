/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What completion and help know of patterns and actions: made from the tables.
 */
#include <stdio.h>

#include "internal.h"

/* "eth [{dst|src|type|has_vlan} OPERATION]... | vlan ..." */
static const char *
items_syntax(void)
{
	static char text[1024];
	const struct item *item;
	const struct field *f;
	size_t n = 0;

	if (text[0] != '\0')
		return text;
	ITEM_FOREACH(item) {
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s [{", n == 0 ? "" : " | ",
				      item->name);
		FIELD_FOREACH(f, item)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s",
					      f == item->fields ? "" : "|", f->name);
		n += (size_t)snprintf(text + n, sizeof(text) - n, "} OPERATION]...");
	}
	return text;
}

void
flow_define_words(struct console *console)
{
	console_define(console, "ITEM", items_syntax());
	console_define(console, "OPERATION",
		       "is VALUE | spec VALUE | mask VALUE | prefix BITS | last VALUE");
	console_define(console, "ACTION",
		       "drop | passthru | accept | queue index N | lcore id LCORE | "
		       "represented_port ethdev_port_id PORT | jump group N | mark id N | count");
}
