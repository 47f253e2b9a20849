# SPDX-License-Identifier: BSD-3-Clause
"""The search for the highest rate: against devices of known capacity, and as a command."""

import contextlib
import io
import json
import os
import pathlib
import random
import statistics
import tempfile
import unittest
from unittest import mock

import profiles  # noqa: F401  (makes the modules below found)
from rate_search import algorithm, cli, generator, report, router
from rate_search.algorithm import DEVICE, GENERATOR, LINE, Limits, SearchError, Trial
from trex.stl import api

import harness

LINE_RATE = 11.79e6


class Device:
    """A router that carries capacity packets/s behind a generator that sends so many at most.

    base: share it always loses; noise: standard deviation of its capacity, as a share; hiccups:
    numbers of the trials in which it loses a tenth."""

    def __init__(self, capacity, cap=1e9, base=0.0, noise=0.0, hiccups=(), seconds=10):
        self.capacity, self.cap, self.base, self.noise = capacity, cap, base, noise
        self.hiccups, self.seconds = set(hiccups), seconds
        self.random = random.Random(82599)
        self.trials = 0

    def __call__(self, rate):
        self.trials += 1
        capacity = self.capacity * (1 + self.random.gauss(0, self.noise))
        sent = min(rate, self.cap)
        received = min(sent, capacity) * (1 - self.base)
        if self.trials in self.hiccups:
            received *= 0.9
        return Trial(rate, round(rate * self.seconds), round(sent * self.seconds),
                     round(received * self.seconds))


class Search(unittest.TestCase):
    limits = Limits(LINE_RATE)

    def near(self, found, rate, within):
        self.assertLess(abs(found - rate) / rate, within, f"{found / 1e6:.3f} for {rate / 1e6:.3f}")

    def test_converges(self):
        """The rate at which 0.5 % are lost is a little above what the device carries."""
        for capacity in (0.05e6, 0.5e6, 3.305e6, 7.394e6, 11.7e6):
            device = Device(capacity)
            found = algorithm.search(device, self.limits)
            wanted = capacity / 0.995
            self.assertEqual(found.limit, DEVICE)
            self.assertLessEqual(found.rate, wanted)
            self.near(found.rate, wanted, 0.0051)
            self.assertLessEqual(device.trials, 17)
            self.assertEqual(len(found.trials), device.trials)

    def test_other_limits(self):
        found = algorithm.search(Device(5e6), Limits(LINE_RATE, loss=0.1, precision=0.0005))
        self.near(found.rate, 5e6 / 0.9, 0.0006)

    def test_line_rate_without_loss_is_one_trial(self):
        device = Device(20e6)
        found = algorithm.search(device, self.limits)
        self.assertEqual((found.rate, found.limit, device.trials), (LINE_RATE, LINE, 1))

    def test_never_without_loss(self):
        with self.assertRaisesRegex(SearchError, r"more than 0.50% are lost even at"):
            algorithm.search(Device(5e6, base=0.01), self.limits)

    def test_nothing_comes_back(self):
        with self.assertRaisesRegex(SearchError, r" 0 of \d+ came back"):
            algorithm.search(Device(0), self.limits)

    def test_nothing_is_sent(self):
        with self.assertRaisesRegex(SearchError, "the generator sends only"):
            algorithm.search(Device(5e6, cap=100), self.limits)

    def test_generator_in_low_end_mode(self):
        """It is asked for more than it sends: all it sends comes back, and still it is lost."""
        found = algorithm.search(Device(20e6, cap=2e6), self.limits)
        self.near(found.rate, 2e6 / 0.995, 0.0051)
        self.assertEqual(found.limit, GENERATOR)
        self.assertEqual(found.trials[0].sent, found.trials[0].received)

    def test_generator_just_above_the_device(self):
        self.assertEqual(algorithm.search(Device(5e6, cap=5.5e6), self.limits).limit, DEVICE)

    def test_hints(self):
        """A good one saves trials, a bad one does not lead astray."""
        for hint, trials in ((7.43e6, 6), (7.0e6, 9), (8.0e6, 10), (0.1e6, 24), (11.7e6, 16), (50e6, 16)):
            device = Device(7.394e6)
            found = algorithm.search(device, self.limits, hint)
            self.near(found.rate, 7.394e6 / 0.995, 0.0051)
            self.assertLessEqual(device.trials, trials, hint)
        device = Device(20e6)
        self.assertEqual(algorithm.search(device, self.limits, 11e6).rate, LINE_RATE)
        with self.assertRaises(SearchError):
            algorithm.search(Device(5e6, base=0.01), self.limits, 5e6)

    def test_noise(self):
        device = Device(7.394e6, noise=0.01)
        result = algorithm.repeat(device, self.limits, 10)
        self.near(result.median, 7.394e6 / 0.995, 0.015)
        self.assertEqual(len(result.rates), 10)
        self.assertEqual(result.median, statistics.median(result.rates))
        self.assertTrue(0 < result.spread < 0.06, result.spread)
        self.assertLess(device.trials, 100)

    def test_hiccups_do_not_move_the_median(self):
        """Of the third trial of the first search, and of a later one's."""
        for hiccups in ((3,), (14,), (3, 21)):
            result = algorithm.repeat(Device(7.394e6, hiccups=hiccups), self.limits, 10)
            self.near(result.median, 7.394e6 / 0.995, 0.0051)

    def test_trial(self):
        self.assertAlmostEqual(Trial(1, 1000, 900, 850).loss, 0.15)
        self.assertAlmostEqual(Trial(1, 1000, 900, 850).shortfall, 0.1)
        self.assertEqual(Trial(1, 1000, 1001, 1002).loss, 0)  # a neighbour's question beside them
        self.assertEqual(Trial(0, 0, 0, 0).loss, 1)


