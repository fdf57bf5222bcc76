"""`airqueue sweep`: a scenario at many points, each simulated until its intervals are narrow."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from airqueue import text
from airqueue.cli import sweep_tables
from airqueue.cli.backends import backend_of, cluster_option, workers_option
from airqueue.cli.common import json_option, stdout, write_named
from airqueue.cli.errors import INTERRUPTED, as_usage, sentence
from airqueue.cli.progress import on_terminal
from airqueue.cli.written import all_written, check_apart, check_each, check_folders, write_drawn
from airqueue.measure.events import Event
from airqueue.runs.backend import Backend
from airqueue.simulate.errors import ScenarioError
from airqueue.sweep import Interrupted, Sweep, SweepError, SweepProgress, SweepResults
from airqueue.sweep.directory import FILES
from airqueue.sweep.figures import Pattern

if TYPE_CHECKING:
    from airqueue.plots.sweep_picture import SweepPlot


class _Figures(click.ParamType[Pattern]):
    """``flows.*.throughput_bps``."""

    name = "figure"

    def convert(self, value: object, param: object, ctx: object) -> Pattern:
        """Parse the text; a pattern passes."""
        if isinstance(value, Pattern):
            return value
        try:
            return Pattern.read(str(value))
        except SweepError as error:
            raise click.BadParameter(sentence(error)) from error


@click.command(short_help="Simulate a scenario at many points of its parameters.")
@click.argument("path", metavar="FILE")
@click.option(
    "--out",
    "out_path",
    metavar="DIR",
    help="Keep every run and write the tables there; without it in a directory named after FILE. The "
    "same command again goes on where one was broken off.",
)
@click.option("--list", "listed", is_flag=True, help="Print the points and simulate nothing.")
@click.option(
    "--show",
    "shown",
    type=_Figures(),
    multiple=True,
    metavar="FIGURE",
    help="A figure of the table and the plot, e.g. 'flows.*.delay_p95_s' or medium.collided_ratio; "
    "may be repeated.",
)
@json_option
@click.option(
    "--plot",
    "plot_path",
    metavar="FILE",
    help="Draw the figures over one or two parameters: FILE.svg, .pdf or .png.",
)
@workers_option
@cluster_option
def sweep(
    *,
    path: str,
    out_path: str | None,
    listed: bool,
    shown: tuple[Pattern, ...],
    json_path: str | None,
    plot_path: str | None,
    workers: int | None,
    cluster: str | None,
) -> None:
    """Simulate the scenario that FILE names with the parameters that FILE changes.

    \b
    Examples:
      airqueue sweep examples/sweep/buffer-size.toml --list
      airqueue sweep examples/sweep/buffer-size.toml --plot buffer.svg
      airqueue sweep FILE --cluster tcp://192.0.2.1:8786 --out results

    Every combination of values is a point. A point gets replications until the intervals that FILE
    names are narrow enough. FILE, its scenario and the version of airqueue determine the tables,
    on any machine. Ctrl-C loses only the unfinished runs. docs/sweep.md explains files and tables.
    """
    backend = backend_of(workers, cluster)
    plan = Sweep.from_toml(path)
    with as_usage(SweepError):
        plan.check_figures(shown, "--show ")
    if listed:
        sweep_tables.show_points(stdout(), path, plan)
        return
    patterns = shown or sweep_tables.usual(plan)
    with as_usage(SweepError, ScenarioError):
        picture = None if plot_path is None else _picture(plan, patterns, plot_path)
    check_folders([("--out", out_path)])
    described = Path(path).parent / plan.spec.source if plan.spec.source else None
    read = [path, described, *plan.spec.records]
    out = out_path or f"{Path(path).stem}-sweep"
    kept = [("--out", Path(out, name)) for name in FILES]
    files = [("--json", json_path), ("--plot", plot_path)]
    check_apart([*files, *kept], read)
    check_each(files)
    try:
        results = _run(plan, out, backend)
    except Interrupted as interrupt:
        _emit(path, interrupt.results, patterns, json_path, None)
        runs = text.plural(interrupt.results.replications, "run")
        click.echo(f"Interrupted after {runs}; the same command goes on from there.", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None
    _emit(path, results, patterns, json_path, picture)


def _picture(plan: Sweep, patterns: tuple[Pattern, ...], path: str) -> SweepPlot:
    from airqueue.plots.sweep_picture import SweepPlot  # noqa: PLC0415 - matplotlib is slow to load

    return SweepPlot(plan, patterns, path)


def _run(plan: Sweep, out: str, backend: Backend) -> SweepResults:
    """Simulate, with progress on a terminal."""
    with on_terminal() as show:
        return plan.run(out, backend, lambda progress: show(_event(progress)))


def _event(progress: SweepProgress) -> Event:
    runs = progress.runs
    before = f", {runs.kept:,} from before" if runs.kept else ""
    points = f"{progress.finished:,} of {text.plural(progress.points, 'point')}"
    return Event(
        phase="sweep",
        message=f"{points}, {text.plural(runs.finished, 'run')}{before}",
        fraction=runs.fraction,
        time_left_s=runs.time_left_s,
    )


def _emit(
    path: str,
    results: SweepResults,
    patterns: tuple[Pattern, ...],
    json_path: str | None,
    picture: SweepPlot | None,
) -> None:
    """Write the files and show the table, each even if another fails."""
    with all_written() as write:
        if json_path is not None:
            write(write_named, json_path, results.to_text())
        if picture is not None:
            write(write_drawn, picture, path, results)
        if json_path != "-":
            write(sweep_tables.show, stdout(), path, results, patterns)
