# SPDX-License-Identifier: BSD-3-Clause
"""Flow rules in software: each fate, several in one burst, counters, traces, and rules
that come and go while packets pass."""

import unittest

from harness import Router, write_pcap
from test_xdp import LARGE, Case, flow_of, forwarded, frame, mixed, packet

RULE = "flow create 0 skip_hw "


def from_flow(number):
    return f"pattern eth / ipv4 src is 11.0.{number}.1 / end "


class Fates(Case):
    lcores = ("-l", "0,1")

    def run_rules(self, rules, frames):
        with self.router(rules, frames) as router:
            router.settle()
            self.listed = {rule["rule"]: rule for rule in router.ask("flow list 0")}
            return router.finish()

    def test_drop(self):
        frames = mixed()
        run = self.run_rules(RULE + from_flow(2) + "actions drop / end\n", frames)
        dropped = [f for f in frames if flow_of(f)[2] == 2]
        self.assertEqual(run.drops, {"flow_drop": len(dropped)})
        self.assertEqual(run.sent[1], [forwarded(f) for f in frames if f not in dropped])
        self.assertEqual(self.listed[0]["packets"], len(dropped))
        self.assertEqual(self.listed[0]["bytes"], sum(map(len, dropped)))

    def test_every_packet(self):
        frames = mixed()
        run = self.run_rules(RULE + "pattern end actions drop / end\n", frames)
        self.assertEqual(run.drops, {"flow_drop": len(frames)})

    def test_fates_of_one_burst(self):
        """Each its own, and what stays keeps its order."""
        frames = mixed()
        run = self.run_rules(
            RULE + from_flow(0) + "actions drop / end\n" +
            RULE + from_flow(1) + "actions represented_port ethdev_port_id 2 / end\n" +
            RULE + from_flow(2) + "actions represented_port ethdev_port_id 3 / end\n" +
            RULE + from_flow(3) + "actions lcore id 1 / end\n", frames)
        flows = {n: [f for f in frames if flow_of(f)[2] == n] for n in range(5)}
        self.assertEqual(run.drops, {"flow_drop": len(flows[0])})
        self.assertEqual(run.sent[2], flows[1])
        self.assertEqual(run.sent[3], flows[2])
        self.assertEqual(run.sent[1], [forwarded(f) for f in frames if flow_of(f)[2] in (3, 4)])
        for rule in range(4):
            self.assertEqual(self.listed[rule]["packets"], len(flows[rule]))

    def test_priority_accept_passthru(self):
        frames = mixed()
        run = self.run_rules(
            RULE.strip() + " priority 2 pattern eth / ipv4 / end actions drop / end\n" +
            RULE.strip() + " priority 1 " + from_flow(1) + "actions accept / end\n" +
            RULE.strip() + " priority 0 " + from_flow(1) + "actions mark id 7 / count / end\n" +
            RULE.strip() + " priority 0 " + from_flow(2) + "actions passthru / end\n", frames)
        kept = [f for f in frames if flow_of(f)[2] == 1]
        self.assertEqual(run.sent[1], [forwarded(f) for f in kept])
        self.assertEqual(run.drops, {"flow_drop": len(frames) - len(kept)})
        self.assertEqual(self.listed[2]["packets"], len(kept))
        self.assertEqual(self.listed[3]["packets"], sum(flow_of(f)[2] == 2 for f in frames))

    def test_jump(self):
        frames = mixed()
        run = self.run_rules(
            RULE + "pattern eth / ipv4 / end actions jump group 4 / end\n" +
            "flow create 0 skip_hw group 4 " + from_flow(3) + "actions drop / end\n" +
            RULE + from_flow(2) + "actions drop / end\n", frames)
        self.assertEqual(run.drops, {"flow_drop": sum(flow_of(f)[2] == 3 for f in frames)})

    def test_malformed(self):
        """Frames cut anywhere meet the rules they can, and leave as without rules."""
        whole = frame(packet(1, 1))
        frames = [whole[:n] for n in range(14, len(whole))]
        with self.router("", frames) as router:
            router.settle()
            without = router.finish()
        run = self.run_rules(
            RULE + "pattern eth / ipv4 / udp src is 1 / end actions drop / end\n" +
            RULE + "pattern eth / vlan / ipv6 / end actions drop / end\n", frames)
        self.assertEqual(run.drops, without.drops)

    def test_traces(self):
        frames = mixed(5)
        rules = (RULE + from_flow(1) + "actions mark id 5 / end\n" +
                 RULE + from_flow(1) + "actions drop / end\n")
        with self.router(rules + "trace add 5\n", frames) as router:
            router.settle()
            traces = router.ask("trace show")
            router.finish()
        steps = traces[1]["steps"]
        self.assertIn("flow rule #0: passthru, mark 5", steps)
        self.assertIn("flow rule #1: drop", steps)
        self.assertTrue(steps[-1].startswith("dropped: flow_drop"))
        self.assertFalse(any("flow rule" in step for step in traces[0]["steps"]))


