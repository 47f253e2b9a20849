# SPDX-License-Identifier: BSD-3-Clause
"""Headers that lie, packets cut short, and bytes that do not belong: each has its reason."""

import packets as p
from cases import CaseTest
from lab import (DT4_RED, DT46_RED, DT6_RED, DX4, DX6, END, END_PSP, END_X, ROUTER, SIDS)
from packets import routed
from test_endpoints import BEFORE, IN4, IN6, NEXT, options

SEGMENTS_LEFT = 40 + 3  # offset of the field when the SRH follows the IPv6 header


class SegmentRoutingHeader(CaseTest):
    """RFC 8754 4.3.1.1 and RFC 8986: what makes an SRH unusable, and what is said about it."""

    router = ROUTER + SIDS

    @classmethod
    def build(cls, case):
        for name, sid in (("end", END), ("end_psp", END_PSP), ("end_x", END_X)):
            c = case(f"{name}_last_entry_beyond_header")
            c.send(c.outer(sid, p.ROUTING, p.path(p.UDP, [sid, NEXT], 1, last=7) + c.udp()))
            c.drop("srh_malformed", "srh_segments_left")
            c.error(4, 0, SEGMENTS_LEFT)
            c = case(f"{name}_segments_left_above_last_entry_plus_one")
            c.send(c.outer(sid, p.ROUTING, p.path(p.UDP, [sid, NEXT], 3) + c.udp()))
            c.drop("srh_malformed", "srh_segments_left")
            c.error(4, 0, SEGMENTS_LEFT)
        c = case("end_segments_left_255")
        c.send(c.outer(END, p.ROUTING, p.path(p.UDP, [END, NEXT], 255) + c.udp()))
        c.drop("srh_malformed", "srh_segments_left")
        c.error(4, 0, SEGMENTS_LEFT)
        c = case("end_length_0_with_segments_left")
        c.send(c.outer(END, p.ROUTING, p.srh(p.UDP, [], 1, last=0) + c.udp()))
        c.drop("srh_malformed", "srh_segments_left")
        c.error(4, 0, SEGMENTS_LEFT)
        c = case("end_odd_length")
        # Three 8-byte units are one segment and a half: only entry 0 is inside.
        c.send(c.outer(END, p.ROUTING, p.srh(p.UDP, [NEXT], 2, tlvs=bytes(8), last=1) + c.udp()))
        c.drop("srh_malformed", "srh_segments_left")
        c.error(4, 0, SEGMENTS_LEFT)
        c = case("end_pointer_behind_options")
        c.send(c.outer(END, p.DSTOPTS, options(p.ROUTING)
                       + p.path(p.UDP, [END, NEXT], 1, last=7) + c.udp()))
        c.drop("srh_malformed", "srh_segments_left")
        c.error(4, 0, SEGMENTS_LEFT + 8)

        for name, sid, packet in (("dx4", DX4, lambda c: (p.IPIP, c.ip4(IN4))),
                                  ("dx6", DX6, lambda c: (p.IPV6, c.ip6(IN6))),
                                  ("dt4", DT4_RED, lambda c: (p.IPIP, c.ip4(IN4))),
                                  ("dt6", DT6_RED, lambda c: (p.IPV6, c.ip6(IN6))),
                                  ("dt46", DT46_RED, lambda c: (p.IPIP, c.ip4(IN4)))):
            c = case(f"{name}_segments_left_1")
            nh, inside = packet(c)
            c.send(c.outer(sid, p.ROUTING, p.path(nh, [sid, NEXT], 1) + inside))
            c.drop("srh_segments_left")
            c.error(4, 0, SEGMENTS_LEFT)
            c = case(f"{name}_header_length_beyond_packet")
            nh, inside = packet(c)
            c.send(c.outer(sid, p.ROUTING, p.path(nh, [BEFORE, sid], 0, length=250) + inside))
            c.drop("srh_malformed")
            c.error_allowed()
            c = case(f"{name}_header_length_255_segments_left_1")
            nh, inside = packet(c)
            c.send(c.outer(sid, p.ROUTING, p.path(nh, [sid, NEXT], 1, length=255) + inside))
            c.drop("srh_malformed", "srh_segments_left")
            c.error_allowed()
            c = case(f"{name}_header_ends_with_packet")
            nh, _ = packet(c)
            c.send(c.outer(sid, p.ROUTING, p.path(nh, [BEFORE, sid], 0)))
            c.drop("ip4_truncated" if nh == p.IPIP else "ip6_truncated")
            c.error_allowed()
            c = case(f"{name}_eight_bytes_of_header")
            nh, _ = packet(c)
            c.send(c.outer(sid, p.ROUTING, p.path(nh, [BEFORE, sid], 0)[:8]))
            c.drop("srh_malformed")
            c.error_allowed()

        c = case("dx4_segments_left_1_behind_four_headers")
        chain = options(p.DSTOPTS) * 3 + options(p.ROUTING)
        c.send(c.outer(DX4, p.HOPOPTS, chain + p.path(p.IPIP, [DX4, NEXT], 1) + c.ip4(IN4)))
        c.drop("srh_segments_left", "ip6_ext_header")
        c.error_allowed()
        c = case("dx4_segments_left_1_behind_twenty_headers")
        chain = options(p.DSTOPTS) * 19 + options(p.ROUTING)
        c.send(c.outer(DX4, p.DSTOPTS, chain + p.path(p.IPIP, [DX4, NEXT], 1) + c.ip4(IN4)))
        c.drop("srh_segments_left", "ip6_ext_header")
        c.error_allowed()
        c = case("end_behind_one_hundred_headers")
        chain = options(p.DSTOPTS) * 99 + options(p.ROUTING)
        c.send(c.outer(END, p.DSTOPTS, chain + p.path(p.UDP, [END, NEXT], 1) + c.udp()))
        c.drop("ip6_ext_header")
        c.error_allowed()


