# SPDX-License-Identifier: BSD-3-Clause
"""Plain routing of IPv4 and IPv6: tables, VRFs, martians, MTU, options."""

import struct

import packets as p
from cases import CaseTest, SOURCE_MAC
from lab import DT4_BLUE, DT4_RED, DT46_RED, DT6_RED, DX4, DX6, END, ROUTER, SIDS
from packets import routed
from test_endpoints import BEFORE, IN4, IN6, NEXT, options


class Forward(CaseTest):
    """Longest prefix, hop by hop, within a VRF."""

    router = ROUTER + SIDS + """\
ip route add 10.1.2.0/24 via 10.0.1.3
ip route add 10.1.2.3/32 via 10.0.1.2
ip route add 10.1.2.128/25 via 10.0.0.2
ip route add 0.0.0.0/0 via 10.0.3.2 vrf blue
ip -6 route add 2001:db8:aa:1::/64 via 2001:db8:1::3
ip -6 route add 2001:db8:aa:1::5/128 via 2001:db8:1::2
ip -6 route add ::/0 via 2001:db8:3::2 vrf blue
ip route add 198.51.100.0/24 dev 1
ip neigh add 198.51.100.7 lladdr 02:00:00:00:51:07 dev 1
ip route add 203.0.113.0/24 via 203.0.113.99 dev 1 onlink
ip neigh add 203.0.113.99 lladdr 02:00:00:00:71:99 dev 1
"""

    @classmethod
    def build(cls, case):
        def forward(name, packet_of, via, port=0, **sending):
            c = case(name)
            packet = packet_of(c)
            c.send(packet, port, **sending)
            c.out(via, routed(packet))

        for dst, via in (("10.1.0.0", "10.0.1.2"), ("10.1.2.4", "10.0.1.3"),
                         ("10.1.2.3", "10.0.1.2"), ("10.1.2.127", "10.0.1.3"),
                         ("10.1.2.128", "10.0.0.2"), ("10.1.255.255", "10.0.1.2"),
                         ("10.0.1.2", "10.0.1.2")):
            forward(f"ipv4_{dst.replace('.', '_')}", lambda c, dst=dst: c.ip4(dst), via)
        for dst, via in (("2001:db8:aa::1", "2001:db8:1::2"),
                         ("2001:db8:aa:1::1", "2001:db8:1::3"),
                         ("2001:db8:aa:1::5", "2001:db8:1::2"),
                         ("2001:db8:aa:ffff:ffff:ffff:ffff:ffff", "2001:db8:1::2"),
                         ("2001:db8:1::2", "2001:db8:1::2")):
            forward(f"ipv6_{dst.replace(':', '_')}", lambda c, dst=dst: c.ip6(dst), via)
        forward("ipv4_from_red_in_red", lambda c: c.ip4(IN4), "10.0.2.2", port=2)
        forward("ipv4_from_blue_by_default_route", lambda c: c.ip4("192.0.2.1"), "10.0.3.2", port=3)
        forward("ipv6_from_blue_by_default_route", lambda c: c.ip6("2a00::1"), "2001:db8:3::2",
                port=3)
        forward("ipv4_network_as_gateway", lambda c: c.ip4("198.51.100.7"),
                (1, "02:00:00:00:51:07"))
        forward("ipv4_onlink_gateway", lambda c: c.ip4("203.0.113.5"), (1, "02:00:00:00:71:99"))
        forward("ipv4_ttl_2", lambda c: c.ip4(IN4, ttl=2), "10.0.1.2")
        forward("ipv6_hop_limit_2", lambda c: c.ip6(IN6, hlim=2), "2001:db8:1::2")
        forward("ipv4_fragments_pass", lambda c: c.ip4(IN4, mf=True, offset=3), "10.0.1.2")
        forward("ipv4_df_1500_bytes", lambda c: c.ip4(IN4, size=1472, df=True), "10.0.1.2")
        forward("ipv6_1500_bytes", lambda c: c.ip6(IN6, size=1452), "2001:db8:1::2")
        forward("ipv6_extension_headers_are_not_looked_at",
                lambda c: p.ip6(c.in6, IN6, p.DSTOPTS, bytes([p.AH, 200]) + bytes(6) + c.payload),
                "2001:db8:1::2")
        forward("ipv6_srh_of_others_is_not_touched",
                lambda c: c.outer(NEXT, p.ROUTING, p.path(p.IPIP, [BEFORE, NEXT], 1, last=9)
                                  + c.ip4(IN4)), "2001:db8:1::2")
        forward("ipv6_unknown_next_header", lambda c: p.ip6(c.in6, IN6, 253, c.payload),
                "2001:db8:1::2")
        forward("ipv6_hop_by_hop", lambda c: p.ip6(c.in6, IN6, p.HOPOPTS, options(p.UDP)
                                                   + c.udp()), "2001:db8:1::2")

        for number, lowest in enumerate((0xFEFF, 0xFFFE, 0xFF00, 0x00FF)):
            forward(f"ipv4_checksum_{lowest:04x}", lambda c, lowest=lowest: next(
                q for q in (c.ip4(IN4, ident=n) for n in range(65536))
                if q[10:12] == struct.pack(">H", lowest)), "10.0.1.2")

        c = case("ipv4_to_a_table_the_port_is_not_in")
        c.send(c.ip4("192.0.2.1"), port=2)  # the default route is in blue
        c.drop("ip4_no_route")
        c.error(3, 0, vrf="red")
        c = case("ipv6_sid_seen_from_another_vrf")
        c.send(p.ip6(c.in6, DT4_RED, p.IPIP, c.ip4(IN4)), port=2)
        c.drop("ip6_no_route")  # SIDs are in the main table
        c.error_allowed()
        c = case("ipv4_own_address_of_another_vrf")
        c.send(p.echo4(c.src4, "10.0.2.1", c.payload))
        c.drop("ip4_no_route")
        c.error(3, 0)


