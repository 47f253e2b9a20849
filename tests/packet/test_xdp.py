# SPDX-License-Identifier: BSD-3-Clause
"""Packet verdicts: captures through each, in every size, on one worker and on several."""

import unittest

import packets as p
from cases import SOURCE_MAC
from harness import Router, write_pcap
from lab import DT4_RED, PORT_MAC, ROUTER, SIDS
from packets import routed
from test_endpoints import IN4

SIZES = (64, 1500, 8000)  # the largest takes four buffers of 2 KiB
MTU = "".join(f"ip link set dev {port} mtu 9000\n" for port in range(4))
LARGE = ("--max-pkt-len=9018",)
WORKERS = ("--lcores", "0@0,1@1,2@0,3@1")
VIA = {1: "02:00:00:00:01:02", 2: "02:00:00:00:02:02"}


def packet(flow, number, size=64, dst=IN4):
    """A UDP packet that fills a frame of so many bytes, and says its flow and number."""
    room = size - 14 - 28
    return p.ip4(f"11.0.{flow}.1", dst, p.UDP,
                 p.udp((b"%d %d " % (flow, number)).ljust(room, b"."), sport=1000 + flow))


def frame(inner, dst=PORT_MAC[0]):
    return p.eth(dst, SOURCE_MAC, inner)


def mixed(count=60):
    """Frames of all sizes in turn, of a few flows."""
    return [frame(packet(n % 5, n, SIZES[n % 3])) for n in range(count)]


def swapped(sent):
    return sent[6:12] + sent[:6] + sent[12:]


def forwarded(sent):
    """What routing to IN4 makes of a frame from mixed()."""
    return p.eth(VIA[1], PORT_MAC[1], routed(sent[14:]))


def flow_of(sent):
    return sent[14 + 12:14 + 16]


class Case(unittest.TestCase):
    config = ROUTER + SIDS + MTU
    lcores = ("-l", "0,1")

    def router(self, xdp, frames, config=None):
        return Router((config or self.config) + xdp, {0: frames}, args=LARGE, lcores=self.lcores)

    def run_verdict(self, xdp, frames, config=None):
        with self.router(xdp, frames, config) as router:
            router.settle()
            counted = router.ask("xdp show")[0]
            run = router.finish()
        self.counted = {word: counted[word] for word in
                        ("pass", "drop", "tx", "redirect", "redirect_cpu") if counted[word]}
        return run

    def assert_flows(self, sent, expected):
        """The same frames, those of each flow in the same order."""
        self.assertEqual(sorted(sent), sorted(expected))
        for flow in {flow_of(f) for f in expected}:
            self.assertEqual([f for f in sent if flow_of(f) == flow],
                             [f for f in expected if flow_of(f) == flow])


