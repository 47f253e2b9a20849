# SPDX-License-Identifier: BSD-3-Clause
"""Start-up, mistakes made on purpose, and the end: words, exit status, files."""

import json
import os
import re
import signal
import socket
import stat
import unittest

import packets as p
from cases import SOURCE_MAC
from harness import Router, SANITIZER, Workspace, launch, noref_ctl
from lab import PORT_MAC, ROUTER, SIDS
from test_endpoints import IN4

NULL = {port: f"net_null{port},no-rx=1" for port in range(4)}


def start(config="", args=("--ctl=none", "--exit-on-idle=100"), vdevs=None, **workspace):
    """Run to the end: (status, stdout, stderr, path of the script)."""
    space = Workspace(config, args=args, vdevs=vdevs or NULL, **workspace)
    try:
        status, out, err = launch(space.command)
    finally:
        space.remove()
    if SANITIZER.search(err):
        raise AssertionError(err)
    return status, out, err, str(space.folder / "router.conf")


class BadScripts(unittest.TestCase):
    """The first bad line ends start-up: FILE:LINE: what is wrong, exit status 1.

    One method for each line, made below.
    """

    GOOD = "ip link add red type vrf table 100\n# a comment\nip addr add 10.0.1.1/24 dev 1\n\n"

    LINES = {  # name -> (line, what the message must name)
        "unknown_command": ("frobnicate 1", "frobnicate"),
        "unknown_object": ("ip frobnicate add", "frobnicate"),
        "unknown_action": ("ip -6 route add fc00::1/128 encap seg6local action End.Nope dev 0",
                           "End.Nope"),
        "bad_ipv4_address": ("ip addr add 10.0.0.256/24 dev 0", "10.0.0.256"),
        "bad_ipv6_address": ("ip addr add fc00:::1/64 dev 0", "fc00:::1"),
        "bad_prefix_length": ("ip route add 10.9.0.0/33 via 10.0.1.2", "33"),
        "bad_prefix_length_ipv6": ("ip route add 2001:db8::/129 via 2001:db8::1", "129"),
        "host_bits": ("ip route add 10.9.0.1/16 via 10.0.1.2", "10.9.0.1/16"),
        "unknown_port": ("ip addr add 10.0.9.1/24 dev 77", "77"),
        "unknown_port_name": ("ip link set dev nosuch mtu 1500", "nosuch"),
        "unknown_vrf": ("ip route add 10.9.0.0/16 via 10.0.1.2 vrf nosuch", "nosuch"),
        "gateway_on_no_connected_network": ("ip route add 10.9.0.0/16 via 10.77.0.1", "10.77.0.1"),
        "gateway_of_another_vrf": ("ip route add 10.9.0.0/16 via 10.0.1.2 vrf red", "10.0.1.2"),
        "gateway_that_is_our_own": ("ip route add 10.9.0.0/16 via 10.0.1.1", "10.0.1.1"),
        "gateway_of_another_family": ("ip route add 10.9.0.0/16 via 2001:db8::1", ""),
        "route_without_a_way": ("ip route add 10.9.0.0/16", "10.9.0.0/16"),
        "route_deleted_that_is_not_there": ("ip route del 10.9.0.0/16", "10.9.0.0/16"),
        "dt4_missing_table": ("ip -6 route add fc00::1/128 encap seg6local action End.DT4 "
                              "vrftable 999 dev 0", "999"),
        "dt6_missing_table": ("ip -6 route add fc00::1/128 encap seg6local action End.DT6 "
                              "vrftable 999 dev 0", "999"),
        "dt46_missing_table": ("ip -6 route add fc00::1/128 encap seg6local action End.DT46 "
                               "vrftable 999 dev 0", "999"),
        "end_t_missing_table": ("ip -6 route add fc00::1/128 encap seg6local action End.T "
                                "table 999 dev 0", "999"),
        "dt4_without_table": ("ip -6 route add fc00::1/128 encap seg6local action End.DT4 dev 0",
                              "table"),
        "dx4_without_next_hop": ("ip -6 route add fc00::1/128 encap seg6local action End.DX4 "
                                 "dev 0", "nh4"),
        "dx4_with_ipv6_next_hop": ("ip -6 route add fc00::1/128 encap seg6local action End.DX4 "
                                   "nh6 2001:db8::1 dev 0", "nh"),
        "end_x_without_next_hop": ("ip -6 route add fc00::1/128 encap seg6local action End.X "
                                   "dev 0", "nh6"),
        "unknown_flavour": ("ip -6 route add fc00::1/128 encap seg6local action End "
                            "flavors nosuch dev 0", "nosuch"),
        "flavour_on_dt4": ("ip -6 route add fc00::1/128 encap seg6local action End.DT4 "
                           "vrftable 100 flavors psp dev 0", "End.DT4"),
        "sid_with_ipv4_prefix": ("ip route add 10.9.0.0/16 encap seg6local action End dev 0", ""),
        "next_csid_is_coming": ("ip -6 route add fc00::/48 encap seg6local action End "
                                "flavors next-csid lblen 32 nflen 16 dev 0", "not supported yet"),
        "headend_is_coming": ("ip route add 10.9.0.0/16 encap seg6 mode encap segs fc00::1 dev 1",
                              "not supported yet"),
        "bad_mac": ("ip neigh add 10.0.1.2 lladdr 02:00:00:00:00 dev 1", "02:00:00:00:00"),
        "multicast_mac": ("ip link set dev 0 address 01:00:5e:00:00:01", ""),
        "neighbour_without_port": ("ip neigh add 10.0.1.2 lladdr 02:00:00:00:00:99", "dev"),
        "mtu_too_small": ("ip link set dev 0 mtu 20", "mtu"),
        "mtu_no_number": ("ip link set dev 0 mtu big", "big"),
        "vlan_id_4095": ("ip link add link 0 name 0.4095 type vlan id 4095", "VLAN id"),
        "vlan_on_unknown_port": ("ip link add link 9 name 9.5 type vlan id 5", "9"),
        "vrf_twice": ("ip link add red type vrf table 100", "red"),
        "vrf_table_twice": ("ip link add green type vrf table 100", "100"),
        "address_twice": ("ip addr add 10.0.1.1/24 dev 1", "10.0.1.1"),
        "trailing_word": ("ip link set dev 0 up nosuch", "nosuch"),
        "source_of_missing_file": ("source /nonexistent/file", "/nonexistent/file"),
        "very_long_line": ("ip route add " + "1" * 5000, ""),
        "control_characters": ("ip \x01\x02\x7f", ""),
    }

    def refused(self, line, named):
        status, out, err, path = start(self.GOOD + line + "\n")
        number = self.GOOD.count("\n") + 1
        self.assertEqual(status, 1, err + out)
        message = re.search(rf"^{re.escape(path)}:{number}: (.+)$", err, re.MULTILINE)
        self.assertTrue(message, f"no 'FILE:{number}: ...' on stderr:\n{err}")
        self.assertIn(named, message[1])


