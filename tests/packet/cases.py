# SPDX-License-Identifier: BSD-3-Clause
"""Many named packets in one run of the program, each judged by itself.

A test class derives from CaseTest, says in `router` how the router is
configured, and describes its packets in build():

    class Forward(CaseTest):
        router = ROUTER

        @classmethod
        def build(cls, case):
            c = case("plain_ipv4")
            c.send(packet := c.ip4("10.1.0.1"))
            c.out("10.0.1.2", routed(packet))

Each case becomes a test method of its own (test_plain_ipv4). All packets of a
class go through one run, in the order of their cases. Each case has addresses
and a payload of its own, by which frames and ICMP errors are told apart. Drops
can only be counted: when the totals of a run do not fit, the cases that may be
to blame run again alone.
"""

import ipaddress
import re
import struct
import subprocess
import unittest
from collections import Counter

import packets as p
from harness import Failed, Router
from lab import NEIGHBOURS, OWN, PORT_MAC

SOURCE_MAC = "02:00:00:00:09:99"

# By which neighbour the sources of test packets are reached: (VRF, family) -> neighbour.
WAY_BACK = {
    ("main", 4): "10.0.0.2", ("main", 6): "fc00:0:0:1::2",
    ("red", 4): "10.0.2.2", ("red", 6): "2001:db8:2::2",
    ("blue", 4): "10.0.3.2", ("blue", 6): "2001:db8:3::2",
}

ALONE_LIMIT = 12  # cases of a class that are run again alone, at most


# --- what the router may send on its own account ----------------------------------


class IcmpError:
    """Expect an ICMP or ICMPv6 error quoting `quote`.

    counted: the hop may have been counted in the quoted packet already, where the
    error is found after that (RFC 1812 4.3.2.3 allows it).
    """

    def __init__(self, kind, code, value, quote, vrf, via, vlan=None, counted=False):
        self.family = quote[0] >> 4
        self.kind, self.quote, self.vlan, self.counted = kind, quote, vlan, counted
        self.codes = code if isinstance(code, (set, tuple)) else {code}
        self.values = value if isinstance(value, (set, tuple)) else {value}
        self.port, self.mac = NEIGHBOURS[via or WAY_BACK[vrf, self.family]]
        self.sources = {p.addr(a) for a in OWN[vrf] if len(p.addr(a)) == (4, 16)[self.family == 6]}
        self.dst = quote[12:16] if self.family == 4 else quote[8:24]

    def __str__(self):
        return (f"ICMP{'v6' if self.family == 6 else ''} error type {self.kind} code "
                f"{sorted(self.codes)} value {sorted(self.values)} to {p.text(self.dst)} on "
                f"port {self.port}")

    def about(self, frame):
        return frame.ip_dst == self.dst and frame.is_error()

    def problems(self, frame):
        if not self.about(frame):
            return ["is no ICMP error to that source"]
        wrong = []
        upper, proto = frame.upper, frame.proto
        if upper[0] != self.kind or upper[1] not in self.codes:
            wrong.append(f"type {upper[0]} code {upper[1]}")
        rest = struct.unpack(">I", upper[4:8])[0]
        values = {self.on_the_wire(value) for value in self.values}
        if rest not in values:
            wrong.append(f"bytes 4 to 7 are 0x{rest:08x}, expected "
                         + " or ".join(f"0x{v:08x}" for v in sorted(values)))
        pseudo = b"" if proto == p.ICMP else p.pseudo6(frame.ip_src, frame.ip_dst, len(upper),
                                                       proto)
        if p.checksum(pseudo + upper) != 0:
            wrong.append("ICMP checksum is wrong")
        if frame.ip_src not in self.sources:
            wrong.append(f"source {p.text(frame.ip_src)} is not an address of the right VRF")
        if frame.dst != p.mac(self.mac) or frame.src != p.mac(PORT_MAC[self.port]):
            wrong.append(f"MAC addresses {frame.src.hex(':')} > {frame.dst.hex(':')}")
        if frame.vlan != self.vlan:
            wrong.append(f"VLAN {frame.vlan}")
        return wrong + self.quote_problems(frame, upper[8:])

    def on_the_wire(self, value):
        """A pointer to IPv4 is the first byte of four; an MTU and ICMPv6 values fill the word."""
        return value << 24 if self.family == 4 and self.kind == 12 else value

    def quote_problems(self, frame, quoted):
        wrong = []
        wanted = [self.quote] + ([p.routed(self.quote)] if self.counted else [])
        if quoted not in [quote[:len(quoted)] for quote in wanted]:
            at = next(i for i, b in enumerate(quoted) if self.quote[i:i + 1] != bytes([b]))
            wrong.append(f"the quoted packet differs at byte {at}: {quoted[:at + 8].hex()}, "
                         f"expected {self.quote[:at + 8].hex()}")
        if self.family == 4:
            least = min(len(self.quote), p.ip4_header_size(self.quote) + 8)
            if len(quoted) < least:
                wrong.append(f"quotes {len(quoted)} bytes, at least {least} are due (RFC 792)")
            if p.checksum(frame.l3[:p.ip4_header_size(frame.l3)]) != 0:
                wrong.append("IPv4 header checksum is wrong")
            if len(frame.l3) > 576:
                wrong.append(f"is {len(frame.l3)} bytes, more than 576 (RFC 1812 4.3.2.3)")
        else:
            due = min(len(self.quote), 1280 - 48)
            if len(quoted) != due:
                wrong.append(f"quotes {len(quoted)} bytes, {due} are due (RFC 4443 2.4(c))")
        return wrong


