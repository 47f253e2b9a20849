# SPDX-License-Identifier: BSD-3-Clause
"""Tunnels with a segment routing header (RFC 8754), to several SIDs in turn."""

from noref_traffic import (END_SID, ETHER, FRAME_MAX, IP4, IP6, SEGMENT, SIDS, SRH_FIXED, UDP_HEADER,
                           Profile, TunableError, address, addresses, between, segment_list, stream,
                           tunnel, tunnel_engine, tunnel_tunables)


class Srh(Profile):
    """IPv4 UDP in IPv6 with an SRH, one stream for each SID. With --left 0 the packet has arrived:
    its destination is the SID; else it is the End SID, which leads there."""

    def tunables(self, parser):
        parser.add_argument("--action", choices=(*sorted(SIDS), "both"), default="both",
                            help="whose SIDs of router.conf are last segments")
        parser.add_argument("--sids", type=addresses, default=None, metavar="ADDR,...",
                            help="other last segments, each as often as the others")
        parser.add_argument("--segments", type=between(1, 16), default=3, metavar="N",
                            help="entries of the segment list")
        parser.add_argument("--left", type=between(0, 15), default=0, metavar="N",
                            help="segments left")
        parser.add_argument("--end-sid", type=address(6), default=END_SID, metavar="ADDR",
                            help="the router's End, for the segments that are left")
        parser.add_argument("--size", type=between(0, FRAME_MAX), default=0, metavar="BYTES",
                            help="frames without FCS; 0: headers only")
        tunnel_tunables(parser)

    def streams(self, options):
        if options.left >= options.segments:
            raise TunableError(f"left {options.left}: a list of {options.segments} segments has at "
                               f"most {options.segments - 1} left")
        sids = options.sids or [sid for action, sid in SIDS.items()
                                if options.action in (action, "both")]
        headers = (ETHER + IP6 + SRH_FIXED + SEGMENT * options.segments + IP4 + UDP_HEADER)
        streams = []
        for number, sid in enumerate(sids):
            segments = segment_list(sid, options.segments, options.left, options.end_sid)
            packet, inner = tunnel(options, sid, options.size or headers, segments, options.left)
            streams.append(stream(f"sid{number}", packet, tunnel_engine(options, inner),
                                  cache=options.cache))
        return streams


def register():
    """Called by TRex."""
    return Srh()
