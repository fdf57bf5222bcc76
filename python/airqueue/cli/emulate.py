"""`airqueue emulate`: real programs inside a simulated network."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from airqueue.cli import emulate_live
from airqueue.cli.common import Results, json_option, report_option, stdout, write_named
from airqueue.cli.errors import sentence
from airqueue.cli.parameters import DURATION, Named, Whole
from airqueue.cli.trace import trace_option, write_trace
from airqueue.cli.written import all_written, check_apart, check_each
from airqueue.linux import pid_namespace, privileges
from airqueue.linux.noted import NotedSignals, ignore_for_good
from airqueue.linux.virtual import machine

if TYPE_CHECKING:
    from airqueue.emulate.network import EmulatedNetwork
    from airqueue.emulate.results import EmulationResults
    from airqueue.emulate.session import Order, Program
    from airqueue.emulate.twins import Comparison
    from airqueue.traces import Opportunities

    Outcome = tuple[EmulationResults, int, float | None, Opportunities | None]

NOT_TRUSTED = 3
"""Exit code with ``--strict`` where delays cannot be trusted."""
# Of airqueue.simulate, which loads numpy: numpy starts threads, and enter() must come before these.
_MOST_SEED = 2**32 - 1
LONGEST_S = 3.6e9
"""Of a run: a million hours, which the engine's clock holds."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the user asked for."""

    scenario: str
    command: tuple[str, ...]
    at: str | None
    runs: tuple[tuple[str, str], ...]
    shell: str | None
    real: tuple[str, ...]
    duration_s: float | None
    changes: tuple[str, ...]
    no_back_pressure: bool
    no_offload: bool
    seed: int
    json_path: str | None
    report_path: str | None
    trace: tuple[str, str] | None
    strict: bool
    quiet: bool
    exact: bool
    scratch: Path | None
    twins: int | None
    pcap: tuple[tuple[str, str], ...]
    watched: emulate_live.Watched
    outside: str | None

    def check(self) -> None:
        """Raise UsageError for options that do not go together, OSError for a file."""
        if self.shell is not None and (self.command or self.at is not None):
            raise click.UsageError(
                "--shell NODE is the command: leave out --at and what follows --."
            )
        if self.at is not None and not self.command:
            raise click.UsageError("--at says where a command runs; write the command after --.")
        if not (self.command or self.shell or self.runs or self.duration_s):
            raise click.UsageError(
                "Say what to run: a command after --, --shell NODE, --run NODE=COMMAND, "
                "or a --duration."
            )
        if self.duration_s is not None and self.duration_s > LONGEST_S:
            raise click.UsageError(
                f"--duration is at most {LONGEST_S / 3600:.0f}h; "
                "a run without one ends with its command."
            )
        if self.exact and self.shell is not None:
            raise click.UsageError("A shell cannot be used on a virtual clock: leave out --exact.")
        if self.scratch is not None and not self.exact:
            raise click.UsageError(
                "--scratch is for --exact; otherwise programs write files freely."
            )
        if self.twins is not None and (self.exact or self.shell is not None):
            raise click.UsageError("--twins is for programs in real time: no --exact, no --shell.")
        if len(dict(self.pcap)) < len(self.pcap):
            raise click.UsageError("--pcap can be given once for each node.")
        self.watched.check(
            exact=self.exact,
            twins=self.twins is not None,
            shell=self.shell is not None,
            quiet=self.quiet,
        )
        if self.outside is not None and (self.exact or self.twins is not None):
            raise click.UsageError(
                "There is no network outside on a virtual clock: --outside is without --exact "
                "and --twins."
            )
        self.check_outputs()

    def check_outputs(self, records: Iterable[str] = ()) -> None:
        """Raise UsageError or OSError before a run; ``records``: files that the scenario names."""
        files = [
            ("--json", self.json_path),
            ("--report", self.report_path),
            ("--trace", None if self.trace is None else self.trace[1]),
            *(("--pcap", file) for _, file in self.pcap),
        ]
        control = self.watched.control
        files.append(("--control", None if control is None else str(control)))
        check_apart(files, [self.scenario, *records])
        check_each(files)

    def options(self) -> dict[str, Any]:
        """Return the options of the network, in real time and exactly. Raises UsageError."""
        return {
            "real": self.named,
            "seed": self.seed,
            "changes": _changes(self.changes),
            "back_pressure": not self.no_back_pressure,
        }

    @property
    def trace_options(self) -> dict[str, Any]:
        """The link of ``--trace``, which twins do not have."""
        return {"trace": None if self.trace is None else self.trace[0]}

    @property
    def named(self) -> list[str]:
        """Nodes that the command line names, which makes them real."""
        names = [*self.real, *(node for node, _ in self.runs)]
        names += [each for each in (self.at, self.shell) if each is not None]
        return list(dict.fromkeys(names))


