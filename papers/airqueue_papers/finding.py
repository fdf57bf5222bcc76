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
    """End of the 95 % confidence interval; None for a formula or a single replication."""
    high: float | None = None

    @classmethod
    def of(cls, samples: Iterable[float | None], scale: float = 1.0) -> Value | None:
        """Return mean and interval over the replications with a value, or None if none has any."""
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
    """One sentence: the measured value, and for a miss its reason."""
    ours: tuple[Value, ...] = ()
    """One value for each number of the claim; for a range one value, or two: its ends."""
    holds: bool | None = None
    """Of a statement: whether it holds. Of a number: whether the paper's conclusion from the number
    holds, such as which is the smaller, which is a condition of the number too; None without a
    conclusion. Nothing holds whose sign or order our interval leaves open."""
    ns2: float | None = None
    """Value of ns-2, in the unit of the claim."""
