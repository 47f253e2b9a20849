# SPDX-License-Identifier: BSD-3-Clause
"""UDP to sockets of the router: what is delivered, what is dropped and why, what comes back."""

import random
import unittest

from scapy.all import (Ether, ICMP, ICMPv6DestUnreach, IP, IPOption_NOP, IPv6, IPv6ExtHdrDestOpt, Raw, UDP,
                       Dot1Q, IPv6ExtHdrFragment, PadN, fragment, fragment6, raw)

from harness import Router

ROUTER_MAC, PEER_MAC = "02:00:00:00:00:01", "02:00:00:00:00:02"
SRC4, DST4, SRC6, DST6 = "10.0.0.2", "10.0.0.1", "2001:db8::2", "2001:db8::1"
CONFIG = """
ip link set dev 0 address 02:00:00:00:00:01
ip addr add 10.0.0.1/24 dev 0
ip addr add 2001:db8::1/64 dev 0
ip neigh add 10.0.0.2 lladdr 02:00:00:00:00:02 dev 0
ip neigh add 2001:db8::2 lladdr 02:00:00:00:00:02 dev 0
"""
ETHER = Ether(dst=ROUTER_MAC, src=PEER_MAC)


def frame(packet, ether=ETHER):
    return raw(ether / packet)


def udp4(payload=b"x" * 18, sport=4000, dport=9, **fields):
    return frame(IP(src=SRC4, dst=DST4) / UDP(sport=sport, dport=dport, **fields) / Raw(payload))


def udp6(payload=b"x" * 18, sport=4000, dport=9, **fields):
    return frame(IPv6(src=SRC6, dst=DST6) / UDP(sport=sport, dport=dport, **fields) / Raw(payload))


def patched(data, offset, value):
    """Bytes at an offset from the UDP header (IPv4 20, IPv6 40 behind Ethernet's 14)."""
    at = 14 + (40 if data[12:14] == b"\x86\xdd" else 20) + offset
    return data[:at] + value + data[at + len(value):]


def run(config, frames, check=None, ports=1, **workspace):
    with Router(CONFIG + config, {0: frames}, ports=ports, **workspace) as router:
        router.settle()
        sockets = router.ask("udp show")
        if check:
            check(router)
        return sockets, router.finish()


