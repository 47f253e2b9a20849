# SPDX-License-Identifier: BSD-3-Clause
"""UDP services of noref, used by a kernel host with the programs people use."""

import errno
import os
import re
import shutil
import socket
import threading
import time

from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

from harness import Skip, quick, run, wait_until
from test_neighbours import topology

SERVER4, SERVER6 = "192.0.2.1", "fc00:0:0:1::1"


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            raise Skip(f"{program} is not installed")


def by_local(noref):
    return {entry["local"]: entry for entry in noref.json("udp show")}


def handler(lab, noref, name="dns"):
    """The example, where only root can write."""
    built = os.path.join(os.path.dirname(lab.settings.noref), "..", "examples", "udp_dns.so")
    path = os.path.join(lab.folder, "udp_dns.so")
    shutil.copy(built, path)
    os.chmod(path, 0o644)
    os.chmod(lab.folder, 0o755)
    noref.ctl(f"udp handler load {path} name {name}")
    return path


@quick
def socat_is_echoed(lab):
    """IPv4 and IPv6, near and far address, what was sent comes back."""
    need("socat")
    src, _, noref = topology(lab)
    noref.ctl("udp bind [::]:7 app echo")
    for text in (f"UDP4:{SERVER4}:7", f"UDP6:[{SERVER6}]:7", "UDP4:10.0.2.1:7"):
        answer = src.run(["sh", "-c", f"echo hello | socat -t 1 - {text}"])
        assert answer == "hello\n", f"{text}: {answer!r}"
    assert noref.json("udp show")[0]["packets"] == 3


@quick
def nobody_listens(lab):
    """The kernel hears port unreachable and says connection refused."""
    src, _, noref = topology(lab)
    with src.entered():
        for family, address in ((socket.AF_INET, SERVER4), (socket.AF_INET6, SERVER6)):
            s = socket.socket(family, socket.SOCK_DGRAM)
            s.settimeout(3)
            s.connect((address, 99))
            s.send(b"anybody?")
            try:
                s.recv(100)
                raise AssertionError(f"{address}: an answer from nobody")
            except ConnectionRefusedError:
                pass
    assert noref.drops().get("udp_no_socket") == 2, noref.drops()


@quick
def dig_asks_the_example(lab):
    """The handler answers A and AAAA, says NXDOMAIN for what is not its own; stops with its socket."""
    need("dig")
    src, _, noref = topology(lab)
    handler(lab, noref)
    noref.ctl("udp bind [::]:53 app handler dns")
    for server in (SERVER4, SERVER6):
        dig = f"dig +time=2 +tries=2 +noedns @{server}"
        assert src.run(f"{dig} +short www.example A").split() == ["192.0.2.53"]
        assert src.run(f"{dig} +short WWW.Example AAAA").split() == ["2001:db8::53"]
        assert "status: NXDOMAIN" in src.run(f"{dig} www.elsewhere A")
        assert "ANSWER: 0" in src.run(f"{dig} www.example TXT")
    noref.ctl("udp close 0")
    assert "connection refused" in src.run(f"dig +time=1 +tries=1 @{SERVER4} www.example", check=False)
    noref.ctl("udp bind *:53 app handler dns")
    assert src.run(f"dig +noedns @{SERVER4} +short a.example").split() == ["192.0.2.53"]


