# SPDX-License-Identifier: BSD-3-Clause
"""Run testpmd or noref on a pair of ports and read how fast it forwards.

Source: net_pcap with infinite_rx=1, which hands out copies of a capture as fast
as it is asked. Sink: net_null, which frees what it is given.
"""

import json
import os
import re
import select
import subprocess
import tempfile
import time

from machine import build_dir

MBUFS = 300000


class Ports:
    """Pairs of a source and a sink; what leaves by the sinks is counted."""

    direction, counter = "TX", "tx_packets"
    testpmd_options = []

    def __init__(self, captures):
        self.captures = captures

    def arguments(self):
        words = []
        for i, capture in enumerate(self.captures):
            words += ["--vdev", f"net_pcap{i},rx_pcap={capture},infinite_rx=1",
                      "--vdev", f"net_null{i},no-rx=1"]
        return words

    def queues(self):
        """(port, queue) of what one worker polls, for each pair."""
        return [[(port, 0) for port in pair] for pair in zip(self.sources(), self.counted())]

    # EAL numbers ports in the order of its arguments.
    def sources(self):
        return [2 * i for i in range(len(self.captures))]

    def counted(self):
        return [2 * i + 1 for i in range(len(self.captures))]


class Devices(Ports):
    """Any devices; what some ports have sent ("TX") or received ("RX") is counted."""

    def __init__(self, devices, counted, direction):
        super().__init__([])
        self.devices, self.result = devices, counted
        self.direction, self.counter = direction, direction.lower() + "_packets"

    def arguments(self):
        return [word for device in self.devices for word in ("--vdev", device)]

    def counted(self):
        return self.result


def eal(name, ports, workers):
    lcores = ["0@0", "1@1", "2@0"][:workers + 1]
    return ["--lcores", ",".join(lcores), "--in-memory", "--no-pci", "--no-telemetry",
            "--file-prefix", f"bench-{name}-{os.getpid()}", "--log-level", "*:error",
            *ports.arguments()]


def worker_seconds(process):
    """CPU time the program's workers have had. Rates are per second of it: what the
    machine gave to others while a worker wanted to run is not held against it."""
    total = 0
    tasks = f"/proc/{process.pid}/task"
    for thread in os.listdir(tasks):
        with open(f"{tasks}/{thread}/comm") as file:
            if "worker" not in file.read():
                continue
        with open(f"{tasks}/{thread}/schedstat") as file:
            total += int(file.read().split()[0]) / 1e9
    return total


def read_until(process, pattern, seconds):
    """Read testpmd's output until the pattern comes; returns what was read."""
    text = ""
    end = time.monotonic() + seconds
    while not re.search(pattern, text):
        left = end - time.monotonic()
        if left <= 0 or process.poll() is not None:
            raise RuntimeError("testpmd: no answer:\n" + text[-2000:])
        if select.select([process.stdout], [], [], left)[0]:
            text += os.read(process.stdout.fileno(), 65536).decode(errors="replace")
    return text


def testpmd(mode, ports, seconds, burst, workers=1, options=(), begin=("start",)):
    """Packets per second at the ports that are counted. begin: its commands, the last of which
    starts it."""
    # Its answers go through stdio, which a pipe would make wait for 4 KiB.
    command = ["stdbuf", "-oL", "dpdk-testpmd", *eal("testpmd", ports, workers), "--", "-i",
               f"--forward-mode={mode}", f"--burst={burst}", f"--total-num-mbufs={MBUFS}",
               f"--nb-cores={workers}", "--no-flush-rx", *ports.testpmd_options,
               *options]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT)
    try:
        read_until(process, r"testpmd> $", 120)

        def say(words):
            process.stdin.write((words + "\n").encode())
            process.stdin.flush()

        def sent():
            total = 0
            for port in ports.counted():
                say(f"show port stats {port}")
                text = read_until(process, r"Tx-pps(?s:.)*testpmd> $", 30)
                total += int(re.search(ports.direction + r"-packets:\s*(\d+)", text).group(1))
            return total, worker_seconds(process)

        time.sleep(1)  # a memif is connected a moment after its port has been started
        for words in begin:
            say(words)
            read_until(process, r"testpmd> $", 30)
        time.sleep(0.5)
        before, t0 = sent()
        time.sleep(seconds)
        after, t1 = sent()
        say("stop")
        say("quit")
        process.wait(60)
        if t1 == t0:
            raise RuntimeError("testpmd has not started forwarding")
        return workers * (after - before) / (t1 - t0)
    finally:
        process.kill()
        process.wait()


