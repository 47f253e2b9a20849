# SPDX-License-Identifier: BSD-3-Clause
"""`tools/bench srv6`: what ending an SRv6 tunnel costs, beside testpmd."""

import argparse
import os
import random
import statistics
import tempfile

import machine
import programs
import traffic
from traffic import ip4, ip6

BASE = """
ip link set dev 0 address 02:00:00:00:00:01
ip link set dev 1 address 02:00:00:00:00:02
ip addr add fc00:0:0:1::1/64 dev 0
ip addr add 10.0.1.1/24 dev 1
ip addr add 2001:db8:1::1/64 dev 1
ip neigh add 10.0.1.2 lladdr 02:00:00:00:01:02 dev 1
ip neigh add 2001:db8:1::2 lladdr 02:00:00:00:06:12 dev 1
"""
FEW, MANY, PACKETS_FEW, PACKETS_MANY = 1000, 1_000_000, 4096, 65536


def outer_source(i):
    return ip6("fc00:0:0:1::") [:12] + (0x100 + i).to_bytes(4, "big")


def tunnelled(count, sid_of, inner_of, segments=False):
    frames = []
    for i in range(count):
        sid = sid_of(i)
        payload, following = inner_of(i), 4
        if segments:
            payload, following = traffic.srh([sid, ip6("fc00:0:9::1")], 4) + payload, 43
        frames.append(traffic.ethernet(0x86dd) +
                      traffic.ipv6(outer_source(i % 1024), sid, following, payload))
    return frames


def routes4(routes, where):
    return "".join(f"ip route add {traffic.text4(r)} via 10.0.1.2 {where}\n" for r in routes)


class Row:
    """One line of the table: configuration, packets, bar (share of testpmd mac)."""

    def __init__(self, name, title, bar, make):
        self.name, self.title, self.bar, self.make = name, title, bar, make


def inner_to(routes, seed):
    chance = random.Random(seed)
    source = ip4("192.0.2.1")
    return lambda i: traffic.ipv4_udp(source, traffic.address_in4(chance.choice(routes), chance),
                                      1024 + i % 4096)


def end_dx4():
    sid = ip6("fc00:0:1:d4::")
    config = BASE + ("ip -6 route add fc00:0:1:d4::/128 encap seg6local action End.DX4 "
                     "nh4 10.0.1.2 dev 0\n")
    return config, tunnelled(PACKETS_FEW, lambda i: sid,
                             inner_to(traffic.random_routes4(FEW), 1))


def dt4_config(sids, routes):
    lines = [BASE, "ip link add red type vrf table 100\n", "ip link set dev 1 master red\n"]
    # Moving the port took its addresses' routes along; its neighbours too.
    lines += [f"ip -6 route add {s}/128 encap seg6local action End.DT4 vrftable 100 dev 0\n"
              for s in sids]
    lines.append(routes4(routes, "vrf red"))
    return "".join(lines)


def end_dt4(segments=False):
    sid = "fc00:0:1:100::"
    routes = traffic.random_routes4(FEW)
    return dt4_config([sid], routes), tunnelled(PACKETS_FEW, lambda i: ip6(sid),
                                                inner_to(routes, 2), segments)


def end_dt4_large():
    sids = [f"fc00:0:1:{i:x}::" for i in range(1, 10001)]
    packed = [ip6(s) for s in sids]
    routes = traffic.random_routes4(MANY)
    chance = random.Random(3)
    return dt4_config(sids, routes), tunnelled(PACKETS_MANY, lambda i: chance.choice(packed),
                                               inner_to(routes, 3))


def plain4():
    routes = traffic.random_routes4(FEW)
    inner = inner_to(routes, 4)
    frames = [traffic.ethernet(0x0800) + inner(i) for i in range(PACKETS_FEW)]
    # As long as the tunnelled ones, for the same work in the drivers.
    return BASE + routes4(routes, ""), [f.ljust(82, b"\0") for f in frames]


def plain6():
    routes = traffic.random_routes6(FEW)
    chance = random.Random(5)
    config = BASE + "".join(f"ip route add {traffic.text6(r)} via 2001:db8:1::2\n"
                            for r in routes)
    frames = [traffic.ethernet(0x86dd) +
              traffic.ipv6(outer_source(i % 1024),
                           traffic.address_in6(chance.choice(routes), chance), 17,
                           b"\0" * 28) for i in range(PACKETS_FEW)]
    return config, frames


ROWS = [
    Row("dx4", "End.DX4", 0.5, end_dx4),
    Row("dt4", "End.DT4, 1,000 routes", 0.5, end_dt4),
    Row("srh", "End.DT4 with SRH, 1,000 routes", 0.4, lambda: end_dt4(True)),
    Row("large", "End.DT4, 10,000 SIDs, 1,000,000 routes", 0.25, end_dt4_large),
    Row("ip4", "IPv4, 1,000 routes", 0.55, plain4),
    Row("ip6", "IPv6, 1,000 routes", 0.55, plain6),
]


def bench_row(row, arguments, folder, hz):
    config, frames = row.make()
    capture = os.path.join(folder, row.name + ".pcap")
    traffic.write_pcap(capture, frames)
    ports = programs.Ports([capture])
    rates = {"io": [], "mac": [], "noref": []}
    for _ in range(arguments.runs):
        for mode in ("io", "mac"):
            rates[mode].append(programs.testpmd(mode, ports, arguments.seconds, arguments.burst))
        rates["noref"].append(programs.noref(config, ports, arguments.seconds,
                                             arguments.burst)[0])
    median = {name: statistics.median(values) for name, values in rates.items()}
    ratio = median["noref"] / median["mac"]
    print(f"{row.title:40} " +
          " ".join(f"{median[n] / 1e6:7.2f}" for n in ("io", "mac", "noref")) +
          f" {hz / median['mac']:6.1f} {hz / median['noref']:6.1f} {ratio:6.2f} {row.bar:5.2f}"
          f"  {'met' if ratio >= row.bar else 'MISSED'}", flush=True)


def main(words):
    parser = argparse.ArgumentParser(prog="tools/bench srv6")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--burst", type=int, default=64)
    parser.add_argument("--rows", default="")
    arguments = parser.parse_args(words)
    rows = [r for r in ROWS if not arguments.rows or r.name in arguments.rows.split(",")]
    hz = machine.tsc_hz()
    print(machine.describe())
    print(f"burst {arguments.burst}, {arguments.runs} runs of {arguments.seconds:g} s each, "
          "medians; Mpps, then cycles per packet\n")
    print(f"{'':40} {'io':>7} {'mac':>7} {'noref':>7} {'mac':>6} {'noref':>6} {'ratio':>6} "
          f"{'bar':>5}")
    with machine.hugepages(3072), tempfile.TemporaryDirectory() as folder:
        for row in rows:
            bench_row(row, arguments, folder, hz)
