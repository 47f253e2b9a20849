# SPDX-License-Identifier: BSD-3-Clause
"""Ethernet: whom a frame is for, VLANs, ARP and neighbour discovery as answerer."""

import struct

import packets as p
from cases import CaseTest, SOURCE_MAC
from lab import DT4_RED, PORT_MAC, ROUTER, SIDS
from packets import routed
from test_endpoints import IN4, IN6

FOREIGN = "02:aa:bb:cc:dd:ee"


class Frames(CaseTest):
    """Frames that are too short, for others, or of a type nobody handles."""

    router = ROUTER + SIDS + "ip link set dev 1 any-mac on\nset promisc 2 on\n"

    @classmethod
    def build(cls, case):
        def frame(name, make, *reasons, port=0):
            c = case(name)
            c.send_frame(make(c), port)
            c.drop(*reasons)

        for size in (1, 6, 12, 13):
            frame(f"frame_of_{size}_bytes",
                  lambda c, size=size: p.eth(PORT_MAC[0], SOURCE_MAC, c.ip4(IN4))[:size], "runt")
        frame("foreign_mac_ipv4", lambda c: p.eth(FOREIGN, SOURCE_MAC, c.ip4(IN4)), "other_host")
        frame("foreign_mac_ipv6", lambda c: p.eth(FOREIGN, SOURCE_MAC, c.ip6(IN6)), "other_host")
        frame("foreign_mac_tunnel", lambda c: p.eth(FOREIGN, SOURCE_MAC, c.outer(
            DT4_RED, p.IPIP, c.ip4(IN4))), "other_host")
        frame("mac_of_another_port", lambda c: p.eth(PORT_MAC[1], SOURCE_MAC, c.ip4(IN4)),
              "other_host")
        frame("foreign_mac_promiscuous", lambda c: p.eth(FOREIGN, SOURCE_MAC, c.ip4(IN4)),
              "other_host", port=2)
        for kind in (0x88CC, 0x1234, 0x8847, 0x0842, 100):
            frame(f"ethertype_{kind:04x}",
                  lambda c, kind=kind: p.eth(PORT_MAC[0], SOURCE_MAC, c.payload + bytes(60), kind),
                  "ethertype")
        c = case("any_mac")
        packet = c.ip4(IN4)
        c.send_frame(p.eth(FOREIGN, SOURCE_MAC, packet), 1)
        c.out("10.0.1.2", routed(packet))
        c = case("any_mac_own_mac")
        packet = c.ip6(IN6)
        c.send_frame(p.eth(PORT_MAC[1], SOURCE_MAC, packet), 1)
        c.out("2001:db8:1::2", routed(packet))
        c = case("any_mac_tunnel")
        packet = c.ip4(IN4)
        c.send_frame(p.eth(FOREIGN, SOURCE_MAC, c.outer(DT4_RED, p.IPIP, packet)), 1)
        c.out("10.0.2.2", routed(packet))


