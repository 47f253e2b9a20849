# SPDX-License-Identifier: BSD-3-Clause
"""`tools/bench flow`: what flow rules cost that match nothing, in software and in hardware
alone, beside testpmd and beside the figures of the kernel patch that let hardware-only rules
cost nothing; and rules that change while traffic flows."""

import argparse
import os
import statistics
import tempfile
import time

import changes
import machine
import programs
import srv6
import traffic

# kpps of a router with filters for hardware (skip_sw), before and after the patch.
PATCH = {"none": (1278, 1278), "empty": (1059, 1059), "1": (928, 1057), "10": (496, 1056),
         "25": (281, 1054), "50": (162, 1056), "100": (88, 1019)}
MANY = 10_000
TURNS = 3  # in each process, see Row.measure()


def rule(number, placement, masks=1):
    """A rule that no packet matches: a destination in 172.16/12, of one of so many prefix lengths."""
    length = 32 - number % masks
    address = (172 << 24 | 16 << 16 | (number & 0xffff) << 4) >> (32 - length) << (32 - length)
    where = traffic.text4((address, length))
    match = (f"dst is {where.partition('/')[0]}" if length == 32
             else f"dst spec {where.partition('/')[0]} dst prefix {length}")
    return f"flow create 0 {placement} pattern eth / ipv4 {match} / end actions drop / end\n"


def rules(count, placement, masks=1):
    return [rule(i, placement, masks) for i in range(count)]


# Each compares other bits; traffic is UDP from 192.0.2.1, ports 1024 and above to 9, TTL 64.
FIELDS = ["ipv4 dst is 172.16.{n}.1", "ipv4 src is 172.17.{n}.1", "ipv4 / udp dst is 1{n:02}",
          "ipv4 / udp src is 2{n:02}", "ipv4 / tcp dst is 3{n:02}", "ipv4 ttl is 1{n:02}",
          "ipv4 src is 172.18.{n}.1 dst is 172.19.{n}.1", "ipv4 tos is {m}",
          "ipv4 dst is 172.20.{n}.1 / udp dst is 53", "ipv4 src is 172.21.{n}.1 / udp src is 53"]


def rules_of_many_fields(count):
    return [f"flow create 0 skip_hw pattern eth / {FIELDS[i % 10].format(n=i, m=i + 1)} / end "
            "actions drop / end\n" for i in range(count)]


class Row:
    """One line of the table: the commands that make it, bar (share of no rules), the patch's row.

    asked: do workers enter the classifier? pace: rules change while it is measured, so many a
    second (0: as fast as they do). Results: packets per second without and with.
    """

    def __init__(self, name, title, commands, bar=None, patch=None, asked=True, pace=None):
        self.name, self.title, self.commands = name, title, commands
        self.bar, self.patch, self.asked, self.pace = bar, PATCH.get(patch), asked, pace
        self.without, self.rates, self.changes = [], [], []

    def measure(self, config, ports, seconds, burst):
        """In one process, in turns: without rules, twice with, without again. So what differs between
        two runs of a program, and what drifts, is in both."""

        def during(socket, sent, ask):
            client = changes.Client(socket)

            def rate(work):
                packets, cpu = sent()
                work()
                after, cpu_after = sent()
                return (after - packets) / (cpu_after - cpu)

            def wait():
                time.sleep(seconds / 4 / TURNS)

            def change():
                self.changes.append(changes.run(client, seconds / 4 / TURNS, self.pace, MANY,
                                                lambda i: rule(i, "skip_hw")))

            def with_rules():
                client.ask(self.commands)
                # The proof that does not depend on the clock.
                if ask("show port info 0")[0]["classifier"] is not self.asked:
                    raise RuntimeError(f"{self.title}: workers {'do not ' * self.asked}enter the classifier")
                result = rate(wait if self.pace is None else change)
                client.ask(["flow flush 0\n"])
                return result

            for _ in range(TURNS):
                before, first, second, after = rate(wait), with_rules(), with_rules(), rate(wait)
                self.without.append((before + after) / 2)
                self.rates.append((first + second) / 2)
            client.close()

        programs.noref(config, ports, seconds, burst, preload=rules_device(), during=during)

    def show(self, hz):
        rate = statistics.median(self.rates)
        ratio = statistics.median(r / w for r, w in zip(self.rates, self.without))
        line = f"{self.title:26} {rate / 1e6:7.2f} {hz / rate:7.1f} {ratio:6.3f}"
        if self.bar is not None:
            line += f" {self.bar:5.2f} {'met' if ratio >= self.bar else 'MISSED':7}"
        else:
            line += " " * 14
        if self.patch is not None:
            line += patch_columns(self.patch)
        if self.changes:
            line += (f"   {statistics.median(c.rate for c in self.changes):,.0f} changes/s, "
                     f"longest {max(c.longest for c in self.changes) * 1e3:.1f} ms")
        print(line, flush=True)


