# SPDX-License-Identifier: BSD-3-Clause
"""The packets of every profile, byte by byte, for defaults and for every tunable."""

import argparse
import collections
import struct
import subprocess
import sys
import unittest

import profiles
from profiles import NAMES, PROFILES, api, frames, load, parse

DX4, DT4, END = "fc00:0:1:d4::", "fc00:0:1:100::", "fc00:0:1:e::"


def values(parsed, name):
    return [one[name] for one in parsed]


def parsed(name, *tunables, count=50):
    return [parse(frame) for frame in frames(name, *tunables, count=count)]


class Defaults(unittest.TestCase):
    def test_every_profile_loads(self):
        """With no tunables at all, as TRex loads one when it only lists it."""
        for name in NAMES:
            with self.subTest(name):
                self.assertTrue(load(name))
                self.assertTrue(parsed(name))

    def test_all_profiles_are_tested(self):
        found = {path.stem for path in PROFILES.glob("*.py")} - {"noref_traffic"}
        self.assertEqual(found, set(NAMES))

    def test_every_positional_argument_has_a_default(self):
        """TRex refuses a profile whose get_streams() has one without."""
        for name in NAMES:
            load(name)
            function = sys.modules[name].register().get_streams.__func__
            self.assertEqual(len(function.__defaults__), function.__code__.co_argcount - 1)

    def test_addresses_are_left_to_port_info(self):
        for name in NAMES:
            for stream in load(name):
                self.assertFalse(stream.addresses_given(), name)
        first = parse(load("srv6_decap")[0].frames(1, "02:00:00:00:00:aa", "02:00:00:00:00:bb")[0])
        self.assertEqual((first["dst_mac"].hex(), first["src_mac"].hex()),
                         ("0200000000aa", "0200000000bb"))

    def test_tunables_by_name(self):
        """From Python, where TRex makes options of them, and without TRex in between."""
        streams = api.STLProfile.load(str(PROFILES / "srv6_decap.py"), size=100).get_streams()
        self.assertEqual(len(streams[0].get_pkt()), 100)
        streams = sys.modules["srv6_decap"].register().get_streams(size=110, inner_sources=3, port_id=1)
        self.assertEqual(len({frame[54 + 12:54 + 16] for frame in streams[0].frames(9)}), 3)

    def test_help_is_no_error(self):
        done = subprocess.run([sys.executable, "-c", f"""
import sys; sys.path[:0] = [{str(profiles.HERE / 'standin')!r}]
from trex.stl.api import STLProfile
print(STLProfile.load({str(PROFILES / 'srv6_srh.py')!r}, tunables=['--help']))"""],
                              stdout=subprocess.PIPE, text=True)
        self.assertIn("--segments N", done.stdout)
        self.assertTrue(done.stdout.endswith("None\n"), done.stdout[-200:])

    def test_without_trex(self):
        """The message says what is missing and where to get it."""
        done = subprocess.run([sys.executable, str(PROFILES / "srv6_decap.py")], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 1)
        last = done.stderr.strip().splitlines()[-1]
        self.assertIn("https://trex-tgn.cisco.com/trex/release/", last)
        self.assertIn("trex-console", last)


