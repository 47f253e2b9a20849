# SPDX-License-Identifier: BSD-3-Clause
"""Flow rules in software: what they match, what they do, and the commands about them."""

import itertools
import time
import unittest

import packets as p
from cases import SOURCE_MAC
from harness import Router
from lab import PORT_MAC, ROUTER
from test_endpoints import IN4, IN6

NULL = {port: f"net_null{port},no-rx=1" for port in range(4)}
SRC4, SRC6 = "11.0.0.1", "fd00::1"


def udp4(dport, sport=40000, src=SRC4, dst=IN4, port=0, vlan=None, payload=b"flow-rules", **ip):
    return p.eth(PORT_MAC[port], SOURCE_MAC, p.ip4(src, dst, 17, p.udp(payload, sport, dport), **ip),
                 vlan=vlan)


def frame4(proto, payload=b"\0" * 40, port=0, **ip):
    return p.eth(PORT_MAC[port], SOURCE_MAC, p.ip4(SRC4, IN4, proto, payload, **ip))


def frame6(nh, payload=b"\0" * 40, port=0, dst=IN6, **ip):
    return p.eth(PORT_MAC[port], SOURCE_MAC, p.ip6(SRC6, dst, nh, payload, **ip))


def tcp(sport, dport, flags):
    return sport.to_bytes(2, "big") + dport.to_bytes(2, "big") + bytes(8) + bytes([0x50, flags]) + bytes(6)


class FlowTest(unittest.TestCase):
    def replay(self, rules, captures, check, args=()):
        """Rules are lines behind `flow create`; check(router) is called when all is quiet."""
        config = ROUTER + "".join(f"flow create {rule}\n" for rule in rules)
        with Router(config, captures, args=args) as router:
            router.settle()
            check(router)
            return router.finish()

    def counts(self, router, port=0):
        return {rule["rule"]: rule["packets"] for rule in router.ask(f"flow list {port}")}


