# SPDX-License-Identifier: BSD-3-Clause
"""Neighbours that must be asked for: packets wait, then leave or are dropped and told of."""

import unittest

import packets as p
from cases import CaseTest, IcmpError, SOURCE_MAC
from harness import Router
from lab import DT4_RED, DT6_RED, PORT_MAC, ROUTER, SIDS
from packets import routed
from test_endpoints import NEXT


def request(port, own, target):
    """The ARP request the router sends."""
    mac = PORT_MAC[port]
    return p.eth(p.BROADCAST, mac, p.arp(1, mac, own, bytes(6), target), p.ARP)


def sent_request(run, port, own, target):
    wanted = request(port, own, target)
    return [f for f in run.sent[port] if f.rstrip(b"\0") == wanted.rstrip(b"\0")]


def sent_solicitations(run, port, target):
    """Neighbour solicitations for target, to its solicited-node group."""
    group = p.solicited_node(target)
    return [f for f in map(p.Frame, run.sent[port])
            if f.is_icmp(135) and f.upper[8:24] == p.addr(target) and f.ip_dst == group
            and f.dst == p.multicast_mac(group)]


class Unresolved(unittest.TestCase):
    """Nobody answers: asked three times a second apart, then dropped, and the sources told."""

    MISSING = {  # what is asked for: address -> (port, own address)
        "10.0.1.50": (1, "10.0.1.1"), "10.0.1.51": (1, "10.0.1.1"), "10.0.2.50": (2, "10.0.2.1"),
        "2001:db8:1::50": (1, None), "2001:db8:2::50": (2, None), "2001:db8:1::52": (1, None),
    }

    @classmethod
    def setUpClass(cls):
        def src4(n):
            return f"11.0.0.{n}"

        cls.packets = [  # (name, what is sent, reached about, VRF)
            ("connected", p.ip4(src4(1), "10.0.1.50", p.UDP, p.udp(b"1")), None, "main"),
            ("connected_again", p.ip4(src4(2), "10.0.1.50", p.UDP, p.udp(b"2")), None, "main"),
            ("gateway", p.ip4(src4(3), "10.77.0.1", p.UDP, p.udp(b"3")), None, "main"),
            ("connected_ipv6", p.ip6("fd01::4", "2001:db8:1::50", p.UDP, p.udp(b"4")), None,
             "main"),
        ]
        red4 = p.ip4(src4(5), "10.0.2.50", p.UDP, p.udp(b"5"))
        red6 = p.ip6("fd01::6", "2001:db8:2::50", p.UDP, p.udp(b"6"))
        cls.packets += [
            ("red", p.ip6("fd00::5", DT4_RED, p.IPIP, red4), red4, "red"),
            ("red_ipv6", p.ip6("fd00::6", DT6_RED, p.IPV6, red6), red6, "red"),
        ]
        adjacency = p.ip6("fd00::7", "fc00:0:1:ed::", p.ROUTING,
                          p.path(p.UDP, ["fc00:0:1:ed::", NEXT], 1) + p.udp(b"7"))
        cls.packets.append(("end_x", adjacency, None, None))
        config = ROUTER + SIDS + """\
ip route add 10.77.0.0/16 via 10.0.1.51
ip -6 route add fc00:0:1:ed::/128 encap seg6local action End.X nh6 2001:db8:1::52 dev 0
"""
        frames = [p.eth(PORT_MAC[0], SOURCE_MAC, packet) for _, packet, _, _ in cls.packets]
        with Router(config, {0: frames}) as router:
            router.until(router.received_all, "the capture to be read")
            cls.held = router.balance()["held"]
            router.settle()
            cls.run_ = router.finish()

    def test_packets_are_held_meanwhile(self):
        self.assertEqual(self.held, len(self.packets))

    def test_then_dropped_with_their_reason(self):
        self.assertEqual(self.run_.drops, {"neigh_unresolved": len(self.packets)})

    def test_arp_requests(self):
        for target, (port, own) in self.MISSING.items():
            if ":" in target:
                continue
            with self.subTest(target):
                self.assertEqual(len(sent_request(self.run_, port, own, target)), 3)

    def test_neighbour_solicitations(self):
        for target, (port, _) in self.MISSING.items():
            if ":" not in target:
                continue
            with self.subTest(target):
                found = sent_solicitations(self.run_, port, target)
                self.assertEqual(len(found), 3)
                for frame in found:
                    self.assertEqual(frame.l3[7], 255, "hop limit")
                    self.assertEqual(frame.src, p.mac(PORT_MAC[port]))
                    self.assertEqual(frame.upper[24:], b"\x01\x01" + p.mac(PORT_MAC[port]))
                    self.assertEqual(p.checksum(p.pseudo6(frame.ip_src, frame.ip_dst, len(
                        frame.upper), p.ICMP6) + frame.upper), 0)

    def test_sources_are_told(self):
        """RFC 1812 5.2.7.1: host unreachable; RFC 4443 3.1: address unreachable (3)."""
        for name, packet, inner, vrf in self.packets:
            if vrf is None:
                continue
            with self.subTest(name):
                quote = inner or packet
                kind, code = (3, 1) if quote[0] >> 4 == 4 else (1, 3)
                expected = IcmpError(kind, code, 0, quote, vrf, None, counted=True)
                frames = [f for f in map(p.Frame, self.run_.sent[expected.port])
                          if expected.about(f)]
                self.assertEqual(len(frames), 1, str(expected))
                problems = expected.problems(frames[0])
                self.assertEqual(problems, [])

    def test_end_x_does_not_go_another_way(self):
        """The table has a route for the next segment; the adjacency has none."""
        self.assertFalse([f for frames in self.run_.sent.values() for f in map(p.Frame, frames)
                          if f.ip_src == p.addr("fd00::7")])


