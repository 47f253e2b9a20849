# SPDX-License-Identifier: BSD-3-Clause
"""A laboratory of network namespaces: kernels as peers, noref between them.

    with Lab(settings) as lab:
        src, router, dst = lab.namespaces("src", "router", "dst")
        lab.wire(src, "s0", router, "n0")
        noref = lab.noref(router, ["net_af_packet0,iface=n0"], "ip addr add 192.0.2.1/24 dev 0")

Leaving it stops every process, checks every noref (balance, buffers, exit
status, sanitizers) and removes every namespace, whatever happened inside.
"""

import contextlib
import ctypes
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import time

LIBC = ctypes.CDLL("libc.so.6", use_errno=True)
CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG = 1
PREFIX = "noref"


class Skip(Exception):
    """The machine lacks something this test needs; the text says what."""


class CommandError(AssertionError):
    """A command failed that should not have."""


def die_with_parent():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def words(command):
    return shlex.split(command) if isinstance(command, str) else list(command)


def run(command, check=True, timeout=20):
    """Run a command; its output (both streams) as text. With check, a failure is an error."""
    command = words(command)
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=timeout, preexec_fn=die_with_parent)
    if check and done.returncode:
        raise CommandError(f"{shlex.join(command)}: exit status {done.returncode}\n{done.stdout}")
    return done.stdout


def wait_until(condition, timeout=5.0, what="the condition"):
    """Poll until condition() is true (its value is returned); fail after timeout seconds."""
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {timeout:g} s in vain for {what}")
        time.sleep(0.05)


class Namespace:
    """A network namespace: a kernel of its own as far as networks go."""

    def __init__(self, name):
        self.name = name
        run(["ip", "netns", "add", name])
        # No duplicate address detection, no router solicitations: tests start at once.
        for key in ("accept_dad", "dad_transmits", "router_solicitations", "autoconf", "accept_ra"):
            self.sysctl(f"ipv6.conf.default.{key}", 0)
        for which in ("all", "default"):
            self.sysctl(f"ipv6.conf.{which}.seg6_enabled", 1)
            self.sysctl(f"ipv4.conf.{which}.rp_filter", 0)
        self.ip("link set lo up")

    def ip(self, arguments, check=True):
        return run(["ip", "-n", self.name] + words(arguments), check)

    def ip_json(self, arguments):
        return json.loads(run(["ip", "-n", self.name, "-j"] + words(arguments)) or "[]")

    def run(self, command, check=True, timeout=20):
        return run(["ip", "netns", "exec", self.name] + words(command), check, timeout)

    @contextlib.contextmanager
    def entered(self):
        """Sockets made inside belong to this namespace for good."""
        with open("/proc/self/ns/net") as home, open(f"/run/netns/{self.name}") as there:
            if LIBC.setns(there.fileno(), CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), "setns")
            try:
                yield
            finally:
                LIBC.setns(home.fileno(), CLONE_NEWNET)

    def sysctl(self, key, value):
        """A key below net., for example ipv4.ip_forward; interface names must have no dots."""
        with self.entered(), open("/proc/sys/net/" + key.replace(".", "/"), "w") as file:
            file.write(str(value))

    def forwarding(self):
        self.sysctl("ipv4.ip_forward", 1)
        self.sysctl("ipv6.conf.all.forwarding", 1)

    def counter(self, group, name):
        """A counter of /proc/net/snmp, for example ("Udp", "InCsumErrors")."""
        with self.entered(), open("/proc/self/net/snmp") as file:
            lines = [line.split() for line in file if line.startswith(group + ":")]
        return int(dict(zip(lines[0][1:], lines[1][1:]))[name])

    def mac(self, device):
        return self.ip_json(f"link show dev {device}")[0]["address"]

    def ping(self, address, count=3, options="", timeout=2):
        """Answers to count echo requests, and what ping printed."""
        command = f"ping -n -c {count} -i 0.05 -W {timeout} {options} {address}"
        text = self.run(command, check=False, timeout=timeout + count + 10)
        match = re.search(r"(\d+) received", text)
        return int(match.group(1)) if match else 0, text

    def must_ping(self, address, count=3, options="", timeout=2):
        answers, text = self.ping(address, count, options, timeout)
        if answers != count:
            raise AssertionError(f"ping {address}: {answers} answers to {count}\n{text}")
        return text


