# SPDX-License-Identifier: BSD-3-Clause
"""`tools/bench xdp`: packet verdicts, beside testpmd's nearest mode and the kernel's figures.

The kernel's: generic XDP on veth before and after its buffers came from one page pool.
"""

import argparse
import contextlib
import os
import random
import statistics
import subprocess
import tempfile
import time

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


def large_frames():
    """As many as circulate; their receiver makes four segments of each."""
    return [frame.ljust(8000, b"\0") for frame in small_frames()[:CIRCULATING]]


class Row:
    """One line of the table."""

    def __init__(self, name, title, kernel, config, ports, mode=None, theirs=None, options=(),
                 begin=("start",), bar=None, of="testpmd", workers=1, drops=(), ours=(),
                 generator=False, loaded=(), idle=None):
        self.name, self.title = name, title
        self.kernel = kernel                    # Mpps before and after
        self.config, self.ports = config, ports  # ports: capture to devices
        self.workers, self.ours = workers, ours  # options of noref
        self.drops = ("tx_full", *drops)
        self.loaded = loaded                    # commands to noref once traffic flows
        self.mode, self.theirs = mode, theirs or ports  # testpmd's; None: no such mode
        self.options, self.begin = options, begin
        self.bar, self.of = bar, of             # share of testpmd, or of another row of ours
        self.generator = generator              # is there a testpmd that sends?
        self.idle = idle                        # buffers its devices hold when nothing moves


def devices(names, counted, direction="TX"):
    """%s stands for the capture."""
    return lambda capture: programs.Devices([name.replace("%s", capture) for name in names],
                                            counted, direction)


LOOP = ("--port-topology=loop",)
SOURCE = "net_pcap0,rx_pcap=%s,infinite_rx=1"
SINK = "net_null0,no-rx=1"
ALONE = devices([SOURCE], [0])  # its transmit side throws away
PAIR = devices([SOURCE, SINK], [1])

SEGMENTS = "set txpkts 2000,2000,2000,2000"
CIRCULATING = 512  # frames; testpmd makes them in bursts
LARGE = ("--max-pkt-len=9018",)
ONCE = "net_pcap0,rx_pcap=%s"
LOADED = ("port stop 0",)  # the capture has been read: one port less to ask


def begin_circulating(burst):
    return SEGMENTS, f"start tx_first {CIRCULATING // burst}"


def large(ports, verdict=""):
    """MTUs for frames of 8000 bytes, and the verdict of port 0."""
    return "".join(f"ip link set dev {port} mtu 9000\n" for port in range(ports)) + \
        (f"xdp set dev 0 {verdict}\n" if verdict else "")


MEMIF = "net_memif0,role=client,id=0,socket=%s.sock,socket-abstract=no,rsize=12"
LINKED = [MEMIF.replace("client", "server"), MEMIF.replace("memif0", "memif1")]
TO_RING = "redirect dev 1"  # what the capture holds goes into the ring
ROWS = [
    Row("tx", "64 B, TX", (4.49, 4.04), "xdp set dev 0 tx\n", ALONE, "macswap", options=LOOP,
        bar=0.85),
    Row("dev", "64 B, redirect to a device", (4.30, 3.95), "xdp set dev 0 redirect dev 1\n", PAIR,
        "io", bar=0.8),
    Row("cpu", "64 B, redirect to a CPU", (4.49, 4.47),
        ROUTER + "xdp set dev 0 redirect cpu 2\n", PAIR, workers=2, bar=0.35, of="dev",
        drops=("redirect_full",)),
    Row("drop", "64 B, drop", (5.65, 5.42), "xdp set dev 0 drop\n",
        devices([SOURCE], [0], "RX"), "rxonly", options=LOOP, bar=0.9, drops=("xdp_drop",)),
    # Chains of four segments that go round and round through a memif whose ends are both ours:
    # the driver copies them as it sends and as it receives, on the same core.
    Row("tx8k", "8000 B, TX", (2.25, 1.87),
        large(3, TO_RING) + "xdp set dev 1 tx\nxdp set dev 2 tx\n",
        devices([ONCE, *LINKED], [1, 2]), "macswap", devices(LINKED, [0, 1]), LOOP,
        begin_circulating, ours=LARGE, loaded=LOADED, bar=0.9, idle=0),
    Row("dev8k", "8000 B, redirect to a device", (2.18, 1.81),
        large(3, TO_RING) + "xdp set dev 1 redirect dev 2\nxdp set dev 2 redirect dev 1\n",
        devices([ONCE, *LINKED], [1, 2]), "io", devices(LINKED, [0, 1]), (),
        begin_circulating, ours=LARGE, loaded=LOADED, bar=0.9, idle=0),
    # Handed to the other worker, whose flow rule sends it out; the port's queue is the first
    # worker's, so it comes back over a ring: every frame crosses twice.
    Row("cpu8k", "8000 B, redirect to a CPU", (2.02, 2.27),
        large(2, TO_RING) + "xdp set dev 1 redirect cpu 2\n"
        "flow create 1 ingress skip_hw pattern eth / end actions represented_port ethdev_port_id 1 "
        "/ end\n",
        devices([ONCE, "net_ring0"], [1]), workers=2,
        ours=(*LARGE, "--rxq=1", "--txq=1", "--config=(0,0,1),(1,0,1)"), of=None),
    # Frames that end need a source: another process.
    Row("drop8k", "8000 B, drop", (2.82, 2.71), large(1, "drop"), devices([MEMIF], [0], "RX"),
        "rxonly", options=LOOP, ours=LARGE, drops=("xdp_drop",), bar=0.9, generator=True, idle=0),
    # The same in rings, where nobody copies a byte, and io does not look at a frame at all.
    Row("txring", "8000 B in a ring, TX", None, large(2, TO_RING) + "xdp set dev 1 tx\n",
        devices([ONCE, "net_ring0"], [1]), "macswap",
        devices(["net_ring0"], [0]), LOOP, begin_circulating, ours=LARGE, loaded=LOADED),
    Row("devring", "8000 B in rings, redirect", None,
        large(3, TO_RING) + "xdp set dev 1 redirect dev 2\nxdp set dev 2 redirect dev 1\n",
        devices([ONCE, "net_ring0", "net_ring1"], [1, 2]), "io",
        devices(["net_ring0", "net_ring1"], [0, 1]), (), begin_circulating,
        ours=LARGE, loaded=LOADED),
]


