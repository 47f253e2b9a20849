# SPDX-License-Identifier: BSD-3-Clause
"""Run noref on captures and read what it did.

Router   a running program with its control socket: for everything that counts.
replay   captures in, exit on idle, captures out: for comparing frames alone.

Both check what holds for every run: exit status 0, nothing reported by a
sanitizer; Router.finish() also that the account balances, that nothing is held and
that every buffer is back.

Environment: NOREF and NOREF_CTL name the programs (default: build/ of this
tree); NOREF_TIMEOUT is the limit in seconds for each wait (default 30).
"""

import itertools
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import tempfile
import time
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).resolve().parents[2]
TIMEOUT = float(os.environ.get("NOREF_TIMEOUT", "30"))
SANITIZER = re.compile(r"AddressSanitizer|LeakSanitizer|ThreadSanitizer|UndefinedBehaviorSanitizer"
                       r"|runtime error:")
BALANCE = ("received", "originated", "transmitted", "delivered", "dropped", "held")

_serial = itertools.count()


class Failed(AssertionError):
    """The program did not do what every run must do."""


def noref():
    return os.environ.get("NOREF", str(ROOT / "build" / "src" / "noref"))


def noref_ctl():
    beside = pathlib.Path(noref()).resolve().parents[1] / "tools" / "noref-ctl"
    return os.environ.get("NOREF_CTL", str(beside))


# --- capture files ---------------------------------------------------------------


def write_pcap(path, frames):
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1))
        for number, frame in enumerate(frames):
            seconds, micros = divmod(number, 1000000)
            out.write(struct.pack("<IIII", seconds, micros, len(frame), len(frame)) + frame)


def read_pcap(path):
    """The frames of a capture; one that is still being written ends at its last whole frame."""
    data = pathlib.Path(path).read_bytes()
    if len(data) < 24:
        return []
    magic = struct.unpack("<I", data[:4])[0]
    order = "<" if magic in (0xA1B2C3D4, 0xA1B23C4D) else ">"
    frames, at = [], 24
    while at + 16 <= len(data):
        size = struct.unpack(order + "I", data[at + 8:at + 12])[0]
        if at + 16 + size > len(data):
            break
        frames.append(data[at + 16:at + 16 + size])
        at += 16 + size
    return frames


# --- the program -------------------------------------------------------------------


def environment():
    env = dict(os.environ)
    env.setdefault("UBSAN_OPTIONS", "print_stacktrace=1")
    return env


def forget_prefix(prefix):
    """Remove what EAL leaves in its runtime folder."""
    for base in ("/var/run/dpdk", "/tmp/dpdk", os.environ.get("XDG_RUNTIME_DIR", "") + "/dpdk"):
        shutil.rmtree(os.path.join(base, prefix), ignore_errors=True)


class Workspace:
    """A folder with the captures and the script of one run, and the command line for it."""

    def __init__(self, config="", captures=None, ports=4, eal=(), args=(), lcores=("-l", "0,1"),
                 vdevs=None, prepare=None, env=None):
        """vdevs: devices for some ports instead of captures, %FOLDER% standing for the folder;
        prepare: called with the Workspace before the program starts, env: more of an environment
        for it."""
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="noref-"))
        self.prefix = f"noref-test-{os.getpid()}-{next(_serial)}"
        self.captures = {port: list(frames) for port, frames in (captures or {}).items()}
        self.ports = ports
        self.env = {name: value.replace("%FOLDER%", str(self.folder))
                    for name, value in (env or {}).items()}
        (self.folder / "router.conf").write_text(config)
        self.command = [noref(), "--no-huge", "--no-pci", *lcores,
                        f"--file-prefix={self.prefix}", "--no-telemetry", *eal]
        for port in range(ports):
            device = (vdevs or {}).get(port) or self.capture_vdev(port)
            self.command += ["--vdev", device.replace("%FOLDER%", str(self.folder))]
        if prepare:
            prepare(self)
        self.command += ["--", f"--cmdline-file={self.folder / 'router.conf'}", *args]

    def capture_vdev(self, port):
        received = ""
        if port in self.captures:
            write_pcap(self.path_in(port), self.captures[port])
            received = f"rx_pcap={self.path_in(port)},"
        return f"net_pcap{port},{received}tx_pcap={self.folder / f'out{port}.pcap'}"

    def path_in(self, port):
        return self.folder / f"in{port}.pcap"

    def frames_in(self):
        return sum(len(frames) for frames in self.captures.values())

    def sent(self):
        """Frames in the transmit capture of each port."""
        paths = {port: self.folder / f"out{port}.pcap" for port in range(self.ports)}
        return {port: read_pcap(path) if path.exists() else [] for port, path in paths.items()}

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        forget_prefix(self.prefix)