for _name, (_line, _named) in BadScripts.LINES.items():
    setattr(BadScripts, f"test_{_name}",
            lambda self, line=_line, named=_named: self.refused(line, named))


class Scripts(unittest.TestCase):
    def test_missing_file(self):
        space = Workspace("", args=["--ctl=none"], vdevs=NULL)
        (space.folder / "router.conf").unlink()
        try:
            status, _, err = launch(space.command)
        finally:
            space.remove()
        self.assertEqual(status, 1, err)
        self.assertIn("router.conf", err)

    def test_good_script_without_last_newline(self):
        status, _, err, _ = start("ip addr add 10.0.1.1/24 dev 1")
        self.assertEqual(status, 0, err)

    def test_crlf_and_tabs(self):
        status, _, err, _ = start("ip\taddr  add 10.0.1.1/24\tdev 1\r\n# x\r\n\r\n")
        self.assertEqual(status, 0, err)

    def test_abbreviations(self):
        status, _, err, _ = start("ip a add 10.0.1.1/24 dev 1\nip ro add 10.2.0.0/16 via 10.0.1.2\n"
                                  "ip r\nip a\nip l\nip n\nip -4 route\nip -6 route show\n")
        self.assertEqual(status, 0, err)

    def test_source(self):
        space = Workspace("", args=["--ctl=none", "--exit-on-idle=100"], vdevs=NULL)
        other = space.folder / "other.conf"
        other.write_text("ip addr add 10.0.1.1/24 dev 1\nip addr add nonsense dev 1\n")
        (space.folder / "router.conf").write_text(f"source {other}\n")
        try:
            status, _, err = launch(space.command)
        finally:
            space.remove()
        self.assertEqual(status, 1, err)
        self.assertIn(f"{other}:2: ", err)

    def test_source_of_itself_ends(self):
        space = Workspace("", args=["--ctl=none", "--exit-on-idle=100"], vdevs=NULL)
        conf = space.folder / "router.conf"
        conf.write_text(f"source {conf}\n")
        try:
            status, _, err = launch(space.command)
        finally:
            space.remove()
        self.assertEqual(status, 1, err)


