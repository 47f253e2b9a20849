/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRAP_H
#define TRAP_H

/**
 * @file
 * BAR 0 is memory without access rights: each access of the driver raises
 * SIGSEGV, is decoded, done to the register model, and stepped over. A window
 * of shared memory that somebody watches would not do: statistics clear when
 * they are read.
 */

/** Take over SIGSEGV; faults elsewhere go to the handler that was there. */
int trap_install(void);

#endif
