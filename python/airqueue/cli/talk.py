"""How much a command says: ``-q``, ``-v`` and ``--no-progress``, with one meaning for all commands.

``-q``: on stderr errors alone; results stay on stdout. ``-v``: what is done, too.
``--no-progress``: no line of progress. Colours follow NO_COLOR, as Rich has it.
"""

from __future__ import annotations

import platform
import time
from dataclasses import dataclass
from typing import Any, Final

import click

import airqueue
from airqueue import told


@dataclass(slots=True)
class Talk:
    """How much is said in this process."""

    quiet: bool = False
    verbose: bool = False
    progress: bool = True


talk: Final = Talk()
_MARK: Final = "_airqueue_talks"
_OPTIONS: Final = {
    "quiet": (("-q", "--quiet"), "On stderr errors alone."),
    "verbose": (("-v", "--verbose"), "Say on stderr what is done."),
    "no_progress": (("--no-progress",), "No line of progress."),
}

SHARED: Final = tuple(word for words, _ in _OPTIONS.values() for word in words)
"""The options of all commands; docs/commands.md explains them."""


def begin() -> None:
    """Say as much as without any option."""
    talk.quiet, talk.verbose, talk.progress = False, False, True
    told.listeners.clear()


def note(sentence: str) -> None:
    """Say something on stderr that is no error."""
    if not talk.quiet:
        click.echo(sentence, err=True)


def talks(command: click.Command) -> click.Command:
    """Give a command and all commands in it the options, and return it.

    An option that the command has itself keeps its place and gets the meaning.
    """
    if getattr(command, _MARK, False):
        return command
    setattr(command, _MARK, True)
    own = {name: param for param in command.params for name in param.opts}
    for name, (words, help_text) in _OPTIONS.items():
        there = next((own[word] for word in words if word in own), None)
        if there is None:
            command.params.append(
                click.Option(
                    words,
                    is_flag=True,
                    expose_value=False,
                    is_eager=True,
                    callback=_heard,
                    help=help_text,
                )
            )
        elif there.name == name and there.callback is None:
            there.callback, there.is_eager = _heard, True
            if isinstance(there, click.Option):
                there.help = help_text
    if isinstance(command, click.Group):
        for each in command.commands.values():
            talks(each)
    return command


def _heard(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    if value:
        if param.name == "quiet":
            talk.quiet = True
        elif param.name == "verbose" and not talk.verbose:
            talk.verbose = True
            _listen(ctx)
        elif param.name == "no_progress":
            talk.progress = False
    # A command with an option of its own hears -q before the command, too.
    return talk.quiet if param.name == "quiet" else value


def _listen(ctx: click.Context) -> None:
    """Print what is told, and at the end how long the command took."""
    began = time.monotonic()

    def say(sentence: str) -> None:
        click.echo(f"{time.monotonic() - began:8.3f} s  {sentence}.", err=True)

    told.listeners.append(say)
    say(f"airqueue {airqueue.__version__}, Python {platform.python_version()}")
    ctx.find_root().call_on_close(lambda: say("done"))
