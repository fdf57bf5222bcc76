"""Writes what a system installs beside `airqueue`: manual pages, and completion for shells.

    scripts/man_pages.py SHARE      SHARE/man/man1/airqueue*.1, SHARE/bash-completion/...

A page is the help of a command, written by a formatter that writes roff. click-man does not serve: it
finds no commands that load when they are used, breaks listings, and leaves text that roff takes for
requests. The pages of `airqueued` and `airqueue-endpoint` are clap's:
`crates/airqueue-manual`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from unittest import mock

import click

import airqueue
from airqueue import cli
from airqueue.cli import completion, daemon, elsewhere

COMPLETIONS: Final = {
    "bash": "bash-completion/completions/airqueue",
    "zsh": "zsh/site-functions/_airqueue",
    "fish": "fish/vendor_completions.d/airqueue.fish",
}
"""Where shells look for completion, below a share directory."""

_PRINTED: Final = str.maketrans(
    {"\\": r"\(rs", "-": r"\-", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti"}
)
"""Characters that roff prints as others, or takes for escapes."""


def escaped(text: str) -> str:
    """Return text as roff prints it unchanged, line by line."""
    lines = text.translate(_PRINTED).split("\n")
    return "\n".join(f"\\&{line}" if line.startswith(".") else line for line in lines)


class Formatter(click.HelpFormatter):
    """Takes the parts of a help text from a command, and writes them as a manual page has them."""

    def __init__(self) -> None:
        super().__init__()
        self._heading = ""
        self._described = False
        self._in_section = False
        self._begins = False

    def line(self, text: str) -> None:
        """Write one line of roff."""
        self.write(f"{text}\n")

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """Write the synopsis."""
        self.write_heading("Synopsis")
        self.line(f".B {escaped(prog)}")
        self.line(escaped(args))

    def write_heading(self, heading: str) -> None:
        """Begin a section of the page."""
        self._heading = heading
        self._begins = True
        self.line(f".SH {escaped(heading.upper())}")

    def write_paragraph(self) -> None:
        """Write nothing: a text begins its paragraph itself."""

    def write_text(self, text: str) -> None:
        r"""Write paragraphs. A paragraph after \b keeps its lines."""
        if not self._in_section and self._heading not in ("Description", "Notes"):
            # Help texts stand above the options without a heading, epilogs below them.
            self.write_heading("Notes" if self._described else "Description")
            self._described = True
        for paragraph in text.strip().split("\n\n"):
            if not self._begins:
                self.line(".PP")
            self._begins = False
            kept = paragraph.removeprefix("\b\n")
            body = escaped(kept)
            self.line(body if kept == paragraph else f".nf\n{body}\n.fi")

    def write_dl(
        self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2
    ) -> None:
        """Write a list of words with their meanings."""
        for word, meaning in rows:
            said = escaped(" ".join(meaning.split())) or "\\&"
            self.line(f".TP\n\\fB{escaped(word)}\\fR\n{said}")

    @contextmanager
    def section(self, name: str) -> Iterator[None]:
        """Write a section with a heading."""
        self.write_heading(name)
        self._in_section = True
        try:
            yield
        finally:
            self._in_section = False


def commands(context: click.Context) -> Iterator[click.Context]:
    """Yield the contexts of a command and of all commands in it that belong to this distribution."""
    yield context
    group = context.command
    if not isinstance(group, click.Group):
        return
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        others = group is cli.main and name in elsewhere.names()
        if command is None or command.hidden or others:
            continue
        yield from commands(click.Context(command, context, name, **command.context_settings))


def page_name(context: click.Context) -> str:
    """Return the name of a command's page: `airqueue-model-bianchi`."""
    return context.command_path.replace(" ", "-")


def page(context: click.Context) -> str:
    """Return the manual page of a command."""
    command = context.command
    name = page_name(context)
    formatter = Formatter()
    version = airqueue.__version__
    formatter.line(f'.TH {escaped(name.upper())} 1 "" "airqueue {version}" "airqueue"')
    formatter.line(".SH NAME")
    short = command.get_short_help_str(limit=1000).rstrip(".")
    formatter.line(f"{escaped(name)} \\- {escaped(short)}")
    # As if no other distribution were installed here: the page is for any machine.
    with mock.patch.object(elsewhere, "_installed", frozenset):
        command.format_help(context, formatter)
    others = [page_name(each) for each in related(context)]
    if context.command_path == f"airqueue {command.name}" and command.name in daemon.COMMANDS:
        # This command becomes the other program, whose page has the options.
        others.insert(0, f"{daemon.PROGRAM}-{command.name}")
    if others:
        formatter.line(".SH SEE ALSO")
        formatter.line(", ".join(f"\\fB{escaped(each)}\\fR(1)" for each in others))
    return formatter.getvalue()


def related(context: click.Context) -> list[click.Context]:
    """Return the group of a command, or the commands of `airqueue` itself."""
    inner = [each for each in commands(context) if each.parent is context]
    return [context.parent, *inner] if context.parent else inner


def pages() -> dict[str, str]:
    """Return the pages of all commands, by name."""
    context = click.Context(cli.main, None, "airqueue", **cli.main.context_settings)
    return {page_name(each): page(each) for each in commands(context)}


def write(share: Path) -> None:
    """Write pages and completion below a share directory."""
    manual = share / "man" / "man1"
    manual.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (manual / f"{name}.1").write_text(text, "utf-8")
    for shell, place in COMPLETIONS.items():
        path = share / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(completion.script(shell, cli.main), "utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: scripts/man_pages.py SHARE")
    write(Path(sys.argv[1]))
