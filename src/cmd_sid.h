/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CMD_SID_H
#define CMD_SID_H

/**
 * @file
 * The words behind `encap seg6local`, which are part of `ip route`. Control
 * thread only.
 */

#include "console.h"
#include "net_words.h"
#include "sid.h"

struct sid_line {
	struct sid_config config;
	unsigned given;	       /**< bits of cmd_sid.c */
	uint32_t table_number; /**< table N or vrftable N */
};

/** Take them, up to the first word that belongs to the route. 0 or -errno. */
int sid_words(struct call *call, struct sid_line *line);
/**
 * Are they what the action needs, and no more? Completes config. dev: the
 * route's `dev`, or NULL.
 */
int sid_words_check(struct sid_line *line, struct iface_control *dev, struct err *err);
/** Append "encap seg6local action ..." as iproute2 prints it, text or JSON keys. */
void sid_words_show(struct out *out, const struct sid *sid);

#endif
