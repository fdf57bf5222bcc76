"""The figures of a simulation that people see first, and their words, units and digits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, TypedDict

from airqueue import text
from airqueue.simulate.results import Results

if TYPE_CHECKING:
    from airqueue.figures import (
        AbsenceFigure,
        AssociationFigure,
        BeaconFigure,
        CallFigure,
        ConnectionFigure,
        DropFigure,
        FlowFigure,
        FrameFigure,
        InterferenceFigure,
        MediumFigure,
        PageFigure,
        PingFigure,
        QueueFigure,
        SignalFigure,
        SleepFigure,
        StationFigure,
        Summary,
        VideoFigure,
    )


class _Shown(TypedDict):
    flows: tuple[FlowFigure, ...]
    connections: tuple[ConnectionFigure, ...]
    calls: tuple[CallFigure, ...]
    pings: tuple[PingFigure, ...]
    frames: tuple[FrameFigure, ...]
    pages: tuple[PageFigure, ...]
    videos: tuple[VideoFigure, ...]
    drops: tuple[DropFigure, ...]
    queues: tuple[QueueFigure, ...]
    stations: tuple[StationFigure, ...]
    beacons: tuple[BeaconFigure, ...]
    sleep: tuple[SleepFigure, ...]
    absences: tuple[AbsenceFigure, ...]
    associations: tuple[AssociationFigure, ...]
    interference: tuple[InterferenceFigure, ...]
    signals: tuple[SignalFigure, ...]
    medium: tuple[MediumFigure, ...]


SHOWN: Final[_Shown] = {
    "flows": ("throughput_bps", "loss_ratio", "delay_mean_s", "delay_p95_s"),
    "connections": (
        "goodput_bps",
        "rtt_mean_s",
        "retransmitted_ratio",
        "timeouts",
        "session_mean_s",
    ),
    "calls": ("mos", "r_factor", "mouth_to_ear_s", "late_ratio"),
    "pings": (
        "round_trip_mean_s",
        "round_trip_sd_s",
        "round_trip_p50_s",
        "round_trip_p99_s",
        "loss_ratio",
    ),
    "frames": ("late_ratio", "loss_ratio", "frame_delay_p50_s", "frame_delay_p99_s"),
    "pages": (
        "pages",
        "load_time_mean_s",
        "load_time_p50_s",
        "load_time_p95_s",
        "document_time_mean_s",
    ),
    "videos": ("rate_mean_bps", "rate_changes", "start_up_s", "stalls", "stalled_ratio"),
    "drops": (
        "full_packets",
        "early_packets",
        "unprocessed_packets",
        "given_up_packets",
        "wire_packets",
    ),
    "queues": (
        "length_mean_packets",
        "length_max_packets",
        "sojourn_mean_s",
        "offered_packets",
        "dropped_packets",
    ),
    "stations": ("attempts", "collided_ratio", "airtime_ratio", "busy_ratio"),
    "beacons": ("sent", "skipped", "delay_mean_s", "airtime_ratio", "group_packets"),
    "sleep": (
        "asleep_ratio",
        "wake_ups",
        "beacons_missed",
        "kept_packets",
        "kept_mean_s",
        "dropped_packets",
    ),
    "absences": ("absences", "absent_ratio", "longest_s", "kept_packets", "dropped_packets"),
    "associations": (
        "associations",
        "roams",
        "timeouts",
        "unserved_ratio",
        "gap_mean_s",
        "gap_max_s",
        "lost_packets",
    ),
    "interference": ("bursts", "on_ratio", "hit_frames", "hit_lost_ratio"),
    "signals": ("frames", "lost_ratio", "snr_mean_db", "snr_sd_db"),
    "medium": (
        "throughput_bps",
        "throughput_jain_index",
        "collided_ratio",
        "data_airtime_ratio",
        "lost_data_airtime_ratio",
        "control_airtime_ratio",
    ),
}
"""The figures in tables; JSON and CSV have all."""

LONG: Final = "drops"
"""A kind with rows for each place of each flow: JSON, CSV and reports have it, other tables not."""

_DIGITS: Final = 4
_DIGITS_OF_INTERVALS: Final = 2
"""Significant digits of a mean and of half its interval, at most."""


def replications(results: Results) -> str:
    """Return how many replications there are: ``5 replications``, ``3 of 5 replications``."""
    if results.complete:
        return text.plural(len(results.runs), "replication")
    return f"{len(results.runs):,} of {text.plural(results.replications, 'replication')}"


def figure_column(name: str, summaries: Sequence[Summary]) -> tuple[str, list[str]]:
    """Return heading and cells of a figure, all cells in one unit."""
    words, unit, factor = scaled(name, [s["mean"] for s in summaries])
    heading = words.replace(" ", "\n", 1) + (f"\n{unit}" if unit else "")
    return heading, [_cell(summary, factor) for summary in summaries]


def _cell(summary: Summary, factor: float) -> str:
    """Return a mean and half its interval, with as many digits as the interval leaves certain."""
    if summary["mean"] is None:
        return "–"
    mean = summary["mean"] / factor
    places = 0 if mean == math.floor(mean) else _DIGITS - _digits(mean)
    if summary["ci95"] is None:
        return f"{mean:,.{max(places, 0)}f}"
    low, high = summary["ci95"]
    half = (high - low) / 2 / factor
    if half == 0:
        return f"{mean:,.{max(places, 0)}f} ± 0"
    places = min(places, _DIGITS_OF_INTERVALS - _digits(half))
    return f"{mean:,.{max(places, 0)}f} ± {half:,.{max(places, 0)}f}"


def _digits(value: float) -> int:
    """Return the number of digits before the decimal point; zero or less for 0.5 and 0.05."""
    return math.floor(math.log10(abs(value))) + 1


def scaled(name: str, values: Sequence[float | None]) -> tuple[str, str, float]:
    """Return a figure's words, its unit on the screen and what to divide by."""
    if name.endswith("_ratio"):
        return name.removesuffix("_ratio").replace("_", " "), "%", 0.01
    words, unit = text.words_and_unit(name)
    factor, unit = text.scale(unit, values)
    return words, unit, factor
