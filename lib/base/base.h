/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_H
#define BASE_H

/**
 * @file
 * What every other library speaks in: errors written for a person, and IP
 * addresses and prefixes that know their family.
 *
 * An error has two readers. Code reads the negative errno a function returns;
 * a person reads the sentence beside it, which names the thing and the reason
 * ("route 10.1.0.0/16: next hop 10.0.9.1 is on no connected network"), as the
 * kernel's extended ACK does.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

/** The sentence that goes with a negative errno. Owned by the caller. */
struct err {
	char text[320];
};

/**
 * Write the sentence and hand back -code, so that `return err_set(...)` says
 * both at once. err may be NULL when nobody will read it.
 */
int err_set(struct err *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/** Put "text: " in front of the sentence already there; returns code as given. */
int err_prefix(struct err *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/** An IPv4 or IPv6 address in network byte order; IPv4 uses the first 4 bytes,
 * the rest is zero. */
struct ip_addr {
	uint8_t family; /**< AF_INET, AF_INET6, or 0: no address */
	uint8_t bytes[16];
};

/** A prefix; bits beyond len are zero. */
struct ip_prefix {
	struct ip_addr addr;
	uint8_t len;
};

#define IP_ADDR_TEXT   46 /**< longest IPv6 text and its NUL */
#define IP_PREFIX_TEXT 50 /**< the same with "/128" */

/** Bits in an address of this family: 32 or 128. */
static inline unsigned
ip_bits(uint8_t family)
{
	return family == AF_INET ? 32 : 128;
}

static inline bool
ip_addr_equal(const struct ip_addr *a, const struct ip_addr *b)
{
	return a->family == b->family && memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

/** The IPv4 address in host byte order. */
static inline uint32_t
ip4_host(const struct ip_addr *a)
{
	return (uint32_t)a->bytes[0] << 24 | (uint32_t)a->bytes[1] << 16 |
	       (uint32_t)a->bytes[2] << 8 | a->bytes[3];
}

struct ip_addr ip4_addr(uint32_t host_order);
struct ip_addr ip6_addr(const void *bytes16);

/** fe80::/10 (RFC 4291 2.5.6). */
static inline bool
ip6_is_link_local(const uint8_t *b)
{
	return b[0] == 0xfe && (b[1] & 0xc0) == 0x80;
}

static inline bool
ip_is_multicast(const struct ip_addr *a)
{
	return a->family == AF_INET ? (a->bytes[0] & 0xf0) == 0xe0 : a->bytes[0] == 0xff;
}

/** Neither 0.0.0.0 nor ::. */
bool ip_is_unspecified(const struct ip_addr *a);

/** Does the prefix cover the address (families included)? */
bool ip_prefix_contains(const struct ip_prefix *p, const struct ip_addr *a);

/** The address cut to len bits, as a prefix. */
struct ip_prefix ip_prefix_of(const struct ip_addr *a, unsigned len);

static inline bool
ip_prefix_equal(const struct ip_prefix *a, const struct ip_prefix *b)
{
	return a->len == b->len && ip_addr_equal(&a->addr, &b->addr);
}

/** Dotted quad or RFC 4291 text. family 0 takes either. 0 or -EINVAL. */
int ip_addr_parse(const char *text, uint8_t family, struct ip_addr *addr);

/**
 * "ADDR/LEN", or "ADDR" alone for the whole address, "default" for /0 (family
 * 0 means IPv4 then). The address is kept as written in *addr when addr is not
 * NULL; bits beyond the length are refused when strict ("10.1.2.3/16" names
 * an interface address, never a route).
 */
int ip_prefix_parse(const char *text, uint8_t family, bool strict, struct ip_prefix *prefix,
		    struct ip_addr *addr, struct err *err);

/** Text as RFC 5952 writes it; returns buf. */
const char *ip_addr_format(const struct ip_addr *addr, char buf[IP_ADDR_TEXT]);
const char *ip_prefix_format(const struct ip_prefix *prefix, char buf[IP_PREFIX_TEXT]);

/** "02:00:00:00:00:01" to 6 bytes; 0 or -EINVAL. */
int mac_parse(const char *text, uint8_t mac[6]);
const char *mac_format(const uint8_t mac[6], char buf[18]);

/** A decimal (or 0x hexadecimal) number within [min, max]; 0 or -EINVAL. */
int number_parse(const char *text, uint64_t min, uint64_t max, uint64_t *value);

#endif
