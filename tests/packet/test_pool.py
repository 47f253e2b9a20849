# SPDX-License-Identifier: BSD-3-Clause
"""The page pool as users meet it: its account, a pool that is too small, ports that stop and start
under load, and what DPDK's own tools see of it."""

import json
import os
import socket
import unittest

import packets as p
from cases import SOURCE_MAC
from harness import Router, Workspace, launch
from lab import PORT_MAC, ROUTER, SIDS
from test_endpoints import IN4


def frame(packet):
    return p.eth(PORT_MAC[0], SOURCE_MAC, packet)


def small(count, first=0):
    return [frame(p.ip4(f"11.0.{n >> 8 & 255}.{n & 255}", IN4, p.UDP, p.udp(b"x" * 18)))
            for n in range(first, first + count)]


def large(count, size=8000):
    """To be cut up: longer than the MTU of the port out."""
    return [frame(p.ip4(f"11.0.0.{n % 250}", IN4, p.UDP, p.udp(bytes(size)), ident=n))
            for n in range(count)]


class Account(unittest.TestCase):
    def pools(self, frames, **options):
        with Router(ROUTER + SIDS, {0: frames}, **options) as router:
            router.settle()
            return router.finish().pool

    def test_every_packet_is_one_allocation(self):
        pool, = self.pools(small(3000))
        self.assertEqual(pool["alloc_cached"] + pool["alloc_slow"], 3000)
        self.assertEqual(pool["recycled_cached"] + pool["recycled_slow"], 3000)
        # One core, one cache: filled once, and then its buffers go round.
        self.assertLessEqual(pool["alloc_slow"], pool["cache"] + 64)
        self.assertEqual((pool["alloc_failed"], pool["recycled_slow"], pool["copied"]), (0, 0, 0))

    def test_every_segment_and_fragment_counts(self):
        """8028 bytes are four buffers, and leave as six fragments of one each."""
        pool, = self.pools(large(50), args=["--max-pkt-len=9018"],
                           prepare=lambda space: self.cut_out(space))
        self.assertEqual(pool["alloc_cached"] + pool["alloc_slow"], 50 * (4 + 6))

    def test_answers_count(self):
        """Echo replies use the request's buffer, errors one of their own."""
        expired = [frame(p.ip4("11.0.0.1", IN4, p.UDP, p.udp(b"x"), ttl=1)) for _ in range(10)]
        echo = [frame(p.echo4("11.0.0.1", "10.0.0.1", b"x" * 56)) for _ in range(20)]
        pool, = self.pools(expired + echo)
        self.assertEqual(pool["alloc_cached"] + pool["alloc_slow"], 10 + 20 + 10)

    @staticmethod
    def cut_out(space):
        """Port 1 is left with the usual MTU."""
        path = space.folder / "router.conf"
        path.write_text(path.read_text() + "\nip link set dev 1 mtu 1500\n")

    def test_a_pool_for_each_port(self):
        pools = self.pools(small(500), args=["--per-port-pool"])
        self.assertEqual([pool["name"] for pool in pools],
                         [f"pool_port{port}" for port in range(4)])
        self.assertEqual([pool["alloc_cached"] + pool["alloc_slow"] for pool in pools],
                         [500, 0, 0, 0])

    def test_two_workers(self):
        """What is received on one core and freed on another goes by way of the ring."""
        pool, = self.pools(small(3000), lcores=("--lcores", "0@0,1@0,2@0"),
                           args=["--config=(0,0,2)"])
        self.assertEqual(pool["alloc_cached"] + pool["alloc_slow"], 3000)


