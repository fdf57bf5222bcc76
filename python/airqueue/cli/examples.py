"""`airqueue examples`: the scenarios, sweeps and meshes that come with airqueue."""

from __future__ import annotations

import difflib
import itertools
import json
import re
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Final

import click
from click.shell_completion import CompletionItem

from airqueue.cells import cells, to_notebook
from airqueue.cli.common import stdout
from airqueue.cli.table import Table
from airqueue.cli.written import check_apart
from airqueue.files import copy_atomically, write_atomically

FOLDER: Final = Path(str(resources.files("airqueue") / "examples"))
_KINDS: Final = {
    "simulate": "Scenarios for `airqueue simulate FILE`",
    "sweep": "Sweeps for `airqueue sweep FILE --out DIRECTORY`",
    "mesh": "Meshes for `airqueue size mesh FILE`",
    "diagnose": "Homes with a fault, for `airqueue emulate FILE`",
    "emulate": "Tests of programs on bad Wi-Fi, with pytest",
    "notebooks": "Notebooks, as Python files with cells or with `--out FILE.ipynb` for Jupyter",
}
_FILES: Final = (".toml", ".py", ".sh")


@dataclass(frozen=True, slots=True)
class Example:
    """A file that comes with airqueue."""

    name: str
    """As in ``simulate/rdqm``; ``rdqm`` alone finds the example, too."""
    kind: str
    about: str
    """Its first sentence."""
    path: str


def all_examples() -> list[Example]:
    """Return all examples, in the order of the list."""
    return [
        Example(f"{kind}/{_short(path)}", kind, _about(path), str(path))
        for kind in _KINDS
        for path in sorted((FOLDER / kind).iterdir())
        if path.suffix in _FILES
    ]


def find(name: str) -> Example:
    """Return an example by its name, with or without its kind. Raises UsageError."""
    known = all_examples()
    found = [each for each in known if name in {each.name, each.name.partition("/")[2]}]
    if found:
        return found[0]
    words = [word for each in known for word in (each.name, each.name.partition("/")[2])]
    near = difflib.get_close_matches(name, words, n=1, cutoff=0.7)
    hint = f"did you mean {near[0]}?" if near else "`airqueue examples` lists them."
    raise click.UsageError(f"There is no example {name!r}; {hint}")


def of_checkout(path: str) -> Example | None:
    """Return the example that has this path in a checkout, as help and pages name it."""
    here = FOLDER.parent / path
    return next((each for each in all_examples() if Path(each.path) == here), None)


def _short(path: Path) -> str:
    return path.stem if path.suffix == ".toml" else path.name


def _about(path: Path) -> str:
    """Return the first sentence that a file says of itself."""
    lines = path.read_text("utf-8").removeprefix("#!/bin/sh\n").splitlines()
    paragraph = itertools.takewhile(bool, (line.lstrip("#").strip().strip('"') for line in lines))
    return re.split(r"(?<=[.?])(?<!Fig\.) ", " ".join(paragraph), maxsplit=1)[0]


class _Name(click.ParamType[str]):
    """The name of an example, for completion."""

    name = "name"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the examples that begin so."""
        return [
            CompletionItem(each.name, help=each.about)
            for each in all_examples()
            if each.name.startswith(incomplete)
        ]


@click.command(short_help="List or print the examples.")
@click.argument("name", type=_Name(), required=False)
@click.option("--path", "only_path", is_flag=True, help="Print where the file is.")
@click.option(
    "--out",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write a copy to change; refused if FILE exists.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the list, or the example, as JSON.")
def examples(*, name: str | None, only_path: bool, out: Path | None, as_json: bool) -> None:
    """List the examples that come with airqueue, or print the one called NAME.

    \b
    Examples:
      airqueue examples
      airqueue examples hidden-terminals | airqueue simulate -
      airqueue simulate "$(airqueue examples --path hidden-terminals)"
      airqueue examples home-downloads --out mine.toml
    """
    if name is None:
        if only_path or out is not None:
            raise click.UsageError("Name the example: `airqueue examples` lists them.")
        _list(as_json=as_json)
        return
    check_apart([("--out", out)])
    found = find(name)
    if as_json:
        text = Path(found.path).read_text("utf-8")
        click.echo(json.dumps({**asdict(found), "text": text}, indent=2))
    elif out is not None:
        if out.exists():
            raise click.ClickException(f"{out}: is there already; choose another name.")
        if out.suffix == ".ipynb":
            write_atomically(out, _notebook(found))
        else:
            copy_atomically(Path(found.path), out)
    else:
        click.echo(found.path if only_path else Path(found.path).read_text("utf-8"), nl=only_path)


def _notebook(example: Example) -> str:
    """Return an example as a notebook of Jupyter. Raises ClickException for what has no cells."""
    text = Path(example.path).read_text("utf-8")
    if not any(True for _ in cells(text)):
        raise click.ClickException(f"{example.name} has no cells: a notebook has them.")
    return to_notebook(text)


def _list(*, as_json: bool) -> None:
    known = all_examples()
    if as_json:
        click.echo(json.dumps([asdict(each) for each in known], indent=2))
        return
    console = stdout()
    for kind, heading in _KINDS.items():
        table = Table(title=heading, boxed=False, show_header=False)
        table.add_column("example", no_wrap=True)
        table.add_column("about")
        for each in known:
            if each.kind == kind:
                table.add_row(each.name, each.about)
        console.print(table)