class Vlan(CaseTest):
    """802.1Q sub-interfaces, in their own VRF or not."""

    router = ROUTER + SIDS + """\
ip link add link 1 name 1.100 type vlan id 100
ip link add link 1 name 1.4094 type vlan id 4094
ip link add link 0 name 0.7 type vlan id 7
ip link set dev 1.4094 master red
ip addr add 10.0.100.1/24 dev 1.100
ip addr add 2001:db8:100::1/64 dev 1.100
ip addr add 10.0.94.1/24 dev 1.4094
ip addr add 10.0.7.1/24 dev 0.7
ip neigh add 10.0.100.2 lladdr 02:00:00:01:00:02 dev 1.100
ip neigh add 2001:db8:100::2 lladdr 02:00:00:01:00:06 dev 1.100
ip neigh add 10.0.94.2 lladdr 02:00:00:40:94:02 dev 1.4094
ip route add 10.100.0.0/16 via 10.0.100.2
ip -6 route add 2001:db8:cc::/48 via 2001:db8:100::2
ip route add 10.94.0.0/16 via 10.0.94.2 vrf red
ip -6 route add fc00:0:1:d9::/128 encap seg6local action End.DX4 nh4 10.0.100.2 dev 0
"""

    VIA_100, VIA_100_6 = (1, "02:00:00:01:00:02"), (1, "02:00:00:01:00:06")
    VIA_4094 = (1, "02:00:00:40:94:02")

    @classmethod
    def build(cls, case):
        c = case("out_ipv4")
        c.send(packet := c.ip4("10.100.0.9"))
        c.out(cls.VIA_100, routed(packet), vlan=100)
        c = case("out_ipv6")
        c.send(packet := c.ip6("2001:db8:cc::9"))
        c.out(cls.VIA_100_6, routed(packet), vlan=100)
        c = case("out_1500_bytes")
        c.send(packet := c.ip4("10.100.0.9", size=1472, df=True))
        c.out(cls.VIA_100, routed(packet), vlan=100)
        c = case("out_after_dx4")
        packet = c.ip4(IN4)
        c.send(c.outer("fc00:0:1:d9::", p.IPIP, packet))
        c.out(cls.VIA_100, routed(packet), vlan=100)
        c = case("out_in_red_after_dt4")
        packet = c.ip4("10.94.0.9")
        c.send(c.outer(DT4_RED, p.IPIP, packet))
        c.out(cls.VIA_4094, routed(packet), vlan=4094)
        c = case("in_ipv4")
        c.send(packet := c.ip4(IN4), port=1, vlan=100)
        c.out("10.0.1.2", routed(packet))
        c = case("in_with_priority_bits")
        c.send(packet := c.ip4(IN4), port=1, vlan=0xE000 | 100)
        c.out("10.0.1.2", routed(packet))
        c = case("in_and_out")
        c.send(packet := c.ip4("10.100.0.9"), port=1, vlan=100)
        c.out(cls.VIA_100, routed(packet), vlan=100)
        c = case("in_red")
        c.send(packet := c.ip4(IN4), port=1, vlan=4094)
        c.out("10.0.2.2", routed(packet))
        c = case("in_tunnel")
        packet = c.ip4(IN4)
        c.send(c.outer(DT4_RED, p.IPIP, packet), vlan=7)
        c.out("10.0.2.2", routed(packet))
        c = case("in_padded")
        c.send(packet := p.ip4(c.src4, IN4, 253), port=1, vlan=100, trailer=b"\xee" * 22)
        c.out("10.0.1.2", routed(packet))
        c = case("priority_tag_is_untagged")  # 802.1Q: VLAN id 0
        c.send(packet := c.ip4(IN4), port=1, vlan=0xA000)
        c.out("10.0.1.2", routed(packet))
        c = case("unknown_vlan")
        c.send(c.ip4(IN4), port=1, vlan=101)
        c.drop("vlan")
        c = case("vlan_of_another_port")
        c.send(c.ip4(IN4), port=1, vlan=7)
        c.drop("vlan")
        c = case("foreign_mac")
        c.send_frame(p.eth(FOREIGN, SOURCE_MAC, c.ip4(IN4), vlan=100), 1)
        c.drop("other_host")
        c = case("unknown_ethertype")
        c.send_frame(p.eth(PORT_MAC[1], SOURCE_MAC, c.payload + bytes(50), 0x88CC, vlan=100), 1)
        c.drop("ethertype")
        c = case("tag_cut_off")
        c.send_frame(p.eth(PORT_MAC[1], SOURCE_MAC, c.ip4(IN4), vlan=100)[:17], 1)
        c.drop("runt", "vlan", "ethertype")
        c = case("double_tagged")
        inner = struct.pack(">HH", 100, p.IP4) + c.ip4(IN4)
        c.send_frame(p.eth(PORT_MAC[1], SOURCE_MAC, inner, p.VLAN, vlan=100), 1)
        c.drop("vlan", "ethertype")
        c = case("echo")
        c.send(p.echo4("10.0.100.2", "10.0.100.1", c.payload), port=1, vlan=100)
        c.echo_reply(via=cls.VIA_100, vlan=100)
        c = case("arp_request")
        asker = "02:00:00:01:00:02"
        c.send_frame(p.eth(p.BROADCAST, asker, p.arp(1, asker, "10.0.100.2", bytes(6),
                                                     "10.0.100.1"), p.ARP, vlan=100), 1)
        c.own_frame(1, p.eth(asker, PORT_MAC[1], p.arp(2, PORT_MAC[1], "10.0.100.1", asker,
                                                       "10.0.100.2"), p.ARP, vlan=100))
        c = case("ttl_exceeded_goes_back_by_route")
        c.send(c.ip4(IN4, ttl=1), port=1, vlan=100)
        c.drop("ip4_ttl")
        c.error(11, 0)


