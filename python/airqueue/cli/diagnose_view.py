"""A diagnosis on the terminal: what happens, then verdict, what to do, and evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from airqueue import text
from airqueue.cli.advice import show_settings
from airqueue.cli.common import bullets, stdout
from airqueue.cli.console import Console
from airqueue.cli.diagnose_files import Files
from airqueue.cli.progress import LiveLine, glimpse, time_left
from airqueue.cli.table import Table
from airqueue.cli.written import all_written
from airqueue.diagnose.again import Change
from airqueue.diagnose.queue_words import evidence, sentences
from airqueue.diagnose.result import Diagnosis
from airqueue.diagnose.timeline import Glimpse
from airqueue.diagnose.words import load_words
from airqueue.measure.events import Event


class View(LiveLine):
    """What happens now: a live line on a terminal, elsewhere a line for each step."""

    def __init__(self, *, quiet: bool) -> None:
        super().__init__(quiet=quiet)
        self._step = "measuring the queue"

    def on_glimpse(self, seen: Glimpse) -> None:
        """Show what happens in a diagnosis."""
        trips = [f"{leg} {text.seconds(s)}" for leg, s in seen.trips_s.items() if s is not None]
        self._show(seen.says, "  ".join(trips), seen.left_s)

    def on_event(self, event: Event) -> None:
        """Show what happens in the measurement of the queue."""
        waits = event.progress is not None and event.progress.runs_ahead > 0
        if event.progress is None or waits:
            # The name of the step stays during its run.
            self._step = f"measuring the queue: {event.message}"
        now = "" if event.progress is None or waits else glimpse(event.progress)
        self._show(self._step, now, event.time_left_s)

    def _show(self, says: str, now: str, left_s: float | None) -> None:
        if self._live:
            self._parts = (says, now, time_left(left_s))
        elif says != self._said:
            self._said = says
            self._console.print(says, soft_wrap=True)


def emit(
    found: Diagnosis, compared: Sequence[Change], about: Mapping[str, Any], files: Files
) -> None:
    """Write the files and show the diagnosis, each even if another fails."""
    document = found.to_json(about)
    document["changes"] = [_change(each) for each in compared]
    with all_written() as write:
        files.write(write, found, document)
        if files.json != "-":
            write(_show, found, compared, document)


def _change(change: Change) -> dict[str, Any]:
    spans = {"before_s": change.before, "now_s": change.now, "change_s": change.change}
    return {
        "site": change.load.site,
        "direction": change.load.direction,
        "word": change.word,
        "says": change.says,
        **{
            name: {"value": span.value, "low": span.low, "high": span.high}
            for name, span in spans.items()
        },
    }


def _show(found: Diagnosis, compared: Sequence[Change], document: Mapping[str, Any]) -> None:
    console = stdout()
    console.print(found.headline, style="bold")
    in_turn = () if found.alternated is None else found.alternated.says
    for says in (*(change.says for change in compared), *in_turn):
        console.print()
        console.print(says, style="bold")
    console.print()
    console.print(found.recommendation.headline)
    for paragraph in (found.effects, sentences(found.queue)):
        if paragraph:
            console.print()
            console.print(" ".join(paragraph))
    console.print()
    console.print(_trips(document))
    console.print("Evidence:")
    loads = [(load_words(finding.load), finding.says) for finding in found.findings]
    points = [f"{load[0].upper()}{load[1:]}: {says}" for load, says in loads]
    points += [f"Both at once, with the {p.down.site}: {p.says}" for p in found.together]
    points += [f"The queue: {each['says']}" for each in evidence(found.queue)]
    bullets(console, points)
    _settings(found, console)


def _trips(document: Mapping[str, Any]) -> Table:
    table = Table(title="Round trips")
    for head in ("leg", "load", "median", "95 %", "99 %", "answered", "a minute"):
        table.add_column(head, justify="left" if head in ("leg", "load") else "right")
    for row in document["round_trips"]:
        load = (
            "none" if row["load_site"] is None else f"{row['load_direction']} ({row['load_site']})"
        )
        minute = row["round_trips_per_minute"]
        table.add_row(
            row["leg"],
            load,
            *(text.seconds(row[name]) for name in ("p50_s", "p95_s", "p99_s")),
            f"{row['answered']} of {row['sent']}",
            "–" if minute is None else f"{minute:,.0f}",
        )
    return table


def _settings(found: Diagnosis, console: Console) -> None:
    known: set[str] = set()
    for settings in found.recommendation.settings:
        if not settings.lines:
            continue
        show_settings(settings, console, known)
        known |= set(settings.notes)
