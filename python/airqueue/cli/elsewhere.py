"""Commands of other distributions: entry points of the group ``airqueue.commands``.

An entry point ``NAME = "module:attribute"`` names a click command, which `airqueue NAME` then runs.
The module is imported only when the command is called or listed.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from importlib import metadata

GROUP: Final = "airqueue.commands"


@dataclass(frozen=True, slots=True)
class Known:
    """A command of this project in a distribution of its own."""

    distribution: str
    extra: str
    """Of airqueue, which installs the distribution."""
    folder: str
    """Of a checkout, which has it."""
    line: str
    """Description in the list of commands."""
    schemas: tuple[str, ...]
    """Names of the JSON Schemas that the command brings."""


_KNOWN: Final = {
    "reproduce": Known(
        "airqueue-papers",
        "papers",
        "papers",
        "Rebuild the tables and figures of six papers.",
        ("reproduction", "sabotage"),
    ),
}


Schemas = Mapping[str, tuple[str, Callable[[], dict[str, Any]]]]
"""Name of a schema -> what writes such JSON, and a function that returns the schema."""


def schemas() -> Schemas:
    """Return the JSON Schemas that installed commands bring in an attribute ``schemas``."""
    found: dict[str, tuple[str, Callable[[], dict[str, Any]]]] = {}
    for name in sorted(_installed()):
        found |= getattr(command(name), "schemas", {})
    return found


def without(schema: str) -> str | None:
    """Return why a schema of a command is not there, and what to do; None for an unknown name."""
    return next((_hint(n, known) for n, known in _KNOWN.items() if schema in known.schemas), None)


def names() -> list[str]:
    """Return the installed commands, and those that the user could install."""
    return [*_KNOWN, *sorted(_installed() - _KNOWN.keys())]


def line(name: str) -> str:
    """Return the line of a command in the list of commands."""
    if name in _KNOWN:
        known = _KNOWN[name]
        return (
            known.line if name in _installed() else f"{known.line} Needs 'airqueue[{known.extra}]'."
        )
    found = command(name)
    return found.get_short_help_str(60) if found is not None else ""


def command(name: str) -> click.Command | None:
    """Import and return a command, or a stand-in that gives the reason; None for an unknown name."""
    entry = _entry(name)
    if entry is None:
        return _Absent(name, _hint(name, _KNOWN[name])) if name in _KNOWN else None
    try:
        found = entry.load()
    except (ImportError, AttributeError) as error:
        whose = entry.dist.name if entry.dist is not None else "another distribution"
        return _Absent(
            name, f"`airqueue {name}` of {whose} cannot be loaded: {error}; install {whose} again."
        )
    if not isinstance(found, click.Command):
        return _Absent(name, f"`airqueue {name}` is {entry.value}, which is no click command.")
    return found


class _Absent(click.Command):
    """A stand-in for a command that cannot be loaded: any call gives the reason."""

    def __init__(self, name: str, reason: str) -> None:
        given = {"ignore_unknown_options": True, "allow_extra_args": True}
        super().__init__(name, context_settings=given, help=reason, short_help=reason)
        self._reason = reason

    def invoke(self, ctx: click.Context) -> None:
        """Raise ClickException with the reason."""
        raise click.ClickException(self._reason)


@functools.cache
def _installed() -> frozenset[str]:
    """Return the names in our group, without importlib.metadata, which loads longer than all else."""
    return frozenset(name for text in _entry_points() for name in _of_group(text))


def _entry_points() -> Iterator[str]:
    """Yield the entry points of each distribution in a folder of the path."""
    for folder in sys.path:
        try:
            found = [each.path for each in os.scandir(folder or ".") if each.name.endswith("-info")]
        except OSError:
            continue
        for path in found:
            with suppress(OSError, UnicodeDecodeError):
                yield Path(path, "entry_points.txt").read_text("utf-8")


def _of_group(text: str) -> Iterator[str]:
    """Yield the names in our group of a file in the entry points specification's format."""
    within = False
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            within = line == f"[{GROUP}]"
        elif within and "=" in line and not line.startswith(("#", ";")):
            yield line.partition("=")[0].strip()


def _entry(name: str) -> metadata.EntryPoint | None:
    from importlib import metadata  # noqa: PLC0415 - slow to load

    return next(iter(metadata.entry_points(group=GROUP, name=name)), None)


def _hint(name: str, known: Known) -> str:
    return (
        f"`airqueue {name}` comes with {known.distribution}, which is not installed: "
        f"pip install 'airqueue[{known.extra}]', or in a checkout pip install ./{known.folder}"
    )