class Decap(unittest.TestCase):
    def test_the_kernel_patchs_frame(self):
        """82 bytes, 86 with FCS: on 10 Gbit/s with 20 bytes between frames, 11.79 Mpps."""
        stream, = load("srv6_decap")
        self.assertEqual((stream.get_pkt_len(count_crc=False), stream.get_pkt_len()), (82, 86))
        self.assertAlmostEqual(1e10 / 8 / (stream.get_pkt_len() + 20) / 1e6, 11.79, places=2)
        one = parse(stream.get_pkt())
        self.assertNotIn("segments", one)
        self.assertEqual((one["src6"], one["dst6"], one["src4"], one["dst4"], one["sport"], one["dport"]),
                         ("fc00:0:0:1::1000", DX4, "198.51.100.1", "10.9.0.1", 40000, 40001))
        self.assertNotEqual(one["udp_checksum"], 0)

    def test_only_outer_sources_vary(self):
        frames_ = frames("srv6_decap", count=2100)
        self.assertEqual(len({frame[22:38] for frame in frames_}), 1024)
        self.assertEqual(len({frame[:22] + frame[38:] for frame in frames_}), 1)

    def test_rss_spreads_them_evenly(self):
        """By the key that ixgbe sets, over the 128 entries of the 82599's table."""
        key = int("6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b477cb2da38030f20c6a42b73bbeac01fa", 16)

        def entry(data):
            bits, result = int.from_bytes(data, "big"), 0
            for place in range(256):
                if bits >> (255 - place) & 1:
                    result ^= key >> (320 - 32 - place) & 0xFFFFFFFF
            return result % 128
        entries = collections.Counter(entry(frame[22:54]) for frame in frames("srv6_decap", count=1024))
        self.assertEqual((len(entries), set(entries.values())), (128, {8}))

    def test_latency_stream(self):
        """TRex writes 16 bytes at the end, so they must be payload, and no checksum may cover them."""
        plain, stream = load("srv6_decap", "--latency", "500")
        self.assertIsNone(plain.flow_stats)
        self.assertIsInstance(stream.flow_stats, api.STLFlowLatencyStats)
        self.assertEqual(stream.fields["mode"]["rate"]["value"], 500)
        one = parse(stream.get_pkt())
        self.assertEqual((one["size"], one["udp_checksum"]), (98, 0))


class Srh(unittest.TestCase):
    def test_used_up(self):
        """Segments left 0: the destination is the last segment, which is entry 0."""
        for stream, sid in zip(load("srv6_srh"), (DX4, DT4), strict=True):
            one = parse(stream.get_pkt())
            self.assertEqual((one["size"], one["left"], one["dst6"]), (138, 0, sid))
            self.assertEqual(one["segments"], [sid, "fc00:0:2:1::", "fc00:0:2:2::"])
            self.assertEqual(stream.get_pkt_len(), 142)

    def test_bytes_of_the_header(self):
        srh = load("srv6_srh", "--segments", "2", "--action", "dx4")[0].get_pkt()[54:94]
        self.assertEqual(srh.hex(), "0404040001000000" + "fc0000000001" + "00d4" + "00" * 8
                         + "fc00000000020001" + "00" * 8)

    def test_left(self):
        one = parse(load("srv6_srh", "--segments", "4", "--left", "2")[0].get_pkt())
        self.assertEqual((one["left"], one["dst6"]), (2, END))
        self.assertEqual(one["segments"], [DX4, END, END, "fc00:0:2:1::"])

    def test_one_segment_is_enough(self):
        one = parse(load("srv6_srh", "--segments", "1")[0].get_pkt())
        self.assertEqual((one["segments"], one["size"]), ([DX4], 106))


class Imix(unittest.TestCase):
    def test_sizes_and_shares(self):
        streams = load("srv6_imix")
        self.assertEqual([(len(stream.get_pkt()), stream.fields["mode"]["rate"]["value"])
                          for stream in streams], [(82, 7), (590, 4), (1514, 1)])

    def test_with_srh(self):
        one = parse(load("srv6_imix", "--segments", "2", "--mix", "122x1")[0].get_pkt())
        self.assertEqual((one["size"], one["left"], len(one["segments"])), (122, 0, 2))


class Flood(unittest.TestCase):
    def test_flows(self):
        """200 sources and 1009 source ports are relatively prime: no pair comes twice."""
        count = 5000
        found = parsed("udp_flood", count=count)
        self.assertEqual({(one["size"], one["dst4"], one["dport"]) for one in found},
                         {(60, "10.0.0.1", 5000)})
        self.assertEqual(len(set(values(found, "src4"))), 200)
        self.assertEqual(len({(one["src4"], one["sport"]) for one in found}), count)

    def test_ipv6(self):
        found = parsed("udp_flood", "--destination", "fc00:0:0:1::1")
        self.assertEqual({(one["size"], one["dst6"]) for one in found}, {(62, "fc00:0:0:1::1")})
        self.assertEqual(len({one["src6"] for one in found}), 50)