class WhereLost(unittest.TestCase):
    def counters(self, **changed):
        values = {"received": 0, "missed": 0, "no_buffer": 0, "errors": 0, "transmitted": 0,
                  "drops": {}, "balance": {}, **changed}
        return router.Counters(**values)

    def test_every_place(self):
        before = self.counters(received=50, missed=5, drops={"ip4_ttl": 1, "tx_full": 3})
        after = self.counters(received=850, missed=25, no_buffer=3, errors=2, transmitted=790,
                              drops={"ip4_ttl": 1, "tx_full": 8, "ip4_no_route": 5})
        self.assertEqual(router.where_lost(before, after, 1000, 900, 60, 780), {
            "given up by TRex, its queue full (m_total_queue_drop)": 60,
            "not sent by TRex in time": 40,
            "between TRex and noref": 75,
            "missed by noref's NIC, no worker in time (rx_missed)": 20,
            "received by noref without a buffer (rx_nombuf)": 3,
            "received by noref in error (rx_errors)": 2,
            "dropped by noref (tx_full)": 5,
            "dropped by noref (ip4_no_route)": 5,
            "between noref and TRex": 10,
        })

    def test_nowhere(self):
        after = self.counters(received=1000, transmitted=1000)
        self.assertEqual(router.where_lost(self.counters(), after, 1000, 1000, 0, 1000), {})

    def test_account(self):
        balance = dict(received=9, originated=1, transmitted=6, delivered=1, dropped=1, held=1)
        self.assertEqual(self.counters(balance=balance).unbalanced(), 1)


class Generator(unittest.TestCase):
    def make(self, **simulation):
        api.STLClient.simulation = api.Simulation(**simulation)
        return generator.Generator(api, sleep=lambda seconds: None)

    def test_counts(self):
        with self.make(capacity=3e6, generator=4e6) as trex:
            trex.load(profiles.PROFILES / "srv6_decap.py", ["--action", "dt4"])
            self.assertEqual(trex.run(5e6, 10), generator.Sent(40_000_000, 30_000_000, 10_000_000))
            self.assertEqual(trex.run(1e6, 1), generator.Sent(1_000_000, 1_000_000, 0))

    def test_sizes_count_the_fcs(self):
        with self.make() as trex:
            trex.load(profiles.PROFILES / "srv6_decap.py", [])
            self.assertEqual(trex.frame_size(), 86)
            self.assertAlmostEqual(trex.line_rate() / 1e6, 11.79, places=2)
            trex.load(profiles.PROFILES / "srv6_imix.py", [])
            self.assertAlmostEqual(trex.frame_size(), (86 * 7 + 594 * 4 + 1518) / 12)

    def test_destination(self):
        with self.make() as trex:
            trex.send_to("02:00:00:00:00:99")
            self.assertNotIn("set_l2_mode", trex.client.sim.calls)
            trex.send_to("02:00:00:00:00:42")
            self.assertEqual(trex.client.destination[0], "02:00:00:00:00:42")
            self.assertFalse(trex.client.service)

    def test_promiscuous_where_it_can_be(self):
        for can in ("yes", "no"):
            with self.make(promiscuous=can) as trex:
                self.assertEqual("set_port_attr" in trex.client.sim.calls, can == "yes")

    def test_disconnects(self):
        with self.assertRaises(ZeroDivisionError), self.make() as trex:
            raise ZeroDivisionError
        self.assertEqual(trex.client.sim.calls[-1], "disconnect")

    def test_errors(self):
        with self.assertRaisesRegex(SearchError, r"TRex at 127.0.0.1: .*connect failed. Does t-rex-64"):
            with self.make(fails=["connect"]):
                pass
        with self.make(fails=["start"]) as trex:
            trex.load(profiles.PROFILES / "srv6_decap.py", [])
            with self.assertRaisesRegex(SearchError, r"TRex, start: .*start failed"):
                trex.run(1e6, 1)
        with self.make() as trex:
            with self.assertRaisesRegex(SearchError, "0 is not in 1 to"):
                trex.load(profiles.PROFILES / "srv6_decap.py", ["--sources", "0"])
            with self.assertRaisesRegex(SearchError, "does not exist"):
                trex.load(profiles.PROFILES / "none.py", [])
            with contextlib.redirect_stdout(io.StringIO()):
                with self.assertRaisesRegex(SearchError, "no streams"):
                    trex.load(profiles.PROFILES / "srv6_decap.py", ["--help"])

    def test_no_trex(self):
        with self.assertRaisesRegex(SearchError, r"/nowhere/automation/.* does not exist. TRex 3.x is at"):
            generator.client_api("/nowhere")


