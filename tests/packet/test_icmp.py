# SPDX-License-Identifier: BSD-3-Clause
"""Echo to the router's addresses and SIDs, and when errors must not be sent."""

import struct
import unittest

import packets as p
from cases import CaseTest
from harness import Router
from lab import DT4_RED, DT46_RED, DT6_RED, DX4, END, END_X, PORT_MAC, ROUTER, SIDS
from test_endpoints import BEFORE, IN4, IN6, NEXT, options

ON_LINK4, ON_LINK6, ON_LINK_LL = "10.0.1.2", "2001:db8:1::2", "fe80::99"
LL_MAC = "02:00:00:00:99:99"


class Echo(CaseTest):
    """RFC 1812 4.3.3.6, RFC 4443 4.2: the router answers for all its addresses."""

    router = ROUTER + SIDS + f"ip neigh add {ON_LINK_LL} lladdr {LL_MAC} dev 0\n"

    @classmethod
    def build(cls, case):
        c = case("ipv4_own_address")
        c.send(p.echo4(c.src4, "10.0.0.1", c.payload))
        c.echo_reply()
        c = case("ipv4_address_of_another_port")
        c.send(p.echo4(c.src4, "10.0.1.1", c.payload))
        c.echo_reply()
        c = case("ipv4_from_on_link")
        c.send(p.echo4(ON_LINK4, "10.0.1.1", c.payload), port=1)
        c.echo_reply(via=ON_LINK4)
        c = case("ipv4_in_red")
        c.send(p.echo4(c.src4, "10.0.2.1", c.payload), port=2)
        c.echo_reply(via="10.0.2.2")
        c = case("ipv4_ttl_1")
        c.send(p.echo4(c.src4, "10.0.0.1", c.payload, ttl=1))
        c.echo_reply()
        c = case("ipv4_without_data")
        c.send(p.echo4(c.src4, "10.0.0.1", b"", ident=99))
        c.echo_reply()
        c = case("ipv4_odd_data")
        c.send(p.echo4(c.src4, "10.0.0.1", c.payload + b"odd"[:1 + len(c.payload) % 2]))
        c.echo_reply()
        c = case("ipv4_1472_bytes")
        c.send(p.echo4(c.src4, "10.0.0.1", bytes(i & 255 for i in range(1472))))
        c.echo_reply()
        c = case("ipv4_padded_frame")
        c.send(p.echo4(c.src4, "10.0.0.1", b"x", ident=98), trailer=b"\xee" * 17)
        c.echo_reply()
        c = case("ipv4_through_tunnel")
        request = p.echo4(c.src4, "10.0.2.1", c.payload)
        c.send(c.outer(DT4_RED, p.IPIP, request))
        c.echo_reply(via="10.0.2.2", request=request)
        c = case("ipv4_bad_checksum")
        request = p.echo4(c.src4, "10.0.0.1", c.payload)
        c.send(request[:22] + b"\x12\x34" + request[24:])
        c.nothing()
        c = case("ipv4_broadcast")  # as Linux: icmp_echo_ignore_broadcasts
        c.send(p.echo4(ON_LINK4, "10.0.1.255", c.payload), port=1)
        c.nothing()
        c = case("ipv4_shorter_than_icmp")
        c.send(p.ip4(c.src4, "10.0.0.1", p.ICMP, b"\x08\0\xf7\xff"))
        c.nothing()

        c = case("ipv6_own_address")
        c.send(p.echo6(c.src6, "fc00:0:0:1::1", c.payload))
        c.echo_reply()
        c = case("ipv6_address_of_another_port")
        c.send(p.echo6(c.src6, "2001:db8:1::1", c.payload))
        c.echo_reply()
        c = case("ipv6_from_on_link")
        c.send(p.echo6(ON_LINK6, "2001:db8:1::1", c.payload), port=1)
        c.echo_reply(via=ON_LINK6)
        c = case("ipv6_in_red")
        c.send(p.echo6(c.in6, "2001:db8:2::1", c.payload), port=2)
        c.echo_reply(via="2001:db8:2::2")
        c = case("ipv6_through_tunnel")
        request = p.echo6(c.in6, "2001:db8:2::1", c.payload)
        c.send(c.outer(DT6_RED, p.IPV6, request))
        c.echo_reply(via="2001:db8:2::2", request=request)
        c = case("ipv6_hop_limit_1")
        c.send(p.echo6(c.src6, "fc00:0:0:1::1", c.payload, hlim=1))
        c.echo_reply()
        c = case("ipv6_link_local")
        own = p.link_local(PORT_MAC[0])
        c.send(p.echo6(ON_LINK_LL, own, c.payload))
        c.echo_reply(via=(0, LL_MAC))
        c = case("ipv6_behind_options")
        body = p.echo6_body(c.src6, "fc00:0:0:1::1", c.payload)
        c.send(c.outer("fc00:0:0:1::1", p.HOPOPTS, options(p.DSTOPTS) + options(p.ICMP6) + body))
        c.echo_reply(request=c.outer("fc00:0:0:1::1", p.ICMP6, body))
        c = case("ipv6_bad_checksum")
        request = p.echo6(c.src6, "fc00:0:0:1::1", c.payload)
        c.send(request[:42] + b"\x12\x34" + request[44:])
        c.nothing()
        c = case("ipv6_1452_bytes")
        c.send(p.echo6(c.src6, "fc00:0:0:1::1", bytes(i & 255 for i in range(1452))))
        c.echo_reply()

        # RFC 9259: a SID answers as an address does.
        for name, sid in (("end", END), ("end_x", END_X), ("dx4", DX4), ("dt6", DT6_RED),
                          ("dt46", DT46_RED), ("dt4_address_within_prefix", DT4_RED + "77")):
            c = case(f"sid_{name}")
            c.send(p.echo6(c.src6, sid, c.payload))
            c.echo_reply()
            c = case(f"sid_{name}_srh")
            body = p.echo6_body(c.src6, sid, c.payload)
            c.send(c.outer(sid, p.ROUTING, p.path(p.ICMP6, [BEFORE, sid], 0) + body))
            c.echo_reply(request=c.outer(sid, p.ICMP6, body))
        c = case("sid_behind_options")
        body = p.echo6_body(c.src6, DX4, c.payload)
        c.send(c.outer(DX4, p.DSTOPTS, options(p.ICMP6) + body))
        c.echo_reply(request=c.outer(DX4, p.ICMP6, body))
        c = case("sid_dt4_segments_left_1")
        body = p.echo6_body(c.src6, DT4_RED, c.payload)
        c.send(c.outer(DT4_RED, p.ROUTING, p.path(p.ICMP6, [DT4_RED, NEXT], 1) + body))
        c.drop("srh_segments_left")
        c.error(4, 0, 43)


