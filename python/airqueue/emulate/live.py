"""Figures of the last seconds of a running emulation.

The engine counts from the beginning; the figures of an interval are the difference of two moments,
which `_native.Moment.since` computes. Here is who remembers the earlier moment.
"""

from __future__ import annotations

import threading
from collections import deque
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Final

from airqueue import _native
from airqueue.emulate.errors import EmulationError
from airqueue.emulate.network import EmulatedNetwork
from airqueue.emulate.series import Series

if TYPE_CHECKING:
    from airqueue.records import LiveDict

EVERY_S: Final = 0.5
"""How often the counters are noted."""
_FIRST_S: Final = 0.01
"""How often it is looked whether real time has begun."""
_NOTED: Final = 6
WINDOW_S: Final = EVERY_S * _NOTED
"""Figures are those of the last 3 s, or since the beginning; the first of them have less."""


class Live:
    """Notes the counters of a network within a ``with`` statement, in a thread of its own.

    The statement may begin before the network starts, and must end before the network is closed.
    ``series`` gets the counters of the whole time; without ``shown`` nobody asks for `figures`, and
    the counters are noted for the series alone.
    """

    def __init__(
        self, network: EmulatedNetwork, series: Series | None = None, *, shown: bool = True
    ) -> None:
        self._network = network
        self._series = series
        self._every_s = EVERY_S if shown or series is None else series.every_s
        self._noted: deque[_native.Moment] = deque(maxlen=_NOTED)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._note, name="airqueue-live", daemon=True)

    def __enter__(self) -> Live:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()
        if self._series is not None:
            with suppress(EmulationError):  # the network never ran, or has failed
                self._series.end(self._network.moment())

    def figures(self) -> LiveDict:
        """Return the figures of the last `WINDOW_S` seconds.

        Raises EmulationError before real time has begun.
        """
        now = self._network.moment()
        return now.since(self._noted[0] if self._noted else now)

    def _note(self) -> None:
        while not self._over.wait(self._every_s if self._noted else _FIRST_S):
            try:
                moment = self._network.moment()
            except EmulationError:
                continue  # the warm-up is not over
            self._noted.append(moment)
            if self._series is not None:
                self._series.add(moment)
