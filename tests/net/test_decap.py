# SPDX-License-Identifier: BSD-3-Clause
"""The kernel encapsulates, noref decapsulates, a host behind it answers.

    src (kernel) ──SRv6──▶ 0 noref 1 ──plain──▶ dst (kernel)
         ▲                 2 noref 1 ◀──plain───────┘
         └──────plain──────┘

The addresses 10.9.0.1 and 2001:db8:9::1 live on dst's loopback and noref has
no route to them in its main table where a cross-connect is tested: only the
tunnel leads there. In VRF tests ports 1 and 2 are in VRF red, port 0 is not.
"""

import hashlib
import os
import re
import socket
import threading

from harness import Skip, quick

ADDRESSES = """
    ip addr add fc00:0:0:1::1/64 dev 0
    ip addr add 10.0.2.1/24 dev 1
    ip addr add 2001:db8:2::1/64 dev 1
    ip addr add 10.0.3.1/24 dev 2
    ip addr add 2001:db8:3::1/64 dev 2
"""

VRF_RED = """
    ip link add red type vrf table 100
    ip link set dev 1 master red
    ip link set dev 2 master red
"""

VRF_ROUTES = """
    ip route add 10.9.0.0/24 via 10.0.2.2 vrf red
    ip route add 2001:db8:9::/64 via 2001:db8:2::2 vrf red
"""

SIDS = {
    "End": "fc00:0:1:e:: encap seg6local action End dev 0",
    "End.DX4": "fc00:0:1:d4:: encap seg6local action End.DX4 nh4 10.0.2.2 dev 0",
    "End.DX4 in VRF": "fc00:0:1:d4:: encap seg6local action End.DX4 nh4 10.0.2.2 oif 1 dev 0",
    "End.DX6": "fc00:0:1:d6:: encap seg6local action End.DX6 nh6 2001:db8:2::2 dev 0",
    "End.DT4": "fc00:0:1:104:: encap seg6local action End.DT4 vrftable 100 dev 0",
    "End.DT6": "fc00:0:1:106:: encap seg6local action End.DT6 vrftable 100 dev 0",
    "End.DT46": "fc00:0:1:146:: encap seg6local action End.DT46 vrftable 100 dev 0",
}


def devices(driver, *interfaces):
    if driver == "net_af_xdp" and not xdp_sockets():
        raise Skip("this kernel has no AF_XDP sockets")
    return [f"{driver}{number},iface={interface}" for number, interface in enumerate(interfaces)]


def xdp_sockets():
    try:
        socket.socket(44, socket.SOCK_RAW, 0).close()
        return True
    except OSError:
        return False


def topology(lab, driver, sids, vrf=False, options=""):
    src, router, dst = lab.namespaces("src", "router", "dst")
    lab.port(router, "n0", src, "s0")
    lab.port(router, "n1", dst, "d0")
    lab.port(router, "n2", src, "s1")

    src.ip("addr add fc00:0:0:1::2/64 dev s0")
    src.ip("addr add 10.0.3.2/24 dev s1")
    src.ip("addr add 2001:db8:3::2/64 dev s1")
    src.ip("route add fc00:0:1::/48 via fc00:0:0:1::1")
    src.ip("route add 10.0.2.0/24 via 10.0.3.1")
    src.ip("route add 2001:db8:2::/64 via 2001:db8:3::1")
    dst.ip("addr add 10.0.2.2/24 dev d0")
    dst.ip("addr add 2001:db8:2::2/64 dev d0")
    dst.ip("addr add 10.9.0.1/32 dev lo")
    dst.ip("addr add 2001:db8:9::1/128 dev lo")
    dst.ip("route add default via 10.0.2.1")
    dst.ip("route add default via 2001:db8:2::1")

    script = (VRF_RED if vrf else "") + ADDRESSES + (VRF_ROUTES if vrf else "")
    for sid in sids:
        script += f"ip -6 route add {SIDS[sid]}\n"
    noref = lab.noref(router, devices(driver, "n0", "n1", "n2"), script, options=options)
    return src, dst, noref


def tunnel(src, prefix, segments, source):
    """Route a prefix of src into a tunnel."""
    if segments.startswith("End"):
        segments = SIDS[segments].split()[0]
    src.ip(f"route add {prefix} encap seg6 mode encap segs {segments} dev s0 src {source}")