class OtherHeaders(CaseTest):
    """What else may stand before the upper layer at a SID."""

    router = ROUTER + SIDS

    @classmethod
    def build(cls, case):
        for kind in (0, 2, 3, 253):
            c = case(f"routing_type_{kind}_segments_left_1")
            c.send(c.outer(DT4_RED, p.ROUTING, p.srh(p.IPIP, [NEXT], 1, kind=kind) + c.ip4(IN4)))
            c.drop("ip6_ext_header", "srh_segments_left", "srh_malformed")
            c.error(4, 0, 40 + 2)  # RFC 8200 4.4: pointing to the routing type
        c = case("routing_type_253_segments_left_0_then_srh")
        packet = c.ip4(IN4)
        c.send(c.outer(DT4_RED, p.ROUTING, p.srh(p.ROUTING, [NEXT], 0, kind=253)
                       + p.path(p.IPIP, [BEFORE, DT4_RED], 0) + packet))
        c.out("10.0.2.2", routed(packet))
        c = case("routing_type_253_segments_left_0_then_srh_with_segments_left")
        c.send(c.outer(DT4_RED, p.ROUTING, p.srh(p.ROUTING, [NEXT], 0, kind=253)
                       + p.path(p.IPIP, [DT4_RED, NEXT], 1) + c.ip4(IN4)))
        c.drop("srh_segments_left")
        c.error(4, 0, SEGMENTS_LEFT + 24)

        for name, header in (("first_fragment", p.fragment_header(p.IPIP, 0, True)),
                             ("later_fragment", p.fragment_header(p.IPIP, 10, True)),
                             ("atomic_fragment", p.fragment_header(p.IPIP))):
            c = case(f"{name}_before_inner_packet")
            c.send(c.outer(DT4_RED, p.FRAGMENT, header + c.ip4(IN4)))
            c.drop("fragment", "ip6_ext_header", "sid_upper_layer")
            c.error_allowed()
        c = case("fragment_between_srh_and_inner_packet")
        c.send(c.outer(DT4_RED, p.ROUTING, p.path(p.FRAGMENT, [BEFORE, DT4_RED], 0)
                       + p.fragment_header(p.IPIP, 0, True) + c.ip4(IN4)))
        c.drop("fragment", "ip6_ext_header", "sid_upper_layer")
        c.error_allowed()
        c = case("authentication_header_before_inner_packet")
        c.send(c.outer(DT4_RED, p.AH, bytes([p.IPIP, 4, 0, 0]) + bytes(20) + c.ip4(IN4)))
        c.drop("ip6_ext_header", "sid_upper_layer")
        c.error_allowed()

        c = case("options_longer_than_packet")
        c.send(c.outer(DT4_RED, p.DSTOPTS, bytes([p.IPIP, 200]) + bytes(6) + c.ip4(IN4)))
        c.drop("ip6_ext_header", "ip6_truncated")
        c.error_allowed()
        c = case("options_of_one_byte")
        c.send(c.outer(DT4_RED, p.DSTOPTS, bytes([p.IPIP])))
        c.drop("ip6_ext_header", "ip6_truncated")
        c.error_allowed()
        c = case("routing_header_of_three_bytes")
        c.send(c.outer(DT4_RED, p.ROUTING, bytes([p.IPIP, 0, 4])))
        c.drop("srh_malformed", "ip6_ext_header", "ip6_truncated")
        c.error_allowed()
        c = case("hop_by_hop_not_first")
        # RFC 8200 4.1, 4.3: hop-by-hop options only directly after the IPv6 header.
        c.send(c.outer(DT4_RED, p.DSTOPTS, options(p.HOPOPTS) + options(p.IPIP) + c.ip4(IN4)))
        c.drop("ip6_ext_header", "sid_upper_layer")
        c.error_allowed()