class Flood(unittest.TestCase):
    """A flood towards a missing neighbour: what waits is bounded, nothing is lost track of."""

    def test_held_is_bounded(self):
        number = 3000
        frames = [p.eth(PORT_MAC[0], SOURCE_MAC, p.ip4("11.0.0.1", "10.0.1.50", p.UDP, p.udp(
            n.to_bytes(4, "big")))) for n in range(number)]
        with Router(ROUTER, {0: frames}) as router:
            router.until(router.received_all, "the capture to be read")
            held = router.balance()["held"]
            router.settle()
            run = router.finish()
        self.assertGreater(held, 0)
        self.assertLess(held, 1500)
        self.assertLessEqual(set(run.drops), {"neigh_unresolved", "control_full"})
        self.assertEqual(sum(run.drops.values()), number)

    def test_many_missing_neighbours(self):
        """A scan of a connected network must not use up buffers or push packets out of account."""
        frames = [p.eth(PORT_MAC[0], SOURCE_MAC, p.ip6(
            "fd01::1", f"2001:db8:1::{n:x}", p.UDP, p.udp(b"scan"))) for n in range(0x100, 0x1100)]
        with Router(ROUTER, {0: frames}) as router:
            router.settle()
            run = router.finish()
        self.assertLessEqual(set(run.drops), {"neigh_unresolved", "control_full"})
        # Solicitations of its own may find a ring full, too.
        lost = run.balance["originated"] - run.balance["transmitted"]
        self.assertEqual(sum(run.drops.values()), len(frames) + lost)


