# SPDX-License-Identifier: BSD-3-Clause
"""`set account on`: the cycles of each stage, and the same packets as without."""

import unittest

import packets as p
from cases import SOURCE_MAC
from harness import Router
from lab import DT4_RED, DX4, END, PORT_MAC, ROUTER, SIDS
from test_endpoints import IN4, NEXT

STAGES = {"receive", "actions", "parse", "sid", "lookup", "rewrite", "transmit"}


def traffic():
    inner = [p.ip4(f"11.0.0.{n}", IN4, p.UDP, p.udp(b"x", 1000 + n)) for n in range(1, 60)]
    packets = []
    for n, packet in enumerate(inner):
        packets += [packet, p.ip6("fd00::1", DX4, p.IPIP, packet),
                    p.ip6("fd00::1", DT4_RED, p.IPIP, packet)]
        if n % 7 == 0:
            packets.append(p.ip6("fd00::1", END,
                                 p.ROUTING, p.path(p.UDP, [END, NEXT], 1) + p.udp(b"x")))
    return [p.eth(PORT_MAC[0], SOURCE_MAC, packet) for packet in packets]


class Account(unittest.TestCase):
    def test_off_there_is_none(self):
        with Router(ROUTER + SIDS, {0: traffic()}) as router:
            router.settle()
            self.assertNotIn("stages", router.ask("show lcore")[0])
            self.without = router.finish().sent

    def test_stages_add_up_and_packets_are_the_same(self):
        self.test_off_there_is_none()
        with Router(ROUTER + SIDS + "set account on\n", {0: traffic()}) as router:
            router.settle()
            lcore = router.ask("show lcore")[0]
            stages = lcore["stages"]
            self.assertEqual(set(stages), STAGES)
            for stage in ("receive", "parse", "sid", "lookup", "rewrite", "transmit"):
                self.assertGreater(stages[stage], 0, stage)
            # Parts of the loops that found packets: never more than those took.
            self.assertLessEqual(sum(stages.values()), lcore["cycles_per_packet"] * 1.05)
            self.assertIn("cycles per packet, stage by stage", router.tell("show lcore"))
            self.assertEqual(router.finish().sent, self.without)

    def test_switched_on_again_it_begins_anew(self):
        with Router(ROUTER + "set account on\n", {0: traffic()}) as router:
            router.settle()
            self.assertGreater(router.ask("show lcore")[0]["stages"]["receive"], 0)
            router.tell("set account off")
            self.assertNotIn("stages", router.ask("show lcore")[0])
            router.tell("set account on")
            router.until(lambda: not any(router.ask("show lcore")[0]["stages"].values()),
                         "stages to begin from zero")
            router.finish()

    def test_verdicts_and_sockets_are_actions(self):
        for config in ("xdp set dev 0 drop\n", "udp bind *:9 app sink\n"):
            frames = [p.eth(PORT_MAC[0], SOURCE_MAC, p.ip4("11.0.0.1", "10.0.0.1", p.UDP,
                                                           p.udp(b"x", 1000, 9)))] * 200
            with Router(ROUTER + config + "set account on\n", {0: frames}) as router:
                router.settle()
                stages = router.ask("show lcore")[0]["stages"]
                self.assertGreater(stages["actions"], 0)
                router.finish()


if __name__ == "__main__":
    unittest.main()