class EchoReply:
    """Expect the reply to the echo request `request`, from the address that was asked."""

    def __init__(self, request, echo_at, via, vlan=None):
        self.family = request[0] >> 4
        self.asker = request[12:16] if self.family == 4 else request[8:24]
        self.asked = request[16:20] if self.family == 4 else request[24:40]
        self.port, self.mac = NEIGHBOURS[via] if isinstance(via, str) else via
        self.echo, self.vlan = request[echo_at:], vlan

    def __str__(self):
        return f"echo reply {p.text(self.asked)} > {p.text(self.asker)} on port {self.port}"

    def about(self, frame):
        return frame.ip_dst == self.asker and frame.is_icmp(0, 129)

    def problems(self, frame):
        if not self.about(frame):
            return ["is no echo reply to that address"]
        wrong = []
        if frame.ip_src != self.asked:
            wrong.append(f"source {p.text(frame.ip_src)}")
        if frame.upper[:2] != (b"\0\0" if self.family == 4 else b"\x81\0"):
            wrong.append(f"type and code {frame.upper[:2].hex()}")
        if frame.upper[4:] != self.echo[4:]:
            wrong.append("identifier, sequence number or data differ")
        pseudo = b"" if self.family == 4 else p.pseudo6(frame.ip_src, frame.ip_dst,
                                                        len(frame.upper), p.ICMP6)
        if p.checksum(pseudo + frame.upper) != 0:
            wrong.append("ICMP checksum is wrong")
        if self.family == 4 and p.checksum(frame.l3[:p.ip4_header_size(frame.l3)]) != 0:
            wrong.append("IPv4 header checksum is wrong")
        ttl = frame.l3[8] if self.family == 4 else frame.l3[7]
        if ttl < 64:
            wrong.append(f"TTL or hop limit {ttl}")
        if frame.dst != p.mac(self.mac) or frame.src != p.mac(PORT_MAC[self.port]):
            wrong.append(f"MAC addresses {frame.src.hex(':')} > {frame.dst.hex(':')}")
        if frame.vlan != self.vlan:
            wrong.append(f"VLAN {frame.vlan}")
        return wrong


class ExactFrame:
    """Expect one frame byte for byte; zero bytes up to the Ethernet minimum may follow."""

    def __init__(self, port, frame):
        self.port, self.frame = port, frame

    def __str__(self):
        return f"on port {self.port} {p.describe(self.frame)}"

    def about(self, frame):
        return frame.kind == p.Frame(self.frame).kind and frame.dst == self.frame[:6]

    def problems(self, frame):
        padding = max(0, 60 - len(self.frame))
        if frame.data in (self.frame, self.frame + bytes(padding)):
            return []
        return [f"differs: {p.describe(frame.data)}"]


