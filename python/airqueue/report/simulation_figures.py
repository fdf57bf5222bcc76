"""The pictures of a simulation's report: shares, delays, queues, drops and air, also over time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from airqueue.report.html import Figure
from airqueue.report.svg import Chart, padded
from airqueue.report.time_chart import Axis, chart_over_time
from airqueue.simulate import Results

if TYPE_CHECKING:
    from airqueue.figures import Summary

Of = TypeVar("Of")

_MOST_ROWS: Final = 24
"""Names in a picture of rows, and below how many of those over time."""
_MOST_OVER_TIME: Final = 6
_KINDS_OF_FRAMES: Final = ("data", "ack", "rts", "cts")
_ROUNDING: Final = 1e-9
"""Shares below are what sums of shares are rounded by."""
_REASONS: Final = (
    ("unprocessed_packets", "no room at the processor"),
    ("full_packets", "full"),
    ("early_packets", "to slow senders"),
    ("filtered_packets", "acknowledgements"),
)
"""Losses of queues; what is lost on the way comes after these."""


def figures(results: Results) -> list[Figure]:
    """Return all pictures for which there are values."""
    if not results.runs:
        return []
    every = (_throughputs, _delays, _queues, _drops, _air, _over_time)
    return [figure for draw in every for figure in draw(results)]


def _ranked(
    named: Mapping[str, Of], value: Callable[[Of], float | None], most: int = _MOST_ROWS
) -> dict[str, Of]:
    """Return those with the greatest values, in the scenario's order."""
    known = {name: of for name, of in named.items() if value(of) is not None}
    top = sorted(known, key=lambda name: -(value(known[name]) or 0.0))[:most]
    return {name: of for name, of in known.items() if name in top}


def _left_out(shown: Mapping[str, Any], every: Mapping[str, Any]) -> str:
    more = len(every) - len(shown)
    return f" {more:,} with smaller values are left out." if more > 0 else ""


def _rows(title: str, names: Sequence[str], most: Sequence[float], label: str) -> Chart:
    """Return axes with a row for each name, from zero to the greatest of the values."""
    chart = Chart(
        title,
        padded(most),
        (-0.6, len(names) - 0.4),
        x_label=label,
        y_label="",
        height=80 + 22 * len(names),
        left=150,
    )
    for row, name in enumerate(reversed(names)):
        chart.row_label(row, name if len(name) <= 20 else f"{name[:19]}…")
    return chart


def _throughputs(results: Results) -> Iterator[Figure]:
    every = results.summary["flows"]
    shown = _ranked(every, lambda of: of["throughput_bps"]["mean"])
    if not shown:
        return
    means = {name: of["throughput_bps"] for name, of in shown.items()}
    most = [_end(each) * 1e-6 for each in means.values()]
    chart = _rows("Throughput of flows", list(means), most, "throughput (Mb/s)")
    for row, each in enumerate(reversed(means.values())):
        chart.bar((each["mean"] or 0.0) * 1e-6, row, 1)
        if each["ci95"] is not None:
            chart.whisker(each["ci95"][0] * 1e-6, each["ci95"][1] * 1e-6, row, 0)
    caption = f"IP packets at their destination, with 95 % intervals.{_left_out(shown, every)}"
    yield Figure("Who gets what", caption, (chart.render(),))


def _end(summary: Summary) -> float:
    return max([summary["mean"] or 0.0, *(summary["ci95"] or [])[1:]])


_QUANTILES = ((1, "median"), (2, "95th percentile"), (3, "99th percentile"))


def _quantiles(title: str, shown: Mapping[str, Any], of: str, label: str) -> str:
    """Return a chart of three quantiles of `of`, in milliseconds, with a row for each of `shown`."""
    found = [
        [1e3 * (each[f"{of}_{q}_s"]["mean"] or 0.0) for q in ("p50", "p95", "p99")]
        for each in shown.values()
    ]
    chart = _rows(title, list(shown), [values[-1] for values in found], label)
    for row, values in enumerate(reversed(found)):
        chart.line([values[0], values[-1]], [row, row], 0)
        for number, value in enumerate(values, start=1):
            chart.dots([value], [row], number, kind="big")
    return chart.render()


def _delays(results: Results) -> Iterator[Figure]:
    every = results.summary["flows"]
    shown = _ranked(every, lambda of: of["delay_p99_s"]["mean"])
    if not shown:
        return
    chart = _quantiles("Delay of flows", shown, "delay", "delay (ms)")
    caption = f"From source to destination, means over replications.{_left_out(shown, every)}"
    yield Figure("Who waits", caption, (chart,), _QUANTILES)


def _queues(results: Results) -> Iterator[Figure]:
    every = results.summary["queues"]
    shown = _ranked(every, lambda of: of["sojourn_mean_s"]["mean"])
    if not shown:
        return
    stays = _quantiles("Queues: time in the queue", shown, "sojourn", "time in the queue (ms)")
    held = [of["length_mean_packets"]["mean"] or 0.0 for of in shown.values()]
    chart = _rows("Queues: packets, mean", list(shown), held, "packets, mean")
    for row, value in enumerate(reversed(held)):
        chart.bar(value, row, 1)
    caption = "How long packets stay in each queue, and how many wait on average."
    caption += _left_out(shown, every)
    yield Figure("Where packets wait", caption, (stays, chart.render()), _QUANTILES)