@click.command(short_help="Run real programs inside a simulated network.")
@click.argument("scenario", metavar="SCENARIO", required=False)
@click.argument("command", metavar="[-- COMMAND...]", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--at",
    metavar="NODE",
    help="Where COMMAND runs; by default at the wired host, otherwise at the first real node.",
)
@click.option(
    "--run",
    "runs",
    type=Named("run", "NODE=COMMAND", "server='iperf3 -s'"),
    multiple=True,
    metavar="NODE=COMMAND",
    help="Start this first, with the shell; ended when COMMAND ends. May be repeated.",
)
@click.option("--shell", metavar="NODE", help="Open a shell at the node instead of a COMMAND.")
@click.option(
    "--real",
    multiple=True,
    metavar="NODE",
    help="Make a station or host real that the scenario does not mark as real. May be repeated.",
)
@click.option(
    "--duration",
    "duration_s",
    type=DURATION,
    metavar="TIME",
    help="End after this time, e.g. 60s or 5min.",
)
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="A.B=VALUE",
    help="Change a value of the scenario, as for airqueue simulate. May be repeated.",
)
@click.option(
    "--no-back-pressure",
    is_flag=True,
    help="Packets in the queue of a station count against no socket, as behind a router.",
)
@click.option(
    "--no-offload",
    is_flag=True,
    help="Packets cross the nodes' devices one by one, as without segmentation offload.",
)
@click.option(
    "--seed",
    type=Whole(0, _MOST_SEED),
    default=1,
    show_default=True,
    help="Random draws of the network. Real time is not repeatable.",
)
@json_option
@report_option
@trace_option
@click.option(
    "--strict",
    is_flag=True,
    help=f"Exit with code {NOT_TRUSTED} if the delays of this run cannot be trusted.",
)
@click.option(
    "--exact",
    is_flag=True,
    help="On a virtual clock: never late, repeatable, at whatever speed the machine has.",
)
@click.option(
    "--scratch",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="With --exact: where files stay that COMMAND writes; all others are gone at the end.",
)
@click.option(
    "--twins",
    type=Whole(3, 1000),
    metavar="N",
    help="Do the run again exactly, with N seeds, and show its figures beside theirs.",
)
@click.option(
    "--pcap",
    type=Named("pcap", "NODE=FILE", "phone=phone.pcapng"),
    multiple=True,
    metavar="NODE=FILE",
    help="Capture what a node sends and receives, with what the network did. May be repeated.",
)
@click.option(
    "--outside",
    metavar="NODE",
    help="Programs reach networks outside, by way of this node; a relay ends TCP there.",
)
@emulate_live.options
@click.option("-q", "--quiet", is_flag=True, help="Only errors on stderr.")
@click.option("--list", "show_list", is_flag=True, help="List the presets.")
def emulate(*, scenario: str | None, show_list: bool, **options: Any) -> None:
    """Run COMMAND inside the network that SCENARIO describes: a preset, or a scenario file.

    \b
    Examples:
      airqueue emulate home-evening -- ./my-test.sh
      airqueue emulate home-evening --at phone -- ping -c 10 peer
      airqueue emulate FILE.toml --run server='iperf3 -s' --at phone -- iperf3 -c peer
      airqueue emulate bloated-fifo --shell phone
      airqueue emulate home-evening --exact --seed 7 -- ./my-test.sh
      airqueue emulate home-evening --twins 5 --at phone -- ping -c 50 peer
      airqueue emulate home-evening --control /tmp/home --metrics 9100 -- ./my-test.sh
      airqueue emulate fq-codel --trace ap:phone=phone.mahi --at phone -- ./download.sh
      airqueue emulate fq-codel --report evening.html --at phone -- ping -c 50 peer

    Packets of the programs wait in the simulated queues and contend on the simulated medium, in real
    time or exactly. $AIRQUEUE_PEER has the address of the other end, whose name is peer. The exit
    code is COMMAND's. What COMMAND prints stays as it is; all else goes to stderr. docs/emulate.md
    has more.
    """
    if show_list:
        _list()
        return
    if scenario is None:
        raise click.UsageError("Missing argument 'SCENARIO': a preset (--list) or a scenario file.")
    watched = {name: options.pop(name) for name in ("control", "metrics", "live")}
    asked = _Asked(scenario=scenario, watched=emulate_live.Watched(**watched), **options)
    asked.check()
    if asked.twins is not None:
        machine.check()
    if asked.exact:
        with ExitStack() as held:
            raise click.exceptions.Exit(_emulate(asked, _exactly, held))
    from airqueue.emulate.nodes import TOOLS  # noqa: PLC0415 - exact runs do without

    privileges.ensure("an emulation", TOOLS)
    # Before anything starts a thread: numpy does when it is imported.
    pid_namespace.enter()
    code = _emulate(asked, _in_real_time, ExitStack())
    ignore_for_good()
    raise click.exceptions.Exit(code)