class Sink(unittest.TestCase):
    BOTH = "udp bind [::]:9 app sink\n"

    def outcome(self, frames, packets, drops):
        sockets, done = run(self.BOTH, frames)
        self.assertEqual((sockets[0]["packets"], done.drops), (packets, drops))
        self.assertEqual(done.balance["delivered"], packets)
        return sockets, done

    def test_counts_packets_and_bytes_of_payload(self):
        frames = [udp4(b"a" * n) for n in range(0, 40)] + [udp6(b"b" * n) for n in range(0, 40)]
        sockets, _ = self.outcome(frames, 80, {})
        self.assertEqual(sockets[0]["bytes"], 2 * sum(range(40)))
        self.assertEqual({key: sockets[0][key] for key in ("id", "local", "remote", "lcore", "drops")},
                         {"id": 0, "local": "[::]:9", "remote": "", "lcore": -1, "drops": 0})

    def test_lengths_that_lie(self):
        """Shorter than the header, or longer than the IP payload: never delivered."""
        bad = []
        for make in (udp4, udp6):
            for length in (0, 1, 7, 27, 28, 100, 65535):
                bad.append(patched(make(), 4, length.to_bytes(2, "big")))
        self.outcome(bad, 0, {"udp_bad_length": len(bad)})

    def test_truncated_headers(self):
        bad = []
        for size in range(0, 8):
            bad.append(frame(IP(src=SRC4, dst=DST4, proto=17) / Raw(b"\0\x09\0\x09\0\x08\0\0"[:size])))
            bad.append(frame(IPv6(src=SRC6, dst=DST6, nh=17) / Raw(b"\0\x09\0\x09\0\x08\0\0"[:size])))
        self.outcome(bad, 0, {"udp_bad_length": len(bad)})

    def test_udp_length_below_the_ip_length(self):
        """What is beyond the UDP length is no payload (and in no checksum)."""
        frames = [frame(IP(src=SRC4, dst=DST4) / UDP(sport=1, dport=9, len=10) / b"ab" / Raw(b"beyond")),
                  frame(IPv6(src=SRC6, dst=DST6) / UDP(sport=1, dport=9, len=10) / b"ab" / Raw(b"beyond"))]
        fixed = []
        for data in frames:
            size = 40 if data[12:14] == b"\x86\xdd" else 20
            whole = raw((IPv6 if size == 40 else IP)(data[14:14 + size + 10]))
            short = (IPv6(src=SRC6, dst=DST6) if size == 40 else IP(src=SRC4, dst=DST4)) / \
                UDP(sport=1, dport=9) / b"ab"
            checksum = raw(short)[size + 6:size + 8]
            self.assertEqual(len(whole), size + 10)
            fixed.append(patched(data, 6, checksum))
        sockets, _ = self.outcome(fixed, 2, {})
        self.assertEqual(sockets[0]["bytes"], 4)

    def test_checksums(self):
        good, bad = [], []
        for make in (udp4, udp6):
            for size in range(0, 33):
                data = make(random.Random(size).randbytes(size))
                good.append(data)
                checksum = int.from_bytes(data[-size - 2:len(data) - size], "big")
                bad.append(patched(data, 6, ((checksum ^ 0x0100) or 1).to_bytes(2, "big")))
        good.append(patched(udp4(), 6, b"\0\0"))  # no checksum: over IPv4 only
        bad.append(patched(udp6(), 6, b"\0\0"))
        self.outcome(good + bad, len(good), {"udp_checksum": len(bad)})

    def test_minus_zero(self):
        """A sum of zero is sent as 0xffff."""
        frames = []
        for make, header in ((udp4, 20), (udp6, 40)):
            at = 14 + header + 6
            # A payload that is what the checksum would be without it brings the sum to zero.
            frames.append(make(make(b"\0\0")[at:at + 2]))
            self.assertEqual(frames[-1][at:at + 2], b"\xff\xff")
        self.outcome(frames, len(frames), {})

    def test_a_bad_one_then_a_good_one(self):
        """Nothing wrong is remembered of a source."""
        frames = []
        for make in (udp4, udp6):
            frames += [patched(make(), 6, b"\x12\x34"), make(), patched(make(), 4, b"\0\x03"), make(),
                       make(dport=10), make()]
        sockets, done = run(self.BOTH, frames)
        self.assertEqual(sockets[0]["packets"], 6)
        self.assertEqual(done.drops, {"udp_checksum": 2, "udp_bad_length": 2, "udp_no_socket": 2})

    def test_the_slow_ways(self):
        """Options, extension headers, a VLAN, padding behind the packet, port 0 as source."""
        options = IP(src=SRC4, dst=DST4, options=[IPOption_NOP()] * 4) / UDP(sport=1, dport=9) / b"opt"
        header = IPv6(src=SRC6, dst=DST6) / IPv6ExtHdrDestOpt(options=[PadN(optdata=b"\0\0\0\0")]) / \
            UDP(sport=1, dport=9) / b"ext"
        tagged = frame(IP(src="10.0.7.2", dst="10.0.7.1") / UDP(sport=1, dport=9) / b"tag",
                       ETHER / Dot1Q(vlan=7))
        frames = [frame(options), frame(header), tagged, udp4(b"p") + b"\xee" * 30, udp4(sport=0)]
        sockets, done = run("ip link add link 0 name 0.7 type vlan id 7\nip addr add 10.0.7.1/24 dev 0.7\n" +
                            self.BOTH, frames)
        self.assertEqual((sockets[0]["packets"], done.drops), (5, {}))
        self.assertEqual(sockets[0]["bytes"], 3 + 3 + 3 + 1 + 18)

    def test_not_for_us(self):
        """Another host's address, a fragment, a socket that is connected elsewhere."""
        config = self.BOTH + "udp bind 10.0.0.1:10 app sink\nudp connect 1 10.0.0.2:4000\n"
        frames = [frame(IP(src=SRC4, dst="10.0.0.77") / UDP(sport=1, dport=9) / b"x"),
                  udp4(dport=10), udp4(dport=10, sport=4001)]
        sockets, done = run(config, frames[1:])
        self.assertEqual([s["packets"] for s in sockets], [0, 1])
        self.assertEqual(done.drops, {"udp_no_socket": 1})

    def test_closed_ports_in_a_flood(self):
        """Port unreachable, at most as many as the bucket holds and refills."""
        frames = [udp4(dport=100 + i % 1000) for i in range(3000)] + [udp4()]
        sockets, done = run(self.BOTH, frames)
        self.assertEqual((sockets[0]["packets"], done.drops), (1, {"udp_no_socket": 3000}))
        answers = [Ether(data) for data in done.sent[0]]
        self.assertTrue(50 <= len(answers) < 1000, len(answers))
        self.assertTrue(all(a[ICMP].type == 3 and a[ICMP].code == 3 for a in answers))

    def test_port_unreachable_over_ipv6(self):
        _, done = run(self.BOTH, [udp6(dport=10)])
        answer = Ether(done.sent[0][0])
        self.assertEqual((answer[ICMPv6DestUnreach].code, answer[IPv6].dst), (4, SRC6))

    def test_traced(self):
        with Router(CONFIG + self.BOTH + "trace add 3\n", {0: [udp4(), udp6(), udp4(dport=10)]},
                    ports=1) as router:
            router.settle()
            text = router.tell("trace show")
            router.finish()
        self.assertEqual(text.count("delivered to UDP socket"), 2, text)
        self.assertIn("udp_no_socket", text)


