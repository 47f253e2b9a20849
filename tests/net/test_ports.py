# SPDX-License-Identifier: BSD-3-Clause
"""Kinds of ports, pairs of processes, workers that share a queue, starting and stopping."""

import os
import signal
import socket
import stat
import subprocess
import time

from harness import Skip, quick, wait_until
from test_neighbours import topology


def tap(lab):
    """net_tap: the kernel's end is an ordinary interface."""
    if not os.path.exists("/dev/net/tun"):
        raise Skip("this kernel has no tun device")
    router, = lab.namespaces("router")
    noref = lab.noref(router, ["net_tap0,iface=tap0", "net_tap1,iface=tap1"], """
        ip addr add 192.0.2.1/24 dev 0
        ip addr add fc00:0:0:1::1/64 dev 0
    """)
    router.ip("link set tap0 up")
    router.ip("addr add 192.0.2.2/24 dev tap0")
    router.ip("addr add fc00:0:0:1::2/64 dev tap0")
    router.must_ping("192.0.2.1", 3)
    router.must_ping("fc00:0:0:1::1", 3)
    noref.ctl("ping 192.0.2.2 count 1")


PAIR_A = """
    ip addr add 192.0.2.1/24 dev 0
    ip addr add fc00:0:0:1::1/64 dev 0
    ip addr add 10.0.1.1/24 dev 1
    ip addr add fc00:0:0:12::1/64 dev 1
    ip route add 10.0.2.0/24 via 10.0.1.2
    ip route add 2001:db8:2::/64 via fc00:0:0:12::2
"""
PAIR_B = """
    ip addr add 10.0.2.1/24 dev 0
    ip addr add 2001:db8:2::1/64 dev 0
    ip addr add 10.0.1.2/24 dev 1
    ip addr add fc00:0:0:12::2/64 dev 1
    ip route add default via 10.0.1.1
    ip route add default via fc00:0:0:12::1
"""


def pair(lab, device_a, device_b):
    """src ── A ══ B ── dst: two noref processes joined by a device without a kernel between them."""
    src, router_a, router_b, dst = lab.namespaces("src", "a", "b", "dst")
    lab.port(router_a, "n0", src, "s0")
    lab.port(router_b, "n1", dst, "d0")
    src.ip("addr add 192.0.2.2/24 dev s0")
    src.ip("addr add fc00:0:0:1::2/64 dev s0")
    src.ip("route add default via 192.0.2.1")
    src.ip("route add default via fc00:0:0:1::1")
    dst.ip("addr add 10.0.2.2/24 dev d0")
    dst.ip("addr add 2001:db8:2::2/64 dev d0")
    dst.ip("route add default via 10.0.2.1")
    dst.ip("route add default via 2001:db8:2::1")
    a = lab.noref(router_a, ["net_af_packet0,iface=n0", device_a], PAIR_A, name="a")
    b = lab.noref(router_b, ["net_af_packet0,iface=n1", device_b], PAIR_B, name="b")
    # The link between them comes up by itself.
    wait_until(lambda: src.ping("10.0.2.2", 1, timeout=1)[0] == 1, 15, "the pair to pass packets")
    src.must_ping("10.0.2.2", 20)
    src.must_ping("2001:db8:2::2", 20)
    dst.must_ping("192.0.2.2", 20)
    src.must_ping("10.0.2.2", 5, "-s 1400")
    return src, a, b


@quick
def memif(lab):
    path = os.path.join(lab.folder, "memif.sock")
    pair(lab, f"net_memif0,role=server,socket={path},socket-abstract=no",
         f"net_memif0,role=client,socket={path},socket-abstract=no")


def vhost_and_virtio_user(lab):
    path = os.path.join(lab.folder, "vhost.sock")
    pair(lab, f"net_vhost0,iface={path}", f"net_virtio_user0,path={path},mac=02:00:00:00:12:02")


