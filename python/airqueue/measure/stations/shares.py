"""By which rule two stations share the access point: arrivals, packets or airtime.

Two runs flood both stations, each run one of them with three times its part. The statistic of a run
is the logarithm of the ratio of the packets that left for the two, with the standard error of a
ratio over blocks of time. A rule predicts it from what was offered and from the rates alone:

``proportional``  as they arrived: one queue, whatever drops from it;
``equal_packets``  0: a packet of each in turn, of one size;
``equal_airtime``  the logarithm of the ratio of the rates alone.

A rule fits if in every run the statistic is within ``TOLERANCE`` and a 99 % interval of what it
predicts. The rule is named if no other fits. Where two stations are about equally fast the last two
predict alike.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from airqueue.measure.records import Run
from airqueue.measure.stations.observed import departures, seen, settled
from airqueue.stats import t_quantile

Rule = Literal["proportional", "equal_packets", "equal_airtime", "equal", "undecided"]

TOLERANCE: Final = 0.25
"""Of a logarithm: rates alone are not exactly those among others, which contend and aggregate."""
BLOCKS: Final = 12
CARRIED: Final = 0.95
"""A station that gets more than this of what it is offered may get all that it wants, whatever the
rule."""
LEAST_PACKETS: Final = 20
"""Of either station, or its share is not known."""
QUANTILE: Final = t_quantile(BLOCKS - 1, 0.995)


@dataclass(frozen=True, slots=True)
class Ratio:
    """Packets that left for the first over those for the second station, as a logarithm; its
    interval."""

    log: float
    half: float
    packets: tuple[int, int]

    def fits(self, predicted: float) -> bool:
        """Whether it is what a rule predicts."""
        return abs(self.log - predicted) <= TOLERANCE + self.half


def ratio(run: Run, first: Sequence[int], second: Sequence[int]) -> Ratio | None:
    """Return the ratio of what left for flows of two stations; None if it is not known."""
    counts = [_blocks(run, flows) for flows in (first, second)]
    if counts[0] is None or counts[1] is None:
        return None
    sums = float(counts[0].sum()), float(counts[1].sum())
    if min(sums) < LEAST_PACKETS or not _overloaded(run, (first, second), sums):
        return None
    spread = counts[0] / sums[0] - counts[1] / sums[1]
    error = math.sqrt(BLOCKS / (BLOCKS - 1) * float(np.sum(spread**2)))
    packets = int(sums[0]), int(sums[1])
    return Ratio(math.log(sums[0] / sums[1]), QUANTILE * error, packets)


def _overloaded(run: Run, flows: tuple[Sequence[int], ...], left: tuple[float, float]) -> bool:
    """Whether both stations were offered more than they got."""
    start, end = settled(run)
    wanted = [sum(offered(run)[flow] for flow in of) * (end - start) for of in flows]
    return all(got < CARRIED * most for got, most in zip(left, wanted, strict=True))


def _blocks(run: Run, flows: Sequence[int]) -> np.ndarray[tuple[int], np.dtype[np.float64]] | None:
    start, end = settled(run)
    total = np.zeros(BLOCKS)
    for flow in flows:
        found = seen(run, flow)
        if found is None:
            return None
        total += np.histogram(departures(found, start, end), BLOCKS, (start, end))[0]
    return total


def offered(run: Run) -> Mapping[int, float]:
    """Return packets per second of each flood."""
    return {int(flow): float(pps) for flow, pps in run.meta["floods"]}


def predictions(
    run: Run, flows: tuple[int, int], rates_pps: tuple[float, float]
) -> dict[Rule, float]:
    """Return what each rule predicts of a run with one flood to each station."""
    arrivals = offered(run)
    return {
        "proportional": math.log(arrivals[flows[0]] / arrivals[flows[1]]),
        "equal_packets": 0.0,
        "equal_airtime": math.log(rates_pps[0] / rates_pps[1]),
    }


def judge(found: Sequence[tuple[Ratio, Mapping[Rule, float]]]) -> Rule:
    """Return the rule that fits all runs, each with what the rules predict of it."""
    if len(found) < 2:
        return "undecided"
    fitting = {rule for rule in found[0][1] if all(seen.fits(by[rule]) for seen, by in found)}
    if fitting == {"equal_packets", "equal_airtime"}:
        return "equal"
    return fitting.pop() if len(fitting) == 1 else "undecided"
