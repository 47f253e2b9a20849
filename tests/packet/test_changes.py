# SPDX-License-Identifier: BSD-3-Clause
"""Changes while packets flow: no stale way, no crash, every packet accounted for."""

import unittest

import packets as p
from cases import SOURCE_MAC
from harness import Router, write_pcap
from lab import DT4_RED, DT46_RED, DX4, END, END_X, PORT_MAC, ROUTER, SIDS
from packets import routed
from test_endpoints import IN4, IN6, NEXT


def frames(packet_of, count=8):
    return [p.eth(PORT_MAC[0], SOURCE_MAC, packet_of(n)) for n in range(1, count + 1)]


def plain(n, dst=IN4):
    return p.ip4(f"11.0.0.{n}", dst, p.UDP, p.udp(b"x"))


class BetweenCaptures(unittest.TestCase):
    """One capture, a command, the next capture: what is gone is gone."""

    def forwarded(self, router, port):
        return [f[14:] for f in router.sent()[port] if p.Frame(f).ip_src
                and p.Frame(f).ip_src[:1] == b"\x0b"]

    def check(self, commands, reason=None, via=None, config=""):
        """After the commands the same packets are dropped for the reason (or one of
        several), or leave by `via`."""
        packets = [plain(n) for n in range(1, 9)]
        with Router(ROUTER + config, {0: frames(plain)}) as router:
            router.settle()
            self.assertEqual(self.forwarded(router, 1), [routed(q) for q in packets])
            for command in commands:
                router.tell(command)
            router.feed(0, frames(plain))
            router.settle()
            run = router.finish()
        later = [f for port in (1, 2, 3) for f in run.sent[port]][len(packets):]
        later = [f for f in later if p.Frame(f).ip_src and p.Frame(f).ip_src[:1] == b"\x0b"]
        if via:
            self.assertEqual(later, [p.eth(via, PORT_MAC[1], routed(q)) for q in packets])
            self.assertEqual(run.drops, {})
        else:
            self.assertEqual(later, [])
            self.assertEqual(sum(run.drops.values()), len(packets))
            self.assertLessEqual(set(run.drops), {reason} if isinstance(reason, str) else reason)

    def test_route_deleted(self):
        self.check(["ip route del 10.1.0.0/16"], "ip4_no_route")

    def test_route_replaced(self):
        self.check(["ip route replace 10.1.0.0/16 via 10.0.1.3"], via="02:00:00:00:01:03")

    def test_route_replaced_by_blackhole(self):
        self.check(["ip route replace blackhole 10.1.0.0/16"], "blackhole")

    def test_longer_prefix_added(self):
        self.check(["ip route add 10.1.2.0/24 via 10.0.1.3"], via="02:00:00:00:01:03")

    def test_longer_prefix_deleted(self):
        self.check(["ip route del 10.1.2.0/24"], via="02:00:00:00:01:03",
                   config="ip route replace 10.1.0.0/16 via 10.0.1.3\n"
                          "ip route add 10.1.2.0/24 via 10.0.1.2\n")

    def test_neighbour_replaced(self):
        self.check(["ip neigh replace 10.0.1.2 lladdr 02:00:00:00:ab:cd dev 1"],
                   via="02:00:00:00:ab:cd")

    def test_neighbour_deleted(self):
        self.check(["ip neigh del 10.0.1.2 dev 1"], "neigh_unresolved")

    def test_next_hop_of_a_group_gone(self):
        """A member's neighbour is deleted while the group names it: its old MAC is not used."""
        config = ROUTER + "ip route replace 10.1.0.0/16 nexthop via 10.0.1.2 nexthop via 10.0.1.3\n"
        flows = frames(lambda n: p.ip4(f"11.0.0.{n}", IN4, p.UDP, p.udp(b"x", n)), 64)
        with Router(config, {0: flows}) as router:
            router.settle()
            before = len(router.sent()[1])
            router.tell("ip neigh del 10.0.1.3 dev 1")
            router.feed(0, flows)
            router.settle()
            run = router.finish()
        later = [p.Frame(f) for f in run.sent[1][before:]]
        forwarded = [f for f in later if f.ip_src and f.ip_src[:1] == b"\x0b"]
        self.assertEqual({f.dst.hex(":") for f in forwarded}, {"02:00:00:00:01:02"})
        self.assertEqual(len(forwarded) + run.drops.get("neigh_unresolved", 0), 64)

    def test_address_deleted_takes_its_routes(self):
        self.check(["ip addr del 10.0.1.1/24 dev 1"], {"ip4_no_route", "unreachable"})

    def test_port_down(self):
        with Router(ROUTER, {0: frames(plain)}) as router:
            router.settle()
            router.tell("ip link set dev 1 down")
            router.feed(0, frames(plain))
            router.settle()
            run = router.finish()
        self.assertEqual(sum(run.drops.values()), 8)
        self.assertLessEqual(set(run.drops), {"port_down", "ip4_no_route"})

    def test_mtu_raised_while_running(self):
        """Large packets pass whole from then on, or the change is refused with a reason."""
        packet = p.ip4("11.0.0.1", IN4, p.UDP, p.udp(bytes(i & 255 for i in range(5000))))
        with Router(ROUTER, {0: frames(plain)}) as router:
            router.settle()
            for port in (0, 1):
                status, _, err = router.try_ctl(f"ip link set dev {port} mtu 9000",
                                                json_wanted=False)
                if status != 0:
                    self.assertIn("mtu", err.lower())
                    return
            router.feed(0, [p.eth(PORT_MAC[0], SOURCE_MAC, packet)])
            router.settle()
            run = router.finish()
        self.assertEqual(run.drops, {})
        self.assertEqual(run.sent[1][-1], p.eth("02:00:00:00:01:02", PORT_MAC[1], routed(packet)))

    def test_stop_and_start(self):
        """Stopped, nothing is lost from account; started again, packets flow again."""
        with Router(ROUTER, {0: frames(plain)}) as router:
            router.settle()
            router.tell("stop")
            balance = router.balance()
            self.assertEqual(balance["held"], 0)
            router.tell("start")
            router.feed(0, frames(plain))
            router.settle()
            run = router.finish()
        self.assertEqual(run.balance["transmitted"] - run.balance["originated"], 16)

    def test_clear(self):
        with Router(ROUTER + SIDS, {0: frames(lambda n: p.ip6(
                f"fd00::{n}", DX4, p.IPIP, plain(n)))}) as router:
            router.settle()
            sid = f"{DX4}/128"
            counted = {entry["sid"]: entry for entry in router.ask("show sid")}
            self.assertEqual(counted[sid]["packets"], 8)
            router.tell("clear sid")
            counted = {entry["sid"]: entry for entry in router.ask("show sid")}
            self.assertEqual(counted[sid]["packets"], 0)
            router.tell("clear drops")
            router.tell("clear port stats all")
            self.assertEqual(router.ask("show drops"), {})
            stats = router.ask("show port stats all")
            self.assertEqual({entry["rx_packets"] for entry in stats}, {0})
            router.tell("quit")