def handlers_are_only_roots(lab):
    """Whoever else could have put or changed the file keeps it from being loaded."""
    _, _, noref = topology(lab)
    path = handler(lab, noref, "good")
    assert "exists" in noref.refused(f"udp handler load {path} name good")
    os.chmod(path, 0o666)
    assert "by others" in noref.refused(f"udp handler load {path} name bad")
    os.chmod(path, 0o644)
    os.chown(path, 1, 0)
    assert "not root's" in noref.refused(f"udp handler load {path} name bad")
    os.chown(path, 0, 0)
    os.chmod(lab.folder, 0o777)
    assert "by others" in noref.refused(f"udp handler load {path} name bad")
    os.chmod(lab.folder, 0o755)
    os.chown(lab.folder, 1, 0)
    assert "not root's" in noref.refused(f"udp handler load {path} name bad")
    os.chown(lab.folder, 0, 0)
    link = os.path.join(lab.folder, "link.so")
    os.symlink(path, link)
    noref.ctl(f"udp handler load {link} name linked")
    assert "regular" in noref.refused(f"udp handler load {lab.folder} name bad")
    with open(path + ".txt", "w") as file:
        file.write("no object")
    os.chmod(path + ".txt", 0o644)
    assert "no shared object" in noref.refused(f"udp handler load {path}.txt name bad")
    libc = next(p for p in ("/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib64/libc.so.6") if os.path.exists(p))
    assert "no UDP handler" in noref.refused(f"udp handler load {libc} name bad")
    source = os.path.join(lab.folder, "other.c")
    with open(source, "w") as file:
        file.write("const unsigned noref_udp_handler_abi = 99; const void *const noref_udp_handler[8];\n")
    other = source.replace(".c", ".so")
    run(f"cc -shared -fPIC -o {other} {source}")
    assert "ABI 99" in noref.refused(f"udp handler load {other} name bad")
    lines = noref.ctl("show config").splitlines()
    assert f"udp handler load {path} name good" in lines, lines
    assert not any("bad" in line for line in lines), lines


class Asker:
    """Sends questions as fast as they are answered, checks each answer."""

    def __init__(self, namespace, port, flows):
        with namespace.entered():
            self.sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(flows)]
        for s in self.sockets:
            s.connect((SERVER4, port))
            s.setblocking(False)
        self.sent = self.answers = self.wrong = 0
        self.going = True
        self.thread = threading.Thread(target=self.work)
        self.thread.start()

    def work(self):
        n = 0
        while self.going:
            for s in self.sockets:
                try:
                    s.send(b"%08d" % n)
                    self.sent += 1
                except OSError:
                    pass
                n += 1
            for s in self.sockets:
                try:
                    self.wrong += len(s.recv(100)) != 8
                    self.answers += 1
                except OSError:
                    pass
            time.sleep(0.0005)

    def stop(self):
        self.going = False
        self.thread.join()
        for s in self.sockets:
            s.close()


def bind_and_close_under_load(lab):
    """Sockets come and go beside one that answers all the time; members of its group, too."""
    src, _, noref = topology(lab)
    noref.ctl("udp bind *:7 reuseport app echo")
    asker = Asker(src, 7, 50)
    try:
        for turn in range(15):
            members = [re.search(r"#(\d+)", noref.ctl("udp bind *:7 reuseport app echo")).group(1)
                       for _ in range(4)]
            others = [re.search(r"#(\d+)", noref.ctl(f"udp bind *:{1000 + turn * 5 + k} app sink")).group(1)
                      for k in range(5)]
            for number in members + others:
                noref.ctl(f"udp close {number}")
    finally:
        asker.stop()
    assert asker.answers > 500 and asker.wrong == 0, (asker.sent, asker.answers, asker.wrong)
    assert asker.answers > asker.sent * 0.9, (asker.sent, asker.answers)
    assert len(noref.json("udp show")) == 1


def a_member_that_closes_keeps_the_others_flows(lab):
    """Flows of the remaining members stay where they are while one closes under load."""
    src, _, noref = topology(lab)
    for _ in range(4):
        noref.ctl("udp bind *:9 reuseport app sink")
    flows = []
    with src.entered():
        for _ in range(200):
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.connect((SERVER4, 9))
            flows.append(s)

    def member_of(s):
        before = {e["id"]: e["packets"] for e in noref.json("udp show")}
        s.send(b"x")
        return wait_until(lambda: [e["id"] for e in noref.json("udp show") if e["packets"] != before[e["id"]]], 3,
                          "the datagram to be counted")[0]

    sample = flows[:40]
    homes = [member_of(s) for s in sample]
    stop = threading.Event()

    def load():
        while not stop.is_set():
            for s in flows[40:]:
                try:
                    s.send(b"y")
                except OSError:
                    pass
            time.sleep(0.001)

    thread = threading.Thread(target=load)
    thread.start()
    try:
        time.sleep(0.2)
        noref.ctl("udp close 2")
        time.sleep(0.2)
    finally:
        stop.set()
        thread.join()
    time.sleep(0.2)
    for s, home in zip(sample, homes):
        now = member_of(s)
        assert now == home or home == 2, f"a flow of member {home} went to {now}"
    assert len({home for home in homes}) == 4, homes