class Workers(Fates):
    """The same with three workers, and what only they can do."""

    lcores = ("--lcores", "0@0,1@1,2@0,3@1")

    def test_lcore(self):
        frames = mixed(300)
        run = self.run_rules(RULE + from_flow(1) + "actions lcore id 2 / end\n" +
                             RULE + from_flow(3) + "actions lcore id 3 / end\n", frames)
        self.assertEqual(run.drops, {})
        self.assert_flows([f[14 + 12:] for f in run.sent[1]],
                          [forwarded(f)[14 + 12:] for f in frames])

    def assert_flows(self, sent, expected):
        """Frames from their source address on: each flow's in the order they came."""
        self.assertEqual(sorted(sent), sorted(expected))
        for flow in {f[:4] for f in expected}:
            self.assertEqual([f for f in sent if f[:4] == flow],
                             [f for f in expected if f[:4] == flow])

    def test_queue(self):
        """Whose queue it is takes it; here there is only the first."""
        frames = mixed()
        run = self.run_rules(RULE + from_flow(1) + "actions queue index 0 / end\n", frames)
        self.assertEqual(run.drops, {})
        self.assertEqual(len(run.sent[1]), len(frames))

    def test_fates_of_one_burst(self):
        """Packets another worker goes on with may be overtaken."""


class Changes(unittest.TestCase):
    def under_traffic(self, config, frames, changes):
        """These frames come in for ever while the lines are run: (the Run, what was sent by port)."""
        sinks = {port: f"net_null{port},no-rx=1" for port in (1, 2, 3)}
        router = Router(config, {}, args=LARGE,
                        vdevs={**sinks, 0: "net_pcap0,rx_pcap=%FOLDER%/in0.pcap,infinite_rx=1"},
                        prepare=lambda space: write_pcap(space.path_in(0), frames))
        with router:
            before = router.balance()["received"]
            status, _, err = router.try_ctl("", json_wanted=False,
                                            lines="\n".join(changes) + "\n")
            self.assertEqual((status, err), (0, ""))
            self.assertGreater(router.balance()["received"], before + 1000)
            router.tell("stop")
            run = router.finish(infinite=True)
        return run, {port["port"]: port["tx_packets"] for port in run.ports}

    def test_under_traffic(self):
        """Rules come and go while packets pass: each packet is dropped or forwarded, none lost."""
        config = Case.config + RULE + from_flow(9) + "actions drop / end\n"
        changes = []
        for n in range(2000):
            changes.append(f"flow create 0 skip_hw priority {n % 3} {from_flow(n % 5)}"
                           f"actions {('drop', 'count', 'accept')[n % 7 % 3]} / end")
            if n % 100 == 99:
                changes.append("flow flush 0")
        frames = [frame(packet(n % 5, n)) for n in range(256)]
        run, _ = self.under_traffic(config, frames, changes)
        self.assertEqual(set(run.drops), {"flow_drop"})

    def test_no_packet_between_two_sets(self):
        """With 10,000 rules in place, rules that take all packets are replaced by others that do,
        and pairs that must not be seen apart go together: no packet comes to what is behind them."""
        present = 10_000
        others = "".join(f"{RULE}pattern eth / ipv4 src is 172.16.{n >> 8}.{n & 255} / end "
                         "actions drop / end\n" for n in range(present - 1))
        everything = RULE.strip() + " priority {} pattern eth / ipv4 / end actions {} / end"
        sent = everything.format(3, "represented_port ethdev_port_id 2")
        changes, number = [], present
        for _ in range(2000):
            # The new rule is behind the old one until that goes.
            changes += [sent, f"flow destroy 0 rule {number - 1}"]
            number += 1
            if number % 2 == 0:
                # The first keeps packets from the second.
                changes += [everything.format(1, "passthru / count"),
                            everything.format(0, "represented_port ethdev_port_id 3"),
                            everything.format(2, "drop"),
                            f"flow destroy 0 rule {number + 1} rule {number + 2} rule {number}"]
        frames = [frame(packet(n % 5, n)) for n in range(256)]
        run, counts = self.under_traffic(Case.config + others + sent + "\n", frames, changes)
        self.assertEqual(run.drops, {})
        self.assertEqual(counts[1], 0)
        self.assertGreater(counts[2], 0)
        self.assertGreater(counts[3], 0)


if __name__ == "__main__":
    unittest.main()