class Fragments:
    """Expect the pieces of one IPv4 packet, in order, none larger than the MTU."""

    def __init__(self, via, packet, mtu):
        self.port, self.mac = NEIGHBOURS[via]
        self.packet, self.mtu = packet, mtu
        self.key = packet[4:6] + packet[12:20]

    def take(self, frames):
        """Remove the pieces from a port's frames; returns what is wrong with them."""
        head = p.mac(self.mac) + p.mac(PORT_MAC[self.port]) + struct.pack(">H", p.IP4)
        pieces = [f for f in frames if f[:14] == head and f[18:20] + f[26:34] == self.key]
        for piece in pieces:
            frames.remove(piece)
        if not pieces:
            return ["no fragment was sent"]
        wrong = [f"a fragment of {len(f) - 14} bytes, the MTU is {self.mtu}"
                 for f in pieces if len(f) - 14 > self.mtu]
        try:
            whole = p.reassemble([f[14:] for f in pieces])
            if whole != self.packet:
                wrong.append(f"together they are {whole[:60].hex()}..., expected "
                             f"{self.packet[:60].hex()}...")
        except AssertionError as error:
            wrong.append(f"they do not fit together: {error}")
        least = len(p.fragments(self.packet, self.mtu))
        if len(pieces) != least:
            wrong.append(f"{len(pieces)} fragments, {least} are enough")
        return wrong


# --- one case --------------------------------------------------------------------


class Case:
    """What is sent, and what must come of it."""

    def __init__(self, name, number):
        self.name = name
        self.src6 = f"fd00::{number:x}:1"   # of the outer packet
        self.in6 = f"fd01::{number:x}:1"    # of an inner IPv6 packet
        self.src4 = f"11.0.{number >> 8}.{number & 255}"
        self.payload = f"<{name}>".encode()
        self.sent = []      # (port, frame)
        self.frames = []    # (port, frame) to come out
        self.pieces = []    # Fragments
        self.own = []       # IcmpError, EchoReply, ExactFrame
        self.dropped = []   # a set of reasons for each packet dropped
        self.counted = {}   # SID -> Counter of packets, bytes, errors
        self.errors_allowed = False
        self.quiet = False  # said to have no visible outcome
        self.last = None

    # -- packets with this case's addresses and payload --

    def udp(self, size=0):
        """A UDP datagram with the case's name, padded to `size` payload bytes."""
        return p.udp(self.payload + bytes(max(0, size - len(self.payload))))

    def ip4(self, dst, size=0, **fields):
        fields.setdefault("src", self.src4)
        return p.ip4(dst=dst, proto=p.UDP, payload=self.udp(size), **fields)

    def ip6(self, dst, size=0, **fields):
        fields.setdefault("src", self.in6)
        return p.ip6(dst=dst, nh=p.UDP, payload=self.udp(size), **fields)

    def outer(self, dst, nh, payload, **fields):
        fields.setdefault("src", self.src6)
        return p.ip6(dst=dst, nh=nh, payload=payload, **fields)

    # -- what is sent --

    def send(self, l3, port=0, kind=None, vlan=None, trailer=b""):
        """An IP packet to the port's MAC; trailer: bytes after its end, as Ethernet pads."""
        self.last = l3
        self.send_frame(p.eth(PORT_MAC[port], SOURCE_MAC, l3, kind, vlan) + trailer, port)

    def send_frame(self, frame, port=0):
        self.sent.append((port, frame))

    # -- what is expected --

    def out(self, via, l3, vlan=None):
        """An IP packet sent to a neighbour (an address of lab.NEIGHBOURS, or (port, MAC))."""
        port, hardware = NEIGHBOURS[via] if isinstance(via, str) else via
        self.frames.append((port, p.eth(hardware, PORT_MAC[port], l3, None, vlan)))

    def out_fragments(self, via, packet, mtu):
        self.pieces.append(Fragments(via, packet, mtu))

    def drop(self, *reasons):
        """One packet is dropped, for one of these reasons."""
        self.dropped.append(set(reasons))

    def error(self, kind, code, value=0, vrf="main", quote=None, via=None, vlan=None,
              counted=False):
        """An ICMP error about `quote`, by default the packet sent last."""
        self.own.append(IcmpError(kind, code, value, quote or self.last, vrf, via, vlan, counted))

    def error_allowed(self):
        """An ICMP error may or may not be sent."""
        self.errors_allowed = True

    def echo_reply(self, via=None, request=None, echo_at=None, vlan=None):
        request = request or self.last
        family = request[0] >> 4
        self.own.append(EchoReply(request, echo_at or (20 if family == 4 else 40),
                                  via or WAY_BACK["main", family], vlan))

    def own_frame(self, port, frame):
        self.own.append(ExactFrame(port, frame))

    def nothing(self):
        """Nothing comes out, and whether it counts as dropped or delivered is left open."""
        self.quiet = True

    def counts(self, sid, packets=0, errors=0, size=None):
        """The SID counts packets of `size` bytes each (by default the packet sent last)."""
        entry = self.counted.setdefault(sid, Counter())
        entry["packets"] += packets
        entry["errors"] += errors
        entry["bytes"] += packets * (len(self.last) if size is None else size)

    def says_something(self):
        return bool(self.frames or self.pieces or self.own or self.dropped or self.quiet)


