"""Figures from runs of the EDCA paper's test bed: goodputs, shares and fairness."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from airqueue.figures import Figures
from airqueue.simulate import Results
from airqueue.simulate.reported import known
from airqueue.stats import jain_index
from airqueue_papers.finding import Value
from airqueue_papers.item import Outcomes


def runs(results: Results) -> list[Figures]:
    """Return the figures of the replications, in their order."""
    return [run for _, run in sorted(results.runs.items())]


def goodputs(run: Figures, direction: str = "") -> list[float]:
    """Return the goodputs in kb/s of the connections whose names have this prefix."""
    connections = run["connections"].items()
    return [
        known(each["goodput_bps"]) / 1e3 for name, each in connections if name.startswith(direction)
    ]


def fairness(outcomes: Outcomes, name: str, direction: str = "") -> Value:
    """Return Jain's index of the connections' goodputs, mean over replications."""
    return found(jain_index(goodputs(run, direction)) for run in runs(outcomes[name]))


def smallest(outcomes: Outcomes, name: str, direction: str = "") -> Value:
    """Return the smallest goodput of a connection over the mean of all, mean over replications."""
    rates = [goodputs(run, direction) for run in runs(outcomes[name])]
    return found(min(each) / mean(each) for each in rates)


def deviation(outcomes: Outcomes, name: str) -> Value:
    """Return the largest distance of a connection from the mean of all, as a share of it."""
    rates = [goodputs(run) for run in runs(outcomes[name])]
    return found(max(abs(x / mean(each) - 1) for x in each) for each in rates)


def each_flow(outcomes: Outcomes, name: str) -> list[Value]:
    """Return the goodput of each connection in kb/s, mean over replications."""
    rates = [goodputs(run) for run in runs(outcomes[name])]
    return [found(each) for each in zip(*rates, strict=True)]


def in_order(outcomes: Outcomes, name: str) -> list[Value]:
    """Return goodputs in kb/s from the smallest to the largest of each replication."""
    rates = [sorted(goodputs(run)) for run in runs(outcomes[name])]
    return [found(each) for each in zip(*rates, strict=True)]


def mean(values: Sequence[float]) -> float:
    """Return the mean of one value or more."""
    return sum(values) / len(values)


def found(samples: Iterable[float]) -> Value:
    """Return mean and interval of a value that every replication has."""
    value = Value.of(samples)
    if value is None:
        raise ValueError("no replication has it")
    return value
