# SPDX-License-Identifier: BSD-3-Clause
"""What noref's TRex profiles share: frames, the engine that varies them, tunables.

A profile is a subclass of Profile in a file of its own, with a function register() that returns
one: that is what TRex 3.x looks for. Tunables are options:

    start -f srv6_decap.py -p 0 -m 1mpps -t --action dt4 --sources 4096

Sizes are bytes of a frame as captures show it, without the FCS. TRex counts its 4 bytes, too: a
frame of 82 is 86 in its byte counters and rates. Frames carry no MAC addresses of their own:
Ether() without any leaves both to `port_info` in trex_cfg.yaml.

The default addresses are those of tools/trex/router.conf.
"""

import argparse
import inspect
import ipaddress
import pathlib

try:
    from trex.stl.api import STLVM, CTRexVmInsFixHwCs, STLPktBuilder, STLStream, STLTXCont
except ImportError as error:
    raise ImportError(
        "a TRex profile needs TRex's Python client (trex.stl.api). Load it in trex-console, or put "
        "automation/trex_control_plane/interactive of a TRex 3.x into PYTHONPATH; TRex is at "
        f"https://trex-tgn.cisco.com/trex/release/ ({error})") from None

# After trex.stl.api, which brings a scapy of its own.
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrSegmentRouting
from scapy.layers.l2 import Ether

ETHER, IP4, IP6, UDP_HEADER, SRH_FIXED, SEGMENT = 14, 20, 40, 8, 8, 16

SIDS = {"dx4": "fc00:0:1:d4::", "dt4": "fc00:0:1:100::"}
END_SID = "fc00:0:1:e::"
FRAME_MAX = 9018 - 4


class TunableError(ValueError):
    """A tunable that cannot be; TRex prints the message."""


class Tunables(argparse.ArgumentParser):
    """argparse leaves the program at a mistake, and TRex takes that for --help: raise instead."""

    def error(self, message):
        raise TunableError(f"{self.prog}: {message}")


# --- kinds of tunables -----------------------------------------------------------------


def address(version):
    """An IPv4 or IPv6 address, as text."""
    def parse(text):
        value = ipaddress.ip_address(text)
        if value.version != version:
            raise ValueError
        return str(value)
    parse.__name__ = f"IPv{version} address"
    return parse


def addresses(text):
    """IPv6 addresses, separated by commas."""
    return [address(6)(word) for word in text.split(",")]


def between(low, high):
    """A whole number in a range."""
    def parse(text):
        value = int(text)
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{value} is not in {low} to {high}")
        return value
    parse.__name__ = "number"
    return parse


# --- frames ----------------------------------------------------------------------------


def padding(size, headers):
    """Payload that makes headers a frame of size bytes."""
    if size < headers:
        raise TunableError(f"size {size}: these headers alone take {headers} bytes")
    return bytes(size - headers)


def segment_list(sid, segments, left, end_sid=END_SID):
    """The entries of an SRH in header order: the last segment first (RFC 8754, 2). Those still
    to come are this router's End SID, those passed are nodes somewhere in the network."""
    passed = [f"fc00:0:2:{number:x}::" for number in range(1, segments - left)]
    return [sid] + [end_sid] * left + passed


def tunnel(options, sid, size, segments=(), left=0):
    """IPv4 UDP in IPv6 to a SID; with segments, behind an SRH of them. Returns the frame and
    where its inner IPv4 header begins."""
    inner = ETHER + IP6 + (SRH_FIXED + SEGMENT * len(segments) if segments else 0)
    outer = IPv6(src=options.source, dst=segments[left] if segments else sid, hlim=64,
                 nh=43 if segments else 4)
    if segments:
        # nh is written out: versions of scapy differ in what they fill in.
        outer /= IPv6ExtHdrSegmentRouting(nh=4, segleft=left, lastentry=len(segments) - 1,
                                          addresses=list(segments))
    udp = UDP(sport=options.inner_port, dport=options.inner_port + 1)
    if varies_inside(options):
        udp.chksum = 0  # RFC 768: not computed; the engine changes what it would cover
    packet = IP(src=options.inner_source, dst=options.inner_destination, ttl=64) / udp
    return Ether() / outer / packet / padding(size, inner + IP4 + UDP_HEADER), inner


