"""HTTP paper, Figs 1 and 2: probabilities of collision and of giving up, for backlogged nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from airqueue.description import Description
from airqueue.figures import Figures
from airqueue.models.http_contention import contention
from airqueue.simulate import cell
from airqueue_papers.finding import Finding, Value
from airqueue_papers.http.downloads import SMALL_AND_LARGE, present
from airqueue_papers.item import Budget, Item, Outcomes, Run, Simulation
from airqueue_papers.measured import interval, percent, series
from airqueue_papers.picture import Panel, PaperFigure

BACKLOGGED: Final = (2, 3, 5, 10, 15, 20, 30, 40, 50)
"""Numbers of nodes simulated, the saturated stations of a cell."""
_AXIS: Final = tuple(range(1, 51))


def _saturated(nodes: int, duration_s: int) -> Description:
    """Return stations that always have a packet of the paper's size, RTS and CTS before each."""
    overrides = {"mac.rts_threshold": "0 B", "phy.control_rate": "2 Mb/s"}
    described = cell(
        "802.11b", nodes, size="1040 B", duration=f"{duration_s} s", overrides=overrides
    )
    return described.description


def _runs(budget: Budget) -> Mapping[str, Run]:
    duration_s = budget.pick(20, 100)
    return {
        _name(nodes): Simulation(_saturated(nodes, duration_s), 3, weight=0.003 * duration_s)
        for nodes in BACKLOGGED
    }


def _name(nodes: int) -> str:
    return f"saturated-{nodes}"


def _collided(outcomes: Outcomes) -> dict[float, Value]:
    """Return the share of attempts that collided, by the number of nodes."""
    return _over_nodes(outcomes, lambda run: run["medium"]["collided_ratio"])


def _given_up(outcomes: Outcomes) -> dict[float, Value]:
    def share(run: Figures) -> float:
        lost = sum(each["given_up_packets"] for each in run["stations"].values())
        done = sum(each["acknowledged_packets"] for each in run["stations"].values())
        return float(lost / (lost + done))

    return _over_nodes(outcomes, share)


def _over_nodes(
    outcomes: Outcomes, figure: Callable[[Figures], float | None]
) -> dict[float, Value]:
    found = {}
    for nodes in BACKLOGGED:
        value = Value.of(figure(run) for run in outcomes[_name(nodes)].runs.values())
        if value is not None:
            found[float(nodes)] = value
    return found


def _compare_collisions(outcomes: Outcomes) -> Iterable[Finding]:
    solved = float(contention(2).collision_probability)
    simulated = _collided(outcomes)[2.0]
    yield Finding(
        "http.pc2",
        f"Eqs (1) and (2) give {solved:.4f}; two saturated stations collide in "
        f"{interval(simulated, digits=4)} of their attempts.",
        (Value(solved),),
    )


def _compare_drops(outcomes: Outcomes) -> Iterable[Finding]:
    shares = {case: case.given_up(outcomes) for case in present(outcomes, SMALL_AND_LARGE)}
    worst = max(shares, key=lambda case: shares[case])
    most = _given_up(outcomes)[50.0]
    yield Finding(
        "http.fig2.drops",
        f"Of the packets of up to {max(case.connections for case in shares)} downloads "
        f"{percent(shares[worst], 3) + ' at most' if shares[worst] else 'none'} fall to the retry "
        "limit; 50 nodes that always have a "
        f"packet would lose {percent(most.mean, 2)}, and Eq. (1) says "
        f"{percent(float(contention(50).drop_probability), 2)}.",
        holds=shares[worst] <= 0.01,
    )


def _pictures_collisions(outcomes: Outcomes) -> Iterable[PaperFigure]:
    solved = contention(_AXIS).collision_probability
    lines = (
        series("Eqs (1) and (2)", dict(zip(map(float, _AXIS), solved.tolist(), strict=True))),
        series("simulation, saturated stations", _collided(outcomes), style="points"),
    )
    panel = Panel("", "backlogged nodes n_b", "collision probability", lines)
    yield PaperFigure("http-fig1", "Collision probability, as Fig. 1", (panel,))


def _pictures_drops(outcomes: Outcomes) -> Iterable[PaperFigure]:
    solved = contention(_AXIS[1:]).drop_probability
    lines = (
        series(
            "P_C to the power m", dict(zip(map(float, _AXIS[1:]), solved.tolist(), strict=True))
        ),
        series(
            "simulation, saturated stations",
            {nodes: share for nodes, share in _given_up(outcomes).items() if share.mean > 0},
            style="points",
        ),
    )
    panel = Panel(
        "", "backlogged nodes n_b", "packets given up, share", lines, log_y=True, zero=False
    )
    yield PaperFigure("http-fig2", "Packets given up, as Fig. 2", (panel,))


def _runs_drops(budget: Budget) -> Mapping[str, Run]:
    downloads = {case.name: case.simulation(budget) for case in SMALL_AND_LARGE}
    return {**_runs(budget), **downloads}


FIG1: Final = Item(
    "fig1",
    "Collision probability over backlogged nodes (Fig. 1)",
    _compare_collisions,
    _runs,
    _pictures_collisions,
    (
        "The paper has no simulation here. Ours follows 802.11-2016 with Table 1's windows: stations "
        "that always have a packet of 1040 bytes, RTS and CTS before each.",
    ),
)
FIG2: Final = Item(
    "fig2",
    "Packets given up over backlogged nodes (Fig. 2)",
    _compare_drops,
    _runs_drops,
    _pictures_drops,
    (
        "Where the simulation gave up no packet, no point is drawn: the axis is logarithmic.",
        "The limit that ends a packet behind RTS and CTS is seven RTS without a CTS.",
    ),
)
