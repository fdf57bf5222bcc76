"""Access points as paths to measure, and sessions of the paper's method over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypedDict

from airqueue.description import Description, PhyTable
from airqueue.measure import series
from airqueue.measure.estimators.published import published
from airqueue.measure.paper import session_plan
from airqueue.measure.prober import Prober
from airqueue.measure.session import Session
from airqueue.measure.simulated import SimulatedProber
from airqueue.runs import Work, kinds
from airqueue.stats import t_interval
from airqueue_papers.item import Budget, Calculation, Outcomes, calculated
from airqueue_papers.picture import Series

PHY_B: Final[PhyTable] = {"standard": "802.11b", "preamble": "short"}
"""802.11b at 11 Mb/s. The paper prints no preamble: only the short one gives its 6.7 Mb/s."""
PHY_G: Final[PhyTable] = {"standard": "802.11g", "rate": "11 Mb/s", "preamble": "short"}
"""802.11g fixed at 11 Mb/s, whose slots are short."""
DRIVER_FRAMES: Final = 40
"""Frames of the driver behind the Host AP's queue, as found by the paper."""


def access_point(packets: int, phy: PhyTable = PHY_B, ring: int = 0) -> dict[str, Any]:
    """Return a cell with one access point, as `SimulatedProber` takes it."""
    scenario: Description = {
        "phy": phy,
        "queue": {"limit": f"{packets} packets", "ring": f"{ring} packets"},
        "stations": [{"name": "ap"}, {"name": "laptop"}],
        "flows": [
            {"from": "ap", "to": "laptop", "source": "external"},
            {"from": "laptop", "to": "ap", "source": "external"},
        ],
    }
    return {"cell": {"scenario": scenario, "down": "ap->laptop", "up": "laptop->ap"}}


def measured(path: Mapping[str, Any], budget: Budget, size_bytes: int, seed: int) -> Calculation:
    """Return the measurement of a path: thirty sessions of two minutes, or the quick profile."""
    inputs = {
        "path": path,
        "seed": seed,
        "profile": budget.pick("quick", "paper"),
        "sizes": [size_bytes],
    }
    return Calculation(Work("measurement", inputs, weight=budget.pick(0.3, 8.0)))


def one_session(path: Mapping[str, Any], rate_pps: float, size_bytes: int = 1500) -> Calculation:
    """Return one session of Algorithm 2 over a path, as `session` has it."""
    inputs = {"path": path, "rate_pps": rate_pps, "size_bytes": size_bytes, "seed": 1}
    return Calculation(Work("apq-session", inputs, weight=0.5))


def unsaturated(measurement: Calculation, rate_pps: float) -> Calculation:
    """Return sessions of Algorithm 2 with a flow of this rate, in place of a measurement."""
    inputs = {**measurement.work.inputs, "rate_pps": rate_pps}
    return Calculation(Work("apq-sessions", inputs, weight=0.5 * _UNSATURATED))


_UNSATURATED: Final = 5
"""Sessions without saturation."""


class Seen(TypedDict):
    """A session's throughput and delay over time, each as x and y."""

    throughput: list[list[float]]
    """s, Mb/s."""
    delay: list[list[float]]
    """s, s above the quiet path; of the flood."""
    quiet: list[list[float]]
    """s, fraction: the distribution of delays with the queue empty."""
    full: list[list[float]]
    """s, fraction: the distribution of delays with the queue full."""


def session(inputs: Mapping[str, Any]) -> Seen:
    """Carry out work of the kind ``apq-session``."""
    prober = SimulatedProber(inputs["path"], seed=inputs["seed"])
    plan, meta = session_plan(inputs["size_bytes"], inputs["rate_pps"], 0)
    seen = Session(prober.run(plan, meta))
    received, _ = series.throughput_over_time(seen)
    delay = series.thin(series.delay_over_time(seen, flood=True), bins=150)
    quiet, full = (series.cdf(values) for values in series.delays_quiet_and_full(seen))
    return {
        "throughput": [received.x.tolist(), (received.y / 1e6).tolist()],
        "delay": [delay.x.tolist(), delay.y.tolist()],
        "quiet": [quiet.x.tolist(), quiet.y.tolist()],
        "full": [full.x.tolist(), full.y.tolist()],
    }


def sessions(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Carry out work of the kind ``apq-sessions``: published estimates, as in a measurement."""
    prober = SimulatedProber(inputs["path"], seed=inputs["seed"])
    return published_of(prober, inputs["sizes"], inputs["rate_pps"])


def published_of(prober: Prober, sizes: Sequence[int], rate_pps: float) -> dict[str, Any]:
    """Return published estimates from sessions with a flow of this rate, as in a measurement."""
    by_size = {}
    for size in sizes:
        plans = (session_plan(size, rate_pps, k) for k in range(_UNSATURATED))
        found = [published(Session(prober.run(*plan))) for plan in plans]
        interval = t_interval([each for each in found if each is not None])
        assert interval is not None  # half of what the path carries arrives
        ends = [interval.low, interval.high]
        by_size[str(size)] = {"packets": interval.mean, "ci95_packets": ends}
    return {"estimators": {"published": {"by_size": by_size}}}


kinds.register("apq-session", session, kinds.MEASURING)
kinds.register("apq-sessions", sessions, kinds.MEASURING)


def seen(outcomes: Outcomes, name: str) -> Seen:
    """Return the result of `one_session`."""
    found: Seen = calculated(outcomes, name)
    return found


def line(
    label: str, points: Sequence[Sequence[float]], style: Literal["line", "steps"] = "line"
) -> Series:
    """Return one kind of result of `session`, [x, y], as a series."""
    x, y = points
    return Series(label, tuple(x), tuple(y), style=style)


def mean_within(points: Sequence[Sequence[float]], ends: tuple[float, float]) -> float:
    """Return the mean of y over the part of [x, y] between two values of x."""
    chosen = [y for x, y in zip(*points, strict=True) if ends[0] <= x < ends[1]]
    return float(sum(chosen) / len(chosen))
