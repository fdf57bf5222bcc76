"""Compares our disciplines with the kernel's, from kernel.csv."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from airqueue.simulate import shaped
from validation.claim import Claim, Point
from validation.linux import results
from validation.linux.figures import GONE, Columns, Window, windows
from validation.linux.scenarios import (
    BURST_BYTES,
    DISCIPLINES,
    RATE_BPS,
    SCENARIOS,
    Discipline,
    Scenario,
)

_RUNS = 2
"""Our runs for each run of the kernel, for disciplines that draw random numbers."""


@dataclass(frozen=True, slots=True)
class _Quantity:
    name: str
    words: str
    of: Callable[[Window], float]
    absolute: float = 0.0


_QUANTITIES = (
    _Quantity("drops", "share of the packets dropped", lambda w: w.dropped / w.offered),
    _Quantity("marks", "share of the packets marked", lambda w: w.marked / w.offered),
    _Quantity("sojourn", "median sojourn time in s", lambda w: w.median_sojourn_s, 0.5e-3),
)

_TITLES = {
    "codel": "CoDel",
    "fq_codel": "FQ-CoDel",
    "red": "RED",
    "pie": "PIE",
    "sfq": "SFQ",
    "cake": "CAKE",
    "cake shaped": "CAKE with a rate",
}


def claims() -> list[Claim]:
    """Return a claim for each discipline and figure, except for marks if neither side marks."""
    all_of_them = (
        _claim(discipline, quantity) for discipline in DISCIPLINES for quantity in _QUANTITIES
    )
    return [claim for claim in all_of_them if claim.points]


def _dashed(label: str) -> str:
    return label.replace("_", "-").replace(" ", "-")


def _has_two(discipline: Discipline) -> bool:
    """Return whether a discipline has a Linux behaviour beside that of its RFC."""
    return "behaviour" in discipline.queue[discipline.name]


def _queue(discipline: Discipline, behaviour: str) -> Mapping[str, Any]:
    own = {**discipline.queue[discipline.name], "behaviour": behaviour}
    return {**discipline.queue, discipline.name: own}


@cache
def ours(scenario: Scenario, behaviour: str | None = None) -> Sequence[Sequence[Window]]:
    """Return the result of each of our runs, with a behaviour if named."""
    discipline = scenario.discipline
    found: list[Sequence[Window]] = []
    for run in range(1, _RUNS * discipline.runs + 1 if discipline.runs > 1 else 2):
        packets = Columns.of(scenario.arrivals(run))
        fates = shaped(
            _queue(discipline, behaviour) if behaviour else discipline.queue,
            packets.at_ns,
            packets.size_bytes,
            rate_bps=RATE_BPS,
            burst_bytes=BURST_BYTES,
            flow=packets.flow,
            ect=packets.ect,
            dscp=packets.dscp,
            hosts=packets.hosts,
            seed=run,
        )
        left_ns = np.where(fates.dropped, GONE, fates.left_ns)
        watched = packets.watched(scenario)
        at_ns, left_ns = packets.at_ns[watched], left_ns[watched]
        found.append(list(windows(scenario, run, at_ns, left_ns, fates.marked[watched])))
    return found


def _mean(runs: Sequence[Sequence[Window]], at: int, quantity: _Quantity) -> tuple[float, float]:
    """Mean over runs of a window's figure, and its standard error."""
    values = np.array([quantity.of(run[at]) for run in runs])
    error = values.std(ddof=1) / math.sqrt(values.size) if values.size > 1 else 0.0
    return float(values.mean()), float(error)


def _points(scenario: Scenario, quantity: _Quantity) -> Iterator[Point]:
    real = results.runs(scenario)
    for behaviour in (None, "rfc") if _has_two(scenario.discipline) else (None,):
        found = ours(scenario, behaviour)
        for at, (from_s, to_s) in enumerate(scenario.traffic.windows_s):
            model, model_error = _mean(found, at, quantity)
            reference, error = _mean(real, at, quantity)
            if model == reference == 0.0:
                continue
            setting = f"{scenario.traffic.name}, {from_s:g} to {to_s:g} s"
            yield Point(
                f"{setting}, {behaviour}" if behaviour else setting,
                0.0,
                model,
                reference,
                math.hypot(model_error, error),
                inside=behaviour is None,
            )


def _claim(discipline: Discipline, quantity: _Quantity) -> Claim:
    own = [one for one in SCENARIOS if one.discipline == discipline]
    return Claim(
        name=f"linux-{_dashed(discipline.label)}-{quantity.name}",
        title=f"{_TITLES[discipline.label]} and Linux: {quantity.name}",
        statement=_statement(discipline),
        quantity=quantity.words,
        reference=f"{quantity.words}, Linux {results.release(own[0])}",
        tolerance=0.05,
        absolute=quantity.absolute,
        axis="traffic, packets that came in",
        points=[point for one in own for point in _points(one, quantity)],
        figure=False,
    )


def _statement(discipline: Discipline) -> str:
    rfc = (
        ', with `behaviour = "linux"`; in brackets what the RFC\'s gives'
        if _has_two(discipline)
        else ""
    )
    return (
        f"`airqueue.simulate.shaped` beside `tc qdisc add ... {discipline.tc}` under a token bucket "
        f"of {RATE_BPS // 1_000_000} Mb/s, both offered the same packets at the same times{rfc}."
    )