class NoWay(CaseTest):
    """No route, and routes that say no (RFC 1812 5.2.7.1, RFC 4443 3.1; codes as Linux sends)."""

    router = ROUTER + SIDS + """\
ip route add blackhole 10.66.0.0/24
ip route add unreachable 10.66.1.0/24
ip route add prohibit 10.66.2.0/24
ip route add blackhole 10.66.0.0/24 vrf red
ip route add unreachable 10.66.1.0/24 vrf red
ip route add prohibit 10.66.2.0/24 vrf red
ip -6 route add blackhole 2001:db8:66::/64
ip -6 route add unreachable 2001:db8:66:1::/64
ip -6 route add prohibit 2001:db8:66:2::/64
ip -6 route add blackhole 2001:db8:66::/64 vrf red
ip -6 route add unreachable 2001:db8:66:1::/64 vrf red
ip -6 route add prohibit 2001:db8:66:2::/64 vrf red
"""

    @classmethod
    def build(cls, case):
        for where, vrf in (("main", "main"), ("tunnel", "red")):
            def send(c, packet, where=where):
                if where == "tunnel":
                    nh = p.IPIP if packet[0] >> 4 == 4 else p.IPV6
                    c.send(c.outer(DT46_RED, nh, packet))
                else:
                    c.send(packet)
                return packet

            for name, dst, reason, code in (("no_route", "192.0.2.9", "ip4_no_route", 0),
                                            ("blackhole", "10.66.0.9", "blackhole", None),
                                            ("unreachable", "10.66.1.9", "unreachable", 1),
                                            ("prohibit", "10.66.2.9", "prohibit", 13)):
                c = case(f"{where}_ipv4_{name}")
                packet = send(c, c.ip4(dst))
                c.drop(reason)
                if code is not None:
                    c.error(3, code, vrf=vrf, quote=packet)
            for name, dst, reason, code in (("no_route", "2a00::9", "ip6_no_route", 0),
                                            ("blackhole", "2001:db8:66::9", "blackhole", None),
                                            # RFC 4443: 3, address unreachable; Linux says 0.
                                            ("unreachable", "2001:db8:66:1::9", "unreachable",
                                             (0, 3)),
                                            ("prohibit", "2001:db8:66:2::9", "prohibit", 1)):
                c = case(f"{where}_ipv6_{name}")
                packet = send(c, c.ip6(dst))
                c.drop(reason)
                if code is not None:
                    c.error(1, code, vrf=vrf, quote=packet)

            for ttl in (0, 1):
                c = case(f"{where}_ipv4_ttl_{ttl}")
                packet = send(c, c.ip4(IN4, ttl=ttl))
                c.drop("ip4_ttl")
                c.error(11, 0, vrf=vrf, quote=packet)
                c = case(f"{where}_ipv6_hop_limit_{ttl}")
                packet = send(c, c.ip6(IN6, hlim=ttl))
                c.drop("ip6_hop_limit")
                c.error(3, 0, vrf=vrf, quote=packet)
        c = case("blue_ipv4_ttl_1")
        packet = c.ip4(IN4, ttl=1)
        c.send(c.outer(DT4_BLUE, p.IPIP, packet))
        c.drop("ip4_ttl")
        c.error(11, 0, vrf="blue", quote=packet)
        c = case("dx4_ttl_1")
        packet = c.ip4(IN4, ttl=1)
        c.send(c.outer(DX4, p.IPIP, packet))
        c.drop("ip4_ttl")
        c.error_allowed()
        c = case("dx6_hop_limit_1")
        packet = c.ip6(IN6, hlim=1)
        c.send(c.outer(DX6, p.IPV6, packet))
        c.drop("ip6_hop_limit")
        c.error_allowed()


