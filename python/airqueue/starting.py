"""Ctrl-C before and after a command: it ends the program at once, as programs in C do.

Python would print where it is, which while modules load is in the middle of them. This module loads
none that takes long; before it, while Python itself starts, Ctrl-C is Python's.
"""

from __future__ import annotations

import sys


def _is_command() -> bool:
    """Whether this process was started as `airqueue` or `python -m airqueue`."""
    after = sys.orig_argv[1:3]
    return after == ["-m", "airqueue"] or f"/{after[0] if after else ''}".endswith("/airqueue")


def begin() -> None:
    """Have Ctrl-C end the command while its modules load; leave all other programs as they are."""
    if _is_command():
        import signal  # noqa: PLC0415 - programs that only use the library need not load it

        # One that is ignored, as in the background, stays so.
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)


class Interruptible:
    """Has Ctrl-C raise KeyboardInterrupt within a ``with`` statement, if `begin` took that away."""

    def __enter__(self) -> None:
        import signal  # noqa: PLC0415

        self._taken = _is_command() and signal.getsignal(signal.SIGINT) is signal.SIG_DFL
        if self._taken:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def __exit__(self, *of_error: object) -> None:
        import signal  # noqa: PLC0415

        if self._taken and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
