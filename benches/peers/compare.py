"""The same cells in every simulator: what comes out, and CPU seconds per simulated second."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import mean

from .references_ampdu import HE80_LONG
from .run import run
from .scenario import Cell, NotModelledError, Result

# Runs a cell in our engine, with the behaviour named.
Engine = Callable[[Cell, str], Result]
# Which behaviour of ours is held against which peer.
BEHAVIOURS = {"ns2": "ns2", "ns3-wheel": "ns3", "ns3-debian": "ns3"}

CELLS = (
    *(Cell(stations=n, control_mbps=control) for n in (10, 50) for control in (1.0, 2.0)),
    replace(HE80_LONG, stations=10, seconds=5.0),
)


@dataclass(frozen=True)
class Entry:
    """One scenario in one simulator, over some seeds."""

    scenario: str
    simulator: str
    cpu_s_per_sim_s: float
    ratio: float
    """Times the CPU of our engine, behaving like this simulator."""
    ip_throughput_bps: float
    failed_fraction: float
    simulated_s: float


def compare(
    cells: Iterable[Cell], peers: Sequence[str], engine: Engine, runs: int = 1
) -> list[Entry]:
    """One after the other, so that none disturbs the other's CPU time; seeds count from 1.

    A simulator that does not model a cell has no entry for it.
    """
    entries: list[Entry] = []
    for cell in cells:
        seeds = [replace(cell, seed=seed) for seed in range(1, runs + 1)]
        own: dict[str, float] = {}
        for peer in peers:
            try:
                theirs = [timed(peer, seed) for seed in seeds]
            except NotModelledError:
                continue
            behaviour = BEHAVIOURS[peer]
            if behaviour not in own:
                ours = [engine(seed, behaviour) for seed in seeds]
                own[behaviour] = cost(ours)
                entries.append(entry(cell, ours, 1.0))
            entries.append(entry(cell, theirs, cost(theirs) / own[behaviour]))
    return entries


def timed(peer: str, cell: Cell) -> Result:
    """A run for the CPU time; if that did not count attempts, the figures of another that does."""
    result = run(peer, cell)
    if result.attempts is None:
        result = replace(run(peer, cell, attempts=True), cpu_s=result.cpu_s)
    return result


def cost(results: Sequence[Result]) -> float:
    """CPU seconds for a simulated second."""
    return sum(r.cpu_s for r in results) / sum(r.simulated_s for r in results)


def entry(cell: Cell, results: Sequence[Result], ratio: float) -> Entry:
    return Entry(
        scenario=str(cell),
        simulator=results[0].simulator,
        cpu_s_per_sim_s=cost(results),
        ratio=ratio,
        ip_throughput_bps=mean(r.ip_throughput_bps for r in results),
        failed_fraction=mean(r.failed_fraction or 0.0 for r in results),
        simulated_s=sum(r.simulated_s for r in results),
    )


def table(entries: Iterable[Entry]) -> str:
    entries = list(entries)
    width = max([8, *(len(e.scenario) for e in entries)])
    lines = [
        f"{'scenario':{width}} {'simulator':12} "
        f"{'CPU s/s':>9} {'ratio':>8} {'IP Mb/s':>8} {'failed':>7}"
    ]
    for e in entries:
        lines.append(
            f"{e.scenario:{width}} {e.simulator:12} {e.cpu_s_per_sim_s:9.5f} {e.ratio:8.1f} "
            f"{e.ip_throughput_bps / 1e6:8.4f} {e.failed_fraction:7.4f}"
        )
    return "\n".join(lines)


def as_json(entries: Iterable[Entry]) -> list[dict[str, object]]:
    return [asdict(e) for e in entries]
