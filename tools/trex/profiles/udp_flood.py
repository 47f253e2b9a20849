# SPDX-License-Identifier: BSD-3-Clause
"""A flood of UDP from many sources, without tunnel: for sockets, rules and plain forwarding."""

import ipaddress

from noref_traffic import (ETHER, FRAME_MAX, IP4, IP6, UDP_HEADER, Profile, TunableError, between,
                           count_addresses, count_up, padding, stream, udp_checksum_by_nic)
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from trex.stl.api import STLVM


class Flood(Profile):
    """UDP from many sources and ports to one address; IPv4 or IPv6, as the address is."""

    def tunables(self, parser):
        parser.add_argument("--destination", type=ipaddress.ip_address, metavar="ADDR",
                            default=ipaddress.ip_address("10.0.0.1"), help="whom it floods")
        parser.add_argument("--port", type=between(1, 65535), default=5000, help="destination port")
        parser.add_argument("--ports", type=between(1, 65535), default=1, metavar="N",
                            help="destination ports, counted up")
        parser.add_argument("--source", type=ipaddress.ip_address, default=None, metavar="ADDR",
                            help="first source (10.0.0.2 or fc00:0:0:1::2: of the network of port 0)")
        parser.add_argument("--sources", type=between(1, 65536), default=200, metavar="N",
                            help="sources")
        parser.add_argument("--source-port", type=between(1, 65535), default=1024, metavar="PORT",
                            help="first source port")
        parser.add_argument("--source-ports", type=between(1, 65535), default=1009, metavar="N",
                            help="source ports; relatively prime to --sources, all pairs occur")
        parser.add_argument("--size", type=between(60, FRAME_MAX), default=None, metavar="BYTES",
                            help="frames without FCS (60, or 62 for IPv6)")
        parser.add_argument("--checksum", choices=("zero", "nic"), default=None,
                            help="UDP checksum: zero (not computed; IPv4 only), or by TRex's NIC "
                            "(zero for IPv4, nic for IPv6)")

    def streams(self, options):
        six = options.destination.version == 6
        self.fill_in(options, six)
        header, field = (IP6, 16) if six else (IP4, 4)
        layer = IPv6(hlim=64, nh=17) if six else IP(ttl=64)
        layer.src, layer.dst = str(options.source), str(options.destination)
        udp = UDP(sport=options.source_port, dport=options.port)
        if options.checksum == "zero":
            udp.chksum = 0
        packet = (Ether() / layer / udp
                  / padding(options.size, ETHER + header + UDP_HEADER))
        vm, l4 = STLVM(), ETHER + header
        count_addresses(vm, "sources", layer.src, options.sources, l4 - 2 * field, field)
        count_up(vm, "source_ports", options.source_port, options.source_ports, l4)
        count_up(vm, "ports", options.port, options.ports, l4 + 2)
        if vm.commands and options.checksum == "nic":
            udp_checksum_by_nic(vm, ETHER, l4)  # makes IPv4's header checksum, too
        elif options.sources > 1 and not six:
            vm.fix_chksum(offset=ETHER)
        return [stream("flood", packet, vm, cache=options.cache)]

    def fill_in(self, options, six):
        """Defaults that depend on the version, and what does not go together."""
        if options.source is None:
            options.source = ipaddress.ip_address("fc00:0:0:1::2" if six else "10.0.0.2")
        if options.size is None:
            options.size = 62 if six else 60
        if options.checksum is None:
            options.checksum = "nic" if six else "zero"
        if options.source.version != options.destination.version:
            raise TunableError("source and destination are of different versions of IP")
        if six and options.checksum == "zero":
            raise TunableError("checksum zero: IPv6 has no UDP without checksum (RFC 8200, 8.1)")
        for name, first, count in (("source-ports", options.source_port, options.source_ports),
                                   ("ports", options.port, options.ports)):
            if first + count - 1 > 0xFFFF:
                raise TunableError(f"{name}: {count} from {first} on are more than there are")


def register():
    """Called by TRex."""
    return Flood()