def tunnel4(src, segments):
    tunnel(src, "10.9.0.1/32", segments, "10.0.3.2")


def tunnel6(src, segments):
    tunnel(src, "2001:db8:9::1/128", segments, "2001:db8:3::2")


def counted(noref, sid, packets):
    entry = noref.sid(SIDS[sid].split()[0])
    assert entry["packets"] >= packets and entry["errors"] == 0, f"{entry}, expected {packets} packets"


# --- one behaviour each -------------------------------------------------------


def cross_connect(lab, driver):
    src, _, noref = topology(lab, driver, ["End.DX4", "End.DX6"])
    tunnel4(src, "End.DX4")
    tunnel6(src, "End.DX6")
    src.must_ping("10.9.0.1", 5)
    src.must_ping("10.9.0.1", 3, "-s 1200")
    src.must_ping("2001:db8:9::1", 5)
    counted(noref, "End.DX4", 8)
    counted(noref, "End.DX6", 5)


def table_lookup(lab, driver):
    src, _, noref = topology(lab, driver, ["End.DT4", "End.DT6"], vrf=True)
    tunnel4(src, "End.DT4")
    tunnel6(src, "End.DT6")
    src.must_ping("10.9.0.1", 5)
    src.must_ping("2001:db8:9::1", 5)
    counted(noref, "End.DT4", 5)
    counted(noref, "End.DT6", 5)


def table_lookup_both(lab, driver):
    src, _, noref = topology(lab, driver, ["End.DT46"], vrf=True)
    tunnel4(src, "End.DT46")
    tunnel6(src, "End.DT46")
    src.must_ping("10.9.0.1", 5)
    src.must_ping("2001:db8:9::1", 5)
    counted(noref, "End.DT46", 10)


@quick
def cross_connect_af_packet(lab):
    cross_connect(lab, "net_af_packet")


@quick
def table_lookup_af_packet(lab):
    table_lookup(lab, "net_af_packet")


def table_lookup_both_af_packet(lab):
    table_lookup_both(lab, "net_af_packet")


@quick
def cross_connect_af_xdp(lab):
    cross_connect(lab, "net_af_xdp")


def table_lookup_af_xdp(lab):
    table_lookup(lab, "net_af_xdp")


def table_lookup_both_af_xdp(lab):
    table_lookup_both(lab, "net_af_xdp")


def cross_connect_into_a_vrf(lab):
    """The neighbour is in a VRF: oif says where, as its address may exist in others, too."""
    src, _, noref = topology(lab, "net_af_packet", ["End.DX4 in VRF"], vrf=True)
    tunnel4(src, "End.DX4 in VRF")
    src.must_ping("10.9.0.1", 5)
    counted(noref, "End.DX4 in VRF", 5)


# --- streams and datagrams: every byte arrives, every checksum is right -------


def receive_all(connection, size):
    data = b""
    while len(data) < size:
        piece = connection.recv(65536)
        if not piece:
            break
        data += piece
    return data


def transfer(src, dst, family, address, size=1 << 20):
    """One MiB over TCP, there and back."""
    payload = os.urandom(size)
    with dst.entered():
        server = socket.create_server((address, 5001), family=family)
    with src.entered():
        client = socket.socket(family, socket.SOCK_STREAM)
    server.settimeout(30)
    client.settimeout(30)

    def echo():
        connection, _ = server.accept()
        with connection:
            connection.settimeout(30)
            connection.sendall(receive_all(connection, size))

    thread = threading.Thread(target=echo, daemon=True)
    thread.start()
    with server, client:
        client.connect((address, 5001))
        sender = threading.Thread(target=client.sendall, args=(payload,), daemon=True)
        sender.start()
        answer = receive_all(client, size)
        sender.join(30)
        thread.join(30)
    assert hashlib.sha256(answer).digest() == hashlib.sha256(payload).digest(), f"{len(answer)} of {size} bytes came back"


