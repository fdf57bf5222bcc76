"""Figures of a simulation by name: ``flows.*.throughput_bps``, ``medium.collided_ratio``."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from airqueue import text
from airqueue.figures import Kind
from airqueue.simulate.reported import KINDS, named, values
from airqueue.sweep.errors import SweepError

if TYPE_CHECKING:
    from airqueue.simulate.report_types import Run

_MEDIUM: Final[Literal["medium"]] = "medium"
_EXAMPLE: Final = "flows.*.throughput_bps or medium.throughput_bps"

KindOrMedium = Kind | Literal["medium"]
Figure = tuple[KindOrMedium, str, str]
"""Kind, name ("" for the medium) and figure."""
_ALL: Final[Mapping[str, KindOrMedium]] = {**{kind: kind for kind in KINDS}, _MEDIUM: _MEDIUM}
"""The kinds by their names for users."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """The figures that a text names; in a name ``*`` stands for any letters, ``?`` for one letter."""

    text: str
    kind: KindOrMedium
    name: str
    figure: str

    @classmethod
    def read(cls, given: str) -> Pattern:
        """Read a pattern; raises SweepError if the text lacks a kind or a figure."""
        word, _, rest = given.partition(".")
        kind = _ALL.get(word)
        name, _, figure = ("", "", rest) if kind == _MEDIUM else rest.rpartition(".")
        if kind is None or not figure or (kind != _MEDIUM and not name):
            kinds = text.listed([*_ALL], "or")
            raise SweepError(f"{given}: no figure; expected {_EXAMPLE}, of {kinds}")
        return cls(given, kind, name, figure)

    @property
    def is_open(self) -> bool:
        """Whether the pattern may match several names."""
        return "*" in self.name or "?" in self.name

    @property
    def of_what(self) -> str:
        """The owner of the figure, as `flows.*` or `medium`."""
        return f"{self.kind}.{self.name}" if self.name else self.kind

    def of(self, run: Run) -> list[Figure]:
        """Return the figures of a run, finished or not begun, that the pattern matches."""
        if self.kind == _MEDIUM:
            return [(_MEDIUM, "", self.figure)] if self.figure in run[_MEDIUM] else []
        return [
            (self.kind, name, self.figure)
            for name, figures in named(run, self.kind).items()
            if self.figure in figures and self.matches(name)
        ]

    def names(self, figure: Figure) -> bool:
        """Whether the pattern matches this figure."""
        kind, name, key = figure
        return (self.kind, self.figure) == (kind, key) and (kind == _MEDIUM or self.matches(name))

    def matches(self, name: str) -> bool:
        """Whether the pattern matches this name of its kind."""
        # Brackets are literal: names may have brackets.
        return fnmatch.fnmatchcase(name, self.name.replace("[", "[[]"))

    def missing(self, runs: Sequence[Run]) -> str:
        """Return the error of a pattern that does not match a figure of these runs."""
        if self.kind == _MEDIUM:
            known = list(runs[0][_MEDIUM])
            return f"{self.text}: unknown figure of the medium; it has {', '.join(known)}"
        every = {name: figures for run in runs for name, figures in named(run, self.kind).items()}
        if not every:
            return f"{self.text}: there are no {self.kind} in this network"
        figures = list(next(iter(every.values())))
        if self.figure not in figures:
            return f"{self.text}: unknown figure of {self.kind}; they have {', '.join(figures)}"
        names = ", ".join(list(every)[:8]) + (", ..." if len(every) > 8 else "")
        return f"{self.text}: none of the {self.kind} has that name; there are {names}"


def value(run: Run, figure: Figure) -> float | None:
    """Return a figure of a run; None if it is missing, such as a delay without deliveries."""
    kind, name, key = figure
    if kind == _MEDIUM:
        return values(run["medium"])[key]
    return named(run, kind).get(name, {}).get(key)


def check(patterns: Sequence[Pattern], runs: Sequence[Run], key: str) -> None:
    """Raise SweepError for a pattern that does not match a figure of any run."""
    for pattern in patterns:
        if not any(pattern.of(run) for run in runs):
            raise SweepError(f"{key}{pattern.missing(runs)}")


def each(patterns: Sequence[Pattern], run: Run) -> Iterator[tuple[Pattern, Figure]]:
    """Yield all figures of a run that the patterns match, each with its pattern."""
    for pattern in patterns:
        for figure in pattern.of(run):
            yield pattern, figure
