"""The same cells in every simulator: what comes out, and CPU seconds per simulated second."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import mean

from .run import run
from .scenario import Cell, NotModelledError, Result

# A function of the cell that runs it in our engine. `compare` takes one, and puts it in front.
Engine = Callable[[Cell], Result]

CELLS = tuple(
    Cell(stations=stations, control_mbps=control) for stations in (10, 50) for control in (1.0, 2.0)
)


@dataclass(frozen=True)
class Entry:
    """One scenario in one simulator, over some seeds."""

    scenario: str
    simulator: str
    cpu_s_per_sim_s: float
    ratio: float | None
    """Times the CPU of our engine; ``None`` without it."""
    ip_throughput_bps: float
    failed_fraction: float | None
    simulated_s: float


def compare(
    cells: Iterable[Cell], peers: Sequence[str], engine: Engine | None = None, runs: int = 1
) -> list[Entry]:
    """One after the other, so that none disturbs the other's CPU time; seeds count from 1.

    A simulator that does not model a cell has no entry for it.
    """
    simulators: list[Engine] = [engine] if engine else []
    simulators += [peer_engine(peer) for peer in peers]
    entries: list[Entry] = []
    for cell in cells:
        own: float | None = None
        for simulator in simulators:
            try:
                results = [simulator(with_seed(cell, seed)) for seed in range(1, runs + 1)]
            except NotModelledError:
                continue
            cost = sum(r.cpu_s for r in results) / sum(r.simulated_s for r in results)
            if simulator is engine:
                own = cost
            entries.append(entry(cell, results, cost, cost / own if own else None))
    return entries


def peer_engine(peer: str) -> Engine:
    return lambda cell: run(peer, cell)


def with_seed(cell: Cell, seed: int) -> Cell:
    return replace(cell, seed=seed)


def entry(cell: Cell, results: Sequence[Result], cost: float, ratio: float | None) -> Entry:
    fractions = [r.failed_fraction for r in results if r.failed_fraction is not None]
    return Entry(
        scenario=str(cell),
        simulator=results[0].simulator,
        cpu_s_per_sim_s=cost,
        ratio=ratio,
        ip_throughput_bps=mean(r.ip_throughput_bps for r in results),
        failed_fraction=mean(fractions) if fractions else None,
        simulated_s=sum(r.simulated_s for r in results),
    )


def table(entries: Iterable[Entry]) -> str:
    lines = [
        f"{'scenario':42} {'simulator':12} {'CPU s/s':>9} {'ratio':>8} {'IP Mb/s':>8} {'failed':>7}"
    ]
    for e in entries:
        ratio = f"{e.ratio:8.1f}" if e.ratio is not None else f"{'-':>8}"
        failed = f"{e.failed_fraction:7.4f}" if e.failed_fraction is not None else f"{'-':>7}"
        lines.append(
            f"{e.scenario:42} {e.simulator:12} {e.cpu_s_per_sim_s:9.5f} {ratio} "
            f"{e.ip_throughput_bps / 1e6:8.4f} {failed}"
        )
    return "\n".join(lines)


def as_json(entries: Iterable[Entry]) -> list[dict[str, object]]:
    return [asdict(e) for e in entries]
