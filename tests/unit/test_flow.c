/* SPDX-License-Identifier: BSD-3-Clause */
/* Flow rules from words to bits, to rte_flow, and back to words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"

static struct console *console;
static struct flow_line parsed;
static struct err error;

static int
create(struct call *call)
{
	call_next(call);
	return flow_parse(call, &parsed);
}

static int
set_up(void **state)
{
	static const struct command command = {
		"flow create PORT [priority N] [group N] [ingress] [transfer] [skip_sw|skip_hw] "
		"pattern [ITEM /]... end actions [ACTION /]... end",
		"create", create, NULL};

	(void)state;
	console = console_create(NULL);
	assert_non_null(console);
	flow_define_words(console);
	console_register(console, &command, 1);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	console_destroy(console);
	return 0;
}

/* What stands behind the port. */
static int
parse(const char *words)
{
	char line[CONSOLE_MAX_LINE];

	memset(&parsed, 0, sizeof(parsed));
	snprintf(line, sizeof(line), "flow create 0 %s", words);
	return console_run(console, line, false, NULL, NULL, &error);
}

/* The pattern alone; it drops. */
static void
parse_pattern(const char *pattern)
{
	char words[512];

	snprintf(words, sizeof(words), "pattern %s / end actions drop / end", pattern);
	if (parse(words) != 0)
		fail_msg("%s: %s", words, error.text);
}

static const char *
text_of(void (*write)(struct out *out, const struct flow_line *line), const struct flow_line *line)
{
	static char text[2][CONSOLE_MAX_LINE];
	static unsigned which;
	struct out *out = out_create(false);
	const char *data;
	size_t size;

	which ^= 1;
	write(out, line);
	data = out_data(out, &size);
	assert_true(size < sizeof(text[0]));
	memcpy(text[which], data, size);
	text[which][size] = '\0';
	out_destroy(out);
	return text[which];
}

/* --- words, and the same words again --------------------------------------------------- */

static const struct {
	const char *typed;
	const char *shown; /* NULL: the same */
} lines[] = {
	{"pattern end actions end", "ingress pattern end actions passthru / end"},
	{"ingress pattern eth / end actions passthru / end", NULL},
	{"priority 7 group 3 ingress transfer skip_sw pattern eth / end actions drop / end", NULL},
	{"skip_hw transfer priority 0x10 pattern eth / end actions drop / end",
	 "priority 16 transfer skip_hw pattern eth / end actions drop / end"},
	{"ingress pattern eth dst is 02:00:00:00:00:01 src spec 02:00:00:00:00:00 src mask "
	 "ff:ff:ff:00:00:00 type is 0x88f7 / end actions count / drop / end",
	 NULL},
	{"ingress pattern eth type is 2054 / end actions accept / end",
	 "ingress pattern eth type is 0x0806 / end actions accept / end"},
	{"ingress pattern eth has_vlan is 0 / ipv4 / end actions drop / end", NULL},
	{"ingress pattern eth has_vlan is 1 / ipv4 / end actions drop / end",
	 "ingress pattern eth / vlan / ipv4 / end actions drop / end"},
	{"ingress pattern eth / vlan pcp is 3 vid spec 10 vid last 20 inner_type is 0x0800 / end "
	 "actions lcore id 1 / end",
	 NULL},
	{"ingress pattern eth / vlan tci is 0x6005 / end actions drop / end",
	 "ingress pattern eth / vlan tci is 24581 / end actions drop / end"},
	{"ingress pattern eth / vlan tci spec 5 tci mask 0xfff / end actions drop / end",
	 "ingress pattern eth / vlan vid is 5 / end actions drop / end"},
	{"ingress pattern eth / vlan vid is 5 / vlan dei is 1 vid is 6 / ipv6 / end actions drop / end",
	 NULL},
	{"ingress pattern eth / vlan vid is 5 has_more_vlan is 0 / end actions drop / end", NULL},
	{"ingress pattern eth / vlan tci spec 100 tci last 9000 / end actions drop / end", NULL},
	{"ingress pattern eth / ipv4 tos is 16 length is 84 packet_id is 7 fragment_offset spec 0 "
	 "fragment_offset mask 0x3fff ttl is 64 proto is 6 src is 10.0.0.1 dst is 10.0.0.2 / tcp / "
	 "end actions drop / end",
	 NULL},
	{"ingress pattern ipv4 version_ihl is 0x45 / end actions drop / end",
	 "ingress pattern ipv4 version_ihl is 69 / end actions drop / end"},
	{"ingress pattern ipv4 src spec 10.1.2.3 src prefix 8 / end actions drop / end",
	 "ingress pattern ipv4 src spec 10.0.0.0 src prefix 8 / end actions drop / end"},
	{"ingress pattern ipv4 dst prefix 10.1.2.3/24 / end actions drop / end",
	 "ingress pattern ipv4 dst spec 10.1.2.0 dst prefix 24 / end actions drop / end"},
	{"ingress pattern ipv4 src spec 10.1.2.3 src mask 255.0.255.0 / end actions drop / end",
	 "ingress pattern ipv4 src spec 10.0.2.0 src mask 255.0.255.0 / end actions drop / end"},
	{"ingress pattern ipv4 src spec 10.1.2.3 src mask 0.0.0.0 / end actions drop / end",
	 "ingress pattern ipv4 / end actions drop / end"},
	{"ingress pattern ipv4 src spec 10.1.2.3 src last 10.1.2.9 / end actions drop / end", NULL},
	{"ingress pattern ipv4 ttl spec 3 ttl last 3 / end actions drop / end",
	 "ingress pattern ipv4 ttl is 3 / end actions drop / end"},
	{"ingress pattern eth / ipv6 tc is 184 flow is 4660 len is 40 proto is 17 hop is 64 "
	 "has_frag_ext is 0 src is 2001:db8::1 dst spec 2001:db8:: dst prefix 32 / udp / end "
	 "actions drop / end",
	 NULL},
	{"ingress pattern ipv6 has_frag_ext is 1 tc spec 8 tc last 16 / end actions drop / end",
	 "ingress pattern ipv6 tc spec 8 tc last 16 has_frag_ext is 1 / end actions drop / end"},
	{"ingress pattern ipv6 src spec 2001:db8:: src mask ffff:0:ffff:: / end actions drop / end",
	 "ingress pattern ipv6 src spec 2001:: src mask ffff:0:ffff:: / end actions drop / end"},
	{"ingress pattern ipv4 / udp src is 53 dst spec 1000 dst last 2000 / end actions "
	 "queue index 3 / end",
	 NULL},
	{"ingress pattern ipv4 / udp dst spec 0x1234 dst mask 0xff00 / end actions drop / end",
	 "ingress pattern ipv4 / udp dst spec 4608 dst mask 0xff00 / end actions drop / end"},
	{"ingress pattern ipv4 / udp dst spec 0xff00 dst prefix 4 / end actions drop / end",
	 "ingress pattern ipv4 / udp dst spec 61440 dst mask 0xf000 / end actions drop / end"},
	{"ingress pattern ipv4 / tcp src is 80 dst is 81 flags spec 2 flags mask 0x12 / end actions "
	 "mark id 4294967295 / queue index 1 / end",
	 NULL},
	{"ingress pattern ipv4 / sctp src is 1 dst is 2 tag is 3 cksum is 4 / end actions "
	 "jump group 9 / end",
	 NULL},
	{"ingress pattern ipv4 / icmp type is 8 code is 0 ident is 1 seq is 2 / end actions "
	 "represented_port ethdev_port_id 1 / end",
	 NULL},
	{"ingress pattern ipv6 / icmp6 type is 135 code is 0 / end actions drop / end", NULL},
	{"ingress pattern udp dst is 4789 / end actions drop / end", NULL},
	{"ingress pattern eth / ipv6 dst is fc00::1 / ipv4 src is 10.0.0.1 / tcp dst is 80 / end "
	 "actions drop / end",
	 NULL},
	{"ingress pattern ipv6 / ipv6 hop is 2 has_frag_ext is 0 / icmp6 / end actions drop / end",
	 NULL},
	{"ingress pattern eth type is 0x8100 / ipv4 / end actions drop / end", NULL},
	{"ingress pattern ipv6 proto is 43 / udp / end actions drop / end", NULL},
	{"ingress pattern end actions drop / mark id 1 / count / end",
	 "ingress pattern end actions count / mark id 1 / drop / end"},
};

