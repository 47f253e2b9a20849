# SPDX-License-Identifier: BSD-3-Clause
"""What noref says for itself: echo, errors, path MTU; and VLANs, asked by the kernel."""

import re
import socket
import struct
import time

from harness import Skip, quick
from test_decap import topology as tunnels, transfer, tunnel4, tunnel6, xdp_sockets
from test_neighbours import topology


def link_local(mac):
    """fe80:: with the modified EUI-64 of a MAC, as text."""
    octets = bytes(int(octet, 16) for octet in mac.split(":"))
    identifier = bytes([octets[0] ^ 2]) + octets[1:3] + b"\xff\xfe" + octets[3:]
    return socket.inet_ntop(socket.AF_INET6, b"\xfe\x80" + bytes(6) + identifier)


@quick
def echo_to_own_addresses(lab):
    """Near and far side, IPv4 and IPv6, link-local, all sizes a frame has room for."""
    src, _, _ = topology(lab)
    router = lab.all_namespaces[1]
    for address in ("192.0.2.1", "fc00:0:0:1::1", "10.0.2.1", "2001:db8:2::1"):
        src.must_ping(address, 3)
        src.must_ping(address, 2, "-s 0")
        src.must_ping(address, 2, "-s 1452")
    src.must_ping(link_local(router.mac("n0")) + "%s0", 3)


@quick
def echo_to_a_sid(lab):
    src, _, noref = tunnels(lab, "net_af_packet", ["End.DX4 in VRF", "End.DT46"], vrf=True)
    src.must_ping("fc00:0:1:d4::", 3)
    src.must_ping("fc00:0:1:146::", 3)
    assert "sid_upper_layer" not in noref.drops(), noref.drops()


@quick
def ping_from_the_console(lab):
    _, _, noref = topology(lab)
    for address in ("192.0.2.2", "fc00:0:0:1::2"):
        text = noref.ctl(f"ping {address} count 3")
        assert re.search(r"\b3 (answered|received)", text), text
    status, text, error = noref.ctl_status("ping 192.0.2.77 count 1")
    assert status == 1 or re.search(r"\b0 (answered|received)", text), (status, text, error)


def ping_from_a_vrf(lab):
    _, _, noref = tunnels(lab, "net_af_packet", ["End.DT4"], vrf=True)
    text = noref.ctl("ping 10.0.2.2 vrf red count 2")
    assert re.search(r"\b2 (answered|received)", text), text
    assert noref.refused("ping 10.0.2.2 count 1")


@quick
def time_exceeded(lab):
    """What traceroute sees."""
    src, _, noref = topology(lab)
    src.must_ping("10.0.2.2", 1)
    src.must_ping("2001:db8:2::2", 1)
    answers, text = src.ping("10.0.2.2", 1, "-t 1")
    assert answers == 0 and re.search(r"From 192\.0\.2\.1 .*Time to live exceeded", text), text
    answers, text = src.ping("2001:db8:2::2", 1, "-t 1")
    assert answers == 0 and re.search(r"From fc00:0:0:1::1 .*Time exceeded: Hop limit", text), text
    src.must_ping("10.0.2.2", 1, "-t 2")
    src.must_ping("2001:db8:2::2", 1, "-t 2")
    drops = noref.drops()
    assert drops.get("ip4_ttl") == 1 and drops.get("ip6_hop_limit") == 1, drops


def time_exceeded_in_a_tunnel(lab):
    """An inner TTL of 1: the error comes out of the VRF, from an address of it."""
    src, _, _ = tunnels(lab, "net_af_packet", ["End.DT46"], vrf=True)
    tunnel4(src, "End.DT46")
    tunnel6(src, "End.DT46")
    answers, text = src.ping("10.9.0.1", 1, "-t 1")
    assert answers == 0 and re.search(r"From 10\.0\.3\.1 .*Time to live exceeded", text), text
    answers, text = src.ping("2001:db8:9::1", 1, "-t 1")
    assert answers == 0 and re.search(r"From 2001:db8:3::1 .*Time exceeded: Hop limit", text), text