class Table(unittest.TestCase):
    def row(self, queues, action, rates, limit=DEVICE, cores=None):
        return {"queues": queues, "cores": cores or queues, "action": action, "rates": rates,
                "limit": limit}

    def test_kernel_alone(self):
        self.assertIn("| 10 | 10 | 6.118 > 7.394 | - | 4.328 > 4.588 | - |", report.table([]))

    def test_rows(self):
        rows = [self.row(1, "dx4", [9.8e6, 9.9e6, 9.7e6]), self.row(1, "dt4", [9e6, 9.1e6], LINE),
                self.row(2, "dx4", [2e6], GENERATOR, cores=1)]
        text = report.table(rows)
        self.assertIn("| 1 | 1 | 0.791 > 0.811 | 9.800 (9.700 to 9.900) | 0.481 > 0.489 | "
                      "9.050 (9.000 to 9.100) (L) |", text)
        self.assertIn("| 2 | 1 | - | 2.000 (2.000 to 2.000) (G) | - | - |", text)
        self.assertIn("| 16 | 16 | 3.305 > 10.205 | - | 3.351 > 7.153 | - |", text)
        self.assertIn("the limit was TRex", text)

    def test_a_row_is_replaced(self):
        rows = report.add([], self.row(1, "dx4", [1e6]))
        rows = report.add(rows, self.row(1, "dt4", [2e6]))
        rows = report.add(rows, self.row(1, "dx4", [3e6]))
        self.assertEqual([(row["action"], row["rates"]) for row in rows],
                         [("dt4", [2e6]), ("dx4", [3e6])])

    def test_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "results.json"
            self.assertEqual(report.load(path), [])
            report.store(path, [self.row(1, "dx4", [1e6])])
            self.assertEqual(report.load(path), [self.row(1, "dx4", [1e6])])
            for content in ("{", "{}", "[1]", '[{"queues": 1}]'):
                path.write_text(content)
                with self.assertRaises(SearchError):
                    report.load(path)


