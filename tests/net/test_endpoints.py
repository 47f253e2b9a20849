# SPDX-License-Identifier: BSD-3-Clause
"""End, End.X and PSP, with the kernel as the next segment.

    src ──▶ 0 noref 1 ──▶ next (kernel, SIDs of its own) ──▶ host

src encapsulates towards a SID of noref and then one of next, which
decapsulates and delivers to host. Answers come back as plain packets.
"""

import socket
import struct
import threading
import time

from harness import quick

SCRIPT = """
    ip link add blue type vrf table 100
    ip addr add fc00:0:0:1::1/64 dev 0
    ip addr add 10.0.3.1/24 dev 0
    ip addr add 10.0.2.1/24 dev 1
    ip addr add 2001:db8:2::1/64 dev 1
    ip route add 10.0.5.0/24 via 10.0.2.2
    ip route add 2001:db8:5::/64 via 2001:db8:2::2
"""
TO_NEXT = "ip route add fc00:b::/32 via 2001:db8:2::2\n"


def topology(lab, *sids, to_next=True):
    src, router, following, host = lab.namespaces("src", "router", "next", "host")
    lab.port(router, "n0", src, "s0")
    lab.port(router, "n1", following, "d0")
    lab.wire(following, "h0", host, "e0")
    following.forwarding()

    src.ip("addr add fc00:0:0:1::2/64 dev s0")
    src.ip("addr add 10.0.3.2/24 dev s0")
    src.ip("route add default via fc00:0:0:1::1")
    src.ip("route add 10.0.0.0/8 via 10.0.3.1")
    following.ip("addr add 10.0.2.2/24 dev d0")
    following.ip("addr add 2001:db8:2::2/64 dev d0")
    following.ip("addr add 10.0.5.1/24 dev h0")
    following.ip("addr add 2001:db8:5::1/64 dev h0")
    following.ip("route add default via 10.0.2.1")
    following.ip("route add default via 2001:db8:2::1")
    following.ip("-6 route add fc00:b::d4/128 encap seg6local action End.DX4 nh4 10.0.5.2 dev d0")
    following.ip("-6 route add fc00:b::d6/128 encap seg6local action End.DX6 nh6 2001:db8:5::2 dev d0")
    following.ip("-6 route add fc00:b::e/128 encap seg6local action End dev d0")
    host.ip("addr add 10.0.5.2/24 dev e0")
    host.ip("addr add 2001:db8:5::2/64 dev e0")
    host.ip("addr add 10.9.0.1/32 dev lo")
    host.ip("addr add 2001:db8:9::1/128 dev lo")
    host.ip("route add default via 10.0.5.1")
    host.ip("route add default via 2001:db8:5::1")

    script = SCRIPT + (TO_NEXT if to_next else "") + "".join(f"ip -6 route add {sid}\n" for sid in sids)
    noref = lab.noref(router, ["net_af_packet0,iface=n0", "net_af_packet1,iface=n1"], script)
    return src, following, host, noref


def tunnel(src, sid):
    src.ip(f"route add 10.9.0.1/32 encap seg6 mode encap segs {sid},fc00:b::d4 dev s0 src 10.0.3.2")
    src.ip(f"route add 2001:db8:9::1/128 encap seg6 mode encap segs {sid},fc00:b::d6 dev s0 src fc00:0:0:1::2")


class Watch:
    """IPv6 packets that arrive at a device, while inside `with`: (next header, payload length, hop limit)."""

    def __init__(self, namespace, device):
        with namespace.entered():
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x86DD))
            self.socket.bind((device, 0x86DD))
        self.socket.settimeout(0.1)
        self.frames = []
        self.going = True
        self.thread = threading.Thread(target=self.read, daemon=True)

    def read(self):
        while self.going:
            try:
                frame, address = self.socket.recvfrom(4096)
            except socket.timeout:
                continue
            if address[2] != socket.PACKET_OUTGOING:
                self.frames.append(frame)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        time.sleep(0.2)
        self.going = False
        self.thread.join()
        self.socket.close()

    def towards(self, address):
        """Their IPv6 headers and what follows."""
        wanted = socket.inet_pton(socket.AF_INET6, address)
        return [frame[14:] for frame in self.frames if frame[38:54] == wanted]


def payload_length(packet):
    return struct.unpack_from("!H", packet, 4)[0]


@quick
def end(lab):
    src, following, _, noref = topology(lab, "fc00:0:1:e:: encap seg6local action End dev 0")
    tunnel(src, "fc00:0:1:e::")
    with Watch(following, "d0") as watch:
        src.must_ping("10.9.0.1", 5)
        src.must_ping("2001:db8:9::1", 5)
    packets = watch.towards("fc00:b::d4")
    assert len(packets) == 5, f"{len(packets)} packets towards the next segment"
    for packet in packets:
        assert packet[6] == 43 and packet[43] == 0, "no routing header with segments left 0"
        assert payload_length(packet) == len(packet) - 40
    assert noref.sid("fc00:0:1:e::")["packets"] == 10


