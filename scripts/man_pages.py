"""Writes what a system installs beside `airqueue`: manual pages, and completion for shells.

    scripts/man_pages.py SHARE      SHARE/man/man1/airqueue*.1, SHARE/bash-completion/...

The pages are made from the commands as `--help` is. click-man does not serve: it finds no commands
that load when they are used, breaks listings, and leaves text that roff takes for requests. The pages of
`airqueued` and `airqueue-endpoint` are clap's: `crates/airqueued/examples/man_pages.rs`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path
from typing import Final

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
        yield from commands(click.Context(command, context, name))


def page_name(context: click.Context) -> str:
    """Return the name of a command's page: `airqueue-model-bianchi`."""
    return context.command_path.replace(" ", "-")


def escaped(text: str) -> str:
    """Return text as roff prints it unchanged, line by line."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join(f"\\&{line}" if line[:1] in (".", "'") else line for line in text.split("\n"))


def paragraphs(text: str) -> list[str]:
    """Return the lines of a help text. A paragraph after \\b keeps its lines, as in click."""
    lines = []
    for paragraph in cleandoc(text).partition("\f")[0].strip().split("\n\n"):
        kept = paragraph.removeprefix("\b\n")
        body = escaped(kept)
        lines += [".PP", body] if kept == paragraph else [".PP", ".nf", body, ".fi"]
    return lines


def listed(entries: list[tuple[str, str]]) -> list[str]:
    """Return the lines of a list of words with their meaning."""
    lines = []
    for word, meaning in entries:
        said = escaped(" ".join(meaning.split())) or "\\&"
        lines += [".TP", f"\\fB{escaped(word)}\\fR", said]
    return lines


def page(context: click.Context) -> str:
    """Return the manual page of a command."""
    command = context.command
    short = command.get_short_help_str(limit=1000).rstrip(".")
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [
        f'.TH {page_name(context).upper()} 1 "" "airqueue {airqueue.__version__}" "airqueue"',
        ".SH NAME",
        f"{escaped(page_name(context))} \\- {escaped(short)}",
        ".SH SYNOPSIS",
        f".B {escaped(context.command_path)}",
        escaped(usage),
    ]
    if context.command_path == f"airqueue {command.name}" and command.name in daemon.COMMANDS:
        # These become the other program, whose page has the options.
        lines += [".SH SEE ALSO", f".BR {daemon.PROGRAM}\\-{command.name} (1)"]
        return "\n".join([*lines, ""])
    if command.help or command.epilog:
        texts = [text for text in (command.help, command.epilog) if text]
        # The heading begins the first paragraph.
        body = [line for text in texts for line in paragraphs(text)][1:]
        lines += [".SH DESCRIPTION", *body]
    records = [param.get_help_record(context) for param in command.get_params(context)]
    # The usage has arguments; newer click lists them here as well, without a meaning.
    lines += [".SH OPTIONS", *listed([each for each in records if each and each[1]])]
    inner = [each for each in commands(context) if each.parent is context]
    if inner:
        named = [(str(each.info_name), each.command.get_short_help_str(1000)) for each in inner]
        lines += [".SH COMMANDS", *listed(named)]
    others = [context.parent] if context.parent else inner
    if others:
        seen = ", ".join(f"\\fB{escaped(page_name(each))}\\fR(1)" for each in others)
        lines += [".SH SEE ALSO", seen]
    return "\n".join([*lines, ""])


def pages() -> dict[str, str]:
    """Return the pages of all commands, by name."""
    return {
        page_name(each): page(each) for each in commands(click.Context(cli.main, None, "airqueue"))
    }


def write(share: Path) -> None:
    """Write pages and completion below a share directory."""
    manual = share / "man" / "man1"
    manual.mkdir(parents=True, exist_ok=True)
    for old in manual.glob("*.1"):
        old.unlink()
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
