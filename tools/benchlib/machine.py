# SPDX-License-Identifier: BSD-3-Clause
"""What benchmarks need of the machine: the build, huge pages, its clock."""

import contextlib
import os
import re
import subprocess
import time

HUGEPAGES = "/proc/sys/vm/nr_hugepages"


def root_dir():
    return os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", ".."))


def build_dir():
    return os.environ.get("NOREF_BUILD", os.path.join(root_dir(), "build"))


@contextlib.contextmanager
def hugepages(mebibytes):
    """Reserve 2 MiB pages while the benchmark runs, and give them back."""
    with open(HUGEPAGES) as file:
        before = int(file.read())
    wanted = max(before, mebibytes // 2)
    try:
        with open(HUGEPAGES, "w") as file:
            file.write(str(wanted))
        with open(HUGEPAGES) as file:
            got = int(file.read())
        if got < wanted:
            raise SystemExit(f"only {got} of {wanted} huge pages could be had: free some memory")
        yield
    finally:
        with open(HUGEPAGES, "w") as file:
            file.write(str(before))


NEAR = 100  # ns; inside one L3 a line takes 20 to 60, from another 200 and more


def line_ns():
    """How long a cache line takes from CPU 0 to CPU 1 at this moment."""
    program = os.path.join(build_dir(), "tests", "bench_line")
    return float(subprocess.run([program], capture_output=True, text=True, check=True).stdout)


def near(seconds=60):
    """Wait until a line crosses quickly; False if it does not within that time."""
    end = time.monotonic() + seconds
    while line_ns() >= NEAR:
        if time.monotonic() > end:
            return False
        time.sleep(0.2)
    return True


def tsc_hz():
    """The time stamp counter's rate, from the kernel's log or its CPU description."""
    log = subprocess.run(["dmesg"], capture_output=True, text=True, check=False).stdout
    found = re.findall(r"tsc: (?:Detected|Refined TSC clocksource calibration:) ([\d.]+) MHz", log)
    if found:
        return float(found[-1]) * 1e6
    with open("/proc/cpuinfo") as file:
        return float(re.search(r"cpu MHz\s*:\s*([\d.]+)", file.read()).group(1)) * 1e6


def describe():
    with open("/proc/cpuinfo") as file:
        model = re.search(r"model name\s*:\s*(.*)", file.read()).group(1)
    load = os.getloadavg()[0]
    return (f"{model}, {os.cpu_count()} CPUs, TSC {tsc_hz() / 1e9:.2f} GHz, "
            f"kernel {os.uname().release}, load {load:.1f}")
