"""Switches a mechanism off in the runs behind its claims, everything else equal, and judges again.

What is switched off is data (`airqueue_papers.mechanism`); how, is here and in ``sabotages/``: an
item's own runs are changed, by name, or exchanged for each other. The engine knows nothing of it.
"""

from __future__ import annotations

import copy
import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from airqueue.description import Description
from airqueue.runs import Store, WorkProgress
from airqueue.runs.backend import Backend
from airqueue_papers import claim as claims
from airqueue_papers import mechanism
from airqueue_papers.challenge import NULL, Row, by_null
from airqueue_papers.claim import PAPERS
from airqueue_papers.finding import Finding
from airqueue_papers.item import Budget, Item, Outcomes, Run, Simulation
from airqueue_papers.mechanism import Mechanism, Null
from airqueue_papers.reproduction import (
    Chosen,
    Reproduced,
    choose,
    exact_before,
    paper,
    reproduce,
)
from airqueue_papers.verdict import Record

Runs = Mapping[str, Run]
"""Name of a run -> the run, as of an item."""


def as_it_is(_: str, runs: Runs) -> Runs:
    """Change no run: for a mechanism of a model."""
    return runs


@dataclass(frozen=True, slots=True)
class Sabotage:
    """How a mechanism is switched off."""

    change: Callable[[str, Runs], Runs] = as_it_is
    """Item and its runs -> the runs without the mechanism, under the same names."""
    compare: Mapping[str, Callable[[Outcomes], Iterable[Finding]]] = field(default_factory=dict)
    """Item -> its comparison with the models without the mechanism, where that is in a formula."""


def scenarios(change: Callable[[Description], object]) -> Callable[[str, Runs], Runs]:
    """Return a change of runs that changes the description of each simulation in place."""

    def changed(_: str, runs: Runs) -> Runs:
        return {name: with_scenario(run, change) for name, run in runs.items()}

    return changed


def with_scenario(run: Run, change: Callable[[Description], object]) -> Run:
    """Return a simulation with another description, and any other run as it is."""
    if not isinstance(run, Simulation):
        return run
    described = copy.deepcopy(run.scenario)
    change(described)
    return replace(run, scenario=described)


def sabotages(paper_name: str) -> Mapping[str, Sabotage]:
    """Return how each mechanism of a paper is switched off, by the mechanism's name."""
    if not mechanism.load(paper_name).mechanisms:
        return {}
    loaded: Mapping[str, Sabotage]
    loaded = importlib.import_module(f"airqueue_papers.sabotages.{paper_name}").SABOTAGES
    return loaded


def sabotaged(of: Mechanism) -> list[Chosen]:
    """Return the items with claims that rest on a mechanism, without the mechanism."""
    how = sabotages(of.paper)[of.name]
    every = claims.load(of.paper).claims
    wanted = {every[name].item for name in of.claims}
    items = [item for item in paper(of.paper).items if item.name in wanted]
    return [Chosen(of.paper, _without(item, how)) for item in items]


def _without(item: Item, how: Sabotage) -> Item:
    return Item(
        item.name,
        item.title,
        how.compare.get(item.name, item.compare),
        lambda budget: how.change(item.name, item.runs(budget)),
        exact=item.exact,
    )


def without(chosen: Sequence[Chosen]) -> list[tuple[Mechanism, Chosen]]:
    """Return each of these items without each of the mechanisms that its claims rest on."""
    names = {each.name for each in chosen}
    return [
        (of, each)
        for paper_name in dict.fromkeys(each.paper for each in chosen)
        for of in mechanism.load(paper_name).mechanisms
        for each in sabotaged(of)
        if each.name in names
    ]


@dataclass(frozen=True, slots=True)
class Campaign:
    """What became of claims with their mechanisms on and off."""

    reproduced: Sequence[Reproduced]
    """The items as they are."""
    rows: Sequence[Row]
    without: Mapping[str, Record]
    """Claim -> its record without the mechanism, or that of the null prediction."""


def chosen_for(names: Iterable[str] = ()) -> list[Chosen]:
    """Return the items of papers, without those beyond them; all papers without names.

    ``names`` as for `choose`. Raises UnknownItemError.
    """
    return [each for each in choose(names) if each.paper in PAPERS[:-1]]


def campaign(
    chosen: Sequence[Chosen],
    budget: Budget,
    store: Store,
    backend: Backend,
    on_progress: Callable[[WorkProgress], None] | None = None,
) -> Campaign:
    """Carry out items as they are and with each of their mechanisms off, and judge both.

    Of exact items those are judged whose results are of before. Raises as `reproduce`; finished runs
    are kept, so that a campaign goes on where it was stopped.
    """
    cases = without(chosen)
    every, known = exact_before([*chosen, *(off for _, off in cases)], budget, store)
    chosen = [each for each in chosen if each in every]
    cases = [(of, each) for of, each in cases if each in every]
    done = reproduce(every, budget, store, backend, on_progress, known=known)
    whole, off = done[: len(chosen)], done[len(chosen) :]
    judged = {
        record.claim.id: record
        for (of, _), each in zip(cases, off, strict=True)
        for record in each.records
        if record.claim.id in of.claims
    }
    judged |= _by_nulls(whole)
    return Campaign(whole, _rows(whole, judged), judged)


def _by_nulls(reproduced: Sequence[Reproduced]) -> dict[str, Record]:
    found = {}
    for each in reproduced:
        grounds = mechanism.load(each.chosen.paper).by_claim
        for record in each.records:
            ground = grounds.get(record.claim.id)
            if isinstance(ground, Null):
                found[record.claim.id] = by_null(record.claim, ground)
    return found


def _rows(reproduced: Sequence[Reproduced], without: Mapping[str, Record]) -> list[Row]:
    rows = []
    for each in reproduced:
        grounds = mechanism.load(each.chosen.paper).by_claim
        for record in each.records:
            ground = grounds.get(record.claim.id)
            other = without.get(record.claim.id)
            rows.append(
                Row(
                    record.claim.id,
                    ground.full_name if isinstance(ground, Mechanism) else NULL * bool(ground),
                    record.verdict,
                    _means(record),
                    None if other is None else other.verdict,
                    () if other is None else _means(other),
                )
            )
    return rows


def _means(record: Record) -> tuple[float, ...]:
    return tuple(value.mean for value in record.ours)
