"""The finding of a run for a claim."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from airqueue.stats import t_interval


@dataclass(frozen=True, slots=True)
class Value:
    """Our value, in the unit of its claim."""

    mean: float
    low: float | None = None
    """Of the 95 % confidence interval; None where there is none: a formula, or one replication."""
    high: float | None = None

    @classmethod
    def of(cls, samples: Iterable[float | None], scale: float = 1.0) -> Value | None:
        """Return mean and interval of what the replications found, or None if none found anything."""
        interval = t_interval([scale * each for each in samples if each is not None])
        if interval is None:
            return None
        if interval.n < 2 or not math.isfinite(interval.half_width):
            return cls(interval.mean)
        return cls(interval.mean, interval.low, interval.high)


@dataclass(frozen=True, slots=True)
class Finding:
    """Our answer to a claim."""

    claim: str
    reason: str
    """One sentence: what was measured, and for what misses, why."""
    ours: tuple[Value, ...] = ()
    """As many as the claim has numbers; a range has one, or two: its ends."""
    holds: bool | None = None
    """Of a statement: whether it does. Of a number: whether the conclusion does that the paper draws
    from it, such as which is the smaller; None where it draws none."""
    ns2: float | None = None
    """What ns-2 gives for it, in the unit of the claim."""
