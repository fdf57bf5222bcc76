"""Reference values of TCP networks from ns-2: validation/references_tcp.csv. Their set-up: tcp.py.

Besides what the network does, each point has the CPU time that a simulated second cost.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from .install import ROOT
from .references import Point, Quantity, Table, ratio
from .tcp import (
    Browsed,
    Flow,
    Run,
    Sessions,
    Transferred,
    Transfers,
    counted,
    run,
)

COLUMNS = (
    *("simulator", "kind", "agents", "flows", "stations", "law", "window", "ack_every"),
    *("segment_bytes", "control_mbps", "rts", "queue_frames", "warm_up_s"),
)
COST = Quantity[Run](
    "CPU time of a simulated second", "s", lambda r: r.cpu_s, lambda r: r.simulated_s, math.inf
)
SUM = "aggregate throughput"
QUEUE = "mean frames waiting at the access point"
DELAY = "mean session delay"
DELAY_AT_MEAN = "mean session delay, at the mean size of files"
MEDIAN = "median session delay, mean over stations"
P95 = "95th percentile of session delays"
SEGMENTS = "mean segments of a session"
JAIN = "Jain's index"

TcpPoint = Point[Transfers | Sessions, Run]

# The paper's cell: the access point has the files; control frames at 2 Mb/s, RTS, 1000-byte segments.
HTTP = Transfers(
    kind="persistent",
    agents="full",
    flows=(Flow(),),
    segment_bytes=1000,
    control_mbps=2.0,
    rts=True,
    warm_up_s=50.0,
    seconds=50.0,
)
WEB = Sessions(
    kind="sessions", stations=10, segment_bytes=1000, control_mbps=2.0, rts=True, warm_up_s=100.0
)
SIX = Transfers(
    kind="delays",
    flows=tuple(Flow("down", delay) for delay in (5.0, 30.0, 50.0, 80.0, 100.0, 120.0)),
    queue_frames=100,
)
RATES_MBPS = (11.0, 11.0, 11.0, 5.5, 5.5, 1.0)
UPLOAD = Flow("up", 5.0)
DOWNLOAD = Flow("down", 5.0)


@dataclass(frozen=True)
class AtMeanSize(Quantity[Run]):
    """Mean delay with the mean size of files put right: delay - slope (size - its known mean).

    The slope is that of least squares over all sessions (control variates; Ripley, Stochastic
    Simulation, 5.3); its own error is neglected, as there are thousands of them.
    """

    mean_segments: float = 0.0

    def estimate(self, results: Sequence[Run]) -> tuple[float, float]:
        runs = [r for r in results if isinstance(r, Browsed)]
        sessions = sum(r.sessions for r in runs)
        segments = sum(r.segments for r in runs)
        products = sum(r.delay_s_times_segments for r in runs)
        squares = sum(r.segments_squared for r in runs)
        delays = sum(r.delay_s for r in runs)
        slope = (products - delays * segments / sessions) / (squares - segments**2 / sessions)
        rest, error = ratio(
            [r.delay_s - slope * r.segments for r in runs], [r.sessions for r in runs]
        )
        return rest + slope * self.mean_segments, error


def per_run(
    name: str, unit: str, value: Callable[[Transferred], float], tolerance: float
) -> Quantity[Run]:
    """A mean over runs."""

    def above(result: Run) -> float:
        assert isinstance(result, Transferred)
        return value(result)

    return Quantity(name, unit, above, lambda _: 1.0, tolerance)


def per_session(
    name: str, unit: str, total: Callable[[Browsed], float], tolerance: float
) -> Quantity[Run]:
    """A mean over all sessions of all runs."""

    def checked(result: Run) -> Browsed:
        assert isinstance(result, Browsed)
        return result

    return Quantity(
        name, unit, lambda r: total(checked(r)), lambda r: checked(r).sessions, tolerance
    )


def quantile(name: str, of_run: Callable[[Browsed], float]) -> Quantity[Run]:
    """A quantile of session delays: mean over runs. Its runs settle what heavy tails leave open."""

    def checked(result: Run) -> float:
        assert isinstance(result, Browsed)
        return of_run(result)

    return Quantity(name, "s", checked, lambda _: 1.0, 0.03)


def flow(number: int, tolerance: float) -> Quantity[Run]:
    return per_run(
        f"throughput of flow {number}", "b/s", lambda r: r.flow_bps[number - 1], tolerance
    )


def total(tolerance: float) -> Quantity[Run]:
    return per_run(SUM, "b/s", lambda r: sum(r.flow_bps), tolerance)


def ap_queue() -> Quantity[Run]:
    return per_run(QUEUE, "1", lambda r: r.ap_queue_frames or 0.0, math.inf)


def jain(rates: Sequence[float]) -> float:
    return sum(rates) ** 2 / (len(rates) * sum(rate**2 for rate in rates))


def persistent(
    connections: int, window: int, every: int, agents: str = "full", cpu_limit_s: float = 60.0
) -> TcpPoint:
    scenario = replace(
        HTTP, flows=(Flow(),) * connections, window=window, ack_every=every, agents=agents
    )
    return Point("ns2", scenario, (total(0.02), COST), 0.02, cpu_limit_s)


def sessions(nodes: int, law: str, window: int, cpu_limit_s: float = 60.0) -> TcpPoint:
    """``nodes`` with the access point among them, as the paper counts."""
    # About a thousand sessions in each run; four thousand, as in ours, for quantiles.
    heavy = law == "pareto"
    seconds = (40_000.0 if heavy else 10_000.0) / (nodes - 1)
    scenario = replace(WEB, stations=nodes - 1, law=law, window=window, seconds=seconds)
    at_mean = AtMeanSize(
        DELAY_AT_MEAN, "s", lambda _: 0.0, lambda _: 1.0, 0.03, scenario.mean_segments
    )
    quantities: tuple[Quantity[Run], ...] = (
        per_session(DELAY, "s", lambda r: r.delay_s, math.inf),
        at_mean,
        per_session(SEGMENTS, "1", lambda r: r.segments, math.inf),
        COST,
    )
    if heavy:
        quantities += (
            quantile(MEDIAN, lambda r: r.delay_p50_s),
            quantile(P95, lambda r: r.delay_p95_s),
        )
    return Point("ns2", scenario, quantities, 0.03, cpu_limit_s)


def delays(
    queue_frames: int, mbps: Sequence[float] = (11.0,) * 6, cpu_limit_s: float = 80.0
) -> TcpPoint:
    flows = tuple(replace(f, mbps=rate) for f, rate in zip(SIX.flows, mbps, strict=True))
    kind = "delays" if len(set(mbps)) == 1 else "rates"
    scenario = replace(SIX, kind=kind, flows=flows, queue_frames=queue_frames)
    each = (flow(number, 0.1) for number in range(1, len(flows) + 1))
    return Point("ns2", scenario, (*each, total(0.01), ap_queue(), COST), 0.1, cpu_limit_s)


def uploads(up: int, down: int, cpu_limit_s: float = 100.0) -> TcpPoint:
    """Who is ahead in a run stays ahead: flows in the order of their throughput."""
    scenario = replace(
        SIX,
        kind="uploads",
        flows=(UPLOAD,) * up + (DOWNLOAD,) * down,
        queue_frames=50,
        seconds=170.0,
    )
    quantities = [total(0.0), per_run(JAIN, "1", lambda r: jain(r.flow_bps), 0.0)]
    for word, first, last in (("upload", 0, up), ("download", up, up + down)):
        for rank in range(last - first):
            quantities.append(ranked(word, slice(first, last), rank))
    return Point("ns2", scenario, (*quantities, ap_queue(), COST), 0.0, cpu_limit_s)


def ranked(word: str, flows: slice, rank: int) -> Quantity[Run]:
    name = f"throughput of the {word} that is number {rank + 1} from below"
    return per_run(name, "b/s", lambda r: sorted(r.flow_bps[flows])[rank], 0.0)


def key(point: TcpPoint) -> tuple[str, ...]:
    """What stands in `COLUMNS`."""
    c = point.cell
    flows = counted(c.flows) if isinstance(c, Transfers) else ""
    web = (str(c.stations), c.law) if isinstance(c, Sessions) else ("", "")
    return (
        *("ns-2.35", c.kind, c.agents, flows, *web, str(c.window), str(c.ack_every)),
        *(str(c.segment_bytes), f"{c.control_mbps:g}", "on" if c.rts else "off"),
        *(str(c.queue_frames), f"{c.warm_up_s:g}"),
    )


FIRST = ((1, 1, 1), (10, 1, 1), (1, 1000, 1), (1, 1000, 2), (1, 1000, 5), (10, 3, 3))
"""Connections, windows and d: the corners."""


def points() -> Iterator[TcpPoint]:
    """The more important first."""
    for connections, window, every in FIRST:
        yield persistent(connections, window, every)
    for queue_frames in (100, 300):
        yield delays(queue_frames)
    for window in (1, 1000):
        yield sessions(11, "exponential", window)
    yield delays(100, RATES_MBPS)
    yield sessions(21, "exponential", 1000)
    yield from (uploads(3, 0), uploads(6, 0), uploads(3, 3))
    yield from more_persistent((1, 2, 3, 5, 10))
    for queue_frames in (50, 500, 200):
        yield delays(queue_frames)
    for nodes, window in ((2, 1), (2, 1000), (6, 1), (6, 1000), (16, 1), (16, 1000), (21, 1)):
        yield sessions(nodes, "exponential", window)
    for nodes in (2, 11, 21, 6, 16):
        for window in (1, 1000):
            yield sessions(nodes, "pareto", window, 40.0)
    yield from more_persistent((30, 20))
    for connections in (1, 10):
        for every in (1, 2, 3, 5):
            for window in sorted({every, 1000}):
                yield persistent(connections, window, every, "one-way")


def more_persistent(counts: Iterable[int]) -> Iterator[TcpPoint]:
    """Those that are none of the first."""
    for connections in counts:
        for every in (1, 2, 3, 5):
            for window in sorted({1, every, 1000}):
                if (connections, window, every) not in FIRST:
                    yield persistent(connections, window, every)


def run_seed(point: TcpPoint, seed: int) -> Run:
    return run(replace(point.cell, seed=seed))


TABLE = Table(ROOT / "validation" / "references_tcp.csv", COLUMNS, key, points, run_seed)
