# SPDX-License-Identifier: BSD-3-Clause
"""A slow router to compare with: what must be forwarded of any frame at all.

Model(script).forward(port, frame) answers the (port, frame) that leaves, or
None. It reads the same console script as the program, has a plain list of
prefixes instead of a trie, and follows RFC 8986, 8754, 8200 and 1812 line by
line. What the router sends on its own account is not its business. Frames whose
fate is a matter of taste raise Unsure; a comparison leaves them out.
"""

import ipaddress
import struct

import packets as p

MTU = 1500
MAIN = 254
HEADERS = 6        # extension headers a router must be able to walk; above, it may give up
SEGMENTS = 4       # SIDs of its own in a row; above, it may give up
MARTIAN4 = [ipaddress.ip_network(n) for n in ("0.0.0.0/8", "127.0.0.0/8", "224.0.0.0/3")]
LINK_LOCAL4 = ipaddress.ip_network("169.254.0.0/16")


class Unsure(Exception):
    """The fate of this frame is not laid down anywhere."""


class Way:
    """A next hop: kind is via, local, none (blackhole and the like), connected or sid."""

    def __init__(self, kind, port=None, mac=None, sid=None):
        self.kind, self.port, self.mac, self.sid = kind, port, mac, sid


class Sid:
    def __init__(self, action, table, way, flavours):
        self.action, self.table, self.way, self.flavours = action, table, way, flavours


