# SPDX-License-Identifier: BSD-3-Clause
"""What happens to packets: jumbo frames, VLANs, checksums, statistics."""

import pathlib
import subprocess
import unittest

from scapy.layers.inet import UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether

from bench import MAC, PEER, Bench, harness
from frames import ROUTER, SID, bad_udp_checksum, forwarded, neighbour_question, other_mac, padded, tunnel, udp

VLAN = f"""\
ip link add link 0 name 0.100 type vlan id 100
ip addr add 10.100.0.1/24 dev 0.100
ip neigh add 10.100.0.2 lladdr {PEER[2]} dev 0.100
"""


class Jumbo(unittest.TestCase):
    sizes = (1472, 1473, 2000, 2048, 4000, 8000, 8972)

    def through(self, router):
        """Without MULTI_SEGS the driver's fast path would cut what is in several buffers short."""
        self.assertEqual([port["multi_segs"] for port in router.ask("show port info all")],
                         [True, True])
        frames = [udp(flow, size=size) for flow, size in enumerate(self.sizes)]
        router.arrive(0, frames)
        router.wait_sent(1, len(frames))
        self.assertEqual(router.truth(1)["tx_malformed"], 0)
        self.assertEqual(router.finish().sent[1], [forwarded(frame) for frame in frames])

    def test_mtu_9000_by_option(self):
        with Bench(ROUTER, args=["--max-pkt-len=9018"]) as router:
            self.through(router)

    def test_mtu_9000_by_command(self):
        with Bench(ROUTER + "ip link set dev 0 mtu 9000\nip link set dev 1 mtu 9000\n") as router:
            self.through(router)

    def test_mtu_9000_while_running(self):
        with Bench(ROUTER) as router:
            router.arrive(0, [udp()])
            router.wait_sent(1, 1)
            for port in (0, 1):
                router.tell(f"ip link set dev {port} mtu 9000")
                router.link_is(port, True)
            frames = [udp(flow, size=size) for flow, size in enumerate(self.sizes)]
            router.arrive(0, frames)
            router.wait_sent(1, 1 + len(frames))
            self.assertEqual(router.truth(1)["tx_malformed"], 0)
            self.assertEqual(router.finish().sent[1][1:], [forwarded(frame) for frame in frames])

    def test_mtu_9000_in_one_buffer_keeps_the_fast_path(self):
        frame = udp(size=8972)
        with Bench(ROUTER, args=["--max-pkt-len=9018", "--mbuf-size=9344"], memory=400) as router:
            self.assertFalse(router.ask("show port info 0")[0]["multi_segs"])
            router.arrive(0, [frame])
            router.wait_sent(1, 1)
            self.assertEqual(router.finish().sent[1], [forwarded(frame)])

    def test_buffers_that_are_no_whole_kib(self):
        """The NIC rounds them down: ordinary frames come in several, and leave whole."""
        frames = [udp(flow, size=size) for flow, size in enumerate((18, 900, 1000, 1100, 1472))]
        for size in (1664, 2048, 3000):
            with self.subTest(size), Bench(ROUTER, args=[f"--mbuf-size={size}"]) as router:
                router.arrive(0, frames)
                router.wait_sent(1, len(frames))
                self.assertEqual(router.truth(1)["tx_malformed"], 0)
                self.assertEqual(router.finish().sent[1], list(map(forwarded, frames)))

    def test_only_the_receiving_port_is_jumbo(self):
        """Chains reach a port whose own MTU needs none: nothing may leave cut short."""
        with Bench(ROUTER + "ip link set dev 0 mtu 9000\n") as router:
            frames = [udp(0, size=8000), udp(1, size=1472), udp(2, size=8000, flags="DF")]
            router.arrive(0, frames)
            router.until(lambda: router.balance()["held"] == 0, "nothing held")
            self.assertEqual(router.truth(1)["tx_malformed"], 0)
            run = router.finish()
            self.assertIn(forwarded(frames[1]), run.sent[1])
            self.assertTrue(all(len(frame) <= 1514 for frame in run.sent[1]))
            self.assertGreaterEqual(run.drops.get("mtu_exceeded", 0), 1)

    def test_largest_mtu(self):
        with Bench(ROUTER + "ip link set dev 0 mtu 15854\nip link set dev 1 mtu 15854\n",
                   memory=512) as router:
            frame = udp(size=15854 - 28)
            router.arrive(0, [frame])
            router.wait_sent(1, 1)
            self.assertEqual(router.finish().sent[1], [forwarded(frame)])

    def test_larger_is_refused(self):
        with Bench(ROUTER) as router:
            status, _, err = router.try_ctl("ip link set dev 0 mtu 15855")
            self.assertEqual(status, 1)
            self.assertIn("15854", err)
            router.finish()

    def test_longer_than_the_mtu_is_the_nics_to_drop(self):
        with Bench(ROUTER) as router:
            router.play(0, [udp(size=3000)], count=False)
            router.until(lambda: router.played(0), "the frame to have come in")
            router.arrive(0, [udp()])
            router.wait_sent(1, 1)
            self.assertEqual(router.truth(0)["filtered"], 1)
            stats = router.ask("show port xstats 0")[0]["xstats"]
            self.assertEqual(stats["rx_oversize_errors"], 1)
            router.finish()


