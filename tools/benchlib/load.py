# SPDX-License-Identifier: BSD-3-Clause
"""`tools/bench load`: how long large tables take to load from a command file, and their memory."""

import argparse
import json
import os
import random
import subprocess
import tempfile
import time

import machine
import traffic
from machine import build_dir

BASE = """
ip addr add 10.0.0.1/24 dev 0
ip addr add 2001:db8::1/64 dev 0
ip neigh add 10.0.0.2 lladdr 02:00:00:00:01:02 dev 0
ip neigh add 2001:db8::2 lladdr 02:00:00:00:06:12 dev 0
"""


def million(_):
    return "".join(f"ip route add {traffic.text4(r)} via 10.0.0.2\n"
                   for r in traffic.random_routes4(1_000_000))


def everything(vrfs):
    """4,096 VRFs of 1,000 routes each, 1,000,000 IPv4 and 200,000 IPv6 routes, 10,000 SIDs."""
    lines = [million(0)]
    lines += [f"ip route add {traffic.text6(r)} via 2001:db8::2\n"
              for r in traffic.random_routes6(200_000)]
    lines += [f"ip link add v{v} type vrf table {1000 + v}\n" for v in range(vrfs)]
    few = [traffic.text4(r) for r in traffic.random_routes4(1000, 9)]
    lines += [f"ip route add {r} via 10.0.0.2 dev 0 onlink table {1000 + v}\n"
              for v in range(vrfs) for r in few]
    lines += [f"ip -6 route add fc00:0:1:{i:x}::/128 encap seg6local action End.DT4 "
              f"vrftable {1000 + i % vrfs} dev 0\n" for i in range(1, 10001)]
    return "".join(lines)


def resident(process):
    with open(f"/proc/{process.pid}/status") as file:
        return int(next(line for line in file if line.startswith("VmRSS")).split()[1]) / 1024


def load(lines, folder):
    """Seconds until the control socket answers, and MiB in memory."""
    config, socket = os.path.join(folder, "router.conf"), os.path.join(folder, "ctl.sock")
    with open(config, "w") as file:
        file.write(BASE + lines)
    command = [os.path.join(build_dir(), "src", "noref"), "-l", "0,1", "--no-huge", "-m", "256",
               "--no-pci", "--no-telemetry", "--file-prefix", f"bench-load-{os.getpid()}",
               "--log-level", "*:error", "--vdev", "net_null0,no-rx=1", "--",
               f"--cmdline-file={config}", f"--ctl={socket}", "--no-start"]
    begun = time.monotonic()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    ask = [os.path.join(build_dir(), "tools", "noref-ctl"), "-s", socket, "-j"]
    try:
        while not os.path.exists(socket) or subprocess.run(
                [*ask, "show", "version"], capture_output=True, check=False).returncode != 0:
            if process.poll() is not None:
                raise SystemExit(f"noref ended with status {process.returncode}")
            time.sleep(0.02)
        took, memory = time.monotonic() - begun, resident(process)
        sids = len(json.loads(subprocess.run([*ask, "show", "sid"], capture_output=True,
                                             check=True).stdout))
        process.terminate()
        process.wait(120)
        return took, memory, sids
    finally:
        process.kill()
        process.wait()


def main(words):
    parser = argparse.ArgumentParser(prog="tools/bench load")
    parser.add_argument("--vrfs", type=int, default=4096)
    arguments = parser.parse_args(words)
    random.seed(1)
    print(machine.describe())
    print(f"\n{'':60} {'lines':>9} {'s':>6} {'MiB':>6}   bar")
    with tempfile.TemporaryDirectory() as folder:
        for title, make, bar in (
                ("start, nothing configured", lambda _: "", ""),
                ("1,000,000 IPv4 routes", million, "10 s"),
                (f"{arguments.vrfs:,} VRFs of 1,000 routes, the million, 200,000 IPv6, "
                 "10,000 SIDs", everything, "3072 MiB")):
            lines = make(arguments.vrfs)
            took, memory, _ = load(lines, folder)
            print(f"{title:60} {lines.count(chr(10)):9,} {took:6.1f} {memory:6.0f}   {bar}",
                  flush=True)


if __name__ == "__main__":
    main([])
