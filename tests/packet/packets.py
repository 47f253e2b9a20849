# SPDX-License-Identifier: BSD-3-Clause
"""Packets as bytes: builders that can lie, and what a correct router makes of them.

Nothing here asks noref: expectations are computed from the RFCs alone. Every
builder takes the fields a test may want to be wrong (lengths, checksums,
versions) as arguments; left out, they are right.
"""

import ipaddress
import struct

IP4, IP6, ARP, VLAN = 0x0800, 0x86DD, 0x0806, 0x8100

HOPOPTS, ICMP, IPIP, TCP, UDP, IPV6, ROUTING, FRAGMENT = 0, 1, 4, 6, 17, 41, 43, 44
ESP, AH, ICMP6, NONE, DSTOPTS, ETHERNET = 50, 51, 58, 59, 60, 143

BROADCAST = "ff:ff:ff:ff:ff:ff"


def mac(address):
    """Six bytes of a MAC given as text or bytes."""
    return address if isinstance(address, bytes) else bytes.fromhex(address.replace(":", ""))


def addr(address):
    """Four or sixteen bytes of an IP address given as text or bytes."""
    return address if isinstance(address, bytes) else ipaddress.ip_address(address).packed


def text(address):
    """An IP address as text."""
    return str(ipaddress.ip_address(addr(address)))


def checksum(data):
    """RFC 1071, complemented."""
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


# --- layer 2 -------------------------------------------------------------------


def eth(dst, src, payload, kind=None, vlan=None):
    """An Ethernet frame, not padded. The type follows the IP version unless given."""
    if kind is None:
        kind = {4: IP4, 6: IP6}[payload[0] >> 4]
    tag = struct.pack(">HH", VLAN, vlan) if vlan is not None else b""
    return mac(dst) + mac(src) + tag + struct.pack(">H", kind) + payload


def arp(op, sha, spa, tha, tpa, hardware=1, protocol=IP4, sizes=(6, 4)):
    head = struct.pack(">HHBBH", hardware, protocol, *sizes, op)
    return head + mac(sha) + addr(spa) + mac(tha) + addr(tpa)


def multicast_mac(group):
    """RFC 2464 7 and RFC 1112 6.4."""
    group = addr(group)
    if len(group) == 16:
        return b"\x33\x33" + group[12:]
    return b"\x01\x00\x5e" + bytes([group[1] & 0x7F]) + group[2:]


def solicited_node(address):
    """RFC 4291 2.7.1."""
    return addr("ff02::1:ff00:0")[:13] + addr(address)[13:]


def link_local(hardware):
    """fe80:: with the modified EUI-64 of a MAC."""
    m = mac(hardware)
    return addr("fe80::")[:8] + bytes([m[0] ^ 2]) + m[1:3] + b"\xff\xfe" + m[3:]


# --- IPv4 ------------------------------------------------------------------------


def ip4(src, dst, proto, payload=b"", ttl=64, tos=0, ident=1, df=False, mf=False, offset=0,
        options=b"", version=4, ihl=None, total=None, csum=None):
    """options must be a multiple of four bytes; offset counts 8-byte units."""
    ihl = 5 + len(options) // 4 if ihl is None else ihl
    total = 20 + len(options) + len(payload) if total is None else total
    flags = (df << 14) | (mf << 13) | offset
    head = struct.pack(">BBHHHBBH", version << 4 | ihl, tos, total & 0xFFFF, ident, flags, ttl,
                       proto, 0)
    head += addr(src) + addr(dst) + options
    if csum is None:
        csum = checksum(head)
    return head[:10] + struct.pack(">H", csum) + head[12:] + payload


def ip4_header_size(packet):
    return (packet[0] & 15) * 4


def ip4_edit(packet, **fields):
    """Change ttl, tos, ident, total or flags of a good packet, checksum made right."""
    size = ip4_header_size(packet)
    head = bytearray(packet[:size])
    if "tos" in fields:
        head[1] = fields["tos"]
    if "total" in fields:
        head[2:4] = struct.pack(">H", fields["total"])
    if "ident" in fields:
        head[4:6] = struct.pack(">H", fields["ident"])
    if "flags" in fields:
        head[6:8] = struct.pack(">H", fields["flags"])
    if "ttl" in fields:
        head[8] = fields["ttl"]
    head[10:12] = b"\0\0"
    head[10:12] = struct.pack(">H", checksum(bytes(head)))
    return bytes(head) + packet[size:]


# --- IPv6 ------------------------------------------------------------------------


def ip6(src, dst, nh, payload=b"", hlim=64, tc=0, flow=0, length=None, version=6):
    length = len(payload) if length is None else length
    word = version << 28 | tc << 20 | flow
    return struct.pack(">IHBB", word, length & 0xFFFF, nh, hlim) + addr(src) + addr(dst) + payload


