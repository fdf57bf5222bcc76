"""Exact references for the shared queue: small Markov chains of phase-type sizes, solved directly."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np


@dataclass(frozen=True)
class PhaseType:
    """A job starts in phase i with start[i]; phase i ends at rate[i], then next[i][j], else done."""

    start: tuple[float, ...]
    rate: tuple[float, ...]
    next: tuple[tuple[float, ...], ...]

    def mean(self) -> float:
        moves = np.eye(len(self.rate)) - np.array(self.next)
        return float(np.array(self.start) @ np.linalg.solve(moves, 1 / np.array(self.rate)))

    def done(self, phase: int) -> float:
        return 1 - sum(self.next[phase])


def exponential() -> PhaseType:
    return PhaseType((1.0,), (1.0,), ((0.0,),))


def erlang2() -> PhaseType:
    return PhaseType((1.0, 0.0), (2.0, 2.0), ((0.0, 1.0), (0.0, 0.0)))


def hyperexponential() -> PhaseType:
    """Mean 1, squared coefficient of variation near 9: a few large jobs among many small ones."""
    small, large = 0.9, 0.1
    return PhaseType((small, large), (small / 0.4, large / 0.6), ((0.0, 0.0), (0.0, 0.0)))


State: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]
"""(users in each phase of thinking, users in each phase of service); FCFS: the phases in order."""


def mean_delay(
    users: int,
    think: PhaseType,
    think_s: float,
    work: PhaseType,
    rate: Callable[[int], float],
    *,
    shared: bool,
) -> float:
    """Mean time from arrival to departure. think, work: mean 1, scaled by think_s and rate(k) jobs/s.

    shared: the rate is split evenly among all; otherwise the first in line has it all.
    """
    moves = _shared_moves if shared else _first_come_moves

    def step(state: State) -> Iterator[tuple[State, float]]:
        return moves(state, think, think_s, work, rate)

    begin = think.start.index(max(think.start))
    thinking = tuple(users if phase == begin else 0 for phase in range(len(think.start)))
    active = _mean(step, (thinking, (0,) * len(work.start) if shared else ()), users)
    # Little's law for thinking: its mean is known, so the users in it give the rate.
    return active / ((users - active) / think_s)


def _thinking_moves(
    thinking: tuple[int, ...], think: PhaseType, think_s: float
) -> Iterator[tuple[tuple[int, ...], bool, float]]:
    for phase, count in enumerate(thinking):
        pace = count * think.rate[phase] / think_s
        if pace == 0:
            continue
        for after, chance in enumerate(think.next[phase]):
            if chance:
                yield _moved(thinking, phase, after), False, pace * chance
        if think.done(phase):
            yield _moved(thinking, phase, None), True, pace * think.done(phase)


def _shared_moves(
    state: State, think: PhaseType, think_s: float, work: PhaseType, rate: Callable[[int], float]
) -> Iterator[tuple[State, float]]:
    thinking, serving = state
    for rest, arrives, pace in _thinking_moves(thinking, think, think_s):
        if not arrives:
            yield (rest, serving), pace
            continue
        for phase, chance in enumerate(work.start):
            if chance:
                yield (rest, _moved(serving, None, phase)), pace * chance
    active = sum(serving)
    for phase, count in enumerate(serving):
        if not count:
            continue
        pace = rate(active) / active * count * work.rate[phase]
        for after, chance in enumerate(work.next[phase]):
            if chance:
                yield (thinking, _moved(serving, phase, after)), pace * chance
        for begin, chance in enumerate(think.start):
            if chance and work.done(phase):
                left = _moved(serving, phase, None)
                yield (_moved(thinking, None, begin), left), pace * work.done(phase) * chance


def _first_come_moves(
    state: State, think: PhaseType, think_s: float, work: PhaseType, rate: Callable[[int], float]
) -> Iterator[tuple[State, float]]:
    thinking, line = state
    for rest, arrives, pace in _thinking_moves(thinking, think, think_s):
        if not arrives:
            yield (rest, line), pace
            continue
        for phase, chance in enumerate(work.start):
            if chance:
                yield (rest, (*line, phase)), pace * chance
    if line:
        pace = rate(len(line)) * work.rate[line[0]]
        for after, chance in enumerate(work.next[line[0]]):
            if chance:
                yield (thinking, (after, *line[1:])), pace * chance
        for begin, chance in enumerate(think.start):
            if chance and work.done(line[0]):
                moved = _moved(thinking, None, begin), line[1:]
                yield moved, pace * work.done(line[0]) * chance


def _moved(counts: tuple[int, ...], out: int | None, into: int | None) -> tuple[int, ...]:
    changed = list(counts)
    if out is not None:
        changed[out] -= 1
    if into is not None:
        changed[into] += 1
    return tuple(changed)


def _mean(
    step: Callable[[State], Iterator[tuple[State, float]]], begin: State, users: int
) -> float:
    """Mean number of users who do not think, from the balance of all states reached from begin."""
    place: dict[State, int] = {begin: 0}
    moves: list[tuple[int, int, float]] = []
    waiting = deque(place)
    while waiting:
        state = waiting.popleft()
        for after, pace in step(state):
            if after not in place:
                place[after] = len(place)
                waiting.append(after)
            moves.append((place[state], place[after], pace))
    generator = np.zeros((len(place), len(place)))
    for source, target, pace in moves:
        generator[source, target] += pace
        generator[source, source] -= pace
    balance = np.vstack([generator.T, np.ones(len(place))])
    pi = np.linalg.lstsq(balance, np.append(np.zeros(len(place)), 1.0), rcond=None)[0]
    assert np.abs(generator.T @ pi).max() < 1e-12
    return float(
        sum(share * (users - sum(state[0])) for state, share in zip(place, pi, strict=True))
    )
