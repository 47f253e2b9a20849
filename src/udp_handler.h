/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UDP_HANDLER_H
#define UDP_HANDLER_H

/**
 * @file
 * `app handler NAME`: services in shared objects, or compiled in. What they see is
 * include/noref/udp_handler.h. Control thread only.
 */

#include "base.h"
#include "out.h"

struct noref_udp_handler;

/** Make `app handler ...` known. */
void udp_handler_register(void);
/** Load a shared object under a name. -EINVAL, -EACCES (whoever could change it is not root),
 * -EEXIST, -ENOEXEC (not an object, or another ABI) with err; nothing of it has been called then.
 */
int udp_handler_load(const char *path, const char *name, struct err *err);
/** A handler that is part of the program. */
int udp_handler_add(const char *name, const struct noref_udp_handler *handler, struct err *err);
/** The index-th line of `show config` for loaded handlers; false: no more. */
bool udp_handler_config_line(unsigned index, struct out *line);
/** Forget them. Objects stay mapped. */
void udp_handlers_fini(void);

#endif