class UnderTraffic(unittest.TestCase):
    """Thousands of changes while one capture is received over and over."""

    def test_routes_neighbours_and_sids(self):
        traffic = []
        for n in range(1, 65):
            inner = p.ip4(f"11.0.0.{n}", f"10.1.{n}.1", p.UDP, p.udp(b"x", 1000 + n))
            traffic += [
                inner,
                p.ip6("fd01::1", f"2001:db8:aa:{n}::1", p.UDP, p.udp(b"x", 1000 + n)),
                p.ip6("fd00::1", DT4_RED, p.IPIP, inner),
                p.ip6("fd00::1", DX4, p.IPIP, inner),
                p.ip6("fd00::1", DT46_RED, p.IPV6, p.ip6("fd01::1", IN6, p.UDP, p.udp(b"x"))),
                p.ip6("fd00::1", END, p.ROUTING, p.path(p.UDP, [END, NEXT], 1) + p.udp(b"x")),
                p.ip6("fd00::1", END_X, p.ROUTING, p.path(p.UDP, [END_X, NEXT], 1) + p.udp(b"x")),
            ]
        changes = []
        for n in range(400):
            k = n % 60 + 1
            changes += [
                f"ip route add 10.1.{k}.0/24 via 10.0.1.3",
                f"ip route add 10.1.{k}.0/24 vrf red nexthop via 10.0.2.2 nexthop via 10.0.2.3",
                f"ip -6 route add 2001:db8:aa:{k}::/64 via 2001:db8:1::3",
                f"ip route replace 10.1.{k}.0/24 nexthop via 10.0.1.2 nexthop via 10.0.1.3",
                "ip neigh replace 10.0.1.3 lladdr 02:00:00:00:01:03 dev 1",
                f"ip -6 route del {DX4}/128",
                f"ip route del 10.1.{k}.0/24",
                f"ip -6 route add {DX4}/128 encap seg6local action End.DX4 nh4 10.0.1.3 dev 0",
                f"ip -6 route del 2001:db8:aa:{k}::/64",
                f"ip route del 10.1.{k}.0/24 vrf red",
            ]
            if n % 20 == 0:
                changes += ["ip route del 10.1.0.0/16", "ip route add 10.1.0.0/16 via 10.0.1.2",
                            "ip neigh del 10.0.1.3 dev 1",
                            "ip neigh add 10.0.1.3 lladdr 02:00:00:00:01:03 dev 1"]
        config = ROUTER + SIDS + "ip neigh add 10.0.2.3 lladdr 02:00:00:00:02:03 dev 2\n"
        sinks = {port: f"net_null{port},no-rx=1" for port in (1, 2, 3)}
        # The capture has no room to be written out: net_pcap drops what it is given without tx.
        router = Router(config, {}, vdevs={**sinks, 0: "net_pcap0,rx_pcap=%FOLDER%/in0.pcap,"
                                                       "infinite_rx=1"},
                        prepare=lambda space: write_pcap(space.path_in(0), [
                            p.eth(PORT_MAC[0], SOURCE_MAC, packet) for packet in traffic]))
        with router:
            status, _, err = router.try_ctl("", json_wanted=False, lines="\n".join(changes) + "\n")
            self.assertEqual((status, err), (0, ""))
            self.assertGreater(router.balance()["received"], 1000)
            router.tell("stop")
            run = router.finish(infinite=True)
        self.assertLessEqual(set(run.drops), {"neigh_unresolved", "ip4_no_route", "ip6_no_route",
                                              "sid_upper_layer", "control_full"})