class Arp(CaseTest):
    """RFC 826 as answerer. Answers are compared byte for byte."""

    router = ROUTER

    @classmethod
    def build(cls, case):
        asker, address = "02:00:00:00:aa:01", "10.0.1.2"

        def ask(name, answered, port=1, dst=p.BROADCAST, sender=None, target="10.0.1.1", **fields):
            c = case(name)
            hardware = f"02:00:00:aa:00:{len(cls.cases):02x}"
            sender = f"10.0.1.{100 + len(cls.cases)}" if sender is None else sender
            c.send_frame(p.eth(dst, hardware, p.arp(1, hardware, sender, bytes(6), target,
                                                    **fields), p.ARP), port)
            if answered:
                own = PORT_MAC[port]
                c.own_frame(port, p.eth(hardware, own, p.arp(2, own, target, hardware, sender),
                                        p.ARP))
            else:
                c.nothing()
            return c

        ask("request", True)
        ask("request_unicast", True, dst=PORT_MAC[1])
        ask("request_in_red", True, port=2, sender="10.0.2.50", target="10.0.2.1")
        ask("probe", True, sender="0.0.0.0")  # RFC 5227 2.1.1
        ask("request_for_someone_else", False, target="10.0.1.77")
        ask("request_for_address_of_another_vrf", False, target="10.0.2.1")
        ask("request_for_routed_address", False, target="10.1.0.1")
        ask("request_to_foreign_mac", False, dst=FOREIGN)
        ask("wrong_hardware_type", False, hardware=6)
        ask("wrong_protocol", False, protocol=0x86DD)
        ask("wrong_sizes", False, sizes=(8, 4))

        c = case("request_padded")
        frame = p.eth(p.BROADCAST, asker, p.arp(1, asker, "10.0.1.60", bytes(6), "10.0.1.1"), p.ARP)
        c.send_frame(frame + bytes(18), 1)
        c.own_frame(1, p.eth(asker, PORT_MAC[1], p.arp(2, PORT_MAC[1], "10.0.1.1", asker,
                                                       "10.0.1.60"), p.ARP))
        for size in (0, 1, 8, 27):
            c = case(f"request_of_{size}_bytes")
            c.send_frame(frame[:14 + size], 1)
            c.nothing()
        c = case("reply_nobody_asked_for")
        c.send_frame(p.eth(PORT_MAC[1], asker, p.arp(2, asker, "10.0.1.61", PORT_MAC[1],
                                                     "10.0.1.1"), p.ARP), 1)
        c.nothing()
        c = case("static_entry_is_not_changed")
        c.send_frame(p.eth(PORT_MAC[1], asker, p.arp(2, asker, address, PORT_MAC[1],
                                                     "10.0.1.1"), p.ARP), 1)
        c.send(packet := c.ip4(address), port=1)
        c.out(address, routed(packet))
        c = case("static_entry_is_not_changed_by_gratuitous_request")
        c.send_frame(p.eth(p.BROADCAST, asker, p.arp(1, asker, address, bytes(6), address),
                           p.ARP), 1)
        c.send(packet := c.ip4(address), port=1)
        c.out(address, routed(packet))


