# SPDX-License-Identifier: BSD-3-Clause
"""`tools/bench srv6`: what ending an SRv6 tunnel costs, beside testpmd; with two workers; and with
a reference taken on the next hop of every packet."""

import argparse
import os
import random
import statistics
import subprocess
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


# A second pair of ports for a second worker; the tables are the same.
SECOND = """
ip link set dev 2 address 02:00:00:00:00:01
ip link set dev 3 address 02:00:00:00:00:04
ip addr add fc00:0:0:3::1/64 dev 2
ip addr add 10.0.3.1/24 dev 3
ip neigh add 10.0.3.2 lladdr 02:00:00:00:03:02 dev 3
"""
DX4, DT4 = "fc00:0:1:d4::", "fc00:0:1:100::"


def shared(action, apart):
    """Configuration and the captures of two sources. apart: the second leaves by its own port;
    else all packets go to one next hop."""
    routes = traffic.random_routes4(FEW)
    seconds_sid = {DX4: "fc00:0:1:d5::", DT4: "fc00:0:1:200::"}[action]
    lines = [BASE, SECOND]
    if action == DX4:
        lines.append(f"ip -6 route add {DX4}/128 encap seg6local action End.DX4 nh4 10.0.1.2 "
                     f"dev 0\nip -6 route add {seconds_sid}/128 encap seg6local action End.DX4 "
                     "nh4 10.0.3.2 dev 2\n")
    else:
        for vrf, table, port, sid in (("red", 100, 1, DT4), ("blue", 200, 3, seconds_sid)):
            lines.append(f"ip link add {vrf} type vrf table {table}\n"
                         f"ip link set dev {port} master {vrf}\n"
                         f"ip -6 route add {sid}/128 encap seg6local action End.DT4 "
                         f"vrftable {table} dev 0\n")
            via = f"10.0.{port}.2"
            lines.append("".join(f"ip route add {traffic.text4(r)} via {via} vrf {vrf}\n"
                                 for r in routes))
    sids = [ip6(action), ip6(seconds_sid if apart else action)]
    return "".join(lines), [tunnelled(PACKETS_FEW, lambda i, sid=sid: sid, inner_to(routes, 7))
                            for sid in sids]


class Pairs(programs.Ports):
    """Two pairs of ports; what leaves is counted at all sinks."""

    def __init__(self, folder, name, captures):
        paths = []
        for i, frames in enumerate(captures):
            paths.append(os.path.join(folder, f"{name}{i}.pcap"))
            traffic.write_pcap(paths[-1], frames)
        super().__init__(paths)


def bench_two(arguments, folder):
    """Two workers, each with a pair of ports, all tables shared, beside one."""
    print(f"\n{'two workers; Mpps':40} {'mac 1':>7} {'mac 2':>7} {'noref 1':>8} {'noref 2':>8} "
          f"{'mac':>6} {'noref':>6} {'bar':>5}")
    for title, action in (("End.DX4", DX4), ("End.DT4, 1,000 routes", DT4)):
        config, captures = shared(action, True)
        ports = Pairs(folder, "two", captures)
        rates = {}
        for _ in range(arguments.runs):
            for workers in (1, 2):
                rates.setdefault(("mac", workers), []).append(
                    programs.testpmd("mac", ports, arguments.seconds, arguments.burst, workers))
                rates.setdefault(("noref", workers), []).append(
                    programs.noref(config, ports, arguments.seconds, arguments.burst, workers)[0])
        median = {key: statistics.median(values) for key, values in rates.items()}
        gain = {name: median[name, 2] / median[name, 1] for name in ("mac", "noref")}
        print(f"{title:40} " +
              f"{median['mac', 1] / 1e6:7.2f} {median['mac', 2] / 1e6:7.2f} "
              f"{median['noref', 1] / 1e6:8.2f} {median['noref', 2] / 1e6:8.2f} "
              f"{gain['mac']:6.2f} {gain['noref']:6.2f}  1.90"
              f"  {'met' if gain['noref'] >= 1.9 else 'MISSED'}", flush=True)


# Mpps with a reference and without, by queues, as the kernel patch's author measured them on a 82599.
KERNEL = {"End.DX4": "0.791 -> 0.811 (1 queue), 6.118 -> 7.394 (10), 3.305 -> 10.205 (16, two "
                     "sockets)",
          "End.DT4": "0.481 -> 0.489 (1 queue), 4.328 -> 4.588 (10), 3.351 -> 7.153 (16, two "
                     "sockets)"}


def refcount_build():
    """The same program with an atomic reference taken and dropped for each packet."""
    build = os.path.join(machine.root_dir(), "build-refcount")
    if not os.path.exists(os.path.join(build, "build.ninja")):
        subprocess.run(["meson", "setup", build, machine.root_dir(), "--buildtype=release",
                        "-Dnexthop_refcount=true", "-Dtests=false"], check=True,
                       stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", build, "src/noref", "tools/noref-ctl"], check=True,
                   stdout=subprocess.DEVNULL)
    return build


def bench_refcount(arguments, folder):
    """Before and after, as the kernel's patch: all packets go to one next hop."""
    builds = {"before": refcount_build(), "after": machine.build_dir()}
    print(f"\n{'reference per packet; Mpps':28} {'workers':>7} {'before':>7} {'after':>7} "
          f"{'gain':>6}   the kernel's, before -> after")
    for title, action in (("End.DX4", DX4), ("End.DT4", DT4)):
        config, captures = shared(action, False)
        ports = Pairs(folder, "ref", captures)
        for workers in (1, 2):
            rates = {name: [] for name in builds}
            for _ in range(arguments.runs):
                for name, build in builds.items():
                    rates[name].append(programs.noref(config, ports, arguments.seconds,
                                                      arguments.burst, workers, build)[0])
            before, after = (statistics.median(rates[name]) for name in ("before", "after"))
            print(f"{title:28} {workers:7} {before / 1e6:7.2f} {after / 1e6:7.2f} "
                  f"{after / before:6.2f}   {KERNEL[title] if workers == 1 else ''}", flush=True)


def main(words):
    parser = argparse.ArgumentParser(prog="tools/bench srv6")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--burst", type=int, default=64)
    parser.add_argument("--rows", default="")
    parser.add_argument("--two", action="store_true", help="two workers beside one, and nothing else")
    parser.add_argument("--refcount", action="store_true",
                        help="with a reference per packet and without, and nothing else")
    arguments = parser.parse_args(words)
    rows = [r for r in ROWS if not arguments.rows or r.name in arguments.rows.split(",")]
    if arguments.two or arguments.refcount:
        print(machine.describe())
        print(f"burst {arguments.burst}, {arguments.runs} runs of {arguments.seconds:g} s each, "
              "medians")
        with machine.hugepages(3072), tempfile.TemporaryDirectory() as folder:
            if arguments.two:
                bench_two(arguments, folder)
            if arguments.refcount:
                bench_refcount(arguments, folder)
        return
    hz = machine.tsc_hz()
    print(machine.describe())
    print(f"burst {arguments.burst}, {arguments.runs} runs of {arguments.seconds:g} s each, "
          "medians; Mpps, then cycles per packet\n")
    print(f"{'':40} {'io':>7} {'mac':>7} {'noref':>7} {'mac':>6} {'noref':>6} {'ratio':>6} "
          f"{'bar':>5}")
    with machine.hugepages(3072), tempfile.TemporaryDirectory() as folder:
        for row in rows:
            bench_row(row, arguments, folder, hz)
