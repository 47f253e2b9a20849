/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_WORDS_H
#define NET_WORDS_H

/**
 * @file
 * Words that several `ip` commands share. Control thread only.
 */

#include "console.h"
#include "iface.h"
#include "vrf.h"

/** The interface called so; NULL with err: "dev 'x' does not exist". */
struct iface_control *word_dev(const char *name, struct err *err);
/** Take "dev P" or a bare P that ends the line; *c stays NULL when there is nothing. */
int words_dev_option(struct call *call, struct iface_control **c);

/** Which table a command is about. */
struct word_table {
	struct vrf *v;	 /**< NULL: none named, or it does not exist (yet) */
	uint32_t number; /**< of `table N`; 0: not given */
};

/**
 * Take "vrf NAME" or "table N" if it is next. 1: taken; 0: something else is
 * next; or a negative errno. A table that does not exist is no error: v is NULL.
 */
int words_table(struct call *call, struct word_table *table);

/** "static" or a number to rtm_protocol; 0 or -EINVAL. */
int proto_parse(const char *word, uint8_t *proto);
/** The name, or the number in buf. */
const char *proto_name(uint8_t proto, char buf[4]);

/** The commands of each file; see console.h. */
void net_show_register(struct console *console);
void cmd_link_register(struct console *console);
void cmd_addr_register(struct console *console);
void cmd_neigh_register(struct console *console);
void cmd_route_register(struct console *console);
void cmd_route_show_register(struct console *console);
void cmd_sid_register(struct console *console);

/** What a placeholder in a syntax can be, for completion. */
void words_register(struct console *console);

#endif