class OneWorker(Case):
    def test_drop(self):
        frames = mixed()
        run = self.run_verdict("xdp set dev 0 drop\n", frames)
        self.assertEqual(run.drops, {"xdp_drop": len(frames)})
        self.assertEqual(run.sent, {port: [] for port in range(4)})
        self.assertEqual(self.counted, {"drop": len(frames)})

    def test_pass(self):
        frames = mixed()
        run = self.run_verdict("xdp set dev 0 pass\n", frames)
        self.assertEqual(run.sent[1], [forwarded(f) for f in frames])
        self.assertEqual(self.counted, {"pass": len(frames)})

    def test_off(self):
        frames = mixed()
        run = self.run_verdict("xdp set dev 0 drop\nxdp off dev 0\n", frames)
        self.assertEqual(run.sent[1], [forwarded(f) for f in frames])
        self.assertEqual(self.counted, {})

    def test_tx(self):
        frames = mixed()
        run = self.run_verdict("xdp set dev 0 tx\n", frames)
        self.assertEqual(run.sent[0], [swapped(f) for f in frames])
        self.assertEqual(run.drops, {})
        self.assertEqual(self.counted, {"tx": len(frames)})

    def test_redirect(self):
        frames = mixed()
        run = self.run_verdict("xdp set dev 0 redirect dev 2\n", frames)
        self.assertEqual(run.sent[2], frames)
        self.assertEqual(run.drops, {})
        self.assertEqual(self.counted, {"redirect": len(frames)})

    def test_frames_of_any_kind(self):
        """Whatever is in them, and whoever they are for: before everything else."""
        frames = [b"\x01\x02\x03\x04\x05\x06" * 2 + b"\x12\x34" + bytes(n) for n in range(40)]
        frames.append(p.eth(p.BROADCAST, SOURCE_MAC, packet(1, 1), vlan=77))
        run = self.run_verdict("xdp set dev 0 tx\n", frames)
        self.assertEqual(run.sent[0], [swapped(f) for f in frames])
        run = self.run_verdict("xdp set dev 0 redirect dev 3\n", frames)
        self.assertEqual(run.sent[3], frames)

    def test_runts(self):
        frames = [bytes(range(n)) for n in range(1, 14)]
        for verdict in ("tx", "redirect dev 1"):
            run = self.run_verdict(f"xdp set dev 0 {verdict}\n", frames)
            self.assertEqual(run.drops, {"runt": len(frames)})

    def test_mtu(self):
        """A VLAN tag comes on top of the MTU, as in Linux."""
        config = self.config + "ip link set dev 2 mtu 1500\n"
        fits, tagged = frame(packet(1, 1, 1514)), p.eth(PORT_MAC[0], SOURCE_MAC,
                                                        packet(1, 2, 1514), vlan=9)
        frames = [fits, tagged, tagged + b"x", mixed(3)[2], fits]
        run = self.run_verdict("xdp set dev 0 redirect dev 2\n", frames, config)
        self.assertEqual(run.sent[2], [fits, tagged, fits])
        self.assertEqual(run.drops, {"mtu_exceeded": 2})

    def test_port_down(self):
        for down in ("port stop 2", "ip link set dev 2 down"):
            frames = mixed()
            run = self.run_verdict(f"xdp set dev 0 redirect dev 2\n{down}\n", frames)
            self.assertEqual(run.drops, {"port_down": len(frames)})

    def test_to_itself(self):
        """A worker that hands to itself only goes on."""
        frames = mixed()
        run = self.run_verdict("xdp set dev 0 redirect cpu 1 hash inner\n", frames)
        self.assertEqual(run.sent[1], [forwarded(f) for f in frames])
        self.assertEqual(self.counted, {"redirect_cpu": len(frames)})


class Changes(Case):
    def test_between_captures(self):
        frames = mixed(20)
        with self.router("", frames) as router:
            router.settle()
            router.tell("xdp set dev 0 tx")
            router.feed(0, frames)
            router.settle()
            self.assertEqual(router.sent()[0], [swapped(f) for f in frames])
            router.tell("xdp set dev 0 redirect dev 3")
            router.feed(0, frames)
            router.settle()
            router.tell("xdp set dev 0 drop")
            router.feed(0, frames)
            router.settle()
            router.tell("xdp off dev 0")
            router.feed(0, frames)
            router.settle()
            counted = router.ask("xdp show")[0]
            run = router.finish()
        self.assertEqual(run.sent[1], [forwarded(f) for f in frames] * 2)
        self.assertEqual(run.sent[3], frames)
        self.assertEqual(run.drops, {"xdp_drop": len(frames)})
        self.assertEqual([counted[word] for word in ("pass", "drop", "tx", "redirect")],
                         [0, 20, 20, 20])

    def test_errors(self):
        with self.router("xdp set dev 0 tx\n", []) as router:
            for line, message in (
                    ("xdp set dev 9 drop", "port '9': no such port"),
                    ("xdp set dev 0", "a verdict: pass, drop, tx, redirect or obj"),
                    ("xdp set dev 0 bounce", "'bounce' is not pass, drop, tx, redirect or obj"),
                    ("xdp set dev 0 drop now", "unexpected 'now'"),
                    ("xdp set dev 0 redirect", "dev PORT, or cpu LCORE"),
                    ("xdp set dev 0 redirect dev eth9", "port 'eth9': no such port"),
                    ("xdp set dev 0 redirect cpu", "a list of lcores"),
                    ("xdp set dev 0 redirect cpu 0", "lcore 0 has no worker: there are 1"),
                    ("xdp set dev 0 redirect cpu 1,1", "lcore 1 is named twice"),
                    ("xdp set dev 0 redirect cpu 1,x", "'x' is no lcore"),
                    ("xdp set dev 0 redirect cpu 1 hash toeplitz", "outer, inner or rr"),
                    ("xdp off dev", "a port"),
            ):
                status, out, err = router.try_ctl(line, json_wanted=False)
                self.assertEqual((status, out), (1, ""), line)
                self.assertIn(message, err, line)
                self.assertEqual(err.count("\n"), 1, line)
            self.assertEqual(router.ask("xdp show")[0]["verdict"], "tx")
            router.finish()

    def test_config(self):
        lines = ["xdp set dev 0 redirect cpu 1,3 hash inner",
                 "xdp set dev 1 redirect dev 0",
                 "xdp set dev 2 drop"]
        with Router("\n".join(lines), lcores=WORKERS) as router:
            self.assertEqual([line for line in router.ask("show config") if "xdp" in line], lines)
            self.assertEqual([entry["verdict"] for entry in router.ask("xdp show")],
                             [line.split(" ", 4)[4] for line in lines] + ["off"])
            router.finish()


