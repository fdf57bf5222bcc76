"""The same scenarios in every simulator: what comes out, and CPU seconds per simulated second."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import mean

from . import tcp
from .mesh import CLOSE_M, Mesh, Meshed, run_mesh
from .ours import run_ours as run_our_cell
from .ours_mesh import run_ours as run_our_mesh
from .ours_tcp import run_ours as run_our_network
from .references_ampdu import HE80_LONG
from .references_mesh import CHAIN
from .references_tcp import SIX, WEB
from .run import run
from .scenario import Cell, NotModelledError, Result
from .tcp import Browsed, Run, Sessions, Transferred, Transfers

Case = Cell | Transfers | Sessions | Mesh
# Runs a case in our engine, with the behaviour named.
Engine = Callable[[Case, str], Result | Run]
# Which behaviour of ours is held against which peer.
BEHAVIOURS = {"ns2": "ns2", "ns3-wheel": "ns3", "ns3-debian": "ns3"}

CASES: tuple[Case, ...] = (
    *(Cell(stations=n, control_mbps=control) for n in (10, 50) for control in (1.0, 2.0)),
    replace(HE80_LONG, stations=10, seconds=5.0),
    replace(SIX, seconds=170.0),
    replace(WEB, stations=20, window=1000, seconds=500.0),
    *(replace(CHAIN, spacing_m=spacing_m) for spacing_m in (CLOSE_M[4], 200.0)),
)
LONGER = 10.0
"""Our runs, times those of peers: a cell's would take some milliseconds, which say nothing."""


@dataclass(frozen=True)
class Entry:
    """One scenario in one simulator, over some seeds."""

    scenario: str
    simulator: str
    cpu_s_per_sim_s: float
    ratio: float
    """Times the CPU of our engine, behaving like this simulator."""
    figures: dict[str, float]
    """What came out, under names with their units."""
    simulated_s: float


def run_ours(case: Case, behaviour: str) -> Result | Run:
    """In our engine."""
    if isinstance(case, Cell):
        return run_our_cell(case, behaviour)
    if isinstance(case, Mesh):
        return run_our_mesh(case)
    return run_our_network(case)


def compare(
    cases: Iterable[Case], peers: Sequence[str], engine: Engine = run_ours, runs: int = 1
) -> list[Entry]:
    """One after the other, so that none disturbs the other's CPU time, and seed by seed, so that what
    slows the machine down for a while does so for all; seeds count from 1, and ours run `LONGER`.

    A simulator that does not model a case has no entry for it.
    """
    entries: list[Entry] = []
    for case in cases:
        theirs: dict[str, list[Result | Run]] = {}
        ours: dict[str, list[Result | Run]] = {}
        for seed in range(1, runs + 1):
            peers_of(case, seed, peers, theirs)
            for behaviour in {BEHAVIOURS[peer]: None for peer in theirs}:
                ours.setdefault(behaviour, []).append(engine(longer(case, seed), behaviour))
        shown: set[str] = set()
        for peer, results in theirs.items():
            own = ours[BEHAVIOURS[peer]]
            if BEHAVIOURS[peer] not in shown:
                entries.append(entry(case, own, 1.0))
                shown.add(BEHAVIOURS[peer])
            entries.append(entry(case, results, cost(results) / cost(own)))
    return entries


def longer(case: Case, seed: int) -> Case:
    """As we run it, warm-up included."""
    seconds = LONGER * (case.warm_up_s + case.seconds) - case.warm_up_s
    return replace(case, seed=seed, seconds=seconds)


def peers_of(
    case: Case, seed: int, peers: Sequence[str], results: dict[str, list[Result | Run]]
) -> None:
    """Adds a run of each peer that models the case."""
    for peer in peers:
        try:
            result = timed(peer, replace(case, seed=seed))
        except NotModelledError:
            continue
        results.setdefault(peer, []).append(result)


def timed(peer: str, case: Case) -> Result | Run:
    """A run for the CPU time; if that did not count attempts, the figures of another that does."""
    if not isinstance(case, Cell):
        if peer != "ns2":
            raise NotModelledError(f"{peer} has saturated cells only")
        if isinstance(case, Mesh):
            return run_mesh(case, watch=False)
        return tcp.run(case, watch=False)
    result = run(peer, case)
    if result.attempts is None:
        result = replace(run(peer, case, attempts=True), cpu_s=result.cpu_s)
    return result


def cost(results: Sequence[Result | Run]) -> float:
    """CPU seconds for a simulated second."""
    return sum(r.cpu_s for r in results) / sum(r.simulated_s for r in results)


def entry(case: Case, results: Sequence[Result | Run], ratio: float) -> Entry:
    return Entry(
        scenario=str(case),
        simulator=results[0].simulator,
        cpu_s_per_sim_s=cost(results),
        ratio=ratio,
        figures=figures(results),
        simulated_s=sum(r.simulated_s for r in results),
    )


def figures(results: Sequence[Result | Run]) -> dict[str, float]:
    """Means over runs; of sessions, over all of them."""
    cells = [r for r in results if isinstance(r, Result)]
    transfers = [r for r in results if isinstance(r, Transferred | Meshed)]
    browsed = [r for r in results if isinstance(r, Browsed)]
    if cells:
        return {
            "ip_throughput_bps": mean(r.ip_throughput_bps for r in cells),
            "failed_fraction": mean(r.failed_fraction or 0.0 for r in cells),
        }
    if transfers:
        return {"goodput_bps": mean(sum(r.flow_bps) for r in transfers)}
    return {"session_mean_s": sum(r.delay_s for r in browsed) / sum(r.sessions for r in browsed)}


def table(entries: Iterable[Entry]) -> str:
    entries = list(entries)
    width = max([8, *(len(e.scenario) for e in entries)])
    lines = [f"{'scenario':{width}} {'simulator':12} {'CPU s/s':>9} {'ratio':>8} figures"]
    for e in entries:
        said = ", ".join(f"{name} {value:.5g}" for name, value in e.figures.items())
        lines.append(
            f"{e.scenario:{width}} {e.simulator:12} {e.cpu_s_per_sim_s:9.5f} {e.ratio:8.1f} {said}"
        )
    return "\n".join(lines)


def as_json(entries: Iterable[Entry]) -> list[dict[str, object]]:
    return [asdict(e) for e in entries]