def vhost_peer_restarts(lab):
    """One of two processes goes away; the other carries on, and again when it is back. (Not over
    net_memif: that driver unmaps its rings under the worker's feet when its peer leaves.)"""
    path = os.path.join(lab.folder, "vhost.sock")
    guest = f"net_virtio_user0,path={path},mac=02:00:00:00:12:02"
    src, _, b = pair(lab, f"net_vhost0,iface={path}", guest)
    b.stop()
    lab.routers.remove(b)
    assert src.ping("10.0.2.2", 2, timeout=1)[0] == 0
    src.must_ping("192.0.2.1", 2)
    lab.noref(b.namespace, ["net_af_packet0,iface=n1", guest], PAIR_B, name="b2")
    wait_until(lambda: src.ping("10.0.2.2", 1, timeout=1)[0] == 1, 15, "the pair to pass packets again")


@quick
def two_workers_on_one_queue_devices(lab):
    """Either worker may transmit on either port, though each port has one queue."""
    src, router, dst = lab.namespaces("src", "router", "dst")
    lab.port(router, "n0", src, "s0")
    lab.port(router, "n1", dst, "d0")
    src.ip("addr add 192.0.2.2/24 dev s0")
    src.ip("route add default via 192.0.2.1")
    dst.ip("addr add 10.0.2.2/24 dev d0")
    dst.ip("route add default via 10.0.2.1")
    noref = lab.noref(router, ["net_af_packet0,iface=n0", "net_af_packet1,iface=n1"], """
        ip addr add 192.0.2.1/24 dev 0
        ip addr add 10.0.2.1/24 dev 1
    """, lcores=lab.lcores(workers=2))
    src.must_ping("10.0.2.2", 50)
    dst.must_ping("192.0.2.2", 50)
    src.must_ping("192.0.2.1", 10)
    src.must_ping("10.0.2.1", 10)
    lcores = noref.json("show lcore")
    assert len(lcores) == 2 and all(lcore["queues"] for lcore in lcores), lcores
    assert all(lcore["packets"] > 50 for lcore in lcores), lcores


def stop_and_start_of_a_port(lab):
    """Under traffic; what arrives meanwhile is lost, what comes after is forwarded."""
    src, _, noref = topology(lab)
    src.must_ping("10.0.2.2", 2)
    traffic = lab.popen(src, "ping -n -q -i 0.002 -c 700 10.0.2.2", stdout=subprocess.DEVNULL)
    time.sleep(0.3)
    for _ in range(3):
        noref.ctl("port stop 1")
        time.sleep(0.2)
        noref.ctl("port start 1")
        time.sleep(0.2)
    traffic.wait(30)
    src.must_ping("10.0.2.2", 5)
    assert noref.drops().get("port_down", 0) > 0, noref.drops()


def stop_and_start_of_everything(lab):
    src, _, noref = topology(lab)
    src.must_ping("10.0.2.2", 2)
    for _ in range(3):
        noref.ctl("stop")
        assert src.ping("10.0.2.2", 1, timeout=1)[0] == 0
        noref.ctl("start")
        wait_until(lambda: src.ping("10.0.2.2", 1, timeout=1)[0] == 1, 10, "forwarding to go on")


def no_start(lab):
    """--no-start waits for `start`."""
    src, router = lab.namespaces("src", "router")
    lab.port(router, "n0", src, "s0")
    src.ip("addr add 192.0.2.2/24 dev s0")
    noref = lab.noref(router, ["net_af_packet0,iface=n0"], "ip addr add 192.0.2.1/24 dev 0", options="--no-start")
    assert src.ping("192.0.2.1", 1, timeout=1)[0] == 0
    noref.ctl("start")
    wait_until(lambda: src.ping("192.0.2.1", 1, timeout=1)[0] == 1, 10, "forwarding to begin")


def link_down_and_up(lab):
    src, _, noref = topology(lab)
    src.must_ping("10.0.2.2", 2)
    noref.ctl("ip link set dev 1 down")
    assert src.ping("10.0.2.2", 2, timeout=1)[0] == 0
    noref.ctl("ip link set dev 1 up")
    wait_until(lambda: src.ping("10.0.2.2", 1, timeout=1)[0] == 1, 10, "the port to be up again")


