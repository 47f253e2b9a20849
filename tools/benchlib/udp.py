# SPDX-License-Identifier: BSD-3-Clause
"""`tools/bench udp`: datagrams to sockets of the router, beside testpmd and this kernel."""

import argparse
import os
import random
import statistics
import struct
import subprocess
import tempfile

import machine
import programs
import traffic
from traffic import ip4, ip6

BASE = """
ip link set dev 0 address 02:00:00:00:00:01
ip addr add 10.0.0.1/24 dev 0
ip addr add 2001:db8::1/64 dev 0
"""
FLOWS, MANY, ADDRESSES = 4096, 100_000, 10
PORTS = MANY // ADDRESSES
# kpps with 1 and 2 receive queues, before and after the series that looks sockets up early.
KERNEL_SERIES = {4: {1: (2177, 2414), 2: (2527, 2892)}, 6: {1: (2002, 2821), 2: (2087, 3148)}}


class Receivers(programs.Ports):
    """One port with as many receive queues as there are captures, each the source of endless copies."""

    direction, counter = "RX", "rx_packets"

    def __init__(self, captures):
        super().__init__(captures)
        self.testpmd_options = [f"--rxq={len(captures)}", f"--txq={len(captures)}"]

    def arguments(self):
        queues = ",".join(f"rx_pcap={capture}" for capture in self.captures)
        return ["--vdev", f"net_pcap0,{queues},infinite_rx=1"]

    def counted(self):
        return [0]

    def queues(self):
        return [[(0, queue)] for queue in range(len(self.captures))]


def udp(pseudo, sport, dport, payload):
    length = 8 + len(payload)
    header = struct.pack(">HHHH", sport, dport, length, 0)
    data = pseudo + struct.pack(">HH", 17, length) + header + payload
    value = traffic.checksum(data + b"\0" * (len(data) % 2)) or 0xffff
    return header[:6] + struct.pack(">H", value) + payload


def datagram(family, src, dst, sport, dport):
    """The smallest frame over IPv4; over IPv6 with the same payload."""
    payload = udp(src + dst, sport, dport, b"\0" * 18)
    if family == 6:
        return traffic.ethernet(0x86dd) + traffic.ipv6(src, dst, 17, payload)
    header = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), 0, 0, 64, 17, 0, src, dst)
    header = header[:10] + struct.pack(">H", traffic.checksum(header)) + header[12:]
    return traffic.ethernet(0x0800) + header + payload


def source(family, i):
    return ip4(f"10.0.0.{100 + i % 100}") if family == 4 else ip6(f"2001:db8::{0x100 + i % 100:x}")


def local(family, n):
    """Addresses to which sockets are bound, as text."""
    return f"10.0.0.{1 + n}" if family == 4 else f"2001:db8::{1 + n:x}"


def packed(family, text):
    return ip4(text) if family == 4 else ip6(text)


def one_socket(family, queues):
    wildcard = "*" if family == 4 else "[::]"
    config = BASE
    for lcore in range(1, queues + 1):
        words = f"reuseport lcore {lcore}" if queues > 1 else ""
        config += f"udp bind {wildcard}:9 {words} app sink\n"
    to = packed(family, local(family, 0))
    frames = [datagram(family, source(family, i), to, 1024 + i, 9) for i in range(FLOWS)]
    return config, [frames] * queues


def many_sockets(family, queues):
    chance = random.Random(family)
    texts = [local(family, n) for n in range(ADDRESSES)]
    config = BASE + "".join(f"ip addr add {a}/{24 if family == 4 else 64} dev 0\n"
                            for a in texts[1:])
    bracket = "{}" if family == 4 else "[{}]"
    config += "".join(f"udp bind {bracket.format(a)}:{port} app sink\n"
                      for a in texts for port in range(1, PORTS + 1))
    addresses = [packed(family, a) for a in texts]
    frames = [datagram(family, source(family, i), chance.choice(addresses), 1024 + i % 60000,
                       chance.randrange(1, PORTS + 1)) for i in range(65536)]
    return config, [frames] * queues


class Row:
    def __init__(self, name, title, family, queues, bar, make):
        self.name, self.title, self.family, self.queues = name, title, family, queues
        self.bar, self.make = bar, make


ROWS = [Row(f"{name}{family}x{queues}", f"IPv{family}, {queues} queue{'s' * (queues > 1)}, {what}",
            family, queues, bar if queues == 1 else None, make)
        for name, what, bar, make in [("one", "one receiver a queue", 0.6, one_socket),
                                      ("many", "100,000 sockets at random", 0.3, many_sockets)]
        for queues in (1, 2) for family in (4, 6) if (name, queues) != ("many", 2)]