class Varied(unittest.TestCase):
    """What counts up: so many different values, from the first on, and over again."""

    def counted(self, profile, tunable, name, first, more=()):
        for count in (1, 2, 7):
            found = values(parsed(profile, *more, tunable, str(count), count=2 * count + 1), name)
            per_stream = 2 * count + 1
            for start in range(0, len(found), per_stream):
                part = found[start:start + per_stream]
                self.assertEqual(len(set(part)), count, (profile, tunable))
                self.assertEqual(part[0], first)
                self.assertEqual(part[count:2 * count], part[:count])

    def test_tunnels(self):
        for profile in ("srv6_decap", "srv6_srh", "srv6_imix"):
            with self.subTest(profile):
                self.counted(profile, "--sources", "src6", "fc00:0:0:1::1000")
                self.counted(profile, "--inner-sources", "src4", "198.51.100.1")
                self.counted(profile, "--inner-destinations", "dst4", "10.9.0.1")

    def test_flood(self):
        self.counted("udp_flood", "--sources", "src4", "10.0.0.2")
        self.counted("udp_flood", "--sources", "src6", "fc00:0:0:1::2", ["--destination", "fc00::1"])
        self.counted("udp_flood", "--source-ports", "sport", 1024)
        self.counted("udp_flood", "--ports", "dport", 5000)

    def test_whole_range(self):
        found = values(parsed("srv6_decap", "--source", "fc00::1:0", "--sources", "65536", count=65536),
                       "src6")
        self.assertEqual((found[0], found[-1], len(set(found))), ("fc00::1:0", "fc00::1:ffff", 65536))


# Each tunable of each profile: options, and what they make of some field in all frames.
TUNNEL = {
    "--cache": (["--cache", "77"], None, None),
    "--source": (["--source", "fc00::99", "--sources", "1"], "src6", "fc00::99"),
    "--sources": (["--sources", "1"], "src6", "fc00:0:0:1::1000"),
    "--inner-source": (["--inner-source", "198.51.100.77"], "src4", "198.51.100.77"),
    "--inner-sources": (["--inner-sources", "1"], "src4", "198.51.100.1"),
    "--inner-destination": (["--inner-destination", "10.9.8.7"], "dst4", "10.9.8.7"),
    "--inner-destinations": (["--inner-destinations", "1"], "dst4", "10.9.0.1"),
    "--inner-port": (["--inner-port", "7"], "dport", 8),
}
TUNABLES = {
    "srv6_decap": {
        **TUNNEL,
        "--action": (["--action", "dt4"], "dst6", DT4),
        "--sid": (["--sid", "fc00::5"], "dst6", "fc00::5"),
        "--size": (["--size", "600"], "size", 600),
        "--latency": (["--latency", "9", "--size", "200"], "size", 200),
    },
    "srv6_srh": {
        **TUNNEL,
        "--action": (["--action", "dt4"], "dst6", DT4),
        "--sids": (["--sids", "fc00::5,fc00::5"], "dst6", "fc00::5"),
        "--segments": (["--segments", "5"], "size", 170),
        "--left": (["--left", "1"], "dst6", END),
        "--end-sid": (["--left", "1", "--end-sid", "fc00::e"], "dst6", "fc00::e"),
        "--size": (["--size", "600"], "size", 600),
    },
    "srv6_imix": {
        **TUNNEL,
        "--action": (["--action", "dx4"], "dst6", DX4),
        "--sid": (["--sid", "fc00::5"], "dst6", "fc00::5"),
        "--mix": (["--mix", "100x1,100x2"], "size", 100),
        "--segments": (["--segments", "1", "--mix", "300x1"], "left", 0),
    },
    "udp_flood": {
        "--cache": (["--cache", "77"], None, None),
        "--destination": (["--destination", "10.9.0.1"], "dst4", "10.9.0.1"),
        "--port": (["--port", "53"], "dport", 53),
        "--ports": (["--ports", "1"], "dport", 5000),
        "--source": (["--source", "10.0.0.9", "--sources", "1"], "src4", "10.0.0.9"),
        "--sources": (["--sources", "1"], "src4", "10.0.0.2"),
        "--source-port": (["--source-port", "9", "--source-ports", "1"], "sport", 9),
        "--source-ports": (["--source-ports", "1"], "sport", 1024),
        "--size": (["--size", "1514"], "size", 1514),
        "--checksum": (["--checksum", "zero"], "udp_checksum", 0),
    },
}