def iperf_passes_by(lab):
    """iperf3 -u through the router while its own services answer."""
    need("iperf3")
    src, dst, noref = topology(lab)
    noref.ctl("udp bind *:7 app echo")
    lab.popen(dst, "iperf3 -s -1")
    time.sleep(0.5)
    asker = Asker(src, 7, 10)
    try:
        text = src.run("iperf3 -u -c 10.0.2.2 -b 5M -l 500 -t 2", timeout=30)
    finally:
        asker.stop()
    lost = re.search(r"(\d+)/(\d+) \([\d.e+-]+%\)\s+receiver", text)
    assert lost and int(lost.group(2)) > 1000, text
    assert int(lost.group(1)) < int(lost.group(2)) * 0.05, text
    assert asker.answers > 100 and asker.wrong == 0


def damaged(packet, at, value):
    """The frame of a packet, some bytes of it overwritten."""
    data = bytearray(bytes(packet))
    data[at:at + len(value)] = value
    return bytes(data)


RELAY = r"""
#include <string.h>
#include <noref/udp_handler.h>
/* A datagram is family, 16 bytes of address, and what to send there. */
static void
handle(void *state, struct noref_udp_worker *w, const struct noref_udp_datagram *d, uint32_t n)
{
	(void)state;
	for (uint32_t i = 0; i < n; i++) {
		const unsigned char *data = d[i].data;
		struct noref_udp_to to = {.socket = d[i].socket, .family = data[0], .port = 5000};
		char *answer;
		int rc;

		memcpy(to.addr, data + 1, 16);
		rc = w->send(w, &to, data + 17, d[i].len - 17);
		answer = w->reply(w, &d[i], 1);
		if (answer != NULL)
			*answer = (char)-rc;
	}
}
NOREF_UDP_HANDLER(.about = "sends on", .handle = handle);
"""


def groups_are_sent_to(lab):
    """A handler's datagrams to groups and broadcast addresses reach a kernel that has joined, also in fragments."""
    (host,) = lab.namespaces("host")
    noref = lab.noref(host, ["net_tap0,iface=tap0"], "ip addr add 192.0.2.1/24 dev 0\n"
                      "ip addr add fc00:0:0:1::1/64 dev 0")
    host.ip("addr add 192.0.2.2/24 brd + dev tap0")
    host.ip("-6 addr add fc00:0:0:1::2/64 dev tap0 nodad")
    host.ip("link set tap0 up")
    source, built = os.path.join(lab.folder, "relay.c"), os.path.join(lab.folder, "relay.so")
    with open(source, "w") as file:
        file.write(RELAY)
    include = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "include")
    run(f"cc -shared -fPIC -I{include} -o {built} {source}")
    os.chmod(built, 0o644)
    os.chmod(lab.folder, 0o755)
    noref.ctl(f"udp handler load {built} name relay")
    noref.ctl("udp bind [::]:6000 dev 0 app handler relay")
    noref.ctl("udp bind *:6001 app handler relay")
    with host.entered():
        ear = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        asker = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        index = socket.if_nametoindex("tap0")
    with ear, asker:
        ear.bind(("::", 5000))
        ear.settimeout(3)
        asker.settimeout(3)
        for group in ("ff02::1234", "ff15::1234"):
            ear.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP,
                           socket.inet_pton(socket.AF_INET6, group) + index.to_bytes(4, "little"))
        ear.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
                       socket.inet_aton("239.129.3.4") + socket.inet_aton("192.0.2.2"))
        ear.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVHOPLIMIT, 1)
        ear.setsockopt(socket.IPPROTO_IP, 12, 1)  # IP_RECVTTL

        def send(to, payload, port=6000):
            """The errno of sending it on."""
            family = socket.AF_INET6 if ":" in to else socket.AF_INET
            packed = socket.inet_pton(family, to)
            asker.sendto(bytes([6 if ":" in to else 4]) + packed.ljust(16, b"\0") + payload, (SERVER4, port))
            return asker.recv(10)[0]

        for to, port, ttl in (("239.129.3.4", 6000, 1), ("ff02::1234", 6000, 1), ("ff15::1234", 6000, 1),
                              ("255.255.255.255", 6000, 64), ("192.0.2.255", 6000, 64), ("192.0.2.255", 6001, 64)):
            for size in (1, 1000, 1400, 5000):
                payload = os.urandom(size)
                assert send(to, payload, port) == 0, to
                data, extra, _, sender = ear.recvmsg(10000, 100)
                assert data == payload and sender[1] == port, (to, size)
                assert int.from_bytes(extra[0][2], "little") == ttl, (to, extra)
                if to.startswith("ff02"):
                    assert sender[0].startswith("fe80::"), sender
        assert send("239.129.3.4", b"x", 6001) == errno.ENETUNREACH
        assert send("255.255.255.255", b"x", 6001) == errno.ENETUNREACH
        assert send("192.0.3.255", b"x", 6001) == errno.ENETUNREACH  # no broadcast, no route
        assert send("240.0.0.1", b"x") == errno.EACCES
        assert host.counter("Udp", "InCsumErrors") == 0


