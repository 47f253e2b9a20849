# SPDX-License-Identifier: BSD-3-Clause
"""Names, parameters and behaviour of TRex 3.08's trex.stl.api, built on scapy.

Streams can be played without TRex: frames() runs the field engine. STLClient drives no TRex
but a Simulation, and insists on the order of calls that the real one needs.
"""

import importlib
import os
import pathlib
import struct
import sys


class TRexError(Exception):
    """As in TRex."""


# --- the field engine ------------------------------------------------------------------


class CTRexVmInsFixHwCs:
    """Constants only."""
    L4_TYPE_UDP, L4_TYPE_TCP, L4_TYPE_IP = 11, 13, 17


class STLVM:
    """Commands are run in their order for each frame."""

    def __init__(self):
        self.commands = []
        self.cache_size = None

    def set_cached(self, cache_size):
        self.cache_size = cache_size

    def var(self, name, min_value, max_value, size, op, step=1, split_to_cores=True, next_var=None):
        if size not in (1, 2, 4, 8) or op != "inc" or step != 1 or next_var is not None:
            raise TRexError(f"variable {name}: not modelled")
        if not 0 <= min_value <= max_value < 1 << 8 * size:
            raise TRexError(f"variable {name}: {min_value} to {max_value} in {size} bytes")
        self.commands.append(("var", name, min_value, max_value, size))

    def write(self, fv_name, pkt_offset, offset_fixup=0, add_val=0, byte_order="big"):
        if fv_name not in [command[1] for command in self.commands if command[0] == "var"]:
            raise TRexError(f"no variable {fv_name}")
        if offset_fixup or add_val or byte_order != "big":
            raise TRexError("not modelled")
        self.commands.append(("write", fv_name, pkt_offset))

    def fix_chksum(self, offset="IP"):
        self.commands.append(("ip", offset))

    def fix_chksum_hw(self, l3_offset, l4_offset, l4_type):
        if l4_type != CTRexVmInsFixHwCs.L4_TYPE_UDP:
            raise TRexError("not modelled")
        self.commands.append(("udp", l3_offset, l4_offset))