def fresh_socket(capture):
    """The path of the memif's socket, without what a process that has been killed left there."""
    path = capture + ".sock"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    return path


@contextlib.contextmanager
def generator(capture):
    """A testpmd that sends frames of four segments into a memif, on CPU 0."""
    socket = fresh_socket(capture)
    server = MEMIF.replace("client", "server").replace("%s", capture)
    process = subprocess.Popen(
        ["dpdk-testpmd", "--lcores", "0@0,1@0", "--in-memory", "--no-pci", "--no-telemetry",
         "--file-prefix", f"bench-generator-{os.getpid()}", "--log-level", "*:error", "--vdev",
         server, "--", "--forward-mode=txonly", "--txpkts=2000,2000,2000,2000",
         "--auto-start", "--burst=64", "--total-num-mbufs=20000",
         "--no-flush-rx", "--stats-period=3600"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not os.path.exists(socket):  # both programs want it there when they start
            if process.poll() is not None:
                raise RuntimeError(f"the generator ended with status {process.returncode}")
            time.sleep(0.05)
        yield
    finally:
        process.kill()
        process.wait()


def check_pool(row, answers):
    """The router has copied no frame; with the workers stopped, no buffer is missing."""
    pool = answers[-1][0]
    if pool["copied"]:
        raise RuntimeError(f"{row.title}: {pool['copied']} buffers were copied")
    if row.idle is not None and pool["in_use"] != row.idle:
        raise RuntimeError(f"{row.title}: {pool['in_use']} buffers in use, not {row.idle}")


def theirs(row, capture, arguments):
    begin = row.begin(arguments.burst) if callable(row.begin) else row.begin
    return programs.testpmd(row.mode, row.theirs(capture), arguments.seconds, arguments.burst,
                            options=row.options, begin=begin)


def ours(row, capture, arguments):
    rate, answers = programs.noref(
        row.config, row.ports(capture), arguments.seconds, arguments.burst, row.workers,
        options=row.ours, drops_allowed=row.drops, begin=row.loaded, extra=["stop", "show pool"])
    check_pool(row, answers)
    return rate


def with_generator(program, row, capture, arguments):
    """Its frames cross from core to core: both programs are measured while that is quick, so that
    the generator is not what is measured. A generator for each run: memif's server may crash
    when its client goes."""
    for _ in range(5):
        close = machine.near()
        with generator(capture):
            rate = program(row, capture, arguments)
        if not close or machine.line_ns() < machine.NEAR:
            break
    return rate


def measure(row, captures, arguments, rates):
    capture = captures[row.ours != () and LARGE[0] in row.ours]
    if row.generator:
        for name, program in ("testpmd", theirs), ("noref", ours):
            rates[row.name, name].append(with_generator(program, row, capture, arguments))
        return
    fresh_socket(capture)
    if row.mode is not None:
        rates[row.name, "testpmd"].append(theirs(row, capture, arguments))
    fresh_socket(capture)
    before = machine.line_ns()
    rates[row.name, "noref"].append(ours(row, capture, arguments))
    if row.workers > 1:
        rates[row.name, "line"].append(max(before, machine.line_ns()))


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


def line(title, row, theirs, ours, of):
    """One line of the table: rates in packets per second, theirs and ours."""
    kernel = f"{row.kernel[0]:6.2f} {row.kernel[1]:6.2f}" if row.kernel else f"{'':13}"
    text = f"{title:28} {kernel}  {mpps(theirs)} {mpps(ours)}"
    if of:
        ratio = statistics.median(ours) / statistics.median(of)
        low, high = interval(ours, of)
        text += f"  {ratio:5.2f} [{low:4.2f} {high:4.2f}]"
        if row.bar:
            text += f" {row.bar:5.2f}  {'met' if ratio >= row.bar else 'MISSED'}"
        else:
            text += f" {'':5} "
        text += f" (of {row.mode if row.of == 'testpmd' else 'row ' + row.of})"
    print(text, flush=True)


def report(row, rates):
    ours, theirs = rates[row.name, "noref"], rates[row.name, "testpmd"]
    of = theirs if row.of == "testpmd" else rates.get((row.of, "noref"))
    line(row.title, row, theirs, ours, of)
    ns = rates[row.name, "line"]
    for title, wanted in (("cores share an L3", True), ("cores apart", False)):
        some = [rate for rate, time in zip(ours, ns) if (time < machine.NEAR) == wanted]
        if 0 < len(some) < len(ours):
            line(f"  {title} ({len(some)} runs)", row, [], some, of)


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
    rates = {(row.name, program): [] for row in rows for program in ("testpmd", "noref", "line")}
    with machine.hugepages(3072), tempfile.TemporaryDirectory() as folder:
        captures = [os.path.join(folder, name) for name in ("64.pcap", "8000.pcap")]
        traffic.write_pcap(captures[0], small_frames())
        traffic.write_pcap(captures[1], large_frames())
        for _ in range(arguments.runs):
            for row in rows:
                measure(row, captures, arguments, rates)
    for row in rows:
        report(row, rates)