class Command(unittest.TestCase):
    """tools/trex/search as a whole: a simulated TRex, and a noref that has no packets."""

    @classmethod
    def setUpClass(cls):
        cls.noref = harness.Router("", {}, ports=2)
        cls.addClassCleanup(cls.noref.close)
        cls.noref.until(cls.noref.answers, "the control socket to answer")

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.results = pathlib.Path(folder.name) / "results.json"

    def search(self, *words, ctl=None, **simulation):
        """(exit status, stdout, stderr)."""
        api.STLClient.simulation = self.simulation = api.Simulation(**simulation)
        ctl = ctl or f"{harness.noref_ctl()} -s {self.noref.path}"
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), \
                mock.patch.object(generator, "SETTLE", 0), mock.patch.dict(os.environ):
            os.environ.pop("TREX_DIR", None)
            status = cli.main([f"--results={self.results}", f"--ctl={ctl}", "--runs=3",
                               "--seconds=1", *words])
        return status, out.getvalue(), err.getvalue()

    def test_table(self):
        status, out, err = self.search(capacity=4e6)
        self.assertEqual((status, err), (0, ""))
        self.assertIn("1 queues on 1 cores, frames of 86 bytes with FCS, at most 11.792 Mpps", out)
        self.assertRegex(out, r"\| 1 \| 1 \| 0.791 > 0.811 \| 4\.0\d\d \(.*\) \| 0.481 > 0.489 \| 4\.0\d\d")
        self.assertIn("between TRex and noref", out)  # where the simulated router loses them
        rows = json.loads(self.results.read_text())
        self.assertEqual([(row["queues"], row["cores"], row["action"], row["limit"]) for row in rows],
                         [(1, 1, "dt4", DEVICE), (1, 1, "dx4", DEVICE)])
        self.assertEqual(self.simulation.calls[-1], "disconnect")
        status, again, _ = self.search("--table")
        self.assertEqual((status, again.strip()), (0, out[out.index("| queues"):].strip()))

    def test_noref_is_configured(self):
        """With TRex's own MAC addresses; a second search finds everything there."""
        for _ in range(2):
            self.assertEqual(self.search("--action=dx4", "--max-rate=1e6")[0], 0)
            config = self.noref.tell("show config").splitlines()
            for line in (profiles.TREX / "router.conf").read_text().splitlines():
                if line and not line.startswith("#"):
                    self.assertIn(line, config)
        self.noref.tell("ip neigh replace 10.0.1.2 lladdr 02:00:00:00:00:66 dev 1")
        self.assertEqual(self.search("--action=dx4", "--max-rate=1e6")[0], 0)
        self.assertIn("ip neigh add 10.0.1.2 lladdr 02:00:00:00:01:01 dev 1",
                      self.noref.tell("show config").splitlines())
        self.assertIn("set_l2_mode", self.simulation.calls)  # TRex sends to noref's port

    def test_low_end(self):
        status, out, _ = self.search("--action=dx4", capacity=9e6, generator=2e6)
        self.assertEqual(status, 0)
        self.assertIn("given up by TRex, its queue full (m_total_queue_drop)", out)
        self.assertIn("TRex's limit, not noref's", out)
        self.assertIn("(G)", out)

    def test_one_failed_run_is_repeated(self):
        status, out, _ = self.search("--action=dt4", fails=["wait_on_traffic"])
        self.assertEqual(status, 0)
        self.assertIn("once more: TRex, run: ", out)

    def test_two_failed_runs_end_it(self):
        status, _, err = self.search("--action=dt4", fails=["start", "start"])
        self.assertEqual(status, 1)
        self.assertRegex(err, r"^tools/trex/search: TRex, start: .*start failed\n$")
        self.assertFalse(self.results.exists())
        self.assertEqual(self.simulation.calls[-1], "disconnect")

    def test_first_result_is_kept(self):
        """When the second one fails."""
        status, _, _ = self.search("--max-rate=1e6", fails=[])
        self.assertEqual(status, 0)
        runs = len(self.simulation.runs)
        self.results.unlink()
        simulation = api.Simulation()
        simulation.run = lambda rate, seconds: (self.simulation.runs.append(rate), (
            (round(rate), round(rate), 0) if len(self.simulation.runs) <= runs // 2
            else (round(rate), 0, 0)))[1]
        with mock.patch.object(api, "Simulation", lambda **_: simulation):
            status, _, err = self.search("--max-rate=1e6")
        self.assertEqual(status, 1)
        self.assertIn("0 of", err)
        self.assertEqual([row["action"] for row in report.load(self.results)], ["dx4"])

    def test_port_without_speed(self):
        status, _, err = self.search("--action=dx4", speed=0)
        self.assertEqual(status, 1)
        self.assertIn("say --max-rate", err)
        self.assertEqual(self.search("--action=dx4", "--max-rate=2e6", speed=0)[0], 0)

    def test_no_noref(self):
        status, _, err = self.search(ctl="/nowhere/noref-ctl")
        self.assertEqual(status, 1)
        self.assertIn("/nowhere/noref-ctl", err)
        status, _, err = self.search(ctl=f"{harness.noref_ctl()} -s /nowhere/noref.sock")
        self.assertEqual(status, 1)
        self.assertIn("/nowhere/noref.sock", err)

    def test_noref_refuses_a_line(self):
        config = self.results.with_name("router.conf")
        config.write_text("ip route add 10.77.0.0/16 via 192.0.2.9\n")
        status, _, err = self.search(f"--config={config}")
        self.assertEqual(status, 1)
        self.assertIn("192.0.2.9", err)

    def test_no_results(self):
        status, _, err = self.search("--table")
        self.assertEqual(status, 1)
        self.assertIn("no results yet", err)

    def test_usage(self):
        for words in (["--loss=0"], ["--loss=100"], ["--runs=0"], ["--ports=1"], ["--action=dx6"]):
            with self.subTest(words), self.assertRaises(SystemExit) as caught:
                self.search(*words)
            self.assertEqual(caught.exception.code, 2)
