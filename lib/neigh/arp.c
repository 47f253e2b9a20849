/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "private.h"

/*
 * RFC 826 for IPv4 over Ethernet:
 *
 *    0  hardware type 1        8  sender MAC   18  target MAC
 *    2  protocol type 0x0800  14  sender IP    24  target IP
 *    4  hardware length 6
 *    5  protocol length 4
 *    6  operation
 */
#define SENDER_MAC 8
#define SENDER_IP  14
#define TARGET_MAC 18
#define TARGET_IP  24

#define OPERATION_REQUEST 1
#define OPERATION_REPLY	  2

static const uint8_t ethernet_ipv4[6] = {0, 1, 8, 0, 6, 4};

static struct ip_addr
ip_at(const uint8_t *p)
{
	struct ip_addr a = {.family = AF_INET};

	memcpy(a.bytes, p, 4);
	return a;
}

/* An address a host can have (RFC 1122 3.2.1.3). Only a probe for a conflict
 * comes from 0.0.0.0 (RFC 5227 2.1.1), and a probe is a request. */
static bool
is_sender(const struct ip_addr *a, bool request)
{
	if (ip_is_unspecified(a))
		return request;
	return a->bytes[0] != 0 && a->bytes[0] != 127 && a->bytes[0] < 224;
}

int
arp_parse(const void *data, size_t size, struct arp *arp)
{
	const uint8_t *p = data;

	if (size < ARP_SIZE || memcmp(p, ethernet_ipv4, sizeof(ethernet_ipv4)) != 0)
		return -EINVAL;
	if (p[6] != 0 || (p[7] != OPERATION_REQUEST && p[7] != OPERATION_REPLY))
		return -EINVAL;
	arp->request = p[7] == OPERATION_REQUEST;
	memcpy(arp->sender_mac, p + SENDER_MAC, 6);
	memcpy(arp->target_mac, p + TARGET_MAC, 6);
	arp->sender = ip_at(p + SENDER_IP);
	arp->target = ip_at(p + TARGET_IP);
	if (!mac_is_station(arp->sender_mac) || !is_sender(&arp->sender, arp->request))
		return -EINVAL;
	/* As Linux: nobody resolves a group or a loopback address. */
	if (ip_is_multicast(&arp->target) || arp->target.bytes[0] == 127)
		return -EINVAL;
	return 0;
}

void
arp_write(void *data, const struct arp *arp)
{
	uint8_t *p = data;

	memcpy(p, ethernet_ipv4, sizeof(ethernet_ipv4));
	p[6] = 0;
	p[7] = arp->request ? OPERATION_REQUEST : OPERATION_REPLY;
	memcpy(p + SENDER_MAC, arp->sender_mac, 6);
	memcpy(p + SENDER_IP, arp->sender.bytes, 4);
	memcpy(p + TARGET_MAC, arp->target_mac, 6);
	memcpy(p + TARGET_IP, arp->target.bytes, 4);
}
