# SPDX-License-Identifier: BSD-3-Clause
"""The command tools/trex/search."""

import argparse
import datetime
import pathlib
import shlex
import sys

from . import report
from .algorithm import DEVICE, GENERATOR, LINE, Limits, SearchError, Trial, repeat
from .generator import Generator, client_api
from .router import Router, where_lost

HERE = pathlib.Path(__file__).resolve().parents[1]
TRIES = 2  # of a run that TRex did not complete
LIMITED = {DEVICE: "noref's limit", LINE: "the highest rate tried: noref was not the limit",
           GENERATOR: "TRex's limit, not noref's: give TRex more cores (-c)"}

EPILOG = """\
noref must run with two ports, TRex (t-rex-64 -i) at the other ends; docs/trex.md has both. Rates
are packets per second. How many queues and cores noref has is its own launch's affair: start it
anew for each row of the table, with the same --results.
"""


def share(text):
    """A percentage above 0 and below 100, as a share."""
    value = float(text)
    if not 0 < value < 100:
        raise argparse.ArgumentTypeError(f"{text} % is not between 0 and 100")
    return value / 100


def positive(kind):
    def parse(text):
        value = kind(text)
        if value <= 0:
            raise argparse.ArgumentTypeError(f"{text} is not above 0")
        return value
    parse.__name__ = "number"
    return parse


def pair(text):
    """Two port numbers."""
    first, _, second = text.partition(",")
    return int(first), int(second)


def arguments(words):
    parser = argparse.ArgumentParser(
        prog="tools/trex/search", epilog=EPILOG,
        description="Find the highest rate at which noref loses no more than a given share of "
        "packets, with TRex, and write the kernel patch's table.",
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--action", choices=(*report.ACTIONS, "both"), default="both",
                        help="what to measure (both)")
    parser.add_argument("--loss", type=share, default=0.005, metavar="PERCENT",
                        help="allowed, of what is offered (0.5)")
    parser.add_argument("--runs", type=positive(int), default=10, metavar="N",
                        help="searches; the result is their median (10)")
    parser.add_argument("--seconds", type=positive(float), default=10.0, metavar="S",
                        help="duration of each trial (10)")
    parser.add_argument("--precision", type=share, default=0.005, metavar="PERCENT",
                        help="of a search's result (0.5)")
    parser.add_argument("--max-rate", type=positive(float), metavar="PPS",
                        help="never offer more (line rate of the profile's frames)")
    parser.add_argument("--profile", default=HERE / "profiles" / "srv6_decap.py", metavar="FILE",
                        help="a profile with the tunable --action (srv6_decap.py)")
    parser.add_argument("--tunables", default="", metavar="'OPTIONS'",
                        help="more tunables, as one word: --tunables='--sources 4096'")
    parser.add_argument("--trex", metavar="FOLDER", help="where TRex was unpacked (TREX_DIR)")
    parser.add_argument("--server", default="127.0.0.1", metavar="HOST", help="TRex's host")
    parser.add_argument("--ports", type=pair, default=(0, 1), metavar="OUT,IN",
                        help="TRex's ports: sending, receiving (0,1)")
    parser.add_argument("--ctl", default="noref-ctl", metavar="COMMAND",
                        help="noref-ctl with its options, maybe behind ssh "
                        "(--ctl='ssh router noref-ctl')")
    parser.add_argument("--router-ports", type=pair, default=(0, 1), metavar="IN,OUT",
                        help="noref's ports at the other ends (0,1)")
    parser.add_argument("--config", default=HERE / "router.conf", metavar="FILE",
                        help="lines noref must have (router.conf); 'none': it is configured")
    parser.add_argument("--results", default="trex-results.json", metavar="FILE",
                        help="where rows are kept (trex-results.json)")
    parser.add_argument("--table", action="store_true", help="only print the table of --results")
    return parser.parse_args(words)


def say(text):
    print(text, flush=True)


