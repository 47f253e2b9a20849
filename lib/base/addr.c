/* SPDX-License-Identifier: BSD-3-Clause */
#include "base.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct ip_addr
ip4_addr(uint32_t host_order)
{
	struct ip_addr a = {.family = AF_INET};

	a.bytes[0] = (uint8_t)(host_order >> 24);
	a.bytes[1] = (uint8_t)(host_order >> 16);
	a.bytes[2] = (uint8_t)(host_order >> 8);
	a.bytes[3] = (uint8_t)host_order;
	return a;
}

struct ip_addr
ip6_addr(const void *bytes16)
{
	struct ip_addr a = {.family = AF_INET6};

	memcpy(a.bytes, bytes16, 16);
	return a;
}

bool
ip_is_unspecified(const struct ip_addr *a)
{
	static const uint8_t zero[16];

	return memcmp(a->bytes, zero, ip_bits(a->family) / 8) == 0;
}

/* Zero the bits from len on. */
static void
cut(uint8_t *bytes, unsigned len)
{
	for (unsigned i = 0; i < 16; i++) {
		if (len >= 8) {
			len -= 8;
			continue;
		}
		bytes[i] &= (uint8_t)(0xff00 >> len);
		len = 0;
	}
}

struct ip_prefix
ip_prefix_of(const struct ip_addr *a, unsigned len)
{
	struct ip_prefix p = {.addr = *a, .len = (uint8_t)len};

	cut(p.addr.bytes, len);
	return p;
}

bool
ip_prefix_contains(const struct ip_prefix *p, const struct ip_addr *a)
{
	struct ip_prefix covered;

	if (p->addr.family != a->family)
		return false;
	covered = ip_prefix_of(a, p->len);
	return ip_addr_equal(&covered.addr, &p->addr);
}

int
ip_addr_parse(const char *text, uint8_t family, struct ip_addr *addr)
{
	struct ip_addr a = {0};

	if (family != AF_INET6 && inet_pton(AF_INET, text, a.bytes) == 1)
		a.family = AF_INET;
	else if (family != AF_INET && inet_pton(AF_INET6, text, a.bytes) == 1)
		a.family = AF_INET6;
	else
		return -EINVAL;
	*addr = a;
	return 0;
}

int
ip_prefix_parse(const char *text, uint8_t family, bool strict, struct ip_prefix *prefix,
		struct ip_addr *addr, struct err *err)
{
	char buf[IP_ADDR_TEXT];
	const char *slash = strchr(text, '/');
	struct ip_addr a = {.family = family == 0 ? AF_INET : family};
	uint64_t len = 0;

	if (strcmp(text, "default") != 0) {
		size_t n = slash != NULL ? (size_t)(slash - text) : strlen(text);

		if (n >= sizeof(buf))
			return err_set(err, EINVAL, "'%.60s' is not an address", text);
		memcpy(buf, text, n);
		buf[n] = '\0';
		if (ip_addr_parse(buf, family, &a) < 0)
			return err_set(err, EINVAL, "'%.60s' is not an %s address", buf,
				       family == AF_INET    ? "IPv4"
				       : family == AF_INET6 ? "IPv6"
							    : "IP");
		len = ip_bits(a.family);
		if (slash != NULL && number_parse(slash + 1, 0, len, &len) < 0)
			return err_set(err, EINVAL, "'%.60s': the prefix length is not 0 to %u",
				       text, ip_bits(a.family));
	}
	*prefix = ip_prefix_of(&a, (unsigned)len);
	if (strict && !ip_addr_equal(&prefix->addr, &a))
		return err_set(err, EINVAL, "%.60s has bits set beyond /%u", text, (unsigned)len);
	if (addr != NULL)
		*addr = a;
	return 0;
}

const char *
ip_addr_format(const struct ip_addr *addr, char buf[IP_ADDR_TEXT])
{
	if (addr->family == 0 || inet_ntop(addr->family, addr->bytes, buf, IP_ADDR_TEXT) == NULL)
		buf[0] = '\0';
	return buf;
}

const char *
ip_prefix_format(const struct ip_prefix *prefix, char buf[IP_PREFIX_TEXT])
{
	char addr[IP_ADDR_TEXT];

	snprintf(buf, IP_PREFIX_TEXT, "%s/%u", ip_addr_format(&prefix->addr, addr), prefix->len);
	return buf;
}

int
mac_parse(const char *text, uint8_t mac[6])
{
	unsigned b[6];
	int used = 0;

	/* sscanf would take signs and blanks for hexadecimal digits. */
	if (strspn(text, "0123456789abcdefABCDEF:") != strlen(text) ||
	    sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x%n", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5],
		   &used) != 6 ||
	    text[used] != '\0')
		return -EINVAL;
	for (unsigned i = 0; i < 6; i++)
		mac[i] = (uint8_t)b[i];
	return 0;
}

const char *
mac_format(const uint8_t mac[6], char buf[18])
{
	snprintf(buf, 18, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4],
		 mac[5]);
	return buf;
}

int
number_parse(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	char *end;
	uint64_t v;
	bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');

	if (text[0] < '0' || text[0] > '9')
		return -EINVAL;
	errno = 0;
	v = strtoull(text, &end, hex ? 16 : 10);
	if (errno != 0 || *end != '\0' || v < min || v > max)
		return -EINVAL;
	*value = v;
	return 0;
}