def _sum(data):
    data = bytes(data) + bytes(len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def _fix_ip(frame, at):
    frame[at + 10:at + 12] = b"\0\0"
    frame[at + 10:at + 12] = struct.pack(">H", _sum(frame[at:at + 20]) ^ 0xFFFF)


def _fix_udp(frame, l3, l4):
    """What a NIC does that is told where the headers are."""
    if frame[l3] >> 4 == 4:
        _fix_ip(frame, l3)
        addresses = frame[l3 + 12:l3 + 20]
    else:
        addresses = frame[l3 + 8:l3 + 40]
    datagram = frame[l4:]
    datagram[6:8] = b"\0\0"
    pseudo = addresses + struct.pack(">HH", len(datagram), 17)
    frame[l4 + 6:l4 + 8] = struct.pack(">H", _sum(pseudo + datagram) ^ 0xFFFF or 0xFFFF)


class _Engine:
    """The commands of a stream and its variables, on one core."""

    def __init__(self, vm):
        self.commands = vm.commands if vm else []
        self.values = {}

    def change(self, frame):
        for kind, *words in self.commands:
            if kind == "var":
                name, low, high, size = words
                value = self.values.get(name, (high, 0))[0] + 1
                self.values[name] = (low if value > high else value, size)
            elif kind == "write":
                value, size = self.values[words[0]]
                if words[1] + size > len(frame):
                    raise TRexError(f"{words[0]} is written behind the end of the frame")
                frame[words[1]:words[1] + size] = value.to_bytes(size, "big")
            elif kind == "ip":
                _fix_ip(frame, words[0])
            else:
                _fix_udp(frame, *words)


# --- streams -----------------------------------------------------------------------------


class STLPktBuilder:
    def __init__(self, pkt=None, vm=None):
        self.pkt = pkt
        self.vm = vm


class STLTXCont:
    def __init__(self, pps=1):
        self.pps = pps


class STLFlowLatencyStats:
    def __init__(self, pg_id):
        self.pg_id = pg_id


class STLStream:
    def __init__(self, name=None, packet=None, mode=None, flow_stats=None):
        self.name = name
        self.packet = packet
        self.flow_stats = flow_stats
        self.fields = {"mode": {"rate": {"type": "pps", "value": mode.pps}}}

    def addresses_given(self):
        """Whether the profile has MAC addresses of its own, which override port_info."""
        return bool({"src", "dst"} & set(self.packet.pkt.fields))

    def frames(self, count, destination="02:00:00:00:00:01", source="02:00:00:00:01:00"):
        """The first frames a port sends; addresses as port_info has them."""
        template = self.packet.pkt.copy()
        template.dst, template.src = destination, source
        template = bytes(template)
        engine = _Engine(self.packet.vm)
        sent = []
        for _ in range(count):
            frame = bytearray(template)
            engine.change(frame)
            sent.append(bytes(frame))
        return sent

    def get_pkt(self):
        return self.frames(1)[0]

    def get_pkt_len(self, count_crc=True):
        return len(self.get_pkt()) + (4 if count_crc else 0)


class STLProfile:
    def __init__(self, streams):
        self.streams = streams

    def get_streams(self):
        return self.streams

    @staticmethod
    def load(filename, direction=0, port_id=0, **kwargs):
        """Like TRex: by the name of the module, its folder in the path, anything wrong a TRexError,
        tunables a list of options."""
        if "tunables" not in kwargs:
            kwargs = {"tunables": [word for name, value in kwargs.items()
                                   for word in (f"--{name}", str(value))]}
        path = pathlib.Path(filename)
        if not path.is_file():
            raise TRexError(f"File '{filename}' does not exist")
        sys.path.insert(0, os.path.dirname(filename))
        try:
            module = importlib.reload(importlib.import_module(path.name.split(".")[0]))
            return STLProfile(module.register().get_streams(direction=direction, port_id=port_id,
                                                            **kwargs))
        except SystemExit:
            return None
        except Exception as error:
            raise TRexError(f"\nPython Traceback follows:\n\n{type(error).__name__}: {error}") from error
        finally:
            sys.path.pop(0)


# --- the client ----------------------------------------------------------------------------


class Simulation:
    """TRex and the router behind it. Rates in packets per second."""

    def __init__(self, capacity=5e6, generator=1e9, speed=10, promiscuous="yes", fails=()):
        self.capacity = capacity    # of the router
        self.generator = generator  # of TRex; what is above goes to m_total_queue_drop
        self.speed = speed          # of the ports, Gbit/s
        self.promiscuous = promiscuous  # whether ports can be
        self.fails = list(fails)    # names of calls that fail, each once
        self.calls = []             # all calls, in order
        self.runs = []              # rate of each run

    def run(self, rate, seconds):
        self.runs.append(rate)
        offered = round(rate * seconds)
        sent = min(offered, round(self.generator * seconds))
        return sent, min(sent, round(self.capacity * seconds)), offered - sent


class _GlobalStats:
    def __init__(self):
        self.dropped = 0

    def get_rel(self, field):
        if field != "m_total_queue_drop":
            raise KeyError(field)
        return self.dropped


class STLClient:
    """As far as the search uses it. simulation is the next one's that is made."""
    simulation = Simulation()

    def __init__(self, server="localhost"):
        self.server = server
        self.sim = STLClient.simulation
        self.connected = self.service = False
        self.streams = {0: [], 1: []}
        self.destination = {0: "02:00:00:00:00:99", 1: "02:00:00:00:00:98"}
        self.global_stats = _GlobalStats()
        self.totals = (0, 0, 0)
        self.cleared = (0, 0)

    def _called(self, name, connected=True):
        self.sim.calls.append(name)
        if name in self.sim.fails:
            self.sim.fails.remove(name)
            raise TRexError(f"*** [RPC] - {name} failed")
        if connected and not self.connected:
            raise TRexError("not connected")

    def connect(self):
        self._called("connect", connected=False)
        self.connected = True

    def disconnect(self):
        self.sim.calls.append("disconnect")
        self.connected = False

    def reset(self, ports):
        self._called("reset")

    def set_port_attr(self, ports, promiscuous):
        self._called("set_port_attr")
        if self.sim.promiscuous != "yes":
            raise TRexError("setting promiscuous mode is not supported")

    def get_port_attr(self, port):
        self._called("get_port_attr")
        return {"src_mac": f"02:00:00:00:01:0{port}", "dest": self.destination[port],
                "speed": self.sim.speed, "prom_supported": self.sim.promiscuous, "prom": "off"}

    def set_service_mode(self, ports, enabled):
        self._called("set_service_mode")
        self.service = enabled

    def set_l2_mode(self, port, dst_mac):
        self._called("set_l2_mode")
        if not self.service:
            raise TRexError("port service mode must be enabled for configuring L2 mode")
        self.destination[port] = dst_mac

    def remove_all_streams(self, ports):
        self._called("remove_all_streams")
        for port in ports:
            self.streams[port] = []

    def add_streams(self, streams, ports):
        self._called("add_streams")
        for port in ports:
            self.streams[port] += streams

    def clear_stats(self):
        self._called("clear_stats")
        self.cleared, self.global_stats.dropped = self.totals[:2], 0

    def start(self, ports, mult, duration, force):
        self._called("start")
        if self.service or not force or not all(self.streams[port] for port in ports):
            raise TRexError("start: service mode, no force, or no streams")
        if not mult.endswith("pps") or not mult[:-3].isdigit():
            raise TRexError(f"bad multiplier {mult}")
        sent, received, dropped = self.sim.run(int(mult[:-3]), duration)
        self.totals = (self.totals[0] + sent, self.totals[1] + received)
        self.global_stats.dropped += dropped

    def wait_on_traffic(self, ports, timeout):
        self._called("wait_on_traffic")

    def get_stats(self, ports):
        self._called("get_stats")
        return {0: {"opackets": self.totals[0] - self.cleared[0], "ipackets": 0},
                1: {"opackets": 0, "ipackets": self.totals[1] - self.cleared[1]}}