class UpperLayer(CaseTest):
    """An upper layer the SID does not take: counted, and parameter problem code 4."""

    router = ROUTER + SIDS

    @classmethod
    def build(cls, case):
        def refused(name, sid, nh, payload):
            c = case(f"{name}_reduced")
            c.send(c.outer(sid, nh, payload(c)))
            c.drop("sid_upper_layer")
            c.error(4, 4, 40)
            c = case(f"{name}_srh")
            c.send(c.outer(sid, p.ROUTING, p.path(nh, [BEFORE, sid], 0) + payload(c)))
            c.drop("sid_upper_layer")
            c.error(4, 4, 40 + 8 + 32)

        refused("udp_to_end", END, p.UDP, lambda c: c.udp())
        refused("udp_to_dx4", DX4, p.UDP, lambda c: c.udp())
        refused("udp_to_dt46", DT46_RED, p.UDP, lambda c: c.udp())
        refused("tcp_to_end_x", END_X, p.TCP, lambda c: bytes(12) + c.payload)
        refused("ipv6_to_dx4", DX4, p.IPV6, lambda c: c.ip6(IN6))
        refused("ipv4_to_dx6", DX6, p.IPIP, lambda c: c.ip4(IN4))
        refused("ipv6_to_dt4", DT4_RED, p.IPV6, lambda c: c.ip6(IN6))
        refused("ipv4_to_dt6", DT6_RED, p.IPIP, lambda c: c.ip4(IN4))
        refused("ethernet_to_dt46", DT46_RED, p.ETHERNET, lambda c: c.payload)
        refused("ipv4_to_end", END, p.IPIP, lambda c: c.ip4(IN4))
        refused("ipv6_to_end_x", END_X, p.IPV6, lambda c: c.ip6(IN6))
        refused("protocol_253_to_dt4", DT4_RED, 253, lambda c: c.payload)
        refused("no_next_header_to_dt6", DT6_RED, p.NONE, lambda c: c.payload)

        c = case("pointer_behind_options")
        c.send(c.outer(DT4_RED, p.DSTOPTS, options(p.UDP) + c.udp()))
        c.drop("sid_upper_layer")
        c.error(4, 4, 48)
        c = case("quote_is_cut_at_1280_bytes")
        c.send(c.outer(DT4_RED, p.UDP, c.udp(1400)))
        c.drop("sid_upper_layer")
        c.error(4, 4, 40)


class InnerIpv4(CaseTest):
    """What calls itself an IPv4 packet inside a tunnel, and is none."""

    router = ROUTER + SIDS

    @classmethod
    def build(cls, case):
        def bad(name, reasons, make):
            for where, sid in (("dx4", DX4), ("dt4", DT4_RED), ("dt46", DT46_RED)):
                c = case(f"{where}_{name}")
                c.send(c.outer(sid, p.IPIP, make(c)))
                c.drop(*reasons)
            c = case(f"srh_{name}")
            c.send(c.outer(DT4_RED, p.ROUTING, p.path(p.IPIP, [BEFORE, DT4_RED], 0) + make(c)))
            c.drop(*reasons)

        bad("version_6", ["ip4_bad_header"], lambda c: c.ip4(IN4, version=6))
        bad("version_0", ["ip4_bad_header"], lambda c: c.ip4(IN4, version=0))
        bad("header_length_4", ["ip4_bad_header"], lambda c: c.ip4(IN4, ihl=4))
        bad("header_length_0", ["ip4_bad_header"], lambda c: c.ip4(IN4, ihl=0))
        bad("header_length_beyond_packet", ["ip4_bad_header", "ip4_truncated"],
            lambda c: p.ip4(c.src4, IN4, p.UDP, bytes(8), ihl=15))
        bad("header_length_beyond_total_length", ["ip4_bad_header"],
            lambda c: c.ip4(IN4, size=100, ihl=10, total=36))
        bad("total_length_19", ["ip4_bad_header", "ip4_truncated"],
            lambda c: c.ip4(IN4, total=19))
        bad("total_length_0", ["ip4_bad_header", "ip4_truncated"], lambda c: c.ip4(IN4, total=0))
        bad("total_length_above_what_is_there", ["ip4_truncated"],
            lambda c: c.ip4(IN4, total=len(c.ip4(IN4)) + 1))
        bad("total_length_65535", ["ip4_truncated"], lambda c: c.ip4(IN4, total=65535))
        bad("10_bytes", ["ip4_truncated"], lambda c: c.ip4(IN4)[:10])
        bad("19_bytes", ["ip4_truncated"], lambda c: c.ip4(IN4)[:19])
        bad("1_byte", ["ip4_truncated"], lambda c: c.ip4(IN4)[:1])
        bad("0_bytes", ["ip4_truncated"], lambda c: b"")
        bad("bad_checksum", ["ip4_checksum"], lambda c: c.ip4(IN4, csum=0x1234))
        bad("bad_checksum_with_options", ["ip4_checksum"],
            lambda c: c.ip4(IN4, options=b"\x01" * 8, csum=0x1234))
        bad("checksum_0", ["ip4_checksum"], lambda c: c.ip4(IN4, csum=0))


