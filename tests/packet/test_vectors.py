# SPDX-License-Identifier: BSD-3-Clause
"""Whole captures against an independent model, however bursts and workers cut them up."""

import json
import pathlib
import unittest

import packets as p
from cases import OwnAddresses
from harness import Router, read_pcap, replay

FOLDERS = sorted(pathlib.Path(__file__).parent.glob("vectors/*/"))


class Vectors(unittest.TestCase):
    """One method for each folder and way of running it, made below."""

    def compare(self, folder, sent):
        own = OwnAddresses((folder / "router.conf").read_text())
        for port, frames in sent.items():
            got = [f for f in frames if not own.sent(p.Frame(f))]
            want = read_pcap(folder / f"want{port}.pcap")
            for number, (one, two) in enumerate(zip(got, want)):
                if one != two:
                    self.fail(f"port {port}, frame {number} (from 0):\n  sent     "
                              f"{p.describe(one)}\n  expected {p.describe(two)}")
            self.assertEqual(len(got), len(want), f"frames on port {port}")

    def replayed(self, folder, **how):
        run = replay((folder / "router.conf").read_text(), {0: read_pcap(folder / "in0.pcap")},
                     **how)
        self.compare(folder, run.sent)

    def counted(self, folder, **how):
        want = json.loads((folder / "want.json").read_text())
        with Router((folder / "router.conf").read_text(), {0: read_pcap(folder / "in0.pcap")},
                    **how) as router:
            router.settle()
            run = router.finish()
        self.compare(folder, run.sent)
        self.assertEqual(sum(run.drops.values()), sum(want["drops"].values()),
                         f"dropped {run.drops}, the model says {want['drops']}")


WAYS = {
    "counters": lambda test, folder: test.counted(folder),
    "burst_1": lambda test, folder: test.replayed(folder, args=["--burst=1"]),
    "burst_32": lambda test, folder: test.replayed(folder, args=["--burst=32"]),
    "two_workers": lambda test, folder: test.counted(
        folder, lcores=["--lcores", "0@0,1@1,2@0"]),
}

for _folder in FOLDERS:
    for _way, _run in WAYS.items():
        setattr(Vectors, f"test_{_folder.name.replace('-', '_')}_{_way}",
                lambda self, folder=_folder, run=_run: run(self, folder))