class Matching(FlowTest):
    """Each pattern against the same frames: it counts those it names, and no others."""

    FRAMES = {
        "udp": udp4(1000, tos=0x10, ttl=9, ident=77),
        "udp_other": udp4(1001, sport=40001, src="11.1.2.3"),
        "udp_range": udp4(1500),
        "tcp_syn": frame4(6, tcp(80, 81, 0x02)),
        "tcp_ack": frame4(6, tcp(80, 81, 0x12)),
        "sctp": frame4(132, bytes.fromhex("00070008 0000000a 0000000b") + bytes(8)),
        "icmp": p.eth(PORT_MAC[0], SOURCE_MAC, p.echo4(SRC4, IN4, b"x" * 20, ident=7, seq=3)),
        "fragment": frame4(17, offset=10, ident=5),
        "first_fragment": frame4(17, p.udp(b"x" * 32, 40000, 1000), mf=True),
        "tagged": udp4(1000, vlan=0x6005),
        "udp6": frame6(17, p.udp(b"x" * 20, 40000, 1000), tc=0x12, flow=0x345, hlim=9),
        "tcp6": frame6(6, tcp(80, 81, 0x02)),
        "icmp6": p.eth(PORT_MAC[0], SOURCE_MAC, p.echo6(SRC6, IN6, b"x" * 20)),
        "fragment6": frame6(44, p.fragment_header(17) + p.udp(b"x" * 20, 40000, 1000)),
        "options6": frame6(60, p.options_header(17) + p.udp(b"x" * 20, 40000, 1000)),
        "ip4_in_ip6": frame6(4, p.ip4("10.7.0.1", "10.7.0.2", 17, p.udp(b"x" * 20, 5, 6))),
        "ip6_in_ip6": frame6(41, p.ip6("fd07::1", "fd07::2", 6, tcp(80, 443, 0x10))),
        "ip4_in_ip4": frame4(4, p.ip4("10.7.0.1", "10.7.0.2", 1, bytes.fromhex("0800000000070003"))),
        "ethertype": p.eth(PORT_MAC[0], SOURCE_MAC, bytes(50), 0x88F7),
        "broadcast": p.eth("ff:ff:ff:ff:ff:ff", SOURCE_MAC, bytes(50), 0x88F7),
    }
    UDP4 = {"udp", "udp_other", "udp_range", "first_fragment", "tagged"}
    IP4 = UDP4 | {"tcp_syn", "tcp_ack", "sctp", "icmp", "fragment", "ip4_in_ip4"}
    IP6 = {"udp6", "tcp6", "icmp6", "fragment6", "options6", "ip4_in_ip6", "ip6_in_ip6"}
    UDP6 = {"udp6", "fragment6", "options6"}

    PATTERNS = (
        ("end", set(FRAMES)),
        ("eth / end", set(FRAMES)),
        ("eth type is 0x88f7 / end", {"ethertype", "broadcast"}),
        ("eth type spec 0x8800 type mask 0xff00 / end", {"ethertype", "broadcast"}),
        ("eth dst is ff:ff:ff:ff:ff:ff / end", {"broadcast"}),
        (f"eth dst is {PORT_MAC[0]} type is 0x88f7 / end", {"ethertype"}),
        ("eth dst spec 01:00:00:00:00:00 dst mask 01:00:00:00:00:00 / end", {"broadcast"}),
        (f"eth src is {SOURCE_MAC} type is 0x86dd / end", IP6),
        ("eth has_vlan is 1 / end", {"tagged"}),
        ("eth has_vlan is 0 / ipv4 / udp / end", UDP4 - {"tagged"}),
        ("eth / vlan / end", {"tagged"}),
        ("eth / vlan vid is 5 / ipv4 / end", {"tagged"}),
        ("eth / vlan vid is 6 / end", set()),
        ("eth / vlan pcp is 3 dei is 0 / end", {"tagged"}),
        ("eth / vlan tci is 0x6005 inner_type is 0x0800 has_more_vlan is 0 / end", {"tagged"}),
        ("eth / vlan vid spec 4 vid last 6 / end", {"tagged"}),
        ("eth / vlan / vlan / end", set()),
        ("eth / ipv4 / end", IP4),
        ("ipv4 / end", IP4),
        ("ipv4 tos is 0x10 / end", {"udp"}),
        ("ipv4 ttl is 9 packet_id is 77 / end", {"udp"}),
        ("ipv4 ttl spec 1 ttl last 10 / end", {"udp"}),
        ("ipv4 src prefix 11.1.0.0/16 / end", {"udp_other"}),
        ("ipv4 src spec 0.0.2.0 src mask 0.0.255.0 / end", {"udp_other"}),
        ("ipv4 src spec 11.0.0.2 src last 11.9.0.0 / end", {"udp_other"}),
        (f"ipv4 dst is {IN4} proto is 132 / end", {"sctp"}),
        ("ipv4 proto is 17 / end", UDP4 | {"fragment"}),
        ("ipv4 fragment_offset spec 0 fragment_offset mask 0x1fff proto is 17 / end", UDP4),
        ("ipv4 fragment_offset spec 0x2000 fragment_offset mask 0x2000 / end", {"first_fragment"}),
        ("ipv4 / udp / end", UDP4),
        ("ipv4 / udp dst is 1000 / end", {"udp", "first_fragment", "tagged"}),
        ("ipv4 / udp src is 40001 / end", {"udp_other"}),
        ("ipv4 / udp dst spec 1001 dst last 2000 / end", {"udp_other", "udp_range"}),
        ("ipv4 / udp dst spec 0x3e8 dst mask 0xfff8 / end", {"udp", "udp_other", "first_fragment", "tagged"}),
        ("udp dst is 1000 / end", {"udp", "first_fragment", "tagged"} | UDP6),
        ("ipv4 / tcp / end", {"tcp_syn", "tcp_ack"}),
        ("tcp src is 80 dst is 81 / end", {"tcp_syn", "tcp_ack", "tcp6"}),
        ("ipv4 / tcp flags spec 0x02 flags mask 0x02 / end", {"tcp_syn", "tcp_ack"}),
        ("ipv4 / tcp flags spec 0x02 flags mask 0x12 / end", {"tcp_syn"}),
        ("ipv4 / sctp src is 7 dst is 8 tag is 10 cksum is 11 / end", {"sctp"}),
        ("ipv4 / icmp type is 8 code is 0 ident is 7 seq is 3 / end", {"icmp"}),
        ("ipv6 / end", IP6),
        ("eth / ipv6 tc is 0x12 flow is 0x345 / end", {"udp6"}),
        ("ipv6 hop is 9 proto is 17 len is 28 / end", {"udp6"}),
        (f"ipv6 src is {SRC6} dst prefix {IN6}/64 / udp / end", UDP6),
        ("ipv6 has_frag_ext is 1 / end", {"fragment6"}),
        ("ipv6 has_frag_ext is 0 / udp / end", UDP6 - {"fragment6"}),
        ("ipv6 / icmp6 type is 128 code is 0 / end", {"icmp6"}),
        ("ipv6 / ipv4 src is 10.7.0.1 / udp dst is 6 / end", {"ip4_in_ip6"}),
        ("ipv6 / ipv6 dst is fd07::2 / tcp dst is 443 / end", {"ip6_in_ip6"}),
        ("ipv4 / ipv4 / icmp ident is 7 / end", {"ip4_in_ip4"}),
        ("ipv6 / ipv4 dst prefix 10.8.0.0/16 / end", set()),
    )

    def test_patterns(self):
        frames = list(self.FRAMES.values())

        def check(router):
            rules = router.ask("flow list 0")
            for rule, (pattern, names) in zip(rules, self.PATTERNS):
                size = sum(len(self.FRAMES[name]) for name in names)
                self.assertEqual((rule["packets"], rule["bytes"]), (len(names), size), pattern)

        self.replay([f"0 pattern {pattern} actions count / end" for pattern, _ in self.PATTERNS],
                    {0: frames}, check)

    def test_each_alone(self):
        """One frame after the other: what a rule counts is that frame."""
        order = list(self.FRAMES)
        config = ROUTER + "".join(f"flow create 0 pattern {pattern} actions count / end\n"
                                  for pattern, _ in self.PATTERNS)
        for group in (order[:7], order[7:14], order[14:]):
            with Router(config, {0: [self.FRAMES[name] for name in group]}) as router:
                router.settle()
                for rule, (pattern, names) in zip(router.ask("flow list 0"), self.PATTERNS):
                    self.assertEqual(rule["packets"], len(names & set(group)), (pattern, group))
                router.finish()


