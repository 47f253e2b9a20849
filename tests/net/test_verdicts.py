# SPDX-License-Identifier: BSD-3-Clause
"""Packet verdicts between kernels, over veth."""

import socket
import struct
import subprocess

from harness import quick, wait_until

SIZES = (64, 1000, 1514)


def checksum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    total = (total & 0xFFFF) + (total >> 16)
    return 0xFFFF - ((total & 0xFFFF) + (total >> 16))


def datagram(dst, src, number, size):
    """A frame of UDP from 192.0.2.9 to 192.0.2.2 port 5000, its UDP checksum left out."""
    payload = struct.pack(">I", number).ljust(size - 42, b".")
    header = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 28 + len(payload), number, 0, 64, 17, 0,
                         socket.inet_aton("192.0.2.9"), socket.inet_aton("192.0.2.2"))
    header = header[:10] + struct.pack(">H", checksum(header)) + header[12:]
    return (dst + src + b"\x08\x00" + header
            + struct.pack(">HHHH", 4000, 5000, 8 + len(payload), 0) + payload)


@quick
def hairpin(lab):
    """What the kernel sends to somebody else's MAC comes back, addressed to itself."""
    src, router = lab.namespaces("src", "router")
    lab.port(router, "n0", src, "s0")
    src.ip("addr add 192.0.2.2/24 dev s0")
    noref = lab.noref(router, ["net_af_packet0,iface=n0"], "xdp set dev 0 tx")
    mac = bytes.fromhex(src.mac("s0").replace(":", ""))
    with src.entered():
        raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        raw.bind(("s0", 0))
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.bind(("192.0.2.2", 5000))
    with raw, udp:
        udp.settimeout(10)
        frames = [datagram(b"\x02\x00\x00\x00\x09\x09", mac, n, SIZES[n % 3]) for n in range(60)]
        for frame in frames:
            raw.send(frame)
            assert udp.recv(2000) == frame[42:], "another datagram, or none"
        before = noref.json("xdp show")[0]["tx"]
        assert before >= len(frames), f"counted {before}"
        # Now nobody answers; and the verdict is gone as soon as its command has been answered.
        noref.ctl("xdp set dev 0 drop")
        for frame in frames:
            raw.send(frame)
        wait_until(lambda: noref.drops().get("xdp_drop", 0) >= len(frames), 10, "drops")
        udp.settimeout(0.2)
        try:
            udp.recv(2000)
            raise AssertionError("a datagram came back in spite of the drop")
        except TimeoutError:
            pass


def wire(lab):
    """Two kernels on one network, noref is the cable between them: ARP, neighbour discovery and all."""
    src, router, dst = lab.namespaces("src", "router", "dst")
    lab.port(router, "n0", src, "s0")
    lab.port(router, "n1", dst, "d0")
    src.ip("addr add 192.0.2.1/24 dev s0")
    src.ip("addr add fc00:0:0:1::1/64 dev s0")
    dst.ip("addr add 192.0.2.2/24 dev d0")
    dst.ip("addr add fc00:0:0:1::2/64 dev d0")
    noref = lab.noref(router, ["net_af_packet0,iface=n0", "net_af_packet1,iface=n1"],
                      "xdp set dev 0 redirect dev 1\nxdp set dev 1 redirect dev 0")
    src.must_ping("192.0.2.2", 20)
    dst.must_ping("fc00:0:0:1::1", 20)
    src.must_ping("192.0.2.2", 5, "-s 1472 -M do")
    noref.ctl("port stop 1")
    assert src.ping("192.0.2.2", 3, timeout=1)[0] == 0
    assert noref.drops().get("port_down", 0) > 0
    noref.ctl("port start 1")
    src.must_ping("192.0.2.2", 20)
    noref.ctl("xdp off dev 0")
    assert src.ping("192.0.2.2", 3, timeout=1)[0] == 0


def other_workers(lab):
    """The kernel's pings are forwarded by workers that did not receive them, while the verdict changes."""
    src, router, dst = lab.namespaces("src", "router", "dst")
    lab.port(router, "n0", src, "s0")
    lab.port(router, "n1", dst, "d0")
    src.ip("addr add 192.0.2.2/24 dev s0")
    src.ip("addr add fc00:0:0:1::2/64 dev s0")
    src.ip("route add default via 192.0.2.1")
    src.ip("route add default via fc00:0:0:1::1")
    dst.ip("addr add 10.0.2.2/24 dev d0")
    dst.ip("addr add 2001:db8:2::2/64 dev d0")
    dst.ip("route add default via 10.0.2.1")
    dst.ip("route add default via 2001:db8:2::1")
    noref = lab.noref(router, ["net_af_packet0,iface=n0", "net_af_packet1,iface=n1"], """
        ip addr add 192.0.2.1/24 dev 0
        ip addr add fc00:0:0:1::1/64 dev 0
        ip addr add 10.0.2.1/24 dev 1
        ip addr add 2001:db8:2::1/64 dev 1
        xdp set dev 0 redirect cpu 1,2 hash inner
        xdp set dev 1 redirect cpu 2,1
    """, lcores=lab.lcores(2))
    src.must_ping("10.0.2.2", 20)
    src.must_ping("2001:db8:2::2", 20)
    src.must_ping("192.0.2.1", 5)
    ping = lab.popen(src, "ping -n -q -c 300 -i 0.01 10.0.2.2", stdout=subprocess.PIPE, text=True)
    for turn in range(20):
        for line in ("redirect cpu 2", "redirect cpu 1,2 hash rr", "pass", "redirect cpu 1"):
            noref.ctl(f"xdp set dev {turn % 2} {line}")
    text = ping.communicate(timeout=30)[0]
    assert " 300 received" in text, text
    assert not set(noref.drops()) & {"redirect_full", "xdp_drop"}, noref.drops()


TESTS = [hairpin, wire, other_workers]
