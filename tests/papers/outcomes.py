"""Made-up outcomes of runs, whose figures are known, for the comparisons of papers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from airqueue.papers import claim
from airqueue.papers.item import Budget, Item, Simulation
from airqueue.papers.reproduction import paper
from airqueue.papers.verdict import Record, judge
from airqueue.simulate import Results, Scenario


def item(paper_name: str, name: str) -> Item:
    return next(each for each in paper(paper_name).items if each.name == name)


def results(simulation: Simulation, run: Mapping[str, Any]) -> Results:
    """The same figures in each replication."""
    runs = dict.fromkeys(range(simulation.replications), run)
    return Results(simulation.scenario, simulation.seed, simulation.replications, runs)


def made_up(
    of: Item, figures: Callable[[str], Mapping[str, Any]], budget: Budget = Budget.QUICK
) -> dict[str, Any]:
    """Outcomes of an item's simulations, by the name of the run."""
    simulations = of.runs(budget).items()
    return {
        name: results(run, figures(name))
        for name, run in simulations
        if isinstance(run, Simulation)
    }


def verdicts(paper_name: str, of: Item, outcomes: Mapping[str, Any]) -> dict[str, Record]:
    """The record of each claim that the item answers."""
    claims = claim.load(paper_name).claims
    return {found.claim: judge(claims[found.claim], found) for found in of.compare(outcomes)}


def check_scenarios(of: Item) -> None:
    """Every scenario that an item runs is one that the engine accepts, and says the same again."""
    for budget in Budget:
        for run in of.runs(budget).values():
            if isinstance(run, Simulation):
                assert Scenario(run.scenario).description == run.scenario
