"""Output of measurements: the table and the text on stdout, JSON and the report in files."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from airqueue.cli.common import bullets, stdout, write_named
from airqueue.cli.console import Console
from airqueue.cli.table import Table
from airqueue.cli.written import all_written, check_outputs
from airqueue.measure import schema, tables
from airqueue.measure.document import Document
from airqueue.measure.records import Run
from airqueue.measure.words import describe, evidence_beside
from airqueue.report import write_report
from airqueue.sizing.measured import says_what_to_set


@dataclass(frozen=True, slots=True)
class Outputs:
    """The files that the user asked for; ``-`` as JSON path is stdout."""

    json_path: str | None = None
    report_path: str | None = None

    def check(self, read: Iterable[str | None] = (), capture_path: str | None = None) -> None:
        """Raise UsageError or OSError before the measurement; ``read``: files that are read."""
        check_outputs(
            [
                ("--json", self.json_path),
                ("--report", self.report_path),
                ("--capture", capture_path),
            ],
            read,
        )

    def emit(self, result: Document, runs: Sequence[Run]) -> None:
        """Write the files and show the result, each even if another fails."""
        with all_written() as write:
            if self.json_path is not None:
                write(write_named, self.json_path, schema.to_text(result))
            if self.report_path is not None:
                write(write_report, self.report_path, result, runs)
            if self.json_path != "-":
                write(self._show, result)

    def _show(self, result: Document) -> None:
        show_result(result)
        self._say_next(result)

    def _say_next(self, result: Document) -> None:
        """Name the command that says what to set, if the file of the result has what it needs."""
        if self.json_path is not None and says_what_to_set(result):
            stdout().print(f"What to set: airqueue size ap {shlex.quote(self.json_path)}")


def show_result(result: Document) -> None:
    """Print the words, the table of estimators and the evidence on stdout."""
    console = stdout()
    words = describe(result)
    console.print(words.headline, style="bold")
    console.print()
    _paragraph(console, words.findings)
    _estimates(console, result)
    _paragraph(console, words.sureness)
    _paragraph(console, words.next_steps)
    if result["evidence"]:
        console.print("Evidence:")
        every = (*result["evidence"], *evidence_beside(result))
        bullets(console, (item["says"] for item in every))


def _paragraph(console: Console, sentences: Sequence[str]) -> None:
    if sentences:
        console.print(" ".join(sentences))
        console.print()


def _estimates(console: Console, result: Document) -> None:
    head, rows = tables.estimates(result)
    if not rows:
        return
    title = "" if result["verdict"] == "fifo" else "With this verdict none of these is a capacity"
    table = Table(title=title)
    for column, heading in enumerate(head):
        table.add_column(heading, justify="right" if column else "left")
    for row in rows:
        table.add_row(*row)
    console.print(table)
    console.print()
