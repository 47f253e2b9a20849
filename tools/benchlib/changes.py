# SPDX-License-Identifier: BSD-3-Clause
"""Flow rules that come and go in a running noref: a client of its control socket."""

import socket as sockets
import time
from dataclasses import dataclass


@dataclass
class Result:
    rate: float  # changes per second
    longest: float  # seconds from sending a line to its answer, of all lines sent alone


class Client:
    def __init__(self, path):
        self.socket = sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM)
        self.socket.connect(path)
        self.file = self.socket.makefile("rb")

    def ask(self, lines):
        """Run these, some at a time: who does not read answers is not read from."""
        for first in range(0, len(lines), 100):
            self.ask_together(lines[first:first + 100])

    def ask_together(self, lines):
        self.socket.sendall("".join(lines).encode())
        for line in lines:
            failed, size = self.file.readline().split()
            answer = self.file.read(int(size))
            if failed != b"0":
                raise RuntimeError(f"{line.strip()}: {answer.decode()}")

    def close(self):
        self.file.close()
        self.socket.close()


def run(client, seconds, pace, present, make_rule):
    """Replace the oldest rule of port 0 by a new one, again and again: two changes a time.

    pace: changes per second, 0: as many as can be; present: rules there are, numbered from 0.
    Of twenty pairs of lines, two are sent line by line and timed, the others at once.
    """
    done, longest = 0, 0.0
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        batch = []
        for _ in range(20):
            batch += [make_rule(present + done), f"flow destroy 0 rule {done}\n"]
            done += 1
        alone, batch = batch[:4], batch[4:]
        for line in alone:
            sent = time.monotonic()
            client.ask([line])
            longest = max(longest, time.monotonic() - sent)
        client.ask(batch)
        if pace:
            time.sleep(max(0.0, began + 2 * done / pace - time.monotonic()))
    took = time.monotonic() - began
    return Result(2 * done / took, longest)
