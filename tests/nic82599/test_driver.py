# SPDX-License-Identifier: BSD-3-Clause
"""The model and the driver, without noref: rules and offloads that noref does not use yet,
asked for through dpdk-testpmd. What is written here about rules is what the driver of DPDK
22.11 does."""

import shutil
import subprocess
import unittest

import bench
from frames import (IP, MAC, PEER, TCP, UDP, Ether, IPv6, bad_udp_checksum, padded, tunnel,
                    udp)

TESTPMD = shutil.which("dpdk-testpmd")


class Testpmd(bench.Bench):
    """testpmd in interactive mode, a line of output at a time; no RSS: what no rule steers is on
    queue 0."""

    def __init__(self, args=("--rxq=8", "--disable-rss"), forward="rxonly", before=()):
        super().__init__(nics=1, memory=400, command=lambda space: [
            "stdbuf", "-oL", TESTPMD, *space.command[1:space.command.index("--")], "--", "-i",
            "--total-num-mbufs=16384", "--no-flush-rx", *args], stdin=subprocess.PIPE)
        for line in (*before, f"set fwd {forward}", "start", "set verbose 0"):
            self.tell(line)

    def answers(self):
        return "packet forwarding - ports" in self.printed()[0]

    def tell(self, command):
        self.process.stdin.write(command.encode() + b"\n")
        self.process.stdin.flush()

    def close(self):
        self.process.stdin.close()
        super().close()

    def rule(self, text):
        """Create a flow rule; False if the driver refuses."""
        was = self.verdicts()
        self.tell(f"flow create 0 ingress pattern {text} / end")
        self.until(lambda: self.verdicts() != was, f"an answer to {text}")
        return self.verdicts()[0] > was[0]

    def restart(self):
        for line in ("stop", "port stop 0", "port start 0", "start"):
            self.tell(line)
        self.until(lambda: self.printed()[0].count("packet forwarding - ports") > 1,
                   "testpmd to run again")

    def verdicts(self):
        out, err = self.printed()
        text = out + err
        return text.count("Flow rule #"), text.count("Caught PMD error") + text.count("Bad arguments")

    def queue_of(self, frame):
        """Where a frame goes; None: dropped by a rule."""
        before, dropped = self.queues(0), self.truth(0)["rule"]
        self.play(0, [frame])
        self.until(lambda: self.played(0), "the frame to have come in")
        if self.truth(0)["rule"] > dropped:
            return None
        after = self.queues(0)
        return next(queue for queue, count in after.items() if count > before.get(queue, 0))


def to_nic(packet):
    return padded(bytes(Ether(src=PEER[0], dst=MAC[0]) / packet))