class Echo(unittest.TestCase):
    def answers(self, config, frames, ports=1):
        sockets, done = run(config, frames, ports=ports)
        return [Ether(data) for data in done.sent[0]], sockets, done

    def check(self, answer, kind, payload, sport=4000, dport=7):
        self.assertEqual((answer.dst, answer.src), (PEER_MAC, ROUTER_MAC))
        self.assertEqual((answer[kind].src, answer[kind].dst), (DST4, SRC4) if kind is IP else (DST6, SRC6))
        self.assertEqual((answer[UDP].sport, answer[UDP].dport), (dport, sport))
        self.assertEqual(raw(answer[UDP].payload)[:len(payload)], payload)
        self.assertEqual(answer[UDP].len, 8 + len(payload))
        self.assertEqual(answer[IP].ttl if kind is IP else answer[IPv6].hlim, 64)
        rebuilt = answer[kind].copy()
        del rebuilt[UDP].chksum
        if kind is IP:
            del rebuilt[IP].chksum
        self.assertEqual(raw(rebuilt), raw(answer[kind]))

    def test_payload_comes_back(self):
        payloads = [random.Random(n).randbytes(n) for n in list(range(60)) + [1471, 1472]]
        frames = [udp4(p, dport=7) for p in payloads]
        answers, sockets, _ = self.answers("udp bind *:7 app echo\n", frames)
        self.assertEqual(len(answers), len(payloads))
        for answer, payload in zip(answers, payloads):
            self.check(answer, IP, payload)
        self.assertEqual(sockets[0]["packets"], len(payloads))

    def test_payload_comes_back_over_ipv6(self):
        payloads = [random.Random(n).randbytes(n) for n in list(range(60)) + [1451, 1452]]
        answers, _, _ = self.answers("udp bind [::]:7 app echo\n", [udp6(p, dport=7) for p in payloads])
        self.assertEqual(len(answers), len(payloads))
        for answer, payload in zip(answers, payloads):
            self.check(answer, IPv6, payload)

    def test_many_sockets_in_one_burst(self):
        """Echoes, sinks and nobody, mixed: each its own, in order."""
        config = "".join(f"udp bind *:{p} app {'echo' if p % 2 else 'sink'}\n" for p in range(1, 60))
        frames = [udp4(bytes([i % 256, i // 256]), dport=1 + i * 7 % 61) for i in range(600)]
        answers, sockets, done = self.answers(config, frames)
        wanted = [data for data in frames if (data[37] < 60 and data[37] % 2)]
        echoed = [a for a in answers if UDP in a and ICMP not in a]
        self.assertEqual([raw(a[UDP].payload)[:2] for a in echoed], [data[42:44] for data in wanted])
        self.assertEqual(sum(s["packets"] for s in sockets) + done.drops["udp_no_socket"], 600)

    def test_never_to_ourselves(self):
        """A question from an address of ours, or from port 0, is not answered: it would never end."""
        frames = [frame(IP(src=DST4, dst=DST4) / UDP(sport=7, dport=7) / b"loop"),
                  frame(IPv6(src=DST6, dst=DST6) / UDP(sport=7, dport=7) / b"loop"), udp4(sport=0, dport=7)]
        answers, sockets, _ = self.answers("udp bind [::]:7 app echo\n", frames)
        self.assertEqual((answers, sockets[0]["packets"]), ([], 3))

    def test_route_changes_are_followed(self):
        """The way back is remembered, and forgotten with the route."""
        config = "udp bind *:7 app echo\nip addr add 10.0.1.1/24 dev 1\n" \
                 "ip neigh add 10.0.1.2 lladdr 02:00:00:00:01:02 dev 1\nip route add 10.9.0.0/16 via 10.0.0.2\n"
        question = frame(IP(src="10.9.0.1", dst=DST4) / UDP(sport=4000, dport=7) / b"q")
        with Router(CONFIG + config, {0: [question]}, ports=2) as router:
            def sent(*wanted):
                router.until(lambda: [e["tx_packets"] for e in router.ask("show port stats all")] == list(wanted),
                             f"{wanted} frames sent by the ports")

            sent(1, 0)
            router.tell("ip route replace 10.9.0.0/16 via 10.0.1.2")
            router.feed(0, [question])
            sent(1, 1)
            # The address goes: what was ours no longer is, though a socket is still there.
            router.tell("ip addr add 10.0.0.3/24 dev 0")
            router.tell("ip addr del 10.0.0.1/24 dev 0")
            router.feed(0, [question])
            router.until(lambda: router.balance()["received"] == 3, "the third question")
            self.assertEqual(router.ask("udp show")[0]["packets"], 2)
            router.tell("quit")

    def test_in_a_vrf(self):
        config = "ip link add red type vrf table 100\nip link set dev 0 master red\n" \
                 "udp bind *:7 app sink\nudp bind *:8 vrf red app echo\n"
        answers, sockets, _ = self.answers(config, [udp4(dport=7), udp4(dport=8)])
        self.assertEqual([s["packets"] for s in sockets], [0, 1])
        self.assertEqual(sum(UDP in a and ICMP not in a for a in answers), 1)


class Groups(unittest.TestCase):
    def test_every_matching_socket_gets_it(self):
        config = "udp bind *:5353 reuseport app sink\nudp bind 224.0.0.251:5353 reuseport app sink\n" \
                 "udp bind 10.0.0.1:5353 reuseport app sink\nudp bind [::]:5353 reuseport app echo\n"
        group = frame(IP(src=SRC4, dst="224.0.0.251") / UDP(sport=4000, dport=5353) / b"who",
                      Ether(dst="01:00:5e:00:00:fb", src=PEER_MAC))
        other = frame(IP(src=SRC4, dst="224.0.0.252") / UDP(sport=4000, dport=5353) / b"who",
                      Ether(dst="01:00:5e:00:00:fc", src=PEER_MAC))
        sockets, done = run(config, [group, other])
        self.assertEqual([s["packets"] for s in sockets], [1, 1, 0, 1])
        self.assertEqual(done.drops, {"martian": 1})
        answer = Ether(done.sent[0][0])
        self.assertEqual((len(done.sent[0]), answer[IP].src, answer[IP].dst, raw(answer[UDP].payload)[:3]),
                         (1, DST4, SRC4, b"who"))

    def test_broadcasts(self):
        config = "udp bind *:67 reuseport app sink\nudp bind *:67 reuseport app sink\n"
        frames = [frame(IP(src=SRC4, dst=dst) / UDP(sport=68, dport=67) / b"x",
                        Ether(dst="ff:ff:ff:ff:ff:ff", src=PEER_MAC)) for dst in ("255.255.255.255", "10.0.0.255",
                                                                                  "10.9.9.255")]
        sockets, done = run(config, frames)
        self.assertEqual([s["packets"] for s in sockets], [2, 2])
        self.assertEqual(sum(done.drops.values()), 1)

    def test_ipv6_group(self):
        config = "udp bind [ff02::fb]:5353 dev 0 reuseport app sink\nudp bind [::]:5353 reuseport app sink\n"
        frames = [frame(IPv6(src=SRC6, dst=dst) / UDP(sport=1, dport=5353) / b"x",
                        Ether(dst="33:33:00:00:00:fb", src=PEER_MAC)) for dst in ("ff02::fb", "ff02::fc")]
        sockets, done = run(config, frames)
        self.assertEqual([s["packets"] for s in sockets], [1, 1])
        self.assertEqual(done.drops, {"martian": 1})


    def fragmented(self, **workspace):
        """Fragments of datagrams to groups and broadcast addresses, in any order, on one worker or two: every
        matching socket gets the whole; a group nobody has joined is nobody's business."""
        config = "udp bind 224.0.0.251:5353 reuseport app sink\nudp bind [ff05::fb]:5353 reuseport app sink\n" \
                 "udp bind [::]:5353 reuseport app sink\nudp bind *:67 app sink\n"
        frames = []
        for dst, port in (("224.0.0.251", 5353), ("224.0.0.252", 5353), ("224.0.0.251", 5354),
                          ("10.0.0.255", 67), ("255.255.255.255", 67)):
            packet = IP(src=SRC4, dst=dst, id=len(frames)) / UDP(sport=4000, dport=port) / Raw(bytes(3000))
            frames += [frame(p, Ether(dst="01:00:5e:00:00:fb", src=PEER_MAC)) for p in fragment(packet, 1000)[::-1]]
        for dst, port in (("ff05::fb", 5353), ("ff05::fc", 5353), ("ff05::fb", 5354)):
            packet = IPv6(src=SRC6, dst=dst) / IPv6ExtHdrFragment(id=len(frames)) \
                / UDP(sport=4000, dport=port) / Raw(bytes(3000))
            frames += [frame(p, Ether(dst="33:33:00:00:00:fb", src=PEER_MAC)) for p in fragment6(packet, 1000)]
        sockets, done = run(config, frames, **workspace)
        self.assertEqual([s["packets"] for s in sockets], [1, 1, 2, 2])
        self.assertEqual(done.drops, {"martian": 4})
        self.assertEqual(done.balance["held"], 0)

    def test_fragments(self):
        self.fragmented()

    def test_fragments_on_two_workers(self):
        self.fragmented(lcores=("--lcores", "0@0,1@1,2@1"))

    def test_fragments_of_groups_without_sockets(self):
        packet = IP(src=SRC4, dst="224.0.0.251") / UDP(sport=1, dport=5353) / Raw(bytes(2000))
        frames = [frame(p, Ether(dst="01:00:5e:00:00:fb", src=PEER_MAC)) for p in fragment(packet, 1000)]
        _, done = run("udp bind *:9 app sink\n", frames)
        self.assertEqual(done.drops, {"martian": len(frames)})


class Memory(unittest.TestCase):
    """A pool that just fits: datagrams that never become whole do not take the buffers others need."""

    ARGS = ("--rxd=64", "--txd=64", "--burst=32", "--total-num-mbufs=420")

    def test_flood_of_incomplete_datagrams(self):
        """Of many sources and both versions of IP, the most a sender can have held; between them whole ones, and
        behind them whole ones in fragments."""
        config = CONFIG + "udp bind [::]:9 app sink\nudp bind [::]:7 app echo\n"
        first4 = raw(UDP(sport=4000, dport=9, len=2008, chksum=1) / Raw(bytes(64)))
        frames = []
        for n in range(1500):
            frames.append(frame(IP(src=f"10.0.0.{n % 200 + 3}", dst=DST4, proto=17, id=n, flags="MF") / Raw(first4)))
            frames.append(frame(IPv6(src=f"2001:db8::{n % 200 + 3:x}", dst=DST6)
                                / IPv6ExtHdrFragment(id=n, nh=17, m=1) / Raw(first4)))
            if n % 10 == 0:
                frames += [udp4(), udp6(), udp4(dport=7), udp6(dport=7)]
        whole = [frame(p) for p in fragment(IP(src=SRC4, dst=DST4, id=9) / UDP(sport=1, dport=9)
                                            / Raw(bytes(60000)), 1400)]
        with Router(config, {0: frames}, ports=1, args=self.ARGS) as router:
            router.until(lambda: router.balance()["received"] == len(frames), "all frames")
            self.assertLessEqual(router.balance()["held"], 128)
            self.assertGreaterEqual(router.balance()["held"], 32)
            self.assertEqual([s["packets"] for s in router.ask("udp show")], [300, 300])
            router.feed(0, whole)
            router.until(lambda: router.ask("udp show")[0]["packets"] == 301, "a datagram of 60,000 bytes")
            self.assertEqual(router.ask("show pool")[0]["alloc_failed"], 0)
            done = router.finish(balanced=False)
        self.assertEqual(set(done.drops), {"fragment"})
        self.assertNotIn("missing", done.stdout)


class Commands(unittest.TestCase):
    def test_refused_as_bind_refuses(self):
        config = "udp bind *:9 app sink\nudp bind 10.0.0.1:10 app sink\n"
        refused = {
            "udp bind *:9 app sink": "address already in use",
            "udp bind 10.0.0.1:9 app echo": "address already in use",
            "udp bind [::]:9 app echo": "address already in use",
            "udp bind *:10 app echo": "address already in use",
            "udp bind *:9 dev 0 app echo": "address already in use",
            "udp bind *:9 reuseport app echo": "address already in use",
            "udp bind 10.0.0.9:11 app sink": "cannot assign requested address",
            "udp bind 127.0.0.1:11 app sink": "cannot assign requested address",
            "udp bind [2001:db8::9]:11 app sink": "cannot assign requested address",
            "udp bind [fe80::1]:11 app sink": "dev DEV is missing",
            "udp bind 2001:db8::1:11 app sink": "written [",
            "udp bind *:65536 app sink": "65535",
            "udp bind *:11": "app is missing",
            "udp bind *:11 app tea": "sink",
            "udp bind *:11 app handler none": "has not been loaded",
            "udp bind *:11 v6only app sink": "IPv4",
            "udp bind *:11 lcore 99 app sink": "no worker",
            "udp bind *:11 vrf blue app sink": "does not exist",
            "udp bind *:11 dev 7 app sink": "7",
            "udp connect 0 192.0.2.1:5": "no route",
            "udp connect 0 10.0.0.2:0": "port 0",
            "udp connect 0 [2001:db8::2]:5": "IPv4",
            "udp connect 7 10.0.0.2:5": "no UDP socket #7",
            "udp close 7": "no UDP socket #7",
            "udp close x": "no id",
            "udp handler load relative.so name x": "absolute",
            "udp handler load /etc/passwd name x": "",
        }
        allowed = ["udp bind [::]:9 v6only app echo", "udp bind 10.0.0.1:0 app sink",
                   "udp bind 224.0.0.5:11 app sink", "udp bind 10.0.0.255:11 app sink",
                   "udp connect 0 10.0.0.2:5"]

        def check(router):
            for line, word in refused.items():
                status, _, error = router.try_ctl(line, False)
                self.assertEqual(status, 1, line)
                self.assertIn(word, error, line)
                self.assertEqual(error.count("\n"), 1, error)
            self.assertEqual(len(router.ask("udp show")), 2)
            for line in allowed:
                router.tell(line)

        run(config, [], check)

    def test_config_is_rebuilt(self):
        lines = ["udp bind *:9 app sink", "udp bind [::]:7 reuseport lcore 1 app echo",
                 "udp bind [::]:7 reuseport app echo", "udp bind [2001:db8::1]:53 dev 0 app sink",
                 "udp bind *:54 app sink", "udp connect 4 10.0.0.2:4000", "udp bind [::]:9 v6only app sink"]

        def check(router):
            shown = router.tell("show config").splitlines()
            self.assertEqual([line for line in shown if line.startswith("udp")], lines)

        run("\n".join(lines) + "\n", [], check)

        def closed(router):
            router.tell("udp close 0")
            shown = [line for line in router.tell("show config").splitlines() if line.startswith("udp")]
            self.assertEqual(shown, lines[1:5] + ["udp connect 3 10.0.0.2:4000"] + lines[6:])
            router.tell("ip addr del 2001:db8::1/64 dev 0")
            self.assertIn("# [2001:db8::1]:53: cannot assign", router.tell("show config"))

        run("\n".join(lines) + "\n", [], closed)

    def test_clear_counts_from_zero(self):
        with Router(CONFIG + "udp bind *:9 app sink\n", {0: [udp4()] * 5}, ports=1) as router:
            router.settle()
            router.tell("clear udp")
            self.assertEqual(router.ask("udp show")[0]["packets"], 0)
            router.tell("udp close 0")
            router.tell("udp bind *:9 app sink")
            self.assertEqual(router.ask("udp show")[0]["packets"], 0)
            router.finish()

    def test_what_a_socket_is_bound_to_goes(self):
        config = "ip link add red type vrf table 100\nip link add link 0 name 0.7 type vlan id 7\n" \
                 "udp bind *:9 vrf red app sink\nudp bind *:9 dev 0.7 app sink\nudp bind *:10 app sink\n"

        def check(router):
            router.tell("ip link del red")
            router.tell("ip link del 0.7")
            self.assertEqual([s["local"] for s in router.ask("udp show")], ["*:10"])

        run(config, [], check)