class Tunables(unittest.TestCase):
    def test_each(self):
        for profile, tunables in TUNABLES.items():
            for tunable, (options, name, wanted) in tunables.items():
                with self.subTest(f"{profile} {tunable}"):
                    found = parsed(profile, *options)
                    if name:
                        self.assertEqual(set(values(found, name)), {wanted})

    def test_all_are_there(self):
        for name in NAMES:
            load(name)
            parser = argparse.ArgumentParser(add_help=False)
            sys.modules[name].register().tunables(parser)
            options = {action.option_strings[0] for action in parser._actions} | {"--cache"}
            self.assertEqual(options, set(TUNABLES[name]), name)

    def test_cache(self):
        for name in NAMES:
            self.assertEqual({stream.packet.vm.cache_size for stream in load(name)}, {None})
            self.assertEqual({stream.packet.vm.cache_size for stream in load(name, "--cache", "77")},
                             {77})

    def test_checksum_by_nic(self):
        for destination in ("10.0.0.1", "fc00::1"):
            found = parsed("udp_flood", "--checksum", "nic", "--destination", destination)
            self.assertNotIn(0, values(found, "udp_checksum"))

    def test_refused(self):
        """In words that name the tunable."""
        for profile, options, words in (
                ("srv6_decap", "--size 81", "81 is not in 82 to"),
                ("srv6_decap", "--sources 0", "0 is not in 1 to 65536"),
                ("srv6_decap", "--sid 10.0.0.1", "invalid IPv6 address"),
                ("srv6_decap", "--source fc00::ffff", "do not fit into its last 16 bits"),
                ("srv6_decap", "--bogus 1", "unrecognized arguments: --bogus"),
                ("srv6_srh", "--segments 2 --left 2", "at most 1 left"),
                ("srv6_srh", "--size 100", "these headers alone take 138 bytes"),
                ("srv6_imix", "--mix 82", "'82' is not SIZExSHARE"),
                ("srv6_imix", "--mix 60x1", "these headers alone take 82 bytes"),
                ("srv6_imix", "--mix 82x7,10000x1", "10000 bytes are more than"),
                ("udp_flood", "--destination fc00::1 --checksum zero", "IPv6 has no UDP without"),
                ("udp_flood", "--destination fc00::1 --source 10.0.0.2", "different versions"),
                ("udp_flood", "--source-port 65000", "source-ports: 1009 from 65000 on")):
            with self.subTest(f"{profile} {options}"), self.assertRaises(api.TRexError) as caught:
                load(profile, *options.split())
            self.assertIn(words, str(caught.exception))
            self.assertIn("TunableError", str(caught.exception))


class StandIn(unittest.TestCase):
    """What checks the profiles must itself fail when a frame is wrong."""

    def test_a_wrong_byte_is_found(self):
        frame = frames("srv6_srh", "--inner-sources", "5", "--size", "200", count=1)[0]
        parse(frame)
        # Lengths, next headers, the active segment, checksums; not addresses of the outer header.
        for place in (14, 18, 20, 54, 55, 56, 57, 58, 38, 110, 112, 118, 119, 120, 122, 134):
            broken = bytearray(frame)
            broken[place] ^= 1
            with self.assertRaises((profiles.Wrong, IndexError, struct.error),
                                   msg=f"byte {place}"):
                parse(bytes(broken))