def _list() -> None:
    from airqueue.cli.table import Table  # noqa: PLC0415 - of this list alone
    from airqueue.emulate import catalogue  # noqa: PLC0415 - loads numpy, which starts threads

    table = Table("network", "about", show_header=False, boxed=False)
    for name in catalogue.names():
        table.add_row(name, catalogue.about(name))
    stdout().print(table)


def _emulate(
    asked: _Asked,
    carry_out: Callable[[_Asked, Order, EmulatedNetwork, ExitStack], Outcome],
    held: ExitStack,
) -> int:
    """Carry out what is asked and return the exit code.

    From the end of the run on, ``held`` has signals noted, so that none keeps files from being
    written; twins alone may be interrupted.
    """
    from airqueue.cli import emulate_tables  # noqa: PLC0415 - loads numpy, which starts threads
    from airqueue.emulate.network import EmulatedNetwork  # noqa: PLC0415

    network = EmulatedNetwork(
        asked.scenario,
        **asked.options(),
        **asked.trace_options,
        pcap=dict(asked.pcap),
        # Exact runs have none, and a run has the devices of its twins.
        offload=not asked.no_offload and asked.twins is None,
        outside=asked.outside,
    )
    asked.check_outputs(network.records)
    order = _order(asked, network)
    if not asked.quiet:
        click.echo(emulate_tables.beginning(network.name, network.plan), err=True)
        if asked.outside is not None:
            click.echo(emulate_tables.way_out(asked.outside), err=True)
    outcome = carry_out(asked, order, network, held)
    held.enter_context(NotedSignals())
    results, code, wall_s, _ = outcome
    if not asked.quiet:
        console = Results(stderr=True)
        emulate_tables.show(console, results, wall_s)
    for capture in results.captures:
        if capture.problem is not None or not asked.quiet:
            click.echo(capture.sentence, err=True)
    _write(asked, outcome, order, held)
    if asked.strict and not results.verdict.trusted:
        click.echo(f"Error: {results.verdict.sentence} (exit code of COMMAND: {code}).", err=True)
        return NOT_TRUSTED
    return code


def _write(asked: _Asked, outcome: Outcome, order: Order, held: ExitStack) -> None:
    """Write the files, and those of twins, which are simulated in between."""
    results, code, _, found = outcome
    with all_written() as write:
        # Twins take long, and may be interrupted: what there is already is written before.
        if asked.twins is None or asked.json_path != "-":
            write(_json, asked, results, code)
        write(_report, asked, results, code)
        if asked.trace is not None and found is not None:
            write(write_trace, asked.trace[1], found)
        if asked.twins is not None:
            held.close()
            twins, comparisons = _twins(asked, asked.twins, order, results, code)
            held.enter_context(NotedSignals())
            write(_json, asked, results, code, twins)
            write(_report, asked, results, code, comparisons)