def recvmmsg(family, seconds):
    """This kernel's packets per second, with one sender and one receiver."""
    program = os.path.join(programs.build_dir(), "tests", "bench_udp_kernel")
    done = subprocess.run([program, str(family), str(seconds)], capture_output=True, text=True,
                          check=True, timeout=60)
    return float(done.stdout)


def measure(row, arguments, folder):
    config, queues = row.make(row.family, row.queues)
    captures = []
    for i, frames in enumerate(queues):
        captures.append(os.path.join(folder, f"{row.name}.{i}.pcap"))
        traffic.write_pcap(captures[-1], frames)
    ports = Receivers(captures)
    rates = {"rxonly": [], "noref": [], "kernel": []}
    for _ in range(arguments.runs):
        rates["rxonly"].append(programs.testpmd("rxonly", ports, arguments.seconds,
                                                arguments.burst, row.queues))
        rates["noref"].append(programs.noref(config, ports, arguments.seconds, arguments.burst,
                                             row.queues)[0])
        if row.queues == 1 and row.name.startswith("one"):
            rates["kernel"].append(recvmmsg(row.family, arguments.seconds))
    return {name: statistics.median(values) for name, values in rates.items() if values}


def report(row, median, hz):
    ratio = median["noref"] / median["rxonly"]
    verdict = "" if row.bar is None else "met" if ratio >= row.bar else "MISSED"
    series = KERNEL_SERIES[row.family][row.queues] if row.name.startswith("one") else None
    print(f"{row.title:38} {median['rxonly'] / 1e6:7.2f} {median['noref'] / 1e6:7.2f} "
          f"{row.queues * hz / median['rxonly']:6.1f} {row.queues * hz / median['noref']:6.1f} "
          f"{ratio:6.2f} {row.bar or '':>5} {verdict:7}"
          + (f"{series[0] / 1e3:7.2f} {series[1] / 1e3:6.2f}" if series else "")
          + (f" {median['kernel'] / 1e6:8.2f}" if "kernel" in median else ""), flush=True)


def ring(arguments, folder):
    """Datagrams a client of `app ring` takes, per second of the core it has (bar: 8 million)."""
    for family in (4, 6):
        config, queues = one_socket(family, 1)
        capture = os.path.join(folder, f"ring.{family}.pcap")
        traffic.write_pcap(capture, queues[0])
        client = ["taskset", "-c", "0", os.path.join(programs.build_dir(), "client", "udp_counter"),
                  "SOCKET", "bench"]
        runs = [programs.noref(config.replace("app sink", "app ring bench"), Receivers([capture]),
                               arguments.seconds, arguments.burst,
                               drops_allowed=("udp_queue_full",), beside=client,
                               beside_counts=lambda ask: sum(s["packets"] for s in ask("udp show")))
                for _ in range(arguments.runs)]
        worker, taken = (statistics.median(values) for values in zip(*runs))
        print(f"ring, IPv{family}: the client takes {taken / 1e6:.2f} Mpps on a core of its own, the "
              f"worker receives {worker / 1e6:.2f} (bar 8): {'met' if taken >= 8e6 else 'MISSED'}",
              flush=True)


def main(words):
    parser = argparse.ArgumentParser(prog="tools/bench udp")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--burst", type=int, default=64)
    parser.add_argument("--rows", default="", help=" ".join(r.name for r in ROWS) + " ring")
    arguments = parser.parse_args(words)
    rows = [r for r in ROWS if not arguments.rows or r.name in arguments.rows.split(",")]
    hz = machine.tsc_hz()
    print(machine.describe())
    print(f"burst {arguments.burst}, {arguments.runs} runs of {arguments.seconds:g} s each, "
          "medians; Mpps, cycles per packet; the kernel series' Mpps on its own machine, before\n"
          "and after; recvmmsg on this machine's kernel (veth, a core for the sender)\n")
    print(f"{'':38} {'rxonly':>7} {'noref':>7} {'rxonly':>6} {'noref':>6} {'ratio':>6} {'bar':>5} "
          f"{'':7}{'before':>7} {'after':>6} {'recvmmsg':>8}")
    rates = {}
    with machine.hugepages(3072), tempfile.TemporaryDirectory() as folder:
        for row in rows:
            median = measure(row, arguments, folder)
            rates[row.name] = median["noref"]
            report(row, median, hz)
        if not arguments.rows or "ring" in arguments.rows.split(","):
            ring(arguments, folder)
    if "one4x1" in rates and "one6x1" in rates:
        share = rates["one6x1"] / rates["one4x1"]
        print(f"\nIPv6 is at {share:.2f} of IPv4 (bar 0.85): "
              f"{'met' if share >= 0.85 else 'MISSED'}")