class Measurement:
    """Trials of one profile: TRex sends, noref says where packets stayed."""

    def __init__(self, generator, router, seconds):
        self.generator, self.router, self.seconds = generator, router, seconds

    def __call__(self, rate):
        for attempt in range(TRIES):
            try:
                trial = self.trial(rate)
                break
            except SearchError as error:
                if attempt + 1 == TRIES:
                    raise
                say(f"  {rate / 1e6:8.3f} Mpps  once more: {error}")
        places = "".join(f"\n      {count:>12} {place}" for place, count in
                         sorted(trial.lost.items(), key=lambda item: -item[1])
                         if count >= trial.offered / 10000)
        say(f"  {rate / 1e6:8.3f} Mpps  {trial.loss:8.3%} lost{places}")
        return trial

    def trial(self, rate):
        before = self.router.counters()
        counted = self.generator.run(rate, self.seconds)
        after = self.router.counters()
        offered = round(rate * self.seconds)
        if after.unbalanced():
            say(f"  noref's account does not balance by {after.unbalanced()} packets: "
                f"{after.balance}")
        return Trial(rate, offered, counted.sent, counted.received,
                     where_lost(before, after, offered, counted.sent, counted.queue_drop,
                                counted.received))


def highest_rate(options, generator):
    """What to try at most: asked for, or the line's."""
    line = generator.line_rate()
    if options.max_rate:
        return min(options.max_rate, line) if line else options.max_rate
    if not line:
        raise SearchError("TRex's port has no speed (a virtual device): say --max-rate")
    return line


def measure_action(options, generator, router, action):
    """One result: a row for the results file."""
    tunables = ["--action", action, *shlex.split(options.tunables)]
    generator.load(pathlib.Path(options.profile).resolve(), tunables)
    limits = Limits(highest_rate(options, generator), options.loss, options.precision)
    queues, cores = router.layout()
    say(f"{report.NAMES[action]}: {queues} queues on {cores} cores, frames of "
        f"{generator.frame_size():.0f} bytes with FCS, at most {limits.highest / 1e6:.3f} Mpps")

    def tell(number, found):
        say(f"search {number + 1} of {options.runs}: {found.rate / 1e6:.3f} Mpps, "
            f"{LIMITED[found.limit]}")
    result = repeat(Measurement(generator, router, options.seconds), limits, options.runs, tell)
    say(f"{report.NAMES[action]}: median {result.median / 1e6:.3f} Mpps, spread "
        f"{result.spread:.2%}, {LIMITED[result.limit]}")
    return {"queues": queues, "cores": cores, "action": action, "rates": list(result.rates),
            "limit": result.limit, "loss": options.loss, "seconds": options.seconds,
            "profile": pathlib.Path(options.profile).name, "tunables": tunables,
            "frame": generator.frame_size(), "version": router.ask("show version"),
            "when": datetime.datetime.now().isoformat(timespec="seconds")}


def measure(options, api):
    """Everything that was asked for, kept as it is found."""
    rows = report.load(options.results)
    router = Router(shlex.split(options.ctl), options.router_ports)
    with Generator(api, options.server, options.ports) as generator:
        if str(options.config) != "none":
            neighbours = {"10.0.0.2": generator.mac(generator.port_out),
                          "10.0.1.2": generator.mac(generator.port_in)}
            router.prepare(pathlib.Path(options.config).read_text(), neighbours)
        generator.send_to(router.mac(router.port_in))
        for action in report.ACTIONS if options.action == "both" else (options.action,):
            rows = report.add(rows, measure_action(options, generator, router, action))
            report.store(options.results, rows)
    return rows


def main(words=None):
    """Exit status 0, or 1 with a message."""
    options = arguments(words)
    try:
        rows = report.load(options.results) if options.table else measure(
            options, client_api(options.trex))
        if options.table and not rows:
            raise SearchError(f"{options.results}: no results yet")
    except (SearchError, OSError) as error:
        print(f"tools/trex/search: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("tools/trex/search: interrupted; finished rows are in the results file",
              file=sys.stderr)
        return 130
    say("\n" + report.table(rows))
    return 0
