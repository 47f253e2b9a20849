# SPDX-License-Identifier: BSD-3-Clause
"""noref on modelled 82599s: a Bench is a running program and the cables of its NICs.

    with Bench(config, nics=2, args=["--rxq=2"]) as bench:
        bench.play(0, frames)
        bench.until(lambda: bench.balance()["received"] == len(frames), "all frames")
        run = bench.finish()

What holds for every run (exit status, account, buffers) is checked by finish(), as in
the packet tests, whose harness this builds on. Environment: NOREF, NOREF_CTL and
NIC82599_MODEL name the programs and the model (default: build/ of this tree).
"""

import os
import pathlib
import signal
import socket
import stat
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "packet"))

import harness  # noqa: E402  (found by the line above)
from harness import Failed  # noqa: E402,F401

MAC = [f"00:1b:21:82:59:9{number}" for number in range(4)]
PEER = [f"02:00:00:00:00:{number + 1:02x}" for number in range(4)]

# Registers tests look at, as model/regs.h has them.
MRQC, RETA, RSSRK, HLREG0, MAXFRS = 0x5818, 0x5C00, 0x5C80, 0x4240, 0x4268
CTRL, RXCTRL, DMATXCTL = 0x0000, 0x3000, 0x4A80
CTRL_RST = 1 << 26


def rx_queue(number, word):
    return (0x1000 + number * 0x40 if number < 64 else 0xD000 + (number - 64) * 0x40) + word


def tx_queue(number, word):
    return 0x6000 + number * 0x40 + word


LENGTH, SRRCTL, CONTROL = 0x08, 0x14, 0x28
ENABLE, DROP_EN = 1 << 25, 1 << 28


def model():
    return os.environ.get("NIC82599_MODEL", str(
        harness.ROOT / "build" / "tests" / "nic82599" / "libnic82599.so"))


def world_writable(path):
    """EAL's -d refuses objects below such a folder."""
    return any(folder.stat().st_mode & stat.S_IWOTH for folder in pathlib.Path(path).resolve().parents)


class Space:
    """The folder and command line of one run; what harness.Router expects of a workspace."""

    def __init__(self, config, specs, args, lcores, memory):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="noref-82599-"))
        self.prefix = f"noref-82599-{os.getpid()}-{next(harness._serial)}"
        self.specs = list(specs)
        self.played = 0
        (self.folder / "router.conf").write_text(config)
        load, preload = ["-d", model()], {}
        if world_writable(model()):
            load, preload = [], {"LD_PRELOAD": model()}
        self.env = {"NIC82599": self.description(), "NIC82599_CTL": str(self.folder / "model"),
                    **preload}
        self.command = [harness.noref(), *load, "--no-huge", "--iova-mode=va", "-m", str(memory),
                        *lcores, f"--file-prefix={self.prefix}", "--no-telemetry"]
        for number in range(len(self.specs)):
            self.command += ["-a", f"0000:82:00.{number}"]
        self.command += ["--", f"--cmdline-file={self.folder / 'router.conf'}", *args]

    def description(self):
        return ";".join(f"{spec},tx={self.folder / f'out{number}.pcap'}"
                        for number, spec in enumerate(self.specs))

    def frames_in(self):
        return self.played

    def sent(self):
        return {number: harness.read_pcap(self.folder / f"out{number}.pcap")
                for number in range(len(self.specs))}

    def remove(self):
        harness.shutil.rmtree(self.folder, ignore_errors=True)
        harness.forget_prefix(self.prefix)


class Bench(harness.Router):
    """A running noref with so many 82599s. specs: the model's description of each, instead;
    command: makes the command line of another program from the Space."""

    def __init__(self, config="", nics=2, args=(), lcores=("-l", "0,1"), memory=256, specs=None,
                 command=None, stdin=subprocess.DEVNULL):
        self.space = Space(config, specs or ["id=10fb"] * nics, [], lcores, memory)
        self.path = self.space.folder / "ctl" / "noref.sock"
        self.path.parent.mkdir(mode=0o700)
        self.space.command += [f"--ctl={self.path}", *args]
        self.out = open(self.space.folder / "stdout", "wb+")
        self.err = open(self.space.folder / "stderr", "wb+")
        self.client = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.client.bind(str(self.space.folder / "client"))
        self.client.settimeout(harness.TIMEOUT)
        self.process = subprocess.Popen(command(self.space) if command else self.space.command,
                                        env={**harness.environment(), **self.space.env},
                                        stdin=stdin, stdout=self.out, stderr=self.err)

    def close(self):
        self.client.close()
        super().close()

    # -- the model --

    def model(self, number, command):
        """What a NIC answers to a command of the model; see model/control.c."""
        self.client.sendto(f"{number} {command}".encode(), str(self.space.folder / "model"))
        word, _, rest = self.client.recv(4096).decode().partition(" ")
        if word != "ok":
            raise Failed(f"model: '{number} {command}': {rest}")
        return rest

    def truth(self, number):
        """What really happened at a NIC."""
        return {key: int(value) for key, value in
                (pair.split("=") for pair in self.model(number, "stat").split())}

    def queues(self, number):
        """Frames put into each receive queue."""
        return {int(key): int(value) for key, value in
                (pair.split("=") for pair in self.model(number, "queues").split())}

    def register(self, number, address):
        return int(self.model(number, f"reg {address:#x}"), 16)

    def registers(self, number, first, count):
        return [self.register(number, first + 4 * index) for index in range(count)]

    def play(self, number, frames, count=True):
        """Frames come in at a NIC now. count: the program is expected to receive them all."""
        path = self.space.folder / f"in{number}.pcap"
        harness.write_pcap(path, frames)
        self.model(number, f"rx {path}")
        if count:
            self.space.played += len(frames)

    def inject(self, number, frame, count=True):
        """One frame comes in at a NIC now, whatever else is played or held; count as in play()."""
        self.model(number, f"inject {frame.hex()}")
        if count:
            self.space.played += 1

    def played(self, number):
        """Everything has come in at the NIC."""
        return self.truth(number)["waiting"] == 0

    def arrive(self, number, frames):
        """Play, and wait until the program has done with all of it."""
        self.play(number, frames)
        self.settle()

    def sent(self):
        if self.process.poll() is None:
            for number in range(len(self.space.specs)):
                self.model(number, "flush")
        return self.space.sent()

    def link_is(self, number, up):
        self.until(lambda: self.ask(f"show port info {number}")[0]["link_up"] is up,
                   f"link of port {number} {'up' if up else 'down'}")

    # -- the end --

    def wait_sent(self, number, count):
        self.until(lambda: self.truth(number)["sent"] >= count, f"{count} frames sent by NIC {number}")

    def check_account(self, run, infinite):
        """Receive rings stay filled while ports run: buffers are checked when they are closed."""
        run.pool = []
        super().check_account(run, infinite)
        if "buffers missing" in run.stdout:
            raise Failed(f"buffers were lost:\n{run.stdout[-2000:]}")

    def check_ports(self, run):
        """What a port counts is compared with the wire by a test of its own."""

    def terminate(self):
        """SIGTERM; returns exit status and what was printed on stdout."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(harness.TIMEOUT), self.printed()[0]


def start_fails(args, specs=("id=10fb",), lcores=("-l", "0,1"), memory=256, config=""):
    """Start with something wrong: (status, stdout, stderr)."""
    space = Space(config, specs, ["--ctl=none", *args], lcores, memory)
    try:
        done = subprocess.run(space.command, env={**harness.environment(), **space.env},
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=harness.TIMEOUT)
        return done.returncode, done.stdout, done.stderr
    finally:
        space.remove()