def ip6_edit(packet, **fields):
    """Change hlim, tc, nh, dst or length."""
    head = bytearray(packet[:40])
    if "tc" in fields:
        head[0] = head[0] & 0xF0 | fields["tc"] >> 4
        head[1] = head[1] & 0x0F | (fields["tc"] & 15) << 4
    if "length" in fields:
        head[4:6] = struct.pack(">H", fields["length"])
    if "nh" in fields:
        head[6] = fields["nh"]
    if "hlim" in fields:
        head[7] = fields["hlim"]
    if "dst" in fields:
        head[24:40] = addr(fields["dst"])
    return bytes(head) + packet[40:]


def srh(nh, segments, left, tlvs=b"", last=None, length=None, kind=4, flags=0, tag=0):
    """A segment routing header. segments in header order: the last one of the path first.

    tlvs must be a multiple of eight bytes; length is in 8-byte units, as on the wire.
    """
    body = b"".join(addr(s) for s in segments) + tlvs
    last = len(segments) - 1 if last is None else last
    length = len(body) // 8 if length is None else length
    return struct.pack(">BBBBBBH", nh, length, kind, left, last & 0xFF, flags, tag) + body


def path(nh, hops, left, **more):
    """An SRH for hops in the order they are visited."""
    return srh(nh, list(reversed(hops)), left, **more)