@unittest.skipUnless(TESTPMD, "dpdk-testpmd is not installed")
class Rules(unittest.TestCase):
    def test_five_tuple(self):
        with Testpmd() as pmd:
            self.assertTrue(pmd.rule("ipv4 src is 10.8.0.1 dst is 10.9.0.1 / udp src is 1024 "
                                     "dst is 5000 / end actions queue index 5"))
            self.assertEqual(pmd.queue_of(udp(0)), 5)
            self.assertEqual(pmd.queue_of(udp(1)), 0)

    def test_ethertype(self):
        with Testpmd() as pmd:
            self.assertTrue(pmd.rule("eth type is 0x88f7 / end actions queue index 6"))
            self.assertEqual(pmd.queue_of(padded(bytes(Ether(dst=MAC[0], type=0x88F7)))), 6)
            self.assertEqual(pmd.queue_of(udp()), 0)

    def test_tcp_syn(self):
        with Testpmd() as pmd:
            self.assertTrue(pmd.rule("ipv4 / tcp flags spec 0x02 flags mask 0x02 / end "
                                     "actions queue index 7"))
            for flags, queue in (("S", 7), ("SA", 0), ("A", 0)):
                frame = to_nic(IP(dst="10.9.0.1") / TCP(flags=flags))
                self.assertEqual(pmd.queue_of(frame), queue, flags)

    def test_director_has_one_mask(self):
        with Testpmd() as pmd:
            rule = ("eth / ipv4 src spec {} src mask {} / udp dst spec 5000 dst mask 0xffff / end "
                    "actions queue index {}")
            self.assertTrue(pmd.rule(rule.format("10.8.0.0", "255.255.255.0", 3)))
            self.assertEqual(pmd.queue_of(udp(0)), 3)
            self.assertEqual(pmd.queue_of(udp(300)), 0)
            self.assertFalse(pmd.rule(rule.format("10.8.1.0", "255.255.0.0", 4)))
            self.assertTrue(pmd.rule(rule.format("10.8.1.0", "255.255.255.0", 4)))
            self.assertEqual(pmd.queue_of(udp(300)), 4)

    def test_director_bits_outside_the_mask_never_match(self):
        with Testpmd() as pmd:
            self.assertTrue(pmd.rule("eth / ipv4 src spec 10.8.0.1 src mask 255.255.0.0 / udp "
                                     "dst spec 5000 dst mask 0xffff / end actions queue index 3"))
            self.assertEqual(pmd.queue_of(udp(0)), 0)

    def test_director_drop_is_counted_nowhere(self):
        with Testpmd() as pmd:
            self.assertTrue(pmd.rule("eth / ipv4 src is 10.8.0.1 / end actions drop"))
            self.assertEqual(pmd.queue_of(udp(1)), 0)
            self.assertIsNone(pmd.queue_of(udp(0)))
            self.assertFalse(pmd.rule("eth / ipv4 src is 10.8.0.1 / udp dst is 5000 / end "
                                      "actions drop"))

    def test_director_takes_no_rule_after_a_restart(self):
        """testpmd flushes a port's rules when it stops it; new ones are refused afterwards."""
        rule = ("eth / ipv4 src spec 10.8.0.0 src mask 255.255.255.0 / udp dst is 5000 / end "
                "actions queue index 3")
        with Testpmd() as pmd:
            self.assertTrue(pmd.rule(rule))
            self.assertEqual(pmd.queue_of(udp(0)), 3)
            pmd.restart()
            self.assertEqual(pmd.queue_of(udp(0)), 0)
            self.assertFalse(pmd.rule(rule.replace("10.8.0.0", "10.8.1.0")))

    def test_director_signature_is_the_only_ipv6_rule(self):
        match = "ipv6 src is 2001:db8::1 dst is 2001:db8::2 / udp src is 1000 dst is 53 / end "
        with Testpmd() as pmd:
            self.assertFalse(pmd.rule(f"eth / {match} actions queue index 5"))
            self.assertTrue(pmd.rule("fuzzy thresh spec 2 thresh last 5 thresh mask 0xffffffff / "
                                     f"{match} actions queue index 5"))
            for source, queue in (("2001:db8::1", 5), ("2001:db8::3", 0)):
                frame = to_nic(IPv6(src=source, dst="2001:db8::2") / UDP(sport=1000, dport=53))
                self.assertEqual(pmd.queue_of(frame), queue, source)


