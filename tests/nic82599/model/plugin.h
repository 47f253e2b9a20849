/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PLUGIN_H
#define PLUGIN_H

/**
 * @file
 * The parts that make a loadable object of the model: setup.c reads what NICs
 * there are, control.c answers on the control socket, plugin.c puts the NICs
 * on EAL's PCI bus and runs the wire.
 */

#include "nic.h"

/** Make the NICs that the text names: options by ',', NICs by ';' (see README.md). Negative with a
 * message on stderr if one is wrong. */
int setup_nics(const char *text);

/** Datagram socket for commands; negative with a message on stderr. */
int control_open(const char *path);
/** Answer one command, if one is waiting. */
void control_poll(void);
/** The answer to one line, into answer; at least "error ...". */
void control_answer(const char *line, char *answer, size_t size);

#endif