class Actions(FlowTest):
    def sent_ports(self, run, port):
        return sorted(int.from_bytes(frame[36:38], "big") for frame in run.sent[port])

    def test_every_action(self):
        rules = [
            "0 pattern ipv4 / udp dst is 1000 / end actions drop / end",
            "0 pattern ipv4 / udp dst is 1001 / end actions accept / end",
            "0 pattern ipv4 / udp dst is 1002 / end actions passthru / count / end",
            "0 pattern ipv4 / udp dst is 1003 / end actions mark id 7 / end",
            "0 pattern ipv4 / udp dst is 1004 / end actions represented_port ethdev_port_id 3 / end",
            "0 pattern ipv4 / udp dst is 1005 / end actions queue index 0 / end",
            "0 pattern ipv4 / udp dst is 1006 / end actions lcore id 1 / end",
            "0 pattern ipv4 / udp dst is 1007 / end actions jump group 1 / end",
            "0 group 1 pattern ipv4 / udp src is 7 / end actions drop / end",
            "0 priority 9 pattern ipv4 / udp / end actions drop / end",
        ]
        frames = [udp4(port) for port in range(1000, 1009)] + [udp4(1007, sport=7)]
        run = self.replay(rules, {0: frames}, lambda router: self.assertEqual(
            self.counts(router), {0: 1, 1: 1, 2: 1, 3: 1, 4: 1, 5: 1, 6: 1, 7: 2, 8: 1, 9: 3}))
        # 1002, 1003 and 1008 come to the last rule; a jump that matches nothing accepts.
        self.assertEqual(self.sent_ports(run, 1), [1001, 1005, 1006, 1007])
        self.assertEqual(run.sent[3], [frames[4]])
        self.assertEqual(run.drops, {"flow_drop": 5})

    def test_three_workers(self):
        """Rules that hand packets to other workers lose none."""
        rules = ["0 pattern ipv4 / udp dst spec 1000 dst last 1099 / end actions lcore id 2 / end",
                 "0 pattern ipv4 / udp dst spec 1100 dst last 1199 / end actions lcore id 3 / end"]
        frames = [udp4(1000 + n % 300) for n in range(600)]
        config = ROUTER + "".join(f"flow create {rule}\n" for rule in rules)
        with Router(config, {0: frames}, lcores=("--lcores", "0@0,1@0,2@1,3@1"), eal=("-m", "160")) as router:
            router.settle()
            self.assertEqual(self.counts(router), {0: 200, 1: 200})
            run = router.finish()
        self.assertEqual(run.drops, {})
        self.assertEqual(len(run.sent[1]), 600)

    def test_priorities_and_age(self):
        rules = [
            "0 priority 2 pattern ipv4 / udp / end actions drop / end",
            "0 priority 1 pattern ipv4 / udp dst is 1000 / end actions accept / end",
            "0 priority 1 pattern ipv4 / udp dst spec 1000 dst last 1001 / end actions drop / end",
            "0 pattern ipv4 / udp dst is 1002 / end actions count / end",
        ]
        run = self.replay(rules, {0: [udp4(port) for port in (1000, 1001, 1002)]},
                          lambda router: self.assertEqual(self.counts(router), {0: 1, 1: 1, 2: 1, 3: 1}))
        self.assertEqual(self.sent_ports(run, 1), [1000])

    def test_changes_while_it_runs(self):
        config = ROUTER + "flow create 0 pattern ipv4 / udp dst is 1000 / end actions drop / end\n"
        with Router(config, {0: [udp4(1000)] * 3}) as router:
            router.settle()
            self.assertEqual(self.counts(router), {0: 3})
            self.assertEqual(router.tell("flow create 0 pattern ipv4 / udp dst is 1001 / end actions drop / end"),
                             "Flow rule #1 created (in_sw)\n")
            router.tell("flow destroy 0 rule 0")
            router.feed(0, [udp4(1000), udp4(1001), udp4(1001)])
            router.settle()
            self.assertEqual(self.counts(router), {1: 2})
            query = router.ask("flow query 0 1 count")
            self.assertEqual((query["packets"], query["in_sw"], query["in_hw"]), (2, True, False))
            self.assertIn("packets 2", router.tell("flow query 0 1"))
            router.tell("flow flush 0")
            router.feed(0, [udp4(1001)] * 2)
            router.settle()
            self.assertEqual(router.ask("flow list 0"), [])
            # As in testpmd, numbers begin anew.
            self.assertIn("#0 created", router.tell("flow create 0 pattern end actions count / end"))
            run = router.finish()
        self.assertEqual(run.drops, {"flow_drop": 5})


