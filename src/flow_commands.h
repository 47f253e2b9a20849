/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FLOW_COMMANDS_H
#define FLOW_COMMANDS_H

#include "console.h"

/** flow ... */
void flow_commands_register(struct console *console);

#endif
