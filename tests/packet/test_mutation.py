# SPDX-License-Identifier: BSD-3-Clause
"""Ten thousand mutated packets, and every prefix of valid ones: balanced, pool full again.

Meant for a build with sanitizers; the harness fails on any report.
NOREF_SEED and NOREF_COUNT choose another set.
"""

import os
import pathlib
import unittest

import mutate
from harness import Router, read_pcap
from lab import ROUTER, SIDS
import test_endpoints
import test_icmp
import test_jumbo
import test_l2
import test_malformed
import test_neighbours

FOLDER = pathlib.Path(__file__).parent / "vectors" / "endpoints-11"
SEED = int(os.environ.get("NOREF_SEED", "1"))
COUNT = int(os.environ.get("NOREF_COUNT", "10000"))


def vector_frames():
    return [f for f in read_pcap(FOLDER / "in0.pcap") if len(f) >= 14]


def case_frames(to=0):
    """Every kind of packet the other tests send to a port, short ones only."""
    found = []
    for module in (test_endpoints, test_icmp, test_l2, test_malformed, test_neighbours):
        for name in sorted(vars(module)):
            found += [frame for case in getattr(vars(module)[name], "cases", ())
                      for port, frame in case.sent if port == to and 14 <= len(frame) <= 300]
    return found


class Mutation(unittest.TestCase):
    def survives(self, config, *captures, **how):
        """One capture for each port. Router.finish checks status, sanitizers, balance, pool."""
        with Router(config, dict(enumerate(captures)), **how) as router:
            router.settle(timeout=60)
            router.finish()

    def test_mutated_vectors(self):
        self.survives((FOLDER / "router.conf").read_text(),
                      mutate.mutated(vector_frames(), COUNT, SEED))

    def test_mutated_cases(self):
        """Packets with every extension header, option, behaviour, ARP and ND these tests know."""
        self.survives(ROUTER + SIDS + test_endpoints.EndXFlavours.script
                      + test_endpoints.EndTFlavours.script,
                      mutate.mutated(case_frames(), COUNT, SEED + 1))

    def test_mutated_neighbours(self):
        """ARP, neighbour discovery and echo on a link of hosts, among them VLANs."""
        self.survives(test_l2.Vlan.router, [], mutate.mutated(case_frames(to=1), COUNT, SEED + 4))

    def test_mutated_in_several_buffers(self):
        large = [frame for cls in (test_jumbo.Jumbo, test_jumbo.SmallBuffers)
                 for case in cls.cases for _, frame in case.sent if len(frame) > 1500]
        self.survives(test_jumbo.Jumbo.router, mutate.mutated(large, COUNT // 4, SEED + 2, 9014),
                      args=test_jumbo.SmallBuffers.args)

    def test_mutated_with_two_workers(self):
        self.survives(ROUTER + SIDS, mutate.mutated(case_frames(), COUNT // 4, SEED + 3),
                      lcores=["--lcores", "0@0,1@1,2@0"])

    def test_every_prefix_of_valid_packets(self):
        self.survives((FOLDER / "router.conf").read_text(), mutate.prefixes(vector_frames()))
