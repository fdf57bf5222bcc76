"""Figures of a simulation by name: ``flows.*.throughput_bps``, ``medium.collided_ratio``."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from airqueue import text
from airqueue.figures import Kind
from airqueue.simulate.reported import KINDS, Run, named, values
from airqueue.sweep.errors import SweepError

_MEDIUM: Final[Literal["medium"]] = "medium"
_EXAMPLE: Final = "flows.*.throughput_bps or medium.throughput_bps"

KindOrMedium = Kind | Literal["medium"]
Figure = tuple[KindOrMedium, str, str]
"""Kind, name ("" for the medium) and figure."""
_ALL: Final[Mapping[str, KindOrMedium]] = {**{kind: kind for kind in KINDS}, _MEDIUM: _MEDIUM}
"""The kinds by what a user calls them."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """The figures that a text names; ``*`` and ``?`` in a name stand for any letters and for one."""

    text: str
    kind: KindOrMedium
    name: str
    figure: str

    @classmethod
    def read(cls, given: str) -> Pattern:
        """Return what a text says; raises SweepError if it has no kind or no figure."""
        word, _, rest = given.partition(".")
        kind = _ALL.get(word)
        name, _, figure = ("", "", rest) if kind == _MEDIUM else rest.rpartition(".")
        if kind is None or not figure or (kind != _MEDIUM and not name):
            kinds = text.listed([*_ALL], "or")
            raise SweepError(f"{given}: no figure; expected {_EXAMPLE}, of {kinds}")
        return cls(given, kind, name, figure)

    @property
    def is_open(self) -> bool:
        """Whether it may name figures of several names."""
        return "*" in self.name or "?" in self.name

    @property
    def of_what(self) -> str:
        """What the figure is of, as `flows.*` or `medium`."""
        return f"{self.kind}.{self.name}" if self.name else self.kind

    def of(self, run: Run) -> list[Figure]:
        """Return the figures of a run, or of one that has not begun, that it names."""
        if self.kind == _MEDIUM:
            return [(_MEDIUM, "", self.figure)] if self.figure in run[_MEDIUM] else []
        return [
            (self.kind, name, self.figure)
            for name, figures in named(run, self.kind).items()
            if self.figure in figures and self.matches(name)
        ]

    def names(self, figure: Figure) -> bool:
        """Whether it names this figure."""
        kind, name, key = figure
        return (self.kind, self.figure) == (kind, key) and (kind == _MEDIUM or self.matches(name))

    def matches(self, name: str) -> bool:
        """Whether something of its kind with that name is meant."""
        # Brackets have no meaning here: they may be in names.
        return fnmatch.fnmatchcase(name, self.name.replace("[", "[[]"))

    def missing(self, runs: Sequence[Run]) -> str:
        """Return what is wrong with it where none of these runs has such a figure."""
        if self.kind == _MEDIUM:
            known = list(runs[0][_MEDIUM])
            return f"{self.text}: the medium has no such figure; it has {', '.join(known)}"
        every = {name: figures for run in runs for name, figures in named(run, self.kind).items()}
        if not every:
            return f"{self.text}: there are no {self.kind} in this network"
        figures = list(next(iter(every.values())))
        if self.figure not in figures:
            return f"{self.text}: {self.kind} have no such figure; they have {', '.join(figures)}"
        names = ", ".join(list(every)[:8]) + (", ..." if len(every) > 8 else "")
        return f"{self.text}: none of the {self.kind} has that name; there are {names}"


def value(run: Run, figure: Figure) -> float | None:
    """Return a figure of a run; None if there is none, as a delay where nothing was delivered."""
    kind, name, key = figure
    if kind == _MEDIUM:
        return values(run["medium"])[key]
    return named(run, kind).get(name, {}).get(key)


def check(patterns: Sequence[Pattern], runs: Sequence[Run], key: str) -> None:
    """Raise SweepError for a pattern that names no figure of any of the runs."""
    for pattern in patterns:
        if not any(pattern.of(run) for run in runs):
            raise SweepError(f"{key}{pattern.missing(runs)}")


def each(patterns: Sequence[Pattern], run: Run) -> Iterator[tuple[Pattern, Figure]]:
    """Yield all figures of a run that the patterns name, each with its pattern."""
    for pattern in patterns:
        for figure in pattern.of(run):
            yield pattern, figure
