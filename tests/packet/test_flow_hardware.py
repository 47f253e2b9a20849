# SPDX-License-Identifier: BSD-3-Clause
"""Flow rules in devices that take them as they are (tests/rules_device): what is asked where,
what is counted, and what becomes of rules a device has no room for."""

import ipaddress
import os
import pathlib
import random
import unittest

from harness import ROOT, Router, noref
from lab import ROUTER
from test_flow import NULL, udp4


def rules_device():
    """The object that takes rules; it is in the build of the program."""
    build = pathlib.Path(noref()).resolve().parents[1]
    there = build / "tests" / "rules_device" / "librules_device.so"
    return there if there.exists() else ROOT / "build" / "tests" / "rules_device" / "librules_device.so"


def drop(number, placement="", port=0, priority=0):
    return (f"flow create {port} priority {priority} {placement} pattern ipv4 src is 10.77.{number >> 8}."
            f"{number & 255} / end actions drop / end\n")


class Hardware(unittest.TestCase):
    def router(self, config="", captures=None, room=None):
        """Every port takes rules; room: so many each, see has_room()."""
        # The sanitizer's runtime would like to be the first object that is loaded.
        options = [os.environ.get("ASAN_OPTIONS", ""), "verify_asan_link_order=0"]
        env = {"LD_PRELOAD": str(rules_device()), "RULES_DEVICE": "%FOLDER%/room",
               "ASAN_OPTIONS": ":".join(filter(None, options))}
        return Router(ROUTER + config, captures, vdevs=None if captures else NULL, env=env,
                      prepare=lambda space: self.write_room(space, room))

    @staticmethod
    def write_room(space, room):
        (space.folder / "room").write_text("" if room is None else f"{room}\n")

    def has_room(self, router, room):
        """From now on each port takes so many rules."""
        self.write_room(router.space, room)

    def rules(self, router, port=0):
        return {rule["rule"]: rule for rule in router.ask(f"flow list {port}")}

    def where(self, router, port=0):
        """For each rule: h in hardware, s in software, - nowhere."""
        return {number: "h" * rule["in_hw"] + "s" * rule["in_sw"] or "-"
                for number, rule in self.rules(router, port).items()}

    def asked(self, router, port=0):
        """Do workers enter the classifier for packets of the port?"""
        return router.ask(f"show port info {port}")[0]["classifier"]


class Classifier(Hardware):
    def test_hardware_only_rules_cost_software_nothing(self):
        """However many there are; one that software has as well makes the difference."""
        rules = "".join(drop(n, "skip_sw") for n in range(100))
        with self.router(rules, {0: [udp4(1000)] * 10}) as router:
            router.settle()
            self.assertEqual(set(self.where(router).values()), {"h"})
            self.assertFalse(self.asked(router))
            self.assertIn("classifier is not entered", router.tell("show port info 0"))
            router.tell(drop(100).strip())
            self.assertTrue(self.asked(router))
            self.assertFalse(self.asked(router, 1))
            self.assertIn("asked for each packet", router.tell("show port info 0"))
            router.tell("flow destroy 0 rule 100")
            self.assertFalse(self.asked(router))
            router.tell(drop(100, "skip_hw").strip())
            self.assertTrue(self.asked(router))
            router.tell("flow flush 0")
            self.assertFalse(self.asked(router))
            run = router.finish()
        self.assertEqual(len(run.sent[1]), 10)

    def test_block(self):
        with self.router("flow block edge ports 0,1\n" + drop(1, "skip_sw", "edge")) as router:
            self.assertEqual([self.asked(router, port) for port in range(3)], [False] * 3)
            router.tell(drop(2, "", "edge").strip())
            self.assertEqual([self.asked(router, port) for port in range(3)], [True, True, False])
            router.tell("flow block edge ports 1")
            self.assertEqual([self.asked(router, port) for port in range(3)], [False, True, False])
            router.tell("quit")


class Counters(Hardware):
    HITS = 5  # what the device says of every rule

    def test_hardware_and_software_added(self):
        match = "pattern ipv4 / udp dst is 1000 / end actions count / "
        rules = (f"flow create 0 {match}drop / end\n"
                 "flow create 0 skip_sw pattern ipv4 / udp dst is 9 / end actions count / drop / end\n"
                 "flow create 0 pattern ipv4 / udp dst is 1001 / end actions count / accept / end\n")
        with self.router(rules, {0: [udp4(1000)] * 2 + [udp4(1001)] * 3}) as router:
            router.settle()
            rules = self.rules(router)
            # Software sees again what hardware has only counted, and not what it has dropped.
            self.assertEqual([rules[n]["packets"] for n in range(3)], [2 + self.HITS, self.HITS, 3])
            self.assertFalse(any(rule["hw_uncounted"] for rule in rules.values()))
            self.assertEqual(router.ask("flow query 0 0 count")["packets"], 2 + self.HITS)
            router.finish()