def polling(ports, workers):
    """Each worker polls its own pairs of ports, or queues."""
    if workers == 1:
        return []
    queues = [f"({port},{queue},{1 + i % workers})" for i, pair in enumerate(ports.queues())
              for port, queue in pair]
    return ["--config=" + ",".join(queues)] if queues else []


def process_seconds(process):
    """CPU time the main thread of a program has had."""
    with open(f"/proc/{process.pid}/schedstat") as file:
        return int(file.read().split()[0]) / 1e9


def noref(commands, ports, seconds, burst, workers=1, build=None, extra=None, options=(),
          drops_allowed=("tx_full",), beside=None, beside_counts=None, begin=(), preload=None,
          during=None):
    """Packets per second at the ports that are counted; and what `extra` commands answer.

    begin: commands once traffic flows. extra: commands after the measurement. preload: a shared
    object to run it with. during: called with the control socket's path, a function that measures
    (packets at the counted ports, CPU seconds) and ask(); it takes the place of waiting so many
    seconds.
    beside: a command to be run along with it, SOCKET standing for the control socket. Then the
    second result is what beside_counts(ask) has gone up by per second of that program's CPU time."""
    build = build or build_dir()
    with tempfile.TemporaryDirectory() as folder:
        config = os.path.join(folder, "router.conf")
        with open(config, "w") as file:
            file.write(commands)
        socket = os.path.join(folder, "ctl.sock")
        command = [os.path.join(build, "src", "noref"), *eal("noref", ports, workers), "--",
                   f"--cmdline-file={config}", f"--ctl={socket}", f"--burst={burst}",
                   f"--total-num-mbufs={MBUFS}", *polling(ports, workers), *options]
        log = open(os.path.join(folder, "log"), "w+")
        other = None
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log,
                                   stderr=subprocess.STDOUT,
                                   env={**os.environ, **({"LD_PRELOAD": preload} if preload else {})})

        def ask(words):
            answer = subprocess.run(
                [os.path.join(build, "tools", "noref-ctl"), "-s", socket, "-j", *words.split()],
                capture_output=True, text=True, check=True)
            return json.loads(answer.stdout or "null")

        try:
            end = time.monotonic() + 180
            while not os.path.exists(socket):
                if process.poll() is not None or time.monotonic() > end:
                    log.seek(0)
                    raise RuntimeError("noref did not start:\n" + log.read()[-2000:])
                time.sleep(0.05)

            if beside:
                other = subprocess.Popen([w.replace("SOCKET", socket) for w in beside],
                                         stdin=subprocess.DEVNULL, stdout=log, stderr=log)

            def sent():
                stats = {p["port"]: p[ports.counter] for p in ask("show port stats all")}
                return (sum(stats[port] for port in ports.counted()),
                        worker_seconds(process))

            time.sleep(0.5)
            for words in begin:
                ask(words)
            if beside:
                count0, other0 = beside_counts(ask), process_seconds(other)
            before, t0 = sent()
            if during:
                during(socket, sent, ask)
            else:
                time.sleep(seconds)
            after, t1 = sent()
            answers = [ask(words) for words in extra or []]
            if beside:
                answers = (beside_counts(ask) - count0) / (process_seconds(other) - other0)
                other.terminate()
                other.wait(60)
            drops = ask("show drops")
            process.terminate()
            process.wait(60)
            if drops.keys() - set(drops_allowed):
                raise RuntimeError(f"noref dropped packets: {drops}")
            return workers * (after - before) / (t1 - t0), answers
        finally:
            for one in [process] + [other] * bool(other):
                one.kill()
                one.wait()
            log.close()
