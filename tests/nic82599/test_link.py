# SPDX-License-Identifier: BSD-3-Clause
"""Cable, module, and ports stopped and started, under traffic."""

import unittest

from bench import Bench
from frames import ROUTER, udp


class Link:
    """For each identity."""

    device = None

    def bench(self, first="gen=64x60,hold=1", **more):
        """Port 0 receives generated frames, once they may go."""
        return Bench(ROUTER, specs=[f"id={self.device},{first}", f"id={self.device}"], **more)

    def flows(self, router):
        """Packets are leaving port 1."""
        was = router.truth(1)["sent"]
        router.until(lambda: router.truth(1)["sent"] > was + 500, "packets leaving port 1")

    def start(self, router):
        """Generated packets go to 10.1.0.1: behind port 1."""
        router.tell("ip route add 10.1.0.0/16 via 10.0.1.2")
        router.model(0, "go")
        self.flows(router)

    def finish(self, router):
        """What lies in a ring when its port is stopped is lost with it: the account is of what
        the program took and gave, and drops have no other reason than what was done here."""
        router.model(0, "hold")
        last = []

        def quiet():
            last.append(router.balance()["received"])
            return len(last) > 3 and last[-1] == last[-4]
        router.until(quiet, "the rest to be received", every=0.1)
        self.assertLessEqual(last[-1], router.truth(0)["received"])
        run = router.finish(infinite=True)
        self.assertLessEqual(set(run.drops), {"port_down", "tx_full"})

    def test_receiving_port_loses_its_cable(self):
        with self.bench() as router:
            self.start(router)
            for _ in range(3):
                router.model(0, "link 0")
                router.link_is(0, False)
                router.model(0, "link 1")
                router.link_is(0, True)
                self.flows(router)
            self.finish(router)

    def test_transmitting_port_loses_its_cable(self):
        with self.bench() as router:
            self.start(router)
            for _ in range(3):
                router.model(1, "link 0")
                router.link_is(1, False)
                self.assertIn("NO-CARRIER", router.ask("ip link show dev 1")[0]["flags"])
                router.model(1, "link 1")
                router.link_is(1, True)
                self.flows(router)
            self.finish(router)

    def test_no_cable_at_start(self):
        with self.bench("link=0") as router:
            router.link_is(0, False)
            router.model(0, "link 1")
            router.link_is(0, True)
            router.arrive(0, [udp()])
            router.wait_sent(1, 1)
            router.finish()

    def test_stop_and_start_of_either_port(self):
        with self.bench() as router:
            self.start(router)
            for port in (0, 1, 0, 1):
                router.tell(f"port stop {port}")
                self.assertFalse(router.ask(f"show port info {port}")[0]["started"])
                router.tell(f"port start {port}")
                router.link_is(port, True)
                self.flows(router)
            self.finish(router)

    def test_stop_and_start_with_two_workers(self):
        with self.bench(args=["--rxq=4"], lcores=("--lcores", "0@0,1@1,2@0")) as router:
            self.start(router)
            for port in (0, 1):
                router.tell(f"port stop {port}")
                router.tell(f"port start {port}")
                router.link_is(port, True)
                self.flows(router)
            self.finish(router)


class LinkOfSfp(Link, unittest.TestCase):
    device = "10fb"

    def test_module_pulled_and_pushed(self):
        with self.bench() as router:
            self.start(router)
            router.model(0, "cage 0")
            router.link_is(0, False)
            router.model(0, "cage 1")
            router.link_is(0, True)
            self.flows(router)
            self.finish(router)


class LinkOfBackplane(Link, unittest.TestCase):
    device = "10f7"
