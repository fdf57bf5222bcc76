"""Trials of a divided buffer: one FIFO for all flows, RDQM in the base station, flow queueing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from airqueue.sizing.rdqm import RdqmSizing
from airqueue.sizing.rdqm_trial import RdqmTrial, TriedBuffer, scenario, times_s
from airqueue.sizing.settings.base_station import flow_name
from airqueue.trials.simulated import (
    REPLICATIONS,
    Progress,
    long_time,
    mean,
    nothing_said,
    simulated,
    too_long,
)

if TYPE_CHECKING:
    from airqueue.simulate.report_types import Run

DISCIPLINES: Final = ("droptail", "rdqm", "mac80211")


def why_not(sized: RdqmSizing) -> str | None:
    """Return why a trial would take long, as a sentence; None if it would not."""
    packets = len(DISCIPLINES) * REPLICATIONS * sum(times_s(sized)) / sized.air.packet_s
    why = f"enough round trips take {long_time(sum(times_s(sized)))} of simulated time"
    return too_long(packets, why, aggregated=sized.air.mpdus > 1)


def try_division(sized: RdqmSizing, on_progress: Progress = nothing_said) -> RdqmTrial:
    """Simulate one FIFO, the divided buffer, and flow queueing. Raises ScenarioError, Interrupted."""

    def tried(discipline: str) -> TriedBuffer:
        done = DISCIPLINES.index(discipline)

        def show(part: float) -> None:
            on_progress(f"simulating {discipline}", (done + part) / len(DISCIPLINES))

        return _tried(sized, discipline, show)

    counted_s, _ = times_s(sized)
    return RdqmTrial(
        fifo=tried("droptail"),
        rdqm=tried("rdqm"),
        flow_queueing=tried("mac80211"),
        replications=REPLICATIONS,
        duration_s=counted_s,
    )


def _tried(sized: RdqmSizing, discipline: str, on_progress: Callable[[float], None]) -> TriedBuffer:
    results = simulated(scenario(sized, discipline), on_progress)
    names = [flow_name(number) for number in range(1, len(sized.flows) + 1)]
    flows = [mean(results, _throughput([name])) for name in names]
    together = mean(results, _throughput(names))
    return TriedBuffer(
        tuple(flow.mean for flow in flows),
        tuple(flow.half_width for flow in flows),
        together.mean,
        together.half_width,
    )


def _throughput(names: Sequence[str]) -> Callable[[Run], float]:
    return lambda run: sum((run["flows"][name]["throughput_bps"] or 0.0 for name in names), 0.0)
