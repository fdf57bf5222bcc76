"""Commands of other distributions: entry points of the group ``airqueue.commands``.

An entry point ``NAME = "module:attribute"`` names a click command, which `airqueue NAME` then runs.
The module is imported only when the command is called or listed.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import metadata
from typing import Final

import click

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


_KNOWN: Final = {
    "reproduce": Known(
        "airqueue-papers", "papers", "papers", "Rebuild the tables and figures of five papers."
    ),
}


def names() -> list[str]:
    """Return the installed commands, and those that the user could install."""
    found = {each.name for each in metadata.entry_points(group=GROUP)}
    return [*_KNOWN, *sorted(found - _KNOWN.keys())]


def line(name: str) -> str:
    """Return the line of a command in the list of commands."""
    if name in _KNOWN:
        known = _KNOWN[name]
        return known.line if _entry(name) else f"{known.line} Needs 'airqueue[{known.extra}]'."
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


def _entry(name: str) -> metadata.EntryPoint | None:
    return next(iter(metadata.entry_points(group=GROUP, name=name)), None)


def _hint(name: str, known: Known) -> str:
    return (
        f"`airqueue {name}` comes with {known.distribution}, which is not installed: "
        f"pip install 'airqueue[{known.extra}]', or in a checkout pip install ./{known.folder}"
    )
