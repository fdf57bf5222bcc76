"""``--trace`` of simulations and emulations: what the medium gave to a link, as a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from airqueue.cli.parameters import Named
from airqueue.cli.talk import note

if TYPE_CHECKING:
    from airqueue.traces import Opportunities


def _one(
    context: click.Context, option: click.Parameter, given: tuple[tuple[str, str], ...]
) -> tuple[str, str] | None:
    if len(given) > 1:
        raise click.BadParameter("can be given once: a run keeps one link", context, option)
    return given[0] if given else None


trace_option = click.option(
    "--trace",
    type=Named("trace", "FROM:TO=FILE", "ap:phone=phone.mahi"),
    multiple=True,
    callback=_one,
    metavar="FROM[:TO]=FILE",
    help="Write what the medium gave to a link of stations: a script of tc if FILE ends in .sh, "
    "otherwise a trace of mahimahi.",
)


def write_trace(path: str, found: Opportunities) -> None:
    """Write a trace, and say on stderr what it is worth. Raises ClickException, OSError."""
    from airqueue.traces import TraceError, write  # noqa: PLC0415 - loads numpy, which starts threads

    try:
        write(path, found)
    except TraceError as error:
        raise click.ClickException(str(error)) from error
    rate = found.rate_bps * 1e-6
    note(f"{path} has the opportunities of {found.link}: {rate:.2f} Mb/s.")
    for sentence in found.sentences:
        note(sentence)