@dataclass
class Run:
    """What a run left behind. Counters are those of a Router; replays have none."""
    status: int
    stdout: str
    stderr: str
    sent: dict
    drops: dict = field(default_factory=dict)
    balance: dict = field(default_factory=dict)
    sids: dict = field(default_factory=dict)
    ports: list = field(default_factory=list)
    pool: list = field(default_factory=list)

    def check(self):
        report = SANITIZER.search(self.stderr) or SANITIZER.search(self.stdout)
        if report:
            raise Failed(f"a sanitizer reported:\n{self.tail()}")
        if self.status != 0:
            raise Failed(f"exit status {self.status}, expected 0:\n{self.tail()}")
        if "buffers missing" in self.stdout:
            raise Failed(f"buffers are lost:\n{self.tail()}")

    def tail(self, size=6000):
        return (self.stderr[-size:] + self.stdout[-size // 4:]).strip()


def launch(command, timeout=TIMEOUT, env=None):
    """Run a command to its end: (status, stdout, stderr)."""
    done = subprocess.run(command, env={**environment(), **(env or {})}, stdin=subprocess.DEVNULL, timeout=timeout,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          errors="replace")
    return done.returncode, done.stdout, done.stderr


def replay(config, captures, ports=4, idle=300, args=(), **workspace):
    """Captures in, wait until idle, captures out. Counters are not read."""
    space = Workspace(config, captures, ports,
                      args=["--ctl=none", f"--exit-on-idle={idle}", *args], **workspace)
    try:
        run = Run(*launch(space.command, env=space.env), sent=space.sent())
        run.check()
        return run
    finally:
        space.remove()


class Router:
    """A running noref. Use as a context manager; finish() asks for the counters and ends it.

        with Router(config, {0: frames}) as router:
            router.settle()
            run = router.finish()
    """

    fed = False  # captures have been given again since the start

    def __init__(self, config="", captures=None, ports=4, args=(), **workspace):
        self.space = Workspace(config, captures, ports, **workspace)
        self.path = self.space.folder / "ctl" / "noref.sock"
        self.path.parent.mkdir(mode=0o700)
        separator = self.space.command.index("--")
        self.space.command[separator + 1:separator + 1] = [f"--ctl={self.path}", *args]
        self.out = open(self.space.folder / "stdout", "wb+")
        self.err = open(self.space.folder / "stderr", "wb+")
        self.process = subprocess.Popen(self.space.command,
                                        env={**environment(), **self.space.env},
                                        stdin=subprocess.DEVNULL, stdout=self.out, stderr=self.err)

    def __enter__(self):
        try:
            self.until(self.answers, "the control socket to answer")
            return self
        except BaseException:
            self.close()
            raise

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.out.close()
        self.err.close()
        self.space.remove()

    def printed(self):
        return tuple((self.space.folder / name).read_text(errors="replace")
                     for name in ("stdout", "stderr"))

    def until(self, condition, what, timeout=TIMEOUT, every=0.03):
        """Wait for condition() to be true, and return what it returned."""
        limit = time.monotonic() + timeout
        while True:
            value = condition()
            if value:
                return value
            if self.process.poll() is not None:
                out, err = self.printed()
                raise Failed(f"ended with status {self.process.returncode} while waiting for "
                             f"{what}:\n{err[-6000:]}{out[-1000:]}")
            if time.monotonic() > limit:
                out, err = self.printed()
                raise Failed(f"waited {timeout:g} s for {what}; last: {value!r}; "
                             f"balance {self.try_ctl('show balance')[1].strip()}\n{err[-3000:]}")
            time.sleep(every)

    def answers(self):
        return self.path.exists() and self.try_ctl("show balance")[0] == 0

    # -- commands --

    def try_ctl(self, command, json_wanted=True, lines=None):
        """(status, stdout, stderr) of noref-ctl; lines: commands for its standard input."""
        words = [noref_ctl(), "-s", str(self.path)] + (["-j"] if json_wanted else [])
        done = subprocess.run(words + command.split(), env=environment(), text=True,
                              input=lines or "", timeout=TIMEOUT * 2, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, errors="replace")
        return done.returncode, done.stdout, done.stderr

    def ask(self, command):
        """The JSON document a command answers."""
        status, out, err = self.try_ctl(command)
        if status != 0:
            raise Failed(f"'{command}' failed: {err.strip()}")
        try:
            return json.loads(out)
        except ValueError as error:
            raise Failed(f"'{command}' did not answer JSON ({error}): {out[:300]!r}") from None

    def tell(self, command):
        """Run a command for its effect; returns its text."""
        status, out, err = self.try_ctl(command, json_wanted=False)
        if status != 0:
            raise Failed(f"'{command}' failed: {err.strip()}")
        return out

    # -- progress --

    def balance(self):
        document = self.ask("show balance")
        missing = [word for word in BALANCE if word not in document]
        if missing:
            raise Failed(f"show balance lacks {missing}: {document}")
        return document

    def received_all(self):
        return self.balance()["received"] >= self.space.frames_in()

    def settled(self):
        balance = self.balance()
        return balance["received"] >= self.space.frames_in() and balance["held"] == 0

    def settle(self, timeout=TIMEOUT):
        """Wait until every frame has come in and nothing is held."""
        self.until(self.settled, f"{self.space.frames_in()} frames received and none held",
                   timeout)

    def feed(self, port, frames):
        """A further capture for a port: it is stopped, given the frames, and started again.

        Its transmit capture begins anew; take what was sent before with sent().
        """
        self.fed = True
        self.tell(f"port stop {port}")
        write_pcap(self.space.path_in(port), frames)
        self.space.captures.setdefault(port, []).extend(frames)
        self.tell(f"port start {port}")

    def sent(self):
        return self.space.sent()

    # -- the end --

    def finish(self, balanced=True, infinite=False):
        """Counters, then `quit`; the Run has passed the checks of every run."""
        run = Run(0, "", "", {})
        run.balance, run.drops = self.balance(), self.ask("show drops")
        run.sids = {entry["sid"]: entry for entry in self.ask("show sid")}
        run.ports, run.pool = self.ask("show port stats all"), self.ask("show pool")
        self.tell("quit")
        try:
            run.status = self.process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            raise Failed(f"still running {TIMEOUT:g} s after quit") from None
        run.stdout, run.stderr = self.printed()
        run.sent = self.sent()
        run.check()
        if balanced:
            self.check_account(run, infinite)
        return run

    def check_account(self, run, infinite):
        b = run.balance
        left = b["received"] + b["originated"]
        right = b["transmitted"] + b["delivered"] + b["dropped"] + b["held"]
        if left != right:
            raise Failed(f"received + originated = {left}, transmitted + delivered + dropped + "
                         f"held = {right}: {b}")
        if b["dropped"] != sum(run.drops.values()):
            raise Failed(f"dropped {b['dropped']}, but by reason {run.drops}")
        if infinite:
            return
        if b["held"] != 0:
            raise Failed(f"packets are still held: {b}")
        if b["received"] != self.space.frames_in():
            raise Failed(f"received {b['received']} of {self.space.frames_in()} frames: "
                         f"{run.ports}")
        for pool in run.pool:
            self.check_pool(pool)
            if pool["in_use"] != 0:
                raise Failed(f"buffers in use though idle: {pool}")
        if not self.fed:
            self.check_ports(run)

    @staticmethod
    def check_pool(pool):
        """What a pool says of itself while nothing moves."""
        out = pool["alloc_cached"] + pool["alloc_slow"]
        back = pool["recycled_cached"] + pool["recycled_slow"]
        if out - back != pool["in_use"]:
            raise Failed(f"allocated {out}, recycled {back}, in use {pool['in_use']}: {pool}")
        if pool["in_use"] + pool["in_caches"] > pool["size"]:
            raise Failed(f"more buffers than there are: {pool}")

    def check_ports(self, run):
        """Each port has counted what is in its captures."""
        for entry in run.ports:
            port = entry["port"]
            counted = {word: entry[word] for word in ("rx_packets", "rx_bytes", "tx_packets",
                                                      "tx_bytes")}
            received, sent = self.space.captures.get(port, []), run.sent.get(port, [])
            captured = {"rx_packets": len(received), "rx_bytes": sum(map(len, received)),
                        "tx_packets": len(sent), "tx_bytes": sum(map(len, sent))}
            if counted != captured:
                raise Failed(f"port {port} counted {counted}, its captures hold {captured}")