class Model:
    def __init__(self, script):
        self.macs, self.vrf, self.tables = {}, {}, {"main": MAIN}
        self.addresses, self.neighbours = [], {}
        self.routes = {}  # (table, family) -> [(network, Way)]
        self.found = {}   # lookups made before
        lines = [line.split() for line in script.splitlines() if line and line[0] != "#"]
        for words in lines:
            self.configure([w for w in words if w not in ("-6", "-4")])

    # --- configuration ---------------------------------------------------------------

    def configure(self, words):
        def after(key, default=None):
            return words[words.index(key) + 1] if key in words else default

        head = words[1:3]
        if head == ["link", "add"]:
            self.tables[words[3]] = int(after("table"))
        elif head == ["link", "set"]:
            port = int(after("dev"))
            if "address" in words:
                self.macs[port] = p.mac(after("address"))
            if "master" in words:
                self.vrf[port] = self.tables[after("master")]
        elif head == ["addr", "add"]:
            port, interface = int(after("dev")), ipaddress.ip_interface(words[3])
            table = self.vrf.get(port, MAIN)
            self.addresses.append((port, interface))
            self.route(table, interface.network, Way("connected", port))
            self.route(table, ipaddress.ip_network(interface.ip), Way("local"))
        elif head == ["neigh", "add"]:
            self.neighbours[int(after("dev")), p.addr(words[3])] = p.mac(after("lladdr"))
        elif head == ["route", "add"]:
            table = self.tables[after("vrf", "main")]
            if words[3] in ("blackhole", "unreachable", "prohibit"):
                self.route(table, ipaddress.ip_network(words[4]), Way("none"))
            elif "seg6local" in words:
                way = Way("sid", sid=self.sid(after))
                self.route(table, ipaddress.ip_network(words[3]), way)
            else:
                self.route(table, ipaddress.ip_network(words[3]), self.via(table, after("via")))
        else:
            raise ValueError(" ".join(words))

    def route(self, table, network, way):
        self.routes.setdefault((table, network.version), []).append((network, way))

    def via(self, table, address):
        """The neighbour a gateway is: on the connected network it lies in."""
        ip = ipaddress.ip_address(address)
        port = next(port for port, interface in self.addresses
                    if ip in interface.network and self.vrf.get(port, MAIN) == table)
        return Way("via", port, self.neighbours.get((port, ip.packed)))

    def sid(self, after):
        gateway = after("nh4") or after("nh6")
        table = int(after("vrftable") or after("table") or MAIN)
        return Sid(after("action"), table, self.via(MAIN, gateway) if gateway else None,
                   set(after("flavors", "").split(",")))

    def lookup(self, table, address):
        if (table, address) not in self.found:
            ip = ipaddress.ip_address(address)
            best = None
            for network, way in self.routes.get((table, ip.version), ()):
                if ip in network and (best is None or network.prefixlen > best[0].prefixlen
                                      or (network == best[0] and way.kind == "sid")):
                    best = network, way
            way = best[1] if best else Way("none")
            if way.kind == "connected":
                mac = self.neighbours.get((way.port, address))
                way = Way("via", way.port, mac)
            self.found[table, address] = way
        return self.found[table, address]

    # --- frames ------------------------------------------------------------------------

    def forward(self, port, frame):
        if len(frame) < 14 or frame[0] & 1:
            return None  # too short, or to a group: never forwarded
        if frame[:6] != self.macs[port]:
            return None
        kind, packet = struct.unpack(">H", frame[12:14])[0], frame[14:]
        table = self.vrf.get(port, MAIN)
        if kind == p.IP6:
            return self.ip6(packet, table)
        if kind == p.IP4:
            return self.ip4(packet, table)
        if kind == p.VLAN:
            raise Unsure
        return None

    def send(self, way, packet):
        if way.kind != "via" or way.mac is None or len(packet) > MTU:
            if len(packet) > MTU:
                raise Unsure  # fragments
            return None
        kind = p.IP4 if packet[0] >> 4 == 4 else p.IP6
        return way.port, way.mac + self.macs[way.port] + struct.pack(">H", kind) + packet

    # --- IPv4: RFC 1812 5.2.2, 5.3.1, 5.3.7 -----------------------------------------------

    def ip4(self, packet, table, way=None):
        if len(packet) < 20 or packet[0] >> 4 != 4:
            return None
        size, total = p.ip4_header_size(packet), struct.unpack(">H", packet[2:4])[0]
        if size < 20 or size > len(packet) or total < size or total > len(packet):
            return None
        if p.checksum(packet[:size]) != 0:
            return None
        packet = packet[:total]
        self.options4(packet[20:size])
        source, target = (ipaddress.ip_address(packet[at:at + 4]) for at in (12, 16))
        if any(source in net or target in net for net in MARTIAN4):
            return None
        if source in LINK_LOCAL4 or target in LINK_LOCAL4:
            raise Unsure
        if way is None:
            for port, interface in self.addresses:
                net = interface.network
                if net.version == 4 and target in (net[0], net[-1]):
                    return None
            way = self.lookup(table, packet[16:20])
        if packet[8] <= 1:
            return None
        return self.send(way, p.routed(packet))

    @staticmethod
    def options4(options):
        """Only what is plainly in order is compared."""
        at = 0
        while at < len(options) and options[at] != 0:
            if options[at] == 1:
                at += 1
                continue
            if at + 1 >= len(options) or not 2 <= options[at + 1] <= len(options) - at:
                raise Unsure
            if options[at] in (0x83, 0x89):
                raise Unsure
            at += options[at + 1]

    # --- IPv6: RFC 8200, RFC 4291 -----------------------------------------------------------

    def ip6(self, packet, table, way=None, hops=0, counted=False):
        """counted: End has counted the hop already."""
        if len(packet) < 40 or packet[0] >> 4 != 6:
            return None
        length = struct.unpack(">H", packet[4:6])[0]
        if length > len(packet) - 40:
            return None
        packet = packet[:40 + length]
        source, target = (ipaddress.ip_address(packet[at:at + 16]) for at in (8, 24))
        if source.is_unspecified or source.is_loopback or source.is_multicast:
            return None
        if target.is_unspecified or target.is_loopback or target.is_multicast:
            return None
        if target.is_link_local:
            return None
        if way is None:
            way = self.lookup(table, packet[24:40])
            if way.kind == "sid":
                if source.is_link_local:
                    raise Unsure
                return self.endpoint(way.sid, packet, hops)
        if source.is_link_local:
            return None
        if not counted:
            if packet[7] <= 1:
                return None
            packet = p.routed(packet)
        return self.send(way, packet)

    # --- SIDs: RFC 8986 4 ------------------------------------------------------------------------

    def endpoint(self, sid, packet, hops):
        if hops >= SEGMENTS:
            raise Unsure
        transit = sid.action in ("End", "End.X", "End.T")
        at, named_by = 40, 6
        for walked in range(HEADERS + 1):
            nh = packet[named_by]
            if nh in (p.HOPOPTS, p.DSTOPTS, p.ROUTING):
                if nh == p.HOPOPTS and at != 40:
                    return None
                if at + 8 > len(packet) or at + 8 + 8 * packet[at + 1] > len(packet):
                    return None
                size = 8 + 8 * packet[at + 1]
                if nh != p.ROUTING:
                    if not self.options6(packet[at + 2:at + size]):
                        return None
                elif packet[at + 2] == 4:
                    if packet[at + 3] != 0:
                        if not transit:
                            return None
                        return self.next_segment(sid, packet, at, size, named_by, hops)
                    if "usp" in sid.flavours:
                        packet = self.without(packet, at, size, named_by)
                        continue
                elif packet[at + 3] != 0:
                    return None
                named_by, at = at, at + size
                continue
            return self.upper(sid, nh, packet[at:])
        raise Unsure

    @staticmethod
    def options6(options):
        """RFC 8200 4.2: False when an option says discard."""
        at = 0
        while at < len(options):
            if options[at] == 0:
                at += 1
                continue
            if at + 1 >= len(options) or at + 2 + options[at + 1] > len(options):
                return False
            if options[at] in (5, 0xC2, 0xC9, 0x63, 0x8A, 0x26):
                raise Unsure  # options that some know
            if options[at] & 0xC0:
                return False
            at += 2 + options[at + 1]
        return True

    @staticmethod
    def without(packet, at, size, named_by):
        packet = bytearray(packet)
        packet[named_by] = packet[at]
        del packet[at:at + size]
        packet[4:6] = struct.pack(">H", len(packet) - 40)
        return bytes(packet)

    def next_segment(self, sid, packet, at, size, named_by, hops):
        left, last = packet[at + 3], packet[at + 4]
        if packet[7] <= 1 or last > packet[at + 1] // 2 - 1 or left > last + 1:
            return None
        packet = bytearray(packet)
        packet[7] -= 1
        packet[at + 3] = left = left - 1
        packet[24:40] = packet[at + 8 + 16 * left:at + 24 + 16 * left]
        packet = bytes(packet)
        if left == 0 and "psp" in sid.flavours:
            packet = self.without(packet, at, size, named_by)
        return self.ip6(packet, sid.table, sid.way, hops + 1, counted=True)

    def upper(self, sid, nh, payload):
        takes = {"End.DX4": {4}, "End.DT4": {4}, "End.DX6": {6}, "End.DT6": {6},
                 "End.DT46": {4, 6}}.get(sid.action, {4, 6} if "usd" in sid.flavours else set())
        if nh == p.IPIP and 4 in takes:
            return self.ip4(payload, sid.table, sid.way)
        if nh == p.IPV6 and 6 in takes:
            return self.ip6(payload, sid.table, sid.way, hops=SEGMENTS)
        return None
