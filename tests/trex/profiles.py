# SPDX-License-Identifier: BSD-3-Clause
"""The profiles without TRex: loaded by the stand-in, and their frames taken apart again."""

import logging
import pathlib
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TREX = ROOT / "tools" / "trex"
PROFILES = TREX / "profiles"
NAMES = ("srv6_decap", "srv6_srh", "srv6_imix", "udp_flood")

for folder in (HERE / "standin", HERE.parent / "packet", TREX):
    sys.path.insert(0, str(folder))
logging.getLogger("scapy.runtime").setLevel(logging.ERROR)

import packets  # noqa: E402  (found by the lines above)
from trex.stl import api  # noqa: E402


def load(name, *tunables):
    """The streams of a profile."""
    return api.STLProfile.load(str(PROFILES / f"{name}.py"), tunables=list(tunables)).get_streams()


def frames(name, *tunables, count=50):
    """The first frames of each stream, one after the other."""
    return [frame for stream in load(name, *tunables) for frame in stream.frames(count)]


class Wrong(AssertionError):
    """A frame that is not what it says."""


def need(condition, what, frame):
    if not condition:
        raise Wrong(f"{what}: {frame.hex()}")


def parse(frame):
    """The headers of a frame as a dict; every length and checksum must be right, to the last byte."""
    found = {"size": len(frame), "dst_mac": frame[:6], "src_mac": frame[6:12]}
    kind, rest = struct.unpack(">H", frame[12:14])[0], frame[14:]
    if kind == packets.IP6:
        rest = ip6(found, rest, frame)
    else:
        need(kind == packets.IP4, "neither IPv4 nor IPv6", frame)
    if found.get("next") != packets.UDP:
        rest = ip4(found, rest, frame)
    udp(found, rest, frame)
    return found


def ip6(found, packet, frame):
    word, length, following, hop_limit = struct.unpack(">IHBB", packet[:8])
    need(word == 6 << 28 and hop_limit == 64, "IPv6 header", frame)
    need(length == len(packet) - 40, "IPv6 payload length", frame)
    found.update(src6=packets.text(packet[8:24]), dst6=packets.text(packet[24:40]))
    packet = packet[40:]
    if following == packets.ROUTING:
        following, units, kind, left, last, flags, tag = struct.unpack(">BBBBBBH", packet[:8])
        need(kind == 4 and flags == 0 and tag == 0, "SRH", frame)
        need(units == 2 * (last + 1), "SRH length", frame)
        found["left"] = left
        found["segments"] = [packets.text(packet[8 + 16 * n:24 + 16 * n]) for n in range(last + 1)]
        need(left <= last and found["segments"][left] == found["dst6"], "active segment", frame)
        packet = packet[8 + units * 8:]
    need(following in (packets.IPIP, packets.UDP), "next header", frame)
    found["next"] = following
    found["pseudo"] = frame[22:54]
    return packet


def ip4(found, packet, frame):
    need(packet[0] == 0x45, "IPv4 header", frame)
    need(struct.unpack(">H", packet[2:4])[0] == len(packet), "IPv4 total length", frame)
    need(packets.checksum(packet[:20]) == 0, "IPv4 header checksum", frame)
    need(packet[8] == 64 and packet[9] == packets.UDP, "IPv4 TTL or protocol", frame)
    found.update(src4=packets.text(packet[12:16]), dst4=packets.text(packet[16:20]),
                 pseudo=packet[12:20])
    return packet[20:]


def udp(found, packet, frame):
    sport, dport, length, value = struct.unpack(">HHHH", packet[:8])
    need(length == len(packet), "UDP length", frame)
    found.update(sport=sport, dport=dport, udp_checksum=value)
    if value == 0:
        need("src4" in found, "no UDP checksum in IPv6", frame)
    else:
        pseudo = found["pseudo"] + struct.pack(">HH", length, packets.UDP)
        need(packets.checksum(pseudo + packet) == 0, "UDP checksum", frame)