static void
what_is_shown_is_the_same_rule(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		const char *shown = lines[i].shown != NULL ? lines[i].shown : lines[i].typed;
		struct flow_line first;

		if (parse(lines[i].typed) != 0)
			fail_msg("%s: %s", lines[i].typed, error.text);
		first = parsed;
		assert_string_equal(text_of(flow_line_text, &first), shown);
		assert_int_equal(parse(shown), 0);
		assert_memory_equal(&first, &parsed, sizeof(first));
	}
}

/* --- mistakes --------------------------------------------------------------------------- */

static const struct {
	const char *typed;
	const char *message;
} mistakes[] = {
	{"", "pattern is missing"},
	{"priority", "priority: a number is missing"},
	{"priority x pattern", "priority: 'x' is not a number from 0 to 4294967295"},
	{"priority 4294967296 pattern", "priority: '4294967296' is not"},
	{"group -1 pattern", "group: '-1' is not"},
	{"egress pattern eth / end actions drop / end", "egress: not supported"},
	{"skip_sw skip_hw pattern end actions end", "then the rule would be nowhere"},
	{"outgress pattern", "unexpected 'outgress'"},
	{"pattern", "pattern: items and end are missing"},
	{"pattern eth", "pattern: '/' and end are missing after eth"},
	{"pattern eth /", "pattern: end is missing"},
	{"pattern eth end actions drop / end", "eth: no field 'end'"},
	{"pattern eht / end", "pattern: no item 'eht'; there are eth"},
	{"pattern / end", "pattern: no item '/'"},
	{"pattern eth / end", "actions are missing"},
	{"pattern eth / end actions", "actions: end is missing"},
	{"pattern eth / end actions drop", "actions: '/' is missing after drop"},
	{"pattern eth / end actions drop /", "actions: end is missing"},
	{"pattern eth / end actions dorp / end", "actions: no action 'dorp'"},
	{"pattern eth / end actions drop / end now", "unexpected 'now'"},
	{"pattern eth / end actions drop / accept / end", "drop and accept: only one can decide"},
	{"pattern eth / end actions drop / drop / end", "drop twice"},
	{"pattern eth / end actions mark id 1 / mark id 2 / end", "mark twice"},
	{"pattern eth / end actions count / count / end", "count twice"},
	{"pattern eth / end actions queue / end", "queue: index N is missing"},
	{"pattern eth / end actions queue index / end", "queue: '/' is not a number"},
	{"pattern eth / end actions queue index 65536 / end", "queue: '65536' is not"},
	{"pattern eth / end actions lcore id 99999 / end", "lcore: '99999' is not"},
	{"pattern eth / end actions mark / end", "mark: id N is missing"},
	{"pattern eth / end actions jump group 4 / passthru / end", "jump and passthru"},
	{"group 4 pattern eth / end actions jump group 4 / end", "jump: group 4 is the rule's own"},
	{"pattern eth type / end", "eth type: '/' where is, spec"},
	{"pattern eth type is", "eth type is: a value is missing"},
	{"pattern eth type is 0x10000 / end",
	 "eth type: '0x10000' is not a number from 0 to 65535"},
	{"pattern eth dst is 02:00:00:00:00 / end", "is not a MAC address"},
	{"pattern eth has_vlan is 2 / end", "eth has_vlan: '2' is not a number from 0 to 1"},
	{"pattern eth has_vlan spec 0 has_vlan last 1 / end", "no range"},
	{"pattern eth / vlan vid is 4096 / end", "vlan vid: '4096' is not a number from 0 to 4095"},
	{"pattern eth / vlan pcp is 8 / end", "vlan pcp: '8' is not a number from 0 to 7"},
	{"pattern eth / vlan tci is 5 vid is 6 / end", "contradicts another field"},
	{"pattern eth / vlan tci is 5 vid spec 6 vid last 7 / end", "another field of the item"},
	{"pattern eth / vlan vid spec 6 vid last 7 tci is 5 / end", "another field of the item"},
	{"pattern ipv4 src is 10.0.0.256 / end", "ipv4 src: '10.0.0.256' is not an IPv4 address"},
	{"pattern ipv4 src is ::1 / end", "is not an IPv4 address"},
	{"pattern ipv6 src is 10.0.0.1 / end", "is not an IPv6 address"},
	{"pattern ipv4 src spec 10.0.0.0 src prefix 33 / end", "prefix '33' is not 0 to 32 bits"},
	{"pattern ipv4 src prefix 8 / end", "mask without spec"},
	{"pattern ipv4 src mask 255.0.0.0 / end", "mask without spec"},
	{"pattern ipv4 src last 10.0.0.1 / end", "last without spec"},
	{"pattern ipv4 src is 10.0.0.1 src is 10.0.0.2 / end", "contradicts what was said before"},
	{"pattern ipv4 src spec 10.0.0.1 src spec 10.0.0.2 / end", "contradicts"},
	{"pattern ipv4 src spec 10.0.0.9 src last 10.0.0.1 / end", "last lies below spec"},
	{"pattern ipv4 ttl is 256 / end", "not a number from 0 to 255"},
	{"pattern ipv6 flow is 0x100000 / end", "not a number from 0 to 1048575"},
	{"pattern ipv4 / ipv4 / ipv4 / end", "tunnels in tunnels"},
	{"pattern ipv4 / eth / end", "eth after ipv4: eth comes first"},
	{"pattern eth / eth / end", "eth after eth"},
	{"pattern ipv4 / vlan / end", "tags come before IP"},
	{"pattern vlan / vlan / vlan / end", "more than two tags"},
	{"pattern vlan / vlan has_more_vlan is 1 / end", "more than two tags"},
	{"pattern eth has_vlan is 0 / vlan / end", "says that there is none"},
	{"pattern ipv4 / tcp / udp / end actions drop / end", "udp after tcp: a packet has one"},
	{"pattern ipv4 / udp / ipv4 / end", "follows the outer IP header directly"},
	{"pattern eth type is 0x86dd / ipv4 / end actions drop / end",
	 "0x86dd is not that of ipv4"},
	{"pattern eth type is 0x0800 / ipv6 / end actions drop / end",
	 "0x0800 is not that of ipv6"},
	{"pattern eth type is 0x88f7 / ipv4 / end actions drop / end",
	 "0x88f7 is not that of ipv4"},
	{"pattern eth type is 0x0800 / vlan / end actions drop / end", "not that of a vlan tag"},
	{"pattern eth has_vlan is 0 type is 0x8100 / ipv4 / end actions drop / end",
	 "0x8100 is not that of ipv4"},
	{"pattern vlan inner_type is 0x86dd / ipv4 / end actions drop / end",
	 "inner_type: 0x86dd is not that of ipv4"},
	{"pattern ipv4 proto is 6 / udp / end actions drop / end", "6 is not that of udp"},
	{"pattern ipv4 proto is 6 / ipv4 / end actions drop / end", "6 is not that of ipv4"},
	{"pattern ipv6 proto is 6 / udp / end actions drop / end", "6 is not that of udp"},
	{"pattern ipv6 / icmp / end actions drop / end", "ICMP for IPv6 is icmp6"},
	{"pattern ipv4 / icmp6 / end actions drop / end", "ICMP for IPv4 is icmp"},
	{"pattern ipv4 fragment_offset is 185 / udp / end actions drop / end",
	 "later fragments have no udp header"},
	{"pattern eth dst spec 00:00:00:00:00:01 dst last 00:00:00:00:00:09 src spec "
	 "00:00:00:00:00:01 src last 00:00:00:00:00:09 type spec 1 type last 2 / vlan vid spec 1 vid "
	 "last 2 pcp spec 1 pcp last 2 / ipv4 src spec 1.0.0.0 src last 2.0.0.0 dst spec 1.0.0.0 dst "
	 "last 2.0.0.0 ttl spec 1 ttl last 2 tos spec 1 tos last 2 / end actions drop / end",
	 "more than 8 ranges"},
};