def patch_columns(row):
    return "".join(f" {kpps:6} {kpps / PATCH['none'][0]:5.2f}" for kpps in row)


def hardware_row(count):
    return Row(f"hw{count}", f"{count:,} rule{'s' * (count > 1)}, skip_sw", rules(count, "skip_sw"), 0.99,
               str(count), asked=False)


ROWS = [
    Row("empty", "classifier empty", rules(1, "skip_hw") + ["flow flush 0\n"], patch="empty", asked=False),
    *(hardware_row(count) for count in (1, 10, 25, 50, 100, MANY)),
    Row("1", "1 rule", rules(1, "skip_hw"), patch="1"),
    Row("10", "10 rules", rules(10, "skip_hw"), patch="10"),
    Row("25", "25 rules", rules(25, "skip_hw"), patch="25"),
    Row("50", "50 rules", rules(50, "skip_hw"), patch="50"),
    Row("100", "100 rules", rules(100, "skip_hw"), 0.85, "100"),
    Row("masks", "100 rules, ten masks", rules(100, "skip_hw", 10), 0.7),
    Row("fields", "100 rules, ten fields", rules_of_many_fields(100), 0.7),
    Row("10000", "10,000 rules", rules(MANY, "skip_hw"), 0.5),
    Row("paced", "10,000, 10,000 changes/s", rules(MANY, "skip_hw"), pace=10_000),
    Row("fastest", "10,000, all changes/s", rules(MANY, "skip_hw"), pace=0),
]


def rules_device():
    return os.path.join(machine.build_dir(), "tests", "rules_device", "librules_device.so")


def main(words):
    parser = argparse.ArgumentParser(prog="tools/bench flow")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--burst", type=int, default=64)
    parser.add_argument("--rows", default="")
    arguments = parser.parse_args(words)
    chosen = arguments.rows.split(",") if arguments.rows else [r.name for r in ROWS]
    unknown = set(chosen) - {r.name for r in ROWS}
    if unknown:
        parser.error(f"no row is named {' or '.join(sorted(unknown))}")
    rows = [r for r in ROWS if r.name in chosen]
    hz = machine.tsc_hz()
    print(machine.describe())
    print(f"IPv4, 1,000 routes, 82 bytes; burst {arguments.burst}, {arguments.runs} rounds of "
          f"{arguments.seconds:g} s a row, medians; ratios to no rules in the same process\n")
    yardstick = {"io": [], "mac": []}
    config, frames = srv6.plain4()
    with machine.hugepages(3072), tempfile.TemporaryDirectory() as folder:
        capture = os.path.join(folder, "plain4.pcap")
        traffic.write_pcap(capture, frames)
        ports = programs.Ports([capture])
        for _ in range(arguments.runs):
            for mode, rates in yardstick.items():
                rates.append(programs.testpmd(mode, ports, arguments.seconds, arguments.burst))
            for row in rows:
                row.measure(config, ports, arguments.seconds, arguments.burst)
    for mode, rates in yardstick.items():
        rate = statistics.median(rates)
        print(f"{'testpmd ' + mode:26} {rate / 1e6:7.2f} {hz / rate:7.1f}")
    print(f"\n{'flow rules':26} {'Mpps':>7} {'cycles':>7} {'ratio':>6} {'bar':>5} {'':7}"
          f" {'before':>6} {'ratio':>5} {'after':>6} {'ratio':>5}   (the patch: kpps)")
    rate = statistics.median(rate for row in rows for rate in row.without)
    print(f"{'no classifier':26} {rate / 1e6:7.2f} {hz / rate:7.1f} {1:6.3f}" + " " * 14 +
          patch_columns(PATCH["none"]))
    for row in rows:
        row.show(hz)
    print("\nWith rules in hardware alone (skip_sw) workers did not enter the classifier, in any run: "
          "show port info said so.")
