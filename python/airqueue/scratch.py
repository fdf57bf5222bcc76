"""A folder for temporary files that goes with its process, also if the process is killed.

Nobody clears up after SIGKILL at once: whoever makes the next folder removes the folders of processes
that are gone. A lock of the folder, which ends with the process that holds it, tells them apart.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

PREFIX: Final = "airqueue-scratch-"
"""Of the folders' names, in the system's folder for temporary files."""
MARK: Final = ".airqueue-scratch"
"""A file in each of them: a folder without it was made by somebody else."""


@contextmanager
def folder() -> Iterator[Path]:
    """Make an empty folder, and remove it at the end.

    Yields its path. The folder is this user's alone (mode 0700), and has the hidden file `MARK`.
    Raises OSError if it cannot be made.
    """
    _remove_abandoned(Path(tempfile.gettempdir()))
    path = Path(tempfile.mkdtemp(prefix=PREFIX))
    lock = _locked(path)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(lock)


def _locked(path: Path) -> int:
    """Return the descriptor of a new folder, which holds the lock, and mark the folder."""
    lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    # Another process may look at the folder just now, and leaves it alone without the mark.
    fcntl.flock(lock, fcntl.LOCK_EX)
    (path / MARK).touch()
    return lock


def _remove_abandoned(parent: Path) -> None:
    """Remove this user's folders that no process has locked any more."""
    for path in parent.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            _remove_if_abandoned(path)


def _remove_if_abandoned(path: Path) -> None:
    lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(lock).st_uid == os.geteuid() and (path / MARK).is_file():
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(lock)
