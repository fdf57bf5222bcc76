"""Reading what a user names, and writing files so that a reader finds the old one or the whole new
one, never half of it.
"""

from __future__ import annotations

import codecs
import errno
import fcntl
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final

from airqueue import told

STANDARD_INPUT: Final = "-"
"""In place of a file's name."""


def named(path: str | os.PathLike[str]) -> str:
    """Return what messages call a file: its path, or ``standard input``."""
    name = os.fspath(path)
    return "standard input" if name == STANDARD_INPUT else name


def read_bytes(path: str | os.PathLike[str], most: int = -1) -> bytes:
    """Return what a file has, ``-``: standard input; no more than ``most`` bytes. Raises OSError."""
    told.tell(f"reading {named(path)}")
    if os.fspath(path) == STANDARD_INPUT:
        return standard_input().read(most)
    with Path(path).open("rb") as file:
        return file.read(most)


def standard_input() -> BinaryIO:
    """Return standard input. Raises OSError where it is closed."""
    if sys.stdin is None:
        raise OSError(errno.EBADF, "standard input is closed; give it a file with '< FILE'")
    return sys.stdin.buffer


class NotJsonError(ValueError):
    """A file is not JSON: the message is a sentence without its full stop, which names the file."""


class WrongNumberError(ValueError):
    """A number that JSON, or a result, has none of; for the functions given to `parse_json`."""


def parse_json(data: bytes, name: str, advice: str, **hooks: Any) -> Any:
    """Return the value that the JSON of a file describes.

    ``name`` is the file's, ``advice`` the end of the message; ``hooks`` are those of `json.loads`,
    and may raise WrongNumberError. Raises NotJsonError.
    """
    try:
        if not data.strip():
            raise _not_json(name, "is an empty file", advice)
        return json.loads(decode(data), **hooks)
    except UnicodeDecodeError as error:
        raise _not_json(name, "is not a JSON file in UTF-8", advice) from error
    except RecursionError as error:
        raise _not_json(name, "is nested too deeply to be a result", advice) from error
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise _not_json(name, f"is not JSON, at {where}", advice) from error
    except WrongNumberError as error:
        raise _not_json(name, f"is not JSON: {error}", advice) from error
    except NotJsonError:
        raise
    except ValueError as error:
        # Python limits the digits of whole numbers.
        raise _not_json(name, "has a number of thousands of digits", advice) from error


def _not_json(name: str, what: str, advice: str) -> NotJsonError:
    return NotJsonError(f"{name} {what}; {advice}")


def decode(data: bytes) -> str:
    """Return UTF-8 as text, and UTF-16 that begins with its mark, as PowerShell writes it.

    A byte order mark is no part of the text. Raises UnicodeDecodeError.
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16")
    return data.decode("utf-8-sig")


def write_atomically(
    path: str | os.PathLike[str], content: str | bytes, *, certain: bool = True
) -> None:
    """Write ``content`` (text as UTF-8) to ``path`` by way of a temporary file beside it.

    A path that exists and is no regular file (a pipe, a device) is written to directly. Not
    ``certain``: soon after, a power failure may leave the older file, or none. Raises OSError that
    names ``path``; nothing is left behind then, and an older file stays as it was.
    """
    data = content.encode() if isinstance(content, str) else content
    _put(Path(path), lambda to: to.write(data), certain=certain)


def copy_atomically(source: Path, path: str | os.PathLike[str]) -> None:
    """Copy a file of any size to ``path``, as `write_atomically` writes."""

    def copy(to: BinaryIO) -> None:
        with source.open("rb") as file:
            shutil.copyfileobj(file, to)

    _put(Path(path), copy)


def _put(target: Path, write: Callable[[BinaryIO], object], *, certain: bool = True) -> None:
    try:
        if target.exists() and not target.is_file():
            with target.open("wb") as file:
                write(file)
        else:
            whole = Path(os.path.realpath(target))
            _replace(whole, write)
            if certain:
                _sync_directory(whole.parent)
    except OSError as error:
        raise _about(error, target) from error
    told.tell(f"wrote {target}")


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise OSError naming ``path`` if it cannot be written; a long measurement asks first."""
    target = Path(path)
    try:
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if target.exists() and not target.is_file():
            return
        parent = Path(os.path.realpath(target)).parent
        if not parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, f"there is no directory {parent}")
        if not os.access(parent, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise _about(error, target) from error


def no_directory(path: Path) -> Path | None:
    """Return what keeps a path from being a directory: itself, or what it is below; None: nothing."""
    found = (each for each in (path, *path.parents) if each.exists() and not each.is_dir())
    return next(found, None)


@contextmanager
def alone(path: str | os.PathLike[str], error: type[Exception]) -> Iterator[None]:
    """Make a directory and keep other processes from it; the end of this one, too, lets it go.

    Raises OSError, or ``error`` for what is no directory, or one that another process writes to.
    """
    directory = Path(path)
    if (file := no_directory(directory)) is not None:
        raise error(f"{file}: is no directory; choose another name")
    directory.mkdir(parents=True, exist_ok=True)
    handle = os.open(directory, os.O_RDONLY)
    try:
        _lock(handle, directory, error)
        yield
    finally:
        os.close(handle)


def _lock(handle: int, path: Path, error: type[Exception]) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as busy:
        raise error(
            f"{path}: another process writes there; wait for it or choose another directory"
        ) from busy
    except OSError:
        pass  # a file system without locks, as NFS for directories: users keep order themselves


def _replace(target: Path, write: Callable[[BinaryIO], object]) -> None:
    temporary = target.with_name(f".{target.name}.{os.urandom(4).hex()}.tmp")
    try:
        # Opened here rather than by tempfile, which would make the result readable to nobody else.
        with temporary.open("xb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _sync_directory(directory: Path) -> None:
    """Make the rename itself durable (POSIX leaves it in the directory's cache)."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _about(error: OSError, path: Path) -> OSError:
    """Name the user's path: errors of write() name none, those of the temporary file its own."""
    return type(error)(error.errno, error.strerror or str(error), str(path))