class NoErrors(CaseTest):
    """RFC 1812 4.3.2.7, RFC 4443 2.4(e): packets about which no error is ever sent."""

    router = ROUTER + SIDS

    @classmethod
    def build(cls, case):
        def silent4(name, packet_of, reason="ip4_ttl"):
            c = case(f"{name}_main")
            c.send(packet_of(c))
            c.drop(reason)
            c = case(f"{name}_red")
            c.send(c.outer(DT4_RED, p.IPIP, packet_of(c)))
            c.drop(reason)

        def silent6(name, packet_of, reason="ip6_hop_limit"):
            c = case(f"{name}_main")
            c.send(packet_of(c))
            c.drop(reason)
            c = case(f"{name}_red")
            c.send(c.outer(DT6_RED, p.IPV6, packet_of(c)))
            c.drop(reason)

        for kind in (3, 4, 5, 11, 12):
            silent4(f"ttl_of_icmp_{kind}", lambda c, kind=kind: p.ip4(
                c.src4, IN4, p.ICMP, p.icmp4(kind, 0, bytes(4), c.ip4("10.9.9.9")[:28]), ttl=1))
            silent4(f"no_route_of_icmp_{kind}", lambda c, kind=kind: p.ip4(
                c.src4, "192.0.2.1", p.ICMP, p.icmp4(kind, 0, bytes(4), c.ip4("10.9.9.9")[:28])),
                "ip4_no_route")
        silent4("ttl_of_later_fragment", lambda c: c.ip4(IN4, ttl=1, offset=7))
        silent4("no_route_of_later_fragment", lambda c: c.ip4("192.0.2.1", mf=True, offset=7),
                "ip4_no_route")
        for kind in (1, 2, 3, 4, 100, 127, 137):
            silent6(f"hop_limit_of_icmpv6_{kind}", lambda c, kind=kind: p.ip6(
                c.in6, IN6, p.ICMP6, p.icmp6(c.in6, IN6, kind, 0, bytes(4), c.ip6(IN6)), hlim=1))
        silent6("hop_limit_of_icmpv6_error_behind_options", lambda c: p.ip6(
            c.in6, IN6, p.DSTOPTS, options(p.ICMP6)
            + p.icmp6(c.in6, IN6, 1, 0, bytes(4), c.ip6(IN6)), hlim=1))
        c = case("sid_upper_layer_is_icmpv6_error")
        c.send(c.outer(DX4, p.ICMP6, p.icmp6(c.src6, DX4, 3, 0, bytes(4), c.ip6(IN6))))
        c.nothing()
        c = case("no_route_back")
        c.send(c.ip4(IN4, src="198.18.7.7", ttl=1))
        c.drop("ip4_ttl")
        c = case("no_route_back_ipv6")
        c.send(c.ip6(IN6, src="2a00:7::7", hlim=1))
        c.drop("ip6_hop_limit")


