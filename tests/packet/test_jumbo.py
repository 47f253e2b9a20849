# SPDX-License-Identifier: BSD-3-Clause
"""Packets in several buffers, because they are large or because buffers are small."""

import packets as p
from cases import CaseTest
from lab import DT4_RED, DT46_RED, DT6_RED, DX4, DX6, END, END_PSP, ROUTER, SIDS
from packets import routed
from test_endpoints import BEFORE, IN4, IN6, NEXT

SIZES = (1472, 2000, 2048, 2049, 4000, 8800)


def jumbo_cases(case, sizes):
    for size in sizes:
        c = case(f"ipv4_{size}")
        c.send(packet := c.ip4(IN4, size=size))
        c.out("10.0.1.2", routed(packet))
        c = case(f"ipv6_{size}")
        c.send(packet := c.ip6(IN6, size=size))
        c.out("2001:db8:1::2", routed(packet))
        for name, sid, via in (("dx4", DX4, "10.0.1.2"), ("dt4", DT4_RED, "10.0.2.2")):
            c = case(f"{name}_{size}")
            packet = c.ip4(IN4, size=size)
            c.send(c.outer(sid, p.ROUTING, p.path(p.IPIP, [BEFORE, sid], 0) + packet))
            c.out(via, routed(packet))
        for name, sid, via in (("dx6", DX6, "2001:db8:1::2"), ("dt46", DT46_RED, "2001:db8:2::2")):
            c = case(f"{name}_{size}")
            packet = c.ip6(IN6, size=size)
            c.send(c.outer(sid, p.IPV6, packet))
            c.out(via, routed(packet))
        c = case(f"end_{size}")
        rest = c.udp(size)
        c.send(c.outer(END, p.ROUTING, p.path(p.UDP, [END, NEXT], 1) + rest))
        c.out("2001:db8:1::2", c.outer(NEXT, p.ROUTING, p.path(p.UDP, [END, NEXT], 0) + rest,
                                       hlim=63))
        c = case(f"psp_{size}")
        rest = c.udp(size)
        c.send(c.outer(END_PSP, p.ROUTING, p.path(p.UDP, [END_PSP, NEXT], 1) + rest))
        c.out("2001:db8:1::2", c.outer(NEXT, p.UDP, rest, hlim=63))
        c = case(f"padding_after_{size}")
        packet = c.ip4(IN4, size=size)
        c.send(c.outer(DX4, p.IPIP, packet + b"\xdd" * 70), trailer=b"\xee" * 700)
        c.out("10.0.1.2", routed(packet))
        c = case(f"echo_{size}")
        data = c.payload + bytes(i & 255 for i in range(size))
        c.send(p.echo4(c.src4, "10.0.0.1", data[:size]))
        c.echo_reply()
        c = case(f"echo_to_sid_{size}")
        data = c.payload + bytes(i & 255 for i in range(size))
        c.send(p.echo6(c.src6, DX4, data[:size - 40]))
        c.echo_reply()
        c = case(f"truncated_{size}")
        c.send(c.outer(DT4_RED, p.IPIP, c.ip4(IN4, size=size, total=size + 29)))
        c.drop("ip4_truncated")
        c = case(f"ttl_{size}")
        packet = c.ip4(IN4, size=size, ttl=1)
        c.send(c.outer(DT4_RED, p.IPIP, packet))
        c.drop("ip4_ttl")
        c.error(11, 0, vrf="red", quote=packet)
        c = case(f"upper_layer_{size}")
        c.send(c.outer(DT6_RED, p.UDP, c.udp(size)))
        c.drop("sid_upper_layer")
        c.error(4, 4, 40)


class Jumbo(CaseTest):
    """MTU 9000 on every port: large packets in and out, whole."""

    router = ROUTER + SIDS + "".join(f"ip link set dev {port} mtu 9000\n" for port in range(4))
    args = ("--max-pkt-len=9018",)

    @classmethod
    def build(cls, case):
        jumbo_cases(case, SIZES)


