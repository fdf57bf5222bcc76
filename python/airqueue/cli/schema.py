"""`airqueue schema`."""

from __future__ import annotations

import difflib
import json

import click

from airqueue.cli import elsewhere, schemas
from airqueue.cli.common import stdout
from airqueue.cli.table import Table


class _Name(click.ParamType[str]):
    """The name of a schema, for completion."""

    name = "name"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[click.shell_completion.CompletionItem]:
        """Complete a name."""
        return [
            click.shell_completion.CompletionItem(name, help=of)
            for name, of in schemas.names().items()
            if name.startswith(incomplete)
        ]


@click.command(short_help="Print the JSON Schema of a result or a file.")
@click.argument("name", required=False, type=_Name())
def schema(name: str | None) -> None:
    """Print the JSON Schema of what airqueue writes or reads as JSON; without NAME, list all.

    \b
    Example:
      airqueue schema
      airqueue schema measurement > measurement.schema.json
    """
    known = schemas.names()
    if name is None:
        table = Table("schema", "of what", show_header=False, boxed=False)
        for each, of in known.items():
            table.add_row(each, of)
        stdout().print(table)
        return
    if name not in known:
        absent = elsewhere.without(name)
        if absent is not None:
            raise click.ClickException(f"{absent}.")
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
        hint = f"did you mean {near[0]}?" if near else "`airqueue schema` lists them."
        raise click.UsageError(f"There is no schema {name!r}; {hint}")
    click.echo(json.dumps(schemas.schema(name), indent=2, ensure_ascii=False))
