# SPDX-License-Identifier: BSD-3-Clause
"""`tools/bench xdp`: packet verdicts, beside testpmd's nearest mode and the kernel's figures.

The kernel's: generic XDP on veth before and after its buffers came from one page pool.
"""

import argparse
import os
import random
import statistics
import tempfile

import machine
import programs
import traffic
from traffic import ip4

# Packets in the capture: few enough to stay in the cache, flows enough to spread.
PACKETS = 4096
ROUTER = """
ip link set dev 0 any-mac on
ip addr add 10.0.1.1/24 dev 1
ip neigh add 10.0.1.2 lladdr 02:00:00:00:01:02 dev 1
ip route add 10.1.0.0/16 via 10.0.1.2
"""


def small_frames():
    chance = random.Random(1)
    source = ip4("192.0.2.1")
    frames = [traffic.ethernet(0x0800) +
              traffic.ipv4_udp(source, ip4("10.1.0.0")[:2] + chance.randbytes(2), 1024 + i)
              for i in range(PACKETS)]
    return [frame.ljust(64, b"\0") for frame in frames]


class Row:
    """One line of the table."""

    def __init__(self, name, title, kernel, ports, config, mode, bar, of, workers=1, options=(),
                 drops=()):
        self.name, self.title = name, title
        self.kernel = kernel        # Mpps before and after
        self.ports = ports          # capture to devices
        self.config, self.workers = config, workers
        self.mode, self.options = mode, options  # testpmd's; None: no such mode
        self.bar, self.of = bar, of  # share of testpmd, or of another row of ours
        self.drops = ("tx_full", *drops)


def alone(counted):
    """A source whose transmit side throws away."""
    return lambda capture: programs.Devices([f"net_pcap0,rx_pcap={capture},infinite_rx=1"],
                                            [(0, counted)])


def pair(capture):
    return programs.Ports([capture])


LOOP = ("--port-topology=loop",)
ROWS = [
    Row("tx", "64 B, TX", (4.49, 4.04), alone("tx"), "xdp set dev 0 tx\n",
        "macswap", 0.85, "testpmd", options=LOOP),
    Row("dev", "64 B, redirect to a device", (4.30, 3.95), pair,
        "xdp set dev 0 redirect dev 1\n", "io", 0.8, "testpmd"),
    Row("cpu", "64 B, redirect to a CPU", (4.49, 4.47), pair,
        ROUTER + "xdp set dev 0 redirect cpu 2\n", None, 0.35, "dev", workers=2,
        drops=("redirect_full",)),
    Row("drop", "64 B, drop", (5.65, 5.42), alone("rx"), "xdp set dev 0 drop\n",
        "rxonly", 0.9, "testpmd", options=LOOP, drops=("xdp_drop",)),
]


def measure(row, capture, arguments, rates):
    ports = row.ports(capture)
    if row.mode is not None:
        rates[row.name, "testpmd"].append(
            programs.testpmd(row.mode, ports, arguments.seconds, arguments.burst,
                             options=row.options))
    rates[row.name, "noref"].append(
        programs.noref(row.config, ports, arguments.seconds, arguments.burst, row.workers,
                       drops_allowed=row.drops)[0])


def interval(values, of=None, times=2000):
    """95 % of the medians (or ratios of medians) of samples drawn with replacement."""
    chance = random.Random(0)
    found = []
    for _ in range(times):
        median = statistics.median(chance.choices(values, k=len(values)))
        if of:
            median /= statistics.median(chance.choices(of, k=len(of)))
        found.append(median)
    found.sort()
    return found[int(0.025 * times)], found[int(0.975 * times)]


def mpps(values):
    if not values:
        return f"{'-':>21}"
    low, high = interval(values)
    return f"{statistics.median(values) / 1e6:7.2f} [{low / 1e6:5.2f} {high / 1e6:5.2f}]"


def report(row, rates):
    ours = rates[row.name, "noref"]
    theirs = rates[row.name, "testpmd"] if row.of == "testpmd" else rates.get((row.of, "noref"))
    line = (f"{row.title:28} {row.kernel[0]:6.2f} {row.kernel[1]:6.2f}  "
            f"{mpps(rates[row.name, 'testpmd'])} {mpps(ours)}")
    if theirs:
        ratio = statistics.median(ours) / statistics.median(theirs)
        low, high = interval(ours, theirs)
        line += (f"  {ratio:5.2f} [{low:4.2f} {high:4.2f}] {row.bar:5.2f}"
                 f"  {'met' if ratio >= row.bar else 'MISSED'}")
        line += f" (of {row.mode if row.of == 'testpmd' else 'row ' + row.of})"
    print(line, flush=True)


def main(words):
    parser = argparse.ArgumentParser(prog="tools/bench xdp")
    parser.add_argument("--runs", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--burst", type=int, default=64)
    parser.add_argument("--rows", default="", help=",".join(row.name for row in ROWS))
    arguments = parser.parse_args(words)
    rows = [r for r in ROWS if not arguments.rows or r.name in arguments.rows.split(",")]
    print(machine.describe())
    print(f"burst {arguments.burst}, {arguments.runs} runs of {arguments.seconds:g} s each; Mpps: "
          "medians [95 % of bootstrapped medians]\n")
    print(f"{'':28} {'kernel':>13}  {'testpmd':>21} {'noref':>21}  {'ratio':>17} {'bar':>5}\n"
          f"{'':28} {'before':>6} {'after':>6}")
    rates = {(row.name, program): [] for row in rows for program in ("testpmd", "noref")}
    with machine.hugepages(3072), tempfile.TemporaryDirectory() as folder:
        capture = os.path.join(folder, "64.pcap")
        traffic.write_pcap(capture, small_frames())
        for _ in range(arguments.runs):
            for row in rows:
                measure(row, capture, arguments, rates)
    for row in rows:
        report(row, rates)
