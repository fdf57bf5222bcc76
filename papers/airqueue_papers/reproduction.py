"""Carries out a reproduction: from items to runs, from their outcomes to records and pictures.

Runs are pieces of work that a store keeps: a run that another item, another budget or a killed
process has finished is not repeated. Items that ask for equal runs share the run.
"""

from __future__ import annotations

import importlib
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from airqueue.runs import Store, Work, WorkProgress, execute
from airqueue.runs.backend import Backend
from airqueue_papers import claim
from airqueue_papers.challenge import challenge_of
from airqueue_papers.claim import PAPERS, Claim
from airqueue_papers.item import Budget, Item, Paper, Run
from airqueue_papers.kernel import measured
from airqueue_papers.picture import PaperFigure
from airqueue_papers.tried import Tried, tried
from airqueue_papers.verdict import Record, judge


class UnknownItemError(ValueError):
    """A name that is neither a paper nor an item; the message lists the known names."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """An item, and the paper it is of."""

    paper: str
    item: Item

    @property
    def name(self) -> str:
        """As on the command line: ``mesh.table3``."""
        return f"{self.paper}.{self.item.name}"

    @property
    def claims(self) -> list[Claim]:
        """The claims that the item is to answer, in the order of the claim file."""
        all_claims = claim.load(self.paper).claims.values()
        return [each for each in all_claims if each.judged and each.item == self.item.name]


@dataclass(frozen=True, slots=True)
class Reproduced:
    """What became of an item."""

    chosen: Chosen
    runs: Mapping[str, Run]
    records: Sequence[Record]
    pictures: Sequence[PaperFigure]
    sentences: Sequence[str] = ()
    """What the outcomes show beyond the claims."""
    tried: Sequence[Tried] = ()
    """How many of the item's numbers each of its settings explains."""


def paper(name: str) -> Paper:
    """Return the items of a paper. Raises UnknownItemError."""
    if name not in PAPERS:
        raise UnknownItemError(f"there is no paper {name!r}; there are {', '.join(PAPERS)}")
    loaded: Paper = importlib.import_module(f"airqueue_papers.{name}").PAPER
    return loaded


def choose(names: Iterable[str] = ()) -> list[Chosen]:
    """Return the items that ``PAPER`` or ``PAPER.ITEM`` names, in the papers' order; all without.

    Raises UnknownItemError.
    """
    wanted = set(names)
    found = []
    for paper_name in PAPERS if not wanted else [*dict.fromkeys(_paper_of(n) for n in wanted)]:
        for item in paper(paper_name).items:
            chosen = Chosen(paper_name, item)
            if not wanted or wanted & {paper_name, chosen.name}:
                found.append(chosen)
    for name in sorted(wanted):
        if "." in name and name not in {each.name for each in found}:
            items = ", ".join(item.name for item in paper(_paper_of(name)).items)
            raise UnknownItemError(f"there is no item {name!r}; {_paper_of(name)} has {items}")
    return sorted(found, key=lambda each: PAPERS.index(each.paper))


def _paper_of(name: str) -> str:
    return name.partition(".")[0]


def reproduce(
    chosen: Sequence[Chosen],
    budget: Budget,
    store: Store,
    backend: Backend,
    on_progress: Callable[[WorkProgress], None] | None = None,
    *,
    known: Mapping[str, Any] | None = None,
) -> list[Reproduced]:
    """Run what the items ask for and is not kept yet, and judge what they found.

    ``known`` has results by keys of work that is not to be executed, as `exact_before` returns them.
    Raises what a run raises, and KeyboardInterrupt on Ctrl-C; what had finished is kept.
    """
    known = known or {}
    runs = [dict(each.item.runs(budget)) for each in chosen]
    works = [work for of_item in runs for run in of_item.values() for work in run.works()]
    done = execute([work for work in works if work.key not in known], store, backend, on_progress)
    results = ChainMap(dict(known), done)  # type: ignore[arg-type] # nothing is written to either
    return [_judged(each, of_item, results) for each, of_item in zip(chosen, runs, strict=True)]


def missing(chosen: Sequence[Chosen], budget: Budget, store: Store) -> list[Work]:
    """Return the pieces of work of the items that the store does not have."""
    works = [
        work for each in chosen for run in each.item.runs(budget).values() for work in run.works()
    ]
    return [work for work in works if work not in store]


def exact_before(
    chosen: Iterable[Chosen], budget: Budget, store: Store
) -> tuple[list[Chosen], dict[str, Any]]:
    """Return the items but exact ones never carried out, and exact results that the store lacks.

    Results in the store come first; without all of an item's, those of the distribution.
    """
    items, known = [], {}
    for each in chosen:
        if not each.item.exact:
            items.append(each)
            continue
        works = [work for run in each.item.runs(budget).values() for work in run.works()]
        if any(work not in store for work in works if work.kind in measured.KINDS):
            shipped = measured.results(works)
            if shipped is None:
                continue
            known.update(shipped)
        items.append(each)
    return items, known


def _judged(chosen: Chosen, runs: Mapping[str, Run], results: Mapping[str, Any]) -> Reproduced:
    outcomes = {
        name: run.outcome([results[work.key] for work in run.works()]) for name, run in runs.items()
    }
    found = {finding.claim: finding for finding in chosen.item.compare(outcomes)}
    strange = sorted(found.keys() - {each.id for each in chosen.claims})
    if strange:
        raise ValueError(f"{chosen.name} answers {strange[0]}, which is no claim of it")
    records = [
        replace(judge(each, found.get(each.id)), challenge=challenge_of(each))
        for each in chosen.claims
    ]
    pictures, sentences = chosen.item.pictures(outcomes), chosen.item.says(outcomes)
    settings = tried(chosen.name, chosen.item, chosen.claims, outcomes, records)
    return Reproduced(chosen, runs, records, tuple(pictures), tuple(sentences), settings)
