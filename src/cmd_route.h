/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CMD_ROUTE_H
#define CMD_ROUTE_H

/**
 * @file
 * A line of `ip route` taken apart. Control thread only.
 */

#include "cmd_sid.h"
#include "net_route.h"
#include "net_words.h"

struct route_line {
	uint8_t family; /**< said so by -4 or -6, or by an address; 0: unknown */
	bool has_prefix, is_default;
	bool has_type; /**< blackhole and the like; request.type */
	bool has_table, has_proto, has_scope_link;
	bool seg6local;
	struct word_table table;
	struct ip_addr via;	   /**< of the route itself; family 0: none */
	struct iface_control *dev; /**< NULL: none, or a VRF device for a SID */
	const char *dev_name;
	bool onlink;
	struct ip_addr src;
	struct sid_line sid;
	struct route_request request; /**< last: its hops are not cleared */
};

/** Take all words of add, replace and del. 0 or -errno with call->err. */
int route_line_parse(struct call *call, struct route_line *line);

#endif