class Martians(CaseTest):
    """RFC 1812 5.3.7, RFC 6890, RFC 4291: what must not be forwarded, from or to."""

    router = ROUTER + SIDS + """\
ip route add 0.0.0.0/0 via 10.0.1.2
ip route add 0.0.0.0/0 via 10.0.2.2 vrf red
ip -6 route add ::/0 via 2001:db8:1::2
ip -6 route add ::/0 via 2001:db8:2::2 vrf red
"""

    @classmethod
    def build(cls, case):
        def martian(name, packet_of, *reasons, **sending):
            c = case(name)
            c.send(packet_of(c), **sending)
            c.drop("martian", *reasons)
            c.error_allowed()

        sources = {"zero": "0.0.0.0", "zero_net": "0.1.2.3", "loopback": "127.0.0.1",
                   "loopback_net": "127.9.9.9", "multicast": "224.0.0.5",
                   "multicast_high": "239.255.255.255", "class_e": "240.0.0.1",
                   "broadcast": "255.255.255.255"}
        targets = {"all_hosts": "224.0.0.1", "ospf": "224.0.0.5", "multicast": "239.1.1.1",
                   "broadcast": "255.255.255.255", "loopback": "127.0.0.1",
                   "loopback_net": "127.200.1.1", "zero": "0.0.0.0", "zero_net": "0.0.0.1",
                   "class_e": "240.1.1.1"}
        for name, address in sources.items():
            martian(f"ipv4_from_{name}", lambda c, a=address: c.ip4(IN4, src=a))
            martian(f"dt4_from_{name}", lambda c, a=address: c.outer(
                DT4_RED, p.IPIP, c.ip4(IN4, src=a)))
            martian(f"dx4_from_{name}", lambda c, a=address: c.outer(
                DX4, p.IPIP, c.ip4(IN4, src=a)))
        for name, address in targets.items():
            martian(f"ipv4_to_{name}", lambda c, a=address: c.ip4(a))
            martian(f"dt4_to_{name}", lambda c, a=address: c.outer(DT4_RED, p.IPIP, c.ip4(a)))
            martian(f"dx4_to_{name}", lambda c, a=address: c.outer(DX4, p.IPIP, c.ip4(a)))

        sources6 = {"unspecified": "::", "loopback": "::1", "multicast": "ff02::1",
                    "multicast_global": "ff0e::1", "link_local": "fe80::99"}
        targets6 = {"unspecified": "::", "loopback": "::1", "multicast": "ff0e::1",
                    "multicast_site": "ff05::2", "link_local": "fe80::99"}
        for name, address in sources6.items():
            martian(f"ipv6_from_{name}", lambda c, a=address: c.ip6(IN6, src=a))
            martian(f"dt6_from_{name}", lambda c, a=address: c.outer(
                DT6_RED, p.IPV6, c.ip6(IN6, src=a)))
            martian(f"dx6_from_{name}", lambda c, a=address: c.outer(
                DX6, p.IPV6, c.ip6(IN6, src=a)))
            if name != "link_local":  # an on-link neighbour may be a tunnel's source
                martian(f"outer_from_{name}", lambda c, a=address: c.outer(
                    DT4_RED, p.IPIP, c.ip4(IN4), src=a))
                martian(f"end_from_{name}", lambda c, a=address: c.outer(
                    END, p.ROUTING, p.path(p.UDP, [END, NEXT], 1) + c.udp(), src=a))
        for name, address in targets6.items():
            if name == "link_local":
                continue
            martian(f"ipv6_to_{name}", lambda c, a=address: c.ip6(a))
            martian(f"dt6_to_{name}", lambda c, a=address: c.outer(DT6_RED, p.IPV6, c.ip6(a)))
            martian(f"dx6_to_{name}", lambda c, a=address: c.outer(DX6, p.IPV6, c.ip6(a)))
        martian("ipv6_to_somebodys_link_local", lambda c: c.ip6("fe80::99"), "ip6_no_route")
        martian("dt6_to_link_local", lambda c: c.outer(DT6_RED, p.IPV6, c.ip6("fe80::99")),
                "ip6_no_route")
        martian("end_from_link_local", lambda c: c.outer(
            END, p.ROUTING, p.path(p.UDP, [END, NEXT], 1) + c.udp(), src="fe80::99"))

        # MAC and IP address must be of the same kind (RFC 1122 3.3.6, RFC 1812 5.3.4).
        def frame(name, dst_mac, l3_of):
            c = case(name)
            c.send_frame(p.eth(dst_mac, SOURCE_MAC, l3_of(c)))
            c.drop("martian", "other_host")
            c.error_allowed()

        frame("broadcast_mac_unicast_ipv4", p.BROADCAST, lambda c: c.ip4(IN4))
        frame("broadcast_mac_unicast_ipv6", p.BROADCAST, lambda c: c.ip6(IN6))
        frame("multicast_mac_unicast_ipv4", "01:00:5e:01:02:03", lambda c: c.ip4(IN4))
        frame("multicast_mac_unicast_ipv6", "33:33:00:00:00:01", lambda c: c.ip6(IN6))
        frame("multicast_mac_tunnel", "33:33:00:00:00:01",
              lambda c: c.outer(DT4_RED, p.IPIP, c.ip4(IN4)))
        frame("broadcast_mac_tunnel", p.BROADCAST,
              lambda c: c.outer(DT4_RED, p.IPIP, c.ip4(IN4)))
        martian("unicast_mac_broadcast_ipv4", lambda c: c.ip4("255.255.255.255"))

        for name, dst in (("own", "10.0.0.255"), ("of_another_port", "10.0.1.255"),
                          ("network_address", "10.0.1.0")):
            c = case(f"directed_broadcast_{name}")
            c.send(c.ip4(dst))
            c.nothing()
            c.error_allowed()  # the network address is a host nobody is, to some


