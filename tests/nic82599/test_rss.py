# SPDX-License-Identifier: BSD-3-Clause
"""RSS and its table: flows reach the queue that an independent Toeplitz says."""

import collections
import unittest

import bench
from bench import Bench
from frames import ROUTER, forwarded, rss_queue, tunnel, udp

TWO_WORKERS = ("--lcores", "0@0,1@1,2@0")


class Rss(unittest.TestCase):
    def expected(self, router, frames):
        """Frames on each queue, by the key and table in the registers."""
        key = router.registers(0, bench.RSSRK, 10)
        reta = router.registers(0, bench.RETA, 32)
        return dict(collections.Counter(rss_queue(key, reta, frame) for frame in frames))

    def spread(self, queues, lcores=("-l", "0,1"), frames=None):
        frames = frames or [udp(flow) for flow in range(400)]
        with Bench(ROUTER, args=[f"--rxq={queues}"], lcores=lcores) as router:
            wanted = self.expected(router, frames) if queues > 1 else {0: len(frames)}
            router.arrive(0, frames)
            router.wait_sent(1, len(frames))
            self.assertEqual(router.queues(0), wanted)
            run = router.finish()
            self.assertEqual(len(run.sent[1]), len(frames))
            return wanted

    def test_one_queue(self):
        self.assertEqual(len(self.spread(1)), 1)

    def test_two_queues_two_workers(self):
        self.assertEqual(len(self.spread(2, TWO_WORKERS)), 2)

    def test_sixteen_queues_two_workers(self):
        self.assertEqual(len(self.spread(16, TWO_WORKERS)), 16)

    def test_default_is_a_queue_per_worker(self):
        with Bench(ROUTER, lcores=TWO_WORKERS) as router:
            self.assertEqual(router.ask("show port info 0")[0]["rx_queues"], 2)
            self.assertEqual(sorted(map(tuple, sum((w["queues"] for w in router.ask("show lcore")), []))),
                             [(0, 0), (0, 1), (1, 0), (1, 1)])
            router.finish()

    def test_order_within_a_flow_is_kept(self):
        frames = [udp(flow, size=18 + turn) for turn in range(50) for flow in range(8)]
        with Bench(ROUTER, args=["--rxq=2"], lcores=TWO_WORKERS) as router:
            router.arrive(0, frames)
            router.wait_sent(1, len(frames))
            sent = collections.defaultdict(list)
            for frame in router.finish().sent[1]:
                sent[frame[26:30]].append(frame)
            for flow in range(8):
                wanted = [forwarded(udp(flow, size=18 + turn)) for turn in range(50)]
                self.assertEqual(sent[wanted[0][26:30]], wanted)

    def test_tunnel_of_one_address_pair_is_one_queue(self):
        """Whatever is inside, and whatever the flow label: the NIC hashes outer addresses."""
        self.assertEqual(len(self.spread(16, TWO_WORKERS, [tunnel(flow) for flow in range(200)])), 1)

    def test_tunnels_of_many_sources_are_spread(self):
        frames = [tunnel(flow, outer=f"fd00::{flow + 1:x}") for flow in range(200)]
        self.assertEqual(len(self.spread(16, TWO_WORKERS, frames)), 16)

    def test_kept_over_stop_and_start(self):
        frames = [udp(flow) for flow in range(400)]
        with Bench(ROUTER, args=["--rxq=16"]) as router:
            def state():
                return [router.register(0, bench.MRQC), router.registers(0, bench.RSSRK, 10),
                        router.registers(0, bench.RETA, 32)]
            before, wanted = state(), self.expected(router, frames)
            for _ in range(2):
                router.tell("port stop 0")
                router.tell("port start 0")
            self.assertEqual(state(), before)
            router.arrive(0, frames)
            self.assertEqual(router.queues(0), wanted)
            router.finish()

    def test_one_tunnel_is_spread_by_what_is_inside(self):
        """What RSS leaves on one queue, and so to one worker, `redirect cpu` gives to all."""
        frames = [tunnel(flow, id=turn) for turn in range(20) for flow in range(40)]
        # A sender that leaves the flow label at zero.
        frames = [frame[:14] + b"\x60\0\0\0" + frame[18:] for frame in frames]
        for how, shared in (("outer", False), ("inner", True)):
            verdict = f"xdp set dev 0 redirect cpu 1,2 hash {how}\n"
            with Bench(ROUTER + verdict, args=["--rxq=2"], lcores=TWO_WORKERS) as router:
                router.arrive(0, frames)
                router.wait_sent(1, len(frames))
                self.assertEqual(len(router.queues(0)), 1)
                entries = router.ask("show lcore")
                sent = router.finish().sent[1]
            # Both poll a queue; only what was handed over is counted twice.
            handed = sum(entry["packets"] for entry in entries) - len(frames)
            if shared:
                self.assertTrue(len(frames) / 5 < handed < len(frames) * 4 / 5, entries)
            else:
                self.assertIn(handed, (0, len(frames)))
            flows = collections.defaultdict(list)
            for frame in sent:
                flows[frame[26:30]].append(frame[18:20])  # source, identification
            self.assertEqual(len(flows), 40)
            for numbers in flows.values():
                self.assertEqual(numbers, [turn.to_bytes(2, "big") for turn in range(20)])