class Workers(Case):
    """Three workers; port 0 has one queue, which the one on lcore 1 polls."""
    lcores = WORKERS

    def lcore_packets(self, xdp, frames):
        with self.router(xdp, frames) as router:
            router.settle()
            packets = {entry["lcore"]: entry["packets"] for entry in router.ask("show lcore")}
            router.finish()
        return packets

    def test_forwarded_by_others(self):
        frames = mixed(300)
        for where in ("2", "3", "2,3", "1,2,3"):
            run = self.run_verdict(f"xdp set dev 0 redirect cpu {where}\n", frames)
            self.assertEqual(run.drops, {})
            self.assert_flows(run.sent[1], [forwarded(f) for f in frames])
            self.assertEqual(self.counted, {"redirect_cpu": len(frames)})

    def test_round_robin(self):
        frames = mixed(300)
        run = self.run_verdict("xdp set dev 0 redirect cpu 1,2,3 hash rr\n", frames)
        self.assertEqual(sorted(run.sent[1]), sorted(forwarded(f) for f in frames))
        with self.router("xdp set dev 0 redirect cpu 2,3 hash rr\n", frames) as router:
            router.settle()
            lcores = {entry["lcore"]: entry["packets"] for entry in router.ask("show lcore")}
            router.finish()
        self.assertEqual((lcores[2], lcores[3]), (150, 150))

    def test_drops_on_the_taker(self):
        frames = [frame(packet(n, n, dst="192.0.2.1")) for n in range(100)]
        run = self.run_verdict("xdp set dev 0 redirect cpu 2,3\n", frames)
        self.assertEqual(run.drops, {"ip4_no_route": 100})
        self.assertEqual(run.ports[0]["rx_packets"], 100)

    def test_port_it_came_in_on(self):
        """Of a frame that has been through a ring (whose driver does not write it down), too."""
        frames = [frame(packet(n, n), PORT_MAC[3]) for n in range(100)]
        with Router(ROUTER + "xdp set dev 0 redirect dev 3\nxdp set dev 3 redirect cpu 1,2,3 hash rr\n",
                    {0: frames}, vdevs={3: "net_ring3"}, lcores=WORKERS) as router:
            # Routed in the VRF of port 3, whose neighbour is behind that ring again.
            router.until(lambda: router.balance()["received"] == 300, "three ways in")
            router.until(lambda: router.balance()["held"] == 0, "the last way out")
            run = router.finish(infinite=True)
        self.assertEqual(run.ports[3]["tx_packets"], 200)
        self.assertEqual(run.drops, {"other_host": 100})

    def tunnels(self, inner_of, count=200):
        """One tunnel between one pair of addresses, what is in it of many flows."""
        return [frame(p.ip6("fd00::7", DT4_RED, *inner_of(n))) for n in range(count)]

    def test_inner(self):
        plain = [packet(n % 50, n) for n in range(200)]
        srh = lambda n: (p.ROUTING, p.path(p.IPIP, [DT4_RED, DT4_RED], 0) + plain[n])
        for inner_of in (lambda n: (p.IPIP, plain[n]), srh):
            frames = self.tunnels(inner_of)
            verdict = "xdp set dev 0 redirect cpu 2,3 hash "
            self.assertEqual(sorted(self.lcore_packets(verdict + "outer\n", frames).values())[:2],
                             [0, 200])
            shares = self.lcore_packets(verdict + "inner\n", frames)
            self.assertGreater(min(shares[2], shares[3]), 50)
            run = self.run_verdict(verdict + "inner\n", frames)
            self.assert_flows(run.sent[2], [p.eth(VIA[2], PORT_MAC[2], routed(q)) for q in plain])

    def test_traced(self):
        frames = [frame(packet(1, 1)), frame(packet(2, 2, dst="192.0.2.1"))]
        with self.router("xdp set dev 0 redirect cpu 3\ntrace add 2\n", frames) as router:
            router.settle()
            first, second = [entry["steps"] for entry in router.ask("trace show")]
            router.finish()
        self.assertIn("verdict: redirect cpu", first)
        self.assertIn("handed to the worker on lcore 3", first)
        self.assertTrue(first[-1].startswith("sent on port 1"), first)
        self.assertIn("ip4_no_route", second[-1])

    def test_trace_ends(self):
        for verdict, end in (("drop", "xdp_drop"), ("tx", "sent on port 0"),
                             ("redirect dev 2", "sent on port 2")):
            with self.router(f"xdp set dev 0 {verdict}\ntrace add 2\n", mixed(2)) as router:
                router.settle()
                for entry in router.ask("trace show"):
                    self.assertIn(f"verdict: {verdict.split()[0]}", entry["steps"])
                    self.assertIn(end, entry["steps"][-1])
                router.finish()


