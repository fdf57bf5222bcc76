"""Trials of an access point's queue: the recommended one beside a long one and flow queueing.

The rules of `airqueue.sizing.ap` are for smooth windows at one rate. Aggregates take many packets
from the queue at once, and their acknowledgements bring the next burst; stations of different rates
lose differently. So a queue is taken for long enough only if a simulation says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from airqueue.sizing.ap import MUCH, ApQueue, queue_for
from airqueue.sizing.ap_parts import Asked
from airqueue.sizing.ap_scenario import loss_period_s, network, times_s
from airqueue.sizing.ap_trial import ApTrial, TriedQueue
from airqueue.sizing.cell import Cell
from airqueue.sizing.settings import downloads
from airqueue.trials.simulated import (
    REPLICATIONS,
    Progress,
    goodput_bps,
    long_time,
    mean,
    mean_if_any,
    nothing_said,
    simulated,
    too_long,
)

if TYPE_CHECKING:
    from airqueue.simulate.report_types import Run

MOST_FLOWS: Final = 2000
LONG: Final = 3.0
"""Of path and aggregates: a queue so long that windows, halved, still fill the path."""
STEPS: Final = 4
"""Queues on the way from the rule's length to the long one; each halves the ratio's logarithm."""
QUEUES: Final = 4
"""That are simulated in any case: a long one, the rule's, the recommended one, flow queueing."""


def why_not(sized: ApQueue[Cell], asked: Asked) -> str | None:
    """Return why a trial would take long, as a sentence; None if it would not."""
    if asked.flows > MOST_FLOWS:
        return f"{asked.flows:,.0f} downloads are more than {MOST_FLOWS:,}"
    packets = REPLICATIONS * sum(times_s(sized, asked)) / sized.air.packet_s
    period = long_time(loss_period_s(sized, asked))
    return too_long(
        (QUEUES + STEPS) * packets,
        f"a download loses a packet every {period}",
        aggregated=sized.air.mpdus > 1,
    )


def try_queue(
    sized: ApQueue[Cell], asked: Asked, on_progress: Progress = nothing_said
) -> ApQueue[Cell]:
    """Simulate the queue, and make it longer where it is too short and the target allows that.

    Raises ScenarioError, Interrupted.
    """
    trials = _Trials(sized, asked, on_progress)
    long = trials.fifo(trials.long_packets)
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
    recommended, wanted = trials.fifo(sized.packets), trials.fifo(shortest)
    flow_queueing = trials.flow_queueing()
    trial = ApTrial(
        recommended=recommended.queue,
        wanted=wanted.queue,
        long=long.queue,
        flow_queueing=flow_queueing.queue,
        share=recommended.air_s / long.air_s,
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
        self._on_progress = on_progress
        self._network = network(sized, asked)
        self._packet_bits = 8.0 * sized.air.packet_bytes
        self._cycles_s = dict(zip(sized.air.rates_bps, sized.air.cycles_s, strict=True))
        self.counted_s, self._first_s = times_s(sized, asked)
        in_flight = sized.path_packets + sized.air.aggregated_packets
        least = 2 * int(sized.wanted.capacity_packets)
        self.long_packets = max(least, math.ceil(LONG * in_flight + 4 * asked.flows))
        self._done: dict[int | None, _Tried] = {}
        self._expected, self._shown = QUEUES, 0.0

    def fifo(self, packets: int) -> _Tried:
        return self._tried(packets, downloads.in_packets(packets))

    def flow_queueing(self) -> _Tried:
        return self._tried(None, downloads.flow_queueing())

    def shortest(self, packets: int, long: _Tried) -> int:
        """Return the shortest queue that is enough, of those between this one and the long one."""
        low, high = packets, self.long_packets
        if self._enough(low, long):
            return low
        self._expected += STEPS
        for _ in range(STEPS):
            between = round(math.sqrt(low * high))
            if between in (low, high):
                break
            low, high = (low, between) if self._enough(between, long) else (between, high)
        return high

    def _enough(self, packets: int, long: _Tried) -> bool:
        return self.fifo(packets).air_s >= (1.0 - MUCH) * long.air_s

    def _tried(self, packets: int | None, queue: tuple[str, ...]) -> _Tried:
        if packets not in self._done:
            self._done[packets] = self._simulated(packets, queue)
        return self._done[packets]

    def _simulated(self, packets: int | None, queue: tuple[str, ...]) -> _Tried:
        what = "simulating flow queueing" if packets is None else f"simulating {packets:,} packets"

        def show(part: float) -> None:
            # More queues may be needed than were expected: what is done never falls.
            done = (len(self._done) + part) / max(self._expected, len(self._done) + 1)
            self._shown = max(self._shown, done)
            self._on_progress(what, self._shown)

        scenario = downloads.settings(self._network, queue, self.counted_s, self._first_s)
        results = simulated(scenario, show)
        goodput = mean(results, lambda run: sum(self._goodputs_bps(run)))
        ping = downloads.PING
        return _Tried(
            TriedQueue(
                packets=packets,
                goodput_bps=goodput.mean,
                goodput_half_width_bps=goodput.half_width,
                ping_p50_s=mean_if_any(results, lambda run: run["pings"][ping]["round_trip_p50_s"]),
                ping_p95_s=mean_if_any(results, lambda run: run["pings"][ping]["round_trip_p95_s"]),
            ),
            air_s=mean(results, self._air_s).mean,
        )

    def _goodputs_bps(self, run: Run) -> list[float]:
        """Return what each station gets."""
        return [goodput_bps(run, flows) for flows in downloads.names(self._network)]

    def _air_s(self, run: Run) -> float:
        goodputs = zip(self._goodputs_bps(run), self._network.rates_bps, strict=True)
        return sum(bps * self._cycles_s[rate] for bps, rate in goodputs) / self._packet_bits
