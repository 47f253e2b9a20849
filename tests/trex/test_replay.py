# SPDX-License-Identifier: BSD-3-Clause
"""The profiles' packets through noref as router.conf makes it: all of them come out, bare."""

import pathlib
import re
import unittest

import harness
import packets
import profiles
from harness import Router
from profiles import TREX, frames, load, parse

DX4, DT4, END = "fc00:0:1:d4::/128", "fc00:0:1:100::/128", "fc00:0:1:e::/128"
CONFIG = (TREX / "router.conf").read_text() + "ip link set dev 0 any-mac on\n"
TREX_PORT_1 = "02:00:00:00:01:01"


def bare(frame):
    """What is inside, with a TTL one lower: what noref sends, behind its Ethernet header."""
    found, at = parse(frame), 14
    if "src6" in found:
        at += 40 + (8 + 16 * len(found["segments"]) if "segments" in found else 0)
    return packets.ip4_edit(frame[at:], ttl=63)


class Replay(unittest.TestCase):
    def replay(self, sent):
        with Router(CONFIG, {0: sent}, ports=2) as noref:
            noref.settle()
            return noref.finish()

    def through(self, *profile, sids, count=300):
        sent = frames(*profile, count=count)
        run = self.replay(sent)
        self.assertEqual(run.drops, {})
        self.assertEqual(len(run.sent[1]), len(sent))
        for came, went in zip(sent, run.sent[1], strict=True):
            self.assertEqual(went[:6].hex(":"), TREX_PORT_1)
            self.assertEqual(went[14:], bare(came))
        counted = {sid: entry["packets"] for sid, entry in run.sids.items() if entry["packets"]}
        self.assertEqual(counted, sids)

    def test_decap_dx4(self):
        self.through("srv6_decap", sids={DX4: 1500}, count=1500)

    def test_decap_dt4(self):
        self.through("srv6_decap", "--action", "dt4", "--inner-destinations", "250",
                     "--inner-sources", "33", sids={DT4: 300})

    def test_latency(self):
        self.through("srv6_decap", "--latency", "10", sids={DX4: 600})

    def test_srh(self):
        self.through("srv6_srh", sids={DX4: 300, DT4: 300})

    def test_srh_with_segments_left(self):
        """By way of End, which leads to another SID of the same router."""
        self.through("srv6_srh", "--left", "1", sids={END: 600, DX4: 300, DT4: 300})

    def test_imix(self):
        self.through("srv6_imix", sids={DT4: 900})

    def test_imix_with_srh(self):
        self.through("srv6_imix", "--segments", "2", "--mix", "130x3,1500x1", "--action", "dx4",
                     sids={DX4: 600})

    def test_flood(self):
        self.through("udp_flood", "--destination", "10.9.0.1", sids={})

    def test_flood_to_the_router_itself(self):
        """Nothing is forwarded, and nothing is lost from the account."""
        run = self.replay(frames("udp_flood", count=50))
        self.assertEqual(run.sent[1], [])

    def test_flood_to_a_socket(self):
        """As docs/trex.md binds it: everything is delivered, checksums and all."""
        for tunables in ((), ("--destination", "fc00:0:0:1::1")):
            sent = frames("udp_flood", *tunables, count=50)
            with self.subTest(tunables), \
                    Router(CONFIG + "udp bind [::]:5000 app sink\n", {0: sent}, ports=2) as noref:
                noref.settle()
                self.assertEqual(noref.ask("udp show")[0]["packets"], 50)
                self.assertEqual(noref.finish().drops, {})


class Configuration(unittest.TestCase):
    """trex_cfg.yaml for each kind of port, and router.conf, agree."""

    def read(self, name):
        return (TREX / "cfg" / name).read_text()

    def test_all_have_what_trex_needs(self):
        for name in ("82599.yaml", "memif.yaml", "veth.yaml"):
            text = self.read(name)
            with self.subTest(name):
                self.assertRegex(text, r"(?m)^- version: 2$")
                self.assertRegex(text, r"(?m)^  port_limit: 2$")
                self.assertEqual(len(re.findall(r"dest_mac: ", text)), 2)
                self.assertEqual(len(re.findall(r"src_mac: ", text)), 2 if name != "82599.yaml" else 0)

    def test_macs(self):
        """Made-up ones are those of router.conf; noref's ends have made-up ones, too."""
        config = (TREX / "router.conf").read_text()
        for name in ("memif.yaml", "veth.yaml"):
            for mac in re.findall(r"src_mac: \"([0-9a-f:]+)\"", self.read(name)):
                self.assertIn(f"lladdr {mac}", config)

    def test_memif_has_large_rings(self):
        self.assertEqual(len(re.findall(r"--vdev=net_memif.*rsize=14", self.read("memif.yaml"))), 2)

    def test_virtual_ones_are_low_end(self):
        for name in ("memif.yaml", "veth.yaml"):
            self.assertIn("low_end: true", self.read(name))

    def test_examples_in_the_manual(self):
        """Every profile that docs/trex.md starts loads with the tunables it is given there."""
        text = pathlib.Path(harness.ROOT / "docs" / "trex.md").read_text()
        for name, tunables in re.findall(r"start -f \S*?(\w+)\.py([^\n]*)", text):
            words = tunables.partition(" -t ")[2].split()
            with self.subTest(f"{name} {words}"):
                self.assertTrue(load(name, *words))
        for name in profiles.NAMES:
            self.assertIn(f"{name}.py", text)
