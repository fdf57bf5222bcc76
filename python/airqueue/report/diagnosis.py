"""The report of a diagnosis: who waits behind whom, first as a picture."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Final

import numpy as np

from airqueue import text
from airqueue.diagnose.queue import Queue
from airqueue.diagnose.queue_words import evidence, noun, sentences
from airqueue.diagnose.records import Leg, Records
from airqueue.diagnose.result import TOGETHER, Diagnosis
from airqueue.files import write_atomically
from airqueue.measure.schema import to_text
from airqueue.report import html
from airqueue.report.html import Figure
from airqueue.report.svg import Chart, padded

NARROW: Final = 360
"""Width of the picture on a phone, whose words would be too small in the wide one."""
_NAMES: Final = {
    "gateway": "to the gateway: radio network alone",
    "wire": "to the server on the access point's wire",
    "server": "to the server: the whole path",
}


def write_report(
    path: str | os.PathLike[str], found: Diagnosis, document: Mapping[str, Any]
) -> None:
    """Write the HTML report of a diagnosis. Raises OSError naming ``path``."""
    write_atomically(path, render(found, document))


def render(found: Diagnosis, document: Mapping[str, Any]) -> str:
    """Return the report as HTML text; ``document`` is the diagnosis as JSON has it."""
    body = [
        f"<h1>{escape(found.headline)}</h1>",
        html.about(
            [
                str(document["target"]),
                str(document["created"]),
                f"took {text.seconds(document['elapsed_s'])}",
                f"airqueue {document['airqueue']}",
            ]
        ),
        html.paragraph([change["says"] for change in document.get("changes", [])]),
        html.paragraph([] if found.alternated is None else found.alternated.says),
        f"<p>{html.prose(found.recommendation.headline)}</p>",
        html.paragraph(found.effects),
        html.figure(_over_time(found.records)),
        _round_trips(document),
        _evidence(document),
        _queue(found.queue),
        _settings(document),
        html.data(to_text(document)),
    ]
    return html.document(f"airqueue: {document['target']}", body)


def _over_time(records: Records) -> Figure:
    """Return round trips of all legs over time, the loads as bands."""
    legs = [leg for leg in records.legs if leg.answered]
    return Figure(
        "Who waits, and when",
        "Each dot is a probe. Where a load lifts both legs alike packets wait in the radio network; "
        "where it lifts the leg to the server alone they wait behind the gateway.",
        (html.by_width(_chart(records, legs, 900, 320), _chart(records, legs, NARROW, 300)),),
        tuple((number, _NAMES.get(leg.name, leg.name)) for number, leg in enumerate(legs, 1)),
    )


def _chart(records: Records, legs: Sequence[Leg], width: int, height: int) -> str:
    ends = [float(leg.sent_s.max()) for leg in legs] or [1.0]
    known = [leg.round_trip_s[~np.isnan(leg.round_trip_s)] * 1e3 for leg in legs]
    narrow = width == NARROW
    chart = Chart(
        "Round trips over time",
        (0.0, max(ends)),
        # Above the dots is room for the names of the loads.
        padded(np.concatenate(known).tolist() if known else [], room=0.12),
        x_label="seconds",
        y_label="round trip, ms",
        width=width,
        height=height,
        left=56 if narrow else 64,
    )
    named = {"down": ("↓", "download"), "up": ("↑", "upload")}
    bands = [(load, *named[load.direction]) for load in records.loads]
    bands += [(load, "⇅", "both") for load in records.together[::2]]
    for load, arrow, label in bands:
        if load.idle is None:
            says = f"{arrow} {load.site}" if narrow else f"{label}, {load.site}"
            chart.band(load.began_s, load.ended_s, says)
    # The longest path first: what the gateway answers lies above it, and what waits there shows.
    for number, leg in reversed(list(enumerate(legs, 1))):
        _draw(chart, leg, number)
    return chart.render()


def _draw(chart: Chart, leg: Leg, number: int) -> None:
    known = ~np.isnan(leg.round_trip_s)
    chart.dots(leg.sent_s[known].tolist(), (leg.round_trip_s[known] * 1e3).tolist(), number)


def _round_trips(document: Mapping[str, Any]) -> str:
    head = ["leg", "load", "median", "95 %", "99 %", "answered"]
    rows = [
        [
            row["leg"],
            "none" if row["load_site"] is None else f"{row['load_direction']} ({row['load_site']})",
            *(text.seconds(row[name]) for name in ("p50_s", "p95_s", "p99_s")),
            f"{row['answered']} of {row['sent']}",
        ]
        for row in document["round_trips"]
    ]
    return "<h2>Round trips</h2>" + html.table(head, rows, numeric=range(2, len(head)))


def _evidence(document: Mapping[str, Any]) -> str:
    rows = [
        [
            f"{finding['direction']} ({finding['site']})",
            finding["says"],
            text.rate(finding["carried_bps"]),
        ]
        for finding in document["findings"]
    ]
    rows += [
        [
            f"{TOGETHER} ({pair['site']})",
            pair["says"],
            text.rate(None if pair["down_bps"] is None else pair["down_bps"] + pair["up_bps"]),
        ]
        for pair in document["together"]
    ]
    return "<h2>Evidence</h2>" + html.table(["load", "finding", "carried"], rows, numeric={2})


def _queue(queue: Queue | None) -> str:
    """Return what was measured of the queue in which packets wait; nothing if nobody asked."""
    if queue is None:
        return ""
    measured = queue.measured
    parts = ["<h2>The queue</h2>", html.paragraph(sentences(queue))]
    if measured is not None:
        unit = measured["capacity_unit"]
        cards = (
            ("queue", noun(measured) or "unknown"),
            ("capacity", text.quantity(measured["capacity"], unit)),
            ("95 % interval", text.interval(measured["ci95"], unit)),
            ("a flood waits", text.seconds(measured["delay_full_s"])),
            ("rate", text.rate(measured["rate_bps"])),
        )
        parts.append(html.cards(cards))
        rows = [[each["says"]] for each in evidence(queue)]
        parts.append(html.table(["finding of the measurement"], rows) if rows else "")
    return "".join(parts)


def _settings(document: Mapping[str, Any]) -> str:
    parts: list[str] = []
    known: set[str] = set()
    for each in document["recommendation"]["settings"]:
        if each["lines"]:
            parts.append(f"<h3>{escape(each['target'])}: {escape(each['place'])}</h3>")
            parts.append(f"<pre>{escape(chr(10).join(each['lines']))}</pre>")
            parts += [html.paragraph([note]) for note in each["notes"] if note not in known]
            known |= {*each["notes"]}
    return "<h2>Settings</h2>" + "".join(parts) if parts else ""
