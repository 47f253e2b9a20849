# SPDX-License-Identifier: BSD-3-Clause
"""Start-up: both kinds of port, launch options, and the end."""

import os
import subprocess
import unittest
from unittest import mock

import bench
from bench import Bench
from frames import ROUTER, forwarded, udp


class Identity(unittest.TestCase):
    def check(self, device):
        with Bench(ROUTER, specs=[f"id={device}"] * 2) as router:
            router.link_is(0, True)
            info = router.ask("show port info 0")[0]
            self.assertEqual((info["driver"], info["speed_mbps"]), ("net_ixgbe", 10000))
            router.arrive(0, [udp()])
            router.wait_sent(1, 1)
            self.assertEqual(router.finish().sent[1], [forwarded(udp())])

    def test_10fb_sfp(self):
        self.check("10fb")

    def test_10f7_backplane(self):
        self.check("10f7")

    def test_both_in_one_program(self):
        with Bench(ROUTER, specs=["id=10fb", "id=10f7"]) as router:
            router.arrive(0, [udp()])
            router.wait_sent(1, 1)
            router.finish()


class Options:
    """What is asked for on the command line arrives in the registers; for each identity."""

    device = None

    def bench(self, config=ROUTER, nics=2, **more):
        return Bench(config, specs=[f"id={self.device}"] * nics, **more)

    def run_alone(self, *args):
        """Start, and wait for the end: (status, lines of stdout, lines of stderr but EAL's)."""
        status, out, err = bench.start_fails(args, specs=[f"id={self.device}"])
        return status, out.splitlines(), [line for line in err.splitlines()
                                          if not line.startswith("EAL:")]

    def forward(self, args, check, frames=None, **more):
        frames = frames or [udp(flow) for flow in range(100)]
        with self.bench(args=args, **more) as router:
            check(router)
            router.arrive(0, frames)
            router.wait_sent(1, len(frames))
            run = router.finish()
            self.assertEqual(sorted(run.sent[1]), sorted(map(forwarded, frames)))

    def enabled(self, router, queue):
        return sum(router.register(0, queue(number, bench.CONTROL)) & bench.ENABLE != 0
                   for number in range(32))

    def test_queues(self):
        def check(router):
            self.assertEqual(self.enabled(router, bench.rx_queue), 4)
            self.assertEqual(self.enabled(router, bench.tx_queue), 3)
            # One queue that is not emptied must not block the others.
            for number in range(4):
                self.assertTrue(router.register(0, bench.rx_queue(number, bench.SRRCTL))
                                & bench.DROP_EN)
        self.forward(["--rxq=4", "--txq=3"], check)

    def test_one_queue_holds_frames_back(self):
        def check(router):
            self.assertFalse(router.register(0, bench.rx_queue(0, bench.SRRCTL)) & bench.DROP_EN)
        self.forward(["--rxq=1"], check)

    def test_descriptors(self):
        def check(router):
            self.assertEqual(router.register(0, bench.rx_queue(0, bench.LENGTH)), 128 * 16)
            self.assertEqual(router.register(0, bench.tx_queue(0, bench.LENGTH)), 4096 * 16)
        self.forward(["--rxd=128", "--txd=4096"], check)

    def test_fewer_descriptors_than_a_burst(self):
        """What does not fit into the ring is counted, and freed once."""
        frames = [udp(flow) for flow in range(1000)]
        with self.bench(args=["--rxd=32", "--txd=64", "--burst=256"]) as router:
            router.arrive(0, frames)
            sent = router.balance()["transmitted"]
            router.wait_sent(1, sent)
            run = router.finish()
            self.assertEqual(len(run.sent[1]), sent)
            self.assertEqual(run.drops.get("tx_full", 0), len(frames) - sent)

    def test_smallest_and_largest_burst(self):
        for burst in (1, 512):
            with self.subTest(burst):
                self.forward([f"--burst={burst}"], lambda router: None)

    def test_mbuf_size(self):
        def check(router):
            self.assertEqual(router.register(0, bench.rx_queue(0, bench.SRRCTL)) & 0x1F, 4)
        self.forward(["--mbuf-size=4224"], check)

    def test_max_pkt_len(self):
        def check(router):
            self.assertEqual(router.register(0, bench.MAXFRS) >> 16, 9018)
            self.assertTrue(router.register(0, bench.HLREG0) & 4)
        self.forward(["--max-pkt-len=9018"], check, [udp(size=8972)] * 20)

    def test_more_queues_than_rss_reaches(self):
        with self.bench(args=["--rxq=20"]) as router:
            self.assertIn("RSS reaches queues 0-15 only: queues 16-19 receive nothing",
                          router.printed()[0])
            frames = [udp(flow) for flow in range(500)]
            router.arrive(0, frames)
            router.wait_sent(1, len(frames))
            self.assertEqual(set(router.queues(0)), set(range(16)))
            router.finish()

    def test_more_than_the_card_has(self):
        with self.bench("", nics=1, memory=512,
                        args=["--rxq=200", "--txq=100", "--rxd=64", "--txd=64"]) as router:
            printed = router.printed()[0]
            self.assertRegex(printed, r"200 receive queues asked, the device has 128")
            self.assertRegex(printed, r"100 transmit queues asked, there are 64")
            router.finish()

    def test_refused_in_one_line(self):
        for option in ("--rxd=100000", "--txd=100000", "--max-pkt-len=20000", "--mbuf-size=1000",
                       "--total-num-mbufs=100", "--burst=0", "--config=(0,0,9)", "--config=(9,0,1)",
                       "--cmdline-file=/nowhere"):
            with self.subTest(option):
                status, out, err = self.run_alone(option)
                self.assertIn(status, (1, 2), (out, err))
                self.assertEqual(len(err), 1, (status, out, err))

    def test_total_num_mbufs(self):
        def check(router):
            self.assertEqual([pool["size"] for pool in router.ask("show pool")], [9000])
        self.forward(["--total-num-mbufs=9000"], check)

    def test_config(self):
        """Queues where they were asked for; flows still go where the NIC puts them."""
        def check(router):
            self.assertEqual({worker["lcore"]: sorted(worker["queues"])
                              for worker in router.ask("show lcore")},
                             {1: [[0, 1], [1, 0]], 2: [[0, 0], [1, 1]]})
        self.forward(["--rxq=2", "--config=(0,0,2),(0,1,1),(1,0,1),(1,1,2)"], check,
                     lcores=("--lcores", "0@0,1@1,2@0"))

    def test_no_start(self):
        with self.bench(args=["--no-start"]) as router:
            router.play(0, [udp(flow) for flow in range(50)])
            router.until(lambda: router.played(0), "the frames to have come in")
            self.assertEqual(router.balance()["received"], 0)
            router.tell("start")
            router.wait_sent(1, 50)
            router.tell("stop")
            router.tell("start")
            router.arrive(0, [udp()])
            router.wait_sent(1, 51)
            router.finish()

    def test_exit_on_idle(self):
        with self.bench(args=["--exit-on-idle=1500"]) as router:
            router.play(0, [udp(flow) for flow in range(300)])
            self.assertEqual(router.process.wait(bench.harness.TIMEOUT), 0)
            self.assertEqual(len(router.space.sent()[1]), 300)
            self.assertRegex(router.printed()[0], r"1 +0000:82:00.1 +0 +0 +0 +0 +300 ")

    def test_stats_period(self):
        """A table a second, and the final one."""
        status, out, _ = self.run_alone("--stats-period=1", "--exit-on-idle=2500")
        self.assertEqual(status, 0)
        self.assertGreaterEqual(sum("rx-packets" in line for line in out), 3)

    def test_console(self):
        """Commands on standard input, which ends."""
        with self.bench(args=["-i"], stdin=subprocess.PIPE) as router:
            router.process.stdin.write(b"show port info 0\nshow no-such-thing\nquit\n")
            router.process.stdin.close()
            self.assertEqual(router.process.wait(bench.harness.TIMEOUT), 0)
            out, err = router.printed()
            self.assertIn("10000 Mbps", out + err)


