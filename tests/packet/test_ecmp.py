# SPDX-License-Identifier: BSD-3-Clause
"""Several next hops for one route: by flow, by weight, in every VRF and after every tunnel."""

import unittest
from collections import Counter, defaultdict

import packets as p
from cases import SOURCE_MAC
from harness import Router
from lab import DT4_RED, DT6_RED, PORT_MAC, ROUTER, SIDS
from packets import routed

FLOWS = 1000


class Ecmp(unittest.TestCase):
    CONFIG = ROUTER + SIDS + """\
ip neigh add 10.0.1.11 lladdr 02:00:00:00:11:11 dev 1
ip neigh add 10.0.1.12 lladdr 02:00:00:00:11:12 dev 1
ip neigh add 10.0.1.13 lladdr 02:00:00:00:11:13 dev 1
ip neigh add 10.0.1.14 lladdr 02:00:00:00:11:14 dev 1
ip neigh add 10.0.2.11 lladdr 02:00:00:00:21:11 dev 2
ip neigh add 10.0.2.12 lladdr 02:00:00:00:21:12 dev 2
ip neigh add 2001:db8:1::11 lladdr 02:00:00:00:61:11 dev 1
ip neigh add 2001:db8:1::12 lladdr 02:00:00:00:61:12 dev 1
ip neigh add 2001:db8:2::11 lladdr 02:00:00:00:62:11 dev 2
ip neigh add 2001:db8:2::12 lladdr 02:00:00:00:62:12 dev 2
ip route add 10.81.0.0/16 nexthop via 10.0.1.11 dev 1 nexthop via 10.0.1.12 dev 1
ip route add 10.82.0.0/16 nexthop via 10.0.1.11 dev 1 weight 1 nexthop via 10.0.1.12 dev 1 weight 3
ip route add 10.83.0.0/16 nexthop via 10.0.1.11 nexthop via 10.0.1.12 nexthop via 10.0.1.13 \
nexthop via 10.0.1.14 nexthop via 10.0.0.2
ip route add 10.84.0.0/16 vrf red nexthop via 10.0.2.11 dev 2 nexthop via 10.0.2.12 dev 2 weight 2
ip -6 route add 2001:db8:81::/48 nexthop via 2001:db8:1::11 dev 1 nexthop via 2001:db8:1::12 dev 1
ip -6 route add 2001:db8:84::/48 vrf red nexthop via 2001:db8:2::11 dev 2 nexthop via \
2001:db8:2::12 dev 2
"""

    @classmethod
    def setUpClass(cls):
        cls.sent = defaultdict(list)  # group -> packets
        frames = []

        def send(group, packet, wrap=None):
            cls.sent[group].append(packet)
            frames.append(p.eth(PORT_MAC[0], SOURCE_MAC, wrap or packet))

        for n in range(FLOWS):
            host = f"{n >> 8}.{n & 255}"
            for turn in range(2):
                body = p.udp(bytes([turn]) + b"flow", 5000 + n, 53)
                send("even", p.ip4("11.1.1.1", "10.81.0.1", p.UDP, body))
                send("weights", p.ip4(f"11.2.{host}", "10.82.0.1", p.UDP, p.udp(bytes([turn]))))
                send("five", p.ip4("11.3.3.3", f"10.83.{host}", p.TCP, body))
                inner = p.ip4(f"11.4.{host}", "10.84.0.1", p.UDP, body)
                send("red", inner, p.ip6("fd00::1", DT4_RED, p.IPIP, inner))
                send("even6", p.ip6("fd01::1", "2001:db8:81::1", p.UDP, body))
                inner = p.ip6(f"fd01::{n + 1:x}", "2001:db8:84::1", p.UDP, p.udp(bytes([turn])))
                send("red6", inner, p.ip6("fd00::1", DT6_RED, p.IPV6, inner))
            # First and later fragments of one datagram have the same way: no ports.
            whole = p.ip4(f"11.6.{host}", "10.81.0.2", p.UDP, p.udp(bytes(64), 6000 + n, 99),
                          ident=n)
            for piece in p.fragments(whole, 60):
                send("fragments", piece)
        with Router(cls.CONFIG, {0: frames}) as router:
            router.settle()
            cls.run_ = router.finish()
        cls.by_packet = {}
        for port, sent in cls.run_.sent.items():
            for frame in sent:
                cls.by_packet.setdefault(frame[14:], set()).add((port, frame[:6].hex(":")))

    def hops(self, group):
        """For each flow of a group the next hops it used: packets differ in the turn only."""
        flows = defaultdict(set)
        for number, packet in enumerate(self.sent[group]):
            used = self.by_packet.get(routed(packet), set())
            self.assertEqual(len(used), 1, f"packet {number} of {group} was sent via {used}")
            flows[number // 2] |= used
        return flows

    def spread(self, group, shares):
        """Every flow stays on one next hop, and these have their shares within five sigma."""
        flows = self.hops(group)
        self.assertEqual({len(used) for used in flows.values()}, {1}, "a flow changed its way")
        count = Counter(next(iter(used))[1] for used in flows.values())
        self.assertEqual(set(count), set(shares))
        for hop, share in shares.items():
            slack = 5 * (len(flows) * share * (1 - share)) ** 0.5
            self.assertAlmostEqual(count[hop], share * len(flows), delta=slack,
                                   msg=f"{hop} in {dict(count)}")

    def test_nothing_is_dropped(self):
        self.assertEqual(self.run_.drops, {})

    def test_equal_weights_by_port(self):
        self.spread("even", {"02:00:00:00:11:11": 0.5, "02:00:00:00:11:12": 0.5})

    def test_weights_by_source(self):
        self.spread("weights", {"02:00:00:00:11:11": 0.25, "02:00:00:00:11:12": 0.75})

    def test_five_next_hops_on_two_ports_by_destination(self):
        self.spread("five", {"02:00:00:00:11:11": 0.2, "02:00:00:00:11:12": 0.2,
                             "02:00:00:00:11:13": 0.2, "02:00:00:00:11:14": 0.2,
                             "02:00:00:00:09:02": 0.2})

    def test_after_decapsulation_by_inner_flow(self):
        self.spread("red", {"02:00:00:00:21:11": 1 / 3, "02:00:00:00:21:12": 2 / 3})

    def test_ipv6_by_port(self):
        self.spread("even6", {"02:00:00:00:61:11": 0.5, "02:00:00:00:61:12": 0.5})

    def test_ipv6_after_decapsulation(self):
        self.spread("red6", {"02:00:00:00:62:11": 0.5, "02:00:00:00:62:12": 0.5})

    def test_fragments_of_a_datagram_stay_together(self):
        self.spread("fragments", {"02:00:00:00:11:11": 0.5, "02:00:00:00:11:12": 0.5})

    def test_order_within_a_flow(self):
        first = {}
        for frames in self.run_.sent.values():
            for at, frame in enumerate(frames):
                first[frame[14:]] = at
        for packets in (self.sent["even"], self.sent["five"]):
            for one, two in zip(packets[::2], packets[1::2]):
                self.assertLess(first[routed(one)], first[routed(two)])