class Blocks(FlowTest):
    RULE = "edge pattern ipv4 / udp dst is 1000 / end actions drop / end"

    def test_shared_rules(self):
        config = ROUTER + f"flow block edge ports 0,1\nflow create {self.RULE}\n"
        captures = {0: [udp4(1000), udp4(1001)],
                    1: [udp4(1000, port=1), udp4(1001, port=1)]}
        with Router(config, captures) as router:
            router.settle()
            for name in ("edge", "0", "1", "net_pcap1"):
                self.assertEqual(self.counts(router, name), {0: 2})
            self.assertEqual(router.ask("flow list 2"), [])
            self.assertEqual(router.ask("flow block show"),
                             [{"block": "edge", "ports": [0, 1], "rules": 1}])
            router.tell("flow block edge ports 1,2")
            router.feed(0, [udp4(1000)])
            router.settle()  # port 1 is where it goes
            router.feed(1, [udp4(1000, port=1)])
            router.settle()
            self.assertEqual(self.counts(router, "edge"), {0: 3})
            self.assertEqual(router.ask("flow list 0"), [])
            router.tell("flow create 0 pattern end actions count / end")
            router.tell("flow block del edge")
            self.assertEqual(router.ask("flow block show"), [])
            router.feed(1, [udp4(1000, port=1)])
            router.settle()
            run = router.finish()
        self.assertEqual(run.drops, {"flow_drop": 3})

    def test_mistakes(self):
        config = ROUTER + ("flow block edge ports 0,1\nflow create 2 pattern end actions count / end\n"
                           "flow create edge pattern end actions count / end\n")
        with Router(config, {}, vdevs=NULL) as router:
            for command, words in (
                    ("flow create 0 pattern end actions drop / end", "port 0 shares the rules of block edge"),
                    ("flow flush 1", "port 1 shares the rules of block edge"),
                    ("flow destroy 0 rule 0", "port 0 shares"),
                    ("flow block edge ports 0,1,2", "port 2 has rules of its own"),
                    ("flow block other ports 1,3", "port 1 is in block edge"),
                    ("flow block other ports 3,9", "port '9'"),
                    ("flow block other ports 3,3", "twice"),
                    ("flow block other ports", "P,Q is missing"),
                    ("flow block other", "ports P,Q is missing"),
                    ("flow block 7 ports 3", "block '7'"),
                    ("flow block del", "name is missing"),
                    ("flow block del other", "block 'other'"),
                    ("flow block list ports 3", "block 'list'"),
                    ("flow block net_null3 ports 3", "block 'net_null3'"),
                    (f"flow block {'x' * 32} ports 3", "up to 31"),
                    ("flow list other", "neither a port nor a block"),
                    ("flow create other pattern end actions end", "neither a port nor a block")):
                status, out, err = router.try_ctl(command, json_wanted=False)
                self.assertEqual((status, out), (1, ""), command)
                self.assertIn(words, err, command)
            self.assertEqual(router.ask("flow block show"), [{"block": "edge", "ports": [0, 1], "rules": 1}])
            router.tell("quit")