def no_route(lab):
    src, _, _ = topology(lab)
    answers, text = src.ping("203.0.113.1", 1)
    assert answers == 0 and re.search(r"From 192\.0\.2\.1 .*Net Unreachable", text), text
    answers, text = src.ping("2001:db8:ffff::1", 1)
    assert answers == 0 and re.search(r"From fc00:0:0:1::1 .*unreachable: No route", text), text


def refused_by_a_route(lab):
    """unreachable and prohibit say so, blackhole is silent."""
    src, _, noref = topology(lab)
    noref.ctl("ip route add unreachable 203.0.113.0/25")
    noref.ctl("ip route add prohibit 203.0.113.128/25")
    noref.ctl("ip route add blackhole 198.51.100.0/24")
    noref.ctl("ip route add prohibit 2001:db8:ffff::/48")
    text = src.ping("203.0.113.1", 1)[1]
    assert "Destination Host Unreachable" in text, text
    text = src.ping("203.0.113.129", 1)[1]
    assert "Packet filtered" in text or "rohibited" in text, text
    text = src.ping("2001:db8:ffff::1", 1)[1]
    assert "Administratively prohibited" in text, text
    text = src.ping("198.51.100.1", 1, timeout=1)[1]
    assert "From" not in text, text
    drops = noref.drops()
    assert (drops.get("unreachable"), drops.get("prohibit"), drops.get("blackhole")) == (1, 2, 1), drops


def narrow(noref, dst, mtu=1400):
    """Port 1 and the host behind it take no more than mtu bytes."""
    dst.ip(f"link set d0 mtu {mtu}")
    noref.ctl(f"ip link set dev 1 mtu {mtu}")


@quick
def path_mtu(lab):
    """Too big for the port out: the kernel is told and learns the path MTU."""
    src, dst, noref = topology(lab)
    narrow(noref, dst)
    src.must_ping("10.0.2.2", 1)
    src.must_ping("2001:db8:2::2", 1)
    answers, text = src.ping("10.0.2.2", 1, "-M do -s 1472")
    assert answers == 0 and re.search(r"mtu ?= ?1400", text), text
    assert "mtu 1400" in src.ip("route get 10.0.2.2"), src.ip("route get 10.0.2.2")
    answers, text = src.ping("2001:db8:2::2", 1, "-M do -s 1452")
    assert answers == 0 and re.search(r"too big: mtu ?= ?1400", text), text
    assert "mtu 1400" in src.ip("route get 2001:db8:2::2"), src.ip("route get 2001:db8:2::2")
    src.must_ping("10.0.2.2", 2, "-M do -s 1372")
    src.must_ping("2001:db8:2::2", 2, "-M do -s 1352")
    assert noref.drops().get("mtu_exceeded") == 2, noref.drops()


def path_mtu_in_a_tunnel(lab):
    """The inner packet is too big for the port out: its sender is told, out of the VRF."""
    src, dst, noref = tunnels(lab, "net_af_packet", ["End.DT46"], vrf=True)
    narrow(noref, dst, 1300)
    tunnel4(src, "End.DT46")
    tunnel6(src, "End.DT46")
    answers, text = src.ping("10.9.0.1", 1, "-M do -s 1350")
    assert answers == 0 and re.search(r"From 10\.0\.3\.1 .*mtu ?= ?1300", text), text
    answers, text = src.ping("2001:db8:9::1", 1, "-M do -s 1350")
    assert answers == 0 and re.search(r"From 2001:db8:3::1 .*mtu ?= ?1300", text), text


@quick
def fragmentation(lab):
    """DF is clear: IPv4 is cut in pieces that the host puts together; each size, also tiny last pieces."""
    src, dst, noref = topology(lab)
    narrow(noref, dst)
    for size in (1373, 1374, 1400, 1472):
        src.must_ping("10.0.2.2", 2, f"-M dont -s {size}")
    balance = noref.balance()
    assert balance["held"] == 0, balance