class Vlan(unittest.TestCase):
    def test_out_of_a_vlan(self):
        with Bench(ROUTER + VLAN) as router:
            frame = udp(tag=100)
            router.arrive(0, [frame])
            router.wait_sent(1, 1)
            self.assertEqual(router.finish().sent[1], [forwarded(frame)])

    def test_into_a_vlan(self):
        with Bench(ROUTER + VLAN) as router:
            router.arrive(1, [udp(port=1, to="10.100.0.2")])
            router.wait_sent(0, 1)
            sent = Ether(router.finish().sent[0][0])
            self.assertEqual((sent.src, sent.dst), (MAC[0], PEER[2]))
            self.assertEqual(sent[Dot1Q].vlan, 100)

    def test_full_size_with_tag(self):
        with Bench(ROUTER + VLAN) as router:
            frame = udp(tag=100, size=1472)
            router.arrive(0, [frame])
            router.wait_sent(1, 1)
            self.assertEqual(router.finish().sent[1], [forwarded(frame)])

    def test_jumbo_with_tag_both_ways(self):
        """MTU 9000 has room for the tag beside it; in several buffers, too."""
        with Bench(ROUTER + VLAN, args=["--max-pkt-len=9018"]) as router:
            frames = [udp(tag=100, size=size) for size in (8972, 3000)]
            router.arrive(0, frames)
            router.wait_sent(1, 2)
            router.arrive(1, [udp(port=1, to="10.100.0.2", size=8972)])
            router.wait_sent(0, 1)
            self.assertEqual([router.truth(port)["tx_malformed"] for port in (0, 1)], [0, 0])
            run = router.finish()
            self.assertEqual(run.sent[1], list(map(forwarded, frames)))
            self.assertEqual((len(run.sent[0][0]), Ether(run.sent[0][0])[Dot1Q].vlan), (9018, 100))

    def test_unknown_vlan_is_dropped_and_counted(self):
        with Bench(ROUTER + VLAN) as router:
            router.arrive(0, [udp(tag=200)])
            run = router.finish()
            self.assertEqual(run.sent[1], [])
            self.assertEqual(sum(run.drops.values()), 1)


