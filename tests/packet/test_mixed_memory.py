# SPDX-License-Identifier: BSD-3-Clause
"""Packets whose segments are clones, external memory, other pools' buffers, or all of these
in one chain, through the whole program. What somebody else holds must stay as it was, each buffer
must return to where it came from (the preloaded library looks), and what comes out must be
what comes out for plain packets."""

import os
import pathlib
import unittest

import harness
import packets as p
import test_vectors
import test_xdp
from cases import SOURCE_MAC
from harness import Router
from lab import PORT_MAC, ROUTER, SIDS
from test_xdp import VIA, flow_of, forwarded, frame, packet, swapped

LIBRARY = "tests/mixed_memory/libmixed_memory.so"
MEMORY = ("-m", "256")  # the library makes a pool, too


def preload(space):
    """Run the program with the library in front; sanitizers then are not the first."""
    library = pathlib.Path(harness.noref()).parent.parent / LIBRARY
    options = os.environ.get("ASAN_OPTIONS", "")
    assert library.exists(), library
    space.command[:0] = ["env", f"LD_PRELOAD={library}",
                         f"ASAN_OPTIONS={options}:verify_asan_link_order=0"]


class Case(unittest.TestCase):
    def check(self, run):
        self.assertRegex(run.stderr, r"mixed memory: all back of( [1-9]\d*){8}\n")


class Vectors(Case, test_vectors.Vectors):
    """The captures of test_vectors, in each of its ways."""

    def replayed(self, folder, **how):
        self.run_with(folder, test_vectors.Vectors.replayed, how)

    def counted(self, folder, **how):
        self.run_with(folder, test_vectors.Vectors.counted, how)

    def run_with(self, folder, run, how):
        run(self, folder, prepare=preload, eal=MEMORY, **how)


class Verdicts(Case):
    """Each verdict, rules, and datagrams to sockets."""
    lcores = ("-l", "0,1")
    sizes = (64, 300, 1400)

    def frames(self, count=240):
        return [frame(packet(n % 5, n, self.sizes[n % 3])) for n in range(count)]

    def run_config(self, config, frames, lcores=None):
        with Router(ROUTER + SIDS + config, {0: frames}, lcores=lcores or self.lcores,
                    eal=MEMORY, prepare=preload) as router:
            router.settle()
            run = router.finish()
        self.check(run)
        return run

    def test_drop(self):
        frames = self.frames()
        run = self.run_config("xdp set dev 0 drop\n", frames)
        self.assertEqual(run.drops, {"xdp_drop": len(frames)})

    def test_tx(self):
        frames = self.frames()
        run = self.run_config("xdp set dev 0 tx\n", frames)
        self.assertEqual(run.sent[0], [swapped(f) for f in frames])

    def test_redirect_to_a_port(self):
        frames = self.frames()
        run = self.run_config("xdp set dev 0 redirect dev 2\n", frames)
        self.assertEqual(run.sent[2], frames)
        self.assertEqual(run.pool[0]["copied"], 0)

    def test_redirect_to_workers(self):
        frames = self.frames()
        run = self.run_config("xdp set dev 0 redirect cpu 2,3 hash outer\n", frames,
                              lcores=test_xdp.WORKERS)
        want = [forwarded(f) for f in frames]
        self.assertEqual(sorted(run.sent[1]), sorted(want))
        for flow in {flow_of(f) for f in want}:
            self.assertEqual([f for f in run.sent[1] if flow_of(f) == flow],
                             [f for f in want if flow_of(f) == flow], "order within a flow")

    def test_rules(self):
        frames = self.frames()
        run = self.run_config(
            "flow create 0 ingress skip_hw pattern eth / ipv4 src is 11.0.1.1 / end actions drop / "
            "end\n"
            "flow create 0 ingress skip_hw pattern eth / ipv4 src is 11.0.2.1 / end actions "
            "represented_port ethdev_port_id 3 / end\n", frames)
        self.assertEqual(run.drops, {"flow_drop": len(frames) // 5})
        self.assertEqual(run.sent[3], frames[2::5])
        self.assertEqual(run.sent[1], [forwarded(f) for n, f in enumerate(frames)
                                       if n % 5 not in (1, 2)])

    def test_echo(self):
        frames = [p.eth(PORT_MAC[0], SOURCE_MAC,
                        p.ip4("10.0.0.2", "10.0.0.1", p.UDP,
                              p.udp((b"%d" % n).ljust(self.sizes[n % 3], b"."), sport=n + 1,
                                    dport=7)))
                  for n in range(240)]
        run = self.run_config("udp bind *:7 app echo\n", frames)
        answers = [p.Frame(f) for f in run.sent[0]]
        self.assertEqual([f[14 + 28:] for f in run.sent[0]], [f[14 + 28:] for f in frames])
        self.assertEqual(len(answers), len(frames))

    def test_fragments_are_made(self):
        """Packets too large for the way out: what is sent is made of the mixed segments."""
        frames = [frame(packet(n % 5, n, 1400)) for n in range(240)]
        run = self.run_config("ip link set dev 1 mtu 600\n", frames)
        self.assertEqual(len(run.sent[1]), 3 * len(frames))
        self.assertEqual({f[:12] for f in run.sent[1]},
                         {bytes.fromhex((VIA[1] + PORT_MAC[1]).replace(":", ""))})