def fragments_pass(lab):
    """Fragments made by the kernel go through like any packet. Not over net_af_packet: it has the kernel put
    IPv4 fragments together (PACKET_FANOUT_FLAG_DEFRAG) and then cuts the result to its frame size."""
    if not xdp_sockets():
        raise Skip("this kernel has no AF_XDP sockets")
    src, _, _ = topology(lab, "net_af_xdp")
    src.must_ping("10.0.2.2", 2, "-M dont -s 4000")
    src.must_ping("2001:db8:2::2", 2, "-s 4000")


def tcp_over_a_narrow_path(lab):
    """Path MTU discovery in earnest: a stream through the narrow port, IPv4 and IPv6."""
    src, dst, noref = topology(lab)
    narrow(noref, dst)
    # The host still offers to take segments of full size: only our errors make them smaller.
    dst.ip("route replace default via 10.0.2.1 advmss 1460")
    dst.ip("route replace default via 2001:db8:2::1 advmss 1440")
    transfer(src, dst, socket.AF_INET, "10.0.2.2", 200_000)
    transfer(src, dst, socket.AF_INET6, "2001:db8:2::2", 200_000)


def unknown_protocol(lab):
    """UDP to the router itself: port unreachable."""
    src, _, _ = topology(lab)
    for family, address in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "fc00:0:0:1::1")):
        with src.entered():
            client = socket.socket(family, socket.SOCK_DGRAM)
        with client:
            client.settimeout(2)
            client.connect((address, 9))
            client.send(b"anybody?")
            try:
                client.recv(100)
                raise AssertionError("an answer")
            except ConnectionRefusedError:
                pass
            except socket.timeout:
                raise AssertionError(f"no port unreachable from {address}") from None


def error_rate_is_limited(lab):
    """A burst of packets that each deserve an error gets some errors, not thousands."""
    src, _, noref = topology(lab)
    src.must_ping("10.0.2.2", 1)
    before = noref.port(0)["tx_packets"]
    with src.entered():
        client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with client:
        client.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, 1)
        for number in range(5000):
            try:
                client.sendto(b"too far", ("10.0.2.2", 40000 + number))
            except OSError:
                pass  # an error for an earlier one
    time.sleep(0.5)
    drops, errors = noref.drops()["ip4_ttl"], noref.port(0)["tx_packets"] - before
    assert drops >= 2000, drops
    assert 1 <= errors <= drops / 2, f"{errors} errors for {drops} packets"


# --- VLANs ----------------------------------------------------------------------

VLANS = """
    ip link add link 0 name 0.100 type vlan id 100
    ip link add link 0 name 0.200 type vlan id 200
    ip addr add 10.100.0.1/24 dev 0.100
    ip addr add 2001:db8:100::1/64 dev 0.100
    ip addr add 10.200.0.1/24 dev 0.200
"""


def vlan_with_the_kernel(lab):
    """Sub-interfaces of noref and VLAN devices of the kernel."""
    src, router = lab.namespaces("src", "router")
    lab.port(router, "n0", src, "s0")
    for vlan, address in ((100, "10.100.0.2/24"), (200, "10.200.0.2/24")):
        try:
            src.ip(f"link add link s0 name s0v{vlan} type vlan id {vlan}")
        except AssertionError as error:
            raise Skip("this kernel has no VLAN devices (8021q); a test of its own covers tags without them") \
                from error
        src.ip(f"addr add {address} dev s0v{vlan}")
        src.ip(f"link set s0v{vlan} up")
    src.ip("addr add 2001:db8:100::2/64 dev s0v100")
    lab.noref(router, ["net_af_packet0,iface=n0"], VLANS)
    for address in ("10.100.0.1", "10.200.0.1", "2001:db8:100::1"):
        src.must_ping(address, 3)