static void
each_mistake_has_its_sentence(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
		assert_true(parse(mistakes[i].typed) < 0);
		if (strstr(error.text, mistakes[i].message) == NULL)
			fail_msg("%s: '%s' lacks '%s'", mistakes[i].typed, error.text,
				 mistakes[i].message);
		assert_null(strchr(error.text, '\n'));
	}
}

/* --- rte_flow ------------------------------------------------------------------------------ */

static struct flow_offer offer;

static void
make_offer(const char *pattern)
{
	parse_pattern(pattern);
	assert_int_equal(flow_offer_make(&parsed, false, &offer, &error), 0);
}

/* Each field of each item: where its value and mask are in rte_flow's structures. */
static void
every_field_is_translated(void **state)
{
#define AT(type, member) offsetof(struct rte_flow_item_##type, member)
	static const struct {
		const char *pattern;
		unsigned item; /* its place in the pattern */
		enum rte_flow_item_type type;
		size_t offset;
		unsigned size;
		uint8_t spec[16], mask[16];
	} fields[] = {
		{"eth dst is 02:00:00:00:00:01",
		 0,
		 RTE_FLOW_ITEM_TYPE_ETH,
		 AT(eth, hdr.dst_addr),
		 6,
		 {2, 0, 0, 0, 0, 1},
		 {255, 255, 255, 255, 255, 255}},
		{"eth src is 02:00:00:00:00:01",
		 0,
		 RTE_FLOW_ITEM_TYPE_ETH,
		 AT(eth, hdr.src_addr),
		 6,
		 {2, 0, 0, 0, 0, 1},
		 {255, 255, 255, 255, 255, 255}},
		{"eth type is 0x88f7",
		 0,
		 RTE_FLOW_ITEM_TYPE_ETH,
		 AT(eth, hdr.ether_type),
		 2,
		 {0x88, 0xf7},
		 {255, 255}},
		{"eth / vlan tci is 0x6005",
		 1,
		 RTE_FLOW_ITEM_TYPE_VLAN,
		 AT(vlan, hdr.vlan_tci),
		 2,
		 {0x60, 5},
		 {255, 255}},
		{"eth / vlan pcp is 3",
		 1,
		 RTE_FLOW_ITEM_TYPE_VLAN,
		 AT(vlan, hdr.vlan_tci),
		 2,
		 {0x60, 0},
		 {0xe0, 0}},
		{"eth / vlan dei is 1",
		 1,
		 RTE_FLOW_ITEM_TYPE_VLAN,
		 AT(vlan, hdr.vlan_tci),
		 2,
		 {0x10, 0},
		 {0x10, 0}},
		{"eth / vlan vid is 257",
		 1,
		 RTE_FLOW_ITEM_TYPE_VLAN,
		 AT(vlan, hdr.vlan_tci),
		 2,
		 {1, 1},
		 {0x0f, 0xff}},
		{"eth / vlan / vlan vid is 257",
		 2,
		 RTE_FLOW_ITEM_TYPE_VLAN,
		 AT(vlan, hdr.vlan_tci),
		 2,
		 {1, 1},
		 {0x0f, 0xff}},
		{"eth / vlan inner_type is 0x0800",
		 1,
		 RTE_FLOW_ITEM_TYPE_VLAN,
		 AT(vlan, hdr.eth_proto),
		 2,
		 {8, 0},
		 {255, 255}},
		{"ipv4 version_ihl is 0x45",
		 0,
		 RTE_FLOW_ITEM_TYPE_IPV4,
		 AT(ipv4, hdr.version_ihl),
		 1,
		 {0x45},
		 {255}},
		{"ipv4 tos is 1",
		 0,
		 RTE_FLOW_ITEM_TYPE_IPV4,
		 AT(ipv4, hdr.type_of_service),
		 1,
		 {1},
		 {255}},
		{"ipv4 length is 258",
		 0,
		 RTE_FLOW_ITEM_TYPE_IPV4,
		 AT(ipv4, hdr.total_length),
		 2,
		 {1, 2},
		 {255, 255}},
		{"ipv4 packet_id is 258",
		 0,
		 RTE_FLOW_ITEM_TYPE_IPV4,
		 AT(ipv4, hdr.packet_id),
		 2,
		 {1, 2},
		 {255, 255}},
		{"ipv4 fragment_offset is 258",
		 0,
		 RTE_FLOW_ITEM_TYPE_IPV4,
		 AT(ipv4, hdr.fragment_offset),
		 2,
		 {1, 2},
		 {255, 255}},
		{"ipv4 ttl is 1",
		 0,
		 RTE_FLOW_ITEM_TYPE_IPV4,
		 AT(ipv4, hdr.time_to_live),
		 1,
		 {1},
		 {255}},
		{"ipv4 proto is 1",
		 0,
		 RTE_FLOW_ITEM_TYPE_IPV4,
		 AT(ipv4, hdr.next_proto_id),
		 1,
		 {1},
		 {255}},
		{"ipv4 src is 1.2.3.4",
		 0,
		 RTE_FLOW_ITEM_TYPE_IPV4,
		 AT(ipv4, hdr.src_addr),
		 4,
		 {1, 2, 3, 4},
		 {255, 255, 255, 255}},
		{"ipv4 dst prefix 1.2.3.4/12",
		 0,
		 RTE_FLOW_ITEM_TYPE_IPV4,
		 AT(ipv4, hdr.dst_addr),
		 4,
		 {1, 0, 0, 0},
		 {255, 0xf0, 0, 0}},
		{"ipv4 / ipv4 dst is 1.2.3.4",
		 1,
		 RTE_FLOW_ITEM_TYPE_IPV4,
		 AT(ipv4, hdr.dst_addr),
		 4,
		 {1, 2, 3, 4},
		 {255, 255, 255, 255}},
		{"ipv6 tc is 0x12",
		 0,
		 RTE_FLOW_ITEM_TYPE_IPV6,
		 AT(ipv6, hdr.vtc_flow),
		 4,
		 {1, 0x20, 0, 0},
		 {0x0f, 0xf0, 0, 0}},
		{"ipv6 flow is 0x12345",
		 0,
		 RTE_FLOW_ITEM_TYPE_IPV6,
		 AT(ipv6, hdr.vtc_flow),
		 4,
		 {0, 1, 0x23, 0x45},
		 {0, 0x0f, 255, 255}},
		{"ipv6 len is 258",
		 0,
		 RTE_FLOW_ITEM_TYPE_IPV6,
		 AT(ipv6, hdr.payload_len),
		 2,
		 {1, 2},
		 {255, 255}},
		{"ipv6 proto is 1", 0, RTE_FLOW_ITEM_TYPE_IPV6, AT(ipv6, hdr.proto), 1, {1}, {255}},
		{"ipv6 hop is 1",
		 0,
		 RTE_FLOW_ITEM_TYPE_IPV6,
		 AT(ipv6, hdr.hop_limits),
		 1,
		 {1},
		 {255}},
		{"ipv6 src is 1:203::4",
		 0,
		 RTE_FLOW_ITEM_TYPE_IPV6,
		 AT(ipv6, hdr.src_addr),
		 4,
		 {0, 1, 2, 3},
		 {255, 255, 255, 255}},
		{"ipv6 / ipv6 dst is 1:203::4",
		 1,
		 RTE_FLOW_ITEM_TYPE_IPV6,
		 AT(ipv6, hdr.dst_addr),
		 4,
		 {0, 1, 2, 3},
		 {255, 255, 255, 255}},
		{"ipv4 / udp src is 258",
		 1,
		 RTE_FLOW_ITEM_TYPE_UDP,
		 AT(udp, hdr.src_port),
		 2,
		 {1, 2},
		 {255, 255}},
		{"ipv4 / udp dst is 258",
		 1,
		 RTE_FLOW_ITEM_TYPE_UDP,
		 AT(udp, hdr.dst_port),
		 2,
		 {1, 2},
		 {255, 255}},
		{"ipv4 / tcp src is 258",
		 1,
		 RTE_FLOW_ITEM_TYPE_TCP,
		 AT(tcp, hdr.src_port),
		 2,
		 {1, 2},
		 {255, 255}},
		{"ipv4 / tcp dst is 258",
		 1,
		 RTE_FLOW_ITEM_TYPE_TCP,
		 AT(tcp, hdr.dst_port),
		 2,
		 {1, 2},
		 {255, 255}},
		{"ipv4 / tcp flags spec 0xff flags mask 2",
		 1,
		 RTE_FLOW_ITEM_TYPE_TCP,
		 AT(tcp, hdr.tcp_flags),
		 1,
		 {2},
		 {2}},
		{"ipv4 / sctp src is 258",
		 1,
		 RTE_FLOW_ITEM_TYPE_SCTP,
		 AT(sctp, hdr.src_port),
		 2,
		 {1, 2},
		 {255, 255}},
		{"ipv4 / sctp dst is 258",
		 1,
		 RTE_FLOW_ITEM_TYPE_SCTP,
		 AT(sctp, hdr.dst_port),
		 2,
		 {1, 2},
		 {255, 255}},
		{"ipv4 / sctp tag is 0x01020304",
		 1,
		 RTE_FLOW_ITEM_TYPE_SCTP,
		 AT(sctp, hdr.tag),
		 4,
		 {1, 2, 3, 4},
		 {255, 255, 255, 255}},
		{"ipv4 / sctp cksum is 0x01020304",
		 1,
		 RTE_FLOW_ITEM_TYPE_SCTP,
		 AT(sctp, hdr.cksum),
		 4,
		 {1, 2, 3, 4},
		 {255, 255, 255, 255}},
		{"ipv4 / icmp type is 8",
		 1,
		 RTE_FLOW_ITEM_TYPE_ICMP,
		 AT(icmp, hdr.icmp_type),
		 1,
		 {8},
		 {255}},
		{"ipv4 / icmp code is 8",
		 1,
		 RTE_FLOW_ITEM_TYPE_ICMP,
		 AT(icmp, hdr.icmp_code),
		 1,
		 {8},
		 {255}},
		{"ipv4 / icmp ident is 258",
		 1,
		 RTE_FLOW_ITEM_TYPE_ICMP,
		 AT(icmp, hdr.icmp_ident),
		 2,
		 {1, 2},
		 {255, 255}},
		{"ipv4 / icmp seq is 258",
		 1,
		 RTE_FLOW_ITEM_TYPE_ICMP,
		 AT(icmp, hdr.icmp_seq_nb),
		 2,
		 {1, 2},
		 {255, 255}},
		{"ipv6 / icmp6 type is 128",
		 1,
		 RTE_FLOW_ITEM_TYPE_ICMP6,
		 AT(icmp6, type),
		 1,
		 {128},
		 {255}},
		{"ipv6 / ipv6 / icmp6 code is 1",
		 2,
		 RTE_FLOW_ITEM_TYPE_ICMP6,
		 AT(icmp6, code),
		 1,
		 {1},
		 {255}},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		const struct rte_flow_item *item;
		unsigned set = 0, expected = 0;

		make_offer(fields[i].pattern);
		item = &offer.pattern[fields[i].item];
		assert_int_equal(item->type, fields[i].type);
		assert_null(item->last);
		assert_memory_equal((const uint8_t *)item->spec + fields[i].offset, fields[i].spec,
				    fields[i].size);
		assert_memory_equal((const uint8_t *)item->mask + fields[i].offset, fields[i].mask,
				    fields[i].size);
		/* And nothing else is compared; an IPv6 address has 12 bytes more than are in the
		 * row. */
		for (unsigned k = 0; k < sizeof(union flow_item_conf); k++)
			set += (unsigned)__builtin_popcount(((const uint8_t *)item->mask)[k]);
		for (unsigned k = 0; k < fields[i].size; k++)
			expected += (unsigned)__builtin_popcount(fields[i].mask[k]);
		if (strstr(fields[i].pattern, "1:203") != NULL)
			expected = 128;
		assert_int_equal(set, expected);
	}
}

