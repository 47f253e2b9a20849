#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Make bad packets from good ones: mutate.py [--count N] [--seed N] IN.pcap... OUT.pcap

The packets of IN are mutated: bits flipped, length and type fields set to
values that lie, ends cut off or doubled, the head of one packet put on the
tail of another, headers repeated. The same seed gives the same capture. After
them come all prefixes, from no byte to all, of some packets of different shapes.
"""

import argparse
import random
import sys

from harness import read_pcap, write_pcap

# Offsets, from the start of the frame, of fields that steer parsing in our packets: EtherType;
# IPv6 version, payload length, next header, hop limit, destination; the SRH (or inner
# header) behind it and, further on, the inner packet's.
STEERING = ([12, 13, 14, 18, 19, 20, 21] + list(range(38, 54)) + list(range(54, 62))
            + [63, 64, 65, 66] + list(range(94, 118)) + list(range(118, 130)))
VALUES = [0, 1, 2, 4, 5, 6, 17, 41, 43, 44, 50, 51, 58, 59, 60, 0x45, 0x46, 0x4F, 0x60, 0x7F, 0x80,
          0x81, 0x86, 0xDD, 0xFE, 0xFF]


def flip_bits(rng, frame, _):
    out = bytearray(frame)
    for _ in range(rng.choice((1, 1, 1, 2, 4, 16))):
        if out:
            out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def lie(rng, frame, _):
    out = bytearray(frame)
    for _ in range(rng.choice((1, 1, 2, 3))):
        at = rng.choice(STEERING)
        if at < len(out):
            out[at] = rng.choice(VALUES)
    return bytes(out)


def off_by_little(rng, frame, _):
    """A length or count one or a few too large or too small."""
    out = bytearray(frame)
    at = rng.choice(STEERING)
    if at < len(out):
        out[at] = (out[at] + rng.choice((-8, -4, -2, -1, 1, 2, 4, 8))) & 255
    return bytes(out)


def truncate(rng, frame, _):
    return frame[:rng.randrange(len(frame) + 1)]


def extend(rng, frame, _):
    return frame + bytes(rng.randrange(256) for _ in range(rng.choice((1, 3, 46, 300))))


def splice(rng, frame, other):
    return frame[:rng.randrange(len(frame) + 1)] + other[rng.randrange(len(other) + 1):]


def repeat(rng, frame, _):
    """A piece of the frame once more, in place."""
    start = rng.choice((14, 54, 62, 70, 78, rng.randrange(len(frame) + 1)))
    size = rng.choice((1, 2, 8, 16, 24, 40, 64))
    return frame[:start] + frame[start:start + size] * rng.choice((2, 2, 3, 9)) + frame[start:]


def remove(rng, frame, _):
    start = rng.choice((12, 14, 54, 62, rng.randrange(len(frame) + 1)))
    return frame[:start] + frame[start + rng.choice((1, 2, 4, 8, 16, 40)):]


def nest(rng, frame, other):
    """A whole packet as the payload of another, after its IPv6 header or further on."""
    return frame[:rng.choice((54, 62, 94, 118))] + other[rng.choice((14, 54, 94)):]


MUTATIONS = (flip_bits, flip_bits, lie, lie, lie, off_by_little, off_by_little, truncate, extend,
             splice, repeat, remove, nest)
def mutated(frames, count, seed, longest=1514):
    rng = random.Random(seed)
    made = []
    while len(made) < count:
        frame = rng.choice(frames)
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            frame = rng.choice(MUTATIONS)(rng, frame, rng.choice(frames))
        made.append(frame[:longest])
    return made


def prefixes(frames, shapes=20):
    """Every prefix of one short frame for each of the commonest shapes of headers."""
    chosen = {}
    for frame in sorted(frames, key=len):
        # What tells shapes apart: EtherType, next headers, destination, segments left.
        shape = frame[12:14] + frame[20:21] + frame[38:54] + frame[54:58]
        chosen.setdefault(shape[:23] + bytes([frame[57] if len(frame) > 57 else 0]), frame)
    picked = sorted(chosen.values(), key=len)
    picked = [frame for frame in picked if len(frame) >= 80][:shapes]
    return [frame[:size] for frame in picked for size in range(len(frame) + 1)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("captures", nargs="+", metavar="IN.pcap... OUT.pcap")
    options = parser.parse_args()
    if len(options.captures) < 2:
        parser.error("at least one capture to read and one to write")
    *sources, target = options.captures
    frames = [frame for source in sources for frame in read_pcap(source)]
    frames = [frame for frame in frames if len(frame) >= 14]
    made = mutated(frames, options.count, options.seed) + prefixes(frames)
    write_pcap(target, made)
    print(f"{len(made)} frames written to {target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