class Endless(Case):
    """A source that never stops."""
    lcores = WORKERS

    def endless(self, xdp=""):
        frames = [frame(packet(n % 5, n)) for n in range(64)]
        source = "net_pcap0,rx_pcap=%FOLDER%/endless.pcap,infinite_rx=1"
        return Router(ROUTER + xdp, vdevs={0: source, 1: "net_null1,no-rx=1"}, lcores=WORKERS,
                      prepare=lambda space: write_pcap(space.folder / "endless.pcap", frames))

    def end(self, router):
        """Stopped, nothing is left in rings and buffers; and the account balances."""
        router.tell("stop")
        router.until(lambda: router.balance()["held"] == 0, "rings and buffers to be empty")
        return router.finish(infinite=True)

    def test_full_ring(self):
        """The taker has a CPU that the giver uses, too: it cannot keep up, and nobody waits."""
        with self.endless("xdp set dev 0 redirect cpu 3\n") as router:
            router.until(lambda: router.ask("show drops").get("redirect_full", 0) > 10000,
                         "a ring to be full")
            run = self.end(router)
        self.assertEqual(set(run.drops) - {"tx_full"}, {"redirect_full"})
        self.assertGreater(run.ports[1]["tx_packets"], 0)

    def test_changes(self):
        """Each verdict after each other one, ports stopped and started: nothing is lost."""
        lines = ["pass", "tx", "redirect dev 1", "redirect cpu 2,3", "drop",
                 "redirect cpu 1,2,3 hash inner", "redirect cpu 3,1 hash rr"]
        with self.endless() as router:
            for before in lines:
                for after in lines:
                    router.tell(f"xdp set dev 0 {before}")
                    router.tell(f"xdp set dev 0 {after}")
            for line in lines:
                router.tell(f"xdp set dev 0 {line}")
                for port in (1, 0):
                    router.tell(f"port stop {port}")
                    router.tell(f"port start {port}")
            router.tell("xdp off dev 0")
            counted = router.ask("xdp show")[0]
            run = self.end(router)
        for word in ("pass", "tx", "redirect", "redirect_cpu", "drop"):
            self.assertGreater(counted[word], 0, word)
        self.assertEqual(run.drops["xdp_drop"], counted["drop"])

    def test_ended_under_load(self):
        """SIGTERM comes at once after a burst was handed over: what is in rings is dealt with."""
        for verdict in ("redirect cpu 2,3", "redirect cpu 3 hash rr"):
            with self.endless(f"xdp set dev 0 {verdict}\n") as router:
                router.until(lambda: router.ask("xdp show")[0]["redirect_cpu"] > 10000, "packets")
                router.process.terminate()
                self.assertEqual(router.process.wait(30), 0)
                out, err = router.printed()
            self.assertNotIn("missing", out + err)
            self.assertNotIn("Sanitizer", err)