class Checksums(unittest.TestCase):
    """The NIC's verdict is asked for nowhere, or not believed where it means nothing."""

    def drops(self, frames):
        with Bench(ROUTER) as router:
            router.arrive(0, frames)
            run = router.finish()
            self.assertEqual(run.sent[1], [])
            return run.drops

    def test_bad_ipv4_header(self):
        self.assertEqual(self.drops([udp(chksum=0x1234)]), {"ip4_checksum": 1})

    def test_bad_inner_header_of_a_tunnel(self):
        """The NIC never looks inside: what it calls good is not."""
        self.assertEqual(self.drops([tunnel(0, chksum=0x1234)]), {"ip4_checksum": 1})

    def test_good_inner_header_of_a_tunnel(self):
        with Bench(ROUTER) as router:
            router.arrive(0, [tunnel(0)])
            router.wait_sent(1, 1)
            run = router.finish()
            self.assertEqual(run.sent[1], [forwarded(tunnel(0))])
            self.assertEqual(run.sids[f"{SID}/128"]["packets"], 1)

    def test_bad_udp_checksum_is_not_a_routers_business(self):
        frame = bad_udp_checksum(udp(size=100))
        with Bench(ROUTER) as router:
            router.inject(0, frame)
            router.wait_sent(1, 1)
            self.assertEqual(router.finish().sent[1], [forwarded(frame)])


    def test_udp_to_a_socket_is_verified_here(self):
        """The NIC calls a bad UDP checksum unknown, and one it never saw good."""
        good = udp(size=100, to="10.0.0.1")
        zero = udp(size=102, to="10.0.0.1")
        at = 14 + 20 + 6
        frames = [good, bad_udp_checksum(good), zero[:at] + b"\0\0" + zero[at + 2:]]
        with Bench(ROUTER + "udp bind *:5000 app sink\n") as router:
            router.arrive(0, frames)
            router.until(lambda: router.balance()["received"] >= len(frames), "frames received")
            sockets = router.ask("udp show")
            run = router.finish()
            self.assertEqual(sockets[0]["packets"], 2)
            self.assertEqual(run.drops, {"udp_checksum": 1})


    def echoed(self, *args):
        """What the example client behind a ring sends back: noref makes these checksums anew."""
        asked = [udp(size=size, to="10.0.0.1") for size in (20, 300, 1400)]
        asked += [padded(bytes(Ether(src=PEER[0], dst=MAC[0]) / IPv6(src="fc00:0:0:1::2", dst="fc00:0:0:1::1")
                               / UDP(sport=1024, dport=5000) / bytes(size))) for size in (20, 300, 1400)]
        config = ROUTER + f"ip neigh add fc00:0:0:1::2 lladdr {PEER[0]} dev 0\nudp bind [::]:5000 app ring r\n"
        with Bench(config, args=args) as router:
            client = subprocess.Popen([pathlib.Path(harness.noref()).parent.parent / "client" / "udp_counter",
                                       router.path, "r", "echo"], stdout=subprocess.PIPE, text=True)
            try:
                self.assertIn("attached", client.stdout.readline())
                router.arrive(0, asked)
                router.wait_sent(0, len(asked))
                offloads = router.ask("show port info 0")[0]["tx_offloads"]
            finally:
                client.kill()
                client.communicate()
            self.assertEqual(router.truth(0)["tx_malformed"], 0)
            sent = router.finish().sent[0]
        for question, frame in zip(asked, sent, strict=True):
            answer, question = Ether(frame), Ether(question)
            self.assertEqual((answer[UDP].dport, bytes(answer[UDP].payload)),
                             (question[UDP].sport, bytes(question[UDP].payload)))
            self.assertEqual(answer[UDP].chksum, question[UDP].chksum)  # of the same words, swapped
        return offloads

    def test_udp_sums_on_the_fast_path(self):
        """Asking for them would give up the driver's fastest transmit path, for all packets."""
        self.assertNotIn("UDP_CKSUM", self.echoed())

    def test_udp_sums_by_the_nic(self):
        """With jumbo frames that path is given up, and the NIC makes the sums of large datagrams."""
        self.assertIn("UDP_CKSUM", self.echoed("--max-pkt-len=9018"))