class Errors(CaseTest):
    """Errors that are due although the packet looks special."""

    router = ROUTER + SIDS

    @classmethod
    def build(cls, case):
        c = case("ttl_of_echo_request")
        c.send(p.echo4(c.src4, IN4, c.payload, ttl=1))
        c.drop("ip4_ttl")
        c.error(11, 0)
        c = case("ttl_of_first_fragment")
        c.send(c.ip4(IN4, ttl=1, mf=True))
        c.drop("ip4_ttl")
        c.error(11, 0)
        c = case("ttl_with_options_quotes_them")
        c.send(c.ip4(IN4, ttl=1, options=b"\x01" * 40))
        c.drop("ip4_ttl")
        c.error(11, 0)
        c = case("ttl_of_large_packet_is_cut")
        c.send(c.ip4(IN4, ttl=1, size=1400))
        c.drop("ip4_ttl")
        c.error(11, 0)
        c = case("ttl_of_empty_packet")
        c.send(p.ip4(c.src4, IN4, 253, ttl=1))
        c.drop("ip4_ttl")
        c.error(11, 0)
        c = case("padding_is_not_quoted")
        c.send(p.ip4(c.src4, IN4, 253, b"four", ttl=1), trailer=b"\xee" * 22)
        c.drop("ip4_ttl")
        c.error(11, 0)
        c = case("hop_limit_of_echo_request")
        c.send(p.echo6(c.in6, IN6, c.payload, hlim=1))
        c.drop("ip6_hop_limit")
        c.error(3, 0)
        c = case("hop_limit_of_neighbour_like_information")
        c.send(p.ip6(c.in6, IN6, p.ICMP6, p.icmp6(c.in6, IN6, 129, 0, bytes(4), c.payload), hlim=1))
        c.drop("ip6_hop_limit")
        c.error(3, 0)
        c = case("hop_limit_of_1500_bytes_quotes_1232")
        c.send(c.ip6(IN6, size=1452, hlim=1))
        c.drop("ip6_hop_limit")
        c.error(3, 0)
        c = case("udp_to_own_address")
        c.send(c.ip4("10.0.0.1"))
        c.drop("udp_no_socket", "ip4_no_proto")
        c.error_allowed()
        c = case("udp_to_own_ipv6_address")
        c.send(p.ip6(c.in6, "fc00:0:0:1::1", p.UDP,
                     p.udp6(c.in6, "fc00:0:0:1::1", c.payload)))
        c.drop("udp_no_socket", "ip6_no_proto")
        c.error_allowed()
        c = case("unknown_protocol_to_own_address")
        c.send(p.ip4(c.src4, "10.0.0.1", 253, c.payload))
        c.drop("ip4_no_proto")
        c.error_allowed()
        c = case("unknown_next_header_to_own_address")
        c.send(p.ip6(c.in6, "fc00:0:0:1::1", 253, c.payload))
        c.drop("ip6_no_proto")
        c.error_allowed()


class RateLimit(unittest.TestCase):
    """RFC 1812 4.3.2.8, RFC 4443 2.4(f): errors are limited, drops are counted all the same."""

    def test_ttl_exceeded_flood(self):
        number = 2000
        packets = [p.eth(PORT_MAC[0], "02:00:00:00:09:99",
                         p.ip4(f"11.9.{n >> 8}.{n & 255}", IN4, p.UDP, p.udp(b"flood"), ttl=1))
                   for n in range(number)]
        with Router(ROUTER, {0: packets}) as router:
            router.settle()
            run = router.finish()
        errors = [f for f in map(p.Frame, run.sent[0]) if f.is_error()]
        self.assertEqual(run.drops, {"ip4_ttl": number})
        self.assertGreaterEqual(len(errors), 10)
        self.assertLess(len(errors), number // 2)
        self.assertEqual({struct.unpack(">BB", f.upper[:2]) for f in errors}, {(11, 0)})
