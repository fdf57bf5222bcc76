"""Signals that are noted instead of ending Python wherever it is, as within what cleans up."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any, Final

_NOTED: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class NotedSignals:
    """Notes SIGINT, SIGTERM and SIGHUP within a ``with`` statement, in the main thread.

    Whoever waits polls ``wake``, which becomes readable, and takes the signals out of ``numbers``.
    Once nobody looks at them any more, signals have no effect: a second Ctrl-C of an impatient user
    does not keep files from being written.
    """

    def __init__(self) -> None:
        self.numbers: list[int] = []
        """The signals that came, the oldest first."""
        self.wake, self._waker = os.pipe()
        os.set_blocking(self.wake, False)
        os.set_blocking(self._waker, False)
        self._before: dict[int, Any] = {}

    def __enter__(self) -> NotedSignals:
        self._before = {number: signal.signal(number, self._note) for number in _NOTED}
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        for fd in (self.wake, self._waker):
            os.close(fd)

    def notify(self) -> None:
        """Wake who waits, for another reason; may be called from any thread."""
        with suppress(BlockingIOError):
            os.write(self._waker, b"x")

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.numbers.append(number)
        self.notify()


def ignore_for_good() -> None:
    """Have these signals do nothing until this process ends, which is to be soon."""
    for number in _NOTED:
        signal.signal(number, signal.SIG_IGN)
