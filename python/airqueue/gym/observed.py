"""What happened in a step, from figures that count from the end of the warm-up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from airqueue.simulate.reported import Run

OBSERVED: Final = (
    "throughput_mbps",
    "jain_index",
    "delay_s",
    "loss_ratio",
    "collided_ratio",
    "waiting_packets",
    "data_airtime_ratio",
)
"""Names of the values of an observation of the network as a whole, in their order."""
OBSERVED_OF_FLOW: Final = ("throughput_mbps", "delay_s", "loss_ratio")
"""Names of the values of each flow."""


@dataclass(frozen=True, slots=True)
class FlowStep:
    """A flow during a step: bit/s delivered, packets delivered and lost, and their mean delay.

    ``delay_s`` is 0 where no packet was delivered.
    """

    throughput_bps: float
    delivered_packets: int
    lost_packets: int
    delay_s: float

    @property
    def loss_ratio(self) -> float:
        """Share of packets dropped or given up among these and the delivered ones, or 0."""
        return _share(self.lost_packets, self.lost_packets + self.delivered_packets)


@dataclass(frozen=True, slots=True)
class Step:
    """A network during ``seconds`` of simulated time that end at ``time_s``, warm-up included."""

    time_s: float
    seconds: float
    flows: Mapping[str, FlowStep]
    attempts: int
    collided: float
    waiting_packets: float
    """Packets in all queues, mean over the step."""
    data_airtime_ratio: float
    """Airtime of data frames that were decoded, as a share of the step."""

    @property
    def throughput_bps(self) -> float:
        """Bit/s of all flows together."""
        return sum(flow.throughput_bps for flow in self.flows.values())

    @property
    def jain_index(self) -> float:
        """Jain's index of the flows' throughputs; 0 where nothing was delivered."""
        rates = [flow.throughput_bps for flow in self.flows.values()]
        return _share(sum(rates) ** 2, len(rates) * sum(rate**2 for rate in rates))

    @property
    def delay_s(self) -> float:
        """Mean delay of all delivered packets; 0 where no packet was delivered."""
        flows = self.flows.values()
        total = sum(flow.delay_s * flow.delivered_packets for flow in flows)
        return _share(total, sum(flow.delivered_packets for flow in flows))

    @property
    def loss_ratio(self) -> float:
        """Share of packets dropped or given up; 0 without packets."""
        lost = sum(flow.lost_packets for flow in self.flows.values())
        delivered = sum(flow.delivered_packets for flow in self.flows.values())
        return _share(lost, lost + delivered)

    @property
    def collided_ratio(self) -> float:
        """Share of all stations' attempts that collided; 0 without attempts."""
        return _share(self.collided, self.attempts)

    def of_network(self) -> list[float]:
        """Return the values of `OBSERVED`."""
        return [
            self.throughput_bps / 1e6,
            self.jain_index,
            self.delay_s,
            self.loss_ratio,
            self.collided_ratio,
            self.waiting_packets,
            self.data_airtime_ratio,
        ]

    def of_flows(self) -> list[float]:
        """Return the values of `OBSERVED_OF_FLOW`, flow by flow."""
        return [
            value
            for flow in self.flows.values()
            for value in (flow.throughput_bps / 1e6, flow.delay_s, flow.loss_ratio)
        ]


def between(before: Run, after: Run, time_s: float) -> Step:
    """Return the step between two readings of the figures of one run."""
    seconds = after["duration_s"] - before["duration_s"]

    def mean(kind: str, figure: str) -> float:
        """Return the mean over the step, summed over all names, of a mean since the warm-up."""
        return _share(_total(after, kind, figure) - _total(before, kind, figure), seconds)

    flows = {
        name: _flow(before["flows"][name], of, (before["duration_s"], after["duration_s"]))
        for name, of in after["flows"].items()
    }
    return Step(
        time_s=time_s,
        seconds=seconds,
        flows=flows,
        attempts=round(_sum(after, "attempts") - _sum(before, "attempts")),
        collided=_collided(after) - _collided(before),
        waiting_packets=mean("queues", "length_mean_packets"),
        data_airtime_ratio=_share(
            _weighted(after["medium"], "data_airtime_ratio", after["duration_s"])
            - _weighted(before["medium"], "data_airtime_ratio", before["duration_s"]),
            seconds,
        ),
    )


def _flow(
    before: Mapping[str, Any], after: Mapping[str, Any], times_s: tuple[float, float]
) -> FlowStep:
    bits = _weighted(after, "throughput_bps", times_s[1]) - _weighted(
        before, "throughput_bps", times_s[0]
    )
    delivered = after["delivered_packets"] - before["delivered_packets"]
    lost = sum(
        after[figure] - before[figure] for figure in ("queue_dropped_packets", "given_up_packets")
    )
    delays = _weighted(after, "delay_mean_s", after["delivered_packets"]) - _weighted(
        before, "delay_mean_s", before["delivered_packets"]
    )
    return FlowStep(
        _share(bits, times_s[1] - times_s[0]), delivered, lost, max(0.0, _share(delays, delivered))
    )


def _weighted(of: Mapping[str, Any], figure: str, weight: float) -> float:
    value = of[figure]
    return 0.0 if value is None else value * weight


def _total(run: Run, kind: str, figure: str) -> float:
    every: Iterable[Mapping[str, Any]] = run[kind].values()  # type: ignore[literal-required]
    return sum(_weighted(of, figure, run["duration_s"]) for of in every)


def _sum(run: Run, figure: str) -> float:
    return sum(of[figure] for of in run["stations"].values())  # type: ignore[literal-required]


def _collided(run: Run) -> float:
    return sum(_weighted(of, "collided_ratio", of["attempts"]) for of in run["stations"].values())


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0
