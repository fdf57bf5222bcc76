"""What commands share however light they are: ``--json`` and the console on stdout."""

from __future__ import annotations

import click
from rich.console import Console

json_option = click.option(
    "--json",
    "json_path",
    metavar="FILE",
    help="Write the result as JSON; '-' prints it on stdout and nothing else there.",
)


def stdout() -> Console:
    """Return a console on stdout that prints text as it is: names from outside are in it."""
    return Console(highlight=False, markup=False)