class Mtu(CaseTest):
    """Packets larger than the way out (RFC 791 3.2, RFC 1191 4, RFC 4443 3.2)."""

    router = ROUTER + SIDS + """\
ip link set dev 1 mtu 1280
ip link set dev 2 mtu 1300
"""

    @classmethod
    def build(cls, case):
        for size in (1281, 1282, 1400, 1500):
            c = case(f"ipv4_{size}_bytes_df")
            c.send(c.ip4(IN4, size=size - 28, df=True))
            c.drop("mtu_exceeded")
            c.error(3, 4, 1280, counted=True)
            c = case(f"ipv6_{size}_bytes")
            c.send(c.ip6(IN6, size=size - 48))
            c.drop("mtu_exceeded")
            c.error(2, 0, 1280, counted=True)
            c = case(f"ipv4_{size}_bytes_fragmented")
            packet = c.ip4(IN4, size=size - 28, ident=0x4321)
            c.send(packet)
            c.out_fragments("10.0.1.2", routed(packet), 1280)
        for size in (1279, 1280):
            c = case(f"ipv4_{size}_bytes_fit")
            packet = c.ip4(IN4, size=size - 28, df=True)
            c.send(packet)
            c.out("10.0.1.2", routed(packet))
            c = case(f"ipv6_{size}_bytes_fit")
            packet = c.ip6(IN6, size=size - 48)
            c.send(packet)
            c.out("2001:db8:1::2", routed(packet))

        c = case("red_df_in_tunnel")
        packet = c.ip4(IN4, size=1373, df=True)
        c.send(c.outer(DT4_RED, p.IPIP, packet))
        c.drop("mtu_exceeded")
        c.error(3, 4, 1300, vrf="red", quote=packet, counted=True)
        c = case("red_fragmented_after_tunnel")
        packet = c.ip4(IN4, size=1373)
        c.send(c.outer(DT4_RED, p.ROUTING, p.path(p.IPIP, [BEFORE, DT4_RED], 0) + packet))
        c.out_fragments("10.0.2.2", routed(packet), 1300)
        c = case("red_ipv6_in_tunnel")
        packet = c.ip6(IN6, size=1300)
        c.send(c.outer(DT6_RED, p.IPV6, packet))
        c.drop("mtu_exceeded")
        c.error(2, 0, 1300, vrf="red", quote=packet, counted=True)
        c = case("dx4_fragmented")
        packet = c.ip4(IN4, size=1373)
        c.send(c.outer(DX4, p.IPIP, packet))
        c.out_fragments("10.0.1.2", routed(packet), 1280)
        c = case("dx6_too_big")
        packet = c.ip6(IN6, size=1300)
        c.send(c.outer(DX6, p.IPV6, packet))
        c.drop("mtu_exceeded")
        c.error_allowed()
        c = case("end_too_big")
        hops, rest = [END, NEXT], c.udp(1300)
        c.send(c.outer(END, p.ROUTING, p.path(p.UDP, hops, 1) + rest))
        c.drop("mtu_exceeded")
        c.error(2, 0, 1280, quote=c.outer(NEXT, p.ROUTING, p.path(p.UDP, hops, 0) + rest, hlim=63))
        c = case("size_is_taken_after_padding_is_cut")
        packet = c.ip4(IN4, size=1252, df=True)
        c.send(packet, trailer=b"\xee" * 100)
        c.out("10.0.1.2", routed(packet))

        c = case("middle_fragment_again_fragmented")
        packet = c.ip4(IN4, size=1400, mf=True, offset=50, ident=77)
        packet = p.ip4_edit(packet[:-(len(packet) - 20) % 8 or None], ident=77,
                            total=20 + (len(packet) - 20) // 8 * 8)
        c.send(packet)
        c.out_fragments("10.0.1.2", routed(packet), 1280)
        c = case("last_fragment_again_fragmented")
        packet = c.ip4(IN4, size=1401, offset=50, ident=78)
        c.send(packet)
        c.out_fragments("10.0.1.2", routed(packet), 1280)
        for name, option in (("not_copied", b"\x44\x04\x05\x00"), ("copied", b"\x94\x04\0\0"),
                             ("both", b"\x94\x04\0\0\x44\x04\x05\x00")):
            c = case(f"options_{name}")
            packet = c.ip4(IN4, size=1400, options=option, ident=79)
            c.send(packet)
            c.out_fragments("10.0.1.2", routed(packet), 1280)


class TinyMtu(CaseTest):
    """Many pieces from one packet."""

    router = ROUTER + "ip link set dev 2 mtu 68\nip link set dev 3 mtu 576\n"

    @classmethod
    def build(cls, case):
        c = case("mtu_576")
        packet = c.ip4(IN4, size=1472)
        c.send(packet, port=3)
        c.out_fragments("10.0.3.2", routed(packet), 576)
        c = case("mtu_68")
        packet = c.ip4(IN4, size=700)
        c.send(packet, port=2)
        c.out_fragments("10.0.2.2", routed(packet), 68)


class Ipv4Options(CaseTest):
    """RFC 7126: options pass, source routes do not."""

    router = ROUTER + SIDS

    @classmethod
    def build(cls, case):
        for name, option in (("no_operation", b"\x01" * 4), ("end_of_list", b"\0" * 4),
                             ("security", b"\x82\x0b" + bytes(9) + b"\0"),
                             ("unknown", b"\x5e\x04\0\0"), ("forty_bytes", b"\x01" * 40)):
            c = case(f"{name}_passes")
            packet = c.ip4(IN4, options=option)
            c.send(packet)
            c.out("10.0.1.2", routed(packet))
        route = b"\x07\x04" + p.addr("10.1.9.9")
        for name, kind in (("loose", 0x83), ("strict", 0x89)):
            for where in ("plain", "tunnel"):
                c = case(f"{name}_source_route_{where}")
                packet = c.ip4(IN4, options=bytes([kind]) + route + b"\0")
                c.send(packet if where == "plain" else c.outer(DT4_RED, p.IPIP, packet))
                c.drop("ip4_options")
                c.error_allowed()