class TooSmall(unittest.TestCase):
    """A pool that only just fills the receive queues: drops are counted, what follows
    passes, nothing is lost."""

    ARGS = ["--max-pkt-len=9018", "--rxd=32", "--txd=32", "--burst=32", "--total-num-mbufs=192"]

    def test_shortage_and_recovery(self):
        with Router(ROUTER + SIDS, {0: large(400)}, args=self.ARGS,
                    prepare=Account.cut_out) as router:
            router.settle()
            drops = router.ask("show drops")
            self.assertGreater(drops.get("pool_empty", 0), 0, drops)
            self.assertGreater(router.ask("show pool")[0]["alloc_failed"], 0)
            whole = 400 - drops["pool_empty"]
            router.feed(0, small(300))
            router.settle()
            # Nobody is short of buffers any more.
            self.assertEqual(router.ask("show drops")["pool_empty"], drops["pool_empty"])
            run = router.finish()
        self.assertEqual(run.balance["transmitted"], 6 * whole + 300)

    def test_too_small_to_start(self):
        space = Workspace("", args=["--ctl=none", "--exit-on-idle=100", "--total-num-mbufs=64"])
        try:
            status, _, err = launch(space.command)
        finally:
            space.remove()
        self.assertEqual(status, 1)
        self.assertRegex(err, r"buffer pool pool0: 64 buffers do not fill the receive queues, which "
                              r"take \d+; \d+ are never short \(--total-num-mbufs")


class UnderLoad(unittest.TestCase):
    def test_ports_stop_and_start(self):
        """Frames keep coming, in and out ports come and go: what is in use when all is quiet
        is what the driver keeps ready, before and after."""
        devices = {0: "net_pcap0,rx_pcap=%FOLDER%/in0.pcap,infinite_rx=1",
                   1: "net_null1,no-rx=1"}
        with Router(ROUTER + SIDS, {0: small(64)}, vdevs=devices, args=["--no-start"],
                    prepare=lambda space: space.capture_vdev(0)) as router:
            def in_use():
                router.tell("stop")
                router.until(lambda: router.balance()["held"] == 0, "nothing to be held")
                return router.ask("show pool")[0]["in_use"]

            router.tell("start")
            before = in_use()
            router.tell("start")
            for port in (0, 1, 0, 1, 1, 0):
                received = router.balance()["received"]
                router.until(lambda: router.balance()["received"] > received + 1000, "traffic")
                router.tell(f"port stop {port}")
                router.tell(f"port start {port}")
            received = router.balance()["received"]
            router.until(lambda: router.balance()["received"] > received + 1000, "traffic again")
            self.assertEqual(in_use(), before)
            run = router.finish(infinite=True)
            router.check_pool(run.pool[0])
            self.assertGreater(run.pool[0]["alloc_cached"], run.pool[0]["alloc_slow"])


class Telemetry(unittest.TestCase):
    def test_pool(self):
        with Router(ROUTER + SIDS, {0: small(200)},
                    prepare=lambda space: space.command.remove("--no-telemetry")) as router:
            router.settle()
            client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            client.settimeout(5)
            client.connect(self.path(router.space.prefix))
            json.loads(client.recv(4096))
            names = self.answer(client, "/noref/pool")
            self.assertEqual(names, ["pool0"])
            told, shown = self.answer(client, "/noref/pool,pool0"), router.ask("show pool")[0]
            self.assertEqual(told, shown)
            self.assertEqual(told["alloc_cached"] + told["alloc_slow"], 200)
            self.assertIsNone(self.answer(client, "/noref/pool,nosuch"))
            client.close()
            router.finish()

    @staticmethod
    def answer(client, command):
        client.send(command.encode())
        return json.loads(client.recv(16384))[command.split(",")[0]]

    @staticmethod
    def path(prefix):
        runtime = os.environ.get("XDG_RUNTIME_DIR", "/tmp")
        for base in ("/var/run/dpdk", f"{runtime}/dpdk", "/tmp/dpdk"):
            path = f"{base}/{prefix}/dpdk_telemetry.v2"
            if os.path.exists(path):
                return path
        raise AssertionError("no telemetry socket")


if __name__ == "__main__":
    unittest.main()
