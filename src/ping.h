/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PING_H
#define PING_H

/** @file `ping ADDR`: echo requests from the router itself. */

#include <stdbool.h>

#include "console.h"
#include "loop.h"

/** Some ping waits for answers: workers then hand over ICMP messages they would discard. */
extern bool ping_active;

void ping_commands_register(struct console *console);

#endif
