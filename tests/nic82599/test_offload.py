# SPDX-License-Identifier: BSD-3-Clause
"""Flow rules in the 82599: which the device takes and does as they say, which are refused, and what
becomes of them when ports stop and start."""

import re
import unittest

import bench
from frames import IP, MAC, PEER, ROUTER, SID, TCP, UDP, Ether, IPv6, padded, udp

QUEUES = ["--rxq=4"]


def frame(layers, port=0):
    return padded(bytes(Ether(src=PEER[port], dst=MAC[port]) / layers))


class Rules(unittest.TestCase):
    """A router with two ports; helpers for rules and for what became of frames."""

    config, nics, args = "", 2, QUEUES

    def setUp(self):
        self.bench = bench.Bench(ROUTER + self.config, nics=self.nics, args=self.args).__enter__()

    def tearDown(self):
        try:
            # Rules are destroyed one by one: nothing of what the driver shares is freed twice.
            self.assertEqual(self.bench.finish().status, 0)
        finally:
            self.bench.close()

    def create(self, text, port=0):
        """Create a rule: (its number, where it is, what was said besides)."""
        out = self.bench.tell(f"flow create {port} {text}")
        match = re.match(r"Flow rule #(\d+) created \(([a-z_, ]+)\)\n(.*)", out, re.DOTALL)
        self.assertTrue(match, out)
        return int(match[1]), match[2], match[3]

    def where(self, text, port=0):
        return self.create(text, port)[1]

    def refused(self, text, *words, port=0):
        """The command fails, says why in one line, and leaves nothing behind."""
        before = self.rules(port)
        status, out, err = self.bench.try_ctl(f"flow create {port} {text}", json_wanted=False)
        self.assertEqual(status, 1, out)
        self.assertEqual(len(err.strip().splitlines()), 1, err)
        for word in words:
            self.assertIn(word, err)
        self.assertEqual(self.rules(port), before)

    def rules(self, port=0):
        return {rule["rule"]: rule for rule in self.bench.ask(f"flow list {port}")}

    def fate(self, packet, port=0):
        """What a NIC does with a frame: "dropped", or its receive queue."""
        before, dropped = self.bench.queues(port), self.bench.truth(port)["rule"]
        self.bench.play(port, [packet], count=False)
        self.bench.until(lambda: self.bench.played(port), "the frame to have come in")
        if self.bench.truth(port)["rule"] > dropped:
            return "dropped"
        self.bench.space.played += 1
        self.bench.settle()
        after = self.bench.queues(port)
        return next(queue for queue, count in after.items() if count > before.get(queue, 0))


