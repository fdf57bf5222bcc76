"""The pictures of the report, after Figures 6 to 11 of the APQ paper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from airqueue import text
from airqueue.measure import series, tables
from airqueue.measure.document import Document
from airqueue.measure.records import Run
from airqueue.measure.session import Session
from airqueue.measure.words import ESTIMATOR_NAMES
from airqueue.report.html import Figure
from airqueue.report.svg import Chart, padded

_LABEL_ROOM = 0.16
"""Share of an axis kept free above the data for the names of the phases."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The session that represents its packet size in the pictures over time."""

    size_bytes: int
    index: int
    session: Session


@dataclass(frozen=True, slots=True)
class _LoadPoint:
    """One offered load and its results; NaN where unknown."""

    size_bytes: int
    offered: float
    received: float
    loss: float
    delay: float


_AGAINST_LOAD = {"received": "received (Mb/s)", "loss": "loss (%)", "delay": "delay (ms)"}


def representative(result: Document, runs: Sequence[Run]) -> list[Shown]:
    """Return one session per packet size, largest first: the accepted one with the middle count.

    If no session was accepted, the first session, so that the reader can see why.
    """
    by_key = {
        (int(run.meta["size_bytes"]), int(run.meta.get("index", 0))): run
        for run in runs
        if run.meta.get("kind") == "session" and run.received.any()
    }
    counts = {
        (s["size_bytes"], s["index"]): s["estimates"].get("counting") or 0.0
        for s in result["sessions"]
        if s["accepted"]
    }
    shown = []
    for size in sorted({size for size, _ in by_key}, reverse=True):
        keys = sorted(key for key in by_key if key[0] == size)
        ranked = sorted((key for key in keys if key in counts), key=lambda key: counts[key])
        key = ranked[len(ranked) // 2] if ranked else keys[0]
        shown.append(Shown(size, key[1], Session(by_key[key])))
    return shown


def over_time(shown: Sequence[Shown]) -> list[Figure]:
    """Throughput, delay and occupancy over time (Figs 6 and 7, and the counting estimate)."""
    return [
        Figure(
            "Throughput over time",
            "What the receiver got of the rate that was offered, in one session of each size.",
            tuple(_throughput(s) for s in shown),
            ((1, "received"), (0, "offered")),
        ),
        Figure(
            "Delay over time",
            f"One-way delay above the quiet path, by send time. {_who_waits(shown)}",
            tuple(_delay(s) for s in shown),
            ((1, "flood"), (2, "sparse flow")),
        ),
    ]


def occupancy(shown: Sequence[Shown], result: Document) -> Figure | None:
    """Contents of the queue around each drop; None without drops."""
    charts = []
    for one in shown:
        held = series.occupancy_at_drops(one.session)
        if len(held.x):
            charts.append(_occupancy(one, held, result))
    if not charts:
        return None
    return Figure(
        "Occupancy at each drop",
        "Packets that were waiting when each refused packet came, counted one by one: no rate "
        "enters. A drop-tail queue gives a flat line at its capacity; dots below it are drops for "
        "another reason.",
        tuple(charts),
    )


def delay_distributions(shown: Sequence[Shown]) -> Figure:
    """Delay CDFs of the quiet and the full queue (Fig. 8)."""
    charts = []
    for one in shown:
        quiet, full = series.delays_quiet_and_full(one.session)
        top = padded([*quiet[-1:], *full[-1:], *quiet[:1]])
        chart = Chart(
            f"Delay distribution, {one.size_bytes} B packets",
            (top[0] * 1e3, top[1] * 1e3),
            (0.0, 1.0),
            x_label=f"delay above the quiet path (ms), {one.size_bytes} B packets",
            y_label="fraction of packets",
        )
        for number, values in ((2, quiet), (1, full)):
            points = series.cdf(values)
            chart.steps((points.x * 1e3).tolist(), points.y.tolist(), number)
        charts.append(chart.render())
    return Figure(
        "Delay when quiet and when full",
        "The share of packets delayed by no more than the value on the axis. Two steep steps far "
        "apart are a queue that is either empty or full.",
        tuple(charts),
        ((2, "quiet"), (1, "full (hold)")),
    )


def against_load(result: Document) -> Figure | None:
    """Throughput, loss and delay against offered load, from search and sessions (Fig. 10)."""
    searched, held = _search_points(result), _session_points(result)
    if not searched:
        return None
    sizes = sorted({point.size_bytes for point in searched}, reverse=True)
    x_range = padded(point.offered for point in (*searched, *held))
    charts = []
    for name, label in _AGAINST_LOAD.items():
        chart = Chart(
            f"{label} against offered load",
            x_range,
            padded(getattr(point, name) for point in (*searched, *held)),
            x_label="offered load (Mb/s of IP packets)",
            y_label=label,
            width=400,
            height=230,
        )
        for number, size in enumerate(sizes, start=1):
            xs, ys = _column(searched, size, name)
            chart.line(xs, ys, number)
            chart.dots(xs, ys, number, kind="big")
            chart.dots(*_column(held, size, name), number, kind="middling")
        charts.append(chart.render())
    return Figure(
        "Against offered load",
        "Throughput levels off, loss and delay set in. Joined: the steps of the search for the "
        "path's rate; small dots: the accepted sessions while they held the queue full.",
        tuple(charts),
        tuple((number, f"{size} B packets") for number, size in enumerate(sizes, start=1)),
    )


def capacities(result: Document) -> list[Figure]:
    """Capacity of both sizes with 95 % intervals, per estimator (Fig. 11)."""
    counted_in = result["counted_in"]
    both: list[tables.Unit] = ["packets", "bytes"]
    units = both if counted_in == "undecided" else [counted_in]
    figures = [_capacities(result, unit) for unit in units]
    return [figure for figure in figures if figure is not None]


def _throughput(shown: Shown) -> str:
    received, offered = series.throughput_over_time(shown.session)
    chart = Chart(
        f"Throughput over time, {shown.size_bytes} B packets",
        (0.0, float(received.x[-1])),
        padded([*received.y * 1e-6, *offered.y * 1e-6], room=_LABEL_ROOM),
        x_label=f"time (s), {shown.size_bytes} B packets, session {shown.index}",
        y_label="throughput (Mb/s)",
    )
    _phases(chart, shown.session)
    chart.steps(offered.x.tolist(), (offered.y * 1e-6).tolist(), 0, dash=True)
    chart.steps(received.x.tolist(), (received.y * 1e-6).tolist(), 1)
    return chart.render()


def _who_waits(shown: Sequence[Shown]) -> str:
    """What the picture of delays is for: whether the sparse flow waits behind the flood."""
    says = "In one shared queue the sparse flow waits as long as the flood."
    waits = series.waits_while_full(shown[0].session) if shown else None
    if waits is None:
        return says
    sparse, flood = (text.seconds(max(value, 0.0)) for value in waits)
    of = f" of {shown[0].size_bytes} B" if len(shown) > 1 else ""
    return (
        f"{says} Here, while the queue was kept full, the sparse flow{of} waited {sparse}, the "
        f"flood {flood} (medians)."
    )


def _delay(shown: Shown) -> str:
    """The flood as a pale shade, and above it every packet of the sparse flow."""
    flood = series.spread(series.delay_over_time(shown.session, flood=True))
    sparse = series.thin(series.delay_over_time(shown.session, flood=False))
    end = max([*flood.x[-1:], *sparse.x[-1:]], default=1.0)
    chart = Chart(
        f"Delay over time, {shown.size_bytes} B packets",
        (0.0, float(end)),
        padded([v * 1e3 for v in (*flood.high, *sparse.y)], room=_LABEL_ROOM),
        x_label=f"send time (s), {shown.size_bytes} B packets, session {shown.index}",
        y_label="delay above quiet (ms)",
    )
    _phases(chart, shown.session)
    low, high = (flood.low * 1e3).tolist(), (flood.high * 1e3).tolist()
    chart.spread(flood.x.tolist(), low, high, 1)
    chart.dots(sparse.x.tolist(), (sparse.y * 1e3).tolist(), 2, kind="middling")
    return chart.render()


def _occupancy(shown: Shown, held: series.Points, result: Document) -> str:
    estimate = tables.of_size(result["estimators"]["counting"], shown.size_bytes)
    level = None if estimate is None else estimate["packets"]
    thinned = series.thin(held)
    chart = Chart(
        f"Occupancy at each drop, {shown.size_bytes} B packets",
        padded(thinned.x, zero=False),
        padded([*thinned.y, *([] if level is None else [level * 1.1])]),
        x_label=f"send time (s), {shown.size_bytes} B packets, session {shown.index}",
        y_label="packets waiting",
    )
    chart.dots(thinned.x.tolist(), thinned.y.tolist(), 1)
    if level is not None:
        chart.level(level, f"counting: {text.number(level)}")
    return chart.render()


def _capacities(result: Document, unit: tables.Unit) -> Figure | None:
    sizes = tables.sizes_of(result)
    rows = [
        (f"{ESTIMATOR_NAMES[name]}, {size} B", number, amount, tables.bounds(estimate, unit))
        for name in ESTIMATOR_NAMES
        for number, size in enumerate(sizes, start=1)
        if (estimate := tables.of_size(result["estimators"][name], size)) is not None
        and (amount := estimate[unit]) is not None
    ]
    if not rows:
        return None
    truth = result.get("truth")
    true_value = truth["capacity"] if truth and truth["counted_in"] == unit else None
    values = [v for _, _, amount, interval in rows for v in (amount, *(interval or ()))]
    chart = Chart(
        f"Capacity in {unit} by estimator",
        padded([*values, *([] if true_value is None else [true_value])], zero=False),
        (-0.5, len(rows) - 0.2),
        x_label=f"capacity ({unit})",
        y_label="",
        height=80 + 28 * len(rows),
        width=720,
        left=190,
    )
    if true_value is not None:
        chart.mark_x(true_value, f"truth: {text.number(true_value, unit)}")
    for row, (label, number, amount, interval) in enumerate(reversed(rows)):
        if interval is not None:
            chart.whisker(*interval, row, number)
        chart.dots([amount], [row], number, kind="big")
        chart.row_label(row, label)
    return Figure(
        f"{'Capacity' if result['verdict'] == 'fifo' else 'Estimates'} in {unit}",
        "Every estimator with its 95 % confidence interval. Equal numbers of packets for both "
        "sizes mean that the queue counts packets; equal numbers of bytes, that it counts bytes. "
        "The axis does not start at zero.",
        (chart.render(),),
        tuple((number, f"{size} B packets") for number, size in enumerate(sizes, start=1)),
    )


def _phases(chart: Chart, session: Session) -> None:
    for name in ("quiet", "hold", "after"):
        start, end = session.phases.get(name, (0.0, 0.0))
        if end > start:
            chart.band(start, end, name)


def _search_points(result: Document) -> list[_LoadPoint]:
    points = []
    for step in result["search"]:
        bits = step["size_bytes"] * 8e-6
        points.append(
            _LoadPoint(
                int(step["size_bytes"]),
                _scaled(step["offered_pps"], bits),
                _scaled(step["received_pps"], bits),
                _scaled(step["loss"], 100),
                _scaled(step["delay_s"], 1e3),
            )
        )
    return points


def _session_points(result: Document) -> list[_LoadPoint]:
    """Return the hold phase of every accepted session; the offered load includes lost packets."""
    points = []
    for row in result["sessions"]:
        if (
            row["accepted"]
            and row["throughput_bps"]
            and row["loss"] is not None
            and row["loss"] < 1
        ):
            received = row["throughput_bps"] * 1e-6
            offered, loss = received / (1 - row["loss"]), row["loss"] * 100
            delay = _scaled(row["delay_full_s"], 1e3)
            points.append(_LoadPoint(row["size_bytes"], offered, received, loss, delay))
    return points


def _column(points: Sequence[_LoadPoint], size: int, name: str) -> tuple[list[float], list[float]]:
    known = sorted(
        (point.offered, float(getattr(point, name)))
        for point in points
        if point.size_bytes == size
        and math.isfinite(point.offered)
        and math.isfinite(getattr(point, name))
    )
    return [x for x, _ in known], [y for _, y in known]


def _scaled(value: float | None, scale: float) -> float:
    return math.nan if value is None else float(value) * scale