# --- judging a run -----------------------------------------------------------------


class OwnAddresses:
    """Which sources are the router's, read from its configuration."""

    def __init__(self, config):
        self.nets = [ipaddress.ip_network(a) for a in
                     re.findall(r"route add (\S+) encap seg6local", config)]
        self.addresses = {p.addr(a) for a in re.findall(r"ip addr add (\S+?)/\d+", config)}

    def sent(self, frame):
        """Is a frame of the router's own making?"""
        if frame.kind == p.ARP or frame.is_nd() or frame.ip_src in self.addresses:
            return True
        if frame.kind != p.IP6 or frame.ip_src is None:
            return False
        source = ipaddress.ip_address(frame.ip_src)
        return (source.is_link_local or source.is_unspecified
                or any(source in net for net in self.nets if net.version == 6))


class Verdict:
    """Problems of a run: by case, and those that no case can be blamed for."""

    def __init__(self, cases):
        self.of = {case.name: [] for case in cases}
        self.general = []
        self.suspects = set()  # reasons whose count does not fit


def blame(verdict, cases, frame, words):
    """Add a problem to the case a frame belongs to."""
    for case in cases:
        if (case.payload in frame.data or frame.ip_dst in (p.addr(case.src4), p.addr(case.src6),
                                                           p.addr(case.in6))):
            verdict.of[case.name].append(words)
            return
    verdict.general.append(words)


def judge(config, cases, run, ordered=True):
    verdict = Verdict(cases)
    own_addresses = OwnAddresses(config)
    forwarded = {port: [] for port in run.sent}
    own = {port: [] for port in run.sent}
    for port, frames in run.sent.items():
        for data in frames:
            frame = p.Frame(data)
            (own if own_addresses.sent(frame) else forwarded)[port].append(frame)
    judge_forwarded(verdict, cases, forwarded, ordered)
    judge_own(verdict, cases, own)
    judge_drops(verdict, cases, run.drops)
    judge_sids(verdict, cases, run.sids)
    return verdict


def judge_forwarded(verdict, cases, forwarded, ordered):
    left = {port: [f.data for f in frames] for port, frames in forwarded.items()}
    arrival = {port: {} for port in left}
    for port, frames in left.items():
        for at, data in enumerate(frames):
            arrival[port].setdefault(data, at)
    seen = {}  # (port in, port out) -> place of the last frame found
    for case in cases:
        if not ordered:
            seen = {}
        for port, frame in case.frames:
            if frame not in left[port]:
                verdict.of[case.name].append(f"not sent on port {port}: {p.describe(frame)}")
                continue
            left[port].remove(frame)
            between = case.sent[0][0], port
            if arrival[port][frame] < seen.get(between, -1):
                verdict.general.append(f"{case.name}: a packet was overtaken on port {port}")
            seen[between] = arrival[port][frame]
        for pieces in case.pieces:
            verdict.of[case.name] += pieces.take(left[pieces.port])
    for port, frames in left.items():
        for data in frames:
            blame(verdict, cases, p.Frame(data), f"sent on port {port}: {p.describe(data)}")


def judge_own(verdict, cases, own):
    left = {port: list(frames) for port, frames in own.items()}
    for case in cases:
        for expected in case.own:
            candidates = left[expected.port]
            good = next((f for f in candidates if not expected.problems(f)), None)
            if good:
                candidates.remove(good)
                continue
            near = next((f for f in candidates if expected.about(f)), None)
            if near:
                candidates.remove(near)
                verdict.of[case.name].append(f"expected {expected}; but "
                                             + "; ".join(expected.problems(near)))
            else:
                verdict.of[case.name].append(f"missing: {expected}")
    tolerant = {p.addr(a) for c in cases if c.errors_allowed for a in (c.src4, c.src6, c.in6)}
    for port, frames in left.items():
        for frame in frames:
            if (frame.is_error() and frame.ip_dst not in tolerant) or frame.is_icmp(0, 129):
                blame(verdict, cases, frame, f"sent unasked on port {port}: "
                      f"{p.describe(frame.data)}")


