"""Twins: a real-time emulation done again exactly, with its seed and with others.

What a run and its twins have in common is the network. A figure of the run that lies outside the
scatter of the twins says that the programs or the machine did something else than on the virtual
clock: they computed, they were late, or they reacted to the date.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from airqueue.emulate import exact
from airqueue.emulate.results import EmulationResults
from airqueue.emulate.session import Order
from airqueue.stats import prediction_interval

LEAST_TWINS: Final = 3
"""With fewer the scatter is unknown."""
_SEEDS: Final = 2**32


def _lost(results: EmulationResults, pair: str) -> float | None:
    of = results.emulated["pairs"][pair]
    lost = of["dropped_packets"] + of["given_up_packets"]
    return lost / of["offered_packets"] if of["offered_packets"] else None


_FIGURES: Final[Mapping[str, Callable[[EmulationResults, str], float | None]]] = {
    "throughput_bps": EmulationResults.rate_bps,
    "delay_p50_s": lambda results, pair: results.emulated["pairs"][pair]["delay_p50_s"],
    "delay_p95_s": lambda results, pair: results.emulated["pairs"][pair]["delay_p95_s"],
    "lost_ratio": _lost,
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """A figure of a run beside the same figure of the run's twins."""

    pair: str
    """As in `EmulationResults`: ``"phone->server"``."""
    figure: str
    """``throughput_bps``, ``delay_p50_s``, ``delay_p95_s``, or ``lost_ratio`` (with drops)."""
    run: float | None
    twin: float | None
    """Of the twin with the run's seed."""
    mean: float | None
    """Over all twins; None where a twin has no such figure, or all have the same."""
    low: float | None
    """The interval from low to high has the figure of one more twin with a probability of 95 %."""
    high: float | None

    @property
    def within(self) -> bool | None:
        """Whether the run lies in the interval; None where this cannot be said."""
        if self.run is None or self.low is None or self.high is None:
            return None
        return self.low <= self.run <= self.high


def run(
    scenario: str | Mapping[str, object],
    order: Order,
    count: int,
    *,
    real: Sequence[str] = (),
    seed: int = 1,
    changes: Mapping[str, object] | None = None,
    back_pressure: bool = True,
    watch: Callable[[int, exact.Progress], None] = lambda twin, progress: None,
) -> list[exact.ExactRun]:
    """Carry out an order exactly, ``count`` times: with the seed, and with the seeds after it.

    TCP has the settings of this machine, as in real time. ``watch`` gets the number of the twin, from
    1, and how far it is. Raises what `exact.run` raises.
    """
    done = []
    tcp = exact.tcp_of_this_machine()
    for number in range(count):

        def follow(progress: exact.Progress, twin: int = number + 1) -> None:
            watch(twin, progress)

        own = (seed + number) % _SEEDS
        done.append(
            exact.run(
                scenario,
                order,
                real=real,
                seed=own,
                changes=changes,
                back_pressure=back_pressure,
                tcp=tcp,
                watch=follow,
            )
        )
    return done


def compare(results: EmulationResults, twins: Sequence[EmulationResults]) -> list[Comparison]:
    """Return the figures of all pairs that had packets, in the run or in a twin.

    ``twins``: at least `LEAST_TWINS`; the first has the seed of the run.
    """
    if len(twins) < LEAST_TWINS:
        raise ValueError(f"{len(twins)} twins do not show their scatter: have {LEAST_TWINS}")
    return list(_comparisons(results, twins))


def _comparisons(
    results: EmulationResults, twins: Sequence[EmulationResults]
) -> Iterator[Comparison]:
    for pair in results.emulated["pairs"]:
        if not any(each.emulated["pairs"][pair]["offered_packets"] for each in (results, *twins)):
            continue
        for figure, of in _FIGURES.items():
            run, *others = (of(each, pair) for each in (results, *twins))
            known = [value for value in others if value is not None]
            interval = prediction_interval(known) if len(known) == len(others) else None
            if interval is None or interval.half_width == 0.0:
                yield Comparison(pair, figure, run, others[0], None, None, None)
            else:
                low = max(interval.low, 0.0)
                yield Comparison(pair, figure, run, others[0], interval.mean, low, interval.high)


def document(twins: Sequence[exact.ExactRun], comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """Return twins and comparisons as one JSON object."""
    return {
        "runs": [
            {
                "seed": each.results.seed,
                "exit_code": each.exit_code,
                "emulated": each.results.emulated,
            }
            for each in twins
        ],
        "comparisons": [{**asdict(each), "within": each.within} for each in comparisons],
    }