class Usage(unittest.TestCase):
    """Bad usage: one clear line, exit status 2."""

    WRONG = {
        "unknown_option": ["--nosuch"],
        "burst_0": ["--burst=0"],
        "burst_no_number": ["--burst=many"],
        "rxd_negative": ["--rxd=-1"],
        "idle_no_number": ["--exit-on-idle=soon"],
        "stray_word": ["stray"],
        "mbuf_size_0": ["--mbuf-size=0"],
        "value_missing": ["--ctl"],
    }

    def refused(self, args):
        status, out, err, _ = start("", args=["--ctl=none", *args])
        self.assertEqual(status, 2, err + out)
        self.assertIn(args[0].lstrip("-").split("=")[0], err)


for _name, _args in Usage.WRONG.items():
    setattr(Usage, f"test_{_name}", lambda self, args=_args: self.refused(args))


class Devices(unittest.TestCase):
    """What a device or the memory does not allow: a clear line, status 1, everything undone."""

    def answers(self, *args):
        status, out, err, _ = start("", args=["--ctl=none", "--exit-on-idle=100", *args])
        self.assertIn(status, (0, 1), err + out)
        return status, out + err

    def test_more_buffers_than_memory(self):
        status, words = self.answers("--total-num-mbufs=4000000")
        self.assertEqual(status, 1)
        self.assertRegex(words, "buffers|memory|mbufs")

    def test_more_queues_than_the_device_has(self):
        space = Workspace("", {0: []}, args=["--ctl=none", "--exit-on-idle=100", "--rxq=4",
                                             "--txq=4"])
        try:
            status, out, err = launch(space.command)
        finally:
            space.remove()
        self.assertIn(status, (0, 1), err + out)
        self.assertRegex(out + err, "queue")

    def test_more_descriptors_than_memory(self):
        self.answers("--rxd=32768", "--txd=32768")

    def test_memory_that_ends_half_way(self):
        """With every MiB more, start-up comes further before it fails: one line each time, and in
        the end it starts."""
        seen = set()
        for mebibytes in range(1, 17):
            status, out, err, _ = start("", args=["--ctl=none", "--exit-on-idle=50"],
                                        eal=["-m", str(mebibytes)], lcores=("--lcores",
                                                                            "0@0,1@1,2@0,3@1"))
            if status == 0:
                break
            lines = [line for line in err.splitlines() if not line.startswith("EAL:")]
            self.assertEqual((status, len(lines)), (1, 1), err)
            seen.add(lines[0].split(" ")[0])
        self.assertEqual(status, 0, err)
        self.assertGreaterEqual(len(seen), 2, "start-up always failed at the same place")

    def test_largest_packets(self):
        self.answers("--max-pkt-len=9728")

    def test_file_that_is_no_capture(self):
        space = Workspace("", {0: []}, args=["--ctl=none", "--exit-on-idle=100"])
        space.path_in(0).write_text("no capture")
        try:
            status, out, err = launch(space.command)
        finally:
            space.remove()
        self.assertEqual(status, 1, err + out)


