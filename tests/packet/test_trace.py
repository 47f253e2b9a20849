# SPDX-License-Identifier: BSD-3-Clause
"""`trace show` tells a packet's way and how it ended."""

import unittest

import packets as p
from cases import SOURCE_MAC
from harness import Router
from lab import DT4_RED, END, PORT_MAC, ROUTER, SIDS
from test_endpoints import IN4, NEXT


class Trace(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        packets = [
            p.ip6("fd00::1", DT4_RED, p.IPIP, p.ip4("11.0.0.1", IN4, p.UDP, p.udp(b"1"))),
            p.ip4("11.0.0.2", "192.0.2.7", p.UDP, p.udp(b"2")),
            p.echo4("11.0.0.3", "10.0.0.1", b"3"),
            p.ip6("fd00::4", END, p.ROUTING, p.path(p.UDP, [END, NEXT], 1) + p.udp(b"4")),
            p.ip4("11.0.0.5", IN4, p.UDP, p.udp(b"5")),
        ]
        frames = [p.eth(PORT_MAC[0], SOURCE_MAC, packet) for packet in packets]
        with Router(ROUTER + SIDS + "trace add 4\n", {0: frames}) as router:
            router.settle()
            cls.text = router.tell("trace show")
            cls.document = router.ask("trace show")
            router.tell("trace clear")
            cls.cleared = router.tell("trace show")
            router.finish()

    def test_decapsulated_packet(self):
        for word in (DT4_RED, "End.DT4", IN4, "10.1.0.0/16", "02:00:00:00:02:02", "port 2"):
            self.assertIn(word, self.text)

    def test_dropped_packet(self):
        self.assertIn("ip4_no_route", self.text)

    def test_delivered_packet(self):
        self.assertRegex(self.text, "delivered|echo")

    def test_forwarded_by_end(self):
        for word in (END, NEXT, "fc00:0:2::/48", "port 1"):
            self.assertIn(word, self.text)

    def test_only_as_many_as_asked_for(self):
        self.assertEqual(len(self.document), 4)
        self.assertNotIn("11.0.0.5", self.text)

    def test_clear(self):
        self.assertNotIn("End.DT4", self.cleared)