class Resolved(CaseTest):
    """A neighbour that makes itself known right after the packet, in the same burst even."""

    router = ROUTER + SIDS + """\
ip route add 10.78.0.0/16 via 10.0.1.55
"""
    ordered = False  # those that wait leave later

    @classmethod
    def build(cls, case):
        own6 = "2001:db8:1::1"

        def neighbour(name):
            c = case(name)
            number = len(cls.cases)
            return (c, f"02:00:00:cc:00:{number:02x}", f"10.0.1.{200 + number}",
                    f"2001:db8:1::c{number:02x}")

        def announce4(c, op, hardware, sender, target="10.0.1.1", dst=PORT_MAC[1],
                      target_mac=PORT_MAC[1]):
            c.send_frame(p.eth(dst, hardware, p.arp(op, hardware, sender, target_mac, target),
                               p.ARP), 1)

        c, hardware, address, _ = neighbour("waits_for_arp_reply")
        c.send(packet := c.ip4(address), port=1)
        announce4(c, 2, hardware, address)
        c.out((1, hardware), routed(packet))

        c, hardware, address, _ = neighbour("several_wait_in_order")
        waiting = [c.ip4(address, ident=n) for n in range(3)]
        for packet in waiting:
            c.send(packet, port=1)
        announce4(c, 2, hardware, address)
        for packet in waiting:
            c.out((1, hardware), routed(packet))

        c, hardware, _, _ = neighbour("gateway_answers")
        c.send(packet := c.ip4("10.78.0.1"), port=1)
        announce4(c, 2, hardware, "10.0.1.55")
        c.out((1, hardware), routed(packet))

        c, hardware, address, _ = neighbour("request_from_it_answers_too")  # RFC 826
        c.send(packet := c.ip4(address), port=1)
        announce4(c, 1, hardware, address, dst=p.BROADCAST, target_mac=bytes(6))
        c.out((1, hardware), routed(packet))

        c, hardware, address, _ = neighbour("known_from_its_request")
        announce4(c, 1, hardware, address, dst=p.BROADCAST, target_mac=bytes(6))
        c.send(packet := c.ip4(address), port=1)
        c.out((1, hardware), routed(packet))

        c, hardware, address, _ = neighbour("gratuitous_arp_answers")  # RFC 5227
        c.send(packet := c.ip4(address), port=1)
        announce4(c, 1, hardware, address, target=address, dst=p.BROADCAST, target_mac=bytes(6))
        c.out((1, hardware), routed(packet))

        c, hardware, address, _ = neighbour("tunnelled_packet_waits")
        packet = c.ip4("10.0.2.201")
        c.send(c.outer(DT4_RED, p.IPIP, packet), port=1)
        c.out((2, "02:00:00:00:22:01"), routed(packet))
        c.send_frame(p.eth(PORT_MAC[1], hardware, p.arp(2, hardware, "10.0.2.201", PORT_MAC[1],
                                                        "10.0.2.1"), p.ARP), 1)  # wrong port: no
        for _ in range(20):  # later than the packet, wherever the bursts of the two ports end
            c.send_frame(p.eth(p.BROADCAST, "02:00:00:00:22:01", p.arp(
                1, "02:00:00:00:22:01", "10.0.2.201", bytes(6), "10.0.2.1"), p.ARP), 2)
        c.nothing()

        def announce6(c, hardware, target, flags, dst=own6):
            mac = PORT_MAC[1] if dst == own6 else p.multicast_mac(dst)
            c.send_frame(p.eth(mac, hardware, p.neighbour_advertisement(
                target, dst, target, hardware, flags)), 1)

        c, hardware, _, address = neighbour("waits_for_advertisement")
        c.send(packet := c.ip6(address), port=1)
        announce6(c, hardware, address, 0x60)
        c.out((1, hardware), routed(packet))

        c, hardware, _, address = neighbour("unsolicited_advertisement_answers")
        c.send(packet := c.ip6(address), port=1)
        announce6(c, hardware, address, 0x20, dst="ff02::1")
        c.out((1, hardware), routed(packet))

        c, hardware, _, address = neighbour("solicitation_from_it_answers_too")
        c.send(packet := c.ip6(address), port=1)
        group = p.solicited_node(own6)
        c.send_frame(p.eth(p.multicast_mac(group), hardware, p.neighbour_solicitation(
            address, group, own6, hardware)), 1)
        c.out((1, hardware), routed(packet))

        c, hardware, _, address = neighbour("known_from_its_solicitation")
        c.send_frame(p.eth(p.multicast_mac(group), hardware, p.neighbour_solicitation(
            address, group, own6, hardware)), 1)
        c.send(packet := c.ip6(address), port=1)
        c.out((1, hardware), routed(packet))


class EndXAdjacency(unittest.TestCase):
    """End.X whose adjacency disappears: dropped and counted, never the table's idea of a way."""

    def run_with(self, change):
        sid = "fc00:0:1:ea::"
        frames = [p.eth(PORT_MAC[0], SOURCE_MAC, p.ip6(
            f"fd00::{n}", sid, p.ROUTING, p.path(p.UDP, [sid, NEXT], 1) + p.udp(b"x")))
            for n in range(1, 9)]
        config = ROUTER + SIDS + f"ip -6 route replace {NEXT}/128 via fc00:0:0:1::2\n" + change
        with Router(config, {0: frames}) as router:
            router.settle()
            run = router.finish()
        leaked = [f for frames in run.sent.values() for f in map(p.Frame, frames)
                  if f.ip_src and f.ip_src.startswith(p.addr("fd00::")[:8])]
        self.assertEqual(leaked, [])
        self.assertEqual(sum(run.drops.values()), 8)
        return run

    def test_port_down(self):
        self.run_with("ip link set dev 1 down\n")

    def test_neighbour_deleted(self):
        run = self.run_with("ip neigh del 2001:db8:1::2 dev 1\n")
        self.assertEqual(run.drops, {"neigh_unresolved": 8})

    def test_network_gone(self):
        self.run_with("ip addr del 2001:db8:1::1/64 dev 1\n")
