"""The files that a diagnosis can write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from airqueue.cli.common import write_named
from airqueue.cli.plans import PlanFile
from airqueue.cli.talk import note
from airqueue.cli.written import Writing, check_outputs
from airqueue.diagnose import flent, metrics
from airqueue.diagnose.result import Diagnosis
from airqueue.files import write_atomically
from airqueue.measure.schema import to_text
from airqueue.report.diagnosis import write_report
from airqueue.sizing.plans import PlanError

flent_option = click.option(
    "--flent",
    "flent_path",
    metavar=f"FILE{flent.SUFFIX}",
    help="Write the round trips and rates as a data file of flent, which draws them.",
)
prometheus_option = click.option(
    "--prometheus",
    "prometheus_path",
    metavar="FILE.prom",
    help="Write the figures for Prometheus, as node_exporter's textfile collector reads them.",
)


@dataclass(frozen=True, slots=True)
class Files:
    """What the user asked for; ``-`` as the JSON's path is stdout."""

    json: str | None = None
    report: str | None = None
    flent: str | None = None
    prometheus: str | None = None
    plan: PlanFile = field(default_factory=PlanFile)

    def check(self, capture_path: str | None, read: Iterable[str | None]) -> None:
        """Raise OSError or UsageError before the diagnosis; ``read``: files that are read."""
        if self.flent is not None and not self.flent.endswith(flent.SUFFIX):
            raise click.UsageError(
                f"flent knows its files by their names: let {self.flent!r} end in {flent.SUFFIX}."
            )
        check_outputs(
            [
                ("--json", self.json),
                ("--report", self.report),
                ("--flent", self.flent),
                ("--prometheus", self.prometheus),
                ("--plan", self.plan.path),
                ("--capture", capture_path),
            ],
            read,
        )

    def write(self, write: Writing, found: Diagnosis, document: Mapping[str, Any]) -> None:
        """Write all files, each even if another fails; ``document``: the diagnosis as JSON has it."""
        if self.json is not None:
            write(write_named, self.json, to_text(document))
        if self.report is not None:
            write(write_report, self.report, found, document)
        if self.flent is not None:
            name = Path(self.flent).name
            content = flent.content(found.records, document, name)
            write(write_atomically, self.flent, content)
        if self.prometheus is not None:
            write(write_atomically, self.prometheus, metrics.text(document))
        if self.plan.path is not None:
            write(self._write_plan, self.plan.path, found)

    def _write_plan(self, path: str, found: Diagnosis) -> None:
        """Write the plan, or say why there is none: a path without lag needs no settings.

        Raises PlanError if a plan of an earlier diagnosis would be taken for that of this one.
        """
        advice = found.recommendation
        try:
            self.plan.write(advice.settings, advice.headline)
        except PlanError as error:
            if Path(path).exists():
                raise PlanError(
                    f"No plan is written, and {path} has the plan of an earlier run: do not apply "
                    f"{path}. {error}"
                ) from error
            note(f"No plan is written. {error}")