class InnerIpv6(CaseTest):
    """The same for IPv6."""

    router = ROUTER + SIDS

    @classmethod
    def build(cls, case):
        def bad(name, reasons, make):
            for where, sid in (("dx6", DX6), ("dt6", DT6_RED), ("dt46", DT46_RED)):
                c = case(f"{where}_{name}")
                c.send(c.outer(sid, p.IPV6, make(c)))
                c.drop(*reasons)

        bad("version_4", ["ip6_bad_header"], lambda c: c.ip6(IN6, version=4))
        bad("version_15", ["ip6_bad_header"], lambda c: c.ip6(IN6, version=15))
        bad("payload_length_above_what_is_there", ["ip6_truncated"],
            lambda c: p.ip6(c.in6, IN6, p.UDP, c.udp(), length=len(c.udp()) + 1))
        bad("payload_length_65535", ["ip6_truncated"],
            lambda c: p.ip6(c.in6, IN6, p.UDP, c.udp(), length=65535))
        bad("39_bytes", ["ip6_truncated"], lambda c: c.ip6(IN6)[:39])
        bad("1_byte", ["ip6_truncated"], lambda c: c.ip6(IN6)[:1])
        bad("0_bytes", ["ip6_truncated"], lambda c: b"")


class OuterHeader(CaseTest):
    """What arrives at a port and is no packet."""

    router = ROUTER + SIDS

    @classmethod
    def build(cls, case):
        def frame(c, l3, kind, reasons, port=0):
            c.send(l3, port, kind)
            c.drop(*reasons)

        c = case("ipv6_version_4")
        frame(c, c.outer(DT4_RED, p.IPIP, c.ip4(IN4), version=4), p.IP6, ["ip6_bad_header"])
        c = case("ipv6_version_0")
        frame(c, c.outer(DT4_RED, p.IPIP, c.ip4(IN4), version=0), p.IP6, ["ip6_bad_header"])
        c = case("ipv6_payload_length_beyond_frame")
        frame(c, c.outer(DT4_RED, p.IPIP, c.ip4(IN4), length=1000), p.IP6, ["ip6_truncated"])
        c = case("ipv6_one_byte_missing")
        frame(c, c.outer(DT4_RED, p.IPIP, c.ip4(IN4))[:-1], p.IP6, ["ip6_truncated"])
        for size in (0, 1, 6, 39):
            c = case(f"ipv6_of_{size}_bytes")
            frame(c, c.outer(DT4_RED, p.IPIP, c.ip4(IN4))[:size], p.IP6,
                  ["ip6_truncated"] if size else ["ip6_truncated", "ip6_bad_header"])
        c = case("ipv4_version_6")
        frame(c, c.ip4(IN4, version=6), p.IP4, ["ip4_bad_header"])
        c = case("ipv4_header_length_4")
        frame(c, c.ip4(IN4, ihl=4), p.IP4, ["ip4_bad_header"])
        c = case("ipv4_total_length_19")
        frame(c, c.ip4(IN4, total=19), p.IP4, ["ip4_bad_header", "ip4_truncated"])
        c = case("ipv4_total_length_beyond_frame")
        frame(c, c.ip4(IN4, total=1000), p.IP4, ["ip4_truncated"])
        c = case("ipv4_bad_checksum")
        frame(c, c.ip4(IN4, csum=1), p.IP4, ["ip4_checksum"])
        for size in (0, 1, 19):
            c = case(f"ipv4_of_{size}_bytes")
            frame(c, c.ip4(IN4)[:size], p.IP4,
                  ["ip4_truncated"] if size else ["ip4_truncated", "ip4_bad_header"])
        c = case("ipv6_in_an_ipv4_frame")
        frame(c, c.outer(DT4_RED, p.IPIP, c.ip4(IN4)), p.IP4, ["ip4_bad_header"])
        c = case("ipv4_in_an_ipv6_frame")
        frame(c, c.ip4(IN4, size=60), p.IP6, ["ip6_bad_header"])
        c = case("ipv6_jumbo_payload_length_0")
        # RFC 2675 is not supported: payload length 0 means an empty packet.
        c.send(c.outer(DT4_RED, p.IPIP, c.ip4(IN4), length=0))
        c.drop("ip4_truncated")