def datagrams(src, dst, family, address, count=200):
    """Datagrams of many sizes, each sent back; one at a time, so that none may be missing."""
    with dst.entered():
        server = socket.socket(family, socket.SOCK_DGRAM)
    with src.entered():
        client = socket.socket(family, socket.SOCK_DGRAM)
    with server, client:
        server.settimeout(5)
        client.settimeout(5)
        server.bind((address, 5002))
        client.connect((address, 5002))
        for number in range(count):
            data = os.urandom(1 + number * 6)
            client.send(data)
            there, peer = server.recvfrom(2048)
            server.sendto(there, peer)
            assert client.recv(2048) == data, f"datagram {number} was changed on its way"


def streams(lab, driver):
    src, dst, noref = topology(lab, driver, ["End.DT46"], vrf=True)
    tunnel4(src, "End.DT46")
    tunnel6(src, "End.DT46")
    for family, address in ((socket.AF_INET, "10.9.0.1"), (socket.AF_INET6, "2001:db8:9::1")):
        datagrams(src, dst, family, address)
        transfer(src, dst, family, address)
    for namespace in (src, dst):
        for group in ("Udp", "Tcp"):
            assert namespace.counter(group, "InCsumErrors") == 0, f"wrong {group} checksums"
    damaged = [reason for reason in noref.drops() if re.search("checksum|truncated|header|malformed|mtu", reason)]
    assert not damaged, noref.drops()


@quick
def streams_af_packet(lab):
    streams(lab, "net_af_packet")


def streams_af_xdp(lab):
    streams(lab, "net_af_xdp")


# --- shapes of the encapsulation ----------------------------------------------


def several_segments(lab):
    """Both segments are ours: a waypoint, then the end of the tunnel."""
    src, _, noref = topology(lab, "net_af_packet", ["End", "End.DX4"])
    tunnel4(src, "fc00:0:1:e::,fc00:0:1:d4::")
    src.must_ping("10.9.0.1", 5)
    counted(noref, "End", 5)
    counted(noref, "End.DX4", 5)


def reduced_encapsulation(lab):
    """One segment and encap.red: no segment routing header at all."""
    src, _, noref = topology(lab, "net_af_packet", ["End.DX4", "End.DX6"])
    try:
        src.ip("route add 10.9.0.1/32 encap seg6 mode encap.red segs fc00:0:1:d4:: dev s0 src 10.0.3.2")
        src.ip("route add 2001:db8:9::1/128 encap seg6 mode encap.red segs fc00:0:1:d6:: dev s0 src 2001:db8:3::2")
    except AssertionError as error:
        raise Skip("this iproute2 or kernel knows no encap.red") from error
    src.must_ping("10.9.0.1", 5)
    src.must_ping("2001:db8:9::1", 5)
    counted(noref, "End.DX4", 5)
    counted(noref, "End.DX6", 5)


def table_without_route(lab):
    """A destination its VRF does not know: the kernel at the tunnel's start is told."""
    src, _, noref = topology(lab, "net_af_packet", ["End.DT4"], vrf=True)
    tunnel(src, "10.77.0.1/32", "End.DT4", "10.0.3.2")
    answers, text = src.ping("10.77.0.1", 1)
    assert answers == 0 and "Unreachable" in text, text
    assert noref.drops().get("ip4_no_route", 0) >= 1, noref.drops()


def sid_added_and_removed_under_traffic(lab):
    src, _, noref = topology(lab, "net_af_packet", ["End.DX4"])
    tunnel4(src, "End.DX4")
    src.must_ping("10.9.0.1", 2)
    sid = SIDS["End.DX4"].split()[0]
    noref.ctl(f"ip -6 route del {sid}")
    answers, _ = src.ping("10.9.0.1", 2, timeout=1)
    assert answers == 0, "decapsulated by a SID that was deleted"
    noref.ctl(f"ip -6 route add {SIDS['End.DX4']}")
    src.must_ping("10.9.0.1", 2)


TESTS = [
    cross_connect_af_packet, table_lookup_af_packet, table_lookup_both_af_packet,
    cross_connect_af_xdp, table_lookup_af_xdp, table_lookup_both_af_xdp,
    cross_connect_into_a_vrf, streams_af_packet, streams_af_xdp,
    several_segments, reduced_encapsulation, table_without_route, sid_added_and_removed_under_traffic,
]