class Commands(FlowTest):
    def test_bad_lines(self):
        """Words left out, doubled, exchanged: one clear line each, and nothing is left."""
        good = ("flow create 0 priority 1 group 2 ingress skip_hw pattern eth dst is 02:00:00:00:00:01 / "
                "vlan vid is 5 / ipv4 src spec 10.0.0.0 src mask 255.0.0.0 ttl is 3 / udp dst is 53 / end "
                "actions count / mark id 3 / queue index 0 / end").split()
        lines = set()
        for at in range(1, len(good)):
            lines.add(" ".join(good[:at]))
            lines.add(" ".join(good[:at] + ["nonsense"] + good[at + 1:]))
            lines.add(" ".join(good[:at] + ["99999999999"] + good[at + 1:]))
            lines.add(" ".join(good[:at] + good[at + 1:]))
            lines.add(" ".join(good[:at] + [good[at], good[at]] + good[at + 1:]))
        lines |= {f"flow {word}" for word in ("", "create", "list", "list 9", "query 0", "query 0 0",
                                              "query 0 x", "destroy 0", "destroy 0 rule", "destroy 0 rule 1",
                                              "destroy 0 1", "flush", "flush 9", "flush 0 0", "validate 0",
                                              "list 0 0", "block", "block x ports y")}
        with Router(ROUTER, {}, vdevs=NULL) as router:
            bad = 0
            for line in sorted(lines):
                status, out, err = router.try_ctl(line, json_wanted=False)
                if status == 0:
                    # Some are good after all: fewer attributes, fewer items.
                    router.tell("flow flush 0")
                    continue
                bad += 1
                self.assertEqual((status, out), (1, ""), line)
                self.assertEqual(len(err.strip().splitlines()), 1, (line, err))
                self.assertLess(len(err), 400, line)
                if bad % 20 == 0:
                    self.assertEqual(router.ask("flow list 0"), [], line)
            self.assertGreater(bad, 200)
            for line, words in (
                    ("0 skip_sw pattern eth / end actions drop / end", "takes no flow rules"),
                    ("0 skip_sw pattern eth / end actions accept / end", "action of software"),
                    ("0 egress pattern eth / end actions drop / end", "egress: not supported"),
                    ("0 pattern eth / end actions queue index 9 / end", "queue"),
                    ("0 pattern eth / end actions lcore id 0 / end", "lcore"),
                    ("0 pattern eth / end actions represented_port ethdev_port_id 9 / end", "port")):
                status, out, err = router.try_ctl(f"flow create {line}", json_wanted=False)
                self.assertEqual((status, out), (1, ""), line)
                self.assertIn(words, err)
            self.assertEqual(router.ask("flow list 0"), [])
            router.tell("quit")

    def test_validate(self):
        with Router(ROUTER, {}, vdevs=NULL) as router:
            self.assertEqual(router.tell("flow validate 0 pattern eth / end actions drop / end"),
                             "Flow rule validated\n")
            self.assertEqual(router.try_ctl("flow validate 0 skip_sw pattern eth / end actions drop / end")[0], 1)
            self.assertEqual(router.ask("flow list 0"), [])
            router.tell("quit")

    def test_destroy_all_or_none(self):
        config = ROUTER + "flow create 0 pattern eth / end actions count / end\n" * 3
        with Router(config, {}, vdevs=NULL) as router:
            self.assertEqual(router.try_ctl("flow destroy 0 rule 0 rule 7")[0], 1)
            self.assertEqual(router.try_ctl("flow destroy 0 rule 0 rule 0")[0], 1)
            self.assertEqual(len(router.ask("flow list 0")), 3)
            self.assertEqual(router.tell("flow destroy 0 rule 0 rule 2"),
                             "Flow rule #0 destroyed\nFlow rule #2 destroyed\n")
            self.assertEqual([rule["rule"] for rule in router.ask("flow list 0")], [1])
            router.tell("quit")

    def test_config_rebuilds_the_state(self):
        actions = ("drop", "accept", "passthru", "count / queue index 0", "mark id 3 / lcore id 1",
                   "represented_port ethdev_port_id 2", "jump group 5")
        rules = [f"{port} priority {number % 5} {placement} pattern {pattern} actions {action} / end"
                 for number, ((pattern, _), action, port, placement) in enumerate(zip(
                     Matching.PATTERNS, itertools.cycle(actions), itertools.cycle((0, 3, "edge")),
                     itertools.cycle(("", "skip_hw"))))]
        config = ROUTER + "flow block edge ports 1,2\n" + "".join(f"flow create {rule}\n" for rule in rules)
        with Router(config, {}, vdevs=NULL) as router:
            shown = router.tell("show config")
            lists = {port: router.ask(f"flow list {port}") for port in range(4)}
            router.tell("quit")
        self.assertEqual(sum(line.startswith("flow create") for line in shown.splitlines()), len(rules))
        with Router(shown, {}, vdevs=NULL) as router:
            self.assertEqual(router.tell("show config"), shown)
            self.assertEqual({port: router.ask(f"flow list {port}") for port in range(4)}, lists)
            router.tell("quit")

    def test_thousands_of_rules(self):
        count = 5000
        rules = [f"0 pattern ipv4 src is 10.{n >> 8}.{n & 255}.1 / udp dst is {n % 7} / end actions drop / end"
                 for n in range(count)]
        config = ROUTER + "".join(f"flow create {rule}\n" for rule in rules)
        began = time.monotonic()
        with Router(config, {0: [udp4(1000)] * 100 + [udp4(4, src="10.0.11.1")]}) as router:
            self.assertLess(time.monotonic() - began, 60)  # with sanitizers, on a busy machine
            router.settle()
            listed = router.ask("flow list 0")
            self.assertEqual([rule["rule"] for rule in listed], list(range(count)))
            self.assertEqual([rule["rule"] for rule in listed if rule["packets"] == 1], [11])
            self.assertEqual(router.tell("show config").count("flow create"), count)
            lines = "".join(f"flow destroy 0 rule {n}\n" for n in range(0, count, 2))
            self.assertEqual(router.try_ctl("", json_wanted=False, lines=lines)[0], 0)
            self.assertEqual(len(router.ask("flow list 0")), count // 2)
            router.tell("flow flush 0")
            self.assertEqual(router.ask("flow list 0"), [])
            router.finish()

    def test_port_restart_keeps_software_rules(self):
        config = ROUTER + "flow create 0 pattern ipv4 / udp dst is 1000 / end actions drop / end\n"
        with Router(config, {0: [udp4(1000)]}) as router:
            router.settle()
            self.assertEqual(router.tell("port stop 0"), "")
            self.assertTrue(router.ask("flow list 0")[0]["in_sw"])
            router.tell("port start 0")
            router.feed(0, [udp4(1000)] * 2)
            router.until(lambda: self.counts(router)[0] >= 3, "the rule to match again")
            # The capture was read again when the port was started the first time.
            router.finish(balanced=False)