def options_header(nh, options=b""):
    """A hop-by-hop or destination options header, padded with PadN (RFC 8200 4.2)."""
    missing = -(2 + len(options)) % 8
    if missing == 1:
        options += b"\0"
    elif missing > 1:
        options += bytes([1, missing - 2]) + bytes(missing - 2)
    return bytes([nh, (2 + len(options)) // 8 - 1]) + options


def fragment_header(nh, offset=0, more=False, ident=1):
    return struct.pack(">BBHI", nh, 0, offset << 3 | more, ident)


PAD_TLV = bytes([4, 6]) + bytes(6)  # RFC 8754 2.1.1.2
UNKNOWN_TLV = bytes([124, 14]) + bytes(range(14))


# --- upper layers ------------------------------------------------------------------


def udp(payload, sport=1024, dport=9):
    """Checksum left out: routers do not look."""
    return struct.pack(">HHHH", sport, dport, 8 + len(payload), 0) + payload


def udp6(src, dst, payload, sport=1024, dport=9):
    """With its checksum, which IPv6 demands (RFC 8200 8.1)."""
    body = udp(payload, sport, dport)
    csum = checksum(pseudo6(src, dst, len(body), UDP) + body) or 0xFFFF
    return body[:6] + struct.pack(">H", csum) + body[8:]


def icmp4(kind, code, rest, payload=b""):
    """rest: the four bytes after the checksum."""
    body = bytes([kind, code, 0, 0]) + rest + payload
    return body[:2] + struct.pack(">H", checksum(body)) + body[4:]


def pseudo6(src, dst, size, nh):
    return addr(src) + addr(dst) + struct.pack(">II", size, nh)


def icmp6(src, dst, kind, code, rest, payload=b""):
    body = bytes([kind, code, 0, 0]) + rest + payload
    csum = checksum(pseudo6(src, dst, len(body), ICMP6) + body)
    return body[:2] + struct.pack(">H", csum) + body[4:]


def echo4(src, dst, payload, ident=7, seq=1, **ip):
    return ip4(src, dst, ICMP, icmp4(8, 0, struct.pack(">HH", ident, seq), payload), **ip)


def echo6(src, dst, payload, ident=7, seq=1, **ip):
    return ip6(src, dst, ICMP6, echo6_body(src, dst, payload, ident, seq), **ip)


def echo6_body(src, dst, payload, ident=7, seq=1):
    return icmp6(src, dst, 128, 0, struct.pack(">HH", ident, seq), payload)


def neighbour_solicitation(src, dst, target, hardware=None, hlim=255):
    option = b"\x01\x01" + mac(hardware) if hardware else b""
    return ip6(src, dst, ICMP6, icmp6(src, dst, 135, 0, bytes(4), addr(target) + option),
               hlim=hlim)


def neighbour_advertisement(src, dst, target, hardware=None, flags=0xE0, hlim=255):
    """flags: R 0x80, S 0x40, O 0x20."""
    option = b"\x02\x01" + mac(hardware) if hardware else b""
    rest = bytes([flags, 0, 0, 0])
    return ip6(src, dst, ICMP6, icmp6(src, dst, 136, 0, rest, addr(target) + option), hlim=hlim)


# --- what a router does -------------------------------------------------------------


def routed(packet):
    """The packet after one hop: TTL or hop limit less one, IPv4 checksum made anew."""
    if packet[0] >> 4 == 4:
        return ip4_edit(packet, ttl=packet[8] - 1)
    return ip6_edit(packet, hlim=packet[7] - 1)


def fragments(packet, mtu):
    """Split an IPv4 packet as RFC 791 2.3 and 3.2 say, each piece as large as it may be."""
    size = ip4_header_size(packet)
    flags = struct.unpack(">H", packet[6:8])[0]
    data, more, start = packet[size:], flags & 0x2000, flags & 0x1FFF
    copied = copied_options(packet[20:size])
    pieces, at = [], 0
    head = packet[:size]
    while at < len(data):
        room = (mtu - len(head)) // 8 * 8
        last = len(head) + len(data) - at <= mtu
        piece = data[at:] if last else data[at:at + room]
        word = start + at // 8 | (0x2000 if more or not last else 0)
        fixed = bytes([0x40 | len(head) // 4]) + head[1:]
        pieces.append(ip4_edit(fixed + piece, total=len(head) + len(piece), flags=word))
        at += len(piece)
        head = packet[:20] + copied
    return pieces


def copied_options(options):
    """Those with the copied flag, padded to four bytes."""
    kept, at = b"", 0
    while at < len(options) and options[at] != 0:
        if options[at] == 1:
            at += 1
            continue
        if options[at] & 0x80:
            kept += options[at:at + options[at + 1]]
        at += options[at + 1]
    return kept + bytes(-len(kept) % 4)


def reassemble(pieces):
    """Put fragments of one packet, in order, together; AssertionError when they do not fit."""
    data, expected = b"", None
    for number, piece in enumerate(pieces):
        size = ip4_header_size(piece)
        word = struct.unpack(">H", piece[6:8])[0]
        assert struct.unpack(">H", piece[2:4])[0] == len(piece), "total length"
        assert checksum(piece[:size]) == 0, "header checksum"
        offset = (word & 0x1FFF) * 8
        if expected is None:
            first, expected = piece, offset
        assert offset == expected, f"fragment {number} at {offset}, expected {expected}"
        data += piece[size:]
        expected += len(piece) - size
        if number < len(pieces) - 1:
            assert word & 0x2000, f"fragment {number} has no more-fragments flag"
            assert (len(piece) - size) % 8 == 0, f"fragment {number} is no multiple of 8 bytes"
    size = ip4_header_size(first)
    flags = struct.unpack(">H", first[6:8])[0] & ~0x2000 | word & 0x2000
    return ip4_edit(first[:size] + data, total=size + len(data), flags=flags)


# --- reading frames -------------------------------------------------------------------


class Frame:
    """What can be told about a frame at first sight; fields are None when absent."""

    def __init__(self, data):
        self.data = data
        self.dst, self.src = data[:6], data[6:12]
        self.vlan, at = None, 12
        self.kind = struct.unpack(">H", data[12:14])[0] if len(data) >= 14 else None
        if self.kind == VLAN and len(data) >= 18:
            self.vlan, self.kind = struct.unpack(">HH", data[14:18])
            at = 16
        self.l3 = data[at + 2:]
        self.ip_src = self.ip_dst = self.proto = self.upper = None
        if self.kind == IP4 and len(self.l3) >= 20:
            self.ip_src, self.ip_dst = self.l3[12:16], self.l3[16:20]
            self.proto, self.upper = self.l3[9], self.l3[ip4_header_size(self.l3):]
        elif self.kind == IP6 and len(self.l3) >= 40:
            self.ip_src, self.ip_dst = self.l3[8:24], self.l3[24:40]
            self.proto, self.upper = self.l3[6], self.l3[40:]

    def is_icmp(self, *kinds):
        return (self.proto in (ICMP, ICMP6) and len(self.upper) >= 8
                and (self.proto == ICMP) == (self.kind == IP4) and self.upper[0] in kinds)

    def is_error(self):
        return self.is_icmp(3, 5, 11, 12) if self.kind == IP4 else self.is_icmp(1, 2, 3, 4)

    def is_nd(self):
        return self.kind == IP6 and self.is_icmp(133, 134, 135, 136, 137)


def describe(data):
    """One frame for a failure message: scapy's words where it is installed, then bytes."""
    words = ""
    try:
        import logging
        logging.getLogger("scapy").setLevel(logging.ERROR)
        from scapy.layers.l2 import Ether
        import scapy.layers.inet6  # noqa: F401  (teaches Ether about IPv6)
        words = Ether(data).summary() + " "
    except Exception:  # a broken packet or no scapy: the bytes will do
        pass
    shown = data[:160].hex()
    return f"{words}[{len(data)}] {shown}{'...' if len(data) > 160 else ''}"