class Kinds(Rules):
    """Each kind of filter the device has does what the rule says."""

    def test_five_tuple(self):
        where = self.where("skip_sw pattern eth / ipv4 src is 10.8.0.1 dst is 10.9.0.1 / udp src is 1024 "
                           "dst is 5000 / end actions queue index 3 / end")
        self.assertEqual(where, "in_hw")
        self.assertEqual(self.fate(udp(0)), 3)

    def test_five_tuple_is_told_the_protocol(self):
        """The driver leaves the protocol out unless told: then TCP would match as well."""
        self.assertEqual(self.where("skip_sw pattern ipv4 src is 10.8.0.1 / udp dst is 5000 / end actions "
                                    "queue index 3 / end"), "in_hw")
        tcp = frame(IP(src="10.8.0.1", dst="10.9.0.1") / TCP(sport=1024, dport=5000))
        elsewhere = self.fate(tcp)
        self.assertEqual(self.fate(udp(0)), 3)
        self.assertEqual(self.where("skip_sw pattern ipv4 src is 10.8.0.1 / tcp dst is 5000 / end actions "
                                    f"queue index {(elsewhere + 1) % 4} / end"), "in_hw")
        self.assertEqual(self.fate(tcp), (elsewhere + 1) % 4)

    def test_five_tuple_priority(self):
        """Lower numbers come first here, higher ones in the driver."""
        self.create("skip_sw priority 5 pattern ipv4 src is 10.8.0.1 / udp / end actions queue index 1 / end")
        self.create("skip_sw priority 2 pattern ipv4 dst is 10.9.0.1 / udp / end actions queue index 2 / end")
        self.create("skip_sw priority 6 pattern ipv4 / udp dst is 5000 / end actions queue index 3 / end")
        self.assertEqual(self.fate(udp(0)), 2)
        self.assertEqual(self.fate(udp(1)), 2)
        self.bench.tell("flow destroy 0 rule 1")
        self.assertEqual(self.fate(udp(0)), 1)
        self.assertEqual(self.fate(udp(1)), 3)

    def test_ethertype(self):
        self.assertEqual(self.where("skip_sw pattern eth type is 0x88f7 / end actions queue index 2 / end"),
                         "in_hw")
        self.assertEqual(self.fate(padded(bytes(Ether(src=PEER[0], dst=MAC[0], type=0x88F7)))), 2)
        for kind in range(7):
            self.create(f"skip_sw pattern eth type is {0x9000 + kind} / end actions queue index 1 / end")
        self.refused("skip_sw pattern eth type is 0x9100 / end actions queue index 1 / end",
                     "skip_sw", "room for 8 ethertype rules")

    def test_tcp_syn(self):
        _, where, said = self.create("skip_sw pattern eth / ipv4 / tcp flags spec 0x02 flags mask 0x02 / end "
                                     "actions queue index 3 / end")
        self.assertEqual(where, "in_hw")
        self.assertIn("SYN without ACK", said)
        self.assertEqual(self.fate(frame(IP(dst="10.9.0.1") / TCP(flags="S"))), 3)
        self.refused("skip_sw pattern eth / ipv4 / tcp flags spec 0x02 flags mask 0x12 / end actions "
                     "queue index 1 / end", "room for 1 TCP SYN rule")
        self.bench.tell("flow destroy 0 rule 0")
        self.assertEqual(self.where("skip_sw pattern ipv4 / tcp flags spec 2 flags mask 0x12 / end actions "
                                    "queue index 2 / end"), "in_hw")
        self.assertEqual(self.fate(frame(IP(dst="10.9.0.1") / TCP(flags="S"))), 2)

    def test_director_by_addresses(self):
        self.assertEqual(self.where("skip_sw pattern eth / ipv4 src spec 10.8.0.0 src prefix 24 / end "
                                    "actions drop / end"), "in_hw")
        self.assertEqual(self.where("skip_sw pattern eth / ipv4 src spec 10.8.2.0 src prefix 24 / end "
                                    "actions queue index 3 / end"), "in_hw")
        self.assertEqual(self.fate(udp(0)), "dropped")
        self.assertEqual(self.fate(frame(IP(src="10.8.0.9", dst="10.9.0.1") / TCP())), "dropped")
        self.assertEqual(self.fate(frame(IP(src="10.8.0.9", dst="10.9.0.1", proto=99) / b"x")), "dropped")
        self.assertEqual(self.fate(udp(500)), 3)
        self.assertNotEqual(self.fate(udp(250)), "dropped")

    def test_director_by_ports(self):
        rule = "skip_sw pattern ipv4 / {} dst spec {} dst mask 0xfff0 / end actions queue index {} / end"
        self.assertEqual(self.where(rule.format("udp", 5000, 3)), "in_hw")
        self.assertEqual(self.where(rule.format("tcp", 80, 2)), "in_hw")
        self.assertEqual(self.fate(udp(0)), 3)
        self.assertEqual(self.fate(frame(IP(dst="10.9.0.1") / TCP(dport=82))), 2)

    def test_bits_outside_the_mask_count_for_nothing(self):
        """The driver takes them, and such a rule never matches."""
        self.create("skip_sw pattern ipv4 src spec 10.8.0.77 src mask 255.255.255.0 / end actions drop / end")
        self.assertEqual(self.fate(udp(0)), "dropped")

    def test_many_director_rules(self):
        """More than hash buckets: taking one away takes that one, also where buckets are shared."""
        rule = "flow create 0 skip_sw pattern ipv4 src is 10.77.{}.{} / end actions drop / end\n"
        numbers = range(2046)
        lines = "".join(rule.format(n // 250, n % 250) for n in numbers)
        status, _, err = self.bench.try_ctl("", json_wanted=False, lines=lines)
        self.assertEqual((status, err), (0, ""))
        self.refused("skip_sw pattern ipv4 src is 10.78.0.1 / end actions drop / end",
                     "room for 2046 flow director rules")
        self.assertEqual(self.where("pattern ipv4 src is 10.78.0.1 / end actions drop / end"), "in_sw")
        gone = [n for n in numbers if n % 3 == 0]
        lines = "".join(f"flow destroy 0 rule {n}\n" for n in gone)
        self.assertEqual(self.bench.try_ctl("", json_wanted=False, lines=lines)[0], 0)
        for numbers, dropped in ((gone, 0), ([n for n in range(2046) if n % 3], 1364)):
            frames = [frame(IP(src=f"10.77.{n // 250}.{n % 250}", dst="10.9.0.1") / UDP()) for n in numbers]
            before = self.bench.truth(0)["rule"]
            self.bench.play(0, frames, count=False)
            self.bench.until(lambda: self.bench.played(0), "all frames")
            self.assertEqual(self.bench.truth(0)["rule"] - before, dropped)
        self.bench.space.played += len(gone)
        self.bench.settle()
        # A new rule finds a number.
        self.assertEqual(self.where("skip_sw pattern ipv4 src is 10.79.0.1 / end actions drop / end"), "in_hw")


class SkipSw(Rules):
    def test_dropped_in_the_device_and_software_sees_none(self):
        number, where, _ = self.create("skip_sw pattern eth / ipv4 src is 10.8.0.1 / end actions drop / end")
        self.assertEqual(where, "in_hw")
        flood = [udp(0)] * 100
        self.bench.play(0, flood + [udp(1)] * 3 + flood, count=False)
        self.bench.until(lambda: self.bench.played(0), "all frames")
        self.bench.space.played += 3
        self.bench.settle()
        self.assertEqual(self.bench.truth(0)["rule"], 200)
        self.assertEqual(self.bench.balance()["received"], 3)
        self.assertEqual(self.bench.ask("show drops"), {})
        rule = self.rules()[number]
        self.assertEqual((rule["in_hw"], rule["in_sw"], rule["packets"], rule["hw_uncounted"]),
                         (True, False, 0, True))
        self.assertIn("does not count", self.bench.tell(f"flow query 0 {number} count"))
        self.assertIn("does not count", self.bench.tell("flow list 0"))
        self.bench.tell(f"flow destroy 0 rule {number}")
        self.assertNotEqual(self.fate(udp(0)), "dropped")

    def test_refused(self):
        for text, words in (
                ("pattern eth / ipv6 src is 2001:db8::1 / end actions drop / end", ["IPv6", "leave skip_sw out"]),
                ("pattern ipv6 / udp dst is 53 / end actions queue index 1 / end", ["IPv6"]),
                ("pattern ipv4 src is 10.8.0.1 / udp dst is 5000 / end actions drop / end", ["drop by port"]),
                ("pattern ipv4 src is 10.8.0.1 / udp / end actions drop / end", ["every protocol"]),
                ("pattern ipv4 proto is 1 / end actions queue index 1 / end", ["other protocols are all one"]),
                ("pattern ipv4 src is 10.8.0.1 proto is 17 / end actions drop / end", ["proto"]),
                ("pattern ipv4 src is 10.8.0.1 / icmp / end actions drop / end", ["ICMP"]),
                ("pattern ipv4 ttl is 1 / end actions drop / end", ["no other fields"]),
                ("pattern ipv4 src spec 10.8.0.1 src last 10.8.0.9 / end actions drop / end", ["no ranges"]),
                ("pattern ipv4 / ipv4 src is 10.8.0.1 / end actions drop / end", ["tunnels"]),
                ("pattern eth / vlan vid is 7 / ipv4 src is 10.8.0.1 / end actions drop / end", ["VLAN"]),
                ("pattern eth dst is 02:00:00:00:00:01 / end actions drop / end", ["MAC"]),
                ("pattern eth type is 0x0800 / end actions queue index 1 / end", ["ipv4"]),
                ("pattern eth type is 0x88f7 / end actions drop / end", ["can choose a queue"]),
                ("pattern eth / end actions drop / end", ["something to match"]),
                ("pattern ipv4 / end actions drop / end", ["something to match"]),
                ("pattern ipv4 / tcp flags is 2 / end actions queue index 1 / end", ["TCP flags"]),
                ("pattern ipv4 src is 10.8.0.1 / end actions mark id 1 / queue index 1 / end", ["reports no marks"]),
                ("pattern ipv4 src is 10.8.0.1 / end actions count / drop / end", ["counts no rule"]),
                ("pattern ipv4 src is 10.8.0.1 / end actions accept / end", ["choose its queue"]),
                ("pattern ipv4 src is 10.8.0.1 / end actions jump group 1 / end", ["no groups"]),
                ("group 1 pattern ipv4 src is 10.8.0.1 / end actions drop / end", ["no groups"]),
                ("transfer pattern ipv4 src is 10.8.0.1 / end actions drop / end", ["transfer"]),
                ("priority 1 pattern ipv4 src is 10.8.0.1 / end actions drop / end", ["priority"]),
                ("pattern ipv4 src is 10.8.0.1 / end actions queue index 4 / end", ["queue"])):
            with self.subTest(text):
                self.refused(f"skip_sw {text}", *words)
                self.assertEqual(self.bench.try_ctl(f"flow validate 0 skip_sw {text}")[0], 1)
        # And nothing that was refused has changed what the device takes.
        self.assertEqual(self.where("skip_sw pattern ipv4 src prefix 10.8.0.0/16 / end actions drop / end"),
                         "in_hw")

    def test_second_mask(self):
        self.create("skip_sw pattern ipv4 src prefix 10.8.0.0/24 / end actions drop / end")
        other = "pattern ipv4 src prefix 10.8.2.0/25 / end actions drop / end"
        self.refused(f"skip_sw {other}", "one mask", "rule #0")
        self.assertEqual(self.where(other), "in_sw")
        self.assertEqual(self.where("pattern ipv4 src prefix 10.8.4.0/24 / end actions drop / end"),
                         "in_hw, in_sw")
        # When the rules with the first mask have gone, another can come.
        self.bench.tell("flow flush 0")
        self.assertEqual(self.where(f"skip_sw {other}"), "in_hw")

    def test_validate_leaves_nothing(self):
        for text in ("pattern ipv4 src is 10.8.0.1 / end actions drop / end",
                     "pattern ipv4 / udp dst is 5000 / end actions queue index 1 / end"):
            self.assertEqual(self.bench.tell(f"flow validate 0 skip_sw {text}"), "Flow rule validated\n")
        self.assertEqual(self.rules(), {})
        self.assertNotEqual(self.fate(udp(0)), "dropped")
        # The mask is not taken by what was only asked.
        self.assertEqual(self.where("skip_sw pattern ipv4 src prefix 10.8.0.0/24 / end actions drop / end"),
                         "in_hw")

    def test_stopped_port(self):
        self.bench.tell("port stop 0")
        self.refused("skip_sw pattern ipv4 src is 10.8.0.1 / end actions drop / end", "stopped")
        self.assertEqual(self.where("pattern ipv4 src is 10.8.0.1 / end actions drop / end"), "in_sw")
        self.bench.tell("port start 0")
        self.assertTrue(self.rules()[0]["in_hw"])


class Both(Rules):
    """Rules in hardware and software: hardware must not change which rule comes first."""

    def test_queue_marks_and_counts_in_software(self):
        number, where, _ = self.create("pattern ipv4 src is 10.8.0.1 / udp dst is 5000 / end actions count / "
                                       "mark id 5 / queue index 3 / end")
        self.assertEqual(where, "in_hw, in_sw")
        self.assertEqual(self.fate(udp(0)), 3)
        self.bench.settle()
        rule = self.rules()[number]
        self.assertEqual((rule["packets"], rule["hw_uncounted"]), (1, False))

    def test_drop_with_count_is_left_to_software(self):
        number, where, _ = self.create("pattern ipv4 src is 10.8.0.1 / end actions count / drop / end")
        self.assertEqual(where, "in_sw")
        self.bench.arrive(0, [udp(0)] * 7)
        self.assertEqual(self.rules()[number]["packets"], 7)
        self.assertEqual(self.bench.ask("show drops"), {"flow_drop": 7})

    def test_priorities_the_device_does_not_have(self):
        """They are kept as long as rules cannot meet, or the first of them is asked first anyway."""
        rule = "priority {} pattern ipv4 src is 10.8.0.{} / end actions {} / end"
        self.assertEqual(self.where(rule.format(7, 1, "drop")), "in_hw, in_sw")
        self.assertEqual(self.where(rule.format(3, 2, "drop")), "in_hw, in_sw")
        self.assertEqual(self.where(rule.format(5, 1, "accept")), "in_sw")
        self.assertEqual([one["in_hw"] for one in self.rules().values()], [False, True, False])
        self.bench.arrive(0, [udp(0)])
        self.assertEqual(self.rules()[2]["packets"], 1)
        self.assertEqual(self.fate(udp(1)), "dropped")

    def test_software_rule_in_front_keeps_hardware_back(self):
        self.create("skip_hw pattern ipv4 / udp dst is 5000 / end actions accept / end")
        self.assertEqual(self.where("pattern ipv4 src is 10.8.0.1 / end actions drop / end"), "in_sw")
        self.bench.arrive(0, [udp(0)])
        self.assertEqual(self.bench.ask("show drops"), {})
        # Rules that cannot meet are no hindrance.
        self.bench.tell("flow flush 0")
        self.create("skip_hw pattern ipv4 src is 10.8.7.7 / udp dst is 5000 / end actions accept / end")
        self.assertEqual(self.where("pattern ipv4 src is 10.8.0.1 / end actions drop / end"), "in_hw, in_sw")

    def test_better_rule_pushes_others_out_of_hardware(self):
        self.assertEqual(self.where("priority 0 pattern ipv4 src is 10.8.0.1 / end actions drop / end"),
                         "in_hw, in_sw")
        self.assertEqual(self.fate(udp(0)), "dropped")
        out = self.bench.tell("flow create 0 skip_hw priority 0 pattern ipv6 / end actions accept / end")
        self.assertNotIn("left", out)
        self.bench.tell("flow destroy 0 rule 0")
        self.assertEqual(self.where("priority 0 pattern ipv4 / udp src is 1024 / end actions queue index 1 / end"),
                         "in_hw, in_sw")
        _, _, said = self.create("skip_hw priority 0 pattern ipv4 src is 10.8.0.1 / end actions accept / end")
        self.assertEqual(said, "")
        self.bench.tell("flow flush 0")
        self.create("priority 4 pattern ipv4 / udp src is 1024 / end actions queue index 1 / end")
        _, where, said = self.create("skip_hw priority 3 pattern ipv4 src is 10.8.0.1 / end actions accept / end")
        self.assertEqual(where, "in_sw")
        self.assertIn("rule #0 comes after this one and has left the hardware of port 0", said)
        self.assertEqual([rule["in_hw"] for rule in self.rules().values()], [False, False])

    def test_drop_in_front_of_software(self):
        self.assertEqual(self.where("pattern ipv4 src is 10.8.0.1 / end actions drop / end"), "in_hw, in_sw")
        self.assertEqual(self.fate(udp(0)), "dropped")
        rule = self.rules()[0]
        self.assertEqual((rule["packets"], rule["hw_uncounted"]), (0, True))
        self.bench.tell("flow flush 0")
        self.assertNotEqual(self.fate(udp(0)), "dropped")


class Restart(Rules):
    """Rules leave the device before it stops and are there again."""

    DROP = "skip_sw pattern ipv4 src is 10.8.0.1 / end actions drop / end"

    def check_all(self, port=0, dropped=True):
        self.assertEqual(self.fate(udp(0, port=port), port) == "dropped", dropped)

    def restart(self, port=0):
        self.bench.tell(f"port stop {port}")
        self.assertTrue(all(not rule["in_hw"] for rule in self.rules(port).values()))
        self.assertEqual(self.bench.tell(f"port start {port}"), "")

    def test_all_kinds_return(self):
        self.create(self.DROP)
        self.create("skip_sw pattern eth type is 0x88f7 / end actions queue index 2 / end")
        self.create("skip_sw pattern ipv4 / udp dst is 4000 / end actions queue index 3 / end")
        self.create("skip_sw pattern ipv4 / tcp flags spec 2 flags mask 2 / end actions queue index 1 / end")
        self.create("pattern ipv4 src is 10.8.0.2 / end actions drop / end")
        for _ in range(3):
            self.restart()
            self.assertTrue(all(rule["in_hw"] for rule in self.rules().values()))
            self.check_all()
            self.assertEqual(self.fate(udp(1)), "dropped")
            self.assertEqual(self.fate(padded(bytes(Ether(src=PEER[0], dst=MAC[0], type=0x88F7)))), 2)
            self.assertEqual(self.fate(frame(IP(src="10.8.0.9", dst="10.9.0.1") / UDP(dport=4000))), 3)
            self.assertEqual(self.fate(frame(IP(dst="10.9.0.1") / TCP(flags="S"))), 1)
        # New ones are taken, too.
        self.create("skip_sw pattern ipv4 src is 10.8.0.3 / end actions drop / end")
        self.assertEqual(self.fate(udp(2)), "dropped")

    def test_return_in_the_order_packets_meet_them(self):
        """The younger rule comes first, and must be there before the other may."""
        self.create("priority 5 pattern ipv4 src is 10.8.0.1 / udp / end actions queue index 1 / end")
        self.create("priority 1 pattern ipv4 dst is 10.9.0.1 / udp / end actions queue index 2 / end")
        self.assertEqual([rule["in_hw"] for rule in self.rules().values()], [True, True])
        self.restart()
        self.assertEqual([rule["in_hw"] for rule in self.rules().values()], [True, True])
        self.assertEqual(self.fate(udp(0)), 2)

    def test_start_and_stop_of_forwarding(self):
        self.create(self.DROP)
        self.bench.tell("stop")
        self.bench.tell("start")
        self.check_all()

    def test_mtu_change(self):
        self.create(self.DROP)
        self.bench.tell("ip link set dev 0 mtu 9000")
        self.assertTrue(self.rules()[0]["in_hw"])
        self.check_all()
        self.bench.tell("ip link set dev 0 mtu 1500")
        self.check_all()

    def test_both_ports(self):
        """The driver's lists are shared, and a port's mask is forgotten only when all are empty."""
        for port in (0, 1):
            self.create(self.DROP, port)
        for port in (0, 1, 0):
            self.restart(port)
            for other in (0, 1):
                self.assertTrue(self.rules(other)[0]["in_hw"])
                self.check_all(other)
        self.bench.tell("port stop all")
        self.assertEqual(self.bench.tell("port start all"), "")
        for port in (0, 1):
            self.assertTrue(self.rules(port)[0]["in_hw"])
            self.check_all(port)

    def test_flush_of_one_port(self):
        for port in (0, 1):
            self.create(self.DROP, port)
            self.create("skip_sw pattern ipv4 / udp dst is 4000 / end actions queue index 3 / end", port)
        self.bench.tell("flow flush 0")
        self.check_all(0, dropped=False)
        self.check_all(1)
        self.assertEqual(len(self.rules(1)), 2)
        # Port 0 is as new: another mask.
        self.create("skip_sw pattern ipv4 src prefix 10.8.0.0/24 / end actions drop / end")
        self.check_all(0)
        self.check_all(1)
        self.bench.tell("flow destroy 1 rule 0 rule 1")
        self.check_all(0)
        self.check_all(1, dropped=False)


class Blocks(Rules):
    config = "flow block edge ports 0,1\n"

    def test_both_devices(self):
        self.assertEqual(self.where("skip_sw pattern ipv4 src is 10.8.0.1 / end actions drop / end", "edge"),
                         "in_hw")
        for port in (0, 1):
            self.assertEqual(self.fate(udp(0, port=port), port), "dropped")
            self.assertEqual(self.rules(port)[0]["in_hw_ports"], [0, 1])
        self.bench.tell("port stop 1")
        self.assertEqual(self.rules(0)[0]["in_hw_ports"], [0])
        self.bench.tell("port start 1")
        self.assertEqual(self.rules(0)[0]["in_hw_ports"], [0, 1])
        self.assertEqual(self.fate(udp(0, port=1), 1), "dropped")
        self.bench.tell("flow block edge ports 1")
        self.assertNotEqual(self.fate(udp(0)), "dropped")
        self.assertEqual(self.fate(udp(0, port=1), 1), "dropped")
        # A port with another mask cannot join: nothing changes.
        self.create("skip_sw pattern ipv4 dst is 10.9.0.9 / end actions drop / end")
        status, _, err = self.bench.try_ctl("flow block edge ports 0,1")
        self.assertEqual(status, 1)
        self.assertIn("rules of its own", err)
        self.bench.tell("flow flush 0")
        self.bench.tell("flow block edge ports 0,1")
        self.assertEqual(self.fate(udp(0)), "dropped")
        self.bench.tell("flow block del edge")
        for port in (0, 1):
            self.assertNotEqual(self.fate(udp(0, port=port), port), "dropped")

    def test_refused_by_one(self):
        self.bench.tell("flow block edge ports 1")
        self.create("skip_sw pattern ipv4 src prefix 10.8.0.0/24 / end actions drop / end", "edge")
        self.bench.tell("flow block edge ports 0,1")
        self.refused("skip_sw pattern ipv4 src is 10.8.0.1 / end actions drop / end", "one mask", port="edge")
        for port in (0, 1):
            self.assertEqual(self.fate(udp(0, port=port), port), "dropped")


class Configuration(Rules):
    config = ("flow create 0 skip_sw pattern ipv4 src is 10.8.0.1 / end actions drop / end\n"
              "flow create 0 pattern ipv6 / end actions count / end\n")

    def test_saved_and_read_again(self):
        config = self.bench.tell("show config")
        self.assertIn("flow create 0 ingress skip_sw pattern ipv4 src is 10.8.0.1 / end actions drop / end",
                      config)
        with bench.Bench(config, nics=2, args=QUEUES) as second:
            self.assertEqual(second.tell("show config"), config)
            second.finish()

    def test_refused_in_a_script(self):
        status, _, err = bench.start_fails(
            ["--rxq=2"], config="flow create 0 skip_sw pattern ipv6 / end actions drop / end\n")
        self.assertEqual(status, 1)
        self.assertRegex(err, r"router\.conf:1: .*82599 matches IPv6")
