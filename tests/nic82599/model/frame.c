/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame.h"

#define ETHERTYPE_IPV4 0x0800
#define ETHERTYPE_VLAN 0x8100
#define ETHERTYPE_IPV6 0x86dd

#define PROTOCOL_HOP_BY_HOP  0
#define PROTOCOL_TCP	     6
#define PROTOCOL_UDP	     17
#define PROTOCOL_IPV6	     41
#define PROTOCOL_ROUTING     43
#define PROTOCOL_FRAGMENT    44
#define PROTOCOL_DESTINATION 60
#define PROTOCOL_SCTP	     132

static uint32_t
least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static void
parse_ipv6(struct frame *f, uint32_t at)
{
	const uint8_t *ip = f->data + at;
	uint32_t end, next = at + 40;
	uint8_t header;

	if (next > f->length || ip[0] >> 4 != 6)
		return;
	if (f->version == 0)
		f->version = 6;
	else
		f->inner6 = true;
	f->source = ip + 8;
	f->destination = ip + 24;
	f->address_size = 16;
	end = least(next + load16_be(ip + 4), f->length);
	for (header = ip[6]; header == PROTOCOL_HOP_BY_HOP || header == PROTOCOL_ROUTING ||
			     header == PROTOCOL_DESTINATION || header == PROTOCOL_FRAGMENT;
	     header = f->protocol) {
		if (next + 8 > end)
			return;
		f->extended = true;
		f->protocol = f->data[next];
		if (header == PROTOCOL_FRAGMENT) {
			f->fragment = true;
			return;
		}
		next += (f->data[next + 1] + 1u) * 8;
	}
	f->protocol = header;
	f->l4 = next;
	f->l4_length = end > next ? end - next : 0;
}

static void
parse_ipv4(struct frame *f)
{
	const uint8_t *ip = f->data + f->l3;
	uint32_t header, end;

	if (f->l3 + 20 > f->length || ip[0] >> 4 != 4)
		return;
	header = (ip[0] & 15u) * 4;
	if (header < 20 || f->l3 + header > f->length)
		return;
	f->version = 4;
	f->extended = header > 20;
	f->fragment = (load16_be(ip + 6) & 0x3fff) != 0;
	f->protocol = ip[9];
	f->source = ip + 12;
	f->destination = ip + 16;
	f->address_size = 4;
	if (f->fragment)
		return;
	end = least(f->l3 + load16_be(ip + 2), f->length);
	f->l4 = f->l3 + header;
	f->l4_length = end > f->l4 ? end - f->l4 : 0;
	if (f->protocol == PROTOCOL_IPV6)
		parse_ipv6(f, f->l4);
}

static void
parse_transport(struct frame *f)
{
	const uint8_t *header = f->data + f->l4;

	if (f->protocol == PROTOCOL_TCP && f->l4_length >= 20) {
		f->l4_type = L4_TCP;
		f->tcp_flags = header[13];
	} else if (f->protocol == PROTOCOL_UDP && f->l4_length >= 8) {
		f->l4_type = L4_UDP;
	} else if (f->protocol == PROTOCOL_SCTP && f->l4_length >= 12) {
		f->l4_type = L4_SCTP;
	} else {
		return;
	}
	f->source_port = load16_be(header);
	f->destination_port = load16_be(header + 2);
}

void
frame_parse(struct frame *f, const uint8_t *data, uint32_t length)
{
	*f = (struct frame){.data = data, .length = length, .l3 = 14};
	f->ethertype = load16_be(data + 12);
	if (f->ethertype == ETHERTYPE_VLAN) {
		f->tagged = true;
		f->tag = load16_be(data + 14);
		f->ethertype = load16_be(data + 16);
		f->l3 = 18;
	}
	if (f->ethertype == ETHERTYPE_IPV4)
		parse_ipv4(f);
	else if (f->ethertype == ETHERTYPE_IPV6)
		parse_ipv6(f, f->l3);
	if (f->l4 != 0)
		parse_transport(f);
}
