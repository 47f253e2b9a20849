# SPDX-License-Identifier: BSD-3-Clause
"""`tools/bench flow`: what flow rules cost that match nothing, beside testpmd and
beside the figures of the kernel patch that let hardware-only rules cost nothing."""

import argparse
import os
import statistics
import tempfile

import machine
import programs
import srv6
import traffic

# kpps of a router with filters for hardware (skip_sw), before and after the patch.
PATCH = {"none": (1278, 1278), "empty": (1059, 1059), "1": (928, 1057), "10": (496, 1056),
         "25": (281, 1054), "50": (162, 1056), "100": (88, 1019)}


def rules(count, placement, masks=1):
    """Rules that no packet matches: destinations in 172.16/12, of so many prefix lengths."""
    lines = []
    for i in range(count):
        length = 32 - i % masks
        address = (172 << 24 | 16 << 16 | i << 4) >> (32 - length) << (32 - length)
        where = traffic.text4((address, length))
        match = (f"dst is {where.partition('/')[0]}" if length == 32
                 else f"dst spec {where.partition('/')[0]} dst prefix {length}")
        lines.append(f"flow create 0 {placement} pattern eth / ipv4 {match} / end "
                     "actions drop / end\n")
    return "".join(lines)


# Each compares other bits; traffic is UDP from 192.0.2.1, ports 1024 and above to 9, TTL 64.
FIELDS = ["ipv4 dst is 172.16.{n}.1", "ipv4 src is 172.17.{n}.1", "ipv4 / udp dst is 1{n:02}",
          "ipv4 / udp src is 2{n:02}", "ipv4 / tcp dst is 3{n:02}", "ipv4 ttl is 1{n:02}",
          "ipv4 src is 172.18.{n}.1 dst is 172.19.{n}.1", "ipv4 tos is {m}",
          "ipv4 dst is 172.20.{n}.1 / udp dst is 53", "ipv4 src is 172.21.{n}.1 / udp src is 53"]


def rules_of_many_fields(count):
    return "".join(f"flow create 0 skip_hw pattern eth / {FIELDS[i % 10].format(n=i, m=i + 1)} / end "
                   "actions drop / end\n" for i in range(count))


class Row:
    """One line of the table: the commands that make it, bar (share of the first row), the patch's row."""

    def __init__(self, name, title, commands, bar=None, patch=None):
        self.name, self.title, self.commands = name, title, commands
        self.bar, self.patch = bar, PATCH.get(patch)


ROWS = [
    Row("none", "no classifier", "", patch="none"),
    Row("empty", "classifier empty", rules(1, "skip_hw") + "flow flush 0\n", patch="empty"),
    Row("1", "1 rule", rules(1, "skip_hw"), patch="1"),
    Row("10", "10 rules", rules(10, "skip_hw"), patch="10"),
    Row("25", "25 rules", rules(25, "skip_hw"), patch="25"),
    Row("50", "50 rules", rules(50, "skip_hw"), patch="50"),
    Row("100", "100 rules", rules(100, "skip_hw"), 0.85, "100"),
    Row("masks", "100 rules, ten masks", rules(100, "skip_hw", 10), 0.7),
    Row("fields", "100 rules, ten fields", rules_of_many_fields(100), 0.7),
    Row("10000", "10,000 rules", rules(10000, "skip_hw"), 0.5),
]


def show(row, rates, first, hz):
    rate = statistics.median(rates)
    ratio = statistics.median(r / f for r, f in zip(rates, first))
    line = f"{row.title:24} {rate / 1e6:7.2f} {hz / rate:7.1f} {ratio:6.3f}"
    if row.bar is not None:
        line += f" {row.bar:5.2f} {'met' if ratio >= row.bar else 'MISSED':7}"
    else:
        line += " " * 14
    if row.patch is not None:
        none = PATCH["none"][0]
        line += "".join(f" {kpps:6} {kpps / none:5.2f}" for kpps in row.patch)
    print(line, flush=True)


def main(words):
    parser = argparse.ArgumentParser(prog="tools/bench flow")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--burst", type=int, default=64)
    parser.add_argument("--rows", default="")
    arguments = parser.parse_args(words)
    chosen = arguments.rows.split(",") if arguments.rows else [r.name for r in ROWS]
    rows = [r for r in ROWS if r.name in chosen or r.name == "none"]
    hz = machine.tsc_hz()
    print(machine.describe())
    print(f"IPv4, 1,000 routes, 82 bytes; burst {arguments.burst}, {arguments.runs} rounds of "
          f"{arguments.seconds:g} s a row, medians; ratios to the first row of the same round\n")
    rates = {name: [] for name in ["io", "mac"] + [r.name for r in rows]}
    config, frames = srv6.plain4()
    with machine.hugepages(3072), tempfile.TemporaryDirectory() as folder:
        capture = os.path.join(folder, "plain4.pcap")
        traffic.write_pcap(capture, frames)
        ports = programs.Ports([capture])
        for _ in range(arguments.runs):
            for mode in ("io", "mac"):
                rates[mode].append(programs.testpmd(mode, ports, arguments.seconds,
                                                    arguments.burst))
            for row in rows:
                rates[row.name].append(programs.noref(config + row.commands, ports,
                                                      arguments.seconds, arguments.burst)[0])
    for mode in ("io", "mac"):
        rate = statistics.median(rates[mode])
        print(f"{'testpmd ' + mode:24} {rate / 1e6:7.2f} {hz / rate:7.1f}")
    print(f"\n{'software rules':24} {'Mpps':>7} {'cycles':>7} {'ratio':>6} {'bar':>5} {'':7}"
          f" {'before':>6} {'ratio':>5} {'after':>6} {'ratio':>5}   (the patch: kpps)")
    for row in rows:
        show(row, rates[row.name], rates["none"], hz)
