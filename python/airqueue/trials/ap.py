"""Trials of an access point's queue: the recommended one beside a long one and flow queueing.

The rules of `airqueue.sizing.ap` are for smooth windows at one rate. Aggregates take many packets
from the queue at once, and their acknowledgements bring the next burst; stations of different rates
lose differently. So a queue is taken for long enough only if a simulation says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

from airqueue.simulate.reported import Run
from airqueue.sizing.ap import ApQueue, queue_for
from airqueue.sizing.ap_parts import Asked
from airqueue.sizing.ap_scenario import loss_period_s, network, times_s
from airqueue.sizing.ap_trial import MUCH, ApTrial, TriedQueue
from airqueue.sizing.cell import Cell
from airqueue.sizing.settings import downloads
from airqueue.text import seconds
from airqueue.trials.simulated import (
    REPLICATIONS,
    Progress,
    goodput_bps,
    mean,
    nothing_said,
    simulated,
)

MOST_FLOWS: Final = 500
MOST_PACKETS: Final = 4e6
"""Of all replications of a queue: a few seconds of computing."""
LONG: Final = 3.0
"""Of path and aggregates: a queue so long that windows, halved, still fill the path."""
STEPS: Final = 4
"""Queues on the way from the rule's length to the long one; each halves the ratio's logarithm."""


def why_not(sized: ApQueue[Cell], asked: Asked) -> str | None:
    """Return why a trial would take long, as a sentence; None if it would not."""
    if asked.flows > MOST_FLOWS:
        return f"{asked.flows:,.0f} downloads are more than the {MOST_FLOWS} that are simulated"
    if REPLICATIONS * sum(times_s(sized, asked)) / sized.air.packet_s <= MOST_PACKETS:
        return None
    period = seconds(loss_period_s(sized, asked))
    return f"from one loss of a download to the next {period} pass, and a trial takes minutes"


def try_queue(
    sized: ApQueue[Cell], asked: Asked, on_progress: Progress = nothing_said
) -> ApQueue[Cell]:
    """Simulate the queue, and make it longer where it is too short and the target allows that.

    Raises ScenarioError, Interrupted.
    """
    trials = _Trials(sized, asked, on_progress)
    long = trials.fifo("a long queue", trials.long_packets)
    rule = int(sized.wanted.capacity_packets)
    shortest = trials.shortest(rule, long)
    if shortest > rule:
        sized = queue_for(
            sized.air,
            asked.rtt_s,
            asked.flows,
            delay_target_s=asked.delay_target_s,
            control=asked.control,
            least_packets=shortest,
        )
    recommended = trials.fifo("recommended", sized.packets)
    wanted = trials.fifo("what TCP wants", shortest)
    flow_queueing = trials.flow_queueing()
    trial = ApTrial(
        recommended=recommended.queue,
        wanted=wanted.queue,
        long=long.queue,
        flow_queueing=flow_queueing.queue,
        share=min(1.0, recommended.air_s / long.air_s),
        lost=max(0.0, 1.0 - recommended.air_s / wanted.air_s),
        gained=flow_queueing.air_s / recommended.air_s - 1.0,
        replications=REPLICATIONS,
        duration_s=trials.counted_s,
    )
    return replace(sized, trial=trial)


@dataclass(frozen=True, slots=True)
class _Tried:
    """A queue that was simulated, and how much of the air its downloads used."""

    queue: TriedQueue
    air_s: float
    """Seconds of the medium in a second, by the cell's cycles."""


class _Trials:
    """Queues in one cell, each simulated once."""

    def __init__(self, sized: ApQueue[Cell], asked: Asked, on_progress: Progress) -> None:
        self._air, self._on_progress = sized.air, on_progress
        self._network = network(sized, asked)
        self.counted_s, self._first_s = times_s(sized, asked)
        in_flight = sized.path_packets + sized.air.aggregated_packets
        least = 2 * int(sized.wanted.capacity_packets)
        self.long_packets = max(least, math.ceil(LONG * in_flight + 4 * asked.flows))
        self._done: dict[int | None, _Tried] = {}

    def fifo(self, name: str, packets: int) -> _Tried:
        return self._tried(name, packets, downloads.in_packets(packets))

    def flow_queueing(self) -> _Tried:
        return self._tried("flow queueing", None, downloads.flow_queueing())

    def shortest(self, packets: int, long: _Tried) -> int:
        """Return the shortest queue that is enough, of those between this one and the long one."""
        low, high = packets, self.long_packets
        if self._enough(low, long):
            return low
        for _ in range(STEPS):
            between = round(math.sqrt(low * high))
            if between in (low, high):
                break
            low, high = (low, between) if self._enough(between, long) else (between, high)
        return high

    def _enough(self, packets: int, long: _Tried) -> bool:
        return self.fifo("what TCP wants", packets).air_s >= (1.0 - MUCH) * long.air_s

    def _tried(self, name: str, packets: int | None, queue: tuple[str, ...]) -> _Tried:
        if packets not in self._done:
            self._done[packets] = self._simulated(packets, queue)
        tried = self._done[packets]
        return replace(tried, queue=replace(tried.queue, name=name))

    def _simulated(self, packets: int | None, queue: tuple[str, ...]) -> _Tried:
        what = "simulating flow queueing" if packets is None else f"simulating {packets:,} packets"
        most, done = STEPS + 4, len(self._done)
        scenario = downloads.settings(self._network, queue, self.counted_s, self._first_s)
        results = simulated(scenario, lambda part: self._on_progress(what, (done + part) / most))
        goodput = mean(results, lambda run: sum(self._goodputs_bps(run)))
        return _Tried(
            TriedQueue(
                "",
                packets,
                goodput.mean,
                goodput.half_width,
                mean(results, lambda run: run["pings"][downloads.PING]["round_trip_p50_s"]).mean,
                mean(results, lambda run: run["pings"][downloads.PING]["round_trip_p95_s"]).mean,
            ),
            mean(results, self._air_s).mean,
        )

    def _goodputs_bps(self, run: Run) -> list[float]:
        """Return what each station gets."""
        return [goodput_bps(run, flows) for flows in downloads.names(self._network)]

    def _air_s(self, run: Run) -> float:
        cycles = zip(self._goodputs_bps(run), self._air.cycles_s, strict=True)
        return sum(bps * cycle_s for bps, cycle_s in cycles) / (8.0 * self._air.packet_bytes)