class JumboToSmaller(CaseTest):
    """From MTU 9000 to 1500: pieces, or the news that it is too big."""

    router = ROUTER + SIDS + "ip link set dev 1 mtu 1500\nip link set dev 2 mtu 1500\n"
    args = ("--max-pkt-len=9018",)

    @classmethod
    def build(cls, case):
        for size in (1473, 3000, 8900):
            c = case(f"ipv4_{size}")
            packet = c.ip4(IN4, size=size, ident=size)
            c.send(packet)
            c.out_fragments("10.0.1.2", routed(packet), 1500)
            c = case(f"dt4_{size}")
            packet = c.ip4(IN4, size=size, ident=size)
            c.send(c.outer(DT4_RED, p.IPIP, packet))
            c.out_fragments("10.0.2.2", routed(packet), 1500)
            c = case(f"df_{size}")
            c.send(c.ip4(IN4, size=size, df=True))
            c.drop("mtu_exceeded")
            c.error(3, 4, 1500, counted=True)
            c = case(f"ipv6_{size}")
            c.send(c.ip6(IN6, size=size))
            c.drop("mtu_exceeded")
            c.error(2, 0, 1500, counted=True)


def long_options(nh, size):
    """A destination options header of `size` bytes, full of options that are skipped."""
    left, body = size - 2, b""
    while left:
        piece = min(left, 257)
        piece -= left - piece == 1  # what remains must hold an option's two bytes
        body += bytes([0x1E, piece - 2]) + bytes(piece - 2)
        left -= piece
    return bytes([nh, size // 8 - 1]) + body


class SmallBuffers(CaseTest):
    """The smallest buffers there are: headers lie across their ends."""

    router = Jumbo.router
    args = ("--mbuf-size=1664", "--max-pkt-len=9018")

    @classmethod
    def build(cls, case):
        jumbo_cases(case, (1400, 1470, 1536, 4500))
        for segments in (80, 88, 89, 90, 91):
            c = case(f"srh_of_{segments}_segments")
            packet = c.ip4(IN4, size=100)
            c.send(c.outer(DT4_RED, p.ROUTING, p.path(p.IPIP, [BEFORE] * segments, 0) + packet))
            c.out("10.0.2.2", routed(packet))
            c = case(f"end_with_{segments}_segments")
            hops = [BEFORE] * (segments - 2) + [END, NEXT]
            c.send(c.outer(END, p.ROUTING, p.path(p.UDP, hops, 1) + c.udp(200)))
            c.out("2001:db8:1::2", c.outer(NEXT, p.ROUTING, p.path(p.UDP, hops, 0) + c.udp(200),
                                           hlim=63))
            c = case(f"psp_with_{segments}_segments")
            hops = [BEFORE] * (segments - 2) + [END_PSP, NEXT]
            c.send(c.outer(END_PSP, p.ROUTING, p.path(p.UDP, hops, 1) + c.udp(200)))
            c.out("2001:db8:1::2", c.outer(NEXT, p.UDP, c.udp(200), hlim=63))
        c = case("srh_larger_than_a_buffer")
        c.send(c.outer(DT4_RED, p.ROUTING, p.path(p.IPIP, [BEFORE] * 120, 0) + c.ip4(IN4)))
        c.drop("ip6_ext_header")
        for size in (1320, 1400, 1416, 1424, 1432, 1440, 1448):
            # Padding options move the inner header over the end of the first buffer.
            c = case(f"inner_header_behind_{size}_bytes")
            packet = c.ip4(IN4, size=300)
            c.send(c.outer(DT4_RED, p.DSTOPTS, long_options(p.IPIP, size) + packet))
            c.out("10.0.2.2", routed(packet))
            c = case(f"inner_ipv6_header_behind_{size}_bytes")
            packet = c.ip6(IN6, size=300)
            c.send(c.outer(DT6_RED, p.DSTOPTS, long_options(p.IPV6, size) + packet))
            c.out("2001:db8:2::2", routed(packet))
