"""`airqueue compare`."""

from __future__ import annotations

import click

from airqueue import text
from airqueue.cli.common import json_option, stdout, write_named
from airqueue.cli.expect import enforce_not_worse
from airqueue.cli.table import Table
from airqueue.cli.written import all_written, check_outputs
from airqueue.measure import compare as comparing
from airqueue.measure import schema
from airqueue.measure.compare import Change, Comparison, Side


@click.command(short_help="Say whether two measurements really differ.")
@click.argument("before")
@click.argument("after")
@json_option
@click.option(
    "--fail-on",
    type=click.Choice(["worse"]),
    help="Exit code 3 if a delay under load grew by more than 1 ms and 5 %, 4 if none can be told.",
)
def compare(before: str, after: str, json_path: str | None, fail_on: str | None) -> None:
    """Say whether two measurements really differ.

    BEFORE and AFTER are result files of `airqueue measure --json` (or `analyze --json`). A change
    is called real when the 95 % interval of the difference lies beyond what the method resolves.

    \b
    Example:
      airqueue measure 192.0.2.1 --json before.json
      airqueue measure 192.0.2.1 --json after.json
      airqueue compare before.json after.json
    """
    check_outputs([("--json", json_path)], [before, after])
    comparison = comparing.compare(schema.read_result(before), schema.read_result(after))
    with all_written() as write:
        if json_path != "-":
            write(_show, comparison)
        if json_path is not None:
            write(write_named, json_path, schema.to_text(comparison.to_json()))
    if fail_on is not None:
        enforce_not_worse(comparison)


def _show(comparison: Comparison) -> None:
    console = stdout()
    table = Table("packets unless noted")
    for heading in ("before", "after", "change"):
        table.add_column(heading, justify="right")
    table.add_column("real?")
    table.add_row("verdict", *comparison.verdicts, "", "")
    if any(comparison.disciplines):
        named = (name or "–" for name in comparison.disciplines)
        table.add_row("discipline", *named, "", "")
    table.add_row("counted in", *comparison.counted_in, "", "")
    table.add_section()
    for change in comparison.changes:
        table.add_row(
            _name(change),
            _side(change, change.before),
            _side(change, change.after),
            _difference(change),
            {True: "yes", False: "no", None: "cannot tell"}[change.real],
        )
    for line in _conclusions(comparison):
        console.print(line)
    console.print(table)
    for line in comparison.cautions:
        console.print(line)


def _conclusions(comparison: Comparison) -> list[str]:
    """Say what changed, from what is felt most to what is only counted."""
    before, after = comparison.verdicts
    said = [] if before == after else [f"The verdict changed from {before} to {after}."]
    one, two = comparison.disciplines
    if one is not None and two is not None and one != two:
        said.append(f"Before it was {one}; after it was {two}.")
    for name in (
        "sparse flow under load, median",
        "sparse flow under load, p95",
        "delay when full",
    ):
        delay = next((c for c in comparison.changes if c.name.startswith(name)), None)
        if delay is not None and delay.difference is not None:
            said.append(_felt(name, delay))
    if before == after == "fifo":
        said.append(_conclusion(comparison.changes[0]))
    else:
        said.append("The capacities are not compared: a queue that is not one FIFO has none.")
    said += [_conclusion(c) for c in comparison.changes if c.name == "token bucket"]
    return said


def _felt(name: str, delay: Change) -> str:
    before, after = (
        text.seconds(side.value) if side.value is not None else "–"
        for side in (delay.before, delay.after)
    )
    named = f"{name[0].upper()}{name[1:]}: {before} before, {after} after"
    if delay.real is None or not delay.real:
        return f"{named}; {delay.because}."
    return f"{named}: a real change."


def _conclusion(change: Change) -> str:
    if change.before.value is not None and change.unit == "":
        return f"The capacities are in different units: {change.because}."
    if change.real is None:
        return f"About the {change.name} nothing can be said: {change.because}."
    if not change.real:
        return f"The {change.name} shows no real change: {change.because}."
    assert change.difference is not None
    grew = "grew" if change.difference > 0 else "shrank"
    return (
        f"The {change.name} {grew} by {text.quantity(abs(change.difference), change.unit)}: "
        f"{change.because}."
    )


def _side(change: Change, side: Side) -> str:
    if side.value is None:
        return "–"
    if side.ci95 is None:
        return _value(change, side.value)
    half = (side.ci95[1] - side.ci95[0]) / 2
    return f"{_value(change, side.value)} ± {_value(change, half)}"


def _difference(change: Change) -> str:
    if change.difference is None:
        return "–"
    sign = "+" if change.difference >= 0 else "−"
    said = f"{sign}{_value(change, abs(change.difference))}"
    if change.ci95_difference is None:
        return said
    half = (change.ci95_difference[1] - change.ci95_difference[0]) / 2
    return f"{said} ± {_value(change, half)}"


def _value(change: Change, value: float) -> str:
    if change.unit == "b/s":
        return f"{value * 1e-6:,.3f}"
    return text.number(value * 1e3 if change.unit == "s" else value, change.unit)


def _name(change: Change) -> str:
    if not change.unit:
        return f"{change.name} (units differ)"
    unit = {"s": "ms", "b/s": "Mb/s"}.get(change.unit, change.unit)
    name = change.name.replace(" formula", "")
    return name if unit == "packets" else f"{name} ({unit})"
