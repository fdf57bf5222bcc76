"""Events of a running measurement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airqueue.measure.prober import RunProgress


@dataclass(frozen=True, slots=True)
class Event:
    """A step of the measurement, or the progress of the present run.

    ``phase`` is a short stable name (``search``, ``session``, ...), ``message`` a phrase for the
    user. ``fraction`` (0 to 1) and ``time_left_s`` are for the whole measurement, None while
    unknown. ``progress`` is None between runs.
    """

    phase: str
    message: str
    fraction: float | None = None
    time_left_s: float | None = None
    progress: RunProgress | None = None