def sums_by_the_driver(lab):
    """With --enable-rx-cksum the driver says which are good: bad ones are dropped all the same, zero means none for
    IPv4 alone, and a datagram shorter than its packet is judged by its own length."""
    (host,) = lab.namespaces("host")
    noref = lab.noref(host, ["net_tap0,iface=tap0"], "ip addr add 192.0.2.1/24 dev 0\n"
                      "ip addr add fc00:0:0:1::1/64 dev 0\nudp bind [::]:9 app sink", options="--enable-rx-cksum")
    assert "UDP_CKSUM" in noref.json("show port info 0")[0]["rx_offloads"]
    host.ip("link set tap0 up")
    ether = Ether(dst=noref.json("show port info 0")[0]["mac"], src="02:00:00:00:00:77")
    for ip, upper in ((IP(src="192.0.2.2", dst=SERVER4), 34), (IPv6(src="fc00:0:0:1::2", dst=SERVER6), 54)):
        good = ether / ip / UDP(sport=4000, dport=9) / bytes(range(100))
        short = ether / ip / UDP(sport=4000, dport=9, len=58) / bytes(range(100))
        # Good by the datagram's length, which is not the packet's; and the other way round.
        inner = bytes(ether / ip / UDP(sport=4000, dport=9) / bytes(range(50)))[upper + 6:upper + 8]
        frames = [(bytes(good), True), (damaged(good, upper + 50, b"\xff"), False),
                  (damaged(good, upper + 6, b"\0\0"), upper == 34), (damaged(short, upper + 6, inner), True)]
        whole = damaged(good, upper + 4, b"\0\x3a")
        for sum_for_packet in (0, 1):  # as it is, and with the header's own change made up for
            value = int.from_bytes(whole[upper + 6:upper + 8], "big")
            value = value + (108 - 58) * sum_for_packet
            frames.append((damaged(whole, upper + 6, (value % 0xffff).to_bytes(2, "big")), False))
        for frame, wanted in frames:
            before = noref.json("udp show")[0]["packets"], noref.drops().get("udp_checksum", 0)
            with host.entered(), socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as s:
                s.bind(("tap0", 0))
                s.send(frame)
            now = wait_until(lambda before=before: (n := (noref.json("udp show")[0]["packets"],
                             noref.drops().get("udp_checksum", 0))) != before and n, what="the datagram")
            assert (now[0] - before[0], now[1] - before[1]) == (int(wanted), int(not wanted)), (frame.hex(), wanted)


TESTS = [groups_are_sent_to, sums_by_the_driver, socat_is_echoed, nobody_listens, dig_asks_the_example, handlers_are_only_roots, bind_and_close_under_load,
         a_member_that_closes_keeps_the_others_flows, iperf_passes_by]