def judge_drops(verdict, cases, drops):
    least, most = Counter(), Counter()
    total = 0
    for case in cases:
        for reasons in case.dropped:
            total += 1
            if len(reasons) == 1:
                least.update(reasons)
            most.update(reasons)
    for reason in set(drops) | set(least):
        if not least[reason] <= drops.get(reason, 0) <= most[reason]:
            verdict.suspects.add(reason)
    optional = sum(len(case.sent) for case in cases if case.quiet)
    if not total <= sum(drops.values()) <= total + optional:
        verdict.suspects.update(set(most) | set(drops))
    elif optional:
        verdict.suspects &= {r for r in least if drops.get(r, 0) < least[r]}
    if verdict.suspects:
        expected = {r: n if least[r] == n else f"{least[r]} to {n}" for r, n in most.items()}
        verdict.general.append(f"drops {dict(sorted(drops.items()))}, "
                               f"expected {dict(sorted(expected.items()))}")


def judge_sids(verdict, cases, sids):
    wanted = {}
    for case in cases:
        for sid, counts in case.counted.items():
            wanted.setdefault(sid, Counter()).update(counts)
    for sid, counts in wanted.items():
        got = sids.get(sid)
        shown = {word: (got or {}).get(word) for word in ("packets", "bytes", "errors")}
        if shown != {word: counts[word] for word in shown}:
            words = f"SID {sid} counted {shown}, expected {dict(counts)}"
            for case in cases:
                if sid in case.counted:
                    verdict.of[case.name].append(words)


# --- the test class -------------------------------------------------------------------


class CaseTest(unittest.TestCase):
    """See the head of this file."""

    router = ""
    ports = 4
    args = ()
    eal = ()
    ordered = True  # no packet overtakes one of an earlier case
    timeout = 30

    def __init_subclass__(cls, **more):
        super().__init_subclass__(**more)
        if "build" not in cls.__dict__:
            return
        cls.cases = []

        def case(name):
            if any(c.name == name for c in cls.cases):
                raise ValueError(f"{cls.__name__}: two cases named {name}")
            cls.cases.append(Case(name, len(cls.cases) + 1))
            return cls.cases[-1]

        cls.build(case)
        for one in cls.cases:
            if not one.sent or not one.says_something():
                raise ValueError(f"{cls.__name__}: case {one.name} sends or expects nothing")
            setattr(cls, f"test_{one.name}", cls.method(one))
        cls.test_whole_run = cls.judge_whole

    @staticmethod
    def method(case):
        def test(self):
            self.judge_case(case)
        test.__name__ = f"test_{case.name}"
        return test

    @classmethod
    def run_cases(cls, cases):
        captures = {}
        for case in cases:
            for port, frame in case.sent:
                captures.setdefault(port, []).append(frame)
        with Router(cls.router, captures, cls.ports, cls.args, eal=cls.eal) as router:
            router.settle(cls.timeout)
            outcome = router.finish()
        return outcome, judge(cls.router, cases, outcome, cls.ordered)

    @classmethod
    def setUpClass(cls):
        cls.failure, cls.missing, cls.alone = None, None, 0
        try:
            cls.outcome, cls.verdict = cls.run_cases(cls.cases)
        except OSError as error:
            cls.missing = str(error)
        except (Failed, subprocess.SubprocessError) as error:
            cls.failure = str(error)

    def judge_case(self, case):
        if self.missing:
            self.fail(self.missing)
        if self.failure:
            self.judge_alone(case, [])
            return
        problems = self.verdict.of[case.name]
        if problems or any(reasons & self.verdict.suspects for reasons in case.dropped):
            self.judge_alone(case, problems)

    def judge_alone(self, case, problems):
        """Run the case again alone: what is wrong then is surely its own fault."""
        found, shown = [], "not run again alone"
        if type(self).alone < ALONE_LIMIT:
            type(self).alone += 1
            try:
                outcome, verdict = self.run_cases([case])
                found = verdict.of[case.name] + verdict.general
                shown = f"alone: drops {outcome.drops}"
            except (Failed, subprocess.SubprocessError) as error:
                found, shown = [str(error)], "alone"
        if found or problems:
            self.fail("\n  ".join([shown] + found + [w for w in problems if w not in found]))

    def judge_whole(self):
        """Nothing is left that no case can be blamed for: order, drops by reason."""
        if self.missing or self.failure:
            self.fail(self.missing or self.failure)
        if self.verdict.general:
            self.fail("\n".join(self.verdict.general))
