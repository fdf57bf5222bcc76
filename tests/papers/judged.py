"""Items judged on made-up outcomes: what they say when everything is as the paper has it, or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from airqueue import simulate
from airqueue_papers.claim import Claim, load
from airqueue_papers.item import Budget, Item, Outcomes, Simulation
from airqueue_papers.reproduction import paper
from airqueue_papers.verdict import Record, judge

Scenario = dict[str, Any]
Figures = dict[str, Any]
Network = Callable[[Scenario], Figures]
"""What a made-up network shows for a scenario: the figures of one replication; for other work, its
result for the inputs."""


def items(name: str) -> dict[str, Item]:
    return {item.name: item for item in paper(name).items}


def outcomes(item: Item, network: Network, budget: Budget = Budget.QUICK) -> Outcomes:
    runs = item.runs(budget)

    def figures(name: str) -> Figures:
        run = runs[name]
        return network(run.scenario if isinstance(run, Simulation) else run.work.inputs)

    return made_up(item, figures, budget)


def made_up(
    item: Item, figures: Callable[[str], Figures], budget: Budget = Budget.QUICK
) -> Outcomes:
    """Outcomes of an item's runs from the figures of each, by its name."""
    return {
        name: run.outcome([figures(name)] * len(run.works()))
        for name, run in item.runs(budget).items()
    }


def judged(name: str, item: Item, network: Network) -> dict[str, Record]:
    """Records of an item by claim."""
    return verdicts(name, item, outcomes(item, network))


def verdicts(name: str, item: Item, found: Outcomes) -> dict[str, Record]:
    """The same of outcomes; each claim of the item must be answered, and no other."""
    claims = {c.id: c for c in load(name).claims.values() if c.judged and c.item == item.name}
    findings = {f.claim: f for f in item.compare(found)}
    assert set(findings) == {c.id for c in claims.values() if not c.not_testable}
    assert all(f.reason.endswith(".") for f in findings.values())
    return {key: judge(claim, findings.get(key)) for key, claim in claims.items()}


def vague(claim: Claim) -> bool:
    """Whether the print's own error is wider than the tolerance, so that the print is not judged."""
    return claim.print_error > min(claim.margins)


def check_scenarios(item: Item) -> None:
    """Every scenario that an item runs is one that the engine accepts, and says the same again."""
    for budget in Budget:
        for run in item.runs(budget).values():
            if isinstance(run, Simulation):
                assert simulate.Scenario(run.scenario).description == run.scenario