@quick
def end_with_psp(lab):
    """The segment routing header is gone when the last segment is reached."""
    src, following, _, noref = topology(lab, "fc00:0:1:e:: encap seg6local action End flavors psp dev 0")
    tunnel(src, "fc00:0:1:e::")
    with Watch(following, "d0") as watch:
        src.must_ping("10.9.0.1", 5)
        src.must_ping("2001:db8:9::1", 5)
    for sid, inner in (("fc00:b::d4", 4), ("fc00:b::d6", 41)):
        packets = watch.towards(sid)
        assert len(packets) == 5, f"{len(packets)} packets towards {sid}"
        for packet in packets:
            assert packet[6] == inner, f"next header {packet[6]}"
            assert payload_length(packet) == len(packet) - 40


@quick
def end_x(lab):
    """The adjacency is taken although no route leads to the next segment."""
    src, _, _, noref = topology(lab, "fc00:0:1:ea:: encap seg6local action End.X nh6 2001:db8:2::2 dev 0",
                                to_next=False)
    tunnel(src, "fc00:0:1:ea::")
    src.must_ping("10.9.0.1", 5)
    src.must_ping("2001:db8:9::1", 5)
    assert noref.sid("fc00:0:1:ea::")["packets"] == 10


def end_x_with_psp(lab):
    src, following, _, _ = topology(
        lab, "fc00:0:1:ea:: encap seg6local action End.X nh6 2001:db8:2::2 flavors psp dev 0", to_next=False)
    tunnel(src, "fc00:0:1:ea::")
    with Watch(following, "d0") as watch:
        src.must_ping("10.9.0.1", 5)
    assert all(packet[6] == 4 for packet in watch.towards("fc00:b::d4"))


def end_t(lab):
    """The next segment is looked up in another table."""
    src, _, _, noref = topology(lab, "fc00:0:1:e7:: encap seg6local action End.T table 100 dev 0", to_next=False)
    tunnel(src, "fc00:0:1:e7::")
    answers, _ = src.ping("10.9.0.1", 1, timeout=1)
    assert answers == 0
    noref.ctl("ip -6 route add fc00:b::/32 via 2001:db8:2::2 dev 1 onlink table 100")
    src.must_ping("10.9.0.1", 5)


def kernel_is_the_waypoint(lab):
    """The other way round: the kernel's End first, then End.DX4 here, twice over the same wire."""
    src, following, _, noref = topology(lab, "fc00:0:1:d4:: encap seg6local action End.DX4 nh4 10.0.2.2 dev 0")
    following.ip("route add 10.9.0.1/32 via 10.0.5.2")
    src.ip("route add 10.9.0.1/32 encap seg6 mode encap segs fc00:b::e,fc00:0:1:d4:: dev s0 src 10.0.3.2")
    src.must_ping("10.9.0.1", 5)
    assert noref.sid("fc00:0:1:d4::")["packets"] == 5


def inserted_header(lab):
    """A segment routing header in the packet itself, without a tunnel; the host gets it with PSP applied."""
    src, following, _, _ = topology(lab, "fc00:0:1:e:: encap seg6local action End flavors psp dev 0")
    src.ip("route add 2001:db8:5::2/128 encap seg6 mode inline segs fc00:0:1:e:: dev s0 src fc00:0:0:1::2")
    with Watch(following, "d0") as watch:
        src.must_ping("2001:db8:5::2", 5)
    packets = watch.towards("2001:db8:5::2")
    assert len(packets) == 5 and all(packet[6] == socket.IPPROTO_ICMPV6 for packet in packets)


def several_segments_here(lab):
    """Three SIDs of this router in a row, then the kernel's."""
    src, _, _, noref = topology(lab, "fc00:0:1:e1:: encap seg6local action End dev 0",
                                "fc00:0:1:e2:: encap seg6local action End dev 0",
                                "fc00:0:1:e3:: encap seg6local action End flavors psp dev 0")
    src.ip("route add 10.9.0.1/32 encap seg6 mode encap segs fc00:0:1:e1::,fc00:0:1:e2::,fc00:0:1:e3::,fc00:b::d4 "
           "dev s0 src 10.0.3.2")
    src.must_ping("10.9.0.1", 5)
    for sid in ("fc00:0:1:e1::", "fc00:0:1:e2::", "fc00:0:1:e3::"):
        assert noref.sid(sid)["packets"] == 5, noref.json("show sid")


TESTS = [end, end_with_psp, end_x, end_x_with_psp, end_t, kernel_is_the_waypoint, inserted_header,
         several_segments_here]
