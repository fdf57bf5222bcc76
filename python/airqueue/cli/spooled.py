"""Standard input as a file, for readers that go back in it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import click

from airqueue.files import STANDARD_INPUT, named, standard_input


@contextmanager
def on_disk(files: Sequence[str]) -> Iterator[list[Path]]:
    """Yield paths of the files; one may be ``-``: standard input, kept in a file meanwhile.

    An error of a click command or of a reader names standard input, not the file in between.
    Raises UsageError if two files are standard input.
    """
    if files.count(STANDARD_INPUT) > 1:
        raise click.UsageError("Standard input can be read once: give - for one FILE only.")
    with ExitStack() as stack:
        paths = [Path(file) for file in files]
        if STANDARD_INPUT in files:
            kept = stack.enter_context(tempfile.NamedTemporaryFile(prefix="airqueue-"))
            shutil.copyfileobj(standard_input(), kept)
            kept.flush()
            paths[files.index(STANDARD_INPUT)] = Path(kept.name)
            stack.enter_context(_renamed(kept.name))
        yield paths


@contextmanager
def _renamed(path: str) -> Iterator[None]:
    """Name standard input in place of a path in an error's sentence."""
    try:
        yield
    except Exception as error:
        error.args = tuple(
            each.replace(path, named(STANDARD_INPUT)) if isinstance(each, str) else each
            for each in error.args
        )
        raise
