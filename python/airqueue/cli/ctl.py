"""`airqueue ctl`: shows and changes an emulation that runs with `--control`."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import click

from airqueue.cli.common import stdout
from airqueue.cli.errors import sentence

if TYPE_CHECKING:
    from airqueue.records import LiveDict

_VARIABLE: Final = "AIRQUEUE_CONTROL"  # control.VARIABLE, which is slow to import


@click.group(short_help="Show and change a running emulation.")
@click.option(
    "--control",
    "path",
    type=click.Path(path_type=Path),
    envvar=_VARIABLE,
    show_envvar=True,
    metavar="PATH",
    help="The socket that airqueue emulate --control PATH has made.",
)
@click.pass_context
def ctl(context: click.Context, path: Path | None) -> None:
    """Show and change an emulation that runs with --control PATH.

    \b
    Examples:
      airqueue emulate home-evening --control /tmp/home --at phone -- ./my-test.sh
      airqueue ctl --control /tmp/home show --watch
      airqueue ctl --control /tmp/home set station=phone rate=VHT-MCS2
      airqueue ctl --control /tmp/home set host=server rate="2 Mb/s" delay="80 ms" loss=0.01
      airqueue ctl --control /tmp/home pause phone
      airqueue ctl --control /tmp/home resume phone

    Programs of the emulation find the path in AIRQUEUE_CONTROL, and need no option. docs/emulate.md
    has what can be changed, and the protocol of the socket.
    """
    context.obj = path


def _ask(context: click.Context, do: str, **more: Any) -> Any:
    if context.obj is None:
        raise click.UsageError(
            "Say which emulation: --control PATH before the command's name, with the path that "
            "airqueue emulate --control has."
        )
    from airqueue.emulate import control  # noqa: PLC0415 - slow to import

    return control.ask(context.obj, do, **more)


@ctl.command(short_help="Show the figures of the last seconds.")
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
@click.option("--watch", is_flag=True, help="Show them until the emulation ends, or Ctrl-C.")
@click.pass_context
def show(context: click.Context, *, as_json: bool, watch: bool) -> None:
    """Show rates, delays, queues and air time of the last seconds."""
    from airqueue.cli import emulate_view  # noqa: PLC0415 - slow to import

    if as_json and watch:
        raise click.UsageError("--watch is for people, --json for programs: leave one of them out.")
    figures = _ask(context, "show")
    if watch:
        _watch(context)
    elif as_json:
        click.echo(json.dumps(figures, indent=2, ensure_ascii=False))
    else:
        stdout().print(*emulate_view.tables(figures))


def _watch(context: click.Context) -> None:
    from airqueue.cli import emulate_view  # noqa: PLC0415 - slow to import
    from airqueue.emulate.errors import EmulationError  # noqa: PLC0415

    ended = threading.Event()

    def figures() -> LiveDict:
        try:
            return cast("LiveDict", _ask(context, "show"))
        except EmulationError:
            ended.set()
            raise

    console = stdout()
    if not console.is_terminal:
        raise click.UsageError("--watch needs a terminal on stdout.")
    with emulate_view.display(console, figures):
        ended.wait()
    click.echo("The emulation has ended.")


@ctl.command("set", short_help="Change the network.")
@click.argument("changes", metavar="KEY=VALUE...", nargs=-1, required=True)
@click.pass_context
def set_(context: click.Context, changes: tuple[str, ...]) -> None:
    """Change the network now, by the keys of [[changes]] in a scenario without at.

    \b
      set station=phone rate=VHT-MCS2       rate of data frames to and from a station
      set link='["ap", "phone"]' rate=...   rate of data frames between two stations
      set station=ap queue_limit="50 packets"
      set station=ap queue=fq_codel         another discipline
      set station=ap txop="4 ms"            of best effort; category=vi is video
      set station=phone cw_min=63 cw_max=1023
      set station=phone away=true           as pause
      set host=server rate="2 Mb/s" delay="80 ms" loss=0.01

    A value is TOML, or otherwise text.
    """
    from airqueue.simulate import ScenarioError, overrides  # noqa: PLC0415 - loads numpy

    change: dict[str, Any] = {}
    for each in changes:
        try:
            key, value = overrides.read(each, "station=phone rate=VHT-MCS2")
        except ScenarioError as error:
            raise click.UsageError(sentence(error)) from error
        if key in change:
            raise click.UsageError(f"{key} is given twice.")
        change[key] = value
    _change(context, change)


@ctl.command(short_help="Take a station out of reach.")
@click.argument("station", metavar="STATION")
@click.pass_context
def pause(context: click.Context, station: str) -> None:
    """Take a station, or the members of a group, out of reach of all others.

    Packets of a station that is away wait in its queues; packets for the station are repeated and
    given up by those who send them.
    """
    _change(context, {"station": station, "away": True})


@ctl.command(short_help="Bring a station back.")
@click.argument("station", metavar="STATION")
@click.pass_context
def resume(context: click.Context, station: str) -> None:
    """Bring a station, or the members of a group, back into reach."""
    _change(context, {"station": station, "away": False})


def _change(context: click.Context, change: dict[str, Any]) -> None:
    result = _ask(context, "change", change=change)
    click.echo(f"Changed {result['at_s']:.3f} s after the beginning.")


@ctl.command(short_help="Print all figures so far as JSON.")
@click.pass_context
def report(context: click.Context) -> None:
    """Print the figures of the run so far, as airqueue emulate --json writes them at the end."""
    click.echo(json.dumps(_ask(context, "report"), indent=2, ensure_ascii=False))
