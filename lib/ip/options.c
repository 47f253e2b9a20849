/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * IPv4 options, as far as a router must understand them.
 */
#include "ip.h"

enum {
	OPTION_END = 0,
	OPTION_NOP = 1,
	OPTION_LSRR = 131,
	OPTION_SSRR = 137,
};

/* RFC 791 3.1, "Options". */
enum ip4_options
ip4_options_check(const uint8_t *h, unsigned header_len)
{
	unsigned i = IP4_HEADER_MIN;

	while (i < header_len) {
		if (h[i] == OPTION_END)
			break;
		if (h[i] == OPTION_NOP) {
			i++;
			continue;
		}
		/* A length counts its own two bytes: below 2 the walk would stand still. */
		if (header_len - i < 2 || h[i + 1] < 2 || h[i + 1] > header_len - i)
			return IP4_OPTIONS_MALFORMED;
		/* Used up or not: a packet that came by a route of its sender's choice. */
		if (h[i] == OPTION_LSRR || h[i] == OPTION_SSRR)
			return IP4_OPTIONS_SOURCE_ROUTE;
		i += h[i + 1];
	}
	return IP4_OPTIONS_PLAIN;
}
