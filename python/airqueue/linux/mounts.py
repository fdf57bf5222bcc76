"""File systems, mounted without programs: with Python's standard library only."""

from __future__ import annotations

import ctypes
import os
from typing import Final

CLONE_NEWNS: Final = 0x00020000
_MS_BIND: Final = 0x1000
_MS_REC: Final = 0x4000
_MS_PRIVATE: Final = 1 << 18
_libc = ctypes.CDLL(None, use_errno=True)


def keep_to_this_thread() -> None:
    """Give the calling thread, and programs that it starts, mounts that others do not see.

    The namespace ends with the last of them. All functions of this module raise OSError.
    """
    _check(_libc.unshare(CLONE_NEWNS), "a mount namespace")
    _mount(None, "/", None, _MS_REC | _MS_PRIVATE)


def mount(kind: str, where: str, options: str = "") -> None:
    """Mount a file system that needs no device."""
    _mount(kind, where, kind, 0, options)


def bind(what: str, where: str) -> None:
    """Show a file in the place of another."""
    _mount(what, where, None, _MS_BIND)


def unmount(where: str) -> None:
    """Take away what is mounted at a place; what is bound elsewhere stays there."""
    _check(_libc.umount2(where.encode(), 0), f"no unmounting of {where}")


def _mount(what: str | None, where: str, kind: str | None, flags: int, options: str = "") -> None:
    given = (None if each is None else each.encode() for each in (what, where, kind))
    done = _libc.mount(*given, ctypes.c_ulong(flags), options.encode())
    _check(done, f"no {kind or what or 'private mounts'} at {where}")


def _check(done: int, without: str) -> None:
    if done != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{without}: {os.strerror(number)}")
