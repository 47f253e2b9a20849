# SPDX-License-Identifier: BSD-3-Clause
"""TRex as a generator: one port sends, another one counts what comes back.

What comes back are port counters. TRex's per-flow statistics read 0 behind a router that ends
tunnels: what they know a packet by, the flow label of the outer header, is gone.
"""

import os
import pathlib
import sys
import time
from dataclasses import dataclass

from .algorithm import SearchError

CLIENT_PATH = "automation/trex_control_plane/interactive"
GET_TREX = ("TRex 3.x is at https://trex-tgn.cisco.com/trex/release/; say where it was unpacked with "
            "--trex FOLDER or TREX_DIR")
FCS = 4
GAP = 20          # preamble, start of frame, gap between frames: bytes of 10GBASE Ethernet
SETTLE = 0.5      # seconds for what is under way
LATE = 30         # seconds more than planned until a run counts as stuck


def client_api(folder=None):
    """trex.stl.api, from a TRex folder or from PYTHONPATH."""
    folder = folder or os.environ.get("TREX_DIR")
    if folder:
        path = pathlib.Path(folder).expanduser() / CLIENT_PATH
        if not path.is_dir():
            raise SearchError(f"{path} does not exist. {GET_TREX}")
        sys.path.insert(0, str(path))
    try:
        import trex.stl.api as api
    except ImportError as error:
        raise SearchError(f"TRex's Python client cannot be loaded ({error}). {GET_TREX}") from None
    return api


@dataclass(frozen=True)
class Sent:
    """Counters of one run, in packets."""
    sent: int
    received: int
    queue_drop: int  # what TRex gave up because its transmit queue was full


class Generator:
    """A connected TRex. Use as a context manager.

    api: the module trex.stl.api; ports: (the one that sends, the one that receives)."""

    def __init__(self, api, server="127.0.0.1", ports=(0, 1), sleep=time.sleep):
        self.api = api
        self.server = server
        self.port_out, self.port_in = ports
        self.sleep = sleep
        self.client = api.STLClient(server=server)
        self.streams = []

    def __enter__(self):
        try:
            self.client.connect()
            self.client.reset(ports=[self.port_out, self.port_in])
            self.accept_all()
        except self.api.TRexError as error:
            self.client.disconnect()
            raise SearchError(f"TRex at {self.server}: {first_line(error)}. Does t-rex-64 -i run "
                              "there?") from None
        return self

    def __exit__(self, *_):
        self.client.disconnect()

    def accept_all(self):
        """The receiving port counts whatever comes: its src_mac need not be its hardware's."""
        attributes = self.client.get_port_attr(self.port_in)
        if attributes["prom_supported"] == "yes" and attributes["prom"] != "on":
            self.client.set_port_attr(ports=[self.port_in], promiscuous=True)

    def call(self, what, function, *args, **kwargs):
        """A command of the client; its errors become ours."""
        try:
            return function(*args, **kwargs)
        except self.api.TRexError as error:
            raise SearchError(f"TRex, {what}: {first_line(error)}") from None

    def mac(self, port):
        """The address TRex sends with."""
        return self.call("port attributes", self.client.get_port_attr, port)["src_mac"]

    def send_to(self, mac):
        """The sending port's frames go to this MAC; needed where trex_cfg.yaml says another."""
        attributes = self.call("port attributes", self.client.get_port_attr, self.port_out)
        if attributes.get("dest", "").lower() == mac.lower():
            return
        for what, function, args in (
                ("service mode", self.client.set_service_mode, ([self.port_out], True)),
                ("destination", self.client.set_l2_mode, (self.port_out, mac)),
                ("service mode", self.client.set_service_mode, ([self.port_out], False))):
            self.call(what, function, *args)

    def load(self, profile, tunables):
        """Replace the sending port's streams by those of a profile."""
        loaded = self.call(str(profile), self.api.STLProfile.load, str(profile),
                           tunables=list(tunables))
        if loaded is None:
            raise SearchError(f"{profile}: has shown its tunables and no streams")
        self.streams = loaded.get_streams()
        self.call("streams", self.client.remove_all_streams, ports=[self.port_out])
        self.call("streams", self.client.add_streams, self.streams, ports=[self.port_out])

    def frame_size(self):
        """Mean size in bytes, FCS included, weighted by how often each stream sends."""
        shares = [(stream.get_pkt_len(), stream.fields["mode"]["rate"]["value"])
                  for stream in self.streams]
        return sum(size * share for size, share in shares) / sum(share for _, share in shares)

    def line_rate(self):
        """Packets per second that the sending port's speed allows; 0 if it has none."""
        gigabits = self.call("port attributes", self.client.get_port_attr, self.port_out)["speed"]
        return float(gigabits or 0) * 1e9 / 8 / (self.frame_size() + GAP)

    def run(self, rate, seconds):
        """Send at a rate for so long; returns the counters of the run."""
        client, ports = self.client, [self.port_out, self.port_in]
        self.call("counters", client.clear_stats)
        # force: a port may be told more than TRex believes its link can carry.
        self.call("start", client.start, ports=[self.port_out], mult=f"{rate:.0f}pps",
                  duration=seconds, force=True)
        self.call("run", client.wait_on_traffic, ports=[self.port_out], timeout=seconds + LATE)
        self.sleep(SETTLE)
        stats = self.call("counters", client.get_stats, ports=ports)
        # get_stats() leaves this one out, and in low_end mode it is the only sign of a loss.
        dropped = client.global_stats.get_rel("m_total_queue_drop")
        return Sent(stats[self.port_out]["opackets"], stats[self.port_in]["ipackets"],
                    dropped if isinstance(dropped, int) else 0)


def first_line(error):
    """TRex's messages are in colour and go on for long."""
    for line in str(error).splitlines():
        text = "".join(character for character in line if character.isprintable()).strip(" *")
        if text and "Traceback" not in text:
            return text
    return type(error).__name__
