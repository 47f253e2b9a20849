# SPDX-License-Identifier: BSD-3-Clause
"""Captures for the benchmarks, made byte by byte: no library is fast enough for
the hundreds of thousands of packets that random tables need."""

import random
import socket
import struct

ROUTER_MAC = bytes.fromhex("020000000001")
PEER_MAC = bytes.fromhex("0200000000fe")


def ip6(text):
    return socket.inet_pton(socket.AF_INET6, text)


def ip4(text):
    return socket.inet_pton(socket.AF_INET, text)


def ethernet(kind):
    return ROUTER_MAC + PEER_MAC + struct.pack(">H", kind)


def checksum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    total = (total & 0xffff) + (total >> 16)
    return 0xffff - ((total & 0xffff) + (total >> 16))


def ipv4_udp(src, dst, port):
    """28 bytes: IPv4 and UDP without payload (UDP checksum 0: not used)."""
    header = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 28, 0, 0, 64, 17, 0, src, dst)
    header = header[:10] + struct.pack(">H", checksum(header)) + header[12:]
    return header + struct.pack(">HHHH", port, 9, 8, 0)


def ipv6(src, dst, following, payload):
    return struct.pack(">IHBB", 6 << 28, len(payload), following, 64) + src + dst + payload


def srh(segments, following):
    """Segment routing header, segments left 0, without TLVs."""
    return struct.pack(">BBBBBBH", following, 2 * len(segments), 4, 0, len(segments) - 1, 0, 0) + \
        b"".join(segments)


def write_pcap(path, frames):
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for frame in frames:
            file.write(struct.pack("<IIII", 0, 0, len(frame), len(frame)))
            file.write(frame)


# Shares of prefix lengths in an Internet routing table, per mille.
LENGTHS4 = {24: 595, 23: 100, 22: 110, 21: 50, 20: 45, 19: 30, 18: 18, 17: 10, 16: 17, 15: 4,
            14: 3, 13: 2, 12: 1, 25: 3, 26: 3, 27: 2, 28: 2, 29: 3, 30: 1, 32: 1}
LENGTHS6 = {48: 470, 32: 140, 44: 80, 40: 70, 36: 45, 29: 40, 46: 40, 47: 35, 33: 30, 64: 20,
            35: 15, 56: 15}


def random_routes4(count, seed=4):
    """Distinct IPv4 prefixes (host-order address, length) that an Internet table could hold."""
    chance = random.Random(seed)
    lengths = list(LENGTHS4)
    weights = list(LENGTHS4.values())
    routes = set()
    while len(routes) < count:
        length = chance.choices(lengths, weights)[0]
        address = chance.randrange(1 << 24, 224 << 24)
        first = address >> 24
        # Not where martians, the benchmark's own networks or private ones lie.
        if first in (10, 127) or address >> 16 == 0xa9fe:
            continue
        routes.add((address >> (32 - length) << (32 - length), length))
    return sorted(routes)


def random_routes6(count, seed=6):
    chance = random.Random(seed)
    lengths = list(LENGTHS6)
    weights = list(LENGTHS6.values())
    routes = set()
    while len(routes) < count:
        length = chance.choices(lengths, weights)[0]
        address = (1 << 125) | chance.getrandbits(125)  # in 2000::/3
        routes.add((address >> (128 - length) << (128 - length), length))
    return sorted(routes)


def address_in4(route, chance):
    address, length = route
    return struct.pack(">I", address | chance.getrandbits(32 - length) if length < 32 else address)


def address_in6(route, chance):
    address, length = route
    return (address | chance.getrandbits(128 - length)).to_bytes(16, "big")


def text4(route):
    return f"{socket.inet_ntop(socket.AF_INET, struct.pack('>I', route[0]))}/{route[1]}"


def text6(route):
    return f"{socket.inet_ntop(socket.AF_INET6, route[0].to_bytes(16, 'big'))}/{route[1]}"
