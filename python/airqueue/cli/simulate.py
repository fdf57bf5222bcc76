"""`airqueue simulate`: a network from a scenario file, its figures with intervals."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from airqueue import text
from airqueue.cli import device_tables, simulate_tables
from airqueue.cli.common import json_option, stdout
from airqueue.cli.errors import INTERRUPTED, as_usage, sentence
from airqueue.cli.parameters import DURATION, Whole, given_options
from airqueue.cli.progress import on_terminal
from airqueue.cli.simulate_files import Files
from airqueue.cli.trace import trace_option
from airqueue.cli.written import all_written
from airqueue.measure.events import Event
from airqueue.simulate import (
    Interrupted,
    Recorders,
    Results,
    Scenario,
    ScenarioError,
    overrides,
)
from airqueue.simulate.errors import OtherResultsError
from airqueue.simulate.recorders import HEADERS_BYTES, LEAST_BYTES, WHOLE_BYTES
from airqueue.simulate.replications import MOST_REPLICATIONS, MOST_SEED, ReplicationProgress
from airqueue.simulate.scenario import schema

if TYPE_CHECKING:
    from airqueue.cli.expect_figures import Bounds
    from airqueue.plots.simulation_map import NetworkPlot
    from airqueue.plots.simulation_picture import SimulationPlot
    from airqueue.traces import Opportunities

_MOST_NAMES: Final = 20
"""Names that a message lists."""
_INTERVALS: Final = 240
"""Of the pictures over time, at most."""


class _Change(click.ParamType[tuple[str, Any]]):
    """``PATH=VALUE``."""

    name = "change"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[str, Any]:
        """Parse the text; a pair passes."""
        if isinstance(value, tuple):
            return value
        try:
            return overrides.read(value)
        except ScenarioError as error:
            self.fail(sentence(error), param, ctx)


@click.command(short_help="Simulate a network of 802.11 stations.")
@click.argument("path", metavar="FILE", required=False)
@click.option(
    "--set",
    "changes",
    type=_Change(),
    multiple=True,
    metavar="A.B=VALUE",
    help="Change a value of the scenario, e.g. phy.rate='5.5 Mb/s' or flows.0.source=cbr; may be "
    "repeated.",
)
@click.option(
    "--seed",
    type=Whole(0, MOST_SEED),
    default=1,
    show_default=True,
    help="Random draws; the same seed gives the same figures.",
)
@click.option(
    "--replications",
    type=Whole(1, MOST_REPLICATIONS),
    default=5,
    show_default=True,
    help="Independent runs; the intervals come from them.",
)
@click.option(
    "--expect",
    "expected",
    multiple=True,
    metavar="BOUND",
    help="End with exit code 3 if a figure is not so, with 4 if its interval leaves that open, e.g. "
    "'flows.call.delay_p95_s < 50 ms'; * stands for all names; may be repeated.",
)
@click.option(
    "--workers",
    type=Whole(1, MOST_REPLICATIONS),
    help="Replications at the same time; without it as many as there are cores.",
)
@click.option(
    "--out",
    "out_path",
    metavar="DIR",
    help="Write everything: Parquet tables, summary, scenario, and where it comes from. The same "
    "command again goes on where one was broken off.",
)
@click.option("--force", is_flag=True, help="With --out: discard other results that DIR has.")
@json_option
@click.option(
    "--csv",
    "csv_path",
    metavar="DIR",
    help="Write flows.csv, stations.csv, queues.csv, medium.csv and others: a row per replication "
    "and name.",
)
@click.option(
    "--plot",
    "plot_path",
    metavar="FILE",
    help="Draw flows and stations with their intervals: FILE.svg, .pdf or .png.",
)
@click.option(
    "--report",
    "report_path",
    metavar="FILE",
    help="Write an HTML report: what to notice, pictures also over time, and all tables.",
)
@click.option(
    "--map",
    "map_path",
    metavar="FILE",
    help="Draw the network: stations, links, routes of flows, where packets wait and are dropped.",
)
@click.option(
    "--series",
    "series_interval_s",
    type=DURATION,
    metavar="TIME",
    help="With --out or --csv: flow_series and queue_series of the first replication too, a row for "
    "each interval of this length, e.g. 100ms.",
)
@click.option(
    "--pcap",
    "pcap_path",
    metavar="FILE",
    help="Capture the frames of the first replication, for Wireshark.",
)
@click.option(
    "--pcap-station",
    metavar="NAME",
    help="Capture what this station sends and hears; without it all that is on the air.",
)
@click.option(
    "--pcap-bytes",
    type=Whole(LEAST_BYTES, WHOLE_BYTES),
    default=HEADERS_BYTES,
    show_default=True,
    help="Keep so many bytes of each captured frame, its radiotap header of 22 included.",
)
@trace_option
@click.option(
    "--devices",
    "show_devices",
    is_flag=True,
    help="Print the devices that a station can be like, with the source of each value.",
)
@click.option(
    "--schema", "show_schema", is_flag=True, help="Print the JSON Schema of scenario files."
)
def simulate(
    *,
    path: str | None,
    changes: tuple[tuple[str, Any], ...],
    seed: int,
    replications: int,
    expected: tuple[str, ...],
    workers: int | None,
    out_path: str | None,
    force: bool,
    json_path: str | None,
    csv_path: str | None,
    plot_path: str | None,
    report_path: str | None,
    map_path: str | None,
    series_interval_s: float | None,
    pcap_path: str | None,
    pcap_station: str | None,
    pcap_bytes: int,
    trace: tuple[str, str] | None,
    show_devices: bool,
    show_schema: bool,
) -> None:
    """Simulate the network that FILE describes, and print what became of its flows and queues.

    \b
    Examples:
      airqueue simulate examples/simulate/saturated-cell.toml
      airqueue simulate FILE --set stations.sta.count=20 --set "duration=5 s"
      airqueue simulate FILE --replications 20 --json results.json
      airqueue simulate FILE --report cell.html
      airqueue simulate FILE --expect "calls.*.mos > 3.6" --expect "flows.game.loss_ratio < 0.01"
      airqueue simulate FILE --replications 1 --trace ap:phone=phone.mahi

    The figures are means over independent replications with 95 % confidence intervals. FILE, --seed
    and the version of airqueue determine them, whatever the number of workers. Ctrl-C keeps the
    replications that have finished. docs/reference explains files and figures.
    """
    if show_schema:
        _refuse_more("--schema", "show_schema")
        click.echo(json.dumps(schema(), indent=2, ensure_ascii=False))
        return
    if show_devices:
        _refuse_more("--devices", "show_devices", "json_path")
        device_tables.show(json_path)
        return
    if path is None:
        raise click.UsageError(
            "Missing argument 'FILE': a scenario; `airqueue examples` lists files to start from."
        )
    for given, other, said in (
        (
            series_interval_s,
            csv_path or out_path,
            "--series says how often; --out DIR or --csv DIR says where the series go.",
        ),
        (force or None, out_path, "--force discards what a directory has; --out DIR says which."),
        (
            pcap_station,
            pcap_path,
            "--pcap-station says whose frames; --pcap FILE says where they go.",
        ),
    ):
        if given is not None and other is None:
            raise click.UsageError(said)
    scenario = Scenario.from_toml(path, dict(changes))
    if pcap_station is not None:
        _check_station(pcap_station, scenario)
    bounds = _bounds(expected, scenario)
    link = None if trace is None else trace[0]
    if report_path is not None and series_interval_s is None:
        series_interval_s = _interval_s(scenario)
    recorders = Recorders(pcap_path, pcap_station, series_interval_s, pcap_bytes, link)
    with as_usage(ScenarioError):
        picture = None if plot_path is None else _picture(plot_path)
        network = None if map_path is None else _map(map_path)
    files = Files(
        scenario,
        json_path,
        csv_path,
        report_path,
        picture,
        network,
        None if trace is None else trace[1],
        pcap_path,
    )
    files.check(path, out_path)
    try:
        results = _run(scenario, seed, replications, workers, recorders, out=out_path, force=force)
    except Interrupted as interrupt:
        if interrupt.results.runs:
            _emit(path, interrupt.results, files)
        finished = f"{len(interrupt.results.runs)} of {replications} replications"
        click.echo(f"Interrupted after {finished}.", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None
    _emit(path, results, files, recorders.opportunities)
    if bounds is not None:
        bounds.enforce(results.summary)


def _refuse_more(flag: str, *allowed: str) -> None:
    """Refuse what an option that only prints something would ignore."""
    for parameter in given_options(click.get_current_context()):
        if parameter.expose_value and parameter.name not in allowed:
            name = parameter.human_readable_name if parameter.name == "path" else parameter.opts[0]
            raise click.UsageError(f"{flag} simulates nothing: leave out {name}.")


def _check_station(name: str, scenario: Scenario) -> None:
    """Raise UsageError for a station that the scenario has not."""
    known = scenario.stations
    if name not in known:
        shown = [*known[:_MOST_NAMES], "..."] if len(known) > _MOST_NAMES else known
        raise click.UsageError(
            f"--pcap-station: there is no station {name!r}; the stations are {', '.join(shown)}."
        )


def _bounds(expected: Sequence[str], scenario: Scenario) -> Bounds | None:
    """Return what the user expects of the figures; UsageError: the scenario has no such figure."""
    if not expected:
        return None
    from airqueue.cli.expect_figures import Bounds  # noqa: PLC0415 - most runs do without

    bounds = Bounds.read(expected)
    bounds.check(scenario)
    return bounds


def _interval_s(scenario: Scenario) -> float:
    """Return intervals of a round length, so that some 200 of them show the whole run."""
    least_s = (scenario.warm_up_s + scenario.duration_s) / _INTERVALS
    return text.round_step(least_s * (1 - 1e-9))


def _picture(path: str) -> SimulationPlot:
    from airqueue.plots.simulation_picture import SimulationPlot  # noqa: PLC0415 - matplotlib is slow to load

    return SimulationPlot(path)


def _map(path: str) -> NetworkPlot:
    from airqueue.plots.simulation_map import NetworkPlot  # noqa: PLC0415 - matplotlib is slow to load

    return NetworkPlot(path)


def _run(
    scenario: Scenario,
    seed: int,
    replications: int,
    workers: int | None,
    recorders: Recorders,
    *,
    out: str | None,
    force: bool,
) -> Results:
    """Simulate, with progress on a terminal if it takes longer than a moment."""
    with on_terminal() as show:
        try:
            return scenario.simulate(
                seed,
                replications,
                workers,
                lambda progress: show(_event(progress)),
                recorders,
                out=out,
                force=force,
            )
        except OtherResultsError as error:
            raise click.ClickException(sentence(error.on_command_line)) from error


def _event(progress: ReplicationProgress) -> Event:
    before = f", {progress.kept} from before" if progress.kept else ""
    return Event(
        phase="simulation",
        message=f"{progress.finished} of {progress.replications} replications{before}",
        fraction=progress.fraction,
        time_left_s=progress.time_left_s,
    )


def _emit(
    path: str, results: Results, files: Files, opportunities: Sequence[Opportunities] = ()
) -> None:
    """Write the files and show the tables, each even if another fails."""
    with all_written() as write:
        files.write(write, path, results, opportunities)
        if files.json_path != "-":
            write(simulate_tables.show, stdout(), path, results)
