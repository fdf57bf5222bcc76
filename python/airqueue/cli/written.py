"""The outputs of a command: none overwrites another or what is read, and one that cannot be written
keeps none of the others back.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Protocol

import click

from airqueue.cli.errors import said
from airqueue.files import check_writable, no_directory, write_atomically

Named = tuple[str, str | os.PathLike[str] | None]
"""An option, and the file that the user named by it."""
STREAM: Final = "-"
"""Standard output, or input, in place of a file's name."""
JSON: Final = "--json"


def check_outputs(
    written: Collection[Named],
    read: Iterable[str | os.PathLike[str] | None] = (),
    streams: Collection[str] = (JSON,),
) -> None:
    """Refuse outputs before a long work: see `check_apart`. Raises OSError for one not writable."""
    check_apart(written, read, streams)
    check_each(written)


def check_each(written: Iterable[Named]) -> None:
    """Raise OSError for an output that cannot be written."""
    for _, path in written:
        if path is not None and path != STREAM:
            check_writable(path)


def check_apart(
    written: Iterable[Named],
    read: Iterable[str | os.PathLike[str] | None] = (),
    streams: Collection[str] = (JSON,),
) -> None:
    """Raise UsageError for an output that would replace another one, or a file that is read.

    ``streams``: the options whose ``-`` is standard output; others have none. Devices and pipes
    replace nothing.
    """
    inputs = {os.path.realpath(path) for path in read if path is not None and Path(path).is_file()}
    taken: dict[str, str] = {}
    for option, path in written:
        name = None if path is None else os.fspath(path)
        if name == STREAM and option not in streams:
            raise click.UsageError(f"{option} has no - for standard output: write a name.")
        if name is None or name == STREAM or not _is_kept(Path(name)):
            continue
        place = os.path.realpath(name)
        if place in inputs:
            raise click.UsageError(
                f"{option} would overwrite {name}, which is read: name another file."
            )
        if (other := taken.get(place)) is not None:
            both = f"{option} twice" if other == option else f"both {other} and {option}"
            raise click.UsageError(f"{name} is named by {both}: name two files.")
        taken[place] = option


def check_folders(named: Iterable[Named]) -> None:
    """Raise UsageError for ``-`` as the name of a directory."""
    for option, path in named:
        if path == STREAM:
            raise click.UsageError(f"{option} writes a directory, and - is none: write a name.")


def check_directories(paths: Iterable[str | None]) -> None:
    """Raise ClickException for a directory to write whose name, or one above it, is a file's."""
    for path in paths:
        if path is not None and (file := no_directory(Path(path))) is not None:
            raise click.ClickException(f"{file}: is no directory; choose another name.")


def _is_kept(path: Path) -> bool:
    """Whether what is written to a file stays in it: a pipe, a device, /dev/stdout pass it on."""
    passes_on = path.exists() and not path.is_file()
    return not passes_on and str(path.absolute().parent) not in ("/dev", "/dev/fd")


class Writing:
    """Writes one output after the other, and keeps what failed for the end."""

    def __init__(self) -> None:
        self.failed: list[Exception] = []

    def __call__(self, write: Callable[..., object], *arguments: Any) -> None:
        """Call a function that writes an output."""
        try:
            write(*arguments)
        except Exception as error:
            # What is written twice, as before and after a long work, fails twice.
            if str(error) not in map(str, self.failed):
                self.failed.append(error)


class Picture(Protocol):
    """A picture that the user named a file for, and how it is drawn."""

    @property
    def path(self) -> str:
        """The file."""

    @property
    def draw(self) -> Callable[..., bytes]:
        """What draws the picture of its arguments."""


def write_drawn(picture: Picture, *about: Any) -> None:
    """Draw a picture of these into its file. Raises OSError."""
    write_atomically(picture.path, picture.draw(*about))


@contextmanager
def all_written() -> Iterator[Writing]:
    """Write outputs, each even if another fails, and raise what failed at the end.

    The work behind them may have taken hours, and cannot be had again. Of several errors each
    is said.
    """
    writing = Writing()
    try:
        yield writing
    except BaseException:
        _say(writing.failed)
        raise
    # What has no sentence is raised: a defect of ours, whose place a traceback must show.
    failed = sorted(writing.failed, key=lambda error: said(error) is None)
    _say(failed[:-1])
    if failed:
        raise failed[-1]


def _say(failed: list[Exception]) -> None:
    for error in failed:
        click.echo(f"Error: {said(error) or repr(error)}", err=True)