static void
headers_that_must_not_be_there(void **state)
{
	const struct rte_flow_item_eth *eth, *eth_mask;
	const struct rte_flow_item_ipv6 *ip, *ip_mask;

	(void)state;
	make_offer("eth has_vlan is 0 / ipv6 has_frag_ext is 1");
	eth = offer.pattern[0].spec;
	eth_mask = offer.pattern[0].mask;
	assert_int_equal(eth->has_vlan, 0);
	assert_int_equal(eth_mask->has_vlan, 1);
	ip = offer.pattern[1].spec;
	ip_mask = offer.pattern[1].mask;
	assert_int_equal(ip->has_frag_ext, 1);
	assert_int_equal(ip_mask->has_frag_ext, 1);

	make_offer("eth / vlan has_more_vlan is 0");
	assert_int_equal(((const struct rte_flow_item_vlan *)offer.pattern[1].mask)->has_more_vlan,
			 1);
	assert_int_equal(((const struct rte_flow_item_vlan *)offer.pattern[1].spec)->has_more_vlan,
			 0);
}

static void
ranges_have_a_last(void **state)
{
	const struct rte_flow_item_udp *spec, *last, *mask;

	(void)state;
	make_offer("ipv4 / udp src is 7 dst spec 1000 dst last 2000");
	assert_null(offer.pattern[0].last);
	spec = offer.pattern[1].spec;
	last = offer.pattern[1].last;
	mask = offer.pattern[1].mask;
	assert_int_equal(rte_be_to_cpu_16(spec->hdr.dst_port), 1000);
	assert_int_equal(rte_be_to_cpu_16(last->hdr.dst_port), 2000);
	assert_int_equal(mask->hdr.dst_port, 0xffff);
	/* rte_flow: a last of zero is none. */
	assert_int_equal(last->hdr.src_port, 0);
	assert_int_equal(mask->hdr.src_port, 0xffff);
}

