# SPDX-License-Identifier: BSD-3-Clause
"""dpdk-dumpcap, a second process, looks at a port while packets pass."""

import os
import subprocess
import tempfile
import unittest

from harness import Router
from lab import ROUTER, SIDS
from test_xdp import frame, packet

PAGES = 96  # of 2 MiB: for two processes
RESERVED = "/proc/sys/vm/nr_hugepages"
FREE = "/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages"


def number(path):
    with open(path) as file:
        return int(file.read())


class Hugepages:
    """Pages in a file system of their own, which two processes can share."""

    def __enter__(self):
        self.before = number(RESERVED)
        if number(FREE) < PAGES:
            with open(RESERVED, "w") as file:
                file.write(str(self.before + PAGES))
        if number(FREE) < PAGES:
            self.give_back()
            raise unittest.SkipTest("no huge pages can be reserved here")
        self.folder = tempfile.mkdtemp()
        subprocess.run(["mount", "-t", "hugetlbfs", "-o", "pagesize=2M", "none", self.folder],
                       check=True)
        return self.folder

    def __exit__(self, *_):
        subprocess.run(["umount", self.folder], check=True)
        os.rmdir(self.folder)
        self.give_back()

    def give_back(self):
        with open(RESERVED, "w") as file:
            file.write(str(self.before))


class Dumpcap(unittest.TestCase):
    def test_frames_in_and_out(self):
        """It sees what comes in and what goes out, once each; the pool stays whole."""
        frames = [frame(packet(n % 5, n)) for n in range(64)]
        with Hugepages() as folder:
            def share(space):
                at = space.command.index("--no-huge")
                space.command[at:at + 1] = [f"--huge-dir={folder}", "-m", str(PAGES)]

            devices = {0: "net_pcap0,rx_pcap=%FOLDER%/in0.pcap,infinite_rx=1",
                       1: "net_null1,no-rx=1"}

            def prepare(space):
                space.capture_vdev(0)
                share(space)

            with Router(ROUTER + SIDS, {0: frames}, vdevs=devices, args=["--no-start"],
                        prepare=prepare) as router:
                before = router.ask("show pool")[0]["in_use"]
                router.tell("start")
                # Packets come by the million: that it ends by itself proves that it sees some.
                for port in (0, 1):
                    self.capture(router, port)
                router.tell("stop")
                router.until(lambda: router.balance()["held"] == 0, "nothing to be held")
                self.assertEqual(router.ask("show pool")[0]["in_use"], before)
                router.finish(infinite=True)

    def capture(self, router, port):
        seen = router.space.folder / f"seen{port}.pcapng"
        done = subprocess.run(
            ["dpdk-dumpcap", "--file-prefix", router.space.prefix, "-i", str(port), "-c", "500",
             "-w", str(seen)], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        text = subprocess.run(["tcpdump", "-nn", "-r", str(seen)], capture_output=True, text=True,
                              check=True).stdout
        self.assertGreaterEqual(text.count("UDP"), 500, text[:1000])