class TaggedHost:
    """A host that speaks through VLAN tags, made of a packet socket: enough ARP and echo for a test."""

    SOL_PACKET, PACKET_AUXDATA = 263, 8

    def __init__(self, namespace, device):
        self.mac = bytes.fromhex(namespace.mac(device).replace(":", ""))
        with namespace.entered():
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003))
            self.socket.setsockopt(self.SOL_PACKET, self.PACKET_AUXDATA, 1)
            self.socket.bind((device, 0x0003))
        self.socket.settimeout(0.2)

    def receive(self):
        """(VLAN id or None, frame without the tag) of the next frame that came in, or None."""
        frame, ancillary, _, address = self.socket.recvmsg(2048, 256)
        if address[2] == socket.PACKET_OUTGOING:
            return None
        for level, kind, data in ancillary:
            if (level, kind) == (self.SOL_PACKET, self.PACKET_AUXDATA):
                status, _, _, _, _, tci, _ = struct.unpack("IIIHHHH", data[:20])
                if status & 0x10:
                    return tci & 0xFFF, frame
        if frame[12:14] == b"\x81\x00":
            return struct.unpack_from("!H", frame, 14)[0] & 0xFFF, frame[:12] + frame[16:]
        return None, frame

    def send(self, vlan, destination, ethertype, payload):
        self.socket.send(destination + self.mac + struct.pack("!HHH", 0x8100, vlan, ethertype) + payload)

    def await_frame(self, wanted, timeout=3):
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            try:
                received = self.receive()
            except socket.timeout:
                continue
            if received and wanted(*received):
                return received
        return None

    def resolve(self, vlan, ours, theirs):
        """ARP: theirs' MAC."""
        request = struct.pack("!HHBBH6s4s6s4s", 1, 0x0800, 6, 4, 1, self.mac, socket.inet_aton(ours),
                              bytes(6), socket.inet_aton(theirs))
        self.send(vlan, b"\xff" * 6, 0x0806, request + bytes(18))
        answer = self.await_frame(lambda tag, frame: frame[12:14] == b"\x08\x06" and frame[20:22] == b"\x00\x02")
        assert answer, f"no ARP answer for {theirs} in VLAN {vlan}"
        assert answer[0] == vlan, f"the answer came in VLAN {answer[0]}"
        return answer[1][22:28]

    def echo(self, vlan, mac, ours, theirs):
        """An echo request; its answer's VLAN and source."""
        payload = struct.pack("!BBHHH", 8, 0, 0, 7, 1) + b"tagged"
        payload = payload[:2] + struct.pack("!H", checksum(payload)) + payload[4:]
        header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), 1, 0, 64, 1, 0, socket.inet_aton(ours),
                             socket.inet_aton(theirs))
        header = header[:10] + struct.pack("!H", checksum(header)) + header[12:]
        self.send(vlan, mac, 0x0800, header + payload)

        def wanted(tag, frame):
            return frame[12:14] == b"\x08\x00" and frame[23] == 1 and frame[34] == 0
        answer = self.await_frame(wanted)
        return answer and (answer[0], socket.inet_ntoa(answer[1][26:30]))


def checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def vlan_tags(lab):
    """Tagged ARP and echo, each VLAN by itself; an unknown VLAN is dropped."""
    src, router = lab.namespaces("src", "router")
    lab.port(router, "n0", src, "s0")
    noref = lab.noref(router, ["net_af_packet0,iface=n0"], VLANS)
    host = TaggedHost(src, "s0")
    for vlan in (100, 200):
        ours, theirs = f"10.{vlan}.0.2", f"10.{vlan}.0.1"
        mac = host.resolve(vlan, ours, theirs)
        assert host.echo(vlan, mac, ours, theirs) == (vlan, theirs)
    host.send(300, mac, 0x0800, bytes(46))
    time.sleep(0.2)
    assert noref.drops().get("vlan") == 1, noref.drops()
    host.socket.close()


TESTS = [echo_to_own_addresses, echo_to_a_sid, ping_from_the_console, ping_from_a_vrf, time_exceeded,
         time_exceeded_in_a_tunnel, no_route, refused_by_a_route, path_mtu, path_mtu_in_a_tunnel, fragmentation,
         fragments_pass, tcp_over_a_narrow_path, unknown_protocol, error_rate_is_limited, vlan_with_the_kernel,
         vlan_tags]