class OptionsOnSfp(Options, unittest.TestCase):
    device = "10fb"


class OptionsOnBackplane(Options, unittest.TestCase):
    device = "10f7"


class End(unittest.TestCase):
    def test_sigterm_under_traffic(self):
        with Bench(ROUTER, specs=["id=10fb,gen=64x60", "id=10fb"]) as router:
            router.until(lambda: router.truth(1)["sent"] > 1000 or router.truth(0)["received"] > 1000,
                         "traffic")
            status, out = router.terminate()
            self.assertEqual(status, 0, out)
            self.assertNotIn("buffers missing", out)
            self.assertIn("rx-packets", out)

    def test_all_buffers_are_back_when_ports_are_stopped(self):
        frames = [udp(flow) for flow in range(900)]
        with Bench(ROUTER, args=["--rxq=2", "--txq=2"]) as router:
            router.arrive(0, frames)
            router.wait_sent(1, len(frames))
            router.tell("port stop all")
            self.assertEqual([pool["in_use"] for pool in router.ask("show pool")], [0])
            router.tell("port start all")
            router.arrive(0, frames)
            router.wait_sent(1, 2 * len(frames))
            router.finish()

    def test_idle_transmit_rings(self):
        """Full transmit rings and nobody who sends: where the driver can, buffers come back all the
        same (but for those behind the last completion it asks for, 32 at most); where it cannot,
        as in the vector path, no more than a ring is held, and shown as in use."""
        frames, receive_rings, ring = [udp(flow) for flow in range(500)], 2 * 512, 512
        for args, comes_back in (([], False), (["--max-pkt-len=9018"], True)):
            with self.subTest(args), Bench(ROUTER, args=["--rxd=512", f"--txd={ring}", *args]) as router:
                def in_use():
                    return router.ask("show pool")[0]["in_use"]

                router.arrive(0, frames)
                router.wait_sent(1, len(frames))
                self.assertIs(router.ask("show port info 1")[0]["tx_cleanup"], comes_back)
                if comes_back:
                    router.until(lambda: in_use() <= receive_rings + 32, "completions", 5)
                else:
                    self.assertLessEqual(in_use(), receive_rings + ring)
                # Whatever is held holds up nobody.
                router.arrive(0, frames)
                router.wait_sent(1, 2 * len(frames))
                self.assertLessEqual(in_use(), receive_rings + ring)
                router.check_pool(router.ask("show pool")[0])
                router.finish()

    def test_no_transmit_completion_is_lost(self):
        """A full transmit ring of packets nobody follows: closing gives them back."""
        frames = [udp(flow) for flow in range(500)]
        with Bench(ROUTER, args=["--txd=512"]) as router:
            router.arrive(0, frames)
            router.wait_sent(1, len(frames))
            status, out = router.terminate()
            self.assertEqual(status, 0)
            self.assertNotIn("buffers missing", out)

    def test_the_card_is_left_quiet(self):
        """The last reset of each port comes after everything that could start it, so that nothing
        is written to memory that is no longer ours. A trace has all accesses to registers."""
        with Bench(ROUTER, args=["--rxq=2"]) as router:
            trace = router.space.folder.with_suffix(".trace")
        self.addCleanup(trace.unlink)
        with mock.patch.dict(os.environ, {"NIC82599_TRACE": str(trace)}), \
                Bench(ROUTER, args=["--rxq=2"]) as router:
            router.arrive(0, [udp(flow) for flow in range(50)])
            router.wait_sent(1, 50)
            router.finish()
        enables = {bench.RXCTRL: 1, bench.DMATXCTL: 1}
        for queue in range(2):
            enables[bench.rx_queue(queue, bench.CONTROL)] = bench.ENABLE
            enables[bench.tx_queue(queue, bench.CONTROL)] = bench.ENABLE
        reset, started, seen = {}, {}, set()
        for number, line in enumerate(trace.read_text().splitlines()):
            nic, kind, address, value, *_ = line.split(" ")
            address, value = int(address, 16), int(value, 16)
            if kind != "W":
                continue
            if address == bench.CTRL and value & bench.CTRL_RST:
                reset[nic] = number
            if value & enables.get(address, 0):
                started[nic] = number
                seen.add((nic, address))
        self.assertEqual(len(seen), 2 * len(enables) - 2)  # both ports; one transmit queue each
        for nic in ("0", "1"):
            self.assertGreater(reset[nic], started[nic])