class NeighbourDiscovery(CaseTest):
    """RFC 4861 7.2.4 as answerer."""

    router = ROUTER

    @classmethod
    def build(cls, case):
        own = "2001:db8:1::1"
        group = p.solicited_node(own)

        def asking(name):
            c = case(name)
            number = len(cls.cases)
            return c, f"02:00:00:bb:00:{number:02x}", f"2001:db8:1::b{number:02x}"

        def answer(c, port, hardware, dst, target, flags=0xE0):
            mac = PORT_MAC[port]
            c.own_frame(port, p.eth(hardware, mac, p.neighbour_advertisement(
                target, dst, target, mac, flags)))

        c, hardware, asker = asking("solicitation")
        c.send_frame(p.eth(p.multicast_mac(group), hardware, p.neighbour_solicitation(
            asker, group, own, hardware)), 1)
        answer(c, 1, hardware, asker, own)
        c, hardware, asker = asking("solicitation_unicast")
        c.send_frame(p.eth(PORT_MAC[1], hardware, p.neighbour_solicitation(
            asker, own, own, hardware)), 1)
        answer(c, 1, hardware, asker, own)
        c, hardware, asker = asking("solicitation_from_link_local")
        c.send_frame(p.eth(p.multicast_mac(group), hardware, p.neighbour_solicitation(
            p.link_local(hardware), group, own, hardware)), 1)
        answer(c, 1, hardware, p.link_local(hardware), own)
        c, hardware, asker = asking("solicitation_for_link_local")
        target = p.link_local(PORT_MAC[1])
        to = p.solicited_node(target)
        c.send_frame(p.eth(p.multicast_mac(to), hardware, p.neighbour_solicitation(
            p.link_local(hardware), to, target, hardware)), 1)
        answer(c, 1, hardware, p.link_local(hardware), target)
        c, hardware, asker = asking("solicitation_in_red")
        asker, target = "2001:db8:2::77", "2001:db8:2::1"
        to = p.solicited_node(target)
        c.send_frame(p.eth(p.multicast_mac(to), hardware, p.neighbour_solicitation(
            asker, to, target, hardware)), 2)
        answer(c, 2, hardware, asker, target)
        c, hardware, asker = asking("duplicate_address_detection")
        c.send_frame(p.eth(p.multicast_mac(group), hardware, p.neighbour_solicitation(
            "::", group, own)), 1)
        answer(c, 1, p.multicast_mac("ff02::1"), "ff02::1", own, flags=0xA0)

        def silent(name, make, port=1):
            c, hardware, asker = asking(name)
            c.send_frame(make(hardware, asker), port)
            c.nothing()

        def solicit(hardware, *args, **fields):
            return p.eth(p.multicast_mac(group), hardware,
                         p.neighbour_solicitation(*args, **fields))

        silent("solicitation_for_someone_else",
               lambda hw, a: solicit(hw, a, group, "2001:db8:1:ffff::ff00:1", hw))
        silent("hop_limit_254", lambda hw, a: solicit(hw, a, group, own, hw, hlim=254))
        silent("multicast_target", lambda hw, a: solicit(hw, a, group, "ff02::1", hw))
        silent("unspecified_source_with_link_layer_option",
               lambda hw, a: solicit(hw, "::", group, own, hw))

        def broken(hw, a, change):
            packet = p.neighbour_solicitation(a, group, own, hw)
            body = bytearray(packet[40:])
            change(body)
            body[2:4] = b"\0\0"
            body[2:4] = struct.pack(">H", p.checksum(
                p.pseudo6(a, group, len(body), p.ICMP6) + bytes(body)))
            return p.eth(p.multicast_mac(group), hw, p.ip6(a, group, p.ICMP6, bytes(body),
                                                           hlim=255))

        silent("code_1", lambda hw, a: broken(hw, a, lambda b: b.__setitem__(1, 1)))
        silent("option_of_length_0", lambda hw, a: broken(hw, a, lambda b: b.__setitem__(25, 0)))
        silent("option_beyond_packet", lambda hw, a: broken(hw, a, lambda b: b.__setitem__(25, 9)))
        silent("cut_short", lambda hw, a: broken(hw, a, lambda b: b.__delitem__(slice(20, None))))

        def bad_checksum(hw, a):
            packet = bytearray(p.neighbour_solicitation(a, group, own, hw))
            packet[42] ^= 0x5A
            return p.eth(p.multicast_mac(group), hw, bytes(packet))

        silent("bad_checksum", bad_checksum)
        c = case("static_entry_is_not_changed")
        evil = "02:00:00:66:66:66"
        c.send_frame(p.eth(PORT_MAC[1], evil, p.neighbour_advertisement(
            "2001:db8:1::2", own, "2001:db8:1::2", evil, 0x60)), 1)
        c.send(packet := c.ip6("2001:db8:1::2"), port=1)
        c.out("2001:db8:1::2", routed(packet))
