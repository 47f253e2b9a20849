# SPDX-License-Identifier: BSD-3-Clause
"""Datagrams of a kernel host to a process behind `app ring NAME`, and back; it is killed under load."""

import os
import signal
import socket
import subprocess

from harness import quick, wait_until
from test_fragments import SCRIPT, topology

COLLECTOR = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "config",
                         "udp-collector.conf")
SERVER4, SERVER6 = "192.0.2.1", "fc00:0:0:1::1"


def counter(lab, noref, *words, ring="test"):
    """The example client, attached."""
    program = os.path.join(os.path.dirname(lab.settings.noref), "..", "client", "udp_counter")
    process = subprocess.Popen([program, noref.socket, ring, *words], text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT)
    lab.processes.append(process)
    line = process.stdout.readline()
    assert line.startswith("attached"), line
    return process


def asked(host, family, server, payload):
    """What comes back for a datagram."""
    with host.entered():
        s = socket.socket(family, socket.SOCK_DGRAM)
    with s:
        s.settimeout(5)
        s.connect((server, 4000))
        s.send(payload)
        return s.recv(65535)


@quick
def all_sizes_come_back(lab):
    """Received, also in fragments; copied to the client; sent again, also in fragments."""
    host, noref = topology(lab)
    # Those of datagrams that fit a frame are then made by the driver, the others' by noref.
    assert "UDP_CKSUM" in noref.json("show port info 0")[0]["tx_offloads"]
    noref.ctl("udp bind [::]:4000 app ring test")
    client = counter(lab, noref, "echo")
    for size in (0, 1, 1000, 1472, 1473, 8000, 20000, 60000, 65507):
        payload = os.urandom(size)
        assert asked(host, socket.AF_INET, SERVER4, payload) == payload, size
        if size <= 65487:
            assert asked(host, socket.AF_INET6, SERVER6, payload) == payload, size
    entry = noref.json("udp show")[0]
    assert entry["packets"] == 17 and entry["drops"] == 0, entry
    assert noref.balance()["held"] == 0
    # The socket goes: the client is told, and ends.
    noref.ctl(f"udp close {entry['id']}")
    assert client.wait(5) == 1
    assert "closed the socket" in client.stdout.read()


def sums_where_the_queue_is_anothers(lab):
    """Replies leave by a queue that another worker owns, who makes no checksums for this one; sums of zero, too."""
    (host,) = lab.namespaces("host")
    noref = lab.noref(host, ["net_tap0,iface=tap0"], SCRIPT, lcores=lab.lcores(2),
                      options="--rxq=1 --txq=1 --config=(0,0,2)")
    host.ip("addr add 192.0.2.2/24 dev tap0")
    host.ip("-6 addr add fc00:0:0:1::2/64 dev tap0 nodad")
    host.ip("link set tap0 up")
    noref.ctl("udp bind [::]:4000 app ring test")
    counter(lab, noref, "echo")
    for size in (0, 100, 255, 256, 1000, 1400):
        for family, server in ((socket.AF_INET, SERVER4), (socket.AF_INET6, SERVER6)):
            for payload in (os.urandom(size), bytes(size)):
                assert asked(host, family, server, payload) == payload, (server, size)
    assert host.counter("Udp", "InCsumErrors") == 0


def killed_under_load(lab):
    """Ten times, then another one goes on; what had nobody to go to is counted as such."""
    host, noref = topology(lab)
    noref.ctl("udp bind *:4000 app ring test")
    with host.entered():
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with s:
        s.connect((SERVER4, 4000))
        for _ in range(10):
            client = counter(lab, noref)
            before = noref.json("udp show")[0]["packets"]
            for n in range(3000):
                s.send(bytes(n % 1400))
                if n == 2000:
                    # On a busy machine the worker may not have had its turn yet.
                    wait_until(lambda before=before: noref.json("udp show")[0]["packets"] > before,
                               what="datagrams to reach the client")
                    client.send_signal(signal.SIGKILL)
            assert client.wait(5) == -signal.SIGKILL
            wait_until(lambda: noref.in_use() <= noref.in_use_at_start, what="all buffers back")
    assert noref.drops()["udp_queue_full"] > 0, noref.drops()
    client = counter(lab, noref, "echo")
    assert asked(host, socket.AF_INET, SERVER4, b"again") == b"again"
    assert "has a client" in noref.refused("udp attach test")
    client.kill()
    client.wait()


@quick
def ready_collector(lab):
    """config/udp-collector.conf: each kind of datagram reaches the process that reads its ring."""
    (host,) = lab.namespaces("host")
    noref = lab.noref(host, ["net_tap0,iface=tap0"], f"source {COLLECTOR}")
    host.ip("addr add 192.0.2.254/24 dev tap0")
    host.ip("addr add 2001:db8:0:1::fe/64 dev tap0")
    host.ip("link set tap0 up")
    readers = {ring: counter(lab, noref, ring=ring) for ring in ("flows", "syslog")}
    payloads = {4739: 1400, 2055: 1000, 6343: 5000, 514: 100, 9: 50}
    with host.entered():
        for family, server in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8:0:1::1")):
            for port, size in payloads.items():
                with socket.socket(family, socket.SOCK_DGRAM) as s:
                    s.sendto(bytes(size), (server, port))
            with socket.socket(family, socket.SOCK_DGRAM) as s:
                s.settimeout(5)
                s.connect((server, 7))
                s.send(b"who is there?")
                assert s.recv(100) == b"who is there?"
    wait_until(lambda: sum(e["packets"] for e in noref.json("udp show")) == 12, what="12 datagrams in udp show")
    for ring, expected in (("flows", "6 packets, 14800 bytes in all"), ("syslog", "2 packets, 200 bytes in all")):
        readers[ring].send_signal(signal.SIGTERM)
        output = readers[ring].communicate(timeout=5)[0]
        assert output.splitlines()[-1] == expected, output
    assert not noref.drops().keys() & {"fragment", "udp_queue_full", "udp_checksum"}, noref.drops()


TESTS = [all_sizes_come_back, sums_where_the_queue_is_anothers, killed_under_load, ready_collector]