static void
items_without_fields_have_no_spec(void **state)
{
	(void)state;
	make_offer("eth / vlan / ipv4 / udp");
	for (unsigned i = 0; i < 4; i++) {
		assert_null(offer.pattern[i].spec);
		assert_null(offer.pattern[i].mask);
	}
	assert_int_equal(offer.pattern[4].type, RTE_FLOW_ITEM_TYPE_END);
	assert_int_equal(flow_offer_make(&parsed, true, &offer, &error), 0);
	assert_non_null(offer.pattern[2].spec);
	assert_non_null(offer.pattern[2].mask);
	assert_null(offer.pattern[3].mask);
}

static void
attributes_and_actions(void **state)
{
	(void)state;
	assert_int_equal(
		parse("priority 3 group 4 transfer pattern end actions count / mark id 9 / "
		      "represented_port ethdev_port_id 2 / end"),
		0);
	assert_int_equal(flow_offer_make(&parsed, false, &offer, &error), 0);
	assert_int_equal(offer.attr.priority, 3);
	assert_int_equal(offer.attr.group, 4);
	assert_int_equal(offer.attr.transfer, 1);
	assert_int_equal(offer.attr.ingress, 0);
	assert_int_equal(offer.attr.egress, 0);
	assert_int_equal(offer.pattern[0].type, RTE_FLOW_ITEM_TYPE_END);
	assert_int_equal(offer.actions[0].type, RTE_FLOW_ACTION_TYPE_REPRESENTED_PORT);
	assert_int_equal(((const struct rte_flow_action_ethdev *)offer.actions[0].conf)->port_id,
			 2);
	assert_int_equal(offer.actions[1].type, RTE_FLOW_ACTION_TYPE_MARK);
	assert_int_equal(((const struct rte_flow_action_mark *)offer.actions[1].conf)->id, 9);
	assert_int_equal(offer.actions[2].type, RTE_FLOW_ACTION_TYPE_COUNT);
	assert_int_equal(offer.actions[3].type, RTE_FLOW_ACTION_TYPE_END);

	assert_int_equal(parse("pattern end actions queue index 5 / end"), 0);
	assert_int_equal(flow_offer_make(&parsed, false, &offer, &error), 0);
	assert_int_equal(offer.attr.ingress, 1);
	assert_int_equal(offer.actions[0].type, RTE_FLOW_ACTION_TYPE_QUEUE);
	assert_int_equal(((const struct rte_flow_action_queue *)offer.actions[0].conf)->index, 5);
	assert_int_equal(parse("pattern end actions jump group 6 / end"), 0);
	assert_int_equal(flow_offer_make(&parsed, false, &offer, &error), 0);
	assert_int_equal(((const struct rte_flow_action_jump *)offer.actions[0].conf)->group, 6);
	assert_int_equal(parse("pattern end actions mark id 6 / end"), 0);
	assert_int_equal(flow_offer_make(&parsed, false, &offer, &error), 0);
	assert_int_equal(offer.actions[0].type, RTE_FLOW_ACTION_TYPE_MARK);
	assert_int_equal(parse("pattern end actions end"), 0);
	assert_int_equal(flow_offer_make(&parsed, false, &offer, &error), 0);
	assert_int_equal(offer.actions[0].type, RTE_FLOW_ACTION_TYPE_PASSTHRU);
	assert_int_equal(parse("pattern end actions accept / end"), 0);
	assert_int_equal(flow_offer_make(&parsed, false, &offer, &error), -ENOTSUP);
	assert_int_equal(parse("pattern end actions lcore id 1 / end"), 0);
	assert_int_equal(flow_offer_make(&parsed, false, &offer, &error), -ENOTSUP);
}

