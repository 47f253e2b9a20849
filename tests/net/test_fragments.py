# SPDX-License-Identifier: BSD-3-Clause
"""Large datagrams between the kernel and the router itself: both cut, both put together again.

Over net_tap: net_af_packet has the kernel put IPv4 fragments together before we see them."""

from harness import quick

SCRIPT = """
    ip addr add 192.0.2.1/24 dev 0
    ip addr add fc00:0:0:1::1/64 dev 0
"""


def topology(lab):
    (host,) = lab.namespaces("host")
    noref = lab.noref(host, ["net_tap0,iface=tap0"], SCRIPT)
    host.ip("addr add 192.0.2.2/24 dev tap0")
    host.ip("-6 addr add fc00:0:0:1::2/64 dev tap0 nodad")
    host.ip("link set tap0 up")
    host.must_ping("192.0.2.1", 1)
    host.must_ping("fc00:0:0:1::1", 1)
    return host, noref


@quick
def large_echo(lab):
    """The kernel cuts requests of all sizes up to 64 KB, and accepts the fragments of the replies."""
    host, noref = topology(lab)
    for size in (1473, 4000, 8952, 20000, 60000, 65507):
        host.must_ping("192.0.2.1", 2, f"-s {size}")
    for size in (1453, 4000, 8952, 20000, 60000, 65487):
        host.must_ping("fc00:0:0:1::1", 2, f"-s {size}")
    assert "fragment" not in noref.drops(), noref.drops()
    assert noref.balance()["held"] == 0


def large_echo_small_mtu(lab):
    """More fragments than a burst holds."""
    host, noref = topology(lab)
    noref.ctl("ip link set dev 0 mtu 1280")
    host.ip("link set tap0 mtu 1280")
    host.must_ping("192.0.2.1", 2, "-s 60000")
    host.must_ping("fc00:0:0:1::1", 2, "-s 60000")
    host.ip("link set tap0 mtu 576")
    host.must_ping("192.0.2.1", 2, "-s 60000")


def many_large_echoes(lab):
    """Eight pings at once, their fragments mixed."""
    host, noref = topology(lab)
    commands = " & ".join(f"ping -n -q -c 20 -i 0.05 -s {10000 + 1000 * n} 192.0.2.1"
                          for n in range(8))
    text = host.run(f"sh -c '{commands} & wait'", timeout=60)
    assert text.count("20 received") == 8, text
    assert noref.balance()["held"] == 0


TESTS = [large_echo, large_echo_small_mtu, many_large_echoes]