class Ends(unittest.TestCase):
    """However it ends: final tables, status 0."""

    CONFIG = ROUTER + SIDS
    PACKETS = [p.ip4(f"11.0.0.{n}", IN4, p.UDP, p.udp(b"x")) for n in range(1, 31)]
    PACKETS.append(p.ip4("11.0.0.1", "192.0.2.1", p.UDP, p.udp(b"x")))
    FRAMES = {0: [p.eth(PORT_MAC[0], SOURCE_MAC, packet) for packet in PACKETS]}

    def tables(self, out):
        """The final tables name the ports and the drops."""
        for word in ("net_pcap0", "net_pcap3", "ip4_no_route"):
            self.assertIn(word, out)

    def test_signals(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(number.name), Router(self.CONFIG, self.FRAMES) as router:
                router.settle()
                router.process.send_signal(number)
                self.assertEqual(router.process.wait(20), 0)
                out, err = router.printed()
                self.assertIsNone(SANITIZER.search(err), err)
                self.tables(out)
                sent = [f for f in map(p.Frame, router.sent()[1]) if f.kind == p.IP4]
                self.assertEqual(len(sent), 30)
                self.assertFalse(router.path.exists(), "the control socket is left behind")

    def test_idle(self):
        space = Workspace(self.CONFIG, self.FRAMES, args=["--ctl=none", "--exit-on-idle=200"])
        try:
            status, out, err = launch(space.command)
            sent = space.sent()
        finally:
            space.remove()
        self.assertEqual(status, 0, err)
        self.tables(out)
        self.assertEqual(len([f for f in map(p.Frame, sent[1]) if f.kind == p.IP4]), 30)

    def test_idle_with_a_packet_waiting_for_a_neighbour(self):
        """What was received has been transmitted or counted before it leaves."""
        frames = {0: [p.eth(PORT_MAC[0], SOURCE_MAC, p.ip4("11.0.0.1", "10.0.1.50", p.UDP,
                                                           p.udp(b"x")))]}
        space = Workspace(self.CONFIG, frames, args=["--ctl=none", "--exit-on-idle=200"])
        try:
            status, out, err = launch(space.command)
        finally:
            space.remove()
        self.assertEqual(status, 0, err)
        self.assertIn("neigh_unresolved", out)

    def test_no_start_waits(self):
        with Router(self.CONFIG, self.FRAMES, args=["--no-start"]) as router:
            self.assertEqual(router.balance()["received"], 0)
            router.tell("start")
            router.settle()
            router.finish()


class ControlSocket(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.router = Router(ROUTER + SIDS, {}, vdevs=NULL)
        cls.router.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.router.close()

    def test_mode(self):
        mode = stat.S_IMODE(os.stat(self.router.path).st_mode)
        self.assertEqual(mode, 0o600)

    def test_json_shapes(self):
        keys = {
            "show port stats all": {"port", "name", "rx_packets", "rx_bytes", "rx_missed",
                                    "rx_nombuf", "tx_packets", "tx_bytes", "tx_dropped"},
            "show pool": {"name", "socket", "size", "data_room", "in_use", "alloc_cached",
                          "alloc_slow", "alloc_failed", "recycled_cached", "recycled_slow"},
            "show sid": {"sid", "action", "packets", "bytes", "errors"},
            "show lcore": {"lcore", "queues", "packets", "drops", "cycles_per_packet",
                           "busy_percent"},
            "ip route show": {"dst"}, "ip neigh show": {"dst", "dev", "lladdr"},
            "ip addr show": {"ifname", "addr_info"},
        }
        for command, wanted in keys.items():
            with self.subTest(command):
                document = self.router.ask(command)
                self.assertTrue(document)
                for entry in document:
                    self.assertLessEqual(wanted, set(entry))
        self.assertEqual(self.router.ask("show drops"), {})

    def test_every_show_answers_in_both_forms(self):
        for command in ("show port info all", "show port xstats all", "show version", "show config",
                        "show balance", "show lcore", "ip link show", "ip route show vrf red",
                        "ip route show table 100", "ip route get 10.1.2.3",
                        "ip route get 10.1.2.3 vrf red", "ip -6 route show",
                        "trace show", "ip sr tunsrc show", "help", "help ip"):
            with self.subTest(command):
                status, out, err = self.router.try_ctl(command, json_wanted=False)
                self.assertEqual((status, err), (0, ""))
                if not command.startswith(("help", "trace")):
                    self.assertTrue(out.strip(), "no answer")
                status, out, err = self.router.try_ctl(command)
                self.assertEqual(status, 0, err)
                if command != "show config" and not command.startswith("help"):
                    json.loads(out)

    def test_bad_command(self):
        status, out, err = self.router.try_ctl("ip route add 10.9.0.0/16 via 10.77.0.1",
                                               json_wanted=False)
        self.assertEqual((status, out), (1, ""))
        self.assertIn("10.77.0.1", err)
        self.assertEqual(err.count("\n"), 1)

    def test_messages_name_the_mistake(self):
        sid = "ip -6 route add fc00::77/128 encap seg6local action "
        for command, message in {
            "ip link add green type vrf table 255": "table 255 already belongs to local",
            sid + "End.DT4 dev 0": "End.DT4 needs vrftable or table",
            sid + "End.DT4 vrftable red dev 0": "'red' is no table number",
            sid + "End.DT4 vrftable 100 flavors psp dev 0": "End.DT4 takes no flavors (psp)",
            "trace add": "trace add: a number of packets is missing",
            "trace add 0": "'0' is not 1 to 1000",
            "save /nonexistent/x": "/nonexistent/x: No such file or directory",
        }.items():
            with self.subTest(command):
                status, _, err = self.router.try_ctl(command, json_wanted=False)
                self.assertEqual(status, 1)
                self.assertIn(message, err)

    def test_deleted_neighbour_of_a_route_is_not_shown(self):
        def shown():
            return {entry["dst"] for entry in self.router.ask("ip neigh show")}

        self.assertIn("10.0.3.2", shown())
        self.router.tell("ip neigh del 10.0.3.2 dev 3")
        self.assertNotIn("10.0.3.2", shown())
        status, _, err = self.router.try_ctl("ip neigh del 10.0.3.2 dev 3", json_wanted=False)
        self.assertEqual(status, 1)
        self.assertIn("no such neighbour", err)
        self.router.tell("ip neigh add 10.0.3.2 lladdr 02:00:00:00:03:02 dev 3")
        self.assertIn("10.0.3.2", shown())

    def test_route_get_of_a_sid_names_its_behaviour(self):
        sid = self.router.ask("show sid")[0]
        command = f"ip -6 route get {sid['sid'].split('/')[0]}"
        self.assertEqual(self.router.ask(command)[0]["action"], sid["action"])
        _, out, _ = self.router.try_ctl(command, json_wanted=False)
        self.assertIn(f"matched {sid['sid']}, SID {sid['action']}", out)

    def test_port_that_is_administratively_down(self):
        for word, up in (("down", False), ("up", True)):
            self.router.tell(f"ip link set dev 3 {word}")
            self.assertIs(self.router.ask("show port info 3")[0]["admin_up"], up)
            _, out, _ = self.router.try_ctl("show port info 3", json_wanted=False)
            self.assertEqual("administratively down" in out, not up)

    def test_standard_input_stops_at_first_error(self):
        lines = ("ip route add 10.91.0.0/16 via 10.0.1.2\nnonsense\n"
                 "ip route add 10.92.0.0/16 via 10.0.1.2\n")
        status, _, err = self.router.try_ctl("", json_wanted=False, lines=lines)
        self.assertEqual(status, 1)
        self.assertIn("nonsense", err)
        known = {route["dst"] for route in self.router.ask("ip route show")}
        self.assertIn("10.91.0.0/16", known)
        self.assertNotIn("10.92.0.0/16", known)

    def test_nobody_listens(self):
        status, _, err = launch([noref_ctl(),
                                 "-s", "/nonexistent/noref.sock", "show", "version"])
        self.assertEqual(status, 1)
        self.assertIn("/nonexistent/noref.sock", err)

    def test_rude_clients(self):
        """Endless lines, half lines, zero bytes, clients that hang up: others are served."""
        for data in (b"x" * 200000, b"show version", b"\0" * 100 + b"\n", b"\n" * 5000,
                     b"show config\n" * 2000, os.urandom(5000) + b"\n"):
            client = socket.socket(socket.AF_UNIX)
            client.settimeout(5)
            client.connect(str(self.router.path))
            try:
                client.sendall(data)
            except (BrokenPipeError, ConnectionResetError, socket.timeout):
                pass
            client.close()
            self.assertEqual(self.router.try_ctl("show version")[0], 0)

    def test_slow_reader_holds_up_nobody(self):
        clients = [socket.socket(socket.AF_UNIX) for _ in range(4)]
        for client in clients:
            client.connect(str(self.router.path))
            client.setblocking(False)
            try:
                client.sendall(b"show config\n" * 500)
            except BlockingIOError:
                pass
        self.assertEqual(self.router.try_ctl("show version")[0], 0)
        for client in clients:
            client.close()
        self.assertEqual(self.router.try_ctl("show version")[0], 0)

    def test_config_rebuilds_the_state(self):
        """`show config` fed to a fresh router gives the same `show config`."""
        config = self.router.tell("show config")
        with Router(config, {}, vdevs=NULL) as second:
            self.assertEqual(second.tell("show config"), config)
            for command in ("ip route show", "ip -6 route show", "ip addr show", "show sid",
                            "ip route show vrf red", "ip -6 route show vrf blue"):
                self.assertEqual(second.ask(command), self.router.ask(command), command)
            second.tell("quit")


class SocketFile(unittest.TestCase):
    def test_other_file_is_not_replaced(self):
        space = Workspace("", args=["--exit-on-idle=100"], vdevs=NULL)
        (space.folder / "precious").write_text("keep me")
        space.command.append(f"--ctl={space.folder / 'precious'}")
        try:
            status, _, err = launch(space.command)
            kept = (space.folder / "precious").read_text()
        finally:
            space.remove()
        self.assertEqual(status, 1, err)
        self.assertEqual(kept, "keep me")
        self.assertIn("precious", err)

    def test_dead_socket_is_replaced(self):
        space = Workspace("", args=["--exit-on-idle=100"], vdevs=NULL)
        path = space.folder / "dead.sock"
        dead = socket.socket(socket.AF_UNIX)
        dead.bind(str(path))
        dead.close()
        space.command.append(f"--ctl={path}")
        try:
            status, _, err = launch(space.command)
        finally:
            space.remove()
        self.assertEqual(status, 0, err)
