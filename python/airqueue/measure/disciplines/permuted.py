"""A permutation test over blocks of a flood whose classes were drawn.

The order of the blocks' classes is random, by the plan. If the class has no influence any other
order would have given the same arrivals, marks and losses. So the share of the orders whose classes
differ by at least as much as the real one's is an exact significance, whatever depends on what within
a block and from one to the next: a controller, bursts of losses, others' traffic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from airqueue.measure.disciplines.observed import Bools, Floats, Ints

ORDERS: Final = 9999
"""Orders that are tried."""
SEED: Final = 1
"""Equal records give equal verdicts."""
SPREADS: Final = 2.58
"""Standard deviations to both ends of a 99 % interval."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Mean of one class less that of the other, the significance, and half of its 99 % interval."""

    of: float
    chance: float
    half: float

    def within(self, tolerance: float) -> bool:
        """Whether the whole interval lies within so much of zero."""
        return abs(self.of) + self.half <= tolerance


def compare(values: Floats, blocks: Ints, one: Bools, other: Bools) -> Difference | None:
    """Compare the means of values in blocks of one and of the other class; None if one has none.

    ``one``, ``other``: the packets of the two classes; NaN in ``values`` is left out.
    """
    known = ~np.isnan(values)
    chosen = (one | other) & known
    if not np.any(one & known) or not np.any(other & known):
        return None
    names, place = np.unique(blocks[chosen], return_inverse=True)
    total = np.bincount(place, weights=values[chosen]).astype(np.float64)
    count = np.bincount(place).astype(np.float64)
    is_one = np.zeros(len(names), dtype=bool)
    is_one[place[one[chosen]]] = True
    seen = _difference(total, count, is_one[:, np.newaxis])[0]
    draw = np.random.default_rng(SEED)
    orders = draw.permuted(np.repeat(is_one[:, np.newaxis], ORDERS, axis=1), axis=0)
    others = _difference(total, count, orders)
    # Sums in another order differ by rounding: that is no smaller difference.
    as_far = np.count_nonzero(np.abs(others) >= abs(seen) * (1 - 1e-9))
    return Difference(float(seen), (1 + as_far) / (1 + ORDERS), SPREADS * float(np.std(others)))


def _difference(total: Floats, count: Floats, is_one: Bools) -> Floats:
    """Difference of the two means for each column, an order of the classes; shape (orders,)."""
    of_one = total @ is_one, count @ is_one
    return np.asarray(of_one[0] / of_one[1] - (total.sum() - of_one[0]) / (count.sum() - of_one[1]))