class Noref:
    """One running noref."""

    def __init__(self, lab, name, namespace, devices, script, options, lcores, eal):
        self.lab = lab
        self.name = name
        self.namespace = namespace
        self.folder = os.path.join(lab.folder, name)
        os.mkdir(self.folder)
        self.socket = os.path.join(self.folder, "ctl.sock")
        self.log_path = os.path.join(self.folder, "log")
        script_path = os.path.join(self.folder, "script")
        with open(script_path, "w") as file:
            file.write("\n".join(line.strip() for line in script.strip().splitlines()) + "\n")

        memory = ["--in-memory", "-m", "128"] if lab.settings.hugepages else ["--no-huge"]
        command = [lab.settings.noref, *memory, "--no-pci", "--no-telemetry", "--file-prefix",
                   f"{PREFIX}-{os.getpid()}-{lab.number}-{name}", "--lcores", lcores or lab.lcores(), *words(eal)]
        for device in devices:
            command += ["--vdev", device]
        command += ["--", f"--ctl={self.socket}", f"--cmdline-file={script_path}", *words(options)]
        if namespace:
            command = ["ip", "netns", "exec", namespace.name] + command
        with open(os.path.join(self.folder, "command"), "w") as file:
            file.write(shlex.join(command) + "\n")
        with open(self.log_path, "w") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                                            preexec_fn=die_with_parent)
        self.in_use_at_start = None
        self.final_log = ""

    def log(self):
        with open(self.log_path, errors="replace") as file:
            return file.read()

    def wait_ready(self, timeout=20):
        def ready():
            if self.process.poll() is not None:
                raise AssertionError(f"{self.name} ended with status {self.process.returncode}\n{self.log()}")
            return os.path.exists(self.socket) and self.ctl_status("show version")[0] == 0
        wait_until(ready, timeout, f"{self.name} to answer on its control socket\n{self.log()}")
        self.in_use_at_start = self.in_use()
        return self

    # --- its console ---

    def ctl_status(self, command, as_json=False):
        line = [self.lab.settings.ctl, "-s", self.socket] + (["-j"] if as_json else []) + words(command)
        done = subprocess.run(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=20)
        return done.returncode, done.stdout, done.stderr

    def ctl(self, command):
        status, output, error = self.ctl_status(command)
        if status:
            raise CommandError(f"noref-ctl {command}: exit status {status}: {error}")
        return output

    def json(self, command):
        status, output, error = self.ctl_status(command, as_json=True)
        if status:
            raise CommandError(f"noref-ctl -j {command}: exit status {status}: {error}")
        try:
            return json.loads(output)
        except json.JSONDecodeError as problem:
            raise AssertionError(f"noref-ctl -j {command}: {problem}\n{output}") from None

    def refused(self, command):
        """The error of a command that must fail."""
        status, output, error = self.ctl_status(command)
        assert status == 1 and error.strip(), f"{command}: status {status}, '{output}', '{error}'"
        return error.strip()

    def drops(self):
        return self.json("show drops")

    def sid(self, sid):
        for entry in self.json("show sid"):
            if entry["sid"].split("/")[0] == sid:
                return entry
        raise AssertionError(f"no SID {sid} in show sid")

    def port(self, number):
        return next(port for port in self.json("show port stats all") if port["port"] == number)

    def neighbour(self, address):
        return next((entry for entry in self.json("ip neigh show") if entry["dst"] == address), None)

    def in_use(self):
        return sum(pool["in_use"] for pool in self.json("show pool"))

    def balance(self):
        return self.json("show balance")

    # --- its end ---

    def check_account(self):
        """Every packet is accounted for, and buffers came back."""
        def balanced():
            b = self.balance()
            return b["received"] + b["originated"] == b["transmitted"] + b["delivered"] + b["dropped"] + b["held"]
        wait_until(balanced, 3, f"show balance to add up, last: {self.balance()}")
        slack = 64 * len(self.json("show port stats all"))
        wait_until(lambda: self.in_use() <= self.in_use_at_start + slack, 5,
                   f"buffers to come back: {self.in_use_at_start} in use at the start, {self.in_use()} now")

    def stop(self, check=True):
        """SIGTERM; checks the way it ends."""
        if self.process.poll() is None and check and self.in_use_at_start is not None:
            self.check_account()
        running = self.process.poll() is None
        if running:
            self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"{self.name} did not end within 15 s of SIGTERM\n{self.log()}") from None
        text = self.log()
        problem = re.search(r"(ERROR: \w+Sanitizer|runtime error:|buffers? (lost|missing|leaked)).*", text)
        if check:
            assert not problem, f"{self.name}: {problem.group(0)}\n{text}"
            assert status == 0, f"{self.name} ended with status {status}\n{text}"
            assert running, f"{self.name} had ended by itself\n{text}"
        return text


