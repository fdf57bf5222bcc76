"""`airqueue size mesh-file`."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from airqueue import files, toml_text
from airqueue.cli.talk import note
from airqueue.models.mesh_file import parse_topology
from airqueue.sizing.mesh_dumps import DumpError, Router, mesh_of, read_router

_MAX_BYTES: Final = 1 << 20


@click.command("mesh-file")
@click.argument("dumps", nargs=-1, required=True, metavar="DUMP...")
@click.option(
    "--flow",
    "flows",
    metavar="A,B[,...]",
    multiple=True,
    required=True,
    help="A flow, by the names of its routers: source and destination, or the whole route. Give the "
    "option once for each flow.",
)
def mesh_file(*, dumps: tuple[str, ...], flows: tuple[str, ...]) -> None:
    """Print the mesh file of a mesh from what `iw` prints on its routers.

    Each DUMP is a file of one router, named after the router, with the output of three commands,
    after some traffic: iw dev DEVICE info, iw dev DEVICE station dump, iw dev DEVICE mpath dump.

    \b
    Example:
      ssh roof 'for what in info "station dump" "mpath dump"; do iw dev mesh0 $what; done' > roof.iw
      airqueue size mesh-file roof.iw tower.iw gateway.iw --flow roof,gateway > mesh.toml
      airqueue size mesh mesh.toml
    """
    routers = [_read(Path(dump)) for dump in dumps]
    mesh = mesh_of(routers, [[name.strip() for name in flow.split(",")] for flow in flows])
    text = toml_text.render(mesh.table)
    parse_topology(text)
    for caution in mesh.cautions:
        note(f"Warning: {caution}.")
    click.echo(text, nl=False)


def _read(path: Path) -> Router:
    data = files.read_bytes(path, _MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise DumpError(f"{files.named(path)}: is longer than 1 MiB, which no output of iw is")
    if str(path) == files.STANDARD_INPUT:
        raise DumpError("standard input: a router is named after its file; name the file")
    return read_router(path.stem, data.decode("utf-8-sig", "replace"))