/* --- overlap -------------------------------------------------------------------------------- */

static void
overlaps_are_found(void **state)
{
	static const struct {
		const char *one, *other;
		bool overlap;
	} pairs[] = {
		{"eth", "ipv4", true},
		{"ipv4", "ipv6", false},
		{"ipv4 / udp", "ipv4 / tcp", false},
		{"udp", "ipv6 / udp", true},
		{"ipv4 / ipv4", "ipv4 / ipv6", false},
		{"ipv4 / ipv4 / udp", "ipv4 / ipv4 / tcp", false},
		{"ipv4 src is 10.0.0.1", "ipv4 src is 10.0.0.2", false},
		{"ipv4 src is 10.0.0.1", "ipv4 dst is 10.0.0.2", true},
		{"ipv4 src prefix 10.0.0.0/8", "ipv4 src is 10.9.0.2", true},
		{"ipv4 src prefix 10.0.0.0/8", "ipv4 src is 11.9.0.2", false},
		{"ipv4 src spec 0.0.0.1 src mask 0.0.0.1",
		 "ipv4 src spec 10.0.0.0 src mask 255.0.0.0", true},
		{"eth type is 0x88f7", "ipv4", false},
		{"eth type is 0x8100", "ipv4", true},
		{"eth type is 0x0800", "ipv6", false},
		{"eth has_vlan is 0", "eth / vlan", false},
		{"udp dst spec 10 dst last 20", "udp dst is 9", false},
		{"udp dst spec 10 dst last 20", "udp dst is 10", true},
		{"udp dst spec 10 dst last 20", "udp dst is 21", false},
		{"udp dst spec 10 dst last 20", "udp dst spec 20 dst last 30", true},
		{"udp dst spec 10 dst last 20", "udp dst spec 21 dst last 30", false},
		{"udp dst spec 10 dst last 20", "tcp dst spec 10 dst last 20", false},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		struct flow_rule one;

		parse_pattern(pairs[i].one);
		one = parsed.rule;
		parse_pattern(pairs[i].other);
		if (flow_overlap(&one, &parsed.rule) != pairs[i].overlap ||
		    flow_overlap(&parsed.rule, &one) != pairs[i].overlap)
			fail_msg("%s and %s", pairs[i].one, pairs[i].other);
	}
}