@unittest.skipUnless(TESTPMD, "dpdk-testpmd is not installed")
class Offloads(unittest.TestCase):
    """The csum engine swaps nothing: frames leave with checksums that the NIC has made."""

    def send(self, frames, args, before):
        with Testpmd(args=("--port-topology=loop", *args), forward="csum",
                     before=("port stop 0", *before, "port start 0")) as pmd:
            pmd.play(0, frames)
            pmd.until(lambda: pmd.truth(0)["sent"] >= len(frames), "frames sent")
            self.assertEqual(pmd.truth(0)["tx_malformed"], 0)
            return [Ether(frame) for frame in pmd.sent()[0]]

    def good(self, packet):
        """Checksums computed by scapy are those that came."""
        again = packet.copy()
        del again[IP].chksum
        del (again[TCP] if TCP in again else again[UDP]).chksum
        return bytes(Ether(bytes(again))) == bytes(packet)

    def test_checksums(self):
        frames = [to_nic(IP(dst="10.9.0.1") / layer / bytes(range(101)))
                  for layer in (UDP(sport=1, dport=5000), TCP())]
        for packet in self.send(frames, ["--tx-offloads=0xe"],
                                [f"csum set {layer} hw 0" for layer in ("ip", "udp", "tcp")]):
            self.assertTrue(self.good(packet), packet.show(dump=True))

    def test_segmentation(self):
        payload = bytes(index * 7 % 256 for index in range(3500))
        frame = to_nic(IP(dst="10.9.0.1", id=9) / TCP(flags="PA", seq=100) / payload)
        with Testpmd(args=("--port-topology=loop", "--max-pkt-len=9018", "--tx-offloads=0x802e",
                           "--enable-scatter"), forward="csum",
                     before=("port stop 0", "csum set ip hw 0", "csum set tcp hw 0", "tso set 1000 0",
                             "port start 0")) as pmd:
            pmd.play(0, [frame])
            pmd.until(lambda: pmd.truth(0)["sent"] >= 4, "four segments")
            sent = [Ether(one) for one in pmd.sent()[0]]
        self.assertEqual([len(packet[TCP].payload) for packet in sent], [1000, 1000, 1000, 500])
        self.assertEqual(b"".join(bytes(packet[TCP].payload) for packet in sent), payload)
        for number, packet in enumerate(sent):
            self.assertTrue(self.good(packet), packet.show(dump=True))
            self.assertEqual(packet[IP].id, 9 + number)
            self.assertEqual(packet[TCP].seq, 100 + 1000 * number)
            self.assertEqual("P" in str(packet[TCP].flags), number == 3)


@unittest.skipUnless(TESTPMD, "dpdk-testpmd is not installed")
class Verdicts(unittest.TestCase):
    """What the driver says about checksums: why noref looks for itself."""

    def verdict(self, pmd, frame):
        """(IPv4 header, layer 4) as testpmd prints them."""
        was = len(self.printed(pmd))
        pmd.inject(0, frame, count=False)
        pmd.until(lambda: len(self.printed(pmd)) > was, "the frame's flags")
        flags = self.printed(pmd)[-1]
        return tuple(next(word for word in ("GOOD", "BAD", "UNKNOWN", "NONE")
                          if f"_RX_{kind}_CKSUM_{word}" in flags) for kind in ("IP", "L4"))

    def printed(self, pmd):
        return [line for line in pmd.printed()[0].splitlines() if "ol_flags:" in line]

    def test_each(self):
        with Testpmd() as pmd:
            pmd.tell("set verbose 1")
            for what, frame, verdict in (
                    ("all right", udp(size=100), ("GOOD", "GOOD")),
                    ("bad IPv4 header", udp(chksum=0x1234), ("BAD", "GOOD")),
                    ("bad UDP is unknown", bad_udp_checksum(udp(size=100)), ("GOOD", "UNKNOWN")),
                    ("bad TCP is bad", bad_udp_checksum(to_nic(IP(dst="10.9.0.1") / TCP() / bytes(9))),
                     ("GOOD", "BAD")),
                    ("tunnel: not looked into, good", tunnel(0, chksum=0x1234), ("GOOD", "GOOD"))):
                with self.subTest(what):
                    self.assertEqual(self.verdict(pmd, frame), verdict)


@unittest.skipUnless(TESTPMD, "dpdk-testpmd is not installed")
class Detach(unittest.TestCase):
    def test_device_leaves_and_comes_back(self):
        """The whole start-up again, on a card that has been used."""
        with Testpmd() as pmd:
            for turn in range(2):
                self.assertEqual(pmd.queue_of(udp(turn)), 0)
                for line in ("stop", "port stop 0", "port close 0", "device detach 0000:82:00.0"):
                    pmd.tell(line)
                pmd.until(lambda: pmd.printed()[0].count("is detached") == turn + 1, "the device to go")
                for line in ("port attach 0000:82:00.0", "port start 0", "start"):
                    pmd.tell(line)
                pmd.until(lambda: pmd.printed()[0].count("packet forwarding - ports") == turn + 2,
                          "testpmd to run again")
            self.assertEqual(pmd.queue_of(udp()), 0)
