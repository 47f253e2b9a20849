# SPDX-License-Identifier: BSD-3-Clause
"""Frames of the tests, made with scapy, and an RSS of our own to compare with."""

import logging
import struct

logging.getLogger("scapy.runtime").setLevel(logging.ERROR)

from scapy.layers.inet import IP, TCP, UDP  # noqa: E402
from scapy.layers.inet6 import ICMPv6ND_NS, ICMPv6NDOptSrcLLAddr, IPv6  # noqa: E402
from scapy.layers.l2 import ARP, Dot1Q, Ether  # noqa: E402

from bench import MAC, PEER  # noqa: E402

# Two connected networks and neighbours on both, ports 0 and 1.
ROUTER = f"""\
ip addr add 10.0.0.1/24 dev 0
ip addr add 10.0.1.1/24 dev 1
ip addr add fc00:0:0:1::1/64 dev 0
ip neigh add 10.0.0.2 lladdr {PEER[0]} dev 0
ip neigh add 10.0.1.2 lladdr {PEER[1]} dev 1
ip route add 10.8.0.0/16 via 10.0.0.2
ip route add 10.9.0.0/16 via 10.0.1.2
ip -6 route add fc00:0:0:d4::/128 encap seg6local action End.DT4 table 254 dev 0
"""
SID = "fc00:0:0:d4::"


def udp(flow=0, size=18, port=0, to="10.9.0.1", tag=None, **ip):
    """A UDP packet for the other port; flow chooses addresses and ports."""
    tags = Dot1Q(vlan=tag) if tag else None
    packet = IP(src=f"10.8.{flow // 250}.{flow % 250 + 1}", dst=to, **ip) / UDP(
        sport=1024 + flow, dport=5000) / bytes(flow % 256 for _ in range(size))
    ether = Ether(src=PEER[port], dst=MAC[port])
    return bytes(ether / tags / packet if tags else ether / packet)


def tunnel(flow, outer="fd00::1", **inner):
    """IPv4 in IPv6 without SRH, as reduced encapsulation sends it."""
    return bytes(Ether(src=PEER[0], dst=MAC[0]) / IPv6(src=outer, dst=SID, fl=flow, nh=4)
                 / IP(src=f"10.8.{flow // 250}.{flow % 250 + 1}", dst="10.9.0.1", **inner)
                 / UDP(sport=1024 + flow, dport=5000) / (b"x" * 18))


def bad_udp_checksum(frame):
    """The frame with another last byte: its UDP checksum no longer fits."""
    return frame[:-1] + bytes([frame[-1] ^ 1])


def other_mac(frame, mac="02:00:00:00:00:77"):
    """The frame to another station."""
    return bytes.fromhex(mac.replace(":", "")) + frame[6:]


def neighbour_question(address):
    """An ARP request or a neighbour solicitation on port 0's network."""
    if ":" not in address:
        return padded(bytes(Ether(src=PEER[0], dst="ff:ff:ff:ff:ff:ff")
                            / ARP(op=1, hwsrc=PEER[0], psrc="10.0.0.2", pdst=address)))
    return bytes(Ether(src=PEER[0], dst="33:33:ff:00:00:01")
                 / IPv6(src="fc00:0:0:1::2", dst="ff02::1:ff00:1", hlim=255)
                 / ICMPv6ND_NS(tgt=address) / ICMPv6NDOptSrcLLAddr(lladdr=PEER[0]))


def forwarded(frame, port=1):
    """What an IPv4 packet looks like when it has been forwarded out of a port."""
    packet = Ether(frame)
    while not isinstance(packet, IP):
        packet = packet.payload
    packet.ttl -= 1
    del packet.chksum
    return padded(bytes(Ether(src=MAC[port], dst=PEER[port], type=0x0800) / packet))


def padded(frame):
    return frame + bytes(max(0, 60 - len(frame)))


def toeplitz(key, data):
    """The definition: for each set bit of the input, the 32 key bits that begin there."""
    bits = int.from_bytes(key, "big")
    total, result = len(key) * 8, 0
    for place in range(len(data) * 8):
        if data[place // 8] >> (7 - place % 8) & 1:
            result ^= bits >> (total - 32 - place) & 0xFFFFFFFF
    return result


def rss_queue(key, reta, frame):
    """The queue by addresses, and by ports for TCP and UDP; key: 10 registers, reta: 32."""
    packet = Ether(frame)
    ip = packet.getlayer(IP) if packet.type == 0x0800 else packet.getlayer(IPv6)
    raw = bytes(ip)
    fields = raw[12:20] if ip.version == 4 else raw[8:40]
    if isinstance(ip.payload, (UDP, TCP)):
        fields += bytes(ip.payload)[:4]
    entry = toeplitz(struct.pack("<10I", *key), fields) % 128
    return struct.pack("<32I", *reta)[entry] & 0xF
