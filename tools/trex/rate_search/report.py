# SPDX-License-Identifier: BSD-3-Clause
"""Results on disk, and the kernel patch's table with noref's columns beside its own."""

import json
import os
import pathlib
import statistics

from .algorithm import DEVICE, GENERATOR, LINE, SearchError

# Mpps before and after the patch that took the reference on the route away: an 82599, two Xeon
# E5-2650 v3 with ten cores each, 82-byte IPv4-in-IPv6 UDP without SRH, 0.5 % loss. The last row
# is on both sockets.
KERNEL = {
    1: {"dx4": (0.791, 0.811), "dt4": (0.481, 0.489)},
    10: {"dx4": (6.118, 7.394), "dt4": (4.328, 4.588)},
    16: {"dx4": (3.305, 10.205), "dt4": (3.351, 7.153)},
}
ACTIONS = ("dx4", "dt4")
NAMES = {"dx4": "End.DX4", "dt4": "End.DT4"}
NOTES = {DEVICE: "", LINE: " (L)", GENERATOR: " (G)"}
LEGEND = {LINE: "(L) the highest rate that was tried, as a rule that of the line: noref could do more",
          GENERATOR: "(G) the limit was TRex, not noref"}


def load(path):
    """The rows of a results file; none, if there is no such file yet."""
    try:
        rows = json.loads(pathlib.Path(path).read_text())
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise SearchError(f"{path}: {error}") from None
    if not isinstance(rows, list) or not all(
            isinstance(row, dict) and {"queues", "cores", "action", "rates", "limit"} <= set(row)
            for row in rows):
        raise SearchError(f"{path}: not a file of results")
    return rows


def store(path, rows):
    """Replace the file as a whole."""
    beside = pathlib.Path(f"{path}.new")
    beside.write_text(json.dumps(rows, indent=1) + "\n")
    os.replace(beside, path)


def key(row):
    return row["queues"], row["cores"], row["action"]


def add(rows, row):
    """The rows with this one, in the place of an earlier result for the same."""
    return sorted([other for other in rows if key(other) != key(row)] + [row], key=key)


def mpps(value):
    return f"{value / 1e6:.3f}"


def cell(row):
    """Median, and lowest to highest."""
    if row is None:
        return "-"
    rates = row["rates"]
    return (f"{mpps(statistics.median(rates))} ({mpps(min(rates))} to {mpps(max(rates))})"
            f"{NOTES.get(row['limit'], '')}")


def kernel_cell(queues, action):
    if queues not in KERNEL:
        return "-"
    before, after = KERNEL[queues][action]
    return f"{before:.3f} > {after:.3f}"


def table(rows):
    """The table in Markdown: kernel before > after, and noref, for each action."""
    found = {key(row): row for row in rows}
    lines = {(row["queues"], row["cores"]) for row in rows}
    lines |= {(queues, queues) for queues in KERNEL if queues not in {q for q, _ in lines}}
    text = ["| queues | cores | End.DX4, kernel | End.DX4, noref | End.DT4, kernel | End.DT4, noref |",
            "|---|---|---|---|---|---|"]
    for queues, cores in sorted(lines):
        cells = [str(queues), str(cores)]
        for action in ACTIONS:
            cells += [kernel_cell(queues, action), cell(found.get((queues, cores, action)))]
        text.append(f"| {' | '.join(cells)} |")
    text += ["", "Mpps: median (lowest to highest). Kernel: before > after its patch, on 82599 and two "
             "Xeon E5-2650 v3, on both sockets with 16 queues."]
    text += [LEGEND[limit] for limit in (LINE, GENERATOR)
             if any(row["limit"] == limit for row in rows)]
    return "\n".join(text)
