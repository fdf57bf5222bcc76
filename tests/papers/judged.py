"""Items judged on made-up outcomes: what they say when everything is as the paper has it, or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from airqueue.papers.claim import load
from airqueue.papers.item import Budget, Item, Outcomes, Simulation
from airqueue.papers.reproduction import paper
from airqueue.papers.verdict import Record, judge

Scenario = dict[str, Any]
Figures = dict[str, Any]
Network = Callable[[Scenario], Figures]
"""What a made-up network shows for a scenario: the figures of one replication; for other work, its
result for the inputs."""


def items(name: str) -> dict[str, Item]:
    return {item.name: item for item in paper(name).items}


def outcomes(item: Item, network: Network, budget: Budget = Budget.QUICK) -> Outcomes:
    found = {}
    for name, run in item.runs(budget).items():
        if isinstance(run, Simulation):
            found[name] = run.outcome([network(run.scenario)] * run.replications)
        else:
            found[name] = run.outcome([network(run.work.inputs)])
    return found


def judged(name: str, item: Item, network: Network) -> dict[str, Record]:
    """Records of an item by claim; each claim of it must be answered, and no other."""
    claims = {c.id: c for c in load(name).claims.values() if c.judged and c.item == item.name}
    findings = {f.claim: f for f in item.compare(outcomes(item, network))}
    assert set(findings) == {c.id for c in claims.values() if not c.not_testable}
    assert all(f.reason.endswith(".") for f in findings.values())
    return {key: judge(claim, findings.get(key)) for key, claim in claims.items()}
