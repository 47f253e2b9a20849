# SPDX-License-Identifier: BSD-3-Clause
"""Tunnels in a mix of sizes, as on the Internet: 7 small, 4 middle, 1 large."""

import argparse

from noref_traffic import (FRAME_MAX, SIDS, Profile, address, between, segment_list, stream, tunnel,
                           tunnel_engine, tunnel_tunables)


def mix(text):
    """SIZExSHARE,...: a list of pairs."""
    pairs = []
    for word in text.split(","):
        size, cross, share = word.partition("x")
        if not (cross and size.isdigit() and share.isdigit() and int(share)):
            raise argparse.ArgumentTypeError(f"'{word}' is not SIZExSHARE, as 82x7")
        if int(size) > FRAME_MAX:
            raise argparse.ArgumentTypeError(f"{size} bytes are more than {FRAME_MAX}")
        pairs.append((int(size), int(share)))
    return pairs


class Imix(Profile):
    """IPv4 UDP in IPv6 in a mix of sizes, one stream for each size."""

    def tunables(self, parser):
        parser.add_argument("--action", choices=sorted(SIDS), default="dt4",
                            help="whose SID of router.conf is the destination")
        parser.add_argument("--sid", type=address(6), default=None, metavar="ADDR",
                            help="another destination")
        parser.add_argument("--mix", type=mix, default=[(82, 7), (590, 4), (1514, 1)],
                            metavar="SIZExSHARE,...",
                            help="frame sizes without FCS, and how often")
        parser.add_argument("--segments", type=between(0, 16), default=0, metavar="N",
                            help="entries of a segment routing header, all used up; 0: no header")
        tunnel_tunables(parser)

    def streams(self, options):
        sid = options.sid or SIDS[options.action]
        segments = segment_list(sid, options.segments, 0) if options.segments else ()
        streams = []
        for number, (size, share) in enumerate(options.mix):
            packet, inner = tunnel(options, sid, size, segments)
            streams.append(stream(f"size{number}", packet, tunnel_engine(options, inner), share,
                                  options.cache))
        return streams


def register():
    """Called by TRex."""
    return Imix()
