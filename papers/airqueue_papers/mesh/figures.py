"""Turns results into findings of the mesh paper: means over flows, ratios, causes of a miss."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from airqueue.figures import FigureOf, Figures, FlowFigure
from airqueue.simulate import Results
from airqueue.simulate.reported import known, of_each
from airqueue_papers import claim, measured
from airqueue_papers.finding import Finding, Value
from airqueue_papers.item import Outcomes
from airqueue_papers.picture import Panel, PaperFigure, Series

CALL = "call"


def found(
    name: str,
    sentence: str,
    ours: tuple[Value, ...] = (),
    holds: bool | None = None,
    ns2: float | None = None,
) -> Finding:
    """Return a finding whose reason is the sentence, with a capital letter and a full stop."""
    return Finding(name, f"{sentence[0].upper()}{sentence[1:]}.", ours, holds, ns2)


def per_run(results: Results, of: FigureOf, scale: float = 1.0) -> list[float]:
    """Return the mean over connections, flows, queues or stations in each replication."""
    samples = []
    for _, run in sorted(results.runs.items()):
        numbers = [each for each in of_each(run, of).values() if each is not None]
        samples.append(scale * sum(numbers) / len(numbers) if numbers else 0.0)
    return samples


def goodput_kbps(results: Results) -> Value:
    """Return the mean goodput of the transfers."""
    return value(per_run(results, ("connections", "goodput_bps"), 1e-3))


def rtt_ms(results: Results) -> Value:
    """Return the mean round-trip time of the transfers."""
    return value(per_run(results, ("connections", "rtt_mean_s"), 1e3))


def of_calls(results: Results, figure: FlowFigure, scale: float) -> Value:
    """Return the mean of a figure over the calls."""
    return value(samples_of_calls(results, figure, scale))


def calls(run: Figures) -> list[str]:
    """Return the names of the calls in a replication."""
    return [name for name in run["flows"] if name.startswith(CALL)]


def samples_of_calls(results: Results, figure: FlowFigure, scale: float) -> list[float]:
    """Return the mean of a figure over the calls in each replication."""
    samples = []
    for _, run in sorted(results.runs.items()):
        numbers = [run["flows"][name][figure] for name in calls(run)]
        heard = [each for each in numbers if each is not None]
        samples.append(scale * sum(heard) / len(heard) if heard else 0.0)
    return samples


def value(samples: Iterable[float]) -> Value:
    """Return mean and interval of a value that every replication has."""
    mean = Value.of(samples)
    assert mean is not None  # there is no simulation without replications
    return mean


def shorter(usual: Results, other: Results) -> Value:
    """Return the factor by which round-trip times are shorter in the other network."""
    pairs = zip(
        per_run(usual, ("connections", "rtt_mean_s")),
        per_run(other, ("connections", "rtt_mean_s")),
        strict=True,
    )
    return value(a / b for a, b in pairs)


def lost_percent(usual: Results, other: Results) -> Value:
    """Return the loss of goodput in the other network, in percent."""
    pairs = zip(
        per_run(usual, ("connections", "goodput_bps")),
        per_run(other, ("connections", "goodput_bps")),
        strict=True,
    )
    return value(100 * (1 - b / a) for a, b in pairs)


def lost_packets(results: Results) -> tuple[dict[str, float], dict[str, float]]:
    """Return packets per replication that each queue dropped, and that each MAC gave up."""
    queues, stations = results.summary["queues"], results.summary["stations"]
    dropped = {name: known(of["dropped_packets"]["mean"]) for name, of in queues.items()}
    given_up = {name: known(of["given_up_packets"]["mean"]) for name, of in stations.items()}
    return dropped, given_up


def share(part: float, of: float) -> float:
    """Return a share in percent; 0 if the whole is 0."""
    return 100 * part / of if of else 0.0


def number(mean: float) -> str:
    """Return three digits, or all of a larger number."""
    return f"{mean:.0f}" if abs(mean) >= 100 else f"{mean:.3g}"


def bars(
    name: str,
    title: str,
    outcomes: Outcomes,
    labels: Mapping[str, str],
    panels: Sequence[tuple[str, str, Any, str]],
) -> PaperFigure:
    """Return bars of runs beside the printed numbers.

    labels: run -> its label. panels: title, axis, figure of results, and the claim of each run, with
    ``{}`` for the run.
    """
    claims = claim.load("mesh").claims
    drawn = []
    for heading, axis, figure, pattern in panels:
        ours = [figure(outcomes[run]) for run in labels]
        names = [claims.get(pattern.format(run)) for run in labels]
        printed = [None if of is None or not of.numbers else float(of.numbers[0]) for of in names]
        drawn.append(_bar_panel(heading, axis, tuple(labels.values()), ours, printed))
    return PaperFigure(name, title, tuple(drawn))


def _bar_panel(
    title: str,
    axis: str,
    labels: tuple[str, ...],
    ours: Sequence[Value],
    printed: Sequence[float | None],
) -> Panel:
    here = measured.series("here", dict(zip(labels, ours, strict=True)), style="bars")
    known = Series("printed", labels, tuple(printed), style="bars", printed=True)
    # On a linear axis all times but the longest would be too small to see.
    times = axis == "ms"
    return Panel(title, "", axis, (here, known), log_y=times, zero=not times)
