/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRACE_H
#define TRACE_H

/**
 * @file
 * `trace add N`: follow the next N packets step by step.
 *
 * Workers write small fixed records while packets pass; words are made of them
 * when `trace show` asks. When no trace is armed a burst pays one test.
 */

#include <stdbool.h>
#include <stdint.h>

#include "console.h"
#include "stats.h"

struct burst;

/** What a step says; a and b by kind. */
enum trace_kind {
	TRACE_RECEIVED, /**< a: port, b: queue, value: bytes */
	TRACE_VERDICT,	/**< a: enum verdict_kind */
	TRACE_PROGRAM,	/**< a: code of a program, XDP_ABORTED... */
	TRACE_LCORE,	/**< goes on with the worker on lcore a */
	TRACE_RULE,	/**< a flow rule matched; header: struct rule_verdict */
	TRACE_VLAN,	/**< a: interface */
	TRACE_IP4,	/**< header: 20 bytes */
	TRACE_IP6,	/**< header: 40 bytes */
	TRACE_SID,     /**< value: next-hop index of the SID, a: segments left or 255, b: outcome */
	TRACE_LOOKUP,  /**< value: result, a: VRF, b: family; header: the address */
	TRACE_NEXTHOP, /**< value: next-hop index */
	TRACE_ERROR,   /**< ICMP error made; a: type, b: code */
	TRACE_FRAGMENTS, /**< a: how many */
	TRACE_HELD,	 /**< a fragment, until the others are there */
	TRACE_WHOLE,	 /**< its datagram is complete and goes on; value: bytes */
	/* ends */
	TRACE_SENT,	 /**< a: port, value: bytes */
	TRACE_DELIVERED, /**< to the router itself; value: UDP socket + 1, or 0 */
	TRACE_DROPPED,	 /**< a: enum drop_reason */
	TRACE_HANDED,	 /**< a: enum packet_kind */
};

/** Tested once per burst: some packets are still to be traced (on this port). Workers. */
extern uint32_t trace_armed;

/** Give trace ids to packets of a burst just received on port, queue. Workers. */
void trace_begin(struct burst *b, uint16_t port, uint16_t queue);
/** Add a step for a traced packet. header: up to 40 bytes copied, or NULL. Workers. */
void trace_step(uint32_t trace, enum trace_kind kind, uint16_t a, uint16_t b, uint32_t value,
		const void *header, unsigned header_len);

/** trace add|show|clear. Control thread. */
void trace_commands_register(struct console *console);
void trace_fini(void);

#endif
