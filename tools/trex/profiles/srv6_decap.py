# SPDX-License-Identifier: BSD-3-Clause
"""The kernel patch's workload: IPv4 UDP in IPv6 to one SID, without SRH.

82 bytes are the four headers alone: Ethernet 14, IPv6 40, IPv4 20, UDP 8. On 10 Gbit/s that is
11.79 million packets a second.
"""

from noref_traffic import (FRAME_MAX, SIDS, Profile, address, between, stream, tunnel, tunnel_engine,
                           tunnel_tunables)
from trex.stl.api import STLFlowLatencyStats, STLPktBuilder, STLStream, STLTXCont

LATENCY_PAYLOAD = 16  # TRex writes its time stamp into the last bytes of the frame
LATENCY_GROUP = 7


class Decap(Profile):
    """IPv4 UDP in IPv6 to one SID, without SRH: what End.DX4 and End.DT4 are measured with."""

    def tunables(self, parser):
        parser.add_argument("--action", choices=sorted(SIDS), default="dx4",
                            help="whose SID of router.conf is the destination")
        parser.add_argument("--sid", type=address(6), default=None, metavar="ADDR",
                            help="another destination")
        parser.add_argument("--size", type=between(82, FRAME_MAX), default=82, metavar="BYTES",
                            help="frames without FCS")
        parser.add_argument("--latency", type=between(0, 100000), default=0, metavar="PPS",
                            help="beside them, packets with time stamps (stats -l)")
        tunnel_tunables(parser)

    def streams(self, options):
        sid = options.sid or SIDS[options.action]
        packet, inner = tunnel(options, sid, options.size)
        streams = [stream("decap", packet, tunnel_engine(options, inner), cache=options.cache)]
        if options.latency:
            streams.append(self.latency(options, sid))
        return streams

    def latency(self, options, sid):
        """One flow. TRex fills in the payload after the checksum is made, so there is none."""
        packet, _ = tunnel(options, sid, max(options.size, 82 + LATENCY_PAYLOAD))
        packet["UDP"].chksum = 0
        return STLStream(name="latency", packet=STLPktBuilder(pkt=packet),
                         mode=STLTXCont(pps=options.latency),
                         flow_stats=STLFlowLatencyStats(pg_id=LATENCY_GROUP))


def register():
    """Called by TRex."""
    return Decap()
