"""`airqueue model`: one command for each closed-form model, made from its `Model`."""

from __future__ import annotations

import csv
import functools
import io
import itertools
import json
import math
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from airqueue.cli import model_tables
from airqueue.cli.common import json_option, stdout, write_named
from airqueue.cli.errors import INTERRUPTED, sentence
from airqueue.cli.progress import Display
from airqueue.cli.talk import note
from airqueue.cli.written import all_written, check_outputs, write_drawn
from airqueue.measure.events import Event
from airqueue.models import sweep
from airqueue.models.arguments import ArgumentError, Request, read
from airqueue.models.catalogue import MODULES, Kind, Model, Output, find
from airqueue.models.errors import ModelError, ParameterError

if TYPE_CHECKING:
    from airqueue.plots.model_picture import ModelPlot

_REFRESH_S = 0.5
"""Progress is shown that often, so not at all for what takes less."""

_SWEEPS = (
    "Several values make a sweep: n=1,2,5 or n=1..50 or n=0..1:0.1 (a step) or n=2..64*2 (a "
    "factor) or 'n=1..1000 points 4 log'; the alternatives of a list are separated by '/'. Two "
    "sweeps or more give every combination. Rates, times and sizes have units: 54mbit, 100ms, "
    "1500B."
)


class ModelGroup(click.Group):
    """A group with a command for each model, imported when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the catalogue's order."""
        return list(MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a model, or None."""
        return ModelCommand(find(cmd_name)) if cmd_name in MODULES else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; an unknown name is wrong usage, and the message lists the models."""
        if args and args[0] not in MODULES:
            try:
                find(args[0])
            except ModelError as error:
                raise click.UsageError(sentence(error), ctx) from error
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the names only: descriptions would need an import of every model."""
        with formatter.section("Models"):
            formatter.write_text(", ".join(MODULES))


class ModelCommand(click.Command):
    """The command of one model; its help comes from the catalogue."""

    def __init__(self, model: Model) -> None:
        super().__init__(
            model.name,
            callback=functools.partial(_evaluate, model),
            params=[_Assignments(model), *_OPTIONS],
            short_help=model.summary,
        )
        self.model = model

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the outputs and the parameters of the model."""
        model = self.model
        with formatter.indentation():
            for words in (model.summary, model.valid):
                if words:
                    formatter.write_paragraph()
                    formatter.write_text(words)
        with formatter.section("Parameters"):
            formatter.write_dl([(p.name, model_tables.explained(p)) for p in model.parameters])
        with formatter.section("Outputs"):
            formatter.write_dl([(output.name, output.help) for output in model.outputs])
        with formatter.section("Example"):
            formatter.write_text(f"airqueue model {model.name} {model.example}")

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write how to sweep values."""
        formatter.write_paragraph()
        formatter.write_text(_SWEEPS)


class _Assignments(click.Argument):
    """The ``key=value`` arguments of a model, completed by its parameters and their choices."""

    def __init__(self, model: Model) -> None:
        super().__init__(["arguments"], metavar="[KEY=VALUE]...", nargs=-1, type=str)
        self.model = model

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the completions."""
        words = itertools.chain.from_iterable(
            [f"{p.name}={choice}" for choice in p.choices]
            if p.kind is Kind.CHOICE and incomplete.startswith(f"{p.name}=")
            else [f"{p.name}="]
            for p in self.model.parameters
        )
        return [CompletionItem(word) for word in words if word.startswith(incomplete)]


class _Names(click.ParamType[tuple[str, ...]]):
    """Names separated by commas."""

    name = "names"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[str, ...]:
        """Split the text."""
        return value if isinstance(value, tuple) else tuple(str(value).split(","))


def _parameters_of(*options: Any) -> list[click.Parameter]:
    """Return the parameters that decorators of options would add to a command."""

    def holder() -> None:
        """Carry them."""

    for option in reversed(options):
        option(holder)
    parameters: list[click.Parameter] = list(reversed(holder.__click_params__))  # type: ignore[attr-defined]
    return parameters


_OPTIONS = _parameters_of(
    click.option(
        "--outputs",
        "names",
        type=_Names(),
        metavar="A,B",
        help="Only these outputs, everywhere.",
    ),
    json_option,
    click.option(
        "--csv",
        "csv_path",
        metavar="FILE",
        help="Write the rows as CSV, lists joined by ';'; '-' prints them on stdout.",
    ),
    click.option(
        "--plot",
        "plot_path",
        metavar="FILE",
        help="Draw the outputs over a sweep: FILE.svg, .pdf or .png; a second sweep gives lines.",
    ),
)


@click.group(
    cls=ModelGroup,
    invoke_without_command=True,
    subcommand_metavar="NAME [KEY=VALUE]... [OPTIONS]",
    short_help="Evaluate models of 802.11, TCP and queues.",
)
@click.option("--list", "listed", is_flag=True, help="Explain each model in a sentence.")
@json_option
@click.pass_context
def model(ctx: click.Context, listed: bool, json_path: str | None) -> None:
    """Evaluate closed-form models of 802.11, of TCP over it and of its queues.

    \b
    Examples:
      airqueue model --list
      airqueue model tay-chua --help
      airqueue model tay-chua n=10
      airqueue model tay-chua n=1..50 cw_min=15,31 --plot collisions.svg
    """
    if ctx.invoked_subcommand is not None:
        if listed or json_path is not None:
            raise click.UsageError("Write the options after the name of the model.")
        return
    models = [find(name) for name in MODULES]
    check_outputs([("--json", json_path)])
    _write_json(json_path, sweep.catalogue(models))
    if json_path != "-":
        model_tables.show_list(stdout(), models)


def _evaluate(
    model: Model,
    *,
    arguments: Sequence[str],
    names: Sequence[str] | None,
    json_path: str | None,
    csv_path: str | None,
    plot_path: str | None,
) -> None:
    """Evaluate a model: the callback of each model's command."""
    if json_path == csv_path == "-":
        raise click.UsageError("Only one of --json and --csv can go to stdout.")
    try:
        request = read(model, arguments)
        outputs = sweep.chosen(model, names)
        picture = None if plot_path is None else _picture(request, outputs, plot_path)
    except ArgumentError as error:
        raise click.UsageError(sentence(error)) from error
    _warn_of_windows(request)
    files = _Files(json_path, csv_path, picture)
    files.check()
    evaluated, ended = _rows(request)
    if evaluated:
        _emit(request, outputs, evaluated, files)
    after = f"after {len(evaluated)} of {request.points} points"
    if isinstance(ended, KeyboardInterrupt):
        click.echo(f"Interrupted {after}.", err=True)
        raise click.exceptions.Exit(INTERRUPTED)
    if ended is not None:
        said = sentence(ended)
        if not evaluated and isinstance(ended, ParameterError):
            raise click.UsageError(said) from ended
        raise click.ClickException(f"stopped {after}: {said}" if evaluated else said) from ended


def _warn_of_windows(request: Request) -> None:
    """Warn of a window that looks like a count of values, the meaning in earlier versions."""
    given = {sweep.parameter.name: sweep.values for sweep in request.sweeps if not sweep.geometric}
    for name, values in {**{k: (v,) for k, v in request.fixed.items()}, **given}.items():
        if not name.startswith("cw_"):
            continue
        for value in _numbers(values):
            if value >= 4 and math.log2(value).is_integer():
                note(
                    f"{name}={value:g} is a window of {value + 1:g} values, 0 to {value:g}: "
                    "windows are counted as in the standard, where "
                    f"{value - 1:g} stands for {value:g} values."
                )
                return


def _numbers(values: Any) -> Iterator[float]:
    """Yield the numbers in values and in lists of them."""
    for value in values:
        if isinstance(value, tuple | list):
            yield from _numbers(value)
        elif isinstance(value, int | float):
            yield float(value)


def _picture(request: Request, outputs: Sequence[Output], path: str) -> ModelPlot:
    from airqueue.plots.model_picture import ModelPlot  # noqa: PLC0415 - matplotlib is slow to load

    return ModelPlot(request, outputs, path)


@dataclass(frozen=True, slots=True)
class _Files:
    """The files that the user asked for; ``-`` is stdout."""

    json_path: str | None
    csv_path: str | None
    picture: ModelPlot | None

    def check(self) -> None:
        """Raise UsageError or OSError before a long evaluation if a file cannot be written."""
        plot_path = None if self.picture is None else self.picture.path
        check_outputs(
            [("--json", self.json_path), ("--csv", self.csv_path), ("--plot", plot_path)],
            streams=("--json", "--csv"),
        )


def _rows(request: Request) -> tuple[list[sweep.Row], KeyboardInterrupt | ModelError | None]:
    """Return the evaluated rows, and what stopped the sweep early: Ctrl-C or an error."""
    evaluated: list[sweep.Row] = []
    began = shown = time.monotonic()
    display = None
    with ExitStack() as stack:
        try:
            for row in sweep.rows(request):
                evaluated.append(row)
                now = time.monotonic()
                if now - shown >= _REFRESH_S and sys.stderr.isatty():
                    event = _event(request, len(evaluated), now - began)
                    display = display or stack.enter_context(Display(first=event.message))
                    display.on_event(event)
                    shown = now
        except (KeyboardInterrupt, ModelError) as ended:
            return evaluated, ended
    return evaluated, None


def _event(request: Request, done: int, elapsed_s: float) -> Event:
    return Event(
        phase="sweep",
        message=f"{request.model.name}: {done} of {request.points} points",
        fraction=done / request.points,
        time_left_s=elapsed_s / done * (request.points - done),
    )


def _emit(
    request: Request, outputs: Sequence[Output], evaluated: Sequence[sweep.Row], files: _Files
) -> None:
    """Write the files and show the table, each even if another fails."""
    with all_written() as write:
        write(_write_json, files.json_path, sweep.result(request, outputs, evaluated))
        if files.csv_path is not None:
            write(write_named, files.csv_path, _csv(request, outputs, evaluated))
        if files.picture is not None:
            write(_draw, files.picture, evaluated)
        if "-" not in (files.json_path, files.csv_path):
            write(model_tables.show, stdout(), request, outputs, evaluated)


def _draw(picture: ModelPlot, evaluated: Sequence[sweep.Row]) -> None:
    write_drawn(picture, evaluated)
    left_out = picture.undrawn(evaluated)
    if left_out:
        note(f"Not drawn, as it is no number: {', '.join(left_out)}.")


def _write_json(path: str | None, content: Mapping[str, Any]) -> None:
    if path is not None:
        write_named(path, json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def _csv(request: Request, outputs: Sequence[Output], evaluated: Sequence[sweep.Row]) -> str:
    columns = [*(s.parameter.name for s in request.sweeps), *(output.name for output in outputs)]
    content = io.StringIO()
    writer = csv.writer(content, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(row[column]) for column in columns] for row in evaluated)
    return content.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, list):
        return ";".join(str(_cell(element)) for element in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else value