def _json(
    asked: _Asked, results: EmulationResults, code: int, twins: dict[str, Any] | None = None
) -> None:
    if asked.json_path is not None:
        more = {} if twins is None else {"twins": twins}
        write_named(asked.json_path, results.to_text(exit_code=code, **more))


def _report(
    asked: _Asked,
    results: EmulationResults,
    code: int,
    comparisons: Sequence[Comparison] | None = None,
) -> None:
    from airqueue.report.emulation import write_report  # noqa: PLC0415 - loads numpy

    if asked.report_path is not None:
        write_report(asked.report_path, results, code, comparisons)


def _in_real_time(
    asked: _Asked, order: Order, network: EmulatedNetwork, held: ExitStack
) -> Outcome:
    def say(text: str) -> None:
        if not asked.quiet:
            click.echo(text, err=True)

    noted = held.enter_context(NotedSignals())
    try:
        if asked.report_path is not None or asked.json_path is not None:
            network.keep_series()
        code = emulate_live.run(network, order, say, asked.watched, noted)
    finally:
        network.close()
    return network.report(), code, None, network.opportunities


def _exactly(asked: _Asked, order: Order, network: EmulatedNetwork, held: ExitStack) -> Outcome:
    from airqueue.cli import emulate_exact  # noqa: PLC0415 - loads numpy

    done = emulate_exact.run(
        asked.scenario,
        order,
        scratch=asked.scratch,
        quiet=asked.quiet,
        pcap=dict(asked.pcap),
        **asked.options(),
        **asked.trace_options,
    )
    return done.results, done.exit_code, done.wall_s, done.opportunities


def _twins(
    asked: _Asked,
    count: int,
    order: Order,
    results: EmulationResults,
    code: int,
) -> tuple[dict[str, Any], list[Comparison]]:
    from airqueue.cli import emulate_exact, emulate_tables  # noqa: PLC0415 - loads numpy
    from airqueue.emulate import twins  # noqa: PLC0415

    done = emulate_exact.run_twins(
        asked.scenario, order, count, quiet=asked.quiet, **asked.options()
    )
    comparisons = twins.compare(results, [each.results for each in done])
    if not asked.quiet:
        console = Results(stderr=True)
        emulate_tables.show_twins(console, comparisons, count)
        codes = sorted({each.exit_code for each in done})
        if codes != [code]:
            click.echo(f"Exit codes of the twins: {', '.join(map(str, codes))}.", err=True)
    return twins.document(done, comparisons), comparisons


def _changes(texts: tuple[str, ...]) -> dict[str, Any]:
    from airqueue.simulate import ScenarioError, overrides  # noqa: PLC0415 - loads numpy

    try:
        return dict(overrides.read(each) for each in texts)
    except ScenarioError as error:
        raise click.UsageError(sentence(error)) from error


def _order(asked: _Asked, network: EmulatedNetwork) -> Order:
    """Return what to run, with the nodes found. Raises UsageError for a node that is not real."""
    from airqueue.emulate.session import Order, Program  # noqa: PLC0415 - loads numpy

    def program(node: str, argv: tuple[str, ...]) -> Program:
        if network.plan.node(node) is None:
            known = ", ".join(each.name for each in network.plan.nodes)
            raise click.UsageError(f"{node!r} is not one node: real nodes are {known}.")
        return Program(node, argv)

    main = None
    if asked.shell is not None:
        main = program(asked.shell, (os.environ.get("SHELL") or "/bin/sh",))
    elif asked.command:
        main = program(asked.at or network.plan.default.name, asked.command)
    return Order(
        main,
        tuple(program(node, ("sh", "-c", command)) for node, command in asked.runs),
        asked.duration_s,
        keep_stdout=asked.json_path == "-",
        interactive=asked.shell is not None,
    )
