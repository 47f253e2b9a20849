/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CMD_UDP_RING_H
#define CMD_UDP_RING_H

/** @file `app ring NAME`: clients attach with a console command on their control connection. */

#include "console.h"

struct rcu;

/** The kind of application (udp_ring_init()), and `udp attach NAME`. Control thread, once. */
void udp_ring_commands_register(struct console *console, struct rcu *rcu, unsigned interfaces);

#endif
