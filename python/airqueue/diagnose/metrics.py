"""A diagnosis for Prometheus, as a file that node_exporter's textfile collector reads.

All samples have the target as a label, so that the files of several targets may lie in one directory.
They have no timestamps, which that collector refuses: when the diagnosis ended is a metric.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from airqueue.diagnose.result import created_at
from airqueue.prometheus import Labels, family

NO_LOAD: Final = "none"
"""Site and direction of round trips without a load."""
_QUANTILES: Final = {"0.5": "p50_s", "0.95": "p95_s", "0.99": "p99_s"}
_ROUND_TRIP: Final = "Round trip of the probes of a leg, without load and under each load."
_OF_LOADS: Final = {
    "carried_bits_per_second": ("carried_bps", None, "Rate of a load, of IP packets that arrived."),
    "rise_seconds": ("rise_s", "value", "What a load adds to the median round trip to its end."),
    "rise_low_seconds": ("rise_s", "low", "Lower end of the rise's 95 % interval."),
    "rise_high_seconds": ("rise_s", "high", "Upper end of the rise's 95 % interval."),
    "rise_to_gateway_seconds": (
        "near_s",
        "value",
        "What a load adds to the median round trip to the gateway.",
    ),
    "flood_rise_seconds": (
        "flood_rise_s",
        None,
        "Median delay of a flood's own packets above the empty path.",
    ),
}
"""Name -> key of a finding, key within it, help."""
_OF_QUEUES: Final = (
    ("delay_full_s", "queue_delay_full_seconds", "Delay of a flood in the full queue."),
    ("rate_bps", "queue_rate_bits_per_second", "Rate at which the full queue drains."),
)
"""Key of a measurement, name, help."""


def text(document: Mapping[str, Any]) -> str:
    """Return the metrics of a diagnosis as its JSON has it; what is null there is left out."""
    parts = (_run(document), _round_trips(document), _loads(document), _queue(document))
    return "".join(family for part in parts for family in part)


def _run(document: Mapping[str, Any]) -> Iterator[str]:
    target = {"target": str(document["target"])}
    version = {"version": str(document["airqueue"])}
    yield _gauge("info", "The diagnosis.", [(target | version, 1)])
    advice = {"do": document["recommendation"]["do"]}
    yield _gauge("recommendation_info", "What to do.", [(target | advice, 1)])
    ended_s = created_at(document["created"]).timestamp()
    about = "When the diagnosis ended, in seconds since 1970."
    yield _gauge("end_timestamp_seconds", about, [(target, ended_s)])
    yield _gauge(
        "duration_seconds", "How long the diagnosis took.", [(target, document["elapsed_s"])]
    )
    about = "1 if Ctrl-C ended the diagnosis early."
    yield _gauge("interrupted", about, [(target, int(document["interrupted"]))])


def _round_trips(document: Mapping[str, Any]) -> Iterator[str]:
    rows = [
        (
            {
                "target": str(document["target"]),
                "leg": row["leg"],
                "site": row["load_site"] or NO_LOAD,
                "direction": row["load_direction"] or NO_LOAD,
            },
            row,
        )
        for row in document["round_trips"]
    ]
    trips = [
        (labels | {"quantile": quantile}, row[key])
        for labels, row in rows
        for quantile, key in _QUANTILES.items()
    ]
    yield _gauge("round_trip_seconds", _ROUND_TRIP, trips)
    jitter = "Mean difference of round trips that follow each other."
    yield _gauge("jitter_seconds", jitter, [(labels, row["jitter_s"]) for labels, row in rows])
    yield _gauge("probes_sent", "Probes of a leg.", [(labels, row["sent"]) for labels, row in rows])
    answered = [(labels, row["answered"]) for labels, row in rows]
    yield _gauge("probes_answered", "Probes of a leg that were answered.", answered)


def _loads(document: Mapping[str, Any]) -> Iterator[str]:
    findings = [
        (
            {
                "target": str(document["target"]),
                "site": finding["site"],
                "direction": finding["direction"],
            },
            finding,
        )
        for finding in document["findings"]
    ]
    verdicts = [
        (labels | {"load": finding["load"], "place": finding["place"]}, 1)
        for labels, finding in findings
    ]
    yield _gauge("verdict_info", "Where packets waited under a load.", verdicts)
    for name, (key, part, about) in _OF_LOADS.items():
        values = []
        for labels, finding in findings:
            value = finding[key]
            values.append((labels, value[part] if part and value is not None else value))
        yield _gauge(name, about, values)


def _queue(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield what was measured of the queue in which packets wait, if anything was."""
    measured = document.get("queue")
    if measured is None:
        return
    labels = {
        "target": str(document["target"]),
        "site": document["queue_of"]["site"],
        "direction": document["queue_of"]["direction"],
    }
    discipline = measured.get("discipline")
    name = discipline["name"] if discipline is not None else None
    kind = {"verdict": measured["verdict"], "discipline": name or ""}
    yield _gauge("queue_info", "The queue in which packets wait.", [(labels | kind, 1)])
    for unit in ("packets", "bytes"):
        held = measured["capacity"] if measured["capacity_unit"] == unit else None
        yield _gauge(f"queue_capacity_{unit}", "What the full queue holds.", [(labels, held)])
    for key, metric, about in _OF_QUEUES:
        yield _gauge(metric, about, [(labels, measured[key])])


def _gauge(name: str, about: str, samples: Iterable[tuple[Labels, float | None]]) -> str:
    """Return a family; nothing without values."""
    known = [(labels, value) for labels, value in samples if value is not None]
    return family(f"diagnosis_{name}", "gauge", about, known) if known else ""