def quick(test):
    """Marks a test that --quick runs, too."""
    test.quick = True
    return test


class Lab:
    """Everything one test makes, removed at its end."""

    count = 0

    def __init__(self, settings):
        Lab.count += 1
        self.number = Lab.count
        self.settings = settings
        self.folder = tempfile.mkdtemp(prefix=f"noref-net-{self.number}-", dir=settings.keep)
        self.all_namespaces = []
        self.routers = []  # whose end is checked when the test ends
        self.processes = []

    def lcores(self, workers=1):
        """--lcores for a control thread and workers, on the processors there are; workers of
        a second process begin on another one."""
        cpus = sorted(os.sched_getaffinity(0))
        first = len(self.routers)
        return ",".join(f"{lcore}@{cpus[(first + lcore) % len(cpus)]}" for lcore in range(workers + 1))

    def namespaces(self, *names):
        for name in names:
            self.all_namespaces.append(Namespace(f"{PREFIX}-{os.getpid()}-{self.number}-{name}"))
        return self.all_namespaces[-len(names):]

    def wire(self, left, left_device, right, right_device, mtu=1500):
        """A cable between two namespaces. Kernels compute whole checksums and send no
        super-packets: what noref gets is what a wire would carry."""
        left.ip(f"link add name {left_device} mtu {mtu} type veth peer name {right_device} mtu {mtu} "
                f"netns {right.name}")
        for namespace, device in ((left, left_device), (right, right_device)):
            namespace.run(f"ethtool -K {device} tx off tso off gso off gro off rxvlan off txvlan off", check=False)
            namespace.ip(f"link set {device} up")

    def port(self, namespace, device, peer, peer_device, mtu=1500):
        """A cable whose one end is a port of noref: that kernel keeps its hands off it."""
        namespace.sysctl("ipv6.conf.default.disable_ipv6", 1)
        self.wire(namespace, device, peer, peer_device, mtu)

    def start(self, namespace, devices, script="", name=None, options="", lcores=None, eal=""):
        """Start noref without waiting for it."""
        name = name or f"noref{len(self.routers)}"
        router = Noref(self, name, namespace, devices, script, options, lcores, eal)
        self.routers.append(router)
        self.processes.append(router.process)
        return router

    def noref(self, *arguments, **named):
        return self.start(*arguments, **named).wait_ready()

    def popen(self, namespace, command, **options):
        process = subprocess.Popen(["ip", "netns", "exec", namespace.name] + words(command),
                                   preexec_fn=die_with_parent, stdin=subprocess.DEVNULL, **options)
        self.processes.append(process)
        return process

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        try:
            for router in self.routers:
                if router.process.poll() is None or kind is None:
                    router.stop(check=kind is None)
        finally:
            self.remove()
        return False

    def remove(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait()
        for namespace in self.all_namespaces:
            run(["ip", "netns", "del", namespace.name], check=False)
        for router in self.routers:
            router.final_log = router.log()
        if not self.settings.keep:
            shutil.rmtree(self.folder, ignore_errors=True)


def remove_stale_namespaces():
    """Namespaces of runs that were killed."""
    for name in os.listdir("/run/netns") if os.path.isdir("/run/netns") else []:
        match = re.fullmatch(PREFIX + r"-(\d+)-\d+-\w+", name)
        if match and not os.path.exists(f"/proc/{match.group(1)}"):
            run(["ip", "netns", "del", name], check=False)