/* --- completion ------------------------------------------------------------------------------- */

static char offered[1024];

static void
collect(void *arg, const char *word)
{
	(void)arg;
	strcat(strcat(offered, word), " ");
}

static const char *
complete(const char *words)
{
	char line[512];

	offered[0] = '\0';
	snprintf(line, sizeof(line), "flow create 0 %s", words);
	console_complete(console, line, collect, NULL);
	return offered;
}

static void
items_and_fields_are_completed(void **state)
{
	(void)state;
	assert_string_equal(complete("pat"), "pattern ");
	assert_string_equal(complete("priority 1 skip"), "skip_hw skip_sw ");
	assert_string_equal(complete("pattern "),
			    "end eth icmp icmp6 ipv4 ipv6 sctp tcp udp vlan ");
	assert_string_equal(complete("pattern eth "), "/ dst has_vlan src type ");
	assert_string_equal(complete("pattern eth dst "), "is last mask prefix spec ");
	assert_string_equal(complete("pattern eth dst is 02:00:00:00:00:01 t"), "type ");
	assert_string_equal(complete("pattern eth / ipv"), "ipv4 ipv6 ");
	assert_string_equal(complete("pattern eth / ipv4 src is 10.0.0.1 / tcp fl"), "flags ");
	assert_string_equal(complete("pattern eth / ipv4 src is 10.0.0.1 / end "), "actions ");
	assert_string_equal(complete("pattern eth / ipv4 src spec 10.0.0.1 src pre"), "prefix ");
	assert_string_equal(complete("pattern eth / end actions re"), "represented_port ");
	assert_string_equal(complete("pattern eth / end actions queue "), "index ");
	assert_string_equal(complete("pattern eth / end actions count "), "/ ");
	assert_string_equal(complete("pattern eth / end actions count / e"), "end ");
	assert_string_equal(
		complete("pattern eth / ipv6 / icmp6 type is 1 / end actions count / mark id 3 "
			 "/ j"),
		"jump ");
}

