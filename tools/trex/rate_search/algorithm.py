# SPDX-License-Identifier: BSD-3-Clause
"""Search for the highest rate whose loss is within a limit.

Loss is counted against what was *offered*: the rate that was asked for, times the duration. A
generator that cannot send that much (TRex with few cores even says that it did, and shows the
rest in a counter of its own) has lost packets as well as a router that drops them; counting what
was sent would call its own limit the router's rate.

One search halves the interval between a rate that passed and one that did not. A device is
noisy, so searches are repeated; median and spread are the result. Every search after the first
begins around what the last one found, and widens that when it is wrong.
"""

import statistics
from dataclasses import dataclass, field

LINE, GENERATOR, DEVICE = "line", "generator", "device"


class SearchError(Exception):
    """The search cannot go on; the message is for a person."""


@dataclass(frozen=True)
class Trial:
    """What one run at one rate gave, in packets; rate in packets per second."""
    rate: float
    offered: int   # rate times duration
    sent: int      # left the generator
    received: int  # came back
    lost: dict = field(default_factory=dict)  # where, as far as it is known: {place: packets}

    @property
    def loss(self):
        """Share of what was offered that did not come back."""
        if self.offered == 0:
            return 1.0
        return max(0.0, 1 - self.received / self.offered)

    @property
    def shortfall(self):
        """Share of what was offered that the generator never sent."""
        if self.offered == 0:
            return 1.0
        return max(0.0, 1 - self.sent / self.offered)


@dataclass(frozen=True)
class Limits:
    """What a search looks for and where. Rates in packets per second, shares from 0 to 1."""
    highest: float            # line rate, or whatever is to be tried at most
    loss: float = 0.005       # allowed
    precision: float = 0.005  # of the result
    lowest: float = 0.0       # below it the device passes nothing; 0: a thousandth of highest

    @property
    def floor(self):
        return self.lowest or self.highest / 1000


@dataclass(frozen=True)
class Found:
    """The result of one search."""
    rate: float    # the highest that passed
    limit: str     # LINE: nothing above was tried; else who lost the packets above it
    trials: tuple


class _Search:
    """One search: what passed, what failed, and the trials so far."""

    def __init__(self, measure, limits):
        self.measure = measure
        self.limits = limits
        self.low, self.high = 0.0, None  # highest that passed, lowest that failed
        self.failed = None               # the trial at high
        self.trials = []

    def passes(self, rate):
        trial = self.measure(rate)
        self.trials.append(trial)
        passed = trial.loss <= self.limits.loss
        if passed:
            self.low = max(self.low, rate)
        elif self.high is None or rate < self.high:
            self.high, self.failed = rate, trial
        return passed

    def around(self, hint):
        """Find a rate below hint that passes and one above that does not, close to it."""
        width = 4 * self.limits.precision
        if self.passes(hint * (1 - width)):
            while self.low < self.limits.highest:
                if not self.passes(min(hint * (1 + width), self.limits.highest)):
                    return
                width *= 2
            return
        while width < 0.5:
            width *= 2
            if hint * (1 - width) < self.limits.floor or self.passes(hint * (1 - width)):
                return

    def halve(self):
        if self.low == 0 and self.high is None:
            self.passes(self.limits.highest)
        while self.high is not None and self.high - self.low > self.limits.precision * self.high:
            middle = (self.low + self.high) / 2
            if middle < self.limits.floor:
                self.give_up()
            self.passes(middle)

    def give_up(self):
        last = self.failed
        if last.shortfall > self.limits.loss:
            raise SearchError(f"even at {last.rate:,.0f} packets/s the generator sends only "
                              f"{last.sent} of {last.offered}: not a measurement of the router")
        raise SearchError(f"more than {self.limits.loss:.2%} are lost even at {last.rate:,.0f} "
                          f"packets/s: {last.received} of {last.sent} came back{where(last)}")

    def found(self):
        if self.high is None:
            limit = LINE
        elif self.failed.shortfall > self.failed.loss / 2:
            limit = GENERATOR
        else:
            limit = DEVICE
        return Found(self.low, limit, tuple(self.trials))


def where(trial):
    """'; lost: ...' for a message, biggest first."""
    places = sorted(trial.lost.items(), key=lambda item: -item[1])
    return "; lost: " + ", ".join(f"{count} {place}" for place, count in places) if places else ""


def search(measure, limits, hint=None):
    """The highest rate that passes. measure(rate) makes a Trial; hint: where it may be.

    Raises SearchError if no rate passes, and whatever measure raises."""
    state = _Search(measure, limits)
    if hint:
        state.around(min(hint, limits.highest))
    state.halve()
    return state.found()


@dataclass(frozen=True)
class Result:
    """Several searches together; rates in packets per second."""
    rates: tuple
    limit: str  # of the search that gave the median, or the nearest below it

    @property
    def median(self):
        return statistics.median(self.rates)

    @property
    def spread(self):
        """Between the lowest and the highest, as a share of the median."""
        return (max(self.rates) - min(self.rates)) / self.median


def repeat(measure, limits, runs, tell=lambda number, found: None):
    """So many searches, each beginning where the last one ended; tell() is called after each."""
    found = []
    for number in range(runs):
        found.append(search(measure, limits, found[-1].rate if found else None))
        tell(number, found[-1])
    ordered = sorted(found, key=lambda one: one.rate)
    return Result(tuple(one.rate for one in found), ordered[(len(ordered) - 1) // 2].limit)