def _drops(results: Results) -> Iterator[Figure]:
    lost: dict[str, list[float]] = {}
    for name, of in results.summary["drops"].items():
        place = name.rpartition(" at ")[2]
        values = [of[reason]["mean"] or 0.0 for reason, _ in _REASONS]  # type: ignore[literal-required]
        values.append((of["given_up_packets"]["mean"] or 0.0) + (of["wire_packets"]["mean"] or 0.0))
        before = lost.get(place, [0.0] * len(values))
        lost[place] = [one + other for one, other in zip(before, values, strict=True)]
    lost = {place: values for place, values in lost.items() if math.fsum(values) > 0}
    shown = _ranked(lost, math.fsum)
    if not shown:
        return
    words = [*(name for _, name in _REASONS), "on the way"]
    chart = _stacked("Lost packets", shown, "packets lost in a replication, mean")
    caption = (
        "Packets that queues drop, that MACs give up, or that are lost in wired links, both ways, by "
        f"reason.{_left_out(shown, lost)}"
    )
    yield Figure("Where packets are lost", caption, (chart,), _legend(shown, words))


def _legend(
    rows: Mapping[str, Sequence[float]], words: Sequence[str]
) -> tuple[tuple[int, str], ...]:
    """Return number and words of the parts of stacked bars that some row has."""
    parts = enumerate(words)
    return tuple((n, said) for n, said in parts if any(of[n] > 0 for of in rows.values()))


def _stacked(title: str, rows: Mapping[str, Sequence[float]], label: str) -> str:
    chart = _rows(title, list(rows), [math.fsum(of) for of in rows.values()], label)
    for row, parts in enumerate(reversed([*rows.values()])):
        begin = 0.0
        for number, part in enumerate(parts):
            if part > 0:
                chart.bar(begin + part, row, number, begin=begin)
            begin += part
    return chart.render()


def _air(results: Results) -> Iterator[Figure]:
    every = results.summary["stations"]
    shown = _ranked(every, lambda of: of["airtime_ratio"]["mean"])
    if not shown:
        return
    rows = {}
    for name, of in shown.items():
        kinds = [of[f"{kind}_airtime_ratio"]["mean"] or 0.0 for kind in _KINDS_OF_FRAMES]  # type: ignore[literal-required]
        rest = (of["airtime_ratio"]["mean"] or 0.0) - math.fsum(kinds)
        rows[name] = [100 * ratio for ratio in (rest if rest > _ROUNDING else 0.0, *kinds)]
    chart = _stacked("Air time of stations", rows, "air time (% of the time)")
    words = ("beacons, management, null frames", "data", "ACK and block ack", "RTS", "CTS")
    caption = f"Frames that each station sends, by kind.{_left_out(shown, every)}"
    yield Figure("Who has the air", caption, (chart,), _legend(rows, words))


def _over_time(results: Results) -> Iterator[Figure]:
    series = results.series
    if series is None or not len(series["time_s"]):
        return
    times = [0.0, *series["time_s"].tolist()]
    flows, queues = series["flows"], series["queues"]
    means = results.summary
    top = _ranked(
        {name: means["flows"][name]["throughput_bps"]["mean"] or None for name in flows},
        lambda mean: mean,
        _MOST_OVER_TIME,
    )
    first = "In the first replication, its warm-up included."

    def of_flows(column: str, axis: Axis) -> tuple[str, ...]:
        drawn = {name: _known(flows[name][column]) for name in top}  # type: ignore[literal-required]
        return tuple(
            chart_over_time(name, [values], times, axis)
            for name, values in drawn.items()
            if any(value is not None for value in values)
        )

    yield Figure("Rate over time", first, of_flows("throughput_bps", Axis("rate (Mb/s)", 1e-6)))
    delays = of_flows("delay_mean_s", Axis("delay (ms)", 1e3))
    if delays:
        caption = (
            "Mean of the packets delivered in each interval; none where nothing was delivered."
        )
        yield Figure("Delay over time", caption, delays)
    windows = of_flows("cwnd_bytes", Axis("window (kB)", 1e-3))
    if windows:
        yield Figure("TCP's congestion window over time", "At the end of each interval.", windows)
    held = _ranked(
        {name: means["queues"][name]["length_mean_packets"]["mean"] or None for name in queues},
        lambda mean: mean,
        _MOST_OVER_TIME,
    )
    if held:
        axis = Axis("packets waiting")
        charts = tuple(
            chart_over_time(name, [_known(queues[name]["length_mean_packets"])], times, axis)
            for name in held
        )
        yield Figure(
            "Queues over time", "Mean of each interval; the queues that hold most.", charts
        )


def _known(values: Any) -> list[float | None]:
    return [None if math.isnan(value) else value for value in values.tolist()]
