"""Independent references: the backoff of one station as the Markov chain that the papers draw."""

from __future__ import annotations

from fractions import Fraction


def window(stage: int, cw_min: int, cw_max: int) -> int:
    return min(cw_min << stage, cw_max)


def attempt_probability(p: Fraction, cw_min: int, cw_max: int, retries: int | None) -> Fraction:
    """Share of time in which the counter is 0, from the balance of all states (stage, counter).

    From (k, 0) the station transmits: on success to a uniform counter of stage 0; on collision of
    the next stage, which without a retry limit is the last one again, and with one is stage 0.
    From (k, c) to (k, c-1).
    """
    last = retries if retries is not None else (cw_max // cw_min).bit_length() - 1
    states = [(k, c) for k in range(last + 1) for c in range(window(k, cw_min, cw_max))]
    place = {state: i for i, state in enumerate(states)}
    size = len(states)
    # Rows: Σ_i π_i P_ij - π_j = 0, of which one is replaced by Σ π_i = 1.
    rows = [[Fraction(0)] * (size + 1) for _ in range(size)]
    for (stage, counter), i in place.items():
        rows[i][i] -= 1
        if counter > 0:
            rows[place[stage, counter - 1]][i] += 1
            continue
        after = stage + 1 if stage < last else (0 if retries is not None else last)
        for probability, to in ((1 - p, 0), (p, after)):
            values = window(to, cw_min, cw_max)
            for c in range(values):
                rows[place[to, c]][i] += probability / values
    rows[-1] = [Fraction(1)] * (size + 1)
    pi = _solve(rows)
    return sum((pi[place[k, 0]] for k in range(last + 1)), Fraction(0))


def _solve(rows: list[list[Fraction]]) -> list[Fraction]:
    """Gauss and Jordan's elimination of an augmented matrix."""
    size = len(rows)
    for column in range(size):
        pivot = next(r for r in range(column, size) if rows[r][column] != 0)
        rows[column], rows[pivot] = rows[pivot], rows[column]
        scale = rows[column][column]
        rows[column] = [x / scale for x in rows[column]]
        for r in range(size):
            factor = rows[r][column]
            if r != column and factor != 0:
                rows[r] = [x - factor * y for x, y in zip(rows[r], rows[column], strict=True)]
    return [row[-1] for row in rows]
