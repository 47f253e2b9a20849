/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OUT_INTERNAL_H
#define OUT_INTERNAL_H

#include <yajl/yajl_gen.h>

#include "out.h"

#define MAX_DEPTH 64

struct out {
	char *data; /* what is pending is data[head] to data[tail - 1] */
	size_t head;
	size_t tail;
	size_t size;
	bool json;
	bool failed;
	bool complete;	 /* the JSON document has ended */
	unsigned depth;	 /* of open arrays and objects */
	uint64_t object; /* bit d: what is open at depth d is an object */
	yajl_gen gen;	 /* NULL in text mode */
};

/* Start the JSON generator afresh. */
void json_reset(struct out *out);
bool json_create(struct out *out);
void json_destroy(struct out *out);

#endif
