# SPDX-License-Identifier: BSD-3-Clause
"""noref under test, through noref-ctl: configured, and asked where packets went."""

import json
import subprocess
from dataclasses import dataclass

from .algorithm import SearchError

TIMEOUT = 30
BALANCE_LEFT = ("received", "originated")
BALANCE_RIGHT = ("transmitted", "delivered", "dropped", "held")


@dataclass(frozen=True)
class Counters:
    """What noref has counted, in packets."""
    received: int       # by the workers, on the port TRex sends to
    missed: int         # by the NIC of that port: its queues were full
    no_buffer: int
    errors: int
    transmitted: int    # on the port TRex receives from
    drops: dict         # by reason
    balance: dict

    def unbalanced(self):
        """Packets that noref cannot account for."""
        return (sum(self.balance[word] for word in BALANCE_LEFT)
                - sum(self.balance[word] for word in BALANCE_RIGHT))


class Router:
    """A running noref. command: the words of noref-ctl, maybe behind ssh; ports: noref's
    numbers of the port that TRex sends to and of the one that it receives from."""

    def __init__(self, command, ports=(0, 1)):
        self.command = list(command)
        self.port_in, self.port_out = ports

    def control(self, words, lines=""):
        try:
            done = subprocess.run([*self.command, *words], input=lines, text=True, timeout=TIMEOUT,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise SearchError(f"{' '.join(self.command)}: {error}") from None
        if done.returncode != 0:
            raise SearchError(f"noref: {' '.join(words) or 'commands'}: "
                              f"{done.stderr.strip() or f'exit status {done.returncode}'}")
        return done.stdout

    def ask(self, command):
        """The document a command answers."""
        return json.loads(self.control(["-j", *command.split()]))

    def prepare(self, script, neighbours):
        """Run the lines of a script that `show config` does not have yet.

        neighbours: {address: MAC}, which take the place of those in the script."""
        have = set(self.control(["show", "config"]).splitlines())
        lines = []
        for line in map(str.strip, script.splitlines()):
            words = line.split()
            neighbour = words[:3] == ["ip", "neigh", "add"]
            if neighbour and words[3] in neighbours:
                words[words.index("lladdr") + 1] = neighbours[words[3]].lower()
            if not words or line.startswith("#") or " ".join(words) in have:
                continue
            if neighbour:
                words[2] = "replace"
            lines.append(" ".join(words))
        if lines:
            self.control([], "\n".join(lines) + "\n")

    def mac(self, port):
        """The address of a port of noref."""
        return self.ask(f"show port info {port}")[0]["mac"]

    def layout(self):
        """(receive queues of the port, workers that poll it)."""
        queues = self.ask(f"show port info {self.port_in}")[0]["rx_queues"]
        workers = [worker for worker in self.ask("show lcore")
                   if any(port == self.port_in for port, _ in worker["queues"])]
        return queues, len(workers)

    def counters(self):
        ports = {entry["port"]: entry for entry in self.ask("show port stats all")}
        entry = ports[self.port_in]
        return Counters(entry["rx_packets"], entry["rx_missed"], entry["rx_nombuf"],
                        entry.get("rx_errors", 0), ports[self.port_out]["tx_packets"],
                        self.ask("show drops"), self.ask("show balance"))


def where_lost(before, after, offered, sent, queue_drop, received):
    """Where the packets of a run stayed: {place: packets}, only places that lost some.

    before, after: noref's Counters around the run; the rest as TRex counts."""
    def grown(name):
        return getattr(after, name) - getattr(before, name)

    arrived = grown("received") + grown("missed") + grown("no_buffer") + grown("errors")
    given_up = min(queue_drop, max(0, offered - sent))
    places = {
        "given up by TRex, its queue full (m_total_queue_drop)": given_up,
        "not sent by TRex in time": offered - sent - given_up,
        "between TRex and noref": sent - arrived,
        "missed by noref's NIC, no worker in time (rx_missed)": grown("missed"),
        "received by noref without a buffer (rx_nombuf)": grown("no_buffer"),
        "received by noref in error (rx_errors)": grown("errors"),
        "between noref and TRex": grown("transmitted") - received,
    }
    for reason, count in after.drops.items():
        places[f"dropped by noref ({reason})"] = count - before.drops.get(reason, 0)
    return {place: count for place, count in places.items() if count > 0}