static char helped[8192];

static void
keep(void *arg, const char *data, size_t size)
{
	(void)arg;
	assert_true(strlen(helped) + size < sizeof(helped));
	strncat(helped, data, size);
}

static void
help_shows_what_words_stand_for(void **state)
{
	(void)state;
	helped[0] = '\0';
	assert_int_equal(console_run(console, "help flow", false, keep, NULL, &error), 0);
	assert_non_null(strstr(helped, "    ITEM  eth [{dst|src|type|has_vlan} OPERATION]...\n"
				       "          vlan [{tci|"));
	assert_non_null(strstr(helped, "    OPERATION  is VALUE\n               spec VALUE\n"));
	assert_non_null(strstr(helped, "    ACTION  drop\n            passthru\n"));
	helped[0] = '\0';
	assert_int_equal(console_run(console, "help flow", true, keep, NULL, &error), 0);
	assert_non_null(strstr(helped, "\"where\":{\"ITEM\":\"eth ["));
}

/* --- anything ----------------------------------------------------------------------------------
 */

static void
any_line_is_taken_or_refused(void **state)
{
	static const char *const words[] = {
		"pattern",
		"end",
		"actions",
		"/",
		"eth",
		"vlan",
		"ipv4",
		"ipv6",
		"udp",
		"tcp",
		"sctp",
		"icmp",
		"icmp6",
		"src",
		"dst",
		"type",
		"vid",
		"tci",
		"proto",
		"flags",
		"is",
		"spec",
		"mask",
		"last",
		"prefix",
		"0",
		"1",
		"6",
		"17",
		"0xffff",
		"10.0.0.1",
		"255.0.0.0",
		"::1",
		"10.0.0.0/8",
		"02:00:00:00:00:01",
		"drop",
		"queue",
		"index",
		"count",
		"mark",
		"id",
		"has_vlan",
		"has_frag_ext",
		"fragment_offset",
		"tc",
		"flow",
	};
	unsigned taken = 0;

	(void)state;
	srand(6);
	for (unsigned i = 0; i < 200000; i++) {
		char line[512] = "pattern";
		struct flow_line first;
		const char *shown;
		int items = rand() % 4;

		/* Half of them are near to what is right. */
		for (int n = rand() % 2 ? rand() % 14 : 0; n > 0; n--)
			strcat(strcat(line, " "), words[(unsigned)rand() % RTE_DIM(words)]);
		for (; items > 0; items--) {
			strcat(strcat(line, " "), words[4 + rand() % 9]);
			for (int n = rand() % 3; n > 0; n--) {
				const char *field = words[13 + rand() % 7];

				strcat(strcat(line, " "), field);
				strcat(strcat(line, " "), words[20 + rand() % 5]);
				strcat(strcat(line, " "), words[25 + rand() % 10]);
			}
			strcat(line, " /");
		}
		strcat(line, " end actions drop / end");
		if (parse(line) < 0) {
			assert_int_not_equal(error.text[0], '\0');
			continue;
		}
		taken++;
		first = parsed;
		assert_int_equal(flow_offer_make(&first, false, &offer, &error), 0);
		shown = text_of(flow_line_text, &first);
		if (parse(shown) != 0)
			fail_msg("%s: shown as %s: %s", line, shown, error.text);
		assert_memory_equal(&first, &parsed, sizeof(first));
		assert_true(flow_overlap(&first.rule, &parsed.rule));
	}
	assert_true(taken > 10000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_shown_is_the_same_rule),
		cmocka_unit_test(each_mistake_has_its_sentence),
		cmocka_unit_test(every_field_is_translated),
		cmocka_unit_test(headers_that_must_not_be_there),
		cmocka_unit_test(ranges_have_a_last),
		cmocka_unit_test(items_without_fields_have_no_spec),
		cmocka_unit_test(attributes_and_actions),
		cmocka_unit_test(overlaps_are_found),
		cmocka_unit_test(items_and_fields_are_completed),
		cmocka_unit_test(help_shows_what_words_stand_for),
		cmocka_unit_test(any_line_is_taken_or_refused),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
