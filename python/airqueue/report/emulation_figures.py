"""The pictures of an emulation's report: figures over time, and how late packets were."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from airqueue import text
from airqueue.emulate.results import EmulationResults
from airqueue.report.html import Figure
from airqueue.report.svg import Chart, padded
from airqueue.report.time_chart import Axis, Values, chart_over_time

_MOST_PAIRS: Final = 6
"""Pairs with the most bytes, which have pictures."""

Charts = tuple[str, ...]


def figures(results: EmulationResults) -> list[Figure]:
    """Return all pictures for which there are values."""
    return [*_over_time(results), *_lateness(results)]


def _over_time(results: EmulationResults) -> Iterator[Figure]:
    series = results.series
    if series is None:
        return
    times = [series["begin_s"], *series["time_s"]]
    of_pairs = results.emulated["pairs"]
    ranked = sorted(series["pairs"], key=lambda name: -of_pairs[name]["delivered_bytes"])
    pairs = {name: series["pairs"][name] for name in ranked[:_MOST_PAIRS]}
    left_out = len(ranked) - len(pairs)
    more = f" {text.plural(left_out, 'pair')} with fewer bytes left out." if left_out else ""
    if pairs:
        yield Figure(
            "Rate over time",
            f"IP packets that the network delivered.{more}",
            tuple(_rate(name, of, times) for name, of in pairs.items()),
        )
        yield Figure(
            "Delay over time",
            "Of the packets delivered in each interval; none where nothing was delivered.",
            tuple(_delay(name, of, times) for name, of in pairs.items()),
            ((1, "median"), (2, "95th percentile")),
        )
    if series["queues"]:
        yield Figure(
            "Queues over time",
            "Packets that waited at the ends of the intervals, in the queues that held the most.",
            _all(series["queues"], times, Axis("packets waiting")),
        )
    if series["stations"]:
        yield Figure(
            "Air time over time",
            "Share of each interval in which a station sent frames; the stations with the most.",
            _all(series["stations"], times, Axis("air time (%)", 100.0)),
        )
    if any(value is not None for value in series["late_p99_s"]) and not results.exact:
        yield Figure(
            "Lateness over time",
            "99th percentile of how long after its time a packet was written, in each interval.",
            (chart_over_time("", [series["late_p99_s"]], times, Axis("late (ms)", 1e3)),),
        )


def _rate(name: str, of: Mapping[str, Any], times: Sequence[float]) -> str:
    return chart_over_time(name, [of["delivered_bps"]], times, Axis("rate (Mb/s)", 1e-6))


def _delay(name: str, of: Mapping[str, Any], times: Sequence[float]) -> str:
    return chart_over_time(
        name, [of["delay_p50_s"], of["delay_p95_s"]], times, Axis("delay (ms)", 1e3)
    )


def _all(series: Mapping[str, Mapping[str, Values]], times: Sequence[float], axis: Axis) -> Charts:
    """Return a chart for each name, of its only values."""
    # Three in a row have letters of the usual size.
    shown = replace(axis, width=400) if len(series) == 3 else axis
    return tuple(
        chart_over_time(name, list(of.values()), times, shown) for name, of in series.items()
    )


def _lateness(results: EmulationResults) -> Iterator[Figure]:
    emulated = results.emulated
    charts = [
        chart
        for label, below, most_s in (
            ("writes", emulated["late_below"], emulated["late_max_s"]),
            ("reads", emulated["read_late_below"], emulated["read_late_max_s"]),
        )
        if (chart := _histogram(label, below, most_s)) is not None
    ]
    if charts:
        yield Figure(
            "How late packets were",
            "Share of packets by lateness: of writes, after the packet left the network; of reads, "
            "how long a packet may have waited at most.",
            tuple(charts),
        )


def _histogram(label: str, below: Sequence[Any], most_s: float | None) -> str | None:
    if most_s is None:
        return None
    rows: list[tuple[str, int]] = []
    before, least = 0, "0"
    for each in below:
        to = _short(each["below_s"])
        rows.append((f"{least} to {to}", each["packets"] - before))
        before, least = each["packets"], to
        if each["below_s"] > most_s:
            break
    total = sum(count for _, count in rows)
    if not total:
        return None
    chart = Chart(
        f"How late packets were: {label}",
        padded([100 * count / total for _, count in rows]),
        (-0.6, len(rows) - 0.4),
        x_label=f"share of {label} (%)",
        y_label="",
        height=80 + 22 * len(rows),
        left=130,
    )
    for row, (name, count) in enumerate(reversed(rows)):
        chart.bar(100 * count / total, row, 1)
        chart.row_label(row, name)
    return chart.render()


def _short(value_s: float) -> str:
    if value_s < 1e-3:
        return f"{value_s * 1e6:.0f} µs"
    return f"{value_s * 1e3:.1f} ms" if value_s < 0.0995 else f"{value_s:.2f} s"