class Restart(Hardware):
    def restart(self, router, port=0):
        router.tell(f"port stop {port}")
        return router.tell(f"port start {port}")

    def test_all_return(self):
        with self.router("".join(drop(n, "skip_sw" if n % 2 else "") for n in range(20))) as router:
            before = self.where(router)
            self.assertEqual(before, {n: "h" if n % 2 else "hs" for n in range(20)})
            self.assertEqual(self.restart(router), "")
            self.assertEqual(self.where(router), before)
            router.tell("quit")

    def test_software_has_what_does_not_return(self):
        with self.router(drop(0) + drop(1) + drop(2)) as router:
            self.has_room(router, 1)
            said = self.restart(router).splitlines()
            self.assertEqual(len(said), 2, said)
            self.assertRegex(said[0], "^port 0: rule #1 did not go back to hardware, software has it: .*table is full")
            self.assertEqual(said[1], "port 0: nor did 1 other; flow list 0 shows where each rule is")
            self.assertEqual(self.where(router), {0: "hs", 1: "s", 2: "s"})
            self.assertTrue(self.asked(router))
            # It is told once; those that stay away were not there before.
            self.assertEqual(self.restart(router), "")
            self.has_room(router, None)
            self.assertEqual(self.restart(router), "")
            self.assertEqual(self.where(router), {0: "hs", 1: "hs", 2: "hs"})
            router.tell("quit")

    def test_skip_sw_does_not_fall_to_software(self):
        """It is nowhere, said at each start, and returns when it can."""
        frame = udp4(1000, src="10.77.0.1")
        with self.router(drop(0, "skip_sw") + drop(1, "skip_sw"), {0: [udp4(1000)]}) as router:
            router.settle()
            self.has_room(router, 1)
            for _ in range(2):
                self.assertRegex(self.restart(router),
                                 r"^port 0: rule #1 did not go back to hardware, so it is nowhere: .*full.*\n$")
                self.assertEqual(self.where(router), {0: "h", 1: "-"})
                self.assertIn("nowhere", router.tell("flow list 0"))
                self.assertFalse(self.asked(router))
            # Nobody acts by it.
            router.feed(0, [frame])
            router.until(lambda: router.balance()["received"] >= 4, "the frame")
            self.assertEqual(router.ask("show drops"), {})
            # It is still configured.
            self.assertEqual(router.tell("show config").count("skip_sw"), 2)
            self.has_room(router, 2)
            self.assertEqual(self.restart(router), "")
            self.assertEqual(self.where(router), {0: "h", 1: "h"})
            router.finish(balanced=False)

    def test_one_port_of_a_block(self):
        with self.router("flow block edge ports 0,1\n" + drop(0, "", "edge") + drop(1, "", "edge")) as router:
            self.has_room(router, 1)
            self.assertIn("rule #1 did not go back", self.restart(router, 1))
            rules = self.rules(router, "edge")
            self.assertEqual([rules[n]["in_hw_ports"] for n in range(2)], [[0, 1], [0]])
            self.assertEqual([rules[n]["in_hw"] for n in range(2)], [True, False])
            router.tell("quit")