def routes_change_under_traffic(lab):
    """A route goes back and forth between two ways; no packet is lost or misled."""
    src, _, noref = topology(lab)
    noref.ctl("ip route add 10.0.2.2/32 via 10.0.2.2 dev 1")
    src.must_ping("10.0.2.2", 2)
    traffic = lab.popen(src, "ping -n -q -i 0.002 -c 500 -W 2 10.0.2.2", stdout=subprocess.PIPE, text=True)
    for _ in range(25):
        noref.ctl("ip route replace 10.0.2.2/32 dev 1")
        noref.ctl("ip route replace 10.0.2.2/32 via 10.0.2.2 dev 1")
    output, _ = traffic.communicate(timeout=30)
    assert " 500 received" in output, output


@quick
def ends_on_signals(lab):
    """SIGTERM and SIGINT: exit status 0, the final tables, the socket gone."""
    for number in (signal.SIGTERM, signal.SIGINT):
        router = lab.noref(None, ["net_null0", "net_null1"], "", name=f"signal{int(number)}")
        # net_null never stops delivering: this also ends under load.
        time.sleep(0.3)
        router.process.send_signal(number)
        assert router.process.wait(15) == 0, router.log()
        text = router.log()
        assert "net_null0" in text and "net_null1" in text, text
        assert not os.path.exists(router.socket), "the control socket is still there"
        lab.routers.remove(router)


@quick
def control_socket(lab):
    """Mode 0600, errors with exit status 1, one socket per process."""
    router = lab.noref(None, ["net_null0,copy=0"], "", options="--no-start")
    mode = os.stat(router.socket)
    assert stat.S_ISSOCK(mode.st_mode) and stat.S_IMODE(mode.st_mode) == 0o600, oct(mode.st_mode)
    assert "noref" in router.ctl("show version").lower()
    error = router.refused("ip route add 10.1.0.0/16 via 10.0.9.1")
    assert "10.1.0.0/16" in error and "10.0.9.1" in error, error
    assert "nonsense" in router.refused("nonsense")
    status, _, error = router.ctl_status("show port stats 7")
    assert status == 1 and "7" in error, error

    # A second process may not take the socket of a living one.
    second = lab.start(None, ["net_null0"], "", name="second", options=f"--no-start --ctl={router.socket}")
    assert second.process.wait(20) == 1, second.log()
    lab.routers.remove(second)
    assert router.ctl("show version")


def dead_socket_is_replaced(lab):
    """A process that was killed leaves its socket; the next one takes the place."""
    first = lab.noref(None, ["net_null0"], "", name="first", options="--no-start")
    first.process.kill()
    first.process.wait()
    lab.routers.remove(first)
    assert os.path.exists(first.socket)
    second = lab.start(None, ["net_null0"], "", name="second", options=f"--no-start --ctl={first.socket}")
    second.socket = first.socket
    second.wait_ready()


def two_clients_and_a_slow_reader(lab):
    """A client that asks and does not read holds up neither traffic nor other clients."""
    src, _, noref = topology(lab)
    slow = socket.socket(socket.AF_UNIX)
    slow.connect(noref.socket)
    slow.setblocking(False)
    try:
        for _ in range(20000):
            slow.send(b"help\n")
    except BlockingIOError:
        pass
    start = time.monotonic()
    noref.ctl("show version")
    assert time.monotonic() - start < 2
    src.must_ping("10.0.2.2", 5)
    src.must_ping("192.0.2.1", 5)
    slow.close()
    noref.ctl("show version")


TESTS = [tap, memif, vhost_and_virtio_user, vhost_peer_restarts, two_workers_on_one_queue_devices,
         stop_and_start_of_a_port, stop_and_start_of_everything, no_start, link_down_and_up,
         routes_change_under_traffic, ends_on_signals, control_socket, dead_socket_is_replaced,
         two_clients_and_a_slow_reader]
