# SPDX-License-Identifier: BSD-3-Clause
"""Fragments for the router itself: reassembled on one worker whatever came how, or dropped as a whole."""

import random
import struct
import unittest

import packets as p
from cases import SOURCE_MAC, CaseTest
from harness import Router
from lab import PORT_MAC, ROUTER

OWN4, OWN6 = "10.0.0.1", "fc00:0:0:1::1"


def pattern(size):
    return bytes(i * 7 & 255 for i in range(size))


def cut4(packet, *at, ident=1):
    """An IPv4 packet cut at these bytes of its payload (multiples of 8)."""
    data, ends = packet[20:], list(at) + [len(packet) - 20]
    pieces, start = [], 0
    for end in ends:
        word = start // 8 | (0x2000 if end < len(data) else 0)
        pieces.append(p.ip4_edit(packet[:20] + data[start:end], total=20 + end - start, flags=word,
                                 ident=ident))
        start = end
    return pieces


def piece6(packet, start, end, more, ident=1):
    data = packet[40:]
    return p.ip6(packet[8:24], packet[24:40], p.FRAGMENT,
                 p.fragment_header(packet[6], start // 8, more, ident) + data[start:end])


def cut6(packet, *at, ident=1):
    size, edges = len(packet) - 40, [0, *at, len(packet) - 40]
    return [piece6(packet, start, end, end < size, ident) for start, end in zip(edges, edges[1:])]


class Echo(CaseTest):
    """Echo requests in pieces are answered as if they had come whole."""

    router = ROUTER

    @classmethod
    def build(cls, case):
        rng = random.Random(5)
        for count in (2, 9, 40):
            for order in ("in_order", "backwards", "shuffled"):
                cls.echo(case, f"{count}_fragments_{order}", count, order, rng)
        c = case("ipv4_two_of_them_twice")
        request = p.echo4(c.src4, OWN4, c.payload + pattern(300))
        pieces = cut4(request, 80, 160)
        for piece in (pieces[0], pieces[0], pieces[1], pieces[1], pieces[2]):
            c.send(piece)
        c.drop("fragment")
        c.drop("fragment")
        c.echo_reply(request=request)
        c = case("ipv6_two_of_them_twice")
        request = p.echo6(c.src6, OWN6, c.payload + pattern(300))
        pieces = cut6(request, 80, 160)
        for piece in (pieces[2], pieces[0], pieces[2], pieces[0], pieces[1]):
            c.send(piece)
        c.drop("fragment")
        c.drop("fragment")
        c.echo_reply(request=request)
        c = case("ipv4_with_options_in_the_first")
        head = p.ip4(c.src4, OWN4, p.ICMP, options=b"\1\1\1\1")
        request = p.echo4(c.src4, OWN4, c.payload + pattern(100))
        pieces = cut4(request, 48)
        c.send(p.ip4_edit(head + pieces[0][20:], total=24 + 48, flags=0x2000, ident=1))
        c.send(pieces[1])
        c.echo_reply(request=request)
        c = case("ipv6_behind_destination_options")
        request = p.echo6(c.src6, OWN6, c.payload + pattern(100))
        for start, end in ((48, len(request) - 40), (0, 48)):
            c.send(p.ip6(c.src6, OWN6, p.DSTOPTS, p.options_header(p.FRAGMENT)
                         + p.fragment_header(p.ICMP6, start // 8, start == 0) + request[40:][start:end]))
        c.echo_reply(request=request)
        c = case("ipv6_atomic")
        request = p.echo6(c.src6, OWN6, c.payload)
        c.send(p.ip6(c.src6, OWN6, p.FRAGMENT, p.fragment_header(p.ICMP6) + request[40:]))
        c.echo_reply(request=request)
        c = case("ipv6_atomic_between_fragments_of_the_same_id")  # RFC 6946 4
        request = p.echo6(c.src6, OWN6, c.payload + pattern(50))
        first, last = cut6(request, 48)
        other = p.echo6(c.src6, OWN6, c.payload, seq=2)
        c.send(first)
        c.send(p.ip6(c.src6, OWN6, p.FRAGMENT, p.fragment_header(p.ICMP6, ident=1) + other[40:]))
        c.send(last)
        c.echo_reply(request=other)
        c.echo_reply(request=request)
        c = case("ipv4_padded_frames")
        request = p.echo4(c.src4, OWN4, c.payload)
        for piece in cut4(request, 8, 16):
            c.send(piece, trailer=b"\xee" * 18)
        c.echo_reply(request=request)

    @classmethod
    def echo(cls, case, name, count, order, rng):
        for version, make, cut, own in ((4, p.echo4, cut4, OWN4), (6, p.echo6, cut6, OWN6)):
            c = case(f"ipv{version}_{name}")
            size = 8 * count + 3
            data = (c.payload + pattern(1300))[:max(size, 1000) if count < 40 else size + 24]
            request = make(c.src4 if version == 4 else c.src6, own, data)
            step = (8 + len(data)) // count // 8 * 8
            pieces = cut(request, *range(step, step * count, step))
            assert len(pieces) == count
            if order == "backwards":
                pieces.reverse()
            elif order == "shuffled":
                rng.shuffle(pieces)
            for piece in pieces:
                c.send(piece)
            c.echo_reply(request=request)


class Apart(CaseTest):
    """Fragments that look alike and are of different datagrams."""

    router = ROUTER

    @classmethod
    def build(cls, case):
        c = case("same_id_for_icmp_and_udp")
        echo = p.echo4(c.src4, OWN4, c.payload + pattern(60))
        other = c.ip4(OWN4, 100)
        echo_pieces, udp_pieces = cut4(echo, 48), cut4(other, 48)
        c.send(echo_pieces[0])
        c.send(udp_pieces[1])
        c.send(echo_pieces[1])
        c.send(udp_pieces[0])
        c.echo_reply(request=echo)
        c.drop("udp_no_socket")
        c.error(3, 3, quote=other)
        c = case("same_id_of_two_hosts")
        one, other = (p.echo4(src, OWN4, c.payload + pattern(n))
                      for src, n in ((c.src4, 60), ("11.77.0.9", 90)))
        a, b = cut4(one, 48), cut4(other, 48)
        for piece in (a[0], b[1], b[0], a[1]):
            c.send(piece)
        c.echo_reply(request=other)
        c.echo_reply(request=one)
        c = case("same_id_of_ipv6_icmp_and_udp")
        echo = p.echo6(c.src6, OWN6, c.payload + pattern(60))
        data = c.payload + bytes(100 - len(c.payload))
        other = p.ip6(c.src6, OWN6, p.UDP, p.udp6(c.src6, OWN6, data))
        a, b = cut6(echo, 48), cut6(other, 48)
        for piece in (a[1], b[0], a[0], b[1]):
            c.send(piece)
        c.echo_reply(request=echo)
        c.drop("udp_no_socket")
        c.error(1, 4, quote=other)


class Vrfs(CaseTest):
    """The same addresses and identification in two VRFs."""

    router = ROUTER + "ip addr add 10.0.9.1/24 dev 1\nip addr add 10.0.9.1/24 dev 2\n"

    @classmethod
    def build(cls, case):
        c = case("ipv4")
        one, other = (p.echo4(c.src4, "10.0.9.1", c.payload + pattern(n), seq=n) for n in (60, 90))
        a, b = cut4(one, 48), cut4(other, 48)
        c.send(a[0])
        c.send(b[0], port=2)
        c.send(a[1])
        c.send(b[1], port=2)
        c.echo_reply(request=one)
        c.echo_reply(request=other, via="10.0.2.2")


class Bad(CaseTest):
    """What must not come through, and who hears of it."""

    router = ROUTER

    @classmethod
    def build(cls, case):
        for name, again in (("start", (40, 48)), ("inside", (48, 56)), ("end", (72, 88)),
                            ("around", (0, 120)), ("other_length", (40, 88))):
            c = case(f"ipv4_overlap_{name}")
            request = p.echo4(c.src4, OWN4, c.payload + pattern(150))
            first, second, last = cut4(request, 40, 80)
            data = request[20:]
            word = again[0] // 8 | 0x2000
            overlap = p.ip4_edit(request[:20] + data[again[0]:again[1]], flags=word,
                                 total=20 + again[1] - again[0])
            for packet in (second, overlap, first, last):
                c.send(packet)
                c.drop("fragment")
            c = case(f"ipv6_overlap_{name}")
            request = p.echo6(c.src6, OWN6, c.payload + pattern(150))
            first, second, last = cut6(request, 40, 80)
            for packet in (second, piece6(request, *again, True), first, last):
                c.send(packet)
                c.drop("fragment")
        c = case("ipv4_same_place_other_bytes")
        request = p.echo4(c.src4, OWN4, c.payload + pattern(150))
        first, last = cut4(request, 80)
        for packet in (last, last[:-1] + b"\xff", first):
            c.send(packet)
            c.drop("fragment")
        c = case("ipv4_no_multiple_of_8")
        request = p.echo4(c.src4, OWN4, c.payload)
        c.send(p.ip4_edit(request, flags=0x2000))
        c.drop("fragment")
        c = case("ipv4_empty")
        c.send(p.ip4(c.src4, OWN4, p.ICMP, b"", mf=True))
        c.drop("fragment")
        c = case("ipv4_ping_of_death")
        c.send(p.ip4(c.src4, OWN4, p.ICMP, c.payload + pattern(100), offset=8189))
        c.drop("fragment")
        c = case("ipv6_empty")
        c.send(p.ip6(c.src6, OWN6, p.FRAGMENT, p.fragment_header(p.UDP, 3, True)))
        c.drop("fragment")
        c = case("ipv6_no_multiple_of_8")
        c.send(p.ip6(c.src6, OWN6, p.FRAGMENT, p.fragment_header(p.UDP, 3, True) + pattern(15)))
        c.drop("fragment")
        c.error(4, 0, 4)
        c = case("ipv6_beyond_64_kb")
        c.send(p.ip6(c.src6, OWN6, p.FRAGMENT, p.fragment_header(p.UDP, 8191, False) + pattern(8)))
        c.drop("fragment")
        c.error(4, 0, 42)
        c = case("ipv6_header_chain_incomplete")
        c.send(p.ip6(c.src6, OWN6, p.FRAGMENT, p.fragment_header(p.DSTOPTS, 0, True)
                     + p.options_header(p.UDP, bytes(6))))
        c.drop("fragment")
        c.error(4, 3, 0)
        c = case("ipv6_two_fragment_headers")
        c.send(p.ip6(c.src6, OWN6, p.FRAGMENT, p.fragment_header(p.FRAGMENT)
                     + p.fragment_header(p.ICMP6) + p.echo6(c.src6, OWN6, c.payload)[40:]))
        c.drop("ip6_ext_header")
        c = case("neighbour_discovery_in_a_fragment")  # RFC 6980
        ns = p.neighbour_solicitation("fc00:0:0:1::2", OWN6, OWN6)
        c.send(p.ip6_edit(p.ip6("fc00:0:0:1::2", OWN6, p.FRAGMENT, p.fragment_header(p.ICMP6)
                                + ns[40:]), hlim=255))
        c.drop("nd_bad")
        c = case("neighbour_discovery_in_fragments")
        pieces = cut6(p.ip6("fc00:0:0:1::2", OWN6, p.ICMP6, ns[40:]), 8)
        for piece in pieces:
            c.send(p.ip6_edit(piece, hlim=255))
        c.drop("nd_bad")


class Workers(unittest.TestCase):
    """Fragments that come in on queues of different workers."""

    LCORES = ("--lcores", "0@0,1@1,2@1,3@1")

    def test_meet_on_one(self):
        """Each datagram's fragments come in on ports that three workers poll."""
        rng, frames, asked = random.Random(9), {0: [], 1: []}, set()
        for number in range(200):
            src = f"11.0.{number}.9"
            request = p.echo4(src, OWN4, pattern(400 + number), seq=number)
            pieces = cut4(request, 80, 160, 240, ident=number)
            rng.shuffle(pieces)
            asked.add(number)
            for piece in pieces:
                port = rng.randrange(2)
                frames[port].append(p.eth(PORT_MAC[port], SOURCE_MAC, piece))
        with Router(ROUTER, frames, lcores=self.LCORES) as router:
            router.settle()
            lcores = router.ask("show lcore")
            run = router.finish()
        # Also the one that no packet came in on: the hash spreads datagrams over all.
        self.assertTrue(all(lcore["packets"] > 30 for lcore in lcores), lcores)
        answered = set()
        for data in run.sent[0]:
            frame = p.Frame(data)
            self.assertEqual(p.checksum(frame.upper), 0)
            number = struct.unpack(">H", frame.upper[6:8])[0]
            self.assertEqual(frame.upper[8:], pattern(400 + number))
            answered.add(number)
        self.assertEqual(answered, asked)
        self.assertEqual(run.drops, {})
        self.assertEqual(run.balance["delivered"], 800)
        self.assertEqual(run.balance["originated"], 200)


class TimeUp(unittest.TestCase):
    """Fragments whose others never come are held for so long, and not longer."""

    def test_time_exceeded(self):
        first4, later4 = (cut4(p.echo4("11.0.0.1", OWN4, pattern(100)), 48, ident=n)[n]
                          for n in (0, 1))
        first6, later6 = (cut6(p.echo6("fd00::1", OWN6, pattern(100)), 48, ident=n)[n]
                          for n in (0, 1))
        group = cut4(p.echo4("11.0.0.1", OWN4, pattern(100)), 48, ident=7)[0]
        frames = [p.eth(PORT_MAC[0], SOURCE_MAC, packet) for packet in
                  (first4, later4, first6, later6)]
        frames.append(p.eth("ff:ff:ff:ff:ff:ff", SOURCE_MAC, group))
        with Router(ROUTER, {0: frames}) as router:
            router.until(lambda: router.received_all(), "all fragments")
            self.assertEqual(router.balance()["held"], 5)
            router.until(lambda: router.balance()["held"] == 2, "IPv4's 30 seconds", 40, 0.5)
            router.until(lambda: router.balance()["held"] == 0, "IPv6's 60 seconds", 40, 0.5)
            run = router.finish()
        self.assertEqual(run.drops, {"fragment": 5})
        errors = [p.Frame(data) for data in run.sent[0] if p.Frame(data).is_error()]
        self.assertEqual([(e.upper[0], e.upper[1]) for e in errors], [(11, 1), (3, 1)])
        self.assertEqual(errors[0].upper[8:], first4)
        self.assertEqual(errors[1].upper[8:], first6)

    def test_dropped_at_the_end(self):
        """What is held when the program ends is given back, and counted."""
        pieces = cut4(p.echo4("11.0.0.1", OWN4, pattern(100)), 48)
        with Router(ROUTER, {0: [p.eth(PORT_MAC[0], SOURCE_MAC, pieces[0])]}) as router:
            router.until(lambda: router.received_all(), "the fragment")
            run = router.finish(balanced=False)
        self.assertIn("fragment", run.stdout)


if __name__ == "__main__":
    unittest.main()