class Again(Hardware):
    """Rules kept out of hardware are offered again, without being asked to, when there is reason to."""

    def comes_to_be(self, router, places, port=0):
        router.until(lambda: self.where(router, port) == places, f"rules at {places}", every=0.1)

    def test_room(self):
        """A place that becomes free goes to the first that waits."""
        rules = "".join(drop(n, priority=p) for n, p in enumerate((0, 0, 7, 3, 5)))
        with self.router(rules, room=2) as router:
            self.assertEqual(self.where(router), {0: "hs", 1: "hs", 2: "s", 3: "s", 4: "s"})
            router.tell("flow destroy 0 rule 0")
            self.comes_to_be(router, {1: "hs", 2: "s", 3: "hs", 4: "s"})
            router.tell("flow destroy 0 rule 1 rule 3")
            self.comes_to_be(router, {2: "hs", 4: "hs"})
            router.tell("quit")

    def test_nowhere_comes_first(self):
        with self.router(drop(0) + drop(1) + drop(2, "skip_sw", priority=9)) as router:
            self.has_room(router, 1)
            self.assertIn("did not go back", router.tell("port stop 0") + router.tell("port start 0"))
            self.comes_to_be(router, {0: "hs", 1: "s", 2: "-"})
            router.tell("flow destroy 0 rule 0")
            self.comes_to_be(router, {1: "s", 2: "h"})
            router.tell("quit")

    def test_order(self):
        """A rule in front was in software alone; when it has gone, those behind it go into
        hardware, and those behind these, too."""
        wide = "flow create 0 priority {} {} pattern ipv4 src prefix 10.0.0.0/{} / end actions {} / end\n"
        rules = (wide.format(1, "skip_hw", 24, "accept") + wide.format(2, "", 16, "drop") +
                 wide.format(3, "", 8, "queue index 0") + drop(1, "skip_hw", priority=4) + drop(1, priority=5))
        with self.router(rules) as router:
            self.assertEqual(self.where(router), {0: "s", 1: "s", 2: "s", 3: "s", 4: "s"})
            router.tell("flow destroy 0 rule 0")
            # A rule that acts alike is not in the way of the last.
            self.comes_to_be(router, {1: "hs", 2: "hs", 3: "s", 4: "hs"})
            router.tell(wide.format(0, "skip_hw", 8, "accept").strip())
            self.assertEqual(set(self.where(router).values()), {"s"})
            router.tell("flow destroy 0 rule 5")
            self.comes_to_be(router, {1: "hs", 2: "hs", 3: "s", 4: "hs"})
            router.tell("quit")

    def test_any_rules(self):
        """Rules at random come and go: hardware has all it may have, and no other."""
        chance, rules, number = random.Random(6), {}, 0

        def expected():
            places = {}
            for n, (priority, placement, net, port, action) in sorted(rules.items(), key=lambda r: (r[1][0], r[0])):
                before = [(m, other) for m, other in rules.items()
                          if (other[0], m) < (priority, n) and other[2].overlaps(net) and
                          (None in (other[3], port) or other[3] == port) and other[4] != action]
                good = all("h" in places[m] and other[0] < priority for m, other in before)
                places[n] = {"": "hs" if good else "s", "skip_hw": "s", "skip_sw": "h"}[placement]
            return places

        with self.router() as router:
            for _ in range(12):
                lines = []
                for _ in range(20):
                    old = [n for n in rules if n != number - 1]  # the last one's number would come again
                    if old and chance.random() < 0.4:
                        gone = chance.choice(old)
                        del rules[gone]
                        lines.append(f"flow destroy 0 rule {gone}")
                        continue
                    length = chance.choice((14, 15, 16, 24))
                    address = ipaddress.ip_address(f"10.{chance.randrange(4)}.{chance.randrange(2)}.0")
                    net = ipaddress.ip_network(f"{address}/{length}", strict=False)
                    rule = (chance.randrange(6), chance.choice(("", "", "", "skip_hw", "skip_sw")), net,
                            chance.choice((None, None, 53, 80)), chance.choice(("drop", "queue index 0")))
                    udp = f"udp dst is {rule[3]} / " if rule[3] else ""
                    lines.append(f"flow create 0 priority {rule[0]} {rule[1]} pattern ipv4 src prefix {net} / "
                                 f"{udp}end actions {rule[4]} / end")
                    rules[number] = rule
                    number += 1
                status, _, err = router.try_ctl("", json_wanted=False, lines="\n".join(lines) + "\n")
                self.assertEqual((status, err), (0, ""))
                self.comes_to_be(router, dict(sorted(expected().items())))
            router.tell("quit")

    def test_block(self):
        """Each port of a block for itself."""
        config = "flow block edge ports 0,1\n" + drop(0, "", "edge")
        with self.router(config, room=1) as router:
            router.tell(drop(1, "", "edge").strip())
            self.assertEqual(self.where(router, "edge"), {0: "hs", 1: "s"})
            router.tell("port stop 1")
            router.tell("flow destroy edge rule 0")
            router.until(lambda: self.rules(router, "edge")[1]["in_hw_ports"] == [0], "rule 1 on port 0")
            router.tell("port start 1")
            self.assertEqual(self.where(router, "edge"), {1: "hs"})
            router.tell("quit")


class Refused(Hardware):
    def test_no_room(self):
        """skip_sw is refused with the driver's words, and nothing is left; others are in software."""
        with self.router(drop(0, "skip_sw"), room=1) as router:
            status, out, err = router.try_ctl(drop(1, "skip_sw").strip(), json_wanted=False)
            self.assertEqual((status, out), (1, ""))
            self.assertIn("table is full", err)
            self.assertIn("(in_sw)", router.tell(drop(1).strip()))
            self.assertEqual(self.where(router), {0: "h", 1: "s"})
            router.tell("quit")

    def test_refused_by_one_port_of_a_block(self):
        with self.router("flow block edge ports 0,1\n" + drop(0, "skip_sw", 2), room=1) as router:
            router.tell("flow flush 2")
            router.tell("flow block edge ports 0")
            router.tell(drop(0, "skip_sw", "edge").strip())
            router.tell("flow block edge ports 0,1")
            status, _, err = router.try_ctl(drop(1, "skip_sw", "edge").strip(), json_wanted=False)
            self.assertEqual(status, 1)
            self.assertIn("port 0", err)
            self.assertEqual(self.rules(router, "edge")[0]["in_hw_ports"], [0, 1])
            # A port whose device has no room cannot join.
            router.tell("flow block edge ports 0")
            self.has_room(router, 0)
            status, _, err = router.try_ctl("flow block edge ports 0,1", json_wanted=False)
            self.assertEqual(status, 1)
            self.assertIn("rule #0", err)
            self.assertEqual(router.ask("flow block show")[0]["ports"], [0])
            router.tell("quit")


if __name__ == "__main__":
    unittest.main()
