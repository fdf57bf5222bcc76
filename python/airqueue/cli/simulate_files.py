"""The files that a simulation can write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from airqueue.cli.common import write_named
from airqueue.cli.trace import write_trace
from airqueue.cli.written import (
    Named,
    Writing,
    check_apart,
    check_directories,
    check_each,
    check_folders,
    write_drawn,
)
from airqueue.files import named, write_atomically
from airqueue.simulate import Results, Scenario, tables
from airqueue.simulate.directory import FILES
from airqueue.simulate.tables import SERIES, TABLES

if TYPE_CHECKING:
    from airqueue.plots.simulation_map import NetworkPlot
    from airqueue.plots.simulation_picture import SimulationPlot
    from airqueue.traces import Opportunities


@dataclass(frozen=True, slots=True)
class Files:
    """What the user asked for; ``-`` as the JSON's path is stdout."""

    scenario: Scenario
    json_path: str | None
    csv_path: str | None
    report_path: str | None
    picture: SimulationPlot | None
    network: NetworkPlot | None
    trace_path: str | None
    pcap_path: str | None

    def check(self, path: str, out_path: str | None) -> None:
        """Raise UsageError or OSError before a long simulation; ``path``: the scenario's file."""
        kept = [] if out_path is None else [Path(out_path, name) for name in FILES]
        rows = [] if self.csv_path is None else [self._csv_file(n) for n in (*TABLES, *SERIES)]
        files: list[Named] = [
            ("--json", self.json_path),
            ("--report", self.report_path),
            ("--plot", None if self.picture is None else self.picture.path),
            ("--map", None if self.network is None else self.network.path),
            ("--pcap", self.pcap_path),
            ("--trace", self.trace_path),
            *(("--csv", row) for row in rows),
        ]
        check_folders([("--out", out_path), ("--csv", self.csv_path)])
        check_apart([*files, *(("--out", file) for file in kept)], [path, *self.scenario.records])
        check_directories([self.csv_path])
        if self.csv_path is not None:
            Path(self.csv_path).mkdir(parents=True, exist_ok=True)
        check_each(files)

    def write(
        self, write: Writing, path: str, results: Results, opportunities: Sequence[Opportunities]
    ) -> None:
        """Write the files, each even if another fails; a trace only if there is one."""
        if self.json_path is not None:
            write(write_named, self.json_path, results.to_text())
        if self.csv_path is not None:
            write(self._write_csv, results)
        if self.report_path is not None:
            write(self._write_report, self.report_path, path, results)
        if self.picture is not None:
            write(write_drawn, self.picture, path, results)
        if self.network is not None:
            write(write_drawn, self.network, path, self.scenario, results)
        if self.trace_path is not None and opportunities:
            write(write_trace, self.trace_path, opportunities[0])

    def _csv_file(self, name: str) -> Path:
        """Return where the rows of that name go."""
        return Path(self.csv_path or "") / f"{name}.csv"

    def _write_csv(self, results: Results) -> None:
        found: dict[str, tables.Columns] = {
            kind: tables.columns(kind, results.runs) for kind in TABLES
        }
        if results.series is not None:
            of = results.series
            found |= {name: tables.series_columns(of, kind) for name, kind in SERIES.items()}
        for name, columns in found.items():
            write_atomically(self._csv_file(name), tables.to_csv(columns))

    def _write_report(self, report_path: str, path: str, results: Results) -> None:
        from airqueue.report.simulation import write_report  # noqa: PLC0415 - slow to load

        write_report(report_path, named(path), self.scenario, results)
