"""An item of a reproduction: the runs behind a table or figure, and their findings for its claims."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from airqueue.description import Description
from airqueue.runs import Work
from airqueue.simulate import Results
from airqueue_papers.emulation import Emulation
from airqueue_papers.finding import Finding
from airqueue_papers.picture import PaperFigure

_Chosen = TypeVar("_Chosen")


class Budget(StrEnum):
    """Time budget of a reproduction: minutes, or three quarters of an hour."""

    QUICK = "quick"
    FULL = "full"

    def pick(self, quick: _Chosen, full: _Chosen) -> _Chosen:
        """Return the value for the budget."""
        return quick if self is Budget.QUICK else full


@dataclass(frozen=True, slots=True)
class Simulation:
    """Replications of a scenario; the result is `airqueue.simulate.Results`."""

    scenario: Description
    """The description, in the format of `airqueue.simulate.Scenario.description`."""
    replications: int
    seed: int = 1
    weight: float = 1.0
    """Approximate cost of a replication in CPU seconds."""

    def works(self) -> list[Work]:
        """Return one piece of work for each replication."""
        return [
            Work(
                "simulation",
                {"scenario": self.scenario, "seed": self.seed, "replication": replication},
                self.weight,
            )
            for replication in range(self.replications)
        ]

    def outcome(self, figures: list[Any]) -> Results:
        """Return the combined results of the replications."""
        return Results(self.scenario, self.seed, self.replications, dict(enumerate(figures)))


@dataclass(frozen=True, slots=True)
class Calculation:
    """Any other long calculation: one piece of work whose result is plain data."""

    work: Work

    def works(self) -> list[Work]:
        """Return the one piece of work."""
        return [self.work]

    def outcome(self, figures: list[Any]) -> Any:
        """Return its result."""
        return figures[0]


Run = Simulation | Calculation | Emulation
Outcomes = Mapping[str, Results]
"""Name of a run -> its outcome; of a calculation, see `calculated`."""


def calculated(outcomes: Outcomes, name: str) -> Any:
    """Return the result of a `Calculation`, whose type depends on the kind of work."""
    return outcomes[name]


def _no_runs(_: Budget) -> Mapping[str, Run]:
    return {}


def _no_pictures(_: Outcomes) -> Iterable[PaperFigure]:
    return ()


def _no_sentences(_: Outcomes) -> Iterable[str]:
    return ()


@dataclass(frozen=True, slots=True)
class Setting:
    """An unprinted setting that all runs of an item may have had, beside the one that is judged."""

    words: str
    """The setting, in a clause: ``with windows of 32 segments at most``."""
    runs: Mapping[str, str]
    """Name of a run -> name of the run with the setting, which takes its place; runs that the
    setting does not touch are not named."""


@dataclass(frozen=True, slots=True)
class Item:
    """A table, a figure, or a passage of a paper."""

    name: str
    """Name, as in the claims' ``item``."""
    title: str
    compare: Callable[[Outcomes], Iterable[Finding]]
    """Findings for the item's claims from the outcomes; cheap models are computed here."""
    runs: Callable[[Budget], Mapping[str, Run]] = _no_runs
    pictures: Callable[[Outcomes], Iterable[PaperFigure]] = _no_pictures
    notes: tuple[str, ...] = ()
    """Paragraphs for the report: assumptions about unprinted settings, and their meaning."""
    says: Callable[[Outcomes], Iterable[str]] = _no_sentences
    """Results beyond the claims, in sentences with numbers."""
    settings: tuple[Setting, ...] = ()
    """Each explains all numbers of the item, or those that it explains are counted as its own."""
    exact: bool = False
    """Whether the item runs a real kernel on a virtual clock, which takes minutes: ``--exact``
    only, with any budget alike; otherwise the item shows results of before."""


@dataclass(frozen=True, slots=True)
class Paper:
    """The items of a paper, in its order."""

    name: str
    items: tuple[Item, ...]