class Trim(CaseTest):
    """Bytes beyond what the IP header claims are never forwarded."""

    router = ROUTER + SIDS

    @classmethod
    def build(cls, case):
        for size in (1, 6, 46, 500):
            c = case(f"ethernet_padding_{size}_after_tunnel")
            packet = c.ip4(IN4)
            c.send(c.outer(DT4_RED, p.IPIP, packet), trailer=b"\xee" * size)
            c.out("10.0.2.2", routed(packet))
            c = case(f"ethernet_padding_{size}_after_ipv4")
            c.send(packet := c.ip4(IN4), trailer=b"\xee" * size)
            c.out("10.0.1.2", routed(packet))
            c = case(f"ethernet_padding_{size}_after_ipv6")
            c.send(packet := c.ip6(IN6), trailer=b"\xee" * size)
            c.out("2001:db8:1::2", routed(packet))
            c = case(f"bytes_{size}_after_inner_ipv4_in_outer_payload")
            packet = c.ip4(IN4)
            c.send(c.outer(DT4_RED, p.IPIP, packet + b"\xee" * size))
            c.out("10.0.2.2", routed(packet))
            c = case(f"bytes_{size}_after_inner_ipv6_in_outer_payload")
            packet = c.ip6(IN6)
            c.send(c.outer(DX6, p.IPV6, packet + b"\xee" * size))
            c.out("2001:db8:1::2", routed(packet))
        c = case("both")
        packet = c.ip4(IN4)
        c.send(c.outer(DX4, p.ROUTING, p.path(p.IPIP, [BEFORE, DX4], 0) + packet + b"\xdd" * 9),
               trailer=b"\xee" * 9)
        c.out("10.0.1.2", routed(packet))
        c = case("outer_payload_ends_inside_inner_packet")
        packet = c.ip4(IN4)
        c.send(c.outer(DX4, p.IPIP, packet, length=len(packet) - 1))
        c.drop("ip4_truncated")
        c = case("end_forwards_bytes_inside_the_payload")
        rest = c.ip4(IN4) + b"\xdd" * 9  # not its business: the packet is not opened
        c.send(c.outer(END, p.ROUTING, p.path(p.IPIP, [END, NEXT], 1) + rest))
        c.out("2001:db8:1::2", c.outer(NEXT, p.ROUTING, p.path(p.IPIP, [END, NEXT], 0) + rest,
                                       hlim=63))
        c = case("smallest_frame")
        packet = p.ip4(c.src4, IN4, 253)
        c.send(packet, trailer=bytes(46 - len(packet)))
        c.out("10.0.1.2", routed(packet))


class UnknownOptions(CaseTest):
    """RFC 8200 4.2: the two highest bits say what to do with an option nobody knows."""

    router = ROUTER + SIDS

    @classmethod
    def build(cls, case):
        for where, header in (("destination", p.DSTOPTS), ("hop_by_hop", p.HOPOPTS)):
            c = case(f"{where}_skip")
            packet = c.ip4(IN4)
            c.send(c.outer(DT4_RED, header, p.options_header(p.IPIP, b"\x3e\x02ab") + packet))
            c.out("10.0.2.2", routed(packet))
            c = case(f"{where}_discard")
            c.send(c.outer(DT4_RED, header, p.options_header(p.IPIP, b"\x7e\x02ab") + c.ip4(IN4)))
            c.drop("ip6_ext_header")
            for action in (0x80, 0xC0):
                c = case(f"{where}_discard_and_tell_{action:x}")
                c.send(c.outer(DT4_RED, header,
                               p.options_header(p.IPIP, bytes([action | 0x3E]) + b"\x02ab")
                               + c.ip4(IN4)))
                c.drop("ip6_ext_header")
                c.error(4, 2, 42)