# --- the field engine --------------------------------------------------------------------


def low_bits(text, count, name):
    """The last 16 bits of an address, to be counted up count - 1 times."""
    low = int(ipaddress.ip_address(text)) & 0xFFFF
    if low + count - 1 > 0xFFFF:
        raise TunableError(f"{name}: {count} addresses from {text} on do not fit into its last "
                           "16 bits")
    return low


def count_up(vm, name, base, count, offset):
    """Write base, base + 1, ... to the 16 bits at offset, packet after packet."""
    if count > 1:
        vm.var(name=name, min_value=base, max_value=base + count - 1, size=2, op="inc")
        vm.write(fv_name=name, pkt_offset=offset)


def count_addresses(vm, name, text, count, field, size):
    """The same for the last 16 bits of an address field of size bytes."""
    count_up(vm, name, low_bits(text, count, name.replace("_", "-")), count, field + size - 2)


def varies_inside(options):
    return options.inner_sources > 1 or options.inner_destinations > 1


def tunnel_engine(options, inner):
    """Outer sources and inner flows; the inner header's checksum is made right again."""
    vm = STLVM()
    count_addresses(vm, "sources", options.source, options.sources, ETHER + 8, 16)
    count_addresses(vm, "inner_sources", options.inner_source, options.inner_sources, inner + 12, 4)
    count_addresses(vm, "inner_destinations", options.inner_destination,
                    options.inner_destinations, inner + 16, 4)
    if varies_inside(options):
        vm.fix_chksum(offset=inner)
    return vm


def udp_checksum_by_nic(vm, l3, l4):
    vm.fix_chksum_hw(l3_offset=l3, l4_offset=l4, l4_type=CTRexVmInsFixHwCs.L4_TYPE_UDP)


def stream(name, packet, vm, share=1, cache=0):
    """A stream without end; share: its part of what the port is told to send."""
    if not vm.commands:
        vm = None
    elif cache:
        vm.set_cached(cache)
    return STLStream(name=name, packet=STLPktBuilder(pkt=packet, vm=vm),
                     mode=STLTXCont(pps=share))


# --- profiles -------------------------------------------------------------------------------


class Profile:
    """What TRex calls. A subclass has a docstring, its tunables and its streams."""

    def tunables(self, parser):
        """Add options to an argparse parser."""

    def streams(self, options):
        """The list of STLStream for the parsed options."""
        raise NotImplementedError

    def get_streams(self, direction=0, tunables=(), **kwargs):
        """Called by TRex. Tunables come as a list of options, or by name from Python."""
        parser = Tunables(prog=pathlib.Path(inspect.getfile(type(self))).name,
                          description=type(self).__doc__,
                          formatter_class=argparse.ArgumentDefaultsHelpFormatter)
        parser.add_argument("--cache", type=between(0, 65535), default=0, metavar="N",
                            help="let TRex prepare N frames and repeat them: more packets per core, "
                            "and no more than N different ones; 0: every frame is made anew")
        self.tunables(parser)
        words = list(tunables or ())
        for name, value in kwargs.items():
            if name != "port_id":
                words += [f"--{name.replace('_', '-')}", str(value)]
        return self.streams(parser.parse_args(words))


def tunnel_tunables(parser):
    """What every profile of tunnels lets choose."""
    parser.add_argument("--source", type=address(6), default="fc00:0:0:1::1000", metavar="ADDR",
                        help="first outer source")
    parser.add_argument("--sources", type=between(1, 65536), default=1024, metavar="N",
                        help="outer sources: what a NIC spreads tunnels over its queues by")
    parser.add_argument("--inner-source", type=address(4), default="198.51.100.1", metavar="ADDR",
                        help="first inner source")
    parser.add_argument("--inner-sources", type=between(1, 65536), default=1, metavar="N",
                        help="inner sources")
    parser.add_argument("--inner-destination", type=address(4), default="10.9.0.1", metavar="ADDR",
                        help="first inner destination")
    parser.add_argument("--inner-destinations", type=between(1, 65536), default=1, metavar="N",
                        help="inner destinations, as for a table of many routes")
    parser.add_argument("--inner-port", type=between(1, 65534), default=40000, metavar="PORT",
                        help="inner UDP source port; the destination port is the next one")
