"""The HTML report of a simulation: what to notice, pictures, and all tables."""

from __future__ import annotations

import os
from html import escape
from typing import TYPE_CHECKING, Final

from airqueue import text
from airqueue.files import write_atomically
from airqueue.report import html
from airqueue.report.simulation_figures import figures
from airqueue.simulate import Results, Scenario
from airqueue.simulate.cautions import limit_words
from airqueue.simulate.noticed import sentences
from airqueue.simulate.reported import KINDS
from airqueue.simulate.reported import summaries as by_name
from airqueue.simulate.shown import SHOWN, figure_column, replications

if TYPE_CHECKING:
    from airqueue.figures import Kind

_TITLES: Final[dict[Kind, str]] = {
    "flows": "Flows",
    "connections": "TCP",
    "calls": "Calls",
    "pings": "Requests",
    "frames": "Pictures",
    "drops": "Losses by place",
    "queues": "Queues",
    "stations": "Stations",
    "pages": "Pages",
    "videos": "Videos",
    "beacons": "Beacons",
    "sleep": "Sleep",
    "absences": "Absences",
    "associations": "Associations",
    "interference": "Interference",
    "signals": "Signals",
}
_MOST_ROWS: Final = 100
"""Rows of a table; a network may have thousands of stations."""


def write_report(
    path: str | os.PathLike[str], name: str, scenario: Scenario, results: Results
) -> None:
    """Write the HTML report of the simulation of a scenario called ``name``.

    The pictures over time are those of `Results.series`, if recorded. Raises OSError naming ``path``.
    """
    write_atomically(path, render(name, scenario, results))


def render(name: str, scenario: Scenario, results: Results) -> str:
    """Return the report as HTML text."""
    noticed = sentences(results, scenario)
    body = [
        f"<h1>{escape(noticed[0] if noticed else 'Nothing was simulated.')}</h1>",
        _about(name, results),
        _cards(results),
        _warnings(results),
        _list(noticed[1:]),
        *_pictures(results),
        *(_table(kind, title, results) for kind, title in _TITLES.items()),
        _limits(results),
        html.data(results.to_text()),
    ]
    return html.document(f"airqueue: {name}", body)


def _about(name: str, results: Results) -> str:
    parts = [
        name,
        f"{replications(results)} of {results.duration_s or 0:,g} s",
        f"seed {results.seed}",
        f"airqueue {results.to_json()['airqueue']}",
    ]
    return html.about(parts)


def _cards(results: Results) -> str:
    medium = results.summary["medium"]
    index = medium["throughput_jain_index"]["mean"]
    delays = [of["delay_p95_s"]["mean"] for of in results.summary["flows"].values()]
    known = [value for value in delays if value is not None]
    cards = [
        ("throughput of all flows", text.rate(medium["throughput_bps"]["mean"])),
        ("longest p95 of a flow's delay", text.seconds(max(known)) if known else "–"),
        ("attempts that collide", text.percent(medium["collided_ratio"]["mean"])),
    ]
    if len(results.summary["flows"]) > 1 and index is not None:
        cards.append(("Jain's index of throughputs", f"{index:.3f}"))
    return html.cards(cards)


def _warnings(results: Results) -> str:
    return "".join(f"<p><strong>Warning:</strong> {escape(each)}.</p>" for each in results.warnings)


def _list(noticed: list[str]) -> str:
    if not noticed:
        return ""
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in noticed)
    return f"<ul>{items}</ul>"


def _pictures(results: Results) -> list[str]:
    drawn = figures(results)
    return ["<h2>Pictures</h2>", *map(html.figure, drawn)] if drawn else []


def _table(kind: Kind, title: str, results: Results) -> str:
    every = {name: by_name(of) for name, of in results.summary[kind].items()}
    if not every:
        return ""
    shown = dict(list(every.items())[:_MOST_ROWS])
    heads, columns = [KINDS[kind]], [list(shown)]
    if kind == "queues":
        queues = results.queues_in_force[: len(shown)]
        heads += ["discipline", "holds at most"]
        columns += [[of["discipline"] for of in queues], [limit_words(of) for of in queues]]
    for figure in SHOWN[kind]:
        summaries = [of[figure] for of in shown.values()]
        if any(summary["mean"] is not None for summary in summaries):
            heading, cells = figure_column(figure, summaries)
            heads.append(heading.replace("\n", " "))
            columns.append(cells)
    more = len(every) - len(shown)
    note = f"<p>The first {_MOST_ROWS} of {len(every):,}; --json has all.</p>" if more else ""
    rows = [list(row) for row in zip(*columns, strict=True)]
    numbers = range(3 if kind == "queues" else 1, len(heads))
    return f"<h2>{title}</h2>{note}{html.table(heads, rows, numeric=numbers)}"


def _limits(results: Results) -> str:
    rows = [
        [
            text.seconds(row["time_s"]),
            row["station"] + ("" if row["flow"] is None else f" {row['flow']}"),
            "released" if row["limit_packets"] is None else f"{row['limit_packets']:,}",
            row["trigger"],
        ]
        for run in list(results.runs.values())[:1]
        for row in run.get("limits", [])[:_MOST_ROWS]
    ]
    if not rows:
        return ""
    head = ["at", "queue", "limit (packets)", "because"]
    return f"<h2>Limits set while the network ran</h2>{html.table(head, rows, numeric={0, 2})}"
