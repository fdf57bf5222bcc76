"""Assembles the report: text, tables and pictures in one HTML file without outside references."""

from __future__ import annotations

import os
from collections.abc import Sequence
from html import escape

from airqueue import text
from airqueue.files import write_atomically
from airqueue.measure import schema, tables
from airqueue.measure.document import Document, Quantiles
from airqueue.measure.records import Run
from airqueue.measure.words import ESTIMATOR_NAMES, describe, evidence_beside
from airqueue.report import figures, html
from airqueue.report.html import Figure, document, table


def write_report(path: str | os.PathLike[str], result: Document, runs: Sequence[Run]) -> None:
    """Write the HTML report of a measurement.

    ``result`` follows `schema.json`; ``runs`` are its runs, the data of the pictures over time
    (without runs the report has no such pictures). Raises OSError naming ``path``.
    """
    write_atomically(path, render(result, runs))


def render(result: Document, runs: Sequence[Run]) -> str:
    """Return the report as HTML text."""
    words = describe(result)
    body = [
        f"<h1>{escape(words.headline)}</h1>",
        _about(result),
        _cards(result),
        html.paragraph(words.findings),
        html.paragraph(words.sureness),
        html.paragraph(words.next_steps),
        _evidence(result),
        *_pictures(result, runs),
        _estimators(result),
        _sessions(result),
        _hosts(result),
        _data(result),
    ]
    return document(f"airqueue: {result['target']}", body)


def _about(result: Document) -> str:
    direction = "towards" if result["direction"] == "down" else "from"
    parts = [
        f"{result['target']}",
        f"{direction} the measuring machine",
        f"profile {result['profile']}",
        f"{result['created']}",
        f"took {text.seconds(result['elapsed_s'])}",
        f"airqueue {result['airqueue']}",
    ]
    return html.about(parts)


def _cards(result: Document) -> str:
    unit = result["capacity_unit"]
    cards = [
        ("verdict", result["verdict"].replace("_", " ")),
        ("capacity", text.quantity(result["capacity"], unit)),
        ("95 % interval", text.interval(result["ci95"], unit)),
        ("delay when full", text.seconds(result["delay_full_s"])),
        ("rate", text.rate(result["rate_bps"])),
    ]
    if result.get("truth"):
        truth = result["truth"]
        # A discipline has no one capacity: its name is what is true.
        known = truth.get("discipline") or text.quantity(truth["capacity"], truth["counted_in"])
        cards.append(("truth", known))
    return html.cards(cards)


def _evidence(result: Document) -> str:
    if not result["evidence"]:
        return ""
    rows = [
        [item["says"], _number(item["value"]), _interval(item["ci95"])]
        for item in (*result["evidence"], *evidence_beside(result))
    ]
    return "<h2>Evidence</h2>" + table(["finding", "value", "95 % interval"], rows, numeric={1, 2})


def _pictures(result: Document, runs: Sequence[Run]) -> list[str]:
    shown = figures.representative(result, runs)
    drawn: list[Figure | None] = []
    if shown:
        drawn += figures.over_time(shown)
        drawn += [figures.delay_distributions(shown), figures.occupancy(shown, result)]
    drawn += [figures.against_load(result), *figures.capacities(result)]
    present = [figure for figure in drawn if figure is not None]
    return ["<h2>Pictures</h2>", *map(html.figure, present)] if present else []


def _estimators(result: Document) -> str:
    head, rows = tables.estimates(result)
    if not rows:
        return ""
    note = "<p>With 95 % confidence intervals. Bytes contain the link-layer header.</p>"
    if result["verdict"] != "fifo":
        note = "<p>What each formula gives; with this verdict none of them is a capacity.</p>"
    return f"<h2>Estimators</h2>{note}" + table(head, rows, numeric=range(1, len(head)))


def _sessions(result: Document) -> str:
    if not result["sessions"]:
        return ""
    head = ["size (B)", "no.", "", "began (s)", "took (s)", "throughput", "loss", "full delay"]
    head += [name.removesuffix(" formula") for name in ESTIMATOR_NAMES.values()]
    rows = [
        [
            str(s["size_bytes"]),
            str(s["index"]),
            "accepted" if s["accepted"] else f"discarded: {s['discarded_because']}",
            _number(s["started_s"]),
            _number(s["elapsed_s"]),
            text.rate(s["throughput_bps"]),
            text.percent(s["loss"]),
            text.seconds(s["delay_full_s"]),
            *(text.number(s["estimates"].get(name)) for name in ESTIMATOR_NAMES),
        ]
        for s in result["sessions"]
    ]
    sessions = table(
        head,
        rows,
        numeric=set(range(len(head))) - {2},
        classes=["" if s["accepted"] else "discarded" for s in result["sessions"]],
    )
    note = (
        "Estimates in packets of the session's size. Discarded sessions take no part; a dash where "
        "an estimator had nothing to go by, as those that need one rate do when it was not steady."
    )
    return f"<h2>Sessions</h2><p>{note}</p>{sessions}"


def _hosts(result: Document) -> str:
    hosts = result["hosts"]
    skew = hosts["clock_skew_ppm"]
    rows = [
        ["sending later or earlier than planned", _quantiles(hosts["pacing_error_s"])],
        ["waiting inside the sending host", _quantiles(hosts["local_queueing_s"])],
        ["packets the sending host refused", f"{hosts['send_blocked']:,}"],
        ["packets the receiving host had no room for", f"{hosts['receive_overflow']:,}"],
        ["steps of a clock", str(hosts["clock_steps"])],
        [
            "clocks drift apart",
            "unknown" if skew is None else f"{skew['value']:.1f} ppm ({_interval(skew['ci95'])})",
        ],
        ["receive times", "kernel" if hosts["kernel_receive_timestamps"] else "program"],
    ]
    return "<h2>The two hosts about themselves</h2>" + table(["", ""], rows, css="facts")


def _data(result: Document) -> str:
    return html.data(schema.to_text(result))


def _quantiles(values: Quantiles | None) -> str:
    if values is None:
        return "unknown"
    shown = [("median", values["p50"]), ("99 %", values["p99"])]
    if "max" in values:
        shown.append(("most", values["max"]))
    return ", ".join(f"{name} {text.seconds(value)}" for name, value in shown)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.4g}"


def _interval(bounds: Sequence[float] | None) -> str:
    return "–" if bounds is None else f"{bounds[0]:,.4g} to {bounds[1]:,.4g}"
