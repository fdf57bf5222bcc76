"""Shared by all commands, and quick to import: ``--json``, ``--report`` and the console on stdout."""

from __future__ import annotations

import click
from rich.console import Console

json_option = click.option(
    "--json",
    "json_path",
    metavar="FILE",
    help="Write the result as JSON; '-' prints it on stdout and nothing else there.",
)
report_option = click.option(
    "--report", "report_path", metavar="FILE", help="Write a self-contained HTML report."
)


def stdout() -> Console:
    """Return a console on stdout without markup, since the text contains names from outside."""
    return Console(highlight=False, markup=False)
