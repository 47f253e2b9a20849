# SPDX-License-Identifier: BSD-3-Clause
"""Mutated packets through the program and through a slow router: the same frames must leave."""

import pathlib
import unittest

import mutate
import packets as p
import test_endpoints
from cases import OwnAddresses
from harness import Router, read_pcap
from lab import ROUTER, SIDS
from model import Model, Unsure
from test_mutation import COUNT, SEED, case_frames, vector_frames

VECTORS = sorted(pathlib.Path(__file__).parent.glob("vectors/*/"))


class ModelItself(unittest.TestCase):
    def test_agrees_with_the_vectors(self):
        """They come from a model that has nothing to do with this one."""
        for folder in VECTORS:
            model = Model((folder / "router.conf").read_text())
            sent = {port: [] for port in range(4)}
            for frame in read_pcap(folder / "in0.pcap"):
                left = model.forward(0, frame)
                if left:
                    sent[left[0]].append(left[1])
            for port, frames in sent.items():
                with self.subTest(folder.name, port=port):
                    self.assertEqual(frames, read_pcap(folder / f"want{port}.pcap"))


class Differential(unittest.TestCase):
    def compare(self, config, frames, **how):
        model, fed, expected = Model(config), [], {port: [] for port in range(4)}
        own = OwnAddresses(config)
        for frame in frames:
            try:
                left = model.forward(0, frame)
            except Unsure:
                continue
            if left and own.sent(p.Frame(left[1])):
                continue  # could not be told from what the router says itself
            fed.append(frame)
            if left:
                expected[left[0]].append((left[1], frame))
        self.assertGreater(len(fed), len(frames) * 2 // 3, "too many frames are left out")
        with Router(config, {0: fed}, **how) as router:
            router.settle(timeout=60)
            run = router.finish()
        for port, wanted in expected.items():
            got = [f for f in run.sent[port] if not own.sent(p.Frame(f))]
            for number, (one, (two, cause)) in enumerate(zip(got, wanted)):
                if one != two:
                    self.fail(f"port {port}, frame {number}: sent\n  {p.describe(one)}\n"
                              f"expected\n  {p.describe(two)}\nbecause of\n  {cause.hex()}")
            extra = [p.describe(f) for f in got[len(wanted):len(wanted) + 3]]
            missing = [cause.hex() for _, cause in wanted[len(got):len(got) + 3]]
            self.assertEqual(len(got), len(wanted), f"port {port}: {extra}{missing}")

    def test_mutated_vectors(self):
        self.compare((VECTORS[0] / "router.conf").read_text(),
                     mutate.mutated(vector_frames(), COUNT, SEED + 10))

    def test_mutated_cases(self):
        self.compare(ROUTER + SIDS + test_endpoints.EndXFlavours.script
                     + test_endpoints.EndTFlavours.script,
                     mutate.mutated(case_frames(), COUNT, SEED + 11))