class Statistics(unittest.TestCase):
    def test_agree_with_the_wire(self):
        frames = [udp(flow, size=18 + 7 * flow) for flow in range(200)]
        with Bench(ROUTER, args=["--rxq=2"]) as router:
            router.arrive(0, frames)
            router.wait_sent(1, len(frames))
            device = [router.ask(f"show port xstats {port}")[0]["xstats"] for port in (0, 1)]
            run = router.finish()
            octets = sum(map(len, frames))
            self.assertEqual((run.ports[0]["rx_packets"], run.ports[0]["rx_bytes"]),
                             (len(frames), octets))
            self.assertEqual((run.ports[1]["tx_packets"], run.ports[1]["tx_bytes"]),
                             (len(run.sent[1]), sum(map(len, run.sent[1]))))
            self.assertEqual((device[0]["rx_good_packets"], device[0]["rx_good_bytes"]),
                             (len(frames), octets))
            self.assertEqual(device[1]["tx_good_packets"], len(frames))
            self.assertEqual(device[0]["rx_errors"], 0)

    def test_sizes_and_kinds(self):
        """Frames in several buffers, with tags, groups: as many bytes as on the wire, and each size in
        its class, FCS included. A short frame that noref sends is padded by the NIC: the NIC counts
        what it padded, noref what it gave."""
        sizes = (18, 60, 200, 450, 900, 1400, 5000)
        frames = [udp(size=size) for size in sizes] + [udp(tag=100, size=300)]
        asked = neighbour_question("10.0.0.1")
        with Bench(ROUTER + VLAN, args=["--max-pkt-len=9018"]) as router:
            router.arrive(0, [*frames, asked])
            router.wait_sent(1, len(frames))
            router.wait_sent(0, 1)
            device = [router.ask(f"show port xstats {port}")[0]["xstats"] for port in (0, 1)]
            run = router.finish()
            for port, heard, said, padding in ((0, [*frames, asked], run.sent[0], 60 - 42),
                                               (1, [], run.sent[1], 0)):
                counted = run.ports[port]
                self.assertEqual((counted["rx_packets"], counted["rx_bytes"], counted["tx_packets"],
                                  counted["tx_bytes"] + padding),
                                 (len(heard), sum(map(len, heard)), len(said), sum(map(len, said))))
                self.assertEqual(device[port]["rx_good_bytes"], sum(map(len, heard)))
                self.assertEqual(device[port]["tx_good_bytes"], sum(map(len, said)))
            self.assertEqual(device[0]["rx_broadcast_packets"], 1)
            classes = {"64": 2, "65_to_127": 1, "128_to_255": 1, "256_to_511": 2,
                       "512_to_1023": 1, "1024_to_max": 2}
            self.assertEqual({name: device[0][f"rx_size_{name}_packets"] for name in classes}, classes)

    def test_kept_over_stop_and_start(self):
        """What a port has counted before stays counted, and is not counted again."""
        with Bench(ROUTER) as router:
            for turn in range(1, 4):
                router.arrive(0, [udp(flow) for flow in range(20)])
                router.wait_sent(1, 20 * turn)
                for port in (0, 1):
                    router.tell(f"port stop {port}")
                    router.tell(f"port start {port}")
                    router.link_is(port, True)
                stats = router.ask("show port stats all")
                self.assertEqual((stats[0]["rx_packets"], stats[1]["tx_packets"]),
                                 (20 * turn, 20 * turn))
            router.finish()

    def test_frames_lost_for_want_of_descriptors(self):
        """More at once than two queues have descriptors: lost ones are in the port's numbers."""
        with Bench(ROUTER, args=["--rxq=2", "--rxd=64", "--no-start"]) as router:
            frames = [udp(flow) for flow in range(500)]
            router.play(0, frames, count=False)
            router.until(lambda: router.played(0), "all frames to have come in")
            lost = router.truth(0)["no_descriptor"]
            self.assertGreater(lost, 300)
            router.tell("start")
            router.until(lambda: router.balance()["received"] == len(frames) - lost, "the rest")
            stats = router.ask("show port stats all")[0]
            self.assertEqual(stats["rx_packets"], len(frames) - lost)
            self.assertEqual(stats["rx_missed"], lost)
            router.finish(infinite=True)

    def test_frames_lost_in_the_packet_buffer(self):
        with Bench(ROUTER, specs=["id=10fb,overflow=drop", "id=10fb"],
                   args=["--rxd=64", "--no-start"]) as router:
            frames = [udp(flow) for flow in range(500)]
            router.play(0, frames, count=False)
            router.until(lambda: router.played(0), "all frames to have come in")
            lost = router.truth(0)["no_descriptor"]
            self.assertGreater(lost, 300)
            router.tell("start")
            router.until(lambda: router.balance()["received"] == len(frames) - lost, "the rest")
            self.assertEqual(router.ask("show port stats all")[0]["rx_missed"], lost)
            router.finish(infinite=True)

    def test_cleared(self):
        with Bench(ROUTER) as router:
            router.arrive(0, [udp()] * 10)
            router.wait_sent(1, 10)
            router.tell("clear port stats all")
            self.assertEqual(router.ask("show port stats all")[0]["rx_packets"], 0)
            self.assertEqual(router.ask("show port stats all")[1]["tx_packets"], 0)
            router.tell("quit")


class Filters(unittest.TestCase):
    """What the NIC lets through, also after it has been stopped and set up again."""

    def again(self, router, check):
        check()
        router.tell("port stop 0")
        router.tell("port start 0")
        router.link_is(0, True)
        check()
        router.tell("ip link set dev 0 mtu 9000")
        router.link_is(0, True)
        check()
        router.finish()

    def filtered(self, router, frame):
        was = router.truth(0)["filtered"]
        router.play(0, [frame], count=False)
        router.until(lambda: router.truth(0)["filtered"] == was + 1, "the NIC to filter a frame")

    def passes(self, router, frame):
        was = router.truth(1)["sent"]
        router.arrive(0, [frame])
        router.wait_sent(1, was + 1)

    def test_other_stations(self):
        with Bench(ROUTER) as router:
            self.again(router, lambda: self.filtered(router, other_mac(udp())))

    def test_promiscuous(self):
        with Bench(ROUTER) as router:
            router.tell("set promisc 0 on")
            router.arrive(0, [other_mac(udp())])
            self.assertEqual(router.ask("show drops"), {"other_host": 1})
            router.tell("set promisc 0 off")
            self.filtered(router, other_mac(udp()))
            router.finish()

    def test_any_mac(self):
        with Bench(ROUTER) as router:
            router.tell("ip link set dev 0 any-mac on")
            self.again(router, lambda: self.passes(router, other_mac(udp())))

    def test_another_address(self):
        with Bench(ROUTER) as router:
            router.tell("ip link set dev 0 address 02:00:00:00:00:77")

            def check():
                self.passes(router, other_mac(udp()))
                self.filtered(router, udp())
            self.again(router, check)

    def test_groups(self):
        """Neighbour solicitations and ARP requests are answered."""
        with Bench(ROUTER) as router:
            def check():
                for frame in (neighbour_question("fc00:0:0:1::1"), neighbour_question("10.0.0.1")):
                    was = router.truth(0)["sent"]
                    router.arrive(0, [frame])
                    router.wait_sent(0, was + 1)
            self.again(router, check)
