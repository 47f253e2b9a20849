# SPDX-License-Identifier: BSD-3-Clause
"""Cables between modelled NICs: two of one program crossed, and two programs over sockets."""

import pathlib
import tempfile
import unittest

from bench import MAC, Bench
from frames import ROUTER, udp

TWO_VRFS = """\
ip link add red type vrf table 100
ip link add blue type vrf table 200
ip link set dev 0 master red
ip link set dev 1 master blue
ip addr add 10.0.0.1/24 dev 0
ip addr add 10.0.0.2/24 dev 1
ip addr add fd00::1/64 dev 0
ip addr add fd00::2/64 dev 1
"""


class Crossed(unittest.TestCase):
    specs = ["id=10fb", "id=10f7,cross=1"]

    def test_the_router_meets_itself(self):
        """Two VRFs, a cable between them: neighbours are found and answer."""
        with Bench(TWO_VRFS, specs=self.specs) as router:
            router.link_is(1, True)
            for target in ("10.0.0.2", "fd00::2"):
                self.assertIn("3 sent, 3 answered", router.tell(f"ping {target} vrf red count 3"))
            for number in (0, 1):
                self.assertEqual(router.truth(number)["sent"], router.truth(1 - number)["received"])
            router.tell("quit")
            self.assertEqual(router.process.wait(30), 0)

    def test_a_packet_goes_round_until_its_ttl_ends(self):
        """Port 1's neighbour is port 0: what leaves there comes in here."""
        config = ROUTER + f"ip neigh replace 10.0.1.2 lladdr {MAC[0]} dev 1\n"
        with Bench(config, specs=self.specs) as router:
            router.link_is(1, True)
            router.inject(0, udp(ttl=5), count=False)
            router.until(lambda: router.ask("show drops") == {"ip4_ttl": 1}, "the TTL to end")
            self.assertEqual(router.truth(1)["sent"], 4)
            run = router.finish(infinite=True)
            self.assertEqual([frame[22] for frame in run.sent[1]], [4, 3, 2, 1])
            self.assertEqual(run.ports[0]["rx_packets"], 5)

    def test_cable_pulled(self):
        """At either end: both see it, and neither keeps what it wanted to send."""
        with Bench(TWO_VRFS, specs=self.specs) as router:
            router.link_is(1, True)
            self.assertIn("1 answered", router.tell("ping 10.0.0.2 vrf red count 1"))
            router.model(1, "link 0")
            router.link_is(1, False)
            self.assertNotIn("1 answered", router.try_ctl("ping 10.0.0.2 vrf red count 1",
                                                          json_wanted=False)[1])
            router.model(1, "link 1")
            router.link_is(1, True)
            self.assertIn("2 answered", router.tell("ping 10.0.0.2 vrf red count 2"))
            router.tell("quit")
            self.assertEqual(router.process.wait(30), 0)


class Sockets(unittest.TestCase):
    def test_two_programs(self):
        folder = tempfile.TemporaryDirectory(prefix="noref-82599-")
        self.addCleanup(folder.cleanup)
        here, there = (pathlib.Path(folder.name) / name for name in ("here", "there"))
        first = Bench("ip addr add 10.0.0.1/24 dev 0\nip addr add fd00::1/64 dev 0\n",
                      specs=[f"id=10fb,sock={here},peer={there}"])
        second = Bench("ip addr add 10.0.0.2/24 dev 0\nip addr add fd00::2/64 dev 0\n",
                       specs=[f"id=10f7,sock={there},peer={here},mac=00:1b:21:82:59:a0"])
        with first, second:
            for router in (first, second):
                router.link_is(0, True)
            for target in ("10.0.0.2", "fd00::2"):
                self.assertIn("2 sent, 2 answered", first.tell(f"ping {target} count 2"))
            self.assertIn("2 sent, 2 answered", second.tell("ping 10.0.0.1 count 2"))
            self.assertEqual(first.ask("ip neigh show")[0]["lladdr"], "00:1b:21:82:59:a0")
            for one, other in ((first, second), (second, first)):
                self.assertEqual(one.truth(0)["sent"], other.truth(0)["received"])
            for router in (first, second):
                router.finish(infinite=True)
