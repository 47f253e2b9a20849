# SPDX-License-Identifier: BSD-3-Clause
"""Large tables that change while packets flow: nothing is lost or sent the wrong way, and memory
comes back."""

import ipaddress
import pathlib
import unittest

import packets as p
from cases import SOURCE_MAC
from harness import Router, write_pcap
from lab import PORT_MAC

CONFIG = "\n".join(
    [f"ip link set dev {port} address {PORT_MAC[port]}" for port in range(3)]
    + ["""\
ip addr add 10.0.0.1/24 dev 0
ip addr add 10.0.1.1/24 dev 1
ip addr add 10.0.2.1/24 dev 2
ip addr add 2001:db8:1::1/64 dev 1
ip addr add 2001:db8:2::1/64 dev 2
ip neigh add 10.0.1.2 lladdr 02:00:00:00:01:02 dev 1
ip neigh add 10.0.2.2 lladdr 02:00:00:00:02:02 dev 2
ip neigh add 2001:db8:1::2 lladdr 02:00:00:00:01:06 dev 1
ip neigh add 2001:db8:2::2 lladdr 02:00:00:00:02:06 dev 2
"""])


def prefixes4(count):
    """/24s and, at every eighth, a /20 that covers some of them; 20.0.0.0 on, every other /24."""
    for n in range(count):
        first = (20 << 24) + (n << 9)
        yield f"{ipaddress.ip_address(first)}/24" if n % 8 else \
            f"{ipaddress.ip_address(first >> 12 << 12)}/20"


def prefixes6(count):
    for n in range(count):
        yield f"{ipaddress.ip_address((0x3fff << 112) + (n << 81))}/48"


def steady4(count):
    """/24s between those of prefixes4: what is sent there has its own way all the time."""
    return [f"{ipaddress.ip_address((20 << 24) + (n * 97 << 9) + 256)}/24" for n in range(count)]


def steady6(count):
    return [f"{ipaddress.ip_address((0x3fff << 112) + (n * 97 << 81) + (1 << 80))}/48"
            for n in range(count)]


def first_host(prefix):
    return str(ipaddress.ip_network(prefix)[1])


def frame(packet):
    return p.eth(PORT_MAC[0], SOURCE_MAC, packet)


def resident(router):
    """MiB of the program in memory."""
    text = pathlib.Path(f"/proc/{router.process.pid}/status").read_text()
    return int(next(line for line in text.splitlines()
                    if line.startswith("VmRSS")).split()[1]) / 1024


def run_lines(router, lines):
    path = router.space.folder / "lines"
    path.write_text("".join(lines))
    router.tell(f"source {path}")


class Churn(unittest.TestCase):
    def churn(self, steady, others, via, other_via, packet_to):
        """Delete and add the others, twice, while packets for the steady ones flow."""
        config = CONFIG + "".join(f"ip route add {prefix} via {via}\n" for prefix in steady)
        config += "".join(f"ip route add {prefix} via {other_via}\n" for prefix in others)
        sinks = {port: f"net_null{port},no-rx=1" for port in (1, 2)}
        router = Router(config, {}, ports=3,
                        vdevs={**sinks, 0: "net_pcap0,rx_pcap=%FOLDER%/in0.pcap,infinite_rx=1"},
                        prepare=lambda space: write_pcap(space.path_in(0), [
                            frame(packet_to(first_host(prefix))) for prefix in steady]))
        delete = [f"ip route del {prefix}\n" for prefix in others]
        add = [f"ip route add {prefix} via {other_via}\n" for prefix in others]
        with router:
            full = resident(router)
            for _ in range(2):
                run_lines(router, delete)
                empty = resident(router)
                run_lines(router, add)
            sample = others[len(others) // 2]
            self.assertIn(other_via, router.tell(f"ip route get {first_host(sample)}"))
            self.assertGreater(router.balance()["received"], 1000)
            again = resident(router)
            router.tell("stop")
            run = router.finish(infinite=True)
        self.assertEqual(run.drops, {})
        sent = {entry["port"]: entry["tx_packets"] for entry in run.ports}
        self.assertEqual(sent[2], 0, "packets went the way of other prefixes")
        self.assertEqual(sent[1], run.balance["transmitted"])
        self.assertLess(empty, full + 8, "memory grew by deleting")
        self.assertLess(again, full * 1.25 + 8, "memory is not used again")

    def test_hundred_thousand_ip4_routes(self):
        others = list(dict.fromkeys(prefixes4(100_000)))
        self.churn(steady4(512), others, "10.0.1.2", "10.0.2.2",
                   lambda dst: p.ip4("11.0.0.1", dst, p.UDP, p.udp(b"x")))

    def test_twenty_thousand_ip6_routes(self):
        self.churn(steady6(150), list(prefixes6(20_000)), "2001:db8:1::2", "2001:db8:2::2",
                   lambda dst: p.ip6("fd01::1", dst, p.UDP, p.udp(b"x")))


class Memory(unittest.TestCase):
    def test_comes_back_after_routes_go(self):
        """Many routes, flushed: their nodes go back to the system."""
        with Router(CONFIG, {}, ports=3) as router:
            before = resident(router)
            run_lines(router, dict.fromkeys(f"ip route add {prefix} via 10.0.1.2\n"
                                            for prefix in prefixes4(200_000)))
            full = resident(router)
            router.tell("ip route flush all")
            router.until(lambda: resident(router) - before < (full - before) * 0.6,
                         "memory to come back", timeout=20)
            router.finish()


if __name__ == "__main__":
    unittest.main()
